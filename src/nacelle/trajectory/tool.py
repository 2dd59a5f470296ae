"""Trajectories of tools: the motion of the platform that moves a tool along a trajectory."""

from __future__ import annotations

import copy
from typing import Self

from nacelle.errors import KinematicsError
from nacelle.kinematics.tools import ToolTarget
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array
from nacelle.trajectory.base import Sample, Trajectory


class ToolTrajectory(Trajectory):
    """The motion of the platform that moves a tool along a trajectory.

    With the tool's coordinates s(t), its Jacobian J_t by the coordinates c of the platform, and the bias b
    that the rates alone give,

        c' = J_t^-1 s',   c'' = J_t^-1 (s'' - b).
    """

    def __init__(self, robot: Robot, trajectory: Trajectory, tool: str) -> None:
        """Make it.

        Args:
            robot: the robot.
            trajectory: of the tool: x, y, z are its origin's, the orientation that of its frame; angles and
                joints of the platform are as they are. Its motion is the robot's, or has coordinates of the
                tool that determine the pose (x, y, z for a table that lifts and tilts).
            tool: name of the tool.

        Raises:
            KinematicsError: if there is no such tool, or the trajectory does not determine the pose.
        """
        target = ToolTarget.of(robot, tool, trajectory.motion)
        if not target.determined:
            raise KinematicsError(
                f"the trajectory gives {', '.join(trajectory.motion.coordinates)} of the tool {tool}, which "
                f"does not determine {', '.join(target.free)} of {robot.name}; give as many coordinates"
            )
        self._target = target
        self._inner = trajectory
        super().__init__(robot.motion, trajectory.duration, trajectory.knots)

    @property
    def inner(self) -> Trajectory:
        """The trajectory of the tool."""
        return self._inner

    def with_trajectory(self, trajectory: Trajectory) -> Self:
        """The same tool along another trajectory of the same motion."""
        result = copy.copy(self)
        result._inner = trajectory
        Trajectory.__init__(result, self.motion, trajectory.duration, trajectory.knots)
        return result

    def inside(self, t: Array) -> Sample:
        """The motion at times (m,) that lie in [0, duration]; NaN where the tool cannot be."""
        sample = self._inner.inside(t)
        x, _ = self._target.solve(sample.x)
        return Sample(x, *self._target.coordinate_rates(x, sample.v, sample.a))
