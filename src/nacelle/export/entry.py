"""A function of a package: a program with its documentation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import accumulate

from nacelle.compile import Specification
from nacelle.control.controller import Controller
from nacelle.dynamics.models import Model
from nacelle.emit.schedule import last_uses, schedule
from nacelle.export.states import SampleStates
from nacelle.kinematics.branch import RELATION_TOLERANCE
from nacelle.model.reduced import layout_of
from nacelle.model.robot import Robot
from nacelle.program.cost import Count, count
from nacelle.program.program import Program
from nacelle.spatial.scalar import Array
from nacelle.trajectory import Trajectory

CLOSING_STEP = "close_legs"
"""What the step is called that closes the legs."""

KINEMATICS = "kinematics"
"""What the model is called that solves both directions with a state."""


@dataclass(frozen=True, eq=False)
class Entry:
    """A function of a package.

    Attributes:
        label: what it is called behind the package's name.
        title: a phrase that says what it computes.
        program: its program, under the name of the function.
        descriptions: for every input and output what it is, with units.
        model: the model that it is; None for other functions.
        fixed_inputs: values of inputs that are no part of a state: the robot's numbers, and those prepared of
            them.
        at: its inputs at some states, a row each, where they are not named after parts of a state.
        driver: the loop around it: "newton", "rk4", "track" or none.
        units: what the unknowns of a way that is followed count in, and its parameters behind them.
    """

    label: str
    title: str
    program: Program
    descriptions: Mapping[str, str]
    model: Model | None
    fixed_inputs: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    at: Callable[[SampleStates], Mapping[str, Array]] | None = None
    driver: str = ""
    units: tuple[float, ...] = ()

    @property
    def closes(self) -> bool:
        """Whether it is the step that closes the legs."""
        return self.label == CLOSING_STEP

    @property
    def count(self) -> Count:
        """Operations by class."""
        return count(self.program)

    @property
    def max_live_values(self) -> int:
        """The most intermediate values that are needed at once, in the order in which they are written."""
        order = schedule(self.program)
        last = last_uses(self.program, order)
        change = [0] * (len(order) + 1)
        for position, k in enumerate(order):
            change[position] += 1
            change[last[k]] -= 1
        return max(accumulate(change), default=0)


def pose_description(robot: Robot) -> str:
    """What a reduced pose is."""
    layout = layout_of(robot.motion)
    unit = "; quaternion of unit length" if layout.quaternion is not None else ""
    return f"reduced pose {', '.join(layout.x_names)}; m, rad{unit}"


def with_preparation(entry: Entry, prologue: Program, specification: Specification) -> list[Entry]:
    """A function whose numbers are given at run time: what prepares them, and the function of a state.

    Args:
        entry: the function, of what is prepared.
        prologue: what prepares it.
        specification: what both were made from.
    """
    robot, groups, name = specification.robot, specification.groups, entry.program.name
    assert robot is not None
    names, values = robot.numbers.names(*groups), robot.numbers.vector(*groups)
    numbers_text = "; ".join(f"{name} = {value:.9g}" for name, value in zip(names, values, strict=True))
    labels = {
        **entry.descriptions,
        "parameters": f"numbers of the robot in SI units, in this order, here as described: {numbers_text}",
        "prepared": f"what {name}_prepare makes of the robot's numbers",
    }
    first = Entry(
        f"{entry.label}_prepare",
        f"what {entry.label} needs of the robot's numbers; to be called once for every set of them",
        replace(prologue, name=f"{name}_prepare"),
        labels,
        entry.model,
        {"parameters": tuple(values.tolist())},
    )
    prepared = tuple(map(float, prologue.evaluate(values.tolist())))
    return [first, replace(entry, descriptions=labels, fixed_inputs={"prepared": prepared})]


@dataclass(frozen=True)
class ExportRequest:
    """What is to be exported.

    Attributes:
        models: names of models.
        input: what inverse dynamics starts from: "pose", "elements" or "encoders".
        friction: whether friction counts.
        smooth: rate over which Coulomb friction changes its sign smoothly.
        bare: whether the outputs to be watched are left out.
        parameters: groups of the robot's free numbers that are given at run time.
        controller: a controller, or None.
        plant: whether the robot is among the functions as what a controller moves.
        trajectory: a trajectory of the robot that is sampled in C, or None.
        wrong: how far relations of a branch's unknowns may be off, rad or robot's sizes: as exactly as the
            unknowns are known in the least of the precisions.
    """

    models: tuple[str, ...]
    input: str = "pose"
    friction: bool = True
    smooth: float | None = None
    bare: bool = False
    parameters: tuple[str, ...] = ()
    controller: Controller | None = None
    plant: bool = False
    trajectory: Trajectory | None = None
    wrong: float = RELATION_TOLERANCE

    @property
    def has_kinematics(self) -> bool:
        """Whether both directions of kinematics are there, with a state."""
        return KINEMATICS in self.models

    @property
    def loop(self) -> bool:
        """Whether there is a controller, or a plant for one."""
        return self.controller is not None or self.plant
