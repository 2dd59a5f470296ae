"""Where elements are: on the joints of the assembled robot, with directions of unit length."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.kinematics.elements.geometry import ElementGeometry, unit_vector
from nacelle.kinematics.elements.reading import element_legs
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from support.uncompiled import any_robot


@pytest.mark.parametrize("name", ["fivebar", "delta", "gough-stewart", "orthoglide", "3rps"])
def test_ends_and_directions(name: str) -> None:
    robot = any_robot(name)
    mechanism = mechanism_of(robot)
    at = ElementGeometry(robot, mechanism.assembly.motion.poses)
    for leg in element_legs(mechanism):
        for rod in leg.rods:
            E, B = at.ends(leg, rod)
            x = at.direction(leg, rod)
            assert np.linalg.norm(x) == pytest.approx(1.0, abs=1e-14)
            # The joint at the output is at one place, seen from both of its bodies.
            both = [at.frame(rod.tip, on_successor=side).p for side in (False, True)]
            np.testing.assert_allclose(both[0], both[1], atol=1e-9)
            assert min(np.linalg.norm(B - place) for place in both) < 1e-9
            # A strut's slide may lie beside the line of its ends; a rod is that line.
            assert x @ unit_vector(B - E) > (0.9 if leg.prismatic is not None else 1.0 - 1e-12)
        if "x" in leg.elements[0].basis and leg.driver is not None:
            z = at.frame(leg.driver).R[:, 2]
            assert abs(at.bar_direction(leg) @ z) < 1e-12
