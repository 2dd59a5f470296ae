"""[CB1997]: one body, one arm of the DELTA."""

from __future__ import annotations

import numpy as np

from nacelle.spatial.rotation import skew
from support.errata import Evidence, relative_difference


def tilde(w: np.ndarray, second_row: str) -> np.ndarray:
    """The matrix of (31): tilde(w) I_p = I w with I_p = [xx, xy, xz, yy, yz, zz]."""
    x, y, z = w
    rows = {"printed": [0, x, y, z, 0, 0], "corrected": [0, x, 0, y, z, 0]}
    return np.array([[x, y, z, 0, 0, 0], rows[second_row], [0, 0, x, 0, y, z]])


def evidence() -> list[Evidence]:
    """A random body in random motion; Newton and Euler about its centre of mass are the truth."""
    rng = np.random.default_rng(0)
    m = 2.5
    r, w, dw, acceleration = rng.normal(size=(4, 3))
    root = rng.normal(size=(3, 3))
    I_C = root @ root.T
    I_A = I_C + m * (r @ r * np.eye(3) - np.outer(r, r))
    I_p = I_A[np.triu_indices(3)]
    at_centre = acceleration + np.cross(dw, r) + np.cross(w, np.cross(w, r))
    force = m * at_centre
    moment = np.cross(r, force) + I_C @ dw + np.cross(w, I_C @ w)
    W, W_dot = skew(w), skew(dw)
    inertial = [
        W @ tilde(w, "corrected") + tilde(rate, "corrected") for rate in (w, dw)
    ]  # (30) without its dot, and with it
    rest = m * np.cross(r, acceleration)

    q, rate, g, r_x, r_z = 0.7, 1.3, 9.81, 0.14, 0.03
    turned = np.array([[np.cos(q), 0, -np.sin(q)], [0, 1, 0], [np.sin(q), 0, np.cos(q)]])
    slope = np.array([[-np.sin(q), 0, -np.cos(q)], [0, 0, 0], [np.cos(q), 0, -np.sin(q)]])

    def angular_velocity(R: np.ndarray, R_dot: np.ndarray) -> float:
        return float((rate * R_dot @ R.T)[0, 2])

    def weight(angle: float) -> float:
        """Potential of the arm's mass at (r_x, r_z), z upwards, R_y(+q)."""
        return m * g * (-np.sin(angle) * r_x + np.cos(angle) * r_z)

    h = 1e-5
    torque = (weight(q + h) - weight(q - h)) / (2 * h)
    return [
        Evidence(
            "[CB1997] (27)",
            "force of a body",
            relative_difference(m * (acceleration + W @ W @ r) + W @ r, force),
            relative_difference(m * (acceleration + W @ W @ r + W_dot @ r), force),
        ),
        Evidence(
            "[CB1997] (29)",
            "force of a body",
            relative_difference(m * acceleration + (W @ W + W) @ (m * r), force),
            relative_difference(m * acceleration + (W @ W + W_dot) @ (m * r), force),
        ),
        Evidence(
            "[CB1997] (30)",
            "moment of a body",
            relative_difference(rest + inertial[0] @ I_p, moment),
            relative_difference(rest + inertial[1] @ I_p, moment),
        ),
        Evidence(
            "[CB1997] (31)",
            "I ω of a body",
            relative_difference(tilde(w, "printed") @ I_p, I_A @ w),
            relative_difference(tilde(w, "corrected") @ I_p, I_A @ w),
        ),
        Evidence(
            "[CB1997] (41)",
            "ω of an arm against (38)",
            relative_difference(angular_velocity(turned, slope), rate),
            relative_difference(angular_velocity(turned.T, slope.T), rate),
        ),
        Evidence(
            "[CB1997] (43), (45)",
            "holding torque, centre of mass off the axis",
            relative_difference(-m * g * np.cos(q) * r_x, torque),
            relative_difference(-m * g * (np.cos(q) * r_x + np.sin(q) * r_z), torque),
        ),
    ]
