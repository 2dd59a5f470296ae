"""What counting rules out is said at once; what no arrangement gives, with the reason."""

from __future__ import annotations

import pytest

from nacelle.errors import NacelleError
from nacelle.sketch.letters import read_legs
from nacelle.sketch.search import Arrangement, arranged

SE3 = ("x", "y", "z", "rx", "ry", "rz")


def accept(arrangement: Arrangement) -> str:
    return ""


@pytest.mark.parametrize(
    ("legs", "motion", "words"),
    [
        ("3-UPS", SE3, "need 6 actuators, and 3-U[P]S has 3"),
        ("6-RRR", SE3, "leg [R]RR has 3 freedoms: on it the platform cannot have the 6 motions"),
        ("3-UPS", ("x", "y", "z"), "leaves the platform at least 6 motions, more than the 3 motions x, y, z"),
        ("6-URPS", SE3, "has 7 freedoms, more than a body has"),
        ("3-PPP", ("rx", "ry", "rz"), "the platform has 3 motions, but not those"),
        ("3-CR", ("x", "y", "z"), "the platform has 0 or 1 or 2 motions, not 3"),
        ("3-UPU", ("x", "y", "z"), "passes the check: no"),
    ],
)
def test_reasons(legs: str, motion: tuple[str, ...], words: str) -> None:
    with pytest.raises(NacelleError) as caught:
        arranged(read_legs(legs), motion, lambda arrangement: "no")
    assert words in str(caught.value)


def test_the_usual_arrangement_comes_first() -> None:
    """A planar 3-RRR has upright axes; legs of a hexapod are in pairs."""
    planar = arranged(read_legs("3-RRR"), ("x", "y", "rz"), accept)
    assert {axis for leg in planar.legs for axes in leg.axes for axis in axes} == {(0, 0, 1)}
    hexapod = arranged(read_legs("6-UPS"), SE3, accept)
    assert [place.mirrored for place in hexapod.places] == [True, False] * 3
    assert hexapod.motion.pure
