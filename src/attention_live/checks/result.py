"""What a check shows, in a notebook and elsewhere."""

import html
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Result:
    """What a check shows: a mark (○, ✗ or ✓), a sentence, and perhaps rows of a label and a text.

    `mistake` is the name of the known mistake that was found, if one was.
    """

    mark: str
    text: str
    rows: Sequence[tuple[str, str]] = ()
    mistake: str = ""

    def __repr__(self) -> str:
        return "\n".join([f"{self.mark} {self.text}", *self._lines()])

    def _repr_html_(self) -> str:
        # The colour is in the border alone: the text keeps the page's own, light or dark.
        colour = {"○": "#888888", "✗": "#d55e00", "✓": "#009e73"}[self.mark]
        content = f"<strong>{self.mark}</strong> " + re.sub("`(.+?)`", r"<code>\1</code>", html.escape(self.text))
        if self.rows:
            grid = "display: grid; grid-template-columns: max-content 1fr; column-gap: 1.2em; margin-top: 0.4em"
            font = "font-family: monospace; font-size: 0.9em; white-space: pre-wrap; overflow-wrap: anywhere"
            cells = "".join(f"<span>{html.escape(part)}</span>" for row in self.rows for part in row)
            content += f'<div style="{grid}; {font}">{cells}</div>'
        return f'<div style="border-left: 4px solid {colour}; padding: 0.2em 0.8em">{content}</div>'

    def _lines(self) -> list[str]:
        width = max((len(label) for label, _ in self.rows), default=0)
        return [f"    {label:{width}}  {text}" for label, text in self.rows]


def show(result: Result) -> None:
    """Show a result, once: displayed in IPython and notebooks, with its HTML; printed elsewhere."""
    if "IPython" in sys.modules and sys.modules["IPython"].get_ipython():
        from IPython.display import display

        display(result)
    else:
        print(result)
