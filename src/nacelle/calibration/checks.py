"""Checks of a campaign before it is fitted: counts, drives that never moved, units, columns, devices' places.

A device whose frame is unknown is first put where the description's positions p fit what it measured best,

    minimise sum |R^T (p - t) - m|^2                            (Kabsch: R of the singular vectors of P^T M)

and what is left then, with the spread of the positions, tells units and columns that are swapped or reversed.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from nacelle.calibration.devices import Places, Tool, Tracker
from nacelle.calibration.fit import Campaign, System
from nacelle.calibration.loops import Loops
from nacelle.calibration.parameters import AXES
from nacelle.calibration.poses import drawn_poses
from nacelle.errors import CalibrationError
from nacelle.kinematics.forward import forward_kinematics
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.solve.inverse import inverse_kinematics
from nacelle.model.leg import PLATFORM
from nacelle.model.robot import Robot
from nacelle.spatial.pose import Pose
from nacelle.spatial.rotation import quat_from_matrices, quat_log, rotation_quat, rotation_vector
from nacelle.spatial.scalar import Array

FEWEST = 3
# A drive that moves by less, in robot sizes or rad, has not moved.
_STILL = 1e-4
# Positions in a plane, or on a line, within this part of their spread.
_FLAT = 1e-3
# What is left after a better reading of columns, as a part of what is left as they stand.
_BETTER = 0.2
# Rotations further off, rad, are none of a machine near its description.
_TURNED = 0.2
_UNITS = {1e3: "millimetres", 1e-3: "kilometres", 1e2: "centimetres", 1e6: "micrometres", 39.37: "inches"}


class Finding(NamedTuple):
    """What a check says; an error makes the result one that is not to be trusted."""

    is_error: bool
    text: str


def check_data(campaign: Campaign) -> None:
    """Refuse what cannot be fitted.

    Raises:
        CalibrationError: if shapes do not agree, numbers are infinite, or there is hardly anything.
    """
    robot, count = campaign.robot, campaign.count
    if campaign.readings.shape[1] != len(campaign.encoders):
        raise CalibrationError(
            f"readings have {campaign.readings.shape[1]} columns, the encoders are {len(campaign.encoders)}"
        )
    if count < FEWEST:
        raise CalibrationError(f"{robot.name} is calibrated at {FEWEST} poses or more, not {count}")
    drives = campaign.readings[:, : len(robot.actuators)]
    bad = np.argwhere(~np.isfinite(drives))
    if bad.size:
        sample, k = bad[0]
        raise CalibrationError(
            f"the reading of {campaign.encoders[k].name} at sample {sample} is not a number: without "
            "all drives a sample has no pose; leave it out"
        )
    for device in campaign.devices:
        measured = device.measured
        if len(measured) != count:
            raise CalibrationError(f"{device.name} has {len(measured)} samples, the encoders {count}")
        if np.any(np.isinf(measured)):
            sample = int(np.argwhere(np.isinf(measured))[0][0])
            raise CalibrationError(f"{device.name} is infinite at sample {sample}")
        if not np.any(np.isfinite(measured)):
            raise CalibrationError(f"{device.name} has measured nothing: all of it is NaN")
    sensors = campaign.readings[:, len(robot.actuators) :]
    if not campaign.devices and not campaign.pairs and not np.any(np.isfinite(sensors)):
        raise CalibrationError(
            f"{robot.name}: nothing but the drives was measured; a calibration takes a device, a "
            "further encoder, or pairs of samples"
        )


def locate_devices(campaign: Campaign) -> Campaign:
    """Put trackers of positions whose frame is unknown (tolerance infinite), and places, where they fit best.

    Raises:
        CalibrationError: if too few positions were measured for that.
    """
    devices = list(campaign.devices)
    for k, device in enumerate(devices):
        if isinstance(device, Tracker) and device.is_lost:
            devices[k] = _locate(campaign, device)
        elif isinstance(device, Places) and device.near is None:
            devices[k] = device.near_points(_nominal_points(campaign, device.tool), campaign.robot.size)
    return replace(campaign, devices=tuple(devices))


def choose_branches(campaign: Campaign) -> tuple[Campaign, list[Finding]]:
    """Start samples that trackers see elsewhere than the drives say from where they are seen.

    The drives' coordinates may belong to several poses: of samples off by more than ten times the median
    (and a fiftieth of the robot's size) the pose nearest to the measured one is taken if nearer by half.
    """
    robot = campaign.robot
    device = next(
        (item for item in campaign.devices if isinstance(item, Tracker) and _sees_positions(item)), None
    )
    if device is None or campaign.guess is not None:
        return campaign, []
    nominal = System(replace(campaign, devices=(), pairs=()), ()).start().states.platform
    columns = [device.coordinates.index(axis) for axis in AXES[:3]]
    seen = device.values[:, columns] @ device.frame.R.T + device.frame.p
    off = np.linalg.norm(_nominal_points(campaign, device.tool) - seen, axis=1)
    far = np.flatnonzero(off > max(10.0 * float(np.nanmedian(off)), 0.02 * robot.size))
    if not far.size:
        return campaign, []
    R = np.broadcast_to(np.eye(3), (len(far), 3, 3))
    if robot.platform_nv == 6:
        R = np.stack([rotation_quat(quat) for quat in nominal[far, 3:]])
        if "rx" in device.coordinates:
            last = [device.coordinates.index(axis) for axis in AXES[3:]]
            vectors = device.values[far][:, last]
            R = device.frame.R @ np.stack([rotation_vector(v) for v in np.nan_to_num(vectors)])
    chart = mechanism_of(robot).chart
    guess, _ = chart.coordinates(Pose(R, seen[far] - R @ device.tool.point))
    drives = campaign.readings[far][:, : len(robot.actuators)]
    again = forward_kinematics(robot, drives, guess)
    p = inverse_kinematics(robot, again.x, limits=False).bodies
    nearer = np.linalg.norm(p.p[:, PLATFORM] + p.R[:, PLATFORM] @ device.tool.point - seen[far], axis=1)
    better = np.isfinite(nearer) & (nearer < 0.5 * off[far])
    if not np.any(better):
        return campaign, []
    x = np.array(forward_kinematics(robot, campaign.readings[:, : len(robot.actuators)]).x)
    x[far[better]] = again.x[better]
    names = ", ".join(map(str, far[better][:5].tolist())) + (", ..." if np.sum(better) > 5 else "")
    text = f"samples {names} are assembled otherwise than near the reference pose: as {device.name} sees them"
    return replace(campaign, guess=x), [Finding(False, text)]


def _sees_positions(device: Tracker) -> bool:
    return {"x", "y", "z"} <= {*device.coordinates} and device.tool.body == PLATFORM


def _nominal_bodies(campaign: Campaign) -> dict[str, Array]:
    """Orientations "R" (S, bodies, 3, 3) and positions "p" (S, bodies, 3), m, by the description."""
    system = System(replace(campaign, devices=(), pairs=()), ())
    loops = Loops(campaign.robot)
    return loops.evaluate(loops.geometry, system.start().states)


def _nominal_points(campaign: Campaign, tool: Tool) -> Array:
    """Positions (S, 3) of the tool point by the description."""
    values = _nominal_bodies(campaign)
    return np.asarray(values["p"][:, tool.body] + values["R"][:, tool.body] @ tool.point)


def _locate(campaign: Campaign, device: Tracker) -> Tracker:
    """The tracker where its positions fit best; of a plane robot two coordinates will do, in its plane."""
    present = [axis in device.coordinates for axis in AXES[:3]]
    points, measured = _nominal_points(campaign, device.tool), np.zeros((campaign.count, 3))
    normal = plane_normal(campaign.robot) if sum(present) == 2 else None
    if not all(present) and normal is None:
        raise CalibrationError(
            f"{device.name} measures {', '.join(device.coordinates)} alone: give its frame in the base "
            "(position, orientation) with a tolerance, such as tolerance: {z: 5 mm, rx: 1 deg, ry: 1 deg}"
        )
    for k in np.flatnonzero(present):
        measured[:, k] = device.values[:, device.coordinates.index(AXES[k])]
    good = np.all(np.isfinite(measured), axis=1)
    if np.sum(good) < FEWEST:
        raise CalibrationError(f"{device.name} has {int(np.sum(good))} positions: too few to find its frame")
    frame, _ = best_frame(points[good], measured[good])
    spread = np.linalg.svd(points[good] - points[good].mean(axis=0), compute_uv=False)
    vectors = device.values[good][:, [k for k, axis in enumerate(device.coordinates) if axis in AXES[3:]]]
    finite = np.all(np.isfinite(vectors), axis=1)
    if spread[1] < _FLAT * campaign.robot.size and vectors.shape[1] and np.sum(finite) >= FEWEST:
        # A platform that only turns: rotations tell how the device stands.
        R = _nominal_bodies(campaign)["R"][good, device.tool.body][finite]
        seen = np.stack([rotation_vector(vector) for vector in vectors[finite]])
        rotation = nearest_rotation(R @ np.swapaxes(seen, 1, 2))
        frame = Pose(rotation, np.median(points[good] - measured[good] @ rotation.T, axis=0))
    located = replace(device, frame=frame).within(campaign.robot.size)
    if all(present) or normal is None:
        return located
    # In the plane it may move and rotate; out of it nothing that it measures would change to first order.
    across = np.where(np.abs(normal) < _FLAT, 0.0, np.abs(normal))
    free = np.concatenate([np.sqrt(1.0 - np.minimum(across, 1.0) ** 2), across])
    return replace(located, tolerance=tuple((np.array(located.tolerance) * free).tolist()))


def nearest_rotation(rotations: Array) -> Array:
    """The rotation (3, 3) nearest to all of (S, 3, 3), outliers left out."""

    def left_by(keep: Array) -> tuple[Array, Array]:
        R = _closest_rotation(rotations[keep].sum(axis=0))
        return R, np.linalg.norm(rotations - R, axis=(1, 2))

    return np.asarray(_without_outliers(left_by, len(rotations))[0])


def best_frame(points: Array, measured: Array) -> tuple[Pose, float]:
    """The frame (R, t) in which points (S, 3) are best as measured (S, 3), and the median of what is left."""

    def left_by(keep: Array) -> tuple[Pose, Array]:
        p, m = points[keep].mean(axis=0), measured[keep].mean(axis=0)
        R = _closest_rotation((points[keep] - p).T @ (measured[keep] - m))
        t = p - R @ m
        return Pose(R, t), np.linalg.norm((points - t) @ R - measured, axis=1)

    frame, left = _without_outliers(left_by, len(points))
    return frame, float(np.median(left))


def _closest_rotation(matrix: Array) -> Array:
    """R = U diag(1, 1, +-1) V^T of a matrix U S V^T (3, 3)."""
    U, _, Vt = np.linalg.svd(matrix)
    return np.asarray(U @ np.diag([1.0, 1.0, float(np.sign(np.linalg.det(U @ Vt)))]) @ Vt)


def _without_outliers(left_by: Callable[[Array], tuple[Any, Array]], count: int) -> tuple[Any, Array]:
    """A fit and what it leaves of all samples (S,), without those that it leaves far off the others."""
    keep = np.ones(count, dtype=bool)
    for _ in range(4):
        fit, left = left_by(keep)
        again = left <= 4.0 * np.median(left) + 1e-12
        if np.array_equal(again, keep):
            break
        keep = again
    return fit, left


def check_agreement(campaign: Campaign) -> tuple[Campaign, list[Finding]]:
    """Compare a campaign with the description: drives, spread, units, columns; marks as they are turned.

    Raises:
        CalibrationError: if units or columns cannot be right.
    """
    robot, findings = campaign.robot, []
    drives = campaign.readings[:, : len(robot.actuators)]
    units = np.where(robot.revolute_actuators, 1.0, robot.size)
    ranges = np.ptp(drives, axis=0) / units
    still = [campaign.encoders[k].name for k in np.flatnonzero(ranges < _STILL)]
    if still:
        findings.append(
            Finding(True, f"{', '.join(still)} never moved: nothing is known of what moves with it")
        )
    devices = list(campaign.devices)
    for k, device in enumerate(devices):
        if isinstance(device, Tracker) and {"x", "y", "z"} <= {*device.coordinates}:
            devices[k], more = _check_tracker(campaign, device)
            findings += more
    return replace(campaign, devices=tuple(devices)), findings


def _wander(values: Array) -> float:
    """How far positions (n, 3) are from their middle, m."""
    return float(np.median(np.linalg.norm(values - np.median(values, axis=0), axis=1)))


def unit_of_scatter(campaign: Campaign) -> str:
    """What the scatter of a point says of its unit if the platform only turns about it: it is noise."""
    for device in campaign.devices:
        if not (isinstance(device, Tracker) and {"x", "y", "z"} <= {*device.coordinates}):
            continue
        measured = device.values[:, [device.coordinates.index(axis) for axis in AXES[:3]]]
        good, points = np.all(np.isfinite(measured), axis=1), _nominal_points(campaign, device.tool)
        if np.sum(good) < FEWEST or _wander(points[good]) > _FLAT * campaign.robot.size:
            continue
        scatter = _wander(measured[good]) / float(np.min(device.noise))
        unit = next((name for factor, name in _UNITS.items() if 0.3 < scatter / factor < 3.0), "")
        if unit:
            return (
                f"the robot does not move what {device.name} sees, but it wanders by {scatter:.3g} times its "
                f"noise: are positions {unit}?"
            )
    return ""


def _check_tracker(campaign: Campaign, device: Tracker) -> tuple[Tracker, list[Finding]]:
    columns = [device.coordinates.index(axis) for axis in AXES[:3]]
    measured, points = device.values[:, columns], _nominal_points(campaign, device.tool)
    good = np.all(np.isfinite(measured), axis=1)
    if np.sum(good) < FEWEST:
        return device, []
    findings = []
    spreads = [
        np.linalg.svd(values - np.median(values, axis=0), compute_uv=False)
        for values in (points[good], measured[good])
    ]
    robust = [_wander(values) for values in (points[good], measured[good])]
    moves = robust[0] > _FLAT * campaign.robot.size
    ratio = robust[1] / robust[0] if moves else 1.0
    unit = next((name for factor, name in _UNITS.items() if 0.7 < ratio / factor < 1.4), "")
    message = f"positions of {device.name} spread {ratio:.4g} times as far as the robot moves"
    if unit:
        raise CalibrationError(f"{message}: they are {unit}, write the unit")
    flat = spreads[0][2] < _FLAT * spreads[0][0]
    if flat and moves and plane_normal(campaign.robot) is None:
        findings.append(Finding(False, f"all positions of {device.name} lie in a plane: move across it, too"))
    located, as_given = best_frame(points[good], measured[good])
    better = _better_reading(campaign, device, points, measured, _Fit(as_given, flat))
    if better:
        raise CalibrationError(better)
    if not 0.5 < ratio < 2.0:
        raise CalibrationError(f"{message}: check units, and the order of columns")
    off = np.linalg.norm(located.p - device.frame.p)
    if (
        moves
        and np.isfinite(device.tolerance[0])
        and off > 10.0 * max(device.tolerance[:3]) + 0.05 * campaign.robot.size
    ):
        findings.append(
            Finding(True, f"the frame of {device.name} lies {off:.4g} m from where its positions fit best")
        )
    if "rx" in device.coordinates:
        # A platform that only turns tells nothing of how the device stands.
        spans = moves and spreads[0][1] > _FLAT * spreads[0][0]
        angle, mark = _check_rotations(campaign, device, located.R if spans else device.frame.R, spans)
        if angle:
            text = f"the mark of {device.name} is turned by {angle:.4g} deg on the platform"
            findings.append(Finding(False, text))
            device = replace(device, tool=device.tool._replace(R=mark))
    return device, findings


def plane_normal(robot: Robot) -> Array | None:
    """The normal (3,) of the plane in which the platform moves; None if it moves in space."""
    points = inverse_kinematics(robot, drawn_poses(robot, 8), limits=False).bodies.p[:, PLATFORM]
    _, s, axes = np.linalg.svd(points - points.mean(axis=0))
    return np.asarray(axes[2]) if s[2] < 1e-9 * s[0] else None


class _Fit(NamedTuple):
    """How well positions fit as they stand: the median of what is left, m; whether they lie in a plane."""

    left: float
    is_flat: bool


def _better_reading(
    campaign: Campaign, device: Tracker, points: Array, measured: Array, as_given: _Fit
) -> str:
    """Which other reading of the columns fits much better than the one given; empty if none does.

    Mirrored positions (columns swapped, one of them reversed), drives swapped, reversed or shifted round, and
    the device a sample late or early. Of a symmetric robot several fit alike: then they are named.
    """
    good = np.all(np.isfinite(measured), axis=1)
    trials: list[tuple[float, str]] = []
    if as_given.left > 1e-4 * campaign.robot.size and not as_given.is_flat:
        left = best_frame(points[good], measured[good] * [1.0, 1.0, -1.0])[1]
        trials.append((left, f"columns of {device.name} are swapped or reversed (they are a mirror image)"))
    if as_given.left > 0.02 * campaign.robot.size:
        for text, readings in _other_readings(campaign):
            try:
                there = _nominal_points(replace(campaign, readings=readings, guess=None), device.tool)
            except CalibrationError:
                continue
            trials.append((best_frame(there[good], measured[good])[1], text))
        for shift, word in ((1, "late"), (-1, "early")):
            later = np.roll(measured, -shift, axis=0)[max(-shift, 0) : len(measured) - max(shift, 0)]
            there = points[max(-shift, 0) : len(measured) - max(shift, 0)]
            both = np.all(np.isfinite(later), axis=1)
            if np.sum(both) > FEWEST:
                text = f"{device.name} is a sample {word} against the drives"
                trials.append((best_frame(there[both], later[both])[1], text))
    best = min((left for left, _ in trials), default=np.inf)
    if best > _BETTER * as_given.left:
        return ""
    texts = [text for left, text in sorted(trials) if left < 3.0 * best][:3]
    better = as_given.left / max(best, 1e-300)
    return f"{', or '.join(texts)}: read so, {device.name} fits {better:.0f} times better"


def _other_readings(campaign: Campaign) -> Iterator[tuple[str, Array]]:
    """Readings with drives swapped, reversed or shifted round."""
    count = len(campaign.robot.actuators)
    names = [encoder.name for encoder in campaign.encoders[:count]]

    def in_order(order: list[int]) -> Array:
        readings = campaign.readings.copy()
        readings[:, :count] = readings[:, order]
        return readings

    def with_signs(signs: Array) -> Array:
        readings = campaign.readings.copy()
        readings[:, :count] *= signs
        return readings

    every = list(range(count))
    for i, j in itertools.combinations(every, 2):
        order = [{i: j, j: i}.get(k, k) for k in every]
        yield f"{names[i]} and {names[j]} are swapped", in_order(order)
    for shift in range(1, count if count > 2 else 1):
        order = every[shift:] + every[:shift]
        yield f"the drives are shifted: {names[order[0]]} is first", in_order(order)
    for k in every:
        yield f"{names[k]} is reversed", with_signs(np.where(np.arange(count) == k, -1.0, 1.0))
    yield "all drives are reversed", with_signs(np.full(count, -1.0))


def _check_rotations(
    campaign: Campaign, device: Tracker, frame: Array, is_placed: bool
) -> tuple[float, Array]:
    """By how much (deg) a mark is turned on the platform, and how (3, 3); 0 where it is as it is described.

    Args:
        campaign: with the readings of the drives.
        device: which gives rotations.
        frame: of the device (3, 3).
        is_placed: whether positions give it.

    Raises:
        CalibrationError: with the reading that fits much better, or with how far they are off.
    """
    R = _nominal_bodies(campaign)["R"][:, device.tool.body] @ device.tool.R
    vectors = device.values[:, [device.coordinates.index(axis) for axis in AXES[3:]]]
    good = np.all(np.isfinite(vectors), axis=1)
    if np.sum(good) < FEWEST:
        return 0.0, device.tool.R
    expected = frame.T @ R[good]

    def off(seen: Array, with_mark: bool = False) -> tuple[float, Array]:
        """Median angle, rad, by which rotations differ, with the best turn of the mark, too."""
        rotations = np.stack([rotation_vector(vector) for vector in seen])
        mark = np.eye(3) if not with_mark else nearest_rotation(np.swapaxes(rotations, 1, 2) @ expected)
        angles = np.linalg.norm(
            quat_log(quat_from_matrices(rotations @ mark @ np.swapaxes(expected, 1, 2))), axis=1
        )
        return float(np.median(angles)), mark

    seen = vectors[good]
    as_given, _ = off(seen)
    if as_given < _TURNED:
        return 0.0, device.tool.R
    trials = [(off(-seen)[0], "they are those of the device's frame in the platform: reverse their signs")]
    trials += [(off(seen * np.pi / 180.0)[0], "they are degrees, write the unit")]
    trials += [(off(seen * 180.0 / np.pi)[0], "they are radians, write the unit")]
    for order in itertools.permutations(range(3)):
        trials.append((off(seen[:, order])[0], f"read as {', '.join(['rx', 'ry', 'rz'][k] for k in order)}"))
    left, text = min(trials)
    if left > _BETTER * as_given:
        left, rotation = off(seen, with_mark=True)
        angle = float(np.degrees(np.linalg.norm(quat_log(quat_from_matrices(rotation[None]))[0])))
        if left < _BETTER * as_given and is_placed and device.tool.rotation_tolerance:
            return angle, device.tool.R @ rotation.T
        text = f"the mark is turned by {angle:.4g} deg on the platform: give the platform's, the tool's "
        text += "orientation, or its rotation tolerance to have it found"
    hint = f"; {text}: {np.degrees(left):.3g} deg" if left < _BETTER * as_given else ""
    raise CalibrationError(
        f"rotations of {device.name} are {np.degrees(as_given):.4g} deg off the description (median); "
        f"rx, ry, rz is the rotation vector of the platform in the device's frame{hint}"
    )
