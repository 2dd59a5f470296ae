"""How often 95 % intervals hold the truth, in closed loop: `python benchmarks/identification.py`.

For each robot 200 runs in closed loop with seeds of their own (`tests/support/closed_loop.py`): the robot
that moves differs from its model by up to 10 % in every parameter, its encoders count, its currents have
noise. From every run the full set of base parameters is estimated by instrumental variables (the default)
and by ordinary least squares; the least, the mean and the largest part of the runs whose interval holds the
true parameter are printed, and the largest bias in standard deviations of one run. `--noise` makes encoders
worse, which least squares does not stand. `--robots palida-struts` is PaLiDA with six different struts;
`--list N` prints the N parameters that intervals cover least often.

`--cost` prints instead what `nacelle identify` of 4000 samples of a five-bar takes, in seconds of one
processor, each part in a new process with programs from the cache, the least of five runs: the command with
imports, printing and writing; estimation alone (reading, base parameters, filters, regressors, estimates,
intervals); and what checks of the log and tests for faults add to it.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).parent))

from timing import once, say

import nacelle
from nacelle.identification.experiment import perturb_parameters, simulate_experiment
from support.closed_loop import DELTA, FIVEBAR, METHODS, PALIDA, PALIDA_STRUTS, coverage

LOOPS = {"fivebar": FIVEBAR, "delta": DELTA, "palida": PALIDA, "palida-struts": PALIDA_STRUTS}
USUAL = ["fivebar", "delta", "palida"]


def rows_of(name, loop, runs):
    """A row a method."""
    say(f"{name}: {runs} runs ...")
    seconds, found = once(lambda: coverage(loop, runs))
    for method in METHODS:
        part, bias = found.part[method], np.abs(found.bias[method])
        yield {
            "robot": name,
            "method": method,
            "parameters": len(part),
            "runs": runs,
            "least": float(np.min(part)),
            "mean": float(np.mean(part)),
            "most": float(np.max(part)),
            "outside 90-99 %": int(np.sum((part < 0.9) | (part > 0.99))),
            "bias": float(np.max(bias)),
            "seconds": seconds,
            "covered": dict(sorted(zip(found.names, part.tolist(), strict=True), key=lambda pair: pair[1])),
        }


# Estimation alone, or with checks and tests, after all imports; prints seconds of the processor.
_PARTS = """
import sys, time
import scipy.linalg, scipy.special
import nacelle
from nacelle.identification.identify import identify
from nacelle.identification.data.read import read_measurement
begin, checked = time.process_time(), sys.argv[2] == "checked"
robot = nacelle.load("fivebar")
result = identify(robot, read_measurement(robot, sys.argv[1]), allow=() if checked else ("all",))
result.fit, result.estimator.std_, checked and result.suspects
print(time.process_time() - begin)
"""


def costs():
    """Seconds of one processor of the command, of estimation, and of checks and tests."""
    robot = nacelle.load("fivebar")
    search = nacelle.identification.MotionSearch(starts=2, iterations=50)
    motion = nacelle.identification.excite(robot, search=search).trajectory
    with tempfile.TemporaryDirectory() as folder:
        log, out = Path(folder) / "log.csv", Path(folder) / "identified.yaml"
        simulate_experiment(robot, motion, true=perturb_parameters(robot, 10.0), periods=4).to_csv(log)
        rows = {"command": [], "estimation": [], "checked": []}
        for _ in range(6):
            out.unlink(missing_ok=True)
            before = os.times()
            command = ["-m", "nacelle", "identify", "fivebar", str(log), "--out", str(out)]
            subprocess.run([sys.executable, *command], check=True, capture_output=True)
            after = os.times()
            user, system = after.children_user - before.children_user, after.children_system
            rows["command"].append(user + system - before.children_system)
            for part in ("estimation", "checked"):
                command = [sys.executable, "-c", _PARTS, str(log), part]
                answer = subprocess.run(command, check=True, capture_output=True, text=True)
                rows[part].append(float(answer.stdout))
    # The first run fills the cache.
    return {part: min(seconds[1:]) for part, seconds in rows.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--robots", nargs="+", choices=list(LOOPS), default=USUAL)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--noise", type=float, default=0.5, help="of the encoders, in counts")
    parser.add_argument(
        "--list", type=int, default=0, help="number of parameters to list, those covered least"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--cost", action="store_true", help="seconds of the command and of its parts")
    options = parser.parse_args()
    if options.cost:
        cost = costs()
        checks = cost["checked"] - cost["estimation"]
        print(f"nacelle identify, 4000 samples of a five-bar: {cost['command']:.2f} s of one processor")
        print(f"estimation {cost['estimation']:.2f} s, checks and tests for faults {checks:.2f} s more")
        return
    loops = {name: replace(LOOPS[name], noise=options.noise) for name in options.robots}
    rows = [row for name, loop in loops.items() for row in rows_of(name, loop, options.runs)]
    if options.json:
        print(json.dumps(rows, indent=2))
        return
    print(
        f"{'robot':14}{'method':>8}{'parameters':>12}{'least':>8}{'mean':>8}{'most':>8}{'outside':>9}{'bias':>7}"
    )
    for row in rows:
        print(
            f"{row['robot']:14}{row['method']:>8}{row['parameters']:>12}{row['least']:8.3f}{row['mean']:8.3f}"
            f"{row['most']:8.3f}{row['outside 90-99 %']:>9}{row['bias']:7.2f}"
        )
        for parameter, part in list(row["covered"].items())[: options.list]:
            print(f"{'':14}{part:8.3f}  {parameter}")


if __name__ == "__main__":
    main()
