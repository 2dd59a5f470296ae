"""Wrenches on tools and payloads: against the same on bodies, and against derivatives by differences."""

from __future__ import annotations

import numpy as np
import pytest

import nacelle
from nacelle.errors import KinematicsError, ParameterError
from nacelle.spatial.inertia import parameters_from_com

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


def test_wrong_wrenches_name_bodies_and_tools() -> None:
    robot = nacelle.load("delta")
    with pytest.raises(KinematicsError, match="no body 'flage' and no such tool; did you mean 'flange'"):
        nacelle.inverse_dynamics(robot, nacelle.reference_pose(robot), external={"flage": WRENCH})
    with pytest.raises(KinematicsError, match=r"constant wrenches \(6,\), that on flange has the shape"):
        nacelle.RigidPlant(robot, external={"flange": np.zeros((3, 6))})


def test_sizing_takes_wrenches() -> None:
    robot = nacelle.load("delta")
    x = nacelle.reference_pose(robot)
    rest = nacelle.Line(x, x, motion=robot.motion, duration=0.1)
    found = nacelle.size_motors(robot, rest, rate=100.0, external={"flange": WRENCH})
    expected = nacelle.inverse_dynamics(robot, x, external={"flange": WRENCH}).force
    np.testing.assert_allclose([load.peak_force for load in found.loads], np.abs(expected), rtol=1e-12)


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


def test_a_payload_is_a_body_fixed_to_the_nacelle() -> None:
    """Inertia in the tool's frame, moved to the platform's by the parallel axes and the rotation."""
    robot = nacelle.load("gough-stewart")
    (tool,) = robot.tools
    loaded = nacelle.with_payload(robot, "2 kg", com="0 10 50 mm", inertia=[0.01, 0.02, 0.03], on=tool.name)
    (load,) = loaded.payload
    assert (load.name, load.body) == ("payload", tool.body)
    com = tool.frame.R @ [0.0, 0.01, 0.05] + tool.frame.p
    about = tool.frame.R @ np.diag([0.01, 0.02, 0.03]) @ tool.frame.R.T
    np.testing.assert_allclose(load.inertia, parameters_from_com(2.0, com, about), atol=1e-15)
    # Its weight at rest is a wrench on the tool.
    x = nacelle.reference_pose(robot)
    at = nacelle.tool_pose(robot, x, tool.name)
    weight = 2.0 * np.array(robot.gravity)
    pull = np.concatenate([weight, np.cross(at.R @ [0.0, 0.01, 0.05], weight)])
    np.testing.assert_allclose(
        nacelle.equilibrium(loaded, x), nacelle.equilibrium(robot, x, external={tool.name: pull}), rtol=1e-11
    )
    twice = nacelle.with_payload(loaded, 1.0)
    assert [p.name for p in twice.payload] == ["payload", "payload-2"]
    assert nacelle.loads(twice.to_yaml()).hash == twice.hash


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"mass": -1.0}, "mass: the mass must not be below 0"),
        ({"mass": "2 mm"}, "mass: 'mm' is not a unit of mass"),
        ({"mass": 1.0, "com": [0, 0]}, "com: expected 3 numbers, got 2"),
        ({"mass": 1.0, "inertia": [1.0, 0.1, 0.1]}, "inertia"),
        ({"mass": 1.0, "on": "spindl"}, "no 'spindl' there; did you mean 'spindle'"),
        ({"mass": 1.0, "on": "leg1.rod"}, "on a tool or a body of the nacelle"),
    ],
)
def test_wrong_payloads(options: dict, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        nacelle.with_payload(nacelle.load("gough-stewart"), **options)
