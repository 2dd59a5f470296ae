"""MuJoCo, from the MJCF.

Loops are `connect` and `weld` equalities with solref = (2 dt, 1), the shortest time constant that MuJoCo
admits for a step (`refsafe`), and solimp 0.9999 at every distance, the stiffest impedance. Newton's solver,
dense Jacobian, tolerance 1e-15, at most 100 iterations, contacts off. Steps: RK4. Springs, viscous friction
and rotors are MuJoCo's; smooth Coulomb friction, which MuJoCo does not have, is applied as a force. Forces:
mass matrix and bias of MuJoCo, with the rows of its equalities.
"""

import mujoco as mj
import numpy as np
from engine import STEP, Engine, consistent_forces


class Adapter(Engine):
    packages = ("mujoco",)

    def build(self):
        self.model = m = mj.MjModel.from_xml_path(str(self.files[".xml"]))
        m.opt.timestep, m.opt.integrator = STEP, mj.mjtIntegrator.mjINT_RK4
        m.opt.solver, m.opt.jacobian = mj.mjtSolver.mjSOL_NEWTON, mj.mjtJacobian.mjJAC_DENSE
        m.opt.tolerance, m.opt.iterations, m.opt.ls_iterations, m.opt.ls_tolerance = 1e-15, 100, 50, 1e-10
        m.opt.disableflags |= mj.mjtDisableBit.mjDSBL_CONTACT
        m.opt.enableflags |= mj.mjtEnableBit.mjENBL_ENERGY
        m.eq_solref[:], m.eq_solimp[:] = (2 * STEP, 1.0), (0.9999, 0.9999, 1e-3, 0.5, 2.0)
        # Coulomb friction is applied as a force instead.
        m.dof_frictionloss[:] = 0.0
        self.data = mj.MjData(m)
        self.q_index = [m.jnt_qposadr[m.joint(name).id] for name in self.joints]
        self.v_index = [m.jnt_dofadr[m.joint(name).id] for name in self.joints]

    def set(self, q, v, tau=0.0):
        d = self.data
        d.qpos[self.q_index], d.qvel[self.v_index] = q, v
        d.qacc_warmstart[:] = 0.0
        d.qfrc_applied[self.v_index] = self.drive_vector(tau) + self.coulomb(v)

    def coulomb(self, v):
        law = self.joint_forces
        return -law.coulomb * np.tanh(v / law.smooth)

    def accelerations(self, q, v, tau):
        self.set(q, v, tau)
        mj.mj_forward(self.model, self.data)
        return self.data.qacc[self.v_index]

    def forces(self, q, v, a):
        m, d = self.model, self.data
        self.set(q, v)
        mj.mj_forward(m, d)
        d.qacc[self.v_index] = a
        needed = np.zeros(m.nv)
        mj.mj_mulM(m, d, needed, d.qacc)
        needed += d.qfrc_bias - d.qfrc_passive - d.qfrc_applied
        A = d.efc_J.reshape(-1, m.nv)[d.efc_type == mj.mjtConstraint.mjCNSTR_EQUALITY]
        return consistent_forces(needed, A, np.array(self.v_index)[self.drives])

    def energies(self, q, v):
        self.set(q, v)
        mj.mj_forward(self.model, self.data)
        potential, kinetic = self.data.energy
        return kinetic, potential

    def start(self, q, v):
        self.set(q, v)

    def step(self):
        if self.joint_forces.has_friction:
            self.data.qfrc_applied[self.v_index] = self.coulomb(self.data.qvel[self.v_index])
        mj.mj_step(self.model, self.data)

    def bodies(self):
        return self.tree_bodies(self.data.qpos[self.q_index], self.data.qvel[self.v_index])
