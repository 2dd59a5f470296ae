"""LLVM IR text of functions with loops and branches over arrays in memory: doubles, and vectors along arrays.

LLVM's passes over a module are left out (`compiler_worker`), so what is written is what runs: values that a
loop carries are phi nodes, and everything else that outlives a loop is in memory.

Loops around a program are written for W samples at a time (`Lanes`), one in each lane of a vector. Lanes
whose work is done keep their values while the others go on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from nacelle.emit.jit.vectors import constant, splat, suffix, type_name
from nacelle.emit.loop_writer import (
    ArrayWriter,
    Entries,
    Index,
    SampleLoop,
    SampleWriter,
    Vector,
    WrittenLoop,
)

_WHOLES = {
    **{"+": "add", "-": "sub", "*": "mul", "/": "udiv", "%": "urem", "&": "and", "<<": "shl", ">>": "lshr"},
    **{"==": "icmp eq", "!=": "icmp ne", "<": "icmp slt", ">": "icmp sgt", ">=": "icmp sge"},
}
_REALS = {
    **{"+": "fadd", "-": "fsub", "*": "fmul", "/": "fdiv", "==": "fcmp oeq", "!=": "fcmp une"},
    **{"<": "fcmp olt", "<=": "fcmp ole", ">": "fcmp ogt", ">=": "fcmp oge"},
}


PARAMETER_TYPES = {"array": "ptr", "wholes": "ptr", "real": "double", "whole": "i64"}
"""Types of a function's parameters, by their kinds."""


class Lines(ArrayWriter):
    """Lines of one function over doubles, and vectors of them.

    Args:
        width: doubles in a vector.
        fma: whether products are fused with sums.
        head: the function's declaration up to its opening brace.
        prefix: of names of functions of this width.

    Attributes:
        type: of vectors of doubles, or a double if the width is 1.
        integer: of vectors of integers.
        bit: of vectors of bits.
        end: the part of an intrinsic's name that says the type of vectors.
        types: by the kind of a value.
        lines: what is written.
    """

    def __init__(self, width: int, fma: bool, head: str, prefix: str = "") -> None:
        self.width, self.prefix, self.fma, self.block = width, prefix, fma, "entry"
        self.type, self.end = type_name(width), suffix(width)
        self.integer = "i64" if width == 1 else f"<{width} x i64>"
        self.bit = "i1" if width == 1 else f"<{width} x i1>"
        self.types = {"real": "double", "vector": self.type, "whole": "i64", "bit": "i1"}
        self.lines = [f"{head} #0 {{", "entry:"]
        self._count = 0

    def __call__(self, *lines: str) -> None:
        """Write lines."""
        self.lines.extend(lines)

    def name(self) -> str:
        """A new name, of a value or a label."""
        self._count += 1
        return f"x{self._count}"

    def value(self, text: str) -> str:
        """Write an instruction and give its value a name."""
        name = f"%{self.name()}"
        self.lines.append(f"{name} = {text}")
        return name

    def text(self, result: str = "void") -> str:
        """The whole function, which ends by returning a result."""
        return "\n".join([*self.lines, f"ret {result}", "}"])

    # ---- values

    def argument(self, name: str) -> str:
        """A number or an integer that the function is called with."""
        return f"%{name}"

    def name_value(self, name: str, value: str, kind: str = "real") -> str:
        """Give a value a name: it has one."""
        return value

    def whole(self, operator: str, a: Index, b: Index) -> str:
        """An operation on integers, or a comparison of them."""
        return self.value(f"{_WHOLES[operator]} i64 {a}, {b}")

    def real(self, operator: str, a: str, b: str, kind: str = "real") -> str:
        """An operation on doubles or vectors, or a comparison of them."""
        return self.value(f"{_REALS[operator]} {self.types[kind]} {a}, {b}")

    def intrinsic(self, name: str, *arguments: str, kind: str = "real") -> str:
        """A function of LLVM of doubles or vectors."""
        type_ = self.types[kind]
        operands = ", ".join(f"{type_} {argument}" for argument in arguments)
        end = self.end if type_ == self.type else "f64"
        return self.value(f"call {type_} @llvm.{name}.{end}({operands})")

    def unary(self, operator: str, a: str, kind: str = "real") -> str:
        """An operation on one value."""
        match operator:
            case "-":
                return self.value(f"fneg {self.types[kind]} {a}")
            case "finite":
                return self.real("<", self.unary("abs", a, kind), self.number(float("inf")), kind)
            case "not":
                bit = self.types["bit"]
                return self.value(f"xor {bit} {a}, {'true' if bit == 'i1' else 'splat (i1 true)'}")
            case "real":
                return self.value(f"uitofp i64 {a} to double")
            case _:
                return self.intrinsic({"abs": "fabs", "sqrt": "sqrt"}[operator], a, kind=kind)

    def combine_bits(self, operator: str, a: str, b: str) -> str:
        """Join bits."""
        return self.value(f"{'and' if operator == '&' else 'or'} {self.types['bit']} {a}, {b}")

    def constant(self, value: Index, kind: str) -> str:
        """A value, or an integer as a constant of a kind."""
        return str(value)

    def choose(self, bit: str, a: Index, b: Index, kind: str = "real") -> str:
        """Take a where a bit is set, else b."""
        type_, first, second = self.types[kind], self.constant(a, kind), self.constant(b, kind)
        return self.value(f"select {self.types['bit']} {bit}, {type_} {first}, {type_} {second}")

    def number(self, value: float) -> str:
        """A constant."""
        return constant(value)

    def product_sum(self, a: str, b: str, c: str, kind: str = "real") -> str:
        """Give a b + c."""
        if self.fma:
            return self.intrinsic("fma", a, b, c, kind=kind)
        return self.real("+", self.real("*", a, b, kind), c, kind)

    def maximum(self, a: str, b: str) -> str:
        """The larger of two doubles; NaN if one of them is."""
        return self.intrinsic("maximum", a, b)

    # ---- vectors

    def splat(self, number: int, kind: str = "i64") -> str:
        """A constant integer, or bit, of all lanes."""
        return str(number) if self.width == 1 else f"splat ({kind} {number})"

    def spread(self, scalar: str) -> str:
        """Repeat a double over the lanes."""
        if self.width == 1:
            return scalar
        first = self.value(f"insertelement {self.type} poison, double {scalar}, i64 0")
        zeros = f"<{self.width} x i32> zeroinitializer"
        return self.value(f"shufflevector {self.type} {first}, {self.type} poison, {zeros}")

    def lanes(self, scalars: Sequence[str]) -> str:
        """A vector of doubles, lane by lane."""
        if len(set(scalars)) == 1:
            return self.spread(scalars[0])
        vector = "poison"
        for lane, scalar in enumerate(scalars):
            vector = self.value(f"insertelement {self.type} {vector}, double {scalar}, i64 {lane}")
        return vector

    def lane(self, vector: str, lane: int) -> str:
        """One lane of a vector."""
        return vector if self.width == 1 else self.value(f"extractelement {self.type} {vector}, i64 {lane}")

    # ---- memory

    def address(self, base: str, index: Index, kind: str = "double") -> str:
        """The address of an entry of an array."""
        return self.value(f"getelementptr {kind}, ptr {base}, i64 {index}")

    def load(self, base: str, index: Index, kind: str = "real") -> str:
        """Entries of an array, one or a vector of them."""
        address = self.address(base, index, "i64" if kind == "whole" else "double")
        return self.value(f"load {self.types[kind]}, ptr {address}, align 8")

    def store(self, value: Index, base: str, index: Index, kind: str = "real") -> None:
        """Entries of an array, one or a vector of them."""
        address = self.address(base, index, "i64" if kind == "whole" else "double")
        self(f"store {self.types[kind]} {value}, ptr {address}, align 8")

    # ---- loops and branches

    @contextmanager
    def loop(self, first: Index, stop: Index, step: int = 1) -> Iterator[Loop]:
        """A loop of an index from the first to before the stop; none where that is not above it."""
        loop = Loop(self, first, stop, step)
        yield loop
        loop.close()

    @contextmanager
    def when(self, bit: str) -> Iterator[None]:
        """What happens only where a bit is set."""
        inside, after = self.name(), self.name()
        self(f"br i1 {bit}, label %{inside}, label %{after}")
        self.label(inside)
        yield
        self(f"br label %{after}")
        self.label(after)

    @contextmanager
    def endless_loop(self) -> Iterator[None]:
        """A loop that is left from within the function alone."""
        again = self.name()
        self(f"br label %{again}")
        self.label(again)
        yield
        self(f"br label %{again}")
        self.label(self.name())

    def call_either(self, bit: str, first: str, second: str) -> None:
        """Call one function where a bit is set, and another where it is not."""
        blocks, after = (self.name(), self.name()), self.name()
        self(f"br i1 {bit}, label %{blocks[0]}, label %{blocks[1]}")
        for block, called in zip(blocks, (first, second), strict=True):
            self.label(block)
            self(f"call void {called}", f"br label %{after}")
        self.label(after)

    def call(self, function: str, *arguments: tuple[str, str], result: bool = False) -> str:
        """Call a function; it may give an integer."""
        operands = ", ".join(f"{PARAMETER_TYPES[kind]} {value}" for kind, value in arguments)
        if result:
            return self.value(f"call i64 @{function}({operands})")
        self(f"call void @{function}({operands})")
        return ""

    def return_integer(self, result: Index) -> None:
        """Return an integer from within the function."""
        self(f"ret i64 {result}")
        self.label(self.name())

    def label(self, name: str) -> None:
        """Begin a block."""
        self(f"{name}:")
        self.block = name


class Loop(WrittenLoop):
    """A loop that is being written: its index, and the values that it carries."""

    def __init__(self, code: Lines, first: Index, stop: Index, step: int) -> None:
        self._code, self._step = code, step
        self._before, self._first = code.block, first
        head, inside, self._after = code.name(), code.name(), code.name()
        self._head = head
        self.index = f"%{code.name()}"
        code(f"br label %{head}")
        code.label(head)
        # Phi nodes are written when the loop is closed: only then is the last block of its body known.
        self._phi_line = len(code.lines)
        self._carried: dict[str, tuple[str, str, str]] = {}
        self._stop, self._more = stop, ""
        more = code.whole("<", self.index, stop)
        code(f"br i1 {more}, label %{inside}, label %{self._after}")
        code.label(inside)

    def carry(self, name: str, first: Index, kind: str = "real") -> str:
        """A value that each round hands to the next; its name holds after the loop, too."""
        identifier, begin = f"%{self._code.name()}", self._code.constant(first, kind)
        self._carried[identifier] = (self._code.types[kind], begin, begin)
        return identifier

    def set_next(self, name: str, value: str) -> None:
        """What the next round has for a carried value."""
        kind, first, _ = self._carried[name]
        self._carried[name] = (kind, first, value)

    def continue_while(self, bit: str) -> None:
        """Make this round the last one unless a bit is set."""
        self._more = bit

    def close(self) -> None:
        """End the loop."""
        code = self._code
        following = code.whole("+", self.index, self._step)
        if self._more:
            following = code.value(f"select i1 {self._more}, i64 {following}, i64 {self._stop}")
        last = code.block
        code(f"br label %{self._head}")
        nodes = {self.index: ("i64", str(self._first), following), **self._carried}
        code.lines[self._phi_line : self._phi_line] = [
            f"{name} = phi {kind} [ {first}, %{self._before} ], [ {value}, %{last} ]"
            for name, (kind, first, value) in nodes.items()
        ]
        code.label(self._after)


# ---- one sample in each lane


class Lanes(Lines, SampleWriter):
    """Lines of a function around a program, W samples at a time.

    Attributes:
        sample: the first sample of the round.
        count: how many lanes of the round are samples.
        mask: the lanes in which vectors are written now; all of them without a mask.
    """

    sample = count = mask = ""

    def __init__(self, width: int, fma: bool, head: str, prefix: str = "") -> None:
        super().__init__(width, fma, head, prefix)
        self.types |= {"real": self.type, "whole": self.integer, "bit": self.bit}

    def constant(self, value: Index, kind: str) -> str:
        """A value, or an integer as a constant of a kind in all lanes."""
        if isinstance(value, str):
            return value
        return self.splat(value, "i1" if kind == "bit" else "i64")

    def argument(self, name: str) -> str:
        """A number that the function is called with, in all lanes."""
        return self.spread(f"%{name}")

    def number(self, value: float) -> str:
        """A constant of all lanes."""
        return splat(value, self.width)

    def load_vector(self, vector: Vector, size: int) -> Vector:
        """A vector whose entries are loaded here."""
        assert isinstance(vector, TileVector)
        return vector.load(size)

    def any(self, bits: str) -> str:
        """Say whether a bit of any lane is set."""
        if self.width == 1:
            return bits
        return self.value(f"call i1 @llvm.vector.reduce.or.v{self.width}i1({self.bit} {bits})")

    def only_if(self, condition: str, a: str) -> str:
        """The bits of a if a condition holds, else none."""
        none = self.splat(0, "i1")
        return self.value(f"select i1 {condition}, {self.bit} {a}, {self.bit} {none}")

    def select_if(self, condition: str, a: str, b: str) -> str:
        """Take a if a condition holds, else b."""
        return self.value(f"select i1 {condition}, {self.type} {a}, {self.type} {b}")

    def each(self, size: int, body: Callable[[Index], None]) -> None:
        """Write the lines of every entry, one after the other."""
        for j in range(size):
            body(j)

    def fold(
        self, name: str, size: int, first: str, body: Callable[[Index, str], str], kind: str = "real"
    ) -> str:
        """Write the lines of every entry, each with the value of the one before it."""
        for j in range(size):
            first = body(j, first)
        return first

    def stages(self, count: int, body: Callable[[Index], None]) -> None:
        """Write the lines of every stage, one after the other."""
        self.each(count, body)

    def pick(self, stage: Index, values: Sequence[str]) -> str:
        """The value of a stage."""
        assert isinstance(stage, int)
        return values[stage]

    @contextmanager
    def rounds(self, name: str, stop: Index) -> Iterator[LaneLoop]:
        """A loop that ends when no lane goes on."""
        loop = LaneLoop(self, 0, stop, 1)
        yield loop
        loop.close()
        self.mask = ""

    @contextmanager
    def where(self, bit: str) -> Iterator[None]:
        """Write vectors in some lanes alone."""
        before, self.mask = self.mask, bit
        yield
        self.mask = before

    @contextmanager
    def samples(self) -> Iterator[Loop]:
        """The loop over the samples `start` to `stop`."""
        with self.loop("%start", "%stop", self.width) as loop:
            self.sample, left = loop.index, self.whole("-", "%stop", loop.index)
            self.count = self.value(f"call i64 @llvm.umin.i64(i64 {left}, i64 {self.width})")
            yield loop

    def shared_row(self, row: str) -> Entries:
        """A row of an array that all samples share: its entries in all lanes."""
        return lambda j: self.spread(self.value(f"load double, ptr {self.address(row, j)}, align 8"))

    def after(self, base: str, bytes_: int) -> str:
        """The address a number of bytes after another."""
        return self.value(f"getelementptr i8, ptr {base}, i64 {bytes_}")

    def store_integers(self, value: str, base: str) -> None:
        """Store an integer of every sample of the round into an array."""
        self(f"store {self.integer} {value}, ptr {self.address(base, self.sample, 'i64')}, align 8")

    def rows(self, verb: str, base: str, index: int, rows: str, size: int, step: str) -> None:
        """Move rows of the samples of this round into a tile ("pack"), or back ("unpack")."""
        if not size:
            return
        first = self.address(rows, self.whole("*", self.sample, step))
        tile = self.after(base, index * 8 * self.width)
        ends = f"ptr {first}, ptr {tile}, i64 {size}, i64 {step}, i64 {self.count}"
        self(f"call void @{self.prefix}{verb}_few({ends})")


class LaneLoop(Loop, SampleLoop):
    """A loop that lanes leave one by one."""

    def __init__(self, code: Lanes, first: Index, stop: Index, step: int) -> None:
        super().__init__(code, first, stop, step)
        self._lanes, self.active = code, self.carry("active", 1, "bit")

    def leave_unless(self, bit: str) -> None:
        """From here on only lanes with the bit are written; a round without any is the last one."""
        self.set_next(self.active, bit)
        self.continue_while(self._lanes.any(bit))
        self._lanes.mask = bit

    def count(self, name: str) -> None:
        """Add one to a carried integer in the lanes that have not left."""
        code = self._lanes
        more = code.value(f"add {code.integer} {name}, {code.splat(1)}")
        self.set_next(name, code.choose(code.mask, more, name, "whole"))


class TileVector(Vector):
    """A vector of every lane in a tile; `values` are its entries where they have been loaded before."""

    def __init__(self, code: Lanes, base: str, index: int, values: Sequence[str] = ()) -> None:
        self._code, self._base, self._offset, self._values = code, base, index, values

    def load(self, size: int) -> TileVector:
        """The same vector with entries that are loaded here."""
        return TileVector(self._code, self._base, self._offset, [self.get(j) for j in range(size)])

    def _address(self, j: Index) -> str:
        assert isinstance(j, int)
        return self._code.after(self._base, (self._offset + j) * 8 * self._code.width)

    def get(self, j: Index) -> str:
        """Entry j of every lane."""
        if self._values:
            assert isinstance(j, int)
            return self._values[j]
        code = self._code
        return code.value(f"load {code.type}, ptr {self._address(j)}, align {8 * code.width}")

    def put(self, j: Index, value: str) -> None:
        """Write entry j of the lanes of the mask."""
        code = self._code
        if code.mask:
            value = code.choose(code.mask, value, self.get(j))
        code(f"store {code.type} {value}, ptr {self._address(j)}, align {8 * code.width}")


class RegisterVector(Vector):
    """A vector of every lane that is not in memory."""

    def __init__(self) -> None:
        self._values: dict[Index, str] = {}

    def get(self, j: Index) -> str:
        """Entry j of every lane."""
        return self._values[j]

    def put(self, j: Index, value: str) -> None:
        """Change entry j of every lane."""
        self._values[j] = value
