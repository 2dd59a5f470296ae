"""The observer as a whole: unbiased, consistent, late measurements, clocks, outliers, silence, divergence."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import nacelle
from nacelle.errors import ObserverError
from nacelle.vision.cylinders import visible_cylinders
from nacelle.vision.measurement import EdgeMeasurement
from nacelle.vision.observer.consistency import chi_square_interval, nees
from nacelle.vision.observer.observer import Observer
from nacelle.vision.observer.settings import ObserverSettings, Start
from nacelle.vision.shutter import Exposure, Shutter
from support.observed import FINE, RenderingCamera, camera_of, observed
from support.simulated_camera import SimulatedCamera

# How often a right observer may fail a test, were its seeds drawn anew.
CHANCE = 1e-3


def judged(runs):
    """Average NEES over its degrees with its interval, and the largest mean error over its standard error."""
    e, P = np.array([run.error[-1] for run in runs]), np.array([run.covariance[-1] for run in runs])
    count, size = e.shape
    z = e.mean(axis=0) / np.sqrt(np.diagonal(P, axis1=1, axis2=2).mean(axis=0) / count)
    return nees(e, P).mean() / size, chi_square_interval(count * size, CHANCE), np.max(np.abs(z))


@pytest.mark.parametrize(("name", "count"), [("fivebar", 10), ("quattro", 12), ("gough-stewart", 12)])
def test_unbiased_and_consistent(name, count):
    """Late regions one after the other; `benchmarks/observer.py` is the long version."""
    robot = nacelle.load(name)
    shutter = Shutter(latency=5e-3)
    runs = [observed(robot, seed, duration=0.08, shutter=shutter) for seed in range(count)]
    average, (low, high), worst = judged(runs)
    assert low < average < high
    assert worst < 4.0
    innovations = [run.observer.consistency() for run in runs]
    assert sum(one.rejected for one in innovations) <= 1
    assert abs(np.mean([one.average for one in innovations]) - 1.0) < 4.0 / np.sqrt(count * 70)


def test_latency_is_compensated():
    """Ten times the latency costs what the noise of 20 ms costs, not 20 ms of motion (4 mm and more)."""
    robot = nacelle.load("fivebar")
    runs = [observed(robot, seed, duration=0.1, shutter=Shutter(latency=20e-3)) for seed in range(6)]
    average, (low, high), _ = judged(runs)
    assert low < average < high
    speed = [np.linalg.norm(run.observer.estimate(0.1).v) for run in runs]
    off = [np.linalg.norm(run.error[-1][:2]) for run in runs]
    assert np.mean(off) < 0.15 * 20e-3 * np.mean(speed)


def test_the_clock_is_found_beside_encoders():
    robot = nacelle.load("fivebar")
    settings = ObserverSettings(encoders=2e-5, clock=5e-3)
    runs, z = [], []
    for seed in range(8):
        offset = FINE * round(5e-3 * np.random.default_rng(seed).standard_normal() / FINE)
        shutter = Shutter(latency=4e-3, clock_offset=offset)
        run = observed(robot, seed, duration=0.08, settings=settings, shutter=shutter, encoders=2e-3)
        runs.append(run)
        z.append((run.last.clock - offset) / run.last.clock_sigma)
    assert run.last.clock_sigma < 20e-6
    low, high = chi_square_interval(len(z), CHANCE)
    assert low < np.mean(np.square(z)) < high
    average, (low, high), _ = judged(runs)
    assert low < average < high


def test_a_clock_without_encoders_stays_uncertain():
    robot = nacelle.load("fivebar")
    run = observed(
        robot, 0, duration=0.1, settings=ObserverSettings(clock=3e-3), shutter=Shutter(clock_offset=2e-3)
    )
    assert (run.last.clock, run.last.clock_sigma) == (0.0, pytest.approx(3e-3))
    n = robot.motion.n
    # An uncertain time is an uncertain pose where the robot moves.
    assert np.sqrt(np.trace(run.last.covariance[:n, :n])) > 2e-3 * np.linalg.norm(run.last.v)


def test_displaced_anchors_do_not_bias_the_pose():
    robot = nacelle.load("fivebar")
    settings = ObserverSettings(anchors=1e-3)
    runs, plain, squares = [], [], []
    for seed in range(6):
        displaced = 1e-3 * np.random.default_rng(100 + seed).standard_normal(4)
        run = observed(robot, seed, duration=0.1, settings=settings, displaced=displaced)
        runs.append(run)
        squares.append(nees(displaced - run.last.anchors, run.last.anchors_covariance))
        try:
            without = observed(robot, seed, duration=0.1, displaced=displaced)
            plain.append(nees(without.error[-1], without.covariance[-1]))
        except ObserverError as error:
            plain.append(np.inf if error.diverged else 0.0)
    average, (low, high), worst = judged(runs)
    assert low < average < high
    assert worst < 4.0
    low, high = chi_square_interval(4 * len(squares), CHANCE)
    assert low < np.mean(squares) / 4 < high
    # Taken for what the description says, the same anchors are wrong by many standard deviations.
    assert np.median(plain) > 50.0


def test_outliers_are_left_out():
    robot = nacelle.load("fivebar")

    class Dazzled(SimulatedCamera):
        """Every tenth edge is somewhere else."""

        def measure(self, exposure, x, expected=None):
            edges = super().measure(exposure, x)
            turned = []
            for edge in edges:
                n = edge.normal
                if self._rng.uniform() < 0.1:
                    n = n + 0.02 * np.cross(n, self._rng.standard_normal(3))
                turned.append(replace(edge, normal=n / np.linalg.norm(n)))
            return turned

    def eye(robot, camera, rng):
        return Dazzled(robot, camera, visible_cylinders(robot), sigma=0.02, rng=rng)

    runs = [observed(robot, seed, duration=0.1, eye=eye) for seed in range(6)]
    average, (low, high), _ = judged(runs)
    assert low < average < high
    rejected = [run.observer.consistency().rejected for run in runs]
    assert 0.05 * 6 * 98 < sum(rejected) < 0.15 * 6 * 98


def test_rendered_regions():
    robot = nacelle.load("fivebar")
    run = observed(robot, 1, duration=0.06, eye=RenderingCamera)
    assert nees(run.error[-1], run.covariance[-1]) < 18.0
    assert run.observer.consistency().rejected == 0
    assert run.observer.consistency().count > 40


def observer_at_rest(**settings):
    robot = nacelle.load("fivebar")
    x = nacelle.reference_pose(robot)
    observer = Observer(robot, camera_of(robot), Start(x), ObserverSettings(**settings))
    eye = SimulatedCamera(
        robot, camera_of(robot), visible_cylinders(robot), sigma=0.1, rng=np.random.default_rng(0)
    )
    return observer, eye, x


def test_silence_is_flagged():
    observer, eye, x = observer_at_rest(stale=0.05)
    observer.take(eye.measure(Exposure(0.01, 0.012, (1,)), x))
    early, late = observer.estimate(0.02), observer.estimate(1.02)
    assert (early.stale, late.stale) == (False, True)
    assert late.age == pytest.approx(1.01)
    # White noise of density q on the acceleration: q t^3 / 3 of the pose.
    assert np.all(np.diag(late.covariance)[:2] > 0.2**2 / 3.0)


def test_what_is_not_finite_is_refused():
    observer, eye, x = observer_at_rest()
    edge = eye.measure(Exposure(0.25, 0.26, (3,)), x)[1]
    with pytest.raises(ObserverError, match=r"side 1 of right\.distal measured at 0\.25 s is not finite"):
        observer.take([replace(edge, normal=np.array([np.nan, 0.0, 1.0]))])
    with pytest.raises(ObserverError, match="4 cylinders"):
        observer.take([replace(edge, cylinder=4)])
    with pytest.raises(ObserverError, match=r"right\.motor at 0\.5 s"):
        observer.read(0.5, [0.0, np.nan])
    with pytest.raises(ObserverError, match=r"acceleration at 0\.1 s"):
        observer.accelerate(0.1, [np.inf, 0.0])


def test_divergence_is_an_error_and_a_new_start_helps():
    observer, eye, x = observer_at_rest(patience=5)
    elsewhere = x + np.array([0.05, 0.02])
    edges = [
        edge for k in range(20) for edge in eye.measure(Exposure(1e-3 * k, 1e-3 * k, (k % 4,)), elsewhere)
    ]
    observer.take(edges)
    with pytest.raises(ObserverError, match="contradict the estimate") as caught:
        observer.estimate(0.1)
    assert caught.value.diverged
    assert caught.value.time < 0.1
    observer.jump(Start(elsewhere, time=caught.value.time))
    assert np.max(np.abs(observer.estimate(0.1).x - elsewhere)) < 1e-2


def test_edges_of_one_exposure_are_used_together_and_not_before_they_arrive():
    observer, eye, x = observer_at_rest()
    observer.take(eye.measure(Exposure(0.01, 0.05, (0, 1, 2, 3)), x))
    assert observer.estimate(0.04).age == pytest.approx(0.04)
    now = observer.estimate(0.05)
    assert now.age == pytest.approx(0.04)
    assert len(observer.steps) == 2
    assert isinstance(observer.steps[1].event.measured[0], EdgeMeasurement)
    elements = observer.elements(0.05)
    assert elements.names == tuple(c.name for c in visible_cylinders(observer.robot))
    assert elements.covariance.shape == (4, 6, 6)
