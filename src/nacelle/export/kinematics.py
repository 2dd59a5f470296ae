"""The kinematics of a robot as functions of a package: poses, actuators and rates both ways, limits.

    pose_step       Newton's step of the pose, and the passive coordinates, towards actuators' coordinates
    closing_step    that of the passive coordinates towards closed loops at a pose; where there are any
    spheres_at      the pose from the actuators in closed form; where there is one
    joints_at       the actuators at a pose, the smallest margin, and how far the nearest limit is
    rates_at, twist_at    q' = J_r^-1 v and back

What solves them, with a state of the caller, is C (`nacelle.export.c.kinematics`). Where the geometry is
given at run time each function has one that prepares its numbers, with the ending _prepare.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from nacelle.compile import Specification
from nacelle.compile.specification import resolve_input_shapes
from nacelle.export.entry import Entry, pose_description, with_preparation
from nacelle.export.loop import pose_function
from nacelle.export.states import SampleStates
from nacelle.kinematics import kinematic_model
from nacelle.kinematics.branch import pose_step_units, pose_units, unknown_units
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.native import compile_native
from nacelle.kinematics.solve.newton_steps import (
    closing_path_step,
    fitted_pose_path_step,
    pose_path_step,
)
from nacelle.kinematics.solve.spheres import has_sphere_solution, sphere_kinematics
from nacelle.model.robot import Robot
from nacelle.spatial.physics import input_shapes
from nacelle.spatial.scalar import Array

FORWARD_KINEMATICS = "forward_kinematics"
"""A part of it, which means the whole: both directions share a state."""

POSE_STEP, CLOSING_STEP, SPHERES, JOINTS, RATES, TWIST = (
    "pose_step",
    "closing_step",
    "spheres_at",
    "joints_at",
    "rates_at",
    "twist_at",
)
KINEMATICS_LABELS = (POSE_STEP, CLOSING_STEP, SPHERES, JOINTS, RATES, TWIST)
"""Labels of its functions."""

# How far starts of an iteration are from solutions in reference vectors, rad or robot sizes.
_AWAY = 1e-2
# How often they are brought nearer where a leg does not reach that far.
_HALVINGS = 8


def kinematics_entries(robot: Robot, prefix: str, groups: tuple[str, ...] = ()) -> list[Entry]:
    """The functions that the kinematics of a package are made of.

    Args:
        robot: the robot.
        prefix: of all names.
        groups: of the robot's free numbers that are given at run time; of these the geometry counts.
    """
    mechanism = mechanism_of(robot)
    drives = ", ".join(actuator.name for actuator in robot.actuators)
    labels = {
        "x": pose_description(robot),
        "y": "passive coordinates, solved numerically",
        "u": "reduced pose, and passive coordinates behind it",
        "q": f"coordinates of the actuators {drives}; rad, m",
        "dy": "Newton's step of the unknowns",
        "error": "what is open, relative to the robot's size",
        "distances": "distances from singularities, of legs and platform, without unit; 0 at one",
        "active": f"coordinates of the actuators {drives}; rad, m",
        "margin": "smallest reach margin of a leg: 0 at a serial singularity, below 0 out of reach",
        "meeting": "above 0 where the legs can meet, 0 at a parallel singularity",
        "way": "way to the nearest limit of a joint or drive, rad or m, of tilts 1 - cos; below 0 beyond it",
        "v": "reduced twist; m/s, rad/s",
        "q_dot": f"rates of the actuators {drives}; rad/s, m/s",
    }
    m, n = len(robot.actuators), robot.motion.n
    of_pose, of_unknowns = pose_units(mechanism), unknown_units(mechanism)
    result: list[Entry] = []

    def add(
        label: str,
        title: str,
        function: Callable[..., Any],
        shapes: Mapping[str, tuple[int, ...]],
        **more: Any,
    ) -> None:
        chosen = groups if "geometry" in groups else ()
        shapes = resolve_input_shapes(function, robot, shapes, chosen)
        specification = Specification(function, robot, shapes, groups=chosen)
        parts = specification.split() if chosen else None
        program = specification.program() if parts is None else parts.body
        entry = Entry(label, title, replace(program, name=f"{prefix}_{label}"), labels, None, **more)
        result.extend([entry] if parts is None else with_preparation(entry, parts.prologue, specification))

    def add_step(label: str, title: str, function: Callable[..., Any], units: Array, at: Any) -> None:
        shapes = input_shapes(function, robot)
        assert shapes is not None
        add(label, title, function, shapes, at=at, driver="track", units=tuple(units.tolist()))

    if has_sphere_solution(mechanism):
        title = "pose of the platform from the actuators, in closed form"
        add(SPHERES, title, sphere_kinematics, {"q": (m,)}, at=_actuators)
    else:
        title = "step of Newton's iteration for the pose at coordinates of the actuators"
        units = np.concatenate([pose_step_units(mechanism), np.full(m, np.inf)])
        # Between coordinates of redundant actuators that fit there is no straight way on which they do.
        function = pose_path_step if m == n else fitted_pose_path_step
        add_step(POSE_STEP, title, function, units, _near_poses)
    if mechanism.unknown_count:
        title = "step of Newton's iteration for what the legs leave open at a pose"
        units = np.concatenate([of_unknowns, of_pose])
        add_step(CLOSING_STEP, title, closing_path_step, units, _near_unknowns)
    pose: list[tuple[str, str, Callable[..., Any], dict[str, tuple[int, ...]]]] = [
        (JOINTS, "actuators at a pose, reach, and limits", kinematic_model.actuators_within_limits, {}),
        (
            RATES,
            "rates of the actuators from the twist of the platform",
            kinematic_model.actuator_rates,
            {"v": (n,)},
        ),
        (
            TWIST,
            "twist of the platform from the rates of the actuators",
            kinematic_model.platform_twist,
            {"q_dot": (m,)},
        ),
    ]
    for label, title, function, more in pose:
        add(label, title, *pose_function(robot, function, **more), at=_with_rates)
    return result


def _actuators(states: SampleStates) -> Mapping[str, Array]:
    return {"q": states.actuators}


def _near_poses(states: SampleStates) -> Mapping[str, Array]:
    """Poses and unknowns near those of the states, within reach, and the actuators there."""
    mechanism = mechanism_of(states.robot)
    units = np.concatenate([pose_units(mechanism), unknown_units(mechanism)])
    u = np.concatenate([states.x, states.y], axis=1)
    away = _AWAY * units * np.random.default_rng(3).uniform(-1.0, 1.0, u.shape)
    step = compile_native(pose_path_step, states.robot)
    for _ in range(_HALVINGS):
        distances = step(u + away, states.actuators)["distances"]
        away[~np.all(np.isfinite(distances) & (distances != 0.0), axis=1)] *= 0.5
    return {"u": u + away, "q": states.actuators}


def _near_unknowns(states: SampleStates) -> Mapping[str, Array]:
    away = _AWAY * np.random.default_rng(3).uniform(-1.0, 1.0, states.y.shape)
    return {"y": states.y + away, "x": states.x}


def _with_rates(states: SampleStates) -> Mapping[str, Array]:
    return {"x": states.x, "y": states.y, "v": states.v, "q_dot": states.actuator_rates}
