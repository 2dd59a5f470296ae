"""A robot in motion from the state of its elements: positions, rates and accelerations, all linear.

    legs       points of the legs from directions and lengths                            (`leg_points`)
    platform   its bodies from the ends of the legs                                      (`platform_pose`)
    joints     cosine and sine of driven joints from x, their rates y . x', y = z x x    [OAM] (10), (45)

This is all that the compact form needs in the place of a pose and its derivatives; what it requires of
passive joints that elements do not give (universal joints of struts, for a regressor) follows from the
platform's pose as it does there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache

import numpy as np

from nacelle.compact.platform import PrescribedFrame
from nacelle.compact.sides import PrescribedLine
from nacelle.compact.vectors import add, cross_nonzero, scale
from nacelle.errors import KinematicsError
from nacelle.kinematics.configuration import Configuration
from nacelle.kinematics.legs.solution import solve_leg
from nacelle.kinematics.mechanism.mechanism import Mechanism, mechanism_of
from nacelle.model.joint import JointKind, Primitive
from nacelle.model.leg import BASE, PLATFORM
from nacelle.model.robot import Robot
from nacelle.papers.elements.layout import ElementLayout, StateVariable, leg_layout
from nacelle.papers.elements.leg_points import MeasuredLeg, leg_points
from nacelle.papers.elements.platform_pose import PlatformSolver
from nacelle.papers.elements.structure import UnsupportedElementsError
from nacelle.spatial.pose import identity
from nacelle.spatial.scalar import Array, Scalar, cos, dot, fold_constants, sin
from nacelle.tree.spanning_tree import (
    CosineSine,
    JointTransform,
    joint_rate_indices,
    tree_kinematics_from_transforms,
)

Rates = dict[int, Scalar]


@lru_cache(maxsize=64)
def element_layout(mechanism: Mechanism) -> ElementLayout:
    """The variables of a robot's element state: those of its legs, and of the platform where these leave it.

    Raises:
        KinematicsError: if its legs are not made of elements.
    """
    layout = leg_layout(mechanism)
    platform = PlatformSolver(mechanism)
    still = {name: np.zeros(shape) for name, shape in layout.shapes.items()}
    _add_leg_ends(platform, [MeasuredLeg(layout, k, still) for k in range(len(layout.legs))])
    extra: list[StateVariable] = []
    left = platform.solve()
    while left:
        # The body of which most is known, the first of equals.
        body = max(left, key=lambda body: len(platform.points[body]))
        name = mechanism.robot.bodies[body].name
        if not platform.points[body]:
            extra.append(StateVariable(f"{name}_point", "point", -1, 0, body))
            platform.add(body, np.zeros(3), np.zeros((3, 3)))
        for axis in platform.missing_axes(body) if body in platform.solve() else ():
            extra.append(StateVariable(f"{name}_{'xyz'[axis]}", "direction", -1, axis, body))
            platform.add_axis(body, axis, np.zeros((3, 3)))
        left = platform.solve()
    axes = (0, 1, 2) if extra else layout.axes
    return replace(layout, variables=(*layout.variables, *extra), axes=axes)


def _add_leg_ends(platform: PlatformSolver, legs: list[MeasuredLeg]) -> None:
    for leg in legs:
        for rod in leg.rods:
            platform.add(rod.points.rod.platform, rod.points.local, rod.end)


class ElementMotion:
    """Where a robot is and how it moves, from its element state.

    Attributes:
        robot: the robot; its inertia and friction may be symbols.
        layout: the variables.
        legs: the legs' points.
        frames: of all bodies of the platform, without gravity.
    """

    def __init__(self, robot: Robot, arrays: Mapping[str, Array]) -> None:
        """Place everything; `arrays` has the variables by name (`ElementLayout.shapes`)."""
        _require_constant_geometry(robot)
        self.robot = robot
        self.layout = element_layout(mechanism_of(robot.numeric))
        values = dict(arrays)
        self.legs = [MeasuredLeg(self.layout, k, values) for k in range(len(self.layout.legs))]
        platform = PlatformSolver(self.layout.mechanism)
        _add_leg_ends(platform, self.legs)
        for v in self.layout.variables:
            if v.leg < 0 and v.kind == "direction":
                platform.add_axis(v.body, v.number, self.layout.in_space(values[v.name]))
            elif v.leg < 0:
                platform.add(v.body, np.zeros(3), values[v.name])
        platform.solve()
        self.frames: dict[int, PrescribedFrame] = platform.frames

    # ---- positions

    @cached_property
    def configuration(self) -> Configuration:
        """All positions; joints of rods that no form needs are not there (NaN)."""
        robot, mechanism = self.robot, mechanism_of(self.robot)
        poses = {BASE: identity(), **{body: frame.pose for body, frame in self.frames.items()}}
        steps: dict[int, list[JointTransform]] = {j: self.platform_step(j) for j in robot.platform.joints}
        for leg, plan, measured in zip(robot.legs, mechanism.legs, self.legs, strict=True):
            steps |= {j: _unplaced_steps(robot, j) for j in leg.joints}
            if plan.closed_form is not None:
                steps |= solve_leg(robot, leg, plan.closed_form, poses).steps
            steps |= self._leg_steps(measured)
        all_steps = tuple(step for j in range(robot.tree) for step in steps[j])
        motion = tree_kinematics_from_transforms(robot, poses[PLATFORM], all_steps)
        all_poses = tuple(poses.get(body, pose) for body, pose in enumerate(motion.poses))
        return Configuration(robot, all_steps, replace(motion, poses=all_poses), ())

    def _leg_steps(self, measured: MeasuredLeg) -> dict[int, list[JointTransform]]:
        """Steps of the joints of a leg that its elements give."""
        leg, points = measured.points.leg, measured.points
        steps: dict[int, list[JointTransform]] = {}
        rotation: CosineSine | None = None
        if leg.driver is not None and measured.coordinate is not None:
            steps[leg.driver] = [measured.coordinate[0]]
            if leg.form == "shaft":
                rotation = CosineSine(cos(measured.coordinate[0]), sin(measured.coordinate[0]))
        elif points.arm is not None and measured.arm is not None:
            rotation = points.arm.step(measured.arm[0])
        if leg.driver is not None and rotation is not None:
            steps[leg.driver] = [rotation]
        for joint, x in measured.joints():
            steps |= joint.steps(x[0], rotation, points.z)
        if leg.prismatic is not None and measured.length is not None:
            steps[leg.prismatic] = [(measured.length[0] - points.length_at_zero) * leg.flip]
        return steps

    def platform_step(self, j: int) -> list[JointTransform]:
        """Where a joint of the platform is, from its two bodies."""
        joint = self.robot.joints[j]
        near, far = self.frames[joint.predecessor].pose, self.frames[joint.successor].pose
        first, second = near @ joint.frame_predecessor, far @ joint.frame_successor
        if joint.kind is JointKind.REVOLUTE:
            x = second.R[:, 0]
            return [CosineSine(dot(first.R[:, 0], x), dot(first.R[:, 1], x))]
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
            indices = joint_rate_indices(self.robot, joints)
            rates.update(zip(indices, first, strict=True))
            seconds.update(zip(indices, second, strict=True))

        for measured in self.legs:
            leg, points = measured.points.leg, measured.points
            if points.arm is not None and measured.arm is not None:
                put(points.arm.joints, *points.arm.rates(measured.arm))
            elif leg.driver is not None and measured.coordinate is not None:
                put((leg.driver,), measured.coordinate[1:2], measured.coordinate[2:])
            if leg.prismatic is not None and measured.length is not None:
                put((leg.prismatic,), leg.flip * measured.length[1:2], leg.flip * measured.length[2:])
            # Joints on arms and shafts have axes that move.
            for joint, x in () if points.arm is not None or leg.form == "shaft" else measured.joints():
                put(joint.joints, *joint.rates(x))
        return rates, seconds

    @cached_property
    def platform_rates(self) -> tuple[Rates, Rates]:
        """Rates w of the platform and their derivatives, by place in u: the platform's twist, its joints."""
        platform, m = self.frames[PLATFORM], self.robot.platform_nv
        rates: Rates = {k: platform.v[k] for k in range(3)}
        seconds: Rates = {k: platform.a[k] for k in range(3)}
        if m == 6:
            rates |= {3 + k: platform.w[k] for k in range(3)}
            seconds |= {3 + k: platform.w_dot[k] for k in range(3)}
        for j in self.robot.platform.joints:
            joint = self.robot.joints[j]
            if joint.kind is JointKind.FIXED:
                continue
            near, far = self.frames[joint.predecessor], self.frames[joint.successor]
            at = near.pose @ joint.frame_predecessor
            e = at.R[:, 2]
            if joint.kind is JointKind.REVOLUTE:
                rate = dot(e, add(far.w, -near.w))
                second = dot(e, add(add(far.w_dot, -near.w_dot), -cross_nonzero(near.w, far.w)))
            else:
                far_point = (far.pose @ joint.frame_successor).p
                r = far_point - near.pose.p
                arm = far_point - far.pose.p
                v = add(far.velocity_at(arm), -near.velocity_at(r))
                a = add(far.acceleration_at(arm), -near.acceleration_at(r))
                rate = dot(e, v)
                second = dot(e, add(a, scale(-2.0, cross_nonzero(near.w, v))))
            (index,) = joint_rate_indices(self.robot, (j,))
            rates[index], seconds[index] = rate, second
        return rates, seconds

    def line(self, leg: int, tip: int | None = None) -> PrescribedLine | None:
        """How the rod of a leg that ends at a closure moves, or a leg's only one; base axes."""
        measured = self.legs[leg]
        for rod in measured.rods:
            if tip is None or rod.points.rod.tip == tip:
                r, v, a = rod.line
                return PrescribedLine(rod.x, r, v, a, rod.start[2], measured.length)
        return None


def _require_constant_geometry(robot: Robot) -> None:
    """Check that a robot's geometry is not given at run time: constants of its elements are found before."""
    frames = (f for joint in robot.joints for f in (joint.frame_predecessor, joint.frame_successor))
    if any(fold_constants(part).dtype == object for frame in frames for part in frame):
        raise KinematicsError(
            f"models of {robot.name} from elements or encoders have its geometry as constants; inertia and "
            "friction may be inputs"
        )


def _unplaced_steps(robot: Robot, j: int) -> list[JointTransform]:
    """Steps of a joint that is not placed."""
    steps: list[JointTransform] = []
    for primitive in robot.joints[j].primitives:
        if primitive is Primitive.SPHERICAL:
            steps.append(np.full(4, np.nan))
        else:
            steps.append(CosineSine(np.nan, np.nan) if primitive.is_rotation else np.nan)
    return steps


@lru_cache(maxsize=64)
def reason_without_elements(mechanism: Mechanism) -> str:
    """Why a robot's motion does not follow from its elements, in one sentence; empty if it does."""
    try:
        element_layout(mechanism)
        for leg in element_layout(mechanism).legs:
            leg_points(mechanism, leg)
    except (KinematicsError, UnsupportedElementsError) as reason:
        return str(reason)
    return ""
