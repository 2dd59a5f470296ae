"""Recorded samples: 50 digits carried on, against the native controller; what each sample returns."""

from __future__ import annotations

import numpy as np

from nacelle.control.kind import DesiredMotion
from nacelle.control.named import controller
from nacelle.export.loop.law import controller_entries
from nacelle.export.loop.recorded import BRIDGED, FINE, STOPPED, record
from support.library import library_robot


def test_a_record_is_that_of_the_controller() -> None:
    made = controller(library_robot("fivebar"), "cf-rb-friction", bandwidth=10.0)
    samples = record(made, controller_entries(made, "p"))
    memory = made.start(samples.start)
    assert np.array_equal(memory, samples.first)
    limit = samples.tolerance["double"]["force"] * samples.scale["force"]
    for k, (q, *motion) in enumerate(zip(*samples.inputs.values(), strict=True)):
        force, memory = made.step(memory, q, DesiredMotion(*motion))
        assert np.max(np.abs(force - samples.force[k])) <= limit
    assert samples.status == [FINE] * 9 + [BRIDGED] * 2 + [FINE] * 13 + [BRIDGED] * 10 + [STOPPED] * 4
    # Forces are within the drives' limits, so that an error shows.
    assert np.max(np.abs(samples.force)) < 0.9 * np.min(made.gain("limit"))
    assert samples.tolerance["double"]["force"] < 1e-9
