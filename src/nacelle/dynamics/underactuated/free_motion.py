"""Forces of the actuators and accelerations that are left free, together.

Along the reduced twist (n,) the equations of motion are

    M a + h - L = A^T Gamma          A = J_r^-1 (actuators, n), of rank n - k

where nothing drives k motions. Of a = dv/dt the k entries F are unknown and the others G given, so

    [A^T, -M_F] [Gamma; a_F] = M_G a_G + h - L                                   n equations

With N (n, k) a basis of what the actuators do not move, A N = 0, the forces drop out:

    (N^T M_F) a_F = -N^T (M_G a_G + h - L),      then   A^T Gamma = M a + h - L   is consistent

and Gamma the solution of least norm where there are more actuators than they drive motions. N^T M_F is
singular where a motion of the named coordinates is perpendicular, in the metric M, to all motions of N: with
C the matrix of cosines between both spaces, N and F made orthonormal in that metric,

    margin = (least singular value of C)^2          1 where they are one space (a free base), 0 if singular
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nacelle.kinematics.jacobian import scales
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array


class FreeMotion(NamedTuple):
    """Forces and accelerations of states (...).

    Attributes:
        force: of the actuators (..., actuators), N or N m.
        acceleration: derivative of the reduced twist (..., n), with the free entries found.
        margin: how far the free accelerations are from not being determined (...): a squared cosine.
        parallel_margin: squared ratio (...) of the least to the largest rate that the actuators feel.
    """

    force: Array
    acceleration: Array
    margin: Array
    parallel_margin: Array


class EquationsOfMotion(NamedTuple):
    """The equations of motion M a + b = A^T Gamma of states (...), all finite.

    Attributes:
        M: mass matrix (..., n, n) along the reduced twist.
        b: bias less external loads (..., n), N or N m.
        A: rates of the actuators from the reduced twist (..., actuators, n).
    """

    M: Array
    b: Array
    A: Array


def free_motion(
    robot: Robot, equations: EquationsOfMotion, a: Array, free: tuple[int, ...], weights: Array | None = None
) -> FreeMotion:
    """Solve the equations of motion for the actuators' forces and the accelerations that are left free.

    Args:
        robot: the robot.
        equations: its equations of motion.
        a: derivatives of the reduced twist (..., n); entries of free coordinates do not count.
        free: their places, as many as motions that nothing drives.
        weights: of the actuators (actuators,): sum of weight Gamma^2 is least; all 1 if None.
    """
    M, b, A = equations
    n, listed = robot.motion.n, list(free)
    units = scales(robot)[1]
    scale = np.ones(A.shape[-2]) if weights is None else 1.0 / np.sqrt(weights)
    scaled = A * scale[:, None] * units
    held = np.zeros(n)
    held[[k for k in range(n) if k not in free]] = 1.0
    given = np.where(held > 0.0, a, 0.0)
    left, driven, s = _split(scaled, n - len(free))
    N = units[:, None] * left
    right = _times(M, given) + b
    forced = np.swapaxes(N, -1, -2) @ M[..., listed]
    with np.errstate(all="ignore"):
        margin = _cosine(N, M, listed) ** 2
        known = np.where(margin[..., None, None] > 0.0, forced, np.eye(len(listed)))
        found = np.linalg.solve(known, -_times(np.swapaxes(N, -1, -2), right)[..., None])[..., 0]
        acceleration = np.array(np.broadcast_to(given, right.shape))
        acceleration[..., listed] = found
        F = units * (_times(M, acceleration) + b)
        parallel = (s[..., -1] / s[..., 0]) ** 2 if s.shape[-1] else np.ones(s.shape[:-1])
        force = scale * _times(driven, F)
    return FreeMotion(force, acceleration, margin, parallel)


def _split(A: Array, rank: int) -> tuple[Array, Array, Array]:
    """Null space (..., n, n - rank) of A (..., m, n), the inverse (..., m, n) of A^T on its range, and s."""
    n = A.shape[-1]
    if not rank:
        batch = A.shape[:-2]
        return np.broadcast_to(np.eye(n), (*batch, n, n)), np.zeros(A.shape), np.zeros((*batch, 0))
    U, s, V = np.linalg.svd(A, full_matrices=True)
    with np.errstate(divide="ignore"):
        inverse = (U[..., :rank] / s[..., None, :rank]) @ V[..., :rank, :]
    return np.swapaxes(V[..., rank:, :], -1, -2), inverse, s[..., :rank]


def _cosine(N: Array, M: Array, free: list[int]) -> Array:
    """Least cosine (...) between motions of N and of the free coordinates, in the metric M."""
    values, vectors = np.linalg.eigh(M)
    root = np.sqrt(np.maximum(values, 0.0))[..., None] * np.swapaxes(vectors, -1, -2)
    first, second = np.linalg.qr(root @ N)[0], np.linalg.qr(root[..., free])[0]
    s = np.linalg.svd(np.swapaxes(first, -1, -2) @ second, compute_uv=False)
    return np.asarray(s[..., -1])


def _times(A: Array, v: Array) -> Array:
    return np.asarray(np.einsum("...ij,...j->...i", A, v))
