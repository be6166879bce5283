// The positions explorer: the sinusoidal codes of 64 positions, and two of these positions compared.
// State: d_model (width of a code), base, position (the first of the two), offset (how far the second stands after it).

import { dot } from "./lib/arithmetic.mjs";
import { button, choice, slider } from "./lib/controls.mjs";
import { html, setAttributes, svg } from "./lib/dom.mjs";
import { fixed } from "./lib/format.mjs";
import { complaintOf, oneOf, wholeWithin } from "./lib/rules.mjs";
import { addStyles } from "./lib/style.mjs";

const TRAITS = ["d_model", "base", "position", "offset"];
const WIDTHS = [4, 8, 16, 32, 64]; // here as in positions.py, like the three that follow
const BASES = [10, 100, 1000, 10000];
const LAST_POSITION = 40;
const LARGEST_OFFSET = 23;
const POSITIONS = LAST_POSITION + LARGEST_OFFSET + 1;
const HANDS = 4; // clock faces at most, and as many waves

const STYLES = `
.explorer-figure .positions {
  display: grid; gap: 14px 16px; grid-template-columns: minmax(0, 1fr);

  & .sentence { min-height: 7.3em; font-size: 16px; }
  & .panel { display: grid; gap: 8px; align-content: start; min-width: 0; padding: 12px; border-radius: 8px; background: var(--panel); }
  & .panel > p { color: var(--muted); }
  & .panel > p b { font-weight: 600; color: var(--ink); }
  & .panel > p b.query, & .panel > p b.key { color: currentColor; }
  & .panel > p .query { color: var(--query); }
  & .panel > p .key { color: var(--key); }
  & .foot { display: flex; justify-content: end; }

  & svg { display: block; width: 100%; height: auto; border-radius: 6px; background: var(--paper); }
  & svg text { font-size: 11px; fill: var(--muted); text-anchor: middle; }
  & svg text.row { text-anchor: end; }
  & svg .wave { fill: none; stroke: var(--muted); stroke-width: 1.75px; }
  & svg .zero, & svg .dial { fill: none; stroke: var(--line); }
  & svg .mark { stroke: currentColor; stroke-width: 1.5px; stroke-dasharray: 4 3; }
  & svg circle.dot { fill: currentColor; stroke: var(--paper); stroke-width: 1.5px; }
  & svg .frame { fill: none; stroke: currentColor; stroke-width: 2px; }
  & svg .hand { stroke: currentColor; stroke-width: 3.5px; stroke-linecap: round; }
  & svg .arc { fill: none; stroke: var(--output); stroke-width: 3px; }
  & svg text.angle { fill: var(--output); font-weight: 600; font-size: 12px; }
  & svg text.query, & svg text.key { fill: currentColor; font-weight: 600; stroke: var(--paper); stroke-width: 4px; paint-order: stroke; }
  & svg .stem { stroke: var(--muted); stroke-width: 2px; opacity: 0.55; }
  & svg .positive { fill: light-dark(#0072b2, #56a8e8); }
  & svg .negative { fill: light-dark(#d55e00, #ff9a4d); }
}
@container (min-width: 600px) {
  .explorer-figure .positions {
    grid-template-columns: repeat(2, minmax(0, 1fr));
    & .sentence { grid-column: 1 / -1; min-height: 2.9em; }
  }
}
@container (min-width: 1000px) { /* on a whole screen: what is chosen and said on the left, the pictures beside it */
  .explorer-figure .positions {
    grid-template-columns: repeat(3, minmax(0, 1fr)); grid-auto-flow: dense;
    & > :nth-child(-n + 3) { grid-column: 1; grid-row: span 2; }
    & > :nth-child(n + 4) { grid-row: span 3; }
  }
}
`;

/** What is wrong with a state, in words, and "" where nothing is: the rules of positions.py. */
export function complaint(state) {
  const [position, offset] = [wholeWithin(0, LAST_POSITION), wholeWithin(0, LARGEST_OFFSET)];
  return complaintOf(state, { d_model: oneOf(WIDTHS), base: oneOf(BASES), position, offset });
}

// The arithmetic

/** The angle, in radians, by which each pair of dimensions turns from one position to the next. */
export function frequencies(d_model, base) {
  return Array.from({ length: d_model / 2 }, (_, i) => base ** ((-2 * i) / d_model));
}

/** The code of a position: a sine and a cosine for each frequency. */
export function code(position, frequencies) {
  return frequencies.flatMap((frequency) => [Math.sin(position * frequency), Math.cos(position * frequency)]);
}

/** The dot product of the codes of two positions `distance` apart, as a part of the largest, d_model / 2. */
export function likeness(distance, frequencies) {
  return frequencies.reduce((sum, frequency) => sum + Math.cos(distance * frequency), 0) / frequencies.length;
}

/** Which pairs are drawn where there are more than `count`: the first, the last, and some evenly between. */
export function chosenPairs(pairs, count) {
  if (pairs <= count) return Array.from({ length: pairs }, (_, i) => i);
  return Array.from({ length: count }, (_, i) => Math.round((i * (pairs - 1)) / (count - 1)));
}

/** An angle in degrees from 0 to 360, as a reader sees it. */
export function degrees(radians) {
  const turned = ((radians * 180) / Math.PI) % 360;
  const decimals = turned < 1 ? 2 : turned < 10 ? 1 : 0;
  return turned === 0 ? "0°" : turned < 0.005 ? "<0.01°" : `${turned.toFixed(decimals)}°`;
}

/** A whole number with commas between its thousands. */
export function grouped(number) {
  return String(Math.round(number)).replace(/\B(?=(\d{3})+$)/g, ",");
}

/** What is seen, in a few sentences. */
export function describe({ d_model, base, position, offset }) {
  const all = frequencies(d_model, base);
  const alike = dot(code(position, all), code(position + offset, all)) / all.length;
  const others = offset === 0 ? "has the code of any position with itself" : `have those of any two positions ${offset} apart`;
  return (
    `The codes of positions ${position} and ${position + offset} have ${fixed(alike)} of the largest possible dot product, ` +
    `and so ${others}. ` +
    `The fastest hand needs 6.28 positions for one turn, the slowest ${grouped((2 * Math.PI) / all.at(-1))}.`
  );
}

// The drawing

const WIDTH = 340;
const [LEFT, RIGHT] = [30, 8];
const across = (position) => LEFT + ((position + 0.5) / POSITIONS) * (WIDTH - LEFT - RIGHT);

/** The numbers of some positions along the lower edge. */
function ticks(y) {
  return [0, 10, 20, 30, 40, 50, 60].map((position) => svg("text", { x: across(position), y }, String(position)));
}

function image(height, label) {
  return svg("svg", { role: "img", "aria-label": label, viewBox: `0 0 ${WIDTH} ${height}` });
}

/** Vertical lines at the two positions. */
function marks(top, bottom) {
  const lines = ["key", "query"].map((kind) => svg("line", { class: `mark ${kind}`, y1: top, y2: bottom }));
  return {
    nodes: lines,
    show({ position, offset }) {
      [position + offset, position].forEach((at, i) => setAttributes(lines[i], { x1: across(at), x2: across(at) }));
    },
  };
}

/** The sine of some pairs over all positions, a row each. */
function wavesPanel() {
  const [rowHeight, swing, top] = [65, 22, 6];
  const height = top + HANDS * rowHeight + 20;
  const drawing = image(height, "");
  const lines = marks(top, height - 20);
  const rows = Array.from({ length: HANDS }, (_, row) => {
    const middle = top + (row + 0.5) * rowHeight;
    return {
      middle,
      zero: svg("line", { class: "zero", x1: LEFT, x2: WIDTH - RIGHT, y1: middle, y2: middle }),
      wave: svg("polyline", { class: "wave" }),
      name: svg("text", { class: "row", x: LEFT - 6, y: middle + 4 }),
      dots: ["key", "query"].map((kind) => svg("circle", { class: `dot ${kind}`, r: 4.5 })),
    };
  });
  drawing.append(...rows.flatMap(({ zero, wave, name }) => [zero, wave, name]), ...lines.nodes, ...rows.flatMap(({ dots }) => dots), ...ticks(height - 6));
  return {
    node: panel("waves", ["Waves", ": the sine of the same pairs, over the position."], drawing),
    show(state, all) {
      const shown = chosenPairs(all.length, HANDS);
      rows.forEach(({ middle, wave, name, dots, zero }, row) => {
        const hidden = row >= shown.length;
        [wave, name, zero, ...dots].forEach((node) => node.setAttribute("visibility", hidden ? "hidden" : "visible"));
        if (hidden) return;
        const y = (at) => middle - swing * Math.sin(at * all[shown[row]]);
        const points = Array.from({ length: 4 * POSITIONS - 3 }, (_, i) => `${across(i / 4).toFixed(2)},${y(i / 4).toFixed(2)}`);
        wave.setAttribute("points", points.join(" "));
        name.textContent = 2 * shown[row];
        [state.position + state.offset, state.position].forEach((at, i) => setAttributes(dots[i], { cx: across(at), cy: y(at) }));
      });
      lines.show(state);
      drawing.setAttribute("aria-label", `Sine waves of dimensions ${shown.map((pair) => 2 * pair).join(", ")} over 64 positions, from fast to slow`);
    },
  };
}

/** Some pairs as hands of a clock: where they stand at the two positions, and the angle between. */
function handsPanel() {
  const [radius, height] = [52, 286];
  const drawing = image(height, "");
  const faces = Array.from({ length: HANDS }, (_, i) => {
    const [x, y] = [(WIDTH * (1 + 2 * (i % 2))) / 4, 70 + 142 * Math.floor(i / 2)];
    return {
      x,
      y,
      dial: svg("circle", { class: "dial", cx: x, cy: y, r: radius }),
      arc: svg("path", { class: "arc" }),
      hands: ["key", "query"].map((kind) => svg("line", { class: `hand ${kind}`, x1: x, y1: y })),
      name: svg("text", { x, y: y - radius - 5 }),
      angle: svg("text", { class: "angle", x, y: y + radius + 14 }),
    };
  });
  drawing.append(...faces.flatMap(({ dial, arc, hands, name, angle }) => [dial, arc, ...hands, name, angle]));
  const text = html("p", {}, html("b", {}, "Hands"), ": some pairs of dimensions as hands of a clock, at the ", html("span", { class: "query" }, "first"), " and the ", html("span", { class: "key" }, "second"), " position.");
  return {
    node: html("div", { class: "panel hands" }, text, drawing),
    show({ position, offset }, all) {
      const shown = chosenPairs(all.length, HANDS);
      faces.forEach(({ x, y, dial, arc, hands, name, angle }, face) => {
        const hidden = face >= shown.length;
        [dial, arc, ...hands, name, angle].forEach((node) => node.setAttribute("visibility", hidden ? "hidden" : "visible"));
        if (hidden) return;
        const frequency = all[shown[face]];
        const tip = (at, length) => [x + length * Math.sin(at * frequency), y - length * Math.cos(at * frequency)];
        [position + offset, position].forEach((at, i) => {
          const [x2, y2] = tip(at, radius - 6);
          setAttributes(hands[i], { x2, y2 });
        });
        const turn = (offset * frequency) % (2 * Math.PI);
        const [from, to] = [tip(position, 22), tip(position + offset, 22)];
        arc.setAttribute("d", `M${from.join(" ")}A22 22 0 ${turn > Math.PI ? 1 : 0} 1 ${to.join(" ")}`);
        name.textContent = `dimensions ${2 * shown[face]}, ${2 * shown[face] + 1}`;
        angle.textContent = degrees(offset * frequency);
      });
      drawing.setAttribute("aria-label", `Clock hands: from the first position to the second they turn by ${shown.map((pair) => degrees(offset * all[pair])).join(", ")}`);
    },
  };
}

/** All codes, a column each. */
function mapPanel() {
  const [top, side, height] = [6, 192, 218];
  const drawing = image(height, "");
  const cells = svg("g", { "aria-hidden": "true" });
  const cell = (WIDTH - LEFT - RIGHT) / POSITIONS;
  const frames = ["key", "query"].map((kind) => svg("rect", { class: `frame ${kind}`, y: top - 1, width: cell + 2, height: side + 2 }));
  const names = [svg("text", { class: "row", x: LEFT - 6, y: top + 10 }, "0"), svg("text", { class: "row", x: LEFT - 6, y: top + side })];
  drawing.append(cells, ...frames, ...names, ...ticks(height - 6));
  let drawn;
  return {
    node: panel("map", ["Map", ": each column is a code, each row a dimension. Blue is positive, orange negative."], drawing),
    show({ d_model, base, position, offset }, all) {
      if (drawn !== `${d_model} ${base}`) {
        drawn = `${d_model} ${base}`;
        const row = side / d_model;
        const rects = Array.from({ length: POSITIONS }, (_, at) => code(at, all)).flatMap((numbers, at) =>
          numbers.map((number, i) =>
            svg("rect", {
              class: number < 0 ? "negative" : "positive",
              x: (across(at) - cell / 2).toFixed(2),
              y: (top + i * row).toFixed(2),
              width: (cell + 0.15).toFixed(2),
              height: (row + 0.15).toFixed(2),
              "fill-opacity": Math.abs(number).toFixed(2),
            }),
          ),
        );
        cells.replaceChildren(...rects);
        names[1].textContent = d_model - 1;
        drawing.setAttribute("aria-label", `The codes of 64 positions in ${d_model} dimensions: the first dimensions change quickly from left to right, the last slowly`);
      }
      [position + offset, position].forEach((at, i) => frames[i].setAttribute("x", across(at) - cell / 2 - 1));
    },
  };
}

/** The dot product of the first position's code with every other. */
function productPanel() {
  const [top, bottom, height] = [14, 198, 218];
  const drawing = image(height, "");
  const y = (part) => bottom - ((part + 1) / 2) * (bottom - top);
  const stems = Array.from({ length: POSITIONS }, (_, at) => svg("line", { class: "stem", x1: across(at), x2: across(at), y1: y(0) }));
  const zero = svg("line", { class: "zero", x1: LEFT, x2: WIDTH - RIGHT, y1: y(0), y2: y(0) });
  const names = [-1, 0, 1].map((part) => svg("text", { class: "row", x: LEFT - 6, y: y(part) + 4 }, String(part).replace("-", "−")));
  const dots = ["query", "key"].map((kind) => svg("circle", { class: `dot ${kind}`, r: 5 }));
  const value = svg("text", { class: "key" });
  drawing.append(zero, ...stems, ...names, ...dots, value, ...ticks(height - 6));
  return {
    node: panel("product", ["Dot product", " of the first position's code with every other, as a part of the largest."], drawing),
    show({ position, offset }, all) {
      const parts = Array.from({ length: POSITIONS }, (_, at) => likeness(at - position, all));
      stems.forEach((stem, at) => stem.setAttribute("y2", y(parts[at])));
      [position, position + offset].forEach((at, i) => setAttributes(dots[i], { cx: across(at), cy: y(parts[at]) }));
      const part = parts[position + offset];
      setAttributes(value, { x: Math.min(across(position + offset) + 22, WIDTH - 22), y: y(part) + (part < 0 ? 16 : -8) });
      value.textContent = fixed(part);
      drawing.setAttribute("aria-label", `Dot product with position ${position}: 1 at the position itself, ${fixed(part)} at position ${position + offset}, the same to the left and to the right`);
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
  addStyles("positions", STYLES);
  const read = () => Object.fromEntries(TRAITS.map((trait) => [trait, model.get(trait)]));
  const start = read();
  const change = (changes) => {
    for (const [trait, value] of Object.entries(changes)) model.set(trait, value);
    model.save_changes();
  };

  const width = choice("d_model", WIDTHS.map(String), (i) => change({ d_model: WIDTHS[i] }));
  const base = choice("Base", BASES.map(grouped), (i) => change({ base: BASES[i] }));
  const position = slider({
    label: "First position",
    lowest: 0,
    highest: LAST_POSITION,
    step: 1,
    low: "0",
    high: String(LAST_POSITION),
    format: String,
    change: (at) => change({ position: at }),
  });
  const offset = slider({
    label: "Offset of the second",
    lowest: 0,
    highest: LARGEST_OFFSET,
    step: 1,
    low: "the same",
    high: `${LARGEST_OFFSET} after it`,
    format: String,
    change: (steps) => change({ offset: steps }),
  });
  const sentence = html("p", { class: "sentence", "aria-live": "polite" });
  const foot = html("div", { class: "foot" }, button("Reset", () => change(start)).node);
  const codes = panel("choose", ["The codes", ""], width.node, base.node, foot);
  const pair = panel("choose", ["Two positions", ""], position.node, offset.node);
  const panels = [handsPanel(), wavesPanel(), mapPanel(), productPanel()];
  const figure = html("div", { class: "positions" }, codes, pair, sentence, ...panels.map(({ node }) => node));
  el.append(html("div", { class: "explorer-figure", role: "group", "aria-label": "The positions explorer" }, figure));

  const redraw = () => {
    const state = read();
    width.show(WIDTHS.indexOf(state.d_model));
    base.show(BASES.indexOf(state.base));
    position.show(state.position);
    offset.show(state.offset);
    sentence.textContent = describe(state);
    const all = frequencies(state.d_model, state.base);
    panels.forEach((part) => part.show(state, all));
  };
  redraw();
  for (const trait of TRAITS) model.on(`change:${trait}`, redraw);
  return () => TRAITS.forEach((trait) => model.off(`change:${trait}`, redraw));
}

export default { render };
