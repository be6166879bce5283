// The heads explorer: where every head of every layer looks, from each token of a sentence.
// State: tokens (T names), weights (layers × heads × T × T), layer and token (which of them are chosen).

import { button, choice } from "./lib/controls.mjs";
import { html, setAttributes, svg } from "./lib/dom.mjs";
import { fixed } from "./lib/format.mjs";
import { complaintOf, wholeWithin } from "./lib/rules.mjs";
import { addStyles } from "./lib/style.mjs";

const TRAITS = ["tokens", "weights", "layer", "token"];
const TOLERANCE = 0.01; // how far a row may be from summing to 1, here as in heads.py
const WORTH_A_LINE = 0.02; // smaller weights are not drawn: they could not be seen

const STYLES = `
.explorer-figure .heads {
  display: grid; gap: 12px;

  & .sentence { min-height: 5.8em; font-size: 16px; }
  & .cards { display: grid; gap: 12px; grid-template-columns: repeat(auto-fill, minmax(min(9.5rem, 100%), 1fr)); }
  & .card { display: grid; gap: 4px; min-width: 0; padding: 8px 8px 10px; border-radius: 8px; background: var(--panel); }
  & .card p { display: flex; flex-wrap: wrap; justify-content: space-between; column-gap: 8px; }
  & .card b { font-weight: 600; color: var(--ink); }
  & .card small { font-size: 12px; color: var(--muted); }
  & .card svg { display: block; width: 100%; height: auto; overflow: visible; user-select: none; }
  & .card text { font-size: 13px; fill: var(--muted); dominant-baseline: central; pointer-events: none; }
  & .card .asked text { fill: var(--ink); }
  & .card .asked rect { fill: var(--key); }
  & .card .asking { cursor: pointer; }
  & .card .asking rect { fill: transparent; }
  & .card .asking:hover rect { fill: color-mix(in srgb, var(--query) 12%, transparent); }
  & .card .chosen text { fill: var(--query); font-weight: 700; }
  & .card line { stroke: var(--muted); stroke-width: 1.5px; stroke-linecap: round; }
  & .card line.chosen { stroke: var(--key); stroke-width: 3.5px; }
  & .foot { display: flex; gap: 12px; justify-content: space-between; align-items: center; font-size: 12px; color: var(--muted); }
}
@container (min-width: 600px) {
  .explorer-figure .heads .sentence { min-height: 2.9em; }
}
`;

/** What is wrong with a state of square weights for its tokens, in words, and "" where nothing is: the rules of heads.py. */
export function complaint(state) {
  const sum = (row) => row.reduce((total, weight) => total + weight, 0);
  const isRight = (row) => row.every((weight) => weight >= 0 && weight <= 1) && Math.abs(sum(row) - 1) <= TOLERANCE;
  const weights = (layers) => (layers.flat(2).every(isRight) ? "" : "must be numbers from 0 to 1 that sum to 1 in each row");
  const [layer, token] = [wholeWithin(0, state.weights.length - 1), wholeWithin(0, state.tokens.length - 1)];
  return complaintOf(state, { weights, layer, token });
}

// The arithmetic

/** How spread a row of weights is: minus the sum of w ln w, where a weight of 0 counts nothing. */
export function entropy(row) {
  return row.reduce((sum, w) => (w > 0 ? sum - w * Math.log(w) : sum), 0);
}

/** The mean entropy of a head's rows. */
export function headEntropy(head) {
  return head.reduce((sum, row) => sum + entropy(row), 0) / head.length;
}

/** The key with the largest weight, the first of equals. */
export function favourite(row) {
  return row.indexOf(Math.max(...row));
}

/** Where the chosen token looks in each head of the chosen layer, in a sentence. */
export function describe({ tokens, weights, layer, token }) {
  const found = weights[layer].map((head, i) => {
    const row = head[token];
    const best = favourite(row);
    return `head ${i + 1} ${i === 0 ? "looks mostly at" : "at"} ${tokens[best]}, ${fixed(row[best])}`;
  });
  return `Layer ${layer + 1}, from ${tokens[token]}: ${found.join("; ")}.`;
}

// The drawing

const CARD = { width: 170, row: 22, name: 52 };

/** One head: the tokens twice, as queries on the left and as keys on the right, with a line for each weight. */
function card(name, tokens, { point, choose }) {
  const height = tokens.length * CARD.row;
  const middle = (i) => (i + 0.5) * CARD.row;
  const lines = tokens.map((_, i) =>
    tokens.map((_, j) =>
      svg("line", { x1: CARD.name + 4, y1: middle(i), x2: CARD.width - CARD.name - 4, y2: middle(j) }),
    ),
  );
  const place = (i, x) => ({ x, y: i * CARD.row + 1.5, width: CARD.name, height: CARD.row - 3, rx: 4 });
  const asking = tokens.map((token, i) => {
    const node = svg("g", { class: "asking" }, svg("rect", place(i, 0)));
    node.append(svg("text", { x: CARD.name - 5, y: middle(i), "text-anchor": "end" }, token));
    node.addEventListener("pointerenter", (event) => event.pointerType === "mouse" && point(i));
    node.addEventListener("pointerleave", () => point(null));
    node.addEventListener("click", () => choose(i));
    return node;
  });
  const asked = tokens.map((token, j) => {
    const shade = svg("rect", place(j, CARD.width - CARD.name));
    const text = svg("text", { x: CARD.width - CARD.name + 5, y: middle(j) }, token);
    return { node: svg("g", { class: "asked" }, shade, text), shade };
  });
  const picture = svg(
    "svg",
    { role: "img", viewBox: `0 0 ${CARD.width} ${height}` },
    ...lines.flat(),
    ...asked.map(({ node }) => node),
    ...asking,
  );
  const spread = html("small");
  return {
    node: html("div", { class: "card" }, html("p", {}, html("b", {}, name), spread), picture),
    show(head, token) {
      const best = favourite(head[token]);
      picture.setAttribute("aria-label", `${name}: ${tokens[token]} looks mostly at ${tokens[best]}`);
      spread.textContent = `entropy ${fixed(headEntropy(head))}`;
      asking.forEach((node, i) => node.classList.toggle("chosen", i === token));
      asked.forEach(({ shade }, j) => shade.setAttribute("fill-opacity", (0.45 * head[token][j]).toFixed(3)));
      lines.forEach((row, i) =>
        row.forEach((line, j) => {
          const weight = head[i][j];
          line.classList.toggle("chosen", i === token);
          const opacity = i === token ? weight : 0.3 * weight;
          setAttributes(line, { "stroke-opacity": opacity.toFixed(3), display: weight < WORTH_A_LINE ? "none" : "inline" });
        }),
      );
    },
  };
}

/** The whole figure for some tokens, layers and heads: its `node`, and `show(state)`. */
function assemble(tokens, layers, heads, { change, point, reset }) {
  const layer = choice("Layer", Array.from({ length: layers }, (_, i) => String(i + 1)), (chosen) => change({ layer: chosen }));
  const token = choice("Token", tokens, (chosen) => change({ token: chosen }));
  const sentence = html("p", { class: "sentence", "aria-live": "polite" });
  const choose = (chosen) => change({ token: chosen });
  const cards = Array.from({ length: heads }, (_, i) => card(`Head ${i + 1}`, tokens, { point, choose }));
  const most = `${fixed(Math.log(tokens.length))} if it looks everywhere alike`;
  const hint =
    "Left: who asks. Right: who is asked. Point at a token on the left, or choose one above. " +
    `Entropy is a head's mean over all tokens: 0 if each looks at a single one, ${most}.`;
  return {
    node: html(
      "div",
      { class: "heads" },
      layer.node,
      token.node,
      sentence,
      html("div", { class: "cards" }, ...cards.map(({ node }) => node)),
      html("div", { class: "foot" }, html("p", {}, hint), button("Reset", reset).node),
    ),
    show(state, pointed) {
      const shown = { ...state, token: pointed ?? state.token };
      layer.show(state.layer);
      token.show(state.token);
      sentence.textContent = describe(shown);
      cards.forEach((one, i) => one.show(shown.weights[shown.layer][i], shown.token));
    },
  };
}

/** Draws the explorer into `el` and keeps it up to date with `model`. Returns the function that ends this.
 * What the reader chooses only changes the model; the figure follows the model, whoever changed it. */
function render({ model, el }) {
  addStyles("heads", STYLES);
  const read = () => Object.fromEntries(TRAITS.map((trait) => [trait, model.get(trait)]));
  const start = read();
  const change = (changes) => {
    for (const [trait, value] of Object.entries(changes)) model.set(trait, value);
    model.save_changes();
  };
  const root = html("div", { class: "explorer-figure", role: "group", "aria-label": "The heads explorer" });
  el.append(root);

  let figure;
  let drawn; // what the figure is made for
  let pointed = null; // the token under the mouse, which is shown for the moment
  const redraw = () => {
    const state = read();
    if (!fitsTogether(state)) return; // several traits are being changed, and the rest are still to come
    const made = JSON.stringify([state.tokens, state.weights.length, state.weights[0].length]);
    if (made !== drawn) {
      drawn = made;
      pointed = null;
      const point = (token) => {
        pointed = token;
        figure.show(read(), pointed);
      };
      const reset = () => change(start);
      figure = assemble(state.tokens, state.weights.length, state.weights[0].length, { change, point, reset });
      root.replaceChildren(figure.node);
    }
    figure.show(state, pointed);
  };
  redraw();
  for (const trait of TRAITS) model.on(`change:${trait}`, redraw);
  return () => TRAITS.forEach((trait) => model.off(`change:${trait}`, redraw));
}

function fitsTogether({ tokens, weights, layer, token }) {
  return weights[0][0].length === tokens.length && layer < weights.length && token < tokens.length;
}

export default { render };
