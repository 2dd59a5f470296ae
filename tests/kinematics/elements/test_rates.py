"""Rates with derivatives: products are differentiated as finite differences say, and small systems solved."""

from __future__ import annotations

import numpy as np

from nacelle.kinematics.elements.rates import (
    Rate,
    Rigid,
    cross_and_rate,
    dotted,
    resting,
    solved_rates,
    stacked,
    times,
)
from support.compare import assert_same

H = 1e-5


def test_products_have_their_derivatives() -> None:
    """w(t) and r(t) are polynomials: .now is the value at 0, .next the slope."""
    rng = np.random.default_rng(0)
    W, R = rng.normal(size=(2, 2, 3))
    w = Rate(np.eye(3), W[0], W[1])

    def at(t: float) -> tuple[np.ndarray, np.ndarray]:
        return W[0] + W[1] * t, R[0] + R[1] * t

    for made, value in (
        (cross_and_rate(w, R[0], R[1]), lambda t: np.cross(*at(t))),
        (dotted(w, R[0], R[1]), lambda t: at(t)[0] @ at(t)[1]),
        (times(w[1], R[0], R[1]), lambda t: at(t)[0][1] * at(t)[1]),
    ):
        assert_same(made.now, value(0.0), 1e-14)
        assert_same(made.next, (value(H) - value(-H)) / (2 * H), 1e-8)
        assert_same(made.M @ W[0], made.now, 1e-13)


def test_points_of_a_rigid_body_keep_their_distance() -> None:
    rng = np.random.default_rng(1)
    p, v, dv, w, dw, a, b = rng.normal(size=(7, 3))
    body = Rigid(p, Rate(np.zeros((3, 1)), v, dv), Rate(np.zeros((3, 1)), w, dw))
    one, two = body.at(a), body.at(b)
    gap, rate, second = b - a, two.now - one.now, two.next - one.next
    assert abs(gap @ rate) < 1e-12
    assert abs(gap @ second + rate @ rate) < 1e-11
    assert not np.any(resting(2).at(a).now)


def test_solved_meets_rows_that_move() -> None:
    """n(t) . u = s(t) . g with moving n and s: u and u' follow, and a row too many is left as zero."""
    rng = np.random.default_rng(2)
    N, S = rng.normal(size=(2, 2, 3, 3))
    g = Rate(np.eye(3), *rng.normal(size=(2, 3)))

    def rows(u: Rate, given: Rate) -> list[Rate]:
        made = [dotted(u, N[0][k], N[1][k]) - dotted(given, S[0][k], S[1][k]) for k in range(3)]
        return [*made, made[0] + made[2]]

    u, left = solved_rates(rows, 3, g)
    assert_same(N[0] @ u.now, S[0] @ g.now, 1e-11)
    assert_same(N[0] @ u.next + N[1] @ u.now, S[0] @ g.next + S[1] @ g.now, 1e-10)
    assert_same(u.M @ g.now, u.now, 1e-11)
    assert np.max(np.abs(left.M)) < 1e-12
    assert np.max(np.abs(left.next)) < 1e-11
    assert stacked([u, u[0]]).M.shape == (4, 3)
