"""Wrenches on tools and payloads: against the same on bodies, and against derivatives by differences."""

from __future__ import annotations

import numpy as np
import pytest

import nacelle
from nacelle.errors import KinematicsError
from support.library import library_robot

WRENCH = np.array([20.0, -5.0, 30.0, 1.0, 2.0, -3.0])


def state(robot: nacelle.Robot) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return nacelle.reference_pose(robot), *(0.3 * rng.normal(size=(2, robot.motion.n)))


@pytest.mark.parametrize(("name", "tool"), [("gough-stewart", "spindle"), ("delta4", "tip")])
def test_a_wrench_on_a_tool_is_one_on_its_body(name: str, tool: str) -> None:
    robot = nacelle.load(name)
    x, v, a = state(robot)
    (frame,) = (t for t in robot.tools if t.name == tool)
    bodies = nacelle.inverse_kinematics(robot, x).bodies
    arm = nacelle.tool_pose(robot, x, tool).p - bodies.p[frame.body]
    moved = np.concatenate([WRENCH[:3], WRENCH[3:] + np.cross(arm, WRENCH[:3])])
    on_tool, on_body = {tool: WRENCH}, {robot.bodies[frame.body].name: moved}
    free = nacelle.inverse_dynamics(robot, x, v, a).force
    force = nacelle.inverse_dynamics(robot, x, v, a, external=on_tool).force
    assert np.max(np.abs(force - free)) > 1.0
    np.testing.assert_allclose(
        force, nacelle.inverse_dynamics(robot, x, v, a, external=on_body).force, rtol=1e-11, atol=1e-10
    )
    back = nacelle.forward_dynamics(robot, x, v, force, external=on_tool).acceleration
    np.testing.assert_allclose(back, a, atol=1e-9)
    reactions = [nacelle.joint_reactions(robot, x, v, a, external=e).wrench for e in (on_tool, on_body)]
    np.testing.assert_allclose(reactions[0], reactions[1], atol=1e-8)


@pytest.mark.slow
def test_the_arm_of_a_wrench_turns_with_the_tool() -> None:
    """The derivative by the pose has the change of the arm: against differences of the forces."""
    robot = nacelle.load("gough-stewart")
    x, v, a = state(robot)
    external = {"spindle": WRENCH}
    exact = nacelle.dynamics_derivatives(robot, x, v, a, external=external).pose
    h = 1e-6
    columns = []
    for k in range(6):
        step = h * np.eye(6)[k]
        ends = [
            nacelle.inverse_dynamics(robot, nacelle.moved(robot, x, s * step), v, a, external=external).force
            for s in (1, -1)
        ]
        columns.append((ends[0] - ends[1]) / (2 * h))
    np.testing.assert_allclose(exact, np.stack(columns, axis=1), rtol=1e-6, atol=1e-4)


@pytest.mark.slow
def test_wrong_wrenches_name_bodies_and_tools() -> None:
    robot = nacelle.load("delta")
    with pytest.raises(KinematicsError, match="no body 'flage' and no such tool; did you mean 'flange'"):
        nacelle.inverse_dynamics(robot, nacelle.reference_pose(robot), external={"flage": WRENCH})
    with pytest.raises(KinematicsError, match=r"constant wrenches \(6,\), that on flange has the shape"):
        nacelle.RigidPlant(robot, external={"flange": np.zeros((3, 6))})


@pytest.mark.slow
@pytest.mark.parametrize("method", ["rk4", "dop853"])
def test_simulations_under_a_wrench_keep_their_energy(method: str) -> None:
    """Without friction the actuators and the wrench do all the work; at rest the wrench is balanced."""
    robot = nacelle.load("delta")
    x = nacelle.reference_pose(robot)
    external = {"flange": np.array([3.0, 0.0, 5.0, 0.0, 0.0, 0.0])}
    plant = nacelle.RigidPlant(robot, friction=False, external=external)
    hold = nacelle.equilibrium(robot, x, external=external)
    step = 1e-3 if method == "rk4" else None
    still = nacelle.simulate(plant, x, np.zeros(3), hold, until=0.05, method=method, step=step)
    np.testing.assert_allclose(still.x[-1], x, atol=1e-9)
    pushed = nacelle.simulate(plant, x, np.zeros(3), 0.0 * hold, until=0.1, method=method, step=step)
    first = nacelle.forward_dynamics(robot, x, np.zeros(3), 0.0 * hold, external=external, friction=False)
    np.testing.assert_allclose(pushed.v[1] / pushed.t[1], first.acceleration, rtol=2e-2, atol=1e-9)
    assert abs(pushed.work[-1]) > 1e-3
    assert abs(pushed.balance[-1]) < 1e-6 * abs(pushed.energy[0])


@pytest.mark.slow
def test_external_wrenches_do_work() -> None:
    robot = library_robot("quattro")
    x, v = nacelle.reference_pose(robot), np.array([0.3, -0.2, 0.1, 0.8])
    names = [robot.bodies[3].name, robot.bodies[7].name]
    rng = np.random.default_rng(0)
    external = {name: rng.normal(size=6) for name in names}
    with_them = nacelle.inverse_dynamics(robot, x, v, external=external).force
    without = nacelle.inverse_dynamics(robot, x, v).force
    rates = nacelle.joint_motion(robot, x, v).actuators[1]
    twist = nacelle.body_motion(robot, x, v).twist
    power = sum(external[name] @ twist[robot.body(name)] for name in names)
    assert (without - with_them) @ rates == pytest.approx(power, rel=1e-12)
    tau = nacelle.inverse_dynamics(robot, x, v, np.ones(4), external=external).force
    assert np.allclose(nacelle.forward_dynamics(robot, x, v, tau, external=external).acceleration, 1.0)
