"""Mobility: the robots of the library, known mechanisms, and ranks found another way."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from nacelle.kinematics.actuation import joint_rate_row
from nacelle.kinematics.mechanism.assembly import Assembly, advance, assemble, row_scale
from nacelle.kinematics.mechanism.check import Check, check_robot
from nacelle.kinematics.mechanism.mobility import Mobility, mobility
from nacelle.kinematics.mechanism.rank import null_space
from nacelle.kinematics.tree.closure import closure_frames
from nacelle.kinematics.tree.spanning_tree import TreeMotion, tree_motion
from nacelle.model.read import read_data
from nacelle.model.robot import Robot
from support import mechanisms
from support.library import NAMES, library_robot
from support.pinocchio_tree import pinocchio_tree
from support.random_robots.described import RandomRobot, closings

ALL = {"x", "y", "z", "rx", "ry", "rz"}


@dataclass(frozen=True)
class Expected:
    """What is known of a mechanism; `why` gives the counts."""

    why: str
    counted: int
    true: int
    platform: int
    overconstrained: int
    free: str
    locked: str = ""
    coupled: str = ""
    idle: int = 0
    inside: int = 0
    planar: int | None = None
    actuators: int = -1
    words: tuple[str, ...] = field(default=())
    absent: tuple[str, ...] = field(default=())


def check(description: dict[str, Any]) -> Check:
    robot, source = read_data(copy.deepcopy(description))
    return check_robot(robot, source)


def sentences(found: Mobility) -> str:
    return " ".join(found.sentences())


def compare(found: Mobility, expected: Expected) -> None:
    actuators = expected.platform if expected.actuators < 0 else expected.actuators
    assert found.counted == expected.counted
    assert found.counted_planar == expected.planar
    assert found.true == expected.true
    assert found.platform == expected.platform
    assert found.overconstrained == expected.overconstrained
    assert found.idle_count == expected.idle
    assert found.inside == expected.inside
    assert set(found.free) == set(expected.free.split())
    assert set(found.locked) == set(expected.locked.split())
    assert set(found.coupled) == set(expected.coupled.split())
    assert found.actuators == actuators
    assert found.actuation == actuators - expected.platform
    assert found.controlled == expected.platform
    assert found.uncontrolled == ()
    assert found.fits
    assert found.still == ()
    # These hold for every mechanism: rank = rates - true = equations - overconstrained, and every
    # motion is one of the nacelle or idle.
    assert found.true - found.counted == found.overconstrained
    assert found.true == found.platform + found.idle_count
    text = sentences(found)
    for word in expected.words:
        assert word in text
    for word in expected.absent:
        assert word not in text


LIBRARY = {
    "3rps": Expected(
        "6 + 3 x 2 = 12 rates, 3 balls lock 9: 3; the balls stay in vertical planes, so z is free, and "
        "every tilt brings x, y and rz with it",
        counted=3,
        true=3,
        platform=3,
        overconstrained=0,
        free="z",
        coupled="x y rx ry rz",
        words=("2 motions that couple x y rx ry rz",),
        absent=("Locked", "overconstrained", "idle"),
    ),
    "3rrr": Expected(
        "6 (8 - 1 - 9) + 9 = -3 in space, 3 (8 - 1 - 9) + 9 = 3 in the plane; two planar loops: 6 too many",
        counted=-3,
        true=3,
        platform=3,
        overconstrained=6,
        free="x y rz",
        locked="z rx ry",
        planar=3,
        words=("overconstrained 6 times",),
    ),
    "c5": Expected(
        "12 rates (platform 6, sliders 6), a C5 closure locks 1: 12 - 6 = 6",
        counted=6,
        true=6,
        platform=6,
        overconstrained=0,
        free="x y z rx ry rz",
        words=("6 independent motions", "The actuators control every motion"),
        absent=("overconstrained", "idle", "Locked"),
    ),
    "delta": Expected(
        "6 + 3 (1 + 3 + 3) = 27 rates, 6 ball closures lock 18: 9, of which 6 rods spin; a pair of rods "
        "locks one rotation, the three pairs all of them",
        counted=9,
        true=9,
        platform=3,
        overconstrained=0,
        free="x y z",
        locked="rx ry rz",
        idle=6,
        words=("6 idle motions", "leg2.rod-b spins about its own axis", "Locked: rotation about x"),
        absent=("overconstrained", "redundant"),
    ),
    "delta-codourey": Expected(
        "3 + 3 (1 + 2) = 12 rates, 3 points lock 9: 3",
        counted=3,
        true=3,
        platform=3,
        overconstrained=0,
        free="x y z",
        absent=("overconstrained", "idle", "rotation"),
    ),
    "delta4": Expected(
        "6 + 1 (tool) + 3 x 7 + 1 + 2 + 1 = 32 rates, 6 balls lock 18 and the cardan joint at the tool 4: "
        "10, of which 6 rods spin; the fourth leg has six freedoms and locks nothing",
        counted=10,
        true=10,
        platform=4,
        overconstrained=0,
        free="x y z",
        locked="rx ry rz",
        idle=6,
        inside=1,
        words=("1 motion inside the nacelle", "Tool tip moves by"),
        absent=("overconstrained",),
    ),
    "dymo": Expected(
        "6 + 3 x 3 = 15 rates, 3 cardan joints lock 12: 3, in this mode the translations",
        counted=3,
        true=3,
        platform=3,
        overconstrained=0,
        free="x y z",
        locked="rx ry rz",
        absent=("overconstrained", "idle"),
    ),
    "fivebar": Expected(
        "6 (5 - 1 - 5) + 5 = -1 in space, 3 (5 - 1 - 5) + 5 = 2 in the plane; one planar loop: 3 equations "
        "too many",
        counted=-1,
        true=2,
        platform=2,
        overconstrained=3,
        free="x y",
        locked="z",
        planar=2,
        words=("overconstrained 3 times", "translation along x, translation along y"),
        absent=("idle", "rotation"),
    ),
    "gough-stewart": Expected(
        "6 + 6 x 3 = 24 rates, 6 balls lock 18: 6",
        counted=6,
        true=6,
        platform=6,
        overconstrained=0,
        free="x y z rx ry rz",
        absent=("overconstrained", "idle", "redundant"),
    ),
    "h4": Expected(
        "6 + 2 (nacelle) + 4 x 7 = 36 rates, 8 balls lock 24: 12, of which 8 rods spin; four pairs of rods "
        "lock two common rotations and those of the two sides about z, none too many",
        counted=12,
        true=12,
        platform=4,
        overconstrained=0,
        free="x y z",
        locked="rx ry rz",
        idle=8,
        inside=1,
        words=("1 motion inside the nacelle", "Tool gripper moves by"),
        absent=("overconstrained",),
    ),
    "hexa": Expected(
        "6 + 6 (1 + 2) = 24 rates, 6 balls lock 18: 6",
        counted=6,
        true=6,
        platform=6,
        overconstrained=0,
        free="x y z rx ry rz",
        absent=("overconstrained", "idle", "redundant"),
    ),
    "hexaglide": Expected(
        "6 + 6 (1 + 2) = 24 rates, 6 balls lock 18: 6",
        counted=6,
        true=6,
        platform=6,
        overconstrained=0,
        free="x y z rx ry rz",
        absent=("overconstrained", "idle", "redundant"),
    ),
    "orthoglide": Expected(
        "6 + 3 x 5 = 21 rates, 6 revolute closures lock 30: -9; each parallelogram is a planar loop (3 too "
        "many), and three legs lock two rotations each where three are to be locked (3 too many)",
        counted=-9,
        true=3,
        platform=3,
        overconstrained=12,
        free="x y z",
        locked="rx ry rz",
        words=("overconstrained 12 times", "3 in the loops of leg y-leg", "3 between the legs"),
        absent=("idle",),
    ),
    "palida": Expected(
        "6 + 6 x 3 = 24 rates, 6 balls lock 18: 6",
        counted=6,
        true=6,
        platform=6,
        overconstrained=0,
        free="x y z rx ry rz",
        absent=("overconstrained", "idle", "redundant"),
    ),
    "prrrp": Expected(
        "3 + 2 x 2 = 7 rates, 2 points lock 6: 1 in space; one of the six, y, is locked twice",
        counted=1,
        true=2,
        platform=2,
        overconstrained=1,
        free="x z",
        locked="y",
        planar=2,
        words=("overconstrained once",),
        absent=("idle", "rotation"),
    ),
    "quattro": Expected(
        "6 + 3 (nacelle) + 4 x 7 = 37 rates, 5 + 8 x 3 = 29 equations: 8; the nacelle's planar loop has 3 "
        "too many, and four pairs of rods lock three rotations (the plates turn together): 1 too many",
        counted=8,
        true=12,
        platform=4,
        overconstrained=4,
        free="x y z",
        locked="rx ry rz",
        idle=8,
        inside=1,
        words=(
            "3 in the loops of the nacelle",
            "1 between the legs",
            "1 motion inside the nacelle",
            "gripper",
        ),
    ),
    "space": Expected(
        "6 + 3 x 3 = 15 rates, 3 balls lock 9: 6",
        counted=6,
        true=6,
        platform=6,
        overconstrained=0,
        free="x y z rx ry rz",
        absent=("overconstrained", "idle", "redundant"),
    ),
}


def test_table_is_complete() -> None:
    assert set(LIBRARY) == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_library(name: str) -> None:
    compare(mobility(library_robot(name)), LIBRARY[name])


@pytest.mark.parametrize(("name", "tool"), [("quattro", "gripper"), ("h4", "gripper"), ("delta4", "tip")])
def test_tools_turn(name: str, tool: str) -> None:
    """The first body of the nacelle only translates; the tool turns too."""
    found = mobility(library_robot(name))
    assert dict(found.tools)[tool] == ("x", "y", "z", "rz")


KNOWN = {
    "four_bar": Expected(
        "6 (4 - 1 - 4) + 4 = -2 in space, 3 (4 - 1 - 4) + 4 = 1 in the plane",
        counted=-2,
        true=1,
        platform=1,
        overconstrained=3,
        free="",
        locked="z rx ry",
        coupled="x y rz",
        planar=1,
        words=("1 independent motion", "couple", "x y rz", "overconstrained 3 times"),
        absent=("redundant", "idle", "singular"),
    ),
    "planar_three_rrr": Expected(
        "6 (8 - 1 - 9) + 9 = -3 in space, 3 (8 - 1 - 9) + 9 = 3 in the plane; two planar loops: 6 too many",
        counted=-3,
        true=3,
        platform=3,
        overconstrained=6,
        free="x y rz",
        locked="z rx ry",
        planar=3,
        words=("rotation about z",),
    ),
    "planar_point": Expected(
        "6 bars and the base, 6 + 2 revolutes: 6 (7 - 1 - 8) + 8 = -4; in the plane 3 (7 - 1 - 8) + 8 = 2",
        counted=-4,
        true=2,
        platform=2,
        overconstrained=6,
        free="x y",
        locked="z",
        planar=2,
        actuators=3,
        words=("The actuation is redundant: 1 actuator to spare.", "The actuators control every motion"),
    ),
    "three_rps": Expected(
        "6 + 3 x 2 = 12 rates, 3 balls lock 9: 3; the balls stay in vertical planes, so z is free, and "
        "every tilt brings x, y and rz with it",
        counted=3,
        true=3,
        platform=3,
        overconstrained=0,
        free="z",
        coupled="x y rx ry rz",
        words=("3 independent motions", "translation along z", "couple", "x y rx ry rz"),
        absent=("Locked", "overconstrained", "singular"),
    ),
    "gough_stewart": Expected(
        "6 + 6 x 4 = 30 rates, 6 balls lock 18: 12, of which 6 struts spin",
        counted=12,
        true=12,
        platform=6,
        overconstrained=0,
        free="x y z rx ry rz",
        idle=6,
        words=("6 idle motions leave the nacelle at rest", "strut6"),
        absent=("overconstrained", "redundant"),
    ),
    "sarrus": Expected(
        "6 (6 - 1 - 6) + 6 = 0, and yet the platform rises: one equation too many",
        counted=0,
        true=1,
        platform=1,
        overconstrained=1,
        free="z",
        locked="x y rx ry rz",
        words=("1 independent motion: translation along z", "overconstrained once"),
    ),
    "bennett": Expected(
        "6 (4 - 1 - 4) + 4 = -2, and yet it moves; the origin of the coupler is on the crank, which turns "
        "about z",
        counted=-2,
        true=1,
        platform=1,
        overconstrained=3,
        free="",
        locked="z",
        coupled="x y rx ry rz",
        words=("1 independent motion", "overconstrained 3 times"),
        absent=("idle",),
    ),
    "rod_pairs": Expected(
        "as the DELTA of the library",
        counted=9,
        true=9,
        platform=3,
        overconstrained=0,
        free="x y z",
        locked="rx ry rz",
        idle=6,
        words=("rod-a spins about its own axis",),
    ),
}


@pytest.mark.parametrize("name", KNOWN)
def test_known_mechanism(name: str) -> None:
    found = check(getattr(mechanisms, name)())
    assert found.errors == ()
    assert found.mobility is not None
    compare(found.mobility, KNOWN[name])
    assert not found.mobility.singular_reference


def test_universal_foot_takes_the_spin_away() -> None:
    found = check(mechanisms.gough_stewart("universal")).require().mobility
    assert found is not None
    assert (found.counted, found.true, found.platform, found.idle_count) == (6, 6, 6, 0)
    assert "idle" not in sentences(found)


def test_universal_elbows_take_the_spin_away() -> None:
    found = check(mechanisms.rod_pairs(spinning="universal")).require().mobility
    assert found is not None
    assert (found.counted, found.true, found.platform, found.idle_count) == (3, 3, 3, 0)
    # Without the spin an asymmetric inertia is no fault.
    assert check(mechanisms.rod_pairs(spinning="universal", asymmetric=True)).errors == ()


def test_spinning_axis_is_that_of_the_rod() -> None:
    found = mobility(library_robot("delta"))
    assert len(found.spinning) == 6
    for body, axis in ((spin.body, spin.axis) for spin in found.spinning):
        assert "rod" in library_robot("delta").bodies[body].name
        np.testing.assert_allclose(np.abs(axis), [1.0, 0.0, 0.0], atol=1e-12)


def test_motor_in_a_revolute_closure() -> None:
    """The same Sarrus linkage, driven at the joint where the loop is cut."""
    description = mechanisms.sarrus()
    leg = description["legs"][0]
    del leg["joints"]["foot"]["active"]
    leg["closures"]["head"]["active"] = True
    found = check(description).require().mobility
    assert found is not None
    compare(found, KNOWN["sarrus"])


def hanging_rods() -> dict[str, Any]:
    """3-RPS with its loops cut at the slides: the rods hang on the platform, the closures are driven."""
    description = mechanisms.three_rps()
    for leg in description["legs"]:
        slide, ball = leg["joints"].pop("slide"), leg["closures"].pop("ball")
        slide.pop("guess")
        leg["joints"]["ball"] = {
            "type": "spherical",
            "parent": "plate",
            "child": "rod",
            "at": ball["child_at"],
            # The rod leans as the tube does.
            "guess": [0.0, float(np.sin(-0.15)), 0.0, float(np.cos(0.15))],
        }
        leg["closures"]["slide"] = slide
    return description


def test_motors_in_prismatic_closures() -> None:
    """6 + 3 (1 + 3) = 18 rates, 3 slides lock 15: 3, as with the loops cut at the balls."""
    found = check(hanging_rods()).require()
    assert found.mobility is not None
    compare(found.mobility, KNOWN["three_rps"])
    robot = found.robot
    assert [robot.joints[a.joint].kind for a in robot.actuators] == ["prismatic"] * 3
    assert all(a.joint >= robot.tree for a in robot.actuators)


@pytest.mark.parametrize("name", ["sarrus", "three_rps"])
def test_rate_of_a_driven_closure(name: str) -> None:
    """The rate of a joint that closes a loop is the derivative of its coordinate along a true motion."""
    description = hanging_rods() if name == "three_rps" else mechanisms.sarrus()
    if name == "sarrus":
        description["legs"][0]["closures"]["head"]["active"] = True
    robot, _ = read_data(description)
    start = assemble(robot)
    N = null_space(start.closures.jacobian / row_scale(robot)[:, None])
    cut = next(k for k in range(robot.tree, len(robot.joints)) if k in {a.joint for a in robot.actuators})
    row = joint_rate_row(robot, start.motion, cut)

    def coordinate(step: np.ndarray) -> float:
        first, second = closure_frames(robot.joints[cut], moved(robot, start, step))
        relative = first.inverse() @ second
        if robot.joints[cut].kind == "prismatic":
            return float(relative.p[2])
        return float(np.arctan2(relative.R[1, 0], relative.R[0, 0]))

    h = 1e-5
    for u in N.T:
        rate = (coordinate(h * u) - coordinate(-h * u)) / (2 * h)
        # Central differences: h^2 = 1e-10 times a third derivative.
        assert float(row @ u) == pytest.approx(rate, abs=1e-8)
    assert np.max(np.abs(row @ N)) > 0.1


def moved(robot: Robot, start: Assembly, step: np.ndarray) -> TreeMotion:
    pose, q = advance(robot, start.platform, start.q, step)
    return tree_motion(robot, pose, q)


# ------------------------------------------------------------------------------- ranks another way


@dataclass(frozen=True)
class Ranks:
    counted: int
    true: int
    platform: int
    overconstrained: int
    idle: int
    left: int
    gap: float


def split(matrix: np.ndarray) -> tuple[int, np.ndarray, float]:
    """Rank, null space and the gap: smallest singular value that counts over the largest."""
    if 0 in matrix.shape:
        return 0, np.eye(matrix.shape[1]), 1.0
    _, s, Vt = np.linalg.svd(matrix)
    rank = int(np.sum(s > 1e-10 * s[0])) if s[0] > 1e-10 else 0
    return rank, Vt[rank:].T, float(s[rank - 1] / s[0]) if rank else 1.0


def ranks_by_pinocchio(robot: Robot) -> Ranks:
    """Mobility in the reference pose from Pinocchio's Jacobians and what the closures allow."""
    found = assemble(robot)
    assert not found.open
    state = pinocchio_tree(robot, found.platform.R).state(found.platform, found.q)
    width = robot.platform_nv + robot.nv
    rows = [state.constraint_rows(joint) for joint in robot.joints[robot.tree :]]
    C = np.vstack(rows) if rows else np.zeros((0, width))
    rank, N, gap = split(C)
    in_nacelle = [*range(robot.platform_nv)]
    for j in robot.nacelle.joints:
        first = robot.platform_nv + sum(joint.nv for joint in robot.joints[:j])
        in_nacelle += range(first, first + robot.joints[j].nv)
    rest = [k for k in range(width) if k not in in_nacelle]
    platform, _, gap_platform = split(N[in_nacelle])
    idle_rank, _, gap_idle = split(C[:, rest])
    # With the actuators locked: their rates are further rows.
    driven = []
    for actuator in robot.actuators:
        assert actuator.joint < robot.tree
        first = robot.platform_nv + sum(joint.nv for joint in robot.joints[: actuator.joint])
        driven.append(np.eye(width)[first])
    _, locked, gap_locked = split(np.vstack([C, *driven]))
    left, _, gap_left = split(locked[in_nacelle])
    return Ranks(
        counted=width - C.shape[0],
        true=N.shape[1],
        platform=platform,
        overconstrained=C.shape[0] - rank,
        idle=len(rest) - idle_rank,
        left=left,
        gap=min(gap, gap_platform, gap_idle, gap_locked, gap_left),
    )


def compare_ranks(found: Mobility, expected: Ranks) -> None:
    assert found.counted == expected.counted
    assert found.true == expected.true
    assert found.platform == expected.platform
    assert found.overconstrained == expected.overconstrained
    assert found.idle_count == expected.idle
    assert found.controlled == expected.platform - expected.left


@pytest.mark.parametrize("name", NAMES)
def test_ranks_of_the_library(name: str) -> None:
    robot = library_robot(name)
    compare_ranks(mobility(robot), ranks_by_pinocchio(robot))


@pytest.mark.parametrize("name", KNOWN)
def test_ranks_of_known_mechanisms(name: str) -> None:
    robot, _ = read_data(getattr(mechanisms, name)())
    compare_ranks(mobility(robot), ranks_by_pinocchio(robot))


# Below this the two judgements of rank need not agree: a random robot is then singular by chance.
CLEAR = 1e-6


@pytest.mark.slow
@settings(max_examples=40)
@given(closings())
def test_ranks_of_random_robots(made: RandomRobot) -> None:
    expected = ranks_by_pinocchio(made.robot)
    if expected.gap < CLEAR:
        return
    compare_ranks(mobility(made.robot), expected)
