"""What determines a program: a physics function, its robot and options; and how it is traced."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

from nacelle.errors import CompileError, NacelleError, did_you_mean
from nacelle.model.numbers.parameters import GROUPS
from nacelle.model.robot import Robot
from nacelle.program.identities.merge import with_identities
from nacelle.program.identities.parametric import split_with_identities
from nacelle.program.minimise import minimise
from nacelle.program.program import Program
from nacelle.program.split import Split, joined, split, with_parameter_jacobians
from nacelle.program.trace import Trace, trace
from nacelle.progress import task
from nacelle.spatial.physics import input_shapes, sampler_of


@dataclass(frozen=True)
class Specification:
    """A physics function with all that its program depends on.

    Where the function declares how its inputs are drawn (`@sampled`) values that are equal at all samples
    are one.

    Attributes:
        function: called as function(robot, *arrays, **options), or without a robot if that is None.
        robot: the robot.
        shapes: names and shapes of the inputs, "parameters" among them if there are groups.
        groups: groups of the robot's free numbers that are the first input, "parameters".
        derivatives: outputs whose derivatives by the parameters are outputs too.
        minimised: whether the program is minimised.
        options: keyword arguments for the function.
    """

    function: Callable[..., Any]
    robot: Robot | None
    shapes: Mapping[str, tuple[int, ...]]
    _: KW_ONLY
    groups: tuple[str, ...] = ()
    derivatives: tuple[str, ...] = ()
    minimised: bool = True
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name of the program."""
        return getattr(self.function, "__name__", "program")

    @property
    def label(self) -> str:
        """What a user knows the program as."""
        return self.name if self.robot is None else f"{self.name} of {self.robot.name}"

    def program(self) -> Program:
        """Trace the function to a program, and minimise it; the same program on every machine.

        Raises:
            CompileError: if it cannot be traced.
        """
        if self.groups:
            parts = self.split()
            return joined(parts.prologue, parts.body)
        robot = self.robot.alike if self.robot is not None else None
        given = () if robot is None else (robot,)
        with task(f"tracing and simplifying {self.name}"), _without_collections():
            program = self._trace(lambda *arrays: self.function(*given, *arrays, **self.options)).program()
            if not self.minimised:
                return program
            sampler = sampler_of(self.function)
            samples = sampler(robot, self.shapes) if sampler is not None else None
            return minimise(program) if samples is None else with_identities(program, samples)

    def split(self) -> Split:
        """Trace the function with numbers of the robot as its first input, and split it.

        Raises:
            CompileError: if it cannot be traced, or the robot is another mechanism where its free numbers are
                not what they are.
        """
        assert self.robot is not None
        robot, groups = self.robot.alike, self.groups
        sample = robot.numbers.sample(*groups).tolist()

        def call(numbers: Any, *arrays: Any) -> Any:
            return self.function(robot.with_number_symbols(numbers, *groups), *arrays, **self.options)

        with task(f"tracing and simplifying {self.name}"):
            try:
                traced = self._trace(call, sample)
                if self.derivatives:
                    traced = with_parameter_jacobians(traced, self.derivatives)
                sampler = sampler_of(self.function)
                if not self.minimised or self.derivatives or sampler is None:
                    return split(traced, minimised=self.minimised)
                samples = sampler(robot, self.shapes, groups)
                if samples is None:
                    return split(traced)
                return split_with_identities(split(traced, minimised=False), tuple(sample), samples)
            except KeyError as error:
                raise CompileError(f"{self.name} has {error.args[0]}") from error
            except CompileError:
                raise
            except NacelleError as error:
                raise CompileError(
                    f"{robot.name} cannot have its numbers ({', '.join(groups)}) as inputs: with numbers "
                    f"near those described {error}; numbers that must be equal are to be one constant of the "
                    "description, and those that must stay as they are can be left out of the groups"
                ) from error

    def _trace(self, call: Callable[..., Any], sample: Sequence[float] | None = None) -> Trace:
        try:
            return trace(call, self.shapes, self.name, sample)
        except (TypeError, ValueError, IndexError, AttributeError) as error:
            raise CompileError(f"{self.name} cannot be traced: {error}") from error


@contextmanager
def _without_collections() -> Iterator[None]:
    """No garbage collections meanwhile: tracing makes very many small objects, and no cycles of them."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def make_program(
    function: Callable[..., Any],
    robot: Robot | None,
    shapes: Mapping[str, tuple[int, ...]],
    *,
    groups: tuple[str, ...] = (),
    minimised: bool = True,
    options: Mapping[str, Any] | None = None,
) -> Program:
    """The program of a physics function; arguments as in `Specification`."""
    return Specification(
        function, robot, shapes, groups=groups, minimised=minimised, options=options or {}
    ).program()


def groups_of(parameters: str | Sequence[str]) -> tuple[str, ...]:
    """The groups of numbers that `parameters` of `compile_function` names."""
    if parameters == "constant":
        return ()
    if parameters == "input":
        return GROUPS
    groups = (parameters,) if isinstance(parameters, str) else tuple(parameters)
    for group in groups:
        if group not in GROUPS:
            names = ["constant", "input", *GROUPS]
            raise CompileError(f"parameters={group!r}; {did_you_mean(group, names)}")
    return groups


def shapes_of_inputs(
    function: Callable[..., Any],
    robot: Robot | None,
    inputs: Mapping[str, tuple[int, ...]] | None = None,
    groups: tuple[str, ...] = (),
) -> dict[str, tuple[int, ...]]:
    """Names and shapes of a function's inputs, declared or given, "parameters" first if there are groups."""
    shapes = dict(inputs) if inputs is not None else input_shapes(function, robot)
    if shapes is None:
        raise CompileError(
            f"{getattr(function, '__name__', function)!r} does not declare its inputs: decorate it with "
            "@physics(name=shape, ...) or give inputs={name: shape}"
        )
    if not groups:
        return shapes
    if robot is None:
        raise CompileError("parameters as inputs need a robot")
    return {"parameters": (len(robot.numbers.names(*groups)),), **shapes}
