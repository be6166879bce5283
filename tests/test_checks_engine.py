"""The engine that marks exercises survives whatever a reader hands in, and says what is wrong with it."""

import contextlib
import inspect
import os
import random
import re
import signal
import sys
import textwrap
import threading
import time
import warnings

import nbclient
import nbformat
import numpy as np
import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from attention_live.checks import guard
from attention_live.checks.compare import WIDTH, Odd, brief, difference
from attention_live.checks.engine import Case, Chapter, Mistake, Result, attempt, randn


def mix(query, keys, values):  # (D,), (N, D), (N, Dv) -> (Dv,)
    return torch.softmax(keys @ query, dim=0) @ values


def query_gradient(answer, query, keys, values):
    query.requires_grad_()
    return torch.autograd.grad(answer(query, keys, values).sum(), query)


def scores_changed_in_place(query, keys, values):
    result = mix(query, keys, values)
    keys.mul_(2)
    return result


def transposed(query, keys, values):  # an exception, unless keys are square
    return torch.softmax(keys.T @ query, dim=0) @ values


PENCIL = {
    "query": torch.tensor([1.0, 0.0]),
    "keys": torch.tensor([[1.0, 2.0], [0.0, 1.0]]),
    "values": torch.tensor([[1.0], [3.0]]),
}
MISTAKES = [
    Mistake("no softmax", lambda query, keys, values: (keys @ query) @ values, "`softmax` makes scores weights."),
    Mistake("keys transposed", transposed, "one score a key is wanted."),
    Mistake("keys doubled", scores_changed_in_place, "the keys are the caller's."),
    Mistake("dropout left on", lambda *inputs: nn.functional.dropout(mix(*inputs)), "it is random."),
    Mistake("no gradient", lambda query, keys, values: mix(query.detach(), keys, values) + 0 * query.sum(), "detach."),
    Mistake("sharper", lambda query, keys, values: mix(2 * query, keys, values), "the scores are doubled."),
]


@pytest.fixture
def chapter():
    chapter = Chapter()
    cases = [
        Case(PENCIL),
        Case(randn(query=(5,), keys=(7, 5), values=(7, 3))),
        Case(randn(1, query=(5,), keys=(7, 5), values=(7, 3)), query_gradient, about="the gradient for the query"),
    ]
    chapter.exercise("2.3", "mix", reference=mix, cases=cases, mistakes=MISTAKES, verified="the mixture is right")
    chapter.exercise(
        "2.4", "guess", reference=0.731, mistakes=[Mistake("raw score", 1.0, "that is the score.")], verified="it is"
    )
    return chapter


@pytest.fixture
def exercise(chapter):
    return chapter.exercises[0]


@pytest.fixture
def guess(chapter):
    return chapter.exercises[1]


@pytest.fixture
def short_limit(monkeypatch):
    monkeypatch.setattr(guard, "TIME_LIMIT", 0.3)


def exercise_of(reference, *cases):
    return Chapter().exercise("1.1", "it", reference=reference, cases=cases, mistakes=MISTAKES[:1], verified="it is so")


# What a check says


def test_right(exercise):
    assert repr(exercise.mark(mix)) == "✓ 2.3 the mixture is right"


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.name)
def test_known_mistake_is_named(exercise, mistake):
    assert repr(exercise.mark(mistake.answer)) == f"✗ 2.3 {mistake.name}: {mistake.sentence}"


def test_unknown_mistake_shows_the_smallest_failing_case(exercise):
    assert str(exercise.mark(lambda query, keys, values: mix(3 * query, keys, values))).splitlines() == [
        "✗ 2.3 the result is wrong in 1 of 1 numbers",
        "    query     [1, 0]",
        "    keys      [[1, 2], [0, 1]]",
        "    values    [[1], [3]]",
        "    came out  [1.095]",
        "    expected  [1.538]",
        "    at [0]    1.095, expected 1.538",
    ]


def test_mistake_is_not_named_unless_all_cases_agree(exercise):
    def sharper_for_two_keys_only(query, keys, values):
        return mix(2 * query if len(keys) == 2 else query, keys, values)

    result = exercise.mark(sharper_for_two_keys_only)
    assert result.text == "2.3 the result is wrong in 1 of 1 numbers"


def test_mistake_is_not_named_for_another_kind_of_exception(exercise):
    def transposed_and_misspelt(query, keys, values):
        return transposed(query, keys, values if len(keys) == 2 else value)  # noqa: F821

    assert exercise.mark(transposed_and_misspelt).text == "2.3 the result is wrong in 1 of 1 numbers"


def test_later_case_is_shown_with_what_it_is_about(exercise):
    def no_gradient_for_many_keys(query, keys, values):
        mixed = mix(query, keys, values)
        return mixed if len(keys) == 2 else mixed.detach() + query.sum() - query.sum().detach()

    rows = dict(exercise.mark(no_gradient_for_many_keys).rows)
    assert rows["case"] == "the gradient for the query"
    assert rows["keys"] == "a float32 tensor of shape (7, 5)"


def test_as_many_digits_are_shown_as_tell_results_apart(exercise):
    rows = dict(exercise.mark(lambda *inputs: mix(*inputs) + 1e-4).rows)
    assert (rows["came out"], rows["expected"]) == ("[1.538]", "[1.5379]")
    assert rows["at [0]"] == "1.538, expected 1.5379"
    in_millions = exercise_of(lambda x: 1e6 * x, Case({"x": 1.0}))
    assert dict(in_millions.mark(lambda x: 1e6 * x + 20).rows) == {
        "x": "1",
        "came out": "1.00002e+06",
        "expected": "1e+06",
    }


def test_rows_that_would_be_the_same_are_left_out():
    exercise = exercise_of(lambda x: x, Case(randn(x=(5, 7))))
    assert exercise.mark(lambda x: x + 1e-4 * (x > 1)).rows[0] == ("x", "a float32 tensor of shape (5, 7)")
    assert [label for label, _ in exercise.mark(lambda x: x + 1e-4).rows] == ["x", "at [0, 0]"]


# What a reader may hand in


def raises_not_implemented(query, keys, values):
    raise NotImplementedError


def calls_a_stub(query, keys, values):
    return raises_not_implemented(query, keys, values) + 1


class ModuleStub(nn.Module):
    def forward(self, query, keys, values):
        raise NotImplementedError("your code here")


@pytest.mark.parametrize(
    "stub", [raises_not_implemented, calls_a_stub, ModuleStub(), ...], ids=["function", "caller", "module", "value"]
)
def test_untouched_stub(exercise, stub):
    assert repr(exercise.mark(stub)) == "○ 2.3 not attempted yet"


def test_untouched_value(guess):
    assert repr(guess.mark(...)) == "○ 2.4 not attempted yet"


class NoForward(nn.Module):
    """Torch, not the reader, raises NotImplementedError."""


@pytest.mark.parametrize(
    "answer", [NoForward(), lambda q, k, v: torch.empty(2, device="meta").cpu()], ids=["py", "c++"]
)
def test_not_implemented_by_torch_is_no_stub(exercise, answer):
    result = exercise.mark(answer)
    assert result.mark == "✗"
    assert "NotImplementedError" in result.text


@pytest.mark.parametrize("answer", [None, 3, "mix", torch.ones(2), [mix]], ids=["None", "int", "str", "Tensor", "list"])
def test_not_a_function(exercise, answer):
    expected = f"2.3 hand in the function itself, without calling it: this is of type `{type(answer).__name__}`"
    assert exercise.mark(answer) == Result("✗", expected, [])


def test_wrong_number_of_arguments(exercise):
    def my_mix(query, keys):
        return query

    text = exercise.mark(my_mix).text
    assert text.startswith("2.3 it cannot be called with this input: TypeError: ")
    assert text.endswith("my_mix() takes 2 positional arguments but 3 were given")


def test_parameters_may_have_any_name(exercise):
    assert exercise.mark(lambda a, b, c: mix(a, b, c)).mark == "✓"


def test_exception_is_shown_with_the_readers_line(exercise):
    def my_mix(query, keys, values):
        return torch.softmax(keys.undefined @ query, dim=0)

    result = exercise.mark(my_mix)
    assert result.text == "2.3 it stops with AttributeError: 'Tensor' object has no attribute 'undefined'"
    line = my_mix.__code__.co_firstlineno + 1
    assert dict(result.rows)["stopped at"] == f"line {line}: return torch.softmax(keys.undefined @ query, dim=0)"


def test_line_is_the_readers_where_torch_raises(exercise):
    def my_mix(query, keys, values):
        return nn.Linear(3, 5)(query)

    rows = dict(exercise.mark(my_mix).rows)
    assert rows["stopped at"].endswith("return nn.Linear(3, 5)(query)")


class Hostile(Exception):
    def __str__(self):
        raise ValueError("no message")


class Exits(Exception):
    def __str__(self):
        sys.exit(4)


class ExitsByClass(type):
    @property
    def __name__(cls):
        sys.exit(4)


class Nameless(Exception, metaclass=ExitsByClass):
    pass


def self_containing():
    parts = []
    parts.append(parts)
    return parts


def too_deep(*inputs):
    return too_deep(*inputs)


def raises(error):
    def answer(query, keys, values):
        raise error

    return answer


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (lambda *_: sys.exit(3), "it stops with SystemExit: 3"),
        (raises(GeneratorExit()), "it stops with GeneratorExit"),
        (raises(Hostile()), "it stops with Hostile"),
        (raises(Exits()), "it stops with Exits"),
        (raises(Nameless("no name")), "it stops with Nameless: no name"),
        (lambda *_: 1 + "a", "it stops with TypeError: unsupported operand"),
        (too_deep, "it stops with RecursionError: maximum recursion depth exceeded"),
        (raises(MemoryError()), "it stops with MemoryError"),
        (lambda *_: torch.empty(2**60), "it stops with RuntimeError: "),
        (lambda *_: None, "the result is `None`: is a `return` missing?"),
        (lambda *_: [1.5], "the result is a list, expected a tensor"),
        (lambda *_: 1.5, "the result is a float, expected a tensor"),
        (lambda *_: (n for n in range(3)), "the result is an object of type `generator`, expected a tensor"),
        (lambda *_: nn.Identity, "the result is an object of type `type`, expected a tensor"),
        (lambda *inputs: (mix(*inputs), 1), "the result is a tuple, expected a tensor"),
        (lambda *inputs: (mix(*inputs),), "the result is a tuple, expected a tensor: is there a comma too many"),
        (lambda *_: np.ones(1), "the result is a NumPy array, expected a tensor: `torch.from_numpy` makes"),
        (lambda *inputs: mix(*inputs).to_sparse(), "the result is a sparse tensor, expected a tensor: `.to_dense()`"),
        (lambda *_: torch.empty(1, device="meta"), "the result is a tensor on the device `meta`, which holds no"),
        (
            lambda *inputs: torch.nested.nested_tensor([mix(*inputs)]),
            "the result is a nested tensor, expected a tensor",
        ),
        (
            lambda *inputs: torch.quantize_per_tensor(mix(*inputs), 0.1, 0, torch.quint8),
            "the result is a quantized tensor, expected a tensor: `.dequantize()` makes",
        ),
        (lambda *_: torch.zeros(1).expand(10**12), "the result is a tensor of shape (1000000000000,), expected"),
        (lambda *_: [0] * 10**7, "the result is a list of length 10000000, expected a tensor"),
        (lambda *_: "x" * 10**7, "the result is a str of length 10000000, expected a tensor"),
        (lambda *_: self_containing(), "the result is a list, expected a tensor"),
        (lambda *inputs: mix(*inputs)[None], "the result has shape (1, 1), expected (1,)"),
        (lambda *inputs: mix(*inputs).double(), "the result has the right numbers, but as float64 instead of float32"),
        (lambda *inputs: mix(*inputs) + 0j, "the result has the right numbers, but as complex64 instead of float32"),
        (lambda *inputs: mix(*inputs) + 1j, "the result is of dtype complex64, expected float32"),
        (lambda *inputs: mix(*inputs).long(), "the result is of dtype int64, expected float32"),
        (lambda *inputs: mix(*inputs) * torch.nan, "the result contains NaN where a number is expected"),
        (lambda *inputs: mix(*inputs) / 0, "the result contains infinity where a number is expected"),
        (lambda *inputs: mix(*inputs) + torch.rand(()), "the result changes from call to call"),
    ],
)
def test_bad_answers(chapter, answer, text):
    exercise = exercise_of(mix, Case(PENCIL))
    result = exercise.mark(answer)
    assert result.mark == "✗"
    assert result.text.startswith(f"1.1 {text}")


class EvilTensor(torch.Tensor):
    @classmethod
    def __torch_function__(cls, *args, **kwargs):
        raise RuntimeError("do not touch")


class QuietTensor(torch.Tensor):
    pass


class Evil:
    def __eq__(self, other):
        raise RuntimeError("not comparable")

    __repr__ = __str__ = __bool__ = __len__ = __eq__
    __hash__ = None


@pytest.mark.parametrize(
    ("evil", "text"),
    [
        (torch.ones(1).as_subclass(EvilTensor), "it stops with RuntimeError: do not touch"),
        (Evil(), "the result is an object of type `Evil`, expected a tensor"),
        ([Evil()], "the result is a list, expected a tensor"),
    ],
    ids=["tensor", "object", "list"],
)
def test_result_that_raises_when_compared_or_printed(evil, text):
    assert exercise_of(mix, Case(PENCIL)).mark(lambda *_: evil).text == f"1.1 {text}"


def test_long_message_is_cut(exercise):
    assert exercise.mark(raises(ValueError("x" * 1000))).text == f"2.3 it stops with ValueError: {'x' * 199}…"
    assert exercise.mark(raises(ValueError("one\ntwo"))).text == "2.3 it stops with ValueError: one"


def test_what_cannot_even_be_shown_does_not_raise(guess):
    assert guess.mark(10**5000).text == "2.4 this answer cannot be marked: OverflowError"
    assert guess.state == "✗"


def test_nothing_unprintable_is_shown(exercise):
    def my_mix(*inputs):
        print("\ud800\x1b[31m\0\ttab")
        raise ValueError("\ud800\x1b")

    result = exercise.mark(my_mix)
    assert result.text == r"2.3 it stops with ValueError: \ud800\x1b"
    assert result.rows[-1] == ("printed", r"\ud800\x1b[31m\x00 tab")


def test_long_line_of_source_is_cut(exercise):
    def my_mix(query, keys, values):
        return undefined, "a line that is too long to be shown", "and so is this", "and this", "and so on", "and so forth"  # noqa: E501, F821 # fmt: skip

    line = dict(exercise.mark(my_mix).rows)["stopped at"]
    assert line.endswith("…")
    assert len(line) == WIDTH


def test_class_in_place_of_an_object(exercise):
    class MyMix(nn.Module):
        def forward(self, query, keys, values):
            return mix(query, keys, values)

    assert exercise.mark(MyMix()).mark == "✓"
    result = exercise.mark(MyMix)
    assert result.mark == "✗"
    assert dict(result.rows)["note"] == "this is the class MyMix: is an object of it meant?"


@pytest.mark.parametrize(
    "answer",
    [
        lambda *inputs: nn.Parameter(mix(*inputs)),
        lambda *inputs: mix(*inputs)[:, None].expand(-1, 2).T[0],
        lambda *inputs: torch.stack([mix(*inputs)] * 2, dim=1)[:, 0],
        lambda *inputs: mix(*inputs).as_subclass(QuietTensor),
    ],
    ids=["requires grad", "expanded", "strided", "subclass"],
)
def test_layout_gradient_and_subclass_do_not_matter(answer):
    assert exercise_of(mix, Case(PENCIL)).mark(answer).mark == "✓"


def test_result_may_be_a_view_of_the_input():
    assert exercise_of(lambda x: x.T.clone(), Case(randn(x=(3, 2)))).mark(lambda x: x.T).mark == "✓"


def test_state_kept_from_call_to_call_is_found(exercise):
    seen = []

    def my_mix(*inputs):
        seen.append(1)
        return mix(*inputs) + len(seen)

    assert "changes from call to call" in exercise.mark(my_mix).text


def test_failure_in_the_second_call_is_found(exercise):
    todo = [1]

    def my_mix(*inputs):
        return mix(*inputs) * todo.pop()

    assert "changes from call to call" in exercise.mark(my_mix).text


def test_result_overwritten_by_the_next_call_is_no_disguise():
    buffer = torch.zeros(1)

    def my_mix(*inputs):
        return buffer.add_(1)

    assert "changes from call to call" in exercise_of(mix, Case(PENCIL)).mark(my_mix).text


# The check itself is broken


@pytest.mark.parametrize("answer", [mix, MISTAKES[0].answer], ids=["right", "wrong"])
@pytest.mark.parametrize(
    ("softmax", "text"),
    [
        (
            lambda scores, dim: scores.undefined,
            "stops with AttributeError: 'Tensor' object has no",
        ),
        (lambda scores, dim: scores * torch.rand(()), "changes from call to call"),
    ],
    ids=["raises", "random"],
)
def test_reference_that_fails_approves_nothing(exercise, monkeypatch, answer, softmax, text):
    monkeypatch.setattr(torch, "softmax", softmax)
    result = exercise.mark(answer)
    assert result.mark == "✗"
    assert result.text.startswith(f"2.3 the check itself does not work here: the right answer {text}")
    assert result.text.endswith("Restart the kernel and try again.")


def test_comparison_does_not_follow_a_redefined_torch(monkeypatch):
    monkeypatch.setattr(torch, "isclose", lambda actual, *_, **__: torch.ones_like(actual, dtype=torch.bool))
    assert exercise_of(mix, Case(PENCIL)).mark(lambda *_: torch.zeros(1)).mark == "✗"


class Forbids(TorchDispatchMode):
    def __torch_dispatch__(self, *args, **kwargs):
        raise RuntimeError("not in this mode")


def test_mode_left_on_is_no_known_mistake_and_breaks_the_next_check():
    mode = Forbids()
    exercise = exercise_of(mix, Case(PENCIL))
    try:
        assert exercise.mark(lambda *inputs: mode.__enter__() and mix(*inputs)).text.endswith(": RuntimeError")
        assert "the check itself does not work here" in exercise.mark(mix).text
    finally:
        mode.__exit__(None, None, None)
    assert exercise.mark(mix).mark == "✓"


# Nothing outside is changed


@pytest.mark.parametrize("name", ["query", "values"])
def test_input_changed_in_place_is_named_and_harms_nobody(exercise, name):
    def my_mix(**inputs):
        result = mix(**inputs)
        inputs[name].zero_()
        return result

    before = {key: value.clone() for key, value in PENCIL.items()}
    result = exercise.mark(lambda q, k, v: my_mix(query=q, keys=k, values=v))
    assert result.text == f"2.3 the result is right, but the input `{name}` was changed in place"
    assert all(torch.equal(PENCIL[key], before[key]) for key in before)
    assert exercise.mark(mix).mark == "✓"


@pytest.mark.parametrize(
    ("inputs", "answer"),
    [
        ({"table": {"the": 1}}, lambda table: table.popitem()[1]),
        ({"table": [1, 2]}, lambda table: table.clear() or 1),
        ({"table": torch.ones(1)}, lambda table: table.resize_(3) is table),
    ],
    ids=["dict", "list", "resized tensor"],
)
def test_change_of_any_kind_of_input_is_found(inputs, answer):
    assert "`table` was changed in place" in exercise_of(lambda table: 1, Case(inputs)).mark(answer).text


def global_state():
    return [
        torch.get_default_dtype(),
        torch.get_default_device(),
        torch.get_num_threads(),
        torch.is_grad_enabled(),
        torch.is_anomaly_enabled(),
        str(torch.tensor([0.123456])),
        sys.getrecursionlimit(),
        torch.get_rng_state().tolist(),
        random.getstate(),
        [part.tolist() if isinstance(part, np.ndarray) else part for part in np.random.get_state()],  # noqa: NPY002
        warnings.filters[:],
        sys.stdout,
        signal.getsignal(signal.SIGALRM),
        signal.getsignal(signal.SIGINT),
    ]


def test_global_state_is_restored(exercise):
    def my_mix(query, keys, values):
        torch.set_default_dtype(torch.float64)
        torch.set_num_threads(torch.get_num_threads() + 1)
        torch.set_grad_enabled(False)
        torch.manual_seed(3)
        random.seed(3)
        np.random.seed(3)  # noqa: NPY002
        warnings.simplefilter("error")
        sys.stdout = None
        signal.signal(signal.SIGALRM, signal.SIG_IGN)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        sys.setrecursionlimit(sys.getrecursionlimit() + 1)
        torch.set_printoptions(precision=2)
        torch.autograd.set_detect_anomaly(True, check_nan=False)
        return query

    before = global_state()
    exercise.mark(my_mix)
    assert global_state() == before
    exercise.mark(lambda *inputs: torch.rand(3))
    assert global_state() == before


@pytest.mark.parametrize(
    "setting",
    [torch.inference_mode, torch.no_grad, lambda: torch.device("meta"), lambda: default_dtype(torch.float64)],
    ids=["inference mode", "no grad", "device", "default dtype"],
)
def test_readers_settings_do_not_change_the_mark(exercise, setting):
    """Neither of a right answer, nor of one whose mistake shows in the gradient alone."""
    with setting():
        assert exercise.mark(lambda *inputs: mix(*inputs) + torch.zeros(1)).mark == "✓"
        assert exercise.mark(MISTAKES[4].answer).text.startswith("2.3 no gradient: ")


@contextlib.contextmanager
def default_dtype(dtype):
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
        assert torch.get_default_dtype() == dtype
    finally:
        torch.set_default_dtype(before)


def test_building_inputs_leaves_the_random_state():
    before = torch.get_rng_state()
    first, again, other = randn(x=(3, 5)), randn(x=(3, 5)), randn(1, x=(3, 5))
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(first["x"], again["x"])
    assert not torch.equal(first["x"], other["x"])


def test_warnings_are_silent(exercise, capsys):
    def my_mix(*inputs):
        warnings.warn("noise", stacklevel=1)
        return mix(*inputs)

    assert exercise.mark(my_mix).mark == "✓"
    assert capsys.readouterr() == ("", "")


# Prints, time, interrupts


def test_prints_are_shown_once_and_cut(exercise, capsys):
    def my_mix(*inputs):
        print("to stderr", file=sys.stderr)
        for number in range(7):
            print("line", number)
        return mix(*inputs)

    result = exercise.mark(my_mix)
    assert capsys.readouterr() == ("", "")
    assert str(result).splitlines() == [
        "✓ 2.3 the mixture is right",
        "    printed  to stderr",
        *(f"             line {number}" for number in range(4)),
        "             … (cut)",
    ]


def test_one_endless_printed_line_is_cut(exercise):
    rows = exercise.mark(lambda *inputs: print("x" * 10**6)).rows
    assert rows[-2:] == [("printed", "x" * (WIDTH - 1) + "…"), ("", "… (cut)")]


def test_flood_of_prints_goes_to_no_python_code(exercise):
    def my_mix(*inputs):
        print("x" * 10**6)
        return mix(*inputs) if inspect.isbuiltin(sys.stdout.write) else None

    assert exercise.mark(my_mix).mark == "✓"


def test_closed_stdout_does_no_harm(exercise):
    def my_mix(*inputs):
        print("before")
        sys.stdout.close()
        return mix(*inputs)

    assert exercise.mark(my_mix).mark == "✓"
    print("stdout is still there")


def loops(*inputs):
    while True:
        pass


def loops_and_catches_exceptions(*inputs):
    while True:
        with contextlib.suppress(Exception):
            time.sleep(0.01)


def loops_twice(*inputs):
    with contextlib.suppress(BaseException):
        loops()
    loops()


needs_timer = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this platform has no signal.setitimer")


@needs_timer
@pytest.mark.parametrize(
    "answer", [loops, loops_and_catches_exceptions, loops_twice], ids=lambda answer: answer.__name__
)
def test_endless_loop_is_stopped(exercise, short_limit, answer):
    result = exercise.mark(answer)
    assert result.text == "2.3 not finished after 0.3 s: an endless loop, or very slow?"
    assert "line" in dict(result.rows)["stopped at"]


@needs_timer
def test_endless_message_is_stopped(exercise, short_limit):
    class Endless(Exception):
        __str__ = loops

    assert exercise.mark(raises(Endless())).text == "2.3 it stops with Endless"


@needs_timer
def test_timer_and_handler_are_put_back(exercise, short_limit):
    rung = []
    old = signal.signal(signal.SIGALRM, lambda *_: rung.append(1))
    try:
        signal.setitimer(signal.ITIMER_REAL, 600.0, 7.0)
        exercise.mark(loops)
        left, interval = signal.setitimer(signal.ITIMER_REAL, 0)
        assert 500 < left < 599.75
        assert interval == pytest.approx(7.0)
        assert not rung
        signal.raise_signal(signal.SIGALRM)
        assert rung
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)


@needs_timer
def test_alarm_that_comes_too_late_is_ignored(exercise, monkeypatch):
    def setitimer(which, seconds, interval=0.0):
        if seconds == 0:
            signal.raise_signal(signal.SIGALRM)
        return 0.0, 0.0

    monkeypatch.setattr(signal, "setitimer", setitimer)
    assert exercise.mark(MISTAKES[0].answer).text.startswith("2.3 no softmax: ")


def test_works_outside_the_main_thread(exercise):
    texts = []
    thread = threading.Thread(target=lambda: texts.append(exercise.mark(MISTAKES[0].answer).text))
    thread.start()
    thread.join()
    assert texts[0].startswith("2.3 no softmax: ")


def test_works_without_timers(exercise, monkeypatch):
    monkeypatch.delattr(signal, "setitimer")
    monkeypatch.delattr(signal, "SIGALRM")
    assert exercise.mark(MISTAKES[0].answer).text.startswith("2.3 no softmax: ")


def test_interrupt_by_the_user_goes_through(exercise):
    def my_mix(*inputs):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(10)

    given = signal.signal(signal.SIGINT, signal.default_int_handler)  # a process in the background may ignore it
    before = global_state()
    with pytest.raises(KeyboardInterrupt):
        exercise.mark(my_mix)
    assert global_state() == before
    signal.signal(signal.SIGINT, given)


# Other kinds of answer


@pytest.mark.parametrize("answer", [0.731, torch.tensor(0.731), np.float32(0.731), torch.tensor([0.731])], ids=repr)
def test_value(guess, answer):
    assert guess.mark(answer).mark == "✓"


def test_known_wrong_value(guess):
    assert repr(guess.mark(1)) == "✗ 2.4 raw score: that is the score."


def test_expected_value_is_not_given_away(guess):
    assert repr(guess.mark(0.5)) == "✗ 2.4 the result is another number\n    came out  0.5"
    tensor = exercise_of(torch.tensor([0.25, 0.75]), Case())
    assert repr(tensor.mark(torch.tensor([0.25, 0.5]))) == (
        "✗ 1.1 the result is wrong in 1 of 2 numbers\n    came out  [0.25, 0.5]"
    )


def test_class_that_is_built_and_loaded():
    weights = {"weight": torch.tensor([[1.0, 2.0, 3.0], [0.0, 1.0, 0.0]]), "bias": torch.tensor([0.5, 0.0])}

    def run(answer, x, weights):
        module = answer(3, 2)
        module.load_state_dict(weights)
        return module(x)

    class NoBias(nn.Linear):
        def forward(self, x):
            return x @ self.weight.T

    exercise = Chapter().exercise(
        "3.1",
        "linear",
        reference=nn.Linear,
        cases=[Case(randn(x=(5, 3)) | {"weights": weights}, run)],
        mistakes=[Mistake("no bias", NoBias, "add it.")],
        verified="it is a linear layer",
    )
    assert exercise.mark(lambda inputs, outputs: nn.Linear(inputs, outputs)).mark == "✓"
    assert exercise.mark(nn.Linear).mark == "✓"
    assert exercise.mark(NoBias).text == "3.1 no bias: add it."
    wrong = exercise.mark(nn.Conv1d)
    assert "TypeError" in wrong.text
    assert "note" not in dict(wrong.rows)


def test_one_of_several_results_is_named():
    exercise = exercise_of(lambda x: (x, 2 * x, [1, 3 * x]), Case({"x": 5}))
    assert exercise.mark(lambda x: (x, 3 * x, [1, 3 * x])).text == "1.1 result 2 of 3 is another number"
    assert exercise.mark(lambda x: (x, 2 * x, [1, x])).text == "1.1 part 2 of 2 of result 3 of 3 is another number"


def test_tuples_dicts_ints_and_strings():
    def reference(tokens, counts):
        return {"ids": (torch.tensor(1), counts["a"]), "text": " ".join(tokens)}

    exercise = exercise_of(reference, Case({"tokens": ["the", "group"], "counts": {"a": 2}}))
    assert exercise.mark(reference).mark == "✓"
    wrong = {
        "part 2 of 2 of the result['ids'] is another number": lambda t, c: {
            "ids": (torch.tensor(1), 3),
            "text": "the group",
        },
        "the result['ids'] has 1 parts, expected 2": lambda t, c: {"ids": (1,), "text": "the group"},
        "the result['text'] is another one": lambda t, c: {"ids": [torch.tensor(1), 2], "text": "the"},
        "the result has the keys ['ids'], expected ['ids', 'text']": lambda t, c: {"ids": 1},
    }
    for text, answer in wrong.items():
        assert exercise.mark(answer).text == f"1.1 {text}"


@pytest.mark.parametrize(
    ("dtype", "close", "off"),
    [
        (torch.float16, 1e-3, 1e-2),
        (torch.bfloat16, 1e-2, 1e-1),
        (torch.float32, 1e-6, 1e-4),
        (torch.float64, 1e-8, 1e-6),
    ],
    ids=str,
)
def test_tolerance_depends_on_the_dtype(dtype, close, off):
    one = torch.ones(3, dtype=dtype)
    assert difference(one * (1 + close), one) is None
    assert difference(one * (1 + off), one).position == (0,)


def test_numbers():
    assert difference(0.5 + 1e-6, 0.5) is None
    assert difference(float("nan"), float("nan")) is None
    assert difference(1, 1.0) is None
    assert difference(0.5 + 1e-4, 0.5).text == "the result is another number"
    assert difference(10**6 + 1, 10**6).text == "the result is another number"
    assert difference(torch.ones(2), 1.0).text == "the result is a tensor, expected a float"


def test_infinity_that_is_expected_is_not_blamed():
    expected = torch.tensor([torch.inf, torch.nan, 1.0])
    assert difference(expected, expected) is None
    wrong = difference(torch.tensor([torch.inf, torch.nan, 2.0]), expected)
    assert (wrong.text, wrong.position) == ("the result is wrong in 1 of 3 numbers", (2,))


def test_nan_is_named_before_other_wrong_numbers():
    wrong = difference(torch.tensor([2.0, torch.nan]), torch.tensor([1.0, 1.0]))
    assert (wrong.text, wrong.position) == ("the result contains NaN where a number is expected", (1,))


def test_booleans_and_integers_must_be_equal():
    assert difference(torch.tensor([True, False]), torch.tensor([True, True])).position == (1,)
    assert difference(torch.tensor([10**6]), torch.tensor([10**6 + 1])) is not None
    assert difference(torch.tensor([True]), torch.tensor([True])) is None


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (torch.tensor([[0.12345, -0.0001], [1.0, torch.nan]]), "[[0.123, 0], [1, nan]]"),
        (torch.tensor([True, False]), "[True, False]"),
        (torch.zeros(2, 3, 5), "a float32 tensor of shape (2, 3, 5)"),
        ({"the": (1, 2.5)}, "{'the': (1, 2.5)}"),
        (Odd("a nested tensor"), "a nested tensor"),
        ("x" * 1000, "'" + "x" * (WIDTH - 2) + "…"),
    ],
    ids=["floats", "booleans", "large", "dict", "object", "long"],
)
def test_brief(value, text):
    assert brief(value) == text


# Showing and progress


def test_call_prints_once_and_returns_nothing(exercise, capsys):
    assert exercise(mix) is None
    assert capsys.readouterr().out == "✓ 2.3 the mixture is right\n"


def test_progress_shows_the_best_marks(chapter, exercise, capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("ATTENTION_LIVE_PROGRESS", str(tmp_path))

    def lines():
        capsys.readouterr()
        chapter.progress()
        return capsys.readouterr().out.splitlines()[:3]

    assert lines() == ["○ 0 of 2 exercises solved", "    ○ 2.3  mix", "    ○ 2.4  guess"]
    exercise(print)
    assert lines()[1] == "    ✗ 2.3  mix"
    exercise(mix)
    assert lines() == ["○ 1 of 2 exercises solved", "    ✓ 2.3  mix", "    ○ 2.4  guess"]
    exercise(print)
    assert lines()[1] == "    ✓ 2.3  mix"
    assert exercise.state == "✗"
    chapter.exercises[1](0.731)
    assert lines()[0] == "✓ 2 of 2 exercises solved"


@pytest.mark.parametrize(("answer", "name"), [(MISTAKES[0].answer, "no softmax"), (mix, ""), (print, ""), (..., "")])
def test_result_carries_the_mistakes_name(exercise, answer, name):
    assert exercise.mark(answer).mistake == name


def test_exercise_explains_itself(chapter, exercise):
    assert repr(exercise) == "<Exercise 2.3 ○: call it with your answer, mix(...)>"
    assert exercise.__doc__ == "Exercise 2.3: call this with your answer. ✓ says: the mixture is right."
    assert chapter.names() == ["mix", "guess", "progress"]


def test_html_is_escaped_and_marks_code():
    html = Result("✗", "2.3 `a` < b", [("input", "<script>")])._repr_html_()
    assert "2.3 <code>a</code> &lt; b" in html
    assert "<script>" not in html


def test_outcome_is_the_same_every_time(exercise):
    case = exercise.cases[1]
    assert attempt(mix, case).agrees_with(attempt(mix, case))


def test_in_a_notebook_each_check_is_one_output():
    """A real kernel: displayed mid-cell and at a cell's end, with HTML; an endless loop is stopped there too."""
    cells = [
        """
        from attention_live.checks import guard
        from attention_live.checks.engine import Case, Chapter, Mistake
        guard.TIME_LIMIT = 0.3
        chapter = Chapter()
        mistake = Mistake("unchanged", lambda x: x, "double it.")
        double = chapter.exercise("1.1", "double", reference=lambda x: 2 * x, cases=[Case({"x": 3})],
                                  mistakes=[mistake], verified="it doubles")
        """,
        """
        print("before")
        double(lambda x: x)
        print("after")
        """,
        """
        def my_double(x):
            while True:
                print("again")
        double(my_double)
        """,
        "chapter.progress()",
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(textwrap.dedent(cell)) for cell in cells])
    nbclient.NotebookClient(notebook, kernel_name="python3", timeout=60).execute()
    outputs = [cell.outputs for cell in notebook.cells]
    assert [[output.output_type for output in of_cell] for of_cell in outputs] == [
        [],
        ["stream", "display_data", "stream"],
        ["display_data"],
        ["display_data"],
    ]
    named, stopped, progress = outputs[1][1].data, outputs[2][0].data, outputs[3][0].data
    assert named["text/plain"] == "✗ 1.1 unchanged: double it."
    assert "unchanged: double it." in named["text/html"]
    assert stopped["text/plain"].startswith("✗ 1.1 not finished after 0.3 s: an endless loop, or very slow?")
    assert re.search(r"stopped at  line [23]: ", stopped["text/plain"])
    assert progress["text/plain"].splitlines()[1] == "    ✗ 1.1  double"
