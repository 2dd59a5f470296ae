"""Description: beam, body, damper, drive, joint, line spring, schema, version."""

from __future__ import annotations

import dataclasses
import json
import math
from typing import Any

import jsonschema
import numpy as np
import pytest
from pydantic import ValidationError
from ruamel.yaml import YAML

import nacelle
from nacelle import robots
from nacelle.errors import DescriptionError
from nacelle.model.description.body import BeamSpec, BodySpec, InertialSpec, MaterialSpec, SectionSpec, Strict
from nacelle.model.description.drive import ActuatorSpec, DriveSpec
from nacelle.model.description.fields import message_and_hint
from nacelle.model.description.joint import EndSpec, InputSpec, JointSpec
from nacelle.model.description.schema import main, schema_text, shipped_schema
from nacelle.model.description.version import NEW, NEWEST, OLDEST, oldest_format
from nacelle.model.joint import JointKind

# ---- Sections and materials that a flexible link may have, and those that cannot be


def test_units_and_defaults() -> None:
    context = {"units": None}
    section = SectionSpec.model_validate({"tube": ["30 mm", "26 mm"]}, context=context)
    assert section.tube == pytest.approx((0.03, 0.026), rel=1e-15)
    material = MaterialSpec.model_validate({"E": "70 GPa", "density": "2.7 g/cm^3"}, context=context)
    assert (material.E, material.density, material.nu) == pytest.approx((70e9, 2700.0, 0.3), rel=1e-14)
    beam = BeamSpec.model_validate({"from": "0 0 0 m", "to": "0 0 1 m", "damping": 0.02}, context=context)
    assert beam.end == (0.0, 0.0, 1.0)
    assert beam.damping is not None
    assert beam.damping.ratio == 0.02


@pytest.mark.parametrize(
    ("spec", "written", "words"),
    [
        (SectionSpec, {"circle": 0.01, "square": 0.01}, "circle are given"),
        (SectionSpec, {}, "none is given"),
        (SectionSpec, {"area": 1e-4, "Iy": 1e-8, "Iz": 1e-8}, "belong together"),
        (SectionSpec, {"circle": 0.01, "J": 1e-8}, "belong together"),
        (SectionSpec, {"area": 1e-4, "Iy": 0.0, "Iz": 1e-8, "J": 1e-8}, "must be above zero"),
        (SectionSpec, {"tube": [0.02, 0.03]}, "outer diameter is not above"),
        (SectionSpec, {"rectangle": [0.02, -0.03]}, "both numbers must be above zero"),
        (MaterialSpec, {"E": 0.0, "density": 1.0}, "must be above zero"),
        (MaterialSpec, {"E": 1.0, "density": 1.0, "nu": 0.6}, "between -1 and 0.5"),
        (BeamSpec, {"shapes": "hermite", "number": 0}, "at least one element"),
        (BeamSpec, {"damping": -0.1}, "must not be negative"),
        (BeamSpec, {"damping": {"ratio": 0.1, "rayleigh": {"mass": 1.0}}}, "exactly one of ratio, rayleigh"),
        (BodySpec, {"mass": 1.0, "inertia": [1.0, 1.0, 3.0]}, "inertia"),  # no body has zz > xx + yy
        (BodySpec, {"mass": 1.0, "inertia": [1.0, 2.0]}, "3 numbers (xx yy zz) or 6"),
        (BodySpec, {"mass": 1.0, "inertia": [[1, 0.1, 0], [0, 1, 0], [0, 0, 1]]}, "not symmetric"),
        (BodySpec, {"mass": 1.0, "com": [0.0, 0.0, 0.0], "first_moment": [0.0, 0.0, 0.0]}, "say the same"),
        (BodySpec, {"section": {"circle": 0.01}}, "without a material"),
        (BodySpec, {"display": [{"color": "red"}]}, "exactly one of cylinder, box, sphere, mesh"),
    ],
)
def test_what_is_no_body_or_beam(spec: type[Strict], written: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError) as caught:
        spec.model_validate(written)
    said = [message_and_hint(error)[0] for error in caught.value.errors(include_url=False)]
    assert any(words in text for text in said), said


# ---- Inertia in each way of writing it: the ten parameters are sums over points of mass

MASSES = np.array([0.5, 1.0, 0.7, 0.3])

POINTS = np.array([[0.1, 0.0, 0.2], [-0.2, 0.3, 0.0], [0.0, -0.1, 0.1], [0.2, 0.2, -0.3]])


def moments(about: np.ndarray) -> np.ndarray:
    """Sum of m (r.r 1 - r r^T) over the points."""
    return sum(m * (r @ r * np.eye(3) - np.outer(r, r)) for m, r in zip(MASSES, POINTS - about, strict=True))


MASS = MASSES.sum()

COM = MASSES @ POINTS / MASS

CENTRAL, AT_FRAME = moments(COM), moments(np.zeros(3))

TEN = np.array([MASS, *(MASS * COM), *AT_FRAME[[0, 0, 1, 0, 1, 2], [0, 1, 1, 2, 2, 2]]])

SIX = ("xx", "xy", "yy", "xz", "yz", "zz")


def six(I: np.ndarray) -> list[float]:
    return [I["xyz".index(a), "xyz".index(b)] for a, b in SIX]


@pytest.mark.parametrize(
    "written",
    [
        {"com": COM.tolist(), "inertia": six(CENTRAL)},
        {"com": COM.tolist(), "inertia": CENTRAL.tolist()},
        {"com": COM.tolist(), "inertia": " ".join(map(repr, map(float, six(CENTRAL)))) + " kg*m^2"},
        {"first_moment": (MASS * COM).tolist(), "inertia": dict(zip(SIX, six(CENTRAL), strict=True))},
        {
            "first_moment": (MASS * COM).tolist(),
            "inertia": {**dict(zip(SIX, six(AT_FRAME), strict=True)), "about": "frame"},
        },
    ],
    ids=["six", "matrix", "text", "first moment", "about the frame"],
)
def test_every_way_to_write_an_inertia(written: dict[str, Any]) -> None:
    np.testing.assert_allclose(InertialSpec(mass=MASS, **written).ten(), TEN, rtol=1e-14)


# ---- Angular dampers as they are written: in the robot or a leg, with errors at their place

_TEXT = """\
format: nacelle/2
name: damped
motion: [leg.turn, leg.bend]
legs:
  - name: leg
    bodies:
      upper: {mass: 0.4 kg, com: 80 0 0 mm, inertia: 0 0.001 0.001 kg*m^2}
      lower: {mass: 0.2 kg, com: 100 0 0 mm, inertia: 0 0.001 0.001 kg*m^2}
    joints:
      turn: {type: revolute, parent: base, child: upper, active: true, axis: z}
      bend: {type: revolute, parent: upper, child: lower, active: true, at: 160 0 0 mm, axis: z}
    dampers: {knee: {between: [lower, upper], damping: 0.2 N*m*s/rad}}
    torsion_springs: {coil: {between: [upper, lower], stiffness: 3 N*m/rad, rest: 20 deg}}
dampers:
  whole: {between: [leg.lower, base], damping: 0.5 N*m*s/rad}
torsion_springs:
  soft: {between: [base, leg.lower], axis: -z, stiffness: [2 N*m/rad, 0, -0.4 N*m/rad^3]}
"""


def test_dampers_of_the_robot_and_of_legs() -> None:
    robot = nacelle.loads(_TEXT)
    read = [(d.name, [robot.bodies[b].name for b in d.bodies], d.damping) for d in robot.dampers]
    assert read == [("whole", ["leg.lower", "base"], 0.5), ("leg.knee", ["leg.lower", "leg.upper"], 0.2)]
    # About one axis: 0.5 (q1' + q2') on both joints, 0.2 q2' on the second.
    v = [0.3, 0.4]
    still = [0.0, 0.0]
    forces = [nacelle.inverse_dynamics(robot, [0.2, 0.1], v, still, friction=on).tau for on in (True, False)]
    assert forces[0] - forces[1] == pytest.approx([0.35, 0.43], rel=1e-12)


def test_torsion_springs_of_the_robot_and_of_legs() -> None:
    """About one axis: 2 s - 0.4 s^3 at s = q1 + q2 on both joints, 3 (q2 - 20 deg) on the second."""
    robot = nacelle.loads(_TEXT)
    plain = dataclasses.replace(robot, torsion_springs=())
    assert [spring.name for spring in robot.torsion_springs] == ["soft", "leg.coil"]
    for x in ([0.2, 0.1], [0.2, 0.1 + 2.0 * math.pi], [-2.0, -0.5]):
        s = math.remainder(x[0] + x[1], 2.0 * math.pi)
        both = 2.0 * s - 0.4 * s**3
        knee = 3.0 * math.remainder(x[1] - math.radians(20.0), 2.0 * math.pi)
        held = nacelle.inverse_dynamics(robot, x).tau - nacelle.inverse_dynamics(plain, x).tau
        assert held == pytest.approx([both, both + knee], rel=1e-12)
    assert nacelle.loads(robot.to_yaml()).hash == robot.hash != plain.hash
    assert nacelle.loads(_TEXT.replace("-0.4 N", "-0.3 N")).hash != robot.hash


# ---- Drives as written: quantities wait for the kind of joint, single entries become lists


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ({"friction": {"viscos": 1}}, "unknown key 'viscos'"),
        ({"spring": {"rest": 1}}, "missing key 'stiffness'"),
        ({"active": "perhaps"}, "true or false"),
    ],
)
def test_shapes_that_are_wrong(written: dict[str, object], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        DriveSpec.model_validate(written)


def test_encoders_read_forwards_or_backwards() -> None:
    assert ActuatorSpec.model_validate({"encoder": {"sign": -1}}).encoder.sign == -1
    with pytest.raises(ValidationError, match="expected 1 or -1, got 2"):
        ActuatorSpec.model_validate({"encoder": {"sign": 2}})


# ---- Joints as written: their axes and their kinds

BETWEEN = {"parent": "base", "child": "arm"}


def test_the_plane_of_a_c5_joint_is_on_either_body() -> None:
    kinds = [
        JointSpec(type="planar-spherical", **BETWEEN, plane=plane).kind() for plane in ("parent", "child")
    ]
    assert kinds == [JointKind.PLANAR_SPHERICAL, JointKind.SPHERICAL_PLANAR]
    # The end of a leg of elements meets a plane of the platform.
    assert EndSpec(type="planar-spherical").kind() is JointKind.SPHERICAL_PLANAR
    assert EndSpec(type="universal").kind() is JointKind.UNIVERSAL


@pytest.mark.parametrize(
    ("written", "place", "words"),
    [
        ({"type": "universal", "axis": "z"}, ("axis",), "two axes"),
        ({"type": "universal", "axes": ["x", [1, 1, 0]]}, ("axes",), "perpendicular"),
        ({"type": "revolute", "axes": ["x", "y"]}, ("axes",), "one axis"),
        ({"type": "spherical", "axis": "z"}, ("axis",), "no axis"),
        ({"type": "revolut"}, ("type",), "expected 'revolute', 'prismatic'"),
        ({"type": "prismatic", "friction": {"coulomb": "1 N*m"}}, ("friction", "coulomb"), "force"),
    ],
)
def test_what_is_no_joint(written: dict[str, Any], place: tuple[str, ...], words: str) -> None:
    with pytest.raises(ValidationError) as caught:
        JointSpec(**BETWEEN, **written)
    (error,) = caught.value.errors(include_url=False)
    assert error["loc"] == place
    assert words in message_and_hint(error)[0]


def test_elements_have_no_prismatic_input() -> None:
    assert InputSpec(type="universal", axis="y").axis == (0.0, 1.0, 0.0)
    with pytest.raises(ValidationError, match="expected 'revolute', 'universal'"):
        InputSpec.model_validate({"type": "prismatic"})


# ---- Springs between bodies as they are written: in the robot or a leg, with errors at their place

_SPRINGS = """\
format: nacelle/2
name: sprung
motion: xy
reference: {position: 0 0.28 0 m}
platform: {type: point, mass: 0.5 kg}
templates:
  leg:
    bodies:
      crank: {mass: 0.4 kg, com: 80 0 0 mm, inertia: 0 0.001 0.001 kg*m^2}
      rod: {mass: 0.2 kg, com: 100 0 0 mm, inertia: 0 0.001 0.001 kg*m^2}
    joints:
      motor: {type: revolute, parent: base, child: crank, active: true, axis: z, guess: 100 deg}
      knee: {type: revolute, parent: crank, child: rod, at: 160 0 0 mm, axis: z, guess: -70 deg}
    closures: {end: {type: revolute, parent: rod, child: platform, at: 220 0 0 mm, axis: z}}
    springs:
      return: {between: [rod, base], at: [50 0 0 mm, 0 -100 0 mm], stiffness: 300 N/m, length: 80 mm}
legs:
  - {name: left, template: leg, placement: {translation: -100 0 0 mm}}
  - name: right
    template: leg
    placement: {translation: 100 0 0 mm}
    override: {joints: {motor: {guess: 80 deg}, knee: {guess: 70 deg}}}
springs:
  cross: {between: [left.crank, right.crank], stiffness: 2 kN/m, length: 0.1 m, damping: 10 N*s/m}
"""


def test_nacelle_is_the_older_key_of_the_platform_and_the_name_of_its_body() -> None:
    """Files of users stay valid: at the top and in placements; the body has the key's name by default."""
    older = _SPRINGS.replace("platform:", "nacelle:").replace("child: platform", "child: nacelle")
    older = older.replace("translation: 100 0 0 mm}", "translation: 100 0 0 mm, nacelle: {angle: 3 deg}}")
    newer = older.replace("nacelle:", "platform:").replace("child: nacelle", "child: platform")
    first, second = nacelle.loads(older), nacelle.loads(newer)
    names = [[body.name for body in robot.bodies] for robot in (first, second)]
    assert [name.replace("nacelle", "platform") for name in names[0]] == names[1] != names[0]
    x = nacelle.reference_pose(first)
    np.testing.assert_array_equal(nacelle.mass_matrix(first, x), nacelle.mass_matrix(second, x))
    assert "platform:" in first.to_yaml()
    assert nacelle.loads(first.to_yaml()).bodies[1].name == "nacelle"
    both = older.replace("legs:\n", "platform: {type: point}\nlegs:\n", 1)
    with pytest.raises(DescriptionError, match=r":5:1: nacelle: 'nacelle' is the older name of 'platform'"):
        nacelle.loads(both)
    wrong = older.replace("nacelle: {angle", "platform: {}, nacelle: {angle")
    with pytest.raises(DescriptionError, match=r"placement.nacelle: 'nacelle' is the older name"):
        nacelle.loads(wrong)


def test_springs_of_the_robot_and_of_legs_with_their_placement() -> None:
    robot = nacelle.loads(_SPRINGS)
    springs = {spring.name: spring for spring in robot.springs}
    assert list(springs) == ["cross", "left.return", "right.return"]
    assert (springs["cross"].stiffness, springs["cross"].damping) == (2000.0, 10.0)
    names = [robot.bodies[body].name for body in springs["right.return"].bodies]
    assert names == ["right.rod", "base"]
    np.testing.assert_allclose(springs["right.return"].points[0], [0.05, 0.0, 0.0])
    np.testing.assert_allclose(springs["right.return"].points[1], [0.1, -0.1, 0.0])
    assert nacelle.loads(robot.to_yaml()).hash == robot.hash


# ---- The JSON schema for editors accepts what the package reads, and is the one that is shipped


@pytest.mark.parametrize("name", robots.names())
def test_the_schema_accepts_the_library(name: str) -> None:
    data = YAML(typ="safe", pure=True).load(robots.text(name))
    validator = jsonschema.Draft202012Validator(shipped_schema())
    errors = [f"{list(e.absolute_path)}: {e.message}" for e in validator.iter_errors(_text_keys(data))]
    assert not errors
    data["nacele"] = 1
    assert list(validator.iter_errors(_text_keys(data)))


def _text_keys(data: Any) -> Any:
    if isinstance(data, dict):
        return {str(key): _text_keys(value) for key, value in data.items()}
    return [_text_keys(value) for value in data] if isinstance(data, list) else data


def test_the_schema_is_fresh(capsys: pytest.CaptureFixture[str]) -> None:
    assert json.loads(schema_text()) == shipped_schema()
    assert main(["--check"]) == 0
    assert "up to date" in capsys.readouterr().out


# ---- Versions of the format: old files stay, what is new is located, the oldest version is written

_PENDULUM = """\
format: nacelle/2
name: pendulum
motion: [arm.hip]
legs:
  - name: arm
    bodies: {rod: {mass: 1 kg, com: 100 0 0 mm}}
    joints:
      hip: {type: revolute, parent: base, child: rod, axis: y, active: true}
"""


def test_what_is_new_in_an_old_file_is_located() -> None:
    with pytest.raises(DescriptionError) as caught:
        nacelle.loads(_PENDULUM.replace("nacelle/2", "nacelle/1"))
    places = [(p.line, p.path, p.hint) for p in caught.value.problems]
    assert places == [
        (1, "platform", "robots without a platform need format: nacelle/2"),
        (3, "motion[0]", "write format: nacelle/2"),
    ]


@pytest.mark.parametrize("name", ["delta", "h4"])
def test_an_old_robot_is_written_in_the_oldest_version(name: str) -> None:
    assert nacelle.load(name).to_yaml().startswith(f"format: {OLDEST}\n")


def test_a_new_robot_is_written_in_the_newest_version_and_keeps_its_hash() -> None:
    robot = nacelle.loads(_PENDULUM)
    text = robot.to_yaml()
    assert text.startswith(f"format: {NEWEST}\n")
    assert nacelle.loads(text).hash == robot.hash


def test_an_unknown_version_names_those_that_exist() -> None:
    with pytest.raises(DescriptionError, match="nacelle/1' or 'nacelle/2'"):
        nacelle.loads(_PENDULUM.replace("nacelle/2", "nacelle/3"))


def test_every_new_thing_has_words_and_the_absent_ones_are_keys_of_the_document() -> None:
    assert all(new.subject and (not new.absent or len(new.path) == 1) for new in NEW)
    assert oldest_format({"platform": {"mass": 1}, "legs": [{}], "motion": ["x", "y"]}) == OLDEST
    assert oldest_format({"platform": {"mass": 1}, "legs": [{}], "motion": ["xy", "rz"]}) == NEWEST


@pytest.mark.parametrize(
    ("text", "old", "new", "words"),
    [
        (_TEXT, "nacelle/2", "nacelle/1", "dampers between bodies are not in nacelle/1"),
        (_TEXT, "[leg.lower, base]", "[leg.lower, leg.arm]", "no body is called 'leg.arm'"),
        (_TEXT, "[leg.lower, base]", "[base, base]", "both ends of the damper are on one body"),
        (_TEXT, "0.5 N*m*s/rad", "-0.5 N*m*s/rad", "must not be below 0"),
        (_TEXT, "0.5 N*m*s/rad", "0.5 N*s/m", "N*m*s/rad"),
        (_TEXT, "nacelle/2", "nacelle/1", "torsion springs are not in nacelle/1"),
        (_TEXT, "[base, leg.lower]", "[base, base]", "both ends of the torsion spring are on one body"),
        (_TEXT, "-0.4 N*m/rad^3", "-0.4 N/m", "'N/m' is not a unit of angular stiffness of degree 3"),
        (_TEXT, "[2 N*m/rad, 0, -0.4 N*m/rad^3]", "[]", "at least one coefficient"),
        (_SPRINGS, "nacelle/2", "nacelle/1", "springs between bodies are not in nacelle/1"),
        (_SPRINGS, "[left.crank, right.crank]", "[left.crank, right.arm]", "no body is called 'right.arm'"),
        (_SPRINGS, "[left.crank, right.crank]", "[left.crank, left.crank]", "on one body"),
        (_SPRINGS, "2 kN/m", "-2 kN/m", "must not be below 0"),
        (_SPRINGS, "10 N*s/m", "10 N/m", "N*s/m"),
    ],
)
def test_what_is_wrong_has_its_place(text: str, old: str, new: str, words: str) -> None:
    with pytest.raises(DescriptionError) as caught:
        nacelle.loads(text.replace(old, new))
    assert any(words in str(problem) and problem.line for problem in caught.value.problems)
