"""Natural frequencies of flexible robots over a grid: `python benchmarks/elastic_map.py --points 50`.

The first mode over two coordinates around the reference pose, unloaded, actuators locked: with the program
compiled for the first time, and again. BLAS runs on one thread unless the environment says otherwise: its
threads only wait for each other at matrices of this size. Nothing is asserted here.
"""

import argparse
import os
import sys
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).parent))

import time

import numpy as np
from timing import say

import nacelle
from nacelle.elastic.flexible_tree import flexible_tree
from support.flexible.references import flexible_robot

RANGES = {
    "delta-flexible": {"x": (-0.3, 0.3), "y": (-0.3, 0.3)},
    "fivebar-flexible": {"x": (-0.2, 0.2), "y": (0.15, 0.4)},
    "orthoglide-flexible": {"x": (-0.07, 0.07), "y": (-0.07, 0.07)},
}


def measured(name: str, points: int) -> list[str]:
    robot = flexible_robot(name)
    over = {axis: (low, high, points) for axis, (low, high) in RANGES[name].items()}
    begin = time.perf_counter()
    first = nacelle.elastic.natural_frequencies(robot, nacelle.reference_pose(robot))
    ready = time.perf_counter() - begin
    begin, busy = time.perf_counter(), time.process_time()
    grid = nacelle.elastic.frequency_map(robot, over, modes=3)
    seconds, busy = time.perf_counter() - begin, time.process_time() - busy
    f = grid.frequencies[..., 0]
    return [
        name,
        f"{points} x {points}",
        str(flexible_tree(robot).ne),
        str(first.frequencies.shape[-1]),
        f"{ready:.1f}",
        f"{seconds:.2f}",
        f"{busy:.2f}",
        f"{np.nanmin(f):.3f} to {np.nanmax(f):.3f}",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("robots", nargs="*", default=list(RANGES))
    parser.add_argument("--points", type=int, default=50, help="along each coordinate")
    given = parser.parse_args()
    head = ("robot", "poses", "elastic coordinates", "modes", "first pose (s)", "map (s)", "processor (s)")
    print(f"| {' | '.join((*head, 'f_1 (Hz)'))} |\n{'|---' * (len(head) + 1)}|")
    for name in given.robots:
        say(f"{name} ...")
        print(f"| {' | '.join(measured(name, given.points))} |", flush=True)


if __name__ == "__main__":
    main()
