"""Measure engines with the ruler: `make ruler`.

    python benchmarks/ruler/measure.py [--engines NAME ...] [--robots NAME ...]

Every engine runs in a process of its own, one after the other. Results are kept in
benchmarks/results/ruler.json by architecture and engine, from which `page.py` writes docs/ruler.md.
"""

import argparse
import functools
import importlib
import importlib.metadata
import json
import math
import os
import platform
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
import truth
from engine import SECONDS, STEP, UnsupportedError, energy, gaps
from mechanism import Mechanism, frequencies_of, gradient
from timing import processor

HERE = Path(__file__).parent
RESULTS = HERE.parent / "results" / "ruler.json"
ENGINES = [path.stem for path in sorted((HERE / "engines").glob("*.py"))]
ROBOTS = [path.stem for path in sorted(truth.FOLDER.glob("*.json"))]
FILES = HERE.parents[1] / ".results" / "ruler"
LIMIT = 3600.0
# Steps of independent coordinates for derivatives of accelerations, rad or m: double and single precision.
DERIVATIVE_STEP = {False: 1e-4, True: 2e-2}


def digits(values, exact, scale=None):
    """How many digits of values are right: of the largest error over the largest exact value."""
    exact = np.array(exact, dtype=float)
    error = np.max(np.abs(np.array(values) - exact)) / (np.max(np.abs(exact)) if scale is None else scale)
    return None if not math.isfinite(error) else round(-math.log10(max(error, 1e-16)), 1)


def accelerations(adapter, record):
    """Digits of joint accelerations, angles and strokes each for themselves."""
    turns = np.array(adapter.mechanism.turns)
    worst = []
    for state in record["states"]:
        q, v, tau, exact = (np.array(state[key], dtype=float) for key in ("q", "v", "tau", "accelerations"))
        found = np.asarray(adapter.accelerations(q, v, tau))
        groups = (kind & np.isfinite(found) for kind in (turns, ~turns))
        worst += [digits(found[group], exact[group]) for group in groups if group.any()]
    return _least(worst)


def forces(adapter, record):
    """Digits of the forces of the drives, of the largest of them and of the forces of their springs."""
    worst = []
    for state in record["states"]:
        q, v, tau, a = (np.array(state[key], dtype=float) for key in ("q", "v", "tau", "accelerations"))
        scale = max(np.max(np.abs(tau)), np.max(np.abs(adapter.joint_forces(q, v)[adapter.drives])))
        worst.append(digits(adapter.forces(q, v, a), tau, scale))
    return _least(worst)


def energies(adapter, record):
    """Digits of kinetic and potential energy, of the larger of both."""
    worst = []
    for state in record["states"]:
        exact = [float(state["kinetic"]), float(state["potential"])]
        found = adapter.energies(np.array(state["q"]), np.array(state["v"]))
        worst.append(digits(found, exact))
    return _least(worst)


def frequencies(adapter, record):
    """Digits of the frequencies of small oscillations, from accelerations around rest, and the lowest, Hz."""
    exact = np.array(record["equilibrium"]["frequencies"], dtype=float)
    mechanism, q = adapter.mechanism, np.array(record["equilibrium"]["q"])
    none = np.zeros(len(adapter.drives))

    def at_rest(near):
        if hasattr(adapter, "accelerations_at_rest"):
            return np.asarray(adapter.accelerations_at_rest(near))
        return np.asarray(adapter.accelerations(near, 0.0 * near, none))

    found = frequencies_of(gradient(at_rest, mechanism, q, DERIVATIVE_STEP[adapter.single]))
    return {"frequencies": digits(found / exact, np.ones(len(exact))), "lowest_hz": float(found[0])}


def _least(values):
    return None if not values or None in values else min(values)


def duration(call, least=0.2):
    """Microseconds of a call, the shortest of several batches."""
    count, best = 1, math.inf
    for _ in range(30):
        begin = time.perf_counter()
        for _ in range(count):
            call()
        passed = time.perf_counter() - begin
        best = min(best, passed / count)
        if passed > least / 4.0:
            if (least := least - passed) <= 0.0:
                break
        else:
            count *= 2
    return round(best * 1e6, 1)


def motion(adapter, record):
    """Loop gap and energy drift after free motion from the first state, and microseconds a step."""
    state, mechanism = record["states"][0], adapter.mechanism
    adapter.start(np.array(state["q"]), np.array(state["v"]))
    before = energy(mechanism, adapter.bodies())
    kinetic = float(state["kinetic"])
    begin = time.perf_counter()
    adapter.run(SECONDS)
    passed = time.perf_counter() - begin
    bodies = adapter.bodies()
    # Engines without coordinates for every joint say what they leave open.
    distance, rotation = getattr(adapter, "gap", None) or gaps(mechanism, bodies)
    result = {"gap_m": distance, "gap_rad": rotation, "step_us": round(passed * 1e6 * STEP / SECONDS, 1)}
    if not adapter.joint_forces.has_friction:
        # In parts of what moves: kinetic energy at the start and what springs and weight may give to it.
        rest = energy(mechanism, adapter.tree_bodies(record["equilibrium"]["q"], np.zeros(mechanism.n)))
        result["drift"] = abs(energy(mechanism, bodies) - before) / max(before - rest, kinetic)
    return {key: value if math.isfinite(value) else None for key, value in result.items()}


def measure(engine, robot):
    """All figures of an engine for a robot; a reason where there are none."""
    record = truth.read(robot)
    files = {ending: FILES / f"{robot}{ending}" for ending in (".xml", ".urdf", ".yaml")}
    # The speed of the machine at this moment: the ruler's own equations for the same state.
    first, own = record["states"][0], Mechanism(record["robot"])
    q, v, tau = (np.array(first[key]) for key in ("q", "v", "tau"))
    result = {"yardstick_us": duration(lambda: own.accelerations(q, v, tau))}
    try:
        adapter = importlib.import_module(f"engines.{engine}").Adapter(record["robot"], files)
    except UnsupportedError as reason:
        return {"unsupported": str(reason)}
    measures = {"accelerations": accelerations, "forces": forces, "energies": energies}
    for name, figure in measures.items():
        if hasattr(adapter, name):
            result |= _attempt(name, lambda figure=figure, name=name: {name: figure(adapter, record)})
    if hasattr(adapter, "accelerations") or hasattr(adapter, "accelerations_at_rest"):
        result |= _attempt("frequencies", lambda: frequencies(adapter, record))
    if hasattr(adapter, "accelerations"):
        call = functools.partial(adapter.accelerations, q, v, tau)
        result |= _attempt("time", lambda: {"accelerations_us": duration(call)})
    if hasattr(adapter, "start"):
        result |= _attempt("motion", lambda: motion(adapter, record))
    return result


def _attempt(name, figure):
    try:
        return figure()
    except UnsupportedError:
        return {}
    except Exception as error:
        text = " ".join(str(error).split())[:160]
        return {f"failed_{name}": f"{type(error).__name__}: {text}"}


def versions(engine):
    """Versions of an engine's packages."""
    adapter = importlib.import_module(f"engines.{engine}").Adapter
    return {name: importlib.metadata.version(name) for name in adapter.packages}


def run_engine(engine, robots):
    """Print a line of JSON for each robot; the first has the versions."""
    print(json.dumps({"versions": versions(engine)}), flush=True)
    for robot in robots:
        # Engines print lines of their own, some without an end.
        print("\n" + json.dumps({"robot": robot} | measure(engine, robot)), flush=True)


def collect(engine, robots):
    """Results of an engine by robot; a robot at which its process dies is left out and the next is tried."""
    left, results, known = list(robots), {}, {}
    while left:
        command = [sys.executable, __file__, "--run", engine, "--robots", *left]
        environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=LIMIT, env=environment, check=False
            )
            output, error, status = done.stdout, done.stderr, done.returncode
        except subprocess.TimeoutExpired as late:
            output, error, status = (late.stdout or b"").decode(), "", "time limit"
        lines = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
        for line in lines:
            if "robot" in line:
                results[line.pop("robot")] = line
            else:
                known = line["versions"]
        if not known:
            print(error[-1500:], file=sys.stderr)
            return None
        left = [robot for robot in left if robot not in results]
        if left:
            results[left.pop(0)] = {"failed": f"the process ended ({status})"}
    return {"versions": known, "robots": results}


def keep(engine, results):
    """Add an engine's results to those of this architecture."""
    kept = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    here = kept.setdefault(platform.machine(), {"engines": {}})
    earlier = here["engines"].get(engine, {"robots": {}})["robots"]
    here["engines"][engine] = results | {"robots": earlier | results["robots"]}
    here |= {"processor": processor(), "cores": os.cpu_count(), "date": time.strftime("%Y-%m-%d")}
    lines = json.dumps(kept, sort_keys=True).replace('}, "', '},\n"')
    RESULTS.write_text(lines + "\n", encoding="utf-8")


def main():
    """Measure and keep the results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--engines", nargs="*", default=ENGINES, choices=ENGINES)
    parser.add_argument("--robots", nargs="*", default=ROBOTS)
    parser.add_argument("--run", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run:
        run_engine(options.run, options.robots)
        return
    from describe import write_files

    for robot in options.robots:
        write_files(robot)
    for engine in options.engines:
        print(engine, flush=True)
        results = collect(engine, options.robots)
        if results is None:
            print(f"{engine} is not installed or does not start", flush=True)
        else:
            keep(engine, results)


if __name__ == "__main__":
    main()
