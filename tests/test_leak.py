import pytest
import torch
from torch import nn

from attention_live.attention import MultiHeadAttention
from attention_live.leak import assert_no_leak, influence
from attention_live.masks import causal_mask, padding_mask, sliding_window_mask

B, T, D, V = 2, 5, 12, 7


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(0)


class Attend(nn.Module):
    """A layer of attention with the mask it is to use, so that a model is a function of x alone."""

    def __init__(self, mask, d_model=D, **options):
        super().__init__()
        self.attention = MultiHeadAttention(d_model, 2, **options)
        self.mask = mask

    def forward(self, x):
        return self.attention(x, mask=self.mask)


@pytest.mark.parametrize(
    "mask",
    [
        causal_mask(T),
        sliding_window_mask(T, window=2),
        causal_mask(T) & sliding_window_mask(T, window=3),
        torch.ones(T, T, dtype=torch.bool),
        torch.eye(T, dtype=torch.bool),
    ],
)
def test_one_layer_reaches_what_its_mask_allows(mask):
    assert torch.equal(influence(Attend(mask), torch.randn(B, T, D)), mask)


def test_a_pad_reaches_nothing_but_its_own_output_as_the_query():
    reached = influence(Attend(padding_mask([3, 3], T)), torch.randn(B, T, D))
    assert torch.equal(reached, padding_mask([3, 3], T)[0, 0] | torch.eye(T, dtype=torch.bool))


def test_one_sequence_that_is_reached_is_enough():
    reached = influence(Attend(padding_mask([T, 3], T)), torch.randn(B, T, D))
    assert reached.all()


def test_layers_on_top_of_each_other_reach_further():
    window = causal_mask(T) & sliding_window_mask(T, window=2)
    model = nn.Sequential(Attend(window), Attend(window))
    reached = influence(model, torch.randn(B, T, D))
    assert torch.equal(reached, causal_mask(T) & sliding_window_mask(T, window=3))
    assert_no_leak(model, torch.randn(B, T, D), causal_mask(T))


def test_tokens():
    model = nn.Sequential(nn.Embedding(V, D), Attend(causal_mask(T)), nn.Linear(D, V))
    tokens = torch.randint(V, (B, T))
    assert torch.equal(influence(model, tokens), causal_mask(T))
    assert_no_leak(model, tokens, causal_mask(T))


def test_outputs_of_any_shape_and_length():
    x = torch.randn(B, T, 2, 3)
    assert torch.equal(influence(lambda x: x[:, 1:], x), torch.eye(T, dtype=torch.bool)[1:])
    assert torch.equal(influence(lambda x: x.sum(dim=(2, 3)), x), torch.eye(T, dtype=torch.bool))
    assert torch.equal(influence(lambda x: x.mean(dim=1, keepdim=True), x), torch.ones(1, T, dtype=torch.bool))


def test_neither_x_nor_the_state_of_the_random_numbers_is_changed():
    model, x = Attend(causal_mask(T)), torch.randn(B, T, D)
    before, state = x.clone(), torch.get_rng_state()
    influence(model, x)
    assert torch.equal(x, before)
    assert torch.equal(torch.get_rng_state(), state)


def test_the_first_leak_is_named():
    message = r"^input 1 reaches output 0, from which the mask hides it \(10 such pairs in all\)$"
    with pytest.raises(AssertionError, match=message):
        assert_no_leak(Attend(None), torch.randn(B, T, D), causal_mask(T))
    target_too_early = lambda x: x.roll(-1, dims=1)  # noqa: E731, each output is the next input
    with pytest.raises(AssertionError, match=r"input 1 reaches output 0, .* \(4 such pairs in all\)"):
        assert_no_leak(target_too_early, torch.randn(B, T, D), causal_mask(T))


@pytest.mark.parametrize(
    ("message", "model", "x"),
    [
        (r"must be \(B, Tout, \.\.\.\) with B = 2, got \(2,\)", lambda x: x.sum(dim=(1, 2)), torch.randn(B, T, D)),
        (r"must be \(B, Tout, \.\.\.\) with B = 2, got \(5, 12\)", lambda x: x.sum(dim=0), torch.randn(B, T, D)),
        (r"NaN, .* is there a query that sees no key\?", lambda x: x / 0 * 0, torch.randn(B, T, D)),
        (r"changes from call to call: call model\.eval\(\)", nn.Dropout(0.5), torch.randn(B, T, D)),
        ("two different tokens or more", lambda x: x, torch.zeros(B, T, dtype=torch.long)),
    ],
)
def test_what_cannot_be_tested_is_said(message, model, x):
    with pytest.raises(ValueError, match=message):
        influence(model, x)
