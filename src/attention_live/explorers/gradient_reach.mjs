// The gradient-reach explorer: what is left of a gradient after some recurrent steps, beside one attention layer.
// State: weight (of the recurrence), activation (the size of every state), distance (in steps).

import { button, slider } from "./lib/controls.mjs";
import { html, setAttributes, svg } from "./lib/dom.mjs";
import { fixed } from "./lib/format.mjs";
import { complaintOf, wholeWithin, within } from "./lib/rules.mjs";
import { addStyles } from "./lib/style.mjs";

const TRAITS = ["weight", "activation", "distance"];
const WEIGHT = 2; // the largest values, here as in gradient_reach.py
const ACTIVATION = 0.95;
const DISTANCE = 60;
const RESOLUTION = 2 ** -24; // what is smaller vanishes when a 32-bit number adds it to 1

const STYLES = `
.explorer-figure .gradient-reach {
  display: grid; gap: 14px 16px; grid-template-columns: minmax(0, 1fr);

  & .sentence { min-height: 8.7em; font-size: 16px; } /* room for its longest form: nothing jumps, or leaves a full screen */
  & .panel { display: grid; gap: 10px; align-content: start; min-width: 0; padding: 12px; border-radius: 8px; background: var(--panel); }
  & .panel > p { color: var(--muted); }
  & .panel > p b { font-weight: 600; }
  & .panel > p b:not([class]) { color: var(--ink); }
  & .foot { display: flex; justify-content: end; }
  & .slider:focus-within output { font-weight: 600; }

  & svg { display: block; width: 100%; height: auto; }
  & .chart { border-radius: 6px; background: var(--paper); }
  & .chart text { font-size: 14px; fill: var(--muted); }
  & .chart .grid, & .chart .here { stroke: var(--line); }
  & .chart .here { stroke: var(--muted); stroke-dasharray: 3 3; }
  & .chart .lost { fill: color-mix(in srgb, var(--muted) 14%, transparent); }
  & .chart .one { stroke: var(--muted); }
  & .chart polyline { fill: none; stroke: currentColor; stroke-width: 2.5px; }
  & .chart circle { fill: currentColor; stroke: var(--paper); stroke-width: 1.5px; }
  & .chart .query, & .strip .query { color: var(--query); }
  & .chart .key, & .strip .key { color: var(--key); }
  & .chart text.query, & .chart text.key {
    fill: currentColor; font-weight: 600; stroke: var(--paper); stroke-width: 4px; paint-order: stroke;
  }
  & .strip { display: grid; gap: 2px 10px; grid-template-columns: minmax(0, 1fr); }
  & .strip .cells { height: 18px; border-radius: 4px; background: var(--paper); }
  & .strip rect { fill: currentColor; }
  & .ends { display: flex; justify-content: space-between; color: var(--muted); }
  & .ends span { font-size: 12px; }
}
@container (min-width: 600px) {
  .explorer-figure .gradient-reach {
    grid-template-columns: minmax(0, 4fr) minmax(0, 5fr);
    & .sentence, & .strips { grid-column: 1 / -1; }
    & .sentence { min-height: 4.35em; }
    & .product { min-height: 2.9em; }
    & .strip { grid-template-columns: 7.5em minmax(0, 1fr); align-items: center; }
    & .ends { margin-left: calc(7.5em + 10px); }
  }
}
`;

/** What is wrong with a state, in words, and "" where nothing is: the rules of gradient_reach.py. */
export function complaint(state) {
  const rules = { weight: within(0, WEIGHT), activation: within(0, ACTIVATION), distance: wholeWithin(1, DISTANCE) };
  return complaintOf(state, rules);
}

// The arithmetic

/** What one step multiplies the gradient by: the recurrent weight times the slope of tanh where its value is h. */
export function factor(weight, activation) {
  return weight * (1 - activation ** 2);
}

/** What is left of the gradient after 0, 1, … `distance` steps. */
export function profile(weight, activation, distance) {
  return Array.from({ length: distance + 1 }, (_, steps) => factor(weight, activation) ** steps);
}

/** Each position's part of the largest one, from the most distant to the last. */
export function relative(left) {
  const largest = Math.max(...left);
  return left.map((x) => x / largest).reverse();
}

/** A positive number in the reader's form: 0.122, 12.6, and powers of ten where there are too many zeros. */
export function readable(x) {
  if (x === 0 || (x >= 0.001 && x < 1000)) return String(Number(x.toPrecision(3)));
  const [digits, exponent] = x.toExponential(1).split("e");
  const raised = [...String(Number(exponent))].map((digit) => (digit === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit])).join("");
  return `${digits} × 10${raised}`;
}

/** What happened, in a few sentences. */
export function describe({ weight, activation, distance }) {
  const left = factor(weight, activation) ** distance;
  const steps = distance === 1 ? "1 step" : `${distance} steps`;
  const what = left > 1 ? `it is ${readable(left)} times as large` : `${readable(left)} of it is left`;
  const remark =
    left < RESOLUTION
      ? ": less than a 32-bit number can hold beside a 1."
      : left > 100
        ? ": it has exploded."
        : ".";
  return (
    `Each step multiplies the gradient by ${readable(factor(weight, activation))}. ` +
    `After ${steps}, ${what}${remark} ` +
    `An attention layer that looks at these ${distance + 1} tokens alike hands each of them ${readable(1 / (distance + 1))}, near or far.`
  );
}

// The drawing

const CHART = { width: 400, height: 310, left: 48, right: 14, top: 14, bottom: 46 };
const LOWEST = -12; // powers of ten at the lower and the upper edge
const HIGHEST = 12;

/** Where a distance and a fraction lie in the chart; what lies beyond its edges is put on them. */
function place(steps, fraction) {
  const power = Math.max(LOWEST, Math.min(HIGHEST, Math.log10(fraction)));
  const x = CHART.left + (steps / DISTANCE) * (CHART.width - CHART.left - CHART.right);
  const y = CHART.top + ((HIGHEST - power) / (HIGHEST - LOWEST)) * (CHART.height - CHART.top - CHART.bottom);
  return [x, y];
}

/** What is left over distance, on a logarithmic axis: the recurrent network's line and the attention layer's. */
function chart() {
  const here = svg("line", { class: "here" });
  const rnn = svg("polyline", { class: "query" });
  const attention = svg("polyline", { class: "key" });
  const dots = [svg("circle", { class: "query", r: 5 }), svg("circle", { class: "key", r: 5 })];
  const names = [svg("text", { class: "query" }, "recurrent"), svg("text", { class: "key" }, "attention")];
  return {
    node: svg(
      "svg",
      { class: "chart", role: "img", "aria-label": "What is left of the gradient over the distance", viewBox: `0 0 ${CHART.width} ${CHART.height}` },
      ...scenery(),
      here,
      rnn,
      attention,
      ...dots,
      ...names,
    ),
    show({ weight, activation, distance }) {
      const left = profile(weight, activation, DISTANCE);
      const share = 1 / (distance + 1);
      const inside = left.findIndex((x) => Math.abs(Math.log10(x)) > HIGHEST);
      const drawn = inside === -1 ? left : left.slice(0, inside + 1);
      rnn.setAttribute("points", drawn.map((x, steps) => place(steps, x)).join(" "));
      attention.setAttribute("points", [place(0, share), place(distance, share)].join(" "));
      const [x, top] = place(distance, 10 ** HIGHEST);
      setAttributes(here, { x1: x, x2: x, y1: top, y2: CHART.height - CHART.bottom });
      const ends = [place(distance, left[distance]), place(distance, share)];
      dots.forEach((dot, i) => setAttributes(dot, { cx: ends[i][0], cy: ends[i][1] }));
      const rnnIsBelow = ends[0][1] > ends[1][1];
      names.forEach((name, i) => {
        const below = (i === 0) === rnnIsBelow;
        const y = ends[i][1] + (below ? 18 : -10);
        setAttributes(name, {
          x: x > CHART.width / 2 ? x - 8 : x + 8,
          y: Math.max(CHART.top + 10, Math.min(CHART.height - CHART.bottom - 6, y)),
          "text-anchor": x > CHART.width / 2 ? "end" : "start",
        });
      });
    },
  };
}

/** The lines of the chart with their numbers, and the band of what is too small. */
function scenery() {
  const [left, right] = [place(0, 1)[0], place(DISTANCE, 1)[0]];
  const [bottom, lost] = [CHART.height - CHART.bottom, place(0, RESOLUTION)[1]];
  const nodes = [svg("rect", { class: "lost", x: left, y: lost, width: right - left, height: bottom - lost })];
  for (const power of [-12, -8, -4, 0, 4, 8, 12]) {
    const y = place(0, 10 ** power)[1];
    nodes.push(svg("line", { class: power === 0 ? "one" : "grid", x1: left, x2: right, y1: y, y2: y }));
    const number = power === 0 ? "1" : readable(10 ** power).replace("1.0 × ", "");
    nodes.push(svg("text", { x: left - 6, y: y + 5, "text-anchor": "end" }, number));
  }
  for (let steps = 0; steps <= DISTANCE; steps += 10) {
    nodes.push(svg("text", { x: place(steps, 1)[0], y: bottom + 18, "text-anchor": "middle" }, String(steps)));
  }
  nodes.push(svg("text", { x: (left + right) / 2, y: CHART.height - 6, "text-anchor": "middle" }, "distance in steps"));
  nodes.push(svg("text", { x: left + 8, y: bottom - 8 }, "lost when added to a 1, in 32 bits"));
  return nodes;
}

/** A row of cells, one for each position, the stronger the more of it reaches the end. */
function strip(name, kind) {
  const cells = svg("svg", { class: `cells ${kind}`, "aria-hidden": "true", preserveAspectRatio: "none" });
  return {
    node: html("div", { class: "strip" }, html("b", { class: kind }, name), cells),
    show(parts) {
      cells.setAttribute("viewBox", `0 0 ${parts.length} 1`);
      cells.replaceChildren(
        ...parts.map((part, i) => svg("rect", { x: i + 0.04, y: 0, width: 0.92, height: 1, "fill-opacity": part.toFixed(3) })),
      );
    },
  };
}

/** The whole figure: its `node`, and `show(state)`. */
function assemble(change, reset) {
  const sentence = html("p", { class: "sentence", "aria-live": "polite" });
  const sliders = {
    weight: slider({
      label: "Recurrent weight w",
      lowest: 0,
      highest: WEIGHT,
      step: 0.01,
      low: "forgets at once",
      high: "doubles",
      format: fixed,
      change: (weight) => change({ weight }),
    }),
    activation: slider({
      label: "Size of the states |h|",
      lowest: 0,
      highest: ACTIVATION,
      step: 0.01,
      low: "tanh is straight",
      high: "tanh is flat",
      format: fixed,
      change: (activation) => change({ activation }),
    }),
    distance: slider({
      label: "Distance in steps",
      lowest: 1,
      highest: DISTANCE,
      step: 1,
      low: "next door",
      high: "far away",
      format: String,
      change: (distance) => change({ distance }),
    }),
  };
  const curves = chart();
  const strips = [strip("Recurrent", "query"), strip("Attention", "key")];
  const product = html("p", { class: "product" });
  const intro = (head, text) => html("p", {}, html("b", {}, head), text);
  return {
    node: html(
      "div",
      { class: "gradient-reach" },
      sentence,
      html(
        "div",
        { class: "panel" },
        intro("Choose", " a network and a distance."),
        ...Object.values(sliders).map(({ node }) => node),
        product,
        html("div", { class: "foot" }, button("Reset", reset).node),
      ),
      html("div", { class: "panel" }, intro("What is left", " of the gradient, in powers of ten."), curves.node),
      html(
        "div",
        { class: "panel strips" },
        intro("Who is heard", " at the end: each token's part, full colour for the largest."),
        ...strips.map(({ node }) => node),
        html("div", { class: "ends" }, html("span", {}, "the distant token"), html("span", {}, "the last token")),
      ),
    ),
    show(state) {
      const { weight, activation, distance } = state;
      sentence.textContent = describe(state);
      for (const [trait, control] of Object.entries(sliders)) control.show(state[trait]);
      product.textContent = `w × (1 − h²) = ${fixed(weight)} × ${readable(1 - activation ** 2)} = ${readable(factor(weight, activation))}`;
      curves.show(state);
      strips[0].show(relative(profile(weight, activation, distance)));
      strips[1].show(Array(distance + 1).fill(1));
    },
  };
}

/** Draws the explorer into `el` and keeps it up to date with `model`. Returns the function that ends this.
 * What the reader does only changes the model; the figure follows the model, whoever changed it. */
function render({ model, el }) {
  addStyles("gradient-reach", STYLES);
  const read = () => Object.fromEntries(TRAITS.map((trait) => [trait, model.get(trait)]));
  const start = read();
  const change = (changes) => {
    for (const [trait, value] of Object.entries(changes)) model.set(trait, value);
    model.save_changes();
  };
  const figure = assemble(change, () => change(start));
  const root = html("div", { class: "explorer-figure", role: "group", "aria-label": "The gradient-reach explorer" }, figure.node);
  el.append(root);
  const redraw = () => figure.show(read());
  redraw();
  for (const trait of TRAITS) model.on(`change:${trait}`, redraw);
  return () => TRAITS.forEach((trait) => model.off(`change:${trait}`, redraw));
}

export default { render };
