"""The tangent of the pose: how coordinates and unknowns change along the reduced twist.

A function of the pose is differentiated along the n entries of the reduced twist: translations, small
rotations about the base's axes, joints of the nacelle,

    d f / d pose [:, k]  =  d/de f(x (+) e e_k).

x' = X v, of a quaternion [w, 0] o q / 2. What iteration finds moves with the pose, y = y(x): dy follows from
the closure equations (the implicit function theorem), and that is what the joint rates say, since u = U v.
"""

from __future__ import annotations

import numpy as np

from nacelle.dynamics.joint_effort import rate_rows
from nacelle.kinematics.mechanism.mechanism import Mechanism, mechanism_of
from nacelle.kinematics.shapes import of_pose, of_unknowns
from nacelle.kinematics.tree.configuration import configuration
from nacelle.kinematics.tree.rates import coordinate_selections, rate_equations, respond
from nacelle.model.joint import Primitive
from nacelle.model.robot import Robot
from nacelle.spatial.physics import physics
from nacelle.spatial.rotation import quat_product
from nacelle.spatial.scalar import Array, pack
from nacelle.spatial.solve import solve


def coordinate_rates(robot: Robot, x: Array, y: Array) -> tuple[Array, Array]:
    """All rates u (rates, n) and those of the chart's dependent numbers (d, n) at unit rates of x.

    For the quaternion these are the components of the angular velocity. Without tilts beside parasitic
    motion they are the rates at unit entries of the reduced twist.
    """
    now = configuration(robot, x, y)
    size = now.mechanism.chart_size
    response = respond(rate_equations(robot, now.motion), *coordinate_selections(now.mechanism, x, y[:size]))
    return response.u, response.dependent[:size]


def has_tilts(mechanism: Mechanism) -> bool:
    """Whether the rates of x are not the reduced twist: tilts as plain numbers beside parasitic motion."""
    return mechanism.parasitic and 0 < len(mechanism.chart.rotations) < 3


@physics(x=of_pose, y=of_unknowns)
def tangent(robot: Robot, x: Array, y: Array) -> dict[str, Array]:
    """How x (nx, n) and y (ny, n) change along the entries of the reduced twist; and T, v = T x'."""
    mechanism, layout, n = mechanism_of(robot), mechanism_of(robot).layout, robot.motion.n
    T: Array = np.eye(n)
    inverse: Array = np.eye(n)
    changes: list[Array] = []
    if mechanism.ny or has_tilts(mechanism):
        u, dependent = coordinate_rates(robot, x, y)
        if has_tilts(mechanism):
            T = np.stack([u[rate] for rate in mechanism.independent])
            inverse = solve(T, np.eye(n))
        changes = [*(dependent @ inverse), *_joint_changes(robot, x, y, u @ inverse)]
    rows: list[Array] = []
    for name in layout.x_names:
        if layout.quaternion is not None and name == "qx":
            quat, w = x[layout.quaternion], np.eye(n)[layout.angular]
            turned = [0.5 * quat_product(pack([*column, 0.0]), quat) for column in w.T]
            rows += list(np.stack(turned, axis=1))
        elif layout.quaternion is None or name not in ("qy", "qz", "qw"):
            rows.append(inverse[layout.v_index(name)])
    return {"x": np.stack(rows), "y": np.stack(changes) if changes else np.zeros((0, n)), "T": T}


def _joint_changes(robot: Robot, x: Array, y: Array, u: Array) -> list[Array]:
    """Changes of the joints' coordinates in y, rows (n,), at rates u (rates, n) of the tree."""
    changes: list[Array] = []
    mechanism = mechanism_of(robot)
    start = mechanism.chart_size
    for j in mechanism.iterated_joints:
        rate = robot.platform_nv + robot.v_slices[j].start
        for primitive in robot.joints[j].primitives:
            if primitive is Primitive.SPHERICAL:
                quat = y[start : start + 4]
                turned = [0.5 * quat_product(quat, pack([*w, 0.0])) for w in u[rate : rate + 3].T]
                changes += list(np.stack(turned, axis=1))
            else:
                changes.append(u[rate])
            start, rate = start + primitive.nq, rate + primitive.nv
    if mechanism.counted:
        motion = configuration(robot, x, y).motion
        changes += [rate_rows(robot, motion, j)[number][0] @ u for j, number in mechanism.counted]
    return changes
