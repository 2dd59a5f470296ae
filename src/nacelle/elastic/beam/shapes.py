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

Shape functions of a beam that bends in one plane.

A deflection v(x) comes with the rotation psi(x) of the section. A section that shears has (Timoshenko)

    psi - s psi'' = v',   s = E I / (kappa G A)        moments in balance with shear forces at rest

so that psi = v' + s v''' + s^2 v^(5) + ... for polynomials and psi = v' / (1 + s (k pi / L)^2) for sines;
without shear s = 0 and psi = v' (Euler and Bernoulli). x = L xi.

    hermite   n elements, cubics between nodes with v and psi at each
    modes     a cubic for every end rotation that carries a moment (and for the deflection of the end, in a
              clamped frame), and the first n modes of the beam whose ends do not move: Craig and Bampton;
              sines where neither end carries a moment

A pinned frame passes through both ends, v(0) = v(L) = 0; a clamped one is fixed to the start, v(0) = psi(0) =
0.

Which moments the ends of a flexible link carry.

Where an end carries no moment about an axis, E I v'' = 0 holds there for bending, and a beam that carries
none about its own axis at an end does not twist: shape functions are chosen by that (`beam_shapes`). About an
axis e through its end at r a beam carries no moment if every joint there

    is passive and without springs,   leaves the rotation about e free,   lies on the axis: e x (o - r) = 0

o the joint's origin, all in the body's frame, m. A joint off the axis has a lever; a rigid mass has a
moment of inertia.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np

from nacelle.elastic.beam.functions import (
    ONE,
    XI,
    Coefficients,
    Function,
    Piecewise,
    Wave,
    integral_of_product,
    polynomial,
)
from nacelle.model.flexible import Beam
from nacelle.model.joint import Joint, JointKind
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array

# Modes are found with this many polynomials beyond their number, and rounded to this many digits: what is
# rounded is a shape function as good, and the same on every machine.
_EXTRA_POLYNOMIALS, _DIGITS = 8, 10


class Bend(NamedTuple):
    """A shape of a bending beam.

    Deflection v (m) and rotation psi (rad) of the section, for a unit coordinate.
    """

    v: Function
    psi: Function


@dataclass(frozen=True)
class Plane:
    """What the shapes in one plane depend on.

    Attributes:
        length: of the beam L, m.
        s: E I / (kappa G A), m^2; 0 without shear.
        pinned: whether the frame passes through both ends.
        start: whether the start carries a moment.
        end: whether the end carries a moment.
        hermite: whether elements are taken, not modes.
        number: of elements or interior modes.
    """

    length: float
    s: float
    pinned: bool
    start: bool
    end: bool
    hermite: bool
    number: int


@lru_cache(maxsize=64)
def bending_shapes(plane: Plane) -> tuple[Bend, ...]:
    """The shapes in one plane."""
    return tuple(
        _element_shapes(plane) if plane.hermite else [*_boundary_shapes(plane), *_interior_shapes(plane)]
    )


def _rotation(v: Function, plane: Plane) -> Function:
    """The rotation psi of the section that belongs to a deflection v."""
    slope = v.derivative().scale(1.0 / plane.length)
    if isinstance(slope, Wave):
        return slope.scale(1.0 / (1.0 + plane.s * (slope.k * math.pi / plane.length) ** 2))
    total, term = slope, slope
    factor = Fraction(plane.s) / Fraction(plane.length) ** 2
    while plane.s and any(len(piece) > 2 for piece in term.pieces):
        term = term.derivative().derivative().scale(factor)
        total = total.plus(term)
    return total


# ---- elements


def _element_shapes(plane: Plane) -> list[Bend]:
    n = plane.number
    breaks = tuple(Fraction(k, n) for k in range(n + 1))
    shapes = []
    for node in range(n + 1):
        for kind in range(2):  # deflection, rotation
            if (kind == 0 and (node == 0 or (node == n and plane.pinned))) or (
                kind == 1 and node == 0 and not plane.pinned
            ):
                continue
            v: list[Coefficients] = [(Fraction(0),)] * n
            psi: list[Coefficients] = [(Fraction(0),)] * n
            for element, end in ((node - 1, 1), (node, 0)):
                if 0 <= element < n:
                    values = [0, 0, 0, 0]
                    values[2 * end + kind] = 1
                    v[element], psi[element] = _cubic(values, breaks[element], breaks[element + 1], plane)
            shapes.append(Bend(Piecewise(breaks, tuple(v)), Piecewise(breaks, tuple(psi))))
    return shapes


def _cubic(
    values: Sequence[int], start: Fraction, end: Fraction, plane: Plane
) -> tuple[tuple[Fraction, ...], tuple[Fraction, ...]]:
    """Coefficients of the cubic v and its psi with given v and psi at both ends of an element."""
    L, s = Fraction(plane.length), Fraction(plane.s)
    rows = []
    for xi in (start, end):
        rows.append([xi**k for k in range(4)])
        rows.append([Fraction(0), 1 / L, 2 * xi / L, 3 * xi**2 / L + 6 * s / L**3])
    c = _solve_rational(rows, [Fraction(value) for value in values])
    return tuple(c), (c[1] / L + 6 * s * c[3] / L**3, 2 * c[2] / L, 3 * c[3] / L)


def _solve_rational(rows: list[list[Fraction]], right: list[Fraction]) -> list[Fraction]:
    """Solve a small system of rational numbers by elimination."""
    n = len(rows)
    A = [[*row, value] for row, value in zip(rows, right, strict=True)]
    for k in range(n):
        pivot = next(i for i in range(k, n) if A[i][k] != 0)
        A[k], A[pivot] = A[pivot], A[k]
        A[k] = [entry / A[k][k] for entry in A[k]]
        for i in range(n):
            if i != k and A[i][k] != 0:
                A[i] = [a - A[i][k] * b for a, b in zip(A[i], A[k], strict=True)]
    return [row[n] for row in A]


# ---- modes


def _boundary_shapes(plane: Plane) -> list[Bend]:
    """One static shape for each movement of an end: cubics, the other movements zero, no moment elsewhere."""
    moving: list[Callable[[Piecewise], Fraction]] = []
    conditions: list[Callable[[Piecewise], Fraction]] = [lambda v: v.exact(0)]

    def psi(xi: int) -> Callable[[Piecewise], Fraction]:
        return lambda v: _polynomial(_rotation(v, plane)).exact(xi)

    def moment(xi: int) -> Callable[[Piecewise], Fraction]:
        return lambda v: _polynomial(_rotation(v, plane)).derivative().exact(xi)

    if plane.pinned:
        conditions.append(lambda v: v.exact(1))
        (moving if plane.start else conditions).append(psi(0) if plane.start else moment(0))
    else:
        conditions.append(psi(0))
        moving.append(lambda v: v.exact(1))
    (moving if plane.end else conditions).append(psi(1) if plane.end else moment(1))
    powers = [polynomial([0] * k + [1]) for k in range(4)]
    rows = [[condition(power) for power in powers] for condition in (*conditions, *moving)]
    shapes = []
    for k in range(len(moving)):
        right = [Fraction(int(i == len(conditions) + k)) for i in range(4)]
        v = polynomial(_solve_rational(rows, right))
        shapes.append(Bend(v, _rotation(v, plane)))
    return shapes


def _polynomial(f: Function) -> Piecewise:
    assert isinstance(f, Piecewise)
    return f


def _interior_shapes(plane: Plane) -> list[Bend]:
    """The first modes of the beam with ends that do not move."""
    start, end = plane.start or not plane.pinned, plane.end
    if not start and not end:
        waves = [Wave(k) for k in range(1, plane.number + 1)]
        return [Bend(wave, _rotation(wave, plane)) for wave in waves]
    if plane.number == 0:
        return []
    fixed = Plane(plane.length, plane.s, True, start, end, False, 0)
    corrections = dict(
        zip([xi for xi, on in ((0, start), (1, end)) if on], _boundary_shapes(fixed), strict=True)
    )
    candidates: list[Bend] = []
    # With shear the first ones are cubics, of which the corrections leave nothing.
    first = len(corrections) if plane.s else 0
    for degree in range(first, first + plane.number + _EXTRA_POLYNOMIALS):
        v = _multiply(_legendre(degree), [0, 1, -1])
        for xi, on in ((0, start), (1, end)):
            if on and not plane.s:  # slopes vanish by a factor more
                v = _multiply(v, [0, 1] if xi == 0 else [1, -1])
        shape = polynomial(v)
        for xi, correction in corrections.items() if plane.s else ():
            slope = _polynomial(_rotation(polynomial(v), plane)).exact(xi)
            shape = shape.plus(_polynomial(correction.v).scale(-slope))
        candidates.append(Bend(shape, _rotation(shape, plane)))
    K = np.array([[_energy(a, b, plane) for b in candidates] for a in candidates])
    M = np.array([[integral_of_product(a.v, b.v) for b in candidates] for a in candidates])
    shapes = []
    for column in _lowest_modes(K, M, plane.number):
        v_total: Piecewise | None = None
        for coefficient, candidate in zip(column, candidates, strict=True):
            term = _polynomial(candidate.v).scale(Fraction(coefficient))
            v_total = term if v_total is None else v_total.plus(term)
        assert v_total is not None
        shapes.append(Bend(v_total, _rotation(v_total, plane)))
    return shapes


def _multiply(a: Sequence[Fraction | int], b: Sequence[Fraction | int]) -> list[Fraction]:
    result = [Fraction(0)] * (len(a) + len(b) - 1)
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            result[i + j] += Fraction(x) * Fraction(y)
    return result


def _legendre(n: int) -> list[Fraction]:
    """Coefficients of Legendre's polynomial P_n(2 xi - 1)."""
    return [Fraction((-1) ** (n + k) * math.comb(n, k) * math.comb(n + k, k)) for k in range(n + 1)]


def _energy(a: Bend, b: Bend, plane: Plane) -> float:
    """Twice the strain energy of two shapes, over E I."""
    L = plane.length
    total = integral_of_product(a.psi.derivative(), b.psi.derivative()) / L
    if plane.s:
        shears = [
            _polynomial(f.v).derivative().scale(1.0 / L).plus(_polynomial(f.psi).scale(-1)) for f in (a, b)
        ]
        total += integral_of_product(shears[0], shears[1]) * L / plane.s
    return total


def _lowest_modes(K: np.ndarray, M: np.ndarray, number: int) -> list[list[float]]:
    """The eigenvectors of the lowest values of K c = w^2 M c, of size 1/sqrt 2 in M as sines, rounded."""
    scale = 1.0 / np.sqrt(np.diag(M))
    factor = np.linalg.cholesky(M * np.outer(scale, scale))
    half = np.linalg.solve(factor, K * np.outer(scale, scale))
    values, vectors = np.linalg.eigh(np.linalg.solve(factor, half.T))
    columns = np.linalg.solve(factor.T, vectors[:, np.argsort(values)[:number]]) * scale[:, None]
    result = []
    for column in columns.T:
        size = float(np.max(np.abs(column)))
        signed = column if column[int(np.argmax(np.abs(column) > 1e-3 * size))] > 0.0 else -column
        result.append(
            [float(f"{entry / size:.{_DIGITS}f}") * float(f"{size:.6g}") / math.sqrt(2.0) for entry in signed]
        )
    return result


# ---- which moments the ends of a flexible link carry


_BALL_JOINTS = (JointKind.SPHERICAL, JointKind.POINT, JointKind.PLANAR_SPHERICAL, JointKind.SPHERICAL_PLANAR)


class CarriedMoments(NamedTuple):
    """Whether an end carries moments about the beam's axes x, y and z."""

    x: bool
    y: bool
    z: bool


def carried_moments(robot: Robot, beam: Beam) -> tuple[CarriedMoments, CarriedMoments]:
    """The moments that start and end of a beam carry."""
    ends = []
    for k, joints in enumerate((beam.start, beam.end)):
        point = beam.frame.p + beam.frame.R[:, 0] * (beam.length if k else 0.0)
        free = [True, True, True]
        for axis in range(3):
            direction = beam.frame.R[:, axis]
            free[axis] = beam.tips[k] is None and all(
                _is_free_about(robot, j, beam.body, direction, point) for j in joints
            )
        ends.append(
            CarriedMoments(*(not f for f in free))
            if joints or beam.tips[k] is not None
            else CarriedMoments(*[False] * 3)
        )
    return ends[0], ends[1]


def _is_free_about(robot: Robot, index: int, body: int, direction: Array, point: Array) -> bool:
    """Whether a joint leaves a body free to rotate about an axis through a place.

    Both in the body's frame.
    """
    joint = robot.numeric.joints[index]
    frame = joint.frame_predecessor if joint.predecessor == body else joint.frame_successor
    offset = np.cross(direction, frame.p - point)
    if float(np.linalg.norm(offset)) > 1e-9 * robot.size and not joint.at_point:
        return False
    if any(joint.springs) or any(actuator.joint == index for actuator in robot.actuators):
        return False
    if joint.kind in _BALL_JOINTS:
        return True
    axis = _free_axis(joint, body)
    return axis is not None and abs(abs(float(frame.R[:, axis] @ direction)) - 1.0) < 1e-9


def _free_axis(joint: Joint, body: int) -> int | None:
    """The axis of a joint's frame on a body about which it rotates freely, or None."""
    if joint.kind in (JointKind.REVOLUTE, JointKind.CYLINDRICAL):
        return 2
    if joint.kind is JointKind.UNIVERSAL:
        return 0 if joint.predecessor == body else 1
    return None


# ---- shape functions of a flexible link, and their integrals


AXIAL, BEND_Y, BEND_Z, TORSION = range(4)
# Axis about which the section of each kind of coordinate turns, and the sign.
_ROTATION_AXES = {BEND_Y: (2, 1.0), BEND_Z: (1, -1.0), TORSION: (0, 1.0)}


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
    ends: tuple[CarriedMoments, CarriedMoments]

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
        return self._weighted_integrals(ONE) * self.beam.mass

    @cached_property
    def moments(self) -> Array:
        """First moment (3, n), kg, of the beam about its frame's origin for unit coordinates."""
        result = np.zeros((3, self.n))
        for i, component in enumerate(self.component):
            if component >= 0:
                result[component, i] = self.C[i]
        return result

    @cached_property
    def X(self) -> Array:
        """Int rho A x d_i dx (n,), kg m."""
        return self._weighted_integrals(XI) * self.beam.mass * self.beam.length

    def _weighted_integrals(self, weight: Function) -> Array:
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
                axis, sign = _ROTATION_AXES[c.kind]
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
                    axis = _ROTATION_AXES[a.kind][0]
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
                        factor
                        * beam.G
                        * section.area
                        * L
                        * integral_of_product(_shear_angle(a, L), _shear_angle(b, L))
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
                        S[i, j] = _piece_integral(a, b, k, pieces) / L
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

    def section_motion(self, xi: float) -> Array:
        """Displacement and rotation [d; theta] (6, n) of the section at xi, for unit coordinates."""
        result = np.zeros((6, self.n))
        for i, c in enumerate(self.coordinates):
            if c.d is not None:
                result[c.kind, i] = c.d.at(xi)
            if c.r is not None:
                axis, sign = _ROTATION_AXES[c.kind]
                result[3 + axis, i] = sign * c.r.at(xi)
        return result


def _shear_angle(c: ElasticCoordinate, L: float) -> Function:
    """Shear angle v' - psi of a bend."""
    assert c.d is not None
    assert c.r is not None
    slope = c.d.derivative().scale(1.0 / L)
    if isinstance(slope, Wave) and isinstance(c.r, Wave):
        return Wave(slope.k, slope.factor - c.r.factor, slope.cosine)
    assert isinstance(slope, Piecewise)
    assert isinstance(c.r, Piecewise)
    return slope.plus(c.r.scale(-1))


def _piece_integral(f: Function, g: Function, piece: int, pieces: int) -> float:
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


class BeamDeflections(NamedTuple):
    """How a beam may deform in addition to its length: bend in y, bend in z, twist."""

    y: bool
    z: bool
    torsion: bool


ALL_DEFLECTIONS = BeamDeflections(y=True, z=True, torsion=True)


def beam_shapes(robot: Robot, beam: Beam, deflections: BeamDeflections = ALL_DEFLECTIONS) -> Shapes:
    """The shape functions of a beam of a robot.

    Args:
        robot: the robot.
        beam: the beam.
        deflections: how the beam may deform.
    """
    ends = carried_moments(robot, beam)
    hermite = beam.shapes == "hermite"
    coordinates = [ElasticCoordinate(AXIAL, u, None) for u in _linear_functions(beam)]
    section = beam.section
    for kind, axis, bends_so in ((BEND_Y, 2, deflections.y), (BEND_Z, 1, deflections.z)):
        if not bends_so:
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
        coordinates += [ElasticCoordinate(kind, *bend) for bend in bending_shapes(plane)]
    if deflections.torsion and ends[0].x and ends[1].x:
        coordinates += [ElasticCoordinate(TORSION, None, phi) for phi in _linear_functions(beam)]
    return Shapes(beam, tuple(coordinates), ends)


def _linear_functions(beam: Beam) -> list[Function]:
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
