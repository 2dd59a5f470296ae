"""Compiling a physics function: for this machine, a device, and libraries that differentiate."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nacelle.compile.cache import load_or_trace
from nacelle.compile.closing import PASSIVE, DerivableProgram, PoseClosure
from nacelle.compile.compiled import Compiled, Parametric
from nacelle.compile.native import compile_program, runnable_target
from nacelle.compile.specification import Specification, WithCheck, parameter_groups, resolve_input_shapes
from nacelle.emit.cuda.plan import CudaOptions
from nacelle.emit.registry import warn_once
from nacelle.emit.store import Store, store_of
from nacelle.errors import CompileError, did_you_mean
from nacelle.model.robot import Robot
from nacelle.program.minimise import minimise
from nacelle.program.program import Program

DIFFERENTIABLE = ("jax", "torch")
"""Targets whose functions have derivatives."""


@dataclass(frozen=True)
class Differentiable:
    """A target whose functions have derivatives, with options of its own.

    Attributes:
        library: "jax" or "torch".
        closing: what is done with a robot's pose before the program runs. Default None: nothing.

    Raises:
        CompileError: if there is no such library.
    """

    library: str
    closing: PoseClosure | None = None

    def __post_init__(self) -> None:
        """Check."""
        if self.library not in DIFFERENTIABLE:
            raise CompileError(
                f"no library is called {self.library!r}; {did_you_mean(self.library, DIFFERENTIABLE)}"
            )


def compile_differentiable(
    specification: Specification, target: str, closing: PoseClosure | None, store: Store | None
) -> Compiled:
    """Compile a specification as a function of JAX or PyTorch.

    Args:
        specification: what is compiled; numbers of the robot that are inputs are differentiated, too.
        target: "jax" or "torch".
        closing: what is done with the pose before.
        store: the cache; None if it is not to be used.

    Raises:
        CompileError: if the library is missing, or the robot's geometry is an input where passive
            coordinates are solved at the geometry as it is described.
    """
    from nacelle.compile.on_jax import JaxFunction
    from nacelle.compile.on_torch import ProgramOperator, TorchFunction
    from nacelle.emit.python.differentiable import LIBRARIES

    LIBRARIES[target].module()  # before the work of tracing
    if specification.derivatives:
        raise CompileError(
            f"functions of the target {target!r} have all derivatives: leave `derivatives` out, and "
            "differentiate by the input 'parameters'"
        )
    unknown = closing is not None and 0 not in specification.shapes.get(PASSIVE, (0,))
    if unknown and "geometry" in specification.groups:
        raise CompileError(
            f"legs of {specification.label} are solved numerically, with its geometry as it is described: "
            "leave geometry out of the parameters"
        )

    main = _derivable_program(specification, store)
    step = step_spec = None
    if unknown:
        assert closing is not None
        assert closing.step is not None
        step_spec = Specification(
            closing.step, closing.robot, resolve_input_shapes(closing.step, closing.robot)
        )
        step = _derivable_program(step_spec, store)
    if target == "jax":
        return JaxFunction(main, closing, step)

    def operator(of: Specification, derivable: DerivableProgram) -> ProgramOperator:
        def native(part: str, program: Program) -> Compiled:
            unchecked = WithCheck(program, None)
            return compile_program(of, lambda: unchecked, runnable_target("jit"), store, f"torch {part}")

        return ProgramOperator(derivable, native)

    closed = None if step_spec is None or step is None else operator(step_spec, step)
    return TorchFunction(operator(specification, main), closing, closed)


def _derivable_program(specification: Specification, store: Store | None) -> DerivableProgram:
    """The program of a specification, with what follows from it in the cache."""

    def derive(part: str, make: Callable[[], Program]) -> Program:
        return load_or_trace("differentiable", specification, lambda: minimise(make()), store, part)

    program = load_or_trace("differentiable", specification, specification.program, store, "program")
    return DerivableProgram(program, derive)


# ---- compiling a physics function


def compile_function(
    function: Callable[..., Any],
    robot: Robot | None = None,
    *,
    inputs: Mapping[str, tuple[int, ...]] | None = None,
    parameters: str | Sequence[str] = "constant",
    derivatives: Sequence[str] = (),
    options: Mapping[str, Any] | None = None,
    target: str | CudaOptions | Differentiable = "jit",
    minimise: bool = True,
    states: Callable[..., Any] | None = None,
    cache: Store | bool = True,
) -> Compiled:
    """Compile a physics function.

    Args:
        function: called as function(robot, *arrays), or function(*arrays) if there is no robot; its
            inputs are declared by `@physics` or given.
        robot: the robot; its numbers are folded into the program.
        inputs: names and shapes of the arrays, if the function does not declare them.
        parameters: "constant": the robot's numbers are constants; "input": its free numbers
            (`robot.numbers`) are the first input, "parameters"; or a list of groups ("inertia", ...) of them.
        derivatives: names of outputs whose derivatives by the parameters, all other inputs held, are outputs
            too: "d_OUTPUT_d_parameters", of shape (*shape, parameters).
        options: keyword arguments for the function that shape the program: numbers, texts, frozen dataclasses
            of them.
        target: "jit"; "numpy", which needs no compiler and is taken with a warning where llvmlite is
            missing; "cuda", on arrays of a device (`nacelle.compile.run_on_device`), which needs CuPy; or
            "jax" and "torch", on arrays of these libraries, with derivatives (`nacelle.compile.on_jax`).
            `CudaOptions` and `Differentiable` are these with options of their own.
        minimise: whether to minimise the program.
        states: how inputs are drawn at which the program is checked (`Specification`).
        cache: whether to look into and write to the user's cache, or another one.

    Returns:
        A `Compiled`; with numbers as inputs a `Parametric`.

    Raises:
        CompileError: if the function cannot be traced.
        DeviceError: if the target is "cuda" and there is no device, or no CuPy.
    """
    groups = parameter_groups(parameters)
    specification = Specification(
        function,
        robot,
        resolve_input_shapes(function, robot, inputs, groups),
        groups=groups,
        derivatives=tuple(derivatives),
        minimise=minimise,
        options=dict(options or {}),
        states=states,
    )
    store = store_of(cache)
    if target == "cuda":
        target = CudaOptions()
    elif target in DIFFERENTIABLE:
        target = Differentiable(str(target))
    if isinstance(target, CudaOptions):
        return _compile_for_device(specification, target, store)
    if isinstance(target, Differentiable):
        return compile_differentiable(specification, target.library, target.closing, store)
    chosen = runnable_target(target)
    if not groups:
        if derivatives:
            raise CompileError("derivatives are by parameters: give parameters='input' or groups of them")
        return compile_program(specification, specification.program_with_check, chosen, store)
    parts = functools.cache(specification.parts_with_checks)

    def both(anew: bool) -> Parametric:
        return Parametric(
            compile_program(specification, lambda: parts().prologue, chosen, store, "prologue", anew=anew),
            compile_program(specification, lambda: parts().body, chosen, store, "body", anew=anew),
        )

    result = both(anew=False)
    reason = specification.parts_staleness_reason(result.prologue, result.body) if result.from_cache else ""
    if reason:
        warn_once(f"{specification.label} is compiled anew: the cache has another, {reason}")
        result = both(anew=True)
    return result


def _compile_for_device(specification: Specification, options: CudaOptions, store: Store | None) -> Compiled:
    """Compile a specification for a device."""
    from nacelle.compile.on_device import DeviceFunction, DeviceParametric
    from nacelle.emit.cuda.device import cupy

    cupy()  # before the work of tracing
    if not specification.groups:
        if specification.derivatives:
            raise CompileError("derivatives are by parameters: give parameters='input' or groups of them")
        program = load_or_trace("cuda", specification, specification.program, store)
        return DeviceFunction(program, options, store)
    split = functools.cache(specification.split)
    return DeviceParametric(
        *(
            DeviceFunction(load_or_trace("cuda", specification, make, store, part), options, store)
            for part, make in (("prologue", lambda: split().prologue), ("body", lambda: split().body))
        )
    )
