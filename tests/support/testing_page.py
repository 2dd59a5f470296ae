"""docs/testing.md: what ran where, written from what runs of the tiers have left in `.results/`.

    make testing-page

Each row is one tier on one architecture and one Python, on the newest commit that it ran on; the parts of a
run are put together. Rows of architectures and Pythons that have no results here are kept as they are.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from support.tiers import RESULTS, ROOT, TIERS, read_run

PAGE = ROOT / "docs/testing.md"
START, END = "<!-- runs: make testing-page -->", "<!-- end of runs -->"
HEAD = ["| tier | machine | Python | commit | parts | passed | failed | skipped | minutes | date |"]
HEAD.append("|" + "---|" * 10)
_TABLE_MARKS = {"test": "make test", "all": "make test-all", "soak": "make soak"}


def rows_of(files: Iterable[Path]) -> tuple[dict[tuple[str, str, str], str], set[str]]:
    """Rows by tier, machine and Python, and the reasons of what was skipped."""
    runs: dict[tuple[str, str, str], list[Any]] = defaultdict(list)
    for file in sorted(files, key=lambda file: file.name):
        run, tests, end = read_run(file)
        if tests:
            key = (run["tier"], run["machine"], ".".join(run["python"].split(".")[:2]))
            runs[key].append((run, tests, end))
    rows: dict[tuple[str, str, str], str] = {}
    skipped: set[str] = set()
    for key, entries in runs.items():
        newest = max(entries, key=lambda found: found[0]["started"])[0]
        same = [found for found in entries if found[0]["commit"] == newest["commit"]]
        outcomes = {test["test"]: test for _, tests, _ in same for test in tests}
        parts = sorted({run["part"] for run, _, _ in same})
        counts = Counter(test["outcome"] for test in outcomes.values())
        skipped.update(
            {str(test.get("reason")) for test in outcomes.values() if test["outcome"] == "skipped"}
        )
        minutes = sum(end.get("seconds", 0.0) for _, _, end in same) / 60.0
        commit = newest["commit"] + (" and changes" if any(run["changed"] for run, _, _ in same) else "")
        what = [f"`{_TABLE_MARKS[key[0]]}`", *key[1:], commit, " ".join(parts)]
        what += [str(counts[outcome]) for outcome in ("passed", "failed", "skipped")]
        rows[key] = "| " + " | ".join([*what, f"{minutes:.0f}", newest["started"][:10]]) + " |"
    return rows, skipped


def write_page(page: str, rows: dict[tuple[str, str, str], str], skipped: Iterable[str]) -> str:
    """The page with its table written again."""
    before, _, rest = page.partition(START)
    table, _, after = rest.partition(END)
    for line in table.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        tier = next((tier for tier, name in _TABLE_MARKS.items() if f"`{name}`" == cells[0]), "")
        if tier:
            rows.setdefault((tier, cells[1], cells[2]), line)
    table_rows = [rows[key] for key in sorted(rows, key=lambda key: (TIERS.index(key[0]), *key[1:]))]
    reasons = [f"- {reason.removeprefix('Skipped: ')}" for reason in sorted(skipped)]
    lines = [
        START,
        "",
        *HEAD,
        *table_rows,
        "",
        *(["Skipped there, since", "", *reasons, ""] if reasons else []),
        END,
    ]
    return before + "\n".join(lines) + after


if __name__ == "__main__":
    found, reasons = rows_of(RESULTS.glob("*.jsonl"))
    PAGE.write_text(write_page(PAGE.read_text(encoding="utf-8"), found, reasons), encoding="utf-8")
