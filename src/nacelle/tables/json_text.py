"""Results as JSON text: arrays as lists, and null in the place of NaN and infinity."""

from __future__ import annotations

import json
import math
from typing import Any


def json_text(data: Any) -> str:
    """Data as indented JSON."""
    try:
        return json.dumps(data, indent=2, allow_nan=False, default=_as_list)
    except ValueError:
        return json.dumps(_without_nan(data), indent=2, allow_nan=False)


def _as_list(array: Any) -> Any:
    """An array of numbers as a list."""
    return array.tolist()


def _without_nan(data: Any) -> Any:
    """The same data as lists, with None in the place of what JSON has no number for: NaN and infinity."""
    if isinstance(data, dict):
        return {key: _without_nan(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_without_nan(value) for value in data]
    if hasattr(data, "tolist"):
        return _without_nan(_as_list(data))
    return None if isinstance(data, float) and not math.isfinite(data) else data
