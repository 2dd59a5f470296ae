"""Build: assemble, between, declared, draft, graph, joints."""

from __future__ import annotations

import copy
import dataclasses
import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from scipy.spatial.transform import Rotation

import nacelle
from nacelle.dynamics import reference as tree
from nacelle.dynamics.state import state_at
from nacelle.errors import DescriptionError
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.sample_states import sample_states
from nacelle.model.build.assemble import build_robot
from nacelle.model.build.draft import ChainDraft, DraftError, JointDraft, draft_leg, joint_axes_rotation
from nacelle.model.build.graph import MAX_BODIES, BodyGraph, PartDraft
from nacelle.model.build.placement import Placement
from nacelle.model.description.body import BodySpec
from nacelle.model.description.description import Description, LegSpec, PlatformSpec
from nacelle.model.description.drive import DriveSpec
from nacelle.model.description.joint import JointSpec
from nacelle.model.joint import JointKind
from nacelle.model.leg import PLATFORM
from nacelle.model.read import read_data
from nacelle.model.robot import Robot
from nacelle.spatial.pose import identity
from nacelle.tree.spanning_tree import tree_kinematics
from support import described
from support.library import NAMES, library_robot
from support.random_robots.described import any_trees
from support.uncompiled import solve_uncompiled

# ---- Springs and dampers between bodies are placed and mirrored with their leg

TEXT = """\
format: nacelle/2
name: pair
motion: [a.turn, b.turn]
templates:
  leg:
    bodies: {arm: {mass: 1 kg}}
    joints: {turn: {type: revolute, parent: base, child: arm, active: true, axis: z}}
    springs: {s: {between: [arm, base], at: [0 10 0 mm, 50 0 0 mm], stiffness: 1 N/m, length: 0 m}}
    dampers: {d: {between: [arm, base], damping: 1 N*m*s/rad}}
    torsion_springs: {t: {between: [base, arm], axis: x, stiffness: 1 N*m/rad, rest: 0.1 rad}}
legs:
  - {name: a, template: leg, placement: {translation: 0 0 100 mm, rotation: {rpy: 0 0 90 deg}}}
  - {name: b, template: leg, placement: {mirror: y}}
"""


def test_points_on_the_base_are_placed_with_the_leg() -> None:
    robot = nacelle.loads(TEXT)
    first, second = robot.springs
    np.testing.assert_allclose(first.points, [[0, 0.01, 0], [0, 0.05, 0.1]], atol=1e-15)
    np.testing.assert_allclose(second.points, [[0, -0.01, 0], [0.05, 0, 0]], atol=1e-15)
    assert [damper.name for damper in robot.dampers] == ["a.d", "b.d"]
    assert [robot.bodies[damper.bodies[0]].name for damper in robot.dampers] == ["a.arm", "b.arm"]
    for spring, axes in zip(robot.torsion_springs, ([[0, 1, 0], [1, 0, 0]], [[-1, 0, 0]] * 2), strict=True):
        np.testing.assert_allclose([R[:, 2] for R in spring.rotations], axes, atol=1e-15)
        assert [np.linalg.det(R) for R in spring.rotations] == pytest.approx([1.0, 1.0])


# ---- Constant-velocity joints: two crosses with equal angles, in the tree and where they close a loop

_BY_HAND = """\
    bodies: {post: {mass: 2 kg}, c1: {}, shaft: {}, c2: {}, end: {}}
    joints:
      lift: {type: prismatic, parent: base, child: post, axis: z, guess: 480 mm}
      x1: {type: revolute, parent: post, child: c1, at: 0 0 20 mm, axis: x, friction: {viscous: 0.3 N*m*s}}
      y1: {type: revolute, parent: c1, child: shaft, axis: y, friction: {viscous: 0.8 N*m*s}}
      y2: {type: revolute, parent: shaft, child: c2, axis: y}
      x2: {type: revolute, parent: c2, child: end, axis: x}
    closures: {hold: {type: fixed, parent: end, child: platform}}
    couplings: {inner: {joint: y2, follows: y1}, outer: {joint: x2, follows: x1}}
"""


def test_constant_velocity_joint_is_a_double_cardan_joint() -> None:
    """Positions, forces and energies of a shaft without length between two crosses, written out."""
    text = (Path(described.__file__).parent / "tilting_table.yaml").read_text()
    before, after = text.split("  - name: post\n")
    springs = after[after.index("    torsion_springs") : after.index("  - repeat")]
    robot = nacelle.loads(text)
    by_hand = nacelle.loads(
        f"{before}  - name: post\n{_BY_HAND}{springs}{after[after.index('  - repeat') :]}"
    )
    under_joints = text.replace("    closures:\n      cv:", "      cv:").replace(
        "joints: {lift: {", "joints:\n      lift: {"
    )
    assert nacelle.loads(under_joints.replace("480 mm}}", "480 mm}")).hash == robot.hash
    rng = np.random.default_rng(0)
    for x, y in sample_states(mechanism_of(robot), 4)[1:]:
        v, a, none = (*rng.normal(size=(2, 3)), np.zeros(3))
        now = state_at(robot, x, y, v).now
        R = np.asarray(now.motion.poses[PLATFORM].R, dtype=float)
        q, q2, q3 = (float(now.coordinate(j, 0)) for j in (1, 2, 3))
        assert R[0, 1] == pytest.approx(R[1, 0], abs=1e-13)
        assert q3 == pytest.approx(q, abs=1e-13)
        assert 0.5 * (np.trace(R) - 1.0) == pytest.approx(2.0 * (np.cos(q) * np.cos(0.5 * q2)) ** 2 - 1.0)
        assert abs(q) > 1e-3
        other = solve_uncompiled(by_hand, x[None])[0]
        forces = [tree.inverse(r, x, at, v, a, none)["force"] for r, at in ((robot, y), (by_hand, other))]
        np.testing.assert_allclose(*forces, rtol=1e-9)
        energies = [tree.energies(r, x, at, v) for r, at in ((robot, y), (by_hand, other))]
        for key in ("kinetic", "potential", "dissipation"):
            assert float(energies[0][key]) == pytest.approx(float(energies[1][key]), rel=1e-9)


def test_shafts_that_a_constant_velocity_joint_couples_turn_alike() -> None:
    """Whatever the bend between them: a joint between two legs, written at the top."""
    shaft = {"type": "revolute", "parent": "base", "child": "shaft", "axis": "z"}
    bend = {"rotation": {"rpy": "40 0 0 deg"}}
    legs = [
        {"name": name, "bodies": {"shaft": {"mass": "1 kg"}}, "joints": {"turn": {**shaft, **own}}}
        for name, own in (("a", {"active": True}), ("b", {"at": bend}))
    ]
    joint = {"type": "constant-velocity", "parent": "a.shaft", "child": "b.shaft"}
    robot = nacelle.build(
        {"format": "nacelle/2", "name": "r", "motion": ["a.turn"], "legs": legs, "closures": {"cv": joint}}
    )
    turn = np.array([[0.0], [0.5], [1.2], [2.5]])
    np.testing.assert_allclose(nacelle.inverse_kinematics(robot, turn).q_tree[:, 1:2], turn, atol=1e-12)


def test_constant_velocity_joint_has_two_axes_in_any_frames_and_is_mirrored() -> None:
    arm = {
        "name": "a",
        "bodies": {"arm": {"mass": "1 kg"}},
        "joints": {
            "cv": {
                **{"type": "constant-velocity", "parent": "base", "child": "arm", "axes": ["y", "z"]},
                **{"at": "0 10 20 mm", "child_at": {"rotation": {"rpy": "10 20 30 deg"}}},
                **{"friction": {"viscous": "1 N*m*s/rad"}, "spring": [None, {"stiffness": "2 N*m/rad"}]},
                **{"limits": [["-60 deg", "60 deg"], None], "guess": ["10 deg", "20 deg"]},
            }
        },
    }
    mirrored = {**arm, "name": "b", "placement": {"mirror": "y"}}
    motion = [f"{leg}.{name}" for leg in "ab" for name in ("cv", "cv-second")]
    robot = nacelle.build({"format": "nacelle/2", "name": "two", "motion": motion, "legs": [arm, mirrored]})
    named = {joint.name: joint for joint in robot.tree_joints}
    first, second, third = (named[f"a.cv{part}"] for part in ("", "-second", "-third"))
    assert [joint.guess for joint in (first, second)] == [(np.radians(10.0),), (np.radians(20.0),)]
    assert (first.limits[0].upper, second.springs[0].stiffness) == (np.radians(60.0), 2.0)
    assert [len(joint.friction[0]) for joint in (first, second, third)] == [1, 1, 0]
    a, b = 0.3, -0.8
    q = [2 * b if name.endswith("second") else a for name in named]
    poses = tree_kinematics(robot, identity(), np.array(q)).poses
    held = Rotation.from_euler("xyz", [10, 20, 30], degrees=True).as_matrix()
    turned = [Rotation.from_rotvec(angle * np.eye(3)[k]).as_matrix() for k, angle in ((1, a), (2, 2 * b))]
    R, mirror = turned[0] @ turned[1] @ turned[0] @ held.T, np.diag([1.0, -1.0, 1.0])
    arms = {body.name: poses[k] for k, body in enumerate(robot.bodies)}
    np.testing.assert_allclose(arms["a.arm"].R, R, atol=1e-14)
    np.testing.assert_allclose(arms["b.arm"].R, mirror @ R @ mirror, atol=1e-14)
    np.testing.assert_allclose(arms["b.arm"].p, [0.0, -0.01, 0.02], atol=1e-15)


# ---- The record of a description's free numbers gives the robot's, whatever sample it was made at

declared = importlib.import_module("nacelle.model.build.parametric")


def recorded_again(robot, seed):
    """The same description recorded at another sample: what one of them takes for zero or one, both must."""
    own = robot.declaration
    kept = declared.SEED
    declared.SEED = kept + seed
    try:
        return dataclasses.replace(own).record
    finally:
        declared.SEED = kept


def check_record(robot):
    record = robot.numbers.record
    assert len(set(record.names)) == len(record.names)
    made = np.array(record.program.evaluate(list(record.values)), dtype=float)
    np.testing.assert_allclose(made, robot.parameter_vector(), rtol=1e-12, atol=1e-15)
    again = recorded_again(robot, 77)
    assert again.names == record.names
    values = np.array(record.values) * np.random.default_rng(1).uniform(0.9, 1.1, len(record.values))
    one, two = (np.array(r.program.evaluate(list(values)), dtype=float) for r in (record, again))
    np.testing.assert_allclose(one, two, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", NAMES)
def test_library(name):
    check_record(library_robot(name))


@pytest.mark.slow
@settings(max_examples=25)
@given(any_trees())
def test_random_robots(made):
    check_record(made.robot)


# ---- joints
#
# Joints of a robot: their frames are placed with the leg, a C5 closure has its plane on the predecessor.


def robot(end: dict[str, Any], placement: dict[str, Any] | None = None, **platform: Any) -> Robot:
    hip = {"type": "revolute", "parent": "base", "child": "arm", "at": [1.0, 0.0, 0.0], "axis": "y"}
    leg = {
        "name": "a",
        "placement": placement or {},
        "bodies": {"arm": {"mass": 1.0}},
        "joints": {"hip": {**hip, "active": True}},
        "closures": {"end": {"parent": "arm", "child": "plate", **end}},
    }
    data = {"name": "one", "motion": "xyz", "platform": {"name": "plate", **platform}, "legs": [leg]}
    return read_data(data)[0]


def test_frames_on_base_and_platform_are_placed_with_the_leg() -> None:
    made = robot({"type": "spherical", "at": [0.3, 0, 0], "child_at": [0.2, 0, 0]}, {"angle": "90 deg"})
    hip, end = made.joints
    assert (hip.name, end.name) == ("a.hip", "a.end")
    np.testing.assert_allclose(hip.frame_predecessor.p, [0.0, 1.0, 0.0], atol=1e-15)
    # The axis y of the leg is -x of the base; the frame in the arm itself is as written.
    np.testing.assert_array_equal(hip.frame_predecessor.R[:, 2], [-1.0, 0.0, 0.0])
    np.testing.assert_array_equal(hip.frame_successor.R[:, 2], [0.0, 1.0, 0.0])
    np.testing.assert_array_equal(end.frame_predecessor.p, [0.3, 0.0, 0.0])
    np.testing.assert_allclose(end.frame_successor.p, [0.0, 0.2, 0.0], atol=1e-15)


def test_a_c5_closure_is_written_from_its_plane() -> None:
    made = robot({"type": "planar-spherical", "plane": "child", "axis": "x", "child_at": [0.2, 0, 0]})
    end = made.joints[1]
    assert end.kind is JointKind.PLANAR_SPHERICAL
    assert (end.predecessor, end.successor) == (PLATFORM, made.body("a.arm"))
    np.testing.assert_array_equal(end.frame_predecessor.p, [0.2, 0.0, 0.0])


def test_a_joint_on_a_point_locks_its_position() -> None:
    assert robot({"type": "revolute"}, type="point").joints[1].kind is JointKind.POINT


@pytest.mark.parametrize(
    ("end", "words"),
    [
        ({"type": "prismatic"}, "cannot end on a point"),
        ({"type": "revolute", "child_at": [0.1, 0, 0]}, "is at the point"),
        ({"type": "revolute", "friction": {"viscous": 1.0}}, "no drive and no friction"),
    ],
)
def test_what_cannot_be_on_a_point(end: dict[str, Any], words: str) -> None:
    with pytest.raises(DescriptionError, match=words):
        robot(end, type="point")


# ---- From a checked description to a robot: bodies, actuators in their order, tools, payloads and modes

LEGS = ("a", "b", "c")
DATA: dict[str, Any] = {
    "format": "nacelle/1",
    "name": "three",
    "motion": "xyz",
    "reference": {"position": [0.0, 0.0, 0.5]},
    "platform": {"name": "plate", "mass": 1.0},
    "legs": [
        {
            "name": name,
            "bodies": {"arm": {"mass": 1.0}},
            "joints": {"hip": {"type": "revolute", "parent": "base", "child": "arm", "active": True}},
            "closures": {"end": {"type": "spherical", "parent": "arm", "child": "plate"}},
        }
        for name in LEGS
    ],
}


def built(**changes: Any) -> Robot:
    return build_robot(Description.model_validate({**copy.deepcopy(DATA), **changes}))


def test_actuators_come_in_the_order_that_is_given() -> None:
    order = ["c.hip", "a.hip", "b.hip"]
    robot = built(actuators=order)
    assert [robot.joints[actuator.joint].name for actuator in robot.actuators] == order


def test_a_payload_is_moved_to_the_frame_of_its_body() -> None:
    """A point of 2 kg at r = p + R c: m r and m (r.r 1 - r r^T)."""
    at = {"translation": [0.1, 0.2, -0.3], "rotation": {"axis": "z", "angle": 0.5}}
    robot = built(payload={"load": {"mass": 2.0, "com": [0.05, 0.0, 0.0], "at": at}})
    (load,) = robot.payload
    r = np.array([0.1, 0.2, -0.3]) + 0.05 * np.array([np.cos(0.5), np.sin(0.5), 0.0])
    I = 2.0 * (r @ r * np.eye(3) - np.outer(r, r))
    expected = [2.0, *(2.0 * r), I[0, 0], I[0, 1], I[1, 1], I[0, 2], I[1, 2], I[2, 2]]
    np.testing.assert_allclose(load.inertia, expected, rtol=1e-13)
    assert load.body == PLATFORM


def test_modes_have_the_branch_of_their_legs() -> None:
    robot = built(modes={"other": {"branch": {"b": -1}, "guess": {"c.hip": 0.3}}})
    (mode,) = robot.modes
    assert mode.branch == (0, -1, 0)
    assert mode.guess == ((robot.joint("c.hip"), (0.3,)),)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"actuators": ["a.hip", "a.hip", "b.hip"]}, "'a.hip' is given twice"),
        ({"actuators": ["a.hip", "b.hip"]}, "not in the order: c.hip"),
        ({"actuators": ["a.hip", "b.hip", "c.hop"]}, "no actuator is called 'c.hop'"),
        ({"legs": [DATA["legs"][0], DATA["legs"][0]]}, "the name 'a' is taken"),
        ({"motion": ["x", "yy"]}, "'yy' is not a coordinate"),
        ({"modes": {"other": {"branch": {"d": 1}}}}, "no leg is called 'd'"),
        ({"tools": {"tip": {"body": "plat"}}}, "the platform has no body 'plat'"),
        (
            {"platform": {"name": "plate", "type": "point"}, "motion": ["x", "y", "rz"]},
            "a point does not turn",
        ),
    ],
)
def test_what_is_wrong(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(DescriptionError, match=words):
        built(**changes)


@pytest.mark.parametrize("kind", ["point", "rigid"])
def test_the_reference_of_a_point_has_no_orientation(kind: str) -> None:
    robot = built(
        platform={"name": "plate", "type": kind},
        reference={"position": [0.0, 0.0, 0.5], "rotation": {"rpy": [0.0, 0.0, 0.1]}},
    )
    assert (np.max(np.abs(robot.reference.R - np.eye(3))) < 1e-12) == (kind == "point")


def test_a_mistake_in_a_coupling_is_told_alone() -> None:
    """It does not make joints of the motion wrong."""
    revolute = {"type": "revolute", "axis": "z", "active": True}
    joints = {
        "one": {**revolute, "parent": "base", "child": "a"},
        "two": {**revolute, "parent": "a", "child": "b", "at": [0.2, 0, 0]},
    }
    leg = {"name": "arm", "bodies": {"a": {"mass": 1}, "b": {"mass": 1}}, "joints": joints}
    wrong = {"belt": {"joint": "two", "follows": "ones"}}
    with pytest.raises(DescriptionError) as caught:
        nacelle.build({"name": "arm", "motion": ["one", "two"], "legs": [{**leg, "couplings": wrong}]})
    assert [problem.path for problem in caught.value.problems] == ["legs[0].couplings.belt"]
    with pytest.raises(DescriptionError) as caught:
        nacelle.build({"name": "arm", "motion": ["one", "tow"], "legs": [{**leg, "couplings": wrong}]})
    assert [problem.path for problem in caught.value.problems] == ["legs[0].couplings.belt", "motion"]


def test_axes_of_a_platform_that_is_not_there_are_told_once() -> None:
    joint = {"type": "revolute", "axis": "z", "parent": "base", "child": "a", "active": True}
    leg = {"name": "arm", "bodies": {"a": {"mass": 1}}, "joints": {"one": joint}}
    with pytest.raises(DescriptionError, match="has no coordinates x, y, z, rx, ry, rz") as caught:
        nacelle.build({"format": "nacelle/2", "name": "arm", "units": "SI", "motion": "se3", "legs": [leg]})
    assert len(caught.value.problems) == 1


# ---- Drafts of joints and of kinematic elements: bodies, kinds, and where the frames are


def leg(**written: Any) -> LegSpec:
    return LegSpec.model_validate({"name": "leg", **written})


def test_the_axis_of_a_joint_becomes_z() -> None:
    axis = np.array([2.0, -1.0, 2.0]) / 3.0
    R = joint_axes_rotation(JointSpec(type="revolute", parent="base", child="arm", axis=axis.tolist()))
    np.testing.assert_allclose(R[:, 2], axis, atol=1e-15)
    np.testing.assert_allclose(R.T @ R, np.eye(3), atol=1e-15)
    assert np.linalg.det(R) == pytest.approx(1.0)
    universal = JointSpec(type="universal", parent="base", child="arm", axes=["z", "x"])
    np.testing.assert_allclose(joint_axes_rotation(universal)[:, :2].T, [[0, 0, 1], [1, 0, 0]], atol=1e-15)


@pytest.mark.parametrize(
    ("kind", "kinds", "end"),
    [
        ("bar", ["universal"], ("rod", 0.4)),
        ("spindle", ["universal", "revolute"], ("rod", 0.4)),
        ("telescopic", ["universal", "prismatic"], ("rod-moving", 0.0)),
        ("screw", ["universal", "prismatic", "revolute"], ("rod-moving", 0.0)),
    ],
)
def test_elements_are_chains_of_joints(kind: str, kinds: list[str], end: tuple[str, float]) -> None:
    """[OAM] section 3.1: each element from its input along its x to its end point."""
    direction = np.array([0.6, 0.0, 0.8])
    element: dict[str, Any] = {
        "type": kind,
        "name": "rod",
        "at": [0.1, 0.2, 0.3],
        "direction": direction.tolist(),
        "input": {"type": "universal", "axis": "y"},
    }
    if kind in ("bar", "spindle"):
        element["length"] = 0.4
    chain = draft_leg(leg(elements=[element], end={"type": "spherical"}), ("leg",))
    assert [joint.kind for joint in chain.joints] == [JointKind(name) for name in kinds]
    # All joints at zero: the frames on either side of a joint coincide, so the body's pose is their quotient.
    start, inner = chain.joints[0].frames
    R = start.R @ inner.R.T
    np.testing.assert_allclose(start.p, [0.1, 0.2, 0.3], atol=1e-16)
    np.testing.assert_allclose(R[:, 0], direction, atol=1e-15)
    np.testing.assert_allclose(start.R[:, 0], [0.0, 1.0, 0.0], atol=1e-15)  # the first axis of the joint
    (closure,) = chain.closures
    assert closure.bodies == (end[0], "")
    np.testing.assert_allclose(closure.frames[0].p, [end[1], 0.0, 0.0], atol=1e-16)


@pytest.mark.parametrize(
    ("direction", "axis", "entry", "words"),
    [("x", "x", "universal", "lies along the element"), ([1, 0, 1], "x", "revolute", "not perpendicular")],
)
def test_inputs_that_cannot_be_placed(direction: Any, axis: str, entry: str, words: str) -> None:
    element = {
        "type": "bar",
        "name": "rod",
        "length": 0.4,
        "direction": direction,
        "input": {"type": entry, "axis": axis},
    }
    with pytest.raises(DraftError, match=words) as caught:
        draft_leg(leg(elements=[element]), ("leg",))
    assert caught.value.path == ("leg", "elements", 0, "input", "axis")


def test_an_end_belongs_to_elements() -> None:
    with pytest.raises(DraftError, match="end belongs to elements"):
        draft_leg(leg(end={"type": "spherical"}), ("leg",))


# ---- The graph of a robot: legs are the connected components that remain without base and platform

Joints = Sequence[tuple[str, str, str]]


def chain(bodies: str, joints: Joints, closures: Joints = ()) -> ChainDraft:
    def drafts(written: Joints) -> list[JointDraft]:
        frames = identity(), identity()
        return [
            JointDraft(name, JointKind.REVOLUTE, (a, b), frames, DriveSpec(), (name,))
            for name, a, b in written
        ]

    return ChainDraft(
        {name: (BodySpec(), (name,)) for name in bodies.split()}, drafts(joints), drafts(closures)
    )


def graph(*legs: tuple[str, ChainDraft]) -> tuple[BodyGraph, list[str]]:
    faults: list[str] = []
    parts = [PartDraft("", ("platform",), chain("plate", []), Placement(), None)]
    for name, own in legs:
        parts.append(PartDraft(name, (name,), own, Placement(), LegSpec(name=name)))
    spec = PlatformSpec(name="plate")
    return BodyGraph(spec, parts, lambda path, message, hint: faults.append(message)), faults


ARM = (("hip", "base", "arm"), ("knee", "arm", "rod"))


@pytest.mark.parametrize(
    ("bodies", "joints", "words"),
    [
        ("arm rod", (("hip", "base", "arm"), ("knee", "amr", "rod")), "no body is called 'amr'"),
        ("arm rod", (*ARM, ("again", "base", "rod")), "placed twice, by 'knee' and by 'again'"),
        ("arm", (("hip", "arm", "arm"),), "joins 'a.arm' to itself"),
        ("arm", (("hip", "arm", "base"),), "the base is nobody's child"),
        ("arm rod", (("hip", "base", "arm"),), "no joint places the body 'a.rod'"),
        ("arm rod", (("one", "rod", "arm"), ("two", "arm", "rod")), "hang on each other but not on the base"),
        (" ".join(f"b{k}" for k in range(MAX_BODIES)), (), f"more than {MAX_BODIES} bodies"),
    ],
)
def test_what_is_no_tree(bodies: str, joints: Joints, words: str) -> None:
    _, faults = graph(("a", chain(bodies, joints)))
    assert any(words in fault for fault in faults), faults
