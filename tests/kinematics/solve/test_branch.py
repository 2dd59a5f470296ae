"""Branches: the signs that tell them apart, and solutions that are connected with the reference."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

import nacelle
from nacelle.kinematics import kinematic_model
from nacelle.kinematics.branch import branch_of
from nacelle.kinematics.flags import Flag
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.native import compile_native
from nacelle.kinematics.solve import newton_steps
from nacelle.kinematics.solve.inverse import InverseKinematics
from support.random_robots import inner_loops
from support.random_robots.legs import planar_robot

KNEE = """
format: nacelle/1
name: knee
motion: xy
gravity: 0 -9.81 0 m/s^2
reference: {position: 50 -600 0 mm}
platform: {name: foot, type: point, mass: 0.2 kg}
legs:
  - name: leg
    bodies:
      thigh: {mass: 2.5 kg, com: 140 10 0 mm, inertia: 0.003 0.04 0.04 kg*m^2}
      crank: {mass: 0.3 kg, com: 20 5 0 mm, inertia: 0.0001 0.0002 0.0002 kg*m^2}
      rod: {mass: 0.4 kg, com: 150 0 0 mm, inertia: 0.0001 0.003 0.003 kg*m^2}
      shank: {mass: 1.1 kg, com: 140 -8 0 mm, inertia: 0.001 0.02 0.02 kg*m^2}
    joints:
      hip: {type: revolute, parent: base, child: thigh, axis: z, guess: -60 deg, active: true}
      knee: {type: revolute, parent: thigh, child: shank, at: 350 0 0 mm, axis: z, guess: -50 deg}
      motor: {type: revolute, parent: thigh, child: crank, axis: z, guess: 40 deg, active: true}
      pin: {type: revolute, parent: crank, child: rod, at: 60 0 0 mm, axis: z, guess: -40 deg}
    closures:
      pull: {type: revolute, parent: rod, at: 350 0 0 mm, child: shank, child_at: 0 60 0 mm, axis: z}
      sole: {type: revolute, parent: shank, at: 350 0 0 mm, child: foot, axis: z}
"""

SPHERICAL = """
format: nacelle/1
name: wrist
motion: [rx, ry, rz]
platform: {name: eye, mass: 0.3 kg, inertia: 0.0003 0.0003 0.0002 kg*m^2}
templates:
  leg:
    bodies:
      inner: {mass: 0.15 kg, com: 40 0 -40 mm, inertia: 0.0003 0.0004 0.0003 kg*m^2}
      outer: {mass: 0.1 kg, com: 0 -30 -30 mm, inertia: 0.0002 0.00015 0.00015 kg*m^2}
    joints:
      motor: {type: revolute, parent: base, child: inner, axis: x, active: true}
      middle: {type: revolute, parent: inner, child: outer, axis: [0.2, 0, -1]}
    closures:
      end: {type: revolute, parent: outer, child: eye, axis: [0, -1, 0.1]}
legs:
  - {repeat: leg, placements: [{}, {axis: [1, 1, 1], angle: 120 deg}, {axis: [1, 1, 1], angle: 240 deg}]}
"""

ARM = """
format: nacelle/1
name: digger
motion: xy+rz
gravity: 0 -9.81 0 m/s^2
reference: {position: 2.2 0.5 0 m, rotation: {rpy: 0 0 -60 deg}}
platform: {name: bucket, mass: 30 kg, com: 200 0 0 mm, inertia: 3 4 5 kg*m^2}
legs:
  - name: arm
    bodies:
      boom: {mass: 50 kg, com: 0.8 0 0 m, inertia: 2 50 50 kg*m^2}
      stick: {mass: 25 kg, com: 0.4 0 0 m, inertia: 1 10 10 kg*m^2}
      barrel: {mass: 6 kg, com: 0.2 0 0 m, inertia: 0.1 0.8 0.8 kg*m^2}
      piston: {mass: 3 kg, com: -0.2 0 0 m, inertia: 0.1 0.4 0.4 kg*m^2}
    joints:
      swing: {type: revolute, parent: base, child: boom, axis: z, guess: 60 deg, active: true}
      elbow: {type: revolute, parent: boom, child: stick, at: 1.6 0 0 m, axis: z, guess: -90 deg}
      pivot: {type: revolute, parent: boom, child: barrel, at: 0.7 0.25 0 m, axis: z, guess: 0 deg}
      ram: {type: prismatic, parent: barrel, child: piston, axis: x, guess: 0.8 m, active: true}
    closures:
      pull: {type: revolute, parent: piston, child: stick, child_at: -0.2 0.12 0 m, axis: z}
      tip: {type: revolute, parent: stick, at: 1.2 0 0 m, child: bucket, axis: z, active: true}
"""


@cache
def wrist() -> nacelle.Robot:
    return nacelle.loads(SPHERICAL)


@cache
def digger() -> nacelle.Robot:
    return nacelle.loads(ARM)


def turned(angle: np.ndarray) -> np.ndarray:
    """Orientations (N, 4) of rotation vectors (N, 3)."""
    length = np.linalg.norm(angle, axis=1, keepdims=True)
    return np.concatenate([np.sin(0.5 * length) * angle / length, np.cos(0.5 * length)], axis=1)


def densely(robot: nacelle.Robot, x: np.ndarray, steps: int = 4000) -> InverseKinematics:
    """One pose by so many small steps from the reference that Newton cannot leave its branch."""
    x0 = nacelle.reference_pose(robot)
    t = np.linspace(0.0, 1.0, steps)[:, None]
    path = (1.0 - t) * x0 + t * x
    place = mechanism_of(robot).layout.quaternion
    if place is not None:
        path[:, place] /= np.linalg.norm(path[:, place], axis=1, keepdims=True)
    solver = nacelle.kinematics.native.compile_native_newton(newton_steps.loop_closing_step, robot)
    y0 = mechanism_of(robot).reference[1]
    return solver.solve(y0, path, tolerance=2e-14, max_iterations=5, follow=True)


@pytest.mark.slow
@pytest.mark.parametrize("make", [wrist, digger])
def test_the_same_as_by_small_steps(make: Callable[[], nacelle.Robot]) -> None:
    robot = make()
    rng = np.random.default_rng(1)
    if robot.name == "wrist":
        x = turned(rng.uniform(-1.5, 1.5, (60, 3)))
    else:
        x = nacelle.reference_pose(robot) + rng.uniform(-1.0, 1.0, (60, 3)) * [1.2, 1.2, 1.5]
    found = nacelle.inverse_kinematics(robot, x, limits=False)
    compared = 0
    for k in np.flatnonzero(found.flags == 0):
        slowly = densely(robot, x[k])
        if np.all(slowly.status == 0):
            apart = np.angle(np.exp(1j * (slowly.y[-1] - found.y[k])))
            assert np.max(np.abs(apart)) < 1e-9
            compared += 1
    assert compared > 20


def test_signs_change_with_the_branch() -> None:
    """The mirrored solution of a cylinder, and of a knee, has a negative number."""
    robot = digger()
    plan = branch_of(robot)
    assert [robot.joints[strut.joint].name for strut in plan.struts] == ["arm.ram"]
    mechanism = mechanism_of(robot)
    x, y = mechanism.reference
    signs = compile_native(kinematic_model.branch_signs, robot)
    np.testing.assert_allclose(signs(x, y), 1.0, atol=1e-9)
    names = [robot.joints[j].name for j in mechanism.iterated_joints]
    other = y.copy()
    other[names.index("arm.ram")] *= -1.0
    other[names.index("arm.pivot")] += np.pi
    assert np.max(np.abs(newton_steps.loop_closing_step(robot, other, x)["error"])) < 1e-12
    assert np.min(signs(x, other)) < 0.0
    start = nacelle.inverse_kinematics(robot, x)
    flipped = InverseKinematics(robot, x, other, start.q_tree, start.q, start.margins, start.flags)
    again = nacelle.inverse_kinematics(robot, x + 0.01, guess=flipped, limits=False)
    assert again.flags == Flag.OTHER_BRANCH
    assert not again.ok
    assert again.q[1] < 0.0


@pytest.mark.slow
def test_crossed_parallelogram_with_the_signs_of_the_reference() -> None:
    """Beyond the flat position crossed bars have the signs of parallel ones; relations differ."""
    robot = nacelle.loads(KNEE)
    assert len(branch_of(robot).relations) == 2
    x, v, a = [-0.0832, -0.4324], [0.3, -0.2], [1.0, 2.0]
    hip, knee, motor, _ = nacelle.inverse_kinematics(robot, x).q_tree
    # Points of the thigh's plane as complex numbers: the crank's end P is reflected on the line to the rod's.
    Q = 0.35 + 0.06j * np.exp(1j * knee)
    P = Q / np.conj(Q) * 0.06 * np.exp(-1j * motor)
    y = np.array([hip, knee, np.angle(P), np.angle((Q - P) / P)])
    crossed = nacelle.inverse_kinematics(robot, x, guess=y)
    assert abs(crossed.q_tree[2] + crossed.q_tree[3]) > 0.05
    assert crossed.flags & int(Flag.OTHER_BRANCH)
    signs = compile_native(kinematic_model.branch_signs, robot)(crossed.x, crossed.y)
    assert np.all(signs[:-1] > 0.0)
    # A relation may be off by as much as y is not known to: a number for each of them.
    for wrong, sign in ((0.04, -1.0), (10.0, 1.0)):
        allowed = kinematic_model.branch_signs(robot, crossed.x, crossed.y, wrong)["branch"]
        assert np.sign(allowed[-1]) == sign
    assert signs[-1] < 0.0
    # Full turns do not make another branch.
    own = nacelle.inverse_kinematics(robot, [0.05, -0.6])
    turned = nacelle.inverse_kinematics(robot, [0.05, -0.6], guess=own.y + 2.0 * np.pi * np.eye(4)[2])
    assert turned.y[2] > 6.0
    assert turned.flags == 0
    for state in (crossed, None):
        found = nacelle.inverse_dynamics(robot, x, v, a, guess=state)
        tree = nacelle.inverse_dynamics(robot, x, v, a, guess=found, formulation="tree")
        assert found.flags == int(Flag.OTHER_BRANCH)
        np.testing.assert_allclose(found.y, tree.y, atol=1e-12)
        np.testing.assert_allclose(found.tau, tree.tau, rtol=1e-10)
        Y = nacelle.regressor(robot, x, v, a, guess=state)
        np.testing.assert_allclose(Y.Y @ Y.parameters.values, tree.tau, rtol=1e-10)


@pytest.mark.costly
@pytest.mark.parametrize("seed", range(6))
def test_numbers_are_determinants(seed: int) -> None:
    """Their product is det K over its value in the reference, times that of what does not change."""
    robot = inner_loops.draw(seed).robot
    mechanism, plan = mechanism_of(robot), branch_of(robot)
    assert plan.blocks
    x0 = nacelle.reference_pose(robot)
    x = x0 + np.random.default_rng(seed).uniform(-0.05, 0.05, (50, 2))
    found = nacelle.inverse_kinematics(robot, x, limits=False)
    good = found.flags == 0
    equations = compile_native(kinematic_model.closure_equations, robot)
    rows, rates = list(mechanism.legs[0].rows), list(mechanism.legs[0].rates)

    def determinant(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.linalg.det(equations(x, y)["jacobian"][..., rows, :][..., rates])

    ratio = determinant(x[good], found.y[good]) / determinant(*mechanism.reference)
    numbers = compile_native(kinematic_model.branch_signs, robot)(x[good], found.y[good])
    product = np.prod(numbers[:, : len(plan.blocks)], axis=1)
    assert np.sum(good) > 10
    np.testing.assert_allclose(product, ratio, rtol=1e-9)


@pytest.mark.slow
def test_articulated_platform_does_not_tilt() -> None:
    """The platform of an H4 stays level on the branch of its reference; tilted solutions are flagged."""
    robot = nacelle.load("h4")
    rng = np.random.default_rng(0)
    x = nacelle.reference_pose(robot) + rng.uniform(-1.0, 1.0, (400, 4)) * [0.25, 0.25, 0.25, 0.6]
    found = nacelle.inverse_kinematics(robot, x, limits=False)
    level = found.bodies.R[found.flags == 0, 1]
    assert len(level) > 200
    assert np.max(np.abs(level - np.eye(3))) < 1e-11


@pytest.mark.slow
@pytest.mark.parametrize("kinds", [("PRR",) * 3, ("RPR",) * 3])
def test_forward_stays_on_its_side(kinds: tuple[str, ...]) -> None:
    """What forward kinematics gives without a flag lies on the reference's side of parallel singularities."""
    robot = planar_robot(1, kinds)
    rng = np.random.default_rng(3)
    x = nacelle.reference_pose(robot) + rng.uniform(-1.0, 1.0, (120, 3)) * [0.3, 0.3, 1.2]
    joints = nacelle.inverse_kinematics(robot, x, limits=False)
    x, q = x[joints.ok], joints.q[joints.ok]
    found = nacelle.forward_kinematics(robot, q)
    sign = np.sign(np.linalg.det(nacelle.jacobian(robot, nacelle.reference_pose(robot)).inverse))
    clear = found.flags == 0
    assert np.sum(clear) > 20
    inverse = nacelle.jacobian(robot, found.x[clear]).inverse
    assert np.all(np.sign(np.linalg.det(inverse)) == sign)
    other = (found.flags & int(Flag.OTHER_BRANCH)) != 0
    assert np.all(np.isfinite(found.x[other]))
    again = nacelle.inverse_kinematics(robot, found.x[clear], limits=False).q
    assert np.max(np.abs(np.sin(0.5 * (again - q[clear])))) < 1e-10


@pytest.mark.slow
@pytest.mark.parametrize("make", [wrist, lambda: planar_robot(1, ("RRR",) * 3)])
def test_forward_goes_the_short_way_round(make: Callable[[], nacelle.Robot]) -> None:
    """Angles count modulo a turn: whole turns more, alone or along a path, lead to the same poses."""
    robot = make()
    t = np.linspace(0.0, 1.0, 40)[:, None]
    if robot.name == "wrist":
        x = turned(1e-3 + t * np.array([0.2, -0.15, 0.1]))
    else:
        x = nacelle.reference_pose(robot) + t * np.array([0.02, -0.03, 0.1])
    q = nacelle.inverse_kinematics(robot, x, limits=False).q
    wound = q.copy()
    wound[:, 0] += 2.0 * np.pi
    wound[20:, 1] -= 2.0 * np.pi
    for follow in (False, True):
        plain = nacelle.forward_kinematics(robot, q, follow=follow)
        again = nacelle.forward_kinematics(robot, wound, follow=follow)
        assert np.all(plain.flags == 0)
        assert np.all(again.flags == 0)
        np.testing.assert_allclose(again.x, plain.x, atol=1e-12)


@pytest.mark.parametrize("name", ["fivebar", "orthoglide"])
def test_forward_in_closed_form_knows_other_modes(name: str) -> None:
    """Where spheres meet with a leg beyond its own singularity, the inverse gives other coordinates."""
    robot = nacelle.load(name)
    rng = np.random.default_rng(0)
    centre = nacelle.inverse_kinematics(robot, nacelle.reference_pose(robot)).q
    reach = 2.5 if name == "fivebar" else 1.5 * float(np.linalg.norm(robot.reference.p)) or robot.size
    q = centre + rng.uniform(-reach, reach, (400, centre.size))
    found = nacelle.forward_kinematics(robot, q)
    met = (found.flags & int(Flag.UNREACHABLE)) == 0
    other = (found.flags & int(Flag.OTHER_BRANCH)) != 0
    back = nacelle.inverse_kinematics(robot, found.x, limits=False).q
    apart = back - q
    if name == "fivebar":
        apart = np.angle(np.exp(1j * apart))
    off = np.max(np.abs(apart), axis=1)
    assert np.sum(met & other) > 10
    assert np.sum(met & ~other) > 10
    assert np.all(off[met & ~other] < 1e-5)
    assert not np.any(off[met & other] < 1e-8)
