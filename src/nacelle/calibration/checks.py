"""Checks of a campaign before it is fitted: counts, drives that never moved, units, columns, devices' places.

A device whose frame is unknown is first put where the description's positions p fit what it measured best,

    minimise sum |R^T (p - t) - m|^2                            (Kabsch: R of the singular vectors of P^T M)

and what is left then, with the spread of the positions, tells units and columns that are swapped or reversed.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import NamedTuple

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
from nacelle.spatial.rotation import rotation_quat, rotation_vector
from nacelle.spatial.scalar import Array

FEWEST = 3
# A drive that moves by less, in robot sizes or rad, has not moved.
_STILL = 1e-4
# Positions in a plane, or on a line, within this part of their spread.
_FLAT = 1e-3
# What is left after a better reading of columns, as a part of what is left as they stand.
_BETTER = 0.2
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


def _nominal_points(campaign: Campaign, tool: Tool) -> Array:
    """Positions (S, 3) of the tool point by the description."""
    system = System(replace(campaign, devices=(), pairs=()), ())
    states = system.start().states
    loops = Loops(campaign.robot)
    values = loops.evaluate(loops.geometry, states)
    return np.asarray(values["p"][:, tool.body] + values["R"][:, tool.body] @ tool.point)


def _locate(campaign: Campaign, device: Tracker) -> Tracker:
    if not {"x", "y", "z"} <= {*device.coordinates}:
        raise CalibrationError(
            f"{device.name} measures {', '.join(device.coordinates)} alone: give its frame in the base "
            "(position, orientation) with a tolerance, such as tolerance: {z: 5 mm, rx: 1 deg, ry: 1 deg}"
        )
    columns = [device.coordinates.index(axis) for axis in AXES[:3]]
    measured, points = device.values[:, columns], _nominal_points(campaign, device.tool)
    good = np.all(np.isfinite(measured), axis=1)
    if np.sum(good) < FEWEST:
        raise CalibrationError(f"{device.name} has {int(np.sum(good))} positions: too few to find its frame")
    frame, _ = best_frame(points[good], measured[good])
    return replace(device, frame=frame).within(campaign.robot.size)


def best_frame(points: Array, measured: Array) -> tuple[Pose, float]:
    """The frame (R, t) in which points (S, 3) are best as measured (S, 3), and the median of what is left."""
    keep = np.ones(len(points), dtype=bool)
    for _ in range(4):
        p, m = points[keep].mean(axis=0), measured[keep].mean(axis=0)
        U, _, Vt = np.linalg.svd((points[keep] - p).T @ (measured[keep] - m))
        sign = np.diag([1.0, 1.0, float(np.sign(np.linalg.det(U @ Vt)))])
        R = U @ sign @ Vt
        t = p - R @ m
        left = np.linalg.norm((points - t) @ R - measured, axis=1)
        again = left <= 4.0 * np.median(left) + 1e-12
        if np.array_equal(again, keep):
            break
        keep = again
    return Pose(R, t), float(np.median(left))


def check_agreement(campaign: Campaign) -> list[Finding]:
    """Compare a campaign with the description: drives, spread, units, columns.

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
    for device in campaign.devices:
        if isinstance(device, Tracker) and {"x", "y", "z"} <= {*device.coordinates}:
            findings += _check_tracker(campaign, device)
    return findings


def _check_tracker(campaign: Campaign, device: Tracker) -> list[Finding]:
    columns = [device.coordinates.index(axis) for axis in AXES[:3]]
    measured, points = device.values[:, columns], _nominal_points(campaign, device.tool)
    good = np.all(np.isfinite(measured), axis=1)
    measured, points = measured[good], points[good]
    if len(points) < FEWEST:
        return []
    findings = []
    spreads = [
        np.linalg.svd(values - np.median(values, axis=0), compute_uv=False) for values in (points, measured)
    ]
    robust = [
        np.median(np.linalg.norm(values - np.median(values, axis=0), axis=1)) for values in (points, measured)
    ]
    ratio = robust[1] / robust[0] if robust[0] > 0.0 else 1.0
    if not 0.5 < ratio < 2.0:
        unit = next((name for factor, name in _UNITS.items() if 0.7 < ratio / factor < 1.4), "")
        hint = f": they are {unit}, write the unit" if unit else ": check units, and the order of columns"
        raise CalibrationError(
            f"positions of {device.name} spread {ratio:.4g} times as far as the robot moves{hint}"
        )
    planar = robot_moves_in_plane(campaign.robot)
    if spreads[0][2] < _FLAT * spreads[0][0] and not planar:
        findings.append(Finding(False, f"all positions of {device.name} lie in a plane: move across it, too"))
    located, as_given = best_frame(points, measured)
    off = np.linalg.norm(located.p - device.frame.p)
    if (
        np.isfinite(device.tolerance[0])
        and off > 10.0 * max(device.tolerance[:3]) + 0.05 * campaign.robot.size
    ):
        findings.append(
            Finding(True, f"the frame of {device.name} lies {off:.4g} m from where its positions fit best")
        )
    floor = 1e-4 * campaign.robot.size
    best: tuple[float, str] = (_BETTER * as_given, "")
    for order in itertools.permutations(range(3)):
        for signs in itertools.product((1.0, -1.0), repeat=3):
            if np.linalg.det(np.eye(3)[list(order)] * np.array(signs)) > 0.0:
                continue
            left = best_frame(points, measured[:, order] * np.array(signs))[1]
            if left < best[0]:
                text = ", ".join(
                    f"{'-' if s < 0 else ''}{'xyz'[k]}" for k, s in zip(order, signs, strict=True)
                )
                best = left, text
    if best[1] and as_given > floor and spreads[0][2] > _FLAT * spreads[0][0]:
        raise CalibrationError(
            f"columns of {device.name} are swapped or reversed: read as {best[1]} they fit "
            f"{as_given / max(best[0], 1e-300):.0f} times better (no frame is mirrored)"
        )
    swapped = _swapped_drives(campaign, device, measured, as_given)
    if swapped:
        raise CalibrationError(swapped)
    return findings


def robot_moves_in_plane(robot: Robot) -> bool:
    """Whether the platform can only move in a plane."""
    points = inverse_kinematics(robot, drawn_poses(robot, 8), limits=False).bodies.p[:, PLATFORM]
    s = np.linalg.svd(points - points.mean(axis=0), compute_uv=False)
    return bool(s[2] < 1e-9 * s[0])


def _swapped_drives(campaign: Campaign, device: Tracker, measured: Array, as_given: float) -> str:
    """Whether two encoders are swapped, or one reversed: what fits much better; empty if nothing does."""
    if as_given < 0.02 * campaign.robot.size:
        return ""
    names = [encoder.name for encoder in campaign.encoders[: len(campaign.robot.actuators)]]
    trials = [
        (f"{names[i]} and {names[j]} are swapped", (i, j))
        for i, j in itertools.combinations(range(len(names)), 2)
    ]
    trials += [(f"{name} is reversed", (k, k)) for k, name in enumerate(names)]
    best = (_BETTER * as_given, "")
    good = np.all(np.isfinite(device.values[:, :3]), axis=1)
    for text, (i, j) in trials:
        readings = campaign.readings.copy()
        readings[:, [i, j]] = readings[:, [j, i]] if i != j else -readings[:, [i, i]]
        try:
            alternative = _nominal_points(replace(campaign, readings=readings), device.tool)[good]
        except CalibrationError:
            continue
        left = best_frame(alternative, measured)[1]
        if left < best[0]:
            best = (
                left,
                f"{text}: read so, {device.name} fits {as_given / max(left, 1e-300):.0f} times better",
            )
    return best[1]
