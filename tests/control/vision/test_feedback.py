"""The observer in the loop: clocks that differ by what is stated change nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import nacelle
from nacelle.control.vision.comparison import Circumstances, LookingBench
from nacelle.control.vision.feedback import ObserverFeedback
from nacelle.control.vision.loop import run_loop
from nacelle.control.vision.path import round_path
from nacelle.control.vision.plant import TruePlant
from nacelle.vision.camera import Camera


def test_a_stated_offset_of_the_clock_and_predicted_bodies() -> None:
    robot = nacelle.load("fivebar")
    camera = Camera.looking([0.0, 0.14, 0.0], [0.0, 0.14, 0.77], up=(0.0, 1.0, 0.0))
    bench = LookingBench(robot, camera=camera, path=round_path(robot, 0.2), settle=0.1)
    case = Circumstances(anchors=1e-4)
    deviation = bench.deviation(case, 1)
    runs = []
    for offset in (0.0, 0.02):  # ten periods of the shutter
        plant = TruePlant(robot, deviation)
        looking = bench.looking(case, 1)
        looking = replace(looking, shutter=replace(looking.shutter, clock_offset=offset))
        feedback = ObserverFeedback(bench.law, looking)
        runs.append(run_loop(plant, feedback, bench.desired))
    errors = [run.summary()["rms_error"] for run in runs]
    assert max(errors) < 2e-5
    np.testing.assert_allclose(errors[1], errors[0], rtol=0.5)
    # What the observer expects to see is what is there: bars where they truly are, anchors included.
    expected = feedback._predicted(plant.time)
    true = plant.bodies(plant.state, plant.time)
    for cylinder in bench.cylinders:
        pixels = [camera.project(np.stack(cylinder.placed(*bodies))) for bodies in (expected, true)]
        across = np.array([[0.0, -1.0], [1.0, 0.0]]) @ (pixels[1][1] - pixels[1][0])
        off = (pixels[0] - pixels[1]) @ across / np.linalg.norm(across)
        assert np.max(np.abs(off)) < 0.03
