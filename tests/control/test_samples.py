"""Samples of laws: their programs are shorter for it, and no step of an iteration is lost."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from nacelle.compile import Specification, make_program
from nacelle.control.law import law_of
from nacelle.control.laws.single_joint import SingleJoint
from nacelle.control.named import KINDS
from nacelle.export.states import seeded_states
from nacelle.kinematics.kinematic_model import actuator_positions
from nacelle.program.cost import cost
from nacelle.spatial.form import Form
from nacelle.spatial.physics import check_sampler_of, input_shapes
from support.library import library_robot


def test_shorter_and_newtons_steps_are_kept() -> None:
    robot, kind = library_robot("3rps"), SingleJoint("none")
    law = law_of(kind)
    shapes = input_shapes(law, robot)
    program = make_program(law, robot, shapes)
    plain = make_program(partial(law), robot, shapes)
    assert cost(program) < 0.7 * cost(plain)
    states, m = seeded_states(robot, 4, seed=3), len(robot.actuators)
    rng = np.random.default_rng(2)
    gains = rng.uniform(0.5, 1.5, shapes["gains"])
    for x, y, v, a in zip(states.x, states.y, states.v, states.a, strict=True):
        memory = kind.memory(robot)
        start = memory.join(kind.start(robot, x, y * (1.0 + 0.03 * rng.uniform(-1.0, 1.0, y.shape))))
        q = actuator_positions(robot, x, y)["q"] + 1e-3 * rng.uniform(-1.0, 1.0, m)
        row = [*start, *q, *x, *(0.1 * v), *a, *gains]
        short, long = (np.array(made.evaluate(row), dtype=float) for made in (program, plain))
        assert np.max(np.abs(short - long)) < 1e-11 * np.max(np.abs(long))
        found = memory.split(short[m:])["y_d"]
        assert np.max(np.abs(found - y)) < 1e-12


@pytest.mark.parametrize("name", ["sj", "ct-cartesian", "adaptive", "impedance"])
def test_programs_are_checked_where_laws_give_forces_in_every_form(name: str) -> None:
    robot, kind = library_robot("quattro"), KINDS[name]()
    law = law_of(kind)
    shapes = input_shapes(law, robot)
    specification = Specification(law, robot, shapes)
    for row in check_sampler_of(law)(robot, shapes).check:
        given = np.array(row, dtype=float)
        own, tree = (specification.evaluated(given, form=form) for form in (None, Form.TREE))
        assert np.min(np.abs(own["force"])) > 0.0
        for output, values in tree.items():
            assert np.max(np.abs(own[output] - values)) < 1e-12 * np.max(np.abs(values))
