"""Robots outside the library against Pinocchio and MuJoCo: what the tree says of them is right."""

from __future__ import annotations

import pytest

from nacelle.verify import verify
from support.rigid_robots import RIGID
from support.stress_robots import STRESS

MAKERS = {name: counted.make for name, counted in RIGID.items()} | STRESS
# Drawing states takes seconds where legs have no closed form.
QUICK = (
    "redundant point on three legs",
    "drives, springs and rotors at closures",
    "planar-spherical joints",
    "sprung five-bar",
    "point on sliders",
    "one motion",
)


@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in MAKERS]
)
def test_other_engines_agree(name: str) -> None:
    report = verify(MAKERS[name](1), states=2, seed=1)
    assert report.ok, report.text()
