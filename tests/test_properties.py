"""What must hold for every input, tried on inputs that hypothesis makes up."""

import math

import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from torch.testing import assert_close

from attention_live.attention import MultiHeadAttention, additive_attention, attention
from attention_live.masks import causal_mask, padding_mask, sliding_window_mask
from attention_live.positional import RotaryPositions, sinusoidal_encoding

sizes = st.integers(1, 7)
seeds = st.integers(0, 2**32 - 1)


@st.composite
def problems(draw):
    """Queries, keys, values and a mask; in some masks a query may attend to nothing."""
    torch.manual_seed(draw(seeds))
    b, h, tq, tk, dk, dv = (draw(sizes) for _ in range(6))
    spread = draw(st.sampled_from([0.1, 1.0, 30.0]))  # 30: nearly one-hot weights
    q, k, v = torch.randn(b, h, tq, dk) * spread, torch.randn(b, h, tk, dk), torch.randn(b, h, tk, dv)
    mask_shape = [draw(st.sampled_from(sorted({1, size}))) for size in (b, h, tq)] + [tk]
    mask = torch.rand(mask_shape) < draw(st.sampled_from([0.3, 0.7, 1.0]))
    return q, k, v, mask


@st.composite
def modules(draw):
    """A multi-head attention and an input for it."""
    torch.manual_seed(draw(seeds))
    b, h, t, dk = (draw(sizes) for _ in range(4))
    return MultiHeadAttention(h * dk, h, bias=draw(st.booleans())), torch.randn(b, t, h * dk)


def additively(q, k, v, mask):
    """Additive attention with the identity for its maps, so that it takes the same inputs."""
    identity = torch.eye(q.size(-1))
    return additive_attention(q, k, v, identity, identity, torch.ones(q.size(-1)), mask)


def both_paths(mha, *inputs, mask):
    return mha(*inputs, mask=mask), mha(*inputs, mask=mask, return_weights=True)[0]


@given(problems())
def test_rows_sum_to_one_or_are_empty(problem):
    *_, mask = problem
    for function in (attention, additively):
        _, weights = function(*problem)
        assert_close(weights.sum(-1), mask.any(-1).expand(weights.shape[:-1]).float())
        assert (weights >= 0).all()
        assert not weights[~mask.expand_as(weights)].any()


@given(problems(), seeds)
def test_outputs_lie_in_the_hull_of_the_values_that_may_be_seen(problem, seed):
    q, k, v, mask = problem
    directions = torch.randn(v.size(-1), 20, generator=torch.Generator().manual_seed(seed))
    for function in (attention, additively):
        along = function(q, k, v, mask)[0] @ directions  # (B, H, Tq, 20)
        values = (v @ directions).unsqueeze(-3)  # (B, H, 1, Tk, 20)
        hidden = ~mask.unsqueeze(-1)
        upper = values.masked_fill(hidden, -torch.inf).amax(-2)
        lower = values.masked_fill(hidden, torch.inf).amin(-2)
        seen = mask.any(-1).expand(along.shape[:-1])
        assert (along <= upper + 1e-4)[seen].all()
        assert (along >= lower - 1e-4)[seen].all()


@given(problems(), seeds)
def test_keys_and_values_are_a_set(problem, seed):
    q, k, v, mask = problem
    order = torch.randperm(k.size(-2), generator=torch.Generator().manual_seed(seed))
    for function in (attention, additively):
        output, weights = function(q, k, v, mask)
        shuffled, shuffled_weights = function(q, k[..., order, :], v[..., order, :], mask[..., order])
        assert_close(shuffled, output)
        assert_close(shuffled_weights, weights[..., order])


@given(modules(), seeds)
def test_without_positions_a_module_does_not_see_the_order(module, seed):
    mha, x = module
    order = torch.randperm(x.size(1), generator=torch.Generator().manual_seed(seed))
    assert_close(mha(x[:, order]), mha(x)[:, order])


@given(modules(), st.sampled_from([0.3, 0.7, 1.0]))
def test_a_module_gives_the_same_with_and_without_its_weights(module, density):
    mha, x = module
    mask = torch.rand(x.size(0), mha.num_heads, x.size(1), x.size(1)) < density
    fused, explicit = both_paths(mha, x, mask=mask)
    assert_close(fused, explicit)
    assert_close(*(torch.autograd.grad(y.square().sum(), list(mha.parameters())) for y in (fused, explicit)))


@given(modules(), st.data())
def test_a_causal_output_does_not_move_when_the_future_does(module, data):
    mha, x = module
    now = data.draw(st.integers(0, x.size(1) - 1))
    future = x.clone()
    future[:, now + 1 :] = data.draw(st.floats(-1e6, 1e6))
    mask = causal_mask(x.size(1))
    for before, after in zip(both_paths(mha, x, mask=mask), both_paths(mha, future, mask=mask), strict=True):
        assert torch.equal(before[:, : now + 1], after[:, : now + 1])


@given(modules(), st.data())
def test_a_cached_step_gives_the_last_row_of_the_whole(module, data):
    mha, x = module
    length = x.size(1)
    new = data.draw(st.integers(1, length))
    step = mha(x[:, -new:], x, mask=causal_mask(new, length))
    assert_close(step, mha(x, mask=causal_mask(length))[:, -new:])


@given(modules(), st.data())
def test_a_padded_output_does_not_move_by_one_bit_when_padding_does(module, data):
    mha, x = module
    length = x.size(1)
    lengths = data.draw(st.lists(st.integers(0, length), min_size=x.size(0), max_size=x.size(0)))
    mask = padding_mask(lengths, length)
    padding = ~mask[:, 0, 0]
    other = x.clone()
    other[padding] = data.draw(st.floats(-1e30, 1e30))
    for before, after in zip(both_paths(mha, x, mask=mask), both_paths(mha, x, other, mask=mask), strict=True):
        assert torch.equal(before, after)
    for before, after in zip(both_paths(mha, x, mask=mask), both_paths(mha, other, mask=mask), strict=True):
        assert torch.equal(before[~padding], after[~padding])


@given(problems(), st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_no_finite_number_at_a_hidden_position_moves_a_bit(problem, number):
    q, k, v, mask = problem
    hidden = ~mask.expand(*q.shape[:-1], k.size(-2)).any(-2)  # (B, H, Tk), hidden from every query
    other_k, other_v = k.masked_fill(hidden[..., None], number), v.masked_fill(hidden[..., None], number)
    for function in (attention, additively):
        for before, after in zip(function(q, k, v, mask), function(q, other_k, other_v, mask), strict=True):
            assert torch.equal(before, after)


@given(problems(), st.sampled_from([torch.float16, torch.bfloat16]), st.floats(0.01, 10))
def test_half_precision_stays_finite(problem, dtype, size):
    q, k, v, mask = problem
    assume(q.abs().max() * k.abs().max() * size * math.sqrt(q.size(-1)) < torch.finfo(dtype).max)
    q, k, v = ((t * factor).to(dtype).requires_grad_() for t, factor in ((q, size), (k, 1), (v, 1)))
    output, weights = attention(q, k, v, mask)
    for t in (output, weights, *torch.autograd.grad(output.sum(), (q, k, v))):
        assert t.isfinite().all()
        assert t.dtype == dtype


@given(sizes, st.integers(0, 7), st.integers(1, 9))
def test_masks_over_positions_are_the_last_rows_of_the_square_ones(tq, cached, window):
    tk = cached + tq
    causal, near = causal_mask(tq, tk), sliding_window_mask(tq, tk, window=window)
    assert torch.equal(causal, causal_mask(tk)[cached:])
    assert torch.equal(near, sliding_window_mask(tk, window=window)[cached:])
    assert torch.equal(causal, torch.ones(tk, tk).tril()[cached:].bool())
    newest = [min(window, position + 1) for position in range(cached, tk)]
    assert (causal & near).sum(-1).tolist() == newest


@given(seeds, st.integers(0, 1000), st.integers(0, 1000), st.integers(1, 8))
def test_rotary_scores_depend_on_the_offset_alone(seed, cached, shift, pairs):
    torch.manual_seed(seed)
    rope = RotaryPositions(2 * pairs)
    q, k = torch.randn(2, 5, 2 * pairs, dtype=torch.float64)
    near = rope(q, cached) @ rope(k).T
    assert_close(rope(q, cached + shift) @ rope(k, shift).T, near)
    assert_close(rope(q, cached).norm(dim=-1), q.norm(dim=-1))
    assert_close(rope(q)[3:], rope(q[3:], offset=3))


@given(st.integers(0, 200), st.integers(1, 33), st.integers(0, 50))
def test_sinusoidal_codes_are_bounded_and_their_products_depend_on_the_offset_alone(length, d_model, offset):
    code = sinusoidal_encoding(length, d_model)
    assert (code.abs() <= 1).all()
    assert torch.equal(code, sinusoidal_encoding(length + 1, d_model)[:length])
    if d_model % 2 == 0 and length > offset:
        products = (code[offset:] * code[: length - offset]).sum(-1)
        assert_close(products, products[:1].expand_as(products))
