"""Marks the notebooks of a class: `python -m attention_live.checks grade FOLDER`.

Each notebook runs in a process of its own (replay.py), which reports every mark as it is given, so that whatever a
notebook does, its marks up to then count, and no other notebook's are touched.
"""

import argparse
import contextlib
import csv
import json
import os
import secrets
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
import unicodedata
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tqdm import tqdm

from . import chapters, replay
from .compare import cut

DESCRIPTION = """\
Run the notebooks of a class, and say who solved what and which mistakes are common.

Every *.ipynb below FOLDER is run, but for hidden files and folders. A student is named by the folder: all notebooks in
FOLDER/alice/, and in folders below it, are alice's; a notebook in FOLDER itself is a student named like the file. Which
chapter a notebook is about is seen from its imports and its exercises' headings. A mark is what the last check of an
exercise said: ○ not attempted or not reached, ✗ wrong, ✓ right; of several notebooks of one chapter, the best counts.
A mistake is called by its name or, if the book does not know it, by what the check says of it. Where a cell failed, it
is named by its place in the notebook, text cells counted.

Nothing below FOLDER is changed. OUTPUT, a new folder, gets marks.csv, mistakes.csv and notebooks.csv, which are written
anew after each notebook.
"""
LIMITS = """\
Each notebook runs in a process of its own, in an empty folder that is deleted afterwards, without input and without
output. A cell that fails does not stop the next ones; one that takes longer than a fifth of the time limit is stopped;
!commands, %pip and the like do nothing. What is marked before a notebook crashes or runs out of time counts.

What this is NOT: a prison. The students' code runs with your rights. It can read your files, delete or change them (one
shutil.rmtree with a wrong path is enough), use the network, stop this very run, and mark itself right. The memory limit
is for each of the processes that it starts, and if you are root it can start as many as the system allows. So run the
notebooks of people whom you do not trust in a container without network that holds nothing but FOLDER; and start this
command elsewhere than in FOLDER, from where Python would take a student's csv.py for its own.

On macOS there is no memory limit, and what a notebook starts in the background may outlive it. The same holds on
Windows, where files, processes and the time of a single cell are not limited either.
"""
RANKS = ["○", "✗", "✓"]
PATIENCE = 15  # seconds beyond its time limit that a process has to end itself
MOST_REPORTED = 4 * 10**6  # bytes that are kept of what one notebook reports


@dataclass
class Notebook:
    """A notebook, and after `run` what came of it."""

    student: str
    name: str
    path: Path
    problem: str = ""
    chapters: list[str] = field(default_factory=list)
    marks: dict[str, tuple[str, str]] = field(default_factory=dict)
    """By the exercise's number: the mark and, if it is ✗, the mistake: its name, or else what the check says of it."""
    errors: list[str] = field(default_factory=list)
    """Of the cells that failed, such as "cell 3: NameError"."""
    seconds: float = 0.0


def find(folder: Path) -> list[Notebook]:
    """The notebooks below a folder, in order. What cannot be looked into has its problem said already."""
    found, barred = [], []
    for place, folders, files in os.walk(folder, onerror=barred.append):
        folders[:] = [name for name in folders if name[0] != "."]
        paths = [Path(place, name) for name in files if name.endswith(".ipynb") and name[0] != "."]
        found += [_notebook(folder, path, _no_file(path)) for path in paths]
    found += [_notebook(folder, Path(error.filename), f"cannot be looked into: {error.strerror}") for error in barred]
    return sorted(found, key=lambda notebook: (notebook.student, notebook.name))


def _notebook(folder: Path, path: Path, problem: str) -> Notebook:
    parts = path.relative_to(folder).parts
    student = parts[0].removesuffix(".ipynb") if len(parts) == 1 else parts[0]
    return Notebook(student, "/".join(parts), path, problem)


def _no_file(path: Path) -> str:
    try:
        kind = path.lstat().st_mode
    except OSError as error:
        return f"the file cannot be read: {error.strerror}"
    if stat.S_ISLNK(kind):
        return "a link, which is not followed"
    return "" if stat.S_ISREG(kind) else "not a file"


def run(notebook: Notebook, seconds: float, memory: int) -> Notebook:
    """Run a notebook for at most so many seconds, with so many bytes of memory, and note what came of it."""
    start = time.monotonic()
    try:
        with tempfile.TemporaryDirectory(prefix="grade-", ignore_cleanup_errors=True) as place:
            reports = _reports(notebook.path, Path(place), seconds, memory)
        _note(notebook, reports, seconds)
    except Exception as error:  # the others are to be run in any case
        notebook.problem = f"could not be run: {error}"
    notebook.seconds = time.monotonic() - start
    return notebook


def _reports(path: Path, place: Path, seconds: float, memory: int) -> list[dict[str, Any]]:
    """Replay a notebook in a folder inside `place`, and read the reports."""
    work = place / "work"  # what a notebook does to the folder above it ends at `place`
    work.mkdir()
    token = secrets.token_hex(16)
    job = {"notebook": str(path.absolute()), "token": token, "path": [os.path.abspath(part) for part in sys.path]}
    job |= {"seconds": seconds, "cell_seconds": seconds / 5, "bytes": memory}
    environment = os.environ | dict.fromkeys(["HOME", "USERPROFILE", "TMPDIR", "IPYTHONDIR"], str(place))
    environment |= {"ATTENTION_LIVE_PROGRESS": str(place / "progress"), "MPLBACKEND": "agg", "TQDM_DISABLE": "1"}
    environment |= {"PIP_NO_INDEX": "1", "PIP_TARGET": str(place / "pip")}  # should a notebook start pip all the same
    process = subprocess.Popen(
        [sys.executable, "-P", "-X", "utf8", replay.__file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=work,
        env=environment,
        start_new_session=True,
    )
    heard = bytearray()
    listener = threading.Thread(target=_listen, args=(process, heard), daemon=True)
    listener.start()
    _running.add(process)
    with contextlib.suppress(subprocess.TimeoutExpired, BrokenPipeError):
        process.stdin.write(json.dumps(job).encode())
        process.stdin.close()
        process.wait(seconds + PATIENCE)  # it ends itself in time, unless it is kept from doing so
    _end(process)
    _running.discard(process)
    listener.join(2)  # no longer: what has got away may hold the other end open
    lines = bytes(heard).decode(errors="replace").splitlines()
    return [json.loads(line.removeprefix(token)) for line in lines if line.startswith(token) and line.endswith("}")]


_running: set[subprocess.Popen] = set()


def _listen(process: subprocess.Popen, heard: bytearray) -> None:
    with process.stdout as channel:
        while part := channel.read1(2**16):
            heard += part[: MOST_REPORTED - len(heard)]


def _end(process: subprocess.Popen) -> None:
    """Kill a process, and on Linux and macOS all of its group."""
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.wait()


def _note(notebook: Notebook, reports: Iterable[dict[str, Any]], seconds: float) -> None:
    """Put into a notebook what was reported of it, as far as it makes sense."""
    book = chapters()
    numbers = {exercise.number for chapter in book.values() for exercise in chapter.exercises}
    cell, has_ended, ends = 0, False, []
    for report in reports:
        match report:
            case {"refused": str(reason)}:
                notebook.problem = reason
            case {"chapters": list(modules)}:
                notebook.chapters = [name for name in book if name in modules]
            case {"cell": int(number)}:
                cell = number
            case {"error": str(name)}:
                notebook.errors.append(f"cell {cell}: {name}")
            case {"exercise": str(number), "mark": mark, "mistake": str(mistake)} if (
                number in numbers and mark in RANKS
            ):
                notebook.marks[number] = mark, mistake
            case {"done": _}:
                has_ended = True
            case {"end": int() | None as code}:
                ends = [code]
    if has_ended or notebook.problem:
        return
    where = f"in cell {cell}" if cell else "before its first cell"
    match ends:
        case []:
            notebook.problem = f"ended {where}, without a word of why"
        case [None]:
            notebook.problem = f"stopped {where}: it had taken {seconds:g} s"
        case [code] if code < 0:
            notebook.problem = f"killed {where} by {signal.Signals(-code).name}: out of memory, a crash, or by itself"
        case [code]:
            notebook.problem = f"left {where}, with exit code {code}"


Marks = dict[str, dict[str, tuple[str, str]]]
"""By student and by the exercise's number: the mark and, if it is ✗, the mistake."""


def best_marks(notebooks: Iterable[Notebook]) -> Marks:
    """Each student's best mark in every exercise of the chapters that the student handed in."""
    book = chapters()
    best: Marks = {}
    for notebook in notebooks:
        own = best.setdefault(notebook.student, {})
        untouched = {exercise.number: ("○", "") for name in notebook.chapters for exercise in book[name].exercises}
        for number, marked in (untouched | notebook.marks).items():
            if number not in own or RANKS.index(marked[0]) > RANKS.index(own[number][0]):
                own[number] = marked
    return best


def common_mistakes(marks: Marks) -> list[tuple[str, str, list[str]]]:
    """The exercise's number, the mistake and the students who made it, the most common one first."""
    made: dict[tuple[str, str], list[str]] = {}
    for student, own in marks.items():
        for number, (mark, mistake) in own.items():
            if mark == "✗":
                made.setdefault((number, mistake), []).append(student)
    return sorted(((*mistake, students) for mistake, students in made.items()), key=lambda row: (-len(row[2]), row))


def write(output: Path, notebooks: Sequence[Notebook]) -> None:
    """Write marks.csv, mistakes.csv and notebooks.csv into the folder `output`."""
    marks = best_marks(notebooks)
    names = {exercise.number: exercise.name for chapter in chapters().values() for exercise in chapter.exercises}
    numbers = [number for number in names if any(number in own for own in marks.values())]
    rows = [["student", *numbers, "solved"]]
    for student, own in marks.items():
        rows.append([student, *(own.get(number, [""])[0] for number in numbers), _solved(own)])
    _write_csv(output / "marks.csv", rows)
    rows = [["exercise", "name", "mistake", "count", "students"]]
    for number, mistake, students in common_mistakes(marks):
        rows.append([number, names[number], mistake, len(students), "; ".join(students)])
    _write_csv(output / "mistakes.csv", rows)
    rows = [["student", "notebook", "chapters", "seconds", "problem", "failed cells"]]
    for found in notebooks:
        seconds, failed = f"{found.seconds:.1f}", "; ".join(found.errors)
        rows.append([found.student, found.name, "; ".join(found.chapters), seconds, found.problem, failed])
    _write_csv(output / "notebooks.csv", rows)


def _write_csv(path: Path, rows: Iterable[Sequence[Any]]) -> None:
    fresh = path.with_suffix(".tmp")
    with fresh.open("w", encoding="utf-8-sig", newline="") as file:  # with the mark that tells Excel of UTF-8
        csv.writer(file).writerows([_safe(cell) for cell in row] for row in rows)
    fresh.replace(path)


def _safe(cell: Any) -> str:
    """A cell's text that prints in one line and that no spreadsheet takes for a formula."""
    text = cut(str(cell), 1000)
    return f"'{text}" if text[:1] in [*"=+-@＝＋－＠"] else text


def _solved(own: dict[str, tuple[str, str]]) -> int:
    return sum(mark == "✓" for mark, _ in own.values())


def table(notebooks: Sequence[Notebook]) -> str:
    """What `write` writes, to be read: the marks by chapter, the common mistakes, and what could not be run."""
    marks = best_marks(notebooks)
    parts = []
    for name, chapter in chapters().items():
        numbers = [exercise.number for exercise in chapter.exercises]
        handed_in = {student: own for student, own in marks.items() if any(number in own for number in numbers)}
        if not handed_in:
            continue
        rows = [["", *numbers, "solved"]]
        for student, own in handed_in.items():
            of_chapter = {number: own[number] for number in numbers if number in own}
            solved = f"{_solved(of_chapter)} of {len(numbers)}"
            rows.append([cut(student, 40), *(of_chapter.get(number, [""])[0] for number in numbers), solved])
        by = [sum(own.get(number, [""])[0] == "✓" for own in handed_in.values()) for number in numbers]
        rows.append(["solved by", *map(str, by), f"of {len(handed_in)} students"])
        parts.append([f"Chapter {chapter.number}, {name.replace('_', ' ')}", *_aligned(rows)])
    if mistakes := common_mistakes(marks):
        rows = [[number, cut(mistake, 60), str(len(who)), cut(", ".join(who), 80)] for number, mistake, who in mistakes]
        parts.append(["Mistakes, the most common first", *_aligned(rows)])
    if troubled := [found for found in notebooks if found.problem or found.errors]:
        rows = [[cut(found.name, 60), cut(found.problem or f"failed: {', '.join(found.errors)}")] for found in troubled]
        parts.append(["Not run to the end, or not without an error", *_aligned(rows)])
    return "\n\n".join("\n".join(part) for part in parts)


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(_width, column)) for column in zip(*rows, strict=True)]
    return [
        "  " + "  ".join(cell + " " * (width - _width(cell)) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def _width(text: str) -> int:
    """The columns that a text takes in a terminal: two for a Chinese character, none for a combining accent."""
    return sum(
        0 if unicodedata.combining(letter) else 1 + (unicodedata.east_asian_width(letter) in "WF") for letter in text
    )


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m attention_live.checks")
    commands = parser.add_subparsers(required=True, metavar="grade")
    grade = commands.add_parser(
        "grade",
        description=DESCRIPTION,
        epilog=LIMITS,
        help="mark the notebooks of a class",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    jobs = max(1, (os.cpu_count() or 1) // 2)
    grade.add_argument("folder", metavar="FOLDER", type=Path)
    grade.add_argument("--output", type=Path, default=Path("grades"), help="a new folder for the results (grades)")
    grade.add_argument("--jobs", type=_positive(int), default=jobs, help=f"notebooks to run at once ({jobs})")
    grade.add_argument(
        "--time-limit",
        type=_positive(float),
        default=300.0,
        metavar="SECONDS",
        help="what a notebook may take, by the clock (300); a chapter of the book takes about 30",
    )
    grade.add_argument("--memory", type=_positive(float), default=4.0, metavar="GB", help="what a notebook may use (4)")
    options = parser.parse_args(arguments)
    if not options.folder.is_dir():
        grade.error(f"{options.folder} is not a folder")
    if os.path.lexists(options.output):
        grade.error(f"nothing is overwritten, and {options.output} exists: name another folder with --output")
    return options


def _positive(kind: type) -> Any:
    def number(text: str) -> Any:
        value = kind(text)
        if not 0 < value < float("inf"):
            raise ValueError
        return value

    return number


def main(arguments: Sequence[str] | None = None) -> None:
    """Grade as the command line says.

    Raises:
        SystemExit: with 2 if it asks for what cannot be, with 130 if it was interrupted; what was run is written.
    """
    options = _options(arguments)
    notebooks = find(options.folder)
    if not notebooks:
        raise SystemExit(f"there is no notebook below {options.folder}")
    options.output.mkdir(parents=True)
    done = [notebook for notebook in notebooks if notebook.problem]
    to_do = [notebook for notebook in notebooks if not notebook.problem]
    write(options.output, done)
    pool, runs = ThreadPoolExecutor(options.jobs), []
    try:
        for notebook in to_do:
            runs.append(pool.submit(run, notebook, options.time_limit, int(options.memory * 1e9)))
        for ended in tqdm(as_completed(runs), total=len(runs), unit="notebook", leave=False):
            done = sorted([*done, ended.result()], key=lambda notebook: (notebook.student, notebook.name))
            write(options.output, done)
    except BaseException as error:
        pool.shutdown(wait=False, cancel_futures=True)
        while not all(started.done() for started in runs):  # one of them may only now be starting its process
            for process in list(_running):
                _end(process)
            time.sleep(0.05)
        if isinstance(error, KeyboardInterrupt):
            raise SystemExit(130) from None
        raise
    finally:
        pool.shutdown()
        print(table(done))
        print(
            f"\n{len(done)} of {len(notebooks)} notebooks are in {options.output}/: marks, mistakes, notebooks (.csv)"
        )
