"""Benchmark of excitation: optimised motions, and the best of a thousand random ones in the same limits.

Random motions are of the same kind, with normal coefficients, each scaled to the largest size within the
limits, and drawn with another seed than the starts of the optimiser. Columns are in the same units. Nothing
is asserted here; `tests/identification/excitation/test_excite.py` asserts a third for some robots.
"""

import argparse
import json
import sys
import time
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
from timing import say

import nacelle
from nacelle.identification.excitation.excite import excitation_problem
from nacelle.identification.excitation.optimise import criterion_values, random_motions


def measured(name: str, count: int) -> dict:
    robot = nacelle.load(name)
    begin, busy = time.perf_counter(), time.process_time()
    # As described: without a reserve for a controller.
    limits = nacelle.identification.MotionLimits(reserve=0.0)
    result = nacelle.identification.excite(robot, limits=limits)
    seconds, busy = time.perf_counter() - begin, time.process_time() - busy
    problem = excitation_problem(robot, result.base, result.limits)
    drawn = random_motions(problem, count, seed=99)
    random = criterion_values(replace(problem, columns=result.columns), drawn, "condition")
    return {
        "robot": name,
        "parameters": len(result.base),
        "duration": result.trajectory.duration,
        "condition": result.condition,
        "best_random": float(np.min(random)),
        "median_random": float(np.median(random)),
        "seconds": seconds,
        "processor_seconds": busy,
        "uses": {use.kind: use.use for use in result.uses},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("robots", nargs="*", default=nacelle.robot_names())
    parser.add_argument("--count", type=int, default=1000, help="random motions")
    parser.add_argument("--json", type=Path, help="file to write")
    given = parser.parse_args()
    rows = []
    print("| robot | parameters | duration (s) | condition | best random | ratio | time (s) |")
    print("|---|---|---|---|---|---|---|")
    for name in given.robots:
        say(f"{name} ...")
        row = measured(name, given.count)
        rows.append(row)
        print(
            f"| {name} | {row['parameters']} | {row['duration']:.2f} | {row['condition']:.3g} "
            f"| {row['best_random']:.3g} | {row['best_random'] / row['condition']:.1f} "
            f"| {row['processor_seconds']:.0f} |",
            flush=True,
        )
    if given.json:
        given.json.write_text(json.dumps(rows, indent=2))


if __name__ == "__main__":
    main()
