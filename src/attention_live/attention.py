"""Attention: a soft look-up in which every query takes a weighted mean of the values.

Letters: B batch, H heads, Tq and Tk positions (queries, keys), D model width, Dk and Dv width of one head.
Masks are boolean, True = may attend. A query that may attend to nothing gets zeros, and sends zero gradients back.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def attention(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None, *, scale: float | None = None, dropout_p: float = 0.0
) -> tuple[Tensor, Tensor]:
    """Scaled dot-product attention, softmax(q kᵀ / √Dk) v (Vaswani et al. 2017, section 3.2.1).

    Args:
        q: (..., Tq, Dk) queries.
        k: (..., Tk, Dk) keys.
        v: (..., Tk, Dv) values.
        mask: boolean, True = may attend, broadcastable to (..., Tq, Tk).
        scale: factor on q·k, 1/√Dk if None.
        dropout_p: share of the weights to drop. Always applied: pass 0.0 outside training.

    Returns:
        Output (..., Tq, Dv), and weights (..., Tq, Tk) as they were before dropout: rows sum to 1.
        Finite numbers at hidden positions do not move the output by one bit. NaN or ∞ in a hidden value still spoils
        it, because 0 · NaN is NaN.

    Raises:
        TypeError: the mask is not boolean.
        ValueError: shapes do not fit together.
    """
    if q.size(-1) != k.size(-1):
        raise ValueError(f"q and k must have the same width, got {q.size(-1)} and {k.size(-1)}")
    _check_one_value_per_key(k, v)
    if scale is None:
        scale = q.size(-1) ** -0.5
    scores = (q * scale) @ k.transpose(-2, -1)  # (..., Tq, Tk); scaled first, so half precision overflows later
    weights = masked_softmax(scores, mask)
    kept = F.dropout(weights, dropout_p) if dropout_p else weights
    return kept @ v, weights  # (..., Tq, Dv), (..., Tq, Tk)


def additive_attention(
    q: Tensor, k: Tensor, v: Tensor, w_q: Tensor, w_k: Tensor, v_a: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Additive attention: a small network scores each pair as v_a · tanh(q w_q + k w_k) (Bahdanau et al. 2015).

    Args:
        q: (..., Tq, Dq) queries.
        k: (..., Tk, Dk) keys. Dq and Dk may differ.
        v: (..., Tk, Dv) values.
        w_q: (Dq, Da) maps the queries to the Da hidden units.
        w_k: (Dk, Da) maps the keys to the same units.
        v_a: (Da,) turns the hidden units into one score.
        mask: boolean, True = may attend, broadcastable to (..., Tq, Tk).

    Returns:
        Output (..., Tq, Dv) and weights (..., Tq, Tk), with the errors and promises of `attention`.
    """
    _check_one_value_per_key(k, v)
    hidden = torch.tanh((q @ w_q).unsqueeze(-2) + (k @ w_k).unsqueeze(-3))  # (..., Tq, Tk, Da)
    weights = masked_softmax(hidden @ v_a, mask)  # (..., Tq, Tk)
    return weights @ v, weights  # (..., Tq, Dv), (..., Tq, Tk)


def masked_softmax(scores: Tensor, mask: Tensor | None = None) -> Tensor:
    """Turn scores (..., Tq, Tk) into weights: each row sums to 1, with exactly 0 where the mask is False.

    A row with no True becomes all zeros.

    Raises:
        TypeError: the mask is not boolean.
        ValueError: the mask does not broadcast to the scores.
    """
    if mask is None:
        return scores.softmax(dim=-1)
    _check_mask(mask, scores.shape)
    # Hidden scores become −∞. Where a row would hold nothing else they become 0, for softmax would make it NaN.
    hidden_score = torch.where(mask.any(dim=-1, keepdim=True), -torch.inf, 0.0).to(scores)  # (..., Tq, 1)
    weights = torch.where(mask, scores, hidden_score).softmax(dim=-1)  # (..., Tq, Tk)
    return weights.masked_fill(~mask, 0.0)  # for those rows; elsewhere softmax has made e^−∞ = 0 already


class MultiHeadAttention(nn.Module):
    """Attention in num_heads subspaces of d_k = d_model / num_heads features (Vaswani et al. 2017, section 3.2.2).

    `w_q`, `w_k`, `w_v` and `w_o` are the paper's four maps, each an `nn.Linear(d_model, d_model)`. Head number h uses
    the features from h · d_k up to (h + 1) · d_k of the first three. `dropout` falls on the weights, in training only.

    Raises:
        ValueError: num_heads does not divide d_model.
    """

    def __init__(self, d_model: int, num_heads: int, *, dropout: float = 0.0, bias: bool = True):
        super().__init__()
        if num_heads < 1 or d_model % num_heads:
            raise ValueError(f"d_model ({d_model}) must be divisible by num_heads ({num_heads})")
        self.d_model, self.num_heads, self.dropout = d_model, num_heads, dropout
        self.w_q = nn.Linear(d_model, d_model, bias=bias)
        self.w_k = nn.Linear(d_model, d_model, bias=bias)
        self.w_v = nn.Linear(d_model, d_model, bias=bias)
        self.w_o = nn.Linear(d_model, d_model, bias=bias)

    def forward(
        self,
        query: Tensor,
        key: Tensor | None = None,
        value: Tensor | None = None,
        mask: Tensor | None = None,
        *,
        return_weights: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Self-attention is `mha(x)`, cross-attention is `mha(x, memory)`.

        Args:
            query: (B, Tq, D).
            key: (B, Tk, D), the query if None.
            value: (B, Tk, D), the key if None.
            mask: boolean, True = may attend: (Tq, Tk), or four axes that broadcast to (B, H, Tq, Tk).
            return_weights: also return every head's weights. Without them PyTorch's fused kernel
                does the work: a compiled routine for all steps at once, which need not keep the weights.

        Returns:
            Output (B, Tq, D); with `return_weights` a pair of it and the weights (B, H, Tq, Tk) before dropout.
            Finite numbers at hidden positions do not move the output by one bit while their scores are finite.

        Raises:
            TypeError: the mask is not boolean.
            ValueError: shapes do not fit together.
        """
        key = query if key is None else key
        value = key if value is None else value
        for name, x in (("query", query), ("key", key), ("value", value)):
            if x.dim() != 3 or x.size(-1) != self.d_model:
                raise ValueError(f"{name} must be (B, T, d_model = {self.d_model}), got {tuple(x.shape)}")
        _check_one_value_per_key(key, value)
        if mask is not None:
            if mask.dim() not in (2, 4):  # (B, Tq, Tk) would pass for (H, Tq, Tk) whenever B = H
                raise ValueError(f"mask must have the axes (Tq, Tk) or (B, H, Tq, Tk), got {tuple(mask.shape)}")
            _check_mask(mask, (query.size(0), self.num_heads, query.size(1), key.size(1)))

        q, k, v = self._split(self.w_q(query)), self._split(self.w_k(key)), self._split(self.w_v(value))
        dropout_p = self.dropout if self.training else 0.0
        if return_weights:
            heads, weights = attention(q, k, v, mask, dropout_p=dropout_p)  # (B, H, Tq, Dk), (B, H, Tq, Tk)
        else:
            heads = F.scaled_dot_product_attention(q, k, v, mask, dropout_p)  # (B, H, Tq, Dk)
        output = self.w_o(heads.transpose(1, 2).flatten(2))  # (B, Tq, H·Dk) = (B, Tq, D)
        return (output, weights) if return_weights else output

    def _split(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)  # (B, T, D) → (B, T, H, Dk) → (B, H, T, Dk)

    @classmethod
    def from_torch(cls, mha: nn.MultiheadAttention) -> MultiHeadAttention:
        """Copy PyTorch's module: weights, dropout, device, dtype, and whether it is in training mode.

        The copy is batch-first whatever `mha.batch_first` says. Mind the masks: PyTorch's module has True = hide.

        Raises:
            ValueError: the module has what this one has not (kdim, vdim, add_bias_kv or add_zero_attn).
        """
        if mha.in_proj_weight is None or mha.bias_k is not None or mha.add_zero_attn:
            raise ValueError("cannot copy a module made with kdim, vdim, add_bias_kv or add_zero_attn")
        bias = mha.in_proj_bias is not None
        ours = cls(mha.embed_dim, mha.num_heads, dropout=mha.dropout, bias=bias).to(mha.in_proj_weight)
        # in_proj_weight (3·D, D) holds the maps of queries, keys and values one below the other.
        theirs, state = mha.state_dict(), {}
        for kind in ("weight", "bias") if bias else ("weight",):
            state[f"w_q.{kind}"], state[f"w_k.{kind}"], state[f"w_v.{kind}"] = theirs[f"in_proj_{kind}"].chunk(3)
            state[f"w_o.{kind}"] = theirs[f"out_proj.{kind}"]
        ours.load_state_dict(state)
        return ours.train(mha.training)


def _check_one_value_per_key(k: Tensor, v: Tensor) -> None:
    if k.size(-2) != v.size(-2):
        raise ValueError(f"every key needs one value, got {k.size(-2)} keys and {v.size(-2)} values")


def _check_mask(mask: Tensor, shape: tuple[int, ...]) -> None:
    if mask.dtype != torch.bool:
        raise TypeError(f"mask must be boolean, True = may attend, got {mask.dtype}")
    pairs = zip(reversed(mask.shape), reversed(shape), strict=False)  # shapes are lined up from the right
    if mask.dim() > len(shape) or any(m not in (1, s) for m, s in pairs):
        raise ValueError(f"mask {tuple(mask.shape)} does not broadcast to the scores' shape {tuple(shape)}")
