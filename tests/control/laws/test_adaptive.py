"""Adaptive control: the energy argument, convergence, bounds, and tracking from a wrong model."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import nacelle
from nacelle.control.controller import law_function
from nacelle.control.kind import DesiredMotion
from nacelle.control.laws.adaptive import Adaptive, adapted_parameters, parameter_scales
from nacelle.control.named import controller
from nacelle.errors import KinematicsError
from nacelle.simulation.integration import Integration
from nacelle.simulation.rigid_plant import rigid_plant
from nacelle.simulation.simulate import Simulation, simulate
from support.adaptive_runs import (
    CASES,
    PERIOD,
    Experiment,
    desired_rows,
    lissajous,
    parameters_with_payload,
    perturbed_model,
    with_sensor_noise,
)
from support.library import library_robot

ROBOTS = Path(__file__).parents[2] / "robots"
FINE = 1e-4


def _part(run, control, name):
    return run.memory[:, control.kind.memory(control.robot).slice_of(name)]


@pytest.mark.slow
def test_the_energy_falls():
    """V = s^T M s / 2 + p~^T P^-1 p~ / 2 from the true state, with bounds, falls to nothing.

    s, M and p~ are those of the plant, not what the controller takes them for. Friction of plant and law is
    the same function of the rate; sampling at 10 kHz leaves V a rise of some thousandths.
    """
    robot = library_robot("fivebar")
    model, base = perturbed_model(robot, 0), adapted_parameters(robot)
    path = lissajous(robot, 0.05, 0.0, 1.0)(FINE * np.arange(60001) % 1.0)
    rows = np.concatenate(path, axis=1)
    kind = Adaptive(along="reference", smooth=1e-2, resolution=0.0, time_constant=1.0)
    control = controller(model, kind, period=FINE, bandwidth=10.0).for_motion(rows)
    plant = rigid_plant(robot, smooth=kind.smooth)
    law = control.digital(rows[0, :2], rows)
    run = simulate(
        plant, rows[0, :2], tau=law, until=6.0, integration=Integration("rk4", step=FINE), events=[]
    )
    assert run.ok, run.message
    s = rows[:, 2:4] + control.gain("rate") * (rows[:, :2] - run.x) - run.v
    off = _part(run, control, "parameters") - base.values
    metric = np.linalg.inv(control.gain("adaptation").reshape(len(base), len(base)))
    moving = np.einsum("ni,nij,nj->n", s, nacelle.mass_matrix(robot, run.x), s)
    V = 0.5 * (moving + np.einsum("ni,ij,nj->n", off, metric, off))
    assert np.max(V - np.minimum.accumulate(V)) < 5e-3 * V[0]
    assert V[-1] < 1e-2 * V[0]
    # What the motion feels well is right: the errors of forces that are left, over those at the start.
    Y = nacelle.regressor(
        robot, rows[::100, :2], rows[::100, 2:4], rows[::100, 4:], smooth=kind.smooth, parameters=base
    ).Y
    assert np.linalg.norm(Y @ off[-1]) < 0.05 * np.linalg.norm(Y @ off[0])


def _resting(along, size, seconds, **gains):
    """A five-bar that hardly moves, with counted and noisy readings: the parameters in their scales."""
    robot = library_robot("fivebar")
    noise, count = 1e-5, 6e-6
    rows = desired_rows(lissajous(robot, size, 0.0, 1.0), seconds, 1.0)
    large = desired_rows(lissajous(robot, 0.04, 0.0, 1.0), 1, 1.0)
    kind = Adaptive(along=along, resolution=noise)
    control = controller(robot, kind, period=PERIOD).for_motion(large).with_gains(**gains)
    drawn = noise * np.random.default_rng(0).normal(size=(len(rows), 2))
    law = with_sensor_noise(control.digital(rows[0, :2], rows), count, drawn)
    plant = rigid_plant(robot, smooth=1e-3)
    run = simulate(
        plant, rows[0, :2], tau=law, until=seconds, integration=Integration("rk4", step=PERIOD), events=[]
    )
    assert run.ok, run.message
    p = _part(run, control, "parameters")
    return control, p, np.abs(p - p[0]) / control.gain("scale")


FREE = {"dead_zone": 0.0, "unfelt": -1.0, "lower": -1e6, "upper": 1e6}


@pytest.mark.slow
def test_parameters_stay_where_nothing_is_felt():
    """Standing still for 5 s with noise; the law of the textbook without bounds runs away at once."""
    _, _, moved = _resting("desired", 0.0, 5)
    assert moved.max() < 0.2
    _, _, moved = _resting("reference", 0.0, 5, **FREE)
    assert moved.max() > 5.0


@pytest.mark.slow
@pytest.mark.parametrize("size", [0.0, 1e-4])
def test_parameters_stay_bounded_for_a_minute(size):
    """Standing still, and on a path of a tenth of a millimetre: within bounds; without them far off."""
    control, p, moved = _resting("desired", size, 60)
    assert np.all(p >= control.gain("lower"))
    assert np.all(p <= control.gain("upper"))
    assert moved.max() < (0.2 if size == 0.0 else 2.0)
    _, _, bare = _resting("reference", size, 60, **FREE)
    assert bare.max() > 50.0


@pytest.mark.slow
def test_parameters_rest_without_readings_and_at_limits():
    """A sample with a reading missing, or with a drive at its limit, changes no parameter; too many stop."""
    robot = library_robot("fivebar")
    control = controller(robot, "adaptive", resolution=0.0)
    x = np.array([0.02, 0.25])
    # An error of 2 mm: parameters would move.
    memory, q = control.start(x), control.coordinates(x + np.array([0.0, 2e-3]))
    goal = DesiredMotion(x, np.zeros(2), np.zeros(2))
    place = control.kind.memory(robot).slice_of("parameters")
    _, after = control.step(memory, q, goal)
    assert np.abs(after[place] - memory[place]).max() > 1e-6
    _, missing = control.step(memory, np.array([np.nan, q[1]]), goal)
    np.testing.assert_array_equal(missing[place], memory[place])
    weak = control.with_gains(limit=1e-3)
    force, limited = weak.step(memory, q, goal)
    np.testing.assert_array_equal(limited[place], memory[place])
    assert np.abs(force).max() <= 1e-3
    for _ in range(11):
        force, memory = control.step(memory, np.full(2, np.nan), goal)
    assert memory[control.kind.memory(robot).slice_of("stopped")] > 0.0
    np.testing.assert_array_equal(force, 0.0)


def test_numbers_of_the_tuning_shape_no_program():
    """Controllers that differ by them alone share the law."""
    assert law_function(Adaptive(time_constant=1.0, payload=3.0)) is law_function(
        Adaptive(resolution=1e-6, margin=1.0)
    )
    assert law_function(Adaptive(along="reference")) is not law_function(Adaptive())
    for wrong in ({"time_constant": 0.0}, {"payload": -1.0}, {"along": "desried"}, {"resolution": np.nan}):
        with pytest.raises(KinematicsError):
            Adaptive(**wrong)


class _Found(NamedTuple):
    """Errors over those of the exact model, and the run."""

    first: float
    last: np.ndarray
    experiment: Experiment
    run: Simulation


def _ratios(robot, case, resolution=None, *, seed=0, gains_of_true=True):
    """The error over the last cycles before and after a payload, over that of the exact model."""
    count = case[5] if resolution is None else resolution
    experiment = Experiment(robot, *case[:5], resolution=count)
    control = experiment.controller(perturbed_model(robot, seed))
    exact = experiment.errors(experiment.exact(experiment.controller(robot) if gains_of_true else control))
    run = experiment.run(control)
    assert run.ok, run.message
    found = experiment.errors(run)
    last = [experiment.cycles - 1, -1]
    return _Found(found[0] / exact[0], found[last] / exact[last], experiment, run)


@pytest.mark.thinned
@pytest.mark.slow
@pytest.mark.parametrize("name", ["delta", "delta-codourey", "hexaglide"])
def test_tracking_is_that_of_the_exact_model(name):
    """Parameters wrong by half, a payload in flight, counted readings: within 10 % over the last cycles."""
    found = _ratios(library_robot(name), CASES[name])
    assert found.first > 3.0
    # Before the payload, too, but for counts of the encoders, of which the exact model's error is a fifth.
    assert found.last[0] < 1.2
    assert found.last[1] < 1.1


@pytest.mark.slow
def test_parameters_converge_where_all_are_felt():
    """Those of a DELTA with three arms and a point, with its payload."""
    robot = library_robot("delta-codourey")
    found = _ratios(robot, CASES["delta-codourey"])
    truth = parameters_with_payload(robot, found.experiment.loaded)
    fields = Adaptive().memory(robot)
    off = found.run.memory[-1, fields.slice_of("parameters")] - truth
    base = adapted_parameters(robot)
    assert np.all(np.abs(off) < 0.01 * parameter_scales(robot, base, 0.0))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "seed"), [("3rrr", 0), ("fivebar", 0), ("quattro", None), ("redundant", 0)])
@pytest.mark.thinned
def test_other_robots(name, seed):
    """The same for others, iterated legs and redundant drives among them: ideal encoders, the same gains."""
    robot = nacelle.load(ROBOTS / "redundant.yaml") if name == "redundant" else library_robot(name)
    found = _ratios(robot, CASES.get(name, CASES["fivebar"]), 0.0, seed=seed, gains_of_true=False)
    assert np.all(found.last < 1.1)


@pytest.mark.slow
def test_bounds_of_the_user_are_kept():
    """Parameters of a run whose true values are outside stay within the user's bounds."""
    robot = library_robot("fivebar")
    experiment = Experiment(robot, *CASES["fivebar"][:4], 1)
    control = experiment.controller(perturbed_model(robot, 0))
    values = adapted_parameters(control.robot).values
    reach = 0.1 * control.gain("scale")
    control = control.with_gains(lower=values - reach, upper=values + reach)
    run = experiment.run(control)
    assert run.ok, run.message
    p = _part(run, control, "parameters")
    assert np.all(np.abs(p - values) <= reach * (1.0 + 1e-9))
    assert np.any(np.abs(p - values) >= reach * (1.0 - 1e-9))
