"""The check before a force leaves: determinants, singularities that are crossed, reasons and their order."""

from __future__ import annotations

import numpy as np
import pytest

import nacelle
from nacelle.control.kind import ControlStep, DesiredMotion
from nacelle.control.pieces.admissible import (
    Room,
    check_state,
    determinant,
    parallel_distance,
    released,
    setpoint_at_rest,
    setpoint_memory,
)
from nacelle.control.pieces.signals import DESIRED_REFUSED, MEASURED_REFUSED, STOPPED
from nacelle.export.states import seeded_states
from nacelle.export.vectors import relation_error
from nacelle.kinematics.iteration.branch import branch_of, unknown_units
from nacelle.kinematics.kinematic_model import inverse_jacobian
from nacelle.kinematics.margins import NEAR_MARGIN
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from support.library import library_robot

K = {"period": np.array([1e-3])}


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6, 7])
def test_determinants_are_those_of_numpy(n: int) -> None:
    A = np.random.default_rng(n).normal(size=(n, n))
    assert determinant(A) == pytest.approx(np.linalg.det(A), rel=1e-12)
    A[-1] = A[0] if n > 1 else 0.0
    assert abs(determinant(A)) < 1e-14


@pytest.mark.parametrize("name", ["fivebar", "delta", "palida", "quattro"])
def test_the_parallel_margin_is_that_of_normalised_rows(name: str) -> None:
    """s d |d| / prod |J_i|^2 by NumPy; beyond the singularity the other side is refused."""
    robot = library_robot(name)
    rng, n = np.random.default_rng(3), robot.motion.n
    units = np.array([robot.size if c in "xyz" else 1.0 for c in robot.motion.coordinates])
    for _ in range(5):
        J = rng.normal(size=(n, n))
        rows = J * units / units[0]
        lengths = np.prod(np.sum(rows**2, axis=1))
        p = np.linalg.det(rows) ** 2 / lengths
        side = np.sign(np.linalg.det(rows))
        for own, expected in ((side, p), (-side, -p)):
            found = parallel_distance(robot, J, np.array([own]))
            assert found == pytest.approx((expected - NEAR_MARGIN) * lengths, rel=1e-9)


def test_the_other_side_of_a_parallel_singularity_is_refused() -> None:
    """A five-bar reaches poses on both sides of its singularity with the same legs."""
    robot = library_robot("fivebar")
    x = np.asarray(nacelle.reference_pose(robot), dtype=float)
    poses = x + np.random.default_rng(0).uniform(-1.5, 1.5, (600, 2)) * robot.size
    ok = nacelle.inverse_kinematics(robot, poses).ok
    z = {**setpoint_at_rest(robot, x, np.zeros(0)), "started": np.zeros(1)}
    sides = []
    for pose in poses[ok][:60]:
        J = np.asarray(inverse_jacobian(robot, pose, np.zeros(0))["J"])
        same = np.sign(np.linalg.det(J)) == z["side"][0]
        numbers = check_state(robot, z, (pose, np.zeros(0), np.zeros(2)), Room(0.0, 1.0)).numbers
        assert (min(numbers) > 0.0) == same
        sides.append(same)
    assert 0 < np.sum(sides) < len(sides)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["fivebar", "delta", "palida"])
def test_states_are_those_that_inverse_kinematics_takes(name: str) -> None:
    """Reach, branch and limits of all joints over random poses; room beyond limits takes more of them."""
    robot = library_robot(name)
    x = np.asarray(nacelle.reference_pose(robot), dtype=float)
    spread = np.array([robot.size if c in "xyz" else 0.0 for c in robot.motion.coordinates])
    reach = 0.35 if name == "palida" else 0.6
    moves = np.random.default_rng(1).uniform(-reach, reach, (60, robot.motion.n)) * spread
    poses = np.tile(x, (60, 1))
    poses[:, : np.count_nonzero(spread)] += moves[:, : np.count_nonzero(spread)]
    ok = nacelle.inverse_kinematics(robot, poses).ok
    z, n, none = setpoint_at_rest(robot, x, np.zeros(0)), robot.motion.n, np.zeros(0)
    taken = {}
    for share in (0.0, 0.1):
        states = (check_state(robot, z, (pose, none, np.zeros(n)), Room(share, 1.0)) for pose in poses)
        with np.errstate(all="ignore"):
            taken[share] = np.array([all(number > 0.0 for number in state.numbers) for state in states])
    # What is refused though it is reached lies beyond a parallel singularity.
    assert not np.any(taken[0.0] & ~ok)
    sides = [np.sign(np.linalg.det(np.asarray(inverse_jacobian(robot, p, none)["J"]))) for p in poses[ok]]
    assert np.array_equal(taken[0.0][ok], np.array(sides) == z["side"][0])
    assert not np.any(taken[0.0] & ~taken[0.1])
    assert 3 < np.sum(taken[0.0]) < 57


@pytest.mark.parametrize("name", ["quattro", "h4", "3rps"])
def test_a_relation_of_unknowns_that_is_off_is_refused_in_double(name: str) -> None:
    """By 1e-4 in any of its unknowns; the room of single precision takes what that leaves."""
    robot = library_robot(name)
    x, y = mechanism_of(robot).reference
    wide = Room(0.0, 1.0, relation_error(seeded_states(robot)))
    z, v, units = setpoint_at_rest(robot, x, y), np.zeros(robot.motion.n), unknown_units(mechanism_of(robot))
    relations = branch_of(robot).relations
    assert relations
    for off, room, is_taken in (
        (0.0, Room(0.0, 1.0), True),
        (1e-4, Room(0.0, 1.0), False),
        (2e-5, wide, True),
    ):
        for relation in relations:
            moved = np.array(y)
            moved[relation.first] += off * units[relation.first]
            assert (min(check_state(robot, z, (x, moved, v), room).numbers) > 0.0) == is_taken


@pytest.mark.parametrize(
    ("x_off", "reading", "force", "before", "expected"),
    [
        (0.0, 0.0, 1.0, 0.0, 0.0),
        (9.0, 0.0, 1.0, 0.0, DESIRED_REFUSED),
        (0.0, 3.0, 1.0, 0.0, MEASURED_REFUSED),
        (9.0, 3.0, 1.0, 0.0, DESIRED_REFUSED),
        (0.0, 3.0, np.nan, 0.0, MEASURED_REFUSED),
        (0.0, 0.0, np.nan, 0.0, DESIRED_REFUSED),
        (9.0, 3.0, np.nan, STOPPED, STOPPED),
        (0.0, np.nan, 1.0, 0.0, 0.0),
    ],
)
def test_reasons_and_what_is_kept(
    x_off: float, reading: float, force: float, before: float, expected: float
) -> None:
    robot = library_robot("fivebar")
    x = np.asarray(nacelle.reference_pose(robot), dtype=float)
    z = {
        **setpoint_at_rest(robot, x, np.zeros(0)),
        "q_d": nacelle.inverse_kinematics(robot, x).actuators,
        "started": np.ones(1),
        "stopped": np.array([before]),
        "own": np.array([5.0]),
    }
    assert {name: len(z[name]) for name in setpoint_memory(robot)} == setpoint_memory(robot)
    step = ControlStep(
        np.array([force, -1.0]), {"stopped": np.array([before]), "own": np.array([7.0])}, rate=np.zeros(2)
    )
    motion = DesiredMotion(x + x_off, np.zeros(2), np.zeros(2))
    with np.errstate(all="ignore"):
        result = released(robot, z, step, motion, K, q=z["q_d"] + np.array([reading, 0.0]))
    assert result.memory["stopped"][0] == expected
    if expected:
        assert result.force.tolist() == [0.0, 0.0]
        assert result.memory["own"][0] == 5.0
        np.testing.assert_array_equal(result.memory["q_d"], z["q_d"])
    else:
        assert result.force.tolist() == [1.0, -1.0]
        assert result.memory["own"][0] == 7.0
