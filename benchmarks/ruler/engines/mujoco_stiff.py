"""MuJoCo with its regularisation lowered; otherwise as mujoco.py.

MuJoCo regularises a constraint by (1 - d) / d times its diagonal, which it estimates from
`body_invweight0`; d is at most 0.9999. Here the model's fields `body_invweight0` and `dof_invweight0` are
multiplied by 1e-10: no documented setting makes loops as stiff. Tolerance 0 and 20 iterations: with 1e-15
the last digits are lost.
"""

from engines.mujoco import Adapter as Mujoco


class Adapter(Mujoco):
    def build(self):
        super().build()
        self.model.body_invweight0[:] *= 1e-10
        self.model.dof_invweight0[:] *= 1e-10
        self.model.opt.tolerance, self.model.opt.iterations = 0.0, 20
