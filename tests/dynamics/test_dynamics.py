"""Dynamics: balances of power, inverse and forward, options, batches; library and random robots."""

from __future__ import annotations

import subprocess
import sys
from functools import partial

import numpy as np
import pytest

import nacelle
from nacelle.dynamics.formulations import reference
from nacelle.dynamics.formulations.choice import FORMULATIONS
from nacelle.kinematics import kinematic_model as kinematics
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from support.compare import relative_error
from support.leg_robots import CASES
from support.library import NAMES, library_robot
from support.random_inertia import with_random_friction, with_random_inertias
from support.uncompiled import ALL, SharedStates, any_robot, difference, run_uncompiled, stencil
from support.uncompiled import path_states as states

Array = np.ndarray
RANDOM = tuple(CASES)


def robot_of(name: str) -> nacelle.Robot:
    """A random robot, or one of the library, with random inertias and friction everywhere."""
    robot = CASES[name](1).robot if name in CASES else any_robot(name)
    return with_random_friction(with_random_inertias(robot, 3), 4)


def served(robot: nacelle.Robot) -> list[str]:
    """The other formulations that serve a robot."""
    mechanism = mechanism_of(robot)
    return [
        name
        for name, formulation in FORMULATIONS.items()
        if name != "tree" and not formulation.reason_not(mechanism)
    ]


def test_every_formulation_serves_many() -> None:
    counts = {name: 0 for name in nacelle.FORMULATIONS if name != "tree"}
    for name in (*NAMES, *RANDOM):
        robot = CASES[name](1).robot if name in CASES else any_robot(name)
        for formulation in served(robot):
            counts[formulation] += 1
    everyone = len(NAMES) + len(RANDOM)
    assert counts["bodies"] == counts["jourdain"] == everyone
    assert counts["legs"] > 0.7 * everyone
    assert counts["elements"] > 0.6 * everyone


@pytest.mark.parametrize("name", [*ALL, *RANDOM])
def test_power_forms_and_returns(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The change of energy is the power of actuators less what friction takes; formulations agree."""
    robot = robot_of(name)
    run = SharedStates(monkeypatch).run
    times = np.array([0.2, 0.45, 0.8])
    x, y, v, a = states(robot, times)
    load = np.zeros_like(v)
    tree = run(reference.inverse, robot, x, y, v, a, load)
    for formulation in served(robot):
        found = run(partial(reference.inverse, formulation=formulation), robot, x, y, v, a, load)
        assert relative_error(found["generalised"], tree["generalised"]) < 1e-11, formulation
        assert relative_error(found["force"], tree["force"]) < 1e-10, formulation

    motion = run_uncompiled(kinematics.joint_motions, robot, x, y, v, a)
    energy = run(reference.energies, robot, x, y, v)
    assert np.all(energy["dissipation"] >= 0.0)
    assert np.all(energy["kinetic"] > 0.0)
    around = stencil(times)
    xs, ys, vs, _ = states(robot, around.ravel())
    near = run(reference.energies, robot, xs, ys, vs)
    total = (near["kinetic"] + near["potential"]).reshape(around.shape)
    power = np.sum(tree["force"] * motion["active_rate"], axis=-1)
    # Ninth-order differences of an energy of size E over steps of 1e-2 s keep about eleven digits of E.
    scale = np.max(np.abs(power)) + np.max(np.abs(energy["dissipation"])) + 0.1 * np.max(np.abs(total))
    assert np.max(np.abs(difference(total) - (power - energy["dissipation"]))) < 1e-9 * scale

    back = run(reference.forward, robot, x, y, v, tree["force"], load)
    M = run(reference.inertia, robot, x, y)["M"]
    assert relative_error(M, np.swapaxes(M, -1, -2)) < 1e-13
    assert np.all(np.linalg.eigvalsh(M) > 0.0)
    assert relative_error(back["acceleration"], a) < 1e-9


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


def test_external_wrenches_do_work() -> None:
    robot = library_robot("quattro")
    x, v = nacelle.reference_pose(robot), np.array([0.3, -0.2, 0.1, 0.8])
    names = [robot.bodies[3].name, robot.bodies[7].name]
    rng = np.random.default_rng(0)
    external = {name: rng.normal(size=6) for name in names}
    with_them = nacelle.inverse_dynamics(robot, x, v, external=external).force
    without = nacelle.inverse_dynamics(robot, x, v).force
    rates = nacelle.joint_motion(robot, x, v).actuators[1]
    twist = nacelle.body_motion(robot, x, v).twist
    power = sum(external[name] @ twist[robot.body(name)] for name in names)
    assert (without - with_them) @ rates == pytest.approx(power, rel=1e-12)
    tau = nacelle.inverse_dynamics(robot, x, v, np.ones(4), external=external).force
    assert np.allclose(nacelle.forward_dynamics(robot, x, v, tau, external=external).acceleration, 1.0)


def test_gravity_is_the_gradient_of_the_potential() -> None:
    robot = library_robot("gough-stewart")
    x = nacelle.reference_pose(robot)
    g = nacelle.gravity_forces(robot, x)
    for k in range(3):
        step = np.zeros(7)
        step[k] = 1e-4
        slope = (nacelle.potential_energy(robot, x + step) - nacelle.potential_energy(robot, x - step)) / 2e-4
        assert slope == pytest.approx(g[k], rel=1e-7)
    still = nacelle.inverse_dynamics(robot, x, friction=False).force
    np.testing.assert_allclose(nacelle.gravity_forces(robot, x, coordinates="actuators"), still, rtol=1e-11)


def test_passive_friction_acts_on_both_bodies() -> None:
    """Five-bar with friction in an elbow alone: by virtual power each motor feels the elbow's own rate."""
    robot = library_robot("fivebar")
    x, v = nacelle.reference_pose(robot) + np.array([0.03, 0.01]), np.array([0.4, -0.3])
    rubbed = [k for k, joint in enumerate(robot.joints) if any(joint.friction)]
    assert len(rubbed) >= 2
    with_friction = nacelle.inverse_dynamics(robot, x, v).force
    without = nacelle.inverse_dynamics(robot, x, v, friction=False).force
    J = nacelle.jacobian(robot, x)
    rates = nacelle.joint_motion(robot, x, v).rate
    G = nacelle.joint_jacobian(robot, x)
    expected = np.zeros(2)
    for k in rubbed:
        if k < robot.tree:
            place = robot.v_slices[k].start
            rate, row = rates[place], G[place]
        else:
            # The joint at the point turns by the difference of the two distal bars' rates.
            twists = nacelle.body_jacobian(robot, x)[:, 5]
            row = twists[robot.joints[k].successor] - twists[robot.joints[k].predecessor]
            rate = row @ v
        force = sum(
            term.coefficient * {"viscous": rate, "coulomb": np.sign(rate)}[term.basis]
            for term in robot.joints[k].friction[0]
        )
        expected += row * force
    np.testing.assert_allclose(with_friction - without, J.direct.T @ expected, rtol=1e-10)


def test_sign_of_zero_and_smooth_friction() -> None:
    robot = library_robot("delta")
    x = nacelle.reference_pose(robot)
    rest = nacelle.inverse_dynamics(robot, x).force
    np.testing.assert_allclose(rest, nacelle.inverse_dynamics(robot, x, friction=False).force, rtol=1e-14)
    v = np.array([1e-6, 0.0, 0.0])
    hard = nacelle.inverse_dynamics(robot, x, v).force
    soft = nacelle.inverse_dynamics(robot, x, v, smooth=1e-3).force
    softest = nacelle.inverse_dynamics(robot, x, v, smooth=1e-12).force
    assert np.max(np.abs(hard - rest)) > 0.1
    assert np.max(np.abs(soft - rest)) < 0.01
    np.testing.assert_allclose(softest, hard, rtol=1e-12)


def test_redundant_actuation() -> None:
    robot = any_robot("redundant")
    x, _, v, a = (array[0] for array in states(robot, np.array([0.3])))
    A = nacelle.jacobian(robot, x).inverse
    count, n = A.shape
    assert count > n
    least = nacelle.inverse_dynamics(robot, x, v, a)
    np.testing.assert_allclose(A.T @ least.force, least.generalised, rtol=1e-10)
    np.testing.assert_allclose(least.force, np.linalg.pinv(A.T) @ least.generalised, rtol=1e-9)
    weights = np.linspace(1.0, 3.0, count)
    weighted = nacelle.inverse_dynamics(robot, x, v, a, weights=weights).force
    W = np.diag(1.0 / weights)
    expected = W @ A @ np.linalg.solve(A.T @ W @ A, least.generalised)
    np.testing.assert_allclose(weighted, expected, rtol=1e-9)
    preload = np.arange(1.0, count + 1.0)
    held = nacelle.inverse_dynamics(robot, x, v, a, preload=preload).force
    inner = preload - A @ np.linalg.lstsq(A, preload, rcond=None)[0]
    np.testing.assert_allclose(held - least.force, inner, atol=1e-9)
    np.testing.assert_allclose(A.T @ held, least.generalised, rtol=1e-9)


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
    assert found.pivot[worst] < 1e-3
    assert np.nanmin(found.pivot) == found.pivot[worst]
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


def test_sizing_counts_what_the_motion_asks_for() -> None:
    robot = library_robot("delta")
    course = nacelle.Circle(nacelle.reference_pose(robot), 0.1, motion=robot.motion, duration=0.5)
    sizing = nacelle.size_motors(robot, course, rate=400.0)
    assert len(sizing.times) == 201
    for k, load in enumerate(sizing.loads):
        assert load.peak_force == np.max(np.abs(sizing.force[:, k]))
        assert load.rms_force < load.peak_force
        assert load.peak_power == np.max(sizing.force[:, k] * sizing.rate[:, k])
        assert load.within
    frozen = nacelle.size_motors(robot, nacelle.time_scaled(course, 0.1))
    assert not all(load.within for load in frozen.loads)


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
