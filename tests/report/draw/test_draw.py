"""Draw: canvas, compared, curves, frequencies, matrix, modes, names, panels, points, robot, workspace."""

from __future__ import annotations

import re
import sys
import warnings
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import combinations
from typing import Any

import matplotlib
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure

import nacelle
from nacelle.elastic.linear.frequencies import frequency_map
from nacelle.errors import NacelleError, UnreachableError
from nacelle.kinematics.pose_input import is_angle, reference_pose
from nacelle.report.draw import canvas, style
from nacelle.report.draw.compared import plot_agreement
from nacelle.report.draw.result import draw_bars, draw_panels, plot_forces
from nacelle.report.draw.robot import plot_robot, plot_scene, separate_boxes
from nacelle.report.draw.vibrations import mode_scene, plot_frequency_map, plot_response
from nacelle.report.draw.workspace import plot_workspace
from nacelle.report.results.panels import MAX_CURVES, panels_of
from nacelle.report.results.quantity import make_quantity
from nacelle.scene.colours import PLATFORM_COLOUR
from nacelle.scene.configured import scene
from support.flexible import prrrp as modes_prrrp
from support.flexible_robots import prrrp
from support.hostile_names import HOSTILE
from support.library import NAMES, library_robot
from support.results import agreement, all_results, result_names, results, some_poses, with_names

# ---- What tests of drawings share

matplotlib.use("Agg")


def figure_axes(flat):
    return canvas.new_axes(flat=flat, width=4.4, height=3.7, shown=False)


def by_gid(ax, gid):
    return [artist for artist in ax.get_children() if artist.get_gid() == gid]


@dataclass
class Grid:
    robot: object
    names: tuple
    values: tuple
    reachable: np.ndarray
    inside_limits: np.ndarray
    conditioning: np.ndarray
    title: str = "A workspace"
    other_branch: np.ndarray = field(default_factory=lambda: np.array(False))

    @property
    def units(self):
        return tuple("rad" if is_angle(self.robot, name) else "m" for name in self.names)


# ---- Matplotlib: loaded for a picture alone, and the same bytes for the same picture


@pytest.mark.costly
@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_the_same_picture_gives_the_same_bytes(kind, tmp_path):
    saved = []
    for k in range(2):
        ax = plot_robot(library_robot("fivebar"), ax=figure_axes(True))
        saved.append(canvas.save_figure(ax.figure, tmp_path / str(k) / f"a.{kind}").read_bytes())
    assert saved[0] == saved[1]
    assert not any(word in saved[0] for word in (b"Software", b"dc:date", b"CreationDate"))


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch):
    figure = Figure()
    for name in [name for name in sys.modules if name.split(".")[0] in ("matplotlib", "mpl_toolkits")]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(NacelleError, match=r"pip install 'nacelle-robotics\[plot\]'"):
        plot_robot(library_robot("fivebar"))
    with pytest.raises(NacelleError, match=r"pip install 'nacelle-robotics\[plot\]'"):
        canvas.save_figure(figure, "never.png")


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
    found = nacelle.dynamics.size_motors(robot, path, rate=100.0)
    figure = plot_forces(found, title="Forces", shown=False)
    (ax,) = figure.axes
    assert ax.get_ylabel() == "torque (N m)"
    curves = {line.get_label(): line for line in ax.lines}
    for k, load in enumerate(found.loads):
        np.testing.assert_array_equal(curves[load.name].get_ydata(), found.tau[:, k])
    assert set(curves["limit"].get_ydata()) == {60.0}


# ---- Pictures of frequencies: curves have the numbers of the response


def test_a_response_is_drawn_as_it_is() -> None:
    robot = prrrp()
    x = nacelle.reference_pose(robot)
    response = nacelle.elastic.frequency_response(robot, x, np.geomspace(1.0, 200.0, 9))
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
    modes = nacelle.elastic.natural_frequencies(robot, x)
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
    modes = nacelle.elastic.natural_frequencies(robot, x)
    with pytest.raises(NacelleError, match="there is no mode 6"):
        modes.plot(6)
    with pytest.raises(NacelleError, match="one pose"):
        nacelle.elastic.natural_frequencies(robot, [[x]]).plot()
    response = nacelle.elastic.frequency_response(robot, [x], [1.0])
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
    places = separate_boxes(centres, sizes)
    assert overlaps(places, sizes) == []
    assert overlaps(separate_boxes(0.0 * centres, sizes), sizes) == []
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
    (panel,) = panels_of([make_quantity("forces", [(f"joint {k}", "N") for k in range(40)], values)])
    assert panel.largest(MAX_CURVES) == list(range(40 - MAX_CURVES, 40))
    paper = canvas.Paper(shown=False)
    draw_panels(paper, [panel])
    (ax,) = paper.result.axes
    assert ax.get_title(loc="right").startswith(f"{MAX_CURVES} of 40")


def test_bars() -> None:
    ax = figure_axes(True)
    draw_bars(ax, ["a", "b", "c"], {"": np.array([2.0, np.nan, 1e-20])}, numbers=True)
    assert [bar.get_width() for bar in ax.patches] == [2.0, 0.0, 1e-20]
    assert [text.get_text() for text in ax.texts] == ["2", "no result", "0"]


# ---- Points: poles and boundaries are where the results have them


def test_the_boundary_is_that_of_the_rays() -> None:
    found = nacelle.kinematics.workspace_boundary(library_robot("fivebar"), rays=12)
    ax = found.plot(ax=figure_axes(True))
    outline = np.column_stack([np.asarray(values, dtype=float) for values in ax.lines[0].get_data()])
    distances = np.linalg.norm(outline[:-1] - found.centre[:2], axis=1)
    np.testing.assert_allclose(np.sort(distances), np.sort(found.distance))


def test_poles() -> None:
    robot = library_robot("fivebar")
    model = nacelle.dynamics.linearise(robot, nacelle.reference_pose(robot))
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
    np.testing.assert_array_equal(lines["left.motor"].get_ydata(), found.tau[:, 0])
    assert "unreachable" in [text.get_text() for text in ax.get_legend().get_texts()]
    with pytest.raises(NacelleError, match="there are 5 samples, and 2 times"):
        found.plot(times=times[:2])
    with pytest.raises(NacelleError, match="did you mean 'forces'"):
        found.plot("force")


# ---- The style: series that differ in black and white, names as users wrote them


def test_series_differ_without_colours() -> None:
    looks = [style.series_style(k) for k in range(28)]
    for one, other in combinations(looks, 2):
        assert (one["linestyle"], one.get("marker")) != (other["linestyle"], other.get("marker"))
    assert len(set(style.COLOURS)) == 7


def test_any_name_can_be_written() -> None:
    for name in (*HOSTILE, "$x$", "_hidden"):
        words = style.printable_name(name)
        assert len(words) <= 28
        assert "\n" not in words
        assert not words.startswith("_")
        assert "$" not in words.replace(r"\$", "")


# ---- Pictures: what is on them, that nothing is cut off, and that the same picture gives the same bytes

FLAT = {"3rrr": 2, "fivebar": 2, "prrrp": 1}


@cache
def scene_of(name):
    return scene(library_robot(name))


# ---- robots


@pytest.mark.costly
@pytest.mark.parametrize("name", NAMES)
def test_every_robot_is_drawn_whole_and_without_warnings(name):
    robot, view = library_robot(name), scene_of(name)
    ax = figure_axes(view.across is not None)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plot_scene(view, ax)
        canvas.fit_to_figure(ax)
        ax.figure.draw_without_rendering()
    assert sorted(part.name for part in view.bodies) == sorted(body.name for body in robot.bodies[1:])
    assert all(np.all(np.isfinite(part.points)) for part in view.parts)
    active = {robot.joints[actuator.joint].name for actuator in robot.actuators}
    assert {part.name for part in view.parts if part.active} == active
    if view.across is None:
        (collection,) = by_gid(ax, "robot")
        faces = sum(len(solid) for part in view.parts for solid in part.solids)
        assert len(collection.get_facecolor()) == faces
        limits = np.array([ax.get_xlim(), ax.get_ylim(), ax.get_zlim()])
        used = [0, 1, 2]
    else:
        patches = {patch.get_gid() for patch in ax.patches}
        assert {f"body:{body.name}" for body in robot.bodies[1:]} <= patches
        limits = np.array([ax.get_xlim(), ax.get_ylim()])
        used = [k for k in range(3) if k != view.across]
    low, high = view.box
    assert np.all(limits[:, 0] < low[used])
    assert np.all(limits[:, 1] > high[used])
    # Labels included, nothing is cut off, and the picture is filled.
    shown, size = ax.figure.get_tightbbox(), ax.figure.get_size_inches()
    assert min(shown.p0) > -1e-6
    assert np.all(shown.p1 <= size + 1e-6)
    assert max(np.array([shown.width, shown.height]) / size) > 0.85


@pytest.mark.slow
def test_robots_in_a_plane_are_seen_flat():
    assert {name: scene_of(name).across for name in NAMES if name in FLAT} == FLAT
    assert all(scene_of(name).across is None for name in NAMES if name not in FLAT)
    ax = plot_robot(library_robot("prrrp"), ax=figure_axes(True))
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_aspect()) == ("x (m)", "z (m)", 1.0)


def test_axes_in_space():
    """A robot in a plane is looked at squarely; scales are equal; a robot in space needs them."""
    ax = plot_robot(library_robot("fivebar"), ax=figure_axes(False))
    assert (ax.elev, ax.azim, len(ax.get_zticks())) == (90.0, -90.0, 0)
    ax = plot_robot(library_robot("delta"), ax=figure_axes(False))
    limits = np.array([ax.get_xlim(), ax.get_ylim(), ax.get_zlim()])
    ratio = ax.get_box_aspect() / (limits[:, 1] - limits[:, 0])
    np.testing.assert_allclose(ratio, ratio[0])
    with pytest.raises(NacelleError, match="3d"):
        plot_robot(library_robot("delta"), ax=figure_axes(True))


def test_new_axes_titles_and_names():
    from matplotlib import pyplot

    ax = plot_robot(library_robot("fivebar"), names=True, frames=True)
    try:
        assert ax.get_title() == library_robot("fivebar").title
        written = {text.get_text() for text in ax.texts}
        assert written == {body.name for body in library_robot("fivebar").bodies[1:]}
        frames = {patch.get_gid() for patch in ax.patches if patch.get_gid().startswith("frame:")}
        assert len(frames) == len(library_robot("fivebar").bodies)
    finally:
        pyplot.close(ax.figure)
    assert plot_robot(library_robot("fivebar"), ax=figure_axes(True), title="Mine").get_title() == "Mine"


def test_a_robot_moves_with_its_pose():
    robot = library_robot("delta")
    x = reference_pose(robot)
    moved = scene(robot, x + np.array([0.05, 0.0, 0.0]))
    before, after = (
        next(part for part in view.bodies if part.name == robot.bodies[1].name)
        for view in (scene_of("delta"), moved)
    )
    np.testing.assert_allclose(
        after.points - before.points, np.broadcast_to([0.05, 0.0, 0.0], before.points.shape), atol=1e-9
    )
    with pytest.raises(UnreachableError):
        plot_robot(robot, x + np.array([5.0, 0.0, 0.0]), ax=figure_axes(False))


def test_colours_of_the_description_are_used():
    robot = library_robot("delta")

    def painted(colour):
        shapes = tuple({**shape, "color": colour} for shape in robot.bodies[1].display)
        bodies = (robot.bodies[0], replace(robot.bodies[1], display=shapes), *robot.bodies[2:])
        return replace(robot, bodies=bodies)

    part = next(p for p in scene(painted("teal")).bodies if p.name == robot.bodies[1].name)
    assert set(part.colours) == {"#008080"}
    part = next(p for p in scene_of("delta").bodies if p.name == robot.bodies[1].name)
    assert set(part.colours) == {PLATFORM_COLOUR}
    with pytest.raises(NacelleError, match="no colour"):
        plot_robot(painted("greenish"), ax=figure_axes(False))


# ---- Drawings of workspaces: maps, curves and volumes


def disc(count=21):
    line = np.linspace(-0.2, 0.2, count)
    X, Y = np.meshgrid(line, line + 0.2, indexing="ij")
    reached = np.hypot(X, Y - 0.2) < 0.15
    numbers = np.where(reached, 0.5 + X, np.nan)
    return Grid(library_robot("fivebar"), ("x", "y"), (line, line + 0.2), reached, Y < 0.25, numbers)


def ball(count=11):
    line = np.linspace(-0.2, 0.2, count)
    X, Y, Z = np.meshgrid(line, line, line - 0.6, indexing="ij")
    reached = X**2 + Y**2 + (Z + 0.6) ** 2 < 0.03
    numbers = np.where(reached, 0.5 + X, np.nan)
    return Grid(
        library_robot("delta"), ("x", "y", "z"), (line, line, line - 0.6), reached, Z < -0.55, numbers
    )


def test_a_map_has_colours_a_boundary_and_hatching():
    ax = plot_workspace(disc(), ax=figure_axes(True))
    grid = disc()
    mesh = ax.collections[0].get_array()
    assert np.ma.count(mesh) == grid.reachable.sum()
    (rim,) = by_gid(ax, "boundary")
    changes = np.sum(grid.reachable[1:] != grid.reachable[:-1]) * 2
    assert len(rim.get_segments()) == changes
    assert len(by_gid(ax, "beyond limits")) == 1
    assert (ax.get_xlabel(), ax.get_aspect()) == ("x (m)", 1.0)


def test_points_on_another_branch_have_hatching_of_their_own():
    grid = disc()
    X, _ = np.meshgrid(*grid.values, indexing="ij")
    other = grid.reachable & (X > 0.1)
    grid = replace(grid, other_branch=other, inside_limits=grid.inside_limits & ~other)
    ax = plot_workspace(grid, ax=figure_axes(True))
    (beyond,), (hatched,) = by_gid(ax, "beyond limits"), by_gid(ax, "on another branch")
    cells = len(hatched.get_path().vertices) / 5
    assert cells == np.sum(other)
    assert len(beyond.get_path().vertices) / 5 == np.sum(grid.reachable & ~grid.inside_limits & ~other)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["beyond limits", "on another branch"]


@pytest.mark.parametrize("case", ["nothing", "everything", "no numbers", "one row"])
def test_maps_at_the_edge(case):
    grid = disc()
    if case == "nothing":
        grid = replace(grid, reachable=np.zeros_like(grid.reachable), conditioning=np.full((21, 21), np.nan))
    elif case == "everything":
        full = np.ones_like(grid.reachable)
        grid = replace(grid, reachable=full, inside_limits=full, conditioning=np.full((21, 21), 0.3))
    elif case == "no numbers":
        grid = replace(grid, conditioning=np.full((21, 21), np.nan))
    else:
        parts = {name: getattr(grid, name)[:1] for name in ("reachable", "inside_limits", "conditioning")}
        grid = replace(grid, values=(grid.values[0][:1], grid.values[1]), **parts)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ax = plot_workspace(grid, ax=figure_axes(True))
        ax.figure.draw_without_rendering()
    assert ("nothing is reached" in [text.get_text() for text in ax.texts]) == (
        case in ("nothing", "one row")
    )
    assert (len(by_gid(ax, "beyond limits")) == 1) == (case == "no numbers")


def line(count=21):
    values = np.linspace(-0.5, 0.5, count)
    reached = np.abs(values) < 0.32
    numbers = np.where(reached, 0.5 - values**2, np.nan)
    return Grid(library_robot("3rrr"), ("rz",), (values,), reached, np.abs(values - 0.05) < 0.18, numbers)


@pytest.mark.parametrize("empty", [False, True])
def test_one_coordinate_is_a_curve_over_shaded_ranges(empty):
    grid = line()
    if empty:
        grid = replace(grid, reachable=np.zeros(21, dtype=bool), conditioning=np.full(21, np.nan))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ax = plot_workspace(grid, ax=figure_axes(True))
        ax.figure.draw_without_rendering()
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("rz (deg)", "inverse condition number (-)")
    spans = {
        label: [tuple(span.get_bbox().intervalx) for span in by_gid(ax, label)]
        for label in ("within limits", "beyond limits", "out of reach")
    }
    (curve,) = by_gid(ax, "curve")
    drawn = np.isfinite(curve.get_ydata())
    np.testing.assert_array_equal(drawn, grid.reachable)
    np.testing.assert_allclose(curve.get_xdata(), np.degrees(grid.values[0]))
    if empty:
        assert [len(spans[k]) for k in spans] == [0, 0, 1]
        assert "nothing is reached" in [text.get_text() for text in ax.texts]
    else:
        # Edges lie half way between the points: reached from -0.3 to 0.3, within limits from -0.1 to 0.2.
        assert [len(spans[k]) for k in spans] == [1, 2, 2]
        np.testing.assert_allclose(spans["within limits"][0], np.degrees([-0.125, 0.225]))
        np.testing.assert_allclose(spans["beyond limits"], np.degrees([[-0.325, -0.125], [0.225, 0.325]]))


def test_angles_are_drawn_in_degrees():
    grid = replace(disc(), robot=library_robot("palida"), names=("rx", "z"))
    ax = plot_workspace(grid, ax=figure_axes(True))
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_aspect()) == ("rx (deg)", "z (m)", "auto")
    np.testing.assert_allclose(ax.get_xlim(), np.degrees([-0.21, 0.21]))
    grid = replace(ball(), robot=library_robot("palida"), names=("rx", "ry", "rz"))
    grid.volume, grid.unit = 0.5, "rad^3"
    ax = plot_workspace(grid, ax=figure_axes(False))
    labels = (ax.get_xlabel(), ax.get_ylabel(), ax.get_zlabel(), ax.get_title())
    assert labels == ("rx (deg)", "ry (deg)", "rz (deg)", "A workspace, 0.5 rad³")


@pytest.mark.parametrize("empty", [False, True])
def test_a_volume_is_drawn_by_its_outer_faces(empty):
    grid = ball()
    if empty:
        grid = replace(grid, reachable=np.zeros_like(grid.reachable))
    grid.volume = 0.0123
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ax = plot_workspace(grid, ax=figure_axes(False))
        canvas.fit_to_figure(ax)
        ax.figure.draw_without_rendering()
    solid = np.pad(grid.reachable & grid.inside_limits, 1).astype(int)
    faces = sum(int(np.abs(np.diff(solid, axis=k)).sum()) for k in range(3))
    drawn = by_gid(ax, "workspace")
    assert sum(len(c.get_facecolor()) for c in drawn) == faces
    assert ax.get_title() == "A workspace, 0.0123 m³"


def test_workspaces_that_cannot_be_drawn_are_refused():
    grid = disc()
    with pytest.raises(NacelleError, match=r"'conditoning'.*did you mean 'conditioning'"):
        plot_workspace(grid, "conditoning", ax=figure_axes(True))
    with pytest.raises(NacelleError, match="over 1, 2 or 3 coordinates, not over 0"):
        plot_workspace(replace(grid, names=(), values=()))
    with pytest.raises(NacelleError, match=r"grid \(21, 21\)"):
        plot_workspace(replace(grid, reachable=grid.reachable[:3]))
    with pytest.raises(NacelleError, match="3d"):
        plot_workspace(grid, ax=figure_axes(False))
