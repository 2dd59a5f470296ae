"""Scripts that take the place of the compiler's process, and go wrong on purpose."""

from __future__ import annotations

from pathlib import Path

from nacelle.emit.jit import compiler_worker

# LLVM 22 aborts on the argument of a naked function when it optimises, and compiles it at level 0.
ABORTS = "define i32 @naked(i32 %x) naked { ret i32 %x }"
# LLVM has no scalable vectors for a processor without them: it ends the process at every level.
ENDS = """declare <vscale x 2 x double> @llvm.sqrt.nxv2f64(<vscale x 2 x double>)
define void @f(ptr %p) {
  %x = load <vscale x 2 x double>, ptr %p
  %y = call <vscale x 2 x double> @llvm.sqrt.nxv2f64(<vscale x 2 x double> %x)
  store <vscale x 2 x double> %y, ptr %p
  ret void
}"""

# What the script does instead of compiling; `real` compiles.
FAULTS = {
    "abort": f"return real(job, text + {ABORTS!r})",
    "fatal": f"return real({{**job, 'cpu': 'generic', 'features': ''}}, {ENDS!r})",
    "SIGABRT": "os.abort()",
    "SIGSEGV": "ctypes.string_at(0)",
    "SIGKILL": "os.kill(os.getpid(), signal.SIGKILL)",
    "busy": "while True: pass",
    "asleep": "time.sleep(1000)",
    "memory": "return b''.join(bytes(1 << 24) for _ in range(1 << 20))",
    "exit": "os._exit(3)",
    "refused": "return real(job, 'this is not a module')",
    "no object": "return b'this is not an object'",
    "part of an object": "return real(job, text)[:-500]",
    "garbage": "change(lambda message: b'garbage' * 100); return b''",
    "short": "change(lambda message: message[:-3]); stop.append(1); return b'123456789'",
    "checksum": "change(lambda message: message[:-3] + b'xyz'); return b'123456789'",
    "other number": "change(lambda message, pack=worker.message: pack({'number': -1})); return b''",
    "no fields": "change(lambda message, pack=worker.message: pack([1, 2])); return b''",
}

_SCRIPT = """
import ctypes, importlib.util, os, signal, sys, time
spec = importlib.util.spec_from_file_location("worker", {worker!r})
worker = importlib.util.module_from_spec(spec)
spec.loader.exec_module(worker)
real, stop = worker.emit_object, []


def change(how):
    worker.message = lambda *parts, pack=worker.message: how(pack(*parts))


class Socket(worker.socket.socket):
    def sendall(self, data):
        super().sendall(data)
        if stop:
            os._exit(0)


def emit_object(job, text):
    with open({log!r}, "a") as file:
        file.write(f"{{job['level']}}\\n")
    if {where}:
        {fault}
    return real(job, text)


worker.emit_object, worker.socket.socket = emit_object, Socket
{before}
sys.exit(worker.main())
"""


def script(folder: Path, fault: str = "", where: str = "True", before: str = "") -> Path:
    """Write a script; it notes in `log` beside it at which levels it was asked to compile.

    Args:
        folder: where to write it.
        fault: one of FAULTS; none if empty.
        where: when it happens, a condition on `job` and `text`.
        before: what is done at the start.
    """
    path = folder / f"{fault.replace(' ', '-') or 'sound'}.py"
    text = _SCRIPT.format(
        worker=compiler_worker.__file__,
        log=str(folder / "log"),
        where=where if fault else "False",
        fault=FAULTS.get(fault, "pass"),
        before=before,
    )
    path.write_text(text)
    return path


def logged_requests(folder: Path) -> list[int]:
    """At which levels the scripts in a folder were asked to compile."""
    log = folder / "log"
    return [int(line) for line in log.read_text().split()] if log.exists() else []
