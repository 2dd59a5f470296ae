"""When does looking at the legs win? Computed torque fed by encoders, by a camera, and by both.

    python benchmarks/looking.py [--robots fivebar,quattro,gough-stewart] [--seeds 3] [--out FOLDER]
    python benchmarks/looking.py --quick          # two seeds and fewer values
    python benchmarks/looking.py --check          # the same statistics from images and from their model

The true robot differs from the model by errors of its anchors, by warmth, by lengths; the camera has noise
and a rate. Writes looking.json and looking.png to the folder, and prints the tables. One process; the three
robots with three seeds take about a quarter of an hour.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np

import nacelle
from nacelle.cli.common import console
from nacelle.control.loop.run import rms
from nacelle.control.vision.comparison import (
    QUICK,
    SWEEPS,
    Circumstances,
    VisualFeedbackBench,
    VisualFeedbackComparison,
    compare_visual_feedback,
)
from nacelle.report.control import plot_visual_comparison, sweep_verdicts, visual_comparison_table
from nacelle.report.draw.canvas import save_figure

ROBOTS = ("fivebar", "quattro", "gough-stewart")


def sweeps(robots: list[str], seeds: int, out: Path, quick: bool) -> None:
    """All sweeps of all robots, as a table, a figure and a file."""
    results: list[VisualFeedbackComparison] = []
    for name in robots:
        begin = time.perf_counter()
        values = QUICK if quick else SWEEPS
        result = compare_visual_feedback(
            VisualFeedbackBench(nacelle.load(name)), sweeps=values, seeds=range(1, seeds + 1)
        )
        results.append(result)
        screen = console()
        screen.print(f"\n{name}, seeds 1 to {seeds}, {time.perf_counter() - begin:.0f} s", markup=False)
        screen.print(visual_comparison_table(result))
        for line in sweep_verdicts(result):
            screen.print(line, markup=False)
        for case in result.cases:
            for words in case.lost:
                screen.print(f"lost, {case.sweep} {case.value:g}: {words}", markup=False)
        # Written after every robot: an interrupted run keeps those that are done.
        (out / "looking.json").write_text(json.dumps([one.summary() for one in results], indent=1))
        picture = out / "looking.png"
        picture.unlink(missing_ok=True)
        save_figure(plot_visual_comparison(results, shown=False), picture, step=5)


def check(robots: list[str], seeds: int) -> None:
    """Rms errors of observed and true poses with edges from images and with edges from their model."""
    for name in robots:
        for measurement in ("model", "rendered"):
            bench = VisualFeedbackBench(nacelle.load(name), measurement=measurement)
            begin = time.perf_counter()
            runs = [bench.run("vision", Circumstances(), seed) for seed in range(1, seeds + 1)]
            spent = (time.perf_counter() - begin) / seeds
            tracking, estimate = (
                float(rms(np.concatenate([getattr(run, name) for run in runs])))
                for name in ("tool_error", "estimate_error")
            )
            print(
                f"{name:14s} {measurement:9s} tracking {1e3 * tracking:.4f} mm, "
                f"estimate {1e3 * estimate:.4f} mm, {spent:.1f} s a run of {bench.duration:g} s"
            )


def main() -> None:
    """Read the arguments and run."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--robots", default=",".join(ROBOTS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path())
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    robots = given.robots.split(",")
    if given.check:
        check(robots, given.seeds)
    else:
        given.out.mkdir(parents=True, exist_ok=True)
        sweeps(robots, 2 if given.quick else given.seeds, given.out, given.quick)


if __name__ == "__main__":
    main()
