"""The trial: what the study notes state (`claims.toml`), and the verdict that a measurement gives."""

import re
import tomllib
from dataclasses import dataclass
from html import escape
from importlib.resources import files

CLAIMS = tomllib.loads(files(__package__).joinpath("claims.toml").read_text(encoding="utf-8"))
"""Every claim by its id: `{"qkv-1": {"notes": "A B C", "statement": "…"}, …}`."""

SIGNS = {"holds": "✓", "holds, with a limit": "≈", "fails": "✗"}
"""The three verdicts there are, each with its sign."""

SHOWN = re.compile(rf"[{''.join(SIGNS.values())}] (\S+) ({'|'.join(SIGNS)})\. Measured: (.+)", re.DOTALL)
"""A verdict as its `repr` shows it."""


@dataclass(frozen=True)
class Verdict:
    """One claim, what came out of its trial, and the number that decided it."""

    claim: str
    outcome: str
    measured: str

    def __repr__(self):
        return f"{SIGNS[self.outcome]} {self.claim} {self.outcome}. Measured: {self.measured}"

    def _repr_html_(self):
        headline = f"{SIGNS[self.outcome]} {self.claim} {self.outcome}."
        return f'<p class="verdict {self.kind}"><strong>{headline}</strong> Measured: {escape(self.measured)}</p>'

    @property
    def kind(self):
        """The outcome in one word, which style sheets know: holds, limit or fails."""
        return self.outcome.split()[-1]

    @classmethod
    def read(cls, shown: str):
        """The verdict whose `repr` is `shown`, such as a notebook stores it; None when it is anything else."""
        found = SHOWN.fullmatch(shown)
        return found and cls(*found.groups())


def verdict(claim: str, outcome: str, *, because, measured: str) -> Verdict:
    """Give the verdict on a claim of the notes, as the last line of the cell that measured it.

    It reads as a sentence: `verdict("qkv-1", "holds", because=distance < 1e-6, measured=f"…")`.

    Args:
        claim: the claim's id, such as `"qkv-1"`.
        outcome: `"holds"`, `"holds, with a limit"` or `"fails"`.
        because: the condition on measured values that the verdict rests on, or a list of several: each a bool or a
            tensor of one, without dimensions. The verdict is given if all of them are met, so that it cannot
            outlive its reason.
        measured: the number that decided it, put together from measured values.

    Raises:
        ValueError: there is no such claim, no such outcome, or nothing was measured.
        TypeError: a condition is not a bool, or there is none.
        AssertionError: a condition is not met.
    """
    if claim not in CLAIMS:
        raise ValueError(f"claim {claim!r} is not in claims.toml; it has {', '.join(CLAIMS)}")
    if outcome not in SIGNS:
        raise ValueError(f"outcome {outcome!r} is not one of {', '.join(map(repr, SIGNS))}")
    if not measured.strip():
        raise ValueError(f"the verdict on {claim!r} needs the number that decided it: `measured` is empty")
    conditions = because if isinstance(because, list) else [because]
    if not conditions:
        raise TypeError(f"the verdict on {claim!r} needs a reason: `because` is empty")
    for number, condition in enumerate(conditions, start=1):
        met = condition.item() if getattr(condition, "shape", None) == () else condition
        if not isinstance(met, bool):
            raise TypeError(
                f"condition {number} of {len(conditions)} of the verdict on {claim!r} must be a bool, or a tensor of "
                f"one without dimensions, and this one is {condition!r}"
            )
        if not met:
            raise AssertionError(
                f"the verdict {outcome!r} on {claim!r} has lost its reason: condition {number} of {len(conditions)} "
                "in `because` is not met"
            )
    return Verdict(claim, outcome, measured)
