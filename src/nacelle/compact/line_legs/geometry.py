"""Reading legs as bars, struts and driven rods: what of a leg is known by the line between two points.

A *strut* is joined to the base at A and changes its length, a *rod* of constant length hangs on an arm or
slider at A. Both end on the platform at B, r = B - A (3,), m:

    strut    q = side |r| + zero                    side 1 or -1, A on the base
    rod      |r| = L, A + q axis or R(axis, q) A    on a slider, or at the end of an arm, in the drive's frame

so that r and its derivatives give every motion of the leg, and no passive joint is needed. Inertia is
gathered in ten parameters behind the joint at A. A universal joint there has a first axis a that is fixed in
the base, or along an arm's axis; the bodies on it are known in the axes

    e_1 = a x r / |a x r|,   e_2 = e_3 x e_1,   e_3 = r / |r|

and with a spherical or revolute joint at A in axes with the same e_3. Where a centre of mass or a product of
inertia does not fit, the leg is refused with a reason, and the compact form takes its joints.

In a leg with a parallelogram (PRPaR, RRPaR) hub and end turn together about the hub's axis, the two rods
about axes perpendicular to it: it moves as one rod from the hub's centre to the wrist on a universal joint,
with the hub as its cross, the inertia of the end about the axis added to it, and the end's mass at B.

What is decided is decided by the robot's own numbers; the numbers of the result may be symbols.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from nacelle.kinematics.legs.chain import (
    TOLERANCE,
    LegChain,
    are_parallel,
    is_on_axis,
    platform_end,
    serial_chain,
)
from nacelle.kinematics.legs.leg_type import FORMS, ClosedForm, leg_type
from nacelle.kinematics.legs.parallelogram import Parallelogram, arm_geometry
from nacelle.kinematics.mechanism.assembly import generic_poses
from nacelle.kinematics.mechanism.mechanism import Mechanism, mechanism_of
from nacelle.model.joint import FrictionTerm, Joint, JointKind
from nacelle.model.robot import Robot, body_parameters
from nacelle.spatial.inertia import is_axisymmetric, transform_parameters
from nacelle.spatial.pose import Pose
from nacelle.spatial.rounding import CANCELLED, index_of_largest, index_of_smallest
from nacelle.spatial.scalar import (
    Array,
    Scalar,
    cross,
    divide,
    dot,
    fold_constants,
    norm,
    pack,
    plus,
    product,
    sample_values,
)
from nacelle.tree.spanning_tree import TreeKinematics

# Numbers below this part of their neighbours are rounding: sines of right angles, products of inertia.
ROUNDING = CANCELLED


class NotALineLegError(Exception):
    """A leg is neither a strut nor a driven rod; the message says why."""


@dataclass(frozen=True)
class ActuatedJoint:
    """The actuated joint of a leg.

    Attributes:
        number: of the actuator.
        joint: the joint: friction, rotor and spring.
        revolute: whether it is revolute.
        zero: for a strut, q = length * side + zero, m.
        side: for a strut, 1 if the joint's axis points from A to B, else -1.
    """

    number: int
    joint: Joint
    revolute: bool
    side: float = 1.0
    zero: Scalar = 0.0

    def friction(self) -> tuple[FrictionTerm, ...]:
        """Friction terms of the axis."""
        return self.joint.friction[0] if self.joint.friction else ()


@dataclass(frozen=True)
class PassiveFriction:
    """Friction of the axes at A, and of the joint at B.

    Attributes:
        first: of the first axis of a universal joint, or of a hinge.
        second: of its second axis.
        spherical: of a spherical joint at A.
        side: 1 if the second axis points along e_1, else -1.
        end: of the joint at B.
        end_kind: kind of the joint at B.
        end_side: 1 if the platform follows the leg in the joint, else -1.
        still: of joints that turn about the first axis against what does not turn (wrist of a parallelogram).
    """

    first: tuple[FrictionTerm, ...]
    second: tuple[FrictionTerm, ...]
    spherical: tuple[FrictionTerm, ...]
    side: float
    end: tuple[FrictionTerm, ...]
    end_kind: JointKind
    end_side: float
    still: tuple[FrictionTerm, ...] = ()


@dataclass(frozen=True, kw_only=True)
class LegForm:
    """A leg as a strut or a driven rod.

    Attributes:
        name: of the leg.
        kind: "strut" or "rod".
        joint_at_a: type of the joint at A: "U", "S" or "R".
        A: the anchor of a strut (3,), base axes; of a rod A in the frame behind its drive, m.
        B: the anchor on the platform (3,), in the axes of its body, m.
        body: the platform's body that carries it.
        axis: of the drive (rods): its unit direction, prismatic or revolute (3,); base.
        first: first axis at A, or the axis of the hinge, unit vector (3,); base.
        length: of a rod, m; 0 for a strut.
        tube: ten parameters of the bodies of a strut that do not slide, about A, in e_1, e_2, e_3.
        rod: ten parameters of the rod about A, of a strut's sliding bodies about B.
        cross: inertia of bodies behind the first axis alone, about it, kg m^2.
        drive: the actuator.
        passive: friction.
    """

    name: str
    kind: str
    joint_at_a: str
    A: Array
    B: Array
    body: int
    axis: Array = field(default_factory=lambda: np.zeros(3))
    first: Array
    length: Scalar = 0.0
    tube: Array = field(default_factory=lambda: np.zeros(10))
    rod: Array
    cross: Scalar
    drive: ActuatedJoint
    passive: PassiveFriction


def round_to_zero(values: Array, scale: float | None = None) -> Array:
    """Set to zero what is rounding compared with the largest entry (or a scale).

    Symbols of numbers that are given at run time are cleaned at their sample; others stay as they are.
    """
    if values.dtype == object:
        return _round_symbols(values, scale)
    size = float(np.max(np.abs(values), initial=0.0)) if scale is None else scale
    rounded = np.where(np.abs(values) < ROUNDING * size, 0.0, values)
    for unit in (1.0, -1.0):
        rounded = np.where(np.abs(rounded - unit) < ROUNDING, unit, rounded)
    return np.asarray(rounded)


def _round_symbols(values: Array, scale: float | None) -> Array:
    values = fold_constants(values)
    if values.dtype != object:
        return round_to_zero(values, scale)
    try:
        numbers = sample_values(values)
    except TypeError:
        return values
    fixed = round_to_zero(numbers, scale)
    # What is zero or one at the sample is so always; other numbers stay symbols.
    flat = [f if f in (0.0, 1.0, -1.0) else v for v, f in zip(values.ravel(), fixed.ravel(), strict=True)]
    return pack(flat).reshape(values.shape)


def round_parameters(p: Array) -> Array:
    """Ten parameters [m, m c (3), I (6)] with rounding set to zero, relative to entries of the same kind."""
    return pack([*fold_constants(p[:1]), *round_to_zero(p[1:4]), *round_to_zero(p[4:])])


def leg_axes(form: LegForm) -> Array:
    """Axes (3, 3), columns in the base, in which a bar is written: the base's, or [a x u, a, u].

    a (3,) is the first axis at A, and u is perpendicular to it.
    """
    if form.joint_at_a == "S":
        return np.eye(3)
    a = form.first
    number = sample_values(a)
    k = index_of_largest(np.abs(number))
    if abs(abs(number[k]) - 1.0) < TOLERANCE:
        return np.eye(3)
    level = [j for j in range(3) if abs(number[j]) < TOLERANCE]
    up = np.eye(3)[level[-1]] if level else cross(a, np.eye(3)[index_of_smallest(np.abs(number))])
    up = up / norm(up)
    return np.stack([cross(a, up), a, up], axis=1)


def equalise_axes(axes: list[Array]) -> list[Array]:
    """Axes (3, 3) with entries that differ by rounding alone made equal: legs share products with them."""
    cleaned = [round_to_zero(Q) for Q in axes]
    return cleaned if any(Q.dtype == object for Q in cleaned) else equalise_entries(cleaned, 1.0)


def equalise_entries(arrays: list[Array], scale: float) -> list[Array]:
    """Arrays whose entries of one size, but for rounding compared with a scale, become equal to the first."""
    sizes: list[float] = []
    equalised = []
    for array in arrays:
        entries = []
        for value in np.ravel(array):
            same = next((size for size in sizes if abs(size - abs(value)) < ROUNDING * scale), None)
            if same is None:
                same = abs(float(value))
                sizes.append(same)
            entries.append(float(np.copysign(same, value)))
        equalised.append(np.array(entries).reshape(array.shape))
    return equalised


# ---- legs with a parallelogram


@lru_cache(maxsize=64)
def sample_motions(mechanism: Mechanism) -> tuple[TreeKinematics, ...]:
    """The reference and poses around it."""
    return (
        mechanism.assembly.motion,
        *(motion for motion, _ in generic_poses(mechanism.robot, mechanism.assembly)),
    )


def body_rotates(mechanism: Mechanism, body: int) -> bool:
    """Whether a body of the platform turns when the robot moves."""
    orientations = [motion.poses[body].R for motion in sample_motions(mechanism)]
    return any(float(np.max(np.abs(R - orientations[0]))) > 1e-9 for R in orientations)


def parallelogram_form(robot: Robot, index: int, actuator: int) -> LegForm:
    """Read a leg with a parallelogram.

    Raises:
        UnreadError: if it does not move as one rod on a universal joint.
    """
    leg = robot.legs[index]
    closed_form = mechanism_of(robot).legs[index].closed_form
    p = leg_type(robot, leg).parallelogram
    if p is None or closed_form is None or p.root != robot.actuators[actuator].joint:
        raise NotALineLegError(f"leg {leg.name!r} is not driven at the root of its parallelogram")
    _check(robot, leg.name, p)
    root, wrist = robot.joints[p.root], robot.joints[p.wrist]
    revolute = root.kind is JointKind.REVOLUTE
    X0, (centre, d) = root.frame_predecessor, arm_geometry(robot, p)
    n = round_to_zero(X0.R[:, 2])
    behind = arm_geometry(robot.numeric, p)[0]
    if revolute and not are_parallel(behind):
        raise NotALineLegError(f"the hub's axis of leg {leg.name!r} turns with its arm")
    first = (
        n * (1.0 if behind.R[2, 2] > 0.0 else -1.0)
        if revolute
        else round_to_zero(product(X0.R, centre.R[:, 2]))
    )
    length = norm(d)
    rods, sign = _rods(robot, p, sample_values(first))
    hub = _parameters_in_frame(robot, robot.joints[p.hub].successor, robot.joints[p.hub].frame_successor)
    end = _parameters_in_frame(robot, wrist.predecessor, wrist.frame_predecessor)
    tip = pack([end[0], 0.0, 0.0, end[0] * length, *_point_inertia(end[0] * length * length)])
    rod = rods + tip + np.concatenate([hub[:1], np.zeros(9)])
    terms = [_friction(robot, j) for j in (p.rod_a, p.rod_b, p.end, p.fold)]
    passive = PassiveFriction(
        first=_friction(robot, p.hub),
        second=tuple(term for joint_terms in terms for term in joint_terms),
        spherical=(),
        side=sign,
        end=(),
        end_kind=JointKind.REVOLUTE,
        end_side=1.0,
        still=_friction(robot, p.wrist),
    )
    return LegForm(
        name=leg.name,
        kind="rod",
        joint_at_a="U",
        A=centre.p,
        B=wrist.frame_successor.p,
        body=wrist.successor,
        axis=n,
        first=first,
        length=length,
        rod=round_parameters(rod),
        cross=hub[9] + end[9],
        drive=ActuatedJoint(actuator, root, revolute),
        passive=passive,
    )


def _point_inertia(second: Scalar) -> list[Scalar]:
    """Inertia of a mass on the third axis."""
    return [second, 0.0, second, 0.0, 0.0, 0.0]


def _parameters_in_frame(robot: Robot, body: int, frame: Pose) -> Array:
    """Ten parameters of a body, seen from a frame on it."""
    to = frame.inverse()
    return round_parameters(transform_parameters(to.R, to.p, body_parameters(robot, body)))


def _friction(robot: Robot, joint: int) -> tuple[FrictionTerm, ...]:
    friction = robot.joints[joint].friction
    return friction[0] if friction else ()


def _rods(robot: Robot, p: Parallelogram, first: Array) -> tuple[Array, float]:
    """Both rods about their own hinges in e_1, e_2, e_3; 1 if the first one's axis is along e_1, else -1."""
    total: Array = np.zeros(10)
    poses = mechanism_of(robot).assembly.motion.poses
    sign = 1.0
    for number, (near, far) in enumerate(((p.rod_a, p.end), (p.rod_b, p.fold))):
        joint, end_joint = robot.joints[near], robot.joints[far]
        plain, plain_far = robot.numeric.joints[near], robot.numeric.joints[far]
        d = product(joint.frame_successor.R.T, end_joint.frame_predecessor.p - joint.frame_successor.p)
        along = product(poses[plain.successor].R, plain_far.frame_predecessor.p - plain.frame_successor.p)
        axis = product(poses[plain.successor].R, plain.frame_successor.R[:, 2])
        side = 1.0 if float(np.cross(first, along) @ axis) > 0.0 else -1.0
        sign = side if number == 0 else sign
        e1, e3 = np.array([0.0, 0.0, side]), d * divide(1.0, norm(d))
        E = np.stack([e1, cross(e3, e1), e3], axis=1)
        frame = joint.frame_successor
        total = total + _parameters_in_frame(robot, joint.successor, Pose(product(frame.R, E), frame.p))
    return total, sign


def _check(robot: Robot, name: str, p: Parallelogram) -> None:
    """Refuse what is not one rod on a universal joint."""
    plain = robot.numeric
    hub, wrist = plain.joints[p.hub], plain.joints[p.wrist]
    near = product(hub.frame_successor.R.T, plain.joints[p.rod_a].frame_predecessor.p - hub.frame_successor.p)
    if not is_on_axis(near, robot.size):
        raise NotALineLegError(f"the rods of leg {name!r} do not start on the hub's axis")
    d = arm_geometry(plain, p)[1]
    if abs(float(d[2])) > TOLERANCE * robot.size:
        raise NotALineLegError(f"the rods of leg {name!r} are oblique to their hinges")
    for what, body, frame in (
        ("hub", hub.successor, hub.frame_successor),
        ("end", wrist.predecessor, wrist.frame_predecessor),
    ):
        parameters = _parameters_in_frame(plain, body, frame)
        if np.max(np.abs(parameters[1:3])) > TOLERANCE * max(parameters[0] * robot.size, 1e-300):
            raise NotALineLegError(f"the {what} of leg {name!r} has its centre of mass off its axis")
    if body_rotates(mechanism_of(robot), wrist.successor):
        raise NotALineLegError(f"the platform turns at the end of leg {name!r}")
    for j in (p.hub, p.rod_a, p.rod_b, p.end, p.fold, p.wrist):
        if any(term.basis == "constant" for term in _friction(robot, j)):
            raise NotALineLegError(f"leg {name!r} has constant friction in a passive joint")


# ---- legs that are one chain


_ORIGIN = np.zeros(3)


def read_leg(robot: Robot, index: int) -> LegForm:
    """Read one leg.

    Raises:
        UnreadError: if it is neither a strut nor a driven rod.
    """
    leg, plan = robot.legs[index], mechanism_of(robot).legs[index]
    if plan.closed_form is None:
        raise NotALineLegError(f"leg {leg.name!r} has no closed form")
    actuators = [k for k, actuator in enumerate(robot.actuators) if actuator.joint in leg.joints]
    if len(actuators) != 1:
        raise NotALineLegError(f"leg {leg.name!r} has {len(actuators)} actuators")
    driven = robot.actuators[actuators[0]].joint
    if any(any(robot.joints[j].springs) for j in (*leg.joints, *leg.closures) if j != driven):
        raise NotALineLegError(f"leg {leg.name!r} has springs in passive joints")
    if any(any(robot.joints[j].stops) for j in (*leg.joints, *leg.closures)):
        raise NotALineLegError(f"leg {leg.name!r} has end stops")
    if any(body in spring.bodies for spring in robot.springs for body in leg.bodies):
        raise NotALineLegError(f"a spring between bodies acts on leg {leg.name!r}")
    if any(body in damper.bodies for damper in robot.dampers for body in leg.bodies):
        raise NotALineLegError(f"a damper between bodies acts on leg {leg.name!r}")
    if any(robot.numeric.joints[j].rotor_inertia for j in (*leg.joints, *leg.closures) if j != driven):
        raise NotALineLegError(f"leg {leg.name!r} has a rotor on a passive joint")
    form, misalignment = plan.closed_form.form, leg_type(robot, leg).misalignment
    # Rods between spherical joints are known by their points in every leg (`rods`).
    if form == "rods":
        raise NotALineLegError(f"leg {leg.name!r} has rods side by side")
    if (FORMS[form].kind, FORMS[form].free_joint) == ("rod", "S"):
        raise NotALineLegError(f"leg {leg.name!r} has a rod between spherical joints")
    if form == "parallelogram":
        return parallelogram_form(robot, index, actuators[0])
    chain = serial_chain(robot, leg)
    if chain is None:
        raise NotALineLegError(f"leg {leg.name!r} is not one chain")
    if misalignment:
        raise NotALineLegError(f"leg {leg.name!r} is misaligned: {misalignment}")
    read = _SerialLeg(robot, index, actuators[0], FORMS[form], FORMS[form].centre(chain))
    if FORMS[form].kind == "strut" and driven == chain.joints[-1]:
        return _strut(read)
    if FORMS[form].kind == "rod" and driven == chain.joints[0]:
        return _rod(read)
    raise NotALineLegError(f"leg {leg.name!r} is neither a strut nor a rod on a driven arm or slider")


@dataclass(frozen=True)
class _SerialLeg:
    """A leg that is one chain, as it is read.

    Attributes:
        robot: the robot; its numbers may be symbols.
        index: of the leg.
        actuator: its number.
        form: the closed form of the leg.
        chain: the chain, with its universal joint at the joint's centre.
    """

    robot: Robot
    index: int
    actuator: int
    form: ClosedForm
    chain: LegChain

    @property
    def name(self) -> str:
        """Name of the leg."""
        return self.robot.legs[self.index].name

    def parameters_behind(self, behind: int, R: Array, p: Array = _ORIGIN) -> Array:
        """Ten parameters of all bodies behind `behind` letters, seen from a frame in the moved one."""
        total: Array = np.zeros(10)
        to = Pose(R, p).inverse()
        for body, count, pose in self.chain.bodies:
            if count == behind:
                there = to @ pose
                total = total + transform_parameters(there.R, there.p, body_parameters(self.robot, body))
        return round_parameters(total)

    def axes(self, behind: int, e3: Array, first: Array) -> tuple[Array, float]:
        """Axes e_1, e_2, e_3 (columns), and 1 if the second axis of a universal joint is along e_1, else -1.

        Args:
            behind: number of letters before the frame that the axes are seen from.
            e3: direction of the line in that frame.
            first: first axis at A, base axes.
        """
        e1, sign = np.array([0.0, 0.0, 1.0]), 1.0
        if self.form.free_joint == "U":
            body, _, pose = next(c for c in self.chain.bodies if c.letter_count == behind)
            configured = mechanism_of(self.robot).assembly.motion.poses[body]
            R = np.asarray(product(configured.R, sample_values(pose.R.T)))
            normal = np.cross(sample_values(first), product(R, sample_values(e3)))
            sign = 1.0 if float(product(normal, R[:, 2])) > 0.0 else -1.0
            e1 = pack([0.0, 0.0, sign])
        elif self.form.free_joint == "S":
            e1 = _perpendicular_to(round_to_zero(e3) if e3.dtype == object else e3)
        return np.stack([e1, cross(e3, e1), e3], axis=1), sign

    def require_on_axis(self, what: str, parameters: Array, where: str = "axis") -> None:
        """Refuse a body whose first moments (floats) do not put its centre of mass where it must be."""
        mass, *moments = parameters.tolist()
        if np.max(np.abs(moments)) > TOLERANCE * max(mass * self.robot.size, 1e-300):
            raise NotALineLegError(f"the {what} of leg {self.name!r} has its centre of mass off its {where}")

    def require_axisymmetric(self, what: str, parameters: Array, size: float) -> None:
        """Refuse a body between spherical joints that is not axisymmetric about its third axis (floats)."""
        if not is_axisymmetric(parameters, np.array([0.0, 0.0, 1.0]), size, TOLERANCE):
            raise NotALineLegError(
                f"the {what} of leg {self.name!r} between spherical joints is not axisymmetric"
            )

    def require_in_plane(self, axis: Array) -> None:
        """Refuse a revolute joint at A on a platform that does not stay in the plane across its axis."""
        k = index_of_largest(np.abs(axis))
        flat = {(k + 1) % 3, (k + 2) % 3, 3 + k}
        if not set(self.robot.motion.twist_axes) <= flat or abs(abs(axis[k]) - 1.0) > TOLERANCE:
            raise NotALineLegError(
                f"leg {self.name!r} turns in a plane, but the platform does not stay in it"
            )

    def friction(self, letter: int) -> tuple[FrictionTerm, ...]:
        """Friction terms of the joint axis that a letter stands for."""
        j = self.chain.joints[letter]
        friction = self.robot.joints[j].friction
        return friction[letter - self.chain.joints.index(j)] if friction else ()

    def passive(self, start: int, side: float, outward: bool) -> PassiveFriction:
        """Friction of the axes at A, which begin with the letter `start`, and at B."""
        target, free_joint, first = self.chain.target, self.form.free_joint, self.friction(start)
        return PassiveFriction(
            first=() if free_joint == "S" else first,
            second=self.friction(start + 1) if free_joint == "U" else (),
            spherical=first if free_joint == "S" else (),
            side=side,
            end=target.friction[0] if target.friction else (),
            end_kind=target.kind,
            end_side=1.0 if outward else -1.0,
        )


def _perpendicular_to(e3: Array) -> Array:
    """A unit vector perpendicular to another one."""
    k = index_of_smallest(np.abs(sample_values(e3)))
    e = cross(np.eye(3)[k], e3)
    return np.asarray(e / norm(e))


def _strut(leg: _SerialLeg) -> LegForm:
    """A strut: [joint at A] [slide], with B behind the slide."""
    chain, free_joint = leg.chain, leg.form.free_joint
    body, frame, outward = platform_end(leg.robot.legs[leg.index], chain.target)
    count, X0, slide, end = len(chain.letters), chain.X[0], chain.X[-2], chain.X[-1]
    if free_joint == "R":
        leg.require_in_plane(sample_values(X0.R[:, 2]))
    at_zero = dot(_end_at_zero(chain, free_joint), slide.R[:, 2])
    q = float(mechanism_of(leg.robot).assembly.q_tree[leg.robot.q_slices[chain.joints[-1]]][0])
    stroke = float(sample_values(pack([at_zero]))[0]) + q
    side, length = (1.0 if stroke > 0.0 else -1.0), abs(stroke)
    E, sign = leg.axes(count - 1, side * slide.R[:, 2], X0.R[:, 2])
    tube = leg.parameters_behind(count - 1, E)
    rod = leg.parameters_behind(count, product(slide.R.T, E), end.p)
    cross_inertia: Scalar = 0.0
    if free_joint == "U":
        ring = leg.parameters_behind(1, np.eye(3))
        cross_inertia = ring[9]
        leg.require_on_axis("cross", sample_values(ring)[:3])
    if free_joint == "S":
        leg.require_axisymmetric("tube", sample_values(tube), length)
    slider = sample_values(rod)
    leg.require_on_axis("slider", slider[:3])
    if free_joint == "S":
        leg.require_axisymmetric("slider", slider, length)
    return LegForm(
        name=leg.name,
        kind="strut",
        joint_at_a=free_joint,
        A=X0.p,
        B=frame.p,
        body=body,
        first=round_to_zero(X0.R[:, 2]),
        tube=tube,
        rod=rod,
        cross=cross_inertia,
        drive=ActuatedJoint(leg.actuator, leg.robot.joints[chain.joints[-1]], False, side, -at_zero),
        passive=leg.passive(0, sign, outward),
    )


def _end_at_zero(chain: LegChain, free_joint: str) -> Array:
    """Where B of a strut is behind A at q = 0, in the frame behind the joint at A."""
    o = plus(chain.X[-2].p, product(chain.X[-2].R, chain.X[-1].p))
    return np.asarray(o * np.array([1.0, 1.0, 0.0])) if free_joint == "R" else o


def _rod(leg: _SerialLeg) -> LegForm:
    """A rod: [drive] [joint at A], with B behind them."""
    chain, free_joint = leg.chain, leg.form.free_joint
    body, frame, outward = platform_end(leg.robot.legs[leg.index], chain.target)
    count, revolute, X0, X1 = len(chain.letters), chain.letters[0] == "R", chain.X[0], chain.X[1]
    n = round_to_zero(X0.R[:, 2])
    # The first axis at A, seen behind the drive: fixed in the base behind a slider, or along an arm's axis.
    first = round_to_zero(product(X0.R, X1.R[:, 2]))
    if revolute:
        first = n * (1.0 if sample_values(X1.R)[2, 2] > 0.0 else -1.0)
    flat = np.ones(3)
    if free_joint == "R":
        leg.require_in_plane(sample_values(n if revolute else first))
        flat = np.array([1.0, 1.0, 0.0])
    d = chain.X[-1].p * flat
    length = norm(d)
    E, sign = leg.axes(count, d * divide(1.0, length), first)
    rod = leg.parameters_behind(count, round_to_zero(E))
    cross_inertia: Scalar = 0.0
    if free_joint == "U":
        ring = leg.parameters_behind(2, np.eye(3))
        leg.require_on_axis("cross", sample_values(ring)[:4], "centre")
        cross_inertia = ring[9]
        rod = rod + np.concatenate([ring[:1], np.zeros(9)])
    return LegForm(
        name=leg.name,
        kind="rod",
        joint_at_a=free_joint,
        A=X1.p,
        B=frame.p,
        body=body,
        axis=n,
        first=first,
        length=length,
        rod=rod,
        cross=cross_inertia,
        drive=ActuatedJoint(leg.actuator, leg.robot.joints[chain.joints[0]], revolute),
        passive=leg.passive(1, sign, outward),
    )
