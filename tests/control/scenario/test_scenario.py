"""Scenario: scenario, built in, fields, fit, paths, plants, round, spec."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

import nacelle
from nacelle.control.scenario.fit import (
    Ellipse,
    fitting_size,
    offset_poses,
    usable_pose_mask,
    workspace_middle,
)
from nacelle.control.scenario.paths import scenario_path
from nacelle.control.scenario.scenario import (
    drives_from_spec,
    plants_over_time,
    read_scenario,
    robot_from_spec,
)
from nacelle.control.scenario.spec import ChangeSpec, DrivesSpec, PathSpec, PlantSpec, RobotSpec, ScenarioSpec
from nacelle.control.yaml_input import pose_from_names, quantity_per_actuator
from nacelle.elastic.plant import elastic_plant
from nacelle.errors import DescriptionError, KinematicsError
from nacelle.model.robot import Robot
from nacelle.spatial.rotation import quat_exp
from nacelle.spatial.scalar import Array
from nacelle.trajectory.base import Trajectory, read_layout
from nacelle.trajectory.timing import Trapezoid
from support.pairwise import FAMILIES, pairwise

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
    default = nacelle.control.controller(
        ready.model, "cf-rb", period=1e-3, bandwidth=8.0, delay=2e-4, lag=3e-4
    )
    assert stiffness == pytest.approx(default.gain("stiffness"))
    v = ready.trajectory(np.linspace(0.15, ready.trajectory.duration - 0.15, 50)).v
    assert np.linalg.norm(v, axis=1) == pytest.approx(np.full(50, 0.6))
    assert [change.time for change in ready.changes] == [0.3, 0.4]
    # What is there again is the same plant, not another of the same.
    assert ready.changes[1].plant is ready.plant
    assert isinstance(ready.plant, nacelle.simulation.Plant)
    assert ready.plant.drives.numbers(ready.model).limit == (10.0, 10.0)
    result = scenario.run()
    assert result.ok
    assert result["sj"].seed == 4
    assert result["sj"].delay == pytest.approx(2e-4)
    during = (result["sj"].time > 0.35) & (result["sj"].time < 0.4)
    assert np.max(np.abs(result["sj"].error[during])) > 2.0 * np.max(np.abs(result["sj"].error[:200]))


def test_options_and_robots_that_a_scenario_lacks(fivebar: Robot) -> None:
    text = "path: {circle: {}}\ncontrollers:\n  - {name: sj, options: {colour: red}}\n"
    with pytest.raises(DescriptionError, match="has no option"):
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
    loaded = nacelle.dynamics.equilibrium(nacelle.with_payload(fivebar, 0.3), x)
    assert run.commanded_forces[before] == pytest.approx(nacelle.dynamics.equilibrium(fivebar, x), rel=0.05)
    assert run.commanded_forces[after] == pytest.approx(loaded, rel=0.01)
    assert np.all(np.abs(loaded) > 1.3 * np.abs(nacelle.dynamics.equilibrium(fivebar, x)))


def test_entries_can_be_changed() -> None:
    scenario = read_scenario(RIGHT).with_changes(
        controllers=["slow", "sj"], bandwidth=5.0, speed=0.3, seed=9, sample=None
    )
    assert [given.bandwidth for given in scenario.spec.controllers] == [5.0, 5.0]
    assert scenario.spec.path.circle is not None
    assert scenario.spec.path.circle.speed == 0.3
    assert scenario.spec.seed == 9
    assert scenario.spec.sample == pytest.approx(1e-3)


@pytest.mark.thinned
@pytest.mark.slow
@pytest.mark.parametrize(("robot", "name"), pairwise(robot=FAMILIES, name=["circle", "pick-and-place"]))
def test_built_in_scenarios_suit_every_robot(robot: str, name: str) -> None:
    result = read_scenario(name).with_changes(controllers=["sj"], sample=1e-3).run(robot)
    run = result.runs[0]
    assert run.ok, run.message
    assert run.notes == ()
    assert np.max(run.saturation) == 0.0
    # It moves, and follows.
    assert np.max(np.ptp(run.desired, axis=0)) > 10.0 * np.max(np.abs(run.error))


# ---- Entries of scenarios that depend on the robot


def test_quantities_of_actuators() -> None:
    space = nacelle.load("space")
    kinds = space.revolute_actuators
    given = ["1 mrad" if turns else "2 um" for turns in kinds]
    assert quantity_per_actuator(space, given, "length") == pytest.approx(
        [1e-3 if turns else 2e-6 for turns in kinds]
    )
    assert quantity_per_actuator(space, 0.0, "length") == 0.0
    with pytest.raises(KinematicsError, match="prismatic and revolute actuators: give a list"):
        quantity_per_actuator(space, "1 um", "length")
    with pytest.raises(KinematicsError, match="one for each of the 6 actuators"):
        quantity_per_actuator(space, ["1 um"], "length")
    with pytest.raises(KinematicsError, match="'mm' is not a unit of angle"):
        quantity_per_actuator(nacelle.load("fivebar"), "3 mm", "length")


def test_poses() -> None:
    robot = nacelle.load("gough-stewart")
    x = pose_from_names(robot, {"x": "10 mm", "rz": "90 deg"})
    assert x[0] == pytest.approx(0.01)
    assert x[3:] == pytest.approx([0.0, 0.0, np.sqrt(0.5), np.sqrt(0.5)])
    assert pose_from_names(robot, {"z": 1.0}, "spindle") == pytest.approx(
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
        float(np.argmin(usable_pose_mask(robot, offset_poses(robot, x, np.outer(sign * away, [0.0, 1.0])))))
        for sign in (1, -1)
    )
    assert abs(up - down) <= 2.0


def test_size_is_half_of_the_largest(fivebar: Robot) -> None:
    x = nacelle.reference_pose(fivebar)

    def line(size: float) -> Array:
        return offset_poses(fivebar, x, np.outer(np.linspace(0.0, size, 20), [0.0, 1.0]))

    size = fitting_size(fivebar, line, 1.0, "line")
    assert usable_pose_mask(fivebar, line(1.9 * size)).all()
    assert not usable_pose_mask(fivebar, line(2.0 * size + 1.0 / 20.0)).all()
    with pytest.raises(KinematicsError, match="no line about this pose fits fivebar"):
        fitting_size(fivebar, lambda size: line(size) + 10.0, 1.0, "line")


def test_coordinates_and_derivatives() -> None:
    """Round and round in any two coordinates."""
    motion = read_layout("se3").motion
    axes = np.zeros((2, 6))
    axes[0, 0], axes[1, 5] = 0.1, 0.3
    path = Ellipse(
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


# ---- Paths of scenarios


def _path(robot: Robot, **given: Any) -> Trajectory:
    return scenario_path(robot, PathSpec.model_validate(given), Path()).trajectory


def test_an_inclined_circle() -> None:
    """[AGH2005], section V: R = 0.2 m, inclined by 30 degrees about x, 1 m/s."""
    robot = nacelle.load("palida")
    centre = {"z": "0.7 m"}
    incline = {"axis": "x", "angle": "30 deg"}
    circle = _path(robot, circle={"centre": centre, "radius": "200 mm", "incline": incline, "speed": "1 m/s"})
    t = np.linspace(0.0, circle.duration, 401)
    x, v, a = circle(t)
    away = x[:, :3] - nacelle.pose(robot, z=0.7)[:3]
    assert np.linalg.norm(away, axis=1) == pytest.approx(np.full(401, 0.2))
    normal = np.array([0.0, -0.5, np.sqrt(0.75)])
    assert away @ normal == pytest.approx(np.zeros(401), abs=1e-12)
    middle = (t > 0.3) & (t < circle.duration - 0.3)
    assert np.linalg.norm(v[middle], axis=1) == pytest.approx(np.ones(np.count_nonzero(middle)))
    # Exact derivatives.
    h = 1e-5
    between = circle(t[middle] + h).v - circle(t[middle] - h).v
    assert a[middle] == pytest.approx(between / (2.0 * h), abs=1e-6)


def test_pick_and_place_lifts_against_gravity_and_carries(fivebar: Robot) -> None:
    given = {"distance": "0.1 m", "height": "20 mm", "duration": "0.4 s", "load": "0.1 kg"}
    plan = scenario_path(fivebar, PathSpec.model_validate({"pick-and-place": given}), Path())
    way = plan.trajectory
    assert way.duration == pytest.approx(1.0)
    start, top, there = (way(t).x for t in (0.0, 0.2, 0.45))
    assert top[1] - start[1] == pytest.approx(0.02, abs=2e-3)
    assert abs(there[0] - start[0]) == pytest.approx(0.1)
    assert not np.any(way(0.45).v)
    (load,) = plan.loads
    assert (load.at, load.until, load.load.mass) == pytest.approx((0.45, 0.95, 0.1))


def test_lines_and_points(fivebar: Robot, tmp_path: Path) -> None:
    line = _path(fivebar, line={"end": {"x": "50 mm"}, "duration": "1 s", "back": True})
    assert line.duration == pytest.approx(2.0)
    assert line(1.0).x == pytest.approx(nacelle.pose(fivebar, x=0.05))
    assert line(2.0).x == pytest.approx(line(0.0).x)
    points = [{"x": "50 mm"}, "reference", {"x": "-50 mm", "y": "0.3 m"}]
    for corners in (False, True):
        through = _path(fivebar, through={"points": points, "duration": "1 s", "corners": corners})
        assert through(1.0).x == pytest.approx(nacelle.pose(fivebar, x=-0.05, y=0.3))
    (tmp_path / "way.csv").write_text("x [mm],y [mm]\n0,280\n50,280\n50,300\n", encoding="utf-8")
    spec = PathSpec.model_validate({"through": {"file": "way.csv", "duration": 1.0}})
    assert scenario_path(fivebar, spec, tmp_path).trajectory(1.0).x == pytest.approx([0.05, 0.3])
    with pytest.raises(KinematicsError, match="has no column t"):
        scenario_path(fivebar, PathSpec.model_validate({"through": {"file": "way.csv"}}), tmp_path)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"plane": "xz"}, "'xz' is no plane of fivebar; it moves along x, y"),
        ({"incline": {"angle": 0.3}}, "moves in no three directions"),
        ({"centre": {"y": 5.0}}, "no circle about this pose fits fivebar"),
    ],
)
def test_mistakes(fivebar: Robot, given: dict[str, Any], words: str) -> None:
    with pytest.raises(KinematicsError, match=words):
        _path(fivebar, circle=given)


@pytest.mark.slow
def test_angles_where_there_are_no_two_translations() -> None:
    robot = nacelle.load("3rps")
    x = _path(robot, circle={})(np.linspace(0.0, 1.0, 50)).x
    assert np.ptp(x[:, 0]) == 0.0
    x = x - nacelle.reference_pose(robot)
    assert np.hypot(x[:, 1], x[:, 2]) == pytest.approx(np.full(50, np.hypot(x[0, 1], x[0, 2])))
    with pytest.raises(KinematicsError, match="leave radius and speed out"):
        _path(robot, circle={"speed": 1.0})


# ---- What moves in a scenario


def _robot(robot: Robot, **given: Any) -> Robot:
    return robot_from_spec(robot, RobotSpec.model_validate(given), Path())


def test_true_robots(fivebar: Robot) -> None:
    assert _robot(fivebar).hash == fivebar.hash
    moved = _robot(fivebar, moved="20 %", seed=3)
    ratio = moved.parameter_vector("inertia") / np.where(
        fivebar.parameter_vector("inertia"), fivebar.parameter_vector("inertia"), np.nan
    )
    inside = ratio[np.isfinite(ratio)]
    assert 0.8 <= np.min(inside) < 0.95
    assert np.max(inside) <= 1.2
    assert _robot(fivebar, file="3rrr").name == "3rrr"
    heavier = _robot(nacelle.load("3rrr"), load={"mass": "2 kg"})
    assert heavier.payload[0].inertia[0] == 2.0


def test_drives(fivebar: Robot) -> None:
    cogging = {"amplitude": 0.1, "cycles": 7}
    given = {"bandwidth": "100 Hz", "limits": ["3 N*m", 4.0], "cogging": cogging, "stiction": True}
    spec = DrivesSpec.model_validate(given)
    robot, drives = drives_from_spec(fivebar, spec)
    numbers = drives.numbers(robot)
    assert numbers.lag == pytest.approx([1.0 / (200.0 * np.pi)] * 2)
    assert numbers.limit == (3.0, 4.0)
    assert [term[:2] for term in numbers.cogging] == [(0.1, 7.0)] * 2
    # Coulomb friction has gone to the drives.
    assert robot.hash != fivebar.hash
    assert all(model is not None for model in numbers.stiction)
    assert drives_from_spec(fivebar, DrivesSpec(limits="none"))[1].numbers(fivebar).limit == (np.inf, np.inf)


def test_loads_and_wrenches_over_time() -> None:
    robot = nacelle.load("3rrr")
    changes = [
        ChangeSpec.model_validate(
            {"at": 1.0, "until": 3.0, "wrench": {"force": "1 2 0 N", "torque": [0, 0, "3 N*m"]}}
        ),
        ChangeSpec.model_validate({"at": 2.0, "load": {"mass": "0.5 kg"}}),
        ChangeSpec.model_validate({"at": 0.5, "until": 1.0, "load": {"mass": "0.2 kg"}}),
    ]
    plan = plants_over_time(robot, PlantSpec(), changes, None)
    assert [change.time for change in plan.changes] == [0.5, 1.0, 2.0, 3.0]
    inner: list[Any] = [plan.plant, *(change.plant for change in plan.changes)]
    masses = [sum(load.inertia[0] for load in plant.robot.payload) for plant in inner]
    assert masses == [0.0, 0.2, 0.0, 0.5, 0.5]
    forces = [plant.external.get(robot.bodies[1].name, np.zeros(6)) for plant in inner]
    acting = [1.0, 2.0, 0.0, 0.0, 0.0, 3.0]
    assert np.array(forces).tolist() == [[0.0] * 6, [0.0] * 6, acting, acting, [0.0] * 6]


def test_flexible_plants() -> None:
    flexible = nacelle.load("fivebar-flexible")
    spec = PlantSpec.model_validate({"elastic": True})
    plan = plants_over_time(flexible, spec, [], elastic_plant)
    assert isinstance(plan.plant, nacelle.simulation.Plant)
    assert plan.plant.drives is not None
    assert plan.plant.labels.elastic
    with pytest.raises(KinematicsError, match="is handed over"):
        plants_over_time(flexible, spec, [], None)
    push = [ChangeSpec.model_validate({"at": 1.0, "wrench": {"force": [1.0, 0.0, 0.0]}})]
    with pytest.raises(KinematicsError, match="wrenches act on rigid robots"):
        plants_over_time(flexible, spec, push, elastic_plant)
