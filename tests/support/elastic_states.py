"""States of robots with flexible links, bent and in motion, for the general and for the small form."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nacelle.elastic.condensed.reduced import reduced_coordinates
from nacelle.elastic.dynamics import positions
from nacelle.elastic.dynamics.models import configure_robot, elastic_closing_step, reduced_motion
from nacelle.elastic.dynamics.plan import choose_independent_rates
from nacelle.elastic.frames import frames_at
from nacelle.model.robot import Robot

Array = np.ndarray


class ElasticState(NamedTuple):
    """Positions p that close all loops, independent rates y, all rates r, the actuators' accelerations a."""

    p: Array
    y: Array
    r: Array
    a: Array


def general_state(robot: Robot, random: np.random.Generator, size: float = 2e-3) -> ElasticState:
    """A random state near the reference, links bent by about `size`, or less if loops do not close."""
    plan = choose_independent_rates(robot)
    elastic_tree = plan.elastic_tree
    step = np.zeros(elastic_tree.embedding.shape[1])
    bent = random.standard_normal(elastic_tree.ne)
    step[list(plan.independent[: plan.na])] = 0.01 * random.standard_normal(plan.na)
    for part in (1.0, 0.25, 0.0625):
        p = plan.reference.copy()
        p[-elastic_tree.ne :] += part * size * bent
        p = positions.step_positions(elastic_tree, p, part * step)
        for _ in range(8):
            p = elastic_closing_step(robot, p)["p"]
        left = np.max(np.abs(elastic_closing_step(robot, p)["step"]), initial=0.0)
        if left < 1e-12:
            break
    assert left < 1e-12
    y = 0.3 * random.standard_normal(plan.n)
    return ElasticState(
        p, y, reduced_motion(configure_robot(plan, p), y).motion.r, random.standard_normal(plan.na)
    )


def reduced_state(robot: Robot, state: ElasticState) -> tuple[Array, Array]:
    """The same positions and rates in the small form."""
    natural = reduced_coordinates(robot)
    structure, stumps = natural.structure, natural.structure.subchains
    elastic_tree = structure.elastic_tree
    m, nz = positions.platform_size(elastic_tree), len(elastic_tree.rigid_rates)
    q, qe = state.p[m : m + robot.nq], state.p[m + robot.nq :]
    joints = [robot.joint(joint.name) for joint in stumps.robot.joints]
    kept = [k for k in range(len(elastic_tree.slices)) if k not in [link.number for link in structure.links]]
    r, start = state.r, robot.platform_nv
    p = [state.p[:m], *(q[robot.q_slices[j]] for j in joints), *(qe[elastic_tree.slices[k]] for k in kept)]
    rates = np.concatenate(
        [
            r[:start],
            *(r[start + robot.v_slices[j].start : start + robot.v_slices[j].stop] for j in joints),
            *(r[nz:][elastic_tree.slices[k]] for k in kept),
        ]
    )
    y = [rates[list(natural.order)]]
    frames = frames_at(elastic_tree, *positions.split_positions(elastic_tree, state.p))
    for link in structure.links:
        part = elastic_tree.slices[link.number]
        p.append(qe[part][1:])
        y.append(r[nz:][part][1:])
        if structure.normal is None:
            p.append(np.asarray(frames.floating_frame(link.number).R[:, 1], dtype=float))
    return np.concatenate(p), np.concatenate(y)
