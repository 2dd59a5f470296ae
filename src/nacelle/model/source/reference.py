"""References to constants and parameters: every "$name" replaced by what it stands for.

A scalar "$L" stands for the constant or parameter L; "-$L", "2*$L", "$L/2" scale it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import replace

from nacelle.errors import DescriptionError, Problem, did_you_mean
from nacelle.model.source.node import MAX_DEPTH, FailedValue, KeyPath, Mark, Node, Origin, Source
from nacelle.model.units import LARGEST, NUMBER

Scope = Mapping[str, Node]

MAX_PROBLEMS = 150
MAX_EXPANDED = 30_000


def _multiple_of(name: str) -> re.Pattern[str]:
    """Pattern of a name with a sign, a factor before it and a divisor behind it."""
    return re.compile(
        rf"(?P<sign>[-+]?)\s*(?:(?P<factor>{NUMBER})\s*\*\s*)?{name}\s*(?:/\s*(?P<divisor>{NUMBER}))?"
    )


_REFERENCE = _multiple_of(r"\$(?P<name>\w+)")
# Tables write names without the "$".
BARE_REFERENCE = _multiple_of(r"(?P<name>[^\W\d]\w*)")
LEADING_NUMBERS = re.compile(rf"\s*{NUMBER}(?:[\s,]+{NUMBER})*")


class Substitution:
    """Replaces references in one source; `problems` collects what is wrong on the way."""

    def __init__(self, source: Source) -> None:
        """Start on a source whose root is a mapping."""
        self.source = source
        self.problems: list[Problem] = []
        self.count = 0
        self.sizes: dict[int, tuple[int, int]] = {}
        self.kept: list[Node] = []

    def report(self, path: KeyPath, message: str, hint: str = "", mark: Mark | None = None) -> None:
        """Note a problem at a path, or at a mark where the path has moved."""
        if len(self.problems) >= MAX_PROBLEMS:
            return
        problem = self.source.problem(path, message, hint)
        if mark is not None and mark.line:
            problem = replace(problem, line=mark.line, column=mark.column)
        self.problems.append(problem)

    def count_values(self, number: int, path: KeyPath) -> None:
        """Count values that the expanded description holds; too many end the reading at once."""
        self.count += number
        if self.count > MAX_EXPANDED:
            message = f"with templates and constants expanded there are more than {MAX_EXPANDED} values"
            raise DescriptionError([self.source.problem(path[:2], message, "a robot needs a few thousand")])

    def measure(self, node: Node) -> tuple[int, int]:
        """Number of values below a node, and its depth."""
        measures = self.sizes.get(id(node))
        if measures is None:
            parts = [self.measure(child) for child in node.children]
            measures = 1 + sum(size for size, _ in parts), 1 + max((depth for _, depth in parts), default=0)
            self.sizes[id(node)] = measures
            self.kept.append(node)
        return measures

    def substitute(self, node: Node, scope: Scope, path: KeyPath) -> Node:
        """Replace every "$name" below a node."""
        self.count_values(1, path)
        if isinstance(node.value, dict):
            items = {k: self.substitute(n, scope, (*path, k)) for k, n in node.value.items()}
            return Node(items, node.mark, node.keys)
        if isinstance(node.value, list):
            entries = [self.substitute(n, scope, (*path, i)) for i, n in enumerate(node.value)]
            return Node(entries, node.mark)
        if isinstance(node.value, str) and "$" in node.value and not node.block:
            return self.reference(node, node.value, scope, path)
        return node

    def reference(self, node: Node, text: str, scope: Scope, path: KeyPath) -> Node:
        """Resolve one scalar that holds a "$"."""
        match = _REFERENCE.fullmatch(text.strip())
        if match is None:
            self.report(
                path,
                f"{text[:60]!r} is not a reference",
                "write $name, -$name, 2*$name or $name/2",
                node.mark,
            )
            return Node(FailedValue(), node.mark)
        name = match["name"]
        if name not in scope:
            hint = did_you_mean(name, scope) if len(self.problems) < MAX_PROBLEMS else ""
            self.report(path, f"nothing is called ${name[:60]}", hint, node.mark)
            return Node(FailedValue(), node.mark)
        if float(match["divisor"] or 1) == 0.0:
            self.report(path, "division by zero", mark=node.mark)
            return Node(FailedValue(), node.mark)
        target = scope[name]
        size, depth = self.measure(target)
        self.count_values(size, path)
        if depth > MAX_DEPTH:
            self.report(path, f"${name} is nested deeper than {MAX_DEPTH} levels", mark=node.mark)
            return Node(FailedValue(), node.mark)
        return self.multiple(target, match, path)

    def multiple(self, node: Node, match: re.Match[str], path: KeyPath) -> Node:
        """The multiple of a node that a reference to it names."""
        factor = float(match["factor"] or 1) * (-1.0 if match["sign"] == "-" else 1.0)
        divisor = float(match["divisor"] or 1)
        return node if (factor, divisor) == (1.0, 1.0) else self.scale(node, factor, divisor, path)

    def scale(self, node: Node, factor: float, divisor: float, path: KeyPath) -> Node:
        """Scale a number, a text of numbers and a unit, or a list of such."""
        if isinstance(node.value, list):
            return Node([self.scale(n, factor, divisor, path) for n in node.value], node.mark)
        if isinstance(node.value, int | float) and not isinstance(node.value, bool):
            number = float(node.value) if abs(node.value) < LARGEST else math.inf
            return Node(
                number * factor / divisor, node.mark, origin_if_derived=_scaled_origin(node, factor / divisor)
            )
        if isinstance(node.value, str):
            match = LEADING_NUMBERS.match(node.value)
            if match:
                numbers = re.split(r"[\s,]+", match.group().strip())
                texts = [repr(float(number) * factor / divisor) for number in numbers]
                text = " ".join(texts) + " " + node.value[match.end() :].strip()
                return Node(text, node.mark, origin_if_derived=_scaled_origin(node, factor / divisor))
        self.report(path, "this constant cannot be scaled", "scale numbers with units, or lists of them")
        return Node(FailedValue(), node.mark)


def _scaled_origin(node: Node, factor: float) -> Origin:
    origin = node.origin
    return replace(origin, scale=origin.scale * factor)
