"""Accuracy of the minimised programs of the named models: `python benchmarks/accuracy.py --states 100000`.

Each model of the published counts, its numbers changed, runs minimised and compiled over states of the
workspace, beside an evaluation at 77 digits of its own equations and of the equivalent tree, which mpmath
confirms at 50 digits on some states. Errors are relative, counted in eps times the condition number; what is
promised is 1000. `support.accuracy` says what is taken for the condition number, and how states are drawn:
poses ever further from the reference while the robot follows, within its limits, with the condition of the
Jacobian below 1000.
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

COLUMNS = {
    "operations": "operations",
    "own: worst": "own worst",
    "tree: worst": "tree worst",
    "tree: worst, strong pivots": "strong",
    "door: worst": "door worst",
    "tree: median": "median",
    "tree: worst, relative": "relative",
    "largest condition": "condition",
    "smallest pivot": "pivot",
    "weak pivots": "weak",
    "over 1000 eps times the Jacobian's condition": "over",
    "77 and 50 digits differ by": "digits",
}

MEANING = {
    "own": "the minimised program against its own equations at 77 digits",
    "tree": "the same against the equivalent tree at 77 digits",
    "strong": "the same, states with weak pivots left out",
    "door": "what users get, the pivoted tree where pivots are weak, against the tree at 77 digits",
    "over": "states where own is above 1000 eps times the condition of the Jacobian alone",
    "digits": "relative difference between both references at 77 digits and mpmath at 50",
}


def show(told):
    """One line of the table, when it is there: the whole takes minutes."""
    cells = [told.get(key, "") for key in COLUMNS]
    texts = [f"{cell:.3g}" if isinstance(cell, float) else str(cell) for cell in cells]
    print(f"{told['model']:42}" + "".join(f"{text:>12}" for text in texts), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--states", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rows = []
    if not options.json:
        print(f"{'':42}" + "".join(f"{name:>12}" for name in COLUMNS.values()))
    for row in ROWS:
        seconds, errors = once(lambda row=row: errors_of(row, options.states, options.seed))
        rows.append(summary(row, errors))
        say(f"{row}: {seconds:.0f} s")
        if not options.json:
            show(rows[-1])
    if options.json:
        print(json.dumps(rows, indent=2))
        return
    print(f"\n{options.states} states each; errors in eps times the condition number, promised: {BOUND:.0f}")
    for name, text in MEANING.items():
        print(f"  {name:12}{text}")


if __name__ == "__main__":
    main()
