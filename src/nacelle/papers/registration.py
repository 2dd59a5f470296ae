"""What the papers add: formulations of the inverse dynamics by name, and models from measured elements.

The formulations side by side: one equation in several coordinates.

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

from nacelle.dynamics.models import MEASURED_MODELS
from nacelle.dynamics.reference import FORMULATIONS, Formulation
from nacelle.papers import bodies, jourdain, legs
from nacelle.papers.elements import projection as elements
from nacelle.papers.elements.models import model_from_elements, model_from_encoders

FORMULATIONS |= {
    "bodies": Formulation("body by body, [CB1997]", bodies.generalised_force),
    "legs": Formulation("legs and platform, [KI2007] (20)-(22)", legs.generalised_force, legs.reason_not),
    "jourdain": Formulation("Jourdain's principle with recursion, [AGH2005]", jourdain.generalised_force),
    "elements": Formulation("kinematic elements, [OAM]", elements.generalised_force, elements.reason_not),
}
NAMES = tuple(FORMULATIONS)
MEASURED_MODELS |= {"elements": model_from_elements, "encoders": model_from_encoders}
