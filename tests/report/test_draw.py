"""Pictures: what is on them, that nothing is cut off, and that the same picture gives the same bytes."""

import subprocess
import sys
import warnings
from dataclasses import dataclass, field, replace
from functools import cache

import matplotlib
import numpy as np
import pytest
from matplotlib.figure import Figure

import nacelle
from nacelle.errors import NacelleError, UnreachableError
from nacelle.kinematics.inverse import inverse_kinematics
from nacelle.kinematics.pose_input import reference_pose
from nacelle.model.joint import JointKind
from nacelle.report import gallery
from nacelle.report.draw import canvas
from nacelle.report.draw.curves import plot_forces
from nacelle.report.draw.robot import plot_robot, plot_scene
from nacelle.report.draw.workspace import boundary_faces, plot_workspace
from nacelle.report.scene import NACELLE_COLOUR, scene
from nacelle.report.solids import box, cylinder, outward, plate, sphere
from nacelle.spatial.pose import Pose, identity
from support.library import NAMES, library_robot

matplotlib.use("Agg")

FLAT = {"3rrr": 2, "fivebar": 2, "prrrp": 1}


@cache
def scene_of(name):
    return scene(library_robot(name))


def figure_axes(flat):
    return canvas.new_axes(flat=flat, size=(4.4, 3.7), shown=False)


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


def spans(part, point, axis):
    """From where to where the solids of a part go along an axis, and their radii about it."""
    result = []
    for solid in part.solids:
        away = solid.reshape(-1, 3) - point
        along = away @ axis
        result.append((along.min(), along.max(), np.linalg.norm(away - np.outer(along, axis), axis=1).max()))
    return result


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


@pytest.mark.parametrize(
    "solid",
    [
        cylinder(np.zeros(3), np.array([0.0, 0.3, 0.4]), 0.05, 0.1),
        cylinder(np.zeros(3), np.array([0.0, 0.3, 0.4]), 0.05, 0.1, end=0.0),
        sphere(np.array([1.0, 2.0, 3.0]), 0.2),
        box(identity(), np.array([0.1, 0.2, 0.3]), 0.07),
        plate([np.zeros(3), np.array([0.3, 0.0, 0.1]), np.array([0.1, 0.4, 0.0])], 0.01, 0.05),
    ],
)
def test_solids_are_closed(solid):
    # The vector areas of the faces of a closed surface add up to nothing.
    areas = 0.5 * np.cross(solid[:, 2] - solid[:, 0], solid[:, 3] - solid[:, 1])
    out = outward(solid)
    total = np.linalg.norm(areas, axis=1)[:, None] * out
    np.testing.assert_allclose(total.sum(axis=0), 0.0, atol=1e-12)


# ------------------------------------------------------------------------------ workspaces


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
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("rz (deg)", "inverse condition number")
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
        canvas.fit(ax)
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


def test_workspaces_go_to_files(tmp_path):
    paths = gallery.draw_workspaces(tmp_path / "new", [disc(), ball()])
    assert [path.name for path in paths] == ["fivebar-workspace-x-y.png", "delta-workspace-x-y-z.png"]
    assert all(path.stat().st_size > 5000 for path in paths)


def test_forces_along_a_motion_have_their_limits():
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
    mixed = replace(found, loads=(replace(found.loads[0], turns=False), *found.loads[1:]))
    assert len(plot_forces(mixed, shown=False).axes) == 2


# ------------------------------------------------------------------------------ files


@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_the_same_picture_gives_the_same_bytes(kind, tmp_path):
    saved = []
    for k in range(2):
        ax = plot_robot(library_robot("fivebar"), ax=figure_axes(True))
        saved.append(canvas.save(ax.figure, tmp_path / str(k) / f"a.{kind}").read_bytes())
    assert saved[0] == saved[1]
    assert not any(word in saved[0] for word in (b"Software", b"dc:date", b"CreationDate"))


def test_the_gallery(tmp_path):
    first = gallery.write_gallery(tmp_path / "1", ["delta", "fivebar"])
    again = gallery.write_gallery(tmp_path / "2", ["delta", "fivebar"])
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in again]
    from matplotlib.image import imread

    assert imread(first[0]).shape[:2] == (592, 704)


def test_the_page_of_the_gallery_shows_the_library(request):
    page = request.config.rootpath / "docs" / "gallery.md"
    text = page.read_text(encoding="utf-8")
    maps = [(f"{name}-workspace-{'-'.join(over)}.png", name) for name, over in gallery.WORKSPACES]
    assert text == gallery.gallery_page([library_robot(name) for name in NAMES], "pictures", maps)
    pictures = list((page.parent / "pictures").glob("*.png"))
    assert {path.name for path in pictures} == {f"{name}.png" for name in NAMES} | {
        gallery.LUMPING,
        *(file for file, _ in maps),
    }
    assert all(path.stat().st_size < 110_000 for path in pictures)


def test_the_command_writes_pictures_and_page(tmp_path, capsys):
    gallery.main([str(tmp_path / "p"), "--page", str(tmp_path / "page.md"), "--robot", "fivebar"])
    assert "1 pictures" in capsys.readouterr().out
    assert "![fivebar](p/fivebar.png)" in (tmp_path / "page.md").read_text(encoding="utf-8")


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch):
    figure = Figure()
    for name in [name for name in sys.modules if name.split(".")[0] in ("matplotlib", "mpl_toolkits")]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(NacelleError, match=r'pip install "nacelle\[plot\]"'):
        plot_robot(library_robot("fivebar"))
    with pytest.raises(NacelleError, match=r'pip install "nacelle\[plot\]"'):
        canvas.save(figure, "never.png")


def test_matplotlib_is_loaded_only_for_a_picture():
    modules = "nacelle.report.draw.curves, nacelle.report.gallery"
    code = f"import sys, {modules}; assert 'matplotlib' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
