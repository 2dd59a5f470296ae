"""Dynamics: balances of power, inverse and forward, options, batches; library and random robots."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import nacelle
from nacelle.dynamics.formulations import reference
from support.compare import relative_error
from support.library import library_robot
from support.uncompiled import any_robot, run_uncompiled
from support.uncompiled import path_states as states

Array = np.ndarray


@pytest.mark.parametrize("name", ["fivebar", "3rrr", "delta-codourey", "c5", "3rps"])
def test_compiled_and_uncompiled_agree(name: str) -> None:
    robot = library_robot(name)
    x, y, v, a = states(robot, np.linspace(0.1, 0.9, 7))
    batches = run_uncompiled(reference.inverse, robot, x, y, v, a, np.zeros_like(v))
    native = nacelle.inverse_dynamics(robot, x, v, a)
    assert relative_error(native.force, batches["force"]) < 1e-11
    assert not native.flags.any()
    back = nacelle.forward_dynamics(robot, x, v, native.force)
    assert relative_error(back.acceleration, a) < 1e-10
    M = nacelle.mass_matrix(robot, x, coordinates="actuators")
    q_acc = nacelle.joint_motion(robot, x, v, a).actuators[2]
    bias = nacelle.bias_forces(robot, x, v, coordinates="actuators")
    if len(robot.actuators) == robot.motion.n:
        assert relative_error(np.einsum("nij,nj->ni", M, q_acc) + bias, native.force) < 1e-11


def test_bad_rows_are_flagged() -> None:
    robot = library_robot("delta")
    x = np.tile(nacelle.reference_pose(robot), (6, 1))
    v = np.zeros((6, 3))
    x[1, 0], x[2, 2], v[3, 1] = np.nan, -9.0, np.inf
    found = nacelle.inverse_dynamics(robot, x, v)
    flags = [nacelle.Flag(flag) for flag in found.flags]
    assert flags[1] & nacelle.Flag.INVALID
    assert flags[2] & nacelle.Flag.UNREACHABLE
    assert flags[3] & nacelle.Flag.INVALID
    assert np.array_equal(np.isnan(found.force).all(axis=1), [False, True, True, True, False, False])
    forward = nacelle.forward_dynamics(robot, x, v, np.zeros(3))
    assert np.array_equal(np.isnan(forward.acceleration).all(axis=1), [False, True, True, True, False, False])


@pytest.mark.slow
def test_a_million_states_in_one_call() -> None:
    """Bad rows among them are flagged, the others right, and memory stays bounded."""
    script = """
import resource
import numpy as np
import nacelle
from nacelle.dynamics.formulations import reference

robot, count = nacelle.load("palida"), 10**6
rng = np.random.default_rng(0)
x = np.tile(nacelle.reference_pose(robot), (count, 1))
x[:, :3] += rng.uniform(-0.05, 0.05, (count, 3))
v, a = rng.normal(size=(2, count, 6))
bad = np.arange(0, count, 1000)
x[bad, 0] = np.nan
few = nacelle.inverse_dynamics(robot, x[1:50], v[1:50], a[1:50]).force
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
found = nacelle.inverse_dynamics(robot, x, v, a)
grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
assert np.array_equal(found.force[1:50], few)
assert np.array_equal(np.flatnonzero(found.flags), bad)
assert np.all(np.isnan(found.force[bad])) and np.isfinite(np.delete(found.force, bad, axis=0)).all()
# Forces, generalised forces, margins, pivots and flags are 170 MB; poses are copied once, 56 MB.
assert grown < 500.0, grown
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=300)


def test_at_a_parallel_singularity_nothing_huge_is_given() -> None:
    # Both distal bars of the five-bar on one line.
    robot = library_robot("fivebar")
    xs = np.stack([np.zeros(400), np.linspace(0.02, 0.3, 400)], axis=1)
    found = nacelle.inverse_dynamics(robot, xs, a=np.ones((400, 2)))
    measured = nacelle.singularities(robot, xs).parallel
    worst = int(np.nanargmin(measured))
    assert measured[worst] < 5e-3
    assert found.parallel_margin[worst] < 1e-3
    assert np.nanmin(found.parallel_margin) == found.parallel_margin[worst]
    assert found.condition[worst] > 100.0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"formulation": "lagrange"}, "no formulation is called 'lagrange'"),
        ({"external": {"plat": np.zeros(6)}}, "did you mean 'plate'?"),
        ({"external": {"plate": np.zeros(5)}}, r"has the shape \(..., 6\)"),
        ({"weights": [1.0]}, "3 actuators"),
        ({"weights": [1.0, -1.0, 1.0]}, "must be above zero"),
        ({"smooth": 0.0}, "smooth must be above zero"),
        ({"preload": [1.0]}, "preload has the shape"),
        ({"v": [1.0]}, "the twist v of delta has 3 numbers"),
    ],
)
def test_mistakes(options: dict, words: str) -> None:
    robot = library_robot("delta")
    with pytest.raises(nacelle.KinematicsError, match=words):
        nacelle.inverse_dynamics(robot, nacelle.reference_pose(robot), **options)


@pytest.mark.slow
def test_massive_slides_of_the_c5() -> None:
    """With massless cross slides the C5 with slides is the C5; with massive ones it is heavier."""
    plain, slides = library_robot("c5"), any_robot("c5-slides")
    x, _, v, a = states(plain, np.array([0.3]))
    names = [body.name for body in slides.bodies]
    inertia = slides.parameter_vector("inertia").reshape(-1, 10)
    first = len(names) - len(inertia)
    for k, name in enumerate(names[first:]):
        if name.endswith((".inner", ".outer")):
            inertia[k] = 0.0
    light = slides.with_parameters(inertia.ravel(), "inertia")
    heavy_force = nacelle.inverse_dynamics(slides, x, v, a, friction=False).force
    light_force = nacelle.inverse_dynamics(light, x, v, a, friction=False).force
    rotors = [joint.rotor_inertia for joint in slides.joints]
    expected = nacelle.inverse_dynamics(plain, x, v, a, friction=False).force
    if not any(rotors):
        accelerations = nacelle.joint_motion(plain, x, v, a).actuators[2]
        expected = (
            expected
            - np.array([plain.joints[b.joint].rotor_inertia for b in plain.actuators]) * accelerations
        )
    np.testing.assert_allclose(light_force, expected, rtol=1e-9)
    assert relative_error(heavy_force, light_force) > 0.05


def test_single_floats_and_batches_agree() -> None:
    robot = library_robot("3rps")
    x, y, v, a = states(robot, np.array([0.3]))
    one = reference.inverse(robot, x[0], y[0], v[0], a[0], np.zeros(3))
    many = run_uncompiled(reference.inverse, robot, x, y, v, a, np.zeros((1, 3)))
    np.testing.assert_allclose(one["force"], many["force"][0], rtol=1e-12)
