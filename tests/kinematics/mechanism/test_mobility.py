"""Mobility: the robots of the library, known mechanisms, and ranks found another way."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings

import nacelle
from nacelle.kinematics.mechanism.assembly import Assembly, assemble, integrate_tree, row_scale
from nacelle.kinematics.mechanism.check import Check, check_robot
from nacelle.kinematics.mechanism.mobility import Mobility, mobility
from nacelle.kinematics.mechanism.rank import null_space
from nacelle.model.read import read_data
from nacelle.model.robot import Robot
from nacelle.tree.actuation import joint_rate_row
from nacelle.tree.closure import closure_frames
from nacelle.tree.spanning_tree import TreeKinematics, tree_kinematics
from nacelle.verify.loops import closure_constraint
from support import mechanisms
from support.library import NAMES, library_robot
from support.pinocchio_tree import pinocchio_snapshot
from support.random_robots.described import RandomRobot, closed_robots


class Counts(NamedTuple):
    """Motions of a mechanism; the others follow: every motion is one of the platform or idle."""

    counted: int
    platform: int
    idle: int = 0
    inside: int = 0
    planar: int | None = None
    actuators: int | None = None

    @property
    def true(self) -> int:
        return self.platform + self.idle


class Axes(NamedTuple):
    """Along and about which axes the platform moves freely, not at all, or only together with others."""

    free: str = ""
    locked: str = ""
    coupled: str = ""


@dataclass(frozen=True)
class ExpectedMobility:
    """What is known of a mechanism; `why` gives the counts."""

    why: str
    counts: Counts
    axes: Axes
    words: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()


def six_motions(why: str) -> ExpectedMobility:
    """A platform with all motions, none of them idle, and no equation too many."""
    return ExpectedMobility(
        why,
        Counts(counted=6, platform=6),
        Axes(free="x y z rx ry rz"),
        absent=("overconstrained", "idle", "redundant"),
    )


def check(description: dict[str, Any]) -> Check:
    robot, source = read_data(copy.deepcopy(description))
    return check_robot(robot, source)


def sentences(found: Mobility) -> str:
    return " ".join(found.describe())


def compare(found: Mobility, expected: ExpectedMobility) -> None:
    counts, axes = expected.counts, expected.axes
    actuators = counts.platform if counts.actuators is None else counts.actuators
    assert found.counted == counts.counted
    assert found.counted_planar == counts.planar
    assert found.true == counts.true
    assert found.platform == counts.platform
    # For every mechanism: rank = rates - true = equations - overconstrained.
    assert found.overconstrained == counts.true - counts.counted
    assert found.internal_count == counts.idle
    assert found.inside == counts.inside
    assert set(found.free) == set(axes.free.split())
    assert set(found.locked) == set(axes.locked.split())
    assert set(found.coupled) == set(axes.coupled.split())
    assert found.actuators == actuators
    assert found.actuation == actuators - counts.platform
    assert found.controlled == counts.platform
    assert found.uncontrolled == ()
    assert found.fits
    assert found.still == ()
    text = sentences(found)
    for word in expected.words:
        assert word in text
    for word in expected.absent:
        assert word not in text


LIBRARY = {
    "3rps": ExpectedMobility(
        "6 + 3 x 2 = 12 rates, 3 balls lock 9: 3; the balls stay in vertical planes, so z is free, and "
        "every tilt brings x, y and rz with it",
        Counts(counted=3, platform=3),
        Axes(free="z", coupled="x y rx ry rz"),
        words=("2 motions that couple x y rx ry rz",),
        absent=("Locked", "overconstrained", "idle"),
    ),
    "3rrr": ExpectedMobility(
        "6 (8 - 1 - 9) + 9 = -3 in space, 3 (8 - 1 - 9) + 9 = 3 in the plane; two planar loops: 6 too many",
        Counts(counted=-3, platform=3, planar=3),
        Axes(free="x y rz", locked="z rx ry"),
        words=("overconstrained 6 times",),
    ),
    "c5": ExpectedMobility(
        "12 rates (platform 6, sliders 6), a C5 closure locks 1: 12 - 6 = 6",
        Counts(counted=6, platform=6),
        Axes(free="x y z rx ry rz"),
        words=("6 independent motions", "The actuators control every motion"),
        absent=("overconstrained", "idle", "Locked"),
    ),
    "delta": ExpectedMobility(
        "6 + 3 (1 + 3 + 3) = 27 rates, 6 ball closures lock 18: 9, of which 6 rods spin; a pair of rods "
        "locks one rotation, the three pairs all of them",
        Counts(counted=9, platform=3, idle=6),
        Axes(free="x y z", locked="rx ry rz"),
        words=("6 internal freedoms", "leg2.rod-b spins about its own axis", "Locked: rotation about x"),
        absent=("overconstrained", "redundant"),
    ),
    "delta-codourey": ExpectedMobility(
        "3 + 3 (1 + 2) = 12 rates, 3 points lock 9: 3",
        Counts(counted=3, platform=3),
        Axes(free="x y z"),
        absent=("overconstrained", "idle", "rotation"),
    ),
    "delta4": ExpectedMobility(
        "6 + 1 (tool) + 3 x 7 + 1 + 2 + 1 = 32 rates, 6 balls lock 18 and the cardan joint at the tool 4: "
        "10, of which 6 rods spin; the fourth leg has six freedoms and locks nothing",
        Counts(counted=10, platform=4, idle=6, inside=1),
        Axes(free="x y z", locked="rx ry rz"),
        words=("1 motion inside the platform", "Tool tip moves by"),
        absent=("overconstrained",),
    ),
    "dymo": ExpectedMobility(
        "6 + 3 x 3 = 15 rates, 3 cardan joints lock 12: 3, in this mode the translations",
        Counts(counted=3, platform=3),
        Axes(free="x y z", locked="rx ry rz"),
        absent=("overconstrained", "idle"),
    ),
    "fivebar": ExpectedMobility(
        "6 (5 - 1 - 5) + 5 = -1 in space, 3 (5 - 1 - 5) + 5 = 2 in the plane; one planar loop: 3 equations "
        "too many",
        Counts(counted=-1, platform=2, planar=2),
        Axes(free="x y", locked="z"),
        words=("overconstrained 3 times", "translation along x, translation along y"),
        absent=("idle", "rotation"),
    ),
    "gough-stewart": six_motions("6 + 6 x 3 = 24 rates, 6 balls lock 18: 6"),
    "h4": ExpectedMobility(
        "6 + 2 (platform) + 4 x 7 = 36 rates, 8 balls lock 24: 12, of which 8 rods spin; four pairs of rods "
        "lock two common rotations and those of the two sides about z, none too many",
        Counts(counted=12, platform=4, idle=8, inside=1),
        Axes(free="x y z", locked="rx ry rz"),
        words=("1 motion inside the platform", "Tool gripper moves by"),
        absent=("overconstrained",),
    ),
    "hexa": six_motions("6 + 6 (1 + 2) = 24 rates, 6 balls lock 18: 6"),
    "hexaglide": six_motions("6 + 6 (1 + 2) = 24 rates, 6 balls lock 18: 6"),
    "orthoglide": ExpectedMobility(
        "6 + 3 x 5 = 21 rates, 6 revolute closures lock 30: -9; each parallelogram is a planar loop (3 too "
        "many), and three legs lock two rotations each where three are to be locked (3 too many)",
        Counts(counted=-9, platform=3),
        Axes(free="x y z", locked="rx ry rz"),
        words=("overconstrained 12 times", "3 in the loops of leg y-leg", "3 between the legs"),
        absent=("idle",),
    ),
    "palida": six_motions("6 + 6 x 3 = 24 rates, 6 balls lock 18: 6"),
    "prrrp": ExpectedMobility(
        "3 + 2 x 2 = 7 rates, 2 points lock 6: 1 in space; one of the six, y, is locked twice",
        Counts(counted=1, platform=2, planar=2),
        Axes(free="x z", locked="y"),
        words=("overconstrained once",),
        absent=("idle", "rotation"),
    ),
    "quattro": ExpectedMobility(
        "6 + 3 (platform) + 4 x 7 = 37 rates, 5 + 8 x 3 = 29 equations: 8; the platform's planar loop has 3 "
        "too many, and four pairs of rods lock three rotations (the plates turn together): 1 too many",
        Counts(counted=8, platform=4, idle=8, inside=1),
        Axes(free="x y z", locked="rx ry rz"),
        words=(
            "3 in the loops of the platform",
            "1 between the legs",
            "1 motion inside the platform",
            "gripper",
        ),
    ),
    "space": six_motions("6 + 3 x 3 = 15 rates, 3 balls lock 9: 6"),
}


def test_table_is_complete() -> None:
    assert set(LIBRARY) == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_library(name: str) -> None:
    compare(mobility(library_robot(name)), LIBRARY[name])


@pytest.mark.parametrize(("name", "tool"), [("quattro", "gripper"), ("h4", "gripper"), ("delta4", "tip")])
def test_tools_turn(name: str, tool: str) -> None:
    """The first body of the platform only translates; the tool turns too."""
    found = mobility(library_robot(name))
    assert dict(found.tools)[tool] == ("x", "y", "z", "rz")


KNOWN = {
    "four_bar": ExpectedMobility(
        "6 (4 - 1 - 4) + 4 = -2 in space, 3 (4 - 1 - 4) + 4 = 1 in the plane",
        Counts(counted=-2, platform=1, planar=1),
        Axes(locked="z rx ry", coupled="x y rz"),
        words=("1 independent motion", "couple", "x y rz", "overconstrained 3 times"),
        absent=("redundant", "idle", "singular"),
    ),
    "planar_three_rrr": replace(LIBRARY["3rrr"], words=("rotation about z",)),
    "planar_point": ExpectedMobility(
        "6 bars and the base, 6 + 2 revolutes: 6 (7 - 1 - 8) + 8 = -4; in the plane 3 (7 - 1 - 8) + 8 = 2",
        Counts(counted=-4, platform=2, planar=2, actuators=3),
        Axes(free="x y", locked="z"),
        words=("The actuation is redundant: 1 actuator to spare.", "The actuators control every motion"),
    ),
    "three_rps": replace(
        LIBRARY["3rps"],
        words=("3 independent motions", "translation along z", "couple", "x y rx ry rz"),
        absent=("Locked", "overconstrained", "singular"),
    ),
    "gough_stewart": ExpectedMobility(
        "6 + 6 x 4 = 30 rates, 6 balls lock 18: 12, of which 6 struts spin",
        Counts(counted=12, platform=6, idle=6),
        Axes(free="x y z rx ry rz"),
        words=("6 internal freedoms leave the platform at rest", "strut6"),
        absent=("overconstrained", "redundant"),
    ),
    "sarrus": ExpectedMobility(
        "6 (6 - 1 - 6) + 6 = 0, and yet the platform rises: one equation too many",
        Counts(counted=0, platform=1),
        Axes(free="z", locked="x y rx ry rz"),
        words=("1 independent motion: translation along z", "overconstrained once"),
    ),
    "bennett": ExpectedMobility(
        "6 (4 - 1 - 4) + 4 = -2, and yet it moves; the origin of the coupler is on the crank, which turns "
        "about z",
        Counts(counted=-2, platform=1),
        Axes(locked="z", coupled="x y rx ry rz"),
        words=("1 independent motion", "overconstrained 3 times"),
        absent=("idle",),
    ),
    "rod_pairs": replace(LIBRARY["delta"], words=("rod-a spins about its own axis",), absent=()),
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
    assert (found.counted, found.true, found.platform, found.internal_count) == (6, 6, 6, 0)
    assert "idle" not in sentences(found)


def test_universal_elbows_take_the_spin_away() -> None:
    found = check(mechanisms.rod_pairs(internal_freedoms="universal")).require().mobility
    assert found is not None
    assert (found.counted, found.true, found.platform, found.internal_count) == (3, 3, 3, 0)
    # Without the spin an asymmetric inertia is no fault.
    assert check(mechanisms.rod_pairs(internal_freedoms="universal", asymmetric=True)).errors == ()


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
        first, second = closure_frames(robot.joints[cut], motion_after_step(robot, start, step))
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


def motion_after_step(robot: Robot, start: Assembly, step: np.ndarray) -> TreeKinematics:
    pose, q = integrate_tree(robot, start.platform, start.q_tree, step)
    return tree_kinematics(robot, pose, q)


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


def rank_and_null_space(matrix: np.ndarray) -> tuple[int, np.ndarray, float]:
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
    now = pinocchio_snapshot(robot, found.platform, found.q_tree)
    width = robot.platform_nv + robot.nv
    rows = [
        closure_constraint(robot, joint, now, np.zeros(width)).constraint_rows for joint in robot.closures
    ]
    C = np.vstack(rows) if rows else np.zeros((0, width))
    rank, N, gap = rank_and_null_space(C)
    in_platform = [*range(robot.platform_nv)]
    for j in robot.platform.joints:
        first = robot.platform_nv + sum(joint.nv for joint in robot.joints[:j])
        in_platform += range(first, first + robot.joints[j].nv)
    rest = [k for k in range(width) if k not in in_platform]
    platform, _, gap_platform = rank_and_null_space(N[in_platform])
    idle_rank, _, gap_idle = rank_and_null_space(C[:, rest])
    # With the actuators locked: their rates are further rows.
    driven = []
    for actuator in robot.actuators:
        assert actuator.joint < robot.tree
        first = robot.platform_nv + sum(joint.nv for joint in robot.joints[: actuator.joint])
        driven.append(np.eye(width)[first])
    _, locked, gap_locked = rank_and_null_space(np.vstack([C, *driven]))
    left, _, gap_left = rank_and_null_space(locked[in_platform])
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
    assert found.internal_count == expected.idle
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
@given(closed_robots())
def test_ranks_of_random_robots(made: RandomRobot) -> None:
    expected = ranks_by_pinocchio(made.robot)
    if expected.gap < CLEAR:
        return
    compare_ranks(mobility(made.robot), expected)


# ---- Checks of a robot: what a description is refused for, and what is only reported


def messages(description: dict[str, Any]) -> list[str]:
    with pytest.raises(nacelle.DescriptionError) as caught:
        nacelle.build(copy.deepcopy(description))
    return [str(problem) for problem in caught.value.problems]


def test_one_actuator_too_few() -> None:
    checked = check(mechanisms.three_rps((True, True, False)))
    assert not checked.errors
    assert any("2 actuators for" in problem.message for problem in checked.problems)
    found = checked.mobility
    assert found is not None
    assert found.actuation == -1
    assert found.controlled == 2
    assert "The robot is underactuated" in sentences(found)
    assert "With the actuators locked there remains" in sentences(found)
    assert "control every motion" not in sentences(found)


def test_actuators_that_drive_nothing_useful() -> None:
    """As many actuators as motions, but one drives a pendulum on a leg."""
    description = copy.deepcopy(mechanisms.three_rps((True, True, False)))
    leg = description["legs"][2]
    leg["bodies"]["pendulum"] = mechanisms.BODY
    leg["joints"]["swing"] = {
        "type": "revolute",
        "parent": "rod",
        "child": "pendulum",
        "axis": "x",
        "active": True,
    }
    found = check(description).mobility
    assert found is not None
    assert (found.actuators, found.platform, found.controlled, found.internal_count) == (3, 3, 2, 1)
    reported = messages(description)
    assert any("do not control every motion" in line for line in reported)


@pytest.mark.costly
@pytest.mark.parametrize(
    ("motion", "name"),
    [("se3", "se3"), (["x", "y"], "xy"), (["x", "y", "rz"], "xy+rz"), (["rx", "ry", "rz"], "[rx, ry, rz]")],
)
def test_wrong_motion_of_a_delta(motion: Any, name: str) -> None:
    """Too many coordinates, too few, and as many but not those that move."""
    description = {**mechanisms.rod_pairs(), "motion": motion}
    found = check(description).mobility
    assert found is not None
    assert not found.fits
    reported = [line for line in messages(description) if "motion" in line]
    assert any(f"motion {name}" in line or name in line for line in reported)
    assert any("translation along x" in line for line in reported)


def test_wrong_motion_names_the_right_one() -> None:
    description = {**mechanisms.sarrus(), "motion": ["x"]}
    reported = messages(description)
    assert any("[z]" in line for line in reported)


def test_struts_on_balls_spin_as_a_whole() -> None:
    """Tube and rod of a strut between two balls spin together; asymmetric inertia is refused."""
    found = check(mechanisms.gough_stewart())
    assert found.errors == ()
    assert found.mobility is not None
    assert found.mobility.internal_count == 6
    assert all("spin together about their axis" in words for words in found.mobility.internal_motions)
    asymmetric = mechanisms.gough_stewart()
    rods = [body for leg in asymmetric["legs"] for body in leg["bodies"].values()]
    rods[1]["com"] = [0.05, 0.0, -0.2]
    assert any("spins idly" in problem.message for problem in check(asymmetric).errors)


def test_singular_reference_is_told() -> None:
    """Distal bars on one line: the point gives way across them although the motors are locked."""
    found = check(mechanisms.five_bar_stretched())
    assert found.errors == ()
    assert found.mobility is not None
    assert found.mobility.singular_reference
    assert found.mobility.true == 2
    assert found.mobility.controlled == 2
    assert "The reference pose is singular." in found.mobility.describe()
    assert any("singular" in problem.message for problem in found.problems)


def test_out_of_reach_is_told() -> None:
    description = copy.deepcopy(mechanisms.sarrus())
    description["reference"]["position"] = [0.0, 0.0, 0.7]
    reported = messages(description)
    assert any("does not reach" in line for line in reported)


def test_a_joint_that_never_moves() -> None:
    """A leg with a superfluous universal joint in the plane: its axis in the plane stands still."""
    description = copy.deepcopy(mechanisms.planar_three_rrr())
    leg = description["legs"][0]
    leg["bodies"]["sleeve"] = mechanisms.BODY
    leg["joints"]["twist"] = {"type": "revolute", "parent": "bar1", "child": "sleeve", "axis": "x"}
    leg["closures"]["end"]["parent"] = "sleeve"
    found = check(description).require().mobility
    assert found is not None
    assert found.still == ("leg0.twist",)
    assert "Joints that never move: leg0.twist" in sentences(found)
    assert found.true == 3


_ARM = """format: nacelle/2
name: arm
motion: [one]
legs:
  - name: arm
    bodies: {a: {mass: 1 kg}, b: {mass: 1 kg, com: 100 0 0 mm}, c: {mass: 1 kg, com: 100 0 0 mm}}
    joints:
      one: {type: revolute, parent: base, child: a, axis: z, active: true, guess: 40 deg}
      two: {type: revolute, parent: a, child: b, at: 200 0 0 mm, axis: z, guess: -40 deg}
      three: {type: revolute, parent: base, child: c, at: 0 300 0 mm, axis: z}
    closures:
      tip: {type: revolute, parent: b, at: 300 0 0 mm, child: c, child_at: 200 0 0 mm, axis: z}
"""


@pytest.mark.parametrize(
    ("old", "new", "where", "words"),
    [
        ("child_at: 200 0 0 mm", "child_at: 2 0 0 mm", "tip:", "do not close"),
        ("guess: 40 deg", "guess: 40 deg, limits: [-1 deg, 1 deg]", "one:", "outside its limits"),
        ("motion: [one]", "motion: [one]\nreference: {position: 1 0 0 m}", "reference:", "no platform"),
    ],
)
def test_without_a_reference_problems_are_told_where_they_are(
    tmp_path: Path, old: str, new: str, where: str, words: str
) -> None:
    """A robot without a platform often has no key `reference`: the joint is named by its line, not line 1."""
    text = _ARM.replace(old, new)
    path = tmp_path / "arm.yaml"
    path.write_text(text)
    (problem,) = nacelle.check(path).problems
    assert words in problem.message
    assert text.splitlines()[problem.line - 1].strip().startswith(where)
