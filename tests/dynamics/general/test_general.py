"""General: dampers, line springs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from nacelle.dynamics.formulations import reference as tree
from nacelle.dynamics.general import models as general
from nacelle.kinematics.general.plan import sample_states
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.model.damper import Damper
from nacelle.model.line_spring import LineSpring
from support.uncompiled import any_robot

# ---- dampers
#
# Angular dampers in the general form: on legs in space, on the nacelle and what hangs on it, on the base.


@pytest.mark.parametrize("name", ["fivebar", "gough-stewart"])
def test_a_damper_acts_on_every_kind_of_body(name: str) -> None:
    robot = any_robot(name)
    rng = np.random.default_rng(3)
    x, y = sample_states(mechanism_of(robot), 1)[0]
    n = robot.motion.n
    v, a, none = rng.normal(size=n), rng.normal(size=n), np.zeros(n)
    last = len(robot.bodies) - 1
    first = 2 if robot.nacelle.kind == "point" else 1
    pairs = ((first, 0), (0, 2), (last, first), (2, last))
    own = replace(robot, dampers=tuple(Damper(f"d{k}", pair, 0.3 + k) for k, pair in enumerate(pairs)))
    plain, expected = (
        np.asarray(tree.inverse(r, x, y, v, a, none)["force"], dtype=float) for r in (robot, own)
    )
    force = np.asarray(general.inverse(own, x, y, v, a, none)["force"], dtype=float)
    assert np.max(np.abs(expected - plain)) > 1e-3
    np.testing.assert_allclose(force, expected, rtol=1e-10)


# ---- line springs
#
# Springs between bodies in the general form: on legs, on the nacelle and what hangs on it, on the base.


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
