"""Trajectories in C: those of Python at any time, at rest before and after, NaN at times that are none."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import nacelle
from nacelle.control.named import controller
from nacelle.errors import NacelleError
from nacelle.export.about import Package
from nacelle.export.c.trajectory import TrajectoryCode
from nacelle.export.entry import ExportRequest
from nacelle.trajectory import (
    BSpline,
    Circle,
    Fourier,
    Line,
    Polyline,
    RoundedLines,
    Trajectory,
    sample_trajectory,
)
from support.cc import COMPILERS, WARNINGS, compile_sources
from support.controllers import address_of
from support.library import library_robot
from support.packages import run_self_test

pytestmark = pytest.mark.skipif(not COMPILERS, reason="neither gcc nor clang is installed")
Array = np.ndarray


def waypoints(robot: nacelle.Robot, count: int, seed: int) -> Array:
    """Poses about that of the reference."""
    rng, layout = np.random.default_rng(seed), nacelle.trajectory.base.read_layout(robot.motion)
    x = np.tile(np.asarray(nacelle.reference_pose(robot), dtype=float), (count, 1))
    x += 0.03 * robot.size * rng.normal(size=x.shape)
    if layout.quaternion is not None:
        x[:, layout.quaternion] /= np.linalg.norm(x[:, layout.quaternion], axis=1, keepdims=True)
    return x


def jumping(robot: nacelle.Robot) -> Trajectory:
    ends = waypoints(robot, 2, 1)
    return Line(*ends, motion=robot.motion, duration=0.9, timing="trapezoid")


def there_and_back(robot: nacelle.Robot) -> Trajectory:
    spline = BSpline(waypoints(robot, 6, 2), motion=robot.motion, duration=2.0)
    return spline.then(spline.reverse())


def blended(robot: nacelle.Robot) -> Trajectory:
    return Polyline(waypoints(robot, 5, 3), motion=robot.motion, duration=1.7)


def swinging(robot: nacelle.Robot) -> Trajectory:
    a, b = 0.01 * robot.size * np.random.default_rng(4).normal(size=(2, 4, robot.motion.n))
    return Fourier(nacelle.reference_pose(robot), a, b, motion=robot.motion, frequency=0.7)


def fastest(robot: nacelle.Robot) -> Trajectory:
    """A motion whose acceleration jumps at many places, with knots close to its stops."""
    points = nacelle.reference_pose(robot) + np.zeros((3, 1))
    points[1:, 0] += 0.05
    points[2, 1] += 0.04
    return nacelle.time_optimal(robot, RoundedLines(points, motion=robot.motion)).trajectory


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("fivebar", jumping),
        ("palida", there_and_back),
        pytest.param("fivebar", fastest, marks=pytest.mark.slow),
        *(
            pytest.param(name, make, marks=pytest.mark.slow)
            for name in ("fivebar", "palida", "3rps", "quattro")
            for make in (jumping, there_and_back, blended, swinging)
        ),
    ],
)
def test_samples_are_those_of_python(
    tmp_path: Path, name: str, make: Callable[[nacelle.Robot], Trajectory]
) -> None:
    robot = library_robot(name)
    trajectory = make(robot)
    code = TrajectoryCode(Package("p", robot, "0", ExportRequest(()), []), trajectory)
    header = "\n".join(code.declaration(("double", "float")))
    files = {"p.h": header, **dict(map(code.source, ("double", "float")))}
    flags = ("-O2", "-shared", "-fPIC", *WARNINGS, "-Wdouble-promotion")
    library = ctypes.CDLL(str(compile_sources(files, tmp_path, "p.so", COMPILERS[0], flags)))
    T, n = trajectory.duration, robot.motion.n
    rng = np.random.default_rng(5)
    times = np.concatenate([[-2.0, -1e-9, 0.0, T, T + 1e-9, 1e9], trajectory.knots, rng.uniform(0.0, T, 400)])
    want = sample_trajectory(robot, trajectory, times)
    # Where an acceleration jumps a last bit of the knot decides.
    jumps = np.min(np.abs(times[:, None] - trajectory.knots[1:-1]), axis=1, initial=1.0) < 1e-12
    for real, function, tolerance in (
        (np.float64, library.p_trajectory, 1e-12),
        (np.float32, library.p_trajectory_f, 2e-4),
    ):
        kind = ctypes.c_double if real is np.float64 else ctypes.c_float
        function.argtypes = [kind, *[ctypes.c_void_p] * 3]
        sizes = (want.x.shape[1], n, n)
        for k, t in enumerate(times):
            got = [np.full(size, 7.0, real) for size in sizes]
            status = function(t, *map(address_of, got))
            if real is np.float64:
                assert status == (0 if 0.0 <= t <= T else 1)
            elif jumps[k] or abs(t - T) < 1e-6:
                continue
            for part, truth in zip(got, want, strict=True):
                if not (jumps[k] and truth is want.a):
                    assert np.max(np.abs(part - truth[k])) <= tolerance * np.max(np.abs(truth)), (t, k)
        for bad in (np.nan, np.inf, -np.inf):
            got = [np.zeros(size, real) for size in sizes]
            assert function(bad, *map(address_of, got)) == 2
            assert all(np.isnan(part).all() for part in got)


@pytest.mark.slow
def test_a_package_with_a_trajectory_beside_its_controller(tmp_path: Path) -> None:
    robot = library_robot("fivebar")
    circle = Circle(nacelle.reference_pose(robot), 0.04, motion=robot.motion, duration=0.5)
    target = nacelle.io.CTarget(controller=controller(robot, "cf-rb"), trajectory=circle)
    done = nacelle.export(robot, out=tmp_path / "p", target=target)
    printed = run_self_test(done.out)
    assert printed.endswith("all is well\n")
    assert "fivebar_trajectory_f" in printed
    wrong = Circle([0.0, 0.0, 0.5], 0.04, motion="xyz", duration=0.5)
    with pytest.raises(NacelleError, match="the trajectory is for the motion xyz"):
        nacelle.export(robot, "jacobian", out=tmp_path / "q", target=nacelle.io.CTarget(trajectory=wrong))
    assert not (tmp_path / "q").exists()
