import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.testing import assert_close

from attention_live.attention import MultiHeadAttention, additive_attention, attention, masked_softmax

B, H, TQ, TK, DK, DV = 2, 3, 5, 7, 11, 13  # distinct primes: no exchanged axis goes unnoticed
D = H * DK
DTYPES = [torch.float32, torch.float64]
ALL_DTYPES = [*DTYPES, torch.float16, torch.bfloat16]
MASK_SHAPES = [(TQ, TK), (B, 1, 1, TK), (B, H, TQ, TK), (1, H, TQ, 1)]


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(0)


def leaves(*shapes, dtype=torch.float32):
    return [torch.randn(shape, dtype=dtype, requires_grad=True) for shape in shapes]


def qkv(dtype=torch.float32):
    return leaves((B, H, TQ, DK), (B, H, TK, DK), (B, H, TK, DV), dtype=dtype)


def random_mask(shape):
    """A mask with about half of its keys hidden, the first of them never."""
    mask = torch.rand(shape) < 0.5
    mask[..., 0] = True
    return mask


def mask_with_empty_rows():
    """The first sequence has one query with nothing to attend to, the second has nothing but such queries."""
    mask = random_mask((B, 1, TQ, TK))
    mask[0, :, 2] = False
    mask[1] = False
    return mask


def gradients(output, inputs):
    """Gradients of a sum in which every output has a weight of its own."""
    return torch.autograd.grad((output * torch.linspace(-1, 1, output.numel()).view_as(output)).sum(), inputs)


# --- attention ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mask_shape", [None, *MASK_SHAPES])
@pytest.mark.parametrize("scale", [None, 0.7, 0.0])
@pytest.mark.parametrize("dtype", DTYPES)
def test_attention_equals_pytorch(dtype, scale, mask_shape):
    inputs = qkv(dtype)
    mask = random_mask(mask_shape) if mask_shape else None
    output, weights = attention(*inputs, mask, scale=scale)
    expected = F.scaled_dot_product_attention(*inputs, mask, scale=scale)
    assert_close(output, expected)
    assert_close(weights @ inputs[2], expected)
    assert_close(gradients(output, inputs), gradients(expected, inputs))


def test_attention_by_hand():
    q, k, v = torch.tensor([[2.0, 0.0]]), torch.eye(2), torch.tensor([[1.0, 0.0, 10.0], [0.0, 1.0, 20.0]])
    output, weights = attention(q, k, v, scale=torch.tensor(3.0).log().item() / 2)  # scores ln 3 and 0
    assert_close(weights, torch.tensor([[0.75, 0.25]]))
    assert_close(output, torch.tensor([[0.75, 0.25, 12.5]]))


def test_attention_takes_any_leading_axes():
    q, k, v = qkv()
    assert_close(attention(q[0, 0], k[0, 0], v[0, 0]), tuple(t[0, 0] for t in attention(q, k, v)))


def test_attention_without_keys_finds_nothing():
    output, weights = attention(torch.ones(TQ, DK), torch.ones(0, DK), torch.ones(0, DV))
    assert weights.shape == (TQ, 0)
    assert torch.equal(output, torch.zeros(TQ, DV))


def test_dropout_falls_on_the_weights_that_mix_the_values_but_not_on_those_returned():
    q, k, _ = qkv()
    output, weights = attention(q, k, torch.eye(TK), dropout_p=0.5)
    dropped = output == 0
    assert 0.3 < dropped.float().mean() < 0.7
    assert_close(output[~dropped], 2 * weights[~dropped])
    assert_close(weights, attention(q, k, torch.eye(TK))[1])


# --- additive attention ------------------------------------------------------------------------------------------


def additive_inputs(dtype):
    shapes = (B, 1, TQ, 11), (B, 1, TK, 13), (B, 1, TK, 17), (11, 19), (13, 19), (19,)
    return leaves(*shapes, dtype=dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_additive_attention_equals_the_formula_pair_by_pair(dtype):
    q, k, v, w_q, w_k, v_a = additive_inputs(dtype)
    mask = random_mask((B, 1, TQ, TK))
    output, weights = (t.squeeze(1) for t in additive_attention(q, k, v, w_q, w_k, v_a, mask))
    q, k, v, mask = (t.squeeze(1) for t in (q, k, v, mask))
    for b in range(B):
        for i in range(TQ):
            seen = mask[b, i].nonzero().flatten().tolist()
            exps = [torch.exp(v_a.dot(torch.tanh(w_q.T @ q[b, i] + w_k.T @ k[b, j]))) for j in seen]
            assert_close(weights[b, i, seen], torch.stack(exps) / sum(exps))
            assert_close(output[b, i], sum(e * v[b, j] for e, j in zip(exps, seen, strict=True)) / sum(exps))


# --- what both promise -------------------------------------------------------------------------------------------


def dot_product_inputs(dtype):
    return leaves((B, 1, TQ, DK), (B, 1, TK, DK), (B, 1, TK, DV), dtype=dtype)


for_both = pytest.mark.parametrize(
    ("function", "make_inputs"), [(attention, dot_product_inputs), (additive_attention, additive_inputs)]
)


@for_both
def test_gradients_are_those_of_finite_differences(function, make_inputs):
    mask = mask_with_empty_rows()
    assert torch.autograd.gradcheck(lambda *inputs: function(*inputs, mask=mask), make_inputs(torch.float64))


@for_both
@pytest.mark.parametrize("dtype", ALL_DTYPES)
@pytest.mark.filterwarnings("ignore:Anomaly Detection")
def test_a_query_with_nothing_to_attend_to_gets_zeros_and_gives_zero_gradients(function, make_inputs, dtype):
    inputs = make_inputs(dtype)
    with torch.autograd.detect_anomaly():  # no NaN on the way either
        output, weights = function(*inputs, mask=mask_with_empty_rows())
        of_q, of_k, of_v = gradients(output, inputs)[:3]
    for t in (output, weights, of_q):
        assert not t[0, :, 2].any()
        assert not t[1].any()
        assert t[0, :, 0].any()
    for t in (output, weights, of_q, of_k, of_v):
        assert t.isfinite().all()
    assert not of_k[1].any()
    assert not of_v[1].any()


@for_both
@pytest.mark.parametrize("dtype", ALL_DTYPES)
def test_finite_numbers_at_hidden_positions_move_no_bit(function, make_inputs, dtype):
    q, k, v, *weights = make_inputs(dtype)
    mask = torch.ones(B, 1, 1, TK, dtype=torch.bool)
    mask[0, ..., 4:] = False
    mask[1] = False
    largest = torch.finfo(dtype).max
    loud_k, loud_v = k.detach().clone(), v.detach().clone()
    loud_k[~mask[:, :, 0]] = largest
    loud_v[~mask[:, :, 0]] = -largest
    quiet, loud = function(q, k, v, *weights, mask=mask), function(q, loud_k, loud_v, *weights, mask=mask)
    assert torch.equal(loud[0], quiet[0])
    assert torch.equal(loud[1], quiet[1])
    for gradient in gradients(quiet[0], (k, v)):
        assert not gradient[~mask[:, :, 0]].any()


def test_half_precision_survives_products_that_are_too_large_before_they_are_scaled():
    q = k = torch.full((TQ, 64), 50.0, dtype=torch.float16)  # q·k = 160,000 > 65,504; scaled it is 20,000
    output, weights = attention(q, k, torch.eye(TQ, dtype=torch.float16))
    assert_close(weights, torch.full((TQ, TQ), 1 / TQ, dtype=torch.float16))
    assert_close(output, weights)


@for_both
def test_functions_name_what_does_not_fit(function, make_inputs):
    q, k, v, *weights = make_inputs(torch.float32)
    with pytest.raises(ValueError, match="every key needs one value, got 7 keys and 6 values"):
        function(q, k, v[..., 1:, :], *weights)
    with pytest.raises(ValueError, match="every key needs one value, got 6 keys and 7 values"):
        function(q, k[..., 1:, :], v, *weights)
    with pytest.raises(TypeError, match=r"mask must be boolean, True = may attend, got torch\.float32"):
        function(q, k, v, *weights, mask=torch.zeros(TQ, TK))
    for shape in ((TK, TQ), (TQ, TQ), (B, 1, 1, 1, TK), (B, TK)):
        with pytest.raises(ValueError, match=r"mask \(.*\) does not broadcast to the scores' shape \(2, 1, 5, 7\)"):
            function(q, k, v, *weights, mask=torch.ones(shape, dtype=torch.bool))


def test_attention_names_widths_that_differ():
    q, k, v = qkv()
    with pytest.raises(ValueError, match="q and k must have the same width, got 11 and 10"):
        attention(q, k[..., 1:], v)


def test_masked_softmax():
    scores = torch.tensor([[0.0, 1.0, 1.0], [2.0, 2.0, 5.0], [1.0, 2.0, 3.0], [-1e30, 1.0, 1.0]])
    mask = torch.tensor([[False, True, True], [True, True, False], [False, False, False], [True, False, False]])
    expected = torch.tensor([[0, 0.5, 0.5], [0.5, 0.5, 0], [0, 0, 0], [1, 0, 0]])
    assert_close(masked_softmax(scores, mask), expected)
    assert_close(masked_softmax(scores), scores.softmax(dim=1))


# --- multi-head attention ----------------------------------------------------------------------------------------


def pair(dtype=torch.float32, bias=True, batch_first=True, dropout=0.0):
    """PyTorch's module, with biases that are not zero, and ours made from it."""
    theirs = nn.MultiheadAttention(D, H, dropout=dropout, bias=bias, batch_first=batch_first, dtype=dtype)
    if bias:
        nn.init.normal_(theirs.in_proj_bias)
        nn.init.normal_(theirs.out_proj.bias)
    return theirs, MultiHeadAttention.from_torch(theirs)


def parameter_gradients(ours):
    """The gradients of our parameters, stacked as PyTorch's module has them."""
    first = (ours.w_q, ours.w_k, ours.w_v)
    stacked = {"in_proj_weight": torch.cat([w.weight.grad for w in first]), "out_proj.weight": ours.w_o.weight.grad}
    if ours.w_o.bias is not None:
        stacked |= {"in_proj_bias": torch.cat([w.bias.grad for w in first]), "out_proj.bias": ours.w_o.bias.grad}
    return stacked


@pytest.mark.parametrize("mask_shape", [None, *MASK_SHAPES])
@pytest.mark.parametrize("return_weights", [False, True])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("dtype", DTYPES)
def test_multi_head_attention_equals_pytorch(dtype, bias, return_weights, mask_shape):
    theirs, ours = pair(dtype, bias)
    inputs = leaves((B, TQ, D), (B, TK, D), (B, TK, D), dtype=dtype)
    mask = random_mask(mask_shape) if mask_shape else None
    hide = None if mask is None else ~mask.expand(B, H, TQ, TK).flatten(0, 1)
    expected, expected_weights = theirs(*inputs, attn_mask=hide, average_attn_weights=False)
    output = ours(*inputs, mask, return_weights=return_weights)
    if return_weights:
        output, weights = output
        assert_close(weights, expected_weights)
    assert_close(output, expected)

    grad = torch.randn_like(expected)
    expected_gradients = torch.autograd.grad(expected, [*inputs, *theirs.parameters()], grad)
    output.backward(grad)
    assert_close(tuple(x.grad for x in inputs), expected_gradients[:3])
    names = [name for name, _ in theirs.named_parameters()]
    assert_close(parameter_gradients(ours), dict(zip(names, expected_gradients[3:], strict=True)))


def test_the_copy_is_batch_first_whatever_the_original():
    theirs, ours = pair(batch_first=False)
    x = torch.randn(B, TQ, D)
    assert_close(ours(x), theirs(*[x.transpose(0, 1)] * 3)[0].transpose(0, 1))


def test_self_and_cross_attention():
    _, mha = pair()
    x, memory = torch.randn(B, TQ, D), torch.randn(B, TK, D)
    assert torch.equal(mha(x), mha(x, x, x))
    assert torch.equal(mha(x, memory), mha(x, memory, memory))
    assert mha(x, memory, return_weights=True)[1].shape == (B, H, TQ, TK)


@pytest.mark.parametrize("return_weights", [False, True])
@pytest.mark.parametrize("dtype", ALL_DTYPES)
@pytest.mark.filterwarnings("ignore:Anomaly Detection")
def test_a_padded_sequence_without_tokens_gets_the_output_bias_and_gives_no_gradient(dtype, return_weights):
    _, mha = pair(dtype)
    query, memory = leaves((B, TQ, D), (B, TK, D), dtype=dtype)
    with torch.autograd.detect_anomaly():
        output = mha(query, memory, mask=mask_with_empty_rows(), return_weights=return_weights)
        output = output[0] if return_weights else output
        of_query, of_memory = gradients(output, (query, memory))
    assert_close(output[1], mha.w_o.bias.expand(TQ, D))
    assert_close(output[0, 2], mha.w_o.bias)
    assert not of_query[1].any()
    assert not of_query[0, 2].any()
    assert not of_memory[1].any()
    for gradient in (of_query, of_memory):
        assert gradient.isfinite().all()
        assert gradient[0].any()


def test_by_default_there_are_biases_and_no_dropout():
    mha = MultiHeadAttention(D, H)
    assert mha.dropout == 0
    assert {name for name, _ in mha.named_parameters()} == {
        f"{name}.{kind}" for name in ("w_q", "w_k", "w_v", "w_o") for kind in ("weight", "bias")
    }


@pytest.mark.parametrize("return_weights", [False, True])
def test_dropout_acts_in_training_only(return_weights):
    theirs, mha = pair(dropout=0.5)
    x = torch.randn(B, TQ, D)
    first = lambda: mha(x, return_weights=True)[0] if return_weights else mha(x)  # noqa: E731
    assert not torch.allclose(first(), first())
    mha.eval()
    assert_close(first(), theirs.eval()(x, x, x)[0])


def test_from_torch_copies_the_settings_and_shares_no_memory():
    theirs = nn.MultiheadAttention(D, H, dropout=0.3, bias=False, dtype=torch.float64).eval()
    ours = MultiHeadAttention.from_torch(theirs)
    assert (ours.d_model, ours.num_heads, ours.dropout, ours.training) == (D, H, 0.3, False)
    assert {name: p.dtype for name, p in ours.named_parameters()} == {
        f"{name}.weight": torch.float64 for name in ("w_q", "w_k", "w_v", "w_o")
    }
    before = ours.w_q.weight.clone()
    nn.init.zeros_(theirs.in_proj_weight)
    assert torch.equal(ours.w_q.weight, before)
    assert MultiHeadAttention.from_torch(theirs.to("meta")).w_o.weight.device.type == "meta"


@pytest.mark.parametrize("option", [{"kdim": 7}, {"vdim": 7}, {"add_bias_kv": True}, {"add_zero_attn": True}])
def test_from_torch_refuses_what_it_cannot_copy(option):
    with pytest.raises(ValueError, match=next(iter(option))):
        MultiHeadAttention.from_torch(nn.MultiheadAttention(D, H, **option))


@pytest.mark.parametrize("num_heads", [4, 0])
def test_d_model_must_be_divisible(num_heads):
    with pytest.raises(ValueError, match=rf"d_model \(10\) must be divisible by num_heads \({num_heads}\)"):
        MultiHeadAttention(10, num_heads)


@pytest.mark.parametrize("return_weights", [False, True])
def test_multi_head_attention_names_what_does_not_fit(return_weights):
    mha = MultiHeadAttention(D, H)
    x, memory = torch.randn(B, TQ, D), torch.randn(B, TK, D)

    def refuses(error, message, *inputs, **more):
        with pytest.raises(error, match=message):
            mha(*inputs, **more, return_weights=return_weights)

    refuses(ValueError, r"query must be \(B, T, d_model = 33\), got \(5, 33\)", x[0])
    refuses(ValueError, r"key must be \(B, T, d_model = 33\), got \(2, 7, 32\)", x, memory[..., 1:])
    refuses(ValueError, r"value must be \(B, T, d_model = 33\), got \(2, 7, 32\)", x, memory, memory[..., 1:])
    refuses(ValueError, "every key needs one value, got 7 keys and 6 values", x, memory, memory[:, 1:])
    refuses(TypeError, r"mask must be boolean, True = may attend, got torch\.float32", x, mask=torch.zeros(TQ, TQ))
    for shape in ((TQ,), (B, TQ, TQ), (B, 1, 1, 1, TQ)):
        message = r"mask must have the axes \(Tq, Tk\) or \(B, H, Tq, Tk\), got "
        refuses(ValueError, message, x, mask=torch.ones(shape, dtype=torch.bool))
    for shape in ((TK, TQ), (B, TK), (H, 1, 1, TK), (B, B, TQ, TK)):
        message = r"mask \(.*\) does not broadcast to the scores' shape \(2, 3, 5, 7\)"
        refuses(ValueError, message, x, memory, mask=torch.ones(shape, dtype=torch.bool))
