"""The gallery: every explorer of the book, its setting in the address, full screen, and three ways to touch it."""

import re
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

import nbformat
import pytest
from axe_playwright_python.sync_playwright import Axe
from explorer_helpers import picture
from playwright.sync_api import expect

from attention_live import explorers

sys.path.insert(0, str(Path(__file__).parents[1] / "book/_extensions"))
import book_gallery

pytest_plugins = ["browser", "built_site"]

EXTENSIONS = Path(book_gallery.__file__).parent
NAMES = sorted(getattr(explorers, name).module for name in explorers.__all__ if name != "Explorer")
MARKUP = "<img src=x onerror=alert(1)>"
IN_ADDRESS = "%3Cimg+src%3Dx+onerror%3Dalert(1)%3E"
STORED = re.compile(r'<div class="explorer" data-explorer="(\w+)" data-state="[^"]*">')


# What is on it


def test_every_explorer_of_the_package_is_on_it_as_its_chapter_has_it(site):
    text = (site / "gallery.html").read_text(encoding="utf-8")
    sections = dict(re.findall(r'<section id="(\w+)">(.*?)</section>', text, re.DOTALL))
    shown = [STORED.search(section) for section in sections.values()]
    assert sorted(found[1] for found in shown) == NAMES
    for name, section in sections.items():
        chapter, anchor = re.search(r'From <a class="[^"]*" href="([^"#]+)#([\w-]+)">', section).groups()
        page = (site / chapter).read_text(encoding="utf-8")
        _, _, place = page.partition(f'<section id="{anchor}">')
        assert STORED.search(section)[0] in place, name
        invitation = re.search(r'class="gallery-try[^"]*">\s*<p>(.*?)</p>', section, re.DOTALL)[1]
        assert re.sub(r"\s+", " ", invitation) in re.sub(r"\s+", " ", place), name


def notebook(path, *cells):
    """A notebook of Markdown cells and, for a name alone, a cell that shows the explorer of this name."""
    made = nbformat.v4.new_notebook()
    for text in cells:
        if text.isidentifier():
            data = {"text/html": f'<div class="explorer" data-explorer="{text}" data-state="{path.stem}">'}
            output = nbformat.v4.new_output("display_data", data=data)
            made.cells.append(nbformat.v4.new_code_cell(outputs=[output]))
        else:
            made.cells.append(nbformat.v4.new_markdown_cell(text))
    nbformat.write(made, path)


def test_an_explorer_is_taken_from_the_first_section_that_is_its_own(tmp_path):
    notebook(tmp_path / "00_a.ipynb", "# A\n\n- not this", "wave")
    notebook(
        tmp_path / "01_b.ipynb",
        "# B",
        "## Try\n\nText.\n\n- first, over\n  two lines\n- second",
        "wave",
        "bar",
        "## Z\n\n- z",
    )
    notebook(tmp_path / "02_c.ipynb", "# C\n\n## Try", "wave", "new", "- after it")
    found = {
        name: (path.name, chapter, section.title, re.search(r'state="(\w+)"', text)[1])
        for name, (path, chapter, section, text) in book_gallery.read_gallery(tmp_path).items()
    }
    assert found == {
        "wave": ("01_b.ipynb", "B", "Try", "01_b"),
        "bar": ("01_b.ipynb", "B", "Try", "01_b"),
        "new": ("02_c.ipynb", "C", "Try", "02_c"),
    }


def test_an_explorer_without_a_list_of_what_to_try_is_a_warning(tmp_path):
    (tmp_path / "notebooks").mkdir()
    notebook(tmp_path / "notebooks/01_a.ipynb", "# A", "## Try", "wave")
    notebook(tmp_path / "notebooks/02_b.ipynb", "# B", "## Play\n\n- first", "bar")
    (tmp_path / "index.md").write_text("# Home\n\n```{gallery}\n```\n\n```{toctree}\n:glob:\nnotebooks/*\n```\n")
    (tmp_path / "conf.py").write_text(
        f"import sys; sys.path.append({str(EXTENSIONS)!r})\n"
        "extensions = ['myst_nb', 'book_gallery']\nnb_execution_mode = 'off'\nmyst_heading_anchors = 2\n"
    )
    command = [sys.executable, "-m", "sphinx", "-q", "-b", "html", tmp_path, tmp_path / "out"]
    built = subprocess.run(command, capture_output=True, text=True)
    warnings = [line for line in built.stderr.splitlines() if "WARNING" in line]
    assert len(warnings) == 1, built.stderr
    assert "01_a.ipynb" in warnings[0]
    assert "must have a list of what to try, and this has none: Try" in warnings[0]


# In the browser


@pytest.fixture
def gallery(chromium, address):
    """A function that opens the gallery with something behind its address, once all explorers are alive."""
    opened = []

    def start(rest="", width=1280, **options):
        page = chromium.new_page(viewport={"width": width, "height": 900}, **options)
        opened.append(page)
        page.errors = []
        page.on("pageerror", lambda error: page.errors.append(str(error)))
        page.on("console", lambda line: line.type in ("warning", "error") and page.errors.append(line.text))
        page.on("dialog", lambda dialog: page.errors.append(dialog.message) or dialog.dismiss())
        page.goto(f"{address}gallery.html{rest}")
        expect(page.get_by_role("button", name="Copy link")).to_have_count(len(NAMES))
        return page

    yield start
    for page in opened:
        assert page.errors == []
        page.close()


def explorer(page, name):
    return page.locator(f"#{name} [data-explorer]")


def fragment(page):
    return urlsplit(page.url).fragment


def wait_for_fragment(page, expected):
    page.wait_for_function("expected => location.hash === '#' + expected", arg=expected)


def sentence(page, name):
    return explorer(page, name).locator(".sentence")


# The address


@pytest.mark.parametrize("name", NAMES)
def test_the_address_brings_back_what_was_set_by_hand_and_reset_empties_it(gallery, name):
    page = gallery()
    stored = picture(explorer(page, name))
    for control in explorer(page, name).locator("[type=range], [type=radio]:checked").all():
        control.press("ArrowLeft")
    page.wait_for_function("name => location.hash.startsWith(`#${name}?`)", arg=name)
    page.wait_for_timeout(500)  # the last of several changes
    page.mouse.move(0, 0)
    changed = picture(explorer(page, name))
    assert changed != stored
    copy = gallery(f"#{fragment(page)}")
    assert picture(explorer(copy, name)) == changed
    expect(page.locator(f"#{name}")).to_be_in_viewport()
    explorer(copy, name).get_by_role("button", name="Reset").click()
    wait_for_fragment(copy, name)
    assert picture(explorer(copy, name)) == stored


def test_all_kinds_of_values_are_readable_in_the_address(gallery):
    page = gallery()
    explorer(page, "attention").get_by_role("radio", name="home").check()
    explorer(page, "attention").get_by_label("key of the, component 2").fill("-1.5")
    explorer(page, "attention").get_by_label("token 1").fill("cat & dog")
    wait_for_fragment(page, "attention?k.0.1=-1.5&query=3&tokens.0=cat+%26+dog")
    explorer(page, "masks").get_by_text("open", exact=True).click()
    wait_for_fragment(page, "masks?causal=false")
    expect(sentence(page, "attention")).to_contain_text("home looks at")


def test_back_forward_and_an_address_that_is_edited_are_followed(gallery):
    page = gallery("#attention?query=0")
    expect(sentence(page, "attention")).to_contain_text("the looks at")
    page.evaluate("location.hash = 'attention?query=3&temperature=0.01'")
    expect(sentence(page, "attention")).to_contain_text("home looks at went with 1.00")
    page.evaluate("location.hash = 'attention'")
    expect(sentence(page, "attention")).to_contain_text("went looks at")
    page.evaluate("location.hash = 'masks?window=1'")
    expect(sentence(page, "masks")).to_contain_text("its own position")
    expect(page.locator("#masks h2")).to_be_in_viewport()
    page.go_back()
    page.go_back()
    expect(sentence(page, "attention")).to_contain_text("home looks at went with 1.00")
    page.go_back()
    expect(sentence(page, "attention")).to_contain_text("the looks at")
    page.go_forward()
    expect(sentence(page, "attention")).to_contain_text("home looks at went with 1.00")
    expect(page.locator("#attention h2")).to_be_in_viewport()


def test_what_was_just_done_does_not_overwrite_an_address_that_is_followed(gallery):
    page = gallery()
    page.evaluate("""() => {
        document.querySelector("#attention [type=radio]").click();
        location.hash = "masks?window=1";
    }""")
    page.wait_for_timeout(1000)
    assert fragment(page) == "masks?window=1"


def test_dragging_changes_the_address_a_few_times_a_second_at_most(gallery):
    page = gallery()
    changes = page.evaluate("""async () => {
        let changes = 0;
        const replace = history.replaceState;
        history.replaceState = function (...rest) {
            changes += 1;
            return replace.apply(this, rest);
        };
        const range = document.querySelector("#gradient_reach [type=range]");
        const until = performance.now() + 2000;
        for (let step = 0; performance.now() < until; step += 1) {
            range.value = step % 2;
            range.dispatchEvent(new Event("input", { bubbles: true }));
            await new Promise((resolve) => setTimeout(resolve, 5));
        }
        return changes;
    }""")
    assert 1 <= changes <= 6  # Safari refuses more than 100 in 30 seconds


HOSTILE = [
    ("attention", "frob=1", "there is no “frob”"),
    ("attention", "query=9", "query must be from 0 to 3"),
    ("attention", "query=1.5", "query must be a whole number"),
    ("attention", "temperature=NaN", "temperature must be a number, got “NaN”"),
    ("attention", "temperature=0", "temperature must be positive"),
    ("attention", "q=[[1,2]]", "there is no “q”"),
    ("attention", "tokens.length=4294967295", "there is no “tokens.length”"),
    ("attention", "tokens=" + "a," * 20_000, "there is no “tokens”"),
    ("attention", "tokens.0=" + "a" * 100_000, "tokens.0 must be a word of at most 40 characters"),
    ("attention", "__proto__.query=1", "there is no “__proto__.query”"),
    ("attention", f"{IN_ADDRESS}=1", f"there is no “{MARKUP}”"),
    ("attention", f"query={IN_ADDRESS}", f"query must be a number, got “{MARKUP}”"),
    ("attention", "%E0%A4%A=%", "there is no"),
    ("heads", "weights.0.0.0.0=1", "weights must be numbers from 0 to 1"),
    ("masks", "causal=maybe", "causal must be true or false"),
    ("masks", "lengths.0=7", "lengths must be from 0 to 6"),
    ("positions", "d_model=6", "d_model must be one of 4, 8, 16, 32, 64"),
    ("scaling", "divide_by=x", "divide_by must be one of"),
]


def test_an_address_that_cannot_be_is_refused_and_nothing_breaks(gallery):
    page = gallery()
    stored = {name: picture(explorer(page, name)) for name in NAMES}
    for name, changes, reason in HOSTILE:
        page.evaluate("hash => { location.hash = hash; }", f"{name}?{changes}")
        notice = page.locator(f"#{name} .gallery-notice")
        expect(notice).to_contain_text(f"The address asks for what this explorer cannot show: {reason}")
        assert picture(explorer(page, name)) == stored[name]
    assert {name: picture(explorer(page, name)) for name in NAMES} == stored
    assert page.evaluate("({}).query") is None
    assert page.locator("section img").count() == 0
    explorer(page, "scaling").get_by_role("button", name="Next query").click()
    expect(page.locator("#scaling .gallery-notice")).to_be_hidden()
    wait_for_fragment(page, "scaling?query=1")


@pytest.mark.parametrize(
    "rest", ["#", "#?query=1", "#nowhere?query=1", "#__proto__?x=1", '#"]?x=1', "#%E0%A4%A", "#masks?"]
)
def test_an_address_without_an_explorer_or_changes_is_no_problem(gallery, rest):
    page = gallery(rest)
    for notice in page.locator(".gallery-notice").all():
        expect(notice).to_be_empty()
    expect(sentence(page, "attention")).to_contain_text("went looks at")


def test_a_first_visit_with_a_hostile_address_shows_the_chapter_s_setting(gallery):
    page = gallery(f"#heads?token=0&tokens.0={IN_ADDRESS}&frob=1")
    expect(page.locator("#heads .gallery-notice")).to_contain_text("there is no “frob”")
    expect(sentence(page, "heads")).to_contain_text("Layer 1, from >d")


# Tokens


@pytest.mark.parametrize("name", ["attention", "heads"])
def test_a_token_in_the_address_stays_text(gallery, name):
    key = {"attention": "query", "heads": "token"}[name]
    page = gallery(f"#{name}?{key}=0&tokens.0={IN_ADDRESS}")
    expect(sentence(page, name)).to_contain_text(MARKUP)
    assert page.locator("section img").count() == 0


def test_a_token_that_is_typed_stays_text_and_goes_into_the_address(gallery):
    page = gallery()
    field = explorer(page, "attention").get_by_label("token 3")
    field.fill("")
    field.press_sequentially("<img src=x onerror=alert(1)>")  # the field takes 20 characters
    assert field.input_value() == "<img src=x onerror=a"
    expect(sentence(page, "attention")).to_contain_text("<img src=x onerror=a looks at")
    page.evaluate(
        """markup => {
        const field = document.querySelector("#attention [aria-label='token 3']");
        field.value = markup;
        field.dispatchEvent(new Event("input"));
    }""",
        MARKUP,
    )
    expect(sentence(page, "attention")).to_contain_text(f"{MARKUP} looks at")
    wait_for_fragment(page, "attention?tokens.2=%3Cimg+src%3Dx+onerror%3Dalert%281%29%3E")
    assert page.locator("section img").count() == 0


# Buttons


def test_copy_link_copies_the_address_of_this_setting(gallery):
    page = gallery()
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    explorer(page, "positions").get_by_role("radio", name="32").check()
    page.locator("#positions").get_by_role("button", name="Copy link").click()
    expect(page.locator("#positions .gallery-buttons [role=status]")).to_have_text("Copied")
    link = page.evaluate("navigator.clipboard.readText()")
    assert link.endswith("/gallery.html#positions?d_model=32")
    page.goto(link)
    expect(explorer(page, "positions").get_by_role("radio", name="32")).to_be_checked()


def test_where_the_clipboard_is_out_of_reach_the_link_can_be_copied_by_hand(gallery):
    page = gallery()
    page.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined })")
    page.locator("#masks").get_by_role("button", name="Copy link").click()
    expect(page.locator("#masks .gallery-buttons [role=status]")).to_have_text("Copy it from here:")
    field = page.locator("#masks").get_by_label("Link to this setting")
    expect(field).to_be_focused()
    assert page.evaluate("getSelection().toString()").endswith("/gallery.html#masks")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_in_full_screen_an_explorer_is_large_and_alive(gallery, scheme):
    page = gallery(width=1920, color_scheme=scheme)
    page.set_viewport_size({"width": 1920, "height": 1080})
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    for name in NAMES:
        figure = explorer(page, name).locator(".explorer-figure")
        before = figure.bounding_box()["width"] / figure.evaluate("figure => figure.offsetWidth")
        page.locator(f"#{name}").get_by_role("button", name="Full screen").click()
        page.wait_for_function("name => document.fullscreenElement?.closest('section').id === name", arg=name)
        leave = page.locator(f"#{name}").get_by_role("button", name="Leave full screen")
        expect(leave).to_be_in_viewport()
        box = figure.bounding_box()
        scale = box["width"] / figure.evaluate("figure => figure.offsetWidth")
        assert before == pytest.approx(1)
        assert scale > 1.3, name
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 1920
        assert box["y"] + box["height"] <= 1081
        assert abs(box["x"] + box["width"] / 2 - 960) < 20  # in the middle
        assert page.evaluate("getComputedStyle(document.fullscreenElement).backgroundColor") == ground
        seen = picture(explorer(page, name))
        explorer(page, name).locator("[type=range], [type=radio]:checked").first.press("ArrowLeft")
        assert picture(explorer(page, name)) != seen
        leave.click()
        page.wait_for_function("document.fullscreenElement === null")
        expect(page.locator(f"#{name}").get_by_role("button", name="Full screen")).to_have_text("Full screen")
        assert figure.bounding_box()["width"] == pytest.approx(figure.evaluate("figure => figure.offsetWidth"))


@pytest.mark.parametrize(("width", "height"), [(1024, 768), (1280, 720), (1366, 768)])
def test_on_a_small_projector_an_explorer_is_whole_and_can_be_read(gallery, width, height):
    page = gallery(width=width)
    page.set_viewport_size({"width": width, "height": height})
    for name in NAMES:
        figure = explorer(page, name).locator(".explorer-figure")
        page.locator(f"#{name}").get_by_role("button", name="Full screen").click()
        page.wait_for_function("name => document.fullscreenElement?.closest('section').id === name", arg=name)
        box = figure.bounding_box()
        assert box["width"] / figure.evaluate("figure => figure.offsetWidth") > 0.85, name
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
        assert box["y"] + box["height"] <= height
        assert page.evaluate("document.fullscreenElement.scrollHeight <= innerHeight"), name
        page.locator(f"#{name}").get_by_role("button", name="Leave full screen").click()
        page.wait_for_function("document.fullscreenElement === null")


def test_on_a_phone_an_explorer_keeps_its_size_in_full_screen(gallery):
    page = gallery(width=390)
    figure = explorer(page, "masks").locator(".explorer-figure")
    page.locator("#masks").get_by_role("button", name="Full screen").click()
    page.wait_for_function("document.fullscreenElement !== null")
    assert figure.evaluate("figure => getComputedStyle(figure).transform") == "none"
    assert page.evaluate("document.fullscreenElement.scrollHeight > innerHeight")


@pytest.mark.parametrize("size", [(1280, 720), (1280, 900)])
def test_a_point_is_dragged_in_full_screen_as_outside(gallery, size):
    page = gallery()
    page.set_viewport_size({"width": size[0], "height": size[1]})
    page.locator("#attention").get_by_role("button", name="Full screen").click()
    page.wait_for_function("document.fullscreenElement !== null")
    plane = explorer(page, "attention").locator(".mix svg")
    x, y = centre(explorer(page, "attention").get_by_role("slider", name="value of group"))
    origin = centre(plane)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x - (x - origin[0]) / 2, y, steps=5)  # from (4, 0) to (2, 0)
    page.mouse.up()
    expect(explorer(page, "attention").get_by_label("value of group, component 1")).to_have_value("2")


# Mouse, keyboard and touch


def centre(locator):
    box = locator.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def swipe(page, x, y, dx, dy):
    client = page.context.new_cdp_session(page)

    def send(kind, *points):
        client.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": x, "y": y} for x, y in points]})

    send("touchStart", (x, y))
    for step in range(1, 9):
        send("touchMove", (x + dx * step / 8, y + dy * step / 8))
        time.sleep(0.02)
    send("touchEnd")


def tap(page, control):
    """Tap a control: a slider near the end that it is further from."""
    control.scroll_into_view_if_needed()
    part = control.evaluate(
        "node => node.type === 'range' ? (node.valueAsNumber - node.min) / (node.max - node.min) : 1"
    )
    box = control.bounding_box()
    page.touchscreen.tap(box["x"] + box["width"] * (0.1 if part > 0.5 else 0.9), box["y"] + box["height"] / 2)


@pytest.mark.parametrize("name", NAMES)
def test_every_explorer_answers_mouse_keyboard_and_touch_on_a_phone(gallery, name):
    page = gallery(width=390, has_touch=True)
    one = explorer(page, name)
    seen = picture(one)
    one.locator("[type=range], [type=radio]:checked").first.press("ArrowLeft")
    assert picture(one) != seen
    seen = picture(one)
    one.locator("label:has([type=radio]:not(:checked)), button").first.click()
    assert picture(one) != seen
    for control in one.locator("label:has([type=radio]), [type=range], button").all():
        if control.locator(":checked").count() == 0:
            seen = picture(one)
            tap(page, control)
            assert picture(one) != seen, control


def test_points_are_dragged_by_touch_and_the_page_scrolls_elsewhere(gallery):
    page = gallery(width=390, has_touch=True)
    one = explorer(page, "attention")
    for label in ("key of home", "query of went", "value of home"):
        point = one.get_by_role("slider", name=label)
        point.scroll_into_view_if_needed()
        before, scrolled = point.get_attribute("aria-valuetext"), page.evaluate("scrollY")
        swipe(page, *centre(point), -10, 60)
        assert point.get_attribute("aria-valuetext") != before
        assert page.evaluate("scrollY") == scrolled
    plane = one.locator(".compare svg")
    plane.scroll_into_view_if_needed()
    box, scrolled = plane.bounding_box(), page.evaluate("scrollY")
    seen = picture(one)
    swipe(page, box["x"] + 20, box["y"] + 20, 0, -200)
    page.wait_for_function("before => scrollY > before + 50", arg=scrolled)
    assert picture(one) == seen


def test_a_tap_on_a_token_in_a_picture_of_a_head_chooses_it(gallery):
    page = gallery(width=390, has_touch=True)
    token = explorer(page, "heads").locator(".card").nth(1).locator(".asking").first
    token.scroll_into_view_if_needed()
    page.touchscreen.tap(*centre(token))
    expect(sentence(page, "heads")).to_contain_text("Layer 1, from [e")
    wait_for_fragment(page, "heads?token=0")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_it_fits_and_is_accessible(gallery, width, scheme):
    page = gallery("#masks?window=9", width=width, color_scheme=scheme)
    expect(page.locator("#masks .gallery-notice")).to_be_visible()
    page.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined })")
    page.locator("#masks").get_by_role("button", name="Copy link").click()
    expect(page.locator("#masks").get_by_label("Link to this setting")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert Axe().run(page, options={"resultTypes": ["violations"], "preload": False}).response["violations"] == []
    page.locator("#masks").get_by_role("button", name="Full screen").click()
    page.wait_for_function("document.fullscreenElement !== null")
    assert Axe().run(page, options={"resultTypes": ["violations"], "preload": False}).response["violations"] == []


def test_without_scripts_each_explorer_says_so_and_no_button_is_dead(chromium, address):
    page = chromium.new_page(java_script_enabled=False)
    page.goto(f"{address}gallery.html")
    expect(page.get_by_text("it needs JavaScript on the website")).to_have_count(len(NAMES))
    assert page.locator(".gallery-stage button").count() == 0
    page.close()
