// What the theme leaves undone on a page.

// What is wider than its column scrolls inside itself. Make it reachable by keyboard then, and only then. (So does the
// theme's script, but by laying out the whole page at once, and not for code in a fold that is opened later: what it
// looks for is taken out of it in book_assets.py.)
const update = (targets) => {
  const wide = targets.map(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth); // all asked before one changes
  for (const [i, target] of targets.entries()) {
    if (wide[i]) target.tabIndex = 0;
    else target.removeAttribute("tabindex");
  }
};
const scrollable = [...document.querySelectorAll("pre, div.math, .cell_output > .output, .pst-scrollable-table-container")];
const observer = new ResizeObserver((entries) => update(entries.map(({ target }) => target)));
for (const target of scrollable) observer.observe(target);
document.fonts.addEventListener("loadingdone", () => {
  update(scrollable.filter((target) => target.checkVisibility())); // a formula may be wider in its own font
});

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

// The contents of the page mark the section that is read: that of the last heading above a fifth of the window, a line
// that sinks to the window's foot where the page ends. The theme's script marks only headings that come to rest in the
// upper third, so the contents are replaced by a copy that it does not know.
const original = document.querySelector("#pst-page-toc-nav");
if (original) {
  const contents = original.cloneNode(true);
  original.replaceWith(contents);
  const links = [...contents.querySelectorAll("a[href^='#']")];
  const headings = links.map(({ hash }) => {
    const section = document.getElementById(decodeURIComponent(hash.slice(1)));
    return section.querySelector("h2, h3, h4") ?? section;
  });
  const mark = () => {
    const rest = page.scrollHeight - innerHeight - scrollY;
    const line = Math.max(0.2 * innerHeight, innerHeight - rest);
    const current = links[headings.findLastIndex((heading) => heading.checkVisibility() && heading.getBoundingClientRect().top <= line)];
    for (const link of links) {
      link.classList.toggle("active", link === current);
      if (link === current) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
    for (const entry of contents.querySelectorAll(".toc-entry")) entry.classList.toggle("active", entry.contains(current));
  };
  addEventListener("scroll", mark, { passive: true });
  new ResizeObserver(mark).observe(document.body); // pictures and explorers come, folds open, the window changes
}
