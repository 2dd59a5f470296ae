"""The numbers that a description declares: which of a robot's are free, which are fixed, which are one.

A robot has many numbers (24 a joint, ten a body); its description has few. Free are the numbers that somebody
wrote down:

- lengths, angles, masses, moments, friction, springs, rotors, gears and gravity, each where it is written. A
  constant that is used in ten places is one number, and so is a number of a template with ten legs;
- components of an axis that is not a coordinate axis.

Always constant are

- what the description does not say (defaults), and a 0 that it does say;
- angles that are whole multiples of 45 degrees, rotations that take coordinate axes to coordinate axes, and
  the angles of `count`;
- directions by name (x, -z), directions that must stay perpendicular to others (the axes of a universal
  joint, elements), quaternions and matrices: write angles where they are to be numbers;
- the reference pose, limits, guesses, tools, what is drawn.

Principal moments of one inertia that are written alike (`yy: 0.0024 kg*m^2, zz: 0.0024 kg*m^2`) are one
number: a body of revolution stays one.

How the robot's numbers follow from the free ones is recorded: the builder runs once on floats that remember
how they were made (`nacelle.spatial.recorded`), at random values near the description's, so that it takes for
zero or equal only what always is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from nacelle.model.build.assemble import assemble_description
from nacelle.model.data import SEED, Record, perturb
from nacelle.model.description.description import Description
from nacelle.model.description.frame import RotationSpec
from nacelle.model.numbers import GROUPS
from nacelle.model.source.node import KeyPath, Node, Source
from nacelle.model.source.reference import LEADING_NUMBERS
from nacelle.model.units import QUANTITIES, TrackedNumber, TrackedText, UnitError, parse_quantity
from nacelle.program.graph import Graph, reachable
from nacelle.program.program import Variable
from nacelle.program.trace import straight_line_program
from nacelle.spatial.recorded import Recorded

# Which written number: the node (its place, or its identity if it has none), the value in it, the number in
# it.
Key = tuple[Any, ...]

# Below these keys of a description numbers may be free ...
_FREE = frozenset(
    (
        *("at", "child_at", "translation", "rotation", "placement", "axis", "length", "com", "mass"),
        *("first_moment", "inertia", "gravity", "friction", "spring", "rotor_inertia", "gear_ratio"),
        *("springs", "dampers", "torsion_springs", "stop"),
    )
)
# ... unless they are below these.
_FIXED = frozenset(
    (
        *("display", "section", "material", "reference", "modes", "tools", "guess", "limits"),
        *("encoder", "torque_constant", "axes", "quat_xyzw", "matrix", "direction", "scale", "mirror"),
    )
)
_EIGHTH = math.pi / 4  # of a turn
_XYZ = ("x", "y", "z")


class ConstantNumber(NamedTuple):
    """A number among the constants of a description: the path to it, its value in SI units, its quantity."""

    path: KeyPath
    value: float
    quantity: str


@dataclass(frozen=True, eq=False)
class ParametricDescription:
    """A description from which numbers are recorded when they are first needed.

    Attributes:
        source: the description as written.
        expanded: with templates and constants expanded.
        units: of bare numbers.
    """

    source: Source
    expanded: Source
    units: dict[str, str] | None

    @cached_property
    def record(self) -> Record:
        """The free numbers, and how the robot's follow from them."""
        recorder = _Recorder(self.source, self.units)
        data = recorder.plain_data(self.expanded.root, ())
        description = Description.model_validate(data, context={"units": self.units})
        robot = assemble_description(description, self.expanded)
        return recorder.record(robot.parameters.groups, robot.parameters.entries(robot))

    @cached_property
    def constants(self) -> dict[str, ConstantNumber]:
        """Numbers of the constants by name: free ones, and those that decide limits, sections, ... alone.

        What has a unit is known by it; another one that is not free is a "number".
        """
        uses: dict[Any, bool] = {}
        for path, node in _scalar_nodes(self.expanded.root, (), named=False):
            key = _node_key(node.origin.node or node)
            uses[key] = uses.get(key, False) or _may_be_free(path)
        entries, root = zip(self.record.values, self.record.quantities, strict=True), self.source.root.value
        free, result = dict(zip(self.record.names, entries, strict=True)), {}
        constants = root.get("constants") if isinstance(root, dict) else None
        for path, node in _scalar_nodes(constants or Node({}), ("constants",), named=False):
            texts, never_free = _number_texts(node.value), uses.get(_node_key(node)) is False
            for k, text in enumerate(texts):
                full_path = path if len(texts) == 1 else (*path, k)
                name = _name(full_path, -1)
                entry = free.get(name) or (number_with_quantity(text) if never_free else None)
                if entry is not None and entry[1] in QUANTITIES:
                    result[name] = ConstantNumber(full_path, *entry)
        return result

    def with_constants(self, values: Mapping[str, float]) -> Source:
        """The description with other values of some numbers of its constants, SI units."""
        root = self.source.root
        for name, value in values.items():
            path, _, quantity = self.constants[name]
            unit = QUANTITIES[quantity].si
            root = with_value(root, path, f"{float(value)!r} {unit}" if unit else float(value))
        return Source(self.source.file, root)


def with_value(node: Node, path: KeyPath, value: Any) -> Node:
    """A tree with another value at a path; a text of several numbers becomes a list."""
    if not path:
        return Node(value, node.mark)
    texts = isinstance(node.value, str)
    children: Any = [Node(text) for text in _number_texts(node.value)] if texts else copy(node.value)
    children[path[0]] = with_value(children[path[0]], path[1:], value)
    return Node(children, node.mark, node.keys)


def _number_texts(value: Any) -> list[Any]:
    """The numbers of a text, each with its unit; another value as it is."""
    match = LEADING_NUMBERS.match(value) if isinstance(value, str) else None
    if match is None:
        return [value]
    return [f"{n} {value[match.end() :].strip()}".strip() for n in match.group().replace(",", " ").split()]


def number_with_quantity(value: Any) -> tuple[float, str] | None:
    """A number in SI units with the quantity that its unit is of; None if it is no number."""
    for name, quantity in QUANTITIES.items():
        with suppress(UnitError):
            return parse_quantity(value, quantity, None), name
    return None


class _Recorder:
    """Hands out recorded floats for the numbers of a description."""

    def __init__(self, source: Source, units: dict[str, str] | None) -> None:
        self.units = units
        self.tape = Graph()
        self.paths: dict[Any, KeyPath] = {}
        for path, node in _scalar_nodes(source.root, ()):
            self.paths.setdefault(_node_key(node), path)
        self.indices: dict[Key, int] = {}
        self.values: list[float] = []
        self.quantities: list[str] = []
        self.samples: list[Recorded] = []
        self.names: list[str] = []

    def plain_data(self, node: Node, path: KeyPath) -> Any:
        """Plain data of which the texts and numbers that may be free know who takes them."""
        if isinstance(node.value, dict):
            still = ("axis", "angle") if self.is_axis_permutation(node) else ()
            return {
                key: below.plain() if key in still else self.plain_data(below, (*path, key))
                for key, below in node.value.items()
            }
        if isinstance(node.value, list):
            return [self.plain_data(below, (*path, k)) for k, below in enumerate(node.value)]
        value = node.value
        if isinstance(value, bool) or not isinstance(value, str | int | float) or not _may_be_free(path):
            return value
        take = self.number_taker(node, path)
        if take is None:
            return value
        return TrackedText(value, take) if isinstance(value, str) else TrackedNumber(value, take)

    def is_axis_permutation(self, node: Node) -> bool:
        """Whether a mapping has an axis and an angle that take coordinate axes to coordinate axes."""
        assert isinstance(node.value, dict)
        if not {"axis", "angle"} <= node.value.keys():
            return False
        data = {key: node.value[key].plain() for key in ("axis", "angle")}
        R = RotationSpec.model_validate(data, context={"units": self.units}).rotation()
        return bool(np.max(np.abs(np.abs(R) - np.round(np.abs(R)))) < 1e-12)

    def number_taker(self, node: Node, path: KeyPath) -> Callable[[int, float, str], float] | None:
        """What takes the numbers of a leaf; None if nobody wrote it."""
        origin = node.origin
        if origin.node is None:
            return None
        mark = _node_key(origin.node)
        name = _name(self.paths.get(mark, path), origin.part)

        def take(part: int, number: float, quantity: str) -> float:
            is_special_angle = quantity == "angle" and abs(math.remainder(number, _EIGHTH)) < 1e-12
            if number == 0.0 or is_special_angle:
                return number
            key = (mark, origin.part, part, quantity)
            if key not in self.indices:
                self.add(key, name, part, number / origin.scale, quantity)
            sample: float = origin.scale * self.samples[self.indices[key]]
            return sample

        return take

    def add(self, key: Key, name: str, part: int, value: float, quantity: str) -> None:
        """A free number that has not been seen yet."""
        k = self.indices[key] = len(self.values)
        sample = float(perturb([value], SEED + k)[0])
        self.values.append(value)
        self.quantities.append(quantity)
        self.samples.append(Recorded(sample, self.tape, self.tape.input(k)))
        suffix = _XYZ[part] if part < len(_XYZ) else str(part + 1)
        self.names.append(name if part < 0 else f"{name}.{suffix}")

    def record(self, layout: dict[str, tuple[str, ...]], entries: list[Any]) -> Record:
        """The numbers that the robot's follow from, with the program that makes these."""
        tape, groups = self.tape, list(layout)
        roots = [e.node if isinstance(e, Recorded) else tape.const(float(e)) for e in entries]
        first: dict[int, str] = {}
        start = 0
        for group in sorted(groups, key=GROUPS.index):
            size = len(layout[group])
            for k in reachable(tape, roots[start : start + size]):
                if tape.nodes[k][0] == "input":
                    first.setdefault(tape.nodes[k][1], group)
            start += size
        used = sorted(first, key=lambda k: (GROUPS.index(first[k]), k))
        position_of = {k: position for position, k in enumerate(used)}
        names = _distinct_names([self.names[k] for k in used])
        flat = tuple(name for group in groups for name in layout[group])
        inputs, outputs = (Variable("numbers", (len(used),)),), (Variable("entries", (len(flat),)),)
        program = straight_line_program("numbers", tape, inputs, outputs, roots)
        code = tuple((op, position_of[k[0]]) if op == "input" else (op, *k) for op, *k in program.code)
        values = tuple(self.values[k] for k in used)
        quantities = tuple(self.quantities[k] for k in used)
        return Record(
            names, tuple(first[k] for k in used), values, flat, replace(program, code=code), quantities
        )


def _may_be_free(path: KeyPath) -> bool:
    keys = [step for step in path if isinstance(step, str)]
    if keys[-1:] == ["axis"] and "input" in keys:
        return False
    return not _FREE.isdisjoint(keys) and _FIXED.isdisjoint(keys)


def _node_key(node: Node) -> Any:
    """What tells a written node from others: its place in the file, or itself if it was made in Python."""
    return (node.mark.line, node.mark.column) if node.mark.line else id(node)


def _scalar_nodes(node: Node, path: KeyPath, *, named: bool = True) -> Iterator[tuple[KeyPath, Node]]:
    """All texts and numbers with their paths; entries of a list by name, if wanted, where they have one."""
    if isinstance(node.value, dict):
        for key, below in node.value.items():
            yield from _scalar_nodes(below, (*path, key), named=named)
    elif isinstance(node.value, list):
        for k, below in enumerate(node.value):
            name = below.value.get("name") if named and isinstance(below.value, dict) else None
            step = name.value if name is not None and isinstance(name.value, str) else k
            yield from _scalar_nodes(below, (*path, step), named=named)
    else:
        yield path, node


def _name(path: KeyPath, part: int) -> str:
    """Write a path as "leg.bodies.arm.mass", without the steps that say nothing."""
    steps = list(path[1:] if path[:1] in (("constants",), ("templates",)) else path)
    if steps[:1] == ["legs"] and len(steps) > 3:
        leg = steps[1] if isinstance(steps[1], str) else f"legs[{steps[1]}]"
        steps = steps[3:] if steps[2] == "table" else [leg, *(step for step in steps[2:] if step != "with")]
    *front, last = steps
    in_list = front[-1:] in (["angles"], ["stiffness"])
    step = _XYZ[last] if isinstance(last, int) and last < len(_XYZ) and not in_list else str(last)
    return ".".join([*map(str, front), step, *([str(part + 1)] if part >= 0 else [])])


def _distinct_names(names: list[str]) -> tuple[str, ...]:
    """Number names that are there already."""
    result: list[str] = []
    for name in names:
        same = sum(earlier == name or earlier.startswith(f"{name}#") for earlier in result)
        result.append(f"{name}#{same + 1}" if same else name)
    return tuple(result)
