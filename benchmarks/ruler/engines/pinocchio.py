"""Pinocchio's constraintDynamics, from the URDF with the loops of the description as rigid constraints.

Proximal settings: mu 1e-6, accuracy 1e-15 absolute and relative, at most 20 iterations. Accelerations: no
Baumgarte corrector. Steps: the classical Runge-Kutta method of fourth order around constraintDynamics,
corrector Kp = 1e4, Kd = 2e2 per loop. Springs and friction, which Pinocchio does not have, are added to the
joint forces; rotors are `armature`. Forces: rnea, with the Jacobian of the constraints.
"""

import numpy as np
import pinocchio as pin
from engine import STEP, Engine, consistent_forces, runge_kutta

KP, KD, MU = 1e4, 2e2, 1e-6


class Adapter(Engine):
    packages = ("pin",)

    def build(self):
        self.model = m = pin.buildModelFromUrdf(str(self.files[".urdf"]))
        self.index = [m.joints[m.getJointId(name)].idx_v for name in self.joints]
        # A joint without limits is a point on a circle in Pinocchio.
        self.circles = [m.joints[m.getJointId(name)].nq == 2 for name in self.joints]
        self.q_index = [m.joints[m.getJointId(name)].idx_q for name in self.joints]
        m.gravity.linear = np.array(self.robot["gravity"])
        m.armature[self.index] = self.mechanism.column("armature")
        self.data = m.createData()
        self.loops = pin.StdVec_RigidConstraintModel()
        for loop in self.robot["loops"]:
            kind = pin.ContactType.CONTACT_6D if loop["kind"] == "weld" else pin.ContactType.CONTACT_3D
            ends = [self.end(loop["parent"], loop["at"]), self.end(loop["child"], loop["child_at"])]
            self.loops.append(pin.RigidConstraintModel(kind, m, *ends[0], *ends[1], pin.LOCAL))
        self.contents = pin.StdVec_RigidConstraintData([loop.createData() for loop in self.loops])
        pin.initConstraintDynamics(m, self.data, self.loops, self.contents)

    def end(self, body, at):
        frame = self.model.frames[self.model.getFrameId(body, pin.BODY)]
        # The link's frame is in the joint; the body's is moved by the joint's place on it.
        shift = np.zeros(3) if body == "base" else -self.mechanism.on_child(body).p
        local = pin.SE3(pin.Quaternion(*np.roll(at["quat_xyzw"], 1)), np.array(at["p"]) + shift)
        return frame.parentJoint, frame.placement * local

    def set_corrector(self, kp, kd):
        for loop in self.loops:
            corrector = loop.m_baumgarte_parameters
            corrector.Kp, corrector.Kd = kp, kd

    def coordinates(self, q):
        full = np.zeros(self.model.nq)
        for angle, k, circle in zip(q, self.q_index, self.circles, strict=True):
            full[k : k + 1 + circle] = (np.cos(angle), np.sin(angle)) if circle else angle
        return full

    def permuted(self, values):
        full = np.zeros(self.model.nv)
        full[self.index] = values
        return full

    def dynamics(self, q, v, tau):
        settings = pin.ProximalSettings(1e-15, 1e-15, MU, 20)
        return pin.constraintDynamics(self.model, self.data, q, v, tau, self.loops, self.contents, settings)

    def accelerations(self, q, v, tau=None):
        force = self.joint_forces(q, v) + (0.0 if tau is None else self.drive_vector(tau))
        return self.dynamics(self.coordinates(q), self.permuted(v), self.permuted(force))[self.index]

    def forces(self, q, v, a):
        full = self.coordinates(q)
        needed = pin.rnea(self.model, self.data, full, self.permuted(v), self.permuted(a))[self.index]
        pin.computeJointJacobians(self.model, self.data, full)
        A = []
        for loop, content in zip(self.loops, self.contents, strict=True):
            loop.calc(self.model, self.data, content)
            A.append(pin.getConstraintJacobian(self.model, self.data, loop, content)[:, self.index])
        A = np.concatenate(A)
        return consistent_forces(needed - self.joint_forces(q, v), A, self.drives)

    def energies(self, q, v):
        full, law = self.coordinates(q), self.joint_forces
        kinetic = pin.computeKineticEnergy(self.model, self.data, full, self.permuted(v))
        springs = law.stiffness @ (q - law.rest) ** 2 / 2.0
        return kinetic, pin.computePotentialEnergy(self.model, self.data, full) + springs

    def start(self, q, v):
        self.set_corrector(KP, KD)
        self.q, self.v = q, v

    def step(self):
        self.q, self.v = runge_kutta(self.accelerations, self.q, self.v, STEP)

    def bodies(self):
        return self.tree_bodies(self.q, self.v)
