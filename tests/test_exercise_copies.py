"""`make exercises`: copies of the notebooks for a class, without outputs and without solutions."""

import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from attention_live.checks import chapters, grade

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))
import copy_exercises  # noqa: E402

PATHS = sorted((ROOT / "notebooks").glob("*.ipynb"))

each_notebook = pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)


def make(*arguments):
    """Run `make exercises`, which sets nothing up: it takes this very Python."""
    command = ["make", "--silent", "--old-file=.venv/.ready", "exercises", f'PY="{sys.executable}"', *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The copies, as `make` writes them."""
    folder = tmp_path_factory.mktemp("class") / "to hand out"
    made = make(f"FOLDER={folder}")
    assert made.stdout == f"{len(PATHS)} notebooks written to {folder}\n"
    return folder


def test_every_notebook_is_copied(folder):
    assert sorted(path.name for path in folder.iterdir()) == [path.name for path in PATHS]


@each_notebook
def test_a_copy_is_the_notebook_without_outputs_and_solutions(path, folder):
    original, copy = nbformat.read(path, as_version=4), nbformat.read(folder / path.name, as_version=4)
    nbformat.validate(copy)
    assert copy.metadata == original.metadata
    assert not [cell for cell in copy.cells if cell.cell_type == "code" and (cell.outputs or cell.execution_count)]
    kept = [(cell.id, cell.cell_type, cell.source, cell.metadata) for cell in copy.cells]
    had = [(cell.id, cell.cell_type, cell.source, cell.metadata) for cell in original.cells]
    dropped = [entry for entry in had if entry not in kept]
    assert [entry for entry in had if entry in kept] == kept
    exercises = chapters()[path.stem.partition("_")[2]].exercises
    assert len(dropped) == len(exercises)
    assert all(source.startswith("<details><summary>Solution</summary>") for _, _, source, _ in dropped)
    assert sum(source.startswith("<details><summary>Hint") for _, _, source, _ in kept) >= len(exercises)


@each_notebook
def test_no_solution_is_in_any_copy(path, folder):
    everything = "\n".join(cell.source for copy in folder.iterdir() for cell in nbformat.read(copy, as_version=4).cells)
    lines = set(map(str.strip, everything.splitlines()))
    solutions = [cell.source for cell in nbformat.read(path, as_version=4).cells if "<summary>Solution" in cell.source]
    assert solutions
    for solution in solutions:
        [code] = re.findall(r"```python\n(.*?)```", solution, re.DOTALL)
        assert code.strip() not in everything
        assert set(map(str.strip, code.splitlines())) - lines, "each of its lines is somewhere"
    assert "Solution" not in everything


def test_a_copy_runs_and_is_graded_as_not_attempted(folder, tmp_path):
    """The shortest one; and the command for the teacher takes what is handed out."""
    notebook = next(found for found in grade.find(folder) if found.name.startswith("00"))
    grade.run(notebook, seconds=120, memory=4 * 10**9)
    assert (notebook.problem, notebook.errors, notebook.marks) == ("", [], {"0.1": ("○", "")})


@pytest.fixture
def small(tmp_path, monkeypatch):
    """Two notebooks instead of the book's."""
    source = tmp_path / "source"
    source.mkdir()
    for name in ("a.ipynb", "b.ipynb"):
        nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1 + 1")]), source / name)
    monkeypatch.setattr(copy_exercises, "NOTEBOOKS", source)
    return tmp_path / "target"


def test_nothing_is_overwritten_and_then_nothing_is_written(small):
    small.mkdir()
    (small / "b.ipynb").write_text("a student's work")
    with pytest.raises(SystemExit, match=r"no copy was written: nothing is overwritten, and .*target has b\.ipynb"):
        copy_exercises.main(str(small))
    assert [path.name for path in small.iterdir()] == ["b.ipynb"]
    assert (small / "b.ipynb").read_text() == "a student's work"


def test_not_through_a_link_either(small, tmp_path):
    small.mkdir()
    (small / "b.ipynb").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(SystemExit, match=r"has b\.ipynb"):
        copy_exercises.main(str(small))
    assert not (tmp_path / "elsewhere").exists()
    assert not (small / "a.ipynb").exists()


def test_what_fails_halfway_leaves_nothing(small, monkeypatch):
    """A file that appears between the look and the writing."""
    monkeypatch.setattr(copy_exercises.os.path, "lexists", lambda path: False)
    small.mkdir()
    (small / "b.ipynb").write_text("a student's work")
    with pytest.raises(SystemExit, match=r"no copy was written: .*File exists"):
        copy_exercises.main(str(small))
    assert [path.name for path in small.iterdir()] == ["b.ipynb"]
    assert (small / "b.ipynb").read_text() == "a student's work"


def test_other_files_in_the_folder_are_left_alone(small, capsys):
    small.mkdir()
    (small / "list.txt").write_text("names")
    copy_exercises.main(str(small))
    assert {path.name for path in small.iterdir()} == {"a.ipynb", "b.ipynb", "list.txt"}
    assert capsys.readouterr().out == f"2 notebooks written to {small}\n"


def test_a_folder_has_to_be_named():
    made = make()
    assert made.returncode != 0
    assert "make exercises FOLDER=…" in made.stderr
