"""One form for every robot: its models against the equivalent tree, identities of mechanics, other options.

The truth is the projection of the equivalent tree, evaluated as it is written (no trace, no pass, no
compiler). What is compared with it is what users run: minimised, compiled programs, over the library, the
rigid robots whose operations are counted, robots that stress the format, and random robots.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nacelle
from nacelle.compact import models as form
from nacelle.dynamics import reference
from nacelle.dynamics import reference as tree
from nacelle.dynamics.models import NAMES as MODELS
from nacelle.dynamics.models import Model, model
from nacelle.dynamics.physics import ALL_TERMS, Physics
from nacelle.kinematics import kinematic_model as kinematics
from nacelle.kinematics.jacobian import conditioning
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.sample_states import sample_states
from nacelle.kinematics.shapes import twist_scales
from nacelle.kinematics.solve.ill_conditioned import ILL_CONDITIONED_PIVOT
from nacelle.model.leg import Damper, LineSpring
from nacelle.verify import verify
from nacelle.verify.states import random_states
from support.compare import assert_same
from support.library import NAMES, library_robot
from support.model_states import Sample, inputs_of
from support.pairwise import FAMILIES, pairwise
from support.random_robots.legs import CASES
from support.random_robots.loads import with_random_friction, with_random_inertias
from support.rigid_robots import RIGID
from support.stress_robots import STRESS
from support.uncompiled import (
    central_difference,
    mark_slow_names,
    named_robot,
    poses_around,
    run_uncompiled,
    solve_uncompiled,
    stencil_times,
    trajectory_states,
)

Array = np.ndarray
ALL = (*NAMES, *RIGID, *STRESS)
TOLERANCE = 1e-9
STATES = 5
OUTPUTS = {
    "inverse_dynamics": "force",
    "forward_dynamics": "acceleration",
    "jacobian": "J",
    "mass_matrix": "M",
    "bias_forces": "h",
    "gravity_forces": "g",
}
RIGID_AND_SMOOTH = (Physics(friction=False), Physics(smooth=0.3))
INPUTS = {
    "inverse_dynamics": "x y v a",
    "forward_dynamics": "x y v tau",
    "jacobian": "x y",
    "mass_matrix": "x y",
    "bias_forces": "x y v",
    "gravity_forces": "x y",
    "regressor": "x y v a",
    "reference_regressor": "x y v v_ref a_ref",
}

# Small programs: all models of these robots are compiled here, those of the others by `make test-all`.
SMALL = ("prrrp", "redundant point on three legs", "sprung five-bar", "point on sliders", "one motion")
SLOW = tuple(name for name in ALL if name not in SMALL)
# Robots by kinds; small ones are a kind of their own.
KINDS = {
    kind: [name for name in names if name not in SMALL]
    for kind, names in {**FAMILIES, "rigid": RIGID, "stress": STRESS}.items()
} | {"small": SMALL}
# Planar robots are analysed and written in tenths of a second.
QUICK = (
    *SMALL,
    "fivebar",
    "3rrr",
    "3rps",
    "planar 3-RRR driven at the knee",
    "spherical 3-RRR, right angles",
    "spherical 3-RRR, any angles",
    "3-PRS",
    "redundant planar 4-RRR",
    "drives, springs and rotors at closures",
    "shared carriage",
    "loop inside a leg",
    "platform with a loop",
)


@cache
def robot_of(name: str) -> nacelle.Robot:
    if name in RIGID:
        return RIGID[name].make(1)
    return STRESS[name](1) if name in STRESS else library_robot(name)


@cache
def sample_states_of(robot: nacelle.Robot, seed: int = 1, *, friction: bool = True) -> Sample:
    """States around the reference pose, with the actuators' forces by the tree, changed by 30 %."""
    rng = np.random.default_rng(seed)
    x = poses_around(robot, STATES, seed)
    y = solve_uncompiled(robot, x, stages=2)
    unit = twist_scales(robot)
    v, a = (size * unit * rng.normal(size=(STATES, robot.motion.n)) for size in (1.0, 10.0))
    tree = run_uncompiled(
        partial(reference.inverse, physics=Physics(friction)), robot, x, y, v, a, np.zeros_like(v)
    )
    push = 1.0 + 0.3 * rng.normal(size=tree["force"].shape)
    A = run_uncompiled(kinematics.inverse_jacobian, robot, x, y)["J"]
    return Sample(robot, x, y, v, a, tree["force"] * push, np.linalg.cond(A))


def evaluate_by_tree(name: str, states: Sample, physics: Physics = ALL_TERMS) -> Array:
    """A model of the robot by the tree, as it is written."""
    robot, (x, y, v, a) = states.robot, (states.x, states.y, states.v, states.a)
    none = np.zeros_like(v)
    if name == "forward_dynamics":
        # By its definition: M dv/dt = A^T tau - h.
        M, A = (run_uncompiled(reference.inertia, robot, x, y)[key] for key in "MA")
        h = run_uncompiled(partial(reference.bias, physics=physics), robot, x, y, v)["h"]
        push = np.einsum("sij,si->sj", A, states.tau) - h
        return np.linalg.solve(M, push[..., None])[..., 0]
    functions: dict[str, tuple[Callable[..., Any], tuple[Array, ...]]] = {
        "inverse_dynamics": (partial(reference.inverse, physics=physics), (x, y, v, a, none)),
        "jacobian": (kinematics.inverse_jacobian, (x, y)),
        "mass_matrix": (reference.inertia, (x, y)),
        "bias_forces": (partial(reference.bias, physics=physics), (x, y, v)),
        "gravity_forces": (reference.gravity, (x, y)),
    }
    function, inputs = functions[name]
    return run_uncompiled(function, robot, *inputs)[OUTPUTS[name]]


def run_compiled(found: Model, states: Sample) -> Array:
    """What users run: the minimised program as native code."""
    values = found.compile()(**inputs_of(found, states))
    return np.asarray(values[OUTPUTS[found.name]] if isinstance(values, dict) else values)


def largest_relative_error(values: Array, exact: Array) -> float:
    """The largest difference in a state over the largest entry there; the worst state."""
    apart = np.abs(values - exact).reshape(len(exact), -1).max(axis=1)
    size = np.abs(exact).reshape(len(exact), -1).max(axis=1)
    return float(np.max(apart / np.maximum(size, 1e-12 * np.max(size, initial=1e-300))))


# --------------------------------------------------------------------------------------- the robots


# ----------------------------------------------------------------------------------- against the tree


@pytest.mark.thinned
@pytest.mark.costly
@pytest.mark.parametrize("name", mark_slow_names(ALL, long=[name for name in ALL if name not in QUICK]))
def test_as_it_is_written(name: str) -> None:
    """All functions of the compact form, no trace, no pass, no compiler; its figures at good states."""
    states = sample_states_of(robot_of(name))
    compare_as_written(states)
    robot, (x, y, v, a) = states.robot, (states.x, states.y, states.v, states.a)
    none = np.zeros_like(v)
    found = run_uncompiled(form.inverse, robot, x, y, v, a, none)
    tree = run_uncompiled(partial(reference.inverse, formulation="tree"), robot, x, y, v, a, none)
    closed = [k for k in range(len(robot.legs)) if k not in mechanism_of(robot).iterated_legs]
    assert_same(found["margins"][:, closed], tree["margins"][:, closed], TOLERANCE)
    # Margins of what iteration finds follow from determinants: the same up to a small factor.
    assert np.all(found["margins"] > 0.03 * tree["margins"])
    assert np.all(found["margins"] < 30.0 * tree["margins"])
    assert np.all(found["pivot"] > ILL_CONDITIONED_PIVOT)
    energies, exact = (run_uncompiled(module.energies, robot, x, y, v) for module in (form, reference))
    for key in ("kinetic", "potential", "dissipation"):
        assert_same(energies[key], exact[key], TOLERANCE, key)


def compare_as_written(states: Sample) -> None:
    """All functions of the compact form against the tree, with the options and a load."""
    robot, (x, y, v, a) = states.robot, (states.x, states.y, states.v, states.a)
    load = np.random.default_rng(5).normal(size=v.shape) * np.max(np.abs(states.tau)) / twist_scales(robot)
    limit = max(TOLERANCE, 1e-12 * float(np.max(states.condition)))
    for physics in (ALL_TERMS, *RIGID_AND_SMOOTH):
        inverse, tree = (
            run_uncompiled(partial(function, physics=physics), robot, x, y, v, a, load)["force"]
            for function in (form.inverse, partial(reference.inverse, formulation="tree"))
        )
        assert largest_relative_error(inverse, tree) < limit, physics
    none = np.zeros_like(v)
    found = {
        "forward_dynamics": run_uncompiled(form.forward, robot, x, y, v, states.tau, none)["acceleration"],
        "jacobian": run_uncompiled(kinematics.inverse_jacobian, robot, x, y)["J"],
        "mass_matrix": run_uncompiled(form.inertia, robot, x, y)["M"],
        "bias_forces": run_uncompiled(form.bias, robot, x, y, v)["h"],
        "gravity_forces": run_uncompiled(form.gravity, robot, x, y)["g"],
    }
    errors = {
        key: largest_relative_error(values, evaluate_by_tree(key, states)) for key, values in found.items()
    }
    assert all(value < limit for value in errors.values()), errors


@pytest.mark.costly
@pytest.mark.parametrize("kind", [kind for kind in MODELS if kind != "inverse_kinematics"])
@pytest.mark.parametrize("name", ["prrrp", "redundant point on three legs"])
def test_every_model_has_a_form(name: str, kind: str) -> None:
    """No model is left to the tree, and models take the pose as the API does."""
    found = model(robot_of(name), kind)
    assert found.form == "compact"
    assert " ".join(found.inputs) == INPUTS[kind]
    assert [output.name for output in found.program().outputs] == [OUTPUTS.get(kind, "Y")]


@pytest.mark.thinned
@pytest.mark.costly
@pytest.mark.parametrize(
    ("name", "kind"),
    [
        case if case[0] in SMALL else pytest.param(*case, marks=pytest.mark.slow)
        for case in pairwise(name=KINDS, kind=list(OUTPUTS))
    ],
)
def test_models(name: str, kind: str) -> None:
    states = sample_states_of(robot_of(name))
    assert (
        largest_relative_error(
            run_compiled(model(states.robot, kind), states), evaluate_by_tree(kind, states)
        )
        < TOLERANCE
    )


@pytest.mark.thinned(4)
@pytest.mark.slow
@pytest.mark.parametrize("name", ALL)
def test_the_whole_workspace(name: str) -> None:
    """Inverse dynamics at states of the whole workspace, as far as it goes."""
    robot = robot_of(name)
    drawn = random_states(robot, 40, 5)
    v, a = drawn.v, drawn.a
    exact = nacelle.inverse_dynamics(robot, drawn.x, v, a, formulation="tree")
    found = nacelle.inverse_dynamics(robot, drawn.x, v, a)
    assert not np.any(found.flags & ~exact.flags)
    assert largest_relative_error(found.tau, exact.tau) < TOLERANCE


@pytest.mark.slow
@pytest.mark.parametrize("physics", RIGID_AND_SMOOTH, ids=["rigid", "smooth"])
@pytest.mark.parametrize(
    "name", mark_slow_names(("point on sliders", "sprung five-bar", "3rps"), long=("3rps",))
)
def test_friction_of_all_kinds(name: str, physics: Physics) -> None:
    states = sample_states_of(robot_of(name), friction=physics.friction)
    for kind in ("inverse_dynamics", "forward_dynamics", "bias_forces"):
        found = run_compiled(
            model(states.robot, kind, friction=physics.friction, smooth=physics.smooth), states
        )
        assert largest_relative_error(found, evaluate_by_tree(kind, states, physics)) < TOLERANCE, kind


@pytest.mark.costly
@pytest.mark.parametrize(
    "name",
    mark_slow_names(
        ("fivebar", "planar 3-RRR driven at the knee", "sprung five-bar", "redundant planar 4-RRR"),
        long=("planar 3-RRR driven at the knee", "redundant planar 4-RRR"),
    ),
)
def test_external_wrenches(name: str) -> None:
    """By name, on the platform and on a body of a leg; on the platform's own wrench they act as a load."""
    robot = robot_of(name)
    states = sample_states_of(robot)
    rng = np.random.default_rng(4)
    external = {body.name: rng.normal(size=6) for body in (robot.bodies[1], robot.bodies[-1])}
    settings = {"external": external, "smooth": 0.2}
    tree = nacelle.inverse_dynamics(robot, states.x, states.v, states.a, formulation="tree", **settings)
    found = nacelle.inverse_dynamics(robot, states.x, states.v, states.a, formulation="compact", **settings)
    without = nacelle.inverse_dynamics(robot, states.x, states.v, states.a, smooth=0.2)
    assert found.formulation == "compact"
    assert largest_relative_error(found.tau, tree.tau) < TOLERANCE
    assert largest_relative_error(found.generalised_force, tree.generalised_force) < TOLERANCE
    assert largest_relative_error(without.tau, tree.tau) > 1e-6
    back = nacelle.forward_dynamics(robot, states.x, states.v, found.tau, **settings)
    assert largest_relative_error(back.a, states.a) < TOLERANCE


# ------------------------------------------------------------------------------ identities of mechanics


@pytest.mark.thinned(4)
@pytest.mark.slow
@pytest.mark.parametrize("name", mark_slow_names(ALL, long=SLOW))
def test_mechanics(name: str) -> None:
    """M a + h, forward after inverse, the Jacobian, the energies and their balance, through the API."""
    robot = robot_of(name)
    times = np.array([0.2, 0.45, 0.8])
    x, _, v, a = trajectory_states(robot, times)
    found = nacelle.inverse_dynamics(robot, x, v, a)
    M, h = nacelle.mass_matrix(robot, x), nacelle.bias_forces(robot, x, v)
    assert largest_relative_error(np.einsum("sij,sj->si", M, a) + h, found.generalised_force) < TOLERANCE
    assert largest_relative_error(M, np.swapaxes(M, 1, 2)) < 1e-12
    J = nacelle.jacobian(robot, x).inverse
    assert largest_relative_error(np.einsum("sij,si->sj", J, found.tau), found.generalised_force) < TOLERANCE

    unit = twist_scales(robot)
    lost = np.max(1.0 / conditioning(M * np.outer(unit, unit)))
    back = nacelle.forward_dynamics(robot, x, v, found.tau).a
    assert largest_relative_error(back / unit, a / unit) < max(TOLERANCE, 1e-13 * lost)

    kinetic = nacelle.kinetic_energy(robot, x, v)
    assert largest_relative_error(kinetic, 0.5 * np.einsum("si,sij,sj->s", v, M, v)) < TOLERANCE
    around = stencil_times(times)
    xs, _, vs, _ = trajectory_states(robot, around.ravel())
    total = nacelle.kinetic_energy(robot, xs, vs) + nacelle.potential_energy(robot, xs)
    rates = nacelle.kinematics.joint_motion(robot, x, v).actuators[1]
    power = np.sum(found.tau * rates, axis=1) - nacelle.dynamics.dissipation(robot, x, v)
    # Differences of an energy over steps of 1e-2 s keep about eleven digits of it.
    scale = np.max(np.abs(power)) + 0.1 * np.max(np.abs(total))
    assert np.max(np.abs(central_difference(total.reshape(around.shape)) - power)) < 1e-9 * scale


# ------------------------------------------------------------------------------------- random robots


@pytest.mark.slow
@settings(max_examples=20)
@given(st.sampled_from(tuple(CASES)), st.integers(2, 500))
def test_random_robots_of_all_legs(name: str, seed: int) -> None:
    check_random(name, seed)


def check_random(name: str, seed: int) -> None:
    robot = with_random_friction(with_random_inertias(CASES[name](seed).robot, seed), seed)
    states = sample_states_of(robot, seed)
    exact = evaluate_by_tree("inverse_dynamics", states)
    limit = max(TOLERANCE, 1e-12 * float(np.max(states.condition)))
    assert largest_relative_error(run_compiled(model(robot, "inverse_dynamics"), states), exact) < limit


@pytest.mark.thinned(4)
@pytest.mark.costly
@pytest.mark.parametrize(
    "name",
    mark_slow_names(
        CASES,
        long=[name for name in CASES if name not in ("planar RRR + PRR + RPR", "3 R[SS|SS]", "3 P[SS|SS]")],
    ),
)
def test_legs_of_all_kinds(name: str) -> None:
    """The compact form as it is written, with random bodies in random frames."""
    robot = with_random_friction(with_random_inertias(CASES[name](1).robot, 1), 1)
    compare_as_written(sample_states_of(robot))


# -------------------------------------------------------------------------------------- other engines


@pytest.mark.thinned(4)
@pytest.mark.parametrize("name", mark_slow_names(ALL, long=[name for name in ALL if name != "prrrp"]))
def test_other_engines_agree(name: str) -> None:
    """Pinocchio and MuJoCo, on what users run."""
    report = verify(robot_of(name), states=5, seed=3)
    assert report.ok, report.text()


# ---- Dampers and springs between bodies: of legs, of the platform and what hangs on it, of the base


@pytest.mark.parametrize("what", ["damper", "spring"])
@pytest.mark.parametrize("name", ["fivebar", "gough-stewart", "prrrp"])
def test_what_acts_between_bodies_of_every_kind(name: str, what: str) -> None:
    robot = named_robot(name)
    rng = np.random.default_rng(3)
    # The first state is the reference, where bars of prrrp turn alike.
    x, y = sample_states(mechanism_of(robot), 2)[1]
    n = robot.motion.n
    v, a, none = rng.normal(size=n), rng.normal(size=n), np.zeros(n)
    last = len(robot.bodies) - 1
    # A point has no orientation that a damper could act on, nor has a slide of prrrp.
    first, second = (3, 3) if robot.platform.kind == "point" and what == "damper" else (1, 2)
    plain = np.asarray(tree.inverse(robot, x, y, v, a, none)["force"], dtype=float)
    for bodies in ((first, 0), (0, second), (last, first), (second, last)):
        spring = LineSpring("s", bodies, (rng.normal(size=3), rng.normal(size=3)), 500.0, 0.2, 7.0)
        acting = {"dampers": (Damper("d", bodies, 0.3),)} if what == "damper" else {"springs": (spring,)}
        own = replace(robot, **acting)
        expected = np.asarray(tree.inverse(own, x, y, v, a, none)["force"], dtype=float)
        force = np.asarray(form.inverse(own, x, y, v, a, none)["force"], dtype=float)
        assert bodies[0] == bodies[1] or np.max(np.abs(expected - plain)) > 1e-3
        np.testing.assert_allclose(force, expected, rtol=1e-10 if what == "damper" else 1e-11)
