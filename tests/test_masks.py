import numpy as np
import pytest
import torch

from attention_live.masks import causal_mask, padding_mask, sliding_window_mask


def rows(mask):
    """A mask as text, one word a query: x = may attend."""
    return " ".join("".join("x" if allowed else "." for allowed in row) for row in mask.tolist())


@pytest.mark.parametrize(
    "lengths",
    [[3, 0, 5], (3, 0, 5), torch.tensor([3, 0, 5]), torch.tensor([3, 0, 5], dtype=torch.int32), np.array([3, 0, 5])],
)
def test_padding_mask(lengths):
    mask = padding_mask(lengths, 5)
    assert mask.shape == (3, 1, 1, 5)
    assert mask.dtype == torch.bool
    assert rows(mask[:, 0, 0]) == "xxx.. ..... xxxxx"


def test_causal_mask():
    mask = causal_mask(3)
    assert mask.dtype == torch.bool
    assert rows(mask) == "x.. xx. xxx"


def test_with_a_cache_the_last_query_sees_every_key():
    assert rows(causal_mask(2, 5)) == "xxxx. xxxxx"
    assert rows(causal_mask(1, 4)) == "xxxx"
    assert causal_mask(0, 4).shape == (0, 4)


def test_sliding_window_mask():
    assert rows(sliding_window_mask(4, window=2)) == "xx.. xxx. .xxx ..xx"
    assert rows(sliding_window_mask(3, window=1)) == "x.. .x. ..x"
    assert rows(sliding_window_mask(2, 5, window=2)) == "..xxx ...xx"
    assert sliding_window_mask(2, window=2).dtype == torch.bool


def test_masks_combine():
    assert rows(causal_mask(4) & sliding_window_mask(4, window=2)) == "x... xx.. .xx. ..xx"
    both = causal_mask(3) & padding_mask([3, 1], 3)
    assert both.shape == (2, 1, 3, 3)
    assert rows(both[0, 0]) == "x.. xx. xxx"
    assert rows(both[1, 0]) == "x.. x.. x.."


@pytest.mark.parametrize(
    "make",
    [
        lambda: padding_mask([1, 2], 3, device="meta"),
        lambda: padding_mask(torch.tensor([1, 2]), 3, device="meta"),
        lambda: causal_mask(2, 3, device="meta"),
        lambda: sliding_window_mask(2, 3, window=1, device="meta"),
    ],
)
def test_masks_are_made_where_they_are_wanted(make):
    mask = make()
    assert mask.device.type == "meta"
    assert mask.dtype == torch.bool


@pytest.mark.parametrize(
    ("error", "message", "make"),
    [
        (ValueError, r"lengths\[1\] \(6\) must be between 0 and max_len \(5\)", lambda: padding_mask([5, 6], 5)),
        (ValueError, r"lengths\[0\] \(-1\) must be between 0 and max_len \(5\)", lambda: padding_mask([-1, 5], 5)),
        (ValueError, r"lengths must be \(B,\), got \(1, 2\)", lambda: padding_mask([[1, 2]], 5)),
        (TypeError, r"lengths must be integers, got torch\.float32", lambda: padding_mask([1.0, 2.0], 5)),
        (TypeError, r"lengths must be integers, got torch\.bool", lambda: padding_mask([True, False], 5)),
        (ValueError, r"tq \(4\) must be between 0 and tk \(3\)", lambda: causal_mask(4, 3)),
        (ValueError, r"tq \(-1\) must be between 0 and tk \(-1\)", lambda: causal_mask(-1)),
        (ValueError, r"tq \(4\) must be between 0 and tk \(3\)", lambda: sliding_window_mask(4, 3, window=1)),
        (ValueError, r"window \(0\) must be at least 1", lambda: sliding_window_mask(3, window=0)),
    ],
)
def test_masks_name_what_is_wrong(error, message, make):
    with pytest.raises(error, match=message):
        make()
