from __future__ import annotations

import itertools

import numpy as np
import pytest

from nacelle.view.browser.camera import FOV, nice_step, view_of


@pytest.mark.parametrize("across", [None, 0, 1, 2])
@pytest.mark.parametrize("aspect", [0.46, 1.0, 1.6])
def test_all_corners_are_seen(across: int | None, aspect: float) -> None:
    low, high = np.array([-0.5, 0.2, 1.0]), np.array([0.7, 1.0, 1.5])
    view = view_of(low, high, across)
    position, target = view.place(aspect)
    forward = (target - position) / np.linalg.norm(target - position)
    right = np.cross(forward, view.up)
    right = right / np.linalg.norm(right)
    for corner in itertools.product(*zip(low, high, strict=True)):
        way = np.array(corner) - position
        depth = (way @ forward) * np.tan(0.5 * FOV)
        assert abs(way @ right) < aspect * depth
        height = way @ np.cross(right, forward) / depth
        # On a phone the lower part belongs to the controls.
        assert (-0.15 if aspect < 0.8 else -1.0) < height < 1.0


def test_steps_are_round() -> None:
    assert [nice_step(extent) for extent in (1.0, 2.4, 0.6)] == pytest.approx([0.1, 0.2, 0.05])
