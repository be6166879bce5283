"""What the book needs of Sphinx beyond Jupyter Book: links between chapters, short anchors.

- Notebooks link to other chapters by the site's address, so that Colab can follow them, or by a file's name while
  there is no address (tools/set_repository.py). On the site either becomes a relative link, and a missing page or
  anchor is a warning (an error under `-W`).
- A heading that begins with a claim's id (`### qkv-1: …`) or an exercise's number (`### Exercise 2.3 ●●○ 10 min`)
  gets the short anchor `#qkv-1` or `#exercise-2-3`, which stays when the rest of the heading changes.
- The `<details>` of an exercise get the class `hint` or `solution`, and the page's buttons lose what is of no use here:
  Colab, Binder, the repository and its issues while the book has no address.
"""

import re

from docutils import nodes
from sphinx.util import logging

logger = logging.getLogger(__name__)

SHORT_ANCHORS = {"claim": r"[a-z]+-\d+(?=:)", "exercise": r"Exercise \d+\.\d+"}


def choose_buttons(app, config):
    """Have the theme make the buttons that lead to the repository, and through it to Colab and Binder, if it is set."""
    options = config.html_theme_options
    published = bool(options.get("repository_url"))
    options["use_repository_button"] = options["use_issues_button"] = published
    if not published:
        options["launch_buttons"] = {}


def add_short_anchors(app, doctree):
    """Give each claim's and exercise's section its short anchor, and a class to style it by."""
    for section in doctree.findall(nodes.section):
        for kind, pattern in SHORT_ANCHORS.items():
            if match := re.match(pattern, section.next_node(nodes.title).astext()):
                anchor = nodes.make_id(match[0])
                section["ids"].insert(0, anchor)
                section["classes"].append(kind)
                # where MyST looks an anchor up that stands in a link by a file's name
                slugs = app.env.metadata[app.env.docname].setdefault("myst_slugs", {})
                slugs[anchor] = (section.line, anchor, section.next_node(nodes.title).astext())


def class_details(app, doctree):
    """Tell hints and solutions apart, for the style sheet."""
    for raw in doctree.findall(nodes.raw):
        if match := re.match(r"<details>\s*<summary>(Hint|Solution)", raw.astext()):
            raw[:] = [nodes.Text(raw.astext().replace("<details>", f'<details class="{match[1].lower()}">', 1))]


def tidy_page(app, pagename, templatename, context, doctree):
    """Show what one clicks most, Colab, Binder and the notebook, as plain buttons, and name the front page."""
    buttons = []
    for button in context["header_buttons"]:
        if button["label"] == "launch-buttons":
            places = {place["text"]: place for place in button["buttons"]}
            buttons.append(places["Colab"] | {"icon": "fas fa-play", "label": "launch-colab"})
            buttons.append(places["Binder"] | {"icon": "fas fa-rocket", "label": "launch-binder"})
        elif button["label"] == "download-buttons":
            if pagename.startswith("notebooks/"):
                buttons.append(button["buttons"][0] | {"icon": "fas fa-download", "text": "Notebook"})
        else:
            buttons.append(button)
    context["header_buttons"] = buttons
    context["root_title"] = "Front page"


def localize_links(app, doctree, docname):
    """Turn links that begin with the site's own address into relative ones."""
    base = app.config.html_baseurl
    for link in doctree.findall(nodes.reference):
        if not base or not link.get("refuri", "").startswith(base):
            continue
        path, _, anchor = link["refuri"].removeprefix(base).partition("#")
        target = path.removesuffix(".html") or app.config.root_doc
        if target not in app.env.found_docs:
            logger.warning("link to a page that does not exist: %s", link["refuri"], location=link)
        elif anchor and anchor not in anchors(app.env.get_doctree(target)):
            logger.warning("link to an anchor that does not exist: %s", link["refuri"], location=link)
        else:
            link["refuri"] = app.builder.get_relative_uri(docname, target) + (anchor and f"#{anchor}")
            link["internal"] = True


def anchors(doctree):
    """All ids of a page."""
    return {name for node in doctree.findall(nodes.Element) for name in node.get("ids", ())}


def setup(app):
    """Register with Sphinx."""
    app.connect("config-inited", choose_buttons)
    app.connect("doctree-read", add_short_anchors, priority=400)  # before Sphinx collects the table of contents
    app.connect("doctree-read", class_details)
    app.connect("html-page-context", tidy_page, priority=600)  # after the theme has made them
    app.connect("doctree-resolved", localize_links)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
