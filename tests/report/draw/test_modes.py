"""Pictures of modes: what is drawn is where the mode says, and links stay on their joints."""

from __future__ import annotations

import numpy as np
import pytest

import nacelle
from nacelle.errors import NacelleError
from nacelle.report.draw.modes import mode_scene
from support.flexible import prrrp


def test_a_deformed_robot() -> None:
    robot, x = prrrp.robot_at(0.0, 0.0)
    modes = nacelle.natural_frequencies(robot, x)
    size = 0.1
    # The fifth mode moves the load up and down, the first bends the links alone.
    view, straight = mode_scene(modes, 4, size)
    lines = {part.name: np.stack([solid.mean(axis=(0, 1)) for solid in part.solids]) for part in view.bodies}
    way = modes.displacement()[:3, 4]
    load = next(part for part in view.bodies if part.name == "P").points
    place = 0.5 * (load.min(axis=0) + load.max(axis=0))
    moved = place - [x[0], 0.0, x[1]]
    # Its links move a little more.
    assert 0.5 * size * view.extent < np.linalg.norm(moved) < size * view.extent
    np.testing.assert_allclose(abs(moved @ way), np.linalg.norm(moved) * np.linalg.norm(way), rtol=1e-3)
    # The last piece of a link ends at the load.
    assert np.linalg.norm(lines["leg1.2"][-1] - place) < 0.02
    bent, _ = mode_scene(modes, 0, size)
    link = next(part for part in bent.bodies if part.name == "leg1.2")
    middle = link.solids[len(link.solids) // 2].mean(axis=(0, 1))
    axis = (straight[0][-1] - straight[0][0]) / 0.4
    away = (middle - straight[0][0]) - axis * (axis @ (middle - straight[0][0]))
    assert np.linalg.norm(away) == pytest.approx(size * bent.extent, rel=0.05)


def test_what_cannot_be_drawn() -> None:
    robot, x = prrrp.robot_at(0.0, 0.0)
    modes = nacelle.natural_frequencies(robot, x)
    with pytest.raises(NacelleError, match="there is no mode 6"):
        modes.plot(6)
    with pytest.raises(NacelleError, match="one pose"):
        nacelle.natural_frequencies(robot, [[x]]).plot()
    response = nacelle.frequency_response(robot, [x], [1.0])
    with pytest.raises(NacelleError, match="one pose"):
        response.plot()
