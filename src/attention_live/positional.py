"""Positions: attention alone does not see the order of its input, so the order is written into the vectors.

Letters: B batch, H heads, T positions, D model width, Dk width of one head.
"""

import torch
from torch import Tensor, nn


def sinusoidal_encoding(length: int, d_model: int, base: float = 10_000) -> Tensor:
    """The code of every position, from waves of different lengths (Vaswani et al. 2017, section 3.5).

    PE(pos, 2i) = sin(pos / base^(2i/d_model)) and PE(pos, 2i+1) = cos(the same angle). The angles are in radians and
    are computed in double precision. An odd d_model ends with a sine that has no cosine.

    Args:
        length: number of positions, counted from 0.
        d_model: width of the code.
        base: the slowest wave is almost 2π · base positions long.

    Returns:
        (length, d_model) in the default dtype. Add it to the embeddings x with `x + sinusoidal_encoding(T, D).to(x)`.

    Raises:
        ValueError: length is negative or d_model is less than 1.
    """
    if length < 0 or d_model < 1:
        raise ValueError(f"length ({length}) must be at least 0 and d_model ({d_model}) at least 1")
    angles = _angles(torch.arange(length), d_model, base)  # (T, ⌈D/2⌉)
    waves = torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(-2)  # (T, ⌈D/2⌉, 2) → (T, D or D + 1)
    return waves[:, :d_model].to(torch.get_default_dtype())  # (T, D)


class LearnedPositions(nn.Module):
    """Add a learned vector for each position, up to max_len of them (Gehring et al. 2017, section 3.1)."""

    def __init__(self, max_len: int, d_model: int):
        super().__init__()
        self.table = nn.Parameter(torch.randn(max_len, d_model) * 0.02)  # small beside the embeddings, as in BERT

    def forward(self, x: Tensor) -> Tensor:
        """Return x (..., T, D) plus the first T vectors of the table.

        Raises:
            ValueError: T exceeds max_len, or D is not d_model.
        """
        (max_len, d_model), (length, width) = self.table.shape, x.shape[-2:]
        if width != d_model:
            raise ValueError(f"x has width {width}, expected d_model ({d_model})")
        if length > max_len:
            raise ValueError(f"sequence length {length} exceeds max_len ({max_len})")
        return x + self.table[:length]  # (..., T, D)


class RotaryPositions(nn.Module):
    """Turn the features of queries and keys by angles that grow with the position (RoPE, Su et al. 2021, section 3.4).

    Features 2i and 2i+1 form a pair ("interleaved", as in the paper). At position p the pair turns by the angle
    p / base^(2i/d_k) radians, so the score of a query and a key depends on how far apart they stand, not on where.
    Code that pairs i with i + d_k/2 ("half", as in Hugging Face's Llama) needs the features of q and k in another
    order: see `interleaved_to_half` and `half_to_interleaved`.

    With a `stretch` of s, position p counts as p / s: a model that was trained on T positions then reads s · T of them
    at angles that it knows ("position interpolation", Chen et al. 2023).

    The module has no table: no length is too long, and the result has the dtype and device of x.

    Raises:
        ValueError: d_k is odd, or stretch is not positive.
    """

    def __init__(self, d_k: int, base: float = 10_000, *, stretch: float = 1.0):
        super().__init__()
        _check_even(d_k)
        if not stretch > 0:
            raise ValueError(f"stretch ({stretch}) must be positive")
        self.d_k, self.base, self.stretch = d_k, base, stretch

    def forward(self, x: Tensor, offset: int = 0) -> Tensor:
        """Return the queries or keys x (..., T, Dk) turned, where the first of them stands at position `offset`.

        With a cache of earlier keys, offset is their number: the new query and key come after them.

        Raises:
            ValueError: x is not d_k wide.
        """
        if x.size(-1) != self.d_k:
            raise ValueError(f"x has width {x.size(-1)}, expected d_k ({self.d_k})")
        positions = torch.arange(offset, offset + x.size(-2), dtype=torch.float64) / self.stretch  # (T,)
        angles = _angles(positions, self.d_k, self.base)  # (T, Dk/2)
        cos, sin = angles.cos().to(x), angles.sin().to(x)
        even, odd = x[..., 0::2], x[..., 1::2]  # (..., T, Dk/2) each
        turned = torch.stack((even * cos - odd * sin, even * sin + odd * cos), dim=-1)  # (..., T, Dk/2, 2)
        return turned.flatten(-2)  # (..., T, Dk)


def interleaved_to_half(x: Tensor, d_k: int, dim: int = -1) -> Tensor:
    """Reorder features from pairs (2i, 2i+1) to pairs (i, i + d_k/2), in every head along the axis `dim`.

    For vectors (..., Dk) or all heads at once (..., H·Dk) the axis is the last. For the weight (H·Dk, D) and bias
    (H·Dk,) of the linear maps that make queries and keys it is 0: reorder both maps, and every score stays the same.

    Raises:
        ValueError: d_k is odd, or the axis is not a multiple of d_k.
    """
    return _regroup(x, d_k, dim, (d_k // 2, 2))


def half_to_interleaved(x: Tensor, d_k: int, dim: int = -1) -> Tensor:
    """Undo `interleaved_to_half`: reorder features from pairs (i, i + d_k/2) to pairs (2i, 2i+1)."""
    return _regroup(x, d_k, dim, (2, d_k // 2))


def _angles(positions: Tensor, width: int, base: float) -> Tensor:
    frequencies = base ** -(torch.arange(0, width, 2, dtype=torch.float64) / width)  # (⌈width/2⌉,), radians a position
    return positions[:, None] * frequencies  # (T, ⌈width/2⌉), in float64


def _check_even(d_k: int) -> None:
    if d_k < 2 or d_k % 2:
        raise ValueError(f"d_k ({d_k}) must be even: features turn in pairs")


def _regroup(x: Tensor, d_k: int, dim: int, grid: tuple[int, int]) -> Tensor:
    """Read each head's d_k features as a grid, row by row, and write it out column by column."""
    _check_even(d_k)
    if x.size(dim) % d_k:
        raise ValueError(f"axis {dim} has {x.size(dim)} features, not a multiple of d_k ({d_k})")
    heads = x.movedim(dim, -1).unflatten(-1, (-1, *grid))  # (..., H, Dk/2, 2) or (..., H, 2, Dk/2)
    return heads.transpose(-1, -2).flatten(-3).movedim(-1, dim)
