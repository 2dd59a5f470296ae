"""The legs of a sketch: their notation by letters, and where their joints are in the reference pose.

The notation has letters of joints from the base to the platform, actuated ones marked:

    UPS   6-UPS   3-[P]RR   R*US   U_PS   UpS   RUS,RUS,PRR   3-RPS,1-UPU

R revolute, P prismatic, U universal, C cylindrical, S spherical. In print actuated joints are underlined;
here they are marked by brackets, a star behind, an underscore before, a combining low line, or a small
letter among capitals. Without a mark the first prismatic joint is actuated, or else the first revolute one,
as in most robots of the literature (Merlet: Parallel Robots, 2006, chapter 2).

A leg is drawn in its own frame: z up, x outwards to its anchor on the base, y along the base's circle.
Places are whole centimetres and directions whole numbers: axes which should be parallel, perpendicular or
pass through a point are so exactly, and the numbers are ones that people write. Its posture also says which
directions the axes may have.

    A     anchor on the base            (base radius, 0, 0)
    B     anchor on the platform        in a circle about the platform's origin O, turned by a twist from A
    nodes joints that turn; the first is at A and the last at B, those between bulge out from the line AB
    rails prismatic joints; between two nodes they lie on the line between them
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from nacelle.errors import NacelleError

# ---- the notation


# Freedoms of the joints.
JOINT_FREEDOMS = {"R": 1, "P": 1, "U": 2, "C": 2, "S": 3}
JOINT_KINDS = {"R": "revolute", "P": "prismatic", "U": "universal", "C": "cylindrical", "S": "spherical"}
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
        return sum(JOINT_FREEDOMS[letter] for letter in self.letters)

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
            raise NacelleError(
                f"{entry!r} is not a leg; write the letters of its joints, such as UPS or 3-RRR"
            )
        numbered = numbered or match[1] is not None
        legs += [_read_leg(match[2])] * min(int(match[1] or 1), _MOST_LEGS + 1)
    if count is not None:
        if (numbered or len(entries) > 1) and count != len(legs):
            raise NacelleError(f"--count {count} does not fit {text!r}, which has {len(legs)} legs")
        legs = legs * count if len(legs) == 1 else legs
        if count < 1:
            raise NacelleError(f"a robot has at least one leg, got --count {count}")
    if len(legs) > _MOST_LEGS:
        raise NacelleError(f"{text!r} has more than {_MOST_LEGS} legs")
    return legs


def has_leg_count(text: str) -> bool:
    """Whether a text says how many legs there are."""
    return "," in text or text.strip()[:1].isdigit()


def legs_notation(legs: Sequence[LegLetters]) -> str:
    """Legs in short: "6-U[P]S"."""
    runs = [(len(list(run)), leg) for leg, run in itertools.groupby(legs)]
    return ", ".join(f"{count}-{leg}" for count, leg in runs)


def _read_leg(text: str) -> LegLetters:
    """Read one leg."""
    word = text.replace(" ", "").replace("-", "")
    if re.search(r"Pa|[|]|\u03a0|\{", word):
        raise NacelleError(
            f"{text!r}: parallelograms and rods side by side are not sketched; start from a robot that has "
            "them: nacelle new NAME --from delta (or orthoglide, h4)"
        )
    if not word:
        raise NacelleError(f"{text!r} is not a leg; write the letters of its joints, such as UPS or 3-RRR")
    small = word.islower()
    letters, active, position = "", [], 0
    while position < len(word):
        match = _JOINT.match(word, position)
        letter = next((part for part in match.groups()[:4] if part), "") if match else word[position]
        if match is None or letter.upper() not in JOINT_FREEDOMS:
            raise NacelleError(
                f"{text!r}: no joint is called {letter!r}; use R, P, U, C and S (revolute, prismatic, "
                "universal, cylindrical, spherical)"
            )
        if match[4] is None or match[5] or (letter.islower() and not small):
            active.append(len(letters))
        letters += letter.upper()
        position = match.end()
    if len(letters) > _MOST_JOINTS:
        raise NacelleError(f"{text!r} has {len(letters)} joints; a leg has at most {_MOST_JOINTS}")
    for k in active:
        if letters[k] not in "RP":
            raise NacelleError(
                f"{text!r}: a {JOINT_KINDS[letters[k]]} joint cannot be actuated; write its revolute "
                "and prismatic "
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


# ---- joints in the reference pose


Vector = tuple[int, int, int]

OUTWARDS, TANGENTIAL, UPWARDS = (1, 0, 0), (0, 1, 0), (0, 0, 1)
# Steeply outwards: three such directions around a circle are perpendicular to each other, nearly.
STEEP = (7, 0, 5)


@dataclass(frozen=True)
class RobotLengths:
    """The lengths of a robot in its reference pose.

    Attributes:
        base: radius of the anchors on the base, mm.
        platform: radius of the anchors on the platform, mm.
        height: of the platform's origin, mm.
        twist: angle from the anchor on the base to that on the platform, degrees.
        bulge: direction in which knees bend, in the leg's frame, before it is made perpendicular to AB.
    """

    base: int
    platform: int
    height: int
    twist: float
    bulge: Vector

    @property
    def origin(self) -> Vector:
        """The platform's origin."""
        return (0, 0, self.height)

    @property
    def anchor(self) -> Vector:
        """The anchor on the platform, from the platform's origin, in the leg's frame."""
        angle = math.radians(self.twist)
        return (
            _round_to_centimetres(self.platform * math.cos(angle)),
            _round_to_centimetres(self.platform * math.sin(angle)),
            0,
        )


@dataclass(frozen=True)
class Posture:
    """A leg in its reference pose, without directions of axes.

    Attributes:
        leg: its type.
        shape: the lengths of the robot.
        points: places of its joints, mm, in the leg's frame.
        links: for each joint the direction of the link that it carries, or of that before it.
    """

    leg: LegLetters
    shape: RobotLengths
    points: tuple[Vector, ...]
    links: tuple[Vector, ...]

    def choices(self, k: int, planar: bool) -> list[tuple[Vector, ...]]:
        """Directions that the axes of joint k may have, the usual ones first.

        Args:
            k: index of the joint.
            planar: whether the platform stays in the plane z = 0: turning axes are along z then.
        """
        letter, link = self.leg.letters[k], self.links[k]
        if letter == "S":
            return [()]
        last = k == len(self.points) - 1
        if letter == "U":
            first = (UPWARDS, OUTWARDS, TANGENTIAL) if planar else (TANGENTIAL, OUTWARDS, UPWARDS)
            pairs: list[tuple[Vector, ...]] = [
                (w, cross_product(w, link)) for w in first if any(cross_product(w, link))
            ]
            return [(b, a) for a, b in pairs] + pairs if last else pairs + [(b, a) for a, b in pairs]
        if letter == "P":
            within = 0 < k < len(self.points) - 1
            directions = [link, TANGENTIAL, OUTWARDS] if planar else [UPWARDS, OUTWARDS, TANGENTIAL, STEEP]
            directions = directions if planar else [link, *directions] if within else [*directions, link]
        elif letter == "C":
            directions = [UPWARDS] if planar else [link, TANGENTIAL, UPWARDS, OUTWARDS]
        elif planar:
            directions = [UPWARDS]
        else:
            directions = [
                TANGENTIAL,
                UPWARDS,
                OUTWARDS,
                cross_product(TANGENTIAL, link),
                STEEP,
                subtract_vectors(self.points[k], self.shape.origin),
            ]
        return [(direction,) for direction in _distinct_directions(directions)]


def place_joints(leg: LegLetters, shape: RobotLengths) -> Posture:
    """Place the joints of a leg."""
    A, B = (shape.base, 0, 0), add_vectors(shape.origin, shape.anchor)
    letters = leg.letters
    nodes = [k for k, letter in enumerate(letters) if letter != "P"]
    positions: dict[int, Vector] = {}
    if len(nodes) > 1:
        for number, k in enumerate(nodes):
            positions[k] = _point_on_arc(A, B, number / (len(nodes) - 1), shape.bulge)
        for k in range(len(letters)):
            if k < nodes[0]:
                positions[k] = A
            elif k > nodes[-1]:
                positions[k] = B
    else:
        # Rails alone, or one joint that turns: spaced along AB.
        for k in range(len(letters)):
            positions[k] = _point_on_arc(A, B, k / max(len(letters) - 1, 1), (0, 0, 0))
    for k in range(len(letters)):
        if k not in positions:
            before, after = max(j for j in nodes if j < k), min(j for j in nodes if j > k)
            part = (k - before) / (after - before)
            positions[k] = _point_between(positions[before], positions[after], part)
    points = tuple(positions[k] for k in range(len(letters)))
    return Posture(leg, shape, points, tuple(_link_direction(points, k) for k in range(len(points))))


def _link_direction(points: tuple[Vector, ...], k: int) -> Vector:
    """Direction from a joint to the next one elsewhere; at the end from the one before."""
    later = [subtract_vectors(point, points[k]) for point in points[k + 1 :] if point != points[k]]
    earlier = [subtract_vectors(points[k], point) for point in points[:k] if point != points[k]]
    return (later[:1] or earlier[-1:] or [UPWARDS])[0]


def _point_on_arc(A: Vector, B: Vector, part: float, bulge: Vector) -> Vector:
    """A point on an arc from A to B that bulges in a direction by 0.4 of the chord."""
    chord = subtract_vectors(B, A)
    square = dot_product(chord, chord)
    side = [b - dot_product(bulge, chord) / square * c for b, c in zip(bulge, chord, strict=True)]
    size = math.sqrt(sum(value * value for value in side))
    high = 1.6 * part * (1.0 - part) * math.sqrt(square) / size if size else 0.0
    x, y, z = (_round_to_centimetres(a + part * c + high * s) for a, c, s in zip(A, chord, side, strict=True))
    return (x, y, z)


def _round_to_centimetres(value: float) -> int:
    """A length in mm, rounded to whole centimetres."""
    return 10 * round(value / 10.0)


def _point_between(A: Vector, B: Vector, part: float) -> Vector:
    """A point of whole millimetres that lies on the line AB exactly, near a part of it."""
    chord = subtract_vectors(B, A)
    divisor = math.gcd(*chord)
    if not divisor:
        return A
    steps = round(part * divisor)
    x, y, z = (a + steps * (c // divisor) for a, c in zip(A, chord, strict=True))
    return (x, y, z)


def _distinct_directions(directions: list[Vector]) -> Iterator[Vector]:
    """Directions that are no multiples of those before them."""
    distinct: list[Vector] = []
    for direction in directions:
        if any(direction) and not any(not any(cross_product(direction, earlier)) for earlier in distinct):
            distinct.append(direction)
            yield direction


def add_vectors(a: Vector, b: Vector) -> Vector:
    """Give a + b."""
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])


def subtract_vectors(a: Vector, b: Vector) -> Vector:
    """Give a - b."""
    return (a[0] - b[0], a[1] - b[1], a[2] - b[2])


def dot_product(a: Vector, b: Vector) -> int:
    """Give a . b."""
    return sum(x * y for x, y in zip(a, b, strict=True))


def cross_product(a: Vector, b: Vector) -> Vector:
    """Give a x b."""
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])
