"""Projection on the closures: the element state that agrees best with what is seen of it.

Any variables z_i of the element state, with covariances C_i, are functions h_i(x) of the reduced pose alone,
since all loops are closed there. The pose that agrees best with what is seen minimises

    sum over seen variables of (z_i - h_i(x))^T C_i^-1 (z_i - h_i(x))

by Gauss's and Newton's steps. The derivative of an element's variable along a unit twist is its rate there,
so J = dh/dx is exact. Rates and accelerations that are seen follow from two linear problems with the same J:

    z' = J v,      z'' = J a + (z'' at a = 0)

The covariance of the pose is P = (J^T C^-1 J)^-1, that of any variable J_i P J_i^T. What is seen is
sufficient if J has rank n; what it leaves open is named. The sum at its least is distributed as chi-square
with as many degrees of freedom as there are more numbers than n, if the covariances are right.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from nacelle.errors import KinematicsError, did_you_mean
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.motion import integrate_pose, solve_loops
from nacelle.kinematics.pose_input import reference_pose
from nacelle.kinematics.shapes import twist_scales
from nacelle.model.reduced import layout_of
from nacelle.model.robot import Robot
from nacelle.papers.elements.layout import StateVariable, is_length
from nacelle.papers.elements.placement import element_layout
from nacelle.papers.elements.state import ElementState, element_state, elements_at, require_elements
from nacelle.results import Plottable
from nacelle.spatial.scalar import Array

_STEPS = 30
_SMALL = 1e-12
# Singular values of the scaled Jacobian below this part of the largest leave a motion open.
_OPEN = 1e-9


class SeenVariable(NamedTuple):
    """What is seen of a variable of the element state.

    Attributes:
        value: its value (components,), or with its derivatives (orders, components); a number for lengths.
        sigma: standard deviation of each component of the value, or a covariance (components, components),
            which for directions counts across them alone.
        rate_sigma: the same of its first and second derivative; that of the value if None.
    """

    value: Any
    sigma: Any = 1.0
    rate_sigma: Any = None


@dataclass(frozen=True, eq=False, repr=False)
class ElementProjection(Plottable):
    """The consistent element state nearest to what is seen.

    Attributes:
        state: the element state; derivatives that are not seen are zero.
        x: reduced pose (nx,).
        v: reduced twist (n,); None where no rates are seen, or too few.
        a: its derivative (n,); None where no accelerations are seen, or too few.
        covariance: of the pose (n, n) along the reduced twist, m and rad.
        chi_square: weighted sum of squares of what is left of the values.
        freedom: how many more numbers are seen than the pose has.
        residuals: of the seen variables, by name; of directions across themselves.
        jacobian: of all variables (components, n) along the reduced twist.
    """

    state: ElementState
    x: Array
    v: Array | None
    a: Array | None
    covariance: Array
    chi_square: float
    freedom: int
    residuals: Mapping[str, Array]
    jacobian: Mapping[str, Array]

    def covariance_of(self, name: str) -> Array:
        """Covariance (components, components) of a variable of the state: J_i P J_i^T."""
        J = self.jacobian[name]
        return np.asarray(J @ self.covariance @ J.T)


def project_elements(robot: Robot, seen: Mapping[str, Any], *, guess: Any = None) -> ElementProjection:
    """Find the element state that closes all loops and agrees best with what is seen of it.

    Args:
        robot: the robot.
        seen: variables of the element state by name (`ElementState.names`): a `SeenVariable`, or its value
            alone, which then counts like all others, lengths over the robot's size.
        guess: a reduced pose (nx,) near by; the reference pose if None.

    Raises:
        KinematicsError: if a name or shape is wrong, a value is not finite, what is seen does not determine
            the pose (with the motions that it leaves open), or no pose is found.
    """
    require_elements(robot)
    problem, n, units = _ProjectionProblem(robot, seen), robot.motion.n, twist_scales(robot)
    x = np.array(reference_pose(robot) if guess is None else guess, dtype=float)
    for _ in range(_STEPS):
        A, b = problem.weighted_rows(0, *problem.at(x))
        problem.require_rank(A)
        step = _least_squares(A, b)
        x = integrate_pose(robot, x, step * units)
        if float(np.max(np.abs(step))) < _SMALL:
            break
    else:
        raise KinematicsError(
            f"{robot.name}: no pose agrees with the elements that are seen; a guess near by may help"
        )
    h, J = problem.at(x)
    A, b = problem.weighted_rows(0, h, J)
    v = problem.rates(1, {name: np.zeros(len(block)) for name, block in J.items()}, J)
    # Second derivatives of all variables at a = 0.
    bias = {k: np.reshape(value, (3, -1))[2] for k, value in element_state(robot, x, v).values.items()}
    a = None if v is None else problem.rates(2, bias, J)
    state = element_state(robot, x, v, a)
    left = {name: variable.across.T @ (variable.rows[0] - h[name]) for name, variable in problem.seen.items()}
    covariance = np.linalg.inv(A.T @ A) * np.outer(units, units)
    return ElementProjection(state, x, v, a, covariance, float(b @ b), len(b) - n, left, J)


def _least_squares(A: Array, b: Array) -> Array:
    return np.asarray(np.linalg.lstsq(A, b, rcond=None)[0])


class _ProjectionProblem:
    """What is seen of a robot, and how it depends on the pose."""

    def __init__(self, robot: Robot, seen: Mapping[str, Any]) -> None:
        self.robot, self.units = robot, twist_scales(robot)
        layout = element_layout(mechanism_of(robot))
        variables = {v.name: v for v in layout.variables}
        self.seen: dict[str, _CheckedVariable] = {}
        for name, value in seen.items():
            if name not in variables:
                raise KinematicsError(
                    f"{robot.name} has no element variable {name!r}; {did_you_mean(name, tuple(variables))}"
                )
            self.seen[name] = _check_variable(
                robot, variables[name], math.prod(layout.shapes[name][1:]), value
            )

    def at(self, x: Array) -> tuple[dict[str, Array], dict[str, Array]]:
        """All variables at a pose, and their Jacobians (components, n) along the reduced twist."""
        n = self.robot.motion.n
        units = np.vstack([np.zeros(n), np.eye(n)])
        poses, y, _ = solve_loops(self.robot, x)
        arrays = elements_at(self.robot, poses, y, units, np.zeros(n))
        rows = {name: np.asarray(values).reshape(n + 1, 3, -1) for name, values in arrays.items()}
        return {name: var[0, 0] for name, var in rows.items()}, {k: var[1:, 1].T for k, var in rows.items()}

    def weighted_rows(
        self, order: int, h: Mapping[str, Array], J: Mapping[str, Array]
    ) -> tuple[Array, Array]:
        """Rows of J and what is seen less h, of a derivative, over standard deviations; twists over units."""
        rows, values = [np.zeros((0, len(self.units)))], [np.zeros(0)]
        for name, variable in self.seen.items():
            if len(variable.rows) > order:
                root = np.linalg.cholesky(variable.covariances[min(order, 1)])
                rows.append(np.linalg.solve(root, variable.across.T @ J[name] * self.units))
                values.append(np.linalg.solve(root, variable.across.T @ (variable.rows[order] - h[name])))
        return np.concatenate(rows), np.concatenate(values)

    def rates(self, order: int, h: Mapping[str, Array], J: Mapping[str, Array]) -> Array | None:
        """Twist or its derivative from the rates that are seen; None where they do not determine it."""
        A, b = self.weighted_rows(order, h, J)
        smallest = 1e-9 * max(float(np.max(np.abs(A), initial=0.0)), 1e-300)
        if np.linalg.matrix_rank(A, tol=smallest) < A.shape[1]:
            return None
        return _least_squares(A, b) * self.units

    def require_rank(self, A: Array) -> None:
        """Check that what is seen determines the pose."""
        n = self.robot.motion.n
        scale = A / np.linalg.norm(A, axis=1, keepdims=True).clip(1e-300)
        singular, V = np.linalg.svd(scale, full_matrices=True)[1:]
        values = np.zeros(n)
        values[: len(singular)] = singular[:n]
        if values[-1] > _OPEN * max(float(values[0]), 1.0):
            return
        names = layout_of(self.robot.motion).v_names
        left = [names[int(np.argmax(np.abs(V[k])))] for k in range(n) if values[k] <= _OPEN * values[0]]
        raise KinematicsError(
            f"what is seen of {self.robot.name} ({', '.join(self.seen) or 'nothing'}) does not determine its "
            f"pose: motion along {', '.join(dict.fromkeys(left))} is left open; more elements are needed"
        )


class _CheckedVariable(NamedTuple):
    """What is seen of a variable.

    Attributes:
        rows: value with derivatives (orders, components).
        covariances: of the value and of its derivatives, across itself.
        across: directions (components, k) that count: of a direction those across it, of others all.
    """

    rows: Array
    covariances: tuple[Array, Array]
    across: Array


def _check_variable(robot: Robot, variable: StateVariable, size: int, value: Any) -> _CheckedVariable:
    """What is seen of a variable, checked; a direction has unit length, which says nothing."""
    what = value if isinstance(value, SeenVariable) else SeenVariable(value, None)
    value = np.asarray(what.value, dtype=float)
    rows = value.reshape(-1, size) if value.size and value.size % size == 0 else np.zeros((0, size))
    if not 1 <= len(rows) <= 3:
        raise KinematicsError(
            f"the element variable {variable.name} has {size} component(s), with up to two derivatives; "
            f"got an array of shape {value.shape}"
        )
    if not np.all(np.isfinite(rows)):
        raise KinematicsError(f"the element variable {variable.name} that is seen is not finite")
    sigma = what.sigma
    if sigma is None:
        sigma = robot.size if is_length(robot, variable) else 1.0
    across = np.eye(size)
    if variable.kind == "direction":
        norm = float(np.linalg.norm(rows[0]))
        if not 0.5 < norm < 2.0:
            raise KinematicsError(
                f"the direction {variable.name} that is seen has the length {norm:.3g}; it is a unit vector"
            )
        rows = np.concatenate([rows[:1] / norm, rows[1:]])
        across = np.linalg.svd(rows[:1])[2][1:].T
    C = _covariance(variable.name, sigma, across)
    C_rate = C if what.rate_sigma is None else _covariance(variable.name, what.rate_sigma, across)
    return _CheckedVariable(rows, (C, C_rate), across)


def _covariance(name: str, sigma: Any, across: Array) -> Array:
    """A covariance along the directions that count."""
    size, sigmas = len(across), np.asarray(sigma, dtype=float)
    C = sigmas if sigmas.ndim == 2 else np.diag(np.broadcast_to(sigmas, (size,)) ** 2)
    usable = C.shape == (size, size) and bool(np.all(np.isfinite(C)))
    projected = across.T @ C @ across if usable else np.zeros((1, 1))
    if not float(np.linalg.eigvalsh(projected)[0]) > 0.0:
        raise KinematicsError(
            f"the covariance of {name} is a standard deviation above zero, or a matrix ({size}, {size}) "
            "that is positive definite across it"
        )
    return np.asarray(projected)
