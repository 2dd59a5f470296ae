"""Reading legs as struts and driven rods: what the general form and measured inputs need of a description.

A bar reaches from a point A to a point B of the nacelle, r = B - A (3,), m. A strut changes its length,

    q = side |r| + zero                        side 1 or -1, A on the base

a rod keeps it, |r| = L, while its drive carries A,

    A + q axis      or      A + arm R(axis, q) start             on a slider, or at the end of an arm

so that r and its derivatives give every motion of the leg, and no passive joint is needed. Inertia is
gathered in ten parameters behind the joint at A, in axes along r and the joint's first axis; where a centre
of mass or a product of inertia does not fit, the leg is refused in words, and the general form takes its
joints. What is decided is decided by the robot's own numbers; the numbers of the result may be symbols.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from nacelle.kinematics.bars.form import (
    ActuatedJoint,
    LegForm,
    Passive,
    UnreadError,
    carriage_of,
    clean,
    clean_parameters,
)
from nacelle.kinematics.bars.parallel_rods import parallelogram_form, turns_with
from nacelle.kinematics.legs.axes import TOLERANCE
from nacelle.kinematics.legs.chain import LegChain, flatten, nacelle_end, serial_chain
from nacelle.kinematics.legs.forms import FORMS, ClosedForm
from nacelle.kinematics.legs.leg_type import leg_type
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.model.joint import FrictionTerm
from nacelle.model.loaded import body_parameters
from nacelle.model.robot import Robot
from nacelle.spatial.inertia import is_axisymmetric, transform_parameters
from nacelle.spatial.pose import Pose, identity
from nacelle.spatial.rounding import first_largest, first_smallest
from nacelle.spatial.scalar import Array, Scalar, at_sample, cross, divide, dot, norm, pack, plus, product

_ORIGIN = np.zeros(3)


def read_leg(robot: Robot, index: int) -> LegForm:
    """Read one leg.

    Raises:
        UnreadError: if it is neither a strut nor a driven rod.
    """
    leg, plan = robot.legs[index], mechanism_of(robot).legs[index]
    if plan.recipe is None:
        raise UnreadError(f"leg {leg.name!r} has no closed form")
    actuators = [k for k, actuator in enumerate(robot.actuators) if actuator.joint in leg.joints]
    if len(actuators) != 1:
        raise UnreadError(f"leg {leg.name!r} has {len(actuators)} actuators")
    driven = robot.actuators[actuators[0]].joint
    if any(any(robot.joints[j].springs) for j in (*leg.joints, *leg.closures) if j != driven):
        raise UnreadError(f"leg {leg.name!r} has springs in passive joints")
    if any(any(robot.joints[j].stops) for j in (*leg.joints, *leg.closures)):
        raise UnreadError(f"leg {leg.name!r} has end stops")
    if any(body in spring.bodies for spring in robot.springs for body in leg.bodies):
        raise UnreadError(f"a spring between bodies acts on leg {leg.name!r}")
    if any(body in damper.bodies for damper in robot.dampers for body in leg.bodies):
        raise UnreadError(f"a damper between bodies acts on leg {leg.name!r}")
    if any(robot.numeric.joints[j].rotor_inertia for j in (*leg.joints, *leg.closures) if j != driven):
        raise UnreadError(f"leg {leg.name!r} has a rotor on a passive joint")
    form, askew = plan.recipe.form, leg_type(robot, leg).askew
    if form == "rods":
        return _side_by_side(robot, index, actuators[0])
    if form == "parallelogram":
        return parallelogram_form(robot, index, actuators[0])
    chain, numbers = serial_chain(robot, leg), serial_chain(robot.numeric, leg)
    if chain is None or numbers is None:
        raise UnreadError(f"leg {leg.name!r} is not one chain")
    if askew:
        raise UnreadError(f"leg {leg.name!r} is askew: {askew}")
    read = _Serial(robot, index, actuators[0], FORMS[form], (chain, numbers))
    if FORMS[form].kind == "strut" and driven == chain.owners[-1]:
        return _strut(read)
    if FORMS[form].kind == "rod" and driven == chain.owners[0]:
        return _rod(read)
    raise UnreadError(f"leg {leg.name!r} is neither a strut nor a rod on a driven arm or slider")


def _side_by_side(robot: Robot, index: int, actuator: int) -> LegForm:
    """Rods between spherical joints side by side, on a platform that does not turn: they move as one."""
    leg, mechanism = robot.legs[index], mechanism_of(robot)
    root = robot.actuators[actuator].joint
    rods = []
    for j, c in leg_type(robot, leg).rods:
        chain, numbers = (
            flatten(source, [root, j], source.joints[c], identity()) for source in (robot, robot.numeric)
        )
        if numbers.letters[1:] != "S":
            raise UnreadError(f"the rods of leg {leg.name!r} are not on spherical joints")
        rods.append(_rod(_Serial(robot, index, actuator, FORMS["elbow-spherical"], (chain, numbers))))
    one, *others = rods
    if any(other.body != one.body for other in others) or turns_with(mechanism, one.body):
        raise UnreadError(f"the rods of leg {leg.name!r} do not stay parallel, because their end turns")
    R = mechanism.assembly.motion.poses[one.body].R
    for other in others:
        across = _floats(other.A - one.A) - product(R, _floats(other.B - one.B))
        sizes = _floats(pack([other.length - one.length, other.carriage.arm - one.carriage.arm]))
        if max(float(np.max(np.abs(across))), abs(sizes[0]), abs(sizes[1])) > TOLERANCE * robot.size:
            raise UnreadError(f"the rods of leg {leg.name!r} are not parallel")
        passive = replace(
            one.passive,
            spherical=one.passive.spherical + other.passive.spherical,
            end=one.passive.end + other.passive.end,
        )
        one = replace(one, rod=one.rod + other.rod, passive=passive)
    return one


@dataclass(frozen=True)
class _Serial:
    """A leg that is one chain, as it is read.

    Attributes:
        robot: the robot; its numbers may be symbols.
        index: of the leg.
        actuator: its number.
        form: the closed form of the leg.
        chains: the chain, and the same with the robot's own numbers.
    """

    robot: Robot
    index: int
    actuator: int
    form: ClosedForm
    chains: tuple[LegChain, LegChain]

    @property
    def name(self) -> str:
        """Name of the leg."""
        return self.robot.legs[self.index].name

    @cached_property
    def chain(self) -> LegChain:
        """The chain, with its universal joint at the joint's centre."""
        return self.form.centred(self.chains[0])

    @cached_property
    def numbers(self) -> LegChain:
        """The same with the robot's own numbers."""
        return self.form.centred(self.chains[1])

    def gathered(self, behind: int, R: Array, p: Array = _ORIGIN) -> Array:
        """Ten parameters of all bodies behind so many letters, seen from a frame in the moved one."""
        return _gather(self.robot, self.chain, behind, Pose(R, p))

    def numeric(self, behind: int, R: Array, p: Array = _ORIGIN) -> Array:
        """The same with the robot's own numbers."""
        return _gather(self.robot.numeric, self.numbers, behind, Pose(R, p))

    def axes(self, behind: int, e3: Array, first: Array, along: Array) -> tuple[Array, float]:
        """Axes e_1, e_2, e_3 (columns), and 1 if the second axis of a universal joint is along e_1, else -1.

        Args:
            behind: number of letters before the frame that the axes are seen from.
            e3: direction of the line in that frame.
            first: first axis at A, base axes, floats.
            along: e3 as floats.
        """
        e1, sign = np.array([0.0, 0.0, 1.0]), 1.0
        if self.form.free_joint == "U":
            body, _, pose = next(c for c in self.numbers.bodies if c.behind == behind)
            R = np.asarray(product(mechanism_of(self.robot).assembly.motion.poses[body].R, pose.R.T))
            sign = 1.0 if float(product(np.cross(first, product(R, along)), R[:, 2])) > 0.0 else -1.0
            e1 = pack([0.0, 0.0, sign])
        elif self.form.free_joint == "S":
            e1 = _perpendicular_to(clean(e3) if e3.dtype == object else along)
        return np.stack([e1, cross(e3, e1), e3], axis=1), sign

    def require_on_axis(self, what: str, mass: float, moments: Array, where: str = "axis") -> None:
        """Refuse a body with first moments (floats) beside where its centre of mass must be."""
        if np.max(np.abs(moments)) > TOLERANCE * max(mass * self.robot.size, 1e-300):
            raise UnreadError(f"the {what} of leg {self.name!r} has its centre of mass beside its {where}")

    def require_axisymmetric(self, what: str, parameters: Array, size: float) -> None:
        """Refuse a body between spherical joints that is not axisymmetric about its third axis (floats)."""
        if not is_axisymmetric(parameters, np.array([0.0, 0.0, 1.0]), size, TOLERANCE):
            raise UnreadError(f"the {what} of leg {self.name!r} between spherical joints is not axisymmetric")

    def require_in_plane(self, axis: Array) -> None:
        """Refuse a revolute joint at A on a platform that does not stay in the plane across its axis."""
        k = first_largest(np.abs(axis))
        flat = {(k + 1) % 3, (k + 2) % 3, 3 + k}
        if not set(self.robot.motion.twist_axes) <= flat or abs(abs(axis[k]) - 1.0) > TOLERANCE:
            raise UnreadError(f"leg {self.name!r} turns in a plane, but the platform does not stay in it")

    def friction(self, letter: int) -> tuple[FrictionTerm, ...]:
        """Friction terms of the joint axis that a letter stands for."""
        j = self.chain.owners[letter]
        friction = self.robot.joints[j].friction
        return friction[letter - self.chain.owners.index(j)] if friction else ()

    def passive(self, start: int, side: float, outward: bool) -> Passive:
        """Friction of the axes at A, which begin with the letter `start`, and at B."""
        target, free_joint, first = self.chain.target, self.form.free_joint, self.friction(start)
        return Passive(
            first=() if free_joint == "S" else first,
            second=self.friction(start + 1) if free_joint == "U" else (),
            spherical=first if free_joint == "S" else (),
            side=side,
            end=target.friction[0] if target.friction else (),
            end_kind=target.kind,
            end_side=1.0 if outward else -1.0,
        )


def _gather(robot: Robot, chain: LegChain, behind: int, frame: Pose) -> Array:
    """Ten parameters of all bodies behind so many letters, seen from a frame in the moved one."""
    total: Array = np.zeros(10)
    to = frame.inverse()
    for body, count, pose in chain.bodies:
        if count == behind:
            seen = to @ pose
            total = total + transform_parameters(seen.R, seen.p, body_parameters(robot, body))
    return clean_parameters(total)


def _perpendicular_to(e3: Array) -> Array:
    """A unit vector perpendicular to another one."""
    k = first_smallest(np.abs(_floats(e3)))
    e = cross(np.eye(3)[k], e3)
    return np.asarray(e / norm(e))


def _floats(values: Array) -> Array:
    """Numbers to decide from."""
    return values if values.dtype != object else at_sample(values)


def _strut(leg: _Serial) -> LegForm:
    """A strut: [joint at A] [slide], with B behind the slide."""
    chain, numbers, free_joint = leg.chain, leg.numbers, leg.form.free_joint
    body, frame, outward = nacelle_end(leg.robot.legs[leg.index], chain.target)
    Xn, count, unit = numbers.X, len(numbers.letters), np.eye(3)
    X0, slide, end = chain.X[0], chain.X[-2], chain.X[-1]
    z, o = Xn[-2].R[:, 2], _end_at_zero(numbers, free_joint)
    if free_joint == "R":
        leg.require_in_plane(Xn[0].R[:, 2])
    q = float(mechanism_of(leg.robot).assembly.q[leg.robot.q_slices[numbers.owners[-1]]][0])
    side, length = (1.0 if float(o @ z) + q > 0.0 else -1.0), abs(float(o @ z) + q)
    E, sign = leg.axes(count - 1, side * slide.R[:, 2], Xn[0].R[:, 2], side * z)
    tube = leg.gathered(count - 1, E)
    rod = leg.gathered(count, product(slide.R.T, E), end.p)
    cross_inertia: Scalar = 0.0
    if free_joint == "U":
        cross_inertia = leg.gathered(1, unit)[9]
        number = leg.numeric(1, unit)
        leg.require_on_axis("cross", number[0], number[1:3])
    if free_joint == "S":
        leg.require_axisymmetric("tube", leg.numeric(count - 1, _floats(E)), length)
    slider = leg.numeric(count, product(Xn[-2].R.T, _floats(E)), Xn[-1].p)
    leg.require_on_axis("slider", slider[0], slider[1:3])
    if free_joint == "S":
        leg.require_axisymmetric("slider", slider, length)
    zero = -dot(_end_at_zero(chain, free_joint), slide.R[:, 2])
    return LegForm(
        name=leg.name,
        kind="strut",
        joint_at_a=free_joint,
        A=X0.p,
        B=frame.p,
        body=body,
        first=clean(X0.R[:, 2]),
        tube=tube,
        rod=rod,
        cross=cross_inertia,
        drive=ActuatedJoint(leg.actuator, leg.robot.joints[chain.owners[-1]], False, side, zero),
        passive=leg.passive(0, sign, outward),
    )


def _end_at_zero(chain: LegChain, free_joint: str) -> Array:
    """Where B of a strut is behind A at q = 0, in the frame behind the joint at A."""
    o = plus(chain.X[-2].p, product(chain.X[-2].R, chain.X[-1].p))
    return np.asarray(o * np.array([1.0, 1.0, 0.0])) if free_joint == "R" else o


def _rod(leg: _Serial) -> LegForm:
    """A rod: [drive] [joint at A], with B behind them."""
    chain, numbers, free_joint = leg.chain, leg.numbers, leg.form.free_joint
    body, frame, outward = nacelle_end(leg.robot.legs[leg.index], chain.target)
    Xn, count, revolute = numbers.X, len(numbers.letters), numbers.letters[0] == "R"
    X0, X1 = chain.X[0], chain.X[1]
    n = clean(X0.R[:, 2])
    # The first axis at A, seen behind the drive: fixed in the base behind a slider, or along an arm's axis.
    first = clean(product(X0.R, X1.R[:, 2]))
    if revolute and free_joint != "S":
        first = n * (1.0 if Xn[1].R[2, 2] > 0.0 else -1.0)
    flat = np.ones(3)
    if free_joint == "R":
        leg.require_in_plane(Xn[0].R[:, 2] if revolute else _floats(clean(product(Xn[0].R, Xn[1].R[:, 2]))))
        flat = np.array([1.0, 1.0, 0.0])
    d, dn = chain.X[-1].p * flat, Xn[-1].p * flat
    length = norm(d)
    A, carriage = carriage_of(X0, X1.p, revolute, lambda R: leg.gathered(1, R))
    E, sign = leg.axes(count, d * divide(1.0, length), _floats(first), dn / np.linalg.norm(dn))
    rod = leg.gathered(count, clean(E))
    cross_inertia: Scalar = 0.0
    if free_joint == "U":
        ring, number = leg.gathered(2, np.eye(3)), leg.numeric(2, np.eye(3))
        leg.require_on_axis("cross", number[0], number[1:4], "centre")
        cross_inertia = ring[9]
        rod = rod + np.concatenate([ring[:1], np.zeros(9)])
    if free_joint == "S":
        leg.require_axisymmetric("rod", leg.numeric(count, _floats(E)), float(np.linalg.norm(dn)))
    return LegForm(
        name=leg.name,
        kind="rod",
        joint_at_a=free_joint,
        A=A,
        B=frame.p,
        body=body,
        axis=n,
        first=first,
        length=length,
        rod=rod,
        cross=cross_inertia,
        carriage=carriage,
        drive=ActuatedJoint(leg.actuator, leg.robot.joints[chain.owners[0]], revolute),
        passive=leg.passive(1, sign, outward),
    )
