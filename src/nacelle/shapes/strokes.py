"""How a sliding joint is drawn over its whole stroke: as a telescopic pair, or as a rail with a slider.

Along the joint's axis the predecessor's end is at 0 and the successor's at s, a <= s <= b with the sign of s
taken out. A tube [0, t] on the one and a rod [s - r, s] on the other overlap by m at every stroke, and
neither passes the other's end, if

    t + r = b + m,     t <= a,     r <= a

which needs b + m <= 2 a. Longer strokes have a tube that reaches behind the joint, as cylinders in gimbals
have, [-(r - a), t]; beyond three times the shortest length, and where s changes its sign, there is a rail
instead.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

# How far rod and tube overlap at the longest stroke, as a part of it.
_OVERLAP = 0.08
# Longest to shortest stroke of a pair whose tube reaches behind the joint.
_LONGEST = 3.0
# Strokes that a pair is made for where there are no limits, as parts of those at hand.
_SHORTER, _LONGER = 0.8, 1.2
# A stroke shorter than this part of the robot's extent is not drawn as a tube and a rod.
SHORT = 0.02

Range = tuple[float, float]


@dataclass(frozen=True)
class Telescope:
    """A telescopic pair along the joint's axis, m, signed.

    Attributes:
        tube: first and last place of the tube, from the predecessor's end.
        rod: first and last place of the rod, from the successor's end; the last is 0.
    """

    tube: Range
    rod: Range


def telescope(limits: Range, moved: Range, extent: float) -> Telescope | None:
    """The telescopic pair of a joint; None if a rail shows it better.

    Args:
        limits: of the stroke, m, infinite where there is none.
        moved: least and greatest stroke that will be shown, m.
        extent: of the robot, m.
    """
    sign = 1.0 if moved[0] + moved[1] > 0.0 else -1.0
    least, most = sorted(sign * s for s in moved)
    if least < SHORT * extent:
        return None
    low, high = sorted(sign * s for s in limits)
    # Limits are kept to; where there are none, what is shown is, and a little more if it fits.
    described = 0.0 < low <= least and most <= high < math.inf
    low = low if 0.0 < low <= least else _SHORTER * least
    high = high if most <= high < math.inf else _LONGER * most
    nearer = (max(low, _SHORTER * least), min(high, _LONGER * most))
    for a, b, longest in (
        (low, high, _LONGEST if described else 0.0),
        (*nearer, 0.0),
        (least, most, _LONGEST),
    ):
        whole = (1.0 + _OVERLAP) * b
        if whole <= 2.0 * a:
            t = r = 0.5 * whole
        elif b <= longest * a:
            t, r = a, whole - a
        else:
            continue
        back = max(r - a, 0.0)
        return Telescope((-sign * back, sign * t), (-sign * r, 0.0))
    return None


def rail(limits: Range, moved: Range, extent: float, *, from_anchor: bool) -> Range:
    """First and last place of a rail along the joint's axis, from the predecessor's end, m.

    Args:
        limits: of the stroke, m, infinite where there is none.
        moved: least and greatest stroke that will be shown, m.
        extent: of the robot, m.
        from_anchor: whether the rail begins at the predecessor's end, as where other parts hold it.
    """
    low, high = moved
    margin = 0.2 * extent if max(abs(low), abs(high)) <= 0.2 * extent else 0.05 * extent
    # Limits far away are none: nobody builds such a rail.
    ends = [limit if abs(limit - s) <= extent else math.inf for limit, s in zip(limits, moved, strict=True)]
    given = [math.isfinite(end) for end in ends]
    first = min(low, ends[0]) - 0.03 * extent if given[0] else low - margin
    last = max(high, ends[1]) + 0.03 * extent if given[1] else high + margin
    if from_anchor or not any(given):
        first, last = min(first, 0.0), max(last, 0.0)
    return first, last
