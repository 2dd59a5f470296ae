"""A flexible link between two points A and P, over any scalar: forces at its ends from their motion.

With e, n_j unit vectors along and across P - A (n_j the planes in which it bends), l = |P - A|, and bending
w = sum_i n_i d_i(xi) t_i, a point of the link is A + xi (P - A) + w. For v = v_P - v_A and gamma
accelerations less gravity

    l' = e . v,   w_j = n_j . v / l,   n_j' = -w_j e,   alpha_j = (n_j . (gamma_P - gamma_A) - 2 l' w_j) / l

so that the acceleration of the point, less gravity, is

    gamma_A + xi (gamma_P - gamma_A) + sum_i d_i (n_i t_i'' - (2 w_i t_i' + alpha_i t_i) e - w_i t_i sum_j w_j
    n_j)

and virtual power gives, with x_i = int rho A xi d_i dx, c_i = int rho A d_i dx - x_i, N, K, S of `shapes`,
D = N + rotation of sections (over one plane), F = E A / L (l - L + t . S t / 2) the axial force (at the ends
with its damping):

    D t'' = -(c gamma_An + x gamma_Pn) + w_i sum_m N_im w_m t_m - K t - F S t - damping
    C_j = rho I_j L alpha_j
          + sum_i t_i (-(c_i gamma_Ae + x_i gamma_Pe) + sum_m N_im (2 w_m t_m' + alpha_m t_m))
    F_P = m/6 gamma_A + m/3 gamma_P + sum_i x_i (...)_i + sum_j n_j C_j / l + F e

(sums over i in plane j, over m in all planes). D is constant. Inserting t'' leaves forces that are linear in
gamma_A and gamma_P. F_A + F_P is the rate of the link's momentum less its weight, which is cheaper than F_A.
All in base axes; F_A, F_P are what the neighbours must apply.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from nacelle.elastic.beam.newton_euler import elastic_forces, sum_terms
from nacelle.elastic.beam.shapes import BEND_Y, Shapes
from nacelle.spatial.scalar import Array, Scalar, cross, divide, dot, pack, product


@dataclass(frozen=True, eq=False)
class LinkConstants:
    """Constants of a link.

    Attributes:
        shapes: its shape functions; coordinate 0 is axial, the others bend.
        plane: for each bending coordinate the number of its plane, 0 or 1.
        planes: kinds of bending, one a plane.
        x: int rho A xi d_i dx (n,).
        c: int rho A (1 - xi) d_i dx (n,).
        inverse: D^-1 (n, n).
        rotary: rho I L of each plane.
    """

    shapes: Shapes
    plane: tuple[int, ...]
    planes: tuple[int, ...]
    x: Array
    c: Array
    inverse: Array
    rotary: tuple[float, ...]

    @property
    def n(self) -> int:
        """Number of bending coordinates."""
        return len(self.plane)


def link_constants(shapes: Shapes) -> LinkConstants:
    """The constants of a link."""
    kinds = [c.kind for c in shapes.coordinates[1:]]
    planes = tuple(sorted(set(kinds)))
    x = shapes.X[1:] / shapes.beam.length
    mass = shapes.mass[1:, 1:]
    inverse = np.linalg.inv(mass)
    inverse = np.where(np.abs(inverse) < 1e-12 * np.max(np.abs(inverse), initial=1.0), 0.0, inverse)
    axis = {BEND_Y: 2}
    return LinkConstants(
        shapes,
        tuple(planes.index(kind) for kind in kinds),
        planes,
        x,
        shapes.C[1:] - x,
        inverse,
        tuple(shapes.section_inertia[axis.get(kind, 1)] * shapes.beam.length for kind in planes),
    )


class LinkPosture(NamedTuple):
    """Where a link is: length l, unit vectors e and n_j (planes, 3) and one over the length."""

    length: Scalar
    reciprocal: Scalar
    e: Array
    n: tuple[Array, ...]


class LinkRates(NamedTuple):
    """How a link moves: l', w_j (planes,) = n_j . (v_P - v_A) / l, bending t (n,) and its rates (n,)."""

    stretch: Scalar
    w: Array
    t: Array
    t_rate: Array


def link_posture(
    span: Array, length: Scalar, across: tuple[Array, ...] | None, normal: Array | None
) -> LinkPosture:
    """A link along span = P - A of a length.

    In a plane n follows from its normal, else `across` are given.
    """
    reciprocal = divide(1.0, length)
    e = span * reciprocal
    if normal is not None:
        return LinkPosture(length, reciprocal, e, (cross(normal, e),))
    assert across is not None
    return LinkPosture(length, reciprocal, e, across)


class RateTerms(NamedTuple):
    """What of a link does not depend on accelerations.

    Attributes:
        axial: axial force with its damping, N.
        t: D^-1 times what drives t'' in addition to accelerations (n,).
        q: sum over i in plane j and m in plane k of t_i N_im t_m (planes, planes), rho I L added on the
            diagonal.
        spin: C_j without accelerations (planes,).
        xe: sum x_i t_i a plane; ce: sum c_i t_i a plane.
        x_rate: sum_i x_i 2 w_i t_i' over all planes.
    """

    axial: Scalar
    t: Array
    q: Array
    spin: Array
    xe: Array
    ce: Array
    x_rate: Scalar


def rate_terms(beam: LinkConstants, at: LinkPosture, now: LinkRates) -> RateTerms:
    """Terms of D t'', C_j and F_P at zero acceleration: elastic forces, damping, and products of rates."""
    shapes = beam.shapes
    coordinates = pack([at.length - shapes.beam.length, *now.t])
    coordinate_rates = pack([now.stretch, *now.t_rate])
    elastic = elastic_forces(shapes, coordinates, coordinate_rates)
    N = shapes.N[1:, 1:]
    planes = range(len(beam.planes))
    inside = [[i for i in range(beam.n) if beam.plane[i] == j] for j in planes]
    Nt = [
        [sum_terms([N[i, m] * now.t[m] for m in inside[k] if N[i, m]]) for k in planes] for i in range(beam.n)
    ]
    q = pack(
        [
            [
                sum_terms([now.t[i] * Nt[i][k] for i in inside[j]] + ([beam.rotary[j]] if j == k else []))
                for k in planes
            ]
            for j in planes
        ]
    )
    push = [
        sum_terms([now.w[beam.plane[i]] * now.w[k] * Nt[i][k] for k in planes]) - elastic[1 + i]
        for i in range(beam.n)
    ]
    t_free = [
        sum_terms([beam.inverse[i, m] * push[m] for m in range(beam.n) if beam.inverse[i, m]])
        for i in range(beam.n)
    ]
    # sum_i t_i N_im 2 w_m t_m', plane by plane.
    spin = [
        sum_terms([2.0 * now.w[beam.plane[m]] * now.t_rate[m] * Nt[m][j] for m in range(beam.n)])
        for j in planes
    ]

    def over(weights: Array, values: Array, j: int) -> Scalar:
        return sum_terms([weights[i] * values[i] for i in inside[j] if weights[i]])

    return RateTerms(
        axial=elastic[0],
        t=pack(t_free),
        q=q,
        spin=pack(spin),
        xe=pack([over(beam.x, now.t, j) for j in planes]),
        ce=pack([over(beam.c, now.t, j) for j in planes]),
        x_rate=sum_terms([2.0 * now.w[j] * over(beam.x, now.t_rate, j) for j in planes]),
    )


class EndForces(NamedTuple):
    """Forces at both ends (3,), N, and the accelerations of the bending coordinates (n,)."""

    start: Array
    end: Array
    t: Array


class MovingLink(NamedTuple):
    """A link with all that its forces depend on."""

    constants: LinkConstants
    at: LinkPosture
    now: LinkRates
    fixed: RateTerms


def moving_link(beam: LinkConstants, at: LinkPosture, now: LinkRates) -> MovingLink:
    """A link in motion, with what does not depend on accelerations."""
    return MovingLink(beam, at, now, rate_terms(beam, at, now))


class EndAccelerations(NamedTuple):
    """Accelerations of the ends of a link less gravity (3,), along and across it."""

    start: Array
    end: Array
    start_e: Scalar
    end_e: Scalar
    start_n: list[Scalar]
    end_n: list[Scalar]
    alpha: list[Scalar]


def _accelerations(link: MovingLink, start: Array, end: Array) -> EndAccelerations:
    _, at, now, _ = link
    start_n, end_n = [dot(n, start) for n in at.n], [dot(n, end) for n in at.n]
    alpha = [(end_n[j] - start_n[j] - 2.0 * now.stretch * now.w[j]) * at.reciprocal for j in range(len(at.n))]
    return EndAccelerations(start, end, dot(at.e, start), dot(at.e, end), start_n, end_n, alpha)


def end_forces(link: MovingLink, start: Array, end: Array) -> EndForces:
    """Forces at the ends of a link at accelerations of its ends less gravity, (3,) each."""
    beam, at, now, part = link
    moving = _accelerations(link, start, end)
    planes = range(len(beam.planes))
    m = beam.shapes.beam.mass
    a, b = _bending_responses(beam)
    t = [
        part.t[i] - a[i] * moving.start_n[beam.plane[i]] - b[i] * moving.end_n[beam.plane[i]]
        for i in range(beam.n)
    ]
    axial = m / 6.0 * moving.start_e + m / 3.0 * moving.end_e - part.x_rate + part.axial
    force = (axial - sum_terms([moving.alpha[j] * part.xe[j] for j in planes])) * at.e
    whirl = sum_terms([now.w[k] * part.xe[k] for k in planes])
    for j in planes:
        C = (
            part.spin[j]
            + sum_terms([part.q[j, k] * moving.alpha[k] for k in planes])
            - part.ce[j] * moving.start_e
            - part.xe[j] * moving.end_e
        )
        across = m / 6.0 * moving.start_n[j] + m / 3.0 * moving.end_n[j] + C * at.reciprocal
        inside = [i for i in range(beam.n) if beam.plane[i] == j and beam.x[i]]
        across = across + sum_terms([beam.x[i] * t[i] for i in inside]) - now.w[j] * whirl
        force = force + across * at.n[j]
    bent = pack(t) if t else np.zeros(0)
    return EndForces(_momentum_rate(link, moving, bent) - force, np.asarray(force), bent)


class EndMotion(NamedTuple):
    """Acceleration (3,) of an end of a link, less gravity, and by how much it has changed, m/s^2."""

    a: Array
    change: Array


def correct_end_forces(link: MovingLink, first: EndForces, start: EndMotion, end: EndMotion) -> EndForces:
    """Forces where the accelerations of the ends have changed, from those before: linear in the changes.

    Args:
        link: the link in motion.
        first: forces before.
        start: how the start moves now.
        end: how the end moves now.
    """
    beam, at, _, _ = link
    a, b = _bending_responses(beam)
    start_n, end_n = ([dot(n, change) for n in at.n] for change in (start.change, end.change))
    t = [first.t[i] - a[i] * start_n[beam.plane[i]] - b[i] * end_n[beam.plane[i]] for i in range(beam.n)]
    I = link_end_inertia(link)
    force = first.end + product(I.mixed.T, start.change) + product(I.end, end.change)
    bent = pack(t) if t else np.zeros(0)
    return EndForces(_momentum_rate(link, _accelerations(link, start.a, end.a), bent) - force, force, bent)


def _momentum_rate(link: MovingLink, moving: EndAccelerations, t: Array) -> Array:
    """Rate of the link's momentum less its weight (3,): the sum of the forces at both ends."""
    beam, at, now, _ = link
    force = 0.5 * beam.shapes.beam.mass * (moving.start + moving.end)
    planes = range(len(beam.planes))
    C = beam.shapes.C[1:]

    def over(values: Array, j: int) -> Scalar:
        return sum_terms([C[i] * values[i] for i in range(beam.n) if beam.plane[i] == j and C[i]])

    bent = [over(now.t, j) for j in planes]
    whirl = sum_terms([now.w[j] * bent[j] for j in planes])
    axial = sum_terms([2.0 * now.w[j] * over(now.t_rate, j) + moving.alpha[j] * bent[j] for j in planes])
    force = force - axial * at.e
    for j in planes:
        force = force + (over(t, j) - now.w[j] * whirl) * at.n[j]
    return np.asarray(force)


def _bending_responses(beam: LinkConstants) -> tuple[Array, Array]:
    """T'' per acceleration across of the start and of the end: D^-1 c and D^-1 x (n,)."""
    same = np.equal.outer(beam.plane, beam.plane)
    inverse = np.where(same, beam.inverse, 0.0)
    return product(inverse, beam.c), product(inverse, beam.x)


class Inertia(NamedTuple):
    """Forces at the ends per acceleration of the ends, (3, 3) each, base axes, kg: [A A], [A P], [P P]."""

    start: Array
    mixed: Array
    end: Array


def link_end_inertia(link: MovingLink) -> Inertia:
    """The inertia of a link condensed at its ends.

    Across and along, with kappa = m/3 or m/6 less what its bending takes off, s_j = sum x_i t_i, u_j = sum
    c_i t_i and Q = q + rho I L: P P has m/3 along, -s_j / l between, kappa + Q_jk / l^2 across; A A likewise
    with +u_j / l; A P has m/6 along, (s_j, -u_j) / l between, kappa - Q / l^2 across.
    """
    beam, at, _, part = link
    planes = range(len(beam.planes))
    m = beam.shapes.beam.mass
    a, b = _bending_responses(beam)
    square = at.reciprocal * at.reciprocal

    def matrix(
        base: float, weights: Array, response: Array, sign: float, rows: list[Scalar], columns: list[Scalar]
    ) -> Array:
        total = base * np.eye(3)
        for j in planes:
            inside = [i for i in range(beam.n) if beam.plane[i] == j]
            kappa = base - float(sum(weights[i] * response[i] for i in inside))
            for k in planes:
                Q = part.q[j, k] * square
                entry = (kappa - base if j == k else 0.0) + (Q if sign > 0.0 else -Q)
                total = total + entry * np.multiply.outer(at.n[j], at.n[k])
            total = total + rows[j] * np.multiply.outer(at.n[j], at.e)
            total = total + columns[j] * np.multiply.outer(at.e, at.n[j])
        return np.asarray(total)

    s = [part.xe[j] * at.reciprocal for j in planes]
    u = [part.ce[j] * at.reciprocal for j in planes]
    minus_s, minus_u = [-v for v in s], [-v for v in u]
    return Inertia(
        matrix(m / 3.0, beam.c, a, 1.0, u, u),
        matrix(m / 6.0, beam.c, b, -1.0, s, minus_u),
        matrix(m / 3.0, beam.x, b, 1.0, minus_s, minus_s),
    )


def stretch_acceleration(link: MovingLink, start: Array, end: Array) -> Scalar:
    """L'' at accelerations of the ends: e . (gamma_P - gamma_A) + l sum_j w_j^2."""
    _, at, now, _ = link
    whirl = sum_terms([w * w for w in now.w])
    return dot(at.e, end - start) + at.length * whirl
