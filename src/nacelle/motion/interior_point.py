"""The fastest profile of speeds along a path: an interior-point method on tridiagonal matrices.

Unknown are z_i = s'^2 at nodes s_i, zero where the motion rests, and a bend b_i of each interval. A part
theta of the way through an interval of length d

    z = (1 - theta) z_i + theta z_(i+1) + 4 theta (1 - theta) b_i
    u = s'' = z' / 2 = (z_(i+1) - z_i) / (2 d) + 2 (1 - 2 theta) b_i / d

so s'' is linear in s and may jump at nodes. At points limits are affine in phi = (u, z, sqrt(z), 1), or
cones, and redundant actuators add internal forces nu of the point:

    S = e . phi + n . nu - |F phi| > 0

The time is a convex function of z and b, and each point couples two nodes and one bend only, which is
eliminated:

    T = sum over intervals of d_i sum over k of w_k z(theta_k)^(-1/2)

by Gauss's quadrature, next to a stop with the weight theta^(-1/2) of a motion that starts there.

Primal and dual steps (S. Boyd, L. Vandenberghe, "Convex optimization", 2004, 11.7, with the predictor of
Mehrotra) solve tridiagonal systems (H + J^T (lambda / S) J) dz = ..., and keep S > 0: every iterate is a
motion within its limits. With friction that grows with sqrt(z) some limits are not convex; curvature that is
not positive is left out of H, and the result is a local optimum (`nacelle.motion.bound` bounds what is left).
lambda, s, is how much time a limit costs: dT = -sum of lambda dS.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dpttrf, dpttrs
from scipy.special import roots_jacobi, roots_legendre

from nacelle.spatial.scalar import Array

# Part of the way to the nearest limit that a step goes, and the most iterations.
_STEP, _ITERATIONS = 0.99, 120
# Gap and residual over the time at which the profile is found.
_TOLERANCE = 1e-7
_TINY = 1e-300
# Points of the quadrature of the time in an interval.
_GAUSS = 5


@dataclass(frozen=True)
class PointLimits:
    """Limits at points of intervals.

    Attributes:
        interval: of each point (P,).
        theta: part of the interval before it (P,), 0 to 1.
        moving: 1, or 0 for points that are taken at rest (P,): z is zero there.
        rows: e of linear limits (P, R, 4).
        null: n of the internal forces in them (P, R, k); k = 0 without redundancy.
        cone_rows: e of cones (P, C, 4).
        cones: F of cones (P, C, 3, 4).
    """

    interval: Array
    theta: Array
    moving: Array
    rows: Array
    null: Array
    cone_rows: Array
    cones: Array


class Slacks(NamedTuple):
    """Limits at a profile: values (P, R + C), derivatives by u and z, and parts of the cones' curvature."""

    S: Array
    S_u: Array
    S_z: Array
    root: Array
    cone: tuple[Array, Array, Array]


class Profile(NamedTuple):
    """A profile of speeds.

    Attributes:
        z: squared speeds (N + 1,).
        b: bends of the intervals (N,).
        nu: internal forces at the points (P, k).
        multipliers: lambda of all limits (P, R + C), s.
        slacks: of all limits (P, R + C).
        time: s.
        gap: bound of the time that the discretised problem still leaves, s, where it is convex.
        iterations: number of steps.
    """

    z: Array
    b: Array
    nu: Array
    multipliers: Array
    slacks: Array
    time: float
    gap: float
    iterations: int


def profile_at(step: Array, z: Array, b: Array, i: Array, theta: Array) -> tuple[Array, Array]:
    """The acceleration u and z at parts theta (P,) of intervals i (P,) of a profile."""
    u = (z[i + 1] - z[i] + 4.0 * (1.0 - 2.0 * theta) * b[i]) / (2.0 * step[i])
    return u, (1.0 - theta) * z[i] + theta * z[i + 1] + 4.0 * theta * (1.0 - theta) * b[i]


def evaluate_slacks(limits: PointLimits, step: Array, z: Array, b: Array, nu: Array) -> Slacks:
    """All limits and their derivatives at a profile z (N + 1,), b (N,) with internal forces nu (P, k)."""
    u, here = profile_at(step, z, b, limits.interval, limits.theta)
    here = limits.moving * np.maximum(here, _TINY)
    root = np.sqrt(here)
    phi = np.stack([u, here, root, np.ones_like(u)], axis=-1)
    rate = np.divide(0.5 * limits.moving, root, out=np.zeros_like(root), where=root > 0.0)[:, None]
    e = limits.rows
    S = np.matmul(e, phi[:, :, None])[:, :, 0]
    if limits.null.shape[2]:
        S = S + np.matmul(limits.null, nu[:, :, None])[:, :, 0]
    S_u, S_z = e[:, :, 0], e[:, :, 1] * limits.moving[:, None] + e[:, :, 2] * rate
    cone = (np.zeros((len(u), 0)),) * 3
    if limits.cones.shape[1]:
        y = np.matmul(limits.cones, phi[:, None, :, None])[..., 0]
        length = np.sqrt(np.sum(y * y, axis=-1)) + _TINY
        direction = y / length[..., None]
        F_u = limits.cones[..., 0]
        F_z = limits.cones[..., 1] * limits.moving[:, None, None] + limits.cones[..., 2] * rate[..., None]
        along_u, along_z = np.sum(direction * F_u, axis=-1), np.sum(direction * F_z, axis=-1)
        c = limits.cone_rows
        value = np.matmul(c, phi[:, :, None])[:, :, 0] - length
        S = np.concatenate([S, value], axis=1)
        S_u = np.concatenate([S_u, c[:, :, 0] - along_u], axis=1)
        c_z = c[:, :, 1] * limits.moving[:, None] + c[:, :, 2] * rate
        S_z = np.concatenate([S_z, c_z - along_z], axis=1)
        cone = (
            (np.sum(F_u * F_u, axis=-1) - along_u**2) / length,
            (np.sum(F_u * F_z, axis=-1) - along_u * along_z) / length,
            (np.sum(F_z * F_z, axis=-1) - along_z**2) / length,
        )
    return Slacks(S, S_u, S_z, root, cone)


def fastest_profile(limits: PointLimits, step: Array, z: Array, b: Array, nu: Array) -> Profile:
    """The fastest profile from one that keeps all limits.

    Args:
        limits: at points.
        step: lengths of the intervals (N,).
        z: squared speeds (N + 1,) within the limits; nodes where they are zero stay at rest.
        b: bends (N,) that go with them.
        nu: internal forces (P, k) that go with them.
    """
    solver = _Solver(limits, step, z > 0.0)
    return solver.run(z, b, nu)


class _Solver:
    def __init__(self, limits: PointLimits, step: Array, free: Array) -> None:
        self.limits, self.step, self.free = limits, step, free
        i, theta, moving = limits.interval, limits.theta, limits.moving
        # Derivatives of u and z at the points: by the node ahead, for u less by the one behind, and by b.
        self.c, self.u_b = 0.5 / step[i], 2.0 * (1.0 - 2.0 * theta) / step[i]
        self.z_0, self.z_1 = moving * (1.0 - theta), moving * theta
        self.z_b = 4.0 * moving * theta * (1.0 - theta)
        self.quadrature = _quadrature(free)
        self.k = limits.null.shape[2]
        cones = limits.cone_rows.shape[1]
        self.null = np.concatenate([limits.null, np.zeros((len(theta), cones, self.k))], axis=1)

    def run(self, z: Array, b: Array, nu: Array) -> Profile:
        point = evaluate_slacks(self.limits, self.step, z, b, nu)
        if not np.all(point.S > 0.0):
            raise ValueError("the profile to start from is beyond its limits")
        objective = self.time(z, b)
        lam = objective.time / point.S.size / point.S
        residual, iterations = np.inf, 0
        while iterations < _ITERATIONS:
            iterations += 1
            gap = float(np.sum(lam * point.S))
            mu = gap / lam.size
            objective = self.time(z, b)
            time = objective.time
            pull, pull_b = self.gather(np.sum(lam * point.S_u, 1), np.sum(lam * point.S_z, 1))
            residual = float(
                max(
                    np.max(np.abs((objective.gradient - pull) * z), initial=0.0),
                    np.max(np.abs(objective.gradient_b - pull_b) * (z[1:] + z[:-1]), initial=0.0),
                )
            )
            if gap < _TOLERANCE * time and residual < _TOLERANCE * time:
                break
            newton = self.factorise(point, lam, objective)
            *_, dS = newton.solve(np.zeros_like(lam))
            dlam = -lam - lam / point.S * dS
            reach, dual = _largest_step(point.S, dS), _largest_step(lam, dlam)
            after = float(np.sum((lam + dual * dlam) * (point.S + reach * dS)))
            target = mu * min(1.0, max(after / gap, 0.0)) ** 3
            # The correction of Mehrotra, bounded: limits are not linear.
            second = np.clip(dlam * dS, -mu, mu)
            dz, db, dnu, dS = newton.solve(target - second)
            dlam = (target - second) / point.S - lam - lam / point.S * dS
            reach, dual = _largest_step(point.S, dS), _largest_step(lam, dlam)
            reach = min(reach, _largest_step(self.samples(z, b), self.samples(dz, db)))
            new = None
            for _ in range(40):
                z_new, b_new, nu_new = z + reach * dz, b + reach * db, nu + reach * dnu
                new = evaluate_slacks(self.limits, self.step, z_new, b_new, nu_new)
                if np.all(new.S > 1e-3 * (1.0 - _STEP) * point.S):
                    break
                reach, new = 0.7 * reach, None
            if new is None:
                break
            z, b, nu, point, lam = z_new, b_new, nu_new, new, lam + dual * dlam
        gap = float(np.sum(lam * point.S)) + residual
        return Profile(z, b, nu, lam, point.S, self.time(z, b).time, gap, iterations)

    def samples(self, z: Array, b: Array) -> Array:
        """Squared speeds that stay positive (M,): at the nodes that move, and where the time is computed."""
        return np.concatenate([z[self.free], self.inner(z, b).ravel()])

    def inner(self, z: Array, b: Array) -> Array:
        theta = self.quadrature[0]
        return np.asarray(
            (1.0 - theta) * z[:-1, None] + theta * z[1:, None] + 4.0 * theta * (1.0 - theta) * b[:, None]
        )

    def time(self, z: Array, b: Array) -> _Objective:
        """The time with its gradient and Hessian."""
        theta, weight = self.quadrature
        here = self.inner(z, b)
        value = self.step[:, None] * weight / np.sqrt(here)
        slope, bend = -0.5 * value / here, 0.75 * value / here**2
        first, last, middle = 1.0 - theta, theta, 4.0 * theta * (1.0 - theta)
        gradient, diagonal = np.zeros_like(z), np.zeros_like(z)
        gradient[:-1] += np.sum(slope * first, 1)
        gradient[1:] += np.sum(slope * last, 1)
        diagonal[:-1] += np.sum(bend * first**2, 1)
        diagonal[1:] += np.sum(bend * last**2, 1)
        return _Objective(
            float(np.sum(value)),
            np.where(self.free, gradient, 0.0),
            np.sum(slope * middle, 1),
            (diagonal, np.sum(bend * first * last, 1)),
            (np.sum(bend * middle * first, 1), np.sum(bend * middle * last, 1), np.sum(bend * middle**2, 1)),
        )

    def gather(self, g_u: Array, g_z: Array) -> tuple[Array, Array]:
        """Derivatives by u and z of the points as derivatives by the nodes (N + 1,) and the bends (N,)."""
        N, i = len(self.step), self.limits.interval
        result = np.zeros(N + 1)
        result[:-1] += np.bincount(i, self.z_0 * g_z - self.c * g_u, N)
        result[1:] += np.bincount(i, self.z_1 * g_z + self.c * g_u, N)
        return np.where(self.free, result, 0.0), np.bincount(i, self.z_b * g_z + self.u_b * g_u, N)

    def factorise(self, point: Slacks, lam: Array, objective: _Objective) -> _Newton:
        """The Newton step at a point: the Hessian, tridiagonal without the bends, and its factors."""
        W = lam / point.S
        W_u, W_z = W * point.S_u, W * point.S_z
        uu, uz, zz = np.sum(W_u * point.S_u, 1), np.sum(W_u * point.S_z, 1), np.sum(W_z * point.S_z, 1)
        R = self.limits.rows.shape[1]
        # -S'' of limits that are concave in z.
        concave = np.sum(lam[:, :R] * np.maximum(self.limits.rows[:, :, 2], 0.0), axis=1)
        root3 = point.root**3
        zz = zz + np.divide(0.25 * concave, root3, out=np.zeros_like(root3), where=root3 > 0.0)
        if point.cone[0].shape[1]:
            c_uu, c_uz, c_zz = (np.sum(lam[:, R:] * part, axis=1) for part in point.cone)
            uu, uz, zz = uu + c_uu, uz + c_uz, zz + c_zz
        inverse, cross_u, cross_z = (np.zeros((0,)),) * 3
        if self.k:
            # Internal forces belong to one point alone: they are eliminated there.
            n = self.null
            block = np.einsum("pr,prj,prk->pjk", W, n, n)
            scale = np.trace(block, axis1=1, axis2=2)[:, None, None]
            inverse = np.linalg.inv(block + 1e-13 * scale * np.eye(self.k))
            cross_u, cross_z = np.einsum("pr,prj->pj", W_u, n), np.einsum("pr,prj->pj", W_z, n)
            left_u, left_z = (np.einsum("pjk,pk->pj", inverse, part) for part in (cross_u, cross_z))
            uu = uu - np.sum(left_u * cross_u, 1)
            uz = uz - np.sum(left_u * cross_z, 1)
            zz = zz - np.sum(left_z * cross_z, 1)
        N, i = len(self.step), self.limits.interval

        def pair(u_1: Array, z_1: Array, u_2: Array, z_2: Array) -> Array:
            """Second derivatives of the points by two unknowns, summed over intervals."""
            return np.bincount(i, u_1 * (uu * u_2 + uz * z_2) + z_1 * (uz * u_2 + zz * z_2), N)

        ahead, behind, bent = (self.c, self.z_1), (-self.c, self.z_0), (self.u_b, self.z_b)
        H_b0, H_b1, H_bb = objective.bends
        H_b0, H_b1 = H_b0 + pair(*bent, *behind), H_b1 + pair(*bent, *ahead)
        H_bb = H_bb + pair(*bent, *bent)
        diagonal, across = objective.nodes
        d = diagonal.copy()
        d[:-1] += pair(*behind, *behind) - H_b0 * H_b0 / H_bb
        d[1:] += pair(*ahead, *ahead) - H_b1 * H_b1 / H_bb
        e = across + pair(*behind, *ahead) - H_b0 * H_b1 / H_bb
        both = self.free[1:] & self.free[:-1]
        d, e = np.where(self.free, d, 1.0), np.where(both, e, 0.0)
        factor_d, factor_e, info = dpttrf(d, e)
        if info:
            # Rounding: a diagonal that dominates gives a shorter step in a direction of descent.
            d[:-1] += np.abs(e)
            d[1:] += np.abs(e)
            factor_d, factor_e, info = dpttrf(d, e)
        return _Newton(
            self, point, objective, (factor_d, factor_e), (H_b0, H_b1, H_bb), (inverse, cross_u, cross_z)
        )


class _Objective(NamedTuple):
    """The time, its gradient by nodes and bends, and its Hessian."""

    time: float
    gradient: Array
    gradient_b: Array
    nodes: tuple[Array, Array]
    bends: tuple[Array, Array, Array]


class _Newton(NamedTuple):
    """Factors of a Newton step."""

    solver: _Solver
    point: Slacks
    objective: _Objective
    factors: tuple[Array, Array]
    bends: tuple[Array, Array, Array]
    internal: tuple[Array, Array, Array]

    def solve(self, target: Array) -> tuple[Array, Array, Array, Array]:
        """Steps of z, b and nu, and how the limits change, to lambda S = target."""
        solver, point = self.solver, self.point
        push = target / point.S
        g_u, g_z = np.sum(push * point.S_u, 1), np.sum(push * point.S_z, 1)
        inverse, cross_u, cross_z = self.internal
        if solver.k:
            g_nu = np.einsum("pr,prj->pj", push, solver.null)
            shift = np.einsum("pjk,pk->pj", inverse, g_nu)
            g_u = g_u - np.sum(cross_u * shift, 1)
            g_z = g_z - np.sum(cross_z * shift, 1)
        right, right_b = solver.gather(g_u, g_z)
        right, right_b = right - self.objective.gradient, right_b - self.objective.gradient_b
        H_b0, H_b1, H_bb = self.bends
        right[:-1] -= H_b0 * right_b / H_bb
        right[1:] -= H_b1 * right_b / H_bb
        dz = dpttrs(*self.factors, np.where(solver.free, right, 0.0))[0]
        db = (right_b - H_b0 * dz[:-1] - H_b1 * dz[1:]) / H_bb
        i = solver.limits.interval
        du = solver.c * (dz[i + 1] - dz[i]) + solver.u_b * db[i]
        dz_p = solver.z_0 * dz[i] + solver.z_1 * dz[i + 1] + solver.z_b * db[i]
        dS = point.S_u * du[:, None] + point.S_z * dz_p[:, None]
        if not solver.k:
            return dz, db, np.zeros((len(du), 0)), dS
        right_nu = g_nu - cross_u * du[:, None] - cross_z * dz_p[:, None]
        dnu = np.einsum("pjk,pk->pj", inverse, right_nu)
        return dz, db, dnu, dS + np.einsum("prj,pj->pr", solver.null, dnu)


def _quadrature(free: Array) -> tuple[Array, Array]:
    """Nodes theta and weights (N, 5) of the time in each interval; `free` says at which nodes it moves."""
    x, w = roots_legendre(_GAUSS)
    theta = np.tile(0.5 * (1.0 + x), (len(free) - 1, 1))
    weight = np.tile(0.5 * w, (len(free) - 1, 1))
    # Next to a stop 1 / sqrt(theta) is in the weight.
    y, v = roots_jacobi(_GAUSS, 0.0, -0.5)
    start = 0.5 * (1.0 + y)
    v = v * np.sqrt(0.5) * np.sqrt(start)
    theta[~free[:-1]], weight[~free[:-1]] = start, v
    theta[~free[1:]], weight[~free[1:]] = 1.0 - start, v
    return theta, weight


def _largest_step(value: Array, change: Array) -> float:
    """The longest step, at most 1, that leaves a part of positive values."""
    worst = np.max(-change / value, initial=0.0)
    return float(min(1.0, _STEP / worst)) if worst > 0.0 else 1.0
