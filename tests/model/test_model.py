"""Robots as data: dampers, springs, chains, motions, plausible masses, reading and writing."""

from __future__ import annotations

import re
from dataclasses import replace
from importlib import resources
from pathlib import Path

import numpy as np
import pytest

import nacelle
from nacelle import robots
from nacelle.errors import DescriptionError, ParameterError, Problem
from nacelle.kinematics.mechanism.check import check_robot, implausible_masses
from nacelle.model.data import platform_branches
from nacelle.model.joint import (
    LETTERS,
    LOCKS,
    MOTION,
    Joint,
    JointKind,
    Primitive,
    Spring,
    neutral_coordinates,
)
from nacelle.model.leg import Damper
from nacelle.model.linear_parameters import linear_parameters, with_linear_parameters
from nacelle.model.platform import AXES, NAMED_MOTIONS, Motion, MotionError, parse_motion
from nacelle.model.read import read_data, read_file, read_text
from nacelle.model.reduced import ReducedLayout
from nacelle.model.robot import body_parameters
from nacelle.model.write import write_yaml
from support.bench import problems_of
from support.described import COUPLED_NAMES, mechanism
from support.described import NAMES as HANGING
from support.library import NAMES, as_written, in_full, library_robot
from support.random_robots import random_robot
from support.random_robots.loads import with_springs_and_stops
from support.stress_robots import STRESS
from support.uncompiled import named_robot

# ---- Angular dampers as data: their number, their hash, their text


def test_dampers_are_numbers_of_the_robot_and_keep_their_hash_in_text() -> None:
    plain = nacelle.load("fivebar")
    robot = replace(plain, dampers=(Damper("grease", (0, 2), 0.3), Damper("oil", (2, 3), 0.5)))
    assert robot.hash != plain.hash
    assert robot.parameter_names("drive")[-2:] == ("dampers.grease.damping", "dampers.oil.damping")
    moved = robot.with_parameters(2.0 * robot.parameter_vector("drive"), "drive")
    assert [damper.damping for damper in moved.dampers] == [0.6, 1.0]
    text = robot.to_yaml()
    assert text.startswith("format: nacelle/2")
    assert nacelle.loads(text).hash == robot.hash


# ---- data
#
# A robot as data: its hash feels every number and no name; places of coordinates follow each other.


def test_a_ground_and_couplings_are_not_written_parts() -> None:
    """Without a platform everything stands on a ground that is in no file, and so is its joint."""
    robot = mechanism("digger")
    assert [robot.bodies[b].name for b in robot.described_bodies][:2] == ["arm.post", "arm.boom"]
    assert len(robot.described_bodies) == len(robot.bodies) - 2 == 7
    assert len(robot.described_joints) == len(robot.joints) - 1 == 9
    robot = library_robot("fivebar")
    assert list(robot.described_bodies) == list(range(1, len(robot.bodies)))
    assert list(robot.described_joints) == list(range(len(robot.joints)))


# ---- Chains of the platform's mechanism: written as legs, read as its bodies, written again


def test_chains_keep_the_order_of_the_tree_whatever_order_they_are_written_in() -> None:
    text = """\
format: nacelle/2
name: twigs
motion: [b.turn, a.turn, a.bend]
legs:
  - name: b
    bodies: {rod: {mass: 1 kg}}
    joints: {turn: {type: revolute, parent: a.rod, child: rod, axis: y}}
  - name: a
    bodies: {rod: {mass: 1 kg}, tip: {mass: 1 kg, com: 1 0 0 m}}
    joints:
      turn: {type: revolute, parent: base, child: rod, axis: y, active: true}
      bend: {type: revolute, parent: rod, child: tip, axis: z}
"""
    robot = nacelle.loads(text)
    assert [chain.name for chain in platform_branches(robot)] == ["b", "a"]
    assert nacelle.loads(robot.to_yaml()).hash == robot.hash


# ---- Joints as data: coordinates, rates and locks of every kind fit each other


@pytest.mark.parametrize("kind", [kind for kind in JointKind if kind is not JointKind.COUPLING])
def test_freedoms_and_locks_add_up_to_six(kind: JointKind) -> None:
    """What a joint does not move it locks; a point locks its place alone."""
    joint = Joint("j", kind, 0, 1)
    assert joint.nv + len(joint.locks) == 6
    assert (
        len(neutral_coordinates(kind))
        == joint.nq
        == joint.nv + sum(p is Primitive.SPHERICAL for p in MOTION[kind])
    )
    assert kind in LETTERS
    assert kind in LOCKS


@pytest.mark.parametrize(
    ("limits", "spring", "centre", "counts"),
    [
        ((-np.inf, np.inf), None, 0.0, False),
        ((-np.inf, np.inf), Spring(1.0, 4.0), 4.0, True),
        ((0.0, 3.9), None, 1.95, False),
        ((-0.5, 1.5), None, 0.0, False),  # within half a turn of zero, and no force depends on it
        ((-0.5, 1.5), Spring(1.0, 4.0), 0.5, False),
        ((2.0, np.inf), None, 2.0 + np.pi / 2.0, True),
        ((-np.inf, -4.0), None, -4.0 - np.pi / 2.0, True),
        ((-5.0, 7.0), None, 1.0, True),
        ((1.0, 1.0 + 2.0 * np.pi), Spring(1.0, 0.0), 1.0 + np.pi, False),
    ],
)
def test_where_angles_are_read(
    limits: tuple[float, float], spring: Spring | None, centre: float, counts: bool
) -> None:
    joint = Joint("j", JointKind.REVOLUTE, 0, 1, limits=(limits,), springs=(spring,))
    assert joint.centre(0) == pytest.approx(centre, abs=1e-15)
    assert joint.counts_turns(0) is counts
    slide = Joint("s", JointKind.PRISMATIC, 0, 1, springs=(Spring(1.0, 0.0),))
    assert not slide.counts_turns(0)


# ---- Springs between bodies as data: their numbers, their hash, their text


def test_springs_stops_and_rotors_are_numbers_of_the_robot_and_keep_their_hash_in_text() -> None:
    robot = with_springs_and_stops(nacelle.load("delta")).without_rounding_differences
    names = robot.parameter_names()
    assert {"springs.s0.first.x", "springs.s0.stiffness", "springs.s0.length", "springs.s0.damping"} <= set(
        names
    )
    assert sum(name.endswith(".stop.stiffness") for name in names) == 3
    vector = robot.parameter_vector()
    assert robot.with_parameters(vector).hash == robot.hash
    moved = robot.with_parameters(1.01 * robot.parameter_vector("drive"), "drive")
    assert moved.springs[0].stiffness == 1.01 * robot.springs[0].stiffness
    assert moved.hash != robot.hash
    text = robot.to_yaml()
    assert text.startswith("format: nacelle/2")
    assert nacelle.loads(text).hash == robot.hash
    assert replace(robot, springs=()).hash != robot.hash


# ---- Forces are linear in the parameters: written back, and by differences of energy and wrench


def test_values_are_written_where_they_are_read() -> None:
    robot = STRESS["drives, springs and rotors at closures"](1)
    own = linear_parameters(robot)
    assert len(set(own.names)) == len(own) == len(own.values)
    values = own.values * np.random.default_rng(1).uniform(0.5, 1.5, len(own))
    moved = with_linear_parameters(robot, values)
    np.testing.assert_allclose(linear_parameters(moved).values, values, rtol=1e-15)
    changed = {name for name, a, b in zip(own.names, own.values, values, strict=True) if a != b}
    assert any(name.endswith("stiffness*rest") for name in changed)
    np.testing.assert_array_equal(linear_parameters(robot).values, own.values)


def test_wrong_vectors() -> None:
    robot = library_robot("fivebar")
    p = linear_parameters(robot)
    with pytest.raises(ParameterError, match="shape"):
        with_linear_parameters(robot, p.values[1:])
    with pytest.raises(ParameterError, match=r"not finite"):
        with_linear_parameters(robot, np.where(np.arange(len(p)) == 3, np.nan, p.values))


# ---- A body with a payload on it has the sum of both inertias


def test_parameters_add_up() -> None:
    robot = named_robot("delta")
    carrying = nacelle.with_payload(robot, 2.0, com=[0.0, 0.1, -0.2])
    added = body_parameters(carrying, 1) - body_parameters(robot, 1)
    expected = [2.0, 0.0, 0.2, -0.4]
    np.testing.assert_allclose(added[:4], expected, atol=1e-14)
    # About the body's origin a point mass has m (c.c 1 - c c^T): xx, xy, yy, xz, yz, zz.
    np.testing.assert_allclose(added[4:], [0.1, 0.0, 0.08, 0.0, 0.04, 0.02], atol=1e-14)


# ---- Motion types: names, lists, and what is neither


@pytest.mark.parametrize("name", sorted(NAMED_MOTIONS))
def test_named_motions(name: str) -> None:
    motion = parse_motion(name)
    assert motion.name == name
    assert motion.coordinates == NAMED_MOTIONS[name]
    assert motion.n == len(motion.coordinates) == len(motion.twist_axes)
    assert [AXES[k] for k in motion.twist_axes] == list(motion.coordinates)
    assert parse_motion(list(motion.coordinates)) == motion


@pytest.mark.parametrize("value", ["", "xyzw", ["x", "x"], []])
def test_what_is_no_motion(value: str | list[str]) -> None:
    with pytest.raises(MotionError):
        parse_motion(value)


# ---- Masses that cannot be meant

MASS = re.compile(r"mass: ([0-9.e-]+) kg")


def warnings_of(text: str) -> list[Problem]:
    robot, source = read_text(text, "robot.yaml")
    found = check_robot(robot, source)
    return [problem for problem in found.problems if " has a mass of " in problem.message]


@pytest.mark.parametrize("name", robots.names())
def test_the_library_is_plausible(name: str) -> None:
    assert implausible_masses(nacelle.load(name)) == []


@pytest.mark.parametrize("factor", [1e-3, 1.0, 1e3])
def test_robots_of_any_size_are_plausible(factor: float) -> None:
    """A micro robot and a giant have the densities of others: lengths by f, masses by f^3, ..."""
    robot = nacelle.load("delta")
    powers = np.array([3.0] + [4.0] * 3 + [5.0] * 6)
    scaled = robot.parameter_vector("inertia").reshape(-1, 10) * factor**powers
    assert implausible_masses(robot.with_parameters(scaled.ravel(), "inertia")) == []


@pytest.mark.costly
@pytest.mark.parametrize("name", ["fivebar", "hexa", "palida", "delta", "quattro", "3rrr"])
@pytest.mark.parametrize(("unit", "words"), [("t", "denser than any material"), ("g", "lighter than any")])
def test_slips_of_units_are_seen(name: str, unit: str, words: str) -> None:
    """Grams and tonnes in the place of kilograms, one body after the other; inertias are right."""
    text = robots.text(name)
    bodies = [match for match in MASS.finditer(text) if "inertia" in text[match.end() : match.end() + 200]]
    assert bodies
    for match in bodies:
        wrong = text[: match.start()] + f"mass: {match[1]} {unit}" + text[match.end() :]
        (problem, *_) = warnings_of(wrong)
        assert words in problem.message
        assert problem.line == text.count("\n", 0, match.start()) + 1
        assert f"is {float(match[1]):g} kg meant?" in problem.hint
        assert problem.severity == "warning"


def test_points_are_held_against_the_size_of_the_robot() -> None:
    text = robots.text("delta-codourey")
    assert not warnings_of(text)
    point = next(
        match for match in MASS.finditer(text) if "inertia" not in text[match.end() : match.end() + 60]
    )
    (problem, *_) = warnings_of(text[: point.start()] + "mass: 654000 kg" + text[point.end() :])
    assert (
        "has a mass of 654000 kg, which with the robot's size is denser than any material" in problem.message
    )


# ---- Reading: one robot from YAML, text and Python data, and all problems at once


def test_file_text_and_data_are_one(tmp_path: Path) -> None:
    text = robots.text("fivebar")
    place = tmp_path / "fivebar.yaml"
    place.write_text(text, encoding="utf-8")
    hashes = {read_file(place)[0].hash, read_text(text)[0].hash, read_data(as_written("fivebar"))[0].hash}
    assert len(hashes) == 1
    assert read_data(in_full("fivebar"))[0].hash in hashes


def test_all_problems_at_once() -> None:
    text = robots.text("fivebar").replace("mass:", "mas:")
    with pytest.raises(DescriptionError) as caught:
        read_text(text)
    assert len(caught.value.problems) > 1
    assert all(problem.line > 0 for problem in caught.value.problems)


# ---- Places of coordinates in the reduced pose and twist


def test_se3() -> None:
    layout = ReducedLayout(parse_motion("se3"))
    assert (layout.n, layout.nx) == (6, 7)
    assert layout.x_names == ("x", "y", "z", "qx", "qy", "qz", "qw")
    assert layout.v_names == ("v_x", "v_y", "v_z", "v_rx", "v_ry", "v_rz")
    assert layout.a_names[3] == "a_rx"
    assert (layout.quaternion, layout.angular) == (slice(3, 7), slice(3, 6))
    assert layout.units == ("m", "m", "m", "", "", "", "")
    assert layout.v_units == ("m", "m", "m", "rad", "rad", "rad")
    assert (layout.linear_x, layout.linear_v) == ((0, 1, 2), (0, 1, 2))


def test_the_quaternion_stands_at_the_place_of_the_first_rotation() -> None:
    layout = ReducedLayout(Motion(("z", "rx", "ry", "rz", "swing")))
    assert layout.x_names == ("z", "qx", "qy", "qz", "qw", "swing")
    assert (layout.linear_x, layout.linear_v) == ((0, 5), (0, 4))
    assert layout.x_index("swing") == 5
    assert layout.v_index("swing") == 4
    assert layout.units[-1] == ""
    for name in ("rx", "qx", "y"):
        with pytest.raises(KeyError):
            layout.x_index(name)
    assert layout.v_index("ry") == 2
    with pytest.raises(KeyError):
        layout.v_index("qx")


@pytest.mark.parametrize("names", [("rx", "x", "ry", "rz"), ("rz", "ry", "rx"), ("rx", "rz", "ry")])
def test_rotations_stand_side_by_side(names: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="side by side"):
        ReducedLayout(Motion(names))


def test_a_joint_cannot_have_the_name_of_an_entry() -> None:
    with pytest.raises(ValueError, match="twice"):
        ReducedLayout(Motion(("rx", "ry", "rz", "qw")))


def test_parts_are_put_together_again() -> None:
    layout = ReducedLayout(Motion(("z", "rx", "ry", "rz", "swing")))
    rng = np.random.default_rng(0)
    x, v = rng.normal(size=(3, 2, 6)), rng.normal(size=(3, 2, 5))
    np.testing.assert_array_equal(layout.join_x(*layout.split_x(x)), x)
    np.testing.assert_array_equal(layout.join_v(*layout.split_v(v)), v)
    plain = ReducedLayout(parse_motion("xy+rz"))
    np.testing.assert_array_equal(plain.join_x(*plain.split_x(v[..., :3])), v[..., :3])


# ---- The key `shared` of descriptions: read, written, and refused at its place

FIVEBAR = (resources.files(robots) / "fivebar.yaml").read_text()

DELTA4 = (resources.files(robots) / "delta4.yaml").read_text()


@pytest.mark.parametrize(
    ("written", "shared"),
    [
        ("legs", "legs"),
        ("mirrored", "mirrored"),
        ("[[left, right]]", (("left", "right"),)),
        ("[[left, mirror right]]", (("left", "mirror right"),)),
    ],
)
def test_read_and_written(written, shared):
    robot = nacelle.loads(f"{FIVEBAR}\nshared: {written}\n")
    assert robot.shared == shared
    assert robot.hash == nacelle.loads(FIVEBAR).hash
    again = nacelle.loads(robot.to_yaml())
    assert (again.shared, again.hash) == (shared, robot.hash)


def test_without_the_key_nothing_is_written():
    robot = nacelle.loads(FIVEBAR)
    assert robot.shared is None
    assert "shared" not in robot.to_yaml()


@pytest.mark.parametrize(
    ("text", "written", "message"),
    [
        (FIVEBAR, "shared: [[left, §rigth]]", "no leg is called 'rigth'"),
        (FIVEBAR, "shared: [[left, right], [§left, right]]", "leg 'left' is listed twice"),
        (FIVEBAR, "shared: [§[left]]", "two legs or more"),
        (FIVEBAR, "shared: [[§mirror left, right]]", "the first leg of a list"),
        (FIVEBAR, "§shared: [left, right]", "one list for each"),
        (FIVEBAR, "§shared: leg", "shared is legs, mirrored or lists"),
        (DELTA4, "shared: [[leg1, leg2], [leg3, §leg4]]", "leg3 has"),
    ],
)
def test_mistakes_are_at_their_place(text, written, message):
    whole = f"{text}\n{written}\n"
    line, column = whole.count("\n"), written.index("§") + 1
    found = problems_of(whole.replace("§", ""))
    here = [p for p in found if (p.line, p.column) == (line, column) and message in p.message]
    assert here, [str(problem) for problem in found]


# ---- Robots as YAML: read back they are the same, to the last bit


FOLDER = Path(__file__).parents[1] / "robots"
FILES = sorted(path.stem for path in FOLDER.glob("*.yaml"))


def round_trip_robot(name: str | int) -> nacelle.Robot:
    """A robot of the library or of the files, a mechanism, or a random one with coupled joints."""
    if isinstance(name, int):
        return random_robot("coupled", name)
    if name in NAMES:
        return library_robot(name)
    return nacelle.load(FOLDER / f"{name}.yaml") if name in FILES else mechanism(name)


@pytest.mark.parametrize("name", [*NAMES, *FILES, *HANGING, *COUPLED_NAMES, 0, 1, 2])
def test_there_and_back(name: str | int) -> None:
    robot = round_trip_robot(name)
    text = write_yaml(robot)
    again, _ = read_text(text)
    assert again.hash == nacelle.loads(text).hash == robot.hash
    assert [body.display for body in again.bodies] == [body.display for body in robot.bodies]
    assert again.motion == robot.motion
    assert write_yaml(again) == text
    # Legs that share bodies are written as one, and what they had as names is behind its own.
    first = robot.legs[0].name if robot.legs else ""
    for one, two in zip((*robot.bodies, *robot.actuators), (*again.bodies, *again.actuators), strict=True):
        assert two.name in (one.name, f"{first}.{one.name.replace('.', '-')}")
    if name != "shared":
        assert again.all_names == robot.all_names
