"""Events: numbers that are positive before they happen."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.errors import NacelleError
from nacelle.simulation.plant import RigidPlant
from nacelle.simulation.protocol import Event, EventGroup, checked_events, user_event
from support.uncompiled import any_robot


def test_an_event_of_the_user_sees_pose_and_twist() -> None:
    plant = RigidPlant(any_robot("fivebar"))
    event = user_event(plant, "low", lambda t, x, v: x[1] - 0.2 + 0.0 * t + 0.0 * v[0])
    s = np.stack([plant.state([0.0, y], [0.0, 0.0]) for y in (0.25, 0.3)])
    assert event.names == ("low",)
    np.testing.assert_allclose(event.values(np.zeros(2), s)[:, 0], [0.05, 0.1], atol=1e-12)


def test_one_event_or_many() -> None:
    event = Event("a", lambda t, s: t)
    group = EventGroup(("b", "c"), lambda t, s: np.stack([t, t], axis=1))
    assert tuple(checked_events(event)) == (event,)
    assert tuple(checked_events([event, group])) == (event, group)
    with pytest.raises(NacelleError):
        checked_events([lambda t, s: t])
