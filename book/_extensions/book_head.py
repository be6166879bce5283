"""What a page's head says, and what it makes the browser fetch.

- Each page is described by its first paragraph, or by `html_meta: description` where its front matter has one.
- Scripts are deferred, and modules come after the style sheet and the typeface, so that none holds up the text.
- The modules of a page's explorers, and all that its modules import, are named, so that the browser fetches them at
  once instead of one after another.
- Where the site has an address, `sitemap.xml` lists its pages and `robots.txt` names the sitemap.
"""

import posixpath
import re
import textwrap
from pathlib import Path
from xml.sax.saxutils import escape

from docutils import nodes
from markupsafe import Markup

THEME_SCRIPT = "scripts/pydata-sphinx-theme.js"
SEARCHES = "Search the chapters, their exercises, the glossary and the notation."


def describe(doctree):
    """The first sentences of a page that fit into 160 characters, or as many words of the first one.

    A paragraph of fewer than eight words is no description, and passed over while there is another.
    """
    paragraphs = [paragraph.astext() for paragraph in doctree.findall(nodes.paragraph)]
    described = [text for text in paragraphs if len(text.split()) >= 8] or paragraphs or [""]
    text = re.sub(r"\\sqrt\{(.+?)\}", r"√\1", " ".join(described[0].split()))
    sentences = re.match(r".{60,159}[.?!](?= |$)", text)
    return sentences[0] if sentences else textwrap.shorten(text, 160, placeholder=" …")


def imported(folders, names):
    """The modules of these names and all that they import, as paths in `_static`, each once.

    The files are looked for in the folders that make up `_static`; what another extension writes there later is taken
    to import nothing.
    """
    found = list(names)
    for module in found:
        files = [folder / module for folder in folders if (folder / module).exists()]
        for path in re.findall(r'^import .* from "(\./.+?)";$', files[0].read_text("utf-8"), re.M) if files else ():
            target = posixpath.normpath(posixpath.join(posixpath.dirname(module), path))
            if target not in found:
                found.append(target)
    return found


def complete_head(app, pagename, templatename, context, doctree):
    """Give the page's template its description and its modules, and defer its scripts."""
    given = re.search(r'content="([^"]*)" name="description"', context.get("metatags", ""))
    context["description"] = Markup(given[1]) if given else describe(doctree) if doctree else SEARCHES
    context["described"] = bool(given)
    modules = [script for script in context["script_files"] if script.attributes.get("type") == "module"]
    scripts = [script.filename.removeprefix("_static/") for script in modules]
    explorers = sorted({f"{name}.mjs" for name in re.findall(r'data-explorer="(\w+)"', context.get("body", ""))})
    folders = [Path(app.confdir, entry) for entry in app.config.html_static_path]
    context["modules"] = [name for name in imported(folders, [*explorers, *scripts]) if name not in scripts]
    deferred = []
    for script in context["script_files"]:
        inline = script.attributes.get("body", "")
        if inline.startswith("DOCUMENTATION_OPTIONS."):
            continue  # for the theme's version switcher and search as one types, of which this book has neither
        if script.filename:
            late = {"fetchpriority": "low"} if script.attributes.get("type") == "module" else {"defer": "defer"}
            script = type(script)(script.filename, priority=script.priority, **script.attributes | late)
        deferred.append(script)
    context["script_files"] = deferred


def list_pages(app, exception):
    """Write sitemap.xml and robots.txt, which need the site's address."""
    base = app.config.html_baseurl
    if exception or app.builder.format != "html" or not base:
        return
    places = [base + app.builder.get_target_uri(page) for page in sorted(app.env.found_docs)]
    entries = "".join(f"<url><loc>{escape(place)}</loc></url>\n" for place in places)
    Path(app.outdir, "sitemap.xml").write_text(
        '<?xml version="1.0" encoding="utf-8"?>\n'
        f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{entries}</urlset>\n',
        encoding="utf-8",
    )
    Path(app.outdir, "robots.txt").write_text(
        f"User-agent: *\nAllow: /\nSitemap: {base}sitemap.xml\n", encoding="utf-8"
    )


def setup(app):
    """Register with Sphinx."""
    app.add_js_file(THEME_SCRIPT)
    app.connect("html-page-context", complete_head, priority=900)  # after those that add scripts
    app.connect("build-finished", list_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
