"""The exercises of chapter 05, Positional encoding."""

import torch

from ..positional import RotaryPositions, interleaved_to_half, sinusoidal_encoding
from .engine import Case, Chapter, Mistake, randn

chapter = Chapter()
progress = chapter.progress
__dir__ = chapter.names

B, H, T, D, DK = 2, 3, 5, 7, 22


def _powers(d_model, base, exponent=lambda i, d: 2 * i / d, count=None):
    """1 / base^exponent for each pair i of a code."""
    i = torch.arange((d_model + 1) // 2 if count is None else count, dtype=torch.float64)
    return (base ** -exponent(i, d_model)).float()


frequencies = chapter.exercise(
    "5.1",
    "frequencies",
    reference=_powers,
    cases=[
        Case({"d_model": 4, "base": 100}),
        Case({"d_model": 8, "base": 10_000}),
        Case({"d_model": 22, "base": 500}, about="another base"),
    ],
    mistakes=[
        Mistake(
            "the exponent is i, not 2i",
            lambda d_model, base: _powers(d_model, base, lambda i, d: i / d),
            "the 2 in the exponent 2i / d_model is missing, so the waves cover only half of the range. Dimensions 2i "
            "and 2i + 1 share a frequency, and it is 2i that counts.",
        ),
        Mistake(
            "one frequency for each dimension",
            lambda d_model, base: _powers(d_model, base, lambda i, d: i / d, d_model),
            "these are d_model frequencies, each for one dimension. Two dimensions, a sine and a cosine, share one.",
        ),
        Mistake(
            "2i over all dimensions",
            lambda d_model, base: _powers(d_model, base, count=d_model),
            "i counts pairs of dimensions, so it runs to d_model / 2. You went on to d_model.",
        ),
        Mistake(
            "the denominators",
            lambda d_model, base: 1 / _powers(d_model, base),
            "these grow from 1, so they are what a position is divided by. The angle of one step is 1 over them.",
        ),
        Mistake(
            "the 2 was counted twice",
            lambda d_model, base: _powers(d_model, base, lambda i, d: 4 * i / d),
            "the exponents are twice too large. `arange(0, d_model, 2)` gives the 2i already: do not double it again.",
        ),
        Mistake(
            "powers of e",
            lambda d_model, base: torch.exp(-torch.arange(0, d_model, 2) / d_model),
            "the base plays no part: `exp` makes powers of e. In log space the exponent takes a factor ln(base).",
        ),
        Mistake(
            "the base of the paper",
            lambda d_model, base: _powers(d_model, 10_000),
            "these are right for a base of 10000. Use the `base` that is handed in.",
        ),
        Mistake(
            "the first pair is number 1",
            lambda d_model, base: _powers(d_model, base, lambda i, d: 2 * (i + 1) / d),
            "the fastest wave should turn by 1 radian a step. i counts from 0.",
        ),
        Mistake(
            "whole turns",
            lambda d_model, base: _powers(d_model, base) / (2 * torch.pi),
            "these are turns a step. sin and cos take radians, and there is no 2π in the formula.",
        ),
        Mistake(
            "the last frequency is exactly 1 / base",
            lambda d_model, base: _powers(d_model, base, lambda i, d: i / (d // 2 - 1)),
            "the exponents run from 0 to 1 here. Some code does that; the paper divides 2i by d_model, so that the "
            "last one stays a little short of 1.",
        ),
        Mistake(
            "periods in positions",
            lambda d_model, base: 2 * torch.pi / _powers(d_model, base),
            "these are how many positions a full turn takes. What is wanted is the angle of one step, in radians.",
        ),
        Mistake(
            "`//` cut the exponent to a whole number",
            lambda d_model, base: _powers(d_model, base, lambda i, d: 2 * i // d),
            "all exponents came out 0: `//` drops what is behind the point. Divide with `/`.",
        ),
    ],
    verified="one frequency for each pair, from 1 down, for several widths and bases",
)


def _add_positions(x, codes):
    return x + codes[: x.shape[1]]


add_positions = chapter.exercise(
    "5.2",
    "add_positions",
    reference=_add_positions,
    cases=[
        Case(
            {
                "x": torch.tensor([[[1.0, 2.0], [3.0, 4.0]]]),
                "codes": torch.tensor([[0.5, 0.0], [0.0, 0.25], [1.0, 1.0]]),
            }
        ),
        Case(
            {"x": torch.zeros(2, 2, 2), "codes": torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])},
            about="two sentences",
        ),
        Case(randn(x=(B, T, D), codes=(11, D))),
        Case(randn(x=(B, 11, D), codes=(11, D)), about="a sentence as long as the table"),
    ],
    mistakes=[
        Mistake(
            "positions along the batch",
            lambda x, codes: x + codes[: x.shape[0], None],
            "every word of a sentence got the same code, and each sentence another one. The axes are (B, T, D): it is "
            "the second that counts positions.",
        ),
        Mistake(
            "cut by the size of the batch",
            lambda x, codes: x + codes[: x.shape[0]],
            "the table was cut to B rows instead of T: `x.size(0)` is the batch. Here that is one code for everything, "
            "or an error.",
        ),
        Mistake(
            "the table was not cut",
            lambda x, codes: x + codes,
            "the table has more rows than the sentence has words. Take the first T of them.",
        ),
        Mistake(
            "the last rows of the table",
            lambda x, codes: x + codes[-x.shape[1] :],
            "the sentence got the codes of the last positions. Its first word stands at position 0.",
        ),
        Mistake(
            "positions from 1",
            lambda x, codes: x + codes[1 : x.shape[1] + 1],
            "the first word got row 1. Count from 0.",
        ),
        Mistake(
            "one code for all words",
            lambda x, codes: x + codes[x.shape[1] - 1],
            "every word got the same code, that of the last position. Row p of the table belongs to word p.",
        ),
        Mistake(
            "multiplied",
            lambda x, codes: x * codes[: x.shape[1]],
            "embedding and code were multiplied. The code is added.",
        ),
        Mistake(
            "the embeddings were scaled",
            lambda x, codes: x * x.shape[-1] ** 0.5 + codes[: x.shape[1]],
            "the embeddings were multiplied by √d_model first. The paper does that when it looks them up; "
            "here they are added as they are.",
        ),
        Mistake(
            "put side by side",
            lambda x, codes: torch.cat([x, codes[: x.shape[1]].expand_as(x)], dim=-1),
            "this makes vectors twice as wide. Here the code is added, so that the width stays d_model.",
        ),
        Mistake(
            "the codes alone",
            lambda x, codes: codes[: x.shape[1]].expand_as(x),
            "the embeddings are gone: only the codes are left. Add the two.",
        ),
        Mistake(
            "added in place",
            lambda x, codes: x.add_(codes[: x.shape[1]]),
            "the result is right, but `x` itself was changed (`+=` on a tensor does that). Whoever uses `x` again "
            "would add the positions twice. Write `x + …`.",
        ),
    ],
    verified="every sentence of the batch gets the codes 0 … T − 1, and x is left alone",
)


def _waves(length, d_model, *, exponent=lambda i, d: 2 * i / d, first=0, functions=(torch.sin, torch.cos), join=None):
    angles = torch.arange(first, first + length)[:, None] * _powers(d_model, 10_000, exponent)  # (T, ⌈D/2⌉)
    a, b = (function(angles) for function in functions)
    return (join(a, b) if join else torch.stack([a, b], dim=-1).flatten(1))[:, :d_model]


def _one_frequency_each(length, d_model):
    angles = torch.arange(length)[:, None] * _powers(d_model, 10_000, count=d_model, exponent=lambda j, d: j / d)
    return torch.where(torch.arange(d_model) % 2 == 0, angles.sin(), angles.cos())


def _even_widths_only(length, d_model, angles=lambda d_model: (d_model + 1) // 2):
    codes = torch.zeros(length, d_model)
    angles = torch.arange(length)[:, None] * _powers(d_model, 10_000, count=angles(d_model))
    codes[:, 0::2], codes[:, 1::2] = angles.sin(), angles.cos()
    return codes


def _no_last_sine(length, d_model):
    codes = sinusoidal_encoding(length, d_model)
    if d_model % 2:
        codes[:, -1] = 0
    return codes


def _in_double(length, d_model):
    pairs = torch.arange(0, d_model, 2, dtype=torch.float64)
    angles = torch.arange(length)[:, None] * 10_000 ** -(pairs / d_model)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)[:, :d_model]


sinusoidal = chapter.exercise(
    "5.3",
    "sinusoidal",
    reference=sinusoidal_encoding,
    cases=[
        Case({"length": 3, "d_model": 4}),
        Case({"length": 11, "d_model": 22}),
        Case({"length": 5, "d_model": 7}, about="an odd width"),
        Case({"length": 3, "d_model": 1}, about="a width of 1"),
    ],
    mistakes=[
        Mistake(
            "the exponent is i, not 2i",
            lambda length, d_model: _waves(length, d_model, exponent=lambda i, d: i / d),
            "the 2 in the exponent is missing: pair i turns by 1 / 10000^(2i / d_model) a step.",
        ),
        Mistake(
            "one frequency for each dimension",
            _one_frequency_each,
            "neighbouring sine and cosine have different frequencies here. Dimensions 2i and 2i + 1 belong together: "
            "the same angle in both, or no rotation can turn one position into the next.",
        ),
        Mistake(
            "all sines first",
            lambda length, d_model: _waves(length, d_model, join=lambda a, b: torch.cat([a, b], dim=1)),
            "the sines fill the first half and the cosines the second. Here they alternate: sine in the even "
            "dimensions, cosine in the odd ones.",
        ),
        Mistake(
            "cosine first",
            lambda length, d_model: _waves(length, d_model, functions=(torch.cos, torch.sin)),
            "sine and cosine are exchanged: the even dimensions hold the sine.",
        ),
        Mistake(
            "positions from 1",
            lambda length, d_model: _waves(length, d_model, first=1),
            "the first row is the code of position 1. Count from 0: its sines are 0 and its cosines 1.",
        ),
        Mistake(
            "sines only",
            lambda length, d_model: _waves(length, d_model, functions=(torch.sin, torch.sin)),
            "both dimensions of each pair hold the sine. The odd ones take the cosine.",
        ),
        Mistake(
            "the 2 was counted twice",
            lambda length, d_model: _waves(length, d_model, exponent=lambda i, d: 4 * i / d),
            "the exponents are twice too large. `arange(0, d_model, 2)` gives the 2i already: do not double it again.",
        ),
        Mistake(
            "an odd width was made even",
            lambda length, d_model: sinusoidal_encoding(length, d_model + d_model % 2)[:, :d_model],
            "for an odd d_model these are the codes of the next even width, cut. That changes all frequencies: they "
            "divide by the d_model that was asked for.",
        ),
        Mistake(
            "fails for an odd width",
            _even_widths_only,
            "right for an even d_model; for an odd one the last sine has no cosine, so there are more angles than "
            "places for them. Cut what does not fit.",
        ),
        Mistake(
            "too few sines for an odd width",
            lambda length, d_model: _even_widths_only(length, d_model, lambda d_model: d_model // 2),
            "right for an even d_model; an odd one has a sine more than it has cosines, so it takes "
            "(d_model + 1) // 2 frequencies.",
        ),
        Mistake(
            "the last sine is missing",
            _no_last_sine,
            "right for an even d_model; for an odd one the last column is 0. A sine belongs there, whose cosine has no "
            "place.",
        ),
        Mistake(
            "left in double precision",
            _in_double,
            "the codes are right, and computed in float64. Round them when they are done: `.float()`.",
        ),
        Mistake(
            "transposed",
            lambda length, d_model: _waves(length, d_model).T,
            "rows are dimensions and columns are positions here. A position is a row.",
        ),
        Mistake(
            "degrees",
            lambda length, d_model: _waves(
                length, d_model, functions=(lambda a: a.deg2rad().sin(), lambda a: a.deg2rad().cos())
            ),
            "the angles were taken as degrees. They are radians: position 1 has sin(1) ≈ 0.841 in front.",
        ),
    ],
    verified="the codes are those of the book, for even widths, odd ones, and a width of 1",
)


def _code_product(k, d_model):
    return (k * _powers(d_model, 10_000)).cos().sum()


code_product = chapter.exercise(
    "5.4",
    "code_product",
    reference=_code_product,
    cases=[
        Case({"k": 0, "d_model": 4}),
        Case({"k": 1, "d_model": 2}),
        Case({"k": 7, "d_model": 22}),
        Case({"k": -7, "d_model": 22}, about="a negative distance"),
    ],
    mistakes=[
        Mistake(
            "the mean",
            lambda k, d_model: (k * _powers(d_model, 10_000)).cos().mean(),
            "the cosines are right, but a dot product adds them up and does not average them.",
        ),
        Mistake(
            "the cosines were not added up",
            lambda k, d_model: (k * _powers(d_model, 10_000)).cos(),
            "these are the shares of the single pairs. A dot product is one number: their sum.",
        ),
        Mistake(
            "a cosine for each dimension",
            lambda k, d_model: (k * _powers(d_model, 10_000, lambda i, d: i / d, d_model)).cos().sum(),
            "this adds d_model cosines. Each pair of dimensions gives one, so there are d_model / 2.",
        ),
        Mistake(
            "the distance plays no part",
            lambda k, d_model: _powers(d_model, 10_000).cos().sum(),
            "this is the product for k = 1, whatever k is. The angle between two hands is k times the frequency.",
        ),
        Mistake(
            "the 2 was counted twice",
            lambda k, d_model: (k * _powers(d_model, 10_000, lambda i, d: 4 * i / d)).cos().sum(),
            "the exponents are twice too large. `arange(0, d_model, 2)` gives the 2i already: do not double it again.",
        ),
        Mistake(
            "each pair counted twice",
            lambda k, d_model: 2 * _code_product(k, d_model),
            "this is twice too large. sin·sin + cos·cos of a pair makes **one** cosine of the difference.",
        ),
        Mistake(
            "sines",
            lambda k, d_model: (k * _powers(d_model, 10_000)).sin().sum(),
            "cos a cos b + sin a sin b is the cosine of a − b, not the sine.",
        ),
        Mistake(
            "the exponent is i, not 2i",
            lambda k, d_model: (k * _powers(d_model, 10_000, lambda i, d: i / d)).cos().sum(),
            "the frequencies lack the 2 in the exponent 2i / d_model.",
        ),
        Mistake(
            "the code of position k",
            lambda k, d_model: (sinusoidal_encoding(abs(k) + 1, d_model)[abs(k)]).sum(),
            "this adds up one code. The product of two codes is a sum of cosines of their distance.",
        ),
        Mistake(
            "the cosine of the sum",
            lambda k, d_model: (k * _powers(d_model, 10_000).sum()).cos(),
            "the angles were added first. Each pair gives a cosine of its own; add those.",
        ),
        Mistake(
            "divided by √d_model",
            lambda k, d_model: _code_product(k, d_model) / d_model**0.5,
            "that is a scaled score. The plain dot product is wanted.",
        ),
        Mistake(
            "the squared distance between the codes",
            lambda k, d_model: d_model - 2 * _code_product(k, d_model),
            "this is how far apart the codes are, squared. The dot product is wanted: largest for k = 0.",
        ),
    ],
    verified="the product of codes k apart, without any code, and the same for −k",
)


def _block_matrix(d_model, k, *, sign=1.0, angle=lambda w, k: k * w, powers=_powers):
    matrix = torch.zeros(d_model, d_model)
    for i, turn in enumerate(angle(powers(d_model, 10_000), k).tolist()):
        turn = torch.tensor(turn)
        c, s = turn.cos(), turn.sin() * sign
        matrix[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = torch.stack([torch.stack([c, -s]), torch.stack([s, c])])
    return matrix


def _half_block_matrix(d_model, k):
    order = torch.cat([torch.arange(0, d_model, 2), torch.arange(1, d_model, 2)])
    return _block_matrix(d_model, k)[order][:, order]


shift_matrix = chapter.exercise(
    "5.5",
    "shift_matrix",
    reference=_block_matrix,
    cases=[
        Case({"d_model": 2, "k": 1}),
        Case({"d_model": 4, "k": 3}),
        Case({"d_model": 22, "k": -5}, about="a step back"),
    ],
    mistakes=[
        Mistake(
            "the other way round",
            lambda d_model, k: _block_matrix(d_model, k, sign=-1.0),
            "this matrix takes you k positions back. Codes are rows with the sine in front, and the matrix stands on "
            "their right: check sin(a + b) = sin a cos b + cos a sin b, column by column.",
        ),
        Mistake(
            "the step plays no part",
            lambda d_model, k: _block_matrix(d_model, k, angle=lambda w, k: w),
            "this goes one position forward, whatever k is. The angle is k times the frequency.",
        ),
        Mistake(
            "one frequency for all pairs",
            lambda d_model, k: _block_matrix(d_model, k, angle=lambda w, k: k * torch.ones_like(w)),
            "every pair turns by the same angle here. Pair i turns by k · 10000^(−2i / d_model).",
        ),
        Mistake(
            "the exponent is i, not 2i",
            lambda d_model, k: _block_matrix(d_model, k, powers=lambda d, b: _powers(d, b, lambda i, d: i / d)),
            "the frequencies lack the 2 in the exponent 2i / d_model.",
        ),
        Mistake(
            "the 2 was counted twice",
            lambda d_model, k: _block_matrix(d_model, k, powers=lambda d, b: _powers(d, b, lambda i, d: 4 * i / d)),
            "the exponents are twice too large. A loop over 0, 2, 4, … gives the 2i already: do not double it again.",
        ),
        Mistake(
            "a reflection, not a rotation",
            lambda d_model, k: _block_matrix(d_model, k) @ torch.diag(torch.tensor([1.0, -1.0]).repeat(d_model // 2)),
            "one sign in each block is wrong: the two sines need opposite signs.",
        ),
        Mistake(
            "no minus sign",
            lambda d_model, k: _block_matrix(d_model, k) * (1 - 2 * torch.ones(d_model, d_model).triu(1)),
            "both sines of a block have the same sign. That is no rotation: cos(a + b) = cos a cos b − sin a sin b.",
        ),
        Mistake(
            "the pairs are (i, i + d_model / 2)",
            _half_block_matrix,
            "the blocks join dimensions that are half the width apart. Sine and cosine of one frequency stand next to "
            "each other, 2i and 2i + 1.",
        ),
        Mistake(
            "the distance without its sign",
            lambda d_model, k: _block_matrix(d_model, abs(k)),
            "right forwards, but a negative k goes back.",
        ),
    ],
    verified="PE(pos) @ matrix is PE(pos + k), forwards and backwards",
)


def _turned(x, positions, *, base=10_000, exponent=lambda i, d: 2 * i / d, sign=1):
    angles = positions * _powers(x.shape[-1], base, exponent)
    c, s = angles.cos(), angles.sin() * sign
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack([even * c - odd * s, even * s + odd * c], dim=-1).flatten(-2)


def _rows(x, dim=-2):
    return torch.arange(x.shape[dim])[:, None]


def _rope(x):
    return _turned(x, _rows(x))


def _half_rope(x):
    angles = _rows(x) * _powers(x.shape[-1], 10_000)
    first, second = x.chunk(2, dim=-1)
    return torch.cat(
        [first * angles.cos() - second * angles.sin(), first * angles.sin() + second * angles.cos()], dim=-1
    )


def _positions_on_axis_1(x):
    if x.dim() < 4:
        return _rope(x)
    return _rope(x.transpose(1, 2)).transpose(1, 2)


def _split_back_wrongly(x):
    angles = _rows(x) * _powers(x.shape[-1], 10_000)
    even, odd = x[..., 0::2], x[..., 1::2]
    c, s = angles.cos(), angles.sin()
    return torch.cat([even * c - odd * s, even * s + odd * c], dim=-1)


def _second_from_turned_first(x):
    angles = _rows(x) * _powers(x.shape[-1], 10_000)
    even = x[..., 0::2] * angles.cos() - x[..., 1::2] * angles.sin()
    return torch.stack([even, even * angles.sin() + x[..., 1::2] * angles.cos()], dim=-1).flatten(-2)


def _two_plus_signs(x):
    angles = _rows(x) * _powers(x.shape[-1], 10_000)
    even, odd = x[..., 0::2], x[..., 1::2]
    c, s = angles.cos(), angles.sin()
    return torch.stack([even * c + odd * s, even * s + odd * c], dim=-1).flatten(-2)


def _neighbours_with_half_angles(x):
    angles = (_rows(x) * _powers(x.shape[-1], 10_000)).repeat(1, 2)
    partner = torch.stack([-x[..., 1::2], x[..., 0::2]], dim=-1).flatten(-2)
    return x * angles.cos() + partner * angles.sin()


rope = chapter.exercise(
    "5.6",
    "rope",
    reference=_rope,
    cases=[
        Case({"x": torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 2.0]])}),
        Case(randn(x=(T, 6))),
        Case(randn(x=(B, H, T, DK)), about="axes for batch and heads in front"),
    ],
    mistakes=[
        Mistake(
            "the other pairing",
            _half_rope,
            "this pairs feature i with i + d_k / 2, as Llama's code does. Here the pairs are neighbours, 2i and 2i + "
            "1. Both are fine, but a model trained with one is wrong with the other.",
        ),
        Mistake(
            "turned, but put together in the other order",
            _split_back_wrongly,
            "the pairs were turned rightly, and then all first halves were put before all second halves. They have to "
            "go back to where they came from, alternating.",
        ),
        Mistake(
            "turned backwards",
            lambda x: _turned(x, _rows(x), sign=-1),
            "the pairs turn clockwise. The rule is (a cos − b sin, a sin + b cos). Scores come out the same, as long "
            "as all code agrees, but the vectors are not those of the paper.",
        ),
        Mistake(
            "positions from 1",
            lambda x: _turned(x, _rows(x) + 1),
            "the first vector was turned already. Position 0 stays as it is.",
        ),
        Mistake(
            "positions along the wrong axis",
            _positions_on_axis_1,
            "right for one sentence; with batch and heads in front, the angles followed the heads. The axes are "
            "(B, H, T, Dk): positions are the last axis but one.",
        ),
        Mistake(
            "the exponent is i, not 2i",
            lambda x: _turned(x, _rows(x), exponent=lambda i, d: i / d),
            "the frequencies lack the 2 in the exponent 2i / d_k.",
        ),
        Mistake(
            "the 2 was counted twice",
            lambda x: _turned(x, _rows(x), exponent=lambda i, d: 4 * i / d),
            "the exponents are twice too large. `arange(0, d_k, 2)` gives the 2i already: do not double it again.",
        ),
        Mistake(
            "a minus sign is missing",
            _two_plus_signs,
            "the first feature of each pair is a cos φ + b sin φ here. A rotation subtracts there: a cos φ − b sin φ.",
        ),
        Mistake(
            "neighbours, with the angles of halves",
            _neighbours_with_half_angles,
            "the pairs are neighbours, but the two members of a pair turn by different angles: the row of angles was "
            "put behind itself. Repeat each angle twice in a row instead: `repeat_interleave(2, dim=-1)`.",
        ),
        Mistake(
            "the code was added",
            lambda x: x + sinusoidal_encoding(x.shape[-2], x.shape[-1]),
            "this adds the sinusoidal code. RoPE adds nothing: it turns the pairs of features that are there.",
        ),
        Mistake(
            "one frequency for all pairs",
            lambda x: _turned(x, _rows(x), exponent=lambda i, d: 0 * i),
            "every pair turns by 1 radian a step here. Pair i turns by 10000^(−2i / d_k).",
        ),
        Mistake(
            "the turned first feature was used for the second",
            _second_from_turned_first,
            "the first feature of each pair was overwritten before the second was computed from it. Compute both from "
            "the old ones.",
        ),
    ],
    verified="each pair turns by its own angle, for one sentence and with batch and heads in front",
)


def _newest_scores(q, k, offset=lambda tk: tk - 1, scale=True, turn_keys=True):
    rope = RotaryPositions(q.shape[-1])
    turned_q = rope(q, offset=offset(k.shape[-2]))
    scores = turned_q @ (rope(k) if turn_keys else k).transpose(-2, -1)
    return scores / q.shape[-1] ** 0.5 if scale else scores


newest_scores = chapter.exercise(
    "5.7",
    "newest_scores",
    reference=_newest_scores,
    cases=[
        Case({"q": torch.tensor([[1.0, 0.0]]), "k": torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])}),
        Case(randn(q=(1, DK), k=(T, DK))),
        Case(randn(q=(B, H, 1, DK), k=(B, H, T, DK)), about="axes for batch and heads in front"),
    ],
    mistakes=[
        Mistake(
            "the query stands at position 0",
            lambda q, k: _newest_scores(q, k, offset=lambda tk: 0),
            "the query stands beside the first key: it was turned as if it were the first word, or not at all, or the "
            "keys were moved along with it. It stands where the last key stands: give **its** rotation that `offset`. "
            "This is the classic mistake with a cache of keys, and it raises no error.",
        ),
        Mistake(
            "one position too far",
            lambda q, k: _newest_scores(q, k, offset=lambda tk: tk),
            "the query stands one position behind the newest key. Its own key is among the Tk already, so it stands at "
            "Tk − 1.",
        ),
        Mistake(
            "the query was not turned, and the keys were not either",
            lambda q, k: q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5,
            "nothing was turned, so the order of the keys plays no part.",
        ),
        Mistake(
            "the keys were not turned",
            lambda q, k: _newest_scores(q, k, turn_keys=False),
            "only the query was turned. The score depends on the distance alone if both are.",
        ),
        Mistake(
            "no scaling",
            lambda q, k: _newest_scores(q, k, scale=False),
            "the positions are right, but the scores were not divided by √d_k.",
        ),
        Mistake(
            "divided by d_k",
            lambda q, k: _newest_scores(q, k) / q.shape[-1] ** 0.5,
            "the scores were divided by d_k. Divide by its root.",
        ),
        Mistake(
            "scaled by the number of keys",
            lambda q, k: _newest_scores(q, k, scale=False) / k.shape[-2] ** 0.5,
            "the root was taken of the number of keys. Divide by the root of the width d_k, the last axis.",
        ),
        Mistake(
            "the keys were counted from the newest",
            lambda q, k: _newest_scores(q, k.flip(-2), offset=lambda tk: 0).flip(-1),
            "the newest key was put at position 0 and the older ones after it, so every distance has the wrong sign.",
        ),
        Mistake(
            "weights instead of scores",
            lambda q, k: _newest_scores(q, k).softmax(dim=-1),
            "these went through softmax already. The scores before it are wanted.",
        ),
    ],
    verified="the newest query stands where its own key stands, with any axes in front",
)


def _to_half(weight, d_k):
    return interleaved_to_half(weight, d_k, dim=0)


def _rows_in_order(weight, groups):
    """The rows of `weight`, where each of the groups lists its even ones first, then its odd ones."""
    return torch.cat([torch.cat([rows[0::2], rows[1::2]]) for rows in weight.chunk(groups)])


to_half = chapter.exercise(
    "5.8",
    "to_half",
    reference=_to_half,
    cases=[
        Case({"weight": torch.arange(12.0).reshape(6, 2), "d_k": 6}),
        Case({"weight": torch.arange(24.0).reshape(12, 2), "d_k": 6}, about="two heads"),
        Case({"weight": torch.arange(36.0).reshape(6, 6), "d_k": 6}, about="as many columns as rows"),
        Case({**randn(weight=(3 * 10, D)), "d_k": 10}),
    ],
    mistakes=[
        Mistake(
            "the heads were mixed",
            lambda weight, d_k: _rows_in_order(weight, 1),
            "right for one head. With several, all even rows of **all** heads came first, so a head gets rows of "
            "others. Reorder within each head.",
        ),
        Mistake(
            "the way back",
            lambda weight, d_k: weight.unflatten(0, (-1, 2, d_k // 2)).transpose(1, 2).flatten(0, 2),
            "this makes pairs of neighbours out of pairs that are half a head apart. The other direction is wanted: "
            "features 0, 2, 4, … first, then 1, 3, 5, …",
        ),
        Mistake(
            "only the first head",
            lambda weight, d_k: torch.cat([_rows_in_order(weight[:d_k], 1), weight[d_k:]]),
            "the first head is right, and the others are as they were. Reorder each of them.",
        ),
        Mistake(
            "d_k was taken for the number of heads",
            lambda weight, d_k: weight.unflatten(0, (d_k // 2, 2, -1)).transpose(0, 1).flatten(0, 2),
            "right for one head. With several, the rows were read as if each feature had its heads side by side: the "
            "order is head after head, and d_k rows make a head.",
        ),
        Mistake(
            "neighbours exchanged",
            lambda weight, d_k: weight.unflatten(0, (-1, 2)).flip(1).flatten(0, 1),
            "each row changed places with its neighbour. All even rows of a head go to its front.",
        ),
        Mistake(
            "odd features first",
            lambda weight, d_k: torch.cat([torch.cat([r[1::2], r[0::2]]) for r in weight.split(d_k)]),
            "the second member of each pair came first. Then everything turns backwards, and in a mixture with other "
            "code the scores are wrong.",
        ),
        Mistake(
            "nothing was reordered",
            lambda weight, d_k: weight,
            "the rows are where they were: `view` or `reshape` alone moves nothing. The even ones of a head go to its "
            "first half.",
        ),
        Mistake(
            "the columns were reordered",
            lambda weight, d_k: torch.cat([weight[:, 0::2], weight[:, 1::2]], dim=1),
            "the columns are the features of the word that comes in. The features of the query are the rows.",
        ),
        Mistake(
            "the halves exchanged",
            lambda weight, d_k: torch.cat([torch.cat([r[d_k // 2 :], r[: d_k // 2]]) for r in weight.split(d_k)]),
            "the first half of each head changed places with the second. It is the even rows that go to the front.",
        ),
    ],
    verified="the rows of each head are reordered, and no head gets rows of another",
)
