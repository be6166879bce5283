"""Makes what the site serves small, when all its pages are written.

- The style sheets that every page asks for become one, `_static/site.css`, without the rules that no page can need:
  those whose selector names a class or an id that stands in no page and in no script. The scripts that every page
  asks for become one, too, `_static/site.js`.
- Font Awesome's icons come from its script and fonts, 1.5 MB. The few that the pages use are taken out of the script
  and drawn by the style sheet instead, as masks in the colour of the text.
- What nothing asks for any more is not published: those scripts and fonts, what was joined, source maps.
"""

import hashlib
import itertools
import os
import re
import shutil
from pathlib import Path
from urllib.parse import quote, urlsplit

import tinycss2
from sphinx.util import logging

logger = logging.getLogger(__name__)

SHEET = "site.css"
SCRIPT = "site.js"
FONT_AWESOME = "scripts/fontawesome.js"
UNUSED = (  # within _static
    "scripts/*.map",
    "scripts/fontawesome.js*",
    "scripts/bootstrap.js*",
    "styles",
    "vendor",
    "locales",
    "*webpack-macros.html",
    "images/logo_*",  # of Colab, JupyterHub and the like
    "basic.css",
    "copybutton_funcs.js",
    "minus.png",
    "plus.png",
)

LINK = re.compile(r'[ \t]*<link rel="stylesheet"[^>]*? href="(?P<href>[^":]+)"[^>]*>\n?')
ATTRIBUTE = re.compile(r'\b(?:class|id)=(?:"([^"]*)"|\'([^\']*)\'|([^\s"\'>]+))')
SCRIPT_LINK = re.compile(r'[ \t]*<script defer[^>]*? src="(?P<href>[^":]+)"[^>]*></script>\n?')
SOURCE_MAP = re.compile(r"^//# sourceMappingURL=.*$", re.MULTILINE)
# What the theme's script does at a moment when, to answer it, the browser has to lay out the whole page in between.
PATCHES = {
    # It makes what scrolls reachable by keyboard: page.mjs does so, when the page has been laid out anyway.
    '["pre",".nboutput > .output_area",".cell_output > .output",'
    '".jp-RenderedHTMLCommon",".pst-scrollable-table-container"].join(", ")': '":not(*)"',
    # It scrolls the sidebar to the page's entry: let it do so after the first paint.
    'e(function(){if(!document.querySelector(".bd-docs-nav"))return;': "e(async function(){"
    "await new Promise((painted)=>requestAnimationFrame(()=>setTimeout(painted)));"
    'if(!document.querySelector(".bd-docs-nav"))return;',
    # It measures the bar above the page, which in this book is empty (layout.html).
    'document.querySelector("#pst-header").getBoundingClientRect().height': "0",
    # It measures the room for banners above the page, of which this book has none.
    '".pst-async-banner-revealer"': '":not(*)"',
}
INLINE_SCRIPT = re.compile(r"<script[^>]*>(.*?)</script>", re.DOTALL)
PACKS = {"fas": "fas", "fa-solid": "fas", "far": "far", "fa-regular": "far", "fab": "fab", "fa-brands": "fab"}
ICON = re.compile(r'<(?:i|span) class="([^"]*\bfa[^"]*)"')
# (The last two rules say of the theme's search field what it says of the SVGs that Font Awesome's script draws.)
ICONS = """
:is({packs}) {{
  display: inline-block; height: 1em; background: currentcolor; mask: var(--icon) center / contain no-repeat;
  vertical-align: -0.125em;
}}
@media (forced-colors: active) {{
  :is({packs}) {{ forced-color-adjust: none; background: CanvasText; }}
  :is(a, button, summary) :is({packs}) {{ background: ButtonText; }}
}}
.search-button-field > i {{ display: inline-block; }}
.bd-search input.form-control {{ padding-left: 2rem; }}
"""


def shrink(app, exception):
    """Join and prune what every page loads, draw the icons, link the result in the pages, remove what is left over."""
    if exception or app.builder.format != "html":
        return
    static = Path(app.outdir, "_static")
    pages = {page: page.read_text("utf-8") for page in Path(app.outdir).rglob("*.html") if static not in page.parents}
    leftovers = {path for pattern in UNUSED for path in static.glob(pattern)}
    if sheets := shared_files(pages, LINK, static / SHEET):
        scripts = {path for kind in ("*.js", "*.mjs") for path in static.rglob(kind)} - leftovers
        names = used_names(pages.values(), [path.read_text("utf-8") for path in scripts])
        parts = [prune(sheet.read_text("utf-8"), names, sheet.parent, static) for sheet in sheets]
        parts.append(icons(pages.values(), static / FONT_AWESOME))
        replace_by_one(pages, sheets, LINK, static / SHEET, "\n".join(parts), '<link rel="stylesheet" href="{}">\n')
    if scripts := shared_files(pages, SCRIPT_LINK, static / SCRIPT):
        parts = [SOURCE_MAP.sub("", script.read_text("utf-8")) for script in scripts]
        text = ";" + "\n;\n".join(parts)  # at the very start, the first one's "use strict" would hold for all
        for part, instead in PATCHES.items():
            if part not in text:
                logger.warning("the theme's script has changed: it no longer has %s", part)
            text = text.replace(part, instead)
        replace_by_one(pages, scripts, SCRIPT_LINK, static / SCRIPT, text, '<script defer src="{}"></script>\n')
    for page, text in pages.items():
        page.write_text(text, encoding="utf-8")
    for path in leftovers.union(sheets, scripts):
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


def shared_files(pages, link, joined):
    """The files for which all newly written pages have such a link, in their order; none when no page is new."""
    found = [[asset(page, one["href"]) for one in link.finditer(text)] for page, text in pages.items()]
    new = [files for files in found if files and joined not in files]
    return [file for file in new[0] if all(file in files for files in new)] if new else []


def replace_by_one(pages, files, link, joined, text, tag):
    """Write one file in the place of several, and in each page's text one link to it in that of the first of theirs."""
    joined.write_text(text, encoding="utf-8")
    version = hashlib.sha256(text.encode()).hexdigest()[:8]
    for page, html in pages.items():
        address = f"{Path(os.path.relpath(joined, page.parent)).as_posix()}?v={version}"
        tags = itertools.chain([tag.format(address)], itertools.repeat(""))
        pages[page] = link.sub(
            lambda found, page=page, tags=tags: (
                next(tags) if asset(page, found["href"]) in [*files, joined] else found[0]
            ),
            html,
        )


def asset(page, address):
    """The file that a page's relative address means."""
    return Path(os.path.normpath(page.parent / urlsplit(address).path))


def used_names(pages, scripts):
    """Every class and id of the pages, and every word of the scripts, which may give or look for one."""
    names = set()
    for page in pages:
        for values in ATTRIBUTE.findall(page):
            names.update("".join(values).split())
        scripts = [*scripts, *INLINE_SCRIPT.findall(page)]
    for script in scripts:
        names.update(re.findall(r"[\w-]+", script))
    return names


def prune(css, names, folder, static):
    """A style sheet without the rules that nothing on the site can match.

    Args:
        css: the text of the sheet.
        names: the classes and ids that there are.
        folder: where the sheet lies; an address in it is relative to that.
        static: where the joined sheet will lie; the addresses become relative to this.

    Returns:
        The text of the rules that are left. Comments go, but for licences (`/*! … */`), and imports are replaced by
        what they import.
    """
    kept = []
    for rule in tinycss2.parse_stylesheet(css, skip_whitespace=True):
        if rule.type == "comment":
            if rule.value.startswith("!"):
                kept.append(rule.serialize())
        elif rule.type == "at-rule" and rule.lower_at_keyword == "import":
            address = next(token.value for token in rule.prelude if token.type in ("string", "url"))
            imported = folder / address
            kept.append(prune(imported.read_text("utf-8"), names, imported.parent, static))
        elif text := prune_rule(rule, names):
            kept.append(re.sub(r"url\(([^)]*)\)", lambda found: moved(found[1], folder, static), text))
    return "\n".join(kept)


def prune_rule(rule, names):
    """The text of one rule without what cannot match: empty when nothing is left."""
    if rule.type == "qualified-rule":
        selectors = [selector for selector in split(rule.prelude) if can_match(selector, names)]
        return selectors and ",".join(map(tinycss2.serialize, selectors)) + block(rule)
    if rule.type == "at-rule" and rule.lower_at_keyword in ("media", "supports", "layer") and rule.content is not None:
        inner = tinycss2.parse_rule_list(rule.content, skip_comments=True, skip_whitespace=True)
        text = "".join(filter(None, (prune_rule(part, names) for part in inner)))
        return text and f"@{rule.at_keyword}{tinycss2.serialize(rule.prelude)}{{{text}}}"
    if (
        rule.type == "at-rule"
        and rule.lower_at_keyword == "font-face"
        and "fontawesome" in tinycss2.serialize(rule.content)
    ):
        return ""
    return rule.serialize()


def block(rule):
    """A rule's declarations in braces, without the comments and the space between them."""
    declarations = tinycss2.parse_blocks_contents(rule.content, skip_comments=True, skip_whitespace=True)
    return "{" + "".join(part.serialize() + (";" if part.type == "declaration" else "") for part in declarations) + "}"


def split(tokens):
    """The selectors of a list, each as its tokens, without the space around it."""
    selectors = [[]]
    for token in tokens:
        if token == ",":
            selectors.append([])
        elif token.type != "comment" and (selectors[-1] or token.type != "whitespace"):
            selectors[-1].append(token)
    for selector in selectors:
        while selector and selector[-1].type == "whitespace":
            selector.pop()
    return selectors


def can_match(selector, names):
    """Whether all classes and ids of a selector exist. What stands in `:not(…)`, `:is(…)` and the like is not asked."""
    for before, token in zip([None, *selector], selector, strict=False):
        named = token.type == "hash" or (token.type == "ident" and before == ".")
        if named and token.value not in names:
            return False
    return True


def moved(address, folder, static):
    """An address of a style sheet in `folder`, in quotes or not, as one in `static` has to write it."""
    target = address.strip("\"' ")
    if urlsplit(target).scheme or target.startswith("#"):
        return f"url({address})"
    return f'url("{Path(os.path.relpath(folder / target, static)).as_posix()}")'


def icons(pages, script):
    """The rules that draw the icons of the pages.

    Args:
        pages: the pages' texts, in which an icon is an element of two classes, as in `<i class="fa-solid fa-bars">`.
        script: Font Awesome's script, which has all icons' shapes. Its licence lies beside it.

    Returns:
        The rules under the licence. An icon that the script does not have is a warning.
    """
    wanted = set()
    for page in pages:
        for value in ICON.findall(page):
            classes = set(value.split())
            names = {name for name in classes - PACKS.keys() - {"fa-lg"} if name.startswith("fa-")}
            wanted.update((PACKS[style], name) for style in classes & PACKS.keys() for name in names)
    packs = script.read_text("utf-8")
    rules = []
    for pack, name in sorted(wanted):
        end = packs.index(f'("{pack}",')
        shape = re.search(
            rf'(?<![\w-])"?{re.escape(name.removeprefix("fa-"))}"?:\[(\d+),(\d+),\[[^\]]*\],"\w+","([^"]+)"\]',
            packs[packs.rindex("var p={", 0, end) : end],
        )
        if not shape:
            logger.warning("Font Awesome has no icon %s in its pack %s", name, pack)
            continue
        width, height, path = shape.groups()
        svg = f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width} {height}'><path d='{path}'/></svg>"
        styles = ",".join(f".{style}" for style in PACKS if PACKS[style] == pack)
        image = "data:image/svg+xml," + quote(svg, safe=" =:/'")
        rules.append(f':is({styles}).{name}{{width:{int(width) / int(height):.4g}em;--icon:url("{image}")}}')
    licence = script.with_name(f"{script.name}.LICENSE.txt").read_text("utf-8").strip()
    return "\n".join([licence, ICONS.format(packs=",".join(f".{style}" for style in PACKS)), *rules])


def setup(app):
    """Register with Sphinx."""
    app.connect("build-finished", shrink, priority=900)  # after those that add pages or files
    return {"parallel_read_safe": True, "parallel_write_safe": True}
