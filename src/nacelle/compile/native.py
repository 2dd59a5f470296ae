"""A program as native code, from the cache or compiled anew; NumPy where there is no compiler."""

from __future__ import annotations

from collections.abc import Callable

from nacelle.compile.cache import CachedForm, kept
from nacelle.compile.check import ProgramCheck
from nacelle.compile.compiled import Compiled
from nacelle.compile.specification import Checked, Specification
from nacelle.emit.registry import Kernel, Target, TargetError, target, warn_once
from nacelle.emit.store import Store
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


# ---- A program as native code, from the user's cache or compiled anew; as NumPy where there is no compiler


def compiled(
    specification: Specification,
    make: Callable[[], Checked[Program]],
    chosen: Target,
    store: Store | None,
    part: str = "program",
    *,
    anew: bool = False,
) -> Compiled:
    """Compile a program of a specification, arguments as in `kept`."""

    def plain(program: Program) -> Compiled:
        return Compiled(program, tiles(program), "numpy")

    if chosen.name != "jit":
        return plain(make().made)
    from nacelle.emit.jit import target as jit

    def load(image: bytes, signature: Program, packed: bytes | None) -> Compiled:
        return Compiled(signature, jit.load_object(image, signature), "jit", packed)

    def note(result: Compiled, check: ProgramCheck | None) -> None:
        result.check = check

    form = CachedForm(
        "function", jit.compile_object, load, plain, Compiled.at_rows, is_program=True, note=note
    )
    return kept(form, specification, make, store, part, anew=anew)
