"""The claims and their verdicts."""

import re

import pytest
import torch

from attention_live.trial import CLAIMS, SIGNS, Verdict, verdict


def test_every_claim_has_an_id_its_notes_and_a_statement():
    assert len(CLAIMS) > 60
    for claim, entry in CLAIMS.items():
        assert re.fullmatch(r"[a-z]+-\d+", claim)
        assert set(entry) == {"notes", "statement"}
        assert set(entry["notes"].split()) <= set("ABC")
        assert len(entry["statement"]) > 20


@pytest.mark.parametrize("outcome", SIGNS)
def test_verdict_shows_the_claim_the_outcome_and_the_number(outcome):
    shown = verdict("sqrt-1", outcome, because=True, measured="spread 8.01 < 8.1 at d_k = 64")
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
        verdict(claim, outcome, because=True, measured=measured)


@pytest.mark.parametrize("outcome", SIGNS)
def test_a_verdict_is_read_from_what_it_shows(outcome):
    given = verdict("sqrt-1", outcome, because=True, measured="8.01 < 8.1.\nMeasured: again")
    assert Verdict.read(repr(given)) == given
    assert Verdict.read(f"So: {given!r}") is None
    assert Verdict.read(repr(given).replace(outcome, "is true")) is None


def test_every_kind_of_verdict_has_a_word_of_its_own():
    assert [Verdict("sqrt-1", outcome, "8").kind for outcome in SIGNS] == ["holds", "limit", "fails"]


@pytest.mark.parametrize(
    "because",
    [True, [True], [0.2 < 0.3, torch.tensor(1.0) > 0, torch.tensor([1.0, 2.0]).max() == 2]],
)
def test_a_verdict_rests_on_conditions(because):
    assert verdict("sqrt-1", "holds", because=because, measured="8.01") == Verdict("sqrt-1", "holds", "8.01")


@pytest.mark.parametrize(
    ("because", "number"),
    [
        (False, "1 of 1"),
        (torch.tensor(1.0) > 2, "1 of 1"),
        ([True, torch.tensor(1.0) > 2, True], "2 of 3"),
        ([True, True, False], "3 of 3"),
    ],
)
def test_a_verdict_without_its_reason_is_refused(because, number):
    with pytest.raises(AssertionError, match=rf"'fails' on 'sqrt-1' .* condition {number} .* not met"):
        verdict("sqrt-1", "fails", because=because, measured="8.01")


@pytest.mark.parametrize(
    ("because", "said"),
    [
        ([], "on 'sqrt-1' .* `because` is empty"),
        ("it is so", "1 of 1 .* on 'sqrt-1' .* 'it is so'"),
        ([True, 0.3], "2 of 2 .* 0.3"),
        (None, "1 of 1 .* None"),
        (torch.tensor(0.3), r"1 of 1 .* tensor\(0.3"),
        (torch.tensor([True, True]), "1 of 1 .* tensor"),
        ([[False]], r"1 of 1 .* \[False\]"),
    ],
)
def test_a_reason_has_to_be_a_condition(because, said):
    with pytest.raises(TypeError, match=said):
        verdict("sqrt-1", "holds", because=because, measured="8.01")
