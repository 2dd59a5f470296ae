"""Drawings of workspaces: maps, curves and volumes."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

from nacelle.errors import NacelleError
from nacelle.report.draw import canvas
from nacelle.report.draw.workspace import boundary_faces, plot_workspace
from support.drawings import Grid, by_gid, figure_axes
from support.library import library_robot


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
        canvas.enlarge(ax)
        ax.figure.draw_without_rendering()
    solid = np.pad(grid.reachable & grid.inside_limits, 1).astype(int)
    faces = sum(int(np.abs(np.diff(solid, axis=k)).sum()) for k in range(3))
    drawn = by_gid(ax, "workspace")
    assert sum(len(c.get_facecolor()) for c in drawn) == faces
    assert ax.get_title() == "A workspace, 0.0123 m³"


def test_the_faces_of_a_volume_look_outwards():
    edges = [np.arange(4.0), np.arange(4.0), np.arange(4.0)]
    solid = np.zeros((3, 3, 3), dtype=bool)
    solid[1, 1, 1] = True
    faces, cells = boundary_faces(solid, edges)
    assert faces.shape == (6, 4, 3)
    assert np.all(cells == 1)
    out = np.cross(faces[:, 2] - faces[:, 0], faces[:, 3] - faces[:, 1])
    assert np.all(np.sum(out * (faces.mean(axis=1) - 1.5), axis=1) > 0.0)


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
