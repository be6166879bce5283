"""Grading a class: every notebook gets its row, whatever the others do."""

import contextlib
import csv
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import uuid
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output

from attention_live.checks import chapters, grade, replay
from attention_live.checks.grade import Notebook

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="what guards against hostile code is Linux's")

CHAPTER_00 = Path(__file__).parents[1] / "notebooks" / "00_start_here.ipynb"
SECONDS = 40.0
IMPORT = "from attention_live.checks import start_here as check"
RIGHT = "check.shares(lambda numbers: numbers / numbers.sum())"
LARGEST = "check.shares(lambda numbers: numbers / numbers.max())"


def save(path, *sources):
    """Write a notebook of these code cells."""
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(new_notebook(cells=[new_code_cell(textwrap.dedent(source)) for source in sources]), path)
    return path


def chapter_00(path, body):
    """Write the real chapter 00 with this line in the stub's place."""
    notebook = nbformat.read(CHAPTER_00, as_version=4)
    [stub] = [cell for cell in notebook.cells if "raise NotImplementedError" in cell.source]
    stub.source = stub.source.replace("raise NotImplementedError", body)
    path.parent.mkdir(parents=True)
    nbformat.write(notebook, path)


DEEDS = {
    "leaves": "import os; os._exit(3)",
    "crashes": "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)",
    "shoots its watch": "import os, signal, time; os.kill(os.getppid(), signal.SIGKILL); time.sleep(600)",
    "1 stops its watch": "import os, signal; os.kill(os.getppid(), signal.SIGSTOP)",
    "1 hangs": """
        import time
        while True:
            try:
                time.sleep(600)
            except BaseException:
                pass
        """,
    "closes everything": "import os; os.closerange(3, 1024)",
    "multiplies": """
        import os, subprocess, time
        for _ in range(30):  # two generations, out of the group, the first gone before the end
            if os.fork() == 0:
                os.setsid()
                if os.fork() == 0:
                    time.sleep(600)
                os._exit(0)
        subprocess.Popen(["sleep", "600"], start_new_session=True)
        """,
}
"""What stands between a right answer and the end of a notebook. Those with a 1 take longest, and so begin first."""

BAD_MANNERS = [
    "import sys; sys.exit(1)",
    "this is no Python",
    "not_defined",
    "input('your name?')",
    "print('x' * 10**8)\nfor _ in range(10**5): print('flood')",
    "bytearray(4 * 10**9)",
    "open('big', 'wb').truncate(2 * 10**9)",
    "import resource; from pathlib import Path\n"
    "assert resource.getrlimit(resource.RLIMIT_NPROC)[1] < len(list(Path('/proc').glob('[0-9]*/task/*'))) + 2000",
    "import time\nwhile True: time.sleep(0.1)",  # and not `pass`, which would keep the machine busy
    "import os, shutil\nfor place in ('.', '..', os.path.expanduser('~')): shutil.rmtree(place, ignore_errors=True)",
    "import threading, time; threading.Thread(target=time.sleep, args=(600,)).start()",
    "%matplotlib inline\nimport matplotlib.pyplot as plt; plt.plot([1, 2]); plt.show()",
    "import asyncio; await asyncio.sleep(0)",
    "class Evil(BaseException):\n    __str__ = __repr__ = lambda self: 1 / 0\nraise Evil",
]
FAKE = """
    import json, os
    fake = json.dumps({"exercise": "0.1", "mark": "✓", "mistake": ""})
    print(fake)
    for number in range(3, 64):
        try:
            os.write(number, f"\\n{fake}\\n{'0' * 32}{fake}\\n".encode())
        except OSError:
            pass
    """
REDEFINED = """
    class check:
        def shares(answer):
            print("✓ 0.1 the shares are right")
    print = get_ipython = None
    """
REFUSED = {
    "empty": (b"", "the file is empty"),
    "no JSON": (b'{"cells": [', "the file is no JSON, and so no notebook"),
    "no text": (b"\x89PNG\xff\x00", "the file is no JSON, and so no notebook"),
    "too deep": (b"[" * 10**6, "the file is no JSON, and so no notebook"),
    "a list": (b"[1]", "the file is no notebook"),
    "foreign": (b'{"cells": []}', "the file is no notebook"),
    "old": (b'{"nbformat": 3, "worksheets": []}', "the notebook is not of format 4: open it in JupyterLab and save it"),
    "odd cells": (
        b'{"nbformat": 4, "cells": {}}',
        "the notebook is not of format 4: open it in JupyterLab and save it",
    ),
    "odd cell": (b'{"nbformat": 4, "cells": [7]}', "cell 1 has no source"),
    "odd source": (b'{"nbformat": 4, "cells": [{"cell_type": "code", "source": [7]}]}', "cell 1 has no source"),
    "no cells": (b'{"nbformat": 4, "cells": []}', "the notebook has no cells"),
    "not ours": (
        b'{"nbformat": 4, "cells": [{"cell_type": "code", "source": "1 + 1"}]}',
        "no exercise of the book is in the notebook",
    ),
}
ODD_NAMES = [
    "=cmd()",
    "+1",
    "-1",
    "@x",
    "＝1",
    "<script>alert(1)",
    "x..y",
    "two\nlines",
    "\x1b[31mred",
    "李雷",
    "a;b,c'\"",
]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A class with everything in it, graded by the command's own function: what is written and what is said."""
    place = tmp_path_factory.mktemp("grade")
    work, output = place / "class", place / "results" / "grades"
    chapter_00(work / "alice" / "00_start_here.ipynb", "return numbers / numbers.sum()")
    save(work / "alice" / "again.ipynb", IMPORT, LARGEST)  # the better one counts
    save(work / "bob" / "deep" / "er" / "00.ipynb", IMPORT, LARGEST)
    save(work / "carol.ipynb", IMPORT, RIGHT, LARGEST)  # the last check of a notebook counts
    save(work / "dan" / "a.ipynb", IMPORT, "check.shares(lambda numbers: numbers + 1)", "check.progress()")
    for student, deed in DEEDS.items():
        save(work / student / "a.ipynb", IMPORT, RIGHT, deed)
    save(work / "bad manners" / "a.ipynb", IMPORT, *BAD_MANNERS, RIGHT)
    marker = place / "marker"
    commands = ["%pip install --quiet attention-live", f"!touch '{marker}'", f"%%bash\ntouch '{marker}'"]
    commands += [f"%sx touch '{marker}'", f"found = !touch '{marker}'", f"%%script sh\ntouch '{marker}'"]
    save(work / "installs" / "a.ipynb", IMPORT, *commands, RIGHT)
    save(work / "fakes" / "a.ipynb", IMPORT, LARGEST, FAKE)
    save(work / "redefines" / "a.ipynb", IMPORT, REDEFINED, RIGHT)
    output_of_100_MB = new_output("stream", name="stdout", text="x" * 10**8)
    huge = new_notebook(cells=[new_code_cell(IMPORT, outputs=[output_of_100_MB]), new_code_cell(RIGHT)])
    (work / "huge").mkdir()
    (work / "huge" / "a.ipynb").write_text(json.dumps(huge), encoding="utf-8")
    for student, (content, _) in REFUSED.items():
        (work / student).mkdir()
        (work / student / "a.ipynb").write_bytes(content)
    for student in [*ODD_NAMES, os.fsdecode(b"\xff")]:
        (work / student).mkdir()
        (work / student / "a.ipynb").touch()
    (work / "special").mkdir()
    (work / "special" / "link.ipynb").symlink_to(work / "carol.ipynb")
    (work / "special" / "broken link.ipynb").symlink_to(work / "nowhere")
    os.mkfifo(work / "special" / "pipe.ipynb")
    with (work / "special" / "too large.ipynb").open("wb") as file:
        file.truncate(replay.LARGEST_NOTEBOOK + 1)
    (work / "special" / "linked folder").symlink_to(place)
    for hidden in (".ipynb_checkpoints/a.ipynb", "special/.ipynb_checkpoints/a.ipynb", "special/._a.ipynb"):
        (work / hidden).parent.mkdir(exist_ok=True)
        (work / hidden).touch()
    before = tree(work)
    name = f"GRADE_{uuid.uuid4().hex}"
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(io.StringIO()) as said:
        patch.setenv(name, "1")
        patch.setattr(grade, "PATIENCE", 2)
        (place / "temporary").mkdir()
        (place / "temporary" / "somebody else's").touch()
        patch.setattr(tempfile, "tempdir", str(place / "temporary"))  # what is deleted by a failing guard is ours
        grade.main(
            ["grade", str(work), "--output", str(output), "--jobs", "3", "--time-limit", str(SECONDS), "--memory", "3"]
        )
    left_over = [path.name for path in (place / "temporary").iterdir()], processes_with(name)
    return Graded(output, said.getvalue(), before == tree(work), marker.exists(), left_over)


class Graded:
    """What a run left behind."""

    def __init__(self, output, said, is_untouched, has_marker, left_over):
        self.output, self.said = output, said
        self.is_untouched, self.has_marker, self.left_over = is_untouched, has_marker, left_over

    def rows(self, name):
        with (self.output / f"{name}.csv").open(encoding="utf-8-sig", newline="") as file:
            return list(csv.DictReader(file))

    def mark(self, student):
        [row] = [row for row in self.rows("marks") if row["student"] == student]
        return row["0.1"]

    def notebook(self, name):
        [row] = [row for row in self.rows("notebooks") if row["notebook"] == name]
        return row


def tree(folder):
    return {path: (path.lstat().st_mode, path.lstat().st_size) for path in folder.rglob("*")}


def processes_with(variable):
    """The processes, but this one, that run with an environment variable of this name."""
    found = []
    for environment in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if variable.encode() in environment.read_bytes() and environment.parent.name != str(os.getpid()):
                found.append((environment.parent / "stat").read_text())
    return found


# Who solved what


def test_marks(run):
    marks = {student: run.mark(student) for student in ("alice", "bob", "carol", "dan")}
    assert marks == {"alice": "✓", "bob": "✗", "carol": "✗", "dan": "✗"}
    assert list(run.rows("marks")[0]) == ["student", "0.1", "solved"]
    assert [row["solved"] for row in run.rows("marks") if row["student"] in ("alice", "bob")] == ["1", "0"]


def test_the_real_chapter_runs_without_an_error(run):
    row = run.notebook("alice/00_start_here.ipynb")
    assert (row["chapters"], row["problem"], row["failed cells"]) == ("start_here", "", "")


def test_common_mistakes(run):
    assert run.rows("mistakes") == [
        {"exercise": "0.1", "name": "shares", "mistake": mistake, "count": count, "students": students}
        for mistake, count, students in [
            ("divided by the largest", "3", "bob; carol; fakes"),
            ("the result is wrong in 2 of 2 numbers", "1", "dan"),
        ]
    ]


def test_the_table(run):
    lines = run.said.splitlines()
    assert lines[0] == "Chapter 0, start here"
    assert [line.split() for line in lines if line.startswith(("  alice  ", "  bob  "))] == [
        ["alice", "✓", "1", "of", "1"],
        ["bob", "✗", "0", "of", "1"],
    ]
    solved = sum(row["0.1"] == "✓" for row in run.rows("marks"))
    handed_in = sum(row["0.1"] != "" for row in run.rows("marks"))
    assert f"solved by {solved} of {handed_in} students".split() in [line.split() for line in lines]
    assert [line.split()[-4:] for line in lines if "divided by the largest" in line] == [
        ["3", "bob,", "carol,", "fakes"]
    ]
    total = len(run.rows("notebooks"))
    assert lines[-1].startswith(f"{total} of {total} notebooks are in ")


def test_chinese_names_line_up():
    assert grade._aligned([["李雷", "x"], ["abcd", "y"], ["e\u0301", "z"]]) == [
        "  李雷  x",
        "  abcd  y",
        "  e\u0301     z",
    ]


def test_chapters_are_told_from_imports_and_headings():
    numbers = {name: chapter.number for name, chapter in chapters().items()}

    def found(*cells):
        return replay._chapters_of(list(cells), numbers)

    assert found(("code", "from attention_live.checks import masks as check")) == ["masks"]
    assert found(("code", "  import attention_live.checks.masks as c")) == ["masks"]
    assert found(("code", "from attention_live.checks.start_here import shares")) == ["start_here"]
    assert found(("markdown", "text\n\n### Exercise 2.3 ●○○ 5 min")) == ["queries_keys_values"]
    assert found(("markdown", IMPORT), ("code", "### Exercise 2.3"), ("raw", IMPORT)) == []
    assert found(("code", "from attention_live.checks import engine")) == []


def test_what_was_not_reached_is_not_attempted_and_other_chapters_are_blank():
    first = Notebook("a", "a/1", Path(), chapters=["start_here"])
    second = Notebook("b", "b/1", Path(), chapters=["masks"], marks={"6.2": ("✗", "transposed")})
    best = grade.best_marks([first, second])
    assert best["a"] == {"0.1": ("○", "")}
    assert best["b"].keys() == {exercise.number for exercise in chapters()["masks"].exercises}
    assert best["b"]["6.2"] == ("✗", "transposed")
    third = Notebook("b", "b/2", Path(), chapters=["masks"], marks={"6.2": ("○", ""), "6.1": ("✓", "")})
    best = grade.best_marks([third, second])["b"]
    assert (best["6.1"], best["6.2"]) == (("✓", ""), ("✗", "transposed"))


# What goes wrong


@pytest.mark.parametrize("student", [*DEEDS, "bad manners", "installs", "huge"])
def test_what_was_right_before_or_after_a_bad_deed_counts(run, student):
    assert run.mark(student) == "✓"


@pytest.mark.parametrize(
    ("student", "problem"),
    {
        "leaves": "left in cell 3, with exit code 3",
        "crashes": "killed in cell 3 by SIGSEGV: out of memory, a crash, or by itself",
        "shoots its watch": "ended in cell 3, without a word of why",
        "1 stops its watch": "",
        "1 hangs": f"stopped in cell 3: it had taken {SECONDS:g} s",
        "closes everything": "left in cell 3, with exit code 0",
        "multiplies": "",
        "installs": "",
        "fakes": "",
        "redefines": "",
        "huge": "",
        "bad manners": "",
    }.items(),
)
def test_the_problem_is_told(run, student, problem):
    assert run.notebook(f"{student}/a.ipynb")["problem"] == problem
    assert not problem or f"  {student}/a.ipynb" in run.said


def test_a_cell_that_fails_does_not_stop_the_next(run):
    failed = run.notebook("bad manners/a.ipynb")["failed cells"].split("; ")
    kinds = [
        "SystemExit",
        "SyntaxError",
        "NameError",
        "EOFError",
        None,
        "MemoryError",
        "OSError",
        None,
        f"longer than {SECONDS / 5:g} s",
        None,
        None,
        None,
        None,
    ]
    expected = [f"cell {number}: {kind}" for number, kind in enumerate([*kinds, "Evil"], 2) if kind]
    assert failed == expected


def test_nothing_is_installed_and_no_program_started(run):
    assert not run.has_marker
    assert run.notebook("installs/a.ipynb")["failed cells"] == ""


def test_what_is_only_printed_counts_for_nothing(run):
    assert run.mark("fakes") == "✗"
    assert run.mark("redefines") == "○"


def test_nothing_goes_on_running_and_nothing_of_the_class_is_changed(run):
    assert run.left_over == (["somebody else's"], [])
    assert run.is_untouched


@pytest.mark.parametrize(("student", "problem"), [(name, problem) for name, (_, problem) in REFUSED.items()])
def test_what_is_no_notebook_of_the_book(run, student, problem):
    assert run.notebook(f"{student}/a.ipynb")["problem"] == problem
    assert run.mark(student) == ""


def test_what_is_no_file_or_too_large(run):
    problems = {row["notebook"]: row["problem"] for row in run.rows("notebooks") if row["student"] == "special"}
    assert problems == {
        "special/link.ipynb": "a link, which is not followed",
        "special/broken link.ipynb": "a link, which is not followed",
        "special/pipe.ipynb": "not a file",
        "special/too large.ipynb": "the file is larger than 200 MB",
    }


def test_odd_names_are_no_formulas_and_no_control_characters(run):
    written = {row["student"] for row in run.rows("marks")}
    assert {"'=cmd()", "'+1", "'-1", "'@x", "'＝1", "<script>alert(1)", "x..y", "李雷", "a;b,c'\""} <= written
    assert {r"two\nlines", r"\x1b[31mred", r"\udcff"} <= written
    text = run.said + "".join(path.read_text(encoding="utf-8-sig") for path in run.output.iterdir())
    assert "\x1b" not in text
    for path in run.output.iterdir():
        assert not [
            row for row in csv.reader(io.StringIO(path.read_text(encoding="utf-8-sig"))) if row[0][:1] in "=+-@"
        ]
    assert {path.name for path in run.output.iterdir()} == {"marks.csv", "mistakes.csv", "notebooks.csv"}


def test_what_may_not_be_read_is_told(tmp_path, monkeypatch):
    """As root everything may be read: the system's refusal is played."""

    def walk(folder, onerror):
        onerror(PermissionError(13, "Permission denied", str(tmp_path / "eve")))
        yield str(tmp_path), [], []

    monkeypatch.setattr(os, "walk", walk)
    [found] = grade.find(tmp_path)
    assert (found.student, found.problem) == ("eve", "cannot be looked into: Permission denied")
    monkeypatch.setattr(
        "builtins.open", lambda *arguments: (_ for _ in ()).throw(PermissionError(13, "Permission denied"))
    )
    with pytest.raises(replay.RefusedError, match="the file cannot be read: Permission denied"):
        replay.read_cells("eve.ipynb")


def test_a_machine_that_cannot_start_a_process_costs_no_result(tmp_path, monkeypatch):
    monkeypatch.setattr(
        subprocess, "Popen", lambda *_, **__: (_ for _ in ()).throw(BlockingIOError("no more processes"))
    )
    notebook = grade.run(Notebook("a", "a", save(tmp_path / "a.ipynb", IMPORT)), 10, 10**9)
    assert notebook.problem == "could not be run: no more processes"


def test_reports_that_cannot_be_are_ignored():
    notebook = Notebook("a", "a", Path())
    reports = [
        {"chapters": ["start_here", "nonsense", 7]},
        {"exercise": "0.1", "mark": "★", "mistake": ""},
        {"exercise": "77.1", "mark": "✓", "mistake": ""},
        {"exercise": ["0.1"], "mark": "✓", "mistake": ""},
        {"something": "else"},
        {"done": True},
    ]
    grade._note(notebook, reports, 1)
    assert (notebook.chapters, notebook.marks, notebook.problem) == (["start_here"], {}, "")


# The command line


def command(*arguments, **options):
    line = [sys.executable, "-m", "attention_live.checks", *map(str, arguments)]
    return subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL], ids=["interrupted", "killed"])
def test_what_was_run_before_the_end_is_written(tmp_path, how):
    save(tmp_path / "class" / "a" / "a.ipynb", IMPORT, RIGHT)
    save(tmp_path / "class" / "b" / "b.ipynb", IMPORT, "import time; time.sleep(600)")
    name, results = f"GRADE_{uuid.uuid4().hex}", tmp_path / "grades"
    environment = os.environ | {name: "1", "TMPDIR": str(tmp_path)}  # one that is killed cannot tidy up
    process = command("grade", tmp_path / "class", "--output", results, "--jobs", 1, env=environment)
    deadline = time.monotonic() + 120
    while not ((results / "marks.csv").exists() and "✓" in (results / "marks.csv").read_text(encoding="utf-8")):
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.1)
    process.send_signal(how)
    said, _ = process.communicate(timeout=60)
    if how == signal.SIGINT:
        assert process.returncode == 130
        assert "1 of 2 notebooks are in " in said
    while left := processes_with(name):
        assert time.monotonic() < deadline, left
        time.sleep(0.1)
    assert (results / "marks.csv").read_text(encoding="utf-8-sig").splitlines() == ["student,0.1,solved", "a,✓,1"]


def test_an_interrupt_also_ends_a_process_that_is_just_starting(tmp_path, monkeypatch, capsys):
    save(tmp_path / "class" / "a" / "a.ipynb", IMPORT, RIGHT)
    save(tmp_path / "class" / "b" / "b.ipynb", IMPORT, "import time; time.sleep(600)")
    started, interrupted = [threading.Event(), threading.Event()], threading.Event()

    class Late(set):
        def add(self, process):
            if started[0].is_set():
                started[1].set()
                interrupted.wait(60)
                time.sleep(0.5)  # by now, those that were known to run have been ended
            started[0].set()
            super().add(process)

    def write(folder, done):
        if done:
            started[1].wait(60)
            interrupted.set()
            raise KeyboardInterrupt

    monkeypatch.setattr(grade, "_running", Late())
    monkeypatch.setattr(grade, "write", write)
    options = ["--output", f"{tmp_path}/grades", "--jobs", "1", "--time-limit", "3000"]
    start = time.monotonic()
    with pytest.raises(SystemExit, match="130"):
        grade.main(["grade", f"{tmp_path}/class", *options])
    assert time.monotonic() - start < 300, "b was left to run for its 600 seconds"
    assert "1 of 2 notebooks" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["missing"], "missing is not a folder"),
        (["empty"], "there is no notebook below empty"),
        (["class", "--output", "empty"], "nothing is overwritten, and empty exists: name another folder with --output"),
        (["class", "--jobs", "0"], "--jobs"),
        (["class", "--time-limit", "inf"], "--time-limit"),
        (["class", "--memory", "much"], "--memory"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_run(arguments, complaint, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("empty").mkdir()
    save(Path("class", "a.ipynb"), IMPORT)
    with pytest.raises(SystemExit) as stopped:
        grade.main(["grade", *arguments])
    assert complaint in f"{stopped.value.code}{capsys.readouterr().err}"
    assert stopped.value.code not in (0, None)
    assert {path.name for path in tmp_path.iterdir()} == {"empty", "class"}


def test_help_says_what_is_not_guarded_against(capsys):
    with pytest.raises(SystemExit, match=r"^0$"):
        grade.main(["grade", "--help"])
    said = capsys.readouterr().out
    for words in ("A student is named by the folder", "runs with your rights", "container", "Windows"):
        assert words in " ".join(said.split())
