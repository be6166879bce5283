"""The exercises of chapter 02, Queries, keys, values."""

import torch

from ..attention import attention as book_attention
from .engine import Case, Chapter, Mistake, randn

chapter = Chapter()
progress = chapter.progress
__dir__ = chapter.names

# Shapes are distinct primes, so that no two axes can be mixed up; the small cases are square, so that wrong products
# of matrices run there, and can be named.
B, H, TQ, TK, DK, DV, D = 2, 3, 5, 7, 11, 13, 17
PAIR = torch.tensor([[1.0, 0.0], [1.0, 1.0]])
VALUES = torch.tensor([[1.0, 2.0], [3.0, 6.0]])


def _soft_lookup(query, keys, values):
    return torch.softmax(keys @ query, dim=0) @ values


def _without_exponential(query, keys, values):
    scores = keys @ query
    return scores / scores.sum() @ values


soft_lookup = chapter.exercise(
    "2.1",
    "soft_lookup",
    reference=_soft_lookup,
    cases=[
        Case({"query": torch.tensor([1.0, 2.0]), "keys": PAIR, "values": VALUES}),
        Case({"query": torch.tensor([0.5, -1.5]), "keys": PAIR, "values": VALUES}, about="a negative score"),
        Case(randn(query=(DK,), keys=(TK, DK), values=(TK, DV))),
    ],
    mistakes=[
        Mistake(
            "a hard look-up",
            lambda query, keys, values: values[(keys @ query).argmax()],
            "only the best key got a say. Let every value have a share, larger where its key fits better.",
        ),
        Mistake(
            "no softmax",
            lambda query, keys, values: keys @ query @ values,
            "the scores went straight to the values. Turn them into shares first: positive, and 1 together.",
        ),
        Mistake(
            "shares without the exponential",
            _without_exponential,
            "dividing scores by their sum gives negative shares as soon as a score is negative. Take e to the power of "
            "each score first.",
        ),
        Mistake(
            "shares that are not divided by their sum",
            lambda query, keys, values: (keys @ query).exp() @ values,
            "the exponentials are positive but do not add up to 1. Divide them by their sum.",
        ),
        Mistake(
            "the query plays no part",
            lambda query, keys, values: values.mean(dim=0),
            "this is the plain mean of the values, the same whatever is asked. Weigh them by how the keys score.",
        ),
        Mistake(
            "divided by √d_k",
            lambda query, keys, values: torch.softmax(keys @ query / len(query) ** 0.5, dim=0) @ values,
            "this is the scaled form. Here the scores are used as they are, without √d_k.",
        ),
        Mistake(
            "the shares alone",
            lambda query, keys, values: torch.softmax(keys @ query, dim=0),
            "the shares are right. What is wanted is the value that they mix: `shares @ values`.",
        ),
        Mistake(
            "the keys were mixed",
            lambda query, keys, values: torch.softmax(keys @ query, dim=0) @ keys,
            "the shares are right, but they were applied to the keys. Keys are for finding; values are handed over.",
        ),
    ],
    verified="the mixture is right for 2 keys and for 7, with negative scores too",
)


def _project(E, W_q, W_k, W_v):
    return E @ W_q, E @ W_k, E @ W_v


project = chapter.exercise(
    "2.2",
    "project",
    reference=_project,
    cases=[
        Case(
            {
                "E": torch.tensor([[1.0, 2.0], [0.0, 1.0]]),
                "W_q": torch.tensor([[1.0, 1.0], [0.0, 1.0]]),
                "W_k": torch.tensor([[2.0, 0.0], [1.0, 1.0]]),
                "W_v": torch.tensor([[0.0, 3.0], [1.0, 0.0]]),
            }
        ),
        Case(randn(E=(TK, D), W_q=(D, DK), W_k=(D, DK), W_v=(D, DV))),
        Case(randn(E=(B, TK, D), W_q=(D, DK), W_k=(D, DK), W_v=(D, DV)), about="a batch of sentences"),
    ],
    mistakes=[
        Mistake(
            "queries and keys exchanged",
            lambda E, W_q, W_k, W_v: (E @ W_k, E @ W_q, E @ W_v),
            "the first result was made with `W_k` and the second with `W_q`. The scores would come out transposed, and "
            "nothing would complain.",
        ),
        Mistake(
            "keys and values exchanged",
            lambda E, W_q, W_k, W_v: (E @ W_q, E @ W_v, E @ W_k),
            "the second result was made with `W_v` and the third with `W_k`. The order is Q, K, V.",
        ),
        Mistake(
            "one map for queries and keys",
            lambda E, W_q, W_k, W_v: (E @ W_q, E @ W_q, E @ W_v),
            "the keys were made with `W_q`, like the queries. Then two words score the same both ways round.",
        ),
        Mistake(
            "one map after the other",
            lambda E, W_q, W_k, W_v: (E @ W_q, E @ W_q @ W_k, E @ W_q @ W_k @ W_v),
            "the maps were chained. All three start from the embeddings themselves: E @ W_q, E @ W_k and E @ W_v.",
        ),
        Mistake(
            "the values are the embeddings",
            lambda E, W_q, W_k, W_v: (E @ W_q, E @ W_k, E),
            "V came out as E itself. What a word hands over goes through a map of its own, `W_v`.",
        ),
        Mistake(
            "the maps were transposed",
            lambda E, W_q, W_k, W_v: (E @ W_q.T, E @ W_k.T, E @ W_v.T),
            "with square maps this runs, and it is wrong. `nn.Linear` stores its weight as (out, in) and turns it "
            "round; here W is (in, out) already.",
        ),
        Mistake(
            "the maps stand on the wrong side",
            lambda E, W_q, W_k, W_v: (W_q @ E, W_k @ E, W_v @ E),
            "with as many words as numbers in a word this runs, but it mixes words instead of features. A row of E "
            "is a word, so W goes on the right.",
        ),
    ],
    verified="Q, K and V are right, for one sentence and for a batch",
)


def _scores(q, k):
    return q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5


scores = chapter.exercise(
    "2.3",
    "scores",
    reference=_scores,
    cases=[
        Case({"q": torch.tensor([[1.0, 2.0], [0.0, 1.0]]), "k": torch.tensor([[3.0, 1.0], [2.0, -1.0]])}),
        Case(randn(q=(TQ, DK), k=(TK, DK))),
        Case(randn(q=(B, H, TQ, DK), k=(B, H, TK, DK)), about="axes for batch and heads in front"),
    ],
    mistakes=[
        Mistake(
            "no scaling",
            lambda q, k: q @ k.transpose(-2, -1),
            "the dot products are right, but they were not divided by the square root of the width of a query.",
        ),
        Mistake(
            "divided by d_k, without the root",
            lambda q, k: q @ k.transpose(-2, -1) / q.shape[-1],
            "the scores are too small. Divide by the square root of d_k.",
        ),
        Mistake(
            "multiplied by the root",
            lambda q, k: q @ k.transpose(-2, -1) * q.shape[-1] ** 0.5,
            "the scores were multiplied by √d_k; scaling means to divide by it.",
        ),
        Mistake(
            "scaled by the number of keys",
            lambda q, k: q @ k.transpose(-2, -1) / k.shape[-2] ** 0.5,
            "the root was taken of the number of keys. What counts is how many products a score adds up: the width "
            "d_k, the last axis.",
        ),
        Mistake(
            "queries and keys exchanged",
            lambda q, k: k @ q.transpose(-2, -1) / q.shape[-1] ** 0.5,
            "rows are keys and columns are queries here. Each query needs a row: queries go on the left.",
        ),
        Mistake(
            "view instead of transpose",
            lambda q, k: q @ k.reshape(*k.shape[:-2], k.shape[-1], k.shape[-2]) / q.shape[-1] ** 0.5,
            "`view` and `reshape` keep the numbers in their order and only cut the rows elsewhere, so parts of several "
            "keys end up in one. `transpose(-2, -1)` swaps the axes.",
        ),
        Mistake(
            "`.T` on more than two axes",
            lambda q, k: q @ (k.T if k.dim() == 2 else k.permute(3, 2, 1, 0)) / q.shape[-1] ** 0.5,
            "right for one sentence; with axes for batch and heads in front, `.T` turns all of them round. "
            "`transpose(-2, -1)` swaps the last two alone.",
        ),
        Mistake(
            "the power binds first",
            lambda q, k: q @ k.transpose(-2, -1) / (q.shape[-1] / 2),
            "`d ** 1 / 2` is d divided by 2, not its root. Write `d ** 0.5`.",
        ),
        Mistake(
            "weights instead of scores",
            lambda q, k: _scores(q, k).softmax(dim=-1),
            "these went through softmax already. The scores before it are wanted.",
        ),
        Mistake(
            "no transpose",
            lambda q, k: q @ k / q.shape[-1] ** 0.5,
            "with as many keys as numbers in a key this runs, but it does not multiply queries with keys. The keys "
            "have to be transposed: `k.transpose(-2, -1)`.",
        ),
    ],
    verified="each query's row of scores is right and scaled, with any axes in front",
)


def _attention_with(weigh=lambda scores: scores.softmax(dim=-1), mix=torch.matmul, scale=_scores):
    def attention(q, k, v):
        weights = weigh(scale(q, k))
        return mix(weights, v), weights

    return attention


attention = chapter.exercise(
    "2.4",
    "attention",
    reference=book_attention,
    cases=[
        Case({"q": torch.tensor([[1.0, 2.0], [0.0, 1.0]]), "k": PAIR, "v": VALUES}),
        Case(randn(q=(TQ, DK), k=(TK, DK), v=(TK, DV))),
        Case(randn(q=(B, H, TQ, DK), k=(B, H, TK, DK), v=(B, H, TK, DV)), about="axes for batch and heads in front"),
    ],
    mistakes=[
        Mistake(
            "softmax over the queries",
            _attention_with(weigh=lambda scores: scores.softmax(dim=-2)),
            "the columns of the weights add up to 1. Each query shares itself out among the keys, the last axis.",
        ),
        Mistake(
            "no scaling",
            _attention_with(scale=lambda q, k: q @ k.transpose(-2, -1)),
            "the scores were not divided by √d_k.",
        ),
        Mistake(
            "scaled after softmax",
            lambda q, k, v: (
                (weights := (q @ k.transpose(-2, -1)).softmax(dim=-1) / q.shape[-1] ** 0.5) @ v,
                weights,
            ),
            "the weights were divided by √d_k, so that they no longer add up to 1. Divide the scores, before softmax.",
        ),
        Mistake(
            "the scores as weights",
            _attention_with(weigh=lambda scores: scores),
            "the scores went to the values as they were. Softmax has to turn them into shares first.",
        ),
        Mistake(
            "weights on the wrong side",
            _attention_with(mix=lambda weights, v: weights.transpose(-2, -1) @ v),
            "the weights were applied transposed, so each value collected queries. With as many queries as keys that "
            "runs without a word. It is `weights @ v`.",
        ),
        Mistake(
            "the values were normalised",
            _attention_with(mix=lambda weights, v: weights @ v.softmax(dim=-1)),
            "the values went through softmax as well. Only scores do: values are handed over as they are.",
        ),
        Mistake(
            "the keys were mixed",
            lambda q, k, v: (book_attention(q, k, k)[0], book_attention(q, k, v)[1]),
            "the weights are right, but they were applied to the keys instead of the values.",
        ),
        Mistake(
            "the output alone",
            lambda q, k, v: book_attention(q, k, v)[0],
            "the output is right, but the weights are wanted as well: `return output, weights`.",
        ),
        Mistake(
            "the results in the other order",
            lambda q, k, v: book_attention(q, k, v)[::-1],
            "this gives the weights first. The book's order is output, weights.",
        ),
    ],
    verified="output and weights are those of the book's own attention, with any axes in front",
)


def _log_softmax_with(largest=lambda scores: scores.amax(dim=-1, keepdim=True), dim=-1, keepdim=True):
    def log_softmax(scores):
        shifted = scores - largest(scores)
        return shifted - shifted.exp().sum(dim=dim, keepdim=keepdim).log()

    return log_softmax


def _shifted(scores):
    return scores - scores.amax(dim=-1, keepdim=True)


def _shift_lost(scores):
    return scores - _shifted(scores).exp().sum(dim=-1, keepdim=True).log()


log_softmax = chapter.exercise(
    "2.5",
    "log_softmax",
    reference=lambda scores: torch.log_softmax(scores, dim=-1),
    cases=[
        Case({"scores": torch.tensor([[0.0, 1.0], [2.0, 0.0]])}),
        Case(randn(scores=(TQ, TK))),
        Case({"scores": torch.tensor([[100.0, 99.0], [100.0, 100.0]])}, about="large scores"),
        Case({"scores": torch.tensor([[200.0, 0.0, 0.0], [0.0, -200.0, 1.0]])}, about="scores far apart in a row"),
        Case({"scores": torch.tensor([[0.0, 1.0], [500.0, 501.0]])}, about="rows of very different size"),
        Case(randn(scores=(B, H, TQ, TK)), about="axes for batch and heads in front"),
    ],
    mistakes=[
        Mistake(
            "the logarithm of a softmax",
            lambda scores: scores.softmax(dim=-1).log(),
            "right until a share is so small that it becomes 0, whose logarithm is −∞. The logarithm of a fraction is "
            "a difference, so nothing has to be divided.",
        ),
        Mistake(
            "it overflows",
            _log_softmax_with(largest=lambda scores: 0),
            "right for small scores, but e to the power of 100 is infinity already. Take the largest score of each row "
            "from that row first.",
        ),
        Mistake(
            "one maximum for all rows",
            _log_softmax_with(largest=lambda scores: scores.max()),
            "one maximum was taken from everything. In a row far below it all exponentials are 0. Each row needs its "
            "own: `amax(dim=-1, keepdim=True)`.",
        ),
        Mistake(
            "a shift that is not the maximum",
            _log_softmax_with(largest=lambda scores: scores.mean(dim=-1, keepdim=True)),
            "any shift is right on paper, but a score far above the mean still overflows. Only the maximum leaves "
            "nothing above 0.",
        ),
        Mistake(
            "the shift is missing on one side",
            _shift_lost,
            "the exponentials were shifted by the maximum, but the score they are taken from was not. Use the shifted "
            "score in both places.",
        ),
        Mistake(
            "the wrong axis",
            lambda scores: scores.log_softmax(dim=-2),
            "the columns were treated. Each row is one query, and it is the row that shares itself out: `dim=-1`.",
        ),
        Mistake(
            "`dim=0`",
            lambda scores: scores.log_softmax(dim=0),
            "the first axis was treated: that of the queries, or of a batch. Each row shares itself out: `dim=-1`.",
        ),
        Mistake(
            "the sum without its logarithm",
            lambda scores: _shifted(scores) - _shifted(scores).exp().sum(dim=-1, keepdim=True),
            "the sum of the exponentials itself was subtracted. The denominator needs its logarithm, too: "
            "`.sum(dim=-1, keepdim=True).log()`.",
        ),
        Mistake(
            "`keepdim` was forgotten in the sum",
            _log_softmax_with(keepdim=False),
            "without `keepdim=True` the sums lie along the wrong axis, so a score meets the sum of another row. With "
            "as many rows as columns that even runs.",
        ),
        Mistake(
            "softmax without the logarithm",
            lambda scores: scores.softmax(dim=-1),
            "these are the shares themselves; their logarithm is wanted, which is never above 0.",
        ),
    ],
    verified="right for scores far apart, for large ones, and for rows of very different size, with any axes in front",
)


def _at_temperature(change):
    """Attention whose scores are changed by the temperature in the given way."""
    return lambda q, k, v, temperature: change(_scores(q, k), temperature).softmax(dim=-1) @ v


temperature = chapter.exercise(
    "2.6",
    "temperature",
    reference=_at_temperature(lambda scores, temperature: scores / temperature),
    cases=[
        Case({"q": torch.tensor([[1.0, 2.0]]), "k": PAIR, "v": VALUES, "temperature": 0.5}),
        Case(randn(q=(TQ, DK), k=(TK, DK), v=(TK, DV)) | {"temperature": 3.0}),
        Case(randn(q=(TQ, DK), k=(TK, DK), v=(TK, DV)) | {"temperature": 0.1}, about="nearly a hard look-up"),
    ],
    mistakes=[
        Mistake(
            "multiplied by the temperature",
            _at_temperature(lambda scores, temperature: scores * temperature),
            "a low temperature came out soft and a high one hard, the wrong way round. Divide by it.",
        ),
        Mistake(
            "the weights were divided",
            lambda q, k, v, temperature: _scores(q, k).softmax(dim=-1) / temperature @ v,
            "the temperature was applied after softmax, where it only makes the output larger or smaller. It "
            "belongs to the scores.",
        ),
        Mistake(
            "in place of √d_k",
            lambda q, k, v, temperature: (q @ k.transpose(-2, -1) / temperature).softmax(dim=-1) @ v,
            "the temperature has replaced the scaling. Divide by both, so that temperature 1 changes nothing.",
        ),
        Mistake(
            "the temperature plays no part",
            _at_temperature(lambda scores, temperature: scores),
            "the result is that of temperature 1, whatever it is.",
        ),
        Mistake(
            "queries and keys were both divided",
            _at_temperature(lambda scores, temperature: scores / temperature**2),
            "that divides the scores twice. Divide one of the two.",
        ),
        Mistake(
            "the weights as well",
            lambda q, k, v, temperature: book_attention(q / temperature, k, v),
            "the output is right; it alone is wanted here.",
        ),
        Mistake(
            "the root of the temperature",
            _at_temperature(lambda scores, temperature: scores / temperature**0.5),
            "only d_k stands under the root; the temperature does not.",
        ),
    ],
    verified="right when warm, when cold, and where it is nearly a hard look-up",
)


def _handed_over(weights, v):
    lengths = weights * v.norm(dim=-1)
    return lengths / lengths.sum(dim=-1, keepdim=True)


def _shares_by(measure, dim=-1):
    def handed_over(weights, v):
        lengths = weights * measure(v)
        return lengths / lengths.sum(dim=dim, keepdim=True)

    return handed_over


handed_over = chapter.exercise(
    "2.7",
    "handed_over",
    reference=_handed_over,
    cases=[
        Case({"weights": torch.tensor([[0.75, 0.25], [0.5, 0.5]]), "v": torch.tensor([[0.6, 0.8], [3.0, 4.0]])}),
        Case({"weights": torch.tensor([[0.75, 0.25], [0.5, 0.5]]), "v": torch.tensor([[-3.0, 4.0], [1.0, 0.0]])}),
        Case({"weights": torch.softmax(randn(s=(TQ, TK))["s"], dim=-1)} | randn(v=(TK, DV))),
    ],
    mistakes=[
        Mistake(
            "the weights alone",
            lambda weights, v: weights,
            "these are the weights as they were, or times one number for all keys, which cancels. Each value has a "
            "length of its own: `v.norm(dim=-1)`.",
        ),
        Mistake(
            "not turned into shares",
            lambda weights, v: weights * v.norm(dim=-1),
            "the lengths are right; divide each row by its sum, so that it says which part came from which word.",
        ),
        Mistake(
            "lengths along the wrong axis",
            _shares_by(lambda v: v.norm(dim=0)),
            "the length was taken of the columns of v. A value is a row: `dim=-1`.",
        ),
        Mistake(
            "shares over the queries",
            _shares_by(lambda v: v.norm(dim=-1), dim=-2),
            "the columns add up to 1. The question is what each query received, so each row has to.",
        ),
        Mistake(
            "the sum instead of the length",
            _shares_by(lambda v: v.sum(dim=-1)),
            "the numbers of a value were added up or averaged, so that positive and negative ones cancel. Its length "
            "is `v.norm(dim=-1)`.",
        ),
        Mistake(
            "`keepdim` was forgotten in the sum",
            lambda weights, v: weights * v.norm(dim=-1) / (weights * v.norm(dim=-1)).sum(dim=-1),
            "without `keepdim=True` the sums lie along the wrong axis, so a row is divided by the sums of others. With "
            "as many queries as keys that even runs.",
        ),
        Mistake(
            "divided by the sum of everything",
            lambda weights, v: weights * v.norm(dim=-1) / (weights * v.norm(dim=-1)).sum(),
            "all rows together add up to 1. Each row has to by itself.",
        ),
        Mistake(
            "the sum of absolute values",
            _shares_by(lambda v: v.abs().sum(dim=-1)),
            "that is another way to measure a vector. The length is the root of the sum of squares: `v.norm(dim=-1)`.",
        ),
        Mistake(
            "the square of the length",
            _shares_by(lambda v: v.square().sum(dim=-1)),
            "this is the squared length; the root is missing.",
        ),
    ],
    verified="the shares are right and each row adds up to 1, whatever the signs of the values",
)


def _streaming(query, keys, values, *, shift=True, shrink_total=True, shrink_mixed=True, start=-torch.inf):
    largest, total, mixed = torch.tensor(start), torch.tensor(0.0), torch.zeros(values.shape[-1])
    for key, value in zip(keys, values, strict=True):
        score = key @ query
        new_largest = torch.maximum(largest, score) if shift else torch.tensor(0.0)
        shrink = (largest - new_largest).exp() if shift and largest > -torch.inf else torch.tensor(1.0)
        part = (score - new_largest).exp()
        total = total * (shrink if shrink_total else 1) + part
        mixed = mixed * (shrink if shrink_mixed else 1) + part * value
        largest = new_largest
    return mixed / total


def _first_as_shift(query, keys, values):
    exponentials = (keys @ query - keys[0] @ query).exp()
    return exponentials @ values / exponentials.sum()


def _divided_each_time(query, keys, values):
    mixed, total = torch.zeros(values.shape[-1]), torch.tensor(0.0)
    for key, value in zip(keys, values, strict=True):
        total = total + (key @ query).exp()
        mixed = (mixed + (key @ query).exp() * value) / total
    return mixed


def _undivided(query, keys, values):
    scores = keys @ query
    return (scores - scores.max()).exp() @ values


streaming_lookup = chapter.exercise(
    "2.8",
    "streaming_lookup",
    reference=_soft_lookup,
    cases=[
        Case({"query": torch.tensor([1.0, 2.0]), "keys": PAIR, "values": VALUES}),
        Case({"query": torch.tensor([0.5, -1.5]), "keys": PAIR, "values": VALUES}, about="the best key comes first"),
        Case(randn(query=(DK,), keys=(TK, DK), values=(TK, DV))),
        Case({"query": torch.tensor([100.0, 1.0]), "keys": PAIR, "values": VALUES}, about="large scores"),
        Case(
            {"query": torch.tensor([-1000.0, 1.0]), "keys": PAIR, "values": VALUES},
            about="very negative scores",
        ),
        Case(
            {"query": torch.tensor([1000.0, 0.0]), "keys": PAIR * torch.tensor([[0.1], [1.0]]), "values": VALUES},
            about="a second score far above the first",
        ),
    ],
    mistakes=[
        Mistake(
            "no shift",
            lambda *inputs: _streaming(*inputs, shift=False),
            "right for small scores, but a large one overflows, and very negative ones leave 0 by 0. Shift by the "
            "largest score so far.",
        ),
        Mistake(
            "the mixture did not shrink",
            lambda *inputs: _streaming(*inputs, shrink_mixed=False),
            "when a larger score comes, the total shrinks to the new shift, but so must the running mixture.",
        ),
        Mistake(
            "the total did not shrink",
            lambda *inputs: _streaming(*inputs, shrink_total=False),
            "when a larger score comes, the running mixture shrinks to the new shift, but so must the total.",
        ),
        Mistake(
            "nothing shrank",
            lambda *inputs: _streaming(*inputs, shrink_total=False, shrink_mixed=False),
            "each exponential was shifted by the largest score at its time, so those from before a larger one count "
            "too much. Both sums have to shrink by e to the power of (old largest − new largest).",
        ),
        Mistake(
            "the first score as the shift",
            _first_as_shift,
            "shifting by the first score is right on paper, but a later one far above it overflows. The shift has to "
            "follow the largest so far.",
        ),
        Mistake(
            "the largest starts at 0",
            lambda *inputs: _streaming(*inputs, start=0.0),
            "if all scores are far below 0, the exponentials are all 0, and 0 by 0 is nan. Start from −∞.",
        ),
        Mistake(
            "divided at each step",
            _divided_each_time,
            "the mixture was divided by the total in every round. Divide once, after the last key.",
        ),
        Mistake(
            "not divided by the total",
            _undivided,
            "the exponentials do not add up to 1 yet. Divide the mixture by their sum at the end.",
        ),
        Mistake(
            "divided by √d_k",
            lambda query, keys, values: _soft_lookup(query / len(query) ** 0.5, keys, values),
            "this is the scaled form. As in exercise 2.1, the scores are used as they are, without √d_k.",
        ),
    ],
    verified="right for large and for very negative scores, whether the best key comes first or last",
)
