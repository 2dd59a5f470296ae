"""The nacelle's mass is split among the legs."""

from __future__ import annotations

import pytest

from nacelle.dynamics.formulations.elements.reading import element_legs
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from support.uncompiled import any_robot


@pytest.mark.parametrize(
    ("name", "parts"),
    [("gough-stewart", 6), ("h4", 8), ("quattro", 12), ("delta", 3), ("fivebar", 2), ("delta4", 4)],
)
def test_nacelle_is_split_evenly(name: str, parts: int) -> None:
    """[OAM] figure 2: six elements for the Gough-Stewart platform, eight for the H4."""
    legs = element_legs(mechanism_of(any_robot(name)))
    shares: dict[int, list[float]] = {}
    for leg in legs:
        for part in leg.parts:
            shares.setdefault(part.element.body, []).append(part.element.share)
    assert sum(len(listed) for listed in shares.values()) == parts
    assert all(abs(sum(listed) - 1.0) < 1e-15 for listed in shares.values())
    assert set(shares) == set(any_robot(name).nacelle.bodies)
