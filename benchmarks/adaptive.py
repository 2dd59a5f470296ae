"""Adaptive control from a wrong model: tracking compared with the exact model's, and what the law costs.

    python benchmarks/adaptive.py                       delta, delta-codourey, hexaglide
    python benchmarks/adaptive.py 3rrr fivebar          others
    python benchmarks/adaptive.py --resolution 0        ideal encoders

Every base parameter of the model is half or one and a half times the true one, at random, and all gains come
from this wrong model. After half of the cycles a payload is taken up. Printed is the rms error of the
actuators over the last cycle before and after that: of the wrong model without adaptation, of the exact model
(the same law with the true parameters, gains from the true model), of the adapted one, its part of the exact
one's, also of the exact one's with the gains from the wrong model, and that part over every cycle.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from nacelle.control.laws.adaptive import adapted_parameters
from nacelle.library import load
from nacelle.program.cost import count
from support.adaptive_runs import CASES, LAW_SMOOTH, Experiment, perturbed_model

ROBOTS = ("delta", "delta-codourey", "hexaglide")


def row(name: str, options: argparse.Namespace) -> None:
    """One robot."""
    robot, resolution, smooth = load(name), options.resolution, options.smooth
    seed = None if options.seed < 0 else options.seed
    case = CASES.get(name, CASES["fivebar"])
    if options.cycles is not None:
        case = (*case[:4], options.cycles, case[5])
    counts = case[5] if resolution is None else resolution
    experiment = Experiment(robot, *case[:5], resolution=counts, options={"smooth": smooth})
    begin = time.perf_counter()
    own = experiment.controller(robot)
    exact = experiment.errors(experiment.exact(own))
    model = perturbed_model(robot, seed)
    controller = experiment.controller(model)
    run = experiment.run(controller)
    if not run.ok:
        print(f"{name}: {run.message}")
        return
    adaptive = experiment.errors(run)
    same = experiment.errors(experiment.exact(controller))
    still = experiment.errors(experiment.run(controller, (adapted_parameters(model).values,) * 2))
    took = time.perf_counter() - begin
    half, nx, n = experiment.cycles, len(experiment.x0), robot.motion.n
    speed, acceleration = (
        np.abs(experiment.rows[:, nx + k * n : nx + (k + 1) * n]).max(axis=0) for k in (0, 1)
    )
    bandwidth = own.gain("rate")[0] / (2.0 * np.pi)
    print(f"\n{name}: {len(adapted_parameters(robot))} base parameters, payload {experiment.payload:g} kg")
    print(f"  largest twist {np.round(speed, 2)}, its derivative {np.round(acceleration, 1)}")
    print(
        f"  bandwidth {bandwidth:.3g} Hz, time constant {controller.kind.time_constant:g} s, "
        f"encoders {experiment.resolution:g}, seed {seed}"
    )
    for label, at in (("before", half - 1), ("after", 2 * half - 1)):
        print(
            f"  {label:6s} payload: wrong {still[at]:.3g}, exact {exact[at]:.3g}, "
            f"adaptive {adaptive[at]:.3g}: {adaptive[at] / exact[at]:.3f} of the exact one's, "
            f"{adaptive[at] / same[at]:.3f} with the same gains"
        )
    print(f"  by cycle: {np.round(adaptive / np.repeat(exact[[half - 1, -1]], half), 2)}")
    print(f"  law: {count(own.compiled.program)}; all of it took {took:.0f} s")


def main() -> None:
    """Print a block for every robot."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("robots", nargs="*", default=ROBOTS)
    parser.add_argument("--resolution", type=float, default=None, help="of the encoders, rad or m")
    parser.add_argument(
        "--seed", type=int, default=0, help="below zero: all parameters are half the true ones"
    )
    parser.add_argument("--smooth", type=float, default=LAW_SMOOTH, help="rate of the law's friction")
    parser.add_argument("--cycles", type=int, default=None, help="before the payload, and after it")
    options = parser.parse_args()
    for name in options.robots:
        row(name, options)


if __name__ == "__main__":
    main()
