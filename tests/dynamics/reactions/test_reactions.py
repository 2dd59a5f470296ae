"""Reactions: bodies in balance, virtual power, redundancy, peaks."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
import pytest

import nacelle
from nacelle.dynamics import reference
from nacelle.dynamics.physics import Physics
from nacelle.dynamics.reactions import (
    determination,
    joint_reactions,
    peak_reactions,
    reaction_terms,
    solve_reactions,
)
from nacelle.kinematics import kinematic_model as kinematics
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.model.joint import Spring
from nacelle.spatial.batch import from_samples, to_samples
from support.compare import relative_error
from support.random_robots.legs import CASES
from support.random_robots.loads import with_random_friction, with_random_inertias
from support.snakes import snake_robot
from support.uncompiled import (
    ALL,
    fourier_trajectory,
    mark_slow_names,
    named_robot,
    run_uncompiled,
    solve_uncompiled,
)

# ---- reactions
#
# Reactions: the balance of every body, virtual power, cases by hand, what is determined, the public API.

Array = np.ndarray

TIMES = np.array([0.2, 0.45, 0.8])

# A few random robots in every run, all of them in `make test-all`.
FEW = ("6 P-C5", "6 UPS cut at the slide", "point RRR + PRR", "planar RPR", "3 R[SS|SS]", "3 PRPaR")

LATE = [name for name in CASES if name not in FEW]

EVERY = mark_slow_names([*ALL, *CASES], long=LATE)


@cache
def plain_robot(name: str) -> nacelle.Robot:
    """A robot of the library, of the tests, or a random one."""
    return CASES[name](1).robot if name in CASES else named_robot(name)


@cache
def loaded_robot(name: str) -> nacelle.Robot:
    """The same with random inertias and friction, rotors on its drives and springs on passive hinges."""
    robot = with_random_friction(with_random_inertias(plain_robot(name), 3), 4)
    active = {actuator.joint for actuator in robot.actuators}
    joints = []
    for j, joint in enumerate(robot.joints):
        if j in active:
            joint = dataclasses.replace(joint, rotor_inertia=0.02, gear_ratio=3.0)
        elif joint.kind in ("revolute", "prismatic", "cylindrical", "universal"):
            joint = dataclasses.replace(joint, springs=(Spring(2.0, 0.3),) * len(joint.primitives))
        joints.append(joint)
    return dataclasses.replace(robot, joints=tuple(joints))


def run_over(function: Callable[..., Any], robot: nacelle.Robot, *arrays: Array) -> dict[str, Array]:
    """A physics function over batches, with inputs of any dimension."""
    found = function(robot, *(from_samples(array, array.ndim - 1) for array in arrays))
    found = found if isinstance(found, dict) else {"": found}
    return {
        key: np.broadcast_to(to_samples(value), (len(arrays[0]), *np.shape(value)))
        for key, value in found.items()
    }


@dataclasses.dataclass(frozen=True)
class Case:
    """States of a robot, its loads, and the wrenches in its joints, all over batches."""

    robot: nacelle.Robot
    x: Array
    y: Array
    v: Array
    a: Array
    external: Array
    force: Array
    wrench: Array
    unbalanced: Array

    @classmethod
    def of(cls, robot: nacelle.Robot, friction: bool = True) -> Case:
        sample = fourier_trajectory(robot)(TIMES)
        y, v, a = solve_uncompiled(robot, sample.x), sample.v, sample.a
        mechanism = mechanism_of(robot)
        if mechanism.parasitic and 0 < len(mechanism.chart.rotations) < 3:
            found = run_uncompiled(kinematics.coordinate_motions, robot, sample.x, y, v, a)
            v, a = found["v"], found["a"]
        external = np.random.default_rng(7).normal(size=(len(TIMES), len(robot.bodies), 6))
        external[:, 0] = 0.0
        if robot.platform.kind == "point":
            external[:, 1, 3:] = 0.0
        # Nothing holds a rod that spins idly against a moment about its axis.
        for spin in mechanism.mobility.internal_freedoms:
            external[:, spin.body] = 0.0
        load = run_over(reference.project_external_wrenches, robot, sample.x, y, external)[""]
        inverse, terms = (partial(f, physics=Physics(friction)) for f in (reference.inverse, reaction_terms))
        force = run_uncompiled(inverse, robot, sample.x, y, v, a, load)["force"]
        parts = run_over(terms, robot, external, sample.x, y, v, a, force)
        solved = solve_reactions(robot, parts)
        return cls(robot, sample.x, y, v, a, external, force, solved.wrench, solved.unbalanced)

    def bodies(self) -> tuple[Array, Array]:
        found = run_uncompiled(kinematics.body_poses, self.robot, self.x, self.y)
        return found["R"], found["p"]

    def twists(self, v: Array) -> tuple[Array, Array]:
        found = run_uncompiled(kinematics.body_motions, self.robot, self.x, self.y, v, self.a)
        return found["twist"], found["acceleration"]


def in_base(robot: nacelle.Robot, j: int, wrench: Array, R: Array, p: Array) -> tuple[Array, Array, Array]:
    """Force, moment and origin of a joint's wrench in base axes."""
    joint = robot.joints[j]
    frame = joint.frame_predecessor
    pre = joint.predecessor
    turn = R[:, pre] @ frame.R
    origin = p[:, pre] + R[:, pre] @ frame.p
    f, n = (np.einsum("tij,tj->ti", turn, wrench[:, j, part]) for part in (slice(0, 3), slice(3, 6)))
    return f, n, origin


def joint_power(case: Case, v: Array) -> Array:
    """Power (samples, joints) of every joint's wrench on the relative motion that belongs to a twist v."""
    R, p = case.bodies()
    twist, _ = case.twists(v)
    powers = []
    for j, joint in enumerate(case.robot.joints):
        f, n, origin = in_base(case.robot, j, case.wrench, R, p)
        ends = []
        for body in (joint.predecessor, joint.successor):
            V, w = twist[:, body, :3], twist[:, body, 3:]
            ends.append((V + np.cross(w, origin - p[:, body]), w))
        (v1, w1), (v2, w2) = ends
        powers.append(np.sum(f * (v2 - v1) + n * (w2 - w1), axis=1))
    return np.stack(powers, axis=1)


def newton_euler(
    case: Case, body: int, R: Array, p: Array, twist: Array, acceleration: Array
) -> tuple[Array, Array, Array]:
    """Force and moment about the centre of mass that a body needs beyond its weight, and that centre."""
    ten = np.array(case.robot.bodies[body].inertia, dtype=float)
    for load in case.robot.payload:
        if load.body == body:
            ten = ten + np.array(load.inertia)
    m = ten[0]
    c = ten[1:4] / m if m else np.zeros(3)
    xx, xy, yy, xz, yz, zz = ten[4:]
    at_origin = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    I = at_origin - m * (c @ c * np.eye(3) - np.outer(c, c))
    Rb, w, w_dot = R[:, body], twist[:, body, 3:], acceleration[:, body, 3:]
    I_base = Rb @ I @ np.swapaxes(Rb, 1, 2)
    arm = Rb @ c
    a_c = acceleration[:, body, :3] + np.cross(w_dot, arm) + np.cross(w, np.cross(w, arm))
    spin = np.einsum("tij,tj->ti", I_base, w)
    n = np.einsum("tij,tj->ti", I_base, w_dot) + np.cross(w, spin)
    return m * (a_c - np.array(case.robot.gravity)), n, p[:, body] + arm


@pytest.mark.thinned
@pytest.mark.costly
@pytest.mark.parametrize("name", EVERY)
def test_every_body_is_in_balance(name: str) -> None:
    check_balance(loaded_robot(name))


@pytest.mark.slow
def test_every_body_of_eighty_four_is_in_balance() -> None:
    check_balance(snake_robot(28, free=5))


def check_balance(robot: nacelle.Robot) -> None:
    """Wrenches of joints and external ones give every body its motion; on both bodies of a joint the same."""
    case = Case.of(robot)
    R, p = case.bodies()
    sums = np.zeros((len(TIMES), len(robot.bodies), 6))
    spins = mechanism_of(robot).mobility.internal_freedoms
    largest = 1e-300
    for j, joint in enumerate(robot.joints):
        f, n, origin = in_base(robot, j, case.wrench, R, p)
        largest = max(largest, float(np.max(np.abs(f))), float(np.max(np.abs(n))) / robot.size)
        for body, sign in ((joint.successor, 1.0), (joint.predecessor, -1.0)):
            moment = n + np.cross(origin - p[:, body], f)
            sums[:, body] += sign * np.concatenate([f, moment], axis=1)
    motion = case.twists(case.v)
    for body in range(1, len(robot.bodies)):
        f, n, centre = newton_euler(case, body, R, p, *motion)
        asked = np.concatenate([f, n + np.cross(centre - p[:, body], f)], axis=1)
        open_ = sums[:, body] + case.external[:, body] - asked
        for spin in spins:
            if spin.body == body:
                # Friction in its balls may drive a spin; what holds it is about the axis.
                axis = R[:, body] @ np.array(spin.axis)
                open_[:, 3:] -= axis * np.sum(axis * open_[:, 3:], axis=1, keepdims=True)
        open_[:, 3:] /= robot.size
        rows = slice(0, 3 if body == 1 and robot.platform.kind == "point" else 6)
        assert np.max(np.abs(open_[:, rows])) < 1e-10 * largest, robot.bodies[body].name
    if not spins:
        assert np.max(case.unbalanced) < 1e-10 * largest


@pytest.mark.thinned
@pytest.mark.costly
@pytest.mark.parametrize(
    "name", mark_slow_names([*ALL, *CASES], long=[*LATE, "h4", "quattro", "delta4", "hexa"])
)
def test_ideal_reactions_have_no_virtual_power(name: str) -> None:
    """In every passive joint the wrench does no work on any admissible motion; in active ones the motor's."""
    robot = with_random_inertias(plain_robot(name), 3)
    joints = tuple(dataclasses.replace(j, rotor_inertia=0.0, springs=()) for j in robot.joints)
    robot = dataclasses.replace(robot, joints=joints)
    case = Case.of(robot, friction=False)
    v = np.random.default_rng(5).normal(size=case.v.shape)
    power = joint_power(case, v)
    rate = run_uncompiled(kinematics.joint_motions, robot, case.x, case.y, v, case.a)["active_rate"]
    expected = np.zeros_like(power)
    for k, actuator in enumerate(robot.actuators):
        expected[:, actuator.joint] += case.force[:, k] * rate[:, k]
    scale = max(float(np.max(np.abs(expected))), 1e-3)
    assert np.max(np.abs(power - expected)) < 1e-10 * scale


@pytest.mark.costly
@pytest.mark.parametrize("name", ["gough-stewart", "delta", "3rps", "orthoglide", "everything"])
def test_efforts_have_their_power(name: str) -> None:
    """All joints together have the power of the actuators less friction."""
    robot = with_random_friction(with_random_inertias(plain_robot(name), 3), 4)
    joints = tuple(dataclasses.replace(j, rotor_inertia=0.0, springs=()) for j in robot.joints)
    robot = dataclasses.replace(robot, joints=joints)
    case = Case.of(robot)
    lost = run_uncompiled(reference.energies, robot, case.x, case.y, case.v)["dissipation"]
    rate = run_uncompiled(kinematics.joint_motions, robot, case.x, case.y, case.v, case.a)["active_rate"]
    driven = np.sum(case.force * rate, axis=1)
    assert np.allclose(np.sum(joint_power(case, case.v), axis=1), driven - lost, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("name", EVERY)
def test_redundancy_is_what_mobility_counts(name: str) -> None:
    robot = plain_robot(name)
    result = determination(robot)
    assert result.redundancy == nacelle.kinematics.mobility(robot).overconstrained
    assert result.determined.shape == (len(robot.joints), 6)
    assert bool(np.all(result.determined)) == (result.redundancy == 0)


def test_planar_robots_are_stressed_across_their_plane() -> None:
    """In a 3-RRR forces in the plane and moments about its normal are determined, the others are not."""
    robot = plain_robot("3rrr")
    for j, joint in enumerate(robot.joints):
        assert joint.kind == "revolute"
        determined = determination(robot).determined[j]
        assert determined[0]
        assert determined[1]
        assert determined[5]
        assert not determined[2]
        assert not determined[3]
        assert not determined[4]


def test_a_hexapod_at_rest_stands_on_its_base() -> None:
    """The vertical forces of the base joints carry the weight."""
    robot = plain_robot("gough-stewart")
    x, y = (value[None] for value in mechanism_of(robot).reference)
    rest, none = np.zeros((1, 6)), np.zeros((1, len(robot.bodies), 6))
    force = run_uncompiled(reference.inverse, robot, x, y, rest, rest, rest)["force"]
    found = solve_reactions(robot, run_over(reaction_terms, robot, none, x, y, rest, rest, force))
    up = 0.0
    for j, joint in enumerate(robot.joints):
        if joint.predecessor == 0:
            up += (joint.frame_predecessor.R @ found.wrench[0, j, :3])[2]
    mass = sum(body.mass for body in robot.bodies[1:]) + sum(load.inertia[0] for load in robot.payload)
    assert up == pytest.approx(-robot.gravity[2] * mass, rel=1e-12)
    assert found.unbalanced[0] < 1e-10
    # A passive hinge transmits no moment about its axis.
    hinge = next(j for j, joint in enumerate(robot.joints) if joint.kind == "revolute")
    assert abs(found.wrench[0, hinge, 5]) < 1e-10


def five_bar() -> nacelle.Robot:
    """A five-bar that is upright in gravity, without friction, its distal links massless."""
    robot = plain_robot("fivebar")
    ten = [np.zeros(10) for _ in robot.bodies]
    ten[1][0] = 2.0
    flat = np.concatenate(ten[len(ten) - len(robot.parameter_vector("inertia")) // 10 :])
    joints = tuple(dataclasses.replace(j, friction=((),) * len(j.friction)) for j in robot.joints)
    still = dataclasses.replace(robot, joints=joints).with_parameters(flat, "inertia")
    return dataclasses.replace(still, gravity=(0.0, -10.0, 0.0))


def test_a_five_bar_with_a_weight_at_its_point() -> None:
    """Massless links of a five-bar that carries a point mass are in plain tension or compression."""
    robot = five_bar()
    x = nacelle.reference_pose(robot)
    found = joint_reactions(robot, x)
    R, p = nacelle.inverse_kinematics(robot, x).bodies
    ends = [joint for joint in robot.joints if joint.kind == "point"]
    assert len(ends) == 2
    lines, forces = [], []
    for joint in ends:
        body = joint.predecessor if joint.predecessor != 1 else joint.successor
        elbow = next(j for j in robot.tree_joints if j.successor == body)
        elbow_at = p[elbow.predecessor] + R[elbow.predecessor] @ elbow.frame_predecessor.p
        line = p[1] - elbow_at
        lines.append(line / np.linalg.norm(line))
        wrench = found.joint(joint.name)
        turn = R[joint.predecessor] @ joint.frame_predecessor.R
        forces.append(turn @ wrench[:3] * (1.0 if joint.successor == 1 else -1.0))
    # By hand: two rods hold 20 N.
    shares = np.linalg.solve(np.stack(lines, axis=1)[:2], [0.0, 20.0])
    for force, share, line in zip(forces, shares, lines, strict=True):
        assert force == pytest.approx(share * line, abs=1e-11)


@pytest.mark.slow
def test_the_door_takes_batches_and_flags() -> None:
    robot = plain_robot("delta-codourey")
    x = nacelle.pose(robot, z=-0.62) + np.array([[0.0, 0.0, 0.0], [0.1, 0.0, 0.0], [5.0, 0.0, 0.0]])
    v = np.array([0.3, -0.2, 0.1])
    hand = {"plate": np.array([[1.0, 2.0, -30.0, 0.1, 0.0, 0.0]])}
    found = joint_reactions(robot, x, v, external=hand)
    assert found.wrench.shape == (3, len(robot.joints), 6)
    assert np.all(np.isfinite(found.wrench[:2]))
    assert np.all(np.isnan(found.wrench[2]))
    assert list(found.flags) == [0, 0, int(nacelle.Flag.UNREACHABLE)]
    for k in range(2):
        one = joint_reactions(robot, x[k], v, external={"plate": hand["plate"][0]})
        assert relative_error(one.wrench, found.wrench[k]) < 1e-12
    name = robot.joints[4].name
    assert np.array_equal(found.joint(name), found.wrench[:, 4], equal_nan=True)
    with pytest.raises(KeyError):
        found.joint("nothing")
    with pytest.raises(nacelle.UnreachableError):
        joint_reactions(robot, x[2])
    with pytest.raises(nacelle.KinematicsError, match="no body"):
        joint_reactions(robot, x, external={"plates": np.zeros(6)})
    with pytest.raises(nacelle.KinematicsError, match="not finite"):
        joint_reactions(robot, x[0], [np.nan, 0.0, 0.0])


def test_forces_can_be_given() -> None:
    robot = plain_robot("delta-codourey")
    x, v, a = nacelle.pose(robot, z=-0.62), np.array([0.3, -0.2, 0.1]), np.array([4.0, 1.0, -3.0])
    expected = joint_reactions(robot, x, v, a)
    for given in (None, a):
        found = joint_reactions(robot, x, v, given, tau=expected.tau)
        assert relative_error(found.wrench, expected.wrench) < 1e-10
    with pytest.raises(nacelle.KinematicsError, match="another acceleration"):
        joint_reactions(robot, x, v, 2.0 * a, tau=expected.tau)
    with pytest.raises(nacelle.KinematicsError, match="actuators"):
        joint_reactions(robot, x, v, tau=[1.0])


def test_peaks_are_the_largest_of_all_samples() -> None:
    robot = plain_robot("delta-codourey")
    course = nacelle.Circle(nacelle.pose(robot, z=-0.62), 0.1, motion=robot.motion, duration=0.4)
    found = peak_reactions(robot, course, rate=200)
    assert len(found.times) == 81
    assert len(found.peaks) == len(robot.joints)
    for j, peak in enumerate(found.peaks):
        wrench = found.reactions.wrench[:, j]
        size = np.linalg.norm(wrench[:, :3], axis=1)
        assert peak.force == np.max(size)
        assert found.times[np.argmax(size)] == peak.force_time
        assert peak.moment == np.max(np.linalg.norm(wrench[:, 3:], axis=1))
        assert peak.mean_force == pytest.approx(np.mean(size**3) ** (1 / 3), rel=1e-12)
        assert np.mean(size) <= peak.mean_force <= peak.force
        if peak.kind in ("spherical", "point"):
            # A ball has no axis.
            assert np.all(np.isnan([peak.radial, peak.axial, peak.tilting, peak.torque]))
        else:
            # A universal joint's first hinge is its x axis.
            axis = 0 if peak.kind == "universal" else 2
            across = [k for k in range(3) if k != axis]
            assert peak.axial == np.max(np.abs(wrench[:, axis]))
            radial = np.max(np.linalg.norm(wrench[:, across], axis=1))
            assert peak.radial == pytest.approx(radial, rel=1e-12)
            assert peak.torque == np.max(np.abs(wrench[:, 3 + axis]))
            tilting = np.max(np.linalg.norm(wrench[:, 3:][:, across], axis=1))
            assert peak.tilting == pytest.approx(tilting, rel=1e-12, abs=1e-12)
        assert peak.determined
        assert peak.open == ()
        assert found.joint(peak.name) is peak
    assert "delta-codourey" in repr(found)
    # What a load at the plate adds.
    push = peak_reactions(robot, course, rate=200, external={"plate": [0.0, 0.0, -500.0, 0.0, 0.0, 0.0]})
    assert all(more.force > 1.5 * peak.force for more, peak in zip(push.peaks, found.peaks, strict=True))
    with pytest.raises(nacelle.KinematicsError, match="above zero"):
        peak_reactions(robot, course, rate=0.0)
    far = nacelle.Circle(nacelle.pose(robot, z=-9.0), 0.1, motion=robot.motion, duration=0.4)
    with pytest.raises(nacelle.UnreachableError, match="no pose"):
        peak_reactions(robot, far, rate=100)


@pytest.mark.slow
def test_peaks_name_what_is_open() -> None:
    planar = plain_robot("3rrr")
    course = nacelle.Circle(nacelle.reference_pose(planar), 0.01, motion=planar.motion, duration=0.1)
    found = peak_reactions(planar, course, rate=50)
    for peak in found.peaks:
        assert peak.open == ("fz", "nx", "ny")
        assert not peak.determined


@pytest.mark.slow
def test_smooth_friction_is_that_of_the_dynamics() -> None:
    robot = plain_robot("delta-codourey")
    x, v = nacelle.pose(robot, z=-0.62), np.array([0.003, -0.002, 0.001])
    sharp, smooth = joint_reactions(robot, x, v), joint_reactions(robot, x, v, smooth=0.1)
    forces = nacelle.inverse_dynamics(robot, x, v, smooth=0.1).tau
    assert relative_error(smooth.tau, forces) < 1e-12
    assert relative_error(smooth.tau, sharp.tau) > 1e-3
    # The motor's torque goes through its joint, less what friction and rotor take there.
    for k, actuator in enumerate(robot.actuators):
        joint = robot.joints[actuator.joint]
        rate = nacelle.kinematics.joint_motion(robot, x, v).actuators[1][k]
        rub = sum(
            term.coefficient * np.tanh(rate / 0.1) for term in joint.friction[0] if term.basis == "coulomb"
        )
        rub += sum(term.coefficient * rate for term in joint.friction[0] if term.basis == "viscous")
        bias = nacelle.kinematics.joint_motion(robot, x, v, np.zeros(3)).actuators[2][k]
        rotor = joint.gear_ratio**2 * joint.rotor_inertia * bias
        assert smooth.wrench[actuator.joint, 5] == pytest.approx(forces[k] - rub - rotor, abs=1e-10)
