// Elements in a line of code. Text always goes in as text, never as markup.

/** An HTML element with attributes and children; a string among the children becomes text. */
export function html(tag, attributes = {}, ...children) {
  return assemble(document.createElement(tag), attributes, children);
}

/** An SVG element with attributes and children. */
export function svg(tag, attributes = {}, ...children) {
  return assemble(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

/** Sets several attributes at once. */
export function setAttributes(node, attributes) {
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
}

/** An id that no other explorer on the page has, even one that came with its own copy of this module. */
export function uniqueId() {
  return `explorer-${Math.random().toString(36).slice(2)}`;
}

function assemble(node, attributes, children) {
  setAttributes(node, attributes);
  node.append(...children);
  return node;
}
