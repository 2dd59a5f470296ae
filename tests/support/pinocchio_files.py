"""The dynamics of a URDF by Pinocchio itself, its loops held exactly, beside an imported robot.

With Pinocchio's mass matrix M, bias h, damping D and the rows J of the loops,

    M u' + h + D u = B tau + J^T lambda,      J u' + J' u = 0

is solved as it is, in a basis of the null space of J. Coordinates of Pinocchio's tree follow from the poses
of the robot's bodies and the loops by Newton's method, rates and their derivatives by least squares, so that
joints may be written otherwise in the two; what is left of these equations is compared too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pinocchio as pin

import nacelle
from nacelle.kinematics.underactuated import undriven_coordinates
from nacelle.model.robot import Robot
from nacelle.model.source.yaml import read_yaml
from nacelle.spatial.scalar import Array
from nacelle.verify.states import random_states

_AXES = {"X": pin.JointModelRX, "Y": pin.JointModelRY, "Z": pin.JointModelRZ}


@dataclass(frozen=True, eq=False)
class Loop:
    """Two frames and the directions (6, k) of the second's twist in the first that are held."""

    first: int
    second: int
    held: Array


# Singular values of the loops below this part of the largest are digits of the file.
_RANK = 1e-8
WELD = np.eye(6)
POINT = np.eye(6)[:, :3]


class File:
    """A URDF in Pinocchio beside the robot that was imported from it; names of bodies end alike."""

    def __init__(
        self, urdf: Path, robot: Robot | None, side: Path | None = None, floating: bool = False
    ) -> None:
        """Load the file; a closure file gives loops and other types of joints."""
        self.robot = robot
        root = [pin.JointModelFreeFlyer()] if floating else []
        self.model = pin.buildModelFromUrdf(str(urdf), *root)
        self.loops: list[Loop] = []
        self.ratios: list[tuple[str, dict[str, float]]] = []
        if side is not None:
            entries = read_yaml(side.read_bytes(), str(side)).root.plain()
            kinds = dict(zip(entries.get("joint_name", []), entries.get("joint_type", []), strict=True))
            self.model = with_joint_types(self.model, kinds)
            types = entries.get("type", ["6d"] * len(entries["closed_loop"]))
            for (one, other), kind in zip(entries["closed_loop"], types, strict=True):
                self.add_loop(one, other, POINT if kind.lower() == "3d" else WELD)
        self.data = self.model.createData()
        self.q = pin.neutral(self.model)
        self.bodies = [
            (k, self.model.getFrameId(frame.name, frame.type))
            for k, own in enumerate(() if robot is None else robot.bodies)
            for frame in self.model.frames
            if frame.type == pin.FrameType.BODY and k > 0 and own.name in self._names(frame.name, own.name)
        ]

    def _names(self, name: str, own: str) -> set[str]:
        """Names that a body of the file may have in the robot: with the leg's, without the shared prefix."""
        plain = name.replace("/", "-").replace(" ", "-")
        leg = own.split(".", maxsplit=1)[0]
        return {plain, f"{leg}.{plain}", *(f"{leg}.{plain.removeprefix(leg + mark)}" for mark in "-_")}

    def add_loop(self, one: str, other: str, held: Array) -> None:
        """Close a loop between two frames by their names: joints first, then links."""
        self.loops.append(Loop(self.model.getFrameId(one), self.model.getFrameId(other), held))

    def add_frame(self, name: str, link: str, place: pin.SE3) -> None:
        """A frame on a link, for loops."""
        on = self.model.frames[self.model.getFrameId(link, pin.FrameType.BODY)]
        self.model.addFrame(pin.Frame(name, on.parentJoint, on.placement * place, pin.FrameType.OP_FRAME))
        self.data = self.model.createData()

    def place(self, q: Array, u: Array, u_dot: Array) -> None:
        """Kinematics of all frames."""
        pin.forwardKinematics(self.model, self.data, q, u, u_dot)
        pin.computeJointJacobians(self.model, self.data, q)
        pin.updateFramePlacements(self.model, self.data)

    def twist(self, frame: int) -> tuple[pin.Motion, Array, Array]:
        """Local velocity of a frame, its acceleration as placed, its Jacobian."""
        velocity = pin.getFrameVelocity(self.model, self.data, frame, pin.LOCAL)
        bias = pin.getFrameAcceleration(self.model, self.data, frame, pin.LOCAL).vector
        return velocity, bias, pin.getFrameJacobian(self.model, self.data, frame, pin.LOCAL)

    def rows(self) -> tuple[Array, Array, Array]:
        """Rows J (m, nv) of the loops, J' u, and the gaps, at a state placed without accelerations."""
        J, bias, gaps = [np.zeros((0, self.model.nv))], [np.zeros(0)], [np.zeros(0)]
        for loop in self.loops:
            (v1, a1, J1), (v2, a2, J2) = self.twist(loop.first), self.twist(loop.second)
            X = self.data.oMf[loop.first].actInv(self.data.oMf[loop.second])
            moved = X.act(v2)
            relative = X.toActionMatrix() @ J2 - J1
            # d/dt of X v2 - v1 in the axes of the first frame: the axes turn with v1.
            drift = X.toActionMatrix() @ a2 - a1 - v1.cross(moved - v1).vector
            J.append(loop.held.T @ relative)
            bias.append(loop.held.T @ drift)
            gaps.append(loop.held.T @ _pose_error(X))
        for joint, follows in self.ratios:
            row = np.zeros((1, self.model.nv))
            for name, ratio in {joint: -1.0, **follows}.items():
                row[0, self.model.joints[self.model.getJointId(name)].idx_v] = ratio
            J.append(row)
            bias.append(np.zeros(1))
        return np.concatenate(J), np.concatenate(bias), np.concatenate(gaps)

    def coordinates(self, poses: nacelle.Poses) -> Array:
        """Pinocchio's coordinates of a configuration of the robot."""
        q, zero = self.q, np.zeros(self.model.nv)
        for _ in range(100):
            self.place(q, zero, zero)
            J, _, gaps = self.rows()
            rows, left = [J[: len(gaps)]], [gaps]
            for body, frame in self.bodies:
                wanted = pin.SE3(np.array(poses.R[body]), np.array(poses.p[body]))
                X = wanted.actInv(self.data.oMf[frame])
                rows.append(X.toActionMatrix() @ self.twist(frame)[2])
                left.append(_pose_error(X))
            step = np.linalg.lstsq(np.concatenate(rows), -np.concatenate(left), rcond=1e-12)[0]
            q = pin.integrate(self.model, q, step / max(1.0, 2.0 * float(np.max(np.abs(step)))))
            if np.max(np.abs(step)) < 1e-14:
                break
        self.q = q
        return q

    def rates(self, q: Array, moved: nacelle.kinematics.BodyMotion) -> tuple[Array, Array, float]:
        """Pinocchio's rates and their derivatives, and the part of both that its joints do not have."""
        zero = np.zeros(self.model.nv)
        self.place(q, zero, zero)
        J, left = [self.rows()[0]], [np.zeros(len(self.rows()[0]))]
        for body, frame in self.bodies:
            R = self.data.oMf[frame].rotation.T
            J.append(self.twist(frame)[2])
            left.append(np.concatenate([R @ moved.twist[body, :3], R @ moved.twist[body, 3:]]))
        rows, b = np.concatenate(J), np.concatenate(left)
        u = np.linalg.lstsq(rows, b, rcond=1e-12)[0]
        miss = _relative_error(rows @ u - b, b)
        self.place(q, u, zero)
        left = [-self.rows()[1]]
        for body, frame in self.bodies:
            R = self.data.oMf[frame].rotation.T
            bias = pin.getFrameClassicalAcceleration(self.model, self.data, frame, pin.LOCAL).vector
            wanted = np.concatenate([R @ moved.acceleration[body, :3], R @ moved.acceleration[body, 3:]])
            left.append(wanted - bias)
        b = np.concatenate(left)
        u_dot = np.linalg.lstsq(rows, b, rcond=1e-12)[0]
        return u, u_dot, max(miss, _relative_error(rows @ u_dot - b, b))

    def balance(self, q: Array, u: Array) -> Balance:
        """The equations of motion at a state."""
        M = pin.crba(self.model, self.data, q)
        h = pin.nonLinearEffects(self.model, self.data, q, u) + self.model.damping * u
        self.place(q, u, np.zeros(self.model.nv))
        J, bias, _ = self.rows()
        return Balance(np.triu(M) + np.triu(M, 1).T, h, J, bias)


class Balance:
    """M u' + h = force + J^T lambda and J u' + bias = 0, whatever the rank of J.

    Rates are scaled by the roots of their inertias: the null space N of J is orthogonal to rounding in these,
    so that a heavy link does not push a light one along rows of the loops that hold it.
    """

    def __init__(self, M: Array, h: Array, J: Array, bias: Array) -> None:
        """Find the motions that the loops allow."""
        inertias = np.diag(M)
        S = 1.0 / np.sqrt(np.maximum(inertias, 1e-14 * np.max(inertias)))
        J = J * S
        # Rows of lengths and of angles are compared by rank: each row has unit length.
        scale = np.linalg.norm(J, axis=1)
        keep = scale > 1e-9 * np.max(scale, initial=0.0)
        J, bias = J[keep] / scale[keep, None], bias[keep] / scale[keep]
        N, start = np.eye(len(S)), np.zeros(len(S))
        if len(J):
            _, s, Vt = np.linalg.svd(J)
            N = Vt[int(np.sum(s > _RANK * s[0])) :].T
            start = -np.linalg.pinv(J, rcond=_RANK) @ bias
        self.M, self.h, self.N, self.start = M, h, S[:, None] * N, S * start

    def accelerations(self, force: Array) -> Array:
        """Accelerations (nv,) under forces of all rates."""
        M, N = self.M, self.N
        return self.start + N @ np.linalg.solve(N.T @ M @ N, N.T @ (force - self.h - M @ self.start))

    def forces(self, u_dot: Array, places: Sequence[int]) -> Array:
        """Forces at some rates that give accelerations."""
        needed = self.N.T @ (self.M @ u_dot + self.h)
        return np.asarray(np.linalg.lstsq(self.N[list(places)].T, needed, rcond=1e-12)[0])

    def size(self, u_dot: Array) -> float:
        """The size of accelerations in the metric of kinetic energy: digits of a file move light bodies."""
        return float(np.sqrt(u_dot @ self.M @ u_dot))


def _pose_error(X: pin.SE3) -> Array:
    """How far a pose is from the identity: translation and rotation vector."""
    return np.concatenate([X.translation, pin.log3(X.rotation)])


def _relative_error(missed: Array, of: Array) -> float:
    return float(np.max(np.abs(missed), initial=0.0) / np.max(np.abs(of), initial=1e-300))


def with_joint_types(model: pin.Model, kinds: dict[str, str]) -> pin.Model:
    """A model with other types of joints, in the words of Gepetto's closure files."""
    made = pin.Model()
    made.gravity = model.gravity
    # The joint that each has become, and its frame there: a fixed one is that before it.
    became = {0: (0, pin.SE3.Identity())}
    for k in range(1, model.njoints):
        name, (parent, at) = model.names[k], became[model.parents[k]]
        placement = at * model.jointPlacements[k]
        joints = [(name, model.joints[k])]
        if kinds.get(name) == "SPHERICAL":
            joints = [(name, pin.JointModelSpherical())]
        elif kinds.get(name) == "FIXED":
            joints = []
        elif kinds.get(name, "").startswith("UJOINT"):
            joints = [(f"{name}_{letter}", _AXES[letter]()) for letter in kinds[name][-2:]]
        for own, joint in joints:
            parent = made.addJoint(parent, joint, placement, own)
            placement = pin.SE3.Identity()
        made.appendBodyToJoint(parent, model.inertias[k], placement)
        became[k] = parent, placement
    kept = [
        (made.getJointId(name), k) for k, name in enumerate(model.names) if k and made.existJointName(name)
    ]
    damping = np.zeros(made.nv)
    for own, k in kept:
        first = made.joints[own].idx_v
        damping[first : first + model.joints[k].nv] = model.damping[model.joints[k].idx_v]
    made.damping = damping
    for frame in list(model.frames)[1:]:
        parent, at = became[frame.parentJoint]
        made.addFrame(pin.Frame(frame.name, parent, at * frame.placement, frame.type), False)
    return made


def errors(file: File, states: int = 100, seed: int = 0) -> dict[str, float]:
    """Largest relative errors of the loops (m, rad), rates, forward and inverse dynamics."""
    robot, model = file.robot, file.model
    drawn = random_states(robot, states, seed)
    inverse = nacelle.inverse_dynamics(robot, drawn.x, drawn.v, drawn.a, free=undriven_coordinates(robot))
    a = drawn.a if inverse.a is None else inverse.a
    pushed = inverse.tau * drawn.push
    ahead = nacelle.forward_dynamics(robot, drawn.x, drawn.v, pushed).a
    drive_indices = actuator_indices(file)
    worst = dict.fromkeys(("loops", "rates", "inverse", "forward"), 0.0)
    for k in range(states):
        q = file.coordinates(nacelle.inverse_kinematics(robot, drawn.x[k]).bodies)
        worst["loops"] = max(worst["loops"], float(np.max(np.abs(file.rows()[2]), initial=0.0)))
        u, u_dot, missed = file.rates(q, nacelle.kinematics.body_motion(robot, drawn.x[k], drawn.v[k], a[k]))
        balance = file.balance(q, u)
        forces = balance.forces(u_dot, drive_indices)
        _, ours, also = file.rates(q, nacelle.kinematics.body_motion(robot, drawn.x[k], drawn.v[k], ahead[k]))
        tau = np.zeros(model.nv)
        tau[list(drive_indices)] = pushed[k]
        theirs = balance.accelerations(tau)
        worst["rates"] = max(worst["rates"], missed, also)
        worst["inverse"] = max(worst["inverse"], _relative_error(forces - inverse.tau[k], forces))
        worst["forward"] = max(worst["forward"], balance.size(theirs - ours) / balance.size(theirs))
    return worst


def actuator_indices(file: File) -> Sequence[int]:
    """Places of the robot's actuators among Pinocchio's rates."""
    ends = {name.replace("/", "-"): k for k, name in enumerate(file.model.names)}
    indices = []
    for actuator in file.robot.actuators:
        name = file.robot.joints[actuator.joint].name
        leg, _, own = name.partition(".")
        found = next(ends[n] for n in (own, f"{leg}_{own}", f"{leg}-{own}", name) if n in ends)
        indices.append(file.model.joints[found].idx_v)
    return indices
