"""One evaluation of all variants, against each variant as a robot of its own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nacelle
from nacelle.dynamics.physics import ALL_TERMS
from nacelle.kinematics.pose_input import reference_pose
from nacelle.studies import Study
from nacelle.studies.channels import FORCE, RATE, ChannelProgram, States
from nacelle.studies.table import OK, OUT_OF_LIMITS, UNREACHABLE
from nacelle.studies.variables import Distribution, Variable, make_space
from support.compare import assert_same
from support.library import NAMES, library_robot
from support.random_robots import random_robot

MOTION = {"pick-and-place": {"distance": 0.24, "height": 0.05, "duration": 0.4}, "samples": 23}


def study_of(**changes: Any) -> Study:
    entries: dict[str, Any] = {
        "robot": "delta",
        "variables": {"rod_length": {"from": 0.55, "to": 0.65}, "arm_length": {"from": 0.2, "to": 0.28}},
        "motions": {"cycle": MOTION},
        "quantities": {"peak": "peak force"},
    }
    return Study({**entries, **changes})


def states_near(robot: Any, rng: np.random.Generator, count: int) -> States:
    lengths = np.array([name in "xyz" for name in robot.motion.coordinates])
    x0 = reference_pose(robot)
    steps = 0.05 * rng.uniform(-1.0, 1.0, (count, robot.motion.n)) * np.where(lengths, robot.size, 1.0)
    x = np.stack([nacelle.kinematics.integrate_pose(robot, x0, step) for step in steps])
    v, a = rng.normal(size=(2, count, robot.motion.n))
    return States.of(robot, x, v, a)


@pytest.mark.costly
@pytest.mark.parametrize("name", sorted(NAMES, key="fivebar".__ne__))
def test_forces_and_rates_are_those_of_each_variant(name: str) -> None:
    """Robots in closed form and by iteration; numbers of several groups on their own."""
    robot, rng = library_robot(name), np.random.default_rng(3)
    # Lengths of the C5's parallel joints that are written twice are to be one number.
    groups = ("inertia", "friction") if name == "c5" else ("geometry", "inertia")
    program = ChannelProgram(robot, groups, frozenset({FORCE, RATE}), physics=ALL_TERMS)
    base = robot.numbers.vector(*groups)
    numbers = base * (1.0 + 0.005 * rng.uniform(-1.0, 1.0, (3, len(base))))
    states = states_near(robot, rng, 4)
    compared = 0
    for part in program.parts(numbers, states):
        for n, own in enumerate(numbers):
            variant = robot.with_numbers(own, *groups)
            good = ~part.failed[n]
            x, v, a = (array[part.states][good] for array in (states.x, states.v, states.a))
            expected = nacelle.inverse_dynamics(variant, x, v, a)
            assert_same(part.values["force"][n][good], expected.tau, 1e-9)
            motion = nacelle.kinematics.joint_motion(variant, x, v, a)
            assert_same(part.values["rate"][n][good], motion.actuators[1], 1e-9)
            compared += np.count_nonzero(good)
    assert compared >= 6


@pytest.mark.slow
def test_quantities_of_a_motion() -> None:
    """Each against the public function for the variant as a robot."""
    study = study_of(
        regions={"reach": {"over": {"x": (-0.3, 0.3, 7), "y": (-0.3, 0.3, 7), "z": (-0.8, -0.4, 5)}}},
        quantities={
            "peak": "peak force",
            "rms": "rms force",
            "speed": "peak speed",
            "power": "peak power",
            "mean": "mean power",
            "dexterity": {"kind": "dexterity", "motion": "cycle"},
            "stiffness": {"kind": "stiffness", "motion": "cycle", "drives": "5000 N*m/rad"},
            "wrist": {"kind": "peak reaction", "motion": "cycle", "joint": "leg1.wrist-a"},
            "volume": "volume",
            "mass": "mass",
        },
    )
    values = np.array([[0.56, 0.22], [0.64, 0.27]])
    found, of = study.evaluate(values), study.evaluator.sets["cycle"]
    assert found.ok.all()
    space = study.evaluator.space
    for n, numbers in enumerate(space.numbers_at(values)):
        variant, states = space.robot_at(numbers), of.states
        force = nacelle.inverse_dynamics(variant, states.x, states.v, states.a).tau
        rate = nacelle.kinematics.joint_motion(variant, states.x, states.v, states.a).actuators[1]
        w = of.weights[:, None]
        J = nacelle.jacobian(variant, states.x)
        K = np.einsum("sij,i,sik->sjk", J.inverse, np.full(3, 5000.0), J.inverse)
        wrench = nacelle.joint_reactions(variant, states.x, states.v, states.a).joint("leg1.wrist-a")
        grid = nacelle.workspace(variant, {"x": (-0.3, 0.3, 7), "y": (-0.3, 0.3, 7), "z": (-0.8, -0.4, 5)})
        expected = {
            "peak": np.abs(force).max(),
            "rms": np.sqrt((w * force**2).sum(axis=0).max()),
            "speed": np.abs(rate).max(),
            "power": np.abs(force * rate).max(),
            "mean": (w * np.maximum(force * rate, 0.0)).sum(),
            "dexterity": J.conditioning.min(),
            "stiffness": np.linalg.eigvalsh(K).min(),
            "wrist": np.linalg.norm(wrench[:, :3], axis=1).max(),
            "volume": grid.volume,
            "mass": sum(body.inertia[0] for body in variant.bodies[1:]),
        }
        for name, value in expected.items():
            # The Jacobian is scaled by the size of the nominal robot.
            tolerance = 1e-2 if name == "dexterity" else 1e-9
            assert found[name][n] == pytest.approx(value, rel=tolerance), name


def test_variants_that_cannot_make_the_motion_have_a_status() -> None:
    wide = {"variables": {"rod_length": {"from": 0.2, "to": 0.7}, "arm_length": {"from": 0.1, "to": 0.3}}}
    study = study_of(**wide)
    found = study.evaluate([[0.6, 0.24], [0.25, 0.24], [np.nan, 0.24]])
    assert found.status[0] == OK
    assert found.status[1] == UNREACHABLE
    assert not found.ok[2]
    assert np.isnan(found["peak"][1:]).all()
    # Motors have limits of -50 and 95 degrees.
    beyond = [[0.68, 0.14]]
    assert study.evaluate(beyond).status[0] == OUT_OF_LIMITS
    assert study_of(**{**wide, "limits": False}).evaluate(beyond).status[0] == OK


def test_results_do_not_depend_on_the_other_variants() -> None:
    """Byte for byte: blocks are evaluated wherever there is room."""
    study = study_of()
    values = study.evaluator.space.values_at(np.random.default_rng(5).random((40, 2)))
    whole = study.evaluate(values).values
    parts = [study.evaluate(values[k : k + n]).values for k, n in ((0, 7), (7, 1), (8, 32))]
    assert np.array_equal(np.concatenate(parts), whole, equal_nan=True)


def test_gradients_are_those_of_the_programs() -> None:
    """The rms force by the mass of the plate and the length of the rods, against complete differences."""
    study = study_of(
        variables={
            "plate": {"numbers": "platform.mass", "from": 0.4, "to": 0.8},
            "rod_length": {"from": 0.55, "to": 0.65},
        },
        quantities={"rms": "rms force", "mass": "mass"},
    )
    at = np.array([0.6, 0.6])
    gradient = study.gradient(at)[0]
    assert gradient[1] == pytest.approx([1.0, 0.0], abs=1e-9)
    h = 1e-5
    for p in range(2):
        step = np.eye(2)[p] * h
        plain = (study.evaluate(at + step)["rms"] - study.evaluate(at - step)["rms"]) / (2.0 * h)
        assert gradient[0, p] == pytest.approx(plain[0], rel=1e-6)


def test_singularities_are_measured_for_each_variant() -> None:
    robot = library_robot("palida")
    study = Study(
        {
            "robot": "palida",
            "variables": {"a": {"numbers": "strut1.A.x", "uniform": "1 mm"}},
            "quantities": {"all": "singularity", "parallel": {"kind": "singularity", "of": "parallel"}},
        }
    )
    found = study.evaluate([[0.0], [0.001]])
    at = reference_pose(robot)
    expected = nacelle.singularities(robot, at)
    assert found["parallel"][0] == pytest.approx(float(expected.parallel), rel=1e-9)
    least = min(expected.serial.min(), float(expected.parallel), float(expected.constraint))
    assert found["all"][0] == pytest.approx(least, rel=1e-9)
    assert found["parallel"][0] != found["parallel"][1]


@pytest.mark.slow
def test_axes_that_meet_by_accident_need_not_meet_in_variants() -> None:
    """A leg in closed form at the nominal numbers alone is solved by iteration in a study."""
    robot, rng = random_robot("6 RRRS with axes that meet", 11), np.random.default_rng(1)
    names = robot.numbers.names("geometry")
    space = make_space(robot, [Variable(name, (name,), Distribution("uniform"), True) for name in names])
    program = ChannelProgram(space.robot, space.groups, frozenset({RATE}), physics=ALL_TERMS)
    numbers = space.nominal * (1.0 + 0.003 * rng.uniform(-1.0, 1.0, (3, len(names))))
    states = states_near(space.robot, rng, 4)
    for part in program.parts(numbers, states):
        for n, own in enumerate(numbers):
            good = ~part.failed[n]
            assert np.any(good)
            x, v, a = (array[part.states][good] for array in (states.x, states.v, states.a))
            motion = nacelle.kinematics.joint_motion(robot.with_numbers(own, *space.groups), x, v, a)
            assert_same(part.values["rate"][n][good], motion.actuators[1], 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "number", "over"),
    [
        ("3rps", "base_radius", {"z": (0.3, 1.5, 9), "rx": (-0.5, 0.5, 7), "ry": (-0.5, 0.5, 7)}),
        ("delta4", "rod_length", {"x": (-0.8, 0.8, 7), "y": (-0.8, 0.8, 7), "z": (-1.2, -0.2, 7)}),
    ],
)
def test_variants_reach_where_the_nominal_robot_does_not(name: str, number: str, over: Any) -> None:
    """Legs solved by iteration: the workspace of a variant is that of the robot with these legs."""
    study = Study(
        {
            "robot": name,
            "variables": {"size": {"numbers": number, "from": 0.01, "to": 2.0}},
            "regions": {"space": {"over": {name: list(extent) for name, extent in over.items()}}},
            "quantities": {"volume": "volume"},
        }
    )
    space = study.evaluator.space
    values = space.nominal_values * np.array([[0.9], [1.0], [1.15]])
    found = study.evaluate(values)["volume"]
    for n, numbers in enumerate(space.numbers_at(values)):
        grid = nacelle.workspace(space.robot_at(numbers), over, conditioned=False)
        assert found[n] == pytest.approx(grid.volume, rel=1e-12)
    assert len(set(found)) > 1
