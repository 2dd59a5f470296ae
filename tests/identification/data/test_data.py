"""Data: column map, measured path, measurement, vibration."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nacelle
from nacelle.errors import MeasurementError
from nacelle.identification.data.column_map import read_column_map
from nacelle.identification.data.measured_path import measured_path
from nacelle.identification.data.measurement import Measurement, MeasurementSource
from nacelle.identification.data.preparation import prepare
from nacelle.identification.data.vibration import beyond_filter
from nacelle.kinematics.flags import Flag
from support.closed_loop import FIVEBAR
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


def test_text_that_is_no_yaml() -> None:
    with pytest.raises(MeasurementError, match="not YAML") as caught:
        read_column_map("time: {column\nx: ]\n", ROBOT)
    assert caught.value.problems[0].line > 0


# ---- Poses along measured coordinates: there and back, samples that are lost, limits, rates

T = np.linspace(0.0, 1.0, 80)

X = nacelle.reference_pose(ROBOT) + 0.03 * np.stack([np.sin(4.0 * T), np.cos(3.0 * T) - 1.0], axis=1)


def coordinates() -> np.ndarray:
    return nacelle.inverse_kinematics(ROBOT, X).actuators


def test_there_and_back_with_a_lost_sample() -> None:
    q = coordinates()
    q[40] = np.nan
    path = measured_path(ROBOT, q)
    kept = np.arange(80) != 40
    np.testing.assert_allclose(path.x[kept], X[kept], atol=1e-10)
    np.testing.assert_array_equal(path.good, kept)
    assert path.lost == pytest.approx(1.0 / 80.0)
    assert not np.any(path.gap)


def test_motion_of_the_nacelle_from_rates() -> None:
    """Twists and accelerations from which joint rates and accelerations were made."""
    random = np.random.default_rng(0)
    v, a = random.normal(size=(2, 80, 2))
    q, rate, acceleration = nacelle.joint_motion(ROBOT, X, v, a).actuators
    motion = measured_path(ROBOT, q).motion(rate, acceleration)
    np.testing.assert_allclose(motion.v, v, atol=1e-9)
    np.testing.assert_allclose(motion.a, a, atol=1e-7)
    np.testing.assert_allclose(np.einsum("kij,kj->ki", motion.inverse, v), rate, atol=1e-9)


def test_coordinates_beyond_limits_are_not_sought() -> None:
    lower, upper = ROBOT.actuators[0].position
    assert np.isfinite(lower)
    assert np.isfinite(upper)
    far = coordinates()
    far[:, 0] = upper + 0.5 * (upper - lower)
    path = measured_path(ROBOT, far, most_lost=0.5)
    assert path.lost == 1.0
    assert np.all(path.beyond[:, 0])
    assert np.all(path.flags == Flag.UNREACHABLE)
    near = coordinates()[:1]
    near[0, 0] = upper + 0.01 * (upper - lower)
    assert not measured_path(ROBOT, near).beyond[0, 0]


# ---- Measurements: rows of the file, names of columns, and the rate of the samples


def test_rows_and_columns_of_the_file() -> None:
    source = MeasurementSource("run.csv", 2, {"q.left": "enc1"})
    assert source.row(0) == 2
    assert source.row(10) == 12
    assert source.column("q.left") == "enc1"
    assert source.column("time") == "time"
    assert MeasurementSource(rows=np.array([2, 3, 7])).row(2) == 7


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
        p = beyond_filter(3.0 + np.cos(w * t)[:, None], 10.0, rate)
        inner = slice(1000, -1000)
        # Trapezoids are short of an integral by (w / rate)^2 / 12.
        assert p[inner, 0] == pytest.approx(part * np.sin(w * t[inner]) / w, abs=0.04 / w)


def test_it_is_that_of_the_robot() -> None:
    """Encoders with noise of 20 counts: what the filter has taken from the true rates, to two fifths."""
    run = replace(FIVEBAR, noise=20.0).experiment().run(0)
    (samples,) = prepare(run.measurement)
    first = int(np.argmin(np.abs(run.time - samples.time[0])))
    places = slice(first, first + len(samples))
    rates = nacelle.joint_motion(run.robot, samples.motion.x, samples.motion.v).actuators[1]
    true = nacelle.joint_motion(run.true, run.x[places], run.v[places]).actuators[1]
    left = np.sqrt(np.mean((rates - true)[samples.used] ** 2, axis=0))
    assert np.all(samples.vibration > 0.03)
    assert np.all(left < 0.4 * samples.vibration)


def test_good_encoders_have_none() -> None:
    (samples,) = prepare(FIVEBAR.experiment().run(0).measurement)
    assert np.all(samples.vibration == 0.0)
