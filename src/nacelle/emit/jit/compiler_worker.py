"""The compiler's process: it receives modules as LLVM's text and sends back object code.

It runs as a script of its own, `python -I -S compiler_worker.py FOLDER [OPTION...]`. It imports llvmlite from
FOLDER and otherwise the standard library alone. Its standard input is a socket to the process that started it
(`nacelle.emit.jit.compiler`); it ends when the socket closes or that process has gone. OPTIONs are LLVM's
own, for the whole process.

A message is

    head    magic (8 bytes), size of the fields (uint32), size of the body (uint64), SHA-256 of both (32)
    fields  JSON
    body    bytes

The process first sends its versions. A job then has the fields number, triple, cpu, features, level (of
optimisation, 0 to 3), seconds (of processor time) and memory (bytes), and the module's text as its body. The
reply has the fields number and, after a failure, error; its body is the object.
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

# Options of the interpreter, before the path of this file: isolated mode, without site-packages.
ARGUMENTS = ("-I", "-S")

_MAGIC = b"nacellec"
_HEAD = struct.Struct("<8sIQ32s")
# Largest size of fields and body, bytes: a damaged head must not make the reader wait for more.
_LONGEST = 1 << 30
# Seconds after which an idle process looks again whether the one that started it still runs.
_WATCH = 30.0


class MessageError(Exception):
    """A message is incomplete or damaged."""


def message(fields: Mapping[str, Any], body: bytes = b"") -> bytes:
    """The bytes of a message with some fields and a body."""
    line = json.dumps(fields).encode()
    return _HEAD.pack(_MAGIC, len(line), len(body), hashlib.sha256(line + body).digest()) + line + body


def receive(connection: socket.socket) -> tuple[dict[str, Any], bytes] | None:
    """Receive the fields and the body of a message; None if the other side has closed.

    Raises:
        MessageError: if the message is incomplete or damaged.
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
    """Receive `size` bytes, or fewer if the other side closes."""
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
    """Make LLVM's code generator for a machine, at a level of optimisation from 0 to 3.

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
    """Set a limit of this process, such as "RLIMIT_AS", or raise it to the hard limit (soft: None).

    A limit that the system does not have, or does not let us set, is left alone.
    """
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
    """Limit processor time and memory to the present use plus the seconds and bytes of the job."""
    import resource

    usage = resource.getrusage(resource.RUSAGE_SELF)
    _set_limit("RLIMIT_CPU", int(usage.ru_utime + usage.ru_stime + job["seconds"]) + 1)
    try:
        with open("/proc/self/statm") as file:
            used = int(file.read().split()[0]) * resource.getpagesize()
    except (OSError, ValueError):
        return  # not Linux: without the present use, memory is not limited
    _set_limit("RLIMIT_AS", used + job["memory"])


def _detach_process() -> None:
    """Let Ctrl-C pass by, let crashes end this process, and let it be the first that the OOM killer ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Ignored and blocked signals are inherited: a crash in LLVM must end the process, not hang it.
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
    """Wait for a job; None if the socket has closed or the parent process has gone."""
    import select

    while not select.select([connection], [], [], _WATCH)[0]:
        if os.getppid() != parent:
            return None
    return receive(connection)


def main() -> int:
    """Compile jobs until the socket closes or the parent process has gone."""
    folder, *options = sys.argv[1:]
    parent = os.getppid()
    _detach_process()
    # A descriptor apart from the standard streams: LLVM may print to those.
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
