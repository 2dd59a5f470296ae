"""The point nearest to the origin under cones, by clarabel: min |t|^2 / 2 with b - A t in K.

K is a product of half-lines and of cones of positive semidefinite matrices, each its own dual. With
multipliers y in K the dual function is -|A^T y|^2 / 2 - b^T y, which bounds the minimum from below. For a
feasible t

    |t - t*|^2 <= 2 gap,      gap = |t|^2 / 2 + |A^T y|^2 / 2 + b^T y >= 0

since |t|^2 / 2 is strongly convex. So whatever the solver says of itself, the distance of its answer from the
solution is bounded by arithmetic that is independent of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nacelle.errors import IdentificationError
from nacelle.identification.consistency.pseudo_inertia import matrix_order, pack_symmetric, unpack_symmetric
from nacelle.spatial.scalar import Array

_TIGHT = 1e-11
_STATUS_MESSAGES = {
    "PrimalInfeasible": "no parameters meet all bounds at once: loosen the bounds, or the margin",
    "AlmostPrimalInfeasible": "no parameters meet all bounds at once: loosen the bounds, or the margin",
    "MaxIterations": "the cone solver did not come to an end in its number of iterations",
    "MaxTime": "the cone solver ran out of time",
    "NumericalError": "the cone solver failed by rounding: the information of the estimate may be ill-scaled",
    "InsufficientProgress": "the cone solver stopped making progress: the information may be ill-scaled",
}


@dataclass(frozen=True, eq=False)
class NearestPoint:
    """The nearest point.

    Attributes:
        t: the point (n,).
        multipliers: y (rows,), in K.
        status: what the solver says.
        iterations: how many it took.
    """

    t: Array
    multipliers: Array
    status: str
    iterations: int


def nearest_point(
    A: Array,
    b: Array,
    half_lines: int,
    triangles: Sequence[int],
    *,
    equilibrate: bool = True,
    size: float | None = None,
) -> NearestPoint:
    """Solve min |t|^2 / 2 with b - A t in K.

    Args:
        A: (rows, n).
        b: (rows,).
        half_lines: how many of the first rows are half-lines.
        triangles: lengths of the packed matrices that follow (`pseudo_inertia.packed`).
        equilibrate: whether the solver scales rows and columns.
        size: of t, as it may be, by which the program is scaled; not scaled if None.

    Raises:
        IdentificationError: if there is no such point, or the solver has failed.
    """
    import clarabel
    import scipy.sparse

    if not (np.all(np.isfinite(A)) and np.all(np.isfinite(b))):
        raise IdentificationError("the cone solver cannot start: the program has numbers that are not finite")
    count = A.shape[1]
    cones = [clarabel.NonnegativeConeT(half_lines)] if half_lines else []
    cones += [clarabel.PSDTriangleConeT(matrix_order(length)) for length in triangles]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = _TIGHT
    settings.equilibrate_enable = equilibrate
    # t = size t', and rows over the largest of b: the cones stay what they are.
    unit = 1.0 if size is None else size
    row = 1.0 if size is None else float(np.max(np.abs(b)))
    solver = clarabel.DefaultSolver(
        scipy.sparse.identity(count, format="csc"),
        np.zeros(count),
        scipy.sparse.csc_matrix(A * (unit / row)),
        np.asarray(b, dtype=float) / row,
        cones,
        settings,
    )
    answer = solver.solve()
    status = str(answer.status)
    t, y = unit * np.array(answer.x), (unit**2 / row) * np.array(answer.z)
    # Tolerances at the limit of doubles are rarely met: what was reached is judged by the certificate.
    if "Infeasible" in status or not (np.all(np.isfinite(t)) and np.all(np.isfinite(y))):
        raise IdentificationError(_STATUS_MESSAGES.get(status, f"the cone solver failed: {status}"))
    return NearestPoint(t, project_to_dual_cone(y, half_lines, triangles), status, int(answer.iterations))


def status_message(status: str) -> str:
    """In words what a status of the solver means."""
    return _STATUS_MESSAGES.get(status, f"the cone solver says {status}")


def project_to_dual_cone(y: Array, half_lines: int, triangles: Sequence[int]) -> Array:
    """The multipliers (rows,) in K nearest to y (rows,): half-lines and eigenvalues not below zero."""
    parts = [np.maximum(y[:half_lines], 0.0)]
    for block in cone_blocks(y, half_lines, triangles):
        values, vectors = np.linalg.eigh(unpack_symmetric(block))
        parts.append(pack_symmetric((vectors * np.maximum(values, 0.0)) @ vectors.T))
    return np.concatenate(parts)


def cone_blocks(rows: Array, half_lines: int, triangles: Sequence[int]) -> list[Array]:
    """The packed matrices among rows, which come after the half-lines: one (n (n + 1) / 2,) for each cone."""
    return np.split(rows, half_lines + np.cumsum([0, *triangles])[:-1])[1:]


def distance_bound(t: Array, y: Array, A: Array, b: Array) -> float:
    """How far t can be from the solution, for t feasible and y in K: sqrt(2 gap)."""
    # Written as a sum of two squares' worth: the terms of the gap as defined cancel to rounding.
    slack = b - A @ t
    gap = 0.5 * float(np.sum((t + A.T @ y) ** 2)) + float(slack @ y)
    return float(np.sqrt(2.0 * max(gap, 0.0)))
