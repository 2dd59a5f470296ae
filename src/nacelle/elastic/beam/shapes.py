"""Shape functions of a flexible link, and their integrals.

In the floating frame, origin at the start and x along the beam, the point at xi of a beam with coordinates q
is at, and its section is turned by,

    p(xi) = (xi L, 0, 0) + sum_i e_a(i) d_i(xi) q_i          theta(xi) = sum_i b_i r_i(xi) q_i

Every coordinate i has one component a(i) (x, y or z) of displacement, or is a torsion, and one axis b_i:

    axial     d = u               in x, no rotation
    bend y    d = v, r = psi      in y, about z          ([BK2013] (2), with rotations of the section)
    bend z    d = v, r = -psi     in z, about y
    torsion   r = phi             about x

What the equations of motion take are constants (rho A = mass per length, rho I_b inertia of the section per
length):

    C_i  = int rho A d_i dx       X_i  = int rho A x d_i dx       N_ij = int rho A d_i d_j dx
    R_i  = int rho I_b r_i dx     RR_ij = int rho I_b r_i r_j dx (same axis)       K_ij from the strain energy

Axial forces: over a piece of length l the force is F = (E A / l) (D . q + q . S q / 2), D . q its elongation
and S_ij = int d_i' d_j' dx over deflections; its energy is F^2 l / (2 E A) (von Karman, with the force
constant over the piece, since axial waves are fast).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np

from nacelle.elastic.beam.bending import Bend, Plane, bends
from nacelle.elastic.beam.ends import MomentsCarried, carried_moments
from nacelle.elastic.beam.functions import ONE, XI, Function, Piecewise, Wave, integral_of_product
from nacelle.model.flexible import Beam
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array

AXIAL, BEND_Y, BEND_Z, TORSION = range(4)
# Axis about which the section of each kind of coordinate turns, and the sign.
_ABOUT = {BEND_Y: (2, 1.0), BEND_Z: (1, -1.0), TORSION: (0, 1.0)}


class ElasticCoordinate(NamedTuple):
    """One elastic coordinate: its kind, its displacement and its rotation; None for none."""

    kind: int
    d: Function | None
    r: Function | None


class Stretch(NamedTuple):
    """A piece of a beam that can stretch.

    E A / l (N/m), elongation row D (n,), matrix S (n, n) of deflections.
    """

    stiffness: float
    row: Array
    slopes: Array


@dataclass(frozen=True, eq=False)
class Shapes:
    """The shape functions of a beam with their integrals.

    Attributes:
        beam: the beam.
        coordinates: one for each elastic coordinate.
        ends: the moments that start and end carry.
    """

    beam: Beam
    coordinates: tuple[ElasticCoordinate, ...]
    ends: tuple[MomentsCarried, MomentsCarried]

    @property
    def n(self) -> int:
        """Number of elastic coordinates."""
        return len(self.coordinates)

    @cached_property
    def component(self) -> tuple[int, ...]:
        """Component of the displacement of each coordinate, 0 to 2; -1 for a torsion."""
        return tuple(c.kind if c.kind != TORSION else -1 for c in self.coordinates)

    @cached_property
    def C(self) -> Array:
        """Int rho A d_i dx (n,), kg."""
        return self._single(ONE) * self.beam.mass

    @cached_property
    def X(self) -> Array:
        """Int rho A x d_i dx (n,), kg m."""
        return self._single(XI) * self.beam.mass * self.beam.length

    def _single(self, weight: Function) -> Array:
        return np.array([0.0 if c.d is None else integral_of_product(c.d, weight) for c in self.coordinates])

    @cached_property
    def N(self) -> Array:
        """Int rho A d_i d_j dx (n, n), kg, over all pairs of displacements."""
        result = np.zeros((self.n, self.n))
        for i, a in enumerate(self.coordinates):
            for j, b in enumerate(self.coordinates):
                if a.d is not None and b.d is not None:
                    result[i, j] = integral_of_product(a.d, b.d) * self.beam.mass
        return result

    @cached_property
    def section_inertia(self) -> Array:
        """Inertia of the section per length about x, y, z (3,), kg m."""
        section = self.beam.section
        return self.beam.density * np.array([section.Iy + section.Iz, section.Iy, section.Iz])

    @cached_property
    def R(self) -> Array:
        """Int rho I r_i dx along the axes of the frame (3, n), kg m^2."""
        result = np.zeros((3, self.n))
        for i, c in enumerate(self.coordinates):
            if c.r is not None:
                axis, sign = _ABOUT[c.kind]
                result[axis, i] = (
                    sign * self.section_inertia[axis] * self.beam.length * integral_of_product(c.r, ONE)
                )
        return result

    @cached_property
    def RR(self) -> Array:
        """Int rho I r_i r_j dx (n, n), kg m^2."""
        result = np.zeros((self.n, self.n))
        for i, a in enumerate(self.coordinates):
            for j, b in enumerate(self.coordinates):
                if a.kind == b.kind and a.r is not None and b.r is not None:
                    axis = _ABOUT[a.kind][0]
                    result[i, j] = (
                        self.section_inertia[axis] * self.beam.length * integral_of_product(a.r, b.r)
                    )
        return result

    @cached_property
    def mass(self) -> Array:
        """The elastic mass matrix (n, n): M_ee = N over equal components, and the section's rotation."""
        same = np.equal.outer(self.component, self.component)
        return np.where(same, self.N, 0.0) + self.RR

    @cached_property
    def stiffness(self) -> Array:
        """The stiffness matrix (n, n) without axial stretch: bending, shear, torsion.

        N/m, N m and between.
        """
        beam, section, L = self.beam, self.beam.section, self.beam.length
        K = np.zeros((self.n, self.n))
        for i, a in enumerate(self.coordinates):
            for j, b in enumerate(self.coordinates):
                if a.kind != b.kind or a.r is None or b.r is None:
                    continue
                change = integral_of_product(a.r.derivative(), b.r.derivative()) / L
                if a.kind == TORSION:
                    K[i, j] = beam.G * section.J * change
                    continue
                moment, factor = (
                    (section.Iz, section.shear_y) if a.kind == BEND_Y else (section.Iy, section.shear_z)
                )
                K[i, j] = beam.E * moment * change
                if beam.shear:
                    K[i, j] += (
                        factor * beam.G * section.area * L * integral_of_product(_slip(a, L), _slip(b, L))
                    )
        return K

    @cached_property
    def stretches(self) -> tuple[Stretch, ...]:
        """The pieces that can stretch: elements, or the whole beam."""
        pieces = self.beam.number if self.beam.shapes == "hermite" else 1
        L = self.beam.length
        slopes = [
            c.d.derivative() if c.d is not None and c.kind in (BEND_Y, BEND_Z) else None
            for c in (self.coordinates if self.beam.geometric else ())
        ]
        result = []
        for k in range(pieces):
            start, end = Fraction(k, pieces), Fraction(k + 1, pieces)
            row = np.array(
                [
                    float(c.d.exact(end) - c.d.exact(start))
                    if c.kind == AXIAL and isinstance(c.d, Piecewise)
                    else 0.0
                    for c in self.coordinates
                ]
            )
            S = np.zeros((self.n, self.n))
            for i, a in enumerate(slopes):
                for j, b in enumerate(slopes):
                    if a is not None and b is not None and self.component[i] == self.component[j]:
                        S[i, j] = _over(a, b, k, pieces) / L
            result.append(Stretch(self.beam.E * self.beam.section.area / L * pieces, row, S))
        return tuple(result)

    @cached_property
    def linear_stiffness(self) -> Array:
        """The stiffness matrix (n, n) of the unloaded beam, stretch included."""
        total = self.stiffness
        for stretch in self.stretches:
            total = total + stretch.stiffness * np.outer(stretch.row, stretch.row)
        return np.asarray(total)

    @cached_property
    def damping(self) -> Array:
        """The damping matrix (n, n): Rayleigh's, or 2 ratio w_k for every mode k of the beam in its frame."""
        alpha, beta = self.beam.rayleigh
        total = alpha * self.mass + beta * self.linear_stiffness
        if self.beam.ratio and self.n:
            factor = np.linalg.cholesky(self.mass)
            half = np.linalg.solve(factor, self.linear_stiffness)
            values, vectors = np.linalg.eigh(np.linalg.solve(factor, half.T))
            modes = factor @ vectors
            total = (
                total + modes @ np.diag(2.0 * self.beam.ratio * np.sqrt(np.maximum(values, 0.0))) @ modes.T
            )
        return np.asarray(total)

    @cached_property
    def scales(self) -> Array:
        """Value of each coordinate (n,) that displaces the beam by its length; m, rad; of torsion 1 rad."""
        result = np.ones(self.n)
        for i, c in enumerate(self.coordinates):
            if c.d is not None:
                result[i] = self.beam.length / max(abs(c.d.at(k / 32.0)) for k in range(33))
        return result

    def movement(self, xi: float) -> Array:
        """Displacement and rotation [d; theta] (6, n) of the section at xi, for unit coordinates."""
        result = np.zeros((6, self.n))
        for i, c in enumerate(self.coordinates):
            if c.d is not None:
                result[c.kind, i] = c.d.at(xi)
            if c.r is not None:
                axis, sign = _ABOUT[c.kind]
                result[3 + axis, i] = sign * c.r.at(xi)
        return result


def _slip(c: ElasticCoordinate, L: float) -> Function:
    """Shear angle v' - psi of a bend."""
    assert c.d is not None
    assert c.r is not None
    slope = c.d.derivative().scaled(1.0 / L)
    if isinstance(slope, Wave) and isinstance(c.r, Wave):
        return Wave(slope.k, slope.factor - c.r.factor, slope.cosine)
    assert isinstance(slope, Piecewise)
    assert isinstance(c.r, Piecewise)
    return slope.plus(c.r.scaled(-1))


def _over(f: Function, g: Function, piece: int, pieces: int) -> float:
    """Integral of f g over one of equal pieces of [0, 1]."""
    if pieces == 1:
        return integral_of_product(f, g)
    assert isinstance(f, Piecewise)
    assert isinstance(g, Piecewise)
    if not any(f.pieces[piece]) or not any(g.pieces[piece]):
        return 0.0
    zero = (Fraction(0),)
    cut = tuple(c if k == piece else zero for k, c in enumerate(f.pieces))
    return integral_of_product(Piecewise(f.breaks, cut), g)


def beam_shapes(robot: Robot, beam: Beam, planes: tuple[bool, bool, bool] = (True, True, True)) -> Shapes:
    """The shape functions of a beam of a robot.

    Args:
        robot: the robot.
        beam: the beam.
        planes: whether the beam may bend in y, in z, and twist.
    """
    ends = carried_moments(robot, beam)
    hermite = beam.shapes == "hermite"
    coordinates = [ElasticCoordinate(AXIAL, u, None) for u in _linear(beam)]
    section = beam.section
    for kind, axis in ((BEND_Y, 2), (BEND_Z, 1)):
        if not planes[kind - 1]:
            continue
        moment, factor = (section.Iz, section.shear_y) if kind == BEND_Y else (section.Iy, section.shear_z)
        plane = Plane(
            length=beam.length,
            s=beam.E * moment / (factor * beam.G * section.area) if beam.shear else 0.0,
            pinned=beam.pinned,
            start=ends[0][axis],
            end=ends[1][axis],
            hermite=hermite,
            number=beam.number,
        )
        coordinates += [ElasticCoordinate(kind, *_turned(bend)) for bend in bends(plane)]
    if planes[2] and ends[0].x and ends[1].x:
        coordinates += [ElasticCoordinate(TORSION, None, phi) for phi in _linear(beam)]
    return Shapes(beam, tuple(coordinates), ends)


def _turned(bend: Bend) -> tuple[Function, Function]:
    return bend.v, bend.psi


def _linear(beam: Beam) -> list[Function]:
    """Piecewise linear functions that are zero at the start: one for each node after it, or xi."""
    n = beam.number if beam.shapes == "hermite" else 1
    breaks = tuple(Fraction(k, n) for k in range(n + 1))
    functions: list[Function] = []
    for node in range(1, n + 1):
        pieces = [(Fraction(0),) * 2] * n
        pieces[node - 1] = (Fraction(1 - node), Fraction(n))
        if node < n:
            pieces[node] = (Fraction(1 + node), Fraction(-n))
        functions.append(Piecewise(breaks, tuple(pieces)))
    return functions
