"""A function of a package: a program with its documentation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import accumulate

from nacelle.dynamics.models import Model
from nacelle.emit.schedule import last_uses, schedule
from nacelle.export.states import SampleStates
from nacelle.model.reduced import layout_of
from nacelle.model.robot import Robot
from nacelle.program.cost import Count, count
from nacelle.program.program import Program
from nacelle.spatial.scalar import Array

CLOSING = "close_legs"
"""What the step is called that closes the legs."""


@dataclass(frozen=True, eq=False)
class Entry:
    """A function of a package.

    Attributes:
        label: what it is called behind the package's name.
        title: what it computes, in words.
        program: its program, under the name of the function.
        words: for every input and output what it is, with units.
        model: the model that it is; None for other functions.
        given: values of inputs that are no part of a state: the robot's numbers, and what is prepared of
            them.
        at: its inputs at some states, a row each, where they are not named after parts of a state.
        driver: the loop around it: "newton", "rk4" or none.
    """

    label: str
    title: str
    program: Program
    words: Mapping[str, str]
    model: Model | None
    given: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    at: Callable[[SampleStates], Mapping[str, Array]] | None = None
    driver: str = ""

    @property
    def closes(self) -> bool:
        """Whether it is the step that closes the legs."""
        return self.label == CLOSING

    @property
    def count(self) -> Count:
        """Operations by class."""
        return count(self.program)

    @property
    def alive(self) -> int:
        """The most intermediate values that are needed at once, in the order in which they are written."""
        order = schedule(self.program)
        last = last_uses(self.program, order)
        change = [0] * (len(order) + 1)
        for place, k in enumerate(order):
            change[place] += 1
            change[last[k]] -= 1
        return max(accumulate(change), default=0)


def pose_words(robot: Robot) -> str:
    """What a reduced pose is."""
    layout = layout_of(robot.motion)
    unit = "; quaternion of unit length" if layout.quaternion is not None else ""
    return f"reduced pose {', '.join(layout.x_names)}; m, rad{unit}"
