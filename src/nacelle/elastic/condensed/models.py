"""The small elastodynamic model: inverse, forward, energies, over any scalar.

The rates y of the stumps and of the links' bending are independent (`natural`). Over the stumps' rates

    tau = stumps(y') + sum over links J_A^T F_A + J_P^T F_P + friction in the links' joints

with the links' forces condensed at their ends (`link`), linear in the accelerations of these. The
accelerations that are not given follow from one system over the stumps' rates: of PRRRP the two of its
platform.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nacelle.dynamics.formulations.tree import tree_forces
from nacelle.dynamics.joint_effort import friction_effort
from nacelle.dynamics.settings import Settings
from nacelle.elastic.condensed.link import Ends, corrected, end_forces, link_end_inertia
from nacelle.elastic.condensed.natural import Now, natural_of, now_at, position_rates
from nacelle.elastic.dynamics.equations import beam_loads
from nacelle.elastic.dynamics.models import of_inputs
from nacelle.model.joint import JointKind
from nacelle.model.leg import BASE
from nacelle.model.robot import Robot
from nacelle.spatial.physics import physics
from nacelle.spatial.scalar import Array, Scalar, cross, dot, pack, product
from nacelle.spatial.solve import solve


def of_positions(robot: Robot) -> tuple[int]:
    """Shape of the positions."""
    return (natural_of(robot).size,)


def of_rates(robot: Robot) -> tuple[int]:
    """Shape of the rates."""
    return (natural_of(robot).n,)


def _ends(now: Now, rate: Array) -> list[Ends]:
    """Forces of all links where the stumps' rates in y change by `rate` (order,)."""
    return [
        end_forces(link, a.bias + product(a.J, rate), b.bias + product(b.J, rate))
        for link, (a, b) in zip(now.links, now.tips, strict=True)
    ]


def _required(now: Now, rate: Array, ends: list[Ends], settings: Settings) -> Array:
    """Forces (order,) along the stumps' rates in y that the motion requires."""
    stumps = now.natural.structure.stumps
    r_dot = product(now.J, rate)
    total = product(stumps.embedding.T, tree_forces(now.state, product(stumps.embedding, r_dot), settings))
    total = total + beam_loads(now.frames, now.state, now.r, r_dot)
    total = product(now.J.T, total)
    for end, (a, b) in zip(ends, now.tips, strict=True):
        total = total + product(a.J.T, end.start) + product(b.J.T, end.end)
    return np.asarray(total + _friction(now, settings))


def _friction(now: Now, settings: Settings) -> Array:
    """Forces (order,) of friction in the joints at the ends of links."""
    total: Array = np.zeros(len(now.natural.order))
    for moment, _, J in _friction_moments(now, settings):
        total = total + product(J.T, moment)
    return total


def friction_power(now: Now, settings: Settings) -> Scalar:
    """Power that friction in the joints at the ends of links takes, W."""
    total: Scalar = 0.0
    for moment, relative, _ in _friction_moments(now, settings):
        total = total + dot(moment, relative)
    return total


def _friction_moments(now: Now, settings: Settings) -> list[tuple[Array, Array, Array]]:
    """Of every joint at an end of a link friction moment (3,), relative angular velocity and Jacobian."""
    structure = now.natural.structure
    result = []
    for place in structure.joints if settings.friction else ():
        joint = structure.robot.joints[place.joint]
        (w1, J1), (w2, J2) = (_turning(now, *side) for side in (place.first, place.second))
        relative, J = w2 - w1, J2 - J1
        if joint.kind is JointKind.REVOLUTE:
            assert structure.normal is not None
            axis = structure.normal * _sense(now, place.joint, structure.normal)
            effort = friction_effort(joint, 0, pack([dot(axis, relative)]), settings.smooth)
            moment = axis * effort[0]
        else:
            moment = friction_effort(joint, 0, relative, settings.smooth)
        result.append((moment, relative, J))
    return result


def _sense(now: Now, index: int, normal: Array) -> float:
    """Whether a joint's axis is along the plane's normal (1) or against it (-1)."""
    from nacelle.elastic.extended import reference_poses

    joint = now.natural.structure.robot.joints[index]
    pose = reference_poses(now.natural.structure.robot)[joint.predecessor] @ joint.frame_predecessor
    return float(np.sign(pose.R[:, 2] @ normal))


def _turning(now: Now, kind: str, number: int) -> tuple[Array, Array]:
    """Angular velocity (3,) of a body or of a link's chord, and its Jacobian (3, order)."""
    if kind == "body":
        columns = product(now.natural.structure.stumps.embedding, now.J)
        motion = now.frames.motion
        J = product(motion.point_jacobian(number, motion.poses[number].p)[3:], columns)
        return now.state.moving.velocity.twists[number][3:], J
    link, (a, b) = now.links[number], now.tips[number]
    e = link.at.e * link.at.reciprocal
    J = np.stack([cross(e, column) for column in (b.J - a.J).T], axis=1)
    return cross(e, b.v - a.v), J


def _mass(now: Now, rows: list[int]) -> Array:
    """Mass matrix over some of the stumps' rates in y."""
    S = now.J[:, rows]
    M = product(S.T, product(now.frames.mass_matrix(), S))
    for link, (a, b) in zip(now.links, now.tips, strict=True):
        I = link_end_inertia(link)
        A, B = a.J[:, rows], b.J[:, rows]
        mixed = product(A.T, product(I.mixed, B))
        M = M + product(A.T, product(I.start, A)) + product(B.T, product(I.end, B)) + mixed + mixed.T
    return np.asarray(M)


def accelerations(
    now: Now, a: Array | None, tau: Array, settings: Settings
) -> tuple[Array, list[Ends], Array]:
    """Accelerations of the stumps' rates in y, what acts at the links' ends, and the actuators' forces (na,).

    With `a` (na,) the actuators' accelerations are given and their forces follow; with None the forces are
    tau (na,), N or N m.
    """
    natural = now.natural
    prescribed = [] if a is None else list(range(natural.na))
    unknown = [k for k in range(len(natural.order)) if k not in prescribed]
    start = _first(now, a)
    first = _ends(now, start)
    required = _required(now, start, first, settings)
    right = pack([*tau, *np.zeros(len(natural.order) - natural.na)]) - required if a is None else -required
    change = solve(_mass(now, unknown), right[unknown], "spd")
    entries, changes = list(start), [0.0] * len(start)
    for k, value in zip(unknown, change, strict=True):
        entries[k], changes[k] = entries[k] + value, value
    rate = pack(entries)
    ends = [
        corrected(
            link,
            before,
            (a_end.bias + product(a_end.J, rate), b_end.bias + product(b_end.J, rate)),
            (product(a_end.J, pack(changes)), product(b_end.J, pack(changes))),
        )
        for link, before, (a_end, b_end) in zip(now.links, first, now.tips, strict=True)
    ]
    return rate, ends, _required(now, rate, ends, settings)[: natural.na]


def _first(now: Now, a: Array | None) -> Array:
    """Accelerations of the stumps' rates in y to start from.

    Those given, all else that translates in free fall.

    The platform and what slides on the base are then no load by their weight, nor are links' ends on them.
    """
    natural, stumps = now.natural, now.natural.structure.stumps
    gravity = np.asarray(stumps.robot.gravity)
    falling = {k: gravity[k] for k in range(3)}
    for joint, place in zip(stumps.robot.tree_joints, stumps.robot.v_slices, strict=True):
        if joint.predecessor == BASE and joint.kind is JointKind.PRISMATIC:
            falling[stumps.robot.platform_nv + place.start] = float(joint.frame_predecessor.R[:, 2] @ gravity)
    entries: list[Scalar] = [falling.get(place, 0.0) for place in natural.order]
    if a is not None:
        entries[: natural.na] = list(a)
    return pack(entries)


@physics(p=of_positions, y=of_rates, a=of_inputs)
def condensed_inverse(robot: Robot, p: Array, y: Array, a: Array, **options: Any) -> dict[str, Array]:
    """Forces (na,), N or N m, at accelerations a (na,) of the actuators, and accelerations of other rates.

    At positions p (size,) and rates y (n,), those of the actuators first.
    """
    natural = natural_of(robot)
    now = now_at(natural, p, y)
    rate, ends, tau = accelerations(now, a, np.zeros(0), Settings(**options))
    others = [*rate[natural.na :], *(value for end in ends for value in end.t)]
    return {"force": tau, "acceleration": pack(others)}


@physics(p=of_positions, y=of_rates, tau=of_inputs)
def condensed_forward(robot: Robot, p: Array, y: Array, tau: Array, **options: Any) -> dict[str, Array]:
    """Accelerations y' (n,) of all rates y (n,) at positions p (size,) and forces tau (na,)."""
    natural = natural_of(robot)
    now = now_at(natural, p, y)
    rate, ends, _ = accelerations(now, None, tau, Settings(**options))
    return {"acceleration": pack([*rate, *(value for end in ends for value in end.t)])}


@physics(s=lambda robot: (natural_of(robot).size + natural_of(robot).n,), u=of_inputs, constants=(1,))
def condensed_flow(
    robot: Robot, s: Array, u: Array, constants: Array, *, prescribed: bool = False, **options: Any
) -> Array:
    """Derivative of the state s = [p; y] at inputs u (actuators,).

    Inputs are forces, or accelerations where `prescribed`.
    """
    natural = natural_of(robot)
    p, y = s[: natural.size], s[natural.size :]
    now = now_at(natural, p, y)
    rate, ends, _ = accelerations(now, u if prescribed else None, u, Settings(**options))
    return pack([*position_rates(now, p, y), *rate, *(value for end in ends for value in end.t)])


@physics(p=of_positions, step=of_rates)
def condensed_step(robot: Robot, p: Array, step: Array) -> Array:
    """Change of the positions with a small step (n,) of the rates."""
    return position_rates(now_at(natural_of(robot), p, step), p, step)
