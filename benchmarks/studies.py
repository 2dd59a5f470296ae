"""Studies: `python benchmarks/studies.py`, variants times poses a second; on a GPU with `--device`.

A Delta with its own rods, arms and base for each variant, peak force of its drives over the poses of a
pick-and-place motion. In one run: a study on one thread and on two; public functions called variant by
variant, as an optimiser with an objective in Python does; a loop over Pinocchio models built for each variant
(rnea, Jacobians of the loops' ends and a dense solve, joint positions, rates and accelerations given, without
friction; building apart); a Dask cluster on this machine, of one worker for what it adds to tasks of about a
second and to short ones, and of two. Nothing is asserted about times.
"""

import argparse
import json
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).parent))

from closed_loops import Pinocchio, trees_of
from timing import processor

import nacelle
from nacelle.dynamics.physics import ALL_TERMS
from nacelle.studies import Study
from nacelle.studies.device import DeviceFolds
from nacelle.verify.states import random_states
from support import dask_cluster

SAMPLES = 1000


def study_of(samples=SAMPLES, count=1000, block=None):
    entries = {
        "study": "delta throughput",
        "robot": "delta",
        "variables": {
            "rod_length": {"from": 0.55, "to": 0.65},
            "arm_length": {"from": 0.22, "to": 0.28},
            "base_radius": {"from": 0.18, "to": 0.22},
        },
        "motions": {
            "cycle": {
                "pick-and-place": {"distance": 0.24, "height": 0.05, "duration": 0.4},
                "samples": samples,
            }
        },
        "quantities": {"peak": "peak force"},
        "sample": {"method": "monte-carlo", "count": count},
    }
    return Study(entries if block is None else {**entries, "block": block})


def states_of(study):
    return study.evaluator.sets["cycle"]


def nacelle_rate(study, threads):
    """Variants times poses a second of a whole run in memory; the program is compiled before."""
    study.evaluate(study.evaluator.space.values_at(study.points(range(2))))
    start = time.perf_counter()
    result = study.run(threads=threads)
    seconds = time.perf_counter() - start
    assert result.variants.ok.all()
    return study.count * len(states_of(study).states) / seconds, result


def candidate_rate(study, candidates=40):
    """The same by one call a candidate of the public functions, as an optimiser's objective makes it."""
    states = states_of(study).states
    space = study.evaluator.space
    numbers = space.numbers_at(space.values_at(study.points(range(candidates))))
    start = time.perf_counter()
    for own in numbers:
        robot = study.robot.with_numbers(own, *space.groups)
        np.abs(nacelle.inverse_dynamics(robot, states.x, states.v, states.a).tau).max()
    return candidates * len(states) / (time.perf_counter() - start)


def pinocchio_rate(study, variants=3, poses=200):
    """A loop over Pinocchio models built for each variant: variants times poses a second, seconds a model."""
    space = study.evaluator.space
    numbers = space.numbers_at(space.values_at(study.points(range(variants))))
    building = evaluating = 0.0
    for own in numbers:
        robot = study.robot.with_numbers(own, *space.groups)
        drawn = random_states(robot, poses, 0)
        drawn = replace(drawn, external=0.0 * drawn.external)
        force = nacelle.inverse_dynamics(robot, drawn.x, drawn.v, drawn.a, friction=False).tau
        trees = trees_of(robot, drawn)
        start = time.perf_counter()
        engine = Pinocchio(robot, trees, force * drawn.push)
        building += time.perf_counter() - start
        start = time.perf_counter()
        forces = [engine.inverse(k) for k in range(poses)]
        evaluating += time.perf_counter() - start
        assert np.max(np.abs(np.array(forces) - force)) < 1e-9 * np.max(np.abs(force))
    return variants * poses / evaluating, building / variants


def run_seconds(study, **where):
    """Seconds of a run in memory: `threads` of this process, or workers at `cluster`."""
    start = time.perf_counter()
    assert study.run(**where).variants.ok.all()
    return time.perf_counter() - start


def cluster_figures(samples, variants, rounds=3):
    """What a cluster on this machine adds, with one worker and a thread in turn; and what two workers do.

    Long tasks are of about a second; short ones show what a task costs apart from its work.
    """
    long, short = study_of(samples, 16 * variants, variants), study_of(samples, 400, 1)
    figures, times = {}, {"thread": [], "worker": []}
    for workers in (1, 2):
        with tempfile.TemporaryDirectory() as folder, dask_cluster.cluster(Path(folder), workers) as cluster:
            at = {"cluster": cluster.address}
            run_seconds(long, **at)  # each worker compiles, or loads from the cache
            if workers == 2:
                figures["two workers, variant-poses/s"] = long.count * samples / run_seconds(long, **at)
                continue
            for _ in range(rounds):
                times["thread"].append(run_seconds(long, threads=1))
                times["worker"].append(run_seconds(long, **at))
            apart = [run_seconds(short, **where) for where in (at, {"threads": 1})]
            figures["ms that a task costs on a cluster, its work apart"] = 1e3 * (apart[0] - apart[1]) / 400
    figures["s a task of 16, one thread"] = min(times["thread"]) / 16
    figures["one worker, variant-poses/s"] = long.count * samples / min(times["worker"])
    figures["a worker's time over that of a thread"] = min(times["worker"]) / min(times["thread"])
    return figures


def device_rate(study, variants, repeats=3):
    """Variants times poses a second on a device, numbers of each variant its own, reduced there."""
    import cupy

    space, of = study.evaluator.space, states_of(study)
    folds = DeviceFolds(
        study.robot, space.groups, tuple(study.evaluator.quantities.values()), physics=ALL_TERMS
    )
    rng = np.random.default_rng(0)
    values = space.values_at(rng.random((variants, len(space.variables))))
    numbers = cupy.asarray(np.asfortranarray(space.numbers_at(values)))
    folds.fold(numbers[:1024], of.states, of.weights)
    times = []
    for _ in range(repeats):
        cupy.cuda.Device().synchronize()
        start = time.perf_counter()
        found = folds.fold(numbers, of.states, of.weights)
        cupy.cuda.Device().synchronize()
        times.append(time.perf_counter() - start)
    peak = folds.results(found)[0]
    expected = study.evaluate(values[:200])["peak"]
    error = float(np.nanmax(np.abs(peak[:200] - expected)) / np.nanmax(expected))
    return {
        "variants": variants,
        "poses": len(of.states),
        "G variant-poses/s": variants * len(of.states) / min(times) / 1e9,
        "error": error,
        "count": str(folds.program.count),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.split(":")[0])
    parser.add_argument("--variants", type=int, default=1000)
    parser.add_argument("--poses", type=int, default=SAMPLES)
    parser.add_argument("--device", action="store_true")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.device:
        rows = [device_rate(study_of(options.poses), 1 << k) for k in (17, 20, 22)]
        print(json.dumps(rows) if options.json else "\n".join(map(str, rows)))
        return
    study = study_of(options.poses, options.variants)
    one, first = nacelle_rate(study, 1)
    two, second = nacelle_rate(study, 2)
    assert np.array_equal(first.variants.values, second.variants.values)
    pinocchio, building = pinocchio_rate(study)
    candidates = candidate_rate(study)
    figures = {
        "study, one thread, variant-poses/s": one,
        "study, two threads, variant-poses/s": two,
        "public functions, variant by variant": candidates,
        "Pinocchio, models built before": pinocchio,
        "s to build a Pinocchio model": building,
        "two threads over Pinocchio's loop": two / pinocchio,
        **cluster_figures(options.poses, 5 * options.variants),
    }
    if options.json:
        print(json.dumps(figures))
        return
    print(processor())
    for name, value in figures.items():
        print(f"{name:55s} {value:12.4g}")


if __name__ == "__main__":
    main()
