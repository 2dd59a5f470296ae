"""One robot in the viewer: the pose that is requested, the pose that is shown, and what is said about it.

The robot stays at the last pose that it can take; the request may be elsewhere, and is then drawn as a red
ghost of the nacelle with the reason in words. Nothing here knows a browser.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from nacelle.errors import KinematicsError, NacelleError
from nacelle.kinematics.flags import Flag
from nacelle.kinematics.inverse import BodyPoses, InverseKinematics, inverse_kinematics
from nacelle.kinematics.mechanism.dependent import dependent_coordinates
from nacelle.kinematics.pose_input import checked_poses, is_angle, reference_pose
from nacelle.kinematics.singularity import NEAR, singularities
from nacelle.model.leg import PLATFORM
from nacelle.model.platform import AXES
from nacelle.model.reduced import layout_of
from nacelle.model.robot import Robot
from nacelle.spatial.pose import Pose
from nacelle.spatial.rotation_path import quat_exp, rotation_matrices
from nacelle.spatial.scalar import Array
from nacelle.view.reasons import branch_words, failure_words, limit_words, singularity_words


class Standing(Enum):
    """How a requested pose is: it can be taken, a singularity is near, or it cannot be taken."""

    GOOD = "reachable"
    NEAR = "near singular"
    OUT = "unreachable"


@dataclass(frozen=True)
class Verdict:
    """What is said about a requested pose.

    Attributes:
        standing: whether it can be taken.
        words: why, in words.
        nearest: kind of the nearest singularity.
        measure: its distance: 1 is best, 0 is singular; NaN where the pose has no solution.
    """

    standing: Standing
    words: str
    nearest: str = ""
    measure: float = float("nan")


class Session:
    """A robot at a pose.

    Attributes:
        robot: the robot.
        limits: whether limits of joints and drives count.
        request: the pose x (nx,) that was asked for last.
        solution: joints and bodies of the pose that is shown.
        verdict: what is said about the request.
    """

    def __init__(self, robot: Robot, x: Any = None, *, limits: bool = True) -> None:
        """Place a robot at a pose, the reference pose if None.

        Raises:
            NacelleError: if it cannot be drawn there at all.
        """
        self.robot, self.limits = robot, limits
        start = reference_pose(robot) if x is None else checked_poses(robot, x)[0]
        self.solution = inverse_kinematics(robot, start, limits=False)
        self.request = start
        self.verdict = self._judged(self.solution, start)

    @property
    def x(self) -> Array:
        """The pose (nx,) that is shown."""
        return self.solution.x

    @property
    def bodies(self) -> BodyPoses:
        """Where all bodies are: R (bodies, 3, 3), p (bodies, 3), m, base axes."""
        return self.solution.bodies

    @property
    def platform(self) -> Pose:
        """The frame of the platform as it is shown."""
        R, p = self.bodies
        return Pose(R[PLATFORM], p[PLATFORM])

    def move(self, x: Any) -> Verdict:
        """Ask for a pose (nx,); the robot goes there if it can."""
        try:
            request, _ = checked_poses(self.robot, x)
        except KinematicsError as error:
            self.verdict = Verdict(Standing.OUT, str(error))
            return self.verdict
        self.request = request
        try:
            solution = self._solved(request)
        except KinematicsError as error:
            self.verdict = Verdict(Standing.OUT, failure_words(error))
            return self.verdict
        self.verdict = self._judged(solution, request)
        if self.verdict.standing is not Standing.OUT:
            self.solution = solution
        return self.verdict

    def _solved(self, x: Array) -> InverseKinematics:
        """Joints at a pose, from those that are shown, or from the reference where that leads nowhere."""
        try:
            return inverse_kinematics(self.robot, x, guess=self.solution, limits=self.limits)
        except KinematicsError:
            if not self.solution.y.size:
                raise
            return inverse_kinematics(self.robot, x, limits=self.limits)

    def _judged(self, solution: InverseKinematics, x: Array) -> Verdict:
        """What is said about a pose that has a solution."""
        beyond = limit_words(solution) if self.limits else ""
        other = branch_words(int(solution.flags))
        if beyond or other:
            return Verdict(Standing.OUT, f"beyond limits: {beyond}" if beyond else other)
        try:
            measures = singularities(self.robot, x)
        except NacelleError as error:
            return Verdict(Standing.NEAR, f"the distance from singularities is not determined: {error}")
        if not np.isfinite(measures.parallel):
            return Verdict(Standing.NEAR, "the distance from singularities is not determined here")
        kind, measure = singularity_words(measures)
        near = int(Flag.NEAR_SINGULAR | Flag.SINGULAR)
        if measure < NEAR or (int(solution.flags) | int(measures.flags)) & near:
            words = f"near a {kind} singularity: {measure:.2g} (0 is singular, below {NEAR:g} is near)"
            return Verdict(Standing.NEAR, words, kind, measure)
        return Verdict(Standing.GOOD, f"reachable; nearest singularity {kind}: {measure:.2g}", kind, measure)

    def ghost(self) -> Pose | None:
        """Where the platform would be in a request that cannot be taken; None if it can.

        Coordinates that the request does not have (parasitic motion, joints of the nacelle) stay as shown.
        """
        if self.verdict.standing is not Standing.OUT:
            return None
        layout, shown = layout_of(self.robot.motion), self.platform
        p, turn = np.array(shown.p, dtype=float), np.zeros(3)
        for name in self.robot.motion.coordinates:
            if name in AXES[:3]:
                p[AXES.index(name)] = self.request[layout.x_index(name)]
            elif name in AXES and layout.quaternion is None:
                k = layout.x_index(name)
                turn[AXES.index(name) - 3] = self.request[k] - self.x[k]
        if layout.quaternion is not None:
            return Pose(rotation_matrices(self.request[layout.quaternion]), p)
        return Pose(rotation_matrices(quat_exp(turn)) @ shown.R, p)

    def dependent(self) -> dict[str, tuple[float, str]]:
        """Coordinates that follow from the others (parasitic motion): value and unit, mm or deg, by name."""
        shown = {}
        for name, value in dependent_coordinates(self.solution).items():
            angle = is_angle(self.robot, name)
            shown[name] = (float(np.degrees(value)), "deg") if angle else (1e3 * float(value), "mm")
        return shown
