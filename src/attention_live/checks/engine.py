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
    check.progress()                     shows the state of the chapter's exercises

An answer is whatever the cases' `run` can use. By default it is called with the case's inputs by position, or, if the
reference is no function but a value, it is that value (no case needed; the stub is `my_guess = ...`, and the expected
value is never shown). For a class or a function that builds something, `run` builds it, loads weights and calls it:

    def _run(answer, x, weights):
        module = answer(10, 2)
        module.load_state_dict(weights)
        return module(x)

A property is checked by a case whose `run` returns what must hold: a gradient, whether all is finite, a sum of weights.
The reference's result on it is what the answer's is compared with.

Rules for cases: the first fits a pencil, and they grow; shapes are distinct primes, so that no transposed axis
survives; numbers are so small that softmax does not saturate. A mistake is named when the answer agrees with it on all cases:
in value, in the kind of exception raised, in changing an input in place, or in giving another result each time. So it
must give a result on at least one case (else every other exception of that kind would be taken for it).
tests/test_exercises.py holds every exercise to these rules.
'''

import copy
import html
import inspect
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from .compare import brief, difference, plain
from .guard import TIME_LIMIT, Call, global_state_kept, guarded


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
    """What an answer did with one case: what the call gave, which input it changed, whether a second call agreed."""

    call: Call
    changed: str = ""
    steady: bool = True

    def agrees_with(self, other: "Outcome") -> bool:
        """Whether both did the same: for two results that change from call to call, that they do is enough."""
        mine, theirs = self.call, other.call
        if mine.failure or theirs.failure:
            return bool(mine.failure and theirs.failure) and mine.failure.kind == theirs.failure.kind
        if (self.changed, self.steady) != (other.changed, other.steady):
            return False
        return not self.steady or difference(mine.value, theirs.value) is None


def attempt(answer: Any, case: Case) -> Outcome:
    """Try an answer on a case, twice."""

    def once() -> tuple[Call, str]:
        inputs = copy.deepcopy(dict(case.inputs))
        made = guarded(lambda: plain(case.run(answer, *inputs.values())))
        changed = [name for name in inputs if difference(plain(inputs[name]), plain(case.inputs[name]))]
        return made, "".join(changed[:1])

    with global_state_kept():
        first, changed = once()
        if first.failure:
            return Outcome(first)
        second, _ = once()
    return Outcome(first, changed, steady=Outcome(first).agrees_with(Outcome(second)))


def attempts(answer: Any, cases: Sequence[Case]) -> list[Outcome]:
    """Try an answer on every case; one that ran out of time is not tried further."""
    outcomes = []
    for case in cases:
        outcomes.append(attempt(answer, case))
        failure = outcomes[-1].call.failure
        if failure and failure.kind == "TimeUp":
            break
    return outcomes


def _agree(some: Sequence[Outcome], others: Sequence[Outcome]) -> bool:
    return len(some) == len(others) and all(a.agrees_with(b) for a, b in zip(some, others, strict=True))


@dataclass(frozen=True)
class Result:
    """What a check says: a mark (○, ✗ or ✓), a sentence, and perhaps rows that show the failing case."""

    mark: str
    number: str
    text: str
    rows: tuple[tuple[str, str], ...] = ()

    def _table(self) -> str:
        width = max((len(label) for label, _ in self.rows), default=0)
        return "\n".join(f"    {label:{width}}  {text}" for label, text in self.rows)

    def __repr__(self) -> str:
        return "\n".join(filter(None, [f"{self.mark} {self.number} {self.text}", self._table()]))

    def _repr_html_(self) -> str:
        text = re.sub("`(.+?)`", r"<code>\1</code>", html.escape(self.text))
        rows = f'<pre style="margin: 0.3em 0 0">{html.escape(self._table())}</pre>' if self.rows else ""
        return _box(_COLOURS[self.mark], f"<strong>{self.mark} {self.number}</strong> {text}{rows}")


# The colour is in the border alone, so that the text keeps the page's own, light or dark.
_COLOURS = {"○": "#888888", "✗": "#d55e00", "✓": "#009e73"}


def _box(colour: str, content: str) -> str:
    return f'<div style="border-left: 4px solid {colour}; padding: 0.2em 0.8em">{content}</div>'


def show(thing: Any) -> None:
    """Show a thing once: displayed, with its HTML, in IPython and notebooks; printed elsewhere."""
    ipython = sys.modules.get("IPython")
    if ipython and ipython.get_ipython():
        ipython.display.display(thing)
    else:
        print(thing)


class Exercise:
    """One exercise. Call it with your answer, and it shows what it thinks of it; `mark` returns that instead."""

    def __init__(self, number, name, reference, cases, mistakes, verified):
        self.number, self.name, self.verified = number, name, verified
        self.reference, self.cases, self.mistakes = reference, tuple(cases), tuple(mistakes)
        self.state = "○"
        self.__doc__ = f"Exercise {number}: call this with your answer. ✓ means that {verified}."

    def __call__(self, answer: Any) -> None:
        """Mark an answer and show the result."""
        show(self.mark(answer))

    def __repr__(self) -> str:
        return f"<Exercise {self.number} {self.state}: call it with your answer, {self.name}(...)>"

    def mark(self, answer: Any) -> Result:
        """Mark an answer, and remember the mark for `progress`. Raises nothing but the user's own interrupt."""
        mark, text, *rows = self._judge(answer)
        self.state = mark
        return Result(mark, self.number, text, tuple(rows))

    def _judge(self, answer: Any) -> tuple:
        """A mark, a sentence, and any number of rows."""
        if answer is ...:
            return "○", "not attempted yet"
        if callable(self.reference) and not callable(answer):
            kind = type(answer).__name__
            return "✗", f"hand in the function itself, without calling it: this is of type `{kind}`"
        outcomes = attempts(answer, self.cases)
        if (failure := outcomes[0].call.failure) and failure.stub:
            return "○", "not attempted yet"
        expected = attempts(self.reference, self.cases)
        if _agree(outcomes, expected):
            return "✓", self.verified, *_printed(outcomes[0])
        for mistake in self.mistakes:
            if _agree(outcomes, attempts(mistake.answer, self.cases)):
                return "✗", f"{mistake.name}: {mistake.sentence}", *_printed(outcomes[0])
        triples = zip(self.cases, outcomes, expected, strict=False)  # out of time: fewer outcomes
        case, outcome, right = next(triple for triple in triples if not triple[1].agrees_with(triple[2]))
        text, rows = _explain(case, outcome, right)
        if inspect.isclass(answer) and not inspect.isclass(self.reference):
            rows.append(("note", f"this is the class {answer.__name__}; an object of it may be meant"))
        return "✗", text, *rows, *_printed(outcome)


def _printed(outcome: Outcome) -> list[tuple[str, str]]:
    lines = outcome.call.printed.strip().splitlines()
    return [("printed" if i == 0 else "", line) for i, line in enumerate(lines)]


def _explain(case: Case, outcome: Outcome, right: Outcome) -> tuple[str, list[tuple[str, str]]]:
    """What is wrong with an outcome that is no known mistake, and the rows that show it."""
    rows = [(name, brief(plain(value))) for name, value in case.inputs.items()]
    if case.about:
        rows.insert(0, ("case", case.about))
    if failure := outcome.call.failure:
        if failure.line:
            rows.append(("stopped at", failure.line))
        if failure.kind == "TimeUp":
            return f"not finished after {TIME_LIMIT:g} s: an endless loop?", rows
        what = f"{failure.kind}: {failure.message}".removesuffix(": ")
        if failure.kind == "TypeError" and not failure.line:
            return f"it cannot be called with {len(case.inputs)} inputs: {what}", rows
        return f"it stops with {what}", rows
    if not outcome.steady:
        return "the result changes from call to call: dropout left on, or something random or remembered?", rows
    found = difference(outcome.call.value, right.call.value)
    if not found:
        return f"the result is right, but the input `{outcome.changed}` was changed in place", rows
    rows.append(("came out", brief(found.actual)))
    if case.inputs:  # without inputs, the expected value is the solution itself
        rows.append(("expected", brief(found.expected)))
        if found.position is not None:
            actual, expected = (brief(part[found.position].item()) for part in (found.actual, found.expected))
            rows.append((f"at {list(found.position)}", f"{actual}, expected {expected}"))
    return found.text, rows


class Chapter:
    """The exercises of one chapter, in order."""

    def __init__(self):
        self.exercises: list[Exercise] = []

    def exercise(
        self,
        number: str,
        name: str,
        *,
        reference: Any,
        mistakes: Sequence[Mistake],
        verified: str,
        cases: Sequence[Case] = (Case(),),
    ) -> Exercise:
        """Add an exercise; the module's docstring says what belongs in it."""
        self.exercises.append(Exercise(number, name, reference, cases, mistakes, verified))
        return self.exercises[-1]

    def names(self) -> list[str]:
        """What tab completion shows: the exercises and `progress`."""
        return [*(exercise.name for exercise in self.exercises), "progress"]

    def progress(self) -> None:
        """Show the chapter's exercises: ○ not attempted, ✗ tried, ✓ solved."""
        show(Progress(tuple((e.number, e.name, e.state) for e in self.exercises)))


@dataclass(frozen=True)
class Progress:
    """The state of a chapter's exercises, as rows of number, name and mark."""

    rows: tuple[tuple[str, str, str], ...]

    def _heading(self) -> str:
        return f"{sum(mark == '✓' for *_, mark in self.rows)} of {len(self.rows)} exercises solved"

    def __repr__(self) -> str:
        return "\n".join([self._heading(), *(f"    {mark} {number} {name}" for number, name, mark in self.rows)])

    def _repr_html_(self) -> str:
        rows = "".join(
            _box(_COLOURS[mark], f"{mark} {number} <code>{html.escape(name)}</code>")
            for number, name, mark in self.rows
        )
        return f"<div><strong>{self._heading()}</strong>{rows}</div>"
