"""Whether a pose is reached: the number that a package looks at before it starts anywhere."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from nacelle.compile import make_program
from nacelle.export.entry import CLOSING, Entry, pose_words
from nacelle.kinematics.iteration.branch import WRONG
from nacelle.kinematics.kinematic_model import actuator_positions, branch_signs
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array, minimum

ASSEMBLY = "assembly"
"""What the function is called."""


def pose_entry(
    robot: Robot,
    prefix: str,
    label: str,
    title: str,
    function: Callable[..., Any],
    words: Mapping[str, str],
    **more: tuple[int, ...],
) -> Entry:
    """The entry of a function of (robot, x, y, ...): without y where nothing is found by iteration.

    Args:
        robot: the robot.
        prefix: of all names.
        label: name behind the prefix.
        title: what it computes.
        function: the function.
        words: what its inputs and outputs are.
        **more: shapes of what it takes beside x and y.
    """
    mechanism = mechanism_of(robot)

    def called(robot: Robot, x: Array, *others: Array) -> Any:
        return function(robot, x, *(others if mechanism.ny else (np.zeros(0), *others)))

    unknown = {"y": (mechanism.ny,)} if mechanism.ny else {}
    program = make_program(called, robot, {"x": (mechanism.layout.nx,), **unknown, **more})
    return Entry(label, title, replace(program, name=f"{prefix}_{label}"), words, None)


def smallest_reach(robot: Robot, x: Array, y: Array, wrong: float) -> dict[str, Array]:
    """The smallest of the reach margins and of the numbers that are positive on the reference's branch."""
    values = [*actuator_positions(robot, x, y)["margins"], *branch_signs(robot, x, y, wrong)["branch"]]
    smallest = values[0]
    for value in values[1:]:
        smallest = minimum(smallest, value)
    return {"margin": np.array([smallest])}


def assembly_entry(robot: Robot, prefix: str, wrong: float = WRONG) -> Entry:
    """The function that says whether a pose is reached; relations of unknowns may be off by `wrong`."""
    words = {
        "x": pose_words(robot),
        "y": f"what {CLOSING} finds at the pose x",
        "margin": "above 0 where the robot reaches the pose, assembled as in the reference pose",
    }
    title = "whether a pose is reached: the smallest reach margin, or number of the branch"
    return pose_entry(robot, prefix, ASSEMBLY, title, partial(smallest_reach, wrong=wrong), words)
