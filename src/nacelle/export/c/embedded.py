"""The profile `embedded` of C: float for microcontrollers, and the stack of every function along its calls.

A package of the profile has no double in it and nothing that promotes to double, constants in flash alone,
no heap, no globals and no recursion. Its stack is bounded therefore by the largest sum of frames along a
chain of calls; a compiler (gcc) lists frames and calls.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from nacelle.errors import ExportError
from nacelle.export.compiler import Compiler, find_compiler

EMBEDDED = "embedded"
"""What the profile is called."""

WARNINGS = ("-Wall", "-Wextra", "-Wdouble-promotion", "-Wconversion", "-Wfloat-conversion")
"""Warnings under which code of the profile compiles without one."""

FLAGS = ("-std=c99", "-O2", "-fno-math-errno", "-fno-trapping-math")
BOARDS = {
    "Cortex-M4F": ("-mcpu=cortex-m4", "-mthumb", "-mfpu=fpv4-sp-d16", "-mfloat-abi=hard"),
    "Cortex-M7": ("-mcpu=cortex-m7", "-mthumb", "-mfpu=fpv5-sp-d16", "-mfloat-abi=hard"),
}
"""Options of gcc for processors with an FPU for float."""

LIBRARY = ("atan2f", "ceilf", "cosf", "expf", "fabsf", "floorf", "sinf", "sqrtf", "tanhf")
"""The functions of `math.h` that code of the profile may call."""

_SECONDS = 300.0
_NODE = re.compile(r'^node: \{ title: "([^"]+)" label: "[^"]*?\\n(\d+) bytes \((\w[\w,]*)\)', re.MULTILINE)
_EDGE = re.compile(r'^edge: \{ sourcename: "([^"]+)" targetname: "([^"]+)"', re.MULTILINE)
_CALL = re.compile(rf"\b(?:{'|'.join(LIBRARY)})(?=\()")


@dataclass(frozen=True)
class StackUse:
    """Frames and calls of the functions of a package, as a compiler has made them.

    Attributes:
        compiler: what it says of itself.
        processor: for which it compiled; empty for this machine.
        frames: bytes of the stack that a function takes itself, by its name.
        calls: the functions that it calls, those of libraries among them.
    """

    compiler: str
    processor: str
    frames: Mapping[str, int]
    calls: Mapping[str, frozenset[str]]

    @property
    def entries(self) -> tuple[str, ...]:
        """Functions that no other one of the package calls, sorted."""
        return tuple(sorted(self.frames.keys() - frozenset[str]().union(*self.calls.values())))

    def depth(self, function: str) -> int:
        """Bytes of the stack along the deepest chain of calls, without those of libraries.

        Raises:
            ExportError: if the function calls itself, directly or not.
        """
        return self._depth(function, ())

    def _depth(self, function: str, callers: tuple[str, ...]) -> int:
        if function in callers:
            raise ExportError(f"{function} calls itself: its stack has no bound")
        below = (self._depth(name, (*callers, function)) for name in self.calls.get(function, ()))
        return self.frames.get(function, 0) + max(below, default=0)


def measure_stack(files: Mapping[str, str], compiler: Compiler, processor: str = "") -> StackUse:
    """Compile the sources of a package, and read frames and calls.

    Args:
        files: texts by their path in the package.
        compiler: a gcc.
        processor: a key of `BOARDS`; this machine if empty.

    Raises:
        ExportError: if it does not compile them, or a frame has no bound.
    """
    flags = [*BOARDS.get(processor, ()), *FLAGS, "-fcallgraph-info=su", "-I../include"]
    with tempfile.TemporaryDirectory(prefix="nacelle-stack-") as folder:
        root = Path(folder)
        for path, text in files.items():
            if path.endswith((".c", ".h")):
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text(text, encoding="utf-8", newline="\n")
        sources = sorted(path.name for path in (root / "src").glob("*.c"))
        compiler.build([*flags, "-c", *sources], root / "src", _SECONDS)
        text = "\n".join(path.read_text(encoding="utf-8") for path in sorted((root / "src").glob("*.ci")))
    frames, calls = {}, dict[str, set[str]]()
    for name, size, kind in _NODE.findall(text):
        if kind == "dynamic":
            raise ExportError(f"the frame of {name} has no bound")
        frames[name] = int(size)
    for caller, callee in _EDGE.findall(text):
        calls.setdefault(caller, set()).add(callee)
    return StackUse(
        compiler.version, processor, frames, {name: frozenset(callees) for name, callees in calls.items()}
    )


@cache
def cross_compiler() -> Compiler | None:
    """The gcc for bare ARM processors, None without it."""
    program = shutil.which("arm-none-eabi-gcc")
    return None if program is None else Compiler("c", (program,))


def library_calls(files: Mapping[str, str]) -> tuple[str, ...]:
    """The functions of `math.h` that the sources of a package call, sorted."""
    return tuple(
        sorted(
            {name for path, text in files.items() if path.startswith("src/") for name in _CALL.findall(text)}
        )
    )


def embedded_readme(name: str, files: Mapping[str, str], is_measured: bool) -> list[str]:
    """Paragraphs of the README: how to build and measure, what is called, the stack.

    Args:
        name: of the package.
        files: texts by their path.
        is_measured: whether to compile for the stack, where there is a compiler for it.
    """
    calls = ", ".join(f"`{function}`" for function in library_calls(files))
    lines = [
        "",
        "## On a microcontroller",
        "",
        "The profile `embedded`: float alone, constants in flash (`static const`), no heap, no globals, no "
        f"recursion. Of `math.h` it calls {calls or 'nothing'}; compilers add `memcpy` and `memset`. It "
        f"compiles without a warning under `{' '.join(WARNINGS)}`.",
        "",
        f"    make build/lib{name}.a CC=arm-none-eabi-gcc AR=arm-none-eabi-ar \\",
        f'        CFLAGS="-O2 {" ".join(BOARDS["Cortex-M4F"])} -ffunction-sections -fstack-usage"',
        "",
        "lists the frame of each function in `build/*.su`; `-fcallgraph-info=su` adds the calls. The stack "
        "that a function needs is the largest sum of frames along its calls, and what the C library takes.",
    ]
    stack = _stack(files) if is_measured else None
    if stack is None:
        return [*lines, "It has not been measured yet."]
    where = stack.processor or "this machine"
    lines += [f"For {where}, by {stack.compiler} with -O2, without the C library:", ""]
    lines += ["| function | stack, bytes |", "|---|---|"]
    return lines + [f"| `{function}` | {stack.depth(function)} |" for function in stack.entries]


def _stack(files: Mapping[str, str]) -> StackUse | None:
    """The stack by the compiler for ARM, else by that of this machine; None where neither lists it."""
    cross, host = cross_compiler(), find_compiler("c")
    for compiler, processor in ((cross, "Cortex-M4F"), (host, "")):
        if compiler is not None:
            try:
                stack = measure_stack(files, compiler, processor)
            except ExportError:
                continue
            if stack.frames:
                return stack
    return None
