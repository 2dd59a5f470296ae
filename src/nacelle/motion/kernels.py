"""Loops of the interior-point method in native code (`nacelle.motion.interior_point`).

Kernels are written once, for any robot: numbers of points P, limits M, intervals N and unknowns are read from
a table, which also holds the addresses of the arrays. Arrays over limits and points (M, P) are passed by
vectors along the points, whose number is a multiple of `WIDTH`.
"""

from __future__ import annotations

import ctypes
import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np

from nacelle.emit.loop_writer import Index
from nacelle.emit.registry import TargetError, target
from nacelle.emit.store import Store
from nacelle.spatial.scalar import Array

WIDTH = 8
"""Numbers in a vector; a machine with shorter ones takes several."""

SIZES = ("P", "M", "R", "N", "n", "Q", "stride")
ARRAYS = (
    *("first", "u_x", "z_x", "moving", "rows", "inner_x", "inner_pairs", "weight", "free"),
    *("x", "root", "S", "S_u", "S_z", "S_before", "lam", "push", "dlam", "du", "dz", "g_u", "g_z"),
    *("curvature", "band", "right", "gradient", "hessian", "inner", "out"),
)
"""Entries of the table, in order."""


class Value:
    """A number, or a vector of numbers, of a kernel that is being written."""

    def __init__(self, code: Any, text: str, kind: str) -> None:
        self.code, self.text, self.kind = code, text, kind

    def _of(self, other: Value | float) -> str:
        if isinstance(other, Value):
            return other.text
        number = str(self.code.number(other))
        return f"splat (double {number})" if self.kind == "vector" else number

    def _join(self, operator: str, other: Value | float, *, swapped: bool = False) -> Value:
        a, b = self.text, self._of(other)
        return Value(
            self.code, self.code.real(operator, *((b, a) if swapped else (a, b)), self.kind), self.kind
        )

    def __add__(self, other: Value | float) -> Value:
        return self._join("+", other)

    def __sub__(self, other: Value | float) -> Value:
        return self._join("-", other)

    def __rsub__(self, other: float) -> Value:
        return self._join("-", other, swapped=True)

    def __mul__(self, other: Value | float) -> Value:
        return self._join("*", other)

    def __rmul__(self, other: float) -> Value:
        return self._join("*", other)

    def __truediv__(self, other: Value | float) -> Value:
        return self._join("/", other)

    def __rtruediv__(self, other: float) -> Value:
        return self._join("/", other, swapped=True)

    def __neg__(self) -> Value:
        return Value(self.code, self.code.unary("-", self.text, self.kind), self.kind)

    def sqrt(self) -> Value:
        """The square root."""
        return Value(self.code, self.code.unary("sqrt", self.text, self.kind), self.kind)

    def abs(self) -> Value:
        """The magnitude."""
        return Value(self.code, self.code.unary("abs", self.text, self.kind), self.kind)

    def least(self, other: Value | float) -> Value:
        """The smaller of two; NaN if one of them is."""
        return Value(
            self.code, self.code.intrinsic("minimum", self.text, self._of(other), kind=self.kind), self.kind
        )

    def most(self, other: Value | float) -> Value:
        """The larger of two; NaN if one of them is."""
        return Value(
            self.code, self.code.intrinsic("maximum", self.text, self._of(other), kind=self.kind), self.kind
        )


class _Kernel:
    """A kernel that is being written: entries of the table, loads, stores and loops."""

    def __init__(self, name: str, *numbers: str) -> None:
        from nacelle.emit.jit.loops import Lines

        head = ", ".join(["ptr %table", *(f"double %{number}" for number in numbers)])
        self.name, self.parameters = name, head
        self.code = Lines(WIDTH, False, f"define void @{name}({head})")
        self.size = {size: self.code.load("%table", k, "whole") for k, size in enumerate(SIZES)}
        self.array = {}
        for k, array in enumerate(ARRAYS):
            address = self.code.address("%table", len(SIZES) + k, "i64")
            self.array[array] = self.code.value(f"load ptr, ptr {address}, align 8")

    def whole(self, operator: str, a: Index, b: Index) -> str:
        """An operation on integers."""
        return self.code.whole(operator, a, b)

    def at(self, *terms: tuple[Index, Index]) -> str:
        """A sum of products of integers."""
        total = self.whole("*", *terms[0])
        for a, b in terms[1:]:
            total = self.whole("+", total, a if b == 1 else self.whole("*", a, b))
        return total

    def load(self, array: str, index: Index, kind: str = "real") -> Value:
        """An entry, or a vector from there on."""
        return Value(self.code, self.code.load(self.array[array], index, kind), kind)

    def store(self, value: Value, array: str, index: Index) -> None:
        """Write an entry, or a vector from there on."""
        self.code.store(value.text, self.array[array], index, value.kind)

    def add(self, value: Value, array: str, index: Index) -> None:
        """Add to an entry."""
        self.store(self.load(array, index) + value, array, index)

    def argument(self, name: str, kind: str = "real") -> Value:
        """A number that the kernel is called with."""
        text = f"%{name}"
        return Value(self.code, self.code.spread(text) if kind == "vector" else text, kind)

    def number(self, value: float, kind: str = "real") -> Value:
        """A constant."""
        return Value(self.code, Value(self.code, "", kind)._of(value), kind)

    @contextmanager
    def each(self, stop: Index, first: Index = 0, step: int = 1) -> Iterator[_Folding]:
        """A loop, which carries numbers."""
        with self.code.loop(first, stop, step) as loop:
            yield _Folding(self, loop)

    def join_entries(self, vector: Value, join: Callable[[Value, Value], Value]) -> Value:
        """What the entries of a vector give together."""
        entries = [Value(self.code, self.code.lane(vector.text, j), "real") for j in range(WIDTH)]
        total = entries[0]
        for entry in entries[1:]:
            total = join(total, entry)
        return total

    def neighbours(self, array: str, first: str) -> list[Value]:
        """Three unknowns from an index on."""
        return [self.load(array, self.whole("+", first, a)) for a in range(3)]

    def zero(self, array: str, count: Index) -> None:
        """Set entries to zero."""
        with self.each(count) as loop:
            self.store(self.number(0.0), array, loop.index)

    def text(self) -> str:
        """The function."""
        return self.code.text()


class _Folding:
    """A loop with its index and the numbers that it carries."""

    def __init__(self, kernel: _Kernel, loop: Any) -> None:
        self._kernel, self._loop, self.index = kernel, loop, loop.index

    def carry(self, first: Value) -> Value:
        """A number that each round hands to the next, and the last one to what follows."""
        name = self._loop.carry("carried", first.text, first.kind)
        return Value(self._kernel.code, name, first.kind)

    def hand(self, carried: Value, value: Value) -> None:
        """What the next round has for it."""
        self._loop.set_next(carried.text, value.text)


def _add(a: Value, b: Value) -> Value:
    return a + b


def _write_spread(k: _Kernel, source: str) -> None:
    """Changes of speeds z and accelerations u of all points, from the unknowns or their changes."""
    P = k.size["P"]
    with k.each(P) as points:
        p = points.index
        first = k.code.load(k.array["first"], p, "whole")
        near = k.neighbours(source, first)
        for shapes, result in (("u_x", "du"), ("z_x", "dz")):
            parts = [k.load(shapes, k.at((P, a), (p, 1))) * value for a, value in enumerate(near)]
            k.store(parts[0] + parts[1] + parts[2], result, p)


def _write_gather(k: _Kernel, sign: float) -> None:
    """Add derivatives by u and z of the points to those by the unknowns, in `right`; none where fixed."""
    P = k.size["P"]
    with k.each(P) as points:
        p = points.index
        first = k.code.load(k.array["first"], p, "whole")
        g_u, g_z = k.load("g_u", p) * sign, k.load("g_z", p) * sign
        for a in range(3):
            at = k.at((P, a), (p, 1))
            k.add(k.load("u_x", at) * g_u + k.load("z_x", at) * g_z, "right", k.whole("+", first, a))
    with k.each(k.size["n"]) as unknowns:
        i = unknowns.index
        k.store(k.load("right", i) * k.load("free", i), "right", i)


def _evaluate() -> _Kernel:
    """S and S_z at x, root; the least of S over what it was before."""
    k = _Kernel("evaluate")
    _write_spread(k, "x")
    P, R = k.size["P"], k.size["R"]
    RP = k.whole("*", R, P)
    with k.each(P, step=WIDTH) as points:
        p = points.index
        worst = points.carry(k.number(np.inf, "vector"))
        moving = k.load("moving", p, "vector")
        u, z = k.load("du", p, "vector"), k.load("dz", p, "vector").most(1e-300) * moving
        root = z.sqrt()
        k.store(root, "root", p)
        rate = moving * 0.5 / root.most(1e-150)
        with k.each(R) as rows:
            least = rows.carry(worst)
            at = k.at((rows.index, P), (p, 1))
            e = [k.load("rows", k.whole("+", at, k.whole("*", RP, j)), "vector") for j in range(4)]
            S = e[0] * u + e[1] * z + e[2] * root + e[3]
            k.store(S, "S", at)
            k.store(e[1] * moving + e[2] * rate, "S_z", at)
            rows.hand(least, least.least(S / k.load("S_before", at, "vector")))
        points.hand(worst, least)
    k.store(k.join_entries(worst, Value.least), "out", 0)
    return k


def _curvature() -> _Kernel:
    """Second derivatives by u and z at the points, less what is not positive; gradient of the Lagrangian."""
    k = _Kernel("curvature")
    P, n = k.size["P"], k.size["n"]
    RP = k.whole("*", k.size["R"], P)
    with k.each(P, step=WIDTH) as points:
        p = points.index
        gap = points.carry(k.number(0.0, "vector"))
        zero = k.number(0.0, "vector")
        with k.each(k.size["M"]) as rows:
            sums = [rows.carry(first) for first in (gap, zero, zero, zero, zero, zero)]
            at = k.at((rows.index, P), (p, 1))
            lam, S, S_u, S_z = (k.load(name, at, "vector") for name in ("lam", "S", "S_u", "S_z"))
            W = lam / S
            terms = (lam * S, lam * S_u, lam * S_z, W * S_u * S_u, W * S_u * S_z, W * S_z * S_z)
            for total, term in zip(sums, terms, strict=True):
                rows.hand(total, total + term)
        points.hand(gap, sums[0])
        k.store(sums[1], "g_u", p)
        k.store(sums[2], "g_z", p)
        with k.each(k.size["R"]) as rows:
            # -S'' of limits that are concave in z.
            concave = rows.carry(zero)
            at = k.at((rows.index, P), (p, 1))
            bend = k.load("rows", k.whole("+", at, k.whole("*", RP, 2)), "vector").most(0.0)
            rows.hand(concave, concave + k.load("lam", at, "vector") * bend)
        root = k.load("root", p, "vector").most(1e-100)
        concave = concave * k.load("moving", p, "vector") * 0.25 / (root * root * root)
        for j, value in enumerate((sums[3], sums[4], sums[5] + concave)):
            k.store(value, "curvature", k.at((P, j), (p, 1)))
    k.store(k.join_entries(gap, _add), "out", 0)
    with k.each(n) as unknowns:
        k.store(k.load("gradient", unknowns.index), "right", unknowns.index)
    _write_gather(k, -1.0)
    # Over the relative change of z: a bend counts against both ends of its interval.
    with k.each(k.size["N"]) as intervals:
        worst = intervals.carry(k.number(0.0))
        first = k.whole("*", intervals.index, k.size["stride"])
        x, g = k.neighbours("x", first), k.neighbours("right", first)
        size = (g[0] * x[0]).abs().most((g[1] * (x[0] + x[2])).abs()).most((g[2] * x[2]).abs())
        intervals.hand(worst, worst.most(size))
    k.store(worst, "out", 1)
    return k


def _factor() -> _Kernel:
    """L D L^T of the Hessian, with a band of five diagonals; with `boost` 1 the diagonal dominates.

    Gives the least pivot. Rows of the band are `n` + 2 long: what follows the last unknown is 0.
    """
    k = _Kernel("factor", "boost")
    P, N, n, stride = (k.size[name] for name in ("P", "N", "n", "stride"))
    width = k.whole("+", n, 2)
    pairs = [(a, b) for a in range(3) for b in range(a, 3)]
    k.zero("band", k.whole("*", width, 3))

    def band(j: int, i: Index) -> str:
        return k.at((width, j), (i, 1))

    with k.each(N) as intervals:
        i = intervals.index
        first = k.whole("*", i, stride)
        for m, (a, b) in enumerate(pairs):
            k.add(k.load("hessian", k.at((N, m), (i, 1))), "band", band(b - a, k.whole("+", first, a)))
    with k.each(P) as points:
        p = points.index
        first = k.code.load(k.array["first"], p, "whole")
        uu, uz, zz = (k.load("curvature", k.at((P, j), (p, 1))) for j in range(3))
        u, z = ([k.load(shapes, k.at((P, a), (p, 1))) for a in range(3)] for shapes in ("u_x", "z_x"))
        by_u, by_z = [uu * u[a] + uz * z[a] for a in range(3)], [uz * u[a] + zz * z[a] for a in range(3)]
        for a, b in pairs:
            k.add(u[a] * by_u[b] + z[a] * by_z[b], "band", band(b - a, k.whole("+", first, a)))
    boost = k.argument("boost")
    with k.each(n) as unknowns:
        # Fixed unknowns are apart from all others.
        i = unknowns.index
        next_1, next_2 = k.whole("+", i, 1), k.whole("+", i, 2)
        f, f_1, f_2 = (k.load("free", j) for j in (i, next_1, next_2))
        a_1, a_2 = k.load("band", band(1, i)) * f * f_1, k.load("band", band(2, i)) * f * f_2
        k.store(a_1, "band", band(1, i))
        k.store(a_2, "band", band(2, i))
        k.store(k.load("band", i) * f + (1.0 - f) + boost * (a_1.abs() + a_2.abs()), "band", i)
        for j, entry in ((next_1, a_1), (next_2, a_2)):
            k.add(boost * entry.abs(), "band", j)
    with k.each(n) as unknowns:
        worst = unknowns.carry(k.number(np.inf))
        i = unknowns.index
        next_1, next_2 = k.whole("+", i, 1), k.whole("+", i, 2)
        d, a_1, a_2 = (k.load("band", band(j, i)) for j in range(3))
        unknowns.hand(worst, worst.least(d))
        l_1, l_2 = a_1 / d, a_2 / d
        k.add(-(l_1 * a_1), "band", next_1)
        k.add(-(l_1 * a_2), "band", band(1, next_1))
        k.add(-(l_2 * a_2), "band", next_2)
        k.store(l_1, "band", band(1, i))
        k.store(l_2, "band", band(2, i))
    k.store(worst, "out", 0)
    return k


def _write_solution(k: _Kernel) -> None:
    """Solve for `right` in place, and give du and dz of the points."""
    n = k.size["n"]
    width = k.whole("+", n, 2)

    def band(j: int, i: Index) -> Value:
        return k.load("band", k.at((width, j), (i, 1)))

    with k.each(n) as unknowns:
        i = unknowns.index
        y = k.load("right", i)
        for j in (1, 2):
            k.add(-(band(j, i) * y), "right", k.whole("+", i, j))
    k.store(k.number(0.0), "right", n)
    k.store(k.number(0.0), "right", k.whole("+", n, 1))
    with k.each(n) as unknowns:
        i = k.whole("-", k.whole("-", n, 1), unknowns.index)
        parts = [band(j, i) * k.load("right", k.whole("+", i, j)) for j in (1, 2)]
        k.store(k.load("right", i) / band(0, i) - parts[0] - parts[1], "right", i)
    _write_spread(k, "right")


def _write_ratio(k: _Kernel, at: str, du: Value, dz: Value) -> Value:
    """The change of a limit over what is left of it."""
    change = k.load("S_u", at, "vector") * du + k.load("S_z", at, "vector") * dz
    return change / k.load("S", at, "vector")


def _affine() -> _Kernel:
    """The step to lambda = 0: extremes of dS / S, sums of lambda dS and lambda dS^2 / S."""
    k = _Kernel("affine")
    P, n = k.size["P"], k.size["n"]
    with k.each(n) as unknowns:
        k.store(-k.load("gradient", unknowns.index), "right", unknowns.index)
    _write_solution(k)
    with k.each(P, step=WIDTH) as points:
        p = points.index
        firsts = [k.number(value, "vector") for value in (np.inf, -np.inf, 0.0, 0.0)]
        outer = [points.carry(first) for first in firsts]
        du, dz = k.load("du", p, "vector"), k.load("dz", p, "vector")
        with k.each(k.size["M"]) as rows:
            least, most, once, twice = (rows.carry(first) for first in outer)
            at = k.at((rows.index, P), (p, 1))
            ratio = _write_ratio(k, at, du, dz)
            change = k.load("lam", at, "vector") * k.load("S", at, "vector") * ratio
            results = least.least(ratio), most.most(ratio), once + change, twice + change * ratio
            for carried, value in zip((least, most, once, twice), results, strict=True):
                rows.hand(carried, value)
        for carried, value in zip(outer, (least, most, once, twice), strict=True):
            points.hand(carried, value)
    for j, (carried, join) in enumerate(zip(outer, (Value.least, Value.most, _add, _add), strict=True)):
        k.store(k.join_entries(carried, join), "out", j)
    return k


def _direction() -> _Kernel:
    """The step to lambda S = goal less the second-order part of that before: least dS / S, dlam / lam."""
    k = _Kernel("direction", "mu", "goal")
    P, n = k.size["P"], k.size["n"]
    mu, target_value = k.argument("mu", "vector"), k.argument("goal", "vector")
    zero = k.number(0.0, "vector")
    with k.each(P, step=WIDTH) as points:
        p = points.index
        du, dz = k.load("du", p, "vector"), k.load("dz", p, "vector")
        with k.each(k.size["M"]) as rows:
            g_u, g_z = rows.carry(zero), rows.carry(zero)
            at = k.at((rows.index, P), (p, 1))
            S, ratio = k.load("S", at, "vector"), _write_ratio(k, at, du, dz)
            second = -(k.load("lam", at, "vector") * (ratio + 1.0) * ratio * S)
            push = (target_value - second.most(-mu).least(mu)) / S
            k.store(push, "push", at)
            rows.hand(g_u, g_u + push * k.load("S_u", at, "vector"))
            rows.hand(g_z, g_z + push * k.load("S_z", at, "vector"))
        k.store(g_u, "g_u", p)
        k.store(g_z, "g_z", p)
    with k.each(n) as unknowns:
        k.store(-k.load("gradient", unknowns.index), "right", unknowns.index)
    _write_gather(k, 1.0)
    _write_solution(k)
    with k.each(P, step=WIDTH) as points:
        p = points.index
        outer = [points.carry(k.number(np.inf, "vector")) for _ in range(2)]
        du, dz = k.load("du", p, "vector"), k.load("dz", p, "vector")
        with k.each(k.size["M"]) as rows:
            primal, dual = (rows.carry(first) for first in outer)
            at = k.at((rows.index, P), (p, 1))
            ratio, lam = _write_ratio(k, at, du, dz), k.load("lam", at, "vector")
            dlam = k.load("push", at, "vector") - lam * (ratio + 1.0)
            k.store(dlam, "dlam", at)
            rows.hand(primal, primal.least(ratio))
            rows.hand(dual, dual.least(dlam / lam))
        for carried, value in zip(outer, (primal, dual), strict=True):
            points.hand(carried, value)
    for j, carried in enumerate(outer):
        k.store(k.join_entries(carried, Value.least), "out", j)
    # Squared speeds where time is summed.
    with k.each(k.size["N"]) as intervals:
        worst = intervals.carry(k.number(np.inf))
        i = intervals.index
        change = k.neighbours("right", k.whole("*", i, k.size["stride"]))
        with k.each(k.size["Q"]) as nodes:
            least = nodes.carry(worst)
            at = k.at((nodes.index, k.size["N"]), (i, 1))
            nodes.hand(least, least.least(_write_inner(k, at, change) / k.load("inner", at)))
        intervals.hand(worst, least)
    k.store(worst, "out", 2)
    return k


def _write_inner(k: _Kernel, at: str, near: list[Value]) -> Value:
    """What three unknowns give at a place where time is summed."""
    count = k.whole("*", k.size["Q"], k.size["N"])
    parts = [
        k.load("inner_x", k.whole("+", at, k.whole("*", count, a))) * value for a, value in enumerate(near)
    ]
    return parts[0] + parts[1] + parts[2]


def _time() -> _Kernel:
    """The time, its gradient, and second derivatives of each interval."""
    k = _Kernel("time")
    N, Q, n = (k.size[name] for name in ("N", "Q", "n"))
    count = k.whole("*", Q, N)
    k.zero("gradient", k.whole("+", n, 2))
    with k.each(N) as intervals:
        total = intervals.carry(k.number(0.0))
        i = intervals.index
        first = k.whole("*", i, k.size["stride"])
        near = k.neighbours("x", first)
        with k.each(Q) as nodes:
            time = nodes.carry(total)
            sums = [nodes.carry(k.number(0.0)) for _ in range(9)]
            at = k.at((nodes.index, N), (i, 1))
            shapes = [k.load("inner_x", k.whole("+", at, k.whole("*", count, a))) for a in range(3)]
            here = shapes[0] * near[0] + shapes[1] * near[1] + shapes[2] * near[2]
            k.store(here, "inner", at)
            value = k.load("weight", at) / here.sqrt()
            slope = value / here
            bend = slope / here
            terms = [slope * shape for shape in shapes]
            pairs = [k.load("inner_pairs", k.whole("+", at, k.whole("*", count, m))) for m in range(6)]
            terms += [bend * pair for pair in pairs]
            nodes.hand(time, time + value)
            for carried, term in zip(sums, terms, strict=True):
                nodes.hand(carried, carried + term)
        intervals.hand(total, time)
        for a in range(3):
            k.add(sums[a] * -0.5, "gradient", k.whole("+", first, a))
        for m in range(6):
            k.store(sums[3 + m] * 0.75, "hessian", k.at((N, m), (i, 1)))
    with k.each(n) as unknowns:
        i = unknowns.index
        k.store(k.load("gradient", i) * k.load("free", i), "gradient", i)
    k.store(total, "out", 0)
    return k


class Kernels:
    """Kernels by name, called with the address of a table and numbers; their code lives as long as this."""

    def __init__(self, library: Any, kernels: Sequence[_Kernel]) -> None:
        self._library = library
        self._functions = {
            kernel.name: library.function(kernel.name, kernel.parameters) for kernel in kernels
        }

    def __call__(self, name: str, table: ctypes.c_void_p, *numbers: float) -> None:
        """Call a kernel."""
        self._functions[name](table, *numbers)


@cache
def native_kernels() -> Kernels | None:
    """The kernels, from the user's cache or compiled anew; None without a compiler."""
    try:
        target("jit")
    except TargetError:
        return None
    from nacelle.emit.jit import target as jit

    kernels = [_evaluate(), _curvature(), _factor(), _affine(), _direction(), _time()]
    text = jit.module_source([kernel.text() for kernel in kernels], jit.DEFAULT)
    store, key = Store(), f"interior point {hashlib.sha256(text.encode()).hexdigest()} {jit.machine_key()}"
    image = store.get(key)
    try:
        if image is None:
            image = jit.compile_text(text)
            store.put(key, image)
        return Kernels(jit.Library(image, [kernel.name for kernel in kernels]), kernels)
    except TargetError:
        return None


class Buffers:
    """Arrays of a problem, and the table with their addresses."""

    def __init__(self, sizes: dict[str, int], arrays: dict[str, Array]) -> None:
        P, M, N, n, Q = (sizes[name] for name in ("P", "M", "N", "n", "Q"))
        shapes: dict[str, Any] = {
            **dict.fromkeys(("root", "du", "dz", "g_u", "g_z"), P),
            **dict.fromkeys(("S", "S_u", "S_z", "S_before", "lam", "push", "dlam"), (M, P)),
            **{"x": n, "right": n + 2, "gradient": n + 2, "band": (3, n + 2), "curvature": (3, P)},
            **{"hessian": (6, N), "inner": (Q, N), "out": 4},
        }
        self.arrays = {name: np.zeros(shape) for name, shape in shapes.items() if name not in arrays}
        self.arrays |= {name: np.ascontiguousarray(array) for name, array in arrays.items()}
        self.table = np.array(
            [sizes[name] for name in SIZES] + [self.arrays[name].ctypes.data for name in ARRAYS],
            dtype=np.int64,
        )
        self.address = ctypes.c_void_p(self.table.ctypes.data)

    def exchange(self, a: str, b: str) -> None:
        """Exchange two arrays of one shape."""
        i, j = (len(SIZES) + ARRAYS.index(name) for name in (a, b))
        self.table[[i, j]] = self.table[[j, i]]
        self.arrays[a], self.arrays[b] = self.arrays[b], self.arrays[a]
