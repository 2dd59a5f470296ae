"""Closed configurations near the reference pose, at random: where ranks are those of a generic pose.

From a closed configuration (pose, q) the independent coordinates are moved at random by 0.4 to 1 of a reach
(over the robot's size, rad), all other rates a little (1e-2), and Newton's iteration closes the loops again:
first the legs with the nacelle held, then all joints. The reference pose itself may be special, and there the
Jacobian J (rows, rates) of the closures may have less rank than at a generic pose. Matrices count without
units: J_ik s_k / z_i with s_k the scale of a rate and z_i that of a row.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from nacelle.kinematics.mechanism.assembly import (
    Assembly,
    advance,
    held_rates,
    motion_scale,
    rate_scale,
    row_scale,
    solve_closures,
)
from nacelle.kinematics.tree.closure import ClosureState
from nacelle.kinematics.tree.spanning_tree import TreeMotion, rates_of
from nacelle.model.robot import Robot
from nacelle.spatial.pose import Pose
from nacelle.spatial.scalar import Array

_POSES = 3


def scaled_closures(robot: Robot, state: ClosureState) -> Array:
    """Jacobian of the closures (rows, rates) without units, lengths over the robot's size: J_ik s_k / z_i."""
    return state.jacobian / row_scale(robot)[:, None] * rate_scale(robot)


@lru_cache(maxsize=64)
def generic_poses(robot: Robot, start: Assembly) -> tuple[tuple[TreeMotion, ClosureState], ...]:
    """A few closed configurations near the reference, moved along the independent coordinates."""
    rng = np.random.default_rng(1)
    result: list[tuple[TreeMotion, ClosureState]] = []
    for reach in (0.07, 0.03, 0.01, 0.003):
        if len(result) >= _POSES:
            break
        closed = closed_near(robot, start, reach, rng)
        if closed is not None:
            result.append(closed[2:])
    return tuple(result)


def closed_near(
    robot: Robot, start: Assembly, reach: float, rng: np.random.Generator
) -> tuple[Pose, Array, TreeMotion, ClosureState] | None:
    """A closed configuration, moved at random along the independent coordinates; None if there is none.

    Args:
        robot: the robot.
        start: a closed configuration, and its branch.
        reach: how far it is moved along each coordinate at most, over the robot's size or in rad.
        rng: random numbers.
    """
    held, scale = held_rates(robot), motion_scale(robot)
    nacelle = held.copy()
    nacelle[nacelle_rates(robot)] = True
    step = np.where(held, rng.uniform(0.4, 1.0, held.size) * rng.choice([-1, 1], held.size), 0.0)
    # Idle motions and passive joints are shaken too: a special posture of theirs must not count.
    shake = np.where(nacelle, 0.0, 1e-2 * rng.normal(size=held.size))
    pose, q = advance(robot, start.platform, start.q, (reach * step + shake) * scale)
    # The legs come to the nacelle before it comes to them, so that the loops stay in the assembly of the
    # reference pose.
    pose, q, _, _ = solve_closures(robot, pose, q, nacelle, patience=1)
    pose, q, motion, state = solve_closures(robot, pose, q, held)
    if (
        np.max(np.abs(state.residual / row_scale(robot)), initial=0.0)
        < 1e-11 + 8.0 * robot.coordinate_rounding
    ):
        return pose, q, motion, state
    return None


def nacelle_rates(robot: Robot) -> Array:
    """Places in u (nw,) of the rates that move the nacelle: the platform's and those of its own joints."""
    return np.array([*range(robot.platform_nv), *rates_of(robot, robot.nacelle.joints)])
