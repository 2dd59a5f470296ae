"""Pictures: what is on them, that nothing is cut off, and that the same picture gives the same bytes."""

import warnings
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from nacelle.errors import NacelleError, UnreachableError
from nacelle.kinematics.pose_input import reference_pose
from nacelle.report.draw import canvas
from nacelle.report.draw.robot import plot_robot, plot_scene
from nacelle.scene.colours import NACELLE_COLOUR
from nacelle.scene.placed import scene
from support.drawings import by_gid, figure_axes
from support.library import NAMES, library_robot

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
        canvas.enlarge(ax)
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
    assert set(part.colours) == {NACELLE_COLOUR}
    with pytest.raises(NacelleError, match="no colour"):
        plot_robot(painted("greenish"), ax=figure_axes(False))
