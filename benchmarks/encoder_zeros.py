"""How often shifted encoder zeros are reported: `python benchmarks/encoder_zeros.py fivebar delta --runs 8`.

Measurements made by computation (`tests/support/measurements.py`): parameters wrong by up to 50 %, friction
of 30 % of the forces, cogging and noise; `--other` has effects that the model of the check lacks instead. In
run k the encoder k mod actuators is shifted, to one side and the other in turn: by sizes in rad or robot
sizes, and by multiples of the smallest shift that the check of the same run without a shift says it would
see. Printed are what that was, and for each shift the runs in which one is reported, how many of those were
above what is said to be seen, and where another encoder is named first. A robot is a name of the library or a
file.
"""

import argparse
import re
import sys
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import nacelle
from nacelle.identification.data.checks.check import check_measurement
from nacelle.kinematics.actuation import actuator_scales
from support.library import library_robot
from support.measurements import Truth, measured, with_other_effects


def run_of(robot, seed, other):
    """A measurement without a shift."""
    if other:
        return with_other_effects(measured(robot, seed, Truth(friction=0.0)), seed)
    return measured(robot, seed)


def said_size(findings, unit):
    """The shift from which on all encoders of a unit are said to be seen, rad or robot sizes."""
    name = "rad" if unit == 1.0 else "m"
    sizes = re.findall(rf"from (?:\S+ to )?(\S+) {name} on", " ".join(findings.seen))
    return float(sizes[0]) / unit if sizes else float("inf")


class Count:
    """Runs, those with a report and those that name another encoder first; shifts said to be seen."""

    def __init__(self):
        """Begin with none."""
        self.runs = self.reported = self.elsewhere = self.visible = self.seen = 0

    def add(self, reported, elsewhere, visible):
        """Count a run."""
        self.runs += 1
        self.reported += reported
        self.elsewhere += elsewhere
        self.visible += visible
        self.seen += reported and visible

    def __str__(self):
        """In words."""
        words = f"reported in {self.reported} of {self.runs}, {self.elsewhere} elsewhere"
        return f"{words}; of those said to be seen {self.seen} of {self.visible}"


def counted(robot, options):
    """Counts by the shift's name, runs without a shift that were refused, and what is said to be seen."""
    counts, refused, said = defaultdict(Count), 0, []
    units = actuator_scales(robot)
    for seed in range(options.runs):
        run = run_of(robot, seed, options.other)
        place = seed % len(units)
        clean = check_measurement(run)
        refused += len(clean) > 0
        own = said_size(clean, units[place])
        said.append(own)
        shifts = {f"{size:.2f}": size for size in options.sizes}
        shifts |= {f"{times:g} x what is said": times * own for times in options.times if times * own < 1.0}
        for name, size in shifts.items():
            q = run.q.copy()
            q[:, place] += (1.0 if seed % 2 else -1.0) * size * units[place]
            findings = check_measurement(replace(run, q=q))
            columns = findings.entries[0].column.split(", ") if len(findings) else []
            counts[name].add(not findings.ok, bool(columns) and f"enc{place}" not in columns, size >= own)
    return counts, refused, said


def main():
    """Print a line a robot and size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("robots", nargs="*", default=["fivebar", "delta", "3rrr", "orthoglide", "palida"])
    parser.add_argument("--runs", type=int, default=8)
    parser.add_argument("--sizes", type=float, nargs="*", default=[0.02, 0.05, 0.1, 0.2, 0.4])
    parser.add_argument("--times", type=float, nargs="*", default=[1.0, 2.0])
    parser.add_argument("--other", action="store_true", help="effects that the model of the check lacks")
    options = parser.parse_args()
    for name in options.robots:
        robot = nacelle.load(name) if Path(name).suffix else library_robot(name)
        counts, refused, said = counted(robot, options)
        sizes = ", ".join(f"{size:.2g}" for size in said)
        print(f"{name}: without a shift {refused} of {options.runs} refused; said to be seen from {sizes}")
        for shift, count in counts.items():
            print(f"  shift {shift}: {count}", flush=True)


if __name__ == "__main__":
    main()
