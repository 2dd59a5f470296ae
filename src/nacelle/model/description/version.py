"""The versions of the format: what each may say that the one before could not.

A description names its version (`format: nacelle/2`). Everything of an older version means the same in a
newer one, so an old file loads unchanged; what is new in an old file is an error at its place, with the
version to write. A robot is written in the oldest version that says it.

What a new key needs, in addition to its pydantic field, is a line in `NEW`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

from nacelle.errors import Problem
from nacelle.model.platform import NAMED_MOTIONS
from nacelle.model.source.node import KeyPath, Node, Source

Format = Literal["nacelle/1", "nacelle/2"]
OLDEST: Format = "nacelle/1"
NEWEST: Format = "nacelle/2"
# The key of the moving body, at the top and in the placement of a leg, and its older name in both versions.
PLATFORM_KEY, OLDER_KEY = "platform", "nacelle"


def _accept_any(_value: Any) -> bool:
    return True


@dataclass(frozen=True)
class New:
    """Something that a description may say since nacelle/2.

    Attributes:
        subject: what it is, as the subject of a sentence in the plural.
        path: keys that lead to it; "*" is any key or place in a list. It begins with a key, or with "**" and
            a key, which means that key in any mapping.
        value: whether a value there is the new thing; any value if not given.
        absent: the key at this path is needed in nacelle/1, and new is that it may be left out or be empty.
    """

    subject: str
    path: tuple[str, ...]
    value: Callable[[Any], bool] = _accept_any
    absent: bool = False


def _is_named_motion(value: Any) -> bool:
    return isinstance(value, str) and value in NAMED_MOTIONS


def _is_leg_reference(value: Any) -> bool:
    return isinstance(value, str) and "." in value


def _equals(word: str) -> Callable[[Any], bool]:
    return lambda value: bool(value == word)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


NEW: tuple[New, ...] = (
    New("robots without a platform", ("platform",), absent=True),
    New("robots without legs", ("legs",), absent=True),
    New("named motions in a list", ("motion", "*"), _is_named_motion),
    New("named motions in a list", ("modes", "*", "motion", "*"), _is_named_motion),
    New("joints of legs as coordinates", ("motion", "*"), _is_leg_reference),
    New("joints of legs as coordinates", ("modes", "*", "motion", "*"), _is_leg_reference),
    New("couplings", ("couplings",)),
    New("couplings", ("platform", "couplings")),
    New("couplings", ("legs", "*", "couplings")),
    New("couplings", ("templates", "*", "couplings")),
    New("screw joints", ("**", "joints", "*", "type"), _equals("screw")),
    New("screw joints", ("**", "closures", "*", "type"), _equals("screw")),
    New("constant-velocity joints", ("**", "joints", "*", "type"), _equals("constant-velocity")),
    New("constant-velocity joints", ("**", "closures", "*", "type"), _equals("constant-velocity")),
    New("choices for idle spins", ("**", "spin"), _is_text),
    New("springs between bodies", ("springs",)),
    New("springs between bodies", ("legs", "*", "springs")),
    New("dampers between bodies", ("dampers",)),
    New("dampers between bodies", ("legs", "*", "dampers")),
    New("torsion springs", ("torsion_springs",)),
    New("torsion springs", ("legs", "*", "torsion_springs")),
    New("payloads on bodies of legs", ("payload", "*", "body"), _is_leg_reference),
    New("end stops", ("**", "joints", "*", "stop")),
    New("end stops", ("**", "closures", "*", "stop")),
    New("end stops", ("legs", "*", "elements", "*", "*", "stop")),
    New("end stops", ("legs", "*", "end", "stop")),
    New("guesses in the reference", ("**", "reference", "guess")),
)


def rename_older_keys(source: Source) -> tuple[Source, list[Problem]]:
    """The source with `platform` where `nacelle` is written, which names that body by default.

    Both in one mapping are an error.
    """
    problems: list[Problem] = []

    def rename(node: Node, path: KeyPath) -> Node:
        assert isinstance(node.value, dict)
        if OLDER_KEY not in node.value:
            return node
        if PLATFORM_KEY in node.value:
            message = f"{OLDER_KEY!r} is the older name of {PLATFORM_KEY!r}, which is given, too"
            problems.append(source.problem((*path, OLDER_KEY), message, "keep one of them"))
            return node
        items = {PLATFORM_KEY if key == OLDER_KEY else key: value for key, value in node.value.items()}
        keys = {PLATFORM_KEY if key == OLDER_KEY else key: mark for key, mark in node.keys.items()}
        return replace(node, value=items, keys=keys)

    def below(node: Node, path: KeyPath) -> Node:
        if isinstance(node.value, list):
            return replace(node, value=[below(child, (*path, k)) for k, child in enumerate(node.value)])
        if not isinstance(node.value, dict):
            return node
        node = replace(node, value={key: below(child, (*path, key)) for key, child in node.value.items()})
        is_placement = "placement" in path[-1:] or "placements" in path[-2:-1]
        return rename(node, path) if is_placement else node

    older_body = source.root.value.get(OLDER_KEY) if isinstance(source.root.value, dict) else None
    root = below(source.root, ())
    if isinstance(root.value, dict):
        root = rename(root, ())
        assert isinstance(root.value, dict)
        body = root.value.get(PLATFORM_KEY)
        if older_body is not None and body is not None and isinstance(body.value, dict):
            named = {"name": Node(OLDER_KEY, body.mark)} | body.value
            root = replace(root, value=root.value | {PLATFORM_KEY: replace(body, value=named)})
    return replace(source, root=root), problems


def problems_of_version(source: Source) -> list[Problem]:
    """What a source says that its version of the format does not have, each at its place."""
    data = source.root.plain()
    if data.get("format") != OLDEST:
        return []
    return [
        source.problem(
            path,
            f"missing key {path[-1]!r}" if new.absent else f"{new.subject} are not in {OLDEST}",
            f"{new.subject} need format: {NEWEST}" if new.absent else f"write format: {NEWEST}",
        )
        for new, path in _new_entries(data)
    ]


def oldest_format(data: dict[str, Any]) -> Format:
    """The oldest version of the format that can say some data."""
    return OLDEST if next(_new_entries(data), None) is None else NEWEST


def _new_entries(data: Any) -> Iterator[tuple[New, KeyPath]]:
    """Everything in some data that is new in nacelle/2, with its key path."""
    mappings = list(_mappings(data, ()))
    for new in NEW:
        if new.absent:
            if isinstance(data, dict) and not data.get(new.path[0]):
                yield new, new.path
            continue
        anywhere = new.path[0] == "**"
        rest = new.path[1:] if anywhere else new.path
        for path, mapping in mappings if anywhere else mappings[:1]:
            if rest[0] in mapping:
                yield from ((new, at) for at, value in _at(mapping, rest, path) if new.value(value))


def _mappings(data: Any, path: KeyPath) -> Iterator[tuple[KeyPath, dict[str, Any]]]:
    """All mappings in some data, the outermost first, each with its key path."""
    if isinstance(data, dict):
        yield path, data
    for key, value in _entries(data):
        if isinstance(value, dict | list | tuple):
            yield from _mappings(value, (*path, key))


def _at(data: Any, pattern: tuple[str, ...], path: KeyPath) -> Iterator[tuple[KeyPath, Any]]:
    """Values at the places that a pattern describes."""
    if not pattern:
        yield path, data
        return
    first, rest = pattern[0], pattern[1:]
    for key, value in _entries(data):
        if first in ("*", key):
            yield from _at(value, rest, (*path, key))


def _entries(data: Any) -> Iterator[tuple[str | int, Any]]:
    if isinstance(data, dict):
        yield from data.items()
    elif isinstance(data, list | tuple):
        yield from enumerate(data)
