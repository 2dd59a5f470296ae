"""Angles through several turns: springs, energies, limits, tables and exported plants follow them."""

from __future__ import annotations

import ctypes
import dataclasses
from pathlib import Path

import numpy as np
import pytest

import nacelle
from nacelle.kinematics.mechanism.mechanism import mechanism_of, with_turn_counting
from nacelle.model.joint import Joint, Spring
from nacelle.simulation.rigid_plant import rigid_plant
from support.cc import COMPILERS
from support.command import run
from support.controllers import QUICK, address_of, compile_package
from support.far_states import random_states
from support.fmus import open_fmu
from support.library import library_robot
from support.packages import run_self_test
from support.stress_robots import STRESS
from support.turning_robots import ARM, MASS, REST, STIFFNESS, G, four_bar, pendulum, telescope

TURN = 2.0 * np.pi
SWING = ([0.35, 0.2, 0.1], [-2.8, 4.9, 40.0])
TELESCOPES = [{"hip": (0.3, 0.9)}, {"wrist": (0.2, 1.0)}, {"hip": (0.3, 0.9), "wrist": (0.2, 1.0)}]


def turns(run: nacelle.simulation.Simulation, joint: str) -> float:
    """By how many turns a joint moves to and fro; it must not jump."""
    q = run.joints.joint(joint)[:, 0]
    assert np.max(np.abs(np.diff(q))) < 1.0
    return float(np.ptp(q) / TURN)


# ---- energies


@pytest.mark.costly
@pytest.mark.parametrize("method", ["dop853", "radau"])
def test_a_pendulum_on_a_torsion_spring(method: str) -> None:
    """T + U by hand, of the angle as it is: it goes three turns forth and back."""
    run = nacelle.simulate(
        pendulum(), [0.5], [120.0], until=3.0, integration=nacelle.simulation.Integration(method)
    )
    q, rate = run.x[:, 0], run.v[:, 0]
    assert run.status == "done"
    assert np.ptp(q) > 4.0 * TURN
    energy = 0.5 * MASS * (ARM * rate) ** 2 - MASS * G * ARM * np.cos(q) + 0.5 * STIFFNESS * (q - REST) ** 2
    np.testing.assert_allclose(energy, energy[0], rtol=1e-10)
    np.testing.assert_allclose(run.energy, energy, rtol=1e-12)
    np.testing.assert_array_equal(run.joints.q_tree[:, 0], q)


@pytest.mark.slow
@pytest.mark.parametrize(("joint", "least"), [("crank", 1.5), ("knee", 2.0), ("tip", 0.1), ("foot", 0.1)])
def test_springs_in_a_loop_that_iteration_closes(joint: str, least: float) -> None:
    robot = four_bar({joint: (0.02, 0.5)})
    run = nacelle.simulate(robot, [1.0], [20.0], until=2.0)
    assert run.status == "done"
    assert turns(run, f"bars.{joint}") > least
    assert np.max(np.abs(run.balance)) < 1e-10 * run.energy[0]
    assert len(mechanism_of(rigid_plant(robot).robot).counted) == (joint == "foot")


@pytest.mark.slow
@pytest.mark.parametrize("springs", TELESCOPES, ids=str)
@pytest.mark.parametrize("method", ["dop853", "radau"])
def test_springs_in_closed_form_and_at_closures(springs: dict[str, tuple[float, float]], method: str) -> None:
    """Energies by hand of the springs, of angles that are unwrapped here."""
    robot = telescope(springs)
    run = nacelle.simulate(robot, *SWING, until=1.5, integration=nacelle.simulation.Integration(method))
    assert run.status == "done"
    assert np.max(np.abs(run.balance)) < 1e-10 * run.energy[0]
    plain = nacelle.simulate(telescope(), *SWING, until=0.1).plant
    whole = plain.energies(np.concatenate([run.x, run.v], axis=1))["potential"]
    ik = nacelle.inverse_kinematics(robot, run.x)
    for name, (stiffness, rest) in springs.items():
        q = np.unwrap(ik.joint(f"arm.{name}")[:, 0])
        assert np.ptp(q) > 1.2 * TURN
        whole = whole + 0.5 * stiffness * (q - rest) ** 2
    np.testing.assert_allclose(run.energies["potential"], whole, rtol=1e-10)


@pytest.mark.slow
def test_a_run_goes_on_with_its_turns() -> None:
    robot = telescope(TELESCOPES[0])
    whole = nacelle.simulate(
        robot, *SWING, until=1.0, integration=nacelle.simulation.Integration("rk4", step=1e-4)
    )
    parts = nacelle.simulate(
        robot, *SWING, until=0.6, integration=nacelle.simulation.Integration("rk4", step=1e-4)
    ).resume(until=1.0)
    np.testing.assert_allclose(parts.states[-1], whole.states[-1], rtol=0, atol=1e-12)
    many = nacelle.simulation.simulate_many(
        robot, *SWING, until=1.0, integration=nacelle.simulation.Integration("rk4", step=1e-4)
    )
    np.testing.assert_allclose(np.asarray(many.final)[0], whole.states[-1], rtol=0, atol=1e-9)


# ---- forces along a motion


@pytest.mark.slow
@pytest.mark.parametrize("formulation", ["compact", "tree", "bodies", "jourdain"])
def test_formulations_along_turns(formulation: str) -> None:
    """The spring of a driven joint adds k (q - q_0) to its motor, q with all its turns."""
    robot, t = telescope({"hip": (3.0, 0.9), "wrist": (2.0, 0.0)}), np.linspace(0.0, 3.0 * TURN, 200)
    x = np.stack([0.4 * np.cos(t), 0.4 * np.sin(t), 0.3 - 0.5 * t], axis=1)
    moved = with_turn_counting(robot)
    joints = nacelle.inverse_kinematics(moved, x, follow=True)
    np.testing.assert_allclose(joints.q[:, 0], t, rtol=0, atol=1e-12)
    np.testing.assert_allclose(joints.joint("arm.wrist")[:, 0], 0.3 - 1.5 * t, rtol=0, atol=1e-12)
    found = nacelle.inverse_dynamics(moved, x, guess=joints, formulation=formulation).tau
    without = nacelle.inverse_dynamics(telescope(), x, formulation=formulation).tau
    expected = np.stack([3.0 * (t - 0.9), 0.0 * t, 2.0 * (0.3 - 1.5 * t)], axis=1)
    np.testing.assert_allclose(found - without, expected, rtol=0, atol=1e-9)


@pytest.mark.slow
def test_tables_of_a_motion(tmp_path: Path) -> None:
    """`dynamics --csv` and `ik --csv` through three turns: coordinates and forces of a sprung hip."""
    robot = telescope({"hip": (3.0, 0.9)})
    path = nacelle.Circle([0.0, 0.0, 0.3], 0.4, motion=robot.motion, turns=3, duration=6.0)
    sizing = nacelle.dynamics.size_motors(robot, path, rate=100.0)
    plain = nacelle.dynamics.size_motors(telescope(), path, rate=100.0)
    assert np.ptp(sizing.q[:, 0]) == pytest.approx(3.0 * TURN, rel=1e-12)
    np.testing.assert_allclose(sizing.q, plain.q, rtol=0, atol=1e-12)
    np.testing.assert_allclose(sizing.tau[:, 0] - plain.tau[:, 0], 3.0 * (sizing.q[:, 0] - 0.9), atol=1e-9)
    (tmp_path / "r.yaml").write_text(robot.to_yaml())
    t = sizing.times
    rows = np.column_stack([t, sizing.sample.x])
    text = "\n".join(",".join(map(repr, row)) for row in rows.tolist())
    (tmp_path / "x.csv").write_text("t,x,y,rz\n" + text)
    (tmp_path / "poses.csv").write_text(
        "\n".join(["x,y,rz", *(row.split(",", 1)[1] for row in text.split())])
    )
    for options in (("x.csv",), ("x.csv", "--follow"), ("poses.csv", "--follow")):
        name, *more = options
        listed = run("ik", str(tmp_path / "r.yaml"), "--csv", str(tmp_path / name), *more).stdout.splitlines()
        place = [head.split()[0].strip('"') for head in listed[0].split(",")].index("arm.hip")
        hip = np.array([float(line.split(",")[place]) for line in listed[1:]])
        np.testing.assert_allclose(hip, sizing.q[:, 0], rtol=0, atol=1e-9)


@pytest.mark.slow
def test_a_controller_that_knows_the_spring() -> None:
    """Computed forces along three turns: without the turns the spring would be wrong by up to 57 N m."""
    robot = telescope({"hip": (3.0, 0.9)})
    path = nacelle.Circle([0.0, 0.0, 0.3], 0.4, motion=robot.motion, turns=3, duration=4.0)
    law = nacelle.control.controller(robot, "cf-rb", period=1e-3)
    run = nacelle.control.closed_loop(robot, law, path, options=nacelle.control.LoopOptions(seed=1))
    assert run.status == "done"
    assert np.max(np.abs(run.error)) < 5e-4


# ---- limits


def test_a_motor_with_limits_beyond_half_a_turn() -> None:
    """Limits of 0 and 220 degrees: 201.9 degrees is read as such, everywhere."""
    robot = telescope({"hip": (2.0, 0.5)}, {"hip": (0.0, np.deg2rad(220.0))})
    angle = np.deg2rad(201.9)
    x = np.array([0.4 * np.cos(angle), 0.4 * np.sin(angle), 0.2])
    assert with_turn_counting(robot) is robot
    found = nacelle.inverse_kinematics(robot, x)
    assert found.ok
    assert found.q[0] == pytest.approx(angle, abs=1e-12)
    assert found.q_tree[0] == pytest.approx(angle, abs=1e-12)
    assert found.joint("arm.hip")[0] == pytest.approx(angle, abs=1e-12)
    force = nacelle.inverse_dynamics(robot, x).tau - nacelle.inverse_dynamics(telescope(), x).tau
    np.testing.assert_allclose(force, [2.0 * (angle - 0.5), 0.0, 0.0], rtol=0, atol=1e-9)
    beyond = np.deg2rad(225.0)
    assert not nacelle.inverse_kinematics(robot, [0.4 * np.cos(beyond), 0.4 * np.sin(beyond), 0.2]).ok
    # As a user of forward kinematics may have it, a turn off.
    back = nacelle.forward_kinematics(robot, found.q - [TURN, 0.0, 0.0], guess=x)
    assert back.flags == 0


def test_limits_more_than_a_turn_apart_are_met_after_their_turns() -> None:
    low, high = np.deg2rad(-100.0), np.deg2rad(500.0)
    robot = telescope({}, {"hip": (low, high)})
    run = nacelle.simulate(robot, *SWING, until=3.0)
    assert run.status == "event"
    assert "arm.hip is at its upper limit" in run.message
    assert run.joints.joint("arm.hip")[-1, 0] == pytest.approx(high, abs=1e-6)
    t = np.linspace(0.0, np.deg2rad(520.0), 200)
    x = np.stack([0.4 * np.cos(t), 0.4 * np.sin(t), 0.0 * t], axis=1)
    path = nacelle.inverse_kinematics(robot, x).as_path()
    # The first pose is read about the middle of the limits, 200 degrees: at 360, not at 0.
    np.testing.assert_allclose(path.q_tree[:, 0], t + TURN, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(path.ok, t + TURN <= high + 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_windows_of_limits_at_random(seed: int) -> None:
    """Limits of hip and wrist anywhere, less than a turn apart: angles are read within them, forces too."""
    rng = np.random.default_rng(seed)
    middle, half = rng.uniform(-8.0, 8.0, 2), rng.uniform(1.0, 3.1, 2)
    rest = middle + rng.uniform(-3.0, 3.0, 2)
    limits = {n: (float(m - h), float(m + h)) for n, m, h in zip(("hip", "wrist"), middle, half, strict=True)}
    springs = {n: (2.0, float(r)) for n, r in zip(("hip", "wrist"), rest, strict=True)}
    q = middle + half * rng.uniform(-1.0, 1.0, (40, 2))
    x = np.stack([0.4 * np.cos(q[:, 0]), 0.4 * np.sin(q[:, 0]), q.sum(axis=1)], axis=1)
    robot = telescope(springs, limits)
    found = nacelle.inverse_kinematics(robot, x)
    assert np.all(found.ok), limits
    np.testing.assert_allclose(found.q[:, [0, 2]], q, rtol=0, atol=1e-11)
    for formulation in ("compact", "tree", "bodies", "legs", "jourdain"):
        force = nacelle.inverse_dynamics(robot, x, formulation=formulation).tau
        force = force - nacelle.inverse_dynamics(telescope(), x, formulation=formulation).tau
        np.testing.assert_allclose(force[:, [0, 2]], 2.0 * (q - rest), rtol=0, atol=1e-9)


# ---- exports


@pytest.mark.slow
@pytest.mark.skipif(not COMPILERS, reason="neither gcc nor clang is installed")
def test_a_plant_in_c(tmp_path: Path) -> None:
    robot = telescope(TELESCOPES[2])
    done = nacelle.export(
        robot, out=tmp_path / "p", target=nacelle.io.CTarget(plant=True, precision="double")
    )
    assert run_self_test(done.out, QUICK).endswith("all is well\n")
    library, plant = compile_package(done.out), rigid_plant(robot)
    x, v = np.array(SWING[0]), np.array(SWING[1])
    state, start = np.zeros(8), plant.state(x, v)
    assert getattr(library, f"{done.name}_plant_start")(address_of(x), address_of(state)) == 0
    np.testing.assert_allclose(state, plant.state(x, 0.0 * v), rtol=0, atol=1e-14)
    rk4 = getattr(library, f"{done.name}_plant_rk4")
    rk4.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_double]
    rk4.argtypes += [ctypes.c_size_t, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_void_p]
    state[:] = start
    assert rk4(address_of(state), address_of(np.zeros(3)), 0, 1e-4, 15000, 0, None, None) == 0
    assert abs(state[6] - start[6]) > TURN
    energy = [sum(plant.energies(s)[part] for part in ("kinetic", "potential")) for s in (start, state)]
    assert energy[1] == pytest.approx(energy[0], rel=1e-10)


@pytest.mark.slow
@pytest.mark.skipif(not COMPILERS, reason="neither gcc nor clang is installed")
def test_outputs_of_an_fmu(tmp_path: Path) -> None:
    """Motors without limits: those with a spring have states, the others continue from step to step."""
    robot = telescope({"wrist": (0.2, 1.0)})
    out = tmp_path / "one.fmu"
    nacelle.export(robot, (), out=out, target="fmi")
    run = nacelle.simulate(
        robot, *SWING, until=1.0, integration=nacelle.simulation.Integration("rk4", step=1e-3), samples=101
    )
    with open_fmu(out) as one:
        one.set("start.", [*SWING[0], *SWING[1]])
        one.initialise()
        read = [one.get("position.")]
        for k in range(100):
            one.instance.doStep(0.01 * k, 0.01)
            read.append(one.get("position."))
    np.testing.assert_allclose(np.array(read), run.joints.q, rtol=0, atol=1e-6)
    assert np.ptp(run.joints.q[:, 0]) > 2.0 * TURN


# ---- all forms


@pytest.mark.costly
@pytest.mark.parametrize("name", ["fivebar", "loop inside a leg", "h4", "orthoglide", "3rrr"])
def test_forms_read_the_same_turns(name: str) -> None:
    """Springs on every axis that turns freely: relations of angles hold but for whole turns."""
    rng = np.random.default_rng(3)

    def sprung(joint: Joint) -> Joint:
        axes = [primitive.is_rotation and primitive.nq == 1 for primitive in joint.primitives]
        if not any(axes):
            return joint
        springs = tuple(Spring(rng.uniform(5, 15), rng.uniform(-2.5, 2.5)) if axis else None for axis in axes)
        return dataclasses.replace(joint, springs=springs, limits=((-np.inf, np.inf),) * len(axes))

    if name in STRESS:
        robot = STRESS[name](1)
    else:
        robot = library_robot(name)
        robot = dataclasses.replace(robot, joints=tuple(map(sprung, robot.joints)), declaration=None)
    states = random_states(robot, 400, 5)
    found = nacelle.inverse_dynamics(robot, *states)
    exact = nacelle.inverse_dynamics(robot, *states, formulation="tree").tau[found.flags == 0]
    assert len(exact) > 40
    apart = np.max(np.abs(found.tau[found.flags == 0] - exact), axis=1)
    assert np.max(apart / np.max(np.abs(exact), axis=1)) < 1e-9
