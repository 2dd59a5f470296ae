"""Robots with springs between bodies, end stops that are met, and rotors on spherical joints, at random."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from nacelle.model.joint import Joint, JointKind, Primitive, Stop
from nacelle.model.line_spring import LineSpring
from nacelle.model.robot import Robot

_RIGID = (JointKind.SPHERICAL, JointKind.POINT, JointKind.FIXED)


def with_springs(robot: Robot, count: int = 5, seed: int = 0) -> Robot:
    """The robot with springs and dampers between bodies that are drawn, the base among them."""
    rng = np.random.default_rng(seed)
    springs = []
    for k in range(count):
        first, second = (int(b) for b in rng.choice(len(robot.bodies), 2, replace=False))
        points = (0.1 * rng.normal(size=3), 0.1 * rng.normal(size=3))
        stiffness, damping = rng.uniform(100, 3000), rng.uniform(1, 50)
        springs.append(LineSpring(f"s{k}", (first, second), points, stiffness, 0.1, damping))
    return replace(robot, springs=tuple(springs))


def with_stops(robot: Robot, seed: int = 0) -> Robot:
    """The robot with end stops at limits that are drawn: at most configurations some are met."""
    rng = np.random.default_rng(seed)
    return replace(robot, joints=tuple(_stopped(joint, rng) for joint in robot.joints))


def _stopped(joint: Joint, rng: np.random.Generator) -> Joint:
    if joint.kind in _RIGID:
        return joint
    limits, stops = [], []
    for primitive in joint.primitives:
        turns = primitive.is_rotation
        middle, half = rng.uniform(-3, 3) if turns else 0.15, rng.uniform(0.2, 2.0) if turns else 0.05
        is_spherical = primitive is Primitive.SPHERICAL
        limits.append((-np.inf, np.inf) if is_spherical else (middle - half, middle + half))
        stops.append(None if is_spherical else Stop(rng.uniform(10, 200), rng.uniform(1, 30)))
    return replace(joint, limits=tuple(limits), stops=tuple(stops))


def with_spherical_rotors(robot: Robot, seed: int = 0) -> Robot:
    """The robot with a rotor on every spherical joint."""
    rng = np.random.default_rng(seed)
    joints = [
        replace(joint, rotor_inertia=rng.uniform(0.001, 0.05))
        if joint.kind is JointKind.SPHERICAL and not joint.at_point
        else joint
        for joint in robot.joints
    ]
    return replace(robot, joints=tuple(joints))


def with_all(robot: Robot, seed: int = 0) -> Robot:
    """The robot with springs between bodies, end stops and rotors on spherical joints."""
    return with_spherical_rotors(with_stops(with_springs(robot, seed=seed), seed), seed)
