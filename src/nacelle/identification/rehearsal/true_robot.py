"""Robots that differ from their model: parameters moved within physics, friction that the model has not."""

from __future__ import annotations

import dataclasses

from nacelle.dynamics.base_parameters.moved import moved
from nacelle.errors import IdentificationError
from nacelle.model.joint import FrictionTerm
from nacelle.model.robot import Robot

__all__ = ["moved", "with_stribeck"]

_COULOMB = ("coulomb", "coulomb-smooth")


def with_stribeck(robot: Robot, part: float, rate: float) -> Robot:
    """The same robot with Stribeck friction beside each Coulomb friction.

    c sign(r) becomes c (1 + part exp(-(r / rate)^2)) sign(r), r the joint's rate, rad/s or m/s.

    Args:
        robot: the robot.
        part: how much larger friction is at rest, over Coulomb friction.
        rate: at which it falls off, rad/s or m/s.
    """
    if not (part >= 0.0 and rate > 0.0):
        raise IdentificationError(
            f"Stribeck friction has a part that is not negative and a rate above zero, got {part:g}, {rate:g}"
        )

    def terms(axis: tuple[FrictionTerm, ...]) -> tuple[FrictionTerm, ...]:
        dry = sum(term.coefficient for term in axis if term.basis in _COULOMB)
        return (*axis, FrictionTerm("stribeck", part * dry, rate)) if part * dry else axis

    joints = [
        dataclasses.replace(joint, friction=tuple(terms(axis) for axis in joint.friction))
        for joint in robot.joints
    ]
    return dataclasses.replace(robot, joints=tuple(joints))
