"""C compilers for tests and benchmarks: building emitted sources and calling what comes out."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray

COMPILERS = tuple(name for name in ("gcc", "clang") if shutil.which(name))
WARNINGS = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-Wconversion")
FAST = ("-O3", "-fno-math-errno", "-fno-trapping-math")
EXACT = ("-ffp-contract=off",)
SANITIZE = ("-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")


def compile_sources(
    files: Mapping[str, str], folder: Path, output: str, compiler: str, flags: Sequence[str]
) -> Path:
    """Compile all sources among the files into `output`.

    Raises:
        AssertionError: with what the compiler says, if it refuses or warns.
    """
    for name, text in files.items():
        (folder / name).write_text(text)
    sources = [name for name in files if name.endswith(".c")]
    command = [compiler, *flags, *sources, "-o", output, *(() if "-c" in flags else ("-lm",))]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:4000]
    assert not done.stderr, done.stderr[:4000]
    return folder / output


def compile_shared(
    files: Mapping[str, str], compiler: str = "", flags: Sequence[str] = (*WARNINGS, *FAST)
) -> ctypes.CDLL:
    """Compile files to a shared library and load it."""
    with tempfile.TemporaryDirectory() as folder:
        flags = ("-shared", "-fPIC", *flags)
        path = compile_sources(files, Path(folder), "library.so", compiler or COMPILERS[0], flags)
        return ctypes.CDLL(str(path))


def run_executable(
    files: Mapping[str, str], compiler: str, flags: Sequence[str], given: bytes = b""
) -> bytes:
    """Compile files, of which one has a `main`, run it, and give what it writes.

    Raises:
        AssertionError: if it ends with an error, as under a sanitizer that found something.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = compile_sources(files, Path(folder), "program", compiler, flags)
        # Leaks cannot be looked for under every tracer, and there is no heap to leak from.
        environment = os.environ | {"ASAN_OPTIONS": "detect_leaks=0", "UBSAN_OPTIONS": "print_stacktrace=1"}
        done = subprocess.run([str(path)], input=given, capture_output=True, env=environment, check=False)
        assert done.returncode == 0, done.stderr.decode()[:4000]
        return done.stdout


def pointer(array: Array) -> ctypes.c_void_p:
    """The address of an array's first number."""
    return ctypes.c_void_p(array.ctypes.data)


def call_single(function: Any, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
    """Call the entry for one sample, sample by sample."""
    for k in range(len(outputs[0])):
        rows = [array[0 if len(array) == 1 else k] for array in inputs] + [array[k] for array in outputs]
        function(*map(pointer, rows))


def call_batch(function: Any, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
    """Call the batch entry; an input of one row serves all samples."""
    arguments: list[Any] = [ctypes.c_size_t(len(outputs[0]))]
    for array in inputs:
        arguments += [pointer(array), ctypes.c_size_t(0 if len(array) == 1 else array.shape[1])]
    function(*arguments, *map(pointer, outputs))
