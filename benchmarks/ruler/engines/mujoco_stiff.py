"""MuJoCo with its regularisation lowered; otherwise as mujoco.py.

MuJoCo regularises a constraint by (1 - d) / d times its diagonal, which it estimates from
`body_invweight0`; d is at most 0.9999. The model's `body_invweight0` and `dof_invweight0` are multiplied by
1e-8: so loops are a hundred million times stiffer than the documented settings allow.
"""

from engines.mujoco import Adapter as Mujoco


class Adapter(Mujoco):
    def build(self):
        super().build()
        self.model.body_invweight0[:] *= 1e-8
        self.model.dof_invweight0[:] *= 1e-8
