"""What somebody wrote, as a tree: nodes that remember where they are, or that wrap Python data."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from nacelle.errors import DescriptionError, Problem

MAX_BYTES = 256 * 1024
MAX_NODES = 16_000
MAX_DEPTH = 24
# An integer of more digits than a float can hold is as good as infinite.
_LARGE = 10**400

# Keys and places in lists that lead to a value.
KeyPath = tuple[str | int, ...]
# Takes where something is wrong, what, and a hint.
Report = Callable[[KeyPath, str, str], None]
PlainScalar = str | int | float | bool | None


class Entry(NamedTuple):
    """A value as it is written, and the keys that lead to it."""

    value: Any
    path: KeyPath


class FailedValue(str):
    """What stands in the place of a value that could not be found; errors about it are not repeated."""

    __slots__ = ()


@dataclass(frozen=True)
class Mark:
    """Where a node is: line and column, counted from 1; 0 if made in Python."""

    line: int = 0
    column: int = 0


@dataclass(frozen=True)
class Origin:
    """What a value was made from: a part of a node that somebody wrote, times a factor.

    Attributes:
        node: the node as written; None for what nobody wrote (the angles of a count).
        part: which of several values of the node; -1 for its only one.
        scale: the factor.
    """

    node: Node | None
    part: int = -1
    scale: float = 1.0


@dataclass
class Node:
    """A scalar, a list of nodes or a mapping of nodes, with its position in the file.

    Attributes:
        value: the scalar, the list or the mapping.
        mark: where the value starts.
        keys: for a mapping, where each key is.
        block: for a text in block style (| or >), the line before its first line; 0 otherwise.
        origin_if_derived: what it was made from, if it was not written as it is.
    """

    value: PlainScalar | list[Node] | dict[str, Node]
    mark: Mark = Mark()
    keys: dict[str, Mark] = field(default_factory=dict)
    block: int = 0
    origin_if_derived: Origin | None = None

    @property
    def origin(self) -> Origin:
        """What it was made from; a node that was written as it is comes from itself."""
        return self.origin_if_derived or Origin(self)

    @property
    def children(self) -> list[Node]:
        """The nodes right below it."""
        if isinstance(self.value, dict):
            return list(self.value.values())
        return self.value if isinstance(self.value, list) else []

    def plain(self) -> Any:
        """Give the value as plain Python data."""
        if isinstance(self.value, dict):
            return {key: node.plain() for key, node in self.value.items()}
        if isinstance(self.value, list):
            return [node.plain() for node in self.value]
        return self.value

    def find(self, path: KeyPath) -> tuple[Mark, Node]:
        """Follow a path as far as it leads; give the mark of the last key or node, and the node.

        Steps that the tree does not have (names of alternatives in a validator's path) are passed
        over.
        """
        node, mark = self, self.mark
        for step in path:
            if isinstance(node.value, dict) and str(step) in node.value:
                child = node.value[str(step)]
                mark = node.keys.get(str(step)) or child.mark
                node = child
            elif isinstance(node.value, list) and isinstance(step, int) and step < len(node.value):
                node = node.value[step]
                mark = node.mark
        return mark, node

    def walk(self) -> Iterator[Node]:
        """Give this node and all nodes below it."""
        yield self
        for child in self.children:
            yield from child.walk()


@dataclass(frozen=True)
class Source:
    """A description before it is checked: the name of its file and its tree."""

    file: str
    root: Node

    def problem(self, path: KeyPath, message: str, hint: str = "", severity: str = "error") -> Problem:
        """Say that something is wrong at a path."""
        mark, _ = self.root.find(path)
        return Problem(self.file, mark.line, mark.column, path_text(path), message, hint, severity)


def file_error(file: str, message: str, hint: str = "", line: int = 0, column: int = 0) -> DescriptionError:
    """An error of a file, at its place; a line without a column is meant from its beginning."""
    return DescriptionError([Problem(file, line, column or min(line, 1), "", message, hint)])


def path_text(path: KeyPath) -> str:
    """Write a path as legs[0].joints.knee."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text


def is_text(text: str) -> bool:
    """Whether a text can be written as UTF-8; an escape in YAML may make half a character."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def is_key(text: str) -> bool:
    """Whether a text may be a key: one line, no control characters, not endless."""
    return len(text) <= 200 and text.isprintable()


# ---- Python data as nodes


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
