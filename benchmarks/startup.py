"""Benchmark of what one waits for before anything is computed: `make bench`.

Each command runs in new processes, with bytecode and the cache of compiled programs warm; the shortest wall
time and CPU time of several runs are given, and those of a bare interpreter and of `import numpy`, below
which nothing that computes can come. Then a table of a million poses goes through `nacelle ik`. Nothing is
asserted: tests/test_startup.py says what must not be imported.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from timing import say

COMMAND = ["-c", "from nacelle.cli import main; main()"]
RUNS = {
    "python": ["-c", "pass"],
    "import numpy": ["-c", "import numpy"],
    "import nacelle": ["-c", "import nacelle"],
    "nacelle.load('delta')": ["-c", "import nacelle; nacelle.load('delta')"],
    "from nacelle import *": ["-c", "from nacelle import *"],
    "nacelle --help": [*COMMAND, "--help"],
    "nacelle robots --names": [*COMMAND, "robots", "--names"],
    "nacelle robots": [*COMMAND, "robots"],
    "nacelle show delta": [*COMMAND, "show", "delta"],
    "nacelle check delta": [*COMMAND, "check", "delta"],
    "nacelle ik delta": [*COMMAND, "ik", "delta"],
    "nacelle dynamics delta": [*COMMAND, "dynamics", "delta"],
}


def timed(arguments):
    """Wall and CPU time of one process, in seconds."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(
        [sys.executable, *arguments],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    work = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.perf_counter() - start, work


def process(arguments, repeat):
    """Shortest wall and CPU time of a process, in seconds; a first run warms the caches."""
    timed(arguments)
    walls, works = zip(*(timed(arguments) for _ in range(repeat)), strict=True)
    return min(walls), min(works)


def table(rows):
    """Wall and CPU time of `nacelle ik` of a table of poses of the Delta, in seconds."""
    x = np.random.default_rng(0).uniform([-0.3, -0.3, -0.7], [0.3, 0.3, -0.4], (rows, 3))
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "poses.csv", Path(folder) / "joints.csv"
        np.savetxt(source, x, fmt="%.17g", delimiter=",", header="x,y,z", comments="")
        return timed([*COMMAND, "ik", "delta", "--csv", str(source), "--out", str(target)])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=5, help="runs of each process")
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows of the table; 0 for none")
    options = parser.parse_args()
    print(f"{'process':<26} {'wall':>8} {'CPU':>8}")
    for label, arguments in RUNS.items():
        say(label)
        wall, work = process(arguments, options.repeat)
        print(f"{label:<26} {wall:>6.3f} s {work:>6.3f} s", flush=True)
    if options.rows:
        say("a table")
        wall, work = table(options.rows)
        print(f"{f'nacelle ik, {options.rows} rows':<26} {wall:>6.2f} s {work:>6.2f} s", flush=True)


if __name__ == "__main__":
    main()
