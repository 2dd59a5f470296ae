"""[BK2013]: weight in the balance of a body, the closure of the PRRRP, and one beam element against many."""

from __future__ import annotations

import numpy as np

import nacelle
from support.errata import Evidence, relative_difference
from support.flexible.frame import frame_frequencies
from support.flexible.prrrp import DIRECTION, TABLE_2, robot_at


def _weight() -> Evidence:
    """A body that falls freely needs no force: f = m (its acceleration) + f_g."""
    weight = 1.4 * np.array([0.0, 0.0, -9.81])
    needed = {sign: weight + sign * weight for sign in (1.0, -1.0)}
    return Evidence(
        "[BK2013] (4)",
        "force on a falling body, in its weight",
        relative_difference(weight + needed[1.0], weight),
        relative_difference(weight + needed[-1.0], weight),
    )


def closure() -> np.ndarray:
    """[-J_tp, J_p] of (33) for the PRRRP in its plane, a revolute joint at P in both legs: rows v_x, v_z, w.

    Columns: the hinges at the sliders and at P of either leg, then the twist of the platform.
    """
    rows = []
    for leg, direction in enumerate((DIRECTION, DIRECTION * [-1.0, 1.0])):
        across = 0.4 * np.array([-direction[1], direction[0], 0.0]) + [0.0, 0.0, 1.0]
        own = np.zeros((3, 4))
        own[:, 2 * leg], own[:, 2 * leg + 1] = across, [0.0, 0.0, 1.0]
        rows.append(np.hstack([-own, np.eye(3)]))
    return np.vstack(rows)


def _elements() -> Evidence:
    """Table II has one element a beam; the truth are 32, the correction is nacelle's own model."""
    printed, own = [], []
    for q_4, table in TABLE_2.items():
        robot, x = robot_at(0.0, q_4)
        fine = frame_frequencies(robot, x, 32, 6)
        printed.append(np.max(np.abs(np.array(table) / fine - 1.0)))
        own.append(
            np.max(np.abs(nacelle.elastic.natural_frequencies(robot, x, modes=6).frequencies / fine - 1.0))
        )
    return Evidence("[BK2013] Table II", "frequencies of the PRRRP", float(max(printed)), float(max(own)))


def evidence() -> list[Evidence]:
    """Mechanics, and beams of 32 elements, are the truth."""
    return [_weight(), _elements()]
