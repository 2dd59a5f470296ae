"""The embedded profile on microcontrollers: flash, RAM, stack, instructions; errors of float.

    python benchmarks/embedded.py [ROBOT ...] [--states N]

Packages of `nacelle export ROBOT --profile embedded` with kinematics, inverse dynamics with friction and the
computed-force controller `cf-rb-friction` (0.5 ms), compiled by arm-none-eabi-gcc with -O2 and run by
qemu-system-arm on boards with a Cortex-M4F and a Cortex-M7. Entries are those of the two, M4F / M7.

- flash: code and constants that a task links, with those of newlib.
- RAM: the struct of the caller; + variables of newlib that it links (errno). The package has no variables.
- stack: bytes that calls took, with those of newlib; (bound) the largest sum of frames along calls, without.
- instructions: of a call, the mean over 1000 samples of a motion at 0.5 ms, and the dearest.

Instructions are not cycles: qemu counts what is executed, at 64 ns each (`-icount shift=6`, which the boards'
timer of 25 MHz resolves); each count is the same in every run.
Without the compiler or qemu these tables are left out, and said.

Errors of float: against double, the same C on this machine at N states (100000) from near to far of the
reference pose, relative to the largest entry of a result. A result is one that neither precision refuses.
"""

import argparse
import sys
import tempfile
from itertools import pairwise
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).parent))
from timing import say

import nacelle
from nacelle.export.c.embedded import BOARDS, cross_compiler, measure_stack
from support.embedded import IS_INSTALLED, TASKS, export_embedded, float_errors

FUNCTIONS = ("inverse", "forward", "inverse_dynamics", "controller_step")
TITLES = ("inverse kinematics", "forward kinematics", "inverse dynamics", "controller")
STRUCTS = ("kinematics", "kinematics", "", "controller")
LIMITS = (0.0, 3.0, 10.0, 30.0, 100.0, np.inf)


def costs(name):
    """Rows of a robot: each task with its bytes and instructions on both boards."""
    with tempfile.TemporaryDirectory() as folder:
        package = export_embedded(nacelle.load(name), Path(folder))
        files = {file: (package.done.out / file).read_text() for file in package.done.files}
        columns = []
        for processor in BOARDS:
            runs, sizes = package.run(processor, own_math=False), package.sizes(processor)
            bound = measure_stack(files, cross_compiler(), processor)
            column = []
            for task, function, struct in zip(TASKS, FUNCTIONS, STRUCTS, strict=True):
                run, library = runs[task], package.library_data(processor, task)
                column.append(
                    (
                        str(package.flash(processor, task)),
                        str(sizes.get(struct, 0)) + (f" + {library}" if library else ""),
                        f"{run.stack} ({bound.depth(f'{package.done.name}_{function}_f')})",
                        f"{run.mean:.0f}, {run.worst:.0f}",
                    )
                )
            columns.append(column)
    for title, *entries in zip(TITLES, *columns, strict=True):
        pairs = (
            first if first == second else f"{first} / {second}"
            for first, second in zip(*entries, strict=True)
        )
        print(f"| {name} | {title} | {' | '.join(pairs)} |", flush=True)


def number(value):
    """A number in two digits; a dash where there is none."""
    return f"{value:.1e}" if np.isfinite(value) else "-"


def summary(error):
    """Median and worst of the states that have a result."""
    known = error[np.isfinite(error)]
    return f"{number(np.median(known))}, {number(np.max(known))}" if len(known) else "-"


def accuracy(name, count):
    """A row of a robot, and its errors."""
    with tempfile.TemporaryDirectory() as folder:
        errors = float_errors(nacelle.load(name), Path(folder), count)
    good = errors.status <= [1, 1, 1, 0]
    refused = np.count_nonzero(good[0] & ~good[1], axis=0)[[0, 1, 3]]
    texts = [summary(column) for column in errors.error.T]
    print(f"| {name} | {' | '.join(texts)} | {', '.join(map(str, refused))} |", flush=True)
    return errors


def by_condition(results):
    """The same of all robots by the condition of the actuators' Jacobian."""
    error = np.concatenate([errors.error for errors in results])
    condition = np.concatenate([errors.condition for errors in results])
    print(f"\n| condition | states | {' | '.join(TITLES)} |\n|---|---|---|---|---|---|")
    for low, high in pairwise(LIMITS):
        rows = error[(condition >= low) & (condition < high)]
        label = f"{low:g} to {high:g}" if np.isfinite(high) else f"from {low:g}"
        print(f"| {label} | {len(rows)} | {' | '.join(summary(column) for column in rows.T)} |")


def main():
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("robots", nargs="*", default=nacelle.robot_names())
    parser.add_argument("--states", type=int, default=100_000)
    options = parser.parse_args()
    if IS_INSTALLED:
        print("| robot | task | flash | RAM | stack (bound) | instructions, dearest |")
        print("|---|---|---|---|---|---|")
        for name in options.robots:
            say(name)
            costs(name)
    else:
        say("arm-none-eabi-gcc or qemu-system-arm is not installed: the boards are left out")
    print(f"\n| float, median and worst | {' | '.join(TITLES)} | refused in float alone |")
    print("|---|---|---|---|---|---|")
    results = []
    for name in options.robots:
        say(name)
        results.append(accuracy(name, options.states))
    by_condition(results)


if __name__ == "__main__":
    main()
