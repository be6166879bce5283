"""The front page and the claims on trial: what they say of the chapters is read from the notebooks at each build.

Directives for the book's own pages, all without content:

- `{explorer} NAME`: the first explorer of this name in the notebooks, alive.
- `{chapters}`: the chapters as cards: what each builds, its minutes, and what came out of its trial.
- `{tally}`: how many claims were tried, and with what verdicts; each number leads to these claims.
- `{verdicts}`: every claim that was tried, by chapter, with a filter (trial.mjs); then those that wait.

A page that uses them is read again when a notebook or the list of claims changes. The cell that gives a verdict gets
the anchor `#qkv-1-cell`, so that the list can link to it.
"""

from collections import Counter
from pathlib import Path

from chapters import notebook_paths, read_chapters, read_explorer
from docutils import nodes
from sphinx.util.docutils import SphinxDirective

import attention_live
from attention_live.trial import CLAIMS, SIGNS, Verdict

CLAIMS_FILE = Path(attention_live.__file__).with_name("claims.toml")
TRIAL = "trial"  # the page with `{verdicts}`
KINDS = {Verdict("", outcome, "").kind: outcome for outcome in SIGNS}
COUNTED = {"holds": ("holds", "hold"), "limit": ("with a limit", "with a limit"), "fails": ("fails", "fail")}


class ReadsChapters(SphinxDirective):
    """What the directives share: the notebooks, and links to their pages."""

    @property
    def folder(self):
        """The folder of the notebooks. Who asks for it depends on them and on the list of claims from then on."""
        folder = Path(self.env.srcdir) / "notebooks"
        for path in (*notebook_paths(folder), CLAIMS_FILE):
            self.env.note_dependency(str(path))
        return folder

    def link(self, text, docname, rest="", classes=()):
        """A link to a page of the book."""
        address = self.env.app.builder.get_relative_uri(self.env.docname, docname) + rest
        return nodes.reference("", text, refuri=address, internal=True, classes=list(classes))

    def counts(self, verdicts):
        """For each kind of verdict that there is: its name, and how many of them in words."""
        counts = Counter(verdict.kind for verdict in verdicts)
        for kind, outcome in KINDS.items():
            if counts[kind]:
                yield kind, f"{SIGNS[outcome]} {counts[kind]} {COUNTED[kind][counts[kind] > 1]}"


class Explorer(ReadsChapters):
    """One explorer, as a notebook has stored it."""

    required_arguments = 1

    def run(self):
        """Its HTML."""
        return [nodes.raw("", read_explorer(self.folder, self.arguments[0]), format="html")]


class Tally(ReadsChapters):
    """How many claims were tried, and how many there are of each verdict."""

    def run(self):
        """A paragraph of links."""
        verdicts = [verdict for chapter in read_chapters(self.folder) for verdict in chapter.verdicts]
        tried = self.link(f"{len(verdicts)} of {len(CLAIMS)} statements tried", TRIAL)
        kinds = [self.link(text, TRIAL, f"?verdict={kind}", [kind]) for kind, text in self.counts(verdicts)]
        return [paragraph("tally", tried, *kinds)]


class Chapters(ReadsChapters):
    """The chapters as cards."""

    def run(self):
        """A list, one item a chapter."""
        cards = nodes.bullet_list(classes=["chapter-cards"])
        for chapter in read_chapters(self.folder):
            tried = self.link(f"{len(chapter.verdicts)} on trial:", TRIAL, f"#{anchor(chapter.title)}")
            kinds = [inline(kind, text) for kind, text in self.counts(chapter.verdicts)]
            cards += nodes.list_item(
                "",
                paragraph(
                    "name", self.link(chapter.title, chapter.docname), inline("minutes", f"{chapter.minutes} min")
                ),
                paragraph("builds", nodes.Text(f"You build {chapter.builds}.")),
                paragraph("facts", tried, *kinds),
            )
        return [cards]


class Verdicts(ReadsChapters):
    """Every claim with its verdict."""

    def run(self):
        """The filter, a section for each chapter, and one for what waits."""
        chapters = [chapter for chapter in read_chapters(self.folder) if chapter.verdicts]
        tried = {verdict.claim for chapter in chapters for verdict in chapter.verdicts}
        waiting = [claim for claim in CLAIMS if claim not in tried]
        parts = [nodes.raw("", self.filter(), format="html")]
        for chapter in chapters:
            part = section(self.link(chapter.title, chapter.docname), "trial-chapter")
            part += nodes.bullet_list("", *(self.row(chapter, verdict) for verdict in chapter.verdicts))
            parts.append(part)
        part = section(nodes.Text(f"Waiting: {len(waiting)} statements"), "trial-waiting")
        part += paragraph("", nodes.Text("They belong to the parts of the book that are still to come."))
        items = [
            paragraph("statement", inline("id", claim), nodes.Text(CLAIMS[claim]["statement"])) for claim in waiting
        ]
        part += nodes.bullet_list("", *(nodes.list_item("", item) for item in items))
        return [*parts, part]

    def row(self, chapter, verdict):
        """One claim that was tried."""
        claim, notes = verdict.claim, CLAIMS[verdict.claim]["notes"].split()
        return nodes.list_item(
            "",
            paragraph(
                "head",
                inline(f"verdict {verdict.kind}", f"{SIGNS[verdict.outcome]} {verdict.outcome}"),
                self.link(claim, chapter.docname, f"#{claim}", ["id"]),
                inline("notes", f"{'notes' if len(notes) > 1 else 'note'} {', '.join(notes)}"),
            ),
            paragraph("statement", nodes.Text(CLAIMS[claim]["statement"])),
            paragraph(
                "measured",
                nodes.Text(f"Measured: {verdict.measured}."),
                self.link(f"The cell of {claim}", chapter.docname, f"#{claim}-cell", ["cell-link"]),
            ),
            ids=[claim],
            classes=["trial-row", f"verdict-{verdict.kind}", *(f"note-{note}" for note in notes)],
        )

    def filter(self):
        """The form that trial.mjs shows and works with. Nothing checked means everything."""
        kinds = {kind: f"{SIGNS[outcome]} {outcome}" for kind, outcome in KINDS.items()}
        notes = sorted({note for claim in CLAIMS.values() for note in claim["notes"].split()})
        groups = {"verdict": ("Verdict", kinds), "note": ("Note", {note: note for note in notes})}
        boxes = "".join(
            f"<fieldset><legend>{legend}</legend>"
            + "".join(
                f'<label class="{value}"><input type="checkbox" name="{name}" value="{value}"> {text}</label>'
                for value, text in choices.items()
            )
            + "</fieldset>"
            for name, (legend, choices) in groups.items()
        )
        return (
            f'<form class="trial-filter" autocomplete="off" hidden>{boxes}'
            '<p role="status"></p><button type="reset">Show all</button></form>'
        )


def paragraph(name, *parts):
    """A paragraph of these classes, its parts with a space between them."""
    words = [word for part in parts for word in (nodes.Text(" "), part)]
    return nodes.paragraph("", "", *words[1:], classes=name.split())


def inline(name, text):
    """Words of these classes."""
    return nodes.inline("", text, classes=name.split())


def section(heading, name):
    """A section of this class with a heading."""
    title = nodes.title("", "", heading)
    return nodes.section("", title, ids=[anchor(title.astext())], classes=[name])


def anchor(heading):
    """The anchor of a heading, as it stands in an address."""
    return nodes.make_id(heading)


def anchor_cells(app, doctree):
    """Give each cell that ends in a verdict its anchor: `#qkv-1-cell`."""
    for cell in doctree.findall(nodes.container):
        if cell.get("nb_element") == "cell_code":
            for text in cell.findall(nodes.literal_block):
                if verdict := Verdict.read(text.astext()):
                    cell["ids"].append(f"{verdict.claim}-cell")


def add_script(app, pagename, templatename, context, doctree):
    """Load the filter's script where the filter is."""
    if pagename == TRIAL:
        app.add_js_file("trial.mjs", type="module")


def setup(app):
    """Register with Sphinx."""
    for directive in (Explorer, Tally, Chapters, Verdicts):
        app.add_directive(directive.__name__.lower(), directive)
    app.connect("doctree-read", anchor_cells)
    app.connect("html-page-context", add_script)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
