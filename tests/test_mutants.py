"""The checks judge each exercise's own solution with one thing changed: operator, constant, axis or comparison.

A changed solution that still gets ✓ either means the same, and is listed in SAME with the reason, or shows a case that
is missing.
"""

import ast
import copy

import pytest
from test_exercises import SECTIONS, exercise_and_answer

from attention_live.checks import guard
from attention_live.checks.engine import attempt, attempts

TWO_AXES = "the tensor has two axes, so that 1 and -1 are the same one"
ANY_CHANGE = "by how much an input changes is free: any change shows who listens"
SAME = {
    ("2.7", "lengths = weights * v.norm(dim=+1)"): TWO_AXES,
    ("2.7", "return lengths / lengths.sum(dim=+1, keepdim=True)"): TWO_AXES,
    ("2.8", "total = torch.tensor(1.0)"): "the first key shrinks whatever was there before by exp(-∞) = 0",
    ("2.8", "mixed = torch.zeros(values.shape[+1])"): TWO_AXES,
    ("3.2", "dot_products = (q * k).sum(dim=+1)"): TWO_AXES,
    ("3.6", "d_k = W_q.shape[+1]"): TWO_AXES,
    ("6.9", "changed[position] += 2"): ANY_CHANGE,
    ("6.9", "changed[position] -= 1"): ANY_CHANGE,
    ("6.9", "columns.append((model(changed) != before).any(dim=+1))"): TWO_AXES,
}
"""Changes that keep the meaning, by exercise and changed line, with the reason."""

OPERATORS = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.MatMult: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
}


def changes(node):
    """Functions that each change one thing in a node of the kind of `node`."""
    if isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in OPERATORS:
        yield lambda n: setattr(n, "op", OPERATORS[type(n.op)]())
    elif isinstance(node, ast.Compare) and type(node.ops[0]) in OPERATORS:
        yield lambda n: n.ops.__setitem__(0, OPERATORS[type(n.ops[0])]())
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.Invert):
        yield lambda n: setattr(n, "op", ast.UAdd())
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield lambda n: setattr(n, "value", not n.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        yield lambda n: setattr(n, "value", n.value + 1)


def mutants(source):
    """Every version of `source` with one thing changed, each with the line that it changed."""
    tree = ast.parse(source)
    for index, node in enumerate(ast.walk(tree)):
        for change in changes(node):
            mutant = copy.deepcopy(tree)
            changed = list(ast.walk(mutant))[index]
            change(changed)
            text = ast.unparse(mutant)
            before, after = ast.unparse(tree).splitlines(), text.splitlines()
            yield text, next(new.strip() for old, new in zip(before, after, strict=True) if old != new)


def passing(section):
    """The lines of the section's solution whose change goes unnoticed."""
    exercise, solution = exercise_and_answer(section, section.solution)
    expected = attempts(solution, exercise.cases)
    lines = set()
    for text, line in mutants(section.solution):
        _, answer = exercise_and_answer(section, text)
        cases = zip(exercise.cases, expected, strict=True)
        if all(attempt(answer, case).agrees_with(right) for case, right in cases):  # stops at the first difference
            lines.add(line)
    return lines


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.number)
def test_changed_solutions_are_caught(section, monkeypatch):
    monkeypatch.setattr(guard, "TIME_LIMIT", 0.5)
    same = {line for number, line in SAME if number == section.number}
    assert passing(section) == same, "add a case that tells them apart, or list the change in SAME with the reason"
