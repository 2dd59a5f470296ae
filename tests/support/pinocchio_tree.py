"""The spanning tree of a robot as a Pinocchio model, made from the dataclasses alone.

Nothing of `nacelle.kinematics` is used: the motion of each kind of joint is written down again here
from the conventions, and the constraints of closures follow from the motions that a joint allows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from nacelle.model.joint import Joint, JointKind
from nacelle.model.robot import Robot
from nacelle.spatial.pose import Pose

Array = np.ndarray

_STEPS: dict[JointKind, tuple[str, ...]] = {
    JointKind.REVOLUTE: ("RZ",),
    JointKind.PRISMATIC: ("PZ",),
    JointKind.CYLINDRICAL: ("PZ", "RZ"),
    JointKind.UNIVERSAL: ("RX", "RY"),
    JointKind.SPHERICAL: ("Spherical",),
    JointKind.PLANAR_SPHERICAL: ("PX", "PY", "Spherical"),
    JointKind.SPHERICAL_PLANAR: ("Spherical", "PX", "PY"),
    JointKind.FIXED: (),
}


def se3(pose: Pose) -> pin.SE3:
    return pin.SE3(np.array(pose.R, dtype=float), np.array(pose.p, dtype=float))


@dataclass(frozen=True)
class PinocchioTree:
    """A Pinocchio model of the tree of a robot.

    Attributes:
        robot: the robot.
        model: base, platform (free flyer; a point translates) and the tree joints in their order.
        frames: for each body the index of its frame in the model.
        R_point: rotation of a point nacelle's frame, which does not turn.
    """

    robot: Robot
    model: pin.Model
    frames: tuple[int, ...]
    R_point: Array

    def configuration(self, platform: Pose, q: Array) -> Array:
        """Pinocchio's configuration."""
        if self.robot.nacelle.kind == "point":
            return np.concatenate([platform.p, q])
        return np.concatenate([pin.SE3ToXYZQUAT(se3(platform)), q])

    def velocity_map(self, platform: Pose) -> Array:
        """Matrix that takes the rates of the tree to Pinocchio's velocity.

        The platform's twist at its origin is in base axes here and in body axes there; everything else
        is the same, with the rate of a ball in the axes of the successor's joint frame.
        """
        D = np.eye(self.model.nv)
        if self.robot.nacelle.kind != "point":
            D[:3, :3] = D[3:6, 3:6] = platform.R.T
        return D

    def state(self, platform: Pose, q: Array, u: Array | None = None) -> PinocchioState:
        """Place the bodies; with u also give their velocities."""
        data = self.model.createData()
        D = self.velocity_map(platform)
        x = self.configuration(platform, q)
        if u is None:
            pin.forwardKinematics(self.model, data, x)
        else:
            pin.forwardKinematics(self.model, data, x, D @ u)
        pin.computeJointJacobians(self.model, data, x)
        pin.updateFramePlacements(self.model, data)
        return PinocchioState(self, data, D)


@dataclass(frozen=True)
class PinocchioState:
    """The tree at one state."""

    tree: PinocchioTree
    data: pin.Data
    D: Array

    def pose(self, body: int) -> pin.SE3:
        return self.data.oMf[self.tree.frames[body]]

    def twist(self, body: int) -> Array:
        """Twist [v; w] of a body at its origin in base axes."""
        frame = self.tree.frames[body]
        return pin.getFrameVelocity(self.tree.model, self.data, frame, pin.LOCAL_WORLD_ALIGNED).vector

    def jacobian(self, body: int) -> Array:
        """Jacobian (6, rates) of that twist over the rates of the tree."""
        frame = self.tree.frames[body]
        J = pin.getFrameJacobian(self.tree.model, self.data, frame, pin.LOCAL_WORLD_ALIGNED)
        return J @ self.D

    def point_jacobian(self, body: int, point: Array) -> Array:
        """Jacobian of the twist of a body at a point in base axes."""
        J = self.jacobian(body)
        arm = point - self.pose(body).translation
        return np.vstack([J[:3] - pin.skew(arm) @ J[3:], J[3:]])

    def constraint_rows(self, joint: Joint) -> Array:
        """What a closure forbids, as rows over the rates of the tree.

        The twist of the second frame against the first, taken at the second's origin, must lie in the
        span of the motions that the joint allows: so its part in the complement vanishes.
        """
        first = self.pose(joint.predecessor) * se3(joint.frame_predecessor)
        second = self.pose(joint.successor) * se3(joint.frame_successor)
        point = second.translation
        relative = self.point_jacobian(joint.successor, point) - self.point_jacobian(joint.predecessor, point)
        allowed = allowed_twists(joint, first.rotation, second.rotation)
        U, s, _ = np.linalg.svd(allowed)
        rank = int(np.sum(s > 1e-9))
        return U[:, rank:].T @ relative


def allowed_twists(joint: Joint, R_first: Array, R_second: Array) -> Array:
    """Twists [v; w] of the second frame against the first that a joint allows, as columns."""
    x, y, z = R_first.T
    y_second = R_second[:, 1]
    none = np.zeros(3)
    balls = [np.append(none, axis) for axis in np.eye(3)]
    slides = [np.append(axis, none) for axis in np.eye(3)]
    columns = {
        JointKind.REVOLUTE: [np.append(none, z)],
        JointKind.PRISMATIC: [np.append(z, none)],
        JointKind.CYLINDRICAL: [np.append(z, none), np.append(none, z)],
        JointKind.UNIVERSAL: [np.append(none, x), np.append(none, y_second)],
        JointKind.SPHERICAL: balls,
        JointKind.PLANAR_SPHERICAL: [np.append(x, none), np.append(y, none), *balls],
        JointKind.FIXED: [],
        JointKind.POINT: balls,
    }[joint.kind]
    if joint.at_point:
        columns = [*columns, *slides]
    return np.array(columns).reshape(-1, 6).T


def pinocchio_tree(robot: Robot, R_point: Array | None = None) -> PinocchioTree:
    """Build the Pinocchio model of a robot's tree."""
    model = pin.Model()
    R_point = np.eye(3) if R_point is None else R_point
    here = pin.SE3.Identity()
    if robot.nacelle.kind == "point":
        platform = model.addJoint(0, pin.JointModelTranslation(), here, "platform")
        on_platform = pin.SE3(R_point, np.zeros(3))
    else:
        platform = model.addJoint(0, pin.JointModelFreeFlyer(), here, "platform")
        on_platform = here
    # For each body the Pinocchio joint that carries it, and its pose there.
    carriers = {0: (0, here), 1: (platform, on_platform)}
    for number, joint in enumerate(robot.joints[: robot.tree]):
        carrier, placement = carriers[joint.predecessor]
        placement = placement * se3(joint.frame_predecessor)
        for step, name in enumerate(_STEPS[joint.kind]):
            made = getattr(pin, f"JointModel{name}")()
            carrier = model.addJoint(carrier, made, placement, f"{number}-{step}")
            placement = pin.SE3.Identity()
        carriers[joint.successor] = (carrier, placement * se3(joint.frame_successor).inverse())
    frames = []
    for index in range(len(robot.bodies)):
        carrier, placement = carriers[index]
        frames.append(model.addFrame(pin.Frame(f"body-{index}", carrier, 0, placement, pin.BODY)))
    return PinocchioTree(robot, model, tuple(frames), R_point)
