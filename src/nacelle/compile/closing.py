"""What a model does with its pose before its program runs, where its function is differentiated.

Programs hold for unit quaternions, and for unknowns that close the loops. Functions of the targets "jax" and
"torch" are called, and differentiated, at any numbers: so they

    1. bring the quaternion of x to unit length: derivatives are those along the sphere;
    2. find y(x) from step(y, x) = 0, step = -(df/dy)^-1 f Newton's step towards closed loops f(y, x) = 0.
       Where f = 0 the derivative of the step by x is

           d step / dx = -(df/dy)^-1 df/dx = dy/dx,

       that of the implicit function: no system is solved twice, and it holds for second derivatives, too,
       since it holds all along y(x).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from numpy.typing import NDArray

from nacelle.compile.compiled import BoundFunction, Compiled, match_arguments
from nacelle.errors import CompileError
from nacelle.model.robot import Robot
from nacelle.program.derivative import cotangent_program, tangent_program
from nacelle.program.program import Program

POSE, PASSIVE = "x", "y"
"""Names of the inputs: the pose, and the passive coordinates."""


@dataclass(frozen=True, eq=False)
class PoseClosure:
    """What is done with the pose of a robot.

    Attributes:
        robot: the robot.
        quaternion: slice of quat_xyzw in x; None if it has none.
        step: physics function of (robot, y, x) that gives "dy" and "error"; None without unknowns.
        reference: a pose, and the passive coordinates there.
        find: unknowns at poses (N, nx), from starts (N, ny) or from the reference if None; NaN where none
            were found.
    """

    robot: Robot
    quaternion: slice | None
    step: Callable[..., Any] | None
    reference: tuple[NDArray[Any], NDArray[Any]]
    find: Callable[[NDArray[Any], NDArray[Any] | None], NDArray[Any]]


@dataclass(frozen=True, eq=False)
class DerivableProgram:
    """A program whose derivatives are kept with it.

    Attributes:
        program: the program.
        derive: gives a program that follows from it, by a name of its own, from the cache or made anew.
        part: its name in the cache.
    """

    program: Program
    derive: Callable[[str, Callable[[], Program]], Program]
    part: str = "program"

    def tangent(self, by: Sequence[str] | None = None) -> DerivableProgram:
        """J dx, from all inputs and the tangents of those that are named, or of all."""
        label = "tangent" if by is None else f"tangent by {' '.join(by)}"
        return self._derive_part(label, lambda: tangent_program(self.program, by=by))

    def cotangent(self) -> DerivableProgram:
        """J^T y_bar, from all inputs and the cotangents of the results."""
        return self._derive_part("cotangent", lambda: cotangent_program(self.program))

    def _derive_part(self, label: str, make: Callable[[], Program]) -> DerivableProgram:
        part = f"{self.part} {label}"
        return replace(self, program=self.derive(part, make), part=part)


class Differentiable(Compiled):
    """A compiled physics function of arrays of a library that differentiates.

    Attributes:
        target: "jax" or "torch".
        inputs: names and shapes of its arguments.
        outputs: names and shapes of its results.
    """

    def __init__(self, program: Program, target: str, closing: PoseClosure | None, step: Any) -> None:
        """Keep a program.

        Args:
            program: the program.
            target: name of the target.
            closing: what is done with the pose before.
            step: Newton's step towards closed loops as heirs have it, where there are unknowns.
        """
        super().__init__(program, None, target)
        self._closing, self._step = closing, step

    def __call__(self, *arrays: Any, threads: int | None = None, **named: Any) -> Any:
        """Evaluate on arrays with leading batch dimensions (..., *shape), which broadcast.

        Args:
            *arrays: the inputs in order; or by name. Unknowns of a model (y) may be left out; where they are
                given, iteration starts from them.
            threads: nothing here; XLA and PyTorch have their own.
            **named: inputs by name.

        Returns:
            One array (..., *shape) if the function has one output, else a dict of arrays by name.
        """
        del threads
        starts = self._step is not None and PASSIVE not in named and len(arrays) < len(self.inputs)
        inputs = {name: shape for name, shape in self.inputs.items() if not (starts and name == PASSIVE)}
        values = dict(zip(inputs, match_arguments(self.name, inputs, arrays, named), strict=True))
        results, batch = self._evaluate(values)
        shaped = {
            variable.name: result.reshape(batch + variable.shape)
            for variable, result in zip(self._signature.outputs, results, strict=True)
        }
        return next(iter(shaped.values())) if len(shaped) == 1 else shaped

    @abstractmethod
    def _evaluate(self, values: dict[str, Any]) -> tuple[Sequence[Any], tuple[int, ...]]:
        """The results (..., size) from the inputs by name, and the batch of all."""

    def bind(self, **buffers: Any) -> BoundFunction:
        """Refuse: derivatives need every value that was, and JAX's arrays are never written."""
        raise CompileError(f"{self.name} is a function of {self._UNBOUND[self.target]}")

    _UNBOUND: ClassVar = {
        "jax": "JAX, whose arrays cannot be bound: call jax.jit of it",
        "torch": "PyTorch, which is called; bind target='jit'",
    }
