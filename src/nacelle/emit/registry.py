"""The registry of targets.

A target turns a `Program` into something. Every target gives source text; those that can also run
give a kernel. A module of this package registers its target at import, and `target(name)` imports the
module of that name when it is first used, so that heavy packages load only when they are used.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

from numpy.typing import NDArray

from nacelle.errors import CompilerWarning, NacelleError, did_you_mean
from nacelle.program.program import Program

_MODULES = {
    "jit": "nacelle.emit.jit.target",
    "c": "nacelle.emit.c.target",
    "cuda": "nacelle.emit.cuda.target",
    "numpy": "nacelle.emit.python.tiles",
    "python": "nacelle.emit.python.target",
    "jax": "nacelle.emit.python.differentiable",
    "torch": "nacelle.emit.python.differentiable",
}
NAMES = tuple(_MODULES)


class Kernel(Protocol):
    """A program that runs.

    Arrays are C-contiguous float64, one per variable: inputs (N, size) or (1, size), the latter shared by
    all samples; outputs (N, size).
    """

    def run(self, inputs: Sequence[NDArray[Any]], outputs: Sequence[NDArray[Any]], threads: int) -> None:
        """Evaluate all samples into the outputs."""

    def bind(self, inputs: Sequence[NDArray[Any]], outputs: Sequence[NDArray[Any]]) -> Callable[[], None]:
        """Give a function without arguments that evaluates one sample in these very buffers."""


@dataclass(frozen=True)
class Target:
    """A target: its name, how it writes source, and how it makes a kernel (None if it cannot run)."""

    name: str
    source: Callable[[Program], str]
    kernel: Callable[[Program], Kernel] | None = None


_targets: dict[str, Target] = {}


class TargetError(NacelleError):
    """There is no such target, or it cannot be used here."""


def register(new: Target) -> None:
    """Add a target under its name."""
    _targets[new.name] = new


def target(name: str) -> Target:
    """Find a target by name.

    Raises:
        TargetError: if there is no such target, or the package it needs is missing.
    """
    if name not in _targets:
        if name not in _MODULES:
            raise TargetError(f"no target is called {name!r}; {did_you_mean(name, NAMES)}")
        try:
            importlib.import_module(_MODULES[name])
        except ImportError as error:
            raise TargetError(f"the target {name!r} cannot be used here: {error}") from error
    return _targets[name]


@cache
def warn_once(text: str) -> None:
    """Warn, the first time only, that programs run more slowly than they could."""
    warnings.warn(text, CompilerWarning, stacklevel=5)
