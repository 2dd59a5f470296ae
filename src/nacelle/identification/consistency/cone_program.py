"""Least squares in the set of parameters that a robot can have, in residual form.

    min |H z - h|^2 + w |D z - d|^2        over the z of a `feasible_set`

Both squares are one, t = T (u - u_hat) with T triangular by orthogonal matrices (QR), u the free numbers in
z. In t the program is the nearest point to the origin under cones (`nearest`). The normal equations, K^T
C^-1 K, never appear: they square the condition, and a solver of them reports success where the digits are
lost.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nacelle.errors import IdentificationError
from nacelle.identification.consistency.feasible_set import FeasibleSet
from nacelle.identification.consistency.nearest import (
    NearestPoint,
    cone_blocks,
    distance_bound,
    nearest_point,
    status_message,
)
from nacelle.spatial.scalar import Array

# Bounds on the distance of an answer from the solution, in standard deviations or, where there are many, as a
# part of them: above the first the solver tries again, above the second the answer is refused.
_ACCURATE, _INACCURATE = 1e-4, 1e-2
# As a part of the parameters themselves this is accurate enough, however small their deviations are.
_DIGITS = 1e-8


@dataclass(frozen=True, eq=False)
class ConeSolution:
    """The solution of a program.

    Attributes:
        z: in the set (chosen,).
        multiplier_sizes: size of the multipliers of every cone.
        status: what the solver says.
        accuracy: bound on the distance of z from the true solution, in t, or as a part of |t| where that is
            above one.
        iterations: of the solver.
    """

    z: Array
    multiplier_sizes: tuple[float, ...]
    status: str
    accuracy: float
    iterations: int


def nearest_in_cones(space: FeasibleSet, H: Array, h: Array, weight: float) -> ConeSolution:
    """Solve the program.

    Args:
        space: the parameters that a robot can have.
        H: (rows, chosen).
        h: (rows,), residuals H z - h counted in standard deviations.
        weight: w.

    Raises:
        IdentificationError: if there is no such point, or no trustworthy solution was found.
    """
    import scipy.linalg

    solutions = space.solutions
    half_lines, triangles = len(space.signs.names), [len(cone.centre) for cone in space.cones]
    if not solutions.free:
        return ConeSolution(solutions.z0, (0.0,) * len(triangles), "Solved", 0.0, 0)
    T, order, target = _triangular_system(space, H, h, weight)
    u_hat = np.empty(len(order))
    u_hat[order] = scipy.linalg.solve_triangular(T, target)
    C, c = space.cone_rows()
    A = -scipy.linalg.solve_triangular(T, (C @ solutions.Z)[:, order].T, trans="T").T
    b = C @ (solutions.z0 + solutions.Z @ u_hat) - c
    inside = T @ (space.inside[list(solutions.free)] - u_hat)[order]
    best: tuple[float, Array, NearestPoint] | None = None
    failure = ""
    # The solver's own scaling first; then none; then that of an estimate that no robot comes near to.
    for options in ({}, {"equilibrate": False}, {"size": float(np.linalg.norm(inside))}):
        try:
            answer = nearest_point(A, b, half_lines, triangles, **options)
        except IdentificationError as error:
            failure = str(error)
            continue
        u = np.empty(len(order))
        u[order] = u_hat[order] + scipy.linalg.solve_triangular(T, answer.t)
        z = space.project_into_cones(solutions.z0 + solutions.Z @ u)
        t = T @ (z[list(solutions.free)] - u_hat)[order]
        accuracy = distance_bound(t, answer.multipliers, A, b) / max(1.0, float(np.linalg.norm(t)))
        if best is None or accuracy < best[0]:
            best = accuracy, z, answer
        if accuracy <= _ACCURATE:
            break
    if best is None:
        raise IdentificationError(failure)
    accuracy, z, answer = best
    signal = float(np.linalg.norm(target)) / max(1.0, float(np.linalg.norm(answer.t)))
    if not accuracy <= max(_INACCURATE, _DIGITS * signal):
        raise IdentificationError(
            f"no trustworthy solution: it may be {accuracy:.2g} standard deviations from the true one; "
            + status_message(answer.status)
        )
    pushes = [
        float(np.linalg.norm(block)) for block in cone_blocks(answer.multipliers, half_lines, triangles)
    ]
    return ConeSolution(z, tuple(pushes), answer.status, accuracy, answer.iterations)


def _triangular_system(space: FeasibleSet, H: Array, h: Array, weight: float) -> tuple[Array, Array, Array]:
    """T (free, free), the order of the free numbers, and T u_hat: both squares as one, by QR."""
    import scipy.linalg

    solutions = space.solutions
    D, d = space.distance_system()
    root = np.sqrt(weight)
    rows = np.vstack([H, root * D])
    sides = np.concatenate([h, root * d]) - rows @ solutions.z0
    Q, T, order = scipy.linalg.qr(rows @ solutions.Z, mode="economic", pivoting=True)
    return T, order, Q.T @ sides
