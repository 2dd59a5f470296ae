"""The fastest profile of speeds along a path: an interior-point method on banded matrices.

Unknowns x say what z(s) = s'^2 is between nodes (`nacelle.motion.profile_shapes`). At points limits are
affine in phi = (u, z, sqrt(z), 1), u = s'', or cones, and redundant actuators add internal forces nu:

    S = e . phi + n . nu - |F phi| > 0

With a limited jerk u may also stand for a combination of s'' and its derivative by s, which is linear in x,
too. The time is a convex function of the unknowns, and each point depends on three neighbours among them:

    T = sum over intervals of d_i sum over k of w_k z(theta_k)^(-1/2)

by Gauss's quadrature, next to a stop with the weight that z has there.

Primal and dual steps (S. Boyd, L. Vandenberghe, "Convex optimization", 2004, 11.7, with the predictor of
Mehrotra) solve (H + J^T (lambda / S) J) dx = ..., with a band of five diagonals, and keep S > 0:
every iterate is a motion within its limits. With friction that grows with sqrt(z) some limits are not convex;
curvature that is not positive is left out of H, and the result is a local optimum (`nacelle.motion.bound`
bounds what is left). lambda, s, is how much time a limit costs: dT = -sum of lambda dS.

Arrays have the points last: what is summed over limits is contiguous along points.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dpbtrf, dpbtrs

from nacelle.motion.kernels import Buffers, Kernels, native_kernels
from nacelle.motion.profile_shapes import FIRST, SECOND, Motion, Shapes
from nacelle.spatial.scalar import Array

# Part of the way to the nearest limit that a step goes, and the most iterations.
_STEP, _ITERATIONS = 0.99, 120
_TINY, _TINY_ROOT = 1e-300, 1e-100
# Gap and residual over the time of a profile from which others may start; how far its products lambda S may
# be from their mean.
_CENTRAL, _NEAR = 5e-4, 0.1
_NONE = np.zeros(0)


@dataclass(frozen=True)
class PointLimits:
    """Limits at points of intervals.

    Attributes:
        interval: of each point (P,).
        theta: part of the interval before it (P,), 0 to 1.
        moving: 1, or 0 for points that are taken at rest (P,): z is zero there.
        rows: e of linear limits (4, R, P).
        null: n of the internal forces in them (k, R, P); k = 0 without redundancy.
        cone_rows: e of cones (4, C, P).
        cones: F of cones (4, 3, C, P).
        mix: of s'' and ds''/ds (2, P): what u stands for, s'' itself but where a jerk is limited.
        owner: coordinate whose jerk is limited (P,); -1 for all other limits.
    """

    interval: Array
    theta: Array
    moving: Array
    rows: Array
    null: Array
    cone_rows: Array
    cones: Array
    mix: Array
    owner: Array

    def argument(self, motion: Motion) -> Array:
        """What u stands for (..., P)."""
        return np.asarray(self.mix[0] * motion.u + self.mix[1] * motion.rate)

    def select(self, at: Array) -> PointLimits:
        """The limits at some of the points."""
        return PointLimits(*(part[..., at] for part in vars(self).values()))

    def append(self, other: PointLimits) -> PointLimits:
        """Give the limits at these points, then at others."""
        pairs = zip(vars(self).values(), vars(other).values(), strict=True)
        return PointLimits(*(np.concatenate(pair, axis=-1) for pair in pairs))

    def values(self, u: Array, z: Array, nu: Array) -> Array:
        """All limits (R + C, P) at accelerations u and squared speeds z (P,), internal forces nu (k, P)."""
        z = self.moving * np.maximum(z, 0.0)
        S = _affine(self.rows, u, z, np.sqrt(z))
        for n, force in zip(self.null, nu, strict=True):
            S += n * force
        if not self.cones.shape[2]:
            return S
        root = np.sqrt(z)
        y = _affine(self.cones, u, z, root)
        return np.concatenate([S, _affine(self.cone_rows, u, z, root) - np.sqrt(np.sum(y * y, axis=0))])


def _affine(e: Array, u: Array, z: Array, root: Array) -> Array:
    """Give e . (u, z, sqrt(z), 1) with e (4, ..., P)."""
    S = e[0] * u
    S += e[1] * z
    S += e[2] * root
    S += e[3]
    return np.asarray(S)


class Slacks(NamedTuple):
    """Limits at a profile: values (R + C, P), derivatives by u and z, and parts of the cones' curvature."""

    S: Array
    S_u: Array
    S_z: Array
    root: Array
    cone: tuple[Array, Array, Array] | None


class Start(NamedTuple):
    """What the search for a profile starts from, within the limits.

    Attributes:
        z: squared speeds (N + 1,); nodes where they are zero stay at rest.
        b: bends (N,).
        nu: internal forces (k, P).
        gap: part of the time by which it may be from the optimum.
        multipliers: lambda of all limits (R + C, P), near those of the gap; NaN where it is unknown.
    """

    z: Array
    b: Array
    nu: Array
    gap: float
    multipliers: Array


class Profile(NamedTuple):
    """A profile of speeds.

    Attributes:
        z: squared speeds (N + 1,).
        b: bends of the intervals (N,).
        nu: internal forces at the points (k, P).
        multipliers: lambda of all limits (R + C, P), s.
        slacks: of all limits (R + C, P).
        time: s.
        gap: bound of the time that the discretised problem still leaves, s, where it is convex.
        iterations: number of steps.
        central: a profile on the way, from which a search with other points may start.
        heat: multipliers of the limits of rms forces (`nacelle.motion.heating`).
    """

    z: Array
    b: Array
    nu: Array
    multipliers: Array
    slacks: Array
    time: float
    gap: float
    iterations: int
    central: Start
    heat: Array = _NONE


def evaluate_slacks(limits: PointLimits, u: Array, z: Array, nu: Array) -> Slacks:
    """All limits and their derivatives at u and z (P,) with internal forces nu (k, P)."""
    z = limits.moving * np.maximum(z, _TINY)
    root = np.sqrt(z)
    rate = np.divide(0.5 * limits.moving, root, out=np.zeros_like(root), where=root > 0.0)
    e = limits.rows
    S = _affine(e, u, z, root)
    for n, force in zip(limits.null, nu, strict=True):
        S += n * force
    S_u, S_z = e[0], e[1] * limits.moving + e[2] * rate
    if not limits.cones.shape[2]:
        return Slacks(S, S_u, S_z, root, None)
    c, F = limits.cone_rows, limits.cones
    y = _affine(F, u, z, root)
    length = np.sqrt(np.sum(y * y, axis=0)) + _TINY
    direction = y / length
    F_u, F_z = F[0], F[1] * limits.moving + F[2] * rate
    along_u, along_z = np.sum(direction * F_u, axis=0), np.sum(direction * F_z, axis=0)
    curvature = (
        (np.sum(F_u * F_u, axis=0) - along_u**2) / length,
        (np.sum(F_u * F_z, axis=0) - along_u * along_z) / length,
        (np.sum(F_z * F_z, axis=0) - along_z**2) / length,
    )
    return Slacks(
        np.concatenate([S, _affine(c, u, z, root) - length]),
        np.concatenate([S_u, c[0] - along_u]),
        np.concatenate([S_z, c[1] * limits.moving + c[2] * rate - along_z]),
        root,
        curvature,
    )


def fastest_profile(limits: PointLimits, shapes: Shapes, start: Start, tolerance: float) -> Profile:
    """The fastest profile from one that keeps all limits.

    Args:
        limits: at points, in the order of their intervals, each of which has some; a multiple of
            `kernels.WIDTH` of them.
        shapes: of the profile.
        start: the profile.
        tolerance: gap and residual over the time at which the profile is found.
    """
    kernels = native_kernels() if not len(limits.null) else None
    if kernels is None:
        return Solver(limits, shapes).run(start, tolerance)
    return _NativeSolver(limits, shapes, kernels).run(start, tolerance)


class AffineStep(NamedTuple):
    """The step to lambda = 0: extremes of dS / S, sums of lambda dS and of lambda dS^2 / S."""

    least: float
    most: float
    once: float
    twice: float


class Direction(NamedTuple):
    """A step of unknowns, internal forces and lambda; least relative changes of S, lambda and z."""

    dx: Array
    dnu: Array
    primal: float
    dual: float
    speed: float
    dlam: Array


class Solver:
    """The method on arrays."""

    def __init__(self, limits: PointLimits, shapes: Shapes) -> None:
        self.limits, self.shapes, self.free = limits, shapes, shapes.free
        i = limits.interval
        self.first = shapes.stride * i
        # Derivatives of u and z at the points by the three unknowns of their interval.
        motion = shapes.locals(i, limits.theta)
        self.u_x = shapes.by_unknowns(limits.argument(motion), i)
        self.z_x = limits.moving * shapes.by_unknowns(motion.z, i)
        self.weight, self.inner_x, self.inner_pairs = shapes.quadrature()
        self.lam, self.least_goal = np.zeros(0), 0.0
        self.prepare()

    def prepare(self) -> None:
        """What these loops need besides."""
        limits = self.limits
        pairs_u, pairs_z = self.u_x[FIRST], self.z_x[FIRST]
        self.pairs = np.stack(
            [
                pairs_u * self.u_x[SECOND],
                pairs_u * self.z_x[SECOND] + pairs_z * self.u_x[SECOND],
                pairs_z * self.z_x[SECOND],
            ]
        )
        N = len(self.shapes.step)
        self.first_points = np.searchsorted(limits.interval, np.arange(N))
        # The first, second and third unknowns of all intervals.
        stride = self.shapes.stride
        self.slices = [slice(a, a + stride * (N - 1) + 1, stride) for a in range(3)]
        self.neighbours = self.first + np.arange(3)[:, None]
        k, _, P = limits.null.shape
        self.null = np.concatenate([limits.null, np.zeros((k, limits.cone_rows.shape[1], P))], axis=1)

    def run(self, start: Start, tolerance: float) -> Profile:
        """The profile of least time, from one that keeps all limits."""
        x, nu = self.shapes.unknowns(start.z, start.b), start.nu
        self.evaluate(x, nu)
        self.accept()
        if not np.all(self.S > 0.0):
            raise ValueError("the profile to start from is beyond its limits")
        size = self.size
        time, gradient = self.time(x)
        mu = start.gap * time / size
        self.begin(start, mu)
        residual, iterations = np.inf, 0
        central = start
        while iterations < _ITERATIONS:
            iterations += 1
            gap, residual = self.lagrangian(x, gradient)
            mu = gap / size
            if central is start and gap < _CENTRAL * time and residual < _CENTRAL * time:
                central = Start(*self.shapes.profile(x), nu, gap / time, self.lam.copy())
            if gap < tolerance * time and residual < tolerance * time:
                break
            self.factorise()
            affine = self.affine(gradient)
            reach, dual = _largest_step(affine.least), _largest_step(-1.0 - affine.most)
            # Sum of (lambda + dual dlambda) (S + reach dS), with dlambda = -lambda - lambda dS / S.
            after = (
                gap * (1.0 - dual) + (reach - dual - reach * dual) * affine.once - reach * dual * affine.twice
            )
            goal = mu * min(1.0, max(after / gap, 0.0)) ** 3
            goal = max(goal, self.least_goal)
            step = self.direction(gradient, mu, goal)
            dual, reach = _largest_step(step.dual), min(_largest_step(step.primal), _largest_step(step.speed))
            for _ in range(40):
                x_new, nu_new = x + reach * step.dx, nu + reach * step.dnu
                least = self.evaluate(x_new, nu_new)
                if least > 1e-3 * (1.0 - _STEP) and self.is_central(mu + reach * (goal - mu)):
                    break
                reach *= 0.7
            else:
                break
            self.accept()
            x, nu = x_new, nu_new
            self.advance(dual, step)
            time, gradient = self.time(x)
        gap = float(np.vdot(self.lam, self.S)) + residual
        if central is start:
            central = Start(*self.shapes.profile(x), nu, gap / time, self.lam.copy())
        return Profile(*self.shapes.profile(x), nu, self.lam, self.S, time, gap, iterations, central)

    @property
    def size(self) -> int:
        """Number of limits."""
        return int(self.S.size)

    def begin(self, start: Start, mu: float) -> None:
        """First multipliers, about mu over the limits."""
        # Products far from their mean hold up what follows.
        product = np.clip(start.multipliers * self.S, _NEAR * mu, mu / _NEAR)
        self.lam = np.where(np.isfinite(product), product, mu) / self.S

    def is_central(self, mu: float) -> bool:
        """Whether limits that are far from linear are near their central path at what was evaluated last."""
        del mu
        return True

    def advance(self, dual: float, step: Direction) -> None:
        """Move multipliers a part of a step."""
        self.lam += dual * step.dlam

    @property
    def S(self) -> Array:
        """The limits."""
        return self.point.S

    def evaluate(self, x: Array, nu: Array) -> float:
        """The limits at unknowns, and the least ratio to those accepted before."""
        near = x[self.neighbours]
        self.trial = evaluate_slacks(self.limits, _sum(self.u_x, near), _sum(self.z_x, near), nu)
        return float(np.min(self.trial.S / self.S)) if self.lam.size else np.inf

    def accept(self) -> None:
        """Take what was evaluated last."""
        self.point = self.trial

    def time(self, x: Array) -> tuple[float, Array]:
        """The time with its gradient; the Hessian of each interval is kept."""
        self.here = self.inner(x)
        value = self.weight / np.sqrt(self.here)
        slope = value / self.here
        gradient = np.zeros_like(x)
        self.scatter(gradient, -0.5 * np.einsum("aqn,qn->an", self.inner_x, slope))
        self.hessian = 0.75 * np.einsum("aqn,qn->an", self.inner_pairs, slope / self.here)
        return float(np.sum(value)), np.where(self.free, gradient, 0.0)

    def inner(self, x: Array) -> Array:
        """Squared speeds where time is summed (places, N)."""
        near = np.stack([x[part] for part in self.slices])
        return np.asarray(np.einsum("aqn,an->qn", self.inner_x, near))

    def scatter(self, total: Array, parts: Array) -> None:
        """Add what belongs to the three unknowns of each interval (3, N) to all of them."""
        for part, values in zip(self.slices, parts, strict=True):
            total[part] += values

    def gather(self, g_u: Array, g_z: Array) -> Array:
        """Derivatives by u and z of the points as derivatives by the unknowns."""
        result = np.zeros(len(self.free))
        parts = self.u_x * g_u + self.z_x * g_z
        self.scatter(result, np.add.reduceat(parts, self.first_points, axis=1))
        return np.where(self.free, result, 0.0)

    def lagrangian(self, x: Array, gradient: Array) -> tuple[float, float]:
        """Sum of lambda S, and the gradient of the time less that of lambda S, over the relative change of z.

        The curvature is kept.
        """
        point, lam = self.point, self.lam
        W = lam / point.S
        W_u, W_z = W * point.S_u, W * point.S_z
        curvature = np.stack([_sum(W_u, point.S_u), _sum(W_u, point.S_z), _sum(W_z, point.S_z)])
        # -S'' of limits that are concave in z.
        concave = _sum(lam[: self.limits.rows.shape[1]], np.maximum(self.limits.rows[2], 0.0))
        root = np.maximum(point.root, _TINY_ROOT)
        curvature[2] += self.limits.moving * 0.25 * concave / (root * root * root)
        self.add_cones(curvature)
        self.curvature = curvature
        pull = self.gather(_sum(lam, point.S_u), _sum(lam, point.S_z))
        near, slope = (np.stack([part[at] for at in self.slices]) for part in (x, gradient - pull))
        scale = np.stack([near[0], near[0] + near[2], near[2]])
        return float(np.vdot(lam, point.S)), float(np.max(np.abs(slope * scale)))

    def add_cones(self, curvature: Array) -> None:
        """Add the curvature of cones (3, P)."""
        if self.point.cone is not None:
            lam = self.lam[self.limits.rows.shape[1] :]
            for total, part in zip(curvature, self.point.cone, strict=True):
                total += _sum(lam, part)

    def factorise(self) -> None:
        """Factors of the Hessian."""
        point, curvature, k = self.point, self.curvature, len(self.null)
        self.internal = None
        if k:
            # Internal forces belong to one point alone: they are eliminated there.
            W = self.lam / point.S
            block = np.einsum("rp,jrp,krp->pjk", W, self.null, self.null)
            size = np.trace(block, axis1=1, axis2=2)[:, None, None]
            inverse = np.linalg.inv(block + 1e-13 * size * np.eye(k)).transpose(1, 2, 0)
            cross = np.einsum("arp,jrp->ajp", np.stack([W * point.S_u, W * point.S_z]), self.null)
            left = np.einsum("jkp,akp->ajp", inverse, cross)
            curvature = curvature - np.stack(
                [_sum(left[0], cross[0]), _sum(left[0], cross[1]), _sum(left[1], cross[1])]
            )
            self.internal = _Internal(inverse, cross)
        at_points = np.einsum("map,mp->ap", self.pairs, curvature)
        H = self.hessian + np.add.reduceat(at_points, self.first_points, axis=1)
        # Diagonals from the main one, as LAPACK stores the lower part of a banded matrix.
        band = np.zeros((3, len(self.free)))
        self.scatter(band[0], H[[0, 3, 5]])
        for away, first, values in ((1, 0, H[1]), (1, 1, H[4]), (2, 0, H[2])):
            band[away, self.slices[first]] += values
        fixed = ~self.free
        band[0, fixed], band[1:, fixed] = 1.0, 0.0
        for away in (1, 2):
            band[away, :-away][fixed[away:]] = 0.0
        self.factor, info = dpbtrf(band, lower=1)
        if info:
            # Rounding: a diagonal that dominates gives a shorter step in a direction of descent.
            across = np.abs(band[1:])
            for away in (1, 2):
                band[0] += across[away - 1]
                band[0, away:] += across[away - 1, :-away]
            self.factor, info = dpbtrf(band, lower=1)

    def solve(self, gradient: Array, push: Array | None) -> tuple[Array, Array, Array]:
        """Steps of unknowns and internal forces, and change of the limits, to lambda = push; None for 0."""
        point, internal = self.point, self.internal
        right = -gradient
        g_nu = np.zeros((len(self.null), len(point.root)))
        if push is not None:
            g_u, g_z = _sum(push, point.S_u), _sum(push, point.S_z)
            if internal is not None:
                g_nu = np.einsum("rp,jrp->jp", push, self.null)
                shift = np.einsum("jkp,kp->jp", internal.inverse, g_nu)
                g_u = g_u - _sum(internal.cross[0], shift)
                g_z = g_z - _sum(internal.cross[1], shift)
            right = right + self.gather(g_u, g_z)
        dx = self.solve_unknowns(right)
        near = dx[self.neighbours]
        du, dz = _sum(self.u_x, near), _sum(self.z_x, near)
        dS = point.S_u * du + point.S_z * dz
        if internal is None:
            return dx, g_nu, dS
        right_nu = g_nu - internal.cross[0] * du - internal.cross[1] * dz
        dnu = np.einsum("jkp,kp->jp", internal.inverse, right_nu)
        return dx, dnu, dS + np.einsum("jrp,jp->rp", self.null, dnu)

    def solve_unknowns(self, right: Array) -> Array:
        """Solve for steps of the unknowns."""
        return np.asarray(dpbtrs(self.factor, right, lower=1)[0])

    def affine(self, gradient: Array) -> AffineStep:
        """The step to lambda = 0."""
        self.ratio = self.solve(gradient, None)[2] / self.point.S
        change = self.lam * self.point.S * self.ratio
        return AffineStep(
            float(np.min(self.ratio, initial=np.inf)),
            float(np.max(self.ratio, initial=-np.inf)),
            float(np.sum(change)),
            float(np.vdot(change, self.ratio)),
        )

    def direction(self, gradient: Array, mu: float, goal: float) -> Direction:
        """The step to lambda S = goal, less the part of second order of the step to 0 (Mehrotra)."""
        S, lam = self.point.S, self.lam
        # Bounded: limits are not linear.
        second = np.clip(-lam * (1.0 + self.ratio) * self.ratio * S, -mu, mu)
        push = (goal - second) / S
        dx, dnu, dS = self.solve(gradient, push)
        ratio = dS / S
        dlam = push - lam * (1.0 + ratio)
        speed = np.min(self.inner(dx) / self.here)
        least, dual = (float(np.min(part, initial=np.inf)) for part in (ratio, dlam / lam))
        return Direction(dx, dnu, least, dual, float(speed), dlam)


class _NativeSolver(Solver):
    """The method in native loops, without internal forces."""

    def __init__(self, limits: PointLimits, shapes: Shapes, kernels: Kernels) -> None:
        self.kernels = kernels
        super().__init__(limits, shapes)

    def prepare(self) -> None:
        """Buffers of the loops."""
        limits, n = self.limits, len(self.free)
        R, P = limits.rows.shape[1:]
        self.has_cones = limits.cones.shape[2] > 0
        sizes = {"P": P, "M": R + limits.cones.shape[2], "R": R, "N": self.weight.shape[1], "n": n}
        sizes |= {"Q": len(self.weight), "stride": self.shapes.stride}
        free = np.zeros(n + 2)
        free[:n] = self.free
        arrays = {name: getattr(self, name) for name in ("first", "u_x", "z_x", "weight")}
        arrays |= {name: getattr(self, name) for name in ("inner_x", "inner_pairs")}
        arrays |= {"moving": limits.moving, "rows": limits.rows, "free": free}
        if not self.has_cones:
            arrays["S_u"] = limits.rows[0]
        self.buffers = Buffers(sizes, arrays)
        self.n, self.arrays = n, self.buffers.arrays
        self.arrays["S_before"][:] = 1.0

    def call(self, name: str, *numbers: float) -> Array:
        """Call a kernel, and give what it returns."""
        self.kernels(name, self.buffers.address, *numbers)
        return self.arrays["out"]

    @property
    def S(self) -> Array:
        """The limits."""
        return self.arrays["S_before"]

    def evaluate(self, x: Array, nu: Array) -> float:
        """The limits at unknowns, and the least ratio to those accepted before."""
        self.arrays["x"][:] = x
        least = float(self.call("evaluate")[0])
        if self.has_cones:
            point = evaluate_slacks(self.limits, self.arrays["du"], self.arrays["dz"], nu)
            for name in ("S", "S_u", "S_z"):
                self.arrays[name][:] = getattr(point, name)
            self.trial = point
            least = float(np.min(self.arrays["S"] / self.arrays["S_before"]))
        return least

    def accept(self) -> None:
        """Take what was evaluated last."""
        self.arrays["S_before"][:] = self.arrays["S"]
        if self.has_cones:
            self.point = self.trial

    def time(self, x: Array) -> tuple[float, Array]:
        """The time with its gradient; the Hessian of each interval is kept."""
        time = float(self.call("time")[0])
        return time, self.arrays["gradient"][: self.n]

    def lagrangian(self, x: Array, gradient: Array) -> tuple[float, float]:
        """Sum of lambda S, and gradient of the time less that of lambda S, over the relative change of z."""
        if self.lam is not self.arrays["lam"]:
            self.arrays["lam"][:] = self.lam
            self.lam = self.arrays["lam"]
        gap, residual = self.call("curvature")[:2].tolist()
        if self.has_cones:
            self.add_cones(self.arrays["curvature"])
        return gap, residual

    def factorise(self) -> None:
        """Factors of the Hessian."""
        if not self.call("factor", 0.0)[0] > 0.0:
            # Rounding: a diagonal that dominates gives a shorter step in a direction of descent.
            self.call("factor", 1.0)

    def affine(self, gradient: Array) -> AffineStep:
        """The step to lambda = 0."""
        return AffineStep(*self.call("affine").tolist())

    def direction(self, gradient: Array, mu: float, goal: float) -> Direction:
        """The step to lambda S = goal, less the part of second order of the step to 0 (Mehrotra)."""
        primal, dual, speed, _ = self.call("direction", mu, goal).tolist()
        none = np.zeros((0, len(self.first)))
        return Direction(self.arrays["right"][: self.n], none, primal, dual, speed, self.arrays["dlam"])


class _Internal(NamedTuple):
    """The inverse (k, k, P) of the block of internal forces, and what couples them to u and z (2, k, P)."""

    inverse: Array
    cross: Array


def _sum(a: Array, b: Array) -> Array:
    """Sums of products over the first dimension (P,)."""
    return np.asarray(np.einsum("rp,rp->p", a, b))


def _largest_step(least: float) -> float:
    """The longest step, at most 1, that leaves a part of positive values, by their least relative change."""
    return min(1.0, _STEP / -least) if least < 0.0 else 1.0
