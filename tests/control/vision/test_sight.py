"""When exposures come, and what the best error of a pixel is."""

from __future__ import annotations

import numpy as np
import pytest

import nacelle
from nacelle.control.vision.deviation import Deviation
from nacelle.control.vision.plant import TruePlant
from nacelle.control.vision.sight import TrueSight, edge_sigma
from nacelle.errors import KinematicsError
from nacelle.vision.image.pixel_model import PixelModel, filled
from nacelle.vision.shutter import Shutter


class Recorder:
    """Keeps what it is called with."""

    def __init__(self) -> None:
        self.calls = []

    def edges(self, exposure, true, predicted):
        self.calls.append((exposure, true[1]))
        return []


@pytest.fixture(scope="module")
def plant() -> TruePlant:
    robot = nacelle.load("fivebar")
    return TruePlant(robot, Deviation.none(robot))


@pytest.mark.parametrize("offset", [0.0, 0.0137])
def test_every_exposure_comes_once_and_not_before_it_has_arrived(plant: TruePlant, offset: float) -> None:
    # A twin that forgets nothing.
    twin = TruePlant(plant.model, plant.deviation)
    for one in (plant, twin):
        one.start(nacelle.reference_pose(plant.model), [0.1, 0.0], 0.0)
    shutter = Shutter(rate=300.0, exposure=1e-3, latency=4e-3, clock_offset=offset)
    source = Recorder()
    sight = TrueSight(plant, shutter, source, (0, 1, 2, 3))
    seen = []
    for k in range(1, 60):
        for one in (plant, twin):
            one.advance(np.zeros(2), 1e-3 * k)
        before = len(source.calls)
        sight.arrived(1e-3 * k, lambda time: (np.zeros(0), np.zeros(0)))
        for exposure, p in source.calls[before:]:
            # The robot is where it was in the middle of the exposure, by its own clock.
            middle = exposure.time - offset
            there = twin.bodies(twin.state_at(middle), middle)[1]
            np.testing.assert_allclose(p, there, atol=1e-15)
            assert 1e-3 * (k - 1) < exposure.arrival + 1e-9 <= 1e-3 * k + 2e-9
            seen.append(exposure)
    np.testing.assert_allclose(np.diff([one.time for one in seen]), 1.0 / 300.0, atol=1e-12)
    cylinders = [one.cylinders[0] for one in seen]
    assert np.all(np.diff(cylinders) % 4 == 1)
    assert len(seen) in (16, 17)


def test_a_camera_that_sees_nothing_is_refused(plant: TruePlant) -> None:
    with pytest.raises(KinematicsError, match="sees no cylinder"):
        TrueSight(plant, Shutter(), Recorder(), ())


@pytest.mark.parametrize("blur", [0.6, 1.5])
def test_error_of_a_pixel_is_the_bound_of_the_pixel_model(blur: float) -> None:
    """Fisher's information of one row of pixels across an edge, averaged over where the edge is in them."""
    model = PixelModel(blur=blur)
    s = np.arange(-40.0, 40.0, 0.25)
    slope = filled(s, np.ones_like(s), np.zeros_like(s), blur)[1]
    information = 0.25 * np.sum((160.0 * slope / 2.0) ** 2)
    assert edge_sigma(model) == pytest.approx(information**-0.5, rel=0.02)
