"""Which robots the element form covers, and why not the others."""

from __future__ import annotations

import pytest

from nacelle.dynamics.formulations.elements import projection as elements
from nacelle.kinematics.elements.reading import element_legs
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from support.element_robots import COVERED, cased
from support.leg_robots import CASES
from support.uncompiled import ALL, any_robot

# The others, and a word of the reason.
REFUSED = {
    "dymo": "(URU) is not made of kinematic elements",
    "dymo/orientational": "(URU)",
    "dymo/planar": "(URU)",
    "dymo/mixed": "(URU)",
    "c5-slides": "(PSPP)",
    "shared": "is not made of kinematic elements",
}


def test_what_is_covered() -> None:
    assert set(COVERED) | set(REFUSED) == set(ALL)
    for name, made_of in COVERED.items():
        mechanism = mechanism_of(any_robot(name))
        assert elements.reason_not(mechanism) == "", name
        words: dict[str, int] = {}
        for leg in element_legs(mechanism):
            word = "".join(element.letter for element in leg.elements)
            words[word] = words.get(word, 0) + 1
        assert ", ".join(f"{count} {word}" for word, count in words.items()) == made_of, name
    for name, reason in REFUSED.items():
        assert reason in elements.reason_not(mechanism_of(any_robot(name))), name


def test_reasons_are_sentences() -> None:
    for name in CASES:
        reason = elements.reason_not(mechanism_of(CASES[name](3).robot))
        assert bool(reason) != cased(name), (name, reason)
        assert reason.count("\n") == 0
        assert not reason.endswith(".")


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
