"""LLVM IR text of functions with loops and branches over arrays in memory: doubles, and vectors along arrays.

LLVM's passes over a module are left out (`compiler_worker`), so what is written is what runs: values that a
loop carries are phi nodes, and everything else that outlives a loop is in memory.

Loops around a program are written for W samples at a time (`Lanes`), one in each lane of a vector. Lanes
whose work is done keep their values while the others go on.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from nacelle.emit.jit.vectors import Text, constant, splat, suffix, type_name


class Lines(Text):
    """Lines of one function.

    Args:
        width: doubles in a vector.
        fma: whether products are fused with sums.
        head: the function's declaration up to its opening brace.
        prefix: of names of functions of this width.
    """

    def __init__(self, width: int, fma: bool, head: str, prefix: str = "") -> None:
        super().__init__(width, prefix)
        self.fma, self.block = fma, "entry"
        self(f"{head} #0 {{", "entry:")

    def text(self, result: str = "void") -> str:
        """The whole function, which ends by returning a result."""
        return "\n".join([*self.lines, f"ret {result}", "}"])

    # ---- values

    def whole(self, verb: str, a: str | int, b: str | int) -> str:
        """An operation on integers: add, sub, mul, udiv, urem, and; or a comparison "icmp ..."."""
        return self.value(f"{verb} i64 {a}, {b}")

    def real(self, verb: str, a: str, b: str, *, vector: bool = False) -> str:
        """An operation on doubles or vectors: fadd, fsub, fmul, fdiv; or a comparison "fcmp ..."."""
        return self.value(f"{verb} {self.kind(vector)} {a}, {b}")

    def kind(self, vector: bool) -> str:
        """The type of doubles or vectors."""
        return type_name(self.width if vector else 1)

    def number(self, value: float, *, vector: bool = False) -> str:
        """A constant."""
        return splat(value, self.width) if vector else constant(value)

    def negative(self, a: str, *, vector: bool = False) -> str:
        """Give -a."""
        return self.value(f"fneg {self.kind(vector)} {a}")

    def product_sum(self, a: str, b: str, c: str, *, vector: bool = False) -> str:
        """Give a b + c."""
        if not self.fma:
            return self.real("fadd", self.real("fmul", a, b, vector=vector), c, vector=vector)
        kind = self.kind(vector)
        end = suffix(self.width if vector else 1)
        return self.value(f"call {kind} @llvm.fma.{end}({kind} {a}, {kind} {b}, {kind} {c})")

    def combination(self, terms: list[tuple[float, str]], *, vector: bool = False) -> str:
        """A sum of values with constant weights."""
        (weight, first), *others = terms
        total = self.real("fmul", first, self.number(weight, vector=vector), vector=vector)
        for weight, term in others:
            total = self.product_sum(term, self.number(weight, vector=vector), total, vector=vector)
        return total

    def size(self, a: str) -> str:
        """Give |a| of a double."""
        return self.value(f"call double @llvm.fabs.f64(double {a})")

    def larger(self, a: str, b: str) -> str:
        """The larger of two doubles; NaN if one of them is."""
        return self.value(f"call double @llvm.maximum.f64(double {a}, double {b})")

    # ---- memory

    def place(self, base: str, index: str | int, kind: str = "double") -> str:
        """The address of an entry of an array."""
        return self.value(f"getelementptr {kind}, ptr {base}, i64 {index}")

    def load(self, base: str, index: str | int, *, vector: bool = False) -> str:
        """Entries of an array, one or a vector of them."""
        return self.value(f"load {self.kind(vector)}, ptr {self.place(base, index)}, align 8")

    def store(self, value: str, base: str, index: str | int, *, vector: bool = False) -> None:
        """Entries of an array, one or a vector of them."""
        self(f"store {self.kind(vector)} {value}, ptr {self.place(base, index)}, align 8")

    def load_whole(self, base: str, index: str | int) -> str:
        """An integer of an array."""
        return self.value(f"load i64, ptr {self.place(base, index, 'i64')}, align 8")

    def store_whole(self, value: str | int, base: str, index: str | int) -> None:
        """An integer of an array."""
        self(f"store i64 {value}, ptr {self.place(base, index, 'i64')}, align 8")

    # ---- loops and branches

    @contextmanager
    def loop(self, first: str | int, stop: str | int, step: int = 1) -> Iterator[Loop]:
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
    def forever(self) -> Iterator[None]:
        """A loop that is left from within the function alone."""
        again = self.name()
        self(f"br label %{again}")
        self.label(again)
        yield
        self(f"br label %{again}")
        self.label(self.name())

    def either(self, bit: str, first: str, second: str) -> None:
        """Call one function where a bit is set, and another where it is not."""
        blocks, after = (self.name(), self.name()), self.name()
        self(f"br i1 {bit}, label %{blocks[0]}, label %{blocks[1]}")
        for block, called in zip(blocks, (first, second), strict=True):
            self.label(block)
            self(f"call void {called}", f"br label %{after}")
        self.label(after)

    def leave(self, result: int | str) -> None:
        """Return an integer from within the function."""
        self(f"ret i64 {result}")
        self.label(self.name())

    def label(self, name: str) -> None:
        """Begin a block."""
        self(f"{name}:")
        self.block = name


class Loop:
    """A loop that is being written: its index, and the doubles that it carries."""

    def __init__(self, code: Lines, first: str | int, stop: str | int, step: int) -> None:
        self._code, self._step = code, step
        self._before, self._first = code.block, first
        head, inside, self._after = code.name(), code.name(), code.name()
        self._head = head
        self.index = f"%{code.name()}"
        code(f"br label %{head}")
        code.label(head)
        # Phi nodes are written when the loop is closed: only then is the last block of its body known.
        self._place = len(code.lines)
        self._carried: list[tuple[str, str, str, str]] = []
        self._stop, self._more = stop, ""
        more = code.whole("icmp slt", self.index, stop)
        code(f"br i1 {more}, label %{inside}, label %{self._after}")
        code.label(inside)

    def carry(self, first: str, kind: str = "double") -> str:
        """A value that each round hands to the next; its name holds after the loop, too."""
        name = f"%{self._code.name()}"
        self._carried.append((name, kind, first, first))
        return name

    def hand(self, name: str, value: str) -> None:
        """What the next round has for a carried value."""
        self._carried = [
            (own, kind, first, value if own == name else last) for own, kind, first, last in self._carried
        ]

    def only_while(self, bit: str) -> None:
        """Make this round the last one unless a bit is set."""
        self._more = bit

    def close(self) -> None:
        """End the loop."""
        code = self._code
        following = code.whole("add", self.index, self._step)
        if self._more:
            following = code.value(f"select i1 {self._more}, i64 {following}, i64 {self._stop}")
        last = code.block
        code(f"br label %{self._head}")
        nodes = [(self.index, "i64", str(self._first), following), *self._carried]
        code.lines[self._place : self._place] = [
            f"{name} = phi {kind} [ {first}, %{self._before} ], [ {value}, %{last} ]"
            for name, kind, first, value in nodes
        ]
        code.label(self._after)


class Lanes(Lines):
    """Lines of a function around a program, W samples at a time.

    Attributes:
        sample: the first sample of the round.
        count: how many lanes of the round are samples.
    """

    sample = count = ""

    @contextmanager
    def samples(self) -> Iterator[Loop]:
        """The loop over the samples `start` to `stop`."""
        with self.loop("%start", "%stop", self.width) as loop:
            self.sample, left = loop.index, self.whole("sub", "%stop", loop.index)
            self.count = self.value(f"call i64 @llvm.umin.i64(i64 {left}, i64 {self.width})")
            yield loop

    def after(self, base: str, bytes_: int) -> str:
        """The address so many bytes after another."""
        return self.value(f"getelementptr i8, ptr {base}, i64 {bytes_}")

    def take(self, base: str, place: int) -> str:
        """Load a vector of a tile."""
        pointer = self.after(base, place * 8 * self.width)
        return self.value(f"load {self.type}, ptr {pointer}, align {8 * self.width}")

    def put(self, value: str, base: str, place: int) -> None:
        """Store a vector of a tile."""
        pointer = self.after(base, place * 8 * self.width)
        self(f"store {self.type} {value}, ptr {pointer}, align {8 * self.width}")

    def put_integers(self, value: str, base: str) -> None:
        """Store an integer of every sample of the round into an array."""
        self(f"store {self.integer} {value}, ptr {self.place(base, self.sample, 'i64')}, align 8")

    def rows(self, verb: str, base: str, place: int, rows: str, size: int, step: str) -> None:
        """Move rows of the samples of this round into a tile ("pack"), or back ("unpack")."""
        if not size:
            return
        first = self.place(rows, self.whole("mul", self.sample, step))
        tile = self.after(base, place * 8 * self.width)
        ends = f"ptr {first}, ptr {tile}, i64 {size}, i64 {step}, i64 {self.count}"
        self(f"call void @{self.prefix}{verb}_few({ends})")
