"""Positions without closures: ends of links are where the general form has them, and move as it says."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.elastic.condensed.natural import natural_of, now_at, position_rates, tip_points, unit_positions
from nacelle.elastic.dynamics import positions
from nacelle.elastic.dynamics.plan import rate_choice
from nacelle.elastic.frames import frames_at
from nacelle.errors import KinematicsError
from support.elastic_states import general_state, natural_state
from support.flexible_robots import flexible, prrrp


@pytest.mark.parametrize("make", [prrrp, lambda: flexible("delta", number=1)])
def test_ends_of_links(make) -> None:
    robot = make()
    natural = natural_of(robot)
    own = rate_choice(robot).extended
    state = general_state(robot, np.random.default_rng(2))
    p, y = natural_state(robot, state)
    assert (len(p), len(y)) == (natural.size, natural.n)
    frames = frames_at(own, *positions.split_positions(own, state.p))
    now = now_at(natural, p, y)
    for link, ends, (a, b) in zip(natural.structure.links, now.tips, tip_points(natural, p), strict=True):
        # The start of a beam is the origin of its floating frame; loops are closed at its end.
        np.testing.assert_allclose(a, frames.floating(link.number).p, atol=1e-10)
        shapes = own.shapes[link.number]
        far = np.array([shapes.beam.length, 0.0, 0.0])
        far = far + shapes.movement(1.0)[:3] @ frames.qe[own.slices[link.number]]
        pose = frames.floating(link.number)
        np.testing.assert_allclose(b, pose.p + pose.R @ far, atol=1e-10)
        np.testing.assert_allclose(ends[0].p, a, atol=1e-15)
        np.testing.assert_allclose(ends[1].J @ y[: len(natural.order)], ends[1].v, atol=1e-12)
    h = 1e-6
    later, before = (tip_points(natural, p + k * h * position_rates(now, p, y)) for k in (1.0, -1.0))
    for ends, ahead, behind in zip(now.tips, later, before, strict=True):
        for tip, b, a in zip(ends, ahead, behind, strict=True):
            np.testing.assert_allclose((b - a) / (2.0 * h), tip.v, atol=1e-8)


def test_quaternions_are_made_unit_vectors() -> None:
    natural = natural_of(flexible("delta", number=1))
    p = np.random.default_rng(0).normal(size=natural.size)
    unit = unit_positions(natural, p)
    assert np.linalg.norm(unit[3:7]) == pytest.approx(1.0)
    np.testing.assert_allclose(unit[3:7] * np.linalg.norm(p[3:7]), p[3:7])


def test_robots_with_other_links_are_refused() -> None:
    with pytest.raises(KinematicsError, match="the small form does not support"):
        natural_of(flexible("orthoglide"))
