"""The front page and the claims on trial: they say what the notebooks say, and work without a kernel."""

import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from bs4 import BeautifulSoup
from playwright.sync_api import expect

from attention_live.trial import CLAIMS

pytest_plugins = ["browser", "built_site"]

ROOT = Path(__file__).parents[1]
CHAPTERS = sorted(path for path in (ROOT / "notebooks").glob("*.ipynb") if not path.name.startswith("00"))
SHOWN = re.compile(r"([✓≈✗]) (\S+) (holds, with a limit|holds|fails)\. Measured: (.+)")


def stored_verdicts():
    """What the chapters' outputs hold: (chapter, claim, sign and outcome, measured)."""
    found = []
    for path in CHAPTERS:
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            for output in cell.get("outputs", []):
                if match := SHOWN.fullmatch("".join(output.get("data", {}).get("text/plain", []))):
                    sign, claim, outcome, measured = match.groups()
                    found.append((path.stem, claim, f"{sign} {outcome}", measured))
    return found


def soup(path):
    return BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")


def words(node):
    """A node's text, with straight quotes and single spaces."""
    return " ".join(node.get_text().replace("’", "'").replace("“", '"').replace("”", '"').split())


def rows(page):
    return page.select(".trial-row")


def test_the_trial_lists_exactly_the_verdicts_that_the_notebooks_store(site):
    page = soup(site / "trial.html")
    listed = []
    for row in rows(page):
        chapter = row.select_one("a.id")["href"].removeprefix("notebooks/").partition(".html")[0]
        link = row.select_one(".cell-link").extract()
        assert words(link) == f"The cell of {row['id']}"
        measured = words(row.select_one(".measured")).removeprefix("Measured: ").removesuffix(".")
        listed.append((chapter, row["id"], words(row.select_one(".verdict")), measured))
    assert listed == [(*rest, " ".join(measured.split())) for *rest, measured in stored_verdicts()]
    assert [claim for _, claim, _, _ in listed] == [claim for claim in CLAIMS if claim in {row[1] for row in listed}]


def test_each_row_has_the_statement_and_its_notes(site):
    for row in rows(soup(site / "trial.html")):
        claim = CLAIMS[row["id"]]
        assert words(row.select_one(".statement")) == claim["statement"]
        assert re.sub(r"^notes? ", "", words(row.select_one(".notes"))).split(", ") == claim["notes"].split()


def test_what_is_not_tried_yet_waits_at_the_end(site):
    page = soup(site / "trial.html")
    waiting = [words(item) for item in page.select(".trial-waiting li")]
    tried = {row["id"] for row in rows(page)}
    assert waiting == [f"{claim} {entry['statement']}" for claim, entry in CLAIMS.items() if claim not in tried]
    assert words(page.select_one(".trial-waiting h2")).startswith(f"Waiting: {len(waiting)} statements")


def test_each_row_leads_to_its_section_and_its_cell(site):
    chapters = {f"notebooks/{path.stem}.html": soup(site / f"notebooks/{path.stem}.html") for path in CHAPTERS}
    for row in rows(soup(site / "trial.html")):
        name, _, anchor = row.select_one("a.id")["href"].partition("#")
        section = chapters[name].find(id=anchor)
        assert words(section.find(["h2", "h3", "h4"])).startswith(f"{row['id']}:")
        name, _, anchor = row.select_one(".cell-link")["href"].partition("#")
        cell = chapters[name].find(id=anchor)
        assert section in cell.parents
        assert words(cell.select_one(".cell_output p.verdict")).startswith(words(row.select_one(".verdict"))[0])
        assert f'"{row["id"]}"' in cell.select_one(".cell_input").get_text()


def test_the_front_page_counts_and_lists_what_the_notebooks_hold(site):
    page = soup(site / "index.html")
    stored = stored_verdicts()
    tally = [words(link) for link in page.select(".tally a")]
    assert tally[0] == f"{len(stored)} of {len(CLAIMS)} statements tried"
    assert [tuple(text.split()[:2]) for text in tally[1:]] == [
        (sign, str(sum(outcome[0] == sign for _, _, outcome, _ in stored))) for sign in "✓≈✗"
    ]
    cards = page.select(".chapter-cards > li")
    assert len(cards) == len(CHAPTERS)
    for card, path in zip(cards, CHAPTERS, strict=True):
        opening = "".join(json.loads(path.read_text(encoding="utf-8"))["cells"][0]["source"])
        assert words(card.select_one(".name a")) == re.match(r"# (.+)", opening)[1]
        assert card.select_one(".name a")["href"] == f"notebooks/{path.stem}.html"
        assert words(card.select_one(".minutes")) == f"{re.search(r'([0-9]+) minutes', opening)[1]} min"
        assert len(words(card.select_one(".builds")).removeprefix("You build ").split()) > 2
        counts = Counter(outcome[0] for chapter, _, outcome, _ in stored if chapter == path.stem)
        on_trial, *kinds = card.select_one(".facts").find_all(["a", "span"])
        assert words(on_trial) == f"{counts.total()} on trial:"
        assert {text.split()[0]: int(text.split()[1]) for text in map(words, kinds)} == counts


CONF = """\
import sys
sys.path.append({extensions!r})
extensions = ["myst_nb", "book_pages"]
nb_execution_mode = "off"
exclude_patterns = ["out"]
"""
TABLE = "| chapter | you build | on trial | time |\n|---|---|---|---|\n"


def write_notebook(path, *cells):
    """A notebook of Markdown (a string) and of code cells that show something (a pair of plain text and HTML)."""
    made = []
    for number, cell in enumerate(cells):
        if isinstance(cell, str):
            made.append({"cell_type": "markdown", "id": f"c{number}", "metadata": {}, "source": cell})
        else:
            data = {"text/plain": cell[0], "text/html": cell[1]}
            output = {"output_type": "execute_result", "execution_count": 1, "metadata": {}, "data": data}
            code = {"cell_type": "code", "id": f"c{number}", "metadata": {}, "execution_count": 1, "source": "show()"}
            made.append(code | {"outputs": [output]})
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    path.write_text(json.dumps({"cells": made, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}))


def row_of(stem, title):
    return f"| [{title}](https://me.github.io/book/notebooks/{stem}.html) | a thing | `qkv-1` | 10 min |\n"


@pytest.fixture
def small_book(tmp_path):
    """A function that builds a book of one chapter again, and returns its trial's rows as {claim: text}."""
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "conf.py").write_text(CONF.format(extensions=str(ROOT / "book/_extensions")))
    (tmp_path / "index.md").write_text(
        "# Home\n\n```{toctree}\n:glob:\ntrial\nnotebooks/*\n```\n\n```{tally}\n```\n\n```{chapters}\n```\n"
    )
    (tmp_path / "trial.md").write_text("# Trial\n\n```{verdicts}\n```\n")
    foretaste = ("✓ qkv-4 holds. Measured: 1", "<p>✓</p>")
    write_notebook(
        tmp_path / "notebooks/00_start_here.ipynb", "# Start", foretaste, TABLE + row_of("01_one", "1 One"), foretaste
    )
    write_notebook(
        tmp_path / "notebooks/01_one.ipynb", "# 1 One", "## qkv-1: soft", ("✓ qkv-1 holds. Measured: 7", "<p>✓</p>")
    )

    def build():
        command = [sys.executable, "-m", "sphinx", "-q", "-b", "html", tmp_path, tmp_path / "out"]
        built = subprocess.run(command, capture_output=True, text=True)
        assert built.returncode == 0, built.stderr
        return {row["id"]: words(row) for row in rows(soup(tmp_path / "out/trial.html"))}

    return build


def test_a_changed_notebook_and_a_new_one_change_the_trial(small_book, tmp_path):
    first = small_book()
    assert list(first) == ["qkv-1"]  # and no foretaste of qkv-4
    assert "✓ holds" in first["qkv-1"]
    assert "Measured: 7. " in first["qkv-1"]
    write_notebook(
        tmp_path / "notebooks/01_one.ipynb",
        "# 1 One",
        "## qkv-1: soft",
        ("✗ qkv-1 fails. Measured: 8", "<p>✗</p>"),
        "## What else\n\nqkv-2 is not on trial here.",
        ("✓ qkv-2 holds. Measured: 9", "<p>✓</p>"),
    )
    changed = small_book()
    assert list(changed) == ["qkv-1"]
    assert "✗ fails" in changed["qkv-1"]
    assert "Measured: 8. " in changed["qkv-1"]
    assert "✗ 1 fails" in words(soup(tmp_path / "out/index.html").select_one(".tally"))
    write_notebook(
        tmp_path / "notebooks/00_start_here.ipynb",
        "# Start",
        TABLE + row_of("01_one", "1 One") + row_of("02_two", "2 Two"),
    )
    write_notebook(
        tmp_path / "notebooks/02_two.ipynb",
        "# 2 Two",
        "## qkv-2: maps",
        ("≈ qkv-2 holds, with a limit. Measured: 9", "<p>≈</p>"),
    )
    assert list(small_book()) == ["qkv-1", "qkv-2"]
    assert "2 Two" in words(soup(tmp_path / "out/index.html").select_one(".chapter-cards"))


def shown(page):
    return page.locator(".trial-row:visible").evaluate_all("rows => rows.map((row) => row.id)")


def wanted(signs="✓≈✗", notes="ABC"):
    return [
        claim
        for _, claim, outcome, _ in stored_verdicts()
        if outcome[0] in signs and set(notes) & set(CLAIMS[claim]["notes"].split())
    ]


@pytest.fixture
def open_site(chromium, address):
    """A function that opens a page of the site, and closes it after the test."""
    opened = []

    def start(path, width=1280, height=800, **options):
        page = chromium.new_page(viewport={"width": width, "height": height}, **options)
        opened.append(page)
        page.goto(address + path, wait_until="networkidle")
        return page

    yield start
    for page in opened:
        page.close()


def test_the_filter_by_mouse(open_site):
    page = open_site("trial.html")
    assert shown(page) == wanted()
    count = page.locator(".trial-filter [role=status]")
    expect(count).to_have_text(f"{len(wanted())} of {len(wanted())} statements")
    page.get_by_label("fails").check()
    assert shown(page) == wanted("✗")
    page.get_by_label("holds, with a limit").check()
    assert shown(page) == wanted("≈✗")
    page.get_by_role("group", name="Note").get_by_label("A").check()
    assert shown(page) == wanted("≈✗", "A")
    expect(count).to_have_text(f"{len(wanted('≈✗', 'A'))} of {len(wanted())} statements")
    assert page.url.endswith("trial.html?verdict=limit&verdict=fails&note=A")
    for chapter in page.locator(".trial-chapter").all():
        assert chapter.is_visible() == (chapter.locator(".trial-row:visible").count() > 0)
    page.get_by_role("button", name="Show all").click()
    expect(count).to_have_text(f"{len(wanted())} of {len(wanted())} statements")
    assert shown(page) == wanted()
    assert page.url.endswith("trial.html")


def test_the_filter_by_keyboard(open_site):
    page = open_site("trial.html", width=390, height=844)
    page.locator(".tally a").last.focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    assert shown(page) == wanted("✓")
    for _ in range(4):
        page.keyboard.press("Tab")
    page.keyboard.press("Space")
    assert shown(page) == wanted("✓", "B")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    assert page.locator(":focus").inner_text() == "Show all"
    page.keyboard.press("Enter")
    expect(page.locator(".trial-row:visible")).to_have_count(len(wanted()))


@pytest.mark.parametrize(
    ("query", "signs", "notes"),
    [
        ("?verdict=fails", "✗", "ABC"),
        ("?note=B&note=C&verdict=holds", "✓", "BC"),
        ("?verdict=%3Cimg%20src%3Dx%3E&note=Z&other=1", "✓≈✗", "ABC"),
    ],
)
def test_a_filtered_list_can_be_linked(open_site, query, signs, notes):
    page = open_site(f"trial.html{query}#pos-5")
    assert shown(page) == wanted(signs, notes)
    assert page.url.endswith("#pos-5")


def test_the_tally_leads_to_the_list_of_its_verdict(open_site):
    page = open_site("index.html")
    page.locator(".tally a", has_text="fail").click()
    page.wait_for_url("**/trial.html?verdict=fails")
    expect(page.locator(".trial-row:visible")).to_have_count(len(wanted("✗")))


def test_without_javascript_everything_is_listed_and_the_filter_is_not_there(open_site):
    page = open_site("trial.html?verdict=fails", java_script_enabled=False)
    assert page.locator(".trial-row:visible").count() == len(wanted())
    assert not page.locator(".trial-filter").is_visible()


@pytest.mark.parametrize(("width", "height"), [(1280, 800), (390, 844)])
def test_the_first_screen_leads_on_and_has_something_to_play_with(open_site, width, height):
    page = open_site("index.html", width, height)
    links = page.locator(".begin a")
    assert [link.get_attribute("href") for link in links.all()] == [
        "notebooks/00_start_here.html",
        f"notebooks/{CHAPTERS[0].stem}.html",
    ]
    explorer = page.locator("[data-explorer=attention]")
    for seen in (*links.all(), *explorer.locator("label:has([type=radio])").all(), explorer.locator("svg").first):
        box = seen.bounding_box()
        assert box["y"] + box["height"] <= height
    sentence = explorer.locator("[aria-live]")
    before = sentence.inner_text()
    explorer.locator("label:has([type=radio]:not(:checked))").first.click()
    expect(sentence).not_to_have_text(before)


@pytest.mark.parametrize("path", ["index.html", "trial.html", "trial.html?verdict=fails"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_on_a_small_phone(open_site, path, scheme):
    page = open_site(path, width=360, color_scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert Axe().run(page, options={"resultTypes": ["violations"], "preload": False}).response["violations"] == []
