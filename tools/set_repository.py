"""Write the repository's address wherever it stands, or take it away.

That is in the book's settings, the notebooks, the README and CITATION.cff.

    python tools/set_repository.py https://github.com/someone/attention-live
    python tools/set_repository.py ""                                           this copy has no public address

The address in use is the one of book/_config.yml; tests/test_notebooks.py tells when another file disagrees. Where the
site and Colab find the book follows from it. Without an address the book says so in their place, and its chapters link
to each other by their files' names; with one, by their pages on the site, for Colab has one file at a time.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ADDRESS = re.compile(r"https://github\.com/([\w-]+)/([\w.-]+)")
CHAPTER = r"(\d\d_\w+)"
"""A notebook's name without its ending."""


def files(root: Path) -> list[Path]:
    """The files in which the address stands."""
    others = [root / "README.md", root / "CITATION.cff"]
    return [root / "book" / "_config.yml", *others, *sorted((root / "notebooks").glob("*.ipynb"))]


def address_in_use(root: Path) -> str:
    """The repository's address as book/_config.yml has it; empty when it is not set."""
    return re.search(r'^repository:\n  url: "(.*)"$', files(root)[0].read_text(encoding="utf-8"), re.MULTILINE)[1]


def site_address(url: str) -> str:
    """The address, with a slash at its end, at which GitHub Pages serves the repository's site; empty without `url`."""
    if not url:
        return ""
    owner, name = ADDRESS.fullmatch(url).groups()
    host = f"{owner.lower()}.github.io"
    return f"https://{host}/" if name.lower() == host else f"https://{host}/{name}/"


def colab_address(url: str, notebook: str) -> str:
    """The address at which Colab opens one of the repository's notebooks."""
    return f"{url.replace('github.com', 'colab.research.google.com/github', 1)}/blob/main/notebooks/{notebook}"


def phrases(url: str, file: str) -> list[str]:
    """What the file of that name says of the address `url`, or of its absence; the list's order is always the same."""
    return [
        f'repository:\n  url: "{url}"',
        f'baseurl: "{site_address(url)}"',
        f'REPOSITORY = \\"{url}\\"',
        f"[Open this chapter in Colab]({colab_address(url, file)})."
        if url
        else "This copy of the book has no public address yet, so Colab and Binder cannot open it.",
        f"a copy of [the repository]({url})" if url else "a copy of the repository",
        f"It is published at {site_address(url)}."
        if url
        else "This copy of it has no public address yet: `make set-repository` gives it one.",
        f"`pip install git+{url}`" if url else "`pip install .`",
        f'type: software\nrepository-code: "{url}"\ntitle:' if url else "type: software\ntitle:",
    ]


def link(url: str) -> tuple[str, str]:
    """What stands in a link to another chapter before the chapter's name, and what after it."""
    return (f"]({site_address(url)}notebooks/", ".html") if url else ("](", ".ipynb")


def rewrite(text: str, file: str, old: str, new: str) -> str:
    """The text of the file of that name, with the address `new` where it had `old`; either may be empty."""
    for before, after in zip(phrases(old, file), phrases(new, file), strict=True):
        text = text.replace(before, after)
    (before, ending), (after, new_ending) = link(old), link(new)
    return re.sub(
        rf"{re.escape(before)}{CHAPTER}{re.escape(ending)}(?=[#)])",
        lambda match: f"{after}{match[1]}{new_ending}",
        text,
    )


def main(url: str, root: Path = ROOT) -> None:
    """Replace the address in use by `url`, or take it away if `url` is empty; links by a file's name get it as well."""
    new = url.removesuffix("/").removesuffix(".git")
    if new and ADDRESS.fullmatch(new) is None:
        raise SystemExit(f"the address must read https://github.com/OWNER/NAME, and this one does not: {url!r}")
    old = address_in_use(root)
    for path in files(root):
        text = path.read_text(encoding="utf-8")
        path.write_text(rewrite(rewrite(text, path.name, old, ""), path.name, "", new), encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit("say which address: make set-repository URL=https://github.com/OWNER/NAME, or URL= for none")
    main(sys.argv[1])
