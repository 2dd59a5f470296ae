"""Dependent coordinates: the platform along and about those axes that are no coordinates of its motion.

With parasitic motion (a 3-RPS, a Tricept) they follow from the closures of the legs. With the split of the
orientation in `nacelle.kinematics.mechanism.chart`,

    one rotation among the coordinates     R = exp(tilt) Rot_k(angle) R_0    dependent: the tilt across k
    two                                    R = exp(tilt) Rot_k(torsion) R_0  dependent: the torsion about k
    none                                   R = exp(turn) R_0                 dependent: the rotation vector
"""

from __future__ import annotations

import numpy as np

from nacelle.kinematics.forward import ForwardKinematics
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.solve.inverse import InverseKinematics, inverse_kinematics
from nacelle.model.platform import AXES
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array

# How far the actuators of a pose may be from those it was found for, over their own size or 1.
_ACTUATOR_TOLERANCE = 1e-6


def dependent_names(robot: Robot) -> tuple[str, ...]:
    """Names of a robot's dependent coordinates, of x, y, z, rx, ry, rz; none without parasitic motion."""
    mechanism = mechanism_of(robot)
    if not mechanism.dependent_count:
        return ()
    chart = mechanism.chart
    moves = [AXES[axis] for axis in range(3) if axis not in chart.moves]
    rotations = [AXES[3 + axis] for axis in range(3) if axis not in chart.rotations]
    return (*moves, *rotations)[: mechanism.dependent_count]


def dependent_coordinates(result: InverseKinematics | ForwardKinematics) -> dict[str, Array]:
    """Dependent coordinates (...) by name at the poses of a result, m or rad; empty without parasitic motion.

    For a result of the forward kinematics the loops are closed at its poses; a pose where they close with
    other coordinates of the actuators has NaN.
    """
    names = dependent_names(result.robot)
    if not names:
        return {}
    if isinstance(result, InverseKinematics):
        values = np.where(result.reachable[..., None], result.y[..., : len(names)], np.nan)
    else:
        values = _values_from_forward(result, len(names))
    return {name: values[..., k] for k, name in enumerate(names)}


def _values_from_forward(result: ForwardKinematics, count: int) -> Array:
    """Dependent numbers (..., count) at poses that were found from the actuators."""
    robot, batch = result.robot, result.q.shape[:-1]
    inverse = inverse_kinematics(robot, result.x.reshape(-1, result.x.shape[-1]), limits=False)
    revolute = np.array(robot.revolute_actuators, dtype=bool)
    with np.errstate(invalid="ignore"):
        gap = inverse.q - result.q.reshape(-1, len(robot.actuators))
        gap = np.where(revolute, np.abs(np.sin(0.5 * gap)), np.abs(gap) / robot.size)
        same = np.all(gap < _ACTUATOR_TOLERANCE, axis=-1)
    return np.where(same[:, None], inverse.y[:, :count], np.nan).reshape(*batch, count)
