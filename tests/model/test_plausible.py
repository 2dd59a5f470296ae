"""Masses that cannot be meant."""

from __future__ import annotations

import re

import numpy as np
import pytest

import nacelle
from nacelle import robots
from nacelle.errors import Problem
from nacelle.kinematics.mechanism.check import check_robot
from nacelle.model.plausible import implausible_masses
from nacelle.model.read import read_text

MASS = re.compile(r"mass: ([0-9.e-]+) kg")


def warnings_of(text: str) -> list[Problem]:
    robot, source = read_text(text, "robot.yaml")
    found = check_robot(robot, source)
    return [problem for problem in found.problems if " has a mass of " in problem.message]


@pytest.mark.parametrize("name", robots.names())
def test_the_library_is_plausible(name: str) -> None:
    assert implausible_masses(nacelle.load(name)) == []


@pytest.mark.parametrize("factor", [1e-3, 1.0, 1e3])
def test_robots_of_any_size_are_plausible(factor: float) -> None:
    """A micro robot and a giant have the densities of others: lengths by f, masses by f^3, ..."""
    robot = nacelle.load("delta")
    powers = np.array([3.0] + [4.0] * 3 + [5.0] * 6)
    scaled = robot.parameter_vector("inertia").reshape(-1, 10) * factor**powers
    assert implausible_masses(robot.with_parameters(scaled.ravel(), "inertia")) == []


@pytest.mark.parametrize("name", ["fivebar", "hexa", "palida", "delta", "quattro", "3rrr"])
@pytest.mark.parametrize(("unit", "words"), [("t", "denser than any material"), ("g", "lighter than any")])
def test_slips_of_units_are_seen(name: str, unit: str, words: str) -> None:
    """Grams and tonnes in the place of kilograms, one body after the other; inertias are right."""
    text = robots.text(name)
    bodies = [match for match in MASS.finditer(text) if "inertia" in text[match.end() : match.end() + 200]]
    assert bodies
    for match in bodies:
        wrong = text[: match.start()] + f"mass: {match[1]} {unit}" + text[match.end() :]
        (problem, *_) = warnings_of(wrong)
        assert words in problem.message
        assert problem.line == text.count("\n", 0, match.start()) + 1
        assert f"is {float(match[1]):g} kg meant?" in problem.hint
        assert problem.severity == "warning"


def test_points_are_held_against_the_size_of_the_robot() -> None:
    text = robots.text("delta-codourey")
    assert not warnings_of(text)
    point = next(
        match for match in MASS.finditer(text) if "inertia" not in text[match.end() : match.end() + 60]
    )
    (problem, *_) = warnings_of(text[: point.start()] + "mass: 654000 kg" + text[point.end() :])
    assert (
        "has a mass of 654000 kg, which with the robot's size is denser than any material" in problem.message
    )
