"""Actuator forces from the generalised force: A^T Gamma = F, with A = J_r^-1.

A (actuators, n) gives the actuators' rates from the reduced twist, q_a' = A v, so equal power for all v,
Gamma . q_a' = F . v, is A^T Gamma = F ([KI2007] (1) for the actuators; A = J_r^-1 of (10)); Gamma
(actuators,) and F (n,) in N or N m. The columns of A are made perpendicular to each other (Gram and Schmidt),
A = Q R with R (n, n) upper triangular, ones on its diagonal, and D = Q^T Q diagonal:

    R^T z = F (forward substitution),      Gamma = Q D^-1 z

for as many actuators as motions the solution, for more of them the one of least norm, for it lies in the
range of A. With weights the sum of weight Gamma^2 is least: rows of A and Gamma are scaled by weight^(-1/2).
What is left of a column after the others were taken out, over the longest column, is a cheap measure of
how near a parallel singularity is; columns count without units, translations in the robot's size.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nacelle.spatial.scalar import Array, Scalar, divide, dot, maximum, minimum, pack


class LeastNorm(NamedTuple):
    """Actuator forces (actuators,), and how far a parallel singularity is: 1 at best, 0 there.

    The margin is the square of a ratio of lengths, an upper bound of the squared inverse condition number.
    """

    tau: Array
    parallel_margin: Scalar


def least_norm_forces(
    A: Array,
    F: Array,
    weights: Array | None = None,
    units: Array | None = None,
) -> LeastNorm:
    """Find the actuator forces that make up a generalised force: A^T Gamma = F, sum of weight Gamma^2 least.

    Args:
        A: rates of the actuators from the reduced twist (actuators, n), J_r^-1.
        F: generalised force along the reduced twist (n,), N or N m.
        weights: for redundant actuation, sum of weight Gamma^2 is least; all 1 if None.
        units: what a column of A (a coordinate of the twist) counts in the margin: the robot's size for
            translations, 1 for rotations; all 1 if None.
    """
    count, n = A.shape
    # With s^2 = 1 / weight, Gamma = s Gamma' has the least norm in Gamma'.
    scale = np.ones(count) if weights is None else 1.0 / np.sqrt(weights)
    columns = [A[:, k] * scale for k in range(n)]
    R: list[list[Scalar]] = [[0.0] * n for _ in range(n)]
    reciprocals: list[Scalar] = []
    squares = np.ones(n) if units is None else units * units
    longest: Scalar = 0.0
    shortest: Scalar = np.inf
    for k in range(n):
        longest = maximum(longest, squares[k] * dot(columns[k], columns[k]))
    for k in range(n):
        left = dot(columns[k], columns[k])
        shortest = minimum(shortest, squares[k] * left)
        reciprocals.append(divide(1.0, left))
        for j in range(k + 1, n):
            R[k][j] = dot(columns[k], columns[j]) * reciprocals[k]
            columns[j] = columns[j] - R[k][j] * columns[k]
    force: Array = np.zeros(count)
    values: list[Scalar] = []
    for k in range(n):
        value = F[k]
        for j in range(k):
            value = value - R[j][k] * values[j]
        values.append(value)
        force = force + (value * reciprocals[k]) * columns[k]
    scaled = pack([entry * s for entry, s in zip(force, scale, strict=True)])
    return LeastNorm(scaled, divide(shortest, longest))
