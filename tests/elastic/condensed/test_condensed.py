"""Condensed: energy, lengths, link, models, natural, structure."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
import pytest

import nacelle
from nacelle.compile import compile_function
from nacelle.elastic.beam.newton_euler import strain_energy
from nacelle.elastic.condensed.link import (
    EndMotion,
    LinkRates,
    correct_end_forces,
    end_forces,
    link_constants,
    link_end_inertia,
    link_posture,
    moving_link,
)
from nacelle.elastic.condensed.models import (
    condensed_energies,
    condensed_forward,
    condensed_inverse,
    lengths_forward,
    lengths_inverse,
    link_lengths,
)
from nacelle.elastic.condensed.reduced import (
    CondensedStructure,
    condensed_structure,
    link_end_points,
    position_rates,
    reduced_coordinates,
    subchain_motion,
)
from nacelle.elastic.dynamics import positions
from nacelle.elastic.dynamics.models import (
    configure_robot,
    elastic_energies,
    elastic_forward,
    elastic_inverse,
    reduced_motion,
)
from nacelle.elastic.dynamics.plan import choose_independent_rates
from nacelle.elastic.flexible_tree import flexible_tree
from nacelle.elastic.frames import frames_at
from nacelle.errors import KinematicsError
from nacelle.model.robot import Robot
from nacelle.program.cost import count
from support.beam_points import mass_points
from support.elastic_states import general_state, reduced_state
from support.flexible_robots import LINKS, prrrp, with_flexible_links
from support.random_robots.flexible import random_planar, with_rotated_links
from support.rigid_robots import delta_with_tolerances

# ---- Energies of the small form: kinetic energy over points of mass, lengths of straight links

GRAVITY = (1.0, 0.5, -9.0)


def test_weight_and_strain_against_points_of_mass() -> None:
    heavy, light = prrrp(GRAVITY), prrrp()
    state = general_state(heavy, np.random.default_rng(0))
    p, y = reduced_state(heavy, state)
    masses, places = mass_points(
        reduced_motion(configure_robot(choose_independent_rates(heavy), state.p), state.y).motion.at.frames
    )
    weight = -float(masses @ places @ np.array(GRAVITY))
    found, unloaded = condensed_energies(heavy, p, y), condensed_energies(light, p, y)
    assert found["potential"] - unloaded["potential"] == pytest.approx(weight, rel=1e-10)
    general = elastic_energies(heavy, state.p, state.y)
    assert found["kinetic"] == pytest.approx(general["kinetic"], rel=1e-11)
    assert found["dissipation"] == pytest.approx(general["dissipation"], abs=1e-12)


def test_lengths_of_straight_links() -> None:
    """Both beams of [BK2013] are 0.4 m long."""
    robot = prrrp()
    plan = choose_independent_rates(robot)
    state = general_state(robot, np.random.default_rng(1))._replace(
        p=plan.reference, r=np.zeros(len(plan.reference) * 2)
    )
    p, _ = reduced_state(robot, state)
    np.testing.assert_allclose(link_lengths(robot, p), 0.4, rtol=1e-12)


# ---- lengths
#
# The small form with lengths as inputs: against the general form, and how many operations it takes.

WEIGHT = (0.0, 0.0, -9.81)

PAPER = {"shapes": "hermite", "number": 1, "frame": "clamped", "geometric": False}

CASES: dict[str, Callable[[], Robot]] = {
    "prrrp": lambda: prrrp((2.0, 3.0, -9.81), damping={"ratio": 0.03}),
    "fivebar": lambda: with_flexible_links("fivebar", number=1),
    "random-0": lambda: random_planar(0, point=True),
    "random-1": lambda: random_planar(1, point=True),
    "random-2": lambda: random_planar(2, point=True),
}


@pytest.mark.parametrize("case", CASES)
def test_as_the_general_form(case: str) -> None:
    robot = CASES[case]()
    elastic_tree = choose_independent_rates(robot).elastic_tree
    random = np.random.default_rng(8)
    for _ in range(2):
        state = general_state(robot, random)
        ne = elastic_tree.ne
        places = [3 + robot.q_slices[actuator.joint].start for actuator in robot.actuators]
        inputs = (state.p[places], state.p[-ne:], state.y[: len(places)], state.r[-ne:])
        expected = elastic_inverse(robot, state.p, state.y, state.a)
        found = lengths_inverse(robot, *inputs, state.a)
        size = np.max(np.abs(expected["force"]))
        np.testing.assert_allclose(found["force"], expected["force"], atol=1e-9 * size)
        forward = lengths_forward(robot, *inputs, expected["force"])
        size = np.max(np.abs(found["elastic"]))
        np.testing.assert_allclose(forward["elastic"], found["elastic"], atol=1e-8 * size)
        np.testing.assert_allclose(forward["acceleration"], state.a, atol=1e-8 * size)
        # All elastic coordinates of these robots are independent.
        np.testing.assert_allclose(found["elastic"], expected["acceleration"][-ne:], atol=1e-8 * size)


@pytest.mark.costly
@pytest.mark.parametrize(
    ("function", "options", "operations"),
    [
        (lengths_inverse, {}, (128, 193)),
        (lengths_forward, {}, (141, 208)),
        (elastic_inverse, PAPER, (656, 825)),
        (elastic_forward, PAPER, (665, 845)),
    ],
)
def test_operations(function: object, options: dict[str, object], operations: tuple[int, int]) -> None:
    cost = count(compile_function(function, prrrp(WEIGHT, **options), target="numpy").program)
    assert (cost.add, cost.mul) == operations


def test_platforms_that_lengths_do_not_place() -> None:
    robot = with_flexible_links("3rrr")
    size = choose_independent_rates(robot).elastic_tree.ne
    with pytest.raises(KinematicsError, match="no point on 2 flexible links"):
        lengths_inverse(robot, np.zeros(3), np.zeros(size), np.zeros(3), np.zeros(size), np.zeros(3))


# ---- models
#
# The small form against the general one, whose loops are closed: forces, accelerations and energies.

RAYLEIGH = {"damping": {"rayleigh": {"mass": 3.0, "stiffness": 1e-4}}}


def drives_with_springs() -> Robot:
    robot = prrrp((1.0, 0.0, -3.0))
    joints = [
        dataclasses.replace(joint, drive_stiffness=3e4, drive_damping=2.0, rotor_inertia=0.3)
        if k in [actuator.joint for actuator in robot.actuators]
        else joint
        for k, joint in enumerate(robot.joints)
    ]
    return dataclasses.replace(robot, joints=tuple(joints))


CASES_OF_MODELS: dict[str, Callable[[], Robot]] = {
    "prrrp": lambda: prrrp((1.0, 2.0, -9.0), damping={"ratio": 0.05}),
    "prrrp-shear": lambda: prrrp((1.0, 2.0, -9.0), shear=True, number=3, geometric=False),
    "springs": drives_with_springs,
    "fivebar": lambda: with_flexible_links("fivebar", **RAYLEIGH),
    "fivebar-distal": lambda: with_flexible_links("fivebar", ("distal",)),
    "3rrr": lambda: with_flexible_links("3rrr"),
    "delta": lambda: with_flexible_links("delta", damping={"ratio": 0.01}),
    "delta-tolerances": lambda: with_flexible_links(delta_with_tolerances(4), ("rod",)),
    "delta-turned": lambda: with_rotated_links(
        with_flexible_links("delta"), np.random.default_rng(5), planar=False
    ),
    "delta-arms": lambda: with_flexible_links("delta", ("arm", "rod"), number=1),
    "random-point-0": lambda: random_planar(0, point=True),
    "random-point-1": lambda: random_planar(1, point=True),
    "random-plate-0": lambda: random_planar(0, point=False),
    "random-plate-2": lambda: random_planar(2, point=False, turned_plate=True),
}


@pytest.mark.costly
@pytest.mark.parametrize("case", CASES_OF_MODELS)
def test_as_the_general_form_of_models(case: str) -> None:
    robot = CASES_OF_MODELS[case]()
    assert isinstance(condensed_structure(robot), CondensedStructure)
    state = general_state(robot, np.random.default_rng(3))
    p, y = reduced_state(robot, state)
    na = len(robot.actuators)
    expected, found = elastic_inverse(robot, *state[:2], state.a), condensed_inverse(robot, p, y, state.a)
    size = np.max(np.abs(expected["force"]))
    np.testing.assert_allclose(found["force"], expected["force"], rtol=0.0, atol=1e-10 * size)
    forward = condensed_forward(robot, p, y, expected["force"])["acceleration"]
    general = elastic_forward(robot, *state[:2], expected["force"])["acceleration"]
    scale = np.max(np.abs(forward))
    np.testing.assert_allclose(forward[:na], state.a, rtol=0.0, atol=1e-10 * scale)
    np.testing.assert_allclose(forward[na:], found["acceleration"], rtol=0.0, atol=1e-9 * scale)
    np.testing.assert_allclose(general[:na], state.a, rtol=0.0, atol=1e-9 * np.max(np.abs(general)))
    energies = condensed_energies(robot, p, y)
    for name, value in elastic_energies(robot, *state[:2]).items():
        if name != "rates":
            assert energies[name] == pytest.approx(value, rel=1e-11), name


# ---- natural
#
# Positions without closures: ends of links are where the general form has them, and move as it says.


@pytest.mark.parametrize("make", [prrrp, lambda: with_flexible_links("delta", number=1)])
def test_ends_of_links(make) -> None:
    robot = make()
    reduced = reduced_coordinates(robot)
    own = choose_independent_rates(robot).elastic_tree
    state = general_state(robot, np.random.default_rng(2))
    p, y = reduced_state(robot, state)
    assert (len(p), len(y)) == (reduced.size, reduced.n)
    frames = frames_at(own, *positions.split_positions(own, state.p))
    now = subchain_motion(reduced, p, y)
    for link, ends, (a, b) in zip(
        reduced.structure.links, now.tips, link_end_points(reduced, p), strict=True
    ):
        # The start of a beam is the origin of its floating frame; loops are closed at its end.
        np.testing.assert_allclose(a, frames.floating_frame(link.number).p, atol=1e-10)
        shapes = own.shapes[link.number]
        far = np.array([shapes.beam.length, 0.0, 0.0])
        far = far + shapes.section_motion(1.0)[:3] @ frames.qe[own.slices[link.number]]
        pose = frames.floating_frame(link.number)
        np.testing.assert_allclose(b, pose.p + pose.R @ far, atol=1e-10)
        np.testing.assert_allclose(ends[0].p, a, atol=1e-15)
        np.testing.assert_allclose(ends[1].J @ y[: len(reduced.order)], ends[1].v, atol=1e-12)
    h = 1e-6
    later, before = (link_end_points(reduced, p + k * h * position_rates(now, p, y)) for k in (1.0, -1.0))
    for ends, ahead, behind in zip(now.tips, later, before, strict=True):
        for tip, b, a in zip(ends, ahead, behind, strict=True):
            np.testing.assert_allclose((b - a) / (2.0 * h), tip.v, atol=1e-8)


def test_robots_with_other_links_are_refused() -> None:
    with pytest.raises(KinematicsError, match="the small form does not support"):
        reduced_coordinates(with_flexible_links("orthoglide"))


# ---- Which robots have a small form, and why others have none

MOMENTS = "no flexible link is free of moments"


@pytest.mark.parametrize(
    ("make", "links", "left"),
    [
        (prrrp, 2, 0),
        (lambda: with_flexible_links("fivebar"), 2, 2),
        (lambda: with_flexible_links("3rrr"), 3, 3),
        (lambda: with_flexible_links("3rrr", ("coupler",)), 3, 0),
        (lambda: with_flexible_links("delta"), 6, 0),
        (lambda: with_flexible_links("delta", ("arm", "rod")), 6, 3),
    ],
)
def test_links_that_are_taken_out(make: Callable[[], Robot], links: int, left: int) -> None:
    robot = make()
    structure = condensed_structure(robot)
    assert isinstance(structure, CondensedStructure)
    assert len(structure.links) == links
    assert len(structure.subchains.shapes) == left
    assert structure.subchains.robot.tree == len(structure.subchains.robot.joints)  # no closure is left
    assert len(structure.subchains.robot.actuators) == len(robot.actuators)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: with_flexible_links("orthoglide", LINKS["orthoglide"]), MOMENTS),
        (lambda: with_flexible_links("fivebar", ("proximal",)), MOMENTS),
        (lambda: prrrp(frame="clamped"), MOMENTS),
        (lambda: prrrp(shapes="hermite", number=2), MOMENTS),
        (lambda: with_flexible_links("fivebar", ("left.distal",)), "closes a loop of rigid links"),
        (lambda: with_flexible_links("delta", ("rod-a",)), "closes a loop of rigid links"),
        (lambda: with_flexible_links("delta", section={"rectangle": (0.01, 0.02)}), MOMENTS),
        (lambda: with_flexible_links(nacelle.load("hexaglide"), ("rod",)), MOMENTS),
    ],
)
def test_reasons(make: Callable[[], Robot], reason: str) -> None:
    robot = make()
    found = condensed_structure(robot)
    assert isinstance(found, str)
    assert reason in found
    with pytest.raises(KinematicsError, match="the small form does not support"):
        reduced_coordinates(robot)


# ---- A link between two points: momentum, power and inertia of a rod, rigid and bending

Array = np.ndarray
OWN = link_constants(flexible_tree(with_flexible_links("delta", number=2)).shapes[0])
BEAM = OWN.shapes.beam


def moving(A: Array, P: Array, v_A: Array, v_P: Array, t: Array, t_rate: Array, first: Array):
    """A link from A to P; `first` is the direction of its first plane."""
    span = P - A
    length = float(np.linalg.norm(span))
    e = span / length
    n1 = first - e * (e @ first)
    n1 /= np.linalg.norm(n1)
    n = (n1, np.cross(e, n1))
    v = v_P - v_A
    w = np.array([n_j @ v / length for n_j in n])
    return moving_link(OWN, link_posture(span, length, n, None), LinkRates(float(e @ v), w, t, t_rate))


def energy(A: Array, P: Array, v_A: Array, v_P: Array, t: Array, t_rate: Array, first: Array) -> float:
    """Kinetic energy of points of the link, rotation of its sections and strain energy, J."""
    link = moving(A, P, v_A, v_P, t, t_rate, first)
    e, n, w = link.at.e, link.at.n, link.now.w
    nodes, weights = np.polynomial.legendre.leggauss(30)
    total = 0.0
    for xi, weight in zip(0.5 * (nodes + 1.0), 0.5 * weights, strict=True):
        d = np.array([c.d.at(xi) for c in OWN.shapes.coordinates[1:]])
        v = v_A + xi * (v_P - v_A)
        for i, j in enumerate(OWN.plane):
            v = v + d[i] * (n[j] * t_rate[i] - w[j] * t[i] * e)
        total += 0.5 * weight * BEAM.mass * float(v @ v)
    coordinates = np.array([link.at.length - BEAM.length, *t])
    for j in range(2):
        total += 0.5 * OWN.rotary[j] * w[j] ** 2
    total += 0.5 * float(t_rate @ OWN.shapes.RR[1:, 1:] @ t_rate)
    return total + float(strain_energy(OWN.shapes, coordinates))


def sample() -> tuple[Array, ...]:
    random = np.random.default_rng(0)
    A = random.normal(size=3)
    e = random.normal(size=3)
    P = A + e / np.linalg.norm(e) * (BEAM.length + 1e-5)
    t, t_rate = 2e-3 * random.normal(size=OWN.n), 0.05 * random.normal(size=OWN.n)
    return A, P, random.normal(size=3), random.normal(size=3), t, t_rate, random.normal(size=3)


def test_power_of_the_end_forces_is_the_change_of_energy() -> None:
    """F_A . v_A + F_P . v_P = d(T + V)/dt, without damping and gravity."""
    A, P, v_A, v_P, t, t_rate, _ = sample()
    a_A, a_P = np.random.default_rng(1).normal(size=(2, 3))
    ends = end_forces(moving(*sample()), a_A, a_P)
    link = moving(*sample())

    def later(h: float) -> float:
        turned = link.at.n[0] - h * link.now.w[0] * link.at.e
        return energy(
            A + h * v_A + h * h / 2 * a_A,
            P + h * v_P + h * h / 2 * a_P,
            v_A + h * a_A,
            v_P + h * a_P,
            t + h * t_rate + h * h / 2 * ends.t,
            t_rate + h * ends.t,
            turned,
        )

    h = 1e-6
    power = (later(h) - later(-h)) / (2.0 * h)
    assert float(ends.start @ v_A + ends.end @ v_P) == pytest.approx(power, rel=1e-5)


def test_inertia_is_the_slope_of_the_forces() -> None:
    link = moving(*sample())
    start, end, change = np.random.default_rng(2).normal(size=(3, 3))
    before = end_forces(link, start, end)
    I = link_end_inertia(link)
    for changes, blocks in (
        ((change, np.zeros(3)), (I.start, I.mixed.T)),
        ((np.zeros(3), change), (I.mixed, I.end)),
    ):
        after = end_forces(link, start + changes[0], end + changes[1])
        np.testing.assert_allclose(after.start - before.start, blocks[0] @ change, atol=1e-12)
        np.testing.assert_allclose(after.end - before.end, blocks[1] @ change, atol=1e-12)
        moved = correct_end_forces(
            link, before, EndMotion(start + changes[0], changes[0]), EndMotion(end + changes[1], changes[1])
        )
        for a, b in zip(moved, after, strict=True):
            np.testing.assert_allclose(a, b, atol=1e-11)
