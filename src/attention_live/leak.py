"""The leak test: which inputs of a model reach which of its outputs, found by changing one input at a time."""

from collections.abc import Callable

import torch
from torch import Tensor


def influence(model: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """Find out which positions of the input reach which positions of the output.

    Each position is changed in turn, in all sequences at once. An output counts as reached when it then differs by even
    one bit in any sequence. What does not show on this x is missed, so use several sequences (B = 4, say).

    Args:
        model: maps x to an output whose first axes are (B, Tout), the same each time: no dropout. It may be a module
            or a function, and may read the mask that goes with x from where it likes.
        x: (B, T) tokens, or (B, T, ...) floating-point features. A token is replaced by another one that occurs in x,
            a feature moved by standard normal noise.

    Returns:
        (Tout, T), boolean: row i and column j are True if output i moves when input j is changed.

    Raises:
        ValueError: x holds only one token, the output is not (B, Tout, ...), changes from call to call or has NaN.
    """
    with torch.no_grad():
        before = model(x)
        if before.dim() < 2 or before.size(0) != x.size(0):
            raise ValueError(f"the output must be (B, Tout, ...) with B = {x.size(0)}, got {tuple(before.shape)}")
        if before.isnan().any():
            raise ValueError("the output has NaN, which hides what reaches it: is there a query that sees no key?")
        if not torch.equal(before, model(x)):
            raise ValueError("the output changes from call to call: call model.eval() to switch off dropout")
        columns = []
        for position, new in enumerate(_others(x).unbind(1)):
            changed = x.clone()
            changed[:, position] = new
            moved = (model(changed) != before).reshape(*before.shape[:2], -1)  # (B, Tout, numbers of one output)
            columns.append(moved.any(dim=-1).any(dim=0))  # (Tout,)
    return torch.stack(columns, dim=1)


def assert_no_leak(model: Callable[[Tensor], Tensor], x: Tensor, mask: Tensor) -> None:
    """Check that nothing reaches an output that the mask hides from it. For a language model: `causal_mask(T)`.

    Layers on top of each other reach further than one: what position 1 hears from 0 it can tell 2. A causal mask is the
    same for any number of layers; a window of w grows with each layer by w − 1.

    Args:
        model, x: as in `influence`.
        mask: (Tout, T) boolean, True = may reach, the same for all sequences of x. Where they differ, in their pads,
            test one sequence at a time.

    Raises:
        AssertionError: names the first input that reaches an output it is hidden from, and counts the others.
        ValueError: as in `influence`.
    """
    leaks = (influence(model, x) & ~mask).nonzero().tolist()
    if leaks:
        output, position = leaks[0]
        raise AssertionError(
            f"input {position} reaches output {output}, from which the mask hides it ({len(leaks)} such pairs in all)"
        )


def _others(x: Tensor) -> Tensor:
    """Something else for every element of x, in its shape."""
    generator = torch.Generator(x.device).manual_seed(0)
    if x.is_floating_point():
        return x + torch.randn(x.shape, generator=generator, device=x.device).to(x)
    tokens, index = x.unique(return_inverse=True)
    if len(tokens) < 2:
        raise ValueError("x must hold two different tokens or more, to replace one by another")
    return tokens[(index + 1) % len(tokens)]
