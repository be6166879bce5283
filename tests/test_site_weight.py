"""How much a page makes the reader's browser fetch, that nothing on it jumps, and that it says what it is."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import tinycss2
from playwright.sync_api import expect

pytest_plugins = ["browser", "built_site"]

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "benchmarks"), str(ROOT / "book/_extensions")]
import bench_site  # noqa: E402
import book_assets  # noqa: E402

ASKS = re.compile(r'<(?:script[^>]* src|link rel="(?:stylesheet|preload|modulepreload)"[^>]* href)="([^"]*)"')
ORPHAN = "---\norphan: true\n---\n# Two\n\n"
WIDTHS = {360: 740, 1280: 900}
BUDGETS = {"notebooks/": (250_000, 27), "gallery": (180_000, 27), "": (185_000, 20)}  # bytes and requests
SLOW = 150  # milliseconds that an answer takes, so that fonts and modules arrive after the text


@pytest.fixture(scope="module")
def fast_address(site):
    """Where the site is served as GitHub Pages would: with gzip."""
    with bench_site.serving(site.parent) as address:
        yield f"{address}{site.name}/"


@pytest.fixture(scope="module")
def views(chromium, fast_address, pages):
    """The first view of every page, on a phone and on a desktop."""
    return {
        (page, width): bench_site.first_view(chromium, fast_address, page, width, height, SLOW)
        for page in pages
        for width, height in WIDTHS.items()
    }


def test_every_first_view_keeps_within_its_budget(views):
    for (page, width), view in views.items():
        size, requests = next(budget for start, budget in BUDGETS.items() if page.startswith(start))
        assert view["bytes"] <= size, f"{page} at {width} px: {view}"
        assert view["requests"] <= requests, f"{page} at {width} px: {view}"


def test_nothing_moves_while_a_page_arrives(views):
    assert {place: view["shift"] for place, view in views.items() if view["shift"] >= 0.05} == {}


def test_where_the_typeface_comes_too_late_a_heading_is_bold_and_as_wide(chromium, address):
    page = chromium.new_page()
    browser = page.context.new_cdp_session(page)
    for domain in ("DOM", "CSS"):
        browser.send(f"{domain}.enable")
    widths = []
    for late in (False, True):
        if late:
            page.route("**/source-serif-4-*", lambda route: route.abort())
        page.goto(f"{address}notebooks/02_queries_keys_values.html")
        page.evaluate(
            """() => {
              const headings = document.querySelectorAll(".bd-article :is(h1, h2, h3)");
              for (const heading of headings) heading.style.width = "max-content";
              return document.fonts.load("600 1em 'Attention Serif'").catch(() => {});
            }"""
        )
        root = browser.send("DOM.getDocument", {"depth": 1})["root"]["nodeId"]
        for selector in (".bd-article h1", ".bd-article p strong"):
            node = browser.send("DOM.querySelector", {"nodeId": root, "selector": selector})["nodeId"]
            for font in browser.send("CSS.getPlatformFontsForNode", {"nodeId": node})["fonts"]:
                assert font["postScriptName"].startswith("AttentionSerif") == (not late), font
                assert not late or "Bold" in font["postScriptName"], font
        sizes = "[...document.querySelectorAll('.bd-article :is(h1, h2, h3)')].map((heading) => heading.offsetWidth)"
        widths.append(sum(page.evaluate(sizes)))
    assert abs(widths[1] / widths[0] - 1) < 0.02, widths
    page.close()


def test_an_explorer_has_its_room_before_it_starts(chromium, address):
    for width, height in WIDTHS.items():
        page = chromium.new_page(viewport={"width": width, "height": height})
        page.route("**/mount-explorers.mjs*", lambda route: route.abort())
        page.goto(f"{address}gallery.html", wait_until="load")
        sizes = "[...document.querySelectorAll('[data-explorer]')].map((e) => [e.dataset.explorer, e.offsetHeight])"
        rooms = page.evaluate(sizes)
        page.unroute("**/mount-explorers.mjs*")
        page.reload()
        expect(page.locator("[data-explorer] .sentence")).to_have_count(len(rooms))
        heights = dict(page.evaluate(sizes))
        assert rooms
        for name, room in rooms:
            assert abs(room - heights[name]) <= 0.1 * heights[name], f"{name}, {width} px: {room}, then {heights[name]}"
        page.close()


def test_an_explorer_s_modules_are_all_asked_for_by_the_page(chromium, address):
    page = chromium.new_page()
    for path in ("gallery.html", "notebooks/05_positional_encoding.html"):
        page.goto(address + path, wait_until="networkidle")
        loaded = page.evaluate(
            """() => {
              const loaded = performance.getEntriesByType("resource").map((entry) => entry.name);
              const modules = new Set(loaded.filter((name) => name.endsWith(".mjs")));
              const asked = new Set([...document.querySelectorAll("[rel=modulepreload]")].map((link) => link.href));
              return [modules, asked].map((names) => [...names].sort());
            }"""
        )
        assert loaded[0] == loaded[1]
        assert loaded[0]
    page.close()


def test_what_no_page_needs_is_not_served(site, pages):
    files = {path.relative_to(site).as_posix() for path in site.rglob("*")}
    assert not [name for name in files if name.endswith(".map")]
    assert not [name for name in files if re.search(r"fontawesome|bootstrap|webfonts", name)]
    for page in pages:
        text = (site / page).read_text(encoding="utf-8")
        asked = ASKS.findall(text)
        assert ("searchindex.js" in "".join(asked)) == (page == "search.html"), page
        for joined in ("site.css", "site.js"):
            assert sum(joined in name for name in asked) == 1, f"{page}: {joined}"
        assert not re.search(r"<script (?![^>]*(?:defer|type=\"module\"))[^>]*src=", text), page


def test_every_page_says_what_it_is(chromium, address, pages):
    page = chromium.new_page()
    described = {}
    for path in pages:
        page.goto(address + path)
        head = page.evaluate(
            """() => ({
              lang: document.documentElement.lang,
              title: document.title,
              descriptions: [...document.querySelectorAll("meta[name=description]")].map((meta) => meta.content),
              h1: [...document.querySelectorAll("h1")].filter((h1) => h1.checkVisibility()).length,
              shared: ["title", "description"].map((key) =>
                document.querySelector(`meta[property="og:${key}"]`)?.content),
            })"""
        )
        assert head["lang"] == "en"
        assert head["h1"] == 1, path
        assert head["title"], path
        assert all(head["shared"]), path
        (description,) = head["descriptions"]
        assert 50 <= len(description) <= 160, f"{path}: {description}"
        described[path] = description
    assert len(set(described.values())) == len(pages)
    page.close()


def test_every_icon_is_drawn(chromium, address, pages):
    page = chromium.new_page()
    for path in pages:
        page.goto(address + path)
        icons = page.evaluate(
            """() => [...document.querySelectorAll(":is(i, span)[class*=fa-]")].map((icon) => {
              const { maskImage, width } = getComputedStyle(icon);
              return [icon.className, maskImage.startsWith("url(") && width !== "0px"];
            })"""
        )
        assert icons
        assert [name for name, drawn in icons if not drawn] == [], path
    page.close()


def test_code_is_coloured_only_where_it_differs_from_plain_text(site):
    text = (site / "notebooks/02_queries_keys_values.html").read_text(encoding="utf-8")
    kinds = set(re.findall(r'<span class="(\w+)">', "".join(re.findall(r"<pre>.*?</pre>", text, re.DOTALL))))
    assert {"k", "nf", "s2", "mi", "c1", "ow"} <= kinds
    assert not kinds & {"n", "o", "p", "w"}


@pytest.mark.parametrize(
    ("css", "kept"),
    [
        (".used{color:red}.unused{color:red}", ".used{color:red;}"),
        (".used .unused,#there>.used , p{a:b}", "#there>.used,p{a:b;}"),
        (".used:not(.unused):is(.other){a:b}", ".used:not(.unused):is(.other){a:b;}"),
        ('[data-x=unused] a::after{content:".unused"}', '[data-x=unused] a::after{content:".unused";}'),
        ("@media print{.unused{a:b}}@media print{.used{a:b}.unused{a:b}}", "@media print{.used{a:b;}}"),
        ("@keyframes turn{to{a:b}}/* gone *//*! kept */", "@keyframes turn{to{a:b}}\n/*! kept */"),
        ('.used{a:url(x.svg) url("data:,(x)")}', '.used{a:url("styles/x.svg") url("data:,(x)");}'),
    ],
)
def test_a_rule_is_kept_while_all_its_names_exist(css, kept, tmp_path):
    names = book_assets.used_names(['<p class="used more" id=there>'], ["el.classList.add('other')"])
    assert book_assets.prune(css, names, tmp_path / "styles", tmp_path) == kept


def test_a_style_sheet_takes_in_what_it_imports(tmp_path):
    (tmp_path / "base.css").write_text(".used{a:b}.unused{a:b}")
    (tmp_path / "styles").mkdir()
    assert book_assets.prune('@import "../base.css";', {"used"}, tmp_path / "styles", tmp_path) == ".used{a:b;}"


def test_the_joined_sheet_is_sound(site):
    sheet = (site / "_static/site.css").read_text(encoding="utf-8")
    assert not [rule for rule in tinycss2.parse_stylesheet(sheet) if rule.type == "error"]
    addresses = [found for found in re.findall(r'url\("([^"]*)"\)', sheet) if not found.startswith("data:")]
    assert addresses
    assert not [name for name in addresses if not (site / "_static" / name).is_file()]


# A small site with an address ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """A folder with the sources of a small site in the book's looks, and a function that builds it."""
    folder = tmp_path_factory.mktemp("small")
    (folder / "index.md").write_text("# Home\n\nThis is the first of two pages, and it says so. It has $x$.\n")
    (folder / "two.md").write_text(ORPHAN + "This page does not stand in the table of contents.\n")
    (folder / "conf.py").write_text(
        f"import sys; sys.path.append({str(ROOT / 'book/_extensions')!r})\n"
        "extensions = ['myst_parser', 'sphinx_book_theme', 'book_head', 'book_assets']\n"
        "html_theme = 'sphinx_book_theme'\nhtml_baseurl = 'https://me.example/book/'\n"
        f"templates_path = [{str(ROOT / 'book/_templates')!r}]\n"
        f"html_static_path = [{str(ROOT / 'book/_static')!r}]\nhtml_css_files = ['book.css']\n"
        "html_js_files = [('page.mjs', {'type': 'module'})]\n"
        "html_theme_options = {'repository_url': 'https://github.com/me/book', 'use_repository_button': True,\n"
        "  'use_issues_button': True, 'primary_sidebar_end': []}\n"
    )

    def build():
        command = [sys.executable, "-m", "sphinx", "-q", "-b", "html", folder, folder / "out"]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return folder / "out", [line for line in done.stderr.splitlines() if "WARNING" in line]

    return folder, build


def test_a_site_with_an_address_lists_its_pages(published, site):
    out, warnings = published[1]()
    assert warnings == []
    places = re.findall("<loc>(.*?)</loc>", (out / "sitemap.xml").read_text())
    assert places == ["https://me.example/book/index.html", "https://me.example/book/two.html"]
    assert "Sitemap: https://me.example/book/sitemap.xml" in (out / "robots.txt").read_text()
    assert '<meta property="og:url" content="https://me.example/book/two.html">' in (out / "two.html").read_text()
    has_address = 'rel="canonical"' in (site / "index.html").read_text(encoding="utf-8")
    assert (site / "sitemap.xml").exists() == has_address


def test_a_page_changed_later_keeps_all_pages_in_one_style(published):
    folder, build = published
    (folder / "two.md").write_text(ORPHAN + "> This page has a quotation now, as it had none.\n")
    out, _ = build()
    texts = [(out / page).read_text() for page in ("index.html", "two.html")]
    links = {re.findall(r'<link rel="stylesheet"[^>]*>', text)[0] for text in texts}
    assert len(links) == 1
    assert "site.css?v=" in links.pop()
    assert "blockquote" in (out / "_static/site.css").read_text()
    assert sum(text.count("site.js?v=") for text in texts) == 2


def test_an_icon_that_font_awesome_does_not_have_is_named(published):
    folder, build = published
    (folder / "two.md").write_text(ORPHAN + "<i class='fa-solid'></i> <i class=\"fas fa-nonsense\"></i>\n")
    _, warnings = build()
    assert len(warnings) == 1
    assert "no icon fa-nonsense" in warnings[0]


def test_a_menu_opens_and_closes_by_keyboard_and_mouse(published, chromium, serve):
    out, _ = published[1]()
    page = chromium.new_page()
    page.goto(f"{serve(out)}/index.html")
    menu, link = page.locator("details.dropdown-source-buttons"), page.get_by_role("link", name="Repository")
    menu.locator("summary").press("Enter")
    expect(link).to_be_visible()
    link.press("Escape")
    expect(link).to_be_hidden()
    expect(menu.locator("summary")).to_be_focused()
    menu.locator("summary").click()
    expect(link).to_be_visible()
    page.get_by_text("This is the first of two pages").click()
    expect(link).to_be_hidden()
    page.set_viewport_size({"width": 360, "height": 740})
    menu.locator("summary").click()
    places = [entry.bounding_box() for entry in menu.locator("li").all()]
    assert places
    assert all(place["x"] >= 0 and place["x"] + place["width"] <= 360 for place in places), "the menu is cut off"
    page.close()
