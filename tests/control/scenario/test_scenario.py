"""Scenarios."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import nacelle
from nacelle.control.scenario.scenario import read_scenario
from nacelle.errors import DescriptionError
from nacelle.model.robot import Robot

WRONG = """\
path:
  circl: {centre: middle, radius: 200 s}
sample: 0.5 mm
controllers:
  - sj
  - {nam: cf-rb}
plant:
  moved: 10
  drives: {lag: 1 ms, bandwidth: 300 Hz}
sensors: {dropout: 2}
changes:
  - {at: 1 s, until: 500 ms, load: {mass: 0.1 kg}}
"""

RIGHT = """\
name: a turn
robot: fivebar
path:
  circle: {radius: 50 mm, speed: 0.6 m/s, turns: 1, ramp: 0.1 s}
sample: 1 ms
delay: 0.2 ms
settle: 300 ms
seed: 4
controllers: [sj, {name: cf-rb, bandwidth: 8 Hz, label: slow}]
plant:
  drives: {lag: 0.3 ms, limits: 10 N*m, cogging: {amplitude: 0.05 N*m, cycles: 12}}
sensors: {resolution: 0.001 deg, noise: 0.01 mrad, gaps: [{from: 0.2 s, until: 0.203 s}]}
changes:
  - {at: 0.3 s, until: 0.4 s, wrench: {force: 0 -5 0 N}}
"""


def test_all_that_is_wrong_is_said_with_its_place() -> None:
    with pytest.raises(DescriptionError) as said:
        read_scenario(WRONG)
    found = {
        (problem.line, problem.path): f"{problem.message} | {problem.hint}" for problem in said.value.problems
    }
    expected = {
        (2, "path.circl"): "did you mean 'circle'?",
        (3, "sample"): "is not a unit of time",
        (6, "controllers[1].nam"): "did you mean 'name'?",
        (6, "controllers[1].name"): "missing key",
        (8, "plant.moved"): 'write "10 %"',
        (9, "plant.drives"): "lag and bandwidth are given",
        (10, "sensors.dropout"): "from 0 to 1",
        (12, "changes[0]"): "is not after at",
    }
    for key, words in expected.items():
        assert words in found.get(key, ""), (key, found)


def test_what_does_not_fit_the_robot_is_said_with_its_place(fivebar: Robot) -> None:
    text = (
        "path:\n  line: {end: {z: 10 mm}, speed: 1 m/s}\ndelay: 1 s\n"
        "controllers:\n  - sjj\n  - {name: sj, options: {colour: red}}\nsensors:\n  resolution: 3 mm\n"
    )
    with pytest.raises(DescriptionError) as said:
        read_scenario(text).prepare(fivebar)
    found = {problem.line: problem.message for problem in said.value.problems}
    assert "no coordinate 'z'" in found[1]
    assert "beyond the sample time" in found[3]
    assert "no controller is called 'sjj'" in found[5]
    assert "does not take these options" in found[6]
    assert "'mm' is not a unit of angle" in found[7]
    with pytest.raises(DescriptionError, match="names no robot"):
        read_scenario(text).prepare()
    with pytest.raises(DescriptionError, match="or one of circle, pick-and-place"):
        read_scenario("nowhere.yaml")


def test_a_scenario_is_what_it_says(tmp_path: Path) -> None:
    file = tmp_path / "turn.yaml"
    file.write_text(RIGHT, encoding="utf-8")
    scenario = read_scenario(file)
    ready = scenario.prepare()
    assert list(ready.controllers) == ["sj", "slow"]
    stiffness = ready.controllers["slow"].gain("stiffness")
    default = nacelle.controller(ready.model, "cf-rb", period=1e-3, bandwidth=8.0, delay=2e-4, lag=3e-4)
    assert stiffness == pytest.approx(default.gain("stiffness"))
    v = ready.trajectory(np.linspace(0.15, ready.trajectory.duration - 0.15, 50)).v
    assert np.linalg.norm(v, axis=1) == pytest.approx(np.full(50, 0.6))
    assert [change.time for change in ready.changes] == [0.3, 0.4]
    # What is there again is the same plant, not another of the same.
    assert ready.changes[1].plant is ready.plant
    assert isinstance(ready.plant, nacelle.DrivenPlant)
    assert ready.plant.drives.numbers(ready.model).limit == (10.0, 10.0)
    result = scenario.run()
    assert result.ok
    assert result["sj"].seed == 4
    assert result["sj"].delay == pytest.approx(2e-4)
    during = (result["sj"].time > 0.35) & (result["sj"].time < 0.4)
    assert np.max(np.abs(result["sj"].error[during])) > 2.0 * np.max(np.abs(result["sj"].error[:200]))


def test_a_load_is_picked_up_and_held(fivebar: Robot) -> None:
    """At rest at the far end the integral has come to the forces of the robot with its load."""
    path = {"pick-and-place": {"load": "0.3 kg", "dwell": "0.3 s"}}
    given = {"path": path, "sample": "1 ms", "controllers": ["sj"], "sensors": "ideal"}
    scenario = read_scenario({**given, "plant": {"friction": False}})
    run = scenario.run(fivebar)["sj"]
    picked = scenario.prepare(fivebar).changes[0].time
    before, after = np.searchsorted(run.time, [picked - 0.005, picked + 0.145])
    x = run.desired_motion.trajectory(picked).x
    loaded = nacelle.equilibrium(nacelle.with_payload(fivebar, 0.3), x)
    assert run.commanded[before] == pytest.approx(nacelle.equilibrium(fivebar, x), rel=0.05)
    assert run.commanded[after] == pytest.approx(loaded, rel=0.01)
    assert np.all(np.abs(loaded) > 1.3 * np.abs(nacelle.equilibrium(fivebar, x)))


def test_entries_can_be_changed() -> None:
    scenario = read_scenario(RIGHT).changed(
        controllers=["slow", "sj"], bandwidth=5.0, speed=0.3, seed=9, sample=None
    )
    assert [given.bandwidth for given in scenario.spec.controllers] == [5.0, 5.0]
    assert scenario.spec.path.circle is not None
    assert scenario.spec.path.circle.speed == 0.3
    assert scenario.spec.seed == 9
    assert scenario.spec.sample == pytest.approx(1e-3)


@pytest.mark.parametrize("name", ["circle", "pick-and-place"])
@pytest.mark.parametrize("robot", nacelle.robot_names())
def test_built_in_scenarios_suit_every_robot(robot: str, name: str) -> None:
    result = read_scenario(name).changed(controllers=["sj"], sample=1e-3).run(robot)
    run = result.runs[0]
    assert run.ok, run.message
    assert run.notes == ()
    assert np.max(run.saturation) == 0.0
    # It moves, and follows.
    assert np.max(np.ptp(run.desired, axis=0)) > 10.0 * np.max(np.abs(run.error))
