"""Which tests run when: three tiers by rule, in parts, and what a run found is kept.

    pytest --tier test                         # make test: minutes
    pytest --tier all --part 2/4 --resume      # make test-all PART=2/4: everything that asserts
    pytest --tier soak                         # make soak: statistics and long searches

A test marked `soak` runs in `soak` alone, one marked `slow` not in `test`. Of a test with many cases `test`
runs those of quick robots (`QUICK`), of these the few that `spread` picks, of one marked `costly` the first;
all others run in `all`, of one marked `thinned` about half (`thinned(4)`: a quarter), and the rest in
`soak`. Property tests draw fewer examples in `test`. pytest without `--tier` runs what it is asked for.

A part holds every n-th test file, in the order of their names, so that fixtures of a file are made once. Each
run writes a file to `.results/`: what ran, where, on which commit, and how each test ended. With `--resume`
tests that passed on the same commit, with a tree without changes, are not run again.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

import pytest

from support.library import NAMES

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / ".results"
TIERS = ("test", "all", "soak")
QUICK = ("fivebar", "delta", "palida", "quattro")
"""Robots of `make test`: closed forms, parallelograms, a hexapod, an articulated platform."""
FEW = 4
"""How many cases of one test `make test` runs."""
_GOLDEN_RATIO = 0.6180339887498949
_OTHERS = frozenset(NAMES) - frozenset(QUICK)
_T = TypeVar("_T")


def spread(cases: Sequence[_T], few: int = FEW) -> list[_T]:
    """A few of many, from the first to the last."""
    if len(cases) <= few or few == 1:
        return list(cases[:few])
    return [cases[round(k * (len(cases) - 1) / (few - 1))] for k in range(few)]


def _is_of_another_robot(item: pytest.Item) -> bool:
    given = getattr(item, "callspec", None)
    values = given.params.values() if given is not None else ()
    return any(isinstance(value, str) and value in _OTHERS for value in values)


def mark_cases(items: Sequence[pytest.Item]) -> None:
    """Mark as slow the cases that `make test` leaves out, and as soak those that `make test-all` does."""
    cases: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if "slow" in item.keywords or "soak" in item.keywords:
            continue
        if _is_of_another_robot(item):
            item.add_marker(pytest.mark.slow)
        else:
            cases[item.nodeid.partition("[")[0]].append(item)
    for group in cases.values():
        chosen = {id(item) for item in spread(group, 1 if "costly" in group[0].keywords else FEW)}
        for item in group:
            if id(item) not in chosen:
                item.add_marker(pytest.mark.slow)
    late: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if "thinned" in item.keywords and "slow" in item.keywords and "soak" not in item.keywords:
            late[item.nodeid.partition("[")[0]].append(item)
    for group in late.values():
        mark = group[0].get_closest_marker("thinned")
        step = mark.args[0] if mark is not None and mark.args else 2
        for k, item in enumerate(group):
            # Not by remainders: of two options in turn every second case would be one of them alone.
            if k * _GOLDEN_RATIO % 1.0 >= 1.0 / step:
                item.add_marker(pytest.mark.soak)


def is_in(tier: str, item: pytest.Item) -> bool:
    """Whether a test belongs to a tier; what needs packages of the system has a target of its own."""
    if "foreign" in item.keywords:
        return False
    if tier == "soak" or "soak" in item.keywords:
        return tier == "soak" and "soak" in item.keywords
    return tier == "all" or "slow" not in item.keywords


def in_part(part: str, items: Sequence[pytest.Item]) -> set[str]:
    """The files of part k of n, "k/n".

    Raises:
        pytest.UsageError: if there is no such part.
    """
    k, _, n = part.partition("/")
    if not (k.isdigit() and n.isdigit() and 1 <= int(k) <= int(n)):
        raise pytest.UsageError(f"--part {part}: there is no such part; 2/4 is the second of four")
    files = sorted({str(item.path) for item in items})
    return set(files[int(k) - 1 :: int(n)])


# ---- what a run found


def describe_run(tier: str, part: str) -> dict[str, Any]:
    """Where and on which commit tests run."""

    def git(*arguments: str) -> str:
        found = subprocess.run(
            ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False, timeout=60
        )
        return found.stdout.strip()

    return {
        "tier": tier,
        "part": part,
        "commit": git("rev-parse", "--short=8", "HEAD"),
        "changed": bool(git("status", "--porcelain")),
        "machine": platform.machine(),
        "python": platform.python_version(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "started": time.strftime("%Y-%m-%d %H:%M"),
    }


class Recorder:
    """Writes what a run finds, a line a test as soon as it has ended."""

    def __init__(self, tier: str, part: str, *, resume: bool) -> None:
        self.run = describe_run(tier, part)
        self.passed = sorted(passed_before(self.run)) if resume else []
        self.start = time.perf_counter()
        RESULTS.mkdir(exist_ok=True)
        file_name = f"{tier}-{part.replace('/', 'of')}-{self.run['machine']}-{self.run['python']}"
        self.file = RESULTS / f"{file_name}-{time.strftime('%Y%m%d-%H%M%S')}.jsonl"
        self._write(self.run)

    def _write(self, line: dict[str, Any]) -> None:
        with self.file.open("a", encoding="utf-8") as out:
            out.write(json.dumps(line) + "\n")

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """A worker starts: tell it what is left out."""
        node.workerinput["passed"] = self.passed

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """One of the three phases of a test has ended."""
        if report.when == "call" or report.outcome != "passed":
            line = {"test": report.nodeid, "outcome": report.outcome, "seconds": round(report.duration, 3)}
            if report.skipped:
                line["reason"] = str(report.longrepr[2] if isinstance(report.longrepr, tuple) else "")
            self._write(line)

    def pytest_sessionfinish(self, exitstatus: int) -> None:
        """The run has ended."""
        self._write({"exit": int(exitstatus), "seconds": round(time.perf_counter() - self.start, 1)})


def read_run(file: Path) -> tuple[dict[str, Any], list[dict[str, Any]], dict[str, Any]]:
    """A file that `Recorder` wrote: the run, its tests, and its end (empty if it has not ended)."""
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]
    tests = [line for line in lines[1:] if "test" in line]
    return lines[0], tests, lines[-1] if "exit" in lines[-1] else {}


def passed_before(run: dict[str, Any]) -> set[str]:
    """Tests that have passed on this commit, on this machine, without changes in the tree."""
    same = ("commit", "changed", "machine", "python")
    passed: set[str] = set()
    for file in RESULTS.glob("*.jsonl"):
        other, tests, _ = read_run(file)
        if not run["changed"] and all(other[key] == run[key] for key in same):
            passed |= {test["test"] for test in tests if test["outcome"] == "passed"}
    return passed
