"""How often shifted encoder zeros are reported: `python benchmarks/encoder_zeros.py fivebar delta --runs 8`.

Measurements made by computation (`tests/support/measurements.py`): parameters wrong by up to 50 %, friction
of 30 % of the forces, cogging and noise; `--other` has effects that the model of the check lacks instead. In
run k the encoder k mod actuators is shifted, to one side and the other in turn, by a size in rad or robot
sizes. Printed are the runs in which a shift is reported, those where another encoder is named first, and what
one of the runs without a shift says it would see.
"""

import argparse
import sys
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from nacelle.identification.data.checks.check import check_measurement
from nacelle.kinematics.forward.actuator_path import actuator_units
from support.library import library_robot
from support.measurements import Truth, measured, with_other_effects


def run_of(robot, seed, other):
    """A measurement without a shift."""
    if other:
        return with_other_effects(measured(robot, seed, Truth(friction=0.0)), seed)
    return measured(robot, seed)


def counted(robot, runs, size, other):
    """Runs with a report, those that name another encoder first, and what is said to be seen."""
    reported, elsewhere, said = 0, 0, []
    units = actuator_units(robot)
    for seed in range(runs):
        run = run_of(robot, seed, other)
        place = seed % len(units)
        q = run.q.copy()
        q[:, place] += (1.0 if seed % 2 else -1.0) * size * units[place]
        findings = check_measurement(replace(run, q=q))
        if not findings.ok:
            reported += 1
            elsewhere += f"enc{place}" not in findings.entries[0].column.split(", ")
        said += findings.seen
    return reported, elsewhere, said


def main():
    """Print a line a robot and size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("robots", nargs="*", default=["fivebar", "delta", "3rrr", "palida"])
    parser.add_argument("--runs", type=int, default=8)
    parser.add_argument("--sizes", type=float, nargs="*", default=[0.0, 0.02, 0.05, 0.1, 0.2, 0.4])
    parser.add_argument("--other", action="store_true", help="effects that the model of the check lacks")
    options = parser.parse_args()
    for name in options.robots:
        for size in options.sizes:
            reported, elsewhere, said = counted(library_robot(name), options.runs, size, options.other)
            line = f"{name:10s} shift {size:5.2f}: in {reported} of {options.runs}, {elsewhere} elsewhere"
            print(line, "" if size else f"; {said[len(said) // 2] if said else 'not looked at'}", flush=True)


if __name__ == "__main__":
    main()
