"""All assemblies at given actuator coordinates: the poses that iteration from many seeded starts leads to.

q_a(x) = q (actuators,) has several solutions x (nx,). Newton's
iteration is started from many poses drawn with fixed seeds; those that converge and differ by more than 1e-6
(lengths over the robot's size, rad) are kept. So all poses are solutions, but nothing proves that they are
all. The sign of det J_r^-1 tells the sides of parallel singularities apart, the signs of branches the ways in
which legs and loops are folded.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nacelle.kinematics.forward.actuator_path import within_half_turn
from nacelle.kinematics.forward.search import PoseSearch, starts_of
from nacelle.kinematics.iteration.branch import branch_of, pose_units
from nacelle.kinematics.iteration.continuation import polished
from nacelle.kinematics.mechanism.mechanism import Mechanism
from nacelle.pictures import Shown
from nacelle.spatial.scalar import Array

_ITERATIONS = 160
# The longest step, in robot sizes and radians together: iteration starts anywhere, and a leg that is drawn
# out of reach ends it.
_SHORT = 0.1
# How far apart two assemblies are at least (robot sizes, rad).
_APART = 1e-6


@dataclass(frozen=True, eq=False)
class Assemblies(Shown):
    """All poses that were found for one sample of actuator coordinates.

    Attributes:
        x: reduced poses (k, nx), that of the branch of the reference first where there is one.
        signs: for each the sign of det J_r^-1 (0 for redundant actuation), then those of the branches of legs
            and loops that are found by iteration (k, 1 + branches); 1 in the reference pose.
        names: to whom the signs belong.
    """

    x: Array
    signs: Array
    names: tuple[str, ...]


def assemblies_of(search: PoseSearch, q: Array, own: Array) -> list[Assemblies]:
    """All poses that seeded starts lead to, for samples (N, actuators) with their own poses (N, nx)."""
    mechanism = search.mechanism
    names = ("parallel", *branch_of(mechanism.robot).names)
    starts = starts_of(mechanism.robot)
    angles = np.array(mechanism.layout.units) == "rad"
    result = []
    for wanted, pose in zip(q, own, strict=True):
        if not np.all(np.isfinite(wanted)):
            result.append(Assemblies(np.zeros((0, own.shape[1])), np.zeros((0, len(names))), names))
            continue
        solution = search.solver.solve(
            starts,
            wanted[None],
            tolerance=search.equations.closed,
            max_iterations=_ITERATIONS,
            max_step=_SHORT * search.equations.units,
        )
        u = solution.y[solution.status == 0]
        x, y = search.poses(polished(search.equations, u, np.broadcast_to(wanted, (len(u), wanted.size))))
        x[:, angles] = within_half_turn(x[:, angles])
        keep = _distinct(mechanism, x, y, pose)
        signs, _ = search.signs(x[keep], y[keep])
        result.append(Assemblies(x[keep], signs, names))
    return result


def _distinct(mechanism: Mechanism, x: Array, y: Array, first: Array) -> Array:
    """Indices of poses that differ, that which is nearest to `first` in front."""
    place = mechanism.layout.quaternion
    units = pose_units(mechanism)
    angles = np.array(mechanism.layout.units) == "rad"
    keep: list[int] = []
    for k in range(len(x)):
        apart = np.abs(x[keep] - x[k])
        apart[:, angles] = np.abs(within_half_turn(apart[:, angles]))
        if place is not None:
            other = np.abs(x[keep][:, place] + x[k, place])
            same = np.sum(other, axis=1) < np.sum(apart[:, place], axis=1)
            apart[same, place] = other[same]
        far = np.max(apart / units, axis=1) > _APART
        # The same pose with its legs or dependent coordinates on other branches is another assembly.
        bent = np.max(np.abs(np.sin(0.5 * (y[keep] - y[k]))), axis=1, initial=0.0) > _APART
        if np.all(far | bent):
            keep.append(k)
    if len(keep) > 1 and np.all(np.isfinite(first)):
        apart = x[keep] - first
        apart[:, angles] = within_half_turn(apart[:, angles])
        nearest = int(np.argmin(np.max(np.abs(apart) / units, axis=1)))
        keep.insert(0, keep.pop(nearest))
    return np.array(keep, dtype=int)
