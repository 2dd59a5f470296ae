"""The notation of legs: letters of joints from the base to the platform, actuated ones marked.

    UPS   6-UPS   3-[P]RR   R*US   U_PS   UpS   RUS,RUS,PRR   3-RPS,1-UPU

R revolute, P prismatic, U universal, C cylindrical, S spherical. In print actuated joints are underlined;
here they are marked by brackets, a star behind, an underscore before, a combining low line, or a small
letter among capitals. Without a mark the first prismatic joint is actuated, or else the first revolute one,
as in most robots of the literature (Merlet: Parallel Robots, 2006, chapter 2).
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass

from nacelle.errors import NacelleError

# Freedoms of the joints.
FREEDOMS = {"R": 1, "P": 1, "U": 2, "C": 2, "S": 3}
KINDS = {"R": "revolute", "P": "prismatic", "U": "universal", "C": "cylindrical", "S": "spherical"}
_MOST_LEGS, _MOST_JOINTS = 12, 7
_LOW_LINE = "\N{COMBINING LOW LINE}"
_ENTRY = re.compile(r"(?:(\d+)\s*[-\u2010-\u2013x\u00d7*\u00b7]?\s*)?(\D.*)")
_JOINT = re.compile(rf"\[([A-Za-z])\]|\(([A-Za-z])\)|_([A-Za-z])|([A-Za-z])([*{_LOW_LINE}]?)")


@dataclass(frozen=True)
class LegLetters:
    """One leg.

    Attributes:
        letters: its joints from the base to the platform, such as "UPS".
        active: indices of its actuated joints.
    """

    letters: str
    active: tuple[int, ...]

    @property
    def freedoms(self) -> int:
        """Freedoms of all its joints."""
        return sum(FREEDOMS[letter] for letter in self.letters)

    @property
    def rank(self) -> int:
        """Motions of its end: a rod between two spherical joints also spins, which moves nothing."""
        return self.freedoms - (self.letters.count("S") > 1)

    def __str__(self) -> str:
        """Give the letters, actuated joints in brackets."""
        return "".join(f"[{letter}]" if k in self.active else letter for k, letter in enumerate(self.letters))


def read_legs(text: str, count: int | None = None) -> list[LegLetters]:
    """Read the legs of a robot, one entry a leg or with its number before it.

    Args:
        text: such as "UPS", "6-UPS" or "RUS,RUS,PRR".
        count: how many legs there are, where a single entry has no number.

    Returns:
        All legs in order; one only where neither number is given.

    Raises:
        NacelleError: with what is wrong and what would be right.
    """
    entries = [entry.strip() for entry in text.split(",") if entry.strip()]
    if not entries:
        raise NacelleError("a leg has no joints; write the letters of its joints, such as UPS or 3-RRR")
    legs: list[LegLetters] = []
    numbered = False
    for entry in entries:
        match = _ENTRY.fullmatch(entry)
        if match is None:
            raise NacelleError(f"{entry!r} is no leg; write the letters of its joints, such as UPS or 3-RRR")
        numbered = numbered or match[1] is not None
        legs += [_leg(match[2])] * min(int(match[1] or 1), _MOST_LEGS + 1)
    if count is not None:
        if (numbered or len(entries) > 1) and count != len(legs):
            raise NacelleError(f"--count {count} does not fit {text!r}, which has {len(legs)} legs")
        legs = legs * count if len(legs) == 1 else legs
        if count < 1:
            raise NacelleError(f"a robot has at least one leg, got --count {count}")
    if len(legs) > _MOST_LEGS:
        raise NacelleError(f"{text!r} has more than {_MOST_LEGS} legs")
    return legs


def is_counted(text: str) -> bool:
    """Whether a text says how many legs there are."""
    return "," in text or text.strip()[:1].isdigit()


def named(legs: Sequence[LegLetters]) -> str:
    """Legs in short: "6-U[P]S"."""
    runs = [(len(list(run)), leg) for leg, run in itertools.groupby(legs)]
    return ", ".join(f"{count}-{leg}" for count, leg in runs)


def _leg(text: str) -> LegLetters:
    """Read one leg."""
    word = text.replace(" ", "").replace("-", "")
    if re.search(r"Pa|[|]|\u03a0|\{", word):
        raise NacelleError(
            f"{text!r}: parallelograms and rods side by side are not sketched; start from a robot that has "
            "them: nacelle new NAME --from delta (or orthoglide, h4)"
        )
    if not word:
        raise NacelleError(f"{text!r} is no leg; write the letters of its joints, such as UPS or 3-RRR")
    small = word.islower()
    letters, active, place = "", [], 0
    while place < len(word):
        match = _JOINT.match(word, place)
        letter = next((part for part in match.groups()[:4] if part), "") if match else word[place]
        if match is None or letter.upper() not in FREEDOMS:
            raise NacelleError(
                f"{text!r}: no joint is called {letter!r}; use R, P, U, C and S (revolute, prismatic, "
                "universal, cylindrical, spherical)"
            )
        if match[4] is None or match[5] or (letter.islower() and not small):
            active.append(len(letters))
        letters += letter.upper()
        place = match.end()
    if len(letters) > _MOST_JOINTS:
        raise NacelleError(f"{text!r} has {len(letters)} joints; a leg has at most {_MOST_JOINTS}")
    for k in active:
        if letters[k] not in "RP":
            raise NacelleError(
                f"{text!r}: a {KINDS[letters[k]]} joint cannot be actuated; write its revolute and prismatic "
                "parts, such as RR for U or PR for C"
            )
    if not active:
        first = letters.find("P") if "P" in letters else letters.find("R")
        if first < 0:
            raise NacelleError(
                f"{text!r} has no revolute or prismatic joint that an actuator could move; write RR for U, "
                "or PR for C"
            )
        active = [first]
    return LegLetters(letters, tuple(active))
