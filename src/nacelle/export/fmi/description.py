"""The descriptions of an FMU: its variables, modelDescription.xml and buildDescription.xml.

Variables are named scalars with units and start values, in groups that lie side by side. A variable's value
reference is its place in the table; 0 is the time. The emitted C reads and writes a group as an array from
the place of its first variable on.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from xml.etree import ElementTree

from nacelle.model.reduced import layout_of
from nacelle.model.robot import Robot

# ---- variables


NamedUnit = tuple[str, str]
"""Name and unit; the unit may be empty."""


@dataclass(frozen=True)
class Scalar:
    """A variable.

    Attributes:
        name: what users see.
        causality: "independent", "parameter", "input", "output" or "local".
        unit: in the notation of FMI ("N.m", "m/s2"), or empty.
        about: what it is.
        start: value before anything is set; None where it is computed.
        tunable: of a parameter, whether it may be set during a simulation.
        derivative_of: value reference of the state whose derivative it is.
    """

    name: str
    causality: str
    unit: str = ""
    about: str = ""
    start: float | None = None
    tunable: bool = False
    derivative_of: int | None = None

    @property
    def variability(self) -> str:
        """As FMI says it."""
        if self.causality == "parameter":
            return "tunable" if self.tunable else "fixed"
        return "continuous"

    @property
    def settable(self) -> str:
        """When it may be set, as the enumeration of interface.h says it."""
        if self.causality == "input" or self.tunable:
            return "ALWAYS"
        return "BEFORE" if self.causality == "parameter" else "NEVER"


class VariableTable:
    """The variables of an FMU, group by group."""

    def __init__(self) -> None:
        """Begin with the time."""
        self.scalars = [Scalar("time", "independent", "s", "simulated time")]
        self.slices: dict[str, slice] = {}

    def add(
        self,
        group: str,
        causality: str,
        named: Iterable[NamedUnit],
        about: str,
        *,
        start: Iterable[float] | None = None,
        tunable: bool = False,
    ) -> None:
        """Add a group of variables.

        Args:
            group: what it is called here.
            causality: of all of them.
            named: their names and units.
            about: what they are.
            start: their start values; computed if None.
            tunable: of parameters, whether they may be set at any time.
        """
        first, pairs = len(self.scalars), list(named)
        values = [None] * len(pairs) if start is None else [float(value) for value in start]
        used = {scalar.name for scalar in self.scalars}
        for (name, unit), value in zip(pairs, values, strict=True):
            # Names of a description may collide with those made here.
            while name in used:
                name += "'"
            used.add(name)
            self.scalars.append(Scalar(name, causality, unit, about, value, tunable))
        self.slices[group] = slice(first, len(self.scalars))

    def add_states(self, named: Iterable[NamedUnit], about: str) -> None:
        """Add the groups "state" and "derivative"."""
        self.add("state", "local", named, about)
        first, at = len(self.scalars), self.slices["state"].start
        for k, state in enumerate(self.states()):
            what, unit = f"derivative of {state.name} by time", _rate(state.unit)
            self.scalars.append(Scalar(f"der({state.name})", "local", unit, what, derivative_of=at + k))
        self.slices["derivative"] = slice(first, len(self.scalars))

    def at(self, group: str) -> str:
        """The array of a group in C."""
        return f"values + {self.slices[group].start}"

    def states(self) -> list[Scalar]:
        """The states."""
        span = self.slices.get("state")
        return [] if span is None else self.scalars[span]


def _rate(unit: str) -> str:
    """The unit of a derivative by time."""
    return {"m": "m/s", "rad": "rad/s", "m/s": "m/s2", "rad/s": "rad/s2"}.get(unit, "")


class QuantityNames:
    """Names and units of the quantities of a robot."""

    def __init__(self, robot: Robot) -> None:
        layout = layout_of(robot.motion)
        drives = [
            (actuator.name, revolute)
            for actuator, revolute in zip(robot.actuators, robot.revolute_actuators, strict=True)
        ]
        self.pose = _with_prefix("pose", zip(layout.x_names, layout.units, strict=True))
        self.coordinates = list(zip(robot.motion.coordinates, layout.v_units, strict=True))
        self.twist = _with_prefix("twist", ((f"v_{name}", _rate(unit)) for name, unit in self.coordinates))
        self.acceleration = _with_prefix(
            "acceleration", ((f"a_{name}", _rate(_rate(unit))) for name, unit in self.coordinates)
        )
        self.force = [(f"force.{name}", "N.m" if turns else "N") for name, turns in drives]
        self.position = [(f"position.{name}", "rad" if turns else "m") for name, turns in drives]
        self.rate = [(f"rate.{name}", "rad/s" if turns else "m/s") for name, turns in drives]

    def start_names(self) -> tuple[list[NamedUnit], list[NamedUnit]]:
        """Names of the pose and of the twist at the start."""
        pose, twist = (
            [(name.replace(word, "start", 1), unit) for name, unit in group]
            for word, group in (("pose", self.pose), ("twist", self.twist))
        )
        return pose, twist


def _with_prefix(word: str, named: Iterable[NamedUnit]) -> list[NamedUnit]:
    return [(f"{word}.{name}", unit) for name, unit in named]


# ---- the files


# Exponents of the base units.
_UNITS = {
    "s": {"s": 1},
    "m": {"m": 1},
    "rad": {"rad": 1},
    "m/s": {"m": 1, "s": -1},
    "rad/s": {"rad": 1, "s": -1},
    "m/s2": {"m": 1, "s": -2},
    "rad/s2": {"rad": 1, "s": -2},
    "N": {"kg": 1, "m": 1, "s": -2},
    "N.m": {"kg": 1, "m": 2, "s": -2},
}


@dataclass(frozen=True)
class FmuDescription:
    """What an FMU says of itself.

    Attributes:
        identifier: of the binary and of the model.
        title: a phrase that says what it is.
        token: by which description and code know each other.
        tool: what made it.
        model_exchange: whether there is an interface for Model Exchange.
        step: step size that suits co-simulation, s.
        period: of a sampled model, s; None for others.
    """

    identifier: str
    title: str
    token: str
    tool: str
    model_exchange: bool
    step: float
    period: float | None = None


def model_description(about: FmuDescription, table: VariableTable) -> str:
    """Write modelDescription.xml."""
    root = ElementTree.Element(
        "fmiModelDescription",
        fmiVersion="3.0",
        modelName=about.identifier,
        instantiationToken=about.token,
        description=about.title,
        generationTool=about.tool,
        variableNamingConvention="flat",
    )
    common = {
        "modelIdentifier": about.identifier,
        "canGetAndSetFMUState": "true",
        "canSerializeFMUState": "true",
    }
    if about.model_exchange:
        ElementTree.SubElement(root, "ModelExchange", common)
    stepping = {"canHandleVariableCommunicationStepSize": "true"}
    if about.period is not None:
        stepping["fixedInternalStepSize"] = repr(about.period)
    ElementTree.SubElement(root, "CoSimulation", common | stepping)
    _units(root, table)
    categories = ElementTree.SubElement(root, "LogCategories")
    ElementTree.SubElement(
        categories, "Category", name="logStatusError", description="why a call was refused"
    )
    ElementTree.SubElement(root, "DefaultExperiment", startTime="0", stopTime="1", stepSize=repr(about.step))
    variables = ElementTree.SubElement(root, "ModelVariables")
    for reference, scalar in enumerate(table.scalars):
        ElementTree.SubElement(variables, "Float64", _attributes(reference, scalar))
    _structure(root, table)
    return _text(root)


def _units(root: ElementTree.Element, table: VariableTable) -> None:
    used = {scalar.unit for scalar in table.scalars}
    definitions = ElementTree.SubElement(root, "UnitDefinitions")
    for name, exponents in _UNITS.items():
        if name in used:
            unit = ElementTree.SubElement(definitions, "Unit", name=name)
            ElementTree.SubElement(unit, "BaseUnit", {base: str(power) for base, power in exponents.items()})


def _attributes(reference: int, scalar: Scalar) -> dict[str, str]:
    attributes = {
        "name": scalar.name,
        "valueReference": str(reference),
        "causality": scalar.causality,
        "variability": scalar.variability,
    }
    if scalar.about:
        attributes["description"] = scalar.about
    if scalar.causality == "parameter":
        attributes["initial"] = "exact"
    if scalar.causality in ("output", "local"):
        attributes["initial"] = "calculated"
    if scalar.unit:
        attributes["unit"] = scalar.unit
    if scalar.start is not None:
        attributes["start"] = repr(scalar.start)
    if scalar.derivative_of is not None:
        attributes["derivative"] = str(scalar.derivative_of)
    return attributes


def _structure(root: ElementTree.Element, table: VariableTable) -> None:
    """Outputs, derivatives, and what is computed at the start."""
    structure = ElementTree.SubElement(root, "ModelStructure")
    numbered = list(enumerate(table.scalars))
    outputs = [reference for reference, scalar in numbered if scalar.causality == "output"]
    derivatives = [reference for reference, scalar in numbered if scalar.derivative_of is not None]
    unknowns = [reference for reference, scalar in numbered if scalar.causality in ("output", "local")]
    for kind, references in (
        ("Output", outputs),
        ("ContinuousStateDerivative", derivatives),
        ("InitialUnknown", unknowns),
    ):
        for reference in references:
            ElementTree.SubElement(structure, kind, valueReference=str(reference))


def build_description(identifier: str, sources: Sequence[str]) -> str:
    """Write buildDescription.xml: how another platform compiles the sources."""
    root = ElementTree.Element("fmiBuildDescription", fmiVersion="3.0")
    built = ElementTree.SubElement(root, "BuildConfiguration", modelIdentifier=identifier)
    files = ElementTree.SubElement(built, "SourceFileSet", language="C99")
    for name in sources:
        ElementTree.SubElement(files, "SourceFile", name=name)
    ElementTree.SubElement(built, "Library", name="m", external="true")
    return _text(root)


def _text(root: ElementTree.Element) -> str:
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"
