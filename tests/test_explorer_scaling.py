"""The scaling explorer: its arithmetic against torch, its traits, and the figure on a page with no kernel."""

import json
import re

import pytest
import torch
from explorer_helpers import equal, javascript, refuses, vectors
from playwright.sync_api import expect

from attention_live.explorers import ScalingExplorer
from attention_live.explorers.base import FOLDER
from attention_live.explorers.scaling import DIVISORS, QUERIES, WIDTHS

pytest_plugins = ["browser"]

MODULE = "scaling.mjs"


# The arithmetic


def normals(count):
    """The first of the explorer's random numbers, computed apart from it: on 32 bits, then by Box and Muller."""
    low = 2**32 - 1
    bits = (torch.arange(1, 2 * count + 1, dtype=torch.int64) * 0x6D2B79F5) & low
    bits = times(bits ^ (bits >> 15), bits | 1)
    bits ^= (bits + times(bits ^ (bits >> 7), bits | 61)) & low
    even, odd = ((bits ^ (bits >> 14)).double() + 0.5).div(2**32).view(-1, 2).T
    return (-2 * even.log()).sqrt() * (2 * torch.pi * odd).cos()


def times(a, b):
    """The last 32 bits of a product, with no overflow on the way."""
    return (a * (b & 0xFFFF) + ((a * (b >> 16) & 0xFFFF) << 16)) & (2**32 - 1)


def test_the_random_numbers_are_standard_normal_and_always_the_same():
    expected = normals(500_000)
    equal(javascript(MODULE, "normal", *[[i] for i in range(5000)]), expected[:5000])
    assert abs(expected.mean()) < 0.01
    assert abs(expected.std() - 1) < 0.01
    assert abs(expected.pow(4).mean() - 3) < 0.05
    assert abs((expected[:-1] * expected[1:]).mean()) < 0.01


def test_dot_products_of_all_widths():
    levels, queries, keys = 6, 3, 7
    (products,) = javascript(MODULE, "dotProducts", (levels, queries, keys))
    # One component of a query, then the same component of its keys; then the next query; then the next component.
    components = normals(2 ** (levels - 1) * queries * (1 + keys)).view(-1, queries, 1 + keys)
    q, k = components[..., :1], components[..., 1:]
    for level, product in enumerate(products):
        equal(product, (q * k)[: 2**level].sum(dim=0))


@pytest.mark.parametrize(("divide_by", "expected"), [("nothing", 1), ("√d_k", 8), ("d_k", 64)])
def test_divisor(divide_by, expected):
    assert javascript(MODULE, "divisor", (divide_by, 64)) == [expected]
    assert divide_by in DIVISORS


@pytest.mark.parametrize("size", [1e-3, 1.0, 8.0, 1000.0])
def test_jacobian_norm(size):
    weights = torch.softmax(size * vectors(11, 7, seed=1), dim=-1)
    jacobians = torch.diag_embed(weights) - weights[:, :, None] * weights[:, None, :]
    equal(javascript(MODULE, "jacobianNorm", *[[row.tolist()] for row in weights]), jacobians.flatten(1).norm(dim=1))


def test_the_norm_is_largest_when_two_keys_share():
    norms = javascript(MODULE, "jacobianNorm", [[0.5, 0.5, 0]], [[1, 0, 0]], [[1 / 3] * 3], [[0.25] * 4])
    equal(norms, torch.tensor([0.5, 0, 2**0.5 / 3, 3**0.5 / 4], dtype=torch.float64))
    weights = torch.softmax(5 * vectors(200, 8, seed=2), dim=-1)
    assert max(javascript(MODULE, "jacobianNorm", *[[row.tolist()] for row in weights])) <= 0.5


@pytest.mark.parametrize("queries", [1, 4, 5])
def test_measure(queries):
    products, factor = 5 * vectors(queries, 7, seed=3), 0.37
    (found,) = javascript(MODULE, "measure", (products.tolist(), factor))
    weights = torch.softmax(factor * products, dim=-1)
    norms = torch.stack([torch.autograd.functional.jacobian(lambda s: s.softmax(0), row) for row in factor * products])
    norms = norms.flatten(1).norm(dim=1)
    equal(found["scores"], factor * products)
    equal(found["weights"], weights)
    equal(found["norms"], norms)
    equal(found["std"], (factor * products).square().mean().sqrt())
    equal(found["largest"], weights.amax(dim=-1).mean())
    equal(found["median"], norms.quantile(0.5))


def test_histogram_loses_nothing():
    numbers = [-13, -12, -11.9, -0.1, 0, 0.4, 11.99, 12, 50]
    (found,) = javascript(MODULE, "histogram", (numbers, 12, 4))
    assert found == {"below": 1, "counts": [2, 1, 2, 1], "above": 2}
    scores = 8 * vectors(1000, seed=4)
    (found,) = javascript(MODULE, "histogram", (scores.tolist(), 12, 48))
    expected = torch.histogram(scores[scores.abs() < 12], bins=48, range=(-12.0, 12.0)).hist
    equal(found["counts"], expected)
    assert found["below"] + sum(found["counts"]) + found["above"] == 1000


def test_the_sentence_says_what_happened():
    found = {"std": 8.1, "largest": 0.913, "norms": [0.2, 0.004, 0.0, 0.3]}
    sentences = javascript(
        MODULE,
        "describe",
        ({"d_k": 64, "divide_by": "nothing"}, found),
        ({"d_k": 64, "divide_by": "√d_k"}, found | {"norms": [0.3, 0.4]}),
        ({"d_k": 4, "divide_by": "d_k"}, found),
    )
    assert sentences == [
        "With d_k = 64, undivided, scores have a standard deviation of 8.10. A query's best key gets 0.91 on average, "
        "and 2 of 4 queries let next to no gradient through.",
        "With d_k = 64, divided by 8.00, scores have a standard deviation of 8.10. A query's best key gets 0.91 on "
        "average, and every query lets its gradient through.",
        "With d_k = 4, divided by 4, scores have a standard deviation of 8.10. A query's best key gets 0.91 on "
        "average, and 2 of 4 queries let next to no gradient through.",
    ]


# The traits


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("d_k", 48, "d_k must be a power of two from 1 to 1024, got 48"),
        ("d_k", 2048, "d_k must be a power of two from 1 to 1024, got 2048"),
        ("divide_by", "sqrt", "divide_by must be one of 'nothing', '√d_k', 'd_k', got 'sqrt'"),
        ("std", 0.0, "std must be from 0.25 to 4.0, got 0.0"),
        ("std", float("nan"), "std must be from 0.25 to 4.0, got nan"),
        ("query", 100, "query must be from 0 to 99, got 100"),
        ("query", -1, "query must be from 0 to 99, got -1"),
    ],
)
def test_bad_input_names_the_rule_and_the_offender_and_changes_nothing(name, value, message):
    refuses(ScalingExplorer(), name, value, message)


def test_python_and_javascript_agree_on_what_there_is():
    source = (FOLDER / MODULE).read_text(encoding="utf-8")
    assert f"const LEVELS = {len(WIDTHS)};" in source
    assert f"const QUERIES = {QUERIES};" in source
    assert f"const DIVISORS = {json.dumps(DIVISORS, ensure_ascii=False)};" in source


# The figure on a page with no kernel


def sentence(page):
    return page.locator(".sentence")


def test_the_divisor_is_chosen_with_mouse_and_keyboard(open_page):
    page = open_page(ScalingExplorer())
    expect(sentence(page)).to_contain_text("With d_k = 64, undivided, scores have a standard deviation of 8.10")
    page.get_by_role("radio", name="√d_k").click()
    expect(sentence(page)).to_contain_text("divided by 8.00, scores have a standard deviation of 1.01")
    page.keyboard.press("ArrowRight")
    expect(sentence(page)).to_contain_text("divided by 64, scores have a standard deviation of 0.13")
    assert page.errors == []


def test_the_sliders_change_width_and_spread(open_page):
    page = open_page(ScalingExplorer())
    width = page.get_by_role("slider", name="Width d_k")
    assert width.get_attribute("aria-valuetext") == "64"
    width.press("ArrowRight")
    expect(sentence(page)).to_contain_text("With d_k = 128")
    width.press("Home")
    expect(sentence(page)).to_contain_text("With d_k = 1, undivided")
    spread = page.get_by_role("slider", name="Spread of q and k")
    spread.press("End")
    assert spread.get_attribute("aria-valuetext") == "3.98"
    spread.press("Home")
    assert spread.get_attribute("aria-valuetext") == "0.251"
    page.get_by_role("button", name="Reset").click()
    expect(sentence(page)).to_contain_text("With d_k = 64, undivided, scores have a standard deviation of 8.10")
    spread.press("End")  # 3.98 in q and in k
    expect(sentence(page)).to_contain_text("scores have a standard deviation of 128.")


def test_the_chart_names_what_lies_beyond_its_axis(open_page):
    page = open_page(ScalingExplorer())
    histogram = page.locator(".scores svg")
    expect(histogram).to_have_attribute(
        "aria-label", "Histogram of the scores: standard deviation 8.10, 6% below −12, 6% above 12"
    )
    expect(histogram.locator("text.beyond").first).to_have_text("6%")
    page.get_by_role("radio", name="√d_k").click()
    expect(histogram).to_have_attribute("aria-label", re.compile("0% below −12, 0% above"))
    expect(histogram.locator("text.beyond").first).to_have_text("")


def test_the_next_query_shows_its_weights(open_page):
    page = open_page(ScalingExplorer(query=98))
    weights = page.locator(".weights td:last-child")
    before = weights.all_inner_texts()
    page.get_by_role("button", name="Next query").click()
    expect(page.get_by_text("query 100 of 100")).to_be_visible()
    assert weights.all_inner_texts() != before
    assert sum(map(float, weights.all_inner_texts())) == pytest.approx(1, abs=0.05)
    page.get_by_role("button", name="Next query").click()
    expect(page.get_by_text("query 1 of 100")).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 760])
def test_it_fits_and_is_accessible(open_page, check_page, width, scheme):
    page = open_page(ScalingExplorer(), ScalingExplorer(d_k=1024, divide_by="d_k"), width=width, color_scheme=scheme)
    check_page(page)
