"""Springs between bodies in the general form: on legs, on the nacelle and what hangs on it, on the base."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from nacelle.dynamics.formulations import reference as tree
from nacelle.dynamics.general import models as general
from nacelle.kinematics.general.plan import sample_states
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.model.line_spring import LineSpring
from support.uncompiled import any_robot


def test_a_spring_acts_on_every_kind_of_body() -> None:
    """One spring at a time, with its damper: between nacelle, base, and bodies of legs."""
    robot = any_robot("prrrp")
    rng = np.random.default_rng(3)
    x, y = sample_states(mechanism_of(robot), 1)[0]
    v, a, none = rng.normal(size=2), rng.normal(size=2), np.zeros(2)
    last = len(robot.bodies) - 1
    for bodies in ((1, 0), (0, 2), (last, 1), (2, last)):
        spring = LineSpring("s", bodies, (rng.normal(size=3), rng.normal(size=3)), 500.0, 0.2, 7.0)
        own = replace(robot, springs=(spring,))
        expected = np.asarray(tree.inverse(own, x, y, v, a, none)["force"], dtype=float)
        force = np.asarray(general.inverse(own, x, y, v, a, none)["force"], dtype=float)
        np.testing.assert_allclose(force, expected, rtol=1e-11)
