"""Getting about in the site: by keyboard alone, from page to page, on screens from a phone to a wide one."""

import pytest
from playwright.sync_api import expect

pytest_plugins = ["browser", "built_site"]

CHAPTER = "notebooks/02_queries_keys_values.html"

# What has the keyboard's focus: what it is, whether a ring of two pixels marks it (itself, its label, the search field
# around it or, in a drawing, its reach) and only once, whether it can be seen (of a choice its label), and whether it
# stands behind all that had the focus before. null: the page itself.
FOCUSED = """() => {
  const element = document.activeElement;
  if (element === document.body) return null;
  const ringed = ({ outlineStyle, outlineWidth, outlineColor, boxShadow, stroke, strokeWidth }, drawn) =>
    (outlineStyle !== "none" && parseFloat(outlineWidth) >= 2 && !/^rgba.* 0\\)$/.test(outlineColor)) ||
    boxShadow.split(/, (?=rgb)/).some((part) => /^rgb\\(.* [2-9]px$/.test(part)) ||
    (drawn && stroke !== "none" && parseFloat(strokeWidth) >= 2);
  const label = element.closest("label, form.bd-search");
  const reach = element.querySelector(".reach");
  const shown = element.matches("[type=radio], [type=checkbox]") ? label : element;
  const box = shown.getBoundingClientRect();
  let opacity = 1;
  for (let part = shown; part; part = part.parentElement) opacity *= getComputedStyle(part).opacity;
  window.visited ??= [];
  const follows = (other) => other.compareDocumentPosition(element) & Node.DOCUMENT_POSITION_FOLLOWING;
  const behind = window.visited.every(follows);
  window.visited.push(element);
  return {
    what: `${element.tagName} ${element.getAttribute("class")}: ${element.textContent.trim().slice(0, 40)}`,
    marked: ringed(getComputedStyle(element)) || Boolean(label && ringed(getComputedStyle(label)))
      || Boolean(reach && ringed(getComputedStyle(reach), true)),
    once: !(element.matches(".bd-search *") && ringed(getComputedStyle(element))),
    seen: opacity > 0.9 && box.width > 0 && box.height > 0
      && box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth,
    behind,
  };
}"""

# The longest line of running text, in characters. Formulas are left out: their text is there twice.
LONGEST_LINE = """() => Math.max(0, ...[...document.querySelectorAll("article p")]
  .filter((p) => p.textContent.length > 300 && p.clientHeight && !p.querySelector(".math"))
  .map((p) => p.textContent.length / Math.round(p.clientHeight / parseFloat(getComputedStyle(p).lineHeight))))"""

# The section of the last heading above a fifth of the window, and which ones the contents mark, in looks and for a
# screen reader.
CONTENTS = """() => {
  const links = [...document.querySelectorAll(".bd-sidebar-secondary .page-toc a")];
  const above = links.map((link) => link.hash.slice(1)).filter((id) =>
    document.getElementById(id).querySelector("h2, h3").getBoundingClientRect().top <= innerHeight / 5);
  const ids = (chosen) => links.filter(chosen).map((link) => link.hash.slice(1));
  return [above.slice(-1), ids((a) => a.matches(".active")), ids((a) => a.matches("[aria-current]"))];
}"""


@pytest.fixture
def open_at(chromium, address):
    """A function that opens a page of the site at a width, in light or dark; the page is closed after the test."""
    pages = []

    def start(path, width=1280, scheme="light"):
        size = {"width": width, "height": 800}
        page = chromium.new_page(viewport=size, color_scheme=scheme, reduced_motion="reduce")
        pages.append(page)
        page.goto(address + path, wait_until="networkidle")
        return page

    yield start
    for page in pages:
        page.close()


@pytest.mark.parametrize(
    ("path", "width", "scheme"),
    [
        ("index.html", 1280, "dark"),
        (CHAPTER, 360, "dark"),
        ("notebooks/06_masks.html", 1280, "light"),
        ("trial.html", 360, "light"),
        ("gallery.html", 1280, "light"),
        ("glossary.html", 1280, "dark"),
        ("search.html", 360, "light"),
    ],
)
def test_the_keyboard_goes_through_a_page_in_order_and_shows_where_it_is(path, width, scheme, open_at):
    page = open_at(path, width, scheme)
    page.add_style_tag(content="* { transition: none !important }")
    page.evaluate("document.body.tabIndex = -1; document.body.focus()")  # the search page gives its field the focus
    stops = []
    for _ in range(600):
        page.keyboard.press("Tab")
        stop = page.evaluate(FOCUSED)
        if stop is None:
            break
        stops.append(stop)
    assert stop is None, "the end of the page was not reached"
    assert len(stops) > 4
    for virtue in ("marked", "once", "seen", "behind"):
        assert not [stop["what"] for stop in stops if not stop[virtue]], f"not {virtue}"


@pytest.mark.parametrize("width", [360, 1280])
def test_the_first_tab_stop_skips_to_the_content(width, open_at):
    page = open_at(CHAPTER, width)
    page.keyboard.press("Tab")
    skip = page.locator(":focus")
    expect(skip).to_have_text("Skip to main content")
    expect(skip).to_be_in_viewport(ratio=1)
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.querySelector('#main-content').contains(document.activeElement)")


def test_a_fold_is_closed_and_opens_by_keyboard(open_at):
    page = open_at(CHAPTER)
    assert page.locator("details.hint, details.solution").count() > 8
    assert page.locator("details[open]").count() == 0
    for kind in ("hint", "solution"):
        fold = page.locator(f"details.{kind}").first
        fold.locator("summary").focus()
        for key, opened in (("Enter", True), ("Enter", False), ("Space", True), ("Space", False)):
            page.keyboard.press(key)
            assert fold.evaluate("(fold) => fold.open") is opened


def test_code_is_copied_by_keyboard(open_at):
    page = open_at(CHAPTER)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    code = page.locator(".cell_input:visible").first
    code.locator("button.copybtn").focus()
    page.keyboard.press("Enter")
    page.wait_for_function("async () => (await navigator.clipboard.readText()).length > 0")
    assert page.evaluate("navigator.clipboard.readText()").strip() == code.locator("pre").inner_text().strip()


def test_the_contents_say_where_one_is(open_at):
    page = open_at(CHAPTER)
    for heading in ("a-soft-look-up", "softmax-that-does-not-break", "the-question"):
        page.evaluate("(id) => document.getElementById(id).scrollIntoView()", heading)
        expect(page.locator(f".bd-sidebar-secondary a[href='#{heading}']")).to_contain_class("active")
    expect(page.locator(".bd-sidebar-primary .current > a")).to_have_text("2 Queries, keys, values")


def test_in_a_low_window_the_sidebar_is_scrolled_to_the_page(chromium, address):
    page = chromium.new_page(viewport={"width": 1280, "height": 330})
    page.goto(f"{address}cite.html")
    expect(page.locator(".bd-sidebar-primary .current > a")).to_be_in_viewport()
    page.close()


@pytest.mark.parametrize("path", ["notebooks/01_why_self_attention.html", CHAPTER])
def test_the_contents_keep_up_with_who_scrolls(path, open_at):
    page = open_at(path)
    page.evaluate(
        "document.querySelectorAll('details.hint, details.solution').forEach((fold) => fold.toggleAttribute('open'))"
    )
    end = page.evaluate("document.documentElement.scrollHeight - innerHeight")
    steps = [*range(0, end - 800, 400), end - 1000, 3000, 0]
    seen = set()
    for step in steps:
        page.evaluate("(to) => scrollTo(0, to)", step)
        page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        expected, marked, current = page.evaluate(CONTENTS)
        assert marked == current == expected, step
        seen.add(*expected or [None])
    assert len(seen) > 15
    assert marked == []
    page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
    expect(page.locator(".bd-sidebar-secondary a").last).to_have_attribute("aria-current", "true")


def test_each_page_leads_to_the_next_and_back(open_at):
    page = open_at("index.html")
    title = page.locator("article h1").inner_text().strip("#")
    listed = page.locator(".bd-sidebar-primary nav.bd-links .toctree-l1 > a").all_inner_texts()
    for name in listed[1:]:
        page.locator("a.right-next").click()
        expect(page.locator(".bd-sidebar-primary .current > a")).to_have_text(name)
        assert page.locator("a.left-prev .prev-next-title").inner_text() == title
        title = page.locator("article h1").inner_text().strip("#")
    assert page.locator("a.right-next").count() == 0


@pytest.mark.parametrize("width", [768, 1920])
def test_a_page_fits_its_window_and_its_lines_can_be_read(width, chromium, address, pages):
    page = chromium.new_page(viewport={"width": width, "height": 800})
    for path in pages:
        page.goto(address + path, wait_until="networkidle")
        page.evaluate("document.querySelectorAll('details').forEach((details) => { details.open = true; })")
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path
        assert page.evaluate(LONGEST_LINE) <= 90, path
    page.close()


def test_the_text_is_as_wide_before_the_contents_beside_it_arrive(chromium, address, pages):
    page = chromium.new_page()
    for path in pages:
        page.goto(address + path, wait_until="domcontentloaded")
        for width in (1200, 1280, 1600):
            page.set_viewport_size({"width": width, "height": 800})
            wide = page.evaluate("document.querySelector('.bd-article-container').clientWidth")
            page.evaluate("document.querySelector('.bd-sidebar-secondary')?.style.setProperty('display', 'none')")
            narrow = page.evaluate("document.querySelector('.bd-article-container').clientWidth")
            assert narrow == wide, f"{path} at {width} px"
            page.evaluate("document.querySelector('.bd-sidebar-secondary')?.style.removeProperty('display')")
    page.close()
