"""Simulation: flow, forces, many robots, events, runs, tracks."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import nacelle
from nacelle.errors import KinematicsError
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.simulation.flow import (
    coordinates_of,
    flow,
    pose_from_coordinates,
    reference_orientation,
    state_size,
)
from nacelle.simulation.inputs import make_drive
from nacelle.simulation.plant import RigidPlant
from nacelle.simulation.protocol import user_event
from nacelle.simulation.run import RunSettings, first_grid, next_grid
from nacelle.simulation.track import HermiteTrack
from support import fake_cupy
from support.library import library_robot
from support.uncompiled import any_robot

# ---- The flow of a rigid robot: rotations as SciPy's, rates by differences, forward dynamics


@pytest.mark.parametrize("name", ["fivebar", "gough-stewart"])
def test_derivative_of_the_state(name: str) -> None:
    robot = library_robot(name)
    mechanism = mechanism_of(robot)
    quat_0, n = reference_orientation(mechanism), robot.motion.n
    random = np.random.default_rng(0)
    x = np.asarray(mechanism.reference[0])
    c = np.asarray(coordinates_of(mechanism, x, quat_0), dtype=float) + 0.01 * random.normal(size=n)
    v, tau = 0.2 * random.normal(size=n), 10.0 * random.normal(size=len(robot.actuators))
    s = np.concatenate([c, v])
    assert state_size(robot) == s.shape
    change = np.asarray(flow(robot, s, tau, quat_0, smooth=0.1), dtype=float)
    x = np.asarray(pose_from_coordinates(mechanism, c, quat_0), dtype=float)
    expected = nacelle.forward_dynamics(robot, x, v, tau, smooth=0.1).acceleration
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
            make_drive(Two(), force)


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
    motions = nacelle.simulate_many(robot, x, v, force, **options)
    assert motions.x.shape == (5, 2, 2)
    assert np.allclose(motions.t, [0.01, 0.02])
    assert not motions.status.any()
    other = robot.with_numbers(numbers[3], *groups)
    alone = nacelle.simulate(other, x[3], v[3], force[3], until=0.02, method="rk4", step=1e-3, events=[])
    assert np.allclose(motions.x[3, -1], alone.x[-1], atol=1e-12)
    assert np.allclose(motions.v[3, -1], alone.v[-1], atol=1e-10)
    with fake_cupy.in_place(fake_cupy.fake()) as cupy:
        given = [cupy.asarray(array) for array in (x, v, force)]
        options["parameters"] = cupy.asarray(numbers)
        moved = nacelle.simulate_many(robot, *given, **options, target="cuda")
        assert isinstance(moved.x, cupy.ndarray)
        assert np.allclose(moved.x, motions.x, atol=1e-12)
        assert np.allclose(moved.v, motions.v, atol=1e-10)
        with pytest.raises(nacelle.DeviceError, match=r"'x0' is .* processor's memory"):
            nacelle.simulate_many(robot, x, until=0.01, target="cuda")


def test_what_cannot_be() -> None:
    robot = nacelle.load("fivebar")
    x, v, _ = start(robot, 4)
    for words, arguments, options in (
        ("whole number of steps", (x,), {"until": 0.0105}),
        ("divisor", (x,), {"until": 0.01, "samples": 3}),
        (r"x0 has the shape \(4, 1\)", (x[:, :1],), {"until": 0.01}),
        ("different numbers of robots", (x, v[:3]), {"until": 0.01}),
    ):
        with pytest.raises(KinematicsError, match=words):
            nacelle.simulate_many(robot, *arguments, **options)


# ---- Events: numbers that are positive before they happen


def test_an_event_of_the_user_sees_pose_and_twist() -> None:
    plant = RigidPlant(any_robot("fivebar"))
    event = user_event(plant, "low", lambda t, x, v: x[1] - 0.2 + 0.0 * t + 0.0 * v[0])
    s = np.stack([plant.state([0.0, y], [0.0, 0.0]) for y in (0.25, 0.3)])
    assert event.names == ("low",)
    np.testing.assert_allclose(event.values(np.zeros(2), s)[:, 0], [0.05, 0.1], atol=1e-12)


# ---- Runs: steps that fill the time, and go on where an earlier run has ended

PLAIN = RunSettings(
    force=None,
    start=0.0,
    until=1.0,
    method="rk4",
    step=0.01,
    max_step=1.0,
    hold=False,
    substeps=1,
    samples=None,
    rtol=1e-8,
    atol=1e-10,
    events=(),
    progress=False,
)


def test_a_run_goes_on_with_its_own_steps() -> None:
    grid = first_grid(PLAIN)
    further = next_grid(PLAIN.changed(until=1.5), grid, 1.0)
    assert (further.origin, further.h) == (grid.origin, grid.h)
    assert (further.first, further.last) == (100, 150)
    # A time that is on no step of the earlier run begins a new grid, which ends there exactly.
    other = next_grid(PLAIN.changed(until=1.5037), grid, 1.0)
    assert other.origin + other.h * other.last == pytest.approx(1.5037)
    assert other.origin + other.h * other.first == pytest.approx(1.0)


@pytest.mark.parametrize("change", [{"samples": 1}, {"step": 0.0}, {"until": -1.0}, {"method": "euler"}])
def test_mistakes_of_run(change: dict[str, object]) -> None:
    with pytest.raises(KinematicsError):
        dataclasses.replace(PLAIN, **change).check()


# ---- track
#
# Between the steps of a run: a cubic that is exact for cubic motions, and one state where nothing moved.


class Cubic:
    """ds/dt = u with u = 3 t^2: s = t^3."""

    size, inputs, name = 1, 1, "cubic"

    def derivative(self) -> object:
        return lambda s, u: u


def test_a_cubic_is_met_exactly() -> None:
    drive = make_drive(Cubic(), lambda t: np.array([3.0 * t * t]))
    breaks = np.array([0.0, 0.5, 1.2])
    values = breaks[:, None] ** 3
    track = HermiteTrack(
        drive, breaks, values, np.arange(2), drive.forces(np.arange(2), breaks[:-1], values[:-1])
    )
    t = np.linspace(0.0, 1.2, 7)
    np.testing.assert_allclose(track.states(t)[:, 0], t**3, atol=1e-14)
    np.testing.assert_allclose(track.inputs(t, track.states(t))[:, 0], 3.0 * t**2, atol=1e-14)
