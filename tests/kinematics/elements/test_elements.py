"""Elements.

chain, from encoders, from pose, geometry, jets, layout, leg points, nacelle pose, placement, rates,
reading, samples, structure.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal, localcontext
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import nacelle
from nacelle.dynamics.formulations.elements import projection as elements
from nacelle.dynamics.formulations.elements.motion import element_motion
from nacelle.errors import NacelleError
from nacelle.kinematics.elements.chain import end_zeros, free_rates, leg_bodies, motion_basis
from nacelle.kinematics.elements.from_encoders import elements_from_encoders, reason_without_encoders
from nacelle.kinematics.elements.from_pose import element_arrays, element_shapes
from nacelle.kinematics.elements.geometry import ElementGeometry, unit_vector
from nacelle.kinematics.elements.jets import cross_jets, crossed_jet, plus_jet, scaled_jet, unit_jet
from nacelle.kinematics.elements.layout import in_space, leg_layout
from nacelle.kinematics.elements.leg_points import Hinge, Universal, turned_about
from nacelle.kinematics.elements.nacelle_pose import NacellePlaces, nacelle_bodies, orientations
from nacelle.kinematics.elements.placement import ElementMotion, element_layout, reason_without_elements
from nacelle.kinematics.elements.rates import (
    Rate,
    Rigid,
    cross_and_rate,
    dotted,
    resting,
    solved_rates,
    stacked,
    times,
)
from nacelle.kinematics.elements.reading import element_legs
from nacelle.kinematics.elements.samples import element_samples
from nacelle.kinematics.elements.structure import KinematicElement, split_states
from nacelle.kinematics.general.plan import plan_of
from nacelle.kinematics.kinematic_model import body_motions, body_poses, joint_motions
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.tree.spanning_tree import CosSin
from nacelle.program.precise import arithmetic
from support.compare import assert_same
from support.element_robots import COVERED, cased, samples
from support.library import library_robot
from support.random_robots.legs import CASES
from support.uncompiled import ALL, any_robot

# ---- chain
#
# The bodies of a leg over its motion basis: those of the tree, and what keeps the leg together is zero.


@pytest.mark.parametrize("name", ["fivebar", "delta", "gough-stewart", "orthoglide", "delta4", "c5"])
def test_constraints_hold_along_the_motion(name: str) -> None:
    """Rates that are zero are so with their derivatives, and bodies move as the tree says."""
    robot = any_robot(name)
    state, a, _ = samples(robot)[0]
    at = ElementGeometry(robot, state.now.motion.poses)
    motion = element_motion(state, a)
    for moved in motion.legs:
        made = leg_bodies(at, moved.leg, moved.u)
        nacelle = motion.nacelle[moved.leg.rods[0].nacelle]
        zeros = [*made.zeros, *end_zeros(at, moved.leg, made.ends, nacelle)]
        for zero in zeros:
            assert np.max(np.abs(zero.now)) < 1e-11
            assert np.max(np.abs(zero.next)) < 1e-9
        for body, rigid in made.bodies.items():
            twist = state.moving.velocity.twists[body]
            p = state.now.motion.poses[body].p
            np.testing.assert_allclose(rigid.w.now, twist[3:], atol=1e-10)
            np.testing.assert_allclose(rigid.at(p).now, twist[:3] + np.cross(twist[3:], p), atol=1e-10)


def test_free_rates() -> None:
    """A driven bar with a rod between spherical joints needs q' alone, a strut its five."""
    state, a, _ = samples(any_robot("hexa"))[0]
    legs = [moved.leg for moved in element_motion(state, a).legs]
    assert all(free_rates(leg) == 1 + sum("theta" in e.basis for e in leg.elements[1:]) for leg in legs)
    state, a, _ = samples(any_robot("gough-stewart"))[0]
    moved = element_motion(state, a).legs[0]
    assert free_rates(moved.leg) == 5
    own = moved.u[0:5]
    at = ElementGeometry(state.robot, state.now.motion.poses)
    assert motion_basis(at, moved.leg, own, resting(6)) is own


# ---- The element state from encoders, against that of the pose


@pytest.mark.parametrize("name", ["fivebar", "prrrp"])
def test_as_at_the_pose(name: str) -> None:
    robot = library_robot(name)
    x, y = plan_of(robot).samples[1]
    v, a = np.random.default_rng(0).normal(size=(2, robot.motion.n))
    q = nacelle.joint_motion(robot, x, v, a).actuators
    found = elements_from_encoders(robot, *q)
    for key, exact in element_arrays(robot, x, y, v, a).items():
        assert_same(found[key], exact, 1e-11)


def test_where_iteration_is_needed() -> None:
    for name in ("gough-stewart", "quattro"):
        assert "closed form" in reason_without_encoders(mechanism_of(library_robot(name)))


# ---- Variables of the element state at a pose: directions of unit length, lengths between joints


@pytest.mark.parametrize("name", ["fivebar", "3rps", "c5"])
def test_directions_have_unit_length(name: str) -> None:
    robot = library_robot(name)
    x, y = plan_of(robot).samples[1]
    v, a = np.random.default_rng(0).normal(size=(2, robot.motion.n))
    found = element_arrays(robot, x, y, v, a)
    assert {key: value.shape for key, value in found.items()} == element_shapes(robot)
    for key, value in found.items():
        if value.ndim == 2 and not key.endswith("_point"):
            u, rate, second = value
            assert abs(u @ u - 1.0) < 1e-12
            assert abs(u @ rate) < 1e-12
            assert abs(u @ second + rate @ rate) < 1e-10


def test_lengths_are_those_between_the_joints() -> None:
    robot = library_robot("3rps")
    x, y = plan_of(robot).samples[1]
    zero = np.zeros(robot.motion.n)
    found, poses = element_arrays(robot, x, y, zero, zero), body_poses(robot, x, y)
    for leg in robot.legs:
        first, end = robot.joints[leg.joints[0]], robot.joints[leg.closures[0]]
        A = first.frame_predecessor.p
        body, frame = (
            (end.successor, end.frame_successor)
            if end.successor in robot.nacelle.bodies
            else (end.predecessor, end.frame_predecessor)
        )
        B = poses["p"][body] + poses["R"][body] @ frame.p
        assert_same(found[f"{leg.name}_length"][0], np.linalg.norm(B - A), 1e-12)
        assert_same(found[f"{leg.name}_strut"][0], (B - A) / np.linalg.norm(B - A), 1e-12)


# ---- Where elements are: on the joints of the assembled robot, with directions of unit length


@pytest.mark.parametrize("name", ["fivebar", "delta", "gough-stewart", "orthoglide", "3rps"])
def test_ends_and_directions(name: str) -> None:
    robot = any_robot(name)
    mechanism = mechanism_of(robot)
    at = ElementGeometry(robot, mechanism.assembly.motion.poses)
    for leg in element_legs(mechanism):
        for rod in leg.rods:
            E, B = at.ends(leg, rod)
            x = at.direction(leg, rod)
            assert np.linalg.norm(x) == pytest.approx(1.0, abs=1e-14)
            # The joint at the output is at one place, seen from both of its bodies.
            both = [at.frame(rod.tip, on_successor=side).p for side in (False, True)]
            np.testing.assert_allclose(both[0], both[1], atol=1e-9)
            assert min(np.linalg.norm(B - place) for place in both) < 1e-9
            # A strut's slide may lie beside the line of its ends; a rod is that line.
            assert x @ unit_vector(B - E) > (0.9 if leg.prismatic is not None else 1.0 - 1e-12)
        if "x" in leg.elements[0].basis and leg.driver is not None:
            z = at.frame(leg.driver).R[:, 2]
            assert abs(at.bar_direction(leg) @ z) < 1e-12


# ---- Products of vectors with their derivatives, against Taylor's series


def at(jet: np.ndarray, t: float) -> np.ndarray:
    return jet[0] + t * jet[1] + 0.5 * t * t * jet[2]


def test_products_are_differentiated() -> None:
    rng = np.random.default_rng(0)
    a, b, d = rng.normal(size=(3, 3)), rng.normal(size=(3, 3)), rng.normal(size=3)
    z, h = rng.normal(size=3), 1e-4
    cases = (
        (plus_jet(a, b, 2.5), lambda t: at(a, t) + 2.5 * at(b, t)),
        (crossed_jet(z, a), lambda t: np.cross(z, at(a, t))),
        (cross_jets(a, b), lambda t: np.cross(at(a, t), at(b, t))),
        (scaled_jet(d, a), lambda t: at(d, t) * at(a, t)),
        (unit_jet(a), lambda t: at(a, t) / np.linalg.norm(at(a, t))),
    )
    for jet, exact in cases:
        rate = (exact(h) - exact(-h)) / (2.0 * h)
        second = (exact(h) - 2.0 * exact(0.0) + exact(-h)) / h**2
        assert_same(jet, np.stack([exact(0.0), rate, second]), 1e-6)


# ---- Which variables the element state of a robot has


@pytest.mark.parametrize(
    ("name", "some", "number"),
    [
        ("fivebar", {"left_arm": (3, 2), "left_rod": (3, 2)}, 4),
        ("gough-stewart", {"leg1_strut": (3, 3), "leg1_length": (3,)}, 12),
        ("delta", {"leg1_arm": (3, 3), "leg1_rod": (3, 3)}, 6),
        ("orthoglide", {"x-leg_slide": (3,), "x-leg_rod": (3, 3)}, 6),
        ("c5", {"leg1_slide": (3,)}, 9),
    ],
)
def test_variables(name: str, some: dict[str, tuple[int, ...]], number: int) -> None:
    shapes = element_layout(mechanism_of(library_robot(name))).shapes
    assert some.items() <= shapes.items()
    assert len(shapes) == number


def test_rods_that_stay_parallel_are_one() -> None:
    layout = leg_layout(mechanism_of(library_robot("delta")))
    assert layout.of_rod[0, 0] == layout.of_rod[0, 1] == "leg1_rod"


def test_planar_directions_are_spread() -> None:
    layout = element_layout(mechanism_of(library_robot("fivebar")))
    rows = in_space(layout, np.arange(6.0).reshape(3, 2))
    assert rows.shape == (3, 3)
    assert np.array_equal(rows[:, list(layout.axes)], np.arange(6.0).reshape(3, 2))
    assert np.count_nonzero(rows) == 5


def test_a_leg_that_is_cut_elsewhere_says_so() -> None:
    reason = reason_without_elements(mechanism_of(CASES["6 UPS cut at the slide"](1).robot))
    assert "is cut at its joint" in reason
    assert "from the base to the nacelle" in reason


# ---- Joints at the input of an element from its direction: against rotations by their angles

Array = np.ndarray


def turned(axis: Array, angle: float, u: Array) -> Array:
    return np.asarray(Rotation.from_rotvec(angle * axis).apply(u))


def jet(at: Callable[[float], Array]) -> Array:
    """Value and two derivatives at 0 by central differences."""
    h = 1e-4
    return np.stack([at(0.0), (at(h) - at(-h)) / (2 * h), (at(h) - 2 * at(0.0) + at(-h)) / h**2])


def test_hinges() -> None:
    rng = np.random.default_rng(0)
    z = np.array([0.0, 0.6, 0.8])
    zero = rng.normal(size=3)
    zero /= np.linalg.norm(zero)
    k = zero - z * (z @ zero)
    hinge = Hinge(0, z, k / (k @ k), float(k @ k))
    q, rate, second = 0.7, -1.3, 2.1
    x = jet(lambda t: turned(z, q + rate * t + 0.5 * second * t * t, zero))
    assert_same(np.array(hinge.step(x[0])), np.array([np.cos(q), np.sin(q)]), 1e-12)
    assert_same(np.array(hinge.rates(x)), np.array([rate, second]), 1e-6)


def test_universal_joints() -> None:
    a, b = np.array([0.6, 0.0, 0.8]), np.array([0.0, 1.0, 0.0])
    c = np.cross(a, b)
    x0 = 0.28 * a + 0.96 * c
    angles, rates, seconds = np.array([0.4, -0.3]), np.array([0.9, 1.7]), np.array([-2.0, 0.5])

    def at(t: float) -> Array:
        one, two = angles + rates * t + 0.5 * seconds * t * t
        return turned(a, one, turned(b, two, x0))

    x = jet(at)
    joint = Universal(a, b, x0, float(np.sign(np.cross(a, turned(a, angles[0], b)) @ x[0])), (0,))
    steps = joint.steps(x[0], None, np.zeros(3))
    assert_same(np.array(steps), np.stack([np.cos(angles), np.sin(angles)], axis=1), 1e-12)
    first, second = joint.rates(x)
    assert_same(np.array(first), rates, 1e-6)
    assert_same(np.array(second), seconds, 1e-5)


def test_vectors_turn_about_a_constant_axis() -> None:
    z, u = np.array([0.0, 0.6, 0.8]), np.array([1.0, -2.0, 0.5])
    found = turned_about(z, CosSin(np.cos(0.3), np.sin(0.3)), u)
    assert_same(found, turned(z, 0.3, u), 1e-14)
    assert turned_about(z, None, u) is u


# ---- Linear forward kinematics: bodies of the nacelle from points whose motion is known


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("delta", {"constant"}),
        ("3rrr", {"axis"}),
        ("gough-stewart", {"any"}),
        ("quattro", {"constant", "axis"}),
    ],
)
def test_orientations(name: str, kinds: set[str]) -> None:
    found = orientations(mechanism_of(library_robot(name)))
    assert kinds <= {turning.kind for turning in found.values()}


@pytest.mark.parametrize("name", ["3rrr", "gough-stewart"])
def test_three_points_place_a_body(name: str) -> None:
    """Points of the platform with exact motion, by the tree, give its pose and twist back."""
    robot = library_robot(name)
    mechanism = mechanism_of(robot)
    x, y = plan_of(robot).samples[2]
    rng = np.random.default_rng(1)
    v, a = rng.normal(size=(2, robot.motion.n))
    body = nacelle_bodies(mechanism)[0]
    poses, moving = body_poses(robot, x, y), body_motions(robot, x, y, v, a)
    R, p = poses["R"][body], poses["p"][body]
    (linear, w), (second, w_dot) = (
        moving["twist"][body].reshape(2, 3),
        moving["acceleration"][body].reshape(2, 3),
    )
    places = NacellePlaces(mechanism)
    for local in robot.size * rng.normal(size=(3, 3)):
        r = R @ local
        rate = np.cross(w, r)
        places.add(
            body, local, np.stack([p + r, linear + rate, second + np.cross(w_dot, r) + np.cross(w, rate)])
        )
    assert body not in places.solve()
    frame = places.frames[body]
    for found, exact in (
        (frame.pose.R, R),
        (frame.pose.p, p),
        (frame.v, linear),
        (frame.w, w),
        (frame.a, second),
        (frame.w_dot, w_dot),
        (np.stack(frame.columns_dot, axis=1), np.cross(w, R.T).T),
    ):
        assert_same(found, exact, 1e-10)


def test_one_point_does_not_place_a_turning_body() -> None:
    mechanism = mechanism_of(library_robot("gough-stewart"))
    places = NacellePlaces(mechanism)
    places.add(nacelle_bodies(mechanism)[0], np.zeros(3), np.zeros((3, 3)))
    assert places.solve() == list(nacelle_bodies(mechanism))
    assert places.wanted_axes(nacelle_bodies(mechanism)[0]) == (0, 1)


# ---- A robot placed by its element state, against the tree at the pose


@pytest.mark.parametrize("name", ["3rps", "fivebar", "space"])
def test_poses_and_rates(name: str) -> None:
    robot = library_robot(name)
    x, y = plan_of(robot).samples[1]
    v, a = np.random.default_rng(0).normal(size=(2, robot.motion.n))
    seen = ElementMotion(robot, element_arrays(robot, x, y, v, a))
    exact, joints = body_poses(robot, x, y), joint_motions(robot, x, y, v, a)
    for body, pose in enumerate(seen.configuration.motion.poses):
        if not np.any(np.isnan(np.asarray(pose.R, dtype=float))):
            assert_same(pose.p, exact["p"][body], 1e-11)
            assert_same(pose.R, exact["R"][body], 1e-11)
    for found, key in zip(seen.joint_rates, ("rate", "acceleration"), strict=True):
        for place, value in found.items():
            assert abs(value - joints[key][place - robot.platform_nv]) < 1e-10


def test_geometry_is_constant(tmp_path: Path) -> None:
    """Numbers of geometry are no inputs from elements; those of inertia may be."""
    with pytest.raises(NacelleError, match="have its geometry as constants"):
        nacelle.export(
            library_robot("fivebar"),
            "inverse_dynamics",
            out=tmp_path,
            input="elements",
            parameters=("geometry",),
        )


# ---- rates
#
# Rates with derivatives: products are differentiated as finite differences say, and small systems solved.

H = 1e-5


def test_products_have_their_derivatives() -> None:
    """w(t) and r(t) are polynomials: .now is the value at 0, .next the slope."""
    rng = np.random.default_rng(0)
    W, R = rng.normal(size=(2, 2, 3))
    w = Rate(np.eye(3), W[0], W[1])

    def at(t: float) -> tuple[np.ndarray, np.ndarray]:
        return W[0] + W[1] * t, R[0] + R[1] * t

    for made, value in (
        (cross_and_rate(w, R[0], R[1]), lambda t: np.cross(*at(t))),
        (dotted(w, R[0], R[1]), lambda t: at(t)[0] @ at(t)[1]),
        (times(w[1], R[0], R[1]), lambda t: at(t)[0][1] * at(t)[1]),
    ):
        assert_same(made.now, value(0.0), 1e-14)
        assert_same(made.next, (value(H) - value(-H)) / (2 * H), 1e-8)
        assert_same(made.M @ W[0], made.now, 1e-13)


def test_points_of_a_rigid_body_keep_their_distance() -> None:
    rng = np.random.default_rng(1)
    p, v, dv, w, dw, a, b = rng.normal(size=(7, 3))
    body = Rigid(p, Rate(np.zeros((3, 1)), v, dv), Rate(np.zeros((3, 1)), w, dw))
    one, two = body.at(a), body.at(b)
    gap, rate, second = b - a, two.now - one.now, two.next - one.next
    assert abs(gap @ rate) < 1e-12
    assert abs(gap @ second + rate @ rate) < 1e-11
    assert not np.any(resting(2).at(a).now)


def test_solved_meets_rows_that_move() -> None:
    """n(t) . u = s(t) . g with moving n and s: u and u' follow, and a row too many is left as zero."""
    rng = np.random.default_rng(2)
    N, S = rng.normal(size=(2, 2, 3, 3))
    g = Rate(np.eye(3), *rng.normal(size=(2, 3)))

    def rows(u: Rate, given: Rate) -> list[Rate]:
        made = [dotted(u, N[0][k], N[1][k]) - dotted(given, S[0][k], S[1][k]) for k in range(3)]
        return [*made, made[0] + made[2]]

    u, left = solved_rates(rows, 3, g)
    assert_same(N[0] @ u.now, S[0] @ g.now, 1e-11)
    assert_same(N[0] @ u.next + N[1] @ u.now, S[0] @ g.next + S[1] @ g.now, 1e-10)
    assert_same(u.M @ g.now, u.now, 1e-11)
    assert np.max(np.abs(left.M)) < 1e-12
    assert np.max(np.abs(left.next)) < 1e-11
    assert stacked([u, u[0]]).M.shape == (4, 3)


# ---- Which robots the element form covers, and why not the others

# The others, and a word of the reason.
REFUSED = {
    "dymo": "(URU) is not made of kinematic elements",
    "dymo/orientational": "(URU)",
    "dymo/planar": "(URU)",
    "dymo/mixed": "(URU)",
    "c5-slides": "(PSPP)",
    "shared": "is not made of kinematic elements",
}


def test_what_is_covered() -> None:
    assert set(COVERED) | set(REFUSED) == set(ALL)
    for name, made_of in COVERED.items():
        mechanism = mechanism_of(any_robot(name))
        assert elements.reason_not(mechanism) == "", name
        words: dict[str, int] = {}
        for leg in element_legs(mechanism):
            word = "".join(element.letter for element in leg.elements)
            words[word] = words.get(word, 0) + 1
        assert ", ".join(f"{count} {word}" for word, count in words.items()) == made_of, name
    for name, reason in REFUSED.items():
        assert reason in elements.reason_not(mechanism_of(any_robot(name))), name


def test_reasons_are_sentences() -> None:
    for name in CASES:
        reason = elements.reason_not(mechanism_of(CASES[name](3).robot))
        assert bool(reason) != cased(name), (name, reason)
        assert reason.count("\n") == 0
        assert not reason.endswith(".")


@pytest.mark.parametrize(
    ("name", "parts"),
    [("gough-stewart", 6), ("h4", 8), ("quattro", 12), ("delta", 3), ("fivebar", 2), ("delta4", 4)],
)
def test_nacelle_is_split_evenly(name: str, parts: int) -> None:
    """[OAM] figure 2: six elements for the Gough-Stewart platform, eight for the H4."""
    legs = element_legs(mechanism_of(any_robot(name)))
    shares: dict[int, list[float]] = {}
    for leg in legs:
        for part in leg.parts:
            shares.setdefault(part.element.body, []).append(part.element.share)
    assert sum(len(listed) for listed in shares.values()) == parts
    assert all(abs(sum(listed) - 1.0) < 1e-15 for listed in shares.values())
    assert set(shares) == set(any_robot(name).nacelle.bodies)


# ---- Samples of element states have as many digits as identities need


def test_directions_have_unit_length_to_many_digits() -> None:
    robot = library_robot("fivebar")
    samples = element_samples(robot, element_shapes(robot))
    assert samples is not None
    with localcontext(arithmetic()):
        for row in (*samples.proof, *samples.check):
            for start in range(0, len(row), 6):
                x, y = row[start : start + 2]
                assert abs(x * x + y * y - 1) < Decimal("1e-30")


# ---- Elements and their motion basis: names, and where each state is in u


def test_states_are_cut_out_of_the_basis() -> None:
    elements = (
        KinematicElement("slider", "T", 2, ("d",)),
        KinematicElement("bar", "B", 3, ("x", "theta")),
        KinematicElement("end", "B", 1, ()),
    )
    u = Rate(np.eye(5), np.arange(5.0), -np.arange(5.0))
    slider, bar, end = split_states(elements, u)
    assert float(slider["d"].now) == 0.0
    assert bar["x"].now.tolist() == [1.0, 2.0, 3.0]
    assert float(bar["theta"].next) == -4.0
    assert end == {}


def test_parts_come_after_the_own_elements() -> None:
    """[OAM] section 3.2: a strut of a Gough-Stewart robot carries a sixth of the platform."""
    for leg in element_legs(mechanism_of(any_robot("gough-stewart"))):
        assert [element.letter for element in leg.all_elements] == ["T", "B"]
        assert leg.all_elements[-1] is leg.parts[0].element
        assert leg.parts[0].element.share == 1.0 / 6.0
        first, second = leg.rods[0].hold.axes
        assert (first.on_successor, second.on_successor) == (False, True)
