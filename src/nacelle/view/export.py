"""What the viewer shows as one self-contained page: robots, motions, forces as arrows, ways of tools."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nacelle.errors import NacelleError
from nacelle.kinematics.solve.inverse import BodyPoses, inverse_kinematics
from nacelle.model.robot import Robot
from nacelle.scene.colours import ARROW_COLOURS
from nacelle.scene.figure import Arrows, SceneItem, scene_page
from nacelle.scene.geometry import robot_geometry
from nacelle.scene.motion import motion_at_rest, poses_along
from nacelle.spatial.scalar import Array
from nacelle.view.loads import state_loads
from nacelle.view.timeline import Playback

# Samples of a motion in a page.
_SAMPLES = 240


@dataclass(frozen=True, eq=False)
class PageRobot:
    """A robot of a page.

    Attributes:
        robot: the robot.
        x: its pose (nx,), where it does not move.
        motion: its motion; None where it stays.
        kinds: which loads are drawn: "actuator forces", "joint reactions".
        offset: where its base is (3,), m.
    """

    robot: Robot
    x: Array
    motion: Playback | None = None
    kinds: tuple[str, ...] = ()
    offset: tuple[float, float, float] = (0.0, 0.0, 0.0)


def viewer_page(robots: Sequence[PageRobot]) -> str:
    """The text of a page that needs nothing besides itself.

    Raises:
        NacelleError: if a robot cannot be drawn.
    """
    title = ", ".join(shown_robot.robot.title or shown_robot.robot.name for shown_robot in robots)
    return scene_page([_scene_item(shown_robot) for shown_robot in robots], title)


def _scene_item(shown_robot: PageRobot) -> SceneItem:
    traces: tuple[Array, ...] = ()
    if shown_robot.motion is None:
        times, poses = np.zeros(1), shown_robot.x[None]
        moving = motion_at_rest(shown_robot.robot, shown_robot.x)
    else:
        times, poses = shown_robot.motion.even_samples(_SAMPLES)
        moving = poses_along(shown_robot.robot, times, poses)
        traces = (shown_robot.motion.trace(),)
    arrows = [arrow for kind in shown_robot.kinds for arrow in _load_arrows(shown_robot, kind, times, poses)]
    geometry = robot_geometry(shown_robot.robot, moving)
    return SceneItem(geometry, moving, arrows, shown_robot.offset, shown_robot.robot.title, traces)


def _load_arrows(shown_robot: PageRobot, kind: str, times: Array, poses: Array) -> list[Arrows]:
    """Arrows of loads of a kind over a motion, forces and moments; empty where none act."""
    samples = []
    for t, x in zip(times, poses, strict=True):
        try:
            bodies = inverse_kinematics(shown_robot.robot, x, limits=False).bodies
        except NacelleError:
            count = len(shown_robot.robot.bodies)
            bodies = BodyPoses(np.full((count, 3, 3), np.nan), np.full((count, 3), np.nan))
        rates = () if shown_robot.motion is None else shown_robot.motion.rates(float(t))
        samples.append(state_loads(shown_robot.robot, kind, bodies, x, *rates))
    count = max(len(sample.points) for sample in samples)
    arrows = []
    for what, unit, colour in zip(("forces", "moments"), ("N", "N m"), ARROW_COLOURS[kind], strict=True):
        points, vectors = np.full((2, len(samples), count, 3), np.nan)
        for k, sample in enumerate(samples):
            points[k, : len(sample.points)] = sample.points
            vectors[k, : len(sample.points)] = getattr(sample, what)
        if np.nanmax(np.abs(vectors), initial=0.0) > 1e-9:
            arrows.append(Arrows(f"{kind}: {what}", points, vectors, unit, colour))
    return arrows
