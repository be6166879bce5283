"""The exercises of chapter 01, Why self-attention."""

import math

import torch
import torch.nn.functional as F

from .engine import Case, Chapter, Mistake, randn

chapter = Chapter()
progress = chapter.progress
__dir__ = chapter.names

# Shapes are distinct primes, so that no two axes can be mixed up; the small cases are square, so that wrong products
# of matrices run there, and can be named.
B, T, D, DH = 2, 5, 7, 11


fading = chapter.exercise(
    "1.1",
    "fading",
    reference=lambda w, n: torch.tensor([w ** (n - 1 - t) for t in range(n)]),
    cases=[
        Case({"w": 0.5, "n": 4}),
        Case({"w": 1.5, "n": 3}, about="a weight that makes it grow"),
        Case({"w": -0.9, "n": 7}, about="a negative weight"),
    ],
    mistakes=[
        Mistake(
            "the first input as the nearest",
            lambda w, n: torch.tensor([w**t for t in range(n)]),
            "the numbers are right, in the wrong order. The last input stands next to the last state, so the largest "
            "power belongs to the first position.",
        ),
        Mistake(
            "one step too many",
            lambda w, n: torch.tensor([w ** (n - t) for t in range(n)]),
            "there is one factor w too many. The last input enters the last state directly, so its number is 1.",
        ),
        Mistake(
            "turned into shares",
            lambda w, n: (shares := torch.tensor([w ** (n - 1 - t) for t in range(n)])) / shares.sum(),
            "these were divided by their sum. What is left of an input does not depend on the other inputs.",
        ),
        Mistake(
            "a sum instead of a product",
            lambda w, n: torch.tensor([w * (n - 1 - t) for t in range(n)]),
            "w was multiplied by the distance. Each step multiplies what the step before left, so it is w to the "
            "power of the distance.",
        ),
        Mistake(
            "the last number alone",
            lambda w, n: torch.tensor(w ** (n - 1)),
            "this is what is left of the first input. One number for each of the n inputs is wanted.",
        ),
        Mistake(
            "the nearest first, one step too many",
            lambda w, n: torch.tensor([w ** (t + 1) for t in range(n)]),
            "the powers run from w¹ to wⁿ in the wrong order. The last input stands last, and its number is w⁰ = 1.",
        ),
        Mistake(
            "the states themselves",
            lambda w, n: torch.tensor([w**t for t in range(n)]).cumsum(0),
            "these are the states when every input is 1. Asked for is how much the last state moves with each input.",
        ),
    ],
    verified="right for a weight that fades, one that grows, and one that changes its sign",
)


def _keep(share):
    """A step that keeps the given share of the old state."""

    def step(h, candidate, z):
        kept = share(z)
        return kept * h + (1 - kept) * candidate

    return step


gated_step = chapter.exercise(
    "1.2",
    "gated_step",
    reference=_keep(torch.sigmoid),
    cases=[
        Case(
            {
                "h": torch.tensor([4.0, 4.0]),
                "candidate": torch.tensor([0.0, 1.0]),
                "z": torch.tensor([0.0, -1.0]),
            }
        ),
        Case(randn(h=(DH,), candidate=(DH,), z=(DH,))),
        Case(randn(h=(B, DH), candidate=(B, DH), z=(B, DH)), about="a batch"),
    ],
    mistakes=[
        Mistake(
            "old and new exchanged",
            lambda h, candidate, z: _keep(torch.sigmoid)(candidate, h, z),
            "an open gate let the old state go. Here sigmoid(z) is the share that is kept; the candidate gets the "
            "rest.",
        ),
        Mistake(
            "no sigmoid",
            _keep(lambda z: z),
            "z was used as it is. It can be any number; sigmoid turns it into a share between 0 and 1.",
        ),
        Mistake(
            "tanh instead of sigmoid",
            _keep(torch.tanh),
            "tanh reaches from −1 to 1, so a gate could turn the state round. A share needs sigmoid.",
        ),
        Mistake(
            "softmax instead of sigmoid",
            _keep(lambda z: z.softmax(dim=-1)),
            "with softmax the numbers of the state have to share one unit among them. Each has a gate of its own: "
            "sigmoid.",
        ),
        Mistake(
            "1 − z inside the sigmoid",
            lambda h, candidate, z: torch.sigmoid(z) * h + torch.sigmoid(1 - z) * candidate,
            "the candidate's share is sigmoid(1 − z), so the two shares do not add up to 1. It is 1 − sigmoid(z).",
        ),
        Mistake(
            "one share for both",
            lambda h, candidate, z: torch.sigmoid(z) * (h + candidate),
            "old state and candidate got the same share. The candidate gets what is left, 1 − sigmoid(z).",
        ),
        Mistake(
            "the candidate comes in whole",
            lambda h, candidate, z: torch.sigmoid(z) * h + candidate,
            "the candidate was added in full. It gets only the share that the old state gave up, 1 − sigmoid(z).",
        ),
        Mistake(
            "the old state stays whole",
            lambda h, candidate, z: h + (1 - torch.sigmoid(z)) * candidate,
            "the old state was kept in full, so the state can grow without limit. Keep the share sigmoid(z) of it.",
        ),
        Mistake(
            "one gate for all",
            _keep(lambda z: torch.sigmoid(z.mean(dim=-1, keepdim=True))),
            "the gates were averaged. Each number of the state has its own.",
        ),
        Mistake(
            "1 − z for the candidate",
            lambda h, candidate, z: torch.sigmoid(z) * h + (1 - z) * candidate,
            "the candidate's share is 1 − z. The two shares have to add up to 1: it is 1 − sigmoid(z).",
        ),
        Mistake(
            "the candidate is missing",
            lambda h, candidate, z: torch.sigmoid(z) * h,
            "the old state is kept as it should be, but nothing fills it up. The candidate gets the share "
            "1 − sigmoid(z).",
        ),
        Mistake(
            "the candidate squeezed once more",
            lambda h, candidate, z: _keep(torch.sigmoid)(h, torch.tanh(candidate), z),
            "the candidate went through tanh. It comes in as it is.",
        ),
    ],
    verified="each number of the state keeps its own share and takes in the rest, also in a batch",
)


def _states(x, W_x, W_h, b):
    """The states of a plain RNN from left to right. (B, T, D), (D, Dh), (Dh, Dh), (Dh,) -> (B, T, Dh)"""
    h, states = torch.zeros(len(x), len(b)), []
    for t in range(x.shape[1]):
        h = torch.tanh(x[:, t] @ W_x + h @ W_h + b)
        states.append(h)
    return torch.stack(states, dim=1)


def _weights(seed, width, state):
    """Maps small enough that tanh does not saturate."""
    made = randn(seed, W_x=(width, state), W_h=(state, state), b=(state,))
    return {name: 0.3 * tensor for name, tensor in made.items()}


backward_states = chapter.exercise(
    "1.3",
    "backward_states",
    reference=lambda x, W_x, W_h, b: _states(x.flip(1), W_x, W_h, b).flip(1),
    cases=[
        Case(
            {
                "x": torch.tensor([[[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]]),
                "W_x": torch.tensor([[1.0, 0.0], [0.0, 0.5]]),
                "W_h": torch.tensor([[0.5, 0.0], [1.0, 0.5]]),
                "b": torch.tensor([0.0, 0.1]),
            }
        ),
        Case(randn(1, x=(B, T, D)) | _weights(2, D, DH), about="a batch"),
        Case(randn(3, x=(3, 3, 3)) | _weights(4, 3, 3), about="as many sentences as positions and numbers"),
    ],
    mistakes=[
        Mistake(
            "read forwards",
            _states,
            "these are the states of an ordinary RNN: the first state knows only the first token. Turn the "
            "sequence round first.",
        ),
        Mistake(
            "not turned back",
            lambda x, W_x, W_h, b: _states(x.flip(1), W_x, W_h, b),
            "the states come in the order in which they were computed, so the first belongs to the last token. Turn "
            "them round again.",
        ),
        Mistake(
            "only the states turned",
            lambda x, W_x, W_h, b: _states(x, W_x, W_h, b).flip(1),
            "the sequence was read forwards and the states turned round afterwards. The reading has to be turned, too.",
        ),
        Mistake(
            "the features turned",
            lambda x, W_x, W_h, b: _states(x.flip(-1), W_x, W_h, b).flip(-1),
            "the numbers inside each vector were turned round. The positions are axis 1 of (B, T, D).",
        ),
        Mistake(
            "the batch turned",
            lambda x, W_x, W_h, b: _states(x.flip(0), W_x, W_h, b),
            "the sentences of the batch changed places. The positions are axis 1 of (B, T, D).",
        ),
        Mistake(
            "everything turned",
            lambda x, W_x, W_h, b: _states(x.flip(0, 1, 2), W_x, W_h, b).flip(0, 1, 2),
            "all axes were turned round. Only the positions should be, axis 1 of (B, T, D).",
        ),
        Mistake(
            "its own token is missing",
            lambda x, W_x, W_h, b: F.pad(_states(x.flip(1), W_x, W_h, b).flip(1)[:, 1:], (0, 0, 0, 1)),
            "each state is that of the position to its right, so it does not know its own token. The state at t has "
            "read the tokens from the last one down to t.",
        ),
        Mistake(
            "both directions added",
            lambda x, W_x, W_h, b: _states(x, W_x, W_h, b) + _states(x.flip(1), W_x, W_h, b).flip(1),
            "the states of both directions were added. Only those that read from the end are wanted.",
        ),
    ],
    verified="each position's state knows its own token and those after it, in a batch too",
)


def _influence(w, u, h, slope=lambda h: 1 - h**2, first=0):
    """Products of the steps' factors from the back; `first` is how far beside its place the slope is taken."""
    factors = w * slope(h)  # (T,), the factor from h[t - 1] to h[t]
    left = torch.ones_like(h)
    for t in range(len(h) - 2, -1, -1):
        left[t] = left[t + 1] * factors[t + 1 + first]
    return u * slope(h) * left


influence = chapter.exercise(
    "1.4",
    "influence",
    reference=_influence,
    cases=[
        Case({"w": 0.5, "u": 2.0, "h": torch.tensor([0.5, -0.5, 0.0])}),
        Case({"w": 1.5, "u": 1.0, "h": torch.tensor([0.1, 0.8, -0.3, 0.9, 0.2])}),
        Case({"w": -0.7, "u": 0.3, "h": torch.linspace(-0.9, 0.8, 7)}, about="a negative recurrent weight"),
    ],
    mistakes=[
        Mistake(
            "the slope of tanh was left out",
            lambda w, u, h: _influence(w, u, h, slope=torch.ones_like),
            "these are the powers of w, as if there were no tanh. Every step also multiplies by the slope of tanh, "
            "1 − h².",
        ),
        Mistake(
            "the slope of tanh only once",
            lambda w, u, h: _influence(w, u, h, slope=torch.ones_like) * (1 - h**2),
            "the slope was taken where x[t] enters, but not at the steps after it. Each goes through tanh, too.",
        ),
        Mistake(
            "its own step counted twice",
            lambda w, u, h: _influence(w, u, h) * w * (1 - h**2),
            "the factor w · (1 − h[t]²) of the step into h[t] is in the product. Only the steps after it count, from "
            "t + 1 on; x[t] itself enters through u.",
        ),
        Mistake(
            "the first slope is missing",
            lambda w, u, h: _influence(w, u, h) / (1 - h**2),
            "the steps between the states are right. But x[t] enters through a tanh as well: 1 − h[t]² is missing.",
        ),
        Mistake(
            "the slopes of the states before",
            lambda w, u, h: _influence(w, u, h, first=-1),
            "the factor from h[t−1] to h[t] was taken with the slope at h[t−1]. It belongs to the tanh that gave h[t].",
        ),
        Mistake(
            "u at every step",
            lambda w, u, h: _influence(w * u, u, h),
            "u was multiplied in at every step. The input comes in once, through u; from then on it is w.",
        ),
        Mistake(
            "u is missing",
            lambda w, u, h: _influence(w, 1.0, h),
            "the way from x[t] into h[t] has the factor u, which is missing.",
        ),
        Mistake(
            "one step too many",
            lambda w, u, h: _influence(w, u, h) * w,
            "there is one factor w too many: x[t] needs w only from h[t] onwards.",
        ),
        Mistake(
            "1 − h instead of 1 − h²",
            lambda w, u, h: _influence(w, u, h, slope=lambda h: 1 - h),
            "the slope of tanh at the value h is 1 − h², with the square.",
        ),
        Mistake(
            "products from the front",
            lambda w, u, h: u * (1 - h**2) * torch.cat([torch.ones(1), (w * (1 - h**2))[1:].cumprod(0)]),
            "the products were taken from the first state onwards. What is left at the end needs the factors from "
            "position t + 1 to the last.",
        ),
        Mistake(
            "the last input first",
            lambda w, u, h: _influence(w, u, h).flip(0),
            "the numbers are right, in the wrong order. The first one belongs to the first input.",
        ),
        Mistake(
            "tanh of a state",
            lambda w, u, h: _influence(w, u, h, slope=lambda h: 1 - torch.tanh(h) ** 2),
            "h went through tanh once more. It is already the value of tanh, so the slope there is 1 − h².",
        ),
    ],
    verified="equal to what the chain rule gives for fading, growing and sign-changing weights",
)


def _dilated(n, k):
    reach, layers = 1, 0
    while reach < n:
        reach, layers = reach * k, layers + 1
    return layers


layers_needed = chapter.exercise(
    "1.5",
    "layers_needed",
    reference=lambda n, k: (math.ceil((n - 1) / (k - 1)), _dilated(n, k)),
    cases=[
        Case({"n": 5, "k": 3}),
        Case({"n": 9, "k": 3}, about="a power of k"),
        Case({"n": 125, "k": 5}, about="another power of k"),
        Case({"n": 6, "k": 5}, about="a little more than one layer reaches"),
        Case({"n": 1000, "k": 3}),
        Case({"n": 1, "k": 3}, about="one position: nothing to bridge"),
    ],
    mistakes=[
        Mistake(
            "n / k for the plain stack",
            lambda n, k: (math.ceil(n / k), _dilated(n, k)),
            "the plain stack is counted as n / k. A layer does not reach k positions further but k − 1, for one of the "
            "k is the position itself.",
        ),
        Mistake(
            "one layer short",
            lambda n, k: ((n - 1) // (k - 1), _dilated(n, k)),
            "the plain stack is rounded down. If the last step is not a full one, it still takes a layer: round up.",
        ),
        Mistake(
            "rounded to the nearest",
            lambda n, k: (round((n - 1) / (k - 1)), _dilated(n, k)),
            "the plain stack is rounded to the nearest. A quarter of a layer that is missing takes a whole one: "
            "round up.",
        ),
        Mistake(
            "n steps instead of n − 1",
            lambda n, k: (math.ceil(n / (k - 1)), _dilated(n, k)),
            "from position 1 to position n there are n − 1 steps, not n.",
        ),
        Mistake(
            "the logarithm in floating point",
            lambda n, k: (math.ceil((n - 1) / (k - 1)), math.ceil(math.log(n, k))),
            "right as a formula, but `math.log(125, 5)` gives 3.0000000000000004, and rounding up makes it 4. Multiply "
            "by k until n is reached: whole numbers do not lie.",
        ),
        Mistake(
            "a logarithm to base 2",
            lambda n, k: (math.ceil((n - 1) / (k - 1)), math.ceil(math.log2(n))),
            "the reach of the dilated stack does not double with each layer: it grows by the factor k.",
        ),
        Mistake(
            "the two exchanged",
            lambda n, k: (_dilated(n, k), math.ceil((n - 1) / (k - 1))),
            "the dilated stack comes first here. The plain one does, as in the task.",
        ),
        Mistake(
            "the logarithm rounded down",
            lambda n, k: (math.ceil((n - 1) / (k - 1)), int(math.log(n, k) + 1e-9)),
            "the dilated stack is one layer short where n is no power of k. Round up.",
        ),
        Mistake(
            "one layer too many at a power of k",
            lambda n, k: (math.ceil((n - 1) / (k - 1)), _dilated(n + 1, k)),
            "the dilated stack is one layer too long where n is a power of k. L layers see kᴸ positions, which is "
            "enough when it is n.",
        ),
        Mistake(
            "n − 1 positions for the dilated stack",
            lambda n, k: (math.ceil((n - 1) / (k - 1)), _dilated(n - 1, k)),
            "the dilated stack was asked to see n − 1 positions. kᴸ counts the position itself, so it has to be n.",
        ),
        Mistake(
            "at least one layer",
            lambda n, k: (max(1, math.ceil((n - 1) / (k - 1))), max(1, _dilated(n, k))),
            "with a single position there is nothing to bridge: no layer is needed.",
        ),
    ],
    verified="right for powers of k, for what lies between, and for a single position",
)


def _multiply_adds(n, d, k, r, recurrent=2, attention=2, restricted=2):
    return (recurrent * n * d * d, attention * n * n * d, k * n * d * d, restricted * r * n * d)


multiply_adds = chapter.exercise(
    "1.6",
    "multiply_adds",
    reference=_multiply_adds,
    cases=[
        Case({"n": 3, "d": 2, "k": 3, "r": 2}),
        Case({"n": 100, "d": 64, "k": 5, "r": 7}),
        Case({"n": 1000, "d": 64, "k": 3, "r": 16}, about="more positions than numbers in a vector"),
    ],
    mistakes=[
        Mistake(
            "n and d exchanged",
            lambda n, d, k, r: _multiply_adds(d, n, k, r),
            "n and d have changed places. A recurrent layer does d × d work at each of the n positions.",
        ),
        Mistake(
            "the scores alone",
            lambda n, d, k, r: _multiply_adds(n, d, k, r, attention=1, restricted=1),
            "attention has two products: the scores, and the weighted mean of the values. One of them is missing.",
        ),
        Mistake(
            "half of the recurrent layer",
            lambda n, d, k, r: _multiply_adds(n, d, k, r, recurrent=1),
            "the recurrent step has two maps of d × d, one for the input and one for the state before. One is missing.",
        ),
        Mistake(
            "the projections counted too",
            lambda n, d, k, r: tuple(
                count + extra
                for count, extra in zip(_multiply_adds(n, d, k, r), (0, 4 * n * d * d, 0, 4 * n * d * d), strict=True)
            ),
            "this includes the four projections. They are real, but here, as in the paper's table, only the attention "
            "itself is asked for.",
        ),
        Mistake(
            "orders instead of counts",
            lambda n, d, k, r: _multiply_adds(n, d, k, r, recurrent=1, attention=1, restricted=1),
            "these are the table's O(…) without their constants. Count every product: recurrent layer and attention "
            "have two each.",
        ),
        Mistake(
            "multiplications and additions counted apart",
            lambda n, d, k, r: tuple(2 * count for count in _multiply_adds(n, d, k, r)),
            "everything is twice too large. One multiply-add is one multiplication and one addition together.",
        ),
        Mistake(
            "one number instead of a map",
            lambda n, d, k, r: (2 * n * d * d, 2 * n * n * d, k * n * d, 2 * r * n * d),
            "the convolution has a whole map of d × d for each of its k neighbours, not one number for each feature.",
        ),
        Mistake(
            "a window for each pair",
            lambda n, d, k, r: (*_multiply_adds(n, d, k, r)[:3], 2 * r * n * n * d),
            "restricted attention looks at r positions instead of n, so n appears once.",
        ),
        Mistake(
            "one product of attention",
            lambda n, d, k, r: _multiply_adds(n, d, k, r, attention=1),
            "the count of self-attention has one product. It has two: the scores, and the weighted mean.",
        ),
        Mistake(
            "one product of restricted attention",
            lambda n, d, k, r: _multiply_adds(n, d, k, r, restricted=1),
            "the count of restricted attention has one product. It has two, as self-attention has: the scores, and "
            "the weighted mean.",
        ),
        Mistake(
            "two products of the convolution",
            lambda n, d, k, r: _multiply_adds(n, d, 2 * k, r),
            "the convolution is counted twice. It has one map of d × d for each of the k neighbours and none for a "
            "state.",
        ),
    ],
    verified="all four counts are right, for short and for long sequences",
)


break_even = chapter.exercise(
    "1.7",
    "break_even",
    reference=lambda d, maps: max(0, (maps - 4) * d // 2),
    cases=[
        Case({"d": 4, "maps": 8}, about="an LSTM"),
        Case({"d": 512, "maps": 6}, about="a GRU"),
        Case({"d": 512, "maps": 5}, about="a convolution of width 5"),
        Case({"d": 512, "maps": 2}, about="a plain RNN"),
        Case({"d": 512, "maps": 4}, about="four maps"),
    ],
    mistakes=[
        Mistake(
            "the projections were left out",
            lambda d, maps: maps * d // 2,
            "this is the break-even of attention without its projections. They cost 4·n·d² more.",
        ),
        Mistake(
            "less than nothing",
            lambda d, maps: (maps - 4) * d // 2,
            "right where there is a break-even. A layer with fewer than four maps is cheaper at every length: then "
            "return 0, there is no sequence of negative length.",
        ),
        Mistake(
            "three projections",
            lambda d, maps: max(0, (maps - 3) * d // 2),
            "three projections were counted. Queries, keys, values and the output have one each: four.",
        ),
        Mistake(
            "one product",
            lambda d, maps: max(0, (maps - 4) * d),
            "this is twice too long: attention itself costs 2·n²·d, the scores and the weighted mean.",
        ),
        Mistake(
            "the projections added",
            lambda d, maps: (maps + 4) * d // 2,
            "the sign of the projections is wrong. They cost extra, so attention breaks even earlier.",
        ),
        Mistake(
            "always d",
            lambda d, maps: d,
            "n = d is where 2·n²·d meets 2·n·d². Put in the projections, and the number of maps.",
        ),
        Mistake(
            "one too many",
            lambda d, maps: max(0, (maps - 4) * d // 2 + 1),
            "this is the first n at which attention costs more. The last one at which it does not is one less.",
        ),
        Mistake(
            "d is missing",
            lambda d, maps: max(0, (maps - 4) // 2),
            "a factor d got lost. Dividing 2·n²·d + 4·n·d² = maps·n·d² by n and by d once leaves 2·n + 4·d = maps·d.",
        ),
        Mistake(
            "rounded too early",
            lambda d, maps: max(0, (maps - 4) // 2 * d),
            "maps − 4 was halved and rounded before it was multiplied by d. Round at the end.",
        ),
    ],
    verified="right for LSTM and GRU, for a convolution, and where attention is never the cheaper one",
)


def _linear_rnn(x, w):
    h, states = torch.zeros_like(x[0]), []
    for x_t in x:
        h = w * h + x_t
        states.append(h)
    return torch.stack(states)


def _distance(x):
    positions = torch.arange(len(x))
    return positions[:, None] - positions  # (T, T), how far back position j lies, seen from i


def _weighted_by(weights):
    return lambda x, w: weights(_distance(x), w) @ x


linear_rnn = chapter.exercise(
    "1.8",
    "linear_rnn",
    reference=_linear_rnn,
    cases=[
        Case({"x": torch.tensor([[1.0, 0.0], [0.0, 2.0], [4.0, 4.0]]), "w": 0.5}),
        Case(randn(x=(T, D)) | {"w": 0.9}),
        Case(randn(x=(DH, T)) | {"w": 1.1}, about="a weight that makes it grow"),
        Case(randn(x=(T, T)) | {"w": 0.7}, about="as many positions as numbers"),
    ],
    mistakes=[
        Mistake(
            "the future is mixed in",
            _weighted_by(lambda distance, w: w ** distance.abs()),
            "every position also takes from those after it. Where the distance is negative, the weight has to be 0.",
        ),
        Mistake(
            "powers below zero",
            _weighted_by(lambda distance, w: w**distance),
            "positions to the right have a negative distance, and w to a negative power is a large number. Set these "
            "weights to 0, for instance with `torch.tril`.",
        ),
        Mistake(
            "the wrong triangle",
            _weighted_by(lambda distance, w: torch.where(distance <= 0, w ** distance.abs(), 0)),
            "each position takes from those after it. Row i of the weights belongs to the state at i, so the lower "
            "triangle is filled.",
        ),
        Mistake(
            "its own input is missing",
            _weighted_by(lambda distance, w: torch.where(distance > 0, w ** distance.abs(), 0)),
            "the diagonal is 0, so no state contains its own input. At distance 0 the weight is w⁰ = 1.",
        ),
        Mistake(
            "one step too many",
            _weighted_by(lambda distance, w: torch.where(distance >= 0, w ** (distance.abs() + 1), 0)),
            "every weight has one factor w too many. An input enters its own state undiminished.",
        ),
        Mistake(
            "rows that add up to 1",
            _weighted_by(
                lambda distance, w: (
                    (kept := torch.where(distance >= 0, w ** distance.abs(), 0)) / kept.sum(dim=-1, keepdim=True)
                )
            ),
            "the rows were divided by their sum, as in attention. An RNN does not do that: its state may grow with "
            "what it reads.",
        ),
        Mistake(
            "one weight for every distance",
            lambda x, w: w * x.cumsum(dim=0),
            "all inputs of the past have the weight w. Each step multiplies once more: w to the power of the distance, "
            "and 1 for a state's own input.",
        ),
        Mistake(
            "only the running sum",
            lambda x, w: x.cumsum(dim=0),
            "w plays no part: this is a running sum, in which nothing fades.",
        ),
        Mistake(
            "only the last state",
            lambda x, w: _linear_rnn(x, w)[-1],
            "this is the last state alone. All T of them are wanted.",
        ),
        Mistake(
            "w times the distance",
            _weighted_by(lambda distance, w: w * distance.clamp(min=0)),
            "the weights are w times the distance. Each step multiplies once more: w to the power of the distance.",
        ),
        Mistake(
            "the future at full weight",
            _weighted_by(lambda distance, w: w ** distance.clamp(min=0)),
            "inputs after a position have the weight w⁰ = 1 there. They must have 0: `torch.tril` is missing.",
        ),
        Mistake(
            "only one step back",
            lambda x, w: x + w * F.pad(x, (0, 0, 1, 0))[:-1],
            "each state takes in its own input and the one before. All earlier ones are in it, too.",
        ),
    ],
    verified="each state is the right weighted sum, for weights that fade and that grow",
)
