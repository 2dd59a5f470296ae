"""Run the benchmarks one after the other and write docs/benchmarks.md of their output: `make bench`.

    python benchmarks/collect.py [NAME ...]      run these (all of them if none is named), keep their results
    python benchmarks/collect.py --page          write the page again from the results that are kept

Each benchmark runs in a process of its own. What it prints on standard output is kept in
benchmarks/results/NAME.json with its command, its time, the date, the processor, the load of the machine and
the versions; the page is made of these files alone, and names the benchmarks that have no result.
"""

import argparse
import datetime
import importlib.metadata
import json
import os
import platform
import shlex
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from timing import processor

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
PAGE = ROOT / "docs" / "benchmarks.md"

# Title, arguments, and what to read in its output.
BENCHMARKS = {
    "startup": ("What one waits for first", "", "Time until a command answers, programs in the cache."),
    "calls": ("Single calls", "", "One state a call, as a control loop in Python makes them; µs."),
    "program": (
        "The compiler",
        "",
        "PaLiDA, a hexapod and its Jacobian: nacelle's native code, gcc, CasADi and NumPy.",
    ),
    "emitted_code": (
        "Code for other processors",
        "",
        "Instructions that LLVM writes for three families of processors; compiled and counted, not run.",
    ),
    "functions": (
        "Elementary functions",
        "",
        "Functions of native code on vectors, and the C library, a value at a time.",
    ),
    "kinematics": (
        "Kinematics",
        "",
        "Inverse and forward kinematics, and Newton's method on Pinocchio's tree.",
    ),
    "dynamics": (
        "Dynamics",
        "",
        "Inverse and forward dynamics, and Pinocchio, MuJoCo and CasADi; what each contains is printed.",
    ),
    "simulation": (
        "Simulation",
        "",
        "Steps a second, and what loops and energy lose, compared with MuJoCo and Pinocchio.",
    ),
    "studies": (
        "Studies",
        "",
        "Variants times poses a second, compared with Pinocchio's models in a loop, and on a Dask cluster.",
    ),
    "regressor": (
        "Regressors",
        "",
        "The linear form over many states, and Pinocchio's regressor of the tree with projections.",
    ),
    "control_laws": ("Control laws", "", "Figures of the page on control laws."),
    "controller": ("Exported controllers", "", "Operations, instructions and nanoseconds of a step in C."),
    "embedded": (
        "Microcontrollers",
        "",
        "Flash, RAM, stack and instructions on a Cortex-M4F and an M7 in qemu; errors of float.",
    ),
    "elastic": ("Elastodynamics", "--exudyn", "The motion of [BK2013] section V, compared with Exudyn."),
    "stiff": ("Stiff links and friction", "", "Implicit steps compared with explicit ones."),
    "elastic_map": ("Maps of natural frequencies", "", "Frequencies over a grid of poses."),
    "elastic_frequencies": ("Natural frequencies", "", "Compared with [BK2013] and Exudyn."),
    "calibration": (
        "Calibration",
        "",
        "A hexapod by SciPy too, and a linear Delta by Klipper's own fit (`--klipper FOLDER`).",
    ),
    "calibrated_machines": (
        "Calibrated machines",
        "--machines 1000",
        "Four robots within their tolerances, with drives that give: errors, intervals, what nothing shows.",
    ),
    "identification": (
        "Intervals of estimates",
        "",
        "How often 95 % intervals hold the truth, in closed loop.",
    ),
    "accuracy": ("Accuracy", "", "Errors of the minimised programs in units of their sensitivity."),
    "operations": ("Operations", "", "Counts of all models of the library."),
}


def versions():
    """Versions of Python and of the packages that are measured."""
    found = {"Python": platform.python_version()}
    for name in ("nacelle", "numpy", "llvmlite", "pin", "mujoco", "casadi", "exudyn"):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def run(name, arguments, limit):
    """Run one benchmark and keep its result; whether it succeeded."""
    command = ["python", f"benchmarks/{name}.py", *arguments]
    print(f"$ {shlex.join(command)}", flush=True)
    start, load = time.perf_counter(), os.getloadavg()[0]
    try:
        done = subprocess.run(
            [sys.executable, *command[1:]],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
            # What it has printed is kept, even if it is stopped at the limit.
            env=os.environ | {"PYTHONUNBUFFERED": "1"},
            timeout=limit,
            check=False,
        )
        output, status = done.stdout, done.returncode
    except subprocess.TimeoutExpired as late:
        output, status = (late.stdout or b"").decode("utf-8", "replace"), "time limit"
    print(output, flush=True)
    record = {
        "command": shlex.join(command),
        "status": status,
        "output": output,
        "seconds": round(time.perf_counter() - start, 1),
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d"),
        "processor": processor(),
        "cores": os.cpu_count(),
        "load": round(load, 1),
        "versions": versions(),
    }
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / f"{name}.json").write_text(json.dumps(record, indent=1), encoding="utf-8")
    return status == 0


def section(name, record):
    """One benchmark on the page: its command, its output, and where it ran."""
    title, _, about = BENCHMARKS[name]
    packages = ", ".join(f"{package} {version}" for package, version in record["versions"].items())
    where = (
        f"{record['date']}, {record['processor']}, {record['cores']} cores, "
        f"load {record['load']} at the start; {record['seconds']:.0f} s; {packages}."
    )
    ended = (
        ""
        if record["status"] == 0
        else f" It ended early ({record['status']}): what it had printed is below."
    )
    output = record["output"].strip("\n")
    # Markdown of a benchmark is a table already.
    shown = output if output.startswith("|") else f"```text\n{output}\n```"
    return f"## {title}\n\n{about}{ended}\n\n    {record['command']}\n\n{shown}\n\n{where}\n"


def page(records):
    """The whole page from results by name."""
    missing = [name for name in BENCHMARKS if name not in records]
    head = (
        "# Benchmarks\n\n"
        "Written by `make bench` from what `benchmarks/` prints, kept in `benchmarks/results/`. "
        '`make bench ONLY="startup calls"` runs some of them; `python benchmarks/collect.py --page` writes '
        "the page again. Nothing here is asserted: tests assert counts and errors, never times.\n\n"
        "Times are the shortest of several; the load of the machine is given with each table. Under load "
        "compare only what runs in turn in one process (`program.py`, `dynamics.py`, `regressor.py`). Other "
        "times are upper bounds then, and a peer that is timed in one long run looks slower than it is, so "
        "such results are left out. What a peer's number contains is printed with it.\n"
    )
    if missing:
        head += "\nNot run here: " + ", ".join(f"`benchmarks/{name}.py`" for name in missing) + ".\n"
    return "\n".join([head, *(section(name, records[name]) for name in BENCHMARKS if name in records)])


def kept():
    """Results by name, of the files that are there."""
    return {
        name: json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
        for name in BENCHMARKS
        if (RESULTS / f"{name}.json").exists()
    }


def main():
    """Run what is named, then write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", choices=[*BENCHMARKS, []], metavar="NAME")
    parser.add_argument("--page", action="store_true", help="write the page from the results that are kept")
    parser.add_argument("--arguments", default=None, help="arguments of the benchmark instead of its own")
    parser.add_argument("--limit", type=float, default=3600.0, help="seconds for one benchmark")
    options = parser.parse_args()
    good = True
    for name in [] if options.page else options.names or list(BENCHMARKS):
        own = BENCHMARKS[name][1] if options.arguments is None else options.arguments
        good = run(name, shlex.split(own), options.limit) and good
        PAGE.write_text(page(kept()), encoding="utf-8")
    if options.page:
        PAGE.write_text(page(kept()), encoding="utf-8")
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
