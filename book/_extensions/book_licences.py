"""The licences of what the site serves and others made lie beside it, in `_static/licences`.

`PROJECTS` says who made which file. A text comes from the installed package where that has it, else from the folder
`licences` beside this file. A served file that neither the book nor a project claims is a warning (an error under
`-W`), and a project of whose files none is served is left out.
"""

import shutil
from dataclasses import dataclass
from fnmatch import fnmatch
from importlib.metadata import distribution
from pathlib import Path

from sphinx.util import logging

logger = logging.getLogger(__name__)

HERE = Path(__file__).parent
FOLDER = "licences"
SHEET, SCRIPT = "site.css", "site.js"  # in which book_assets joins what several projects made


@dataclass(frozen=True)
class Project:
    """Somebody's work that the site serves: its name, its licence, where the licence's text is, and which files."""

    name: str
    licence: str
    text: str | Path  # the name of an installed package that has the text, or a file
    files: tuple[str, ...]  # patterns of paths below _static


PROJECTS = (
    Project("KaTeX", "MIT", HERE / "katex/LICENSE", ("katex/*.css", "katex/*.mjs")),
    Project("KaTeX fonts", "OFL-1.1", HERE / "licences/katex-fonts.txt", ("katex/fonts/*",)),
    Project("Source Serif 4", "OFL-1.1", HERE.parent / "_static/fonts/OFL.txt", ("fonts/source-serif-4-*",)),
    Project("Sphinx Book Theme", "BSD-3-Clause", "sphinx-book-theme", (SHEET, SCRIPT, "images/*")),
    Project("PyData Sphinx Theme", "BSD-3-Clause", "pydata-sphinx-theme", (SHEET, SCRIPT)),
    Project("Bootstrap", "MIT", HERE / "licences/bootstrap.txt", (SHEET,)),
    Project(
        "Font Awesome Free",
        "icons CC-BY-4.0, fonts OFL-1.1, code MIT",
        HERE / "licences/font-awesome.txt",
        (SHEET,),
    ),
    Project(
        "Sphinx",
        "BSD-2-Clause",
        "sphinx",
        (SHEET, SCRIPT, "file.png", "language_data.js", "searchtools.js"),
    ),
    Project("Accessible Pygments", "BSD-3-Clause", "accessible-pygments", (SHEET,)),
    Project("MyST-NB", "BSD-3-Clause", "myst-nb", (SHEET,)),
    Project("sphinx-copybutton", "MIT", "sphinx-copybutton", (SHEET, SCRIPT)),
    Project("clipboard.js", "MIT", HERE / "licences/clipboard.txt", (SCRIPT,)),
    Project("Tabler Icons", "MIT", HERE / "licences/tabler-icons.txt", ("copy-button.svg", "check-solid.svg")),
)


def licence_text(project):
    """The file with the text of a project's licence."""
    if isinstance(project.text, Path):
        return project.text
    package = distribution(project.text)
    return next(Path(file.locate()) for file in package.files if file.name.startswith("LICENSE"))


def own_files(app):
    """The book's own files, as paths below `_static`."""
    folders = [Path(app.confdir, folder) for folder in app.config.html_static_path]
    return {path.relative_to(folder).as_posix() for folder in folders for path in folder.rglob("*") if path.is_file()}


def add_licences(app, exception):
    """Write the texts, and `LICENCES.txt`, which says what is whose."""
    if exception or app.builder.format != "html":
        return
    static = Path(app.outdir, "_static")
    target = static / FOLDER
    shutil.rmtree(target, ignore_errors=True)
    served = {path.relative_to(static).as_posix() for path in static.rglob("*") if path.is_file()}
    unclaimed = served - own_files(app)
    listing = ["What this site serves that others made. Below a name, its licence and its files in the folder above."]
    target.mkdir()
    for project in PROJECTS:
        if files := sorted(path for path in served if any(fnmatch(path, pattern) for pattern in project.files)):
            unclaimed.difference_update(files)
            text = f"{project.name.replace(' ', '-')}.txt"
            shutil.copyfile(licence_text(project), target / text)
            paths = "\n".join(f"    {path}" for path in files)
            listing.append(f"{project.name}\n    {project.licence}: {text}\n{paths}")
    (target / "LICENCES.txt").write_text("\n\n".join(listing) + "\n", encoding="utf-8")
    for path in sorted(unclaimed):
        logger.warning("nobody knows the licence of _static/%s: name its project in book_licences.py", path)


def setup(app):
    """Register with Sphinx."""
    app.connect("build-finished", add_licences, priority=950)  # after book_assets
    return {"parallel_read_safe": True, "parallel_write_safe": True}
