"""Gravity balancing against balances known by hand, energies, and the dynamics of the balanced robot."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import nacelle
from nacelle.dynamics.gravity_balance import balance_gravity
from nacelle.dynamics.jacobian import sample_poses
from nacelle.model.joint import Spring
from support.compare import relative_error
from support.described import description_text
from support.uncompiled import mark_slow_names, named_robot

# The numbers of the pendulum, kg, m and m/s^2.
MASS, CENTRE, HEIGHT, ARM, G = 2.0, 0.3, 0.4, 0.25, 9.81
ANGLES = np.linspace(-0.9, 0.9, 25)[:, None]


def pendulum() -> nacelle.Robot:
    return nacelle.loads(description_text("pendulum"))


@pytest.mark.slow
def test_a_spring_without_free_length_balances_a_pendulum_exactly() -> None:
    """k h r = m g l, and the length of the telescope at rest is zero: the textbook's balance."""
    found = balance_gravity(pendulum(), ANGLES, springs=["telescope.slide"], rest=(-1.0, 1.0))
    (spring,) = found.springs
    assert spring.joint == "telescope.slide"
    assert not spring.revolute
    assert spring.stiffness == pytest.approx(MASS * G * CENTRE / (HEIGHT * ARM), rel=1e-12)
    assert spring.rest == pytest.approx(0.0, abs=1e-12)
    assert np.max(np.abs(found.after)) < 1e-12 * np.max(np.abs(found.before))
    np.testing.assert_allclose(found.before[:, 0], MASS * G * CENTRE * np.cos(ANGLES[:, 0]), rtol=1e-12)
    # Balanced everywhere, not only where it was asked for: the energy does not change.
    others = np.linspace(-1.2, 1.2, 31)[:, None]
    energy = nacelle.potential_energy(found.robot, others)
    assert np.ptp(energy) < 1e-12 * np.ptp(nacelle.potential_energy(pendulum(), others))
    assert not found.ill_conditioned


def test_a_counterweight_balances_a_pendulum_exactly() -> None:
    """Mass times distance on both sides of the pivot."""
    found = balance_gravity(pendulum(), ANGLES, counterweights={"arm": [-0.2, 0.0, 0.0]})
    assert found.springs == ()
    (weight,) = found.counterweights
    assert weight.mass == pytest.approx(MASS * CENTRE / 0.2, rel=1e-12)
    assert np.max(np.abs(nacelle.dynamics.equilibrium(found.robot, ANGLES))) < 1e-12 * MASS * G
    # A point mass: the inertia about the pivot grows by m d^2.
    more = nacelle.mass_matrix(found.robot, ANGLES[0]) - nacelle.mass_matrix(pendulum(), ANGLES[0])
    assert more[0, 0] == pytest.approx(weight.mass * 0.2**2, rel=1e-12)
    # On the wrong side none is best.
    none = balance_gravity(pendulum(), ANGLES, counterweights={"arm": [0.2, 0.0, 0.0]})
    assert none.counterweights == ()
    np.testing.assert_array_equal(none.after, none.before)


def test_a_spring_at_the_motor_is_the_line_through_its_torque() -> None:
    """Free of bounds, the spring of an inverted pendulum is the regression line of its torque."""
    upright = np.pi / 2 + np.linspace(-0.7, 0.5, 40)[:, None]
    found = balance_gravity(pendulum(), upright, rest=(-10.0, 10.0))
    (spring,) = found.springs
    torque = MASS * G * CENTRE * np.cos(upright[:, 0])
    slope, level = np.polyfit(upright[:, 0], torque, 1)
    assert spring.stiffness == pytest.approx(-slope, rel=1e-9)
    assert spring.rest == pytest.approx(-level / slope, rel=1e-9)
    left = torque - np.polyval([slope, level], upright[:, 0])
    np.testing.assert_allclose(found.after[:, 0], left, atol=1e-9)
    # Hanging, a positive stiffness makes it worse: as much preload as the bound allows, and hardly any slope.
    hanging = balance_gravity(pendulum(), upright - np.pi, rest=(-10.0, 10.0))
    assert hanging.springs == () or hanging.springs[0].rest in (-10.0, 10.0)


@pytest.mark.slow
@pytest.mark.parametrize("name", mark_slow_names(("delta-codourey", "redundant", "3rps"), long=("3rps",)))
def test_what_is_left_is_what_the_balanced_robot_needs(name: str) -> None:
    robot = named_robot(name)
    if name == "redundant":
        robot = dataclasses.replace(robot, gravity=(0.0, -9.81, 0.0))
    found = balance_gravity(robot)
    assert found.x.shape[0] == 200
    scale = np.max(np.abs(found.before))
    for balanced, forces in ((robot, found.before), (found.robot, found.after)):
        held = nacelle.inverse_dynamics(balanced, found.x, friction=False).tau
        assert np.max(np.abs(held - forces)) < 1e-10 * scale
    assert np.linalg.norm(found.rms_after) < 0.8 * np.linalg.norm(found.rms_before)
    np.testing.assert_allclose(found.max_after, np.max(np.abs(found.after), axis=0))
    # Any other spring is worse, as far as it may rest: half a turn, or the robot's size, beyond the range.
    best = np.sum(found.after**2)
    q = nacelle.inverse_kinematics(robot, found.x).q
    changes = ((1.01, 0.0), (0.99, 0.0), (1.0, 0.05), (1.0, -0.05))
    tried = 0
    for factor, shift in changes:
        joints = list(found.robot.joints)
        for spring in found.springs:
            k = next(k for k, a in enumerate(robot.actuators) if a.joint == robot.joint(spring.joint))
            room = np.pi if spring.revolute else robot.size
            low, high = np.min(q[:, k]) - room, np.max(q[:, k]) + room
            if spring.revolute and robot.joints[robot.actuators[k].joint].may_turn(0):
                low, high = low + np.ptp(q[:, k]) + 1e-5, high - np.ptp(q[:, k]) - 1e-5
            rest = np.clip(spring.rest + shift, low, high)
            other = Spring(spring.stiffness * factor, float(rest))
            joint = robot.actuators[k].joint
            tried += abs(other.rest - spring.rest) + abs(factor - 1.0) > 1e-12
            joints[joint] = dataclasses.replace(joints[joint], springs=(other,))
        worse = dataclasses.replace(found.robot, joints=tuple(joints))
        assert np.sum(nacelle.dynamics.equilibrium(worse, found.x) ** 2) >= best * (1.0 - 1e-12)
    assert tried >= 2 * len(found.springs)
    # Balancing again finds the same springs: those in the chosen joints are replaced.
    again = balance_gravity(found.robot, found.x)
    np.testing.assert_allclose(
        [spring[3:] for spring in again.springs], [spring[3:] for spring in found.springs], rtol=1e-9
    )
    assert relative_error(again.before, found.after) < 1e-9


@pytest.mark.slow
def test_gravity_torques_are_energy_differences() -> None:
    """What the springs are fitted to: dE = tau . dq along any small motion."""
    robot = named_robot("delta-codourey")
    found = balance_gravity(robot, springs=["leg1.shoulder", "leg2.shoulder"])
    assert {spring.joint for spring in found.springs} == {"leg1.shoulder", "leg2.shoulder"}
    step = 1e-4 * np.random.default_rng(3).uniform(-1.0, 1.0, found.x.shape)
    for balanced, force in ((robot, found.before), (found.robot, found.after)):
        ends = [found.x + sign * step for sign in (1.0, -1.0)]
        energy = np.subtract(*(nacelle.potential_energy(balanced, x) for x in ends))
        moved = np.subtract(*(nacelle.inverse_kinematics(robot, x).q for x in ends))
        work = np.sum(force * moved, axis=1)
        assert np.max(np.abs(work - energy)) < 1e-6 * np.max(np.abs(energy))


@pytest.mark.slow
def test_springs_can_be_alike() -> None:
    robot = named_robot("delta-codourey")
    x = sample_poses(robot, 60)
    own, same = balance_gravity(robot, x), balance_gravity(robot, x, alike=True)
    assert len({spring[3:] for spring in same.springs}) == 1
    assert len(same.springs) == len(own.springs) == 3
    assert np.sum(own.after**2) < np.sum(same.after**2) < 1.1 * np.sum(own.after**2)
    # A Delta's arms balance better by weights behind the motors, since cosines balance cosines.
    places = {f"leg{k}.arm": [-0.1, 0.0, 0.0] for k in (1, 2, 3)}
    weights = balance_gravity(robot, x, counterweights=places, alike=True)
    assert len({weight.mass for weight in weights.counterweights}) == 1
    assert np.sum(weights.after**2) < np.sum(same.after**2)
    both = balance_gravity(robot, x, counterweights=places, springs=["leg1.shoulder"])
    assert np.sum(both.after**2) < np.sum(weights.after**2)


def test_loads_are_balanced_too() -> None:
    """A weight at the tip as an external force asks for the spring of a heavier pendulum."""
    load = {"arm": [0.0, -5.0, 0.0, 0.0, 0.0, 0.0]}
    with pytest.raises(nacelle.KinematicsError, match="no body"):
        balance_gravity(pendulum(), ANGLES, external={"leg": load["arm"]})
    # Through the arm's origin, which is the pivot, it does nothing; as a moment it does.
    plain = balance_gravity(pendulum(), ANGLES, springs=["telescope.slide"], rest=(-1.0, 1.0))
    for wrench, more in (([0.0, -5.0, 0, 0, 0, 0], 0.0), ([0, 0, 0, 0, 0, -1.5], 1.5)):
        found = balance_gravity(pendulum(), ANGLES, springs=["telescope.slide"], external={"arm": wrench})
        np.testing.assert_allclose(found.before - plain.before, more, atol=1e-12)


def test_poor_poses_are_told() -> None:
    """One pose does not tell stiffness from preload; nor does a joint that does not move."""
    found = balance_gravity(pendulum(), ANGLES[:1])
    assert found.ill_conditioned
    assert np.abs(found.after[0, 0]) < 1e-12
    still = balance_gravity(pendulum(), np.repeat(ANGLES[:1], 5, axis=0))
    assert still.ill_conditioned
    twice = balance_gravity(
        pendulum(), ANGLES, counterweights={"arm": [-0.2, 0, 0], "pivot.hub": [-0.2, 0, 0]}
    )
    assert twice.ill_conditioned


def test_faults_are_told() -> None:
    robot = pendulum()
    for options, words in (
        ({"springs": ["motor"]}, "no joint 'motor'"),
        ({"springs": []}, "nothing to balance"),
        ({"springs": ["pivot.grip"]}, "no axis"),
        ({"springs": ["pivot.turn", "pivot.turn"]}, "twice"),
        ({"counterweights": {"base": [0.0, 0.0, 0.0]}}, "no body 'base'"),
        ({"counterweights": {"arm": [0.0, 1.0]}}, "three lengths"),
        ({"rest": (1.0, -1.0)}, "rest is a range"),
    ):
        with pytest.raises(nacelle.KinematicsError, match=words):
            balance_gravity(robot, ANGLES, **options)
    with pytest.raises(nacelle.KinematicsError, match="shape"):
        balance_gravity(robot, np.zeros((2, 2, 1)))
    with pytest.raises(nacelle.KinematicsError, match="180 degrees"):
        balance_gravity(robot, np.array([[3.0], [3.3]]))
    with pytest.raises(nacelle.KinematicsError, match="hold nothing"):
        balance_gravity(dataclasses.replace(robot, gravity=(0.0, 0.0, -9.81)), ANGLES)
    with pytest.raises(nacelle.UnreachableError, match=r"1 of 2 poses .* the first of them pose 2"):
        balance_gravity(named_robot("delta-codourey"), [[0.0, 0.0, -0.62], [5.0, 0.0, 0.0]])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"springs": [3]}, r"springs are named by their joints, such as '.*', got \[3\]"),
        ({"springs": 3}, "springs are named by their joints"),
        ({"counterweights": ["arm"]}, "counterweights are a mapping of bodies to places"),
        ({"counterweights": {3: (0, 0, 0)}}, "counterweights are named by their bodies, got 3"),
        ({"counterweights": {"arm": "here"}}, "is three lengths, got here"),
    ],
)
def test_what_is_no_spring_and_no_place(options: dict[str, object], words: str) -> None:
    with pytest.raises(nacelle.KinematicsError, match=words):
        balance_gravity(pendulum(), ANGLES, **options)
