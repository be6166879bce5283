'''Marks an answer to an exercise and names the mistake in it.

An exercise is data: the right answer (the reference), the cases it is tried on, and the mistakes that people are known
to make, each a wrong answer with the sentence that a reader gets. A chapter's module reads like this:

    """The exercises of chapter 02, Queries, keys, values."""

    import torch

    from .engine import Case, Chapter, Mistake, randn

    chapter = Chapter()
    progress = chapter.progress
    __dir__ = chapter.names  # tab completion shows the exercises and progress


    def _mix(query, keys, values):  # (D,), (N, D), (N, Dv) -> (Dv,)
        return torch.softmax(keys @ query, dim=0) @ values


    def _query_gradient(answer, query, keys, values):
        query.requires_grad_()
        return torch.autograd.grad(answer(query, keys, values).sum(), query)


    soft_lookup = chapter.exercise(
        "2.3",
        "soft_lookup",  # the same as the variable's name
        reference=_mix,
        cases=[
            Case({"query": torch.tensor([1.0, 0.0]), "keys": torch.eye(2), "values": torch.tensor([[1.0], [3.0]])}),
            Case(randn(query=(5,), keys=(7, 5), values=(7, 3))),
            Case(randn(query=(5,), keys=(7, 5), values=(7, 3)), _query_gradient, about="the gradient for the query"),
        ],
        mistakes=[
            Mistake(
                "no softmax",
                lambda query, keys, values: (keys @ query) @ values,
                "the scores are used as they are; softmax makes them positive weights that sum to 1.",
            ),
            ...
        ],
        verified="the mixture is right for 2 and for 7 keys, and its gradient reaches the query",
    )

and in the notebook, `from attention_live.checks import queries_keys_values as check`, then

    check.soft_lookup(my_soft_lookup)    shows one line: ○ not attempted, ✗ with the mistake, ✓ with what was verified
    check.progress()                     shows what is solved of the chapter; progress.py has what else it can do

An answer is whatever the cases' `run` can use. By default it is called with the case's inputs by position, or, if the
reference is no function but a value, it is that value (no case needed; the stub is `my_guess = ...`, and the expected
value is never shown). For a class or a function that builds something, `run` builds it, loads weights and calls it:

    def _run(answer, x, weights):
        module = answer(10, 2)
        module.load_state_dict(weights)
        return module(x)

A property is checked by a case whose `run` returns what must hold: a gradient, whether all is finite, a sum of weights,
the type of an exception that `run` caught. The reference's result on it is what the answer's is compared with; the
reference itself gives a result, the same each time, on every case.

Rules for cases: the first fits a pencil, and they grow; shapes are distinct primes, so that no transposed axis
survives; numbers are so small that softmax does not saturate. A mistake is named when the answer agrees with it on
all cases: in value, in the kind of exception, in changing an input in place, or in giving another result each time.
It must give a result on at least one case, for an answer that fails on all of them is taken for no mistake.
tests/test_exercises.py finds every exercise and holds it to this, as far as a test can.
'''

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from .compare import apart, brief, class_name, cut, difference, plain
from .guard import PRINT_LIMIT, Failure, global_state_kept, guarded
from .progress import Progress, store
from .result import Result, show


def call(answer: Any, *inputs: Any) -> Any:
    """What a case does with an answer by default: call it, or take it as it is if it is a value."""
    return answer(*inputs) if callable(answer) else answer


def randn(seed: int = 0, /, **shapes: tuple[int, ...]) -> dict[str, Tensor]:
    """Named inputs of the given shapes, standard normal (float32), from a generator of their own."""
    generator = torch.Generator().manual_seed(seed)
    return {name: torch.randn(shape, generator=generator) for name, shape in shapes.items()}


@dataclass(frozen=True)
class Case:
    """Inputs by name, and `run(answer, *inputs)`, whose result is compared. Every run gets fresh copies of the inputs.

    `about` says in a few words what the case is about, for the reader who fails it.
    """

    inputs: Mapping[str, Any] = field(default_factory=dict)
    run: Callable[..., Any] = call
    about: str = ""


@dataclass(frozen=True)
class Mistake:
    """A wrong answer that people give: what it is called, the answer, and the sentence that the reader gets."""

    name: str
    answer: Any
    sentence: str


@dataclass(frozen=True)
class Outcome:
    """What an answer did with a case: its result or failure, what it printed, the first input that it changed in place,
    and whether a second call gave the same."""

    result: Any
    failure: Failure | None
    printed: str
    changed: str = ""
    is_steady: bool = True

    def agrees_with(self, other: "Outcome") -> bool:
        """Whether both did the same. Of two unsteady ones no more is asked than that."""
        if self.failure or other.failure:
            return bool(self.failure and other.failure) and self.failure.kind == other.failure.kind
        if (self.changed, self.is_steady) != (other.changed, other.is_steady):
            return False
        return not self.is_steady or difference(self.result, other.result) is None


def attempt(answer: Any, case: Case) -> Outcome:
    """Try an answer on a case, twice."""

    def once():
        inputs = copy.deepcopy(dict(case.inputs))
        result = plain(case.run(answer, *inputs.values()))
        changed = [name for name in inputs if difference(plain(inputs[name]), plain(case.inputs[name]))]
        return result, "".join(changed[:1])

    with global_state_kept():
        value, failure, printed = guarded(once)
        if failure:
            return Outcome(None, failure, printed)
        again, failure, _ = guarded(once)
    return Outcome(value[0], None, printed, value[1], is_steady=not failure and not difference(again[0], value[0]))


def attempts(answer: Any, cases: Sequence[Case]) -> list[Outcome]:
    """Try an answer on every case, but no further once it ran out of time."""
    outcomes = []
    for case in cases:
        outcomes.append(attempt(answer, case))
        if outcomes[-1].failure and outcomes[-1].failure.kind == "TimeUp":
            break
    return outcomes


def agree(some: Sequence[Outcome], others: Sequence[Outcome]) -> bool:
    """Whether two answers did the same on all cases (running out of time, after which cases lack, is not the same)."""
    return all(a.agrees_with(b) for a, b in zip(some, others, strict=False))


@dataclass(eq=False)
class Exercise:
    """An exercise: call it with your answer, and it shows what it thinks of it. `mark` returns that instead.

    `verified` says what ✓ stands for; `state` is the latest mark.
    """

    number: str
    name: str
    reference: Any
    mistakes: Sequence[Mistake]
    verified: str
    cases: Sequence[Case] = (Case(),)
    state: str = field(default="○", init=False)

    def __post_init__(self):
        self.__doc__ = f"Exercise {self.number}: call this with your answer. ✓ says: {self.verified}."

    @property
    def key(self) -> str:
        """What it is called in the record of progress, such as "2.soft_lookup"; numbers within a chapter may change."""
        return f"{self.number.partition('.')[0]}.{self.name}"

    def __repr__(self) -> str:
        return f"<Exercise {self.number} {self.state}: call it with your answer, {self.name}(...)>"

    def __call__(self, answer: Any) -> None:
        """Mark an answer and show the result."""
        show(self.mark(answer))

    def mark(self, answer: Any) -> Result:
        """Mark an answer, and remember the mark, on disk as well.

        Raises nothing but the user's own `KeyboardInterrupt`.
        """
        try:
            found = self._judge(answer)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # what a hostile object does that plain() has not seen
            found = Result("✗", f"this answer cannot be marked: {class_name(type(error))}")
        self.state = found.mark
        store.remember(self.key, found.mark)
        text, rows = cut(f"{self.number} {found.text}", 500), [(label, cut(part)) for label, part in found.rows]
        return replace(found, text=text, rows=rows)

    def _judge(self, answer: Any) -> Result:
        """What to show, but for the exercise's number, and not cut yet."""
        if answer is ...:
            return Result("○", "not attempted yet")
        if callable(self.reference) and not callable(answer):
            kind = class_name(type(answer))
            return Result("✗", f"hand in the function itself, without calling it: this is of type `{kind}`")
        expected = attempts(self.reference, self.cases)  # before an answer has the chance to break anything
        if broken := next((outcome for outcome in expected if outcome.failure or not outcome.is_steady), None):
            what = f"stops with {broken.failure.what}" if broken.failure else "changes from call to call"
            redefined = "Has something it needs been redefined? Restart the kernel and try again."
            return Result("✗", f"the check itself does not work here: the right answer {what}. {redefined}")
        outcomes = attempts(answer, self.cases)
        if outcomes[0].failure and outcomes[0].failure.is_stub:
            return Result("○", "not attempted yet")
        if agree(outcomes, expected):
            return Result("✓", self.verified, _printed(outcomes[0]))
        has_result = any(not outcome.failure for outcome in outcomes)
        for mistake in self.mistakes:
            if has_result and agree(outcomes, attempts(mistake.answer, self.cases)):
                text = f"{mistake.name}: {mistake.sentence}"
                return Result("✗", text, _printed(outcomes[0]), mistake.name)
        tried = zip(self.cases, outcomes, expected, strict=False)  # out of time, there are fewer outcomes
        case, outcome, right = next(triple for triple in tried if not triple[1].agrees_with(triple[2]))
        text, rows = _explain(case, outcome, right)
        if issubclass(type(answer), type) and not isinstance(self.reference, type):
            rows.append(("note", f"this is the class {class_name(answer)}: is an object of it meant?"))
        return Result("✗", text, rows + _printed(outcome))


def _explain(case: Case, outcome: Outcome, right: Outcome) -> tuple[str, list[tuple[str, str]]]:
    """What is wrong with an outcome that is no known mistake, and the rows that show it."""
    rows = [("case", case.about)] if case.about else []
    rows += [(name, brief(plain(value))) for name, value in case.inputs.items()]
    if failure := outcome.failure:
        if failure.line:
            rows.append(("stopped at", failure.line))
        if failure.kind == "TimeUp":
            return f"not finished after {failure.what.removeprefix('TimeUp: ')}: an endless loop, or very slow?", rows
        cannot = failure.kind == "TypeError" and not failure.line
        return f"it {'cannot be called with this input:' if cannot else 'stops with'} {failure.what}", rows
    if not outcome.is_steady:
        return "the result changes from call to call: dropout left on, or something random or remembered?", rows
    found = difference(outcome.result, right.result)
    if not found:
        return f"the result is right, but the input `{outcome.changed}` was changed in place", rows
    if not case.inputs:  # then the expected value is the solution itself
        return found.text, [*rows, ("came out", brief(found.actual))]
    came_out, expected = apart(found.actual, found.expected)
    if came_out != expected:
        rows += [("came out", came_out), ("expected", expected)]
    if found.position:
        numbers = apart(found.actual[found.position].item(), found.expected[found.position].item())
        rows.append((f"at {list(found.position)}", "{}, expected {}".format(*numbers)))
    return found.text, rows


def _printed(outcome: Outcome) -> list[tuple[str, str]]:
    """The first lines that were printed, as rows."""
    lines = outcome.printed.rstrip().expandtabs(4).splitlines()
    if len(lines) > 5 or len(outcome.printed) == PRINT_LIMIT:
        lines = [*lines[:5], "… (cut)"]
    return [("" if i else "printed", line) for i, line in enumerate(lines)]


class Chapter:
    """The exercises of one chapter, in order, and what shows how many of them are solved."""

    def __init__(self):
        self.exercises: list[Exercise] = []
        self.progress = Progress(self.exercises)

    @property
    def number(self) -> str:
        """The chapter's number, that of its exercises."""
        return self.exercises[0].number.partition(".")[0]

    def exercise(self, number: str, name: str, **parts: Any) -> Exercise:
        """Add an exercise; `parts` are the further fields of `Exercise`."""
        self.exercises.append(Exercise(number, name, **parts))
        return self.exercises[-1]

    def names(self) -> list[str]:
        """What tab completion shows: the exercises and `progress`."""
        return [*(exercise.name for exercise in self.exercises), "progress"]
