"""Write reader's copies of the notebooks: without outputs and without solutions. The hints stay.

    python tools/copy_exercises.py FOLDER

Nothing is overwritten: if one of the copies exists in FOLDER already, none is written.
"""

import os
import sys
from pathlib import Path

import nbformat

NOTEBOOKS = Path(__file__).resolve().parent.parent / "notebooks"
SOLUTION = "<details><summary>Solution"


def reader_copy(path: Path) -> str:
    """The text of the notebook at `path`, without the outputs and the cells that hold a solution."""
    notebook = nbformat.read(path, as_version=4)
    notebook.cells = [cell for cell in notebook.cells if not cell.source.startswith(SOLUTION)]
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    return nbformat.writes(notebook) + "\n"


def main(folder: str = "") -> None:
    """Write a copy of every notebook into `folder`, all of them or, where one exists already or fails, none."""
    if not folder:
        raise SystemExit("say where the copies are to be written: make exercises FOLDER=…")
    target = Path(folder).expanduser()
    copies = {target / path.name: reader_copy(path) for path in sorted(NOTEBOOKS.glob("*.ipynb"))}
    written = []
    try:
        target.mkdir(parents=True, exist_ok=True)
        if there := [path.name for path in copies if os.path.lexists(path)]:
            raise FileExistsError(f"nothing is overwritten, and {target} has {', '.join(there)}: choose another folder")
        for path, text in copies.items():
            with path.open("x", encoding="utf-8") as file:
                written.append(path)
                file.write(text)
    except OSError as error:
        for path in written:
            path.unlink()
        raise SystemExit(f"no copy was written: {error}") from None
    print(f"{len(copies)} notebooks written to {target}")


if __name__ == "__main__":
    main(*sys.argv[1:])
