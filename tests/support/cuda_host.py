"""Emitted CUDA compiled as C++ for this machine: the same statements, one thread after the other.

The header's device part is replaced by `nacelle.emit.cuda.header.HOST`.
"""

from __future__ import annotations

import atexit
import ctypes
import hashlib
import re
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from nacelle.emit.cuda.header import HOST
from nacelle.emit.cuda.plan import THREADS


@cache
def compiler() -> str:
    """The compiler of C++, or the test is skipped."""
    found = shutil.which("g++") or shutil.which("clang++")
    if found is None:
        # Emitted CUDA cannot run without a GPU; its numbers can only be compared where C++ can be compiled.
        pytest.skip("no compiler of C++ (g++, clang++) to compile emitted CUDA with")
    return found


def without_tiles(text: str) -> str:
    """The source without its tiled kernels, which need the device's copy engine."""
    return re.sub(r'extern "C" __global__[^{]*_tiled\(.*?\n\}\n', "", text, flags=re.DOTALL)


@cache
def _library(text: str) -> ctypes.CDLL:
    """Compile a whole source, with an entry `NAME_host(grid, ...)` for each kernel."""
    text = without_tiles(text)
    entries = []
    for name, head in re.findall(
        r'extern "C" __global__ void __launch_bounds__\([^)]*\)\s*(\w+)\((.*?)\)\n\{', text, re.S
    ):
        names = ", ".join(part.split()[-1].lstrip("*") for part in head.split(","))
        entries.append(
            f'extern "C" void {name}_host(unsigned grid, {head}) {{ gridDim.x = grid;\n'
            "for (blockIdx.x = 0; blockIdx.x < grid; ++blockIdx.x)\n"
            f"for (threadIdx.x = 0; threadIdx.x < {THREADS}; ++threadIdx.x) {name}({names}); }}\n"
        )
    source = _folder() / f"{hashlib.sha256(text.encode()).hexdigest()[:24]}.cpp"
    source.write_text(HOST + text + "".join(entries))
    built = source.with_suffix(".so")
    command = [compiler(), "-std=c++17", "-O0", "-w", "-ffp-contract=off", "-shared", "-fPIC"]
    subprocess.run([*command, str(source), "-o", str(built)], check=True, timeout=120)
    return ctypes.CDLL(str(built))


@cache
def _folder() -> Path:
    """A folder of this process's own, removed at its end."""
    folder = tempfile.mkdtemp(prefix="nacelle-cuda-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def call(text: str, kernel: str, grid: int, arguments: tuple[Any, ...]) -> None:
    """Run a kernel of a source on this machine; arguments are ctypes values, the last the count of states.

    The first pass, without states, lets every thread fill what all of them share.
    """
    run = getattr(_library(text), f"{kernel}_host")
    run(ctypes.c_uint(grid), *arguments[:-1], ctypes.c_uint64(0))
    run(ctypes.c_uint(grid), *arguments)
