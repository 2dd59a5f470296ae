"""A robot as a page that can be turned and that moves: from a pose, poses over time, or a simulation."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from nacelle.errors import NacelleError
from nacelle.files import write_whole
from nacelle.model.robot import Robot
from nacelle.scene.figure import SceneItem, body_points, scene_page
from nacelle.scene.geometry import robot_geometry
from nacelle.scene.motion import PosesOverTime, poses_along, still

# Samples of a page: more cannot be seen, and make it large.
_MOST = 600


def animate(
    robot: Robot,
    x: Any = None,
    times: Any = None,
    out: str | os.PathLike[str] = "robot.html",
    *,
    overwrite: bool = False,
) -> Path:
    """Write a self-contained page with a robot in space: it opens from the file and requests nothing.

    Args:
        robot: the robot.
        x: a pose (nx,); poses (T, nx); or anything with times `t` (T,) and poses `x` (T, nx), such as the
            result of a simulation; the reference pose if None.
        times: of poses (T,), s; 25 poses a second if None.
        out: the file.
        overwrite: whether a file that exists is replaced.

    Returns:
        The file.

    Raises:
        NacelleError: if the file exists or cannot be written, or x is none of these.
        UnreachableError: if no pose is within reach.
    """
    motion = _motion(robot, x, times)
    traces = (body_points(motion, 1),) if len(motion.times) > 1 else ()
    item = SceneItem(robot_geometry(robot, motion), motion, traces=traces)
    place = Path(out)
    try:
        write_whole(place, scene_page([item], robot.title or robot.name), new=not overwrite)
    except FileExistsError:
        raise NacelleError(
            f"{place} exists already; it is left as it is (overwrite=True replaces it)"
        ) from None
    except (OSError, ValueError) as error:
        raise NacelleError(
            f"cannot write {str(place)[:80]!r}: {getattr(error, 'strerror', None) or error}"
        ) from None
    return place


def _motion(robot: Robot, x: Any, times: Any) -> PosesOverTime:
    if x is not None and hasattr(x, "x") and hasattr(x, "t"):
        x, times = x.x, x.t if times is None else times
    if x is None:
        return still(robot)
    poses = np.asarray(x, dtype=float)
    if poses.ndim == 1:
        return still(robot, poses)
    if poses.ndim != 2:
        raise NacelleError(f"x is a pose (nx,) or poses (T, nx), not an array of shape {poses.shape}")
    moments = np.arange(len(poses)) / 25.0 if times is None else np.asarray(times, dtype=float)
    step = max(1, -(-len(poses) // _MOST))
    return poses_along(robot, moments[::step], poses[::step])
