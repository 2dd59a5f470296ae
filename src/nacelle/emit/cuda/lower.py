"""Operations of a program as a graphics processor has them.

Division and root have slow paths that cut a straight-line program into blocks, and cost as much as twenty
products. In the *fast* form a quotient is a product with a reciprocal,

    a / b = a rcp(b),     √x = x rsqrt(x),     a / √x = a rsqrt(x),

rcp and rsqrt by the processor's estimate and one cubic step, each computed once for all quotients that share
the divisor. They are within two units in the last place of IEEE's, and NaN where IEEE gives 0 or an
infinity: at 0, infinities and subnormal numbers; but √0 = 0, since robots at rest have rates of length zero.
Sines and cosines are NaN beyond 105615 rad. The *ieee* form keeps division and root, and has no such bounds.

In both forms products that only sums use are fused into them (`nacelle.emit.jit.plan.fuse`).
"""

from __future__ import annotations

from nacelle.emit.jit.plan import fuse
from nacelle.program.program import Instruction, Program

Code = tuple[Instruction | None, ...]
"""Instructions; None marks one that is not needed."""


def lowered(program: Program, *, ieee: bool = False) -> tuple[Code, tuple[int, ...]]:
    """The operations of a program for the processor, and the one that makes each result.

    Args:
        program: what is lowered.
        ieee: whether quotients and roots stay as they are.
    """
    made = _Rewritten()
    places: list[int] = []
    for op, *arguments in program.code:
        if op in ("const", "input"):
            places.append(made.node(op, *arguments))
            continue
        operands = [places[k] for k in arguments]
        if op == "sqrt" and not ieee:
            places.append(made.root(operands[0]))
        elif op == "div" and not ieee:
            places.append(made.quotient(*operands))
        else:
            places.append(made.node(op, *operands))
    results = tuple(places[k] for k in program.results)
    fused = fuse(Program(program.name, program.inputs, program.outputs, tuple(made.code), results))
    return fused, results


class _Rewritten:
    """Instructions as they are made; equal ones are one."""

    def __init__(self) -> None:
        self.code: list[Instruction] = []
        self._table: dict[Instruction, int] = {}
        # The radicand of every value that is a root.
        self._radicands: dict[int, int] = {}

    def node(self, *instruction: object) -> int:
        """The index of an instruction, new or old."""
        place = self._table.setdefault(instruction, len(self.code))
        if place == len(self.code):
            self.code.append(instruction)
        return place

    def root(self, x: int) -> int:
        """√x = x rsqrt(x), and 0 at 0."""
        value = self.node("root", x, self.node("rsqrt", x))
        self._radicands[value] = x
        return value

    def quotient(self, a: int, b: int) -> int:
        """A / b = a rcp(b), and a rsqrt(x) if b = √x."""
        radicand = self._radicands.get(b)
        inverse = self.node("rcp", b) if radicand is None else self.node("rsqrt", radicand)
        return inverse if self.code[a] == ("const", 1.0) else self.node("mul", a, inverse)
