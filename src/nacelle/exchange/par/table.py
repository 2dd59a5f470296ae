"""The text of a parameter file: lists of expressions by their names, each with its line.

    (* comment *)
    NL = 8
    ant = {0, 1, 2}
    alpha = {0, Pi/2, -Pi/2}

Expressions are numbers, pi, the four operations, powers, and functions of them. A name is a symbol: in the
place of a joint's variable it is its coordinate, anywhere else it has no value here.
"""

from __future__ import annotations

import ast
import math
import operator
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from nacelle.errors import DescriptionError, shortened
from nacelle.exchange.graph import broken
from nacelle.exchange.xml import FARTHEST
from nacelle.files import why_unread

_LARGEST = 1_000_000
_COMMENT = re.compile(r"\(\*.*?\*\)", re.DOTALL)
_ENTRY = re.compile(r"^[ \t]*(?P<name>[A-Za-z]\w*)[ \t]*=[ \t]*(?P<value>\{[^}]*\}|[^\n{]*)", re.MULTILINE)
_NAME = re.compile(r"\(\*\s*Robot\s*name\s*=\s*'(?P<name>[^']*)'\s*\*\)", re.IGNORECASE)
_GEOMETRY = ("ant", "sigma", "gamma", "alpha", "mu", "theta")
_COUNTS = ("NL", "NJ", "NF", "Type")
_SAME = {name.lower(): name for name in (*_GEOMETRY, *_COUNTS)}
_OPERATORS: dict[type, Callable[..., float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
}
_FUNCTIONS: dict[str, Callable[..., float]] = {
    "sin": math.sin, "cos": math.cos, "tan": math.tan, "sqrt": math.sqrt, "atan": math.atan,
    "atan2": math.atan2, "asin": math.asin, "acos": math.acos, "abs": abs,
}  # fmt: skip


@dataclass(frozen=True)
class Expression:
    """An expression as it is written, with its place."""

    text: str
    file: str
    line: int

    def fault(self, message: str, hint: str = "") -> DescriptionError:
        """An error at the line of the expression."""
        return broken(self.file, message, hint, self.line, 1)

    @property
    def number(self) -> float:
        """The value.

        Raises:
            DescriptionError: at the line, if it has a symbol or is no expression.
        """
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", SyntaxWarning)
                value = float(_evaluated(ast.parse(self.text.replace("^", "**"), mode="eval").body))
        except _SymbolError as symbol:
            raise self.fault(
                f"{self.text!r} has the symbol {symbol}, which has no value",
                "a robot needs numbers: put the value in its place",
            ) from None
        except (SyntaxError, ValueError, ArithmeticError, TypeError, RecursionError, MemoryError):
            raise self.fault(f"{shortened(self.text)!r} is no number") from None
        if not abs(value) <= FARTHEST:
            raise self.fault(f"{shortened(self.text)!r} must be finite and within {FARTHEST:g}")
        return value

    @property
    def offset(self) -> float:
        """The joint's variable at the coordinate zero: what is added to the symbol, or the number."""
        names = sorted(set(re.findall(r"[A-Za-z_]\w*", self.text)) - {"pi", "Pi", *_FUNCTIONS})
        if not names:
            return self.number
        if len(names) == 1:
            name = names[0]
            zero = Expression(re.sub(rf"\b{name}\b", "0", self.text), self.file, self.line)
            one = Expression(re.sub(rf"\b{name}\b", "1", self.text), self.file, self.line)
            if abs(one.number - zero.number - 1.0) < 1e-12:
                return zero.number
        raise self.fault(
            f"the variable {self.text!r} is not a symbol with an offset", "a variable is th1 or th1 + pi/2"
        )


class _SymbolError(Exception):
    """A name that has no value."""


def _evaluated(node: ast.expr) -> float:
    if (
        isinstance(node, ast.Constant)
        and isinstance(node.value, int | float)
        and not isinstance(node.value, bool)
    ):
        return node.value
    if isinstance(node, ast.Name):
        if node.id in ("pi", "Pi"):
            return math.pi
        raise _SymbolError(node.id)
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        left, right = _evaluated(node.left), _evaluated(node.right)
        # Powers of numbers in files are squares: larger ones only grow.
        if isinstance(node.op, ast.Pow) and abs(right) > 16:
            raise ValueError
        return _OPERATORS[type(node.op)](left, right)
    if isinstance(node, ast.UnaryOp) and type(node.op) in _OPERATORS:
        return _OPERATORS[type(node.op)](_evaluated(node.operand))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
        if node.func.id not in _FUNCTIONS:
            raise _SymbolError(node.func.id)
        return _FUNCTIONS[node.func.id](*(_evaluated(argument) for argument in node.args))
    raise ValueError


@dataclass(frozen=True, eq=False)
class ParTable:
    """What a parameter file says.

    Attributes:
        file: its name.
        name: of the robot; empty if it is not said.
        single: expressions by their names.
        lists: lists of expressions by their names.
    """

    file: str
    name: str = ""
    single: dict[str, Expression] = field(default_factory=dict)
    lists: dict[str, list[Expression]] = field(default_factory=dict)

    def count(self, name: str, default: int) -> int:
        """A number of things."""
        entry = self.single.get(name)
        if entry is None:
            return default
        value = entry.number
        if value != int(value) or not 0 <= value <= 1000:
            raise entry.fault(f"{name} = {entry.text} is no number of joints or links")
        return int(value)

    def column(self, name: str, count: int, default: str = "0") -> list[Expression]:
        """A list with so many entries; defaults where the file does not have it.

        Raises:
            DescriptionError: at its line, if it is shorter.
        """
        entries = self.lists.get(name)
        if entries is None:
            return [Expression(default, self.file, 0)] * count
        if len(entries) < count:
            line = entries[0].line if entries else 0
            raise broken(self.file, f"{name} has {len(entries)} entries and needs {count}", "", line, 1)
        return entries


def read_par_table(path: Path) -> ParTable:
    """Read a file.

    Raises:
        DescriptionError: if it cannot be read.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise broken(str(path), *why_unread(path, error, "parameter file of SYMORO+")) from None
    if len(data) > _LARGEST:
        raise broken(str(path), f"the file has {len(data)} bytes, more than a robot needs ({_LARGEST})")
    # Old files have names of places in Latin-1 in their comments.
    text = data.decode("utf-8", "replace")
    named = _NAME.search(text)
    bare = _COMMENT.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
    table = ParTable(str(path), named["name"] if named else "")
    for found in _ENTRY.finditer(bare):
        name = _SAME.get(found["name"].lower(), found["name"])
        name = name.lower() if name in ("B", "D", "R") else name
        start = found.start("value")
        if not found["value"].startswith("{"):
            line = bare.count("\n", 0, start) + 1
            table.single[name] = Expression(found["value"].strip(), str(path), line)
            continue
        table.lists[name] = []
        for piece in _pieces(found["value"][1:-1]):
            line = bare.count("\n", 0, start + 1 + piece.start) + 1
            table.lists[name].append(Expression(piece.text.strip(), str(path), line))
    return table


@dataclass(frozen=True)
class _Piece:
    text: str
    start: int


def _pieces(text: str) -> list[_Piece]:
    """What commas separate, but for those within parentheses."""
    pieces, depth, start = [], 0, 0
    for k, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            pieces.append(_Piece(text[start:k], start))
            start = k + 1
    first = len(text[start:]) - len(text[start:].lstrip())
    return [*pieces, _Piece(text[start:], start + first)] if text.strip() else pieces
