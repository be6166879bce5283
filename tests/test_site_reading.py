"""Reading without scripts, on paper and from an archive: typefaces, formulas, pictures, licences of what is served."""

import re
import shutil
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import imagesize
import pytest
from PIL import Image
from py_mini_racer import MiniRacer

pytest_plugins = ["browser", "built_site"]

ROOT = Path(__file__).parents[1]
KATEX = ROOT / "book/_extensions/katex"
sys.path.insert(0, str(ROOT / "tools"))
import make_zip  # noqa: E402

FORMULA = r"\sqrt{d_k}"
CHAPTER = "notebooks/03_scaling_by_sqrt_dk.html"


@pytest.fixture
def build(tmp_path):
    """A function that builds a small site with one of the book's extensions, and returns its folder and warnings."""

    def run(extension, pages, settings=""):
        for name, text in pages.items():
            (tmp_path / name).write_text(text, encoding="utf-8")
        (tmp_path / "conf.py").write_text(
            f"import sys; sys.path.append({str(ROOT / 'book/_extensions')!r})\n"
            f"extensions = ['myst_parser', {extension!r}]\nmyst_enable_extensions = ['dollarmath']\n{settings}\n"
        )
        command = [sys.executable, "-m", "sphinx", "-q", "-b", "html", tmp_path, tmp_path / "out"]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return tmp_path / "out", [line for line in done.stderr.splitlines() if "WARNING" in line]

    return run


# Typefaces ------------------------------------------------------------------------------------------------------------


def test_italics_stay_italic_in_the_readers_own_typeface(chromium, address):
    page = chromium.new_page()
    page.route("**/source-serif-4-*", lambda route: route.abort())
    page.goto(f"{address}/notebooks/04_multi_head_attention.html")
    browser = page.context.new_cdp_session(page)
    for domain in ("DOM", "CSS"):
        browser.send(f"{domain}.enable")
    root = browser.send("DOM.getDocument", {"depth": 1})["root"]["nodeId"]
    word = browser.send("DOM.querySelector", {"nodeId": root, "selector": ".bd-article em"})["nodeId"]
    fonts = browser.send("CSS.getPlatformFontsForNode", {"nodeId": word})["fonts"]
    assert fonts
    assert all(re.search("Italic|Oblique", font["postScriptName"]) for font in fonts), fonts
    page.close()


# Formulas -------------------------------------------------------------------------------------------------------------


def test_formulas_are_set_wherever_they_stand(build):
    text = (
        f"# Home of ${FORMULA}$\n\nA line with ${FORMULA}$.\n\n"
        f"| letter |\n|---|\n| ${FORMULA}$ |\n\n$$\n{FORMULA}\n$$\n\n"
        f"<details><summary>Hint</summary>\n\nFolded: ${FORMULA}$.\n\n</details>\n"
    )
    plain = "---\norphan: true\n---\n# Plain\n\nNo formula.\n"
    out, warnings = build("book_maths", {"index.md": text, "plain.md": plain}, "html_math_renderer = 'katex'")
    assert not warnings
    home = (out / "index.html").read_text()
    body = home[home.index("<h1>") :]
    for place in ("<h1>", "<p>A line", "<td>", "</summary>\n<p>Folded", "<div class="):
        following = body[body.index(place) :]
        assert following.index('<span class="katex">') < following.index(f">{FORMULA}</annotation>")
    assert body.count('<span class="katex-display">') == 1
    assert "katex.min.css" in home
    assert "katex" not in (out / "plain.html").read_text()


def test_no_line_ends_between_a_formula_and_its_comma(build, chromium, serve):
    out, _ = build("book_maths", {"index.md": "# Home\n\nWords ($w_1$, $a = b$, or $w_3$ or **($w_4$)**-fold.\n"})
    page = chromium.new_page()
    page.goto(f"{serve(out)}/index.html")
    page.add_style_tag(content=(ROOT / "book/_static/book.css").read_text())
    page.add_style_tag(content=".body p { width: 1px; }")  # each line as short as it can be
    far = page.evaluate("""() => {
      const middle = (box) => (box.top + box.bottom) / 2;
      return [...document.querySelectorAll(".joined > .math")].map((formula) => {
        const [range, parts] = [document.createRange(), [...formula.querySelectorAll(".katex-base")]];
        const away = (text, part) => {
          if (!text) return null;
          range.selectNode(text);
          return Math.round(Math.abs(middle(range.getBoundingClientRect()) - middle(part.getBoundingClientRect())) / 9);
        };
        const own = middle(parts.at(-1).getBoundingClientRect()) - middle(parts[0].getBoundingClientRect());
        return [away(formula.previousSibling, parts[0]), away(formula.nextSibling, parts.at(-1)), Math.sign(own)];
      });
    }""")
    assert far == [[0, 0, 0], [None, 0, 1], [0, 0, 0]], "a = b is on two lines"
    page.close()


def test_a_formula_that_cannot_be_set_is_named_with_its_place(build):
    text = "# Home\n\nGood: $a<b$.\n\nBad: $\\frac{a<b$.\n\n$$\n中\n$$\n"
    out, warnings = build("book_maths", {"index.md": text}, "html_math_renderer = 'katex'")
    assert len(warnings) == 2
    assert re.search(r"index\.md:5: WARNING: formula that cannot be set: \\frac\{a<b: .*expected '\}'", warnings[0])
    assert re.search(r"index\.md:7: WARNING: formula that cannot be set: 中: ", warnings[1])
    assert r"<code>\frac{a&lt;b</code>" in (out / "index.html").read_text()


def test_all_of_katex_is_of_one_version():
    engine = MiniRacer()
    engine.eval((KATEX / "katex.min.js").read_text())
    style = (KATEX / "katex.min.css").read_text()
    assert re.search(r'\.katex-version:after\{content:"([^"]+)"', style)[1] == engine.eval("katex.version")
    asked = set(re.findall(r"fonts/[\w-]+\.woff2", style))
    assert asked == {f"fonts/{path.name}" for path in (KATEX / "fonts").iterdir()}


def test_formulas_have_their_fonts_and_scroll_by_themselves(chromium, address):
    page = chromium.new_page(viewport={"width": 360, "height": 800})
    held = []
    page.route("**/KaTeX_*", lambda route: held.append(route))
    page.goto(address + CHAPTER, wait_until="domcontentloaded")
    page.wait_for_function("document.querySelector('div.math[tabindex]')")  # what is too wide in any font
    for font in held:
        font.continue_()
    page.unroute("**/KaTeX_*")
    page.wait_for_load_state("networkidle")
    fonts = page.evaluate(
        """[...document.fonts].filter((f) => f.family.startsWith("KaTeX") && f.status !== "unloaded")
          .map((f) => [f.family, f.status])"""
    )
    assert {family for family, _ in fonts} >= {"KaTeX_Main", "KaTeX_Math"}
    assert {status for _, status in fonts} == {"loaded"}
    blocks = page.evaluate(
        """[...document.querySelectorAll("div.math")].map((m) => ({
          wide: m.scrollWidth > m.clientWidth, focusable: m.tabIndex === 0,
          scrolls: getComputedStyle(m).overflowX === "auto",
        }))"""
    )
    assert any(block["wide"] for block in blocks)
    assert all(block["wide"] == block["focusable"] and block["scrolls"] for block in blocks)
    page.close()


def test_what_scrolls_sideways_is_a_tab_stop_and_nothing_else_is(chromium, address):
    found = """[...document.querySelectorAll("pre, div.math, .cell_output > .output, .pst-scrollable-table-container")]
      .filter((e) => e.checkVisibility()).map((e) => [e.scrollWidth > e.clientWidth, e.hasAttribute("tabindex")])"""
    page = chromium.new_page(viewport={"width": 360, "height": 800})
    for place in (CHAPTER, "notation.html"):
        page.goto(address + place, wait_until="networkidle")
        shut = page.evaluate(found)
        page.evaluate("document.querySelectorAll('details').forEach((fold) => { fold.open = true; })")
        page.wait_for_timeout(100)  # for the observer
        opened = page.evaluate(found)
        assert [True, True] in shut, place
        assert {wide == stop for wide, stop in shut + opened} == {True}, place
        if place == CHAPTER:
            assert len(opened) > len(shut), "code in folds is looked at when they open"
    page.set_viewport_size({"width": 1280, "height": 800})
    page.wait_for_timeout(100)
    assert {wide == stop for wide, stop in page.evaluate(found)} == {True}, "in a wider window less scrolls"
    page.close()


def test_a_copied_formula_is_its_source(chromium, address):
    page = chromium.new_page()
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(address + CHAPTER, wait_until="networkidle")
    page.evaluate("getSelection().selectAllChildren(document.querySelector('article p:has(.katex)'))")
    page.keyboard.press("ControlOrMeta+c")
    copied = page.evaluate("navigator.clipboard.readText()")
    sources = page.locator("article p:has(.katex)").first.locator("annotation").all_text_contents()
    assert sources
    for source in sources:
        assert copied.count(f"${source}$") == sources.count(source)
    page.close()


# Pictures -------------------------------------------------------------------------------------------------------------

PICTURES = """[...document.images].map((i) => ({
  src: i.src, loading: i.loading, decoding: i.decoding, inText: Boolean(i.closest("article")),
  stated: [Number(i.getAttribute("width")), Number(i.getAttribute("height"))], shown: [i.clientWidth, i.clientHeight],
}))"""


def test_pictures_state_their_size_and_wait_below_the_fold(chromium, address, site, pages):
    seen = set()
    for path in pages:
        page = chromium.new_page(viewport={"width": 360, "height": 800})
        page.goto(address + path)
        for picture in page.evaluate(PICTURES):
            file = site / picture["src"].removeprefix(address)
            assert picture["stated"] == [round(side) for side in imagesize.get(file)], picture
            if picture["inText"]:
                assert (picture["loading"], picture["decoding"]) == ("lazy", "async"), picture
                (width, height), (shown_width, shown_height) = picture["stated"], picture["shown"]
                assert shown_height == pytest.approx(shown_width * height / width, abs=1.5), picture
                seen.add(file)
        page.close()
    assert seen == set((site / "_images").iterdir())


def test_no_picture_is_heavy(site):
    heavy = [path for path in (site / "_images").iterdir() if path.stat().st_size > 60_000]
    assert not heavy


def test_a_picture_may_say_otherwise_and_one_without_a_size_is_named(build, tmp_path):
    Image.new("RGB", (7, 5)).save(tmp_path / "seven-by-five.png")
    (tmp_path / "torn.png").write_bytes(b"no picture")
    text = '# Home\n\n![a > b](seven-by-five.png)\n\n<img src="torn.png" alt="torn" loading="eager">\n'
    out, warnings = build("book_figures", {"index.md": text}, "html_extra_path = ['torn.png']")
    assert len(warnings) == 1
    assert "picture without a size: torn.png" in warnings[0]
    images = re.findall(r"<img[^>]*>", (out / "index.html").read_text())
    assert 'width="7" height="5"' in images[0]
    assert images[1] == '<img src="torn.png" alt="torn" loading="eager">'


# Without scripts ------------------------------------------------------------------------------------------------------

UNSCRIPTED = """() => {
  const visible = (e) => e.checkVisibility({ visibilityProperty: true, opacityProperty: true }) && e.clientWidth > 1;
  return {
    theme: document.documentElement.dataset.theme,
    widest: document.documentElement.scrollWidth,
    dead: [...document.querySelectorAll("button, input, select")].filter(visible).map((e) => e.outerHTML),
    maths: [...document.querySelectorAll(".math")].filter((m) => !m.querySelector(".katex-html")).length,
    missing: [...document.images].filter((i) => visible(i) && !(i.complete && i.naturalWidth)).map((i) => i.src),
    explorers: [...document.querySelectorAll("[data-explorer]")].map((e) => e.innerText),
    chapters: [...document.querySelectorAll("#pst-primary-sidebar nav a")].filter(visible).length,
    folds: [...document.querySelectorAll("details")].length,
  };
}"""


@pytest.mark.parametrize("width", [1280, 360])
def test_without_scripts_everything_but_the_explorers_is_there(chromium, address, pages, width):
    context = chromium.new_context(java_script_enabled=False, viewport={"width": width, "height": 800})
    page = context.new_page()
    explorers = 0
    for path in pages:
        page.goto(address + path)
        facts = page.evaluate(UNSCRIPTED)
        assert facts["theme"] == "light"
        assert facts["widest"] <= width, path
        assert not facts["dead"], path
        assert not facts["maths"], path
        assert not facts["missing"], path
        assert all("needs JavaScript" in sentence for sentence in facts["explorers"]), path
        assert facts["chapters"] >= len(list((ROOT / "notebooks").glob("*.ipynb"))), path
        explorers += len(facts["explorers"])
    assert explorers
    context.close()


def test_without_scripts_a_phone_leads_to_the_chapters_and_opens_folds(chromium, address):
    context = chromium.new_context(java_script_enabled=False, viewport={"width": 360, "height": 800})
    page = context.new_page()
    page.goto(address + CHAPTER)
    page.get_by_role("link", name="All chapters").click()
    assert page.locator("#pst-primary-sidebar nav a").first.evaluate(
        "(a) => a.getBoundingClientRect().top < innerHeight"
    )
    for kind in ("hide", "hint", "solution"):
        fold = page.locator(f"details.{kind}").first
        fold.locator("summary").click()
        assert fold.locator(":scope > :not(summary)").first.is_visible()
    page.locator("#pst-primary-sidebar nav").get_by_text("Masks").click()
    page.wait_for_url("**/notebooks/06_masks.html")
    context.close()


# On paper -------------------------------------------------------------------------------------------------------------


def test_a_printed_chapter_has_what_paper_can_hold(chromium, address):
    page = chromium.new_page(viewport={"width": 700, "height": 1000})  # as wide as A4
    page.goto(address + CHAPTER, wait_until="networkidle")
    page.locator("details.solution summary").first.click()
    page.emulate_media(media="print")
    for useless in (
        "button",
        "#pst-primary-sidebar",
        "#pst-secondary-sidebar",
        ".prev-next-area",
        "details:not([open])",
    ):
        assert page.locator(useless).count()
        assert not page.locator(f"{useless} >> visible=true").count(), useless
    assert page.locator("details.solution[open]").first.is_visible()
    assert page.locator("[data-explorer] svg").first.is_visible()
    link = page.locator("article p a.external").first
    assert link.get_attribute("href") in link.evaluate("(a) => getComputedStyle(a, '::after').content")
    tallest = page.evaluate(
        """Math.max(...[...document.querySelectorAll("article :is(img, [data-explorer])")]
          .map((whole) => { const box = whole.getBoundingClientRect(); return box.height / box.width; }))"""
    )
    assert tallest < 1.3  # higher than that, it would not fit a page, whose sides are as 1.41 to 1 without margins
    page.close()


# The archive ----------------------------------------------------------------------------------------------------------


def test_the_archive_works_from_any_folder(chromium, serve, site, tmp_path):
    archive = tmp_path / "attention-live.zip"
    make_zip.main(str(site), str(archive))
    first = archive.read_bytes()
    moved = tmp_path / "the same site later"
    shutil.copytree(site, moved)
    make_zip.main(str(moved), str(archive))
    assert archive.read_bytes() == first

    with ZipFile(archive) as packed:
        packed.extractall(tmp_path / "shared" / "some where")
    assert [path.name for path in (tmp_path / "shared/some where").iterdir()] == ["attention-live"]
    page = chromium.new_page()
    complaints = []
    page.on("requestfailed", lambda request: complaints.append(f"failed: {request.url}"))
    page.on("response", lambda answer: answer.status >= 400 and complaints.append(f"{answer.status}: {answer.url}"))
    page.on("console", lambda line: line.type in ("warning", "error") and complaints.append(line.text))
    page.goto(f"{serve(tmp_path)}/shared/some%20where/attention-live/{CHAPTER}", wait_until="networkidle")
    explorer = page.locator("[data-explorer]").first
    explorer.locator("[type=range]").first.wait_for()
    notebook = page.get_by_role("link", name="Notebook").first.evaluate("async (a) => (await fetch(a.href)).json()")
    assert notebook["cells"]
    page.locator("#pst-primary-sidebar nav a").first.click()
    page.wait_for_url("**/attention-live/index.html", wait_until="networkidle")
    assert not complaints
    page.close()


def test_an_empty_folder_is_no_site(tmp_path):
    with pytest.raises(SystemExit, match=f"no site in {tmp_path}"):
        make_zip.main(str(tmp_path), str(tmp_path / "site.zip"))


# Licences -------------------------------------------------------------------------------------------------------------


def test_the_licences_lie_beside_what_they_are_for(site):
    static = site / "_static"
    listing = (static / "licences/LICENCES.txt").read_text()
    named = set(re.findall(r"(?<=: )\S+\.txt", listing))
    assert named == {path.name for path in (static / "licences").iterdir()} - {"LICENCES.txt"}
    for name in named:
        assert re.search(r"copyright|fonticons", (static / "licences" / name).read_text(), re.IGNORECASE), name
    for path in re.findall(r"(?m)^ {4}([^\s:]+)$", listing):
        assert (static / path).is_file(), path
    for name in ("KaTeX", "KaTeX fonts", "Source Serif 4", "Bootstrap", "Font Awesome Free", "Sphinx", "clipboard.js"):
        assert f"\n\n{name}\n" in listing


def test_a_file_that_nobody_claims_is_named(build, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/own.txt").write_text("of the book")
    extension = (
        "def setup(app): app.connect('build-finished', lambda app, e: (app.outdir / '_static/alien.js').touch())"
    )
    (tmp_path / "alien.py").write_text(extension)
    settings = (
        f"sys.path.append({str(tmp_path)!r}); extensions.append('alien')\n"
        "html_static_path = ['mine']\nhtml_theme = 'sphinx_book_theme'"
    )
    _, warnings = build("book_licences", {"index.md": "# Home\n"}, settings)
    assert any("licence of _static/alien.js" in line for line in warnings)
    assert not any("own.txt" in line or "searchtools.js" in line for line in warnings)
