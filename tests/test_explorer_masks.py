"""The masks explorer: its arithmetic against the package, its traits, and the figure on a page with no kernel."""

import itertools
import math
import re

import pytest
import torch
from explorer_helpers import equal, javascript, refuses
from playwright.sync_api import expect

from attention_live.attention import masked_softmax
from attention_live.explorers import MasksExplorer
from attention_live.explorers.base import FOLDER
from attention_live.explorers.masks import CONVENTIONS, POSITIONS
from attention_live.masks import causal_mask, padding_mask, sliding_window_mask

pytest_plugins = ["browser"]

MODULE = "masks.mjs"


# The arithmetic


def book_mask(length, causal, window):
    mask = padding_mask([length], POSITIONS)[0, 0] & sliding_window_mask(POSITIONS, window=window)
    return mask & causal_mask(POSITIONS) if causal else mask


def test_masks_are_those_of_the_package():
    settings = list(itertools.product(range(POSITIONS + 1), [False, True], range(1, POSITIONS + 1)))
    found = javascript(MODULE, "maskOf", *settings)
    for setting, mask in zip(settings, found, strict=True):
        assert torch.equal(torch.tensor(mask), book_mask(*setting)), setting


@pytest.mark.parametrize("convention", CONVENTIONS)
def test_weights_are_those_of_the_package(convention):
    settings = [(6, False, 6), (4, True, 6), (3, False, 2), (0, False, 6), (6, True, 1)]
    masks = torch.stack([book_mask(*setting) for setting in settings])
    allowed = torch.tensor(javascript(MODULE, "obeyed", *[(mask, convention) for mask in masks.tolist()]))
    assert torch.equal(allowed, masks if convention == "attend" else ~masks)
    scores = torch.tensor(javascript(MODULE, "scoresOf", [1]), dtype=torch.float64)[0]
    expected = masked_softmax(scores.expand(masks.shape), allowed)
    weights = javascript(MODULE, "weightsOf", *[(scores.tolist(), mask) for mask in allowed.tolist()])
    equal(weights, expected)
    rows = javascript(MODULE, "emptyRows", *[[mask] for mask in allowed.tolist()])
    assert rows == [(~mask.any(dim=1)).nonzero()[:, 0].tolist() for mask in allowed]
    parts = javascript(MODULE, "misplaced", *zip(masks.tolist(), weights, strict=True))
    sums = torch.where(masks, 0.0, expected).sum(dim=(1, 2)) / expected.sum(dim=(1, 2))
    equal(parts, sums.nan_to_num(0.0))


def test_scores_depend_on_query_key_and_sentence():
    [scores] = javascript(MODULE, "scoresOf", [1])
    assert scores[2][3] == pytest.approx(1.2 * math.sin(1 + 4 + 9 + 4))


def state(**changes):
    return {"lengths": [6, 4], "causal": False, "window": 6, "convention": "attend"} | changes


def test_the_sentence_says_what_is_seen():
    padded, everything, both = javascript(
        MODULE,
        "describe",
        [state()],
        [state(lengths=[6, 6])],
        [state(causal=True, window=3, convention="hide")],
    )
    assert padded == (
        "By the mask, a query may attend only to a key that is no pad. The softmax reads True as “may attend”, "
        "and 0% of the weight goes where the mask meant to hide."
    )
    assert "may attend to every key." in everything
    assert "a key that is no pad, is not in the future and is less than 3 steps away." in both
    assert "True as “hide”, and 100% of the weight goes" in both


def test_the_warning_names_the_rows_that_see_nothing():
    fine, far, wrong = javascript(
        MODULE,
        "warn",
        [state()],
        [state(lengths=[6, 3], window=2)],
        [state(lengths=[6, 6], causal=True, convention="hide")],
    )
    assert fine == {"on": False, "text": "Every query sees a key: each row of weights adds up to 1."}
    assert far["on"]
    assert far["text"].startswith("No key is left for 2 queries of sentence 2. A plain softmax makes NaN")
    assert "for 1 query of sentence 1, and for 1 query of sentence 2." in wrong["text"]


# The traits


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("lengths", [6, 7], "lengths must be two numbers from 0 to 6, got [6, 7]"),
        ("lengths", [-1, 6], "lengths must be two numbers from 0 to 6, got [-1, 6]"),
        ("lengths", [6], "lengths must be two numbers from 0 to 6, got [6]"),
        ("window", 0, "window must be from 1 to 6, got 0"),
        ("window", 7, "window must be from 1 to 6, got 7"),
        ("convention", "see", "convention must be one of ['attend', 'hide'], got 'see'"),
    ],
)
def test_bad_input_names_the_rule_and_the_offender_and_changes_nothing(name, value, message):
    refuses(MasksExplorer(), name, value, message)


def test_python_and_javascript_agree_on_what_there_is():
    source = (FOLDER / MODULE).read_text(encoding="utf-8")
    assert f"const POSITIONS = {POSITIONS};" in source
    assert f"const CONVENTIONS = {CONVENTIONS};".replace("'", '"') in source


# The figure on a page with no kernel


def weights(page, sentence):
    return page.get_by_role("img", name=f"Weights of sentence {sentence}")


def test_padding_causal_and_window_change_the_weights(open_page):
    page = open_page(MasksExplorer())
    expect(weights(page, 2)).to_have_attribute("aria-label", re.compile("see 4, 4, 4, 4, 4, 4 keys"))
    page.get_by_role("slider", name="Real words of sentence 2").press("ArrowLeft")
    expect(weights(page, 2)).to_have_attribute("aria-label", re.compile("see 3, 3, 3, 3, 3, 3 keys"))
    page.get_by_role("radio", name="hidden").check()
    expect(weights(page, 1)).to_have_attribute("aria-label", re.compile("see 1, 2, 3, 4, 5, 6 keys"))
    window = page.get_by_role("slider", name="Window")
    assert window.get_attribute("aria-valuetext") == "none"
    window.press("Home")
    window.press("ArrowRight")
    expect(weights(page, 1)).to_have_attribute("aria-label", re.compile("see 1, 2, 2, 2, 2, 2 keys"))
    expect(page.locator(".warning")).to_contain_text("No key is left for 2 queries of sentence 2.")
    expect(page.locator("text.empty:visible")).to_have_count(2)
    page.get_by_role("button", name="Reset").click()
    expect(page.locator(".warning")).to_contain_text("Every query sees a key")
    expect(page.locator("text.empty:visible")).to_have_count(0)
    assert page.errors == []


def test_the_convention_turns_the_weights_over_and_not_the_mask(open_page):
    page = open_page(MasksExplorer(lengths=[5, 4]))
    mask = page.get_by_role("img", name="Mask of sentence 1: 30 of 36 entries are True")
    page.get_by_role("radio", name="hide", exact=True).check()
    expect(page.locator(".sentence")).to_contain_text("100% of the weight goes where the mask meant to hide.")
    expect(weights(page, 1)).to_have_attribute("aria-label", re.compile("see 1, 1, 1, 1, 1, 1 keys"))
    expect(mask).to_have_count(1)
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".sentence")).to_contain_text("0% of the weight goes where")
    assert page.errors == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 760])
def test_it_fits_and_is_accessible(open_page, check_page, width, scheme):
    empty = MasksExplorer(lengths=[0, 3], causal=True, window=2, convention="hide")
    page = open_page(MasksExplorer(), empty, width=width, color_scheme=scheme)
    check_page(page)
