"""Every kind of trajectory: v and a are the derivatives of x, quaternions are unit and continuous."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacelle.kinematics.trajectory import (
    BSpline,
    Circle,
    Fourier,
    Line,
    Polyline,
    Trajectory,
    scale_to_limits,
    time_scaled,
)
from nacelle.model.platform import Motion, parse_motion
from nacelle.model.reduced import layout_of
from nacelle.spatial.rotation_path import quat_conjugate, quat_multiply

MOTIONS = {
    "xyz": parse_motion("xyz"),
    "xy+rz": parse_motion("xy+rz"),
    "se3": parse_motion("se3"),
    "odd": Motion(("x", "rx", "ry", "rz", "z", "swing")),
}
# Central differences of order 8.
WEIGHTS = np.array([3, -32, 168, -672, 0, 672, -168, 32, -3]) / 840


def random_poses(motion: Motion, rng: np.random.Generator, count: int) -> np.ndarray:
    layout = layout_of(motion)
    poses = rng.uniform(-1, 1, size=(count, layout.nx))
    if layout.quaternion is not None:
        poses[:, layout.quaternion] = rng.normal(size=(count, 4))  # not of unit length, of any sign
    return poses


def line(timing: str) -> Callable[[Motion, np.random.Generator], Trajectory]:
    def make(motion: Motion, rng: np.random.Generator) -> Trajectory:
        return Line(*random_poses(motion, rng, 2), motion=motion, duration=1.3, timing=timing)

    return make


def circle(motion: Motion, rng: np.random.Generator) -> Trajectory:
    return Circle(
        random_poses(motion, rng, 1)[0], 0.3, motion=motion, turns=-1.7, start_angle=0.4, duration=2.0
    )


def polyline(motion: Motion, rng: np.random.Generator) -> Trajectory:
    times = np.cumsum(rng.uniform(0.5, 1.5, 6))
    return Polyline(random_poses(motion, rng, 6), motion=motion, times=times, blend=0.3)


def fast_polyline(motion: Motion, rng: np.random.Generator) -> Trajectory:
    return Polyline(random_poses(motion, rng, 4), motion=motion, speed=2.0, acceleration=3.0)


def spline(degree: int, rest: bool, interpolate: bool) -> Callable[[Motion, np.random.Generator], Trajectory]:
    def make(motion: Motion, rng: np.random.Generator) -> Trajectory:
        points = random_poses(motion, rng, 8)
        if interpolate:
            times = np.cumsum(rng.uniform(0.5, 1.5, 8))
            return BSpline(points, motion=motion, times=times, degree=degree, rest=rest)
        return BSpline(points, motion=motion, duration=6.0, degree=degree, rest=rest, interpolate=False)

    return make


def fourier(motion: Motion, rng: np.random.Generator) -> Trajectory:
    a, b = rng.normal(size=(2, 3, motion.n)) * 0.4
    return Fourier(random_poses(motion, rng, 1)[0], a, b, motion=motion, frequency=0.2)


def chain(motion: Motion, rng: np.random.Generator) -> Trajectory:
    p = random_poses(motion, rng, 3)
    first = Line(p[0], p[1], motion=motion, duration=1.0)
    second = BSpline(p[1:], motion=motion, duration=2.0)
    return time_scaled(first.then(second, second.reversed()), 1.4).reversed()


def limited(motion: Motion, rng: np.random.Generator) -> Trajectory:
    return scale_to_limits(spline(5, True, True)(motion, rng), speed=1.0)


KINDS: dict[str, Callable[[Motion, np.random.Generator], Trajectory]] = {
    **{f"line-{name}": line(name) for name in ("quintic", "cubic", "trapezoid", "bang-bang", "uniform")},
    "circle": circle,
    "polyline": polyline,
    "fast-polyline": fast_polyline,
    **{
        f"spline-{degree}-{'rest' if rest else 'free'}": spline(degree, rest, True)
        for degree in (3, 5, 7)
        for rest in (True, False)
    },
    "control-points": spline(4, True, False),
    "control-points-free": spline(5, False, False),
    "fourier": fourier,
    "chain": chain,
    "limited": limited,
}


@pytest.mark.parametrize("motion", list(MOTIONS.values()), ids=list(MOTIONS))
@pytest.mark.parametrize("make", list(KINDS.values()), ids=list(KINDS))
class TestEveryKind:
    def test_derivatives(self, make: Callable[..., Trajectory], motion: Motion) -> None:
        rng = np.random.default_rng(1)
        trajectory = make(motion, rng)
        layout = trajectory.layout
        h = 2e-3
        t = rng.uniform(5 * h, trajectory.duration - 5 * h, 200)
        # Differences do not reach over knots, where higher derivatives jump.
        t = t[np.min(np.abs(t[:, None] - trajectory.knots), axis=1) > 4.5 * h]
        assert len(t) > 50
        here = trajectory(t)
        around = trajectory(t[:, None] + h * np.arange(-4, 5))
        dx = np.einsum("k,mki->mi", WEIGHTS, around.x) / h
        if layout.quaternion is not None and layout.angular is not None:
            w = 2 * quat_multiply(dx[:, layout.quaternion], quat_conjugate(here.x[:, layout.quaternion]))
            np.testing.assert_allclose(here.v[:, layout.angular], w[:, :3], atol=2e-9)
            np.testing.assert_allclose(w[:, 3], 0.0, atol=2e-9)
        np.testing.assert_allclose(here.v[:, layout.linear_v], dx[:, layout.linear_x], atol=2e-10)
        da = np.einsum("k,mki->mi", WEIGHTS, around.v) / h
        np.testing.assert_allclose(here.a, da, atol=1e-8 * max(1.0, np.abs(here.a).max()))

    def test_positions_and_quaternions_are_continuous(
        self, make: Callable[..., Trajectory], motion: Motion
    ) -> None:
        trajectory = make(motion, np.random.default_rng(2))
        times = np.sort(
            np.concatenate([np.linspace(-0.1, trajectory.duration + 0.1, 2001), trajectory.knots])
        )
        x, v, _ = trajectory(times)
        quaternion = trajectory.layout.quaternion
        if quaternion is not None:
            np.testing.assert_allclose(np.linalg.norm(x[:, quaternion], axis=-1), 1.0, atol=1e-14)
        # No step is longer than the highest speed times the time.
        step = np.abs(np.diff(x, axis=0)).max(axis=1)
        speed = np.linalg.norm(v, axis=1).max()
        assert np.all(step <= 1.5 * speed * np.diff(times) + 1e-12)
        before, after = trajectory(trajectory.knots - 1e-12), trajectory(trajectory.knots + 1e-12)
        np.testing.assert_allclose(before.x, after.x, atol=1e-9)

    def test_it_rests_outside(self, make: Callable[..., Trajectory], motion: Motion) -> None:
        trajectory = make(motion, np.random.default_rng(3))
        x, v, a = trajectory([-1e-9, -5.0, trajectory.duration + 1e-9, trajectory.duration + 5.0])
        ends = trajectory([0.0, trajectory.duration]).x
        np.testing.assert_array_equal(x, ends[[0, 0, 1, 1]])
        assert not v.any()
        assert not a.any()

    def test_shapes(self, make: Callable[..., Trajectory], motion: Motion) -> None:
        trajectory = make(motion, np.random.default_rng(4))
        layout = trajectory.layout
        for shape in [(), (0,), (3,), (2, 3), (2, 0, 3)]:
            x, v, a = trajectory(np.full(shape, 0.3))
            assert (x.shape, v.shape, a.shape) == (
                (*shape, layout.nx),
                (*shape, layout.n),
                (*shape, layout.n),
            )
        x, v, a = trajectory([0.2, np.nan, np.inf, -np.inf])
        for part in (x, v, a):
            assert np.isfinite(part[0]).all()
            assert np.isnan(part[1:]).all()
        np.testing.assert_allclose(trajectory(0.2).x, x[0], rtol=0, atol=1e-15)

    def test_knots_span_the_duration(self, make: Callable[..., Trajectory], motion: Motion) -> None:
        trajectory = make(motion, np.random.default_rng(5))
        assert trajectory.knots[0] == 0.0
        assert trajectory.knots[-1] == pytest.approx(trajectory.duration, rel=1e-15)
        assert np.all(np.diff(trajectory.knots) > 0)


VELOCITY_CONTINUOUS = [
    name for name in KINDS if "uniform" not in name and "free" not in name and name != "fourier"
]


@pytest.mark.parametrize("motion", list(MOTIONS.values()), ids=list(MOTIONS))
@pytest.mark.parametrize("kind", VELOCITY_CONTINUOUS)
@given(seed=st.integers(0, 1000))
def test_from_rest_to_rest_with_continuous_velocity(kind: str, motion: Motion, seed: int) -> None:
    trajectory = KINDS[kind](motion, np.random.default_rng(seed))
    knots = trajectory.knots
    before, after = trajectory(knots - 1e-11), trajectory(knots + 1e-11)
    scale = 1.0 + np.abs(trajectory.sample(200)[1].a).max()
    np.testing.assert_allclose(before.v, after.v, atol=1e-9 * scale)
    np.testing.assert_allclose(trajectory([0.0, trajectory.duration]).v, 0.0, atol=1e-9 * scale)


@pytest.mark.parametrize("kind", ["line-quintic", "spline-5-rest", "spline-7-rest", "control-points"])
def test_acceleration_is_continuous(kind: str) -> None:
    trajectory = KINDS[kind](MOTIONS["se3"], np.random.default_rng(7))
    before, after = trajectory(trajectory.knots - 1e-11), trajectory(trajectory.knots + 1e-11)
    np.testing.assert_allclose(before.a, after.a, atol=1e-6)
