"""Displaced anchors: which can be, and what they do to edges and readings."""

from __future__ import annotations

import numpy as np
import pytest

import nacelle
from nacelle.kinematics.iteration.newton_steps import closing_step
from nacelle.vision.cylinders import visible_cylinders
from nacelle.vision.observer.anchors import anchor_names, anchors_of, offset_map
from nacelle.vision.observer.sight import (
    anchored_edges,
    anchored_readings,
    camera_numbers,
    cylinder_option,
    edges,
    readings,
)
from support.observed import camera_of, displaced_anchors


def test_a_planar_robot_stays_in_its_plane():
    robot = nacelle.load("fivebar")
    names = anchor_names(robot, anchors_of(robot))
    assert [name.split()[-1] for name in names] == ["x", "y", "x", "y"]
    assert len(anchors_of(nacelle.load("gough-stewart"))) == 18


@pytest.mark.parametrize("name", ["fivebar", "quattro", "gough-stewart", "3rps"])
def test_edges_and_readings_of_displaced_anchors(name):
    """The displaced robot itself, its loops closed, gives the values; its differences the derivatives."""
    robot = nacelle.load(name)
    anchors, camera = anchors_of(robot), camera_numbers(camera_of(robot))
    shapes = cylinder_option(visible_cylinders(robot))
    rng = np.random.default_rng(1)
    o = 1e-3 * robot.size * rng.uniform(-1.0, 1.0, len(anchors))
    ik = nacelle.inverse_kinematics(robot, nacelle.reference_pose(robot))

    def truly(offsets):
        real = displaced_anchors(robot, anchors, offsets)
        y = ik.y
        for _ in range(5 if len(y) else 0):
            y = y + closing_step(real, y, ik.x)["dy"]
        seen = edges(real, ik.x, y, camera, cylinders=shapes)
        return seen["frame"][:, :, 0], readings(real, ik.x, y)["q"]

    offsets = offset_map(robot, anchors) @ o
    at = anchored_edges(robot, ik.x, ik.y, camera, offsets, cylinders=shapes, anchors=anchors)
    read = anchored_readings(robot, ik.x, ik.y, offsets, anchors=anchors)
    normals, q = truly(o)
    np.testing.assert_allclose(at["frame"][:, :, 0], normals, atol=1e-10)
    np.testing.assert_allclose(read["q"], q, atol=1e-10)
    for k in rng.choice(len(anchors), 2, replace=False):
        step = 1e-6 * np.eye(len(anchors))[k]
        (n1, q1), (n0, q0) = truly(o + step), truly(o - step)
        expected = np.einsum("csij,csj->csi", at["frame"][:, :, 1:], (n1 - n0) / 2e-6)
        np.testing.assert_allclose(at["by_anchor"][..., k], expected, atol=1e-6)
        np.testing.assert_allclose(read["by_anchor"][:, k], (q1 - q0) / 2e-6, atol=1e-6)
