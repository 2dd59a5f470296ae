"""Any robot or result as a table for notebooks: what it is, its numbers with units, flags as text.

One rule for all: a table of each quantity of the result, of many samples the lowest, mean and highest value,
then a row for each attribute with the words of the class's docstring. A docstring says of every attribute
what it is, with dimensions and units; tables of notebooks repeat that, so that there is no second list to
keep true. Classes that commands print have the lines and tables of these, too; a robot has its
legs, its actuators and a small picture. All names are escaped.
"""

from __future__ import annotations

import base64
import dataclasses
import importlib
import inspect
import io
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from nacelle.errors import NacelleError, format_count
from nacelle.kinematics.flags import Flag
from nacelle.kinematics.mechanism.check import check_robot
from nacelle.model.robot import Robot
from nacelle.page.markup import element, escape_text, format_number, table
from nacelle.report.flagged import flag_line
from nacelle.report.results.quantities import quantities
from nacelle.report.results.quantity import ResultQuantity, robot_of_result
from nacelle.report.summary import counts_line, sections, summary
from nacelle.report.table import Part, first_rows, parts_html, plain_table

# ---- the lines and tables of commands


# Rows of a long list that are shown.
MAX_ROWS = 24
# Columns of a text.
_COLUMNS = 110
# The module below `nacelle.report` and the function that give the parts of a result, by its class.
_PARTS = {
    "Check": ("notebook", "check_parts"),
    "Mobility": ("notebook", "mobility_parts"),
    "Simulation": ("simulation", "run_lines"),
    "ControlRun": ("control", "run_parts"),
    "Comparison": ("control", "comparison_parts"),
    "VisualFeedbackComparison": ("control", "visual_comparison_parts"),
    "Observation": ("vision", "observation_parts"),
    "Sizing": ("loads", "sizing_parts"),
    "TimeOptimal": ("motion", "motion_parts"),
    "OptimisedPath": ("motion", "path_parts"),
    "PeakReactions": ("loads", "reaction_parts"),
    "GravityBalance": ("loads", "balance_parts"),
    "ShapedMotion": ("vibrations", "shaped_parts"),
    "NaturalFrequencies": ("vibrations", "modes_parts"),
    "FrequencyMap": ("vibrations", "frequency_map_parts"),
    "Workspace": ("workspace", "workspace_lines"),
    "WorkspaceBoundary": ("workspace", "reach_lines"),
    "BaseParameters": ("parameters", "base_parts"),
    "Excitation": ("parameters", "excitation_parts"),
    "Identification": ("parameters", "identification_parts"),
    "Validation": ("parameters", "validation_lines"),
    "Operations": ("operations", "operation_parts"),
}


def command_parts(result: Any) -> list[Part]:
    """What commands print of a result; nothing where its attributes say all."""
    for parent in type(result).__mro__:
        if parent.__name__ in _PARTS:
            home, function = _PARTS[parent.__name__]
            module = importlib.import_module(f"nacelle.report.{home}")
            return list(getattr(module, function)(result))
    return []


def check_parts(result: Any) -> list[Part]:
    """Errors and warnings of a description, and the robot's mobility."""
    problems = [str(problem) for problem in result.problems]
    verdict = f"{len(result.errors)} errors, {len(problems) - len(result.errors)} warnings"
    mobility = [] if result.mobility is None else mobility_parts(result.mobility)
    return [verdict, *problems[:MAX_ROWS], *mobility]


def mobility_parts(result: Any) -> list[Part]:
    """Mobility by counting and by rank, as lines of text."""
    from nacelle.report.summary import mobility_data, mobility_lines

    return mobility_lines(mobility_data(result))


# ---- descriptions of the attributes of a class


# Letters of a value that are shown, and entries of a short array.
_MAX_LENGTH, _MAX_ENTRIES = 110, 6


def attribute_descriptions(owner: type) -> dict[str, str]:
    """For every attribute that docstrings of a class and its parents list, what it is."""
    meaning_of: dict[str, str] = {}
    for parent in reversed(owner.__mro__):
        _, _, attributes = (inspect.cleandoc(parent.__doc__) if parent.__doc__ else "").partition(
            "\nAttributes:\n"
        )
        name = ""
        for line in attributes.splitlines():
            start = re.match(r"    (\w+): (.*)", line)
            if start:
                name = start[1]
                meaning_of[name] = start[2].strip()
            elif name and line.startswith("        "):
                meaning_of[name] += f" {line.strip()}"
            elif line and not line.startswith(" "):
                break
    return meaning_of


def public_fields(result: Any) -> list[str]:
    """Names of the public fields of a result; of what has none the attributes that its docstring lists."""
    if dataclasses.is_dataclass(result):
        names = [field.name for field in dataclasses.fields(result)]
    elif isinstance(result, tuple) and hasattr(result, "_fields"):
        names = list(result._fields)
    else:
        names = list(attribute_descriptions(type(result)))
    return [name for name in names if not name.startswith("_") and hasattr(result, name)]


def describe_value(value: Any) -> str:
    """A value in few words: numbers, sizes and ranges of arrays, counts of lists."""
    if value is None:
        return "none"
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, int | np.integer):
        return str(int(value))
    if isinstance(value, float | np.floating):
        return f"{float(value):.6g}"
    if isinstance(value, np.ndarray):
        return describe_array(value)
    if isinstance(value, str | Path):
        return _shorten(str(value)) or "none"
    if isinstance(value, Mapping):
        return _join_entries([str(key) for key in value], len(value))
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        return _join_entries([describe_value(entry) for entry in value[:_MAX_ENTRIES]], len(value))
    if inspect.isroutine(value) or inspect.isclass(value):
        return str(getattr(value, "__name__", value))
    return _shorten(" ".join(repr(value).split()))


def describe_array(values: np.ndarray[Any, Any]) -> str:
    """An array in few words: its numbers if they are few, else its shape and their range."""
    if not values.size:
        return f"no numbers, shape {values.shape}"
    if values.dtype.kind not in "bifc":
        return f"{values.size} entries, shape {values.shape}"
    if values.size <= _MAX_ENTRIES and values.ndim < 2:
        return ", ".join(f"{entry:.5g}" for entry in np.atleast_1d(values).tolist())
    shape = " × ".join(str(size) for size in values.shape)
    if values.dtype.kind == "b":
        return f"{shape}: yes at {int(np.count_nonzero(values))} of {values.size}"
    sizes = np.abs(values) if values.dtype.kind == "c" else values
    finite = sizes[np.isfinite(sizes)]
    span = f"{float(finite.min()):.4g} to {float(finite.max()):.4g}" if finite.size else "no finite number"
    missing = values.size - finite.size
    return f"{shape}: {span}" + (f", {missing} not finite" if missing and finite.size else "")


def _join_entries(entries: list[str], count: int) -> str:
    if not count:
        return "none"
    text_shown = ", ".join(entries[:_MAX_ENTRIES]) + (", …" if count > _MAX_ENTRIES else "")
    return (
        text_shown
        if count <= _MAX_ENTRIES and len(text_shown) <= _MAX_LENGTH
        else _shorten(f"{count}: {text_shown}")
    )


def _shorten(line: str) -> str:
    return line if len(line) <= _MAX_LENGTH else f"{line[: _MAX_LENGTH - 1]}…"


# ---- a robot


# Inches, and dots an inch.
_WIDTH, _HEIGHT, _DPI = 4.2, 3.4, 90


def robot_page(robot: Robot) -> str:
    """Name, counts, legs and actuators of a robot, next to its picture."""
    data = summary(check_robot(robot))
    parts = sections(data, robot)
    head = element(
        "p", element("b", escape_text(robot.name)), escape_text(f" {robot.title}" if robot.title else "")
    )
    lines = parts_html([f"{counts_line(data)}; hash {data['hash'][:16]}"])
    tables = parts_html([*parts.get("Legs", []), *parts["Actuators"]], MAX_ROWS)
    return element("div", element("div", head, lines, tables), _robot_image(robot), kind="nacelle")


def _robot_image(robot: Robot) -> str:
    """A picture of the robot in its reference pose, or a message that says why it cannot be drawn."""
    from nacelle.report.draw.canvas import fit_to_figure, new_axes
    from nacelle.report.draw.robot import plot_scene
    from nacelle.scene.configured import scene

    try:
        view = scene(robot)
        ax = new_axes(flat=view.across is not None, width=_WIDTH, height=_HEIGHT, shown=False)
        plot_scene(view, ax)
        fit_to_figure(ax)
        buffer = io.BytesIO()
        ax.figure.figure.savefig(buffer, format="png", dpi=_DPI, metadata={"Software": None})
    except NacelleError as error:
        return element("p", escape_text(f"no picture: {error}"))
    data = base64.b64encode(buffer.getvalue()).decode("ascii")
    return f'<img alt="{escape_text(robot.name)}" src="data:image/png;base64,{data}">'


# ---- any robot or result


def result_html(result: Any) -> str:
    """A robot or a result as HTML, never more than a few dozen rows."""
    if isinstance(result, Robot):
        return robot_page(result)
    special = parts_html(command_parts(result), MAX_ROWS)
    try:
        numbers = [_quantity(quantity) for quantity in quantities(result)]
    except NacelleError as error:
        numbers = [element("p", escape_text(f"no numbers: {error}"))]
    rest = _attribute_table(result)
    if special or numbers:
        # Most of it is above in more words.
        rest = element("details", element("summary", "attributes"), rest)
    return element(
        "div", _result_title(result), *_flag_paragraph(result), special, *numbers, rest, kind="nacelle"
    )


def text_of(result: Any) -> str:
    """A robot or a result as the text that a terminal shows: its parts, or a table of each quantity."""
    if isinstance(result, Robot):
        data = summary(check_robot(result))
        parts = sections(data, result)
        title = f"{result.name} {result.title}".rstrip()
        content: list[Part] = [title, counts_line(data), *parts.get("Legs", []), *parts["Actuators"]]
    else:
        content = command_parts(result) or [_quantity_table(quantity) for quantity in quantities(result)]
    if not content:
        meaning_of = attribute_descriptions(type(result))
        rows = [
            (name, escape(describe_value(getattr(result, name))), escape(meaning_of.get(name, "")))
            for name in public_fields(result)
            if name != "robot"
        ]
        content = [plain_table("attribute", "value", "meaning", rows=rows)]
    flags = getattr(result, "flags", None)
    note = flag_line(np.asarray(flags), "samples") if flags is not None else ""
    return parts_text([*content, *([note] if note else [])])


def parts_text(parts: Iterable[Part]) -> str:
    """Lines and tables as the text that a terminal shows."""
    printed = io.StringIO()
    console = Console(file=printed, width=_COLUMNS, highlight=False)
    for part in parts:
        console.print(escape(part) if isinstance(part, str) else part)
    return printed.getvalue().rstrip("\n")


def plain_data(result: Any) -> dict[str, Any]:
    """The public fields of a result as data that JSON can write; a robot by its name."""
    if isinstance(result, Robot):
        return summary(check_robot(result))
    return {name: _plain(getattr(result, name)) for name in public_fields(result)}


def _plain(value: Any) -> Any:
    """A value as numbers, texts, lists and mappings; infinite numbers and NaN are None."""
    if isinstance(value, Robot):
        return value.name
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    if isinstance(value, complex):
        return [_plain(value.real), _plain(value.imag)]
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return int(value) if isinstance(value, Flag) else value
    if isinstance(value, Mapping):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple | set | frozenset) and not hasattr(value, "_fields"):
        return [_plain(entry) for entry in value]
    if dataclasses.is_dataclass(value) or hasattr(value, "_fields"):
        return plain_data(value)
    return str(value)


def _quantity_table(quantity: ResultQuantity) -> Table:
    """The entries of a quantity as a table of the terminal."""
    names = [(escape(name), escape(unit)) for name, unit in zip(quantity.names, quantity.units, strict=True)]
    if quantity.single:
        rows = [
            (*name, _format_among(value, quantity.values))
            for name, value in zip(names, quantity.values, strict=True)
        ]
        return plain_table(escape(quantity.key), "unit", "value>", rows=rows)
    ranges = [(*name, *_range_cells(column)) for name, column in zip(names, quantity.values.T, strict=True)]
    return plain_table(escape(quantity.key), "unit", "lowest>", "mean>", "highest>", rows=ranges)


def _result_title(result: Any) -> str:
    title = element("b", escape_text(type(result).__name__))
    robot = robot_of_result(result)
    if robot is not None:
        title += escape_text(f" of {getattr(robot, 'name', robot)}")
    return element("p", title)


def _flag_paragraph(result: Any) -> list[str]:
    """What the flags of the samples say."""
    flags = getattr(result, "flags", None)
    if flags is None:
        return []
    values = np.asarray(flags)
    count = f"{format_count(values.size, 'sample')}, none flagged"
    return [element("p", escape_text(flag_line(values, "samples") or count))]


def _attribute_table(result: Any) -> str:
    """A row for each attribute: name, value, what it is."""
    meaning_of = attribute_descriptions(type(result))
    rows = [
        [
            escape_text(name),
            escape_text(describe_value(getattr(result, name))),
            escape_text(meaning_of.get(name, "")),
        ]
        for name in public_fields(result)
        if name not in ("robot", "flags")
    ]
    return table(("attribute", "value", "meaning"), first_rows(rows, MAX_ROWS))


def _quantity(quantity: ResultQuantity) -> str:
    """The entries of a quantity with units: their values, or lowest, mean and highest ones."""
    names = [
        (escape_text(name), escape_text(unit))
        for name, unit in zip(quantity.names, quantity.units, strict=True)
    ]
    head = escape_text(quantity.key)
    if quantity.single:
        rows = [
            [*name_cells, _format_among(value, quantity.values)]
            for name_cells, value in zip(names, quantity.values, strict=True)
        ]
        return table((head, "unit", "value>"), first_rows(rows, MAX_ROWS))
    ranges = [
        [*name_cells, *_range_cells(column)]
        for name_cells, column in zip(names, quantity.values.T, strict=True)
    ]
    return table((head, "unit", "lowest>", "mean>", "highest>"), first_rows(ranges, MAX_ROWS))


def _range_cells(values: Any) -> tuple[str, str, str]:
    finite = values[np.isfinite(values)]
    if not finite.size:
        return ("none",) * 3
    low, middle, high = (_format_among(of(finite), finite) for of in (np.min, np.mean, np.max))
    return low, middle, high


def _format_among(value: Any, among: Any) -> str:
    """A number in few digits; zero where it is rounding compared with the others."""
    finite = np.abs(among[np.isfinite(among)])
    tiny = 1e-14 * float(np.max(finite, initial=0.0))
    return format_number(0.0 if abs(value) <= tiny else float(value))
