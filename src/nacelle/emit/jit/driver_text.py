"""LLVM IR text of the drivers: loops around a program that run W samples at a time, without Python.

Lanes whose work is done keep their values while the others go on.
"""

from __future__ import annotations

from dataclasses import dataclass

from nacelle.emit.jit.batch import move_few
from nacelle.emit.jit.instructions import evaluation, splat, stride, suffix, type_name
from nacelle.emit.jit.plan import Plan


class Text:
    """Lines of a function over vectors of one width."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.real = type_name(width)
        self.integer = "i64" if width == 1 else f"<{width} x i64>"
        self.bit = "i1" if width == 1 else f"<{width} x i1>"
        self.end = suffix(width)
        self.lines: list[str] = []
        self._count = 0

    def __call__(self, *lines: str) -> None:
        """Write lines."""
        self.lines.extend(lines)

    def value(self, text: str) -> str:
        """Write an instruction and give its value a name."""
        self._count += 1
        name = f"%x{self._count}"
        self.lines.append(f"{name} = {text}")
        return name

    def whole(self, number: int) -> str:
        """Write an integer of all lanes."""
        return str(number) if self.width == 1 else f"splat (i64 {number})"

    def spread(self, scalar: str) -> str:
        """Repeat a double over the lanes."""
        if self.width == 1:
            return scalar
        first = self.value(f"insertelement {self.real} poison, double {scalar}, i64 0")
        return self.value(
            f"shufflevector {self.real} {first}, {self.real} poison, <{self.width} x i32> zeroinitializer"
        )

    def any(self, bits: str) -> str:
        """Say whether a bit of any lane is set."""
        if self.width == 1:
            return bits
        return self.value(f"call i1 @llvm.vector.reduce.or.v{self.width}i1({self.bit} {bits})")

    def finite(self, value: str) -> str:
        """Say in which lanes a value is finite."""
        size = self.value(f"call {self.real} @llvm.fabs.{self.end}({self.real} {value})")
        return self.value(f"fcmp olt {self.real} {size}, {splat(float('inf'), self.width)}")

    def both(self, a: str, b: str) -> str:
        """Join bits by and."""
        return self.value(f"and {self.bit} {a}, {b}")

    def unless(self, a: str, b: str) -> str:
        """Keep the bits of a where b has none."""
        ones = "1" if self.width == 1 else "splat (i1 1)"
        return self.both(a, self.value(f"xor {self.bit} {b}, {ones}"))

    def add(self, a: str, b: str) -> str:
        """Add two values."""
        return self.value(f"fadd {self.real} {a}, {b}")

    def mul(self, a: str, b: str) -> str:
        """Multiply two values."""
        return self.value(f"fmul {self.real} {a}, {b}")

    def choose(self, bits: str, a: str, b: str, kind: str | None = None) -> str:
        """Take a where a bit is set, else b."""
        kind = kind or self.real
        return self.value(f"select {self.bit} {bits}, {kind} {a}, {kind} {b}")

    def load(self, base: str, place: int) -> str:
        """Load a vector of a tile."""
        pointer = self.value(f"getelementptr i8, ptr {base}, i64 {place * 8 * self.width}")
        return self.value(f"load {self.real}, ptr {pointer}, align {8 * self.width}")

    def store(self, value: str, base: str, place: int) -> None:
        """Store a vector of a tile."""
        pointer = self.value(f"getelementptr i8, ptr {base}, i64 {place * 8 * self.width}")
        self(f"store {self.real} {value}, ptr {pointer}, align {8 * self.width}")

    def rows(self, verb: str, prefix: str, base: str, place: int, rows: str, size: int, step: str) -> None:
        """Move rows of the samples of this round into a tile, or back."""
        if not size:
            return
        offset = self.value(f"mul i64 %sample, {step}")
        first = self.value(f"getelementptr double, ptr {rows}, i64 {offset}")
        tile = self.value(f"getelementptr i8, ptr {base}, i64 {place * 8 * self.width}")
        self(f"call void @{prefix}{verb}_few(ptr {first}, ptr {tile}, i64 {size}, i64 {step}, i64 %count)")


def _samples(text: Text) -> None:
    """Begin the loop over the samples: how many lanes of this round are samples."""
    text(
        "entry:",
        "%any = icmp ult i64 %start, %stop",
        "br i1 %any, label %sample.begin, label %done",
        "sample.begin:",
        "%sample = phi i64 [ %start, %entry ], [ %sample.next, %sample.end ]",
        "%left = sub i64 %stop, %sample",
        f"%short = icmp ult i64 %left, {text.width}",
        f"%count = select i1 %short, i64 %left, i64 {text.width}",
    )


def _next_sample(text: Text) -> str:
    """End the loop over the samples."""
    text(
        "br label %sample.end",
        "sample.end:",
        f"%sample.next = add i64 %sample, {text.width}",
        "%sample.more = icmp ult i64 %sample.next, %stop",
        "br i1 %sample.more, label %sample.begin, label %done",
        "done:",
        "ret void",
        "}",
    )
    return "\n".join(text.lines)


NEWTON_PARAMETERS = (
    "ptr %guess, i64 %guess.step, ptr %p, i64 %p.step, ptr %y, ptr %iterations, ptr %status, "
    "i64 %start, i64 %stop, double %tolerance, double %longest, i64 %cap, i64 %mode, ptr %tile, ptr %table"
)
# Bits of %mode: each sample starts from the one before it; a sample that is solved takes its last step, too.
FOLLOW, POLISH = 1, 2


def newton(plan: Plan, n: int, k: int, width: int, prefix: str) -> str:
    """Write `@nacelle_<prefix>newton`, which solves samples `start` to `stop`.

    Args:
        plan: layout of the step program, inputs (y, p), outputs (dy, error).
        n: number of unknowns.
        k: number of parameters.
        width: lanes of a vector.
        prefix: of the names of the functions of this width.
    """
    t = Text(width)
    t(f"define void @nacelle_{prefix}newton({NEWTON_PARAMETERS}) #0 {{")
    _samples(t)
    t.rows("pack", prefix, "%tile", n, "%p", k, "%p.step")
    # A lane follows the sample before it only if that one was solved; the tile still holds its solution.
    t("%fresh = icmp eq i64 %sample, %start")
    if width == 1:
        t(
            "%before = phi i64 [ 1, %entry ], [ %state.end, %sample.end ]",
            "%failed = icmp ne i64 %before, 0",
            f"%follow = and i64 %mode, {FOLLOW}",
            "%alone = icmp eq i64 %follow, 0",
            "%restart = or i1 %fresh, %failed",
            "%guessed = or i1 %restart, %alone",
            "br i1 %guessed, label %guess.begin, label %iterate.begin",
        )
        # A phi must stand at the head of its block.
        phi = t.lines.index("%before = phi i64 [ 1, %entry ], [ %state.end, %sample.end ]")
        head = t.lines.index("sample.begin:") + 1
        t.lines.insert(head, t.lines.pop(phi))
    else:
        t("br label %guess.begin")
    t("guess.begin:")
    t.rows("pack", prefix, "%tile", 0, "%guess", n, "%guess.step")
    before = "%sample.begin, %guess.begin" if width == 1 else "%guess.begin"
    ones = "1" if width == 1 else "splat (i1 1)"

    def begin(value: str) -> str:
        return ", ".join(f"[ {value}, {block} ]" for block in before.split(", "))

    t(
        "br label %iterate.begin",
        "iterate.begin:",
        f"%active = phi {t.bit} {begin(ones)}, [ %active.next, %iterate.end ]",
        f"%state = phi {t.integer} {begin(t.whole(1))}, [ %state.end, %iterate.end ]",
        f"%taken = phi {t.integer} {begin(t.whole(0))}, [ %taken.next, %iterate.end ]",
        f"call void @{prefix}tiles(ptr %tile, i64 1, ptr %table)",
    )
    steps = [t.load("%tile", plan.result + j) for j in range(n)]
    error = t.load("%tile", plan.result + n)
    small = t.value(f"fcmp ole {t.real} {error}, {t.spread('%tolerance')}")
    solved = t.both(small, "%active")
    finite = t.finite(error)
    for step in steps:
        finite = t.both(finite, t.finite(step))
    rest = t.unless("%active", solved)
    broken = t.unless(rest, finite)
    state = t.choose(solved, t.whole(0), "%state", t.integer)
    t(f"%state.end = select {t.bit} {broken}, {t.integer} {t.whole(2)}, {t.integer} {state}")
    limit = "%cap"
    if width > 1:
        first = t.value(f"insertelement {t.integer} poison, i64 %cap, i64 0")
        limit = t.value(
            f"shufflevector {t.integer} {first}, {t.integer} poison, <{width} x i32> zeroinitializer"
        )
    room = t.value(f"icmp ult {t.integer} %taken, {limit}")
    going = t.both(t.unless(rest, broken), room)
    t(f"%active.next = and {t.bit} {going}, {going}")
    # The step, shortened to the longest that is allowed.
    square = splat(0.0, width)
    for step in steps:
        square = t.add(square, t.mul(step, step))
    length = t.value(f"call {t.real} @llvm.sqrt.{t.end}({t.real} {square})")
    longest = t.spread("%longest")
    long = t.value(f"fcmp ogt {t.real} {length}, {longest}")
    scale = t.choose(long, t.value(f"fdiv {t.real} {longest}, {length}"), splat(1.0, width))
    polishes = t.value(f"icmp ne i64 {t.value(f'and i64 %mode, {POLISH}')}, 0")
    none = "0" if width == 1 else "zeroinitializer"
    last = t.value(f"select i1 {polishes}, {t.bit} {t.both(solved, finite)}, {t.bit} {none}")
    moves = t.value(f"or {t.bit} %active.next, {last}")
    for j, step in enumerate(steps):
        old = t.load("%tile", j)
        new = t.add(old, t.mul(scale, step))
        t.store(t.choose(moves, new, old), "%tile", j)
    one_more = t.value(f"add {t.integer} %taken, {t.whole(1)}")
    t(f"%taken.next = select {t.bit} %active.next, {t.integer} {one_more}, {t.integer} %taken")
    more = t.any("%active.next")
    t("br label %iterate.end", "iterate.end:", f"br i1 {more}, label %iterate.begin, label %store")
    t("store:")
    t.rows("unpack", prefix, "%tile", 0, "%y", n, str(n))
    for name, value in (("%iterations", "%taken.next"), ("%status", "%state.end")):
        pointer = t.value(f"getelementptr i64, ptr {name}, i64 %sample")
        t(f"store {t.integer} {value}, ptr {pointer}, align 8")
    return _next_sample(t)


RK4_PARAMETERS = (
    "ptr %x0, i64 %x0.step, ptr %u, i64 %u.step, i64 %u.stage, ptr %p, i64 %p.step, ptr %stored, "
    "i64 %stored.step, ptr %final, ptr %completed, i64 %start, i64 %stop, double %h, i64 %steps, "
    "i64 %every, ptr %tile, ptr %table"
)
# Where in a step each stage is, in rows of the inputs: at its begin, in its middle, at its end.
_STAGE_ROWS = (0, 1, 1, 2)


@dataclass(frozen=True)
class Control:
    """A program of inputs (x, w, p) that gives u at the begin of a step, to be held over it.

    Attributes:
        plan: its layout.
        given: number of inputs w.
        prefix: of the names of its functions.
    """

    plan: Plan
    given: int
    prefix: str


def rk4(plan: Plan, n: int, m: int, k: int, width: int, prefix: str, control: Control | None = None) -> str:
    """Write `@nacelle_<prefix>rk4`, which integrates samples `start` to `stop`.

    The states follow the tile in memory, and after them the tile of a control.

    Args:
        plan: layout of the derivative program, inputs (x, u, p), output dx.
        n: number of states.
        m: number of inputs.
        k: number of parameters.
        width: lanes of a vector.
        prefix: of the names of the functions of this width.
        control: what gives the inputs at the begin of every step; if None they are rows of an array.
    """
    t = Text(width)
    t(f"define void @nacelle_{prefix}rk4({RK4_PARAMETERS}) #0 {{")
    _samples(t)
    t(f"%state = getelementptr i8, ptr %tile, i64 {stride(plan, width)}")
    t.rows("pack", prefix, "%state", 0, "%x0", n, "%x0.step")
    t.rows("pack", prefix, "%tile", n + m, "%p", k, "%p.step")
    given, rows = m, "%tile"
    if control is not None:
        given, rows = control.given, "%control"
        t(f"%control = getelementptr i8, ptr %state, i64 {n * 8 * width}")
        t.rows("pack", prefix, "%control", n + given, "%p", k, "%p.step")
    h = t.spread("%h")
    half = t.mul(h, splat(0.5, width))
    sixth = t.mul(h, splat(1 / 6, width))
    ones = "1" if width == 1 else "splat (i1 1)"
    t(
        "%none = icmp eq i64 %steps, 0",
        "br i1 %none, label %finish, label %step.begin",
        "step.begin:",
        "%step = phi i64 [ 0, %sample.begin ], [ %step.next, %step.end ]",
        f"%alive = phi {t.bit} [ {ones}, %sample.begin ], [ %alive.next, %step.end ]",
        f"%lived = phi {t.integer} [ {t.whole(0)}, %sample.begin ], [ %lived.next, %step.end ]",
        "%count.stored = phi i64 [ 0, %sample.begin ], [ %count.next, %step.end ]",
        "%until = phi i64 [ %every, %sample.begin ], [ %until.end, %step.end ]",
        "%step.next = add i64 %step, 1",
    )
    first = t.value("mul i64 %step, %u.step")

    def load_inputs(row: int) -> None:
        begin = t.value(f"add i64 {first}, {t.value(f'mul i64 %u.stage, {row}')}")
        for j in range(given):
            entry = t.value(f"add i64 {begin}, {j}")
            pointer = t.value(f"getelementptr double, ptr %u, i64 {entry}")
            t.store(t.spread(t.value(f"load double, ptr {pointer}, align 8")), rows, n + j)

    start = [t.load("%state", j) for j in range(n)]
    if control is not None:
        load_inputs(0)
        for j in range(n):
            t.store(start[j], "%control", j)
        t(f"call void @{control.prefix}tiles(ptr %control, i64 1, ptr %table)")
        for j in range(m):
            t.store(t.load("%control", control.plan.result + j), "%tile", n + j)
    total = [splat(0.0, width)] * n
    for stage, (weight, reach) in enumerate(((1.0, half), (2.0, half), (2.0, h), (1.0, h))):
        if stage == 0:
            for j in range(n):
                t.store(start[j], "%tile", j)
        if control is None and stage != 2:
            load_inputs(_STAGE_ROWS[stage])
        t(f"call void @{prefix}tiles(ptr %tile, i64 1, ptr %table)")
        for j in range(n):
            rate = t.load("%tile", plan.result + j)
            if stage < 3:
                t.store(t.add(start[j], t.mul(reach, rate)), "%tile", j)
            share = t.mul(rate, splat(weight, width)) if weight != 1.0 else rate
            total[j] = t.add(total[j], share) if stage else share
    end = [t.add(start[j], t.mul(sixth, total[j])) for j in range(n)]
    alive = "%alive"
    for value in end:
        alive = t.both(alive, t.finite(value))
    t(f"%alive.next = and {t.bit} {alive}, {alive}")
    for j, value in enumerate(end):
        t.store(t.choose("%alive.next", value, start[j]), "%state", j)
    one_more = t.value(f"add {t.integer} %lived, {t.whole(1)}")
    t(f"%lived.next = select {t.bit} %alive.next, {t.integer} {one_more}, {t.integer} %lived")
    t(
        "%until.next = sub i64 %until, 1",
        "%due = icmp eq i64 %until.next, 0",
        "br i1 %due, label %keep, label %step.end",
        "keep:",
    )
    # A lane that has failed keeps its last finite state, but stores NaN. The tile is free to write it in.
    for j in range(n):
        t.store(t.choose("%alive.next", t.load("%state", j), splat(float("nan"), width)), "%tile", j)
    base = t.value(f"getelementptr double, ptr %stored, i64 {t.value(f'mul i64 %count.stored, {n}')}")
    t.rows("unpack", prefix, "%tile", 0, base, n, "%stored.step")
    t(
        "%count.more = add i64 %count.stored, 1",
        "br label %step.end",
        "step.end:",
        "%count.next = phi i64 [ %count.stored, %step.begin ], [ %count.more, %keep ]",
        "%until.end = phi i64 [ %until.next, %step.begin ], [ %every, %keep ]",
        "%step.more = icmp ult i64 %step.next, %steps",
    )
    some = t.any("%alive.next")
    t(
        f"%go.on = and i1 %step.more, {some}",
        "br i1 %go.on, label %step.begin, label %finish",
        "finish:",
        f"%lived.end = phi {t.integer} [ {t.whole(0)}, %sample.begin ], [ %lived.next, %step.end ]",
    )
    t.rows("unpack", prefix, "%state", 0, "%final", n, str(n))
    pointer = t.value("getelementptr i64, ptr %completed, i64 %sample")
    t(f"store {t.integer} %lived.end, ptr {pointer}, align 8")
    return _next_sample(t)


def around(plan: Plan, width: int, prefix: str) -> str:
    """Write what a driver of this width calls."""
    return evaluation(plan, width, prefix) + "\n" + move_few(width, prefix)
