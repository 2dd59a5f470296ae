"""A compiled physics function whose first input are free numbers of the robot."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nacelle.compile.arguments import arguments_of, batched
from nacelle.compile.compiled import Bound, Compiled
from nacelle.program.cost import Count
from nacelle.program.program import Program
from nacelle.program.split import PREPARED, joined

# The prepared numbers of no more robots are kept at once.
_SAMPLES_PREPARED = 16_384


class Parametric(Compiled):
    """A compiled physics function whose first input, "parameters", are free numbers of the robot.

    It runs in two parts: the prologue once for every set of numbers, the body for every state.

        prepared = function.prologue(parameters)
        function.body(prepared, x, v, a)          # what function(parameters, x, v, a) gives

    Attributes:
        prologue: from "parameters" to "prepared".
        body: from "prepared" and the other inputs to the results.
        inputs: names and shapes of its arguments.
        outputs: names and shapes of its results.
    """

    def __init__(self, prologue: Compiled, body: Compiled) -> None:
        """Keep both parts."""
        self.prologue, self.body = prologue, body
        self.name = body.name
        self.target = body.target
        self.inputs = {**prologue.inputs, **{k: v for k, v in body.inputs.items() if k != PREPARED}}
        self.outputs = body.outputs
        self.from_cache = prologue.from_cache and body.from_cache
        self.check = None

    @property
    def program(self) -> Program:
        """Both parts as one straight-line program."""
        return joined(self.prologue.program, self.body.program)

    @property
    def count(self) -> Count:
        """Operations of the body by class, by the plain counting rule."""
        return self.body.count

    @property
    def cost(self) -> float:
        """Weighted cost of the body, in products."""
        return self.body.cost

    def source(self, language: str = "c") -> str:
        """Both parts as source text, first the prologue, whose name ends in "_prepare"."""
        return "\n".join(part.source(language) for part in (self.prologue, self.body))

    def __call__(self, *arrays: Any, out: Any = None, threads: int | None = None, **named: Any) -> Any:
        """Evaluate on arrays with leading batch dimensions (..., *shape), which broadcast.

        The prologue runs over the batch that the parameters have themselves: one robot with a million states
        and a million robots with a state each take one call.

        Args:
            *arrays: the parameters, then the other inputs in order; or by name.
            out: where the results go, as for any compiled function; made anew if None.
            threads: how many threads share the samples; as many as cores for large batches if None.
            **named: inputs by name.

        Returns:
            One array (..., *shape) if the function has one output, else a dict of arrays by name.
        """
        values = arguments_of(self.name, self.inputs, arrays, named)
        shaped, batches = batched(self.name, self.inputs, values)
        batch = np.broadcast_shapes(*batches)
        results = self._results(batch, out, shaped)
        if math.prod(batch):
            self._fill(results, shaped[0], shaped[1:], batch, threads)
        return next(iter(results.values())) if len(results) == 1 else results

    def _fill(
        self,
        results: Mapping[str, NDArray[Any]],
        parameters: NDArray[Any],
        others: Sequence[NDArray[Any]],
        batch: tuple[int, ...],
        threads: int | None,
    ) -> None:
        """Evaluate into the results, in parts of no more prepared numbers than fit into a cache."""
        if math.prod(parameters.shape[:-1]) == 1 or math.prod(batch) <= _SAMPLES_PREPARED:
            made = self.body(self.prologue(parameters, threads=threads), *others, threads=threads)
            for name, value in (made if isinstance(made, dict) else {next(iter(results)): made}).items():
                results[name][...] = value
            return
        step = max(1, _SAMPLES_PREPARED // math.prod(batch[1:]))
        for start in range(0, batch[0], step):
            part = slice(start, min(start + step, batch[0]))
            length = part.stop - part.start
            whole = length > 1 or len(batch) == 1
            self._fill(
                {name: value[part] if whole else value[start] for name, value in results.items()},
                _part(parameters, 1, batch, part, whole),
                [
                    _part(other, len(shape), batch, part, whole)
                    for other, shape in zip(others, list(self.inputs.values())[1:], strict=True)
                ],
                (length, *batch[1:]) if whole else batch[1:],
                threads,
            )

    def bind(self, **buffers: NDArray[Any]) -> Bound:
        """Give a function without arguments that reads and writes fixed buffers, prologue included.

        Where the numbers stay, `function.body.bind(prepared=function.prologue(parameters), ...)` runs the
        body alone.

        Args:
            **buffers: arrays by input or output name, as for `Compiled.bind`.
        """
        arguments_of(self.name, {**self.inputs, **self.outputs}, (), buffers, partly=True)
        own = {name: buffer for name, buffer in buffers.items() if name in self.prologue.inputs}
        first = self.prologue.bind(**own)
        others = {name: buffer for name, buffer in buffers.items() if name not in own}
        second = self.body.bind(prepared=first[PREPARED], **others)

        def call() -> None:
            first.call()
            second.call()

        return Bound(call, {**first.arrays, **second.arrays})

    def __repr__(self) -> str:
        """Give name, target and counts."""
        return f"<Parametric {self.name} ({self.target}): {self.count}; prologue {self.prologue.count}>"


def _part(array: NDArray[Any], rank: int, batch: tuple[int, ...], part: slice, whole: bool) -> NDArray[Any]:
    """The part of an array with batch dimensions that goes with a part of the leading one."""
    own = array.ndim - rank
    if own < len(batch):
        return array
    if array.shape[0] == 1:
        return array if whole else array[0]
    return array[part] if whole else array[part.start]
