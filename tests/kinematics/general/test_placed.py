"""A robot placed: frames of joints where the tree has them, fixed orders of solution, which rates count."""

from __future__ import annotations

import numpy as np

from nacelle.kinematics.general.placed import SolveOrder, Way, active_rates, leg_rates
from nacelle.kinematics.general.solve import constant_rows
from support.compare import assert_same
from support.general_states import loaded, sampled


def test_joint_frames_are_where_the_tree_has_them() -> None:
    """Seen from the base and from every node of a leg; both frames of a closed joint have one origin."""
    robot = loaded("3rrr")
    legs, *_ = sampled(robot)
    placed, poses = legs.placed, legs.placed.now.motion.poses
    for index, joint in enumerate(robot.joints):
        first, second = placed.joint_frames(index, 0)
        own = poses[joint.predecessor] @ joint.frame_predecessor
        assert_same(first.p, own.p, 1e-12)
        assert_same(first.R, own.R, 1e-12)
        assert_same(first.p[:2], second.p[:2], 1e-9)
        node = placed.trees.place[robot.legs[0].bodies[-1]][0]
        seen, _ = placed.joint_frames(index, node)
        assert_same(np.stack([placed.trees.up(node, seen.R[:, k]) for k in range(3)], axis=1), own.R, 1e-12)
        assert_same(placed.trees.point(node, seen.p), own.p, 1e-12)


def test_solutions_in_a_fixed_order() -> None:
    """With rows that are the same at all samples, which are solved beforehand, and without."""
    rng = np.random.default_rng(3)
    samples = rng.normal(size=(4, 3, 3)) + 3.0 * np.eye(3)
    samples[:, 0] = [2.0, 0.5, 0.0]
    units, b = (np.ones(3), np.ones(3)), [1.0, -2.0, 0.5]
    whole = SolveOrder(((0, 0), (1, 1), (2, 2)), units)
    constant = constant_rows(samples)
    assert constant is not None
    assert tuple(constant.rows) == (0,)
    left = SolveOrder(((0, 0), (1, 1)), (np.ones(2), np.ones(2)))
    parts = SolveOrder(whole.pivots, units, constant, left)
    for A in samples:
        for order in (whole, parts):
            solution, _ = order.solved(A.tolist(), list(b))
            assert_same(np.asarray(solution, dtype=float), np.linalg.solve(A, b), 1e-12)


def test_bars_have_no_rates_but_their_drives() -> None:
    robot = loaded("prrrp")
    plans = {way: sampled(robot, way)[0].plan for way in (Way(), Way(True))}
    active = active_rates(robot)
    assert sorted(active.values()) == [0, 1]
    for leg in range(2):
        counts = {way.direct: leg_rates(plan.parts, leg) for way, plan in plans.items()}
        assert len(counts[False]) == 2
        assert len(counts[True]) == 1
        assert counts[True][0] in active
