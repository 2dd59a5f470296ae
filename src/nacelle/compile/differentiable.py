"""Compiling for libraries that differentiate: JAX and PyTorch."""

from __future__ import annotations

from collections.abc import Callable

from nacelle.compile.cache import kept_program
from nacelle.compile.closing import UNKNOWN, Closing, Derivable
from nacelle.compile.compiled import Compiled
from nacelle.compile.native import compiled
from nacelle.compile.specification import Checked, Specification, shapes_of_inputs
from nacelle.compile.targets import target_that_runs
from nacelle.emit.store import Store
from nacelle.errors import CompileError
from nacelle.program.program import Program

DIFFERENTIABLE = ("jax", "torch")
"""Targets whose functions have derivatives."""


def differentiable(
    specification: Specification, target: str, closing: Closing | None, store: Store | None
) -> Compiled:
    """Compile a specification as a function of JAX or PyTorch.

    Args:
        specification: what is compiled; numbers of the robot that are inputs are differentiated, too.
        target: "jax" or "torch".
        closing: what is done with the pose before.
        store: the cache; None if it is not to be used.

    Raises:
        CompileError: if the library is missing, or the robot's geometry is an input where iteration finds
            something at the geometry as it is described.
    """
    from nacelle.compile.on_jax import OnJax
    from nacelle.compile.on_torch import OnTorch, ProgramOperator
    from nacelle.emit.jax.target import jax
    from nacelle.emit.torch.target import torch

    {"jax": jax, "torch": torch}[target]()  # before the work of tracing
    if specification.derivatives:
        raise CompileError(
            f"functions of the target {target!r} have all derivatives: leave `derivatives` out, and "
            "differentiate by the input 'parameters'"
        )
    unknown = closing is not None and closing.step is not None and UNKNOWN in specification.shapes
    if unknown and "geometry" in specification.groups:
        raise CompileError(
            f"legs of {specification.label} are found by iteration, with its geometry as it is described: "
            "leave geometry out of the parameters"
        )

    main = _derivable(specification, store)
    step = own = None
    if unknown:
        assert closing is not None
        assert closing.step is not None
        own = Specification(closing.step, closing.robot, shapes_of_inputs(closing.step, closing.robot))
        step = _derivable(own, store)
    if target == "jax":
        return OnJax(main, closing, step)

    def operator(of: Specification, derivable: Derivable) -> ProgramOperator:
        def native(part: str, program: Program) -> Compiled:
            made = Checked(program, None)
            return compiled(of, lambda: made, target_that_runs("jit"), store, f"torch {part}")

        return ProgramOperator(derivable, native)

    closed = None if own is None or step is None else operator(own, step)
    return OnTorch(operator(specification, main), closing, closed)


def _derivable(specification: Specification, store: Store | None) -> Derivable:
    """The program of a specification, with what follows from it in the cache."""

    def derived(part: str, make: Callable[[], Program]) -> Program:
        return kept_program("differentiable", specification, make, store, part)

    return Derivable(derived("program", specification.program), derived)
