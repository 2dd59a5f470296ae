"""nacelle, from the YAML: forward and inverse dynamics of the platform.

Its state is the pose and twist of the platform, so that its kinematics closes the loops at every
evaluation. The pose follows from the drives by forward kinematics, whose time is in that of the
accelerations. Accelerations of joints that its own tree does not have are left out. Steps:
`nacelle.simulate` with dop853, relative tolerance 1e-12; its time is divided by the number of steps of the
other engines. Gap: `closure_error` of the run.
"""

import numpy as np
from engine import Engine, UnsupportedError

import nacelle


class Adapter(Engine):
    packages = ("nacelle-robotics",)

    def build(self):
        self.model = model = nacelle.load(str(self.files[".yaml"]))
        ours = [self.joints[k] for k in self.drives]
        names = [model.joints[drive.joint].name.replace(".", "-") for drive in model.actuators]
        if sorted(names) != sorted(ours):
            raise UnsupportedError("drives have other names")
        self.order = [ours.index(name) for name in names]
        tree = {
            joint.name.replace(".", "-"): (q.start, v.start)
            for joint, q, v in zip(model.tree_joints, model.q_slices, model.v_slices, strict=True)
            if joint.kind.value in ("revolute", "prismatic")
        }
        self.known = [(k, *tree[name]) for k, name in enumerate(self.joints) if name in tree]
        self.guess = nacelle.reference_pose(model)

    def platform(self, q, v):
        x = nacelle.forward_kinematics(self.model, q[self.drives][self.order], self.guess).x
        J = np.array(nacelle.jacobian(self.model, x).inverse)
        return x, np.linalg.solve(J, v[self.drives][self.order])

    def accelerations(self, q, v, tau):
        x, twist = self.platform(q, v)
        a = nacelle.forward_dynamics(self.model, x, twist, np.asarray(tau)[self.order]).a
        motion = nacelle.kinematics.joint_motion(self.model, x, twist, a)
        full = np.full(len(self.joints), np.nan)
        for k, _, entry in self.known:
            full[k] = motion.acceleration[entry]
        return full

    def forces(self, q, v, a):
        x, twist = self.platform(q, v)
        rest = nacelle.kinematics.joint_motion(self.model, x, twist).actuators[2]
        J = np.array(nacelle.jacobian(self.model, x).inverse)
        platform = np.linalg.solve(J, a[self.drives][self.order] - rest)
        return nacelle.inverse_dynamics(self.model, x, twist, platform).tau[np.argsort(self.order)]

    def energies(self, q, v):
        x, twist = self.platform(q, v)
        return nacelle.kinetic_energy(self.model, x, twist), nacelle.potential_energy(self.model, x)

    def start(self, q, v):
        self.x, self.twist = self.platform(q, v)
        self.state = q, v
        nacelle.simulate(self.model, self.x, self.twist, until=1e-6)

    def run(self, seconds):
        run = nacelle.simulate(self.model, self.x, self.twist, until=seconds, samples=2)
        motion = nacelle.kinematics.joint_motion(self.model, run.x[-1], run.v[-1])
        q, v = np.array(self.state[0]), np.array(self.state[1])
        for k, angle, rate in self.known:
            q[k], v[k] = motion.q_tree[angle], motion.rate[rate]
        # Joints that are closures in its tree follow from the others.
        q = self.mechanism.close(q)
        self.state = q, self.mechanism.compatible(q, v)
        gap = float(np.max(run.closure_error))
        self.gap = gap * self.model.size, gap

    def bodies(self):
        return self.tree_bodies(*self.state)
