"""Consistent parameters from noisy estimates: their time, and what the weight of the description does.

For some robots, an ordinary estimate from forty random states with noise of a tenth of the forces. Printed
are the least eigenvalue of the mass matrix against the description's over sixty poses, before and after, the
error of prediction over the noise, how far the estimate was moved, and the best time of five. Nothing is
asserted.
"""

import argparse
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import nacelle
from nacelle.identification.consistency.consistent import consistent_parameters
from nacelle.identification.consistency.mass_matrix import smallest_inertia_ratio
from support.noisy_estimates import noisy_estimate, random_motion_states

ROBOTS = ("fivebar", "delta", "hexa", "palida")


def best(function, repeat=5):
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


def row(name, shared, weight):
    """One robot at one weight."""
    robot = nacelle.load(name)
    data = noisy_estimate(robot, noise=0.1, rate=0.2, span=0.2, count=40, shared=shared)
    result = consistent_parameters(data.base, data.beta, data.root, weight=weight)
    ms = 1e3 * best(lambda: consistent_parameters(data.base, data.beta, data.root, weight=weight))
    poses = random_motion_states(robot, 60, 77)[0]
    least = [
        np.nanmin(smallest_inertia_ratio(data.base, beta, poses)) for beta in (data.beta, result.base_values)
    ]
    print(
        f"{name:9s} {'shared' if shared else 'own':6s} {weight:7.0e} {len(result.changes):6d}",
        f"{len(data.base):4d} {least[0]:8.3f} {least[1]:8.3f} {data.rms(data.beta):8.3f}",
        f"{data.rms(result.base_values):8.3f} {result.distance:6.2f} {max(result.changes.values()):7.1f}",
        f"{result.accuracy:8.0e} {ms:6.0f}",
        flush=True,
    )


def main():
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("robots", nargs="*", default=ROBOTS)
    robots = arguments.parse_args().robots
    print(
        "robot     legs    weight bodies base  least M    after      rms    after  moved  change accuracy ms"
    )
    for name in robots:
        for shared in (None, "legs"):
            for weight in (1.0, 1e-2, 1e-4, 1e-6):
                row(name, shared, weight)


if __name__ == "__main__":
    main()
