"""Lagrange's equations of a free beam in forty digits, from its field of displacements alone.

The beam is at x (3,), turned by angles about z, y and x in turn, with elastic coordinates q; energies are
sums over points of the beam, derivatives are differences: of the model only the shape functions are used.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import mpmath
import numpy as np

from nacelle.elastic.beam.shapes import BEND_Y, BEND_Z, TORSION, Shapes
from support.beam_quadrature import points, value

Array = np.ndarray
_STEP = mpmath.mpf(10) ** -14


def to_mpmath(values: Any) -> Array:
    """Floats as numbers of mpmath."""
    return np.array([mpmath.mpf(float(v)) for v in np.ravel(values)], dtype=object).reshape(np.shape(values))


def rotation(angles: Array) -> Array:
    """R = Rz Ry Rx (3, 3)."""
    (cz, cy, cx), (sz, sy, sx) = [mpmath.cos(a) for a in angles], [mpmath.sin(a) for a in angles]
    one, zero = mpmath.mpf(1), mpmath.mpf(0)
    Rz = np.array([[cz, -sz, zero], [sz, cz, zero], [zero, zero, one]])
    Ry = np.array([[cy, zero, sy], [zero, one, zero], [-sy, zero, cy]])
    Rx = np.array([[one, zero, zero], [zero, cx, -sx], [zero, sx, cx]])
    return Rz @ Ry @ Rx


def angular_velocity_map(angles: Array) -> Array:
    """E (3, 3): angular velocity in the beam's axes from the rates of the angles."""
    _, y, x = angles
    one, zero = mpmath.mpf(1), mpmath.mpf(0)
    cy, sy, cx, sx = mpmath.cos(y), mpmath.sin(y), mpmath.cos(x), mpmath.sin(x)
    return np.array([[-sy, zero, one], [sx * cy, cx, zero], [cx * cy, -sx, zero]])


@dataclass(frozen=True)
class FreeBeam:
    """A free beam: gravity (3,) and its shape functions at points."""

    shapes: Shapes
    gravity: Array

    def __post_init__(self) -> None:
        """Evaluate the shape functions once."""
        shapes, beam = self.shapes, self.shapes.beam
        pieces = beam.number if beam.shapes == "hermite" else 1
        L, n = mpmath.mpf(beam.length), shapes.n
        zero = mpmath.mpf(0)
        table = []
        for point, weight in points(pieces):
            xi = mpmath.mpf(point.numerator) / point.denominator
            D, T = np.full((3, n), zero), np.full((3, n), zero)
            change, bent, slip = np.full((3, n), zero), np.full((3, n), zero), np.full((3, n), zero)
            for i, c in enumerate(shapes.coordinates):
                d, r = value(c.d, point), value(c.r, point)
                dd = value(c.d.derivative(), point) / L if c.d is not None else zero
                dr = value(c.r.derivative(), point) / L if c.r is not None else zero
                if c.kind == TORSION:
                    T[0, i], change[0, i] = r, dr
                    continue
                D[c.kind, i] = d
                bent[c.kind, i] = dd
                if c.kind == BEND_Y:
                    T[2, i], change[2, i], slip[1, i] = r, dr, dd - r
                elif c.kind == BEND_Z:
                    T[1, i], change[1, i], slip[2, i] = -r, -dr, dd - r
            table.append((xi * L, weight * L, D, T, change, bent, slip))
        object.__setattr__(self, "table", table)
        object.__setattr__(self, "pieces", pieces)

    def kinetic(self, X: Array, V: Array) -> Any:
        """T at coordinates [x; angles; q] and their rates."""
        beam, n = self.shapes.beam, self.shapes.n
        R, w = rotation(X[3:6]), angular_velocity_map(X[3:6]) @ V[3:6]
        q, rate = X[6:], V[6:]
        rho = mpmath.mpf(beam.density)
        section = beam.section
        J = [rho * mpmath.mpf(v) for v in (section.Iy + section.Iz, section.Iy, section.Iz)]
        total = mpmath.mpf(0)
        for x, weight, D, T, *_ in self.table:
            p = D @ q if n else np.full(3, mpmath.mpf(0))
            p = np.array([x + p[0], p[1], p[2]])
            velocity = V[:3] + R @ (np.cross(w, p) + D @ rate)
            spin = w + T @ rate
            total += weight * (rho * mpmath.mpf(section.area) * (velocity @ velocity))
            total += weight * sum(J[k] * spin[k] * spin[k] for k in range(3))
        return total / 2

    def potential(self, X: Array) -> Any:
        """Strain and weight at coordinates [x; angles; q]."""
        beam, q = self.shapes.beam, X[6:]
        R, section = rotation(X[3:6]), beam.section
        E, G, area = mpmath.mpf(beam.E), mpmath.mpf(beam.G), mpmath.mpf(section.area)
        per_length = mpmath.mpf(beam.density) * area
        total = mpmath.mpf(0)
        each = len(self.table) // self.pieces
        for piece in range(self.pieces):
            stretch = mpmath.mpf(0)
            for x, weight, D, _, change, bent, slip in self.table[piece * each : (piece + 1) * each]:
                p = D @ q
                position = X[:3] + R @ np.array([x + p[0], p[1], p[2]])
                total -= weight * per_length * (self.gravity @ position)
                k = change @ q
                total += weight / 2 * E * (section.Iy * k[1] ** 2 + section.Iz * k[2] ** 2)
                total += weight / 2 * G * section.J * k[0] ** 2
                if beam.shear:
                    g = slip @ q
                    total += (
                        weight / 2 * G * area * (section.shear_y * g[1] ** 2 + section.shear_z * g[2] ** 2)
                    )
                slope = bent @ q
                stretch += weight * slope[0]
                if beam.geometric:
                    stretch += weight / 2 * (slope[1] ** 2 + slope[2] ** 2)
            total += E * area / (2 * mpmath.mpf(beam.length) / self.pieces) * stretch**2
        return total

    def momentum(self, X: Array, V: Array) -> Array:
        """DT/dV, exact by differences since T is quadratic in V."""
        return np.array(
            [self._slope(lambda d: self.kinetic(X, V + d), k, mpmath.mpf(1)) for k in range(len(X))]
        )

    def _slope(self, f: Any, k: int, step: Any) -> Any:
        d = np.full(6 + self.shapes.n, mpmath.mpf(0))
        d[k] = step
        return (f(d) - f(-d)) / (2 * step)

    def required(self, X: Array, V: Array, A: Array) -> Array:
        """Generalised forces (6 + n,) of a motion: d/dt dT/dV - dT/dX + dU/dX."""
        h = _STEP
        after = self.momentum(X + h * V + h * h / 2 * A, V + h * A)
        before = self.momentum(X - h * V + h * h / 2 * A, V - h * A)
        conserved = [
            self._slope(lambda d: self.kinetic(X + d, V) - self.potential(X + d), k, h) for k in range(len(X))
        ]
        return (after - before) / (2 * h) - np.array(conserved)
