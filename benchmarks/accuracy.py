"""Accuracy of the minimised programs of the named models: `python benchmarks/accuracy.py --states 300`.

Inverse and forward dynamics, Jacobian, mass matrix and bias forces of every robot of the library, and of
robots with changed numbers, run minimised and compiled over states of the workspace, three in ten of them
near singularities. Their own equations and the equivalent tree are evaluated at 77 digits, which
mpmath confirms at 50 digits on some states. Errors are relative, counted in eps times the condition number of
the result; what is promised is 1000. `support.truth` says what the condition number is, `support.accuracy`
what is compared, `support.model_states` how states are drawn.
"""

import argparse
import json
import os
import sys
from pathlib import Path

os.environ.setdefault("NACELLE_THREADS", str(os.cpu_count() or 1))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).parent))

from timing import once, say

from support.accuracy import BOUND, ROWS, errors_of, summary
from support.truth import FUNCTIONS

COLUMNS = {
    "operations": "operations",
    "own: worst": "own",
    "program: worst": "program",
    "program: worst, strong pivots": "strong",
    "API: worst": "API",
    "exact y: worst": "exact y",
    "program: median": "median",
    "program: worst, relative": "relative",
    "largest condition": "condition",
    "program: worst by matrices": "matrices",
    "smallest pivot": "pivot",
    "weak pivots": "weak",
    "77 and 50 digits differ by": "digits",
}

MEANING = {
    "own": "the minimised program against its own equations at 77 digits, worst state",
    "program": "the same against the equivalent tree at 77 digits",
    "strong": "the same, states with weak pivots left out",
    "API": "what users get, the pivoted tree where pivots are weak, against the tree at 77 digits",
    "exact y": "the program where the passive coordinates y are rounded once from 77 digits",
    "median": "the program, median of the states",
    "relative": "the program's largest error, relative, not divided by eps times the condition number",
    "condition": "largest condition number: sensitivity of the result to one rounding of inputs and numbers",
    "matrices": "the program, counted in eps times the condition of Jacobian, legs (squared), mass matrix",
    "digits": "relative difference between both references at 77 digits and mpmath at 50",
}


def show(row):
    """One line of the table, when it is there: the whole takes minutes."""
    cells = [row.get(key, "") for key in COLUMNS]
    texts = [f"{cell:.3g}" if isinstance(cell, float) else str(cell) for cell in cells]
    print(f"{row['model']:44}" + "".join(f"{text:>11}" for text in texts), flush=True)


def overview(rows):
    """Robots by functions: the worst error of what users get."""
    print("\nWhat users get, worst error in eps times the condition number")
    print(f"{'':28}" + "".join(f"{name:>18}" for name in FUNCTIONS))
    cells = {}
    for row in rows:
        if "API: worst" in row:
            label = row["robot"] + (", changed" if row["changed"] else "")
            cells.setdefault(label, {})[row["function"]] = row["API: worst"]
    for label, worst in cells.items():
        texts = [f"{worst[name]:.2g}" if name in worst else "" for name in FUNCTIONS]
        print(f"{label:28}" + "".join(f"{text:>18}" for text in texts))


def chosen(options):
    """The rows that are requested."""
    numbers = {"library": (False,), "changed": (True,), "all": (False, True)}[options.numbers]
    rows = [row for row in ROWS if row.changed in numbers and row.name in options.functions]
    return [row for row in rows if not options.robots or row.robot in options.robots]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--states", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    names = sorted({row.robot for row in ROWS})
    parser.add_argument("--robots", nargs="+", metavar="ROBOT", choices=names, help="these robots alone")
    parser.add_argument("--functions", nargs="+", metavar="FUNCTION", choices=FUNCTIONS, default=FUNCTIONS)
    parser.add_argument("--numbers", choices=("library", "changed", "all"), default="library")
    options = parser.parse_args()
    rows = []
    if not options.json:
        print(f"{'':44}" + "".join(f"{name:>11}" for name in COLUMNS.values()))
    for row in chosen(options):
        seconds, errors = once(lambda row=row: errors_of(row, options.states, options.seed))
        rows.append(summary(row, errors))
        say(f"{row}: {seconds:.0f} s")
        if not options.json:
            show(rows[-1])
    if options.json:
        print(json.dumps(rows, indent=2))
        return
    overview(rows)
    print(f"\n{options.states} states each; errors in eps times the condition number, promised: {BOUND:.0f}")
    for name, text in MEANING.items():
        print(f"  {name:12}{text}")


if __name__ == "__main__":
    main()
