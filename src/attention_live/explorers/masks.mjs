// The masks explorer: the mask of two sentences, and the weights after a softmax that obeys it.
// State: lengths (real words of each sentence), causal, window (in steps), convention (what True is taken for).

import { softmax } from "./lib/arithmetic.mjs";
import { button, choice, slider } from "./lib/controls.mjs";
import { html, setAttributes, svg } from "./lib/dom.mjs";
import { fixed } from "./lib/format.mjs";
import { complaintOf, oneOf, wholeWithin } from "./lib/rules.mjs";
import { addStyles } from "./lib/style.mjs";

const TRAITS = ["lengths", "causal", "window", "convention"];
const POSITIONS = 6; // here as in masks.py
const CONVENTIONS = ["attend", "hide"];
const SENTENCES = [
  ["the", "train", "went", "off", "the", "rails"],
  ["the", "group", "went", "home", "at", "noon"],
];

const STYLES = `
.explorer-figure .masks {
  display: grid; gap: 14px 16px; grid-template-columns: minmax(0, 1fr);

  & .sentence { min-height: 4.4em; font-size: 16px; }
  & .warning { min-height: 4.4em; padding: 8px 12px; border-left: 4px solid var(--line); color: var(--muted); }
  & .warning.on { border-color: var(--wrong); color: var(--wrong); }
  & .panel { display: grid; gap: 10px; align-content: start; min-width: 0; padding: 12px; border-radius: 8px; background: var(--panel); }
  & .panel > p { color: var(--muted); }
  & .panel > p b { font-weight: 600; color: var(--ink); }
  & .foot { display: flex; justify-content: end; }

  & svg { display: block; width: 100%; height: auto; border-radius: 6px; background: var(--paper); }
  & svg text { font-size: 12px; fill: var(--ink); text-anchor: middle; font-variant-numeric: tabular-nums; }
  & svg text.row { text-anchor: end; }
  & svg text.pad { fill: var(--muted); font-style: italic; }
  & svg text.axis { fill: var(--muted); font-size: 11px; }
  & svg rect { stroke: var(--line); fill: none; }
  & svg rect.true { fill: var(--key); stroke: var(--paper); }
  & svg rect.weight { fill: var(--key); stroke: none; }
  & svg text.true { fill: var(--paper); font-weight: 600; }
  & svg text.false { fill: var(--muted); }
  & svg text.empty { fill: var(--wrong); font-weight: 600; }
  & svg rect.empty { stroke: var(--wrong); stroke-width: 2px; fill: color-mix(in srgb, var(--wrong) 10%, transparent); }
}
@container (min-width: 600px) {
  .explorer-figure .masks {
    grid-template-columns: repeat(2, minmax(0, 1fr));
    & .sentence, & .warning { grid-column: 1 / -1; min-height: 2.9em; }
  }
}
@container (min-width: 1000px) { /* on a whole screen: what is chosen and said on the left, the tables beside it */
  .explorer-figure .masks {
    grid-template-columns: repeat(3, minmax(0, 1fr)); grid-auto-flow: dense;
    & > * { grid-row: span 2; }
    & > :nth-child(-n + 4) { grid-column: 1; }
    & > .sentence { order: -1; grid-column: 1 / -1; grid-row: auto; min-height: 0; }
    & > :nth-child(n + 5) { grid-row: span 3; }
  }
}
`;

/** What is wrong with a state of two lengths, in words, and "" where nothing is: the rules of masks.py. */
export function complaint(state) {
  const lengths = (values) => values.map(wholeWithin(0, POSITIONS)).find(Boolean) ?? "";
  return complaintOf(state, { lengths, window: wholeWithin(1, POSITIONS), convention: oneOf(CONVENTIONS) });
}

// The arithmetic

/** Which query (row) may attend to which key (column), in a sentence with `length` real words. */
export function maskOf(length, causal, window) {
  const positions = Array.from({ length: POSITIONS }, (_, i) => i);
  return positions.map((query) =>
    positions.map((key) => key < length && !(causal && key > query) && Math.abs(query - key) < window),
  );
}

/** What a function lets through that takes True for "attend" or for "hide". */
export function obeyed(mask, convention) {
  return mask.map((row) => row.map((allowed) => allowed === (convention === "attend")));
}

/** The made-up scores of a sentence: everybody likes some keys better than others. */
export function scoresOf(sentence) {
  return Array.from({ length: POSITIONS }, (_, query) =>
    Array.from({ length: POSITIONS }, (_, key) => 1.2 * Math.sin(1 + 2 * query + 3 * key + 4 * sentence)),
  );
}

/** Softmax over the keys that are let through. A row without any becomes zeros, as in the book's attention. */
export function weightsOf(scores, allowed) {
  return scores.map((row, query) => {
    const seen = row.filter((_, key) => allowed[query][key]);
    const shares = seen.length > 0 ? softmax(seen) : [];
    return allowed[query].map((isSeen) => (isSeen ? shares.shift() : 0));
  });
}

/** The queries that see no key, counted from 0. */
export function emptyRows(allowed) {
  return allowed.flatMap((row, query) => (row.some(Boolean) ? [] : [query]));
}

/** The part of all weight that lies where the mask meant to hide. */
export function misplaced(mask, weights) {
  const total = weights.flat().reduce((sum, weight) => sum + weight, 0);
  const hidden = weights.flat().filter((_, i) => !mask.flat()[i]);
  return total === 0 ? 0 : hidden.reduce((sum, weight) => sum + weight, 0) / total;
}

/** All that is shown, for each sentence. */
export function evaluate({ lengths, causal, window, convention }) {
  return lengths.map((length, sentence) => {
    const mask = maskOf(length, causal, window);
    const allowed = obeyed(mask, convention);
    return { mask, weights: weightsOf(scoresOf(sentence), allowed), empty: emptyRows(allowed) };
  });
}

/** What is seen, in a few sentences. */
export function describe(state) {
  const { lengths, causal, window, convention } = state;
  const conditions = [
    lengths.some((length) => length < POSITIONS) && "is no pad",
    causal && "is not in the future",
    window < POSITIONS && (window === 1 ? "is its own position" : `is less than ${window} steps away`),
  ].filter(Boolean);
  const rule = conditions.length > 0 ? `only to a key that ${listed(conditions)}` : "to every key";
  const parts = evaluate(state);
  const wrong = misplaced(parts.flatMap(({ mask }) => mask), parts.flatMap(({ weights }) => weights));
  const taken = convention === "attend" ? "may attend" : "hide";
  return `By the mask, a query may attend ${rule}. The softmax reads True as “${taken}”, and ${Math.round(100 * wrong)}% of the weight goes where the mask meant to hide.`;
}

/** The warning about rows without a key, and whether there are any. */
export function warn(state) {
  const rows = evaluate(state).map(({ empty }, sentence) =>
    empty.length === 0 ? "" : `${empty.length} ${empty.length === 1 ? "query" : "queries"} of sentence ${sentence + 1}`,
  );
  const named = rows.filter(Boolean);
  if (named.length === 0) return { on: false, text: "Every query sees a key: each row of weights adds up to 1." };
  const text = `No key is left for ${named.join(", and for ")}. A plain softmax makes NaN of such a row; this book's attention makes zeros.`;
  return { on: true, text };
}

function listed(parts) {
  return [parts.slice(0, -1).join(", "), parts.at(-1)].filter((part) => part !== "").join(" and ");
}

// The drawing

const CELL = { width: 46, height: 28 };
const [LEFT, TOP] = [56, 38];
const [WIDTH, HEIGHT] = [LEFT + POSITIONS * CELL.width + 6, TOP + POSITIONS * CELL.height + 6];

/** A square table of a sentence, a row for each query and a column for each key. */
function table(sentence, drawCell) {
  const words = SENTENCES[sentence];
  const drawing = svg("svg", { role: "img", viewBox: `0 0 ${WIDTH} ${HEIGHT}` });
  const columns = words.map((_, key) => svg("text", { x: LEFT + (key + 0.5) * CELL.width, y: TOP - 7 }));
  const rows = words.map((_, query) => svg("text", { x: LEFT - 7, y: TOP + (query + 0.5) * CELL.height + 4 }));
  const axes = [
    svg("text", { class: "axis", x: LEFT + (POSITIONS * CELL.width) / 2, y: 13 }, "key"),
    svg("text", { class: "axis row", x: LEFT - 7, y: TOP - 7 }, "query"),
  ];
  const cells = words.map((_, query) =>
    words.map((_, key) => {
      const [x, y] = [LEFT + key * CELL.width, TOP + query * CELL.height];
      const box = svg("rect", { x: x + 1, y: y + 1, width: CELL.width - 2, height: CELL.height - 2, rx: 2 });
      const text = svg("text", { x: x + CELL.width / 2, y: y + CELL.height / 2 + 4 });
      return { box, text };
    }),
  );
  const frames = words.map((_, query) => {
    const y = TOP + query * CELL.height + 1;
    return svg("rect", { class: "empty", x: LEFT + 1, y, width: POSITIONS * CELL.width - 2, height: CELL.height - 2, rx: 2 });
  });
  const notes = words.map((_, query) => {
    const y = TOP + (query + 0.5) * CELL.height + 4;
    return svg("text", { class: "empty", x: LEFT + (POSITIONS * CELL.width) / 2, y }, "sees no key");
  });
  const drawn = cells.flat().flatMap(({ box, text }) => [box, text]);
  drawing.append(...axes, ...columns, ...rows, ...drawn, ...frames, ...notes);
  return {
    node: drawing,
    show(length, values, empty, label) {
      words.forEach((word, at) => {
        const isPad = at >= length;
        for (const [text, kind] of [[columns[at], ""], [rows[at], "row"]]) {
          text.textContent = isPad ? "pad" : word;
          text.setAttribute("class", isPad ? `${kind} pad` : kind);
        }
      });
      cells.forEach((row, query) => row.forEach((cell, key) => drawCell(cell, values[query][key])));
      [...frames, ...notes].forEach((node, i) => {
        node.setAttribute("visibility", empty.includes(i % POSITIONS) ? "visible" : "hidden");
      });
      drawing.setAttribute("aria-label", label);
    },
  };
}

function drawTruth({ box, text }, isTrue) {
  box.setAttribute("class", String(isTrue));
  setAttributes(text, { class: String(isTrue) });
  text.textContent = isTrue ? "True" : "False";
}

function drawWeight({ box, text }, weight) {
  setAttributes(box, { class: weight > 0 ? "weight" : "", "fill-opacity": (0.1 + 0.45 * weight).toFixed(2) });
  text.textContent = weight > 0 ? fixed(weight) : "";
}

/** The mask of a sentence and its weights, side by side. */
function sentencePanels(sentence) {
  const [truths, weights] = [table(sentence, drawTruth), table(sentence, drawWeight)];
  const name = `Sentence ${sentence + 1}`;
  return {
    nodes: [panel(name, ": the mask that was built.", truths.node), panel(name, ": the weights.", weights.node)],
    show(length, found) {
      const allowed = found.mask.flat().filter(Boolean).length;
      truths.show(length, found.mask, [], `Mask of sentence ${sentence + 1}: ${allowed} of 36 entries are True`);
      const seen = found.weights.map((row) => row.filter((weight) => weight > 0).length);
      weights.show(length, found.weights, found.empty, `Weights of sentence ${sentence + 1}: its queries see ${seen.join(", ")} keys`);
    },
  };
}

function panel(head, text, ...parts) {
  return html("div", { class: "panel" }, html("p", {}, html("b", {}, head), text), ...parts);
}

/** The whole figure: its `node`, and `show(state)`. */
function assemble(model, change, reset) {
  const lengths = SENTENCES.map((_, sentence) =>
    slider({
      label: `Real words of sentence ${sentence + 1}`,
      lowest: 0,
      highest: POSITIONS,
      step: 1,
      low: "all pads",
      high: "no pad",
      format: String,
      change: (length) => change({ lengths: model.get("lengths").with(sentence, length) }),
    }),
  );
  const window = slider({
    label: "Window",
    lowest: 1,
    highest: POSITIONS,
    step: 1,
    low: "itself alone",
    high: "no limit",
    format: (steps) => (steps === POSITIONS ? "none" : String(steps)),
    change: (steps) => change({ window: steps }),
  });
  const causal = choice("The future is", ["open", "hidden"], (i) => change({ causal: i === 1 }));
  const convention = choice("True is read as", ["may attend", "hide"], (i) => change({ convention: CONVENTIONS[i] }));
  const sentence = html("p", { class: "sentence", "aria-live": "polite" });
  const warning = html("p", { role: "status" });
  const parts = SENTENCES.map((_, i) => sentencePanels(i));
  const foot = html("div", { class: "foot" }, button("Reset", reset).node);
  return {
    node: html(
      "div",
      { class: "masks" },
      panel("Hide", " the pads, and the future.", ...lengths.map(({ node }) => node), causal.node),
      panel("Limit", " how far a query sees, and choose how the mask is read.", window.node, convention.node, foot),
      sentence,
      warning,
      ...parts.flatMap(({ nodes }) => nodes),
    ),
    show(state) {
      lengths.forEach((control, i) => control.show(state.lengths[i]));
      window.show(state.window);
      causal.show(state.causal ? 1 : 0);
      convention.show(CONVENTIONS.indexOf(state.convention));
      sentence.textContent = describe(state);
      const { on, text } = warn(state);
      warning.className = on ? "warning on" : "warning";
      warning.textContent = text;
      evaluate(state).forEach((found, i) => parts[i].show(state.lengths[i], found));
    },
  };
}

/** Draws the explorer into `el` and keeps it up to date with `model`. Returns the function that ends this.
 * What the reader does only changes the model; the figure follows the model, whoever changed it. */
function render({ model, el }) {
  addStyles("masks", STYLES);
  const read = () => Object.fromEntries(TRAITS.map((trait) => [trait, model.get(trait)]));
  const start = read();
  const change = (changes) => {
    for (const [trait, value] of Object.entries(changes)) model.set(trait, value);
    model.save_changes();
  };
  const figure = assemble(model, change, () => change(start));
  el.append(html("div", { class: "explorer-figure", role: "group", "aria-label": "The masks explorer" }, figure.node));
  const redraw = () => figure.show(read());
  redraw();
  for (const trait of TRAITS) model.on(`change:${trait}`, redraw);
  return () => TRAITS.forEach((trait) => model.off(`change:${trait}`, redraw));
}

export default { render };
