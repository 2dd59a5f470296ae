"""Turning of a body on a universal joint, in its own axes, and what products of inertia ask for.

With e_1 = a x r / rho, e_3 = r / l, the angular velocity is

    w_1 = (y r.v / l^2 - a.v) / rho      w_2 = α' rho / l      w_3 = α' y / l

(y = a.r, α' = (a x r).v / rho^2), and the moments about a and e_1 of a body with the inertia I about A are

    M = I w' + w x I w,   M_a = (rho M_2 + y M_3) / l,   M_1.
"""

from __future__ import annotations

from dataclasses import dataclass

from nacelle.spatial.scalar import Array, Scalar, cross, divide, pack, sqrt


@dataclass(frozen=True)
class Turning:
    """Angular velocity and acceleration in e_1, e_2, e_3, and rho, 1 / rho, rho / l, y / l."""

    w: Array
    dw: Array
    irho: Scalar
    up: Scalar
    along: Scalar

    @classmethod
    def of_strut(
        cls,
        y: Scalar,
        rho2: Scalar,
        l: Scalar,
        il: Scalar,
        rv: Scalar,
        av: Scalar,
        n: Scalar,
        h: Scalar,
        k: Scalar,
        aa: Scalar,
        ra: Scalar,
        vv: Scalar,
    ) -> Turning:
        """From the scalar products of r, v, a with each other and with the first axis."""
        rho = sqrt(rho2)
        irho = divide(1.0, rho)
        sigma = irho * irho
        w2 = il * il
        rate = h * sigma
        accel = (k - 2.0 * n * rate) * sigma
        drho = n * irho
        m = rv * w2
        dm = (ra + vv) * w2 - 2.0 * m * m
        up, along = rho * il, y * il
        # l'/l = m: derivatives of rho / l and y / l.
        dup, dalong = drho * il - up * m, av * il - along * m
        w1 = (y * m - av) * irho
        dw1 = (av * m + y * dm - aa) * irho - w1 * (drho * irho)
        w = pack([w1, rate * up, rate * along])
        dw = pack([dw1, accel * up + rate * dup, accel * along + rate * dalong])
        return cls(w, dw, irho, up, along)


def residual_moments(products: Array, turning: Turning) -> tuple[Scalar, Scalar]:
    """Moments (M_a, M_1) of products of inertia (I_12, I_13, I_23), and of nothing else."""
    p12, p13, p23 = products
    w, dw = turning.w, turning.dw

    def times(u: Array) -> Array:
        return pack([p12 * u[1] + p13 * u[2], p12 * u[0] + p23 * u[2], p13 * u[0] + p23 * u[1]])

    M = times(dw) + cross(w, times(w))
    return turning.up * M[1] + turning.along * M[2], M[0]
