"""The explorers' JavaScript arithmetic, run in node and compared with torch."""

import pytest
import torch
from explorer_helpers import equal, javascript, vectors
from torch.nn import functional


@pytest.mark.parametrize("temperature", [1e-300, 1e-6, 0.01, 1.0, 31.6, 1e6])
@pytest.mark.parametrize("size", [1e-3, 1.0, 1000.0])
def test_softmax(size, temperature):
    scores = size * vectors(5, 7, seed=1)
    # Taken off the largest score first, as torch.softmax does: 1000 / 1e-300 alone would be infinite.
    expected = torch.softmax((scores - scores.amax(-1, keepdim=True)) / temperature, dim=-1)
    equal(javascript("lib/arithmetic.mjs", "softmax", *[(row.tolist(), temperature) for row in scores]), expected)


def test_softmax_of_extreme_and_of_equal_scores():
    rows = [[1000.0, -1000.0, 999.0], [-1000.0, -1000.0, -1000.0], [0.0, 1000.0, 1000.0]]
    equal(
        javascript("lib/arithmetic.mjs", "softmax", *[[row] for row in rows]),
        torch.softmax(torch.tensor(rows, dtype=torch.float64), dim=-1),
    )


@pytest.mark.parametrize("temperature", [0.01, 1.0, 100.0])
@pytest.mark.parametrize(("n", "d_k", "d_v"), [(1, 2, 2), (5, 2, 2), (7, 11, 13)])
def test_attend(n, d_k, d_v, temperature):
    query, keys, values = vectors(1, d_k, seed=2), 3 * vectors(n, d_k, seed=3), vectors(n, d_v, seed=4)
    (found,) = javascript(
        "lib/arithmetic.mjs", "attend", (query[0].tolist(), keys.tolist(), values.tolist(), temperature)
    )
    scores = (query @ keys.T)[0]
    equal(found["scores"], scores)
    equal(found["scaled"], scores / d_k**0.5)
    equal(found["tempered"], scores / d_k**0.5 / temperature)
    equal(found["weights"], torch.softmax(scores / d_k**0.5 / temperature, dim=-1))
    scale = 1 / (d_k**0.5 * temperature)
    equal(found["output"], functional.scaled_dot_product_attention(query, keys, values, scale=scale)[0])


def test_attend_stays_finite_at_the_limits_of_what_can_be_typed():
    (found,) = javascript(
        "lib/arithmetic.mjs", "attend", ([100, 100], [[100, 100], [-100, -100]], [[100, 0], [0, 100]], 0.01)
    )
    assert found["weights"] == [1, 0]
    assert found["output"] == [100, 0]


def test_convex_hull_has_the_outer_points_and_nothing_else():
    square = [[0, 0], [2, 0], [2, 2], [0, 2]]
    inside_and_on_an_edge = [[1, 1], [1, 0], [0.5, 1.5]]
    hulls = javascript(
        "lib/arithmetic.mjs",
        "convexHull",
        [square + inside_and_on_an_edge],
        [[[0, 0], [1, 1], [2, 2]]],
        [[[1, 1], [1, 1], [1, 1]]],
    )
    assert hulls == [square, [[0, 0], [2, 2]], [[1, 1], [1, 1]]]


def test_every_weighted_mean_lies_in_the_hull():
    points = vectors(13, 2, seed=5).tolist()
    (hull,) = javascript("lib/arithmetic.mjs", "convexHull", [points])
    weights = torch.softmax(3 * vectors(50, 13, seed=6), dim=-1)
    means = javascript("lib/arithmetic.mjs", "weightedMean", *[(row.tolist(), points) for row in weights])
    equal(means, weights @ torch.tensor(points, dtype=torch.float64))
    for (ax, ay), (bx, by) in zip(hull, hull[1:] + hull[:1], strict=True):
        assert all((bx - ax) * (y - ay) - (by - ay) * (x - ax) > -1e-9 for x, y in means)


def test_the_sentence_names_what_matters():
    tokens = ["the", "group", "went", "home"]
    sentences = javascript(
        "attention.mjs",
        "describe",
        (tokens, 2, {"weights": [0.13, 0.46, 0.0, 0.41], "output": [0.5, -1]}),
        (tokens, 0, {"weights": [0, 0, 0, 1], "output": [-0.001, 2]}),
        (tokens, 1, {"weights": [0.25, 0.25, 0.25, 0.25], "output": [0, 0]}),
        (tokens, 3, {"weights": [0.33, 0.3, 0.33, 0.04], "output": [1.256, 0]}),
    )
    assert sentences == [
        "went looks at group with 0.46 and home with 0.41; the output is (0.5, −1).",
        "the looks at home with 1.00; the output is (0, 2).",
        "group looks at all 4 tokens alike, each with 0.25; the output is (0, 0).",
        "home looks at the with 0.33, went with 0.33 and group with 0.30; the output is (1.26, 0).",
    ]


@pytest.mark.parametrize(
    ("name", "numbers", "expected"),
    [
        (
            "fixed",
            [0, -0.5, -0.001, 99.994, 212.13, -9999, 1.4e8],
            ["0.00", "−0.50", "0.00", "99.99", "212", "−9999", "1e8"],
        ),
        ("short", [0, -0.001, 1.5, -2, 0.126, 1000], ["0", "0", "1.5", "−2", "0.13", "1000"]),
        ("significant", [0.01, 1, 31.62, 100], ["0.0100", "1.00", "31.6", "100"]),
    ],
)
def test_numbers_as_a_reader_sees_them(name, numbers, expected):
    assert javascript("lib/format.mjs", name, *[[x] for x in numbers]) == expected
