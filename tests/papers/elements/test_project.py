"""Projection on the closures: exact where all is seen, else consistent with its covariance."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.errors import KinematicsError
from nacelle.kinematics.sample_states import closed_sample_states
from nacelle.papers.elements.project import SeenVariable, project_elements
from nacelle.papers.elements.state import element_state
from support.compare import assert_same
from support.library import library_robot

SIGMA = 1e-4


@pytest.mark.costly
@pytest.mark.parametrize("name", ["fivebar", "3rps", "quattro", "space"])
def test_exact_states_stay(name: str) -> None:
    robot = library_robot(name)
    x = closed_sample_states(robot)[2][0]
    v, a = np.random.default_rng(0).normal(size=(2, robot.motion.n))
    state = element_state(robot, x, v, a)
    found = project_elements(robot, dict(state.values))
    for one, exact in ((found.x, x), (found.v, v), (found.a, a)):
        assert one is not None
        assert_same(one, exact, 1e-10)
    for name_ in state.names:
        assert_same(found.state[name_], state[name_], 1e-10)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "names"),
    [
        ("quattro", ("leg1_rod", "leg2_rod", "leg3_rod")),
        ("gough-stewart", tuple(f"leg{k}_strut" for k in range(1, 7))),
        ("fivebar", ("left_rod", "right_rod", "left_arm")),
    ],
)
def test_subsets_agree_with_their_covariance(name: str, names: tuple[str, ...]) -> None:
    """Over seeds the weighted squares are chi-square, and so is the error of a variable that is not seen."""
    robot = library_robot(name)
    x = closed_sample_states(robot)[2][0]
    state = element_state(robot, x)
    rng = np.random.default_rng(5)
    unseen = next(key for key in state.names if key not in names)
    squares, errors, freedom = [], [], 0
    for _ in range(100):
        seen = {
            key: SeenVariable(state[key][0] + SIGMA * rng.normal(size=state[key][0].shape), SIGMA)
            for key in names
        }
        found = project_elements(robot, seen, guess=x)
        squares.append(found.chi_square)
        freedom = found.freedom
        error = np.atleast_1d(found.state[unseen][0] - state[unseen][0])
        C = np.atleast_2d(found.covariance_of(unseen))
        errors.append(
            float(error @ np.linalg.pinv(C, rcond=1e-9) @ error) / np.linalg.matrix_rank(C, tol=1e-14)
        )
    assert abs(np.mean(squares) - freedom) < 4.0 * np.sqrt(2.0 * max(freedom, 1) / 100)
    assert abs(np.mean(errors) - 1.0) < 4.0 * np.sqrt(2.0 / 100)


def test_weights_decide() -> None:
    """What contradicts the rest counts as much as its standard deviation says."""
    robot = library_robot("fivebar")
    x = closed_sample_states(robot)[2][0]
    state = element_state(robot, x)
    angle = 0.01
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    seen = {key: SeenVariable(state[key][0], SIGMA) for key in state.names}
    errors = []
    for sigma in (SIGMA, 1.0):
        found = project_elements(
            robot, {**seen, "left_arm": SeenVariable(turn @ state["left_arm"][0], sigma)}
        )
        errors.append(float(np.max(np.abs(found.x - x))))
    assert errors[1] < 1e-3 * errors[0]


@pytest.mark.slow
def test_what_is_wrong_is_named() -> None:
    robot = library_robot("gough-stewart")
    state = element_state(robot, closed_sample_states(robot)[2][0])
    one = {"leg1_strut": state["leg1_strut"][0]}
    for seen, words in (
        (one, "does not determine its pose: motion along"),
        ({}, "nothing"),
        ({"leg9_strut": [0.0, 0.0, 1.0]}, "no element variable 'leg9_strut'"),
        ({"leg1_strut": [0.0, 1.0]}, "has 3 component"),
        ({"leg1_strut": [0.0, 0.0, np.nan]}, "not finite"),
        ({"leg1_strut": [0.0, 0.0, 9.0]}, "has the length 9"),
        ({"leg1_strut": SeenVariable([0.0, 0.0, 1.0], 0.0)}, "standard deviation above zero"),
    ):
        with pytest.raises(KinematicsError, match=words):
            project_elements(robot, seen)
