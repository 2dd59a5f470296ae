"""The flow of a robot with flexible links: the derivative of its state s = [p; y].

Positions p (size,) follow all rates, which follow the independent ones y (n,), the actuators' first:

    p' = P(p) r,   r = J(p) y
    M y' + c = [tau; 0],   or with prescribed motion  M_ee z' = -(M_ea a + c_e)  of the other rates z

P turns rates to changes of coordinates (quaternions). Inputs u (actuators,) are the actuators' forces tau, N
or N m, or their accelerations a (prescribed motion). Loops are closed at every evaluation by one of Newton's
steps from positions that were integrated, so that what is left open is the square of the integration's error.
"""

from __future__ import annotations

from typing import Any

from nacelle.elastic.dynamics import positions
from nacelle.elastic.dynamics.equations import loop_step, posed, reduced_motion
from nacelle.elastic.dynamics.models import elastic_forward, elastic_inverse, of_inputs
from nacelle.elastic.dynamics.plan import rate_choice
from nacelle.model.robot import Robot
from nacelle.spatial.physics import physics
from nacelle.spatial.scalar import Array, pack


def state_size(robot: Robot) -> tuple[int]:
    """Shape of the state."""
    plan = rate_choice(robot)
    return (positions.size(plan.extended) + plan.n,)


@physics(s=state_size, u=of_inputs, constants=(1,))
def elastic_flow(
    robot: Robot, s: Array, u: Array, constants: Array, *, prescribed: bool = False, **options: Any
) -> Array:
    """Derivative of the state at inputs u (actuators,): forces, or accelerations where `prescribed`."""
    plan = rate_choice(robot)
    size = positions.size(plan.extended)
    p, y = s[:size], s[size:]
    p = positions.stepped(plan.extended, p, loop_step(posed(plan, p)))
    if prescribed:
        others = elastic_inverse(robot, p, y, u, **options)["acceleration"]
        accelerations = [*u, *others]
    else:
        accelerations = list(elastic_forward(robot, p, y, u, **options)["acceleration"])
    now = reduced_motion(posed(plan, p), y)
    return pack([*positions.rates(plan.extended, p, now.motion.r), *accelerations])
