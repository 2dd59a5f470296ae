"""A leg written joint by joint, as a table and as elements is the same leg; placements and mirrors."""

import copy
from pathlib import Path

import numpy as np
import pytest

import nacelle
from nacelle.kinematics.mechanism.assembly import require_assembly
from nacelle.model.joint import Primitive
from nacelle.model.read import read_data
from nacelle.tree.spanning_tree import tree_kinematics
from support.library import as_written
from support.random_robots.written import random_body


def robot(legs):
    return {
        "name": "gough-stewart",
        "motion": "se3",
        "reference": {"position": [0.02, 0.01, 0.6]},
        "platform": {"mass": 5.0, "inertia": [0.1, 0.1, 0.2]},
        "legs": legs,
    }


def world_inertia(robot):
    """Total mass, centre of mass and inertia of each leg in the assembled reference pose."""
    found = require_assembly(robot)
    result = []
    for leg in robot.legs:
        masses, first, second = 0.0, np.zeros(3), np.zeros((3, 3))
        for b in leg.bodies:
            ten = np.array(robot.bodies[b].inertia)
            pose = found.motion.poses[b]
            m, mc = ten[0], ten[1:4]
            xx, xy, yy, xz, yz, zz = ten[4:]
            about = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
            # Second moments S = tr(I)/2 - I, which move like outer products.
            S = 0.5 * np.trace(about) * np.eye(3) - about
            c = pose.R @ mc
            masses += m
            first += c + m * pose.p
            outer = np.outer(c, pose.p)
            second += pose.R @ S @ pose.R.T + outer + outer.T + m * np.outer(pose.p, pose.p)
        result.append(np.concatenate([[masses], first, second.ravel()]))
    return np.array(result), found


def test_the_three_forms_are_one_robot():
    """The mass distribution of every leg in space and the drives' strokes agree."""
    folder = Path(__file__).parents[2] / "robots"
    forms = [nacelle.load(folder / f"gough-stewart-{form}.yaml") for form in ("elements", "joints", "table")]
    reference, found = world_inertia(forms[0])
    strokes = _strokes(forms[0], found)
    for other in forms:
        assert (
            nacelle.kinematics.robot_elements([nacelle.kinematics.leg_type(other, leg) for leg in other.legs])
            == "6T"
        )
        values, found = world_inertia(other)
        np.testing.assert_allclose(values, reference, rtol=0, atol=1e-14 * np.max(np.abs(reference)))
        np.testing.assert_allclose(_strokes(other, found), strokes, rtol=0, atol=1e-14)
        for leg, stroke in zip(other.legs, strokes, strict=True):
            A = other.joints[leg.joints[0]].frame_predecessor.p
            B = other.reference.p + other.joints[leg.closures[0]].frame_successor.p
            assert np.linalg.norm(B - A) == pytest.approx(stroke, abs=1e-14)


def _strokes(robot, found):
    return [found.q_tree[robot.q_slices[a.joint]][0] for a in robot.actuators]


@pytest.mark.parametrize("kind", ["bar", "spindle", "telescopic", "screw"])
@pytest.mark.parametrize("entry", ["revolute", "universal", "spherical", "fixed"])
def test_every_element(kind, entry):
    """Body frame x along the element, B = A + d x, and the freedoms of [OAM] (5)-(8)."""
    element = {"name": "e", "type": kind, "at": [0.1, 0.2, 0.3], "direction": [0, 3, 4]}
    element["input"] = {"type": entry, "axis": "x"}
    if kind in ("bar", "spindle"):
        element["length"] = 0.5
    leg = {"name": "leg", "elements": [element], "end": {"type": "spherical"}}
    slide = {"type": "prismatic", "parent": "base", "child": "x", "active": True}
    ball = {"type": "spherical", "parent": "x", "child": "platform"}
    drive = {"name": "drive", "bodies": {"x": {}}, "joints": {"slide": slide}, "closures": {"ball": ball}}
    built, _ = read_data(robot([leg, drive]))
    q = np.concatenate([joint.guess for joint in built.tree_joints])
    poses = tree_kinematics(built, built.reference, q).poses
    pose = poses[built.body("leg.e")]
    np.testing.assert_allclose(pose.R[:, 0], [0, 0.6, 0.8], rtol=0, atol=1e-15)
    np.testing.assert_allclose(pose.p, [0.1, 0.2, 0.3], rtol=0, atol=1e-15)
    if entry == "revolute":
        np.testing.assert_allclose(pose.R[:, 2], [1, 0, 0], rtol=0, atol=1e-15)
    freedoms = {"revolute": 1, "universal": 2, "spherical": 3, "fixed": 0}[entry]
    freedoms += {"bar": 0, "spindle": 1, "telescopic": 1, "screw": 2}[kind]
    own = [j for j in built.tree_joints if j.name != "drive.slide"]
    assert sum(joint.nv for joint in own) == freedoms
    end = built.joints[built.joint("leg.end")]
    point = (poses[end.predecessor] @ end.frame_predecessor).p
    length = 0.5 if kind in ("bar", "spindle") else 0.0
    np.testing.assert_allclose(point, [0.1, 0.2 + 0.6 * length, 0.3 + 0.8 * length], rtol=0, atol=1e-15)


def test_angles_are_placements():
    """Three legs by count, by angles and by hand are the same robot."""
    leg = {
        "bodies": {"arm": {"mass": 1.0, "com": [0.1, 0.02, 0.0], "inertia": [0.01, 0.02, 0.02]}},
        "joints": {
            "J": {
                "type": "revolute",
                "parent": "base",
                "child": "arm",
                "at": [0.3, 0, 0],
                "axis": "y",
                "active": True,
            }
        },
        "closures": {
            "C": {
                "type": "planar-spherical",
                "parent": "arm",
                "at": [0.2, 0, 0],
                "child": "platform",
                "plane": "child",
            }
        },
    }
    data = robot([{"repeat": "leg", "count": 3}]) | {"templates": {"leg": leg}}
    by_count = read_data(data)[0]
    data["legs"] = [{"repeat": "leg", "angles": "0 120 240 deg"}]
    by_angles = read_data(data)[0]
    data["legs"] = []
    for k in range(3):
        own = copy.deepcopy(leg)
        turn = {"axis": "z", "angle": 2 * np.pi * k / 3}
        c, s = np.cos(turn["angle"]), np.sin(turn["angle"])
        own["joints"]["J"]["at"] = {"translation": [0.3 * c, 0.3 * s, 0], "rotation": turn}
        own["closures"]["C"]["child_at"] = {"rotation": turn}
        data["legs"].append({"name": f"leg{k + 1}", **own})
    by_hand = read_data(data)[0]
    assert by_count.hash == by_angles.hash
    np.testing.assert_allclose(by_count.parameter_vector(), by_hand.parameter_vector(), rtol=0, atol=1e-15)


MIRRORED_KINDS = [
    "revolute",
    "prismatic",
    "cylindrical",
    "universal",
    "spherical",
    "planar-spherical",
    "fixed",
]


@pytest.mark.parametrize("kind", MIRRORED_KINDS)
@pytest.mark.parametrize("axis", ["x", "y", "z"])
def test_a_mirrored_leg_is_the_mirror_image(kind, axis):
    """At the same angles and strokes every body is the reflection of its twin, masses included."""
    rng = np.random.default_rng(MIRRORED_KINDS.index(kind))

    def turn():
        q = rng.normal(size=4)
        return {"quat_xyzw": (q / np.linalg.norm(q)).tolist()}

    joint = {
        "type": kind,
        "parent": "base",
        "child": "arm",
        "at": {"translation": rng.normal(size=3).tolist(), "rotation": turn()},
        "child_at": {"translation": rng.normal(size=3).tolist(), "rotation": turn()},
    }
    if kind in ("revolute", "prismatic", "cylindrical", "planar-spherical"):
        joint["axis"] = rng.normal(size=3).tolist()
    leg = {
        "bodies": {
            "arm": random_body(rng),
            "drive": {},
        },
        "joints": {
            "J": joint,
            "D": {"type": "prismatic", "parent": "base", "child": "drive", "active": True},
        },
        "closures": {
            "C": {"type": "spherical", "parent": "arm", "child": "platform", "child_at": [0.1, 0.2, 0.3]},
            "E": {"type": "spherical", "parent": "drive", "child": "arm"},
        },
    }
    data = robot([{"repeat": "leg", "placements": [{}, {"mirror": axis}]}]) | {"templates": {"leg": leg}}
    built = read_data(data)[0]
    q = np.zeros(built.nq)
    for k, joint_of in enumerate(built.tree_joints):
        i = built.q_slices[k].start
        mirrored = joint_of.name.startswith("leg2")
        values = np.random.default_rng(7)
        for primitive in joint_of.primitives:
            if primitive is Primitive.SPHERICAL:
                quat = values.normal(size=4)
                q[i : i + 4] = quat / np.linalg.norm(quat)
            else:
                keeps = primitive.is_rotation or joint_of.kind == "prismatic" or not mirrored
                q[i] = values.normal() * (1.0 if keeps else -1.0)
            i += primitive.nq
    poses = tree_kinematics(built, built.reference, q).poses
    M = np.eye(3)
    M["xyz".index(axis), "xyz".index(axis)] = -1.0
    one, two = built.body("leg1.arm"), built.body("leg2.arm")
    ten_one, ten_two = np.array(built.bodies[one].inertia), np.array(built.bodies[two].inertia)
    com_one = poses[one].R @ ten_one[1:4] / ten_one[0] + poses[one].p
    com_two = poses[two].R @ ten_two[1:4] / ten_two[0] + poses[two].p
    np.testing.assert_allclose(com_two, M @ com_one, rtol=0, atol=1e-14)

    def inertia_matrix(ten, R):
        xx, xy, yy, xz, yz, zz = ten[4:]
        return R @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ R.T

    np.testing.assert_allclose(
        inertia_matrix(ten_two, poses[two].R),
        M @ inertia_matrix(ten_one, poses[one].R) @ M,
        rtol=0,
        atol=1e-13,
    )
    c1, c2 = (built.joints[built.joint(f"leg{k}.C")] for k in (1, 2))
    np.testing.assert_allclose(c2.frame_successor.p, M @ c1.frame_successor.p, rtol=0, atol=1e-16)


def test_a_mirrored_leg_with_the_same_branch_is_the_mirror_image():
    """Motors of a hexa whose pairs of legs are mirrored, its platform in the middle, are turned alike."""
    data = copy.deepcopy(as_written("hexa"))
    assert {leg["branch"] for leg in data["legs"][0]["table"]} == {1}
    data["reference"] = {"position": [0.0, 0.0, -0.5]}
    hexa = nacelle.build(data)
    q = nacelle.inverse_kinematics(hexa, nacelle.reference_pose(hexa)).q
    np.testing.assert_allclose(q, q[0], rtol=0, atol=1e-12)
