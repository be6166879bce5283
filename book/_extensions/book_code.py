"""Colours in code only for what differs from plain text: strings, numbers, keywords, comments and special names.

Three of four words in a chapter's code are ordinary names, operators or punctuation. Without an element of its own
around each of them, a page has half as many elements, and a phone lays it out in half the time.
"""

from pygments.formatters import HtmlFormatter
from pygments.token import Name, Operator, Punctuation, Whitespace
from sphinx.highlighting import PygmentsBridge

PLAIN = (Name, Operator, Punctuation, Whitespace)


class SparingFormatter(HtmlFormatter):
    """Pygments' HTML formatter, which writes the plain kinds of words as they are."""

    def _get_css_classes(self, ttype):
        return "" if ttype in PLAIN else super()._get_css_classes(ttype)


def setup(app):
    """Register with Sphinx."""
    PygmentsBridge.html_formatter = SparingFormatter
    return {"parallel_read_safe": True, "parallel_write_safe": True}
