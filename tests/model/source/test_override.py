"""Overrides of one leg of a template: what they change, what they leave, and where they are wrong."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nacelle
from nacelle import DescriptionError, robots
from nacelle.model.read import read_text
from nacelle.model.robot import Robot

DELTA = robots.text("delta")
REPEAT = "  - {repeat: leg, count: 3}\n"
STEWART = robots.text("gough-stewart")


def read(text: str) -> Robot:
    return read_text(text)[0]


def delta(override: str) -> str:
    assert REPEAT in DELTA
    return DELTA.replace(REPEAT, f"  - repeat: leg\n    count: 3\n    override:\n      {override}\n")


def problems(text: str) -> list[str]:
    with pytest.raises(DescriptionError) as caught:
        read(text)
    return [str(problem) for problem in caught.value.problems]


def test_one_joint_of_one_leg_has_another_friction_and_other_limits() -> None:
    text = delta(
        "leg3: {joints: {shoulder: {friction: {viscous: 0.3 N*m*s/rad}, "
        "actuator: {limits: {force: 20 N*m}}}}}"
    )
    plain, changed = read(DELTA), read(text)
    j = plain.joint("leg3.shoulder")
    for k, (a, b) in enumerate(zip(plain.joints, changed.joints, strict=True)):
        assert (a.friction == b.friction) == (k != j)
    terms = {term.basis: term.coefficient for term in changed.joints[j].friction[0]}
    # Merged: what the override does not name stays.
    assert terms == {"viscous": 0.3, "coulomb": 0.6}
    assert [actuator.force for actuator in changed.actuators] == [60.0, 60.0, 20.0]
    assert [actuator.speed for actuator in changed.actuators] == [25.0, 25.0, 25.0]
    assert changed.actuators[2].name == plain.actuators[2].name
    assert dataclasses.replace(changed, joints=plain.joints, actuators=plain.actuators).hash == plain.hash


def test_bodies_and_null() -> None:
    robot = read(delta("leg2: {bodies: {arm: {mass: 1 kg}}, joints: {shoulder: {friction: null}}}"))
    assert robot.bodies[robot.body("leg2.arm")].mass == 1.0
    assert robot.bodies[robot.body("leg1.arm")].mass == 0.8
    assert robot.joints[robot.joint("leg2.shoulder")].friction == ((),)
    assert robot.joints[robot.joint("leg1.shoulder")].friction != ((),)
    # The frame of the leg is that of the template, before it is placed.
    arm = np.array(robot.bodies[robot.body("leg2.arm")].inertia[1:4]) / 1.0
    np.testing.assert_allclose(arm, [0.09, 0.0, 0.0], atol=1e-15)


@pytest.mark.parametrize(
    "way", ["angles: [0 deg, 120 deg, 240 deg]", "placements: [{}, {angle: 120 deg}, {angle: 240 deg}]"]
)
def test_all_ways_to_repeat(way: str) -> None:
    text = delta("leg3: {joints: {shoulder: {friction: {coulomb: 2 N*m}}}}").replace("count: 3", way)
    assert read(text).hash == read(delta("leg3: {joints: {shoulder: {friction: {coulomb: 2 N*m}}}}")).hash
    named = text.replace("override:", "names: [a, b, c]\n    override:").replace("leg3:", "c:")
    assert read(named).hash == read(text).hash


TABLE = """
format: nacelle/1
name: two-sliders
motion: xy
gravity: 0 -9.81 0 m/s^2
reference: {position: 0 -0.3 0 m}
platform: {type: point, mass: 0.5 kg}
constants: {heavy: 3 kg}
templates:
  leg:
    parameters: {A: null, m: 1 kg}
    bodies:
      slider: {mass: $m, inertia: 0.001 0.001 0.001 kg*m^2}
      rod: {mass: 0.3 kg, com: 200 0 0 mm, inertia: 0 0.004 0.004 kg*m^2}
    joints:
      slide: {type: prismatic, parent: base, child: slider, at: $A, axis: x, active: true}
      hinge: {type: revolute, parent: slider, child: rod, axis: z, guess: -90 deg}
    closures:
      tip: {type: revolute, parent: rod, at: 400 0 0 mm, child: platform, axis: z}
legs:
  - repeat: leg
    table:
      - {name: left, A: -300 0 0 mm, guess: {hinge: -50 deg}}
      - {name: right, A: 300 0 0 mm, guess: {hinge: -130 deg}LINE}
"""


def test_lines_of_tables_single_legs_and_references() -> None:
    line = TABLE.replace(
        "LINE",
        ", override: {bodies: {slider: {mass: $heavy}}, "
        "joints: {hinge: {friction: {viscous: 0.1 N*m*s/rad}}}}",
    )
    robot = read(line)
    assert robot.bodies[robot.body("right.slider")].mass == 3.0
    assert robot.bodies[robot.body("left.slider")].mass == 1.0
    assert robot.joints[robot.joint("right.hinge")].friction[0][0].coefficient == 0.1
    assert robot.joints[robot.joint("left.hinge")].friction == ((),)
    below = (
        TABLE.replace("LINE", "")
        + "    override: {right: {bodies: {slider: {mass: $heavy}, rod: {mass: $m}}}}\n"
    )
    assert read(below).bodies[robot.body("right.rod")].mass == 1.0
    single = TABLE.replace("LINE", "").partition("legs:\n")[0] + (
        "legs:\n"
        "  - {name: left, template: leg, with: {A: -300 0 0 mm}, guess: {hinge: -50 deg}}\n"
        "  - {name: right, template: leg, with: {A: 300 0 0 mm}, guess: {hinge: -130 deg}, "
        "override: {bodies: {slider: {mass: $heavy}}, "
        "joints: {hinge: {friction: {viscous: 0.1 N*m*s/rad}}}}}\n"
    )
    assert read(single).hash == robot.hash


def test_legs_of_tables_of_khalil_and_kleinfinger_and_of_elements() -> None:
    """After the table is read its joints have names; elements have theirs."""
    plain = read(STEWART)
    joint = plain.joints[plain.actuators[0].joint].name.partition(".")[2]
    assert "- repeat: leg\n" in STEWART
    changed = read(
        STEWART.replace(
            "- repeat: leg\n",
            f"- repeat: leg\n    override: {{leg2: {{joints: "
            f"{{'{joint}': {{friction: {{viscous: 7 N*s/m}}}}}}}}}}\n",
        )
    )
    differ = [a.name for a, b in zip(plain.joints, changed.joints, strict=True) if a.friction != b.friction]
    assert differ == [f"leg2.{joint}"]
    five = robots.text("fivebar")
    robot = read(five)
    names = [body.name for body in robot.bodies]
    assert "right.distal" in names
    start = five.index("legs:\n")
    legs = five[start:]
    assert "repeat:" in legs
    key = legs.index("repeat:")
    indent = " " * (key - legs.rindex("\n", 0, key) - 1)
    line_end = legs.index("\n", key)
    text = (
        five[:start]
        + legs[: line_end + 1]
        + f"{indent}override: {{right: {{elements: {{distal: {{body: {{mass: 0.9 kg}}}}}}}}}}\n"
        + legs[line_end + 1 :]
    )
    heavier = read(text)
    assert heavier.bodies[heavier.body("right.distal")].mass == 0.9
    assert heavier.bodies[heavier.body("left.distal")].mass == robot.bodies[robot.body("left.distal")].mass


def test_to_yaml_keeps_overrides() -> None:
    robot = nacelle.loads(
        delta("leg3: {joints: {shoulder: {friction: {viscous: 0.3 N*m*s/rad}, limits: [-40 deg, 80 deg]}}}")
    )
    assert nacelle.loads(robot.to_yaml()).hash == robot.hash


@pytest.mark.parametrize(
    ("override", "column", "words"),
    [
        ("leg4: {branch: 1}", "leg4:", "no leg of this repeat is called 'leg4'"),
        (
            "leg3: {joints: {sholder: {axis: x}}}",
            "sholder:",
            "the template has no joint 'sholder' (did you mean 'shoulder'?)",
        ),
        (
            "leg3: {bodies: {arms: {mass: 1 kg}}}",
            "arms:",
            "the template has no body 'arms' (did you mean 'arm'?)",
        ),
        ("leg3: {elements: {upper: {length: 1 m}}}", "upper:", "the template has no element 'upper'"),
        ("leg3: {nam: a}", "nam:", "'nam' cannot be overridden"),
        ("leg3: {name: a}", "name:", "'name' cannot be overridden"),
        ("leg3: {joints: 3}", "3}", "joints is a mapping of names to what differs"),
        ("leg3: 17", "17", "override is a mapping of what differs"),
        (
            "leg3: {joints: {shoulder: {frictoin: {viscous: 1 N*m*s/rad}}}}",
            "frictoin:",
            "unknown key 'frictoin'",
        ),
        ("leg3: {joints: {shoulder: {friction: {viscous: 1 kg}}}}", "viscous:", "'kg' is not a unit of"),
        ("leg3: {bodies: {arm: {mass: $heavy}}}", "$heavy", "nothing is called $heavy"),
    ],
)
def test_wrong_overrides_name_their_place(override: str, column: str, words: str) -> None:
    text = delta(override)
    found = problems(text)
    line = next(k for k, content in enumerate(text.splitlines(), 1) if override in content)
    assert any(words in problem for problem in found), found
    problem = next(problem for problem in found if words in problem)
    place = text.splitlines()[line - 1].index(override) + override.index(column) + 1
    assert problem.startswith(f"<text>:{line}:{place}:"), problem


def test_a_body_that_is_taken_away_is_missed() -> None:
    assert any("arm" in problem for problem in problems(delta("leg3: {bodies: {arm: null}}")))


def test_override_of_a_repeat_is_a_mapping() -> None:
    (problem,) = problems(DELTA.replace(REPEAT, "  - {repeat: leg, count: 3, override: 3}\n"))
    assert "override is a mapping of legs to what differs" in problem


def test_the_schema_knows_overrides() -> None:
    schema = nacelle.io.schema()
    assert "override" in schema["$defs"]["RepeatSpec"]["properties"]
    assert "override" in schema["$defs"]["LegSourceSpec"]["properties"]
    assert set(schema["$defs"]["OverrideSpec"]["properties"]) >= {"bodies", "joints", "closures", "elements"}


values: Any = st.recursive(
    st.nothing()
    | st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from(["1 kg", "2 mm", "x", "", "$a", "shoulder"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["leg1", "joints", "bodies", "arm", "shoulder", "friction", "mass", "elements", "end"]
            ),
            inner,
            max_size=3,
        )
    ),
    max_leaves=8,
)


@pytest.mark.slow
@settings(max_examples=150, derandomize=True, deadline=None, database=None)
@given(
    value=values,
    inside=st.sampled_from(
        ["{}", "{{leg1: {}}}", "{{leg1: {{joints: {}}}}}", "{{leg1: {{joints: {{shoulder: {}}}}}}}"]
    ),
)
def test_whatever_an_override_is(value: Any, inside: str) -> None:
    """A robot, or problems with a place."""
    text = DELTA.replace(
        REPEAT, f"  - {{repeat: leg, count: 3, override: {inside.format(json.dumps(value))}}}\n"
    )
    found: tuple[nacelle.errors.Problem, ...] | None = None
    try:
        read(text)
    except DescriptionError as error:
        found = error.problems
    if found is not None:
        assert found
        for problem in found:
            assert 1 <= problem.line <= len(text.splitlines())
            assert problem.column >= 1
            assert len(str(problem).splitlines()) == 1
