"""Files of runs: tables that `nacelle simulate --csv` and `nacelle control --out` write, and their npz."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from nacelle.errors import NacelleError, TableError
from nacelle.files import why_unread
from nacelle.kinematics.trajectory.waypoints import read_poses
from nacelle.model.reduced import layout_of
from nacelle.model.robot import Robot
from nacelle.view.timeline import Playback, checked_motion


def read_run(robot: Robot, path: Path) -> Playback:
    """Read a run of a robot: times and poses.

    Args:
        robot: the robot.
        path: a CSV file with the columns t and those of the pose; or an npz file with the arrays t and x.

    Raises:
        NacelleError: if it cannot be read, or is a run of another robot.
    """
    name = path.name
    if path.suffix.lower() == ".npz":
        times, x = _read_npz(robot, path)
    else:
        try:
            poses = read_poses(path, robot.motion)
        except TableError as error:
            raise NacelleError(
                f"{name} is no run of {robot.name}, whose pose has "
                f"{', '.join(layout_of(robot.motion).x_names)}:\n{error}"
            ) from None
        if poses.times is None:
            raise NacelleError(f"{name} has no column t: a run has times")
        times, x = poses.times, poses.points
    return checked_motion(Playback(robot, name, times, x))


def _read_npz(robot: Robot, path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Times (N,) and poses (N, nx) of an npz file."""
    try:
        with np.load(path, allow_pickle=False) as data:
            missing = [key for key in ("t", "x") if key not in data]
            if missing:
                raise NacelleError(f"{path.name} has no array {missing[0]!r}: a run has times t and poses x")
            times, x = (np.asarray(data[key], dtype=float) for key in ("t", "x"))
    except OSError as error:
        message, hint = why_unread(path, error, "run (.csv, .npz)")
        raise NacelleError(f"{path}: {message}; {hint}") from None
    except ValueError as error:
        raise NacelleError(f"{path.name} is no npz file of a run: {error}") from None
    layout = layout_of(robot.motion)
    if x.ndim != 2 or x.shape[1] != layout.nx:
        raise NacelleError(
            f"{path.name} is no run of {robot.name}: its poses have the shape {x.shape}, those of the robot "
            f"have {layout.nx} numbers ({', '.join(layout.x_names)})"
        )
    return times, x
