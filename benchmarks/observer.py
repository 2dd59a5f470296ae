"""Benchmark of the observer: is it unbiased, and right about its own errors: `python benchmarks/observer.py`.

For every robot a number of seeded runs: a motion with white noise on its acceleration, seen by a camera that
looks at one leg after the other, 500 regions of interest a second, each with a latency. Errors of pose and
twist are taken at the end of each run, so that runs are independent:

    bias    the largest of the 2n mean errors over its standard error; 2n numbers of unit variance
    NEES    average of e^T P^-1 e over its degrees, with the interval that holds 95 of 100 such averages
    NIS     the same of the innovations of the last measurements of all runs

Runs that the observer itself reports as diverged are counted, and are in none of these.

Measurements are exact contour normals with the covariance of lines fitted to pixels with an error of
`--sigma` px each; 0.02 px is the Cramer-Rao bound of `PixelModel()` for each pixel along an edge. With
`--rendered` the regions are rendered, and edges fitted to their pixels. Nothing is asserted here;
`tests/vision/observer` has a short version.
"""

import argparse
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import nacelle
from nacelle.errors import ObserverError
from nacelle.kinematics.shapes import twist_scales
from nacelle.vision.camera import Shutter
from nacelle.vision.observer.anchors import anchors_of
from nacelle.vision.observer.settings import ObserverSettings
from nacelle.vision.observer.update import chi_square_interval, consistency, nees
from support.observed import FINE, RenderingCamera, run_observer


def cases(robot, options):
    """What is assumed, and further arguments of a run with a seed, by name."""
    late = Shutter(rate=options.rate, latency=options.latency)
    encoders = {"encoders": 2e-3}
    anchors = anchors_of(robot)

    def with_clock(seed):
        offset = FINE * round(5e-3 * np.random.default_rng(10_000 + seed).standard_normal() / FINE)
        return {"shutter": replace(late, clock_offset=offset), **encoders}

    def with_anchors(seed):
        displaced = 5e-4 * np.random.default_rng(20_000 + seed).standard_normal(len(anchors))
        return {"shutter": late, "displaced": displaced}

    if options.rendered:
        return {"rendered": (ObserverSettings(), lambda seed: {"shutter": late, "eye": RenderingCamera})}
    return {
        "camera": (ObserverSettings(), lambda seed: {"shutter": late}),
        "+ encoders": (ObserverSettings(encoders=2e-5), lambda seed: {"shutter": late, **encoders}),
        "+ enc, clock 5 ms": (ObserverSettings(encoders=2e-5, clock=5e-3), with_clock),
        "anchors 0.5 mm": (ObserverSettings(anchors=5e-4), with_anchors),
        "+ enc, anchors": (
            ObserverSettings(encoders=2e-5, anchors=5e-4),
            lambda seed: with_anchors(seed) | encoders,
        ),
    }


def row(robot, settings, arguments, options):
    """One line of the table."""
    errors, covariances, said, seconds, diverged = [], [], [], 0.0, 0
    for seed in range(options.first, options.first + options.runs):
        begin = time.process_time()
        try:
            run = run_observer(
                robot,
                seed,
                sigma=options.sigma,
                duration=options.duration,
                settings=settings,
                **arguments(seed),
            )
        except ObserverError:
            diverged += 1
            continue
        seconds += time.process_time() - begin
        errors.append(run.error[-1])
        covariances.append(run.covariance[-1])
        said += [step.innovations for step in run.observer.steps]
    e, P = np.array(errors), np.array(covariances)
    n = robot.motion.n
    z = e.mean(axis=0) / (e.std(axis=0, ddof=1) / np.sqrt(len(e)))
    squares = nees(e, P) / (2 * n)
    low, high = chi_square_interval(2 * n * len(e))
    nis = consistency(said)
    size = np.sqrt(np.mean((e[:, :n] / twist_scales(robot) * robot.size) ** 2))
    rate = np.sqrt(np.mean((e[:, n:] / twist_scales(robot) * robot.size) ** 2))
    return (
        f"{1e6 * size:9.1f} {1e3 * rate:9.2f} {np.max(np.abs(z)):6.2f} {squares.mean():7.3f} "
        f"[{low:.3f}, {high:.3f}] {nis.average:7.4f} [{nis.interval[0]:.3f}, {nis.interval[1]:.3f}] "
        f"{nis.rejected:4d}/{nis.count:<7d} {diverged:8d} {seconds / len(e):7.2f}"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--robots", default="fivebar,quattro,gough-stewart", help="names, with commas")
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--sigma", type=float, default=0.02, help="error of a pixel of an edge, px")
    parser.add_argument("--duration", type=float, default=0.1, help="of a run, s")
    parser.add_argument("--rate", type=float, default=500.0, help="regions of interest a second")
    parser.add_argument("--latency", type=float, default=4e-3, help="from exposure to result, s")
    parser.add_argument("--rendered", action="store_true", help="regions are rendered and their edges fitted")
    options = parser.parse_args()
    print(
        f"{'robot':14s} {'measured':20s} {'pose um':>9s} {'rate mm/s':>9s} {'bias':>6s} {'NEES':>7s} "
        f"{'95 %':16s} {'NIS':>7s} {'95 %':14s} {'rejected':>12s} {'diverged':>8s} {'s/run':>7s}"
    )
    for name in filter(None, options.robots.split(",")):
        robot = nacelle.load(name)
        for label, (settings, arguments) in cases(robot, options).items():
            print(f"{name:14s} {label:20s} {row(robot, settings, arguments, options)}", flush=True)


if __name__ == "__main__":
    main()
