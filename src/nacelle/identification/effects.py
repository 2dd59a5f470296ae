"""Effects of faults on the forces: what a log, or a description, shows of a fault of the size one.

A fault of the size theta changes the recorded forces to first order by S theta (rows,), N or N m:

    delay    forces are recorded theta later than they act:       S = -dG/dt
    offset   of the force of an actuator, N or N m:                S = 1 in its row
    scale    a force is recorded (1 + theta) times as large:       S = G in its row
    stribeck dry friction that falls with speed, N or N m:         S = sign(q') exp(-|q'| / v_s) in its row
    ripple   of the force over the coordinate, N or N m:           S = cos(k q - phi) in its row
    zero     an encoder counts theta too much, rad or m:           S = -G_q
    geometry a length is described theta too large, m or rad:      S = -dG/dp at the coordinates held
    gravity  is described tilted by theta, rad:                    S = -dG/dp

G the forces that the parameters require along the instruments' motion, which has no errors of sensors, so
that S is its own instrument. The parameters are the estimates, drawn to the description's where the data
determine them worse than the description does: of few samples G would follow the noise, which the faults'
sizes would then have, too. G_q (rows, actuators) follows by difference quotients along the coordinates of one
actuator, with rates and accelerations held, G_q' and G_q'' likewise. The wave number k of a ripple, per rad
or m, and its phase are those with which it explains most of the residuals of its row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from nacelle.dynamics.base_parameters.base_parameters import BaseParameters
from nacelle.dynamics.regressor import regressor
from nacelle.identification.data.filters import decimate
from nacelle.identification.data.poses import PlatformMotion, motion_from_rates, path_poses
from nacelle.identification.data.preparation import Samples
from nacelle.identification.estimation.estimator import CadPrior, Estimator
from nacelle.identification.estimation.regression import is_redundant, project_rows
from nacelle.identification.geometry import geometry_effects
from nacelle.kinematics.motion import joint_motion
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array

FORCE_CAUSES = ("delay", "offset", "scale", "stribeck", "ripple")
"""Faults of the forces, or of what the friction of the description lacks."""

POSITION_CAUSES = ("zero", "gear", "geometry", "gravity")
"""Faults of the coordinates, and of the description's geometry."""

CAUSES = (*FORCE_CAUSES, *POSITION_CAUSES)
"""All that is tried."""

ESTIMATED = ("delay", "offset", "scale", "zero", "gear")
"""What can be estimated with the parameters."""

# Deviation of the description's parameters, over their values.
_CAD_DEVIATION = 0.3
# Steps of coordinates, rad or over the robot's size, of rates and of accelerations, over their largest; the
# speed of the Stribeck effect over the largest of the joint.
_STEP, _STRIBECK = 1e-5, 0.05
# Samples of each kept one at which effects of coordinates are computed: they are smooth.
_DENSITY = 2
# Periods of ripples along the motion, and how many wave numbers are tried.
_FEWEST_PERIODS, _MOST_PERIODS, _WAVES = 4.0, 60.0, 400


def sentence(cause: str, signal: str, size: float, deviation: float, unit: str) -> str:
    """A fault with its size and deviation."""
    joint = signal.partition(".")[2]
    if cause == "delay":
        side = "after" if size > 0.0 else "before"
        return f"forces are recorded {1e3 * abs(size):.3g} ms (+- {1e3 * deviation:.2g}) {side} the motion"
    if cause in ("scale", "gear"):
        what = "force is" if cause == "scale" else "coordinates are"
        whose = "torque constant, gear" if cause == "scale" else "gear, counts a turn"
        return f"the {what} {1.0 + size:.4g} times (+- {deviation:.2g}) what fits, of {joint} ({whose})"
    amount = f"{size:.4g} {unit} (+- {deviation:.2g})"
    return {
        "offset": f"the force of {joint} has an offset of {amount}",
        "stribeck": f"the friction of {joint} is larger by {amount} at low speed",
        "ripple": f"the force of {joint} has a ripple of {amount} over its coordinate",
        "zero": f"the encoder of {joint} counts {amount} too much",
        "geometry": f"{signal.replace('geometry.', '')} is described {amount} too large",
        "gravity": f"gravity is described tilted by {amount} towards {joint}",
    }[cause]


class Column(NamedTuple):
    """The effect of a fault on the forces: samples of the regression (M, rows) for one unit of it."""

    cause: str
    signal: str
    unit: str
    values: Array


def effect_columns(estimator: Estimator, samples: Sequence[Samples], causes: Sequence[str]) -> list[Column]:
    """The effects of all faults of some causes."""
    coef = drawn_estimates(estimator)
    parts = [_part_effects(estimator.base_, coef, part, causes) for part in samples]
    used = estimator.regression_.used[:, None]
    return [
        first._replace(values=np.where(used, np.concatenate([part[k].values for part in parts]), 0.0))
        for k, first in enumerate(parts[0])
    ] + ([*_ripples(estimator, samples)] if "ripple" in causes else [])


def drawn_estimates(estimator: Estimator) -> Array:
    """The estimates (p,) with the description's parameters as a prior."""
    data, moments = estimator.regression_, estimator.moments_
    nominal = data.base.values
    information = moments.along.T @ CadPrior(_CAD_DEVIATION).information(data.base) @ moments.along
    A = np.linalg.inv(moments.inverse) + information
    right = moments.Q.T @ (data.force - data.Y @ nominal).ravel()
    return np.asarray(nominal + moments.along @ np.linalg.solve(A, right))


def _part_effects(base: BaseParameters, coef: Array, part: Samples, causes: Sequence[str]) -> list[Column]:
    robot, motion = part.robot, part.instruments
    forces = required_forces(base, coef, motion)
    result: list[Column] = []

    def add(cause: str, signal: str, unit: str, effect: Array) -> None:
        values = decimate(project_rows(part, motion, np.nan_to_num(effect)), part.preparation.decimation or 1)
        result.append(Column(cause, signal, unit, values))

    if "delay" in causes:
        add("delay", "force", "s", -np.gradient(forces, part.time, axis=0))
    rates = _actuators(robot, motion)[1] if "stribeck" in causes else None
    for k, actuator in enumerate(robot.actuators):
        unit = "N m" if robot.revolute_actuators[k] else "N"

        def alone(values: Array, k: int = k) -> Array:
            effect = np.zeros_like(forces)
            effect[:, k] = values
            return effect

        if "offset" in causes:
            add("offset", f"force.{actuator.name}", unit, alone(np.ones(len(forces))))
        if "scale" in causes:
            add("scale", f"force.{actuator.name}", "", alone(forces[:, k]))
        if rates is not None:
            rate = rates[:, k]
            shape = np.sign(rate) * np.exp(-np.abs(rate) / (_STRIBECK * np.nanmax(np.abs(rate))))
            add("stribeck", f"force.{actuator.name}", unit, alone(shape))
    if {*POSITION_CAUSES} & {*causes}:
        for cause, signal, unit, effect in _position_effects(base, coef, part, causes):
            add(cause, signal, unit, effect)
    return result


def required_forces(base: BaseParameters, coef: Array, motion: PlatformMotion) -> Array:
    """Forces (N, actuators) that parameters (p,) require along a motion; NaN where it has no pose."""
    forces = np.full((len(motion.ok), len(base.robot.actuators)), np.nan)
    posed = motion.part(motion.ok)
    forces[motion.ok] = regressor(base.robot, posed.x, posed.v, posed.a, parameters=base).Y @ coef
    return forces


def _actuators(robot: Robot, motion: PlatformMotion) -> Array:
    """Coordinates of the actuators, their rates and accelerations (3, N, actuators); NaN without a pose."""
    posed = motion.part(motion.ok)
    values = np.full((3, len(motion.ok), len(robot.actuators)), np.nan)
    values[:, motion.ok] = joint_motion(robot, posed.x, posed.v, posed.a).actuators
    return values


def _ripples(estimator: Estimator, samples: Sequence[Samples]) -> Iterator[Column]:
    """The ripple of every actuator that explains most of its residuals."""
    robot = samples[0].robot
    if is_redundant(samples[0]):
        return
    used, residuals = estimator.regression_.used, estimator.residuals_
    q = [_actuators(robot, part.instruments)[0] for part in samples]
    for k, actuator in enumerate(robot.actuators):
        path = np.concatenate([values[:, k] for values in q])
        # Ripples of less than so many periods along the motion are other effects.
        numbers = (
            2.0
            * np.pi
            * np.linspace(_FEWEST_PERIODS, _MOST_PERIODS, _WAVES)
            / np.ptp(path[np.isfinite(path)])
        )
        waves = [
            decimate(
                np.exp(1j * np.nan_to_num(values[:, k])[:, None] * numbers), part.preparation.decimation or 1
            )
            for values, part in zip(q, samples, strict=True)
        ]
        shapes = np.concatenate(waves)[used]
        row = residuals[used, k]
        # Least squares of a cosine and a sine each.
        pairs = np.stack([shapes.real, -shapes.imag], axis=-1)
        moments = np.einsum("twi,t->wi", pairs, row)
        amplitudes = np.linalg.solve(np.einsum("twi,twj->wij", pairs, pairs), moments[..., None])[..., 0]
        best = int(np.argmax(np.sum(amplitudes * moments, axis=1)))
        shape = pairs[:, best] @ (amplitudes[best] / np.hypot(*amplitudes[best]))
        values = np.zeros(estimator.regression_.force.shape)
        values[used, k] = shape
        unit = "N m" if robot.revolute_actuators[k] else "N"
        yield Column("ripple", f"force.{actuator.name}", unit, values)


# ---- effects of coordinates


def _position_effects(
    base: BaseParameters, coef: Array, part: Samples, causes: Sequence[str]
) -> list[tuple[str, str, str, Array]]:
    """Effects (N, actuators) of faults of coordinates and geometry, with cause, signal and unit."""
    robot, count = part.robot, len(part)
    step = max(1, (part.preparation.decimation or 1) // _DENSITY)
    kept = np.arange(0, count, step)
    kept = kept[part.instruments.ok[kept]]
    motion = part.instruments.part(kept)
    coordinates = _actuators(robot, motion)
    slopes = _coordinate_slopes(base, coef, coordinates)

    def whole(effect: Array) -> Array:
        """At all samples."""
        sound = np.all(np.isfinite(effect), axis=1)
        if not np.any(sound):
            return np.full((count, effect.shape[1]), np.nan)
        columns = [np.interp(np.arange(count), kept[sound], column[sound]) for column in effect.T]
        return np.stack(columns, axis=1)

    result = []
    for k, actuator in enumerate(robot.actuators):
        unit = "rad" if robot.revolute_actuators[k] else "m"
        if "zero" in causes:
            result.append(("zero", f"q.{actuator.name}", unit, whole(-slopes[0, :, :, k])))
        if "gear" in causes:
            scaled = -np.einsum("dnk,dn->nk", slopes[..., k], coordinates[..., k])
            result.append(("gear", f"q.{actuator.name}", "", whole(scaled)))
    if {"geometry", "gravity"} & {*causes}:
        effects = geometry_effects(base, coef, motion, required_forces(base, coef, motion))
        for effect in effects:
            if effect.cause in causes:
                back = np.einsum("dnkj,dnj->nk", slopes, np.stack(effect.coordinates))
                prefix = "geometry." if effect.cause == "geometry" else ""
                signal = ", ".join(prefix + name for name in effect.names)
                result.append((effect.cause, signal, effect.unit, whole(back - effect.force)))
    return result


def _coordinate_slopes(base: BaseParameters, coef: Array, coordinates: Array) -> Array:
    """Derivatives (3, N, actuators, actuators) of the forces by coordinates, rates and accelerations."""
    robot = base.robot
    lengths = np.where(robot.revolute_actuators, 1.0, robot.size)
    steps = np.stack([lengths, *np.nanmax(np.abs(coordinates[1:]), axis=1)]) * _STEP
    poses = path_poses(robot, coordinates[0])

    def forces(x: Array, values: Array) -> Array:
        return required_forces(base, coef, motion_from_rates(robot, x, values[1], values[2]))

    slopes = np.empty((3, *coordinates.shape[1:], coordinates.shape[2]))
    nominal = forces(poses, coordinates)
    for order in range(3):
        for k, step in enumerate(steps[order]):
            shifted = coordinates.copy()
            shifted[order, :, k] += step or 1.0
            x = poses if order else path_poses(robot, shifted[0])
            slopes[order, :, :, k] = (forces(x, shifted) - nominal) / (step or 1.0)
    return slopes
