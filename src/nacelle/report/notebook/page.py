"""Any robot or result as a table for notebooks: what it is, its numbers with units, flags in words.

One rule for all: a table of each quantity of the result, of many samples the lowest, mean and highest value,
then a row for each attribute with the words of the class's docstring. Few classes have more to say
(`particular`). All names are escaped.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from nacelle.errors import NacelleError, number_of
from nacelle.model.robot import Robot
from nacelle.page.markup import element, number, table, text
from nacelle.report.flagged import flag_line
from nacelle.report.notebook import particular
from nacelle.report.notebook.attributes import in_words, meanings, public_fields
from nacelle.report.results.described import quantities, robot_in
from nacelle.report.results.quantity import ResultQuantity

# Rows of a table that are shown.
MOST = 24


def html_of(result: Any) -> str:
    """A robot or a result as HTML, never more than a few dozen rows."""
    if isinstance(result, Robot):
        from nacelle.report.notebook.robot import robot_page

        return robot_page(result)
    special = particular.tables(result)
    try:
        numbers = [_quantity(one) for one in quantities(result)]
    except NacelleError as error:
        numbers = [element("p", text(f"no numbers: {error}"))]
    rest = _attributes(result)
    if special or numbers:
        # Most of it is above in more words.
        rest = element("details", element("summary", "attributes"), rest)
    return element("div", _head(result), *_flags(result), *special, *numbers, rest, kind="nacelle")


def _head(result: Any) -> str:
    words = element("b", text(type(result).__name__))
    robot = robot_in(result)
    if robot is not None:
        words += text(f" of {getattr(robot, 'name', robot)}")
    return element("p", words)


def _flags(result: Any) -> list[str]:
    """What the flags of the samples say."""
    flags = getattr(result, "flags", None)
    if flags is None:
        return []
    values = np.asarray(flags)
    count = f"{number_of(values.size, 'sample')}, none flagged"
    return [element("p", text(flag_line(values, "samples") or count))]


def _attributes(result: Any) -> str:
    """A row for each attribute: name, value, what it is."""
    listed = meanings(type(result))
    rows = [
        (text(name), text(in_words(getattr(result, name))), text(listed.get(name, "")))
        for name in public_fields(result)
        if name not in ("robot", "flags")
    ]
    return table(("attribute", "value", "meaning"), _shown(rows, 3))


def _quantity(one: ResultQuantity) -> str:
    """The entries of a quantity with units: their values, or lowest, mean and highest ones."""
    names = [(text(name), text(unit)) for name, unit in zip(one.names, one.units, strict=True)]
    head = text(one.key)
    if one.single:
        rows = [(*named, _few(value, one.values)) for named, value in zip(names, one.values, strict=True)]
        return table((head, "unit", "value>"), _shown(rows, 3))
    ranges = [(*named, *_range(column)) for named, column in zip(names, one.values.T, strict=True)]
    return table((head, "unit", "lowest>", "mean>", "highest>"), _shown(ranges, 5))


def _range(values: Any) -> tuple[str, str, str]:
    finite = values[np.isfinite(values)]
    if not finite.size:
        return ("none",) * 3
    low, middle, high = (_few(of(finite), finite) for of in (np.min, np.mean, np.max))
    return low, middle, high


def _few(value: Any, among: Any) -> str:
    """A number in few digits; zero where it is rounding beside the others."""
    finite = np.abs(among[np.isfinite(among)])
    tiny = 1e-14 * float(np.max(finite, initial=0.0))
    return number(0.0 if abs(value) <= tiny else float(value))


def _shown(rows: Iterable[tuple[str, ...]], columns: int) -> list[tuple[str, ...]]:
    """The first rows, and how many more there are."""
    listed = list(rows)
    if len(listed) <= MOST:
        return listed
    more = (f"… {len(listed) - MOST} more", *[""] * (columns - 1))
    return [*listed[:MOST], more]
