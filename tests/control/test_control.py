"""Control: compare, controller, fields, gains, kind, named, poles, samples, words, written."""

from __future__ import annotations

import dataclasses
import json
from functools import partial

import numpy as np
import pytest

import nacelle
from nacelle.compile import Specification, make_program
from nacelle.control.compare import Comparison, compare
from nacelle.control.gains import ControlWarning, masses_of, tuned
from nacelle.control.kind import DesiredMotion, desired_of_row, row_size
from nacelle.control.law import law_of
from nacelle.control.laws.single_joint import SingleJoint
from nacelle.control.loop.closed_loop import closed_loop
from nacelle.control.named import CONTROLLERS, KINDS, controller
from nacelle.control.poles import loop_poles
from nacelle.control.written import read_written
from nacelle.dynamics.poses import sample_poses
from nacelle.errors import DescriptionError, KinematicsError, UnderactuatedError
from nacelle.export.states import seeded_states
from nacelle.kinematics.kinematic_model import actuator_positions
from nacelle.kinematics.trajectory.circle import Circle
from nacelle.model.description.fields import Strict
from nacelle.model.robot import Robot
from nacelle.program.cost import cost
from nacelle.simulation.plant import RigidPlant
from nacelle.simulation.sampled.programs import native_loop
from nacelle.spatial.form import Form
from nacelle.spatial.physics import check_sampler_of, input_shapes
from support.described import mechanism
from support.library import library_robot

# ---- Controllers side by side


def test_runs_are_those_of_each_alone(comparison: Comparison, fivebar: Robot, turn: Circle) -> None:
    alone = closed_loop(fivebar, controller(fivebar, "cf-rb", period=1e-3), turn, settle=0.3)
    assert np.array_equal(alone.error, comparison["cf-rb"].error)


def test_table_and_summary(comparison: Comparison) -> None:
    table = comparison.table
    assert [row[0] for row in table[::2]] == ["sj", "cf-rb", "cf-rb-friction"]
    assert all(len(row) == len(comparison.columns) for row in table)
    place = comparison.columns.index("right.motor (rad)")
    assert table[3][place] == np.max(np.abs(comparison["cf-rb"].error[:, 1]))
    data = json.loads(json.dumps(comparison.summary(), allow_nan=False))
    assert [run["label"] for run in data["runs"]] == ["sj", "cf-rb", "cf-rb-friction"]
    assert comparison.ok
    assert "cf-rb-friction" in comparison._repr_html_()


def test_mistakes(comparison: Comparison, fivebar: Robot, turn: Circle) -> None:
    one = controller(fivebar, "sj", period=1e-3)
    with pytest.raises(KinematicsError, match="a label of its own"):
        compare(fivebar, [one, one], turn)
    with pytest.raises(KinematicsError, match="one controller or more"):
        compare(fivebar, [], turn)
    with pytest.raises(KinematicsError, match="did you mean 'cf-rb'"):
        comparison["cf-br"]


# ---- Tuned controllers: gains by name, memory at a start, single samples

T = 5e-4


def test_gains_by_name() -> None:
    law = controller(library_robot("fivebar"), "sj", period=T, bandwidth=10.0)
    stiff = law.with_gains(stiffness=[1.0, 2.0])
    assert stiff.gain("stiffness").tolist() == [1.0, 2.0]
    assert np.array_equal(stiff.gain("damping"), law.gain("damping"))
    with pytest.raises(KinematicsError, match="nothing is called 'stifness'"):
        law.with_gains(stifness=1.0)
    with pytest.raises(KinematicsError, match="finite gains"):
        law.with_gains(stiffness=np.nan)
    with pytest.raises(KinematicsError, match="sample time"):
        dataclasses.replace(law, period=-1.0)


@pytest.mark.costly
@pytest.mark.parametrize("name", ["cf-rb", "adaptive"])
def test_a_sample_is_that_of_the_law_on_numbers(name: str) -> None:
    """One program: the law over floats and as native code."""
    robot = library_robot("fivebar")
    law = controller(robot, name, period=T, bandwidth=10.0)
    x = nacelle.reference_pose(robot)
    motion = DesiredMotion(x + 0.002, np.array([0.1, 0.2]), np.array([1.0, -2.0]))
    row = np.concatenate(motion)
    assert row_size(robot) == row.shape
    assert all(np.array_equal(a, b) for a, b in zip(desired_of_row(robot, row), motion, strict=True))
    z, q = law.start(x), law.coordinates(x)
    for _ in range(3):
        expected = law_of(law.kind)(robot, z, q, row, law.gains)
        force, z = law.step(z, q, motion)
        assert np.max(np.abs(force - expected["force"])) < 1e-9 * np.max(np.abs(expected["force"]))
        np.testing.assert_allclose(z, expected["memory"].astype(float), rtol=1e-7, atol=1e-9)


def test_a_start_out_of_reach() -> None:
    law = controller(library_robot("fivebar"), "sj", period=T, bandwidth=10.0)
    with pytest.raises(nacelle.UnreachableError):
        law.start([5.0, 5.0])


def test_every_motion_needs_an_actuator() -> None:
    with pytest.raises(UnderactuatedError, match=r"nothing drives cart.pivot of cart-pole, and a controller"):
        controller(mechanism("cart_pole"), "sj", period=T, bandwidth=10.0)


# ---- Default gains: well damped over the workspace, by the robot's linear model; warnings beyond

NAMES = ("fivebar", "3rrr", "delta", "palida", "quattro", "orthoglide", "gough-stewart")


def well_damped(name: str, delay: float, count: int) -> None:
    robot = library_robot(name)
    law = controller(robot, "cf-rb-friction", period=T, delay=delay).kind.feedback
    law = controller(robot, law.name, period=T, delay=delay)
    poles = loop_poles(law, sample_poses(robot, count, seed=11), delay=delay)
    assert poles.stable.all()
    assert np.min(poles.damping) >= 0.4


def test_default_gains_of_a_small_robot() -> None:
    well_damped("fivebar", 0.5 * T, 40)


@pytest.mark.slow
@pytest.mark.parametrize("delay", [0.0, 0.5 * T, T])
@pytest.mark.parametrize("name", NAMES)
def test_default_gains_of_the_library(name: str, delay: float) -> None:
    well_damped(name, delay, 150)


def test_a_bandwidth_beyond_sampling_is_warned_of() -> None:
    with pytest.warns(ControlWarning, match="beyond what sampling allows"):
        controller(library_robot("fivebar"), "sj", period=2e-3, bandwidth=100.0)


def test_a_bandwidth_beyond_a_natural_frequency_is_warned_of() -> None:
    with pytest.warns(ControlWarning, match="natural frequency of 30 Hz"):
        controller(library_robot("fivebar"), "sj", period=T, bandwidth=15.0, natural_frequency=30.0)
    # What is chosen stays below it.
    law = controller(library_robot("fivebar"), "sj", period=T, natural_frequency=30.0)
    chosen = np.sqrt(law.gain("stiffness") / masses_of(law.robot)[0].held) / (2.0 * np.pi)
    assert np.all(chosen <= 10.0 + 1e-9)


@pytest.mark.parametrize("change", [{"period": 0.0}, {"bandwidth": -1.0}, {"bandwidth": np.nan}])
def test_numbers_that_cannot_be(change: dict[str, float]) -> None:
    with pytest.raises(KinematicsError, match="above zero"):
        controller(library_robot("fivebar"), "sj", **change)


def test_unknown_controllers() -> None:
    with pytest.raises(KinematicsError, match="no controller is called 'cf-rp'"):
        controller(library_robot("fivebar"), "cf-rp")


@pytest.mark.costly
@pytest.mark.parametrize("name", CONTROLLERS)
def test_every_kind_holds_the_robot_where_it_is(name: str) -> None:
    """At rest at the desired pose the model's holding force is given, and the memory keeps its size."""
    robot, kind = library_robot("fivebar"), KINDS[name]()
    assert kind.name == name
    law = tuned(kind, robot, period=5e-4, bandwidth=5.0)
    x = nacelle.reference_pose(robot)
    shapes = input_shapes(law_of(kind), robot)
    assert shapes == {
        "z": (kind.memory(robot).size,),
        "q": (2,),
        "r": row_size(robot),
        "gains": law.gains.shape,
    }
    row = np.concatenate([x, np.zeros(4)])
    z = law.start(x)
    assert "stopped" in kind.memory(robot).names
    result = law_of(kind)(robot, z, law.coordinates(x), row, law.gains)
    assert np.shape(result["memory"]) == z.shape
    held = nacelle.inverse_dynamics(robot, x, np.zeros(2), np.zeros(2)).force
    expected = 0.0 * held if name == "sj" else held
    assert np.max(np.abs(np.asarray(result["force"], dtype=float) - expected)) < 1e-9


@pytest.mark.parametrize("name", ["cf-rb", "cf-rb-friction"])
def test_the_model_of_a_name_is_fed_forward(name: str, fivebar: Robot) -> None:
    """With no error the first force is that of inverse dynamics along the desired motion."""
    law = controller(fivebar, name, period=1e-3, bandwidth=5.0)
    assert law.name == name
    x, v, a = nacelle.reference_pose(fivebar), np.array([0.2, -0.1]), np.array([1.0, 2.0])
    force, _ = law.step(law.start(x), law.coordinates(x), DesiredMotion(x, v, a))
    friction = name == "cf-rb-friction"
    expected = nacelle.inverse_dynamics(
        fivebar, x, v, a, friction=friction, smooth=1e-3 if friction else None
    ).force
    assert force == pytest.approx(expected, rel=1e-9)


# ---- Poles of sampled loops, against differences of the native loop over one sample

T_OF_POLES, SUBSTEPS = 5e-4, 8


@pytest.mark.parametrize("delay", [0.0, 0.5 * T_OF_POLES])
def test_poles_are_those_of_the_loop_over_a_sample(delay: float) -> None:
    robot = library_robot("fivebar")
    law = controller(robot, "cf-rb", period=T_OF_POLES, delay=delay, bandwidth=20.0)
    x, n = sample_poses(robot, 3)[1], robot.motion.n
    rest = DesiredMotion(x, np.zeros(n), np.zeros(n))
    q, z = law.coordinates(x), law.start(x)
    for _ in range(5):
        force, z = law.step(z, q, rest)
    parts = RigidPlant(robot, friction=False).loop_parts()
    X = np.concatenate([RigidPlant(robot).state(x, np.zeros(n)), z, force])
    nudge = 1e-6 * np.eye(len(X))
    row = np.concatenate(rest)
    after = native_loop(law.sampled(x, row), parts).integrate(
        np.vstack([X + nudge, X - nudge]),
        np.concatenate([[0.0], row])[None],
        np.concatenate([parts.constants, law.gains])[None],
        h=T_OF_POLES / SUBSTEPS,
        steps=SUBSTEPS,
        held=SUBSTEPS,
        delay=round(delay / T_OF_POLES * SUBSTEPS),
    )
    slopes = (after.final[: len(X)] - after.final[len(X) :]).T / 2e-6
    expected = (
        np.log(np.array([value for value in np.linalg.eigvals(slopes) if 1e-3 < abs(value) < 1 - 1e-6]))
        / T_OF_POLES
    )
    found = loop_poles(law, x, delay=delay).values[0]
    assert len(expected) >= 8
    for pole in expected:
        assert np.nanmin(np.abs(found - pole)) < 1e-4 * abs(pole)


def test_lag_of_the_current_loops_takes_damping() -> None:
    robot = library_robot("fivebar")
    law = controller(robot, "sj", period=T_OF_POLES)
    x = nacelle.reference_pose(robot)
    plain, lagging = loop_poles(law, x), loop_poles(law, x, lag=1e-3)
    assert plain.stable.all()
    assert lagging.damping[0] < plain.damping[0] - 0.1
    # A pole of each current loop is added.
    assert np.sum(np.isfinite(lagging.values)) >= np.sum(np.isfinite(plain.values))


# ---- Samples of laws: their programs are shorter for it, and no step of an iteration is lost


@pytest.mark.slow
def test_shorter_and_newtons_steps_are_kept() -> None:
    robot, kind = library_robot("3rps"), SingleJoint("none")
    law = law_of(kind)
    shapes = input_shapes(law, robot)
    program = make_program(law, robot, shapes)
    plain = make_program(partial(law), robot, shapes)
    assert cost(program) < 0.7 * cost(plain)
    states, m = seeded_states(robot, 4, seed=3), len(robot.actuators)
    rng = np.random.default_rng(2)
    gains = rng.uniform(0.5, 1.5, shapes["gains"])
    for x, y, v, a in zip(states.x, states.y, states.v, states.a, strict=True):
        memory = kind.memory(robot)
        start = memory.join(kind.start(robot, x, y * (1.0 + 0.03 * rng.uniform(-1.0, 1.0, y.shape))))
        q = actuator_positions(robot, x, y)["q"] + 1e-3 * rng.uniform(-1.0, 1.0, m)
        row = [*start, *q, *x, *(0.1 * v), *a, *gains]
        short, long = (np.array(made.evaluate(row), dtype=float) for made in (program, plain))
        assert np.max(np.abs(short - long)) < 1e-11 * np.max(np.abs(long))
        found = memory.split(short[m:])["y_d"]
        assert np.max(np.abs(found - y)) < 1e-12


@pytest.mark.costly
@pytest.mark.parametrize("name", ["sj", "ct-cartesian", "adaptive", "impedance"])
def test_programs_are_checked_where_laws_give_forces_in_every_form(name: str) -> None:
    robot, kind = library_robot("quattro"), KINDS[name]()
    law = law_of(kind)
    shapes = input_shapes(law, robot)
    specification = Specification(law, robot, shapes)
    for row in check_sampler_of(law)(robot, shapes).check:
        given = np.array(row, dtype=float)
        own, tree = (specification.evaluated(given, form=form) for form in (None, Form.TREE))
        assert np.min(np.abs(own["force"])) > 0.0
        for output, values in tree.items():
            assert np.max(np.abs(own[output] - values)) < 1e-12 * np.max(np.abs(values))


@pytest.mark.parametrize("name", KINDS)
def test_every_part_has_words(name: str) -> None:
    """Every part of every controller is explained."""
    robot, kind = library_robot("fivebar"), KINDS[name]()
    words = kind.words()
    for what, fields in (("memory", kind.memory(robot)), ("gains", kind.gains(robot))):
        assert not [part for part in fields.names if not words.get(f"{what}.{part}")]


# ---- What is written, from files, texts, mappings and the package


class Small(Strict):
    """A model with one key."""

    number: float


def test_from_everywhere(tmp_path) -> None:
    path = tmp_path / "small.yaml"
    path.write_text("number: 3\n")
    for source in (path, str(path), "number: 3\n", {"number": 3}, "three"):
        assert read_written(Small, source, {"three": {"number": 3}})[0].number == 3.0


def test_places_of_what_is_wrong() -> None:
    with pytest.raises(DescriptionError) as caught:
        read_written(Small, "number: 1\nnumbr: 2\n")
    assert [(one.line, one.column) for one in caught.value.problems] == [(2, 1)]
    with pytest.raises(DescriptionError, match="or one of three"):
        read_written(Small, "four", {"three": {"number": 3}})
