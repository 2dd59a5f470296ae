"""What must hold exactly of the parameters of a robot: linear equations, A z = b.

z are the chosen parameters of a set of base parameters, p = E z all linear parameters of the robot. Of them

    payloads                     keep their values
    bodies without mass          stay so
    a nacelle that is a point    has a mass alone
    a body that spins idly       is axisymmetric: seen from a point of its axis, with z along it,
                                 h_x = h_y = 0, I_xx = I_yy, I_xy = I_xz = I_yz = 0
    a moment I_xx that is zero   leaves mass on the x axis alone: h_y = h_z = 0, I_yy = I_zz, no products
    a mass that is zero          leaves nothing

The last two follow from the pseudo-inertia matrix where an assumption (`assume`) sets a parameter to zero for
good: the cone then has no interior, unless what follows is made an equation (its face).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nacelle.dynamics.base_parameters.base_parameters import BaseParameters
from nacelle.identification.consistency.pseudo_inertia import BASIS
from nacelle.kinematics.mechanism.idle import Spin
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.model.leg import PLATFORM
from nacelle.model.linear_parameters import linear_parameters
from nacelle.model.robot import Robot
from nacelle.spatial.rotation import frame_with_z
from nacelle.spatial.scalar import Array

_TEN = 10
# Places of I_xx, I_yy, I_zz among ten parameters.
DIAGONAL = (4, 6, 9)
# Of a body on the x, y, z axis alone: pairs of moments that are equal.
_EQUAL = ((6, 9), (4, 9), (4, 6))
_PRODUCTS = (5, 7, 8)
# Entries of a point on an axis below this part of the robot's size are rounding.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class BodyShape:
    """Which shape a body may have.

    Attributes:
        body: its index.
        places: of its ten parameters among the chosen ones; -1 for those that are zero for good.
        axes: along which it may extend; all three but for bodies on a line or at a point.
        equations: rows (k, 10) that are zero for its ten parameters.
        massless: whether it has no mass.
    """

    body: int
    places: tuple[int, ...]
    axes: tuple[int, ...]
    equations: Array
    massless: bool


def shapes(base: BaseParameters) -> list[BodyShape]:
    """The shape of every body but the base."""
    robot, columns = base.robot, base.choice.columns
    spinning = {spin.body: spin for spin in mechanism_of(robot).mobility.spinning}
    listed = []
    for body in range(1, len(robot.bodies)):
        places = columns[_TEN * (body - 1) : _TEN * body]
        massless = robot.bodies[body].massless or places[0] < 0
        rows, axes = _face(places)
        if massless:
            rows, axes = list(np.eye(_TEN)), ()
        elif body == PLATFORM and robot.nacelle.kind == "point":
            rows, axes = list(np.eye(_TEN)[1:]), ()
        elif body in spinning:
            rows += list(axisymmetry(robot, spinning[body]))
        listed.append(BodyShape(body, places, axes, np.reshape(rows, (-1, _TEN)), massless))
    return listed


def _face(places: tuple[int, ...]) -> tuple[list[Array], tuple[int, ...]]:
    """What follows from moments of inertia that are zero for good, and the axes that are left."""
    zero = [axis for axis, place in enumerate(DIAGONAL) if places[place] < 0]
    unit = np.eye(_TEN)
    if not zero:
        return [], (0, 1, 2)
    if len(zero) > 1:
        return list(unit[1:]), ()
    axis = zero[0]
    off = [unit[1 + k] for k in range(3) if k != axis]
    first, second = _EQUAL[axis]
    return [*off, unit[first] - unit[second], *(unit[k] for k in _PRODUCTS)], (axis,)


def axisymmetry(robot: Robot, spin: Spin) -> Array:
    """Rows (6, 10) that are zero for ten parameters of a body that is axisymmetric about its idle spin."""
    R = frame_with_z(np.array(spin.axis))
    point = np.array(spin.point) - np.dot(spin.point, spin.axis) * np.array(spin.axis)
    point = np.where(np.abs(point) < _ROUNDING * robot.size, 0.0, point)
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = R.T, -R.T @ point
    P = np.moveaxis(T @ BASIS @ T.T, 0, -1)
    # S_xx - S_yy is I_yy - I_xx, the other S are products of inertia.
    return np.array([P[0, 3], P[1, 3], P[0, 0] - P[1, 1], P[0, 1], P[0, 2], P[1, 2]])


def equality_rows(base: BaseParameters, bodies: Sequence[BodyShape], prior: Array) -> tuple[Array, Array]:
    """A (equations, chosen) and b with A z = b.

    Args:
        base: the base parameters.
        bodies: their shapes.
        prior: z as it is described (chosen,).
    """
    names, groups = linear_parameters(base.robot).names, base.choice.groups()
    rows = [np.zeros((0, len(groups)))]
    rows += [shape.equations @ ten_of(base, shape.body) for shape in bodies]
    loads = [k for k, group in enumerate(groups) if names[group[0]].startswith("payload.")]
    A = np.vstack([*rows, np.eye(len(groups))[loads]])
    b = np.concatenate([np.zeros(len(A) - len(loads)), prior[loads]])
    return A[np.any(A, axis=1)], b[np.any(A, axis=1)]


def ten_of(base: BaseParameters, body: int) -> Array:
    """E_b (10, chosen): the ten parameters of a body are E_b z."""
    return np.asarray(base.choice.E[_TEN * (body - 1) : _TEN * body])
