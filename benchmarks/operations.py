"""Operations of all models of the library: `python benchmarks/operations.py`, the table of docs/compact.md.

For every robot and model: the count with the library's numbers, friction on, the main output alone; the bar
that `tests/whole/test_bars.py` asserts; the count after a change of every number by 1 % that keeps what
the description declares (`tests/support/random_robots/varied.py`); and what others have published. Rigid
robots outside the library follow. `--markdown` writes the tables of the page.
"""

import argparse
import json
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).parent))

from timing import once, say

from nacelle.dynamics.models import INPUTS
from nacelle.report.published import published_counts
from support.library import NAMES, library_robot
from support.operation_bars import MODELS, OPERATION_LIMITS, count_operations
from support.random_robots.varied import varied_library_robot
from support.rigid_robots import RIGID


def library_row(case):
    """One robot and model: count, count after the change, bar, published counts."""
    robot, name, seed = case
    seconds, own = once(lambda: count_operations(library_robot(robot), name))
    changed = count_operations(varied_library_robot(robot, seed), name)
    say(f"{robot} {name}: {own.total}, {seconds:.0f} s")
    return {
        "robot": robot,
        "model": name,
        "count": own.total,
        "add": own.add,
        "mul": own.mul,
        "bar": OPERATION_LIMITS[robot, name],
        "varied": changed.total,
        "published": [
            (entry.total, entry.source)
            for source in INPUTS
            for entry in published_counts(robot, name, source)
        ],
    }


def rigid_row(case):
    """A rigid robot outside the library: counts of inverse dynamics with two seeds."""
    name, seed = case
    counts = [count_operations(RIGID[name].make(seed + k), "inverse_dynamics").total for k in range(2)]
    say(f"{name}: {counts}")
    return {"robot": name, "counts": counts, "bar": RIGID[name].operation_limit}


def library_lines(rows):
    """A Markdown line a robot: for each model the count, and after the change; then the published ones."""
    yield "| robot | inverse | forward | Jacobian | mass matrix | published |"
    yield "|---|---|---|---|---|---|"
    for robot in dict.fromkeys(row["robot"] for row in rows):
        own = {row["model"]: row for row in rows if row["robot"] == robot}
        cells = [f"{own[name]['count']} ({own[name]['varied']})" if name in own else "" for name in MODELS]
        theirs = [
            f"{name.removesuffix('_dynamics').replace('_', ' ')} {total}: {source}"
            for name in MODELS
            if name in own
            for total, source in own[name]["published"]
        ]
        yield f"| `{robot}` | {' | '.join(cells)} | {'; '.join(theirs) or '-'} |"


def rigid_lines(rows):
    """A Markdown line a robot outside the library."""
    yield "| robot | inverse, two seeds | at most |"
    yield "|---|---|---|"
    for row in rows:
        yield f"| {row['robot']} | {', '.join(map(str, row['counts']))} | {row['bar'] or '-'} |"


def plain_lines(rows):
    """A line a robot and model."""
    yield f"{'robot':16}{'model':18}{'count':>8}{'bar':>8}{'varied':>8}  published"
    for row in rows:
        theirs = ", ".join(f"{total} ({source})" for total, source in row["published"])
        over = " over" if row["count"] > row["bar"] else ""
        numbers = f"{row['count']:>8}{row['bar']:>8}{row['varied']:>8}"
        yield f"{row['robot']:16}{row['model']:18}{numbers}  {theirs}{over}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--robots", nargs="*", default=list(NAMES), help="of the library; all by default")
    parser.add_argument("--models", nargs="*", default=list(MODELS))
    parser.add_argument("--no-rigid", action="store_true", help="leave out the robots outside the library")
    parser.add_argument("--seed", type=int, default=1, help="of the changes by 1 %%")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--markdown", action="store_true", help="print the tables of docs/compact.md")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    cases = [(robot, name, options.seed) for robot in options.robots for name in options.models]
    outside = [] if options.no_rigid else [(name, options.seed) for name in RIGID]
    with ProcessPoolExecutor(options.jobs) as pool:
        rows, rigid = list(pool.map(library_row, cases)), list(pool.map(rigid_row, outside))
    if options.json:
        print(json.dumps({"library": rows, "rigid": rigid}, indent=2))
    elif options.markdown:
        print("\n".join([*library_lines(rows), "", *rigid_lines(rigid)]))
    else:
        print("\n".join([*plain_lines(rows), "", *rigid_lines(rigid)]))


if __name__ == "__main__":
    main()
