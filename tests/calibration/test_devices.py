"""Places that nobody knows, edges of rods in files, axes of universal joints, what devices see."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import nacelle
from calibration.linear_delta import TEXT
from nacelle.calibration.calibration import calibrate
from nacelle.calibration.campaign_file import read_campaign
from nacelle.calibration.devices import Pairs, Places, Target, Tool, Tracker
from nacelle.calibration.fit import Campaign
from nacelle.calibration.lines_of_sight import PointOfBody, View, seen_poses
from nacelle.calibration.loops import Loops, states_at
from nacelle.calibration.parameters import Geometry, choose_parameters, encoders_of, known_parameters
from nacelle.calibration.poses import blank_campaign, default_parameters, drawn_poses, plan_poses
from nacelle.calibration.simulated import simulate_calibrations, simulate_campaign
from nacelle.errors import CalibrationError, DescriptionError
from nacelle.model.robot import Robot
from nacelle.spatial.pose import Pose
from nacelle.tables.csv import write_table
from nacelle.vision.camera import Camera
from nacelle.vision.cylinders import tangent_normals, visible_cylinders


def simulate(robot: Robot, device: Places, count: int) -> tuple[Campaign, dict[str, float], tuple]:
    chosen = default_parameters(robot)
    encoders = encoders_of(robot)
    blank = blank_campaign(
        Campaign(robot, np.zeros((count, 0)), encoders, (device,)), drawn_poses(robot, count, 3)
    )
    everything = (*chosen, *blank.device_parameters)
    rng = np.random.default_rng(0)
    values = rng.normal(size=len(everything)) * [
        one.tolerance if one.kind != "place" else 0.0 for one in everything
    ]
    campaign = simulate_campaign(blank, everything, values, rng)
    truth = dict(zip([one.name for one in everything], values.tolist(), strict=True))
    lost = replace(campaign.devices[0], near=None, tolerance=np.inf)
    return replace(campaign, devices=(lost,)), truth, chosen


@pytest.mark.slow
def test_a_pin_in_places_that_nobody_knows() -> None:
    """A plate on three arms, its pin eight times in each of five holes: no device at all."""
    robot = nacelle.load("3rrr")
    labels = np.repeat(np.arange(5.0), 8)[:, None]
    pin = Places(labels, 3e-6, Tool(1, np.array([0.03, 0.01, 0.0]), 1e-3), "pin", ("x", "y"))
    campaign, truth, chosen = simulate(robot, pin, 40)
    where = nacelle.inverse_kinematics(robot, nacelle.forward_kinematics(robot, campaign.readings).x).bodies
    tips = where.p[:, 1] + where.R[:, 1] @ pin.tool.point
    # The samples of one hole are turned, and by the description they are not at one place.
    assert np.ptp(tips[:8], axis=0).max() > 20 * pin.noise
    result = calibrate(campaign, chosen, validate=False)
    assert 0.6 < result.noise_ratio < 1.4
    assert not any(one.kind == "place" for one in result.parameters)
    expected = np.array([truth[one.name] for one in result.parameters])
    assert np.sqrt(np.mean(((result.values - expected) / result.deviations) ** 2)) < 1.8
    assert result.after.position < 0.2 * result.before.position
    meanings = [meaning for _, _, meaning in result.identifiability.hidden]
    assert meanings.count("the base moves") >= 2
    # What the data show of parameters that they do not determine alone is known far better than these.
    for (_, value, deviation, _), item in zip(
        result.identified_combinations, result.identifiability.identified, strict=True
    ):
        expected = sum(f * truth[one.name] for f, one in zip(item.factors, result.parameters, strict=True))
        assert abs(value - expected) < 5.0 * deviation


def edge_table(robot: Robot, bodies, camera: Camera, folder: Path, rng: np.random.Generator) -> None:
    """Points of all edges of all rods, as their tangent planes have them."""
    cylinders = visible_cylinders(robot)
    lines = ["sample,rod,side,u [],v []".replace(" []", "")]
    for k, cylinder in enumerate(cylinders):
        A, B = cylinder.ends_in_base(*bodies)
        for s in range(len(A)):
            a, b = camera.in_camera_axes(A[s]), camera.in_camera_axes(B[s])
            u = (b - a) / np.linalg.norm(b - a)
            for side, n in enumerate(tangent_normals(a, u, cylinder.radius)):
                touch = a - (cylinder.radius, -cylinder.radius)[side] * n
                points = touch + np.linspace(0.2, 0.8, 12)[:, None] * (b - a)
                pixels = camera.pixels(points) + 0.05 * rng.normal(size=(12, 2))
                lines += [f"{s},{cylinders[k].name},{side},{p[0]!r},{p[1]!r}" for p in pixels.tolist()]
    (folder / "edges.csv").write_text("\n".join(lines) + "\n")


def test_edges_of_rods_in_a_file_calibrate_a_five_bar(tmp_path: Path) -> None:
    robot = nacelle.load("fivebar")
    numbers = robot.numbers.vector()
    names = list(robot.numbers.names())
    numbers[names.index("half_base")] += 2e-3
    numbers[names.index("proximal")] -= 1e-3
    x = drawn_poses(robot, 16, 2)
    found = nacelle.inverse_kinematics(robot.with_numbers(numbers), x)
    camera = Camera.look_at([0.0, 0.2, 0.0], [0.1, 0.0, 1.1], size=(2048, 2048), field=0.7)
    edge_table(robot, found.bodies, camera, tmp_path, np.random.default_rng(1))
    zeros = np.array([4e-3, -2e-3])
    write_table(tmp_path / "poses.csv", ["left.motor", "right.motor"], ["rad", "rad"], found.q - zeros)
    (tmp_path / "campaign.yaml").write_text(
        "samples: poses.csv\n"
        "encoders: {noise: 1e-6 rad}\n"
        "parameters: [number.half_base=5 mm, 'number.proximal=5 mm', 'zero.*']\n"
        "devices:\n  cam: {kind: edges, file: edges.csv, noise: 0.05, "
        "tolerance: {x: 5 mm, y: 5 mm, z: 5 mm}, "
        "camera: {position: 0.1 0 1.1 m, looks at: 0 0.2 0 m, size: [2048, 2048], field: 0.7 rad}}\n"
    )
    campaign, patterns = read_campaign(tmp_path / "campaign.yaml", robot)
    chosen = choose_parameters(known_parameters(robot), patterns)
    result = calibrate(campaign, chosen, validate=False)
    assert result.is_sound
    assert 0.7 < result.noise_ratio < 1.3
    values = dict(zip([one.name for one in result.parameters], result.values, strict=True))
    deviations = dict(zip([one.name for one in result.parameters], result.deviations, strict=True))
    truth = {"number.half_base": 2e-3, "number.proximal": -1e-3, "zero.left.motor": 4e-3, "cam.x": 0.0}
    for name, value in truth.items():
        assert abs(values[name] - value) < 4.0 * deviations[name]
    assert deviations["number.half_base"] < 1e-4
    bad = (tmp_path / "edges.csv").read_text().replace("left.proximal,0", "left.proximl,0", 1)
    (tmp_path / "edges.csv").write_text(bad)
    with pytest.raises(nacelle.NacelleError, match=r"edges.csv:2.*'left.proximl'"):
        read_campaign(tmp_path / "campaign.yaml", robot)


@pytest.mark.slow
def test_edges_are_planned_and_simulated() -> None:
    """A five-bar by the edges of its rods alone, the camera known to some millimetres: intervals hold."""
    robot = nacelle.load("fivebar")
    campaign, _ = read_campaign(
        {
            "encoders": {"noise": "1e-6 rad"},
            "devices": {
                "cam": {
                    "kind": "edges",
                    "noise": 0.05,
                    "tolerance": {"x": "5 mm", "y": "5 mm", "rz": "0.2 deg"},
                    "camera": {
                        **{"position": "0.1 0 1.1 m", "looks at": "0 0.2 0 m"},
                        **{"size": [2048, 2048], "field": "0.7 rad"},
                    },
                }
            },
        },
        robot,
    )
    assert len(campaign.devices) == 8
    plan = plan_poses(campaign, 12)
    assert plan.deviation < plan.random
    result = simulate_calibrations(campaign, plan.x, machines=12)
    assert not result.failed
    assert np.median(result.after) < 0.2 * np.median(result.before)
    assert 0.8 < np.median(result.chi) < 1.2
    assert 0.85 < result.coverage < 0.995


@pytest.mark.slow
def test_an_encoder_on_the_second_axis_of_a_universal_joint() -> None:
    """The coordinate that it reads is that of inverse kinematics, and follows the geometry (differences)."""
    robot = nacelle.load("hexaglide")
    encoders = encoders_of(robot, sensors=["leg2.cardan.2"])
    with pytest.raises(CalibrationError, match=r"leg2\.cardan\.1 to leg2\.cardan\.2"):
        encoders_of(robot, sensors=["leg2.cardan"])
    with pytest.raises(CalibrationError, match=r"2 axes: there is no"):
        encoders_of(robot, sensors=["leg2.cardan.3"])
    with pytest.raises(CalibrationError, match="no axes that"):
        encoders_of(robot, sensors=["leg2.ball"])
    x = drawn_poses(robot, 4, 1)
    inverse = nacelle.inverse_kinematics(robot, x)
    chosen = default_parameters(robot, encoders)
    assert chosen[-1].name == "zero.leg2.cardan.2"
    index = robot.q_slices[encoders[-1].axis.joint].start + 1
    loops = Loops(robot)
    geometry = Geometry(robot, chosen, encoders)
    zero = np.zeros(len(chosen))
    states = states_at(inverse)
    now = loops.linearise(geometry.vector(zero), states, geometry.frame_rates(zero))
    coordinate, response = now.joint(encoders[-1].axis, states)
    assert np.array_equal(coordinate, inverse.q_tree[:, index])
    # Along the motions that the loops leave, against differences of inverse kinematics.
    h = 1e-6
    for axis in range(3):
        step = np.eye(7)[axis] * h
        q = [nacelle.inverse_kinematics(robot, x + sign * step).q_tree[:, index] for sign in (1, -1)]
        point, twist = now.point(1, np.zeros(3))[1].by_motion[0], now.body(1).by_motion[0, 3:]
        motion = np.linalg.lstsq(np.concatenate([point, twist]), np.eye(6)[axis], rcond=None)[0]
        assert (response.by_motion[0] @ motion)[0] == pytest.approx((q[0] - q[1])[0] / (2 * h), rel=1e-7)


def test_two_coordinates_in_a_frame_that_nobody_knows() -> None:
    """A camera above a plate on three arms gives x and y in its own axes."""
    robot = nacelle.load("fivebar")
    chosen = choose_parameters(known_parameters(robot), ["number.distal", "zero.*"])
    x = drawn_poses(robot, 12, 4)
    readings = nacelle.inverse_kinematics(robot, x).q + np.array([2e-3, -1e-3])
    c, s = np.cos(0.7), np.sin(0.7)
    seen = np.stack([c * x[:, 0] + s * x[:, 1] - 0.3, c * x[:, 1] - s * x[:, 0] + 1.2], axis=1)
    tracker = Tracker(seen, np.full(2, 1e-6), ("x", "y"))
    result = calibrate(Campaign(robot, readings, encoders_of(robot), (tracker,)), chosen, validate=False)
    values = dict(zip([one.name for one in result.parameters], result.values, strict=True))
    assert {*values} == {one.name for one in chosen} | {"tracker.x", "tracker.y", "tracker.rz"}
    assert result.rank == 6
    assert values["zero.left.motor"] == pytest.approx(-2e-3, abs=1e-5)
    assert values["number.distal"] == pytest.approx(0.0, abs=1e-5)
    height = replace(tracker, values=seen[:, :1], noise=np.full(1, 1e-6), coordinates=("x",))
    with pytest.raises(CalibrationError, match="measures x alone"):
        calibrate(Campaign(robot, readings, encoders_of(robot), (height,)), chosen, validate=False)


@pytest.mark.slow
def test_wrong_distances_of_pairs_are_left_out() -> None:
    robot = nacelle.load("fivebar")
    chosen = choose_parameters(known_parameters(robot), ["number.half_base", "zero.*"])
    x = drawn_poses(robot, 60, 4)
    zeros = np.array([2e-3, -1e-3])
    readings = nacelle.inverse_kinematics(robot, x).q + zeros
    rng = np.random.default_rng(3)
    samples = np.arange(60).reshape(30, 2)
    distances = np.linalg.norm(x[::2] - x[1::2], axis=1)[:, None] + 1e-6 * rng.normal(size=(30, 1))
    wrong = [3, 11, 12, 20, 25]
    distances[wrong] += 1e-3 * rng.normal(size=(5, 1))
    campaign = Campaign(robot, readings, encoders_of(robot), (), (Pairs(samples, distances, 1e-6),))
    result = calibrate(campaign, chosen, validate=False)
    assert result.is_sound
    assert result.outliers == tuple((2 * k, f"pairs, with sample {2 * k + 1}") for k in wrong)
    assert np.all(np.abs(result.values - [*-zeros, 0.0]) < 5.0 * result.deviations)
    kept = calibrate(campaign, chosen, robust=False, validate=False)
    assert not kept.is_sound


# ---- couplings

SCREWS = (
    TEXT.replace("format: nacelle/1", "format: nacelle/2")
    .replace("name: linear-delta", "name: screw-delta")
    .replace("    bodies:\n", "    bodies:\n      shaft: {mass: 0.05 kg}\n")
    .replace(
        "    joints:\n",
        "    couplings: {screw: {joint: slide, follows: shaft, ratio: 20 mm/rev}}\n    joints:\n"
        "      shaft: {type: revolute, parent: base, child: shaft, axis: z, guess: 83.72 rad, "
        "actuator: {name: motor}}\n",
    )
    .replace(",\n          actuator: {name: motor}}", "}")
    .replace("axis: z, guess: 266.5 mm", "axis: z")
)


@pytest.mark.slow
def test_leads_of_screws_are_calibrated() -> None:
    """Three screws whose leads deviate by some tenths of a percent: the machine is a robot of its own."""
    robot = nacelle.loads(SCREWS)
    encoders = encoders_of(robot, 1e-5)
    chosen = choose_parameters(
        known_parameters(robot, encoders), ["ratio.*", "offset.*=1 mm", "*.slide.predecessor.x"]
    )
    assert [one.unit for one in chosen if one.kind == "coupling"] == ["m", "m/rad"] * 3
    truth = np.random.default_rng(2).normal(size=len(chosen)) * [one.tolerance for one in chosen]
    machine = Geometry(robot, chosen, encoders).machine(truth)
    x = drawn_poses(robot, 20, 1)
    x = x[np.asarray(nacelle.inverse_kinematics(machine, x).ok)]
    readings = nacelle.inverse_kinematics(machine, x).q
    nominal = nacelle.inverse_kinematics(robot, x).q
    assert np.max(np.abs(readings - nominal)) > 0.1
    tracker = Tracker(x, np.full(3, 1e-6), tolerance=(0.0,) * 6)
    result = calibrate(Campaign(robot, readings, encoders, (tracker,), guess=x), chosen, validate=False)
    assert result.rank == len(chosen)
    assert np.all(np.abs(result.values - truth) < 5.0 * result.deviations)
    assert np.max(np.abs(nacelle.inverse_kinematics(result.robot, x).q - readings)) < 1e-4


# ---- what devices see


@pytest.mark.slow
def test_range_acceptance_and_solids_limit_what_is_seen() -> None:
    robot = nacelle.load("gough-stewart")
    x = drawn_poses(robot, 40, 1)
    bodies = nacelle.inverse_kinematics(robot, x).bodies
    point, origin = np.array([0.1, 0.0, 0.05]), np.array([2.0, 0.3, 0.8])
    ways = bodies.p[:, 1] + bodies.R[:, 1] @ point - origin
    distances = np.linalg.norm(ways, axis=1)
    middle = float(np.median(distances))
    seen = seen_poses(robot, bodies, PointOfBody(1, point), origin, View(furthest=middle))
    assert np.array_equal(seen, distances <= middle)
    seen = seen_poses(
        robot, bodies, PointOfBody(1, point), origin, View(facing=(1.0, 0.0, 0.0), acceptance=0.35)
    )
    angles = np.arccos(np.sum(bodies.R[:, 1, :, 0] * -ways, axis=1) / distances)
    assert np.array_equal(seen, angles <= 0.35)
    assert 0 < np.sum(seen) < 40
    # Above the platform nothing is in the way; from below, through its plate, everything.
    assert np.all(
        seen_poses(robot, bodies, PointOfBody(1, point), np.array([0.0, 0.0, 3.0]), View(is_hidden=True))
    )
    behind = seen_poses(
        robot, bodies, PointOfBody(1, point), np.array([0.1, 0.0, -1.0]), View(is_hidden=True)
    )
    assert np.sum(behind) < 40


def test_poses_are_planned_where_the_device_sees_them() -> None:
    robot = nacelle.load("fivebar")
    frame = Pose(np.eye(3), np.array([0.0, 0.9, 0.0]))
    tracker = Tracker(
        np.zeros((0, 3)), np.full(3, 1e-5), frame=frame, tolerance=(1e-3,) * 6, view=View(furthest=0.62)
    )
    campaign = Campaign(robot, np.zeros((0, 2)), encoders_of(robot), (tracker,))
    chosen = choose_parameters(known_parameters(robot), ["number.*", "zero.*"])
    plan = plan_poses(campaign, 6, chosen)
    p = nacelle.inverse_kinematics(robot, plan.x).bodies.p[:, 1]
    assert np.all(np.linalg.norm(p - frame.p, axis=1) <= 0.62)
    far = replace(tracker, view=View(furthest=0.1))
    with pytest.raises(CalibrationError, match="within what the devices see"):
        plan_poses(replace(campaign, devices=(far,)), 6, chosen)
    lost = replace(tracker, tolerance=(np.inf,) * 6)
    with pytest.raises(CalibrationError, match="give its position"):
        plan_poses(replace(campaign, devices=(lost,)), 6, chosen)
    camera = Camera.look_at([0.05, 0.3, 0.0], [0.05, 0.3, 0.5], size=(400, 300), field=0.4)
    target = Target(np.zeros((0, 2)), 0.1, camera)
    plan = plan_poses(replace(campaign, devices=(target,)), 5, chosen)
    assert np.all(camera.contains(camera.project(nacelle.inverse_kinematics(robot, plan.x).bodies.p[:, 1])))


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("{noise: 1 um, range: [2 m, 1 m]}", "from a smaller to a larger"),
        ("{noise: 1 um, facing: z}", "require each other"),
        ("{kind: tracker, noise: 1 um, file: edges.csv}", "edges alone are in a file"),
        ("{kind: places, noise: 1 um, line of sight: true}", "no line of sight"),
    ],
)
def test_devices_that_cannot_be(tmp_path: Path, entry: str, message: str) -> None:
    file = tmp_path / "campaign.yaml"
    file.write_text(f"devices:\n  tracker: {entry}\n")
    with pytest.raises(DescriptionError, match=message):
        read_campaign(file, nacelle.load("fivebar"))
