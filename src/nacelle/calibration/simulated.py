"""A simulation: a machine made at random within its tolerances, devices with noise, a campaign on it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from nacelle.calibration.calibration import covariance_of, information_of
from nacelle.calibration.checks import best_frame, locate_devices
from nacelle.calibration.devices import Places, Tracker, tool_points
from nacelle.calibration.fit import Campaign, Point, System, fit
from nacelle.calibration.loops import Loops, States, states_at
from nacelle.calibration.parameters import Geometry, Parameter
from nacelle.calibration.poses import (
    blank_campaign,
    default_parameters,
    drawn_poses,
    is_placed,
    loads_if_needed,
    with_loads,
)
from nacelle.errors import CalibrationError
from nacelle.kinematics.solve.inverse import inverse_kinematics
from nacelle.model.robot import Robot
from nacelle.one_thread import one_blas_thread
from nacelle.spatial.rotation import quat_from_matrices, quat_log, rotation_quat
from nacelle.spatial.scalar import Array

# Steps to a place; poses of the workspace.
_STEPS, _WORKSPACE = 30, 100


def simulate_campaign(
    campaign: Campaign, parameters: Sequence[Parameter], values: Array, rng: np.random.Generator
) -> Campaign:
    """A campaign on a machine that deviates from its description, of those poses that it reaches.

    Args:
        campaign: with nothing measured yet, at poses `guess` (`blank_campaign`); encoders beyond the drives
            read what the loops make of them.
        parameters: of robot and devices.
        values: of all of them (P,).
        rng: random numbers of the noise.

    Raises:
        CalibrationError: if it reaches less than half of the poses.
    """
    robot, x = campaign.robot, np.asarray(campaign.guess)
    system = System(
        with_loads(campaign, parameters),
        [item for item in parameters if item.kind not in ("device", "place")],
    )
    by_name = dict(zip((item.name for item in parameters), values.tolist(), strict=True))
    z = np.array([by_name.get(item.name, 0.0) for item in system.parameters])
    q, _ = system.geometry.coordinates(campaign.readings, z[: system.robot_count])
    drives = campaign.encoders[: len(robot.actuators)]
    geometry = system.geometry.vector(z[: system.robot_count])
    start = states_at(inverse_kinematics(robot, x, limits=False))
    states, reached = system.loops.hold(geometry, [item.axis for item in drives], q[:, : len(drives)], start)
    for device in campaign.devices:
        if isinstance(device, Places):
            offset = np.array([by_name.get(f"{device.name}.tool.{axis}", 0.0) for axis in "xyz"])
            tool = device.tool._replace(point=device.tool.point + offset)
            states, arrived = _visit(system, geometry, states, replace(device, tool=tool), rng)
            reached &= arrived
    if np.mean(reached) < 0.5:
        raise CalibrationError(
            f"{robot.name}: a machine with such deviations reaches {int(reached.sum())} of {len(x)} poses: "
            "choose poses further from singularities, or smaller tolerances"
        )
    measured = measured_campaign(system, Point(z, states), rng)
    return measured if np.all(reached) else measured.subset(np.flatnonzero(reached))


def _visit(
    system: System, geometry: Array, states: States, device: Places, rng: np.random.Generator
) -> tuple[States, Array]:
    """States with the tool point at the places (where it comes to each first) and noise; who got there."""
    visits = np.flatnonzero(np.isfinite(device.values[:, 0]))
    index = device.values[visits, 0].astype(int)
    none = np.zeros((12 * len(system.loops.robot.joints), 0))
    error, goals = np.zeros(len(states.q)), None
    for _ in range(_STEPS):
        states, gap = system.loops.close(geometry, states)
        now = system.loops.linearise(geometry, states, none)
        p, response, _, _ = tool_points(now, device.tool, np.zeros(3), system.sag)
        if goals is None:
            first = {int(k): int(s) for s, k in zip(visits[::-1], index[::-1], strict=True)}
            goals = p[[first[int(k)] for k in index]] + device.noise * rng.normal(size=(len(visits), 3))
        off = np.zeros(p.shape)
        off[visits] = (p[visits] - goals) * [axis in device.coordinates for axis in "xyz"]
        error = np.maximum(np.max(np.abs(off), axis=1) / system.loops.robot.size, gap)
        if np.max(error) < 1e-12:
            break
        kept = response.by_motion * np.array([[axis in device.coordinates] for axis in "xyz"])
        m = -(np.linalg.pinv(kept, rcond=1e-9) @ off[:, :, None])
        states = system.loops.integrate(states, (now.motions @ m)[:, :, 0])
    return states, error < 1e-9


def measured_campaign(system: System, point: Point, rng: np.random.Generator) -> Campaign:
    """What encoders and devices give at states of a machine, with noise."""
    campaign = system.campaign
    now = system.loops.linearise(
        system.geometry.vector(point.values[: system.robot_count]),
        point.states,
        system.geometry.frame_rates(point.values[: system.robot_count]),
    )
    q, _ = system.geometry.coordinates(campaign.readings, point.values[: system.robot_count])
    readings = campaign.readings.copy()
    for k, encoder in enumerate(campaign.encoders):
        off = now.joint(encoder.axis, point.states)[0] - q[:, k]
        readings[:, k] += off + encoder.noise * rng.normal(size=len(off))
    devices = []
    for device, columns in zip(campaign.devices, system.columns, strict=True):
        devices.append(device.simulate(now, system.sag, point.values[columns], rng))
    pairs = []
    for item in campaign.pairs:
        residual, *_ = item.between(now, system.sag)
        pairs.append(
            replace(item, values=item.values + item.noise * (residual + rng.normal(size=residual.shape)))
        )
    return replace(campaign, readings=readings, devices=tuple(devices), pairs=tuple(pairs))


# ---- a simulation: many machines, and how well they would be calibrated


class PoseErrors(NamedTuple):
    """Root mean squares over the workspace of how far a pose is from the true one: m, rad."""

    position: float
    rotation: float


@dataclass(frozen=True, eq=False)
class SimulatedCalibrations:
    """How well machines within their tolerances would be calibrated.

    Attributes:
        robot: the description.
        before: error of the position over the workspace, rms, each machine as described, m.
        after: as calibrated, m.
        rotation_before: of the orientation, rad.
        rotation_after: as calibrated, rad.
        coverage: of the 95 % intervals, over all machines and parameters that the data show.
        chi: root mean square of the whitened residuals, machine by machine.
        unidentified: names of the parameters in combinations that nothing shows, machine by machine.
        failed: machines whose calibration failed, with the reason.
    """

    robot: Robot
    before: Array
    after: Array
    rotation_before: Array
    rotation_after: Array
    coverage: float
    chi: Array
    unidentified: tuple[tuple[str, ...], ...]
    failed: tuple[str, ...]

    def table(self) -> str:
        """As text."""
        lines = [
            f"{len(self.after)} machines of {self.robot.name}: error of the pose, rms over the workspace"
        ]
        for name, position, rotation in (
            ("as described", self.before, self.rotation_before),
            ("as calibrated", self.after, self.rotation_after),
        ):
            text = f"  {name:<14} median {1e3 * np.median(position):.4g} mm"
            text += f", largest {1e3 * np.max(position):.4g} mm"
            if self.robot.platform_nv == 6:
                median, largest = np.degrees(np.median(rotation)), np.degrees(np.max(rotation))
                text += f"; median {median:.4g} deg, largest {largest:.4g} deg"
            lines.append(text)
        lines += [
            f"95 % intervals hold {100.0 * self.coverage:.1f} % of the parameters",
            f"residuals {np.median(self.chi):.3f} times the noise (median)",
        ]
        for names, count in Counter(self.unidentified).most_common(3):
            what = ", ".join(names) if names else "nothing"
            lines.append(f"not identified in {count} machines: {what}")
        return "\n".join([*lines, *(f"failed: {reason}" for reason in self.failed)])

    def to_dict(self) -> dict[str, Any]:
        """As plain data, SI units."""
        return {
            "robot": self.robot.name,
            "before": self.before.tolist(),
            "after": self.after.tolist(),
            "rotation before": self.rotation_before.tolist(),
            "rotation after": self.rotation_after.tolist(),
            "coverage": self.coverage,
            "chi": self.chi.tolist(),
            "not identified": [list(names) for names in self.unidentified],
            "failed": list(self.failed),
        }


@one_blas_thread
def simulate_calibrations(
    campaign: Campaign,
    x: Array,
    parameters: Sequence[Parameter] | None = None,
    *,
    machines: int = 10,
    seed: int = 0,
    hidden: Sequence[Parameter] = (),
) -> SimulatedCalibrations:
    """Simulate machine, devices and campaign, and calibrate.

    Args:
        campaign: robot, encoders and devices; what they hold as measured does not count.
        x: poses to measure at (S, nx).
        parameters: what deviates and is estimated; `default_parameters` if None.
        machines: how many are drawn within their tolerances.
        seed: of the random numbers.
        hidden: what deviates, too, and is not estimated.
    """
    robot = campaign.robot
    estimated = tuple(default_parameters(robot, campaign.encoders) if parameters is None else parameters)
    blank = blank_campaign(campaign, x)
    # A lost frame is that of the base: it is found again.
    devices = [
        replace(device, tolerance=(0.0,) * 6)
        if isinstance(device, Tracker) and isinstance(original, Tracker) and original.is_lost
        else device
        for device, original in zip(blank.devices, campaign.devices, strict=True)
    ]
    on_machines = with_loads(replace(blank, devices=tuple(devices)), (*estimated, *hidden))
    everything = (*estimated, *hidden, *on_machines.device_parameters)
    tolerance = np.array([item.tolerance for item in everything])
    count, true_count = len(estimated), len(estimated) + len(hidden)
    workspace = Workspace(campaign, drawn_poses(robot, _WORKSPACE, seed=4), everything[:true_count])
    nominal = workspace.poses(np.zeros(true_count))
    errors: list[tuple[PoseErrors, PoseErrors]] = []
    chi, unidentified, failed = [], [], []
    hits = total = 0
    for machine in range(machines):
        rng = np.random.default_rng([seed, machine])
        values = tolerance * rng.normal(size=len(everything))
        try:
            measured = simulate_campaign(on_machines, everything, values, rng)
            tried = [
                original.with_values(device.measured) if isinstance(device, Places | Tracker) else device
                for device, original in zip(measured.devices, campaign.devices, strict=True)
            ]
            measured = replace(measured, devices=tuple(tried))
            system = System(locate_devices(measured), estimated)
            optimum = fit(system)
        except CalibrationError as error:
            failed.append(f"machine {machine}: {error}")
            continue
        solution = optimum.point.values[:count]
        true = workspace.poses(values[:true_count])
        calibrated = workspace.poses(np.concatenate([solution, np.zeros(len(hidden))]))
        errors.append((workspace.errors(true, nominal), workspace.errors(true, calibrated)))
        degrees = max(optimum.reduced.degrees - system.count, 1)
        chi.append(float(np.sqrt(np.sum(optimum.reduced.r**2) / degrees)))
        results = [item for item in system.parameters if item.kind != "place"]
        unidentified.append(information_of(system, optimum).unidentified_names(results))
        deviations = np.sqrt(np.diagonal(covariance_of(system, optimum)))[:count]
        visible = deviations < 0.5 * tolerance[:count]
        off = np.abs(solution - values[:count]) / deviations
        hits, total = hits + int(np.sum(off[visible] < 1.959964)), total + int(np.sum(visible))
    if not errors:
        raise CalibrationError(f"{robot.name}: no machine could be calibrated; the first: {failed[0]}")
    coverage = hits / total if total else float("nan")
    table = np.array(errors)
    return SimulatedCalibrations(
        robot,
        table[:, 0, 0],
        table[:, 1, 0],
        table[:, 0, 1],
        table[:, 1, 1],
        coverage,
        np.array(chi),
        tuple(unidentified),
        tuple(failed),
    )


class HeldPoses(NamedTuple):
    """Where a platform is: orientations (S, 3, 3), positions (S, 3), m, and which poses are reached (S,)."""

    R: Array
    p: Array
    reached: Array


class Workspace:
    """Poses at the same readings of the encoders, those of poses of the description, of many machines.

    Where no device knows its place in the base, they are compared in the base that fits best.
    """

    def __init__(self, campaign: Campaign, x: Array, parameters: Sequence[Parameter]) -> None:
        """Prepare for machines that deviate in some parameters; x (S, nx)."""
        robot = campaign.robot
        inverse = inverse_kinematics(robot, x, limits=False)
        forces, pulls = loads_if_needed(robot, x, parameters)
        self._drives = campaign.encoders[: len(robot.actuators)]
        self._geometry = Geometry(robot, tuple(parameters), tuple(self._drives), forces, pulls)
        self._loops, self._start, self._readings = Loops(robot), states_at(inverse), inverse.q
        self._is_placed = is_placed(campaign)

    def poses(self, values: Array) -> HeldPoses:
        """Of a machine with deviations (P,)."""
        q, _ = self._geometry.coordinates(self._readings, values)
        axes = [item.axis for item in self._drives]
        states, reached = self._loops.hold(self._geometry.vector(values), axes, q, self._start)
        count = len(q)
        R = (
            np.stack([rotation_quat(quat) for quat in states.platform[:, 3:]])
            if self._loops.robot.platform_nv == 6
            else np.broadcast_to(np.eye(3), (count, 3, 3))
        )
        return HeldPoses(R, states.platform[:, :3], reached)

    def errors(self, true: HeldPoses, believed: HeldPoses) -> PoseErrors:
        """How far believed poses are from the true ones."""
        good = true.reached & believed.reached
        R, p = believed.R[good], believed.p[good]
        if not self._is_placed:
            frame, _ = best_frame(true.p[good], p)
            R, p = frame.R @ R, p @ frame.R.T + frame.p
        angles = quat_log(quat_from_matrices(R @ np.swapaxes(true.R[good], 1, 2)))
        position, rotation = (
            float(np.sqrt(np.mean(np.sum(off**2, axis=1)))) for off in (p - true.p[good], angles)
        )
        return PoseErrors(position, rotation)
