"""Springs between bodies: gradients of the energy, alike in all formulations, and MuJoCo's tendons."""

from __future__ import annotations

from dataclasses import replace

import mujoco
import numpy as np
import pytest

from nacelle.dynamics.compliance.line_springs import line_between, with_line_springs
from nacelle.dynamics.formulations import reference as tree
from nacelle.dynamics.formulations.choice import FORMULATIONS
from nacelle.dynamics.general import models as general
from nacelle.dynamics.general import regressor as general_regressor
from nacelle.dynamics.settings import Settings
from nacelle.dynamics.state import state_at
from nacelle.kinematics.general.plan import sample_states
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.model.line_spring import LineSpring
from nacelle.model.linear_parameters import linear_parameters, with_linear_parameters
from support.random_robots.loads import with_all, with_springs
from support.uncompiled import any_robot

Array = np.ndarray


def _floats(value: Array) -> Array:
    return np.asarray(value, dtype=float)


def _same(mine: Array, other: Array) -> None:
    np.testing.assert_allclose(_floats(mine), _floats(other), rtol=0, atol=1e-11 * np.max(np.abs(other)))


@pytest.mark.costly
@pytest.mark.parametrize("name", ["fivebar", "delta", "everything", "h4"])
def test_all_formulations_and_the_linear_form_agree(name: str) -> None:
    """Springs, dampers, end stops that are met and rotors on spherical joints, at once."""
    robot = with_all(any_robot(name))
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


def test_the_force_is_the_gradient_of_the_energy_and_dampers_take_power() -> None:
    robot = with_springs(any_robot("fivebar"))
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
        _floats(tree.inverse(robot, x, empty, v, still, still, friction=on)["generalised"])
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
    robot = with_springs(any_robot("delta"), 3, seed=4)
    x, y = sample_states(mechanism_of(robot), 1)[0]
    v = np.array([0.5, -0.3, 0.2])
    state = state_at(robot, x, y, v)
    for spring in robot.springs:
        own = state_at(replace(robot, springs=(spring,)), x, y, v)
        wrenches = with_line_springs(own, Settings()).external
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


def test_a_line_has_unit_direction() -> None:
    line = line_between(np.array([1.0, 0.0, 0.0]), np.array([1.0, 3.0, 4.0]))
    assert float(line.length) == 5.0
    np.testing.assert_allclose(_floats(line.direction), [0.0, 0.6, 0.8])
