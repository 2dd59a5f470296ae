"""The compact form: which one is taken, and what happens where the compact form does not fit a robot."""

from __future__ import annotations

import numpy as np
import pytest

import nacelle
from nacelle.compact import models as general
from nacelle.compact import plan
from nacelle.compact.plan import prefers_line_axes
from nacelle.compile import make_program
from nacelle.dynamics import model_functions
from nacelle.dynamics import reference as tree
from nacelle.dynamics.jacobian import sample_poses
from nacelle.errors import CompilerWarning
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.native import compile_native
from nacelle.kinematics.solve import ill_conditioned
from nacelle.program.cost import count
from nacelle.spatial.physics import input_shapes
from support.library import library_robot
from support.stress_robots import STRESS
from support.transformed import RobotTransform


def state(name):
    robot = library_robot(name).without_rounding_differences
    v, a = np.random.default_rng(1).normal(size=(2, robot.motion.n))
    return robot, *mechanism_of(robot).reference, v, a


@pytest.mark.parametrize("fault", [KeyError(1), np.linalg.LinAlgError("singular"), None])
def test_tree_where_the_general_form_fails(monkeypatch, fault):
    """An analysis that raises, or decides wrongly, costs operations and nothing else."""
    robot, x, y, v, a = state("3rps")
    right = plan._plan

    def broken(*arguments):
        if fault is not None:
            raise fault
        made = right(*arguments)
        # Rows that say nothing of what they are to decide.
        legs = tuple(plan.LegOrder(leg.order, leg.zeros, leg.kept[:0], leg.units) for leg in made.legs)
        return plan.replace(made, legs=legs)

    monkeypatch.setattr(plan, "_plan", broken)
    plan._disagreement.cache_clear()
    try:
        with pytest.warns(CompilerWarning, match="3rps is computed by the tree"):
            assert plan.reason_for_tree(robot)
        words = "IndexError" if fault is None else type(fault).__name__
        assert words in plan.reason_for_tree(robot)
        found = model_functions.inverse(robot, x, y, v, a)
        expected = tree.inverse(robot, x, y, v, a, np.zeros(robot.motion.n))
        assert np.array_equal(found["force"], expected["force"])
        assert found["pivot"] == pytest.approx(np.sqrt(expected["parallel_margin"]))
        assert np.array_equal(model_functions.inertia(robot, x, y)["M"], tree.inertia(robot, x, y)["M"])
    finally:
        plan._disagreement.cache_clear()


@pytest.mark.parametrize(
    ("name", "line_axes"), [("hexa", True), ("delta-codourey", False), ("gough-stewart", False)]
)
def test_axes_of_struts_are_those_that_make_the_program_short(name: str, line_axes: bool) -> None:
    robot = library_robot(name).numeric.without_rounding_differences
    shapes = input_shapes(general.inverse, robot)
    sizes = {
        way: count(
            make_program(general.inverse, robot, shapes, minimise=False, options={"line_axes": way})
        ).total
        for way in (False, True)
    }
    assert prefers_line_axes(robot, friction=True) == line_axes == (sizes[True] < sizes[False])


def test_outputs_are_those_that_are_wanted():
    robot, x, y, v, a = state("fivebar")
    assert set(model_functions.inverse(robot, x, y, v, a, outputs="force")) == {"force"}
    assert set(model_functions.bias(robot, x, y, v, outputs="h M A actuator_bias")) == {
        "h",
        "M",
        "A",
        "actuator_bias",
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", ["redundant point on three legs", "redundant planar 4-RRR"])
def test_redundant_robots_have_the_figure_of_the_tree(name: str) -> None:
    """Both are the squared ratio of the columns of J_r^-1."""
    robot = STRESS[name](1)
    x = sample_poses(robot, 20, seed=2)
    by_tree = nacelle.inverse_dynamics(robot, x, formulation="tree")
    smallest_form = nacelle.inverse_dynamics(robot, x)
    assert smallest_form.formulation == "compact"
    np.testing.assert_allclose(smallest_form.parallel_margin, by_tree.parallel_margin, rtol=1e-9)
    np.testing.assert_array_equal(smallest_form.flags, by_tree.flags)
    one = nacelle.inverse_dynamics(robot, x[0])
    np.testing.assert_allclose(one.parallel_margin, by_tree.parallel_margin[0], rtol=1e-9)


@pytest.mark.slow
def test_weak_states_are_those_of_the_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the figure is below the limit forces come from the tree, to the last bit."""
    robot = library_robot("3rrr")
    x = sample_poses(robot, 20, seed=2)
    rng = np.random.default_rng(3)
    v, a = rng.normal(size=(2, 20, 3))
    y, load = np.zeros((20, 0)), np.zeros((20, 3))
    pivot = compile_native(model_functions.inverse, robot)(x, y, v, a, load)["pivot"]
    limit = float(np.median(pivot))
    monkeypatch.setattr(ill_conditioned, "ILL_CONDITIONED_PIVOT", limit)
    found = nacelle.inverse_dynamics(robot, x, v, a).tau
    by_tree = nacelle.inverse_dynamics(robot, x, v, a, formulation="tree").tau
    below = pivot < limit
    assert 0 < np.sum(below) < 20
    np.testing.assert_array_equal(found[below], by_tree[below])
    np.testing.assert_allclose(found, by_tree, rtol=1e-9, atol=1e-9 * np.max(np.abs(by_tree)))
    assert np.any(found[~below] != by_tree[~below])


@pytest.mark.slow
@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("factor", [1e-3, 1e-6, 1e-9])
def test_very_small_robots(factor: float) -> None:
    """Lengths times a factor, inertia times its square: the compact form gives the forces of the tree."""
    robot = RobotTransform(length=factor).robot(library_robot("fivebar"))
    x = nacelle.reference_pose(robot)
    v, a = robot.size * np.random.default_rng(0).normal(size=(2, robot.motion.n))
    force = nacelle.inverse_dynamics(robot, x, v, a, friction=False).tau
    expected = nacelle.inverse_dynamics(robot, x, v, a, friction=False, formulation="tree").tau
    np.testing.assert_allclose(force, expected, rtol=1e-12)
    assert np.all(np.isfinite(nacelle.inverse_dynamics(robot, x, v, a).tau))
