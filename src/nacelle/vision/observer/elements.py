"""Directions of the legs' cylinders and their rates, with covariances: the element state of [OAM].

A cylinder's direction u (3,) turns with its body: w = J(x) v, J (3, n) linear in the reduced twist v, and

    u' = w x u,     du = (J d) x u,     du' = (J e + (dJ/dd v) d) x u + w x du

for errors d of the pose and e of the twist. dJ/dd v, which enters only the covariance of the rates, is taken
by central differences over n small displacements, all in one batch. [OAM] writes x for these directions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nacelle.kinematics.jacobian import twist_units
from nacelle.kinematics.motion import evaluated
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array
from nacelle.vision.cylinders import Cylinder
from nacelle.vision.observer.process import Displacer
from nacelle.vision.observer.sight import cylinder_option, directions

# Displacements of central differences, robot sizes or rad: cube root of rounding.
_STEP = 6e-6


@dataclass(frozen=True, eq=False)
class ElementStates:
    """Directions of cylinders and their rates.

    Attributes:
        names: of the cylinders.
        direction: unit directions u (C, 3), base axes.
        rate: their derivatives u' (C, 3), 1/s.
        covariance: of the errors of [u; u'] (C, 6, 6).
    """

    names: tuple[str, ...]
    direction: Array
    rate: Array
    covariance: Array


def element_states(
    robot: Robot, cylinders: Sequence[Cylinder], x: Array, v: Array, covariance: Array, *, guess: Any = None
) -> ElementStates:
    """Directions of cylinders and their rates at a pose and a twist, with covariances.

    Args:
        robot: the robot.
        cylinders: on its bodies.
        x: reduced pose (nx,).
        v: reduced twist (n,).
        covariance: of the errors of pose and twist (2 n, 2 n), the pose's along the reduced twist.
        guess: what iteration begins with, as in `inverse_kinematics`.
    """
    options = {"cylinders": cylinder_option(cylinders)}
    at = evaluated(directions, robot, x, guess=guess, options=options)
    u, J = at.results["direction"], at.results["angular"]
    w = J @ v
    steps = _STEP * np.diag(twist_units(robot))
    displaced = Displacer(robot)
    poses = np.stack([displaced(at.x, at.y, s) for s in (*steps, *-steps)])
    around = evaluated(
        directions, robot, poses, guess=np.broadcast_to(at.y, (len(poses), len(at.y))), options=options
    )
    ends = around.results["angular"] @ v
    n = len(v)
    slope = np.moveaxis((ends[:n] - ends[n:]) / (2.0 * np.diag(steps)[:, None, None]), 0, -1)
    by_pose = _cross(J, u)
    D = np.zeros((len(u), 6, 2 * n))
    D[:, :3, :n] = by_pose
    D[:, 3:, :n] = _cross(slope, u) + _crossed(w, by_pose)
    D[:, 3:, n:] = by_pose
    names = tuple(cylinder.name for cylinder in cylinders)
    return ElementStates(names, u, np.cross(w, u), D @ covariance @ np.swapaxes(D, -1, -2))


def _cross(columns: Array, u: Array) -> Array:
    """Cross products of columns (C, 3, n) with vectors (C, 3)."""
    return np.cross(columns, u[..., None], axis=1)


def _crossed(w: Array, columns: Array) -> Array:
    """Cross products of vectors (C, 3) with columns (C, 3, n)."""
    return np.cross(w[..., None], columns, axis=1)
