"""Second derivatives of ties: zero for every motion that a joint allows, and only then.

Two bodies move with given joint coordinates q(t), quadratic in time, the first one freely: the accelerations
of both are differences of their poses.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from nacelle.kinematics.general.tie_motion import second_derivatives, weighed
from nacelle.kinematics.general.tie_rows import Axes, basis, closure_rows, locked_axes
from nacelle.kinematics.general.ties import Tie, TieRow
from nacelle.model.joint import JointKind
from support.compare import assert_same
from support.library import library_robot

Array = np.ndarray
H = 1e-4
KINDS = {
    "revolute": lambda q: (np.zeros(3), Rotation.from_rotvec([0.0, 0.0, q[0]])),
    "universal": lambda q: (np.zeros(3), Rotation.from_euler("XY", q[:2])),
    "spherical": lambda q: (np.zeros(3), Rotation.from_rotvec(q)),
    "prismatic": lambda q: (np.array([0.0, 0.0, q[0]]), Rotation.identity()),
    "cylindrical": lambda q: (np.array([0.0, 0.0, q[0]]), Rotation.from_rotvec([0.0, 0.0, q[1]])),
    "planar-spherical": lambda q: (np.array([q[0], q[1], 0.0]), Rotation.from_rotvec(q)),
}


def paths(kind: str, seed: int) -> tuple[Callable[[float], tuple[Array, Array]], ...]:
    """Pose (p, R) of both bodies over time; the joint's frames are those of the bodies."""
    rng = np.random.default_rng(seed)
    q, q_dot, q_ddot, p_dot, p_ddot, w, w_dot = rng.normal(size=(7, 3))
    start = Rotation.random(rng=rng)

    def first(t: float) -> tuple[Array, Array]:
        turn = Rotation.from_rotvec(w * t + 0.5 * w_dot * t * t)
        return p_dot * t + 0.5 * p_ddot * t * t, (turn * start).as_matrix()

    def second(t: float) -> tuple[Array, Array]:
        p, R = first(t)
        shift, turn = KINDS[kind](q + q_dot * t + 0.5 * q_ddot * t * t)
        return p + R @ shift, R @ turn.as_matrix()

    return first, second


def spin(path: Callable[[float], tuple[Array, Array]], t: float) -> Array:
    """Angular velocity (3,)."""
    W = (path(t + H)[1] - path(t - H)[1]) / (2.0 * H) @ path(t)[1].T
    return np.array([W[2, 1] - W[1, 2], W[0, 2] - W[2, 0], W[1, 0] - W[0, 1]]) / 2.0


@pytest.mark.parametrize("leg_is_first", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_motions_that_a_joint_allows(kind: str, leg_is_first: bool) -> None:
    first, second = paths(kind, 5)
    near, far = (first, second) if leg_is_first else (second, first)
    spins = [(spin(path, 0.0), (spin(path, H) - spin(path, -H)) / (2.0 * H)) for path in (near, far)]
    joint = replace(library_robot("fivebar").joints[0], kind=JointKind(kind))
    _, locked, _ = locked_axes(joint)
    R_near, R_far = near(0.0)[1], far(0.0)[1]
    rows, arms = closure_rows(joint, {}, Axes(R_near, R_far, leg_is_first), basis(first(0.0)[1], locked))
    tie = Tie(0, rows, joint=0, first=leg_is_first, arms=arms)
    # The material point of the side that carries the plane or line, under the other side's point.
    there = second(0.0)[0]
    points = []
    for path in (near, far):
        p, R = path(0.0)
        local = R.T @ (there - p)
        at = [path(s * H)[0] + path(s * H)[1] @ local for s in (-1.0, 0.0, 1.0)]
        points.append(((at[2] - at[0]) / (2.0 * H), (at[2] - 2.0 * at[1] + at[0]) / H**2))
    gap, slip = points[1][1] - points[0][1], points[1][0] - points[0][0]
    found = np.array(second_derivatives(tie, gap, *spins, lambda: slip), dtype=float)
    assert len(found) == len(joint.locks)
    np.testing.assert_allclose(found, 0.0, atol=2e-5)
    # Another angular acceleration or another acceleration of the point is not allowed.
    wrong = [(w, w_dot + k) for k, (w, w_dot) in enumerate(spins)]
    other = np.array(second_derivatives(tie, gap + 1.0, *wrong, lambda: slip), dtype=float)
    assert np.all(np.abs(other) > 1e-3)


def test_multipliers_weigh_directions() -> None:
    e = np.eye(3)
    tie = Tie(
        0,
        (TieRow({}, "point", force=e[0]), TieRow({}, "angular", moment=e[1]), TieRow({}, "rod", force=e[2])),
    )
    force, moment = weighed(tie, [2.0, 3.0, None])
    assert_same(force, 2.0 * e[0], 0.0)
    assert_same(moment, 3.0 * e[1], 0.0)
