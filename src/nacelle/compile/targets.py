"""The target that runs a program: the JIT, or NumPy where llvmlite is missing."""

from __future__ import annotations

from nacelle.emit.registry import Kernel, Target, TargetError, target, warn_once
from nacelle.errors import CompileError
from nacelle.program.program import Program


def target_that_runs(name: str) -> Target:
    """The target of a name; without llvmlite, NumPy takes the place of the JIT, with one warning."""
    try:
        chosen = target(name)
    except TargetError as error:
        if name != "jit":
            raise CompileError(str(error)) from None
        warn_once(f"programs run as NumPy, far slower: {error}")
        return target("numpy")
    if chosen.kernel is None:
        raise CompileError(
            f"the target {name!r} gives source only; compile for 'jit', then .source({name!r})"
        )
    return chosen


def tiles(program: Program) -> Kernel:
    """The kernel of a program that needs no compiler."""
    make = target("numpy").kernel
    assert make is not None
    return make(program)
