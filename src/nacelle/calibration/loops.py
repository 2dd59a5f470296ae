"""The loops of a robot whose joints lie elsewhere: states that close them, and how these follow its geometry.

A state s of the tree is the platform's pose and the coordinates of the tree's joints; along its rates u the
closures c change by J u (`nacelle.tree.closure`). A frame of a joint may lie off the description by d = [dp;
dr] (m, rad; axes of the body that carries it, about the frame's origin). In the tree a displaced frame on the
predecessor moves all bodies behind the joint by the twist T d, one on the successor by -T d; in a closure it
moves one of the two frames that are to agree. Every closure depends on the spatial twists V_1, V_2 of its two
frames as

    c' = l (V_2 - V_1),     l = [e; p_2 x e] of an offset along e,   [0; f x e] of axes e, f at right angles

so that closures and the coordinates of joints depend on everything by l and twists alone:

    J_cr = l_c C_r (m_2r - m_1r),   G_cf = l_c T_f s_cf       C_r columns of rates, m, s which move what

Couplings sum f q = o follow what their factors and offsets deviate by: c' = sum df q - do, behind the frames.

By the implicit function theorem states follow deviations as u = -J^+ G d + N m, N the motions that loops
leave.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np

from nacelle.compile import Compiled, compile_function
from nacelle.errors import CalibrationError
from nacelle.kinematics.forward import forward_kinematics
from nacelle.kinematics.mechanism.assembly import rate_scale, row_scale
from nacelle.kinematics.solve.inverse import InverseKinematics, inverse_kinematics
from nacelle.model.joint import Primitive
from nacelle.model.leg import PLATFORM
from nacelle.model.robot import Robot
from nacelle.spatial.physics import physics
from nacelle.spatial.pose import Pose
from nacelle.spatial.rotation import quat_exp, quat_from_matrices, quat_multiply, rotation_quat, skews
from nacelle.spatial.scalar import Array, cross, pack
from nacelle.tree.closure import closure_frames, closure_residual, coupling_rates
from nacelle.tree.spanning_tree import (
    coordinate_from_transform,
    joint_transform_between,
    rates_moving_bodies,
    tree_kinematics,
)

# Closed below this, over the robot's size or in rad; steps that close a loop at most.
_CLOSED, _STEPS = 1e-12, 12
# Coordinates are reached within this, rad or m and closures as above; steps to them at most.
_HELD, _HOLDING = 1e-9, 30
# Singular values below this part of the largest are none; below this condition there are surely no such.
RANK, _REGULAR = 1e-9, 1e6


def _platform_size(robot: Robot) -> tuple[int]:
    return (3,) if robot.platform_nv == 3 else (7,)


def _geometry_size(robot: Robot) -> tuple[int]:
    return (len(robot.parameter_names("geometry")),)


@physics(geometry=_geometry_size, platform=_platform_size, q=lambda robot: (robot.nq,))
def loop_state(robot: Robot, geometry: Array, platform: Array, q: Array) -> dict[str, Array]:
    """Closures of a robot of other geometry, and all by which they and its frames change.

    Args:
        robot: the robot.
        geometry: its numbers of the group "geometry".
        platform: position of the platform frame (3,), m, and its quat_xyzw unless it is a point.
        q: coordinates of the tree's joints (nq,).

    Returns:
        "closures" (rows,), m or sines; "levers" l of the closures and of the coordinates of cut joints
        (rows + cut, 6); "columns" of the rates (6, rates); "frames" (joints, 2, 3), origins of both
        frames of each joint, m; "R" and "p" of all bodies; "cut", these coordinates, rad or m.
    """
    machine = robot.with_symbols(geometry, "geometry")
    R = np.eye(3) if robot.platform_nv == 3 else rotation_quat(platform[3:])
    motion = tree_kinematics(machine, Pose(R, platform[:3]), q)
    zero, levers, cut = np.zeros(3), [], []
    for joint in machine.closures:
        first, second = (Pose(np.eye(3), zero),) * 2 if joint.is_coupling else closure_frames(joint, motion)
        for lock in joint.locks:
            e = first.R[:, lock[1]]
            if joint.is_coupling:
                levers.append(np.zeros(6))
            elif len(lock) == 2:
                levers.append(pack([*e, *cross(second.p, e)]))
            else:
                levers.append(pack([*zero, *cross(second.R[:, lock[2]], e)]))
    for j in cut_joints(robot):
        joint = machine.joints[j]
        first, second = closure_frames(joint, motion)
        z = first.R[:, 2]
        is_rotation = joint.primitives[0].is_rotation
        levers.append(pack([*zero, *z] if is_rotation else [*z, *cross(second.p, z)]))
        step = joint_transform_between(joint, first, second, 0)
        cut.append(coordinate_from_transform(step, robot.joints[j], 0))
    none = np.zeros((2, 3))
    origins = [
        none if joint.is_coupling else np.stack([pose.p for pose in closure_frames(joint, motion)])
        for joint in machine.joints
    ]
    return {
        "closures": closure_residual(machine, motion),
        "levers": np.stack(levers) if levers else np.zeros((0, 6)),
        "columns": motion.columns,
        "origins": np.stack(origins),
        "R": np.stack([pose.R for pose in motion.poses]),
        "p": np.stack([pose.p for pose in motion.poses]),
        "cut": pack(cut) if cut else np.zeros(0),
    }


def cut_joints(robot: Robot) -> tuple[int, ...]:
    """Joints of one axis where a loop is cut: their coordinates follow from the poses of two bodies."""
    return tuple(
        j
        for j in range(robot.tree, len(robot.joints))
        if robot.joints[j].primitives in ((Primitive.RZ,), (Primitive.TZ,))
    )


class CouplingTerm(NamedTuple):
    """A number of a coupling sum f q = o: index of its joint, and of the factor f; 0 for the offset o.

    The factor of the dependent coordinate (number 0) is 1.
    """

    joint: int
    number: int


def coupling_terms(robot: Robot) -> tuple[CouplingTerm, ...]:
    """All numbers of all couplings."""
    return tuple(
        CouplingTerm(j, number) for j in robot.couplings for number in range(len(robot.joints[j].terms))
    )


@lru_cache(maxsize=32)
def _compile_loops(robot: Robot) -> Compiled:
    return compile_function(loop_state, robot)


class Axis(NamedTuple):
    """An axis of a joint: index of the joint, and number of the axis in it."""

    joint: int
    number: int = 0


@dataclass(frozen=True, eq=False)
class States:
    """States of a robot's tree at samples.

    Attributes:
        platform: positions, m, and quat_xyzw (S, 7), of a point (S, 3).
        q: coordinates of the tree's joints (S, nq).
    """

    platform: Array
    q: Array

    def __getitem__(self, rows: Array) -> States:
        """Some of the samples."""
        return States(self.platform[rows], self.q[rows])


class Response(NamedTuple):
    """How something (S, k) changes with the motion that the loops leave and with parameters.

    Attributes:
        by_motion: (S, k, n).
        by_parameters: (S, k, P).
    """

    by_motion: Array
    by_parameters: Array

    def transform(self, map_: Array) -> Response:
        """The same of what depends on it linearly, by maps (S, j, k)."""
        return Response(map_ @ self.by_motion, map_ @ self.by_parameters)


class Effects(NamedTuple):
    """Twists of frames by parameters, only those that are not zero.

    Attributes:
        twists: (S, 6, E), spatial, at the base's origin.
        frames: of which frame each is (E,).
        sums: from the effects to the parameters behind them (E, P), 0 or 1.
    """

    twists: Array
    frames: Array
    sums: Array

    def on(self, signs: Array) -> Array:
        """Twists (S, 6, P) of what frames move with signs (F,)."""
        return np.asarray((self.twists * signs[self.frames]) @ self.sums)


@dataclass(frozen=True, eq=False)
class Linearised:
    """The loops at states, and how everything there changes with parameters.

    Attributes:
        loops: of which robot.
        values: what `loop_state` gives at each sample.
        effects: of the parameters on frames.
        motions: N (S, rates, n), the motions that the loops leave, orthonormal in the rates' scales.
        follow: -J^+ G (S, rates, P), how states follow the parameters.
        opened: what parameters open that no motion can close (S, rows, P), scaled: of loops that are
            overconstrained.
    """

    loops: Loops
    values: dict[str, Array]
    effects: Effects
    motions: Array
    follow: Array
    opened: Array

    def joint(self, axis: Axis, states: States) -> tuple[Array, Response]:
        """Coordinates (S,) of an axis (joint, number), rad or m, and their change (S, 1, ...)."""
        loops, (j, number) = self.loops, axis
        robot = loops.robot
        if j < robot.tree:
            at = (
                robot.platform_nv
                + robot.v_slices[j].start
                + sum(p.nv for p in robot.joints[j].primitives[:number])
            )
            index = robot.q_slices[j].start + sum(p.nq for p in robot.joints[j].primitives[:number])
            return states.q[:, index], Response(self.motions[:, [at]], self.follow[:, [at]])
        k = cut_joints(robot).index(j)
        lever = self.values["levers"][:, [loops.rows + k]]
        closure = j - robot.tree
        by_rates = lever @ (self.values["columns"] * loops.apart[closure])
        direct = lever @ self.effects.on(loops.frame_apart[closure])
        return self.values["cut"][:, k], Response(by_rates @ self.motions, direct + by_rates @ self.follow)

    def body(self, body: int) -> Response:
        """Spatial twists [v0; w] (S, 6, ...) of a body."""
        columns = self.values["columns"] * self.loops.movers[body]
        direct = self.effects.on(self.loops.carried[body])
        return Response(columns @ self.motions, direct + columns @ self.follow)

    def point(self, body: int, point: Array) -> tuple[Array, Response]:
        """Positions (S, 3) of a point (3,) of a body's frame, base axes, and their change; m."""
        p = self.values["p"][:, body] + self.values["R"][:, body] @ point
        return p, self.body(body).transform(velocity_maps(p))


def velocity_maps(points: Array) -> Array:
    """Maps (S, 3, 6) from spatial twists [v0; w] to velocities v0 + w x p of points (S, 3)."""
    return np.concatenate([np.broadcast_to(np.eye(3), (len(points), 3, 3)), -skews(points)], axis=2)


class Loops:
    """The loops of a robot, prepared for many states and geometries.

    Attributes:
        robot: the robot of the description.
        rows: number of closure equations.
        movers: which rates move which body (bodies, rates), 0 or 1.
        carried: how frames of joints move bodies (bodies, F): 1, -1 or 0; frame 2 j + side of joint j.
        apart: which rates move the two bodies of a closure against each other (closures, rates), 1 or -1.
        frame_apart: the same of frames (closures, F).
    """

    def __init__(self, robot: Robot) -> None:
        """Compile the program."""
        self.robot = robot
        self.function = _compile_loops(robot)
        self.movers = rates_moving_bodies(robot).astype(float)
        count = 2 * len(robot.joints)
        self.carried = np.zeros((len(robot.bodies), count))
        for j, joint in enumerate(robot.tree_joints):
            self.carried[joint.successor] = self.carried[joint.predecessor]
            self.carried[joint.successor, [2 * j, 2 * j + 1]] = 1.0, -1.0
        closures = [(joint.predecessor, joint.successor) for joint in robot.closures]
        self.apart = np.array([self.movers[b] - self.movers[a] for a, b in closures]).reshape(
            len(closures), -1
        )
        self.frame_apart = np.zeros((len(closures), count))
        for k, (a, b) in enumerate(closures):
            j = robot.tree + k
            self.frame_apart[k] = self.carried[b] - self.carried[a]
            self.frame_apart[k, [2 * j, 2 * j + 1]] += -1.0, 1.0
        self._closure_of_row = np.array(
            [k for k, joint in enumerate(robot.closures) for _ in joint.locks], int
        )
        self.rows = len(self._closure_of_row)
        self._row_scale, self._rate_scale = row_scale(robot), rate_scale(robot)
        self._coupled = np.zeros((self.rows, self.movers.shape[1]))
        self.coupling_terms = coupling_terms(robot)
        self._frame_numbers = _geometry_size(robot)[0]
        # Of each such number the row of its coupling, the rate and the coordinate; -1 for an offset.
        self._coupling_rows = np.array(
            [
                int(np.flatnonzero(self._closure_of_row == term.joint - robot.tree)[0])
                for term in self.coupling_terms
            ],
            dtype=int,
        )
        joints = [
            robot.joints[term.joint].terms[term.number][0] if term.number else -1
            for term in self.coupling_terms
        ]
        self._coupling_coordinates = np.array(
            [robot.q_slices[j].start if j >= 0 else -1 for j in joints], int
        )
        self._coupling_rates = np.array(
            [robot.platform_nv + robot.v_slices[j].start if j >= 0 else -1 for j in joints], int
        )
        for row, k in enumerate(self._closure_of_row):
            if robot.closures[k].is_coupling:
                for rate, factor in coupling_rates(robot, robot.closures[k]).items():
                    self._coupled[row, rate] = factor
        # The bodies that carry the frames.
        self._carriers = np.array([[joint.predecessor, joint.successor] for joint in robot.joints]).ravel()

    @cached_property
    def geometry(self) -> Array:
        """The geometry of the description."""
        return self.robot.parameter_vector("geometry")

    def evaluate(self, geometry: Array, states: States) -> dict[str, Array]:
        """What `loop_state` gives at each sample, of one geometry (k,), or one for each sample (S, k).

        Behind the numbers of the group "geometry" there may be deviations of `coupling_terms`: then "coupled"
        (..., rows, rates) is what they add to the Jacobian.
        """
        numbers, couplings = np.split(np.asarray(geometry), [self._frame_numbers], axis=-1)
        values: dict[str, Array] = self.function(numbers, states.platform, states.q)
        if couplings.size:
            closures, coupled = (
                values["closures"].copy(),
                np.zeros((*couplings.shape[:-1], *self._coupled.shape)),
            )
            for k, row in enumerate(self._coupling_rows):
                closures[:, row] += couplings[..., k] * self._coupling_slopes(states)[:, k]
                if self._coupling_rates[k] >= 0:
                    coupled[..., row, self._coupling_rates[k]] += couplings[..., k]
            values = {**values, "closures": closures, "coupled": coupled}
        return values

    def _coupling_slopes(self, states: States) -> Array:
        """By what couplings open for a unit of each of the `coupling_terms` (S, terms)."""
        is_offset = self._coupling_coordinates < 0
        return np.where(is_offset, -1.0, states.q[:, np.where(is_offset, 0, self._coupling_coordinates)])

    def _jacobian(self, values: dict[str, Array]) -> Array:
        """J (S, rows, rates), scaled."""
        levers, columns = values["levers"][:, : self.rows], values["columns"]
        J = (levers @ columns) * self.apart[self._closure_of_row] + self._coupled + values.get("coupled", 0.0)
        return np.asarray(J / self._row_scale[:, None] * self._rate_scale)

    def _split(self, J: Array) -> tuple[Array, Array, Array]:
        """U (S, rows, r) and W (S, rates, r), J^+ = W U^T, and N (S, rates, n) of J N = 0, at one rank r.

        Of full rank, J^T = Q R gives U = 1 and W = Q R^-T at a small part of the cost of singular vectors.
        """
        rows, rates = J.shape[1:]
        if 0 < rows <= rates:
            Q, R = np.linalg.qr(np.swapaxes(J, 1, 2), mode="complete")
            diagonal = np.abs(np.diagonal(R, axis1=1, axis2=2))
            if np.all(diagonal > RANK * np.max(diagonal)):
                inverse = np.linalg.inv(R[:, :rows])
                condition = np.linalg.norm(R, axis=(1, 2)) * np.linalg.norm(inverse, axis=(1, 2))
                if np.max(condition) < _REGULAR:
                    U = np.broadcast_to(np.eye(rows), (len(J), rows, rows))
                    return U, Q[:, :, :rows] @ np.swapaxes(inverse, 1, 2), Q[:, :, rows:]
        U, s, Vt = np.linalg.svd(J)
        rank = int(np.max(np.sum(s > RANK * s[:, :1], axis=1))) if s.shape[1] else 0
        V = np.swapaxes(Vt, 1, 2)
        return U[:, :, :rank], V[:, :, :rank] / s[:, None, :rank], V[:, :, rank:]

    def linearise(self, geometry: Array, states: States, frame_rates: Array) -> Linearised:
        """The loops at closed states; `frame_rates` (..., 6 F, P): how parameters displace frames.

        Behind these there may be how they change `coupling_terms`.
        """
        values = self.evaluate(geometry, states)
        U, V, N = self._split(self._jacobian(values))
        count = len(self._carriers)
        batch = len(frame_rates) if frame_rates.ndim == 3 else 1
        coupling_rates = frame_rates[..., 6 * count :, :]
        frame_rates = frame_rates[..., : 6 * count, :]
        per_frame = frame_rates.reshape(batch, count, 6, frame_rates.shape[-1])
        frame, parameter = np.nonzero(np.any(per_frame, axis=(0, 2)))
        rates = np.moveaxis(per_frame[:, frame, :, parameter], 0, 2)  # (1 or S, 6, E)
        R = np.moveaxis(values["R"][:, self._carriers[frame]], 1, 3)
        p = np.moveaxis(values["origins"].reshape(len(R), count, 3)[:, frame], 1, 2)
        across = np.einsum("sijE,sjE->siE", R, np.broadcast_to(rates[:, 3:], p.shape))
        along = np.einsum("sijE,sjE->siE", R, np.broadcast_to(rates[:, :3], p.shape))
        twists = np.concatenate([along + np.cross(p, across, axis=1), across], axis=1)
        effects = Effects(twists, frame, np.eye(frame_rates.shape[-1])[parameter])
        apart = self.frame_apart[self._closure_of_row][:, frame]
        G = ((values["levers"][:, : self.rows] @ twists) * apart) @ effects.sums / self._row_scale[:, None]
        for k in range(coupling_rates.shape[-2]):
            row, slope = self._coupling_rows[k], self._coupling_slopes(states)[:, k : k + 1]
            G[:, row] += slope * coupling_rates[..., k, :] / self._row_scale[row]
        seen = np.swapaxes(U, 1, 2) @ G
        return Linearised(
            self,
            values,
            effects,
            N * self._rate_scale[:, None],
            -(V @ seen) * self._rate_scale[:, None],
            G - U @ seen,
        )

    def integrate(self, states: States, steps: Array) -> States:
        """States moved by steps (S, rates), m and rad: R <- exp(step) R, q <- q + step."""
        robot, m = self.robot, self.robot.platform_nv
        platform, q = states.platform.copy(), states.q.copy()
        platform[:, :3] += steps[:, :3]
        if m == 6:
            platform[:, 3:] = quat_multiply(quat_exp(steps[:, 3:6]), platform[:, 3:])
        k = m
        i = 0
        for primitive in (primitive for joint in robot.tree_joints for primitive in joint.primitives):
            part = steps[:, k : k + primitive.nv]
            if primitive is Primitive.SPHERICAL:
                quat = quat_multiply(q[:, i : i + 4], quat_exp(part))
                q[:, i : i + 4] = quat / np.linalg.norm(quat, axis=1, keepdims=True)
            else:
                q[:, i] += part[:, 0]
            i, k = i + primitive.nq, k + primitive.nv
        return States(platform, q)

    def close(self, geometry: Array, states: States) -> tuple[States, Array]:
        """Close the loops by least steps (Gauss and Newton); what stays open (S,), in robot sizes or rad."""
        gap = np.full(len(states.q), np.inf)
        for _ in range(_STEPS):
            values = self.evaluate(geometry, states)
            c = values["closures"] / self._row_scale
            size = np.max(np.abs(c), axis=1, initial=0.0)
            if not np.any((size > _CLOSED) & (size < 0.5 * gap)):
                return states, np.minimum(size, gap)
            gap = size
            U, V, _ = self._split(self._jacobian(values))
            step = -(V @ (np.swapaxes(U, 1, 2) @ c[:, :, None]))[:, :, 0]
            length = np.max(np.abs(step), axis=1, keepdims=True, initial=0.0)
            states = self.integrate(states, step / np.maximum(1.0, length / 0.3) * self._rate_scale)
        return states, gap

    def hold(self, geometry: Array, axes: Sequence[Axis], q: Array, states: States) -> tuple[States, Array]:
        """States (S) whose loops are closed and whose axes are at q (S, axes), and which (S,) have got there.

        Newton's method over closures and coordinates at once, from states near by: of the steps that close
        the loops to first order, -J^+ c + N m, the one that takes the axes to q.
        """
        robot, count = self.robot, len(q)
        turning = [robot.joints[joint].primitives[number].is_rotation for joint, number in axes]
        none = Effects(np.zeros((count, 6, 0)), np.zeros(0, dtype=int), np.zeros((0, 1)))
        best = np.full(count, np.inf)
        for _ in range(_HOLDING):
            values = self.evaluate(geometry, states)
            c = values["closures"] / self._row_scale
            U, V, N = self._split(self._jacobian(values))
            close = -(V @ (np.swapaxes(U, 1, 2) @ c[:, :, None])) * self._rate_scale[:, None]
            now = Linearised(
                self, values, none, N * self._rate_scale[:, None], close, np.zeros((count, 0, 1))
            )
            parts = [now.joint(axis, states) for axis in axes]
            off = np.stack([value for value, _ in parts], axis=1) - q
            off = np.where(turning, off - 2.0 * np.pi * np.round(off / (2.0 * np.pi)), off)
            error = np.maximum(np.max(np.abs(off), axis=1), np.max(np.abs(c), axis=1, initial=0.0))
            if not np.any((error > _CLOSED) & (error < 0.5 * best) | (error > _HELD)):
                break
            best = np.minimum(best, error)
            A, ahead = (
                np.concatenate(part, axis=1)
                for part in zip(*(response for _, response in parts), strict=True)
            )
            m = -(np.linalg.pinv(A, rcond=RANK) @ (off[:, :, None] + ahead))
            steps = (close + now.motions @ m)[:, :, 0]
            length = np.max(np.abs(steps / self._rate_scale), axis=1, keepdims=True, initial=0.0)
            states = self.integrate(states, steps / np.maximum(1.0, length / 0.2))
        return states, error < _HELD

    def start(self, coordinates: Array, guess: Array | None = None) -> States:
        """States of the description at coordinates of the actuators (S, actuators), on the branch of a guess.

        Raises:
            CalibrationError: if coordinates belong to no pose; samples are named.
        """
        solution = forward_kinematics(self.robot, coordinates, guess)
        inverse = inverse_kinematics(self.robot, solution.x, limits=False)
        bad = np.flatnonzero(~inverse.reachable)
        if bad.size:
            numbers = ", ".join(str(k) for k in bad[:5].tolist()) + (", ..." if bad.size > 5 else "")
            raise CalibrationError(
                f"{self.robot.name}: the drives' coordinates in sample {numbers} belong to no pose of the "
                "description: are units, signs and zeros those of the description, and drives in its order?"
            )
        return states_at(inverse)


def states_at(inverse: InverseKinematics) -> States:
    """The states of a robot at poses."""
    R, p = inverse.bodies
    platform = p[:, PLATFORM]
    if inverse.robot.platform_nv == 6:
        platform = np.concatenate([platform, quat_from_matrices(R[:, PLATFORM])], axis=1)
    return States(platform, inverse.q_tree)
