"""The compiler's process: whatever happens in it costs one program, and never the process that asked."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from nacelle.emit.jit import compiler, compiler_worker
from nacelle.emit.jit import target as jit
from nacelle.emit.jit.compiler import Compiler, CompilerError
from nacelle.emit.machine import host_machine
from support.faulty_compiler import FAULTS, logged_requests, script
from support.random_programs import empty_outputs, random_inputs, random_program

PROGRAM = random_program(4, 40)
TEXT, _ = TEXTS = jit.module_texts(PROGRAM)
HARMLESS = f"; harmless\n{TEXT}"
# The processor's time is limited in whole seconds.
LIMITS = {"seconds": 0.4, "memory": 1 << 26}
# On a busy machine the clock may run out before the processor's time does.
REASONS = {
    "abort": r"LLVM failed: it died of SIGABRT \(.*register.*\)",
    "fatal": "LLVM failed: it (died of SIGABRT|ended).*scalable",
    "busy": "LLVM failed: it took (too long|longer)",
    "asleep": "LLVM failed: it took longer than \\d+ s",
    "memory": "LLVM refuses it: out of memory",
    "exit": "LLVM failed: it ended",
    "refused": "LLVM refuses it: .*expected top-level entity",
    "garbage": "its answer is damaged: its head",
    "short": "its answer is damaged: it is too short",
    "checksum": "its answer is damaged: its checksum",
    "other number": "its answer is damaged: it belongs to another program",
    "no fields": "its answer is damaged: it has no fields",
}


@pytest.fixture
def make() -> Iterator[object]:
    """Make compilers that are closed after the test."""
    with contextlib.ExitStack() as stack:

        def made(worker: Path = compiler._WORKER, **limits: float) -> Compiler:
            return stack.enter_context(contextlib.closing(Compiler(worker, **limits)))

        yield made


def compile_with(which: Compiler, text: str = TEXT, level: int = 1) -> bytes:
    return which.compile(text, host_machine(), level)


def is_gone(pid: int, seconds: float = 10.0) -> bool:
    """Whether a process ends within a time; one that nobody has waited for counts as ended."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            os.kill(pid, 0)
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except (ProcessLookupError, FileNotFoundError):
            return True
        time.sleep(0.02)
    return False


def compiled_here(text: str = TEXT) -> bytes:
    """What this process makes of a module, without LLVM's options."""
    job = {
        "triple": host_machine().triple,
        "cpu": host_machine().cpu,
        "features": host_machine().features,
        "level": 1,
    }
    return compiler_worker.emit_object(job, text)


def test_the_same_values_as_from_this_process(make) -> None:
    other = make()
    inputs = random_inputs(PROGRAM, 33)
    made = []
    for compile_text in (compiled_here, lambda text: compile_with(other, text)):
        many, one = map(compile_text, TEXTS)
        kernel = jit.load_object(jit._HEAD.pack(jit._MAGIC, len(many), len(one)) + many + one, PROGRAM)
        made.append(empty_outputs(PROGRAM, 33))
        kernel.run(inputs, made[-1], 1)
    for ours, theirs in zip(*made, strict=True):
        assert ours.tobytes() == theirs.tobytes()


@pytest.mark.costly
@pytest.mark.parametrize("fault", sorted(set(FAULTS) - {"no object", "part of an object"}))
def test_a_fault_costs_one_program(fault: str, make, tmp_path: Path) -> None:
    """The failure says what happened; the next program gets what it needs, and nothing is left over."""
    faulty = make(script(tmp_path, fault, "'harmless' not in text"), **LIMITS)
    expected = compile_with(faulty, HARMLESS)
    before, first = os.listdir("/proc/self/fd") if os.path.exists("/proc") else [], faulty.pid
    assert first is not None
    with pytest.raises(CompilerError, match=REASONS.get(fault, f"LLVM failed: it died of {fault}")) as caught:
        compile_with(faulty)
    assert caught.value.lasting
    if fault in ("refused", "memory"):
        assert faulty.pid == first  # nobody died
    else:
        assert faulty.pid is None
        with pytest.raises(ProcessLookupError):
            os.kill(first, 0)  # waited for
    assert compile_with(faulty, HARMLESS) == expected
    if before:
        assert len(os.listdir("/proc/self/fd")) == len(before)


@pytest.mark.slow
def test_llvm_out_of_memory(make) -> None:
    """LLVM's own allocations fail, not Python's."""
    program = random_program(3, 20000, operations=("add", "sub", "mul"))
    text, _ = jit.module_texts(program)
    short = make(memory=-compiler._MEMORY_PER_BYTE * len(text) + (1 << 20))
    with pytest.raises(CompilerError, match=r"LLVM failed: it died of SIG|out of memory"):
        compile_with(short, text)
    assert compile_with(short, "; nothing\n") is not None
    assert compile_with(make(), text)


@pytest.mark.parametrize("fault", ["no object", "part of an object"])
def test_wrong_objects_are_refused_by_the_linker(fault: str, make, tmp_path, monkeypatch) -> None:
    """Their checksum is right: they came as they were sent."""
    faulty = make(script(tmp_path, fault))
    monkeypatch.setattr(compiler, "default", lambda: faulty)
    with pytest.raises(jit.TargetError, match="cannot be loaded"):
        jit.compile_kernel(random_program(4, 40))


def test_time_grows_with_the_program() -> None:
    """A program is given ten times what the slowest took, whatever its size."""
    for size in (1_000, 100_000, 10_000_000):
        assert compiler._SECONDS + compiler._SECONDS_PER_BYTE * size > 10 * 3.5e-6 * size
        assert compiler._MEMORY + compiler._MEMORY_PER_BYTE * size > 5 * 60 * size


def test_a_process_that_ended_while_idle_is_no_failure(make) -> None:
    living = make()
    expected = compile_with(living)
    for _ in range(2):
        os.kill(living.pid, signal.SIGKILL)
        assert is_gone(living.pid)
        assert compile_with(living) == expected


@pytest.mark.slow
def test_threads(make, tmp_path: Path) -> None:
    """Programs of many threads, some of which kill the process: each gets its own object or failure."""
    faulty = make(script(tmp_path, "SIGABRT", "'deadly' in text"))
    programs = [random_program(seed, 20) for seed in range(12)]
    texts = [jit.module_texts(program)[0] for program in programs]
    expected = [compile_with(faulty, text) for text in texts]
    results: list[object] = [None] * len(texts)

    def one(k: int) -> None:
        try:
            results[k] = compile_with(faulty, ("; deadly\n" if k % 4 == 1 else "") + texts[k])
        except CompilerError as error:
            results[k] = error

    threads = [threading.Thread(target=one, args=(k,)) for k in range(len(texts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60.0)
    for k, result in enumerate(results):
        if k % 4 == 1:
            assert isinstance(result, CompilerError)
        else:
            assert result == expected[k]


@pytest.mark.parametrize("path", [None, "", "/does/not/exist/python3", "/bin/true"])
def test_without_an_interpreter_this_process_compiles(path, make, monkeypatch) -> None:
    expected = compiled_here()
    monkeypatch.setattr(sys, "executable", path)
    lonely = make()
    lonely.start()
    assert compile_with(lonely) == expected
    assert lonely.pid is None
    with pytest.raises(CompilerError, match="LLVM refuses it"):
        compile_with(lonely, "this is not a module")


@pytest.mark.slow
def test_where_no_process_can_be_started_this_one_compiles(make, tmp_path, monkeypatch) -> None:
    expected = compiled_here()
    # It ends at once, speaks of another LLVM, or says nothing that can be read.
    for before in (
        "sys.exit(1)",
        "worker.versions = lambda: {'llvmlite': '0.1'}",
        "worker.message = lambda *_: b'x' * 99",
    ):
        other = make(script(tmp_path, before=before))
        assert compile_with(other) == expected
        assert other.pid is None
    assert not logged_requests(tmp_path)

    def refused(*_: object, **__: object) -> None:
        raise BlockingIOError("no more processes")

    monkeypatch.setattr(subprocess, "Popen", refused)
    assert compile_with(make()) == expected


def test_llvm_that_kills_its_process_at_once_is_not_tried_here(make, tmp_path: Path) -> None:
    deadly = make(script(tmp_path, before="os.abort()"))
    with pytest.raises(CompilerError, match="LLVM cannot be loaded: SIGABRT") as caught:
        compile_with(deadly)
    assert not caught.value.lasting


def test_after_a_fork_the_child_has_its_own(make) -> None:
    shared = make()
    expected, parent = compile_with(shared), shared.pid
    ours, theirs = socket.socketpair()
    shared._lock.acquire()  # as a thread would that compiles while another forks
    child = os.fork()
    if not child:
        code = 1
        with contextlib.suppress(BaseException):
            assert shared.pid is None
            assert compile_with(shared) == expected
            theirs.sendall(str(shared.pid).encode())
            code = 0
        os._exit(code)
    shared._lock.release()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    grandchild = int(ours.recv(20))
    ours.close()
    theirs.close()
    assert grandchild != parent
    assert shared.pid == parent
    assert compile_with(shared) == expected
    assert is_gone(grandchild)


def test_ctrl_c_of_the_terminal_does_not_reach_the_process(make) -> None:
    living = make()
    expected, pid = compile_with(living), living.pid
    assert os.getsid(pid) == pid != os.getsid(0)
    os.kill(pid, signal.SIGINT)
    assert compile_with(living) == expected
    assert living.pid == pid


def test_ctrl_c_while_it_compiles(make, tmp_path: Path) -> None:
    """The call ends at once, and the next one begins with a new process."""
    slow = make(script(tmp_path, "asleep", "'harmless' not in text"))
    expected = compile_with(slow, HARMLESS)
    pid = slow.pid
    # In the background of a shell SIGINT is ignored, and Python leaves it so.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)

    def interrupt() -> None:
        while len(logged_requests(tmp_path)) < 2:
            time.sleep(0.01)
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    begin = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            compile_with(slow)
    finally:
        signal.signal(signal.SIGINT, before)
    thread.join()
    assert time.monotonic() - begin < 20.0
    assert is_gone(pid)
    assert compile_with(slow, HARMLESS) == expected


def run(text: str, tmp_path: Path) -> subprocess.CompletedProcess[str]:
    """Run a script that has no main guard."""
    path = tmp_path / "user.py"
    path.write_text(text)
    command = [sys.executable, str(path)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=tmp_path, check=False)


# What the scripts below share: a program through the compiler of the process.
_USER = """
import os, signal, sys
import numpy as np
import nacelle
from nacelle.emit.jit import compiler
def f(x):
    return x * x + 1.0
def value(k):
    return float(nacelle.compile(lambda x: f(x) * k, inputs={"x": ()})(3.0))
"""


def test_a_script_without_a_main_guard(tmp_path: Path) -> None:
    """It runs once, and at its end the process goes without a word."""
    done = run(_USER + "print(value(1.0), compiler.default().pid)\n", tmp_path)
    number, pid = done.stdout.split()
    assert (number, done.returncode, done.stderr) == ("10.0", 0, "")
    assert is_gone(int(pid), 1.0)


def test_without_standard_streams_and_with_a_deadly_pipe_signal(tmp_path: Path) -> None:
    """All three streams are closed; writing to a dead process must not be the end of this one."""
    done = run(
        _USER
        + """
signal.signal(signal.SIGPIPE, signal.SIG_DFL)
for k in range(3):
    os.close(k)
first = value(1.0)
pid = compiler.default().pid
os.kill(pid, signal.SIGKILL)
second = value(2.0)
# Dead, and not noticed before it is written to.
running = compiler.default()._running
running.process.kill()
running.process.wait()
running.process.returncode = None
running.process.poll = lambda: None
third = value(3.0)
with open("out", "w") as file:
    print(pid is not None, first, second, third, file=file)
""",
        tmp_path,
    )
    assert done.returncode == 0
    assert (tmp_path / "out").read_text().split() == ["True", "10.0", "20.0", "30.0"]


def test_a_process_whose_parent_dies_ends(tmp_path: Path) -> None:
    done = run(
        _USER
        + "value(1.0); print(compiler.default().pid, flush=True); os.kill(os.getpid(), signal.SIGKILL)\n",
        tmp_path,
    )
    assert done.returncode == -signal.SIGKILL
    assert is_gone(int(done.stdout))


def test_a_compiler_that_is_busy_does_not_hold_up_the_end(tmp_path: Path) -> None:
    """A thread waits for a program that never ends; the process ends all the same."""
    worker = script(tmp_path, "asleep")
    done = run(
        _USER
        + f"""
import pathlib, threading, time
from nacelle.emit.jit import compiler
slow = compiler.Compiler(pathlib.Path({str(worker)!r}))
compiler.default = lambda: slow
import atexit
atexit.register(slow.close)
threading.Thread(target=value, args=(1.0,), daemon=True).start()
while not os.path.exists("log"):
    time.sleep(0.01)
print(slow.pid)
""",
        tmp_path,
    )
    assert done.returncode == 0
    assert is_gone(int(done.stdout))


def test_kernels_of_the_lower_level_give_the_same_bits() -> None:
    program = random_program(6, 300)
    inputs = random_inputs(program, 40)
    results = []
    for level in (0, 1):
        outputs = empty_outputs(program, 40)
        jit.compile_kernel(program, jit.JitOptions(level=level)).run(inputs, outputs, 1)
        results.append(outputs)
    for a, b in zip(*results, strict=True):
        # The sign of a NaN is left open by IEEE 754.
        assert np.array_equal(np.isnan(a), np.isnan(b))
        assert np.nan_to_num(a, nan=0.0).tobytes() == np.nan_to_num(b, nan=0.0).tobytes()


def test_two_modules_at_once(make, tmp_path: Path) -> None:
    """Each gets what it gets alone; the failure of either is raised, and neither waits for the other then."""
    first = make()
    machine = host_machine()
    assert first.compile_both(TEXT, HARMLESS, machine, 1) == (
        compile_with(first),
        compile_with(first, HARMLESS),
    )
    second = first.second()
    assert second is first.second()
    assert second.pid not in (None, first.pid)
    first.close()
    assert second.pid is None
    faulty = make(script(tmp_path, "asleep", "'slow' in text"))
    refused = "this is not a module"
    for texts in ((refused, "; slow\n" + TEXT), (HARMLESS, refused)):
        begin = time.monotonic()
        with pytest.raises(CompilerError, match="LLVM refuses it"):
            faulty.compile_both(*texts, machine, 1)
        assert time.monotonic() - begin < 10.0
    assert faulty.compile_both(HARMLESS, TEXT, machine, 1) == (
        compile_with(faulty, HARMLESS),
        compile_with(faulty, TEXT),
    )
