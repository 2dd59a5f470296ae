"""Friction, springs and rotors beside an engine's tree, from the formulas of the description.

Friction along an axis at its rate r is the sum of coefficient times

    viscous r | coulomb sign(r) | coulomb-smooth tanh(r / scale) | stribeck exp(-(r / scale)^2) sign(r) |
    quadratic r |r| | cubic r^3 | constant 1

and in a spherical joint the same along the relative angular velocity, with its length as the rate.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from nacelle.model.joint import FrictionTerm
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array
from nacelle.verify.loops import AxisMotion

_BASIS: dict[str, Callable[[float, float], float]] = {
    "viscous": lambda r, scale: r,
    "coulomb": lambda r, scale: float(np.sign(r)),
    "coulomb-smooth": lambda r, scale: math.tanh(r / scale),
    "stribeck": lambda r, scale: math.exp(-((r / scale) ** 2)) * float(np.sign(r)),
    "quadratic": lambda r, scale: r * abs(r),
    "cubic": lambda r, scale: r**3,
    "constant": lambda r, scale: 1.0,
}


def friction(terms: Sequence[FrictionTerm], rate: Array) -> Array:
    """Friction force (1,) along an axis, or moment (3,) in a spherical joint, at its rate."""
    length = float(rate[0]) if len(rate) == 1 else float(np.linalg.norm(rate))
    if len(rate) == 3 and length == 0.0:
        return np.zeros(3)
    force = sum(term.coefficient * _BASIS[term.basis](length, term.scale) for term in terms)
    return np.array([force]) if len(rate) == 1 else force * rate / length


@dataclass(frozen=True, eq=False)
class Efforts:
    """Forces along the rates of the tree, beside the engine's.

    Attributes:
        friction: friction (rates,).
        springs: springs (rates,).
        rotor_matrix: what rotors add to the mass matrix (rates, rates).
        rotor_bias: the force of rotors where the rates of the tree are constant (rates,).
        dissipation: power that friction takes, W.
        spring_energy: J.
    """

    friction: Array
    springs: Array
    rotor_matrix: Array
    rotor_bias: Array
    dissipation: float
    spring_energy: float


def efforts(robot: Robot, axes: Sequence[tuple[AxisMotion, ...]], u: Array, rotors_inside: bool) -> Efforts:
    """Friction, springs and rotors of all joints.

    Args:
        robot: the robot.
        axes: for every joint its axes.
        u: rates of the tree.
        rotors_inside: whether the engine has the rotors of tree joints already.
    """
    n = len(u)
    rubbing, sprung, reflected = np.zeros(n), np.zeros(n), np.zeros(n)
    matrix = np.zeros((n, n))
    power = stored = 0.0
    for index, joint in enumerate(robot.joints):
        for number, axis in enumerate(axes[index]):
            rate = axis.rows @ u
            terms = joint.friction[number] if joint.friction else ()
            if terms:
                force = friction(terms, rate)
                rubbing += axis.rows.T @ force
                power += float(force @ rate)
            spring = joint.springs[number] if joint.springs else None
            if spring is not None:
                stretch = axis.coordinate - spring.rest
                sprung += axis.rows[0] * (spring.stiffness * stretch)
                stored += 0.5 * spring.stiffness * stretch**2
        if joint.rotor_inertia and not (rotors_inside and index < robot.tree):
            inertia = joint.gear_ratio**2 * joint.rotor_inertia
            axis = axes[index][0]
            matrix += inertia * np.outer(axis.rows[0], axis.rows[0])
            reflected += inertia * axis.rows[0] * axis.bias[0]
    return Efforts(rubbing, sprung, matrix, reflected, power, stored)
