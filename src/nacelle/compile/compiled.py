"""A compiled physics function as its caller holds it: called on batches, or bound to fixed buffers.

The arguments of a compiled function, by position or by name, with leading batch dimensions.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nacelle.compile.check import ProgramCheck
from nacelle.compile.packed import unpack_code
from nacelle.emit.registry import Kernel, target
from nacelle.errors import CompileError, did_you_mean
from nacelle.program.cost import Count, cost, count
from nacelle.program.program import Program, variable_slices
from nacelle.program.split import PREPARED, join_parts
from nacelle.results import HasTable


def match_arguments(
    function: str,
    inputs: Mapping[str, tuple[int, ...]],
    arrays: Sequence[Any],
    named: Mapping[str, Any],
    *,
    partly: bool = False,
) -> list[Any]:
    """The arguments of a function in order, given by position or by name; all of them unless `partly`."""
    names = list(inputs)
    if len(arrays) > len(names):
        raise CompileError(f"{function} takes {len(names)} inputs ({', '.join(names)}), got {len(arrays)}")
    values = dict(zip(names, arrays, strict=False))
    for name, value in named.items():
        if name not in inputs:
            what = "input or output" if partly else "input"
            raise CompileError(f"{function} has no {what} {name!r}; {did_you_mean(name, names)}")
        if name in values:
            raise CompileError(f"the input {name!r} of {function} is given twice")
        values[name] = value
    # An input without entries, such as y of a robot without iteration, need not be given.
    if not partly:
        values = {**{name: np.zeros(inputs[name]) for name in names if 0 in inputs[name]}, **values}
    missing = [name for name in names if name not in values]
    if missing and not partly:
        raise CompileError(f"{function} needs the inputs {', '.join(missing)}")
    return [values[name] for name in names if name in values]


def batch_shapes(
    function: str, inputs: Mapping[str, tuple[int, ...]], arrays: Sequence[Any]
) -> tuple[list[tuple[int, ...]], tuple[int, ...]]:
    """The batch dimensions of the inputs of a function, arrays of any library, and what they broadcast to."""
    batches = []
    for (name, shape), array in zip(inputs.items(), arrays, strict=True):
        batch_ndim = array.ndim - len(shape)
        if batch_ndim < 0 or tuple(array.shape[batch_ndim:]) != shape:
            raise CompileError(
                f"the input {name!r} of {function} has shape (..., "
                f"{', '.join(map(str, shape))}), got {tuple(array.shape)}"
            )
        batches.append(tuple(array.shape[:batch_ndim]))
    try:
        return batches, np.broadcast_shapes(*batches)
    except ValueError:
        listing = ", ".join(f"{name} {batch}" for name, batch in zip(inputs, batches, strict=True))
        raise CompileError(f"the batch dimensions of {function} do not broadcast: {listing}") from None


def output_arrays(
    function: str,
    outputs: Mapping[str, tuple[int, ...]],
    batch: tuple[int, ...],
    out: Any,
    array_of: Callable[[str, Any], Any],
) -> dict[str, Any]:
    """The arrays by name that a caller gave for the results of a function.

    Args:
        function: its name, for messages.
        outputs: names and shapes of its results.
        batch: the batch dimensions of a call.
        out: an array where there is one result, or a mapping of arrays by name.
        array_of: the array of a name and what was given for it; refuses what cannot be written to.
    """
    provided: Mapping[str, Any] = out if isinstance(out, Mapping) else {next(iter(outputs)): out}
    if set(provided) != set(outputs):
        raise CompileError(f"out of {function} has {', '.join(provided)}, not {', '.join(outputs)}")
    arrays = {name: array_of(name, provided[name]) for name in outputs}
    for name, shape in outputs.items():
        if arrays[name].shape != batch + shape:
            raise CompileError(f"out {name!r} has shape {arrays[name].shape}, not {batch + shape}")
    return arrays


def require_writable(name: str, array: Any) -> NDArray[Any]:
    """An array of a caller that a result is written to, as it is."""
    flags = array.flags if isinstance(array, np.ndarray) and array.dtype == np.float64 else None
    if flags is None or not flags.c_contiguous or not flags.writeable:
        raise CompileError(f"out {name!r} must be a C-contiguous float64 array that can be written to")
    return array  # type: ignore[no-any-return]  # isinstance forgets Any


# ---- A compiled physics function as its caller holds it: called on batches, or bound to fixed buffers


# Below this many samples a second thread costs more than it saves.
_SAMPLES_PER_THREAD = 2048


class Compiled(HasTable):
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
        return self._signature if self._packed is None else unpack_code(self._signature, self._packed)

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
        values = match_arguments(self.name, self.inputs, arrays, named)
        batch, flat = self._flatten(values)
        number = math.prod(batch)
        shaped = self._results(batch, out, flat)
        if number:
            results = [shaped[v.name].reshape(number, v.size) for v in self._signature.outputs]
            self._kernel.run(flat, results, threads or _threads(number))
        return next(iter(shaped.values())) if len(shaped) == 1 else shaped

    def evaluate_rows(self, rows: NDArray[Any]) -> NDArray[Any]:
        """All results (K, results) at rows (K, size) of all inputs, one thread."""
        parts = [np.ascontiguousarray(rows[:, span]) for _, span in variable_slices(self._signature.inputs)]
        results = [np.empty((len(rows), variable.size)) for variable in self._signature.outputs]
        self._kernel.run(parts, results, 1)
        return np.concatenate([np.empty((len(rows), 0)), *results], axis=1)

    def _results(
        self, batch: tuple[int, ...], out: Any, inputs: Sequence[NDArray[Any]] = ()
    ) -> dict[str, NDArray[Any]]:
        """Where the results go, by name; not to what is being read."""
        if out is None:
            return {name: np.empty(batch + shape) for name, shape in self.outputs.items()}
        arrays = output_arrays(self.name, self.outputs, batch, out, require_writable)
        for name, array in arrays.items():
            if any(np.may_share_memory(array, read) for read in inputs):
                raise CompileError(f"out {name!r} of {self.name} shares its memory with an input")
        return arrays

    def bind(self, **buffers: NDArray[Any]) -> BoundFunction:
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
        return BoundFunction(self._kernel.bind(rows, results), arrays)

    def _flatten(self, values: Sequence[Any]) -> tuple[tuple[int, ...], list[NDArray[Any]]]:
        """Bring the inputs to (N, size), or (1, size) where they have no batch of their own."""
        arrays = [np.asarray(value, dtype=np.float64) for value in values]
        batches, batch = batch_shapes(self.name, self.inputs, arrays)
        flat = []
        for variable, array, batch_shape in zip(self._signature.inputs, arrays, batches, strict=True):
            if math.prod(batch_shape) == 1:
                rows = array.reshape(1, variable.size)
            else:
                if batch_shape != batch:
                    array = np.broadcast_to(array, batch + variable.shape)
                rows = array.reshape(math.prod(batch), variable.size)
            flat.append(np.ascontiguousarray(rows))
        return batch, flat

    def __repr__(self) -> str:
        """Give name, target and count."""
        return f"<Compiled {self.name} ({self.target}): {self.count}>"


class BoundFunction:
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
def cores() -> int:
    """How many cores there are; asking the system takes longer than one sample of most programs."""
    return os.cpu_count() or 1


def _threads(number: int) -> int:
    return max(1, min(cores(), number // _SAMPLES_PER_THREAD))


# ---- A compiled physics function whose first input are free numbers of the robot


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
        return join_parts(self.prologue.program, self.body.program)

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
        values = match_arguments(self.name, self.inputs, arrays, named)
        shaped = [np.asarray(value, dtype=np.float64) for value in values]
        _, batch = batch_shapes(self.name, self.inputs, shaped)
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
            out = self.body(self.prologue(parameters, threads=threads), *others, threads=threads)
            for name, value in (out if isinstance(out, dict) else {next(iter(results)): out}).items():
                results[name][...] = value
            return
        step = max(1, _SAMPLES_PREPARED // math.prod(batch[1:]))
        for start in range(0, batch[0], step):
            part = slice(start, min(start + step, batch[0]))
            length = part.stop - part.start
            whole = length > 1 or len(batch) == 1
            self._fill(
                {name: value[part] if whole else value[start] for name, value in results.items()},
                _batch_part(parameters, 1, batch, part, whole),
                [
                    _batch_part(array, len(shape), batch, part, whole)
                    for array, shape in zip(others, list(self.inputs.values())[1:], strict=True)
                ],
                (length, *batch[1:]) if whole else batch[1:],
                threads,
            )

    def bind(self, **buffers: NDArray[Any]) -> BoundFunction:
        """Give a function without arguments that reads and writes fixed buffers, prologue included.

        Where the numbers stay, `function.body.bind(prepared=function.prologue(parameters), ...)` runs the
        body alone.

        Args:
            **buffers: arrays by input or output name, as for `Compiled.bind`.
        """
        match_arguments(self.name, {**self.inputs, **self.outputs}, (), buffers, partly=True)
        prologue_buffers = {name: buffer for name, buffer in buffers.items() if name in self.prologue.inputs}
        first = self.prologue.bind(**prologue_buffers)
        others = {name: buffer for name, buffer in buffers.items() if name not in prologue_buffers}
        second = self.body.bind(prepared=first[PREPARED], **others)

        def call() -> None:
            first.call()
            second.call()

        return BoundFunction(call, {**first.arrays, **second.arrays})

    def __repr__(self) -> str:
        """Give name, target and counts."""
        return f"<Parametric {self.name} ({self.target}): {self.count}; prologue {self.prologue.count}>"


def _batch_part(
    array: NDArray[Any], rank: int, batch: tuple[int, ...], part: slice, whole: bool
) -> NDArray[Any]:
    """The part of an array with batch dimensions that goes with a part of the leading one."""
    batch_rank = array.ndim - rank
    if batch_rank < len(batch):
        return array
    if array.shape[0] == 1:
        return array if whole else array[0]
    return array[part] if whole else array[part.start]
