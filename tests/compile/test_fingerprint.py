"""Fingerprints: two functions share one only if they compute the same."""

from __future__ import annotations

import re
import types
from pathlib import Path
from typing import Any

import numpy as np

from nacelle.compile.packed import fingerprint, folder_hash, package_hash
from nacelle.dynamics.physics import Physics
from nacelle.kinematics.kinematic_model import actuator_positions
from support.library import library_robot

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


def test_globals_of_any_kind_count() -> None:
    fivebar, delta = library_robot("fivebar"), library_robot("delta")
    assert fingerprint(made("g(r, x)", g=actuator_positions, r=fivebar)) is not None
    assert fingerprint(made("g(r, x)", g=actuator_positions, r=fivebar)) != fingerprint(
        made("g(r, x)", g=actuator_positions, r=delta)
    )
    with_friction, without = (fingerprint(made("p", p=Physics(friction=on))) for on in (True, False))
    assert with_friction != without
    # The same name for another function, or another array beyond what `repr` prints.
    assert fingerprint(made("g(x)", g=actuator_positions)) != fingerprint(made("g(x)", g=fingerprint))
    long = np.zeros(2000)
    assert fingerprint(made("a[0]", a=long)) != fingerprint(made("a[0]", a=np.arange(2000.0)))
    first, second = made("x"), made("x")
    first.__defaults__, second.__defaults__ = (long,), (np.arange(2000.0),)
    assert fingerprint(first) != fingerprint(second)


def test_classes_and_packages_of_users_have_none() -> None:
    own = type("Law", (), {"__module__": "elsewhere"})
    assert fingerprint(made("c(x)", c=own)) is None
    assert fingerprint(made("c(x)", c=own())) is None
    lab = types.ModuleType("nacelle_lab")
    assert fingerprint(made("m.f(x)", m=lab)) is None


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
