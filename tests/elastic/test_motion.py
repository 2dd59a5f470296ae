"""The motion of [BK2013] section V against Exudyn with 15 ANCF elements a beam (`support.flexible`)."""

from __future__ import annotations

import dataclasses
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest

import nacelle
from support.flexible import prrrp
from support.flexible.references import motion
from support.library import library_robot

T, WAY = 0.75, np.array([0.1, 0.2])
STEPS = 15000


class Errors(NamedTuple):
    """Largest differences: velocity over its peak, vibration over its peak, forces over theirs."""

    velocity: float
    vibration: float
    force: float


@cache
def rigid_velocity() -> np.ndarray:
    """Velocity of the tip of the rigid robot, from its geometry."""
    t = motion()["t"]
    h = 1e-6

    def tip(at: np.ndarray) -> np.ndarray:
        a = 4.0 * WAY / T**2
        q = np.where(
            (at <= T / 2)[:, None], 0.5 * a * at[:, None] ** 2, WAY - 0.5 * a * (T - at[:, None]) ** 2
        )
        return np.array([prrrp.tip_position(*pair) for pair in q])

    return (tip(t + h) - tip(t - h)) / (2.0 * h)


def errors(beam: dict | None, form: str | None = None) -> Errors:
    """The motion of the PRRRP with prescribed sliders, against Exudyn's."""
    robot = library_robot("prrrp")
    if beam is not None:
        bodies = tuple(dataclasses.replace(b, beam=beam) if b.section else b for b in robot.bodies)
        robot = dataclasses.replace(robot, bodies=bodies)
    plant = nacelle.elastic.elastic_plant(robot, prescribed=True, form=form)
    a = 4.0 * WAY / T**2 * np.where(np.arange(STEPS)[:, None] < STEPS // 2, 1.0, -1.0)
    run = nacelle.simulate(
        plant,
        [0.3, 0.264575131106459],
        None,
        a,
        until=T,
        integration=nacelle.simulation.Integration("rk4", step=T / STEPS),
        samples=1501,
    )
    kept = motion()
    np.testing.assert_allclose(run.t, kept["t"], atol=1e-9)
    force = plant.forces(run.states, run.tau)
    vibration = np.max(np.abs(kept["velocity"] - rigid_velocity()))
    off = np.max(np.abs(run.v - kept["velocity"]))
    # Where the acceleration jumps Exudyn's forces are left out.
    good = np.all(np.isfinite(kept["force"]), axis=1)
    return Errors(
        off / np.max(np.abs(kept["velocity"])),
        off / vibration,
        np.max(np.abs(force - kept["force"])[good]) / np.max(np.abs(kept["force"][good])),
    )


def test_default_model_is_within_the_bars() -> None:
    velocity, vibration, force = errors(None)
    assert velocity < 2e-4
    assert vibration < 0.02
    assert force < 0.01


def test_more_modes_are_nearer() -> None:
    assert errors({"number": 4}).vibration < 0.5 * errors(None).vibration


@pytest.mark.costly
@pytest.mark.parametrize("form", ["condensed", "general"])
def test_forms_give_one_motion(form: str) -> None:
    np.testing.assert_allclose(errors(None, form), errors(None), rtol=1e-4)


@pytest.mark.slow
def test_the_papers_model_is_farther_off() -> None:
    """One element in a clamped frame without geometric stiffness, as in [BK2013], is off by over 10 %."""
    paper = errors({"frame": "clamped", "shapes": "hermite", "number": 1, "geometric": False})
    assert 0.1 < paper.vibration < 3.0
