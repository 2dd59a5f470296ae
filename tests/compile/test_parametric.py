"""Numbers as run-time inputs: prologue and body against the robot with other numbers as constants."""

from __future__ import annotations

import importlib

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nacelle
from nacelle.compile import Specification, compile_function
from nacelle.dynamics import reference
from nacelle.dynamics.models import model
from nacelle.emit.store import Store
from nacelle.errors import CompileError, ExportError, KinematicsError
from nacelle.export.entries import entries
from nacelle.export.entry import ExportRequest
from nacelle.export.states import model_inputs, random_states
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.model.numbers import GROUPS
from nacelle.program.cost import count
from support.library import library_robot
from support.pairwise import FAMILIES, pairwise
from support.random_robots import random_robot
from support.random_robots.legs import hexapod
from support.random_robots.loads import with_random_inertias

compile_module = importlib.import_module("nacelle.compile.compiled")


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path)


def other_numbers(robot, seed=3, part=0.02):
    vector = robot.numbers.vector()
    return vector * (1.0 + part * np.random.default_rng(seed).uniform(-1.0, 1.0, vector.shape))


def states_of(robot, found, number=4):
    states = random_states(robot, number)
    rows = model_inputs(states, {name: shape for name, shape in found.inputs.items() if name != "load"})
    return {name: rows.get(name, np.zeros((number, *shape))).reshape(number, *shape)
            for name, shape in found.inputs.items()}  # fmt: skip


ROBOTS_AND_MODELS = pairwise(
    name=FAMILIES, what=["inverse_dynamics", "forward_dynamics", "mass_matrix", "jacobian"]
)
# What is scaled by the robot's size, or may be chosen freely (idle spins), is not compared.
FIGURES = ("pivot", "margins", "q")


@pytest.mark.thinned
@pytest.mark.costly
@pytest.mark.parametrize(("name", "what"), ROBOTS_AND_MODELS)
def test_equals_the_constant_form(name, what):
    robot = library_robot(name)
    vector = other_numbers(robot)
    other = robot.with_numbers(vector)
    found, constant = model(robot, what), model(other, what)
    given = {"inputs": found.inputs, "options": found.options, "minimise": False, "target": "numpy"}
    general = compile_function(found.function, robot, parameters="input", **given)
    special = constant.compile(minimise=False, target="numpy")
    arrays = states_of(other, constant)
    got, expected = general(parameters=vector, **arrays), special(**arrays)
    got, expected = (r if isinstance(r, dict) else {"out": r} for r in (got, expected))
    for key, value in expected.items():
        if key not in FIGURES:
            scale = np.max(np.abs(value), initial=1e-300)
            assert np.max(np.abs(got[key] - value), initial=0.0) < 1e-11 * scale, key


@pytest.mark.thinned
@pytest.mark.costly
@pytest.mark.parametrize(("name", "what"), ROBOTS_AND_MODELS)
def test_body_is_hardly_longer_than_the_constant_form(name, what):
    """Against the robot with its own numbers, and with numbers that keep only what is declared."""
    robot = library_robot(name)
    found = model(robot, what)
    shapes = {"parameters": (len(robot.numbers.names()),), **found.inputs}
    parts = Specification(found.function, robot, shapes, groups=GROUPS, options=found.options).split()
    body = count(parts.body).total
    moved = robot.with_numbers(robot.numbers.sample())
    assert body <= 1.15 * count(model(moved, what).program()).total
    assert body <= 1.15 * count(found.program()).total


@pytest.mark.parametrize(("name", "what"), [("fivebar", "inverse_dynamics"), ("3rrr", "forward_dynamics")])
def test_identities_hold_for_all_numbers(name, what):
    """The body with identities, at numbers far from those at which they were sought."""
    robot = library_robot(name)
    vector = other_numbers(robot, 17, 0.08)
    other = robot.with_numbers(vector)
    found, constant = model(robot, what), model(other, what)
    shapes = {"parameters": (len(vector),), **found.inputs}
    parts = Specification(found.function, robot, shapes, groups=GROUPS, options=found.options).split()
    exact = constant.program(minimise=False)
    arrays = states_of(other, constant)
    for k in range(4):
        state = [value for array in arrays.values() for value in array[k].ravel().tolist()]
        prepared = parts.prologue.evaluate(vector.tolist())
        got = np.array(parts.body.evaluate([*prepared, *state]), dtype=float)
        expected = np.array(exact.evaluate(state), dtype=float)
        assert np.max(np.abs(got - expected)) < 1e-11 * np.max(np.abs(expected))


@pytest.mark.slow
def test_equal_by_accident_is_not_taken_for_equal():
    """Two lengths that are written apart are two numbers, though they are equal now."""
    robot = library_robot("3rrr")
    names = robot.numbers.names("geometry")
    vector = robot.numbers.vector()
    assert vector[names.index("crank")] == vector[names.index("coupler")]
    changed = vector.copy()
    changed[names.index("coupler")] *= 1.1
    found = model(robot, "jacobian")
    shapes = {"parameters": (len(vector),), **found.inputs}
    parts = Specification(found.function, robot, shapes, groups=GROUPS, options=found.options).split()
    other = robot.with_numbers(changed)
    x = nacelle.reference_pose(other)
    prepared = parts.prologue.evaluate(changed.tolist())
    got = np.array(parts.body.evaluate([*prepared, *x.tolist()]), dtype=float)
    expected = np.ravel(nacelle.jacobian(other, x).inverse)
    np.testing.assert_allclose(got, expected, rtol=1e-10)


@pytest.mark.slow
@settings(max_examples=12)
@given(st.integers(0, 10_000), st.sampled_from(["fivebar", "prrrp", "delta-codourey", "3rrr"]))
def test_other_robots_of_a_kind(seed, name):
    """Any robot of a family, from any other one of it: numbers up to a tenth apart."""
    first = library_robot(name)
    first = first.with_numbers(other_numbers(first, seed, 0.05))
    vector = other_numbers(first, seed + 1, 0.05)
    second = first.with_numbers(vector)
    states = random_states(second, 3, seed=seed)
    rows = (states.x, states.y, states.v, states.a, np.zeros_like(states.a))
    settings_ = {"minimise": False, "target": "numpy"}
    got = compile_function(reference.inverse, first, parameters="input", **settings_)(vector, *rows)
    expected = compile_function(reference.inverse, second, **settings_)(*rows)
    for key in ("force", "generalised"):
        scale = np.max(np.abs(expected[key]))
        assert np.max(np.abs(got[key] - expected[key])) < 1e-12 * scale * 10


@pytest.mark.slow
@settings(max_examples=4)
@given(st.integers(0, 10_000), st.lists(st.sampled_from(["UPS", "PUS", "RUS"]), min_size=6, max_size=6))
def test_random_hexapods(seed, kinds):
    """Robots without a description: inertia and gravity themselves are free."""
    robot = with_random_inertias(hexapod(seed, kinds), seed)
    groups = ("inertia", "gravity")
    vector = robot.numbers.vector(*groups) * 1.1
    other = robot.with_numbers(vector, *groups)
    states = random_states(robot, 2)
    rows = (states.x, states.y, states.v)
    settings_ = {"minimise": False, "target": "numpy"}
    got = compile_function(reference.bias, robot, parameters=groups, **settings_)(vector, *rows)
    expected = compile_function(reference.bias, other, **settings_)(*rows)
    for key in ("h", "M", "A"):
        assert np.max(np.abs(got[key] - expected[key])) < 1e-11 * np.max(np.abs(expected[key]))


@pytest.fixture(scope="module")
def fivebar():
    robot = library_robot("fivebar")
    return robot, compile_function(reference.inverse, robot, parameters="input", cache=False)


def test_batches_of_robots_and_states(fivebar, monkeypatch):
    """Every shape that broadcasts, in one part and in many, gives what single calls give."""
    robot, compiled = fivebar
    rng = np.random.default_rng(0)
    states = random_states(robot, 3)
    numbers = robot.numbers.vector() * rng.uniform(0.98, 1.02, (4, 1, len(robot.numbers.names())))
    rows = (states.x, states.y, states.v, states.a, np.zeros_like(states.a))
    one_by_one = np.array(
        [[compiled(p[0], *(row[k] for row in rows))["force"] for k in range(3)] for p in numbers]
    )
    for size in (16_384, 5, 2, 1):
        monkeypatch.setattr(compile_module, "_SAMPLES_PREPARED", size)
        np.testing.assert_allclose(compiled(numbers, *rows)["force"], one_by_one, rtol=1e-13)
        last = np.moveaxis(numbers, 0, 1)
        turned = compiled(last, *(row[:, None] for row in rows))["force"]
        np.testing.assert_allclose(np.moveaxis(turned, 0, 1), one_by_one, rtol=1e-13)
        pairs = compiled(numbers[:3, 0], *rows)["force"]
        np.testing.assert_allclose(pairs, one_by_one[np.arange(3), np.arange(3)], rtol=1e-13)
        single = compiled(numbers[0, 0], *rows)["force"]
        np.testing.assert_allclose(single, one_by_one[0], rtol=1e-13)


def test_parts_and_buffers(fivebar):
    robot, compiled = fivebar
    states = random_states(robot, 1)
    vector = robot.numbers.vector()
    rows = {"x": states.x[0], "y": states.y[0], "v": states.v[0], "a": states.a[0], "load": np.zeros(2)}
    expected = compiled(vector, **rows)["force"]
    prepared = compiled.prologue(vector)
    np.testing.assert_array_equal(compiled.body(prepared, **rows)["force"], expected)
    bound = compiled.bind(parameters=vector.copy(), **{k: np.array(v) for k, v in rows.items()})
    bound()
    np.testing.assert_allclose(bound["force"], expected, rtol=1e-13)
    flat = compiled.program.evaluate([*vector, *np.concatenate(list(rows.values()))])
    np.testing.assert_allclose(flat[: len(expected)], expected, rtol=1e-12)
    assert "inverse_prepare" in compiled.source("c")
    with pytest.raises(CompileError, match="has no input 'masses'"):
        compiled(vector, masses=1.0, **rows)
    with pytest.raises(CompileError, match="has shape"):
        compiled(vector[:-1], **rows)


def test_cache_tells_declarations_apart(store):
    """Two robots that are equal, but declare other numbers to be free, are compiled each for itself."""
    shared = library_robot("fivebar")
    apart = nacelle.loads(shared.to_yaml())
    assert shared == apart
    one = compile_function(reference.gravity, shared, parameters="input", cache=store)
    two = compile_function(reference.gravity, apart, parameters="input", cache=store)
    assert one.inputs["parameters"] != two.inputs["parameters"]
    assert not two.from_cache
    again = compile_function(reference.gravity, shared, parameters="input", cache=store)
    assert again.from_cache
    states = random_states(shared, 1)
    numbers = [robot.numbers.vector() for robot in (shared, apart)]
    a, b = (f(p, states.x, states.y)["g"] for f, p in zip((again, two), numbers, strict=True))
    np.testing.assert_allclose(a, b, rtol=1e-12)


@pytest.mark.costly
@pytest.mark.parametrize("name", ["fivebar", "delta"])
def test_compiled_derivatives(name):
    """Derivatives by all numbers against differences of the unfolded program with 40 digits."""
    robot = library_robot(name)
    found = model(robot, "inverse_dynamics")
    compiled = compile_function(
        found.function, robot, inputs=found.inputs, options=found.options, parameters="input",
        derivatives=("force",), minimise=False, target="numpy",
    )  # fmt: skip
    arrays = states_of(robot, found, 1)
    vector = robot.numbers.vector()
    got = compiled(parameters=vector, **arrays)["d_force_d_parameters"][0]
    plain = compile_function(
        found.function, robot, inputs=found.inputs, options=found.options, parameters="input",
        minimise=False, target="numpy",
    ).program  # fmt: skip
    rest = [mpmath.mpf(float(v)) for a in arrays.values() for v in np.ravel(a)]
    with mpmath.workdps(40):
        numbers = [mpmath.mpf(v) for v in vector]
        h = mpmath.mpf(10) ** -13
        for k in range(len(vector)):
            ends = []
            for sign in (1, -1):
                moved = list(numbers)
                moved[k] = moved[k] + sign * h
                ends.append(plain.evaluate([*moved, *rest]))
            slope = np.array([float((a - b) / (2 * h)) for a, b in zip(*ends, strict=True)])
            assert np.allclose(got[:, k], slope, rtol=1e-10, atol=1e-10 * np.max(np.abs(slope)) + 1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["fivebar", "3rps"])
def test_derivatives_of_the_dynamics(name):
    robot = library_robot(name)
    states = random_states(robot, 1)
    x, v, a = states.x[0], states.v[0], states.a[0]
    found = nacelle.dynamics.dynamics_derivatives(robot, x, v, a, numbers=GROUPS, parameters="friction")
    assert found.number_names == robot.numbers.names()
    assert found.parameters.shape[-1] == len(robot.parameter_names("friction"))
    vector = robot.numbers.vector()
    for k in range(0, len(vector), 5):
        # Of the fourth order: the second one is not much better than the tolerance.
        h = 1e-4 * abs(vector[k])
        forces = {}
        for steps in (-2, -1, 1, 2):
            moved = vector.copy()
            moved[k] += steps * h
            forces[steps] = nacelle.inverse_dynamics(robot.with_numbers(moved), x, v, a).tau
        slope = (8.0 * (forces[1] - forces[-1]) - (forces[2] - forces[-2])) / (12.0 * h)
        assert np.allclose(found.numbers[:, k], slope, rtol=1e-6, atol=1e-6 * np.max(np.abs(slope)) + 1e-8)


@pytest.mark.slow
def test_numbers_that_must_be_equal(store):
    """Lengths of a parallelogram that are written one by one cannot vary one by one."""
    text = nacelle.robots.text("orthoglide").replace("at: [$rod, 0, 0]", "at: [310 mm, 0, 0]")
    robot = nacelle.loads(text)
    with pytest.raises(CompileError, match="one constant of the description"):
        compile_function(reference.inverse, robot, parameters=["geometry"], cache=store)
    compile_function(reference.inverse, robot, parameters=["friction"], cache=store, minimise=False)


def test_axes_that_meet_by_accident_need_not_meet_where_numbers_are_inputs():
    """Legs in closed form at the numbers as described alone: their unknowns are an input."""
    robot = with_random_inertias(random_robot("6 RRRS with axes that meet", 11), 5)
    assert mechanism_of(robot).has_closed_form
    found = model(robot).compile(parameters="input", minimise=False, target="numpy")
    vector = other_numbers(robot, part=0.003)
    other = robot.with_numbers(vector)
    x, y = mechanism_of(other).reference
    v, a = np.random.default_rng(1).normal(size=(2, 6))
    expected = reference.inverse(other, x, y, v, a, np.zeros(6))["force"]
    assert found.inputs["y"] == y.shape == (18,)
    force = found(parameters=vector, x=x, y=y, v=v, a=a)
    assert np.max(np.abs(force - expected)) < 1e-9 * np.max(np.abs(expected))
    with pytest.raises(ExportError, match="leave geometry out"):
        entries(robot, "robot", ExportRequest(("inverse_dynamics",), parameters=("geometry",)))
    with pytest.raises(KinematicsError, match="one by one"):
        nacelle.simulation.simulate_many(robot, x, until=0.01, parameters=vector)


def test_derivatives_need_parameters():
    with pytest.raises(CompileError, match="by parameters"):
        compile_function(reference.inverse, library_robot("fivebar"), derivatives=("force",))
    with pytest.raises(CompileError, match="no output 'forces'"):
        compile_function(
            reference.inverse,
            library_robot("fivebar"),
            parameters="inertia",
            derivatives=("forces",),
            target="numpy",
        )
