"""Reactions: the force and moment that every joint transmits.

Cut free, body b is in balance if the joints that end on it give it what its motion requires, w_b, inertia
less weight less external wrenches and springs between bodies, [f; n] (6,). All wrenches are about the base's
origin in base axes, so that they add up as they are. The joint that places body j transmits, from its
predecessor to its successor, what the bodies from there on need, less what closures bring in from elsewhere:

    W_j = sum over bodies b beyond j of w_b  -  sum over closures c of s_jc (L_c lambda_c + E_c)

s_jc is 1 where c's successor lies beyond j, -1 where its predecessor does, L_c are wrenches of what it locks
and E_c its efforts: actuator, friction, spring, rotor. Along its free axes a joint transmits its efforts and
nothing else, which are the equations for lambda:

    C_j . W_j = e_j,   and 0 for the twist of the platform, which no joint places:   J^T lambda = b

with J the Jacobian of the closures. An idle spin is held by one more lock, a moment about its axis, which is
zero unless something drives it. A coupling has no wrench: its lambda adds factor_j lambda to the effort e_j
of each coupled joint. Without units (moments over the robot's size) and with the singular values J^T =
P S Q^T, of which the first r, the rank at generic poses, count:

    lambda = Q_r S_r^-1 P_r^T b  +  Q_0 c          Q_0 (locks, redundancy) spans the inner stress, J^T Q_0 = 0

c is free where closures are overconstrained: inner stress depends on tolerances and stiffness, not on the
load. Of all solutions the one is given whose sum of |f|^2 + |n|^2 / size^2 over all joints is least: let W_0
be all joints' wrenches (forces, moments over the size) at c = 0 and N those of unit columns of Q_0: |W_0 +
N c|^2 is least where W_0 + N c is perpendicular to N, so W_0's part along an orthonormal basis of N is taken
off. Components that N does not touch are determined. Results are in the joint's frame on its predecessor,
N and N m.

Along a trajectory, sampled at t_1 .. t_N, bearings are sized by the peaks: with e the axis of a joint's
bearing, f_e = e . f and n_e = e . n, the figures of a joint over the samples are

    force    max |f|        radial    max |f - f_e e|        axial    max |f_e|
    moment   max |n|        tilting   max |n - n_e e|        torque   max |n_e|
    mean force   (mean of |f|^3)^(1/3)

the cubic mean because the life of a ball bearing falls with the third power of its load.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from nacelle.dynamics.compliance import add_forces_between_bodies
from nacelle.dynamics.derivatives.derivatives import (
    POINT_SHAPES,
    OperatingPoint,
    operating_point,
    takes_operating_point,
)
from nacelle.dynamics.external import wrenches_on_bodies
from nacelle.dynamics.joint_effort import joint_efforts
from nacelle.dynamics.physics import ALL_TERMS, Physics
from nacelle.dynamics.state import State, state_at
from nacelle.dynamics.wrench import body_wrenches
from nacelle.errors import KinematicsError, SingularError
from nacelle.kinematics.flags import Flag, Flagged, has_failed
from nacelle.kinematics.mechanism.assembly import generic_poses, rotation_mask
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.mechanism.rank import rank_of
from nacelle.kinematics.native import compile_native
from nacelle.kinematics.pose_input import check_rates
from nacelle.model.joint import MOTION, JointKind, Primitive
from nacelle.model.leg import PLATFORM
from nacelle.model.robot import Robot
from nacelle.results import Plottable
from nacelle.spatial.physics import physics
from nacelle.spatial.scalar import Array, Scalar, cross, pack
from nacelle.spatial.screw import Wrench
from nacelle.trajectory import Trajectory
from nacelle.trajectory.sampling import SampledMotion, counting_start, motion_samples, solved_mask
from nacelle.tree.actuation import closure_axes
from nacelle.tree.closure import closure_frames, coupling_rates
from nacelle.tree.rates import InternalFreedom, rate_equations
from nacelle.tree.spanning_tree import TreeKinematics


@physics(external=lambda robot: (len(robot.bodies), 6), **POINT_SHAPES)
@takes_operating_point
def reaction_terms(
    robot: Robot,
    external: Array,
    point: OperatingPoint,
    *,
    physics: Physics = ALL_TERMS,
) -> dict[str, Array]:
    """What the balance is made of, at a point under external wrenches (bodies, 6).

    Wrenches that the bodies need (bodies, 6), twists of the tree's rates (rates, 6), wrenches of what the
    closures lock (locks, 6) and its rates over those of the tree (locks, rates), efforts along the tree's
    rates (rates,), wrenches of the closures' efforts (closures, 6), and the joint frames on the predecessors
    R (joints, 3, 3), p (joints, 3).
    """
    state = state_at(robot, point.x, point.y, point.v)
    motion = state.now.motion
    u_dot = state.moving.U @ point.a + state.moving.bias
    applied = {body: Wrench(external[body, :3], external[body, 3:]) for body in range(1, len(robot.bodies))}
    needs = [np.zeros(6)]
    state = add_forces_between_bodies(replace(state, external=applied), physics)
    for body, (f, n) in body_wrenches(state, u_dot).items():
        needs.append(_wrench(f, n, motion.poses[body].p))
    efforts = axis_efforts(state, u_dot, point.tau, physics)
    along: list[Scalar] = [0.0] * robot.platform_nv
    for index, joint in enumerate(robot.tree_joints):
        for number, primitive in enumerate(joint.primitives):
            along += list(efforts.get((index, number), np.zeros(primitive.nv)))
    across = [closure_effort(robot, motion, index, efforts) for index in range(robot.tree, len(robot.joints))]
    frames = [motion.poses[joint.predecessor] @ joint.frame_predecessor for joint in robot.joints]
    return {
        "needs": np.stack(needs),
        "columns": motion.columns.T,
        "locks": lock_wrenches(robot, motion),
        "J": _lock_rows(robot, motion),
        "along": pack(along),
        "across": np.stack(across) if across else np.zeros((0, 6)),
        "R": np.stack([frame.R for frame in frames]),
        "p": np.stack([frame.p for frame in frames]),
    }


def _wrench(f: Array, n: Array, point: Array) -> Array:
    """A force through a point, and a moment: the wrench about the base's origin."""
    return pack([*f, *(n + cross(point, f))])


def lock_wrenches(robot: Robot, motion: TreeKinematics) -> Array:
    """Wrench (locks, 6) on the successor for one unit of each lock of the closures (`closure_state`).

    The idle spins follow, as moments about their axes.
    """
    wrenches: list[Array] = []
    zero = np.zeros(3)
    for joint in robot.closures:
        if joint.is_coupling:
            wrenches.append(np.zeros(6))
            continue
        first, second = closure_frames(joint, motion)
        for lock in joint.locks:
            e = first.R[:, lock[1]]
            if len(lock) == 2:
                wrenches.append(_wrench(e, zero, second.p))
            else:
                wrenches.append(pack([*zero, *cross(second.R[:, lock[2]], e)]))
    for spin in internal_freedoms(robot):
        wrenches.append(pack([*zero, *(motion.poses[spin.body].R @ np.array(spin.axis))]))
    return np.stack(wrenches) if wrenches else np.zeros((0, 6))


def _lock_rows(robot: Robot, motion: TreeKinematics) -> Array:
    """J (locks, rates): rates of what the closures lock, then of idle spins, over the rates of the tree."""
    system = rate_equations(robot, mechanism_of(robot), motion)
    return np.concatenate([system.closures.jacobian, *(np.stack(rows) for rows in system.rows if rows)])


def internal_freedoms(robot: Robot) -> list[InternalFreedom]:
    """The idle spins that are set to zero."""
    return [spin for spins in mechanism_of(robot).spins for spin in spins]


def axis_efforts(state: State, u_dot: Array, tau: Array, physics: Physics) -> dict[tuple[int, int], Array]:
    """Efforts that act on the successor along axes of joints, by joint and axis: what drives less what holds.

    Actuator less friction, spring and rotor; of a spherical joint three numbers, along the axes of its rates.
    """
    efforts = {(actuator.joint, 0): tau[k : k + 1] for k, actuator in enumerate(state.robot.actuators)}
    for effort in joint_efforts(state, u_dot, physics):
        axis = effort.joint, effort.number
        efforts[axis] = efforts[axis] - effort.values if axis in efforts else -effort.values
    return efforts


def closure_effort(
    robot: Robot, motion: TreeKinematics, index: int, efforts: Mapping[tuple[int, int], Array]
) -> Array:
    """The efforts along the axes of a closure as a wrench [f; n] (6,) on its successor.

    N and N m about the base's origin, base axes; summed over the axes that have an effort.
    """
    joint = robot.joints[index]
    total: Array = np.zeros(6)
    for number, axis in enumerate(closure_axes(joint, motion)):
        if (index, number) in efforts:
            total = total + _wrench(*axis.wrench(efforts[index, number]), axis.point)
    return np.asarray(total)


# ---- the wrenches in all joints from the balance of bodies, in NumPy over batches


# Parts of inner stress below this share of its largest one are rounding.
_STRESS_TOLERANCE = 1e-8


@dataclass(frozen=True, eq=False)
class BalanceStructure:
    """What the balance of a robot knows before any pose: for every joint, and last for the platform, signs.

    Attributes:
        beyond: which bodies it carries (joints + 1, bodies): those beyond a tree joint; none for closures.
        lock_signs: for every lock, what a unit of it adds to the joint's wrench (joints + 1, locks): -s_jc
            for
            tree joints and the platform, 1 for the closure's own.
        closure_signs: the same for the efforts of closures (joints + 1, closures).
        joint_of: for every rate of u the row of its tree joint, or of the platform (rates,).
        lock_scale: (locks,) what makes forces and moments alike: 1 for forces, the robot's size for moments.
        rate_scale: (rates,) 1 for translations, the robot's size for rotations.
    """

    beyond: Array
    lock_signs: Array
    closure_signs: Array
    joint_of: Array
    lock_scale: Array
    rate_scale: Array


@lru_cache(maxsize=64)
def balance_structure(robot: Robot) -> BalanceStructure:
    """The signs and scales of a robot's balance."""
    tree, count = robot.tree, len(robot.joints)
    # A body lies beyond a joint if the joint is on its way to the root.
    beyond = np.zeros((count + 1, len(robot.bodies)))
    beyond[count, PLATFORM] = 1.0
    for j, joint in enumerate(robot.tree_joints):
        beyond[:, joint.successor] = beyond[:, joint.predecessor]
        beyond[j, joint.successor] = 1.0
    predecessors = np.array([joint.predecessor for joint in robot.closures], dtype=int)
    successors = np.array([joint.successor for joint in robot.closures], dtype=int)
    carries = beyond[:, predecessors] - beyond[:, successors]
    carries[tree:count] = np.eye(count - tree)
    owner = np.array([c for c, joint in enumerate(robot.closures) for _ in joint.locks], dtype=int)
    # Idle spins are locked against the base.
    held_spins = [spin.body for spin in internal_freedoms(robot)]
    brings = np.concatenate([carries[:, owner], -beyond[:, held_spins]], axis=1)
    joint_of = np.repeat(
        [count, *range(tree)], [robot.platform_nv, *(joint.nv for joint in robot.tree_joints)]
    )
    moments = [len(lock) == 3 for joint in robot.closures for lock in joint.locks] + [True] * len(held_spins)
    lock_scale = np.where(moments, robot.size, 1.0)
    rate_scale = np.where(rotation_mask(robot), robot.size, 1.0)
    for k, joint in enumerate(robot.closures):
        if joint.is_coupling:
            factors = coupling_rates(robot, joint).items()
            lock_scale[owner == k] = 1.0 / max(abs(factor) / rate_scale[rate] for rate, factor in factors)
    return BalanceStructure(beyond, brings, carries, joint_of, lock_scale, rate_scale)


@dataclass(frozen=True, eq=False)
class Determination:
    """What the balance determines at generic poses.

    Attributes:
        rank: number of locks, idle spins among them, less the redundancy.
        redundancy: dimension of the inner stress, which no motion and no load determines.
        determined: for every joint and component of its wrench (joints, 6) whether it has no inner stress.
    """

    rank: int
    redundancy: int
    determined: Array


@lru_cache(maxsize=64)
def determination(robot: Robot) -> Determination:
    """Find by rank, at generic poses, which components of which joints the balance determines."""
    assembly, signs = mechanism_of(robot).assembly, balance_structure(robot)
    motions = [motion for motion, _ in generic_poses(robot, assembly)] or [assembly.motion]
    L = np.stack([lock_wrenches(robot, motion) for motion in motions])
    A = scaled_matrix(signs, np.stack([_lock_rows(robot, motion) for motion in motions]))
    rank = max(rank_of(matrix) for matrix in A)
    redundancy = len(signs.lock_scale) - rank
    stressed = np.zeros((len(robot.joints), 6), dtype=bool)
    if redundancy:
        inner = np.swapaxes(np.linalg.svd(A, full_matrices=True)[2][:, rank:], 1, 2)
        frames = [
            [motion.poses[joint.predecessor] @ joint.frame_predecessor for joint in robot.joints]
            for motion in motions
        ]
        R = np.stack([[frame.R for frame in row] for row in frames])
        p = np.stack([[frame.p for frame in row] for row in frames])
        parts = np.abs(inner_stress(signs, robot.size, L, R, p, inner))
        stressed = np.max(parts, axis=(0, 3)) > _STRESS_TOLERANCE * np.max(parts)
    return Determination(rank, redundancy, ~stressed)


def scaled_matrix(signs: BalanceStructure, J: Array) -> Array:
    """J^T (..., rates, locks) without units, from J (..., locks, rates): moments over the robot's size."""
    return np.asarray(np.swapaxes(J, -1, -2) * signs.lock_scale / signs.rate_scale[:, None])


def inner_stress(
    signs: BalanceStructure, size: float, locks: Array, R: Array, p: Array, inner: Array
) -> Array:
    """Wrenches in the joints' frames (..., joints, 6, k), moments over the size, of k sets of lock values."""
    columns = []
    for k in range(inner.shape[-1]):
        values = (inner[..., k] * signs.lock_scale)[..., None, :] * signs.lock_signs
        columns.append(wrenches_in_frames((values @ locks)[..., :-1, :], R, p, size))
    return np.stack(columns, axis=-1)


def wrenches_in_frames(wrenches: Array, R: Array, p: Array, size: float) -> Array:
    """Wrenches about the base's origin (..., joints, 6) in the joints' frames; moments over the size."""
    f, n = wrenches[..., :3], wrenches[..., 3:]
    moment = n - np.cross(p, f)
    parts = [np.einsum("...ij,...i->...j", R, part) for part in (f, moment / size)]
    return np.concatenate(parts, axis=-1)


class TransmittedWrenches(NamedTuple):
    """Wrenches in the joints.

    Attributes:
        wrench: [f; n] (N, joints, 6) from predecessor to successor, in the joint's frame on the predecessor.
        unbalanced: the largest moment that holds an idle spin, over the size, or effort that is left along a
            rate (N,), N.
        ratio: of the last singular value that counts to the first (N,).
    """

    wrench: Array
    unbalanced: Array
    ratio: Array


def solve_reactions(robot: Robot, terms: Mapping[str, Array]) -> TransmittedWrenches:
    """Solve the balance J^T lambda = b, from what `reaction_terms` gives for N samples."""
    signs, generic, size = balance_structure(robot), determination(robot), robot.size
    locks, columns, R, p = terms["locks"], terms["columns"], terms["R"], terms["p"]
    # What tree joints and the platform would have to transmit with the locks of all closures open.
    opened = signs.beyond @ terms["needs"] + signs.closure_signs @ terms["across"]
    b = (np.einsum("nki,nki->nk", columns, opened[:, signs.joint_of]) - terms["along"]) / signs.rate_scale
    A = scaled_matrix(signs, terms["J"])
    U, s, Vt = np.linalg.svd(A, full_matrices=A.shape[2] > A.shape[1])
    r = generic.rank
    U = U[:, :, :r]
    inside = np.einsum("nki,nk->ni", U, b)
    values = np.einsum("nik,ni->nk", Vt[:, :r], inside / s[:, :r])
    left = b - np.einsum("nki,ni->nk", U, inside)
    total = opened + (signs.lock_signs * (values * signs.lock_scale)[:, None]) @ locks
    wrench = wrenches_in_frames(total[:, :-1], R, p, size)
    if generic.redundancy:
        inner = inner_stress(signs, size, locks, R, p, np.swapaxes(Vt[:, r:], 1, 2))
        Q = np.linalg.qr(inner.reshape(len(inner), -1, generic.redundancy))[0]
        flat = wrench.reshape(len(wrench), -1)
        flat = flat - np.einsum("nik,nk->ni", Q, np.einsum("nik,ni->nk", Q, flat))
        wrench = flat.reshape(wrench.shape)
    wrench[..., 3:] *= size
    ratio = s[:, r - 1] / s[:, 0] if r else np.ones(len(s))
    open_ = np.concatenate([left, values[:, len(signs.lock_scale) - len(internal_freedoms(robot)) :]], axis=1)
    return TransmittedWrenches(wrench, np.max(np.abs(open_), axis=1, initial=0.0), ratio)


def sample_size(robot: Robot) -> int:
    """How many numbers the solution of one sample holds at a time, roughly."""
    signs, generic = balance_structure(robot), determination(robot)
    rates, locks = len(signs.rate_scale), len(signs.lock_scale)
    decomposed = rates * locks + rates * rates + 2 * locks * locks
    return decomposed + len(robot.joints) * 6 * (2 * generic.redundancy + 8) + 12 * rates + 6 * locks


# Ratios of singular values: below the first a singularity of the constraints is near, below the second met.
_NEAR_SINGULAR_RATIO = 1e-6
_SINGULAR_RATIO = 1e-11
# Given forces and a given acceleration may differ by this, m/s^2 or rad/s^2, or this part of the largest.
_AGREEMENT = 1e-6
# Numbers that one block of samples may hold: 32 MiB.
_BLOCK = 1 << 22


@dataclass(frozen=True, eq=False, repr=False)
class Reactions(Flagged, Plottable):
    """What the joints transmit.

    Attributes:
        robot: the robot.
        wrench: [f; n] (..., joints, 6) from predecessor to successor, N and N m, in the joint's frame on the
            predecessor: its axes, moments about its origin. Actuator, friction, spring and rotor are in it.
        tau: forces of the actuators (..., actuators) that go with it, N or N m.
        determined: for every joint and component (joints, 6) whether the balance determines it, at generic
            poses; the others hold inner stress, and their least-norm value.
        redundancy: number of independent inner stresses; 0 unless closures are overconstrained.
        unbalanced: what is left of the balance (...), N, moments over the robot's size: rounding, unless
            friction or a load drives an idle spin, which is then held by a moment about the rod's axis.
        flags: for every state what was found (`Flag`).
    """

    robot: Robot
    wrench: Array
    tau: Array
    determined: Array
    redundancy: int
    unbalanced: Array
    flags: Array

    def joint(self, name: str) -> Array:
        """Wrench [f; n] (..., 6) in a joint by name."""
        return np.asarray(self.wrench[..., self.robot.joint(name), :])


def joint_reactions(
    robot: Robot,
    x: Any,
    v: Any = None,
    a: Any = None,
    *,
    external: Mapping[str, Any] | None = None,
    friction: bool = True,
    smooth: float | None = None,
    tau: Any = None,
    guess: Any = None,
) -> Reactions:
    """Find the force and moment that every joint transmits in a motion.

    Joints are those of the tree, closures, and joints of a point platform. At a point, each leg's force goes
    through its joint with the point, and a joint between two legs there transmits moments only.

    Args:
        robot: the robot.
        x: reduced poses (..., nx), m and quat_xyzw or rad, in the base frame.
        v: reduced twists (..., n), m/s and rad/s in base axes; zero if None.
        a: their derivatives (..., n), m/s^2 and rad/s^2 in base axes; if None zero, or with `tau` given
            what the forces make of it. Motions
            that nothing drives accelerate as the dynamics have it, whatever is given.
        external: wrenches [f; n] (..., 6), N and N m in base axes, by name of the body or tool.
        friction: whether friction counts.
        smooth: rate (rad/s, m/s) over which Coulomb friction changes its sign smoothly; at once if None.
        tau: forces of the actuators (..., actuators), N or N m; those of `inverse_dynamics` if None.
        guess: solutions near by, as in `inverse_dynamics`.

    Returns:
        Wrenches [f; n] (..., joints, 6) from predecessor to successor, N and N m, in the joint's frame on the
        predecessor.

    Raises:
        KinematicsError: if shapes or names are wrong, a single state is not finite, or forces and
            acceleration are given and do not belong together.
        UnreachableError: if a single pose is out of reach; in a batch it is flagged, with NaN.
        SingularError: if a single pose is singular; in a batch it is flagged, with NaN.
    """
    physics = Physics(friction, smooth)
    point, flags = operating_point(robot, x, v, a=a, tau=tau, external=external, physics=physics, guess=guess)
    if tau is not None and a is not None:
        _require_agreement(robot, check_rates(robot, "the acceleration a", a), point, flags)
    batch = flags.shape
    loads = wrenches_on_bodies(robot, point.x, point.y, external)
    rows = [_sample_rows(loads, batch, 2), *(_sample_rows(array, batch, 1) for array in point)]
    count = int(np.prod(batch))
    generic = determination(robot)
    wrench = np.full((count, len(robot.joints), 6), np.nan)
    left, ratio = np.full(count, np.nan), np.ones(count)
    good = np.flatnonzero(~has_failed(flags).ravel())
    program = compile_native(reaction_terms, robot, physics=physics)
    step = max(1, _BLOCK // sample_size(robot))
    for start in range(0, len(good), step):
        part = good[start : start + step]
        terms = program(*(row[part] for row in rows))
        wrench[part], left[part], ratio[part] = solve_reactions(robot, terms)
    singular, near = (ratio <= _SINGULAR_RATIO).reshape(batch), (ratio < _NEAR_SINGULAR_RATIO).reshape(batch)
    if not batch and singular:
        raise SingularError(
            f"{robot.name}: the closures are singular in this pose, so reactions are not determined",
            "constraint",
        )
    flags = flags | np.where(singular, int(Flag.SINGULAR), np.where(near, int(Flag.NEAR_SINGULAR), 0))
    wrench[ratio <= _SINGULAR_RATIO] = np.nan
    return Reactions(
        robot,
        wrench.reshape(*batch, *wrench.shape[1:]),
        np.broadcast_to(point.tau, (*batch, len(robot.actuators))),
        generic.determined,
        generic.redundancy,
        left.reshape(batch),
        flags,
    )


def _require_agreement(robot: Robot, acceleration: Array, point: OperatingPoint, flags: Array) -> None:
    """Check that a given acceleration (..., n) is that of the given forces.

    Raises:
        KinematicsError: if it is not.
    """
    scale = np.maximum(1.0, np.max(np.abs(acceleration), initial=0.0))
    try:
        off = np.abs(acceleration - point.a)
    except ValueError:
        raise KinematicsError(
            f"the acceleration {acceleration.shape} and the forces {point.tau.shape} do not broadcast"
        ) from None
    if np.any(off[~has_failed(flags)] > _AGREEMENT * scale):
        raise KinematicsError(
            f"{robot.name}: the forces give another acceleration than a; leave one of them out"
        )


def _sample_rows(array: Array, batch: tuple[int, ...], dimensions: int) -> Array:
    """An array as rows, one a sample; `own` dimensions at the end belong to a row."""
    shape = array.shape[array.ndim - dimensions :]
    return np.broadcast_to(array, (*batch, *shape)).reshape(int(np.prod(batch)), *shape)


# ---- peak reactions: what a motion requires of the bearings of every joint


WRENCH_COMPONENTS = ("fx", "fy", "fz", "nx", "ny", "nz")


@dataclass(frozen=True)
class Peak:
    """The largest loads of one joint along a motion.

    Radial and axial, tilting and torque refer to the axis of the joint's bearing: z of its frame, x (the
    first hinge) of a universal joint, the normal of a joint that slides on a plane of its predecessor. They
    are NaN where there is no such axis: in spherical joints, in points, where the plane is on the successor.

    Attributes:
        name: of the joint.
        kind: of the joint.
        force: largest resultant force, N.
        force_time: when, s.
        mean_force: cubic mean of the resultant over time, N, as the life of rolling bearings counts it.
        radial: largest force perpendicular to the axis, N.
        axial: largest force along it, absolute, N; in a driven slide the drive takes it.
        moment: largest resultant moment about the joint's origin, N m.
        moment_time: when, s.
        tilting: largest moment perpendicular to the axis, N m.
        torque: largest moment about it, absolute, N m: what drive, friction, spring and rotor do in a hinge.
        open: the components that the balance leaves open, of "fx" to "nz"; their least-norm share is given.
    """

    name: str
    kind: str
    force: float
    force_time: float
    mean_force: float
    radial: float
    axial: float
    moment: float
    moment_time: float
    tilting: float
    torque: float
    open: tuple[str, ...]

    @property
    def determined(self) -> bool:
        """Whether the balance determines all of it; otherwise it holds a least-norm share."""
        return not self.open


@dataclass(frozen=True, eq=False)
class PeakReactions(SampledMotion):
    """A motion and what it requires of the joints.

    Attributes:
        reactions: at all times.
        peaks: of every joint, over the samples that could be solved.
    """

    reactions: Reactions
    peaks: tuple[Peak, ...]

    def __repr__(self) -> str:
        """Give robot, duration and the joint with the largest force."""
        most = max(self.described_peaks, key=lambda peak: peak.force)
        return (
            f"<PeakReactions {self.robot.name}: {self.times[-1]:g} s, {len(self.described_peaks)} joints, "
            f"at most {most.force:.4g} N in {most.name}>"
        )

    @property
    def described_peaks(self) -> tuple[Peak, ...]:
        """The peaks of the joints that the description has: couplings transmit through theirs."""
        return tuple(self.peaks[j] for j in self.robot.described_joints)

    def joint(self, name: str) -> Peak:
        """The peaks of a joint by name."""
        return self.peaks[self.robot.joint(name)]


def peak_reactions(
    robot: Robot,
    trajectory: Trajectory,
    rate: float = 1000.0,
    *,
    external: Mapping[str, Any] | None = None,
    friction: bool = True,
    smooth: float | None = None,
) -> PeakReactions:
    """Find the largest loads of every joint along a trajectory, to size bearings.

    Args:
        robot: the robot.
        trajectory: of its motion.
        rate: samples a second.
        external: wrenches on bodies (6,) or, one a sample, (N, 6), as in `inverse_dynamics`.
        friction: whether friction counts.
        smooth: rate (rad/s, m/s) over which Coulomb friction changes its sign smoothly; at once if None.

    Raises:
        KinematicsError: if the rate is not above zero, or names or shapes are wrong.
        UnreachableError: if no pose of the trajectory is reached.
    """
    times, sample = motion_samples(robot, trajectory, rate)
    counting_robot, guess = counting_start(robot, sample.x)
    options: dict[str, Any] = {"external": external, "friction": friction, "smooth": smooth, "guess": guess}
    reactions = joint_reactions(counting_robot, sample.x, sample.v, sample.a, **options)
    good = solved_mask(robot, reactions.flags)
    wrench, when = reactions.wrench[good], times[good]
    peaks = tuple(
        _peak(joint.name, joint.kind, wrench[:, j], when, reactions.determined[j])
        for j, joint in enumerate(robot.joints)
    )
    return PeakReactions(robot, times, sample, reactions, peaks)


def _peak(name: str, kind: JointKind, wrench: Array, times: Array, determined: Array) -> Peak:
    f, n = wrench[:, :3], wrench[:, 3:]
    force, moment = np.linalg.norm(f, axis=1), np.linalg.norm(n, axis=1)
    first, second = int(np.argmax(force)), int(np.argmax(moment))
    parts = [float("nan")] * 4
    if MOTION[kind][:1] != (Primitive.SPHERICAL,):
        # Along the first axis of a cross, otherwise z.
        axis = 0 if kind is JointKind.UNIVERSAL else 2
        across = [k for k in range(3) if k != axis]
        sizes = (
            np.linalg.norm(f[:, across], axis=1),
            np.abs(f[:, axis]),
            np.linalg.norm(n[:, across], axis=1),
            np.abs(n[:, axis]),
        )
        parts = [float(np.max(size)) for size in sizes]
    radial, axial, tilting, torque = parts
    return Peak(
        name,
        str(kind),
        float(force[first]),
        float(times[first]),
        float(np.mean(force**3) ** (1.0 / 3.0)),
        radial,
        axial,
        float(moment[second]),
        float(times[second]),
        tilting,
        torque,
        tuple(part for part, sure in zip(WRENCH_COMPONENTS, determined, strict=True) if not sure),
    )
