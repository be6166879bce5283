"""Are two results the same, and if not, how does one tell a reader?"""

import math
import numbers
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

# (relative, absolute), as in torch.testing.assert_close; any other dtype must be equal exactly.
TOLERANCES = {
    torch.float16: (1e-3, 1e-5),
    torch.bfloat16: (1.6e-2, 1e-5),
    torch.float32: (1.3e-6, 1e-5),
    torch.float64: (1e-7, 1e-7),
}
SMALL = 16  # a tensor of at most so many numbers is written out
WIDTH = 120  # characters of a value that are shown


@dataclass(frozen=True)
class Difference:
    """How a result differs from the expected one: in words, and the two parts that differ.

    `position` is the index of the first number that differs, where the two are tensors of one shape.
    """

    text: str
    actual: Any
    expected: Any
    position: tuple[int, ...] | None = None


def plain(value: Any) -> Any:
    """A copy of `value` that is safe to keep, compare and print.

    Tensors become detached copies on the CPU, numbers and strings Python's own; lists, tuples and dicts keep their
    form. Anything else is stood for by its type. May raise whatever a hostile object raises.
    """
    if isinstance(value, Tensor):
        return value.detach().as_subclass(Tensor).cpu().clone()
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        return float(value)
    if isinstance(value, str):
        return str(value)
    if isinstance(value, list):
        return [plain(part) for part in value]
    if isinstance(value, tuple):
        return tuple(plain(part) for part in value)
    if isinstance(value, dict):
        return {plain(key): plain(part) for key, part in value.items()}
    return type(value)


def difference(actual: Any, expected: Any, where: str = "the result") -> Difference | None:
    """The first difference between two `plain` values, or None if there is none.

    What is wrong in kind (type, length, shape, dtype, NaN) comes before what is wrong in value. Forgiven are a list
    for a tuple, and a tensor of one number for a Python number.
    """

    def differ(text: str, position: tuple[int, ...] | None = None) -> Difference:
        return Difference(f"{where} {text}", actual, expected, position)

    if isinstance(expected, int | float) and isinstance(actual, Tensor) and actual.numel() == 1:
        actual = actual.item()
    if isinstance(expected, float) and isinstance(actual, int | float):
        relative, absolute = TOLERANCES[torch.float32]
        same = math.isclose(actual, expected, rel_tol=relative, abs_tol=absolute)
        both_nan = math.isnan(actual) and math.isnan(expected)
        return None if same or both_nan else differ("is another number")
    if isinstance(expected, int) and isinstance(actual, int | float):
        return None if actual == expected else differ("is another number")
    if actual is None and expected is not None:
        return differ("is `None`: is a `return` missing?")
    sequences = isinstance(expected, list | tuple) and isinstance(actual, list | tuple)
    if type(actual) is not type(expected) and not sequences:
        return differ(f"is of type `{_type_name(actual)}`, expected `{_type_name(expected)}`")
    if isinstance(expected, Tensor):
        return _tensor_difference(actual, expected, differ)
    if sequences:
        if len(actual) != len(expected):
            return differ(f"has {len(actual)} parts, expected {len(expected)}")
        parts = [(f"{where}[{i}]", *pair) for i, pair in enumerate(zip(actual, expected, strict=True))]
    elif isinstance(expected, dict):
        if actual.keys() != expected.keys():
            return differ(f"has the keys {list(actual)}, expected {list(expected)}")
        parts = [(f"{where}[{key!r}]", actual[key], expected[key]) for key in expected]
    else:
        return None if actual == expected else differ("is another one")
    return next((found for part, *pair in parts if (found := difference(*pair, part))), None)


def _tensor_difference(actual: Tensor, expected: Tensor, differ) -> Difference | None:
    if actual.shape != expected.shape:
        return differ(f"has shape {tuple(actual.shape)}, expected {tuple(expected.shape)}")
    if actual.dtype != expected.dtype:
        return differ(f"has dtype {actual.dtype}, expected {expected.dtype}")
    relative, absolute = TOLERANCES.get(expected.dtype, (0.0, 0.0))
    wrong = ~torch.isclose(actual, expected, rtol=relative, atol=absolute, equal_nan=True)
    if not wrong.any():
        return None
    for name, special in {"NaN": torch.isnan(actual), "infinity": torch.isinf(actual)}.items():
        if (special & wrong).any():
            return differ(f"contains {name} where a number is expected", tuple((special & wrong).nonzero()[0].tolist()))
    return differ(f"is wrong in {int(wrong.sum())} of {wrong.numel()} numbers", tuple(wrong.nonzero()[0].tolist()))


def _type_name(value: Any) -> str:
    return value.__name__ if isinstance(value, type) else type(value).__name__


def brief(value: Any) -> str:
    """A `plain` value on one short line: at most three decimals; a large tensor by its dtype and shape."""
    if isinstance(value, Tensor) and value.numel() > SMALL:
        return f"a {str(value.dtype).removeprefix('torch.')} tensor of shape {tuple(value.shape)}"
    text = _written(value.tolist() if isinstance(value, Tensor) else value)
    return text if len(text) <= WIDTH else text[: WIDTH - 1] + "…"


def _written(value: Any) -> str:
    if isinstance(value, float):
        return f"{round(value, 3) + 0.0:g}"  # adding 0.0 turns -0.0 into 0.0
    if isinstance(value, list):
        return f"[{', '.join(map(brief, value))}]"
    if isinstance(value, tuple):
        return f"({', '.join(map(brief, value))})"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key!r}: {brief(part)}' for key, part in value.items())}}}"
    return f"an object of type {value.__name__}" if isinstance(value, type) else repr(value)
