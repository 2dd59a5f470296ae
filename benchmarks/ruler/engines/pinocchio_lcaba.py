"""Pinocchio's lcaba, the loop-constrained articulated body algorithm; otherwise as pinocchio.py.

Proximal settings: mu 1e-3, accuracy 1e-15 absolute and relative, at most 200 iterations; smaller mu lose
digits, larger ones do not converge for all robots. Steps: no Baumgarte corrector. In 4.1.0 lcaba ignores it
for point constraints, and for frames it is left out in every second call with the same `Data`, so that
motions grow without bound.
"""

import pinocchio as pin
from engines.pinocchio import Adapter as ConstraintDynamics


class Adapter(ConstraintDynamics):
    def build(self):
        super().build()
        pin.computeJointMinimalOrdering(self.model, self.data, self.loops)
        self.settings = pin.ProximalSettings(1e-15, 1e-15, 1e-3, 200)

    def dynamics(self, q, v, tau):
        return pin.lcaba(self.model, self.data, q, v, tau, self.loops, self.contents, self.settings)

    def start(self, q, v):
        self.q, self.v = q, v
