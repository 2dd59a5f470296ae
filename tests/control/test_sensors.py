"""Sensors of a controller."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.control.loop.closed_loop import closed_loop
from nacelle.control.named import controller
from nacelle.control.sensors import MISSING, Gap, Sensors, sensed
from nacelle.errors import KinematicsError
from nacelle.kinematics.trajectory.circle import Circle
from nacelle.model.robot import Robot
from nacelle.simulation.sampled.law import Sampled
from nacelle.simulation.sampled.programs import law_alone
from nacelle.spatial.physics import physics
from nacelle.spatial.scalar import Array


@physics(z=(2,), q=(2,), r=(1,), gains=(1,))
def echo(robot: Robot, z: Array, q: Array, r: Array, gains: Array) -> dict[str, Array]:
    """Remember the readings; commands are the reference and the gain."""
    return {"force": np.array([r[0], gains[0]]), "memory": q}


def test_readings_are_counted_noisy_and_missing(fivebar: Robot) -> None:
    law = law_alone(Sampled(sensed(echo), 1e-3, memory=np.zeros(2), gains=np.zeros(3)), fivebar)
    rng = np.random.default_rng(0)
    for _ in range(20):
        q, noise, step = rng.normal(size=2), 0.01 * rng.normal(size=2), 0.003
        row = np.concatenate([[7.0], noise, [1.0, -1.0]])
        found = law(np.zeros(2), q, row, np.array([5.0, step, step]))
        assert found["force"].tolist() == [7.0, 5.0]
        # Half up: as the formula says, not as np.round does.
        assert found["memory"][0] == pytest.approx(step * np.floor((q + noise)[0] / step + 0.5), abs=1e-15)
        assert found["memory"][1] == MISSING
        plain = law(np.zeros(2), q, np.concatenate([[7.0], noise, [1.0, 1.0]]), np.array([5.0, 0.0, step]))
        assert plain["memory"][0] == (q + noise)[0]


def test_rows_follow_seed_and_gaps(fivebar: Robot) -> None:
    time = 1e-3 * np.arange(20000)
    second = fivebar.actuators[1].name
    sensors = Sensors(noise=2.0, dropout=0.1, late=0.05, gaps=(Gap(1.0, 1.1), Gap(2.0, 2.2, second)))
    rows = sensors.rows(fivebar, time, 3)
    assert np.array_equal(rows, sensors.rows(fivebar, time, 3))
    assert not np.array_equal(rows, sensors.rows(fivebar, time, 4))
    # The same seed has the same losses, however much noise there is.
    louder = Sensors(noise=4.0, dropout=0.1, late=0.05, gaps=sensors.gaps).rows(fivebar, time, 3)
    assert np.array_equal(louder[:, 2:], rows[:, 2:])
    assert louder[:, :2] == pytest.approx(2.0 * rows[:, :2])
    assert np.std(rows[:, :2]) == pytest.approx(2.0, rel=0.02)
    missing = rows[:, 2:] < 0.0
    assert missing[1000:1100].all()
    assert missing[2000:2200, 1].all()
    assert not missing[2000:2200, 0].all()
    assert np.mean(missing[3000:]) == pytest.approx(1.0 - 0.9 * 0.95, abs=0.01)
    # What is late is late for all actuators at once.
    both = Sensors(late=0.2).rows(fivebar, time, 0)[:, 2:]
    assert np.array_equal(both[:, 0], both[:, 1])
    assert Sensors.ideal().complete
    assert not sensors.complete


def test_mistakes(fivebar: Robot) -> None:
    time = np.zeros(1)
    with pytest.raises(KinematicsError, match=r"no actuator 'left.moto'; did you mean 'left.motor'"):
        Sensors(gaps=(Gap(0.0, 1.0, "left.moto"),)).rows(fivebar, time, 0)
    with pytest.raises(
        KinematicsError, match=r"dropout of the sensors is from 0 to 1, got 1.5 for left.motor"
    ):
        Sensors(dropout=1.5).rows(fivebar, time, 0)
    with pytest.raises(KinematicsError, match="one for each of the 2 actuators"):
        Sensors(resolution=[1e-6] * 3).resolutions(fivebar)
    with pytest.raises(KinematicsError, match="late"):
        Sensors(late=-0.1).rows(fivebar, time, 0)


def test_a_long_gap_stops_the_controller_and_a_short_one_does_not(fivebar: Robot, turn: Circle) -> None:
    law = controller(fivebar, "sj", period=1e-3)
    patience = int(law.gain("patience")[0])
    short = Sensors(gaps=(Gap(0.2, 0.2 + 1e-3 * patience - 5e-4),))
    run = closed_loop(fivebar, law, turn, settle=0.1, sensors=short)
    assert run.ok
    run = closed_loop(fivebar, law, turn, settle=0.1, sensors=Sensors(gaps=(Gap(0.2, 0.4),)))
    assert run.status == "event"
    assert "readings were missing" in run.message
    assert run.time[-1] == pytest.approx(0.2 + 1e-3 * patience, abs=1.1e-3)
    assert run.summary()["samples"] == run.samples
