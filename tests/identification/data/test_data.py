"""Data: channels, column map, measured path, measurement, poses, vibration."""

from __future__ import annotations

import dataclasses
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nacelle
from nacelle.errors import MeasurementError
from nacelle.identification.data.measurement import Measurement
from nacelle.identification.data.poses import (
    PlatformMotion,
    least_squares_poses,
    measured_path,
    motion_from_rates,
    path_poses,
)
from nacelle.identification.data.preparation import high_pass_impulse, prepare
from nacelle.identification.data.read import (
    Channel,
    ChannelError,
    PositionSpec,
    position_channel,
    read_column_map,
    read_measurement,
)
from nacelle.kinematics.flags import Flag
from nacelle.model.robot import Robot
from nacelle.trajectory.sampling import sample_trajectory
from support.closed_loop import FIVEBAR
from support.identification import fourier
from support.library import library_robot

# ---- Column maps: shapes, units with spaces, and actuators that a robot has not

ROBOT = library_robot("fivebar")

NAMES = [actuator.name for actuator in ROBOT.actuators]


def column_map(entry: dict[str, Any], **other: Any) -> dict[str, Any]:
    return {"time": {"column": "t"}, "actuators": dict.fromkeys(NAMES, entry)} | other


GOOD = {"position": {"column": "e"}, "current": {"column": 7, "torque_constant": "0.1 N m/A"}}


def test_text_file_and_mapping_are_one(tmp_path: Path) -> None:
    inner = "{position: {column: e}, current: {column: 7, torque_constant: 0.1 N m/A}}"
    text = "time: {column: t}\nactuators:\n" + "".join(f"  {name}: {inner}\n" for name in NAMES)
    (tmp_path / "map.yaml").write_text(text, encoding="utf-8")
    specs = [read_column_map(given, ROBOT).spec for given in (text, tmp_path / "map.yaml", column_map(GOOD))]
    assert specs[0] == specs[1] == specs[2]
    assert specs[0].actuators is not None
    current = specs[0].actuators[NAMES[0]].current
    assert current is not None
    assert (current.column, current.torque_constant) == ("7", "0.1 N*m/A")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (column_map(GOOD, time={"column": "t", "step": "1 ms"}), "exactly one of column, step"),
        (column_map(GOOD | {"force": {"column": "f"}}), "exactly one of force, current"),
        (
            column_map({"position": {"column": "e", "counts_per_turn": 0}, "force": {"column": "f"}}),
            "counts_per_turn",
        ),
        ({"actuators": {NAMES[0]: GOOD}}, f"no columns for {NAMES[1]}"),
        ({"actuators": {**dict.fromkeys(NAMES, GOOD), "rigth.motor": GOOD}}, "no actuator 'rigth.motor'"),
    ],
)
def test_what_is_no_map(given: dict[str, Any], words: str) -> None:
    with pytest.raises(MeasurementError, match=words):
        read_column_map(given, ROBOT)


def test_every_fault_of_a_map_is_reported_at_once(tmp_path: Path) -> None:
    """Keys, values, names, columns, units and gears, each at its line."""
    (tmp_path / "log.csv").write_text("t,e1,e2,i2\n0,0,0,0\n1,0,0,0\n", encoding="utf-8")
    lines = [
        "time: {column: t, unit: parsec}",
        "delay: 3 kg",
        "actuators:",
        "  left.motor:",
        "    position: {column: e1, sine: -1}",
        "    force: {column: nowhere}",
        "  right.motor:",
        "    position: {column: e2, unit: mm}",
        "    current: {column: i2, gear_ratio: 0, torque_constant: 0.1 N m/A}",
        "  rigth.motor: {}",
    ]
    with pytest.raises(MeasurementError, match="problems in the column map") as caught:
        read_measurement(ROBOT, tmp_path / "log.csv", "\n".join(lines))
    paths = {problem.line: problem.path for problem in caught.value.problems}
    assert paths[1] == "time.unit"
    assert paths[2] == "delay"
    assert "sine" in paths[5]
    assert paths[6].endswith("force.column")
    assert paths[8].endswith("position.unit")
    assert paths[9].endswith("gear_ratio")
    assert "rigth" in paths[10]
    # Nothing follows from a fault that is named already.
    assert not any("no columns for" in problem.message for problem in caught.value.problems)


def test_text_that_is_no_yaml() -> None:
    with pytest.raises(MeasurementError, match="not YAML") as caught:
        read_column_map("time: {column\nx: ]\n", ROBOT)
    assert caught.value.problems[0].line > 0


# ---- Poses along measured coordinates: there and back, samples that are lost, limits, rates

T = np.linspace(0.0, 1.0, 80)

X = nacelle.reference_pose(ROBOT) + 0.03 * np.stack([np.sin(4.0 * T), np.cos(3.0 * T) - 1.0], axis=1)


def coordinates() -> np.ndarray:
    return nacelle.inverse_kinematics(ROBOT, X).q


def test_there_and_back_with_a_lost_sample() -> None:
    q = coordinates()
    q[40] = np.nan
    path = measured_path(ROBOT, q)
    kept = np.arange(80) != 40
    np.testing.assert_allclose(path.x[kept], X[kept], atol=1e-10)
    np.testing.assert_array_equal(path.good, kept)
    assert path.lost_share == pytest.approx(1.0 / 80.0)
    assert not np.any(path.gap)


def test_coordinates_beyond_limits_are_not_sought() -> None:
    lower, upper = ROBOT.actuators[0].position
    assert np.isfinite(lower)
    assert np.isfinite(upper)
    far = coordinates()
    far[:, 0] = upper + 0.5 * (upper - lower)
    path = measured_path(ROBOT, far, largest_lost_fraction=0.5)
    assert path.lost_share == 1.0
    assert np.all(path.beyond[:, 0])
    assert np.all(path.flags == Flag.UNREACHABLE)
    near = coordinates()[:1]
    near[0, 0] = upper + 0.01 * (upper - lower)
    assert not measured_path(ROBOT, near).beyond[0, 0]


# ---- Measurements: rows of the file, names of columns, and the rate of the samples


def test_the_rate_is_that_of_most_steps() -> None:
    """A gap of half a second does not change it."""
    time = np.concatenate([0.002 * np.arange(50), 0.6 + 0.002 * np.arange(50)])
    zeros = np.zeros((100, 2))
    measured = Measurement(library_robot("fivebar"), time, zeros, zeros)
    assert len(measured) == 100
    assert measured.rate == pytest.approx(500.0)


# ---- vibration
#
# Vibration beyond the encoders' filter: that of a robot whose controller answers to noise, and no other.


def test_sines_pass_beyond_the_cutoff_alone() -> None:
    """The integral of cos(w t) is sin(w t) / w: nothing of it below the cutoff, all of it far above."""
    rate, t = 1000.0, np.arange(8000) / 1000.0
    for frequency, part in ((1.0, 0.0), (100.0, 1.0)):
        w = 2.0 * np.pi * frequency
        # A constant force, as weight is, leaves nothing.
        p = high_pass_impulse(3.0 + np.cos(w * t)[:, None], 10.0, rate)
        inner = slice(1000, -1000)
        # Trapezoids are short of an integral by (w / rate)^2 / 12.
        assert p[inner, 0] == pytest.approx(part * np.sin(w * t[inner]) / w, abs=0.04 / w)


def test_it_is_that_of_the_robot() -> None:
    """Encoders with noise of 20 counts: what the filter has taken from the true rates, to two fifths."""
    run = replace(FIVEBAR, noise=20.0).experiment().run(0)
    (samples,) = prepare(run.measurement)
    first = int(np.argmin(np.abs(run.time - samples.time[0])))
    places = slice(first, first + len(samples))
    rates = nacelle.kinematics.joint_motion(run.robot, samples.motion.x, samples.motion.v).actuators[1]
    true = nacelle.kinematics.joint_motion(run.true, run.x[places], run.v[places]).actuators[1]
    left = np.sqrt(np.mean((rates - true)[samples.used] ** 2, axis=0))
    assert np.all(samples.vibration > 0.03)
    assert np.all(left < 0.4 * samples.vibration)


def test_good_encoders_have_none() -> None:
    (samples,) = prepare(FIVEBAR.experiment().run(0).measurement)
    assert np.all(samples.vibration == 0.0)


# ---- Encoders of the description, and channels that cannot be read

REVOLUTE, PRISMATIC = library_robot("fivebar"), library_robot("palida")
NUMBERS = np.array([3.0, 7.0])


def value(channel: Channel) -> np.ndarray:
    values = channel.values(NUMBERS)
    # Factor and offset say the same.
    factor, offset = channel.conversion
    np.testing.assert_allclose(values, factor * NUMBERS + offset, rtol=1e-13, atol=1e-15)
    return values


def position(robot: Robot, header: str = "", **spec: Any) -> np.ndarray:
    spec = {"column": "c", **spec}
    return value(position_channel(robot, robot.actuators[0], PositionSpec(**spec), header, "q.x", ()))


def test_the_encoder_of_the_description() -> None:
    """q = sign reading + zero, where the map gives neither."""
    actuator = dataclasses.replace(REVOLUTE.actuators[0], encoder_zero=0.3, encoder_sign=-1)
    robot = dataclasses.replace(REVOLUTE, actuators=(actuator, *REVOLUTE.actuators[1:]))
    counts = {"unit": "counts", "counts_per_turn": 360}
    np.testing.assert_allclose(position(robot, **counts), 0.3 - np.radians(NUMBERS))
    np.testing.assert_allclose(position(robot, **counts, zero=1.0, sign=1), np.radians(NUMBERS - 1.0))
    np.testing.assert_allclose(position(robot), NUMBERS)  # a coordinate of the joint is one already


@pytest.mark.parametrize(
    ("robot", "spec", "key", "words"),
    [
        (PRISMATIC, {"unit": "deg"}, "unit", "is not a unit of"),
        (REVOLUTE, {"unit": "counts"}, "unit", "how much a count"),
        (PRISMATIC, {"unit": "counts", "counts_per_turn": 8}, "counts_per_turn", "has no turns"),
        (REVOLUTE, {"counts_per_turn": 8}, "counts_per_turn", "for the unit counts"),
        (REVOLUTE, {"gear_ratio": 5}, "gear_ratio", "has no gear"),
        (REVOLUTE, {"side": "motor", "gear_ratio": 0}, "gear_ratio", "is zero"),
    ],
)
def test_what_cannot_be_read(robot: Robot, spec: dict[str, Any], key: str, words: str) -> None:
    with pytest.raises(ChannelError, match=words) as caught:
        position(robot, **spec)
    assert caught.value.key == key


# ---- The motion of the platform from that of the actuators, against motions that are known

Array = np.ndarray
ROBOTS = Path(__file__).parents[2] / "robots"


def slow(*names: str) -> list[Any]:
    return [pytest.param(name, marks=pytest.mark.slow) for name in names]


def robot_of(name: str) -> nacelle.Robot:
    return nacelle.load(ROBOTS / f"{name}.yaml") if name == "redundant" else library_robot(name)


def actuators_along(robot: nacelle.Robot, x: Array, v: Array, a: Array) -> tuple[Array, Array, Array]:
    """Coordinates, rates and accelerations of the actuators, from the model of the joints."""
    motion = nacelle.kinematics.joint_motion(robot, x, v, a)
    _, rates, accelerations = motion.actuators
    return np.asarray(nacelle.inverse_kinematics(robot, x).q), rates, accelerations


def measured_motion(robot: nacelle.Robot, q: Array, rates: Array, accelerations: Array) -> PlatformMotion:
    return motion_from_rates(robot, path_poses(robot, q), rates, accelerations)


@pytest.mark.parametrize(
    "name", ["fivebar", "redundant", *slow("delta", "palida", "3rps", "quattro", "3rrr")]
)
def test_there_and_back(name: str) -> None:
    """Poses, twists and accelerations to actuators and back: quaternions, iterated legs, redundancy."""
    robot = robot_of(name)
    path = fourier(robot, 0.02, duration=5.0)
    motion = sample_trajectory(robot, path, np.linspace(0.0, 1.5, 160))
    found = measured_motion(robot, *actuators_along(robot, motion.x, motion.v, motion.a))
    assert np.all(found.ok)
    np.testing.assert_allclose(found.x, motion.x, atol=1e-9)
    np.testing.assert_allclose(found.v, motion.v, atol=1e-8)
    np.testing.assert_allclose(found.a, motion.a, atol=1e-7)


def test_redundant_encoders_that_disagree() -> None:
    """The pose is that of least squares: no pose near by fits the encoders better."""
    robot = robot_of("redundant")
    x0 = nacelle.reference_pose(robot)
    rng = np.random.default_rng(0)
    x = x0 + 0.01 * rng.normal(size=(50, 2))
    q = np.asarray(nacelle.inverse_kinematics(robot, x).q)
    off = q + 1e-3 * rng.normal(size=q.shape)
    found = path_poses(robot, off)
    assert np.all(np.isfinite(found))

    def misfit(at: Array) -> Array:
        return np.sum((np.asarray(nacelle.inverse_kinematics(robot, at).q) - off) ** 2, axis=1)

    best = misfit(found)
    for step in 1e-6 * np.array([[1, 0], [-1, 0], [0, 1], [0, -1], [1, 1], [-1, 1]]):
        assert np.all(misfit(found + step) >= best)
    # Noise of three encoders gives errors of the pose of its own size, no more.
    assert np.max(np.abs(found - x)) < 1e-3


def test_a_sample_that_fits_nothing_is_left_out() -> None:
    """The samples before and after it have their poses."""
    for name in ("fivebar", "redundant"):
        robot = robot_of(name)
        path = fourier(robot, 0.02, duration=5.0)
        motion = sample_trajectory(robot, path, np.linspace(0.0, 0.5, 80))
        q, rates, accelerations = actuators_along(robot, motion.x, motion.v, motion.a)
        q[40] = np.nan
        found = measured_motion(robot, q, rates, accelerations)
        assert not found.ok[40]
        assert np.all(np.delete(found.ok, 40))
        np.testing.assert_allclose(np.delete(found.x, 40, axis=0), np.delete(motion.x, 40, axis=0), atol=1e-9)


def test_poses_near_others() -> None:
    """Loops closed by iteration: each sample comes to its own pose, and those without one harm no other."""
    robot = library_robot("3rps")
    x0 = nacelle.reference_pose(robot)
    x = x0 + 0.02 * np.random.default_rng(0).uniform(-1.0, 1.0, (4, 3))
    q = nacelle.inverse_kinematics(robot, x).q
    q[1] = np.nan
    # Struts that differ by more than the platform is long.
    q[2] += [2.0 * robot.size, 0.0, 0.0]
    found = least_squares_poses(robot, q, np.tile(x0, (4, 1)))
    np.testing.assert_allclose(found[[0, 3]], x[[0, 3]], atol=1e-12)
    assert np.all(np.isnan(found[[1, 2]]))
