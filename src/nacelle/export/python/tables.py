"""Tables of numbers as lines of Python, for the targets whose functions are written in it."""

from __future__ import annotations

from nacelle.spatial.scalar import Array


def list_of_lists(name: str, values: Array) -> list[str]:
    """Write a table of numbers as a list of lists."""
    lines = [f"{name} = ["]
    for row in values.tolist():
        texts = [repr(value) for value in row]
        pieces = [", ".join(texts[k : k + 4]) for k in range(0, len(texts), 4)]
        lines.append("    [" + ",\n     ".join(pieces) + "],")
    return [*lines, "]"]
