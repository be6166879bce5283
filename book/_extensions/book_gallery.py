"""The gallery: the directive `gallery` shows every explorer of the book on one page, as the chapters' outputs have it.

An explorer is shown once, as it stands where it first has a section of its own. What to try with it is the first
item of that section's first list, and a link leads there: nothing has to be written a second time. An explorer
without such a list is a warning (an error under `-W`).
"""

import re
from dataclasses import dataclass, field
from pathlib import Path

from chapters import EXPLORER, notebook_paths, read_cells
from docutils import nodes
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

logger = logging.getLogger(__name__)

HEADING = re.compile(r"^(#+) (.+)$", re.MULTILINE)
ITEM = re.compile(r"^- (.+(?:\n +.+)*)", re.MULTILINE)
STAGE = "gallery-stage"


@dataclass
class Section:
    """A section of a notebook: its title and level (1 is the page's), its text, and its explorers as (name, HTML)."""

    title: str
    level: int
    text: str = ""
    explorers: list[tuple[str, str]] = field(default_factory=list)


def read_sections(path):
    """The sections of the notebook at `path`, in their order. It begins with a heading."""
    sections = []
    for kind, source, outputs in read_cells(path):
        if kind == "markdown":
            for part in re.split(r"^(?=#+ )", source, flags=re.MULTILINE):
                if heading := HEADING.match(part):
                    sections.append(Section(heading[2], len(heading[1])))
                if part:
                    sections[-1].text += f"{part}\n"
        for output in outputs:
            html = "".join(output.get("data", {}).get("text/html", []))
            if found := EXPLORER.match(html):
                sections[-1].explorers.append((found[1], html))
    return sections


def read_gallery(folder):
    """For each explorer in the notebooks of `folder`, by name: (the notebook's path, its title, the section, HTML)."""
    shown = {}
    for path in notebook_paths(folder):
        sections = read_sections(path)
        for section in sections:
            for name, html in section.explorers:
                if name not in shown or shown[name][2].level == 1 < section.level:
                    shown[name] = path, sections[0].title, section, html
    return shown


class Gallery(SphinxDirective):
    """Show every explorer of the notebooks: a section each, with what to try and where it is from."""

    def run(self):
        """Return the sections."""
        folder = Path(self.env.srcdir, "notebooks")
        for path in (folder, *notebook_paths(folder)):
            self.env.note_dependency(str(path))
        return [self.section(name, *found) for name, found in read_gallery(folder).items()]

    def section(self, name, path, chapter, place, html):
        """The section of an explorer. Its id is the explorer's name, as in the addresses of its settings."""
        items = ITEM.findall(place.text)
        if not items:
            rule = "the section of an explorer must have a list of what to try, and this has none"
            logger.warning("%s: %s", rule, place.title, location=f"notebooks/{path.stem}")
        title = name.replace("_", " ").capitalize()
        link = f"From [{chapter}](/notebooks/{path.name}#{nodes.make_id(place.title)})"
        head = nodes.container(classes=["gallery-head"])
        for text, kind in (("".join(items[:1]), "gallery-try"), (link, "gallery-place")):
            head += nodes.container("", *self.parse_text_to_nodes(text), classes=[kind])
        stage = nodes.container("", head, nodes.raw("", html, format="html"), classes=[STAGE])
        return nodes.section("", nodes.title("", title), stage, ids=[name], names=[nodes.fully_normalize_name(title)])


def add_script(app, pagename, templatename, context, doctree):
    """Load the gallery's script, after the one that brings explorers to life, on the page that has a gallery."""
    if doctree and any(STAGE in node["classes"] for node in doctree.findall(nodes.container)):
        app.add_js_file("gallery.mjs", type="module", priority=900)


def setup(app):
    """Register with Sphinx."""
    app.add_directive("gallery", Gallery)
    app.connect("html-page-context", add_script)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
