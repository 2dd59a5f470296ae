"""Coordinates and drives: which coordinates of the motion nothing drives, which joints could be coordinates.

With N (rates, m) the motions of the robot and A (actuators, rates) the rows of its actuators, what the
actuators leave free is the null space of [J; A], J the closures. Coordinates whose rows in that null space
are a basis are those that nothing drives: held, they and the actuators determine the motion.
"""

from __future__ import annotations

import numpy as np

from nacelle.kinematics.mechanism.rank import rank_of
from nacelle.model.joint import JointKind
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array


def _coordinate_rates(robot: Robot) -> dict[str, int]:
    """Places in u of the coordinates of the motion, those first that are no joint of an actuator."""
    axes = iter(robot.motion.twist_axes)
    places = {}
    driven = {actuator.joint for actuator in robot.actuators}
    for name in robot.motion.coordinates:
        if name in robot.motion.joint_names:
            places[name] = robot.platform_nv + robot.v_slices[robot.joint(name)].start
        else:
            places[name] = next(axes)
    joints = {name: robot.joint(name) for name in robot.motion.joint_names}
    return dict(sorted(places.items(), key=lambda entry: joints.get(entry[0]) in driven))


def _spanning(N: Array, places: dict[str, int]) -> list[str]:
    """The first of some coordinates that determine a motion of N (rates, k): their rows are a basis."""
    chosen: list[str] = []
    for name, place in places.items():
        rows = N[[*(places[other] for other in chosen), place]]
        if np.max(np.abs(N[place]), initial=0.0) > 1e-9 and rank_of(rows.T) > len(chosen):
            chosen.append(name)
        if len(chosen) == N.shape[1]:
            break
    return chosen


def undriven_coordinates(robot: Robot, left: Array) -> tuple[str, ...]:
    """Coordinates of the motion that are free while the actuators are locked, in the motion's order."""
    chosen = _spanning(left, _coordinate_rates(robot)) if left.shape[1] else []
    return tuple(name for name in robot.motion.coordinates if name in chosen)


def are_unfelt(robot: Robot, A: Array, N: Array, names: tuple[str, ...]) -> bool:
    """Whether no actuator moves with some coordinates while the others rest; N: the motions of the robot."""
    places = _coordinate_rates(robot)
    independent = [places[name] for name in robot.motion.coordinates]
    if not names or rank_of(N[independent].T) < len(independent):
        return False
    columns = N @ np.linalg.pinv(N[independent])
    felt = A @ columns[:, [robot.motion.coordinates.index(name) for name in names]]
    return bool(np.max(np.abs(felt), initial=0.0) < 1e-9)


def joints_that_could(robot: Robot, N: Array) -> tuple[str, ...]:
    """Joints of a robot without a nacelle that determine its motion: those declared, active ones, others."""
    driven = {actuator.joint for actuator in robot.actuators}
    places = {
        joint.name: robot.platform_nv + robot.v_slices[j].start
        for j, joint in sorted(enumerate(robot.tree_joints), key=lambda entry: entry[0] not in driven)
        if joint.kind in (JointKind.REVOLUTE, JointKind.PRISMATIC)
    }
    declared = {name: places[name] for name in robot.motion.joint_names}
    chosen = _spanning(N, declared | places)
    return tuple(sorted(chosen, key=list(declared | places).index))
