"""Names in pictures of robots."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacelle.report.draw.names import apart
from nacelle.report.draw.robot import plot_robot
from support.library import library_robot


def overlaps(places, sizes):
    """Pairs of boxes that lie over each other by more than a thousandth of a pixel."""
    return [
        (i, j)
        for i in range(len(places))
        for j in range(i)
        if np.all(0.5 * (sizes[i] + sizes[j]) - np.abs(places[i] - places[j]) > 1e-3)
    ]


@given(st.integers(0, 2**32 - 1), st.integers(1, 12))
def test_boxes_are_moved_apart(seed, count):
    rng = np.random.default_rng(seed)
    centres, sizes = rng.uniform(0.0, 400.0, (count, 2)), rng.uniform(8.0, 60.0, (count, 2))
    places = apart(centres, sizes)
    assert overlaps(places, sizes) == []
    alone = [k for k in range(count) if not any(k in pair for pair in overlaps(centres, sizes + 200.0))]
    assert np.array_equal(places[alone], centres[alone])


def test_boxes_at_one_place():
    places = apart(np.zeros((5, 2)), np.full((5, 2), 10.0))
    assert overlaps(places, np.full((5, 2), 10.0)) == []


@pytest.mark.parametrize("name", ["gough-stewart", "fivebar"])
def test_no_name_is_over_another(name):
    """Two names of the hexapod would lie over each other where they are."""
    from matplotlib import pyplot

    ax = plot_robot(library_robot(name), names=True)
    try:
        ax.figure.draw_without_rendering()
        boxes = [text.get_bbox_patch().get_window_extent() for text in ax.texts]
        assert len(boxes) == len(library_robot(name).bodies) - 1
        centres = np.array([[0.5 * (box.x0 + box.x1), 0.5 * (box.y0 + box.y1)] for box in boxes])
        assert overlaps(centres, np.array([[box.width, box.height] for box in boxes])) == []
        bare = [text.get_transform() == ax.transData for text in ax.texts]
        assert all(bare) == (name == "fivebar")
    finally:
        pyplot.close(ax.figure)
