"""What `make coverage` found: lines and branches, of all parts that were run, and the files that lack most.

PYTHONPATH=tests python -m support.coverage_report .results/coverage-all-*of4.json

A line or branch counts as reached if one of the parts reaches it. Commands that tests start as processes of
their own are not seen.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

SHOWN = 25
"""How many files are listed."""


class Reached:
    """What was reached of one file, of lines or of branches."""

    def __init__(self) -> None:
        self.reached: set[Any] = set()
        self.known: set[Any] = set()

    def add(self, executed: list[Any], missing: list[Any]) -> None:
        """Add what one part found; a branch is a pair of lines."""
        hits = {tuple(x) if isinstance(x, list) else x for x in executed}
        self.reached |= hits
        self.known |= hits | {tuple(x) if isinstance(x, list) else x for x in missing}


def read_parts(files: list[Path]) -> tuple[dict[str, Reached], dict[str, Reached]]:
    """Lines and branches of every file of the package, of all parts together."""
    lines: dict[str, Reached] = defaultdict(Reached)
    branches: dict[str, Reached] = defaultdict(Reached)
    for file in files:
        for name, found in json.loads(file.read_text(encoding="utf-8"))["files"].items():
            lines[name].add(found["executed_lines"], found["missing_lines"])
            branches[name].add(found["executed_branches"], found["missing_branches"])
    return lines, branches


def share(found: dict[str, Reached]) -> float:
    """Per cent of what is there."""
    known = sum(len(one.known) for one in found.values())
    return 100.0 * sum(len(one.reached) for one in found.values()) / max(known, 1)


def main(arguments: list[str]) -> None:
    """Print the two shares, and the files with most lines that no test reaches."""
    lines, branches = read_parts([Path(name) for name in arguments])
    missing = sorted(lines, key=lambda name: len(lines[name].reached) - len(lines[name].known))
    for name in missing[:SHOWN]:
        left = sorted(lines[name].known - lines[name].reached)
        print(f"{len(left):5d} of {len(lines[name].known):5d}  {name}: {', '.join(map(str, left[:12]))}")
    print(f"lines {share(lines):.1f} %, branches {share(branches):.1f} %, of {len(arguments)} parts")


if __name__ == "__main__":
    main(sys.argv[1:])
