"""The bibliography says of each paper which chapters send their readers to it.

sphinxcontrib-bibtex makes the list from references.bib. What is added here is computed from the chapters: a paper is
used where a link leads to its address.
"""

from docutils import nodes


def addresses(node):
    """The addresses of all links in a node."""
    return {link["refuri"] for link in node.findall(nodes.reference) if "refuri" in link}


def name_chapters(app, doctree, docname):
    """End each entry of the bibliography in links to the chapters that lead to it."""
    if docname != "bibliography":
        return
    chapters = sorted(name for name in app.env.found_docs if name.startswith("notebooks/"))
    used = {name: addresses(app.env.get_doctree(name)) for name in chapters}
    for entry in doctree.findall(nodes.list_item):
        places = [name for name in chapters if addresses(entry) & used[name]]
        for name in places:
            number = app.env.titles[name].astext().split()[0]
            link = nodes.reference(
                "", f"chapter {number}", refuri=app.builder.get_relative_uri(docname, name), internal=True
            )
            entry[-1] += [nodes.Text(" In " if name == places[0] else ", "), link]
        if places:
            entry[-1] += nodes.Text(".")


def setup(app):
    """Register with Sphinx."""
    app.connect("doctree-resolved", name_chapters)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
