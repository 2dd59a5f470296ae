"""Models from the state of the elements, against the tree at the pose: library, random robots, counts."""

from __future__ import annotations

import numpy as np
import pytest

import nacelle
from nacelle.dynamics import reference
from nacelle.dynamics.models import model
from nacelle.dynamics.physics import Physics
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.sample_states import closed_sample_states
from nacelle.model.linear_parameters import linear_parameters
from nacelle.papers.elements.from_inputs import element_arrays
from nacelle.papers.elements.models import (
    inverse_from_elements,
    inverse_from_encoders,
    regressor_from_elements,
)
from nacelle.papers.elements.placement import reason_without_elements
from nacelle.program.cost import count
from support.compare import assert_same
from support.last_bits import forget_everything, noisy_libraries, perturbed_robot
from support.library import NAMES, library_robot
from support.program_hashes import structure
from support.random_robots.legs import CASES
from support.random_robots.loads import with_random_friction, with_random_inertias
from support.rigid_robots import RIGID

Array = np.ndarray
# Its legs are of no elements: URU.
WITHOUT = {"dymo"}
ENCODERS = ("fivebar", "prrrp", "orthoglide", "delta-codourey", "delta")


def states(robot: nacelle.Robot, number: int, seed: int = 0) -> list[tuple[Array, ...]]:
    """States (x, y, v, a) around the reference."""
    rng = np.random.default_rng(seed)
    return [(x, y, *rng.normal(size=(2, robot.motion.n))) for x, y in closed_sample_states(robot)[:number]]


def assert_as_the_tree(robot: nacelle.Robot, number: int = 3, tolerance: float = 1e-12) -> None:
    for x, y, v, a in states(robot, number):
        elements = element_arrays(robot, x, y, v, a).values()
        exact = reference.inverse(robot, x, y, v, a, np.zeros(robot.motion.n))["force"]
        assert_same(inverse_from_elements(robot, *elements)["force"], exact, tolerance)
        Y = regressor_from_elements(robot, *elements)["Y"]
        assert_same(Y @ linear_parameters(robot).values, exact, 10.0 * tolerance)


@pytest.mark.costly
@pytest.mark.parametrize("name", [name for name in NAMES if name not in WITHOUT])
def test_library(name: str) -> None:
    assert_as_the_tree(library_robot(name))


@pytest.mark.slow
def test_which_robots_have_no_elements() -> None:
    reasons = {name: reason_without_elements(mechanism_of(library_robot(name))) for name in NAMES}
    assert {name for name, reason in reasons.items() if reason} == WITHOUT


# Random robots, any inertia and friction: those that have an element state, and why others have none.
REFUSED = {
    "6 UPS with an offset slide": "off the line",
    "6 RRPS": "off the line",
    "6 URS": "not of a supported kind",
    "6 RRRS with a pair first": "not of a supported kind",
    "6 PSPP": "not of a supported kind",
    "6 RUPU": "not on the motor's axis",
    "6 RRRS": "not of a supported kind",
    "6 UPS cut at the slide": "is cut at its joint",
    "6 RUS cut at the arm": "is cut at its joint",
    "6 UPS + PUS + RUS + SPS + P-C5 + URS": "not of a supported kind",
    "6 RSS + PSPP + PSS + RRPS + P-C5 on the platform + RUPU": "not of a supported kind",
    "6 UPS cut at the slide + RUS cut at the arm + RRRS + PRRS + UPS with an offset slide + PSPP": (
        "not of a supported kind"
    ),
    "6 PCS": "S or a slide",
    "3 URU": "not of a supported kind",
    "3 R[SS|SS] + PRPaR + URU": "not of a supported kind",
}


@pytest.mark.costly
@pytest.mark.parametrize("name", CASES)
def test_random_robots(name: str) -> None:
    robot = with_random_friction(with_random_inertias(CASES[name](1).robot, 1), 1)
    reason = reason_without_elements(mechanism_of(robot))
    if name in REFUSED:
        assert REFUSED[name] in reason
        return
    assert reason == ""
    assert_as_the_tree(robot, 2, 1e-11)


# Outside the library: crosses with mass, tolerances, rods that are not parallel any more.
OUTSIDE = (
    "6-UPS, massive crosses",
    "6-RUS, massive crosses",
    "3-PRS",
    "Delta with tolerances in one leg, loaded",
    "H4 with a rod 0.1 mm longer",
)


@pytest.mark.costly
@pytest.mark.parametrize("name", OUTSIDE)
def test_robots_outside_the_library(name: str) -> None:
    robot = RIGID[name].make(1)
    assert reason_without_elements(mechanism_of(robot)) == ""
    assert_as_the_tree(robot, 2, 1e-10)


@pytest.mark.costly
@pytest.mark.parametrize("name", ENCODERS)
def test_encoders(name: str) -> None:
    robot = library_robot(name)
    (x, _, v, a), *_ = states(robot, 1, seed=2)
    q = nacelle.kinematics.joint_motion(robot, x, v, a).actuators
    for friction in (False, True):
        exact = nacelle.inverse_dynamics(robot, x, v, a, formulation="tree", friction=friction).tau
        assert_same(inverse_from_encoders(robot, *q, physics=Physics(friction))["force"], exact, 1e-12)


# Additions and products from elements, with friction; python benchmarks/elements.py counts all of them.
COUNTS = {
    "fivebar": 101,
    "prrrp": 21,
    "orthoglide": 186,
    "delta-codourey": 106,
    "quattro": 266,
    "palida": 986,
}


@pytest.mark.costly
@pytest.mark.parametrize("name", COUNTS)
def test_counts(name: str) -> None:
    assert count(model(library_robot(name), input="elements").program()).total == COUNTS[name]


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("fivebar", "elements"),
        ("fivebar", "encoders"),
        pytest.param("prrrp", "encoders", marks=pytest.mark.slow),
        pytest.param("orthoglide", "encoders", marks=pytest.mark.slow),
        pytest.param("delta-codourey", "encoders", marks=pytest.mark.slow),
        pytest.param("delta", "encoders", marks=pytest.mark.slow),
        pytest.param("3rps", "elements", marks=pytest.mark.slow),
        pytest.param("delta4", "elements", marks=pytest.mark.slow),
        pytest.param("quattro", "elements", marks=pytest.mark.slow),
        pytest.param("h4", "elements", marks=pytest.mark.slow),
    ],
)
def test_last_bits_change_nothing(name: str, source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    robot = library_robot(name)
    kept = structure(model(robot, input=source).program())
    moved = perturbed_robot(robot, 3).without_rounding_differences
    assert structure(model(moved, input=source).program()) == kept
    noisy_libraries(monkeypatch, 4)
    assert structure(model(robot, input=source).program()) == kept
    monkeypatch.undo()
    forget_everything()


@pytest.mark.slow
def test_compiled_as_it_is_written() -> None:
    robot = library_robot("gough-stewart")
    compiled = model(robot, input="elements").compile()
    regressed = model(robot, "regressor", input="elements").compile()
    for x, y, v, a in states(robot, 3):
        elements = element_arrays(robot, x, y, v, a)
        exact = inverse_from_elements(robot, *elements.values())["force"]
        assert_same(compiled(*elements.values()), exact, 1e-12)
        assert_same(regressed(*elements.values()) @ linear_parameters(robot).values, exact, 1e-12)
