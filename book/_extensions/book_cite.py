"""How to cite the book: `{citation} bibtex` and `{citation} plain`, each as a block that can be copied.

Title, authors, year and address are those of the site's settings, the version is the package's. A copy that has no
public address is cited without one.
"""

import re
from importlib.metadata import version

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

FORMS = {
    "bibtex": """@misc{{attention-live,
  author = {{{{{author}}}}},
  title = {{{{{title}}}}},
  year = {{{year}}},
  version = {{{version}}}{url}
}}""",
    "plain": "{author} ({year}). {title}, version {version}.{url}",
}
URLS = {"bibtex": ",\n  url = {{{}}}", "plain": " {}"}


def cite(form, config):
    """The book's citation.

    Args:
        form: a key of `FORMS`.
        config: Sphinx' settings.

    Returns:
        The citation as text.
    """
    address = config.html_theme_options.get("repository_url")
    return FORMS[form].format(
        author=config.author[0].upper() + config.author[1:],
        title=config.html_title,
        year=re.search(r"\d{4}", config.copyright)[0],
        version=version("attention-live"),
        url=URLS[form].format(address) if address else "",
    )


class Citation(SphinxDirective):
    """The book's citation in the form that the argument names, as a block of text."""

    required_arguments = 1

    def run(self):
        """Return the block.

        Raises:
            DirectiveError: there is no such form.
        """
        form = self.arguments[0]
        if form not in FORMS:
            raise self.error(f"no form {form!r} of a citation; there are {', '.join(FORMS)}")
        text = cite(form, self.config)
        return [nodes.literal_block(text, text, language="bibtex" if form == "bibtex" else "text")]


def setup(app):
    """Register with Sphinx."""
    app.add_directive("citation", Citation)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
