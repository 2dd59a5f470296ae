"""Random paths of the library's robots: a motion within all limits, or an error with its reason."""

from __future__ import annotations

import numpy as np
import pytest

import nacelle
from nacelle.errors import RestLimitError, SingularError, UnreachableError
from nacelle.model.reduced import layout_of
from nacelle.motion import time_optimal
from nacelle.trajectory import RoundedLines, sample_trajectory
from support.library import NAMES

COUNT = 60


@pytest.mark.soak
@pytest.mark.parametrize("name", NAMES)
def test_no_failure_without_a_reason(name: str) -> None:
    robot = nacelle.load(name)
    layout, force = layout_of(robot.motion), np.array([actuator.force for actuator in robot.actuators])
    scale = np.array([robot.size if unit == "m" else 1.0 for unit in layout.v_units])
    found, reasons = 0, []
    for seed in range(COUNT):
        rng = np.random.default_rng(seed)
        points = [nacelle.reference_pose(robot)]
        for _ in range(int(rng.integers(1, 4))):
            step = rng.normal(size=robot.motion.n) * scale * rng.choice([0.02, 0.05, 0.15])
            try:
                points.append(nacelle.kinematics.integrate_pose(robot, points[-1], step))
            except UnreachableError:
                break
        if len(points) < 2 or not np.all(np.isfinite(points)):
            continue
        try:
            result = time_optimal(robot, RoundedLines(points, motion=robot.motion))
        except (RestLimitError, SingularError, UnreachableError) as fault:
            reasons.append(str(fault))
            continue
        found += 1
        times = np.linspace(0.0, result.duration, 10001)
        tau = nacelle.inverse_dynamics(robot, *sample_trajectory(robot, result.trajectory, times)).tau
        assert np.all(np.abs(tau) <= force), seed
        assert result.lower_bound < result.duration, seed
    assert found > COUNT // 10
    assert all("along the path" in reason for reason in reasons)
