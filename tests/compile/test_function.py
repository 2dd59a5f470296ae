"""Compiled physics: the same numbers as the uncompiled path, batches, binding, the cache."""

import json
import os
import stat
import subprocess
import sys
import types
import warnings
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

import nacelle
from nacelle.compile import compile_function, make_program
from nacelle.dynamics.physics import Physics
from nacelle.emit.store import Store
from nacelle.errors import CompileError
from nacelle.program.identities.values import PreciseInputs
from nacelle.program.precise import decimal_context
from nacelle.spatial.batch import from_samples, to_samples
from nacelle.spatial.physics import draw_inputs_with, physics
from nacelle.spatial.pose import Pose
from nacelle.spatial.rotation import rotation_quat
from nacelle.tree.closure import closure_state
from nacelle.tree.spanning_tree import tree_kinematics

FOLDER = Path(__file__).parent


@physics(position=(3,), quat_xyzw=(4,), q=lambda robot: (robot.nq,))
def closures(robot, position, quat_xyzw, q):
    state = closure_state(robot, tree_kinematics(robot, Pose(rotation_quat(quat_xyzw), position), q))
    return {"residual": state.residual, "jacobian": state.jacobian}


SHAPES = {"x": (3,), "k": ()}


def scaled_norm(x, k):
    return (x @ x) * k


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "cache")


def samples(robot, count, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(count, 3)), rng.normal(size=(count, 4)), rng.normal(size=(count, robot.nq))


@pytest.mark.costly
@pytest.mark.parametrize("name", ["fivebar", "delta", "palida", "c5", "orthoglide", "quattro"])
@pytest.mark.parametrize("target", ["jit", "numpy"])
def test_compiled_equals_uncompiled(name, target, store):
    """Compiled and uncompiled agree to rounding: the Jacobian's entries are sums of products."""
    robot = nacelle.load(name)
    arrays = samples(robot, 50)
    compiled = compile_function(closures, robot, target=target, cache=store)
    expected = closures(robot, *(from_samples(array, 1) for array in arrays))
    got = compiled(*arrays)
    for key, value in expected.items():
        reference = to_samples(value)
        assert got[key].shape == reference.shape
        assert np.max(np.abs(got[key] - reference)) < 1e-13 * max(1.0, np.max(np.abs(reference)))


@pytest.mark.costly
@pytest.mark.parametrize("parameters", ["input", "geometry", ("geometry", "gravity")])
def test_parameters_as_inputs(parameters, store):
    robot = nacelle.load("fivebar")
    arrays = samples(robot, 20)
    constant = compile_function(closures, robot, cache=store)
    general = compile_function(closures, robot, parameters=parameters, cache=store)
    groups = () if parameters == "input" else (parameters,) if isinstance(parameters, str) else parameters
    assert list(general.inputs) == ["parameters", "position", "quat_xyzw", "q"]
    assert general.count.total == constant.count.total
    vector = robot.numbers.vector(*groups)
    for key, value in constant(*arrays).items():
        np.testing.assert_allclose(general(vector, *arrays)[key], value, rtol=0, atol=1e-14)
    longer = robot.with_numbers(1.1 * robot.numbers.vector("geometry"), "geometry")
    expected = compile_function(closures, longer, cache=store)(*arrays)
    for key, value in expected.items():
        np.testing.assert_allclose(
            general(longer.numbers.vector(*groups), *arrays)[key], value, rtol=0, atol=1e-14
        )


def test_batches_broadcast(store):
    f = compile_function(scaled_norm, inputs=SHAPES, cache=store)
    rng = np.random.default_rng(1)
    x, k = rng.normal(size=(4, 1, 3)), rng.normal(size=5)
    np.testing.assert_allclose(f(x, k), (x**2).sum(-1) * k, rtol=1e-15)
    assert f(x, k).shape == (4, 5)
    assert f(x[0, 0], 2.0).shape == ()
    assert f(np.zeros((0, 3)), 2.0).shape == (0,)
    np.testing.assert_allclose(f(k=k, x=x), f(x, k))
    np.testing.assert_allclose(f([1, 2, 3], 1), 14.0)
    not_contiguous = np.asfortranarray(rng.normal(size=(100, 3)))[::2]
    np.testing.assert_allclose(f(not_contiguous, 1.0), (not_contiguous**2).sum(-1), rtol=1e-15)
    many = rng.normal(size=(20_001, 3))
    np.testing.assert_array_equal(f(many, 1.0, threads=2), f(many, 1.0, threads=1))


def test_one_output_is_an_array_and_several_are_a_dict(store):
    f = compile_function(lambda x: (x, 2.0 * x), inputs={"x": (2,)}, cache=store)
    assert set(f(np.ones(2))) == {"out0", "out1"}
    assert list(f.outputs.items()) == [("out0", (2,)), ("out1", (2,))]


def test_wrong_calls(store):
    f = compile_function(scaled_norm, inputs=SHAPES, cache=store)
    for call, words in (
        (lambda: f(np.ones(3)), "needs the inputs k"),
        (lambda: f(np.ones(4), 1.0), r"shape \(..., 3\), got \(4,\)"),
        (lambda: f(np.ones(3), 1.0, 2.0), "takes 2 inputs"),
        (lambda: f(np.ones(3), kk=1.0), "did you mean 'k'"),
        (lambda: f(np.ones(3), 1.0, k=1.0), "given twice"),
        (lambda: f(np.ones((4, 3)), np.ones(5)), "do not broadcast"),
        (lambda: f.bind(y=np.ones(3)), "no input or output 'y'"),
        (lambda: f.bind(x=np.ones(4)), "C-contiguous float64"),
        (lambda: f.bind(x=np.ones(3, dtype=np.float32)), "C-contiguous float64"),
    ):
        with pytest.raises(CompileError, match=words):
            call()


def test_functions_that_cannot_be_compiled(store):
    robot = nacelle.load("fivebar")
    for call, words in (
        (lambda: compile_function(lambda r, x: x, robot), "does not declare its inputs"),
        (lambda: compile_function(lambda x: x if x > 0 else -x, inputs={"x": ()}), "cannot be traced"),
        (lambda: compile_function(scaled_norm, inputs=SHAPES, target="c"), "source only"),
        (lambda: compile_function(scaled_norm, inputs=SHAPES, target="jti"), "did you mean 'jit'"),
        (
            lambda: compile_function(scaled_norm, inputs=SHAPES, target="opencl"),
            "jit, c, cuda, numpy, python, jax, torch$",
        ),
        (lambda: compile_function(closures, robot, parameters="masses"), "parameters='masses'"),
        (lambda: compile_function(scaled_norm, inputs=SHAPES, parameters="input"), "need a robot"),
    ):
        with pytest.raises(CompileError, match=words):
            call()


def test_binding(store):
    robot = nacelle.load("delta")
    compiled = compile_function(closures, robot, cache=store)
    arrays = samples(robot, 10)
    expected = compiled(*arrays)
    residual = np.zeros(compiled.outputs["residual"])
    bound = compiled.bind(residual=residual)
    for k in range(10):
        for name, array in zip(compiled.inputs, arrays, strict=True):
            bound[name][:] = array[k]
        bound()
        np.testing.assert_array_equal(residual, expected["residual"][k])
        np.testing.assert_array_equal(bound["jacobian"], expected["jacobian"][k])


def test_sources(store):
    compiled = compile_function(scaled_norm, inputs=SHAPES, cache=store)
    assert "scaled_norm" in compiled.source("c")
    assert "def scaled_norm" in compiled.source("python")
    assert "define" in compiled.source("jit")
    assert compiled.count.total == 6
    assert compiled.cost == 6.0
    assert "6 operations" in repr(compiled)


# ---- the cache

SCRIPT = """
import json, sys
import nacelle.program.trace as t
calls = []
original = t.Trace.program
t.Trace.program = lambda self: calls.append(1) or original(self)
import nacelle
from test_function import closures
f = nacelle.compile(closures, nacelle.load("fivebar"))
value = f([0.1, 0.2, 0.0], [0, 0, 0, 1], [0.3, 0.4, 0.5, 0.6])
print(json.dumps([len(calls), f.from_cache, value["residual"].tolist(), f.count.total]))
"""


def in_a_process(folder):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env={
            **os.environ,
            "NACELLE_CACHE": str(folder),
            "PYTHONPATH": f"{FOLDER}{os.pathsep}{FOLDER.parent}",
        },
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


@pytest.mark.slow
def test_a_second_process_does_not_trace(tmp_path):
    folder = tmp_path / "cache"
    first, second = in_a_process(folder), in_a_process(folder)
    assert first[:2] == [1, False]
    assert second[:2] == [0, True]
    assert first[2:] == second[2:]
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    (entry,) = folder.iterdir()
    # Damage in any place: rebuilt, never trusted.
    whole = entry.read_bytes()
    for broken in (b"", whole[:50], whole[:-1], whole[:200] + b"X" + whole[201:], b"#!/bin/sh\n" + whole):
        entry.write_bytes(broken)
        assert in_a_process(folder) == first
        assert entry.read_bytes() == whole


@pytest.mark.slow
def test_processes_at_the_same_time(tmp_path):
    folder = tmp_path / "cache"
    running = [
        subprocess.Popen(
            [sys.executable, "-c", SCRIPT],
            env={
                **os.environ,
                "NACELLE_CACHE": str(folder),
                "PYTHONPATH": f"{FOLDER}{os.pathsep}{FOLDER.parent}",
            },
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    results = [json.loads(process.communicate(timeout=120)[0]) for process in running]
    assert len({json.dumps(result[2:]) for result in results}) == 1
    assert [entry.name for entry in folder.iterdir() if entry.name.startswith(".")] == []


def test_what_changes_the_key(store):
    """Another robot, other numbers, other code, other options: another entry."""
    robot = nacelle.load("fivebar")
    assert not compile_function(closures, robot, cache=store).from_cache
    assert compile_function(closures, robot, cache=store).from_cache
    moved = robot.with_parameters(robot.parameter_vector("gravity") + 1.0, "gravity")
    assert not compile_function(closures, moved, cache=store).from_cache
    assert not compile_function(closures, robot, parameters="input", cache=store).from_cache
    assert not compile_function(closures, robot, minimise=False, cache=store).from_cache
    assert not compile_function(closures, robot, cache=False).from_cache
    scope = {}
    for number in ("2.0", "3.0"):
        exec(f"def f(x):\n    return g(x) * {number}\ndef g(x):\n    return x + 1.0\n", scope)
        assert not compile_function(scope["f"], inputs={"x": ()}, cache=store).from_cache
        assert compile_function(scope["f"], inputs={"x": ()}, cache=store).from_cache
    exec("def g(x):\n    return x + 2.0\n", scope)
    changed = compile_function(scope["f"], inputs={"x": ()}, cache=store)
    assert not changed.from_cache
    assert changed(1.0) == 9.0
    exec("def h(x, *, physics):\n    return 2.0 * x if physics.friction else x\n", scope)
    for counted in (Physics(), Physics(friction=False), Physics(smooth=0.1)):
        for known in (False, True):
            options = {"physics": counted}
            made = compile_function(scope["h"], inputs={"x": ()}, options=options, cache=store)
            assert made.from_cache == known


def drawn(robot, shapes):
    """Two inputs that are the cosine and sine of an angle, and another."""
    over = decimal_context().divide
    triples = [(3, 4, 5), (5, 12, 13), (8, 15, 17), (7, 24, 25), (20, 21, 29), (9, 40, 41)]
    rows = [(*(over(Decimal(k), Decimal(c)) for k in (a, b)), Decimal(a) / 8) for a, b, c in triples]
    return PreciseInputs(tuple(rows[:4]), tuple(rows[4:]), (1.0, 1.0, 0.0))


def seen_otherwise(robot, shapes):
    return None


def rotated_length(c, s, x):
    return (c * x) * (c * x) + (s * x) * (s * x)


def test_identities_of_declared_samples(store):
    """With samples cos^2 + sin^2 is 1; the literal program stays as it is; the cache knows of the samples."""
    shapes = {"c": (), "s": (), "x": ()}
    plain = compile_function(rotated_length, inputs=shapes, cache=store)
    assert plain.count.total > 1
    known = draw_inputs_with(drawn)(types.FunctionType(rotated_length.__code__, globals(), "rotated_length"))
    found = compile_function(known, inputs=shapes, cache=store)
    assert not found.from_cache
    assert found.count.total == 1
    assert found(0.6, 0.8, 3.0) == pytest.approx(9.0)
    assert compile_function(known, inputs=shapes, cache=store).from_cache
    assert make_program(known, None, shapes, minimise=False) == make_program(
        rotated_length, None, shapes, minimise=False
    )
    other = draw_inputs_with(seen_otherwise)(
        types.FunctionType(rotated_length.__code__, globals(), "rotated_length")
    )
    without = compile_function(other, inputs=shapes, cache=store)
    assert not without.from_cache
    assert without.count == plain.count


def test_closures_over_values_are_not_kept(store):
    def make(k):
        return lambda x: k * x

    for k in (2.0, 3.0):
        f = compile_function(make(k), inputs={"x": ()}, cache=store)
        assert not f.from_cache
        assert f(1.0) == k


def test_a_folder_that_others_can_write_is_not_used(tmp_path):
    folder = tmp_path / "open"
    folder.mkdir()
    folder.chmod(0o777)
    store = Store(folder)
    assert not store.put("key", b"data")
    assert not list(folder.iterdir())
    assert Store(tmp_path / "own").put("key", b"data")
    assert Store(tmp_path / "own").get("key") == b"data"
    assert Store(tmp_path / "own").get("other") is None
    file = tmp_path / "file"
    file.write_text("")
    assert not Store(file / "below").put("key", b"data")


@pytest.mark.slow
def test_without_llvmlite_numpy_serves_with_one_warning():
    script = (
        "import sys, warnings; sys.modules['llvmlite'] = None\n"
        "import nacelle\n"
        "with warnings.catch_warnings(record=True) as caught:\n"
        "    warnings.simplefilter('always')\n"
        "    for k in range(2):\n"
        "        f = nacelle.compile(lambda x: x * x, inputs={'x': ()})\n"
        "    robot = nacelle.load('fivebar')\n"
        "    pose = nacelle.reference_pose(robot)\n"
        "    force = nacelle.inverse_dynamics(robot, pose).tau\n"
        "    nacelle.forward_kinematics(robot, nacelle.inverse_kinematics(robot, pose).q)\n"
        "    run = nacelle.simulate(robot, pose, tau=force, until=0.003,"
        "        integration=nacelle.simulation.Integration('rk4'))\n"
        "    assert abs(run.x[-1] - pose).max() < 1e-9, run.x\n"
        "    assert nacelle.model(robot, 'inverse_dynamics').compile().target == 'numpy'\n"
        "print(f.target, f(3.0), len(caught), caught[0].category.__name__, caught[0].message)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split()[:4] == ["numpy", "9.0", "1", "CompilerWarning"]
    assert "llvmlite" in done.stdout


def test_no_warnings_from_special_values(store):
    f = compile_function(scaled_norm, inputs=SHAPES, cache=store)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        got = f(np.array([[np.nan, 1, 1], [np.inf, 0, 0], [1, 0, 0]]), 1.0)
    assert np.isnan(got[0])
    assert np.isinf(got[1])
    assert got[2] == 1.0


def test_programs_are_checked():
    robot = nacelle.load("fivebar")
    shapes = {"position": (3,), "quat_xyzw": (4,), "q": (robot.nq,)}
    for minimised in (False, True):
        make_program(closures, robot, shapes, minimise=minimised).check()
