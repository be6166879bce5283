// The scaling explorer: random queries and keys, their scores, the weights, and the gradient that softmax lets through.
// State: d_k (a power of two), divide_by (what scores are divided by), std (of all components), query (whose weights are shown).

import { dot, softmax } from "./lib/arithmetic.mjs";
import { bar } from "./lib/bar.mjs";
import { KEEPS_KEYS, button, choice, logSlider } from "./lib/controls.mjs";
import { html, setAttributes, svg, uniqueId } from "./lib/dom.mjs";
import { fixed } from "./lib/format.mjs";
import { complaintOf, oneOf, wholeWithin, within } from "./lib/rules.mjs";
import { addStyles } from "./lib/style.mjs";

const TRAITS = ["d_k", "divide_by", "std", "query"];
const LEVELS = 11; // d_k = 2 ** 0 … 2 ** 10, here as in scaling.py, like the three that follow
const DIVISORS = ["nothing", "√d_k", "d_k"];
const QUERIES = 100;
const SPREAD = [0.25, 4];
const KEYS = 8;
const SILENT = 0.01; // a Jacobian smaller than this lets next to nothing through
const STRONGEST = 0.5; // the largest norm that a Jacobian of softmax can have: two weights of one half

const STYLES = `
.explorer-figure .scaling {
  display: grid; gap: 14px 16px; grid-template-columns: minmax(0, 1fr);

  & .sentence { min-height: 4.4em; font-size: 16px; }
  & .panel { display: grid; gap: 8px; align-content: start; min-width: 0; padding: 12px; border-radius: 8px; background: var(--panel); }
  & .panel > p { color: var(--muted); }
  & .panel > p b { font-weight: 600; color: var(--ink); }
  & .foot { display: flex; gap: 8px; justify-content: space-between; align-items: center; }
  & .foot .buttons { display: flex; gap: 8px; }
  & th:first-child { width: 22%; text-align: left; }
  & th:last-child { width: 52%; }
  & tbody tr { height: 25px; }

  & .chart { display: block; width: 100%; height: auto; border-radius: 6px; background: var(--paper); }
  & .chart text { font-size: 11px; fill: var(--muted); text-anchor: middle; }
  & .chart .inner { fill: var(--key); }
  & .chart .beyond { fill: var(--query); }
  & .chart text.beyond { fill: var(--query); }
  & .chart circle { fill: var(--key); fill-opacity: 0.65; }
  & .chart circle.chosen { fill: var(--query); fill-opacity: 1; stroke: var(--paper); stroke-width: 1.5px; }
  & .chart .median { stroke: var(--output); stroke-width: 2px; }
  & .chart text.median { fill: var(--output); stroke: var(--paper); stroke-width: 4px; paint-order: stroke; }
}
@container (min-width: 600px) {
  .explorer-figure .scaling {
    grid-template-columns: repeat(2, minmax(0, 1fr));
    & > fieldset, & .sentence, & .weights { grid-column: 1 / -1; }
    & .sentence { min-height: 2.9em; }
    /* Two charts side by side, then the weights with their text on the left. */
    & .scores, & .gradients { grid-row: span 2; grid-template-rows: subgrid; align-content: normal; }
    & .weights { grid-template-columns: 1fr 2fr; column-gap: 24px; }
    & .weights table { grid-area: 1 / 2 / span 2; }
    & .weights .foot { flex-direction: column; align-items: start; justify-content: end; }
  }
}
@container (min-width: 1000px) { /* on a whole screen: three controls above three pictures */
  .explorer-figure .scaling {
    grid-template-columns: repeat(3, minmax(0, 1fr));
    & > fieldset { grid-column: auto; align-content: center; }
    & .weights { grid-column: auto; grid-row: span 2; grid-template-columns: minmax(0, 1fr); }
    & .weights table { grid-area: auto; }
    & .weights .foot { flex-direction: row; align-items: center; justify-content: space-between; }
  }
}
`;

/** What is wrong with a state, in words, and "" where nothing is: the rules of scaling.py. */
export function complaint(state) {
  const widths = Array.from({ length: LEVELS }, (_, level) => 2 ** level);
  const query = wholeWithin(0, QUERIES - 1);
  return complaintOf(state, { d_k: oneOf(widths), divide_by: oneOf(DIVISORS), std: within(...SPREAD), query });
}

// The arithmetic

/** The i-th of a row of random numbers between 0 and 1 that is the same on every machine: a counter, well mixed. */
export function uniform(i) {
  let bits = Math.imul(i + 1, 0x6d2b79f5);
  bits = Math.imul(bits ^ (bits >>> 15), bits | 1);
  bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61);
  return (((bits ^ (bits >>> 14)) >>> 0) + 0.5) / 2 ** 32;
}

/** The i-th standard normal number (Box and Muller). */
export function normal(i) {
  return Math.sqrt(-2 * Math.log(uniform(2 * i))) * Math.cos(2 * Math.PI * uniform(2 * i + 1));
}

/** q·k of every query with each of its keys, for vectors of 2 ** 0 … 2 ** (levels - 1) standard normal components:
 * products[level][query][key]. The wider vectors begin with the components of the narrower ones. */
export function dotProducts(levels, queries, keys) {
  const products = Array.from({ length: levels }, () => Array.from({ length: queries }, () => Array(keys).fill(0)));
  const running = Array.from({ length: queries }, () => Array(keys).fill(0));
  let next = 0;
  for (let d = 1, level = 0; level < levels; d += 1) {
    for (const row of running) {
      const component = normal(next++);
      for (let key = 0; key < keys; key += 1) row[key] += component * normal(next++);
    }
    if (d === 2 ** level) products[level++] = running.map((row) => [...row]);
  }
  return products;
}

/** What q·k is divided by. */
export function divisor(divideBy, d_k) {
  return { nothing: 1, "√d_k": Math.sqrt(d_k), d_k }[divideBy];
}

/** The size (Frobenius norm) of softmax's Jacobian diag(w) − w wᵀ, at the weights w. */
export function jacobianNorm(weights) {
  const squares = dot(weights, weights);
  const own = weights.map((w) => (w * (1 - w)) ** 2).reduce((sum, x) => sum + x, 0);
  const others = weights.map((w) => w * w * (squares - w * w)).reduce((sum, x) => sum + x, 0);
  return Math.sqrt(own + Math.max(0, others));
}

/** All that the figure shows of some dot products: per query the scores, weights and Jacobian's norm, and over all
 * queries the scores' standard deviation (around 0), the mean of the largest weights, and the median norm. */
export function measure(products, factor) {
  const scores = products.map((row) => row.map((product) => product * factor));
  const weights = scores.map((row) => softmax(row));
  const norms = weights.map(jacobianNorm);
  const sorted = [...norms].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  return {
    scores,
    weights,
    norms,
    std: Math.sqrt(mean(scores.flat().map((score) => score * score))),
    largest: mean(weights.map((row) => Math.max(...row))),
    median: (sorted[Math.ceil(middle) - 1] + sorted[Math.floor(middle)]) / 2,
  };
}

function mean(numbers) {
  return numbers.reduce((sum, x) => sum + x, 0) / numbers.length;
}

/** How many of the numbers fall into each of `bins` equal parts of −limit … limit, and below and above it. */
export function histogram(numbers, limit, bins) {
  const counts = Array(bins).fill(0);
  let [below, above] = [0, 0];
  for (const x of numbers) {
    if (x < -limit) below += 1;
    else if (x >= limit) above += 1;
    else counts[Math.min(bins - 1, Math.floor(((x + limit) / (2 * limit)) * bins))] += 1;
  }
  return { below, counts, above };
}

/** What happened, in a sentence. */
export function describe({ d_k, divide_by }, { std, largest, norms }) {
  const silent = norms.filter((norm) => norm < SILENT).length;
  const divided = divide_by === "nothing" ? "undivided" : `divided by ${divide_by === "d_k" ? d_k : fixed(Math.sqrt(d_k))}`;
  const gradients = silent === 0 ? "every query lets its gradient through" : `${silent} of ${norms.length} queries let next to no gradient through`;
  return `With d_k = ${d_k}, ${divided}, scores have a standard deviation of ${fixed(std)}. A query's best key gets ${fixed(largest)} on average, and ${gradients}.`;
}

// The drawing

const WIDTH = 340;

/** A slider over d_k = 1, 2, 4, …, 1024. */
function widthSlider(change) {
  const id = uniqueId();
  const range = html("input", { type: "range", id, min: 0, max: LEVELS - 1, step: 1, ...KEEPS_KEYS });
  const shown = html("output", { for: id });
  range.addEventListener("input", () => change(2 ** Number(range.value)));
  return {
    node: html(
      "div",
      { class: "slider" },
      html("label", { for: id }, "Width d_k"),
      shown,
      range,
      html("small", {}, "1"),
      html("small", {}, String(2 ** (LEVELS - 1))),
    ),
    show(d_k) {
      range.value = Math.log2(d_k);
      range.setAttribute("aria-valuetext", d_k);
      shown.textContent = d_k;
    },
  };
}

/** The scores of all queries, on an axis that stays, so that one sees them spread. */
function scoresPanel() {
  const [height, base, edge, limit, bins] = [190, 164, 32, 12, 48];
  const step = (WIDTH - 2 * edge) / bins;
  const bars = Array.from({ length: bins }, (_, i) => svg("rect", { class: "inner", x: edge + i * step + 0.5, width: step - 1 }));
  const outer = [2, WIDTH - edge + 4].map((x) => svg("rect", { class: "beyond", x, width: edge - 6 }));
  const shares = [svg("text", { class: "beyond", x: edge / 2 }), svg("text", { class: "beyond", x: WIDTH - edge / 2 })];
  const ticks = [-12, -6, 0, 6, 12].map((score) =>
    svg("text", { x: WIDTH / 2 + (score * step * bins) / (2 * limit), y: height - 8 }, String(score).replace("-", "−")),
  );
  const axis = svg("path", { class: "axes", d: `M${edge} ${base}H${WIDTH - edge}` });
  const chart = svg("svg", { class: "chart", role: "img", viewBox: `0 0 ${WIDTH} ${height}` }, ...bars, ...outer, axis, ...ticks, ...shares);
  const draw = (rect, count, tallest) => setAttributes(rect, { y: base - (130 * count) / tallest, height: (130 * count) / tallest });
  return {
    node: panel("scores", ["Scores", ` of ${QUERIES} queries with ${KEYS} keys each. What lies beyond the axis is piled up at its ends.`], chart),
    show(state, { scores, std }) {
      const all = scores.flat();
      const { below, counts, above } = histogram(all, limit, bins);
      const tallest = Math.max(below, above, ...counts);
      counts.forEach((count, i) => draw(bars[i], count, tallest));
      const percent = [below, above].map((count) => `${((100 * count) / all.length).toFixed(0)}%`);
      [below, above].forEach((count, i) => {
        draw(outer[i], count, tallest);
        shares[i].textContent = count > 0 ? percent[i] : "";
        shares[i].setAttribute("y", base - 6 - (130 * count) / tallest);
      });
      chart.setAttribute(
        "aria-label",
        `Histogram of the scores: standard deviation ${fixed(std)}, ${percent[0]} below −${limit}, ${percent[1]} above ${limit}`,
      );
    },
  };
}

/** The size of the Jacobian of every query: a dot each, in a row of its own. */
function gradientsPanel() {
  const [height, base, edge, top] = [190, 164, 20, 28];
  const x = (norm) => edge + (norm / STRONGEST) * (WIDTH - 2 * edge);
  const y = (query) => top + ((base - top - 6) * query) / (QUERIES - 1);
  const dots = Array.from({ length: QUERIES }, (_, query) => svg("circle", { cy: y(query), r: 3 }));
  const ticks = [0, 0.1, 0.2, 0.3, 0.4, 0.5].map((norm) => svg("text", { x: x(norm), y: height - 8 }, norm.toFixed(1)));
  const axis = svg("path", { class: "axes", d: `M${edge} ${base}H${WIDTH - edge}` });
  const median = svg("line", { class: "median", y1: top - 8, y2: base });
  const word = svg("text", { class: "median", y: top - 13 });
  const front = svg("circle", { class: "chosen", r: 5 });
  const chart = svg("svg", { class: "chart", role: "img", viewBox: `0 0 ${WIDTH} ${height}` }, axis, ...ticks, ...dots, median, word, front);
  return {
    node: panel("gradients", ["Gradient", " through softmax (the size of its Jacobian): a dot for each query. At the left edge, nothing comes back."], chart),
    show({ query }, { norms, median: middle }) {
      dots.forEach((dot, i) => dot.setAttribute("cx", x(norms[i])));
      setAttributes(front, { cx: x(norms[query]), cy: y(query) });
      setAttributes(median, { x1: x(middle), x2: x(middle) });
      word.setAttribute("x", Math.max(x(middle), edge + 22));
      word.textContent = `median ${fixed(middle)}`;
      chart.setAttribute("aria-label", `The size of the Jacobian of each of ${QUERIES} queries, from 0 to 0.5: median ${fixed(middle)}, the chosen one ${fixed(norms[query])}`);
    },
  };
}

/** The weights of one query. */
function weightsPanel({ change, reset }) {
  const rows = Array.from({ length: KEYS }, (_, key) => {
    const [score, weight] = [html("td"), bar()];
    return { node: html("tr", {}, html("th", { scope: "row" }, `key ${key + 1}`), score, html("td", {}, weight.node)), score, weight };
  });
  const heads = ["key", "score", "softmax"].map((head) => html("th", { scope: "col" }, head));
  const table = html("table", {}, html("thead", {}, html("tr", {}, ...heads)), html("tbody", {}, ...rows.map((row) => row.node)));
  const chosen = html("span");
  let query;
  const next = button("Next query", () => change({ query: (query + 1) % QUERIES }));
  const foot = html("div", { class: "foot" }, chosen, html("div", { class: "buttons" }, next.node, button("Reset", reset).node));
  return {
    node: panel("weights", ["Weights", " of one query, the large dot: softmax of its scores."], table, foot),
    show(state, { scores, weights }) {
      query = state.query;
      chosen.textContent = `query ${query + 1} of ${QUERIES}`;
      rows.forEach(({ score, weight }, key) => {
        score.textContent = fixed(scores[query][key]);
        weight.show(weights[query][key]);
      });
    },
  };
}

/** A part of the figure: a text with its opening in bold, and what follows. */
function panel(name, [opening, text], ...parts) {
  return html("div", { class: `panel ${name}` }, html("p", {}, html("b", {}, opening), text), ...parts);
}

/** Draws the explorer into `el` and keeps it up to date with `model`. Returns the function that ends this.
 * What the reader does only changes the model; the figure follows the model, whoever changed it. */
function render({ model, el }) {
  addStyles("scaling", STYLES);
  let products = []; // of the levels up to the widest seen so far: the last one costs as much as all the others
  const read = () => Object.fromEntries(TRAITS.map((trait) => [trait, model.get(trait)]));
  const start = read();
  const change = (changes) => {
    for (const [trait, value] of Object.entries(changes)) model.set(trait, value);
    model.save_changes();
  };

  const divide = choice("Divide q·k by", DIVISORS, (i) => change({ divide_by: DIVISORS[i] }));
  const width = widthSlider((d_k) => change({ d_k }));
  const spread = logSlider({
    label: "Spread of q and k",
    lowest: -0.6,
    highest: 0.6,
    low: "short vectors",
    high: "long vectors",
    change: (std) => change({ std }),
  });
  const sentence = html("p", { class: "sentence", "aria-live": "polite" });
  const panels = [scoresPanel(), gradientsPanel(), weightsPanel({ change, reset: () => change(start) })];
  const figure = html("div", { class: "scaling" }, divide.node, width.node, spread.node, sentence, ...panels.map(({ node }) => node));
  el.append(html("div", { class: "explorer-figure", role: "group", "aria-label": "The scaling explorer" }, figure));

  const redraw = () => {
    const state = read();
    const level = Math.log2(state.d_k);
    if (level >= products.length) products = dotProducts(level + 1, QUERIES, KEYS);
    const found = measure(products[level], state.std ** 2 / divisor(state.divide_by, state.d_k));
    divide.show(DIVISORS.indexOf(state.divide_by));
    width.show(state.d_k);
    spread.show(state.std);
    sentence.textContent = describe(state, found);
    panels.forEach((part) => part.show(state, found));
  };
  redraw();
  for (const trait of TRAITS) model.on(`change:${trait}`, redraw);
  return () => TRAITS.forEach((trait) => model.off(`change:${trait}`, redraw));
}

export default { render };
