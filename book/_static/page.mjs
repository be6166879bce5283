// What the theme leaves undone on a page.

// A formula or code wider than its column scrolls inside itself. Make it reachable by keyboard then, and only then.
// (The theme does the same for code and tables, but not for code in a fold that is opened later.)
const update = (target) => {
  if (target.scrollWidth > target.clientWidth) target.tabIndex = 0;
  else target.removeAttribute("tabindex");
};
const scrollable = document.querySelectorAll("div.math, .highlight pre");
const observer = new ResizeObserver((entries) => entries.forEach(({ target }) => update(target)));
for (const wide of scrollable) observer.observe(wide);
document.fonts.addEventListener("loadingdone", () => scrollable.forEach(update)); // a formula may be wider in its own font

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

// A menu of the page's head closes as menus do: with Escape, and with a click elsewhere.
for (const menu of document.querySelectorAll("details.dropdown")) {
  menu.addEventListener("keydown", ({ key }) => {
    if (key !== "Escape") return;
    menu.open = false;
    menu.querySelector("summary").focus();
  });
  addEventListener("click", ({ target }) => {
    if (!menu.contains(target)) menu.open = false;
  });
}
