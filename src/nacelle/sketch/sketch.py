"""A description from leg types and a motion."""

from __future__ import annotations

from dataclasses import dataclass

from nacelle.errors import DescriptionError, NacelleError
from nacelle.kinematics.mechanism.check import check_robot
from nacelle.kinematics.mechanism.closed import generic_poses
from nacelle.model.platform import Motion, MotionError, parse_motion
from nacelle.model.read import read_text
from nacelle.sketch.letters import LegLetters, is_counted, named, read_legs
from nacelle.sketch.search import Arrangement, arranged
from nacelle.sketch.text import description

# Motions that are tried where none is asked for, by how many coordinates they have.
_USUAL: dict[int, tuple[str, ...]] = {
    1: ("z", "rz", "x"),
    2: ("xy", "rx+ry"),
    3: ("xyz", "z+rx+ry", "xy+rz", "rx+ry+rz"),
    4: ("xyz+rz", "xyz+rx"),
    5: ("xyz+rx+ry",),
    6: ("se3",),
}


@dataclass(frozen=True)
class Sketch:
    """A robot that was sketched.

    Attributes:
        text: its YAML file.
        legs: its legs.
        motion: its motion, by name.
    """

    text: str
    legs: tuple[LegLetters, ...]
    motion: str

    @property
    def summary(self) -> str:
        """The robot in a line: "6-U[P]S, motion se3"."""
        return f"{named(self.legs)}, motion {self.motion}"


def sketch(name: str, legs: str, *, count: int | None = None, motion: str | None = None) -> Sketch:
    """Write a first description of a robot.

    Args:
        name: of the robot.
        legs: leg types, such as "6-UPS" or "RUS,RUS,PRR"; see `nacelle.sketch.letters`.
        count: how many legs, where `legs` has one type without a number; as many as the motion needs if None.
        motion: such as "se3", "xyz" or "[z, rx, ry]"; the first usual one that the legs allow if None.

    Returns:
        A description that passes the check.

    Raises:
        NacelleError: with the reason, where no such robot was found.
    """
    types = read_legs(legs, count)
    counted = count is not None or is_counted(legs)
    faults: list[str] = []
    for words in [motion] if motion else _motions(types, counted):
        parsed = _motion(words)
        needed = -(-len(parsed.coordinates) // len(types[0].active))
        try:
            return _sketched(name, types if counted else types * needed, parsed)
        except NacelleError as error:
            faults.append(str(error))
    raise NacelleError(faults[0] if len(faults) == 1 else f"{faults[0]} (other usual motions fit no better)")


def _motion(words: str) -> Motion:
    try:
        value = (
            [part.strip() for part in words.strip("[] ").split(",")] if "," in words else words.strip("[] ")
        )
        motion = parse_motion(value)
    except MotionError as error:
        raise NacelleError(f"--motion {words}: {error}; {error.hint}") from None
    if motion.joint_names:
        raise NacelleError(
            f"--motion {words}: use x, y, z, rx, ry and rz; a sketched platform is one rigid body"
        )
    return motion


def _motions(types: list[LegLetters], counted: bool) -> tuple[str, ...]:
    """Motions to try where none is asked for."""
    flat = all(set(leg.letters) <= set("RP") and leg.freedoms == 3 for leg in types)
    actuators = min(sum(len(leg.active) for leg in types), 6)
    n = actuators if counted else 6 if types[0].freedoms >= 6 else 3
    usual = _USUAL[n]
    return ("xy+rz", *usual) if flat and n == 3 else usual


def _sketched(name: str, types: list[LegLetters], motion: Motion) -> Sketch:
    def text_of(arrangement: Arrangement) -> str:
        return description(name, arrangement, motion.coordinates, motion.name)

    def fault(arrangement: Arrangement) -> str:
        try:
            robot, source = read_text(text_of(arrangement))
        except DescriptionError as error:
            return error.problems[0].message
        check = check_robot(robot, source)
        if check.problems:
            return check.problems[0].message
        # Screws and ranks of one pose hold for mechanisms that only give a little, too.
        if not generic_poses(robot, check.assembly):
            return "the platform can move only infinitesimally from its reference pose"
        return ""

    arrangement = arranged(types, motion.coordinates, fault)
    return Sketch(text_of(arrangement), tuple(types), motion.name)
