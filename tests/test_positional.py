import math

import pytest
import torch
from torch.testing import assert_close

from attention_live.positional import (
    LearnedPositions,
    RotaryPositions,
    half_to_interleaved,
    interleaved_to_half,
    sinusoidal_encoding,
)

B, H, T, DK = 2, 3, 7, 10
D = 11


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(0)


# --- sinusoidal --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("d_model", [1, 2, 7, 64])
@pytest.mark.parametrize("base", [10_000, 100])
def test_sinusoidal_encoding_is_the_formula_far_out_too(d_model, base):
    length = 5000
    code = sinusoidal_encoding(length, d_model, base)
    assert code.shape == (length, d_model)
    for position in (0, 1, 13, length - 1):
        for feature in range(d_model):
            angle = position / base ** (2 * (feature // 2) / d_model)
            expected = math.cos(angle) if feature % 2 else math.sin(angle)
            assert abs(code[position, feature].item() - expected) < 3e-8  # half a step of float32 just below 1


def test_sinusoidal_encoding_has_the_default_dtype():
    assert sinusoidal_encoding(3, 4).dtype == torch.float32
    torch.set_default_dtype(torch.float64)
    try:
        assert sinusoidal_encoding(3, 4).dtype == torch.float64
    finally:
        torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize(("length", "d_model"), [(-1, 4), (3, 0)])
def test_sinusoidal_encoding_names_what_is_wrong(length, d_model):
    message = rf"length \({length}\) must be at least 0 and d_model \({d_model}\) at least 1"
    with pytest.raises(ValueError, match=message):
        sinusoidal_encoding(length, d_model)


# --- learned -----------------------------------------------------------------------------------------------------


def test_learned_positions_add_the_first_rows_and_train_only_them():
    positions = LearnedPositions(10, D)
    x = torch.randn(B, T, D)
    assert_close(positions(x) - x, positions.table[:T].expand(B, T, D), rtol=0, atol=1e-6)
    positions(x).sum().backward()
    assert_close(positions.table.grad, torch.tensor([2.0] * T + [0.0] * 3)[:, None].expand(10, D))


def test_learned_positions_start_small_and_follow_the_module():
    positions = LearnedPositions(100, 100)
    assert 0.019 < positions.table.std() < 0.021
    assert [name for name, _ in positions.named_parameters()] == ["table"]
    assert positions.to(torch.float16)(torch.ones(T, 100, dtype=torch.float16)).dtype == torch.float16


def test_learned_positions_name_what_does_not_fit():
    positions = LearnedPositions(10, D)
    assert positions(torch.randn(B, 10, D)).shape == (B, 10, D)
    with pytest.raises(ValueError, match=r"sequence length 11 exceeds max_len \(10\)"):
        positions(torch.randn(B, 11, D))
    with pytest.raises(ValueError, match=r"x has width 1, expected d_model \(11\)"):
        positions(torch.randn(B, T, 1))


# --- rotary ------------------------------------------------------------------------------------------------------


def turn_by_complex_numbers(x, offset, base):
    """Feature pairs (2i, 2i+1) as complex numbers, times e^(i·angle)."""
    pairs = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())
    exponents = torch.arange(pairs.size(-1), dtype=torch.float64) * 2 / x.size(-1)
    angles = torch.outer(torch.arange(offset, offset + x.size(-2)), torch.exp(-math.log(base) * exponents))
    return torch.view_as_real(pairs * torch.polar(torch.ones_like(angles), angles)).flatten(-2)


def turn_halves(x):
    """The other convention, (i, i + d_k/2), in the form that Hugging Face's Llama computes."""
    exponents = torch.arange(0, DK, 2, dtype=torch.float64) / DK
    angles = torch.outer(torch.arange(x.size(-2)), 10_000**-exponents).repeat(1, 2)
    first, second = x.chunk(2, dim=-1)
    return x * angles.cos() + torch.cat((-second, first), dim=-1) * angles.sin()


@pytest.mark.parametrize("offset", [0, 5, 100_000])
@pytest.mark.parametrize("base", [10_000, 500])
def test_rotary_positions_equal_complex_multiplication(base, offset):
    x = torch.randn(B, H, T, DK, dtype=torch.float64, requires_grad=True)
    turned, expected = RotaryPositions(DK, base)(x, offset), turn_by_complex_numbers(x, offset, base)
    assert_close(turned, expected)
    direction = torch.randn_like(x)
    assert_close(torch.autograd.grad(turned, x, direction), torch.autograd.grad(expected, x, direction))
    assert_close(RotaryPositions(DK, base)(x.float(), offset), expected.float())  # angles do not lose precision


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_rotary_positions_keep_dtype_device_and_shape(dtype):
    rope = RotaryPositions(DK)
    for shape in ((T, DK), (B, H, T, DK), (B, H, 0, DK)):
        turned = rope(torch.ones(shape, dtype=dtype), offset=3)
        assert (turned.shape, turned.dtype) == (shape, dtype)
    assert rope(torch.ones(T, DK, device="meta")).device.type == "meta"
    assert not list(rope.parameters()) + list(rope.buffers())


@pytest.mark.parametrize("stretch", [4, 2.5])
def test_stretched_positions_lie_between_the_trained_ones(stretch):
    x = torch.randn(B, H, T, DK, dtype=torch.float64)
    turned = RotaryPositions(DK, stretch=stretch)(x, offset=3)
    exponents = torch.arange(0, DK, 2, dtype=torch.float64) / DK
    for row in range(T):
        for pair in range(DK // 2):
            angle = (3 + row) / stretch / 10_000 ** exponents[pair]
            turn = torch.tensor([[angle.cos(), angle.sin()], [-angle.sin(), angle.cos()]])
            features = slice(2 * pair, 2 * pair + 2)
            assert_close(turned[..., row, features], x[..., row, features] @ turn)
    every_fourth = RotaryPositions(DK, stretch=4)(x.repeat_interleave(4, dim=-2))[..., ::4, :]
    assert_close(every_fourth, RotaryPositions(DK)(x))


def test_both_pairings_give_the_same_once_converted():
    x = torch.randn(B, H, T, DK, dtype=torch.float64)
    assert_close(interleaved_to_half(RotaryPositions(DK)(x), DK), turn_halves(interleaved_to_half(x, DK)))
    assert_close(RotaryPositions(DK)(half_to_interleaved(x, DK)), half_to_interleaved(turn_halves(x), DK))


def test_converted_order():
    interleaved, half = torch.tensor([0, 1, 2, 3, 4, 5]), torch.tensor([0, 2, 4, 1, 3, 5])
    assert torch.equal(interleaved_to_half(interleaved, 6), half)
    assert torch.equal(half_to_interleaved(half, 6), interleaved)


def test_converted_weights_give_the_same_scores():
    x = torch.randn(B, T, D, dtype=torch.float64)
    (w_q, w_k), b_q = torch.randn(2, H * DK, D, dtype=torch.float64), torch.randn(H * DK, dtype=torch.float64)
    heads = lambda features: features.unflatten(-1, (H, DK)).transpose(1, 2)  # noqa: E731
    rope = RotaryPositions(DK)
    scores = rope(heads(x @ w_q.T + b_q)) @ rope(heads(x @ w_k.T)).mT
    half_q, half_k = interleaved_to_half(w_q, DK, dim=0), interleaved_to_half(w_k, DK, dim=0)
    half_b = interleaved_to_half(b_q, DK, dim=0)
    assert_close(turn_halves(heads(x @ half_q.T + half_b)) @ turn_halves(heads(x @ half_k.T)).mT, scores)
    assert torch.equal(half_to_interleaved(half_q, DK, dim=0), w_q)


def test_rotary_positions_name_what_does_not_fit():
    with pytest.raises(ValueError, match=r"d_k \(7\) must be even"):
        RotaryPositions(7)
    with pytest.raises(ValueError, match=r"d_k \(0\) must be even"):
        RotaryPositions(0)
    for stretch in (0, -1.0, math.nan):
        with pytest.raises(ValueError, match=rf"stretch \({stretch}\) must be positive"):
            RotaryPositions(10, stretch=stretch)
    with pytest.raises(ValueError, match=r"x has width 8, expected d_k \(10\)"):
        RotaryPositions(10)(torch.ones(T, 8))
    for convert in (interleaved_to_half, half_to_interleaved):
        with pytest.raises(ValueError, match=r"d_k \(7\) must be even"):
            convert(torch.ones(7), 7)
        with pytest.raises(ValueError, match=r"axis 0 has 14 features, not a multiple of d_k \(10\)"):
            convert(torch.ones(14, 10), 10, dim=0)
