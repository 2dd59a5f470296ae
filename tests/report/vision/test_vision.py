"""Vision: comparison, picture."""

from __future__ import annotations

import io

import numpy as np
from rich.console import Console

import nacelle
from nacelle.control.vision.comparison import Case, Circumstances, VisualFeedbackComparison
from nacelle.report.control import plot_visual_comparison, sweep_verdicts, visual_comparison_table
from nacelle.report.vision import cylinder_table, pose_table
from nacelle.vision.camera import Camera

# ---- Sweeps as a table, as words, and as a figure: units are those that are written


def comparison() -> VisualFeedbackComparison:
    def case(value: float, encoders: float, vision: float) -> Case:
        rms = {"encoders": np.full(3, encoders), "vision": np.array([0.5, 1.0, 2.0]) * vision}
        return Case("anchors", value, rms, rms)

    cases = (case(0.0, 1e-6, 1e-4), case(1e-5, 1e-5, 1e-4), case(1e-3, 1e-3, 1e-4))
    return VisualFeedbackComparison(nacelle.load("fivebar"), cases, Circumstances(), (1, 2, 3), "model")


def test_table_and_words_are_in_millimetres() -> None:
    console = Console(width=160, record=True, file=io.StringIO())
    console.print(visual_comparison_table(comparison()))
    lines = console.export_text().splitlines()
    assert [line.split()[-4:] for line in lines[-2:]] == [
        ["0.01", "0.01", "0.1", "encoders"],
        ["1", "1", "0.1", "vision"],
    ]
    # Equal at the geometric mean of 0.01 and 1 mm.
    assert sweep_verdicts(comparison()) == ["error of the anchors: vision wins above 0.1 mm"]


def test_figure_has_a_row_a_robot_and_the_crossing() -> None:
    figure = plot_visual_comparison([comparison(), comparison()], shown=False)
    assert len(figure.axes) == 2
    curves = {line.get_label(): line for line in figure.axes[0].lines}
    for name, errors in {"encoders": [1e-3, 1e-2, 1.0], "vision": [0.1, 0.1, 0.1]}.items():
        marked = curves[name].get_markevery()
        np.testing.assert_allclose(curves[name].get_xdata()[marked], [0.0, 0.01, 1.0])
        np.testing.assert_allclose(curves[name].get_ydata()[marked], errors)
    crossings = [line for line in figure.axes[0].lines if line.get_linestyle() == ":"]
    np.testing.assert_allclose([line.get_xdata()[0] for line in crossings], [0.1])


def test_a_crossing_next_to_zero_is_where_the_curves_cross() -> None:
    """Encoders pass vision between 0 and 0.01 mm: the dotted line is there, and between the drawn values."""
    cases = tuple(
        Case("anchors", value, rms, rms)
        for value, rms in (
            (0.0, {"encoders": np.full(3, 2e-6), "vision": np.full(3, 3e-6)}),
            (1e-5, {"encoders": np.full(3, 9e-5), "vision": np.full(3, 3e-6)}),
            (1e-3, {"encoders": np.full(3, 3e-3), "vision": np.full(3, 4e-6)}),
        )
    )
    (ax,) = plot_visual_comparison(
        VisualFeedbackComparison(nacelle.load("fivebar"), cases, Circumstances(), (1, 2, 3), "model"),
        shown=False,
    ).axes
    (dotted,) = (line for line in ax.lines if line.get_linestyle() == ":")
    place = dotted.get_xdata()[0]
    assert 0.0 < place < 0.01
    curves = {line.get_label(): line for line in ax.lines}
    at = {name: np.interp(place, *curves[name].get_data()) for name in ("encoders", "vision")}
    # The curve is drawn by points.
    np.testing.assert_allclose(at["encoders"], at["vision"], rtol=0.05)
    # On the axis it is between the ticks of both values.
    left, dot, right = ax.transData.transform([(x, 1.0) for x in (0.0, place, 0.01)])[:, 0]
    assert left + 1.0 < dot < right - 1.0


def test_the_picture_has_lines_over_the_image() -> None:
    """What a camera sees, as a picture and as tables."""
    camera = Camera.look_at([0.0, 0.14, 0.0], [0.05, 0.1, 0.7], up=(0.0, 1.0, 0.0), size=(320, 320))
    seen = nacelle.vision.observe(nacelle.load("fivebar"), camera=camera)
    (ax,) = seen.plot(shown=False).axes
    assert len(ax.images) == 1
    assert len(ax.lines) == 2 * 2 * 4  # free parts and what goes on, of two edges of four bars
    # The lines are at the steps of the image: half-way between the grey levels.
    middle = 0.5 * (seen.pixels.leg + seen.pixels.background)
    solid = ax.lines[1].get_xydata()
    solid = solid[np.isfinite(solid).all(axis=1)]
    values = seen.image[np.rint(solid[:, 1]).astype(int), np.rint(solid[:, 0]).astype(int)]
    assert abs(float(np.mean(values)) - middle) < 25.0
    assert float(np.min(values)) > seen.pixels.background + 5.0
    assert cylinder_table(seen).row_count == 4
    assert pose_table(seen).row_count == 2
