"""What robots carry, at random: inertias, friction, springs, rotors, end stops, payloads."""

from __future__ import annotations

import dataclasses

import numpy as np

from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.model.joint import FrictionTerm, Joint, JointKind, Primitive, Spring, Stop
from nacelle.model.leg import LineSpring
from nacelle.model.platform import Payload
from nacelle.model.robot import Robot
from nacelle.spatial.inertia import inertia_matrix, parameters_from_com
from nacelle.spatial.rotation import frame_with_z, skew
from support.random_robots.numbers import cloud_about_com, unit

Array = np.ndarray
FRICTION_BASES = ("viscous", "coulomb", "coulomb-smooth", "stribeck", "quadratic", "cubic")
_RIGID = (JointKind.SPHERICAL, JointKind.POINT, JointKind.FIXED)


def spatial_inertia(parameters: Array) -> Array:
    """Spatial inertia (6, 6) for twists [v; w] at the frame's origin ([KI2007] (14))."""
    c_hat = skew(parameters[1:4])
    return np.block([[parameters[0] * np.eye(3), -c_hat], [c_hat, inertia_matrix(parameters)]])


def random_inertia(rng: np.random.Generator, size: float) -> Array:
    """Ten parameters of a body with its centre of mass off every axis and all products of inertia."""
    mass = rng.uniform(0.3, 3.0)
    J = mass * cloud_about_com(rng, rng.uniform(0.05, 0.3, 3) * size)
    return parameters_from_com(mass, 0.2 * size * rng.normal(size=3), J)


def random_rod(rng: np.random.Generator, axis: Array, point: Array, size: float) -> Array:
    """Ten parameters of a body that is symmetric about an axis, which it may spin about idly."""
    mass = rng.uniform(0.3, 3.0)
    across, along = rng.uniform(0.05, 0.3, 2) * size
    R = frame_with_z(axis)
    J = mass * R @ np.diag([across**2 + along**2, across**2 + along**2, 2.0 * across**2]) @ R.T
    return parameters_from_com(mass, point + 0.3 * size * rng.normal() * axis, J)


def with_random_inertias(robot: Robot, seed: int) -> Robot:
    """Give every body mass, an off-axis centre of mass and products of inertia, gravity any direction.

    Rods that spin idly stay symmetric about their axis: otherwise nothing would determine their spin.
    """
    rng = np.random.default_rng(seed)
    internal_freedoms = {spin.body: spin for spin in mechanism_of(robot).mobility.internal_freedoms}
    values = [np.zeros(10)]
    for body in range(1, len(robot.bodies)):
        if body == 1 and robot.platform.kind == "point":
            values.append(np.array([rng.uniform(0.5, 2.0), *np.zeros(9)]))
        elif body in internal_freedoms:
            spin = internal_freedoms[body]
            values.append(random_rod(rng, np.array(spin.axis), np.array(spin.point), robot.size))
        else:
            values.append(random_inertia(rng, robot.size))
    count = robot.parameter_vector("inertia").size // 10
    moved = robot.with_parameters(np.concatenate(values[len(values) - count :]), "inertia")
    return dataclasses.replace(moved, gravity=tuple(9.0 * unit(rng.normal(size=3))))


def with_random_friction(robot: Robot, seed: int) -> Robot:
    """Give every axis of every joint friction of two kinds, passive ones and closures too."""
    rng = np.random.default_rng(seed)
    joints = []
    for joint in robot.joints:
        axes = tuple(
            tuple(_term(rng, str(basis)) for basis in rng.choice(FRICTION_BASES, 2, replace=False))
            for _ in joint.friction_axes
        )
        joints.append(joint if joint.kind is JointKind.POINT else dataclasses.replace(joint, friction=axes))
    return dataclasses.replace(robot, joints=tuple(joints))


def _term(rng: np.random.Generator, basis: str) -> FrictionTerm:
    coefficient, scale = rng.uniform([0.1, 0.2], [1.0, 2.0]).tolist()
    return FrictionTerm(basis, coefficient, scale if basis in ("coulomb-smooth", "stribeck") else 0.0)


def with_friction_and_drives(robot: Robot, seed: int) -> Robot:
    """Friction in all joints, springs, rotors behind gears (on passive joints, too), a payload."""
    robot = with_random_friction(robot, seed)
    rng = np.random.default_rng(seed + 1)
    driven = {actuator.joint for actuator in robot.actuators}
    joints = []
    for k, joint in enumerate(robot.joints):
        springs = tuple(Spring(*map(float, (rng.uniform(1, 20), rng.normal()))) for _ in joint.primitives)
        if Primitive.SPHERICAL in joint.primitives:
            springs = (None,) * len(springs)
        drive = {"rotor_inertia": float(rng.uniform(1e-3, 1e-2)), "gear_ratio": float(rng.uniform(3.0, 9.0))}
        single = joint.kind in (JointKind.REVOLUTE, JointKind.PRISMATIC)
        extra = drive if k in driven or (single and k % 2) else {}
        joints.append(
            joint if joint.kind is JointKind.POINT else dataclasses.replace(joint, springs=springs, **extra)
        )
    is_point = robot.platform.kind == "point"
    load = np.array([1.5, *np.zeros(9)]) if is_point else random_inertia(rng, 0.3 * robot.size)
    payload = (Payload("load", robot.platform.bodies[-1], tuple(load.tolist())),)
    return dataclasses.replace(robot, joints=tuple(joints), payload=payload)


def with_random_loads(robot: Robot, seed: int) -> Robot:
    """A robot with random inertias and everything else."""
    return with_friction_and_drives(with_random_inertias(robot, seed), seed + 1)


def with_springs(robot: Robot, count: int = 5, seed: int = 0) -> Robot:
    """The robot with springs and dampers between bodies that are drawn, the base among them."""
    rng = np.random.default_rng(seed)
    springs = []
    for k in range(count):
        first, second = (int(b) for b in rng.choice(len(robot.bodies), 2, replace=False))
        points = (0.1 * rng.normal(size=3), 0.1 * rng.normal(size=3))
        stiffness, damping = rng.uniform(100, 3000), rng.uniform(1, 50)
        springs.append(LineSpring(f"s{k}", (first, second), points, stiffness, 0.1, damping))
    return dataclasses.replace(robot, springs=tuple(springs))


def with_springs_and_stops(robot: Robot, seed: int = 0) -> Robot:
    """The robot with springs between bodies, end stops of which some are met, rotors on spherical joints."""
    rng = np.random.default_rng(seed)
    robot = with_springs(robot, seed=seed)
    return dataclasses.replace(robot, joints=tuple(_with_end_stops(joint, rng) for joint in robot.joints))


def _with_end_stops(joint: Joint, rng: np.random.Generator) -> Joint:
    if joint.kind is JointKind.SPHERICAL and not joint.at_point:
        return dataclasses.replace(joint, rotor_inertia=rng.uniform(0.001, 0.05))
    if joint.kind in _RIGID:
        return joint
    limits, stops = [], []
    for primitive in joint.primitives:
        turns = primitive.is_rotation
        middle, half = rng.uniform(-3, 3) if turns else 0.15, rng.uniform(0.2, 2.0) if turns else 0.05
        is_spherical = primitive is Primitive.SPHERICAL
        limits.append((-np.inf, np.inf) if is_spherical else (middle - half, middle + half))
        stops.append(None if is_spherical else Stop(rng.uniform(10, 200), rng.uniform(1, 30)))
    return dataclasses.replace(joint, limits=tuple(limits), stops=tuple(stops))
