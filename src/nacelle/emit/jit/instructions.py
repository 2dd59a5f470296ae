"""LLVM IR text of the operations of a straight-line program, for any vector width.

A vector of W lanes holds the same value of W samples. The functions written here work on a *tile*, the
memory of one evaluation: an array of vectors that holds the inputs, values between chunks, and results
(see `plan`). Nothing outside the module is referenced: sin, cos and the like are in it (see `functions`), so
an object loads without symbols to resolve, on every system.

No fast-math flag is used: NaN, infinities and signed zeros are what IEEE 754 says. Products are fused
with sums only where the plan says so, in every entry alike, so a sample's result does not depend on
whether it was evaluated alone or in a batch.
"""

from __future__ import annotations

from collections.abc import Iterator

from nacelle.emit.jit.functions.texts import function_texts
from nacelle.emit.jit.loops import Lanes, Lines
from nacelle.emit.jit.plan import Chunk, NativePlan
from nacelle.emit.jit.signs import operands
from nacelle.emit.jit.vectors import splat, type_name

_SYMBOLS = {"add": "+", "sub": "-", "mul": "*", "div": "/", "neg": "-", "abs": "abs", "sqrt": "sqrt"}
# Vectors to both sides of a pointer within which a load or store is short (x86: a byte for the offset).
_CENTRED = 128
# Vectors after a pointer up to which, on other machines, the offset is within the instruction.
_AFTER = 4096
# Most pointers that a chunk uses: what general registers hold. Of them for the table of constants.
_POINTERS, _TO_TABLE = 10, 2


def attributes(width: int) -> str:
    """Write the attributes of all functions.

    Without the widths, LLVM cuts vectors of 512 bits in two on processors for which it prefers 256. Without
    the frame pointer it may not align the stack, and spilled vectors then lie across cache lines.
    """
    return (
        'nounwind "no-trapping-math"="true" "frame-pointer"="all" "stackrealign" '
        f'"min-legal-vector-width"="{64 * width}" "prefer-vector-width"="{64 * width}"'
    )


class ChunkLines(Lanes):
    """The function of one chunk.

    Loads of one value go in turn through pointers that LLVM takes for different ones, so that it does not
    make one load of several and then keep or spill the value in between. The pointers are in the midst
    or at the beginning of windows of the tile, so that offsets from them are short.
    """

    def __init__(self, plan: NativePlan, width: int, prefix: str, number: int) -> None:
        super().__init__(
            width, True, f"define internal void @{prefix}chunk{number}(ptr %tile) noinline", prefix
        )
        self.code, self.home, self.constants = plan.code, plan.home, plan.constants
        # How often a value was loaded, and the name under which a register holds it.
        self._loads: dict[int, int] = {}
        self._names: dict[int, str] = {}
        self._pairs: dict[int, str] = {}
        self._middle = _CENTRED if plan.style.centred else 0
        self._window = 2 * _CENTRED if plan.style.centred else _AFTER
        most = _POINTERS - _TO_TABLE if plan.constants else _POINTERS
        self._windows = min(-(-plan.size // self._window), most // 2) or 1
        self._turns = most // self._windows
        # By window, or -1 for the table, and turn.
        self._pointers: dict[tuple[int, int], str] = {}

    def chunk(self, chunk: Chunk) -> str:
        """Write the function, which makes the values of a chunk."""
        begin, operations = len(self.lines), set(chunk.operations)
        for k, indices in chunk.stores.items():
            if k not in operations:
                self._load(k)
                self._store(k, indices)
        for k, fetched in zip(chunk.operations, chunk.fetched, strict=True):
            step = self.code[k]
            assert step is not None
            for a in fetched:
                self._load(a)
            values = [self._value(a) for a in operands(step)]
            if step[0] in ("sin", "cos"):
                self._names[k] = self._sine_or_cosine(step[0], step[1], values[0])
            else:
                self._names[k] = self._operation(step[0], *values)
            self._store(k, chunk.stores.get(k, ()))
        self.lines[begin:begin] = self._pointer_definitions()
        return self.text()

    def _sine_or_cosine(self, op: str, a: int, angle: str) -> str:
        """Take the sine or the cosine of a value from the pair, which one call makes for both."""
        pair = f"{{ {self.type}, {self.type} }}"
        if a not in self._pairs:
            self._pairs[a] = self.value(f"call {pair} @{self.prefix}sincos({self.type} {angle})")
        return self.value(f"extractvalue {pair} {self._pairs[a]}, {0 if op == 'sin' else 1}")

    def _load(self, k: int) -> None:
        """Load a value from the tile or the table; a constant that is in none needs no load."""
        if k not in self.home and k not in self.constants:
            return
        loads = self._loads.get(k, 0)
        self._loads[k] = loads + 1
        if k in self.constants:
            base = self._pointers.setdefault((-1, loads % _TO_TABLE), f"%t{len(self._pointers)}")
            pointer = self.after(base, self.constants[k] * 8 * self.width)
        else:
            pointer = self._address(self.home[k], loads)
        self._names[k] = self.value(f"load {self.type}, ptr {pointer}, align {8 * self.width}")

    def _value(self, k: int) -> str:
        """Name a value: what was loaded last, a constant, or what was made here."""
        step = self.code[k]
        assert step is not None
        if step[0] == "const" and k not in self._names:
            return splat(step[1], self.width)
        return self._names[k]

    def _store(self, k: int, indices: tuple[int, ...]) -> None:
        for index in indices:
            self(f"store {self.type} {self._value(k)}, ptr {self._address(index)}, align {8 * self.width}")

    def _address(self, index: int, offset: int = 0) -> str:
        """Write the address of a place in the tile, by one of the pointers into its window."""
        window = min(index // self._window, self._windows - 1)
        pointer = self._pointers.setdefault((window, offset % self._turns), f"%t{len(self._pointers)}")
        return self.after(pointer, (index - window * self._window - self._middle) * 8 * self.width)

    def _pointer_definitions(self) -> Iterator[str]:
        """Write the pointers; an empty piece of assembly hides from LLVM where each of them comes from."""
        for (window, _), pointer in self._pointers.items():
            offset = 0 if window < 0 else (window * self._window + self._middle) * 8 * self.width
            base = f"@{self.prefix}constants" if window < 0 else "%tile"
            yield f"{pointer}.m = getelementptr i8, ptr {base}, i64 {offset}"
            yield f'{pointer} = call ptr asm "", "=r,0"(ptr {pointer}.m)'

    def _operation(self, op: str, a: str, b: str = "", c: str = "") -> str:
        """Write one operation: the semantics of `program.program`."""
        kind, zero, one = self.type, self.number(0.0), self.number(1.0)
        match op:
            case "add" | "sub" | "mul" | "div":
                return self.real(_SYMBOLS[op], a, b)
            case "neg" | "sqrt" | "abs":
                return self.unary(_SYMBOLS[op], a)
            case "fma":
                return self.product_sum(a, b, c)
            case "fms":
                return self.product_sum(a, b, self.unary("-", c))
            case "fnma":
                return self.product_sum(self.unary("-", a), b, c)
            case "min" | "max":
                # The first choice gives b if either is NaN, the second mends the case that a is.
                chosen = self.choose(self.real("<" if op == "min" else ">", a, b), a, b)
                return self.choose(self.value(f"fcmp uno {kind} {a}, {zero}"), a, chosen)
            case "where":
                return self.choose(self.real(">", a, zero), b, c)
            case "sign" if b and self.width == 2:
                # |a| > 0, no NaN, says whether to take all bits of 1 but its sign; a sum with 0 has no -0.
                bits = "<2 x i64>"
                values = f"({kind} {a}, {kind} {c})"
                more = self.value(f"call {bits} @llvm.aarch64.neon.facgt.v2i64.{self.end}{values}")
                size = self.value(f"lshr {bits} {more}, <i64 1, i64 1>")
                others = self.value(f"xor {bits} {size}, <i64 -1, i64 -1>")
                own_bits, plain = (self.value(f"bitcast {kind} {value} to {bits}") for value in (a, b))
                selected = self.value(f"and {bits} {size}, {plain}")
                left = self.value(f"and {bits} {others}, {own_bits}")
                whole = self.value(f"or {bits} {selected}, {left}")
                return self.real("+", self.value(f"bitcast {bits} {whole} to {kind}"), c)
            case "sign":
                # Zeros of both signs and NaN go through a + 0, which gives 0 and NaN.
                signed, plain = self.intrinsic("copysign", one, a), self.real("+", a, zero)
                return self.choose(self.value(f"fcmp one {kind} {a}, {zero}"), signed, plain)
            case "floor":
                # By sums alone: llvm.floor is a call of the mathematics library where the processor lacks an
                # instruction for it (x86-64 before SSE4.1). |a| + 2^52 has no digits behind the point; what
                # was rounded up is one too large. From 2^52 on, and for NaN, a is what it is.
                large, size = self.number(2.0**52), self.unary("abs", a)
                near = self.real("-", self.real("+", size, large), large)
                near = self.intrinsic("copysign", near, a)
                above = self.real(">", near, a)
                near = self.choose(above, self.real("-", near, one), near)
                return self.choose(self.real("<", size, large), near, a)
            case "tanh" | "exp" | "atan2":
                values = ", ".join(f"{kind} {argument}" for argument in (a, b) if argument)
                return self.value(f"call {kind} @{self.prefix}{op}({values})")
            case _:
                raise ValueError(f"unknown operation {op!r}")


def evaluation_functions(plan: NativePlan, width: int, prefix: str) -> str:
    """Write the functions that evaluate tiles.

    `@<prefix>tiles(tile, tiles)` evaluates that many tiles, which follow one another. It runs a
    chunk over all of them before the next chunk, so that the instructions of a long program are fetched
    once for many samples.
    """
    used = {step[0] for step in plan.code if step}
    texts = function_texts(used, width, prefix, fma=plan.style.fma)
    if plan.constants:
        texts.append(_constant_table(plan, width, prefix))
    for number, chunk in enumerate(plan.chunks):
        texts.append(ChunkLines(plan, width, prefix, number).chunk(chunk))
    c = Lines(width, False, f"define internal void @{prefix}tiles(ptr %tile, i64 %tiles)")
    for number in range(len(plan.chunks)):
        with c.loop(0, "%tiles") as loop:
            tile = c.address("%tile", c.whole("*", loop.index, tile_stride(plan, width)), "i8")
            c(f"call void @{prefix}chunk{number}(ptr {tile})")
    return "\n\n".join([*texts, c.text()])


def _constant_table(plan: NativePlan, width: int, prefix: str) -> str:
    """Write the table of constants, each repeated over the lanes."""
    kind = type_name(width)
    entries = ", ".join(f"{kind} {splat((plan.code[k] or ())[1], width)}" for k in plan.constants)
    return f"@{prefix}constants = internal constant [{len(plan.constants)} x {kind}] [{entries}], align 64"


def tile_stride(plan: NativePlan, width: int) -> int:
    """Bytes from one tile to the next: whole vectors, and no power of two that maps to few cache lines."""
    vectors = max(1, plan.size)
    if vectors % 8 == 0:
        vectors += 1
    return vectors * 8 * width
