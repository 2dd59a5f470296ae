"""The form derived by hand against the projection of the tree: library, random robots, all inputs."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

import nacelle
from nacelle.dynamics import functions
from nacelle.dynamics.compact import functions as compact
from nacelle.dynamics.compact import measured
from nacelle.dynamics.compact.choose import ways
from nacelle.dynamics.general.bars.demand import Counts
from nacelle.dynamics.compact.masses import felt, fit, second_moments
from nacelle.dynamics.compact.model import applies
from nacelle.kinematics.bars.reading import read_legs
from nacelle.kinematics.legs.parallelogram import parallelogram
from nacelle.kinematics.mechanism import mechanism
from nacelle.model.joint import JointKind, Spring
from nacelle.model.robot import Payload
from nacelle.spatial.inertia import parameters_from_com
from support.compare import assert_same
from support.leg_robots import CASES, translating
from support.library import NAMES, library_robot
from support.random_inertia import with_random_friction, with_random_inertias

Array = np.ndarray
SERVED = (
    "3rrr",
    "delta",
    "delta-codourey",
    "fivebar",
    "gough-stewart",
    "hexa",
    "hexaglide",
    "orthoglide",
    "palida",
    "prrrp",
)
# Random families whose legs are struts or driven rods.
FAMILIES = (
    "6 SPS",
    "6 PSS",
    "6 RSS",
    "planar RRR",
    "planar PRR",
    "point RRR",
    "point PRR",
    "point RRR + PRR",
    "3 R[SS|SS]",
)


# Robots of the library that keep their form with any inertia of their bodies.
GENERAL = ("gough-stewart", "palida", "hexaglide", "hexa", "3rrr", "fivebar", "delta")


def slid_on_axis(robot: nacelle.Robot, seed: int) -> nacelle.Robot:
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


def general(name: str, seed: int) -> nacelle.Robot:
    """A robot of a random family with masses, friction, drive rotors and springs, and a payload."""
    source = CASES[name](seed).robot if name in CASES else library_robot(name)
    robot = with_random_friction(with_random_inertias(source, seed), seed)
    robot = slid_on_axis(robot, seed)
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
    robot = translating(seed, [f"{root}RPaR"], straight=True)
    robot = with_random_friction(with_random_inertias(robot, seed), seed)
    rng = np.random.default_rng(seed)
    bodies = list(robot.bodies)
    for leg in robot.legs:
        found = parallelogram(robot, leg)
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


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("root", ["P", "R"])
def test_parallelograms(root: str, seed: int) -> None:
    robot = parallelograms(root, seed)
    assert not applies(mechanism(robot)), applies(mechanism(robot))
    check(robot, seed)


def state(robot: nacelle.Robot, seed: int) -> tuple[Array, Array, Array, Array, Array]:
    """x, y, v, a and a load near the reference."""
    rng = np.random.default_rng(seed)
    known, n = mechanism(robot), robot.motion.n
    x = known.reference[0] + 0.02 * min(robot.size, 1.0) * rng.uniform(-1.0, 1.0, known.layout.nx)
    place = known.layout.quaternion
    if place is not None:
        x[place] /= np.linalg.norm(x[place])
    return x, np.zeros(0), rng.normal(size=n), 3.0 * rng.normal(size=n), 5.0 * rng.normal(size=n)


def check(robot: nacelle.Robot, seed: int, *, forward: bool = True) -> None:
    """All ways of writing the form, with and without friction, against the tree."""
    x, y, v, a, load = state(robot, seed)
    A = functions.inertia(robot, x, y)["A"]
    condition = np.linalg.cond(A)
    for options in ({"friction": False}, {"friction": True}, {"friction": True, "smooth": 0.3}):
        exact = functions.inverse(robot, x, y, v, a, load, formulation="tree", **options)["force"]
        for way in ways(robot):
            found = compact.inverse(robot, x, y, v, a, load, **options, **dataclasses.asdict(way))
            assert_same(found["force"], exact, 1e-13 * max(condition, 10.0), f"{way}")
            if forward:
                tau = exact
                back = compact.forward(robot, x, y, v, tau, load, **options, **dataclasses.asdict(way))
                assert_same(back["acceleration"], a, 1e-12 * max(condition, 100.0), f"forward, {way}")


@pytest.mark.parametrize("name", SERVED)
def test_the_library(name: str) -> None:
    robot = library_robot(name)
    assert not applies(mechanism(robot))
    check(robot, 1)


def test_which_robots_are_served() -> None:
    assert tuple(name for name in sorted(NAMES) if not applies(mechanism(library_robot(name)))) == SERVED


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("name", [*FAMILIES, *GENERAL])
def test_random_robots(name: str, seed: int) -> None:
    robot = general(name, seed)
    assert not applies(mechanism(robot)), applies(mechanism(robot))
    check(robot, seed)


@settings(max_examples=12, deadline=None)
@given(st.sampled_from(FAMILIES), st.integers(2, 200))
def test_random_robots_of_any_seed(name: str, seed: int) -> None:
    robot = general(name, seed)
    reason = applies(mechanism(robot))
    # A random Delta may have parasitic motion; every other robot of these families has the form.
    assert reason in ("", "its joints are found by iteration")
    assume(not reason)
    check(robot, seed, forward=False)


@pytest.mark.parametrize("name", ["fivebar", "delta-codourey", "delta", "prrrp"])
def test_encoders(name: str) -> None:
    robot = library_robot(name)
    x, _, v, a, _ = state(robot, 2)
    q = nacelle.joint_motion(robot, x, v, a).actuators
    for friction in (False, True):
        exact = nacelle.inverse_dynamics(robot, x, v, a, formulation="tree", friction=friction).force
        for way in ways(robot):
            found = measured.inverse_from_encoders(robot, *q, Counts(friction), way)["force"]
            assert_same(found, exact, 1e-12)


def elements_by_differences(robot: nacelle.Robot, x: Array, v: Array, a: Array) -> dict[str, Array]:
    """Directions and lengths of the elements, with derivatives by differences along x + v t + a t^2 / 2."""
    forms = read_legs(robot, mechanism(robot))
    axes = measured.flat_axes(robot)
    h = 1e-3

    def at(t: float) -> dict[str, Array]:
        pose = x + v * t + 0.5 * a * t * t
        place = nacelle.inverse_kinematics(robot, pose, limits=False)
        found = {}
        for form in forms:
            leg = next(leg for leg in robot.legs if leg.name == form.name)
            first = robot.joints[leg.joints[0]].successor
            p = mechanism(robot).chart.pose(pose)
            B = p.p + p.R @ form.B
            q = place.actuators[form.drive.number]
            if form.drive.turns:
                turn = place.bodies.R[first] @ mechanism(robot).assembly.motion.poses[first].R.T
                start = mechanism(robot).assembly.q[robot.q_slices[leg.joints[0]]][0]
                away = np.cross(form.axis, form.start)
                arm = turn @ (np.cos(start) * form.start + np.sin(start) * away)
                A = form.A + form.arm * arm
                found[f"{form.name}_arm"] = arm[list(axes)]
            else:
                A = form.A + q * form.axis
                found[f"{form.name}_slide"] = np.array(q)
            rod = B - A
            if form.pivot == "R":
                rod = rod - form.first * (form.first @ rod)
            found[f"{form.name}_rod"] = (rod / np.linalg.norm(rod))[list(axes)]
        return found

    samples = {k: at(k * h) for k in range(-3, 4)}
    first = {1: 3 / 4, 2: -3 / 20, 3: 1 / 60}
    second = {0: -49 / 18, 1: 3 / 2, 2: -3 / 20, 3: 1 / 90}
    found = {}
    for name in samples[0]:
        rate = sum(c * (samples[k][name] - samples[-k][name]) for k, c in first.items()) / h
        bend = second[0] * samples[0][name]
        bend = bend + sum(second[k] * (samples[k][name] + samples[-k][name]) for k in (1, 2, 3))
        found[name] = np.stack([samples[0][name], rate, bend / h**2])
    return found


@pytest.mark.parametrize("name", ["fivebar", "delta-codourey", "prrrp"])
def test_elements(name: str) -> None:
    robot = library_robot(name)
    x, _, v, a, _ = state(robot, 3)
    elements = elements_by_differences(robot, x, 0.3 * v, 0.3 * a)
    assert {key: value.shape for key, value in elements.items()} == measured.element_shapes(robot)
    for friction in (False, True):
        exact = nacelle.inverse_dynamics(
            robot, x, 0.3 * v, 0.3 * a, formulation="tree", friction=friction
        ).force
        for way in ways(robot):
            found = measured.inverse_from_elements(robot, elements, Counts(friction), way)["force"]
            # Second differences of directions have about 1e-9 of rounding.
            assert_same(found, exact, 2e-8)


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
    good = np.all(np.isfinite(exact.force), axis=1)
    assert np.count_nonzero(good) > 50
    error = np.max(np.abs(found.force - exact.force)[good], axis=1) / np.max(
        np.abs(exact.force[good]), axis=1
    )
    assert np.max(error / exact.condition[good]) < 1e-13
    assert_same(found.generalised[good][:3], exact.generalised[good][:3], 1e-12)
    assert nacelle.inverse_dynamics(robot, reference, formulation="compact").formulation == "compact"


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
    assert_same(found.force, exact.force, 1e-12)


def test_masses_are_the_body() -> None:
    """Masses at ends and one more point have the second moments of the body."""
    rng = np.random.default_rng(5)
    for turns in ((0, 1, 2), (2,), ()):
        for _ in range(6):
            ends = 0.3 * rng.normal(size=(6 if len(turns) == 3 else 3, 3))
            cloud = 0.2 * rng.normal(size=(9, 3))
            weights = rng.uniform(0.1, 1.0, 9)
            com = weights @ cloud / weights.sum()
            about = sum(
                m * (p @ p * np.eye(3) - np.outer(p, p)) for m, p in zip(weights, cloud - com, strict=True)
            )
            parameters = parameters_from_com(float(weights.sum()), com, np.asarray(about))
            masses = fit(ends, parameters, turns, 1.0)
            assert masses is not None
            b = np.concatenate([ends, np.ones((len(ends), 1))], axis=1)
            e = np.array([*masses.place, 1.0])
            P = np.einsum("k,ki,kj->ij", masses.at_ends, b, b) + masses.mass * np.outer(e, e)
            P = P + masses.even * np.diag([1.0, 1.0, 1.0, 0.0])
            assert_same(felt(P, turns), felt(second_moments(parameters), turns), 1e-12)


# Random robots with legs of several kinds: why the form derived by hand does not apply, "" if it does.
ITERATED = "its joints are found by iteration"
SEVERAL = {
    "3 P[US|US] + UPU + RRPaR": "the rods of leg 'leg1' do not stand on balls",
    "3 R[SS|SS] + PRPaR + URU": "the rods of leg 'leg2' do not start on the hub's axis",
    "6 RSS + PSPP + PSS + RRPS + P-C5 on the nacelle + RUPU": ITERATED,
    "6 UPS + PUS + RUS + SPS + P-C5 + URS": (
        "leg 'leg1' is askew: it is not perpendicular to the second axis of its universal joint"
    ),
    "6 UPS cut at the slide + RUS cut at the arm + RRRS + PRRS + UPS with an offset slide + PSPP": ITERATED,
    "planar RRR + PRR + RPR": (
        "leg 'leg3' is askew: the line along its slide through its end misses the joint on the base"
    ),
    "point RRR + PRR": "",
}


def test_which_robots_have_legs_of_several_kinds() -> None:
    assert set(SEVERAL) == {name for name in CASES if " + " in name}


@pytest.mark.parametrize("name", SEVERAL)
def test_legs_of_several_kinds(name: str) -> None:
    robot = slid_on_axis(with_random_friction(with_random_inertias(CASES[name](1).robot, 1), 1), 1)
    assert applies(mechanism(robot)) == SEVERAL[name]


def test_where_the_form_derived_by_hand_does_not_apply() -> None:
    assert applies(mechanism(library_robot("c5"))).startswith("leg 'leg1' is neither")
    strut = library_robot("gough-stewart")
    joints = list(strut.joints)
    spring = (Spring(1.0, 0.0),) * len(joints[0].primitives)
    joints[0] = dataclasses.replace(joints[0], springs=spring)
    sprung = dataclasses.replace(strut, joints=tuple(joints))
    assert "springs in passive joints" in applies(mechanism(sprung))
    joints[0] = dataclasses.replace(strut.joints[0], rotor_inertia=0.1)
    assert "rotor on a passive joint" in applies(mechanism(dataclasses.replace(strut, joints=tuple(joints))))
