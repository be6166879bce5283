"""The claims and their verdicts."""

import re

import pytest

from attention_live.trial import CLAIMS, SIGNS, verdict


def test_every_claim_has_an_id_its_notes_and_a_statement():
    assert len(CLAIMS) > 60
    for claim, entry in CLAIMS.items():
        assert re.fullmatch(r"[a-z]+-\d+", claim)
        assert set(entry) == {"notes", "statement"}
        assert set(entry["notes"].split()) <= set("ABC")
        assert len(entry["statement"]) > 20


@pytest.mark.parametrize("outcome", SIGNS)
def test_verdict_shows_the_claim_the_outcome_and_the_number(outcome):
    shown = verdict("sqrt-1", outcome, measured="spread 8.01 < 8.1 at d_k = 64")
    for text in (repr(shown), shown._repr_html_()):
        assert "sqrt-1" in text
        assert f"{outcome}." in text
        assert SIGNS[outcome] in text
    assert "8.01 < 8.1" in repr(shown)
    assert "8.01 &lt; 8.1" in shown._repr_html_()


@pytest.mark.parametrize(
    ("claim", "outcome", "measured", "offender"),
    [
        ("sqrt-99", "holds", "8.01", "sqrt-99"),
        ("sqrt-1", "true", "8.01", "true"),
        ("sqrt-1", "holds", " ", "measured"),
    ],
)
def test_a_bad_verdict_names_what_is_wrong(claim, outcome, measured, offender):
    with pytest.raises(ValueError, match=offender):
        verdict(claim, outcome, measured=measured)
