"""Worst-case errors of the pose within tolerances, as bounds that hold for every machine within them.

A machine's numbers lie off the description by p, |p_j - m_j| <= h_j; the drives are where those of the
description would be. With the rates' coordinates w of the tree, zero at the description's state (rotations
are [w; 1] times the quaternion there), loops and drives demand

    F(w, p) = 0.

With C near the inverse of F_w, and bounds of the derivatives over a box of w and p, Krawczyk's operator

    K = -C F(0, m) - C F_p (p - m) + (1 - C F_w) E  in the interior of  E

proves that each p has exactly one w in E, and

    w = S (p - m) + rest,      S = -C F_p at the middle,  |rest| of the second order in h,

bounds the errors. Where the sign of dw_i/dp_j does not change on the box (dw/dp = -C F_p + (1 - C F_w) dw/dp)
the extreme of w_i is at an end of p_j: with these numbers at their ends the same bounds are far tighter, and
with all of them there exact to rounding. Ends of the numbers are also real machines, whose certified error
says how much of a bound is attained. The length of an error is bounded by its components along directions
that are nowhere further apart than an angle c, |e| cos(c) <= max n . e.

Over a box of poses the description's own state w_0 lies in a box about that of the middle, and for the
difference of two states with the same drives the same holds, with derivatives over both.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from nacelle.calibration.loops import coupling_terms, states_at
from nacelle.calibration.parameters import AXES, Parameter, choose_parameters, known_parameters
from nacelle.compile.interval import BoxFunction
from nacelle.errors import CalibrationError
from nacelle.kinematics.flags import has_failed
from nacelle.kinematics.mechanism.assembly import row_scale
from nacelle.kinematics.pose_input import check_poses, reference_pose
from nacelle.kinematics.solve.inverse import inverse_kinematics
from nacelle.model.joint import Primitive
from nacelle.model.reduced import layout_of
from nacelle.model.robot import Robot
from nacelle.program.interval import derivative_program
from nacelle.program.trace import trace
from nacelle.proof.matrices import around, identity_less_product, middle_radius, point, product
from nacelle.results import HasTable
from nacelle.spatial.pose import Pose
from nacelle.spatial.rotation import quat_product, rotation_quat, skew
from nacelle.spatial.scalar import Array, Scalar, divide, dot, pack, sqrt
from nacelle.spatial.scalar import product as matrix_product
from nacelle.tree.closure import closure_frames, closure_residual
from nacelle.tree.spanning_tree import (
    TreeKinematics,
    coordinate_from_transform,
    joint_transform_between,
    tree_kinematics,
)

_KINDS = ("frame", "zero", "gear", "coupling", "number")
# Tilts of frames are below this, rad; terms of their series, which leave out less than 1e-19.
_TILT, _TERMS = 0.3, 8
# Rank of the loops; what redundant loops may leave open, over what the tolerances move.
_RANK, _CONSISTENT = 1e-9, 1e-7
# Directions along which lengths are bounded: steps along an edge of a cube.
_GRID = 8
# Bounds are sought this close to what is attained, relative, in so many rounds and boxes of numbers for each.
_TIGHT, _ROUNDS, _BOXES = 0.05, 6, 4
# How many machines at the ends of their numbers are tried for the largest length.
_BEST = 16
# Steps to a box that Krawczyk's operator takes into itself, and to the states of machines.
_STEPS, _NEWTON = 12, 6
_INFLATION, _LEAST, _SHRUNK = 1.2, 1e-14, 0.6
_LARGER = 1.0 + 2.0**-30
# Poses that are treated at a time.
_BLOCK = 16


@dataclass(frozen=True, eq=False, repr=False)
class PoseErrorBounds(HasTable):
    """Bounds of the errors of the pose within tolerances, at some poses.

    Attributes:
        robot: the robot.
        parameters: what deviates.
        x: the poses (N, nx).
        bounds: of the errors of all machines, (N, k, 2): displacements along the base axes, m, and unless the
            platform is a point a rotation vector in base axes, rad; NaN where nothing is proved.
        attained: errors of machines within the tolerances (N, k, 2), certified: how far the bounds are
            attained at least.
        lengths: bounds (N, 2) of the displacement, m, and of the angle of the rotation, rad.
        attained_lengths: those of machines within the tolerances (N, 2), certified.
        shares: what each parameter contributes to first order (N, k, P), m and rad.
    """

    robot: Robot
    parameters: tuple[Parameter, ...]
    x: Array
    bounds: Array
    attained: Array
    lengths: Array
    attained_lengths: Array
    shares: Array

    @property
    def proved(self) -> Array:
        """Where the bounds are proved (N,)."""
        return np.asarray(np.isfinite(self.bounds).all(axis=(1, 2)))

    def describe(self) -> list[str]:
        """The largest errors in sentences."""
        proved = self.proved
        if not proved.all():
            return [
                f"not proved at {np.count_nonzero(~proved)} of {len(proved)} poses: a singularity is near, "
                "or the tolerances are too wide"
            ]
        lines = []
        for k, (noun, factor, unit) in enumerate(
            (("position", 1e3, "mm"), ("orientation", math.degrees(1.0), "deg"))
        ):
            if 3 * k < self.bounds.shape[1]:
                worst = int(np.argmax(self.lengths[:, k]))
                lines.append(
                    f"the {noun} errs by at most {factor * self.lengths[worst, k]:.5g} {unit}; of a machine "
                    f"within the tolerances it errs by {factor * self.attained_lengths[worst, k]:.5g} {unit}"
                )
        for k, name in enumerate(AXES[: self.bounds.shape[1]]):
            factor, unit = (1e3, "mm") if k < 3 else (math.degrees(1.0), "deg")
            low, high = factor * self.bounds[:, k, 0].min(), factor * self.bounds[:, k, 1].max()
            lines.append(f"{name}: {low:+.5g} to {high:+.5g} {unit}")
        sizes = np.linalg.norm(self.shares[int(np.argmax(self.lengths[:, 0])), :3], axis=0)
        largest = [j for j in np.argsort(-sizes)[:5] if sizes[j] > 0.0]
        parts = [f"{self.parameters[j].name} {1e3 * sizes[j]:.3g} mm" for j in largest]
        return [*lines, f"most of the position's, to first order: {', '.join(parts)}"] if parts else lines


def bound_pose_errors(robot: Robot, tolerances: Sequence[str], x: Any = None) -> PoseErrorBounds:
    """Bounds of the pose's errors for all machines within tolerances, their drives where the robot's are.

    Args:
        robot: the robot as it is described.
        tolerances: which numbers deviate, and how far: patterns of the names of `known_parameters` with
            quantities, "number.*=0.1 mm", "*.predecessor.r?=0.01 deg", "zero.*=-0.02 deg..0.01 deg".
        x: poses (..., nx); the reference pose if None.

    Raises:
        CalibrationError: if a tolerance is not one, or loops with more equations than unknowns do not close
            with the numbers within them.
        KinematicsError: if a pose is out of reach, or singular.
    """
    deviations = _read_tolerances(robot, tolerances)
    model = _model_of(robot.numeric, deviations.parameters)
    poses = check_poses(robot, reference_pose(robot) if x is None else x)[0].reshape(
        -1, layout_of(robot.motion).nx
    )
    states = model.states(poses)
    count, size, P = len(poses), model.platform, len(deviations.parameters)
    fields = [
        np.full((count, *shape), np.nan)
        for shape in ((size, 2), (size, 2), (size // 3,), (size // 3,), (size, P))
    ]
    good = np.flatnonzero(np.isfinite(states.s).all(axis=1))
    for first in range(0, len(good), _BLOCK):
        rows = good[first : first + _BLOCK]
        for whole, part in zip(fields, _bound(model, states.take(rows), deviations), strict=True):
            whole[rows] = part
    return PoseErrorBounds(robot, deviations.parameters, poses, *fields)


class _Deviations(NamedTuple):
    """What deviates, between middle - radius and middle + radius (P,)."""

    parameters: tuple[Parameter, ...]
    middle: Array
    radius: Array


def _read_tolerances(robot: Robot, tolerances: Sequence[str]) -> _Deviations:
    known = [item for item in known_parameters(robot) if item.kind in _KINDS]
    for text in tolerances:
        if "=" not in text:
            raise CalibrationError(f"{text!r} says no tolerance: write for example '{text}=0.1 mm'")
    chosen = choose_parameters(known, tolerances)
    if not chosen:
        raise CalibrationError("no number deviates: give tolerances such as 'number.*=0.1 mm'")
    bounded = [np.isfinite(item.bounds.lower) for item in chosen]
    ends = np.array(
        [
            (item.bounds.lower, item.bounds.upper) if limited else (-item.tolerance, item.tolerance)
            for item, limited in zip(chosen, bounded, strict=True)
        ]
    )
    for item, end in zip(chosen, ends, strict=True):
        if not np.isfinite(end).all():
            raise CalibrationError(
                f"the tolerance of {item.name} has no end: write LOW..HIGH or one quantity"
            )
        if item.kind == "frame" and item.target[1] >= 3 and np.abs(end).max() > _TILT:
            raise CalibrationError(
                f"the tolerance of {item.name} is {np.abs(end).max():g} rad, above {_TILT}"
            )
    return _Deviations(chosen, *middle_radius(ends))


class _States(NamedTuple):
    """States of the description: of the tree (N, ns), and of its drives (N, actuators)."""

    s: Array
    q: Array

    def take(self, rows: Any) -> _States:
        """Some of them."""
        return _States(*(part[rows] for part in self))


class _Model:
    """The equations of a robot with deviations, traced and compiled.

    Attributes:
        robot: the robot.
        parameters: what deviates, P of them.
        platform: how many coordinates of w are those of the platform: 3 for a point, else 6.
        size: how many coordinates w has.
    """

    def __init__(self, robot: Robot, parameters: tuple[Parameter, ...]) -> None:
        self.robot, self.parameters = robot, parameters
        self.platform = robot.platform_nv
        self.size = robot.platform_nv + sum(primitive.nv for _, primitive in self._primitives)
        state = (3 if self.platform == 3 else 7) + robot.nq
        shapes = {
            "s": (state,),
            "w": (self.size,),
            "p": (len(parameters),),
            "q": (len(robot.actuators),),
        }
        program = trace(self.gaps, shapes, "tolerances").program()
        self.values = BoxFunction(program)
        self.slopes = BoxFunction(derivative_program(program, ["w", "p"]))

    def states(self, x: Array) -> _States:
        """The description's own states at poses (N, nx); NaN where a leg does not reach."""
        joints = inverse_kinematics(self.robot, x, limits=False)
        states = states_at(joints)
        failed = has_failed(joints.flags)[:, None]
        s = np.concatenate([states.platform, states.q], axis=1)
        return _States(np.where(failed, np.nan, s), np.where(failed, np.nan, joints.q))

    @property
    def _primitives(self) -> list[tuple[int, Primitive]]:
        return [(j, item) for j, joint in enumerate(self.robot.tree_joints) for item in joint.primitives]

    def gaps(self, s: Array, w: Array, p: Array, q: Array) -> dict[str, Array]:
        """What loops and drives leave open, F, without units.

        Args:
            s: the state that w is zero at: position and quaternion of the platform, coordinates of the tree.
            w: from there, m; rotations [w; 1] times the quaternion, before it for the platform, behind it
                for spherical joints.
            p: the deviations.
            q: coordinates of the drives, rad or m.
        """
        robot, machine = self.robot, self._machine(p)
        k = 3
        if self.platform == 3:
            pose = Pose(np.eye(3), s[:3] + w[:3])
        else:
            pose = Pose(rotation_quat(_unit(quat_product(pack([*w[3:6], 1.0]), s[3:7]))), s[:3] + w[:3])
            k = 6
        at, coordinates = (3 if self.platform == 3 else 7), []
        for _, primitive in self._primitives:
            if primitive is Primitive.SPHERICAL:
                quat = quat_product(s[at : at + 4], pack([*w[k : k + 3], 1.0]))
                coordinates += list(_unit(quat))
            else:
                coordinates.append(s[at] + w[k])
            at, k = at + primitive.nq, k + primitive.nv
        tree = pack(coordinates)
        motion = tree_kinematics(machine, pose, tree)
        rows = list(closure_residual(machine, motion))
        for item, value in zip(self.parameters, p, strict=True):
            if item.kind == "coupling":
                self._couple(rows, tree, item, value)
        rows = [row / scale for row, scale in zip(rows, row_scale(robot), strict=True)]
        drives = [self._drive(machine, motion, tree, k) for k in range(len(robot.actuators))]
        demand = list(q)
        for item, value in zip(self.parameters, p, strict=True):
            if item.kind in ("zero", "gear") and item.target[0] < len(drives):
                k = item.target[0]
                demand[k] = demand[k] + (value if item.kind == "zero" else value * q[k])
        units = np.where(robot.revolute_actuators, 1.0, robot.size)
        rows += [(a - b) / unit for a, b, unit in zip(drives, demand, units, strict=True)]
        return {"F": pack(rows), "q": pack(drives)}

    def _machine(self, p: Array) -> Robot:
        """The robot with other frames."""
        robot = self.robot
        geometry: list[Scalar] = list(robot.parameter_vector("geometry"))
        count = len(geometry)
        if any(item.kind == "number" for item in self.parameters):
            numbers: list[Scalar] = list(robot.numbers.vector("geometry"))
            for item, value in zip(self.parameters, p, strict=True):
                if item.kind == "number":
                    numbers[item.target[0]] = numbers[item.target[0]] + value
            geometry = robot.numbers.entries(np.array(numbers, dtype=object), "geometry")[:count]
        joints = [j for j, joint in enumerate(robot.joints) if not joint.is_coupling]
        offset = {2 * j + side: 24 * k + 12 * side for k, j in enumerate(joints) for side in range(2)}
        tilts: dict[int, list[Scalar]] = {}
        for item, value in zip(self.parameters, p, strict=True):
            if item.kind != "frame":
                continue
            frame, axis = item.target
            if axis < 3:
                geometry[offset[frame] + 9 + axis] = geometry[offset[frame] + 9 + axis] + value
            else:
                tilts.setdefault(frame, [0.0, 0.0, 0.0])[axis - 3] = value
        for frame, tilt in tilts.items():
            at = offset[frame]
            R = matrix_product(_tilt(pack(tilt)), pack(geometry[at : at + 9]).reshape(3, 3))
            geometry[at : at + 9] = list(R.ravel())
        return robot.with_symbols(geometry, "geometry")

    def _couple(self, rows: list[Scalar], tree: Array, item: Parameter, value: Scalar) -> None:
        """A coupling sum f q = o with another ratio or offset."""
        j, number = coupling_terms(self.robot)[item.target[0]]
        row = sum(len(joint.locks) for joint in self.robot.closures[: j - self.robot.tree])
        factor: Scalar = 1.0
        if number:
            factor = tree[self.robot.q_slices[self.robot.joints[j].terms[number][0]].start]
        rows[row] = rows[row] - value * factor

    def _drive(self, machine: Robot, motion: TreeKinematics, tree: Array, k: int) -> Scalar:
        """The coordinate of a drive, rad or m."""
        j = self.robot.actuators[k].joint
        if j < self.robot.tree:
            return tree[self.robot.q_slices[j].start]
        joint = machine.joints[j]
        step = joint_transform_between(joint, *closure_frames(joint, motion), 0)
        return coordinate_from_transform(step, self.robot.joints[j], 0)


def _unit(quat: Array) -> Array:
    return np.asarray(quat * divide(1.0, sqrt(dot(quat, quat))))


def _tilt(r: Array) -> Array:
    """exp(skew(r)) by its series, for |r| below `_TILT` sqrt(3)."""
    square, K = dot(r, r), skew(r)
    sine: Scalar = 0.0
    cosine: Scalar = 0.0
    for k in range(_TERMS, -1, -1):
        sine = sine * square + (-1.0) ** k / math.factorial(2 * k + 1)
        cosine = cosine * square + (-1.0) ** k / math.factorial(2 * k + 2)
    return np.asarray(np.eye(3) + K * sine + matrix_product(K, K) * cosine)


@lru_cache(maxsize=16)
def _model_of(robot: Robot, parameters: tuple[Parameter, ...]) -> _Model:
    return _Model(robot, parameters)


class _Range(NamedTuple):
    """Deviations between middle - radius and middle + radius (M, P)."""

    middle: Array
    radius: Array


class _Chart(NamedTuple):
    """How equations are solved for w at states: near inverse of F_w, and motions that F does not see.

    Attributes:
        inverse: C (M, nw, rows + k), of F_w with `spins` below it.
        spins: rows (M, k, nw): w has no part along motions of bodies that move no other (rods that spin).
    """

    inverse: Array
    spins: Array

    def take(self, rows: Array) -> _Chart:
        """Those of some states."""
        return _Chart(self.inverse[rows], self.spins[rows])


class _Enclosed(NamedTuple):
    """What is proved of the states w of machines (M): |w - c - S (p - m)| <= rest; NaN where nothing is.

    Attributes:
        c: of the middle of the deviations (M, nw).
        S: change (M, nw, P).
        rest: (M, nw).
        box: radius about c of the box in which each machine has exactly one state (M, nw).
        slope_rest: |dw/dp - S| on the whole box (M, nw, P).
    """

    c: Array
    S: Array
    rest: Array
    box: Array
    slope_rest: Array

    def radius(self, p: _Range) -> Array:
        """Bound of |w - c| (M, nw)."""
        return np.asarray(((np.abs(self.S) @ p.radius[..., None])[..., 0] + self.rest) * _LARGER)


def _chart(model: _Model, states: _States, p: _Deviations) -> _Chart:
    """Near inverses at states, and which motions are spins.

    Raises:
        CalibrationError: if loops with more equations than unknowns do not close with the deviations.
    """
    count = len(states.s)
    zero = point(np.zeros((count, model.size)))
    middle = np.tile(p.middle, (count, 1))
    J = model.slopes(point(states.s), zero, point(middle), point(states.q))["d_F"].mean(axis=-1)
    A, B = J[..., : model.size], J[..., model.size :]
    U, s, Vt = np.linalg.svd(A)
    rank = int(np.max(np.sum(s > _RANK * s[:, :1], axis=1)))
    spins = Vt[:, rank:]
    open_part = np.abs(np.swapaxes(U[:, :, rank:], 1, 2) @ B) * (np.abs(p.middle) + p.radius)
    effect = (np.abs(B) * (np.abs(p.middle) + p.radius)).max(axis=1)
    bad = open_part.max(axis=1, initial=0.0) > _CONSISTENT * effect.max(axis=1, keepdims=True)
    if bad.any():
        worst = model.parameters[int(np.flatnonzero(bad.any(axis=0))[0])].name
        raise CalibrationError(
            f"the loops of {model.robot.name} have more equations than unknowns, and do not close with a "
            f"deviation of {worst}: rigid bodies would jam. Let numbers deviate together ('number.*'), or "
            "describe the joints that give way"
        )
    with np.errstate(all="ignore"):
        inverse = (np.swapaxes(Vt[:, :rank], 1, 2) / s[:, None, :rank]) @ np.swapaxes(U[:, :, :rank], 1, 2)
    # A platform that moves with its drives held: nothing can be proved.
    loose = np.abs(spins[:, :, : model.platform]).max(axis=(1, 2), initial=0.0) > 1e-6
    inverse[loose] = np.nan
    return _Chart(np.concatenate([inverse, np.swapaxes(spins, 1, 2)], axis=2), spins)


def _enclose(
    model: _Model, states: _States, chart: _Chart, w: Array, p: _Range, spread: Array | None = None
) -> _Enclosed:
    """Prove where the states of machines are.

    Args:
        model: the equations.
        states: from which w counts (M).
        chart: near inverses.
        w: near states of the machines with p in the middle (M, nw).
        p: the deviations.
        spread: if given, how far the robot's own states are from w = 0 (M, nw): then differences from these
            are enclosed, of machines with the same drives, and w is 0.
    """
    C, at, drives = chart.inverse, point(states.s), point(states.q)
    count, n = w.shape
    below = np.broadcast_to(point(chart.spins), (count, *chart.spins.shape[1:], 2))
    none = np.zeros((count, chart.spins.shape[1], p.middle.shape[1], 2))

    def slopes(W: Array, P: Array) -> tuple[Array, Array]:
        J = model.slopes(at, W, P, drives)["d_F"]
        return (
            np.concatenate([J[:, :, :n], below], axis=1),
            np.concatenate([J[:, :, n:], none], axis=1),
        )

    with np.errstate(all="ignore"):
        if spread is None:
            F = model.values(at, point(w), point(p.middle), drives)["F"]
            spun = product(chart.spins, point(w)[..., None, :]).box[..., 0, :]
            gap = product(C, np.concatenate([F, spun], axis=1)[..., None, :]).size[..., 0]
            c, reach, P = w, p.radius, around(p.middle, p.radius)
        else:
            reach = np.abs(p.middle) + p.radius
            B = slopes(point(w), point(p.middle))[1].mean(axis=-1)
            c = -(C @ (B @ p.middle[..., None]))[..., 0]
            gap, P = np.zeros_like(w), around(np.zeros_like(reach), reach)
        box, least = None, _LEAST * model.robot.size
        done = np.zeros(count, dtype=bool)
        result = _Enclosed(c, *(np.full(shape, np.nan) for shape in _shapes(count, n, p)))
        for _ in range(_STEPS):
            if box is None:
                A, B = slopes(point(w), point(p.middle))
                size = product(C, B).size
                box = (size @ p.radius[..., None])[..., 0] + gap + np.abs(c - w) * 1e-3
                box = _INFLATION * box + least
            away = np.zeros_like(w) if spread is None else np.abs(c)
            W = around(w, away + box + (0.0 if spread is None else spread))
            A, B = slopes(W, P)
            CB, R = product(C, B), identity_less_product(C, A).size
            rest = (CB.radius @ reach[..., None])[..., 0] + (R @ (away + box)[..., None])[..., 0] + gap
            if spread is not None:
                # What the middle of the deviations moves is c but for its own rounding and curvature.
                off = c + (CB.middle @ p.middle[..., None])[..., 0]
                rest = rest + np.abs(off) + 2.0**-48 * np.abs(c)
            needed = ((np.abs(CB.middle) @ p.radius[..., None])[..., 0] + rest) * _LARGER
            inside = np.all(needed < box, axis=1)
            part = ((R @ box[..., None])[..., 0] / box).max(axis=1)[:, None, None]
            ratio = (CB.size / box[..., None]).max(axis=1, keepdims=True) / (1.0 - part)
            slope_rest = (CB.radius + (R @ box[..., None]) * ratio) * _LARGER
            enclosed = _Enclosed(c, -CB.middle, rest * _LARGER, box, slope_rest)
            for name, values in enclosed._asdict().items():
                kept = getattr(result, name)
                kept[inside] = values[inside]
            done |= inside
            # A box that is much smaller shows more.
            smaller = np.any(needed + least < _SHRUNK * box, axis=1)
            if np.all(done & ~(inside & smaller)):
                break
            # The operator's own box, a little wider, is what it takes into itself in the end.
            box = np.where(inside[:, None], 1.01, _INFLATION) * needed + least
    return result


def _shapes(count: int, n: int, p: _Range) -> list[tuple[int, ...]]:
    P = p.middle.shape[1]
    return [(count, n, P), (count, n), (count, n), (count, n, P)]


def _solve(model: _Model, states: _States, chart: _Chart, start: Array, p: Array) -> Array:
    """States w (M, nw) of machines with deviations p (M, P), by Newton's method with the same inverse."""
    w = start
    for _ in range(_NEWTON):
        F = model.values(point(states.s), point(w), point(p), point(states.q))["F"].mean(axis=-1)
        gap = np.concatenate([F, (chart.spins @ w[..., None])[..., 0]], axis=1)
        w = w - (chart.inverse @ gap[..., None])[..., 0]
    return w


def _bound(model: _Model, states: _States, deviations: _Deviations) -> tuple[Array, ...]:
    """The fields of `PoseErrorBounds` behind x, at some states."""
    count, size = len(states.s), model.platform
    chart = _chart(model, states, deviations)
    zero = np.zeros((count, model.size))
    p = _Range(*(np.tile(part, (count, 1)) for part in deviations[1:]))
    still = _Range(np.zeros_like(p.middle), np.zeros_like(p.radius))
    spread = _enclose(model, states, chart, zero, still).radius(still)
    whole = _enclose(model, states, chart, zero, p, spread)
    search = _Search(model, states, chart, whole, spread, p)
    # Both ends of each component, then the lengths.
    each = np.concatenate([-np.eye(size), np.eye(size)])
    rows = np.repeat(np.arange(count), 2 * size)
    components = np.tile(each, (count, 1))
    reached = search.corners(rows, components)[0].reshape(count, 2, size)
    kinds = [slice(first, first + 3) for first in range(0, size, 3)]
    # Of what is far below the other kind, over the robot's size, a bound need not be closer.
    largest = np.stack([np.abs(reached[..., kind]).max(axis=(1, 2)) for kind in kinds], axis=1)
    units = np.array([model.robot.size, 1.0])[: len(kinds)]
    floors = (_TIGHT * np.maximum(largest, (largest / units).max(axis=1, keepdims=True) * units)).T
    target = reached + np.repeat(floors.T, 3, axis=1)[:, None]
    most = search.bound(rows, components, target.ravel()).reshape(count, 2, size)
    bounds, attained = (np.stack([-part[:, 0], part[:, 1]], axis=-1) for part in (most, reached))
    lengths, attained_lengths = (
        np.stack(part, axis=1)
        for part in zip(
            *(search.lengths(kind, floor) for kind, floor in zip(kinds, floors, strict=True)), strict=True
        )
    )
    shares = whole.S[:, :size] * p.radius[:, None]
    if size > 3:
        bounds, attained = _rotation_vectors(bounds), _rotation_vectors(attained)
        shares[:, 3:] *= 2.0
        lengths[:, 1] *= 2.0
        attained_lengths[:, 1] = 2.0 * np.arctan(attained_lengths[:, 1]) * (1.0 - 2.0**-40)
    return bounds, attained, lengths, attained_lengths, shares


class _Search(NamedTuple):
    """The largest values of n . w over all machines, n along coordinates of the platform."""

    model: _Model
    states: _States
    chart: _Chart
    whole: _Enclosed
    spread: Array
    p: _Range

    def _machines(self, rows: Array, p: _Range) -> tuple[Array, _Enclosed]:
        """States w (M, nw) of machines in the middle of boxes of numbers, and what is proved on these.

        In the box in which each machine has one state alone these are the states on the robot's branch.
        """
        whole, states, chart = self.whole, self.states.take(rows), self.chart.take(rows)
        shift = p.middle - self.p.middle[rows]
        w = whole.c[rows] + (whole.S[rows] @ shift[..., None])[..., 0]
        w = _solve(self.model, states, chart, w, p.middle)
        enclosed = _enclose(self.model, states, chart, w, p)
        within = np.all(np.abs(w - whole.c[rows]) + enclosed.rest < whole.box[rows], axis=1)
        enclosed.rest[~within] = np.nan
        return w, enclosed._replace(rest=enclosed.rest + self.spread[rows])

    def corners(self, rows: Array, n: Array) -> tuple[Array, Array, Array]:
        """Of machines with numbers at their ends: n . w (M,) at least, and w[:size] with its radius."""
        size, p = n.shape[1], self.p
        slope = (n[:, None] @ self.whole.S[rows, :size])[:, 0]
        corner = p.middle[rows] + np.where(slope >= 0.0, 1.0, -1.0) * p.radius[rows]
        w, enclosed = self._machines(rows, _Range(corner, np.zeros_like(corner)))
        w, radius = w[:, :size], enclosed.rest[:, :size]
        value = np.sum(n * w, axis=1) - np.sum(np.abs(n) * (radius + 2.0**-48 * np.abs(w)), axis=1)
        return value, w, radius

    def bound(self, rows: Array, n: Array, target: Array) -> Array:
        """Bounds (M,) of n . w over all machines, not above a target if that takes few boxes.

        A number whose effect has one sign has its extreme at an end; the ranges of others are halved.
        """
        size = n.shape[1]
        task, m, r = np.arange(len(rows)), self.p.middle[rows], self.p.radius[rows]
        slope, rest = (
            (a[:, None] @ part[rows, :size])[:, 0]
            for a, part in ((n, self.whole.S), (np.abs(n), self.whole.slope_rest))
        )
        largest = np.full(len(rows), -np.inf)
        above = _reach(n, self.whole.c[rows], slope, r, self.whole.rest[rows])
        for last in (*[False] * (_ROUNDS - 1), True):
            certain = np.abs(slope) >= rest
            m, r = np.where(certain, m + np.sign(slope) * r, m), np.where(certain, 0.0, r)
            if last or not len(task):
                break
            w, enclosed = self._machines(rows[task], _Range(m, r))
            slope = (n[task, None] @ enclosed.S[:, :size])[:, 0]
            rest = (np.abs(n[task, None]) @ enclosed.slope_rest[:, :size])[:, 0]
            above = np.fmin(above, _reach(n[task], w, slope, r, enclosed.rest))
            certain = (np.abs(slope) >= rest) & (r > 0.0)
            with np.errstate(invalid="ignore"):
                done = (above <= target[task]) | ~(r > 0.0).any(axis=1) | ~np.isfinite(above)
            with np.errstate(invalid="ignore"):
                np.maximum.at(largest, task[done], above[done])
            halved = ~done & ~certain.any(axis=1)
            keep = ~done & ~halved
            if np.count_nonzero(halved) * 2 + np.count_nonzero(keep) > _BOXES * len(rows):
                np.maximum.at(largest, task[~done], above[~done])
                return largest
            side = np.argmax(np.nan_to_num(rest) * r, axis=1)
            index = np.arange(len(task))
            half, step = r.copy(), np.zeros_like(r)
            half[index, side] *= 0.5 * _LARGER
            step[index, side] = half[index, side]
            parts = [(keep, m, r), (halved, m - step, half), (halved, m + step, half)]
            m, r = (np.concatenate([part[k][part[0]] for part in parts]) for k in (1, 2))
            task, above, slope, rest = (
                np.concatenate([values[part[0]] for part in parts]) for values in (task, above, slope, rest)
            )
        np.maximum.at(largest, task, above)
        return largest

    def lengths(self, kind: slice, floor: Array) -> tuple[Array, Array]:
        """Bounds (N,) of the lengths of three components, and lengths that machines have at least.

        Args:
            kind: which components.
            floor: below it a bound is not sought closer (N,).
        """
        directions, cosine = _directions()
        count, size = len(self.p.middle), self.model.platform
        n = np.zeros((len(directions), size))
        n[:, kind] = directions
        bounds, attained = np.full(count, np.nan), np.full(count, np.nan)
        for k in range(count):
            first_order = n @ self.whole.c[k, :size] + np.abs(n @ self.whole.S[k, :size]) @ self.p.radius[k]
            above = (first_order + np.abs(n) @ self.whole.rest[k, :size]) * _LARGER
            if not np.isfinite(above).all():
                continue
            best = np.argsort(-first_order, kind="stable")[:_BEST]
            _, w, radius = self.corners(np.full(len(best), k), n[best])
            least = np.maximum(np.abs(w[:, kind]) - radius[:, kind], 0.0)
            attained[k] = np.max(np.sqrt(np.sum(least**2, axis=1)) * (1.0 - 2.0**-40))
            largest = max((1.0 + _TIGHT) * attained[k] * cosine, floor[k])
            rows = np.flatnonzero(above > largest)
            if rows.size:
                above = self.bound(np.full(rows.size, k), n[rows], np.full(rows.size, largest))
                largest = np.max(above, initial=largest)
            bounds[k] = largest / cosine * _LARGER
        return bounds, attained


def _reach(n: Array, w: Array, slope: Array, r: Array, rest: Array) -> Array:
    """Upper bounds (M,) of n . w over boxes of numbers with the radii r."""
    size = n.shape[1]
    value = np.sum(n * w[:, :size], axis=1)
    away = np.sum(np.abs(slope) * r, axis=1) + np.sum(np.abs(n) * rest[:, :size], axis=1)
    return np.asarray(value + away * _LARGER + 2.0**-44 * np.sum(np.abs(n * w[:, :size]), axis=1))


def _rotation_vectors(bounds: Array) -> Array:
    """Bounds (N, 6, 2) with rotation vectors r = 2 atan(|w|)/|w| w for w, |w| (1 - |w|^2/3) <= atan(|w|)."""
    result = bounds.copy()
    square = np.sum(np.max(bounds[:, 3:] ** 2, axis=-1), axis=1)[:, None]
    less = 2.0 * (1.0 - square / 3.0) * (1.0 - 2.0**-50)
    low, high = bounds[:, 3:, 0], bounds[:, 3:, 1]
    result[:, 3:, 0] = np.where(low < 0.0, 2.0, less) * low
    result[:, 3:, 1] = np.where(high > 0.0, 2.0, less) * high
    return result


@lru_cache(maxsize=1)
def _directions() -> tuple[Array, float]:
    """Directions (D, 3), and the cosine of the largest angle of any other to the nearest of them."""
    line = np.linspace(-1.0, 1.0, _GRID + 1)
    a, b = (part.ravel() for part in np.meshgrid(line, line))
    edge = np.ones_like(a)
    cube = np.concatenate(
        [np.stack(entries, axis=1) for entries in ((edge, a, b), (a, edge, b), (a, b, edge))]
    )
    cube = np.unique(np.concatenate([cube, -cube]), axis=0)
    return cube / np.linalg.norm(cube, axis=1, keepdims=True), 1.0 / math.sqrt(1.0 + 2.0 / _GRID**2)
