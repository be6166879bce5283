"""Calling code that may do anything, and coming back with what happened.

Guarded against: exceptions of every kind, `sys.exit`, endless loops and recursion, floods of prints, and the changes of
global state that `global_state_kept` lists. Not guarded against: what ends or stops the whole process (`os._exit`, a
crash in C code, the operating system killing it for want of memory); one long call into C code, which is stopped only
once it returns; a loop that catches whatever stops it (`except:`); and any other change of global state, such as a
function of torch that was redefined, a torch mode entered and not left, or a default device. Time goes by the clock,
what torch.compile needs included. Endless loops are stopped on the main thread of systems that have `signal.setitimer`
(Linux, macOS, Colab); elsewhere (Windows) the reader interrupts the kernel. An interrupt by the user always goes
through.
"""

import contextlib
import dis
import io
import linecache
import random
import signal
import sys
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
from torch._tensor_str import printoptions  # torch has no public way to read them

from .compare import class_name, cut

TIME_LIMIT = 5.0  # seconds that one call may take
PRINT_LIMIT = 500  # characters of its prints that are kept

# Where code lies that is not the reader's.
_LIBRARIES = (
    *{sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")},
    str(Path(__file__).parents[1]),
    "<frozen ",
)


class TimeUp(BaseException):
    """Raised in code that exceeds its time. Not an `Exception`, so that `except Exception` does not swallow it."""


@dataclass(frozen=True)
class Failure:
    """The exception that a call ended in: its type, type and message, and where in the reader's own code it arose.

    `line` is empty if no line of the reader's was reached, as with a wrong number of arguments. `is_stub` says whether
    it is a `NotImplementedError` raised by the reader's own code.
    """

    kind: str
    what: str
    line: str
    is_stub: bool


def guarded(function: Callable[[], Any]) -> tuple[Any, Failure | None, str]:
    """Call `function`: its value, how it failed, and what it printed. Only `KeyboardInterrupt` goes through."""
    value, error, printed = _tried(function)
    if error is None:
        return value, None, printed
    failure, _, _ = _tried(lambda: _describe(error))  # this runs code of the error's class, which may be the reader's
    name = cut(class_name(type(error)))
    return None, failure or Failure(name, name, line="", is_stub=False), printed


def _tried(function: Callable[[], Any]) -> tuple[Any, BaseException | None, str]:
    sink = _Sink()
    try:
        with contextlib.redirect_stdout(sink), contextlib.redirect_stderr(sink), time_limit(TIME_LIMIT):
            return function(), None, sink.text
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return None, error, sink.text


@contextlib.contextmanager
def global_state_kept() -> Iterator[None]:
    """Give the code inside a standard global state, and put the caller's back afterwards.

    Covers the random generators of torch (CPU), NumPy and Python; torch's default dtype, number of threads, gradient
    and anomaly mode, and how it prints; Python's recursion limit, its handler of interrupts, and warning filters.
    Inside, tensors are made on the CPU unless the code says otherwise, and warnings are silent, for they quote paths
    that change.
    """
    dtype, threads = torch.get_default_dtype(), torch.get_num_threads()
    depth, on_interrupt = sys.getrecursionlimit(), signal.getsignal(signal.SIGINT)
    python_random, numpy_random = random.getstate(), np.random.get_state()  # noqa: NPY002
    try:
        with (
            torch.random.fork_rng(devices=[]),
            torch.inference_mode(False),
            torch.enable_grad(),
            torch.autograd.set_detect_anomaly(False),
            torch.device("cpu"),
            printoptions(),
            warnings.catch_warnings(action="ignore"),
        ):
            torch.set_default_dtype(torch.float32)
            yield
    finally:
        torch.set_default_dtype(dtype)
        torch.set_num_threads(threads)
        sys.setrecursionlimit(depth)
        if signal.getsignal(signal.SIGINT) != on_interrupt:  # else not touched: only the main thread may set it
            signal.signal(signal.SIGINT, on_interrupt)
        random.setstate(python_random)
        np.random.set_state(numpy_random)  # noqa: NPY002


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
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
        if len(self.text) == PRINT_LIMIT:
            self.write = len  # it takes no more, and says so in a tenth of the time
        return len(text)


def _describe(error: BaseException) -> Failure:
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
    name, message = cut(class_name(type(error))), str.__str__(str(error)).strip().split("\n")[0]
    return Failure(name, f"{name}: {cut(message, 200)}".removesuffix(": "), cut(line), is_stub)
