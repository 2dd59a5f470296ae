"""The platform's dependence on geometry: against forward kinematics of robots with other numbers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import nacelle
from calibration.campaigns import FRAME, Array, bench, platform_poses, zeros_at
from nacelle.calibration.devices import Distance, Places, Target, Tool, Tracker
from nacelle.calibration.fit import Campaign, System
from nacelle.calibration.loops import Loops, states_at
from nacelle.calibration.parameters import AXES, Geometry, Parameter, encoders_of, known_parameters
from nacelle.calibration.poses import (
    default_parameters,
    drawn_poses,
    opening_parameters,
    platform_rates,
    with_loads,
)
from nacelle.calibration.simulated import simulate_campaign
from nacelle.kinematics.solve.inverse import inverse_kinematics
from nacelle.model.robot import Robot
from nacelle.spatial.pose import Pose
from nacelle.spatial.rotation import log_rotation, rotation_quat, rotation_vector
from nacelle.tree.closure import closure_residual
from nacelle.tree.spanning_tree import tree_kinematics
from nacelle.vision.camera import Camera
from support.random_robots import random_robot

CASES = [
    "planar RRR",
    "6 UPS",
    "delta",
    "inner loop",
    "orthoglide",
    "h4",
    "hexaglide",
    "3rps",
    "c5",
    "fivebar",
    "palida",
]


def displaced_pose(
    robot: Robot, parameter: Parameter, value: float, x: Array, q: Array
) -> tuple[Array, Array]:
    """Orientations and positions of the platform where one parameter has a value, drives held."""
    machine = Geometry(robot, (parameter,), encoders_of(robot)).machine(np.array([value]))
    R, p, good = platform_poses(machine, q + zeros_at((parameter,), [value], q.shape[1]), robot, x)
    assert good.all()
    return R, p


@pytest.mark.costly
@pytest.mark.parametrize("name", CASES)
def test_rates_are_those_of_closures_solved_again(name: str) -> None:
    robot = random_robot(name, 3)
    encoders = encoders_of(robot)
    known = [one for one in known_parameters(robot, encoders) if one.kind in ("frame", "zero", "number")]
    opening = opening_parameters(robot, known)
    rng = np.random.default_rng(0)
    known = [one for one in known if one.name not in opening]
    some = [known[k] for k in rng.choice(len(known), min(12, len(known)), replace=False)]
    x = drawn_poses(robot, 3, seed=5)
    q = inverse_kinematics(robot, x, limits=False).q
    L = platform_rates(robot, x, some, encoders)
    scale = np.max(np.abs(L))
    for k, parameter in enumerate(some):
        # Richardson: the error is h^4 and rounding over h.
        h = 2e-5
        rates = []
        for step in (h, h / 2):
            (R2, p2), (R1, p1) = (displaced_pose(robot, parameter, sign * step, x, q) for sign in (1.0, -1.0))
            turn = np.array([log_rotation(b @ a.T) for a, b in zip(R1, R2, strict=True)])
            rates.append(np.concatenate([p2 - p1, turn], axis=1) / (2.0 * step))
        expected = (4.0 * rates[1] - rates[0]) / 3.0
        assert np.max(np.abs(L[:, :, k] - expected)) < 1e-9 * max(scale, 1.0), parameter.name


@pytest.mark.parametrize("name", ["fivebar", pytest.param("6 UPS", marks=pytest.mark.slow)])
def test_states_of_other_geometry_are_closed(name: str) -> None:
    """The closures of the machine, evaluated by the tree, at the state that the loops give."""
    robot = random_robot(name, 4)
    chosen = default_parameters(robot)
    values = np.random.default_rng(2).normal(size=len(chosen)) * [one.tolerance for one in chosen]
    geometry = Geometry(robot, chosen, encoders_of(robot))
    x = drawn_poses(robot, 4, seed=6)
    loops = Loops(robot)
    states, gap = loops.close(geometry.vector(values), states_at(inverse_kinematics(robot, x, limits=False)))
    assert np.max(gap) < 1e-12
    machine = geometry.machine(values)
    for k in range(len(x)):
        R = np.eye(3) if robot.platform_nv == 3 else rotation_quat(states.platform[k, 3:])
        motion = tree_kinematics(machine, Pose(R, states.platform[k, :3]), states.q[k])
        assert np.max(np.abs(closure_residual(machine, motion))) < 1e-12


def check_rows(system: System) -> None:
    """All rows along each parameter, motions taken out, by differences of the fourth order."""
    start = system.start()
    point = system.at(start.values + 1e-3 * system.tolerance, start.states)
    rows = system.rows(point)
    U, s, _ = np.linalg.svd(rows.A, full_matrices=False)
    U = U * (s > 1e-9 * s[:, :1])[:, None]
    follow = rows.linearised.follow
    # Some parameters, such as the axes of a ball joint, change nothing.
    least = 1e-3 * np.max(np.abs(rows.B) * system.tolerance) / system.tolerance

    def difference(k: int, h: float) -> Array:
        ends = []
        for sign in (1.0, -1.0):
            dz = np.zeros(system.count)
            dz[k] = sign * h
            states = system.loops.integrate(point.states, follow @ dz[: system.robot_count])
            ends.append(system.rows(system.at(point.values + dz, states)).r)
        return (ends[0] - ends[1]) / (2.0 * h)

    for k, parameter in enumerate(system.parameters):
        # A step that changes what is read by about the same, whatever the unit.
        h = 0.03 * parameter.tolerance
        off = (4.0 * difference(k, h / 2) - difference(k, h)) / 3.0 - rows.B[:, :, k]
        off = off - (U @ (np.swapaxes(U, 1, 2) @ off[:, :, None]))[:, :, 0]
        scale = max(float(np.max(np.abs(rows.B[:, :, k]))), least[k])
        assert np.max(np.abs(off)) < 1e-9 * scale, parameter.name


def test_residuals_change_by_their_derivatives() -> None:
    made = bench(nacelle.load("fivebar"), 6)
    check_rows(System(made.with_tracker(made.seen, tolerance=(0.1,) * 3 + (0.1,) * 3), made.parameters))


@pytest.mark.slow
def test_residuals_of_all_devices_under_load() -> None:
    """Poses, distances, pixels and a further encoder of a loaded Delta, by parameters of every kind."""
    robot = nacelle.with_payload(nacelle.load("delta"), mass=5.0)
    encoders = encoders_of(robot)
    x = drawn_poses(robot, 4, seed=3)
    six = (1e-3,) * 3 + (1e-2,) * 3
    centre = x[0]
    mark = rotation_vector(np.array([0.4, -0.2, 0.9]))
    tool = Tool(1, np.array([0.01, 0.02, -0.03]), 1e-3, mark, 0.2)
    camera = Camera.look_at(centre, centre + np.array([0.1, -0.2, -1.5]), size=(2048, 2048), field=0.6)
    devices = (
        Tracker(np.zeros((4, 6)), np.array([1e-5] * 3 + [2e-5] * 3), AXES, tolerance=six, tool=tool),
        Distance(np.zeros((4, 1)), 1e-6, np.array([0.1, 0.2, -1.5]), (1e-3,) * 4, tool),
        Target(np.zeros((4, 2)), 0.1, camera, six, tool),
    )
    chosen = [one for one in known_parameters(robot, encoders) if one.kind != "number"]
    opening = opening_parameters(robot, chosen)
    rng = np.random.default_rng(1)
    some = [one for one in chosen if one.name not in opening and one.kind != "frame"]
    frames = [one for one in chosen if one.name not in opening and one.kind == "frame"]
    some += [frames[k] for k in rng.choice(len(frames), 20, replace=False)]
    blank = Campaign(robot, inverse_kinematics(robot, x, limits=False).q, encoders, devices, guess=x)
    values = np.zeros(len(some))
    check_rows(System(with_loads(simulate_campaign(blank, some, values, rng)), some))


@pytest.mark.slow
def test_residuals_of_a_robot_that_sags() -> None:
    """Every device at a hexapod that sags by centimetres and tenths of a radian, tools off the origin."""
    made = bench(random_robot("6 UPS", 2), 5)
    mark = rotation_vector(np.array([0.4, -0.2, 0.9]))
    tool = Tool(1, np.array([0.1, -0.05, 0.07]), 1e-3, mark, 0.2)
    camera = Camera.look_at(made.x[0, :3], made.x[0, :3] + np.array([0.2, 0.1, 2.0]))
    tracker = replace(made.campaign.devices[0], tolerance=(0.1,) * 6, tool=tool, frame=FRAME)
    labels = np.array([[0.0], [1.0], [0.0], [1.0], [np.nan]])
    devices = (
        tracker,
        Distance(np.ones((5, 1)), 1e-5, np.array([0.3, 0.2, -1.0]), (1e-3,) * 4, tool),
        Target(np.full((5, 2), 500.0), 0.1, camera, (1e-3,) * 6, tool),
        Places(labels, 1e-5, tool, near=made.x[:2, :3], tolerance=0.01),
    )
    sag = np.random.default_rng(0).normal(size=(5, 6)) * ([0.03] * 3 + [0.2] * 3)
    check_rows(System(replace(made.campaign, devices=devices, sag=sag), made.parameters))
