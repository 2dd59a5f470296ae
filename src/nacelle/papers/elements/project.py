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

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from nacelle.errors import KinematicsError, did_you_mean
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.motion import solved, twist_from_rates
from nacelle.kinematics.pose_input import reference_pose
from nacelle.kinematics.shapes import twist_units
from nacelle.model.reduced import layout_of
from nacelle.model.robot import Robot
from nacelle.papers.elements.layout import StateVariable
from nacelle.papers.elements.placement import element_layout
from nacelle.papers.elements.state import ElementState, element_state, elements_at, require_elements
from nacelle.pictures import Drawn
from nacelle.spatial.rotation import quat_exp, quat_multiply
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
class ElementProjection(Drawn):
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
    problem = _Problem(robot, seen)
    x = np.array(reference_pose(robot) if guess is None else guess, dtype=float)
    for _ in range(_STEPS):
        h, J = problem.at(x)
        step = problem.step(h, J)
        x = _moved(robot, x, step)
        if float(np.max(np.abs(step / twist_units(robot)))) < _SMALL:
            break
    else:
        raise KinematicsError(
            f"{robot.name}: no pose agrees with the elements that are seen; a guess near by may help"
        )
    h, J = problem.at(x)
    v = problem.solve(1, J, None)
    a = problem.solve(2, J, problem.bias(x, v)) if v is not None else None
    n = robot.motion.n
    state = element_state(robot, x, np.zeros(n) if v is None else v, np.zeros(n) if a is None else a)
    left = problem.residuals(h)
    chi = sum(float(r @ np.linalg.solve(problem.covariance(name), r)) for name, r in left.items())
    count = sum(len(r) for r in left.values())
    return ElementProjection(state, x, v, a, problem.pose_covariance(J), chi, count - n, left, J)


class _Problem:
    """What is seen of a robot, and how it depends on the pose."""

    def __init__(self, robot: Robot, seen: Mapping[str, Any]) -> None:
        self.robot = robot
        layout = element_layout(mechanism_of(robot))
        variables = {v.name: v for v in layout.variables}
        self.seen: dict[str, _Checked] = {}
        for name, given in seen.items():
            if name not in variables:
                raise KinematicsError(
                    f"{robot.name} has no element variable {name!r}; {did_you_mean(name, tuple(variables))}"
                )
            size = layout.size(variables[name]) if variables[name].is_vector else 1
            self.seen[name] = _checked(robot, variables[name], size, given)

    def at(self, x: Array) -> tuple[dict[str, Array], dict[str, Array]]:
        """All variables at a pose, and their Jacobians (components, n) along the reduced twist."""
        n = self.robot.motion.n
        units = np.vstack([np.zeros(n), np.eye(n)])
        poses, y, _ = solved(self.robot, x)
        found = elements_at(self.robot, poses, y, units, np.zeros(n))
        h, J = {}, {}
        for name, values in found.items():
            rows = np.asarray(values).reshape(n + 1, 3, -1)
            h[name], J[name] = rows[0, 0], rows[1:, 1].T
        return h, J

    def bias(self, x: Array, v: Array) -> dict[str, Array]:
        """Second derivatives of all variables at a = 0."""
        state = element_state(self.robot, x, v)
        return {name: np.reshape(value, (3, -1))[2] for name, value in state.values.items()}

    def covariance(self, name: str, order: int = 0) -> Array:
        """Covariance of a variable, or of its derivatives, across itself."""
        return self.seen[name].covariances[min(order, 1)]

    def residuals(self, h: dict[str, Array]) -> dict[str, Array]:
        """What is left of the seen values, of directions across themselves."""
        return {name: own.across.T @ (own.rows[0] - h[name]) for name, own in self.seen.items()}

    def _weighted(self, J: dict[str, Array], right: dict[str, Array], order: int) -> tuple[Array, Array]:
        """Rows and right-hand sides over their standard deviations, twists over their units."""
        units, rows, values = twist_units(self.robot), [], []
        for name, b in right.items():
            root = np.linalg.cholesky(self.covariance(name, order))
            rows.append(np.linalg.solve(root, self.seen[name].across.T @ J[name] * units))
            values.append(np.linalg.solve(root, b))
        if not rows:
            return np.zeros((0, len(units))), np.zeros(0)
        return np.concatenate(rows), np.concatenate(values)

    def step(self, h: dict[str, Array], J: dict[str, Array]) -> Array:
        """Gauss's and Newton's step along the reduced twist."""
        A, b = self._weighted(J, self.residuals(h), 0)
        self._require_rank(A)
        return np.asarray(np.linalg.lstsq(A, b, rcond=None)[0] * twist_units(self.robot))

    def _require_rank(self, A: Array) -> None:
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

    def solve(self, order: int, J: dict[str, Array], bias: dict[str, Array] | None) -> Array | None:
        """Twist or its derivative from the rates that are seen; None where they do not determine it."""
        right = {
            name: own.across.T @ (own.rows[order] - (0.0 if bias is None else bias[name]))
            for name, own in self.seen.items()
            if len(own.rows) > order
        }
        A, b = self._weighted(J, right, order)
        if (
            np.linalg.matrix_rank(A, tol=1e-9 * max(float(np.max(np.abs(A), initial=0.0)), 1e-300))
            < A.shape[1]
        ):
            return None
        return np.asarray(np.linalg.lstsq(A, b, rcond=None)[0] * twist_units(self.robot))

    def pose_covariance(self, J: dict[str, Array]) -> Array:
        """(J^T C^-1 J)^-1 (n, n)."""
        none = {name: np.zeros(own.across.shape[1]) for name, own in self.seen.items()}
        A, _ = self._weighted(J, none, 0)
        units = twist_units(self.robot)
        return np.asarray(np.linalg.inv(A.T @ A) * np.outer(units, units))


class _Checked(NamedTuple):
    """What is seen of a variable.

    Attributes:
        rows: value with derivatives (orders, components).
        covariances: of the value and of its derivatives, across itself.
        across: directions (components, k) that count: of a direction those across it, of others all.
    """

    rows: Array
    covariances: tuple[Array, Array]
    across: Array


def _checked(robot: Robot, variable: StateVariable, size: int, given: Any) -> _Checked:
    """What is seen of a variable, checked; a direction has unit length, which says nothing."""
    what = given if isinstance(given, SeenVariable) else SeenVariable(given, None)
    value = np.asarray(what.value, dtype=float)
    rows = value.reshape(-1, size) if value.size and value.size % size == 0 else np.zeros((0, size))
    if not 1 <= len(rows) <= 3:
        raise KinematicsError(
            f"the element variable {variable.name} has {size} component(s), with up to two derivatives; "
            f"got an array of shape {value.shape}"
        )
    if not np.all(np.isfinite(rows)):
        raise KinematicsError(f"the element variable {variable.name} that is seen is not finite")
    length = variable.kind in ("length", "point") or (
        variable.kind == "coordinate" and not robot.joints[variable.number].primitives[0].is_rotation
    )
    sigma = (robot.size if length else 1.0) if what.sigma is None else what.sigma
    across = np.eye(size)
    if variable.kind == "direction":
        norm = float(np.linalg.norm(rows[0]))
        if not 0.5 < norm < 2.0:
            raise KinematicsError(
                f"the direction {variable.name} that is seen has the length {norm:.3g}; it is a unit vector"
            )
        rows = np.concatenate([rows[:1] / norm, rows[1:]])
        across = np.linalg.svd(rows[:1])[2][1:].T
    own = _covariance(variable.name, sigma, across)
    rates = own if what.rate_sigma is None else _covariance(variable.name, what.rate_sigma, across)
    return _Checked(rows, (own, rates), across)


def _covariance(name: str, sigma: Any, across: Array) -> Array:
    """A covariance along the directions that count."""
    size, given = len(across), np.asarray(sigma, dtype=float)
    C = given if given.ndim == 2 else np.diag(np.broadcast_to(given, (size,)) ** 2)
    usable = C.shape == (size, size) and bool(np.all(np.isfinite(C)))
    own = across.T @ C @ across if usable else np.zeros((1, 1))
    if not float(np.linalg.eigvalsh(own)[0]) > 0.0:
        raise KinematicsError(
            f"the covariance of {name} is a standard deviation above zero, or a matrix ({size}, {size}) "
            "that is positive definite across it"
        )
    return np.asarray(own)


def _moved(robot: Robot, x: Array, step: Array) -> Array:
    """A pose moved by a step along the reduced twist: m, and rotation vectors in rad."""
    layout = layout_of(robot.motion)
    linear, turn = layout.split_v(step)
    plain, quat = layout.split_x(x)
    if turn is not None and quat is not None:
        return np.asarray(layout.join_x(plain + linear, quat_multiply(quat_exp(turn), quat)))
    # Angles change as the twist says: v = T dx.
    n = len(step)
    T = np.stack([twist_from_rates(robot, x, unit, np.zeros(n))[0] for unit in np.eye(n)], axis=1)
    return np.asarray(x + np.linalg.solve(T, step))
