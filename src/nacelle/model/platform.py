"""The platform: its motion type, its reference pose, its named frames and its payload."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from nacelle.spatial.pose import Pose, identity

AXES = ("x", "y", "z", "rx", "ry", "rz")
NAMED_MOTIONS: dict[str, tuple[str, ...]] = {
    "se3": AXES,
    "xyz": AXES[:3],
    "xyz+rz": ("x", "y", "z", "rz"),
    "xy": ("x", "y"),
    "xy+rz": ("x", "y", "rz"),
}


class MotionError(ValueError):
    """A motion type cannot be read; `hint` says what would be right."""

    def __init__(self, message: str) -> None:
        """Add the list of motion types as the hint."""
        self.hint = "se3, xyz, xyz+rz, xy, xy+rz, or a list such as [z, rx, ry]"
        super().__init__(message)


@dataclass(frozen=True)
class Motion:
    """The independent motion of the platform: V_p = S(x) v, with n numbers v ([KI2007] (9)).

    Attributes:
        coordinates: the n independent coordinates: axes of the platform frame's twist ("x" to "rz"),
            or names of joints of an articulated platform, of chains that hang on it, of a robot without one.
    """

    coordinates: tuple[str, ...]

    @property
    def n(self) -> int:
        """Number of independent coordinates."""
        return len(self.coordinates)

    @property
    def name(self) -> str:
        """Name of the motion type: one of the usual ones, or the list of coordinates."""
        for name, axes in NAMED_MOTIONS.items():
            if axes == self.coordinates:
                return name
        return "[" + ", ".join(self.coordinates) + "]"

    @property
    def twist_axes(self) -> tuple[int, ...]:
        """Indices of the independent components of the platform's twist [v; w]."""
        return tuple(AXES.index(axis) for axis in self.coordinates if axis in AXES)

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the platform's joints among the coordinates."""
        return tuple(name for name in self.coordinates if name not in AXES)


def parse_motion(value: str | list[str]) -> Motion:
    """Read a motion type: a name ("xyz+rz"), or a list of coordinates and such names.

    Raises:
        MotionError: if it is empty, unreadable or repeats a coordinate.
    """
    if isinstance(value, str):
        axes: list[str] = []
        if value in NAMED_MOTIONS:
            axes = list(NAMED_MOTIONS[value])
        else:
            for part in value.replace(" ", "").split("+"):
                names = re.findall(r"r[xyz]|[xyz]", part)
                if "".join(names) != part or not part:
                    raise MotionError(f"{value[:40]!r} is not a motion type")
                axes += names
    else:
        axes = [axis for name in value for axis in NAMED_MOTIONS.get(name, (name,))]
    if not axes:
        raise MotionError("the platform has no motion")
    if len(set(axes)) != len(axes):
        raise MotionError("a coordinate is given twice in the motion type")
    return Motion(tuple(axes))


@dataclass(frozen=True)
class Tool:
    """A named frame on a body of the platform."""

    name: str
    body: int
    frame: Pose = field(default_factory=identity)


@dataclass(frozen=True)
class Payload:
    """What the robot carries: ten inertial parameters about the frame of a platform body."""

    name: str
    body: int
    inertia: tuple[float, ...]


@dataclass(frozen=True)
class Mode:
    """A named mode of operation.

    Attributes:
        name: its name.
        motion: independent motion in this mode.
        reference: reference pose of the platform frame.
        branch: for each leg +1, -1, or 0 where the mode does not say.
        guess: coordinates of joints, by index, that start the solution of the loops.
    """

    name: str
    motion: Motion
    reference: Pose
    branch: tuple[int, ...]
    guess: tuple[tuple[int, tuple[float, ...]], ...]
