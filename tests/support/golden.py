"""Golden files: what pages and commands say, kept as text that a person reads in the diff.

`make golden` writes them again. Words must be the same; numbers may differ by rounding in their last digits,
and those below 1e-9, which are rounding themselves, by anything.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "golden"
_NUMBER = re.compile(r"[-−]?(?<![\w.])\d+(?:\.\d+)?(?:e[-+]?\d+)?(?![\w.])")


def assert_golden(name: str, text: str) -> None:
    """Demand that a text is that of a golden file, or write it (NACELLE_GOLDEN=write)."""
    file = FOLDER / name
    text = "\n".join(line.rstrip() for line in text.splitlines()) + "\n"
    if os.environ.get("NACELLE_GOLDEN") == "write":
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return
    assert file.is_file(), f"tests/golden/{name} is missing: make golden"
    kept = file.read_text(encoding="utf-8")
    if text == kept:
        return
    for number, (now, before) in enumerate(zip(text.splitlines(), kept.splitlines(), strict=False), 1):
        assert _normalise_text(now) == _normalise_text(before), (
            f"{name}, line {number}; make golden, and read the diff"
        )
        for a, b in zip(_numbers(now), _numbers(before), strict=True):
            small = max(abs(a), abs(b)) < 1e-9
            assert small or abs(a - b) <= 2e-4 * max(abs(a), abs(b)), f"{name}, line {number}: {a} was {b}"
    assert len(text.splitlines()) == len(kept.splitlines()), (
        f"{name} has other lines than tests/golden/{name}"
    )


def _normalise_text(line: str) -> list[str]:
    """What is between numbers; tables are as wide as their numbers."""
    return _NUMBER.sub("#", line).replace("─", "").split()


def _numbers(line: str) -> list[float]:
    return [float(number.replace("−", "-")) for number in _NUMBER.findall(line)]
