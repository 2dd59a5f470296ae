"""The sliding variable: its reference is the derivative of itself."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.control.kind import DesiredMotion
from nacelle.control.pieces.ahead import Ahead
from nacelle.control.pieces.sliding import sliding
from nacelle.kinematics.trajectory.fourier import Fourier
from support.library import library_robot

RATE = 30.0


def _platform(x, v):
    return Ahead(x, np.zeros(0), v)


@pytest.mark.parametrize("name", ["fivebar", "hexaglide"])
def test_the_reference_acceleration_is_the_derivative_of_the_reference_twist(name):
    """Along two motions, one of the platform and one that is desired, far apart by up to a radian."""
    robot = library_robot(name)
    n = robot.motion.n
    rng = np.random.default_rng(3)
    centre = [0.02, 0.25] if name == "fivebar" else [0.0, 0.0, -0.4, 0.0, 0.0, 0.0, 1.0]
    own, wanted = (
        Fourier(centre, *0.4 * rng.normal(size=(2, 2, n)), motion=robot.motion, frequency=0.7)
        for _ in range(2)
    )

    def at(t):
        a, b = own(t), wanted(t)
        return sliding(robot, DesiredMotion(b.x, b.v, b.a), _platform(a.x, a.v), RATE)

    h = 1e-5
    for t in (0.1, 0.4, 0.9):
        slope = (at(t + h).v_ref - at(t - h).v_ref) / (2.0 * h)
        np.testing.assert_allclose(at(t).a_ref, slope, rtol=1e-6, atol=1e-5)
        np.testing.assert_allclose(at(t).s, at(t).v_ref - own(t).v)


def test_a_small_error_leads_back():
    """A platform that follows the reference, s = 0, comes to the desired orientation at the rate."""
    robot = library_robot("hexaglide")
    x_d = np.array([0.0, 0.0, -0.4, 0.0, 0.0, 0.0, 1.0])
    angle = 0.02
    x = np.array([0.001, 0.0, -0.4, np.sin(0.5 * angle), 0.0, 0.0, np.cos(0.5 * angle)])
    still = np.zeros(6)
    found = sliding(robot, DesiredMotion(x_d, still, still), _platform(x, still), RATE)
    np.testing.assert_allclose(found.v_ref, RATE * np.array([-0.001, 0, 0, -angle, 0, 0]), rtol=1e-4)
