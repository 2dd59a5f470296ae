"""The set of parameters that a robot can have: affine equations, cones of pseudo-inertia, signs.

z = z_0 + Z u are the chosen parameters under the equations of `equality_rows`. Each body demands

    B (P(z) - e P_c) B^T >= 0        positive semidefinite

P_c being its pseudo-inertia as described, e the margin, B its normaliser: no second moment along any axis
and no mass is less than e times the described one, so that also M(x) >= e M_c(x) for the mass matrix at each
pose, as M is linear and monotone in P and in rotor inertias. A body that is described as flat or thin may
stay so. What must hold of friction, rotors and springs is in `SignConstraints`.

How far z is from the description is counted without units and frames: |B (P - P_c) B^T| of each body, and the
change of each other parameter over its described size.

What must hold exactly of the parameters of a robot: linear equations, A z = b.

z are the chosen parameters of a set of base parameters, p = E z all linear parameters of the robot. Of them

    payloads                     keep their values
    bodies without mass          stay so
    a platform that is a point    has a mass alone
    a body that spins idly       is axisymmetric: seen from a point of its axis, with z along it,
                                 h_x = h_y = 0, I_xx = I_yy, I_xy = I_xz = I_yz = 0
    a moment I_xx that is zero   leaves mass on the x axis alone: h_y = h_z = 0, I_yy = I_zz, no products
    a mass that is zero          leaves nothing

The last two follow from the pseudo-inertia matrix where an assumption (`assume`) fixes a parameter at
zero: the cone then has no interior, unless what follows is made an equation (its face).

Signs and bounds of parameters, and the size in which friction, rotors and springs are counted.

Friction takes energy from the motion: c v, c sign(v), ... have c >= 0 ([AGH2005] (24)). The coefficient of
Stribeck's term may be negative as long as that of Coulomb's term outweighs it at low speed:

    c_coulomb + c_stribeck exp(-(v/s)^2) >= 0 for all v,  with c_coulomb >= 0 and c_coulomb + c_stribeck >= 0

A constant is an offset of either sign. Rotor inertias and stiffnesses are not negative, and keep a part of
what they are described with.

All solutions of linear equations A z = b, with exact zeros and ones where the equations have them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

import numpy as np

from nacelle.dynamics.base_parameters.base_parameters import BaseParameters
from nacelle.dynamics.base_parameters.sampling import parameter_units
from nacelle.errors import IdentificationError, did_you_mean
from nacelle.identification.consistency.pseudo_inertia import (
    BASIS,
    add_thickness,
    normaliser,
    pack_symmetric,
    required_thickness,
    unpack_symmetric,
)
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.model.leg import PLATFORM
from nacelle.model.linear_parameters import linear_parameters
from nacelle.model.numbers import INERTIA_NAMES
from nacelle.model.robot import Robot
from nacelle.spatial.inertia import inertia_faults
from nacelle.spatial.rotation import frame_with_z
from nacelle.spatial.scalar import Array
from nacelle.tree.rates import InternalFreedom

# What is left of a row below this part of it is rounding.
_NOTHING = 1e-9


@dataclass(frozen=True, eq=False)
class Solutions:
    """All solutions z = z0 + Z u.

    Attributes:
        z0: (n,).
        Z: (n, free).
        free: places of the unknowns that are u.
    """

    z0: Array
    Z: Array
    free: tuple[int, ...]

    def solution_near(self, z: Array) -> Array:
        """The solution z_0 + Z z_free (unknowns,) that agrees with z (unknowns,) in the free unknowns."""
        return np.asarray(self.z0 + self.Z @ z[list(self.free)])


def solve_all(A: Array, b: Array, unit: Array) -> Solutions:
    """Solve A z = b: z = z_0 + Z u for free numbers u.

    By elimination with full pivoting (Gauss and Jordan), not by orthogonal matrices: an equation z_i = z_j
    or z_k = 0 then holds in every digit.

    Args:
        A: (equations, n).
        b: (equations,).
        unit: (n,) size of each unknown, by which pivots are compared.

    Raises:
        IdentificationError: if the equations contradict each other.
    """
    n = A.shape[1]
    rows = np.hstack([A * unit, b[:, None]])
    scale = np.max(np.abs(rows[:, :n]), axis=1, initial=0.0)
    empty = scale == 0.0
    if np.any(b[empty] != 0.0):
        raise IdentificationError("what is required of the parameters contradicts itself")
    rows = rows[~empty] / scale[~empty, None]
    pivots: list[tuple[int, int]] = []
    left = np.ones(len(rows), dtype=bool)
    while left.any():
        open_rows = np.flatnonzero(left)
        i, j = divmod(int(np.argmax(np.abs(rows[open_rows, :n]))), n)
        row = int(open_rows[i])
        if abs(rows[row, j]) < _NOTHING:
            break
        rows[row] /= rows[row, j]
        others = np.flatnonzero(rows[:, j])
        others = others[others != row]
        rows[others] -= np.outer(rows[others, j], rows[row])
        rows[others, j] = 0.0
        left[row] = False
        pivots.append((row, j))
    if np.any(np.abs(rows[left, n]) > _NOTHING * max(1.0, float(np.max(np.abs(rows[:, n]), initial=0.0)))):
        raise IdentificationError("what is required of the parameters contradicts itself")
    pivot_columns = {j for _, j in pivots}
    free = [k for k in range(n) if k not in pivot_columns]
    z0, Z = np.zeros(n), np.zeros((n, len(free)))
    Z[free, range(len(free))] = 1.0
    for row, j in pivots:
        z0[j] = rows[row, n] * unit[j]
        # In units of the unknowns, and exactly one where two of them are equal.
        Z[j] = -rows[row, free] * (unit[j] / unit[free])
    return Solutions(z0, Z, tuple(free))


# ---- what must hold exactly of the parameters of a robot: linear equations, A z = b


_TEN = 10
# Places of I_xx, I_yy, I_zz among ten parameters.
DIAGONAL = (4, 6, 9)
# Of a body on the x, y, z axis alone: pairs of moments that are equal.
_EQUAL = ((6, 9), (4, 9), (4, 6))
_PRODUCTS = (5, 7, 8)
# Entries of a point on an axis below this part of the robot's size are rounding.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class BodyShape:
    """Which shape a body may have.

    Attributes:
        body: its index.
        columns: of its ten parameters among the chosen ones; -1 for those that are always zero.
        axes: along which it may extend; all three but for bodies on a line or at a point.
        equations: rows (k, 10) that are zero for its ten parameters.
        massless: whether it has no mass.
    """

    body: int
    columns: tuple[int, ...]
    axes: tuple[int, ...]
    equations: Array
    massless: bool


def shape_constraints(base: BaseParameters) -> list[BodyShape]:
    """The shape of every body but the base."""
    robot, columns = base.robot, base.choice.columns
    internal_freedoms = {spin.body: spin for spin in mechanism_of(robot).mobility.internal_freedoms}
    body_shapes = []
    for body in range(1, len(robot.bodies)):
        indices = columns[_TEN * (body - 1) : _TEN * body]
        massless = robot.bodies[body].massless or indices[0] < 0
        rows, axes = _face_equations(indices)
        if massless:
            rows, axes = list(np.eye(_TEN)), ()
        elif body == PLATFORM and robot.platform.kind == "point":
            rows, axes = list(np.eye(_TEN)[1:]), ()
        elif body in internal_freedoms:
            rows += list(axisymmetry_rows(robot, internal_freedoms[body]))
        body_shapes.append(BodyShape(body, indices, axes, np.reshape(rows, (-1, _TEN)), massless))
    return body_shapes


def _face_equations(indices: tuple[int, ...]) -> tuple[list[Array], tuple[int, ...]]:
    """What follows from moments of inertia that are always zero, and the axes that are left."""
    zero = [axis for axis, moment in enumerate(DIAGONAL) if indices[moment] < 0]
    unit = np.eye(_TEN)
    if not zero:
        return [], (0, 1, 2)
    if len(zero) > 1:
        return list(unit[1:]), ()
    axis = zero[0]
    off = [unit[1 + k] for k in range(3) if k != axis]
    first, second = _EQUAL[axis]
    return [*off, unit[first] - unit[second], *(unit[k] for k in _PRODUCTS)], (axis,)


def axisymmetry_rows(robot: Robot, spin: InternalFreedom) -> Array:
    """Rows (6, 10) that are zero for ten parameters of a body that is axisymmetric about its idle spin."""
    R = frame_with_z(np.array(spin.axis))
    point = np.array(spin.point) - np.dot(spin.point, spin.axis) * np.array(spin.axis)
    point = np.where(np.abs(point) < _ROUNDING * robot.size, 0.0, point)
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = R.T, -R.T @ point
    P = np.moveaxis(T @ BASIS @ T.T, 0, -1)
    # S_xx - S_yy is I_yy - I_xx, the other S are products of inertia.
    return np.array([P[0, 3], P[1, 3], P[0, 0] - P[1, 1], P[0, 1], P[0, 2], P[1, 2]])


def equality_rows(base: BaseParameters, bodies: Sequence[BodyShape], prior: Array) -> tuple[Array, Array]:
    """A (equations, chosen) and b with A z = b.

    Args:
        base: the base parameters.
        bodies: their shapes.
        prior: z as it is described (chosen,).
    """
    names, groups = linear_parameters(base.robot).names, base.choice.groups()
    rows = [np.zeros((0, len(groups)))]
    rows += [shape.equations @ body_parameter_map(base, shape.body) for shape in bodies]
    loads = [k for k, group in enumerate(groups) if names[group[0]].startswith("payload.")]
    A = np.vstack([*rows, np.eye(len(groups))[loads]])
    b = np.concatenate([np.zeros(len(A) - len(loads)), prior[loads]])
    return A[np.any(A, axis=1)], b[np.any(A, axis=1)]


def body_parameter_map(base: BaseParameters, body: int) -> Array:
    """E_b (10, chosen): the ten parameters of a body are E_b z."""
    return np.asarray(base.choice.E[_TEN * (body - 1) : _TEN * body])


# ---- signs and bounds of parameters, and the size in which friction, rotors and springs are counted


Bounds = Mapping[str, tuple[float | None, float | None]]
Limits = dict[int, tuple[float, float]]

_UNSIGNED = ("constant", "stribeck", "stiffness*rest")
_SCALED_MINIMUM = ("rotor_inertia", "stiffness")
# A parameter that is described as zero is counted in this many of the standard deviations that it has alone.
_UNDESCRIBED = 1e3


@dataclass(frozen=True, eq=False)
class SignConstraints:
    """Rows that are not negative: rows @ z - least >= 0, without units.

    Attributes:
        names: of the parameters.
        rows: (k, chosen).
        least: (k,).
    """

    names: tuple[str, ...]
    rows: Array
    least: Array


def representative_names(base: BaseParameters) -> list[str]:
    """For every chosen parameter the name of the first parameter of the robot that it stands for."""
    names = linear_parameters(base.robot).names
    return [names[group[0]] for group in base.choice.groups()]


def is_inertial(name: str) -> bool:
    """Whether a linear parameter is one of the ten of a body or a payload."""
    return name.rpartition(".")[2] in INERTIA_NAMES


def is_nonnegative(name: str) -> bool:
    """Whether a linear parameter that is no inertia cannot be negative."""
    return not is_inertial(name) and name.rpartition(".")[2] not in _UNSIGNED


def sign_scales(base: BaseParameters, root: Array, centre: Array) -> Array:
    """The size in which each chosen parameter that is no inertia is counted; zero for inertia.

    Its described size; where that is zero, a thousand of the standard deviations that it would have if it
    were the only unknown; one where it has no effect.
    """
    alone = np.linalg.norm(root @ base.K, axis=0)
    sizes = np.where(centre != 0.0, np.abs(centre), _UNDESCRIBED / np.where(alone > 0.0, alone, _UNDESCRIBED))
    return np.where([is_inertial(name) for name in representative_names(base)], 0.0, sizes)


def sign_constraints(
    base: BaseParameters, centre: Array, scale: Array, *, margin: float, limits: Limits
) -> SignConstraints:
    """What is not negative of the chosen parameters.

    Args:
        base: the base parameters.
        centre: z as described (chosen,).
        scale: from `sign_scales`.
        margin: the part of a rotor's inertia and of a stiffness that stays at least.
        limits: lower and upper bounds by place; infinite for none.
    """
    names = representative_names(base)
    unit = np.eye(len(names))
    half_lines: list[tuple[str, Array, float]] = []
    for k, name in enumerate(names):
        axis, _, kind = name.rpartition(".")
        if is_nonnegative(name):
            least = margin * max(float(centre[k]), 0.0) if kind in _SCALED_MINIMUM else 0.0
            half_lines.append((base.choice.names[k], unit[k] / scale[k], least / scale[k]))
        elif kind == "stribeck":
            coulomb = names.index(f"{axis}.coulomb") if f"{axis}.coulomb" in names else k
            row = np.maximum(unit[k], unit[coulomb]) / max(scale[k], scale[coulomb])
            half_lines.append((base.choice.names[k], row, 0.0))
    for k, (low, high) in limits.items():
        size = max(abs(end) for end in (low, high, float(centre[k])) if np.isfinite(end)) or 1.0
        if np.isfinite(low):
            half_lines.append((base.choice.names[k], unit[k] / size, low / size))
        if np.isfinite(high):
            half_lines.append((base.choice.names[k], -unit[k] / size, -high / size))
    rows = np.reshape([row for _, row, _ in half_lines], (-1, len(names)))
    return SignConstraints(
        tuple(name for name, *_ in half_lines), rows, np.array([least for *_, least in half_lines])
    )


def bounds_by_index(base: BaseParameters, bounds: Bounds) -> Limits:
    """Bounds by place among the chosen parameters.

    Raises:
        IdentificationError: if a name or pattern meets no parameter, or a lower bound is above the upper one.
    """
    all_names = linear_parameters(base.robot).names
    groups = base.choice.groups()
    limits: Limits = {}
    for pattern, (low, high) in bounds.items():
        matches = [
            k
            for k, name in enumerate(base.choice.names)
            if any(fnmatchcase(text, pattern) for text in (name, *(all_names[j] for j in groups[k])))
        ]
        if not matches:
            raise IdentificationError(
                f"bounds: {base.robot.name} has no parameter {pattern!r} that is estimated; "
                f"{did_you_mean(pattern, base.choice.names)}"
            )
        ends = (-np.inf if low is None else float(low), np.inf if high is None else float(high))
        if not ends[0] <= ends[1]:
            raise IdentificationError(
                f"bounds of {pattern!r}: the lower one, {ends[0]:g}, is above the upper one, {ends[1]:g}"
            )
        for k in matches:
            old = limits.get(k, (-np.inf, np.inf))
            limits[k] = (max(old[0], ends[0]), min(old[1], ends[1]))
    return limits


# ---- the set of parameters that a robot can have: affine equations, cones of pseudo-inertia, signs


@dataclass(frozen=True, eq=False)
class PseudoInertiaCone:
    """The pseudo-inertia of a body, or of equal bodies of legs that share parameters.

    Attributes:
        bodies: their names.
        map: (n (n + 1) / 2, chosen): the packed matrix B P B^T, linear in z.
        centre: the same of the body as described.
    """

    bodies: tuple[str, ...]
    map: Array
    centre: Array


@dataclass(frozen=True, eq=False)
class FeasibleSet:
    """The parameters that a robot can have.

    Attributes:
        solutions: z = z0 + Z u under the equations.
        centre: z as described (chosen,).
        inside: a z well inside all cones (chosen,).
        cones: of the bodies with mass.
        margin: the part of the description that a body keeps at least.
        signs: what is not negative of the other parameters, and bounds.
        scale: (chosen,) in which parameters that are no inertia are counted; zero for inertia.
    """

    solutions: Solutions
    centre: Array
    inside: Array
    cones: tuple[PseudoInertiaCone, ...]
    margin: float
    signs: SignConstraints
    scale: Array

    def distance_system(self) -> tuple[Array, Array]:
        """D (rows, chosen) and d (rows,) with |D z - d| the distance of z from the description."""
        others = np.flatnonzero(self.scale)
        rows = [np.eye(len(self.centre))[others] / self.scale[others, None]]
        sides = [self.centre[others] / self.scale[others]]
        for cone in self.cones:
            weight = np.sqrt(len(cone.bodies))
            rows.append(weight * cone.map)
            sides.append(weight * cone.centre)
        return np.vstack(rows), np.concatenate(sides)

    def cone_rows(self) -> tuple[Array, Array]:
        """C (rows, chosen) and c with C z - c in half-lines (signs), then cones (packed matrices)."""
        C = np.vstack([self.signs.rows, *(cone.map for cone in self.cones)])
        c = np.concatenate([self.signs.least, *(self.margin * cone.centre for cone in self.cones)])
        return C, c

    def eigenvalues(self, z: Array) -> list[float]:
        """The smallest eigenvalue of each cone's matrix at z (chosen,), less its margin; one as described."""
        return [
            float(np.linalg.eigvalsh(unpack_symmetric(cone.map @ z - self.margin * cone.centre))[0])
            for cone in self.cones
        ]

    def project_into_cones(self, z: Array) -> Array:
        """Move z by what a solver's tolerance leaves outside, towards a point inside."""
        pairs = zip(self.eigenvalues(z), self.eigenvalues(self.inside), strict=True)
        part = max((-least / (inner - least) for least, inner in pairs if least < 0.0), default=0.0)
        z = z + part * (self.inside - z)
        for row, least in zip(self.signs.rows, self.signs.least, strict=True):
            index = np.flatnonzero(row)
            if len(index) == 1 and row @ z < least:
                z[index[0]] = least / row[index[0]]
        return np.asarray(self.solutions.solution_near(z))


def feasible_set(
    base: BaseParameters, root: Array, *, prior: Array, margin: float, bounds: Bounds | None = None
) -> FeasibleSet:
    """The parameters that a robot can have.

    Args:
        base: the base parameters.
        root: of the information of an estimate (rows, base parameters): a size for parameters that are
            described as zero.
        prior: z as described (chosen,).
        margin: the part of the description that a body keeps at least, 0 to 1.
        bounds: lower and upper bounds of parameters by name or pattern, SI units; None for no bound.

    Raises:
        IdentificationError: if bounds name no parameter or contradict the equations, or the description has
            no mass where the parameters have one.
    """
    unit = parameter_units(base.robot)[[group[0] for group in base.choice.groups()]]
    limits = bounds_by_index(base, bounds or {})
    held = {k: low for k, (low, high) in limits.items() if low == high}
    body_shapes = shape_constraints(base)
    A, b = equality_rows(base, body_shapes, prior)
    A, b = np.vstack([A, np.eye(len(unit))[list(held)]]), np.concatenate([b, list(held.values())])
    solutions = solve_all(A, b, unit)
    centre = solutions.solution_near(prior)
    inside = centre.copy()
    bodies: dict[tuple[int, ...], tuple[list[str], BodyShape]] = {}
    for shape in body_shapes:
        if not shape.massless:
            bodies.setdefault(shape.columns, ([], shape))[0].append(base.robot.bodies[shape.body].name)
    cones = tuple(
        _cone_of_body(base, tuple(names), shape, centre, inside) for names, shape in bodies.values()
    )
    scale = sign_scales(base, root, centre)
    inside = np.where(scale > 0.0, np.maximum(centre, 0.0) + 0.1 * scale, inside)
    loose = {k: pair for k, pair in limits.items() if k not in held}
    signs = sign_constraints(base, centre, scale, margin=margin, limits=loose)
    return FeasibleSet(solutions, centre, solutions.solution_near(inside), cones, margin, signs, scale)


def _cone_of_body(
    base: BaseParameters, names: tuple[str, ...], shape: BodyShape, centre: Array, inside: Array
) -> PseudoInertiaCone:
    """The cone of a body; one that is described as impossible is made possible, in `centre`."""
    E = body_parameter_map(base, shape.body)
    ten = E @ centre
    full = full_body_parameters(ten, shape.axes, base.robot.size, names[0])
    acting = [k for k in range(10) if shape.columns[k] >= 0]
    inside[[shape.columns[k] for k in acting]] = full[acting]
    if inertia_faults(ten):
        ten = full
        centre[[shape.columns[k] for k in acting]] = full[acting]
    return body_cone(names, E, ten, full, shape.axes)


def full_body_parameters(ten: Array, axes: tuple[int, ...], size: float, name: str) -> Array:
    """Ten parameters of a body with some extent along all axes that it may extend along.

    Raises:
        IdentificationError: if its mass is not positive.
    """
    if not ten[0] > 0.0:
        raise IdentificationError(
            f"body {name!r} has a mass of {ten[0]:g} kg in the description or prior; it must be positive"
        )
    return add_thickness(ten, axes, required_thickness(ten, axes, size))


def body_cone(
    names: tuple[str, ...], E: Array, ten: Array, full: Array, axes: tuple[int, ...]
) -> PseudoInertiaCone:
    """The cone of a body with parameters E z (10,), close to `ten`, in radii of gyration of `full`."""
    corner = [*axes, 3]
    B = normaliser(full, axes)
    matrices = pack_symmetric(B @ BASIS[:, corner][:, :, corner] @ B.T).T
    return PseudoInertiaCone(names, matrices @ E, matrices @ ten)
