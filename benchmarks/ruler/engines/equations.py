"""The ruler's own equations in double precision, dense and without an engine: what double precision allows.

Steps: the classical Runge-Kutta method of fourth order, then coordinates and rates are projected onto the loops.
"""

import numpy as np
from engine import STEP, Engine, consistent_forces, runge_kutta


class Adapter(Engine):
    packages = ("numpy",)

    def accelerations(self, q, v, tau):
        return self.mechanism.accelerations(q, v, tau)

    def forces(self, q, v, a):
        state = self.mechanism.state(q, v)
        needed = state.M @ a + state.h - self.mechanism.joint_forces(q, v)
        return consistent_forces(needed, state.A[state.rows], self.drives)

    def energies(self, q, v):
        return self.mechanism.energies(q, v)

    def start(self, q, v):
        self.q, self.v = q, v

    def step(self):
        none = np.zeros(len(self.drives))
        q, v = runge_kutta(lambda q, v: self.accelerations(q, v, none), self.q, self.v, STEP)
        self.q = self.mechanism.close(q)
        self.v = self.mechanism.compatible(self.q, v)

    def bodies(self):
        return self.tree_bodies(self.q, self.v)
