"""Sketch: sketch, letters, posture, screws, search, text."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

from nacelle.errors import NacelleError
from nacelle.kinematics.mechanism.check import check_robot
from nacelle.library import loads
from nacelle.model.read import read_text
from nacelle.sketch.legs import (
    JOINT_FREEDOMS,
    TANGENTIAL,
    UPWARDS,
    LegLetters,
    RobotLengths,
    Vector,
    add_vectors,
    cross_product,
    dot_product,
    has_leg_count,
    legs_notation,
    place_joints,
    read_legs,
    subtract_vectors,
)
from nacelle.sketch.search import (
    Arrangement,
    LegPlacement,
    LegScrews,
    find_arrangement,
    leg_screws,
    motion_on_legs,
)
from nacelle.sketch.sketch import Sketch, sketch
from nacelle.spatial.inertia import inertia_about_com

# ---- Sketched robots pass the check with the motion that their legs promise; other engines agree with them


def checked(made: Sketch) -> None:
    """Nothing is wrong with it, warnings included, and it reaches its reference pose."""
    robot, source = read_text(made.text)
    check = check_robot(robot, source)
    assert check.problems == ()
    assert check.mobility is not None
    assert check.mobility.platform == len(robot.motion.coordinates) == check.mobility.controlled
    assert abs(check.assembly.platform.p - robot.reference.p).max() < 1e-12


@pytest.mark.costly
@pytest.mark.parametrize(
    ("legs", "count", "motion"),
    [
        # As in the literature: Gough-Stewart, Hexa, 3-RPS (Hunt), translational 3-UPU (Tsai).
        ("6-UPS", 6, "se3"),
        ("RUS", 6, "se3"),
        ("3-RRR", 3, "xy+rz"),
        ("RPS", 3, "[z, rx, ry]"),
        ("UPU", 3, "xyz"),
    ],
)
def test_robots_of_textbooks(legs: str, count: int, motion: str) -> None:
    made = sketch("trial", legs)
    assert (len(made.legs), made.motion) == (count, motion)
    checked(made)


def test_a_motion_that_is_asked_for() -> None:
    """Three revolute joints a leg move a platform in a plane, or about a point (spherical 3-RRR)."""
    made = sketch("wrist", "RRR", motion="rx+ry+rz")
    assert (len(made.legs), made.motion) == (3, "[rx, ry, rz]")
    checked(made)


def random_sketch(seed: int) -> Sketch | None:
    """A sketch of random legs, or None after an error of one sentence."""
    rng = random.Random(seed)
    while True:
        letters = "".join(rng.choice("RRPPUSC") for _ in range(rng.choice([2, 3, 3, 4, 4, 5])))
        if sum(JOINT_FREEDOMS[letter] for letter in letters) <= 7:
            break
    motion = rng.choice([None, None, "xyz", "xy+rz", "z+rx+ry", "se3", "xyz+rz", "rx+ry+rz", "z"])
    count = rng.choice([None, None, 2, 3, 4, 6])
    try:
        return sketch("trial", letters, count=count, motion=motion)
    except NacelleError as error:
        fault = str(error)
    assert "\n" not in fault
    assert len(fault) < 300
    return None


@pytest.mark.slow
@pytest.mark.parametrize("part", [0, 1, *(pytest.param(k, marks=pytest.mark.soak) for k in range(2, 6))])
def test_random_sequences(part: int) -> None:
    """Each is a checked robot or one clear error; the first of each part is verified in another engine."""
    from nacelle.library import loads
    from nacelle.verify import verify

    made = [random_sketch(seed) for seed in range(20 * part, 20 * part + 20)]
    robots = [one for one in made if one is not None]
    for one in robots:
        checked(one)
    if robots:
        report = verify(loads(robots[0].text), "pinocchio", 3, 0)
        assert report.ok, f"{robots[0].summary}\n{report.text()}\n{robots[0].text}"


# ---- Legs as people write them


@pytest.mark.parametrize(
    ("text", "letters", "active"),
    [
        ("UPS", "UPS", (1,)),
        ("ups", "UPS", (1,)),
        ("U_PS", "UPS", (1,)),
        ("U[P]S", "UPS", (1,)),
        ("UP*S", "UPS", (1,)),
        ("UpS", "UPS", (1,)),
        ("UP\N{COMBINING LOW LINE}S", "UPS", (1,)),
        ("RRR", "RRR", (0,)),
        ("R[R]R", "RRR", (1,)),
        ("R*P*S", "RPS", (0, 1)),
        ("U-P-S", "UPS", (1,)),
        ("RUS", "RUS", (0,)),
    ],
)
def test_one_leg(text: str, letters: str, active: tuple[int, ...]) -> None:
    assert read_legs(text) == [LegLetters(letters, active)]
    assert read_legs(f"3-{text}") == read_legs(f"3{text}") == [LegLetters(letters, active)] * 3
    # What is printed is read again.
    assert read_legs(str(read_legs(text)[0])) == read_legs(text)


def test_several_legs() -> None:
    rus, prr = read_legs("RUS")[0], read_legs("PRR")[0]
    assert read_legs("RUS,RUS,PRR") == [rus, rus, prr]
    assert read_legs("2-RUS, 1-PRR") == [rus, rus, prr]
    assert read_legs("RUS", 4) == read_legs("4-RUS", 4) == [rus] * 4
    assert legs_notation([rus, rus, prr]) == "2-[R]US, 1-[P]RR"
    assert [has_leg_count(text) for text in ("UPS", "6-UPS", "UPS,UPS")] == [False, True, True]


# ---- Joints of a leg at exact places

SHAPE = RobotLengths(500, 200, 600, 30.0, TANGENTIAL)


@pytest.mark.parametrize("letters", ["UPS", "RRR", "PRRS", "RPPR", "PPS", "PPP", "URU", "SRP", "CPR"])
def test_a_leg_goes_from_base_to_platform(letters: str) -> None:
    leg = place_joints(read_legs(letters)[0], SHAPE)
    assert leg.points[0] == (500, 0, 0)
    assert leg.points[-1] == add_vectors(SHAPE.origin, SHAPE.anchor)
    assert all(value % 10 == 0 for value in SHAPE.anchor)


def test_a_rail_lies_between_its_neighbours_exactly() -> None:
    leg = place_joints(read_legs("UPS")[0], SHAPE)
    first, rail, last = leg.points
    assert cross_product(subtract_vectors(rail, first), subtract_vectors(last, first)) == (0, 0, 0)
    assert (
        0
        < dot_product(subtract_vectors(rail, first), subtract_vectors(last, first))
        < dot_product(subtract_vectors(last, first), subtract_vectors(last, first))
    )
    assert leg.choices(1, planar=False)[0] == (subtract_vectors(last, rail),)


def test_axes_of_a_universal_joint_are_perpendicular_to_each_other_and_to_the_link() -> None:
    leg = place_joints(read_legs("UPU")[0], SHAPE)
    for k in (0, 2):
        for a, b in leg.choices(k, planar=False):
            assert dot_product(a, b) == 0
            assert 0 in (dot_product(a, leg.links[k]), dot_product(b, leg.links[k]))
    # Seen from the platform the joint at the end is that at the beginning.
    assert leg.choices(2, planar=False)[0] == leg.choices(0, planar=False)[0][::-1]


def test_in_the_plane_axes_are_upright() -> None:
    flat = place_joints(read_legs("RRR")[0], RobotLengths(400, 120, 0, 0.0, TANGENTIAL))
    assert all(flat.choices(k, planar=True) == [(UPWARDS,)] for k in range(3))
    assert {point[2] for point in flat.points} == {0}


# ---- Motions of platforms whose legs textbooks discuss

SHAPE_OF_SCREWS = RobotLengths(500, 200, 600, 0.0, cross_product(TANGENTIAL, (-300, 0, 600)))

THREE = [LegPlacement(120.0 * k) for k in range(3)]


def leg(letters: str, *axes: tuple[Vector, ...]) -> LegScrews:
    return leg_screws(place_joints(read_legs(letters)[0], SHAPE_OF_SCREWS), axes)


def test_three_rps_lift_and_tilt() -> None:
    rps = leg("RPS", (TANGENTIAL,), ((-300, 0, 600),), ())
    motion = motion_on_legs([rps] * 3, THREE, (2, 3, 4))
    assert (motion.freedoms, motion.is_spanned, motion.is_pure) == (3, True, True)
    assert motion.conditioning > 0.1
    assert not motion_on_legs([rps] * 3, THREE, (0, 1, 2)).is_spanned


def test_a_regular_hexapod_is_singular_and_a_semiregular_one_is_not() -> None:
    """Fichter 1986: similar hexagons of anchors leave a motion uncontrolled."""
    ups = leg("UPS", (TANGENTIAL, (2, 0, 1)), ((-300, 0, 600),), ())
    regular = motion_on_legs([ups] * 6, [LegPlacement(60.0 * k) for k in range(6)], tuple(range(6)))
    assert regular.freedoms == 6
    assert regular.conditioning < 1e-12
    shape = RobotLengths(500, 200, 600, 30.0, TANGENTIAL)
    place = place_joints(read_legs("UPS")[0], shape)
    ups = leg_screws(place, ((TANGENTIAL, cross_product(TANGENTIAL, place.links[0])), (place.links[1],), ()))
    pairs = [LegPlacement(120.0 * k + 15.0 * s, s < 0) for k in range(3) for s in (-1, 1)]
    assert motion_on_legs([ups] * 6, pairs, tuple(range(6))).conditioning > 0.05


def test_the_spin_of_a_rod_is_idle() -> None:
    sps = leg("SPS", (), ((-300, 0, 600),), ())
    assert (sps.internal_freedoms, len(sps.locked)) == (1, 0)


def test_a_mirrored_leg_moves_as_its_image() -> None:
    """The twist of the image of a moving body is the image of its twist, reflected as a pseudovector."""
    turn = LegPlacement(0.0, mirrored=True).twist_map
    point, spin, speed = np.array([0.3, -0.2, 0.5]), np.array([0.4, 0.1, -0.7]), np.array([1.0, 2.0, 3.0])
    image = turn @ np.concatenate([speed, spin])
    F = np.diag([1.0, -1.0, 1.0])
    np.testing.assert_allclose(
        image[:3] + np.cross(image[3:], F @ point), F @ (speed + np.cross(spin, point)), atol=1e-15
    )


def test_a_revolute_joint_turns_the_origin_about_its_axis() -> None:
    rrr = leg("RRR", (UPWARDS,), (UPWARDS,), (UPWARDS,))
    arm = np.array([-500.0, 0.0, 600.0]) / 200.0
    np.testing.assert_allclose(rrr.twists[:, 0], [*np.cross([0.0, 0.0, 1.0], arm), 0.0, 0.0, 1.0])
    assert math.isclose(np.linalg.norm(rrr.twists[3:, 1]), 1.0)


# ---- What counting rules out is said at once; what no arrangement gives, with the reason

SE3 = ("x", "y", "z", "rx", "ry", "rz")


def accept(arrangement: Arrangement) -> str:
    return ""


def test_a_robot_that_does_not_pass_the_check_is_none() -> None:
    with pytest.raises(NacelleError, match="passes the check: no"):
        find_arrangement(read_legs("3-UPU"), ("x", "y", "z"), lambda arrangement: "no")


def test_the_usual_arrangement_comes_first() -> None:
    """A planar 3-RRR has upright axes; legs of a hexapod are in pairs."""
    planar = find_arrangement(read_legs("3-RRR"), ("x", "y", "rz"), accept)
    assert {axis for leg in planar.legs for axes in leg.axes for axis in axes} == {(0, 0, 1)}
    hexapod = find_arrangement(read_legs("6-UPS"), SE3, accept)
    assert [place.mirrored for place in hexapod.placements] == [True, False] * 3
    assert hexapod.motion.is_pure


# ---- The file that is written: names, comments, and masses of uniform rods


def test_links_are_uniform_rods() -> None:
    robot = loads(sketch("planar", "3-RRR").text)
    for body in robot.bodies[2:]:
        ten = np.array(body.inertia)
        if not ten[0]:
            continue
        length = 2.0 * np.linalg.norm(ten[1:4]) / ten[0]
        expected = [0.5 * ten[0] * 0.02**2, *[ten[0] * (length**2 / 12.0 + 0.02**2 / 4.0)] * 2]
        np.testing.assert_allclose(np.linalg.eigvalsh(inertia_about_com(ten)), expected, rtol=5e-3)


def test_other_lengths_close_again() -> None:
    text = sketch("planar", "3-RPR").text
    robot = loads(text.replace("base_radius: 400 mm", "base_radius: 430 mm"))
    assert robot.hash != loads(text).hash
