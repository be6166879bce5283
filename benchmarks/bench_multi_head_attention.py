"""How long MultiHeadAttention takes for one training step, as a ratio to PyTorch's nn.MultiheadAttention.

    .venv/bin/python benchmarks/bench_multi_head_attention.py

Forward and backward of self-attention in training mode, float32, with the same weights. In every round the two run one
right after the other, so that a busy machine slows both; printed is the median of the rounds' ratios. The goals are for
calls without a mask: at most 1.0 without weights, where both may use the fused kernel, and at most 1.2 with them.
"""

import time
from statistics import median

import torch
from torch import nn

from attention_live.attention import MultiHeadAttention
from attention_live.masks import causal_mask

SHAPES = {(8, 128, 512, 8): 40, (32, 16, 64, 4): 400}  # (B, T, D, H) and the number of rounds
WEIGHTS = {  # what is asked of PyTorch's module, and the goal
    "no weights": ({"need_weights": False}, 1.0),
    "weights of each head": ({"need_weights": True, "average_attn_weights": False}, 1.2),
    "weights averaged": ({"need_weights": True, "average_attn_weights": True}, 1.2),
}


def seconds(forward, parameters):
    """Time one step, starting without gradients."""
    for parameter in parameters:
        parameter.grad = None
    start = time.perf_counter()
    forward().sum().backward()
    return time.perf_counter() - start


def ratio(shape, rounds, options, mask):
    """Our module's time divided by that of PyTorch's, the median over the rounds."""
    b, t, d, h = shape
    theirs = nn.MultiheadAttention(d, h, batch_first=True)
    ours = MultiHeadAttention.from_torch(theirs)
    x = torch.randn(b, t, d, requires_grad=True)
    hide = None if mask is None else ~mask

    def our_forward():
        if options["need_weights"]:
            return ours(x, mask=mask, return_weights=True)[0]
        return ours(x, mask=mask)

    def their_forward():
        return theirs(x, x, x, attn_mask=hide, **options)[0]

    steps = [(our_forward, [x, *ours.parameters()]), (their_forward, [x, *theirs.parameters()])]
    ratios = []
    for number in range(rounds):
        first = number % 2  # each goes first every other time
        took = {side: seconds(*steps[side]) for side in (first, 1 - first)}
        ratios.append(took[0] / took[1])
    return median(ratios)


if __name__ == "__main__":
    print(f"torch {torch.__version__}\n")
    print(f"{'threads':8}{'(B, T, D, H)':20}{'asked for':24}{'no mask':>8}{'causal':>8}{'goal':>8}")
    for threads in (1, 2):
        torch.set_num_threads(threads)
        for shape, rounds in SHAPES.items():
            for asked, (options, goal) in WEIGHTS.items():
                plain, causal = (ratio(shape, rounds, options, mask) for mask in (None, causal_mask(shape[1])))
                print(f"{threads:<8}{shape!s:20}{asked:24}{plain:8.2f}{causal:8.2f}{goal:8.1f}")
