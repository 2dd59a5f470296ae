"""Compiled feedback: equal to the same law in Python, held or at every stage, in every method."""

from __future__ import annotations

import numpy as np
import pytest

import nacelle
from nacelle.dynamics.formulations.reference import inverse
from nacelle.simulation.plant import RigidPlant
from nacelle.simulation.simulate import simulate
from support.library import library_robot

Array = np.ndarray


@nacelle.physics(x=(2,), y=(0,), v=(2,), r=(6,))
def computed_force(robot, x, y, v, r, *, stiffness: float = 400.0, damping: float = 40.0):
    """Inverse dynamics at the wanted acceleration, corrected by what the tip is off."""
    a = r[4:] + stiffness * (r[:2] - x) + damping * (r[2:4] - v)
    return inverse(robot, x, y, v, a, np.zeros(2), friction=False)["force"]


@nacelle.physics(t=(), q=(2,), qd=(2,))
def swing(robot, t, q, qd):
    from nacelle.spatial.scalar import sin

    return np.array([0.3 * sin(8.0 * t), 0.0]) - 0.4 * qd - 2.0 * (q - np.array([2.0, 1.0]))


def circle(t: float) -> Array:
    """Pose, velocity and acceleration of the tip on a circle that starts at its reference pose."""
    w, radius = 9.0, 0.03
    c, s = np.cos(w * t), np.sin(w * t)
    pose = nacelle.reference_pose(library_robot("fivebar")) + radius * np.array([c - 1.0, s])
    return np.concatenate([pose, radius * w * np.array([-s, c]), radius * w**2 * np.array([-c, -s])])


def in_python(robot: nacelle.Robot, t: float, x: Array, v: Array) -> Array:
    r = circle(t)
    a = r[4:] + 400.0 * (r[:2] - x) + 40.0 * (r[2:4] - v)
    return nacelle.inverse_dynamics(robot, x, v, a, friction=False).force


@pytest.mark.costly
@pytest.mark.parametrize("hold", [False, True])
def test_computed_force_in_one_native_loop(hold: bool) -> None:
    robot = library_robot("fivebar")
    plant, x0 = RigidPlant(robot, friction=False), nacelle.reference_pose(robot)
    settings = {"until": 0.2, "method": "rk4", "step": 1e-3, "hold": hold}
    law = nacelle.feedback(computed_force, reference=circle)
    native = simulate(plant, x0, circle(0.0)[2:4], law, **settings)
    asked = simulate(plant, x0, circle(0.0)[2:4], lambda t, x, v: in_python(robot, t, x, v), **settings)
    np.testing.assert_allclose(native.states, asked.states, rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(native.inputs, asked.inputs, rtol=1e-9)
    off = np.max(np.abs(native.x - [circle(t)[:2] for t in native.t]))
    # At every stage the errors are those of the method; a controller that holds is half a step late.
    assert off < 1e-9 if not hold else 1e-6 < off < 1e-3


def test_a_reference_in_rows_is_held() -> None:
    robot = library_robot("fivebar")
    plant, x0, v0 = RigidPlant(robot, friction=False), nacelle.reference_pose(robot), circle(0.0)[2:4]
    rows = np.array([circle(1e-3 * k) for k in range(100)])
    settings = {"until": 0.1, "method": "rk4", "step": 1e-3}
    held = simulate(plant, x0, v0, nacelle.feedback(computed_force, circle), hold=True, **settings)
    table = simulate(plant, x0, v0, nacelle.feedback(computed_force, rows), hold=True, **settings)
    np.testing.assert_array_equal(table.states, held.states)
    staged = simulate(plant, x0, v0, nacelle.feedback(computed_force, rows), **settings)

    def late(t: float, x: Array, v: Array) -> Array:
        r = rows[min(int(np.floor(t * 1e3 + 1e-9)), 99)]
        a = r[4:] + 400.0 * (r[:2] - x) + 40.0 * (r[2:4] - v)
        return nacelle.inverse_dynamics(robot, x, v, a, friction=False).force

    # The last stage of a step would already see the next row: a little before its end it does not.
    asked = simulate(plant, x0, v0, lambda t, x, v: late(t - 1e-7 if t > 0.0 else t, x, v), **settings)
    assert np.max(np.abs(staged.states - held.states)) > 1e-9
    assert np.max(np.abs(staged.states - asked.states)) < np.max(np.abs(staged.states - held.states))


def test_options_shape_the_law() -> None:
    """Critically damped, so the tip comes to its circle as e(t) = e0 (1 + w t) exp(-w t)."""
    robot = library_robot("fivebar")
    plant, x0 = RigidPlant(robot, friction=False), nacelle.reference_pose(robot)
    law = nacelle.feedback(computed_force, circle, stiffness=100.0, damping=20.0)
    run = simulate(plant, x0 + np.array([0.01, 0.0]), circle(0.0)[2:4], law, until=0.3, method="rk4")
    end = np.linalg.norm(run.x[-1] - circle(0.3)[:2])
    assert end == pytest.approx(0.01 * 4.0 * np.exp(-3.0), rel=1e-6)


@pytest.mark.parametrize("method", ["dop853", "radau"])
def test_other_methods_take_it(method: str) -> None:
    robot = library_robot("fivebar")
    plant, x0 = RigidPlant(robot, friction=False), nacelle.reference_pose(robot)
    settings = {"until": 0.2, "events": []}
    fine = simulate(plant, x0, force=swing, method="rk4", step=1e-4, **settings)
    tolerance = {"rtol": 1e-9, "atol": 1e-11}
    run = simulate(plant, x0, force=swing, method=method, **settings, **tolerance)
    np.testing.assert_allclose(run.states[-1], fine.states[-1], rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(run.inputs[-1], fine.inputs[-1], rtol=1e-6)
    assert np.max(np.abs(run.balance)) < 1e-7 * np.max(np.abs(run.work))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["3rps", "gough-stewart"])
def test_iterated_legs_and_quaternions(name: str) -> None:
    """A law in the actuators' coordinates on robots with iterated legs and with a quaternion."""
    robot = library_robot(name)
    x0 = nacelle.reference_pose(robot)
    q0 = nacelle.inverse_kinematics(robot, x0).actuators
    weight = nacelle.gravity_forces(robot, x0, coordinates="actuators")
    count = len(robot.actuators)

    @nacelle.physics(q=(count,), qd=(count,))
    def springs(robot, q, qd):
        return 1.1 * weight - 2e4 * (q - q0) - 300.0 * qd

    def asked(t: float, x: Array, v: Array) -> Array:
        q, rate, _ = nacelle.joint_motion(robot, x, v).actuators
        return 1.1 * weight - 2e4 * (q - q0) - 300.0 * rate

    plant = RigidPlant(robot, friction=False)
    native = simulate(plant, x0, force=springs, until=0.02, method="rk4")
    python = simulate(plant, x0, force=asked, until=0.02, method="rk4")
    assert np.max(np.abs(native.x[-1] - x0)) > 1e-6
    np.testing.assert_allclose(native.states, python.states, rtol=0.0, atol=1e-12)


@nacelle.physics(x=(2,), speed=(2,))
def unknown_signal(robot, x, speed):
    return x


@nacelle.physics(x=(3,))
def wrong_size(robot, x):
    return x[:2]


@nacelle.physics(x=(2,))
def wrong_result(robot, x):
    return x[:1]


@pytest.mark.parametrize(
    ("law", "words"),
    [
        (unknown_signal, "takes 'speed'"),
        (wrong_size, r"declares x with the shape \(3,\); of fivebar it is \(2,\)"),
        (wrong_result, r"gives the shape \(1,\); fivebar has 2 actuators"),
        (nacelle.feedback(computed_force), "the reference of 'computed_force' is missing"),
        (nacelle.feedback(computed_force, np.zeros((3, 6))), "for 1000 steps of fivebar"),
        (
            nacelle.feedback(computed_force, lambda t: np.zeros(5)),
            r"gives \(6,\) numbers, got the shape \(5,\)",
        ),
    ],
)
def test_mistakes(law, words: str) -> None:
    robot = library_robot("fivebar")
    with pytest.raises(nacelle.NacelleError, match=words):
        simulate(robot, nacelle.reference_pose(robot), force=law, until=1.0, method="rk4")


def test_a_plain_function_is_no_law() -> None:
    with pytest.raises(nacelle.KinematicsError, match="does not declare its inputs"):
        nacelle.feedback(lambda t: np.zeros(2))


def test_a_slow_controller_on_short_steps() -> None:
    """Held over three steps of the method: as forces that are given by row for each of them."""
    robot = library_robot("fivebar")
    plant, x0 = RigidPlant(robot, smooth=0.01), nacelle.reference_pose(robot)
    law = nacelle.feedback(computed_force, reference=circle)
    settings = {"until": 0.1, "method": "rk4", "hold": True}
    slow = simulate(plant, x0, circle(0.0)[2:4], law, step=1e-3, substeps=3, **settings)
    rows = np.repeat(slow.inputs[:-1], 3, axis=0)
    short = simulate(plant, x0, circle(0.0)[2:4], rows, step=1e-3 / 3.0, **settings)
    np.testing.assert_allclose(slow.states, short.states[::3], rtol=0.0, atol=1e-13)
    assert slow.evaluations == short.evaluations
    by_rows = simulate(plant, x0, circle(0.0)[2:4], slow.inputs[:-1], step=1e-3, substeps=3, **settings)
    np.testing.assert_array_equal(slow.states, by_rows.states)
    asked = simulate(
        plant,
        x0,
        circle(0.0)[2:4],
        lambda t, x, v: in_python(robot, t, x, v),
        step=1e-3,
        substeps=3,
        **settings,
    )
    np.testing.assert_allclose(slow.states, asked.states, rtol=0.0, atol=1e-12)


def test_substeps_go_with_forces_that_are_held() -> None:
    robot = library_robot("fivebar")
    x0 = nacelle.reference_pose(robot)
    for options, words in (
        ({"method": "rk4", "substeps": 2}, "held"),
        ({"method": "dop853", "substeps": 2}, "rk4"),
        ({"method": "rk4", "substeps": 0}, "one substep"),
    ):
        with pytest.raises(nacelle.KinematicsError, match=words):
            simulate(robot, x0, None, lambda t: np.zeros(2), until=0.01, **options)
