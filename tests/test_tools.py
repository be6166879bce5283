"""The scripts that the Makefile calls."""

import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))
import run_notebooks  # noqa: E402
import set_address  # noqa: E402

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


@pytest.fixture
def copy(tmp_path, monkeypatch):
    """A copy of the files that hold the repository's address."""
    for name in ("README.md", "CONTRIBUTING.md", "book/_config.yml"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    shutil.copytree(ROOT / "notebooks", tmp_path / "notebooks", ignore=shutil.ignore_patterns(".*"))
    monkeypatch.setattr(set_address, "ROOT", tmp_path)
    monkeypatch.setattr(set_address, "CONFIG", tmp_path / "book" / "_config.yml")
    return tmp_path


def everything(folder):
    return {path: path.read_text(encoding="utf-8") for path in sorted(folder.rglob("*")) if path.is_file()}


def test_the_address_moves_everywhere_and_back(copy):
    before = everything(copy)
    old = set_address.ADDRESS.search(before[copy / "book" / "_config.yml"])[0]
    set_address.main("https://github.com/Some-One/another.book/")
    moved = everything(copy)
    assert not [path for path, text in moved.items() if old in text]
    front = moved[copy / "notebooks" / "00_start_here.ipynb"]
    assert "https://some-one.github.io/another.book/notebooks/02" in front
    assert "https://colab.research.google.com/github/Some-One/another.book/blob" in front
    assert "git+https://github.com/Some-One/another.book\\n" in front
    set_address.main(old)
    assert everything(copy) == before


@pytest.mark.parametrize("url", ["", "github.com/a/b", "https://gitlab.com/a/b", "https://github.com/a"])
def test_a_wrong_address_changes_nothing(url, copy):
    before = everything(copy)
    with pytest.raises(SystemExit, match="must read https://github"):
        set_address.main(url)
    assert everything(copy) == before


def test_make_lists_its_commands():
    listed = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for command in ("book", "build", "test", "lab", "execute", "lint", "address", "clean"):
        assert f"\n{command} " in "\n" + listed
