"""Base parameters.

base parameters, choice, groupings, mirror, moved, polynomial, relative motion, sampling, transfers.
"""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nacelle
from nacelle.dynamics import reference
from nacelle.dynamics.base_parameters.base_parameters import (
    base_parameters,
    combine_transfers,
    symbolic_coefficients,
)
from nacelle.dynamics.base_parameters.choice import choose_parameters, column_options
from nacelle.dynamics.base_parameters.perturbation import perturb_parameters
from nacelle.dynamics.base_parameters.sampling import parameter_units, sampled_regressor
from nacelle.dynamics.base_parameters.sharing import mirror_signs
from nacelle.dynamics.base_parameters.transfers import (
    Polynomial,
    Transfer,
    Transfers,
    body_pairs,
    sampled_twists,
)
from nacelle.errors import IdentificationError, ParameterError
from nacelle.identification.consistency.pseudo_inertia import pseudo_inertia
from nacelle.kinematics.sample_states import closed_sample_states
from nacelle.model.joint import Spring
from nacelle.model.linear_parameters import linear_parameters
from nacelle.model.robot import Robot
from nacelle.program.cost import count
from support.library import NAMES, library_robot
from support.rigid_robots import RIGID
from support.stress_robots import STRESS
from support.uncompiled import named_robot

# ---- Base parameters: counts of the papers, groupings with symbols, and what no force shows

TABLE_I = {
    "strut*.1.Izz + strut*.2.Iyy + strut*.3.Izz",
    "strut*.2.Ixx - strut*.2.Iyy + strut*.3.Ixx - strut*.3.Izz",
    "strut*.2.Izz + strut*.3.Iyy",
    "strut*.2.my",
    "strut*.3.mz",
    "platform.Ixx + strut*.3.m sum_j (j.ball.y^2 + j.ball.z^2)",
    "platform.Iyy + strut*.3.m sum_j (j.ball.x^2 + j.ball.z^2)",
    "platform.Izz + strut*.3.m sum_j (j.ball.x^2 + j.ball.y^2)",
    "platform.mz + strut*.3.m sum_j (j.ball.z)",
    "platform.m + 6 strut*.3.m",
}

"""[AGH2005] Table I: s is the first moment, r_B the place of a ball on the platform."""


def test_table_one_of_palida():
    base = base_parameters(library_robot("palida"), assume="zeros", shared="legs")
    assert {base.groupings[i] for i in base.rigid} == TABLE_I
    assert len(base.friction) == 14
    assert base.structural == len(base) == 24
    assert base.is_certain


@pytest.mark.parametrize(
    ("name", "options", "rigid"),
    [
        ("palida", {"shared": "legs"}, 23),
        ("palida", {}, 88),
        ("delta-codourey", {}, 10),
        ("delta-codourey", {"assume": "zeros"}, 7),
    ],
)
def test_counts(name, options, rigid):
    base = base_parameters(library_robot(name), **options)
    assert len(base.rigid) == rigid
    assert base.structural == len(base)


def test_columns_of_codourey():
    """The seven parameters of [CB1997] (45), the rotors behind their gears counted with the arms."""
    base = base_parameters(library_robot("delta-codourey"), assume="zeros")
    arms = [f"leg{k}.arm.{part}" for k in (1, 2, 3) for part in ("mx", "Iyy")]
    assert [base.names[i] for i in base.rigid] == ["plate.m", *arms]


QUICK = ("3rrr", "delta", "dymo", "prrrp")


def slow_but(names, quick):
    """Names, those that take longer left to `make test-all`."""
    return [name if name in quick else pytest.param(name, marks=pytest.mark.slow) for name in names]


@pytest.mark.parametrize("name", slow_but(NAMES, QUICK))
def test_rules_and_rank_agree(name):
    base = base_parameters(library_robot(name))
    assert base.structural == len(base)
    assert base.unexplained == ()
    assert base.gap > 1e9


# Robots with one motion, a parallelogram, and balls that slide on planes.
ALIKE = ("one motion", "loop inside a leg", "planar-spherical joints")


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", slow_but(sorted({*STRESS, *RIGID}), ("shared carriage", "sprung five-bar", "SPS struts"))
)
@pytest.mark.thinned
def test_rules_and_rank_agree_outside_the_library(name):
    """Springs aside, for which there are no rules.

    Rules do not know what follows where all is a function of one coordinate or joints turn alike.
    """
    robot = STRESS[name](1) if name in STRESS else RIGID[name].make(1)
    bare = (dataclasses.replace(joint, springs=()) for joint in robot.joints)
    base = base_parameters(dataclasses.replace(robot, joints=tuple(bare)))
    assert len(base) <= base.structural
    assert len(base) == base.structural or name in ALIKE
    assert base.is_certain


def same_forces(robot, base, seed):
    """Parameters are changed along what no force shows; the equivalent tree gives the same forces."""
    rng = np.random.default_rng(seed)
    count = len(base.choice.names)
    z = base.choice.values
    step = rng.normal(size=count) * np.maximum(np.abs(z), 0.1 * np.max(np.abs(z)))
    step[list(base.kept)] = 0.0
    step[list(base.kept)] = -base.K @ step
    parameters = nacelle.dynamics.linear_parameters(robot).values
    moved = nacelle.dynamics.with_linear_parameters(robot, parameters + base.choice.E @ step)
    none = np.zeros(robot.motion.n)
    for x, y in closed_sample_states(robot)[1:3]:
        v, a = rng.normal(size=(2, robot.motion.n))
        old, new = (
            np.asarray(reference.inverse(each, x, y, v, a, none)["force"], dtype=float)
            for each in (robot, moved)
        )
        part = np.asarray(reference.inverse(robot, x, y, none, none, none)["force"], dtype=float)
        scale = max(np.max(np.abs(old)), np.max(np.abs(part)))
        assert np.max(np.abs(new - old)) < 1e-8 * scale


@pytest.mark.slow
@settings(max_examples=5)
@given(st.integers(0, 1000), st.sampled_from(["3rrr", "fivebar", "c5", "3rps", "space"]))
def test_forces_stay_along_what_is_left_out(seed, name):
    robot = library_robot(name)
    same_forces(robot, base_parameters(robot), seed)


@pytest.mark.parametrize(
    ("name", "seed"),
    [("fivebar", 1), *(pytest.param("space", seed, marks=pytest.mark.slow) for seed in (1, 2, 3))],
)
def test_seeds_and_units_do_not_matter(name, seed):
    robot = library_robot(name)
    first, other = base_parameters(robot), base_parameters(robot, seed=seed)
    assert first.names == other.names
    np.testing.assert_allclose(first.K, other.K, rtol=1e-6, atol=1e-9)


def test_effects():
    robot = library_robot("delta-codourey")
    effects = base_parameters(robot).effects
    assert effects["leg1.arm.Ixx"] == "no effect"
    assert effects["leg1.arm.mx"] == "alone"
    assert effects["leg1.arm.Iyy"] == effects["leg1.shoulder.rotor_inertia"] == "grouped"
    assert effects["plate.m"] == "alone"


def test_gravity_along_the_axes_removes_first_moments():
    """The arms of a five-bar in the horizontal plane: their first moments act through gravity alone."""
    robot = library_robot("fivebar")
    flat = robot.with_parameters([0.0, 0.0, -9.81], "gravity")
    upright = robot.with_parameters([0.0, -9.81, 0.0], "gravity")
    names = [set(base_parameters(each).names) for each in (flat, upright)]
    firsts = {name for name in names[1] if "proximal" in name and name.endswith((".mx", ".my"))}
    assert firsts
    assert not firsts & names[0]


def test_json_and_values():
    robot = library_robot("palida")
    base = base_parameters(robot, assume="zeros", shared="legs")
    data = json.loads(json.dumps(base.data()))
    assert (data["rigid"], data["friction"], data["structural"]) == (10, 14, 24)
    mass = next(entry for entry in data["base_parameters"] if entry["name"] == "platform.m")
    assert mass["terms"] == {"platform.m": 1.0, "strut*.3.m": 6.0}
    assert mass["value"] == pytest.approx(9.0 + 6 * 2.6)
    inertia = next(entry for entry in data["base_parameters"] if entry["name"] == "platform.Ixx")
    balls = [robot.joints[robot.joint(f"strut{k}.ball")].frame_successor.p for k in range(1, 7)]
    assert inertia["terms"]["strut*.3.m"] == pytest.approx(sum(p[1] ** 2 + p[2] ** 2 for p in balls))


@pytest.mark.parametrize("name", ["fivebar", "delta-codourey", "3rps"])
def test_linear_form_in_base_parameters(name):
    """Its columns alone, and those of identical legs added up, give the forces of inverse dynamics."""
    robot = library_robot(name)
    x = nacelle.reference_pose(robot)
    v, a = np.random.default_rng(3).normal(size=(2, robot.motion.n)) * 0.2
    force = nacelle.inverse_dynamics(robot, x, v, a).tau
    base = base_parameters(robot)
    for found in (
        nacelle.regressor(robot, x, v, a, parameters=base),
        nacelle.regressor(robot, x, v, a, shared="legs"),
    ):
        assert found.Y.shape == (len(robot.actuators), len(found.parameters))
        np.testing.assert_allclose(found.Y @ found.parameters.values, force, rtol=1e-11)
    program = nacelle.model(robot, "regressor", parameters=base).program()
    assert program.outputs[0].size == len(robot.actuators) * len(base)


def test_operations_of_the_linear_form():
    """The planar 3-RRR with friction; HybrDyn's kind of code takes 8146."""
    robot = library_robot("3rrr")
    program = nacelle.model(robot, "regressor", parameters=base_parameters(robot)).program()
    assert count(program).total < 600


class TestMistakes:
    def test_two_choices(self):
        robot = library_robot("fivebar")
        base = base_parameters(robot)
        with pytest.raises(nacelle.KinematicsError, match="not both"):
            nacelle.regressor(robot, nacelle.reference_pose(robot), parameters=base, shared="legs")
        with pytest.raises(nacelle.KinematicsError, match="no columns of parameters"):
            nacelle.model(robot, "inverse_dynamics", parameters=base)

    def test_unknown_parameter(self):
        with pytest.raises(nacelle.errors.ParameterError, match=r"no parameter 'platform\.mq'"):
            base_parameters(library_robot("palida"), assume=["zeros", "platform.mq"])

    def test_unknown_leg(self):
        with pytest.raises(nacelle.errors.ParameterError, match="no leg is called 'strut7'"):
            base_parameters(library_robot("palida"), shared=[["strut1", "strut7"]])

    def test_legs_that_differ(self):
        robot = library_robot("palida")
        vector = robot.parameter_vector("inertia")
        vector[robot.parameter_names("inertia").index("strut2.3.m")] *= 2.0
        other = robot.with_parameters(vector, "inertia")
        with pytest.raises(
            nacelle.errors.ParameterError, match=r"strut2\.3\.m is 5\.2, strut1\.3\.m is 2\.6"
        ):
            base_parameters(other, shared=[["strut1", "strut2"]])

    def test_not_a_list(self):
        with pytest.raises(
            nacelle.errors.ParameterError, match="shared is 'legs', 'mirrored', 'nothing' or lists"
        ):
            base_parameters(library_robot("palida"), shared="struts")


# ---- Chosen parameters z with p = E z: what is assumed, what is shared, and names of both

ROBOT = library_robot("fivebar")

ALL = linear_parameters(ROBOT)


@pytest.mark.parametrize("shared", [None, "legs", [["left", "right"]]])
def test_the_robots_own_numbers(shared: object) -> None:
    choice = choose_parameters(ROBOT, "nothing", shared)
    np.testing.assert_allclose(choice.E @ choice.values, ALL.values, atol=1e-16)
    # Every parameter of the robot is in one column at most, which its place says.
    assert np.all(np.count_nonzero(choice.E, axis=1) <= 1)
    for k, (column, sign) in enumerate(zip(choice.columns, choice.signs, strict=True)):
        assert choice.E[k, column] == sign


def test_shared_parameters_have_one_name() -> None:
    """A star in the place of what differs, "lef" and "righ"."""
    apart, shared = choose_parameters(ROBOT), choose_parameters(ROBOT, shared="legs")
    assert "left.distal.m" in apart.names
    group = shared.groups()[shared.names.index("*t.distal.m")]
    assert sorted(ALL.names[k] for k in group) == ["left.distal.m", "right.distal.m"]
    assert column_options(shared) == {"columns": shared.columns}
    assert column_options(None) == {}


def test_assumptions() -> None:
    zeros = choose_parameters(ROBOT, "zeros")
    assert np.all(zeros.values != 0.0)
    assert {ALL.names[k] for k in np.flatnonzero(ALL.values == 0.0)} == set(zeros.assumed_zero)
    without = choose_parameters(ROBOT, ["nothing", "left.*.m"])
    assert set(without.assumed_zero) == {"left.proximal.m", "left.distal.m"}
    assert without.columns[ALL.names.index("left.distal.m")] == -1
    with pytest.raises(ParameterError, match=r"no parameter 'left\.distal\.mass'"):
        choose_parameters(ROBOT, ["left.distal.mass"])


# ---- Groupings with symbols: elimination of transfers of a chain of three bodies, done by hand

ONE = Polynomial.number(1.0)

X, Y = Polynomial.atom("x", 0.3), Polynomial.atom("y", 0.5)


def test_what_disagrees_with_the_numbers_is_left_to_them() -> None:
    vectors = [{1: ONE, 0: X.scale(-1.0)}]
    assert symbolic_coefficients(vectors, [1], np.array([[1.0, 0.31]]), [0]) == {}


def test_transfers_of_legs_that_share_are_added() -> None:
    robot = library_robot("fivebar")
    names = linear_parameters(robot).names
    transfers = [
        Transfer(("rule",), {names.index(f"{leg}.distal.m"): ONE, names.index(f"{leg}.proximal.m"): X})
        for leg in ("left", "right")
    ]
    apart = combine_transfers(choose_parameters(robot), transfers)
    assert len(apart) == 2
    choice = choose_parameters(robot, shared="legs")
    (both,) = combine_transfers(choice, transfers)
    assert both == {choice.names.index("*t.distal.m"): ONE, choice.names.index("*t.proximal.m"): X}
    # Of one leg alone it is no transfer of what both have.
    assert combine_transfers(choice, transfers[:1]) == []
    # What changes a parameter that is zero for good is none either.
    assert combine_transfers(choose_parameters(robot, ["left.distal.m"]), transfers[:1]) == []


# ---- mirror
#
# Signs of mirrored legs: those with which the reader of a description has reflected the numbers.

ROBOTS = Path(__file__).parents[2] / "robots"


def test_signs_of_a_leg_that_the_description_mirrors() -> None:
    robot = nacelle.load(ROBOTS / "fivebar-mirror.yaml")
    left, right = (next(leg for leg in robot.legs if leg.name == name) for name in ("left", "right"))
    signs = mirror_signs(robot, right, left)
    parameters = linear_parameters(robot)
    values = dict(zip(parameters.names, parameters.values, strict=True))
    compared = 0
    for name, sign in signs.items():
        image = name.replace("right.", "left.", 1)
        if values.get(name):
            assert values[image] == pytest.approx(sign * values[name], rel=1e-12), name
            compared += sign < 0.0
    assert compared >= 2
    # A reflection of a reflection is none: the signs are the same the other way.
    back = mirror_signs(robot, left, right)
    assert {name.replace("left.", "right.", 1): sign for name, sign in back.items()} == signs


# ---- Parameters moved within physics: consistent bodies, equal legs


@pytest.mark.parametrize("name", ["palida", "delta", "quattro", "driven"])
def test_parameters_move_within_physics(name: str) -> None:
    robot = STRESS["drives, springs and rotors at closures"](0) if name == "driven" else library_robot(name)
    own = nacelle.dynamics.linear_parameters(robot).values
    parameters = nacelle.dynamics.linear_parameters(perturb_parameters(robot, 30.0, seed=2))
    count = len(robot.parameter_names("inertia")) // 10
    for k in range(count):
        before, after = own[10 * k : 10 * k + 10], parameters.values[10 * k : 10 * k + 10]
        least = np.linalg.eigvalsh(pseudo_inertia(after))[0]
        assert least >= 0.6 * min(0.0, np.linalg.eigvalsh(pseudo_inertia(before))[0]) - 1e-12
    ratios = parameters.values[own != 0.0] / own[own != 0.0]
    assert 0.7 <= ratios.min() < 0.95
    assert 1.05 < ratios.max() <= 1.3
    assert perturb_parameters(robot, 30.0, seed=2).hash != perturb_parameters(robot, 30.0, seed=3).hash


def test_springs_keep_their_rest() -> None:
    robot = STRESS["drives, springs and rotors at closures"](0)
    pairs = zip(robot.joints, perturb_parameters(robot, 20.0).joints, strict=True)
    rests = [
        (a.rest, b.rest) for one, two in pairs for a, b in zip(one.springs, two.springs, strict=True) if a
    ]
    assert rests
    for before, after in rests:
        assert after == pytest.approx(before, rel=1e-12)


def test_legs_that_are_alike_stay_so() -> None:
    robot = library_robot("palida")
    parameters = nacelle.dynamics.linear_parameters(robot)
    for alike in (False, True):
        values = nacelle.dynamics.linear_parameters(perturb_parameters(robot, alike=alike)).values
        same = [
            np.array_equal(parameters.values[k : k + 10], parameters.values[j : j + 10])
            == np.array_equal(values[k : k + 10], values[j : j + 10])
            for k in range(0, 180, 10)
            for j in range(0, 180, 10)
            if np.any(parameters.values[k : k + 10])
        ]
        assert all(same) == alike


def test_factors_are_above_zero() -> None:
    with pytest.raises(IdentificationError, match="per cent"):
        perturb_parameters(library_robot("fivebar"), 100.0)


# ---- Points of two bodies that move alike: those of their joint, and those that loops add


def test_bodies_on_a_revolute_joint_share_its_axis() -> None:
    robot = library_robot("fivebar")
    motions = sampled_twists(robot)
    for a, b, number in body_pairs(robot):
        if number is None or robot.joints[number].kind != "revolute":
            continue
        joint = robot.joints[number]
        sides = {joint.predecessor: joint.frame_predecessor, joint.successor: joint.frame_successor}
        bond = motions.shared_motion(a, b)
        points = np.array([sides[a].p, sides[b].p])
        assert motions.have_equal_velocity(bond, points)
        assert bond.point is not None
        # What differs from the joint's own point lies along the axis, on which all points move alike.
        span = np.concatenate([bond.directions[:, 0], bond.directions[:, 1]], axis=1)
        assert np.linalg.matrix_rank(np.vstack([span, np.ravel(bond.point - points)]), tol=1e-9) == len(span)
        assert not motions.have_equal_velocity(bond, points + np.array([[0.0, 0.0, 0.0], [0.0, 0.01, 0.0]]))


# ---- The linear form over generic states: its range is what forces can tell of the parameters


def test_rank_is_the_number_of_base_parameters() -> None:
    """Other states, the same rank; columns without effect are exactly zero."""
    robot = named_robot("fivebar")
    names = linear_parameters(robot).names
    one, two = (sampled_regressor(robot, seed) for seed in (0, 5))
    assert one.shape[1] == len(names) == len(parameter_units(robot))
    ranks = {
        np.linalg.matrix_rank(Y, tol=1e-9 * np.linalg.norm(Y)) for Y in (one, two, np.vstack([one, two]))
    }
    assert ranks == {len(nacelle.base_parameters(robot, assume="nothing").names)}
    assert np.array_equal(~one.any(axis=0), ~two.any(axis=0))


# ---- transfers
#
# Transfers leave all forces as they are: the linear form does not see them, and there are no others.


def sprung() -> Robot:
    """A five-bar with a preloaded spring and a geared rotor at its first joint, and a payload on a body."""
    robot = nacelle.with_payload(library_robot("fivebar"), 0.4, com=(0.01, 0.02, 0.0), on="left.distal")
    joint = dataclasses.replace(
        robot.joints[0], springs=(Spring(3.0, 0.2),), rotor_inertia=2e-4, gear_ratio=7.0
    )
    return dataclasses.replace(robot, joints=(joint, *robot.joints[1:]))


@pytest.mark.costly
@pytest.mark.parametrize("make", [sprung, lambda: library_robot("prrrp")])
def test_no_force_shows_a_transfer(make) -> None:
    robot = make()
    count = len(linear_parameters(robot).names)
    listed = np.array([transfer.numbers(count) for transfer in Transfers(robot, sampled_twists(robot)).all()])
    random = np.random.default_rng(1)
    x = nacelle.reference_pose(robot) + 0.02 * robot.size * random.normal(size=(40, robot.motion.n))
    v, a = random.normal(size=(2, 40, robot.motion.n))
    Y = nacelle.regressor(robot, x, v, a).Y.reshape(-1, count)
    sizes = np.linalg.norm(listed, axis=1)
    felt = np.abs(Y @ listed.T) / (np.max(np.abs(Y)) * np.where(sizes > 0.0, sizes, 1.0))
    assert np.max(felt) < 1e-9
    # As many as the linear form leaves open.
    scale = np.max(np.abs(Y), axis=0)
    scale = np.where(scale > 0.0, scale, 1.0)
    rank = np.linalg.matrix_rank(Y / scale, tol=1e-9)
    assert np.linalg.matrix_rank(listed, tol=1e-9) == count - rank
