"""Overrides: what one leg of a template has otherwise than the template says.

    legs:
      - repeat: leg
        count: 3
        override:
          leg3: {joints: {motor: {friction: {viscous: 0.2 N*m*s/rad}}}}

Mappings are merged key by key, everything else is replaced, and null takes a key away. Bodies, joints,
closures and elements are named, and must be there.
"""

from __future__ import annotations

from collections.abc import Mapping

from nacelle.errors import did_you_mean
from nacelle.model.source.node import KeyPath, Node
from nacelle.model.source.reference import Substitution

# Keys of a leg that may be overridden; the first ones hold things by name.
NAMED = ("bodies", "joints", "closures", "elements")
KEYS = (*NAMED, "end", "branch", "guess", "title", "placement")


def overridden(leg: Node, change: Node, substitution: Substitution, path: KeyPath) -> Node:
    """Give a leg, written in full, with changes.

    Args:
        leg: the leg; its table, if it had one, is expanded already.
        change: the changes, references resolved.
        substitution: takes what is wrong.
        path: of the changes.
    """
    assert isinstance(leg.value, dict)
    if not isinstance(change.value, dict):
        example = "{joints: {motor: {friction: {viscous: 0.2 N*m*s/rad}}}}"
        substitution.report(path, "override is a mapping of what differs", example, change.mark)
        return leg
    items, keys = dict(leg.value), dict(leg.keys)
    for key, value in change.value.items():
        place, mark = (*path, key), change.keys.get(key, change.mark)
        if key not in KEYS:
            substitution.report(place, f"{key!r} cannot be overridden", did_you_mean(key, KEYS), mark)
        elif key in NAMED:
            items[key] = _named(key, items.get(key), value, substitution, place)
        elif value.value is None:
            items.pop(key, None)
        else:
            items[key] = _merged(items.get(key), value)
            keys[key] = mark
    return Node(items, leg.mark, keys)


def _named(key: str, base: Node | None, change: Node, substitution: Substitution, path: KeyPath) -> Node:
    """Bodies, joints, closures or elements with changes of some of them."""
    base = Node({}, change.mark) if base is None else base
    if not isinstance(change.value, dict):
        substitution.report(path, f"{key} is a mapping of names to what differs", "", change.mark)
        return base
    if isinstance(base.value, list):
        return _listed(base, change, substitution, path)
    if not isinstance(base.value, dict):
        return base
    items, keys = dict(base.value), dict(base.keys)
    for name, value in change.value.items():
        mark = change.keys.get(name, change.mark)
        if name not in items:
            _missing(key, name, items, substitution, (*path, name), change)
        elif value.value is None:
            del items[name]
        else:
            items[name] = _merged(items[name], value)
            keys[name] = mark
    return Node(items, base.mark, keys)


def _listed(base: Node, change: Node, substitution: Substitution, path: KeyPath) -> Node:
    """Elements, a list of mappings that have names."""
    assert isinstance(base.value, list)
    assert isinstance(change.value, dict)
    entries = list(base.value)
    places: dict[str, int] = {}
    for k, entry in enumerate(entries):
        if isinstance(entry.value, dict) and "name" in entry.value:
            places[str(entry.value["name"].value)] = k
    for name, value in change.value.items():
        if name not in places:
            _missing("elements", name, places, substitution, (*path, name), change)
        else:
            entries[places[name]] = _merged(entries[places[name]], value)
    return Node(entries, base.mark)


def _missing(
    key: str, name: str, names: Mapping[str, object], substitution: Substitution, path: KeyPath, change: Node
) -> None:
    what = {"bodies": "body", "joints": "joint", "closures": "closure", "elements": "element"}[key]
    hint = did_you_mean(name, names) or f"it has no {key}"
    substitution.report(
        path, f"the template has no {what} {name!r}", hint, change.keys.get(name, change.mark)
    )


def _merged(base: Node | None, change: Node) -> Node:
    """Mappings merged key by key, null taken away; anything else is the change."""
    if base is None or not isinstance(base.value, dict) or not isinstance(change.value, dict):
        return change
    items, keys = dict(base.value), dict(base.keys)
    for key, value in change.value.items():
        if value.value is None:
            items.pop(key, None)
            continue
        items[key] = _merged(items.get(key), value)
        keys[key] = change.keys.get(key, change.mark)
    return Node(items, base.mark, keys)
