"""Fingerprints: two functions share one only if they compute the same."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from nacelle.compile.packed import fingerprint, folder_hash, package_hash
from nacelle.kinematics.kinematic_model import actuator_positions

SCALE = 2.0


def made(body: str, **names: Any) -> Any:
    """A function f(x) of another module, as a user writes it."""
    scope: dict[str, Any] = {"__name__": "elsewhere", **names}
    exec(f"def f(x):\n    return {body}", scope)
    return scope["f"]


def test_code_and_the_numbers_that_it_uses_count() -> None:
    assert fingerprint(made("a * x", a=2.0)) == fingerprint(made("a * x", a=2.0))
    assert fingerprint(made("a * x", a=2.0)) != fingerprint(made("a * x", a=3.0))
    assert fingerprint(made("a * x", a=2.0)) != fingerprint(made("a + x", a=2.0))


def test_what_cannot_be_seen_has_none() -> None:
    def closed(x: float) -> float:
        return seen * x

    seen = SCALE
    assert fingerprint(closed) is None


def test_functions_of_the_package_are_covered_by_its_source() -> None:
    assert fingerprint(actuator_positions) == "nacelle.kinematics.kinematic_model.actuator_positions"
    assert re.fullmatch("[0-9a-f]{64}", package_hash())


def test_a_changed_source_has_another_hash(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    first = folder_hash(tmp_path)
    (tmp_path / "a.py").write_text("x = 2\n")
    second = folder_hash(tmp_path)
    (tmp_path / "a.py").rename(tmp_path / "b.py")
    assert len({first, second, folder_hash(tmp_path)}) == 3
