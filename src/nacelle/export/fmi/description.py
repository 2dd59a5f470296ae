"""The descriptions of an FMU: modelDescription.xml and buildDescription.xml."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree import ElementTree

from nacelle.export.fmi.variables import Scalar, VariableTable

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
        title: what it is, in words.
        token: by which description and code know each other.
        tool: what made it.
        exchanged: whether there is an interface for Model Exchange.
        step: step size that suits co-simulation, s.
        period: of a sampled model, s; None for others.
    """

    identifier: str
    title: str
    token: str
    tool: str
    exchanged: bool
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
    if about.exchanged:
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
    for place, scalar in enumerate(table.scalars):
        ElementTree.SubElement(variables, "Float64", _attributes(place, scalar))
    _structure(root, table)
    return _text(root)


def _units(root: ElementTree.Element, table: VariableTable) -> None:
    used = {scalar.unit for scalar in table.scalars}
    definitions = ElementTree.SubElement(root, "UnitDefinitions")
    for name, exponents in _UNITS.items():
        if name in used:
            unit = ElementTree.SubElement(definitions, "Unit", name=name)
            ElementTree.SubElement(unit, "BaseUnit", {base: str(power) for base, power in exponents.items()})


def _attributes(place: int, scalar: Scalar) -> dict[str, str]:
    made = {
        "name": scalar.name,
        "valueReference": str(place),
        "causality": scalar.causality,
        "variability": scalar.variability,
    }
    if scalar.about:
        made["description"] = scalar.about
    if scalar.causality == "parameter":
        made["initial"] = "exact"
    if scalar.causality in ("output", "local"):
        made["initial"] = "calculated"
    if scalar.unit:
        made["unit"] = scalar.unit
    if scalar.start is not None:
        made["start"] = repr(scalar.start)
    if scalar.derivative_of is not None:
        made["derivative"] = str(scalar.derivative_of)
    return made


def _structure(root: ElementTree.Element, table: VariableTable) -> None:
    """Outputs, derivatives, and what is computed at the start."""
    structure = ElementTree.SubElement(root, "ModelStructure")
    numbered = list(enumerate(table.scalars))
    outputs = [place for place, scalar in numbered if scalar.causality == "output"]
    derivatives = [place for place, scalar in numbered if scalar.derivative_of is not None]
    unknowns = [place for place, scalar in numbered if scalar.causality in ("output", "local")]
    for kind, places in (
        ("Output", outputs),
        ("ContinuousStateDerivative", derivatives),
        ("InitialUnknown", unknowns),
    ):
        for place in places:
            ElementTree.SubElement(structure, kind, valueReference=str(place))


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
