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
from nacelle.emit.jit.loops import Lines
from nacelle.emit.jit.plan import Chunk, NativePlan
from nacelle.emit.jit.signs import operands
from nacelle.emit.jit.vectors import splat, suffix, type_name

# A load or store is short (x86: a byte for the offset) within so many vectors of a pointer, to both sides.
_CENTRED = 128
# On other machines its offset is within the instruction up to so many vectors after a pointer.
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


class Writer:
    """Writes the lines of one chunk: values are named after their index in the program.

    Loads of one value go in turn through pointers that LLVM takes for different ones, so that it does not
    make one load of several and then keep or spill the value in between. The pointers are in the midst
    or at the beginning of windows of the tile, so that offsets from them are short.
    """

    def __init__(self, plan: NativePlan, width: int, prefix: str) -> None:
        self.code = plan.code
        self.home = plan.home
        self.width = width
        self.prefix = prefix
        self.type = type_name(width)
        self.constants = plan.constants
        self.lines: list[str] = []
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

    def chunk(self, chunk: Chunk) -> list[str]:
        """Write the body of a function that makes the values of a chunk."""
        listed = set(chunk.operations)
        for k, places in chunk.stores.items():
            if k not in listed:
                self._load(k)
                self._store(k, places)
        for k, fetched in zip(chunk.operations, chunk.fetched, strict=True):
            step = self.code[k]
            assert step is not None
            for a in fetched:
                self._load(a)
            names = [self._value(a) for a in operands(step)]
            if step[0] in ("sin", "cos"):
                self._sine_or_cosine(k, step[0], step[1], names[0])
            else:
                self.lines.extend(_operation(step[0], f"%v{k}", names, self.width, self.prefix))
            self._store(k, chunk.stores.get(k, ()))
        return [*self._heads(), *self.lines]

    def _sine_or_cosine(self, k: int, op: str, a: int, angle: str) -> None:
        """Take the sine or the cosine of a value from the pair, which one call makes for both."""
        pair = f"{{ {self.type}, {self.type} }}"
        if a not in self._pairs:
            self._pairs[a] = f"%v{k}.p"
            self.lines.append(f"%v{k}.p = call {pair} @{self.prefix}sincos({self.type} {angle})")
        self.lines.append(f"%v{k} = extractvalue {pair} {self._pairs[a]}, {0 if op == 'sin' else 1}")

    def _load(self, k: int) -> None:
        """Load a value from the tile or the table; a constant that is in none needs no load."""
        if k not in self.home and k not in self.constants:
            return
        count = self._loads.get(k, 0)
        self._loads[k] = count + 1
        pointer, name = f"%p{k}.{count}", f"%l{k}.{count}"
        if k in self.constants:
            base = self._pointers.setdefault((-1, count % _TO_TABLE), f"%t{len(self._pointers)}")
            offset = self.constants[k] * 8 * self.width
            self.lines.append(f"{pointer} = getelementptr i8, ptr {base}, i64 {offset}")
        else:
            self.lines.append(self._address(pointer, self.home[k], count))
        self.lines.append(f"{name} = load {self.type}, ptr {pointer}, align {8 * self.width}")
        self._names[k] = name

    def _value(self, k: int) -> str:
        """Name a value: what was loaded last, a constant, or what was made here."""
        step = self.code[k]
        assert step is not None
        if step[0] == "const" and k not in self._names:
            return splat(step[1], self.width)
        return self._names.get(k, f"%v{k}")

    def _store(self, k: int, places: tuple[int, ...]) -> None:
        for place in places:
            pointer = f"%s{k}.{place}"
            self.lines.append(self._address(pointer, place))
            self.lines.append(f"store {self.type} {self._value(k)}, ptr {pointer}, align {8 * self.width}")

    def _address(self, name: str, place: int, turn: int = 0) -> str:
        """Write the address of a place in the tile, by one of the pointers into its window."""
        window = min(place // self._window, self._windows - 1)
        pointer = self._pointers.setdefault((window, turn % self._turns), f"%t{len(self._pointers)}")
        offset = (place - window * self._window - self._middle) * 8 * self.width
        return f"{name} = getelementptr i8, ptr {pointer}, i64 {offset}"

    def _heads(self) -> Iterator[str]:
        """Write the pointers; an empty piece of assembly hides from LLVM where each of them comes from."""
        for (window, _), pointer in self._pointers.items():
            offset = 0 if window < 0 else (window * self._window + self._middle) * 8 * self.width
            base = f"@{self.prefix}constants" if window < 0 else "%tile"
            yield f"{pointer}.m = getelementptr i8, ptr {base}, i64 {offset}"
            yield f'{pointer} = call ptr asm "", "=r,0"(ptr {pointer}.m)'


def _operation(op: str, name: str, arguments: list[str], width: int, prefix: str) -> Iterator[str]:
    """Write one operation: the semantics of `program.program`."""
    kind, end = type_name(width), suffix(width)
    bit = "i1" if width == 1 else f"<{width} x i1>"
    zero = splat(0.0, width)
    a = arguments[0]
    b = arguments[1] if len(arguments) > 1 else ""
    c = arguments[2] if len(arguments) > 2 else ""
    match op:
        case "add" | "sub" | "mul" | "div":
            yield f"{name} = f{op} {kind} {a}, {b}"
        case "neg":
            yield f"{name} = fneg {kind} {a}"
        case "sqrt":
            yield f"{name} = call {kind} @llvm.sqrt.{end}({kind} {a})"
        case "abs":
            yield f"{name} = call {kind} @llvm.fabs.{end}({kind} {a})"
        case "fma":
            yield f"{name} = call {kind} @llvm.fma.{end}({kind} {a}, {kind} {b}, {kind} {c})"
        case "fms":
            yield f"{name}.n = fneg {kind} {c}"
            yield f"{name} = call {kind} @llvm.fma.{end}({kind} {a}, {kind} {b}, {kind} {name}.n)"
        case "fnma":
            yield f"{name}.n = fneg {kind} {a}"
            yield f"{name} = call {kind} @llvm.fma.{end}({kind} {name}.n, {kind} {b}, {kind} {c})"
        case "min" | "max":
            # The first choice gives b if either is NaN, the second mends the case that a is.
            yield f"{name}.c = fcmp {'olt' if op == 'min' else 'ogt'} {kind} {a}, {b}"
            yield f"{name}.m = select {bit} {name}.c, {kind} {a}, {kind} {b}"
            yield f"{name}.u = fcmp uno {kind} {a}, {zero}"
            yield f"{name} = select {bit} {name}.u, {kind} {a}, {kind} {name}.m"
        case "where":
            yield f"{name}.c = fcmp ogt {kind} {a}, {zero}"
            yield f"{name} = select {bit} {name}.c, {kind} {b}, {kind} {c}"
        case "sign" if b and width == 2:
            # |a| > 0, no NaN, says whether to take all bits of 1 but its sign; a sum with 0 has no -0.
            yield f"{name}.m = call <2 x i64> @llvm.aarch64.neon.facgt.v2i64.{end}({kind} {a}, {kind} {c})"
            yield f"{name}.s = lshr <2 x i64> {name}.m, <i64 1, i64 1>"
            yield f"{name}.n = xor <2 x i64> {name}.s, <i64 -1, i64 -1>"
            yield f"{name}.a = bitcast {kind} {a} to <2 x i64>"
            yield f"{name}.b = bitcast {kind} {b} to <2 x i64>"
            yield f"{name}.t = and <2 x i64> {name}.s, {name}.b"
            yield f"{name}.f = and <2 x i64> {name}.n, {name}.a"
            yield f"{name}.o = or <2 x i64> {name}.t, {name}.f"
            yield f"{name}.d = bitcast <2 x i64> {name}.o to {kind}"
            yield f"{name} = fadd {kind} {name}.d, {c}"
        case "sign":
            # Zeros of both signs and NaN go through a + 0, which gives 0 and NaN.
            one = splat(1.0, width)
            yield f"{name}.o = call {kind} @llvm.copysign.{end}({kind} {one}, {kind} {a})"
            yield f"{name}.z = fadd {kind} {a}, {zero}"
            yield f"{name}.c = fcmp one {kind} {a}, {zero}"
            yield f"{name} = select {bit} {name}.c, {kind} {name}.o, {kind} {name}.z"
        case "floor":
            # By sums alone: llvm.floor is a call of the mathematics library where the processor lacks an
            # instruction for it (x86-64 before SSE4.1). |a| + 2^52 has no digits behind the point; what was
            # rounded up is one too large. From 2^52 on, and for NaN, a is what it is.
            large, one = splat(2.0**52, width), splat(1.0, width)
            yield f"{name}.s = call {kind} @llvm.fabs.{end}({kind} {a})"
            yield f"{name}.u = fadd {kind} {name}.s, {large}"
            yield f"{name}.d = fsub {kind} {name}.u, {large}"
            yield f"{name}.r = call {kind} @llvm.copysign.{end}({kind} {name}.d, {kind} {a})"
            yield f"{name}.g = fcmp ogt {kind} {name}.r, {a}"
            yield f"{name}.l = fsub {kind} {name}.r, {one}"
            yield f"{name}.f = select {bit} {name}.g, {kind} {name}.l, {kind} {name}.r"
            yield f"{name}.c = fcmp olt {kind} {name}.s, {large}"
            yield f"{name} = select {bit} {name}.c, {kind} {name}.f, {kind} {a}"
        case "tanh" | "exp" | "atan2":
            listed = ", ".join(f"{kind} {argument}" for argument in arguments)
            yield f"{name} = call {kind} @{prefix}{op}({listed})"
        case _:
            raise ValueError(f"unknown operation {op!r}")


def evaluation(plan: NativePlan, width: int, prefix: str) -> str:
    """Write the functions that evaluate tiles.

    `@<prefix>tiles(tile, tiles)` evaluates that many tiles, which follow one another. It runs a
    chunk over all of them before the next chunk, so that the instructions of a long program are fetched
    once for many samples.
    """
    used = {step[0] for step in plan.code if step}
    texts = function_texts(used, width, prefix, fma=plan.style.fma)
    if plan.constants:
        texts.append(_table(plan, width, prefix))
    for number, chunk in enumerate(plan.chunks):
        body = "\n".join(Writer(plan, width, prefix).chunk(chunk))
        texts.append(
            f"define internal void @{prefix}chunk{number}(ptr %tile) noinline #0 {{\n{body}\nret void\n}}"
        )
    c = Lines(width, False, f"define internal void @{prefix}tiles(ptr %tile, i64 %tiles)")
    for number in range(len(plan.chunks)):
        with c.loop(0, "%tiles") as loop:
            tile = c.place("%tile", c.whole("*", loop.index, stride(plan, width)), "i8")
            c(f"call void @{prefix}chunk{number}(ptr {tile})")
    return "\n\n".join([*texts, c.text()])


def _table(plan: NativePlan, width: int, prefix: str) -> str:
    """Write the table of constants, each repeated over the lanes."""
    kind = type_name(width)
    listed = ", ".join(f"{kind} {splat((plan.code[k] or ())[1], width)}" for k in plan.constants)
    return f"@{prefix}constants = internal constant [{len(plan.constants)} x {kind}] [{listed}], align 64"


def stride(plan: NativePlan, width: int) -> int:
    """Bytes from one tile to the next: whole vectors, and no power of two that maps to few cache lines."""
    vectors = max(1, plan.size)
    if vectors % 8 == 0:
        vectors += 1
    return vectors * 8 * width
