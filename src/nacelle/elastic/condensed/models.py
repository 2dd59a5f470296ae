"""The small elastodynamic model: inverse, forward, energies, over any scalar.

The rates y of the subchains and of the links' bending are independent (`reduced`). Over the subchains' rates

    tau = subchains(y') + sum over links J_A^T F_A + J_P^T F_P + friction in the links' joints

with the links' forces condensed at their ends (`link`), linear in the accelerations of these. The
accelerations that are not given follow from one system over the subchains' rates: of PRRRP the two of its
platform.

Energies of a robot in the small form, over any scalar.

A link between A and P (`link`), moving with A + xi (P - A) + sum_i n_i d_i t_i, has

    2 T = m/3 (v_A^2 + v_A . v_P + v_P^2) + t'^T D t' + sum_jk w_j w_k Q_jk
          + 2 sum_i (c_i v_A + x_i v_P) . (n_i t_i' - w_i t_i e)
    V   = strain energy - g . (m/2 (A + P) + sum_i C_i n_i t_i)

The small model with lengths of links as coordinates.

Inputs q_a and all elastic coordinates q_e ([BK2013] V).

Where a point platform hangs on as many links as it has coordinates, its place follows from their lengths in
closed form, in a plane from two circles about A_1, A_2 with d = A_2 - A_1, D = d . d, z the normal,

    P = A_1 + a d + s h (z x d),     a = (1 + (l_1^2 - l_2^2) / D) / 2,     h = sqrt(l_1^2 / D - a^2)

and in space from three spheres likewise, s = +-1 as in the reference pose. Its velocity follows from
e_i . (v_P - v_A,i) = l_i'. Accelerations of lengths are l_i'' = e_i . (gamma_P - gamma_A,i) + l_i sum_j
w_j^2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal, localcontext
from random import Random
from typing import Any

import numpy as np

from nacelle.dynamics.joint_effort import friction_effort
from nacelle.dynamics.physics import ALL_TERMS, Physics
from nacelle.dynamics.tree_form import tree_forces
from nacelle.elastic.beam.newton_euler import strain_energy
from nacelle.elastic.condensed.link import (
    EndForces,
    EndMotion,
    MovingLink,
    correct_end_forces,
    end_forces,
    link_end_inertia,
    stretch_acceleration,
)
from nacelle.elastic.condensed.reduced import (
    Lengths,
    LinkEndMotion,
    ReducedCoordinates,
    SubchainMotion,
    link_end_points,
    position_rates,
    reduced_coordinates,
    subchain_motion,
)
from nacelle.elastic.dynamics import energy
from nacelle.elastic.dynamics.models import beam_loads, of_inputs
from nacelle.errors import KinematicsError
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.model.joint import JointKind
from nacelle.model.leg import BASE, PLATFORM
from nacelle.model.robot import Robot
from nacelle.program.identities.values import PreciseInputs
from nacelle.spatial.physics import draw_inputs_with, physics
from nacelle.spatial.scalar import Array, Scalar, cross, divide, dot, pack, product, sqrt
from nacelle.spatial.solve import solve


def of_positions(robot: Robot) -> tuple[int]:
    """Shape of the positions."""
    return (reduced_coordinates(robot).size,)


def of_rates(robot: Robot) -> tuple[int]:
    """Shape of the rates."""
    return (reduced_coordinates(robot).n,)


def _link_end_forces(now: SubchainMotion, rate: Array) -> list[EndForces]:
    """Forces of all links where the subchains' rates in y change by `rate` (order,)."""
    return [
        end_forces(link, a.bias + product(a.J, rate), b.bias + product(b.J, rate))
        for link, (a, b) in zip(now.links, now.tips, strict=True)
    ]


def _required_forces(now: SubchainMotion, rate: Array, ends: list[EndForces], physics: Physics) -> Array:
    """Forces (order,) along the subchains' rates in y that the motion requires."""
    subchains = now.reduced.structure.subchains
    r_dot = product(now.J, rate)
    total = product(
        subchains.embedding.T, tree_forces(now.state, product(subchains.embedding, r_dot), physics)
    )
    total = total + beam_loads(now.frames, now.state, now.r, r_dot)
    total = product(now.J.T, total)
    for end, (a, b) in zip(ends, now.tips, strict=True):
        total = total + product(a.J.T, end.start) + product(b.J.T, end.end)
    return np.asarray(total + _friction_forces(now, physics))


def _friction_forces(now: SubchainMotion, physics: Physics) -> Array:
    """Forces (order,) of friction in the joints at the ends of links."""
    total: Array = np.zeros(len(now.reduced.order))
    for moment, _, J in _friction_moments(now, physics):
        total = total + product(J.T, moment)
    return total


def friction_power(now: SubchainMotion, physics: Physics) -> Scalar:
    """Power that friction in the joints at the ends of links takes, W."""
    total: Scalar = 0.0
    for moment, relative, _ in _friction_moments(now, physics):
        total = total + dot(moment, relative)
    return total


def _friction_moments(now: SubchainMotion, physics: Physics) -> list[tuple[Array, Array, Array]]:
    """Of every joint at an end of a link friction moment (3,), relative angular velocity and Jacobian."""
    structure = now.reduced.structure
    result = []
    for link_joint in structure.joints if physics.friction else ():
        joint = structure.robot.joints[link_joint.joint]
        (w1, J1), (w2, J2) = (_angular_velocity(now, *side) for side in (link_joint.first, link_joint.second))
        relative, J = w2 - w1, J2 - J1
        if joint.kind is JointKind.REVOLUTE:
            assert structure.normal is not None
            axis = structure.normal * _axis_sign(now, link_joint.joint, structure.normal)
            effort = friction_effort(joint, 0, pack([dot(axis, relative)]), physics.smooth)
            moment = axis * effort[0]
        else:
            moment = friction_effort(joint, 0, relative, physics.smooth)
        result.append((moment, relative, J))
    return result


def _axis_sign(now: SubchainMotion, index: int, normal: Array) -> float:
    """Whether a joint's axis is along the plane's normal (1) or against it (-1)."""
    from nacelle.elastic.flexible_tree import reference_poses

    joint = now.reduced.structure.robot.joints[index]
    pose = reference_poses(now.reduced.structure.robot)[joint.predecessor] @ joint.frame_predecessor
    return float(np.sign(pose.R[:, 2] @ normal))


def _angular_velocity(now: SubchainMotion, kind: str, number: int) -> tuple[Array, Array]:
    """Angular velocity (3,) of a body or of a link's chord, and its Jacobian (3, order)."""
    if kind == "body":
        columns = product(now.reduced.structure.subchains.embedding, now.J)
        motion = now.frames.motion
        J = product(motion.point_jacobian(number, motion.poses[number].p)[3:], columns)
        return now.state.moving.velocity.twists[number][3:], J
    link, (a, b) = now.links[number], now.tips[number]
    e = link.at.e * link.at.reciprocal
    J = np.stack([cross(e, column) for column in (b.J - a.J).T], axis=1)
    return cross(e, b.v - a.v), J


def _mass_matrix(now: SubchainMotion, rows: list[int]) -> Array:
    """Mass matrix over some of the subchains' rates in y."""
    S = now.J[:, rows]
    M = product(S.T, product(now.frames.mass_matrix(), S))
    for link, (a, b) in zip(now.links, now.tips, strict=True):
        I = link_end_inertia(link)
        A, B = a.J[:, rows], b.J[:, rows]
        mixed = product(A.T, product(I.mixed, B))
        M = M + product(A.T, product(I.start, A)) + product(B.T, product(I.end, B)) + mixed + mixed.T
    return np.asarray(M)


def accelerations(
    now: SubchainMotion, a: Array | None, tau: Array, physics: Physics
) -> tuple[Array, list[EndForces], Array]:
    """Accelerations of the rates y of the subchains, loads at ends of links, forces of the actuators (na,).

    With `a` (na,) the actuators' accelerations are given and their forces follow; with None the forces are
    tau (na,), N or N m.
    """
    reduced = now.reduced
    prescribed = [] if a is None else list(range(reduced.na))
    unknown = [k for k in range(len(reduced.order)) if k not in prescribed]
    start = _starting_accelerations(now, a)
    first = _link_end_forces(now, start)
    required = _required_forces(now, start, first, physics)
    right = pack([*tau, *np.zeros(len(reduced.order) - reduced.na)]) - required if a is None else -required
    change = solve(_mass_matrix(now, unknown), right[unknown], "spd")
    entries, changes = list(start), [0.0] * len(start)
    for k, value in zip(unknown, change, strict=True):
        entries[k], changes[k] = entries[k] + value, value
    rate = pack(entries)
    ends = [
        correct_end_forces(
            link,
            before,
            *_end_motions(tips, rate, pack(changes)),
        )
        for link, before, tips in zip(now.links, first, now.tips, strict=True)
    ]
    return rate, ends, _required_forces(now, rate, ends, physics)[: reduced.na]


def _end_motions(tips: Sequence[LinkEndMotion], rate: Array, change: Array) -> list[EndMotion]:
    """How the ends of a link move at accelerations of the rates, and what a change of these does."""
    moving = [tip.bias + product(tip.J, rate) for tip in tips]
    return [EndMotion(a, product(tip.J, change)) for a, tip in zip(moving, tips, strict=True)]


def _starting_accelerations(now: SubchainMotion, a: Array | None) -> Array:
    """Accelerations of the subchains' rates in y to start from.

    Those given, all else that translates in free fall.

    The platform and what slides on the base are then no load by their weight, nor are links' ends on them.
    """
    reduced, subchains = now.reduced, now.reduced.structure.subchains
    gravity = np.asarray(subchains.robot.gravity)
    falling = {k: gravity[k] for k in range(3)}
    for joint, rates in zip(subchains.robot.tree_joints, subchains.robot.v_slices, strict=True):
        if joint.predecessor == BASE and joint.kind is JointKind.PRISMATIC:
            falling[subchains.robot.platform_nv + rates.start] = float(
                joint.frame_predecessor.R[:, 2] @ gravity
            )
    entries: list[Scalar] = [falling.get(rates, 0.0) for rates in reduced.order]
    if a is not None:
        entries[: reduced.na] = list(a)
    return pack(entries)


@physics(p=of_positions, y=of_rates, a=of_inputs)
def condensed_inverse(
    robot: Robot, p: Array, y: Array, a: Array, *, physics: Physics = ALL_TERMS
) -> dict[str, Array]:
    """Forces (na,), N or N m, at accelerations a (na,) of the actuators, and accelerations of other rates.

    At positions p (size,) and rates y (n,), those of the actuators first.
    """
    reduced = reduced_coordinates(robot)
    now = subchain_motion(reduced, p, y)
    rate, ends, tau = accelerations(now, a, np.zeros(0), physics)
    others = [*rate[reduced.na :], *(value for end in ends for value in end.t)]
    return {"force": tau, "acceleration": pack(others)}


@physics(p=of_positions, y=of_rates, tau=of_inputs)
def condensed_forward(
    robot: Robot, p: Array, y: Array, tau: Array, *, physics: Physics = ALL_TERMS
) -> dict[str, Array]:
    """Accelerations y' (n,) of all rates y (n,) at positions p (size,) and forces tau (na,)."""
    reduced = reduced_coordinates(robot)
    now = subchain_motion(reduced, p, y)
    rate, ends, _ = accelerations(now, None, tau, physics)
    return {"acceleration": pack([*rate, *(value for end in ends for value in end.t)])}


@physics(
    s=lambda robot: (reduced_coordinates(robot).size + reduced_coordinates(robot).n,),
    u=of_inputs,
    constants=(1,),
)
def condensed_flow(
    robot: Robot,
    s: Array,
    u: Array,
    constants: Array,
    *,
    prescribed: bool = False,
    physics: Physics = ALL_TERMS,
) -> Array:
    """Derivative of the state s = [p; y] at inputs u (actuators,).

    Inputs are forces, or accelerations where `prescribed`.
    """
    reduced = reduced_coordinates(robot)
    p, y = s[: reduced.size], s[reduced.size :]
    now = subchain_motion(reduced, p, y)
    rate, ends, _ = accelerations(now, u if prescribed else None, u, physics)
    return pack([*position_rates(now, p, y), *rate, *(value for end in ends for value in end.t)])


@physics(p=of_positions, step=of_rates)
def condensed_step(robot: Robot, p: Array, step: Array) -> Array:
    """Change of the positions with a small step (n,) of the rates."""
    return position_rates(subchain_motion(reduced_coordinates(robot), p, step), p, step)


# ---- energies of a robot in the small form, over any scalar


def kinetic_energy(now: SubchainMotion) -> Scalar:
    """Kinetic energy, J."""
    total = energy.kinetic_energy(now.frames, now.r)
    for link, ends in zip(now.links, now.tips, strict=True):
        total = total + _link_kinetic(link, *ends)
    return total


def _link_kinetic(link: MovingLink, start: LinkEndMotion, end: LinkEndMotion) -> Scalar:
    constants, at, rates, part = link
    a, b = start.v, end.v
    twice = constants.shapes.beam.mass / 3.0 * (dot(a, a) + dot(a, b) + dot(b, b))
    if constants.n:
        twice = twice + dot(rates.t_rate, product(constants.shapes.mass[1:, 1:], rates.t_rate))
    for j in range(len(constants.planes)):
        for k in range(len(constants.planes)):
            twice = twice + rates.w[j] * rates.w[k] * part.q[j, k]
    for i in range(constants.n):
        j = constants.plane[i]
        momentum = constants.c[i] * a + constants.x[i] * b
        across = rates.t_rate[i] * dot(at.n[j], momentum) - rates.w[j] * rates.t[i] * dot(at.e, momentum)
        twice = twice + 2.0 * across
    return 0.5 * twice


def potential_energy(now: SubchainMotion) -> Scalar:
    """Potential energy of strain, weight and springs, J."""
    total = energy.potential_energy(now.frames, now.state)
    gravity = np.asarray(now.reduced.structure.robot.gravity)
    for link, (a, b) in zip(now.links, now.tips, strict=True):
        constants, at, rates, _ = link
        coordinates = pack([at.length - constants.shapes.beam.length, *rates.t])
        total = total + strain_energy(constants.shapes, coordinates)
        moment = 0.5 * constants.shapes.beam.mass * (a.p + b.p)
        for i in range(constants.n):
            moment = moment + constants.shapes.C[1 + i] * rates.t[i] * at.n[constants.plane[i]]
        total = total - dot(gravity, moment)
    return total


def dissipated_power(now: SubchainMotion, physics: Physics) -> Scalar:
    """Power that friction and damping take, W."""
    total = energy.dissipated_power(now.frames, now.state, now.r, physics)
    for link in now.links:
        damping = link.constants.shapes.damping
        if np.any(damping):
            rate = pack([link.now.stretch, *link.now.t_rate])
            total = total + dot(rate, product(damping, rate))
    return total + friction_power(now, physics)


@physics(p=of_positions, y=of_rates)
def condensed_energies(robot: Robot, p: Array, y: Array, *, physics: Physics = ALL_TERMS) -> dict[str, Any]:
    """Kinetic and potential energy (J), power that is lost (W), and the rates of platform and joints."""
    now = subchain_motion(reduced_coordinates(robot), p, y)
    return {
        "kinetic": kinetic_energy(now),
        "potential": potential_energy(now),
        "dissipation": dissipated_power(now, physics),
        "rates": _robot_rates(robot, now),
    }


def _robot_rates(robot: Robot, now: SubchainMotion) -> Array:
    """Rates of the platform and of the robot's tree joints; zero for joints of links that were taken out."""
    subchains = now.reduced.structure.subchains.robot
    rates: list[Scalar] = list(now.r[: robot.platform_nv])
    slices = {joint.name: part for joint, part in zip(subchains.tree_joints, subchains.v_slices, strict=True)}
    for joint in robot.tree_joints:
        part = slices.get(joint.name)
        m = robot.platform_nv
        rates += [0.0] * joint.nv if part is None else list(now.r[m + part.start : m + part.stop])
    return pack(rates)


@physics(p=of_positions)
def link_lengths(robot: Robot, p: Array) -> Array:
    """Lengths (links,), m, of all links at positions p (size,)."""
    now = subchain_motion(reduced_coordinates(robot), p, np.zeros(reduced_coordinates(robot).n))
    return pack([link.at.length for link in now.links])


# ---- the small model with lengths of links as coordinates


def reason_no_closed_form(reduced: ReducedCoordinates) -> str:
    """Why the platform does not follow from lengths of links in closed form; empty if it does."""
    structure = reduced.structure
    needed = 3 if structure.normal is None else 2
    ends = [link for link in structure.links if link.end.body == PLATFORM and link.start.body != PLATFORM]
    if structure.robot.platform.kind != "point" or len(ends) != needed or len(structure.links) != needed:
        return f"its platform is no point on {needed} flexible links"
    if structure.normal is None:
        return "links in space carry directions of their own"
    return ""


def of_elastic(robot: Robot) -> tuple[int]:
    """Shape of the elastic coordinates of all beams."""
    return (reduced_coordinates(robot).structure.elastic_tree.ne,)


def random_coordinates(
    robot: Robot, shapes: Mapping[str, tuple[int, ...]], groups: Any = None
) -> PreciseInputs | None:
    """Random actuator and elastic coordinates near the reference pose.

    With random rates and accelerations.
    """
    if groups is not None:
        return None
    _require_lengths_form(robot)
    reference = reference_actuators(robot)
    random = Random(7)

    def number(size: str) -> Decimal:
        return (Decimal(random.randrange(-(10**50), 10**50)) / Decimal(10**50)) * Decimal(size)

    def row() -> tuple[Decimal, ...]:
        values: list[Decimal] = []
        for name, (count,) in shapes.items():
            if name == "qa":
                values += [Decimal(value) + number("0.05") for value in reference]
            else:
                values += [number("0.01" if name == "qe" else "1") for _ in range(count)]
        return tuple(values)

    size = sum(count for (count,) in shapes.values())
    with localcontext() as context:
        context.prec = 60
        return PreciseInputs(tuple(row() for _ in range(6)), tuple(row() for _ in range(4)), (1.0,) * size)


def _require_lengths_form(robot: Robot) -> ReducedCoordinates:
    reduced = reduced_coordinates(robot)
    reason = reason_no_closed_form(reduced)
    if reason:
        raise KinematicsError(f"lengths of links do not place {robot.name}: {reason}")
    return reduced


def _split_elastic(reduced: ReducedCoordinates, qe: Array) -> tuple[Array, Array, list[Array]]:
    """Of q_e, or of its rates: lengths of links, coordinates of the subchains, bending of each link."""
    structure = reduced.structure
    whole = structure.elastic_tree
    numbers = [link.number for link in structure.links]
    joint_part = [value for k, part in enumerate(whole.slices) if k not in numbers for value in qe[part]]
    axial = [qe[whole.slices[k].start] for k in numbers]
    bent = [qe[whole.slices[k]][1:] for k in numbers]
    return pack(axial), pack(joint_part) if joint_part else np.zeros(0), bent


def _positions_from_lengths(reduced: ReducedCoordinates, qa: Array, qe: Array) -> tuple[Array, Array]:
    """Positions p with the platform placed by the lengths, and the lengths."""
    structure = reduced.structure
    axial, joint_part, bent = _split_elastic(reduced, qe)
    lengths = axial + np.array([link.shapes.beam.length for link in structure.links])
    p = pack([*np.zeros(3), *qa, *joint_part, *(value for part in bent for value in part)])
    first, second = (ends[0] for ends in link_end_points(reduced, p))
    normal = structure.normal
    assert normal is not None
    d = second - first
    reciprocal = divide(1.0, dot(d, d))
    l1, l2 = lengths[0] * lengths[0], lengths[1] * lengths[1]
    a = 0.5 + 0.5 * (l1 - l2) * reciprocal
    h = sqrt(l1 * reciprocal - a * a)
    point = first + a * d + (h if _platform_side(reduced) > 0.0 else -h) * cross(normal, d)
    out = int(np.argmax(np.abs(normal)))
    # Out of the plane the platform stays where it is in the reference pose.
    position = pack([structure.robot.reference.p[k] if k == out else point[k] for k in range(3)])
    return pack([*position, *p[3:]]), lengths


def reference_actuators(robot: Robot) -> list[float]:
    """Coordinates of the actuators in the reference pose."""
    q = mechanism_of(robot).assembly.q_tree
    return [float(q[robot.q_slices[actuator.joint].start]) for actuator in robot.actuators]


def _platform_side(reduced: ReducedCoordinates) -> float:
    """On which side of A_2 - A_1 the platform is in the reference pose."""
    from nacelle.elastic.flexible_tree import reference_poses

    structure = reduced.structure
    robot = structure.robot
    poses = reference_poses(robot)
    starts = []
    for link in structure.links:
        joint = robot.joints[link.shapes.beam.start[0]]
        starts.append((poses[joint.predecessor] @ joint.frame_predecessor).p)
    assert structure.normal is not None
    span = poses[PLATFORM].p - starts[0]
    return float(np.sign(np.dot(np.cross(structure.normal, starts[1] - starts[0]), span)))


def _motion_from_lengths(
    reduced: ReducedCoordinates, qa: Array, qe: Array, va: Array, ve: Array
) -> SubchainMotion:
    """The robot at q_a, q_e and their rates."""
    structure = reduced.structure
    p, lengths = _positions_from_lengths(reduced, qa, qe)
    stretch, joint_part, bent = _split_elastic(reduced, ve)
    tips = link_end_points(reduced, p)
    normal = structure.normal
    assert normal is not None
    inside = [k for k in range(3) if abs(normal[k]) < 0.5]
    indices = [reduced.order.index(k) for k in inside]
    # Rates in y with the platform at rest give the velocities of the starts.
    y = [0.0] * reduced.n
    y[: reduced.na] = list(va)
    for index, value in zip(
        [k for k in range(reduced.na, len(reduced.order)) if k not in indices], joint_part, strict=True
    ):
        y[index] = value
    for part, values in zip(reduced.link_rates, bent, strict=True):
        y[part] = list(values)
    still = subchain_motion(reduced, p, pack(y), Lengths(lengths, stretch))
    e = [(end - start) * divide(1.0, length) for (start, end), length in zip(tips, lengths, strict=True)]
    right = [stretch[k] + dot(e[k], still.tips[k][0].v) for k in range(len(e))]
    velocity = solve(pack([[row[k] for k in inside] for row in e]), pack(right))
    for index, value in zip(indices, velocity, strict=True):
        y[index] = value
    return subchain_motion(reduced, p, pack(y), Lengths(lengths, stretch))


def _elastic_accelerations(reduced: ReducedCoordinates, now: SubchainMotion, rate: Array, ends: Any) -> Array:
    """Accelerations of all elastic coordinates, in the order of q_e."""
    whole = reduced.structure.elastic_tree
    result: list[Scalar] = [0.0] * whole.ne
    numbers = {link.number: k for k, link in enumerate(reduced.structure.links)}
    nz = len(reduced.structure.subchains.rigid_rates)
    left = iter([reduced.order.index(nz + k) for k in range(reduced.structure.subchains.ne)])
    for number, part in enumerate(whole.slices):
        if number in numbers:
            k = numbers[number]
            a, b = now.tips[k]
            starts, stops = a.bias + product(a.J, rate), b.bias + product(b.J, rate)
            result[part] = [stretch_acceleration(now.links[k], starts, stops), *ends[k].t]
        else:
            result[part] = [rate[next(left)] for _ in range(part.stop - part.start)]
    return pack(result)


@draw_inputs_with(random_coordinates)
@physics(qa=of_inputs, qe=of_elastic, va=of_inputs, ve=of_elastic, a=of_inputs)
def lengths_inverse(
    robot: Robot, qa: Array, qe: Array, va: Array, ve: Array, a: Array, *, physics: Physics = ALL_TERMS
) -> dict[str, Array]:
    """Forces (na,), N or N m, of the actuators at their accelerations a (na,), and "elastic" ones (ne,).

    Args:
        robot: the robot.
        qa: coordinates of the actuators (na,), rad or m.
        qe: elastic coordinates (ne,).
        va: rates of qa.
        ve: rates of qe.
        a: accelerations of qa.
        physics: what the equations of motion include.
    """
    reduced = _require_lengths_form(robot)
    now = _motion_from_lengths(reduced, qa, qe, va, ve)
    rate, ends, tau = accelerations(now, a, np.zeros(0), physics)
    return {"force": tau, "elastic": _elastic_accelerations(reduced, now, rate, ends)}


@draw_inputs_with(random_coordinates)
@physics(qa=of_inputs, qe=of_elastic, va=of_inputs, ve=of_elastic, tau=of_inputs)
def lengths_forward(
    robot: Robot, qa: Array, qe: Array, va: Array, ve: Array, tau: Array, *, physics: Physics = ALL_TERMS
) -> dict[str, Array]:
    """Accelerations of the actuators (na,), and "elastic" ones (ne,), at forces tau (na,), N or N m.

    Other arguments as in `lengths_inverse`.
    """
    reduced = _require_lengths_form(robot)
    now = _motion_from_lengths(reduced, qa, qe, va, ve)
    rate, ends, _ = accelerations(now, None, tau, physics)
    return {"acceleration": rate[: reduced.na], "elastic": _elastic_accelerations(reduced, now, rate, ends)}
