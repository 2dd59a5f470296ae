"""Forces at rest and their derivatives: against differences along every rate, and each other."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import nacelle
from nacelle.elastic.extended import Extended, extended
from nacelle.elastic.linear.equilibrium import constraint_rows
from nacelle.elastic.linear.matrices import actuator_scale, closure_springs
from nacelle.elastic.linear.state import Deformed, undeformed_at
from nacelle.elastic.linear.subspace import null_spaces, rate_scales
from nacelle.elastic.linear.tangent import ExternalLoads, Forces, LoadedRobot
from nacelle.kinematics.mechanism.assembly import row_scale
from nacelle.model.joint import Spring
from nacelle.model.robot import Robot
from support.flexible.beamed import beamed
from support.flexible.references import flexible_robot
from support.library import library_robot


def sprung() -> Robot:
    """A 3-RRR with springs in passive joints, in the tree and where its loops are cut."""
    robot = flexible_robot("3rrr-flexible")
    driven = {actuator.joint for actuator in robot.actuators}
    joints = [
        joint if index in driven else dataclasses.replace(joint, springs=(Spring(3.0, 0.4),))
        for index, joint in enumerate(robot.joints)
    ]
    return dataclasses.replace(robot, joints=tuple(joints))


ROBOTS = {
    "fivebar": lambda: flexible_robot("fivebar-flexible"),
    "orthoglide": lambda: flexible_robot("orthoglide-flexible"),
    "h4": lambda: beamed(library_robot("h4")),
}


def somewhere(own: Extended, seed: int) -> Deformed:
    """The robot deformed at random, its loops open."""
    x = nacelle.reference_pose(own.robot)
    start = undeformed_at(own, x, nacelle.inverse_kinematics(own.robot, x).y)
    random = np.random.default_rng(seed)
    return start.moved(0.02 * random.normal(size=len(rate_scales(own))) * rate_scales(own))


@pytest.mark.parametrize("name", ROBOTS)
def test_derivatives_along_all_rates(name: str) -> None:
    robot = ROBOTS[name]()
    own = extended(robot)
    state, unit = somewhere(own, 1), rate_scales(own)
    random = np.random.default_rng(2)
    wrenches = {1: np.concatenate([random.normal(size=3), np.zeros(3)])}
    wrenches |= {len(robot.bodies): np.array([1.0, -2.0, 0.5, 0, 0, 0])} if robot.tools else {}
    loads = ExternalLoads(np.array([1.0, -2.0, -9.81]), wrenches)
    closures = random.normal(size=len(row_scale(own.tree)))
    efforts = random.normal(size=len(robot.actuators))

    def forces(at: Deformed) -> dict[str, Forces]:
        loaded = LoadedRobot(at)
        return {
            "outside": loaded.outside(loads),
            "held": loaded.held(closures, efforts),
            "strained": loaded.strained(),
        }

    here = forces(state)
    rows = constraint_rows(LoadedRobot(state))
    spins = len(rows) - len(closures) - len(efforts)
    scaled = [closures * row_scale(own.tree), np.zeros(spins), efforts * actuator_scale(robot)]
    np.testing.assert_allclose(here["held"].h, rows.T @ np.concatenate(scaled), atol=1e-12)
    step = 1e-5
    differences: dict[str, list[np.ndarray]] = {name: [] for name in here}
    for j in range(len(unit)):
        d = np.zeros(len(unit))
        d[j] = step * unit[j]
        ahead, behind = forces(state.moved(d)), forces(state.moved(-d))
        for what, columns in differences.items():
            columns.append((ahead[what].h - behind[what].h) / (2.0 * step))
    for what, columns in differences.items():
        D = here[what].D * np.outer(unit, unit)
        size = max(1.0, float(np.max(np.abs(D))))
        np.testing.assert_allclose(
            D, np.stack(columns, axis=1) * unit[:, None], atol=3e-8 * size, err_msg=what
        )


def test_springs_in_the_tree_and_in_closures() -> None:
    """Along all rates that the loops allow: where a loop is open a joint's angle is not defined."""
    own = extended(sprung())
    x = nacelle.reference_pose(own.robot)
    state = undeformed_at(own, x, nacelle.inverse_kinematics(own.robot, x).y)
    count = len(own.robot.actuators)
    (space,) = null_spaces(constraint_rows(LoadedRobot(state))[None, :-count], rate_scales(own))
    N, step = space.basis, 1e-5
    here = LoadedRobot(state).springs(preload=True)
    assert len(closure_springs(own)) == 3
    ahead, behind = (
        np.stack([LoadedRobot(state.moved(sign * step * n)).springs(preload=True).h for n in N.T], axis=1)
        for sign in (1.0, -1.0)
    )
    np.testing.assert_allclose(N.T @ here.D @ N, N.T @ (ahead - behind) / (2.0 * step), atol=1e-7)
