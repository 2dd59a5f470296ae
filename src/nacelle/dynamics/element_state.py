"""Models at an element state instead of a pose: the program from elements, and the tree where it is weak.

The program takes directions and lengths as they are, A(s) Gamma + b(s, s', s'') = 0 ([OAM] (58), (66)). The
pose is found beside it, by linear forward kinematics, for margins and flags: where A is nearly singular, and
where fixed pivots are weak, the state is evaluated by the tree at that pose.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from nacelle.dynamics import compact_form
from nacelle.dynamics.general.from_elements import inverse_from_elements, regressor_from_elements
from nacelle.errors import KinematicsError
from nacelle.kinematics.elements.state import ElementState, native_elements
from nacelle.kinematics.iteration.weak import strengthened
from nacelle.kinematics.kinematic_model import dense_margins
from nacelle.kinematics.motion import solved
from nacelle.kinematics.native import native
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array

_FUNCTIONS = {"inverse": inverse_from_elements, "regressor": regressor_from_elements}


class AtElements(NamedTuple):
    """Results at an element state.

    Attributes:
        x: reduced poses (..., nx).
        y: what iteration finds there (..., ny).
        results: by name, "margins" and "parallel_margin" among them.
        flags: of the states (...).
    """

    x: Array
    y: Array
    results: dict[str, Array]
    flags: Array


def at_elements(
    name: str, robot: Robot, state: ElementState, options: Mapping[str, Any], others: Mapping[str, Any]
) -> AtElements:
    """Results of a function of `smallest` at an element state.

    Args:
        name: "inverse" or "regressor".
        robot: the robot.
        state: its element state.
        options: keyword arguments of the function.
        others: inputs that a pose would have beside it, which must be None here.

    Raises:
        KinematicsError: if the state is another robot's, or another input is given.
    """
    if state.robot != robot:
        raise KinematicsError(f"the element state is one of {state.robot.name}, not of {robot.name}")
    given = [key for key, value in others.items() if value is not None and not isinstance(value, bool)]
    if given:
        raise KinematicsError(f"with an element state there is no {given[0]}: it has its own rates")
    pose = state.pose()
    poses, y, flags = solved(robot, pose.x, pose.v, pose.a)
    results = dict(native_elements(_FUNCTIONS[name], robot, tuple(options.items()))(*state.arrays))
    results["margins"] = native(dense_margins, robot)(poses, y)
    load = (np.zeros_like(pose.v),) if name == "inverse" else ()
    inputs = (poses, y, pose.v, pose.a, *load)
    results = strengthened(robot, results, inputs, flags, compact_form.pivoted(name, robot, options))
    results["parallel_margin"] = compact_form.parallel_margin(results.pop("pivot"))
    return AtElements(poses, y, results, flags)
