"""The source of a description: YAML read to nodes that remember where they stand.

Only ruamel.yaml's event parser is used. The tree is built here, so that nothing but plain scalars,
lists and mappings can come out of a file, aliases cannot explode, and every node has its place.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from nacelle.errors import DescriptionError, Problem

MAX_BYTES = 128 * 1024
MAX_NODES = 6_000
MAX_DEPTH = 24

PlainScalar = str | int | float | bool | None


class Failed(str):
    """What stands in the place of a value that could not be found; errors about it are not repeated."""

    __slots__ = ()


@dataclass(frozen=True)
class Mark:
    """Where a node stands: line and column, counted from 1; 0 if made in Python."""

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
    """A scalar, a list of nodes or a mapping of nodes, with its place in the file.

    Attributes:
        value: the scalar, the list or the mapping.
        mark: where the value starts.
        keys: for a mapping, where each key stands.
        block: for a text in block style (| or >), the line before its first line; 0 otherwise.
        made_from: what it was made from, if it was not written as it is.
    """

    value: PlainScalar | list[Node] | dict[str, Node]
    mark: Mark = Mark()
    keys: dict[str, Mark] = field(default_factory=dict)
    block: int = 0
    made_from: Origin | None = None

    @property
    def origin(self) -> Origin:
        """What it was made from; a node that was written as it is comes from itself."""
        return self.made_from or Origin(self)

    def plain(self) -> Any:
        """Give the value as plain Python data."""
        if isinstance(self.value, dict):
            return {key: node.plain() for key, node in self.value.items()}
        if isinstance(self.value, list):
            return [node.plain() for node in self.value]
        return self.value

    def find(self, path: tuple[str | int, ...]) -> tuple[Mark, Node]:
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
        if isinstance(self.value, dict):
            for child in self.value.values():
                yield from child.walk()
        elif isinstance(self.value, list):
            for child in self.value:
                yield from child.walk()


@dataclass(frozen=True)
class Source:
    """A description before it is checked: the name of its file and its tree."""

    file: str
    root: Node

    def problem(
        self, path: tuple[str | int, ...], message: str, hint: str = "", severity: str = "error"
    ) -> Problem:
        """Say that something is wrong at a path."""
        mark, _ = self.root.find(path)
        return Problem(self.file, mark.line, mark.column, path_text(path), message, hint, severity)


def path_text(path: tuple[str | int, ...]) -> str:
    """Write a path as legs[0].joints.knee."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text


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

    def node(self, value: Any, path: tuple[str | int, ...]) -> Node:
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
                    raise self.fault(path, f"the key {name!r} stands twice", "remove or rename one")
                items[name] = self.node(item, (*path, name))
            return Node(items)
        if isinstance(value, list | tuple):
            return Node([self.node(item, (*path, k)) for k, item in enumerate(value)])
        return Node(self.scalar(value, path))

    def key(self, key: Any, path: tuple[str | int, ...]) -> str:
        if isinstance(key, int) and not isinstance(key, bool) and abs(key) < _LARGE:
            return str(int(key))
        if isinstance(key, str) and _is_key(key):
            return str.__str__(key)
        raise self.fault(path, "a key must be a plain name")

    def scalar(self, value: Any, path: tuple[str | int, ...]) -> PlainScalar:
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
            if not _is_text(value):
                raise self.fault(path, "the text holds half a character (a lone surrogate)")
            return str.__str__(value)
        kind = type(value).__name__
        raise self.fault(
            path, f"{kind} objects cannot stand in a description", "use mappings, lists, numbers and texts"
        )

    def fault(self, path: tuple[str | int, ...], message: str, hint: str = "") -> DescriptionError:
        return DescriptionError([Problem("<python>", 0, 0, path_text(path), message, hint)])


_LARGE = 10**400


def _is_text(text: str) -> bool:
    """Whether a text can be written as UTF-8; an escape in YAML may make half a character."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_key(text: str) -> bool:
    """Whether a text may be a key: one line, no control characters, not endless."""
    return len(text) <= 200 and text.isprintable()


_INT = re.compile(r"[-+]?[0-9]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_SPECIAL: dict[str, PlainScalar] = {
    "": None,
    "~": None,
    "null": None,
    "Null": None,
    "NULL": None,
    "true": True,
    "True": True,
    "TRUE": True,
    "false": False,
    "False": False,
    "FALSE": False,
    ".nan": float("nan"),
    ".inf": float("inf"),
    "+.inf": float("inf"),
    "-.inf": float("-inf"),
}


def _resolve(text: str) -> PlainScalar:
    """Read a plain scalar by the core schema of YAML 1.2."""
    if text in _SPECIAL:
        return _SPECIAL[text]
    if len(text) < 400:
        if _INT.fullmatch(text):
            return int(text)
        if _FLOAT.fullmatch(text):
            return float(text)
    return text


def read_yaml(text: str | bytes, file: str) -> Source:
    """Read the text of a YAML file to a tree of nodes.

    Raises:
        DescriptionError: one problem with its place, if the text is too large, is not YAML, uses
            tags, repeats a key, or nests or repeats (by aliases) too much.
    """
    if isinstance(text, bytes):
        text = _decode(text, file)
    if len(text) > MAX_BYTES:
        raise _fault(
            file,
            1,
            1,
            f"the file is too large: {len(text)} characters, at most {MAX_BYTES}",
            "a robot needs a few hundred lines",
        )
    try:
        return Source(file, _Builder(file, text).root())
    except MarkedYAMLError as fault:
        mark = fault.problem_mark or fault.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        what = " ".join(str(fault.problem or fault.context or "cannot be read").split())
        raise _fault(file, line, column, f"not YAML: {what}", _yaml_hint(what)) from None
    except YAMLError as fault:
        what = " ".join(str(fault).split())[:200]
        position = getattr(fault, "position", None)
        line = str(text).count("\n", 0, position) + 1 if isinstance(position, int) else 1
        raise _fault(file, line, 1, f"not YAML: {what}", "") from None
    except (
        ArithmeticError,
        AssertionError,
        AttributeError,
        LookupError,
        RecursionError,
        TypeError,
        ValueError,
    ):
        # The parser trips over a few malformed directives and escapes with errors of its own.
        raise _fault(file, 1, 1, "not YAML: the text cannot be read", "") from None


def _decode(data: bytes, file: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as fault:
        line = data.count(b"\n", 0, fault.start) + 1
        raise _fault(file, line, 1, "the file is not UTF-8 text", "save it as UTF-8") from None


def _yaml_hint(what: str) -> str:
    if "mapping values are not allowed" in what:
        return "quote texts that contain ': '"
    if "cannot start any token" in what and "\\t" in what:
        return "indent with spaces, not tabs"
    return ""


def _fault(file: str, line: int, column: int, message: str, hint: str) -> DescriptionError:
    return DescriptionError([Problem(file, line, column, "", message, hint)])


class _Builder:
    """Builds the tree from the parser's events and keeps count."""

    def __init__(self, file: str, text: str) -> None:
        self.file = file
        self.events = iter(YAML(typ="safe", pure=True).parse(text))
        self.count = 0
        self.anchors: dict[str, tuple[Node, int]] = {}

    def fault(self, event: Any, message: str, hint: str = "") -> DescriptionError:
        mark = _mark(event)
        return _fault(self.file, mark.line, mark.column, message, hint)

    def root(self) -> Node:
        node: Node | None = None
        for event in self.events:
            if isinstance(event, DocumentStartEvent):
                if node is not None:
                    raise self.fault(event, "a second document", "one robot a file: remove '---'")
                node = self.node(next(self.events), 0)
        if node is None or node.value is None:
            raise _fault(self.file, 1, 1, "the file is empty", "start with 'format: nacelle/1'")
        return node

    def node(self, event: Any, depth: int) -> Node:
        if isinstance(event, AliasEvent):
            return self.alias(event, depth)
        self.add(event, 1)
        if depth > MAX_DEPTH:
            raise self.fault(event, f"nested deeper than {MAX_DEPTH} levels")
        tag = getattr(event, "tag", None) or getattr(event, "ctag", None)
        if tag is not None and str(tag) not in ("", "!", "None"):
            raise self.fault(event, f"the tag {str(tag)[:40]!r} is not allowed", "remove it")
        before = self.count
        if isinstance(event, ScalarEvent):
            node = self.scalar(event)
        elif isinstance(event, SequenceStartEvent):
            node = self.sequence(event, depth)
        elif isinstance(event, MappingStartEvent):
            node = self.mapping(event, depth)
        else:
            raise self.fault(event, "not YAML: the text cannot be read")
        if event.anchor is not None:
            self.anchors[event.anchor] = (node, self.count - before + 1)
        return node

    def add(self, event: Any, nodes: int) -> None:
        self.count += nodes
        if self.count > MAX_NODES:
            raise self.fault(
                event,
                f"more than {MAX_NODES} values, aliases counted",
                "a robot needs a few thousand at most",
            )

    def alias(self, event: Any, depth: int) -> Node:
        if event.anchor not in self.anchors:
            raise self.fault(event, f"the alias *{event.anchor[:40]} has no anchor before it")
        node, size = self.anchors[event.anchor]
        self.add(event, size)
        if depth + _height(node) > MAX_DEPTH:
            raise self.fault(event, f"nested deeper than {MAX_DEPTH} levels")
        return node

    def scalar(self, event: Any) -> Node:
        plain = event.style in (None, "")
        block = event.style in ("|", ">")
        value = _resolve(event.value) if plain else event.value
        if isinstance(value, str) and not _is_text(value):
            raise self.fault(event, "the text holds half a character (a lone surrogate)")
        mark = _mark(event)
        return Node(value, mark, block=mark.line if block else 0)

    def sequence(self, event: Any, depth: int) -> Node:
        items = []
        for item in self.events:
            if isinstance(item, SequenceEndEvent):
                break
            items.append(self.node(item, depth + 1))
        return Node(items, _mark(event))

    def mapping(self, event: Any, depth: int) -> Node:
        items: dict[str, Node] = {}
        keys: dict[str, Mark] = {}
        for item in self.events:
            if isinstance(item, MappingEndEvent):
                break
            if not isinstance(item, ScalarEvent) or not _is_key(item.value):
                raise self.fault(item, "a key must be a plain name")
            self.add(item, 1)
            key = item.value
            if key == "<<":
                raise self.fault(item, "merge keys are not YAML 1.2", "use templates instead")
            if key in items:
                raise self.fault(item, f"the key {key!r} stands twice", "remove or rename one")
            keys[key] = _mark(item)
            items[key] = self.node(next(self.events), depth + 1)
        return Node(items, _mark(event), keys)


def _height(node: Node) -> int:
    """Levels below a node."""
    children: Any = node.value.values() if isinstance(node.value, dict) else node.value
    if not isinstance(node.value, dict | list):
        return 0
    return 1 + max((_height(child) for child in children), default=0)


def _mark(event: Any) -> Mark:
    return Mark(event.start_mark.line + 1, event.start_mark.column + 1)
