"""An exported MJCF file in MuJoCo."""

from __future__ import annotations

import mujoco as mj
import numpy as np

from nacelle.spatial.pose import Pose
from nacelle.spatial.scalar import Array
from support.exported_files import Kinematics


class MujocoFile:
    """The compiled file."""

    def __init__(self, text: str) -> None:
        """Compile it; contacts and limits are switched off."""
        self.model = mj.MjModel.from_xml_string(text)
        model = self.model
        model.opt.jacobian = mj.mjtJacobian.mjJAC_DENSE
        model.opt.disableflags |= int(mj.mjtDisableBit.mjDSBL_CONTACT) | int(mj.mjtDisableBit.mjDSBL_LIMIT)
        self.data = mj.MjData(model)
        self.nv = model.nv
        self.names = [model.body(b).name for b in range(model.nbody)]
        self.names[0] = "base"
        self.drives = {
            model.jnt(int(model.actuator_trnid[k, 0])).name: int(model.jnt_dofadr[model.actuator_trnid[k, 0]])
            for k in range(model.nu)
        }
        self.start = np.array(model.key_qpos[0])

    def moved(self, q: Array, step: Array) -> Array:
        """Coordinates moved by a step of rates."""
        q = q.copy()
        mj.mj_integratePos(self.model, q, step, 1.0)
        return q

    def kinematics(self, q: Array, u: Array) -> Kinematics:
        """Of all bodies."""
        m, d = self.model, self.data
        d.qpos[:], d.qvel[:] = q, u
        mj.mj_kinematics(m, d)
        mj.mj_comPos(m, d)
        mj.mj_comVel(m, d)
        d.qacc[:] = 0.0
        mj.mj_rnePostConstraint(m, d)
        J, bias = np.zeros((m.nbody, 6, m.nv)), np.zeros((m.nbody, 6))
        for body in range(m.nbody):
            linear, angular = np.zeros((3, m.nv)), np.zeros((3, m.nv))
            mj.mj_jacBody(m, d, linear, angular, body)
            J[body] = np.vstack([linear, angular])
            # mj_jacDot is wrong for a ball and a slide in one body (MuJoCo 4.0).
            found = np.zeros(6)
            mj.mj_objectAcceleration(m, d, mj.mjtObj.mjOBJ_XBODY, body, found, 0)
            bias[body] = np.concatenate([found[3:] + m.opt.gravity, found[:3]])
        poses = [Pose(d.xmat[b].reshape(3, 3).copy(), d.xpos[b].copy()) for b in range(m.nbody)]
        return Kinematics(poses, J, bias)

    def dynamics(self, q: Array, u: Array) -> tuple[Array, Array, Array]:
        """Mass matrix, forces at constant rates, rows of the equalities."""
        m, d = self.model, self.data
        d.qpos[:], d.qvel[:] = q, u
        mj.mj_forward(m, d)
        M = np.zeros((m.nv, m.nv))
        mj.mj_fullM(m, d, M)
        # Coulomb friction is a constraint there.
        constant = np.array(d.qfrc_bias) - d.qfrc_passive + m.dof_frictionloss * np.sign(u)
        rows = np.array(d.efc_J).reshape(-1, m.nv)[: int(d.ne)]
        return M, constant, rows
