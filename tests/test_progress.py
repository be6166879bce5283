"""A reader's progress is kept, on their own disk, whatever happens to the file."""

import errno
import json
import os
import subprocess
import sys
import textwrap
import time
import types
from pathlib import Path

import nbformat
import pytest
import torch

from attention_live.checks import chapters, masks, progress, start_here
from attention_live.checks.engine import Case, Chapter, Mistake
from attention_live.checks.progress import FORMAT, VERSION, LaterVersionError, Store, UnreadableError, folder, merged

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))
import run_notebooks

SHARES = next(exercise for exercise in start_here.chapter.exercises if exercise.name == "shares")


def new_kernel():
    """Forget all that is in memory alone."""
    vars(progress.store).update(vars(Store()))


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    """The folder of the progress, not made yet."""
    monkeypatch.setenv("ATTENTION_LIVE_PROGRESS", str(tmp_path / "kept" / "here"))
    new_kernel()
    yield tmp_path / "kept" / "here"
    new_kernel()


@pytest.fixture
def record(place):
    """The file of the progress, with nothing in it."""
    place.mkdir(parents=True)
    return written(place / "progress.json")


@pytest.fixture
def lines(capsys):
    """What a function shows, line by line."""

    def shown(function, *arguments, **options):
        capsys.readouterr()
        function(*arguments, **options)
        return capsys.readouterr().out.splitlines()

    return shown


def written(path, exercises=(), **more):
    path.write_text(json.dumps({FORMAT: VERSION, "exercises": dict(exercises), **more}), encoding="utf-8")
    return path


def solve():
    assert SHARES.mark(lambda numbers: numbers / numbers.sum()).mark == "✓"


def fail():
    assert SHARES.mark(lambda numbers: numbers).mark == "✗"


def stub(numbers):
    raise NotImplementedError


def state():
    return {"tried": "✗", "solved": "✓"}.get(progress.store.words().get("0.shares"), "○")


# What is shown


def test_an_untouched_chapter_looks_the_same_everywhere(lines, place):
    assert lines(start_here.progress) == [
        "○ 0 of 1 exercises solved",
        "    ○ 0.1  shares",
        "    book   0 solved in all; check.progress.book() shows the chapters",
    ]
    assert lines(masks.progress)[0] == f"○ 0 of {len(masks.chapter.exercises)} exercises solved"
    assert not place.exists(), "to look leaves no trace"


def test_the_mark_of_the_chapter_and_of_the_book(lines):
    fail()
    assert lines(start_here.progress)[:2] == ["○ 0 of 1 exercises solved", "    ✗ 0.1  shares"]
    solve()
    assert lines(start_here.progress) == [
        "✓ 1 of 1 exercises solved",
        "    ✓ 0.1  shares",
        "    book   1 solved in all; check.progress.book() shows the chapters",
    ]
    assert lines(masks.progress)[-1] == "    book   1 solved in all; check.progress.book() shows the chapters"


def test_the_whole_book(lines, place):
    solve()
    shown = lines(masks.progress.book)
    count = sum(len(chapter.exercises) for chapter in chapters().values())
    assert shown[0] == f"○ 1 of {count} exercises solved"
    assert shown[1] == "    ✓ 0      1 of 1  start here"
    assert f"    ○ 6      0 of {len(masks.chapter.exercises)}  masks" in shown
    assert len(shown) == 1 + len(chapters()) + 1
    assert shown[-1] == f"    kept in  {place / 'progress.json'}, and sent nowhere"


def test_chapters_come_in_the_books_order():
    numbers = [int(chapter.number) for chapter in chapters().values()]
    assert numbers == sorted(numbers)
    assert numbers[0] == 0


def test_no_two_exercises_share_a_key():
    keys = [exercise.key for chapter in chapters().values() for exercise in chapter.exercises]
    assert len(set(keys)) == len(keys)
    assert SHARES.key == "0.shares"


def test_what_it_can_do_is_found_by_tab():
    assert {name for name in dir(start_here.progress) if name[0] != "_"} == {"book", "export", "reset", "restore"}
    assert "progress.book()" in repr(start_here.progress)


def test_outputs_are_stored_without_the_progress_of_whoever_stores_them(tmp_path):
    solve()
    path = tmp_path / "a.ipynb"
    code = "from attention_live.checks import start_here as check\ncheck.progress()"
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)]), path)
    run_notebooks.run(path)
    [output] = nbformat.read(path, as_version=4).cells[0].outputs
    assert output.data["text/plain"].startswith("○ 0 of 1 exercises solved")
    assert state() == "✓"


# What is kept


def test_solved_stays_solved_in_a_new_kernel_that_meets_the_stub():
    solve()
    new_kernel()
    SHARES.mark(stub)
    assert state() == "✓"
    fail()
    assert state() == "✓"
    assert SHARES.state == "✗", "the latest mark is another thing"


def test_tried_stays_tried_until_it_is_solved():
    fail()
    new_kernel()
    SHARES.mark(stub)
    assert state() == "✗"
    solve()
    assert state() == "✓"


def test_a_stub_writes_nothing(place):
    SHARES.mark(stub)
    SHARES.mark(...)
    assert not place.exists()


def test_nothing_is_written_again_that_is_there(record):
    solve()
    before = record.stat()
    solve()
    fail()
    assert (record.stat().st_ino, record.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_what_this_version_does_not_know_is_kept_and_not_shown(record, lines):
    unknown = {"99.gone": "solved", "6.reach": ["odd"], "6.causal_mask": "dreamt of"}
    written(record, unknown, colour="blue")
    solve()
    assert json.loads(record.read_text(encoding="utf-8")) == {
        FORMAT: VERSION,
        "exercises": unknown | {"0.shares": "solved"},
        "colour": "blue",
    }
    assert not [line for line in lines(masks.progress)[1:-1] if "○" not in line]
    assert lines(masks.progress)[-1].split()[1] == "1"


@pytest.mark.parametrize("first", ["tried", "solved", "dreamt of", None])
@pytest.mark.parametrize("second", ["tried", "solved", "dreamt of", None])
def test_merging_loses_nothing(first, second):
    best = next((word for word in ("solved", "tried") if word in (first, second)), first)
    assert merged({"a": first, "b": 1}, {"a": second, "c": 2}) == {"a": best, "b": 1, "c": 2}


def test_a_renumbered_exercise_keeps_its_mark(place):
    for number in ("7.1", "7.2"):
        chapter = Chapter()
        mistake = Mistake("unchanged", lambda x: x, "double it.")
        exercise = chapter.exercise(
            number, "double", reference=lambda x: 2 * x, cases=[Case({"x": 3})], mistakes=[mistake], verified="it is"
        )
        if number == "7.1":
            exercise.mark(lambda x: 2 * x)
        assert progress.store.words() == {"7.double": "solved"}
        assert exercise.key == "7.double"


# Where it is kept


def test_the_place(monkeypatch, tmp_path):
    monkeypatch.setenv("ATTENTION_LIVE_PROGRESS", "here")
    assert folder() == Path("here")
    monkeypatch.delenv("ATTENTION_LIVE_PROGRESS")
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", "/data")
    monkeypatch.setenv("LOCALAPPDATA", "/local")
    places = {}
    for system in ("linux", "darwin", "win32"):
        monkeypatch.setattr(sys, "platform", system)
        places[system] = folder()
    assert places == {
        "linux": Path("/data/attention-live"),
        "darwin": tmp_path / "Library" / "Application Support" / "attention-live",
        "win32": Path("/local/attention-live"),
    }
    monkeypatch.delenv("LOCALAPPDATA")
    assert folder() == tmp_path / "AppData" / "Local" / "attention-live"
    monkeypatch.setattr(sys, "platform", "linux")
    for value in ("", "not/absolute"):
        monkeypatch.setenv("XDG_DATA_HOME", value)
        assert folder() == tmp_path / ".local" / "share" / "attention-live"


def test_a_user_without_a_home_still_gets_marks(monkeypatch, lines):
    def homeless():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("ATTENTION_LIVE_PROGRESS")
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(Path, "home", homeless)
    solve()
    assert "Could not determine home directory" in lines(start_here.progress)[-1]
    assert "Could not determine home directory" in lines(start_here.progress.book)[-1]


def test_colab_says_that_it_forgets(monkeypatch, lines):
    assert "Colab" not in "".join(lines(start_here.progress))
    monkeypatch.setitem(sys.modules, "google.colab", types.ModuleType("google.colab"))
    for show in (start_here.progress, start_here.progress.book):
        assert lines(show)[-1].startswith("    Colab")
        assert "forgets this when the session ends: check.progress.export(" in lines(show)[-1]


# What goes wrong


def test_a_place_that_cannot_be_written_fails_no_check_and_is_told(tmp_path, monkeypatch, lines):
    (tmp_path / "file").touch()
    monkeypatch.setenv("ATTENTION_LIVE_PROGRESS", str(tmp_path / "file" / "below"))
    solve()
    shown = lines(start_here.progress)
    assert shown[:2] == ["✓ 1 of 1 exercises solved", "    ✓ 0.1      shares"]
    assert shown[-1].startswith("    not saved  [Errno 20] Not a directory")
    assert shown[-1].endswith("It is remembered until this kernel stops.")
    monkeypatch.setenv("ATTENTION_LIVE_PROGRESS", str(tmp_path / "better"))
    assert "not saved" not in "".join(lines(start_here.progress)), "it is tried again"
    new_kernel()
    assert state() == "✓"


def test_a_full_disk_leaves_the_old_file(record, monkeypatch):
    written(record, {"6.reach": "solved"})
    before = record.read_bytes()

    def full(handle):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        solve()
        assert progress.store.words() == {"6.reach": "solved", "0.shares": "solved"}
        assert "No space left" in progress.store.problem
    assert record.read_bytes() == before
    assert {path.name for path in record.parent.iterdir()} == {"progress.json", "progress.lock"}
    assert progress.store.words() == {"6.reach": "solved", "0.shares": "solved"}
    assert "solved" in json.loads(record.read_text(encoding="utf-8"))["exercises"]["0.shares"]


BROKEN = {
    "no JSON": b'{"attention-live progress": 1, "exerc',
    "empty": b"",
    "no text": b"\xff\xfe\x00",
    "too deep": b"[" * 100_000,
    "a list": b"[]",
    "foreign": b'{"name": "another program"}',
    "version missing": b'{"exercises": {}}',
    "version odd": b'{"attention-live progress": "1", "exercises": {}}',
    "exercises odd": b'{"attention-live progress": 1, "exercises": []}',
    "too large": b" " * 2 * 10**6,
}


@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN)
def test_a_broken_or_foreign_file_is_put_aside_and_kept(record, content, lines):
    record.write_bytes(content)
    first = lines(start_here.progress)
    assert first[-1].startswith("    not read  ")
    assert str(record) in first[-1]
    assert record.read_bytes() == content, "to look changes nothing"
    for number in (1, 2):
        record.write_bytes(content)
        solve()
        aside = record.with_name(f"progress-unreadable-{number}.json")
        assert aside.read_bytes() == content
        assert lines(start_here.progress)[-1].endswith(f"; it was kept as {aside.name}")
        assert state() == "✓"


def test_a_folder_in_the_files_place(record, lines):
    record.unlink()
    record.mkdir()
    solve()
    assert "not saved" in lines(start_here.progress)[-1]
    assert record.is_dir()


def test_a_file_of_a_later_version_is_left_alone(record, lines):
    record.write_text(json.dumps({FORMAT: VERSION + 1, "exercises": {"0.shares": "mastered"}}), encoding="utf-8")
    before = record.read_bytes()
    solve()
    assert lines(start_here.progress)[1].split() == ["✓", "0.1", "shares"]
    assert "written by a later version of the book" in lines(start_here.progress)[-1]
    with pytest.raises(LaterVersionError):
        start_here.progress.reset()
    assert record.read_bytes() == before
    assert {path.name for path in record.parent.iterdir()} <= {"progress.json", "progress.lock"}


def test_two_notebooks_at_once_lose_nothing(record):
    code = """
        import sys
        from attention_live.checks.progress import store
        for number in range(60):
            store.remember(f"{sys.argv[1]}.exercise_{number}", "✓")
        assert not store.problem, store.problem
        """
    command = [sys.executable, "-c", textwrap.dedent(code)]
    processes = [subprocess.Popen([*command, name]) for name in ("left", "right")]
    assert [process.wait() for process in processes] == [0, 0]
    assert progress.store.words() == {
        f"{name}.exercise_{number}": "solved" for name in ("left", "right") for number in range(60)
    }


@pytest.mark.skipif(progress.fcntl is None, reason="no locks here")
def test_a_notebook_that_holds_the_lock_for_ever_stops_no_other(record, monkeypatch, lines):
    monkeypatch.setattr(progress, "PATIENCE", 0.1)
    with record.with_name("progress.lock").open("a") as file:
        progress.fcntl.flock(file, progress.fcntl.LOCK_EX)
        start = time.monotonic()
        solve()
        assert time.monotonic() - start < 5
        assert "is held by another notebook" in lines(start_here.progress)[-1]
    assert state() == "✓"
    assert not progress.store.unsaved


@pytest.mark.parametrize("locks", ["none", "refused"])
def test_without_locks_it_goes_on(record, monkeypatch, locks):
    def refuse(*arguments):
        raise OSError(errno.ENOLCK, "No locks available")

    if locks == "refused":
        monkeypatch.setattr(progress.fcntl, "flock", refuse)
    else:
        monkeypatch.setattr(progress, "fcntl", None)
    solve()
    assert json.loads(record.read_text(encoding="utf-8"))["exercises"] == {"0.shares": "solved"}


def test_an_answer_that_breaks_what_the_store_needs_still_gets_its_mark(monkeypatch):
    monkeypatch.setattr(json, "dump", lambda *arguments, **options: 1 / 0)
    solve()
    assert progress.store.problem == "division by zero"


def test_the_answer_runs_before_anything_is_written(record):
    """Not within its time limit either, which could strike in the middle of a write."""
    seen = []

    def my_shares(numbers):
        seen.append(json.loads(record.read_text(encoding="utf-8"))["exercises"])
        return numbers / torch.sum(numbers)

    assert SHARES.mark(my_shares).mark == "✓"
    assert seen
    assert not any(seen)


# Reset, export, restore


def test_reset_forgets_the_chapter_and_can_be_undone(record, lines):
    written(record, {"6.reach": "solved", "99.gone": "solved"})
    solve()
    before = record.read_bytes()
    shown = lines(start_here.progress.reset)
    backup = record.with_name("progress-before-reset-1.json")
    assert shown == [
        "✓ forgotten: 1 solved, 0 only tried",
        f"    kept as    {backup}",
        f"    undo with  check.progress.restore({str(backup)!r})",
    ]
    assert SHARES.state == "○"
    assert progress.store.words() == {"6.reach": "solved", "99.gone": "solved"}
    assert lines(start_here.progress.restore, str(backup))[0] == "✓ restored: 3 solved, 0 only tried"
    assert json.loads(record.read_bytes()) == json.loads(before)


def test_reset_of_the_book_keeps_every_copy(record):
    for number in (1, 2):
        written(record, {"6.reach": "tried", "99.gone": "solved"})
        solve()
        start_here.progress.reset(book=True)
        assert progress.store.words() == {"99.gone": "solved"}
        backup = record.with_name(f"progress-before-reset-{number}.json")
        assert json.loads(backup.read_text(encoding="utf-8"))["exercises"]["6.reach"] == "tried"


def test_reset_of_nothing_leaves_no_trace(place, lines):
    assert lines(start_here.progress.reset) == ["○ there is nothing to forget: no exercise was tried"]
    assert not place.exists()


def test_reset_that_cannot_write_changes_nothing(record, monkeypatch):
    solve()
    before = record.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", lambda *paths: (_ for _ in ()).throw(PermissionError("not here")))
        with pytest.raises(PermissionError):
            start_here.progress.reset()
    assert record.read_bytes() == before
    assert SHARES.state == "✓"


def test_export_and_restore_elsewhere(tmp_path, monkeypatch, lines):
    fail()
    written(progress.store.path, {"0.shares": "tried", "6.reach": "solved"})
    target = tmp_path / "my-progress.json"
    monkeypatch.chdir(tmp_path)
    shown = lines(start_here.progress.export, "my-progress.json")
    assert shown == ["✓ exported: 1 solved, 1 only tried", f"    written to  {target}"]
    monkeypatch.setenv("ATTENTION_LIVE_PROGRESS", str(tmp_path / "other machine"))
    solve()
    assert lines(start_here.progress.restore, target) == ["✓ restored: 1 solved, 1 only tried"]
    assert progress.store.words() == {"0.shares": "solved", "6.reach": "solved"}


def test_export_overwrites_nothing(tmp_path):
    target = tmp_path / "thesis.json"
    target.write_text("years of work")
    with pytest.raises(FileExistsError, match=r"export overwrites nothing, and .*thesis\.json exists"):
        start_here.progress.export(target)
    assert target.read_text() == "years of work"
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*missing to write p\.json to"):
        start_here.progress.export(tmp_path / "missing" / "p.json")


def test_restore_refuses_what_is_no_record(tmp_path, record):
    foreign = tmp_path / "foreign.json"
    foreign.write_text("{}")
    with pytest.raises(UnreadableError, match=r"foreign\.json is no progress of this book"):
        start_here.progress.restore(foreign)
    with pytest.raises(LaterVersionError, match="later version"):
        start_here.progress.restore(written(foreign, **{FORMAT: VERSION + 1}))
    with pytest.raises(FileNotFoundError):
        start_here.progress.restore(tmp_path / "missing.json")
    assert progress.store.words() == {}
