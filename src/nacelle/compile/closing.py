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

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from nacelle.model.robot import Robot
from nacelle.program.program import Program

GIVEN, UNKNOWN = "x", "y"
"""Names of the inputs: the pose, and what iteration finds there."""


@dataclass(frozen=True, eq=False)
class Closing:
    """What is done with the pose of a robot.

    Attributes:
        robot: the robot.
        quaternion: place of quat_xyzw in x; None if there is none.
        step: physics function of (robot, y, x) that gives "dy" and "error"; None without unknowns.
        reference: a pose, and what iteration finds there.
        find: unknowns at poses (N, nx), from starts (N, ny) or from the reference if None; NaN where there
            are none.
    """

    robot: Robot
    quaternion: slice | None
    step: Callable[..., Any] | None
    reference: tuple[NDArray[Any], NDArray[Any]]
    find: Callable[[NDArray[Any], NDArray[Any] | None], NDArray[Any]]


@dataclass(frozen=True, eq=False)
class Derivable:
    """A program whose derivatives are kept beside it.

    Attributes:
        program: the program.
        derived: gives a program that follows from it, by a name of its own, from the cache or made anew.
    """

    program: Program
    derived: Callable[[str, Callable[[], Program]], Program]
