"""Simulation: feedback, flow, forces, many robots, runs."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import nacelle
from nacelle.dynamics.physics import Physics
from nacelle.dynamics.reference import inverse
from nacelle.errors import KinematicsError
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.simulation.flow import (
    coordinates_from_pose,
    flow,
    pose_from_coordinates,
    reference_orientation,
    state_size,
)
from nacelle.simulation.inputs import plant_inputs
from nacelle.simulation.integration import Integration
from nacelle.simulation.rigid_plant import rigid_plant
from nacelle.simulation.run import RunSettings, first_grid, next_grid
from nacelle.simulation.simulate import simulate
from support import fake_cupy
from support.library import library_robot

# ---- The flow of a rigid robot: rotations as SciPy's, rates by differences, forward dynamics


@pytest.mark.parametrize("name", ["fivebar", "gough-stewart"])
def test_derivative_of_the_state(name: str) -> None:
    robot = library_robot(name)
    mechanism = mechanism_of(robot)
    quat_0, n = reference_orientation(mechanism), robot.motion.n
    random = np.random.default_rng(0)
    x = np.asarray(mechanism.reference[0])
    c = np.asarray(coordinates_from_pose(mechanism, x, quat_0), dtype=float) + 0.01 * random.normal(size=n)
    v, tau = 0.2 * random.normal(size=n), 10.0 * random.normal(size=len(robot.actuators))
    s = np.concatenate([c, v])
    assert state_size(robot) == s.shape
    change = np.asarray(flow(robot, s, tau, quat_0, physics=Physics(smooth=0.1)), dtype=float)
    x = np.asarray(pose_from_coordinates(mechanism, c, quat_0), dtype=float)
    expected = nacelle.forward_dynamics(robot, x, v, tau, smooth=0.1).a
    np.testing.assert_allclose(change[n:], expected, rtol=1e-8)
    # Along the change of the coordinates the pose moves with the twist v.
    h = 1e-6
    ahead, behind = (
        np.asarray(pose_from_coordinates(mechanism, c + k * h * change[:n], quat_0), dtype=float)
        for k in (1, -1)
    )
    np.testing.assert_allclose((ahead[:2] - behind[:2]) / (2.0 * h), v[:2], atol=1e-8)
    if n == 6:
        turn = Rotation.from_quat(ahead[3:]) * Rotation.from_quat(behind[3:]).inv()
        np.testing.assert_allclose(turn.as_rotvec() / (2.0 * h), v[3:], atol=1e-7)


# ---- What drives a plant: constants, rows, functions of time, all in one form


class Two:
    """A plant with two inputs."""

    size, inputs, name = 2, 2, "two"


def test_mistakes() -> None:
    for force in ([1.0], [1.0, np.nan], "much"):
        with pytest.raises(KinematicsError):
            plant_inputs(Two(), force)


# ---- many
#
# Many robots in one call against one robot at a time, and against the description's own numbers.


def start(robot: nacelle.Robot, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(4)
    x = np.asarray(nacelle.reference_pose(robot)) + rng.uniform(-0.02, 0.02, (count, 2))
    return x, rng.normal(scale=0.1, size=(count, 2)), rng.normal(scale=0.2, size=(count, 2))


@pytest.mark.slow
def test_each_robot_moves_as_it_does_alone() -> None:
    robot = nacelle.load("fivebar")
    x, v, force = start(robot, 5)
    groups = ("inertia", "friction")
    numbers = robot.numbers.vector(*groups) * np.linspace(0.8, 1.2, 5)[:, None]
    options = {"until": 0.02, "samples": 2, "parameters": numbers, "groups": groups}
    motions = nacelle.simulation.simulate_many(robot, x, v, force, **options)
    assert motions.x.shape == (5, 2, 2)
    assert np.allclose(motions.t, [0.01, 0.02])
    assert not motions.status.any()
    other = robot.with_numbers(numbers[3], *groups)
    alone = nacelle.simulate(
        other,
        x[3],
        v[3],
        force[3],
        until=0.02,
        integration=nacelle.simulation.Integration("rk4", step=1e-3),
        events=[],
    )
    assert np.allclose(motions.x[3, -1], alone.x[-1], atol=1e-12)
    assert np.allclose(motions.v[3, -1], alone.v[-1], atol=1e-10)
    with fake_cupy.in_place(fake_cupy.fake_module()) as cupy:
        given = [cupy.asarray(array) for array in (x, v, force)]
        options["parameters"] = cupy.asarray(numbers)
        moved = nacelle.simulation.simulate_many(robot, *given, **options, target="cuda")
        assert isinstance(moved.x, cupy.ndarray)
        assert np.allclose(moved.x, motions.x, atol=1e-12)
        assert np.allclose(moved.v, motions.v, atol=1e-10)
        with pytest.raises(nacelle.errors.DeviceError, match=r"'x0' is .* processor's memory"):
            nacelle.simulation.simulate_many(robot, x, until=0.01, target="cuda")


def test_what_cannot_be() -> None:
    robot = nacelle.load("fivebar")
    x, v, _ = start(robot, 4)
    for words, arguments, options in (
        ("whole number of steps", (x,), {"until": 0.0105}),
        ("divisor", (x,), {"until": 0.01, "samples": 3}),
        (r"x0 has the shape \(4, 1\)", (x[:, :1],), {"until": 0.01}),
        ("different numbers of robots", (x, v[:3]), {"until": 0.01}),
        ("explicit fixed steps", (x,), {"until": 0.01, "integration": Integration("irk5")}),
    ):
        with pytest.raises(KinematicsError, match=words):
            nacelle.simulation.simulate_many(robot, *arguments, **options)


# ---- Runs: steps that fill the time, and go on where an earlier run has ended

PLAIN = RunSettings(
    tau=None,
    start=0.0,
    until=1.0,
    integration=Integration("rk4", step=0.01),
    samples=None,
    events=(),
    progress=False,
)


def test_a_run_goes_on_with_its_own_steps() -> None:
    grid = first_grid(PLAIN)
    further = next_grid(PLAIN.with_options(until=1.5), grid, 1.0)
    assert (further.origin, further.h) == (grid.origin, grid.h)
    assert (further.first, further.last) == (100, 150)
    # A time that is on no step of the earlier run begins a new grid, which ends there exactly.
    other = next_grid(PLAIN.with_options(until=1.5037), grid, 1.0)
    assert other.origin + other.h * other.last == pytest.approx(1.5037)
    assert other.origin + other.h * other.first == pytest.approx(1.0)


@pytest.mark.parametrize("change", [{"samples": 1}, {"until": -1.0}, {"until": np.inf}])
def test_mistakes_of_run(change: dict[str, object]) -> None:
    with pytest.raises(KinematicsError):
        dataclasses.replace(PLAIN, **change).check()


# ---- Compiled feedback: equal to the same law in Python, held or at every stage, in every method

Array = np.ndarray


@nacelle.dynamics.physics(x=(2,), y=(0,), v=(2,), r=(6,))
def computed_force(robot, x, y, v, r, *, stiffness: float = 400.0, damping: float = 40.0):
    """Inverse dynamics at the wanted acceleration, corrected by what the tip is off."""
    a = r[4:] + stiffness * (r[:2] - x) + damping * (r[2:4] - v)
    return inverse(robot, x, y, v, a, np.zeros(2), physics=Physics(friction=False))["force"]


@nacelle.dynamics.physics(t=(), q=(2,), qd=(2,))
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
    return nacelle.inverse_dynamics(robot, x, v, a, friction=False).tau


@pytest.mark.costly
@pytest.mark.parametrize("hold", [False, True])
def test_computed_force_in_one_native_loop(hold: bool) -> None:
    robot = library_robot("fivebar")
    plant, x0 = rigid_plant(robot, friction=False), nacelle.reference_pose(robot)
    settings = {"until": 0.2, "integration": Integration("rk4", step=1e-3, hold=hold)}
    law = nacelle.simulation.feedback(computed_force, reference=circle)
    native = simulate(plant, x0, circle(0.0)[2:4], law, **settings)
    asked = simulate(plant, x0, circle(0.0)[2:4], lambda t, x, v: in_python(robot, t, x, v), **settings)
    np.testing.assert_allclose(native.states, asked.states, rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(native.tau, asked.tau, rtol=1e-9)
    off = np.max(np.abs(native.x - [circle(t)[:2] for t in native.t]))
    # At every stage the errors are those of the method; a controller that holds is half a step late.
    assert off < 1e-9 if not hold else 1e-6 < off < 1e-3


def test_a_reference_in_rows_is_held() -> None:
    robot = library_robot("fivebar")
    plant, x0, v0 = rigid_plant(robot, friction=False), nacelle.reference_pose(robot), circle(0.0)[2:4]
    rows = np.array([circle(1e-3 * k) for k in range(100)])
    settings = {"until": 0.1, "integration": Integration("rk4", step=1e-3)}
    holding = {"until": 0.1, "integration": Integration("rk4", step=1e-3, hold=True)}
    held = simulate(
        plant,
        x0,
        v0,
        nacelle.simulation.feedback(computed_force, circle),
        **holding,
    )
    table = simulate(
        plant,
        x0,
        v0,
        nacelle.simulation.feedback(computed_force, rows),
        **holding,
    )
    np.testing.assert_array_equal(table.states, held.states)
    staged = simulate(plant, x0, v0, nacelle.simulation.feedback(computed_force, rows), **settings)

    def late(t: float, x: Array, v: Array) -> Array:
        r = rows[min(int(np.floor(t * 1e3 + 1e-9)), 99)]
        a = r[4:] + 400.0 * (r[:2] - x) + 40.0 * (r[2:4] - v)
        return nacelle.inverse_dynamics(robot, x, v, a, friction=False).tau

    # The last stage of a step would already see the next row: a little before its end it does not.
    asked = simulate(plant, x0, v0, lambda t, x, v: late(t - 1e-7 if t > 0.0 else t, x, v), **settings)
    assert np.max(np.abs(staged.states - held.states)) > 1e-9
    assert np.max(np.abs(staged.states - asked.states)) < np.max(np.abs(staged.states - held.states))


def test_options_shape_the_law() -> None:
    """Critically damped, so the tip comes to its circle as e(t) = e0 (1 + w t) exp(-w t)."""
    robot = library_robot("fivebar")
    plant, x0 = rigid_plant(robot, friction=False), nacelle.reference_pose(robot)
    law = nacelle.simulation.feedback(computed_force, circle, stiffness=100.0, damping=20.0)
    run = simulate(
        plant, x0 + np.array([0.01, 0.0]), circle(0.0)[2:4], law, until=0.3, integration=Integration("rk4")
    )
    end = np.linalg.norm(run.x[-1] - circle(0.3)[:2])
    assert end == pytest.approx(0.01 * 4.0 * np.exp(-3.0), rel=1e-6)


@pytest.mark.parametrize("method", ["dop853", "radau"])
def test_other_methods_take_it(method: str) -> None:
    robot = library_robot("fivebar")
    plant, x0 = rigid_plant(robot, friction=False), nacelle.reference_pose(robot)
    settings = {"until": 0.2, "events": []}
    fine = simulate(plant, x0, tau=swing, integration=Integration("rk4", step=1e-4), **settings)
    tolerance = {"rtol": 1e-9, "atol": 1e-11}
    run = simulate(plant, x0, tau=swing, integration=Integration(method, **tolerance), **settings)
    np.testing.assert_allclose(run.states[-1], fine.states[-1], rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(run.tau[-1], fine.tau[-1], rtol=1e-6)
    assert np.max(np.abs(run.balance)) < 1e-7 * np.max(np.abs(run.work))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["3rps", "gough-stewart"])
def test_iterated_legs_and_quaternions(name: str) -> None:
    """A law in the actuators' coordinates on robots with iterated legs and with a quaternion."""
    robot = library_robot(name)
    x0 = nacelle.reference_pose(robot)
    q0 = nacelle.inverse_kinematics(robot, x0).q
    weight = nacelle.gravity_forces(robot, x0, coordinates="actuators")
    count = len(robot.actuators)

    @nacelle.dynamics.physics(q=(count,), qd=(count,))
    def springs(robot, q, qd):
        return 1.1 * weight - 2e4 * (q - q0) - 300.0 * qd

    def asked(t: float, x: Array, v: Array) -> Array:
        q, rate, _ = nacelle.kinematics.joint_motion(robot, x, v).actuators
        return 1.1 * weight - 2e4 * (q - q0) - 300.0 * rate

    plant = rigid_plant(robot, friction=False)
    native = simulate(plant, x0, tau=springs, until=0.02, integration=Integration("rk4"))
    python = simulate(plant, x0, tau=asked, until=0.02, integration=Integration("rk4"))
    assert np.max(np.abs(native.x[-1] - x0)) > 1e-6
    np.testing.assert_allclose(native.states, python.states, rtol=0.0, atol=1e-12)


@nacelle.dynamics.physics(x=(2,), speed=(2,))
def unknown_signal(robot, x, speed):
    return x


@nacelle.dynamics.physics(x=(3,))
def wrong_size(robot, x):
    return x[:2]


@nacelle.dynamics.physics(x=(2,))
def wrong_result(robot, x):
    return x[:1]


@pytest.mark.parametrize(
    ("law", "words"),
    [
        (unknown_signal, "takes 'speed'"),
        (wrong_size, r"takes x with the shape \(3,\); of fivebar it is \(2,\)"),
        (wrong_result, r"gives the shape \(1,\); fivebar has 2 actuators"),
        (nacelle.simulation.feedback(computed_force), "the reference of 'computed_force' is missing"),
        (nacelle.simulation.feedback(computed_force, np.zeros((3, 6))), "for 1000 steps of fivebar"),
        (
            nacelle.simulation.feedback(computed_force, lambda t: np.zeros(5)),
            r"gives \(6,\) numbers, got the shape \(5,\)",
        ),
    ],
)
def test_mistakes_of_feedback(law, words: str) -> None:
    robot = library_robot("fivebar")
    with pytest.raises(nacelle.NacelleError, match=words):
        simulate(robot, nacelle.reference_pose(robot), tau=law, until=1.0, integration=Integration("rk4"))


def test_a_plain_function_is_no_law() -> None:
    with pytest.raises(nacelle.KinematicsError, match="does not declare its inputs"):
        nacelle.simulation.feedback(lambda t: np.zeros(2))


def test_a_slow_controller_on_short_steps() -> None:
    """Held over three steps of the method: as forces that are given by row for each of them."""
    robot = library_robot("fivebar")
    plant, x0 = rigid_plant(robot, smooth=0.01), nacelle.reference_pose(robot)
    law = nacelle.simulation.feedback(computed_force, reference=circle)
    settings = {"until": 0.1}
    slow = simulate(
        plant,
        x0,
        circle(0.0)[2:4],
        law,
        integration=Integration("rk4", step=1e-3, hold=True, substeps=3),
        **settings,
    )
    rows = np.repeat(slow.tau[:-1], 3, axis=0)
    short = simulate(
        plant,
        x0,
        circle(0.0)[2:4],
        rows,
        integration=Integration("rk4", step=1e-3 / 3.0, hold=True),
        **settings,
    )
    np.testing.assert_allclose(slow.states, short.states[::3], rtol=0.0, atol=1e-13)
    assert slow.evaluations == short.evaluations
    by_rows = simulate(
        plant,
        x0,
        circle(0.0)[2:4],
        slow.tau[:-1],
        integration=Integration("rk4", step=1e-3, hold=True, substeps=3),
        **settings,
    )
    np.testing.assert_array_equal(slow.states, by_rows.states)
    asked = simulate(
        plant,
        x0,
        circle(0.0)[2:4],
        lambda t, x, v: in_python(robot, t, x, v),
        integration=Integration("rk4", step=1e-3, hold=True, substeps=3),
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
            simulate(robot, x0, None, lambda t: np.zeros(2), until=0.01, integration=Integration(**options))
