"""Stiction from a description: Coulomb friction of the actuated joints as LuGre friction.

The numbers that a description does not have are those of the paper's example by default: static friction 1.5
times Coulomb friction, a Stribeck rate of 1 mm/s and bristles that bend by 10 um under Coulomb friction; at
revolute joints the same at a lever of 100 mm, 0.01 rad/s and 100 urad. The bristles' damper is
sigma_1 = 2 zeta sqrt(sigma_0 m) with zeta = 0.5 and m the mass that the joint moves at the reference pose,
1 / W_ii, W = J M^-1 J^T, J = J_r^-1 (the paper's sqrt(sigma_0) for 1 kg). Beyond ten times the Stribeck rate
friction is that of steady sliding, so that fixed steps of about a millisecond follow fast joints, too.
"""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import numpy as np

from nacelle.dynamics.forward import mass_matrix
from nacelle.dynamics.jacobian import jacobian
from nacelle.dynamics.settings import above_zero
from nacelle.errors import KinematicsError
from nacelle.kinematics.pose_input import reference_pose
from nacelle.model.joint import FrictionTerm
from nacelle.model.robot import Robot
from nacelle.pictures import html
from nacelle.simulation.drives.lugre import LuGre
from nacelle.spatial.scalar import Array

# Of prismatic joints, m/s and m; of revolute ones the same at a lever.
_RATE, _PRESLIDING, _LEVER = 1e-3, 1e-5, 0.1
# Rate of steady sliding over that at which friction falls.
_BLEND = 10.0
_COULOMB, _STRIBECK = ("coulomb", "coulomb-smooth"), ("stribeck",)


class Stiction(NamedTuple):
    """A robot without Coulomb friction in its actuated joints, and that friction with stiction.

    Attributes:
        robot: the robot; friction of its passive joints, and viscous friction of all, are as they were.
        friction: LuGre friction of each actuator, for `Drives(stiction=...)`; None where there is no Coulomb
            friction.
    """

    robot: Robot
    friction: tuple[LuGre | None, ...]

    def _repr_html_(self) -> str:
        """The table for notebooks."""
        return html(self)


def stiction_of(
    robot: Robot,
    *,
    static: float = 1.5,
    rate: float | None = None,
    stiffness: float | None = None,
    damping_ratio: float = 0.5,
) -> Stiction:
    """Move the Coulomb friction of the actuated joints to LuGre friction, so that the joints can stick.

    Described Stribeck friction moves with it: then static friction is the sum of both, and its rate that of
    the description. Other friction (viscous, constant, ...) stays in the robot.

    Args:
        robot: the robot.
        static: static friction over Coulomb friction, where the description has no Stribeck friction.
        rate: over which friction falls from static to Coulomb friction, rad/s or m/s, there; 0.001 m/s, or
            0.01 rad/s, if None.
        stiffness: of the bristles, N m/rad or N/m; if None such that Coulomb friction bends them by 10 um, or
            100 urad.
        damping_ratio: of a joint that sticks, with what it moves at the reference pose.

    Raises:
        KinematicsError: if a number cannot be used.
    """
    if not static >= 1.0:
        raise KinematicsError(f"static friction is at least Coulomb friction: static >= 1, got {static!r}")
    if rate is not None:
        above_zero(rate, "rate")
    if stiffness is not None:
        above_zero(stiffness, "stiffness")
    joints, masses = list(robot.joints), _masses(robot)
    models: list[LuGre | None] = []
    for actuator, revolute, mass in zip(robot.actuators, robot.revolute_actuators, masses, strict=True):
        joint, per = joints[actuator.joint], _LEVER if revolute else 1.0
        axes = list(joint.friction)
        coulomb, stribeck = (_sum(axes, bases) for bases in (_COULOMB, _STRIBECK))
        if coulomb < 0.0 or stribeck < 0.0 or (stribeck and not coulomb):
            raise KinematicsError(
                f"stiction of {actuator.name} needs Coulomb friction that is not negative, and above zero "
                f"beside Stribeck friction; described are {coulomb:g} and {stribeck:g}"
            )
        if not coulomb:
            models.append(None)
            continue
        bend = rate if rate is not None else _RATE / per
        bend = max(_scales(axes)) if stribeck else bend
        sigma = stiffness if stiffness is not None else coulomb / (_PRESLIDING / per)
        models.append(
            LuGre(
                coulomb,
                coulomb + stribeck if stribeck else static * coulomb,
                bend,
                sigma,
                2.0 * damping_ratio * float(np.sqrt(sigma * mass)),
                blend=_BLEND * bend,
            )
        )
        axes[0] = tuple(term for term in axes[0] if term.basis not in (*_COULOMB, *_STRIBECK))
        joints[actuator.joint] = dataclasses.replace(joint, friction=tuple(axes))
    return Stiction(dataclasses.replace(robot, joints=tuple(joints)), tuple(models))


def _sum(axes: list[tuple[FrictionTerm, ...]], bases: tuple[str, ...]) -> float:
    """Friction of some bases along the actuated axis, which is the first."""
    return float(sum(term.coefficient for term in (axes[0] if axes else ()) if term.basis in bases))


def _scales(axes: list[tuple[FrictionTerm, ...]]) -> list[float]:
    return [term.scale for term in axes[0] if term.basis in _STRIBECK]


def _masses(robot: Robot) -> Array:
    """Mass that each actuated joint moves while the others are free, kg m^2 or kg, at the reference pose."""
    x = reference_pose(robot)
    J = jacobian(robot, x).inverse
    W: Any = J @ np.linalg.solve(mass_matrix(robot, x), J.T)
    return np.asarray(1.0 / np.diag(W))
