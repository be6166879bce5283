"""The chapters as the notebooks hold them: what each builds, and the verdicts and explorers in its stored outputs."""

import json
import re
from dataclasses import dataclass
from pathlib import Path

from attention_live.trial import Verdict

FRONT = "00_start_here"
ROW = re.compile(r"^\| \[(.+)\]\((?:\S+/)?(\w+)\.(?:html|ipynb)\) \| (.+) \| .+ \| (\d+) min \|$", re.MULTILINE)
CLAIM = re.compile(r"^##+ (?:([a-z]+-\d+): )?", re.MULTILINE)
EXPLORER = re.compile(r'<div class="explorer" data-explorer="(\w+)"')


@dataclass(frozen=True)
class Chapter:
    """One row of the chapters' table in the first notebook, and what the chapter's own notebook found."""

    docname: str
    title: str
    builds: str
    minutes: int
    verdicts: tuple[Verdict, ...]


def notebook_paths(folder: Path) -> list[Path]:
    """The notebooks in their order."""
    return sorted(Path(folder).glob("[0-9][0-9]_*.ipynb"))


def read_chapters(folder: Path) -> list[Chapter]:
    """The chapters that the table in the first notebook lists, in its order."""
    table = "\n".join(source for kind, source, _ in read_cells(Path(folder) / f"{FRONT}.ipynb") if kind == "markdown")
    return [
        Chapter(f"notebooks/{stem}", title, builds, int(minutes), tuple(read_verdicts(Path(folder) / f"{stem}.ipynb")))
        for title, stem, builds, minutes in ROW.findall(table)
    ]


def read_verdicts(path: Path) -> list[Verdict]:
    """The verdicts in the stored outputs of a notebook, each under the heading that carries its claim's id.

    A verdict elsewhere, such as the foretaste on the first pages, is a show of how it looks, and is left out.
    """
    claim, verdicts = None, []
    for kind, source, outputs in read_cells(path):
        if kind == "markdown":
            for heading in CLAIM.finditer(source):
                claim = heading[1]
        for output in outputs:
            found = Verdict.read("".join(output.get("data", {}).get("text/plain", [])))
            if found and found.claim == claim:
                verdicts.append(found)
    return verdicts


def read_explorer(folder: Path, name: str) -> str:
    """The HTML of the first explorer of this name among the notebooks' stored outputs."""
    for path in notebook_paths(folder):
        for _, _, outputs in read_cells(path):
            for output in outputs:
                html = "".join(output.get("data", {}).get("text/html", []))
                if (found := EXPLORER.match(html)) and found[1] == name:
                    return html
    raise LookupError(f"no notebook in {folder} shows the explorer {name!r}")


def read_cells(path: Path) -> list[tuple[str, str, list]]:
    """The cells of a notebook as (type, source, outputs)."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [(cell["cell_type"], "".join(cell["source"]), cell.get("outputs", [])) for cell in cells]
