"""Control: compare, controller, fields, gains, kind, law, named, poles, samples, sensors, words, written."""

from __future__ import annotations

import dataclasses
import json
import re
from functools import partial

import numpy as np
import pytest

import nacelle
from nacelle.compile import Specification, make_program
from nacelle.control.blocks.signals import StopReason
from nacelle.control.compare import Comparison, compare
from nacelle.control.controller import Controller, law_function
from nacelle.control.gains import ControlWarning, effective_masses, loop_quality, smallest_damping_ratio
from nacelle.control.kind import DesiredMotion, desired_motion_from_row, desired_row_shape
from nacelle.control.laws.single_joint import SingleJoint
from nacelle.control.loop.closed_loop import LoopOptions, closed_loop
from nacelle.control.named import CONTROL_LAWS, CONTROLLERS, controller
from nacelle.control.poles import StateSpaces, delay_margin, loop_poles
from nacelle.control.yaml_input import read_specification
from nacelle.dynamics.jacobian import sample_poses
from nacelle.errors import DescriptionError, KinematicsError, UnderactuatedError
from nacelle.export.states import random_states
from nacelle.kinematics.kinematic_model import actuator_positions
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.model.description.fields import Strict
from nacelle.model.robot import Robot
from nacelle.program.cost import cost
from nacelle.simulation.digital_controller import DigitalController, law_alone, native_loop
from nacelle.simulation.rigid_plant import rigid_plant
from nacelle.simulation.sensors import MISSING, Gap, Sensors, law_with_encoders
from nacelle.spatial.physics import Form, check_sampler_of, input_shapes, physics
from nacelle.spatial.scalar import Array
from nacelle.trajectory.paths import Circle
from support.described import mechanism
from support.hostile import HOSTILE, PERIOD, admissible, hostile_robot, hostile_samples, path_out_of_reach
from support.library import library_robot
from support.pairwise import pairwise

# ---- Controllers side by side


def test_runs_are_those_of_each_alone(comparison: Comparison, fivebar: Robot, turn: Circle) -> None:
    alone = closed_loop(
        fivebar, controller(fivebar, "cf-rb", period=1e-3), turn, options=LoopOptions(settle=0.3)
    )
    assert np.array_equal(alone.error, comparison["cf-rb"].error)


def test_table_and_summary(comparison: Comparison) -> None:
    table = comparison.rows
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
    assert desired_row_shape(robot) == row.shape
    assert all(np.array_equal(a, b) for a, b in zip(desired_motion_from_row(robot, row), motion, strict=True))
    z, q = law.start(x), law.coordinates(x)
    for _ in range(3):
        expected = law_function(law.kind)(robot, z, q, row, law.gains)
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

NAMES = {
    "planar": ("fivebar", "3rrr"),
    "translating": ("delta", "orthoglide"),
    "six motions": ("palida", "gough-stewart"),
    "articulated": ("quattro",),
}


def well_damped(name: str, delay: float, count: int) -> None:
    robot = library_robot(name)
    law = controller(robot, "cf-rb-friction", period=T, delay=delay).kind.feedback_law
    law = controller(robot, law.name, period=T, delay=delay)
    poles = loop_poles(law, sample_poses(robot, count, seed=11), delay=delay)
    assert poles.stable.all()
    assert np.min(poles.damping) >= 0.4


def test_default_gains_of_a_small_robot() -> None:
    well_damped("fivebar", 0.5 * T, 40)


@pytest.mark.thinned(3)
@pytest.mark.slow
@pytest.mark.parametrize(("name", "delay"), pairwise(name=NAMES, delay=(0.0, 0.5 * T, T)))
def test_default_gains_of_the_library(name: str, delay: float) -> None:
    well_damped(name, delay, 150)


def test_a_bandwidth_beyond_sampling_is_warned_of_or_refused() -> None:
    """What is unstable or nearly so is refused with the bandwidths that are not, or forced."""
    robot = library_robot("fivebar")
    with pytest.warns(ControlWarning, match="beyond what sampling allows"):
        controller(robot, "sj", period=2e-3, bandwidth=15.0, damping=0.5)
    with pytest.raises(KinematicsError, match=r"is unstable.*force_gains") as refused:
        controller(robot, "sj", period=2e-3, bandwidth=100.0)
    stable, acceptable = map(
        float, re.findall(r"([\d.]+) Hz (?:it is stable|is acceptable)", str(refused.value))
    )
    with pytest.raises(KinematicsError, match=r"is poorly damped: .* below 0\.1"):
        controller(robot, "sj", period=2e-3, bandwidth=0.99 * stable)
    with pytest.raises(KinematicsError, match="is unstable: the smallest"):
        controller(robot, "sj", period=2e-3, bandwidth=1.05 * stable)
    # Well enough damped, but not with forces that are a sample late.
    with pytest.raises(KinematicsError, match=r"one sample late: its delay margin is 1\.\d+ ms"):
        controller(robot, "sj", period=2e-3, bandwidth=1.2 * acceptable)
    tuned = controller(robot, "sj", period=2e-3, bandwidth=0.99 * acceptable)
    assert smallest_damping_ratio(tuned) >= 0.45
    with pytest.warns(ControlWarning, match="forced: sj of fivebar"):
        forced = controller(robot, "sj", period=2e-3, bandwidth=100.0, force_gains=True)
    assert forced.tuned is not None
    assert forced.tuned.forced
    assert loop_quality(forced, forced.tuned).delay_margin == 0.0


@pytest.mark.parametrize("name", ["sj", pytest.param("ct-observer", marks=pytest.mark.slow)])
def test_a_count_of_an_encoder_makes_no_more_force_than_is_stated(name: str) -> None:
    """The ripple is what a reading that is a count off adds to the forces of samples at rest."""
    robot, resolution = library_robot("fivebar"), 4e-4
    law = controller(robot, name, resolution=resolution)
    assert law.tuned is not None
    assert law.tuned.bandwidth < controller(robot, name).tuned.bandwidth
    ripple = loop_quality(law, law.tuned).ripple
    limit = np.array([actuator.force for actuator in robot.actuators])
    assert np.all(ripple <= 0.05 * limit)
    largest = np.zeros(2)
    for x in effective_masses(robot)[1].x:
        rest, q = DesiredMotion(x, np.zeros(2), np.zeros(2)), law.coordinates(x)
        for off in resolution * np.eye(2):
            z = law.start(x)
            for _ in range(5):
                held, z = law.step(z, q, rest)
            for _ in range(10):
                force, z = law.step(z, q + off, rest)
                largest = np.maximum(largest, np.abs(force - held))
    np.testing.assert_allclose(largest, ripple, rtol=0.02)
    with pytest.raises(KinematicsError, match=r"ripples: one count of an encoder makes .* more than 1 %"):
        controller(robot, name, resolution=resolution, bandwidth=20.0, ripple=0.01)


@pytest.mark.parametrize("name", ["sj", pytest.param("ct-cartesian", marks=pytest.mark.slow)])
def test_the_delay_margin_is_where_oscillations_begin_to_grow(name: str) -> None:
    """By the law itself around the linear robot in fine steps, with forces that wait in a queue."""
    robot, period, parts = library_robot("fivebar"), 2e-3, 50
    law = controller(robot, name, period=period, bandwidth=15.0)
    x = np.asarray(nacelle.reference_pose(robot), dtype=float)
    plant = StateSpaces(*(part[:1] for part in effective_masses(robot)[1]))
    margin = delay_margin(law, plant)
    A, B, C = plant.A[0], plant.B[0], plant.C[0]
    step = np.eye(4) + A * period / parts
    q, rest = law.coordinates(x), DesiredMotion(x, np.zeros(2), np.zeros(2))
    held, _ = law.step(law.start(x), q, rest)
    growth = []
    for further in (0.9 * margin, 1.15 * margin):
        queue = [np.zeros(2)] * (1 + round(further / period * parts))
        s, z, size = np.array([1e-6, -2e-6, 0.0, 0.0]), law.start(x), []
        for _ in range(600):
            force, z = law.step(z, q + C @ s, rest)
            for _ in range(parts):
                queue.append(force - held)
                s = step @ s + B @ queue.pop(0) * (period / parts)
            size.append(np.max(np.abs(C @ s)))
        growth.append(max(size[-100:]) / max(size[100:200]))
    assert growth[0] < 0.9
    assert growth[1] > 1.1


def test_a_bandwidth_beyond_a_natural_frequency_is_warned_of() -> None:
    with pytest.warns(ControlWarning, match="natural frequency of 30 Hz"):
        controller(library_robot("fivebar"), "sj", period=T, bandwidth=15.0, natural_frequency=30.0)
    # What is chosen stays below it.
    law = controller(library_robot("fivebar"), "sj", period=T, natural_frequency=30.0)
    chosen = np.sqrt(law.gain("stiffness") / effective_masses(law.robot)[0].held) / (2.0 * np.pi)
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
    robot, kind = library_robot("fivebar"), CONTROL_LAWS[name]()
    assert kind.name == name
    law = controller(robot, kind, period=5e-4, bandwidth=5.0)
    x = nacelle.reference_pose(robot)
    shapes = input_shapes(law_function(kind), robot)
    assert shapes == {
        "z": (kind.memory(robot).size,),
        "q": (2,),
        "r": desired_row_shape(robot),
        "gains": law.gains.shape,
    }
    row = np.concatenate([x, np.zeros(4)])
    z = law.start(x)
    assert "stopped" in kind.memory(robot).names
    result = law_function(kind)(robot, z, law.coordinates(x), row, law.gains)
    assert np.shape(result["memory"]) == z.shape
    held = nacelle.inverse_dynamics(robot, x, np.zeros(2), np.zeros(2)).tau
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
    ).tau
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
    parts = rigid_plant(robot, friction=False).loop_parts()
    X = np.concatenate([rigid_plant(robot).state(x, np.zeros(n)), z, force])
    nudge = 1e-6 * np.eye(len(X))
    row = np.concatenate(rest)
    after = native_loop(law.digital(x, row), parts).integrate(
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
    law = law_function(kind)
    shapes = input_shapes(law, robot)
    program = make_program(law, robot, shapes)
    plain = make_program(partial(law), robot, shapes)
    assert cost(program) < 0.7 * cost(plain)
    states, m = random_states(robot, 4, seed=3), len(robot.actuators)
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
    robot, kind = library_robot("quattro"), CONTROL_LAWS[name]()
    law = law_function(kind)
    shapes = input_shapes(law, robot)
    specification = Specification(law, robot, shapes)
    for row in check_sampler_of(law)(robot, shapes).check:
        given = np.array(row, dtype=float)
        own, tree = (specification.evaluate(given, form=form) for form in (None, Form.TREE))
        assert np.min(np.abs(own["force"])) > 0.0
        for output, values in tree.items():
            assert np.max(np.abs(own[output] - values)) < 1e-12 * np.max(np.abs(values))


@pytest.mark.parametrize("name", CONTROL_LAWS)
def test_every_part_has_words(name: str) -> None:
    """Every part of every controller is explained."""
    robot, kind = library_robot("fivebar"), CONTROL_LAWS[name]()
    words = kind.labels
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
        assert read_specification(Small, source, {"three": {"number": 3}})[0].number == 3.0


def test_places_of_what_is_wrong() -> None:
    with pytest.raises(DescriptionError) as caught:
        read_specification(Small, "number: 1\nnumbr: 2\n")
    assert [(one.line, one.column) for one in caught.value.problems] == [(2, 1)]
    with pytest.raises(DescriptionError, match="or one of three"):
        read_specification(Small, "four", {"three": {"number": 3}})


# ---- Hostile desired motions and measured states, in every law: no force leaves, and the status says why

QUICK = ("fivebar", "quattro")


def cases() -> list:
    """Every law of every robot: those of quick robots, a covering set of them as slow, and all as soak."""
    quick = {(robot, name) for robot in QUICK for name in ("sj", "ct-cartesian")}
    quick |= {("fivebar", name) for name in CONTROLLERS} | {("redundant planar 4-RRR", "ct-cartesian")}
    covering = set(pairwise(robot=HOSTILE, name=tuple(CONTROLLERS)))
    every = [(robot, name) for robots in HOSTILE.values() for robot in robots for name in CONTROLLERS]
    marks = [[] if c in quick else [pytest.mark.slow if c in covering else pytest.mark.soak] for c in every]
    return [pytest.param(*case, marks=mark) for case, mark in zip(every, marks, strict=True)]


def made_for(robot: Robot, name: str) -> Controller:
    """A slow controller, for which a path out of the workspace takes few samples."""
    return controller(robot, name, period=PERIOD, bandwidth=1.0, damping=1.0, force_gains=True)


@pytest.mark.thinned
@pytest.mark.costly
@pytest.mark.parametrize(("robot_name", "name"), cases())
def test_a_path_out_of_reach_stops_at_its_first_sample_there(robot_name: str, name: str) -> None:
    made = made_for(hostile_robot(robot_name), name)
    robot = made.robot
    stopped = made.kind.memory(robot).slice_of("stopped").start
    for seed in range(3):
        motions = path_out_of_reach(robot, seed)
        good = admissible(robot, motions)
        first = int(np.argmin(good))
        assert 3 < first < len(motions)
        readings = made.coordinates(np.array([motion.x for motion in motions[:first]]))
        z = made.start(motions[0].x)
        for k, motion in enumerate(motions[: first + 1]):
            force, z = made.step(z, readings[min(k, first - 1)], motion)
            if z[stopped]:
                break
        assert not force.any()
        # Readings follow the path, not the forces: what a law expects of these may be refused before.
        status = StopReason(int(z[stopped])).status
        assert status in (3, 4), (seed, k, first)
        # A band of rounding and of differences is as wide as a sample at most.
        assert k >= first - (2 if status == 3 else 15), (seed, k, first)


@pytest.mark.thinned
@pytest.mark.costly
@pytest.mark.parametrize(("robot_name", "name"), cases())
def test_one_bad_number_stops_every_law_at_once(robot_name: str, name: str) -> None:
    made = made_for(hostile_robot(robot_name), name)
    robot = made.robot
    stopped = made.kind.memory(robot).slice_of("stopped").start
    x = np.asarray(mechanism_of(robot).reference[0], dtype=float)
    q, zero = made.coordinates(x), np.zeros(robot.motion.n)
    start = made.start(x)
    for _ in range(4):
        force, start = made.step(start, q, DesiredMotion(x, zero, zero))
        assert np.isfinite(force).all()
        assert start[stopped] == 0.0
    count = 0
    for what, readings, motion, status in hostile_samples(made):
        force, z = made.step(start, readings, motion)
        missed = made.kind.memory(robot).split(z)["missed"][0]
        if status < 0:
            # Readings of no pose are bridged; others are too fast.
            assert StopReason(int(z[stopped])).status == 4 or missed == 1.0, what
        else:
            assert StopReason(int(z[stopped])).status == status, what
        if z[stopped]:
            count += 1
            assert not force.any(), what
            assert np.array_equal(np.delete(z, stopped), np.delete(start, stopped)), what
            force, again = made.step(z, q, DesiredMotion(x, zero, zero))
            assert not force.any()
            assert np.array_equal(again, z)
    assert count > 9 * robot.motion.n


@pytest.mark.costly
@pytest.mark.parametrize("name", [name for name in CONTROLLERS if name not in ("sj", "cf-rb")])
def test_a_loop_ends_at_the_sample_that_is_out_of_reach(name: str) -> None:
    """In the native loop with a plant: no force of the setpoint acts, and the arm stays where it is."""
    robot = nacelle.load("fivebar")
    made = controller(robot, name, period=5e-4, bandwidth=10.0)
    x = nacelle.reference_pose(robot)
    rows = np.tile(np.concatenate([x, np.zeros(4)]), (200, 1))
    rows[20:, 1] += 10.0
    plant = nacelle.simulation.rigid_plant(robot, friction=False)
    run = nacelle.simulate(
        plant,
        x,
        None,
        made.digital(x, rows),
        until=0.1,
        integration=nacelle.simulation.Integration("rk4", step=2.5e-4),
    )
    assert run.message.startswith("at 0.01 s the controller stopped: the desired pose is out of reach")
    late = run.t >= 0.01 - 1e-9
    assert not run.tau[late].any()
    assert np.max(np.abs(run.x - x)) < 1e-5


# ---- Sensors of a controller


@physics(z=(2,), q=(2,), r=(1,), gains=(1,))
def echo(robot: Robot, z: Array, q: Array, r: Array, gains: Array) -> dict[str, Array]:
    """Remember the readings; commands are the reference and the gain."""
    return {"force": np.array([r[0], gains[0]]), "memory": q}


def test_readings_are_counted_noisy_and_missing(fivebar: Robot) -> None:
    law = law_alone(
        DigitalController(law_with_encoders(echo), 1e-3, memory=np.zeros(2), gains=np.zeros(3)), fivebar
    )
    rng = np.random.default_rng(0)
    for _ in range(20):
        q, noise, step = rng.normal(size=2), 0.01 * rng.normal(size=2), 0.003
        row = np.concatenate([[7.0], noise, [1.0, -1.0]])
        found = law(np.zeros(2), q, row, np.array([5.0, step, step]))
        assert found["force"].tolist() == [7.0, 5.0]
        # Half up: as the formula says, not as np.round does.
        assert found["memory"][0] == pytest.approx(step * np.floor((q + noise)[0] / step + 0.5), abs=1e-15)
        assert found["memory"][1] == MISSING
        plain = law(np.zeros(2), q, np.concatenate([[7.0], noise, [1.0, 1.0]]), np.array([5.0, 0.0, step]))
        assert plain["memory"][0] == (q + noise)[0]


def test_rows_follow_seed_and_gaps(fivebar: Robot) -> None:
    time = 1e-3 * np.arange(20000)
    second = fivebar.actuators[1].name
    sensors = Sensors(noise=2.0, dropout=0.1, late=0.05, gaps=(Gap(1.0, 1.1), Gap(2.0, 2.2, second)))
    rows = sensors.rows(fivebar, time, 3)
    assert np.array_equal(rows, sensors.rows(fivebar, time, 3))
    assert not np.array_equal(rows, sensors.rows(fivebar, time, 4))
    # The same seed has the same losses, however much noise there is.
    louder = Sensors(noise=4.0, dropout=0.1, late=0.05, gaps=sensors.gaps).rows(fivebar, time, 3)
    assert np.array_equal(louder[:, 2:], rows[:, 2:])
    assert louder[:, :2] == pytest.approx(2.0 * rows[:, :2])
    assert np.std(rows[:, :2]) == pytest.approx(2.0, rel=0.02)
    missing = rows[:, 2:] < 0.0
    assert missing[1000:1100].all()
    assert missing[2000:2200, 1].all()
    assert not missing[2000:2200, 0].all()
    assert np.mean(missing[3000:]) == pytest.approx(1.0 - 0.9 * 0.95, abs=0.01)
    # What is late is late for all actuators at once.
    both = Sensors(late=0.2).rows(fivebar, time, 0)[:, 2:]
    assert np.array_equal(both[:, 0], both[:, 1])
    assert Sensors.ideal().is_complete
    assert not sensors.is_complete


def test_mistakes_of_sensors(fivebar: Robot) -> None:
    time = np.zeros(1)
    with pytest.raises(KinematicsError, match=r"no actuator 'left.moto'; did you mean 'left.motor'"):
        Sensors(gaps=(Gap(0.0, 1.0, "left.moto"),)).rows(fivebar, time, 0)
    with pytest.raises(
        KinematicsError, match=r"dropout of the sensors is from 0 to 1, got 1.5 for left.motor"
    ):
        Sensors(dropout=1.5).rows(fivebar, time, 0)
    with pytest.raises(KinematicsError, match="one for each of the 2 actuators"):
        Sensors(resolution=[1e-6] * 3).resolutions(fivebar)
    with pytest.raises(KinematicsError, match="late"):
        Sensors(late=-0.1).rows(fivebar, time, 0)


def test_a_long_gap_stops_the_controller_and_a_short_one_does_not(fivebar: Robot, turn: Circle) -> None:
    law = controller(fivebar, "sj", period=1e-3)
    patience = int(law.gain("patience")[0])
    short = Sensors(gaps=(Gap(0.2, 0.2 + 1e-3 * patience - 5e-4),))
    run = closed_loop(fivebar, law, turn, options=LoopOptions(settle=0.1, sensors=short))
    assert run.ok
    run = closed_loop(
        fivebar, law, turn, options=LoopOptions(settle=0.1, sensors=Sensors(gaps=(Gap(0.2, 0.4),)))
    )
    assert run.status == "event"
    assert "readings were missing" in run.message
    assert run.time[-1] == pytest.approx(0.2 + 1e-3 * patience, abs=1.1e-3)
    assert run.summary()["samples"] == run.samples
