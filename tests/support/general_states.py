"""Robots at a state, for tests of the general form: near the reference, and on a path through it."""

from __future__ import annotations

import dataclasses
from functools import cache

import numpy as np

from nacelle.dynamics.general.models import legs_at
from nacelle.kinematics.general.legs import Legs
from nacelle.kinematics.general.placed import WHOLE, Way
from nacelle.kinematics.general.plan import plan_of
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.tree.configuration import Configuration, configuration
from nacelle.model.joint import FrictionTerm, JointKind
from nacelle.model.robot import Robot
from support.random_robots.loads import with_random_inertias
from support.uncompiled import any_robot, moved

Array = np.ndarray


@cache
def loaded(name: str) -> Robot:
    """A robot with any inertia of its bodies and viscous friction in all joints, shared by all tests."""
    robot = with_random_inertias(any_robot(name), 3)
    joints = tuple(
        joint
        if joint.kind is JointKind.POINT
        else dataclasses.replace(
            joint, friction=tuple((FrictionTerm("viscous", viscous(k)),) for _ in joint.friction_axes)
        )
        for k, joint in enumerate(robot.joints)
    )
    return dataclasses.replace(robot, joints=joints)


def viscous(joint: int) -> float:
    """Coefficient of a joint of a loaded robot."""
    return 0.1 + 0.05 * joint


def twists(robot: Robot, seed: int = 0) -> tuple[Array, Array]:
    """A reduced twist v (n,) and its derivative a (n,)."""
    v, a = np.random.default_rng(seed).normal(size=(2, robot.motion.n))
    return v, a


def sampled(robot: Robot, way: Way = WHOLE) -> tuple[Legs, Array, Array]:
    """The legs at the second sample state of the robot's plan, and that state x, y."""
    x, y = plan_of(robot, way).samples[1]
    return legs_at(robot, x, y, way=way), x, y


def pose_after(robot: Robot, x: Array, v: Array, a: Array, t: float) -> Array:
    """The reduced pose at a time on a path through x with the twist v and its derivative a there."""
    return np.asarray(moved(mechanism_of(robot), x[None], (v * t + 0.5 * t * t * a)[None])[0])


def after(robot: Robot, x: Array, v: Array, a: Array, t: float) -> Configuration:
    """All positions then, of a robot whose legs have closed forms."""
    assert not mechanism_of(robot).ny
    return configuration(robot, pose_after(robot, x, v, a, t), np.zeros(0))
