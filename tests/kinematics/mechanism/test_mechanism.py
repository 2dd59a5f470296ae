"""Mechanisms: assembly, closed states, dependent coordinates, spins, words."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from ruamel.yaml import YAML

import nacelle
from nacelle.kinematics.mechanism.assembly import assemble, guess_coordinates
from nacelle.kinematics.mechanism.closed import closed_near
from nacelle.kinematics.mechanism.dependent import dependent_names
from nacelle.kinematics.mechanism.mechanism import counting, mechanism_of
from nacelle.model.joint import JointKind, Primitive
from nacelle.model.platform import AXES
from nacelle.spatial.pose import Pose
from support.described import mechanism
from support.library import library_robot
from support.rigid_robots import delta_with_tolerances
from support.turning_robots import four_bar, pendulum, telescope
from support.uncompiled import ALL, any_robot

# ---- Assembly: idle motions stay where the description puts them; the reference is assembled once


@pytest.mark.parametrize("name", ["quattro", "delta"])
def test_rods_do_not_spin(name: str) -> None:
    """Guesses of the elbows tilt the rods about y alone: so do the solutions, to rounding."""
    robot = library_robot(name)
    assembly = assemble(robot)
    assert not assembly.open
    guess = guess_coordinates(robot)
    rods = [
        place
        for joint, place in zip(robot.tree_joints, robot.q_slices, strict=True)
        if joint.primitives == (Primitive.SPHERICAL,)
    ]
    assert rods
    for place in rods:
        x, y, z, w = assembly.q[place]
        assert guess[place][0] == guess[place][2] == 0.0
        assert max(abs(x), abs(z)) < 1e-15
        assert np.hypot(y, w) == pytest.approx(1.0)


def test_the_other_branch_is_found_from_guesses_on_this_one() -> None:
    """Random starts that lead nowhere do not end the search: both branches of an RRR leg exist."""
    robot = library_robot("3rrr")
    leg = robot.legs[0]
    here = assemble(robot)
    assert not here.missed
    other = dataclasses.replace(
        robot, legs=(dataclasses.replace(leg, branch=-leg.branch), *robot.legs[1:]), modes=()
    )
    for seed in range(1, 11):
        there = assemble(other, robot.reference, here.q, seed)
        assert not there.open
        assert not there.missed


# ---- Closed configurations near the reference: loops closed, moved along what is independent


@pytest.mark.parametrize("name", ["fivebar", "3rps", "delta", "quattro", "everything"])
def test_loops_are_closed(name: str) -> None:
    robot = any_robot(name)
    start = mechanism_of(robot).assembly
    found = closed_near(robot, start, 0.03, np.random.default_rng(5))
    assert found is not None
    _, _, motion, _ = found
    for joint in robot.closures:
        first, second = (
            motion.poses[body].p + motion.poses[body].R @ frame.p
            for body, frame in (
                (joint.predecessor, joint.frame_predecessor),
                (joint.successor, joint.frame_successor),
            )
        )
        if joint.kind in (JointKind.SPHERICAL, JointKind.REVOLUTE, JointKind.UNIVERSAL):
            np.testing.assert_allclose(first, second, rtol=0, atol=1e-11 * robot.size)
    moved = np.max(np.abs(motion.poses[1].p - start.motion.poses[1].p)) / robot.size
    turned = np.max(np.abs(motion.poses[1].R - start.motion.poses[1].R))
    assert 1e-3 < moved + turned < 0.3
    for pose in motion.poses:
        np.testing.assert_allclose(pose.R @ pose.R.T, np.eye(3), rtol=0, atol=1e-13)


# ---- Dependent coordinates: they are those of the platform as the bodies have it


@pytest.mark.costly
@pytest.mark.parametrize("name", nacelle.robot_names())
def test_coordinates_and_dependent_ones_place_the_platform(name: str) -> None:
    robot = nacelle.load(name)
    names = dependent_names(robot)
    mechanism = mechanism_of(robot)
    assert bool(names) == mechanism.parasitic
    assert not set(names) & set(robot.motion.coordinates)
    if not names:
        assert (
            nacelle.dependent_coordinates(nacelle.inverse_kinematics(robot, nacelle.reference_pose(robot)))
            == {}
        )
        return
    assert {*names, *robot.motion.coordinates} >= set(AXES[: robot.platform_nv])
    rng = np.random.default_rng(5)
    x = nacelle.reference_pose(robot) + rng.uniform(-0.02, 0.02, (5, robot.motion.n))
    found = nacelle.inverse_kinematics(robot, x)
    dependent = nacelle.dependent_coordinates(found)
    assert tuple(dependent) == names
    for k in range(len(x)):
        R, p = found.bodies.R[k, 1], found.bodies.p[k, 1]
        expected = mechanism.chart.coordinates(Pose(R, p))[1]
        np.testing.assert_allclose([values[k] for values in dependent.values()], expected, atol=1e-12)
        for axis, letter in enumerate("xyz"):
            if letter in dependent:
                assert dependent[letter][k] == pytest.approx(p[axis], abs=1e-12)


@pytest.mark.slow
def test_the_same_from_the_actuators_and_in_gaps() -> None:
    robot = nacelle.load("3rps")
    x = nacelle.reference_pose(robot) + np.array([[0.01, 0.1, 0.05], [0, 0, 0], [np.nan, 0, 0]])
    found = nacelle.inverse_kinematics(robot, x)
    first = nacelle.dependent_coordinates(found)
    second = nacelle.dependent_coordinates(nacelle.forward_kinematics(robot, found.actuators))
    for name, values in first.items():
        assert np.isfinite(values).tolist() == [True, True, False]
        np.testing.assert_allclose(second[name], values, atol=1e-9)
    single = nacelle.dependent_coordinates(nacelle.inverse_kinematics(robot, x[0]))
    assert {name: float(value) for name, value in single.items()} == pytest.approx(
        {name: float(values[0]) for name, values in first.items()}, abs=1e-12
    )


@pytest.mark.parametrize("seed", [3, 5])
def test_tolerances_of_a_leg_keep_the_branch_of_the_guess(seed: int) -> None:
    """A leg with rods that differ closes only with a tilted plate; a held one does not choose the branch."""
    robot = delta_with_tolerances(seed)
    found = assemble(robot)
    assert not found.open
    arms = [found.q[robot.q_slices[robot.joint(f"leg{k}.shoulder")]][0] for k in (1, 2, 3)]
    np.testing.assert_allclose(arms, 0.518, atol=0.01)
    # Less than a degree, but not zero.
    tilt = np.linalg.norm(found.platform.R - np.eye(3))
    assert 1e-6 < tilt < 0.02


# ---- Coordinates that nothing drives, and joints that could be coordinates, in words


def test_what_nothing_drives_is_named() -> None:
    m = nacelle.mobility(mechanism("carriage"))
    assert m.is_underactuated
    assert m.unfelt
    assert m.undriven == ("pendulum.swing",)
    check = nacelle.check("tests/support/described/carriage.yaml")
    assert not check.errors
    assert "nothing drives pendulum.swing: 3 actuators for 4 motions" in check.problems[0].message


def test_a_motion_that_does_not_fit_suggests_one() -> None:
    text = mechanism("arm").to_yaml().replace("arm.turn, ", "", 1)
    with pytest.raises(
        nacelle.DescriptionError, match=r"write motion: \[arm\.shoulder, arm\.motor, arm\.turn"
    ):
        nacelle.loads(text)


# ---- Idle motions: rods between two spherical joints spin about themselves, and nothing else does


@pytest.mark.parametrize(("name", "count"), [("delta", 6), ("h4", 8), ("gough-stewart", 0), ("fivebar", 0)])
def test_spins(name: str, count: int) -> None:
    mechanism = mechanism_of(any_robot(name))
    robot = mechanism.robot
    spins = [spin for plan in mechanism.legs for spin in plan.spins]
    assert len(spins) == count
    for spin in spins:
        # The axis runs through the spherical joints at both ends of the body.
        ends = []
        for joint in robot.joints:
            if spin.body in (joint.predecessor, joint.successor):
                frame = joint.frame_successor if joint.successor == spin.body else joint.frame_predecessor
                ends.append(np.asarray(frame.p, dtype=float))
        line = (ends[1] - ends[0]) / np.linalg.norm(ends[1] - ends[0])
        assert abs(abs(line @ np.array(spin.axis)) - 1.0) < 1e-9
        assert np.linalg.norm(np.cross(line, np.array(spin.point) - ends[0])) < 1e-9


def test_spins_of_a_robot_without_a_nacelle() -> None:
    known = mechanism_of(mechanism("tied_arm"))
    rod, mobility = known.robot.body("arm.rod"), known.mobility
    assert [spin.body for spin in known.nacelle_spins] == [rod]
    np.testing.assert_allclose(np.abs(known.nacelle_spins[0].axis), [1.0, 0.0, 0.0], atol=1e-9)
    assert (mobility.true, mobility.platform, mobility.idle_count) == (3, 2, 1)
    assert mobility.idle == ("arm.rod spins about its own axis",)


def test_bodies_of_a_cylinder_spin_together_and_one_of_them_is_held() -> None:
    known = mechanism_of(mechanism("digger"))
    names = [known.robot.bodies[spin.body].name for spin in known.mobility.spinning]
    assert names == ["cylinder.barrel", "cylinder.piston", "bucket.barrel", "bucket.piston"]
    held = [known.robot.bodies[spin.body].name for spin in known.nacelle_spins]
    assert held == ["cylinder.barrel", "bucket.barrel"]
    assert known.mobility.platform == 3


def test_a_rod_that_carries_the_rest_of_the_tree_spins_too() -> None:
    data = YAML(typ="safe").load(mechanism("tied_arm").to_yaml())
    leg = data["legs"][0]
    leg["joints"]["tip"] = leg["closures"].pop("tip")
    leg["closures"]["elbow"] = leg["joints"].pop("elbow")
    del leg["closures"]["elbow"]["guess"]
    known = mechanism_of(nacelle.build(data))
    assert known.mobility.idle == ("arm.rod spins about its own axis",)
    assert [known.robot.bodies[spin.body].name for spin in known.nacelle_spins] == ["arm.rod"]


# ---- The analysis of a robot: places of rates, what depends, what needs iteration; made once


@pytest.mark.parametrize("name", ALL)
def test_rates_of_the_nacelle_are_independent_dependent_or_zero(name: str) -> None:
    robot = any_robot(name)
    mechanism = mechanism_of(robot)
    assert len(mechanism.independent) == robot.motion.n
    assert set(mechanism.independent) <= set(mechanism.w_rates)
    assert set(mechanism.dependent) <= set(mechanism.w_rates)
    assert not set(mechanism.dependent) & set(mechanism.independent)
    assert mechanism.closed_form is (mechanism.ny == 0)
    x, y = mechanism.reference
    assert (len(x), len(y)) == (mechanism.layout.nx, mechanism.ny)
    # Rates of legs are those of their joints, each in one leg.
    listed = [rate for plan in mechanism.legs for rate in plan.rates]
    assert len(listed) == len(set(listed))
    assert mechanism.nw + len(listed) == robot.platform_nv + robot.nv


def test_angles_that_count_turns() -> None:
    """Of sprung joints that x does not give, that iteration does not find and that limits do not hold."""
    loop = counting(four_bar({"foot": (1.0, 0.0), "knee": (1.0, 0.0)}))
    assert mechanism_of(loop).counted == ((loop.joint("bars.foot"), 0),)
    for robot in (four_bar({"crank": (1.0, 0.0), "tip": (1.0, 0.0)}), telescope(), pendulum()):
        assert counting(robot) is robot
    held = telescope({"hip": (1.0, 0.0)}, {"hip": (0.0, 5.0)})
    assert counting(held) is held
    robot = telescope({"hip": (1.0, 0.4), "wrist": (1.0, 0.0)})
    moved = counting(robot)
    mechanism = mechanism_of(moved)
    assert (mechanism.counted, mechanism.ny, mechanism.closed_form) == (((0, 0), (2, 0)), 2, True)
    assert mechanism.reference[1].tolist() == [0.4, 0.0]
    assert (moved == robot, moved.described == robot, counting(moved) is moved) == (False, True, True)
    assert moved.to_yaml() == robot.to_yaml()
