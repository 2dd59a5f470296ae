"""A rehearsal: a machine made at random within its tolerances, devices with noise, a campaign on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from nacelle.calibration.devices import Device
from nacelle.calibration.fit import Campaign, Point, System
from nacelle.calibration.loops import Loops, States, states_at
from nacelle.calibration.parameters import Encoder, Parameter
from nacelle.calibration.poses import loads_if_needed, sag_of
from nacelle.errors import CalibrationError
from nacelle.kinematics.solve.inverse import inverse_kinematics
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array

_STEPS = 30


def held_states(
    loops: Loops, geometry: Array, encoders: Sequence[Encoder], q: Array, states: States
) -> tuple[States, Array]:
    """States (S) of a machine whose axes with encoders are at coordinates q (S, encoders), rad or m.

    Newton's method over closures and coordinates, from states near by; and which samples (S,) have got there.
    """
    none = np.zeros((12 * len(loops.robot.joints), 0))
    turning = [loops.robot.joints[one.axis[0]].primitives[one.axis[1]].is_rotation for one in encoders]
    for _ in range(_STEPS):
        states, gap = loops.close(geometry, states)
        now = loops.linearise(geometry, states, none)
        parts = [now.joint(one.axis, states) for one in encoders]
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
    robot: Robot,
    x: Array,
    encoders: Sequence[Encoder],
    devices: Sequence[Device],
    parameters: Sequence[Parameter],
    values: Array,
    rng: np.random.Generator,
) -> Campaign:
    """A campaign on a machine that deviates from its description, of those poses that it reaches.

    Args:
        robot: the description.
        x: poses that it is sent to (S, nx).
        encoders: its encoders; those beyond the drives read what the loops make of them.
        devices: with what they expect; what they hold as measured is replaced (NaN stays NaN).
        parameters: of robot and devices.
        values: of all of them (P,).
        rng: random numbers of the noise.

    Raises:
        CalibrationError: if it reaches less than half of the poses.
    """
    inverse = inverse_kinematics(robot, x, limits=False)
    forces, pulls = loads_if_needed(robot, x, parameters)
    drives = encoders[: len(robot.actuators)]
    readings = np.concatenate([inverse.q, np.zeros((len(x), len(encoders) - len(drives)))], axis=1)
    loads = {"forces": forces, "pulls": pulls, "sag": sag_of(robot, x)}
    blank = Campaign(robot, readings, tuple(encoders), tuple(devices), guess=x, **loads)
    own = [one for one in parameters if one.kind != "device"]
    system = System(blank, own)
    by_name = dict(zip((one.name for one in parameters), values.tolist(), strict=True))
    z = np.array([by_name.get(one.name, 0.0) for one in system.parameters])
    q, _ = system.geometry.coordinates(readings, z[: system.own])
    geometry = system.geometry.vector(z[: system.own])
    states, reached = held_states(system.loops, geometry, drives, q[:, : len(drives)], states_at(inverse))
    if np.mean(reached) < 0.5:
        raise CalibrationError(
            f"{robot.name}: a machine with such deviations reaches {int(reached.sum())} of {len(x)} poses: "
            "choose poses further from singularities, or smaller tolerances"
        )
    campaign = measured_campaign(system, Point(z, states), rng)
    return campaign if np.all(reached) else campaign.subset(np.flatnonzero(reached))


def measured_campaign(system: System, point: Point, rng: np.random.Generator) -> Campaign:
    """What encoders and devices give at states of a machine, with noise."""
    campaign = system.campaign
    now = system.loops.linearise(
        system.geometry.vector(point.values[: system.own]),
        point.states,
        system.geometry.frame_rates(point.values[: system.own]),
    )
    q, _ = system.geometry.coordinates(campaign.readings, point.values[: system.own])
    readings = campaign.readings.copy()
    for k, encoder in enumerate(campaign.encoders):
        off = now.joint(encoder.axis, point.states)[0] - q[:, k]
        readings[:, k] += off + encoder.noise * rng.normal(size=len(off))
    devices = []
    for device, columns in zip(campaign.devices, system.columns, strict=True):
        devices.append(device.simulated(now, system.sag, point.values[columns], rng))
    pairs = []
    for one in campaign.pairs:
        residual, *_ = one.between(now, system.sag)
        noise = one.noise * rng.normal(size=residual.shape)
        pairs.append(
            replace(one, values=one.values + residual * one.noise * (one.values.shape[1] == 1) + noise)
        )
    return replace(campaign, readings=readings, devices=tuple(devices), pairs=tuple(pairs))
