"""Loops around programs as statements of C, for a processor or a thread of a device.

Both languages have the same statements; on a device operations are functions of the header, so that the
compiler fuses none of them, and vectors of a sample are columns of shared memory (`cuda.drivers`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

from nacelle.emit.c.parts import c_constant
from nacelle.emit.loop_writer import ArrayWriter, Index, SampleLoop, SampleWriter, Vector
from nacelle.emit.names import Identifiers

_WORD = re.compile(r"[A-Za-z]\w*")
_DEVICE = {"+": "nc_add", "-": "nc_sub", "*": "nc_mul", "/": "nc_div"}
_TRUE = "1"
"""The bit of a loop that a sample is in: in C every sample that is not has left it."""


@dataclass(frozen=True)
class Dialect:
    """How numbers and integers are written.

    Attributes:
        real: type of numbers.
        whole: type of integers.
        precision: "double" or "float".
        device: whether it is CUDA, whose operations are functions of the header.
        stride: how far apart the entries of an array of numbers are.
    """

    real: str
    whole: str
    precision: str = "double"
    device: bool = False
    stride: int = 1

    def function(self, name: str) -> str:
        """The function of one number that is called "abs", "sqrt" or "finite"."""
        if self.device and name != "abs":
            return f"nc_{name}"
        if name == "finite":
            return "isfinite"
        return ("fabs" if name == "abs" else name) + ("f" if self.precision == "float" else "")


class Statements(SampleWriter, ArrayWriter):
    """Lines of one function.

    Args:
        dialect: how it is written.
        names: identifiers of the function, taken so far.
        depth: how far its lines are to the right.
    """

    width = 1

    def __init__(self, dialect: Dialect, names: Identifiers, depth: int = 1) -> None:
        self.dialect, self._scopes, self._depth = dialect, [names], depth - 1
        self.lines: list[str] = []
        self._types = {"real": dialect.real, "whole": dialect.whole, "bit": "int"}

    def __call__(self, *lines: str) -> None:
        """Write lines."""
        indent = "    " * (self._depth + len(self._scopes))
        self.lines += [f"{indent}{line}" for line in lines]

    def text(self) -> str:
        """All lines."""
        return "\n".join(self.lines)

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """Lines between braces."""
        self(f"{head} {{")
        self._scopes.append(self.names.inner())
        yield
        self._scopes.pop()
        self("}")

    @property
    def names(self) -> Identifiers:
        """Identifiers of the present block."""
        return self._scopes[-1]

    def declare(self, line: int, name: str, first: Index, kind: str) -> str:
        """Declare a variable before a loop that is being written, whose lines begin at a place."""
        identifier = self.names.unique(name)
        self._scopes[-2].take(identifier)
        indent = "    " * (self._depth + len(self._scopes) - 1)
        self.lines.insert(line, f"{indent}{self._types[kind]} {identifier} = {first};")
        return identifier

    # ---- values

    def argument(self, name: str) -> str:
        """A number or an integer that the function is called with."""
        return name

    def name_value(self, name: str, value: str, kind: str = "real") -> str:
        """Give a value a name, and evaluate it here."""
        identifier = self.names.unique(name)
        self(f"const {self._types[kind]} {identifier} = {value};")
        return identifier

    def number(self, value: float) -> str:
        """A constant."""
        return c_constant(value, self.dialect.precision)

    def real(self, operator: str, a: str, b: str, kind: str = "real") -> str:
        """An operation on numbers, or a comparison of them."""
        if self.dialect.device and operator in _DEVICE:
            return f"{_DEVICE[operator]}({a}, {b})"
        return _infix(operator, a, b)

    def product_sum(self, a: str, b: str, c: str, kind: str = "real") -> str:
        """Give a b + c."""
        if self.dialect.device:
            return f"nc_fma({a}, {b}, {c})"
        return f"{_operand(c)} + {_operand(a)} * {_operand(b)}"

    def unary(self, operator: str, a: str, kind: str = "real") -> str:
        """An operation on one value."""
        if operator in ("-", "not"):
            return f"{'-' if operator == '-' else '!'}{_operand(a)}"
        if operator == "real":
            return f"({self.dialect.real}){_operand(a)}"
        return f"{self.dialect.function(operator)}({a})"

    def whole(self, operator: str, a: Index, b: Index) -> str:
        """An operation on integers, or a comparison of them."""
        if operator == "+" and b == 0:
            return str(a)
        # What is shifted must have the width of the result.
        first = f"({self.dialect.whole}){a}" if operator in ("<<", ">>") else str(a)
        return _infix(operator, first, str(b))

    def combine_bits(self, operator: str, a: str, b: str) -> str:
        """Join bits."""
        if a == _TRUE:
            return b if operator == "&" else a
        return _infix("&&" if operator == "&" else "||", a, b)

    def only_if(self, condition: str, a: str) -> str:
        """Whether a bit and a condition are set."""
        return self.combine_bits("&", condition, a)

    def choose(self, bit: str, a: Index, b: Index, kind: str = "real") -> str:
        """Take a where a bit is set, else b."""
        return f"{_operand(bit)} ? {_operand(str(a))} : {_operand(str(b))}"

    def select_if(self, condition: str, a: str, b: str) -> str:
        """Take a if a condition holds, else b."""
        return self.choose(condition, a, b)

    # ---- order

    def load_vector(self, vector: Vector, size: int) -> Vector:
        """The vector itself: its entries are read where they are used."""
        return vector

    def each(self, size: int, body: Callable[[Index], None]) -> None:
        """A loop over the entries of a vector."""
        if not size:
            return
        j = self.names.inner().unique("j")
        with self.block(f"for (unsigned {j} = 0; {j} < {size}; ++{j})"):
            self.names.take(j)
            body(j)

    def fold(
        self, name: str, size: int, first: str, body: Callable[[Index, str], str], kind: str = "real"
    ) -> str:
        """A loop over the entries of a vector that changes a variable."""
        identifier = self.names.unique(name)
        self(f"{self._types[kind]} {identifier} = {first};")
        self.each(size, lambda j: self(f"{identifier} = {body(j, identifier)};"))
        return identifier

    def stages(self, count: int, body: Callable[[Index], None]) -> None:
        """A loop over the stages, so that the program is there once."""
        if self.dialect.device:
            self("#pragma unroll 1")
        with self.block(f"for (int stage = 0; stage < {count}; ++stage)"):
            body("stage")

    def pick(self, stage: Index, values: Sequence[str]) -> str:
        """The value of a stage."""
        text = values[-1]
        for k in reversed(range(1, len(values))):
            if values[k - 1] != values[k]:
                text = f"{stage} < {k} ? {values[k - 1]} : {text}"
        return text

    def rounds(self, name: str, stop: Index) -> AbstractContextManager[StatementLoop]:
        """A loop that the sample may leave before its end."""
        return self._index_loop(name, 0, stop, 1, rolled=self.dialect.device)

    @contextmanager
    def _index_loop(
        self, name: str, first: Index, stop: Index, step: int, *, rolled: bool = False
    ) -> Iterator[StatementLoop]:
        index, line = self.names.inner().unique(name), len(self.lines)
        if rolled:
            self("#pragma unroll 1")
        head = f"{self.dialect.whole} {index} = {first}; {index} < {_operand(str(stop))}"
        with self.block(f"for ({head}; {f'++{index}' if step == 1 else f'{index} += {step}'})"):
            self.names.take(index)
            yield StatementLoop(self, index, line)

    def when(self, condition: str) -> AbstractContextManager[None]:
        """What is done only if a condition holds."""
        return self.block(f"if ({condition})")

    def where(self, bit: str) -> AbstractContextManager[None]:
        """What is put only if a bit is set."""
        return self.block(f"if ({bit})")

    # ---- functions over arrays

    def maximum(self, a: str, b: str) -> str:
        """The larger of two numbers; NaN if one of them is."""
        first, second = self.name_value("first", a), self.name_value("second", b)
        return f"({first} > {second} || {first} != {first}) ? {first} : {second}"

    def lanes(self, scalars: Sequence[str]) -> str:
        """The one number."""
        (scalar,) = scalars
        return scalar

    def lane(self, vector: str, lane: int) -> str:
        """The number itself."""
        return vector

    def _entry(self, array: str, index: Index, kind: str) -> str:
        """An entry of an array; entries of numbers lie the dialect's stride apart."""
        return f"{array}[{index if kind == 'whole' else self._offset(index)}]"

    def _offset(self, index: Index) -> str:
        """The distance of a number from the first one of its array."""
        return str(index) if self.dialect.stride == 1 else _infix("*", str(index), str(self.dialect.stride))

    def address(self, array: str, index: Index) -> str:
        """The array from an entry on."""
        identifier = self.names.unique(_WORD.findall(array)[-1])
        self(f"{self.dialect.real} *const {identifier} = {array} + {_operand(self._offset(index))};")
        return identifier

    def load(self, array: str, index: Index, kind: str = "real") -> str:
        """An entry of an array, as it is here."""
        if kind == "whole":
            return self.name_value("whole", self._entry(array, index, kind), kind)
        return self.name_value(f"{_WORD.findall(array)[-1]}_i", self._entry(array, index, kind))

    def store(self, value: Index, array: str, index: Index, kind: str = "real") -> None:
        """Write an entry of an array."""
        self(f"{self._entry(array, index, kind)} = {value};")

    def loop(self, first: Index, stop: Index, step: int = 1) -> AbstractContextManager[StatementLoop]:
        """A loop of an index."""
        return self._index_loop("i", first, stop, step)

    def endless_loop(self) -> AbstractContextManager[None]:
        """A loop that is left from within the function alone."""
        return self.block("for (;;)")

    def return_integer(self, result: Index) -> None:
        """Return from within the function."""
        self(f"return {result};")

    def call(self, function: str, *arguments: tuple[str, str], result: bool = False) -> str:
        """Call a function; it may give an integer."""
        text = f"{function}({', '.join(value for _, value in arguments)})"
        if result:
            return self.name_value(function.rsplit("_", 1)[-1], text, "whole")
        self(f"{text};")
        return ""


class StatementLoop(SampleLoop):
    """A loop that is being written; what it carries are variables declared before it."""

    active = _TRUE

    def __init__(self, code: Statements, index: str, line: int) -> None:
        self._code, self.index, self._line = code, index, line

    def carry(self, name: str, first: Index, kind: str = "real") -> str:
        """A variable."""
        identifier = self._code.declare(self._line, name, first, kind)
        self._line += 1
        return identifier

    def set_next(self, name: str, value: str) -> None:
        """Change a variable."""
        self._code(f"{name} = {value};")

    def leave_unless(self, bit: str) -> None:
        """Leave the loop."""
        with self._code.block(f"if (!{_operand(bit)})"):
            self._code("break;")

    def count(self, name: str) -> None:
        """Add one to a variable."""
        self._code(f"++{name};")


class ArrayVector(Vector):
    """A vector of a sample, from how its entry of an index is written; on a device by its address."""

    def __init__(self, code: Statements, entry: Callable[[Index], str]) -> None:
        self._code, self._entry = code, entry

    def get(self, j: Index) -> str:
        """Entry j."""
        entry = self._entry(j)
        return f"nc_got<{self._code.dialect.real}>({entry})" if self._code.dialect.device else entry

    def put(self, j: Index, value: str) -> None:
        """Write entry j."""
        entry = self._entry(j)
        self._code(f"nc_keep({entry}, {value});" if self._code.dialect.device else f"{entry} = {value};")


def _infix(operator: str, a: str, b: str) -> str:
    """An operation on two operands."""
    return f"{_operand(a)} {operator} {_operand(b)}"


def _operand(text: str) -> str:
    """An expression as part of another: in parentheses unless all its blanks are within brackets."""
    if text.startswith("-"):
        return f"({text})"
    depth = 0
    for character in text:
        depth += (character in "([") - (character in ")]")
        if character == " " and not depth:
            return f"({text})"
    return text
