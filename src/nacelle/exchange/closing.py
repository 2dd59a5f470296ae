"""Names that say where loops are closed: the frames of onshape-to-robot, and words that hint at others.

onshape-to-robot and placo cut a loop open and leave two frames that coincide, `closing_NAME_1` and
`closing_NAME_2`. A hinge has two more at another point of its axis, `closing_NAME_1_z` and
`closing_NAME_2_z`. Each pair is a spherical closure; the two of a hinge become a revolute one later.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

_FRAME = re.compile(r"(closing_.+)_1(_z)?")
_PAIR = re.compile(r"(.+[-_])(1|2|A|B|a|b)")
_OTHER = {"1": "2", "A": "B", "a": "b"}
_HINTS = re.compile(
    r"(?<![a-z])(clos(ed?|ing)[-_]?(loops?|chains?)?|(loop[-_]?)?closures?|loops?|constraints?|equality|fermeture)(?![a-z])",
    re.IGNORECASE,
)


def closing_pairs(names: Collection[str]) -> list[tuple[str, str]]:
    """Pairs of frames that coincide by the convention of onshape-to-robot, in the order of the names."""
    matches = [(name, match) for name in names if (match := _FRAME.fullmatch(name))]
    pairs = [(name, f"{match[1]}_2{match[2] or ''}") for name, match in matches]
    return [pair for pair in pairs if pair[1] in names]


def loop_hints(names: Iterable[str]) -> list[str]:
    """Names in which a word hints at a loop, such as `closedloop1_A` or `loop_closure`."""
    return [name for name in names if _HINTS.search(name)]


def hint_message(names: Sequence[str]) -> str:
    """That names hint at loops which nothing else says."""
    return (
        f"the names {', '.join(names[:4])}{', ...' if len(names) > 4 else ''} hint at loops, "
        "and nothing says which frames coincide"
    )


def lone_pairs(names: Collection[str]) -> list[tuple[str, str]]:
    """Pairs of names that end in 1 and 2 or A and B, of which there is no third."""
    pairs = []
    for name in names:
        match = _PAIR.fullmatch(name)
        if match and match[2] in _OTHER and match[1] + _OTHER[match[2]] in names:
            third = match[1] + chr(ord(match[2]) + 2)
            pairs += [] if third in names else [(name, match[1] + _OTHER[match[2]])]
    return pairs
