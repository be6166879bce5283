"""What the book needs of Sphinx beyond Jupyter Book: links between chapters, short anchors.

- Notebooks link to other chapters by absolute URL, so that Colab and JupyterLab can follow them. On the site such
  a link becomes a relative one, and a missing page or anchor is a warning (an error under `-W`).
- A heading that begins with a claim's id (`### qkv-1: …`) or an exercise's number (`### Exercise 2.3 ●●○ 10 min`)
  gets the short anchor `#qkv-1` or `#exercise-2-3`, which stays when the rest of the heading changes.
- The `<details>` of an exercise get the class `hint` or `solution`, and the page's buttons lose what is of no use here.
"""

import re
from urllib.parse import urlsplit

from docutils import nodes
from sphinx.util import logging

logger = logging.getLogger(__name__)

SHORT_ANCHORS = {"claim": r"[a-z]+-\d+(?=:)", "exercise": r"Exercise \d+\.\d+"}


def site_address(repository_url):
    """The address at which GitHub Pages serves a repository: https://owner.github.io/NAME/."""
    owner, name = urlsplit(repository_url).path.strip("/").split("/")
    return f"https://{owner.lower()}.github.io/{name}/"


def set_base_url(app, config):
    """Derive the site's address from the repository's, the only one that is written down."""
    config.html_baseurl = site_address(config.html_theme_options["repository_url"])


def add_short_anchors(app, doctree):
    """Give each claim's and exercise's section its short anchor, and a class to style it by."""
    for section in doctree.findall(nodes.section):
        for kind, pattern in SHORT_ANCHORS.items():
            if match := re.match(pattern, section.next_node(nodes.title).astext()):
                section["ids"].insert(0, nodes.make_id(match[0]))
                section["classes"].append(kind)


def class_details(app, doctree):
    """Tell hints and solutions apart, for the style sheet."""
    for raw in doctree.findall(nodes.raw):
        if match := re.match(r"<details>\s*<summary>(Hint|Solution)", raw.astext()):
            raw[:] = [nodes.Text(raw.astext().replace("<details>", f'<details class="{match[1].lower()}">', 1))]


def tidy_page(app, pagename, templatename, context, doctree):
    """Show what one clicks most, Colab and the notebook's download, as plain buttons, and name the front page."""
    for place, button in enumerate(context["header_buttons"]):
        if button["label"] == "launch-buttons":
            context["header_buttons"][place] = button["buttons"][0] | {"text": "Run in Colab"}
        elif button["label"] == "download-buttons":
            context["header_buttons"][place] = button["buttons"][0] | {"icon": "fas fa-download", "text": "Notebook"}
    context["root_title"] = "Front page"


def localize_links(app, doctree, docname):
    """Turn links that begin with the site's own address into relative ones."""
    base = app.config.html_baseurl
    for link in doctree.findall(nodes.reference):
        if not link.get("refuri", "").startswith(base):
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
    app.connect("config-inited", set_base_url)
    app.connect("doctree-read", add_short_anchors, priority=400)  # before Sphinx collects the table of contents
    app.connect("doctree-read", class_details)
    app.connect("html-page-context", tidy_page, priority=600)  # after the theme has made them
    app.connect("doctree-resolved", localize_links)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
