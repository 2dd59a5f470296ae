"""A payload from two runs, without and with it.

A payload moves with the body that carries it, so its ten parameters theta count as that body's own do: with
K_b (base parameters, 10) the columns of K that belong to the body,

    beta_loaded - beta_unloaded = K_b theta + e,        cov e = C_loaded + C_unloaded

over base parameters beta of the same robot, estimated from both runs. All other parameters drop out of the
difference, and so does what the model leaves out, as far as it acts on both estimates alike: take the same
motion twice. Of theta, ten numbers out of many equations,

    min |R (K_b theta - beta_loaded + beta_unloaded)|^2

determines what moves: of a platform that does not rotate only the mass. R^T R would best be
(C_loaded + C_unloaded)^-1. But where C says, from sums over a few lags, that a direction is known much better
than white noise allows, its inverse would count on that; so R^T R is the inverse of what white residuals of
the same size would give, and cov theta follows from C. With S = R C R^T, H = R K_b and N = 1 - H H^+, what
remains, q = |N R (beta_loaded - beta_unloaded)|^2, has the mean tr(N S) and the variance 2 tr(N S N S): it is
compared with Fisher's F for as many degrees of freedom (Satterthwaite). The result is a payload that there
can be (a positive semidefinite pseudo-inertia matrix); where nothing determines it, it is a point mass at the
frame's origin.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from nacelle.dynamics.base_parameters.base_parameters import BaseParameters
from nacelle.dynamics.base_parameters.choice import ParameterChoice, choose_parameters
from nacelle.errors import IdentificationError
from nacelle.identification.consistency.cone_program import nearest_in_cones
from nacelle.identification.consistency.consistent import MARGIN, WEIGHT
from nacelle.identification.consistency.feasible_set import (
    FeasibleSet,
    SignConstraints,
    body_cone,
    full_body_parameters,
    solve_all,
)
from nacelle.identification.consistency.roots import (
    information_root_of_covariance,
    information_root_of_regression,
    standard_deviations,
)
from nacelle.identification.estimation.estimator import Estimator
from nacelle.model.numbers import INERTIA_NAMES
from nacelle.model.payload import payload_frame
from nacelle.model.platform import Payload
from nacelle.model.robot import Robot
from nacelle.results import HasTable
from nacelle.spatial.inertia import inertia_about_com, transform_parameters
from nacelle.spatial.pose import Pose
from nacelle.spatial.scalar import Array

_TEN = 10
_AXES = (0, 1, 2)
# A combination of parameters whose effect is below this part of the largest is not determined.
_NO_EFFECT = 1e-9
# In standard deviations: a mass below is not seen.
_SIGNIFICANT = 2.0


class FittedEstimate(Protocol):
    """An estimate of base parameters from one run, such as an estimator after `fit`."""

    @property
    def coef_(self) -> Array:
        """The estimate (base parameters,), SI units."""

    @property
    def covariance_(self) -> Array:
        """Its covariance (base parameters, base parameters); infinite variances for what was not excited."""


@dataclass(frozen=True, eq=False, repr=False)
class PayloadEstimate(HasTable):
    """A payload, in the frame of the tool or body that carries it.

    Attributes:
        robot: the robot.
        on: the tool or body.
        body: index of the body that carries it.
        frame: the tool's frame on the body.
        values: ten parameters that a body can have (10,), in Pinocchio's order; SI units.
        least_squares_values: the same by least squares alone (10,); zero where nothing determines them.
        covariance: of `least_squares_values` (10, 10); infinite variances where nothing determines them.
        distance: how far `values` are from `least_squares_values`, in standard deviations.
        chi_square: weighted squares that the best payload leaves of the difference of both runs.
        freedom: their degrees of freedom, which is the mean of chi_square if only the payload differs.
        residual_freedom: degrees of freedom of the residuals from which covariances were estimated, of both
            runs; infinite if that is not known.
        accuracy: bound on the distance of `values` from the solution of their program, in standard
            deviations.
    """

    robot: Robot
    on: str
    body: int
    frame: Pose
    values: Array
    least_squares_values: Array
    covariance: Array
    distance: float
    chi_square: float
    freedom: float
    accuracy: float
    residual_freedom: float = np.inf

    @property
    def sigma(self) -> Array:
        """Standard deviations of the ordinary estimates (10,), in the order and units of the parameters."""
        return np.asarray(np.sqrt(np.diag(self.covariance)))

    @property
    def determined(self) -> tuple[str, ...]:
        """Names of the parameters that the runs determine."""
        return tuple(name for name, s in zip(INERTIA_NAMES, self.sigma, strict=True) if np.isfinite(s))

    @property
    def mass(self) -> float:
        """Mass, kg."""
        return float(self.values[0])

    @property
    def com(self) -> Array:
        """Centre of mass (3,), m, in the frame of the body that carries it."""
        return np.asarray(self.values[1:4] / self.values[0])

    @property
    def inertia(self) -> Array:
        """Inertia about the centre of mass (3, 3), kg m^2, in the axes of the body that carries it."""
        return inertia_about_com(self.values)

    @property
    def is_significant(self) -> bool:
        """Whether the mass is above zero by more than two standard deviations."""
        return bool(self.least_squares_values[0] > _SIGNIFICANT * self.sigma[0])

    def is_explained(self, level: float = 0.99) -> bool:
        """Whether a payload explains the difference of the runs, or something else has changed, too.

        By Fisher's F, since covariances are estimates: chi_square / freedom over 1, with `freedom` and
        `residual_freedom` degrees of freedom.

        Args:
            level: probability with which chance alone leaves no more than this.
        """
        from scipy.special import chdtri, fdtri

        if self.freedom == 0:
            return True
        if not np.isfinite(self.residual_freedom):
            return bool(self.chi_square <= chdtri(self.freedom, 1.0 - level))
        return bool(self.chi_square <= self.freedom * fdtri(self.freedom, self.residual_freedom, level))

    def payload(self, name: str = "payload") -> Payload:
        """The payload as a part of a robot, about the frame of the body."""
        ten = transform_parameters(self.frame.R, self.frame.p, self.values)
        return Payload(name, self.body, tuple(float(value) for value in ten))

    def robot_with_payload(self, name: str = "payload") -> Robot:
        """The robot with the payload in addition to those that it has.

        Raises:
            IdentificationError: if it has one of that name.
        """
        if name in {load.name for load in self.robot.payload}:
            raise IdentificationError(
                f"{self.robot.name} has a payload {name!r} already: choose another name"
            )
        return dataclasses.replace(self.robot, payload=(*self.robot.payload, self.payload(name)))


def payload_from_runs(
    base: BaseParameters, unloaded: FittedEstimate, loaded: FittedEstimate, *, carrier_name: str | None = None
) -> PayloadEstimate:
    """Estimate a payload from two runs, best of the same motion.

    Args:
        base: base parameters of the robot, of which both runs have estimates.
        unloaded: the estimate from the run without the payload.
        loaded: the estimate from the run with it.
        carrier_name: the tool or body of the platform that carries it, whose frame it is given in; the
            platform if None.

    Raises:
        ParameterError: if there is no such tool or body.
        IdentificationError: if the base parameters leave out some that a payload has, the runs do not
            determine its mass, or the second run shows less mass than the first.
    """
    robot = base.robot
    body, frame = payload_frame(robot, carrier_name)
    # Ten parameters about the body's frame from those about the frame on it (10, 10).
    T = np.array([transform_parameters(frame.R, frame.p, unit) for unit in np.eye(_TEN)]).T
    K = _body_columns(base, body) @ T
    covariance = np.asarray(unloaded.covariance_) + np.asarray(loaded.covariance_)
    difference = np.asarray(loaded.coef_) - np.asarray(unloaded.coef_)
    if difference.shape != (len(base),) or covariance.shape != (len(base), len(base)):
        raise IdentificationError(
            f"both runs need estimates of the {len(base)} base parameters of {robot.name}"
        )
    R = information_root_of_covariance(_white_covariance(unloaded) + _white_covariance(loaded))
    # Where a variance is infinite the estimate itself may be none.
    finite = np.any(R, axis=0)
    difference = np.where(finite, difference, 0.0)
    S = R @ np.where(np.outer(finite, finite), covariance, 0.0) @ R.T
    H, h = R @ K, R @ difference
    solution, spread, remaining = _least_squares(H, h, S, robot.size)
    ordinary = np.where(np.isfinite(np.diag(spread)), solution, 0.0)
    sigma = float(np.sqrt(spread[0, 0]))
    if not np.isfinite(sigma):
        raise IdentificationError(
            f"the runs do not determine the mass of a payload on {robot.bodies[body].name!r}: what it would "
            "change was not excited"
        )
    if ordinary[0] < -_SIGNIFICANT * sigma:
        raise IdentificationError(
            f"the loaded run shows less mass than the unloaded one, by {-ordinary[0]:.4g} kg "
            f"(standard deviation {sigma:.2g}): are they exchanged?"
        )
    answer = nearest_in_cones(_payload_set(max(float(ordinary[0]), sigma), robot.size), H, h, WEIGHT)
    return PayloadEstimate(
        robot,
        robot.bodies[body].name if carrier_name is None else carrier_name,
        body,
        frame,
        answer.z,
        ordinary,
        spread,
        float(np.linalg.norm(H @ (answer.z - solution))),
        *_satterthwaite(remaining @ h, remaining @ S @ remaining),
        answer.accuracy,
        _residual_freedom(unloaded) + _residual_freedom(loaded),
    )


def check_payload_carrier(
    robot: Robot, assume: str | Sequence[str] = "undescribed", carrier_name: str | None = None
) -> None:
    """Refuse a payload whose parameters are assumed to be zero where it is, before anything is estimated.

    Args:
        robot: the robot.
        assume: what is always zero, as in `base_parameters`.
        carrier_name: the tool or body of the platform that carries the payload; the platform if None.

    Raises:
        ParameterError: if there is no such tool or body.
        IdentificationError: if parameters that a payload has are assumed to be zero.
    """
    body, _ = payload_frame(robot, carrier_name)
    _payload_columns(robot, choose_parameters(robot, assume, shared=False), body)


def _white_covariance(run: FittedEstimate) -> Array:
    """Covariance of a run's estimates if its residuals were white; its own where these are not at hand."""
    covariance = np.asarray(run.covariance_)
    if not isinstance(run, Estimator) or not np.all(run.noise_ > 0.0):
        return covariance
    finite = np.isfinite(np.diag(covariance))
    data = run.regression_
    root = information_root_of_regression(data.Y[data.used][..., finite], run.noise_)
    inverse = np.linalg.pinv(root / (size := np.linalg.norm(root, axis=0))) / size[:, None]
    white = np.zeros_like(covariance)
    white[np.ix_(finite, finite)] = inverse @ inverse.T
    white[~finite, ~finite] = np.inf
    return white


def _residual_freedom(run: FittedEstimate) -> float:
    """Degrees of freedom of a run's residuals."""
    if not isinstance(run, Estimator):
        return np.inf
    return max(float(run.regression_.count * len(run.regression_.rows) - len(run.coef_)), 1.0)


def _satterthwaite(remaining: Array, S: Array) -> tuple[float, float]:
    """Squares of what remains, in units in which their mean is the degrees of freedom; these."""
    first, second = float(np.trace(S)), float(np.sum(S * S))
    if second <= 0.0 or first <= 1e-9:
        return 0.0, 0.0
    return float(remaining @ remaining) * first / second, round(first**2 / second, 9)


def _body_columns(base: BaseParameters, body: int) -> Array:
    """K_b (base parameters, 10): what the ten parameters of a body add to the base parameters."""
    return np.asarray(base.K[:, _payload_columns(base.robot, base.choice, body)])


def _payload_columns(robot: Robot, choice: ParameterChoice, body: int) -> tuple[int, ...]:
    """The chosen parameters (10,) in which the ten of a body count."""
    indices = choice.columns[_TEN * (body - 1) : _TEN * body]
    lost = [name for name, index in zip(INERTIA_NAMES, indices, strict=True) if index < 0]
    if lost:
        carrier = robot.bodies[body]
        without = ", which the description gives no mass," if carrier.massless else ""
        raise IdentificationError(
            f"the base parameters assume {', '.join(lost)} of {carrier.name!r}{without} to be zero, which a "
            'payload on it need not have: assume nothing (assume="nothing", --assume nothing), or name the '
            "body that carries it (carrier_name, --on)"
        )
    return indices


def _least_squares(H: Array, h: Array, S: Array, size: float) -> tuple[Array, Array, Array]:
    """The least squares of H theta = h with cov h = S, in units of the robot's size.

    Returns:
        The solution, its covariance, and N = 1 - H H^+.
    """
    unit = size ** np.array([0.0] + [-1.0] * 3 + [-2.0] * 6)
    U, values, rows = np.linalg.svd(H / unit, full_matrices=False)
    seen = values > _NO_EFFECT * values[0] if values.size and values[0] > 0.0 else np.zeros(len(values), bool)
    V = rows[seen].T / values[seen] / unit[:, None]
    U = U[:, seen]
    covariance = V @ U.T @ S @ U @ V.T
    free = ~np.isfinite(standard_deviations(np.where(seen[:, None], values[:, None] * rows, 0.0) * unit))
    covariance[free, free] = np.inf
    return V @ (U.T @ h), covariance, np.eye(len(h)) - U @ U.T


def _payload_set(mass: float, size: float) -> FeasibleSet:
    """The payloads that there can be, close to a point mass at the origin."""
    point = np.array([mass] + [0.0] * (_TEN - 1))
    full = full_body_parameters(point, _AXES, size, "payload")
    cone = body_cone(("payload",), np.eye(_TEN), point, full, _AXES)
    free = solve_all(np.zeros((0, _TEN)), np.zeros(0), np.ones(_TEN))
    signs = SignConstraints((), np.zeros((0, _TEN)), np.zeros(0))
    return FeasibleSet(free, point, full, (cone,), MARGIN, signs, np.zeros(_TEN))
