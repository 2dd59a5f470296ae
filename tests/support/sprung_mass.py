"""A plant of the tests' own, with a known exact solution."""

from __future__ import annotations

import numpy as np

from nacelle.simulation.protocol import Event, Labels

Array = np.ndarray


class SprungMass:
    """A mass on a spring and a damper: m x'' = u - k x - c x'."""

    name = "sprung mass"
    size = 2
    inputs = 1
    labels = Labels((("x", "m"),), (("v", "m/s"),), (("push", "N"),))

    def __init__(self, mass: float = 1.0, stiffness: float = 9.0, damping: float = 0.0) -> None:
        self.mass, self.stiffness, self.damping = mass, stiffness, damping

    def state(self, x, v) -> Array:
        return np.array([float(np.squeeze(x)), float(np.squeeze(v))])

    def split(self, s: Array) -> tuple[Array, Array]:
        return s[..., :1], s[..., 1:]

    def derivative(self):
        def f(s: Array, u: Array) -> Array:
            return np.array([s[1], (u[0] - self.stiffness * s[0] - self.damping * s[1]) / self.mass])

        return f

    def energies(self, s: Array) -> dict[str, Array]:
        return {
            "kinetic": 0.5 * self.mass * s[..., 1] ** 2,
            "potential": 0.5 * self.stiffness * s[..., 0] ** 2,
            "dissipation": self.damping * s[..., 1] ** 2,
        }

    def power(self, s: Array, u: Array) -> Array:
        return u[..., 0] * s[..., 1]

    def events(self) -> list[Event]:
        return [Event("the mass is at the wall", lambda t, s: 5.0 - s[:, 0])]

    def exact(self, t: float, x0: float, v0: float, w: float) -> Array:
        """Position and velocity at a time, without damping, under the force cos(w t)."""
        w0 = np.sqrt(self.stiffness / self.mass)
        part = 1.0 / (self.mass * (w0**2 - w**2))
        a, b = x0 - part, v0 / w0
        return np.array(
            [
                a * np.cos(w0 * t) + b * np.sin(w0 * t) + part * np.cos(w * t),
                w0 * (b * np.cos(w0 * t) - a * np.sin(w0 * t)) - part * w * np.sin(w * t),
            ]
        )
