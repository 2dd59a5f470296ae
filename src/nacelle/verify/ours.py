"""What nacelle says of random states, through the functions that users call."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nacelle.dynamics.forward import (
    dissipation,
    forward_dynamics,
    kinetic_energy,
    mass_matrix,
    potential_energy,
)
from nacelle.dynamics.inverse import inverse_dynamics
from nacelle.dynamics.jacobian import jacobian
from nacelle.errors import SingularError
from nacelle.kinematics.jacobian import joint_jacobian, platform_jacobian
from nacelle.kinematics.motion import body_motion, joint_motion
from nacelle.kinematics.solve.inverse import inverse_kinematics
from nacelle.kinematics.underactuated import undriven_coordinates
from nacelle.model.leg import PLATFORM
from nacelle.model.robot import Robot
from nacelle.spatial.pose import Pose
from nacelle.spatial.scalar import Array
from nacelle.verify.engine import TreeState
from nacelle.verify.states import RandomStates


@dataclass(frozen=True, eq=False)
class Kinematics:
    """Kinematics of all states; the first dimension is the state.

    Attributes:
        R: orientations of bodies.
        p: origins of bodies.
        twist: their twists.
        acceleration: their accelerations.
        q_tree: coordinates of the tree's joints.
        u: rates of the tree.
        u_dot: their derivatives.
        U: rates of the tree from the reduced twist.
        A: rates of the actuators from the reduced twist.
        actuators: coordinates, rates and accelerations of the actuators.
    """

    R: Array
    p: Array
    twist: Array
    acceleration: Array
    q_tree: Array
    u: Array
    u_dot: Array
    U: Array
    A: Array
    actuators: tuple[Array, Array, Array]

    def tree_state(self, k: int, states: RandomStates) -> TreeState:
        """The state of the tree at state number k."""
        platform = Pose(self.R[k, PLATFORM], self.p[k, PLATFORM])
        return TreeState(platform, self.q_tree[k], self.u[k], self.u_dot[k], states.external[k])


def compute_kinematics(robot: Robot, states: RandomStates) -> Kinematics:
    """All positions, rates and accelerations."""
    x, v, a = states.x, states.v, states.a
    bodies = inverse_kinematics(robot, x).bodies
    bodies_motion = body_motion(robot, x, v, a)
    joints = joint_motion(robot, x, v, a)
    m = robot.platform_nv
    return Kinematics(
        R=bodies.R,
        p=bodies.p,
        twist=bodies_motion.twist,
        acceleration=bodies_motion.acceleration,
        q_tree=joints.q_tree,
        u=np.concatenate([bodies_motion.twist[:, PLATFORM, :m], joints.rate], axis=1),
        u_dot=np.concatenate([bodies_motion.acceleration[:, PLATFORM, :m], joints.acceleration], axis=1),
        U=np.concatenate([platform_jacobian(robot, x), joint_jacobian(robot, x)], axis=1),
        A=jacobian(robot, x).inverse,
        actuators=joints.actuators,
    )


@dataclass(frozen=True, eq=False)
class Dynamics:
    """Dynamics of all states; the first dimension is the state.

    Attributes:
        mass_matrix: along the reduced twist.
        force: of the actuators, by inverse dynamics.
        acceleration: of all coordinates then; those that nothing drives are left free.
        tau: forces of the actuators for forward dynamics.
        forward: accelerations under them.
        kinetic: kinetic energy.
        potential: potential energy.
        dissipation: power that friction takes.
    """

    mass_matrix: Array
    force: Array
    acceleration: Array
    tau: Array
    forward: Array
    kinetic: Array
    potential: Array
    dissipation: Array


def compute_dynamics(robot: Robot, states: RandomStates) -> Dynamics:
    """Forces, accelerations and energies, with friction and external wrenches on all bodies."""
    x, v, a = states.x, states.v, states.a
    names = [body.name for body in robot.bodies]
    external = {name: states.external[:, k] for k, name in enumerate(names) if k}
    inverse = inverse_dynamics(robot, x, v, a, external=external, free=undriven_coordinates(robot))
    tau = inverse.tau * states.push
    try:
        with np.errstate(all="ignore"):
            forward = forward_dynamics(robot, x, v, tau, external=external).a
    except SingularError:
        # Without inertia nothing accelerates in a way that forces determine.
        forward = np.full(np.shape(v), np.nan)
    return Dynamics(
        mass_matrix=mass_matrix(robot, x),
        force=inverse.tau,
        acceleration=a if inverse.a is None else inverse.a,
        tau=tau,
        forward=forward,
        kinetic=kinetic_energy(robot, x, v),
        potential=potential_energy(robot, x),
        dissipation=dissipation(robot, x, v),
    )
