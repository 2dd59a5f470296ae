"""The generalised Newton-Euler model of a beam over any scalar: what motion requires ([BK2013] (4)).

In the axes of the floating frame, with a the acceleration of its origin less gravity, w and w' its angular
velocity and acceleration, q the elastic coordinates, p(xi) and theta(xi) as in `shapes`, e_i the direction of
d_i:

    S = int rho A p dx             P_i = int rho A d_i p dx          G = int rho A p p^T dx
    f = m a + w' x S + w x (w x S) + 2 w x S' + S''
    n = S x a + (tr G - G) w' - w x (G w) + 2 (w tr B - B^T w) + z(D) + h' + w x h
    s_i = C_i e_i . a + e_i . (w' x P_i + w x (w x P_i) + 2 w x P_i' + P_i'') + r_i part + dV/dq_i + damping

S', S'' and P', P'' are derivatives as seen in the frame; B = int rho A p p'^T dx, D = int rho A p p''^T dx,
z(D) the vector of its antisymmetric part; h = int J_s (w + theta') dx is what the sections' own inertia adds,
and with J_s constant in the frame s_i gets int J_s b_i r_i . (w' + theta'') dx. This is Lagrange's equation
of

    T = 1/2 int rho A |v + w x p + p'|^2 dx + 1/2 int (w + theta') . J_s (w + theta') dx,    V(q) of `shapes`

which tests derive anew. Forces are those that the neighbours must apply: f (3,), n (3,) about the origin, s
(n,).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nacelle.elastic.beam.shapes import Shapes
from nacelle.spatial.scalar import Array, Scalar, cross, pack


def sum_terms(terms: list[Scalar]) -> Scalar:
    """The sum of scalars in order; 0 without any."""
    total: Scalar = 0.0
    for term in terms:
        total = term if isinstance(total, float) and total == 0.0 else total + term
    return total


# ---- the generalised Newton-Euler model of a beam


class FrameMotion(NamedTuple):
    """Motion of a floating frame in its own axes.

    Acceleration less gravity, angular velocity and acceleration.
    """

    a: Array
    w: Array
    w_dot: Array


class ElasticMotion(NamedTuple):
    """Elastic coordinates with their rates and accelerations, each (n,)."""

    q: Array
    rate: Array
    acceleration: Array


class BeamForces(NamedTuple):
    """Force f (N) and moment n (N m) about the frame's origin, in its axes, and generalised forces s (n,)."""

    f: Array
    n: Array
    s: Array


def _first_moments(shapes: Shapes, q: Array, rest: bool) -> Array:
    """S (3,): int rho A p dx, of the undeformed beam where `rest`, and of what q adds."""
    entries: list[Scalar] = [shapes.beam.mass * shapes.beam.length / 2.0 if rest else 0.0, 0.0, 0.0]
    for i, a in enumerate(shapes.component):
        if a >= 0 and shapes.C[i]:
            entries[a] = entries[a] + shapes.C[i] * q[i]
    return pack(entries)


def first_moment(shapes: Shapes, q: Array) -> Array:
    """First moment S (3,) of a deformed beam about its frame's origin, in its axes, kg m."""
    return _first_moments(shapes, q, True)


def _product_integrals(shapes: Shapes, q: Array, rest: bool) -> list[Array]:
    """P_i (3,) for every coordinate: int rho A d_i p dx."""
    result = []
    for i, a in enumerate(shapes.component):
        entries: list[Scalar] = [shapes.X[i] if rest and a >= 0 else 0.0, 0.0, 0.0]
        for j, b in enumerate(shapes.component):
            if a >= 0 and b >= 0 and shapes.N[i, j]:
                entries[b] = entries[b] + shapes.N[i, j] * q[j]
        result.append(pack(entries))
    return result


def _second_moment(shapes: Shapes, q: Array, field: Array, products: list[Array], rest: bool) -> Array:
    """Int rho A p x^T dx (3, 3), x the field of coordinates `moved` (with the undeformed beam where `rest`).

    `products` are int rho A d_i x dx.
    """
    beam = shapes.beam
    entries: list[list[Scalar]] = [[0.0] * 3 for _ in range(3)]
    if rest:
        entries[0][0] = beam.mass * beam.length**2 / 3.0
    # The part of p that is the undeformed beam: x e_x.
    for j, b in enumerate(shapes.component):
        if b >= 0 and shapes.X[j]:
            entries[0][b] = entries[0][b] + shapes.X[j] * field[j]
    for i, a in enumerate(shapes.component):
        if a >= 0:
            for b in range(3):
                entries[a][b] = entries[a][b] + q[i] * products[i][b]
    return pack(entries)


def _section_momentum(shapes: Shapes, w: Array, rate: Array) -> Array:
    """Int J_s (w + theta) dx (3,), theta of the coordinates' rates."""
    inertia = shapes.section_inertia * shapes.beam.length
    return pack(
        [
            inertia[k] * w[k]
            + sum_terms([shapes.R[k, i] * rate[i] for i in range(shapes.n) if shapes.R[k, i]])
            for k in range(3)
        ]
    )


def beam_forces(shapes: Shapes, frame: FrameMotion, elastic: ElasticMotion) -> BeamForces:
    """What the motion of a beam requires, without its elastic forces: f, n and s of the head of this file.

    f (3,), N, and n (3,), N m, about the origin of the floating frame in its axes, s (n,) along q.
    """
    a, w, w_dot = frame
    q, rate, acceleration = elastic
    m = shapes.beam.mass
    S, S1, S2 = (
        _first_moments(shapes, q, True),
        _first_moments(shapes, rate, False),
        _first_moments(shapes, acceleration, False),
    )
    f = m * a + cross(w_dot, S) + cross(w, cross(w, S)) + 2.0 * cross(w, S1) + S2
    P, P1 = _product_integrals(shapes, q, True), _product_integrals(shapes, rate, False)
    P2 = _product_integrals(shapes, acceleration, False)
    G = _second_moment(shapes, q, q, P, True)
    B = _second_moment(shapes, q, rate, P1, False)
    D = _second_moment(shapes, q, acceleration, P2, False)
    trace, trace_rate = G[0, 0] + G[1, 1] + G[2, 2], B[0, 0] + B[1, 1] + B[2, 2]
    h, h_dot = _section_momentum(shapes, w, rate), _section_momentum(shapes, w_dot, acceleration)
    n = (
        cross(S, a)
        + (trace * w_dot - G @ w_dot)
        - cross(w, G @ w)
        + 2.0 * (trace_rate * w - B.T @ w)
        + pack([D[1, 2] - D[2, 1], D[2, 0] - D[0, 2], D[0, 1] - D[1, 0]])
        + h_dot
        + cross(w, h)
    )
    s: list[Scalar] = []
    for i, c in enumerate(shapes.component):
        terms: list[Scalar] = []
        if c >= 0:
            field = cross(w_dot, P[i]) + cross(w, cross(w, P[i])) + 2.0 * cross(w, P1[i]) + P2[i]
            terms += [shapes.C[i] * a[c], field[c]]
        terms += [shapes.R[k, i] * w_dot[k] for k in range(3) if shapes.R[k, i]]
        terms += [shapes.RR[i, j] * acceleration[j] for j in range(shapes.n) if shapes.RR[i, j]]
        s.append(sum_terms(terms))
    return BeamForces(f, n, pack(s) if s else np.zeros(0))


def axial_forces(shapes: Shapes, q: Array) -> list[Scalar]:
    """Axial force (N) of every piece that can stretch, positive in tension."""
    forces = []
    for stretch in shapes.stretches:
        length = sum_terms([stretch.row[i] * q[i] for i in range(shapes.n) if stretch.row[i]])
        bent = [
            0.5 * q[i] * _row_product(stretch.slopes[i], q)
            for i in range(shapes.n)
            if np.any(stretch.slopes[i])
        ]
        forces.append(stretch.stiffness * sum_terms([length, *bent]))
    return forces


def _row_product(row: Array, q: Array) -> Scalar:
    return sum_terms([row[j] * q[j] for j in range(len(row)) if row[j]])


def elastic_forces(shapes: Shapes, q: Array, rate: Array) -> Array:
    """dV/dq and damping (n,): K q + sum over pieces of F (D + S q), and C q'."""
    forces = [
        _row_product(shapes.stiffness[i], q) + _row_product(shapes.damping[i], rate) for i in range(shapes.n)
    ]
    for stretch, force in zip(shapes.stretches, axial_forces(shapes, q), strict=True):
        for i in range(shapes.n):
            if stretch.row[i]:
                forces[i] = forces[i] + force * stretch.row[i]
            if np.any(stretch.slopes[i]):
                forces[i] = forces[i] + force * _row_product(stretch.slopes[i], q)
    return pack(forces) if forces else np.zeros(0)


def strain_energy(shapes: Shapes, q: Array) -> Scalar:
    """V(q), J."""
    total = 0.5 * sum_terms([q[i] * _row_product(shapes.stiffness[i], q) for i in range(shapes.n)])
    for stretch, force in zip(shapes.stretches, axial_forces(shapes, q), strict=True):
        total = total + force * force * (0.5 / stretch.stiffness)
    return total


def mass_matrix(shapes: Shapes, q: Array) -> Array:
    """Mass matrix (6 + n, 6 + n) over [v; w; q'] in the axes of the frame ([BK2013] (4))."""
    size = 6 + shapes.n
    M = np.zeros((size, size), dtype=object if q.dtype == object else float)
    S, P = _first_moments(shapes, q, True), _product_integrals(shapes, q, True)
    G = _second_moment(shapes, q, q, P, True)
    trace = G[0, 0] + G[1, 1] + G[2, 2]
    inertia = shapes.section_inertia * shapes.beam.length
    for k in range(3):
        M[k, k] = shapes.beam.mass
        for j in range(3):
            M[3 + k, 3 + j] = (trace + inertia[k] if k == j else 0.0) - G[k, j]
    for k, j, value in (
        (0, 1, -S[2]),
        (0, 2, S[1]),
        (1, 0, S[2]),
        (1, 2, -S[0]),
        (2, 0, -S[1]),
        (2, 1, S[0]),
    ):
        M[3 + k, j] = M[j, 3 + k] = value
    for i, c in enumerate(shapes.component):
        column: list[Scalar] = [0.0] * 6
        if c >= 0:
            column[c] = shapes.C[i]
            column[3:] = list(cross(P[i], np.eye(3)[c]))
        for k in range(3):
            column[3 + k] = column[3 + k] + shapes.R[k, i]
        M[:6, 6 + i] = M[6 + i, :6] = column
        M[6 + i, 6:] = shapes.mass[i]
    return M
