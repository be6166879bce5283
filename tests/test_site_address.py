"""The site with and without a public address: its buttons, and what leads to the repository."""

import re
import shutil
import sys
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urlsplit

import pytest

pytest_plugins = ["browser", "built_site"]

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tools"))
import set_repository  # noqa: E402

REPOSITORY = "https://github.com/Some-One/another.book"
SITE = "https://some-one.github.io/another.book/"
NOTEBOOKS = sorted(path.name for path in (ROOT / "notebooks").glob("*.ipynb"))


@dataclass
class Built:
    """A built site, and the repository's address that it was built with."""

    folder: Path
    repository: str


@pytest.fixture(scope="module", params=["", REPOSITORY], ids=["without an address", "with one"])
def built(request, site, build_site, tmp_path_factory):
    """The site in either state: as the working tree has it, or else built from a copy that was given the other."""
    if request.param == set_repository.address_in_use(ROOT):
        return Built(site, request.param)
    project = tmp_path_factory.mktemp("site") / "project"
    shutil.copytree(site.parents[2], project, symlinks=True, ignore=shutil.ignore_patterns("_build", "log"))
    for path in set_repository.files(ROOT):
        shutil.copy(path, project / path.relative_to(ROOT))
    set_repository.main(request.param, project)
    return Built(build_site(project), request.param)


class Page(HTMLParser):
    """A page's links, as a reader can follow them, and its canonical address."""

    def __init__(self, path):
        super().__init__()
        self.links, self.canonical = [], None
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        if tag == "a" and attrs.get("href"):
            self.links.append(attrs["href"])
        elif tag == "link" and attrs.get("rel") == "canonical":
            self.canonical = attrs["href"]

    def to(self, *hosts):
        """The links to these hosts."""
        return [link for link in self.links if urlsplit(link).netloc in hosts]


@pytest.fixture(scope="module")
def read(built):
    """Every page of the site by its path."""
    paths = [path for path in built.folder.rglob("*.html") if "_static" not in path.parts]
    return {path.relative_to(built.folder).as_posix(): Page(path) for path in paths}


def test_launch_buttons_stand_on_every_chapter_and_nowhere_else(built, read):
    for name, page in read.items():
        notebook = f"notebooks/{Path(name).stem}.ipynb"
        expected = set()
        if built.repository and name.startswith("notebooks/"):
            expected = {
                f"https://colab.research.google.com/github/Some-One/another.book/blob/main/{notebook}",
                f"https://mybinder.org/v2/gh/Some-One/another.book/main?urlpath=lab/tree/{notebook}",
            }
        assert set(page.to("colab.research.google.com", "mybinder.org")) == expected, name
    assert {f"notebooks/{name.replace('.ipynb', '.html')}" for name in NOTEBOOKS} <= set(read)


def test_every_page_leads_to_the_repository_and_its_issues_if_there_is_one(built, read):
    for name, page in read.items():
        if name == "search.html":
            continue
        own = [link for link in page.to("github.com") if "/another.book" in link or "/issues" in link]
        if built.repository:
            assert REPOSITORY in own, name
            assert any(link.startswith(f"{REPOSITORY}/issues/new") for link in own), name
        else:
            assert own == [], name


def test_pages_are_canonical_at_the_site_s_address_and_link_to_each_other_without_it(built, read):
    for name, page in read.items():
        assert page.canonical == (SITE + name if built.repository else None), name
        assert page.to(urlsplit(SITE).netloc) == [], name
    chapters = [link for link in read["notebooks/00_start_here.html"].links if re.match(r"\d\d_\w+\.html", link)]
    assert {f"{Path(name).stem}.html" for name in NOTEBOOKS[1:]} <= set(chapters)


def test_a_chapter_can_be_downloaded_and_says_when_it_has_no_address(built, read):
    for name in NOTEBOOKS:
        path = f"notebooks/{Path(name).stem}.html"
        assert any(link.endswith(f"_sources/notebooks/{name}") for link in read[path].links)
        text = (built.folder / path).read_text(encoding="utf-8")
        assert ("no public address yet, so Colab and Binder cannot open it" in text) == (not built.repository)


def test_the_buttons_fit_a_phone_and_are_reached_by_keyboard(built, chromium, serve):
    page = chromium.new_page(viewport={"width": 360, "height": 640})
    page.goto(f"{serve(built.folder)}/notebooks/02_queries_keys_values.html", wait_until="networkidle")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    bar = page.locator(".article-header-buttons")
    expected = ["Colab", "Binder", "Notebook"] if built.repository else ["Notebook"]
    for name in expected:
        button = bar.get_by_role("link", name=name)
        button.focus()
        assert page.evaluate("document.activeElement.innerText").strip() == name
        box = button.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 360
    assert bar.get_by_role("link", name="Colab").count() == bool(built.repository)
    page.close()
