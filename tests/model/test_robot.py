"""The robot: frozen, hashed, written and read back, its numbers as a vector."""

import dataclasses

import numpy as np
import pytest
from ruamel.yaml import YAML

import nacelle
from nacelle import robots
from nacelle.model.numbers.parameters import GROUPS
from nacelle.model.read import read_data, read_text
from support.pairwise import FAMILIES, pairwise

LIBRARY = robots.names()


def test_the_first_six_robots():
    assert set(LIBRARY) >= {"fivebar", "delta", "palida", "c5", "orthoglide", "quattro"}


@pytest.fixture(scope="module", params=LIBRARY)
def robot(request):
    return nacelle.load(request.param)


def test_round_trip_keeps_the_hash(robot):
    text = robot.to_yaml()
    again = nacelle.loads(text)
    assert again.hash == robot.hash
    assert again.to_yaml() == text
    assert [body.name for body in again.bodies] == [body.name for body in robot.bodies]
    assert [body.display for body in again.bodies] == [body.display for body in robot.bodies]
    assert [a.name for a in again.actuators] == [a.name for a in robot.actuators]


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


def test_heavier_robots_round_trip(robot):
    heavier = robot.with_parameters(1.1 * robot.parameter_vector("inertia"), "inertia")
    assert heavier.hash != robot.hash
    assert read_text(heavier.to_yaml())[0].hash == heavier.hash


def test_with_parameters_back_and_forth(robot):
    assert robot.with_parameters(robot.parameter_vector()).hash == robot.hash
    for group in GROUPS:
        assert robot.with_parameters(robot.parameter_vector(group), group).hash == robot.hash
    total = sum(len(robot.parameter_vector(group)) for group in GROUPS)
    assert len(robot.parameter_vector()) == total


def test_wrong_vectors(robot):
    vector = robot.parameter_vector("inertia")
    with pytest.raises(nacelle.ParameterError, match="shape"):
        robot.with_parameters(vector[:-1], "inertia")
    bad = vector.copy()
    bad[3] = np.nan
    with pytest.raises(nacelle.ParameterError, match="not finite"):
        robot.with_parameters(bad, "inertia")
    with pytest.raises(nacelle.ParameterError, match="did you mean 'inertia'"):
        robot.parameter_vector("inertias")
    with pytest.raises(nacelle.ParameterError, match="not a rotation"):
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
    with pytest.raises(nacelle.UnknownRobotError, match="did you mean 'delta'"):
        nacelle.load("dleta")
    with pytest.raises(nacelle.UnknownRobotError, match="no file"):
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
