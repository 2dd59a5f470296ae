"""A robot placed by its element state, against the tree at the pose."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import nacelle
from nacelle.errors import NacelleError
from nacelle.kinematics.elements.from_pose import element_arrays
from nacelle.kinematics.elements.placement import ElementMotion
from nacelle.kinematics.general.plan import plan_of
from nacelle.kinematics.kinematic_model import body_poses, joint_motions
from support.compare import assert_same
from support.library import library_robot


@pytest.mark.parametrize("name", ["3rps", "fivebar", "space"])
def test_poses_and_rates(name: str) -> None:
    robot = library_robot(name)
    x, y = plan_of(robot).samples[1]
    v, a = np.random.default_rng(0).normal(size=(2, robot.motion.n))
    seen = ElementMotion(robot, element_arrays(robot, x, y, v, a))
    exact, joints = body_poses(robot, x, y), joint_motions(robot, x, y, v, a)
    for body, pose in enumerate(seen.configuration.motion.poses):
        if not np.any(np.isnan(np.asarray(pose.R, dtype=float))):
            assert_same(pose.p, exact["p"][body], 1e-11)
            assert_same(pose.R, exact["R"][body], 1e-11)
    for found, key in zip(seen.joint_rates, ("rate", "acceleration"), strict=True):
        for place, value in found.items():
            assert abs(value - joints[key][place - robot.platform_nv]) < 1e-10


def test_geometry_is_constant(tmp_path: Path) -> None:
    """Numbers of geometry are no inputs from elements; those of inertia may be."""
    with pytest.raises(NacelleError, match="have its geometry as constants"):
        nacelle.export(
            library_robot("fivebar"),
            "inverse_dynamics",
            out=tmp_path,
            input="elements",
            parameters=("geometry",),
        )
