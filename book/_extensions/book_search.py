"""Search that knows Chinese beside English, and Chinese text that says that it is Chinese.

Chinese is written without spaces, and Sphinx takes each run of it for one word. Here a run is indexed with all its
parts, so that 注意力 is found in 自注意力. What a reader types is cut into the longest parts that the index knows, so
that 自注意力机制 finds 自注意力, although 机制 stands nowhere in the book.

Chinese terms in the text get the language zh-Hans, for screen readers and for the choice of the glyphs.
"""

import re

from docutils import nodes
from sphinx.search import SearchEnglish

CHINESE = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]+")
LONGEST = 8  # characters of the longest part that is indexed

SPLIT_QUERY = """
/** The words of a query. A run of Chinese is cut, from its start, into the longest parts of two or more characters
 *  that the index knows; what it does not know is left out, unless nothing else is left. */
function splitQuery(query) {
  const word = /\\p{Script=Han}+|(?:(?!\\p{Script=Han})[\\p{Letter}\\p{Number}_\\p{Emoji_Presentation}])+/gu;
  return (query.match(word) ?? []).flatMap((part) => (/\\p{Script=Han}/u.test(part) ? splitChinese(part) : [part]));
}

function splitChinese(run) {
  const parts = [];
  for (let start = 0; start < run.length; ) {
    let end = run.length;
    while (end - start > 1 && !Object.hasOwn(Search._index.terms, run.slice(start, end))) end -= 1;
    if (end - start > 1) parts.push(run.slice(start, end));
    start = end;
  }
  return parts.length ? parts : [run];
}
"""


class BookSearch(SearchEnglish):
    """Sphinx' English search, for a text with Chinese terms."""

    js_splitter_code = SPLIT_QUERY

    def split(self, text):
        """The words to index: English ones as they are, and each run of Chinese with all its parts."""
        words = []
        for word in super().split(text):
            words += CHINESE.sub(" ", word).split()
            for run in CHINESE.findall(word):
                words += {run[i:j] for i in range(len(run)) for j in range(i + 1, min(len(run), i + LONGEST) + 1)}
        return words


def mark_chinese(app, doctree):
    """Give the Chinese parts of the running text their language; docutils makes `lang` of such a class."""
    for text in list(doctree.findall(nodes.Text)):
        if isinstance(text.parent, nodes.literal | nodes.literal_block | nodes.raw | nodes.title | nodes.math):
            continue
        if found := CHINESE.findall(text):
            parts = [nodes.Text(CHINESE.split(text)[0])]
            for run, rest in zip(found, CHINESE.split(text)[1:], strict=True):
                parts += [nodes.inline("", run, classes=["language-zh-Hans"]), nodes.Text(rest)]
            text.parent.replace(text, [part for part in parts if part.astext()])


def setup(app):
    """Register with Sphinx."""
    app.add_search_language(BookSearch)
    app.connect("doctree-read", mark_chinese)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
