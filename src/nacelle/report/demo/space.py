"""The robot in 3D: as it flies the path, with its drive forces, and the errors of all controllers."""

from __future__ import annotations

import numpy as np

from nacelle.model.leg import PLATFORM
from nacelle.model.robot import Robot
from nacelle.page.svg import SERIES_COLOURS
from nacelle.report.demo.circle import CircleRuns
from nacelle.scene.colours import ACTIVE_COLOUR
from nacelle.scene.figure import Arrows, PathLine, SceneItem, scene_figure
from nacelle.scene.geometry import robot_geometry
from nacelle.scene.motion import PosesOverTime, poses_along, rotations, still
from nacelle.spatial.scalar import Array

# Pictures a second of the animation, and how much larger than they are errors are drawn.
_RATE, _MAGNIFIED = 25.0, 20.0
# How far beside a joint the arrow of its drive is, in parts of the robot's extent.
_BESIDE = 0.05


def robot_in_space(robot: Robot, flown: CircleRuns | None) -> str:
    """The figure: the robot along the path as flown by the last controller; at rest if nothing was flown."""
    if flown is None:
        item = SceneItem(robot_geometry(robot), still(robot))
        return scene_figure([item], caption=f"{robot.title or robot.name}. Drag to turn it.")
    best, model = flown.flights[-1], flown.robot
    step = max(1, round(1.0 / (_RATE * float(np.median(np.diff(flown.time))))))
    shown = slice(0, None, step)
    motion = poses_along(model, flown.time[shown], best.x[shown])
    traces = [PathLine(flown.desired[shown], "desired path")]
    for flight, colour in zip(flown.flights, SERIES_COLOURS, strict=False):
        error = (flight.tool - flown.desired)[shown]
        name = f"{flight.label}, error × {_MAGNIFIED:g}"
        traces.append(PathLine(flown.desired[shown] + _MAGNIFIED * error, name, colour))
    geometry = robot_geometry(model, motion)
    arrows = drive_arrows(model, motion, best.force[shown], _BESIDE * geometry.extent)
    return scene_figure(
        [SceneItem(geometry, motion, arrows, traces=traces)],
        caption=f"The {flown.path}, as flown with {best.label}. Drag to turn it, scroll to zoom. Coloured "
        f"lines are the circles that the controllers fly, their errors drawn {_MAGNIFIED:g} times as large.",
    )


def drive_arrows(robot: Robot, motion: PosesOverTime, force: Array, beside: float = 0.0) -> list[Arrows]:
    """Forces of prismatic and torques of revolute drives as arrows along their axes, on the driven bodies.

    Args:
        robot: the robot.
        motion: of its bodies, T times.
        force: of the actuators (T, actuators), N or N m.
        beside: how far outside its axis each arrow is drawn, away from the nacelle, m: seen beside a strut.
    """
    sets = []
    revolute = np.array(robot.revolute_actuators, dtype=bool)
    for turns, name, unit in ((False, "drive forces", "N"), (True, "drive torques", "N m")):
        chosen = np.flatnonzero(revolute == turns)
        if not len(chosen):
            continue
        joints = [robot.joints[robot.actuators[k].joint] for k in chosen]
        before, after = ([getattr(j, end) for j in joints] for end in ("predecessor", "successor"))
        local = np.array([joint.frame_successor.p for joint in joints])
        points = motion.position[:, after] + np.einsum(
            "tkij,kj->tki", rotations(motion.quaternion[:, after]), local
        )
        axes = np.array([joint.frame_predecessor.R[:, 2] for joint in joints])
        along = np.einsum("tkij,kj->tki", rotations(motion.quaternion[:, before]), axes)
        points = points + beside * _outwards(points - motion.position[:, None, PLATFORM], along)
        sets.append(Arrows(name, points, force[:, chosen, None] * along, unit, ACTIVE_COLOUR))
    return sets


def _outwards(away: Array, axes: Array) -> Array:
    """Unit vectors (..., 3) perpendicular to axes, towards `away`; zero where that is along the axis."""
    across = away - np.sum(away * axes, axis=-1, keepdims=True) * axes
    length = np.linalg.norm(across, axis=-1, keepdims=True)
    return np.asarray(np.divide(across, length, out=np.zeros_like(across), where=length > 1e-9))
