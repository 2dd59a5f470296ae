"""Simulated experiments: motions, forces, readings, lags, energy, and what cannot be."""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nacelle
from nacelle.errors import IdentificationError
from nacelle.identification.experiment import (
    Effects,
    Experiment,
    JointServo,
    Sensors,
    perturb_parameters,
    simulate_experiment,
    with_stribeck,
)
from nacelle.identification.experiment.simulated import RepeatedTrajectory, controller_reference
from nacelle.trajectory.base import Trajectory
from support.library import library_robot
from support.stress_robots import STRESS

# ---- simulated experiments
#
# Simulated experiments obey what holds of any motion: inverse dynamics, energy, equations of the controller.

Array = np.ndarray


def slow(*names: str) -> list[Any]:
    """Robots for which more is compiled."""
    return [pytest.param(name, marks=pytest.mark.slow) for name in names]


def excitation(
    robot: nacelle.Robot, size: float = 0.02, *, frequency: float = 1.0, duration: float | None = None
) -> Trajectory:
    """A Fourier series of three harmonics about the reference pose, `size` in m and rad."""
    rng = np.random.default_rng(4)
    a, b = size * rng.normal(size=(2, 3, robot.motion.n)) / np.arange(1, 4)[:, None]
    return nacelle.trajectory.Fourier(
        nacelle.reference_pose(robot), a, b, motion=robot.motion, frequency=frequency, duration=duration
    )


@cache
def without_coulomb(name: str) -> nacelle.Robot:
    """A robot of the library with viscous friction alone, whose motion is smooth."""
    robot = library_robot(name)
    parameters = nacelle.dynamics.linear_parameters(robot)
    keep = [not label.endswith((".coulomb", ".stribeck")) for label in parameters.names]
    return nacelle.dynamics.with_linear_parameters(robot, parameters.values * np.array(keep, dtype=float))


def ideal(robot: nacelle.Robot, trajectory: Trajectory, **options: Any) -> Any:
    return simulate_experiment(robot, trajectory, true=robot, sensors=Sensors.ideal(), **options)


def actuator_jacobian(robot: nacelle.Robot, x: Array) -> Array:
    """Rates of the actuators from the reduced twist (N, actuators, n)."""
    twists = np.eye(robot.motion.n)
    columns = [
        nacelle.kinematics.joint_motion(robot, x, np.tile(v, (len(x), 1))).actuators[1] for v in twists
    ]
    return np.stack(columns, axis=-1)


def second_difference(x: Array, rate: float) -> Array:
    """Second derivatives (N - 4, n) by five points, of order four."""
    weights = np.array([-1.0, 16.0, -30.0, 16.0, -1.0]) / 12.0
    return sum(w * x[k : len(x) - 4 + k] for k, w in enumerate(weights)) * rate**2


@pytest.mark.slow
@pytest.mark.parametrize("name", ["fivebar", *slow("delta")])
def test_a_robot_like_its_model_follows(name: str) -> None:
    """The error is that of forces that are held, of second order in the sample."""
    robot = without_coulomb(name)
    errors = []
    for rate in (500.0, 1000.0):
        run = ideal(robot, excitation(robot), rate=rate)
        errors.append(np.max(np.abs(run.tracking_error)))
    assert errors[1] < 1e-6
    assert 3.0 < errors[0] / errors[1] < 5.0


@pytest.mark.slow
@pytest.mark.parametrize("name", ["fivebar", *slow("delta")])
def test_forces_are_those_of_inverse_dynamics_along_the_motion(name: str) -> None:
    """From positions alone, by differences: what a measured force must agree with, of second order."""
    robot = without_coulomb(name)
    true = perturb_parameters(robot, 20.0)
    gaps = []
    for rate in (1000.0, 2000.0):
        run = simulate_experiment(robot, excitation(robot), true=true, sensors=Sensors.ideal(), rate=rate)
        # After the start, where the error of the model comes up.
        inside = slice(int(0.3 * rate), -2)
        a = second_difference(run.x, rate)[inside.start - 2 :]
        force = nacelle.inverse_dynamics(true, run.x[inside], run.v[inside], a).tau
        gaps.append(np.max(np.abs(force - run.measurement.tau[inside])) / np.max(np.abs(force)))
    assert gaps[1] < 2e-4
    assert gaps[0] / gaps[1] > 3.0


@pytest.mark.parametrize("name", ["fivebar", *slow("delta", "palida")])
def test_accelerations_belong_to_the_forces(name: str) -> None:
    """With all friction, to rounding: x, v, a and the mean force are one state of the true robot."""
    robot = library_robot(name)
    run = simulate_experiment(robot, excitation(robot, 0.01), rate=500.0)
    force = nacelle.inverse_dynamics(run.true, run.x, run.v, run.a, smooth=run.experiment.smooth).tau
    np.testing.assert_allclose(run.tau, force, rtol=0.0, atol=1e-11 * np.max(np.abs(force)))
    assert np.max(np.abs(run.tracking_error)) > 1e-5


@pytest.mark.slow
def test_what_the_model_does_not_know() -> None:
    robot = library_robot("fivebar")
    effects = Effects(cogging=[0.02, 0.05], phase=0.4, stribeck=0.4)
    run = simulate_experiment(robot, excitation(robot), effects=effects, smooth=0.02)
    known = nacelle.inverse_dynamics(perturb_parameters(robot), run.x, run.v, run.a, smooth=0.02).tau
    np.testing.assert_allclose(run.tau - known, run.unmodelled, atol=1e-11)
    assert np.all(np.max(np.abs(run.unmodelled), axis=0) > 0.02)
    assert not np.any(simulate_experiment(robot, excitation(robot), smooth=0.02).unmodelled)


@pytest.mark.slow
def test_energy() -> None:
    """Work of motors and cogging less friction is the change of the energy, with lag and without."""
    robot = library_robot("fivebar")
    for lag in (0.0, 2e-3):
        effects = Effects(cogging=0.05, phase=[0.3, 1.0], stribeck=0.4, lag=lag)
        run = simulate_experiment(robot, excitation(robot), effects=effects, smooth=0.02).simulation
        assert np.max(np.abs(run.balance)) < 2e-4 * run.dissipated_energy[-1]


@pytest.mark.parametrize(
    "name", slow("redundant planar 4-RRR", "redundant point on three legs", "3rps", "quattro")
)
def test_other_robots(name: str) -> None:
    """Redundant drives, a platform with a loop, platforms with parasitic motion, legs that need iteration."""
    robot = STRESS[name](0) if name in STRESS else library_robot(name)
    run = simulate_experiment(robot, excitation(robot, 0.01), smooth=0.02)
    truth = nacelle.inverse_dynamics(run.true, run.x, run.v, run.a, smooth=0.02)
    J = actuator_jacobian(run.true, run.x)
    along = np.einsum("kij,ki->kj", J, run.tau)
    np.testing.assert_allclose(along, truth.generalised_force, rtol=0.0, atol=1e-9 * np.max(np.abs(along)))
    spread = np.ptp(run.q, axis=0)
    assert np.all(np.max(np.abs(run.tracking_error), axis=0) < 0.2 * spread)
    assert run.simulation.plant.closure_error(run._states) < 1e-10


@pytest.mark.slow
def test_redundant_drives_do_not_work_against_one_another() -> None:
    """What the feedback adds has no part that moves nothing, whatever the encoders read."""
    robot = STRESS["redundant planar 4-RRR"](0)
    sensors = Sensors(resolution=1e-4, noise=1e-4)
    run = simulate_experiment(robot, excitation(robot, 0.01), sensors=sensors, smooth=0.02)
    reference = run.experiment.reference
    J = actuator_jacobian(robot, reference.x)
    inner = np.linalg.svd(J)[0][:, :, 3]
    added = run.simulation.tau[: len(J)] - reference.tau
    assert np.max(np.abs(added)) > 0.1
    assert np.max(np.abs(np.einsum("ki,ki->k", inner, added))) < 1e-11 * np.max(np.abs(added))


@pytest.mark.slow
def test_a_platform_with_a_quaternion() -> None:
    robot = library_robot("palida")
    run = ideal(robot, excitation(robot, 0.02), smooth=0.02)
    assert np.allclose(np.linalg.norm(run.x[:, 3:], axis=1), 1.0)
    assert np.max(np.abs(run.tracking_error)) < 1e-6


def test_shorter_steps_change_little() -> None:
    """Friction that changes its sign almost at once, at the steps that are chosen and at a quarter."""
    robot = library_robot("fivebar")
    experiment = Experiment(robot, excitation(robot), sensors=Sensors.ideal())
    assert experiment.substeps > 3
    coarse = experiment.run()
    experiment.substeps *= 4
    fine = experiment.run()
    assert np.max(np.abs(coarse.q - fine.q)) < 1e-2 * np.max(np.abs(coarse.tracking_error))
    assert np.max(np.abs(coarse.tau - fine.tau)) < 1e-3 * np.max(np.abs(coarse.tau))


def test_readings_are_on_the_grid() -> None:
    robot = library_robot("fivebar")
    resolution, noise = 2e-4, 5e-5
    run = simulate_experiment(
        robot, excitation(robot), sensors=Sensors(resolution, noise, force_noise=[0.02, 0.0])
    )
    counts = run.measurement.q / resolution
    assert np.max(np.abs(counts - np.round(counts))) < 1e-9
    off = run.measurement.q - run.q
    assert np.max(np.abs(off)) < 0.5 * resolution + 6.0 * noise
    assert np.std(off) == pytest.approx(np.hypot(resolution / np.sqrt(12.0), noise), rel=0.1)
    errors = run.measurement.tau - run.tau
    assert np.std(errors[:, 0]) == pytest.approx(0.02, rel=0.1)
    assert not np.any(errors[:, 1])


def test_the_controller_by_hand() -> None:
    """Its equations in NumPy along the true motion, its memory kept in Python."""
    robot = library_robot("fivebar")
    resolution, controller = 1e-4, JointServo(bandwidth=15.0, damping=0.7, filter=60.0)
    sensors = Sensors(resolution, 1e-4, force_noise=0.0)
    experiment = Experiment(robot, excitation(robot), sensors=sensors, controller=controller)
    run = experiment.run(5)
    reference, w, z = experiment.reference, 2.0 * np.pi * 15.0, np.zeros(2)
    commands = []
    for k, read in enumerate(run.measurement.q):
        e = reference.q[k] - read
        rate = 2.0 * np.pi * 60.0 * (e - z)
        commands.append(reference.tau[k] + reference.inertia[k] @ (w**2 * e + 2.0 * 0.7 * w * rate))
        z = z + rate / experiment.rate
    np.testing.assert_allclose(run.simulation.tau[:-1], commands, rtol=1e-7, atol=1e-9)
    u = np.array(commands)
    np.testing.assert_allclose(run.tau[1:], 0.5 * (u[:-1] + u[1:]), rtol=1e-7, atol=1e-9)


def test_currents_that_lag() -> None:
    """The measured force is the mean over a sample of what the motors do, by their differential equation."""
    robot, lag = library_robot("fivebar"), 1.7e-3
    experiment = Experiment(
        robot, excitation(robot, frequency=2.0), effects=Effects(lag=lag), sensors=Sensors.ideal()
    )
    run = experiment.run()
    u, g = run.simulation.tau[:-1], experiment.reference.tau[0].copy()
    fine = 100
    h, path = 1e-3 / fine, []
    for command in u:
        for _ in range(fine):
            path.append(g + 0.5 * h / lag * (command - g))
            g = g + (1.0 - np.exp(-h / lag)) * (command - g)
    means = np.array(path[fine // 2 : -fine // 2]).reshape(-1, fine, 2).mean(axis=1)
    np.testing.assert_allclose(run.tau[1:], means, rtol=0.0, atol=1e-5 * np.max(np.abs(means)))


def test_commands_end_at_the_limits() -> None:
    robot = library_robot("fivebar")
    most = robot.actuators[0].force
    swift = excitation(robot, 0.03, frequency=3.0)
    run = simulate_experiment(robot, swift, controller=JointServo(bandwidth=25.0), sensors=Sensors(5e-3))
    free = JointServo(bandwidth=25.0, limits=False)
    without = simulate_experiment(robot, swift, controller=free, sensors=Sensors(5e-3))
    assert np.max(np.abs(without.tau)) > most
    assert np.max(np.abs(run.simulation.tau)) == most


def test_seeds() -> None:
    robot = library_robot("fivebar")
    experiment = Experiment(robot, excitation(robot), sensors=Sensors(noise=1e-5))
    first, again, other = experiment.run(1), experiment.run(1), experiment.run(2)
    whole = simulate_experiment(robot, excitation(robot), sensors=Sensors(noise=1e-5), seed=1)
    for run in (again, whole):
        np.testing.assert_array_equal(first.measurement.q, run.measurement.q)
        np.testing.assert_array_equal(first.measurement.tau, run.measurement.tau)
    assert whole.true.hash == first.true.hash == other.true.hash
    assert np.any(first.measurement.tau != other.measurement.tau)
    assert np.any(first.x != other.x)


def test_periods() -> None:
    """After settling all periods are alike, and samples are those of one run from before the first on."""
    robot = library_robot("fivebar")
    trajectory = excitation(robot)
    run = simulate_experiment(robot, trajectory, periods=2, settle=0.5, sensors=Sensors.ideal(), smooth=0.02)
    data = run.measurement
    assert len(data) == 2000
    assert data.time[0] == 0.0
    assert data.rate == pytest.approx(1000.0)
    np.testing.assert_allclose(data.reference[:1000], data.reference[1000:], atol=1e-12)
    np.testing.assert_allclose(data.q[:1000], data.q[1000:], atol=1e-6)
    np.testing.assert_allclose(data.tau[:1000], data.tau[1000:], atol=1e-3)
    assert nacelle.inverse_kinematics(robot, trajectory(0.0).x).q == pytest.approx(data.reference[0])


def test_to_csv(tmp_path: Path) -> None:
    robot = library_robot("fivebar")
    run = simulate_experiment(robot, excitation(robot))
    run.to_csv(tmp_path / "run.csv")
    lines = (tmp_path / "run.csv").read_text().splitlines()
    names = [actuator.name for actuator in robot.actuators]
    header = ["time", *(f"{kind}.{name}" for kind in ("q", "force", "reference") for name in names)]
    assert [entry.strip() for entry in lines[0].split(",")] == header
    table = np.loadtxt(lines[1:], delimiter=",")
    np.testing.assert_array_equal(table[:, 1:3], run.measurement.q)
    np.testing.assert_array_equal(table[:, 3:5], run.measurement.tau)


def test_errors() -> None:
    robot = library_robot("fivebar")
    fine = excitation(robot)
    half = excitation(robot, duration=0.4)
    line = nacelle.Line([0.0, 0.0, 0.0], [0.1, 0.0, 0.0], motion="xyz", duration=0.5)
    wrong: list[tuple[Trajectory, dict[str, Any], str]] = [
        (fine, {"controller": JointServo(bandwidth=80.0)}, "too high"),
        (fine, {"controller": JointServo(filter=900.0)}, "filter"),
        (fine, {"sensors": Sensors(resolution=[1e-4] * 3)}, "resolution"),
        (fine, {"sensors": Sensors(force_noise=-1.0)}, "force_noise"),
        (fine, {"sensors": Sensors(dropout=0.1)}, "every reading"),
        (fine, {"true": library_robot("3rrr")}, "no robot like"),
        (fine, {"smooth": 1e-7}, "smooth="),
        (fine, {"periods": 0}, "periods"),
        (half, {"periods": 2}, "ends as it starts"),
        (half, {"settle": 0.1}, "ends as it starts"),
        (line, {}, "motion"),
        (excitation(robot, 0.5), {}, "cannot follow"),
    ]
    for trajectory, options, words in wrong:
        with pytest.raises(IdentificationError, match=words):
            simulate_experiment(robot, trajectory, **options)


@pytest.mark.slow
def test_a_run_that_does_not_reach_its_end() -> None:
    """Without forces of the model a weak controller lets the platform fall to a limit."""
    robot = library_robot("delta")
    weak = JointServo(bandwidth=0.01, feedforward=False)
    with pytest.raises(
        IdentificationError, match=r"simulated experiment of delta ended at .* (limit|singularity|stretch)"
    ):
        simulate_experiment(robot, excitation(robot, frequency=0.2), controller=weak, rate=200.0)


# ---- A robot with its drives as a plant: the rigid robot's flow, lag of currents, cogging, memory

ROBOT = library_robot("fivebar")


# ---- reference
#
# The reference of a simulated experiment: periods, forces between samples, the mass matrix at the actuators.

A = 0.02 * np.ones((1, 2))

CIRCLE = nacelle.trajectory.Fourier(
    nacelle.reference_pose(ROBOT), A, -A, motion=ROBOT.motion, frequency=2.0, duration=0.5
)


def test_reference_is_that_of_the_model() -> None:
    time = np.arange(50) / 100.0
    found = controller_reference(
        ROBOT, RepeatedTrajectory(CIRCLE, 1, 0.0), time, rate=100.0, smooth=None, feedforward=True
    )
    sample = CIRCLE(time)
    np.testing.assert_allclose(found.q, nacelle.inverse_kinematics(ROBOT, sample.x).q, atol=1e-12)
    between = CIRCLE(np.minimum(time + 0.005, 0.5))
    np.testing.assert_allclose(found.tau, nacelle.inverse_dynamics(ROBOT, *between).tau, rtol=1e-10)
    # Kinetic energy is the same by either mass matrix.
    rates = nacelle.kinematics.joint_motion(ROBOT, sample.x, sample.v).actuators[1]
    M = nacelle.mass_matrix(ROBOT, sample.x)
    np.testing.assert_allclose(
        np.einsum("ki,kij,kj->k", rates, found.inertia, rates),
        np.einsum("ki,kij,kj->k", sample.v, M, sample.v),
        rtol=1e-10,
    )
    plain = controller_reference(
        ROBOT, RepeatedTrajectory(CIRCLE, 1, 0.0), time, rate=100.0, smooth=None, feedforward=False
    )
    assert not np.any(plain.tau)


def test_what_cannot_be_repeated() -> None:
    line = nacelle.Line([0.0, 0.2], [0.05, 0.2], motion="xy", duration=1.0)
    RepeatedTrajectory(line, 1, 0.0)
    with pytest.raises(IdentificationError, match="ends as it starts"):
        RepeatedTrajectory(line, 2, 0.0)
    with pytest.raises(IdentificationError, match="0 periods after 0 s"):
        RepeatedTrajectory(line, 0, 0.0)
    other = nacelle.Line([0.0, 0.2, 0.0], [0.05, 0.2, 0.0], motion="xyz", duration=1.0)
    with pytest.raises(IdentificationError, match="motion"):
        controller_reference(
            ROBOT, RepeatedTrajectory(other, 1, 0.0), np.zeros(1), rate=1.0, smooth=None, feedforward=False
        )


# ---- Options of a simulated experiment: defaults from the robot, and numbers that cannot be


@pytest.mark.parametrize(
    ("controller", "words"),
    [
        (JointServo(bandwidth=0.0), "above zero"),
        (JointServo(damping=-1.0), "above zero"),
        (JointServo(bandwidth=51.0), "at most 50 Hz"),
        (JointServo(filter=160.0), "at most 159.155 Hz"),
    ],
)
def test_controllers_that_cannot_be(controller: JointServo, words: str) -> None:
    with pytest.raises(IdentificationError, match=words):
        controller.filter_rate(1000.0)


def test_encoders_count_parts_of_a_turn_of_the_motor() -> None:
    gears = [ROBOT.joints[actuator.joint].gear_ratio for actuator in ROBOT.actuators]
    expected = 2.0 * math.pi / 2**17 / np.abs(gears)
    np.testing.assert_allclose(Sensors().resolutions(ROBOT), expected, rtol=1e-15)
    slides = library_robot("prrrp")
    np.testing.assert_allclose(Sensors(resolution=[1e-3, 0.0]).resolutions(slides), [1e-3, 0.0])
    np.testing.assert_array_equal(Sensors.ideal().resolutions(slides), 0.0)


# ---- Robots that differ from their model: friction by its formula


@pytest.mark.slow
def test_stribeck_is_a_part_of_coulomb() -> None:
    """Where it does not fall off it is more of it, and far beyond its rate there is none."""
    robot = library_robot("fivebar")
    parameters = nacelle.dynamics.linear_parameters(robot)
    factors = np.array([1.5 if name.endswith(".coulomb") else 1.0 for name in parameters.names])
    stronger = nacelle.dynamics.with_linear_parameters(robot, parameters.values * factors)
    state = nacelle.reference_pose(robot), np.array([0.4, -0.3])
    for rate, like in ((1e6, stronger), (1e-3, robot)):
        force = nacelle.inverse_dynamics(with_stribeck(robot, 0.5, rate), *state).tau
        np.testing.assert_allclose(force, nacelle.inverse_dynamics(like, *state).tau, rtol=1e-9)
    assert np.any(factors > 1.0)


def test_errors_of_true_robot() -> None:
    robot = library_robot("fivebar")
    with pytest.raises(IdentificationError, match="Stribeck"):
        with_stribeck(robot, 0.1, 0.0)
