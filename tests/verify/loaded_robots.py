"""Robots with all that a description can give: mass, friction in all joints, springs, rotors, payload."""

from __future__ import annotations

import dataclasses

import numpy as np

from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.model.joint import FrictionTerm, Joint, JointKind, Primitive, Spring
from nacelle.model.platform import Payload
from nacelle.model.robot import Robot

Array = np.ndarray
BASES = ("viscous", "coulomb", "coulomb-smooth", "stribeck", "quadratic", "cubic", "constant")


def ten(mass: float, com: Array, about_com: Array) -> tuple[float, ...]:
    """Ten parameters about the body's origin."""
    I = about_com + mass * ((com @ com) * np.eye(3) - np.outer(com, com))
    numbers = [mass, *(mass * com), I[0, 0], I[0, 1], I[1, 1], I[0, 2], I[1, 2], I[2, 2]]
    return tuple(float(number) for number in numbers)


def random_inertia(rng: np.random.Generator) -> tuple[float, ...]:
    points = rng.normal(size=(8, 3)) * 0.1
    moments = sum((p @ p) * np.eye(3) - np.outer(p, p) for p in points)
    mass = float(rng.uniform(0.3, 2.0))
    return ten(mass, rng.uniform(-0.2, 0.2, 3), mass / 8 * moments)


def spinning_inertia(rng: np.random.Generator, axis: Array, point: Array) -> tuple[float, ...]:
    """A body that is the same in every direction across the axis about which it may spin idly."""
    mass, along, across = float(rng.uniform(0.3, 2.0)), *rng.uniform(0.001, 0.002, 2)
    about = across * np.eye(3) + (along - across) * np.outer(axis, axis)
    return ten(mass, point + rng.uniform(-0.1, 0.1) * axis, about)


def with_mass(robot: Robot, seed: int) -> Robot:
    rng = np.random.default_rng(seed)
    spins = {spin.body: spin for spin in mechanism_of(robot).mobility.spinning}
    bodies = [robot.bodies[0]]
    for k, body in enumerate(robot.bodies[1:], 1):
        if k in spins:
            inertia = spinning_inertia(rng, np.array(spins[k].axis), np.array(spins[k].point))
        elif k == 1 and robot.nacelle.kind == "point":
            inertia = ten(float(rng.uniform(0.3, 2.0)), np.zeros(3), np.zeros((3, 3)))
        else:
            inertia = random_inertia(rng)
        bodies.append(dataclasses.replace(body, inertia=inertia))
    return dataclasses.replace(robot, bodies=tuple(bodies))


def with_everything(robot: Robot, seed: int, springs: bool = True) -> Robot:
    """Friction of all kinds in all joints, springs, rotors behind gears, payload, gravity along no axis."""
    rng = np.random.default_rng(seed)
    driven = {actuator.joint for actuator in robot.actuators}

    def furnished(k: int, joint: Joint) -> Joint:
        if joint.kind is JointKind.POINT:
            return joint
        friction = tuple(
            tuple(
                FrictionTerm(str(basis), float(rng.uniform(0.2, 2.0)), float(rng.uniform(0.1, 1.0)))
                for basis in rng.choice(BASES, 3, replace=False)
            )
            for _ in joint.primitives
        )
        sprung = tuple(
            Spring(float(rng.uniform(1.0, 20.0)), float(rng.normal()))
            if springs and primitive is not Primitive.SPHERICAL
            else None
            for primitive in joint.primitives
        )
        drive = {"rotor_inertia": 1e-3, "gear_ratio": float(rng.uniform(5.0, 20.0))} if k in driven else {}
        return dataclasses.replace(joint, friction=friction, springs=sprung, **drive)

    return dataclasses.replace(
        robot,
        joints=tuple(furnished(k, joint) for k, joint in enumerate(robot.joints)),
        payload=(Payload("load", 1, ten(1.5, np.array([0.0, 0.0, 0.1]), 0.01 * np.eye(3))),)
        if robot.nacelle.kind != "point"
        else (Payload("load", 1, ten(1.5, np.zeros(3), np.zeros((3, 3)))),),
        gravity=(1.0, -2.0, -9.0),
    )
