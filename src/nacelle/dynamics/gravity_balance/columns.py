"""What springs along chosen axes and counterweights at chosen places do to a robot at rest.

At rest the forces that hold a robot along the reduced twist (n,) are linear in what is added:

    F = F_0 + sum over axes of c_i^T k_i (q_i - q_0i) + sum over places of m_j w_j

F_0 is the robot as it is, gravity and its own springs. q_i is the coordinate of an axis (rad or m) and c_i
(n,) its rate over the reduced twist, q_i' = c_i v, so a spring k_i (q_i - q_0i) requires c_i^T times it by
equal power. A mass of 1 kg at a place t of a body requires w_j = -(J_b U)^T [g; (R t) x g], g (3,) gravity in
base axes, J_b U (6, n) the twist of the body's origin over v. J_r^-1 = A (actuators, n) takes F to the
actuators: A^T Gamma = F.
"""

from __future__ import annotations

import numpy as np

from nacelle.dynamics.external import wrenches_along_twist
from nacelle.dynamics.formulations.tree import generalised_force
from nacelle.dynamics.joint_effort import rate_rows
from nacelle.dynamics.settings import Settings
from nacelle.dynamics.state import state_at_rest
from nacelle.kinematics.actuation import actuator_rows
from nacelle.kinematics.shapes import of_pose, of_unknowns
from nacelle.model.robot import Robot
from nacelle.spatial.physics import physics
from nacelle.spatial.scalar import Array, cross, pack


@physics(x=of_pose, y=of_unknowns)
def balance_columns(
    robot: Robot,
    x: Array,
    y: Array,
    *,
    axes: tuple[tuple[int, int], ...] = (),
    places: tuple[tuple[int, float, float, float], ...] = (),
) -> dict[str, Array]:
    """Coordinates of the axes (k,), their rates over the reduced twist (k, n), and what has to be held.

    Held along the reduced twist are the robot as it is (n,), and a kilogram at each of the places
    (places, n), given by body and point in its frame. J_r^-1 (actuators, n) is beside.
    """
    state = state_at_rest(robot, x, y)
    motion, n = state.now.motion, robot.motion.n
    rates = [rate_rows(robot, motion, joint)[number][0] @ state.moving.U for joint, number in axes]
    g = np.asarray(robot.gravity)
    weights = []
    for body, *place in places:
        arm = motion.poses[body].R @ np.array(place)
        weights.append(-wrenches_along_twist(state, {body: pack([*g, *cross(arm, g)])}))
    return {
        "q": pack([state.now.coordinate(joint, number) for joint, number in axes]),
        "rate": np.stack(rates) if rates else np.zeros((0, n)),
        "held": generalised_force(state, np.zeros(n), Settings(friction=False)),
        "weight": np.stack(weights) if weights else np.zeros((0, n)),
        "A": actuator_rows(robot, motion) @ state.moving.U,
    }
