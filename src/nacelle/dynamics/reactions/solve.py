"""The wrenches in all joints from the balance of bodies, in NumPy over batches.

The equations J^T lambda = b of `nacelle.dynamics.reactions.equations`, one for each rate of the tree, are
solved for the lock forces lambda (locks,). Without units (moments over the robot's size) and with the
singular values J^T = P S Q^T, of which the first r, the rank at generic poses, count:

    lambda = Q_r S_r^-1 P_r^T b  +  Q_0 c          Q_0 (locks, redundancy) spans the inner stress, J^T Q_0 = 0

c is free where closures are overconstrained. Let W_0 be all joints' wrenches (forces, moments over the size)
at c = 0 and N those of unit columns of Q_0: the sum of squares |W_0 + N c|^2 is least where W_0 + N c is
perpendicular to N, so W_0's part along an orthonormal basis of N is taken off. Components that N does not
touch are determined.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from nacelle.dynamics.reactions.equations import idle_spins, lock_wrenches
from nacelle.kinematics.mechanism.closed import generic_poses
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.mechanism.rank import rank_of
from nacelle.kinematics.tree.closure import coupling_rates
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array

# Parts of inner stress below this share of its largest one are rounding.
_SEEN = 1e-8


@dataclass(frozen=True, eq=False)
class BalanceStructure:
    """What the balance of a robot knows before any pose.

    Attributes:
        beyond: which bodies a joint carries (joints, bodies): those beyond a tree joint; none for closures.
        brings: for every joint and lock, what a unit of the lock adds to the joint's wrench (joints, locks):
            -s_jc for tree joints, 1 for the closure's own.
        carries: the same for the efforts of closures (joints, closures).
        felt: for every rate and lock (rates, locks) the sign with which the lock feels the rate.
        joint_of: for every rate of u its tree joint (rates,); -1 for the platform.
        platform: bodies beyond the platform (bodies,).
        platform_brings: s_jc of the platform (closures,).
        coupled: (rates, locks) the factors of couplings, whose efforts act along rates and have no wrench.
        lock_scale: (locks,) what makes forces and moments alike: 1 for forces, the robot's size for moments.
        rate_scale: (rates,) 1 for translations, the robot's size for rotations.
    """

    beyond: Array
    brings: Array
    carries: Array
    felt: Array
    coupled: Array
    joint_of: Array
    platform: Array
    platform_brings: Array
    lock_scale: Array
    rate_scale: Array


@lru_cache(maxsize=64)
def balance_structure(robot: Robot) -> BalanceStructure:
    """The signs and scales of a robot's balance."""
    movers = mechanism_of(robot).assembly.motion.movers
    m, tree, count = robot.platform_nv, robot.tree, len(robot.joints)
    first = [m + place.start for place in robot.v_slices]
    # A body lies beyond a joint if the joint is on its way to the root; a fixed joint has no rate to tell.
    ways: dict[int, list[int]] = {0: [], 1: []}
    for j, joint in enumerate(robot.tree_joints):
        ways[joint.successor] = [*ways[joint.predecessor], j]
    beyond = np.zeros((count, len(robot.bodies)))
    for body, way in ways.items():
        beyond[way, body] = 1.0
    platform = movers[:, 0].astype(float)
    pre = np.array([joint.predecessor for joint in robot.closures], dtype=int)
    suc = np.array([joint.successor for joint in robot.closures], dtype=int)
    carries = beyond[:, pre] - beyond[:, suc]
    carries[tree:] = np.eye(count - tree)
    brings = platform[suc] - platform[pre]
    owner = np.array([c for c, joint in enumerate(robot.closures) for _ in joint.locks], dtype=int)
    # Idle spins are locked against the base.
    spinning = [spin.body for spin in idle_spins(robot)]
    locked = np.concatenate([carries[:, owner], -beyond[:, spinning]], axis=1)
    afloat = np.concatenate([brings[owner], platform[spinning]])
    moments = [len(lock) == 3 for joint in robot.closures for lock in joint.locks] + [True] * len(spinning)
    joint_of = np.full(m + robot.nv, -1)
    revolute = [False] * 3 + [True] * (m - 3)
    for j, joint in enumerate(robot.tree_joints):
        joint_of[first[j] : first[j] + joint.nv] = j
        revolute += [primitive.is_rotation for primitive in joint.primitives for _ in range(primitive.nv)]
    felt = np.where(joint_of[:, None] >= 0, -locked[joint_of], afloat)
    size = robot.size
    coupled = np.zeros(felt.shape)
    lock_scale, rate_scale = np.where(moments, size, 1.0), np.where(revolute, size, 1.0)
    for k in np.flatnonzero([joint.is_coupling for joint in robot.closures]).tolist():
        place = owner.tolist().index(k)
        for rate, factor in coupling_rates(robot, robot.closures[k]).items():
            coupled[rate, place] = factor
        lock_scale[place] = 1.0 / np.max(np.abs(coupled[:, place]) / rate_scale)
    return BalanceStructure(
        *(beyond, locked, carries, felt, coupled, joint_of, platform, brings, lock_scale, rate_scale)
    )


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
    A = scaled_matrix(signs, np.stack([motion.columns.T for motion in motions]), L)
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
        stressed = np.max(parts, axis=(0, 3)) > _SEEN * np.max(parts)
    return Determination(rank, redundancy, ~stressed)


def scaled_matrix(signs: BalanceStructure, columns: Array, locks: Array) -> Array:
    """J^T (..., rates, locks) without units: force and moment rows over 1 and the robot's size."""
    J = signs.felt * (columns @ np.swapaxes(locks, -1, -2)) + signs.coupled
    return np.asarray(J * signs.lock_scale / signs.rate_scale[:, None])


def inner_stress(
    signs: BalanceStructure, size: float, locks: Array, R: Array, p: Array, inner: Array
) -> Array:
    """Wrenches in the joints' frames (..., joints, 6, k), moments over the size, of k sets of lock values."""
    columns = []
    for k in range(inner.shape[-1]):
        values = (inner[..., k] * signs.lock_scale)[..., None, :] * signs.brings
        columns.append(in_frames(values @ locks, R, p, size))
    return np.stack(columns, axis=-1)


def in_frames(wrenches: Array, R: Array, p: Array, size: float) -> Array:
    """Wrenches about the base's origin (..., joints, 6) in the joints' frames; moments over the size."""
    f, n = wrenches[..., :3], wrenches[..., 3:]
    moment = n - np.cross(p, f)
    turned = [np.einsum("...ij,...i->...j", R, part) for part in (f, moment / size)]
    return np.concatenate(turned, axis=-1)


class Transmitted(NamedTuple):
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


def transmitted(robot: Robot, terms: Mapping[str, Array]) -> Transmitted:
    """Solve the balance J^T lambda = b, from what `reaction_terms` gives for N samples."""
    signs, generic, size = balance_structure(robot), determination(robot), robot.size
    locks, columns, R, p = terms["locks"], terms["columns"], terms["R"], terms["p"]
    # What tree joints and the platform would have to transmit with the locks of all closures open.
    opened = signs.beyond @ terms["needs"] + signs.carries @ terms["across"]
    adrift = signs.platform @ terms["needs"] - signs.platform_brings @ terms["across"]
    carried = np.concatenate([opened, adrift[:, None]], axis=1)[:, signs.joint_of]
    b = (np.einsum("nki,nki->nk", columns, carried) - terms["along"]) / signs.rate_scale
    A = scaled_matrix(signs, columns, locks)
    U, s, Vt = np.linalg.svd(A, full_matrices=A.shape[2] > A.shape[1])
    r = generic.rank
    U = U[:, :, :r]
    inside = np.einsum("nki,nk->ni", U, b)
    values = np.einsum("nik,ni->nk", Vt[:, :r], inside / s[:, :r])
    left = b - np.einsum("nki,ni->nk", U, inside)
    total = opened + (signs.brings * (values * signs.lock_scale)[:, None]) @ locks
    wrench = in_frames(total, R, p, size)
    if generic.redundancy:
        inner = inner_stress(signs, size, locks, R, p, np.swapaxes(Vt[:, r:], 1, 2))
        Q = np.linalg.qr(inner.reshape(len(inner), -1, generic.redundancy))[0]
        flat = wrench.reshape(len(wrench), -1)
        flat = flat - np.einsum("nik,nk->ni", Q, np.einsum("nik,ni->nk", Q, flat))
        wrench = flat.reshape(wrench.shape)
    wrench[..., 3:] *= size
    ratio = s[:, r - 1] / s[:, 0] if r else np.ones(len(s))
    open_ = np.concatenate([left, values[:, len(signs.lock_scale) - len(idle_spins(robot)) :]], axis=1)
    return Transmitted(wrench, np.max(np.abs(open_), axis=1, initial=0.0), ratio)


def sample_size(robot: Robot) -> int:
    """How many numbers the solution of one sample holds at a time, roughly."""
    signs, generic = balance_structure(robot), determination(robot)
    rates, locks = len(signs.rate_scale), len(signs.lock_scale)
    decomposed = rates * locks + rates * rates + 2 * locks * locks
    return decomposed + len(robot.joints) * 6 * (2 * generic.redundancy + 8) + 12 * rates + 6 * locks
