"""Calibrations of machines that are robots of their own; intervals, what is not known, faults of the data."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import nacelle
from calibration.campaigns import FRAME, Bench, bench, position_error, zeros_at
from calibration.linear_delta import linear_delta
from nacelle.calibration.calibration import Calibration, calibrate
from nacelle.calibration.devices import Distance, Pairs, Target, Tool, Tracker
from nacelle.calibration.fit import Campaign, System, fit
from nacelle.calibration.parameters import Geometry, choose_parameters, encoders_of, known_parameters
from nacelle.calibration.poses import blank_campaign, default_parameters, drawn_poses, plan_poses
from nacelle.calibration.simulated import simulate_campaign
from nacelle.errors import CalibrationError
from nacelle.spatial.rotation import log_rotation, rotation_vector
from nacelle.vision.camera import Camera
from support.random_robots import random_robot

ROBOTS = ["fivebar", "delta", "6 UPS", "planar RRR", "orthoglide", "hexaglide", "3rps", "h4", "space"]


@pytest.fixture(scope="module")
def fivebar() -> Bench:
    return bench(nacelle.load("fivebar"), 40)


@pytest.mark.costly
@pytest.mark.parametrize("name", ROBOTS)
def test_a_machine_is_as_the_calibration_says(name: str) -> None:
    robot = random_robot(name, 5)
    made = bench(robot, 15 + len(default_parameters(robot)))
    result = calibrate(made.campaign, made.parameters, validate=False)
    assert result.is_sound
    assert 0.7 < result.noise_ratio < 1.3
    x = drawn_poses(robot, 40, seed=77)
    count = len(robot.actuators)
    true = zeros_at(made.parameters, made.truth, count)
    before = position_error(made.machine, robot, robot, (true, np.zeros(count)), x)
    estimated = zeros_at(result.parameters, result.values, count)
    after = position_error(made.machine, result.robot, robot, (true, estimated), x)
    assert after < 5e-5
    assert after < 0.05 * before
    # What is said of the error is what it is, as well as one machine can tell.
    assert after < 3.0 * result.after.position
    off = (result.values[: len(made.truth)] - made.truth) / result.deviations[: len(made.truth)]
    assert np.sqrt(np.mean(off**2)) < 2.0


def test_the_result_is_written_and_read_again(fivebar: Bench, tmp_path) -> None:
    result = calibrate(fivebar.campaign, fivebar.parameters)
    assert result.validation is not None
    assert result.validation.after < 1.5 < 3.0 < result.validation.before
    yaml, data = result.write(tmp_path / "machine.yaml")
    assert nacelle.load(yaml).hash == result.robot.hash
    assert "left.proximal-input.predecessor.x" in data.read_text()


def test_rods_far_off_are_written_and_read_again(tmp_path) -> None:
    """They spin about the line through their joints, wherever these are."""
    robot = linear_delta()
    chosen = [item for item in known_parameters(robot) if ".ball-" in item.name or ".end-" in item.name]
    values = np.random.default_rng(1).normal(size=len(chosen)) * [5.0 * item.tolerance for item in chosen]
    machine = Geometry(robot, tuple(chosen), encoders_of(robot)).machine(values)
    (tmp_path / "machine.yaml").write_text(machine.to_yaml())
    again = nacelle.load(tmp_path / "machine.yaml")
    assert again.hash == machine.hash


def test_what_nothing_shows_is_a_rigid_motion(fivebar: Bench) -> None:
    """Of a tracker that stands anywhere: the base may move in its plane with it."""
    result = calibrate(fivebar.campaign, fivebar.parameters, validate=False)
    assert len(result.combinations) == 3
    assert any(
        "tracker.x" in text and "left.proximal-input.predecessor.x" in text for text in result.combinations
    )
    lengths = {one.name for one in fivebar.parameters if ".distal-input.successor" in one.name}
    assert lengths
    assert not lengths & {*result.unidentified}


def corrupted(made: Bench, change) -> Campaign:
    values = made.seen.copy()
    change(values)
    return made.with_tracker(values)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda v: np.multiply(v, [1e3] * 3, out=v), "millimetres"),
        (lambda v: np.copyto(v, np.inf), "infinite"),
        (lambda v: np.copyto(v, np.nan), "measured nothing"),
    ],
)
def test_wrong_units_and_numbers_are_refused(fivebar: Bench, change, message: str) -> None:
    with pytest.raises(CalibrationError, match=message):
        calibrate(corrupted(fivebar, change), fivebar.parameters)


AGILE_EYE = """
format: nacelle/1
name: agile-eye
motion: [rx, ry, rz]
platform: {name: camera, mass: 0.3 kg, com: 0 0 5 mm, inertia: 0.0003 0.0003 0.0002 kg*m^2}
templates:
  leg:
    bodies:
      proximal: {mass: 0.15 kg, com: 40 0 -40 mm, inertia: 0.0003 0.0004 0.0003 kg*m^2}
      distal: {mass: 0.1 kg, com: 0 -30 -30 mm, inertia: 0.0002 0.00015 0.00015 kg*m^2}
    joints:
      motor: {type: revolute, parent: base, child: proximal, axis: x, actuator: {}}
      mid: {type: revolute, parent: proximal, child: distal, axis: [0, 0, -1]}
    closures:
      eye: {type: revolute, parent: distal, child: camera, axis: [0, -1, 0]}
legs:
  - {repeat: leg, placements: [{}, {axis: [1, 1, 1], angle: 120 deg}, {axis: [1, 1, 1], angle: 240 deg}]}
"""


@pytest.mark.slow
def test_a_platform_that_only_turns_shows_its_unit_by_scatter(tmp_path: Path) -> None:
    file = tmp_path / "agile-eye.yaml"
    file.write_text(AGILE_EYE)
    made = bench(nacelle.load(file), 40)
    assert calibrate(made.campaign, made.parameters, validate=False).is_sound
    far = made.seen * np.repeat([1e3, 1.0], 3)
    result = calibrate(made.with_tracker(far), made.parameters, validate=False)
    assert not result.is_sound
    assert "are positions millimetres?" in result.findings[0].text


def test_swapped_drives_are_named(fivebar: Bench) -> None:
    swapped = replace(fivebar.campaign, readings=fivebar.campaign.readings[:, ::-1], guess=None)
    with pytest.raises(CalibrationError, match=r"left\.motor and right\.motor are swapped"):
        calibrate(swapped, fivebar.parameters)


@pytest.mark.slow
def test_a_mark_that_is_turned_on_the_platform_is_found() -> None:
    made = bench(random_robot("6 UPS", 2), 40)
    turn = rotation_vector(np.array([0.3, -0.5, 0.8]))
    seen = made.seen.copy()
    seen[:, 3:] = [log_rotation(rotation_vector(vector) @ turn) for vector in seen[:, 3:]]
    with pytest.raises(CalibrationError, match=r"turned by 56\.\d+ deg"):
        calibrate(made.with_tracker(seen), made.parameters)
    tool = Tool(rotation_tolerance=1.0)
    result = calibrate(made.with_tracker(seen, tool=tool), made.parameters, validate=False)
    assert result.is_sound
    assert any("turned by 56" in finding.text for finding in result.findings)
    assert 0.7 < result.noise_ratio < 1.3


@pytest.mark.slow
def test_swapped_columns_are_named() -> None:
    made = bench(nacelle.load("delta"), 20)

    def swap(values: np.ndarray) -> None:
        values[:, [0, 1]] = values[:, [1, 0]]

    with pytest.raises(CalibrationError, match="swapped or reversed"):
        calibrate(corrupted(made, swap), made.parameters)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda q, v: (-q, v), "all drives are reversed"),
        (lambda q, v: (q * [1, -1, 1], v), r"leg2\.motor is reversed"),
        (lambda q, v: (q[:-1], v[1:]), "tracker is a sample early"),
        (lambda q, v: (q, np.c_[v[:, :3], v[:, 3:] * 180.0 / np.pi]), "they are degrees"),
        (lambda q, v: (np.roll(q, 1, axis=1), v), r"rotations of tracker are 12\d\.\d deg off"),
    ],
)
def test_the_reading_that_fits_better_is_named(change, message: str) -> None:
    made = bench(nacelle.load("delta"), 40, seed=3)
    q, values = change(made.campaign.readings, made.seen)
    campaign = replace(made.with_tracker(values), readings=q, guess=None)
    with pytest.raises(CalibrationError, match=message):
        calibrate(campaign, made.parameters)


def test_readings_out_of_reach_are_named(fivebar: Bench) -> None:
    with pytest.raises(CalibrationError, match="belong to no pose"):
        calibrate(replace(fivebar.campaign, readings=57.3 * fivebar.campaign.readings, guess=None))
    broken = fivebar.campaign.readings.copy()
    broken[3, 1] = np.nan
    with pytest.raises(CalibrationError, match=r"right\.motor at sample 3 is not a number"):
        calibrate(replace(fivebar.campaign, readings=broken))


def test_gaps_are_left_out(fivebar: Bench) -> None:
    def gap(values: np.ndarray) -> None:
        values[4:9] = np.nan
        values[12, 1] = np.nan

    result = calibrate(corrupted(fivebar, gap), fivebar.parameters, validate=False)
    full = calibrate(fivebar.campaign, fivebar.parameters, validate=False)
    assert result.is_sound
    assert result.degrees == full.degrees - 5 * 3 - 1


@pytest.mark.costly
@pytest.mark.parametrize("name", ["fivebar", "6 UPS", "delta"])
def test_a_fifth_of_outliers(name: str) -> None:
    robot = random_robot(name, 6)
    made = bench(robot, 30 + len(default_parameters(robot)))
    rng = np.random.default_rng(4)
    wrong = rng.random(len(made.x)) < 0.2

    def throw(values: np.ndarray) -> None:
        values[wrong, :3] += 0.01 * robot.size * rng.normal(size=(int(wrong.sum()), 3))

    result = calibrate(corrupted(made, throw), made.parameters, validate=False)
    left_out = {sample for sample, _ in result.outliers}
    assert {*np.flatnonzero(wrong).tolist()} <= left_out
    assert len(left_out) <= int(wrong.sum()) + 3
    assert result.is_sound
    off = (result.values[: len(made.truth)] - made.truth) / result.deviations[: len(made.truth)]
    assert np.sqrt(np.mean(off**2)) < 2.0


@pytest.mark.slow
def test_a_fifth_of_outliers_as_large_as_the_robot() -> None:
    """The first estimate is not led astray: it would close the loops in another assembly."""
    robot = nacelle.load("3rps")
    made = bench(robot, 50, seed=3)
    rng = np.random.default_rng(3)
    wrong = rng.random(len(made.x)) < 0.2

    def throw(values: np.ndarray) -> None:
        values[wrong, :3] += robot.size * rng.normal(size=(int(wrong.sum()), 3))

    campaign = replace(corrupted(made, throw), guess=None)
    result = calibrate(campaign, made.parameters, validate=False)
    assert result.is_sound
    assert {sample for sample, _ in result.outliers} == {*np.flatnonzero(wrong).tolist()}


@pytest.mark.slow
def test_poses_of_another_assembly_are_found() -> None:
    """Drives alone lead some samples of an Orthoglide elsewhere; the tracker says where it is."""
    made = bench(nacelle.load("orthoglide"), 60, seed=5)
    result = calibrate(replace(made.campaign, guess=None), made.parameters, validate=False)
    assert result.is_sound
    assert 0.8 < result.noise_ratio < 1.2
    assert any("assembled otherwise" in finding.text for finding in result.findings)


def test_drift_is_named(fivebar: Bench) -> None:
    def drift(values: np.ndarray) -> None:
        values[:, 1] += np.linspace(0.0, 5e-4, len(values))

    result = calibrate(corrupted(fivebar, drift), fivebar.parameters, validate=False)
    assert not result.is_sound
    assert result.causes[0].name == "drift of tracker, number 2"
    assert result.causes[0].size * 1e-5 == pytest.approx(2.5e-4, rel=0.2)


def test_a_drive_that_never_moved_is_named(fivebar: Bench) -> None:
    x = fivebar.x.copy()
    robot = fivebar.robot
    q = nacelle.inverse_kinematics(robot, x).q
    q[:, 1] = q[0, 1]
    there = nacelle.forward_kinematics(robot, q, guess=x)
    good = np.asarray(there.ok)
    p = nacelle.inverse_kinematics(robot, there.x[good]).bodies.p[:, 1]
    campaign = Campaign(
        robot, q[good], fivebar.encoders, (Tracker(p, np.full(3, 1e-5)),), guess=there.x[good]
    )
    result = calibrate(campaign, fivebar.parameters, validate=False)
    assert not result.is_sound
    assert any("right.motor never moved" in finding.text for finding in result.findings)


@pytest.mark.slow
def test_poses_in_a_plane_are_named() -> None:
    robot = nacelle.load("delta")
    x = drawn_poses(robot, 30, seed=2)
    x[:, 2] = x[0, 2]
    good = np.asarray(nacelle.inverse_kinematics(robot, x).ok)
    encoders = encoders_of(robot)
    q = nacelle.inverse_kinematics(robot, x[good]).q
    campaign = Campaign(robot, q, encoders, (Tracker(x[good], np.full(3, 1e-5)),), guess=x[good])
    result = calibrate(campaign, validate=False)
    assert any("lie in a plane" in finding.text for finding in result.findings)
    assert any("decided by the tolerance" in finding.text for finding in result.findings)


def test_few_poses_say_that_tolerances_decide(fivebar: Bench) -> None:
    with pytest.raises(CalibrationError, match="at 3 poses or more"):
        calibrate(fivebar.campaign.subset(np.arange(2)), fivebar.parameters)
    result = calibrate(fivebar.campaign.subset(np.arange(4)), fivebar.parameters)
    assert any("decided by the tolerance" in finding.text for finding in result.findings)
    assert result.validation is None


# ---- without a tracker


def simulated(
    robot: nacelle.Robot,
    devices: tuple,
    chosen: tuple,
    *,
    sensors: tuple[str, ...] = (),
    seed: int = 0,
    count: int = 40,
    hidden: tuple = (),
    pairs: tuple = (),
) -> tuple[Campaign, np.ndarray]:
    """A campaign simulated by the wing, for devices that only it has."""
    encoders = encoders_of(robot, sensors=sensors)
    x = drawn_poses(robot, count, seed=11 + seed)
    blank = blank_campaign(Campaign(robot, np.zeros((0, len(encoders))), encoders, devices), x)
    blank = replace(blank, pairs=pairs)
    if not devices:
        blank = replace(blank, devices=())
    everything = (*chosen, *hidden, *blank.device_parameters)
    rng = np.random.default_rng(seed)
    values = rng.normal(size=len(everything)) * [one.tolerance for one in everything]
    return simulate_campaign(blank, everything, values, rng), values[: len(chosen)]


def deviation_ratio(result: Calibration, truth: np.ndarray) -> float:
    off = (result.values[: len(truth)] - truth) / result.deviations[: len(truth)]
    return float(np.sqrt(np.mean(off**2)))


def test_self_calibration_with_one_further_encoder() -> None:
    """A five-bar with an encoder in a passive joint: shape and zeros follow, but not the size."""
    robot = nacelle.load("fivebar")
    chosen = default_parameters(robot)
    campaign, truth = simulated(robot, (), chosen, sensors=("left.distal-input",))
    sensor_zero = [
        one for one in known_parameters(robot, campaign.encoders) if one.name == "zero.left.distal-input"
    ]
    campaign = replace(campaign, guess=campaign.guess)
    result = calibrate(campaign, (*chosen, *sensor_zero), validate=False)
    assert 0.6 < result.noise_ratio < 1.4
    assert deviation_ratio(result, truth) < 1.8
    # Angles alone: nothing tells a machine twice as large from this one, nor where it stands.
    assert result.rank <= len(result.parameters) - 4
    assert result.after.position < 0.7 * result.before.position


def test_a_camera_alone_calibrates_a_five_bar() -> None:
    robot = nacelle.load("fivebar")
    centre = np.array([0.0, 0.25, 0.0])
    camera = Camera.look_at(centre, centre + np.array([0.05, -0.1, 1.2]), size=(2048, 2048), field=0.6)
    target = Target(np.zeros((0, 2)), 0.05, camera, (0.01,) * 3 + (0.02,) * 3)
    chosen = default_parameters(robot)
    campaign, truth = simulated(robot, (target,), chosen, count=60)
    result = calibrate(campaign, chosen)
    assert result.is_sound
    assert 0.8 < result.noise_ratio < 1.2
    assert deviation_ratio(result, truth) < 1.8
    assert result.after.position < 0.2 * result.before.position


@pytest.mark.slow
def test_a_bent_rod_is_found_by_name() -> None:
    robot = nacelle.with_payload(nacelle.load("delta"), mass=20.0)
    chosen = default_parameters(robot)
    stretch = [one for one in known_parameters(robot) if one.name == "stretch.leg2.rod-b"]
    bent = (replace(stretch[0], tolerance=4e-6),)
    tracker = Tracker(np.zeros((0, 6)), np.array([1e-6] * 3 + [2e-6] * 3), ("x", "y", "z", "rx", "ry", "rz"))
    campaign, _ = simulated(robot, (tracker,), chosen, hidden=bent, count=60, seed=3)
    campaign = replace(campaign, devices=(campaign.devices[0],))
    result = calibrate(campaign, chosen, validate=False)
    assert not result.is_sound
    assert result.causes[0].name == "stretch.leg2.rod-b"
    assert result.causes[0].explained > 0.8


@pytest.mark.slow
def test_distances_and_pairs() -> None:
    """A ball bar from one point, and distances of pairs of poses, give what each can."""
    robot = nacelle.load("delta-codourey")
    chosen = default_parameters(robot)
    bar = Distance(np.zeros((0, 1)), 1e-6, np.array([0.1, 0.2, -1.5]), (1e-3,) * 4)
    campaign, truth = simulated(robot, (bar,), chosen, count=80)
    result = calibrate(campaign, chosen, validate=False)
    assert 0.7 < result.noise_ratio < 1.3
    assert deviation_ratio(result, truth) < 1.8
    samples = np.array([[k, 79 - k] for k in range(40)])
    pairs = (Pairs(samples, np.zeros((40, 1)), 1e-6, Tool()),)
    campaign, truth = simulated(robot, (), chosen, count=80, pairs=pairs)
    result = calibrate(campaign, chosen, validate=False)
    assert deviation_ratio(result, truth) < 1.8
    assert result.after.position < 0.5 * result.before.position


# ---- where to measure


@pytest.mark.slow
def test_planned_poses_are_better_than_random_ones() -> None:
    robot = nacelle.load("delta")
    encoders = encoders_of(robot)
    tracker = Tracker(np.zeros((0, 3)), np.full(3, 1e-5))
    plan = plan_poses(Campaign(robot, np.zeros((0, 3)), encoders, (tracker,)), 20)
    assert plan.x.shape == (20, 3)
    assert nacelle.inverse_kinematics(robot, plan.x).ok.all()
    assert plan.deviation < 0.5 * plan.random
    near = plan_poses(
        Campaign(robot, np.zeros((0, 3)), encoders, (tracker,)),
        20,
        allowed=lambda x: x[:, 2] > plan.x[:, 2].mean(),
    )
    assert np.all(near.x[:, 2] > plan.x[:, 2].mean())
    assert near.deviation > plan.deviation


def test_parameters_by_pattern() -> None:
    known = known_parameters(nacelle.load("delta"))
    chosen = choose_parameters(known, ["zero.*=1e-3", "leg1.shoulder.predecessor.?"])
    assert [one.name for one in chosen] == [
        *(f"leg1.shoulder.predecessor.{axis}" for axis in "xyz"),
        *(f"zero.leg{k}.motor" for k in (1, 2, 3)),
    ]
    assert chosen[-1].tolerance == 1e-3
    with pytest.raises(CalibrationError, match="did you mean"):
        choose_parameters(known, ["zero.leg1.motr"])
    with pytest.raises(CalibrationError, match="positive quantity"):
        choose_parameters(known, ["zero.*=-1"])
    first = choose_parameters(known, ["default", "zero.leg1.*=1 deg,-2 deg..1.5 deg"], lambda: chosen)
    assert [one.name for one in first] == [one.name for one in chosen]
    assert first[3].tolerance == pytest.approx(np.radians(1.0))
    assert first[3].bounds == pytest.approx((np.radians(-2.0), np.radians(1.5)))
    assert first[4].tolerance == 1e-3
    with pytest.raises(CalibrationError, match=r"predecessor\.x is in m: 'deg' is not a unit of length"):
        choose_parameters(known, ["leg1.*.predecessor.x=1 deg"])
    with pytest.raises(CalibrationError, match="hold 0"):
        choose_parameters(known, ["zero.*=1 deg..2 deg"])


def test_bounds_hold(fivebar: Bench) -> None:
    from nacelle.model.joint import Interval

    k = next(k for k, one in enumerate(fivebar.parameters) if one.kind == "zero")
    half = 0.5 * fivebar.truth[k]
    bounds = Interval(min(half, 0.0), max(half, 0.0))
    bounded = tuple(
        replace(one, bounds=bounds) if i == k else one for i, one in enumerate(fivebar.parameters)
    )
    optimum = fit(
        System(replace(fivebar.with_tracker(fivebar.seen, tolerance=(1e-9,) * 6, frame=FRAME)), bounded)
    )
    assert optimum.point.values[k] == pytest.approx(half)
