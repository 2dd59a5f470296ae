"""Energies of a robot in the small form, over any scalar.

A link between A and P (`link`), moving with A + xi (P - A) + sum_i n_i d_i t_i, has

    2 T = m/3 (v_A^2 + v_A . v_P + v_P^2) + t'^T D t' + sum_jk w_j w_k Q_jk
          + 2 sum_i (c_i v_A + x_i v_P) . (n_i t_i' - w_i t_i e)
    V   = strain energy - g . (m/2 (A + P) + sum_i C_i n_i t_i)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nacelle.dynamics.settings import Settings
from nacelle.elastic.beam.newton_euler import strain_energy
from nacelle.elastic.condensed.link import Driven
from nacelle.elastic.condensed.models import friction_power, of_positions, of_rates
from nacelle.elastic.condensed.natural import Now, Tip, natural_of, now_at
from nacelle.elastic.dynamics import energy
from nacelle.model.robot import Robot
from nacelle.spatial.physics import physics
from nacelle.spatial.scalar import Array, Scalar, dot, pack, product


def kinetic(now: Now) -> Scalar:
    """Kinetic energy, J."""
    total = energy.kinetic(now.frames, now.r)
    for link, ends in zip(now.links, now.tips, strict=True):
        total = total + _link_kinetic(link, ends)
    return total


def _link_kinetic(link: Driven, ends: tuple[Tip, Tip]) -> Scalar:
    own, at, rates, part = link
    a, b = ends[0].v, ends[1].v
    twice = own.shapes.beam.mass / 3.0 * (dot(a, a) + dot(a, b) + dot(b, b))
    if own.n:
        twice = twice + dot(rates.t_rate, product(own.shapes.mass[1:, 1:], rates.t_rate))
    for j in range(len(own.planes)):
        for k in range(len(own.planes)):
            twice = twice + rates.w[j] * rates.w[k] * part.q[j, k]
    for i in range(own.n):
        j = own.plane[i]
        moved = own.c[i] * a + own.x[i] * b
        across = rates.t_rate[i] * dot(at.n[j], moved) - rates.w[j] * rates.t[i] * dot(at.e, moved)
        twice = twice + 2.0 * across
    return 0.5 * twice


def potential(now: Now) -> Scalar:
    """Potential energy of strain, weight and springs, J."""
    total = energy.potential(now.frames, now.state)
    gravity = np.asarray(now.natural.structure.robot.gravity)
    for link, (a, b) in zip(now.links, now.tips, strict=True):
        own, at, rates, _ = link
        coordinates = pack([at.length - own.shapes.beam.length, *rates.t])
        total = total + strain_energy(own.shapes, coordinates)
        moment = 0.5 * own.shapes.beam.mass * (a.p + b.p)
        for i in range(own.n):
            moment = moment + own.shapes.C[1 + i] * rates.t[i] * at.n[own.plane[i]]
        total = total - dot(gravity, moment)
    return total


def dissipation(now: Now, settings: Settings) -> Scalar:
    """Power that friction and damping take, W."""
    total = energy.dissipation(now.frames, now.state, now.r, settings)
    for link in now.links:
        damping = link.own.shapes.damping
        if np.any(damping):
            rate = pack([link.now.stretch, *link.now.t_rate])
            total = total + dot(rate, product(damping, rate))
    return total + friction_power(now, settings)


@physics(p=of_positions, y=of_rates)
def condensed_energies(robot: Robot, p: Array, y: Array, **options: Any) -> dict[str, Any]:
    """Kinetic and potential energy (J), power that is lost (W), and the rates of platform and joints."""
    now = now_at(natural_of(robot), p, y)
    return {
        "kinetic": kinetic(now),
        "potential": potential(now),
        "dissipation": dissipation(now, Settings(**options)),
        "rates": _robot_rates(robot, now),
    }


def _robot_rates(robot: Robot, now: Now) -> Array:
    """Rates of the platform and of the robot's tree joints; zero for joints of links that were taken out."""
    stumps = now.natural.structure.stumps.robot
    rates: list[Scalar] = list(now.r[: robot.platform_nv])
    places = {joint.name: place for joint, place in zip(stumps.tree_joints, stumps.v_slices, strict=True)}
    for joint in robot.tree_joints:
        place = places.get(joint.name)
        m = robot.platform_nv
        rates += [0.0] * joint.nv if place is None else list(now.r[m + place.start : m + place.stop])
    return pack(rates)


@physics(p=of_positions)
def link_lengths(robot: Robot, p: Array) -> Array:
    """Lengths (links,), m, of all links at positions p (size,)."""
    now = now_at(natural_of(robot), p, np.zeros(natural_of(robot).n))
    return pack([link.at.length for link in now.links])
