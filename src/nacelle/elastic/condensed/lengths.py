"""The small model with lengths of links as coordinates.

Inputs q_a and all elastic coordinates q_e ([BK2013] V).

Where a point platform hangs on as many links as it has coordinates, its place follows from their lengths in
closed form, in a plane from two circles about A_1, A_2 with d = A_2 - A_1, D = d . d, z the normal,

    P = A_1 + a d + s h (z x d),     a = (1 + (l_1^2 - l_2^2) / D) / 2,     h = sqrt(l_1^2 / D - a^2)

and in space from three spheres likewise, s = +-1 as in the reference pose. Its velocity follows from
e_i . (v_P - v_A,i) = l_i'. Accelerations of lengths are l_i'' = e_i . (gamma_P - gamma_A,i) + l_i sum_j
w_j^2.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal, localcontext
from random import Random
from typing import Any

import numpy as np

from nacelle.dynamics.settings import Settings
from nacelle.elastic.condensed.link import stretch_acceleration
from nacelle.elastic.condensed.models import accelerations
from nacelle.elastic.condensed.natural import Lengths, Natural, Now, natural_of, now_at, tip_points
from nacelle.elastic.dynamics.models import of_inputs
from nacelle.errors import KinematicsError
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.model.leg import PLATFORM
from nacelle.model.robot import Robot
from nacelle.program.identities.samples import PreciseInputs
from nacelle.spatial.physics import physics, sampled
from nacelle.spatial.scalar import Array, Scalar, cross, divide, dot, pack, product, sqrt
from nacelle.spatial.solve import solve


def reason_not(natural: Natural) -> str:
    """Why the platform does not follow from lengths of links in closed form; empty if it does."""
    structure = natural.structure
    needed = 3 if structure.normal is None else 2
    ends = [link for link in structure.links if link.end.body == PLATFORM and link.start.body != PLATFORM]
    if structure.robot.nacelle.kind != "point" or len(ends) != needed or len(structure.links) != needed:
        return f"its platform is no point on {needed} flexible links"
    if structure.normal is None:
        return "links in space carry directions of their own"
    return ""


def of_elastic(robot: Robot) -> tuple[int]:
    """Shape of the elastic coordinates of all beams."""
    return (natural_of(robot).structure.extended.ne,)


def random_coordinates(
    robot: Robot, shapes: Mapping[str, tuple[int, ...]], groups: Any = None
) -> PreciseInputs | None:
    """Random actuator and elastic coordinates near the reference pose.

    With random rates and accelerations.
    """
    if groups is not None:
        return None
    _checked(robot)
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


def _checked(robot: Robot) -> Natural:
    natural = natural_of(robot)
    reason = reason_not(natural)
    if reason:
        raise KinematicsError(f"lengths of links do not place {robot.name}: {reason}")
    return natural


def _bending(natural: Natural, qe: Array) -> tuple[Array, Array, list[Array]]:
    """Of q_e, or of its rates: lengths of links, coordinates of the stumps, and the bending of each link."""
    structure = natural.structure
    whole = structure.extended
    numbers = [link.number for link in structure.links]
    stumps = [value for k, part in enumerate(whole.slices) if k not in numbers for value in qe[part]]
    axial = [qe[whole.slices[k].start] for k in numbers]
    bent = [qe[whole.slices[k]][1:] for k in numbers]
    return pack(axial), pack(stumps) if stumps else np.zeros(0), bent


def _placed(natural: Natural, qa: Array, qe: Array) -> tuple[Array, Array]:
    """Positions p with the platform placed by the lengths, and the lengths."""
    structure = natural.structure
    axial, stumps, bent = _bending(natural, qe)
    lengths = axial + np.array([link.shapes.beam.length for link in structure.links])
    p = pack([*np.zeros(3), *qa, *stumps, *(value for part in bent for value in part)])
    first, second = (ends[0] for ends in tip_points(natural, p))
    normal = structure.normal
    assert normal is not None
    d = second - first
    reciprocal = divide(1.0, dot(d, d))
    l1, l2 = lengths[0] * lengths[0], lengths[1] * lengths[1]
    a = 0.5 + 0.5 * (l1 - l2) * reciprocal
    h = sqrt(l1 * reciprocal - a * a)
    point = first + a * d + (h if _side(natural) > 0.0 else -h) * cross(normal, d)
    out = int(np.argmax(np.abs(normal)))
    # Out of the plane the platform stays where it is in the reference pose.
    place = pack([structure.robot.reference.p[k] if k == out else point[k] for k in range(3)])
    return pack([*place, *p[3:]]), lengths


def reference_actuators(robot: Robot) -> list[float]:
    """Coordinates of the actuators in the reference pose."""
    q = mechanism_of(robot).assembly.q
    return [float(q[robot.q_slices[actuator.joint].start]) for actuator in robot.actuators]


def _side(natural: Natural) -> float:
    """On which side of A_2 - A_1 the platform is in the reference pose."""
    from nacelle.elastic.extended import reference_poses

    structure = natural.structure
    robot = structure.robot
    poses = reference_poses(robot)
    starts = []
    for link in structure.links:
        joint = robot.joints[link.shapes.beam.start[0]]
        starts.append((poses[joint.predecessor] @ joint.frame_predecessor).p)
    assert structure.normal is not None
    span = poses[PLATFORM].p - starts[0]
    return float(np.sign(np.dot(np.cross(structure.normal, starts[1] - starts[0]), span)))


def _moving(natural: Natural, inputs: tuple[Array, Array, Array, Array]) -> Now:
    """The robot at q_a, q_e and their rates."""
    qa, qe, va, ve = inputs
    structure = natural.structure
    p, lengths = _placed(natural, qa, qe)
    stretch, stumps, bent = _bending(natural, ve)
    tips = tip_points(natural, p)
    normal = structure.normal
    assert normal is not None
    inside = [k for k in range(3) if abs(normal[k]) < 0.5]
    places = [natural.order.index(k) for k in inside]
    # Rates in y with the platform at rest give the velocities of the starts.
    y = [0.0] * natural.n
    y[: natural.na] = list(va)
    for place, value in zip(
        [k for k in range(natural.na, len(natural.order)) if k not in places], stumps, strict=True
    ):
        y[place] = value
    for part, values in zip(natural.link_rates, bent, strict=True):
        y[part] = list(values)
    still = now_at(natural, p, pack(y), Lengths(lengths, stretch))
    e = [(end - start) * divide(1.0, length) for (start, end), length in zip(tips, lengths, strict=True)]
    right = [stretch[k] + dot(e[k], still.tips[k][0].v) for k in range(len(e))]
    velocity = solve(pack([[row[k] for k in inside] for row in e]), pack(right))
    for place, value in zip(places, velocity, strict=True):
        y[place] = value
    return now_at(natural, p, pack(y), Lengths(lengths, stretch))


def _elastic(natural: Natural, now: Now, rate: Array, ends: Any) -> Array:
    """Accelerations of all elastic coordinates, in the order of q_e."""
    whole = natural.structure.extended
    result: list[Scalar] = [0.0] * whole.ne
    numbers = {link.number: k for k, link in enumerate(natural.structure.links)}
    nz = len(natural.structure.stumps.rigid_rates)
    left = iter([natural.order.index(nz + k) for k in range(natural.structure.stumps.ne)])
    for number, part in enumerate(whole.slices):
        if number in numbers:
            k = numbers[number]
            a, b = now.tips[k]
            starts, stops = a.bias + product(a.J, rate), b.bias + product(b.J, rate)
            result[part] = [stretch_acceleration(now.links[k], starts, stops), *ends[k].t]
        else:
            result[part] = [rate[next(left)] for _ in range(part.stop - part.start)]
    return pack(result)


@sampled(random_coordinates)
@physics(qa=of_inputs, qe=of_elastic, va=of_inputs, ve=of_elastic, a=of_inputs)
def lengths_inverse(
    robot: Robot, qa: Array, qe: Array, va: Array, ve: Array, a: Array, **options: Any
) -> dict[str, Array]:
    """Forces (na,), N or N m, of the actuators at their accelerations a (na,), and "elastic" ones (ne,).

    Args:
        robot: the robot.
        qa: coordinates of the actuators (na,), rad or m.
        qe: elastic coordinates (ne,).
        va: rates of qa.
        ve: rates of qe.
        a: accelerations of qa.
        options: as `Settings` has them.
    """
    natural = _checked(robot)
    now = _moving(natural, (qa, qe, va, ve))
    rate, ends, tau = accelerations(now, a, np.zeros(0), Settings(**options))
    return {"force": tau, "elastic": _elastic(natural, now, rate, ends)}


@sampled(random_coordinates)
@physics(qa=of_inputs, qe=of_elastic, va=of_inputs, ve=of_elastic, tau=of_inputs)
def lengths_forward(
    robot: Robot, qa: Array, qe: Array, va: Array, ve: Array, tau: Array, **options: Any
) -> dict[str, Array]:
    """Accelerations of the actuators (na,), and "elastic" ones (ne,), at forces tau (na,), N or N m.

    Other arguments as in `lengths_inverse`.
    """
    natural = _checked(robot)
    now = _moving(natural, (qa, qe, va, ve))
    rate, ends, _ = accelerations(now, None, tau, Settings(**options))
    return {"acceleration": rate[: natural.na], "elastic": _elastic(natural, now, rate, ends)}
