"""A program as native code, from the cache or compiled anew; NumPy where there is no compiler."""

from __future__ import annotations

from collections.abc import Callable

from nacelle.compile.cache import CachedForm, load_or_compile
from nacelle.compile.check import ProgramCheck
from nacelle.compile.compiled import Compiled
from nacelle.compile.specification import Specification, WithCheck
from nacelle.emit.registry import Kernel, Target, TargetError, target, warn_once
from nacelle.emit.store import Store
from nacelle.errors import CompileError
from nacelle.program.program import Program


def runnable_target(name: str) -> Target:
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


def numpy_kernel(program: Program) -> Kernel:
    """The kernel of a program that needs no compiler."""
    make = target("numpy").kernel
    assert make is not None
    return make(program)


# ---- A program as native code, from the user's cache or compiled anew; as NumPy where there is no compiler


def compile_program(
    specification: Specification,
    make: Callable[[], WithCheck[Program]],
    chosen: Target,
    store: Store | None,
    part: str = "program",
    *,
    anew: bool = False,
) -> Compiled:
    """Compile a program of a specification, arguments as in `load_or_compile`."""

    def plain(program: Program) -> Compiled:
        return Compiled(program, numpy_kernel(program), "numpy")

    if chosen.name != "jit":
        return plain(make().value)
    from nacelle.emit.jit import target as jit

    def load(image: bytes, signature: Program, packed: bytes | None) -> Compiled:
        return Compiled(signature, jit.load_object(image, signature), "jit", packed)

    def note(result: Compiled, check: ProgramCheck | None) -> None:
        result.check = check

    form = CachedForm(
        "function", jit.compile_object, load, plain, Compiled.evaluate_rows, is_program=True, note=note
    )
    return load_or_compile(form, specification, make, store, part, anew=anew)
