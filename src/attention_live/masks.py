"""Masks: which query may attend to which key.

Every mask is boolean, True = may attend, and broadcasts to (B, H, Tq, Tk). So masks combine with `&` (both must allow)
and `|` (one is enough), for instance in a decoder, `causal_mask(t) & padding_mask(lengths, t)`: (B, 1, T, T).

The masks over positions let the queries be the last Tq of the Tk positions. With a cache of earlier keys, the last
query is then the newest position and sees every key, as it should; without one, Tq = Tk.
"""

from collections.abc import Sequence

import torch
from torch import Tensor


def padding_mask(lengths: Tensor | Sequence[int], max_len: int, *, device: torch.device | str | None = None) -> Tensor:
    """Hide the padding keys of sequences that were filled up to max_len positions.

    Args:
        lengths: (B,) integers, the number of real tokens in each sequence. They stand first, the padding after them.
        max_len: Tk, the padded length.
        device: where the mask is made; where `lengths` is if None.

    Returns:
        (B, 1, 1, max_len). Keys are hidden, not queries: what a padding query finds is to be ignored later.

    Raises:
        TypeError: lengths are not integers.
        ValueError: lengths are not (B,), or one of them is negative or exceeds max_len.
    """
    lengths = torch.as_tensor(lengths)
    if lengths.is_floating_point() or lengths.dtype == torch.bool:
        raise TypeError(f"lengths must be integers, got {lengths.dtype}")
    if lengths.dim() != 1:
        raise ValueError(f"lengths must be (B,), got {tuple(lengths.shape)}")
    for i, length in enumerate(lengths.tolist()):
        if not 0 <= length <= max_len:
            raise ValueError(f"lengths[{i}] ({length}) must be between 0 and max_len ({max_len})")
    lengths = lengths.to(device)
    return torch.arange(max_len, device=lengths.device) < lengths[:, None, None, None]  # (B, 1, 1, max_len)


def causal_mask(tq: int, tk: int | None = None, *, device: torch.device | str | None = None) -> Tensor:
    """Hide the future: a query may attend to its own position and to earlier ones.

    Args:
        tq: number of queries, the last tq of the tk positions.
        tk: number of keys, tq if None.
        device: where the mask is made.

    Returns:
        (tq, tk). PyTorch's `is_causal=True` differs when tq < tk: there the queries are the *first* tq positions.

    Raises:
        ValueError: tq is negative or exceeds tk.
    """
    query, key = _positions(tq, tk, device)
    return key <= query  # (tq, tk)


def sliding_window_mask(
    tq: int, tk: int | None = None, *, window: int, device: torch.device | str | None = None
) -> Tensor:
    """Hide what is far away: a query may attend to positions less than `window` steps from its own, on both sides.

    `causal_mask(tq, tk) & sliding_window_mask(tq, tk, window=w)` leaves the newest w positions, its own among them.
    The mask alone makes nothing cheaper: the hidden scores are computed too (for the idea: Beltagy et al. 2020).

    Args:
        tq, tk, device: as in `causal_mask`.
        window: 1 shows a query its own position only.

    Returns:
        (tq, tk).

    Raises:
        ValueError: window is less than 1, tq is negative or exceeds tk.
    """
    if window < 1:
        raise ValueError(f"window ({window}) must be at least 1")
    query, key = _positions(tq, tk, device)
    return (query - key).abs() < window  # (tq, tk)


def _positions(tq: int, tk: int | None, device: torch.device | str | None) -> tuple[Tensor, Tensor]:
    tk = tq if tk is None else tk
    if not 0 <= tq <= tk:
        raise ValueError(f"tq ({tq}) must be between 0 and tk ({tk})")
    key = torch.arange(tk, device=device)  # (tk,)
    return key[tk - tq :, None], key  # (tq, 1), (tk,)
