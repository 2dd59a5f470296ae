"""Newton's Kamino on the processor, in single precision, built from the description.

Bodies are in maximal coordinates. Every joint and loop is a joint of Newton (revolute, prismatic, fixed,
ball). Kamino only steps: frequencies are of velocities after one step from rest. Steps: Euler's, since
Moreau's is for contacts; P-ADMM with tolerances 1e-7, 500 iterations and acceleration. Springs and viscous
friction are its implicit drives (`target_ke`, `target_kd`), rotors `armature`; smooth Coulomb friction is
an applied force. Implicit drives lose energy; springs as applied forces would not, and were not tried.
"""

import newton
import numpy as np
import warp as wp
from engine import STEP, Bodies, Engine, coordinates

wp.config.quiet = True


class Adapter(Engine):
    packages = ("newton", "warp-lang")
    single = True

    def build(self):
        self.refuse(massless="no massless bodies")
        model, law = self.mechanism, self.joint_forces
        builder = newton.ModelBuilder(up_axis=newton.Axis.Z, gravity=tuple(model.gravity))
        newton.solvers.SolverKamino.register_custom_attributes(builder)
        builder.default_joint_cfg.armature = 0.0
        for k, name in enumerate(model.names):
            wp_inertia = wp.mat33(*model.inertia[k].ravel())
            builder.add_link(com=wp.vec3(*model.com[k]), inertia=wp_inertia, mass=model.mass[k], label=name)
        for k, joint in enumerate(self.robot["joints"]):
            add = builder.add_joint_revolute if model.turns[k] else builder.add_joint_prismatic
            drive = {}
            if law.stiffness[k] or law.viscous[k]:
                drive = {"target_ke": law.stiffness[k], "target_kd": law.viscous[k], "target_q": law.rest[k]}
                drive["actuator_mode"] = newton.JointTargetMode.POSITION_VELOCITY
            ends = {"parent_xform": transform(joint["at"]), "child_xform": transform(joint["child_at"])}
            axis = wp.vec3(*model.axes[k])
            armature = joint.get("armature", 0.0)
            add(model.parents[k], k, axis=axis, armature=armature, label=joint["name"], **drive, **ends)
        number = {name: k for k, name in enumerate(model.names)} | {"base": -1}
        for loop in self.robot["loops"]:
            add = builder.add_joint_fixed if loop["kind"] == "weld" else builder.add_joint_ball
            ends = {"parent_xform": transform(loop["at"]), "child_xform": transform(loop["child_at"])}
            add(number[loop["parent"]], number[loop["child"]], label=loop["name"], **ends)
        with wp.ScopedDevice("cpu"):
            self.model = builder.finalize(skip_validation_joints=True)
            config = newton.solvers.SolverKamino.Config.from_model(self.model)
            config.padmm.primal_tolerance = config.padmm.dual_tolerance = config.padmm.compl_tolerance = 1e-7
            config.padmm.max_iterations, config.padmm.use_acceleration = 500, True
            self.solver = newton.solvers.SolverKamino(model=self.model, config=config)
            self.states = [self.model.state(), self.model.state()]
            self.control = self.model.control()

    def start(self, q, v):
        bodies = self.tree_bodies(q, v)
        poses, twists = np.zeros((len(q), 7), np.float32), np.zeros((len(q), 6), np.float32)
        for k, R in enumerate(bodies.R):
            poses[k, :3], poses[k, 3:] = bodies.p[k], quaternion(R)
            twists[k, :3] = bodies.v[k] + np.cross(bodies.w[k], R @ self.mechanism.com[k])
            twists[k, 3:] = bodies.w[k]
        for state in self.states:
            state.body_q.assign(poses)
            state.body_qd.assign(twists)
            n = len(q)
            angles, rates = state.joint_q.numpy(), state.joint_qd.numpy()
            angles[:n], rates[:n] = q, v
            state.joint_q.assign(angles)
            state.joint_qd.assign(rates)

    def step(self):
        if self.joint_forces.has_friction:
            law, force = self.joint_forces, self.control.joint_f.numpy()
            rate = coordinates(self.mechanism, self.bodies())[1]
            force[: len(rate)] = -law.coulomb * np.tanh(rate / law.smooth)
            self.control.joint_f.assign(force)
        self.solver.step(self.states[0], self.states[1], self.control, None, STEP)
        self.states.reverse()

    def accelerations_at_rest(self, q):
        self.start(q, 0.0 * q)
        self.step()
        return coordinates(self.mechanism, self.bodies())[1] / STEP

    def bodies(self):
        poses, twists = (
            getattr(self.states[0], name).numpy().astype(float) for name in ("body_q", "body_qd")
        )
        R = np.array([rotation(pose[3:]) for pose in poses])
        w = twists[:, 3:]
        com = np.einsum("kij,kj->ki", R, np.array(self.mechanism.com))
        return Bodies(R, poses[:, :3], twists[:, :3] - np.cross(w, com), w)


def transform(frame):
    return wp.transform(wp.vec3(*frame["p"]), wp.quat(*frame["quat_xyzw"]))


def quaternion(R):
    from nacelle.spatial.rotation import quat_from_rotation

    return quat_from_rotation(R)


def rotation(quat):
    x, y, z, w = quat / np.linalg.norm(quat)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )
