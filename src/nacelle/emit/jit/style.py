"""How native code is laid out for a family of machines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    # Other targets use the layout, too, and need no LLVM.
    from nacelle.emit.machine import Machine


@dataclass(frozen=True)
class Style:
    """Choices for a family of machines.

    Attributes:
        fma: fuse products with sums.
        accumulates: fused operations are c + a * b and c - a * b, into the register of c (NEON): signs are
            chosen so that no negation is needed, and what is needed again is loaded anew instead of copied.
        registers: how many values are held in registers; the machine has some more, which hold what is just
            being made.
        window: among how many operations of the order with few values the next one is chosen; 0 keeps it.
        table: constants come from a table in memory and are held in registers as other values are. Where
            they are not, they are operands of instructions, which repeat one number over the lanes.
        chunk: about how many operations one function has.
        whole: a program of up to so many is not cut.
        tiles: how many vectors of samples go through one function of a cut program before the next.
        centred: offsets from a pointer are short to both sides (x86); else to one.
    """

    fma: bool = True
    accumulates: bool = False
    registers: int = 28
    window: int = 0
    table: bool = False
    chunk: int = 300
    whole: int = 1500
    tiles: int = 1
    centred: bool = True


def style_of(machine: Machine) -> Style:
    """Choose for a machine.

    On a Neoverse-N1 all of it was measured (`benchmarks/program.py`); for x86, what LLVM stores on the stack
    was counted in the code that it writes.
    """
    if not machine.is_x86:
        return Style(
            fma=machine.fma,
            accumulates=machine.accumulates,
            registers=28,
            window=256,
            table=True,
            chunk=2000,
            whole=4000,
            tiles=3,
            centred=False,
        )
    many = machine.registers == 32
    return Style(fma=machine.fma, registers=28 if many else 12, window=32 if many else 16, table=not many)
