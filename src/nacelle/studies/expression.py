"""Expressions over the columns of a study: "2*rod_length + mass/3", "peak <= 40"."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from nacelle.errors import KinematicsError, did_you_mean
from nacelle.spatial.scalar import Array

_OPERATORS: dict[type[Any], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: getattr(np, name) for name in ("sqrt", "exp", "log", "sin", "cos", "tan", "abs")},
    "min": np.minimum,
    "max": np.maximum,
}
_CONSTANTS = {"pi": np.pi}
_LONGEST = 1000
_COMPARISON = re.compile(r"(<=|>=|<|>)")


@dataclass(frozen=True)
class Expression:
    """An arithmetic expression over names; it can do nothing but arithmetic.

    Attributes:
        text: as written.
        names: that it uses, in order.
    """

    text: str
    names: tuple[str, ...]

    def __call__(self, columns: Mapping[str, Array]) -> Array:
        """Its values from columns (N,) by name; NaN or infinite where it is not defined."""
        with np.errstate(all="ignore"):
            return np.asarray(_value(_parse(self.text), columns), dtype=float)


@dataclass(frozen=True)
class Constraint:
    """What has to hold: an expression that is at most zero.

    Attributes:
        text: as written, such as "peak <= 40".
        left: the left side.
        right: the right side.
        sign: 1 if the left side is at most the right one, -1 if at least.
    """

    text: str
    left: Expression
    right: Expression
    sign: float

    @property
    def names(self) -> tuple[str, ...]:
        """Names that it uses."""
        return (*self.left.names, *self.right.names)

    def violation(self, columns: Mapping[str, Array]) -> Array:
        """By how much it is violated (N,): zero or below where it holds."""
        return np.asarray(self.sign * (self.left(columns) - self.right(columns)))


def read_expression(text: str, known: tuple[str, ...] | None = None) -> Expression:
    """Read an expression.

    Args:
        text: as written; names with signs other than letters, digits and _ stand in braces: {leg1.A.x}.
        known: names that it may use; any if None.

    Raises:
        KinematicsError: if it is not arithmetic, or uses an unknown name.
    """
    tree = _parse(text)
    names: dict[str, None] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not _is_function(node, tree) and node.id not in _CONSTANTS:
            names[_plain(node.id)] = None
    for name in names:
        if known is not None and name not in known:
            raise KinematicsError(f"{text!r}: there is no {name!r}; {did_you_mean(name, known)}")
    _value(tree, {name: np.ones(1) for name in names})
    return Expression(text, tuple(names))


def read_constraint(text: str, known: tuple[str, ...]) -> Constraint:
    """Read a constraint such as "peak <= 40".

    Raises:
        KinematicsError: if it has not exactly one comparison, or a side is no expression.
    """
    parts = _COMPARISON.split(text)
    if len(parts) != 3:
        raise KinematicsError(f"{text!r} is no constraint: write one comparison, such as 'peak <= 40'")
    left, right = (read_expression(side.strip(), known) for side in (parts[0], parts[2]))
    return Constraint(text, left, right, 1.0 if parts[1].startswith("<") else -1.0)


_BRACED = re.compile(r"\{([^{}]+)\}")
_MARK = "_number_"


def _parse(text: str) -> ast.expr:
    if len(text) > _LONGEST:
        raise KinematicsError(f"an expression has at most {_LONGEST} characters")
    quoted = _BRACED.sub(lambda match: _MARK + match[1].strip().encode().hex(), text)
    try:
        return ast.parse(quoted.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise KinematicsError(f"{text!r} is no expression: write for example '2*rod_length + mass'") from None


def _plain(name: str) -> str:
    return bytes.fromhex(name.removeprefix(_MARK)).decode() if name.startswith(_MARK) else name


def _is_function(node: ast.Name, tree: ast.expr) -> bool:
    return any(isinstance(call, ast.Call) and call.func is node for call in ast.walk(tree))


def _value(node: ast.expr, columns: Mapping[str, Array]) -> Any:
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return float(node.value)
    if isinstance(node, ast.Name):
        name = _plain(node.id)
        return columns[name] if name in columns else _CONSTANTS[name]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        value = _value(node.operand, columns)
        return -value if isinstance(node.op, ast.USub) else value
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        return _OPERATORS[type(node.op)](_value(node.left, columns), _value(node.right, columns))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
        function = _FUNCTIONS.get(node.func.id)
        if function is None:
            raise KinematicsError(
                f"there is no function {node.func.id!r}; {did_you_mean(node.func.id, _FUNCTIONS)}"
            )
        arguments = [_value(argument, columns) for argument in node.args]
        if len(arguments) != (2 if function in (np.minimum, np.maximum) else 1):
            raise KinematicsError(f"{node.func.id} takes another number of arguments than {len(arguments)}")
        return function(*arguments)
    raise KinematicsError("an expression has numbers, names, + - * / ** and functions such as sqrt alone")
