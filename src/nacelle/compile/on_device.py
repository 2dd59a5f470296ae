"""Compiled physics functions that run on a CUDA device, on arrays that lie there.

Arguments and results have the shapes of the CPU's functions, (..., *shape) with leading batch dimensions. In
memory the N values of one entry, one for each state, lie side by side (structure of arrays). Such an array is
made as `cupy.empty((*shape, N))` and passed with its last axis moved to the front. Arrays in another order
are copied into this one first.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

import numpy as np

from nacelle.compile.compiled import (
    BoundFunction,
    Compiled,
    Parametric,
    batch_shapes,
    match_arguments,
    output_arrays,
)
from nacelle.compile.packed import pack_entry, package_hash
from nacelle.emit.cuda.device import LoadedKernels, cupy, device_array, run_on_device
from nacelle.emit.cuda.plan import CudaOptions
from nacelle.emit.cuda.target import Kernels, Launch, kernels
from nacelle.emit.store import Store
from nacelle.errors import CompileError
from nacelle.program.program import Program, Variable

# Rows of results begin at multiples of this many bytes, so that a next program can load them by tiles.
_ALIGNED = 16


class _Launch(NamedTuple):
    """Kernels on arrays of the device.

    Attributes:
        results: arrays of the results by name.
        run: computes them.
        copied: inputs that the kernels read from a copy.
    """

    results: dict[str, Any]
    run: Callable[[], None]
    copied: tuple[str, ...]


class DeviceFunction(Compiled):
    """A compiled physics function on a device.

    Attributes:
        target: "cuda".
        inputs: names and shapes of its arguments.
        outputs: names and shapes of its results.
        options: how CUDA is written.
    """

    def __init__(self, program: Program, options: CudaOptions, store: Store | None = None) -> None:
        """Keep a program; its kernels are compiled at the first call.

        Args:
            program: the program.
            options: how CUDA is written.
            store: the cache of the kernels' text; None for no cache.
        """
        cupy()
        super().__init__(program, None, "cuda")
        self.options, self._store = options, store
        self._loaded: dict[tuple[str, ...], LoadedKernels] = {}

    def __call__(self, *arrays: Any, out: Any = None, threads: int | None = None, **named: Any) -> Any:
        """Evaluate on arrays of the device with leading batch dimensions (..., *shape), which broadcast.

        Args:
            *arrays: the inputs in order, CuPy arrays or anything with DLPack; or by name.
            out: where the results go: an array, or a dict of arrays by name, as this function returns them;
                made anew if None.
            threads: ignored; accepted as the CPU's functions have it.
            **named: inputs by name.

        Returns:
            One CuPy array (..., *shape) if the function has one output, else a dict of arrays by name.

        Raises:
            DeviceError: if an array is not on the device or has another type, or memory does not suffice.
            CompileError: if inputs do not fit the function, or `out` has its states not side by side.
        """
        del threads
        launch = self._prepare_launch(match_arguments(self.name, self.inputs, arrays, named), out)
        launch.run()
        return next(iter(launch.results.values())) if len(launch.results) == 1 else launch.results

    def _prepare_launch(self, values: Sequence[Any], out: Any) -> _Launch:
        """The kernels on arrays of the device."""
        real = self.options.real
        arrays = [
            (variable, device_array(value, variable.name, real))
            for variable, value in zip(self._signature.inputs, values, strict=True)
            if variable.size
        ]
        shapes = {variable.name: variable.shape for variable, _ in arrays}
        batches, batch = batch_shapes(self.name, shapes, [array for _, array in arrays])
        count = math.prod(batch)
        shared = [count > 1 and math.prod(batch) == 1 for batch in batches]
        results = self._result_arrays(batch, out)
        if not count:
            return _Launch(results, lambda: None, ())
        passed: list[tuple[Any, str]] = []
        for (variable, array), is_shared in zip(arrays, shared, strict=True):
            if is_shared:
                passed.append((_contiguous_copy(array.reshape(variable.size)), "shared"))
            else:
                passed.append((_input_rows(variable, array, batch), "own"))
        copied = tuple(
            variable.name
            for (variable, array), (rows, _) in zip(arrays, passed, strict=True)
            if rows.data.ptr != array.data.ptr
        )
        names = tuple(v.name for (v, _), is_shared in zip(arrays, shared, strict=True) if is_shared)
        outputs = [v for v in self._signature.outputs if v.size]
        passed += [(_output_rows(v, results[v.name], batch), "written") for v in outputs]
        return _Launch(results, self.load(names).prepare(passed, count), copied)

    def load(self, shared: tuple[str, ...] = ()) -> LoadedKernels:
        """The kernels on the device for calls in which all states share the inputs named `shared`."""
        if shared not in self._loaded:
            kernel_texts = load_or_write_kernels(self.program, self.options, shared, self._store)
            self._loaded[shared] = LoadedKernels(kernel_texts, self.options, self.name)
        return self._loaded[shared]

    def _result_arrays(self, batch: tuple[int, ...], out: Any) -> dict[str, Any]:
        """The arrays of the results by name: those given as `out`, or new ones."""
        if out is None:
            kind = np.float64 if self.options.real == "double" else np.float32
            return {v.name: _empty(v, batch, kind, self.name) for v in self._signature.outputs}
        real = self.options.real
        return output_arrays(
            self.name, self.outputs, batch, out, lambda name, array: device_array(array, name, real)
        )

    def bind(self, **buffers: Any) -> BoundFunction:
        """Give a function without arguments that launches the kernels on fixed arrays of the device.

        Args:
            **buffers: all inputs by name, with leading batch dimensions, the states of an entry side by
                side; results by name, if they are not to be made.

        Raises:
            CompileError: if a buffer would be copied, as then later changes of it would not be seen.
        """
        names = [name for name in buffers if name in self.outputs]
        inputs = {name: array for name, array in buffers.items() if name not in names}
        values = match_arguments(self.name, self.inputs, (), inputs)
        out = {name: buffers[name] for name in names} or None
        launch = self._prepare_launch(values, out)
        if launch.copied:
            raise CompileError(
                f"the buffer {launch.copied[0]!r} would be copied: its states must be side by side, made as "
                "cupy.empty((*shape, N)) with the last axis moved to the front, and as many as those of the "
                "other inputs, or one without gaps"
            )
        return BoundFunction(launch.run, {**inputs, **launch.results})


class DeviceParametric(Parametric):
    """A compiled physics function on a device whose first input holds free parameters of the robot."""

    prologue: DeviceFunction
    body: DeviceFunction

    def __call__(self, *arrays: Any, out: Any = None, threads: int | None = None, **named: Any) -> Any:
        """Evaluate on arrays of the device; the prologue runs over the parameters' own batch alone.

        Args:
            *arrays: the parameters, then the other inputs in order; or by name.
            out: where the results go, as for `DeviceFunction`.
            threads: ignored.
            **named: inputs by name.
        """
        del threads
        values = match_arguments(self.name, self.inputs, arrays, named)
        return self.body(self.prologue(values[0]), *values[1:], out=out)


def load_or_write_kernels(
    program: Program, options: CudaOptions, shared: tuple[str, ...], store: Store | None
) -> Kernels:
    """The kernels of a program, from the cache or written anew.

    The search for an order of the operations takes seconds, so that the text is worth keeping.
    """
    import hashlib

    digest = hashlib.sha256(pack_entry(program, b"")).hexdigest()
    key = json.dumps(["cuda kernels", digest, asdict(options), shared, package_hash()])
    payload = None if store is None else store.get(key)
    if payload is not None:
        try:
            data = json.loads(payload)
            tiled = None if data["tiled"] is None else Launch(**data["tiled"])
            return Kernels(data["text"], Launch(**data["plain"]), tiled)
        except (ValueError, KeyError, TypeError):
            pass  # a damaged entry: the kernels are written anew
    result = kernels(program, options, shared)
    if store is not None:
        store.put(key, json.dumps(asdict(result)).encode())
    return result


def _contiguous_copy(array: Any) -> Any:
    return run_on_device("a copy of an input", lambda: cupy().ascontiguousarray(array))


def _input_rows(variable: Variable, array: Any, batch: tuple[int, ...]) -> Any:
    """The rows (size, N) of an input, each row contiguous; a view where the array is so already."""
    module, count = cupy(), math.prod(batch)

    def make() -> Any:
        whole = (
            module.broadcast_to(array, batch + variable.shape)
            if array.shape != batch + variable.shape
            else array
        )
        rows = whole.reshape(count, variable.size).T
        return rows if _has_contiguous_rows(rows) else module.ascontiguousarray(rows)

    return run_on_device(f"the rows of {variable.name!r}", make)


def _has_contiguous_rows(rows: Any) -> bool:
    """Whether each row of an array (size, N) is contiguous and the rows do not overlap."""
    size, count = rows.shape
    contiguous = count == 1 or rows.strides[1] == rows.itemsize
    return bool(contiguous and (size == 1 or rows.strides[0] >= count * rows.itemsize))


def _empty(variable: Variable, batch: tuple[int, ...], kind: Any, function: str) -> Any:
    """An empty array (..., *shape) on the device whose rows, one an entry, begin at multiples of 16 bytes."""
    count = math.prod(batch)
    step = _ALIGNED // np.dtype(kind).itemsize
    length = -(-max(count, 1) // step) * step
    label = f"the results of {function} ({variable.size * length * np.dtype(kind).itemsize / 1e9:.2g} GB)"
    rows = run_on_device(label, lambda: cupy().empty((variable.size, length), dtype=kind))
    return rows[:, :count].T.reshape(batch + variable.shape)


def _output_rows(variable: Variable, array: Any, batch: tuple[int, ...]) -> Any:
    """The rows (size, N) of a result, as a view: the kernel writes into the array that is returned."""
    rows = array.reshape(math.prod(batch), variable.size).T
    if not _has_contiguous_rows(rows) or rows.data.ptr != array.data.ptr:
        raise CompileError(
            f"out {variable.name!r} must have the states of an entry side by side: make it as "
            "cupy.empty((*shape, N)) and move its last axis to the front"
        )
    return rows
