"""The positions explorer: its arithmetic against torch, its traits, and the figure on a page with no kernel."""

import math

import pytest
import torch
from explorer_helpers import equal, javascript, refuses
from playwright.sync_api import expect

from attention_live.explorers import PositionsExplorer
from attention_live.explorers.base import FOLDER
from attention_live.explorers.positions import BASES, LARGEST_OFFSET, LAST_POSITION, WIDTHS
from attention_live.positional import sinusoidal_encoding

pytest_plugins = ["browser"]

MODULE = "positions.mjs"


# The arithmetic


@pytest.mark.parametrize("d_model", WIDTHS)
@pytest.mark.parametrize("base", BASES)
def test_codes_are_those_of_the_package(d_model, base):
    [frequencies] = javascript(MODULE, "frequencies", (d_model, base))
    codes = javascript(MODULE, "code", *[(position, frequencies) for position in range(64)])
    equal(codes, sinusoidal_encoding(64, d_model, base).double())


@pytest.mark.parametrize(("d_model", "base"), [(4, 10), (32, 10_000)])
def test_likeness_is_the_dot_product_of_codes_as_a_part_of_the_largest(d_model, base):
    [frequencies] = javascript(MODULE, "frequencies", (d_model, base))
    distances = range(-63, 64)
    found = javascript(MODULE, "likeness", *[(distance, frequencies) for distance in distances])
    codes = sinusoidal_encoding(64, d_model, base).double()
    products = codes @ codes.T / (d_model / 2)
    assert products.max() == pytest.approx(1)
    for distance, part in zip(distances, found, strict=True):
        assert torch.allclose(products.diagonal(distance), torch.tensor(part).double(), rtol=0, atol=1e-6)


def test_chosen_pairs_begin_and_end_with_the_first_and_the_last():
    found = javascript(MODULE, "chosenPairs", (2, 4), (4, 4), (8, 4), (32, 4))
    assert found == [[0, 1], [0, 1, 2, 3], [0, 2, 5, 7], [0, 10, 21, 31]]


def test_angles_and_numbers_are_readable():
    turns = [0, 1e-5, 0.01, 0.1, 1, math.pi, 2 * math.pi + 1]
    expected = ["0°", "<0.01°", "0.57°", "5.7°", "57°", "180°", "57°"]
    assert javascript(MODULE, "degrees", *[[turn] for turn in turns]) == expected
    assert javascript(MODULE, "grouped", [10], [1000], [1035333.2]) == ["10", "1,000", "1,035,333"]


def test_the_sentence_says_what_is_seen():
    states = [
        {"d_model": 4, "base": 100, "position": 10, "offset": 3},
        {"d_model": 4, "base": 100, "position": 7, "offset": 0},
    ]
    first, second = javascript(MODULE, "describe", *[[state] for state in states])
    part = (math.cos(3) + math.cos(0.3)) / 2
    assert first == (
        f"The codes of positions 10 and 13 have {part:.2f} of the largest possible dot product, ".replace("-", "−")
        + "and so have those of any two positions 3 apart. "
        "The fastest hand needs 6.28 positions for one turn, the slowest 63."
    )
    assert "have 1.00 of the largest possible dot product, and so has the code of any position with itself." in second


# The traits


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("d_model", 7, "d_model must be one of [4, 8, 16, 32, 64], got 7"),
        ("base", 500, "base must be one of [10, 100, 1000, 10000], got 500"),
        ("position", 41, "position must be from 0 to 40, got 41"),
        ("position", -1, "position must be from 0 to 40, got -1"),
        ("offset", 24, "offset must be from 0 to 23, got 24"),
        ("offset", -1, "offset must be from 0 to 23, got -1"),
    ],
)
def test_bad_input_names_the_rule_and_the_offender_and_changes_nothing(name, value, message):
    refuses(PositionsExplorer(), name, value, message)


def test_python_and_javascript_agree_on_what_there_is():
    source = (FOLDER / MODULE).read_text(encoding="utf-8")
    assert f"const WIDTHS = {WIDTHS};" in source
    assert f"const BASES = {BASES};" in source
    assert f"const LAST_POSITION = {LAST_POSITION};" in source
    assert f"const LARGEST_OFFSET = {LARGEST_OFFSET};" in source


# The figure on a page with no kernel


def sentence(page):
    return page.locator(".sentence")


def angles(page):
    return page.locator(".hands text.angle").all_text_contents()


def test_moving_both_positions_keeps_the_angles_and_the_product(open_page):
    page = open_page(PositionsExplorer(d_model=8, base=100, position=5, offset=3))
    hands = page.locator(".hands .hand").first
    tip = hands.get_attribute("x2")  # waits for the figure, as reading all angles does not
    before = angles(page)
    part = page.locator(".product text.key").text_content()
    page.get_by_role("slider", name="First position").press("ArrowRight")
    expect(sentence(page)).to_contain_text("The codes of positions 6 and 9 have")
    assert hands.get_attribute("x2") != tip
    assert angles(page) == before == ["172°", "54°", "17°", "5.4°"]
    assert page.locator(".product text.key").text_content() == part
    assert page.errors == []


def test_the_offset_turns_the_second_hand(open_page):
    page = open_page(PositionsExplorer(d_model=4, base=10, offset=1))
    offset = page.get_by_role("slider", name="Offset of the second")
    offset.press("ArrowRight")
    expect(sentence(page)).to_contain_text("The codes of positions 10 and 12 have")
    expect(page.locator(".hands text.angle").first).to_have_text("115°")
    offset.press("Home")
    expect(page.locator(".hands text.angle").first).to_have_text("0°")
    page.get_by_role("button", name="Reset").click()
    expect(page.locator(".hands text.angle").first).to_have_text("57°")


def test_width_and_base_are_chosen_with_mouse_and_keyboard(open_page):
    page = open_page(PositionsExplorer())
    cells = page.locator(".map rect[fill-opacity]")
    expect(cells).to_have_count(64 * 16)
    page.get_by_role("radio", name="4", exact=True).check()
    expect(cells).to_have_count(64 * 4)
    expect(page.locator(".hands .dial:visible")).to_have_count(2)
    page.keyboard.press("ArrowRight")
    expect(cells).to_have_count(64 * 8)
    page.get_by_role("radio", name="100", exact=True).check()
    expect(sentence(page)).to_contain_text("the slowest 199.")
    assert page.errors == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 760])
def test_it_fits_and_is_accessible(open_page, check_page, width, scheme):
    extreme = PositionsExplorer(d_model=64, base=10, position=40, offset=23)
    page = open_page(PositionsExplorer(), extreme, width=width, color_scheme=scheme)
    check_page(page)
