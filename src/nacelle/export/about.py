"""What a package says of itself, in every target: robot, conventions, functions, counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nacelle.emit.names import remark
from nacelle.export.entries import Wanted
from nacelle.export.entry import Entry
from nacelle.kinematics.margins import MET_MARGIN, NEAR_MARGIN
from nacelle.model.robot import Robot
from nacelle.program.cost import Count

CONVENTIONS = (
    "SI units and radians; right-handed frames; all vectors in the axes of the base.",
    "Twists are [v; w]: velocity of the platform's origin, then angular velocity. Accelerations are their "
    "time derivatives. Of a reduced twist the entries that the motion does not have are left out.",
    "Quaternions are quat_xyzw, scalar last, and must have unit length. A rotation matrix takes vectors "
    "from the platform's axes to those of the base.",
    "Forces and torques of actuators are positive along the joint's axis: power = force times rate.",
)


@dataclass(frozen=True, eq=False)
class Package:
    """What is written.

    Attributes:
        name: prefix of all names.
        robot: the robot.
        version: of nacelle.
        wanted: what is to be exported.
        entries: the functions.
    """

    name: str
    robot: Robot
    version: str
    wanted: Wanted
    entries: Sequence[Entry]

    @property
    def origin(self) -> str:
        """Where the package comes from, in a line of a comment."""
        return (
            f"nacelle {self.version}, robot {remark(self.robot.name)}, hash {self.robot.described.hash[:16]}"
        )

    @property
    def iterated(self) -> Entry | None:
        """The step that closes the legs, where iteration finds them."""
        return next((entry for entry in self.entries if entry.closes), None)


def count_text(count: Count) -> str:
    """A count in plain ASCII: "1023 operations: 480 + or -, 543 * or / (12 of them /), 6 sqrt"."""
    return str(count).replace("+/-", "+ or -").replace("×/÷", "* or /").replace(" ÷)", " of them /)")


def friction_words(wanted: Wanted) -> str:
    """Say what friction counts."""
    if not wanted.friction:
        return "Friction is left out."
    if wanted.smooth is None:
        return "Friction counts; the sign of a rate changes at once, and is 0 at rest."
    return (
        f"Friction counts; its sign changes smoothly, tanh(rate / {wanted.smooth:g}), rates in rad/s or m/s."
    )


def watch_words(entry: Entry) -> list[str]:
    """What a controller has to know of the outputs that it watches."""
    names = {variable.name for variable in entry.program.outputs}
    lines = []
    if "pivot" in names:
        lines.append(
            "pivot: below 1e-2 the fixed pivots of the program lose digits, or the pose is near a parallel "
            "singularity; at 0 there is no result."
        )
    if "margins" in names:
        lines.append(
            f"margins: below {NEAR_MARGIN:g} a leg is near a serial singularity (stretched, folded, an inner "
            f"loop flat), below {MET_MARGIN:g} its results mean nothing, below 0 it does not reach, and they "
            "are NaN."
        )
    if "branch" in names:
        lines.append(
            "branch: a negative number says that the legs have come to another assembly than that of the "
            "reference pose."
        )
    return lines
