"""Are two results the same, and if not, how does one tell a reader?"""

import itertools
import math
import numbers
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, isclose, isinf, isnan  # by name: should a reader redefine torch.isclose, marks stay right

# (relative, absolute), as in torch.testing.assert_close; any other dtype must be equal exactly.
TOLERANCES = {
    torch.float16: (1e-3, 1e-5),
    torch.bfloat16: (1.6e-2, 1e-5),
    torch.float32: (1.3e-6, 1e-5),
    torch.float64: (1e-7, 1e-7),
}
SMALL = 16  # a tensor of at most so many numbers is written out
WIDTH = 120  # characters of a value that are shown
LARGEST, LONGEST, DEEPEST = 10**7, 10**5, 8  # numbers of a tensor, parts or characters, and nesting that are looked at


@dataclass(frozen=True)
class Odd:
    """Stands for a value that is not looked into: what it is, in words, and what to do about it."""

    what: str
    advice: str = ""


@dataclass(frozen=True)
class Difference:
    """How a result differs from the expected one: in words, and the two parts that differ.

    `position` is the index of the first number that differs, where the two are tensors of one shape.
    """

    text: str
    actual: Any
    expected: Any
    position: tuple[int, ...] | None = None


def class_name(kind: type) -> str:
    """The name of a class, whatever its metaclass has to say."""
    return type.__dict__["__name__"].__get__(kind)


def plain(value: Any, depth: int = 0) -> Any:
    """A copy of `value` that is safe to keep, compare and print.

    Tensors become detached copies on the CPU, numbers and strings Python's own; lists, tuples and dicts keep their
    form. An `Odd` stands for anything else and for what is too large. May raise whatever a hostile object raises.
    """
    if isinstance(value, Tensor):
        return _odd_tensor(value) or value.detach().as_subclass(Tensor).cpu().clone()
    if value is None:
        return None
    for kind, own in {bool: bool, np.bool_: bool, numbers.Integral: int, numbers.Real: float}.items():
        if isinstance(value, kind):
            return own(value)
    if isinstance(value, np.ndarray):
        return Odd("a NumPy array", "`torch.from_numpy` makes a tensor of it")
    if not isinstance(value, str | list | tuple | dict):
        return Odd(f"an object of type `{class_name(type(value))}`")
    if len(value) > LONGEST:
        return Odd(f"a {class_name(type(value))} of length {len(value)}")
    if isinstance(value, str):
        return str.__str__(value)
    if depth == DEEPEST:
        return Odd("…")
    if isinstance(value, dict):
        return {plain(key, depth + 1): plain(part, depth + 1) for key, part in value.items()}
    parts = [plain(part, depth + 1) for part in value]
    return parts if isinstance(value, list) else tuple(parts)


def _odd_tensor(value: Tensor) -> Odd | None:
    if value.is_nested:
        return Odd("a nested tensor")
    if value.layout != torch.strided:
        return Odd("a sparse tensor", "`.to_dense()` makes an ordinary one of it")
    if value.is_quantized:
        return Odd("a quantized tensor", "`.dequantize()` makes an ordinary one of it")
    if value.is_meta:
        return Odd("a tensor on the device `meta`, which holds no numbers")
    return Odd(f"a tensor of shape {tuple(value.shape)}") if value.numel() > LARGEST else None


def difference(actual: Any, expected: Any, where: str = "the result") -> Difference | None:
    """The first difference between two `plain` values, or None if there is none.

    What is wrong in kind (type, length, shape, dtype, NaN) comes before what is wrong in value. Forgiven are a list
    for a tuple, and a tensor of one number for a Python number.
    """

    def differ(text: str, position: tuple[int, ...] | None = None) -> Difference:
        return Difference(f"{where} {text}", actual, expected, position)

    if isinstance(expected, int | float) and isinstance(actual, Tensor) and actual.numel() == 1:
        actual = plain(actual.item())
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
        advice = actual.advice if isinstance(actual, Odd) else ""
        if isinstance(actual, tuple) and len(actual) == 1:
            advice = "is there a comma too many behind it?"
        return differ(f"is {_kind(actual)}, expected {_kind(expected)}: {advice}".removesuffix(": "))
    if isinstance(expected, Tensor):
        return _tensor_difference(actual, expected, differ)
    if sequences:
        count = len(expected)
        if len(actual) != count:
            return differ(f"has {len(actual)} parts, expected {count}")
        several = isinstance(expected, tuple) and where == "the result"  # that is, a function with several results
        name = "result {} of {}" if several else f"part {{}} of {{}} of {where}"
        parts = [(name.format(i + 1, count), *pair) for i, pair in enumerate(zip(actual, expected, strict=True))]
    elif isinstance(expected, dict):
        if actual.keys() != expected.keys():
            return differ(f"has the keys {brief(list(actual))}, expected {brief(list(expected))}")
        parts = [(f"{where}[{key!r}]", actual[key], expected[key]) for key in expected]
    else:
        return None if actual == expected else differ("is another one")
    return next((found for part, *pair in parts if (found := difference(*pair, part))), None)


def _tensor_difference(actual: Tensor, expected: Tensor, differ) -> Difference | None:
    if actual.shape != expected.shape:
        return differ(f"has shape {tuple(actual.shape)}, expected {tuple(expected.shape)}")
    relative, absolute = max(TOLERANCES.get(tensor.dtype, (0.0, 0.0)) for tensor in (actual, expected))
    dtype = torch.promote_types(actual.dtype, expected.dtype)
    wrong = ~isclose(actual.to(dtype), expected.to(dtype), rtol=relative, atol=absolute, equal_nan=True)
    if actual.dtype != expected.dtype:
        if wrong.any():
            return differ(f"is of dtype {_dtype(actual)}, expected {_dtype(expected)}")
        text = f"has the right numbers, but as {_dtype(actual)} instead of {_dtype(expected)}"
        return replace(differ(text), actual=expected)  # but for the dtype, there is no difference to show
    if not wrong.any():
        return None
    for name, special in {"NaN": isnan(actual), "infinity": isinf(actual)}.items():
        if (special & wrong).any():
            return differ(f"contains {name} where a number is expected", tuple((special & wrong).nonzero()[0].tolist()))
    return differ(f"is wrong in {int(wrong.sum())} of {wrong.numel()} numbers", tuple(wrong.nonzero()[0].tolist()))


def _dtype(value: Tensor) -> str:
    return str(value.dtype).removeprefix("torch.")


def _kind(value: Any) -> str:
    names = {Tensor: "a tensor", int: "an int"}
    return value.what if isinstance(value, Odd) else names.get(type(value), f"a {class_name(type(value))}")


def apart(actual: Any, expected: Any) -> tuple[str, str]:
    """Two `plain` values in brief, with as many digits as it takes to tell them apart."""
    for digits in range(3, 15):
        texts = brief(actual, digits), brief(expected, digits)
        if texts[0] != texts[1]:
            break
    return texts


def brief(value: Any, digits: int = 3) -> str:
    """A `plain` value on one short line: at most so many decimals; a large tensor by its dtype and shape."""
    if isinstance(value, Tensor) and value.numel() > SMALL:
        return f"a {_dtype(value)} tensor of shape {tuple(value.shape)}"
    return cut(_written(value.tolist() if isinstance(value, Tensor) else value, digits))


def _written(value: Any, digits: int) -> str:
    if isinstance(value, float):  # adding 0.0 turns -0.0 into 0.0
        return f"{round(value, digits) + 0.0:.{digits + 3}g}"
    if isinstance(value, list | tuple):
        parts = ", ".join(brief(part, digits) for part in value[:WIDTH])  # more than that are cut anyway
        return f"[{parts}]" if isinstance(value, list) else f"({parts})"
    if isinstance(value, dict):
        parts = (f"{brief(key)}: {brief(part, digits)}" for key, part in itertools.islice(value.items(), WIDTH))
        return f"{{{', '.join(parts)}}}"
    return value.what if isinstance(value, Odd) else repr(value)


def cut(text: str, width: int = WIDTH) -> str:
    """A text of at most so many characters, and each of them printable."""
    text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text[: width + 1])
    return text if len(text) <= width else text[: width - 1] + "…"
