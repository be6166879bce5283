"""Runs one student's notebook and reports every mark as it is given. Started by grade.py, as a script of its own.

The job comes as JSON by standard input: {"notebook": a path, "token": …, "path": Python's search path, "seconds": …,
"cell_seconds": …, "bytes": of memory}. The reports go out by what was standard output, each a line of JSON behind the
token, so that nothing a student prints is taken for one; standard output and errors lead nowhere from then on.

    {"refused": why}             the file is no notebook, or none of this book; nothing was run
    {"chapters": [module, …]}    whose exercises it works on, before the first cell is run
    {"cell": 3}                  the third cell of the notebook begins
    {"error": "NameError"}       it stopped with this, or "longer than 60 s"; the next one is run all the same
    {"exercise": "2.3", "mark": "✗", "mistake": its name, or what the check says, or ""}
    {"done": true}               the last cell has ended
    {"end": exit code}           how the process ended: minus the signal's number if by one, null if out of time

On Linux and macOS, a process that imports none of the student's code watches the one that does, ends it in time, and
then, on Linux, whatever that one has started.
"""

import contextlib
import ctypes
import json
import os
import re
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

try:
    import resource
except ImportError:  # Windows
    resource = None

LARGEST_NOTEBOOK = 200 * 10**6  # bytes
LARGEST_FILE = 10**9  # bytes that a student's code may write to one file
MORE_PROCESSES = 256  # than there are, threads included; no limit for root
SET_PARENT_DEATH_SIGNAL, SET_CHILD_SUBREAPER = 1, 36  # of prctl, Linux
# The magics that do nothing here: those that start programs, and the one that says how figures are shown.
SILENT = ["matplotlib", "pip", "conda", "mamba", "micromamba", "uv", "system", "sx", "script", "cmd", "sh", "bash"]
SILENT += ["perl", "ruby", "python", "python2", "python3", "pypy"]


class RefusedError(Exception):
    """A file is not run, for the reason given."""


def main() -> None:
    """Do the job on standard input."""
    job = json.load(sys.stdin)
    report = _reporter(job["token"])
    if hasattr(os, "fork"):
        _fork_and_watch(report, job["seconds"])
    _set_limits(job["bytes"])
    sys.path[:] = job["path"]
    try:
        _replay(job, report)
    except RefusedError as error:
        report(refused=str(error))
    os._exit(0)  # whatever threads and exit handlers the student has left


def _reporter(token: str) -> Callable[..., None]:
    """What sends reports by this process's standard output, which no print reaches any more."""
    channel, nothing = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    for output in (1, 2):
        os.dup2(nothing, output)

    def report(**record: Any) -> None:
        with contextlib.suppress(OSError):  # a student may have closed the channel
            os.write(channel, f"\n{token}{json.dumps(record)}\n".encode())

    return report


def _fork_and_watch(report: Callable[..., None], seconds: float) -> None:
    """Return in a new process, and stay behind to end it after `seconds` and to report how it ended."""
    _set_process_option(SET_CHILD_SUBREAPER, 1)  # so that nothing that is started below gets out of sight
    grader, watch, deadline = os.getppid(), os.getpid(), time.monotonic() + seconds
    replay = os.fork()
    if not replay:
        _set_process_option(SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
        if os.getppid() != watch:
            os._exit(1)  # it died in between
        return
    status = None
    while status is None and time.monotonic() < deadline and os.getppid() == grader:
        ended, found = os.waitpid(-1, os.WNOHANG)
        if ended == replay:
            status = found
        elif not ended:
            time.sleep(0.02)
    _end_descendants()
    report(end=None if status is None else os.waitstatus_to_exitcode(status))
    os._exit(0)


def _set_process_option(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def _end_descendants() -> None:
    """Kill what this process has started, directly or not, until there is nothing left (Linux)."""
    deadline = time.monotonic() + 10  # what the kernel does not let go of in that time, it does not let go of
    while (descendants := _descendants(os.getpid())) and time.monotonic() < deadline:
        for descendant in descendants:
            with contextlib.suppress(ProcessLookupError):
                os.kill(descendant, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        time.sleep(0.01)


def _descendants(ancestor: int) -> set[int]:
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parents[int(stat.parent.name)] = int(stat.read_text(errors="replace").rpartition(")")[2].split()[1])
    found = {ancestor}
    while more := {process for process, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {ancestor}


def _set_limits(memory: int) -> None:
    """Limit what this process may take, as far as the system can."""
    if not resource:
        return
    limits = {resource.RLIMIT_DATA: memory, resource.RLIMIT_FSIZE: LARGEST_FILE, resource.RLIMIT_CORE: 0}
    if sys.platform == "linux":
        limits[resource.RLIMIT_NPROC] = len(list(Path("/proc").glob("[0-9]*/task/[0-9]*"))) + MORE_PROCESSES
    for kind, value in limits.items():
        hard = resource.getrlimit(kind)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        with contextlib.suppress(OSError, ValueError):  # macOS refuses some
            resource.setrlimit(kind, (value, value))


def read_cells(path: str) -> list[tuple[str, str]]:
    """The type and the source of each cell of a notebook.

    Raises:
        RefusedError: it cannot be read as a notebook.
    """
    try:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            if not size:
                raise RefusedError("the file is empty")
            if size > LARGEST_NOTEBOOK:
                raise RefusedError(f"the file is larger than {LARGEST_NOTEBOOK // 10**6} MB")
            content = json.load(file)
    except OSError as error:
        raise RefusedError(f"the file cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise RefusedError("the file is no JSON, and so no notebook") from None
    except MemoryError:
        raise RefusedError("the file is too large for the memory") from None
    if not isinstance(content, dict) or "nbformat" not in content:
        raise RefusedError("the file is no notebook")
    cells = content.get("cells")
    if content["nbformat"] != 4 or not isinstance(cells, list):
        raise RefusedError("the notebook is not of format 4: open it in JupyterLab and save it")
    read = []
    for number, cell in enumerate(cells, 1):
        source = cell.get("source") if isinstance(cell, dict) else None
        source = [source] if isinstance(source, str) else source
        if not isinstance(source, list) or not all(isinstance(line, str) for line in source):
            raise RefusedError(f"cell {number} has no source")
        read.append((str(cell.get("cell_type")), "".join(source)))
    if not read:
        raise RefusedError("the notebook has no cells")
    return read


def _replay(job: dict[str, Any], report: Callable[..., None]) -> None:
    cells = read_cells(job["notebook"])
    import torch

    from attention_live.checks import chapters
    from attention_live.checks.compare import class_name, cut
    from attention_live.checks.engine import Exercise, Result
    from attention_live.checks.guard import TimeUp, time_limit

    worked_on = _chapters_of(cells, {name: chapter.number for name, chapter in chapters().items()})
    if not worked_on:
        raise RefusedError("no exercise of the book is in the notebook")
    report(chapters=worked_on)

    mark = Exercise.mark

    def mark_and_report(exercise: Exercise, answer: Any) -> Result:
        result = mark(exercise, answer)
        said = result.text.removeprefix(f"{exercise.number} ") if result.mark == "✗" else ""
        report(exercise=exercise.number, mark=result.mark, mistake=result.mistake or said)
        return result

    Exercise.mark = mark_and_report
    torch.set_num_threads(1)
    run_cell = _shell().run_cell
    for number, (kind, source) in enumerate(cells, 1):
        if kind != "code":
            continue
        report(cell=number)
        try:
            with time_limit(job["cell_seconds"]):
                result = run_cell(source)
            error = result.error_before_exec or result.error_in_exec
        except BaseException as raised:  # time ran out once more while the first time was dealt with
            error = raised
        if error is not None:
            kind = class_name(type(error))
            report(error=f"longer than {job['cell_seconds']:g} s" if isinstance(error, TimeUp) else cut(kind))
        with contextlib.suppress(Exception):  # a figure that was shown in Jupyter is closed after its cell
            sys.modules["matplotlib.pyplot"].close("all")
    report(done=True)


def _chapters_of(cells: list[tuple[str, str]], numbers: dict[str, str]) -> list[str]:
    """The chapters' modules of exercises that the code imports, or whose exercises the text has headings for."""
    code = "\n".join(source for kind, source in cells if kind == "code")
    text = "\n".join(source for kind, source in cells if kind == "markdown")
    imported = re.findall(r"^\s*(?:from|import)\s+attention_live\.checks(?:\.|\s+import\s+)(\w+)", code, re.MULTILINE)
    headed = re.findall(r"^### Exercise (\d+)\.\d", text, re.MULTILINE)
    return [name for name, number in numbers.items() if name in imported or number in headed]


def _shell() -> Any:
    """IPython as in a notebook, but without a history, without pictures, and without starting other programs."""
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    shell = InteractiveShell.instance(config=Config({"HistoryManager": {"enabled": False}}))
    shell.display_formatter.active_types = ["text/plain"]
    shell.showtraceback = shell.showsyntaxerror = lambda *arguments, **options: None
    shell.system = lambda command: None
    shell.getoutput = lambda command, split=True, depth=0: []
    for kind in ("line", "cell"):
        for name in SILENT:
            shell.register_magic_function(lambda line, cell="": None, kind, name)
    return shell


if __name__ == "__main__":
    main()
