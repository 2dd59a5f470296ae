"""Constants, templates and repeated legs: from the written tree to one with every leg in full.

    constants: {L: 300 mm}
    templates:
      strut: {parameters: {A: null, B: null}, joints: ..., ...}
    legs:
      - repeat: strut
        table: [{name: leg1, A: 0 0 0 m, B: 10 0 0 mm}, ...]

A scalar "$L" stands for the constant or parameter L; "-$L", "2*$L", "$L/2" scale it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from nacelle.errors import DescriptionError, Problem, did_you_mean
from nacelle.model.description.khalil_kleinfinger import expand_table
from nacelle.model.description.override import overridden
from nacelle.model.description.source import MAX_DEPTH, Failed, Mark, Node, Origin, Source
from nacelle.model.units import LARGEST, NUMBER

Path = tuple[str | int, ...]
Scope = Mapping[str, Node]

MAX_LEGS = 64
MAX_PROBLEMS = 150
MAX_EXPANDED = 30_000

_REFERENCE = re.compile(
    rf"(?P<sign>[-+]?)\s*(?:(?P<factor>{NUMBER})\s*\*\s*)?\$(?P<name>\w+)\s*(?:/\s*(?P<divisor>{NUMBER}))?"
)
_LEADING_NUMBERS = re.compile(rf"\s*{NUMBER}(?:[\s,]+{NUMBER})*")
_REPEAT_KEYS = (
    "repeat",
    "count",
    "angles",
    "placements",
    "table",
    "names",
    "prefix",
    "with",
    "override",
)
_TEXTS = ("name", "title", "notes", "sources")
# Keys that a line of a table may have beside parameters.
_OWN_KEYS = ("name", "placement", "branch", "guess", "override")
_SINGLE_KEYS = ("template", "with")


class Given(NamedTuple):
    """A parameter's value, and where it is given."""

    value: Node
    path: Path
    mark: Mark


class Expander:
    """Expands one source; `problems` collects what is wrong on the way."""

    def __init__(self, source: Source) -> None:
        """Start on a source whose root is a mapping."""
        self.source = source
        self.problems: list[Problem] = []
        self.count = 0
        self.sizes: dict[int, tuple[int, int]] = {}
        self.kept: list[Node] = []
        self.on_nacelle = _nacelle_names(source.root)

    def report(self, path: Path, message: str, hint: str = "", mark: Mark | None = None) -> None:
        """Note a problem at a path, or at a mark where the path has moved."""
        if len(self.problems) >= MAX_PROBLEMS:
            return
        problem = self.source.problem(path, message, hint)
        if mark is not None and mark.line:
            problem = replace(problem, line=mark.line, column=mark.column)
        self.problems.append(problem)

    def expand(self) -> Node:
        """Give the tree without constants, templates and repeats."""
        root = self.source.root
        if not isinstance(root.value, dict):
            self.report((), "a description is a mapping", "start with 'format: nacelle/1'")
            return Node({})
        items = dict(root.value)
        constants = self.constants(items.pop("constants", None))
        templates = self.templates(items.pop("templates", None))
        legs = items.pop("legs", None)
        expanded = {
            key: node if key in _TEXTS else self.substitute(node, constants, (key,))
            for key, node in items.items()
        }
        if legs is not None:
            expanded["legs"] = self.legs(legs, constants, templates)
        return Node(expanded, root.mark, root.keys)

    def constants(self, node: Node | None) -> dict[str, Node]:
        """Resolve the constants, which may refer to those before them."""
        scope: dict[str, Node] = {}
        if node is None or node.value is None:
            return scope
        if not isinstance(node.value, dict):
            self.report(("constants",), "constants is a mapping", "write 'constants: {L: 300 mm}'")
            return scope
        for name, value in node.value.items():
            if not re.fullmatch(r"\w+", name):
                self.report(("constants", name), f"{name!r} is not a name", "use letters, digits and _")
            if isinstance(value.value, dict):
                self.report(("constants", name), "a constant is a number, a text or a list")
                continue
            scope[name] = self.substitute(value, scope, ("constants", name))
        return scope

    def templates(self, node: Node | None) -> dict[str, Node]:
        """Check that templates are mappings."""
        if node is None or node.value is None:
            return {}
        if not isinstance(node.value, dict):
            self.report(("templates",), "templates is a mapping of names to legs")
            return {}
        good = {}
        for name, template in node.value.items():
            if isinstance(template.value, dict):
                good[name] = template
            else:
                self.report(("templates", name), "a template is a mapping, written like a leg")
        return good

    def grow(self, number: int, path: Path) -> None:
        """Count values that the expanded description holds; too many end the reading at once."""
        self.count += number
        if self.count > MAX_EXPANDED:
            message = f"with templates and constants expanded there are more than {MAX_EXPANDED} values"
            raise DescriptionError([self.source.problem(path[:2], message, "a robot needs a few thousand")])

    def measure(self, node: Node) -> tuple[int, int]:
        """Number of values below a node, and its depth."""
        found = self.sizes.get(id(node))
        if found is None:
            value = node.value
            below = (
                list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
            )
            parts = [self.measure(child) for child in below]
            found = 1 + sum(size for size, _ in parts), 1 + max((depth for _, depth in parts), default=0)
            self.sizes[id(node)] = found
            self.kept.append(node)
        return found

    def substitute(self, node: Node, scope: Scope, path: Path) -> Node:
        """Replace every "$name" below a node."""
        self.grow(1, path)
        if isinstance(node.value, dict):
            items = {k: self.substitute(n, scope, (*path, k)) for k, n in node.value.items()}
            return Node(items, node.mark, node.keys)
        if isinstance(node.value, list):
            entries = [self.substitute(n, scope, (*path, i)) for i, n in enumerate(node.value)]
            return Node(entries, node.mark)
        if isinstance(node.value, str) and "$" in node.value and not node.block:
            return self.reference(node, node.value, scope, path)
        return node

    def reference(self, node: Node, text: str, scope: Scope, path: Path) -> Node:
        """Resolve one scalar that holds a "$"."""
        match = _REFERENCE.fullmatch(text.strip())
        if match is None:
            self.report(
                path,
                f"{text[:60]!r} is not a reference",
                "write $name, -$name, 2*$name or $name/2",
                node.mark,
            )
            return Node(Failed(), node.mark)
        name = match["name"]
        if name not in scope:
            hint = did_you_mean(name, scope) if len(self.problems) < MAX_PROBLEMS else ""
            self.report(path, f"nothing is called ${name[:60]}", hint, node.mark)
            return Node(Failed(), node.mark)
        factor = float(match["factor"] or 1) * (-1.0 if match["sign"] == "-" else 1.0)
        divisor = float(match["divisor"] or 1)
        if divisor == 0.0:
            self.report(path, "division by zero", mark=node.mark)
            return Node(Failed(), node.mark)
        target = scope[name]
        size, depth = self.measure(target)
        self.grow(size, path)
        if depth > MAX_DEPTH:
            self.report(path, f"${name} is nested deeper than {MAX_DEPTH} levels", mark=node.mark)
            return Node(Failed(), node.mark)
        return target if (factor, divisor) == (1.0, 1.0) else self.scaled(target, factor, divisor, path)

    def scaled(self, node: Node, factor: float, divisor: float, path: Path) -> Node:
        """Scale a number, a text of numbers and a unit, or a list of such."""
        if isinstance(node.value, list):
            return Node([self.scaled(n, factor, divisor, path) for n in node.value], node.mark)
        if isinstance(node.value, int | float) and not isinstance(node.value, bool):
            number = float(node.value) if abs(node.value) < LARGEST else math.inf
            return Node(number * factor / divisor, node.mark, made_from=_scaled(node, factor / divisor))
        if isinstance(node.value, str):
            match = _LEADING_NUMBERS.match(node.value)
            if match:
                numbers = re.split(r"[\s,]+", match.group().strip())
                texts = [repr(float(number) * factor / divisor) for number in numbers]
                text = " ".join(texts) + " " + node.value[match.end() :].strip()
                return Node(text, node.mark, made_from=_scaled(node, factor / divisor))
        self.report(path, "this constant cannot be scaled", "scale numbers with units, or lists of them")
        return Node(Failed(), node.mark)

    def legs(self, node: Node, constants: Scope, templates: Mapping[str, Node]) -> Node:
        """Expand the list of legs."""
        if not isinstance(node.value, list):
            self.report(("legs",), "legs is a list", "start each leg with '- name: ...' or '- repeat: ...'")
            return Node([], node.mark)
        legs: list[Node] = []
        for index, item in enumerate(node.value):
            path: Path = ("legs", index)
            if not isinstance(item.value, dict):
                self.report(path, "a leg is a mapping")
            elif "repeat" in item.value:
                legs.extend(self.repeat(item, constants, templates, path))
            elif "template" in item.value:
                legs.extend(self.single(item, constants, templates, path))
            else:
                legs.append(self.leg(item, constants, path))
            if len(legs) > MAX_LEGS:
                self.report(path, f"too many legs: at most {MAX_LEGS}")
                break
        return Node(legs, node.mark)

    def leg(self, node: Node, scope: Scope, path: Path) -> Node:
        """Expand one leg: references, then its table if it has one."""
        substituted = self.substitute(node, scope, path)
        assert isinstance(substituted.value, dict)
        if "table" not in substituted.value:
            return substituted
        return expand_table(substituted, scope, self, path)

    def template(self, node: Node, key: str, templates: Mapping[str, Node], path: Path) -> Node | None:
        """Look up the template that a leg names."""
        assert isinstance(node.value, dict)
        name = node.value[key].value
        if isinstance(name, str) and name in templates:
            return templates[name]
        self.report((*path, key), f"no template is called {name!r}", did_you_mean(str(name), templates))
        return None

    def scope(
        self, template: Node, given: Mapping[str, Given], constants: Scope, path: Path, mark: Mark
    ) -> dict[str, Node]:
        """Values of a template's parameters: as given, or the defaults."""
        assert isinstance(template.value, dict)
        declared = template.value.get("parameters", Node({})).value
        if not isinstance(declared, dict):
            self.report(path, "parameters is a mapping of names to defaults", "null: must be given")
            declared = {}
        scope = dict(constants)
        for name, default in declared.items():
            if name not in given and default.value is None:
                hint = f"write {name}: ..."
                self.report(path, f"the template's parameter {name!r} is not given", hint, mark)
            value = given[name].value if name in given else default
            scope[name] = self.substitute(value, constants, (*path, name))
        for name, (_, own_path, own_mark) in given.items():
            if name not in declared:
                hint = did_you_mean(name, [*declared, *_OWN_KEYS])
                self.report(own_path, f"the template has no parameter {name!r}", hint, own_mark)
        return scope

    def single(self, node: Node, constants: Scope, templates: Mapping[str, Node], path: Path) -> list[Node]:
        """Expand a leg that names a template."""
        assert isinstance(node.value, dict)
        template = self.template(node, "template", templates, path)
        if template is None:
            return []
        own = {k: n for k, n in node.value.items() if k not in _SINGLE_KEYS}
        return [self.instance(template, own, node, self.given(node, path), constants, path)]

    def given(self, node: Node, path: Path) -> dict[str, Given]:
        """Parameters under the key `with` of a leg."""
        assert isinstance(node.value, dict)
        values = node.value.get("with", Node({}))
        if not isinstance(values.value, dict):
            self.report((*path, "with"), "'with' is a mapping of parameters to values")
            return {}
        return {
            name: Given(value, (*path, "with", name), values.keys.get(name, values.mark))
            for name, value in values.value.items()
        }

    def instance(
        self,
        template: Node,
        own: Mapping[str, Node],
        node: Node,
        given: Mapping[str, Given],
        constants: Scope,
        path: Path,
        overrides: Sequence[tuple[Path, Node]] = (),
    ) -> Node:
        """Make one leg of a template; keys that the leg has itself replace the template's.

        Then its overrides, in order, are merged into it.
        """
        assert isinstance(template.value, dict)
        scope = self.scope(template, given, constants, path, node.mark)
        items = {k: n for k, n in template.value.items() if k != "parameters"}
        keys = dict(template.keys)
        for key, value in own.items():
            if key != "override":
                items[key] = value
                keys[key] = node.keys.get(key) or (value.mark if value.mark.line else node.mark)
        leg = self.leg(Node(items, node.mark, keys), scope, path)
        changes = [own["override"]] if "override" in own else []
        for place, change in [((*path, "override"), change) for change in changes] + list(overrides):
            leg = overridden(leg, self.substitute(change, scope, place), self, place)
        return leg

    def repeat(self, node: Node, constants: Scope, templates: Mapping[str, Node], path: Path) -> list[Node]:
        """Expand a template repeated by count, angles, placements or a table."""
        assert isinstance(node.value, dict)
        template = self.template(node, "repeat", templates, path)
        for key in node.value:
            if key not in _REPEAT_KEYS:
                self.report((*path, key), f"unknown key {key!r}", did_you_mean(key, _REPEAT_KEYS))
        if template is None:
            return []
        lists: dict[str, list[Node]] = {}
        for key in ("angles", "placements", "table", "names"):
            if key in node.value:
                value = self.substitute(node.value[key], constants, (*path, key)).value
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
        shared = self.given(node, path)
        rows = [self.row(node, lists, k, number, path) for k in range(number)]
        for k, (own, _, _) in enumerate(rows):
            own.setdefault("name", Node(f"{prefix}{k + 1}", node.mark))
        changes = self.overrides(node, [str(own["name"].value) for own, _, _ in rows], path)
        legs = []
        for own, given, place in rows:
            mine = changes.get(str(own["name"].value), [])
            legs.append(self.instance(template, own, place, {**shared, **given}, constants, path, mine))
        return legs

    def overrides(self, node: Node, names: list[str], path: Path) -> dict[str, list[tuple[Path, Node]]]:
        """What the legs of a repeat have otherwise than its template, by name, each with its path."""
        assert isinstance(node.value, dict)
        place = (*path, "override")
        changes = node.value.get("override", Node({}))
        if not isinstance(changes.value, dict):
            self.report(place, "override is a mapping of legs to what differs", "{leg3: {joints: ...}}")
            return {}
        for name in changes.value:
            if name not in names:
                hint = did_you_mean(name, names)
                self.report((*place, name), f"no leg of this repeat is called {name!r}", hint)
        return {name: [((*place, name), change)] for name, change in changes.value.items()}

    def leg_count(self, node: Node, lists: Mapping[str, list[Node]], path: Path) -> int | None:
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
            told = ", ".join(f"{key}: {length}" for key, length in lengths.items())
            self.report(path, f"the lists differ in length ({told})", "one entry a leg in each")
            return None
        number = next(iter(lengths.values()))
        if number > MAX_LEGS:
            self.report(path, f"too many legs: at most {MAX_LEGS}")
            return None
        return number

    def row(
        self, node: Node, lists: Mapping[str, list[Node]], k: int, number: int, path: Path
    ) -> tuple[dict[str, Node], dict[str, Given], Node]:
        """Own keys and parameters of the k-th of the repeated legs, and the node that gives them."""
        own: dict[str, Node] = {}
        given: dict[str, Given] = {}
        place = node
        if "names" in lists:
            own["name"] = lists["names"][k]
        if "placements" in lists:
            own["placement"] = lists["placements"][k]
        elif "angles" in lists:
            own["placement"] = Node({"angle": lists["angles"][k]}, lists["angles"][k].mark)
        elif "table" not in lists:
            angle = Node(f"{360.0 * k / number!r} deg", made_from=Origin(None))
            own["placement"] = Node({"angle": angle}, node.mark)
        if "table" in lists:
            entry = lists["table"][k]
            if not isinstance(entry.value, dict):
                self.report((*path, "table", k), "a line of the table is a mapping", "{name: leg1, A: ...}")
                return own, given, place
            place = entry
            for key, value in entry.value.items():
                if key in _OWN_KEYS:
                    own[key] = value
                else:
                    given[key] = Given(value, (*path, key), entry.keys.get(key, entry.mark))
        return own, given, place


def _nacelle_names(root: Node) -> set[str]:
    """Names of the bodies of the nacelle; a row of a table with such a name ends there."""
    nacelle = root.value.get("nacelle") if isinstance(root.value, dict) else None
    if nacelle is None or not isinstance(nacelle.value, dict):
        return {"nacelle"}
    bodies = nacelle.value.get("bodies", Node({})).value
    name = nacelle.value.get("name", Node("nacelle")).value
    return {str(name), *(bodies if isinstance(bodies, dict) else ())}


def _scaled(node: Node, factor: float) -> Origin:
    origin = node.origin
    return replace(origin, scale=origin.scale * factor)


def _split_angles(text: str, node: Node) -> list[Node]:
    """Split "0 120 240 deg" to texts with units."""
    match = _LEADING_NUMBERS.match(text)
    if match is None:
        return []
    unit = text[match.end() :].strip()
    numbers = re.split(r"[\s,]+", match.group().strip())
    return [
        Node(f"{number} {unit}".strip(), node.mark, made_from=Origin(node, k))
        for k, number in enumerate(numbers)
    ]
