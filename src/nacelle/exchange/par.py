"""Parameter files of SYMORO+ and OpenSYMORO (.par) to a graph.

They are tables of Khalil and Kleinfinger with numbers in them.

Frame j is placed in frame ant(j) by Rz(gamma) Tz(b) Rx(alpha) Tx(d) Rz(theta) Tz(r); joint j turns about z_j
(sigma = 0, theta is the variable), slides along it (sigma = 1, r is) or is fixed (sigma = 2); mu = 1 marks an
active joint. The first NL frames are links, each with XX..ZZ about its frame's origin, first moments MX, MY,
MZ, mass M, rotor inertia IA at the joint, viscous and dry friction FV, FS. With NJ joints there are NJ - NL
loops: frame j > NL is carried by joint j from one link, and frame j + NJ - NL, fixed to another, coincides
with it. G is the acceleration of gravity. [KI2007] Table 1; symoro/symoro, `parfile.py`.

The text of a parameter file: lists of expressions by their names, each with its line.

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
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from nacelle.errors import DescriptionError, shorten
from nacelle.exchange.graph import BASE, Axis, ExchangeReport, Graph, Link, Motor, Solid, UniqueNames
from nacelle.exchange.tree import with_spanning_tree
from nacelle.exchange.xml import LARGEST_NUMBER, read_bytes, require_physical, symmetric_matrix
from nacelle.model.description.frame import KhalilKleinfingerSpec
from nacelle.model.source.node import file_error
from nacelle.spatial.pose import Pose, identity
from nacelle.spatial.scalar import Array

# ---- the text: lists of expressions by their names


_LARGEST = 1_000_000
_COMMENT = re.compile(r"\(\*.*?\*\)", re.DOTALL)
_ENTRY = re.compile(r"^[ \t]*(?P<name>[A-Za-z]\w*)[ \t]*=[ \t]*(?P<value>\{[^}]*\}|[^\n{]*)", re.MULTILINE)
_NAME = re.compile(r"\(\*\s*Robot\s*name\s*=\s*'(?P<name>[^']*)'\s*\*\)", re.IGNORECASE)
_GEOMETRY = ("ant", "sigma", "gamma", "alpha", "mu", "theta")
_COUNTS = ("NL", "NJ", "NF", "Type")
_CANONICAL_NAMES = {name.lower(): name for name in (*_GEOMETRY, *_COUNTS)}
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
    """An expression as it is written, with its file and line."""

    text: str
    file: str
    line: int

    def fault(self, message: str, hint: str = "") -> DescriptionError:
        """An error at the line of the expression."""
        return file_error(self.file, message, hint, self.line, 1)

    @property
    def number(self) -> float:
        """The value.

        Raises:
            DescriptionError: at the line, if it has a symbol or is no expression.
        """
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", SyntaxWarning)
                value = float(_evaluate(ast.parse(self.text.replace("^", "**"), mode="eval").body))
        except _SymbolError as symbol:
            raise self.fault(
                f"{self.text!r} has the symbol {symbol}, which has no value",
                "a robot needs numbers: put the value in its place",
            ) from None
        except (SyntaxError, ValueError, ArithmeticError, TypeError, RecursionError, MemoryError):
            raise self.fault(f"{shorten(self.text)!r} is no number") from None
        if not abs(value) <= LARGEST_NUMBER:
            raise self.fault(f"{shorten(self.text)!r} must be finite and within {LARGEST_NUMBER:g}")
        return value

    @property
    def offset(self) -> float:
        """The joint's variable at the coordinate zero: what is added to the symbol, or the number."""
        names = sorted(set(re.findall(r"[A-Za-z_]\w*", self.text)) - {"pi", "Pi", *_FUNCTIONS})
        if not names:
            return self.number
        if len(names) == 1:
            name = names[0]
            at_zero = Expression(re.sub(rf"\b{name}\b", "0", self.text), self.file, self.line)
            at_one = Expression(re.sub(rf"\b{name}\b", "1", self.text), self.file, self.line)
            if abs(at_one.number - at_zero.number - 1.0) < 1e-12:
                return at_zero.number
        raise self.fault(
            f"the variable {self.text!r} is not a symbol with an offset", "a variable is th1 or th1 + pi/2"
        )


class _SymbolError(Exception):
    """A name that has no value."""


def _evaluate(node: ast.expr) -> float:
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
        left, right = _evaluate(node.left), _evaluate(node.right)
        # Powers of numbers in files are squares: larger ones only grow.
        if isinstance(node.op, ast.Pow) and abs(right) > 16:
            raise ValueError
        return _OPERATORS[type(node.op)](left, right)
    if isinstance(node, ast.UnaryOp) and type(node.op) in _OPERATORS:
        return _OPERATORS[type(node.op)](_evaluate(node.operand))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
        if node.func.id not in _FUNCTIONS:
            raise _SymbolError(node.func.id)
        return _FUNCTIONS[node.func.id](*(_evaluate(argument) for argument in node.args))
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
        """A list with `count` entries; defaults where the file does not have it.

        Raises:
            DescriptionError: at its line, if it is shorter.
        """
        entries = self.lists.get(name)
        if entries is None:
            return [Expression(default, self.file, 0)] * count
        if len(entries) < count:
            line = entries[0].line if entries else 0
            raise file_error(self.file, f"{name} has {len(entries)} entries and needs {count}", "", line, 1)
        return entries


def read_par_table(path: Path) -> ParTable:
    """Read a file.

    Raises:
        DescriptionError: if it cannot be read.
    """
    data = read_bytes(path, "parameter file of SYMORO+", _LARGEST)
    # Old files have names of places in Latin-1 in their comments.
    text = data.decode("utf-8", "replace")
    title = _NAME.search(text)
    bare = _COMMENT.sub(lambda entry: re.sub(r"[^\n]", " ", entry[0]), text)
    table = ParTable(str(path), title["name"] if title else "")
    for entry in _ENTRY.finditer(bare):
        name = _CANONICAL_NAMES.get(entry["name"].lower(), entry["name"])
        name = name.lower() if name in ("B", "D", "R") else name
        start = entry.start("value")
        if not entry["value"].startswith("{"):
            line = bare.count("\n", 0, start) + 1
            table.single[name] = Expression(entry["value"].strip(), str(path), line)
            continue
        table.lists[name] = []
        for piece in _split_at_commas(entry["value"][1:-1]):
            line = bare.count("\n", 0, start + 1 + piece.start) + 1
            table.lists[name].append(Expression(piece.text.strip(), str(path), line))
    return table


@dataclass(frozen=True)
class _ListEntry:
    text: str
    start: int


def _split_at_commas(text: str) -> list[_ListEntry]:
    """What commas separate, but for those within parentheses."""
    pieces, depth, start = [], 0, 0
    for k, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            pieces.append(_ListEntry(text[start:k], start))
            start = k + 1
    first = len(text[start:]) - len(text[start:].lstrip())
    return [*pieces, _ListEntry(text[start:], start + first)] if text.strip() else pieces


# ---- the graph


_Z = np.array([0.0, 0.0, 1.0])
_PARAMETERS = ("gamma", "b", "alpha", "d", "theta", "r")
_MOMENTS = ("XX", "XY", "XZ", "YY", "YZ", "ZZ")
_FIRST = ("MX", "MY", "MZ")
_LOADS = ("FX", "FY", "FZ", "CX", "CY", "CZ")
_BASE_MOTION = ("W0", "WP0", "V0", "VP0")


def read_par(path: Path) -> Graph:
    """Read a file.

    Raises:
        DescriptionError: with the line of what is wrong, of a symbol for instance.
    """
    return _Reader(read_par_table(path), path).graph()


class _Reader:
    def __init__(self, table: ParTable, path: Path) -> None:
        self.table, self.path, self.report = table, path, ExchangeReport()
        self.links = table.count("NL", len(table.lists.get("ant", [])))
        self.joints = table.count("NJ", self.links)
        self.loops = self.joints - self.links
        if self.links < 1 or self.loops < 0:
            raise file_error(str(path), "a robot has NL links and at least as many joints NJ")
        self.frames = self.joints + self.loops
        names = ("ant", "sigma", "mu", *_PARAMETERS)
        self.columns = {name: table.column(name, self.frames) for name in names}
        if "ant" not in table.lists or "sigma" not in table.lists:
            raise file_error(
                str(path), "the file has no lists 'ant' and 'sigma'", "name a parameter file of SYMORO+"
            )

    def graph(self) -> Graph:
        """The whole file."""
        table = self.table
        floating = table.single.get("is_floating")
        mobile = table.single.get("is_mobile")
        for entry in (floating, mobile):
            if entry is not None and entry.text.strip().lower() not in ("0", "false"):
                raise entry.fault("a base that moves is not read", "a robot whose base is fixed is")
        bodies = {self._body(j): self._solid(j) for j in range(1, self.links + 1)}
        joints = tuple(self._joint(j) for j in range(1, self.links + 1))
        closures = tuple(self._closure(j) for j in range(self.links + 1, self.joints + 1))
        self._note_losses()
        graph = Graph(
            name=UniqueNames().new(table.name, self.path.stem),
            file=str(self.path),
            gravity=np.array([entry.number for entry in self._gravity()]),
            bodies=bodies,
            joints=joints,
            closures=closures,
            report=self.report,
        )
        return with_spanning_tree(graph)

    def _body(self, j: int) -> str:
        return BASE if j == 0 else f"link{j}"

    def _gravity(self) -> list[Expression]:
        if "G" not in self.table.lists:
            raise file_error(str(self.path), "the file has no gravity 'G'")
        return self.table.column("G", 3)[:3]

    def _index(self, name: str, j: int, largest: int) -> int:
        entry = self.columns[name][j - 1]
        value = entry.number
        if value != int(value) or not 0 <= value <= largest:
            raise entry.fault(f"{name} of frame {j} is {entry.text}, not a whole number from 0 to {largest}")
        return int(value)

    def _frame_of(self, j: int) -> tuple[str, Pose, tuple[Axis, ...]]:
        """The link that carries frame j, the frame there at the coordinate zero, and its axis.

        A variable that is a number is the coordinate in the assembly.
        """
        carrier, sigma = self._index("ant", j, self.frames), self._index("sigma", j, 2)
        entries = {name: column[j - 1] for name, column in self.columns.items()}
        variable = ("theta", "r", "")[sigma]
        numbers = {
            name: entries[name].offset if name == variable else entries[name].number for name in _PARAMETERS
        }
        axes: tuple[Axis, ...] = ()
        if variable:
            value = numbers[variable] if _is_number(entries[variable]) else 0.0
            numbers[variable] -= value
            axes = (Axis(_Z, variable == "theta", value),)
        at = KhalilKleinfingerSpec(**numbers).pose()
        if carrier <= self.links:
            return self._body(carrier), at, axes
        if carrier == j:
            raise entries["ant"].fault(f"frame {j} is carried by itself")
        if self._index("sigma", carrier, 2) != 2 or carrier > j:
            raise entries["ant"].fault(f"frame {j} is carried by frame {carrier}, which is no link")
        body, before, _ = self._frame_of(carrier)
        return body, before @ at, axes

    def _joint(self, j: int) -> Link:
        parent, at, axes = self._frame_of(j)
        name = f"joint{j}"
        if axes:
            columns = (self.table.column(key, self.links) for key in ("IA", "FV", "FS"))
            rotor, viscous, dry = (column[j - 1].number for column in columns)
            motor = Motor(name) if self._index("mu", j, 1) else None
            axes = (replace(axes[0], damping=viscous, coulomb=dry, armature=rotor, motor=motor),)
        return Link(name, parent, self._body(j), at, identity(), axes)

    def _closure(self, j: int) -> Link:
        """Joint j carries a frame that coincides with one that is fixed to another link."""
        parent, at, axes = self._frame_of(j)
        child, child_at, moving = self._frame_of(j + self.loops)
        if moving:
            raise self.columns["sigma"][j + self.loops - 1].fault(
                f"frame {j + self.loops} closes a loop and must be fixed"
            )
        if self._index("mu", j, 1):
            self.report.add_loss(f"the joint {j} closes a loop and is active in the file: here it is passive")
        return Link(f"joint{j}", parent, child, at, child_at, axes, line=self.columns["ant"][j - 1].line)

    def _solid(self, j: int) -> Solid:
        table = self.table
        values = [table.column(key, self.links)[j - 1].number for key in (*_MOMENTS, *_FIRST, "M")]
        about_origin, first, mass = symmetric_matrix(np.array(values[:6])), np.array(values[6:9]), values[9]
        mass_entry = table.column("M", self.links)[j - 1]
        if mass == 0.0 and np.any(first):
            raise mass_entry.fault(f"link {j} has first moments and no mass")
        with np.errstate(over="ignore"):
            com = first / mass if mass else first
        if not np.all(np.abs(com) <= LARGEST_NUMBER):
            raise mass_entry.fault(
                f"link {j}: the mass {mass:g} kg is nothing to its first moments {first} kg m"
            )
        solid = Solid(mass, com, about_origin - mass * _steiner_matrix(com))
        return require_physical(solid, lambda message, hint: mass_entry.fault(f"link {j}: {message}", hint))

    def _note_losses(self) -> None:
        lists = self.table.lists
        if any(_is_nonzero(entry) for key in _LOADS for entry in lists.get(key, [])):
            self.report.add_loss("forces and moments on links (FX to CZ) left out")
        if any(_is_nonzero(entry) for key in _BASE_MOTION for entry in lists.get(key, [])):
            self.report.add_loss("the motion of the base (W0 to VP0) left out")


def _steiner_matrix(c: Array) -> Array:
    """The matrix of c x (c x .), with the other sign: |c|^2 1 - c c^T."""
    return np.asarray(c @ c * np.eye(3) - np.outer(c, c))


def _is_number(entry: Expression) -> bool:
    return not any(
        letter.isalpha() for letter in entry.text.replace("Pi", "").replace("pi", "").replace("e", "")
    )


def _is_nonzero(entry: Expression) -> bool:
    return entry.text.strip() not in ("", "0", "0.0")
