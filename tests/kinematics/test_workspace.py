"""Workspaces against areas that are known, and the two ways to map them against each other."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from nacelle.dynamics.jacobian import jacobian
from nacelle.errors import KinematicsError
from nacelle.kinematics.flags import Flag
from nacelle.kinematics.pose import pose
from nacelle.kinematics.pose_input import reference_pose
from nacelle.kinematics.solve.inverse import inverse_kinematics
from nacelle.kinematics.workspace import workspace, workspace_boundary
from nacelle.model.reduced import layout_of
from nacelle.model.robot import Robot
from support.compare import assert_same
from support.random_robots import inner_loops
from support.uncompiled import named_robot

INF = (-np.inf, np.inf)


def without_limits(robot: Robot) -> Robot:
    joints = tuple(dataclasses.replace(joint, limits=(INF,) * len(joint.limits)) for joint in robot.joints)
    actuators = tuple(dataclasses.replace(actuator, position=INF) for actuator in robot.actuators)
    return dataclasses.replace(robot, joints=joints, actuators=actuators)


def fivebar(first: float = 0.2, second: float = 0.25) -> Robot:
    """The five-bar with links of other lengths, and a reference pose on the boundary of nothing."""
    robot = without_limits(named_robot("fivebar"))
    joints = []
    for joint in robot.joints:
        frames = {}
        for side in ("frame_predecessor", "frame_successor"):
            frame = getattr(joint, side)
            p = frame.p.copy()
            if "distal-input" in joint.name and side == "frame_predecessor":
                p[0] = first
            if joint.name in ("left.end", "right.end", "hinge") and p[0] > 0.2:
                p[0] = second
            frames[side] = type(frame)(frame.R, p)
        joints.append(dataclasses.replace(joint, **frames))
    return dataclasses.replace(robot, joints=tuple(joints))


def lens(radius: float, half_distance: float) -> float:
    """Area common to two circles of equal radius."""
    d = 2.0 * half_distance
    return 2.0 * radius**2 * np.arccos(d / (2 * radius)) - 0.5 * d * np.sqrt(4 * radius**2 - d**2)


def test_area_of_two_discs() -> None:
    """Equal links reach every point of a disc: the five-bar's workspace is where two discs overlap."""
    robot = fivebar(0.2, 0.2)
    expected = lens(0.4, 0.1)
    found = workspace(robot, {"x": (-0.45, 0.45, 601), "y": (-0.45, 0.45, 601)}, conditioned=False)
    # Cells are counted along a boundary of 1.9 m with cells of 1.5 mm: a few parts in ten thousand.
    assert found.volume == pytest.approx(expected, rel=1e-3)
    assert np.all(np.isnan(found.conditioning))
    # By rays the area is as exact as the sum over them: the radius is smooth but for two kinks.
    assert workspace_boundary(robot, rays=4000).volume == pytest.approx(expected, rel=1e-5)


def test_area_of_two_rings() -> None:
    """Unequal links leave a hole around each foot: outer circles of the sum, inner ones of the difference."""
    robot = fivebar(0.2, 0.25)
    found = workspace(robot, {"x": (-0.5, 0.5, 701), "y": (-0.5, 0.5, 701)}, conditioned=False)
    # By an independent count over plain distances on a finer grid.
    fine = np.linspace(-0.5, 0.5, 2801)
    X, Y = np.meshgrid(fine, fine, indexing="ij")
    inside = np.ones(X.shape, dtype=bool)
    for foot in (-0.1, 0.1):
        r = np.hypot(X - foot, Y)
        inside &= (r < 0.45) & (r > 0.05)
    exact = lens(0.45, 0.1) - 2 * np.pi * 0.05**2
    assert np.count_nonzero(inside) * (fine[1] - fine[0]) ** 2 == pytest.approx(exact, rel=1e-4)
    assert found.volume == pytest.approx(exact, rel=1e-3)
    # Every point of the grid is judged as plain distances judge it, but on the boundary itself.
    grid = found.x
    rings = [np.hypot(grid[..., 0] - foot, grid[..., 1]) for foot in (-0.1, 0.1)]
    margin = np.min([np.minimum(0.45 - r, r - 0.05) for r in rings], axis=0)
    clear = np.abs(margin) > 1e-9
    np.testing.assert_array_equal(found.reachable[clear], margin[clear] > 0)


def test_slice_of_a_prrrp() -> None:
    """Two rods on vertical rails: the height is free, so the reach is a strip as wide as the rods allow."""
    robot = without_limits(named_robot("prrrp"))
    x0 = reference_pose(robot)
    over = {"x": (-0.7, 0.7, 281), "z": (x0[1] - 0.05, x0[1] + 0.05, 3)}
    found = workspace(robot, over, conditioned=False)
    assert np.all(found.reachable == found.reachable[:, :1])
    widths = []
    for leg in robot.legs:
        # Distance of the rail from the point across the rail, rod lengths apart.
        rod = np.linalg.norm(robot.joints[leg.closures[0]].frame_predecessor.p)
        elbow = robot.joints[leg.joints[1]].frame_predecessor.p
        rail = robot.joints[leg.joints[0]].frame_predecessor
        centre = (rail.R @ elbow + rail.p)[0]
        widths.append((centre - rod, centre + rod))
    low, high = max(w[0] for w in widths), min(w[1] for w in widths)
    inside = (found.values[0] > low + 1e-9) & (found.values[0] < high - 1e-9)
    outside = (found.values[0] < low - 1e-9) | (found.values[0] > high + 1e-9)
    assert np.all(found.reachable[inside])
    assert not np.any(found.reachable[outside])


def test_volume_two_ways() -> None:
    """A DELTA: cells counted, and rays from the middle, which see all of its workspace."""
    robot = named_robot("delta-codourey")
    x0 = reference_pose(robot)
    by_rays = workspace_boundary(robot, rays=600)
    box = {n: (x0[k] - 0.8, x0[k] + 0.8, 41) for k, n in enumerate(("x", "y", "z"))}
    counted = workspace(robot, box, conditioned=False)
    assert by_rays.volume == pytest.approx(counted.volume, rel=0.1)
    # No ray leaves what is within limits, and just beyond its end nothing is.
    ends = x0 + by_rays.distance[:, None] * by_rays.directions
    assert np.all(inverse_kinematics(robot, ends).ok)
    beyond = x0 + (by_rays.distance + 1e-6 * robot.size)[:, None] * by_rays.directions
    assert not np.any(inverse_kinematics(robot, beyond).ok)


def test_rays_without_a_boundary_are_named() -> None:
    """Struts without limits reach anywhere; with those of the library every ray ends."""
    robot = named_robot("gough-stewart")
    assert not np.any(workspace_boundary(robot, rays=6).is_unbounded)
    free = workspace_boundary(without_limits(robot), rays=6, steps=5)
    assert np.all(free.is_unbounded)
    assert np.all(free.distance >= free.furthest)


def test_grid_and_conditioning() -> None:
    robot = named_robot("fivebar")
    x0 = reference_pose(robot)
    found = workspace(robot, {"y": (0.1, 0.4, 7), "x": (-0.2, 0.2)}, at=x0)
    assert found.names == ("y", "x")
    assert found.flags.shape == found.conditioning.shape == (7, 61)
    assert found.x.shape == (7, 61, 2)
    assert_same(found.x[2, 5], [found.values[1][5], found.values[0][2]], 1e-16)
    assert found.cell == pytest.approx(0.05 * 0.4 / 60)
    for place in ((0, 30), (3, 10), (6, 60)):
        if found.reachable[place]:
            expected = jacobian(robot, found.x[place]).conditioning
            assert found.conditioning[place] == pytest.approx(expected, rel=1e-10)
        else:
            assert np.isnan(found.conditioning[place])
    flags = inverse_kinematics(robot, found.x).flags
    np.testing.assert_array_equal(found.flags, flags)
    assert found.volume == pytest.approx(np.count_nonzero(flags & ~int(Flag.NEAR_SINGULAR) == 0) * found.cell)
    assert "fivebar" in found.title


def test_large_grids_in_blocks() -> None:
    """More points than are solved at a time: the same as a small grid where they share points."""
    robot = named_robot("fivebar")
    large = workspace(robot, {"x": (-0.4, 0.4, 401), "y": (0.0, 0.4, 201)}, conditioned=False)
    small = workspace(robot, {"x": (-0.4, 0.4, 41), "y": (0.0, 0.4, 21)}, conditioned=False)
    assert large.flags.size > 1 << 16
    np.testing.assert_array_equal(large.reachable[::10, ::10], small.reachable)


def test_one_coordinate_and_an_angle() -> None:
    robot = named_robot("3rrr")
    found = workspace(robot, {"rz": (-1.0, 1.0, 21)})
    assert found.flags.shape == (21,)
    assert found.inside_limits[10] == bool(inverse_kinematics(robot, pose(robot, rz=0.0)).ok)


@pytest.mark.slow
def test_beyond_a_flat_loop_is_not_within_limits() -> None:
    """A knee driven by a parallelogram: the range ends where it is flat, or the leg stretched or folded."""
    leg = inner_loops.draw(1)
    distance = np.hypot(*reference_pose(leg.robot))
    found = workspace(leg.robot, {"x": (0.0, leg.thigh + leg.shank, 41)}, at=[distance, 0.0])
    assert np.any(found.other_branch)
    np.testing.assert_array_equal(found.inside_limits, inverse_kinematics(leg.robot, found.x).ok)
    lean = np.arctan2(leg.lever[1], leg.lever[0])
    # Distances of the foot from the hip at which the leg or its loop is singular.
    radii = np.abs(leg.thigh + leg.shank * np.exp(1j * np.array([0.0, np.pi, -lean, np.pi - lean])))
    (ends,) = [(low, high) for low, high in found.intervals if low <= distance <= high]
    for end in ends:
        # No path is followed closer to a singularity than a margin allows.
        assert np.min(np.abs(end - radii)) < 1e-5


@pytest.mark.parametrize(
    ("name", "over"),
    [
        ("gough-stewart", {"rx": (-0.6, 0.5, 5)}),
        ("gough-stewart", {"ry": (-0.6, 0.5, 4), "rx": (-0.2, 0.3, 3)}),
        ("gough-stewart", {"rz": (-0.6, 0.5, 4), "z": (0.5, 0.9, 3), "rx": (-0.2, 0.3, 3)}),
        ("dymo/orientational", {"rx": (-0.4, 0.4, 3), "ry": (-0.3, 0.4, 4), "rz": (-0.2, 0.4, 5)}),
    ],
)
def test_free_orientations_are_turned_from_the_pose(name: str, over: dict[str, tuple[float, ...]]) -> None:
    """R = exp([rx, ry, rz]) R_at, zero where a component does not vary; the matrices come from SciPy."""
    robot = named_robot(name)
    at = reference_pose(robot)
    if name == "gough-stewart":
        at = pose(robot, [0.02, -0.03, 0.65], rotation_vector=[0.1, -0.2, 0.3])
    found = workspace(robot, over, at=at)
    place = layout_of(robot.motion).quaternion
    names = layout_of(robot.motion).x_names
    for index in np.ndindex(found.flags.shape):
        given = {n: found.values[k][index[k]] for k, n in enumerate(found.names)}
        turn = Rotation.from_rotvec([given.get(axis, 0.0) for axis in ("rx", "ry", "rz")])
        expected = (turn * Rotation.from_quat(at[place])).as_matrix()
        np.testing.assert_allclose(
            Rotation.from_quat(found.x[index][place]).as_matrix(), expected, atol=1e-14
        )
        for k, axis in enumerate(names):
            if axis in "xyz":
                assert found.x[index][k] == given.get(axis, at[k])
    assert found.rotation_names == tuple(axis for axis in over if axis.startswith("r"))
    np.testing.assert_array_equal(found.flags, inverse_kinematics(robot, found.x).flags)
    assert found.reachable.any()


def test_units_of_sizes() -> None:
    robot = named_robot("gough-stewart")
    units = {
        ("z",): "m",
        ("rx",): "rad",
        ("x", "z"): "m^2",
        ("rz", "x"): "m rad",
        ("rx", "ry", "rz"): "rad^3",
        ("x", "rx", "y"): "m^2 rad",
    }
    for names, unit in units.items():
        found = workspace(robot, dict.fromkeys(names, (-0.1, 0.1, 3)), conditioned=False)
        assert found.unit == unit
    turning = workspace(named_robot("quattro"), {"swing": (-0.1, 0.1, 3), "z": (-0.8, -0.7, 2)})
    assert turning.units == ("rad", "m")


def test_intervals_end_where_the_reach_ends() -> None:
    """A DELTA along its axis: the ends found by bisection are those of the rays, and lie between points."""
    robot = named_robot("delta")
    found = workspace(robot, {"z": (-0.95, -0.3, 53)})
    ((low, high),) = found.intervals
    for end, out in ((low, -1e-6), (high, 1e-6)):
        ok = inverse_kinematics(robot, [[0.0, 0.0, end], [0.0, 0.0, end + out]]).ok
        assert ok.tolist() == [True, False]
    step = found.values[0][1] - found.values[0][0]
    (extent,) = found.extent
    assert 0.0 <= extent[0] - low < step
    assert 0.0 <= high - extent[1] < step
    everything = workspace(robot, {"z": (-0.7, -0.5, 5)})
    assert everything.intervals == ((-0.7, -0.5),)
    nothing = workspace(robot, {"z": (-3.0, -2.0, 5)})
    assert nothing.intervals == ()
    assert nothing.extent is None
    with pytest.raises(KinematicsError, match="one coordinate, this grid has 2"):
        _ = workspace(robot, {"x": (0.0, 0.1, 2), "z": (-0.7, -0.6, 2)}).intervals


def test_intervals_with_a_hole() -> None:
    """Two links of unequal length reach a ring: on a line through its middle there are two ranges."""
    robot = fivebar(0.3, 0.1)
    found = workspace(robot, {"y": (-0.6, 0.6, 121)})
    assert len(found.intervals) == 2
    (a, b), (c, d) = found.intervals
    half = 0.1  # of the distance between the motors
    np.testing.assert_allclose([b, c], np.sqrt(0.2**2 - half**2) * np.array([-1, 1]), atol=1e-8)
    np.testing.assert_allclose([a, d], np.sqrt(0.4**2 - half**2) * np.array([-1, 1]), atol=1e-8)


@pytest.mark.parametrize(
    ("over", "words"),
    [
        ({"x": (0.1, -0.1)}, r"the range of x is empty: lowest 0\.1, highest -0\.1, 61 points"),
        ({"x": (0.1, 0.1)}, "the range of x is empty"),
        ({"x": (0.0, 0.1, 1)}, "1 points; it takes lowest < highest and at least 2 points"),
        ({"x": (np.nan, 0.1)}, "the range of x is empty"),
        ({"x": (0.0, np.inf)}, "the range of x is empty"),
        ({"zz": (0.0, 0.1)}, r"palida has no coordinate 'zz' to vary; did you mean 'z'"),
        ({"qx": (0.0, 0.1)}, "palida has no coordinate 'qx' to vary"),
        ({}, "a workspace has one to three coordinates, got 0"),
        ({"x": (0.0,)}, "range of x"),
    ],
)
def test_wrong_ranges(over: dict[str, tuple[float, ...]], words: str) -> None:
    with pytest.raises(KinematicsError, match=words):
        workspace(named_robot("palida"), over)


def test_wrong_rays() -> None:
    robot = named_robot("fivebar")
    with pytest.raises(KinematicsError, match="rays take two or three of the translations of fivebar"):
        workspace_boundary(robot, names=("x",))
    with pytest.raises(KinematicsError, match="rays take two or three of the translations of fivebar"):
        workspace_boundary(robot, names=("x", "z"))
    with pytest.raises(KinematicsError, match="fivebar cannot take the pose from which the rays start"):
        workspace_boundary(robot, at=[3.0, 0.0])


def test_rays_take_no_quaternion() -> None:
    with pytest.raises(KinematicsError, match="rays take two or three of the translations of palida"):
        workspace_boundary(named_robot("palida"), names=("x", "qx"), rays=4)


def test_no_rays() -> None:
    with pytest.raises(KinematicsError, match="ray"):
        workspace_boundary(named_robot("fivebar"), rays=0)
