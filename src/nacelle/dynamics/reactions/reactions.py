"""Reactions: the force and moment that every joint transmits.

Cut free, body b is in balance if the joints that end on it give it what its motion requires:

    sum over its joints of +-W_j = w_b          w_b = inertia less weight less external wrenches, [f; n] (6,)

W_j acts from the joint's predecessor on its successor. Along the free axes of a joint W_j has the efforts of
actuator, friction, spring and rotor alone; the other components are unknowns
(`nacelle.dynamics.reactions.equations`). Where closures are overconstrained the wrenches hold inner stress
that depends on tolerances and stiffness, not on the load; of all solutions the one is given whose sum of
|f|^2 + |n|^2 / size^2 over all joints is least. N and N m, in the joint's frame on its predecessor.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from nacelle.dynamics.external import wrenches_on_bodies
from nacelle.dynamics.operating_point import OperatingPoint, operating_point
from nacelle.dynamics.reactions.equations import reaction_terms
from nacelle.dynamics.reactions.solve import determination, sample_size, transmitted
from nacelle.dynamics.settings import Settings
from nacelle.errors import KinematicsError, SingularError
from nacelle.kinematics.flags import Flag, failed
from nacelle.kinematics.native import native
from nacelle.kinematics.pose_input import checked_rates
from nacelle.model.robot import Robot
from nacelle.pictures import Drawn
from nacelle.spatial.scalar import Array

# Ratios of singular values: below the first a singularity of the constraints is near, below the second met.
_NEAR = 1e-6
_MET = 1e-11
# Given forces and a given acceleration may differ by this, m/s^2 or rad/s^2, or this part of the largest.
_AGREE = 1e-6
# Numbers that one block of samples may hold: 32 MiB.
_BLOCK = 1 << 22


@dataclass(frozen=True, eq=False, repr=False)
class Reactions(Drawn):
    """What the joints transmit.

    Attributes:
        robot: the robot.
        wrench: [f; n] (..., joints, 6) from predecessor to successor, N and N m, in the joint's frame on the
            predecessor: its axes, moments about its origin. Actuator, friction, spring and rotor are in it.
        force: forces of the actuators (..., actuators) that go with it.
        determined: for every joint and component (joints, 6) whether the balance determines it, at generic
            poses; the others hold inner stress, and their least-norm value.
        redundancy: number of independent inner stresses; 0 unless closures are overconstrained.
        unbalanced: what is left of the balance (...), N, moments over the robot's size: rounding, unless
            friction or a load drives an idle spin, which is then held by a moment about the rod's axis.
        flags: for every state what was found (`Flag`).
    """

    robot: Robot
    wrench: Array
    force: Array
    determined: Array
    redundancy: int
    unbalanced: Array
    flags: Array

    def joint(self, name: str) -> Array:
        """Wrench [f; n] (..., 6) in a joint by name."""
        return np.asarray(self.wrench[..., self.robot.joint(name), :])


def joint_reactions(
    robot: Robot,
    x: Any,
    v: Any = None,
    a: Any = None,
    *,
    external: Mapping[str, Any] | None = None,
    friction: bool = True,
    smooth: float | None = None,
    force: Any = None,
    guess: Any = None,
) -> Reactions:
    """Find the force and moment that every joint transmits in a motion.

    Joints are those of the tree, closures, and joints of a point nacelle. At a point, each leg's force goes
    through its joint with the point, and a joint between two legs there transmits moments only.

    Args:
        robot: the robot.
        x: reduced poses (..., nx).
        v: reduced twists (..., n); zero if None.
        a: their derivatives (..., n); if None zero, or with `force` given what the forces make of it. Motions
            that nothing drives accelerate as the dynamics have it, whatever is given.
        external: wrenches on bodies, as in `inverse_dynamics`.
        friction: whether friction counts.
        smooth: rate (rad/s, m/s) over which Coulomb friction changes its sign smoothly; at once if None.
        force: forces of the actuators (..., actuators); those of `inverse_dynamics` if None.
        guess: solutions near by, as in `inverse_dynamics`.

    Raises:
        KinematicsError: if shapes or names are wrong, a single state is not finite, or forces and
            acceleration are given and do not belong together.
        UnreachableError: if a single pose is out of reach; in a batch it is flagged, with NaN.
        SingularError: if a single pose is singular; in a batch it is flagged, with NaN.
    """
    settings = Settings(friction, smooth)
    given: dict[str, Any] = {"external": external, "guess": guess, **settings.options}
    point, flags = operating_point(robot, x, v, a=a, tau=force, **given)
    if force is not None and a is not None:
        _require_agreement(robot, checked_rates(robot, "the acceleration a", a), point, flags)
    batch = flags.shape
    loads = wrenches_on_bodies(robot, point.x, point.y, external)
    rows = [_rows(loads, batch, 2), *(_rows(array, batch, 1) for array in point)]
    count = int(np.prod(batch))
    generic = determination(robot)
    wrench = np.full((count, len(robot.joints), 6), np.nan)
    left, ratio = np.full(count, np.nan), np.ones(count)
    good = np.flatnonzero(~failed(flags).ravel())
    program = native(reaction_terms, robot, tuple(settings.options.items()))
    step = max(1, _BLOCK // sample_size(robot))
    for start in range(0, len(good), step):
        part = good[start : start + step]
        terms = program(*(row[part] for row in rows))
        wrench[part], left[part], ratio[part] = transmitted(robot, terms)
    met, near = (ratio <= _MET).reshape(batch), (ratio < _NEAR).reshape(batch)
    if not batch and met:
        raise SingularError(
            f"{robot.name}: the closures are singular in this pose, so reactions are not determined",
            "constraint",
        )
    flags = flags | np.where(met, int(Flag.SINGULAR), np.where(near, int(Flag.NEAR_SINGULAR), 0))
    wrench[ratio <= _MET] = np.nan
    return Reactions(
        robot,
        wrench.reshape(*batch, *wrench.shape[1:]),
        np.broadcast_to(point.tau, (*batch, len(robot.actuators))),
        generic.determined,
        generic.redundancy,
        left.reshape(batch),
        flags,
    )


def _require_agreement(robot: Robot, given: Array, point: OperatingPoint, flags: Array) -> None:
    """Check that a given acceleration (..., n) is that of the given forces.

    Raises:
        KinematicsError: if it is not.
    """
    scale = np.maximum(1.0, np.max(np.abs(given), initial=0.0))
    try:
        off = np.abs(given - point.a)
    except ValueError:
        raise KinematicsError(
            f"the acceleration {given.shape} and the forces {point.tau.shape} do not broadcast"
        ) from None
    if np.any(off[~failed(flags)] > _AGREE * scale):
        raise KinematicsError(
            f"{robot.name}: the forces give another acceleration than a; leave one of them out"
        )


def _rows(array: Array, batch: tuple[int, ...], own: int) -> Array:
    """An array as rows, one a sample; `own` dimensions at the end belong to a row."""
    shape = array.shape[array.ndim - own :]
    return np.broadcast_to(array, (*batch, *shape)).reshape(int(np.prod(batch)), *shape)
