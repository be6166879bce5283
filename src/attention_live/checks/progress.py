"""What a reader has solved: kept in one small file on the reader's own disk, and sent nowhere.

The file lies in the folder that the environment variable ATTENTION_LIVE_PROGRESS names, else where the system keeps
a user's data. It says of each exercise "tried" or "solved", and only ever gains: what was once solved stays solved,
also when Restart and Run All meets the untouched stub again. What this version of the book does not know in it stays.

Several notebooks may write at once: each takes a lock (not on Windows), reads, adds its marks, and puts a whole new
file in the old one's place. A file that is no such file is put aside before anything is written; one of a later
version is left alone. What cannot be saved stays in memory and is tried again; no check ever fails for it.
"""

import contextlib
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import chapters
from .result import Result, show

if TYPE_CHECKING:
    from .engine import Exercise

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

WORDS = {"✗": "tried", "✓": "solved"}  # as they stand in the file
FORMAT, VERSION = "attention-live progress", 1
LARGEST = 10**6  # bytes; the file of the whole book has a few thousand
PATIENCE = 2.0  # seconds to wait for another notebook that is writing


class UnreadableError(ValueError):
    """A file holds no progress of this book."""


class LaterVersionError(ValueError):
    """A file was written by a later version of the book."""


def folder() -> Path:
    """Where the progress is kept."""
    if named := os.environ.get("ATTENTION_LIVE_PROGRESS"):
        return Path(named)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "attention-live"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "attention-live"
    data = os.environ.get("XDG_DATA_HOME", "")
    return Path(data if os.path.isabs(data) else Path.home() / ".local" / "share") / "attention-live"


def read(path: Path) -> dict[str, Any]:
    """What a file of progress holds: {FORMAT: VERSION, "exercises": {"2.scores": "solved", …}, …}.

    Raises:
        UnreadableError, LaterVersionError: as they say.
        OSError: the file is missing or may not be read.
    """
    if path.stat().st_size > LARGEST:
        raise UnreadableError(f"{path} is no progress of this book: it is too large")
    try:
        content = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        raise UnreadableError(f"{path} is no progress of this book: it is no JSON") from None
    version = content.get(FORMAT) if isinstance(content, dict) else None
    if not isinstance(version, int) or not isinstance(content.get("exercises"), dict):
        raise UnreadableError(f"{path} is no progress of this book")
    if version > VERSION:
        raise LaterVersionError(f"{path} was written by a later version of the book")
    return content


def merged(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """Both together; of two words for one exercise the one that says more. An unknown word says nothing."""
    ranks = {word: rank for rank, word in enumerate(WORDS.values(), 1)}

    def rank(word: Any) -> int:
        return ranks.get(word, 0) if isinstance(word, str) else 0

    both = dict(first)
    for key, word in second.items():
        if key not in both or rank(word) > rank(both[key]):
            both[key] = word
    return both


class Store:
    """The file, and what could not be written to it yet."""

    def __init__(self):
        self.unsaved: dict[str, str] = {}
        self.put_aside = ""  # in words, what stood in the file's place and where it is now
        self.problem = ""  # why the latest attempt to read or write failed

    @property
    def path(self) -> Path:
        """The file."""
        return folder() / "progress.json"

    def remember(self, key: str, mark: str) -> None:
        """Save a mark (○ says nothing new). Raises nothing but the user's own `KeyboardInterrupt`."""
        if mark in WORDS:
            self.unsaved = merged(self.unsaved, {key: WORDS[mark]})
            self.words()

    def words(self) -> dict[str, Any]:
        """The word, "tried" or "solved", for each exercise, after saving what was unsaved. Raises nothing either."""
        self.problem, stored = "", {}
        try:
            try:
                stored = read(self.path)["exercises"]
            except FileNotFoundError:
                pass
            except UnreadableError:
                if not self.unsaved:  # else it is put aside below
                    raise
            if merged(stored, self.unsaved) != stored:
                stored = self.change(lambda exercises: merged(exercises, self.unsaved))
            self.unsaved = {}
        except Exception as error:  # whatever it is, a check goes on
            self.problem = str(error)
        return merged(stored, self.unsaved)

    def change(self, edit: Callable[[dict[str, Any]], dict[str, Any]]) -> dict[str, Any]:
        """Put `edit(exercises)` in the place of the file's exercises, and return it.

        Raises:
            LaterVersionError, OSError: nothing was changed.
        """
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with _locked(self.path.with_name("progress.lock")):
            content = {FORMAT: VERSION, "exercises": {}}
            try:
                content = read(self.path)
            except FileNotFoundError:
                pass
            except UnreadableError as error:
                aside = _free(self.path.with_name("progress-unreadable.json"))
                self.path.rename(aside)
                self.put_aside = f"{error}; it was kept as {aside.name}"
            content["exercises"] = edit(content["exercises"])
            _write(self.path, content)
        return content["exercises"]


store = Store()
"""The progress of whoever runs this."""


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("a") as file:
        start = time.monotonic()
        while fcntl:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # closing the file gives it back
            except BlockingIOError:
                if time.monotonic() - start > PATIENCE:
                    raise TimeoutError(f"{path} is held by another notebook") from None
                time.sleep(0.02)
                continue
            except OSError:
                pass  # a file system without locks; the file is replaced as a whole all the same
            break
        yield


def _write(path: Path, content: Any) -> None:
    """Put a new file in the place of the old one, or fail and leave the old one."""
    handle, name = tempfile.mkstemp(prefix="progress-", suffix=".tmp", dir=path.parent)
    try:
        with open(handle, "w", encoding="utf-8") as file:
            json.dump(content, file, indent=1)
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def _free(path: Path) -> Path:
    """A path like this one at which there is nothing yet."""
    numbered = (path.with_stem(f"{path.stem}-{number}") for number in count(1))
    return next(found for found in numbered if not os.path.lexists(found))


class Progress:
    """Shows what is solved: call it for the chapter, `book()` for all. `reset`, `export` and `restore` the record."""

    def __init__(self, exercises: "Sequence[Exercise]"):
        self._exercises = exercises

    def __repr__(self) -> str:
        return "<progress() shows this chapter, progress.book() the whole book>"

    def __call__(self) -> None:
        """Show the chapter's exercises: ○ not attempted, ✗ tried, ✓ solved."""
        words = store.words()
        rows = [(f"{_mark(words, exercise)} {exercise.number}", exercise.name) for exercise in self._exercises]
        # Not out of how many: every chapter's stored output has this line, and an exercise more would change them all.
        solved = _solved(words, _whole_book())
        rows.append(("book", f"{solved} solved in all; check.progress.book() shows the chapters"))
        show(_summary(words, self._exercises, [*rows, *_notes()]))

    def book(self) -> None:
        """Show how many exercises of each chapter are solved, and where that is kept."""
        words, rows = store.words(), []
        for name, chapter in chapters().items():
            mark = _summary(words, chapter.exercises).mark
            solved = f"{_solved(words, chapter.exercises)} of {len(chapter.exercises)}"
            rows.append((f"{mark} {chapter.number}", f"{solved:8}{name.replace('_', ' ')}"))
        if not store.problem:
            rows.append(("kept in", f"{store.path}, and sent nowhere"))
        show(_summary(words, _whole_book(), [*rows, *_notes()]))

    def reset(self, *, book: bool = False) -> None:
        """Forget what was tried and solved in this chapter, or in the whole book. A copy of the record is kept.

        Raises:
            OSError: the record cannot be changed, and was not.
        """
        exercises = _whole_book() if book else self._exercises
        keys = {exercise.key for exercise in exercises}
        forgotten = {key: word for key, word in store.words().items() if key in keys}
        if not forgotten:
            show(Result("○", "there is nothing to forget: no exercise was tried", _notes()))
            return
        backup = _free(store.path.with_name("progress-before-reset.json"))

        def edit(recorded: dict[str, Any]) -> dict[str, Any]:
            _write(backup, {FORMAT: VERSION, "exercises": recorded})
            return {key: word for key, word in recorded.items() if key not in keys}

        store.change(edit)
        for exercise in exercises:
            exercise.state = "○"
        rows = [("kept as", str(backup)), ("undo with", f"check.progress.restore({str(backup)!r})")]
        show(Result("✓", f"forgotten: {_counted(forgotten)}", [*rows, *_notes()]))

    def export(self, path: str | os.PathLike) -> None:
        """Write the record of the whole book to a new file, which `restore` reads.

        Raises:
            FileExistsError: there is something at `path`, and nothing is overwritten.
            FileNotFoundError: there is no such folder.
            OSError: the file cannot be written.
        """
        target = Path(path).expanduser().absolute()
        if os.path.lexists(target):
            raise FileExistsError(f"export overwrites nothing, and {target} exists: choose another name")
        if not target.parent.is_dir():
            raise FileNotFoundError(f"there is no folder {target.parent} to write {target.name} to")
        words = store.words()
        _write(target, {FORMAT: VERSION, "exercises": words})
        show(Result("✓", f"exported: {_counted(words)}", [("written to", str(target)), *_notes()]))

    def restore(self, path: str | os.PathLike) -> None:
        """Add what a file by `export`, or the copy that `reset` kept, says to the record. Nothing solved is lost.

        Raises:
            UnreadableError, LaterVersionError: it is no such file, or one of a later version.
            OSError: the file cannot be read, or the record not be changed.
        """
        found = read(Path(path).expanduser())["exercises"]
        store.change(lambda recorded: merged(recorded, found))
        show(Result("✓", f"restored: {_counted(found)}", _notes()))


def _whole_book() -> "list[Exercise]":
    return [exercise for chapter in chapters().values() for exercise in chapter.exercises]


def _mark(words: Mapping[str, Any], exercise: "Exercise") -> str:
    return next((mark for mark, word in WORDS.items() if word == words.get(exercise.key)), "○")


def _solved(words: Mapping[str, Any], exercises: "Sequence[Exercise]") -> int:
    return sum(_mark(words, exercise) == "✓" for exercise in exercises)


def _summary(words: Mapping[str, Any], exercises: "Sequence[Exercise]", rows: Sequence[tuple[str, str]] = ()) -> Result:
    solved = _solved(words, exercises)
    return Result("✓" if solved == len(exercises) else "○", f"{solved} of {len(exercises)} exercises solved", rows)


def _counted(words: Mapping[str, Any]) -> str:
    counts = {word: sum(found == word for found in words.values()) for word in ("solved", "tried")}
    return f"{counts['solved']} solved, {counts['tried']} only tried"


def _notes() -> list[tuple[str, str]]:
    """What a reader should know about the record, as rows."""
    notes = []
    if store.unsaved:
        notes.append(("not saved", f"{store.problem}. It is remembered until this kernel stops."))
    elif store.problem:
        notes.append(("not read", store.problem))
    if store.put_aside:
        notes.append(("put aside", store.put_aside))
    if "google.colab" in sys.modules:
        kept = 'check.progress.export("my-progress.json") writes it to a file to download, and restore reads it back'
        notes.append(("Colab", f"forgets this when the session ends: {kept}"))
    return notes
