"""[KI2007]: the Space robot's leg, its direct model, and the sliding contact of the C5 joint."""

from __future__ import annotations

import mpmath
import numpy as np

import nacelle
from nacelle.spatial.rotation import skew
from support.errata import Evidence, relative_difference


def _leg_jacobian() -> Evidence:
    """(35) from the axes of Table 1, and the inverse that (36) prints."""
    q1, q2, L = 0.3, 1.2, 0.8
    C1, S1, C2, S2 = np.cos(q1), np.sin(q1), np.cos(q2), np.sin(q2)
    a1 = np.array([0.0, 1.0, 0.0])
    a2 = np.array([S1, 0.0, C1])
    a3 = np.array([C1 * S2, -C2, -S1 * S2])
    J = np.column_stack([np.cross(a1, L * a3), np.cross(a2, L * a3), a3])
    below = [[C1 * C2 / L, S2 / L, -C2 * S1 / L], a3]
    printed = np.array([[-S1 / L * S2, 0.0, -C1 / L * S2], *below])
    corrected = np.array([[-S1 / (L * S2), 0.0, -C1 / (L * S2)], *below])
    return Evidence(
        "[KI2007] (36)",
        "J⁻¹ J against 1",
        relative_difference(printed @ J, np.eye(3)),
        relative_difference(corrected @ J, np.eye(3)),
    )


def _direct_model() -> Evidence:
    """Acceleration of the Space robot from its forces, A_robot and h_robot by nacelle."""
    robot = nacelle.load("space")
    rng = np.random.default_rng(1)
    x = nacelle.reference_pose(robot)
    v, a = rng.normal(size=(2, 6))
    force = nacelle.inverse_dynamics(robot, x, v, a).tau
    M, h = nacelle.mass_matrix(robot, x), nacelle.bias_forces(robot, x, v)
    J = nacelle.jacobian(robot, x)
    return Evidence(
        "[KI2007] † (28), (63)",
        "acceleration of the Space robot",
        relative_difference(np.linalg.solve(M, J.direct.T @ force - h), a),
        relative_difference(np.linalg.solve(M, J.inverse.T @ force - h), a),
    )


def _points() -> list[Evidence]:
    """A leg's inertia at its end, and the acceleration of a point of the platform."""
    rng = np.random.default_rng(2)
    r, v, w, dv, dw, rates = rng.normal(size=(6, 3))
    J, root = rng.normal(size=(2, 3, 3))
    A = root @ root.T
    K = np.linalg.inv(J)
    end = J @ rates
    point = dv + np.cross(dw, r) + np.cross(w, np.cross(w, r))
    turning = np.cross(w, np.cross(w, r))
    twist = np.concatenate([v, w])
    J_v = np.hstack([np.eye(3), -skew(r)])
    J_v_dot = np.hstack([np.zeros((3, 3)), -skew(np.cross(w, r))])
    return [
        Evidence(
            "[KI2007] † A_Xi",
            "kinetic energy of a leg",
            relative_difference(end @ (J.T @ A @ K) @ end, rates @ A @ rates),
            relative_difference(end @ (K.T @ A @ K) @ end, rates @ A @ rates),
        ),
        Evidence(
            "[KI2007] (49)",
            "acceleration of a point",
            relative_difference(dv + skew(r) @ dw + turning, point),
            relative_difference(dv - skew(r) @ dw + turning, point),
        ),
        Evidence(
            "[KI2007] (50)",
            "ω × (ω × r)",
            relative_difference(J_v @ twist, turning),
            relative_difference(J_v_dot @ twist, turning),
        ),
    ]


def _c5() -> Evidence:
    """Acceleration of a slider of the C5: its position on the moving face, differentiated with 30 digits."""
    rng = np.random.default_rng(3)
    v, w, dv, dw = rng.normal(size=(4, 3))
    p, B, a = np.array([0.02, -0.03, 0.01]), np.array([-0.4, 0.05, 0.1]), np.array([1.0, 0.0, 0.0])

    def rotation(t: mpmath.mpf) -> mpmath.matrix:
        phi = np.array([w[k] * t + dw[k] * t * t / 2 for k in range(3)], dtype=object)
        return mpmath.expm(mpmath.matrix(skew(phi).tolist())) * tilt

    def slider(t: mpmath.mpf) -> mpmath.mpf:
        """q from r . (B + q a - p) = 0, the plane of the face through the platform's origin."""
        R = rotation(t)
        gap = [p[k] + v[k] * t + dv[k] * t * t / 2 - B[k] for k in range(3)]
        return sum(R[k, 0] * gap[k] for k in range(3)) / R[0, 0]

    with mpmath.workdps(30):
        tilt = mpmath.expm(mpmath.matrix(skew(np.array([0.1, -0.2, 0.15])).tolist()))
        q, rate, truth = (float(mpmath.diff(slider, 0, k)) for k in range(3))
        r = np.array([float(tilt[k, 0]) for k in range(3)])
    arm = B + q * a - p
    sliding = a * rate - v - np.cross(w, arm)
    printed = (r @ (dv + np.cross(dw, arm) - np.cross(w, v)) - np.cross(w, r) @ a * rate) / (r @ a)
    whole = dv + np.cross(dw, arm) + np.cross(w, np.cross(w, arm)) + 2 * np.cross(w, sliding)
    return Evidence(
        "[KI2007] (64), (65), (67)",
        "acceleration of a C5 slider",
        relative_difference(printed, truth),
        relative_difference(r @ whole / (r @ a), truth),
    )


def evidence() -> list[Evidence]:
    """Kinematics differentiated, and nacelle's models, which other engines confirm, are the truth."""
    return [_leg_jacobian(), _direct_model(), *_points(), _c5()]
