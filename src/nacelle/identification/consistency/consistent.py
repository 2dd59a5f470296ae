"""Physically consistent parameters of all bodies, from an estimate of the base parameters.

Forces are linear, Gamma = Y_base beta with beta = K z. An estimate beta_hat with covariance C leaves open
what the forces do not show, and noise can make it that of no robot: a mass matrix that is not positive
definite. Here

    min |R (K z - beta_hat)|^2 + w |D z - d|^2        over the z that a robot can have (`feasible_set`)

R^T R = C^-1, and |D z - d| is how far z is from the description, without units: one where a body is changed
by as much as it is. w is small: 1/sqrt(w) is the standard deviation, in such units, with which the
description is believed. A combination with relative standard deviation s, at a relative distance d from the
description, is moved by w s d standard deviations: not at all where the data determine it, and to the
description where they do not.

It is solved in residual form (`cone_program`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from nacelle.dynamics.base_parameters.base_parameters import BaseParameters
from nacelle.errors import IdentificationError
from nacelle.identification.consistency.cone_program import ConeSolution, nearest_in_cones
from nacelle.identification.consistency.feasible_set import Bounds, FeasibleSet, feasible_set
from nacelle.identification.consistency.roots import information_root_of_covariance, standard_deviations
from nacelle.model.linear_parameters import linear_parameters
from nacelle.model.robot import Robot
from nacelle.one_thread import one_blas_thread
from nacelle.results import Plottable
from nacelle.spatial.scalar import Array

WEIGHT = 1e-2
MARGIN = 1e-3
# A body is at the boundary of what is possible if its smallest eigenvalue, 1 as described, is below this; one
# that is described as flat only if its cone pushes.
_BOUNDARY = 1e-5


@dataclass(frozen=True, eq=False, repr=False)
class ConsistentParameters(Plottable):
    """Parameters of all bodies that a robot can have, closest to an estimate.

    Attributes:
        base: the base parameters.
        values: all linear parameters of the robot (parameters,), in the order of `linear_parameters`; SI.
        estimate: the base parameters that were estimated (base parameters,).
        sigma: their standard deviations (base parameters,); infinite where nothing determines them.
        distance: |R (beta - estimate)|, how far the base parameters were moved, in standard deviations.
        changes: of every body with mass, how far it is from its description: 1 if by as much as it is.
        active: bodies at the boundary of what is possible.
        bounded: names of other parameters at their bounds (zero friction, ...).
        status: what the solver says.
        accuracy: bound on the distance from the true solution of the program, in standard deviations or, if
            that is more than one, as a part of the distance moved.
        iterations: of the solver.
    """

    base: BaseParameters
    values: Array
    estimate: Array
    sigma: Array
    distance: float
    changes: dict[str, float]
    active: tuple[str, ...]
    bounded: tuple[str, ...]
    status: str
    accuracy: float
    iterations: int

    @property
    def names(self) -> tuple[str, ...]:
        """Names (parameters,) of all linear parameters."""
        return linear_parameters(self.base.robot).names

    @cached_property
    def base_values(self) -> Array:
        """Base parameters K p (base parameters,) of the result p, SI units."""
        groups = self.base.choice.groups()
        return np.asarray(self.base.K @ self.values[[group[0] for group in groups]])

    @property
    def changed_parameters(self) -> Array:
        """By how many of its own standard deviations each base parameter was moved (base parameters,)."""
        return np.asarray((self.base_values - self.estimate) / self.sigma)


def consistent_parameters(
    base: BaseParameters,
    estimate: Any,
    root: Any,
    *,
    prior: Any = None,
    weight: float = WEIGHT,
    margin: float = MARGIN,
    bounds: Bounds | None = None,
) -> ConsistentParameters:
    """Find parameters of all bodies that a robot can have, closest to an estimate of its base parameters.

    Args:
        base: the base parameters, whose robot is the description.
        estimate: beta_hat (base parameters,), SI units.
        root: R (rows, base parameters) with R^T R the inverse of the estimate's covariance: the triangular
            factor of the weighted regressor (`information_root_of_regression`, also
            `information_root_of_covariance`).
        prior: what the result is closest to where the data determine nothing: linear parameters
            (parameters,), or a robot; the description if None.
        weight: w, the inverse square of the relative standard deviation with which the prior is believed.
        margin: the part of its described pseudo-inertia that each body keeps at least, 0 to 1.
        bounds: lower and upper bounds of parameters by name or pattern, such as {"plate.m": (0.5, 0.7)}; a
            parameter whose bounds are equal is held.

    Raises:
        IdentificationError: if shapes are wrong, no parameters meet the bounds, or the program cannot be
            solved.
    """
    beta, R = _check_estimate(base, estimate, root)
    if not (weight > 0.0 and 0.0 <= margin < 1.0):
        raise IdentificationError(
            f"weight is positive and margin from 0 to below 1, got weight {weight:g} and margin {margin:g}"
        )
    space = feasible_set(base, R, prior=_prior_parameters(base, prior), margin=margin, bounds=bounds)
    answer = nearest_in_cones(space, R @ base.K, R @ beta, weight)
    return _result(base, beta, R, space, answer)


@one_blas_thread
def project_estimate(
    base: BaseParameters, estimate: Any, covariance: Any, **options: Any
) -> ConsistentParameters:
    """Lift an ordinary estimate to parameters that a robot can have, by the smallest change.

    Args:
        base: the base parameters.
        estimate: beta_hat (base parameters,), SI units.
        covariance: of the estimate (base parameters, base parameters), by which changes are weighed; infinite
            variances for what was not estimated.
        options: those of `consistent_parameters`.

    Raises:
        IdentificationError: as `consistent_parameters`; and if the covariance is that of no estimate.
    """
    return consistent_parameters(base, estimate, information_root_of_covariance(covariance), **options)


def _result(
    base: BaseParameters, beta: Array, R: Array, space: FeasibleSet, answer: ConeSolution
) -> ConsistentParameters:
    """The result of the solver in terms of the robot."""
    z = answer.z
    at_boundary = [
        body
        for cone, least, nominal, push in zip(
            space.cones,
            space.eigenvalues(z),
            space.eigenvalues(space.centre),
            answer.multiplier_sizes,
            strict=True,
        )
        if least < _BOUNDARY and (push > _BOUNDARY or nominal > _BOUNDARY)
        for body in cone.bodies
    ]
    at_bounds = space.signs.rows @ z - space.signs.least < _BOUNDARY
    return ConsistentParameters(
        base,
        np.asarray(base.choice.E @ z) + 0.0,
        beta,
        standard_deviations(R),
        float(np.linalg.norm(R @ (base.K @ z - beta))),
        {
            body: float(np.linalg.norm(cone.map @ z - cone.centre))
            for cone in space.cones
            for body in cone.bodies
        },
        tuple(at_boundary),
        tuple(name for name, near in zip(space.signs.names, at_bounds, strict=True) if near),
        answer.status,
        answer.accuracy,
        answer.iterations,
    )


def _check_estimate(base: BaseParameters, estimate: Any, root: Any) -> tuple[Array, Array]:
    beta, R = np.asarray(estimate, dtype=float), np.asarray(root, dtype=float)
    if beta.shape != (len(base),):
        raise IdentificationError(
            f"the estimate has shape {beta.shape}, {base.robot.name} has {len(base)} base parameters"
        )
    if R.ndim != 2 or R.shape[1] != len(base):
        raise IdentificationError(
            f"the root of the information has shape {R.shape}; it needs {len(base)} columns, one a base "
            "parameter"
        )
    for values, what in ((beta, "the estimate"), (R, "the root of the information")):
        if not np.all(np.isfinite(values)):
            raise IdentificationError(f"{what} has numbers that are not finite")
    return beta, R


def _prior_parameters(base: BaseParameters, prior: Any) -> Array:
    """The chosen parameters that the result is close to."""
    if prior is None:
        return np.asarray(base.choice.values)
    values = linear_parameters(prior).values if isinstance(prior, Robot) else np.asarray(prior, dtype=float)
    count = len(base.choice.E)
    if values.shape != (count,) or not np.all(np.isfinite(values)):
        raise IdentificationError(
            f"a prior has the {count} linear parameters of {base.robot.name}, all of them finite"
        )
    signs = np.array(base.choice.signs)
    return np.array([np.mean(signs[group] * values[group]) for group in base.choice.groups()])
