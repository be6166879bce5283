"""The heads explorer: its arithmetic against torch, its traits, and the figure on a page."""

import pytest
import torch
from explorer_helpers import equal, javascript, refuses, vectors
from playwright.sync_api import expect

from attention_live.explorers import HeadsExplorer

pytest_plugins = ["browser"]

MODULE = "heads.mjs"
TOKENS = ["(a", "[c", "b]", "d)"]


def weights(layers=2, heads=3, tokens=4):
    """Random weights whose rows sum to 1."""
    return torch.softmax(2 * vectors(layers, heads, tokens, tokens, seed=layers), dim=-1)


# The arithmetic


def test_entropy_is_that_of_torch_with_weights_of_0_too():
    heads = torch.cat([weights(1, 5, 7)[0], torch.eye(7, dtype=torch.float64)[None]])
    equal(javascript(MODULE, "entropy", *[[row.tolist()] for row in heads[0]]), torch.special.entr(heads[0]).sum(-1))
    expected = torch.special.entr(heads).sum(-1).mean(-1)
    equal(javascript(MODULE, "headEntropy", *[[head.tolist()] for head in heads]), expected)
    assert expected[-1] == 0


def test_the_favourite_is_the_first_key_of_the_largest_weight():
    rows = weights(1, 1, 11)[0, 0]
    assert javascript(MODULE, "favourite", *[[row.tolist()] for row in rows]) == rows.argmax(-1).tolist()
    assert javascript(MODULE, "favourite", [[0.2, 0.4, 0.4]]) == [1]


def test_the_sentence_says_where_each_head_looks():
    state = HeadsExplorer(
        tokens=["a", "b"],
        weights=[[[[1, 0], [0, 1]], [[0, 1], [1, 0]]], [[[0.5, 0.5], [0.25, 0.75]], [[0.1, 0.9], [0.3, 0.7]]]],
    ).state()
    found = javascript(MODULE, "describe", [state], [state | {"layer": 1, "token": 1}])
    assert found == [
        "Layer 1, from a: head 1 looks mostly at a, 1.00; head 2 at b, 1.00.",
        "Layer 2, from b: head 1 looks mostly at b, 0.75; head 2 at b, 0.70.",
    ]


# The traits


def test_tensors_are_kept_with_three_decimals():
    explorer = HeadsExplorer(tokens=TOKENS, weights=weights().requires_grad_())
    torch.testing.assert_close(torch.tensor(explorer.weights), weights().float(), rtol=0, atol=0.00051)
    assert max(len(repr(w)) for layer in explorer.weights for head in layer for row in head for w in row) <= 5


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("token", 4, "token must be from 0 to 3, got 4"),
        ("token", -1, "token must be from 0 to 3, got -1"),
        ("layer", 2, "layer must be from 0 to 1, got 2"),
        ("tokens", ["a", "b"], "weights are for 4 tokens, but there are 2 tokens"),
        ("weights", weights(2, 3, 5), "weights are for 5 tokens, but there are 4 tokens"),
        ("weights", weights()[0], "weights must have four axes (layers, heads, queries, keys)"),
        ("weights", [], "weights must have four axes (layers, heads, queries, keys)"),
        ("weights", "no weights", "weights must have four axes (layers, heads, queries, keys)"),
        ("weights", weights()[..., :3], "weights must have as many keys as queries, got 3 and 4"),
        ("weights", [[[[1.0]]], [[[1.0]], [[1.0]]]], "weights must be regular, but the number of heads is [1, 2]"),
        ("weights", [[[[1.5]]]], "weights must be numbers from 0 to 1, got 1.5"),
        ("weights", [[[[float("nan")]]]], "weights must be numbers from 0 to 1, got nan"),
        ("weights", [[[[True]]]], "weights must be numbers from 0 to 1, got True"),
        ("weights", weights() / 2, "weights of a query must sum to 1, got 0.500"),
    ],
)
def test_bad_input_names_the_rule_and_the_offender_and_changes_nothing(name, value, message):
    refuses(HeadsExplorer(tokens=TOKENS, weights=weights()), name, value, message)


def test_tokens_and_weights_may_change_together():
    explorer = HeadsExplorer(tokens=TOKENS, weights=weights())
    with explorer.hold_trait_notifications():
        explorer.tokens, explorer.weights = ["a", "b"], weights(1, 1, 2)
    assert explorer.tokens == ["a", "b"]


# The figure on a page with no kernel


def test_layers_and_tokens_answer_the_keyboard(open_page):
    page = open_page(HeadsExplorer(tokens=TOKENS, weights=weights()))
    sentence = page.locator(".sentence")
    expect(sentence).to_contain_text("Layer 1, from (a:")
    page.get_by_role("radio", name="(a").press("ArrowRight")
    expect(sentence).to_contain_text("Layer 1, from [c:")
    page.get_by_role("radio", name="1", exact=True).press("ArrowRight")
    expect(sentence).to_contain_text("Layer 2, from [c:")
    expect(page.get_by_role("img", name="Head 3: [c looks mostly at")).to_be_visible()
    assert page.errors == []


def test_pointing_shows_a_token_for_the_moment_and_a_click_chooses_it(open_page):
    page = open_page(HeadsExplorer(tokens=TOKENS, weights=weights()))
    sentence = page.locator(".sentence")
    page.locator(".card").nth(1).locator(".asking").nth(2).hover()
    expect(sentence).to_contain_text("from b]:")
    page.mouse.move(2, 2)
    expect(sentence).to_contain_text("from (a:")
    page.locator(".card").nth(2).locator(".asking").nth(3).click()
    page.mouse.move(2, 2)
    expect(sentence).to_contain_text("from d):")
    expect(page.get_by_role("radio", name="d)")).to_be_checked()


def test_lines_and_shades_are_the_weights(open_page):
    page = open_page(HeadsExplorer(tokens=["a", "b"], weights=[[[[0.25, 0.75], [1.0, 0.0]]]]))
    shades = page.locator(".asked rect").evaluate_all("shades => shades.map(s => s.getAttribute('fill-opacity'))")
    assert shades == ["0.113", "0.338"]  # 0.45 · weight of the token that asks
    lines = page.locator(".card line").evaluate_all(
        "lines => lines.map(l => [l.getAttribute('stroke-opacity'), l.getAttribute('display')])"
    )
    assert lines == [["0.250", "inline"], ["0.750", "inline"], ["0.300", "inline"], ["0.000", "none"]]


def test_tokens_are_text_and_never_markup(open_page):
    page = open_page(HeadsExplorer(tokens=["<b>a</b>", "&amp;"], weights=[[[[1.0, 0.0], [0.0, 1.0]]]]))
    expect(page.locator(".sentence")).to_contain_text("from <b>a</b>: head 1 looks mostly at <b>a</b>")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 760])
def test_it_fits_and_is_accessible(open_page, check_page, width, scheme):
    page = open_page(HeadsExplorer(tokens=TOKENS, weights=weights(2, 8)), width=width, color_scheme=scheme)
    check_page(page)
