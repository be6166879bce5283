"""The gradient-reach explorer: its arithmetic against torch's autograd, its traits, and the figure on a page."""

import re

import pytest
import torch
from explorer_helpers import equal, javascript, refuses
from playwright.sync_api import expect

from attention_live.explorers import GradientReachExplorer
from attention_live.explorers.base import FOLDER

pytest_plugins = ["browser"]

MODULE = "gradient_reach.mjs"

# The arithmetic


@pytest.mark.parametrize(("weight", "activation"), [(0.9, 0.0), (1.5, 0.6), (2.0, 0.95), (0.3, 0.2), (1.1, 0.1)])
def test_what_is_left_is_the_gradient_of_a_recurrent_network(weight, activation):
    """A network of width 1 whose inputs hold its state at `activation`, and PyTorch's gradient of its last state."""
    state = torch.tensor(activation, dtype=torch.float64)
    inputs = (torch.atanh(state) - weight * state).repeat(12)
    h, states = state.requires_grad_(), []
    for x in inputs:
        states.append(h)
        h = torch.tanh(weight * h + x)
    gradients = torch.stack(torch.autograd.grad(h, states))
    [left] = javascript(MODULE, "profile", (weight, activation, 12))
    equal(left[1:], gradients.flip(0))
    assert left[0] == 1
    [step] = javascript(MODULE, "factor", (weight, activation))
    assert step == pytest.approx(left[1])


def test_each_positions_part_is_that_of_the_largest_the_last_position_last():
    found = javascript(MODULE, "relative", [[1, 0.5, 0.25]], [[1, 2, 4]], [[1, 0, 0]])
    assert found == [[0.25, 0.5, 1], [1, 0.5, 0.25], [0, 0, 1]]


def test_numbers_are_readable_at_any_size():
    numbers = [0, 0.001, 0.12158, 1, 12.66, 999, 0.00034, 2.5e-13, 1.16e18, 1000]
    expected = ["0", "0.001", "0.122", "1", "12.7", "999", "3.4 × 10⁻⁴", "2.5 × 10⁻¹³", "1.2 × 10¹⁸", "1.0 × 10³"]
    assert javascript(MODULE, "readable", *[[x] for x in numbers]) == expected


def test_the_sentence_says_what_is_left():
    states = [
        {"weight": 0.9, "activation": 0.0, "distance": 20},
        {"weight": 0.5, "activation": 0.5, "distance": 30},
        {"weight": 1.5, "activation": 0.0, "distance": 40},
        {"weight": 1.0, "activation": 0.0, "distance": 1},
    ]
    found = javascript(MODULE, "describe", *[[state] for state in states])
    attention = "An attention layer that looks at these {} tokens alike hands each of them {}, near or far."
    assert found == [
        "Each step multiplies the gradient by 0.9. After 20 steps, 0.122 of it is left. "
        + attention.format(21, 0.0476),
        "Each step multiplies the gradient by 0.375. After 30 steps, 1.7 × 10⁻¹³ of it is left: "
        "less than a 32-bit number can hold beside a 1. " + attention.format(31, 0.0323),
        "Each step multiplies the gradient by 1.5. After 40 steps, it is 1.1 × 10⁷ times as large: it has exploded. "
        + attention.format(41, 0.0244),
        "Each step multiplies the gradient by 1. After 1 step, 1 of it is left. " + attention.format(2, 0.5),
    ]


# The traits


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("weight", -0.1, "weight must be from 0 to 2, got -0.1"),
        ("weight", 2.5, "weight must be from 0 to 2, got 2.5"),
        ("weight", float("nan"), "weight must be from 0 to 2, got nan"),
        ("activation", 1.0, "activation must be from 0 to 0.95, got 1.0"),
        ("distance", 0, "distance must be from 1 to 60, got 0"),
        ("distance", 61, "distance must be from 1 to 60, got 61"),
    ],
)
def test_bad_input_names_the_rule_and_the_offender_and_changes_nothing(name, value, message):
    refuses(GradientReachExplorer(), name, value, message)


def test_the_limits_are_the_same_in_both_languages():
    javascript_text, python_text = ((FOLDER / f"gradient_reach.{kind}").read_text("utf-8") for kind in ("mjs", "py"))
    for name in ("WEIGHT", "ACTIVATION", "DISTANCE"):
        in_javascript = re.search(rf"^const {name} = ([\d.]+);", javascript_text, re.MULTILINE)
        assert in_javascript[1] == re.search(rf"^{name} = (.+)$", python_text, re.MULTILINE)[1]


# The figure on a page with no kernel


def test_the_sliders_answer_the_keyboard(open_page):
    page = open_page(GradientReachExplorer())
    sentence = page.locator(".sentence")
    expect(sentence).to_contain_text("After 20 steps, 0.122 of it is left.")
    page.get_by_role("slider", name="Distance in steps").press("ArrowRight")
    expect(sentence).to_contain_text("After 21 steps, 0.109 of it is left.")
    page.get_by_role("slider", name="Recurrent weight w").press("End")
    expect(sentence).to_contain_text("it has exploded")
    activation = page.get_by_role("slider", name="Size of the states |h|")
    activation.press("End")
    expect(activation).to_have_attribute("aria-valuetext", "0.95")
    expect(page.locator(".product")).to_have_text("w × (1 − h²) = 2.00 × 0.0975 = 0.195")
    page.get_by_role("button", name="Reset").click()
    expect(sentence).to_contain_text("After 20 steps, 0.122 of it is left.")
    assert page.errors == []


def test_a_slider_answers_the_mouse(open_page):
    page = open_page(GradientReachExplorer())
    box = page.get_by_role("slider", name="Recurrent weight w").bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    expect(page.locator(".sentence")).to_contain_text("Each step multiplies the gradient by 1. After 20 steps, 1 of it")


def test_there_is_a_cell_for_each_token_and_the_far_ones_are_pale(open_page):
    page = open_page(GradientReachExplorer(weight=0.5, distance=4))
    shades = page.locator(".strip .cells.query rect").evaluate_all(
        "cells => cells.map(c => c.getAttribute('fill-opacity'))"
    )
    assert shades == ["0.063", "0.125", "0.250", "0.500", "1.000"]
    expect(page.locator(".strip .cells.key rect[fill-opacity='1.000']")).to_have_count(5)


@pytest.mark.parametrize("weight", [0.0, 0.05, 2.0])
@pytest.mark.parametrize("distance", [1, 60])
def test_the_extremes_are_drawn_inside_the_chart(open_page, weight, distance):
    page = open_page(GradientReachExplorer(weight=weight, distance=distance))
    drawn = page.locator(".chart polyline, .chart circle, .chart text.query, .chart text.key")
    chart = page.locator(".chart").bounding_box()
    for box in (shape.bounding_box() for shape in drawn.all()):
        assert chart["x"] <= box["x"]
        assert box["x"] + box["width"] <= chart["x"] + chart["width"]
        assert chart["y"] <= box["y"]
        assert box["y"] + box["height"] <= chart["y"] + chart["height"]
    assert page.errors == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 760])
def test_it_fits_and_is_accessible(open_page, check_page, width, scheme):
    page = open_page(GradientReachExplorer(), width=width, color_scheme=scheme)
    check_page(page)
