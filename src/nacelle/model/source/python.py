"""Python data as the source of a description, wrapped as nodes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from nacelle.errors import DescriptionError, Problem
from nacelle.model.source.node import (
    MAX_BYTES,
    MAX_DEPTH,
    MAX_NODES,
    KeyPath,
    Node,
    PlainScalar,
    is_key,
    is_text,
    path_text,
)

_LARGE = 10**400


def node_from_python(value: Any) -> Node:
    """Wrap plain Python data (mappings, lists, tuples, numbers, texts, NumPy arrays) as nodes.

    Raises:
        DescriptionError: one problem with its path, if the data hold other things, or nest or repeat
            (a list that holds itself) too much.
    """
    return _PythonReader().node(value, ())


class _PythonReader:
    """Wraps Python data and keeps count."""

    def __init__(self) -> None:
        self.count = 0
        self.characters = 0

    def node(self, value: Any, path: KeyPath) -> Node:
        self.count += 1
        if self.count > MAX_NODES:
            raise self.fault(path[:3], f"more than {MAX_NODES} values")
        if len(path) > MAX_DEPTH:
            raise self.fault(path[:3], f"nested deeper than {MAX_DEPTH} levels")
        if isinstance(value, np.ndarray | np.generic):
            if value.size > MAX_NODES:
                raise self.fault(path, f"more than {MAX_NODES} values")
            value = value.tolist()
        if isinstance(value, dict):
            items: dict[str, Node] = {}
            for key, item in value.items():
                name = self.key(key, path)
                if name in items:
                    raise self.fault(path, f"the key {name!r} is given twice", "remove or rename one")
                items[name] = self.node(item, (*path, name))
            return Node(items)
        if isinstance(value, list | tuple):
            return Node([self.node(item, (*path, k)) for k, item in enumerate(value)])
        return Node(self.scalar(value, path))

    def key(self, key: Any, path: KeyPath) -> str:
        if isinstance(key, int) and not isinstance(key, bool) and abs(key) < _LARGE:
            return str(int(key))
        if isinstance(key, str) and is_key(key):
            return str.__str__(key)
        raise self.fault(path, "a key must be a plain name")

    def scalar(self, value: Any, path: KeyPath) -> PlainScalar:
        # Subclasses (flags, texts with methods of their own) become what they stand for.
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, int):
            # An integer of more digits than a float can hold is as good as infinite.
            return int(value) if abs(value) < _LARGE else math.inf if value > 0 else -math.inf
        if isinstance(value, float):
            return float(value)
        if isinstance(value, str):
            self.characters += len(value)
            if self.characters > MAX_BYTES:
                raise self.fault(path, f"more than {MAX_BYTES} characters of text")
            if not is_text(value):
                raise self.fault(path, "the text holds half a character (a lone surrogate)")
            return str.__str__(value)
        kind = type(value).__name__
        raise self.fault(
            path, f"{kind} objects cannot be part of a description", "use mappings, lists, numbers and texts"
        )

    def fault(self, path: KeyPath, message: str, hint: str = "") -> DescriptionError:
        return DescriptionError([Problem("<python>", 0, 0, path_text(path), message, hint)])
