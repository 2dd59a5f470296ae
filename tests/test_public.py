"""The public names: few on top, the rest in packages that teach, each on a page, with units and frames."""

from __future__ import annotations

import importlib
import inspect
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from nacelle.lazy import public_names

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = (
    *("kinematics", "dynamics", "papers", "trajectory", "simulation", "control", "identification"),
    *("elastic", "vision", "studies", "io"),
)
MOST_ON_TOP = 47
# Packages whose functions are physics: their arguments and results have dimensions, units and frames.
PHYSICS = ("kinematics", "dynamics", "elastic")
UNIT = r"\b(?:m|rad|s|kg|N|J|W|Hz|deg|SI)\b|/s|dimensionless|quat_xyzw|no unit"
FRAME = r"base (?:frame|axes)|frame|base"
MOST_OPTIONS = 8
# Functions that take something else before the robot, and why.
NOT_ROBOT_FIRST = {
    "nacelle.compile": "compiles functions, which need no robot",
    "nacelle.dynamics.Model": "made by model",
    "nacelle.simulation.DigitalController": "a function with what it remembers; the robot is optional",
    "nacelle.control.Controller": "made by controller",
    **dict.fromkeys(("nacelle.Study", "nacelle.studies.Study"), "the file names the robot"),
}
# What is no physical quantity of a state: settings, names, files, other objects.
ARRAYS = {"x": True, "v": True, "a": True, "q": False, "tau": False, "external": True}


def _pages() -> str:
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "exchange").glob("*.md")]
    return "\n".join(page.read_text(encoding="utf-8") for page in pages)


def test_few_names_are_on_top() -> None:
    assert len(public_names("nacelle")) <= MOST_ON_TOP


@pytest.mark.parametrize("package", ["", *PACKAGES])
def test_every_name_is_there_and_on_a_page(package: str) -> None:
    full = f"nacelle.{package}".rstrip(".")
    module, pages = importlib.import_module(full), _pages()
    assert module.__doc__
    assert f"nacelle.{package}" in (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    for name in module.__all__:
        assert getattr(module, name) is not None
        assert name in dir(module)
        assert re.search(rf"\b{name}\b", pages), f"{full}.{name} is on no page"
    with pytest.raises(AttributeError, match="no attribute"):
        _ = module.nothing_of_this_name


def test_a_module_does_not_take_the_place_of_a_function() -> None:
    """Where a package has a module and a public function of one name, the function is the attribute."""
    code = (
        "import nacelle.verify.comparison, nacelle.export.export, nacelle.kinematics.jacobian\n"
        "import nacelle\n"
        "assert all(callable(f) for f in (nacelle.verify, nacelle.export, nacelle.compile, nacelle.model))\n"
        "assert callable(nacelle.kinematics.workspace) and callable(nacelle.dynamics.regressor)\n"
        "from nacelle.control import *\n"
        "assert callable(closed_loop)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=300)


def _arguments(docstring: str) -> dict[str, str]:
    """What the section Args of a docstring says of each argument."""
    section = re.search(r"\n\s*Args:\n(.*?)(?:\n\s*\n|\Z)", docstring, re.S)
    found: dict[str, str] = {}
    for item in re.findall(
        r"^ {4}(\w+(?:, \w+)*): (.*?)(?=^ {4}\w|\Z)",
        inspect.cleandoc(section[0] if section else "") + "\n",
        re.S | re.M,
    ):
        found.update(dict.fromkeys(item[0].split(", "), " ".join(item[1].split())))
    return found


def _physics() -> list[tuple[str, Any]]:
    out = []
    for package in PHYSICS:
        module = importlib.import_module(f"nacelle.{package}")
        for name in module.__all__:
            value = getattr(module, name)
            if inspect.isfunction(value) and {"x", "q"} & inspect.signature(value).parameters.keys():
                out.append((f"{package}.{name}", value))
    return out


@pytest.mark.parametrize(
    ("name", "function"), _physics(), ids=lambda value: value if isinstance(value, str) else ""
)
def test_docstrings_of_physics_have_dimensions_units_and_frame(name: str, function: Any) -> None:
    """Each array among the arguments has dimensions and units, those in space a frame; so has the result."""
    text = function.__doc__
    arguments = _arguments(inspect.cleandoc(text))
    for argument, in_space in ARRAYS.items():
        if argument not in inspect.signature(function).parameters:
            continue
        said = arguments.get(argument, "")
        assert re.search(r"\(\.\.\.|\(n|\(N|\(\d|names? to", said), (
            f"{name}: {argument} has no dimensions: {said!r}"
        )
        assert re.search(UNIT, said), f"{name}: {argument} has no units: {said!r}"
        assert not in_space or re.search(FRAME, said), f"{name}: {argument} has no frame: {said!r}"
    returns = re.search(r"Returns:\n(.*?)(?:\n\s*\n|\Z)", text, re.S)
    assert returns, f"{name}: no section Returns"
    result = returns[1]
    assert re.search(r"\(\.\.\.|\(n|\(N|\(\d|\(rays|\(modes", result), f"{name}: result has no dimensions"
    assert re.search(UNIT, result), f"{name}: result has no units"


def _public() -> list[Any]:
    """All public functions and classes, with their full names."""
    out = []
    for package in ("", *PACKAGES):
        full = f"nacelle.{package}".rstrip(".")
        module = importlib.import_module(full)
        for name in module.__all__:
            value = getattr(module, name)
            if not (inspect.isclass(value) and issubclass(value, Exception)):
                out.append(pytest.param(f"{full}.{name}", value, id=f"{full}.{name}"))
    return out


@pytest.mark.parametrize(("name", "value"), _public())
def test_few_options_and_the_robot_first(name: str, value: Any) -> None:
    """Of functions and constructors, methods too; settings objects are what options are gathered in."""
    callables = {name: value}
    if inspect.isclass(value):
        public = inspect.getmembers(
            value, lambda member: inspect.isfunction(member) or inspect.ismethod(member)
        )
        callables |= {f"{name}.{key}": method for key, method in public if not key.startswith("_")}
    for label, function in callables.items():
        if not (callable(function) and str(getattr(function, "__module__", "")).startswith("nacelle")):
            continue
        parameters = inspect.signature(function).parameters
        options = [key for key, each in parameters.items() if each.kind is inspect.Parameter.KEYWORD_ONLY]
        assert len(options) <= MOST_OPTIONS, f"{label} has {len(options)} options: {options}"
        if label == name and "robot" in parameters:
            is_first = next(iter(parameters)) == "robot"
            assert is_first is not (name in NOT_ROBOT_FIRST), f"{name}: the robot is not the first argument"
