"""MuJoCo Warp on the processor, in single precision, from the MJCF; otherwise as mujoco.py.

solref = (0.02, 1) and solimp 0.999: stiffer loops lose digits in single precision. Tolerance 1e-8. Steps:
RK4. Forces and energies are not compared: they come from the model of MuJoCo itself.
"""

import mujoco as mj
import mujoco_warp as mjw
import numpy as np
import warp as wp
from engines.mujoco import Adapter as Mujoco

wp.config.quiet = True


class Adapter(Mujoco):
    packages = ("mujoco-warp", "warp-lang")
    single = True
    forces = energies = property()

    def build(self):
        super().build()
        self.model.opt.tolerance = 1e-8
        self.model.eq_solref[:], self.model.eq_solimp[:, :2] = (0.02, 1.0), 0.999
        mj.mj_forward(self.model, self.data)
        with wp.ScopedDevice("cpu"):
            self.warp_model = mjw.put_model(self.model)
            self.warp_data = mjw.put_data(self.model, self.data)

    def upload(self):
        d = self.warp_data
        for name in ("qpos", "qvel", "qfrc_applied", "qacc_warmstart"):
            getattr(d, name).assign(np.array(getattr(self.data, name), dtype=np.float32)[None])

    def accelerations(self, q, v, tau):
        self.set(q, v, tau)
        self.upload()
        mjw.forward(self.warp_model, self.warp_data)
        return self.warp_data.qacc.numpy()[0][self.v_index].astype(float)

    def start(self, q, v):
        self.set(q, v)
        self.upload()

    def step(self):
        if self.joint_forces.has_friction:
            force = np.zeros(self.model.nv, dtype=np.float32)
            force[self.v_index] = self.coulomb(self.warp_data.qvel.numpy()[0][self.v_index])
            self.warp_data.qfrc_applied.assign(force[None])
        mjw.step(self.warp_model, self.warp_data)

    def bodies(self):
        q, v = self.warp_data.qpos.numpy()[0], self.warp_data.qvel.numpy()[0]
        return self.tree_bodies(q[self.q_index].astype(float), v[self.v_index].astype(float))
