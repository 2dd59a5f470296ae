"""Pictures: what is on them, that nothing is cut off, and that the same picture gives the same bytes."""

import warnings
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import nacelle
from nacelle.errors import NacelleError, UnreachableError
from nacelle.kinematics.inverse import inverse_kinematics
from nacelle.kinematics.pose_input import reference_pose
from nacelle.model.joint import JointKind
from nacelle.report.draw import canvas
from nacelle.report.draw.robot import plot_robot, plot_scene
from nacelle.report.scene import NACELLE_COLOUR, scene
from nacelle.spatial.pose import Pose
from support.drawings import by_gid, figure_axes, spans
from support.library import NAMES, library_robot

FLAT = {"3rrr": 2, "fivebar": 2, "prrrp": 1}


@cache
def scene_of(name):
    return scene(library_robot(name))


# ------------------------------------------------------------------------------ robots


@pytest.mark.parametrize("name", NAMES)
def test_every_robot_is_drawn_whole_and_without_warnings(name):
    robot, view = library_robot(name), scene_of(name)
    ax = figure_axes(view.across is not None)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plot_scene(view, ax)
        canvas.fit(ax)
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


def test_robots_in_a_plane_are_seen_flat():
    assert {name: scene_of(name).across for name in NAMES if name in FLAT} == FLAT
    assert all(scene_of(name).across is None for name in NAMES if name not in FLAT)
    ax = plot_robot(library_robot("prrrp"), ax=figure_axes(True))
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_aspect()) == ("x (m)", "z (m)", 1.0)


def test_a_robot_in_a_plane_on_axes_in_space_is_looked_at_squarely():
    ax = plot_robot(library_robot("fivebar"), ax=figure_axes(False))
    assert (ax.elev, ax.azim) == (90.0, -90.0)
    assert len(ax.get_zticks()) == 0


def test_scales_are_equal_in_space():
    ax = plot_robot(library_robot("delta"), ax=figure_axes(False))
    limits = np.array([ax.get_xlim(), ax.get_ylim(), ax.get_zlim()])
    ratio = ax.get_box_aspect() / (limits[:, 1] - limits[:, 0])
    np.testing.assert_allclose(ratio, ratio[0])


def test_a_robot_in_space_needs_axes_in_space():
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


def test_bodies_without_shapes_are_lines_between_their_joints():
    robot = library_robot("delta")
    bare = replace(robot, bodies=tuple(replace(body, display=()) for body in robot.bodies))
    view = scene(bare)
    assert [part.name for part in view.bodies] == [part.name for part in scene_of("delta").bodies]
    rod = next(part for part in view.bodies if "rod" in part.name)
    assert len(rod.solids) == 1
    meshes = tuple(replace(body, display=({"mesh": {"file": "a.stl"}},)) for body in robot.bodies)
    assert len(scene(replace(robot, bodies=meshes)).bodies) == len(view.bodies)


def bare(name):
    robot = library_robot(name)
    return replace(robot, bodies=tuple(replace(body, display=()) for body in robot.bodies))


def body_of(view, name):
    return next(part for part in view.bodies if part.name == name)


@pytest.mark.parametrize("name", ["gough-stewart", "palida", "3rps", "space"])
def test_struts_without_shapes_are_telescopic(name):
    """The tube and the rod of every strut overlap and reach from joint to joint; the tube is thicker."""
    robot = bare(name)
    view = scene(robot)
    poses = [
        Pose(R, p) for R, p in zip(*inverse_kinematics(robot, reference_pose(robot)).bodies, strict=True)
    ]
    struts = [robot.joints[a.joint] for a in robot.actuators]
    for joint in (joint for joint in struts if joint.kind is JointKind.PRISMATIC):
        start = (poses[joint.predecessor] @ joint.frame_predecessor).p
        stop = (poses[joint.successor] @ joint.frame_successor).p
        length = np.linalg.norm(stop - start)
        axis = (stop - start) / length
        (tube,) = spans(body_of(view, robot.bodies[joint.predecessor].name), start, axis)
        (rod,) = spans(body_of(view, robot.bodies[joint.successor].name), start, axis)
        np.testing.assert_allclose([tube[0], rod[1]], [0.0, length], atol=1e-9 * length)
        assert 0.3 * length < rod[0] < tube[1] < 0.7 * length
        assert tube[2] > 1.5 * rod[2] > 0.0


@pytest.mark.parametrize(("name", "corners"), [("gough-stewart", 6), ("3rps", 3), ("3rrr", 3)])
def test_platforms_without_shapes_are_plates(name, corners):
    robot = bare(name)
    view = scene(robot)
    solid = body_of(view, robot.bodies[1].name).solids[0]
    poses = inverse_kinematics(robot, reference_pose(robot)).bodies
    ends = np.array(
        [poses.R[1] @ joint.frame_successor.p + poses.p[1] for joint in robot.joints if joint.successor == 1]
    )
    assert len(np.unique(ends.round(9), axis=0)) == corners
    near = np.linalg.norm(solid.reshape(-1, 1, 3) - ends, axis=2).min(axis=0)
    np.testing.assert_allclose(near, 0.005 * view.extent, rtol=1e-6)


AGILE_EYE = """
format: nacelle/1
name: eye
motion: [rx, ry, rz]
nacelle: {name: camera, mass: 0.3 kg, com: 0 0 5 mm, inertia: 0.0003 0.0003 0.0002 kg*m^2}
templates:
  leg:
    bodies:
      proximal: {mass: 0.15 kg, com: 40 0 -40 mm, inertia: 0.0003 0.0004 0.0003 kg*m^2}
      distal: {mass: 0.1 kg, com: 0 -30 -30 mm, inertia: 0.0002 0.00015 0.00015 kg*m^2}
    joints:
      motor: {type: revolute, parent: base, child: proximal, axis: x, active: true}
      mid: {type: revolute, parent: proximal, child: distal, axis: [0, 0, -1]}
    closures:
      eye: {type: revolute, parent: distal, child: camera, axis: [0, -1, 0]}
legs:
  - {repeat: leg, placements: [{}, {axis: [1, 1, 1], angle: 120 deg}, {axis: [1, 1, 1], angle: 240 deg}]}
"""


def test_spherical_mechanisms_are_drawn_on_a_sphere():
    """All joints meet in one point: links are arcs at one distance from it that end at the joints' axes."""
    robot = nacelle.loads(AGILE_EYE)
    view = scene(robot)
    radius = 0.5 * view.extent
    assert radius == pytest.approx(np.hypot(0.04, 0.04))
    for name in ("leg1.proximal", "leg3.distal"):
        points = body_of(view, name).points
        distance = np.linalg.norm(points, axis=1)
        assert np.all(np.abs(distance - radius) < 0.05 * radius)
        # Links of 90 degrees.
        assert np.ptp(points, axis=0).max() == pytest.approx(radius, rel=0.2)
    marks = [part for part in view.parts if part.kind == "joint"]
    assert len(marks) == 9
    assert all(np.linalg.norm(part.points.mean(axis=0)) == pytest.approx(radius, rel=0.05) for part in marks)


def test_colours_of_the_description_are_used():
    robot = library_robot("delta")

    def painted(colour):
        shapes = tuple({**shape, "color": colour} for shape in robot.bodies[1].display)
        bodies = (robot.bodies[0], replace(robot.bodies[1], display=shapes), *robot.bodies[2:])
        return replace(robot, bodies=bodies)

    part = next(p for p in scene(painted("teal")).bodies if p.name == robot.bodies[1].name)
    assert set(part.colours) == {"teal"}
    part = next(p for p in scene_of("delta").bodies if p.name == robot.bodies[1].name)
    assert set(part.colours) == {NACELLE_COLOUR}
    with pytest.raises(NacelleError, match="no colour"):
        plot_robot(painted("greenish"), ax=figure_axes(False))


# ------------------------------------------------------------------------------ workspaces


# ------------------------------------------------------------------------------ files
