"""The formulations side by side: one equation in several coordinates.

All give the force along the reduced twist, F(x, v, dv/dt) (n,), N or N m, with J_r^-T Gamma = F. They differ
in the motion that they take from the kinematics and in the directions along which they project the bodies'
wrenches:

    tree       F = U^T Gamma_tr, rates of the equivalent tree               [KI2007] (1)
    bodies     F = sum J_b^T w_b, twists of the bodies                      [CB1997] (33)
    legs       F = S^T (F_p + sum J_vi^T J_i^-T H_i), legs and platform     [KI2007] (20)
    jourdain   F = sum J_T^T f + J_R^T n, each in the body's own axes       [AGH2005] (14)
    elements   F = sum M^T F_u, directions, lengths and spins of elements   [OAM] (56), (58)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from nacelle.dynamics.formulations import bodies, jourdain, legs, tree
from nacelle.dynamics.formulations.elements import projection as elements
from nacelle.dynamics.settings import Settings
from nacelle.dynamics.state import State
from nacelle.errors import KinematicsError, did_you_mean
from nacelle.kinematics.mechanism.mechanism import Mechanism
from nacelle.spatial.scalar import Array


class Formulation(NamedTuple):
    """A formulation: its source, its force, and why it does not support a robot (empty if it does)."""

    source: str
    generalised_force: Callable[[State, Array, Settings], Array]
    reason_not: Callable[[Mechanism], str] = lambda _: ""


FORMULATIONS = {
    "tree": Formulation("projection of the equivalent tree, [KI2007] (1)", tree.generalised_force),
    "bodies": Formulation("body by body, [CB1997]", bodies.generalised_force),
    "legs": Formulation("legs and platform, [KI2007] (20)-(22)", legs.generalised_force, legs.reason_not),
    "jourdain": Formulation("Jourdain's principle with recursion, [AGH2005]", jourdain.generalised_force),
    "elements": Formulation("kinematic elements, [OAM]", elements.generalised_force, elements.reason_not),
}
NAMES = tuple(FORMULATIONS)


def supported(name: str, mechanism: Mechanism) -> Formulation:
    """A formulation by name, for a robot.

    Raises:
        KinematicsError: if there is none of that name, or it does not support the robot.
    """
    if name not in FORMULATIONS:
        raise KinematicsError(
            f"no formulation is called {name!r}; {did_you_mean(name, ('auto', 'compact', *NAMES))}"
        )
    reason = FORMULATIONS[name].reason_not(mechanism)
    if reason:
        raise KinematicsError(f"the formulation {name!r} does not support {mechanism.robot.name}: {reason}")
    return FORMULATIONS[name]
