"""A robot with its loops in Pinocchio and in MuJoCo, at states of its workspace: what dynamics is compared
with.

Joint positions, rates and accelerations of the whole tree are given to both engines, as nacelle's kinematics
has found them; nacelle finds them itself from the pose in the time that is measured.
"""

import mujoco as mj
import numpy as np
import pinocchio as pin
from scipy.linalg import qr

from nacelle.model.joint import JointKind
from nacelle.verify import ours
from nacelle.verify.engines import mujoco, pinocchio
from support import mujoco_loops

_WORLD = pin.LOCAL_WORLD_ALIGNED


class Pinocchio:
    """The tree and the loops of a robot in Pinocchio; `force` are actuator forces for forward dynamics."""

    def __init__(self, robot, trees, force):
        self.robot = robot
        self.engine = pinocchio.build(robot)
        self.model = self.engine.model
        self.data = self.model.createData()
        self.armature = self.engine.with_rotors.armature.copy()
        self.q = np.array([self.engine.configuration(tree) for tree in trees])
        self.D = np.array([self.engine.axes(tree) for tree in trees])
        self.v = np.array([D @ tree.u for D, tree in zip(self.D, trees, strict=True)])
        self.a = np.array([self._rates(D, tree) for D, tree in zip(self.D, trees, strict=True)])
        joints = [actuator.joint for actuator in robot.actuators]
        self.drives = self.engine.indices.u[[robot.v_slices[j].start for j in joints]]
        self.tau = np.zeros((len(trees), self.model.nv))
        self.tau[:, self.drives] = force
        # At a point only the point is held: hinges there forbid nothing more in these robots.
        self.ends = [self._ends(k, joint) for k, joint in enumerate(robot.closures) if not joint.at_point]
        self.data = self.model.createData()
        self.rows = slice(None)
        J, _ = self._loops(0, bias=False)
        _, R, order = qr(J.T, pivoting=True, mode="economic")
        size = np.abs(np.diag(R))
        self.rows = np.sort(order[: int(np.sum(size > 1e-9 * size[0]))])
        self.unknowns = len(self.rows) + len(self.drives)

    def _rates(self, D, tree):
        """Pinocchio's accelerations: the platform's velocity has components in moving axes there."""
        rate = np.array(tree.u_dot, dtype=float)
        if self.robot.platform.kind != "point":
            rate[:3] -= np.cross(tree.u[3:6], tree.u[:3])
        return D @ rate

    def _ends(self, number, joint):
        frames = []
        for body, frame in (
            (joint.predecessor, joint.frame_predecessor),
            (joint.successor, joint.frame_successor),
        ):
            own = self.model.frames[self.engine.frames[body]]
            local = pin.SE3(np.array(frame.R), np.array(frame.p))
            made = pin.Frame(f"end {number} {body}", own.parentJoint, 0, own.placement * local, pin.OP_FRAME)
            frames.append(self.model.addFrame(made))
        return frames

    def _loops(self, k, bias=True):
        """Jacobian of the gaps of the loops, and their accelerations where the tree's are zero."""
        model, data = self.model, self.data
        if bias:
            pin.forwardKinematics(model, data, self.q[k], self.v[k], np.zeros(model.nv))
        pin.computeJointJacobians(model, data, self.q[k])
        pin.updateFramePlacements(model, data)
        J = np.concatenate(
            [
                pin.getFrameJacobian(model, data, two, _WORLD)[:3]
                - pin.getFrameJacobian(model, data, one, _WORLD)[:3]
                for one, two in self.ends
            ]
        )
        if not bias:
            return J[self.rows], None
        gaps = [
            pin.getFrameClassicalAcceleration(model, data, two, _WORLD).linear
            - pin.getFrameClassicalAcceleration(model, data, one, _WORLD).linear
            for one, two in self.ends
        ]
        return J[self.rows], np.concatenate(gaps)[self.rows]

    # ---- inverse

    def pool(self, count):
        """A loop in C++ over `rnea` of the tree at `count` states, on one thread, and its results."""
        pool = pin.ModelPool(self.model, 1)
        many = -(-count // len(self.q))
        q, v, a = (np.asfortranarray(np.tile(s, (many, 1))[:count].T) for s in (self.q, self.v, self.a))
        result = np.zeros((self.model.nv, count), order="F")
        return lambda: pin.rneaInParallel(1, pool, q, v, a, result), result

    def rnea(self, k):
        return pin.rnea(self.model, self.data, self.q[k], self.v[k], self.a[k])

    def inverse(self, k):
        """Actuator forces: `rnea` of the tree = what actuators and loops give, for both at once."""
        tree = self.rnea(k) + self.armature * self.a[k]
        J, _ = self._loops(k, bias=False)
        K = np.zeros((self.model.nv, self.unknowns))
        n = len(self.drives)
        K[self.drives, np.arange(n)] = 1.0
        K[:, n:] = J.T
        if self.unknowns == self.model.nv:
            return np.linalg.solve(K, tree)[:n]
        # Rods that spin idly: more equations than unknowns, and consistent.
        return np.linalg.lstsq(K, tree, rcond=None)[0][:n]

    # ---- forward

    def forward(self, k):
        """Accelerations of the tree: M a - J^T f = tau - h, J a = -bias, by one dense solve."""
        model, data, nv = self.model, self.data, self.model.nv
        J, bias = self._loops(k)
        half = pin.crba(model, data, self.q[k])
        h = pin.nonLinearEffects(model, data, self.q[k], self.v[k])
        size = nv + len(J)
        K, right = np.zeros((size, size)), np.empty(size)
        K[:nv, :nv] = np.triu(half) + np.triu(half, 1).T + np.diag(self.armature)
        K[:nv, nv:], K[nv:, :nv] = J.T, J
        right[:nv], right[nv:] = self.tau[k] - h, -bias
        return np.linalg.solve(K, right)[:nv]

    def _anchored(self):
        """Model, data, constraints and their data for the loops."""
        model = self.engine.with_rotors
        anchors, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
        anchors.extend(self.engine.anchors)
        datas.extend([anchor.createData() for anchor in self.engine.anchors])
        return model, model.createData(), anchors, datas

    def articulated(self):
        """A call of `lcaba` at state k; None where it does not support the robot.

        Its proximal iteration goes on until the accelerations of the gaps are below 1e-11. With mu = 1e-4 the
        accelerations of the platform are right to 1e-10; smaller ones save an iteration and give 1e-8.
        """
        if self.engine.anchors is None or not hasattr(pin, "lcaba"):
            return None
        model, data, anchors, datas = self._anchored()
        pin.computeJointMinimalOrdering(model, data, anchors)
        settings = pin.ProximalSettings(1e-11, 1e-4, 20)

        def call(k):
            return pin.lcaba(model, data, self.q[k], self.v[k], self.tau[k], anchors, datas, settings)

        return call

    def constrained(self):
        """A call of `constraintDynamics` at state k; None where it does not support the robot."""
        if self.engine.anchors is None:
            return None
        model, data, anchors, datas = self._anchored()
        pin.initConstraintDynamics(model, data, anchors, datas)
        # No closure is redundant: one factorisation, the fastest that it has.
        settings = pin.ProximalSettings(1e-12, 0.0, 1)

        def call(k):
            return pin.constraintDynamics(
                model, data, self.q[k], self.v[k], self.tau[k], anchors, datas, settings
            )

        return call

    def platform(self, k, a, u):
        """Derivative of the platform's twist, base axes, from accelerations of the tree at rates u."""
        rate = self.D[k].T @ a
        if self.robot.platform.kind != "point":
            rate[:3] += np.cross(u[3:6], u[:3])
        return rate


class Mujoco:
    """The same in MuJoCo: one `MjData` for each state, so that nothing is copied in the measured time."""

    def __init__(self, robot, trees, force):
        self.bound = all(joint.kind is JointKind.SPHERICAL for joint in robot.closures)
        engine = (
            mujoco_loops.build_engine(robot, mujoco_loops.ConstraintSettings())
            if self.bound
            else mujoco.build(robot)
        )
        self.model = engine.model
        self.model.opt.disableflags |= mj.mjtDisableBit.mjDSBL_CONTACT
        joints = [actuator.joint for actuator in robot.actuators]
        drives = engine.indices.u[[robot.v_slices[j].start for j in joints]]
        self.datas, self.axes = [], []
        # Bodies without inertia make the tree's mass matrix singular: forces do not need it.
        mj.set_mju_user_warning(lambda text: None)
        for tree, tau in zip(trees, force, strict=True):
            d, D = mj.MjData(self.model), engine.axes(tree)
            d.qpos[:], d.qvel[:], d.qacc[:] = engine.configuration(tree), D @ tree.u, D @ tree.u_dot
            d.qfrc_applied[drives] = tau
            mj.mj_inverse(self.model, d)
            self.datas.append(d)
            self.axes.append(D)
        mj.set_mju_user_warning(None)

    def inverse(self, k):
        """Forces of the tree along its rates, in base axes."""
        mj.mj_inverse(self.model, self.datas[k])
        return self.axes[k].T @ self.datas[k].qfrc_inverse

    def inverse_all(self):
        for d in self.datas:
            mj.mj_inverse(self.model, d)

    def forward_all(self):
        for d in self.datas:
            mj.mj_forward(self.model, d)


def trees_of(robot, states):
    """States of the tree at random states, without external wrenches."""
    moved = ours.compute_kinematics(robot, states)
    return [moved.tree_state(k, states) for k in range(len(states))]
