// Controls built on the browser's own, so that keyboard, touch and screen readers work.
// Each is an object with its `node`, to be placed in the page, and `show(…)`, which makes it show a state.
// A control never changes the state itself: it calls back, and waits to be shown the new state.

import { html, uniqueId } from "./dom.mjs";
import { significant } from "./format.mjs";

/** JupyterLab takes the arrow keys for itself, unless the element that has the focus says no. */
export const KEEPS_KEYS = { "data-lm-suppress-shortcuts": "true" };

/** A row of named buttons of which one is chosen: radio buttons, so the arrow keys choose as well. The names can be
 * given anew with each choice that is shown. */
export function choice(legend, names, choose) {
  const group = uniqueId();
  const radios = names.map((_, i) => html("input", { type: "radio", name: group, value: i, ...KEEPS_KEYS }));
  radios.forEach((radio, i) => radio.addEventListener("change", () => choose(i)));
  const words = names.map((name) => new Text(name));
  const labels = words.map((word, i) => html("label", {}, radios[i], word));
  return {
    node: html("fieldset", { class: "choice" }, html("legend", {}, legend), ...labels),
    show(chosen, shownNames = names) {
      radios[chosen].checked = true;
      words.forEach((word, i) => {
        word.data = shownNames[i];
      });
    },
  };
}

/** A slider over equal steps, from lowest to highest, with a word at either end. `format` makes the number's text. */
export function slider({ label, lowest, highest, step, low, high, format, change }) {
  const id = uniqueId();
  const range = html("input", { type: "range", id, min: lowest, max: highest, step, ...KEEPS_KEYS });
  const shown = html("output", { for: id });
  range.addEventListener("input", () => change(Number(range.value)));
  return {
    node: html(
      "div",
      { class: "slider" },
      html("label", { for: id }, label),
      shown,
      range,
      html("small", {}, low),
      html("small", {}, high),
    ),
    show(value) {
      range.value = value;
      range.setAttribute("aria-valuetext", format(value));
      shown.textContent = format(value);
    },
  };
}

/** A slider over powers of ten, from 10 ** lowest to 10 ** highest, with a word at either end. */
export function logSlider({ change, ...options }) {
  const { node, show } = slider({
    ...options,
    step: 0.05,
    format: (power) => significant(10 ** power),
    change: (power) => change(Number(significant(10 ** power))),
  });
  return { node, show: (value) => show(Math.log10(value)) };
}

/** A field for a number of at most `limit` in size. What is no such number is marked and not passed on; when the
 * reader leaves such a field, it shows the last good number again. */
export function numberField({ limit, change }) {
  const field = html("input", { type: "number", step: "any", min: -limit, max: limit });
  let current = NaN;
  const mark = (wrong) => field.setAttribute("aria-invalid", wrong);
  field.addEventListener("input", () => {
    const wrong = field.value === "" || Math.abs(field.value) > limit;
    mark(wrong);
    if (!wrong) change(Number(field.value));
  });
  field.addEventListener("blur", () => {
    field.value = current;
    mark(false);
  });
  return {
    node: field,
    show(value, label) {
      current = value;
      field.setAttribute("aria-label", label);
      const typing = field.getAttribute("aria-invalid") === "true";
      const same = field.value !== "" && Number(field.value) === value; // "1." and "1" are the same: leave it alone
      if (!typing && !same) field.value = value;
    },
  };
}

/** A field for a word. Where the reader leaves nothing in it, `fallback` is the word. */
export function wordField({ label, longest, fallback, change }) {
  const attributes = { type: "text", maxlength: longest, autocomplete: "off", spellcheck: "false", "aria-label": label };
  const field = html("input", { ...attributes, ...KEEPS_KEYS });
  const word = () => field.value.trim() || fallback;
  field.addEventListener("input", () => change(word()));
  field.addEventListener("blur", () => {
    field.value = word();
  });
  return {
    node: field,
    show(value) {
      if (word() !== value) field.value = value; // else the reader is typing it: leave it alone
    },
  };
}

/** A button with a word on it. */
export function button(word, press) {
  const node = html("button", { type: "button", ...KEEPS_KEYS }, word);
  node.addEventListener("click", press);
  return { node };
}
