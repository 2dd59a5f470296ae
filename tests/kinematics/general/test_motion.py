"""Velocities and accelerations of links, by differences of the tree's poses."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.kinematics.general.legs import motion
from nacelle.kinematics.general.motion import angular_velocity, axis_velocity, columns, velocity
from support.compare import assert_same
from support.general_states import after, loaded, sampled, twists

H, POINT = 1e-4, np.array([0.1, -0.2, 0.3])


@pytest.mark.parametrize("name", ["3rrr", "delta"])
def test_points_of_links(name: str) -> None:
    """In the node's own axes and, the velocity, in those of the base."""
    robot = loaded(name)
    legs, x, _ = sampled(robot)
    v, a = twists(robot)
    moving, trees = motion(legs, v, a), legs.placed.trees
    gravity = np.array(robot.gravity)
    times = [after(robot, x, v, a, t).motion.poses for t in (-H, 0.0, H)]
    for body, (node, frame) in trees.place.items():
        if not node:
            continue
        behind, now, ahead = (poses[body].p + poses[body].R @ POINT for poses in times)
        point = frame.p + frame.R @ POINT
        own, top = columns(trees, node, point), columns(trees, node, point, 0)
        assert_same(trees.point(node, point), now, 1e-12)
        assert_same(trees.up(node, velocity(own, moving.u)), (ahead - behind) / (2 * H), 1e-5)
        assert_same(velocity(top, moving.u), (ahead - behind) / (2 * H), 1e-5)
        assert_same(trees.up(node, angular_velocity(own, moving.u)), angular_velocity(top, moving.u), 1e-12)
        second = (ahead - 2.0 * now + behind) / H**2
        assert_same(trees.up(node, moving.nodes[node].acceleration(point)), second - gravity, 1e-4)


def test_along_is_the_rate_times_the_axis() -> None:
    legs, *_ = sampled(loaded("3rrr"))
    node = legs.placed.trees.node(1)
    assert_same(axis_velocity(node, {node.rates[0]: 0.7, 99: 3.0}), 0.7 * node.axes[0], 0.0)
    assert not np.any(axis_velocity(node, {}))
