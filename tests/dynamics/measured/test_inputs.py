"""Inverse dynamics from measured elements and encoders, against the tree."""

from __future__ import annotations

import numpy as np
import pytest

import nacelle
from nacelle.dynamics.measured import inputs as measured
from nacelle.dynamics.measured.platform import WAYS
from nacelle.kinematics.bars.reading import read_legs
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from support.compare import assert_same
from support.library import library_robot

Array = np.ndarray


def state(robot: nacelle.Robot, seed: int) -> tuple[Array, Array, Array]:
    """x, v and a near the reference."""
    rng = np.random.default_rng(seed)
    mechanism, n = mechanism_of(robot), robot.motion.n
    x = mechanism.reference[0] + 0.02 * min(robot.size, 1.0) * rng.uniform(-1.0, 1.0, mechanism.layout.nx)
    return x, rng.normal(size=n), 3.0 * rng.normal(size=n)


@pytest.mark.parametrize("name", ["fivebar", "delta-codourey", "delta", "prrrp", "orthoglide"])
def test_encoders(name: str) -> None:
    robot = library_robot(name)
    x, v, a = state(robot, 2)
    q = nacelle.joint_motion(robot, x, v, a).actuators
    for friction in (False, True):
        exact = nacelle.inverse_dynamics(robot, x, v, a, formulation="tree", friction=friction).force
        for way in WAYS:
            found = measured.inverse_dynamics_from_encoders(robot, *q, friction=friction, **way._asdict())[
                "force"
            ]
            assert_same(found, exact, 1e-12)


def elements_by_differences(robot: nacelle.Robot, x: Array, v: Array, a: Array) -> dict[str, Array]:
    """Directions and lengths of the elements, with derivatives by differences along x + v t + a t^2 / 2."""
    forms = read_legs(robot)
    axes = measured.flat_axes(robot)
    h = 1e-3

    def at(t: float) -> dict[str, Array]:
        pose = x + v * t + 0.5 * a * t * t
        place = nacelle.inverse_kinematics(robot, pose, limits=False)
        found = {}
        for form in forms:
            leg = next(leg for leg in robot.legs if leg.name == form.name)
            first = robot.joints[leg.joints[0]].successor
            p = mechanism_of(robot).chart.pose(pose)
            B = p.p + p.R @ form.B
            q = place.actuators[form.drive.number]
            if form.drive.revolute:
                turn = place.bodies.R[first] @ mechanism_of(robot).assembly.motion.poses[first].R.T
                start = mechanism_of(robot).assembly.q[robot.q_slices[leg.joints[0]]][0]
                away = np.cross(form.axis, form.carriage.start)
                arm = turn @ (np.cos(start) * form.carriage.start + np.sin(start) * away)
                A = form.A + form.carriage.arm * arm
                found[f"{form.name}_arm"] = arm[list(axes)]
            else:
                A = form.A + q * form.axis
                found[f"{form.name}_slide"] = np.array(q)
            rod = B - A
            if form.joint_at_a == "R":
                rod = rod - form.first * (form.first @ rod)
            found[f"{form.name}_rod"] = (rod / np.linalg.norm(rod))[list(axes)]
        return found

    samples = {k: at(k * h) for k in range(-3, 4)}
    first = {1: 3 / 4, 2: -3 / 20, 3: 1 / 60}
    second = {0: -49 / 18, 1: 3 / 2, 2: -3 / 20, 3: 1 / 90}
    found = {}
    for name in samples[0]:
        rate = sum(c * (samples[k][name] - samples[-k][name]) for k, c in first.items()) / h
        bend = second[0] * samples[0][name]
        bend = bend + sum(second[k] * (samples[k][name] + samples[-k][name]) for k in (1, 2, 3))
        found[name] = np.stack([samples[0][name], rate, bend / h**2])
    return found


@pytest.mark.parametrize("name", ["fivebar", "delta-codourey", "prrrp", "delta", "orthoglide"])
def test_elements(name: str) -> None:
    robot = library_robot(name)
    x, v, a = state(robot, 3)
    elements = elements_by_differences(robot, x, 0.3 * v, 0.3 * a)
    assert {key: value.shape for key, value in elements.items()} == measured.element_shapes(robot)
    for friction in (False, True):
        exact = nacelle.inverse_dynamics(
            robot, x, 0.3 * v, 0.3 * a, formulation="tree", friction=friction
        ).force
        for way in WAYS:
            options = {"friction": friction, **way._asdict()}
            found = measured.inverse_dynamics_from_elements(robot, *elements.values(), **options)["force"]
            # Second differences of directions have about 1e-9 of rounding.
            assert_same(found, exact, 2e-8)
