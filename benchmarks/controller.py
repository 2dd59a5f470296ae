"""Exported controllers: operations, instructions and nanoseconds of a step, against the paper's 0.15 ms.

    python benchmarks/controller.py [ROBOT:CONTROLLER ...]

Each is exported as C in double, compiled with gcc -O3, and runs the samples of its self-test (readings there,
missing, none at all, stopped) over and over on one core.

- operations: of the law, and of the model's inverse dynamics alone; straight-line code, so every case.
- instructions: of every call of the step by itself, by callgrind; the least and the most over all samples.
  They differ by what sin, cos and tanh do: friction at rates where tanh is neither its argument nor one is
  the dearest. Without valgrind that is left out, and said.
- ns: of the step; the shortest and the median over blocks of 38 samples, and the longest single one, which on
  a machine with other work is that of an interruption.

[AGH2005], section IV: 0.15 ms of 0.5 ms for path planning, joint control and inverse dynamics with friction,
on a processor of its time.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from itertools import pairwise
from pathlib import Path

from timing import say

import nacelle
from nacelle.control.named import controller
from nacelle.export.vectors import sample_inputs

DEFAULT = ("palida:sj", "palida:cf-rb", "palida:cf-rb-friction", "fivebar:cf-rb-friction")
DEFAULT += ("delta:cf-rb-friction", "quattro:cf-rb-friction", "3rps:cf-rb-friction")
FLAGS = ("-std=c99", "-O3", "-fno-math-errno", "-fno-trapping-math")
ROUNDS, PAPER = 20_000, 0.15e-3

HARNESS = r"""
#define _POSIX_C_SOURCE 200112L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "NAME.h"
#include "samples.h"

static double shortest[ROUNDS];

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static int smaller(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int count, char **words)
{
    const long rounds = count > 1 ? atol(words[1]) : ROUNDS;
    NAME_controller c;
    double force[M], most = 0, clock = 1e9, sum = 0;
    if (count > 2) {
        if (NAME_controller_reset(&c, x[0]) != 0) return 1;
        const int last = atoi(words[2]);
        for (int k = 0; k < last; ++k) NAME_controller_step(&c, q[k], x[k], v[k], a[k], force);
        return 0;
    }
    for (int k = 0; k < 1000; ++k) {
        const double begin = now(), end = now();
        clock = end - begin < clock ? end - begin : clock;
    }
    for (long r = 0; r < rounds; ++r) {
        if (NAME_controller_reset(&c, x[0]) != 0) return 1;
        const double begin = now();
        for (int k = 0; k < SAMPLES; ++k) {
            NAME_controller_step(&c, q[k], x[k], v[k], a[k], force);
            sum += force[0];
        }
        shortest[r] = (now() - begin - clock) / SAMPLES;
        NAME_controller_reset(&c, x[0]);
        for (int k = 0; k < SAMPLES; ++k) {
            const double single = now();
            NAME_controller_step(&c, q[k], x[k], v[k], a[k], force);
            const double taken = now() - single - clock;
            most = taken > most ? taken : most;
        }
    }
    qsort(shortest, (size_t)rounds, sizeof shortest[0], smaller);
    printf("%.1f %.1f %.1f %g\n", shortest[0], shortest[rounds / 2], most, sum);
    return 0;
}
"""


def tables(made):
    """The samples as tables of C."""
    lines = []
    for name, rows in sample_inputs(made).items():
        texts = [
            ", ".join("NAN" if value != value else repr(value) for value in row) for row in rows.tolist()
        ]
        table = ",\n".join(f"{{{text}}}" for text in texts)
        lines.append(f"static const double {name}[{rows.shape[0]}][{rows.shape[1]}] = {{{table}}};")
    count, m = sample_inputs(made)["q"].shape
    return "\n".join(
        [
            "#include <math.h>",
            f"#define SAMPLES {count}",
            f"#define ROUNDS {ROUNDS}",
            f"#define M {m}",
            *lines,
        ]
    )


def built(robot, made, folder):
    """The counts of the package, its name, and the program that runs it."""
    done = nacelle.export(
        robot,
        "inverse_dynamics",
        out=folder / "package",
        target=nacelle.io.CTarget(controller=made, precision="double"),
        bare=True,
    )
    (folder / "samples.h").write_text(tables(made))
    (folder / "run.c").write_text(HARNESS.replace("NAME", done.name))
    sources = sorted(map(str, (done.out / "src").glob("*.c")))
    command = [
        "gcc",
        *FLAGS,
        "-g",
        f"-I{done.out / 'include'}",
        f"-I{folder}",
        str(folder / "run.c"),
        *sources,
    ]
    subprocess.run([*command, "-lm", "-Wl,-z,now", "-o", str(folder / "run")], check=True)
    return done, folder / "run"


def instructions(program, folder, samples):
    """The least and the most instructions of a step; None without valgrind.

    Of a step: the difference of a run with it as the last and of one without.
    """
    if shutil.which("valgrind") is None:
        return None
    totals = []
    for count in range(samples + 1):
        command = [
            "valgrind",
            "--tool=callgrind",
            "--callgrind-out-file=calls",
            str(program),
            "0",
            str(count),
        ]
        done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
        totals.append(int(re.search(r"Collected : (\d+)", done.stderr)[1]))
    steps = [after - before for before, after in pairwise(totals)]
    return min(steps), max(steps)


def clock(program):
    """Nanoseconds of a step: the shortest, the median, the longest; on one core where that can be said."""
    pinned = {}
    if hasattr(os, "sched_setaffinity"):
        core = max(os.sched_getaffinity(0))
        pinned = {"preexec_fn": lambda: os.sched_setaffinity(0, {core})}
    done = subprocess.run([str(program)], check=True, capture_output=True, text=True, **pinned)
    return [float(word) for word in done.stdout.split()[:3]]


def main():
    asked = sys.argv[1:] or DEFAULT
    if shutil.which("gcc") is None:
        say("there is no gcc: nothing can be measured")
        return
    if shutil.which("valgrind") is None:
        say("valgrind is not installed: instructions are left out")
    print("| robot | controller | operations | inverse dynamics alone | instructions | ns | of 0.15 ms |")
    print("|---|---|---|---|---|---|---|")
    for robot_name, name in (text.split(":") for text in asked):
        say(robot_name, name)
        robot = nacelle.load(robot_name)
        made = controller(robot, name)
        with tempfile.TemporaryDirectory() as text:
            folder = Path(text)
            done, program = built(robot, made, folder)
            counted = instructions(program, folder, len(sample_inputs(made)["q"]))
            shortest, median, longest = clock(program)
        said = "-" if counted is None else f"{counted[0]} to {counted[1]}"
        print(
            f"| {robot_name} | {name} | {done.counts['controller_law'].total} | "
            f"{done.counts['inverse_dynamics'].total} | {said} | "
            f"{shortest:.0f}, median {median:.0f}, longest {longest:.0f} | 1/{PAPER / median * 1e9:.0f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
