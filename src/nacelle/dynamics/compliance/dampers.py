"""Angular dampers between two bodies, as wrenches on them; all forces between bodies at once.

With w_1, w_2 the angular velocities of the bodies and c the damping, base axes,

    n_2 = -c (w_2 - w_1)  acts on the second body and  n_1 = -n_2  on the first, N m

and c |w_2 - w_1|^2 is the power that it takes. Dampers count as friction does.
"""

from __future__ import annotations

from dataclasses import replace

from nacelle.dynamics.compliance.line_springs import with_line_springs
from nacelle.dynamics.settings import Settings
from nacelle.dynamics.state import State
from nacelle.dynamics.wrench import Wrench
from nacelle.model.damper import Damper
from nacelle.model.leg import BASE
from nacelle.spatial.scalar import Array, Scalar, dot, pack


def relative_turn(damper: Damper, state: State) -> Array:
    """Angular velocity (3,) of the second body against the first, rad/s, base axes."""
    first, second = (state.moving.velocity.twists[body][3:] for body in damper.bodies)
    return second - first


def damper_power(damper: Damper, state: State) -> Scalar:
    """Power (W) that a damper takes."""
    w = relative_turn(damper, state)
    return damper.damping * dot(w, w)


def with_forces_between(state: State, settings: Settings) -> Settings:
    """The settings with the wrenches of springs and dampers between bodies among the external ones."""
    settings = with_line_springs(state, settings)
    if not state.robot.dampers or not settings.friction:
        return settings
    total = dict(settings.external)
    for damper in state.robot.dampers:
        w = relative_turn(damper, state)
        for body, sign in zip(damper.bodies, (1.0, -1.0), strict=True):
            if body == BASE:
                continue
            n = pack([sign * damper.damping * entry for entry in w])
            own = Wrench(pack([0.0, 0.0, 0.0]), n)
            total[body] = total[body].plus(own) if body in total else own
    return replace(settings, external=total)
