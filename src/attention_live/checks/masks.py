"""The exercises of chapter 06, Masks."""

import torch
import torch.nn.functional as F

from ..attention import MultiHeadAttention
from ..attention import masked_softmax as book_masked_softmax
from ..masks import causal_mask as book_causal_mask
from ..masks import padding_mask as book_padding_mask
from ..masks import sliding_window_mask
from .engine import Case, Chapter, Mistake, randn

chapter = Chapter()
progress = chapter.progress
__dir__ = chapter.names

# Distinct primes, as in the other chapters; where a wrong axis should run and be named, some sizes are equal.
B, H, TQ, TK, D, V = 2, 3, 5, 7, 11, 13

padding_mask = chapter.exercise(
    "6.1",
    "padding_mask",
    reference=lambda lengths, max_len: book_padding_mask(lengths, max_len),
    cases=[
        Case({"lengths": torch.tensor([2, 1]), "max_len": 3}),
        Case({"lengths": torch.tensor([5, 3, 1]), "max_len": 5}),
        Case({"lengths": torch.tensor([2, 3, 4]), "max_len": 7}, about="all sentences shorter than max_len"),
    ],
    mistakes=[
        Mistake(
            "True means hide",
            lambda lengths, max_len: ~book_padding_mask(lengths, max_len),
            "this is the mask of the other convention. In this book True = may attend, so the real words are True.",
        ),
        Mistake(
            "one pad too many",
            lambda lengths, max_len: torch.arange(max_len) <= lengths[:, None, None, None],
            "a sentence of length 2 has the positions 0 and 1. Position 2 is a pad: `<`, not `<=`.",
        ),
        Mistake(
            "the last real word is hidden",
            lambda lengths, max_len: torch.arange(max_len) < lengths[:, None, None, None] - 1,
            "positions count from 0, so the last real one is length − 1, and it may be attended to.",
        ),
        Mistake(
            "two axes",
            lambda lengths, max_len: book_padding_mask(lengths, max_len)[:, 0, 0],
            "the values are right, in the shape (B, Tk). Lined up from the right that is (Tq, Tk): with as many "
            "sentences as queries it would run, and mask by query. Put two axes of length 1 between.",
        ),
        Mistake(
            "three axes",
            lambda lengths, max_len: book_padding_mask(lengths, max_len)[:, 0],
            "the values are right, in the shape (B, 1, Tk). Lined up from the right, B meets the heads. Put in one "
            "more axis of length 1.",
        ),
        Mistake(
            "the queries are hidden",
            lambda lengths, max_len: book_padding_mask(lengths, max_len).transpose(-2, -1),
            "the shape is (B, 1, Tk, 1): this hides the rows of the pads, so that a pad looks at nothing, while real "
            "queries still look at pads. It is the keys that have to be hidden: the last axis.",
        ),
        Mistake(
            "the new axes in front",
            lambda lengths, max_len: (torch.arange(max_len) < lengths[:, None])[None, None],
            "the shape is (1, 1, B, Tk): the sentences stand where the queries belong. The axes of length 1 go between "
            "the two: `[:, None, None]`.",
        ),
        Mistake(
            "numbers, not booleans",
            lambda lengths, max_len: book_padding_mask(lengths, max_len).long(),
            "these are the integers 1 and 0. Given as numbers, some functions add a mask to the scores. Leave it "
            "boolean.",
        ),
        Mistake(
            "floats, not booleans",
            lambda lengths, max_len: book_padding_mask(lengths, max_len).float(),
            "these are the numbers 1.0 and 0.0. Given as numbers, some functions add a mask to the scores. Leave it "
            "boolean.",
        ),
        Mistake(
            "−∞ for the hidden",
            lambda lengths, max_len: torch.where(book_padding_mask(lengths, max_len), 0.0, -torch.inf),
            "this is an additive mask, to be added to the scores. It works where it is expected; here a boolean one is "
            "wanted.",
        ),
        Mistake(
            "the pads stand in front",
            lambda lengths, max_len: book_padding_mask(lengths, max_len).flip(-1),
            "this hides the first positions. Here the real words come first, and the pads after them.",
        ),
    ],
    verified="real keys are True, pads are False, in the shape (B, 1, 1, Tk)",
)


def _causal_with(diagonal):
    return lambda tq, tk: torch.ones(tq, tk, dtype=torch.bool).tril(tk - tq + diagonal)


causal_mask = chapter.exercise(
    "6.2",
    "causal_mask",
    reference=lambda tq, tk: book_causal_mask(tq, tk),
    cases=[
        Case({"tq": 3, "tk": 3}),
        Case({"tq": 5, "tk": 5}),
        Case({"tq": 2, "tk": 5}, about="two queries, the last two of five positions"),
        Case({"tq": 1, "tk": 4}, about="one query, the newest of four positions"),
    ],
    mistakes=[
        Mistake(
            "True means hide",
            lambda tq, tk: ~book_causal_mask(tq, tk),
            "this is the mask of the other convention: it is True where the future lies. In this book True = may "
            "attend.",
        ),
        Mistake(
            "nobody may look at itself",
            _causal_with(diagonal=-1),
            "the diagonal is False. A query may attend to its own position; without it the very first query has no key "
            "at all.",
        ),
        Mistake(
            "one step of the future",
            _causal_with(diagonal=1),
            "every query sees one position ahead. That is the very word it has to predict.",
        ),
        Mistake(
            "only the past is hidden",
            lambda tq, tk: torch.ones(tq, tk, dtype=torch.bool).triu(tk - tq),
            "this allows the future and hides the past: the other triangle is wanted, `tril`.",
        ),
        Mistake(
            "the queries are the first positions",
            lambda tq, tk: torch.ones(tq, tk, dtype=torch.bool).tril(),
            "right as long as tq = tk. With fewer queries they are the *last* tq positions, so the newest one sees "
            "every key. This counts them from the first, as PyTorch's `is_causal=True` does.",
        ),
        Mistake(
            "`== 0` turned it over",
            lambda tq, tk: torch.ones(tq, tk).tril() == 0,
            "`tril(...) == 0` is True where the triangle is *not*: in the future. That is a mask with True = hide, and "
            "with fewer queries than keys it counts the queries from the first position besides.",
        ),
        Mistake(
            "rows and columns exchanged",
            lambda tq, tk: torch.arange(tk)[:, None] <= torch.arange(tk - tq, tk),
            "a row has to be a query and a column a key. This is the other way round, so it shows the future and hides "
            "the past: compare `torch.arange(tk)` with the queries as a column, `[:, None]`.",
        ),
        Mistake(
            "the earlier keys are forgotten",
            lambda tq, tk: book_causal_mask(tq),
            "right as long as tq = tk. With fewer queries there are still tk keys, a column for each.",
        ),
        Mistake(
            "the mask of all positions",
            lambda tq, tk: book_causal_mask(tk),
            "this has a row for each key. There are only tq queries: the last tq rows.",
        ),
        Mistake(
            "numbers, not booleans",
            lambda tq, tk: book_causal_mask(tq, tk).float(),
            "these are the numbers 1.0 and 0.0. Given as numbers, some functions add a mask to the scores. Make it "
            "boolean.",
        ),
        Mistake(
            "−∞ for the hidden",
            lambda tq, tk: torch.zeros(tq, tk).masked_fill(~book_causal_mask(tq, tk), -torch.inf),
            "this is an additive mask, to be added to the scores. It works where it is expected; here a boolean one is "
            "wanted.",
        ),
    ],
    verified="no query sees the future, each sees itself, and with a cache the newest sees everything",
)


def _fill(value, *, keep_nan=False):
    """Softmax of the scores with `value` where they are hidden."""

    def masked(scores, mask):
        weights = torch.where(mask, scores, torch.tensor(value, dtype=scores.dtype)).softmax(dim=-1)
        return weights if keep_nan else weights.nan_to_num(0.0)

    return masked


def _after(scores, mask):
    return scores.softmax(dim=-1) * mask


def _after_then_divided(scores, mask):
    weights = _after(scores, mask)
    return weights / weights.sum(dim=-1, keepdim=True)


EMPTY = torch.tensor([[True, False], [False, False]])
KEPT = torch.tensor(
    [
        [True, True, False, True, False, True, True],
        [False, False, True, False, False, False, False],
        [True, True, True, True, True, True, True],
        [False, True, False, True, True, False, False],
        [True, False, True, True, True, True, True],
    ]
)

masked_softmax = chapter.exercise(
    "6.3",
    "masked_softmax",
    reference=lambda scores, mask: book_masked_softmax(scores, mask),
    cases=[
        Case({"scores": torch.tensor([[0.0, 1.0], [2.0, 0.0]]), "mask": torch.tensor([[True, False], [True, True]])}),
        Case(randn(scores=(TQ, TK)) | {"mask": KEPT}),
        Case(randn(scores=(B, H, TQ, TK)) | {"mask": KEPT}, about="axes for batch and heads in front"),
        Case({"scores": torch.tensor([[0.0, 1.0], [2.0, 0.0]]), "mask": EMPTY}, about="a query that may see nothing"),
        Case(
            {"scores": torch.tensor([[1.0, 200.0], [0.5, 1.0]]), "mask": torch.tensor([[True, False], [True, True]])},
            about="a very large score is hidden",
        ),
        Case(
            {"scores": torch.tensor([[1.0, 2.0]]).half(), "mask": torch.tensor([[True, False]])},
            about="half precision",
        ),
    ],
    mistakes=[
        Mistake(
            "True taken as hide",
            lambda scores, mask: book_masked_softmax(scores, ~mask),
            "the hidden scores got all the weight. Here True = may attend: fill where the mask is *False*.",
        ),
        Mistake(
            "filled where it may be seen",
            lambda scores, mask: scores.masked_fill(mask, -torch.inf).softmax(dim=-1),
            "`masked_fill` fills where its mask is True, and here True = may attend. Fill where it is not: `~mask`.",
        ),
        Mistake(
            "no mask",
            lambda scores, mask: scores.softmax(dim=-1),
            "this is softmax over all keys. The mask has to take part.",
        ),
        Mistake(
            "an empty row is NaN",
            _fill(-torch.inf, keep_nan=True),
            "right as long as every query sees a key. A row of nothing but −∞ gives 0 divided by 0. Wanted are zeros.",
        ),
        Mistake(
            "masked after softmax",
            _after,
            "the hidden weights were set to zero after softmax, so the rest of the row adds up to less than 1. Mask "
            "the scores, before softmax.",
        ),
        Mistake(
            "masked after softmax, then divided",
            _after_then_divided,
            "on paper this is the same as −∞ before softmax. But where a hidden score is very large, all others "
            "are 0 already, and 0 divided by 0 is NaN; so it is in a row that sees nothing.",
        ),
        Mistake(
            "masked after softmax, divided, NaN made zeros",
            lambda scores, mask: _after_then_divided(scores, mask).nan_to_num(0.0),
            "zeros are right for a row that sees nothing. But where a hidden score is very large, a row that does see "
            "a key loses all its weight too. Mask the scores, before softmax.",
        ),
        Mistake(
            "the hidden scores were set to 0",
            _fill(0.0),
            "0 is an ordinary score, e⁰ = 1: hidden keys still get weight. Only −∞ gives a weight of exactly 0.",
        ),
        Mistake(
            "scores times mask",
            lambda scores, mask: (scores * mask).softmax(dim=-1).nan_to_num(0.0) * mask,
            "multiplying makes the hidden scores 0, and e⁰ = 1 is then part of the sum below the fraction.",
        ),
        Mistake(
            "a large negative number",
            lambda scores, mask: scores.masked_fill(~mask, -1e9).softmax(dim=-1),
            "−1e9 is beyond the numbers of half precision, which end at −65504, and in a row that sees nothing it "
            "gives equal shares to the hidden keys. `-torch.inf` exists in every precision.",
        ),
        Mistake(
            "a large number was subtracted",
            lambda scores, mask: (scores - 1e9 * ~mask).softmax(dim=-1),
            "1e9 less is nearly −∞, but a row that sees nothing keeps equal shares for its hidden keys. Fill in −∞ "
            "where the mask is False, and make such a row zeros yourself.",
        ),
        Mistake(
            "a finite negative number",
            lambda scores, mask: scores.masked_fill(~mask, -1e4).softmax(dim=-1),
            "right as long as every query sees a key. A row that sees nothing comes out with equal shares for all its "
            "hidden keys, as with any finite number. Fill in −∞, and make such a row zeros yourself.",
        ),
        Mistake(
            "the wrong axis",
            lambda scores, mask: scores.masked_fill(~mask, -torch.inf).softmax(dim=-2).nan_to_num(0.0),
            "the columns add up to 1. Each query, a row, shares itself out: `dim=-1`.",
        ),
        Mistake(
            "the axis counted from the left",
            lambda scores, mask: scores.masked_fill(~mask, -torch.inf).softmax(dim=1).nan_to_num(0.0),
            "right for (Tq, Tk). With the axes of batch and heads in front, axis 1 is that of the heads. Count from "
            "the right: `dim=-1`.",
        ),
    ],
    verified="rows add up to 1, hidden weights are exactly 0, and a query that sees nothing gets zeros",
)


def _combined(lengths, t):
    return book_causal_mask(t) & book_padding_mask(lengths, t)


decoder_mask = chapter.exercise(
    "6.4",
    "decoder_mask",
    reference=_combined,
    cases=[
        Case({"lengths": torch.tensor([3, 1]), "t": 3}),
        Case({"lengths": torch.tensor([5, 2, 4]), "t": 5}),
        Case({"lengths": torch.tensor([4, 7]), "t": 7}),
    ],
    mistakes=[
        Mistake(
            "one of the two is enough",
            lambda lengths, t: book_causal_mask(t) | book_padding_mask(lengths, t),
            "with `|` a key is seen when one mask allows it, so the future is open as far as it is no pad. Both have "
            "to allow it: `&`.",
        ),
        Mistake(
            "True means hide",
            lambda lengths, t: ~_combined(lengths, t),
            "this is the mask of the other convention. In this book True = may attend.",
        ),
        Mistake(
            "pad queries are hidden as well",
            lambda lengths, t: _combined(lengths, t) & book_padding_mask(lengths, t).transpose(-2, -1),
            "the rows of the pads are empty. In many functions an empty row becomes NaN, and its gradient spoils the "
            "whole layer. Hide keys only; what a pad finds is ignored later.",
        ),
        Mistake(
            "the causal part alone",
            lambda lengths, t: book_causal_mask(t).expand(len(lengths), 1, t, t),
            "the lengths play no part: a pad's query aside, every later position sees the pads before it.",
        ),
        Mistake(
            "the padding alone",
            lambda lengths, t: book_padding_mask(lengths, t).expand(len(lengths), 1, t, t),
            "the future is not hidden. Combine this with the causal mask.",
        ),
        Mistake(
            "the axis of the heads is missing",
            lambda lengths, t: _combined(lengths, t)[:, 0],
            "the values are right in the shape (B, T, T). Lined up from the right, B meets the heads. Wanted is "
            "(B, 1, T, T).",
        ),
        Mistake(
            "nobody may look at itself",
            lambda lengths, t: _combined(lengths, t) & ~torch.eye(t, dtype=torch.bool),
            "the diagonal is hidden, and the first query sees nothing. A query may attend to its own position.",
        ),
    ],
    verified="a key is seen when it is no pad and lies not in the future, in the shape (B, 1, T, T)",
)


def _to_torch(mask, batch, num_heads):
    return ~mask.expand(batch, num_heads, -1, -1).flatten(0, 1)


MIXED = torch.rand(B, H, TQ, TK, generator=torch.Generator().manual_seed(3)) < 0.6
FOUR = torch.tensor([[[[True, False]]], [[[True, True]]]])

to_torch = chapter.exercise(
    "6.5",
    "to_torch",
    reference=_to_torch,
    cases=[
        Case({"mask": FOUR, "batch": 2, "num_heads": 2}),
        Case({"mask": book_padding_mask([7, 4], TK).expand(B, 1, TQ, TK).clone(), "batch": B, "num_heads": H}),
        Case({"mask": MIXED, "batch": B, "num_heads": H}, about="every head has a mask of its own"),
        Case(
            {"mask": book_causal_mask(TQ)[None, None], "batch": B, "num_heads": H},
            about="one mask for all sentences and heads",
        ),
    ],
    mistakes=[
        Mistake(
            "not inverted",
            lambda mask, batch, num_heads: ~_to_torch(mask, batch, num_heads),
            "the shape is right, but for `nn.MultiheadAttention` True means *hide*. Nothing would complain; the layer "
            "would look exactly where it must not.",
        ),
        Mistake(
            "heads and sentences in the other order",
            lambda mask, batch, num_heads: ~mask.expand(batch, num_heads, -1, -1).transpose(0, 1).flatten(0, 1),
            "the masks run through all sentences of head 0, then of head 1. PyTorch wants all heads of sentence 0 "
            "first. With one mask for all sentences the mistake does not even show.",
        ),
        Mistake(
            "the whole stack repeated",
            lambda mask, batch, num_heads: ~mask.expand(batch, -1, -1, -1)[:, 0].repeat(num_heads, 1, 1),
            "`repeat` puts the whole batch one after another, once for each head: sentence 0, 1, 0, 1. Each sentence's "
            "masks have to stand together: 0, 0, 1, 1. And each head may have a mask of its own.",
        ),
        Mistake(
            "the axes of length 1 were not written out",
            lambda mask, batch, num_heads: ~mask.flatten(0, 1),
            "an axis of length 1 stands for all sentences, or all heads. Here each needs a copy: "
            "`expand(batch, num_heads, -1, -1)`.",
        ),
        Mistake(
            "the sentences repeated for the heads",
            lambda mask, batch, num_heads: ~mask[:, 0].repeat_interleave(num_heads, dim=0),
            "right as long as there is a mask for each sentence and one for all its heads. It loses the masks of the "
            "other heads, and of a mask for all sentences it makes too few.",
        ),
        Mistake(
            "four axes",
            lambda mask, batch, num_heads: ~mask.expand(batch, num_heads, -1, -1),
            "the values are right; PyTorch wants batch and heads in one axis of length B·H.",
        ),
        Mistake(
            "one mask a sentence",
            lambda mask, batch, num_heads: ~mask.expand(batch, -1, -1, -1)[:, 0],
            "this has B masks; there have to be B·H, one for each head of each sentence.",
        ),
        Mistake(
            "every head gets the mask of head 0",
            lambda mask, batch, num_heads: ~mask.expand(batch, -1, -1, -1)[:, 0].repeat_interleave(num_heads, dim=0),
            "right as long as all heads share one mask. Where each has its own, those of the others were lost.",
        ),
        Mistake(
            "−∞ for the hidden",
            lambda mask, batch, num_heads: torch.zeros(batch * num_heads, *mask.shape[2:]).masked_fill(
                _to_torch(mask, batch, num_heads), -torch.inf
            ),
            "that is an additive mask. PyTorch's module takes it as well, but here a boolean one is wanted.",
        ),
    ],
    verified="hidden is True, B·H masks in PyTorch's order, also where every head has its own",
)


def _mean_of_real(x, lengths):
    real = torch.arange(x.size(1)) < lengths[:, None]
    return (x * real[..., None]).sum(dim=1) / lengths[:, None]


def _up_to_the_first_pad(x, lengths):
    """The sum of each sequence's real tokens and its first pad, if there is one."""
    return torch.stack([sequence[: n + 1].sum(dim=0) for sequence, n in zip(x, lengths.tolist(), strict=True)])


def _pads_as(x, lengths, value):
    real = torch.arange(x.size(1)) < lengths[:, None]
    return torch.where(real[..., None], x, torch.tensor(value))


PAIRS = torch.tensor([[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [9.0, 9.0]]])

mean_pool = chapter.exercise(
    "6.6",
    "mean_pool",
    reference=_mean_of_real,
    cases=[
        Case({"x": PAIRS, "lengths": torch.tensor([2, 1])}),
        Case(randn(x=(3, 5, D)) | {"lengths": torch.tensor([5, 2, 4])}),
        Case(randn(x=(3, 5, D)) | {"lengths": torch.tensor([3, 2, 4])}, about="no sentence fills all positions"),
    ],
    mistakes=[
        Mistake(
            "the pads count",
            lambda x, lengths: x.mean(dim=1),
            "this is the mean over all positions, pads included. The same sentence would change with the company that "
            "it is batched with.",
        ),
        Mistake(
            "divided by the padded length",
            lambda x, lengths: _pads_as(x, lengths, 0.0).mean(dim=1),
            "the pads were left out of the sum, but not out of the count. Divide by the number of real words.",
        ),
        Mistake(
            "not divided",
            lambda x, lengths: _pads_as(x, lengths, 0.0).sum(dim=1),
            "the sum is right; divide it by each sentence's length.",
        ),
        Mistake(
            "the maximum",
            lambda x, lengths: _pads_as(x, lengths, -torch.inf).amax(dim=1),
            "this is the maximum of the real words. The mean is wanted.",
        ),
        Mistake(
            "the mean of the pads",
            lambda x, lengths: (
                (x.sum(dim=1) - _pads_as(x, lengths, 0.0).sum(dim=1)) / (x.size(1) - lengths[:, None]).clamp(min=1)
            ),
            "the pads were averaged and the real words left out: the mask was taken the wrong way round.",
        ),
        Mistake(
            "one word too many",
            lambda x, lengths: _up_to_the_first_pad(x, lengths) / (lengths[:, None] + 1).clamp(max=x.size(1)),
            "the first pad is in the mean. A sentence of length 2 has the positions 0 and 1.",
        ),
        Mistake(
            "one word too many in the sum",
            lambda x, lengths: _up_to_the_first_pad(x, lengths) / lengths[:, None],
            "the first pad is in the sum. A sentence of length 2 has the positions 0 and 1: `<`, not `<=`.",
        ),
        Mistake(
            "the pads are in the sum",
            lambda x, lengths: x.sum(dim=1) / lengths[:, None],
            "the count is right, but the sum goes over the pads as well. Make them 0 before.",
        ),
        Mistake(
            "divided along the wrong axis",
            lambda x, lengths: _pads_as(x, lengths, 0.0).sum(dim=1) / lengths,
            "lengths (B,) lines up with D, the last axis. To divide each sentence by its own, make it (B, 1).",
        ),
        Mistake(
            "divided by the longest",
            lambda x, lengths: _pads_as(x, lengths, 0.0).sum(dim=1) / lengths.max(),
            "every sum was divided by the longest length. Each sentence has its own.",
        ),
        Mistake(
            "one mean for all sentences",
            lambda x, lengths: (
                (_pads_as(x, lengths, 0.0).sum(dim=(0, 1)) / lengths.sum()).expand(x.size(0), -1).clone()
            ),
            "the mean went over the batch as well. Each sentence has its own: (B, D).",
        ),
        Mistake(
            "the first word",
            lambda x, lengths: x[:, 0],
            "this takes the first word of each sentence, which is another way of pooling. The mean is wanted.",
        ),
        Mistake(
            "the last real word",
            lambda x, lengths: x[torch.arange(len(lengths)), lengths - 1],
            "this takes the last real word of each sentence, which is another way of pooling. The mean is wanted.",
        ),
    ],
    verified="each sentence's mean is that of its real words, whatever stands in the pads",
)


def _losses(logits, targets):
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="none").view(targets.shape)


def _real(targets, lengths):
    return torch.arange(targets.size(1)) < lengths[:, None]


def _real_loss(logits, targets, lengths):
    return _losses(logits, targets)[_real(targets, lengths)].mean()


def _mean_of_means(logits, targets, lengths):
    losses = _losses(logits, targets) * _real(targets, lengths)
    return (losses.sum(dim=1) / lengths).mean()


LOGITS = torch.tensor([[[1.0, 0.0], [0.0, 2.0]], [[0.5, 0.0], [3.0, 0.0]]])

loss_of_real = chapter.exercise(
    "6.7",
    "loss_of_real",
    reference=_real_loss,
    cases=[
        Case({"logits": LOGITS, "targets": torch.tensor([[0, 1], [1, 0]]), "lengths": torch.tensor([2, 1])}),
        Case(
            randn(logits=(3, 5, V))
            | {
                "targets": torch.tensor([[3, 12, 5, 1, 2], [7, 4, 0, 0, 0], [2, 0, 9, 11, 0]]),
                "lengths": torch.tensor([5, 2, 4]),
            },
            about="0 is the pad's number, and an ordinary word as well",
        ),
    ],
    mistakes=[
        Mistake(
            "the pads count",
            lambda logits, targets, lengths: _losses(logits, targets).mean(),
            "this is the mean over all positions. The model would mostly learn to predict pads, which is easy, and the "
            "loss would look good.",
        ),
        Mistake(
            "divided by all positions",
            lambda logits, targets, lengths: (_losses(logits, targets) * _real(targets, lengths)).mean(),
            "the pads were left out of the sum, but not out of the count: the more padding, the smaller the loss. "
            "Divide by the number of real words.",
        ),
        Mistake(
            "the mean of the sentences' means",
            _mean_of_means,
            "a word in a short sentence counts more than one in a long sentence here. Put all real words together, "
            "then take the mean.",
        ),
        Mistake(
            "not divided",
            lambda logits, targets, lengths: _losses(logits, targets)[_real(targets, lengths)].sum(),
            "this is the sum over the real words: it grows with the batch. Divide by their number.",
        ),
        Mistake(
            "divided by the number of sentences",
            lambda logits, targets, lengths: _losses(logits, targets)[_real(targets, lengths)].sum() / targets.size(0),
            "the sum was divided by B. The mean over words is wanted: divide by the number of real ones.",
        ),
        Mistake(
            "logits set to zero",
            lambda logits, targets, lengths: _losses(logits * _real(targets, lengths)[..., None], targets).mean(),
            "logits of zero are a guess like any other: each costs log V. The *losses* of the pads have to go.",
        ),
        Mistake(
            "softmax before the loss",
            lambda logits, targets, lengths: _real_loss(logits.softmax(dim=-1), targets, lengths),
            "`F.cross_entropy` takes the logits and does the softmax itself. Here it was done twice.",
        ),
        Mistake(
            "one pad too many",
            lambda logits, targets, lengths: _real_loss(logits, targets, lengths + 1),
            "the first pad of each sentence counts as well. With a length of 2 the positions are 0 and 1.",
        ),
        Mistake(
            "word 0 was ignored",
            lambda logits, targets, lengths: F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=0),
            "`ignore_index=0` leaves out every target 0, also where it is a real word. The lengths say what is a pad.",
        ),
        Mistake(
            "only the pads count",
            lambda logits, targets, lengths: _losses(logits, targets)[~_real(targets, lengths)].mean(),
            "this is the loss of the pads: the mask was taken the wrong way round.",
        ),
        Mistake(
            "the axis of the words is not the second",
            lambda logits, targets, lengths: F.cross_entropy(logits, targets),
            "`F.cross_entropy` looks for the scores of the words on axis 1, and here that is T. It runs where T = V, "
            "and takes positions for words. `logits[real]` is (number of real ones, V), as it should be.",
        ),
        Mistake(
            "no logarithm",
            lambda logits, targets, lengths: F.nll_loss(
                logits.softmax(dim=-1)[_real(targets, lengths)], targets[_real(targets, lengths)]
            ),
            "`F.nll_loss` wants the logarithms of the probabilities, `log_softmax`. A cross-entropy is never negative.",
        ),
        Mistake(
            "the minus is missing",
            lambda logits, targets, lengths: -_real_loss(logits, targets, lengths),
            "this is the mean of log p. The loss is −log p, and never negative.",
        ),
        Mistake(
            "each word's loss",
            lambda logits, targets, lengths: _losses(logits, targets)[_real(targets, lengths)],
            "these are the losses of the real words, and right. Their mean is wanted, one number.",
        ),
    ],
    verified="the mean over all real words, each counting the same, whatever the pads predict",
)


def _packed(documents):
    return book_causal_mask(len(documents)) & (documents[:, None] == documents)


packed_mask = chapter.exercise(
    "6.8",
    "packed_mask",
    reference=_packed,
    cases=[
        Case({"documents": torch.tensor([0, 0, 1])}),
        Case({"documents": torch.tensor([0, 0, 0, 1, 2, 2, 2])}),
        Case({"documents": torch.tensor([4, 4, 2, 2, 2, 7, 4])}, about="numbers in no order, and one comes back"),
    ],
    mistakes=[
        Mistake(
            "the causal part is missing",
            lambda documents: documents[:, None] == documents,
            "the documents are kept apart, but within each the future is open.",
        ),
        Mistake(
            "the documents are not kept apart",
            lambda documents: book_causal_mask(len(documents)),
            "the future is hidden, but a document sees all those before it.",
        ),
        Mistake(
            "True means hide",
            lambda documents: ~_packed(documents),
            "this is the mask of the other convention. In this book True = may attend.",
        ),
        Mistake(
            "one of the two is enough",
            lambda documents: book_causal_mask(len(documents)) | (documents[:, None] == documents),
            "with `|` the past of other documents is open, and so is the future of the own. Both have to allow: `&`.",
        ),
        Mistake(
            "earlier documents are open",
            lambda documents: book_causal_mask(len(documents)) & (documents[:, None] >= documents),
            "documents with a smaller number can be seen. Only the own one may: `==`.",
        ),
        Mistake(
            "right while the numbers rise",
            lambda documents: book_causal_mask(len(documents)) & (documents[:, None] <= documents),
            "an earlier document with a larger number can be seen. Only the own one may: `==`.",
        ),
        Mistake(
            "the past is hidden",
            lambda documents: book_causal_mask(len(documents)).T & (documents[:, None] == documents),
            "the documents are kept apart, but each word sees its future and not its past: the other triangle is "
            "wanted.",
        ),
        Mistake(
            "only other documents",
            lambda documents: book_causal_mask(len(documents)) & (documents[:, None] != documents),
            "this hides the own document and shows the others.",
        ),
        Mistake(
            "nobody may look at itself",
            lambda documents: _packed(documents) & ~torch.eye(len(documents), dtype=torch.bool),
            "the diagonal is hidden, so the first word of every document sees nothing.",
        ),
        Mistake(
            "only the neighbour",
            lambda documents: _packed(documents) & sliding_window_mask(len(documents), window=2),
            "a word sees only itself and the one before. The whole past of its document is open to it.",
        ),
    ],
    verified="every word sees its own document's past and itself, and nothing else",
)


def _layer(mask):
    """A layer of attention with weights of its own, as a function of x alone."""
    generator = torch.Generator().manual_seed(5)
    layer = MultiHeadAttention(6, 2).requires_grad_(False)
    for parameter in layer.parameters():
        parameter.copy_(torch.randn(parameter.shape, generator=generator) / 2)
    return lambda x: layer(x[None], mask=mask)[0]


def _shifted(x):
    """Output t is input t + 1, with zeros at the end."""
    return torch.cat([x[1:], torch.zeros_like(x[:1])])


def _reach(model, x):
    before = model(x)
    reach = torch.zeros(len(before), len(x), dtype=torch.bool)
    for j in range(len(x)):
        changed = x.clone()
        changed[j] += 1
        reach[:, j] = (model(changed) != before).any(dim=-1)
    return reach


def _in_place(model, x, take_back):
    """As _reach, but without a fresh copy each time."""
    before = model(x)
    reach = torch.zeros(len(before), len(x), dtype=torch.bool)
    for j in range(len(x)):
        x[j] += 1
        reach[:, j] = (model(x) != before).any(dim=-1)
        if take_back:
            x[j] -= 1
    return reach


def _one_number_changed(model, x):
    before = model(x)
    change = torch.zeros(len(x), *x.shape)
    change[range(len(x)), range(len(x)), 0] = 1
    return torch.stack([(model(x + one) != before).any(-1) for one in change], dim=1)


def _set_to_zero(model, x):
    before = model(x)
    columns = [(model(x * (torch.arange(len(x)) != j)[:, None]) != before).any(-1) for j in range(len(x))]
    return torch.stack(columns, dim=1)


def _moves_added_up(model, x):
    before = model(x)
    columns = [(model(x + F.one_hot(torch.tensor(j), len(x))[:, None]) - before).sum(-1) != 0 for j in range(len(x))]
    return torch.stack(columns, dim=1)


def _forgiving(model, x):
    before = model(x)
    columns = [
        (~torch.isclose(model(x + F.one_hot(torch.tensor(j), len(x))[:, None]), before)).any(-1) for j in range(len(x))
    ]
    return torch.stack(columns, dim=1)


def _first_number(model, x):
    before = model(x)
    columns = [model(x + F.one_hot(torch.tensor(j), len(x))[:, None])[:, 0] != before[:, 0] for j in range(len(x))]
    return torch.stack(columns, dim=1)


def _all_numbers(model, x):
    before = model(x)
    columns = [(model(x + F.one_hot(torch.tensor(j), len(x))[:, None]) != before).all(-1) for j in range(len(x))]
    return torch.stack(columns, dim=1)


def _against_the_input(model, x):
    columns = [(model(x + F.one_hot(torch.tensor(j), len(x))[:, None]) != x).any(-1) for j in range(len(x))]
    return torch.stack(columns, dim=1)


def _on(model):
    return lambda answer, x: answer(model, x)


def _leaves_x_alone(answer, x):
    before = x.clone()
    answer(lambda x: x, x)
    return torch.equal(x, before)


def _faint(x):
    """Output t is input t and a millionth of the input in its mirror position."""
    return x + 1e-6 * x.flip(0)


def _up_and_down(x):
    """Output t is the running sum of the inputs' last numbers, and minus that sum."""
    total = x[:, -1].cumsum(dim=0)
    return torch.stack([total, -total], dim=1)


def _one_number_of_all(which):
    """Output t is its own input, but for one number that is the mean over all inputs."""
    return lambda x: torch.where(torch.arange(x.size(1)) == which, x.mean(dim=0), x)


reach = chapter.exercise(
    "6.9",
    "reach",
    reference=_reach,
    cases=[
        Case({"x": torch.tensor([[1.0, 2.0], [0.0, 0.0]])}, _on(lambda x: x.cumsum(dim=0)), about="running sums"),
        Case(randn(x=(TQ, 6)), _on(_layer(book_causal_mask(TQ))), about="a layer with a causal mask"),
        Case(randn(x=(TQ, 6)), _on(_layer(None)), about="a layer without a mask"),
        Case(randn(x=(TQ, 6)), _on(_shifted), about="output t is input t + 1"),
        Case(randn(x=(TQ, 2)), _on(_one_number_of_all(0)), about="only the outputs' first number hears of the others"),
        Case(randn(x=(TQ, 2)), _on(_one_number_of_all(1)), about="only the outputs' second number hears of the others"),
        Case(randn(x=(TQ, 2)), _on(_up_and_down), about="the outputs' two numbers move by as much, one up, one down"),
        Case(randn(x=(TQ, 2)), _on(_faint), about="a faint leak: each output hears a millionth of another input"),
        Case(randn(x=(TQ, 2)), _leaves_x_alone, about="x is as it was before"),
    ],
    mistakes=[
        Mistake(
            "rows and columns exchanged",
            lambda model, x: _reach(model, x).T,
            "a row has to be an *output*, as a query's row in a mask, and a column the input that was changed.",
        ),
        Mistake(
            "the changes pile up",
            lambda model, x: _in_place(model, x.clone(), take_back=False),
            "each input was changed on top of those before it, so later columns show the earlier changes as well. "
            "Start from a fresh `x.clone()` every time.",
        ),
        Mistake(
            "the 1 was taken back",
            lambda model, x: _in_place(model, x.clone(), take_back=True),
            "adding 1 and then subtracting it need not give the same number again, for each step rounds. Start from a "
            "fresh `x.clone()` every time.",
        ),
        Mistake(
            "the changes pile up in x itself",
            lambda model, x: _in_place(model, x, take_back=False),
            "x was changed, and never changed back: `y = x` makes no copy. Start from a fresh `x.clone()` every time.",
        ),
        Mistake(
            "the 1 was taken back, in x itself",
            lambda model, x: _in_place(model, x, take_back=True),
            "`y = x` makes no copy, and adding 1 and then subtracting it need not give the same number again, for each "
            "step rounds. Start from a fresh `x.clone()` every time.",
        ),
        Mistake(
            "only one number was changed",
            _one_number_changed,
            "an input is a vector, and a model may hear only some of its numbers. Add 1 to all of them.",
        ),
        Mistake(
            "set to zero instead",
            _set_to_zero,
            "an input that is 0 already does not change when it is set to 0, and its leak is overlooked. Add 1.",
        ),
        Mistake(
            "the moves were added up",
            _moves_added_up,
            "one number of an output may move up and another down, and their sum stays 0. Ask each by itself: "
            "`!=`, then `.any(dim=-1)`.",
        ),
        Mistake(
            "small differences are forgiven",
            _forgiving,
            "a comparison with a tolerance overlooks a faint leak. What is hidden must not move an output at all: use "
            "`!=`.",
        ),
        Mistake(
            "only the first number of an output",
            _first_number,
            "an output is a vector, and a leak may show in any of its numbers: `.any(dim=-1)`.",
        ),
        Mistake(
            "all numbers have to move",
            _all_numbers,
            "an output has been reached as soon as *one* of its numbers moves: `any`, not `all`.",
        ),
        Mistake(
            "compared with the input",
            _against_the_input,
            "the new output was compared with x. Compare it with the output of the unchanged x.",
        ),
        Mistake(
            "True where nothing moves",
            lambda model, x: ~_reach(model, x),
            "this is the opposite: True has to stand where the output *does* move.",
        ),
        Mistake(
            "the answer is assumed",
            lambda model, x: book_causal_mask(len(x)),
            "that is what a causal model should do. The test has to find out what this one does.",
        ),
    ],
    verified="it finds what a masked, an open and a shifted model let through, in any number of the output",
)
