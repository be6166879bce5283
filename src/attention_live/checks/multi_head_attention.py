"""The exercises of chapter 04, Multi-head attention."""

import copy

import torch
from torch import nn

from ..attention import attention
from .engine import Case, Chapter, Mistake, randn

chapter = Chapter()
progress = chapter.progress
__dir__ = chapter.names

# Shapes are distinct primes as far as the heads allow: D = H · DK.
B, H, TQ, TK, DK, DV = 2, 3, 5, 7, 11, 13
D = H * DK


def _split(x, num_heads):
    return x.unflatten(-1, (num_heads, -1)).transpose(-3, -2)


def _merge(heads):
    return heads.transpose(-3, -2).flatten(-2)


def _split_as(change):
    """A split that unfolds the features as (Dk, H), or changes the order of axes in another way."""
    return lambda x, num_heads: change(x, num_heads, x.shape[-1] // num_heads)


split_heads = chapter.exercise(
    "4.1",
    "split_heads",
    reference=_split,
    cases=[
        Case({"x": torch.arange(8.0).reshape(1, 2, 4), "num_heads": 2}),
        Case(randn(x=(B, TQ, D)) | {"num_heads": H}),
        Case(randn(x=(B, TQ, D)) | {"num_heads": DK}, about="many narrow heads"),
    ],
    mistakes=[
        Mistake(
            "the axes were not exchanged",
            _split_as(lambda x, h, d_k: x.reshape(*x.shape[:-1], h, d_k)),
            "the result is (B, T, H, Dk). Each head needs its own matrix of (T, Dk): exchange the axes of positions "
            "and heads.",
        ),
        Mistake(
            "`view` straight to the final shape",
            _split_as(lambda x, h, d_k: x.reshape(x.shape[0], h, x.shape[1], d_k)),
            "the shape is right, the numbers are not. `view` keeps the order in memory, so the first head got the "
            "first positions instead of every position's first features. Unfold the last axis, then transpose.",
        ),
        Mistake(
            "the features are dealt out like cards",
            _split_as(lambda x, h, d_k: x.reshape(*x.shape[:-1], d_k, h).permute(0, 3, 1, 2)),
            "head 0 got the features 0, H, 2H, … Each head takes a block of Dk neighbours: unfold to (H, Dk), not to "
            "(Dk, H).",
        ),
        Mistake(
            "the heads come first",
            _split_as(lambda x, h, d_k: x.reshape(*x.shape[:-1], h, d_k).permute(2, 0, 1, 3)),
            "the result is (H, B, T, Dk). The batch stays the first axis: (B, H, T, Dk).",
        ),
        Mistake(
            "positions and features exchanged",
            _split_as(lambda x, h, d_k: x.reshape(*x.shape[:-1], h, d_k).permute(0, 2, 3, 1)),
            "the result is (B, H, Dk, T). Only positions and heads change places.",
        ),
        Mistake(
            "a list of heads",
            lambda x, num_heads: list(x.chunk(num_heads, dim=-1)),
            "the pieces are right. One tensor is wanted, with the heads as its second axis: `torch.stack(…, dim=1)`.",
        ),
        Mistake(
            "the heads in the reverse order",
            lambda x, num_heads: _split(x, num_heads).flip(1),
            "the heads came out in the reverse order. Head 0 has the first Dk features.",
        ),
        Mistake(
            "transposed before the features were unfolded",
            _split_as(lambda x, h, d_k: x.transpose(1, 2).reshape(x.shape[0], h, x.shape[1], d_k)),
            "positions and features changed places first, so `reshape` filled the heads in the wrong order. Unfold the "
            "last axis first, then exchange positions and heads.",
        ),
        Mistake(
            "features and heads exchanged",
            _split_as(lambda x, h, d_k: x.reshape(*x.shape[:-1], h, d_k).transpose(-2, -1)),
            "the result is (B, T, Dk, H): heads and features changed places. Exchange positions and heads.",
        ),
        Mistake(
            "pieces of num_heads features",
            _split_as(lambda x, h, d_k: x.reshape(*x.shape[:-1], d_k, h).transpose(1, 2)),
            "each piece has num_heads features, and there are Dk of them. It should be the other way round: num_heads "
            "pieces, so the unfolded axes are (num_heads, Dk).",
        ),
    ],
    verified="every head has its own block of features at every position",
)

merge_heads = chapter.exercise(
    "4.2",
    "merge_heads",
    reference=_merge,
    cases=[
        Case({"heads": torch.arange(8.0).reshape(1, 2, 2, 2)}),
        Case(randn(heads=(B, H, TQ, DV))),
        Case(randn(heads=(B, 1, TQ, DV)), about="a single head"),
    ],
    mistakes=[
        Mistake(
            "`reshape` straight to the final shape",
            lambda heads: heads.reshape(heads.shape[0], heads.shape[2], -1),
            "the shape is right, the numbers are not: a row now holds several positions of one head. Bring the heads "
            "beside their features first, then flatten.",
        ),
        Mistake(
            "not flattened",
            lambda heads: heads.transpose(1, 2),
            "the result is (B, T, H, Dv). Concatenating means that the last two axes become one.",
        ),
        Mistake(
            "the heads were added up",
            lambda heads: heads.sum(dim=1),
            "a sum cannot be taken apart again. Put the heads side by side, so that the output map can tell "
            "them apart.",
        ),
        Mistake(
            "the mean of the heads",
            lambda heads: heads.mean(dim=1),
            "a mean cannot be taken apart again. Put the heads side by side.",
        ),
        Mistake(
            "the features are dealt out like cards",
            lambda heads: heads.permute(0, 2, 3, 1).flatten(2),
            "a row holds feature 0 of all heads, then feature 1 of all heads. It should hold all of head 0, then all "
            "of head 1.",
        ),
        Mistake(
            "the heads were put one after the other",
            lambda heads: heads.flatten(1, 2),
            "the positions of all heads stand in one long sequence, (B, H·T, Dv). A position's heads belong into "
            "one row.",
        ),
        Mistake(
            "two axes in the wrong order",
            lambda heads: heads.transpose(1, 2).flatten(2).transpose(1, 2),
            "the result is (B, H·Dv, T). Positions are the second axis.",
        ),
        Mistake(
            "the heads in the reverse order",
            lambda heads: _merge(heads.flip(1)),
            "the heads stand side by side from the last to the first. Head 0 comes first.",
        ),
        Mistake(
            "the positions ended up in the same row",
            lambda heads: heads.transpose(1, 2).flatten(1),
            "the result is (B, T·H·Dv): the positions were flattened as well. Only the last two axes become one.",
        ),
        Mistake(
            "the positions were flattened",
            lambda heads: heads.flatten(-2),
            "the result is (B, H, T·Dv): each head's positions became one row. Exchange heads and positions first.",
        ),
    ],
    verified="a position's heads stand side by side in its row, in their order",
)


def _count(d_model, num_heads, d_k):
    return 4 * d_model * num_heads * d_k


count_parameters = chapter.exercise(
    "4.3",
    "count_parameters",
    reference=_count,
    cases=[
        Case({"d_model": 6, "num_heads": 2, "d_k": 3}),
        Case({"d_model": 6, "num_heads": 2, "d_k": 6}, about="heads of full width"),
        Case({"d_model": 10, "num_heads": 5, "d_k": 1}, about="heads of width 1"),
    ],
    mistakes=[
        Mistake(
            "W_o was forgotten",
            lambda d_model, num_heads, d_k: 3 * d_model * num_heads * d_k,
            "these are the maps for queries, keys and values. The output map counts, too.",
        ),
        Mistake(
            "W_o does not grow",
            lambda d_model, num_heads, d_k: 3 * d_model * num_heads * d_k + d_model**2,
            "the output map was counted as d_model × d_model. It takes all heads side by side, so it has h · d_k rows.",
        ),
        Mistake(
            "W_o for a single head",
            lambda d_model, num_heads, d_k: 3 * d_model * num_heads * d_k + d_k * d_model,
            "the output map was counted for one head. It takes all heads side by side, so it has h · d_k rows.",
        ),
        Mistake(
            "one W_o for each head, of full width",
            lambda d_model, num_heads, d_k: num_heads * (3 * d_model * d_k + d_model**2),
            "each head got an output map of d_model × d_model. There is one, with d_k rows for each head.",
        ),
        Mistake(
            "one head only",
            lambda d_model, num_heads, d_k: 4 * d_model * d_k,
            "these are the parameters of a single head with its part of W_o. There are h of them.",
        ),
        Mistake(
            "queries, keys and values of one head only",
            lambda d_model, num_heads, d_k: 3 * d_model * d_k + num_heads * d_k * d_model,
            "W_o is right, but the maps for queries, keys and values were counted for one head. Each head has three.",
        ),
        Mistake(
            "one head, and no W_o",
            lambda d_model, num_heads, d_k: 3 * d_model * d_k,
            "these are the maps for queries, keys and values of a single head. There are h heads, and W_o.",
        ),
        Mistake(
            "W_o as wide as all heads",
            lambda d_model, num_heads, d_k: 3 * d_model * num_heads * d_k + (num_heads * d_k) ** 2,
            "the output map was counted as h · d_k × h · d_k. Its result is as wide as a word's vector, d_model.",
        ),
        Mistake(
            "d_k was taken for d_model / h",
            lambda d_model, num_heads, d_k: 4 * d_model**2,
            "this is the count if the heads split d_model. Here d_k is given, and can be any number.",
        ),
        Mistake(
            "with biases",
            lambda d_model, num_heads, d_k: 4 * d_model * num_heads * d_k + 3 * num_heads * d_k + d_model,
            "the biases were counted as well. The paper's maps have none.",
        ),
        Mistake(
            "the square of the heads",
            lambda d_model, num_heads, d_k: num_heads * 4 * d_model * num_heads * d_k,
            "the heads were counted twice: h · d_k is the width of all of them together already.",
        ),
    ],
    verified="the count is right where heads split d_model, and where they do not",
)


def _loop(x, W_q, W_k, W_v, W_o, *, scale=None, attend=attention, join=None):
    heads = [attend(x @ q, x @ k, x @ v, scale=scale)[0] for q, k, v in zip(W_q, W_k, W_v, strict=True)]
    return (torch.cat(heads, dim=-1) if join is None else join(heads)) @ W_o


def _loop_chained(x, W_q, W_k, W_v, W_o):
    heads, asking = [], x
    for q, k, v in zip(W_q, W_k, W_v, strict=True):
        heads.append(attention(asking @ q, x @ k, x @ v)[0])
        asking = torch.nn.functional.pad(heads[-1], (0, x.shape[-1] - v.shape[-1]))
    return torch.cat(heads, dim=-1) @ W_o


def _over_queries(q, k, v, scale=None):
    weights = (q @ k.transpose(-2, -1) / k.shape[-1] ** 0.5).softmax(dim=-2)
    return weights @ v, weights


_small = {
    "x": torch.tensor([[1.0, 0.0], [1.0, 2.0]]),
    "W_q": torch.tensor([[[1.0], [0.0]], [[0.0], [1.0]]]),
    "W_k": torch.tensor([[[0.0], [1.0]], [[1.0], [1.0]]]),
    "W_v": torch.tensor([[[1.0], [2.0]], [[-1.0], [1.0]]]),
    "W_o": torch.tensor([[1.0, 2.0], [0.0, 1.0]]),
}


def _weights(*leading):
    """Inputs of the loop, with `leading` axes in front of x."""
    made = randn(x=(*leading, TQ, D), W_q=(H, D, DK), W_k=(H, D, DK), W_v=(H, D, DK), W_o=(D, D))
    return {name: value if name == "x" else value / D**0.5 for name, value in made.items()}


heads_in_a_loop = chapter.exercise(
    "4.4",
    "heads_in_a_loop",
    reference=_loop,
    cases=[Case(_small), Case(_weights()), Case(_weights(B), about="a batch of sentences")],
    mistakes=[
        Mistake(
            "W_o was forgotten",
            lambda x, W_q, W_k, W_v, W_o: _loop(x, W_q, W_k, W_v, torch.eye(len(W_o))),
            "the heads stand side by side, as they should. The last step is missing: `@ W_o` mixes them.",
        ),
        Mistake(
            "the heads were added up",
            lambda *inputs: _loop(
                *inputs, join=lambda heads: sum(heads).repeat(*[1] * (heads[0].dim() - 1), len(heads))
            ),
            "the sum of the heads stands in the place of each. Put the heads themselves side by side.",
        ),
        Mistake(
            "only the last head arrives",
            lambda *inputs: _loop(
                *inputs, join=lambda heads: heads[-1].repeat(*[1] * (heads[0].dim() - 1), len(heads))
            ),
            "every round of the loop overwrites the one before it, so the last head was used for all. Collect the "
            "heads in a list.",
        ),
        Mistake(
            "the first head for all",
            lambda x, W_q, W_k, W_v, W_o: _loop(
                x, W_q[:1].expand_as(W_q), W_k[:1].expand_as(W_k), W_v[:1].expand_as(W_v), W_o
            ),
            "each head was computed with the maps of head 0. Head i has its own: `W_q[i]`, `W_k[i]`, `W_v[i]`.",
        ),
        Mistake(
            "the heads in the reverse order",
            lambda *inputs: _loop(*inputs, join=lambda heads: torch.cat(heads[::-1], dim=-1)),
            "the heads stand side by side from the last to the first, so they meet the wrong rows of W_o.",
        ),
        Mistake(
            "scaled by d_model",
            lambda *inputs: _loop(*inputs, scale=inputs[0].shape[-1] ** -0.5),
            "the scores were divided by √d_model. A head's queries have d_k numbers, so it is √d_k.",
        ),
        Mistake(
            "no scaling",
            lambda *inputs: _loop(*inputs, scale=1.0),
            "the scores were not divided by √d_k. (With d_k = 1, as in the smallest case, that changes nothing.)",
        ),
        Mistake(
            "softmax over the queries",
            lambda *inputs: _loop(*inputs, attend=_over_queries),
            "the weights' columns add up to 1. Each query shares itself out among the keys: `dim=-1`.",
        ),
        Mistake(
            "the features are dealt out like cards",
            lambda *inputs: _loop(*inputs, join=lambda heads: torch.stack(heads, dim=-1).flatten(-2)),
            "a row holds feature 0 of all heads, then feature 1 of all. `torch.cat(heads, dim=-1)` puts head "
            "beside head.",
        ),
        Mistake(
            "W_o was transposed",
            lambda x, W_q, W_k, W_v, W_o: _loop(x, W_q, W_k, W_v, W_o.T),
            "with a square W_o this runs, and it is wrong. `nn.Linear` stores its weight turned round; here it is "
            "(H·Dk, D) already.",
        ),
        Mistake(
            "one head feeds the next",
            _loop_chained,
            "the queries of a head were made from the head before it. All heads start from x and know nothing of each "
            "other.",
        ),
        Mistake(
            "returned from inside the loop",
            lambda x, W_q, W_k, W_v, W_o: attention(x @ W_q[0], x @ W_k[0], x @ W_v[0])[0],
            "this is the first head's output alone. The `return` stands inside the loop, so the loop ends in its first "
            "round.",
        ),
        Mistake(
            "x was added",
            lambda x, W_q, W_k, W_v, W_o: x + _loop(x, W_q, W_k, W_v, W_o),
            "x was added to the result. The chapter's network does that outside of its attention; here only the "
            "attention is wanted.",
        ),
        Mistake(
            "keys and values exchanged",
            lambda x, W_q, W_k, W_v, W_o: _loop(x, W_q, W_v, W_k, W_o),
            "the keys were made with `W_v` and the values with `W_k`.",
        ),
        Mistake(
            "queries and keys exchanged",
            lambda x, W_q, W_k, W_v, W_o: _loop(x, W_k, W_q, W_v, W_o),
            "the queries were made with `W_k` and the keys with `W_q`, so the scores came out transposed.",
        ),
    ],
    verified="the heads work side by side, each with its own maps, and W_o mixes them, for a batch too",
)


def _multi_head(x, memory, W_q, W_k, W_v, W_o, num_heads, *, split=_split, merge=_merge, attend=attention, scale=None):
    q, k, v = split(x @ W_q, num_heads), split(memory @ W_k, num_heads), split(memory @ W_v, num_heads)
    return merge(attend(q, k, v, scale=scale)[0]) @ W_o


def _wrong_view(x, num_heads):
    return x.reshape(x.shape[0], num_heads, x.shape[1], -1)


def _wrong_merge(heads):
    return heads.reshape(heads.shape[0], heads.shape[2], -1)


def _cross_inputs(d_model, **sizes):
    made = randn(**sizes, W_q=(d_model,) * 2, W_k=(d_model,) * 2, W_v=(d_model,) * 2, W_o=(d_model,) * 2)
    return {name: value if name in sizes else value / d_model**0.5 for name, value in made.items()}


def _from_x(x, memory, W_q, W_k, W_v, W_o, num_heads):
    return _multi_head(x, x, W_q, W_k, W_v, W_o, num_heads)


def _roles_exchanged(x, memory, W_q, W_k, W_v, W_o, num_heads):
    return _multi_head(memory, x, W_q, W_k, W_v, W_o, num_heads)


def _values_from_x(x, memory, W_q, W_k, W_v, W_o, num_heads):
    heads, _ = attention(*(_split(part, num_heads) for part in (x @ W_q, memory @ W_k, x @ W_v)))
    return _merge(heads) @ W_o


multi_head = chapter.exercise(
    "4.5",
    "multi_head",
    reference=_multi_head,
    cases=[
        Case(
            {
                "x": torch.tensor([[[1.0, 2.0]]]),
                "memory": torch.tensor([[[1.0, 0.0], [-1.0, 1.0]]]),
                "W_q": torch.tensor([[1.0, 0.0], [1.0, 1.0]]),
                "W_k": torch.tensor([[0.0, 1.0], [1.0, 0.0]]),
                "W_v": torch.tensor([[1.0, 2.0], [0.0, 1.0]]),
                "W_o": torch.tensor([[1.0, 1.0], [-1.0, 1.0]]),
                "num_heads": 2,
            }
        ),
        Case(_cross_inputs(D, x=(B, TQ, D), memory=(B, TK, D)) | {"num_heads": H}),
        Case(
            _cross_inputs(D, x=(B, TQ, D), memory=(B, TQ, D)) | {"num_heads": H}, about="both sequences of one length"
        ),
    ],
    mistakes=[
        Mistake(
            "keys and values come from x",
            _from_x,
            "`memory` plays no part: this is self-attention. The queries come from x, keys and values from memory.",
        ),
        Mistake(
            "x and memory exchanged",
            _roles_exchanged,
            "memory asks and x is asked. The output has a row for each position of x, since x asks.",
        ),
        Mistake(
            "the values come from x",
            _values_from_x,
            "each key stands for the value at its own position, so both come from memory. With sequences of one length "
            "this runs all the same.",
        ),
        Mistake(
            "`view` instead of unfold and transpose",
            lambda *inputs: _multi_head(*inputs, split=_wrong_view, merge=_wrong_merge),
            "the heads were cut out of the wrong axis: each got some positions instead of some features. Unfold the "
            "last axis to (H, Dk), then exchange positions and heads; and the same way back.",
        ),
        Mistake(
            "the split is right, the way back is not",
            lambda *inputs: _multi_head(*inputs, merge=_wrong_merge),
            "the heads were merged by `reshape` alone, which puts several positions into one row. Transpose first.",
        ),
        Mistake(
            "the split is wrong, the way back is right",
            lambda *inputs: _multi_head(*inputs, split=_wrong_view),
            "the heads were split by `view` alone, which gives each some positions instead of some features. Unfold, "
            "then transpose.",
        ),
        Mistake(
            "scaled by d_model",
            lambda *inputs: _multi_head(*inputs, scale=inputs[0].shape[-1] ** -0.5),
            "the scores were divided by √d_model. A head's queries have d_k = d_model / num_heads numbers.",
        ),
        Mistake(
            "no scaling",
            lambda *inputs: _multi_head(*inputs, scale=1.0),
            "the scores were not divided by √d_k.",
        ),
        Mistake(
            "a single head",
            lambda *inputs: _multi_head(*inputs[:-1], 1),
            "the heads were not split: one set of weights was used for all features.",
        ),
        Mistake(
            "W_o was forgotten",
            lambda x, memory, W_q, W_k, W_v, W_o, num_heads: _multi_head(
                x, memory, W_q, W_k, W_v, torch.eye(len(W_o)), num_heads
            ),
            "the heads stand side by side, as they should. The last step is missing: `@ W_o` mixes them.",
        ),
        Mistake(
            "the features are dealt out like cards",
            lambda *inputs: _multi_head(
                *inputs,
                split=lambda x, h: x.unflatten(-1, (-1, h)).permute(0, 3, 1, 2),
                merge=lambda heads: heads.permute(0, 2, 3, 1).flatten(2),
            ),
            "head 0 got the features 0, H, 2H, … A network trained that way works, but it cannot exchange weights with "
            "any other. Each head takes a block of neighbours.",
        ),
        Mistake(
            "W_o was transposed",
            lambda x, memory, W_q, W_k, W_v, W_o, num_heads: _multi_head(x, memory, W_q, W_k, W_v, W_o.T, num_heads),
            "with a square W_o this runs, and it is wrong. `nn.Linear` stores its weight turned round; here it stands "
            "the right way already.",
        ),
        Mistake(
            "all maps were transposed",
            lambda x, memory, W_q, W_k, W_v, W_o, num_heads: _multi_head(
                x, memory, W_q.T, W_k.T, W_v.T, W_o.T, num_heads
            ),
            "with square maps this runs, and it is wrong. `nn.Linear` stores its weight turned round; here all four "
            "stand the right way already.",
        ),
        Mistake(
            "x and memory were not projected",
            lambda x, memory, W_q, W_k, W_v, W_o, num_heads: _multi_head(
                x, memory, *[torch.eye(len(W_o))] * 3, W_o, num_heads
            ),
            "x and memory themselves were split into heads. First `x @ W_q`, `memory @ W_k` and `memory @ W_v`.",
        ),
        Mistake(
            "the queries come from memory",
            lambda x, memory, W_q, W_k, W_v, W_o, num_heads: _multi_head(memory, memory, W_q, W_k, W_v, W_o, num_heads),
            "x plays no part: memory asks itself. The queries come from x.",
        ),
        Mistake(
            "keys and values exchanged",
            lambda x, memory, W_q, W_k, W_v, W_o, num_heads: _multi_head(x, memory, W_q, W_v, W_k, W_o, num_heads),
            "the keys were made with `W_v` and the values with `W_k`.",
        ),
        Mistake(
            "the heads look at each other",
            lambda *inputs: _multi_head(
                *inputs, split=lambda x, h: x.unflatten(-1, (h, -1)), merge=lambda heads: heads.flatten(2)
            ),
            "positions and heads were never exchanged, so attention took the heads for its positions: at each "
            "position, heads attend to heads. With sequences of one length this runs.",
        ),
    ],
    verified="queries from x, keys and values from memory, all heads, for sequences of different length and of one",
)


def _contributions(heads, W_o):
    return heads @ W_o.unflatten(0, (heads.shape[-3], -1))


contributions = chapter.exercise(
    "4.6",
    "contributions",
    reference=_contributions,
    cases=[
        Case({"heads": torch.tensor([[[1.0], [2.0]], [[3.0], [-1.0]]]), "W_o": torch.tensor([[1.0, 0.0], [2.0, 1.0]])}),
        Case(randn(heads=(H, TQ, DV), W_o=(H * DV, D))),
        Case(randn(heads=(B, H, TQ, DV), W_o=(H * DV, D)), about="a batch of sentences"),
    ],
    mistakes=[
        Mistake(
            "added up",
            lambda heads, W_o: _contributions(heads, W_o).sum(dim=-3),
            "this is the output of the layer. Each head's part of it is wanted, before they are added up.",
        ),
        Mistake(
            "the rows were dealt out like cards",
            lambda heads, W_o: heads @ W_o.unflatten(0, (-1, heads.shape[-3])).transpose(0, 1),
            "head i got the rows i, i + H, i + 2H, … of W_o. It stands in a block of its own, so it meets "
            "a block of rows.",
        ),
        Mistake(
            "the first rows for all",
            lambda heads, W_o: heads @ W_o[: heads.shape[-1]],
            "each head was multiplied with the first Dv rows. Those belong to head 0.",
        ),
        Mistake(
            "divided by the number of heads",
            lambda heads, W_o: _contributions(heads, W_o) / heads.shape[-3],
            "the parts add up to the output as they are; nothing is to be averaged.",
        ),
        Mistake(
            "the blocks in the reverse order",
            lambda heads, W_o: heads @ W_o.unflatten(0, (heads.shape[-3], -1)).flip(0),
            "head 0 met the last block of rows. It stands first in the row, so it meets the first.",
        ),
        Mistake(
            "columns in place of rows",
            lambda heads, W_o: heads @ W_o.T.unflatten(0, (heads.shape[-3], -1)),
            "W_o was transposed. A head stands on its left and so meets some of its rows.",
        ),
    ],
    verified="each head meets its own rows of W_o, and the parts add up to the layer's output",
)


def _entropy_per_head(weights):
    return torch.special.entr(weights).sum(dim=-1).mean(dim=(0, 2))


_sharp_and_even = torch.tensor([[[[1.0, 0.0], [0.0, 1.0]], [[0.5, 0.5], [0.5, 0.5]], [[0.75, 0.25], [0.5, 0.5]]]])

head_entropy = chapter.exercise(
    "4.7",
    "head_entropy",
    reference=_entropy_per_head,
    cases=[
        Case({"weights": _sharp_and_even}),
        Case({"weights": randn(s=(B, H, TQ, TK))["s"].mul(2).softmax(dim=-1)}),
        Case({"weights": randn(s=(B, H, TQ, TK))["s"].mul(300).softmax(dim=-1)}, about="weights of exactly 0"),
    ],
    mistakes=[
        Mistake(
            "0 · ln 0",
            lambda weights: -(weights * weights.log()).sum(dim=-1).mean(dim=(0, 2)),
            "where a weight is 0, ln gives −∞, and 0 · −∞ is nan. `torch.special.entr` knows that the limit is 0.",
        ),
        Mistake(
            "the sign is missing",
            lambda weights: -_entropy_per_head(weights),
            "the entropy came out negative. Logarithms of shares are negative, hence the minus in the definition.",
        ),
        Mistake(
            "base 2",
            lambda weights: _entropy_per_head(weights) / torch.tensor(2.0).log(),
            "this is in bits, with the logarithm to base 2. The natural logarithm is wanted.",
        ),
        Mistake(
            "the entropy of the mean",
            lambda weights: torch.special.entr(weights.mean(dim=(0, 2))).sum(dim=-1),
            "the rows were averaged first. A head that looks sharply at a different key from each position then seems "
            "to look everywhere. Take each row's entropy, then the mean.",
        ),
        Mistake(
            "summed over the queries",
            lambda weights: torch.special.entr(weights).sum(dim=(-2, -1)).mean(dim=0),
            "the entropies of the queries were added up. The mean over them is wanted, so that long sentences do not "
            "count as less sharp.",
        ),
        Mistake(
            "the mean over the keys",
            lambda weights: torch.special.entr(weights).mean(dim=(0, 2, 3)),
            "an entropy is a sum over the keys; the mean goes over sentences and queries only.",
        ),
        Mistake(
            "the wrong axis",
            lambda weights: torch.special.entr(weights).sum(dim=-2).mean(dim=(0, 2)),
            "the sum ran over the queries. A row of weights belongs to one query, so the sum goes over the keys, the "
            "last axis.",
        ),
        Mistake(
            "one number for all heads",
            lambda weights: torch.special.entr(weights).sum(dim=-1).mean(),
            "the heads were averaged as well. One number for each head is wanted, (H,).",
        ),
        Mistake(
            "one number for each query",
            lambda weights: torch.special.entr(weights).sum(dim=-1),
            "these are the entropies of all queries. Take their mean over sentences and queries, so that one number "
            "for each head is left.",
        ),
        Mistake(
            "the number of keys",
            lambda weights: torch.special.entr(weights).sum(dim=-1).exp().mean(dim=(0, 2)),
            "that is e to the power of the entropy, the number of keys looked at. The entropy itself is wanted.",
        ),
    ],
    verified="each head's mean entropy is right, with weights of exactly 0 too",
)


class _Heads(nn.Module):
    """Heads as layers of their own; the options are what the mistakes get wrong."""

    def __init__(self, d_model, num_heads, keep=nn.ModuleList, copies=None, bias=False, output=nn.Linear):
        super().__init__()
        d_k = d_model // num_heads

        def layers():
            if copies:
                return keep(copies(nn.Linear(d_model, d_k, bias=bias), num_heads))
            return keep([nn.Linear(d_model, d_k, bias=bias) for _ in range(num_heads)])

        self.w_q, self.w_k, self.w_v = layers(), layers(), layers()
        self.w_o = output(d_model, d_model, bias=bias)

    def heads(self, x):
        return [attention(q(x), k(x), v(x))[0] for q, k, v in zip(self.w_q, self.w_k, self.w_v, strict=True)]

    def forward(self, x):
        return self.w_o(torch.cat(self.heads(x), dim=-1))


class _OutputUnused(_Heads):
    def forward(self, x):
        return torch.cat(self.heads(x), dim=-1)


class _HeadsAddedUp(_Heads):
    def forward(self, x):
        return self.w_o(sum(self.heads(x)).repeat(1, 1, len(self.w_q)))


class _ScaledByModel(_Heads):
    def heads(self, x):
        scale = x.shape[-1] ** -0.5
        maps = zip(self.w_q, self.w_k, self.w_v, strict=True)
        return [attention(q(x), k(x), v(x), scale=scale)[0] for q, k, v in maps]


class _OneMapForAllHeads(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.w_q, self.w_k, self.w_v, self.w_o = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))

    def forward(self, x):
        q, k, v = (_split(layer(x), self.num_heads) for layer in (self.w_q, self.w_k, self.w_v))
        return self.w_o(_merge(attention(q, k, v)[0]))


class _FullWidth(_Heads):
    def __init__(self, d_model, num_heads):
        super().__init__(d_model, num_heads)
        for layers in (self.w_q, self.w_k, self.w_v):
            for i in range(num_heads):
                layers[i] = nn.Linear(d_model, d_model, bias=False)
        self.w_o = nn.Linear(d_model * num_heads, d_model, bias=False)


class _KeysAreQueries(_Heads):
    def __init__(self, d_model, num_heads):
        super().__init__(d_model, num_heads)
        self.w_k = self.w_q


class _OneListForAll(_Heads):
    def __init__(self, d_model, num_heads):
        super().__init__(d_model, num_heads)
        self.w_k = self.w_v = self.w_q


class _LastHeadOnly(_Heads):
    def forward(self, x):
        return self.w_o(self.heads(x)[-1].repeat(1, 1, len(self.w_q)))


def _how(**options):
    """A class, as a reader would hand it in, that makes heads in one of the wrong ways."""
    return lambda d_model, num_heads: _Heads(d_model, num_heads, **options)


def _census(answer, d_model, num_heads):
    """How many numbers the module learns, how many of them differ at the start (in per cent, for two random numbers
    can be equal by chance), and how many get a gradient."""
    torch.manual_seed(0)
    module = answer(d_model, num_heads)
    numbers = torch.cat([parameter.flatten() for parameter in module.parameters()] or [torch.zeros(0)])
    output = module(torch.randn(B, TQ, d_model))
    if not isinstance(output, torch.Tensor):
        raise TypeError(f"forward should return a tensor, got a {type(output).__name__}")
    output.square().sum().backward()
    reached = sum(p.numel() for p in module.parameters() if p.grad is not None and p.grad.abs().sum() > 0)
    different = round(100 * len(numbers.unique()) / max(1, len(numbers)))
    return {"parameters": len(numbers), "% different at the start": different, "with a gradient": reached}


def _same_numbers(answer, d_model, num_heads, x):
    """The output when all maps of a shape hold the same numbers, whatever they are called."""
    module = answer(d_model, num_heads)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(randn(w=tuple(parameter.shape))["w"] / d_model**0.5)
    return module(x).detach()


many_heads = chapter.exercise(
    "4.8",
    "many_heads",
    reference=_Heads,
    cases=[
        Case({"d_model": 6, "num_heads": 2}, _census, about="what the module learns"),
        Case({"d_model": D, "num_heads": H}, _census, about="what the module learns"),
        Case(
            {"d_model": 6, "num_heads": 2} | randn(x=(B, TQ, 6)),
            _same_numbers,
            about="the output, with the same numbers in all maps of a shape",
        ),
    ],
    mistakes=[
        Mistake(
            "a Python list",
            _how(keep=list),
            "PyTorch finds the output map only, so the optimizer never hears of the heads' maps. It does not look into "
            "Python lists: wrap them, `nn.ModuleList([…])`. (Nor does it find layers that `forward` makes.)",
        ),
        Mistake(
            "one map in all places",
            _how(copies=lambda layer, n: [layer] * n),
            "`[layer] * n` is n times the very same layer: all heads share their numbers for ever. Make each in a list "
            "comprehension.",
        ),
        Mistake(
            "copies that start alike",
            _how(copies=lambda layer, n: [copy.deepcopy(layer) for _ in range(n)]),
            "copies of one layer start from the same numbers, so all heads start as one. Make each anew.",
        ),
        Mistake(
            "W_o was forgotten",
            _how(output=nn.Identity),
            "the heads are there, the output map is not. Add `nn.Linear(d_model, d_model, bias=False)`.",
        ),
        Mistake(
            "W_o and Python lists",
            _how(keep=list, output=nn.Identity),
            "PyTorch does not look into Python lists, and the output map is missing.",
        ),
        Mistake(
            "W_o is made but not used",
            _OutputUnused,
            "the output map is there, but `forward` does not send the heads through it, so it gets no gradient.",
        ),
        Mistake(
            "only one head arrives",
            _LastHeadOnly,
            "in `forward`, only one head gets a gradient. Either every round of the loop overwrites the one before it, "
            "or all rounds use the same maps. Use map i in round i, and collect the heads in a list.",
        ),
        Mistake(
            "with biases",
            _how(bias=True),
            "each layer has a bias as well. The paper's maps have none: `bias=False`.",
        ),
        Mistake(
            "a bias in the output map",
            _how(output=lambda rows, columns, bias: nn.Linear(rows, columns)),
            "the output map has a bias. The paper's has none: `bias=False`.",
        ),
        Mistake(
            "heads of full width",
            _FullWidth,
            "each head has maps of d_model × d_model. The heads share the width: d_model // num_heads numbers each.",
        ),
        Mistake(
            "keys made with the queries' maps",
            _KeysAreQueries,
            "two of the three kinds of maps are one and the same list. Queries, keys and values need three lists.",
        ),
        Mistake(
            "one list for queries, keys and values",
            _OneListForAll,
            "queries, keys and values are made with the same maps. They need three lists.",
        ),
        Mistake(
            "one map for all heads",
            _OneMapForAllHeads,
            "this is multi-head attention, with one wide map for all heads. Here each head shall have layers of its "
            "own: num_heads of them for the queries, for the keys and for the values.",
        ),
        Mistake(
            "the heads were added up",
            _HeadsAddedUp,
            "the sum of the heads stands in the place of each. Put the heads themselves side by side.",
        ),
        Mistake(
            "scaled by d_model",
            _ScaledByModel,
            "the scores were divided by √d_model. A head's queries have d_model // num_heads numbers.",
        ),
    ],
    verified="all maps are found, all start differently, all get a gradient, and the output is right",
)
