"""The formulations of the papers, each as its paper writes it, and element states.

    tau = nacelle.inverse_dynamics(robot, x, v, a, formulation="jourdain").tau
    state = nacelle.papers.element_state(robot, x, v, a)  # directions, lengths and angles of the elements

`FORMULATIONS` lists the names that `inverse_dynamics` takes. All of them agree to rounding.
"""

from nacelle.lazy import attach

attach(__name__)
