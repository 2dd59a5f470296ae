"""Spatial.

form, linear form, operators, recorded, rotation vector, rounding, short rotation, solve, trigonometry.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

from nacelle.program.graph import Graph
from nacelle.program.program import Variable
from nacelle.program.trace import straight_line_program
from nacelle.spatial.linear_form import LinearForm, coefficients
from nacelle.spatial.operators import Functions, map_entries
from nacelle.spatial.physics import Form, forget_refusals, form_for, refusal_reason, refuse_form, use_form
from nacelle.spatial.recorded import Recorded
from nacelle.spatial.rotation import (
    cheapest_rotation,
    left_jacobian,
    left_jacobian_bias,
    log_rotation,
    rotation,
    rotation_cost,
    rotation_vector,
    skew,
)
from nacelle.spatial.rounding import (
    ULPS,
    Constants,
    compose_poses,
    index_of_largest,
    index_of_smallest,
    ordered_product,
    ordered_sum,
)
from nacelle.spatial.scalar import atan2, cos, maximum, sin, sqrt
from nacelle.spatial.solve import solve, solve_batch
from nacelle.spatial.trigonometry import sine_cosine

# ---- Forms of the physics: which one is taken, and which is out of use


@pytest.fixture(autouse=True)
def nothing_is_refused() -> Iterator[None]:
    forget_refusals()
    yield
    forget_refusals()


def test_the_first_form_that_is_in_use() -> None:
    assert form_for("a") is Form.COMPACT
    refuse_form("a", Form.COMPACT, "it was off")
    assert form_for("a") is Form.JOINTS
    assert form_for("b") is Form.COMPACT
    refuse_form("a", Form.JOINTS, "it was off, too")
    # The tree is the reference: nothing comes after it.
    refuse_form("a", Form.TREE, "never")
    assert form_for("a") is Form.TREE
    assert refusal_reason("a") == "it was off"
    assert refusal_reason("b") == ""


def test_a_form_that_is_wanted() -> None:
    refuse_form("a", Form.COMPACT, "it was off")
    with use_form(Form.TREE):
        assert form_for("a") is form_for("b") is Form.TREE
        with use_form(Form.COMPACT):
            assert form_for("a") is Form.COMPACT
    assert form_for("a") is Form.JOINTS
    with pytest.raises(ZeroDivisionError), use_form(Form.TREE):
        raise ZeroDivisionError
    assert form_for("b") is Form.COMPACT


# ---- Linear forms against a matrix: what is done to both is the same


def test_sums_and_products_are_those_of_a_matrix() -> None:
    rng = np.random.default_rng(1)
    A, B = rng.normal(size=(3, 5)), rng.normal(size=(2, 3))
    p = np.array([LinearForm({k: 1.0}) for k in range(5)], dtype=object)
    forms = B @ (A @ p - 2.0 * p[:3]) + (p[1] / 4.0) * np.ones(2)
    expected = B @ (A - 2.0 * np.eye(3, 5)) + 0.25 * np.eye(5)[1]
    np.testing.assert_allclose(coefficients(forms, 5), expected, rtol=1e-14, atol=1e-15)


def test_terms_that_cancel_are_gone() -> None:
    a, b = LinearForm({0: 2.0, 3: 1.0}), LinearForm({0: 2.0})
    assert (a - b).terms == {3: 1.0}
    assert (a * 0.0).terms == {}
    assert (0.0 - a).terms == {0: -2.0, 3: -1.0}


def test_what_is_not_linear_is_refused() -> None:
    p = LinearForm({0: 1.0})
    with pytest.raises(TypeError, match="not linear"):
        p * p
    with pytest.raises(TypeError, match="no sum"):
        p + 1.0


# ---- operators
#
# Operators: what Python and NumPy ask of a scalar arrives under the name of the operation, in its order.


class Spelled(Functions):
    """A scalar that spells what is done with it."""

    def __init__(self, text: str) -> None:
        self.text = text

    def _binary(self, op: str, other: Any, swapped: bool = False) -> Any:
        words = [self.text, other.text if isinstance(other, Spelled) else f"{other:g}"]
        return Spelled(f"{op}({', '.join(words[::-1] if swapped else words)})")

    def _unary(self, op: str) -> Any:
        return Spelled(f"{op}({self.text})")


def test_operations_by_name_and_order() -> None:
    a, b = Spelled("a"), Spelled("b")
    for found, expected in (
        (a + b, "add(a, b)"),
        (2.0 - a, "sub(2, a)"),
        (a * 3.0, "mul(a, 3)"),
        (1.0 / b, "div(1, b)"),
        (abs(a), "abs(a)"),
        (np.sqrt(np.array([a], dtype=object))[0], "sqrt(a)"),
    ):
        assert found.text == expected


def test_each_entry_of_an_array() -> None:
    found = map_entries(lambda value: value * value, np.array([[1.0, 2.0], [3.0, 4.0]]))
    assert found.dtype == object
    assert found.tolist() == [[1.0, 4.0], [9.0, 16.0]]


# ---- Recorded floats: what was computed at one sample is computed again at others


def function(a: Any, b: Any, c: Any) -> Any:
    d = (a - 2.0) * b / (1.0 + c**2)
    return abs(d) * sin(a) + cos(b) * maximum(a, c) - atan2(sqrt(c), 3.0 - d)


def test_a_tape_is_run_at_other_numbers() -> None:
    graph, sample = Graph(), (0.3, 1.7, 2.5)
    value = function(*(Recorded(number, graph, graph.input(k)) for k, number in enumerate(sample)))
    inputs = [Variable(name) for name in "abc"]
    program = straight_line_program("f", graph, inputs, [Variable("f")], [value.node])
    rng = np.random.default_rng(5)
    for numbers in (sample, *rng.uniform(0.1, 1.9, (20, 3)).tolist()):
        a, b, c = numbers
        d = (a - 2.0) * b / (1.0 + c * c)
        # The negation that abs takes away is that of the sample, where d < 0.
        expected = -d * np.sin(a) + np.cos(b) * max(a, c) - np.arctan2(np.sqrt(c), 3.0 - d)
        np.testing.assert_allclose(program.evaluate(numbers)[0], expected, rtol=1e-13)


def test_a_recorded_number_is_a_float() -> None:
    graph = Graph()
    a = Recorded(2.0, graph, graph.input(0))
    assert isinstance(a, float)
    assert a * a == 4.0
    assert type(a * 0.0) is float
    assert np.array_equal(a * np.array([1.0, 3.0]), [2.0, 6.0])


# ---- Rotation vectors against SciPy, the matrix exponential and differences

DIRECTION = np.array([2.0, -1.0, 2.0]) / 3.0

RATE = np.array([0.4, -0.7, 0.2])


@pytest.mark.parametrize("angle", [0.0, 1e-9, 0.031, 0.032, 1.0, 3.1])
def test_rotation_and_its_logarithm(angle: float) -> None:
    r = angle * DIRECTION
    R = rotation_vector(r)
    np.testing.assert_allclose(R, expm(skew(r)), rtol=0, atol=2e-15)
    np.testing.assert_allclose(log_rotation(R), Rotation.from_matrix(R).as_rotvec(), rtol=0, atol=1e-14)


@pytest.mark.parametrize("angle", [0.0, 1e-9, 0.0316, 0.0317, 1.0, 3.1])
def test_angular_velocity_and_acceleration_by_differences(angle: float) -> None:
    """R' = skew(w) R with w = J r', and w' = bias along r + t r'; derivatives with 40 digits."""
    r = angle * DIRECTION

    def w(t: float) -> np.ndarray:
        return left_jacobian(r + t * RATE) @ RATE

    with mpmath.workdps(40):
        numbers = [mpmath.mpf(float(x)) for x in r], [mpmath.mpf(float(x)) for x in RATE]
        K, L = (mpmath.matrix(skew(np.array(v, dtype=object)).tolist()) for v in numbers)
        h = mpmath.mpf(10) ** -13
        R_dot = (mpmath.expm(K + h * L) - mpmath.expm(K - h * L)) / (2 * h)
        W = np.array((R_dot * mpmath.expm(K).T).tolist(), dtype=float)
    np.testing.assert_allclose([W[2, 1], W[0, 2], W[1, 0]], w(0.0), rtol=0, atol=2e-13)
    h = 1e-3
    slope = (8.0 * (w(h) - w(-h)) - (w(2 * h) - w(-2 * h))) / (12.0 * h)
    np.testing.assert_allclose(left_jacobian_bias(r, RATE), slope, rtol=0, atol=1e-11)


# ---- Rounding: sums against exact ones, and constants that differ in their last bits are one


@pytest.mark.parametrize("shape", [((3, 3), (3, 4)), ((5, 4), (4, 6)), ((2, 5, 4), (4, 6))])
def test_products_are_those_of_numpy(shape: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    rng = np.random.default_rng(2)
    A, B = (rng.normal(size=size) for size in shape)
    np.testing.assert_allclose(ordered_product(A, B), A @ B, rtol=0, atol=1e-14)
    if shape[0] == (3, 3):
        R, p = compose_poses(A, B[:, 3], B[:, :3], B[:, 0])
        np.testing.assert_allclose(R, A @ B[:, :3], rtol=0, atol=1e-14)
        np.testing.assert_allclose(p, A @ B[:, 0] + B[:, 3], rtol=0, atol=1e-14)


def test_only_rounding_cancels() -> None:
    terms = [0.1, 0.2, -0.3]
    assert sum(terms) != 0.0
    assert ordered_sum(terms) == 0.0
    assert ordered_sum([*terms, 1e-13]) == pytest.approx(math.fsum([*terms, 1e-13]), rel=1e-3)


def test_constants_within_the_margin_are_the_first_of_them() -> None:
    constants = Constants()
    first = constants.unify(math.pi)
    for steps, same in ((ULPS, True), (-ULPS, True), (2 * ULPS, False), (-3 * ULPS, False)):
        near = math.pi + steps * math.ulp(math.pi)
        assert (constants.unify(near) == first) is same
        assert constants.unify(-near) == -constants.unify(near)


def test_of_equal_candidates_the_first() -> None:
    assert index_of_largest([1.0, 3.0, 3.0 + 1e-12, 2.0]) == 1
    assert index_of_smallest([1.0, 1e-12, 0.0, 2.0]) == 1


# ---- Short rotations: they take an axis where the long one does, for fewer operations


@pytest.mark.parametrize(("axis", "name"), [(0, "x"), (1, "y"), (2, "z")])
def test_rotation_about_an_axis(axis: int, name: str) -> None:
    expected = Rotation.from_euler(name, 0.7).as_matrix()
    np.testing.assert_allclose(rotation(axis, np.cos(0.7), np.sin(0.7)), expected, rtol=0, atol=1e-15)


@pytest.mark.parametrize("plane", range(3))
@pytest.mark.parametrize("k", range(3))
@pytest.mark.parametrize("angle", [0.4, 2.0, np.pi / 2])
def test_shortest(plane: int, k: int, angle: float) -> None:
    """The image of axis k lies in a coordinate plane; a spin about axis k makes R long."""
    image = np.roll([0.0, np.cos(angle), np.sin(angle)], plane)
    image[np.abs(image) < 1e-15] = 0.0
    R = np.linalg.qr(np.column_stack([image, np.random.default_rng(k).normal(size=(3, 2))]))[0]
    R[:, 0], R[:, 2] = image, np.cross(image, R[:, 1])
    R = np.roll(R, k, axis=1)
    short = cheapest_rotation(R, k)
    assert short is not None
    short = np.asarray(short, dtype=float)
    np.testing.assert_allclose(short[:, k], image, rtol=0, atol=1e-15)
    np.testing.assert_allclose(short @ short.T, np.eye(3), rtol=0, atol=1e-15)
    assert np.linalg.det(short) == pytest.approx(1.0, abs=1e-14)
    assert rotation_cost(short) <= 6
    assert rotation_cost(short) < rotation_cost(R)


def test_an_image_in_no_plane_has_none() -> None:
    assert cheapest_rotation(Rotation.from_rotvec([0.3, 0.4, 0.5]).as_matrix(), 1) is None


# ---- Small linear systems against NumPy


@pytest.mark.parametrize("shape", [(0,), (0, 3)])
@pytest.mark.parametrize("dtype", [float, object])
def test_a_system_without_unknowns(shape: tuple[int, ...], dtype: type) -> None:
    assert solve(np.zeros((0, 0), dtype=dtype), np.zeros(shape, dtype=dtype)).shape == shape


@pytest.mark.parametrize("kind", ["general", "spd"])
@pytest.mark.parametrize("columns", [(), (3,)])
def test_floats_and_mpmath_against_numpy(kind: str, columns: tuple[int, ...]) -> None:
    rng = np.random.default_rng(6)
    A, b = rng.normal(size=(4, 4)), rng.normal(size=(4, *columns))
    if kind == "spd":
        A = A @ A.T + np.eye(4)
    expected = np.linalg.solve(A, b)
    np.testing.assert_allclose(solve(np.tril(A) if kind == "spd" else A, b, kind), expected, rtol=1e-10)
    precise = solve(np.vectorize(mpmath.mpf, otypes=[object])(A), b.astype(object), kind)
    np.testing.assert_allclose(precise.astype(float), expected, rtol=1e-10)


def test_singular_samples_are_nan_and_leave_others_alone() -> None:
    A, b = np.stack([np.eye(2), np.ones((2, 2)), 2.0 * np.eye(2)]), np.ones((3, 2, 1))
    np.testing.assert_array_equal(solve_batch(A, b)[..., 0], [[1, 1], [np.nan] * 2, [0.5, 0.5]])


# ---- Sine and cosine are the nearest floats, against mpmath


def test_nearest_floats() -> None:
    rng = np.random.default_rng(4)
    angles = [*rng.uniform(-10.0, 10.0, 300), *10.0 ** rng.uniform(-7.9, 14.9, 100), 1e-9]
    angles += [k * math.pi / 12 for k in range(-30, 31)]
    with mpmath.workdps(60):
        for angle in map(float, angles):
            expected = float(mpmath.sin(angle)), float(mpmath.cos(angle))
            assert sine_cosine(angle) == expected, angle
