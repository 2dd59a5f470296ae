"""Modes of one linear model: K phi = w^2 M phi on the rates that the constraints allow.

With r = N s and N^T M N = L L^T the eigenvalues are those of L^-1 N^T K N L^-T; shapes are phi = N L^-T u,
so that phi^T M phi = 1. Directions without mass are condensed statically first. Motions that deform nothing
(e = 0, springs at rest) are rigid: they are taken out beforehand, exactly, and the others are orthogonal to
them in M.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nacelle.spatial.scalar import Array

# Directions with less than this part of the largest mass have none.
_MASSLESS = 1e-13


class Modes(NamedTuple):
    """Modes: w^2 (k,), rad^2/s^2, ascending after `rigid` zeros; shapes (r, k) with phi^T M phi = 1."""

    values: Array
    shapes: Array
    rigid: int


def modes_of(M: Array, K: Array, N: Array, rigid: Array) -> Modes:
    """The modes on a subspace.

    Args:
        M: mass matrix (r, r).
        K: stiffness matrix (r, r).
        N: basis (r, k) of the rates that are allowed.
        rigid: basis (r, m) of those among them that deform nothing.
    """
    still = np.zeros((M.shape[0], 0))
    if rigid.shape[1]:
        still = rigid @ _whitening(rigid.T @ M @ rigid)
        # What is left is orthogonal to them in M: the null space of rigid^T M N.
        q, _ = np.linalg.qr((still.T @ M @ N).T, mode="complete")
        N = N @ q[:, still.shape[1] :]
    Mr, Kr = _symmetric(N.T @ M @ N), _symmetric(N.T @ K @ N)
    N, Mr, Kr = _with_mass(N, Mr, Kr)
    if not N.shape[1]:
        return Modes(np.zeros(still.shape[1]), still, still.shape[1])
    W = _whitening(Mr)
    values, vectors = np.linalg.eigh(_symmetric(W.T @ Kr @ W))
    shapes = np.concatenate([still, N @ (W @ vectors)], axis=1)
    return Modes(np.concatenate([np.zeros(still.shape[1]), values]), shapes, still.shape[1])


def _symmetric(A: Array) -> Array:
    return np.asarray(0.5 * (A + A.T))


def _whitening(M: Array) -> Array:
    """W with W^T M W = 1, of a positive definite matrix."""
    return np.asarray(np.linalg.inv(np.linalg.cholesky(M)).T)


def _with_mass(N: Array, M: Array, K: Array) -> tuple[Array, Array, Array]:
    """The subspace and its matrices without massless directions, these moved as statics require."""
    if not N.shape[1]:
        return N, M, K
    try:
        lowest = float(np.min(np.diag(np.linalg.cholesky(M)))) ** 2
    except np.linalg.LinAlgError:
        lowest = 0.0
    if lowest > 1e3 * _MASSLESS * float(np.max(np.diag(M))):
        return N, M, K
    masses, vectors = np.linalg.eigh(M)
    heavy = masses > _MASSLESS * masses[-1]
    if heavy.all():
        return N, M, K
    light = vectors[:, ~heavy]
    # Massless directions that nothing holds move nothing: least squares leaves them out.
    moved = np.linalg.lstsq(light.T @ K @ light, light.T @ K @ vectors[:, heavy], rcond=1e-12)[0]
    T = vectors[:, heavy] - light @ moved
    return N @ T, T.T @ M @ T, T.T @ K @ T
