"""An exported file beside the robot in its assembly alone, for random robots, without compiled models.

At random rates u on the loops, and accelerations that keep them closed, every motion n that the closures
allow takes the same power from all forces of the tree (inertia, gravity, friction, springs, rotors) in the
file as in the robot. The robot's forces are those of `nacelle.verify`, whose trees and closures are made
from the description.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from nacelle.kinematics.mechanism.assembly import assemble, rate_scale
from nacelle.model.joint import Primitive
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array
from nacelle.verify.engine import TreeState
from nacelle.verify.engines.mujoco import build
from nacelle.verify.loops import closure_constraint, coupling_constraint, joint_efforts, tree_axes
from support.exported_files import EngineFile, body_mapping, coordinates, stack_bodies

_EXPORTED_FRICTION = ("viscous", "coulomb", "quadratic", "cubic")


def without_unexported_friction(robot: Robot) -> Robot:
    """The robot without friction that no file holds, and without dampers of end stops."""

    def terms(joint_terms: tuple[Any, ...], primitive: Primitive) -> tuple[Any, ...]:
        kept = ("viscous",) if primitive is Primitive.SPHERICAL else _EXPORTED_FRICTION
        return tuple(term for term in joint_terms if term.basis in kept)

    joints = tuple(
        replace(
            joint,
            friction=tuple(terms(*pair) for pair in zip(joint.friction, joint.primitives, strict=True)),
            stops=tuple(stop and replace(stop, damping=0.0) for stop in joint.stops),
        )
        if joint.friction or joint.stops
        else joint
        for joint in robot.joints
    )
    return replace(robot, joints=joints)


def errors(
    file: EngineFile, robot: Robot, seed: int = 0, own: dict[int, int] | None = None
) -> dict[str, float]:
    """Relative errors in the assembly: poses, rates, freedoms (their number), powers of all forces.

    Args:
        file: the file.
        robot: the robot.
        seed: of the rates.
        own: for bodies of the file the robot's; by their names if None.
    """
    found, rng = assemble(robot), np.random.default_rng(seed)
    engine = build(robot)
    none = np.zeros((len(robot.bodies), 6))

    def at(u: Array, u_dot: Array) -> tuple[Any, ...]:
        now = engine.at(TreeState(found.platform, found.q_tree, u, u_dot, none))
        shut = [
            coupling_constraint(robot, joint, found.q_tree)
            if joint.is_coupling
            else closure_constraint(robot, joint, now, u)
            for joint in robot.closures
        ]
        return now, shut

    m = robot.platform_nv + robot.nv
    _, shut = at(np.zeros(m), np.zeros(m))
    J = np.concatenate([np.zeros((0, m)), *(one.constraint_rows for one in shut)])
    unit = rate_scale(robot)
    _, s, Vt = np.linalg.svd(J * unit)
    N = unit[:, None] * Vt[int(np.sum(s > 1e-9 * np.max(s, initial=1.0))) :].T
    if N.shape[1] == 0:
        return {}
    u = N @ rng.normal(size=N.shape[1])
    _, shut = at(u, np.zeros(m))
    bias = np.concatenate([np.zeros(0), *(one.bias for one in shut)])
    u_dot = N @ rng.normal(size=N.shape[1]) - unit * (np.linalg.pinv(J * unit, rcond=1e-9) @ bias)
    now, shut = at(u, u_dot)
    axes = [tree_axes(robot, k, found.q_tree) for k in range(robot.tree)] + [one.axes for one in shut]
    more = joint_efforts(robot, now, axes, u, engine.includes_rotors)
    force = now.force + more.friction + more.springs + more.rotor_matrix @ u_dot + more.rotor_bias

    own = body_mapping(robot, file.names) if own is None else own
    q = coordinates(file, own, now.R, now.p, file.start)
    there = file.kinematics(q, np.zeros(file.nv))
    gaps = [np.abs(there.poses[k].R - now.R[b]).max() for k, b in own.items()]
    gaps += [np.abs(there.poses[k].p - now.p[b]).max() for k, b in own.items()]
    K = stack_bodies(there.jacobian, own)
    body_rows = np.concatenate([now.jacobian[b] for b in own.values()])
    W = np.linalg.lstsq(K, body_rows @ N, rcond=1e-10)[0]
    w = np.linalg.lstsq(K, body_rows @ u, rcond=1e-10)[0]
    accelerations = np.concatenate([now.acceleration[b] for b in own.values()])
    bias = stack_bodies(file.kinematics(q, w).bias, own)
    w_dot = np.linalg.lstsq(K, accelerations - bias, rcond=1e-10)[0]
    M, constant, rows = file.dynamics(q, w)
    theirs = M @ w_dot + constant
    rank = np.linalg.matrix_rank(rows, 1e-8 * np.linalg.norm(rows, 2)) if len(rows) else 0
    scale = float(np.max(np.abs(N.T) @ np.abs(force)))
    return {
        "poses": float(max(gaps)),
        "rates": _relative_error(K @ W - body_rows @ N, body_rows @ N)
        + _relative_error(K @ w_dot + bias - accelerations, accelerations),
        "closures": float(np.max(np.abs(rows @ W), initial=0.0)) / float(np.max(np.abs(W))),
        "freedoms": float(abs(file.nv - rank - np.linalg.matrix_rank(body_rows @ N, 1e-9))),
        "powers": float(np.max(np.abs(W.T @ theirs - N.T @ force))) / scale,
    }


def _relative_error(error: Array, scale: Array) -> float:
    return float(np.max(np.abs(error))) / (float(np.max(np.abs(scale))) or 1.0)
