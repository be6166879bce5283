"""Every exercise of every chapter, by discovery: its data in attention_live.checks and its cells in the notebook.

An exercise in a notebook consists of these cells, in this order:

    Markdown  ### Exercise 2.3 ●●○ 10 min, and the task
    code      the stub: `def my_…` or a class that raises NotImplementedError, or `my_… = ...`
    code      check.name(my_…)
    Markdown  <details><summary>Hint 1</summary>, one or more, one a cell
    Markdown  <details><summary>Solution</summary>, with the code in a ```python fence

Further text may stand between them and after them, and `check.progress()` at the end.
"""

import ast
import functools
import importlib
import pkgutil
import re
from dataclasses import dataclass
from pathlib import Path

import nbformat
import pytest
import torch
from IPython.core.inputtransformer2 import TransformerManager

from attention_live import checks
from attention_live.checks.engine import Exercise, attempts

HEADING = re.compile(r"^### Exercise (?P<number>\S+) (?P<rest>.*)$", re.MULTILINE)
PENCIL = 24  # numbers that the tensors of an exercise's first case may have, together


def chapters():
    """The modules of `checks` that hold a chapter's exercises, by name."""
    names = [module.name for module in pkgutil.iter_modules(checks.__path__)]
    modules = {name: importlib.import_module(f"{checks.__name__}.{name}") for name in names}
    return {name: module for name, module in modules.items() if hasattr(module, "chapter")}


@dataclass
class Section:
    """The cells of one exercise in a notebook, as (kind, source), and where they start."""

    notebook: str
    number: str
    cells: list[tuple[str, str]]
    start: int

    def sources(self, kind):
        return [source for found, source in self.cells if found == kind]

    @property
    def check(self):
        """The names in `check.NAME(ANSWER)`."""
        return re.search(r"check\.(\w+)\((\w+)\)", self.sources("check")[0]).groups()

    @property
    def solution(self):
        return solution_code(self.sources("solution")[0])


def solution_code(source):
    return "\n".join(re.findall(r"```python\n(.*?)```", source, re.DOTALL))


def kind_of(cell):
    if cell.cell_type == "code":
        found = re.fullmatch(r"check\.(?:(progress)\(\)|\w+\(\w+\))", cell.source.strip())
        return (found[1] or "check") if found else "stub"
    found = re.match(r"<details>\s*<summary>(Hint|Solution)", cell.source)
    return found[1].lower() if found else "text"


def sections(name, cells):
    """The exercises of a notebook: each from the cell with its heading to the next cell that starts with a heading."""
    found, current = [], None
    for index, cell in enumerate(cells):
        heading = HEADING.search(cell.source) if cell.cell_type == "markdown" else None
        if heading:
            current = Section(name, heading["number"], [], index)
            found.append(current)
        elif cell.cell_type == "markdown" and cell.source.startswith("#"):
            current = None
        if current:
            current.cells.append((kind_of(cell), cell.source))
    return found


CHAPTERS = chapters()
EXERCISES = [(name, exercise) for name, module in CHAPTERS.items() for exercise in module.chapter.exercises]
MISTAKES = [(exercise, mistake) for _, exercise in EXERCISES for mistake in exercise.mistakes]
NOTEBOOKS = {
    path.stem: nbformat.read(path, as_version=4).cells
    for path in sorted((Path(__file__).parents[1] / "notebooks").glob("*.ipynb"))
}
SECTIONS = [section for name, cells in NOTEBOOKS.items() for section in sections(name, cells)]


def module_of(notebook):
    """02_queries_keys_values has its exercises in checks.queries_keys_values."""
    return CHAPTERS.get(notebook.partition("_")[2])


each_chapter = pytest.mark.parametrize("name", CHAPTERS)
each_exercise = pytest.mark.parametrize(
    ("chapter", "exercise"), EXERCISES, ids=[f"{exercise.number}-{exercise.name}" for _, exercise in EXERCISES]
)
each_mistake = pytest.mark.parametrize(
    ("exercise", "mistake"), MISTAKES, ids=[f"{exercise.number}-{mistake.name}" for exercise, mistake in MISTAKES]
)
each_section = pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.number)


# The data


def test_there_are_chapters_and_notebooks():
    assert CHAPTERS
    assert SECTIONS


@each_chapter
def test_chapter_is_well_formed(name):
    module = CHAPTERS[name]
    exercises = module.chapter.exercises
    assert len({exercise.number for exercise in exercises}) == len(exercises), "two exercises of one number"
    assert {key: value for key, value in vars(module).items() if isinstance(value, Exercise)} == {
        exercise.name: exercise for exercise in exercises
    }, "an exercise's name is the name of its variable"
    assert dir(module) == sorted([*(exercise.name for exercise in exercises), "progress"]), "set __dir__"
    assert module.progress == module.chapter.progress


@each_exercise
def test_exercise_is_well_formed(chapter, exercise):
    assert len(exercise.mistakes) >= (2 if chapter == "start_here" else 4)
    assert len({mistake.name for mistake in exercise.mistakes}) == len(exercise.mistakes), "two mistakes of one name"
    assert exercise.verified
    tensors = [value for value in exercise.cases[0].inputs.values() if isinstance(value, torch.Tensor)]
    assert sum(tensor.numel() for tensor in tensors) <= PENCIL, "the first case does not fit a pencil"


@each_exercise
def test_reference_is_right(chapter, exercise):
    assert repr(exercise.mark(exercise.reference)) == f"✓ {exercise.number} {exercise.verified}"


@each_exercise
def test_stub_is_not_attempted(chapter, exercise):
    def stub(*args, **kwargs):
        raise NotImplementedError

    assert exercise.mark(stub if callable(exercise.reference) else ...).mark == "○"


@each_mistake
def test_mistake_is_named(exercise, mistake):
    """Also proves that no two mistakes are alike on the cases: the later one would get the earlier one's name."""
    assert mistake.name
    assert mistake.sentence
    assert repr(exercise.mark(mistake.answer)) == f"✗ {exercise.number} {mistake.name}: {mistake.sentence}"


@each_mistake
def test_mistake_gives_a_result_on_some_case(exercise, mistake):
    """An answer that fails on all cases is taken for no mistake: any exception of the kind would be."""
    assert any(not outcome.failure for outcome in attempts(mistake.answer, exercise.cases))


# The notebooks


@each_chapter
def test_notebook_and_module_have_the_same_exercises(name):
    [(notebook, cells)] = [item for item in NOTEBOOKS.items() if module_of(item[0]) is CHAPTERS[name]]
    in_notebook = [(section.number, section.check[0]) for section in sections(notebook, cells)]
    assert in_notebook == [(exercise.number, exercise.name) for exercise in CHAPTERS[name].chapter.exercises]


@each_section
def test_exercise_is_laid_out_as_described(section):
    heading = HEADING.search(section.cells[0][1])
    assert re.fullmatch(r"(●○○|●●○|●●●) \d+ min", heading["rest"]), heading[0]
    assert section.number.split(".")[0] == str(int(section.notebook.partition("_")[0]))
    kinds = " ".join(kind for kind, _ in section.cells)
    assert re.fullmatch("(text )+stub check (text )*(hint )+solution( text| progress)*", kinds), kinds
    assert section.check[1] in defined(section.sources("stub")[0]), "the check takes what the stub defines"


@each_section
def test_stub_cell_is_not_attempted(section):
    assert mark(section, section.sources("stub")[0]).mark == "○"


@each_section
def test_solution_is_right(section):
    result = mark(section, section.solution)
    assert result.mark == "✓", result


@each_section
def test_stub_and_solution_share_signatures_and_docstrings(section):
    answer = section.check[1]
    stub, solution = defined(section.sources("stub")[0])[answer], defined(section.solution)[answer]
    assert interface(stub).items() <= interface(solution).items()


def defined(source):
    """The top-level statements of a cell that define a name, by name. IPython's own syntax is seen through."""
    found = {}
    for statement in ast.parse(TransformerManager().transform_cell(source)).body:
        if isinstance(statement, ast.FunctionDef | ast.ClassDef):
            found[statement.name] = statement
        elif isinstance(statement, ast.Import | ast.ImportFrom):
            found[ast.unparse(statement)] = statement
        elif isinstance(statement, ast.Assign):
            found[ast.unparse(statement.targets[0])] = statement
    return found


def interface(node):
    """The signature and docstring of a function, or of a class and each of its methods; nothing for a value."""
    if isinstance(node, ast.FunctionDef):
        return {
            node.name: (ast.unparse(node.args), node.returns and ast.unparse(node.returns), ast.get_docstring(node))
        }
    if not isinstance(node, ast.ClassDef):
        return {}
    methods = {name: part for member in node.body for name, part in interface(member).items()}
    return {node.name: ([ast.unparse(base) for base in node.bases], ast.get_docstring(node)), **methods}


def mark(section, source):
    """Mark `source` in place of the stub."""
    exercise, answer = exercise_and_answer(section, source)
    return exercise.mark(answer)


def exercise_and_answer(section, source):
    """The exercise of a section, and what `source` defines for it after what it may lean on in the cells before it."""
    namespace = dict(namespace_before(section.notebook, section.start))
    for statement in ast.parse(source).body:
        run(statement, namespace)
    name, answer = section.check
    return getattr(namespace["check"], name), namespace[answer]


@functools.cache
def namespace_before(notebook, start):
    """What the cells before an exercise define: imports, functions, classes, literal values and earlier solutions.

    The chapter's own experiments are not run.
    """
    namespace = {"__name__": "notebook"}
    for cell in NOTEBOOKS[notebook][:start]:
        code = cell.source if cell.cell_type == "code" else solution_code(cell.source) * (kind_of(cell) == "solution")
        for statement in defined(code).values():
            if not isinstance(statement, ast.Assign) or is_literal(statement.value):
                run(statement, namespace)
    return namespace


def is_literal(node):
    try:
        ast.literal_eval(node)
    except ValueError:
        return False
    return True


def run(statement, namespace):
    exec(compile(ast.Module([statement], []), "<notebook>", "exec"), namespace)
