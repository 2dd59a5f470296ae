"""Samples of a robot's inputs with 50 digits: loops closed, quaternions of unit length."""

from __future__ import annotations

from decimal import Decimal, localcontext

import numpy as np
import pytest

from nacelle.compile import make_program
from nacelle.dynamics.formulations import reference as dynamics
from nacelle.kinematics.iteration.precise_states import open_loops
from nacelle.kinematics.iteration.samples import input_samples
from nacelle.kinematics.kinematic_model import branch_signs
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.program.identities.samples import PreciseInputs
from nacelle.program.precise import arithmetic, exact
from nacelle.spatial.physics import input_shapes
from support.library import library_robot

# What is left of 50 digits.
DIGITS = Decimal("1e-45")
# What is left open where closures contradict one another by their rounding.
ROUNDING = Decimal("1e-15")


def drawn(name: str, shapes: dict[str, tuple[int, ...]] | None = None) -> PreciseInputs:
    robot = library_robot(name)
    found = input_samples(robot, shapes or input_shapes(dynamics.inverse, robot) or {})
    assert found is not None
    return found


def parts(row: tuple[Decimal, ...], shapes: dict[str, tuple[int, ...]]) -> dict[str, list[Decimal]]:
    found, start = {}, 0
    for name, shape in shapes.items():
        size = int(np.prod(shape))
        found[name] = list(row[start : start + size])
        start += size
    return found


@pytest.mark.parametrize(
    ("name", "bound"), [("3rps", DIGITS), ("delta4", ROUNDING), ("h4", ROUNDING), ("quattro", ROUNDING)]
)
def test_loops_are_closed(name: str, bound: Decimal) -> None:
    robot = library_robot(name)
    shapes = input_shapes(dynamics.inverse, robot)
    assert shapes is not None
    found = drawn(name)
    program = make_program(open_loops, robot, input_shapes(open_loops, robot) or {}, minimised=False)
    reference = mechanism_of(robot).reference[0]
    for row in (*found.proof, *found.check):
        given = parts(row, shapes)
        gaps = exact(program, [*given["y"], *given["x"]])
        assert max(abs(gap) for gap in gaps) < bound
        x, y = (np.array([float(value) for value in given[key]]) for key in "xy")
        assert np.all(branch_signs(robot.alike, x, y)["branch"] > 0.0)
        assert np.max(np.abs(x - reference)) > 1e-3


def test_quaternions_have_unit_length_to_all_digits() -> None:
    robot = library_robot("palida")
    shapes = input_shapes(dynamics.inverse, robot)
    place = mechanism_of(robot).layout.quaternion
    assert shapes is not None
    assert place is not None
    for row in drawn("palida").proof:
        with localcontext(arithmetic()):
            length = sum(value * value for value in parts(row, shapes)["x"][place])
            assert abs(length - 1) < DIGITS
