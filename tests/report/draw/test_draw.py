"""Draw: canvas, compared, curves, frequencies, matrix, modes, names, panels, points, result, style."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure

import nacelle
from nacelle.elastic.linear.maps import frequency_map
from nacelle.errors import NacelleError
from nacelle.kinematics.pose_input import reference_pose
from nacelle.report.draw import canvas, style
from nacelle.report.draw.compared import plot_agreement
from nacelle.report.draw.curves import plot_forces
from nacelle.report.draw.frequencies import plot_frequency_map, plot_response
from nacelle.report.draw.modes import mode_scene
from nacelle.report.draw.names import apart
from nacelle.report.draw.panels import MOST_CURVES, draw_bars, draw_panels, panels_of
from nacelle.report.draw.robot import plot_robot
from nacelle.report.results.quantity import quantity_of_rows
from support.drawings import figure_axes
from support.flexible import prrrp as modes_prrrp
from support.flexible_robots import prrrp
from support.hostile_names import HOSTILE
from support.library import library_robot
from support.results import agreement, all_results, result_names, results, some_poses, with_names

# ---- Matplotlib: loaded for a picture alone, and the same bytes for the same picture


@pytest.mark.costly
@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_the_same_picture_gives_the_same_bytes(kind, tmp_path):
    saved = []
    for k in range(2):
        ax = plot_robot(library_robot("fivebar"), ax=figure_axes(True))
        saved.append(canvas.save(ax.figure, tmp_path / str(k) / f"a.{kind}").read_bytes())
    assert saved[0] == saved[1]
    assert not any(word in saved[0] for word in (b"Software", b"dc:date", b"CreationDate"))


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch):
    figure = Figure()
    for name in [name for name in sys.modules if name.split(".")[0] in ("matplotlib", "mpl_toolkits")]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(NacelleError, match=r'pip install "nacelle\[plot\]"'):
        plot_robot(library_robot("fivebar"))
    with pytest.raises(NacelleError, match=r'pip install "nacelle\[plot\]"'):
        canvas.save(figure, "never.png")


def test_errors_of_engines_beside_what_is_allowed() -> None:
    """Numbers beside each other: bars of engines and of published counts."""
    ax = plot_agreement(agreement(), ax=figure_axes(True))
    assert [bar.get_width() for bar in ax.patches] == [3e-12, 0.0, 3e-12, 2e-8]
    assert "does not agree" in ax.get_title()
    assert ax.get_xscale() == "log"


@pytest.mark.slow
def test_forces_along_a_motion_have_their_limits():
    """Curves of forces along a motion."""
    robot = library_robot("delta")
    path = nacelle.Circle(reference_pose(robot), 0.1, motion=robot.motion, duration=0.5)
    found = nacelle.size_motors(robot, path, rate=100.0)
    figure = plot_forces(found, title="Forces", shown=False)
    (ax,) = figure.axes
    assert ax.get_ylabel() == "torque (N m)"
    curves = {line.get_label(): line for line in ax.lines}
    for k, load in enumerate(found.loads):
        np.testing.assert_array_equal(curves[load.name].get_ydata(), found.force[:, k])
    assert set(curves["limit"].get_ydata()) == {60.0}
    mixed = replace(found, loads=(replace(found.loads[0], revolute=False), *found.loads[1:]))
    assert len(plot_forces(mixed, shown=False).axes) == 2


# ---- Pictures of frequencies: curves have the numbers of the response


def test_a_response_is_drawn_as_it_is() -> None:
    robot = prrrp()
    x = nacelle.reference_pose(robot)
    response = nacelle.frequency_response(robot, x, np.geomspace(1.0, 200.0, 9))
    ax = plot_response(response, ("x", "z"), ax=figure_axes(True))
    lines = {line.get_label(): line for line in ax.get_lines()}
    assert set(lines) == {"x", "z"}
    k = response.outputs.index("z")
    expected = np.max(np.abs(response.response[:, k]), axis=-1)
    np.testing.assert_array_equal(lines["z"].get_ydata(), expected)
    with pytest.raises(NacelleError, match="there is no output 'w'"):
        plot_response(response, ("w",), ax=figure_axes(True))


def test_a_map_over_one_coordinate() -> None:
    robot = prrrp()
    z = float(nacelle.reference_pose(robot)[1])
    found = frequency_map(robot, {"z": (z - 0.05, z + 0.05, 3)}, modes=2)
    ax = plot_frequency_map(found, 1, ax=figure_axes(True))
    drawn = np.concatenate([np.asarray(line.get_ydata(), dtype=float) for line in ax.get_lines()])
    assert set(found.frequencies[:, 1]) <= set(drawn)
    assert "mode 2" in ax.get_title()
    with pytest.raises(NacelleError, match="no mode 2: the map has modes 0 to 1"):
        plot_frequency_map(found, 2, ax=figure_axes(True))


# ---- Matrices: the numbers of the picture are those of the result


def test_a_jacobian_has_its_scaled_entries() -> None:
    robot = library_robot("fivebar")
    found = nacelle.jacobian(robot, nacelle.reference_pose(robot))
    ax = found.plot(ax=figure_axes(True))
    np.testing.assert_allclose(ax.images[0].get_array(), np.abs(found.scaled))
    assert [text.get_text() for text in ax.texts] == [f"{value:.2g}" for value in found.scaled.ravel()]


def test_parts_of_the_forces_add_up_to_one_for_one_sample() -> None:
    robot = library_robot("fivebar")
    form = nacelle.regressor(robot, nacelle.reference_pose(robot))
    ax = form.plot(ax=figure_axes(True))
    shares = np.abs(form.Y * form.parameters.values) / np.abs(form.Y @ form.parameters.values)[:, None]
    np.testing.assert_allclose(np.sum(ax.images[0].get_array(), axis=0), np.sum(shares, axis=1), rtol=1e-12)


# ---- Pictures of modes: what is drawn is where the mode says, and links stay on their joints


def test_a_deformed_robot() -> None:
    robot, x = modes_prrrp.robot_at(0.0, 0.0)
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
    robot, x = modes_prrrp.robot_at(0.0, 0.0)
    modes = nacelle.natural_frequencies(robot, x)
    with pytest.raises(NacelleError, match="there is no mode 6"):
        modes.plot(6)
    with pytest.raises(NacelleError, match="one pose"):
        nacelle.natural_frequencies(robot, [[x]]).plot()
    response = nacelle.frequency_response(robot, [x], [1.0])
    with pytest.raises(NacelleError, match="one pose"):
        response.plot()


# ---- Names in pictures of robots


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
    assert overlaps(apart(0.0 * centres, sizes), sizes) == []
    alone = [k for k in range(count) if not any(k in pair for pair in overlaps(centres, sizes + 200.0))]
    assert np.array_equal(places[alone], centres[alone])


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


# ---- Panels: of many entries the largest are drawn; bars have the numbers


def test_of_many_entries_the_largest_are_drawn() -> None:
    sizes = np.arange(40.0)
    values = sizes * np.ones((3, 1))
    (panel,) = panels_of([quantity_of_rows("forces", [(f"joint {k}", "N") for k in range(40)], values)])
    assert panel.largest(MOST_CURVES) == list(range(40 - MOST_CURVES, 40))
    (ax,) = draw_panels([panel], shown=False).axes
    assert ax.get_title(loc="right").startswith(f"{MOST_CURVES} of 40")


def test_bars() -> None:
    ax = figure_axes(True)
    draw_bars(ax, ["a", "b", "c"], {"": np.array([2.0, np.nan, 1e-20])}, numbers=True)
    assert [bar.get_width() for bar in ax.patches] == [2.0, 0.0, 1e-20]
    assert [text.get_text() for text in ax.texts] == ["2", "no result", "0"]


# ---- Points: poles and boundaries are where the results have them


def test_the_boundary_is_that_of_the_rays() -> None:
    found = nacelle.reach(library_robot("fivebar"), rays=12)
    ax = found.plot(ax=figure_axes(True))
    outline = np.column_stack([np.asarray(values, dtype=float) for values in ax.lines[0].get_data()])
    distances = np.linalg.norm(outline[:-1] - found.centre[:2], axis=1)
    np.testing.assert_allclose(np.sort(distances), np.sort(found.distance))


def test_poles() -> None:
    robot = library_robot("fivebar")
    model = nacelle.linearise(robot, nacelle.reference_pose(robot))
    ax = model.plot(ax=figure_axes(True))
    np.testing.assert_array_equal(ax.lines[0].get_xdata(), model.eigenvalues.real)
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), model.eigenvalues.imag)


# ---- Pictures of all results: each is drawn, its axes have units, its numbers are those of the result

UNITS = r"m|mm|rad|mrad|deg|s|N|N m|J|W|Hz|%|-|1/s|rad/s|m/s|m/s²|rad/s²|SI|m( or rad)? for N or N m"


def figure_of(drawn: Any) -> Any:
    return drawn.figure.figure if hasattr(drawn, "get_xlabel") else drawn


def require_units(figure: Any) -> None:
    """Every axis with numbers has a label with a unit, unless the axes below carry it for all."""
    figure.draw_without_rendering()
    for ax in figure.axes:
        for label in (ax.get_xlabel(), ax.get_ylabel()):
            if label:
                unit = re.search(r"\(([^()]+)\)$", label.replace("\n", " ").strip())
                assert unit is not None, label
                assert re.fullmatch(UNITS, unit[1]), label
        assert ax.get_xlabel() or ax.get_ylabel() or not ax.get_visible() or not ax.axison or ax.images


@pytest.mark.costly
@pytest.mark.parametrize("name", result_names())
def test_every_result_is_drawn_with_units(name: str) -> None:
    result = all_results()[name]()
    if hasattr(result, "plot"):
        options = (
            {} if name in ("Robot", "Workspace", "FrequencyMap", "FrequencyResponse") else {"shown": False}
        )
        options = {} if name.startswith("NaturalFrequencies") else options
        require_units(figure_of(result.plot(**options)))


@pytest.mark.parametrize("name", ["InverseKinematics, many", "InverseDynamics", "Sizing"])
def test_names_of_users_are_drawn(name: str) -> None:
    robot = with_names(library_robot("fivebar"), [*HOSTILE[-8:], "$", "_"])
    require_units(results(robot)[name]().plot(shown=False))


def test_curves_are_the_numbers() -> None:
    robot = library_robot("fivebar")
    found = nacelle.inverse_dynamics(robot, some_poses(robot))
    times = np.linspace(0.0, 1.0, 5)
    (ax,) = found.plot(times=times, shown=False).axes
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("time (s)", "torque (N m)")
    lines = {line.get_label(): line for line in ax.lines}
    np.testing.assert_array_equal(lines["left.motor"].get_ydata(), found.force[:, 0])
    assert "unreachable" in [text.get_text() for text in ax.get_legend().get_texts()]
    with pytest.raises(NacelleError, match="there are 5 samples, and 2 times"):
        found.plot(times=times[:2])
    with pytest.raises(NacelleError, match="did you mean 'forces'"):
        found.plot("force")


# ---- The style: series that differ in black and white, names as users wrote them


def test_series_differ_without_colours() -> None:
    looks = [style.series_look(k) for k in range(28)]
    for one, other in combinations(looks, 2):
        assert (one["linestyle"], one.get("marker")) != (other["linestyle"], other.get("marker"))
    assert len(set(style.COLOURS)) == 7


def test_any_name_can_be_written() -> None:
    for name in (*HOSTILE, "$x$", "_hidden"):
        words = style.picture_name(name)
        assert len(words) <= 28
        assert "\n" not in words
        assert not words.startswith("_")
        assert "$" not in words.replace(r"\$", "")
