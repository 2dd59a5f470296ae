"""Reads a description in YAML into a tree of nodes that know their position in the file.

Only ruamel.yaml's event parser is used. The tree is built here, for three reasons: a file can contain nothing
but plain scalars, lists and mappings; aliases within aliases cannot grow without bound; and every node keeps
its line and column for messages.
"""

from __future__ import annotations

import re
from typing import Any

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

from nacelle.errors import DescriptionError
from nacelle.model.source.node import (
    MAX_BYTES,
    MAX_DEPTH,
    MAX_NODES,
    Mark,
    Node,
    PlainScalar,
    Source,
    file_error,
    is_key,
    is_text,
)

_INT = re.compile(r"[-+]?[0-9]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_SPECIAL: dict[str, PlainScalar] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **{".nan": float("nan"), ".inf": float("inf"), "+.inf": float("inf"), "-.inf": float("-inf")},
}


def _resolve(text: str) -> PlainScalar:
    """Read a plain (unquoted) scalar: null, booleans and decimal numbers as in YAML 1.2, all else as text."""
    if text in _SPECIAL:
        return _SPECIAL[text]
    # Python refuses whole numbers of more than 4300 digits; nobody writes 400.
    if len(text) < 400:
        if _INT.fullmatch(text):
            return int(text)
        if _FLOAT.fullmatch(text):
            return float(text)
    return text


def read_yaml(text: str | bytes, file: str) -> Source:
    """Read the text of a YAML file into a tree of nodes.

    Args:
        text: the text, or its bytes in UTF-8.
        file: the name of the file, for messages.

    Raises:
        DescriptionError: with the first problem and its position, if the text is too large, is not YAML,
            uses tags, repeats a key, nests too deeply or, aliases counted, has too many values.
    """
    if isinstance(text, bytes):
        text = _decode(text, file)
    if len(text) > MAX_BYTES:
        message = f"the file is too large: {len(text)} characters, at most {MAX_BYTES}"
        raise file_error(file, message, "a robot needs a few hundred lines", 1)
    try:
        return Source(file, _YamlReader(file, text).root())
    except MarkedYAMLError as fault:
        mark = fault.problem_mark or fault.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        reason = " ".join(str(fault.problem or fault.context or "cannot be read").split())
        raise file_error(file, f"not YAML: {reason}", _yaml_hint(reason), line, column) from None
    except YAMLError as fault:
        reason = " ".join(str(fault).split())[:200]
        position = getattr(fault, "position", None)
        line = str(text).count("\n", 0, position) + 1 if isinstance(position, int) else 1
        raise file_error(file, f"not YAML: {reason}", line=line) from None
    except (
        ArithmeticError,
        AssertionError,
        AttributeError,
        LookupError,
        RecursionError,
        TypeError,
        ValueError,
    ):
        # Some malformed directives and escapes make the parser itself fail, with these built-in exceptions.
        raise file_error(file, "not YAML: the text cannot be read", line=1) from None


def _decode(data: bytes, file: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as fault:
        line = data.count(b"\n", 0, fault.start) + 1
        raise file_error(file, "the file is not UTF-8 text", "save it as UTF-8", line) from None


def _yaml_hint(reason: str) -> str:
    """Advice for a common error of the parser; empty for others."""
    if "mapping values are not allowed" in reason:
        return "quote texts that contain ': '"
    if "cannot start any token" in reason and "\\t" in reason:
        return "indent with spaces, not tabs"
    return ""


class _YamlReader:
    """Builds the tree from the parser's events and counts its values.

    Attributes:
        file: the name of the file, for messages.
        events: the parser's events that are not yet read.
        count: values so far, keys and aliases counted.
        anchors: for each anchor its node, and how many values that has.
    """

    def __init__(self, file: str, text: str) -> None:
        self.file = file
        self.events = iter(YAML(typ="safe", pure=True).parse(text))
        self.count = 0
        self.anchors: dict[str, tuple[Node, int]] = {}

    def fault(self, event: Any, message: str, hint: str = "") -> DescriptionError:
        """An error at the position of an event."""
        mark = _mark(event)
        return file_error(self.file, message, hint, mark.line, mark.column)

    def root(self) -> Node:
        """Read the one document of the file."""
        node: Node | None = None
        for event in self.events:
            if isinstance(event, DocumentStartEvent):
                if node is not None:
                    raise self.fault(event, "a second document", "one robot a file: remove '---'")
                node = self.node(next(self.events), 0)
        if node is None or node.value is None:
            raise file_error(self.file, "the file is empty", "start with 'format: nacelle/1'", 1)
        return node

    def node(self, event: Any, depth: int) -> Node:
        """Read the node that begins with an event, `depth` levels below the root."""
        if isinstance(event, AliasEvent):
            return self.alias(event, depth)
        self.add(event, 1)
        if depth > MAX_DEPTH:
            raise self.fault(event, f"nested deeper than {MAX_DEPTH} levels")
        tag = getattr(event, "tag", None) or getattr(event, "ctag", None)
        if tag is not None and str(tag) not in ("", "!", "None"):
            raise self.fault(event, f"the tag {str(tag)[:40]!r} is not allowed", "remove it")
        count_before = self.count
        if isinstance(event, ScalarEvent):
            node = self.scalar(event)
        elif isinstance(event, SequenceStartEvent):
            node = self.sequence(event, depth)
        elif isinstance(event, MappingStartEvent):
            node = self.mapping(event, depth)
        else:
            raise self.fault(event, "not YAML: the text cannot be read")
        if event.anchor is not None:
            self.anchors[event.anchor] = (node, self.count - count_before + 1)
        return node

    def add(self, event: Any, nodes: int) -> None:
        """Count values, and refuse too many."""
        self.count += nodes
        if self.count > MAX_NODES:
            raise self.fault(
                event,
                f"more than {MAX_NODES} values, aliases counted",
                "a robot needs a few thousand at most",
            )

    def alias(self, event: Any, depth: int) -> Node:
        """The node of an alias's anchor; it counts as if it were written again."""
        if event.anchor not in self.anchors:
            raise self.fault(event, f"the alias *{event.anchor[:40]} has no anchor before it")
        node, size = self.anchors[event.anchor]
        self.add(event, size)
        if depth + _height(node) > MAX_DEPTH:
            raise self.fault(event, f"nested deeper than {MAX_DEPTH} levels")
        return node

    def scalar(self, event: Any) -> Node:
        """Read a scalar: quoted ones and blocks are text."""
        plain = event.style in (None, "")
        block = event.style in ("|", ">")
        value = _resolve(event.value) if plain else event.value
        if isinstance(value, str) and not is_text(value):
            raise self.fault(event, "the text holds half a character (a lone surrogate)")
        mark = _mark(event)
        return Node(value, mark, block=mark.line if block else 0)

    def sequence(self, event: Any, depth: int) -> Node:
        """Read a list."""
        items = []
        for item in self.events:
            if isinstance(item, SequenceEndEvent):
                break
            items.append(self.node(item, depth + 1))
        return Node(items, _mark(event))

    def mapping(self, event: Any, depth: int) -> Node:
        """Read a mapping; its keys are plain names, each given once."""
        items: dict[str, Node] = {}
        keys: dict[str, Mark] = {}
        for item in self.events:
            if isinstance(item, MappingEndEvent):
                break
            if not isinstance(item, ScalarEvent) or not is_key(item.value):
                raise self.fault(item, "a key must be a plain name")
            self.add(item, 1)
            key = item.value
            if key == "<<":
                raise self.fault(item, "merge keys are not YAML 1.2", "use templates instead")
            if key in items:
                raise self.fault(item, f"the key {key!r} is given twice", "remove or rename one")
            keys[key] = _mark(item)
            items[key] = self.node(next(self.events), depth + 1)
        return Node(items, _mark(event), keys)


def _height(node: Node) -> int:
    """Number of levels of lists and mappings from a node downwards; 0 for a scalar."""
    below = max((_height(child) for child in node.children), default=0)
    return 1 + below if isinstance(node.value, dict | list) else 0


def _mark(event: Any) -> Mark:
    """The position of an event, counted from 1 (the parser counts from 0)."""
    return Mark(event.start_mark.line + 1, event.start_mark.column + 1)
