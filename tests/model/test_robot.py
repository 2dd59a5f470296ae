"""The robot: frozen, hashed, written and read back, its numbers, payloads, flexible links."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from ruamel.yaml import YAML

import nacelle
from nacelle import robots
from nacelle.compact import models as general
from nacelle.dynamics import reference as tree
from nacelle.errors import DescriptionError, ParameterError
from nacelle.model.flexible import make_beam, make_section
from nacelle.model.numbers import GROUPS
from nacelle.model.read import read_data, read_text
from nacelle.spatial.inertia import parameters_from_com
from support.flexible.references import flexible_robot
from support.pairwise import FAMILIES, pairwise

LIBRARY = robots.names()


@pytest.fixture(scope="module", params=LIBRARY)
def robot(request):
    return nacelle.load(request.param)


def test_frozen(robot):
    for thing in (robot, robot.bodies[1], robot.joints[0], robot.legs[0], robot.actuators[0]):
        with pytest.raises(dataclasses.FrozenInstanceError):
            thing.name = "other"


def test_names_and_texts_do_not_count(robot):
    bodies = tuple(dataclasses.replace(b, name=f"b{k}", display=()) for k, b in enumerate(robot.bodies))
    renamed = dataclasses.replace(robot, name="other", title="t", notes="n", sources=(), bodies=bodies)
    assert renamed.hash == robot.hash
    assert renamed == robot


@pytest.mark.costly
@pytest.mark.parametrize(("name", "group"), pairwise(name=FAMILIES, group=GROUPS))
def test_every_number_counts(name, group):
    robot = nacelle.load(name)
    vector = robot.parameter_vector(group)
    names = robot.parameter_names(group)
    assert len(vector) == len(names) == len(set(names))
    for k in range(0, len(vector), max(1, len(vector) // 7)):
        changed = vector.copy()
        # A rotation must stay one: only translations of frames are changed.
        if group == "geometry" and ".R" in names[k]:
            continue
        changed[k] = changed[k] * 1.01 + 1.7e-3
        other = robot.with_parameters(changed, group)
        assert other.hash != robot.hash
        assert np.array_equal(other.parameter_vector(group), changed)
        # Single entries of an inertia cannot be changed at will: such a body may not exist.
        if group != "inertia":
            assert read_text(other.to_yaml())[0].hash == other.hash


def test_wrong_vectors(robot):
    vector = robot.parameter_vector("inertia")
    with pytest.raises(nacelle.errors.ParameterError, match="shape"):
        robot.with_parameters(vector[:-1], "inertia")
    bad = vector.copy()
    bad[3] = np.nan
    with pytest.raises(nacelle.errors.ParameterError, match="not finite"):
        robot.with_parameters(bad, "inertia")
    with pytest.raises(nacelle.errors.ParameterError, match="did you mean 'inertia'"):
        robot.parameter_vector("inertias")
    with pytest.raises(nacelle.errors.ParameterError, match="not a rotation"):
        robot.with_parameters(1.01 * robot.parameter_vector("geometry"), "geometry")


def test_unknown_names_suggest(robot):
    name = robot.bodies[2].name
    with pytest.raises(KeyError, match="did you mean"):
        robot.body(name + "x")


@pytest.mark.parametrize("name", LIBRARY)
def test_the_same_robot_from_python(name):
    """The YAML read by another parser, as plain data, gives the same robot."""
    data = YAML(typ="safe", pure=True).load(robots.text(name))
    robot, _ = read_data(data)
    assert robot.hash == nacelle.load(name).hash


def test_every_robot_names_its_sources(robot):
    assert robot.sources
    assert "chosen" in robot.notes


def test_files_and_errors(tmp_path):
    with pytest.raises(nacelle.errors.UnknownRobotError, match="did you mean 'delta'"):
        nacelle.load("dleta")
    with pytest.raises(nacelle.errors.UnknownRobotError, match="no file"):
        nacelle.load(tmp_path / "none.yaml")
    file = tmp_path / "mine.yaml"
    file.write_text(nacelle.load("c5").to_yaml(), encoding="utf-8")
    assert nacelle.load(file) == nacelle.load("c5")
    assert nacelle.load(str(file)).name == "c5"


def test_numbers_in_other_units_give_the_same_robot():
    text = robots.text("fivebar")
    inches = text.replace("half_base: 100 mm", "half_base: 10 cm").replace("distal: 250 mm", "distal: 0.25 m")
    assert inches != text
    assert read_text(inches)[0].hash == read_text(text)[0].hash


# ---- Payloads are bodies fixed to the platform, or to any other body; which of them count


@pytest.mark.slow
def test_a_payload_is_a_body_fixed_to_the_platform() -> None:
    """Inertia in the tool's frame, moved to the platform's by the parallel axes and the rotation."""
    robot = nacelle.load("gough-stewart")
    (tool,) = robot.tools
    loaded = nacelle.with_payload(robot, "2 kg", com="0 10 50 mm", inertia=[0.01, 0.02, 0.03], on=tool.name)
    (load,) = loaded.payload
    assert (load.name, load.body) == ("payload", tool.body)
    com = tool.frame.R @ [0.0, 0.01, 0.05] + tool.frame.p
    about = tool.frame.R @ np.diag([0.01, 0.02, 0.03]) @ tool.frame.R.T
    np.testing.assert_allclose(load.inertia, parameters_from_com(2.0, com, about), atol=1e-15)
    # Its weight at rest is a wrench on the tool.
    x = nacelle.reference_pose(robot)
    at = nacelle.kinematics.tool_pose(robot, x, tool.name)
    weight = 2.0 * np.array(robot.gravity)
    pull = np.concatenate([weight, np.cross(at.R @ [0.0, 0.01, 0.05], weight)])
    np.testing.assert_allclose(
        nacelle.dynamics.equilibrium(loaded, x),
        nacelle.dynamics.equilibrium(robot, x, external={tool.name: pull}),
        rtol=1e-11,
    )
    twice = nacelle.with_payload(loaded, 1.0)
    assert [p.name for p in twice.payload] == ["payload", "payload-2"]
    assert nacelle.loads(twice.to_yaml()).hash == twice.hash


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"mass": -1.0}, "mass: the mass must not be below 0"),
        ({"mass": "2 mm"}, "mass: 'mm' is not a unit of mass"),
        ({"mass": 1.0, "com": [0, 0]}, "com: expected 3 numbers, got 2"),
        ({"mass": 1.0, "inertia": [1.0, 0.1, 0.1]}, "inertia"),
        ({"mass": 1.0, "on": "spindl"}, "no 'spindl'; did you mean 'spindle'"),
        ({"mass": 1.0, "on": "base"}, "on a tool or a moving body"),
    ],
)
def test_wrong_payloads(options: dict, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        nacelle.with_payload(nacelle.load("gough-stewart"), **options)


_GRIPPERS = """\
payload:
  gripper: {mass: 0.5 kg, com: 0 0 -30 mm}
  motor: {body: leg2.arm, mass: 0.3 kg, at: 100 0 0 mm, inertia: 0.001 0.001 0.001 kg*m^2}
"""


def test_payloads_are_chosen_by_name_or_left_out_and_sit_on_any_body() -> None:
    text = robots.text("delta").replace("format: nacelle/1", "format: nacelle/2") + _GRIPPERS
    robot = nacelle.loads(text)
    assert [load.name for load in robot.payload] == ["gripper", "motor"]
    assert nacelle.dynamics.with_payloads(robot).hash == robot.hash
    assert nacelle.dynamics.with_payloads(robot, "none").payload == ()
    only = nacelle.dynamics.with_payloads(robot, "motor", "mass=2 kg; on=flange; name=part")
    assert [load.name for load in only.payload] == ["motor", "part"]
    assert nacelle.loads(robot.to_yaml()).hash == robot.hash
    # On a body of a leg it counts as that body: the same forces as with one body of both.
    body = robot.payload[1].body
    assert robot.bodies[body].name == "leg2.arm"
    whole = tuple(np.add(robot.bodies[body].inertia, robot.payload[1].inertia).tolist())
    bodies = list(robot.bodies)
    bodies[body] = dataclasses.replace(bodies[body], inertia=whole)
    merged = dataclasses.replace(robot, bodies=tuple(bodies), payload=robot.payload[:1])
    x, v, a = robot.reference.p, np.array([0.3, -0.2, 0.4]), np.array([2.0, 1.0, -3.0])
    none, empty = np.zeros(3), np.zeros(0)
    for model in (general.inverse, tree.inverse):
        forces = [np.asarray(model(own, x, empty, v, a, none)["force"], float) for own in (robot, merged)]
        np.testing.assert_allclose(forces[0], forces[1], rtol=1e-12)
    with pytest.raises(nacelle.DescriptionError, match="payloads on bodies of legs are not in nacelle/1"):
        nacelle.loads(text.replace("nacelle/2", "nacelle/1"))


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        (("griper",), "no payload 'griper'; did you mean 'gripper'"),
        (("none", "gripper"), "name those that are wanted"),
        (("mass=1kg; mass=2kg",), "mass is given twice"),
        (("com=0 0 1 mm",), "has no mass"),
    ],
)
def test_wrong_choices_of_payloads(texts: tuple[str, ...], words: str) -> None:
    robot = nacelle.with_payload(nacelle.load("delta"), 1.0, name="gripper")
    with pytest.raises(ParameterError, match=words):
        nacelle.dynamics.with_payloads(robot, *texts)


# ---- Flexible links in descriptions: what cannot be a beam is refused with its place

SECTION = "section: {square: 2 mm}"
MATERIAL = "material: {name: aluminium, E: 70 GPa, density: 2800 kg/m^3}"
MASS = "mass: 4.48 g"


def prrrp(old: str, new: str) -> str:
    text = robots.text("prrrp")
    assert old in text
    return text.replace(old, new)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (SECTION, "section: {square: 0 mm}", "above zero"),
        (SECTION, "section: {tube: 4 6 mm}", "outer diameter is not above the inner one"),
        (SECTION, "section: {area: 4 mm^2}", "area, Iy, Iz and J belong together"),
        (SECTION, "section: {area: 4 mm^2, Iy: 0 mm^4, Iz: 1 mm^4, J: 1 mm^4}", "a beam without a section"),
        (MATERIAL, "material: {E: 0 GPa, density: 2800 kg/m^3}", "must be above zero"),
        (MATERIAL, "display: []", "material"),
        (MASS, "mass: 9 g", "the mass is 0.009 kg, density x area x length"),
        ("com: [$l/2, 0, 0]", "com: [$l/3, 0, 0]", "neither curved nor tapered"),
        (SECTION, SECTION + "\n        beam: {shapes: hermite, number: 0}", "at least one element"),
        (SECTION, SECTION + "\n        beam: {damping: {ratio: -0.1}}", "must not be negative"),
    ],
)
def test_refused(old: str, new: str, message: str) -> None:
    text = prrrp(old, new)
    if "display: []" in new:
        text = text.replace("        display: [{box: {size: 400 2 2 mm, at: 200 0 0 mm}}]\n", "")
    with pytest.raises(DescriptionError) as error:
        nacelle.loads(text)
    said = [problem for problem in error.value.problems if message in f"{problem.message} {problem.hint}"]
    assert said, error.value.problems
    line = next(k for k, words in enumerate(text.splitlines(), 1) if new.splitlines()[0] in words)
    assert all(line - 3 <= problem.line <= line + 3 for problem in said)


def test_a_body_that_cannot_be_a_beam_is_refused_where_it_is_used() -> None:
    text = prrrp(SECTION, SECTION + "\n        beam: {to: [800 mm, 0, 0]}")
    # Twice as long and as heavy, with its joint in the middle.
    text = text.replace(MASS, "").replace("com: [$l/2, 0, 0]", "")
    text = text.replace("inertia: 0.00298666666666667 59.7348266666667 59.7348266666667 kg*mm^2", "mass: 1 g")
    robot = nacelle.loads(text)
    with pytest.raises(
        nacelle.KinematicsError, match=r"'leg1\.tip' sits at 50% of its length, not at an end"
    ):
        nacelle.elastic.natural_frequencies(robot, nacelle.reference_pose(robot))


def test_masses_may_be_left_out() -> None:
    text = prrrp(MASS, "").replace("com: [$l/2, 0, 0]", "")
    text = text.replace("inertia: 0.00298666666666667 59.7348266666667 59.7348266666667 kg*mm^2", "")
    robot, given = nacelle.loads(text), nacelle.load("prrrp")
    for own, other in zip(robot.bodies, given.bodies, strict=True):
        np.testing.assert_allclose(own.inertia, other.inertia, atol=1e-12)


def test_tips_and_options_are_written_and_read() -> None:
    robot = flexible_robot("fivebar-flexible")
    index = robot.body("left.distal")
    beam = make_beam(robot, index)
    options = {
        "shapes": "hermite",
        "number": 3,
        "frame": "clamped",
        "shear": True,
        "geometric": False,
        "damping": {"ratio": 0.01},
    }
    bodies = list(robot.bodies)
    bodies[index] = dataclasses.replace(bodies[index], beam=options)
    changed = dataclasses.replace(robot, bodies=tuple(bodies))
    again = nacelle.loads(changed.to_yaml())
    read = make_beam(again, again.body("left.distal"))
    assert (read.shapes, read.number, read.pinned, read.shear) == ("hermite", 3, False, True)
    assert (read.geometric, read.ratio, read.length) == (False, 0.01, beam.length)
    assert again.hash == changed.hash != robot.hash


def test_sections() -> None:
    square, rectangle = make_section({"square": 2e-3}), make_section({"rectangle": (2e-3, 2e-3)})
    assert square == rectangle
    tube, circle = make_section({"tube": (5e-3, 1e-9)}), make_section({"circle": 5e-3})
    np.testing.assert_allclose(tube[:4], circle[:4])
    flat = make_section({"rectangle": (1e-4, 1e-1)})
    np.testing.assert_allclose(flat.J, 1e-1 * 1e-12 / 3.0, rtol=1e-3)
    assert flat.Iy > flat.Iz
