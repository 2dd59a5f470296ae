"""Exported packages for tests: built, run, loaded and called."""

from __future__ import annotations

import ctypes
import importlib.util
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

import nacelle
from nacelle.model.robot import Robot
from support.cc import COMPILERS, FAST, WARNINGS

Array = np.ndarray


def hostile_fivebar() -> Robot:
    """A five-bar whose names are words of C and Python, whose title ends comments and opens tables."""
    text = nacelle.robots.text("fivebar")
    text = re.sub(r"\bleft\b", "lambda", text)
    text = re.sub(r"\bright\b", "机器人-2", text)
    text = re.sub(r"\bmotor\b", "restrict", text)
    text = re.sub(r"(?m)^name: .*$", "name: stdio", text)
    title = 'title: \'*/ int evil; /* """ `x` | <b>\''
    return nacelle.loads(re.sub(r"(?m)^title: .*$", title, text))


def compile_package(folder: Path, flags: Sequence[str] = FAST, compiler: str = "") -> ctypes.CDLL:
    """Compile the sources of a C package, every warning an error, and load the library."""
    sources = sorted(str(path) for path in (folder / "src").glob("*.c"))
    command = [compiler or COMPILERS[0], *WARNINGS, *flags, "-shared", "-fPIC", f"-I{folder / 'include'}"]
    _run([*command, *sources, "-lm", "-o", "library.so"], folder)
    return ctypes.CDLL(str(folder / "library.so"))


def run_self_test(folder: Path, flags: Sequence[str] = FAST, compiler: str = "") -> str:
    """Compile a C package with its self-test, run it, and give what it prints."""
    sources = sorted(str(path) for path in (folder / "src").glob("*.c"))
    command = [compiler or COMPILERS[0], *WARNINGS, *flags, f"-I{folder / 'include'}", *sources]
    _run([*command, "test/self_test.c", "-lm", "-o", "self_test"], folder)
    return _run(["./self_test"], folder)


def _run(command: list[str], folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, (done.stdout + done.stderr)[:4000]
    assert not done.stderr, done.stderr[:4000]
    return done.stdout


def call(
    function: Any, inputs: Sequence[Array], sizes: Sequence[int], dtype: Any = np.float64
) -> list[Array]:
    """Call a C function row by row on arrays (states, size)."""
    inputs = [np.ascontiguousarray(array, dtype=dtype) for array in inputs]
    outputs = [np.full((len(inputs[0]), size), np.nan, dtype=dtype) for size in sizes]
    for k in range(len(inputs[0])):
        function(*(ctypes.c_void_p(array[k].ctypes.data) for array in (*inputs, *outputs)))
    return outputs


def import_file(path: Path) -> ModuleType:
    """Import a module from its file."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run_python(path: Path) -> str:
    """Run a file in a process of its own, and give what it prints."""
    return _run([sys.executable, path.name], path.parent)
