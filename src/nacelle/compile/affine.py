"""Programs over affine forms, compiled: linear enclosures of the results of a program over boxes.

What runs is `nacelle.program.affine.affine_program`; boxes are bounds (..., n, 2), the lower ones first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nacelle.compile.interval import compiled_exactly
from nacelle.program.affine import affine_program
from nacelle.program.program import Program

Array = NDArray[Any]


class Forms(NamedTuple):
    """Linear enclosures over boxes: |f(m + h t) - (c + g . t)| <= e; NaN in e says nothing.

    Attributes:
        c: values in the middle (..., *shape).
        g: changes to the ends of the boxes' sides (..., *shape, n).
        e: bounds of the rest (..., *shape).
    """

    c: Array
    g: Array
    e: Array

    @property
    def reach(self) -> Array:
        """Bounds (..., *shape) of the distance to c."""
        return np.asarray((np.abs(self.g).sum(axis=-1) + self.e) * (1.0 + 2.0**-44) + 2.0**-1000)

    @property
    def bounds(self) -> Array:
        """Lower and upper bounds (..., *shape, 2)."""
        reach = self.reach
        ends = (np.nextafter(self.c - reach, -np.inf), np.nextafter(self.c + reach, np.inf))
        return np.stack(ends, axis=-1)


class AffineFunction:
    """Linear enclosures of the results of a program over boxes of its inputs.

    Attributes:
        program: what is enclosed.
        forms: names of inputs that are forms over the box of the others.
        rests: names of inputs that are known up to a bound of their size.
    """

    def __init__(
        self, program: Program, forms: Sequence[str] = (), rests: Sequence[str] = (), target: str = "jit"
    ) -> None:
        """Compile.

        Args:
            program: any program.
            forms: names of inputs that are forms over the box of the others.
            rests: names of inputs that are known up to a bound of their size.
            target: "jit", or "numpy", which needs no compiler.
        """
        self.program, self.forms, self.rests = program, tuple(forms), tuple(rests)
        self._compiled = compiled_exactly(affine_program(program, forms, rests), target)

    def __call__(self, inputs: Mapping[str, Any], threads: int | None = None) -> dict[str, Forms]:
        """Enclosures of the outputs by name.

        Args:
            inputs: by name: bounds (..., *shape, 2), `Forms`, or bounds of sizes (..., *shape); leading
                dimensions broadcast.
            threads: how many threads share the boxes; as many as cores for large batches if None.
        """
        arrays: list[Array] = []
        for variable in self.program.inputs:
            value = inputs[variable.name]
            if variable.name in self.forms:
                arrays += [value.c, value.g, value.e]
            elif variable.name in self.rests:
                arrays.append(value)
            else:
                arrays += [np.ascontiguousarray(value[..., end]) for end in range(2)]
        results = self._compiled(*arrays, threads=threads)
        return {
            variable.name: Forms(*(results[f"{variable.name}_{part}"] for part in "cge"))
            for variable in self.program.outputs
        }
