// What makes all explorers look alike. An explorer brings its styles along, for a notebook has no style sheet for it.

/** The styles that every explorer shares. `light-dark` follows the page's theme, or the system where it has none.
 * The hues are told apart with any colour vision, and are strong enough for text on the background. */
const SHARED = `
.explorer-figure {
  color-scheme: light dark;
  --paper: light-dark(#ffffff, #16191f);
  --panel: light-dark(#f6f7f9, #1e222a);
  --ink: light-dark(#1c2128, #e6e9ee);
  --muted: light-dark(#5a6472, #a3adbb);
  --line: light-dark(#d9dee5, #363d49);
  --query: light-dark(#b34700, #ff9f5f);
  --key: light-dark(#00609c, #74bdf5);
  --value: light-dark(#00715a, #4fcda8);
  --output: light-dark(#96297c, #f2a0dc);
  --wrong: light-dark(#b3001b, #ff8a8a);

  box-sizing: border-box;
  container-type: inline-size;
  max-width: 50rem;
  margin: 0.5rem auto;
  padding: 14px;
  border: 1px solid var(--line);
  border-radius: 10px;
  background: var(--paper);
  color: var(--ink);
  font: 14px/1.45 system-ui, sans-serif;

  & *, & *::before { box-sizing: border-box; }
  & p { margin: 0; font-size: inherit; line-height: inherit; color: inherit; }
  & :focus-visible { outline: 2px solid var(--query); outline-offset: 2px; }
  & table {
    display: table; width: 100%; margin: 0; border: 0; border-collapse: collapse;
    table-layout: fixed !important; /* the website's theme has a stronger rule for tables in outputs */
    background: none; font-size: 13px; font-variant-numeric: tabular-nums; color: inherit;
  }
  & thead, & tr { border: 0; background: none; color: inherit; }
  & th, & td {
    padding: 3px; border: 0; background: none; color: inherit;
    font-weight: 400; text-align: right; vertical-align: middle; white-space: nowrap;
  }
  & thead th { padding-bottom: 5px; border-bottom: 1px solid var(--line); color: var(--muted); }
  & th[scope="row"] { text-align: left; overflow: hidden; text-overflow: ellipsis; }

  & button {
    padding: 4px 14px; border: 1px solid var(--line); border-radius: 999px;
    background: var(--panel); color: inherit; font: inherit; cursor: pointer;
  }
  & button:hover { border-color: var(--muted); }

  & fieldset.choice { display: flex; flex-wrap: wrap; gap: 5px; align-items: center; min-width: 0; margin: 0; padding: 0; border: 0; }
  & fieldset.choice legend { float: left; width: auto; margin: 0 4px 0 0; padding: 0; font: inherit; color: var(--muted); }
  & fieldset.choice label {
    position: relative; margin: 0; padding: 4px 11px; border: 1px solid var(--line); border-radius: 999px;
    background: var(--panel); cursor: pointer;
  }
  & fieldset.choice label:hover { border-color: var(--muted); }
  & fieldset.choice label:has(:checked) { border-color: var(--query); background: var(--query); color: var(--paper); font-weight: 600; }
  & fieldset.choice label:has(:focus-visible) { outline: 2px solid var(--query); outline-offset: 2px; }
  & fieldset.choice input { position: absolute; inset: 0; width: 100%; height: 100%; margin: 0; opacity: 0; cursor: pointer; }

  & .slider { display: grid; grid-template-columns: 1fr auto; gap: 0 8px; margin: 0; }
  & .slider input { grid-column: 1 / -1; width: 100%; height: 24px; margin: 0; accent-color: var(--query); cursor: pointer; }
  & .slider input:focus-visible { outline-offset: -2px; border-radius: 6px; } /* its labels lie close to it */
  & .slider output { justify-self: end; font-variant-numeric: tabular-nums; padding: 0; }
  & .slider small:last-child { justify-self: end; }
  & .slider small { font-size: 12px; color: var(--muted); }

  & input:is([type="number"], [type="text"]) {
    appearance: textfield; width: 100%; margin: 0; padding: 3px 2px; border: 1px solid var(--line); border-radius: 5px;
    background: var(--paper); color: inherit; font: inherit; font-variant-numeric: tabular-nums; text-align: center;
  }
  & input[type="text"] { padding-inline: 4px; text-align: left; }
  & input[type="number"]::-webkit-inner-spin-button { appearance: none; margin: 0; }
  & input[aria-invalid="true"] { border-color: var(--wrong); outline-color: var(--wrong); color: var(--wrong); }

  & .bar { display: grid; grid-template-columns: 1fr 2.6em; align-items: center; gap: 6px; }
  & .bar > :first-child { border-radius: 2px; background: var(--line); }
  & .bar i { display: block; height: 14px; min-width: 1px; border-radius: 2px; background: var(--key); }

  & svg.plane { display: block; user-select: none; width: 100%; height: auto; border-radius: 6px; background: var(--paper); font-size: 11px; }
  & .grid { stroke: var(--line); fill: none; }
  & .axes { stroke: var(--muted); fill: none; }
  & .tick { fill: var(--muted); font-size: 10px; text-anchor: middle; }
  & .name.query { font-weight: 600; }
  & .name { text-anchor: middle; font-size: 12px; fill: currentColor; stroke: var(--paper); stroke-width: 4px; paint-order: stroke; pointer-events: none; }
  & .handle { cursor: grab; outline: none; fill: currentColor; }
  & .handle:active { cursor: grabbing; }
  & .handle .reach { fill: transparent; stroke: none; }
  & .handle:hover .reach { fill: color-mix(in srgb, currentColor 14%, transparent); }
  & .handle:focus-visible .reach { stroke: currentColor; stroke-width: 2px; }

  & .query { color: var(--query); }
  & .key { color: var(--key); }
  & .value { color: var(--value); }
  & .output { color: var(--output); }
}
html[data-theme="light"], [data-jp-theme-light="true"] { & .explorer-figure { color-scheme: light; } }
html[data-theme="dark"], [data-jp-theme-light="false"], html[theme="dark"] { & .explorer-figure { color-scheme: dark; } }
`;

/** Puts the shared styles, and an explorer's own, into the page. Once for each name, however often it is called. */
export function addStyles(name, own) {
  for (const [id, text] of [["explorer-styles", SHARED], [`explorer-styles-${name}`, own]]) {
    let style = document.getElementById(id);
    if (style === null) {
      style = document.createElement("style");
      style.id = id;
      document.head.append(style);
    }
    style.textContent = text;
  }
}
