"""Springs and dampers between bodies, and end stops: alike in all formulations, and MuJoCo's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import mujoco
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import nacelle
from nacelle.compact import models as general
from nacelle.compact import regressor as general_regressor
from nacelle.compact.plan import reason_for_tree
from nacelle.dynamics import reference as tree
from nacelle.dynamics.compliance import (
    add_forces_between_bodies,
    end_stop,
    limit_excess,
    stop_effort,
    stop_energy,
    torsion_spring_states,
)
from nacelle.dynamics.physics import ALL_TERMS, WITHOUT_FRICTION, Physics
from nacelle.dynamics.state import state_at
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.sample_states import sample_states
from nacelle.model.joint import Joint, JointKind, Stop
from nacelle.model.leg import Damper, LineSpring, TorsionSpring
from nacelle.model.linear_parameters import linear_parameters, with_linear_parameters
from nacelle.model.robot import Robot
from nacelle.papers.registration import FORMULATIONS
from nacelle.simulation.rigid_plant import joint_limits
from nacelle.spatial.pose import Pose
from nacelle.spatial.scalar import Array
from nacelle.tree.spanning_tree import CosineSine, TreeKinematics, coordinate_from_transform
from support.described import mechanism
from support.random_robots.loads import with_springs, with_springs_and_stops
from support.uncompiled import named_robot


def _floats(value: Array) -> Array:
    return np.asarray(value, dtype=float)


def _same(mine: Array, other: Array) -> None:
    np.testing.assert_allclose(_floats(mine), _floats(other), rtol=0, atol=1e-11 * np.max(np.abs(other)))


def damped_robot(robot: Robot) -> Robot:
    """A robot with dampers: platform and base, leg and base, leg and platform, leg and leg."""
    last = len(robot.bodies) - 1
    pairs = ((1, 0), (0, 2), (last, 1), (2, last))
    return replace(robot, dampers=tuple(Damper(f"d{k}", pair, 0.3 + k) for k, pair in enumerate(pairs)))


@pytest.mark.costly
@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("fivebar", with_springs_and_stops),
        ("3rrr", damped_robot),
        ("delta", with_springs_and_stops),
        ("everything", with_springs_and_stops),
        ("h4", with_springs_and_stops),
    ],
)
def test_all_formulations_and_the_linear_form_agree(name: str, make: Callable[[Robot], Robot]) -> None:
    """Springs, dampers, end stops that are met and rotors on spherical joints, at once; dampers alone."""
    robot = make(named_robot(name))
    mechanism, rng = mechanism_of(robot), np.random.default_rng(1)
    x, y = sample_states(mechanism, 1)[0]
    n = robot.motion.n
    v, a, load, tau = (
        rng.normal(size=n),
        rng.normal(size=n),
        np.zeros(n),
        rng.normal(size=len(robot.actuators)),
    )
    force = _floats(tree.inverse(robot, x, y, v, a, load)["force"])
    for formulation, own in FORMULATIONS.items():
        if not own.reason_not(mechanism):
            _same(tree.inverse(robot, x, y, v, a, load, formulation=formulation)["force"], force)
    _same(general.inverse(robot, x, y, v, a, load)["force"], force)
    forward = tree.forward(robot, x, y, v, tau, load)["acceleration"]
    _same(general.forward(robot, x, y, v, tau, load)["acceleration"], forward)
    energies, others = general.energies(robot, x, y, v), tree.energies(robot, x, y, v)
    for quantity in ("kinetic", "potential", "dissipation"):
        np.testing.assert_allclose(float(energies[quantity]), float(others[quantity]), rtol=1e-12)
    p = linear_parameters(robot)
    assert sum(key.startswith("springs.") for key in p.names) == 3 * len(robot.springs)
    for regressor in (tree.regressor, general_regressor.regressor):
        _same(_floats(regressor(robot, x, y, v, a)["Y"]) @ p.values, force)
    changed = with_linear_parameters(robot, p.values)
    _same(tree.inverse(changed, x, y, v, a, load)["force"], force)
    if make is damped_robot:
        # They act, and act as friction does: without friction they are not there.
        plain = replace(robot, dampers=())
        assert np.max(np.abs(_floats(tree.inverse(plain, x, y, v, a, load)["force"]) - force)) > 0.1
        rigid = tree.inverse(plain, x, y, v, a, load, physics=WITHOUT_FRICTION)["force"]
        _same(tree.inverse(robot, x, y, v, a, load, physics=WITHOUT_FRICTION)["force"], rigid)


def test_the_force_is_the_gradient_of_the_energy_and_dampers_take_power() -> None:
    robot = _twisted_robot(with_springs(named_robot("fivebar")), [(0, 1), (2, 0), (2, 3), (4, 1)])
    still, h = np.zeros(2), 1e-6
    x, _ = sample_states(mechanism_of(robot), 1)[0]
    empty = np.zeros(0)

    def potential(at: Array) -> float:
        return float(tree.energies(robot, at, empty, still)["potential"])

    gradient = [(potential(x + step) - potential(x - step)) / (2 * h) for step in h * np.eye(2)]
    held = tree.inverse(robot, x, empty, still, still, still)["generalised"]
    np.testing.assert_allclose(_floats(held), gradient, rtol=1e-7)
    v = np.array([0.7, -0.4])
    with_friction, without = (
        _floats(tree.inverse(robot, x, empty, v, still, still, physics=Physics(on))["generalised"])
        for on in (True, False)
    )
    power = float(tree.energies(robot, x, empty, v)["dissipation"])
    np.testing.assert_allclose((with_friction - without) @ v, power, rtol=1e-12)


def _tendon(spring: LineSpring, poses: list[tuple[Array, Array]], twists: Array) -> Array:
    """Forces and moments on two free bodies from MuJoCo's spatial tendon, at given poses and twists."""
    spec = mujoco.MjSpec()
    spec.option.gravity = np.zeros(3)
    sites = []
    for k, (point, (R, p)) in enumerate(zip(spring.points, poses, strict=True)):
        body = spec.worldbody.add_body(name=f"b{k}", pos=p)
        body.explicitinertial, body.mass, body.inertia = True, 1.0, [1.0, 1.0, 1.0]
        quat = np.zeros(4)
        mujoco.mju_mat2Quat(quat, R.ravel())
        body.quat = quat
        body.add_freejoint(align=False)
        sites.append(body.add_site(name=f"s{k}", pos=point).name)
    tendon = spec.add_tendon(
        stiffness=spring.stiffness, damping=spring.damping, springlength=[spring.length] * 2
    )
    for site in sites:
        tendon.wrap_site(site)
    model = spec.compile()
    data = mujoco.MjData(model)
    for k, (R, _) in enumerate(poses):
        data.qvel[6 * k : 6 * k + 3] = twists[k, :3]
        data.qvel[6 * k + 3 : 6 * k + 6] = R.T @ twists[k, 3:]
    mujoco.mj_forward(model, data)
    passive = data.qfrc_passive.reshape(2, 6)
    return np.array([[*f[:3], *(R @ f[3:])] for f, (R, _) in zip(passive, poses, strict=True)])


def test_wrenches_on_both_bodies_are_those_of_a_tendon_of_mujoco() -> None:
    robot = with_springs(named_robot("delta"), 3, seed=4)
    x, y = sample_states(mechanism_of(robot), 1)[0]
    v = np.array([0.5, -0.3, 0.2])
    state = state_at(robot, x, y, v)
    for spring in robot.springs:
        own = state_at(replace(robot, springs=(spring,)), x, y, v)
        wrenches = add_forces_between_bodies(own, ALL_TERMS).external
        poses = [
            (_floats(state.now.motion.poses[b].R), _floats(state.now.motion.poses[b].p))
            for b in spring.bodies
        ]
        twists = []
        for body, (_, p) in zip(spring.bodies, poses, strict=True):
            twist = _floats(state.moving.velocity.twists[body])
            twists.append([*(twist[:3] + np.cross(twist[3:], p)), *twist[3:]])
        expected = _tendon(spring, poses, np.array(twists))
        for k, body in enumerate(spring.bodies):
            if body:
                mine = [*wrenches[body].f, *wrenches[body].n]
                np.testing.assert_allclose(_floats(mine), expected[k], rtol=1e-10, atol=1e-10)


# ---- Angular dampers between bodies: alike in all formulations, and the damping of MuJoCo's ball joints


def test_the_torque_is_that_of_a_damped_ball_joint_of_mujoco() -> None:
    robot = named_robot("delta")
    damper = Damper("d", (2, 4), 0.7)
    robot = replace(robot, dampers=(damper,))
    x, y = sample_states(mechanism_of(robot), 1)[0]
    state = state_at(robot, x, y, np.array([0.5, -0.3, 0.2]))
    wrenches = add_forces_between_bodies(state, ALL_TERMS).external
    R, w = (
        [np.asarray(part, dtype=float) for part in parts]
        for parts in (
            [state.now.motion.poses[b].R for b in damper.bodies],
            [state.moving.velocity.twists[b][3:] for b in damper.bodies],
        )
    )
    text = """<mujoco><option gravity="0 0 0"/><worldbody>
      <body><joint type="ball"/><inertial mass="1" pos="0 0 0" diaginertia="1 1 1"/>
        <body><joint type="ball" damping="0.7"/><inertial mass="1" pos="0 0 0" diaginertia="1 1 1"/></body>
      </body></worldbody></mujoco>"""
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    mujoco.mju_mat2Quat(data.qpos[:4], R[0].ravel())
    mujoco.mju_mat2Quat(data.qpos[4:], (R[0].T @ R[1]).ravel())
    data.qvel[:3], data.qvel[3:] = R[0].T @ w[0], R[1].T @ (w[1] - w[0])
    mujoco.mj_forward(model, data)
    expected = R[1] @ data.qfrc_passive[3:]
    assert np.linalg.norm(expected) > 1e-3
    for body, sign in zip(damper.bodies, (-1.0, 1.0), strict=True):
        np.testing.assert_allclose(np.asarray(wrenches[body].n, dtype=float), sign * expected, atol=1e-14)
        np.testing.assert_allclose(np.asarray(wrenches[body].f, dtype=float), 0.0, atol=1e-15)


# ---- Torsion springs between bodies: alike in all formulations, gradients of their energy


def _twisted_robot(robot: Robot, pairs: Sequence[tuple[int, int]]) -> Robot:
    """A robot with torsion springs about axes that are drawn, of polynomials up to the third degree."""
    springs = [
        TorsionSpring(
            f"t{k}", pair, tuple(Rotation.random(2, k).as_matrix()), (3.0, -1.0, 2.0)[: 1 + k % 3], 0.4
        )
        for k, pair in enumerate(pairs)
    ]
    return replace(robot, torsion_springs=tuple(springs))


def test_moments_of_torsion_springs_are_gradients_of_their_energy_and_their_law_about_the_axis() -> None:
    robot = _twisted_robot(named_robot("fivebar"), [(0, 1), (1, 2), (3, 2)])
    turns, h = Rotation.random(len(robot.bodies), 7), 1e-6

    def at(all_turns: list[Rotation]) -> TreeKinematics:
        poses = tuple(Pose(turn.as_matrix(), np.zeros(3)) for turn in all_turns)
        return TreeKinematics(poses, np.zeros((6, 1)), np.zeros((len(poses), 1), dtype=bool))

    def stored(all_turns: list[Rotation]) -> Array:
        found = zip(robot.torsion_springs, torsion_spring_states(robot, at(all_turns)), strict=True)
        return np.array([spring.energy(torsion.stretch) for spring, torsion in found])

    for k, (spring, torsion) in enumerate(
        zip(robot.torsion_springs, torsion_spring_states(robot, at(list(turns))), strict=True)
    ):
        held = spring.holding_torque(torsion.stretch) * torsion.direction
        for body, sign in zip(spring.bodies, (-1.0, 1.0), strict=True):
            slopes = []
            for w in h * np.eye(3):
                moved = [
                    [
                        Rotation.from_rotvec(way * w) * turn if b == body else turn
                        for b, turn in enumerate(turns)
                    ]
                    for way in (1.0, -1.0)
                ]
                slopes.append((stored(moved[0]) - stored(moved[1]))[k] / (2.0 * h))
            np.testing.assert_allclose(slopes, sign * held, rtol=1e-7, atol=1e-8)
            axis = (turns[body].as_matrix() @ spring.rotations[spring.bodies.index(body)])[:, 2]
            assert torsion.direction @ axis == pytest.approx(1.0, rel=1e-12)


def test_torsion_springs_in_all_formulations_energies_and_the_linear_form() -> None:
    robot = _twisted_robot(mechanism("tilting_table"), [(0, 1), (2, 1), (5, 0), (4, 6), (1, 7)])
    own, rng = mechanism_of(robot), np.random.default_rng(1)
    assert "torsion springs between bodies (t0)" in reason_for_tree(robot)
    x, y = sample_states(own, 2)[1]
    v, a, tau = rng.normal(size=(3, 3))
    none = np.zeros(3)
    force = _floats(tree.inverse(robot, x, y, v, a, none)["force"])
    plain = replace(robot, torsion_springs=())
    assert np.max(np.abs(_floats(tree.inverse(plain, x, y, v, a, none)["force"]) - force)) > 0.1
    for name in ("bodies", "jourdain"):
        _same(tree.inverse(robot, x, y, v, a, none, formulation=name)["force"], force)
    p = linear_parameters(robot)
    assert p.names[-3:] == ("torsion_springs.t3.k1", "torsion_springs.t4.k1", "torsion_springs.t4.k2")
    _same(_floats(tree.regressor(robot, x, y, v, a)["Y"]) @ p.values, force)
    changed = with_linear_parameters(robot, 2.0 * p.values)
    _same(tree.inverse(changed, x, y, v, a, none)["force"], 2.0 * force)
    found = tree.forward(robot, x, y, v, tau, none)["acceleration"]
    _same(tree.inverse(robot, x, y, v, _floats(found), none)["force"], tau)


# ---- End stops: where they act, how much, that they never pull, and runs that go on through them


def _joint(lower: float, upper: float, kind: JointKind = JointKind.REVOLUTE) -> Joint:
    return Joint("j", kind, 0, 1, limits=((lower, upper),), stops=(Stop(100.0, 5.0),))


@pytest.mark.parametrize(
    ("limits", "angle", "past"),
    [
        ((-1.0, 1.0), 0.3, 0.0),
        ((-1.0, 1.0), 1.2, 0.2),
        ((-1.0, 1.0), -1.5, -0.5),
        ((2.0, 4.0), -2.0, 2 * np.pi - 2.0 - 4.0),  # 4.28 rad, counted modulo a turn
        ((2.0, 4.0), -2.5, 0.0),  # 3.78 rad
        ((-4.0, -2.0), 2.0, 2.0 - 2 * np.pi + 4.0),
        ((-np.inf, 0.5), -3.0, 0.0),
        ((-np.inf, 0.5), 0.6, 0.1),
        ((6.0, 7.0), 1.0, 2 * np.pi + 1.0 - 7.0),
    ],
)
def test_angles_beyond_limits_count_modulo_a_turn(
    limits: tuple[float, float], angle: float, past: float
) -> None:
    joint = _joint(*limits)
    q = coordinate_from_transform(CosineSine(np.cos(angle), np.sin(angle)), joint, 0)
    assert float(limit_excess(joint, 0, q)) == pytest.approx(past, abs=1e-12)
    assert float(limit_excess(joint, 0, q + 2.0 * np.pi)) > 2.0 or not np.isfinite(limits[1])


def test_the_force_is_continuous_never_pulls_and_its_damper_only_takes_power() -> None:
    joint = _joint(-0.3, 0.2, JointKind.PRISMATIC)
    assert end_stop(joint, 0) == Stop(100.0, 5.0)
    q, rate = (grid.ravel() for grid in np.meshgrid(np.linspace(-0.6, 0.5, 111), np.linspace(-40, 40, 81)))
    force = np.array([float(stop_effort(joint, 0, *at, ALL_TERMS)) for at in zip(q, rate, strict=True)])
    damper = np.array(
        [float(stop_effort(joint, 0, *at, Physics(springs=False))) for at in zip(q, rate, strict=True)]
    )
    inside = (q >= -0.3) & (q <= 0.2)
    assert not force[inside].any()
    assert np.all(force[q > 0.2] >= 0.0)
    assert np.all(force[q < -0.3] <= 0.0)
    assert np.all(damper * rate >= 0.0)
    # Where the damper's force is below the spring's the law is k s + c q', else it is held: no jump.
    past = q - np.clip(q, -0.3, 0.2)
    small = np.abs(5.0 * rate) < 100.0 * np.abs(past)
    np.testing.assert_allclose(force[small], (100.0 * past + 5.0 * rate)[small], atol=1e-12)
    assert np.all(np.abs(force) <= 200.0 * np.abs(past) + 1e-12)
    # The spring's part is the gradient of the energy.
    h = 1e-6
    for at in (-0.5, 0.1, 0.4):
        slope = (stop_energy(joint, 0, at + h) - stop_energy(joint, 0, at - h)) / (2 * h)
        held = stop_effort(joint, 0, at, 0.0, ALL_TERMS)
        np.testing.assert_allclose(float(slope), float(held), atol=1e-6)


def _bouncing_robot(damping: float) -> Robot:
    """A five-bar whose drives have stops, without friction."""
    robot = nacelle.load("fivebar")
    joints = [replace(joint, friction=((),) * len(joint.primitives)) for joint in robot.joints]
    actuators = []
    angles = nacelle.inverse_kinematics(robot, robot.reference.p[:2]).q
    for actuator, q in zip(robot.actuators, angles.tolist(), strict=True):
        ends = (q - 0.1, q + 0.1)
        joints[actuator.joint] = replace(
            joints[actuator.joint], limits=(ends,), stops=(Stop(300.0, damping),)
        )
        actuators.append(replace(actuator, position=ends))
    return replace(robot, joints=tuple(joints), actuators=tuple(actuators))


@pytest.mark.slow
def test_a_run_goes_on_through_a_stop_and_its_energy_balances() -> None:
    robot = _bouncing_robot(2.0)
    assert not any(limit.name.startswith(robot.actuators[0].name) for limit in joint_limits(robot))
    run = nacelle.simulate(
        robot,
        robot.reference.p[:2],
        [0.4, 0.0],
        until=0.6,
        samples=121,
        integration=nacelle.simulation.Integration(rtol=1e-9, atol=1e-11),
    )
    assert run.ok
    angles = nacelle.inverse_kinematics(robot, run.x, limits=False).q[:, 0]
    assert np.max(np.abs(angles - angles[0])) > 0.1
    energy = np.asarray(run.energies.total if hasattr(run.energies, "total") else run.energy)
    assert np.all(np.diff(energy) < 1e-6 * np.ptp(energy))
    assert energy[0] - energy[-1] == pytest.approx(run.dissipated_energy[-1], rel=1e-3)


@pytest.mark.slow
def test_the_linear_model_beyond_a_stop_is_that_of_differences() -> None:
    robot = _bouncing_robot(2.0)
    q = nacelle.inverse_kinematics(robot, robot.reference.p[:2]).q
    x = nacelle.forward_kinematics(robot, q + np.array([0.25, 0.0])).x
    v, tau, h = np.array([0.05, 0.02]), np.array([1.0, -2.0]), 1e-6

    def acceleration(at: np.ndarray, rate: np.ndarray) -> np.ndarray:
        return np.asarray(nacelle.forward_dynamics(robot, at, rate, tau).a)

    steps = h * np.eye(2)
    by_x = [(acceleration(x + s, v) - acceleration(x - s, v)) / (2 * h) for s in steps]
    by_v = [(acceleration(x, v + s) - acceleration(x, v - s)) / (2 * h) for s in steps]
    A = nacelle.dynamics.linearise(robot, x, v, tau).A
    np.testing.assert_allclose(A[2:, :2], np.transpose(by_x), rtol=1e-6, atol=1e-4)
    np.testing.assert_allclose(A[2:, 2:], np.transpose(by_v), rtol=1e-6, atol=1e-4)
