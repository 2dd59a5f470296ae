"""Minimised programs against evaluations at 77 and 50 digits, over states of the workspace."""

from __future__ import annotations

import dataclasses

import mpmath
import numpy as np
import pytest

import nacelle
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.solve.unknowns import solve_unknowns
from nacelle.program.trace import trace
from nacelle.spatial.scalar import absolute, cos, maximum, minimum, pack, sign, sin, sqrt, where
from support import wide
from support.accuracy import BOUND, LIBRARY_ROWS, PUBLISHED_ROWS, ROWS, Row, errors_of, relative_errors
from support.cc import COMPILERS
from support.library import library_robot
from support.model_states import Sample
from support.pairwise import FAMILIES, pairwise
from support.truth import truth

pytestmark = pytest.mark.skipif(not COMPILERS, reason="no C compiler")

SOME = 60
SMALL = [row for row in PUBLISHED_ROWS if row.robot == "fivebar"]


def assert_accurate(row: Row, states: int) -> None:
    """Error below 1000 eps condition: of the program where its pivots are strong, of the API everywhere."""
    errors = errors_of(row, states)
    assert errors.agreement < 1e-44
    for name in errors.relative:
        looked_at = slice(None) if name == "API" else ~errors.weak
        worst = np.max(errors.counted(name)[looked_at])
        assert worst <= BOUND, f"{row}, {name}: {worst:.3g}"


@pytest.mark.slow
@pytest.mark.parametrize("row", SMALL, ids=str)
def test_programs_are_accurate(row: Row) -> None:
    assert_accurate(row, SOME)


@pytest.mark.thinned
@pytest.mark.slow
@pytest.mark.parametrize(
    ("robot", "name", "changed"),
    pairwise(robot=FAMILIES, name=sorted({row.name for row in LIBRARY_ROWS}), changed=(False, True)),
)
def test_programs_are_accurate_everywhere(robot: str, name: str, changed: bool) -> None:
    """Every function of every family of robots, with the library's numbers and with changed ones."""
    found = (row for row in ROWS if (row.robot, row.name, row.changed) == (robot, name, changed))
    assert_accurate(next(found), 60)


@pytest.mark.soak
@pytest.mark.parametrize("row", ROWS, ids=str)
def test_all_programs_are_accurate(row: Row) -> None:
    """Every function of every robot; more states for the models that are counted."""
    assert_accurate(row, 5000 if row in PUBLISHED_ROWS else 60)


def test_every_robot_and_function_has_a_row() -> None:
    """Five functions of seventeen robots, with the library's numbers and with changed ones; no row twice."""
    assert len(LIBRARY_ROWS) == 5 * len(nacelle.robot_names())
    assert len(set(map(str, ROWS))) == len(ROWS)
    assert {(row.robot, row.name) for row in LIBRARY_ROWS} <= {
        (row.robot, row.name) for row in ROWS if row.changed
    }


@pytest.mark.slow
def test_the_condition_sees_singularities() -> None:
    """Towards a stretched leg rates become sensitive; most states are harmless."""
    errors = errors_of(Row("fivebar", "jacobian"), SOME)
    legs = errors.matrices
    assert np.max(legs) > 100.0
    assert 0.1 * np.max(legs) < errors.condition[np.argmax(legs)] < 100.0 * np.max(legs)
    assert np.median(errors.condition) < 30.0


def test_what_iteration_finds_is_solved_again() -> None:
    """A wrong digit in y is seen, and the truth does not depend on it."""
    robot = library_robot("3rps")
    x = mechanism_of(robot).reference[0] + [[0.0, 0.0, 0.0], [0.01, 0.02, 0.1]]
    y = solve_unknowns(mechanism_of(robot), x).y
    states = Sample(robot, x, y, x, x, x, np.ones(2))
    exact = truth(states, confirmed=1)
    again = truth(dataclasses.replace(states, y=y * (1.0 + 1e-9)), confirmed=1)
    assert np.max(np.abs(wide.difference(y, exact.y))) < 1e-14
    for name, values in exact.exact.items():
        apart = np.abs(np.sum(again.exact[name] - values, axis=-1))
        assert np.max(apart) < 1e-30 * np.max(np.abs(values))
        assert np.all(exact.condition[name] < 1e4)


def test_errors_are_seen() -> None:
    """Values that are off by a part in 1e12 are reported, in units where the largest entry counts."""
    exact = np.zeros((2, 3, wide.PARTS))
    exact[..., :2] = [[(1.0, 1e-17), (20.0, 0.0), (-3.0, 0.0)], [(-1e-9, 1e-26), (0.0, 0.0), (0.0, 0.0)]]
    found = relative_errors(exact[..., 0] * (1.0 + 1e-12), exact, np.array([1.0, 4.0, 1.0]))
    assert found == pytest.approx(1e-12, rel=1e-3)


def test_wide_numbers_agree_with_mpmath() -> None:
    """Every operation of the numbers of 256 bits, near cancellation too, against 90 digits."""

    def everything(x: np.ndarray) -> np.ndarray:
        a, b, c = x
        near = (a + 1e-20 * b) - a
        return pack(
            [
                a + b,
                a - b,
                a * b * c,
                a / b,
                near / c,
                sqrt(absolute(a)),
                sin(a),
                cos(b),
                sign(c),
                minimum(a, b),
                maximum(a, b),
                where(c, a, b),
                -(a * a) / (b * b + c * c),
            ]
        )

    program = trace(everything, {"x": (3,)}).program()
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 3)) * 10.0 ** rng.uniform(-3.0, 1.0, (200, 3))
    x[0], x[1] = (0.0, 1.0, 2.0), (1.0, 1.0, -1.0)
    found = wide.evaluate(program, x)
    for row, own in zip(x, found, strict=True):
        theirs = wide.by_mpmath(program, row, 90)
        with mpmath.workdps(90):
            for parts, exact in zip(own, theirs, strict=True):
                total = mpmath.fsum(mpmath.mpf(part) for part in parts)
                assert abs(total - exact) <= mpmath.mpf("1e-50") * max(abs(exact), mpmath.mpf("1e-3"))


def test_difference_is_exact() -> None:
    """A double less an unevaluated sum does not lose the small parts."""
    exact = np.array([[1.0, 1e-17, 1e-34, 0.0]])
    assert wide.difference(np.array([1.0]), exact)[0] == pytest.approx(-1e-17, rel=1e-15)
