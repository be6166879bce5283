"""Formulas are set while the site is built, so that a reader's browser has no script to load or run for them.

The folder `katex` beside this file holds KaTeX as npm has it (`npm pack katex`): the script that sets formulas here,
in the V8 of mini-racer, and what a page with formulas needs: the style sheet, the fonts, and the script by which a
copied formula is its TeX source. To move to another version, replace all of its files at once.
A formula that KaTeX cannot set is a warning (an error under `-W`) that names it.
"""

import functools
import os
import re
import shutil
from pathlib import Path

from docutils import nodes
from py_mini_racer import MiniRacer
from sphinx.util import logging

logger = logging.getLogger(__name__)

KATEX = Path(__file__).parent / "katex"
SET_FORMULA = """
function setFormula(tex, displayMode) {
  try {
    return { html: katex.renderToString(tex, { displayMode, strict: "error" }) };
  } catch (error) {
    return { error: error.message };
  }
}
"""
PART = '<span class="katex-base">'
BEFORE, AFTER = re.compile(r"[^\s\w]+$"), re.compile(r"^[^\s\w]+")  # punctuation that touches a formula
OTHER_FORMATS = re.compile(r',url\([^)]*\) format\("(?:woff|truetype)"\)')


@functools.cache
def katex(process):
    """KaTeX in an engine of its own for each process, as the engine's threads do not survive a fork."""
    engine = MiniRacer()
    engine.eval((KATEX / "katex.min.js").read_text(encoding="utf-8"))
    engine.eval(SET_FORMULA)
    return engine


@functools.cache
def set_formula(tex, display):
    """Set a formula: `{"html": …}` with MathML for screen readers in it, or `{"error": …}` with KaTeX's complaint."""
    return dict(katex(os.getpid()).call("setFormula", tex, display))


def formula_html(writer, node, display):
    """The HTML of a node's formula, or its source after a warning."""
    tex = node.astext().strip()
    result = set_formula(tex, display)
    if "error" in result:
        logger.warning("formula that cannot be set: %s: %s", tex, result["error"], location=node)
    return result.get("html") or f"<code>{writer.encode(tex)}</code>"


def write_inline(writer, node):
    """Write a formula within a line."""
    writer.body.append(writer.starttag(node, "span", "", CLASS="math notranslate nohighlight"))
    parts = formula_html(writer, node, display=False).replace(PART, f"<wbr>{PART}")  # lines end between them
    writer.body.append(parts.replace("<wbr>", "", 1) + "</span>")
    raise nodes.SkipNode


def write_block(writer, node):
    """Write a formula on a line of its own."""
    writer.body.append(writer.starttag(node, "div", "", CLASS="math notranslate nohighlight"))
    writer.body.append(formula_html(writer, node, display=True) + "</div>\n")
    raise nodes.SkipNode


def join_punctuation(app, doctree, docname):
    """Keep a formula of the running text on one line with the punctuation that touches it.

    A browser would begin a line with the comma: to it, the last part of a formula is like a picture.
    """
    for formula in list(doctree.findall(nodes.math)):
        parent, place = formula.parent, formula.parent.index(formula)
        joined = [*cut(parent, place - 1, BEFORE), formula, *cut(parent, place + 1, AFTER)]
        if len(joined) > 1:
            parent[place] = nodes.inline("", "", *joined, classes=["joined"])


def cut(parent, place, punctuation):
    """Cut the punctuation out of the text at a place; a list of it, empty where there is no text or it has none."""
    text = parent[place] if 0 <= place < len(parent) else None
    found = punctuation.search(text) if isinstance(text, nodes.Text) else None
    if not found:
        return []
    parent[place] = nodes.Text(punctuation.sub("", text))
    return [nodes.Text(found[0])]


def copy_katex(app):
    """Put what the pages load beside the site's other static files: of the fonts, the one format all browsers know."""
    if app.builder.format != "html":
        return
    target = Path(app.outdir) / "_static" / "katex"
    shutil.copytree(KATEX / "fonts", target / "fonts", dirs_exist_ok=True)
    shutil.copyfile(KATEX / "copy-tex.mjs", target / "copy-tex.mjs")
    style = OTHER_FORMATS.sub("", (KATEX / "katex.min.css").read_text(encoding="utf-8"))
    (target / "katex.min.css").write_text(style, encoding="utf-8")


def load_katex(app, pagename, templatename, context, doctree):
    """Have a page with formulas load what they need."""
    if 'class="katex"' in context.get("body", ""):
        app.add_css_file("katex/katex.min.css")
        app.add_js_file("katex/copy-tex.mjs", type="module")


def setup(app):
    """Register with Sphinx."""
    app.add_html_math_renderer("katex", inline_renderers=(write_inline, None), block_renderers=(write_block, None))
    app.connect("doctree-resolved", join_punctuation)
    app.connect("builder-inited", copy_katex)
    app.connect("html-page-context", load_katex)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
