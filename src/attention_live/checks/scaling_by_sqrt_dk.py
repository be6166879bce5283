"""The exercises of chapter 03, Scaling by √d_k."""

import torch

from .engine import Case, Chapter, Mistake, randn

chapter = Chapter()
progress = chapter.progress
__dir__ = chapter.names

# Shapes are distinct primes; the small cases are square, so that wrong products of matrices run there.
B, H, TQ, TK, DK, D = 2, 3, 5, 7, 11, 17


def _score_std(d_k, std_q, std_k):
    return d_k**0.5 * std_q * std_k


score_std = chapter.exercise(
    "3.1",
    "score_std",
    reference=_score_std,
    cases=[
        Case({"d_k": 9, "std_q": 1.0, "std_k": 1.0}),
        Case({"d_k": 4, "std_q": 3.0, "std_k": 0.5}),
        Case({"d_k": 11, "std_q": 0.7, "std_k": 1.3}),
    ],
    mistakes=[
        Mistake(
            "that is the variance",
            lambda d_k, std_q, std_k: d_k * std_q**2 * std_k**2,
            "variances add up to this. The standard deviation is its square root.",
        ),
        Mistake(
            "standard deviations do not add up",
            lambda d_k, std_q, std_k: d_k * std_q * std_k,
            "the spread of one product was multiplied by d_k. It is variances that add up; take the root at the end.",
        ),
        Mistake(
            "the root was taken of everything",
            lambda d_k, std_q, std_k: (d_k * std_q * std_k) ** 0.5,
            "std_q and std_k are standard deviations already. Square them first, or keep them outside the root.",
        ),
        Mistake(
            "variances for standard deviations",
            lambda d_k, std_q, std_k: d_k**0.5 * std_q**2 * std_k**2,
            "here std_q and std_k count twice, as if they were not squared and rooted together with d_k.",
        ),
        Mistake(
            "the components' spread plays no part",
            lambda d_k, std_q, std_k: d_k**0.5,
            "√d_k is right only for components of standard deviation 1.",
        ),
        Mistake(
            "the spreads were added",
            lambda d_k, std_q, std_k: d_k**0.5 * (std_q + std_k),
            "a product of two independent numbers has the product of their spreads, not the sum.",
        ),
        Mistake(
            "the variances were added",
            lambda d_k, std_q, std_k: (d_k * (std_q**2 + std_k**2)) ** 0.5,
            "variances add up in a sum. q_i k_i is a product, and for independent numbers of mean 0 its variance is "
            "the product of theirs.",
        ),
        Mistake(
            "only the queries' spread",
            lambda d_k, std_q, std_k: d_k**0.5 * std_q,
            "std_k plays no part here, but longer keys give larger scores as well.",
        ),
        Mistake(
            "the width plays no part",
            lambda d_k, std_q, std_k: std_q * std_k,
            "that is the spread of a single product. The dot product adds up d_k of them.",
        ),
        Mistake(
            "divided by the root",
            lambda d_k, std_q, std_k: std_q * std_k / d_k**0.5,
            "the spread shrinks with d_k here. That is the spread of a mean; a dot product is a sum.",
        ),
    ],
    verified="the standard deviation is right for three widths and spreads",
)


def _measured_std(q, k):
    return (q * k).sum(dim=-1).std()


def _number(answer, q, k):
    """A tensor with one number, or that number: both are fine."""
    result = answer(q, k)
    return torch.tensor(result) if isinstance(result, float) else result


measured_std = chapter.exercise(
    "3.2",
    "measured_std",
    reference=_measured_std,
    cases=[
        Case(
            {
                "q": torch.tensor([[1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]]),
                "k": torch.tensor([[1.0, 1.0], [1.0, 1.0], [1.0, -1.0]]),
            },
            _number,
        ),
        Case(randn(q=(13, DK), k=(13, DK)), _number),
        Case(
            {"q": randn(x=(13, DK))["x"] + 1, "k": randn(1, x=(13, DK))["x"] + 1},
            _number,
            about="a mean that is not 0",
        ),
    ],
    mistakes=[
        Mistake(
            "all pairs",
            lambda q, k: (q @ k.T).std(),
            "every query met every key. Then the scores share queries and keys and are no longer independent; take "
            "row i of q with row i of k.",
        ),
        Mistake(
            "not added up",
            lambda q, k: (q * k).std(),
            "that is the spread of the single products. A dot product is the sum of a row.",
        ),
        Mistake(
            "added up along the wrong axis",
            lambda q, k: (q * k).sum(dim=0).std(),
            "the sum ran over the pairs. Add up the components of a pair, the last axis.",
        ),
        Mistake(
            "the mean of the products",
            lambda q, k: (q * k).mean(dim=-1).std(),
            "a mean instead of a sum: that divides every dot product by d_k.",
        ),
        Mistake(
            "everything was added up",
            lambda q, k: (q * k).sum().std(),
            "all pairs went into one sum, and the spread of a single number is NaN. Add up each row: `dim=-1`.",
        ),
        Mistake(
            "divided by the root",
            lambda q, k: (q * k).sum(dim=-1).std() / q.shape[-1] ** 0.5,
            "that is the spread after the division by √d_k. Here the dot products are asked for as they are.",
        ),
        Mistake(
            "computed instead of measured",
            lambda q, k: torch.tensor(q.shape[-1] ** 0.5),
            "√d_k is what to expect of very many pairs that keep to the assumptions. Measure these.",
        ),
        Mistake(
            "that is the variance",
            lambda q, k: (q * k).sum(dim=-1).var(),
            "the root is missing.",
        ),
        Mistake(
            "divided by N",
            lambda q, k: (q * k).sum(dim=-1).std(correction=0),
            "close: this divides by the number of pairs N. `torch.std` divides by N − 1, as the mean was estimated "
            "from the same numbers.",
        ),
        Mistake(
            "the mean was not taken off",
            lambda q, k: (q * k).sum(dim=-1).square().mean().sqrt(),
            "this is the root of the mean square, which is the standard deviation only if the mean is 0.",
        ),
    ],
    verified="the spread of the dot products is right, also where their mean is not 0",
)


def _softmax_jacobian(scores):
    w = torch.softmax(scores, dim=0)
    return torch.diag(w) - torch.outer(w, w)


def _jacobian_with(combine):
    def softmax_jacobian(scores):
        w = torch.softmax(scores, dim=0)
        return combine(w)

    return softmax_jacobian


softmax_jacobian = chapter.exercise(
    "3.3",
    "softmax_jacobian",
    reference=_softmax_jacobian,
    cases=[
        Case({"scores": torch.tensor([0.0, 0.0])}),
        Case({"scores": torch.tensor([0.0, 1.0, -0.5])}),
        Case(randn(scores=(TK,))),
    ],
    mistakes=[
        Mistake(
            "only the diagonal",
            _jacobian_with(lambda w: torch.diag(w * (1 - w))),
            "the diagonal is right, but a score also moves the weights of all other keys: what one gains, the others "
            "lose.",
        ),
        Mistake(
            "the sign is turned round",
            _jacobian_with(lambda w: torch.outer(w, w) - torch.diag(w)),
            "a higher score would lower its own weight here.",
        ),
        Mistake(
            "added instead of subtracted",
            _jacobian_with(lambda w: torch.diag(w) + torch.outer(w, w)),
            "the others lose what one gains, so w_i w_j is taken away.",
        ),
        Mistake(
            "the others' sign is wrong",
            _jacobian_with(lambda w: (torch.outer(w, w) - torch.diag(w)).abs()),
            "the diagonal is right, but beside it stands − w_i w_j: what one gains, the others lose.",
        ),
        Mistake(
            "the diagonal was subtracted twice",
            _jacobian_with(lambda w: torch.diag(w * (1 - w)) - torch.outer(w, w)),
            "w wᵀ has w_i² on its diagonal already. The first term is `torch.diag(w)`.",
        ),
        Mistake(
            "the second term is missing",
            _jacobian_with(torch.diag),
            "that is diag(w) alone. All products w_i w_j are to be taken off it.",
        ),
        Mistake(
            "a dot product for the matrix",
            _jacobian_with(lambda w: torch.diag(w) - w @ w),
            "`w @ w` is a single number. w wᵀ is the matrix of all products, `torch.outer(w, w)`.",
        ),
        Mistake(
            "squares for the matrix",
            _jacobian_with(lambda w: torch.diag(w) - w * w),
            "`w * w` is a row of squares. w wᵀ is the matrix of all products, `torch.outer(w, w)`.",
        ),
        Mistake(
            "the first term is missing",
            _jacobian_with(lambda w: -torch.outer(w, w)),
            "where i = j, the weight itself comes on top.",
        ),
        Mistake(
            "1 on the diagonal",
            _jacobian_with(lambda w: torch.eye(len(w)) - torch.outer(w, w)),
            "the first term is the weight itself on the diagonal, `torch.diag(w)`, not 1.",
        ),
        Mistake(
            "w_i in the whole row",
            _jacobian_with(lambda w: w[:, None] - torch.outer(w, w)),
            "the first term belongs on the diagonal alone: `torch.diag(w)`.",
        ),
        Mistake(
            "w_j in the whole column",
            _jacobian_with(lambda w: w - torch.outer(w, w)),
            "w was spread over all rows. The first term belongs on the diagonal alone: `torch.diag(w)`.",
        ),
        Mistake(
            "the scores instead of the weights",
            lambda scores: torch.diag(scores) - torch.outer(scores, scores),
            "the formula is in terms of the weights, w = softmax(scores).",
        ),
    ],
    verified="the Jacobian is right for 2, 3 and 7 scores",
)


def _softmax_backward(weights, grad):
    return weights * (grad - (weights * grad).sum(dim=-1, keepdim=True))


softmax_backward = chapter.exercise(
    "3.4",
    "softmax_backward",
    reference=_softmax_backward,
    cases=[
        Case({"weights": torch.tensor([[0.75, 0.25], [0.5, 0.5]]), "grad": torch.tensor([[1.0, 0.0], [2.0, -1.0]])}),
        Case({"weights": randn(s=(TQ, TK))["s"].softmax(dim=-1)} | randn(1, grad=(TQ, TK))),
        Case({"weights": randn(s=(B, H, TK))["s"].softmax(dim=-1)} | randn(1, grad=(B, H, TK)), about="more axes"),
    ],
    mistakes=[
        Mistake(
            "only the diagonal",
            lambda weights, grad: weights * (1 - weights) * grad,
            "each score was treated as if it moved its own weight alone. It moves all weights of its row.",
        ),
        Mistake(
            "the plain mean",
            lambda weights, grad: weights * (grad - grad.mean(dim=-1, keepdim=True)),
            "what is taken off is the mean of the gradients *weighted* by the weights.",
        ),
        Mistake(
            "the plain sum",
            lambda weights, grad: weights * (grad - grad.sum(dim=-1, keepdim=True)),
            "the sum that is taken off has to be weighted: `(weights * grad).sum(…)`.",
        ),
        Mistake(
            "the mean of the products",
            lambda weights, grad: weights * (grad - (weights * grad).mean(dim=-1, keepdim=True)),
            "the weights add up to 1, so the weighted mean is `(weights * grad).sum(…)`. A mean divides by n as well.",
        ),
        Mistake(
            "the sign is turned round",
            lambda weights, grad: weights * ((weights * grad).sum(dim=-1, keepdim=True) - grad),
            "all numbers are right but for the sign: the weighted mean is taken off the gradient.",
        ),
        Mistake(
            "added instead of subtracted",
            lambda weights, grad: weights * (grad + (weights * grad).sum(dim=-1, keepdim=True)),
            "the weighted mean is taken off: − w (w · g).",
        ),
        Mistake(
            "only the first term was multiplied by the weights",
            lambda weights, grad: weights * grad - (weights * grad).sum(dim=-1, keepdim=True),
            "the second term is w (w · g), a multiple of the weights, too.",
        ),
        Mistake(
            "softmax once more",
            lambda weights, grad: _softmax_backward(weights.softmax(dim=-1), grad),
            "what comes in are weights already, softmax was taken of the scores.",
        ),
        Mistake(
            "not multiplied by the weights",
            lambda weights, grad: grad - (weights * grad).sum(dim=-1, keepdim=True),
            "the bracket is right; the weights in front of it are missing.",
        ),
        Mistake(
            "the weighted mean was not taken off",
            lambda weights, grad: weights * grad,
            "that is only the first term, diag(w) g. The second, − w (w · g), is missing.",
        ),
        Mistake(
            "`keepdim` was forgotten",
            lambda weights, grad: weights * (grad - (weights * grad).sum(dim=-1)),
            "without `keepdim=True` the sums lie along the wrong axis. With as many queries as keys that even runs.",
        ),
        Mistake(
            "summed over the queries",
            lambda weights, grad: weights * (grad - (weights * grad).sum(dim=-2, keepdim=True)),
            "the sum ran down the columns. A row is one softmax: sum along the last axis.",
        ),
        Mistake(
            "one sum for all rows",
            lambda weights, grad: weights * (grad - (weights * grad).sum()),
            "the sum ran over all rows. Each row is a softmax of its own: `dim=-1, keepdim=True`.",
        ),
    ],
    verified="the gradient is right for each row, with any axes in front",
)


def _safe_scores(q, k):
    return (q / q.shape[-1] ** 0.5) @ k.transpose(-2, -1)


def _in_half_precision(answer, q, k):
    """What has to hold of a result in half precision, whichever way it was rounded."""
    scores = answer(q, k)
    exact = _safe_scores(q.double(), k.double())
    return {
        "half precision": scores.dtype == torch.float16,
        "finite": bool(scores.isfinite().all()),
        "right to 1%": torch.allclose(scores.double(), exact, rtol=0.01),
    }


safe_scores = chapter.exercise(
    "3.5",
    "safe_scores",
    reference=_safe_scores,
    cases=[
        Case({"q": torch.tensor([[1.0, 2.0], [0.0, 1.0]]), "k": torch.tensor([[3.0, 1.0], [2.0, -1.0]])}),
        Case(randn(q=(B, TQ, DK), k=(B, TK, DK)), about="a batch"),
        Case(
            {"q": 80 + randn(x=(TQ, 23))["x"].half(), "k": 80 + randn(1, x=(TK, 23))["x"].half()},
            _in_half_precision,
            about="half precision, with scores below 65,504 but dot products above",
        ),
    ],
    mistakes=[
        Mistake(
            "scaled too late",
            lambda q, k: q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5,
            "right in 32 bits, but in half precision the dot product has become infinite before it was divided. "
            "Make the queries shorter first.",
        ),
        Mistake(
            "divided by d_k in all",
            lambda q, k: (q / q.shape[-1] ** 0.5) @ (k / k.shape[-1] ** 0.5).transpose(-2, -1),
            "the scores are too small. Was the root forgotten, or were queries and keys both divided by it?",
        ),
        Mistake(
            "no scaling",
            lambda q, k: q @ k.transpose(-2, -1),
            "the scores were not divided by √d_k.",
        ),
        Mistake(
            "no root, and too late",
            lambda q, k: q @ k.transpose(-2, -1) / q.shape[-1],
            "it was divided by d_k instead of √d_k, and after the product, when it has become infinite.",
        ),
        Mistake(
            "the root of the number of queries",
            lambda q, k: (q / q.shape[-2] ** 0.5) @ k.transpose(-2, -1),
            "`shape[-2]` is how many queries there are. Their width d_k is the last axis.",
        ),
        Mistake(
            "multiplied by the root",
            lambda q, k: (q * q.shape[-1] ** 0.5) @ k.transpose(-2, -1),
            "the scores became larger. Scaling divides.",
        ),
        Mistake(
            "weights instead of scores",
            lambda q, k: _safe_scores(q, k).softmax(dim=-1),
            "softmax was taken already. The scores before it are asked for.",
        ),
        Mistake(
            "cut off at the largest number",
            lambda q, k: (q @ k.transpose(-2, -1)).clamp(max=65504) / q.shape[-1] ** 0.5,
            "nothing is infinite now, but all large scores became the same one. Scale before you multiply, and "
            "there is nothing to cut.",
        ),
        Mistake(
            "computed in 32 bits",
            lambda q, k: _safe_scores(q.float(), k.float()),
            "the numbers are right, but half precision went in and 32 bits come out, so memory and time are not saved.",
        ),
    ],
    verified="the scores are right, for a batch too, and finite in half precision",
)


def _fold(W_q, W_k):
    return W_q / W_q.shape[-1] ** 0.5, W_k


def _unscaled_scores(answer, x, y, W_q, W_k):
    """The scores that the new maps give with no scaling."""
    maps = answer(W_q, W_k)
    if not isinstance(maps, tuple | list) or len(maps) != 2:
        raise ValueError("return two maps, the new W_q and the new W_k")
    new_q, new_k = maps
    return (x @ new_q) @ (y @ new_k).transpose(-2, -1)


fold = chapter.exercise(
    "3.6",
    "fold",
    reference=_fold,
    cases=[
        Case(
            {
                "x": torch.tensor([[1.0, 2.0]]),
                "y": torch.tensor([[0.0, 1.0]]),
                "W_q": torch.tensor([[1.0, 0.0, 2.0, 1.0], [0.0, 1.0, 1.0, 1.0]]),
                "W_k": torch.tensor([[1.0, 1.0, 0.0, 0.0], [1.0, 2.0, 3.0, 4.0]]),
            },
            _unscaled_scores,
            about="the scores of words x and y by your two maps, without scaling",
        ),
        Case(
            {name: 0.5 * value for name, value in randn(x=(TQ, D), y=(TK, D), W_q=(D, DK), W_k=(D, DK)).items()},
            _unscaled_scores,
            about="the scores of words x and y by your two maps, without scaling",
        ),
    ],
    mistakes=[
        Mistake(
            "divided by d_k in all",
            lambda W_q, W_k: (W_q / W_q.shape[-1] ** 0.5, W_k / W_k.shape[-1] ** 0.5),
            "the scores are too small. Was the root forgotten, or were both maps divided by it? Divide one by √d_k, or "
            "both by √√d_k.",
        ),
        Mistake(
            "nothing was folded in",
            lambda W_q, W_k: (W_q, W_k),
            "the maps came back as they were, so the scores are not scaled.",
        ),
        Mistake(
            "the root of the wrong axis",
            lambda W_q, W_k: (W_q / W_q.shape[0] ** 0.5, W_k),
            "the first axis of W_q is the width of a word, d_model. Queries have the width of the last axis, d_k.",
        ),
        Mistake(
            "multiplied by the root",
            lambda W_q, W_k: (W_q * W_q.shape[-1] ** 0.5, W_k),
            "the scores became larger. Scaling divides.",
        ),
        Mistake(
            "the maps exchanged",
            lambda W_q, W_k: (W_k, W_q / W_q.shape[-1] ** 0.5),
            "the first map that came back is that of the keys. The order is new W_q, new W_k.",
        ),
        Mistake(
            "half of the way",
            lambda W_q, W_k: (W_q / W_q.shape[-1] ** 0.25, W_k),
            "one map was divided by √√d_k. That is right if the other is, too.",
        ),
    ],
    verified="your maps give the scaled scores with no scaling, whatever the words",
)


def _effective_keys(weights):
    return torch.special.entr(weights).sum(dim=-1).exp()


def _log_of_zero(weights):
    return (-(weights * weights.log()).sum(dim=-1)).exp()


effective_keys = chapter.exercise(
    "3.7",
    "effective_keys",
    reference=_effective_keys,
    cases=[
        Case({"weights": torch.tensor([[0.5, 0.5], [0.75, 0.25]])}),
        Case({"weights": randn(s=(TQ, TK))["s"].softmax(dim=-1)}),
        Case({"weights": randn(s=(B, H, TQ, TK))["s"].softmax(dim=-1)}, about="axes for batch and heads in front"),
        Case({"weights": torch.tensor([[1.0, 0.0, 0.0], [0.0, 0.5, 0.5]])}, about="weights of exactly 0"),
    ],
    mistakes=[
        Mistake(
            "the logarithm of 0",
            _log_of_zero,
            "right while all weights are positive. But log 0 is −∞, and 0 · ∞ is NaN, where the limit of w log w is 0. "
            "See `torch.special.entr`, `torch.xlogy` or `clamp`.",
        ),
        Mistake(
            "the entropy itself",
            lambda weights: torch.special.entr(weights).sum(dim=-1),
            "that is the entropy. Its exponential is a number of keys.",
        ),
        Mistake(
            "the exponential of an entropy in bits",
            lambda weights: (torch.special.entr(weights).sum(dim=-1) / torch.tensor(2.0).log()).exp(),
            "two different bases: with the natural logarithm goes `exp`, with `log2` goes 2 to the power.",
        ),
        Mistake(
            "the mean for the sum",
            lambda weights: torch.special.entr(weights).mean(dim=-1).exp(),
            "the entropy is a sum over the keys, not a mean: each term has its weight already.",
        ),
        Mistake(
            "the exponential came first",
            lambda weights: torch.special.entr(weights).exp().sum(dim=-1),
            "add up the terms first. The exponential is taken of the entropy, once for each query.",
        ),
        Mistake(
            "moved too far away from 0",
            lambda weights: (-(weights * (weights + 1e-6).log()).sum(dim=-1)).exp(),
            "1e-6 added to every weight is seen in the sixth digit. 1e-9 is small enough, and `torch.special.entr` "
            "needs nothing of the kind.",
        ),
        Mistake(
            "NaN was replaced too late",
            lambda weights: (-(weights * weights.log()).sum(dim=-1)).nan_to_num().exp(),
            "one NaN spoils the sum of its row, and what replaces it there is no longer the entropy. Mend the terms "
            "before they are added up.",
        ),
        Mistake(
            "2 to the power of an entropy in nats",
            lambda weights: 2 ** torch.special.entr(weights).sum(dim=-1),
            "two different bases: with the natural logarithm goes `exp`, with `log2` goes 2 to the power.",
        ),
        Mistake(
            "the sign is missing",
            lambda weights: (-torch.special.entr(weights).sum(dim=-1)).exp(),
            "the logarithm of a weight is negative, so the sum has to change its sign. This gives one over the number "
            "of keys.",
        ),
        Mistake(
            "over the queries",
            lambda weights: torch.special.entr(weights).sum(dim=-2).exp(),
            "the sum ran over the queries. The weights of one query are a row, the last axis.",
        ),
        Mistake(
            "one number for all queries",
            lambda weights: torch.special.entr(weights).sum().exp(),
            "all rows were added up. Each query has its own number of keys: `dim=-1`.",
        ),
        Mistake(
            "the inverse of the sum of squares",
            lambda weights: 1 / weights.square().sum(dim=-1),
            "that is another good measure of the same thing, the inverse participation ratio. Here the exponential of "
            "the entropy is asked for.",
        ),
    ],
    verified="right for each query, with any axes in front, and where weights are exactly 0",
)
