"""The compiler as a service: LLVM runs in a process of its own, and whatever it does there costs one program.

    object = default().compile(text, machine, level)       # bytes, or a CompilerError

LLVM may abort, crash, hang or use up the memory: then that process ends, the failure is raised, and the next
program gets a new process. What it has made is checked by a checksum and linked here.

Where no process can be started (no interpreter, as in an application that embeds Python; no right to start
one; not a POSIX system) LLVM runs in this one, without that protection and without `LLVM_OPTIONS`, which
would hold for everyone who uses LLVM there: the code gives the same values.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import itertools
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import weakref
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from nacelle.emit.jit import compiler_worker
from nacelle.emit.machine import Machine
from nacelle.emit.registry import TargetError

# Options of LLVM for its whole process, such as "-enable-misched=false". They may change how fast code is,
# never what it computes, and are part of every cache's key.
LLVM_OPTIONS: tuple[str, ...] = (
    # Straight-line code is one region to the scheduler, which compares every load with every store up to so
    # many of them: a tenth of LLVM's own limits compile long programs in 0.6 of the time, to code as fast.
    "-dag-maps-huge-region=100",
    "-dag-maps-reduction-size=50",
    # Operations come in an order for few registers and short waits (`plan`), which LLVM's schedulers undo.
    "-enable-misched=false",
    "-enable-post-misched=false",
    # It prepares branches and addresses, of which there are few and simple ones, in half of the whole time.
    "-disable-cgp",
)

_WORKER = Path(compiler_worker.__file__)
# Processor time: a module of 1 MB takes about 3 s.
_SECONDS, _SECONDS_PER_BYTE = 20.0, 60e-6
# How much longer it may take on a busy machine.
_PATIENCE = 5.0
# Memory in bytes: a module of 1 MB takes about 60 MB.
_MEMORY, _MEMORY_PER_BYTE = 1 << 30, 512
# Until the process has loaded LLVM.
_SECONDS_TO_START = 120.0


class CompilerError(TargetError):
    """LLVM could not compile a program.

    Attributes:
        lasting: whether it would happen again.
    """

    def __init__(self, reason: str, lasting: bool = True) -> None:
        super().__init__(reason)
        self.lasting = lasting


@dataclass
class _Process:
    """The running process, the socket to it, and what it has printed."""

    process: subprocess.Popen[bytes]
    connection: socket.socket
    printed: IO[bytes] | None
    ready: bool = False

    def end(self) -> None:
        """End the process."""
        self.connection.close()
        with contextlib.suppress(OSError):
            self.process.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(timeout=10.0)
        if self.printed is not None:
            self.printed.close()

    def forget(self) -> None:
        """Let go of a process that belongs to the one this one was forked from."""
        self.connection.close()
        if self.printed is not None:
            self.printed.close()
        self.process.returncode = 0

    def position(self) -> int:
        """How much it has printed."""
        return 0 if self.printed is None else os.fstat(self.printed.fileno()).st_size

    def exit_reason(self, position: int) -> str:
        """Say how the process has ended, and the first line it has printed since a position."""
        try:
            code = self.process.wait(timeout=10.0)
        except subprocess.TimeoutExpired:
            code = 0
        if code == -signal.SIGXCPU:
            return "it took too long"
        how = f"it died of {_signal(-code)}" if code < 0 else "it ended"
        if self.printed is None:
            return how
        # The position in the file is shared with the process: it is not moved.
        text = os.pread(self.printed.fileno(), 4096, position).decode(errors="replace").strip()
        return f"{how} ({text.splitlines()[0][:200]})" if text else how


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


class Compiler:
    """LLVM in a process of its own, which starts when it is first needed and again after it has died.

    Safe to use from several threads, which take turns, and after a fork, where the child starts its own.
    """

    def __init__(self, worker: Path = _WORKER, *, seconds: float = _SECONDS, memory: int = _MEMORY) -> None:
        """Prepare; nothing is started.

        Args:
            worker: script of the process.
            seconds: processor time for the shortest program.
            memory: memory for the shortest program, bytes.
        """
        self._worker, self._seconds, self._memory = worker, seconds, memory
        self._lock = threading.Lock()
        self._running: _Process | None = None
        self._numbers = itertools.count()
        self._unusable = self._closed = False
        self._second: Compiler | None = None
        _compilers.add(self)

    @property
    def pid(self) -> int | None:
        """Number of the process, if it runs."""
        running = self._running
        return None if running is None else running.process.pid

    def start(self) -> None:
        """Start the process, without waiting for it."""
        # Whoever holds the lock has started it.
        if self._lock.acquire(blocking=False):
            try:
                self._ensure_running()
            finally:
                self._lock.release()

    def second(self) -> Compiler:
        """A compiler like this one with a process of its own, for modules that are compiled at once."""
        with self._lock:
            if self._second is None:
                self._second = Compiler(self._worker, seconds=self._seconds, memory=self._memory)
                self._second._closed = self._closed
            return self._second

    def compile_both(self, batch: str, single: str, machine: Machine, level: int) -> tuple[bytes, bytes]:
        """Compile two modules at once; see `compile`."""
        second = self.second()
        with ThreadPoolExecutor(1, thread_name_prefix="nacelle") as pool:
            future = pool.submit(second.compile, single, machine, level)
            try:
                return self.compile(batch, machine, level), future.result()
            except BaseException:
                if not future.done():
                    # What it makes is of no use any more. It may be done by now, and its process idle.
                    second._kill()
                    future.exception()
                    with second._lock:
                        second._end()
                raise

    def compile(self, text: str, machine: Machine, level: int) -> bytes:
        """Compile a module's text to an object.

        Args:
            text: the module.
            machine: the machine to compile for.
            level: of LLVM's optimisation, 0 to 3.

        Raises:
            CompilerError: if LLVM refuses the text, dies of it or takes too much of time or memory.
        """
        job = {"triple": machine.triple, "cpu": machine.cpu, "features": machine.features, "level": level}
        with self._lock:
            running = self._wait_until_ready()
            if running is not None:
                try:
                    return self._request(running, job, text.encode())
                except CompilerError:
                    raise
                except BaseException:
                    # The conversation is cut, by Ctrl-C for example.
                    self._end()
                    raise
        try:
            return compiler_worker.emit_object(job, text)
        except RuntimeError as error:
            raise CompilerError(f"LLVM refuses it: {error}") from error

    def close(self) -> None:
        """End the process, and start none any more."""
        self._closed = True
        self._kill()
        with self._lock:
            self._end()
            second = self._second
        if second is not None:
            second.close()

    def _kill(self) -> None:
        """Kill the process, if one runs: another thread may be waiting for it."""
        running = self._running
        if running is not None:
            with contextlib.suppress(OSError):
                running.process.kill()

    # ---- the process

    def _ensure_running(self) -> _Process | None:
        """Give the running process, starting one if needed; None if it cannot be started."""
        if self._running is not None and self._running.process.poll() is not None:
            self._end()
        if self._running is None and not self._unusable and not self._closed:
            with contextlib.suppress(OSError):
                self._running = _start_process(self._worker)
        return self._running

    def _wait_until_ready(self) -> _Process | None:
        """Give the process once it has loaded LLVM; None if it cannot be started.

        Raises:
            CompilerError: if LLVM kills it at once.
        """
        running = self._ensure_running()
        if running is None or running.ready:
            return running
        running.connection.settimeout(_SECONDS_TO_START)
        try:
            message = compiler_worker.receive(running.connection)
        except (OSError, ValueError, compiler_worker.MessageError):
            message = None
        except BaseException:
            self._end()
            raise
        if message is not None and message[0] == compiler_worker.versions():
            running.ready = True
            return running
        with contextlib.suppress(subprocess.TimeoutExpired):
            running.process.wait(timeout=1.0)
        code = running.process.poll()
        self._end()
        if code is not None and code < 0:
            raise CompilerError(f"LLVM cannot be loaded: {_signal(-code)}", lasting=False)
        self._unusable = True
        return None

    def _request(self, running: _Process, job: Mapping[str, Any], text: bytes) -> bytes:
        """Have a module compiled by the process."""
        number = next(self._numbers)
        seconds = self._seconds + _SECONDS_PER_BYTE * len(text)
        limits = {"seconds": seconds, "memory": self._memory + _MEMORY_PER_BYTE * len(text)}
        position = running.position()
        running.connection.settimeout(_PATIENCE * seconds)
        try:
            _send(running.connection, compiler_worker.message({**job, **limits, "number": number}, text))
            message = compiler_worker.receive(running.connection)
            damage = None
        except TimeoutError:
            message, damage = None, f"it took longer than {_PATIENCE * seconds:.0f} s"
        except (ConnectionError, OSError):
            message, damage = None, None
        except (ValueError, compiler_worker.MessageError) as error:
            message, damage = None, f"its answer is damaged: {error}"
        if message is not None and message[0].get("number") != number:
            message, damage = None, "its answer is damaged: it belongs to another program"
        if message is None:
            reason = damage or running.exit_reason(position)
            self._end()
            if self._closed:
                raise CompilerError("this process is ending", lasting=False)
            raise CompilerError(f"LLVM failed: {reason}")
        reply, body = message
        if "error" in reply:
            raise CompilerError(f"LLVM refuses it: {reply['error']}")
        return body

    def _end(self) -> None:
        if self._running is not None:
            self._running.end()
            self._running = None

    def _after_fork(self) -> None:
        """Begin anew in a forked process: the process that runs belongs to the parent."""
        self._lock = threading.Lock()
        if self._running is not None:
            self._running.forget()
            self._running = None


_compilers: weakref.WeakSet[Compiler] = weakref.WeakSet()


def _after_fork() -> None:
    for compiler in list(_compilers):
        compiler._after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


@functools.cache
def default() -> Compiler:
    """The compiler of this process."""
    compiler = Compiler()
    atexit.register(compiler.close)
    return compiler


def _interpreter() -> str | None:
    """Path of the interpreter, if there is one that runs scripts.

    In an application that embeds Python or is frozen `sys.executable` may be the application itself.
    """
    path = sys.executable
    if os.name != "posix" or not path or getattr(sys, "frozen", False):
        return None
    return path if "python" in os.path.basename(path).lower() and os.access(path, os.X_OK) else None


def _start_process(worker: Path) -> _Process | None:
    """Start a process.

    Raises:
        OSError: if the system does not let it.
    """
    interpreter = _interpreter()
    if interpreter is None:
        return None
    import llvmlite

    folder = Path(llvmlite.__file__).parents[1]
    printed: IO[bytes] | None = None
    ours, theirs = socket.socketpair()
    try:
        with contextlib.suppress(OSError):
            printed = tempfile.TemporaryFile()  # noqa: SIM115
        if sys.platform == "darwin":
            ours.setsockopt(socket.SOL_SOCKET, 0x1022, 1)  # SO_NOSIGPIPE
        process = subprocess.Popen(
            [interpreter, *compiler_worker.ARGUMENTS, str(worker), str(folder), *LLVM_OPTIONS],
            stdin=theirs.fileno(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL if printed is None else printed,
            start_new_session=True,  # Ctrl-C in a terminal is for this process alone
        )
    except BaseException:
        ours.close()
        if printed is not None:
            printed.close()
        raise
    finally:
        theirs.close()
    return _Process(process, ours, printed)


def _send(connection: socket.socket, data: bytes) -> None:
    """Send; where the other side has died this is an error, and no signal that would end this process."""
    connection.sendall(data, getattr(socket, "MSG_NOSIGNAL", 0))
