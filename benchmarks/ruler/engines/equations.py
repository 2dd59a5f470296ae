"""The ruler's own equations in double precision, dense: how many digits double precision allows."""

from engine import Engine, consistent_forces


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
