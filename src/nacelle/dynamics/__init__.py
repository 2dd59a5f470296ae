"""Rigid-body dynamics: forces from motion, motion from forces, and what follows from both.

    tau = nacelle.inverse_dynamics(robot, x, v, a).tau
    a = nacelle.forward_dynamics(robot, x, v, tau).a
    M = nacelle.mass_matrix(robot, x)
    loads = nacelle.dynamics.joint_reactions(robot, x, v, a)  # every bearing
    system = nacelle.dynamics.linearise(robot, x)  # poles about an equilibrium
    model = nacelle.dynamics.model(robot, "inverse_dynamics")  # the straight-line program itself

Friction of every joint, springs, payloads and external wrenches are included. Forces in N, torques in N m.
"""

from nacelle.lazy import attach

attach(__name__)
