"""B-splines: interpolation, SciPy, orientations."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.interpolate import BSpline as ScipySpline
from scipy.interpolate import make_interp_spline
from scipy.spatial.transform import Rotation

from nacelle.kinematics.trajectory import BSpline, TrajectoryError


def random_points(rng: np.random.Generator, count: int) -> np.ndarray:
    return np.hstack([rng.normal(size=(count, 3)), rng.normal(size=(count, 4))])


@pytest.mark.parametrize("degree", [3, 5, 7])
@pytest.mark.parametrize("rest", [True, False])
@given(seed=st.integers(0, 10000))
def test_it_goes_through_all_points(degree: int, rest: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    points = random_points(rng, int(rng.integers(2, 12)))
    times = np.cumsum(rng.uniform(0.5, 1.5, len(points)))
    spline = BSpline(points, motion="se3", times=times, degree=degree, rest=rest)
    x = spline(np.clip(times - times[0], 0, spline.duration)).x
    np.testing.assert_allclose(x[:, :3], points[:, :3], atol=1e-11)
    turned = Rotation.from_quat(x[:, 3:]) * Rotation.from_quat(points[:, 3:]).inv()
    assert turned.magnitude().max() < 1e-12


@pytest.mark.parametrize("degree", [5, 7])
def test_from_rest_to_rest(degree: int) -> None:
    spline = BSpline(random_points(np.random.default_rng(0), 6), motion="se3", duration=3.0, degree=degree)
    _, v, a = spline([0.0, 3.0])
    np.testing.assert_allclose(v, 0.0, atol=1e-11)
    np.testing.assert_allclose(a, 0.0, atol=1e-9)


def test_plain_coordinates_are_those_of_scipy() -> None:
    rng = np.random.default_rng(1)
    points, times = rng.normal(size=(9, 3)), np.cumsum(rng.uniform(0.5, 1.5, 9))
    times -= times[0]
    t = np.linspace(0, times[-1], 200)
    for degree in (2, 3, 4, 5, 6, 7):
        found = BSpline(points, motion="xyz", times=times, degree=degree, rest=False)(t)
        expected = make_interp_spline(times, points, k=degree)
        np.testing.assert_allclose(found.x, expected(t), atol=1e-11)
        np.testing.assert_allclose(found.v, expected(t, 1), atol=1e-10)
        if degree > 2:  # the second derivative of degree 2 jumps at knots
            np.testing.assert_allclose(found.a, expected(t, 2), atol=1e-8)


def test_control_points_are_those_of_scipy() -> None:
    points = np.random.default_rng(2).normal(size=(9, 3))
    found = BSpline(points, motion="xyz", duration=2.0, degree=4, rest=False, interpolate=False)
    knots = np.concatenate([np.zeros(4), np.linspace(0, 2, 6), np.full(4, 2.0)])
    expected = ScipySpline(knots, points, 4)
    t = np.linspace(0, 2, 100)
    np.testing.assert_allclose(found(t).x, expected(t), atol=1e-14)
    np.testing.assert_allclose(found(t).v, expected(t, 1), atol=1e-12)
    np.testing.assert_allclose(found(t).a, expected(t, 2), atol=1e-11)


@pytest.mark.parametrize("interpolate", [True, False])
def test_about_one_axis_it_is_the_spline_of_the_angle(interpolate: bool) -> None:
    rng = np.random.default_rng(3)
    angles = np.cumsum(rng.uniform(-2.5, 3.0, 20))  # several turns
    axis = np.array([0.6, 0.0, 0.8])
    quats = Rotation.from_rotvec(angles[:, None] * axis).as_quat()
    points = np.hstack([np.zeros((20, 3)), quats])
    turning = BSpline(points, motion="se3", duration=10.0, interpolate=interpolate)
    plain = BSpline(angles[:, None], motion="rz", duration=10.0, interpolate=interpolate)
    t = np.linspace(0, 10, 333)
    np.testing.assert_allclose(turning(t).v[:, 3:], plain(t).v * axis, atol=1e-11)
    np.testing.assert_allclose(turning(t).a[:, 3:], plain(t).a * axis, atol=1e-10)
    expected = Rotation.from_rotvec(plain(t).x * axis)
    assert (Rotation.from_quat(turning(t).x[:, 3:]) * expected.inv()).magnitude().max() < 1e-13


def test_orientations_do_not_depend_on_the_base_frame() -> None:
    rng = np.random.default_rng(4)
    points = random_points(rng, 7)
    frame = Rotation.from_rotvec([0.4, -2.0, 1.1])
    turned = points.copy()
    turned[:, 3:] = (frame * Rotation.from_quat(points[:, 3:])).as_quat()
    t = np.linspace(0, 3, 50)
    here = BSpline(points, motion="se3", duration=3.0)(t)
    there = BSpline(turned, motion="se3", duration=3.0)(t)
    np.testing.assert_allclose(there.v[:, 3:], frame.apply(here.v[:, 3:]), atol=1e-11)


def test_many_points_keep_to_a_band() -> None:
    rng = np.random.default_rng(5)
    points = random_points(rng, 600)
    times = np.cumsum(rng.uniform(0.5, 1.5, 600))
    spline = BSpline(points, motion="se3", times=times, degree=5)
    x = spline(times - times[0]).x
    turned = Rotation.from_quat(x[:, 3:]) * Rotation.from_quat(points[:, 3:]).inv()
    assert turned.magnitude().max() < 1e-12
    before, after = spline(spline.knots - 1e-10), spline(spline.knots + 1e-10)
    np.testing.assert_allclose(before.v, after.v, atol=1e-7)
    np.testing.assert_allclose(before.x, after.x, atol=1e-8)


def test_uneven_times_widen_the_band() -> None:
    rng = np.random.default_rng(6)
    points = random_points(rng, 300)
    times = np.cumsum(10.0 ** rng.uniform(-2, 0, 300))
    spline = BSpline(points, motion="se3", times=times, degree=7)
    knots = spline.knots
    before, after = spline(knots * (1 - 1e-13)), spline(knots * (1 + 1e-13))
    np.testing.assert_allclose(before.x, after.x, atol=1e-8)
    assert (
        Rotation.from_quat(spline(knots).x[:, 3:]) * Rotation.from_quat(points[:, 3:]).inv()
    ).magnitude().max() < 1e-9


def test_few_points_lower_the_degree() -> None:
    spline = BSpline([[0.0], [1.0]], motion="x", duration=2.0, rest=False)
    np.testing.assert_allclose(spline([0.0, 0.5, 2.0]).x[:, 0], [0, 0.25, 1])
    np.testing.assert_allclose(spline([0.0, 0.5, 2.0]).v[:, 0], 0.5)
    rest = BSpline([[0.0], [1.0]], motion="x", duration=2.0)
    t = np.linspace(0, 1, 20)
    np.testing.assert_allclose(rest(2 * t).x[:, 0], 10 * t**3 - 15 * t**4 + 6 * t**5, atol=1e-13)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"degree": 4}, "cannot go from rest to rest"),
        ({"degree": 8, "rest": False}, "the degree is 8"),
        ({"interpolate": False, "times": [0, 1], "duration": None}, "control points have no times"),
    ],
)
def test_errors(options: dict[str, object], text: str) -> None:
    arguments = {"duration": 1.0} | options
    with pytest.raises(TrajectoryError, match=text):
        BSpline([[0.0], [1.0]], motion="x", **arguments)


def test_a_zero_quaternion_is_named() -> None:
    points = random_points(np.random.default_rng(7), 4)
    points[2, 3:] = 0.0
    with pytest.raises(TrajectoryError, match="point 2: the quaternion"):
        BSpline(points, motion="se3", duration=1.0)
