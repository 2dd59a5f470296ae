"""Sketched robots pass the check with the motion that their legs promise; other engines agree with them."""

from __future__ import annotations

import random

import pytest

from nacelle.errors import NacelleError
from nacelle.kinematics.mechanism.check import check_robot
from nacelle.model.read import read_text
from nacelle.sketch.letters import FREEDOMS
from nacelle.sketch.sketch import Sketch, sketch


def checked(made: Sketch) -> None:
    """Nothing is wrong with it, warnings included, and it reaches its reference pose."""
    robot, source = read_text(made.text)
    check = check_robot(robot, source)
    assert check.problems == ()
    assert check.mobility is not None
    assert check.mobility.platform == len(robot.motion.coordinates) == check.mobility.controlled
    assert abs(check.assembly.platform.p - robot.reference.p).max() < 1e-12


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
    with pytest.raises(NacelleError, match="--motion spinning: 'spinning' is not a motion type"):
        sketch("wrist", "RRR", motion="spinning")


def random_sketch(seed: int) -> Sketch | None:
    """A sketch of random legs, or None after an error of one sentence."""
    rng = random.Random(seed)
    while True:
        letters = "".join(rng.choice("RRPPUSC") for _ in range(rng.choice([2, 3, 3, 4, 4, 5])))
        if sum(FREEDOMS[letter] for letter in letters) <= 7:
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
@pytest.mark.parametrize("part", range(6))
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
