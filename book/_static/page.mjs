// What the theme leaves undone on a page.

// A formula wider than its column scrolls inside itself. Make it reachable by keyboard then, and only then:
// the theme does the same for code and tables.
const update = ({ target }) => {
  if (target.scrollWidth > target.clientWidth) target.tabIndex = 0;
  else target.removeAttribute("tabindex");
};
const observer = new ResizeObserver((entries) => entries.forEach(update));
for (const formula of document.querySelectorAll("div.math")) observer.observe(formula);

// Paper is light, whatever the screen is.
const page = document.documentElement;
let theme;
addEventListener("beforeprint", () => {
  theme = page.dataset.theme;
  page.dataset.theme = "light";
});
addEventListener("afterprint", () => {
  page.dataset.theme = theme;
});
