"""Forms of a flexible robot: which one it has, and that they are one model."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.elastic.forms import form_of
from nacelle.errors import KinematicsError
from support.elastic_states import general_state, natural_state
from support.flexible_robots import flexible, prrrp


def test_forms_that_do_not_exist() -> None:
    with pytest.raises(KinematicsError, match="condensed"):
        form_of(prrrp(), "condensd")
    with pytest.raises(KinematicsError, match="does not support"):
        form_of(flexible("orthoglide"), "condensed")
    assert form_of(flexible("orthoglide")).name == "assembled"
    assert form_of(flexible("fivebar", ("proximal",))).name == "general"


def test_all_forms_are_one_model() -> None:
    """Forces, accelerations and energies of the three forms at one state, bent and in motion."""
    robot = prrrp((1.0, 0.0, -9.0))
    state = general_state(robot, np.random.default_rng(7))
    p, y = natural_state(robot, state)
    general, assembled, condensed = (form_of(robot, name) for name in ("general", "assembled", "condensed"))
    expected = general.inverse(state.p, state.y, state.a, ())["force"]
    size = float(np.max(np.abs(expected)))
    for form, at in ((assembled, (state.p, state.y)), (condensed, (p, y))):
        force = form.inverse(*at, state.a, ())["force"]
        np.testing.assert_allclose(force, expected, rtol=0.0, atol=1e-9 * size)
        np.testing.assert_allclose(form.forward(*at, expected, ())[:2], state.a, atol=1e-7)
        for name in ("kinetic", "potential"):
            value = general.energies(state.p, state.y, ())[name]
            assert form.energies(*at, ())[name] == pytest.approx(value, rel=1e-10), name
    np.testing.assert_allclose(condensed.elastic(p), general.elastic(state.p), atol=1e-12)
    np.testing.assert_array_equal(p[condensed.encoders], state.p[general.encoders])
