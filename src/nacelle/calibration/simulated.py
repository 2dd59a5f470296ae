"""A simulation: a machine made at random within its tolerances, devices with noise, a campaign on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from nacelle.calibration.checks import best_frame, locate_devices
from nacelle.calibration.devices import Places, Tracker, tool_point
from nacelle.calibration.fit import Campaign, Point, System, fit
from nacelle.calibration.loops import Loops, States, states_at
from nacelle.calibration.parameters import Encoder, Geometry, Parameter
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
from nacelle.spatial.scalar import Array

# Steps to a state; poses of the workspace.
_STEPS, _WORKSPACE = 30, 100


class Machine(NamedTuple):
    """A machine that deviates from its description: parameters, and their values (P,)."""

    parameters: Sequence[Parameter]
    values: Array


def held_states(
    loops: Loops, geometry: Array, encoders: Sequence[Encoder], q: Array, states: States
) -> tuple[States, Array]:
    """States (S) of a machine whose axes with encoders are at coordinates q (S, encoders), rad or m.

    Newton's method over closures and coordinates, from states near by; and which samples (S,) have got there.
    """
    none = np.zeros((12 * len(loops.robot.joints), 0))
    turning = [loops.robot.joints[item.axis[0]].primitives[item.axis[1]].is_rotation for item in encoders]
    for _ in range(_STEPS):
        states, gap = loops.close(geometry, states)
        now = loops.linearise(geometry, states, none)
        parts = [now.joint(item.axis, states) for item in encoders]
        off = np.stack([value for value, _ in parts], axis=1) - q
        off = np.where(turning, off - 2.0 * np.pi * np.round(off / (2.0 * np.pi)), off)
        error = np.maximum(np.max(np.abs(off), axis=1), gap)
        if np.max(error) < 1e-12:
            break
        A = np.concatenate([response.by_motion for _, response in parts], axis=1)
        m = -(np.linalg.pinv(A, rcond=1e-9) @ off[:, :, None])
        length = np.max(np.abs(m), axis=(1, 2), keepdims=True, initial=1e-300)
        states = loops.integrate(states, (now.motions @ (m * np.minimum(1.0, 0.2 / length)))[:, :, 0])
    return states, error < 1e-9


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
    inverse = inverse_kinematics(robot, x, limits=False)
    system = System(
        with_loads(campaign, parameters),
        [item for item in parameters if item.kind not in ("device", "place")],
    )
    by_name = dict(zip((item.name for item in parameters), values.tolist(), strict=True))
    z = np.array([by_name.get(item.name, 0.0) for item in system.parameters])
    q, _ = system.geometry.coordinates(campaign.readings, z[: system.robot_count])
    drives = campaign.encoders[: len(robot.actuators)]
    geometry = system.geometry.vector(z[: system.robot_count])
    states, reached = held_states(system.loops, geometry, drives, q[:, : len(drives)], states_at(inverse))
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
        p, response, _ = tool_point(now, device.tool, np.zeros(3), system.sag)
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


@dataclass(frozen=True, eq=False)
class SimulatedCalibrations:
    """How well machines within their tolerances would be calibrated.

    Attributes:
        robot: the description.
        before: root mean square error of the position over the workspace, each machine as described, m.
        after: as calibrated, m.
        coverage: of the 95 % intervals, over all machines and parameters that the data show.
        chi: root mean square of the whitened residuals, machine by machine.
        failed: machines whose calibration failed, with the reason.
    """

    robot: Robot
    before: Array
    after: Array
    coverage: float
    chi: Array
    failed: tuple[str, ...]

    def table(self) -> str:
        """As text."""
        lines = [
            f"{len(self.after)} machines of {self.robot.name}: error of the position, rms over the workspace",
            *(
                f"  {name:<14} median {1e3 * np.median(error):.4g} mm, largest {1e3 * np.max(error):.4g} mm"
                for name, error in (("as described", self.before), ("as calibrated", self.after))
            ),
            f"95 % intervals hold {100.0 * self.coverage:.1f} % of the parameters",
            f"residuals {np.median(self.chi):.3f} times the noise (median)",
        ]
        return "\n".join([*lines, *(f"failed: {reason}" for reason in self.failed)])

    def to_dict(self) -> dict[str, Any]:
        """As plain data, SI units."""
        return {
            "robot": self.robot.name,
            "before": self.before.tolist(),
            "after": self.after.tolist(),
            "coverage": self.coverage,
            "chi": self.chi.tolist(),
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
    on_machines = replace(blank, devices=tuple(devices))
    everything = (*estimated, *hidden, *on_machines.device_parameters)
    tolerance = np.array([item.tolerance for item in everything])
    at = drawn_poses(robot, _WORKSPACE, seed=4)
    before, after, chi, failed = [], [], [], []
    hits = total = 0
    for machine in range(machines):
        rng = np.random.default_rng([seed, machine])
        values = tolerance * rng.normal(size=len(everything))
        try:
            measured = simulate_campaign(on_machines, everything, values, rng)
            tried = [
                original.with_values(device.measured)
                for device, original in zip(measured.devices, campaign.devices, strict=True)
            ]
            measured = replace(measured, devices=tuple(tried))
            system = System(locate_devices(measured), estimated)
            optimum = fit(system)
        except CalibrationError as error:
            failed.append(f"machine {machine}: {error}")
            continue
        truth = values[: len(estimated)]
        solution = optimum.point.values[: len(estimated)]
        true = Machine((*estimated, *hidden), values[: len(estimated) + len(hidden)])
        before.append(position_error(system, at, true, np.zeros(len(estimated))))
        after.append(position_error(system, at, true, solution))
        chi.append(
            float(np.sqrt(np.sum(optimum.reduced.r**2) / max(optimum.reduced.degrees - system.count, 1)))
        )
        J = optimum.reduced.J * system.tolerance
        deviations = np.sqrt(np.diagonal(np.linalg.inv(J.T @ J + np.eye(system.count))))[: len(estimated)]
        visible = deviations < 0.5
        off = np.abs(solution - truth) / (deviations * system.tolerance[: len(estimated)])
        hits, total = hits + int(np.sum(off[visible] < 1.959964)), total + int(np.sum(visible))
    if not after:
        raise CalibrationError(f"{robot.name}: no machine could be calibrated; the first: {failed[0]}")
    coverage = hits / total if total else float("nan")
    return SimulatedCalibrations(
        robot, np.array(before), np.array(after), coverage, np.array(chi), tuple(failed)
    )


def position_error(system: System, x: Array, machine: Machine, believed: Array) -> float:
    """Root mean square distance, m, of where a machine is from where the model with `believed` values says.

    Both at the same readings of the encoders, those of poses x (S, nx) of the description; where no device
    knows its place in the base, in the base that fits best.
    """
    robot, drives = system.campaign.robot, system.campaign.encoders[: len(system.campaign.robot.actuators)]
    inverse = inverse_kinematics(robot, x, limits=False)
    forces, pulls = loads_if_needed(robot, x, machine.parameters)
    positions = []
    reached = np.ones(len(x), dtype=bool)
    for parameters, values in (machine, (system.geometry.parameters, believed)):
        geometry = Geometry(robot, tuple(parameters), tuple(drives), forces, pulls)
        q, _ = geometry.coordinates(inverse.q, values)
        vector = geometry.vector(values)
        states, good = held_states(system.loops, vector, drives, q, states_at(inverse))
        reached &= good
        positions.append(states.platform[:, :3])
    first, second = (p[reached] for p in positions)
    if not is_placed(system.campaign):
        frame, _ = best_frame(first, second)
        first = (first - frame.p) @ frame.R
    return float(np.sqrt(np.mean(np.sum((first - second) ** 2, axis=1))))
