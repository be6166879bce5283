"""Calling code that may do anything, and coming back with what happened.

Guarded against: exceptions of every kind, `sys.exit`, endless loops and recursion, floods of prints, changed global
state. Not guarded against: what ends or stops the whole process (`os._exit`, a crash in C code, the operating system
killing it for want of memory), and a single call into C code that takes long, which is stopped only when it returns.
Endless loops are stopped on the main thread of systems that have `signal.setitimer` (Linux, macOS, Colab); elsewhere
(Windows) the reader interrupts the kernel. An interrupt by the user always goes through.
"""

import contextlib
import dis
import io
import linecache
import random
import signal
import sysconfig
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import torch

TIME_LIMIT = 5.0  # seconds that one call may take
PRINT_LIMIT = 300  # characters of its prints that are kept

_LIBRARIES = (
    *{sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")},
    str(Path(torch.__file__).parent),
    str(Path(__file__).parents[1]),
    "<frozen ",
)


class TimeUp(BaseException):
    """Raised in code that exceeds its time. Not an `Exception`, so that `except Exception` does not swallow it."""


@dataclass(frozen=True)
class Failure:
    """An exception that a call ended in: its type, its message, and where in the reader's own code it arose.

    `line` is empty if no line of the reader's was reached, as with a wrong number of arguments. `stub` says whether it
    is a `NotImplementedError` that the reader's own code raises.
    """

    kind: str
    message: str
    line: str
    stub: bool


@dataclass(frozen=True)
class Call:
    """What a guarded call gave: a value or a failure, and what was printed meanwhile."""

    value: Any
    failure: Failure | None
    printed: str


def guarded(function: Callable[[], Any]) -> Call:
    """Call `function` and return what happened. Only `KeyboardInterrupt` goes through."""
    sink, value, failure = _Sink(), None, None
    try:
        with contextlib.redirect_stdout(sink), contextlib.redirect_stderr(sink), _time_limit(TIME_LIMIT):
            value = function()
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        failure = _describe(error)
    return Call(value, failure, sink.text)


@contextlib.contextmanager
def global_state_kept() -> Iterator[None]:
    """Give the code inside a standard global state, and put the caller's back afterwards.

    Covers the random generators of torch (CPU), NumPy and Python; torch's default dtype and device, number of threads
    and gradient mode; and warning filters. Warnings are silent inside: they would quote paths that change.
    """
    dtype, device, threads = torch.get_default_dtype(), torch.get_default_device(), torch.get_num_threads()
    python_random, numpy_random = random.getstate(), np.random.get_state()  # noqa: NPY002
    try:
        with (
            torch.random.fork_rng(devices=[]),
            torch.inference_mode(False),
            torch.enable_grad(),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore")
            torch.set_default_dtype(torch.float32)
            torch.set_default_device("cpu")
            yield
    finally:
        torch.set_default_dtype(dtype)
        torch.set_default_device(device)
        torch.set_num_threads(threads)
        random.setstate(python_random)
        np.random.set_state(numpy_random)  # noqa: NPY002


@contextlib.contextmanager
def _time_limit(seconds: float) -> Iterator[None]:
    """Raise `TimeUp` in the code inside after `seconds`, and again until it ends, should it catch everything."""
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def ring(signum, frame):
        raise TimeUp

    started = time.monotonic()
    old_handler = signal.signal(signal.SIGALRM, ring)
    old_delay, old_interval = signal.setitimer(signal.ITIMER_REAL, seconds, 0.1)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old_handler)
        if old_delay:
            left = max(old_delay - (time.monotonic() - started), 0.001)
            signal.setitimer(signal.ITIMER_REAL, left, old_interval)


class _Sink(io.TextIOBase):
    """A stream that keeps the first `PRINT_LIMIT` characters and says that it cut the rest."""

    text = ""

    def write(self, text: str) -> int:
        if len(self.text) <= PRINT_LIMIT:
            self.text += text
            if len(self.text) > PRINT_LIMIT:
                self.text = self.text[:PRINT_LIMIT] + " … (cut)"
        return len(text)


def _describe(error: BaseException) -> Failure:
    try:
        message = str(error).strip().split("\n")[0][:200]
    except Exception:
        message = ""
    line = ""
    for frame, number in traceback.walk_tb(error.__traceback__):
        if not frame.f_code.co_filename.startswith(_LIBRARIES):
            source = linecache.getline(frame.f_code.co_filename, number).strip()
            line = f"line {number}: {source}" if source else f"line {number}"
    stub = isinstance(error, NotImplementedError) and _raised_by_reader(error.__traceback__)
    return Failure(type(error).__name__, message, line, stub)


def _raised_by_reader(trace: TracebackType) -> bool:
    """Whether a `raise` statement in the reader's code is where the traceback ends (torch's C code raises, too)."""
    while trace.tb_next:
        trace = trace.tb_next
    code = trace.tb_frame.f_code
    statement = dis.opname[code.co_code[trace.tb_lasti]]
    return statement == "RAISE_VARARGS" and not code.co_filename.startswith(_LIBRARIES)
