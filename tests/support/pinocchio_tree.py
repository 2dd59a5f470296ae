"""The spanning tree of a robot at one state, by Pinocchio, as `nacelle.verify` builds it."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from nacelle.model.robot import Robot
from nacelle.spatial.pose import Pose
from nacelle.verify.engine import TreeSnapshot, TreeState
from nacelle.verify.engines.pinocchio import build

Array = np.ndarray


def se3(pose: Pose) -> pin.SE3:
    return pin.SE3(np.array(pose.R, dtype=float), np.array(pose.p, dtype=float))


def pinocchio_snapshot(
    robot: Robot, platform: Pose, q: Array, u: Array | None = None, u_dot: Array | None = None
) -> TreeSnapshot:
    """Poses, twists and Jacobians of all bodies at coordinates q and rates u of the tree, at rest if None."""
    rest = np.zeros(robot.platform_nv + robot.nv)
    u, u_dot = (rest if rates is None else rates for rates in (u, u_dot))
    return build(robot).at(TreeState(platform, q, u, u_dot, np.zeros((len(robot.bodies), 6))))
