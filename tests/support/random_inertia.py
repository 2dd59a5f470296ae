"""Random but physical inertias for all bodies of a robot."""

from __future__ import annotations

import dataclasses

import numpy as np

from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.model.joint import FrictionTerm
from nacelle.model.robot import Robot
from nacelle.spatial.inertia import inertia_matrix, parameters_from_com
from nacelle.spatial.rotation import frame_with_z, skew

Array = np.ndarray
BASES = ("viscous", "coulomb", "coulomb-smooth", "stribeck", "quadratic", "cubic")


def spatial_inertia(parameters: Array) -> Array:
    """Spatial inertia (6, 6) for twists [v; w] at the frame's origin ([KI2007] (14))."""
    c_hat = skew(parameters[1:4])
    return np.block([[parameters[0] * np.eye(3), -c_hat], [c_hat, inertia_matrix(parameters)]])


def _about_com(rng: np.random.Generator, size: float, symmetric: bool) -> Array:
    """Inertia of a cloud of mass: positive, within the triangle inequality; symmetric about z if asked."""
    cloud = rng.uniform(0.05, 0.3, 3) * size
    if symmetric:
        cloud[1] = cloud[0]
    J = np.diag(np.sum(cloud**2) - cloud**2)
    if symmetric:
        return J
    Q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    return Q @ J @ Q.T


def with_random_inertias(robot: Robot, seed: int) -> Robot:
    """Give every body mass, an off-axis centre of mass and products of inertia.

    Rods that spin idly stay symmetric about their axis: otherwise nothing would determine their spin.
    """
    rng = np.random.default_rng(seed)
    spinning = {spin.body: spin for spin in mechanism_of(robot).mobility.spinning}
    values = []
    for body in range(len(robot.bodies)):
        if body == 0 or (body == 1 and robot.nacelle.kind == "point"):
            ten = np.zeros(10) if body == 0 else np.array([rng.uniform(0.5, 2.0), *np.zeros(9)])
        else:
            mass = rng.uniform(0.3, 3.0)
            spin = spinning.get(body)
            J = mass * _about_com(rng, robot.size, spin is not None)
            com = 0.2 * robot.size * rng.normal(size=3)
            if spin is not None:
                R = frame_with_z(np.array(spin.axis))
                J = R @ J @ R.T
                com = np.array(spin.point) + 0.3 * robot.size * rng.normal() * np.array(spin.axis)
            ten = parameters_from_com(mass, com, J)
        values.append(ten)
    current = robot.parameter_vector("inertia").reshape(-1, 10)
    flat = np.concatenate(values[len(values) - len(current) :])
    moved = robot.with_parameters(flat, "inertia")
    return dataclasses.replace(moved, gravity=tuple(9.0 * _unit(rng.normal(size=3))))


def _unit(v: Array) -> Array:
    return v / np.linalg.norm(v)


def with_random_friction(robot: Robot, seed: int) -> Robot:
    """Give every axis of every joint friction of two kinds, passive ones and closures too."""
    rng = np.random.default_rng(seed)
    joints = []
    for joint in robot.joints:
        axes = tuple(
            tuple(
                FrictionTerm(str(basis), float(rng.uniform(0.1, 1.0)), float(rng.uniform(0.2, 2.0)))
                for basis in rng.choice(BASES, 2, replace=False)
            )
            for _ in joint.friction_axes
        )
        joints.append(
            dataclasses.replace(joint, friction=axes if joint.kind.value != "point" else joint.friction)
        )
    return dataclasses.replace(robot, joints=tuple(joints))
