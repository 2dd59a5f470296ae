"""[AGH2005]: frames of a strut and the recursion over them."""

from __future__ import annotations

import numpy as np

from support.errata import Evidence, relative_difference


def frame(angle: float, twist: float, sign: float) -> np.ndarray:
    """The rotation of (4), from frame i to frame i - 1; element (1, 2) is sign * sin(angle)."""
    s, c, sa, ca = np.sin(angle), np.cos(angle), np.sin(twist), np.cos(twist)
    return np.array([[c, sign * s, 0.0], [s * ca, c * ca, -sa], [s * sa, c * sa, ca]])


def evidence() -> list[Evidence]:
    """Rotations are orthogonal; the angular velocity of the second body follows from the rotations' rates."""
    q, rate = np.array([0.6, -0.9]), np.array([0.4, 0.7])
    twists = (np.pi / 2, -np.pi / 2)

    def whole(angles: np.ndarray) -> np.ndarray:
        return frame(angles[0], twists[0], -1.0) @ frame(angles[1], twists[1], -1.0)

    h = 1e-5
    slope = (whole(q + h * rate) - whole(q - h * rate)) / (2 * h)
    inside = whole(q).T @ slope  # skew matrix of the angular velocity in the axes of body 2
    truth = np.array([inside[2, 1], inside[0, 2], inside[1, 0]])
    e_z = np.array([0.0, 0.0, 1.0])
    R = frame(q[1], twists[1], -1.0)
    first = rate[0] * e_z
    printed, corrected = (frame(0.6, np.pi / 3, sign) for sign in (1.0, -1.0))
    return [
        Evidence(
            "[AGH2005] † (4)",
            "R Rᵀ against 1",
            relative_difference(printed @ printed.T, np.eye(3)),
            relative_difference(corrected @ corrected.T, np.eye(3)),
        ),
        Evidence(
            "[AGH2005] † (9), (10)",
            "ω of the second body of a strut",
            relative_difference(R @ first + rate[1] * e_z, truth),
            relative_difference(R.T @ first + rate[1] * e_z, truth),
        ),
    ]
