"""Bullet's Featherstone multi-bodies through PyBullet, from the URDF.

Loops are `createConstraint` with JOINT_POINT2POINT and JOINT_FIXED, force 1e8. Bullet only steps:
frequencies are of velocities after one step from rest. Steps: semi-implicit Euler, 1000 solver iterations,
residual threshold 0, damping and sleeping off, erp 0.2. Springs and friction, which Bullet does not have,
are applied as joint forces.
"""

from xml.etree import ElementTree

import numpy as np
import pybullet as pb
from engine import STEP, Engine


class Adapter(Engine):
    packages = ("pybullet",)

    def build(self):
        self.refuse(armature="no rotor inertia", massless="no massless bodies")
        pb.connect(pb.DIRECT) if not pb.isConnected() else pb.resetSimulation()
        pb.setGravity(*self.robot["gravity"])
        pb.setPhysicsEngineParameter(
            fixedTimeStep=STEP, numSolverIterations=1000, solverResidualThreshold=0.0, erp=0.2, numSubSteps=0
        )
        flags = pb.URDF_USE_INERTIA_FROM_FILE | pb.URDF_MAINTAIN_LINK_ORDER
        self.body = body = pb.loadURDF(self.without_frames(), useFixedBase=True, flags=flags)
        info = [pb.getJointInfo(body, k) for k in range(pb.getNumJoints(body))]
        number = {joint[1].decode(): joint[0] for joint in info}
        self.links = {joint[12].decode(): joint[0] for joint in info} | {"base": -1}
        self.number = [number[name] for name in self.joints]
        for k in range(-1, len(info)):
            pb.changeDynamics(body, k, linearDamping=0.0, angularDamping=0.0, jointDamping=0.0)
        zeros = [0.0] * len(info)
        pb.setJointMotorControlArray(body, range(len(info)), pb.VELOCITY_CONTROL, forces=zeros)
        for loop in self.robot["loops"]:
            ends = [self.end(loop["parent"], loop["at"]), self.end(loop["child"], loop["child_at"])]
            (first, p, Q), (second, c, C) = ends
            kind = pb.JOINT_FIXED if loop["kind"] == "weld" else pb.JOINT_POINT2POINT
            made = pb.createConstraint(body, first, body, second, kind, [0, 0, 0], p, c, Q, C)
            pb.changeConstraint(made, maxForce=1e8)

    def without_frames(self):
        """The URDF without the links that mark loops: Bullet would give each a mass of 1 kg."""
        path = self.files[".urdf"]
        root = ElementTree.parse(path).getroot()
        fixed = [joint for joint in root.findall("joint") if joint.get("type") == "fixed"]
        marks = {joint.find("child").get("link") for joint in fixed}
        for node in (*fixed, *(link for link in root.findall("link") if link.get("name") in marks)):
            root.remove(node)
        path = path.with_name(f"{path.stem}-bullet.urdf")
        ElementTree.ElementTree(root).write(path)
        return str(path)

    def end(self, name, at):
        """Bullet's frames of links are in their centres of mass."""
        k = self.links[name]
        shift = np.zeros(3)
        if k >= 0:
            record = self.robot["bodies"][self.mechanism.names.index(name)]
            shift = np.array(record["com"])
        local_R = pb.getDynamicsInfo(self.body, k)[4] if k >= 0 else (0, 0, 0, 1)
        p, Q = pb.multiplyTransforms(
            *pb.invertTransform([0, 0, 0], local_R), list(np.array(at["p"]) - shift), at["quat_xyzw"]
        )
        return k, p, Q

    def set(self, q, v):
        for k, angle, rate in zip(self.number, q, v, strict=True):
            pb.resetJointState(self.body, k, angle, rate)

    def state(self):
        states = pb.getJointStates(self.body, self.number)
        return np.array([state[0] for state in states]), np.array([state[1] for state in states])

    def accelerations_at_rest(self, q):
        self.set(q, 0.0 * q)
        self.step()
        return self.state()[1] / STEP

    def start(self, q, v):
        self.set(q, v)

    def step(self):
        forces = self.joint_forces(*self.state())
        pb.setJointMotorControlArray(self.body, self.number, pb.TORQUE_CONTROL, forces=list(forces))
        pb.stepSimulation()

    def bodies(self):
        return self.tree_bodies(*self.state())
