"""Programs written instruction by instruction, and samples, for the search of identities."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np

from nacelle.program.identities.values import PreciseInputs
from nacelle.program.program import Program, Variable


def samples(size: int, seed: int = 0, proof: int = 4, check: int = 2) -> PreciseInputs:
    """Independent inputs between 0.5 and 1.5 in size."""
    rng = np.random.default_rng(seed)

    def row() -> tuple[Decimal, ...]:
        values = rng.uniform(0.5, 1.5, size) * rng.choice([-1.0, 1.0], size)
        return tuple(Decimal(float(value)) for value in values)

    return PreciseInputs(
        tuple(row() for _ in range(proof)), tuple(row() for _ in range(check)), (0.0,) * size
    )


class Writer:
    """Writes instructions as they come: nothing is folded, nothing is shared."""

    def __init__(self, inputs: int) -> None:
        self.inputs = inputs
        self.code: list[tuple[Any, ...]] = [("input", k) for k in range(inputs)]

    def __call__(self, op: str, *arguments: Any) -> int:
        self.code.append((op, *arguments))
        return len(self.code) - 1

    def const(self, value: float) -> int:
        return self("const", value)

    def program(self, *results: int) -> Program:
        outputs = (Variable("out", (len(results),)),)
        program = Program("test", (Variable("x", (self.inputs,)),), outputs, tuple(self.code), results)
        program.check()
        return program
