"""The scripts that the Makefile calls."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
import yaml
from nbformat.v4 import new_code_cell, new_notebook

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))
import run_notebooks  # noqa: E402
import set_repository  # noqa: E402

FIGURE = """
import matplotlib.pyplot as plt, torch
torch.manual_seed(0)
fig, ax = plt.subplots()
ax.plot(torch.randn(9))
plt.show()
"""
BAR = "from tqdm import tqdm\nfor _ in tqdm(range(3), leave=False): print(_)"
EXPLORER = "from attention_live.explorers import AttentionExplorer\nAttentionExplorer()"
CHECK = "from attention_live.checks import start_here as check\ncheck.shares(1)"


def notebook(path, *sources):
    nbformat.write(
        new_notebook(cells=[new_code_cell(source, id=f"cell-{i}") for i, source in enumerate(sources)]), path
    )
    return path


def test_running_twice_gives_the_same_bytes(tmp_path, monkeypatch):
    monkeypatch.setattr(run_notebooks, "NOTEBOOKS", tmp_path)
    path = notebook(tmp_path / "01_a.ipynb", FIGURE, BAR, EXPLORER, CHECK)
    run_notebooks.main("01")
    first = path.read_bytes()
    assert first.count(b"image/png") == 1
    assert b"data-explorer" in first
    assert b"widget" not in first
    assert b"it/s" not in first
    run_notebooks.main()
    assert path.read_bytes() == first


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        ("object()", "0x"),
        ("import sys; print('careful', file=sys.stderr)", "careful"),
        ("import warnings; warnings.warn('mind this')", "mind this"),
    ],
)
def test_what_a_reader_should_not_see_is_refused(source, complaint, tmp_path, monkeypatch):
    monkeypatch.setattr(run_notebooks, "NOTEBOOKS", tmp_path)
    path = notebook(tmp_path / "01_a.ipynb", "1 + 1", source)
    before = path.read_bytes()
    with pytest.raises(SystemExit, match=complaint):
        run_notebooks.main()
    assert path.read_bytes() == before


def test_a_chapter_that_is_not_there_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(run_notebooks, "NOTEBOOKS", tmp_path)
    with pytest.raises(SystemExit, match="'77'"):
        run_notebooks.main("77")


ADDRESS = "https://github.com/Some-One/another.book"


@pytest.fixture
def copy(tmp_path):
    """A copy of the files that hold the repository's address."""
    for path in set_repository.files(ROOT):
        target = tmp_path / path.relative_to(ROOT)
        target.parent.mkdir(exist_ok=True)
        shutil.copy(path, target)
    return tmp_path


def everything(folder):
    return {path.name: path.read_text(encoding="utf-8") for path in set_repository.files(folder)}


def test_the_address_moves_everywhere_and_back(copy):
    start, in_use = everything(copy), set_repository.address_in_use(copy)
    set_repository.main("", copy)
    without = everything(copy)
    set_repository.main(ADDRESS, copy)
    first = everything(copy)
    assert set_repository.address_in_use(copy) == ADDRESS
    set_repository.main("https://github.com/someone/else", copy)
    assert not [name for name, text in everything(copy).items() if "another.book" in text or "some-one" in text.lower()]
    set_repository.main(ADDRESS, copy)
    assert everything(copy) == first
    set_repository.main("", copy)
    assert everything(copy) == without
    set_repository.main(in_use, copy)
    assert everything(copy) == start


def test_with_an_address_every_place_has_it(copy):
    set_repository.main(f"{ADDRESS}.git", copy)
    texts = everything(copy)
    front = texts["00_start_here.ipynb"]
    assert "](https://some-one.github.io/another.book/notebooks/02_queries_keys_values.html)" in front
    assert "(https://colab.research.google.com/github/Some-One/another.book/blob/main/notebooks/00_start_here" in front
    assert f'REPOSITORY = \\"{ADDRESS}\\"' in front
    assert f"a copy of [the repository]({ADDRESS})" in front
    assert f"pip install git+{ADDRESS}`" in texts["README.md"]
    assert "https://some-one.github.io/another.book/" in texts["README.md"]
    assert yaml.safe_load(texts["CITATION.cff"])["repository-code"] == ADDRESS
    assert '  baseurl: "https://some-one.github.io/another.book/"' in texts["_config.yml"]
    assert not [name for name, text in texts.items() if "no public address yet" in text]


def test_without_an_address_no_place_points_at_somebody_else_s(copy):
    set_repository.main(ADDRESS, copy)
    set_repository.main("", copy)
    for name, text in everything(copy).items():
        assert "Some-One" not in text
        assert ("no public address yet" in text) == (name not in ("_config.yml", "CITATION.cff")), name
        assert not re.search(r"colab\.research\.google\.com/github|github\.io/\S*/notebooks/", text), name


def test_a_link_that_was_written_by_the_file_s_name_gets_the_address_that_is_in_use(copy):
    set_repository.main(ADDRESS, copy)
    path = copy / "notebooks" / "00_start_here.ipynb"
    before = path.read_text(encoding="utf-8")
    by_name = before.replace("](https://some-one.github.io/another.book/notebooks/06_masks.html)", "](06_masks.ipynb)")
    path.write_text(by_name, encoding="utf-8")
    set_repository.main(ADDRESS, copy)
    assert by_name != before == path.read_text(encoding="utf-8")


def test_the_site_of_an_account_is_at_its_host_s_root():
    assert set_repository.site_address("https://github.com/Me/book") == "https://me.github.io/book/"
    assert set_repository.site_address("https://github.com/Me/me.github.io") == "https://me.github.io/"


@pytest.mark.parametrize(
    "url", ["github.com/a/b", "https://gitlab.com/a/b", "https://github.com/a", "https://github.com/a/b c", "none"]
)
def test_a_wrong_address_changes_nothing(url, copy):
    before = everything(copy)
    with pytest.raises(SystemExit, match="must read https://github"):
        set_repository.main(url, copy)
    assert everything(copy) == before


def test_forgetting_the_address_is_not_taking_it_away():
    script = subprocess.run([sys.executable, "tools/set_repository.py"], cwd=ROOT, capture_output=True, text=True)
    assert script.returncode == 1
    assert (
        script.stderr == "say which address: make set-repository URL=https://github.com/OWNER/NAME, or URL= for none\n"
    )


@pytest.mark.parametrize(
    ("given", "passed"), [([], ""), (["URL="], ' ""'), ([f"URL={ADDRESS}"], f' "{ADDRESS}"')], ids=["no", "empty", "an"]
)
def test_make_hands_the_address_on(given, passed):
    command = ["make", "--no-print-directory", "--dry-run", "--assume-old=.venv/.ready", "set-repository", *given]
    shown = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert shown.splitlines()[-1].rstrip() == f".venv/bin/python tools/set_repository.py{passed}"


def test_the_notebooks_keep_the_rules_with_and_without_an_address(copy):
    for name in ("tests/test_notebooks.py", "tools/set_repository.py", "CONTRIBUTING.md", "book/_toc.yml"):
        (copy / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, copy / name)
    for url in ("", ADDRESS):
        set_repository.main(url, copy)
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--rootdir={copy}", "tests"]
        rules = subprocess.run(command, cwd=copy, capture_output=True, text=True)
        assert rules.returncode == 0, rules.stdout


def test_make_lists_its_commands():
    command = ["make", "--no-print-directory", "help"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for command in ("book", "build", "zip", "test", "lab", "execute", "exercises", "lint", "set-repository", "clean"):
        assert f"\n{command} " in "\n" + listed
    assert all(re.match(r"[a-z-]+ +$", line[:18]) and line[18] != " " for line in listed.splitlines()), "in two columns"
