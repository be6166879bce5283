// The gallery: each explorer's setting in the address of the page, a link to it, and full screen.
// The address names one explorer, the one that was changed last: gallery.html#masks?window=2

import { fragmentOf, parsed, stateWith } from "./lib/address.mjs";
import { button } from "./lib/controls.mjs";
import { html } from "./lib/dom.mjs";

const INSTEAD = "It shows the chapter's setting instead.";
const PAUSE = 400; // milliseconds between two changes of the address: Safari allows 100 in 30 seconds
const SMALLEST = 0.75; // how far a figure is scaled down, if it fits the full screen then
const WIDTHS = Array.from({ length: 21 }, (_, i) => 600 + 50 * i); // of a figure on the full screen, before it is scaled

let latest; // the stage that was changed last
let timer; // runs until the address is changed
const stages = new Map(); // by the explorers' names

for (const node of document.querySelectorAll(".gallery-stage")) {
  const explorer = await node.querySelector("[data-explorer]").explorer;
  if (explorer !== undefined) {
    const stage = createStage(node, explorer);
    stages.set(stage.name, stage);
  }
}
addEventListener("hashchange", follow);
follow();

/** Shows what the address asks for. */
function follow() {
  forget();
  const { name, changes } = parsed(location.hash.slice(1));
  stages.get(name)?.open(changes);
}

/** Lets the address follow what the reader did, in a moment. */
function remember(stage) {
  latest = stage;
  timer ??= setTimeout(() => {
    timer = undefined;
    history.replaceState(history.state, "", `#${latest.fragment()}`);
  }, PAUSE);
}

/** What the reader did last is not to be put into the address: another has come. */
function forget() {
  clearTimeout(timer);
  timer = undefined;
}

// An explorer and its buttons

function createStage(node, { model, complaint }) {
  const place = node.querySelector("[data-explorer]");
  const stored = JSON.parse(place.dataset.state);
  const notice = html("p", { class: "gallery-notice", role: "status" });
  const read = () => Object.fromEntries(Object.keys(stored).map((trait) => [trait, model.get(trait)]));
  let following = false; // true while the state is set from the address

  const stage = {
    name: place.dataset.explorer,
    fragment: () => fragmentOf(place.dataset.explorer, stored, read()),
    /** Shows the stored state with the changes of an address, or says why not. */
    open(changes) {
      const asked = stateWith(changes, stored);
      const wrong = asked.complaint || complaint(asked.state);
      following = true;
      for (const [trait, value] of Object.entries(structuredClone(wrong ? stored : asked.state))) model.set(trait, value);
      following = false;
      notice.textContent = wrong && `The address asks for what this explorer cannot show: ${wrong}. ${INSTEAD}`;
      node.closest("section").scrollIntoView();
    },
  };
  for (const trait of Object.keys(stored)) {
    model.on(`change:${trait}`, () => {
      if (following) return;
      notice.textContent = "";
      remember(stage);
    });
  }
  const link = () => new URL(`#${stage.fragment()}`, location.href).href;
  const buttons = html("div", { class: "gallery-buttons" }, ...copyButton(link), ...screenButton(node, place));
  node.querySelector(".gallery-head").append(buttons, notice);
  return stage;
}

/** A button that copies a link, and where it says so. Where the browser does not let it, the reader is given the link. */
function copyButton(link) {
  const said = html("span", { role: "status" });
  const field = html("input", { type: "text", readonly: "", "aria-label": "Link to this setting", hidden: "" });
  const copy = button("Copy link", async () => {
    said.textContent = "";
    field.hidden = true;
    try {
      await navigator.clipboard.writeText(link());
      said.textContent = "Copied";
    } catch {
      field.value = link();
      field.hidden = false;
      field.select();
      said.textContent = "Copy it from here:";
    }
  });
  return [said, field, copy.node];
}

/** A button that fills the screen with a stage, and leaves it again. */
function screenButton(node, place) {
  if (!document.fullscreenEnabled) return [];
  const isOn = () => document.fullscreenElement === node;
  const { node: toggle } = button("Full screen", () => (isOn() ? document.exitFullscreen() : node.requestFullscreen()));
  const update = () => {
    toggle.textContent = isOn() ? "Leave full screen" : "Full screen";
    if (isOn()) enlarge(node, place.firstElementChild);
    else place.firstElementChild.removeAttribute("style");
  };
  node.addEventListener("fullscreenchange", update);
  addEventListener("resize", () => isOn() && update());
  return [toggle];
}

/** Gives a figure the width at which it is largest and still whole on the screen. On a small screen it stays as it is. */
function enlarge(screen, figure) {
  figure.removeAttribute("style");
  const { paddingInline, paddingBlock } = getComputedStyle(screen);
  const head = screen.querySelector(".gallery-head");
  const between = parseFloat(getComputedStyle(head).marginBottom);
  const wide = screen.clientWidth - 2 * parseFloat(paddingInline);
  const high = screen.clientHeight - 2 * parseFloat(paddingBlock) - head.offsetHeight - between;
  const trials = WIDTHS.map((width) => {
    figure.style.width = `${width}px`;
    return { width, height: figure.offsetHeight, scale: Math.min(wide / width, high / figure.offsetHeight) };
  });
  const { width, height, scale } = trials.reduce((best, trial) => (trial.scale > best.scale ? trial : best));
  if (scale < SMALLEST) {
    figure.removeAttribute("style");
    return;
  }
  const left = (wide - scale * width) / 2;
  figure.style = `width: ${width}px; transform-origin: 0 0; transform: translateX(${left}px) scale(${scale})`;
  figure.style.marginBottom = `${(scale - 1) * height}px`; // for the page, a scaled figure is as high as before
}
