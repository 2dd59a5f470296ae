"""Computed torque and impedance: poles and stiffness as stated, forces from outside that are observed."""

from __future__ import annotations

import numpy as np
import pytest

import nacelle
from nacelle.control.kind import DesiredMotion
from nacelle.control.laws.computed_torque import ComputedTorque
from nacelle.control.laws.impedance import impedance_damping
from nacelle.control.named import controller
from nacelle.errors import KinematicsError
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.simulation.rigid_plant import rigid_plant
from support.control_loops import Loop, generalised_load, observed_disturbance, platform_wrench, stiffness
from support.uncompiled import mark_slow_names, named_robot

T = 5e-4
ROBOTS = mark_slow_names(
    ("fivebar", "redundant", "delta", "palida", "quattro", "3rps"),
    long=("redundant", "delta", "palida", "quattro", "3rps"),
)


@pytest.mark.thinned
@pytest.mark.slow
@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.parametrize("space", ["cartesian", "actuator"])
def test_errors_have_the_stated_poles(name: str, space: str) -> None:
    """By identification, in motion and with a delay of half a sample; 2 % are aimed at."""
    robot = named_robot(name)
    n = robot.motion.n
    own = controller(robot, f"ct-{space}", period=T, bandwidth=10.0, damping=0.7, delay=T / 2.0)
    swing = None if mechanism_of(robot).parasitic else np.full(n, 0.01)
    poles = Loop(own, T / 2.0, swing).poles(1e-3 * (1.0 + 0.3 * np.arange(n)), actuators=space == "actuator")
    # More actuators than motions: their errors hang on one another, and are not all linear.
    tolerance = 5e-3 if len(robot.actuators) > n else 1e-3
    for pole in poles:
        np.testing.assert_allclose(pole.frequency, 10.0, rtol=tolerance)
        np.testing.assert_allclose(pole.damping, 0.7, rtol=tolerance)


def test_a_wrong_gain_is_seen_in_the_poles() -> None:
    """The identification is one: with other gains it says other poles."""
    robot = named_robot("fivebar")
    own = controller(robot, "ct-cartesian", period=T, bandwidth=10.0, damping=0.7, delay=T / 2.0)
    stiffer = own.with_gains(stiffness=1.1 * own.gain("stiffness"))
    poles = Loop(stiffer, T / 2.0).poles(np.array([1e-3, 1e-3]))
    np.testing.assert_allclose([pole.frequency for pole in poles], 10.0 * np.sqrt(1.1), rtol=2e-3)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("space", "delay"),
    [("cartesian", 0.0), ("cartesian", T / 2.0), pytest.param("actuator", T, marks=pytest.mark.slow)],
)
def test_a_step_of_force_is_found_with_the_stated_poles(space: str, delay: float) -> None:
    robot = named_robot("fivebar")
    options = {"observer": True, "observer_bandwidth": 30.0}
    own = controller(robot, ComputedTorque(space, **options), period=T, bandwidth=10.0, delay=delay)
    t, d, step = observed_disturbance(
        Loop(own, delay), platform_wrench(robot, "x", 5.0), rest=0.02, seconds=0.06
    )
    w = 2.0 * np.pi * 30.0
    expected = 1.0 - (1.0 + w * t) * np.exp(-w * t)
    np.testing.assert_allclose(d, np.outer(expected, step), atol=0.03 * np.max(np.abs(step)))
    np.testing.assert_allclose(d[-1], step, atol=0.01 * np.max(np.abs(step)))


@pytest.mark.slow
def test_the_observer_takes_the_error_away() -> None:
    """What a constant force leaves: f / (M K_p) without it, nothing with it."""
    robot = named_robot("fivebar")
    plant = rigid_plant(robot, friction=False, external=platform_wrench(robot, "x", 5.0))
    left = {}
    for name in ("ct-cartesian", "ct-observer"):
        loop = Loop(controller(robot, name, period=T, bandwidth=10.0))
        left[name] = -loop.errors(loop.run(0.3, plant=plant), loop.rows(0.3))[-1]
    M = nacelle.mass_matrix(robot, loop.reference[0])
    gain = controller(robot, "ct-cartesian", period=T, bandwidth=10.0).gain("stiffness")
    expected = np.linalg.solve(M, [5.0, 0.0]) / gain
    np.testing.assert_allclose(left["ct-cartesian"], expected, atol=0.02 * np.max(expected))
    assert np.max(np.abs(left["ct-observer"])) < 1e-4 * np.max(np.abs(left["ct-cartesian"]))


@pytest.mark.slow
def test_drives_at_their_limits_do_not_wind_up_the_observer() -> None:
    """A push beyond what the drives hold is found as it is: forces that act count, not those asked for."""
    robot = named_robot("fivebar")
    zero = np.zeros(2)
    loop = Loop(controller(robot, "ct-observer", period=T, bandwidth=10.0))
    held = nacelle.inverse_dynamics(robot, loop.reference[0], zero, zero, friction=False).tau
    push = platform_wrench(robot, "x", 12.0)
    needed = np.linalg.solve(nacelle.jacobian(robot, loop.reference[0]).inverse.T, [12.0, 0.0])
    limit = np.abs(held) + 0.5 * np.abs(needed)
    loop = Loop(loop.controller.with_gains(limit=limit))
    run = loop.run(0.05, plant=rigid_plant(robot, friction=False, external=push))
    assert np.all(np.abs(run.tau) <= limit + 1e-12)
    assert np.mean(np.abs(run.tau[-20:]) > limit - 1e-9) > 0.4
    assert run.memory is not None
    d = run.memory[-1, loop.controller.kind.memory(robot).slice_of("disturbance")]
    np.testing.assert_allclose(d, generalised_load(robot, run.x[-1], push), atol=0.02 * 12.0)


@pytest.mark.slow
def test_friction_of_the_desired_rates_pays() -> None:
    robot = named_robot("fivebar")
    plant = rigid_plant(robot, smooth=1e-3)
    worst = []
    for friction in (False, True):
        own = controller(robot, "ct-cartesian", period=T, bandwidth=10.0, friction=friction)
        loop = Loop(own, swing_amplitude=np.array([0.03, 0.02]))
        worst.append(np.max(np.abs(loop.errors(loop.run(0.3, plant=plant), loop.rows(0.3)))))
    assert worst[1] < 0.1 * worst[0]


def test_without_readings_it_stops() -> None:
    """Forces go to zero and stay there, though readings come back."""
    robot = named_robot("fivebar")
    own = controller(robot, "ct-cartesian", period=T, bandwidth=10.0)
    x = mechanism_of(robot).reference[0]
    zero = np.zeros(2)
    motion = DesiredMotion(np.asarray(x), zero, zero)
    memory, q = own.start(x), own.coordinates(x)
    held = nacelle.inverse_dynamics(robot, x, zero, zero, friction=False).tau
    patience = int(own.gain("patience")[0])
    for k in range(patience + 3):
        readings = np.array([np.nan, q[1]]) if k > 0 else q
        force, memory = own.step(memory, readings, motion)
        np.testing.assert_allclose(force, held if k <= patience else zero, atol=1e-6)
    force, _ = own.step(memory, q, motion)
    assert not force.any()


def test_readings_that_no_pose_has_are_taken_as_missing() -> None:
    robot = named_robot("fivebar")
    own = controller(robot, "ct-cartesian", period=T, bandwidth=10.0)
    x, zero = np.asarray(mechanism_of(robot).reference[0]), np.zeros(2)
    memory, q = own.start(x), own.coordinates(x)
    force = {}
    for k in range(8):
        # Both cranks turned outwards, so far that the distal bars do not meet.
        readings = q + (np.array([-2.0, 2.0]) if k == 5 else 0.0)
        force[k], memory = own.step(memory, readings, DesiredMotion(x, zero, zero))
    np.testing.assert_allclose(force[5], force[4], atol=1e-6)
    np.testing.assert_allclose(force[7], force[4], atol=1e-6)


def test_options_that_cannot_be_used() -> None:
    with pytest.raises(KinematicsError, match="did you mean 'actuator'"):
        ComputedTorque("actuators")
    with pytest.raises(KinematicsError, match="smooth must be above zero"):
        ComputedTorque(smooth=-1.0)
    with pytest.raises(KinematicsError, match="bandwidth of an observer must be above zero"):
        ComputedTorque(observer=True, observer_bandwidth=0.0)


# ---- Impedance of the platform: the stiffness that is stated is measured

# Stated stiffness, and loads on the platform along each coordinate.
CASES = {
    "fivebar": ((2e3, 300.0, 300.0, 5e3), {"x": 4.0, "y": 10.0}),
    "redundant": ((2e3, 5e3), {"x": 4.0, "y": 10.0}),
    "delta": ((3e3, 5e3, 8e3), {"x": 6.0, "y": 10.0, "z": 16.0}),
    "palida": (
        (2e4, 3e4, 4e4, 1500.0, 2e3, 2500.0),
        {"x": 40.0, "y": 60.0, "z": 80.0, "rx": 15.0, "ry": 20.0, "rz": 25.0},
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", mark_slow_names(CASES, long=("redundant", "delta", "palida")))
def test_the_stiffness_is_the_stated_one(name: str) -> None:
    robot = named_robot(name)
    stated, loads = CASES[name]
    n = robot.motion.n
    own = controller(robot, "impedance", period=T, delay=T / 2.0, damping=0.7, stiffness=stated)
    K = np.diag(stated) if len(stated) == n else np.reshape(stated, (n, n))
    measured = stiffness(Loop(own, T / 2.0), loads, 0.6)
    np.testing.assert_allclose(measured, K, atol=1e-3 * np.min(np.diag(K)), rtol=1e-3)


def test_a_push_is_answered_by_mass_damper_and_spring() -> None:
    """The way to the place where a push leads, against the linear system M, D, K."""
    from scipy.linalg import expm

    robot = named_robot("fivebar")
    own = controller(robot, "impedance", period=T, damping=0.5, stiffness=(2e3, 5e3))
    loop = Loop(own)
    plant = rigid_plant(robot, friction=False, external=platform_wrench(robot, "x", 2.0))
    way = -loop.errors(loop.run(0.1, plant=plant), loop.rows(0.1))
    M = nacelle.mass_matrix(robot, loop.reference[0])
    K, D = (own.gain(part).reshape(2, 2) for part in ("stiffness", "damping"))
    A = np.block([[np.zeros((2, 2)), np.eye(2)], [-np.linalg.solve(M, K), -np.linalg.solve(M, D)]])
    end = np.linalg.solve(K, [2.0, 0.0])
    expected = np.array(
        [end + (expm(T * k * A) @ np.concatenate([-end, np.zeros(2)]))[:2] for k in range(len(way))]
    )
    np.testing.assert_allclose(way, expected, atol=0.03 * np.max(np.abs(end)))


def test_dampers_give_every_mode_its_ratio() -> None:
    rng = np.random.default_rng(3)
    M, K = (root @ root.T + np.eye(4) for root in rng.normal(size=(2, 4, 4)))
    D = impedance_damping(M, K, np.array(0.6))
    A = np.block([[np.zeros((4, 4)), np.eye(4)], [-np.linalg.solve(M, K), -np.linalg.solve(M, D)]])
    s = np.linalg.eigvals(A)
    np.testing.assert_allclose(-s.real / np.abs(s), 0.6, rtol=1e-9)
    ratios, m, k = np.array([0.3, 0.9]), np.diag([2.0, 3.0]), np.diag([50.0, 20.0])
    np.testing.assert_allclose(
        impedance_damping(m, k, ratios), np.diag(2.0 * ratios * np.sqrt(np.diag(k) * np.diag(m))), atol=1e-12
    )


def test_springs_that_push_are_refused() -> None:
    robot = named_robot("fivebar")
    with pytest.raises(KinematicsError, match="positive definite"):
        controller(robot, "impedance", stiffness=(2e3, -1.0))
    with pytest.raises(KinematicsError, match="2 numbers, or 4"):
        controller(robot, "impedance", stiffness=(2e3, 1e3, 1e3))
    with pytest.raises(KinematicsError, match="one damping ratio or 2"):
        controller(robot, "impedance", ratios=(1.0, 1.0, 1.0))


def test_a_stated_stiffness_is_of_its_robot_alone() -> None:
    """Equal laws share a program; what tunes one of them must not reach a robot of another size."""
    for name, stated in (("fivebar", (2e3, 5e3)), ("delta", None)):
        robot = named_robot(name)
        own = controller(robot, "impedance", period=2.0 * T, bandwidth=5.0, stiffness=stated)
        assert own.gain("stiffness").shape == (robot.motion.n**2,)
        x, zero = np.asarray(mechanism_of(robot).reference[0]), np.zeros(robot.motion.n)
        force, _ = own.step(own.start(x), own.coordinates(x), DesiredMotion(x, zero, zero))
        assert np.isfinite(force).all()
