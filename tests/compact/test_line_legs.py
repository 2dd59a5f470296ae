"""Struts and rods by their lines, in the compact form, against the tree: library, random robots."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

import nacelle
from nacelle.compact import models as general
from nacelle.compact.line_legs.known import find_line_legs
from nacelle.dynamics import reference as functions
from nacelle.dynamics.physics import Physics
from nacelle.kinematics.legs.parallelogram import recognise_parallelogram
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.model.joint import JointKind, Spring
from nacelle.model.platform import Payload
from nacelle.spatial.inertia import parameters_from_com
from support.compare import assert_same
from support.library import NAMES, library_robot
from support.random_robots.legs import CASES, translating_robot
from support.random_robots.loads import with_random_friction, with_random_inertias
from support.uncompiled import poses_around

Array = np.ndarray
# Robots of the library with legs that are bars, and how many.
BARS = {
    "3rrr": 3,
    "delta-codourey": 3,
    "fivebar": 2,
    "gough-stewart": 6,
    "hexa": 6,
    "hexaglide": 6,
    "orthoglide": 3,
    "palida": 6,
    "prrrp": 2,
}
# Random families whose legs are struts or driven rods; those between spherical joints need no legs as bars.
FAMILIES = {
    "6 SPS": 6,
    "6 PSS": 0,
    "6 RSS": 0,
    "planar RRR": 3,
    "planar PRR": 3,
    "point RRR": 2,
    "point PRR": 2,
    "point RRR + PRR": 2,
    "3 R[SS|SS]": 0,
}
KEYS = {
    "bias": ("h", "M", "A", "actuator_bias"),
    "gravity": ("g", "A"),
    "energies": ("kinetic", "potential", "dissipation"),
}


# Robots of the library that keep their form with any inertia of their bodies.
GENERAL = ("gough-stewart", "palida", "hexaglide", "hexa", "3rrr", "fivebar", "delta")


def with_masses_on_axes(robot: nacelle.Robot, seed: int) -> nacelle.Robot:
    """Put the centres of mass of struts' crosses and sliders on their axes; products of inertia stay."""
    rng = np.random.default_rng(seed)
    bodies = list(robot.bodies)

    def put(body: int, point: Array, axis: Array) -> None:
        mass = bodies[body].inertia[0]
        cloud = rng.normal(size=(8, 3)) * 0.1 * robot.size
        cloud -= cloud.mean(axis=0)
        about = sum(np.dot(q, q) * np.eye(3) - np.outer(q, q) for q in cloud) * mass / 8.0
        com = point + 0.3 * robot.size * rng.uniform(-1.0, 1.0) * axis
        own = tuple(parameters_from_com(mass, com, np.asarray(about)))
        bodies[body] = dataclasses.replace(bodies[body], inertia=own)

    for leg in robot.legs:
        first, last = robot.joints[leg.joints[0]], robot.joints[leg.joints[-1]]
        if last.kind is not JointKind.PRISMATIC or len(leg.joints) == 1 or first.kind is JointKind.SPHERICAL:
            continue
        closure = robot.joints[leg.closures[0]]
        ours = closure.predecessor == last.successor
        end = (closure.frame_predecessor if ours else closure.frame_successor).p
        put(last.successor, end, last.frame_successor.R[:, 2])
        if len(leg.joints) == 3:
            put(first.successor, first.frame_successor.p, first.frame_successor.R[:, 2])
    return dataclasses.replace(robot, bodies=tuple(bodies))


def loaded_robot(name: str, seed: int) -> nacelle.Robot:
    """A robot of a random family with masses, friction, drive rotors and springs, and a payload."""
    source = CASES[name](seed).robot if name in CASES else library_robot(name)
    robot = with_random_friction(with_random_inertias(source, seed), seed)
    robot = with_masses_on_axes(robot, seed)
    rng = np.random.default_rng(seed)
    joints = list(robot.joints)
    for actuator in robot.actuators:
        joint = joints[actuator.joint]
        spring = (Spring(rng.uniform(1.0, 3.0), rng.uniform(-0.3, 0.3)),)
        joints[actuator.joint] = dataclasses.replace(
            joint, rotor_inertia=rng.uniform(0.01, 0.02), gear_ratio=rng.uniform(3.0, 6.0), springs=spring
        )
    load = Payload("load", 1, tuple(np.array(robot.bodies[1].inertia) * 0.3))
    payload = (load,) if robot.platform_nv == 6 else ()
    return dataclasses.replace(robot, joints=tuple(joints), payload=payload, gravity=(1.0, -2.0, -9.0))


def parallelograms(root: str, seed: int) -> nacelle.Robot:
    """Three legs with straight parallelograms; hubs and ends have their masses on their axes."""
    robot = translating_robot(seed, [f"{root}RPaR"], straight=True)
    robot = with_random_friction(with_random_inertias(robot, seed), seed)
    rng = np.random.default_rng(seed)
    bodies = list(robot.bodies)
    for leg in robot.legs:
        found = recognise_parallelogram(robot, leg)
        assert found is not None
        hub, wrist = robot.joints[found.hub], robot.joints[found.wrist]
        for body, frame in (
            (hub.successor, hub.frame_successor),
            (wrist.predecessor, wrist.frame_predecessor),
        ):
            com = frame.p + 0.1 * rng.uniform(-1.0, 1.0) * frame.R[:, 2]
            about = np.diag(rng.uniform(0.002, 0.003, 3))
            own = tuple(parameters_from_com(rng.uniform(0.1, 0.5), com, about))
            bodies[body] = dataclasses.replace(bodies[body], inertia=own)
    return dataclasses.replace(robot, bodies=tuple(bodies), gravity=(1.0, -2.0, -9.0))


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("root", ["P", "R"])
def test_parallelograms(root: str, seed: int) -> None:
    robot = parallelograms(root, seed)
    assert struts_of(robot) == 3
    check(robot, seed)


def state(robot: nacelle.Robot, seed: int) -> tuple[Array, Array, Array, Array, Array]:
    """x, y, v, a and a load near the reference."""
    v, a, load = np.random.default_rng(seed).normal(size=(3, robot.motion.n))
    return poses_around(robot, 1, seed, 0.02, 0.02)[0], np.zeros(0), v, 3.0 * a, 5.0 * load


def check(robot: nacelle.Robot, seed: int, *, whole: bool = True) -> None:
    """Struts and rods by their lines, in both axes, with and without friction, against the tree."""
    x, y, v, a, load = state(robot, seed)
    exact = functions.inertia(robot, x, y)
    condition = np.linalg.cond(exact["A"])
    for line_axes in (False, True):
        for physics in (Physics(False), Physics(), Physics(smooth=0.3)):
            force = functions.inverse(robot, x, y, v, a, load, formulation="tree", physics=physics)["force"]
            found = general.inverse(robot, x, y, v, a, load, line_axes=line_axes, physics=physics)
            assert_same(found["force"], force, 1e-13 * max(condition, 10.0), f"bar axes {line_axes}")
            if whole:
                back = general.forward(robot, x, y, v, force, load, line_axes=line_axes, physics=physics)
                assert_same(back["acceleration"], a, 1e-12 * max(condition, 100.0), f"forward, {line_axes}")
    if not whole:
        return
    found = general.inertia(robot, x, y)
    assert_same(found["M"], exact["M"], 1e-12)
    assert_same(found["A"], exact["A"], 1e-13 * max(condition, 10.0))
    for name, states in (("bias", (x, y, v)), ("gravity", (x, y)), ("energies", (x, y, v))):
        expected = getattr(functions, name)(robot, *states)
        for options in ({"line_axes": False}, {"line_axes": True}) if name == "bias" else ({},):
            found = getattr(general, name)(robot, *states, **options)
            for key in KEYS[name]:
                assert_same(found[key], expected[key], 1e-12 * max(condition, 10.0), f"{name} {key}")


def struts_of(robot: nacelle.Robot) -> int:
    """Number of legs that are bars; rods between spherical joints are not counted."""
    return len(find_line_legs(mechanism_of(robot)))


@pytest.mark.costly
@pytest.mark.parametrize("name", BARS)
def test_the_library(name: str) -> None:
    check(library_robot(name), 1)


def test_which_legs_are_struts() -> None:
    assert {name: struts_of(library_robot(name)) for name in NAMES if struts_of(library_robot(name))} == BARS


@pytest.mark.costly
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("name", [*FAMILIES, *GENERAL])
@pytest.mark.thinned
def test_random_robots(name: str, seed: int) -> None:
    robot = loaded_robot(name, seed)
    assert struts_of(robot) == FAMILIES.get(name, BARS.get(name, 0))
    check(robot, seed)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "body", "count"), [("gough-stewart", 0, 5), ("palida", 0, 5), ("hexa", 0, 6)]
)
def test_one_leg_of_another_kind(name: str, body: int, count: int) -> None:
    """A centre of mass off every axis in one leg: the others stay bars."""
    robot = library_robot(name)
    bodies = list(robot.bodies)
    place = robot.legs[2].bodies[body]
    about = np.diag([0.002, 0.003, 0.004])
    own = tuple(parameters_from_com(0.7, np.array([0.03, -0.02, 0.05]), about))
    bodies[place] = dataclasses.replace(bodies[place], inertia=own)
    mixed = dataclasses.replace(robot, bodies=tuple(bodies))
    assert struts_of(mixed) == count
    check(mixed, 4)


@pytest.mark.slow
def test_rods_of_any_inertia_are_struts_in_the_mass_matrix_alone() -> None:
    robot = with_random_inertias(library_robot("hexa"), 3)
    assert find_line_legs(mechanism_of(robot)) == (0, 1, 2, 3, 4, 5)
    assert find_line_legs(mechanism_of(robot), asymmetric=False) == ()
    check(robot, 3)


@pytest.mark.slow
@settings(max_examples=6, deadline=None)
@given(st.sampled_from(sorted(FAMILIES)), st.integers(2, 200))
def test_random_robots_of_any_seed(name: str, seed: int) -> None:
    robot = loaded_robot(name, seed)
    # A random Delta may have parasitic motion, whose legs are not bars.
    assume(not mechanism_of(robot).unknown_count)
    assert struts_of(robot) == FAMILIES[name]
    check(robot, seed, whole=False)


def test_weak_pivots_go_to_the_tree() -> None:
    """Near a parallel singularity the API gives what the tree gives."""
    robot = library_robot("fivebar")
    reference = nacelle.reference_pose(robot)
    # The two distal bars come into one line far below the middle.
    x = np.stack([np.full(400, 1e-3), np.linspace(0.28, 0.02, 400)], axis=1)
    v, a = np.full((400, 2), 0.3), np.full((400, 2), -0.7)
    found = nacelle.inverse_dynamics(robot, x, v, a)
    exact = nacelle.inverse_dynamics(robot, x, v, a, formulation="tree")
    assert found.formulation == "compact"
    np.testing.assert_array_equal(found.flags, exact.flags)
    good = np.all(np.isfinite(exact.tau), axis=1)
    assert np.count_nonzero(good) > 50
    error = np.max(np.abs(found.tau - exact.tau)[good], axis=1) / np.max(np.abs(exact.tau[good]), axis=1)
    assert np.max(error / exact.condition[good]) < 1e-13
    assert_same(found.generalised_force[good][:3], exact.generalised_force[good][:3], 1e-12)
    assert nacelle.inverse_dynamics(robot, reference, formulation="compact").formulation == "compact"


@pytest.mark.slow
def test_struts_in_the_plane_of_the_anchors_go_to_the_tree() -> None:
    """A strut counts by its height over the base; where it has none, the API gives what the tree gives."""
    robot = library_robot("palida")
    leg = robot.legs[4]
    quat = np.array([0.341, 0.428, 0.055, 0.836])
    quat /= np.linalg.norm(quat)
    end = Rotation.from_quat(quat).apply(robot.joints[leg.closures[0]].frame_successor.p)
    level = robot.joints[leg.joints[0]].frame_predecessor.p[2] - end[2]
    heights = np.array([0.0, 1e-14, 1e-9, -1e-6, 1e-3, -1e-2, 0.1])
    x = np.array([[0.6, 0.368, level + height, *quat] for height in heights])
    v, a = np.full((len(x), 6), 0.3), np.full((len(x), 6), -0.7)
    found = nacelle.inverse_dynamics(robot, x, v, a)
    exact = nacelle.inverse_dynamics(robot, x, v, a, formulation="tree")
    assert found.formulation == "compact"
    np.testing.assert_array_equal(found.flags, 0)
    assert_same(found.tau, exact.tau, 1e-12)
