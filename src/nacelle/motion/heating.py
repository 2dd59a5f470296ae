"""Limits of rms forces over a cycle: what a motor loses as heat grows with the square of its force.

Over the motion and a time D at rest after it, with the force tau_0 there, the limit r of a drive says

    S = T + D - (integral of tau^2 dt + tau_0^2 D) / r^2 > 0,      dt = ds / sqrt(z)

tau^2 / sqrt(z) is convex in (u, z), tau affine in them; without the parts of viscous friction, which bend it
slightly, so is the problem of the least T with the T in S held, and T is the one for which both agree. So the
optimum is that of the whole path. S depends on all unknowns: to the banded matrix of a step comes a matrix of
rank one for each drive (Sherman, Morrison and Woodbury). tau is taken where the time is summed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from nacelle.motion.interior_point import (
    AffineStep,
    Direction,
    PointLimits,
    Profile,
    Solver,
    Start,
)
from nacelle.motion.profile_shapes import FIRST, SECOND, Shapes
from nacelle.spatial.scalar import Array

# Part of the curvature by 1 / sqrt(z) that is left where that of the Lagrangian is not positive.
_CURVED = 0.01
# Least product of a multiplier and what is left of its limit, over the mean.
_CENTRAL = 0.1
# Sum of the first multipliers: that of a motion without holding forces that nothing else limits.
_FIRST = 0.25


@dataclass(frozen=True)
class Heating:
    """Forces of drives with a limit of their rms, over it.

    Attributes:
        tau: coefficients (4, k, 6, N) in (u, z, sqrt(z), 1) where the time is summed.
        rest: squares at rest at the end (k,).
        dwell: time there, s.
    """

    tau: Array
    rest: Array
    dwell: float

    def slack(self, u: Array, z: Array, weight: Array) -> tuple[Array, Array]:
        """What is left of the limits (k,), s, and the forces over them (k, 6, N); weights of 1 / sqrt(z)."""
        root = np.sqrt(z)
        e = self.tau
        tau = e[0] * u + e[1] * z + e[2] * root + e[3]
        slack = np.sum((1.0 - tau * tau) * (weight / root), axis=(1, 2)) + (1.0 - self.rest) * self.dwell
        return slack, tau

    def slack_of(self, shapes: Shapes, z: Array, b: Array) -> Array:
        """What a profile leaves of the limits (k,), s."""
        theta, weight = shapes.quadrature_places()
        i = np.tile(np.arange(len(shapes.step)), len(theta))
        motion = shapes.at(z, b, i, theta.ravel())
        return self.slack(motion.u.reshape(theta.shape), motion.z.reshape(theta.shape), weight)[0]


def heated_profile(
    limits: PointLimits, shapes: Shapes, heating: Heating, start: Start, tolerance: float
) -> Profile:
    """The fastest profile within rms forces, too, from one that keeps all limits."""
    solver = _HeatedSolver(limits, shapes, heating, tolerance)
    return solver.run(start, tolerance)._replace(heat=solver.weight_of_heat)


class _Heat(NamedTuple):
    """Slacks (k,) of rms forces at unknowns x (n,); forces (k, 6, N), z (6, N) where time is summed."""

    S: Array
    tau: Array
    z: Array
    x: Array


class _HeatedSolver(Solver):
    """The method with limits that depend on all unknowns."""

    def __init__(self, limits: PointLimits, shapes: Shapes, heating: Heating, tolerance: float) -> None:
        super().__init__(limits, shapes)
        self.heating, self.tolerance = heating, tolerance
        theta, _ = shapes.quadrature_places()
        i = np.tile(np.arange(len(shapes.step)), len(theta))
        u = shapes.by_unknowns(shapes.locals(i, theta.ravel()).u, i)
        self.inner_u = u.reshape(3, *theta.shape)
        z = self.inner_x
        self.inner_cross = self.inner_u[FIRST] * z[SECOND] + self.inner_u[SECOND] * z[FIRST]
        self.inner_square = self.inner_u[FIRST] * self.inner_u[SECOND]
        self.heat: _Heat | None = None

    @property
    def size(self) -> int:
        """Number of limits."""
        return super().size + len(self.heating.rest)

    def begin(self, start: Start, mu: float) -> None:
        """First multipliers, about mu over the limits."""
        super().begin(start, mu)
        # Their products stay there until the rest, with a Hessian that is not exact, has come as far.
        self.least_goal = 0.1 * self.tolerance * mu / start.gap
        self.weight_of_heat = np.minimum(mu / self.here_heat.S, _FIRST / len(self.here_heat.S))

    def is_central(self, mu: float) -> bool:
        """Whether what was evaluated last keeps off the bounds of rms forces, which are curved."""
        S, lam = self.here_heat.S, self.weight_of_heat
        mu = max(mu, _CENTRAL * float(np.max(lam * S)))
        least = np.minimum(0.5 * S, _CENTRAL * mu / lam)
        return bool(np.all(least <= self.trial_heat.S))

    def advance(self, dual: float, step: Direction) -> None:
        """Move multipliers a part of a step."""
        super().advance(dual, step)
        self.weight_of_heat = self.weight_of_heat + dual * self.heat_change

    @property
    def here_heat(self) -> _Heat:
        """Heat at the accepted unknowns."""
        assert self.heat is not None
        return self.heat

    def evaluate(self, x: Array, nu: Array) -> float:
        """The limits at unknowns, and the least ratio to those accepted before."""
        least = super().evaluate(x, nu)
        z = self.inner(x)
        if np.min(z) <= 0.0:
            return -np.inf
        self.trial_heat = self.heat_at(x, z)
        S = self.trial_heat.S
        return least if self.heat is None else min(least, float(np.min(S / self.heat.S)))

    def heat_at(self, x: Array, z: Array) -> _Heat:
        """Heat at unknowns with squared speeds z (6, N)."""
        near = np.stack([x[part] for part in self.slices])
        S, tau = self.heating.slack(np.einsum("aqn,an->qn", self.inner_u, near), z, self.weight)
        return _Heat(S, tau, z, x)

    def accept(self) -> None:
        """Take what was evaluated last."""
        super().accept()
        if np.any(self.trial_heat.S <= 0.0):
            raise ValueError("the profile to start from is beyond its rms forces")
        self.heat = self.trial_heat

    def lagrangian(self, x: Array, gradient: Array) -> tuple[float, float]:
        """Sum of lambda S, and gradient of the time less that of lambda S, over the relative change of z."""
        (A, Q, V, _), (S, tau, z, _) = self.heating.tau, self.here_heat
        root, lam = np.sqrt(z), self.weight_of_heat
        part = self.weight / root
        by_z = Q + 0.5 * V / root
        heat_u, heat_z = 2.0 * tau * A * part, (2.0 * tau * by_z - 0.5 * tau * tau / z) * part
        self.slope = np.tile(gradient, (len(S), 1))
        for k, (g_u, g_z) in enumerate(zip(heat_u, heat_z, strict=True)):
            total = np.zeros_like(gradient)
            parts = np.einsum("aqn,qn->an", self.inner_u, g_u) + np.einsum("aqn,qn->an", self.inner_x, g_z)
            self.scatter(total, parts)
            self.slope[k] -= np.where(self.free, total, 0.0)
        # Second derivatives of the time less lambda S at the places, less what is not positive.
        bend = by_z - 0.5 * tau / z
        uu, uz, zz = (2.0 * part * np.einsum("k,kqn->qn", lam, a) for a in (A * A, A * bend, bend * bend))
        rest = 0.75 * (1.0 - np.sum(lam)) + np.einsum(
            "k,kqn->qn", lam, 0.25 * tau * tau - 0.5 * tau * V * root
        )
        zz += np.maximum(rest, _CURVED) * part / (z * z)
        self.hessian = (
            np.einsum("mqn,qn->mn", self.inner_square, uu)
            + np.einsum("mqn,qn->mn", self.inner_cross, uz)
            + np.einsum("mqn,qn->mn", self.inner_pairs, zz)
        )
        gap, residual = super().lagrangian(x, gradient - lam @ self.slope)
        return gap + float(lam @ S), residual

    def factorise(self) -> None:
        """Factors of the Hessian."""
        super().factorise()
        self.columns = super().solve_unknowns(self.slope.T)
        self.block = np.diag(self.here_heat.S / self.weight_of_heat) + self.slope @ self.columns

    def solve_unknowns(self, right: Array) -> Array:
        """Solve for steps of the unknowns."""
        dx = super().solve_unknowns(right)
        dx -= self.columns @ np.linalg.solve(self.block, self.slope @ dx)
        self.heat_ratio = self.slope @ dx / self.here_heat.S
        self.dx = dx
        return dx

    def affine(self, gradient: Array) -> AffineStep:
        """The step to lambda = 0."""
        step = super().affine(gradient)
        here, ratio = self.here_heat, self.heat_ratio
        # What the limits lose by their curvature on the way.
        change_z = self.inner(self.dx)
        part = min(1.0, 0.5 / max(float(np.max(-change_z / here.z)), 0.5), 0.99 / max(-step.least, 0.99))
        x = here.x + part * self.dx
        self.bend = (self.heat_at(x, self.inner(x)).S - here.S) / part - ratio * here.S
        change = self.weight_of_heat * self.here_heat.S * ratio
        return AffineStep(
            min(step.least, float(np.min(ratio))),
            max(step.most, float(np.max(ratio))),
            step.once + float(np.sum(change)),
            step.twice + float(change @ ratio),
        )

    def direction(self, gradient: Array, mu: float, goal: float) -> Direction:
        """The step to lambda S = goal, less the part of second order of the step to 0 (Mehrotra)."""
        S, lam, ratio = self.here_heat.S, self.weight_of_heat, self.heat_ratio
        second = np.clip(-lam * (1.0 + ratio) * ratio * S, -mu, mu)
        second += np.clip(lam * self.bend, -10.0 * mu, 10.0 * mu)
        # Products that are far from each other hold up the step.
        push = (max(goal, _CENTRAL * float(np.max(lam * S))) - second) / S
        step = super().direction(gradient - push @ self.slope, mu, goal)
        self.heat_change = push - lam * (1.0 + self.heat_ratio)
        return step._replace(
            primal=min(step.primal, float(np.min(self.heat_ratio))),
            dual=min(step.dual, float(np.min(self.heat_change / lam))),
        )
