"""Pseudo-inertia matrices: a body can be built if and only if its matrix is positive semidefinite.

With mass elements dm at r (3,) in the body's frame, the ten parameters m, h = sum r dm and I are linear in

    P = sum [r; 1] [r; 1]^T dm = [[S, h], [h^T, m]]        S = sum r r^T dm = tr(I)/2 1 - I       (4, 4)

A sum of squares is positive semidefinite, and each positive semidefinite P belongs to some distribution of
mass: m >= 0, and principal moments about the centre of mass that obey the triangle inequality (Wensing, Kim,
Slotine: Linear matrix inequalities for physically consistent inertial parameter identification, IEEE RA-L
3(1), 2018). In another frame, r -> R r + p, P becomes T P T^T with T = [[R, p], [0, 1]]. So with any matrix
F = B^-1 B^-T that moves with the body, B P B^T has the same eigenvalues in all frames and units, and

    |B (P - F) B^T|        (Frobenius)

is a distance of P from F that neither frame nor units change: near F it is the affine-invariant distance
(Lee, Wensing, Park: Geometric robot dynamic identification, IEEE T-RO 36(2), 2020). Here F is the body as it
is described: r is counted from its centre of mass, in its own radii of gyration.
"""

from __future__ import annotations

import math

import numpy as np

from nacelle.spatial.inertia import inertia_matrix
from nacelle.spatial.scalar import Array

# The places of the six moments xx, xy, yy, xz, yz, zz in a matrix.
_MOMENTS = ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2))
# What a body is given where it is described as flat, or thin: this part of its largest second moment.
_THIN = 1e-4
# A body whose radii of gyration are below this part of the robot's size is a point; it is given this one.
_POINT = 1e-5
_POINT_RADIUS = 0.1


def _basis() -> Array:
    basis = np.zeros((10, 4, 4))
    basis[0, 3, 3] = 1.0
    for k in range(3):
        basis[1 + k, k, 3] = basis[1 + k, 3, k] = 1.0
    for k, (i, j) in enumerate(_MOMENTS):
        I = np.zeros((3, 3))
        I[i, j] = I[j, i] = 1.0
        basis[4 + k, :3, :3] = 0.5 * np.trace(I) * np.eye(3) - I
    return basis


BASIS = _basis()
"""P = sum_k p_k BASIS[k] for the ten parameters p, (10, 4, 4)."""


def pseudo_inertia(parameters: Array) -> Array:
    """The pseudo-inertia matrix P (4, 4) of ten parameters; kg m^2, kg m, kg."""
    return np.asarray(np.tensordot(parameters, BASIS, axes=1))


def central_second_moments(parameters: Array) -> Array:
    """S_c = sum (r - c) (r - c)^T dm (3, 3), kg m^2, about the centre of mass c; the mass is not zero."""
    I, h = inertia_matrix(parameters), np.asarray(parameters[1:4], dtype=float)
    return np.asarray(0.5 * np.trace(I) * np.eye(3) - I - np.outer(h, h) / parameters[0])


def required_thickness(parameters: Array, axes: tuple[int, ...], size: float) -> float:
    """Second moment, kg m^2, equal along all axes, that makes a flat, thin or impossible body a full one.

    Zero for a body that has some extent along all axes.

    Args:
        parameters: ten parameters; the mass is positive.
        axes: along which the body may extend.
        size: of the robot, m.
    """
    if not axes:
        return 0.0
    values = np.linalg.eigvalsh(central_second_moments(parameters)[np.ix_(axes, axes)])
    mass = float(parameters[0])
    if values[-1] <= _POINT**2 * mass * size**2:
        return _POINT_RADIUS**2 * mass * size**2 - min(float(values[0]), 0.0)
    return max(0.0, _THIN * float(values[-1]) - float(values[0]))


def add_thickness(parameters: Array, axes: tuple[int, ...], second_moment: float) -> Array:
    """Ten parameters with a second moment, kg m^2, added along each of some axes: S + s sum_k e_k e_k^T."""
    along = np.zeros((3, 3))
    along[list(axes), list(axes)] = second_moment
    I = np.trace(along) * np.eye(3) - along
    return np.asarray(np.asarray(parameters) + np.array([0.0] * 4 + [I[i, j] for i, j in _MOMENTS]))


def normaliser(parameters: Array, axes: tuple[int, ...]) -> Array:
    """B with B P B^T = 1 for the pseudo-inertia P of a body, over some axes and the mass.

    B = [[G^-1, -G^-1 c], [0, m^-1/2]] with S_c = G G^T: from the centre of mass, in radii of gyration.

    Args:
        parameters: ten parameters, of a full body.
        axes: along which it extends.
    """
    mass, count = float(parameters[0]), len(axes)
    B = np.zeros((count + 1, count + 1))
    B[count, count] = 1.0 / math.sqrt(mass)
    if count:
        G = np.linalg.cholesky(central_second_moments(parameters)[np.ix_(axes, axes)])
        B[:count, :count] = np.linalg.inv(G)
        B[:count, count] = -B[:count, :count] @ (np.asarray(parameters)[1:4][list(axes)] / mass)
    return B


def pack_symmetric(matrix: Array) -> Array:
    """The upper triangle of symmetric matrices (..., n, n) by columns, off-diagonals times sqrt 2.

    The scalar product of two such vectors is the trace of the product of the matrices.
    """
    rows, columns, factors = _triangle(matrix.shape[-1])
    return np.asarray(matrix[..., rows, columns] * factors)


def unpack_symmetric(vector: Array) -> Array:
    """The symmetric matrix (n, n) of a packed vector (n (n + 1) / 2,)."""
    n = matrix_order(len(vector))
    rows, columns, factors = _triangle(n)
    matrix = np.zeros((n, n))
    matrix[rows, columns] = matrix[columns, rows] = vector / factors
    return matrix


def matrix_order(length: int) -> int:
    """The order n of a matrix from the length of its packed vector."""
    return (math.isqrt(8 * length + 1) - 1) // 2


def _triangle(n: int) -> tuple[Array, Array, Array]:
    """Rows and columns of the upper triangle, column by column, and the factors of its entries."""
    columns, rows = np.tril_indices(n)
    return rows, columns, np.where(rows == columns, 1.0, math.sqrt(2.0))
