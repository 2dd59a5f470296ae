"""Exported files in the engines that own them, beside the robot: inverse dynamics by their own matrices.

With the engine's mass matrix M, bias c, passive forces p and the rows J of the closures, and N a basis of the
null space of J, the robot's actuator forces tau hold the file's mechanism at the robot's motion if

    N^T (M u' + c - p - B tau) = 0

States go over through poses, twists and accelerations of bodies: coordinates of the file by Newton's
iteration with the engine's own Jacobians, rates and accelerations by least squares.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

import nacelle
from nacelle.exchange.graph import UniqueNames
from nacelle.kinematics.underactuated import undriven_coordinates
from nacelle.model.joint import Primitive
from nacelle.model.robot import Robot
from nacelle.spatial.pose import Pose
from nacelle.spatial.scalar import Array
from nacelle.verify.states import random_states


@dataclass(frozen=True, eq=False)
class Kinematics:
    """Poses, Jacobians and bias accelerations of all bodies of a file."""

    poses: list[Pose]
    jacobian: Array
    bias: Array


class EngineFile(Protocol):
    """A file in its engine.

    Attributes:
        names: of its bodies.
        drives: for each actuator, by name, the place of its rate.
        start: coordinates of the assembly.
        nv: number of rates.
    """

    nv: int
    names: list[str]
    drives: dict[str, int]
    start: Array

    def kinematics(self, q: Array, u: Array) -> Kinematics:
        """Of all bodies."""

    def moved(self, q: Array, step: Array) -> Array:
        """Coordinates moved by a step of rates."""

    def dynamics(self, q: Array, u: Array) -> tuple[Array, Array, Array]:
        """Mass matrix, forces at constant rates (bias less passive), rows of the closures."""


def without_losses(robot: Robot) -> Robot:
    """The robot without what no file holds: friction of spherical joints that is not viscous."""

    def kept(joint_index: int) -> tuple[Any, ...]:
        joint = robot.joints[joint_index]
        return tuple(
            tuple(t for t in terms if primitive is not Primitive.SPHERICAL or t.basis == "viscous")
            for terms, primitive in zip(joint.friction, joint.primitives, strict=True)
        )

    joints = tuple(
        replace(joint, friction=kept(k)) if joint.friction else joint for k, joint in enumerate(robot.joints)
    )
    return replace(robot, joints=joints)


def body_mapping(robot: Robot, names: list[str]) -> dict[int, int]:
    """For bodies of a file the robot's bodies; pieces of a body are the body, carriers are left out."""
    given = UniqueNames(("base",))
    own = {given.new(body.name, f"body{k}"): k for k, body in enumerate(robot.bodies) if k}
    own["base"] = 0
    return match_bodies(own, names)


def match_bodies(own: dict[str, int], names: list[str]) -> dict[int, int]:
    """For bodies of a file those of a robot that have its names there, or the beginning of them."""
    found = {}
    for number, name in enumerate(names):
        match = [full for full in own if name == full or name.startswith(f"{full}-")]
        if match and not re.search(r"-carrier\d*$|_frame$", name):
            found[number] = own[max(match, key=len)]
    return found


def _rotation_vector(R: Array) -> Array:
    """The rotation vector of a matrix near the identity, or any within half a turn."""
    vee = 0.5 * np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    sine, cosine = float(np.linalg.norm(vee)), 0.5 * (float(np.trace(R)) - 1.0)
    return vee if sine < 1e-12 else vee / sine * np.arctan2(sine, cosine)


def coordinates(file: EngineFile, own: dict[int, int], R: Array, p: Array, start: Array) -> Array:
    """Coordinates of the file at which its bodies have the robot's poses."""
    q = start
    for _ in range(60):
        now = file.kinematics(q, np.zeros(file.nv))
        gaps = [
            np.concatenate([p[b] - now.poses[k].p, _rotation_vector(R[b] @ now.poses[k].R.T)])
            for k, b in own.items()
        ]
        step = np.linalg.lstsq(stack_bodies(now.jacobian, own), np.concatenate(gaps), rcond=1e-10)[0]
        q = file.moved(q, step / max(1.0, float(np.max(np.abs(step))) / 0.7))
        if np.max(np.abs(step)) < 1e-13:
            break
    assert max(float(np.max(np.abs(gap))) for gap in gaps) < 1e-9, "the file's joints do not reach the poses"
    return q


def stack_bodies(blocks: Array, own: dict[int, int]) -> Array:
    """Blocks of the bodies of a file that are the robot's, on top of each other."""
    return np.concatenate([blocks[k] for k in own])


def errors(file: EngineFile, robot: Robot, states: int = 5, seed: int = 0) -> dict[str, float]:
    """Largest relative errors of poses, rates, closures and inverse dynamics over random states."""
    robot = without_losses(robot)
    drawn = random_states(robot, states, seed)
    inverse = nacelle.inverse_dynamics(robot, drawn.x, drawn.v, drawn.a, free=undriven_coordinates(robot))
    a = drawn.a if inverse.a is None else inverse.a
    bodies = nacelle.inverse_kinematics(robot, drawn.x).bodies
    motion = nacelle.kinematics.body_motion(robot, drawn.x, drawn.v, a)
    own = body_mapping(robot, file.names)
    point = {1} if robot.platform.kind == "point" else set()
    assert set(range(len(robot.bodies))) - set(own.values()) <= mergeable_bodies(robot) | point
    drive_indices = [file.drives[name] for name in actuator_names(robot)]
    worst = {"poses": 0.0, "rates": 0.0, "closures": 0.0, "inverse": 0.0}

    def worse(what: str, value: float) -> None:
        worst[what] = max(worst[what], value)

    q = file.start
    for k in range(states):
        q = coordinates(file, own, bodies.R[k], bodies.p[k], file.start)
        now = file.kinematics(q, np.zeros(file.nv))
        for number, body in own.items():
            worse("poses", float(np.max(np.abs(now.poses[number].R - bodies.R[k, body]))))
            worse("poses", float(np.max(np.abs(now.poses[number].p - bodies.p[k, body]))) / robot.size)
        J = stack_bodies(now.jacobian, own)
        twists = np.concatenate([motion.twist[k, b] for b in own.values()])
        u = np.linalg.lstsq(J, twists, rcond=1e-10)[0]
        worse("rates", _relative_error(J @ u - twists, twists))
        bias = stack_bodies(file.kinematics(q, u).bias, own)
        accelerations = np.concatenate([motion.acceleration[k, b] for b in own.values()])
        u_dot = np.linalg.lstsq(J, accelerations - bias, rcond=1e-10)[0]
        worse("rates", _relative_error(J @ u_dot + bias - accelerations, accelerations))
        M, constant, rows = file.dynamics(q, u)
        force = M @ u_dot + constant
        size = float(np.max(np.abs(force)))
        force[drive_indices] -= inverse.tau[k]
        worse("closures", _relative_error(rows @ u, u) if len(rows) else 0.0)
        _, s, Vt = np.linalg.svd(rows) if len(rows) else (None, np.zeros(0), np.eye(len(u)))
        N = Vt[int(np.sum(s > 1e-8 * np.max(s, initial=1.0))) :]
        assert len(N) >= robot.motion.n
        worse("inverse", float(np.max(np.abs(N @ force))) / size)
    return worst


def mergeable_bodies(robot: Robot) -> set[int]:
    """Bodies that a file may leave out: massless ones, and those that a fixed joint holds."""
    fixed = {b for j in robot.joints if j.kind == "fixed" for b in (j.predecessor, j.successor)}
    return {k for k, body in enumerate(robot.bodies) if body.massless} | fixed | {0}


def actuator_names(robot: Robot) -> list[str]:
    """Names of the joints that are driven, in the order of the forces, as in the graph."""
    given = UniqueNames(())
    tree = {k: given.new(joint.name, f"joint{k}") for k, joint in enumerate(robot.tree_joints)}
    return [tree[drive.joint] for drive in robot.actuators]


def _relative_error(error: Array, scale: Array) -> float:
    return float(np.max(np.abs(error))) / (float(np.max(np.abs(scale))) or 1.0)
