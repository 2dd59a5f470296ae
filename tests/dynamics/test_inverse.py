"""Dynamics: balances of power, inverse and forward, options, batches, wrenches, friction in a ball."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest

import nacelle
from nacelle.dynamics import reference
from nacelle.dynamics.friction import axis_friction, spherical_friction
from nacelle.errors import KinematicsError
from nacelle.model.joint import FrictionTerm
from support.compare import relative_error
from support.library import library_robot
from support.uncompiled import named_robot, run_uncompiled
from support.uncompiled import trajectory_states as states


@pytest.mark.parametrize("name", ["fivebar", "3rrr", "delta-codourey", "c5", "3rps"])
def test_compiled_and_uncompiled_agree(name: str) -> None:
    robot = library_robot(name)
    x, y, v, a = states(robot, np.linspace(0.1, 0.9, 7))
    batches = run_uncompiled(reference.inverse, robot, x, y, v, a, np.zeros_like(v))
    native = nacelle.inverse_dynamics(robot, x, v, a)
    assert relative_error(native.tau, batches["force"]) < 1e-11
    assert not native.flags.any()
    back = nacelle.forward_dynamics(robot, x, v, native.tau)
    assert relative_error(back.a, a) < 1e-10
    M = nacelle.mass_matrix(robot, x, coordinates="actuators")
    q_acc = nacelle.kinematics.joint_motion(robot, x, v, a).actuators[2]
    bias = nacelle.bias_forces(robot, x, v, coordinates="actuators")
    if len(robot.actuators) == robot.motion.n:
        assert relative_error(np.einsum("nij,nj->ni", M, q_acc) + bias, native.tau) < 1e-11


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
    assert np.array_equal(np.isnan(found.tau).all(axis=1), [False, True, True, True, False, False])
    forward = nacelle.forward_dynamics(robot, x, v, np.zeros(3))
    assert np.array_equal(np.isnan(forward.a).all(axis=1), [False, True, True, True, False, False])


@pytest.mark.slow
def test_a_million_states_in_one_call() -> None:
    """Bad rows among them are flagged, the others right, and memory stays bounded."""
    script = """
import resource
import numpy as np
import nacelle
from nacelle.dynamics import reference

robot, count = nacelle.load("palida"), 10**6
rng = np.random.default_rng(0)
x = np.tile(nacelle.reference_pose(robot), (count, 1))
x[:, :3] += rng.uniform(-0.05, 0.05, (count, 3))
v, a = rng.normal(size=(2, count, 6))
bad = np.arange(0, count, 1000)
x[bad, 0] = np.nan
few = nacelle.inverse_dynamics(robot, x[1:50], v[1:50], a[1:50]).tau
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
found = nacelle.inverse_dynamics(robot, x, v, a)
grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
assert np.array_equal(found.tau[1:50], few)
assert np.array_equal(np.flatnonzero(found.flags), bad)
assert np.all(np.isnan(found.tau[bad])) and np.isfinite(np.delete(found.tau, bad, axis=0)).all()
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
    plain, slides = library_robot("c5"), named_robot("c5-slides")
    x, _, v, a = states(plain, np.array([0.3]))
    names = [body.name for body in slides.bodies]
    inertia = slides.parameter_vector("inertia").reshape(-1, 10)
    first = len(names) - len(inertia)
    for k, name in enumerate(names[first:]):
        if name.endswith((".inner", ".outer")):
            inertia[k] = 0.0
    light = slides.with_parameters(inertia.ravel(), "inertia")
    heavy_force = nacelle.inverse_dynamics(slides, x, v, a, friction=False).tau
    light_force = nacelle.inverse_dynamics(light, x, v, a, friction=False).tau
    rotors = [joint.rotor_inertia for joint in slides.joints]
    expected = nacelle.inverse_dynamics(plain, x, v, a, friction=False).tau
    if not any(rotors):
        accelerations = nacelle.kinematics.joint_motion(plain, x, v, a).actuators[2]
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


# ---- Wrenches on tools and payloads: against the same on bodies, and against derivatives by differences

WRENCH = np.array([20.0, -5.0, 30.0, 1.0, 2.0, -3.0])


def state(robot: nacelle.Robot) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return nacelle.reference_pose(robot), *(0.3 * rng.normal(size=(2, robot.motion.n)))


@pytest.mark.parametrize(("name", "tool"), [("gough-stewart", "spindle"), ("delta4", "tip")])
def test_a_wrench_on_a_tool_is_one_on_its_body(name: str, tool: str) -> None:
    robot = nacelle.load(name)
    x, v, a = state(robot)
    (frame,) = (t for t in robot.tools if t.name == tool)
    bodies = nacelle.inverse_kinematics(robot, x).bodies
    arm = nacelle.kinematics.tool_pose(robot, x, tool).p - bodies.p[frame.body]
    moved = np.concatenate([WRENCH[:3], WRENCH[3:] + np.cross(arm, WRENCH[:3])])
    on_tool, on_body = {tool: WRENCH}, {robot.bodies[frame.body].name: moved}
    free = nacelle.inverse_dynamics(robot, x, v, a).tau
    force = nacelle.inverse_dynamics(robot, x, v, a, external=on_tool).tau
    assert np.max(np.abs(force - free)) > 1.0
    np.testing.assert_allclose(
        force, nacelle.inverse_dynamics(robot, x, v, a, external=on_body).tau, rtol=1e-11, atol=1e-10
    )
    back = nacelle.forward_dynamics(robot, x, v, force, external=on_tool).a
    np.testing.assert_allclose(back, a, atol=1e-9)
    reactions = [nacelle.joint_reactions(robot, x, v, a, external=e).wrench for e in (on_tool, on_body)]
    np.testing.assert_allclose(reactions[0], reactions[1], atol=1e-8)


@pytest.mark.slow
def test_the_arm_of_a_wrench_turns_with_the_tool() -> None:
    """The derivative by the pose has the change of the arm: against differences of the forces."""
    robot = nacelle.load("gough-stewart")
    x, v, a = state(robot)
    external = {"spindle": WRENCH}
    exact = nacelle.dynamics.dynamics_derivatives(robot, x, v, a, external=external).x
    h = 1e-6
    columns = []
    for k in range(6):
        step = h * np.eye(6)[k]
        ends = [
            nacelle.inverse_dynamics(
                robot, nacelle.kinematics.integrate_pose(robot, x, s * step), v, a, external=external
            ).tau
            for s in (1, -1)
        ]
        columns.append((ends[0] - ends[1]) / (2 * h))
    np.testing.assert_allclose(exact, np.stack(columns, axis=1), rtol=1e-6, atol=1e-4)


@pytest.mark.slow
def test_wrong_wrenches_name_bodies_and_tools() -> None:
    robot = nacelle.load("delta")
    with pytest.raises(KinematicsError, match="no body 'flage' and no such tool; did you mean 'flange'"):
        nacelle.inverse_dynamics(robot, nacelle.reference_pose(robot), external={"flage": WRENCH})
    with pytest.raises(KinematicsError, match=r"constant wrenches \(6,\), that on flange has the shape"):
        nacelle.simulation.rigid_plant(robot, external={"flange": np.zeros((3, 6))})


@pytest.mark.slow
@pytest.mark.parametrize("method", ["rk4", "dop853"])
def test_simulations_under_a_wrench_keep_their_energy(method: str) -> None:
    """Without friction the actuators and the wrench do all the work; at rest the wrench is balanced."""
    robot = nacelle.load("delta")
    x = nacelle.reference_pose(robot)
    external = {"flange": np.array([3.0, 0.0, 5.0, 0.0, 0.0, 0.0])}
    plant = nacelle.simulation.rigid_plant(robot, friction=False, external=external)
    hold = nacelle.dynamics.equilibrium(robot, x, external=external)
    step = 1e-3 if method == "rk4" else None
    still = nacelle.simulate(
        plant, x, np.zeros(3), hold, until=0.05, integration=nacelle.simulation.Integration(method, step=step)
    )
    np.testing.assert_allclose(still.x[-1], x, atol=1e-9)
    pushed = nacelle.simulate(
        plant,
        x,
        np.zeros(3),
        0.0 * hold,
        until=0.1,
        integration=nacelle.simulation.Integration(method, step=step),
    )
    first = nacelle.forward_dynamics(robot, x, np.zeros(3), 0.0 * hold, external=external, friction=False)
    np.testing.assert_allclose(pushed.v[1] / pushed.t[1], first.a, rtol=2e-2, atol=1e-9)
    assert abs(pushed.work[-1]) > 1e-3
    assert abs(pushed.balance[-1]) < 1e-6 * abs(pushed.energy[0])


@pytest.mark.slow
def test_external_wrenches_do_work() -> None:
    robot = library_robot("quattro")
    x, v = nacelle.reference_pose(robot), np.array([0.3, -0.2, 0.1, 0.8])
    names = [robot.bodies[3].name, robot.bodies[7].name]
    rng = np.random.default_rng(0)
    external = {name: rng.normal(size=6) for name in names}
    with_them = nacelle.inverse_dynamics(robot, x, v, external=external).tau
    without = nacelle.inverse_dynamics(robot, x, v).tau
    rates = nacelle.kinematics.joint_motion(robot, x, v).actuators[1]
    twist = nacelle.kinematics.body_motion(robot, x, v).twist
    power = sum(external[name] @ twist[robot.body(name)] for name in names)
    assert (without - with_them) @ rates == pytest.approx(power, rel=1e-12)
    tau = nacelle.inverse_dynamics(robot, x, v, np.ones(4), external=external).tau
    assert np.allclose(nacelle.forward_dynamics(robot, x, v, tau, external=external).a, 1.0)


# ---- Friction in a ball: along the motion, smooth where it is asked for, with a slope at rest

TERMS = {
    "coulomb": FrictionTerm("coulomb", 0.7),
    "coulomb-smooth": FrictionTerm("coulomb-smooth", 0.4, 0.05),
    "stribeck": FrictionTerm("stribeck", 0.3, 0.2),
    "quadratic": FrictionTerm("quadratic", 0.2),
    "cubic": FrictionTerm("cubic", 0.1),
    "viscous": FrictionTerm("viscous", 0.5),
}
W = np.array([0.3, -0.2, 0.6])


@pytest.mark.parametrize("smooth", [None, 0.02])
@pytest.mark.parametrize("basis", [*TERMS, "all"])
def test_a_ball_rubs_along_its_motion_as_an_axis_does(basis: str, smooth: float | None) -> None:
    terms = tuple(TERMS.values()) if basis == "all" else (TERMS[basis],)
    for size in (1e-12, 1e-6, 1e-3, 0.05, 1.0):
        w = size * W / np.linalg.norm(W)
        along = axis_friction(terms, size, smooth)
        np.testing.assert_allclose(
            spherical_friction(terms, w, smooth), along * w / size, rtol=1e-9, atol=1e-15
        )
    np.testing.assert_array_equal(spherical_friction(terms, np.zeros(3), smooth), np.zeros(3))


@pytest.mark.parametrize("basis", [*TERMS, "constant"])
def test_the_slope_at_rest_is_that_of_an_axis(basis: str) -> None:
    """Differences over mpmath through rest."""
    smooth = 0.02
    term = FrictionTerm("constant", 0.7) if basis == "constant" else TERMS[basis]
    axis = FrictionTerm("coulomb", 0.7) if basis == "constant" else term
    with mpmath.workdps(60):
        h = mpmath.mpf("1e-30")
        expected = (axis_friction((axis,), h, smooth) - axis_friction((axis,), -h, smooth)) / (2 * h)
        for k in range(3):
            w = np.array([h if j == k else mpmath.mpf(0) for j in range(3)], dtype=object)
            slope = (spherical_friction((term,), w, smooth) - spherical_friction((term,), -w, smooth)) / (
                2 * h
            )
            for j in range(3):
                assert float(slope[j]) == pytest.approx(
                    float(expected) if j == k else 0.0, rel=1e-12, abs=1e-9
                )


def test_a_term_that_bends_by_itself_needs_no_smooth() -> None:
    term = TERMS["coulomb-smooth"]
    with mpmath.workdps(60):
        w = np.array([mpmath.mpf("1e-30"), mpmath.mpf(0), mpmath.mpf(0)], dtype=object)
        slope = spherical_friction((term,), w)[0] / w[0]
        assert float(slope) == pytest.approx(term.coefficient / term.scale, rel=1e-12)


def _models(robot: nacelle.Robot) -> dict[str, Callable[..., Any]]:
    """Everything public that takes the options of friction, at the reference pose."""
    x, v = nacelle.reference_pose(robot), np.zeros(robot.motion.n)
    tau = np.zeros(len(robot.actuators))
    return {
        "model": lambda **o: nacelle.model(robot, **o),
        "inverse_dynamics": lambda **o: nacelle.inverse_dynamics(robot, x, v, **o),
        "forward_dynamics": lambda **o: nacelle.forward_dynamics(robot, x, v, tau, **o),
        "bias_forces": lambda **o: nacelle.bias_forces(robot, x, v, **o),
        "joint_reactions": lambda **o: nacelle.joint_reactions(robot, x, v, **o),
        "linearise": lambda **o: nacelle.dynamics.linearise(robot, x, **o),
        "dynamics_derivatives": lambda **o: nacelle.dynamics.dynamics_derivatives(robot, x, v, **o),
        "rigid_plant": lambda **o: nacelle.simulation.rigid_plant(robot, **o),
        "export": lambda **o: nacelle.export(robot, "inverse_dynamics", out="never-written", **o),
    }


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"smooth": -1.0}, "smooth must be above zero, got -1"),
        ({"smooth": 0.0}, "smooth must be above zero, got 0"),
        ({"smooth": float("nan")}, "smooth must be above zero"),
        ({"smooth": "wide"}, "smooth must be a number above zero, got 'wide'"),
        ({"smooth": True}, "smooth must be a number above zero, got True"),
        ({"friction": "no"}, "friction is True or False, got 'no'"),
        ({"friction": None}, "friction is True or False, got None"),
    ],
)
def test_options_are_checked_wherever_they_are_taken(options: dict[str, Any], words: str) -> None:
    """A negative width would turn Coulomb friction into a force that drives."""
    for name, call in _models(nacelle.load("fivebar")).items():
        with pytest.raises(nacelle.NacelleError, match=words):
            print(name, call(**options))
    assert not Path("never-written").exists()


def test_passive_friction_acts_on_both_bodies() -> None:
    """Five-bar with friction in an elbow alone: by virtual power each motor feels the elbow's own rate."""
    robot = library_robot("fivebar")
    x, v = nacelle.reference_pose(robot) + np.array([0.03, 0.01]), np.array([0.4, -0.3])
    rubbed = [k for k, joint in enumerate(robot.joints) if any(joint.friction)]
    assert len(rubbed) >= 2
    with_friction = nacelle.inverse_dynamics(robot, x, v).tau
    without = nacelle.inverse_dynamics(robot, x, v, friction=False).tau
    J = nacelle.jacobian(robot, x)
    rates = nacelle.kinematics.joint_motion(robot, x, v).rate
    G = nacelle.kinematics.joint_jacobian(robot, x)
    expected = np.zeros(2)
    for k in rubbed:
        if k < robot.tree:
            place = robot.v_slices[k].start
            rate, row = rates[place], G[place]
        else:
            # The joint at the point turns by the difference of the two distal bars' rates.
            twists = nacelle.kinematics.body_jacobian(robot, x)[:, 5]
            row = twists[robot.joints[k].successor] - twists[robot.joints[k].predecessor]
            rate = row @ v
        force = sum(
            term.coefficient * {"viscous": rate, "coulomb": np.sign(rate)}[term.basis]
            for term in robot.joints[k].friction[0]
        )
        expected += row * force
    np.testing.assert_allclose(with_friction - without, J.direct.T @ expected, rtol=1e-10)


@pytest.mark.slow
def test_sign_of_zero_and_smooth_friction() -> None:
    robot = library_robot("delta")
    x = nacelle.reference_pose(robot)
    rest = nacelle.inverse_dynamics(robot, x).tau
    np.testing.assert_allclose(rest, nacelle.inverse_dynamics(robot, x, friction=False).tau, rtol=1e-14)
    v = np.array([1e-6, 0.0, 0.0])
    hard = nacelle.inverse_dynamics(robot, x, v).tau
    soft = nacelle.inverse_dynamics(robot, x, v, smooth=1e-3).tau
    softest = nacelle.inverse_dynamics(robot, x, v, smooth=1e-12).tau
    assert np.max(np.abs(hard - rest)) > 0.1
    assert np.max(np.abs(soft - rest)) < 0.01
    np.testing.assert_allclose(softest, hard, rtol=1e-12)


@pytest.mark.slow
def test_smooth_friction_of_spherical_joints_is_none_at_rest() -> None:
    """In compiled programs, too: the smallest rate is not lost among equal numbers."""
    robot = nacelle.load("h4")
    x = nacelle.reference_pose(robot)
    force = nacelle.inverse_dynamics(robot, x, smooth=1e-3).tau
    np.testing.assert_allclose(force, nacelle.dynamics.equilibrium(robot, x), rtol=1e-9)
