"""The tree of a robot in MuJoCo, as a reference engine: one MuJoCo body for each tree joint.

It is built from the description alone. MuJoCo's compiler refuses moving bodies without mass, and inertias
that no real body has, such as those of a planar robot, of which one moment alone is described. It may also
simplify bodies with diagonal inertia. So every body is compiled with the same general inertia, and the true
mass, centre of mass and inertia are written into the compiled model afterwards. MuJoCo's recursions take them
as they are, zero included. No function that inverts the tree's mass matrix is called, and no dummy mass is
left.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import mujoco as mj
import numpy as np

from nacelle.model.joint import Primitive
from nacelle.model.leg import BASE, PLATFORM
from nacelle.model.robot import Robot
from nacelle.spatial.pose import Pose
from nacelle.spatial.scalar import Array
from nacelle.verify.engine import JointIndices, TreeSnapshot, TreeState, engine_joints, inertia_lumps

_X, _Y, _Z = np.eye(3).tolist()
_HINGE, _SLIDE, _BALL = mj.mjtJoint.mjJNT_HINGE, mj.mjtJoint.mjJNT_SLIDE, mj.mjtJoint.mjJNT_BALL

# MuJoCo's joint for each primitive of a joint. Those of one body act in sequence, each in the axes that those
# before it have moved.
_STEPS: dict[Primitive, tuple[mj.mjtJoint, list[float]]] = {
    Primitive.RX: (_HINGE, _X),
    Primitive.RY: (_HINGE, _Y),
    Primitive.RZ: (_HINGE, _Z),
    Primitive.TX: (_SLIDE, _X),
    Primitive.TY: (_SLIDE, _Y),
    Primitive.TZ: (_SLIDE, _Z),
    Primitive.SPHERICAL: (_BALL, _Z),
}


def _quat_wxyz(R: Array) -> Array:
    """The quaternion (4,) of a rotation matrix in MuJoCo's order, scalar first."""
    quat = np.zeros(4)
    mj.mju_mat2Quat(quat, np.ascontiguousarray(R, dtype=float).reshape(9))
    return quat


@dataclass
class MujocoEngine:
    """The tree of a robot as a MuJoCo model.

    Attributes:
        robot: the robot.
        model: a MuJoCo body for the platform and for every joint of the tree; a site at every body's frame.
        sites: for each body the index of its site.
        indices: indices of the tree's joints in qpos and qvel; MuJoCo's quaternions are scalar first.
        notes: messages for the user.
        name: name of the engine.
        version: MuJoCo's version.
        includes_rotors: whether the engine includes the rotors of tree joints: yes, as armature.
    """

    robot: Robot
    model: mj.MjModel
    sites: tuple[int, ...]
    indices: JointIndices
    notes: list[str] = field(default_factory=list)
    name: str = "mujoco"
    version: str = str(mj.__version__)
    includes_rotors: bool = True

    @property
    def _is_point(self) -> bool:
        return self.robot.platform.kind == "point"

    def configuration(self, state: TreeState) -> Array:
        """MuJoCo's coordinates qpos of a state."""
        q = np.zeros(self.model.nq)
        q[:3] = state.platform.p
        if not self._is_point:
            q[3:7] = _quat_wxyz(state.platform.R)
        q[self.indices.q] = state.q_tree
        return q

    def axes(self, state: TreeState) -> Array:
        """Matrix D, qvel = D u: MuJoCo has the platform's angular velocity in the platform's own axes."""
        return self.indices.rate_map(np.eye(3), np.zeros((0, 0)) if self._is_point else state.platform.R.T)

    def at(self, state: TreeState) -> TreeSnapshot:
        """Evaluate a state of the tree."""
        m, d = self.model, mj.MjData(self.model)
        D = self.axes(state)
        d.qpos[:] = self.configuration(state)
        d.qvel[:] = D @ state.u
        mj.mj_kinematics(m, d)
        mj.mj_comPos(m, d)
        mj.mj_makeM(m, d)
        mj.mj_comVel(m, d)
        M = np.zeros((m.nv, m.nv))
        mj.mj_fullM(m, d, M)
        sites = list(self.sites)
        J = np.zeros((len(sites), 6, m.nv))
        for k, site in enumerate(sites):
            linear, angular = np.zeros((3, m.nv)), np.zeros((3, m.nv))
            mj.mj_jacSite(m, d, linear, angular, site)
            J[k] = np.vstack([linear, angular])
        external = self._external(d, state)
        bias_acceleration, bias = self._accelerations_and_forces(d, np.zeros(m.nv))
        # D u_dot is the derivative of D u: R^T w has the derivative R^T w', as w x w = 0.
        acceleration, force = self._accelerations_and_forces(d, D @ state.u_dot)
        mj.mj_energyPos(m, d)
        mj.mj_energyVel(m, d)
        weights = np.abs(m.body_mass) * np.linalg.norm(d.xipos, axis=1)
        return TreeSnapshot(
            R=np.array(d.site_xmat).reshape(-1, 3, 3)[sites],
            p=np.array(d.site_xpos)[sites],
            jacobian=J @ D,
            twist=np.stack([self._site_motion(mj.mj_objectVelocity, d, site) for site in sites]),
            bias_acceleration=bias_acceleration,
            acceleration=acceleration,
            mass_matrix=np.asarray(D.T @ M @ D),
            force=D.T @ (force - external),
            bias=D.T @ (bias - external),
            kinetic=float(d.energy[1]),
            potential=float(d.energy[0]),
            heavy=float(np.linalg.norm(self.robot.gravity)) * float(np.max(weights)),
        )

    def _accelerations_and_forces(self, d: mj.MjData, rates: Array) -> tuple[Array, Array]:
        """Accelerations of all bodies (bodies, 6) and forces along qvel (nv,), at qvel' = `rates`."""
        m = self.model
        d.qacc[:] = rates
        mj.mj_rnePostConstraint(m, d)
        accelerations = np.stack(
            [self._site_motion(mj.mj_objectAcceleration, d, site) for site in self.sites]
        )
        # MuJoCo replaces gravity by an upward acceleration of the base, which is taken off here.
        accelerations[:, :3] += np.array(self.robot.gravity)
        force = np.zeros(m.nv)
        mj.mj_rne(m, d, 1, force)
        return accelerations, force + m.dof_armature * rates

    def _site_motion(self, evaluate: Callable[..., None], d: mj.MjData, site: int) -> Array:
        """Twist or acceleration [linear; angular] (6,) of a site, base axes; MuJoCo has [angular; linear]."""
        result = np.zeros(6)
        evaluate(self.model, d, mj.mjtObj.mjOBJ_SITE, site, result, 0)
        return np.concatenate([result[3:], result[:3]])

    def _external(self, d: mj.MjData, state: TreeState) -> Array:
        """External wrenches as forces along qvel (nv,)."""
        total = np.zeros(self.model.nv)
        for site, wrench in zip(self.sites, state.external, strict=True):
            carrier = int(self.model.site_bodyid[site])
            if carrier:
                mj.mj_applyFT(self.model, d, wrench[:3], wrench[3:], d.site_xpos[site], carrier, total)
        return total

    def closed_loop(self, state: TreeState, force: Array) -> Array | None:
        """None: MuJoCo's loop constraints are soft, so its own solver of loops is no reference."""
        del state, force
        return None


def _with_general_inertia(body: mj.MjsBody) -> mj.MjsBody:
    """Give a body a general inertia, so that the compiler neither refuses nor simplifies it."""
    body.explicitinertial = True
    body.mass, body.ipos = 1.0, [0.1, 0.2, 0.3]
    body.iquat, body.inertia = [0.8, 0.0, 0.36, 0.48], [0.3, 0.4, 0.5]
    return body


def build(robot: Robot) -> MujocoEngine:
    """Rebuild the tree of a robot in MuJoCo."""
    return mujoco_engine(robot, specification(robot)[0])


def specification(robot: Robot) -> tuple[mj.MjSpec, dict[int, tuple[mj.MjsBody, Pose]]]:
    """The tree before compilation; for each body the MuJoCo body that carries it, and its pose in that."""
    spec = mj.MjSpec()
    spec.compiler.degree = False
    spec.compiler.balanceinertia = False
    spec.compiler.fusestatic = False
    spec.option.gravity = np.array(robot.gravity, dtype=float)
    carriers = _grow_tree(robot, spec)
    for body in range(len(robot.bodies)):
        carrier, placement = carriers[body]
        carrier.add_site(name=f"body {body}", pos=placement.p, quat=_quat_wxyz(placement.R))
    return spec, carriers


def mujoco_engine(robot: Robot, spec: mj.MjSpec) -> MujocoEngine:
    """Compile a specification into an engine, with the true inertias."""
    model = spec.compile()
    _write_inertias(robot, model)
    sites = tuple(_site_index(model, body) for body in range(len(robot.bodies)))
    return MujocoEngine(robot, model, sites, _joint_indices(robot, model))


def _grow_tree(robot: Robot, spec: mj.MjSpec) -> dict[int, tuple[mj.MjsBody, Pose]]:
    """Build the tree; give for each body the MuJoCo body that carries it, and its pose in that.

    The frame of a MuJoCo body is the second frame of its joint, so that all its joints are at its origin.
    """
    platform = _with_general_inertia(spec.worldbody.add_body(name="platform"))
    if robot.platform.kind == "point":
        for k, axis in enumerate((_X, _Y, _Z)):
            platform.add_joint(name=f"platform.{k}", type=_SLIDE, axis=axis)
    else:
        platform.add_freejoint(align=False)
    identity = Pose(np.eye(3), np.zeros(3))
    carriers = {BASE: (spec.worldbody, identity), PLATFORM: (platform, identity)}
    for number, joint in enumerate(robot.tree_joints):
        carrier, placement = carriers[joint.predecessor]
        placement = placement @ joint.frame_predecessor
        body = _with_general_inertia(
            carrier.add_body(name=f"joint {number}", pos=placement.p, quat=_quat_wxyz(placement.R))
        )
        for step, (kind, axis) in enumerate(engine_joints(joint, _STEPS, "MuJoCo")):
            reflected = joint.gear_ratio**2 * joint.rotor_inertia
            body.add_joint(name=f"{number}.{step}", type=kind, axis=axis, armature=reflected)
        carriers[joint.successor] = (body, joint.frame_successor.inverse())
    return carriers


def _site_index(model: mj.MjModel, body: int) -> int:
    """The index of a body's site, by its name: MuJoCo numbers sites in its own order."""
    return int(mj.mj_name2id(model, mj.mjtObj.mjOBJ_SITE, f"body {body}"))


def _joint_indices(robot: Robot, model: mj.MjModel) -> JointIndices:
    """The indices of the tree's joints in qpos and qvel: MuJoCo orders bodies branch by branch."""
    q: list[int] = []
    u: list[int] = []
    for number, joint in enumerate(robot.tree_joints):
        for step, (kind, _) in enumerate(engine_joints(joint, _STEPS, "MuJoCo")):
            index = mj.mj_name2id(model, mj.mjtObj.mjOBJ_JOINT, f"{number}.{step}")
            first_q, first_u = int(model.jnt_qposadr[index]), int(model.jnt_dofadr[index])
            q += [first_q + 1, first_q + 2, first_q + 3, first_q] if kind == _BALL else [first_q]
            u += range(first_u, first_u + (3 if kind == _BALL else 1))
    return JointIndices(np.array(q, dtype=int), np.array(u, dtype=int))


def _write_inertias(robot: Robot, model: mj.MjModel) -> None:
    """Write the true inertias into the compiled model."""
    total: dict[int, Array] = {k: np.zeros((4, 4)) for k in range(model.nbody)}
    for body in range(1, len(robot.bodies)):
        site = _site_index(model, body)
        carrier = int(model.site_bodyid[site])
        R = np.zeros(9)
        mj.mju_quat2Mat(R, model.site_quat[site])
        T = np.eye(4)
        T[:3, :3], T[:3, 3] = R.reshape(3, 3), model.site_pos[site]
        if carrier == 0:
            continue
        for lump in inertia_lumps(robot, body):
            # Pseudo-inertia P = [second moments, m c; m c^T, m]: in another frame it is T P T^T.
            second = 0.5 * np.trace(lump.about_com) * np.eye(3) - lump.about_com
            P = np.zeros((4, 4))
            P[:3, :3] = second + lump.mass * np.outer(lump.com, lump.com)
            P[:3, 3] = P[3, :3] = lump.mass * lump.com
            P[3, 3] = lump.mass
            total[carrier] += T @ P @ T.T
    model.body_mass[0] = 0.0
    for k in range(1, model.nbody):
        P = total[k]
        mass = P[3, 3]
        com = P[:3, 3] / mass if mass else np.zeros(3)
        second = P[:3, :3] - mass * np.outer(com, com)
        about_com = np.trace(second) * np.eye(3) - second
        moments, axes = np.linalg.eigh(0.5 * (about_com + about_com.T))
        axes[:, 0] *= np.linalg.det(axes)
        model.body_mass[k], model.body_ipos[k] = mass, com
        model.body_inertia[k], model.body_iquat[k] = moments, _quat_wxyz(axes)
    below = np.array(model.body_mass)
    for k in range(model.nbody - 1, 0, -1):
        below[model.body_parentid[k]] += below[k]
    model.body_subtreemass[:] = below
