"""Scenario: scenario, built in, fields, fit, round, spec."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

import nacelle
from nacelle.control.scenario.fields import for_actuators, pose_by_names
from nacelle.control.scenario.fit import fitting_size, offset, usable_poses, workspace_middle
from nacelle.control.scenario.round import Round
from nacelle.control.scenario.scenario import read_scenario
from nacelle.control.scenario.spec import DrivesSpec, PathSpec, ScenarioSpec
from nacelle.errors import DescriptionError, KinematicsError
from nacelle.kinematics.trajectory.arguments import read_layout
from nacelle.kinematics.trajectory.timing import Trapezoid
from nacelle.model.robot import Robot
from nacelle.spatial.rotation_path import quat_exp
from nacelle.spatial.scalar import Array

# ---- Scenarios

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


@pytest.mark.slow
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


def test_options_and_robots_that_a_scenario_lacks(fivebar: Robot) -> None:
    text = "path: {circle: {}}\ncontrollers:\n  - {name: sj, options: {colour: red}}\n"
    with pytest.raises(DescriptionError, match="does not take these options"):
        read_scenario(text).prepare(fivebar)
    with pytest.raises(DescriptionError, match="names no robot"):
        read_scenario(text).prepare()


@pytest.mark.slow
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


@pytest.mark.slow
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


# ---- Entries of scenarios that depend on the robot

POSITION = ("length", "angle")


def test_quantities_of_actuators() -> None:
    space = nacelle.load("space")
    kinds = space.revolute_actuators
    given = ["1 mrad" if turns else "2 um" for turns in kinds]
    assert for_actuators(space, given, POSITION) == pytest.approx(
        [1e-3 if turns else 2e-6 for turns in kinds]
    )
    assert for_actuators(space, 0.0, POSITION) == 0.0
    with pytest.raises(KinematicsError, match="prismatic and revolute actuators: give a list"):
        for_actuators(space, "1 um", POSITION)
    with pytest.raises(KinematicsError, match="one for each of the 6 actuators"):
        for_actuators(space, ["1 um"], POSITION)
    with pytest.raises(KinematicsError, match="'mm' is not a unit of angle"):
        for_actuators(nacelle.load("fivebar"), "3 mm", POSITION)


def test_poses() -> None:
    robot = nacelle.load("gough-stewart")
    x = pose_by_names(robot, {"x": "10 mm", "rz": "90 deg"})
    assert x[0] == pytest.approx(0.01)
    assert x[3:] == pytest.approx([0.0, 0.0, np.sqrt(0.5), np.sqrt(0.5)])
    assert pose_by_names(robot, {"z": 1.0}, "spindle") == pytest.approx(
        nacelle.pose(robot, z=1.0, tool="spindle")
    )


# ---- Paths that fit a robot


def test_the_middle_is_in_the_middle() -> None:
    """Of the 3-RRR, whose symmetry puts it at the centre of its bases, from a reference pose elsewhere."""
    robot = nacelle.load("fivebar")
    x = workspace_middle(robot)
    # Symmetric about x = 0; as far up as down, to a step of a fiftieth of the size.
    assert abs(x[0]) < 1e-9
    away = robot.size / 50.0 * np.arange(60)
    up, down = (
        float(np.argmin(usable_poses(robot, offset(robot, x, np.outer(sign * away, [0.0, 1.0])))))
        for sign in (1, -1)
    )
    assert abs(up - down) <= 2.0


def test_size_is_half_of_the_largest(fivebar: Robot) -> None:
    x = nacelle.reference_pose(fivebar)

    def line(size: float) -> Array:
        return offset(fivebar, x, np.outer(np.linspace(0.0, size, 20), [0.0, 1.0]))

    size = fitting_size(fivebar, line, 1.0, "line")
    assert usable_poses(fivebar, line(1.9 * size)).all()
    assert not usable_poses(fivebar, line(2.0 * size + 1.0 / 20.0)).all()
    with pytest.raises(KinematicsError, match="no line about this pose fits fivebar"):
        fitting_size(fivebar, lambda size: line(size) + 10.0, 1.0, "line")


def test_coordinates_and_derivatives() -> None:
    """Round and round in any two coordinates."""
    motion = read_layout("se3").motion
    axes = np.zeros((2, 6))
    axes[0, 0], axes[1, 5] = 0.1, 0.3
    path = Round(
        np.array([0.0, 0, 1, 0, 0, 0, 1]), axes, motion=motion, turns=2.0, timing=Trapezoid(2.5, 0.5)
    )
    t = np.linspace(0.6, 1.9, 30)
    x, v, a = path(t)
    # Two turns in two seconds at constant speed, and what the ramp has made.
    angle = 2.0 * np.pi * (t - 0.25)
    assert x[:, 0] == pytest.approx(0.1 * np.cos(angle))
    turn = np.zeros((30, 3))
    turn[:, 2] = 0.3 * np.sin(angle)
    assert np.abs(np.einsum("ni,ni->n", x[:, 3:], quat_exp(turn))) == pytest.approx(np.ones(30))
    h = 1e-6
    assert v[:, 0] == pytest.approx((path(t + h).x - path(t - h).x)[:, 0] / (2.0 * h), abs=1e-7)
    assert a == pytest.approx((path(t + h).v - path(t - h).v) / (2.0 * h), abs=1e-6)
    assert path.duration == 2.5
    assert not np.any(path(2.5).v)


# ---- The shape of scenarios


def test_short_forms_are_long_ones() -> None:
    spec = ScenarioSpec.model_validate({"path": {"circle": {}}, "controllers": ["sj"], "sensors": "ideal"})
    assert spec.controllers[0].name == "sj"
    assert spec.sensors.resolution == 0.0
    assert DrivesSpec.model_validate({"stiction": True}).stiction is not None
    assert DrivesSpec.model_validate({"stiction": False}).stiction is None
    assert DrivesSpec.model_validate({"bandwidth": "100 Hz"}).time_constant == pytest.approx(
        1.5915e-3, rel=1e-4
    )


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ({}, "exactly one of circle, pick-and-place, line, through is needed, none is given"),
        ({"circle": {}, "pick-and-place": {}}, "circle and pick-and-place are given"),
        ({"line": {"end": {"x": 1.0}}}, "exactly one of duration, speed is needed"),
        ({"circle": {"centre": "nowhere"}}, "expected a place"),
        ({"circle": {"speed": "0 m/s"}}, "is above 0"),
        ({"through": {"points": [{}, {}]}}, "missing key 'duration' or 'speed'"),
        ({"pick-and-place": {"dwell": "-1 s"}}, "is above 0"),
    ],
)
def test_paths_that_are_none(path: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        PathSpec.model_validate(path)
