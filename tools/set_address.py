"""Write the repository's address wherever it stands: the book's settings, the notebooks, the README.

    python tools/set_address.py https://github.com/someone/attention-live

The address in use is the one of book/_config.yml; tests/test_notebooks.py tells when another file disagrees.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CONFIG = ROOT / "book" / "_config.yml"
ADDRESS = re.compile(r"https://github\.com/([\w.-]+)/([\w.-]+)")


def forms(owner: str, name: str) -> list[str]:
    """The forms in which the address occurs: the repository, its notebooks in Colab, the published site."""
    return [
        f"https://github.com/{owner}/{name}",
        f"https://colab.research.google.com/github/{owner}/{name}",
        f"https://{owner.lower()}.github.io/{name}",
    ]


def main(url: str) -> None:
    """Replace the address in use by `url`."""
    new = ADDRESS.fullmatch(url.removesuffix("/").removesuffix(".git"))
    if new is None:
        raise SystemExit(f"the address must read https://github.com/OWNER/NAME, and this one does not: {url!r}")
    old = ADDRESS.search(CONFIG.read_text(encoding="utf-8"))
    for path in [CONFIG, ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "notebooks").glob("*.ipynb")]:
        text = path.read_text(encoding="utf-8")
        for before, after in zip(forms(*old.groups()), forms(*new.groups()), strict=True):
            text = re.sub(rf"{re.escape(before)}(?![\w.-]*\w)", after, text)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
