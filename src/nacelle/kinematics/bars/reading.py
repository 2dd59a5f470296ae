"""Reading legs as struts and driven rods: what the general form and measured inputs need of a description.

What is decided is decided by the robot's own numbers; the numbers of the result may be symbols.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np

from nacelle.kinematics.bars.form import (
    Drive,
    LegForm,
    Passive,
    UnreadError,
    alike_places,
    circle,
    clean,
    clean_parameters,
)
from nacelle.kinematics.bars.parallel_rods import parallelogram_form, turns_with
from nacelle.kinematics.legs.axes import TOLERANCE
from nacelle.kinematics.legs.chain import Chain, flatten, nacelle_end, serial_chain
from nacelle.kinematics.legs.forms import FORMS
from nacelle.kinematics.legs.leg_type import leg_type
from nacelle.kinematics.mechanism.mechanism import Mechanism
from nacelle.model.joint import FrictionTerm
from nacelle.model.leg import PLATFORM
from nacelle.model.loaded import body_parameters
from nacelle.model.robot import Robot
from nacelle.spatial.inertia import is_axisymmetric, transform_parameters
from nacelle.spatial.pose import Pose, identity
from nacelle.spatial.rounding import first_largest, first_smallest
from nacelle.spatial.scalar import Array, Scalar, at_sample, cross, divide, dot, norm, pack, plus, product


def read_legs(robot: Robot, mechanism: Mechanism) -> list[LegForm]:
    """Read all legs, in the order of the actuators.

    Raises:
        UnreadError: if a leg is neither a strut nor a driven rod, or does not end on the platform itself.
    """
    if robot.numeric is not robot:
        return _read_legs(robot, mechanism)
    return list(_numeric_legs(robot, robot.all_names, mechanism))


@lru_cache(maxsize=64)
def _numeric_legs(robot: Robot, names: tuple[str, ...], mechanism: Mechanism) -> list[LegForm]:
    """The legs of a robot without symbols, read once; names are no part of a robot's hash."""
    del names
    return _read_legs(robot, mechanism)


def _read_legs(robot: Robot, mechanism: Mechanism) -> list[LegForm]:
    forms = [read_leg(robot, mechanism, k) for k in range(len(robot.legs))]
    for form in forms:
        if form.body != PLATFORM:
            raise UnreadError(f"leg {form.name!r} does not end on the platform itself")
    forms = sorted(forms, key=lambda form: form.drive.number)
    places = alike_places([*(form.A for form in forms), *(form.B for form in forms)])
    ends = zip(places[: len(forms)], places[len(forms) :], strict=True)
    return [replace(form, A=A, B=B) for form, (A, B) in zip(forms, ends, strict=True)]


def read_leg(robot: Robot, mechanism: Mechanism, index: int) -> LegForm:
    """Read one leg.

    Raises:
        UnreadError: if it is neither a strut nor a driven rod.
    """
    leg, plan = robot.legs[index], mechanism.legs[index]
    if plan.recipe is None:
        raise UnreadError(f"leg {leg.name!r} has no closed form")
    actuators = [k for k, actuator in enumerate(robot.actuators) if actuator.joint in leg.joints]
    if len(actuators) != 1:
        raise UnreadError(f"leg {leg.name!r} has {len(actuators)} actuators")
    driven = robot.actuators[actuators[0]].joint
    if any(any(robot.joints[j].springs) for j in (*leg.joints, *leg.closures) if j != driven):
        raise UnreadError(f"leg {leg.name!r} has springs in passive joints")
    if any(robot.numeric.joints[j].rotor_inertia for j in (*leg.joints, *leg.closures) if j != driven):
        raise UnreadError(f"leg {leg.name!r} has a rotor on a passive joint")
    form, askew = plan.recipe.form, leg_type(robot, leg).askew
    if form == "rods":
        return _side_by_side(robot, mechanism, index, actuators[0])
    if form == "parallelogram":
        return parallelogram_form(robot, mechanism, index, actuators[0])
    chain, numbers = serial_chain(robot, leg), serial_chain(robot.numeric, leg)
    if chain is None or numbers is None:
        raise UnreadError(f"leg {leg.name!r} is not one chain")
    if askew:
        raise UnreadError(f"leg {leg.name!r} is askew: {askew}")
    if FORMS[form].kind == "strut" and driven == chain.owners[-1]:
        return _strut(robot, mechanism, index, chain, numbers, actuators[0])
    if FORMS[form].kind == "rod" and driven == chain.owners[0]:
        return _rod(robot, mechanism, index, chain, numbers, actuators[0], form)
    raise UnreadError(f"leg {leg.name!r} is neither a strut nor a rod on a driven arm or slider")


def _side_by_side(robot: Robot, mechanism: Mechanism, index: int, actuator: int) -> LegForm:
    """Rods between balls side by side, on a platform that does not turn: they move as one."""
    leg = robot.legs[index]
    root = robot.actuators[actuator].joint
    found = []
    for j, c in leg_type(robot, leg).rods:
        chains = [
            flatten(source, [root, j], source.joints[c], identity()) for source in (robot, robot.numeric)
        ]
        if chains[1].letters[1:] != "S":
            raise UnreadError(f"the rods of leg {leg.name!r} do not stand on balls")
        found.append(_rod(robot, mechanism, index, chains[0], chains[1], actuator, "elbow-ball"))
    one, *others = found
    if any(other.body != one.body for other in others) or turns_with(mechanism, one.body):
        raise UnreadError(f"the rods of leg {leg.name!r} do not stay parallel, because their end turns")
    R = mechanism.assembly.motion.poses[one.body].R
    for other in others:
        across = _floats(other.A - one.A) - product(R, _floats(other.B - one.B))
        sizes = _floats(pack([other.length - one.length, other.arm - one.arm]))
        if max(float(np.max(np.abs(across))), abs(sizes[0]), abs(sizes[1])) > TOLERANCE * robot.size:
            raise UnreadError(f"the rods of leg {leg.name!r} are not parallel")
        passive = replace(
            one.passive, ball=one.passive.ball + other.passive.ball, end=one.passive.end + other.passive.end
        )
        one = replace(one, rod=one.rod + other.rod, passive=passive)
    return one


def _placed(mechanism: Mechanism, chain: Chain, behind: int) -> Array:
    """Orientation, in the reference, of the moved frame behind some letters."""
    body, _, pose = next(c for c in chain.bodies if c.behind == behind)
    return np.asarray(product(mechanism.assembly.motion.poses[body].R, pose.R.T))


def _gather(robot: Robot, chain: Chain, behind: int, frame: Pose) -> Array:
    """Ten parameters of all bodies behind so many letters, seen from a frame in the moved one."""
    total: Array = np.zeros(10)
    to = frame.inverse()
    for carried in chain.bodies:
        if carried.behind == behind:
            seen = to @ carried.pose
            total = total + transform_parameters(seen.R, seen.p, body_parameters(robot, carried.body))
    return clean_parameters(total)


def _axes(e1: Array, e3: Array) -> Array:
    return np.stack([e1, cross(e3, e1), e3], axis=1)


def _perpendicular_to(e3: Array) -> Array:
    """A unit vector perpendicular to another one."""
    k = first_smallest(np.abs(_floats(e3)))
    e = cross(np.eye(3)[k], e3)
    return np.asarray(e / norm(e))


def _friction(robot: Robot, chain: Chain, letter: int) -> tuple[FrictionTerm, ...]:
    """Friction terms of the joint axis that a letter stands for."""
    j = chain.owners[letter]
    number = letter - chain.owners.index(j)
    friction = robot.joints[j].friction
    return friction[number] if friction else ()


def _passive(robot: Robot, chain: Chain, pivot: str, start: int, side: float, end_side: float) -> Passive:
    """Friction of the axes at A, which begin with the letter `start`, and at B."""
    end = chain.target.friction[0] if chain.target.friction else ()
    none: tuple[FrictionTerm, ...] = ()
    first = _friction(robot, chain, start)
    second = _friction(robot, chain, start + 1) if pivot == "U" else none
    ball = first if pivot == "S" else none
    return Passive(none if pivot == "S" else first, second, ball, side, end, chain.target.kind, end_side)


def _in_plane(robot: Robot, name: str, axis: Array) -> None:
    """A revolute joint at A allows motions in the plane across it alone."""
    axes = robot.motion.twist_axes
    k = first_largest(np.abs(axis))
    flat = {(k + 1) % 3, (k + 2) % 3, 3 + k}
    if not set(axes) <= flat or abs(abs(axis[k]) - 1.0) > TOLERANCE:
        raise UnreadError(f"leg {name!r} turns in a plane, but the platform does not stay in it")


def _require_axisymmetric(name: str, what: str, parameters: Array, size: float) -> None:
    """A body between balls, which may spin idly, must be axisymmetric about its third axis (floats)."""
    if not is_axisymmetric(parameters, np.array([0.0, 0.0, 1.0]), size, TOLERANCE):
        raise UnreadError(f"the {what} of leg {name!r} between balls is not axisymmetric")


def _strut(
    robot: Robot,
    mechanism: Mechanism,
    index: int,
    chain: Chain,
    numbers: Chain,
    actuator: int,
) -> LegForm:
    leg = robot.legs[index]
    body, frame, outward = nacelle_end(leg, chain.target)
    end_side = 1.0 if outward else -1.0
    form = FORMS[leg_type(robot, leg).form]
    chain, numbers, pivot = form.centred(chain), form.centred(numbers), form.pivot
    Xn, count = numbers.X, len(numbers.letters)
    X0, slide, end = chain.X[0], chain.X[-2], chain.X[-1]
    z = Xn[-2].R[:, 2]
    o = plus(Xn[-2].p, product(Xn[-2].R, Xn[-1].p))
    if pivot == "R":
        _in_plane(robot, leg.name, Xn[0].R[:, 2])
        o = o * np.array([1.0, 1.0, 0.0])
    q = float(mechanism.assembly.q[robot.q_slices[numbers.owners[-1]]][0])
    side, length = (1.0 if float(o @ z) + q > 0.0 else -1.0), abs(float(o @ z) + q)
    e3 = side * slide.R[:, 2]
    sign = 1.0
    a = clean(X0.R[:, 2])
    if pivot == "U":
        placed = _placed(mechanism, numbers, count - 1)
        r = product(placed, side * z)
        sign = 1.0 if float(product(np.cross(Xn[0].R[:, 2], r), placed[:, 2])) > 0.0 else -1.0
        e1: Array = pack([0.0, 0.0, sign])
    elif pivot == "R":
        e1 = np.array([0.0, 0.0, 1.0])
    else:
        e1 = _perpendicular_to(clean(e3) if e3.dtype == object else side * z)
    E = _axes(e1, e3)
    tube = _gather(robot, chain, count - 1, Pose(E, np.zeros(3)))
    rod = _gather(robot, chain, count, Pose(product(slide.R.T, E), end.p))
    cross_inertia: Scalar = 0.0
    if pivot == "U":
        whole = _gather(robot, chain, 1, Pose(np.eye(3), np.zeros(3)))
        number = _gather(robot.numeric, numbers, 1, Pose(np.eye(3), np.zeros(3)))
        if np.max(np.abs(number[1:3])) > TOLERANCE * max(number[0] * robot.size, 1e-300):
            raise UnreadError(f"the cross of leg {leg.name!r} has its centre of mass beside its axis")
        cross_inertia = whole[9]
    if pivot == "S":
        whole = _gather(robot.numeric, numbers, count - 1, Pose(_floats(E), np.zeros(3)))
        _require_axisymmetric(leg.name, "tube", whole, length)
    off = _gather(robot.numeric, numbers, count, Pose(product(Xn[-2].R.T, _floats(E)), Xn[-1].p))
    if np.max(np.abs(off[1:3])) > TOLERANCE * max(off[0] * robot.size, 1e-300):
        raise UnreadError(f"the slider of leg {leg.name!r} has its centre of mass beside its axis")
    if pivot == "S":
        _require_axisymmetric(leg.name, "slider", off, length)
    zero = -dot(o_of(chain, pivot), slide.R[:, 2])
    drive = Drive(actuator, robot.joints[chain.owners[-1]], False, side, zero)
    return LegForm(
        name=leg.name,
        kind="strut",
        pivot=pivot,
        A=X0.p,
        B=frame.p,
        body=body,
        first=a,
        tube=tube,
        rod=rod,
        cross=cross_inertia,
        drive=drive,
        passive=_passive(robot, chain, pivot, 0, sign, end_side),
    )


def o_of(chain: Chain, pivot: str) -> Array:
    """Where B stands behind A at q = 0, in the frame behind the joint at A."""
    o = plus(chain.X[-2].p, product(chain.X[-2].R, chain.X[-1].p))
    return np.asarray(o * np.array([1.0, 1.0, 0.0])) if pivot == "R" else o


def _floats(values: Array) -> Array:
    """Numbers to decide from."""
    return values if values.dtype != object else at_sample(values)


def _rod(
    robot: Robot,
    mechanism: Mechanism,
    index: int,
    chain: Chain,
    numbers: Chain,
    actuator: int,
    kind: str,
) -> LegForm:
    leg = robot.legs[index]
    body, frame, outward = nacelle_end(leg, chain.target)
    end_side = 1.0 if outward else -1.0
    form = FORMS[kind]
    chain, numbers, pivot = form.centred(chain), form.centred(numbers), form.pivot
    Xn, count, turns = numbers.X, len(numbers.letters), numbers.letters[0] == "R"
    X0, X1 = chain.X[0], chain.X[1]
    n = clean(X0.R[:, 2])
    # The first axis at A, seen behind the drive: fixed in the base behind a slider, or along an arm's axis.
    first_n = Xn[1].R[:, 2]
    first = clean(product(X0.R, X1.R[:, 2]))
    if turns and pivot != "S":
        first = n * (1.0 if first_n[2] > 0.0 else -1.0)
    flat = np.ones(3)
    if pivot == "R":
        _in_plane(
            robot, leg.name, Xn[0].R[:, 2] if turns else _floats(clean(product(Xn[0].R, Xn[1].R[:, 2])))
        )
        flat = np.array([1.0, 1.0, 0.0])
    d = chain.X[-1].p * flat
    dn = Xn[-1].p * flat
    length = norm(d)
    if turns:
        arm, A, start, axes = circle(X0, X1.p)
        carriage = _gather(robot, chain, 1, Pose(axes, np.zeros(3)))
    else:
        arm, start, A = 0.0, np.zeros(3), plus(X0.p, product(X0.R, X1.p))
        carriage = _gather(robot, chain, 1, Pose(np.eye(3), np.zeros(3)))
    sign = 1.0
    e3 = d * divide(1.0, length)
    if pivot == "U":
        placed = _placed(mechanism, numbers, count)
        side = product(np.cross(_floats(first), product(placed, dn)), placed[:, 2])
        sign = 1.0 if float(side) > 0.0 else -1.0
        E = _axes(pack([0.0, 0.0, sign]), e3)
    elif pivot == "R":
        E = _axes(np.array([0.0, 0.0, 1.0]), e3)
    else:
        E = _axes(_perpendicular_to(clean(e3) if e3.dtype == object else dn / np.linalg.norm(dn)), e3)
    rod = _gather(robot, chain, count, Pose(clean(E), np.zeros(3)))
    cross_inertia: Scalar = 0.0
    if pivot == "U":
        here = Pose(np.eye(3), np.zeros(3))
        ring, number = _gather(robot, chain, 2, here), _gather(robot.numeric, numbers, 2, here)
        if np.max(np.abs(number[1:4])) > TOLERANCE * max(number[0] * robot.size, 1e-300):
            raise UnreadError(f"the cross of leg {leg.name!r} has its centre of mass beside its centre")
        cross_inertia = ring[9]
        rod = rod + np.concatenate([ring[:1], np.zeros(9)])
    if pivot == "S":
        numeric = _gather(robot.numeric, numbers, count, Pose(_floats(E), np.zeros(3)))
        _require_axisymmetric(leg.name, "rod", numeric, float(np.linalg.norm(dn)))
    drive = Drive(actuator, robot.joints[chain.owners[0]], turns)
    return LegForm(
        name=leg.name,
        kind="rod",
        pivot=pivot,
        A=A,
        B=frame.p,
        body=body,
        axis=n,
        arm=arm,
        start=start,
        first=first,
        elbow=X1.p,
        length=length,
        rod=rod,
        cross=cross_inertia,
        carriage=carriage,
        drive=drive,
        passive=_passive(robot, chain, pivot, 1, sign, end_side),
    )
