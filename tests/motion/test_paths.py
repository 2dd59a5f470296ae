"""Paths of rounded lines, and motions along any path: derivatives, corners, stops, pieces for code."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.trajectory import (
    AlongPath,
    BSpline,
    Circle,
    Line,
    Path,
    RoundedLines,
    TrajectoryError,
    pick_and_place,
)
from nacelle.trajectory.pieces import trajectory_pieces
from nacelle.trajectory.rounded import read_hop

SE3 = [
    [0.0, 0.0, 0.7, 0.0, 0.0, 0.0, 1.0],
    [0.1, 0.0, 0.8, 0.1, 0.0, 0.2, 1.0],
    [0.1, 0.2, 0.8, 0.3, -0.2, 0.1, 1.0],
]


def test_rounded_corner_with_orientation() -> None:
    path, h = RoundedLines(SE3, motion="se3", blend=0.05), 1e-6
    s = np.linspace(0.0, path.duration, 101)[1:-1]
    before, here, after = (path.inside(s + shift) for shift in (-h, 0.0, h))
    assert (after.x - before.x)[:, :3] / (2.0 * h) == pytest.approx(here.v[:, :3], abs=1e-7)
    assert (after.v - before.v) / (2.0 * h) == pytest.approx(here.a, rel=1e-5, abs=1e-5)
    # w = 2 q' q*, the vector part.
    rate = (after.x - before.x)[:, 3:] / (2.0 * h)
    v, r = here.x[:, 3:6], here.x[:, 6:]
    w = 2.0 * (r * rate[:, :3] - rate[:, 3:] * v - np.cross(rate[:, :3], v))
    assert w == pytest.approx(here.v[:, 3:], abs=1e-6)
    ends = path.inside(np.array([0.0, path.duration])).x
    assert ends[:, :3] == pytest.approx(np.array(SE3)[[0, -1], :3], abs=1e-15)
    # The corner is passed at 3/16 of the blend times the change of direction.
    corner = path.inside(np.array([np.linalg.norm(np.subtract(SE3[1], SE3[0])[:3])])).x[0, :3]
    a = np.subtract(SE3[1], SE3[0])[:3]
    turn = np.array([0.0, 1.0, 0.0]) - a / np.linalg.norm(a)
    assert np.linalg.norm(corner - SE3[1][:3]) == pytest.approx(
        3.0 / 16.0 * 0.05 * np.linalg.norm(turn), rel=1e-9
    )


def test_hops_are_read() -> None:
    assert read_hop("25-305-25") == pytest.approx((0.025, 0.305, 0.025))
    hop = pick_and_place([0.0, 0.1], (0.02, 0.2, 0.01), motion="xz", along="-x")
    assert hop.points[-1] == pytest.approx([-0.2, 0.11])
    for wrong in ("25-305", "a-b-c", [0.1, 0.2], "25-0-25"):
        with pytest.raises(TrajectoryError, match=r"pick-and-place|positive"):
            pick_and_place([0.0, 0.0], wrong, motion="xz")


def test_paths_refuse_what_rests() -> None:
    with pytest.raises(TrajectoryError, match="keeps moving"):
        Path(BSpline([[0.0, 0.0], [0.1, 0.1], [0.2, 0.0]], motion="xy", duration=1.0))
    with pytest.raises(TrajectoryError, match="turns back"):
        RoundedLines([[0.0, 0.0], [0.1, 0.0], [0.05, 0.0]], motion="xy")
    with pytest.raises(TrajectoryError, match="shorter blends"):
        RoundedLines([[0.0, 0.0], [0.1, 0.0], [0.1, 0.1]], motion="xy", blend=0.2)


def test_a_smooth_joint_is_passed_and_a_corner_stops() -> None:
    line = Line([0.0, -0.1], [0.1, -0.1], motion="xy", duration=3.0)
    arc = Circle([0.1, 0.0], 0.1, motion="xy", start_angle=-0.5 * np.pi, turns=0.25, duration=0.3)
    smooth = Path(line.then(arc))
    assert smooth.stops == pytest.approx([0.0, smooth.length])
    speeds = np.linalg.norm(smooth(np.linspace(0.0, smooth.length, 50)).v, axis=1)
    assert speeds == pytest.approx(speeds[0])
    corner = Path(line.then(Line([0.1, -0.1], [0.1, 0.3], motion="xy", duration=1.0)))
    assert len(corner.stops) == 3


@pytest.mark.parametrize("bend", [-0.3, -1e-9, 0.0, 1e-9, 0.4])
def test_time_and_motion_between_nodes(bend: float) -> None:
    path = Path(Line([0.0, 0.0], [1.0, 0.0], motion="xy", duration=1.0))
    motion = AlongPath(path, [0.0, 0.4, 1.0], [0.0, 2.0, 0.0], [bend, bend])
    theta = (np.arange(200000) + 0.5) / 200000
    for theta_, step, (first, last) in ((theta**2, 0.4, (0.0, 2.0)), (1.0 - theta**2, 0.6, (2.0, 0.0))):
        z = (1 - theta_) * first + theta_ * last + 4.0 * theta_ * (1.0 - theta_) * bend
        time = np.mean(2.0 * theta / np.sqrt(z)) * step
        k = 0 if step == 0.4 else 1
        assert motion.knots[k + 1] - motion.knots[k] == pytest.approx(time, rel=1e-8)
    s, speed, u = motion.progress(motion.knots[1:2] - 1e-12)
    assert (s[0], speed[0]) == pytest.approx((0.4, np.sqrt(2.0)), rel=1e-9)
    assert u[0] == pytest.approx(2.0 / 0.8 - 2.0 * bend / 0.4, rel=1e-8)


def test_code_gets_pieces_of_a_motion() -> None:
    path = Path(pick_and_place([0.0, 0.0], (0.02, 0.2, 0.02), motion="xz"))
    s = np.concatenate([np.linspace(0.0, path.length, 12), path.knots])
    s = np.unique(np.round(s, 12))
    z = 5.0 * s * (path.length - s)
    motion = AlongPath(path, s, z, np.zeros(len(s) - 1))
    pieces = trajectory_pieces(motion, motion.knots)
    t = np.linspace(0.01, 0.99, 57) * motion.duration
    assert pieces.at(t) == pytest.approx(np.concatenate(motion(t), axis=1), abs=1e-9)
