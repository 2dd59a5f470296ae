"""Controllers and plants in C: equal to those of Python sample by sample; missing readings, starts, stops."""

from __future__ import annotations

import ctypes
import json
import re
from pathlib import Path

import numpy as np
import pytest

import nacelle
from nacelle.control.blocks.signals import StopReason
from nacelle.control.controller import Controller
from nacelle.control.kind import DesiredMotion
from nacelle.control.named import CONTROLLERS, controller
from nacelle.dynamics.base_parameters.base_parameters import base_parameters
from nacelle.dynamics.jacobian import sample_poses
from nacelle.kinematics.kinematic_model import actuator_positions, closure_equations
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.native import compile_native
from nacelle.simulation.rigid_plant import rigid_plant
from support.cc import COMPILERS, SANITIZE, WARNINGS
from support.controllers import QUICK, CController, address_of, compile_package, macro_value, swinging_motion
from support.hostile import HOSTILE, PERIOD, hostile_robot, hostile_samples
from support.library import library_robot
from support.packages import run_self_test
from support.pairwise import pairwise
from support.stress_robots import STRESS

pytestmark = pytest.mark.skipif(not COMPILERS, reason="neither gcc nor clang is installed")

CASES = [
    ("fivebar", "cf-rb-friction"),
    *(
        pytest.param(*case, marks=pytest.mark.slow)
        for case in (
            *(("fivebar", name) for name in CONTROLLERS if name != "cf-rb-friction"),
            ("3rps", "cf-rb-friction"),
            ("quattro", "cf-rb-friction"),
            ("palida", "cf-rb-friction"),
            ("h4", "sj"),
            ("redundant planar 4-RRR", "cf-rb-friction"),
        )
    ),
]


@pytest.mark.thinned
@pytest.mark.slow
@pytest.mark.parametrize(("robot_name", "name"), CASES)
def test_the_controller_of_python_sample_by_sample(tmp_path: Path, robot_name: str, name: str) -> None:
    robot = STRESS[robot_name](1) if robot_name in STRESS else library_robot(robot_name)
    of_python = controller(robot, name)
    done = nacelle.export(
        robot, out=tmp_path / "p", target=nacelle.io.CTarget(controller=of_python, self_test=False)
    )
    printed = run_self_test(
        done.out, ("-O1", *SANITIZE[2:]) if (robot_name, name) == ("fivebar", "sj") else QUICK
    )
    assert printed.endswith("all is well\n")
    assert f"{done.name}_controller_step_f" in printed
    of_c = CController(compile_package(done.out), done.name, of_python)
    q, motions = swinging_motion(of_python, 120)
    q[30:33, 0] = np.nan
    q[50] = np.inf
    assert of_c.reset(motions[0].x) == 0
    memory = of_python.start(motions[0].x)
    assert np.max(np.abs(of_c.memory - memory)) < 1e-10
    assert np.array_equal(of_c.gains, of_python.gains)
    forces, memory = run(of_python, q, motions)
    codes, found = zip(*(of_c.step(*sample) for sample in zip(q, motions, strict=True)), strict=True)
    # A last bit of a reading is multiplied by gains over the sample time: no more may differ.
    bits = 4.0 * np.finfo(float).eps * np.random.default_rng(1).choice([-1.0, 1.0], q.shape)
    by_rounding = np.max(np.abs(run(of_python, q * (1.0 + bits), motions)[0] - forces))
    assert np.max(np.abs(np.array(found) - forces)) < 1e-12 * np.max(np.abs(forces)) + 4.0 * by_rounding
    assert by_rounding < 1e-9 * np.max(np.abs(forces))
    assert [k for k, code in enumerate(codes) if code] == [30, 31, 32, 50]
    assert np.max(np.abs(of_c.memory - memory)) < 1e-9 * np.max(np.abs(memory))


def run(made: Controller, q: np.ndarray, motions: list[DesiredMotion]) -> tuple[np.ndarray, np.ndarray]:
    """Forces of all samples, and the memory after them, by the controller of Python."""
    memory, forces = made.start(motions[0].x), []
    for reading, motion in zip(q, motions, strict=True):
        force, memory = made.step(memory, reading, motion)
        forces.append(force)
    return np.array(forces), memory


@pytest.fixture(scope="module")
def fivebar(tmp_path_factory: pytest.TempPathFactory):
    """A package of the five-bar, its library and its controller."""
    robot = library_robot("fivebar")
    made = controller(robot, "cf-rb-friction")
    done = nacelle.export(
        robot,
        out=tmp_path_factory.mktemp("fivebar") / "p",
        target=nacelle.io.CTarget(controller=made, precision="double", self_test=False),
    )
    return done, compile_package(done.out), made


def test_missing_readings_stop_it_and_a_reset_starts_it(fivebar) -> None:
    done, library, made = fivebar
    c = CController(library, done.name, made)
    q, motions = swinging_motion(made, 60)
    patience = int(made.gain("patience")[0])
    assert c.reset(motions[0].x) == 0
    nothing = np.full(2, np.nan)
    codes = []
    for k in range(60):
        code, force = c.step(q[k] if k < 20 else nothing, motions[k])
        assert np.isfinite(force).all()
        codes.append(code)
    assert codes == [0] * 20 + [1] * patience + [2] * (40 - patience)
    assert np.array_equal(force, [0.0, 0.0])
    # Readings that are back do not start it again; a reset does.
    assert c.step(q[0], motions[0])[0] == 2
    assert c.reset(motions[0].x) == 0
    code, force = c.step(q[0], motions[0])
    assert code == 0
    assert np.max(np.abs(force)) > 0.0


def test_a_path_out_of_reach_is_a_stop(fivebar) -> None:
    done, library, made = fivebar
    c = CController(library, done.name, made)
    q, motions = swinging_motion(made, 3)
    for bad in (np.array([5.0, 5.0]), np.full(2, np.nan)):
        assert c.reset(motions[0].x) == 0
        assert c.step(q[0], motions[0])[0] == 0
        before = c.memory.copy()
        code, force = c.step(q[1], DesiredMotion(bad, motions[1].v, motions[1].a))
        assert code == 3
        assert np.array_equal(force, [0.0, 0.0])
        stopped = made.kind.memory(made.robot).slice_of("stopped").start
        assert c.memory[stopped] == c.reason == (4 if np.isfinite(bad).all() else 3)
        assert np.array_equal(np.delete(c.memory, stopped), np.delete(before, stopped))
        assert c.step(q[2], motions[2])[0] == 2
        # A start out of reach is an error, and gives a controller that does nothing.
        assert c.reset(bad) == 1
        code, force = c.step(q[0], motions[0])
        assert (code, *force) == (2, 0.0, 0.0)
        assert c.reason == 1


# ---- What a stop does, wild readings, starts from the encoders


def lopsided(robot: nacelle.Robot, seed: int) -> nacelle.Robot:
    """A robot with other masses, none of which is on an axis."""
    rng, values = np.random.default_rng(seed), robot.parameter_vector("inertia").reshape(-1, 10)
    values = values * rng.uniform(0.8, 1.2, (len(values), 1))
    values[:, 1:4] += 0.02 * robot.size * values[:, :1] * rng.normal(size=(len(values), 3))
    return robot.with_parameters(values.ravel(), "inertia")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "name"),
    [("fivebar", "cf-rb"), ("palida", "sj"), ("3rps", "ct-cartesian"), ("redundant planar 4-RRR", "cf-rb")],
)
def test_a_stop_holds_or_brakes_within_limits(tmp_path: Path, source: str, name: str) -> None:
    """At rest it holds the weight of the model, damps what moves, and lets go at rest if it brakes."""
    robot = lopsided(hostile_robot(source), 2)
    x, zero = np.asarray(nacelle.reference_pose(robot), dtype=float), np.zeros(robot.motion.n)
    weight = nacelle.inverse_dynamics(robot, x, zero, zero, friction=False).tau
    limit = np.array([actuator.force for actuator in robot.actuators])
    weight = weight / max(1.0, np.max(np.abs(weight) / limit))
    rest, gone = DesiredMotion(x, zero, zero), DesiredMotion(x + np.nan, zero, zero)
    for kind in ("hold", "brake"):
        guards = {"on_stop": kind, "on_glitch": "bridge", "force_gains": True}
        made = controller(robot, name, period=1e-3, bandwidth=5.0, **guards)
        done = nacelle.export(
            robot,
            "kinematics",
            out=tmp_path / kind,
            target=nacelle.io.CTarget(controller=made, precision="double", self_test=False),
        )
        c = CController(compile_package(done.out, (*QUICK, *WARNINGS)), done.name, made)
        q, speed = made.coordinates(x), np.array([actuator.speed for actuator in robot.actuators])
        step = made.period * np.where(np.isfinite(speed), speed, 2.0)
        assert c.reset_encoders(q + 0.01 * step)[0] == 0
        status, pose = c.reset_encoders(q)
        assert (status, c.reason) == (0, 0)
        assert np.max(np.abs(pose - x)) < 1e-9
        assert c.reset_encoders(np.full(len(q), np.nan))[0] == 2
        assert (c.step(q, rest)[0], c.reason) == (2, 1)
        assert c.reset_encoders(q)[0] == 0
        for _ in range(3):
            assert c.step(q, rest)[0] == 0
        # One wild reading is bridged: the force is that at rest, and nothing is left of it.
        held = c.step(q, rest)[1]
        for jump in (5.0 * step, np.array([1e6, *np.zeros(len(q) - 1)])):
            # A drive without a described speed has no wild readings.
            code, force = c.step(q + (jump if np.isfinite(speed).all() else np.nan), rest)
            assert code == 1
            assert np.max(np.abs(force - held)) < 1e-3 * np.max(np.abs(held)) + 1e-6
            assert c.step(q, rest)[0] == 0
        assert c.step(q, gone)[0] == 3
        assert (c.reason, c.reason_text) == (3, StopReason.DESIRED_NOT_FINITE.text)
        forces = np.array([c.step(q, rest)[1] for _ in range(4)])
        assert np.max(np.abs(forces - weight)) < 1e-6 * max(1.0, np.max(np.abs(weight)))
        # Motion at a twentieth of the speed of the drives: damped, and never beyond the limits.
        for k in range(1, 40):
            code, force = c.step(q + 0.05 * k * step * np.sign(np.arange(len(q)) - 0.5), rest)
            assert code == 2
            assert np.all(np.abs(force) <= limit * (1.0 + 1e-12))
        assert (force - weight) @ (step * np.sign(np.arange(len(q)) - 0.5)) < 0.0
        forces = np.array([c.step(q if k else q + 1e6, rest)[1] for k in range(400)])
        assert np.all(np.abs(forces) <= limit * (1.0 + 1e-12))
        assert np.max(np.abs(forces[-1] - (weight if kind == "hold" else 0.0))) < 1e-6 * np.max(limit)
        # Without readings a hold keeps its force, and a brake lets go.
        assert c.reset(x) == 0
        codes = [c.step(q if k < 5 else q * np.nan, rest) for k in range(40)]
        assert [code for code, _ in codes[4:17]] == [0, *[1] * 10, 2, 2]
        assert np.max(np.abs(codes[-1][1] - (weight if kind == "hold" else 0.0))) < 1e-6 * np.max(limit)


def test_glitches_that_last_stop_the_machine(tmp_path: Path) -> None:
    robot = library_robot("fivebar")
    made = controller(robot, "sj", on_glitch="bridge")
    x, zero = np.asarray(nacelle.reference_pose(robot), dtype=float), np.zeros(2)
    rest, q = DesiredMotion(x, zero, zero), made.coordinates(x)
    memory, codes = made.start(x), []
    for k in range(60):
        _, memory = made.step(memory, q + (0.0 if k < 5 else 1.0), rest)
        codes.append(int(made.kind.memory(robot).split(memory)["stopped"][0]))
    assert codes[:15] == [0] * 15
    assert codes[15:] == [2] * 45


COVERING = pairwise(robot=HOSTILE, name=tuple(CONTROLLERS), precision=("double", "float"))
QUICKLY = (
    ("fivebar", "impedance", "double"),
    ("delta", "ct-cartesian", "double"),
    ("quattro", "sj", "float"),
)


@pytest.mark.thinned
@pytest.mark.slow
@pytest.mark.parametrize(
    ("robot_name", "name", "precision"),
    [*QUICKLY, *(pytest.param(*case, marks=pytest.mark.slow) for case in COVERING if case not in QUICKLY)],
)
def test_hostile_samples_stop_every_law_at_once(
    tmp_path: Path, robot_name: str, name: str, precision: str
) -> None:
    """The status says why in the sample itself, and there is no force from there on."""
    robot = hostile_robot(robot_name)
    made = controller(robot, name, period=PERIOD, bandwidth=1.0, damping=1.0, force_gains=True)
    done = nacelle.export(
        robot, out=tmp_path / "p", target=nacelle.io.CTarget(controller=made, precision=precision)
    )
    c = CController(compile_package(done.out), done.name, made, precision)
    x, zero = np.asarray(nacelle.reference_pose(robot), dtype=float), np.zeros(robot.motion.n)
    q, rest = made.coordinates(x), DesiredMotion(x, zero, zero)
    for what, readings, motion, status in hostile_samples(made):
        assert c.reset(x) == 0
        assert [c.step(q, rest)[0] for _ in range(4)] == [0] * 4
        code, force = c.step(readings, motion)
        assert code == status or (status < 0 and code in (1, 4)), what
        if code > 1:
            assert not force.any(), what
            code, force = c.step(q, rest)
            assert (code, *force) == (2, *np.zeros(len(q))), what


def test_parts_by_name_and_gains_in_the_field(fivebar) -> None:
    done, library, made = fivebar
    one, other = (CController(library, done.name, made) for _ in range(2))
    q, motions = swinging_motion(made, 20)
    assert one.reset(motions[0].x) == other.reset(motions[0].x) == 0
    place = macro_value(done.out, "FIVEBAR_CONTROLLER_GAINS_AT_LIMIT")
    other.gains[place : place + 2] = 0.01
    for reading, motion in zip(q, motions, strict=True):
        full, held = one.step(reading, motion)[1], other.step(reading, motion)[1]
        assert np.max(np.abs(held)) <= 0.01
    assert np.max(np.abs(full)) > 0.01
    place = macro_value(done.out, "FIVEBAR_CONTROLLER_MEMORY_AT_MISSED")
    other.step(np.full(2, np.nan), motions[-1])
    assert (one.memory[place], other.memory[place]) == (0.0, 1.0)


@pytest.mark.slow
def test_parameters_that_are_adapted_have_names(tmp_path: Path) -> None:
    """Those of the base parameters, in the struct's order, in the header and as texts."""
    robot = library_robot("fivebar")
    made = controller(robot, "adaptive", on_stop="hold", resolution=1e-5)
    done = nacelle.export(
        robot,
        out=tmp_path / "p",
        target=nacelle.io.CTarget(controller=made, precision="double", self_test=False),
    )
    library = compile_package(done.out, (*QUICK, *WARNINGS))
    name_of = library.fivebar_controller_parameter_name
    name_of.restype = ctypes.c_char_p
    names = base_parameters(robot, assume="nothing", shared="legs").names
    count = made.kind.memory(robot).sizes["parameters"]
    texts = [name_of(index).decode() for index in range(count)]
    assert len(set(texts)) == count
    assert len(set(texts) & set(names)) >= 10
    assert [name_of(index) for index in (-1, count)] == [b"unknown"] * 2
    header = (done.out / "include" / "fivebar_controller.h").read_text()
    for index, name in enumerate(texts):
        assert re.search(rf"FIVEBAR_PARAMETER_\w+ = {index}, /\* {re.escape(name)} \*/", header)
    assert f"FIVEBAR_CONTROLLER_PARAMETERS = {count}" in header
    assert json.loads((done.out / "nacelle.json").read_text())["controller"]["parameters"] == texts


# ---- Starts at any pose in C: legs found by iteration are those of the Python API, or an error is returned


@pytest.mark.slow
@pytest.mark.parametrize("name", ["3rps", "delta4", "quattro", "h4"])
def test_starts(tmp_path: Path, name: str) -> None:
    robot = library_robot(name)
    made = controller(robot, "sj")
    done = nacelle.export(
        robot,
        out=tmp_path / "p",
        target=nacelle.io.CTarget(controller=made, precision="double", self_test=False),
    )
    library = compile_package(done.out)
    assemble = getattr(library, f"{done.name}_assemble")
    c = CController(library, done.name, made)
    far = sample_poses(robot, 40, seed=4)
    # Struts reach everywhere: what no robot reaches is no pose.
    for x, reached in [(x, True) for x in far] + [(np.full(far.shape[1], np.nan), False)]:
        y = np.zeros(mechanism_of(robot).unknown_count)
        status = assemble(address_of(np.array(x)), address_of(y))
        assert status == (0 if reached else 1)
        assert c.reset(x) == status
        if reached:
            assert np.array_equal(c.memory[: len(y)], y)
            # Idle spins of rods are as they come: what counts are closed loops, and the actuators.
            assert np.max(np.abs(compile_native(closure_equations, robot)(x, y)["residual"])) < 1e-10
            active = compile_native(actuator_positions, robot)(x, y)["q"]
            assert np.max(np.abs(active - made.coordinates(x))) < 1e-9


# ---- Plants in C: the same motion as that of `simulate`, encoders and starts of the Python API


@pytest.mark.costly
@pytest.mark.parametrize("name", ["fivebar", "3rps", "palida"])
def test_the_plant_of_python(tmp_path: Path, name: str) -> None:
    robot = library_robot(name)
    done = nacelle.export(
        robot,
        out=tmp_path / "p",
        target=nacelle.io.CTarget(plant=True, precision="double", self_test=False),
        smooth=0.01,
    )
    assert run_self_test(done.out, QUICK).endswith("all is well\n")
    library, plant = compile_package(done.out), rigid_plant(robot, smooth=0.01)
    x = sample_poses(robot, 1, seed=2)[0]
    force = np.random.default_rng(1).uniform(-1.0, 1.0, len(robot.actuators))
    state = np.full(macro_value(done.out, f"{done.name}_PLANT_STATE_SIZE".upper()), np.nan)
    assert getattr(library, f"{done.name}_plant_start")(address_of(x), address_of(state)) == 0
    assert np.max(np.abs(state - plant.state(x, np.zeros(robot.motion.n)))) < 1e-10
    start = state.copy()
    rk4 = getattr(library, f"{done.name}_plant_rk4")
    rk4.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_double]
    rk4.argtypes += [ctypes.c_size_t, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_void_p]
    assert rk4(address_of(state), address_of(force), 0, 1e-4, 50, 0, None, None) == 0
    wanted = plant.driver().integrate(start, force[None], h=1e-4, steps=50)[-1]
    assert np.max(np.abs(state - wanted)) < 1e-11
    q, v = np.full(len(robot.actuators), np.nan), np.full(robot.motion.n, np.nan)
    getattr(library, f"{done.name}_plant_encoders")(address_of(state), address_of(q))
    getattr(library, f"{done.name}_plant_pose")(address_of(state), address_of(x), address_of(v))
    pose, twist = plant.split(wanted)
    assert np.allclose(x, pose, atol=1e-12)
    assert np.allclose(v, twist, atol=1e-11)
    assert np.allclose(q, nacelle.inverse_kinematics(robot, pose).q, atol=1e-11)
    nowhere = np.full(len(x), np.nan)
    assert getattr(library, f"{done.name}_plant_start")(address_of(nowhere), address_of(state)) == 1
