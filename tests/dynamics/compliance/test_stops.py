"""End stops: where they act, how much, that they never pull, and runs that go on through them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import nacelle
from nacelle.dynamics.compliance.stops import beyond, stop_effort, stop_energy, stop_of
from nacelle.kinematics.tree.spanning_tree import CosSin, read_step
from nacelle.model.joint import Joint, JointKind, Stop
from nacelle.model.robot import Robot
from nacelle.simulation.plant import limits_of


def _joint(lower: float, upper: float, kind: JointKind = JointKind.REVOLUTE) -> Joint:
    return Joint("j", kind, 0, 1, limits=((lower, upper),), stops=(Stop(100.0, 5.0),))


@pytest.mark.parametrize(
    ("limits", "angle", "past"),
    [
        ((-1.0, 1.0), 0.3, 0.0),
        ((-1.0, 1.0), 1.2, 0.2),
        ((-1.0, 1.0), -1.5, -0.5),
        ((2.0, 4.0), -2.0, 2 * np.pi - 2.0 - 4.0),  # 4.28 rad, counted modulo a turn
        ((2.0, 4.0), -2.5, 0.0),  # 3.78 rad
        ((-4.0, -2.0), 2.0, 2.0 - 2 * np.pi + 4.0),
        ((-np.inf, 0.5), -3.0, 0.0),
        ((-np.inf, 0.5), 0.6, 0.1),
        ((6.0, 7.0), 1.0, 2 * np.pi + 1.0 - 7.0),
    ],
)
def test_angles_beyond_limits_count_modulo_a_turn(
    limits: tuple[float, float], angle: float, past: float
) -> None:
    joint = _joint(*limits)
    q = read_step(CosSin(np.cos(angle), np.sin(angle)), joint, 0)
    assert float(beyond(joint, 0, q)) == pytest.approx(past, abs=1e-12)
    assert float(beyond(joint, 0, q + 2.0 * np.pi)) > 2.0 or not np.isfinite(limits[1])


def test_the_force_is_continuous_never_pulls_and_its_damper_only_takes_power() -> None:
    joint = _joint(-0.3, 0.2, JointKind.PRISMATIC)
    assert stop_of(joint, 0) == Stop(100.0, 5.0)
    q, rate = (grid.ravel() for grid in np.meshgrid(np.linspace(-0.6, 0.5, 111), np.linspace(-40, 40, 81)))
    force = np.array(
        [float(stop_effort(joint, 0, *at, spring=True, damper=True)) for at in zip(q, rate, strict=True)]
    )
    damper = np.array(
        [float(stop_effort(joint, 0, *at, spring=False, damper=True)) for at in zip(q, rate, strict=True)]
    )
    inside = (q >= -0.3) & (q <= 0.2)
    assert not force[inside].any()
    assert np.all(force[q > 0.2] >= 0.0)
    assert np.all(force[q < -0.3] <= 0.0)
    assert np.all(damper * rate >= 0.0)
    # Where the damper's force is below the spring's the law is k s + c q', else it is held: no jump.
    past = q - np.clip(q, -0.3, 0.2)
    small = np.abs(5.0 * rate) < 100.0 * np.abs(past)
    np.testing.assert_allclose(force[small], (100.0 * past + 5.0 * rate)[small], atol=1e-12)
    assert np.all(np.abs(force) <= 200.0 * np.abs(past) + 1e-12)
    # The spring's part is the gradient of the energy.
    h = 1e-6
    for at in (-0.5, 0.1, 0.4):
        slope = (stop_energy(joint, 0, at + h) - stop_energy(joint, 0, at - h)) / (2 * h)
        held = stop_effort(joint, 0, at, 0.0, spring=True, damper=True)
        np.testing.assert_allclose(float(slope), float(held), atol=1e-6)


def _bouncing(damping: float) -> Robot:
    """A five-bar whose drives have stops, without friction."""
    robot = nacelle.load("fivebar")
    joints = [replace(joint, friction=((),) * len(joint.primitives)) for joint in robot.joints]
    actuators = []
    angles = nacelle.inverse_kinematics(robot, robot.reference.p[:2]).actuators
    for actuator, q in zip(robot.actuators, angles.tolist(), strict=True):
        ends = (q - 0.1, q + 0.1)
        joints[actuator.joint] = replace(
            joints[actuator.joint], limits=(ends,), stops=(Stop(300.0, damping),)
        )
        actuators.append(replace(actuator, position=ends))
    return replace(robot, joints=tuple(joints), actuators=tuple(actuators))


@pytest.mark.slow
def test_a_run_goes_on_through_a_stop_and_its_energy_balances() -> None:
    robot = _bouncing(2.0)
    assert not any(limit.name.startswith(robot.actuators[0].name) for limit in limits_of(robot))
    run = nacelle.simulate(
        robot, robot.reference.p[:2], [0.4, 0.0], until=0.6, samples=121, rtol=1e-9, atol=1e-11
    )
    assert run.ok
    angles = nacelle.inverse_kinematics(robot, run.x, limits=False).actuators[:, 0]
    assert np.max(np.abs(angles - angles[0])) > 0.1
    energy = np.asarray(run.energies.total if hasattr(run.energies, "total") else run.energy)
    assert np.all(np.diff(energy) < 1e-6 * np.ptp(energy))
    assert energy[0] - energy[-1] == pytest.approx(run.dissipated[-1], rel=1e-3)


@pytest.mark.slow
def test_the_linear_model_beyond_a_stop_is_that_of_differences() -> None:
    robot = _bouncing(2.0)
    q = nacelle.inverse_kinematics(robot, robot.reference.p[:2]).actuators
    x = nacelle.forward_kinematics(robot, q + np.array([0.25, 0.0])).x
    v, tau, h = np.array([0.05, 0.02]), np.array([1.0, -2.0]), 1e-6

    def acceleration(at: np.ndarray, rate: np.ndarray) -> np.ndarray:
        return np.asarray(nacelle.forward_dynamics(robot, at, rate, tau).acceleration)

    steps = h * np.eye(2)
    by_x = [(acceleration(x + s, v) - acceleration(x - s, v)) / (2 * h) for s in steps]
    by_v = [(acceleration(x, v + s) - acceleration(x, v - s)) / (2 * h) for s in steps]
    A = nacelle.linearise(robot, x, v, tau).A
    np.testing.assert_allclose(A[2:, :2], np.transpose(by_x), rtol=1e-6, atol=1e-4)
    np.testing.assert_allclose(A[2:, 2:], np.transpose(by_v), rtol=1e-6, atol=1e-4)
