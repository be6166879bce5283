"""Calling code that may do anything, and coming back with what happened.

Guarded against: exceptions of every kind, `sys.exit`, endless loops and recursion, floods of prints, changed global
state. Not guarded against: what ends or stops the whole process (`os._exit`, a crash in C code, the operating system
killing it for want of memory); one long call into C code, which is stopped only once it returns; and a loop that
catches whatever stops it (`except:`). Endless loops are stopped on the main thread of systems that have
`signal.setitimer` (Linux, macOS, Colab); elsewhere (Windows) the reader interrupts the kernel. An interrupt by the
user always goes through.
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
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

TIME_LIMIT = 5.0  # seconds that one call may take
PRINT_LIMIT = 500  # characters of its prints that are kept

# Where code lies that is not the reader's.
_LIBRARIES = (
    *{sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")},
    str(Path(__file__).parents[1]),
)


class TimeUp(BaseException):
    """Raised in code that exceeds its time. Not an `Exception`, so that `except Exception` does not swallow it."""


@dataclass(frozen=True)
class Failure:
    """The exception that a call ended in: its type, its message, and where in the reader's own code it arose.

    `line` is empty if no line of the reader's was reached, as with a wrong number of arguments. `is_stub` says whether
    it is a `NotImplementedError` raised by the reader's own code.
    """

    kind: str
    message: str
    line: str
    is_stub: bool


def guarded(function: Callable[[], Any]) -> tuple[Any, Failure | None, str]:
    """Call `function`: its value, how it failed, and what it printed. Only `KeyboardInterrupt` goes through."""
    value, failure, sink = None, None, _Sink()
    try:
        with contextlib.redirect_stdout(sink), contextlib.redirect_stderr(sink), _time_limit(TIME_LIMIT):
            value = function()
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        failure = _describe(error)
    return value, failure, sink.text


@contextlib.contextmanager
def global_state_kept() -> Iterator[None]:
    """Give the code inside a standard global state, and put the caller's back afterwards.

    Covers the random generators of torch (CPU), NumPy and Python; torch's default dtype, number of threads and
    gradient mode; and warning filters. Inside, tensors are made on the CPU unless the code says otherwise, and warnings
    are silent, for they quote paths that change.
    """
    dtype, threads = torch.get_default_dtype(), torch.get_num_threads()
    python_random, numpy_random = random.getstate(), np.random.get_state()  # noqa: NPY002
    try:
        with (
            torch.random.fork_rng(devices=[]),
            torch.inference_mode(False),
            torch.enable_grad(),
            torch.device("cpu"),
            warnings.catch_warnings(action="ignore"),
        ):
            torch.set_default_dtype(torch.float32)
            yield
    finally:
        torch.set_default_dtype(dtype)
        torch.set_num_threads(threads)
        random.setstate(python_random)
        np.random.set_state(numpy_random)  # noqa: NPY002


@contextlib.contextmanager
def _time_limit(seconds: float) -> Iterator[None]:
    """Raise `TimeUp` in the code inside after `seconds`, and again every 0.1 s should that get lost in a `__del__`."""
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return
    armed = True

    def ring(signum, frame):
        if armed:
            raise TimeUp(f"{seconds:g} s")

    started = time.monotonic()
    old_handler = signal.signal(signal.SIGALRM, ring)
    old_delay, old_interval = signal.setitimer(signal.ITIMER_REAL, seconds, 0.1)
    try:
        yield
    finally:
        armed = False  # first of all: an alarm that comes from here on must not raise
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old_handler)
        if old_delay:
            left = max(old_delay - (time.monotonic() - started), 0.001)
            signal.setitimer(signal.ITIMER_REAL, left, old_interval)


class _Sink(io.TextIOBase):
    """A stream that keeps what is written to it, up to `PRINT_LIMIT` characters."""

    text = ""

    def write(self, text: str) -> int:
        self.text += text[: PRINT_LIMIT - len(self.text)]
        return len(text)


def _describe(error: BaseException) -> Failure:
    try:
        message = str(error).strip().split("\n")[0][:200]
    except Exception:
        message = ""
    line, trace = "", error.__traceback__
    while trace:
        code, instruction = trace.tb_frame.f_code, trace.tb_lasti
        is_readers = not code.co_filename.startswith(_LIBRARIES)
        if is_readers:
            source = linecache.getline(code.co_filename, trace.tb_lineno).strip()
            line = f"line {trace.tb_lineno}: {source}".removesuffix(": ")
        trace = trace.tb_next
    # torch's C code raises NotImplementedError too: what makes a stub is a `raise` in the reader's code.
    is_stub = isinstance(error, NotImplementedError) and is_readers
    is_stub = is_stub and dis.opname[code.co_code[instruction]] == "RAISE_VARARGS"
    return Failure(type(error).__name__, message, line, is_stub)
