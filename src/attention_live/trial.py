"""The trial: what the study notes state (`claims.toml`), and the verdict that a measurement gives."""

import tomllib
from dataclasses import dataclass
from html import escape
from importlib.resources import files

CLAIMS = tomllib.loads(files(__package__).joinpath("claims.toml").read_text(encoding="utf-8"))
"""Every claim by its id: `{"qkv-1": {"notes": "A B C", "statement": "…"}, …}`."""

SIGNS = {"holds": "✓", "holds, with a limit": "≈", "fails": "✗"}
"""The three verdicts there are, each with its sign."""


@dataclass(frozen=True)
class Verdict:
    """One claim, what came out of its trial, and the number that decided it."""

    claim: str
    outcome: str
    measured: str

    def __repr__(self):
        return f"{SIGNS[self.outcome]} {self.claim} {self.outcome}. Measured: {self.measured}"

    def _repr_html_(self):
        kind = self.outcome.split()[-1]  # holds, limit or fails: the site's style sheet colours them
        headline = f"{SIGNS[self.outcome]} {self.claim} {self.outcome}."
        return f'<p class="verdict {kind}"><strong>{headline}</strong> Measured: {escape(self.measured)}</p>'


def verdict(claim: str, outcome: str, *, measured: str) -> Verdict:
    """Give the verdict on a claim of the notes, as the last line of the cell that measured it.

    Args:
        claim: the claim's id, such as `"qkv-1"`.
        outcome: `"holds"`, `"holds, with a limit"` or `"fails"`.
        measured: the number that decided it, put together from measured values. An `assert` on the same
            values stands in the same cell, so that the verdict cannot outlive its reason.

    Raises:
        ValueError: there is no such claim, no such outcome, or nothing was measured.
    """
    if claim not in CLAIMS:
        raise ValueError(f"claim {claim!r} is not in claims.toml; it has {', '.join(CLAIMS)}")
    if outcome not in SIGNS:
        raise ValueError(f"outcome {outcome!r} is not one of {', '.join(map(repr, SIGNS))}")
    if not measured.strip():
        raise ValueError(f"the verdict on {claim!r} needs the number that decided it: `measured` is empty")
    return Verdict(claim, outcome, measured)
