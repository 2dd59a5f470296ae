"""Elements: which robots they cover, their states, those from encoders."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import nacelle
from nacelle.errors import KinematicsError, NacelleError
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.sample_states import closed_sample_states
from nacelle.papers.elements import projection as elements
from nacelle.papers.elements.from_inputs import (
    element_arrays,
    elements_from_encoders,
    reason_without_encoders,
)
from nacelle.papers.elements.placement import element_layout, reason_without_elements
from nacelle.papers.elements.state import ElementState, element_state
from nacelle.papers.elements.structure import ElementGeometry, element_legs
from nacelle.spatial.pose import Pose
from support.compare import assert_same
from support.element_robots import ELEMENT_ROBOTS, is_element_case
from support.library import NAMES, library_robot
from support.random_robots.legs import CASES
from support.uncompiled import ALL, named_robot

# ---- The element state from encoders, against that of the pose


@pytest.mark.parametrize("name", ["fivebar", "prrrp"])
def test_as_at_the_pose(name: str) -> None:
    robot = library_robot(name)
    x, y = closed_sample_states(robot)[1]
    v, a = np.random.default_rng(0).normal(size=(2, robot.motion.n))
    q = nacelle.kinematics.joint_motion(robot, x, v, a).actuators
    found = elements_from_encoders(robot, *q)
    for key, exact in element_arrays(robot, x, y, v, a).items():
        assert_same(found[key], exact, 1e-11)


def test_where_iteration_is_needed() -> None:
    for name in ("gough-stewart", "quattro"):
        assert "closed form" in reason_without_encoders(mechanism_of(library_robot(name)))


# ---- Which variables the element state of a robot has


def test_a_leg_that_is_cut_elsewhere_says_so() -> None:
    reason = reason_without_elements(mechanism_of(CASES["6 UPS cut at the slide"](1).robot))
    assert "is cut at its joint" in reason
    assert "from the base to the platform" in reason


# ---- A robot placed by its element state, against the tree at the pose


def test_geometry_is_constant(tmp_path: Path) -> None:
    """Numbers of geometry are no inputs from elements; those of inertia may be."""
    with pytest.raises(NacelleError, match="have its geometry as constants"):
        nacelle.export(
            library_robot("fivebar"),
            "inverse_dynamics",
            out=tmp_path,
            input="elements",
            target=nacelle.io.CTarget(parameters=("geometry",)),
        )


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
    assert set(ELEMENT_ROBOTS) | set(REFUSED) == set(ALL)
    for name, made_of in ELEMENT_ROBOTS.items():
        mechanism = mechanism_of(named_robot(name))
        assert elements.reason_not(mechanism) == "", name
        words: dict[str, int] = {}
        for leg in element_legs(mechanism):
            word = "".join(element.letter for element in leg.elements)
            words[word] = words.get(word, 0) + 1
        assert ", ".join(f"{count} {word}" for word, count in words.items()) == made_of, name
    for name, reason in REFUSED.items():
        assert reason in elements.reason_not(mechanism_of(named_robot(name))), name


@pytest.mark.slow
def test_reasons_are_sentences() -> None:
    for name in CASES:
        reason = elements.reason_not(mechanism_of(CASES[name](3).robot))
        assert bool(reason) != is_element_case(name), (name, reason)
        assert reason.count("\n") == 0
        assert not reason.endswith(".")


@pytest.mark.parametrize(
    ("name", "parts"),
    [("gough-stewart", 6), ("h4", 8), ("quattro", 12), ("delta", 3), ("fivebar", 2), ("delta4", 4)],
)
def test_platform_is_split_evenly(name: str, parts: int) -> None:
    """[OAM] figure 2: six elements for the Gough-Stewart platform, eight for the H4."""
    legs = element_legs(mechanism_of(named_robot(name)))
    shares: dict[int, list[float]] = {}
    for leg in legs:
        for part in leg.parts:
            shares.setdefault(part.element.body, []).append(part.element.share)
    assert sum(len(listed) for listed in shares.values()) == parts
    assert all(abs(sum(listed) - 1.0) < 1e-15 for listed in shares.values())
    assert set(shares) == set(named_robot(name).platform.bodies)


# ---- Elements and their motion basis: names, and where each state is in u


def test_parts_come_after_the_own_elements() -> None:
    """[OAM] section 3.2: a strut of a Gough-Stewart robot carries a sixth of the platform."""
    for leg in element_legs(mechanism_of(named_robot("gough-stewart"))):
        assert [element.letter for element in leg.all_elements] == ["T", "B"]
        assert leg.all_elements[-1] is leg.parts[0].element
        assert leg.parts[0].element.share == 1.0 / 6.0
        first, second = leg.rods[0].hold.axes
        assert (first.on_successor, second.on_successor) == (False, True)


# ---- The element state: derivatives against differences, to and from poses, what is wrong with it

Array = np.ndarray
WITH = [name for name in NAMES if name != "dymo"]


def motion(robot: nacelle.Robot, seed: int) -> tuple[Array, Array, Array]:
    x = closed_sample_states(robot)[2][0]
    v, a = np.random.default_rng(seed).normal(size=(2, robot.motion.n))
    return x, v, a


@pytest.mark.slow
@pytest.mark.parametrize("name", WITH)
@pytest.mark.thinned
def test_there_and_back(name: str) -> None:
    robot = library_robot(name)
    x, v, a = motion(robot, 1)
    state = element_state(robot, x, v, a)
    pose = state.pose()
    for found, exact in zip(pose, (x, v, a), strict=True):
        assert_same(found, exact, 1e-11)
    state.check(1e-10)
    assert_same(
        state.joints().actuators[1], nacelle.kinematics.joint_motion(robot, x, v, a).actuators[1], 1e-10
    )


@pytest.mark.costly
@pytest.mark.parametrize("name", ["fivebar", "orthoglide", "delta", "3rrr"])
def test_derivatives_by_differences(name: str) -> None:
    """Along x + v t + a t^2 / 2, which a motion without free orientation follows."""
    robot = library_robot(name)
    x, v, a = motion(robot, 2)
    v, a = 0.3 * v, 0.3 * a
    layout = element_layout(mechanism_of(robot))
    h = 1e-3

    def at(t: float) -> dict[str, Array]:
        bodies = nacelle.inverse_kinematics(robot, x + v * t + 0.5 * a * t * t, limits=False)
        poses = tuple(Pose(R, p) for R, p in zip(bodies.bodies.R, bodies.bodies.p, strict=True))
        geometry = ElementGeometry(robot, poses)
        return {
            variable.name: geometry.lines(layout.legs[variable.leg])[variable.number].x[list(layout.axes)]
            for variable in layout.variables
            if variable.kind == "direction"
        }

    samples = {k: at(k * h) for k in range(-3, 4)}
    first, second = {1: 3 / 4, 2: -3 / 20, 3: 1 / 60}, {1: 3 / 2, 2: -3 / 20, 3: 1 / 90}
    state = element_state(robot, x, v, a)
    for key, value in samples[0].items():
        rate = sum(c * (samples[k][key] - samples[-k][key]) for k, c in first.items()) / h
        bend = sum(c * (samples[k][key] + samples[-k][key] - 2.0 * value) for k, c in second.items()) / h**2
        assert_same(state[key], np.stack([value, rate, bend]), 1e-7)


@pytest.mark.slow
def test_batches_are_states() -> None:
    robot = library_robot("gough-stewart")
    x, v, a = motion(robot, 3)
    many = element_state(robot, np.stack([x, x]), np.stack([v, 2.0 * v]), np.stack([a, a]))
    one = element_state(robot, x, 2.0 * v, a)
    for name in one.names:
        assert_same(many[name][1], one[name], 1e-14)
    assert many.pose().x.shape == (2, 7)


def test_what_is_wrong_is_named() -> None:
    robot = library_robot("fivebar")
    x, v, a = motion(robot, 4)
    values = dict(element_state(robot, x, v, a).values)
    off = {**values, "left_rod": values["left_rod"] + 1e-3}
    with pytest.raises(KinematicsError, match=r"not consistent: \w+ is .* from where its pose"):
        ElementState(robot, off).check()
    for wrong, words in (
        ({k: w for k, w in values.items() if k != "left_arm"}, "left_arm of fivebar is missing"),
        ({**values, "left_rot": values["left_rod"]}, "no element variable 'left_rot'"),
        ({**values, "left_arm": np.zeros((3, 3))}, r"shape \(\.\.\., 3, 2\)"),
        ({**values, "left_arm": np.full((3, 2), np.nan)}, "left_arm of fivebar is not finite"),
    ):
        with pytest.raises(KinematicsError, match=words):
            ElementState(robot, wrong)
    with pytest.raises(KinematicsError, match="dymo has no element state: leg 'leg1'"):
        element_state(library_robot("dymo"), nacelle.reference_pose(library_robot("dymo")))
