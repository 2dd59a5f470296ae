from __future__ import annotations

import itertools

import numpy as np
import pytest

from nacelle.view.browser.camera import FOV, free_part, nice_step, view_of


@pytest.mark.parametrize("across", [None, 0, 1, 2])
@pytest.mark.parametrize(("aspect", "upper"), [(0.46, 0.4), (0.46, 1.0), (1.6, 1.0)])
@pytest.mark.parametrize("wide", [0.7, 4.0])
def test_all_corners_are_seen(across: int | None, aspect: float, upper: float, wide: float) -> None:
    low, high = np.array([-0.5, 0.2, 1.0]), np.array([wide, 1.0, 1.5])
    view = view_of(low, high, across, wide > 1.0)
    position, target = view.place(aspect, upper)
    forward = (target - position) / np.linalg.norm(target - position)
    right = np.cross(forward, view.up)
    right = right / np.linalg.norm(right)
    parts = []
    for corner in itertools.product(*zip(low, high, strict=True)):
        way = np.array(corner) - position
        depth = (way @ forward) * np.tan(0.5 * FOV)
        height = way @ np.cross(right, forward) / depth
        # Within the width, and within the upper part: on a phone the lower one belongs to the controls.
        parts += [abs(way @ right) / (aspect * depth), abs(height - (1.0 - upper)) / upper]
    assert 0.5 < max(parts) < 1.0


def test_controls_take_their_part_of_a_window() -> None:
    assert free_part(1280, 800) == (956 / 800, 1.0)
    assert free_part(390, 844) == (390 / 844, 0.4)


def test_steps_are_round() -> None:
    assert [nice_step(extent) for extent in (1.0, 2.4, 0.6)] == pytest.approx([0.1, 0.2, 0.05])
