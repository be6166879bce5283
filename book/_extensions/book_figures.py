"""Pictures that do not make the page jump, and are loaded when the reader comes near them.

Every `<img>` of a finished page, the theme's own included, gets its picture's width and height, in the page's pixels,
of which an inch has 96: a picture that states 192 has two pixels for one of the page's, so that it is sharp on a fine
screen. The style sheet shrinks it to its column; a size in the element's own `style`, as MyST-NB writes for the same
reason, would keep it from that, and goes. Those of the text are also loaded lazily. One that stands in a page's
first screen says `loading="eager"` itself.
"""

import re
from pathlib import Path
from urllib.parse import unquote

import imagesize
from sphinx.util import logging

logger = logging.getLogger(__name__)

IMAGE = re.compile(r"<img\b(?P<attributes>[^>]*?)(?P<end>\s*/?>)")
OWN_SIZE = re.compile(r' style="width: \d+px; height: \d+px;"')
SOURCE = re.compile(r'\bsrc="(?!data:)(?P<path>[^"?#]+)')


def attributes_for(page, path):
    """The size of the picture that the page (a path) shows from `path`. Without one, a warning names both."""
    picture = page.parent / path
    width, height = imagesize.get(picture) if picture.is_file() else (-1, -1)
    if width <= 0:
        logger.warning("picture without a size: %s on %s", path, page)
        return {}
    stated = max(imagesize.getDPI(picture))  # -1 where it states nothing
    density = stated / 96 if stated > 0 else 1
    return {"width": round(width / density), "height": round(height / density)}


def describe(page):
    """Add to the pictures of a page (a path) the attributes that they lack."""
    text = page.read_text(encoding="utf-8")
    first, last = text.find("<article"), text.rfind("</article>")

    def describe_image(image):
        attributes = OWN_SIZE.sub("", image["attributes"])
        source = SOURCE.search(attributes)
        wanted = attributes_for(page, unquote(source["path"])) if source else {}
        if first < image.start() < last:
            wanted |= {"loading": "lazy", "decoding": "async"}
        added = [f' {name}="{value}"' for name, value in wanted.items() if f" {name}=" not in attributes]
        return f"<img{attributes}{''.join(added)}{image['end']}"

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
