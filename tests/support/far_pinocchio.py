"""Actuator forces by Pinocchio at many states: its tree, its recursions, and a projection of its own.

Of nacelle's numbers Pinocchio takes the pose of the platform and the coordinates of the tree's joints, and
how far the loops are open there is measured. Everything else follows from its frames. With the rates u of the
tree, and phi = 0 where the loops are closed,

    K u = [phi'; idle spins; platform] u = [0; 0; v],    K u' = [0; 0; a] - (K' u),    u = G v
    A^T Gamma = G^T (rnea(q, u, u') + rotors + friction)

phi is the gap between the two ends of a closure along the axes of its first end, and the cosines between axes
that stay perpendicular. A rod between two balls does not spin: of its angular velocity the part along it
is 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pinocchio as pin

import nacelle
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.model.joint import FrictionTerm, Joint, Primitive
from nacelle.model.leg import PLATFORM
from nacelle.model.platform import AXES
from nacelle.model.robot import Robot
from nacelle.verify.engines import pinocchio
from support.pinocchio_tree import se3

Array = np.ndarray

_CHUNK = 1000
_WORLD = pin.LOCAL_WORLD_ALIGNED


class ForcesByPinocchio(NamedTuple):
    """Results at states.

    Attributes:
        force: of the actuators (N, actuators).
        gap: how far loops are open (N,), lengths over the robot's size.
        pivot: the smallest pivot of K over the largest (N,); 0 where rates of the tree are not determined.
    """

    force: Array
    gap: Array
    pivot: Array


class _Frames(NamedTuple):
    """A frame at states: R (K, 3, 3), p (K, 3), J (K, 6, rates), its twist and the derivative at u' = 0."""

    R: Array
    p: Array
    J: Array
    V: Array
    A: Array


class _Row(NamedTuple):
    """A function of the configuration: Jacobian (K, rates), second derivative at u' = 0 (K,), in m or not."""

    J: Array
    bias: Array
    is_length: bool = False


class _System(NamedTuple):
    """K (K, rows, rates), K' u (K, rows), and weights of the rows (rows,)."""

    K: Array
    bias: Array
    weight: Array


@dataclass(frozen=True)
class _Axis:
    """One axis of a joint with friction, or three of a ball: its rates over the tree's (K, r, rates)."""

    friction: Sequence[FrictionTerm]
    J: Array


class PinocchioForces:
    """A rigid robot of the library in Pinocchio."""

    def __init__(self, robot: Robot) -> None:
        joints = robot.joints
        if any(map(any, (joint.springs for joint in joints))) or robot.springs or robot.torsion_springs:
            raise NotImplementedError("springs are not compared")
        if robot.dampers or any(joint.rotor_inertia for joint in robot.closures):
            raise NotImplementedError("dampers and rotors in closures are not compared")
        if any(joint.is_coupling for joint in robot.closures):
            raise NotImplementedError("couplings are not compared")
        self.robot, self.engine = robot, pinocchio.build(robot)
        self.model = model = self.engine.model
        self.spins = mechanism_of(robot).mobility.internal_freedoms
        self.ends: list[int] = []
        for joint in robot.closures:
            for body, frame in (
                (joint.predecessor, joint.frame_predecessor),
                (joint.successor, joint.frame_successor),
            ):
                carrier = model.frames[self.engine.frames[body]]
                placement = carrier.placement * se3(frame)
                made = pin.Frame(f"end {len(self.ends)}", carrier.parentJoint, 0, placement, pin.OP_FRAME)
                self.ends.append(model.addFrame(made))
        bodies = [PLATFORM, *(spin.body for spin in self.spins)]
        self.frames = [*self.ends, *(self.engine.frames[body] for body in bodies)]
        self.armature = np.zeros(model.nv)
        # Columns of K in the robot's size, and its rows: ranks do not depend on units.
        self.unit = np.ones(model.nv)
        self.unit[:3] = robot.size
        for joint, entries in zip(robot.tree_joints, robot.v_slices, strict=True):
            places = self.engine.indices.u[entries]
            self.armature[places] = joint.gear_ratio**2 * joint.rotor_inertia
            rotates = [p.is_rotation for p in joint.primitives for _ in range(p.nv)]
            self.unit[places] = np.where(rotates, 1.0, robot.size)

    def forces(self, x: Array, v: Array, a: Array) -> ForcesByPinocchio:
        """Forces at poses x (N, nx), twists and accelerations (N, n) that the robot reaches."""
        parts = [
            self._chunk(x[k : k + _CHUNK], v[k : k + _CHUNK], a[k : k + _CHUNK])
            for k in range(0, len(x), _CHUNK)
        ]
        return ForcesByPinocchio(*(np.concatenate(part) for part in zip(*parts, strict=True)))

    def _chunk(self, x: Array, v: Array, a: Array) -> ForcesByPinocchio:
        robot, model, data = self.robot, self.model, self.model.createData()
        found = nacelle.inverse_kinematics(robot, x, limits=False)
        q = np.zeros((len(x), model.nq))
        q[:, :3] = found.bodies.p[:, PLATFORM]
        if robot.platform.kind != "point":
            for row, R in zip(q, found.bodies.R[:, PLATFORM], strict=True):
                row[3:7] = pin.Quaternion(np.ascontiguousarray(R)).coeffs()
        q[:, self.engine.indices.q] = found.q_tree
        frames = self._evaluate(data, q, np.zeros((len(x), model.nv)))
        rows, gap, _ = self._closures(frames)
        system = self._system(rows, frames)
        zero = np.zeros((len(x), len(system.weight) - robot.motion.n))
        solve, pivot = _least_squares(system, self.unit)
        u = solve(np.concatenate([zero, v], axis=1)[..., None])[..., 0]
        frames = self._evaluate(data, q, u)
        rows, _, axes = self._closures(frames)
        right = np.concatenate([zero, a], axis=1) - self._system(rows, frames).bias
        u_dot = solve(right[..., None])[..., 0]
        unit_motions = np.zeros((len(x), len(system.weight), robot.motion.n))
        unit_motions[:, -robot.motion.n :] = np.eye(robot.motion.n)
        G = solve(unit_motions)
        tau = np.array([pin.rnea(model, data, *state) for state in zip(q, u, u_dot, strict=True)])
        tau += self.armature * u_dot
        for axis in [*axes, *self._tree_axes(len(x))]:
            rate = (axis.J @ u[..., None])[..., 0]
            tau += np.einsum("kr,krv->kv", friction(axis.friction, rate), axis.J)
        driven = [robot.v_slices[actuator.joint].start for actuator in robot.actuators]
        A = G[:, self.engine.indices.u[driven]]
        force = np.linalg.pinv(np.swapaxes(A, 1, 2)) @ (np.swapaxes(G, 1, 2) @ tau[..., None])
        return ForcesByPinocchio(force[..., 0], gap, pivot)

    def _evaluate(self, data: pin.Data, q: Array, u: Array) -> list[_Frames]:
        """The frames at configurations and rates: ends of closures, the platform, bodies that spin idly."""
        model, count = self.model, len(self.frames)
        R, p = np.empty((count, len(q), 3, 3)), np.empty((count, len(q), 3))
        J, V, A = np.empty((count, len(q), 6, model.nv)), *np.empty((2, count, len(q), 6))
        none = np.zeros(model.nv)
        for k, (q_k, u_k) in enumerate(zip(q, u, strict=True)):
            pin.forwardKinematics(model, data, q_k, u_k, none)
            pin.computeJointJacobians(model, data, q_k)
            for i, frame in enumerate(self.frames):
                placement = pin.updateFramePlacement(model, data, frame)
                R[i, k], p[i, k] = placement.rotation, placement.translation
                J[i, k] = pin.getFrameJacobian(model, data, frame, _WORLD)
                V[i, k] = pin.getFrameVelocity(model, data, frame, _WORLD).vector
                A[i, k] = pin.getFrameClassicalAcceleration(model, data, frame, _WORLD).vector
        return [_Frames(*parts) for parts in zip(R, p, J, V, A, strict=True)]

    def _closures(self, frames: list[_Frames]) -> tuple[list[_Row], Array, list[_Axis]]:
        """Rows of the closures, the largest gap of each state, and axes of the closures with friction."""
        rows, gaps, axes = [], [], []
        for k, joint in enumerate(self.robot.closures):
            one, two = frames[2 * k], frames[2 * k + 1]
            locked, free, turns = _split_motion(joint)
            d = two.p - one.p
            for i in [] if joint.at_point else locked:
                rows.append(_along(one, two, i))
                gaps.append(np.einsum("kj,kj->k", one.R[:, :, i], d) / self.robot.size)
            for s, z in _perpendicular(turns):
                rows.append(_cosine(one, two, s, z))
                gaps.append(np.einsum("kj,kj->k", one.R[:, :, s], two.R[:, :, z]))
            if not any(joint.friction):
                continue
            relative = two.J[:, 3:] - one.J[:, 3:]
            for number, primitive in enumerate(joint.primitives):
                if primitive is Primitive.SPHERICAL:
                    J = relative
                elif primitive.is_rotation:
                    side = one if primitive.axis == turns[0] else two
                    J = np.einsum("kj,kjv->kv", side.R[:, :, primitive.axis], relative)[:, None]
                else:
                    assert primitive.axis in free
                    J = _along(one, two, primitive.axis).J[:, None]
                axes.append(_Axis(joint.friction[number], J))
        return rows, np.max(np.abs(gaps), axis=0), axes

    def _system(self, rows: list[_Row], frames: list[_Frames]) -> _System:
        """Closures, idle spins, and the platform's motion."""
        platform, *spinning = frames[len(self.ends) :]
        for spin, body in zip(self.spins, spinning, strict=True):
            axis = body.R @ np.array(spin.axis)
            rows.append(
                _Row(np.einsum("kj,kjv->kv", axis, body.J[:, 3:]), np.einsum("kj,kj->k", axis, body.A[:, 3:]))
            )
        for name in self.robot.motion.coordinates:
            if name in self.robot.motion.joint_names:
                place = self.engine.indices.u[self.robot.v_slices[self.robot.joint(name)].start]
                J = np.zeros_like(platform.J[:, 0])
                J[:, place] = 1.0
                slides = self.unit[place] != 1.0
                rows.append(_Row(J, np.zeros(len(J)), slides))
            else:
                i = AXES.index(name)
                rows.append(_Row(platform.J[:, i], platform.A[:, i], i < 3))
        weight = np.array([1.0 / self.robot.size if row.is_length else 1.0 for row in rows])
        return _System(*(np.stack([part[k] for part in rows], axis=1) for k in (0, 1)), weight)

    def _tree_axes(self, count: int) -> list[_Axis]:
        axes = []
        for joint, entries in zip(self.robot.tree_joints, self.robot.v_slices, strict=True):
            start = entries.start
            for number, primitive in enumerate(joint.primitives):
                J = np.zeros((count, primitive.nv, self.model.nv))
                J[:, range(primitive.nv), self.engine.indices.u[start : start + primitive.nv]] = 1.0
                start += primitive.nv
                if joint.friction and joint.friction[number]:
                    axes.append(_Axis(joint.friction[number], J))
        return axes


def _split_motion(joint: Joint) -> tuple[list[int], list[int], list[int] | None]:
    """Axes along which the ends of a closure stay together, and slide; axes of rotation, None for a ball."""
    turns = [p.axis for p in joint.primitives if p.is_rotation and p is not Primitive.SPHERICAL]
    ball = Primitive.SPHERICAL in joint.primitives
    strokes = [p.axis for p in joint.primitives if not p.is_rotation]
    order = [p.is_rotation for p in joint.primitives]
    if order != sorted(order) or len(turns) > 2:
        raise NotImplementedError(f"no closure of these robots is a {joint.kind} joint")
    return [i for i in range(3) if i not in strokes], strokes, None if ball else turns


def _perpendicular(turns: list[int] | None) -> list[tuple[int, int]]:
    """Axes of the first and the second end that stay perpendicular."""
    if turns is None:
        return []
    if not turns:
        return [(0, 1), (1, 2), (2, 0)]
    return [(turns[0], turns[1])] if len(turns) == 2 else [(i, turns[0]) for i in range(3) if i != turns[0]]


def _along(one: _Frames, two: _Frames, i: int) -> _Row:
    """Of e . d, e axis i of the first end, d from the first to the second."""
    e, d = one.R[:, :, i], two.p - one.p
    w, d_rate = one.V[:, 3:], two.V[:, :3] - one.V[:, :3]
    # (w x e) . d = (e x d) . w
    J = np.einsum("kj,kjv->kv", e, two.J[:, :3] - one.J[:, :3])
    J += np.einsum("kj,kjv->kv", np.cross(e, d), one.J[:, 3:])
    e_rate = np.cross(w, e)
    bias = _dot(e, two.A[:, :3] - one.A[:, :3]) + 2.0 * _dot(e_rate, d_rate)
    bias += _dot(np.cross(one.A[:, 3:], e) + np.cross(w, e_rate), d)
    return _Row(J, bias, True)


def _cosine(one: _Frames, two: _Frames, i: int, j: int) -> _Row:
    """Of s . z, s axis i of the first end, z axis j of the second."""
    s, z = one.R[:, :, i], two.R[:, :, j]
    w, lever = one.V[:, 3:] - two.V[:, 3:], np.cross(s, z)
    lever_rate = np.cross(np.cross(one.V[:, 3:], s), z) + np.cross(s, np.cross(two.V[:, 3:], z))
    J = np.einsum("kj,kjv->kv", lever, one.J[:, 3:] - two.J[:, 3:])
    return _Row(J, _dot(lever, one.A[:, 3:] - two.A[:, 3:]) + _dot(lever_rate, w))


def _dot(a: Array, b: Array) -> Array:
    return np.einsum("kj,kj->k", a, b)


def _least_squares(system: _System, unit: Array) -> tuple[Callable[[Array], Array], Array]:
    """What solves K X = B (K, rows, m) by least squares, and the smallest pivot over the largest."""
    weight = system.weight[:, None]
    Q, R = np.linalg.qr(weight * system.K * unit)
    pivots = np.abs(np.diagonal(R, axis1=-2, axis2=-1))

    def solve(B: Array) -> Array:
        return unit[:, None] * np.linalg.solve(R, np.swapaxes(Q, -1, -2) @ (weight * B))

    return solve, np.min(pivots, axis=-1) / np.max(pivots, axis=-1)


def friction(terms: Sequence[FrictionTerm], rate: Array) -> Array:
    """Friction (K, r) at rates (K, r) of an axis, or of a ball: along its angular velocity."""
    speed = rate if rate.shape[1] == 1 else np.linalg.norm(rate, axis=1, keepdims=True)
    force = np.zeros_like(speed)
    for term in terms:
        basis = {
            "viscous": lambda scale: speed,
            "coulomb": lambda scale: np.sign(speed),
            "coulomb-smooth": lambda scale: np.tanh(speed / scale),
            "stribeck": lambda scale: np.exp(-((speed / scale) ** 2)) * np.sign(speed),
            "quadratic": lambda scale: speed * np.abs(speed),
            "cubic": lambda scale: speed**3,
            "constant": lambda scale: np.ones_like(speed),
        }[term.basis]
        force += term.coefficient * basis(term.scale)
    return force if rate.shape[1] == 1 else force * rate / np.maximum(speed, 1e-300)
