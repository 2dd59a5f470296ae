"""Forward kinematics: from the actuators to the pose of the nacelle.

In closed form where spheres or circles meet (`nacelle.kinematics.forward.spheres`); otherwise by continuation
with Newton's iteration and the exact Jacobian: on the pose alone where the inverse kinematics is in closed
form, on pose and joints together for the others.

A forward problem has several solutions, the *assemblies*. The one that is meant is connected with the
reference pose, or with the guess: the actuators go there in a straight line; where that path is blocked by a
singularity, from the nearest points of a roadmap. Signs tell assemblies apart: that of det J_r^-1 changes at
a parallel singularity, those of `nacelle.kinematics.iteration.branch` where a leg or loop changes its branch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from nacelle.errors import KinematicsError, UnreachableError
from nacelle.kinematics import kinematic_model
from nacelle.kinematics.flags import Flag
from nacelle.kinematics.forward.actuator_path import actuator_scales, unwound
from nacelle.kinematics.forward.assemblies import assemblies_of
from nacelle.kinematics.forward.search import search_of
from nacelle.kinematics.forward.spheres import applies, sphere_forward
from nacelle.kinematics.inverse import InverseKinematics, inverse_kinematics
from nacelle.kinematics.limits import actuator_outside, read_actuators
from nacelle.kinematics.mechanism.mechanism import Mechanism, mechanism_of
from nacelle.kinematics.native import native
from nacelle.kinematics.pose_input import broadcast_guess, checked_poses
from nacelle.model.robot import Robot
from nacelle.pictures import Drawn
from nacelle.spatial.scalar import Array

_NEAR_MARGIN = 1e-4
# Coordinates of actuators that are the same, rad or robot sizes.
_SAME = 1e-5


@dataclass(frozen=True, eq=False, repr=False)
class ForwardKinematics(Drawn):
    """Poses at given coordinates of the actuators.

    Attributes:
        robot: the robot.
        q: coordinates of the actuators (..., actuators).
        x: reduced poses (..., nx); NaN where none was found.
        iterations: Newton's steps (...); 0 in closed form.
        flags: for every sample what was found (`Flag`).
        assemblies: all poses that were found, an array (...) of `Assemblies`; None if not requested.
    """

    robot: Robot
    q: Array
    x: Array
    iterations: Array
    flags: Array
    assemblies: Any = None

    @property
    def ok(self) -> Array:
        """Whether each sample (...) has a pose on the reference's branch, its actuators within limits."""
        beyond = Flag.INVALID | Flag.UNREACHABLE | Flag.SINGULAR | Flag.OUT_OF_LIMITS | Flag.OTHER_BRANCH
        return np.asarray((self.flags & int(beyond)) == 0)

    def inverse(self) -> InverseKinematics:
        """All joints and bodies at the poses x (..., nx): `inverse_kinematics` there."""
        return inverse_kinematics(self.robot, self.x)


def forward_kinematics(
    robot: Robot, q: Any, guess: Any = None, *, follow: bool = False, assemblies: bool = False
) -> ForwardKinematics:
    """Find the pose of the nacelle from the coordinates of the actuators.

    Args:
        robot: the robot.
        q: coordinates of the actuators (..., actuators), rad or m, in their order.
        guess: poses (..., nx) or one pose (nx,) to start from; the reference pose if None.
        follow: whether the samples, in order, are a path: each starts from the solution before it.
        assemblies: whether to search for all poses that belong to the coordinates: by iteration from many
            seeded starts, so all that were found, not proven to be all there are.

    Raises:
        KinematicsError: if shapes are wrong, or a single sample is not finite.
        UnreachableError: if a single sample belongs to no pose that was found; in a batch it is flagged.
    """
    count = len(robot.actuators)
    wanted = np.array(q, dtype=float)
    if wanted.shape[-1:] != (count,):
        names = ", ".join(actuator.name for actuator in robot.actuators)
        raise KinematicsError(
            f"{robot.name} has {count} actuators ({names}), so q has the shape (..., {count}), got "
            f"{wanted.shape}"
        )
    mechanism = mechanism_of(robot)
    batch = wanted.shape[:-1]
    rows = wanted.reshape(-1, count)
    valid = np.all(np.isfinite(rows), axis=1)
    if not batch and not valid[0]:
        bad = [a.name for a, value in zip(robot.actuators, rows[0], strict=True) if not np.isfinite(value)]
        raise KinematicsError(f"{robot.name}: {', '.join(bad)} not finite")
    flags = np.where(valid, 0, int(Flag.INVALID))
    x = np.full((len(rows), mechanism.layout.nx), np.nan)
    iterations = np.zeros(len(rows), dtype=np.int64)
    if guess is None and applies(mechanism):
        outputs = native(sphere_forward, robot)(rows)
        with np.errstate(invalid="ignore"):
            met = valid & (outputs["margin"] >= 0.0)
            flags |= np.where(met & (outputs["margin"] < _NEAR_MARGIN), int(Flag.NEAR_SINGULAR), 0)
        x[met] = outputs["x"][met]
        flags |= np.where(met | ~valid, 0, int(Flag.UNREACHABLE))
        # Spheres meet on both sides of a leg's own singularity.
        flags[met] |= np.where(_same_modes(mechanism, x[met], rows[met]), 0, int(Flag.OTHER_BRANCH))
    else:
        starts = None if guess is None else checked_poses(robot, guess)[0]
        if starts is not None:
            starts = broadcast_guess(starts, (*batch, mechanism.layout.nx)).reshape(-1, mechanism.layout.nx)[
                valid
            ]
        search = search_of(mechanism)
        x[valid], iterations[valid], flags[valid] = search.find(rows[valid], starts, follow)
    met = (flags & int(Flag.INVALID | Flag.UNREACHABLE)) == 0
    flags |= np.where(met & actuator_outside(robot, read_actuators(robot, rows)), int(Flag.OUT_OF_LIMITS), 0)
    every = None
    if assemblies:
        every = np.empty(len(rows), dtype=object)
        every[:] = assemblies_of(search_of(mechanism), rows, np.where(met[:, None], x, np.nan))
        every = every.reshape(batch)[()]
    if not batch and not met[0]:
        place = ", ".join(f"{value:.6g}" for value in rows[0])
        raise UnreachableError(
            f"{robot.name}: no pose was found for the actuators at [{place}]; give a guess nearer to it, or "
            "check the coordinates"
        )
    return ForwardKinematics(
        robot,
        wanted,
        x.reshape(*batch, mechanism.layout.nx),
        iterations.reshape(batch),
        flags.reshape(batch),
        every,
    )


def _same_modes(mechanism: Mechanism, x: Array, q: Array) -> Array:
    """Whether legs in closed form are on the side of their singularities that the reference is on (N,)."""
    outputs = native(kinematic_model.actuator_positions, mechanism.robot)(x, np.zeros((len(x), 0)))
    off = outputs["q"] - unwound(mechanism.robot, q, outputs["q"])
    with np.errstate(invalid="ignore"):
        # At its singularity a leg's coordinate is known to the root of rounding.
        return np.asarray(np.all(np.abs(off) <= _SAME * actuator_scales(mechanism.robot), axis=1))
