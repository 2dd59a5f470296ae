"""Peak reactions: what a motion requires of the bearings of every joint.

Along a trajectory, sampled at t_1 .. t_N, a joint transmits the wrench [f; n] (6,) from its predecessor to
its successor, N and N m, in the axes of its frame on the predecessor, about its origin (`reactions`). With e
the axis of its bearing, f_e = e . f and n_e = e . n, the figures of a joint over the samples are

    force    max |f|        radial    max |f - f_e e|        axial    max |f_e|
    moment   max |n|        tilting   max |n - n_e e|        torque   max |n_e|
    mean force   (mean of |f|^3)^(1/3)

the cubic mean because the life of a ball bearing falls with the third power of its load.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from nacelle.dynamics.reactions.reactions import Reactions, joint_reactions
from nacelle.kinematics.along import SampledMotion, motion_samples, solved_samples, turning
from nacelle.kinematics.trajectory import Trajectory
from nacelle.model.joint import MOTION, JointKind, Primitive
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array

PARTS = ("fx", "fy", "fz", "nx", "ny", "nz")


@dataclass(frozen=True)
class Peak:
    """The largest loads of one joint along a motion.

    Radial and axial, tilting and torque refer to the axis of the joint's bearing: z of its frame, x (the
    first hinge) of a universal joint, the normal of a joint that slides on a plane of its predecessor. They
    are NaN where there is no such axis: in spherical joints, in points, where the plane is on the successor.

    Attributes:
        name: of the joint.
        kind: of the joint.
        force: largest resultant force, N.
        force_time: when, s.
        mean_force: cubic mean of the resultant over time, N, as the life of rolling bearings counts it.
        radial: largest force perpendicular to the axis, N.
        axial: largest force along it, absolute, N; in a driven slide the drive takes it.
        moment: largest resultant moment about the joint's origin, N m.
        moment_time: when, s.
        tilting: largest moment perpendicular to the axis, N m.
        torque: largest moment about it, absolute, N m: what drive, friction, spring and rotor do in a hinge.
        open: the components that the balance leaves open, of "fx" to "nz"; their least-norm share is given.
    """

    name: str
    kind: str
    force: float
    force_time: float
    mean_force: float
    radial: float
    axial: float
    moment: float
    moment_time: float
    tilting: float
    torque: float
    open: tuple[str, ...]

    @property
    def determined(self) -> bool:
        """Whether the balance determines all of it; otherwise it holds a least-norm share."""
        return not self.open


@dataclass(frozen=True, eq=False)
class PeakReactions(SampledMotion):
    """A motion and what it requires of the joints.

    Attributes:
        reactions: at all times.
        peaks: of every joint, over the samples that could be solved.
    """

    reactions: Reactions
    peaks: tuple[Peak, ...]

    def __repr__(self) -> str:
        """Give robot, duration and the joint with the largest force."""
        most = max(self.listed, key=lambda peak: peak.force)
        return (
            f"<PeakReactions {self.robot.name}: {self.times[-1]:g} s, {len(self.listed)} joints, "
            f"at most {most.force:.4g} N in {most.name}>"
        )

    @property
    def listed(self) -> tuple[Peak, ...]:
        """The peaks of the joints that the description has: couplings transmit through theirs."""
        return tuple(self.peaks[j] for j in self.robot.written_joints)

    def joint(self, name: str) -> Peak:
        """The peaks of a joint by name."""
        return self.peaks[self.robot.joint(name)]


def peak_reactions(
    robot: Robot,
    trajectory: Trajectory,
    rate: float = 1000.0,
    *,
    external: Mapping[str, Any] | None = None,
    friction: bool = True,
    smooth: float | None = None,
) -> PeakReactions:
    """Find the largest loads of every joint along a trajectory, to size bearings.

    Args:
        robot: the robot.
        trajectory: of its motion.
        rate: samples a second.
        external: wrenches on bodies (6,) or, one a sample, (N, 6), as in `inverse_dynamics`.
        friction: whether friction counts.
        smooth: rate (rad/s, m/s) over which Coulomb friction changes its sign smoothly; at once if None.

    Raises:
        KinematicsError: if the rate is not above zero, or names or shapes are wrong.
        UnreachableError: if no pose of the trajectory is reached.
    """
    times, sample = motion_samples(robot, trajectory, rate)
    moved, guess = turning(robot, sample.x)
    given: dict[str, Any] = {"external": external, "friction": friction, "smooth": smooth, "guess": guess}
    reactions = joint_reactions(moved, sample.x, sample.v, sample.a, **given)
    good = solved_samples(robot, reactions.flags)
    wrench, when = reactions.wrench[good], times[good]
    peaks = tuple(
        _peak(joint.name, joint.kind, wrench[:, j], when, reactions.determined[j])
        for j, joint in enumerate(robot.joints)
    )
    return PeakReactions(robot, times, sample, reactions, peaks)


def _peak(name: str, kind: JointKind, wrench: Array, times: Array, determined: Array) -> Peak:
    f, n = wrench[:, :3], wrench[:, 3:]
    force, moment = np.linalg.norm(f, axis=1), np.linalg.norm(n, axis=1)
    first, second = int(np.argmax(force)), int(np.argmax(moment))
    parts = [float("nan")] * 4
    if MOTION[kind][:1] != (Primitive.SPHERICAL,):
        # Along the first axis of a cross, otherwise z.
        axis = 0 if kind is JointKind.UNIVERSAL else 2
        across = [k for k in range(3) if k != axis]
        sizes = (
            np.linalg.norm(f[:, across], axis=1),
            np.abs(f[:, axis]),
            np.linalg.norm(n[:, across], axis=1),
            np.abs(n[:, axis]),
        )
        parts = [float(np.max(size)) for size in sizes]
    radial, axial, tilting, torque = parts
    return Peak(
        name,
        str(kind),
        float(force[first]),
        float(times[first]),
        float(np.mean(force**3) ** (1.0 / 3.0)),
        radial,
        axial,
        float(moment[second]),
        float(times[second]),
        tilting,
        torque,
        tuple(part for part, sure in zip(PARTS, determined, strict=True) if not sure),
    )
