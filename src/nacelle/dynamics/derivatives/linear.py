"""Linear models: how small deviations from a state or a motion develop.

    ds/dt = A s + B dtau,   dq = C s + D dtau

In platform coordinates s = [e; dv], e the small motion from the nominal pose to the true one along the
tangent (translations, rotation vector in base axes, joints of the platform) and dv the deviation of the
reduced twist:

    A = [K, 1; -M^-1 R_x, -M^-1 R_v],   B = [0; M^-1 J_r^-T],   C = [J_r^-1, 0],   D = 0,

R the residual of the equations of motion (see `derivatives`), K the turn of the tangent along a motion (w x e
for rotations; zero at rest). In actuator coordinates s = [dq; dq'], by the exact transformation of both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from nacelle.dynamics.derivatives.derivatives import differentiate, operating_point
from nacelle.dynamics.physics import Physics
from nacelle.dynamics.reference import require_inertia
from nacelle.errors import KinematicsError
from nacelle.kinematics.flags import Flagged, has_failed
from nacelle.model.robot import Robot
from nacelle.results import Plottable
from nacelle.spatial.scalar import Array
from nacelle.spatial.solve import solve_batch

# Rate (rad/s, m/s) over which Coulomb friction changes its sign in a linear model if none is given.
DEFAULT_SMOOTHING = 1e-2


class Pole(NamedTuple):
    """An eigenvalue of a linear model (rad/s), its frequency |value| / 2 pi (Hz), and its damping ratio."""

    value: complex
    frequency: float
    damping: float


@dataclass(frozen=True, eq=False, repr=False)
class LinearModel(Flagged, Plottable):
    """A linear model of a robot around states (...).

    Attributes:
        robot: the robot.
        coordinates: "platform" or "actuators".
        x: nominal poses (..., nx).
        v: nominal twists (..., n).
        tau: nominal actuator forces (..., actuators).
        A: (..., 2n, 2n), of the state [e; dv] or [dq; dq'].
        B: (..., 2n, actuators), of deviations of the actuator forces.
        C: (..., actuators, 2n), to deviations of the actuators' coordinates.
        D: (..., actuators, actuators), zero.
        c: (..., 2n), the rate of the nominal state itself, [v; a] or [q'; q'']: zero at an equilibrium.
        smooth: rate over which Coulomb friction changes its sign; None without friction.
        flags: for every state what was found (`Flag`).
    """

    robot: Robot
    coordinates: str
    x: Array
    v: Array
    tau: Array
    A: Array
    B: Array
    C: Array
    D: Array
    c: Array
    smooth: float | None
    flags: Array

    @property
    def state_names(self) -> tuple[str, ...]:
        """Names (2n,) of the entries of the state, [e; dv] or [dq; dq']."""
        if self.coordinates == "platform":
            names = self.robot.motion.coordinates
            return (*names, *(f"v_{name}" for name in names))
        names = tuple(actuator.name for actuator in self.robot.actuators)
        return (*names, *(f"{name}'" for name in names))

    @property
    def input_names(self) -> tuple[str, ...]:
        """Names (actuators,) of the inputs: the actuators."""
        return tuple(actuator.name for actuator in self.robot.actuators)

    @property
    def eigenvalues(self) -> Array:
        """Eigenvalues (..., 2n) of A, rad/s, by real and then imaginary part."""
        bad = ~np.all(np.isfinite(self.A), axis=(-2, -1))
        values = np.sort_complex(np.linalg.eigvals(np.where(bad[..., None, None], 0.0, self.A)))
        return np.asarray(np.where(bad[..., None], np.nan, values))

    def poles(self) -> list[Pole]:
        """Poles with frequencies and damping ratios, of one state.

        Raises:
            KinematicsError: if there is a batch of states.
        """
        if self.A.ndim != 2:
            raise KinematicsError("poles() is for one state; .eigenvalues supports batches")
        result = []
        for value in self.eigenvalues:
            size = float(abs(value))
            damping = -float(value.real) / size if size > 0.0 else float("nan")
            result.append(Pole(complex(value), size / (2.0 * np.pi), damping))
        return result

    @property
    def natural_frequencies(self) -> Array:
        """Undamped natural frequencies (..., n), Hz, ascending: those of s'' = A_21 s.

        Zero where nothing brings the robot back, NaN (last) where gravity or a spring drives it away.
        """
        n = self.robot.motion.n
        K = -self.A[..., n:, :n]
        bad = ~np.all(np.isfinite(K), axis=(-2, -1))
        values = np.linalg.eigvals(np.where(bad[..., None, None], 0.0, K)).real
        # Rounding may turn a zero into a small negative number.
        small = 1e-12 * np.max(np.abs(values), axis=-1, keepdims=True, initial=0.0)
        values = np.where(np.abs(values) <= small, 0.0, values)
        with np.errstate(invalid="ignore"):
            results = np.sort(np.sqrt(values), axis=-1) / (2.0 * np.pi)
        return np.asarray(np.where(bad[..., None], np.nan, results))


def linearise(
    robot: Robot,
    x: Any,
    v: Any = None,
    tau: Any = None,
    *,
    coordinates: Literal["platform", "actuators"] = "platform",
    external: Mapping[str, Any] | None = None,
    friction: bool = True,
    smooth: float | None = None,
) -> LinearModel:
    """Make the linear model of a robot around a state, at rest or along a motion.

    Args:
        robot: the robot.
        x: reduced poses (..., nx), m and quat_xyzw or rad, in the base frame.
        v: reduced twists (..., n), m/s and rad/s in base axes; zero if None.
        tau: actuator forces (..., actuators), N or N m; those that keep v constant if None (at rest: an
            equilibrium).
        coordinates: "platform", or "actuators" for robots with as many actuators as motions.
        external: wrenches [f; n] (..., 6), N and N m in base axes, by name of the body or tool.
        friction: whether friction counts.
        smooth: rate (rad/s, m/s) over which Coulomb friction changes its sign smoothly. At rest the sign
            has no derivative, so there must be one: 0.01 if None.

    Returns:
        The system z' = A z + B u + c with A (2n, 2n), B (2n, actuators), in SI units: m, rad, s, N.

    Raises:
        KinematicsError: if shapes are wrong, or actuator coordinates are no state.
        UnreachableError, SingularError: as in `inverse_dynamics`.
    """
    if coordinates not in ("platform", "actuators"):
        raise KinematicsError(f"coordinates are 'platform' or 'actuators', not {coordinates!r}")
    n, count = robot.motion.n, len(robot.actuators)
    if coordinates == "actuators" and count != n:
        raise KinematicsError(
            f"{robot.name} has {count} actuators for {n} motions, so their coordinates are no state"
        )
    require_inertia(robot)
    physics = Physics(friction, smooth)
    width = (physics.smooth or DEFAULT_SMOOTHING) if physics.friction else None
    options: dict[str, Any] = {"external": external, "physics": replace(physics, smooth=width)}
    point, flags = operating_point(robot, x, v, tau=tau, **options)
    v, a = point.v, point.a
    results = differentiate(robot, point, v, active=True, **options)
    for value in results.values():
        value[has_failed(flags)] = np.nan
    A, M = results["A"], results["M"]
    by_pose, by_twist = -solve_batch(M, results["pose"]), -solve_batch(M, results["twist"])
    by_force = solve_batch(M, np.swapaxes(A, -1, -2))
    batch = A.shape[:-2]
    none = np.zeros((*batch, n, n))
    identity = none + np.eye(n)
    no_force, D = np.zeros((*batch, n, count)), np.zeros((*batch, count, count))
    if coordinates == "platform":
        system = _block_matrix(results["turn"], identity, by_pose, by_twist)
        B = np.concatenate([no_force, by_force], axis=-2)
        C = np.concatenate([A, np.zeros((*batch, count, n))], axis=-1)
        c = np.concatenate(np.broadcast_arrays(v + np.zeros((*batch, n)), a), axis=-1)
    else:
        # s = P [e; dv]; dq'' follows from e, dv and the change of the acceleration.
        P = _block_matrix(A, none, results["A_pose"], A)
        rows = np.concatenate(
            [results["active_pose"] + A @ by_pose, results["active_twist"] + A @ by_twist], axis=-1
        )
        lower = np.swapaxes(solve_batch(np.swapaxes(P, -1, -2), np.swapaxes(rows, -1, -2)), -1, -2)
        system = np.concatenate([np.concatenate([none, identity], axis=-1), lower], axis=-2)
        B = np.concatenate([no_force, A @ by_force], axis=-2)
        C = np.concatenate([identity, none], axis=-1)
        c = np.concatenate([np.einsum("...ij,...j->...i", A, v), results["active"]], axis=-1)
    return LinearModel(robot, coordinates, point.x, v, point.tau, system, B, C, D, c, width, flags)


def _block_matrix(a: Array, b: Array, c: Array, d: Array) -> Array:
    """The matrix [a, b; c, d]."""
    upper, lower = np.concatenate([a, b], axis=-1), np.concatenate([c, d], axis=-1)
    return np.concatenate([upper, lower], axis=-2)
