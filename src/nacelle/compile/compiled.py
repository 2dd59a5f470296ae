"""A compiled physics function as its caller holds it: called on batches, or bound to fixed buffers."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from functools import cache, cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nacelle.compile.arguments import arguments_of, batched, given_results, writable
from nacelle.compile.check import ProgramCheck
from nacelle.compile.packed import with_code
from nacelle.emit.registry import Kernel, target
from nacelle.errors import CompileError, did_you_mean
from nacelle.pictures import Shown
from nacelle.program.cost import Count, cost, count
from nacelle.program.program import Program

# Below this many samples a second thread costs more than it saves.
_SAMPLES_PER_THREAD = 2048


class Compiled(Shown):
    """A compiled physics function.

    Attributes:
        target: name of the target that runs it.
        inputs: names and shapes of its arguments.
        outputs: names and shapes of its results.
        from_cache: whether it was loaded from the user's cache.
        check: what it gives at some states, by the physics as it is written; None if it was not checked.
    """

    def __init__(
        self, signature: Program, kernel: Kernel | None, target_name: str, packed: bytes | None = None
    ) -> None:
        """Keep a kernel with its signature; `packed` is the program's code where it came from the cache.

        Without a kernel the heirs of this class run it in their own way.
        """
        self.name = signature.name
        self.target = target_name
        self.inputs = {variable.name: variable.shape for variable in signature.inputs}
        self.outputs = {variable.name: variable.shape for variable in signature.outputs}
        self.from_cache = packed is not None
        self._signature = signature
        self._packed = packed
        self._own_kernel = kernel
        self.check: ProgramCheck | None = None

    @property
    def _kernel(self) -> Kernel:
        assert self._own_kernel is not None
        return self._own_kernel

    @cached_property
    def program(self) -> Program:
        """The straight-line program that runs."""
        return self._signature if self._packed is None else with_code(self._signature, self._packed)

    @property
    def count(self) -> Count:
        """Operations by class, by the plain counting rule."""
        return count(self.program)

    @property
    def cost(self) -> float:
        """Weighted cost, in products."""
        return cost(self.program)

    def source(self, language: str = "c") -> str:
        """The program as source text: "c", "cuda", "python", "numpy", "jax", "torch" or "jit" (LLVM)."""
        return target(language).source(self.program)

    def __call__(self, *arrays: Any, out: Any = None, threads: int | None = None, **named: Any) -> Any:
        """Evaluate on arrays with leading batch dimensions (..., *shape), which broadcast.

        Args:
            *arrays: the inputs in order; or by name.
            out: where the results go: an array, or a dict of arrays by name, C-contiguous float64 as this
                function returns them, apart from the inputs; made anew if None.
            threads: how many threads share the samples; as many as cores for large batches if None.
            **named: inputs by name.

        Returns:
            One array (..., *shape) if the function has one output, else a dict of arrays by name.
        """
        values = arguments_of(self.name, self.inputs, arrays, named)
        batch, flat = self._flatten(values)
        number = math.prod(batch)
        shaped = self._results(batch, out, flat)
        if number:
            results = [shaped[v.name].reshape(number, v.size) for v in self._signature.outputs]
            self._kernel.run(flat, results, threads or _threads(number))
        return next(iter(shaped.values())) if len(shaped) == 1 else shaped

    def at_rows(self, rows: NDArray[Any]) -> NDArray[Any]:
        """All results (K, results) at rows (K, size) of all inputs, one thread."""
        parts, start = [], 0
        for variable in self._signature.inputs:
            parts.append(np.ascontiguousarray(rows[:, start : start + variable.size]))
            start += variable.size
        results = [np.empty((len(rows), variable.size)) for variable in self._signature.outputs]
        self._kernel.run(parts, results, 1)
        return np.concatenate([np.empty((len(rows), 0)), *results], axis=1)

    def _results(
        self, batch: tuple[int, ...], out: Any, inputs: Sequence[NDArray[Any]] = ()
    ) -> dict[str, NDArray[Any]]:
        """Where the results go, by name; not to what is being read."""
        if out is None:
            return {name: np.empty(batch + shape) for name, shape in self.outputs.items()}
        made = given_results(self.name, self.outputs, batch, out, writable)
        for name, array in made.items():
            if any(np.may_share_memory(array, given) for given in inputs):
                raise CompileError(f"out {name!r} of {self.name} shares its memory with an input")
        return made

    def bind(self, **buffers: NDArray[Any]) -> Bound:
        """Give a function without arguments that reads and writes fixed buffers.

        Args:
            **buffers: arrays by input or output name, C-contiguous float64 of their exact shape; those
                not given are made.
        """
        arrays: dict[str, NDArray[Any]] = {}
        shapes = {**self.inputs, **self.outputs}
        for name, buffer in buffers.items():
            if name not in shapes:
                raise CompileError(
                    f"{self.name} has no input or output {name!r}; {did_you_mean(name, shapes)}"
                )
            if buffer.dtype != np.float64 or not buffer.flags.c_contiguous or buffer.shape != shapes[name]:
                raise CompileError(
                    f"the buffer {name!r} must be a C-contiguous float64 array of shape {shapes[name]}"
                )
            arrays[name] = buffer
        for name, shape in shapes.items():
            arrays.setdefault(name, np.zeros(shape))
        rows = [arrays[variable.name].reshape(1, variable.size) for variable in self._signature.inputs]
        results = [arrays[variable.name].reshape(1, variable.size) for variable in self._signature.outputs]
        return Bound(self._kernel.bind(rows, results), arrays)

    def _flatten(self, values: Sequence[Any]) -> tuple[tuple[int, ...], list[NDArray[Any]]]:
        """Bring the inputs to (N, size), or (1, size) where they have no batch of their own."""
        arrays, batches = batched(self.name, self.inputs, values)
        batch = np.broadcast_shapes(*batches) if batches else ()
        flat = []
        for variable, array, own in zip(self._signature.inputs, arrays, batches, strict=True):
            if math.prod(own) == 1:
                rows = array.reshape(1, variable.size)
            else:
                rows = np.broadcast_to(array, batch + variable.shape)
                rows = rows.reshape(math.prod(batch), variable.size)
            flat.append(np.ascontiguousarray(rows))
        return batch, flat

    def __repr__(self) -> str:
        """Give name, target and count."""
        return f"<Compiled {self.name} ({self.target}): {self.count}>"


class Bound:
    """A compiled function on fixed buffers: call it, read the outputs.

    Attributes:
        arrays: the buffers by name.
    """

    __slots__ = ("arrays", "call")

    def __init__(self, function: Callable[[], None], arrays: dict[str, NDArray[Any]]) -> None:
        # The bare function, for the tightest loops.
        self.call = function
        self.arrays = arrays

    def __call__(self) -> None:
        """Evaluate once."""
        self.call()

    def __getitem__(self, name: str) -> NDArray[Any]:
        """The buffer of an input or output."""
        return self.arrays[name]


@cache
def _cores() -> int:
    """How many cores there are; asking the system takes longer than one sample of most programs."""
    return os.cpu_count() or 1


def _threads(number: int) -> int:
    return max(1, min(_cores(), number // _SAMPLES_PER_THREAD))
