"""The reference part: notation, glossary, bibliography, how to cite; and Chinese that says that it is Chinese."""

import json
import re
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from pybtex.database import parse_file

pytest_plugins = ["browser", "built_site"]

ROOT = Path(__file__).parents[1]
BOOK = ROOT / "book"
sys.path.insert(0, str(BOOK / "_extensions"))
from book_cite import FORMS, cite  # noqa: E402
from book_search import CHINESE  # noqa: E402

CHAPTERS = {
    path: "\n".join("".join(cell["source"]) for cell in json.loads(path.read_text("utf-8"))["cells"])
    for path in sorted((ROOT / "notebooks").glob("*.ipynb"))
}
EXAMPLES = {"我爱你", "你爱我"}  # sentences that chapter 5 compares, and no terms
PAPER = re.compile(r"https://(?:arxiv\.org|doi\.org|proceedings\.mlr\.press)/[^\s)\"]+")


@pytest.fixture(scope="module")
def entries():
    """The glossary's entries as lists of names."""
    text = (BOOK / "glossary.md").read_text("utf-8")
    blocks = re.findall(r"^```\{glossary\}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [
        re.match(r"(?:\S.*\n)+", entry)[0].splitlines() for block in blocks for entry in block.strip().split("\n\n")
    ]


def test_the_glossary_has_every_chinese_term_of_the_chapters(entries):
    terms = {term for text in CHAPTERS.values() for term in CHINESE.findall(text)} - EXAMPLES
    assert len(terms) > 30
    assert not terms - {name for names in entries for name in names}


def test_the_glossary_is_in_order_and_names_nothing_twice(entries):
    first = [names[0].lower() for names in entries]
    assert first == sorted(first)
    names = [name for names in entries for name in names]
    assert len(names) == len(set(names))
    letters = re.findall(r"^## (.)$", (BOOK / "glossary.md").read_text("utf-8"), re.MULTILINE)
    assert letters == sorted({name[0].upper() for name in first})


def test_each_term_is_explained_in_a_chapter_or_left_to_a_later_part(entries):
    explanations = re.findall(r"^(?:  \S.*\n)+", (BOOK / "glossary.md").read_text("utf-8"), re.MULTILINE)
    assert len(explanations) == len(entries)
    for names, explanation in zip(entries, explanations, strict=True):
        assert "(notebooks/" in explanation or explanation.split()[-3:] == ["*A", "later", "part.*"], names[0]


def test_the_notation_names_what_the_package_has():
    import attention_live.attention
    import attention_live.masks
    import attention_live.positional

    modules = (attention_live.attention, attention_live.masks, attention_live.positional)
    sources = "\n".join(Path(module.__file__).read_text("utf-8") for module in modules)
    tables = re.findall(r"\n\n(\| .*?\n)\n", (BOOK / "notation.md").read_text("utf-8") + "\n", re.DOTALL)
    named = []
    for table in tables:
        head, _, *rows = ([cell.strip() for cell in re.split(r"(?<!\\)\|", row)[1:-1]] for row in table.splitlines())
        assert all(len(row) == len(head) for row in rows)
        if "in our code" in head:
            named += [name for row in rows for name in re.findall(r"`(\w+)`", row[head.index("in our code")])]
    assert len(named) > 15
    assert not [name for name in named if not re.search(rf"\b{name}\b", sources)]


def test_the_notation_has_every_letter_of_the_chapters_tables():
    page = (BOOK / "notation.md").read_text("utf-8")
    known = set(re.findall(r"[\w$\\]+", "\n".join(re.findall(r"^\| (.*?) \|", page, re.MULTILINE))))
    for path, text in CHAPTERS.items():
        for table in re.findall(r"^\| letter \|.*\n\|[-| ]+\n((?:\|.*\n)+)", text + "\n", re.MULTILINE):
            for letters in re.findall(r"^\| (.*?) \|", table, re.MULTILINE):
                for letter in re.findall(r"[\w$\\]+", letters.replace("in shapes", "")):
                    assert letter in known, f"{path.name}: {letter}"


@pytest.fixture(scope="module")
def bibliography():
    """The entries of references.bib by the address that leads to each."""
    found = {}
    for entry in parse_file(BOOK / "references.bib", "bibtex").entries.values():
        fields = entry.fields
        found[fields["url"] if "url" in fields else f"https://arxiv.org/abs/{fields['eprint']}"] = entry
    return found


def test_the_bibliography_has_every_paper_of_the_chapters_and_no_other(bibliography):
    linked = {address for text in CHAPTERS.values() for address in PAPER.findall(text)}
    assert linked == set(bibliography)


def test_chapters_and_bibliography_agree_on_titles_years_and_authors(bibliography):
    for path, text in CHAPTERS.items():
        further = text[text.find("**Further reading.**") :].split("\n")[0]
        cited = re.findall(r"([\w ]+?)(?: et al\.| and [\w ]+)?, \[([^]]+)\]\(([^)]+)\) \((\d{4})\)", further)
        assert len(cited) == len(PAPER.findall(further)), path.name
        for author, title, address, year in cited:
            entry = bibliography[address]
            assert entry.fields["year"] == year, title
            assert entry.fields["title"].strip("{}").lower().startswith(title.lower())
            assert author.split()[-1] in str(entry.persons["author"][0]), title


def test_each_paper_says_which_chapters_use_it(site, bibliography):
    page = (site / "bibliography.html").read_text("utf-8")
    items = re.findall(r'<li id="\w+">(.*?)</li>', page, re.DOTALL)
    assert len(items) == len(bibliography)
    for item in items:
        (address,) = set(re.findall(r'href="(https:[^"]+)"', item))
        used = [f"notebooks/{path.stem}.html" for path, text in CHAPTERS.items() if address in PAPER.findall(text)]
        assert re.findall(r'href="(notebooks/[^"]+)"', item) == used


def test_citations_agree_with_the_project(site):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    file = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    settings = yaml.safe_load((BOOK / "_config.yml").read_text("utf-8"))
    assert file["cff-version"] == "1.2.0"
    assert file["message"]
    assert file["title"] == settings["title"]
    assert file["version"] == project["version"]
    assert [author["name"].lower() for author in file["authors"]] == [settings["author"].lower()]
    assert " AND ".join(file["license"]) == project["license"]
    page = re.sub(r"<[^>]+>", "", (site / "cite.html").read_text("utf-8"))
    assert f"version = {{{project['version']}}}" in page
    assert f"(2026). {settings['title']}, version {project['version']}." in page


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("address", ["", "https://github.com/me/book"])
def test_a_citation_has_the_address_if_there_is_one(form, address):
    settings = SimpleNamespace(
        author="the authors",
        html_title="A, B",
        copyright="2031. Free",
        html_theme_options={"repository_url": address},
    )
    text = cite(form, settings)
    assert "The authors" in text
    assert "A, B" in text
    assert "2031" in text
    assert ("http" in text) == bool(address)
    assert address in text


def test_chinese_says_that_it_is_chinese(chromium, address, pages):
    unsaid = """() => {
      const texts = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
      const found = [];
      for (let text; (text = texts.nextNode()); )
        if (/\\p{Script=Han}/u.test(text.data) && !text.parentElement.closest("[lang|=zh]")) found.push(text.data);
      return found;
    }"""
    page = chromium.new_page()
    for path in pages:
        page.goto(address + path)
        assert not page.evaluate(unsaid), path
    page.close()
