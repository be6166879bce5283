// A fraction between 0 and 1 as a bar with its number.

import { html } from "./dom.mjs";
import { fixed } from "./format.mjs";

export function bar() {
  const length = html("i");
  const number = html("span");
  return {
    node: html("div", { class: "bar" }, html("span", { "aria-hidden": "true" }, length), number),
    show(fraction) {
      length.style.width = `${100 * fraction}%`;
      number.textContent = fixed(fraction);
    },
  };
}
