// A plane with two axes, and points in it that mouse, touch and arrow keys can move.

import { KEEPS_KEYS } from "./controls.mjs";
import { setAttributes, svg } from "./dom.mjs";
import { short, vector } from "./format.mjs";

const WIDTH = 340;
const HEIGHT = 280;
const RADIUS = 112; // from the origin to the last grid line, in pixels
const FINENESS = 10; // steps of a moving point from one grid line to the next
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowDown: [0, -1], ArrowUp: [0, 1] };

/** An empty plane. `fit` it to what it is to show; what is drawn goes into `node`. */
export function plane(label) {
  const scenery = svg("g", { "aria-hidden": "true" });
  const node = svg(
    "svg",
    { class: "plane", role: "group", "aria-label": label, viewBox: `${-WIDTH / 2} ${-HEIGHT / 2} ${WIDTH} ${HEIGHT}` },
    scenery,
  );
  const self = {
    node,
    extent: 0, // the last grid line, in both directions
    spacing: 0, // from one grid line to the next
    held: false, // true while a point is dragged: the plane must then not change under the hand
    /** Where a point of the plane lies in the drawing. */
    place: ([x, y]) => [(x * RADIUS) / self.extent, (-y * RADIUS) / self.extent],
    /** Which point of the plane lies under the pointer. */
    locate({ clientX, clientY }) {
      const box = node.getBoundingClientRect();
      const unit = ((RADIUS / self.extent) * box.width) / WIDTH;
      return [(clientX - box.x - box.width / 2) / unit, -(clientY - box.y - box.height / 2) / unit];
    },
    /** The nearest point that lies within the extent and on a whole number of steps. */
    snap(point) {
      const perUnit = FINENESS / self.spacing;
      return point.map((x) => Math.round(Math.max(-self.extent, Math.min(self.extent, x)) * perUnit) / perUnit);
    },
    /** Makes the plane as large as some points need. */
    fit(points) {
      const { extent, spacing } = gridFor(Math.max(...points.flat().map(Math.abs)));
      if (self.held || extent === self.extent) return;
      Object.assign(self, { extent, spacing });
      scenery.replaceChildren(...gridLines(extent, spacing));
    },
  };
  return self;
}

/** The smallest grid of 3 to 5 lines, spaced by 1, 2 or 5 times a power of ten, that reaches `largest`. */
function gridFor(largest) {
  for (let power = 1; ; power *= 10) {
    for (const spacing of [power, 2 * power, 5 * power]) {
      const lines = Math.max(3, Math.ceil(largest / spacing));
      if (lines <= 5) return { extent: lines * spacing, spacing };
    }
  }
}

/** The lines, with their numbers along the lower and the left edge, out of the points' way. */
function gridLines(extent, spacing) {
  const [right, bottom] = [WIDTH / 2, HEIGHT / 2];
  const lines = [];
  const ticks = [];
  for (let at = spacing; (at * RADIUS) / extent < right; at += spacing) {
    for (const number of [-at, at]) {
      const pixels = (number * RADIUS) / extent;
      lines.push(`M${pixels} ${-bottom}V${bottom}M${-right} ${-pixels}H${right}`);
      if (at > extent) continue;
      ticks.push(svg("text", { class: "tick", x: pixels, y: bottom - 4 }, short(number)));
      ticks.push(svg("text", { class: "tick", x: 10 - right, y: 3 - pixels }, short(number)));
    }
  }
  const axes = `M0 ${-bottom}V${bottom}M${-right} 0H${right}`;
  return [svg("path", { class: "grid", d: lines.join("") }), svg("path", { class: "axes", d: axes }), ...ticks];
}

/** A point in a plane. `kind` says what it is, and gives it its class and colour; `shape` draws it around (0, 0); `move`
 * is called with the new coordinates when the reader moves it. It is shown with the name of whom it belongs to. */
export function point(plane, { kind, shape, move }) {
  const reach = svg("circle", { class: "reach", r: 14 });
  const handle = svg("g", { class: `handle ${kind}`, role: "slider", tabindex: 0, ...KEEPS_KEYS }, reach, shape);
  const title = svg("text", { class: `name ${kind}`, "aria-hidden": "true" });
  let current = [0, 0];

  // A finger on a point drags it and does not scroll the page. (Inside an SVG, Chromium knows no touch-action.)
  handle.addEventListener("touchstart", (event) => event.preventDefault(), { passive: false });
  handle.addEventListener("pointerdown", (event) => {
    handle.setPointerCapture(event.pointerId);
    plane.held = true;
  });
  handle.addEventListener("pointermove", (event) => {
    if (handle.hasPointerCapture(event.pointerId)) move(plane.snap(plane.locate(event)));
  });
  handle.addEventListener("lostpointercapture", () => {
    plane.held = false;
  });
  handle.addEventListener("keydown", (event) => {
    const direction = ARROWS[event.key];
    if (direction === undefined) return;
    event.preventDefault();
    const step = plane.spacing / FINENESS;
    move(plane.snap(current.map((x, d) => x + step * direction[d])));
  });

  return {
    node: svg("g", {}, handle, title),
    show(coordinates, name) {
      current = coordinates;
      const [x, y] = plane.place(coordinates);
      setAttributes(handle, {
        "aria-label": `${kind} of ${name}`,
        transform: `translate(${x} ${y})`,
        "aria-valuenow": coordinates[0],
        "aria-valuemin": -plane.extent,
        "aria-valuemax": plane.extent,
        "aria-valuetext": vector(coordinates),
      });
      const room = Math.max(0, WIDTH / 2 - 4 * name.length);
      title.textContent = name;
      setAttributes(title, { x: Math.max(-room, Math.min(room, x)), y: y + (y < 0 ? -13 : 22) });
    },
  };
}
