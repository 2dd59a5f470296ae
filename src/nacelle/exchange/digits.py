"""How many digits the numbers of a file have: the last one of its lengths and of its angles.

A writer rounds all its numbers alike, to a number of decimals or of significant digits. Short numbers
(0.05, 90) may be exact; the longer half of the others shows what was rounded, and the largest unit of a last
digit among them is that of the file. Numbers with all digits of double precision have none that counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import numpy as np

from nacelle.exchange.xml import Element

_NUMBER = re.compile(r"[-+]?(\d*)\.?(\d*)(?:[eE]([-+]?\d+))?")
# Numbers with fewer digits may be exact; fewer numbers tell nothing.
_ROUNDED, _FEWEST = 4, 3
# Elements whose numbers are of no joint.
_NO_FRAMES = {"inertial", "visual", "collision", "geom", "limit", "dynamics", "default", "option", "keyframe"}


def frame_elements(element: Element) -> Iterator[Element]:
    """The elements of a document that may have frames of joints."""
    if element.tag not in _NO_FRAMES:
        yield element
        for child in element.children:
            yield from frame_elements(child)


def last_digit(texts: Iterable[str]) -> float:
    """The unit of the last digit of numbers that were rounded; 0 where that is not known."""
    units = []
    for text in texts:
        match = _NUMBER.fullmatch(text)
        if match is None:
            continue
        count = len((match[1] + match[2]).lstrip("0"))
        if count >= _ROUNDED:
            units.append((count, int(match[3] or 0) - len(match[2])))
    if len(units) < _FEWEST:
        return 0.0
    typical = float(np.median([count for count, _ in units]))
    return float(10.0 ** max(power for count, power in units if count >= typical))
