"""The system of all edges: its Jacobian by differences over all kinds of unknowns."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import nacelle
from nacelle.vision.calibration.bundle import Bundle
from nacelle.vision.cylinders import visible_cylinders
from nacelle.vision.observer.anchors import anchors_of
from support.observed import camera_of
from support.sightings import sightings


def test_jacobian():
    robot = nacelle.load("fivebar")
    rng = np.random.default_rng(0)
    camera, anchors = camera_of(robot), anchors_of(robot)
    seen = [replace(one, edges=one.edges[2:5]) for one in sightings(robot, camera, rng, count=4)]
    bundle = Bundle(
        robot, visible_cylinders(robot), seen, anchors=(anchors, 1e-3), poses=np.array([1e-3, 2e-3])
    )
    assert bundle.count == 6 + 4 + 2 * 4
    units = bundle.units(camera)
    point = bundle.moved(bundle.start(camera), 1e-4 * units * rng.standard_normal(bundle.count))
    system = bundle.system(point)
    assert len(system.r) == 4 * 3 * 2 + 4 + 8
    for k in range(bundle.count):
        step = 1e-7 * units[k] * np.eye(bundle.count)[k]
        ends = [bundle.system(bundle.moved(point, s * step)).r for s in (1.0, -1.0)]
        slope = (ends[0] - ends[1]) / (2.0 * step[k])
        np.testing.assert_allclose(system.J[:, k], slope, atol=2e-3 * np.max(np.abs(slope)))
