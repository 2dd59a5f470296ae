"""The set of parameters that a robot can have: affine equations, cones of pseudo-inertia, signs.

z = z_0 + Z u are the chosen parameters under the equations of `requirements`. Each body demands

    B (P(z) - e P_c) B^T >= 0        positive semidefinite

P_c being its pseudo-inertia as described, e the margin, B its normaliser: no second moment along any axis
and no mass is less than e times the described one, so that also M(x) >= e M_c(x) for the mass matrix at each
pose, as M is linear and monotone in P and in rotor inertias. A body that is described as flat or thin may
stay so. What must hold of friction, rotors and springs is in `signs`.

How far z is from the description is counted without units and frames: |B (P - P_c) B^T| of each body, and the
change of each other parameter over its described size.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nacelle.dynamics.base_parameters.base_parameters import BaseParameters
from nacelle.dynamics.base_parameters.sampling import units
from nacelle.errors import IdentificationError
from nacelle.identification.consistency.linear_equations import Solutions, all_solutions
from nacelle.identification.consistency.pseudo_inertia import (
    BASIS,
    added_thickness,
    normaliser,
    packed,
    thickened,
    unpacked,
)
from nacelle.identification.consistency.requirements import BodyShape, equality_rows, shapes, ten_of
from nacelle.identification.consistency.signs import Bounds, Signs, bounds_of, sign_scales, signs_of
from nacelle.spatial.inertia import inertia_faults
from nacelle.spatial.scalar import Array


@dataclass(frozen=True, eq=False)
class Cone:
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
    cones: tuple[Cone, ...]
    margin: float
    signs: Signs
    scale: Array

    def closeness(self) -> tuple[Array, Array]:
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
            float(np.linalg.eigvalsh(unpacked(cone.map @ z - self.margin * cone.centre))[0])
            for cone in self.cones
        ]

    def into_cones(self, z: Array) -> Array:
        """Move z by what a solver's tolerance leaves outside, towards a point inside."""
        pairs = zip(self.eigenvalues(z), self.eigenvalues(self.inside), strict=True)
        part = max((-least / (inner - least) for least, inner in pairs if least < 0.0), default=0.0)
        z = z + part * (self.inside - z)
        for row, least in zip(self.signs.rows, self.signs.least, strict=True):
            place = np.flatnonzero(row)
            if len(place) == 1 and row @ z < least:
                z[place[0]] = least / row[place[0]]
        return np.asarray(self.solutions.nearby(z))


def feasible_set(
    base: BaseParameters,
    root: Array,
    *,
    prior: Array,
    margin: float,
    bounds: Bounds | None = None,
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
    unit = units(base.robot)[[group[0] for group in base.choice.groups()]]
    limits = bounds_of(base, bounds or {})
    held = {k: low for k, (low, high) in limits.items() if low == high}
    listed = shapes(base)
    A, b = equality_rows(base, listed, prior)
    A, b = np.vstack([A, np.eye(len(unit))[list(held)]]), np.concatenate([b, list(held.values())])
    solutions = all_solutions(A, b, unit)
    centre = solutions.nearby(prior)
    inside = centre.copy()
    bodies: dict[tuple[int, ...], tuple[list[str], BodyShape]] = {}
    for shape in listed:
        if not shape.massless:
            bodies.setdefault(shape.places, ([], shape))[0].append(base.robot.bodies[shape.body].name)
    cones = tuple(_cone(base, tuple(names), shape, centre, inside) for names, shape in bodies.values())
    scale = sign_scales(base, root, centre)
    inside = np.where(scale > 0.0, np.maximum(centre, 0.0) + 0.1 * scale, inside)
    loose = {k: pair for k, pair in limits.items() if k not in held}
    signs = signs_of(base, centre, scale, margin=margin, limits=loose)
    return FeasibleSet(solutions, centre, solutions.nearby(inside), cones, margin, signs, scale)


def _cone(
    base: BaseParameters, names: tuple[str, ...], shape: BodyShape, centre: Array, inside: Array
) -> Cone:
    """The cone of a body; one that is described as impossible is made possible, in `centre`."""
    E = ten_of(base, shape.body)
    ten = E @ centre
    full = full_body(ten, shape.axes, base.robot.size, names[0])
    acting = [k for k in range(10) if shape.places[k] >= 0]
    inside[[shape.places[k] for k in acting]] = full[acting]
    if inertia_faults(ten):
        ten = full
        centre[[shape.places[k] for k in acting]] = full[acting]
    return body_cone(names, E, ten, full, shape.axes)


def full_body(ten: Array, axes: tuple[int, ...], size: float, name: str) -> Array:
    """Ten parameters of a body with some extent along all axes that it may extend along.

    Raises:
        IdentificationError: if its mass is not positive.
    """
    if not ten[0] > 0.0:
        raise IdentificationError(
            f"body {name!r} has a mass of {ten[0]:g} kg in the description or prior; it must be positive"
        )
    return thickened(ten, axes, added_thickness(ten, axes, size))


def body_cone(names: tuple[str, ...], E: Array, ten: Array, full: Array, axes: tuple[int, ...]) -> Cone:
    """The cone of a body with parameters E z (10,), close to `ten`, in radii of gyration of `full`."""
    corner = [*axes, 3]
    B = normaliser(full, axes)
    matrices = packed(B @ BASIS[:, corner][:, :, corner] @ B.T).T
    return Cone(names, matrices @ E, matrices @ ten)
