"""What the controller of a rehearsal knows beforehand: the reference and the model's forces along it.

Samples are at t_k = k / rate. Forces are held over [t_k, t_k+1), so the feedforward of sample k is that of
the middle of this interval: a force that is held has its mean there, and the motion is met to the second
order of the interval. M_a = J^+T M J^+ with the left inverse J^+ = (J^T J)^-1 J^T of the actuators' Jacobian
J (`inverse_jacobian`): J^T M_a J = M, and forces M_a e of a redundant robot have no part that works against
itself (J^T f = 0).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nacelle.dynamics.forward import mass_matrix
from nacelle.dynamics.inverse import inverse_dynamics
from nacelle.errors import IdentificationError
from nacelle.kinematics.actuation import unwrapped
from nacelle.kinematics.flags import failed, flag_words
from nacelle.kinematics.inverse import inverse_kinematics
from nacelle.kinematics.kinematic_model import inverse_jacobian
from nacelle.kinematics.native import native
from nacelle.kinematics.trajectory.base import Sample, Trajectory, reason_not_periodic
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array


@dataclass(frozen=True, eq=False)
class Reference:
    """The reference at N samples.

    Attributes:
        time: (N,), s.
        x: reduced poses (N, nx).
        v: reduced twists (N, n).
        q: coordinates of the actuators (N, actuators), rad or m; angles without jumps.
        force: the model's forces in the middle between a sample and the next (N, actuators), N or N m.
        inertia: M_a (N, actuators, actuators).
    """

    time: Array
    x: Array
    v: Array
    q: Array
    force: Array
    inertia: Array


class Repeated:
    """A trajectory, once, or over and over.

    Args:
        trajectory: the trajectory.
        periods: how often it is run through.
        settle: how long it is run before, s.

    Attributes:
        duration: of all periods, s.

    Raises:
        IdentificationError: if it is to be repeated and does not end as it starts.
    """

    def __init__(self, trajectory: Trajectory, periods: int, settle: float) -> None:
        if periods < 1 or not settle >= 0.0:
            raise IdentificationError(
                f"a trajectory is run through once or more often after a time that is not negative, got "
                f"{periods} periods after {settle:g} s"
            )
        self.trajectory, self.duration = trajectory, periods * trajectory.duration
        self._repeats = periods > 1 or settle > 0.0
        reason = reason_not_periodic(trajectory) if self._repeats else ""
        if reason:
            raise IdentificationError(
                f"several periods, and settling, take a trajectory that ends as it starts; {reason}"
            )

    def __call__(self, t: Array) -> Sample:
        """The motion at times (N,), s."""
        period = self.trajectory.duration
        return self.trajectory(np.mod(t, period) if self._repeats else np.minimum(t, period))


def reference_of(
    robot: Robot, trajectory: Repeated, time: Array, *, rate: float, smooth: float | None, feedforward: bool
) -> Reference:
    """The reference of a robot along a trajectory.

    Args:
        robot: the model that the controller has.
        trajectory: the motion.
        time: of the samples (N,), s.
        rate: samples a second.
        smooth: rate over which Coulomb friction changes its sign.
        feedforward: whether forces are wanted; else they are zero.

    Raises:
        IdentificationError: if a pose of the trajectory cannot be taken, or is beyond limits.
    """
    if trajectory.trajectory.motion != robot.motion:
        raise IdentificationError(
            f"the trajectory has the motion {trajectory.trajectory.motion.name}, {robot.name} has "
            f"{robot.motion.name}"
        )
    at = trajectory(time)
    joints = inverse_kinematics(robot, at.x)
    if not np.all(joints.ok):
        k = int(np.argmin(joints.ok))
        raise IdentificationError(
            f"at {time[k]:g} s {robot.name} cannot follow the trajectory: {flag_words(joints.flags[k])}"
        )
    force = np.zeros(joints.actuators.shape)
    if feedforward:
        between = trajectory(time + 0.5 / rate)
        dynamics = inverse_dynamics(robot, *between, smooth=smooth)
        bad = failed(dynamics.flags)
        if np.any(bad):
            k = int(np.argmax(bad))
            raise IdentificationError(f"at {time[k]:g} s the trajectory is at a singularity of {robot.name}")
        force = dynamics.force
    J = native(inverse_jacobian, robot)(at.x, joints.y)["J"]
    across = np.swapaxes(J, -1, -2)
    left = np.linalg.solve(across @ J, across)
    inertia = np.swapaxes(left, -1, -2) @ mass_matrix(robot, at.x, guess=joints) @ left
    return Reference(time, at.x, at.v, unwrapped(joints.actuators, robot.revolute_actuators), force, inertia)
