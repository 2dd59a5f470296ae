"""The descriptions of an FMU, read back as XML."""

from __future__ import annotations

from xml.etree import ElementTree

from nacelle.export.fmi.description import FmuDescription, build_description, model_description
from nacelle.export.fmi.variables import VariableTable


def test_names_are_escaped_and_units_defined() -> None:
    table = VariableTable()
    name = 'a <"&> b'
    table.add("force", "input", [(name, "N")], "x < y", start=[0.25])
    table.add("out", "output", [("out", "")], "")
    table.add_states([("state", "m")], "")
    about = FmuDescription("one", "a < b", "token", "nacelle", False, 1e-3, 5e-4)
    root = ElementTree.fromstring(model_description(about, table))
    variables = root.find("ModelVariables")
    assert variables is not None
    assert variables[1].attrib["name"] == name
    assert variables[1].attrib["start"] == "0.25"
    assert [v.attrib["valueReference"] for v in variables] == list("01234")
    assert [unit.attrib["name"] for unit in root.findall("UnitDefinitions/Unit")] == ["s", "m", "m/s", "N"]
    assert root.find("ModelExchange") is None
    stepping = root.find("CoSimulation")
    assert stepping is not None
    assert stepping.attrib["fixedInternalStepSize"] == "0.0005"
    structure = root.find("ModelStructure")
    assert structure is not None
    assert [(part.tag, part.attrib["valueReference"]) for part in structure] == [
        ("Output", "2"),
        ("ContinuousStateDerivative", "4"),
        ("InitialUnknown", "2"),
        ("InitialUnknown", "3"),
        ("InitialUnknown", "4"),
    ]


def test_sources_are_listed() -> None:
    root = ElementTree.fromstring(build_description("one", ["a.c", "b.c"]))
    assert [file.attrib["name"] for file in root.iter("SourceFile")] == ["a.c", "b.c"]
