"""The built site: every page of it, as files and in Chromium, as a reader without a kernel and without a CDN has it."""

import contextlib
import subprocess
import sys
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from explorer_helpers import picture
from playwright.sync_api import TimeoutError as NotInTime

pytest_plugins = ["browser", "built_site"]

ROOT = Path(__file__).parents[1]
SETTINGS = [(1280, "light"), (360, "dark")]

AXE = {"resultTypes": ["violations"], "preload": False}  # preloading makes axe ask for style sheets at wrong addresses

FACTS = """() => ({
  widest: document.documentElement.scrollWidth,
  unset_maths: [...document.querySelectorAll(".math")]
    .filter((m) => !m.querySelector("math") || m.querySelector(".katex-error")).map((m) => m.textContent),
  maths: document.querySelectorAll(".katex").length,
  explorers: document.querySelectorAll("[data-explorer]").length,
  dead_explorers: [...document.querySelectorAll("[data-explorer]")]
    .filter((e) => !e.querySelector("input, button, select")).map((e) => e.innerText),
  widget_remains: [...document.querySelectorAll("[type*='vnd.jupyter.widget'], .jupyter-widgets")]
    .map((e) => e.outerHTML),
  images: [...document.querySelectorAll("article img")].map((i) => ({ alt: i.alt, width: i.naturalWidth, src: i.src })),
  text: document.body.innerText,
})"""

# Those below the fold, too; a broken one is for the tests to find.
LOAD_PICTURES = """() => Promise.allSettled([...document.images].map((image) => {
  image.loading = "eager";
  return image.decode();
}))"""

# Thousands of words of code come in a few looks, and a formula's letters in one. Keep one of each for axe, which takes
# half a minute for a chapter's contrasts otherwise.
UNWRAP_TWINS = """() => {
  const [seen, twins] = [new Set(), []];
  for (const formula of document.querySelectorAll(".katex-html")) formula.replaceChildren(formula.textContent);
  for (const word of document.querySelectorAll(".highlight span")) {
    let ground = word;
    while (ground && getComputedStyle(ground).backgroundColor === "rgba(0, 0, 0, 0)") ground = ground.parentElement;
    const { color, fontSize, fontWeight } = getComputedStyle(word);
    const look = [color, fontSize, fontWeight, ground && getComputedStyle(ground).backgroundColor].join();
    if (seen.has(look)) twins.push(word);
    seen.add(look);
  }
  for (const twin of twins) twin.replaceWith(...twin.childNodes);
}"""


@dataclass
class Visit:
    """What was seen on one page in one setting."""

    name: str
    width: int
    requests: list[str]
    complaints: list[str]
    facts: dict
    violations: list[str]


@pytest.fixture(scope="module")
def visits(chromium, address, pages):
    """Every page, opened on a light desktop and on a dark phone."""
    return [visit(chromium, address, page, *setting) for page in pages for setting in SETTINGS]


def visit(chromium, address, path, width, scheme):
    page = chromium.new_page(viewport={"width": width, "height": 844}, color_scheme=scheme)
    requests, complaints = [], []
    page.on("request", lambda request: requests.append(request.url))
    page.on("requestfailed", lambda request: complaints.append(f"failed: {request.url}"))
    page.on("response", lambda answer: answer.status >= 400 and complaints.append(f"{answer.status}: {answer.url}"))
    page.on("console", lambda line: line.type in ("warning", "error") and complaints.append(line.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    open_page(page, address + path)
    page.evaluate("document.querySelectorAll('details').forEach((details) => { details.open = true; })")
    page.evaluate(LOAD_PICTURES)
    facts = page.evaluate(FACTS)
    page.evaluate(UNWRAP_TWINS)
    violations = [
        f"{violation['id']}: {node['html']}: {node['failureSummary']}"
        for violation in Axe().run(page, options=AXE).response["violations"]
        for node in violation["nodes"]
    ]
    page.close()
    return Visit(f"{path} ({width} px, {scheme})", width, requests, complaints, facts, violations)


def open_page(page, url):
    """Go to a page and wait for its explorers to come alive; a dead one is for the tests to find."""
    page.goto(url, wait_until="networkidle")
    with contextlib.suppress(NotInTime):
        page.wait_for_function(f"({FACTS})().dead_explorers.length === 0", timeout=10_000)


def collect(visits, finding):
    """`{page: what was found there}`, for the pages where something was: empty when all is well."""
    return {visit.name: found for visit in visits if (found := finding(visit))}


def test_every_notebook_has_its_page(pages):
    assert {f"notebooks/{path.stem}.html" for path in (ROOT / "notebooks").glob("*.ipynb")} <= set(pages)


def test_no_page_asks_another_host(visits, address):
    assert not collect(visits, lambda v: [url for url in v.requests if not url.startswith((address, "data:", "blob:"))])


def test_no_page_has_anything_to_complain_of(visits):
    assert not collect(visits, lambda v: v.complaints)


def test_maths_is_typeset(visits):
    assert not collect(visits, lambda v: v.facts["unset_maths"])
    assert any(v.facts["maths"] for v in visits)


def test_nothing_looks_alive_and_is_dead(visits):
    assert not collect(visits, lambda v: v.facts["dead_explorers"] + v.facts["widget_remains"])
    assert not collect(visits, lambda v: "Loading widget" in v.facts["text"])
    assert any(v.facts["explorers"] for v in visits)


def test_no_page_is_wider_than_the_window(visits):
    assert not collect(visits, lambda v: v.facts["widest"] > v.width)


def test_axe_finds_nothing(visits):
    assert not collect(visits, lambda v: v.violations)


def test_every_picture_is_there_and_says_what_it_shows(visits):
    def silent(image):
        return len(image["alt"].split()) < 4 or image["alt"] == Path(urlsplit(image["src"]).path).name

    images = [image for v in visits for image in v.facts["images"]]
    assert images
    assert not [image for image in images if silent(image) or not image["width"]]


def test_every_explorer_answers_mouse_and_keyboard(chromium, address, visits):
    found = {v.name.split()[0] for v in visits if v.facts["explorers"]}
    for path in found:
        page = chromium.new_page(viewport={"width": 390, "height": 844})
        open_page(page, address + path)
        for explorer in page.locator("[data-explorer]").all():
            seen = picture(explorer)
            explorer.locator("[type=range], [type=radio]:checked").first.press("ArrowLeft")
            moved = picture(explorer)
            assert moved != seen
            explorer.locator("label:has([type=radio]:not(:checked)), button").first.click()
            assert picture(explorer) != moved
        page.close()


def test_the_attention_explorer_follows_the_reader(chromium, address, visits):
    path = next(v.name.split()[0] for v in visits if v.facts["explorers"])
    page = chromium.new_page()
    open_page(page, address + path)
    explorer = page.locator("[data-explorer=attention]").first
    sentence = explorer.locator("[aria-live]")
    assert sentence.inner_text().startswith("went looks at")
    explorer.get_by_text("group", exact=True).first.click()
    assert sentence.inner_text().startswith("group looks at")
    explorer.locator("[type=radio]:checked").press("ArrowRight")
    softer = sentence.inner_text()
    assert softer.startswith("went looks at")
    explorer.locator("[type=range]").press("Home")
    assert sentence.inner_text() != softer
    page.close()


def test_the_theme_s_buttons_work_on_a_phone(chromium, address, pages):
    page = chromium.new_page(viewport={"width": 390, "height": 844}, color_scheme="light")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(address + next(path for path in pages if path.startswith("notebooks/")), wait_until="networkidle")
    for theme in ("dark", "light"):
        page.locator(".theme-switch-button:visible").click()
        assert page.locator("html").get_attribute("data-theme") == theme
    page.locator(".cell_input .highlight:visible").first.hover()
    page.locator(".cell_input:visible button.copybtn").first.click()
    code = page.locator(".cell_input:visible pre").first.inner_text()
    assert page.evaluate("navigator.clipboard.readText()").strip() == code.strip()
    page.locator(".primary-toggle:visible").click()
    page.locator("#pst-primary-sidebar-modal nav a[href$='06_masks.html']").click()
    page.wait_for_url("**/notebooks/06_masks.html")
    page.close()


def test_a_dark_page_is_printed_in_dark_ink(chromium, address, pages):
    page = chromium.new_page(color_scheme="dark")
    page.goto(address + next(path for path in pages if path.startswith("notebooks/")), wait_until="networkidle")
    page.evaluate("addEventListener('beforeprint', () => { window.ink = getComputedStyle(document.body).color; })")
    page.pdf()
    assert page.evaluate("ink.match(/\\d+/g).every((part) => part < 64)")
    assert page.locator("html").get_attribute("data-theme") == "dark"
    page.close()


class Links(HTMLParser):
    """The ids of a page, the links that a reader can follow, and what the browser loads by itself."""

    def __init__(self, path):
        super().__init__()
        self.ids, self.links, self.loads = set(), [], []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.ids.add(attrs.get("id"))
        if tag == "a" and attrs.get("href"):
            self.links.append(attrs["href"])
        elif tag == "link" and attrs.get("rel") != "canonical":
            self.loads.append(attrs["href"])
        elif tag != "a":
            self.loads += filter(None, [attrs.get("src"), attrs.get("data"), attrs.get("poster")])


def test_every_link_within_the_site_leads_somewhere(site, pages):
    parsed = {path: Links(site / path) for path in pages}
    dead = []
    for path, page in parsed.items():
        for link in page.links + page.loads:
            if urlsplit(link).scheme in ("http", "https", "mailto", "data"):
                continue
            target = urlsplit(urljoin(path, link))
            name = unquote(target.path)
            anchored = not target.fragment or target.fragment in parsed[name].ids
            if not (site / name).is_file() or not anchored:
                dead.append(f"{path}: {link}")
    assert not dead


def test_no_page_loads_from_elsewhere_or_links_to_its_own_site_by_address(site, pages):
    for path in pages:
        page = Links(site / path)
        assert not [link for link in page.loads if urlsplit(link).netloc], path
        own = [link for link in page.links if ".github.io/" in link and urlsplit(link).path.endswith(tuple(pages))]
        assert not own, path


@pytest.mark.parametrize(
    ("base", "ending", "no_page", "no_anchor"),
    [
        ("https://me.github.io/book/", ".html", "link to a page that does not", "link to an anchor that does"),
        ("", ".md", "cross-reference target not found", "local id not found"),
    ],
    ids=["by the site's address", "by the file's name"],
)
def test_links_between_pages_become_relative_and_dead_ones_are_named(base, ending, no_page, no_anchor, tmp_path):
    two = f"{base}part/two{ending}"
    (tmp_path / "index.md").write_text(
        f"# Home\n\n[claim]({two}#qkv-1) [exercise]({two}#exercise-2-3)\n\n"
        f"[no page]({base}part/three{ending}) [no anchor]({two}#qkv-9)\n"
    )
    (tmp_path / "part").mkdir()
    (tmp_path / "part/two.md").write_text(
        "---\norphan: true\n---\n# Two\n\n## qkv-1: a claim\n\n## Exercise 2.3 ●○○ 5 min\n\n"
        f"[home]({base or '../index.md'})\n"
    )
    (tmp_path / "conf.py").write_text(
        f"import sys; sys.path.append({str(ROOT / 'book/_extensions')!r})\n"
        "extensions = ['myst_parser', 'sphinx_book_theme', 'attention_book']\n"
        "html_theme = 'sphinx_book_theme'\n"
        "myst_heading_anchors = 3\n"
        f"html_baseurl = {base!r}\n"
    )
    command = [sys.executable, "-m", "sphinx", "-q", "-b", "html", tmp_path, tmp_path / "out"]
    built = subprocess.run(command, capture_output=True, text=True)
    warnings = [line for line in built.stderr.splitlines() if "WARNING" in line]
    assert len(warnings) == 2, built.stderr
    assert any(no_page in line and "part/three" in line for line in warnings), warnings
    assert any(no_anchor in line and "qkv-9" in line for line in warnings), warnings
    home, page = Links(tmp_path / "out/index.html"), Links(tmp_path / "out/part/two.html")
    assert {"part/two.html#qkv-1", "part/two.html#exercise-2-3"} <= set(home.links)
    assert "../index.html" in page.links
    assert {"qkv-1", "exercise-2-3"} <= page.ids
