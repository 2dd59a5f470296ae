"""What the attributes of a class mean, in the words of its docstrings, and values in few words.

A docstring says of every attribute what it is, with dimensions and units; tables of notebooks repeat that,
so that there is no second list to keep true.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

# Letters of a value that are shown, and entries of a short array.
_LONG, _FEW = 110, 6


def meanings(owner: type) -> dict[str, str]:
    """For every attribute that docstrings of a class and its parents list, what it is."""
    found: dict[str, str] = {}
    for one in reversed(owner.__mro__):
        _, _, listed = (inspect.cleandoc(one.__doc__) if one.__doc__ else "").partition("\nAttributes:\n")
        name = ""
        for line in listed.splitlines():
            start = re.match(r"    (\w+): (.*)", line)
            if start:
                name = start[1]
                found[name] = start[2].strip()
            elif name and line.startswith("        "):
                found[name] += f" {line.strip()}"
            elif line and not line.startswith(" "):
                break
    return found


def public_fields(result: Any) -> list[str]:
    """Names of the public fields of a result; of what has none the attributes that its docstring lists."""
    if dataclasses.is_dataclass(result):
        names = [field.name for field in dataclasses.fields(result)]
    elif isinstance(result, tuple) and hasattr(result, "_fields"):
        names = list(result._fields)
    else:
        names = list(meanings(type(result)))
    return [name for name in names if not name.startswith("_") and hasattr(result, name)]


def in_words(value: Any) -> str:
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
        return array_words(value)
    if isinstance(value, str | Path):
        return _shortened(str(value)) or "none"
    if isinstance(value, Mapping):
        return _listed([str(key) for key in value], len(value))
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        return _listed([in_words(entry) for entry in value[:_FEW]], len(value))
    if inspect.isroutine(value) or inspect.isclass(value):
        return str(getattr(value, "__name__", value))
    return _shortened(" ".join(repr(value).split()))


def array_words(values: np.ndarray[Any, Any]) -> str:
    """An array in few words: its numbers if they are few, else its shape and their range."""
    if not values.size:
        return f"no numbers, shape {values.shape}"
    if values.dtype.kind not in "bifc":
        return f"{values.size} entries, shape {values.shape}"
    if values.size <= _FEW and values.ndim < 2:
        return ", ".join(f"{entry:.5g}" for entry in np.atleast_1d(values).tolist())
    shape = " × ".join(str(size) for size in values.shape)
    if values.dtype.kind == "b":
        return f"{shape}: yes at {int(np.count_nonzero(values))} of {values.size}"
    sizes = np.abs(values) if values.dtype.kind == "c" else values
    finite = sizes[np.isfinite(sizes)]
    span = f"{float(finite.min()):.4g} to {float(finite.max()):.4g}" if finite.size else "no finite number"
    missing = values.size - finite.size
    return f"{shape}: {span}" + (f", {missing} not finite" if missing and finite.size else "")


def _listed(words: list[str], count: int) -> str:
    if not count:
        return "none"
    shown = ", ".join(words[:_FEW]) + (", …" if count > _FEW else "")
    return shown if count <= _FEW and len(shown) <= _LONG else _shortened(f"{count}: {shown}")


def _shortened(words: str) -> str:
    return words if len(words) <= _LONG else f"{words[: _LONG - 1]}…"
