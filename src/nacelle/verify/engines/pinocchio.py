"""A robot in Pinocchio: the tree as joints and frames, made from the description alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pinocchio as pin

from nacelle.model.joint import JointKind, Primitive
from nacelle.model.leg import BASE, PLATFORM
from nacelle.model.robot import Robot
from nacelle.spatial.pose import Pose
from nacelle.spatial.scalar import Array
from nacelle.verify.engine import (
    JointIndices,
    TreeSnapshot,
    TreeState,
    VerifyError,
    depth_first_joints,
    engine_joints,
    inertia_lumps,
)

# Pinocchio's joint for each step of a joint's motion; they follow one after the other.
_STEPS: dict[Primitive, str] = {
    Primitive.RX: "RX",
    Primitive.RY: "RY",
    Primitive.RZ: "RZ",
    Primitive.TX: "PX",
    Primitive.TY: "PY",
    Primitive.TZ: "PZ",
    Primitive.SPHERICAL: "Spherical",
}
_CONTACT_TYPES = {
    JointKind.SPHERICAL: pin.ContactType.CONTACT_3D,
    JointKind.POINT: pin.ContactType.CONTACT_3D,
    JointKind.FIXED: pin.ContactType.CONTACT_6D,
}


def _se3(pose: Pose) -> pin.SE3:
    return pin.SE3(np.array(pose.R, dtype=float), np.array(pose.p, dtype=float))


@dataclass
class PinocchioEngine:
    """The tree of a robot as a Pinocchio model.

    Attributes:
        robot: the robot.
        model: base, platform and the joints of the tree in their order.
        indices: of the tree's joints in Pinocchio's vectors.
        frames: for each body the index of its frame.
        anchors: the closures as Pinocchio's constraints; None where it has none for a joint, or where its
            solver cannot be used.
    """

    robot: Robot
    model: pin.Model
    indices: JointIndices
    frames: tuple[int, ...]
    anchors: list[pin.RigidConstraintModel] | None
    notes: list[str] = field(default_factory=list)
    name: str = "pinocchio"
    version: str = str(pin.__version__)
    includes_rotors: bool = False

    @cached_property
    def with_rotors(self) -> pin.Model:
        """The model with rotors: Pinocchio's recursions differ in whether they take them, its solver does."""
        model = pin.Model(self.model)
        armature = np.zeros(model.nv)
        for joint, entries in zip(self.robot.tree_joints, self.robot.v_slices, strict=True):
            armature[self.indices.u[entries]] = joint.gear_ratio**2 * joint.rotor_inertia
        model.armature = armature
        return model

    @property
    def _is_point(self) -> bool:
        return self.robot.platform.kind == "point"

    def configuration(self, state: TreeState) -> Array:
        """The engine's coordinates of a state."""
        q = np.zeros(self.model.nq)
        pose = state.platform.p if self._is_point else pin.SE3ToXYZQUAT(_se3(state.platform))
        q[: len(pose)] = pose
        q[self.indices.q] = state.q_tree
        return q

    def axes(self, state: TreeState) -> Array:
        """Matrix from the rates of the tree to Pinocchio's: the platform's twist is in its own axes there."""
        if self._is_point:
            return self.indices.rate_map(np.eye(3), np.zeros((0, 0)))
        return self.indices.rate_map(state.platform.R.T, state.platform.R.T)

    def _accelerations(self, state: TreeState, u_dot: Array) -> Array:
        """Pinocchio's accelerations: derivatives of its velocities, so of components in moving axes."""
        rate = np.array(u_dot, dtype=float)
        if not self._is_point:
            rate[:3] -= np.cross(state.u[3:6], state.u[:3])
        return np.asarray(self.axes(state) @ rate)

    def at(self, state: TreeState) -> TreeSnapshot:
        """Evaluate a state of the tree."""
        model, data = self.model, self.model.createData()
        D = self.axes(state)
        q, v = self.configuration(state), D @ state.u
        still, moving = (self._accelerations(state, u_dot) for u_dot in (0.0 * state.u, state.u_dot))
        bias_acceleration = self._classical_accelerations(data, q, v, still)
        acceleration = self._classical_accelerations(data, q, v, moving)
        pin.computeJointJacobians(model, data, q)
        pin.updateFramePlacements(model, data)
        world = pin.LOCAL_WORLD_ALIGNED
        poses = [data.oMf[frame] for frame in self.frames]
        J = np.stack([pin.getFrameJacobian(model, data, frame, world) for frame in self.frames]) @ D
        twist = np.stack([pin.getFrameVelocity(model, data, frame, world).vector for frame in self.frames])
        external = self._external(data, state)
        force, bias = (D.T @ pin.rnea(model, data, q, v, a, external) for a in (moving, still))
        half = pin.crba(model, data, q)
        M = np.triu(half) + np.triu(half, 1).T
        kinetic = float(pin.computeKineticEnergy(model, data, q, v))
        # Bodies that are fixed to the base are left out by Pinocchio.
        fixed = model.inertias[0]
        potential = float(pin.computePotentialEnergy(model, data, q))
        potential -= fixed.mass * float(np.dot(self.robot.gravity, fixed.lever)) if fixed.mass else 0.0
        weights = [
            abs(model.inertias[k].mass) * float(np.linalg.norm(data.oMi[k].act(model.inertias[k].lever)))
            for k in range(1, model.njoints)
        ]
        return TreeSnapshot(
            R=np.stack([pose.rotation for pose in poses]),
            p=np.stack([pose.translation for pose in poses]),
            jacobian=J,
            twist=twist,
            bias_acceleration=bias_acceleration,
            acceleration=acceleration,
            mass_matrix=np.asarray(D.T @ M @ D),
            force=force,
            bias=bias,
            kinetic=kinetic,
            potential=potential,
            heavy=float(np.linalg.norm(self.robot.gravity)) * max(weights, default=0.0),
        )

    def _classical_accelerations(self, data: pin.Data, q: Array, v: Array, a: Array) -> Array:
        model = self.model
        pin.forwardKinematics(model, data, q, v, a)
        pin.updateFramePlacements(model, data)
        return np.stack(
            [
                pin.getFrameClassicalAcceleration(model, data, frame, pin.LOCAL_WORLD_ALIGNED).vector
                for frame in self.frames
            ]
        )

    def _external(self, data: pin.Data, state: TreeState) -> pin.StdVec_Force:
        """External wrenches in the frames of Pinocchio's joints."""
        forces = [pin.Force.Zero() for _ in range(self.model.njoints)]
        for frame, wrench in zip(self.frames[1:], state.external[1:], strict=True):
            joint = self.model.frames[frame].parentJoint
            arm = data.oMf[frame].translation - data.oMi[joint].translation
            moment = wrench[3:] + np.cross(arm, wrench[:3])
            R = data.oMi[joint].rotation
            forces[joint] += pin.Force(R.T @ wrench[:3], R.T @ moment)
        return pin.StdVec_Force(forces)

    def closed_loop(self, state: TreeState, force: Array) -> Array | None:
        """Accelerations by `constraintDynamics`, if the closures are spherical and the tree has inertia."""
        if self.anchors is None:
            return None
        model, data = self.with_rotors, self.with_rotors.createData()
        D = self.axes(state)
        anchors = pin.StdVec_RigidConstraintModel()
        anchors.extend(self.anchors)
        datas = pin.StdVec_RigidConstraintData()
        datas.extend([anchor.createData() for anchor in self.anchors])
        pin.initConstraintDynamics(model, data, anchors, datas)
        settings = pin.ProximalSettings(1e-13, 1e-12, 100)
        q, v = self.configuration(state), D @ state.u
        # D is orthonormal, so it takes forces as it takes rates.
        rate = np.asarray(pin.constraintDynamics(model, data, q, v, D @ force, anchors, datas, settings))
        u_dot = D.T @ rate
        if not self._is_point:
            u_dot[:3] += np.cross(state.u[3:6], state.u[:3])
        return np.asarray(u_dot)


def build(robot: Robot) -> PinocchioEngine:
    """Rebuild the tree of a robot in Pinocchio.

    Raises:
        VerifyError: if an inertia is such that Pinocchio refuses it.
    """
    model = pin.Model()
    model.gravity = pin.Motion(np.array(robot.gravity, dtype=float), np.zeros(3))
    here = pin.SE3.Identity()
    point = robot.platform.kind == "point"
    model_of_joint = pin.JointModelTranslation() if point else pin.JointModelFreeFlyer()
    # For each body the Pinocchio joint that carries it, and its pose there.
    carriers = {BASE: (0, here), PLATFORM: (model.addJoint(0, model_of_joint, here, "platform"), here)}
    # Pinocchio's recursions take the joints of a branch one after the other.
    made_of: dict[int, list[int]] = {}
    for number in depth_first_joints(robot):
        joint = robot.joints[number]
        carrier, placement = carriers[joint.predecessor]
        placement = placement * _se3(joint.frame_predecessor)
        made_of[number] = []
        for step, name in enumerate(engine_joints(joint, _STEPS, "Pinocchio")):
            model_of_joint = getattr(pin, f"JointModel{name}")()
            carrier = model.addJoint(carrier, model_of_joint, placement, f"{number}.{step}")
            placement = here
            made_of[number].append(carrier)
        carriers[joint.successor] = (carrier, placement * _se3(joint.frame_successor).inverse())
    frames = []
    for body in range(len(robot.bodies)):
        carrier, placement = carriers[body]
        frames.append(model.addFrame(pin.Frame(f"body {body}", carrier, 0, placement, pin.BODY)))
        for lump in inertia_lumps(robot, body) if body != BASE else []:
            try:
                inertia = pin.Inertia(lump.mass, lump.com, lump.about_com)
            except (ValueError, RuntimeError) as error:
                raise VerifyError(
                    f"Pinocchio refuses the inertia of body {robot.bodies[body].name!r} of {robot.name}: "
                    f"{error}"
                ) from None
            model.appendBodyToJoint(carrier, inertia, placement)
    engine = PinocchioEngine(robot, model, _joint_indices(robot, model, made_of), tuple(frames), None)
    reason = _constraint_dynamics_reason(robot, engine)
    if reason:
        engine.notes.append(f"constraintDynamics is left out: {reason}")
        return engine
    engine.anchors = [
        pin.RigidConstraintModel(
            _CONTACT_TYPES[joint.kind],
            model,
            carriers[joint.predecessor][0],
            carriers[joint.predecessor][1] * _se3(joint.frame_predecessor),
            carriers[joint.successor][0],
            carriers[joint.successor][1] * _se3(joint.frame_successor),
            pin.LOCAL,
        )
        for joint in robot.closures
    ]
    return engine


def _joint_indices(robot: Robot, model: pin.Model, made_of: dict[int, list[int]]) -> JointIndices:
    q: list[int] = []
    u: list[int] = []
    for number in range(robot.tree):
        for joint in (model.joints[k] for k in made_of[number]):
            q += range(joint.idx_q, joint.idx_q + joint.nq)
            u += range(joint.idx_v, joint.idx_v + joint.nv)
    return JointIndices(np.array(q, dtype=int), np.array(u, dtype=int))


def _constraint_dynamics_reason(robot: Robot, engine: PinocchioEngine) -> str:
    """Why `constraintDynamics` cannot be used; empty if it can."""
    others = [
        joint.kind.value for joint in robot.closures if joint.kind not in _CONTACT_TYPES or joint.at_point
    ]
    if others:
        return f"it has no constraint for a {others[0]} closure"
    if any(joint.rotor_inertia for joint in robot.closures):
        return "it has no rotors in closures"
    model = engine.model
    data = model.createData()
    guess = np.concatenate([np.array(joint.guess, dtype=float) for joint in robot.tree_joints])
    q = engine.configuration(TreeState(robot.reference, guess, np.zeros(0), np.zeros(0), np.zeros(0)))
    half = pin.crba(model, data, q)
    values = np.linalg.eigvalsh(np.triu(half) + np.triu(half, 1).T)
    if values[0] < 1e-10 * values[-1]:
        return "bodies without inertia make the mass matrix of the tree singular"
    return ""
