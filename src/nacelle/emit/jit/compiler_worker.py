"""The compiler's process: LLVM's text comes in, objects go out.

It runs as a script of its own, `python -I -S compiler_worker.py FOLDER [OPTION...]`, and imports llvmlite
from FOLDER and nothing else of any weight. Its standard input is a socket to the process that started it; it
ends when that is closed or that process has gone. OPTIONs are LLVM's own, for the whole process.

A message is a head (magic, sizes, checksum), a line of JSON and a body of bytes.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import socket
import struct
import sys
from collections.abc import Mapping
from typing import Any

# Isolated, without site-packages; the path of this file follows.
ARGUMENTS = ("-I", "-S")

_MAGIC = b"nacellec"
_HEAD = struct.Struct("<8sIQ32s")
_LONGEST = 1 << 30
# How often an idle process looks whether the one that started it is there, in seconds.
_WATCH = 30.0


class MessageError(Exception):
    """A message is not whole."""


def message(fields: Mapping[str, Any], body: bytes = b"") -> bytes:
    """Write a message."""
    line = json.dumps(fields).encode()
    return _HEAD.pack(_MAGIC, len(line), len(body), hashlib.sha256(line + body).digest()) + line + body


def receive(connection: socket.socket) -> tuple[dict[str, Any], bytes] | None:
    """Read a message; None if the other side has closed.

    Raises:
        MessageError: if it is not whole.
    """
    head = _read(connection, _HEAD.size)
    if not head:
        return None
    if len(head) < _HEAD.size:
        raise MessageError("it ends within its head")
    magic, line_size, body_size, digest = _HEAD.unpack(head)
    if magic != _MAGIC or max(line_size, body_size) > _LONGEST:
        raise MessageError("its head is damaged")
    data = _read(connection, line_size + body_size)
    if len(data) < line_size + body_size:
        raise MessageError("it is too short")
    if hashlib.sha256(data).digest() != digest:
        raise MessageError("its checksum is wrong")
    fields = json.loads(data[:line_size])
    if not isinstance(fields, dict):
        raise MessageError("it has no fields")
    return fields, data[line_size:]


def _read(connection: socket.socket, size: int) -> bytes:
    """Read `size` bytes, or fewer if the other side closes."""
    data = bytearray()
    while len(data) < size:
        part = connection.recv(min(size - len(data), 1 << 20))
        if not part:
            break
        data += part
    return bytes(data)


def versions() -> dict[str, str]:
    """Versions of llvmlite and LLVM."""
    import llvmlite
    from llvmlite import binding as llvm

    return {"llvmlite": llvmlite.__version__, "llvm": ".".join(map(str, llvm.llvm_version_info))}


def target_machine(triple: str, cpu: str, features: str, level: int) -> Any:
    """Make LLVM's code generator for a machine.

    The small code model lets constants be read relative to the instruction; the large one, which is the
    default for code made at run time, would load every constant's address first.
    """
    from llvmlite import binding as llvm

    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    return llvm.Target.from_triple(triple).create_target_machine(
        cpu=cpu, features=features, opt=level, reloc="pic", codemodel="small", jit=True
    )


def emit_object(job: Mapping[str, Any], text: str) -> bytes:
    """Compile a module's text to an object, for the machine and at the level that the job names.

    LLVM's passes over the module are left out: programs arrive without common subexpressions or dead code.
    """
    from llvmlite import binding as llvm

    machine = target_machine(job["triple"], job["cpu"], job["features"], job["level"])
    # A context of its own: the global one would keep every type and constant permanently.
    return bytes(machine.emit_object(llvm.parse_assembly(text, llvm.create_context())))


def _set_limit(name: str, soft: int | None) -> None:
    """Set one of the limits of this process, or take it away; not every system has all of them."""
    import resource

    kind = getattr(resource, name, None)
    if kind is None:
        return
    _, hard = resource.getrlimit(kind)
    if soft is None or (hard != resource.RLIM_INFINITY and soft > hard):
        soft = hard
    try:
        resource.setrlimit(kind, (soft, hard))
    except (OSError, ValueError):
        return


def _set_limits(job: Mapping[str, Any]) -> None:
    """Limit processor time and memory to what is used now plus what the job may use."""
    import resource

    usage = resource.getrusage(resource.RUSAGE_SELF)
    _set_limit("RLIMIT_CPU", int(usage.ru_utime + usage.ru_stime + job["seconds"]) + 1)
    try:
        with open("/proc/self/statm") as file:
            used = int(file.read().split()[0]) * resource.getpagesize()
    except (OSError, ValueError):
        return  # a system that has no such figure
    _set_limit("RLIMIT_AS", used + job["memory"])


def _detach_process() -> None:
    """Make this process independent of the terminal, and the first to go where memory is short."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for deadly in (signal.SIGABRT, signal.SIGSEGV, signal.SIGXCPU):
        signal.signal(deadly, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    _set_limit("RLIMIT_CORE", 0)
    try:
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write("1000")
    except OSError:
        return


def _wait_for_job(connection: socket.socket, parent: int) -> tuple[dict[str, Any], bytes] | None:
    """Wait for a job; None if there will be none."""
    import select

    while not select.select([connection], [], [], _WATCH)[0]:
        if os.getppid() != parent:
            return None
    return receive(connection)


def main() -> int:
    """Compile what comes until no more does."""
    folder, *options = sys.argv[1:]
    parent = os.getppid()
    _detach_process()
    # A number above those of the standard streams, which are closed to what LLVM may print.
    connection = socket.socket(fileno=os.dup(0))
    sys.path.append(folder)
    from llvmlite import binding as llvm

    for option in options:
        llvm.set_option("nacelle", option)
    connection.sendall(message(versions()))
    while (received := _wait_for_job(connection, parent)) is not None:
        job, text = received
        _set_limits(job)
        body = b""
        reply: dict[str, Any] = {"number": job["number"]}
        try:
            body = emit_object(job, text.decode())
        except MemoryError:
            reply["error"] = "out of memory"
        except Exception as error:
            reply["error"] = " ".join(str(error).split()) or type(error).__name__
        _set_limit("RLIMIT_AS", None)
        connection.sendall(message(reply, body))
    return 0


if __name__ == "__main__":
    sys.exit(main())
