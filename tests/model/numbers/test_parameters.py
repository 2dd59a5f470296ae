"""A robot's numbers as a vector, and free numbers: what is declared, what follows, and what is fixed."""

from __future__ import annotations

import numpy as np
import pytest

import nacelle
from nacelle.errors import ParameterError
from nacelle.model.numbers import GROUPS
from support.library import NAMES, library_robot
from support.uncompiled import named_robot


@pytest.mark.parametrize("group", GROUPS)
def test_a_group_changes_nothing_else(group: str) -> None:
    robot = named_robot("everything")
    layout = robot.parameters
    own = layout.read(robot, group)
    assert len(layout.names(group)) == len(set(layout.names(group))) == len(own)
    # Entries of rotations stay: a frame is refused that is none any more.
    free = [".R" not in name for name in layout.names(group)]
    vector = own + 1e-3 * np.random.default_rng(7).uniform(0.5, 1.0, len(own)) * free
    moved = layout.write(robot, vector, group)
    np.testing.assert_array_equal(layout.read(moved, group), vector)
    for other in GROUPS:
        if other != group:
            np.testing.assert_array_equal(layout.read(moved, other), layout.read(robot, other))
    np.testing.assert_array_equal(layout.read(robot, group), own)


def test_all_groups_in_their_order() -> None:
    robot = named_robot("everything")
    parts = [robot.parameters.read(robot, group) for group in GROUPS]
    np.testing.assert_array_equal(robot.parameters.read(robot), np.concatenate(parts))
    with pytest.raises(ParameterError, match="did you mean 'inertia'"):
        robot.parameters.read(robot, "inertias")


# ---- Free numbers of a robot: what a description declares, how the robot's numbers follow, and what is fixed


@pytest.mark.parametrize("name", NAMES)
def test_library(name):
    robot = library_robot(name)
    assert robot.numbers.record is robot.declaration.record
    same = robot.with_numbers(robot.numbers.vector())
    np.testing.assert_allclose(same.parameter_vector(), robot.parameter_vector(), rtol=1e-14, atol=1e-16)


TEXT = """
format: nacelle/1
name: sample
motion: xy
gravity: 0 -9.81 0 m/s^2
reference: {position: 150 200 0 mm}
constants: {L: 200 mm}
platform: {type: point, name: tip}
templates:
  arm:
    parameters: {place: null}
    bodies:
      crank: {mass: 2 kg, com: [$L/2, 0, 0], inertia: {xx: 1 g*m^2, yy: 3 g*m^2, zz: 3 g*m^2}}
      rod: {mass: 1 kg, com: 50 0 0 mm}
    joints:
      motor:
        type: revolute
        parent: base
        child: crank
        at: [$place, 0, 0]
        axis: z
        active: true
        guess: 90 deg
        friction: {viscous: 0.1 N*m*s/rad, coulomb: 0 N*m}
      knee: {type: revolute, parent: crank, child: rod, at: [$L, 0, 0], axis: z, guess: %GUESS%}
    closures:
      end: {type: revolute, parent: rod, child: tip, at: 150 0 0 mm, axis: z}
legs:
  - {template: arm, name: left, with: {place: 0 m}, branch: -1}
  - {template: arm, name: right, with: {place: 300 mm}, branch: 1, override: {bodies: {rod: {mass: 1 kg}}}}
"""


@pytest.fixture
def sample():
    return nacelle.loads(TEXT.replace("guess: %GUESS%", "guess: -40 deg"))


def test_what_is_free_and_what_is_one(sample):
    names = sample.numbers.names()
    assert "L" in names  # one length for both cranks, and for their centres of mass
    assert names.count("arm.bodies.crank.mass") == 1
    assert "arm.bodies.crank.inertia.yy" in names
    assert "arm.bodies.crank.inertia.zz" not in names  # written like yy
    assert not any("coulomb" in name for name in names)  # 0 for good
    assert "left.place" not in names
    assert "right.place" in names
    # The override is a number of its own, though it is equal now.
    assert sum(name.endswith("bodies.rod.mass") for name in names) == 2
    assert "gravity.y" in names
    assert "gravity.x" not in names
    assert sample.numbers.names("gravity") == ("gravity.y",)


def test_a_number_moves_all_that_follows_from_it(sample):
    k = sample.numbers.names().index("L")
    vector = sample.numbers.vector()
    assert vector[k] == pytest.approx(0.2)
    vector[k] = 0.22
    longer = sample.with_numbers(vector)
    described = nacelle.loads(TEXT.replace("guess: %GUESS%", "guess: -40 deg").replace("200 mm}", "220 mm}"))
    np.testing.assert_allclose(longer.parameter_vector(), described.parameter_vector(), rtol=1e-14)
    assert longer.numbers.vector()[k] == 0.22
    slope = sample.numbers.jacobian()[:, k]
    change = (longer.parameter_vector() - sample.parameter_vector()) / 0.02
    linear = [i for i, name in enumerate(sample.parameter_names()) if ".p" in name or name.endswith(".mx")]
    np.testing.assert_allclose(slope[linear], change[linear], atol=1e-12)


def test_a_sample_keeps_what_is_declared(sample):
    other = sample.with_numbers(sample.numbers.sample())
    changed = other.parameter_vector() != sample.parameter_vector()
    zero = sample.parameter_vector() == 0.0
    assert not np.any(changed & zero)
    assert np.array_equal(sample.numbers.sample(), sample.numbers.sample())


def test_a_changed_robot_has_its_own_numbers(sample):
    loaded = nacelle.with_payload(sample, "0.5 kg") if sample.platform_nv == 6 else sample
    heavier = loaded.with_parameters(1.1 * loaded.parameter_vector("inertia"), "inertia")
    names = heavier.numbers.names()
    assert "left.crank.m" in names
    assert "L" in names  # the geometry is still as described
    np.testing.assert_allclose(
        heavier.with_numbers(heavier.numbers.vector()).parameter_vector(), heavier.parameter_vector()
    )


def test_payload_is_free():
    robot = nacelle.with_payload(library_robot("delta"), 2.0, com=(0.0, 0.0, -0.05))
    assert any(name.startswith("payload.") for name in robot.numbers.names("payload"))
    assert "rod_length" in robot.numbers.names("geometry")


@pytest.mark.parametrize(
    ("vector", "words"), [([1.0], "has shape"), ([np.nan] * 5, "not finite|has shape")], ids=["short", "nan"]
)
def test_wrong_vectors(sample, vector, words):
    with pytest.raises(ParameterError, match=words):
        sample.with_numbers(vector)
    with pytest.raises(ParameterError, match="no group"):
        sample.numbers.vector("masses")
