"""Constants, templates and repeated legs: from the written tree to one with every leg in full.

constants: {L: 300 mm}
templates:
strut: {parameters: {A: null, B: null}, joints: ..., ...}
legs:
- repeat: strut
table: [{name: leg1, A: 0 0 0 m, B: 10 0 0 mm}, ...]

Overrides: what one leg of a template has otherwise than the template says.

    legs:
      - repeat: leg
        count: 3
        override:
          leg3: {joints: {motor: {friction: {viscous: 0.2 N*m*s/rad}}}}

Mappings are merged key by key, everything else is replaced, and null takes a key away. Bodies, joints,
closures and elements are named, and must be there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from nacelle.errors import did_you_mean
from nacelle.model.source.khalil_kleinfinger import expand_table
from nacelle.model.source.node import KeyPath, Mark, Node, Origin, Source
from nacelle.model.source.reference import LEADING_NUMBERS, Scope, Substitution

# Keys of a leg that may be overridden; the first ones hold things by name, which are called so.
NAMED_ENTRIES = {"bodies": "body", "joints": "joint", "closures": "closure", "elements": "element"}
KEYS = (*NAMED_ENTRIES, "end", "branch", "guess", "title", "placement")
MAX_LEGS = 64

_REPEAT_KEYS = ["repeat", "count", "angles", "placements", "table", "names", "prefix", "with", "override"]
_TEXTS = ("name", "title", "notes", "sources")
# Keys that a line of a table may have in addition to parameters.
_OWN_KEYS = ("name", "placement", "branch", "guess", "override")
_SINGLE_KEYS = ("template", "with")


class ParameterValue(NamedTuple):
    """A parameter's value, and where it is given."""

    value: Node
    path: KeyPath
    mark: Mark


class Expander(Substitution):
    """Expands constants, templates and repeats of one source."""

    def __init__(self, source: Source) -> None:
        """Start on a source whose root is a mapping."""
        super().__init__(source)
        self.constants: dict[str, Node] = {}
        self.templates: dict[str, Node] = {}

    def expand(self) -> Node:
        """Give the tree without constants, templates and repeats."""
        root = self.source.root
        if not isinstance(root.value, dict):
            self.report((), "a description is a mapping", "start with 'format: nacelle/1'")
            return Node({})
        items = dict(root.value)
        self.read_constants(items.pop("constants", None))
        self.read_templates(items.pop("templates", None))
        legs = items.pop("legs", None)
        expanded = {
            key: node if key in _TEXTS else self.substitute(node, self.constants, (key,))
            for key, node in items.items()
        }
        if legs is not None:
            expanded["legs"] = self.legs(legs)
        return Node(expanded, root.mark, root.keys)

    def read_constants(self, node: Node | None) -> None:
        """Resolve the constants, which may refer to those before them."""
        if node is None or node.value is None:
            return
        if not isinstance(node.value, dict):
            self.report(("constants",), "constants is a mapping", "write 'constants: {L: 300 mm}'")
            return
        for name, value in node.value.items():
            if not re.fullmatch(r"\w+", name):
                self.report(("constants", name), f"{name!r} is not a name", "use letters, digits and _")
            if isinstance(value.value, dict):
                self.report(("constants", name), "a constant is a number, a text or a list")
                continue
            self.constants[name] = self.substitute(value, self.constants, ("constants", name))

    def read_templates(self, node: Node | None) -> None:
        """Keep the templates that are mappings."""
        if node is None or node.value is None:
            return
        if not isinstance(node.value, dict):
            self.report(("templates",), "templates is a mapping of names to legs")
            return
        for name, template in node.value.items():
            if isinstance(template.value, dict):
                self.templates[name] = template
            else:
                self.report(("templates", name), "a template is a mapping, written like a leg")

    def legs(self, node: Node) -> Node:
        """Expand the list of legs."""
        if not isinstance(node.value, list):
            self.report(("legs",), "legs is a list", "start each leg with '- name: ...' or '- repeat: ...'")
            return Node([], node.mark)
        legs: list[Node] = []
        for index, item in enumerate(node.value):
            path: KeyPath = ("legs", index)
            if not isinstance(item.value, dict):
                self.report(path, "a leg is a mapping")
            elif "repeat" in item.value:
                legs.extend(self.repeat(item, path))
            elif "template" in item.value:
                legs.extend(self.single(item, path))
            elif "with" in item.value:
                known = ", ".join(self.templates) or "none"
                hint = f"add template: NAME, one of: {known}"
                self.report(
                    (*path, "with"), "'with' gives parameters to a template, but no template is named", hint
                )
            else:
                legs.append(self.leg(item, self.constants, path))
            if len(legs) > MAX_LEGS:
                self.report(path, f"too many legs: at most {MAX_LEGS}")
                break
        return Node(legs, node.mark)

    def leg(self, node: Node, scope: Scope, path: KeyPath) -> Node:
        """Expand one leg: references, then its table if it has one."""
        substituted = self.substitute(node, scope, path)
        assert isinstance(substituted.value, dict)
        if "table" not in substituted.value:
            return substituted
        return expand_table(substituted, scope, self, path, _platform_names(self.source.root))

    def template(self, node: Node, key: str, path: KeyPath) -> Node | None:
        """Look up the template that a leg names."""
        assert isinstance(node.value, dict)
        name = node.value[key].value
        if isinstance(name, str) and name in self.templates:
            return self.templates[name]
        self.report((*path, key), f"no template is called {name!r}", did_you_mean(str(name), self.templates))
        return None

    def scope(
        self, template: Node, values: Mapping[str, ParameterValue], path: KeyPath, mark: Mark
    ) -> dict[str, Node]:
        """Values of a template's parameters: as given, or the defaults."""
        assert isinstance(template.value, dict)
        defaults = template.value.get("parameters", Node({})).value
        if not isinstance(defaults, dict):
            self.report(path, "parameters is a mapping of names to defaults", "null: must be given")
            defaults = {}
        scope = dict(self.constants)
        for name, default in defaults.items():
            if name not in values and default.value is None:
                hint = f"write {name}: ..."
                self.report(path, f"the template's parameter {name!r} is not given", hint, mark)
            value = values[name].value if name in values else default
            scope[name] = self.substitute(value, self.constants, (*path, name))
        for name, (_, own_path, own_mark) in values.items():
            if name not in defaults:
                hint = did_you_mean(name, [*defaults, *_OWN_KEYS])
                self.report(own_path, f"the template has no parameter {name!r}", hint, own_mark)
        return scope

    def single(self, node: Node, path: KeyPath) -> list[Node]:
        """Expand a leg that names a template."""
        assert isinstance(node.value, dict)
        template = self.template(node, "template", path)
        if template is None:
            return []
        own_keys = {k: n for k, n in node.value.items() if k not in _SINGLE_KEYS}
        return [self.instance(template, own_keys, node, self.leg_parameters(node, path), path)]

    def leg_parameters(self, node: Node, path: KeyPath) -> dict[str, ParameterValue]:
        """Parameters under the key `with` of a leg."""
        assert isinstance(node.value, dict)
        values = node.value.get("with", Node({}))
        if not isinstance(values.value, dict):
            self.report((*path, "with"), "'with' is a mapping of parameters to values")
            return {}
        return {
            name: ParameterValue(value, (*path, "with", name), values.keys.get(name, values.mark))
            for name, value in values.value.items()
        }

    def instance(
        self,
        template: Node,
        own_keys: Mapping[str, Node],
        node: Node,
        values: Mapping[str, ParameterValue],
        path: KeyPath,
        overrides: Sequence[tuple[KeyPath, Node]] = (),
    ) -> Node:
        """Make one leg of a template; keys that the leg has itself replace the template's.

        Then its overrides, in order, are merged into it.
        """
        assert isinstance(template.value, dict)
        scope = self.scope(template, values, path, node.mark)
        items = {k: n for k, n in template.value.items() if k != "parameters"}
        keys = dict(template.keys)
        for key, value in own_keys.items():
            if key != "override":
                items[key] = value
                keys[key] = node.keys.get(key) or (value.mark if value.mark.line else node.mark)
        leg = self.leg(Node(items, node.mark, keys), scope, path)
        changes = [own_keys["override"]] if "override" in own_keys else []
        for change_path, change in [((*path, "override"), change) for change in changes] + list(overrides):
            leg = self.apply_override(leg, self.substitute(change, scope, change_path), change_path)
        return leg

    def repeat(self, node: Node, path: KeyPath) -> list[Node]:
        """Expand a template repeated by count, angles, placements or a table."""
        assert isinstance(node.value, dict)
        template = self.template(node, "repeat", path)
        for key in node.value:
            if key not in _REPEAT_KEYS:
                self.report((*path, key), f"unknown key {key!r}", did_you_mean(key, _REPEAT_KEYS))
        if template is None:
            return []
        lists: dict[str, list[Node]] = {}
        for key in ("angles", "placements", "table", "names"):
            if key in node.value:
                value = self.substitute(node.value[key], self.constants, (*path, key)).value
                if isinstance(value, str) and key == "angles":
                    value = _split_angles(value, node.value[key])
                if not isinstance(value, list) or not value:
                    self.report((*path, key), f"{key} is a list, one entry a leg")
                    return []
                lists[key] = value
        number = self.leg_count(node, lists, path)
        if number is None:
            return []
        prefix = node.value.get("prefix", Node("leg")).value
        if not isinstance(prefix, str):
            self.report((*path, "prefix"), "the prefix is a text", "prefix: leg")
            prefix = "leg"
        shared = self.leg_parameters(node, path)
        rows = [self.row(node, lists, k, number, path) for k in range(number)]
        for k, (own_keys, _, _) in enumerate(rows):
            own_keys.setdefault("name", Node(f"{prefix}{k + 1}", node.mark))
        changes = self.overrides(node, [str(own_keys["name"].value) for own_keys, _, _ in rows], path)
        legs = []
        for own_keys, values, row_node in rows:
            own_changes = changes.get(str(own_keys["name"].value), [])
            legs.append(self.instance(template, own_keys, row_node, {**shared, **values}, path, own_changes))
        return legs

    def overrides(self, node: Node, names: list[str], path: KeyPath) -> dict[str, list[tuple[KeyPath, Node]]]:
        """What the legs of a repeat have otherwise than its template, by name, each with its path."""
        assert isinstance(node.value, dict)
        override_path = (*path, "override")
        changes = node.value.get("override", Node({}))
        if not isinstance(changes.value, dict):
            self.report(
                override_path, "override is a mapping of legs to what differs", "{leg3: {joints: ...}}"
            )
            return {}
        for name in changes.value:
            if name not in names:
                hint = did_you_mean(name, names)
                self.report((*override_path, name), f"no leg of this repeat is called {name!r}", hint)
        return {name: [((*override_path, name), change)] for name, change in changes.value.items()}

    def leg_count(self, node: Node, lists: Mapping[str, list[Node]], path: KeyPath) -> int | None:
        """How many legs a repeat makes."""
        assert isinstance(node.value, dict)
        lengths = {key: len(entries) for key, entries in lists.items()}
        if "count" in node.value:
            count = node.value["count"].value
            if not isinstance(count, int) or isinstance(count, bool) or not 1 <= count <= MAX_LEGS:
                self.report((*path, "count"), f"count is a whole number from 1 to {MAX_LEGS}")
                return None
            lengths["count"] = count
        if not lengths:
            self.report(path, "how many legs?", "give count, angles, placements or table")
            return None
        if len(set(lengths.values())) > 1:
            lengths_text = ", ".join(f"{key}: {length}" for key, length in lengths.items())
            self.report(path, f"the lists differ in length ({lengths_text})", "one entry a leg in each")
            return None
        number = next(iter(lengths.values()))
        if number > MAX_LEGS:
            self.report(path, f"too many legs: at most {MAX_LEGS}")
            return None
        return number

    def row(
        self, node: Node, lists: Mapping[str, list[Node]], k: int, number: int, path: KeyPath
    ) -> tuple[dict[str, Node], dict[str, ParameterValue], Node]:
        """Own keys and parameters of the k-th of the repeated legs, and the node that gives them."""
        own_keys: dict[str, Node] = {}
        values: dict[str, ParameterValue] = {}
        row_node = node
        if "names" in lists:
            own_keys["name"] = lists["names"][k]
        if "placements" in lists:
            own_keys["placement"] = lists["placements"][k]
        elif "angles" in lists:
            own_keys["placement"] = Node({"angle": lists["angles"][k]}, lists["angles"][k].mark)
        elif "table" not in lists:
            angle = Node(f"{360.0 * k / number!r} deg", origin_if_derived=Origin(None))
            own_keys["placement"] = Node({"angle": angle}, node.mark)
        if "table" in lists:
            entry = lists["table"][k]
            if not isinstance(entry.value, dict):
                self.report((*path, "table", k), "a line of the table is a mapping", "{name: leg1, A: ...}")
                return own_keys, values, row_node
            row_node = entry
            for key, value in entry.value.items():
                if key in _OWN_KEYS:
                    own_keys[key] = value
                else:
                    values[key] = ParameterValue(value, (*path, key), entry.keys.get(key, entry.mark))
        return own_keys, values, row_node

    # ---- what one leg has otherwise than its template

    def apply_override(self, leg: Node, change: Node, path: KeyPath) -> Node:
        """Give a leg, written in full, with changes, references resolved, that are written at a path."""
        assert isinstance(leg.value, dict)
        if not isinstance(change.value, dict):
            example = "{joints: {motor: {friction: {viscous: 0.2 N*m*s/rad}}}}"
            self.report(path, "override is a mapping of what differs", example, change.mark)
            return leg
        items, keys = dict(leg.value), dict(leg.keys)
        for key, value in change.value.items():
            entry_path, mark = (*path, key), change.keys.get(key, change.mark)
            if key not in KEYS:
                self.report(entry_path, f"{key!r} cannot be overridden", did_you_mean(key, KEYS), mark)
            elif key in NAMED_ENTRIES:
                items[key] = self.override_entries(key, items.get(key), value, entry_path)
            elif value.value is None:
                items.pop(key, None)
            else:
                items[key] = _merge_nodes(items.get(key), value)
                keys[key] = mark
        return Node(items, leg.mark, keys)

    def override_entries(self, key: str, base: Node | None, change: Node, path: KeyPath) -> Node:
        """Bodies, joints and closures by name, or elements, a list of such, with changes of some of them."""
        base = Node({}, change.mark) if base is None else base
        if not isinstance(change.value, dict):
            self.report(path, f"{key} is a mapping of names to what differs", "", change.mark)
            return base
        if not isinstance(base.value, dict | list):
            return base
        numbered = enumerate(base.value) if isinstance(base.value, list) else ()
        indices = {
            str(n.value["name"].value): k
            for k, n in numbered
            if isinstance(n.value, dict) and "name" in n.value
        }
        names = indices if isinstance(base.value, list) else base.value
        known = {}
        for name, value in change.value.items():
            if name in names:
                known[name] = value
            else:
                hint = did_you_mean(name, names) or f"it has no {key}"
                mark = change.keys.get(name, change.mark)
                self.report((*path, name), f"the template has no {NAMED_ENTRIES[key]} {name!r}", hint, mark)
        if isinstance(base.value, dict):
            return _merge_nodes(base, Node(known, change.mark, change.keys))
        entries = list(base.value)
        for name, value in known.items():
            entries[indices[name]] = _merge_nodes(entries[indices[name]], value)
        return Node(entries, base.mark)


def _merge_nodes(base: Node | None, change: Node) -> Node:
    """Mappings merged key by key, null taken away; anything else is the change."""
    if base is None or not isinstance(base.value, dict) or not isinstance(change.value, dict):
        return change
    items, keys = dict(base.value), dict(base.keys)
    for key, value in change.value.items():
        if value.value is None:
            items.pop(key, None)
            continue
        items[key] = _merge_nodes(items.get(key), value)
        keys[key] = change.keys.get(key, change.mark)
    return Node(items, base.mark, keys)


def _platform_names(root: Node) -> set[str]:
    """Names of the bodies of the platform; a row of a table with such a name ends there."""
    platform = root.value.get("platform") if isinstance(root.value, dict) else None
    if platform is None or not isinstance(platform.value, dict):
        return {"platform"}
    bodies = platform.value.get("bodies", Node({})).value
    name = platform.value.get("name", Node("platform")).value
    return {str(name), *(bodies if isinstance(bodies, dict) else ())}


def _split_angles(text: str, node: Node) -> list[Node]:
    """Split "0 120 240 deg" to texts with units."""
    match = LEADING_NUMBERS.match(text)
    if match is None:
        return []
    unit = text[match.end() :].strip()
    numbers = re.split(r"[\s,]+", match.group().strip())
    return [
        Node(f"{number} {unit}".strip(), node.mark, origin_if_derived=Origin(node, k))
        for k, number in enumerate(numbers)
    ]
