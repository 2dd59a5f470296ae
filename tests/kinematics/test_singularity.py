"""Singularities of three kinds, distinguished at poses where they are known."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from nacelle.dynamics.forward import gravity_forces
from nacelle.dynamics.jacobian import jacobian
from nacelle.errors import SingularError, UnreachableError
from nacelle.kinematics.flags import Flag
from nacelle.kinematics.jacobian import nearest_kind, singularities
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.motion import body_motion
from nacelle.kinematics.pose import pose
from nacelle.kinematics.pose_input import reference_pose
from nacelle.kinematics.solve.inverse import inverse_kinematics
from nacelle.model.read import read_data, read_text
from nacelle.model.robot import Robot
from nacelle.simulation.rigid_plant import rigid_plant
from nacelle.simulation.simulate import simulate
from support import mechanisms
from support.compare import assert_same
from support.transformed import RobotTransform
from support.uncompiled import ALL, mark_slow_names, named_robot, poses_around

LINKS = (0.2, 0.25)
HALF_BASE = 0.1


def fivebar() -> Robot:
    return named_robot("fivebar")


def reach_of_the_left_leg(part: float) -> np.ndarray:
    """A point at 60 degrees from the left foot at a part of the leg's length; the right leg reaches it."""
    angle = np.pi / 3
    return np.array([-HALF_BASE, 0.0]) + part * sum(LINKS) * np.array([np.cos(angle), np.sin(angle)])


# ------------------------------------------------------------------------------------------- regular


# Compiling the equations of these takes 1 to 4 s each.
LONG = {"delta", "delta-codourey", "delta4", "dymo/mixed", "everything", "gough-stewart", "h4", "hexa"}
LONG |= {"hexaglide", "orthoglide", "quattro", "dymo/orientational", "dymo/planar", "c5-slides"}


@pytest.mark.parametrize("name", mark_slow_names(ALL, long=LONG))
def test_reference_poses_are_regular(name: str) -> None:
    robot = named_robot(name)
    found = singularities(robot, poses_around(robot, 3, seed=1, length=0.01, angle=0.02))
    assert np.all(found.flags & Flag.SINGULAR == 0)
    assert np.all(found.serial > 1e-4)
    assert np.all(found.parallel > 1e-4)
    assert np.all(found.constraint > 1e-4)
    assert found.serial.shape == (3, len(robot.legs))
    assert all(kinds == () for kinds in found.kinds())
    if robot.motion.n == 6:
        assert np.all(found.constraint == 1.0)


# -------------------------------------------------------------------------------------------- serial


def test_stretched_leg() -> None:
    """Towards the stretched left leg its measure falls like the root of the distance; the others stay."""
    robot = fivebar()
    parts = 1.0 - np.array([1e-2, 1e-4, 1e-6, 1e-8])
    found = singularities(robot, np.stack([reach_of_the_left_leg(part) for part in parts]))
    left, right = found.serial[:, 0], found.serial[:, 1]
    assert np.allclose(left[1:] / left[:-1], 0.1, rtol=0.05)
    assert np.all(right > 1e-2)
    assert np.all(found.parallel > 1e-2)
    assert list(found.flags[1:] & Flag.NEAR_SINGULAR != 0) == [True] * 3
    beyond = singularities(robot, reach_of_the_left_leg(1.0 + 1e-9)[None])
    assert beyond.flags[0] == Flag.UNREACHABLE
    assert np.all(np.isnan(beyond.serial))
    assert np.isnan(beyond.parallel[0])


def test_beyond_a_stretched_leg() -> None:
    robot = fivebar()
    for function in (inverse_kinematics, jacobian, body_motion):
        with pytest.raises(UnreachableError, match="leg 'left' does not reach") as error:
            function(robot, reach_of_the_left_leg(1.001))
        assert error.value.legs == ("left",)
    batch = inverse_kinematics(robot, np.stack([reach_of_the_left_leg(p) for p in (0.9, 1.001)]))
    assert list(batch.reachable) == [True, False]


def test_loops_that_do_not_close() -> None:
    """Where legs are found by iteration there is no leg to blame: the loops are."""
    robot = named_robot("shared")
    far = reference_pose(robot) + 10.0
    for function in (inverse_kinematics, jacobian, body_motion):
        with pytest.raises(UnreachableError, match="the loops do not close at the pose"):
            function(robot, far)
        assert function(robot, far[None]).flags[0] == Flag.UNREACHABLE


def stretched_exactly() -> tuple[Robot, np.ndarray]:
    """A five-bar of numbers that are exact in binary, so that a stretched leg has margin zero exactly."""
    description = copy.deepcopy(mechanisms.five_bar_stretched())
    description["name"] = "exact"
    description["reference"]["position"] = [0.25, 0.75, 0.0]
    feet, guesses = ([0.0, 0.0, 0.0], [0.5, 0.75, 0.0]), ((1.91, -1.32), (1.82, 2.64))
    for leg, foot, guess in zip(description["legs"], feet, guesses, strict=True):
        joints = list(leg["joints"].values())
        joints[0]["at"], joints[1]["at"] = foot, [0.5, 0.0, 0.0]
        joints[0]["guess"], joints[1]["guess"] = guess
        leg["closures"]["end"]["at"] = [0.5, 0.0, 0.0]
    pin = description["platform"]["closures"]["pin0"]
    pin["at"] = pin["child_at"] = [0.5, 0.0, 0.0]
    return read_data(description)[0], np.array([0.0, 1.0])


def test_serial_singularity_with_exact_numbers() -> None:
    robot, x = stretched_exactly()
    found = inverse_kinematics(robot, x[None])
    assert found.margins[0, 0] == 0.0
    assert found.flags[0] == Flag.SINGULAR
    assert np.all(np.isnan(found.q_tree))
    reported = singularities(robot, x)
    assert reported.kinds() == ("serial",)
    assert reported.flags & Flag.SINGULAR
    batch = body_motion(robot, x[None], np.ones(2))
    assert batch.flags[0] & Flag.SINGULAR
    assert np.all(np.isnan(batch.twist))
    with pytest.raises(SingularError, match="left") as error:
        body_motion(robot, x, np.ones(2))
    assert error.value.kind == "serial"


# ------------------------------------------------------------------------------------------ parallel


def test_distal_bars_on_a_line() -> None:
    robot, _ = read_data(mechanisms.five_bar_stretched())
    x = reference_pose(robot)
    found = singularities(robot, x)
    assert found.kinds() == ("parallel",)
    assert found.parallel < 1e-12
    assert np.all(found.serial > 0.05)
    assert found.flags == Flag.SINGULAR
    with pytest.raises(SingularError) as error:
        jacobian(robot, x)
    assert error.value.kind == "parallel"
    # Off the line it grows with the distance.
    near = singularities(robot, x + np.array([[0.0, -1e-3], [0.0, -1e-4]]))
    assert 5.0 < near.parallel[0] / near.parallel[1] < 20.0


def similar_hexagons() -> Robot:
    """A Gough-Stewart platform whose anchors are similar hexagons, each head above its foot."""
    description = mechanisms.gough_stewart("universal")
    description["name"] = "similar"
    angles = np.deg2rad([10, 110, 130, 230, 250, 350])
    for leg, angle in zip(description["legs"], angles, strict=True):
        A = np.array([0.6 * np.cos(angle), 0.6 * np.sin(angle), 0.0])
        B = 0.5 * A + [0.0, 0.0, 0.7]
        s = (B - A) / np.linalg.norm(B - A)
        foot = leg["joints"]["foot"]
        foot["at"] = A.tolist()
        foot["guess"] = [float(np.arctan2(-s[1], s[2])), float(np.arcsin(s[0]))]
        leg["joints"]["slide"]["guess"] = float(np.linalg.norm(B - A))
        leg["closures"]["head"]["child_at"] = [0.5 * A[0], 0.5 * A[1], 0.0]
    return read_data(description)[0]


@pytest.mark.slow
def test_architecture_singular_hexapod() -> None:
    """Similar base and platform: singular in the reference pose and everywhere around it."""
    robot = similar_hexagons()
    x = np.concatenate([reference_pose(robot)[None], poses_around(robot, 4, seed=3)])
    found = singularities(robot, x)
    assert np.all(found.parallel < 1e-10)
    assert all(kinds == ("parallel",) for kinds in found.kinds())
    assert np.all(found.serial > 1e-2)
    reported = jacobian(robot, x)
    assert np.all(reported.flags == Flag.SINGULAR)
    assert np.all(np.isnan(reported.direct))
    assert np.all(np.isfinite(reported.inverse))


def test_platform_turned_by_a_right_angle() -> None:
    """Fichter's singularity of a symmetric hexapod: a right angle about its axis from the neutral pose."""
    robot, _ = read_data(mechanisms.gough_stewart("universal"))
    angles = np.deg2rad([0.0, 45.0, 80.0, 89.0, 89.9, 90.0])
    x = np.stack([pose(robot, [0.0, 0.0, 0.7], rotation_vector=[0.0, 0.0, angle]) for angle in angles])
    found = singularities(robot, x)
    assert np.all(np.diff(found.parallel[1:]) < 0.0)
    assert found.parallel[0] > 0.05
    assert found.kinds()[-1] == ("parallel",)
    assert found.kinds()[0] == ()
    assert_same(found.parallel[3] / found.parallel[4], 10.0, 0.05)


def test_three_rrr_lines_through_a_point() -> None:
    """A planar 3-RRR is singular where the lines of its distal links meet in a point."""
    robot = named_robot("3rrr")
    mechanism = mechanism_of(robot)
    x0 = reference_pose(robot)
    turns = np.linspace(-1.5, 1.5, 61)
    x = x0 + np.outer(turns, [0.0, 0.0, 1.0])
    found = singularities(robot, x)
    ok = np.isfinite(found.parallel)
    bodies = inverse_kinematics(robot, x[ok], limits=False).bodies
    figures = []
    for k in range(int(ok.sum())):
        lines = []
        for leg in robot.legs:
            closure = robot.joints[leg.closures[0]]
            elbow = robot.joints[leg.joints[1]]
            W = (
                bodies.p[k, closure.predecessor]
                + bodies.R[k, closure.predecessor] @ closure.frame_predecessor.p
            )
            E = bodies.p[k, elbow.successor] + bodies.R[k, elbow.successor] @ elbow.frame_successor.p
            s = (W - E)[:2] / np.linalg.norm((W - E)[:2])
            r = (W - bodies.p[k, 1])[:2] / robot.size
            lines.append([*s, r[0] * s[1] - r[1] * s[0]])
        figures.append(np.abs(np.linalg.det(np.array(lines))))
    measure = found.parallel[ok]
    # The two vanish together: measured by rank correlation, and where one is least so is the other.
    assert abs(int(np.argmin(measure)) - int(np.argmin(figures))) <= 1
    order = np.argsort(np.argsort(measure)), np.argsort(np.argsort(figures))
    assert np.corrcoef(*order)[0, 1] > 0.9
    assert mechanism.has_closed_form


# ---------------------------------------------------------------------------------------- constraint


def test_constraint_singularity_of_dymo() -> None:
    """DYMO changes its mode where its constraints lose rank: straight above the base, untwisted."""
    robot = named_robot("dymo")
    x0 = reference_pose(robot)
    x = np.stack([[part * x0[0], part * x0[1], x0[2]] for part in (1.0, 0.1, 0.01, 0.0)])
    found = singularities(robot, x)
    assert np.all(np.diff(found.constraint) < 0.0)
    assert "constraint" in found.kinds()[-1]
    assert "serial" not in found.kinds()[-1]
    assert found.kinds()[0] == ()


# --------------------------------------------------------------------------------------------- units


@pytest.mark.parametrize(
    "name", mark_slow_names(["fivebar", "3rps", "dymo", "palida"], long=["dymo", "palida"])
)
def test_measures_have_no_units(name: str) -> None:
    robot = named_robot(name)
    other = RobotTransform(length=1000.0).robot(robot)
    x = poses_around(robot, 4, seed=2)
    lengths = np.array([1000.0 if n in ("x", "y", "z") else 1.0 for n in mechanism_of(robot).layout.x_names])
    one, two = singularities(robot, x), singularities(other, x * lengths)
    assert_same(two.serial, one.serial, 1e-10)
    assert_same(two.parallel, one.parallel, 1e-10)
    assert_same(two.constraint, one.constraint, 1e-10)


def test_bad_rows() -> None:
    robot = fivebar()
    x = np.array([reference_pose(robot), [np.nan, 0.0], [5.0, 5.0]])
    found = singularities(robot, x)
    assert list(found.flags) == [0, Flag.INVALID, Flag.UNREACHABLE]
    assert np.all(np.isnan(found.parallel[1:]))
    assert np.all(np.isnan(found.serial[1:]))
    assert list(found.kinds()) == [(), (), ()]


# --------------------------------------------------------------------------------- in words

ARM = """
format: nacelle/1
name: arm
motion: xy
gravity: 0 -9.81 0 m/s^2
reference: {position: 400 0 0 mm}
platform: {name: tip, type: point, mass: 0.1 kg}
legs:
  - name: leg
    bodies:
      upper: {mass: 1 kg, com: 150 0 0 mm, inertia: 0.003 0.04 0.04 kg*m^2}
      lower: {mass: 1 kg, com: 150 0 0 mm, inertia: 0.003 0.04 0.04 kg*m^2}
    joints:
      hip: {type: revolute, parent: base, child: upper, axis: z, actuator: {}}
      knee: {type: revolute, parent: upper, child: lower, at: 300 0 0 mm, axis: z, guess: 1 rad, actuator: {}}
    closures:
      end: {type: revolute, parent: lower, at: 300 0 0 mm, child: tip, axis: z}
"""


def test_a_stretched_knee_is_a_serial_singularity() -> None:
    """With both joints driven nothing is left to a parallel one."""
    robot, _ = read_text(ARM)
    at = np.array([0.6 - 1e-14, 0.0])
    assert nearest_kind(robot, at, np.zeros(0)) == ("serial", ("leg",))
    with pytest.raises(SingularError, match="leg 'leg' is at a serial singularity"):
        inverse_kinematics(robot, at, limits=False)
    plant = rigid_plant(robot)
    start = reference_pose(robot)
    run = simulate(plant, start, [3.0, 0.0], gravity_forces(robot, start, coordinates="actuators"), until=1.0)
    assert run.message.endswith("leg 'leg' is almost stretched or folded (a serial singularity)")


@pytest.mark.slow
def test_a_flat_five_bar_is_a_parallel_singularity() -> None:
    """Both distal bars on one line: the elbows are a distal length apart on either side of the tip."""
    robot = fivebar()
    x = reference_pose(robot)
    best, found = 1.0, None
    for height in np.linspace(0.05, 0.3, 2001):
        at = inverse_kinematics(robot, np.array([[x[0], height]]), limits=False)
        if at.ok[0]:
            measure = float(singularities(robot, at.x[0]).parallel)
            if measure < best:
                best, found = measure, at
    assert found is not None
    assert best < 1e-2
    assert nearest_kind(robot, found.x[0], found.y[0]) == ("parallel", ())
