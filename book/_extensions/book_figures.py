"""Pictures that do not make the page jump, and are loaded when the reader comes near them.

Every `<img>` of a finished page, the theme's own included, gets its picture's width and height; the style sheet shrinks
it to its column. Those of the text are also loaded lazily. One that stands in a page's first screen says
`loading="eager"` itself.
"""

import re
from pathlib import Path
from urllib.parse import unquote

import imagesize
from sphinx.util import logging

logger = logging.getLogger(__name__)

IMAGE = re.compile(r"<img\b(?P<attributes>[^>]*?)(?P<end>\s*/?>)")
SOURCE = re.compile(r'\bsrc="(?!data:)(?P<path>[^"?#]+)')


def attributes_for(page, path):
    """The size of the picture that the page (a path) shows from `path`. Without one, a warning names both."""
    width, height = imagesize.get(page.parent / path) if (page.parent / path).is_file() else (-1, -1)
    if width <= 0:
        logger.warning("picture without a size: %s on %s", path, page)
        return {}
    return {"width": round(width), "height": round(height)}


def describe(page):
    """Add to the pictures of a page (a path) the attributes that they lack."""
    text = page.read_text(encoding="utf-8")
    first, last = text.find("<article"), text.rfind("</article>")

    def describe_image(image):
        source = SOURCE.search(image["attributes"])
        wanted = attributes_for(page, unquote(source["path"])) if source else {}
        if first < image.start() < last:
            wanted |= {"loading": "lazy", "decoding": "async"}
        added = [f' {name}="{value}"' for name, value in wanted.items() if f" {name}=" not in image["attributes"]]
        return f"<img{image['attributes']}{''.join(added)}{image['end']}"

    page.write_text(IMAGE.sub(describe_image, text), encoding="utf-8")


def describe_all(app, exception):
    """Rewrite the pages of the site."""
    if exception or app.builder.format != "html":
        return
    for page in Path(app.outdir).rglob("*.html"):
        if "_static" not in page.parts:
            describe(page)


def setup(app):
    """Register with Sphinx."""
    app.connect("build-finished", describe_all)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
