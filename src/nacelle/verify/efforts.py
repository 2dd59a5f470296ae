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

from nacelle.model.joint import FrictionTerm, Joint, JointKind
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array
from nacelle.verify.engine import Snapshot
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


def _beyond(q: float, limits: tuple[float, float], rotation: bool) -> float:
    """How far a coordinate is beyond its limits; of an angle the least of those that differ by turns."""
    lower, upper = limits

    def past(value: float) -> float:
        return value - upper if value > upper else value - lower if value < lower else 0.0

    turns = (-1, 0, 1) if rotation else (0,)
    return min((past(q + 2.0 * math.pi * k) for k in turns), key=abs)


def _relative_turn(now: Snapshot, joint: Joint) -> tuple[Array, Array]:
    """Relative angular velocity of a joint's bodies over the rates (3, rates), and bias of its derivative.

    Base axes; with T = J w . w / 2 of w = w_2 - w_1 Lagrange's equations have J (w' + w_2 x w_1).
    """
    one, two = joint.predecessor, joint.successor
    bias = now.bias_acceleration[two][3:] - now.bias_acceleration[one][3:]
    rows = now.jacobian[two][3:] - now.jacobian[one][3:]
    return rows, bias + np.cross(now.twist[two][3:], now.twist[one][3:])


def efforts(
    robot: Robot, now: Snapshot, axes: Sequence[tuple[AxisMotion, ...]], u: Array, rotors_inside: bool
) -> Efforts:
    """Friction, springs, end stops and rotors of all joints, and springs between bodies.

    Args:
        robot: the robot.
        now: poses and Jacobians of its bodies, from the engine.
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
            stop = joint.stops[number] if joint.stops else None
            if stop is not None:
                beyond = _beyond(axis.coordinate, joint.limits[number], joint.primitives[number].is_rotation)
                elastic = stop.stiffness * beyond
                damped = float(np.clip(stop.damping * rate[0], -abs(elastic), abs(elastic)))
                sprung += axis.rows[0] * elastic
                rubbing += axis.rows[0] * damped
                stored += 0.5 * elastic * beyond
                power += damped * float(rate[0])
        if joint.rotor_inertia and not (rotors_inside and index < robot.tree):
            inertia = joint.gear_ratio**2 * joint.rotor_inertia
            rows, bias = axes[index][0].rows, np.atleast_1d(axes[index][0].bias)
            if joint.kind is JointKind.SPHERICAL and index >= robot.tree:
                rows, bias = _relative_turn(now, joint)
            matrix += inertia * rows.T @ rows
            reflected += inertia * rows.T @ bias
    for line in robot.springs:
        ends = [now.p[b] + now.R[b] @ p for b, p in zip(line.bodies, line.points, strict=True)]
        d = ends[1] - ends[0]
        length = float(np.linalg.norm(d))
        points = [
            now.jacobian[b][:3] - np.cross(now.R[b] @ p, now.jacobian[b][3:], axisb=0, axisc=0)
            for b, p in zip(line.bodies, line.points, strict=True)
        ]
        row = (d / length) @ (points[1] - points[0])
        sprung += row * (line.stiffness * (length - line.length))
        rubbing += row * (line.damping * float(row @ u))
        stored += 0.5 * line.stiffness * (length - line.length) ** 2
        power += line.damping * float(row @ u) ** 2
    for damper in robot.dampers:
        first, second = (now.jacobian[body][3:] for body in damper.bodies)
        turn = (second - first) @ u
        rubbing += damper.damping * (second - first).T @ turn
        power += damper.damping * float(turn @ turn)
    return Efforts(rubbing, sprung, matrix, reflected, power, stored)
