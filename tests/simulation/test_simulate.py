"""Simulation: energy, closures, orders, inputs, events, what ends a run; against another engine."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import nacelle
from nacelle.kinematics import kinematic_model
from nacelle.kinematics.jacobian import conditioning, scaled_inverse
from nacelle.kinematics.limits import (
    closure_coordinates,
    is_beyond_actuator_limits,
    is_beyond_limits,
    relative_pose,
)
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.model.joint import FrictionTerm, JointKind, Primitive
from nacelle.model.robot import Robot
from nacelle.simulation.flow import rotation_vector_between
from nacelle.simulation.integration import Integration
from nacelle.simulation.protocol import Event, user_event
from nacelle.simulation.rigid_plant import (
    SINGULARITY_THRESHOLD,
    event_margins,
    event_names,
    joint_limits,
    rigid_plant,
    standard_events,
)
from nacelle.simulation.simulate import simulate
from support.library import library_robot
from support.random_robots.legs import CASES
from support.sprung import HEAVY, random_twist, sprung_robot
from support.sprung_mass import SprungMass
from support.uncompiled import named_robot, poses_around, run_uncompiled, solve_uncompiled

Array = np.ndarray
CASES_OF_SIMULATE = [("fivebar", 20.0), ("delta-codourey", 200.0), ("3rps", 2e4)]


def kept_energy(name: str, stiffness: float, until: float) -> None:
    robot, x = sprung_robot(name, stiffness)
    run = simulate(
        rigid_plant(robot, friction=False), x, random_twist(robot), until=until, samples=201, events=[]
    )
    assert run.ok
    assert np.ptp(run.energy) < 1e-9 * np.max(run.energies["kinetic"])
    assert run.closure_error < 1e-13
    if run.x.shape[1] == 7:
        np.testing.assert_allclose(np.linalg.norm(run.x[:, 3:], axis=1), 1.0, rtol=1e-15)


@pytest.mark.parametrize(("name", "stiffness"), CASES_OF_SIMULATE)
def test_energy_is_kept(name: str, stiffness: float) -> None:
    kept_energy(name, stiffness, 2.0)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "stiffness"), HEAVY)
def test_energy_is_kept_over_ten_seconds(name: str, stiffness: float) -> None:
    kept_energy(name, stiffness, 10.0)


@pytest.mark.parametrize("name", ["fivebar", "3rps"])
def test_order_of_the_fixed_step(name: str) -> None:
    robot, x = sprung_robot(name, 20.0 if name == "fivebar" else 2e4)
    plant = rigid_plant(robot, friction=False)
    exact = simulate(plant, x, random_twist(robot), until=0.2, events=[]).states[-1]
    errors = []
    for step in (2e-3, 1e-3):
        end = simulate(
            plant, x, random_twist(robot), until=0.2, integration=Integration("rk4", step=step), events=[]
        ).states[-1]
        errors.append(np.max(np.abs(end - exact)))
    assert 14.0 < errors[0] / errors[1] < 18.5


def test_native_and_python_steps_are_the_same() -> None:
    robot, x = sprung_robot("fivebar", 20.0)
    plant = rigid_plant(robot)
    force = np.array([0.3, -0.2])
    native = simulate(plant, x, tau=force, until=0.3, integration=Integration("rk4", step=1e-3), events=[])
    asked = simulate(
        plant, x, tau=lambda t: force, until=0.3, integration=Integration("rk4", step=1e-3), events=[]
    )
    rows = simulate(
        plant,
        x,
        tau=np.tile(force, (300, 1)),
        until=0.3,
        integration=Integration("rk4", step=1e-3),
        events=[],
    )
    np.testing.assert_allclose(asked.states, native.states, rtol=1e-12, atol=1e-14)
    np.testing.assert_array_equal(rows.states, native.states)


def test_the_same_motion_by_other_accelerations() -> None:
    """Accelerations from the floats' own mass matrix and bias, with SciPy's integrator."""
    robot, x = sprung_robot("fivebar", 20.0)
    v = random_twist(robot)

    def f(t: float, s: Array) -> Array:
        M = nacelle.mass_matrix(robot, s[:2])
        h = nacelle.bias_forces(robot, s[:2], s[2:], friction=False)
        return np.concatenate([s[2:], np.linalg.solve(M, -h)])

    theirs = solve_ivp(f, (0.0, 0.5), np.concatenate([x, v]), method="RK45", rtol=1e-10, atol=1e-12)
    ours = simulate(rigid_plant(robot, friction=False), x, v, until=0.5, events=[])
    np.testing.assert_allclose(ours.states[-1], theirs.y[:, -1], atol=1e-7)


def test_friction_takes_what_is_missing() -> None:
    robot, x = sprung_robot("fivebar", 20.0)
    run = simulate(
        rigid_plant(robot, smooth=1e-2), x, random_twist(robot), until=0.5, samples=20_001, events=[]
    )
    lost = run.energy[0] - run.energy[-1]
    power = run.energies["dissipation"]
    taken = np.sum(0.5 * (power[1:] + power[:-1]) * np.diff(run.t))
    assert lost > 0.0
    assert lost == pytest.approx(taken, rel=1e-6)
    stiff = simulate(
        rigid_plant(robot, smooth=1e-2),
        x,
        random_twist(robot),
        until=0.5,
        integration=Integration("radau", rtol=1e-8, atol=1e-10),
        events=[],
    )
    np.testing.assert_allclose(stiff.states[-1], run.states[-1], atol=1e-6)


def test_feedback_holds_a_pose() -> None:
    robot = library_robot("fivebar")
    x = nacelle.reference_pose(robot)
    target = nacelle.inverse_kinematics(robot, x).q
    moved = x + np.array([0.02, 0.01])

    def control(t: float, pose: Array, v: Array) -> Array:
        q = nacelle.kinematics.joint_motion(robot, pose, v).actuators
        weight = nacelle.gravity_forces(robot, pose, coordinates="actuators")
        return weight - 60.0 * (q[0] - target) - 3.0 * q[1]

    run = simulate(robot, moved, tau=control, until=0.5, integration=Integration("rk4", step=2e-3))
    assert np.linalg.norm(run.x[-1] - x) < 0.2 * np.linalg.norm(moved - x)


def test_events_end_the_run_and_keep_it() -> None:
    robot = library_robot("fivebar")
    x = nacelle.reference_pose(robot)
    plant = rigid_plant(robot, friction=False)
    v = np.array([0.0, 1.5])
    for method in ("dop853", "rk4"):
        run = simulate(plant, x, v, until=2.0, integration=Integration(method, step=1e-4))
        assert run.status == "event"
        assert "stretch" in run.message or "limit" in run.message or "singularity" in run.message
        assert 0.0 < run.t[-1] < 2.0
        assert len(run.t) == len(run.x) == len(run.tau)
        assert np.all(np.isfinite(run.x))
    own = user_event(plant, "the tip is high", lambda t, x, v: 0.3 - x[1])
    run = simulate(plant, x, v, until=2.0, events=[own])
    assert run.message.endswith("the tip is high")
    assert run.x[-1, 1] == pytest.approx(0.3, abs=1e-12)
    with pytest.raises(nacelle.KinematicsError, match="at the start already never"):
        simulate(plant, x, v, until=1.0, events=[Event("never", lambda t, s: -np.ones(len(t)))])


def test_resume_and_files(tmp_path: Path) -> None:
    robot, x = sprung_robot("fivebar", 20.0)
    plant = rigid_plant(robot, friction=False)
    whole = simulate(plant, x, random_twist(robot), until=0.4, events=[])
    first = simulate(plant, x, random_twist(robot), until=0.2, events=[])
    both = first.resume(0.4, events=[])
    np.testing.assert_allclose(both.x[-1], whole.x[-1], atol=1e-10)
    assert np.all(np.diff(both.t) > 0.0)
    path = tmp_path / "run"
    whole.to_csv(f"{path}.csv")
    whole.to_npz(f"{path}.npz")
    lines = Path(f"{path}.csv").read_text(encoding="utf-8").splitlines()
    poses = "\n".join(",".join(line.split(",")[:3]) for line in lines)
    back = nacelle.trajectory.read_waypoints(poses, robot.motion)
    np.testing.assert_allclose(back.points, whole.x)
    with np.load(f"{path}.npz") as saved:
        np.testing.assert_array_equal(saved["x"], whole.x)
    assert "dop853" in whole._repr_html_()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"until": -1.0}, "must end after it begins"),
        ({"until": 1.0, "tau": [1.0, 2.0, 3.0]}, "have the shape"),
        (
            {"until": 1.0, "integration": Integration("rk4", step=0.5), "tau": np.zeros((3, 2))},
            "forces for 2 steps",
        ),
        ({"until": 1.0, "v0": [np.nan, 0.0]}, "not finite"),
        ({"until": 1.0, "tau": [np.nan, 0.0]}, "forces of fivebar are not finite"),
        ({"until": 1.0, "tau": "strong"}, "are numbers or a function, got 'strong'"),
        ({"until": 1.0, "tau": lambda t: [np.nan, 0.0]}, r"the force f\(t\) is not finite at 0 s"),
        ({"until": 1.0, "tau": lambda t, x, v: [np.nan, 0.0]}, "the derivative of the state"),
    ],
)
def test_mistakes(options: dict, words: str) -> None:
    robot = library_robot("fivebar")
    with pytest.raises(nacelle.KinematicsError, match=words):
        simulate(robot, nacelle.reference_pose(robot), **options)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"method": "euler"}, "no method is called 'euler'"),
        ({"method": "rk4", "step": 0.0}, "the step must be above zero"),
        ({"step": np.inf}, "the step must be finite"),
        ({"method": "irk5", "substeps": 0}, "one substep or more"),
    ],
)
def test_mistakes_of_the_integration(options: dict, words: str) -> None:
    with pytest.raises(nacelle.KinematicsError, match=words):
        Integration(**options)


def test_what_is_no_plant() -> None:
    with pytest.raises(nacelle.KinematicsError, match="'fivebar' is no plant"):
        simulate("fivebar", [0.0, 0.28], until=1.0)
    with pytest.raises(nacelle.KinematicsError, match="smooth must be above zero"):
        rigid_plant(library_robot("fivebar"), smooth=-1.0)


def test_a_singularity_ends_the_run_at_its_condition() -> None:
    """A five-bar falls into its parallel singularity; limits are left out."""
    robot = library_robot("fivebar")
    plant = rigid_plant(robot, friction=False)
    run = simulate(
        plant, nacelle.reference_pose(robot), until=1.0, events=standard_events(plant.robot, limits=False)
    )
    assert run.message.endswith("a parallel singularity is near")
    assert nacelle.jacobian(robot, run.x[-1]).conditioning == pytest.approx(1e-3, rel=1e-6)


@pytest.mark.slow
def test_stiction_holds_and_lets_go() -> None:
    """Dry friction in the drives alone: each holds up to its Coulomb torque, and not beyond."""
    robot = library_robot("delta-codourey")
    joints = list(robot.joints)
    for actuator in robot.actuators:
        dry = ((FrictionTerm("coulomb", 0.6),),)
        joints[actuator.joint] = dataclasses.replace(joints[actuator.joint], friction=dry)
    robot = dataclasses.replace(robot, joints=tuple(joints))
    x = nacelle.pose(robot, [0.1, 0.05, -0.62])
    hold = nacelle.gravity_forces(robot, x, coordinates="actuators")
    plant = rigid_plant(robot, smooth=1e-8)
    settings = {"integration": Integration("radau", rtol=1e-6, atol=1e-12)}
    rest = simulate(plant, x, tau=hold + np.array([0.5, -0.4, 0.3]), until=5.0, samples=11, **settings)
    assert np.max(np.abs(rest.x[-1] - x)) < 1e-7
    moves = user_event(plant, "it moves", lambda t, pose, v: 1e-6 - np.max(np.abs(v)))
    away = simulate(
        plant, x, tau=lambda t: hold + np.array([0.4 * t, 0.0, 0.0]), until=2.0, events=[moves], **settings
    )
    assert away.message.endswith("it moves")
    assert 0.4 * away.t[-1] == pytest.approx(0.6, abs=2e-3)


@pytest.mark.parametrize("method", ["dop853", "radau", "rk4"])
def test_dense_output(method: str) -> None:
    plant = SprungMass()
    options = {"step": 0.01} if method == "rk4" else {"rtol": 1e-9, "atol": 1e-11}
    run = simulate(
        plant,
        [1.0],
        [0.5],
        lambda t: np.array([np.cos(1.3 * t)]),
        until=2.0,
        integration=Integration(method, **options),
    )
    t = np.linspace(0.0, 2.0, 103)
    now = run.at(t)
    exact = np.array([plant.exact(time, 1.0, 0.5, 1.3) for time in t])
    np.testing.assert_allclose(now.state, exact, atol={"dop853": 1e-7, "radau": 1e-7, "rk4": 2e-7}[method])
    np.testing.assert_allclose(now.inputs[:, 0], np.cos(1.3 * t), rtol=1e-12)
    assert run.at(0.5).x.shape == (1,)
    np.testing.assert_allclose(run.at(run.t).state, run.states, rtol=1e-12, atol=1e-13)


# ---- What ends a run, as numbers: limits against the coordinates of all joints, singularity by its condition

NAMES = ("fivebar", "delta-codourey", "delta4", "gough-stewart", "c5", "3rps", "everything", "redundant")
MADE = ("6 P-C5", "6 UPS cut at the slide", "3 R[SS|SS]")


def robot_called(name: str) -> Robot:
    return CASES[name](1).robot if name in CASES else named_robot(name)


def states_at(robot: Robot, x: Array, y: Array) -> Array:
    mechanism, quat_0 = mechanism_of(robot), rigid_plant(robot).constants
    place = mechanism.layout.quaternion
    c = x
    if place is not None:
        turns = np.array([rotation_vector_between(quat_0, quat) for quat in x[:, place]])
        c = np.concatenate([x[:, : place.start], turns, x[:, place.stop :]], axis=1)
    return np.concatenate([c, np.zeros((len(x), robot.motion.n)), y], axis=1)


def numbers(robot: Robot, x: Array, y: Array) -> Array:
    quat_0 = np.broadcast_to(rigid_plant(robot).constants, (len(x), 4))
    return run_uncompiled(event_margins, robot, states_at(robot, x, y), quat_0)[""]


def coordinates(robot: Robot, x: Array, y: Array) -> tuple[list[Array], Array]:
    """Coordinates (N, nq) of every joint, and (N, actuators)."""
    found = run_uncompiled(kinematic_model.joint_positions, robot, x, y)
    bodies = run_uncompiled(kinematic_model.body_poses, robot, x, y)
    tree = [found["q"][:, place] for place in robot.q_slices]
    cut = [
        closure_coordinates(joint, *relative_pose(joint, bodies["R"], bodies["p"]))
        for joint in robot.closures
    ]
    return [*tree, *cut], found["active"]


def between(values: Array, turns: bool) -> tuple[float, float]:
    """Limits that some of the values are beyond, on both sides; none where they hardly differ."""
    if turns:
        values = values[0] + (values - values[0] + np.pi) % (2.0 * np.pi) - np.pi
    low, high = np.quantile(values, [0.2, 0.8])
    return (float(low), float(high)) if high - low > 1e-6 else (-np.inf, np.inf)


def tightly_limited(robot: Robot, q: list[Array], active: Array) -> Robot:
    joints = []
    for joint, own in zip(robot.joints, q, strict=True):
        pairs, start = [], 0
        for primitive in joint.primitives:
            part = own[:, start : start + primitive.nq]
            start += primitive.nq
            if primitive is Primitive.SPHERICAL:
                tilt = np.arccos(np.clip(1.0 - 2.0 * (part[:, 0] ** 2 + part[:, 1] ** 2), -1.0, 1.0))
                pairs.append(between(tilt, False))
            else:
                pairs.append(between(part[:, 0], primitive.is_rotation))
        joints.append(dataclasses.replace(joint, limits=tuple(pairs)))
    drives = tuple(
        dataclasses.replace(
            drive, position=between(active[:, k], robot.joints[drive.joint].primitives[0].is_rotation)
        )
        for k, drive in enumerate(robot.actuators)
    )
    return dataclasses.replace(robot, joints=tuple(joints), actuators=drives)


@pytest.mark.parametrize("name", [*NAMES, *MADE])
def test_limits_are_met_where_the_coordinates_say(name: str) -> None:
    plain = robot_called(name)
    x = poses_around(plain, 60, seed=3)
    y = solve_uncompiled(plain, x)
    q, active = coordinates(plain, x, y)
    robot = tightly_limited(plain, q, active)
    found = numbers(robot, x, y)
    limits = joint_limits(robot)
    assert found.shape == (60, len(event_names(robot)))
    bad = found[:, found.shape[1] - len(limits) :] <= 0.0
    driven = {drive.joint for drive in robot.actuators}
    assert any(bad.any(axis=0))
    for j, joint in enumerate(robot.joints):
        if joint.kind is JointKind.POINT or j in driven:
            continue
        mine = [k for k, limit in enumerate(limits) if limit.primitive is not None and limit.joint == j]
        np.testing.assert_array_equal(
            bad[:, mine].any(axis=1), is_beyond_limits(joint, q[j]), err_msg=joint.name
        )
    mine = [k for k, limit in enumerate(limits) if limit.primitive is None]
    np.testing.assert_array_equal(bad[:, mine].any(axis=1), is_beyond_actuator_limits(robot, active))


@pytest.mark.parametrize("name", NAMES)
def test_the_bound_is_below_the_condition(name: str) -> None:
    robot = robot_called(name)
    x = poses_around(robot, 40, seed=4)
    y = solve_uncompiled(robot, x)
    bound = numbers(robot, x, y)[:, 0] + SINGULARITY_THRESHOLD
    J = run_uncompiled(kinematic_model.inverse_jacobian, robot, x, y)["J"]
    square = conditioning(scaled_inverse(robot, J)) ** 2
    assert np.all(bound <= square * (1.0 + 1e-9))
    assert np.all(bound >= square / robot.motion.n**2 * (1.0 - 1e-6))


def test_a_limit_that_an_angle_cannot_meet_is_not_watched() -> None:
    robot = named_robot("fivebar")
    whole = tuple(dataclasses.replace(drive, position=(-3.5, 3.5)) for drive in robot.actuators)
    joints = tuple(dataclasses.replace(joint, limits=()) for joint in robot.joints)
    assert joint_limits(dataclasses.replace(robot, actuators=whole, joints=joints)) == []
