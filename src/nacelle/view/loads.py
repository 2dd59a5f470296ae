"""Forces of actuators and reactions of joints as arrows in the base, with their numbers.

    actuator k      force or torque Gamma_k along the axis of its joint, on the joint's successor
    joint j         force f_j and moment n_j from predecessor to successor, at the joint

N and N m. At rest, or in the motion that is played: twist v and acceleration a of the platform.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from nacelle.dynamics.inverse import inverse_dynamics
from nacelle.dynamics.reactions import joint_reactions
from nacelle.errors import NacelleError, format_count
from nacelle.kinematics.solve.inverse import BodyPoses
from nacelle.model.robot import Robot
from nacelle.shapes.configured import joint_frames
from nacelle.spatial.pose import Pose
from nacelle.spatial.scalar import Array

ACTUATORS, REACTIONS = "actuator forces", "joint reactions"
KINDS = (ACTUATORS, REACTIONS)


class LoadScales(NamedTuple):
    """How long arrows are: m/N of forces and m/(N m) of moments."""

    force: float = 0.0
    moment: float = 0.0


class LoadRow(NamedTuple):
    """A line of the table of loads: a name, a force (N) and a moment (N m), None if none acts."""

    name: str
    force: float | None
    moment: float | None


@dataclass(frozen=True, eq=False)
class Loads:
    """Loads of one kind in one state.

    Attributes:
        kind: "actuator forces" or "joint reactions".
        points: where the forces act (N, 3), m, base axes.
        forces: the forces (N, 3), N, base axes.
        moments: the moments (N, 3), N m, base axes; at the same points.
        rows: the numbers, for a table.
        note: a remark on them, or the reason why they could not be computed.
    """

    kind: str
    points: Array
    forces: Array
    moments: Array
    rows: tuple[LoadRow, ...]
    note: str = ""


def state_loads(robot: Robot, kind: str, bodies: BodyPoses, x: Array, *rates: Any) -> Loads:
    """Loads of a kind at one state.

    Args:
        robot: the robot.
        kind: "actuator forces" or "joint reactions".
        bodies: where all bodies are at this pose.
        x: the pose (nx,).
        *rates: twist v (n,) and acceleration a (n,) of the platform; at rest if none are given.
    """
    try:
        return (_actuator_loads if kind == ACTUATORS else _reaction_loads)(robot, bodies, x, *rates)
    except NacelleError as error:
        none = np.zeros((0, 3))
        return Loads(kind, none, none, none, (), str(error))


def _actuator_loads(robot: Robot, bodies: BodyPoses, x: Array, *rates: Any) -> Loads:
    force = inverse_dynamics(robot, x, *rates).tau
    fixed, moving = zip(
        *joint_frames(robot, [Pose(*body) for body in zip(*bodies, strict=True)]), strict=True
    )
    joints = [actuator.joint for actuator in robot.actuators]
    axial = np.array([force[k] * fixed[j].R[:, 2] for k, j in enumerate(joints)]).reshape(-1, 3)
    revolute = np.array(robot.revolute_actuators, dtype=bool)[:, None]
    rows = [
        LoadRow(actuator.name, None, float(force[k]))
        if turns
        else LoadRow(actuator.name, float(force[k]), None)
        for k, (actuator, turns) in enumerate(zip(robot.actuators, robot.revolute_actuators, strict=True))
    ]
    points = np.array([moving[j].p for j in joints]).reshape(-1, 3)
    forces, moments = np.where(revolute, 0.0, axial), np.where(revolute, axial, 0.0)
    return Loads(ACTUATORS, points, forces, moments, tuple(rows))


def _reaction_loads(robot: Robot, bodies: BodyPoses, x: Array, *rates: Any) -> Loads:
    result = joint_reactions(robot, x, *rates)
    fixed = [frame for frame, _ in joint_frames(robot, [Pose(*body) for body in zip(*bodies, strict=True)])]
    R = np.array([frame.R for frame in fixed])
    forces = np.einsum("jab,jb->ja", R, result.wrench[:, :3])
    moments = np.einsum("jab,jb->ja", R, result.wrench[:, 3:])
    rows = [
        LoadRow(joint.name, float(np.linalg.norm(forces[j])), float(np.linalg.norm(moments[j])))
        for j, joint in enumerate(robot.joints)
    ]
    note = ""
    if result.redundancy:
        note = (
            f"internal stress from {format_count(result.redundancy, 'redundant closure constraint')} is not "
            "determined, it depends on tolerances and stiffness: the least-norm solution is shown"
        )
    return Loads(REACTIONS, np.array([frame.p for frame in fixed]), forces, moments, tuple(rows), note)


def largest_load(loads: Loads) -> tuple[float, float]:
    """The largest force, N, and the largest moment, N m; zero where none act."""
    if not len(loads.points):
        return 0.0, 0.0
    force = float(np.max(np.linalg.norm(loads.forces, axis=1)))
    moment = float(np.max(np.linalg.norm(loads.moments, axis=1)))
    return force, moment


def arrow_segments(points: Array, vectors: Array, scale: float) -> Array:
    """Arrows (N, 2, 3), m, from the points along vectors times a scale (m/N); short ones have no length."""
    ends = points + scale * vectors
    return np.asarray(np.stack([points, ends], axis=1))
