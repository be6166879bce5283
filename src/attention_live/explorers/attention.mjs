// The attention explorer: one query looks at the keys of a few tokens and takes home a mixture of their values.
// State: tokens (n names), q, k and v (n vectors of width 2 each), query (which token asks), temperature (> 0).

import { attend, convexHull } from "./lib/arithmetic.mjs";
import { bar } from "./lib/bar.mjs";
import { button, choice, logSlider, numberField, wordField } from "./lib/controls.mjs";
import { html, setAttributes, svg } from "./lib/dom.mjs";
import { fixed, short, vector } from "./lib/format.mjs";
import { plane, point } from "./lib/plane.mjs";
import { complaintOf, wholeWithin } from "./lib/rules.mjs";
import { addStyles } from "./lib/style.mjs";

const TRAITS = ["tokens", "q", "k", "v", "query", "temperature"];
const LIMIT = 100; // the largest component, here as in attention.py
const LONGEST = 20; // characters of a token that is typed
const WORDS = { q: "query", k: "key", v: "value" };

const STYLES = `
.explorer-figure .attention {
  display: grid; gap: 14px 16px; grid-template-columns: minmax(0, 1fr);

  & .sentence { min-height: 2.9em; font-size: 16px; }
  & .panel { display: grid; gap: 8px; align-content: start; min-width: 0; padding: 12px; border-radius: 8px; background: var(--panel); }
  & .panel > p { color: var(--muted); }
  & .panel > p b { font-weight: 600; }
  & .panel > p b:not([class]) { color: var(--ink); }
  & .mix > .sum { min-height: 2.9em; }
  & .panel > .sum { font-variant-numeric: tabular-nums; }
  & .sum span { display: inline-block; white-space: pre; }
  & .foot { display: flex; gap: 12px; justify-content: space-between; align-items: center; font-size: 12px; color: var(--muted); }

  & th:first-child { width: 17%; text-align: left; }
  & tbody tr { height: 34px; }
  & .weights th:last-child { width: 37%; }
  & .weights td:last-child { padding-left: 10px; }
  & .numbers thead th:not(:first-child) { text-align: center; }
  & .numbers th:first-child { width: 24%; }
  & .numbers th[scope="row"] { padding-inline: 0 6px; overflow: visible; } /* no edge cuts off the ring of focus */
  & tr.asks th { font-weight: 600; }
  & tr.asks th, & tr.asks .of-q input { color: var(--query); }
  & tr.asks .of-q input { border-color: var(--query); }

  & .shaft { stroke: currentColor; stroke-linecap: round; }
  & .hull { fill: color-mix(in srgb, var(--value) 14%, transparent); stroke: var(--value); stroke-dasharray: 3 3; }
  & .mark { fill: currentColor; stroke: var(--paper); stroke-width: 1.5px; pointer-events: none; }
}
@container (max-width: 310px) { /* the smallest phones: numbers with a sign need the room */
  .explorer-figure .attention {
    & .sentence { min-height: 4.35em; }
    & .weights table { font-size: 12px; }
    & .weights th:last-child { width: 31%; }
    & .weights td:last-child { padding-left: 6px; }
  }
}
@container (min-width: 600px) {
  .explorer-figure .attention {
    grid-template-columns: repeat(2, minmax(0, 1fr));
    & > fieldset, & .sentence { grid-column: 1 / -1; }
    & .sentence { min-height: 0; }
    & .panel { grid-row: span 3; grid-template-rows: subgrid; align-content: normal; } /* what stands in a row is aligned */
  }
}
@container (min-width: 1000px) { /* on a whole screen: what is a number between the planes */
  .explorer-figure .attention {
    grid-template-columns: repeat(3, minmax(0, 1fr)); grid-template-rows: auto auto 1fr;
    & > fieldset { grid-column: 1; }
    & .sentence { grid-column: 2 / -1; align-self: center; }
    & .panel { grid-row: 2 / span 2; grid-template-rows: none; align-content: start; }
    & .weigh { grid-area: 2 / 2; }
    & .mix { grid-column: 3; }
    & .numbers { grid-area: 3 / 2; }
    & tbody tr { height: 31px; }
  }
}
`;

/** What is wrong with a state of as many vectors as tokens, in words, and "" where nothing is: the rules of attention.py. */
export function complaint(state) {
  const components = (vectors) =>
    vectors.flat().every((x) => Math.abs(x) <= LIMIT) ? "" : `must have components from ${-LIMIT} to ${LIMIT}`;
  const temperature = (x) => (x > 0 ? "" : "must be positive");
  const query = wholeWithin(0, state.tokens.length - 1);
  return complaintOf(state, { q: components, k: components, v: components, query, temperature });
}

/** What happened, in a sentence: the keys that got most of the weight, and the output. */
export function describe(tokens, query, { weights, output }) {
  const order = weights.map((_, i) => i).sort((a, b) => weights[b] - weights[a]);
  const alike = weights.length > 1 && fixed(weights[order[0]]) === fixed(weights[order.at(-1)]);
  const named = order.filter((i) => weights[i] >= 0.2 || i === order[0]);
  const found = named.map((i) => `${tokens[i]} with ${fixed(weights[i])}`);
  const looks = alike
    ? `all ${tokens.length} tokens alike, each with ${fixed(weights[0])}`
    : [found.slice(0, -1).join(", "), found.at(-1)].filter(Boolean).join(" and ");
  return `${tokens[query]} looks at ${looks}; the output is ${vector(output)}.`;
}

/** The first step: a plane with the chosen query and all keys, which the reader can move. */
function comparePanel(rows, edit) {
  const space = plane("The query and the keys");
  const arrows = (trait) =>
    rows.map((row) => arrow(space, { kind: WORDS[trait], move: (coordinates) => edit(trait, row, () => coordinates) }));
  const [keys, queries] = [arrows("k"), arrows("q")];
  const sum = html("p", { class: "sum" });
  space.node.append(...keys.map((key) => key.node), ...queries.map((query) => query.node));
  return {
    node: panel(
      "compare",
      [
        "1 Compare",
        " the ",
        ["query", "query"],
        " with every ",
        ["key", "key"],
        ". Drag an arrow: q·k grows as the two point the same way.",
      ],
      space.node,
      sum,
    ),
    show({ tokens, q, k, query }, { scores, weights }) {
      space.fit([...k, q[query]]);
      keys.forEach((key, i) => key.show(k[i], tokens[i]));
      queries.forEach((arrow, i) => {
        arrow.node.setAttribute("display", i === query ? "inline" : "none");
        arrow.show(q[i], tokens[i]);
      });
      const best = weights.indexOf(Math.max(...weights));
      const products = k[best].map((x, d) => `${short(q[query][d])} × ${short(x)}`);
      sum.textContent = `${tokens[best]}: q·k = ${products.join(" + ")} = ${short(scores[best])}`;
    },
  };
}

const HEAD = "M4 0L-8 6V-6Z";
const DOT = "M-4 0A4 4 0 0 0 4 0A4 4 0 0 0 -4 0"; // a vector of length 0 points nowhere

/** A vector that the reader can move by its tip. */
function arrow(space, options) {
  const shaft = svg("line", { class: `shaft ${options.kind}`, "stroke-width": options.kind === "query" ? 3.5 : 2 });
  const head = svg("path");
  const tip = point(space, { ...options, shape: head });
  return {
    node: svg("g", {}, shaft, tip.node),
    show(coordinates, name) {
      const [x, y] = space.place(coordinates);
      setAttributes(shaft, { x1: 0, y1: 0, x2: x, y2: y });
      const d = x === 0 && y === 0 ? DOT : HEAD;
      setAttributes(head, { d, transform: `rotate(${(Math.atan2(y, x) * 180) / Math.PI})` });
      tip.show(coordinates, name);
    },
  };
}

/** The second step: from score to weight, a row for each key, and the temperature. */
function weighPanel(rows, change) {
  const lines = rows.map((i) => {
    const [name, score, scaled, tempered] = [html("th", { scope: "row" }), html("td"), html("td"), html("td")];
    const weight = bar();
    return {
      node: html("tr", {}, name, score, scaled, tempered, html("td", {}, weight.node)),
      show({ tokens }, found) {
        name.textContent = tokens[i];
        score.textContent = fixed(found.scores[i]);
        scaled.textContent = fixed(found.scaled[i]);
        tempered.textContent = fixed(found.tempered[i]);
        weight.show(found.weights[i]);
      },
    };
  });
  const temperature = logSlider({
    label: "Temperature τ",
    lowest: -2,
    highest: 2,
    low: "hard look-up",
    high: "all alike",
    change: (value) => change({ temperature: value }),
  });
  const heads = ["key", "q·k", "÷ √2", "÷ τ", "softmax"].map((head) => html("th", { scope: "col" }, head));
  const table = html(
    "table",
    { class: "weights" },
    html("thead", {}, html("tr", {}, ...heads)),
    html("tbody", {}, ...lines.map((line) => line.node)),
  );
  return {
    node: panel(
      "weigh",
      ["2 Weigh", ". Softmax turns the scores into weights that sum to 1. The lower the temperature, the harder the choice."],
      table,
      temperature.node,
    ),
    show(state, found) {
      lines.forEach((line) => line.show(state, found));
      temperature.show(state.temperature);
    },
  };
}

/** The third step: a plane with the values, their hull, and inside it the output. */
function mixPanel(rows, edit) {
  const space = plane("The values and the output");
  const hull = svg("polygon", { class: "hull" });
  const spokes = rows.map(() => svg("line", { class: "shaft output" }));
  const discs = rows.map(() => svg("circle"));
  const points = rows.map((row) =>
    point(space, { kind: "value", shape: discs[row], move: (coordinates) => edit("v", row, () => coordinates) }),
  );
  const mark = svg("path", { class: "mark output", d: "M0 -9L9 0L0 9L-9 0Z" });
  const sum = html("p", { class: "sum" });
  space.node.append(hull, ...spokes, ...points.map(({ node }) => node), mark);
  return {
    node: panel(
      "mix",
      [
        "3 Mix",
        " the ",
        ["values", "value"],
        ". Their weighted mean is the ",
        ["output", "output"],
        ": it never leaves their hull. Drag a value and see.",
      ],
      space.node,
      sum,
    ),
    show({ tokens, v }, { weights, output }) {
      space.fit(v);
      const [x, y] = space.place(output);
      hull.setAttribute("points", convexHull(v).map(space.place).join(" "));
      points.forEach((value, i) => {
        const [x1, y1] = space.place(v[i]);
        setAttributes(spokes[i], { x1, y1, x2: x, y2: y, "stroke-width": 5 * weights[i] });
        discs[i].setAttribute("r", 3 + 7 * Math.sqrt(weights[i]));
        value.show(v[i], tokens[i]);
      });
      mark.setAttribute("transform", `translate(${x} ${y})`);
      const terms = weights.map((weight, i) => `${i > 0 ? "+ " : ""}${fixed(weight)} ${vector(v[i])} `);
      sum.replaceChildren(...[...terms, `= ${vector(output)}`].map((term) => html("span", {}, term)));
    },
  };
}

/** All the tokens and their vectors, to be typed. */
function numbersPanel(rows, edit, reset) {
  const fields = [];
  const lines = rows.map((row) => {
    const [label, fallback] = [`token ${row + 1}`, String(row + 1)];
    const name = wordField({ label, longest: LONGEST, fallback, change: (word) => edit("tokens", row, () => word) });
    fields.push({ show: ({ tokens }) => name.show(tokens[row]) });
    const cells = Object.entries(WORDS).flatMap(([trait, word]) =>
      [0, 1].map((d) => {
        const field = numberField({ limit: LIMIT, change: (x) => edit(trait, row, (old) => old.with(d, x)) });
        fields.push({
          show: (state) => field.show(state[trait][row][d], `${word} of ${state.tokens[row]}, component ${d + 1}`),
        });
        return html("td", { class: `of-${trait}` }, field.node);
      }),
    );
    return html("tr", {}, html("th", { scope: "row" }, name.node), ...cells);
  });
  const heads = Object.values(WORDS).map((word) => html("th", { scope: "col", colspan: 2, class: word }, word));
  const table = html(
    "table",
    {},
    html("thead", {}, html("tr", {}, html("th", { scope: "col" }, "token"), ...heads)),
    html("tbody", {}, ...lines),
  );
  const hint = "Without a mouse: Tab to a point, then the arrow keys.";
  const foot = html("div", { class: "foot" }, hint, button("Reset", reset).node);
  return {
    node: panel("numbers", ["The numbers", ". Type a token's name or a number, and everything follows. The query that asks is marked."], table, foot),
    show(state) {
      fields.forEach((field) => field.show(state));
      lines.forEach((line, i) => line.classList.toggle("asks", i === state.query));
    },
  };
}

/** A part of the figure, in three rows: a text with its opening and its [word, colour]s in bold, a picture, a foot. */
function panel(name, [opening, ...text], picture, foot) {
  const spans = text.map((part) => (Array.isArray(part) ? html("b", { class: part[1] }, part[0]) : part));
  return html("div", { class: `panel ${name}` }, html("p", {}, html("b", {}, opening), ...spans), picture, foot);
}

/** The whole figure for a number of tokens: its `node`, and `show(state)`. What the tokens are called may change. */
function assemble(count, { change, edit, reset }) {
  const rows = Array.from({ length: count }, (_, row) => row);
  const chosen = choice("Query", rows, (query) => change({ query }));
  const sentence = html("p", { class: "sentence", "aria-live": "polite" });
  const panels = [comparePanel(rows, edit), weighPanel(rows, change), mixPanel(rows, edit), numbersPanel(rows, edit, reset)];
  return {
    node: html("div", { class: "attention" }, chosen.node, sentence, ...panels.map(({ node }) => node)),
    show(state) {
      const found = attend(state.q[state.query], state.k, state.v, state.temperature);
      chosen.show(state.query, state.tokens);
      sentence.textContent = describe(state.tokens, state.query, found);
      panels.forEach((part) => part.show(state, found));
    },
  };
}

/** Draws the explorer into `el` and keeps it up to date with `model`. Returns the function that ends this.
 * What the reader does only changes the model; the figure follows the model, whoever changed it. */
function render({ model, el }) {
  addStyles("attention", STYLES);
  const read = () => Object.fromEntries(TRAITS.map((trait) => [trait, model.get(trait)]));
  const start = read();
  const change = (changes) => {
    for (const [trait, value] of Object.entries(changes)) model.set(trait, value);
    model.save_changes();
  };
  const edit = (trait, row, update) => {
    const rows = model.get(trait);
    change({ [trait]: rows.with(row, update(rows[row])) });
  };
  const root = html("div", { class: "explorer-figure", role: "group", "aria-label": "The attention explorer" });
  el.append(root);

  let figure;
  let count; // of the tokens that the figure is made for
  const redraw = () => {
    const state = read();
    if (!fitsTogether(state)) return; // several traits are being changed, and the rest are still to come
    if (state.tokens.length !== count) {
      count = state.tokens.length;
      figure = assemble(count, { change, edit, reset: () => change(start) });
      root.replaceChildren(figure.node);
    }
    figure.show(state);
  };
  redraw();
  for (const trait of TRAITS) model.on(`change:${trait}`, redraw);
  return () => TRAITS.forEach((trait) => model.off(`change:${trait}`, redraw));
}

function fitsTogether({ tokens, q, k, v, query }) {
  return [q, k, v].every((vectors) => vectors.length === tokens.length) && query < tokens.length;
}

export default { render };
