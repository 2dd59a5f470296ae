"""A robot in motion from the state of its elements: positions, rates and accelerations, all linear.

    legs       points of the legs from directions and lengths                            (`leg_points`)
    nacelle    its bodies from the ends of the legs                                      (`nacelle_pose`)
    joints     cosine and sine of driven joints from x, their rates y . x', y = z x x    [OAM] (10), (45)

This is all that the compact form needs in the place of a pose and its derivatives; what it requires of
passive joints that elements do not give (universal joints of struts, for a regressor) follows from the
nacelle's pose as it does there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache

import numpy as np

from nacelle.compact.nacelle import GivenFrame
from nacelle.compact.sides import GivenLine
from nacelle.compact.vectors import add, crossed, scaled
from nacelle.errors import KinematicsError
from nacelle.kinematics.configuration import Configuration
from nacelle.kinematics.legs.solution import solve_leg
from nacelle.kinematics.mechanism.mechanism import Mechanism, mechanism_of
from nacelle.model.joint import JointKind, Primitive
from nacelle.model.leg import BASE, PLATFORM
from nacelle.model.robot import Robot
from nacelle.papers.elements.layout import ElementLayout, StateVariable, leg_layout
from nacelle.papers.elements.leg_points import MeasuredLeg, leg_points
from nacelle.papers.elements.nacelle_pose import NacellePlaces
from nacelle.papers.elements.structure import UncoveredError
from nacelle.spatial.pose import identity
from nacelle.spatial.scalar import Array, Scalar, cos, dot, settled, sin
from nacelle.tree.spanning_tree import CosSin, Step, motion_of_steps, rates_of

Rates = dict[int, Scalar]


@lru_cache(maxsize=64)
def element_layout(mechanism: Mechanism) -> ElementLayout:
    """The variables of a robot's element state: those of its legs, and of the nacelle where these leave it.

    Raises:
        KinematicsError: if its legs are not made of elements.
    """
    layout = leg_layout(mechanism)
    places = NacellePlaces(mechanism)
    still = {name: np.zeros(shape) for name, shape in layout.shapes.items()}
    _add_ends(places, [MeasuredLeg(layout, k, still) for k in range(len(layout.legs))])
    more: list[StateVariable] = []
    left = places.solve()
    while left:
        # The body of which most is known, the first of equals.
        body = max(left, key=lambda body: len(places.points[body]))
        name = mechanism.robot.bodies[body].name
        if not places.points[body]:
            more.append(StateVariable(f"{name}_point", "point", -1, 0, body))
            places.add(body, np.zeros(3), np.zeros((3, 3)))
        for axis in places.wanted_axes(body) if body in places.solve() else ():
            more.append(StateVariable(f"{name}_{'xyz'[axis]}", "direction", -1, axis, body))
            places.add_axis(body, axis, np.zeros((3, 3)))
        left = places.solve()
    axes = (0, 1, 2) if more else layout.axes
    return replace(layout, variables=(*layout.variables, *more), axes=axes)


def _add_ends(places: NacellePlaces, legs: list[MeasuredLeg]) -> None:
    for leg in legs:
        for rod in leg.rods:
            places.add(rod.points.rod.nacelle, rod.points.local, rod.end)


class ElementMotion:
    """Where a robot is and how it moves, from its element state.

    Attributes:
        robot: the robot; its inertia and friction may be symbols.
        layout: the variables.
        legs: the legs' points.
        frames: of all bodies of the nacelle, without gravity.
    """

    def __init__(self, robot: Robot, arrays: Mapping[str, Array]) -> None:
        """Place everything; `arrays` has the variables by name (`ElementLayout.shapes`)."""
        _require_constant_geometry(robot)
        self.robot = robot
        self.layout = element_layout(mechanism_of(robot.numeric))
        given = dict(arrays)
        self.legs = [MeasuredLeg(self.layout, k, given) for k in range(len(self.layout.legs))]
        places = NacellePlaces(self.layout.mechanism)
        _add_ends(places, self.legs)
        for v in self.layout.variables:
            if v.leg < 0 and v.kind == "direction":
                places.add_axis(v.body, v.number, self.layout.in_space(given[v.name]))
            elif v.leg < 0:
                places.add(v.body, np.zeros(3), given[v.name])
        places.solve()
        self.frames: dict[int, GivenFrame] = places.frames

    # ---- positions

    @cached_property
    def configuration(self) -> Configuration:
        """All positions; joints of rods that no form needs are not there (NaN)."""
        robot, mechanism = self.robot, mechanism_of(self.robot)
        poses = {BASE: identity(), **{body: frame.pose for body, frame in self.frames.items()}}
        steps: dict[int, list[Step]] = {j: self.nacelle_step(j) for j in robot.nacelle.joints}
        for leg, plan, seen in zip(robot.legs, mechanism.legs, self.legs, strict=True):
            steps |= {j: _nowhere(robot, j) for j in leg.joints}
            if plan.recipe is not None:
                steps |= solve_leg(robot, leg, plan.recipe, poses).steps
            steps |= self._leg_steps(seen)
        listed = tuple(step for j in range(robot.tree) for step in steps[j])
        motion = motion_of_steps(robot, poses[PLATFORM], listed)
        whole = tuple(poses.get(body, pose) for body, pose in enumerate(motion.poses))
        return Configuration(robot, listed, replace(motion, poses=whole), ())

    def _leg_steps(self, seen: MeasuredLeg) -> dict[int, list[Step]]:
        """Steps of the joints of a leg that its elements give."""
        leg, points = seen.points.leg, seen.points
        steps: dict[int, list[Step]] = {}
        turn: CosSin | None = None
        if leg.driver is not None and seen.coordinate is not None:
            steps[leg.driver] = [seen.coordinate[0]]
            if leg.form == "shaft":
                turn = CosSin(cos(seen.coordinate[0]), sin(seen.coordinate[0]))
        elif points.arm is not None and seen.arm is not None:
            turn = points.arm.step(seen.arm[0])
        if leg.driver is not None and turn is not None:
            steps[leg.driver] = [turn]
        for joint, x in seen.joints():
            steps |= joint.steps(x[0], turn, points.z)
        if leg.prismatic is not None and seen.length is not None:
            steps[leg.prismatic] = [(seen.length[0] - points.length_at_zero) * leg.flip]
        return steps

    def nacelle_step(self, j: int) -> list[Step]:
        """Where a joint of the nacelle is, from its two bodies."""
        joint = self.robot.joints[j]
        one, two = self.frames[joint.predecessor].pose, self.frames[joint.successor].pose
        first, second = one @ joint.frame_predecessor, two @ joint.frame_successor
        if joint.kind is JointKind.REVOLUTE:
            x = second.R[:, 0]
            return [CosSin(dot(first.R[:, 0], x), dot(first.R[:, 1], x))]
        if joint.kind is JointKind.PRISMATIC:
            return [dot(first.R[:, 2], second.p - first.p)]
        return []

    # ---- rates

    @cached_property
    def joint_rates(self) -> tuple[Rates, Rates]:
        """Rates and accelerations of the legs' joints that elements give, by place in u."""
        rates: Rates = {}
        seconds: Rates = {}

        def put(joints: Sequence[int], first: Iterable[Scalar], second: Iterable[Scalar]) -> None:
            places = rates_of(self.robot, joints)
            rates.update(zip(places, first, strict=True))
            seconds.update(zip(places, second, strict=True))

        for seen in self.legs:
            leg, points = seen.points.leg, seen.points
            if points.arm is not None and seen.arm is not None:
                put(points.arm.joints, *points.arm.rates(seen.arm))
            elif leg.driver is not None and seen.coordinate is not None:
                put((leg.driver,), seen.coordinate[1:2], seen.coordinate[2:])
            if leg.prismatic is not None and seen.length is not None:
                put((leg.prismatic,), leg.flip * seen.length[1:2], leg.flip * seen.length[2:])
            # Joints on arms and shafts have axes that move.
            for joint, x in () if points.arm is not None or leg.form == "shaft" else seen.joints():
                put(joint.joints, *joint.rates(x))
        return rates, seconds

    @cached_property
    def nacelle_rates(self) -> tuple[Rates, Rates]:
        """Rates w of the nacelle and their derivatives, by place in u: the platform's twist, its joints."""
        platform, m = self.frames[PLATFORM], self.robot.platform_nv
        rates: Rates = {k: platform.v[k] for k in range(3)}
        seconds: Rates = {k: platform.a[k] for k in range(3)}
        if m == 6:
            rates |= {3 + k: platform.w[k] for k in range(3)}
            seconds |= {3 + k: platform.w_dot[k] for k in range(3)}
        for j in self.robot.nacelle.joints:
            joint = self.robot.joints[j]
            if joint.kind is JointKind.FIXED:
                continue
            one, two = self.frames[joint.predecessor], self.frames[joint.successor]
            at = one.pose @ joint.frame_predecessor
            e = at.R[:, 2]
            if joint.kind is JointKind.REVOLUTE:
                rate = dot(e, add(two.w, -one.w))
                second = dot(e, add(add(two.w_dot, -one.w_dot), -crossed(one.w, two.w)))
            else:
                far = (two.pose @ joint.frame_successor).p
                r = far - one.pose.p
                own = far - two.pose.p
                v = add(two.velocity_at(own), -one.velocity_at(r))
                a = add(two.acceleration_at(own), -one.acceleration_at(r))
                rate = dot(e, v)
                second = dot(e, add(a, scaled(-2.0, crossed(one.w, v))))
            (place,) = rates_of(self.robot, (j,))
            rates[place], seconds[place] = rate, second
        return rates, seconds

    def line(self, leg: int, tip: int | None = None) -> GivenLine | None:
        """How the rod of a leg that ends at a closure moves, or a leg's only one; base axes."""
        seen = self.legs[leg]
        for rod in seen.rods:
            if tip is None or rod.points.rod.tip == tip:
                r, v, a = rod.line
                return GivenLine(rod.x, r, v, a, rod.start[2], seen.length)
        return None


def _require_constant_geometry(robot: Robot) -> None:
    """Check that a robot's geometry is not given at run time: constants of its elements are found before."""
    frames = (f for joint in robot.joints for f in (joint.frame_predecessor, joint.frame_successor))
    if any(settled(part).dtype == object for frame in frames for part in frame):
        raise KinematicsError(
            f"models of {robot.name} from elements or encoders have its geometry as constants; inertia and "
            "friction may be inputs"
        )


def _nowhere(robot: Robot, j: int) -> list[Step]:
    """Steps of a joint that is not placed."""
    steps: list[Step] = []
    for primitive in robot.joints[j].primitives:
        if primitive is Primitive.SPHERICAL:
            steps.append(np.full(4, np.nan))
        else:
            steps.append(CosSin(np.nan, np.nan) if primitive.is_rotation else np.nan)
    return steps


@lru_cache(maxsize=64)
def reason_without_elements(mechanism: Mechanism) -> str:
    """Why a robot's motion does not follow from its elements, in one sentence; empty if it does."""
    try:
        element_layout(mechanism)
        for leg in element_layout(mechanism).legs:
            leg_points(mechanism, leg)
    except (KinematicsError, UncoveredError) as reason:
        return str(reason)
    return ""
