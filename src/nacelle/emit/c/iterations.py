"""Newton's iteration and the Runge-Kutta method as statements of C, for a processor or a device's thread.

What is done in which order is the same; how an entry of a vector is read and written, and how numbers are
added, is a matter of the `Dialect`. The rules are those of `nacelle.emit.newton` and `nacelle.emit.rk4`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Dialect:
    """How statements over the vectors of a sample are written.

    Attributes:
        real: type of numbers.
        entries: for every vector, by the name that it has in the loops, its entry j: an element of an array,
            or an address on the device.
        device: whether it is CUDA, whose operations are functions of the header.
        single: whether numbers are floats.
    """

    real: str
    entries: Mapping[str, str]
    device: bool = False
    single: bool = False

    def get(self, vector: str) -> str:
        """Entry j of a vector."""
        return f"nc_got<{self.real}>({self.entries[vector]})" if self.device else self.entries[vector]

    def put(self, vector: str, value: str) -> str:
        """The statement that writes entry j of a vector."""
        entry = self.entries[vector]
        return f"nc_keep({entry}, {value});" if self.device else f"{entry} = {value};"

    def add(self, a: str, b: str) -> str:
        """The sum a + b."""
        return f"nc_add({a}, {b})" if self.device else f"{a} + {b}"

    def product_sum(self, a: str, b: str, c: str) -> str:
        """The sum a b + c."""
        return f"nc_fma({a}, {b}, {c})" if self.device else f"{c} + {a} * {b}"

    def root(self, a: str) -> str:
        """The square root of a number."""
        return f"nc_sqrt({a})" if self.device else f"sqrt{'f' if self.single else ''}({a})"

    def finite(self, a: str) -> str:
        """Whether a number is finite."""
        return f"nc_finite({a})" if self.device else f"isfinite({a})"

    def each(self, n: int, *statements: str) -> list[str]:
        """Statements for every entry j of a vector."""
        return [f"for (unsigned j = 0; j < {n}; ++j) {{", *indented(statements), "}"]


def indented(lines: Sequence[str], by: int = 4) -> list[str]:
    """Lines further to the right."""
    return [f"{' ' * by}{line}" for line in lines]


def newton_loop(d: Dialect, n: int, evaluate: Sequence[str]) -> list[str]:
    """The iteration around statements that give the vectors `step` (n) and `error` (1) at `y` (n).

    It takes `tolerance`, `cap`, `weights`, one over the longest step of each unknown or NULL, and `polish`.
    It changes `taken`, the number of steps, which begins with 0, `status`, which begins with 1, and `left`,
    the error of the last evaluation.
    """
    real = d.real
    return [
        "for (;;) {",
        *indented(evaluate),
        f"    {real} squares = 0;",
        *indented(
            d.each(
                n,
                f"const {real} d = {d.get('step')} * (weights ? weights[j] : 0);",
                f"squares = {d.product_sum('d', 'd', 'squares')};",
            )
        ),
        f"    left = {d.get('error')};",
        f"    const {real} length = {d.root('squares')};",
        f"    const {real} part = (length > 1) ? 1 / length : 1;",
        "    const int solved = left <= tolerance;",
        f"    if (solved || !({d.finite('left')} && {d.finite('length')})) {{",
        "        status = solved ? 0 : 2;",
        f"        if (!(solved && polish && {d.finite('length')})) {{",
        "            break;",
        "        }",
        "    } else if (taken >= cap) {",
        "        break;",
        "    } else {",
        "        ++taken;",
        "    }",
        *indented(d.each(n, d.put("y", d.add(d.get("y"), f"part * {d.get('step')}")))),
        "    if (solved) {",
        "        break;",
        "    }",
        "}",
    ]


def rk4_loop(
    d: Dialect, n: int, begin: Sequence[str], evaluate: Sequence[str], store: str, stored: str = "every != 0"
) -> list[str]:
    """All steps around statements that give the vector `slope` (n) at the vector `at` (n).

    It takes `h`, `steps` and `every`, and changes `x` (n) and `step`, the number of steps, which begins with
    0; the vector `total` (n) is k1 + 2 k2 + 2 k3 + k4 as far as it is computed.

    Args:
        d: how it is written.
        n: number of states.
        begin: statements before each step.
        evaluate: statements of each `stage`, 0 to 3.
        store: the statement that stores entry j of a state, from `first` on.
        stored: whether states are stored at all.
    """
    real = d.real
    return [
        "for (; step < steps; ++step) {",
        *indented(begin),
        *indented(d.each(n, d.put("at", d.get("x")), d.put("total", f"({real})0"))),
        *(["    #pragma unroll 1"] if d.device else []),
        "    for (int stage = 0; stage < 4; ++stage) {",
        *indented(evaluate, 8),
        f"        const {real} ahead = stage < 2 ? h / 2 : (stage == 2 ? h : h / 6);",
        *indented(
            d.each(
                n,
                f"const {real} k = {d.get('slope')};",
                f"const {real} more = (stage == 1 || stage == 2) ? 2 * k : k;",
                f"const {real} sum = {d.add(d.get('total'), 'more')};",
                d.put("total", "sum"),
                d.put("at", d.product_sum("ahead", "(stage == 3 ? sum : k)", d.get("x"))),
            ),
            8,
        ),
        "    }",
        "    int finite = 1;",
        *indented(d.each(n, f"finite = (finite && {d.finite(d.get('at'))}) ? 1 : 0;")),
        "    if (!finite) {",
        "        break;",
        "    }",
        *indented(d.each(n, d.put("x", d.get("at")))),
        f"    if ({stored} && (step + 1) % every == 0) {{",
        *indented(d.each(n, store.replace("{first}", f"((step + 1) / every - 1) * {n}")), 8),
        "    }",
        "}",
    ]
