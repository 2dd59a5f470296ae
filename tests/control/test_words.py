"""Every part of every controller is explained."""

from __future__ import annotations

import pytest

from nacelle.control.named import KINDS
from support.library import library_robot


@pytest.mark.parametrize("name", KINDS)
def test_every_part_has_words(name: str) -> None:
    robot, kind = library_robot("fivebar"), KINDS[name]()
    words = kind.words()
    for what, fields in (("memory", kind.memory(robot)), ("gains", kind.gains(robot))):
        assert not [part for part in fields.names if not words.get(f"{what}.{part}")]
