"""The target `jit`: straight-line programs as native code of this machine, made by LLVM through llvmlite.

    object = compile_object(program)      # bytes, to be kept in a cache under host_key()
    kernel = load_object(object, program)
    kernel.run(inputs, outputs, threads=2)

Samples are evaluated W at a time, one in each lane of a vector. A product that is only added to something
is fused with the sum, a * b + c with one rounding, where the machine can: results then agree with the
reference to rounding, and are the same for a sample alone and in a batch. Otherwise every operation
rounds as IEEE 754 says, and NaN and infinities are never assumed away.

Signed zeros: on machines without a * b - c (NEON) values are kept as v or as -v (`signs`). A sum whose terms
cancel, or the sign of a zero, is +0 by the reference and may be -0 there. That is so only where no divisor
and no atan2 of the program depends on it, so infinities and angles are those of the reference, and never for
a sum that is itself a result; a result made of such zeros alone, their product for example, may be a zero of
the other sign. On other machines zeros have the signs of the reference.
"""

from __future__ import annotations

import array
import ctypes
import functools
import itertools
import os
import struct
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from llvmlite.binding import orcjit
from numpy.typing import NDArray

from nacelle.emit.jit import compiler, compiler_worker
from nacelle.emit.jit.entries import batch_entry, single_entry, single_entry_by_vector
from nacelle.emit.jit.instructions import attributes, evaluation_functions, tile_stride
from nacelle.emit.jit.plan import NativePlan, machine_style, plan
from nacelle.emit.machine import Machine, host_machine
from nacelle.emit.registry import Target, TargetError, register
from nacelle.program.program import Program

_ALIGNMENT = 64
_numbers = itertools.count()
_lock = threading.Lock()


@functools.cache
def _linker() -> orcjit.LLJIT:
    this = host_machine()
    machine = compiler_worker.target_machine(this.triple, this.cpu, this.features, 0)
    # JITLink loads four times as fast as the older linker.
    return orcjit.create_lljit_compiler(machine, use_jit_link=True, suppress_errors=True)


def parameter_types(parameters: str) -> list[Any]:
    """The types of a function's parameters, "ptr %x, i64 %n, double %h", for ctypes."""
    kinds = {"ptr": ctypes.c_void_p, "i64": ctypes.c_int64, "double": ctypes.c_double}
    return [kinds[parameter.split()[0]] for parameter in parameters.split(",")]


class Library:
    """An object in memory; its code lives as long as this does."""

    def __init__(self, image: bytes, symbols: Sequence[str]) -> None:
        builder = orcjit.JITLibraryBuilder().add_object_img(image)
        for symbol in symbols:
            builder.export_symbol(symbol)
        with _lock:
            try:
                self._tracker = builder.link(_linker(), f"nacelle{next(_numbers)}")
            except RuntimeError as error:
                raise TargetError(f"the object cannot be loaded: {error}") from error

    def address(self, symbol: str) -> int:
        """Give the address of a symbol."""
        return int(self._tracker[symbol])

    def function(self, symbol: str, parameters: str) -> Any:
        """Give a function without a result, by its parameters in LLVM's words."""
        return ctypes.CFUNCTYPE(None, *parameter_types(parameters))(self.address(symbol))

    def numbers(self, symbol: str, count: int) -> list[int]:
        """Read an array of integers."""
        return list((ctypes.c_int64 * count).from_address(self.address(symbol)))


def aligned_memory(size: int) -> NDArray[np.uint8]:
    """Make a block of memory that begins where a vector may."""
    raw = np.zeros(size + _ALIGNMENT, dtype=np.uint8)
    skip = -raw.ctypes.data % _ALIGNMENT
    return raw[skip : skip + size]


def address(numbers: NDArray[Any]) -> int:
    """Give the address of an array's numbers."""
    buffer: Any = numbers
    try:
        # Four times as fast as array.ctypes.data, but only for arrays that may be written and have entries.
        return ctypes.addressof(ctypes.c_char.from_buffer(buffer))
    except (TypeError, ValueError, BufferError):
        return int(numbers.ctypes.data)


def row_stride(table: NDArray[np.float64]) -> int:
    """Distance between two rows; 0 if all samples share one."""
    return 0 if len(table) == 1 else table.shape[1]


def run_in_threads(part: Callable[[int, int], None], count: int, width: int, threads: int) -> None:
    """Run the parts of the samples, from one to before another, in threads; within one of these in itself."""
    if threads <= 1 or count <= width or hasattr(_within, "pool"):
        part(0, count)
    else:
        list(_pool(threads).map(part, *zip(*split_samples(count, width, threads), strict=True)))


def run_in_blocks(part: Callable[[int, int], None], count: int, size: int, threads: int) -> None:
    """Run blocks of samples, which fit caches, in threads; what a block calls uses no others."""
    if count <= 2 * size or hasattr(_within, "pool"):
        part(0, count)
        return
    edges = [(first, min(first + size, count)) for first in range(0, count, size)]
    list(_pool(threads).map(part, *zip(*edges, strict=True)))


def split_samples(count: int, width: int, parts: int) -> list[tuple[int, int]]:
    """Split samples into nearly equal spans of whole vectors."""
    vectors = -(-count // width)
    parts = max(1, min(parts, vectors))
    edges = [min(count, width * (vectors * i // parts)) for i in range(parts + 1)]
    return [(a, b) for a, b in itertools.pairwise(edges) if a < b]


_within = threading.local()


@functools.cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, "nacelle", initializer=lambda: setattr(_within, "pool", threads))


# Threads do not live on in a forked process.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)


# ---- the target `jit`: straight-line programs as native code of this machine, made by LLVM through llvmlite


_FLOAT64 = np.dtype(np.float64)
# Changes when the entries or the layout of what they are given change.
_VERSION = 3
# Chunks of a given length up to which a program is not cut.
_WHOLE = 5
# Operations from which on one sample is evaluated as a vector of equal ones.
_LONG = 6000
# Operations from which on its two modules are compiled at once, by two processes.
_CONCURRENT_LENGTH = 500
_MAGIC = b"nacelle1"
_HEAD = struct.Struct("<8sQQ")


@dataclass(frozen=True)
class JitOptions:
    """How native code is made; None stands for what suits this machine.

    Attributes:
        width: samples in a vector, a power of two above one.
        fma: fuse products with sums.
        chunk: about how many operations one function has; up to five times as many are not cut.
        tiles: how many vectors of samples go through one function before the next, if a program is cut.
        level: of LLVM's optimisation, 0 to 3; above 1 the code was measured to be the same, and slower made.
        machine: another machine, whose code cannot be loaded here.
    """

    width: int | None = None
    fma: bool | None = None
    chunk: int | None = None
    tiles: int | None = None
    level: int = 1
    machine: Machine | None = None

    def target_machine(self) -> Machine:
        """The machine that the code is for."""
        return self.machine or host_machine()


DEFAULT = JitOptions()


def machine_key(options: JitOptions = DEFAULT) -> str:
    """Text that says for which machine, with which LLVM and how an object is made; part of a cache's key."""
    used, machine = compiler_worker.versions(), options.target_machine()
    return (
        f"jit {_VERSION}; llvmlite {used['llvmlite']}; LLVM {used['llvm']}; {compiler.LLVM_OPTIONS}; "
        f"{machine.triple} {machine.cpu} {machine.features}; {options}"
    )


def vector_width(options: JitOptions) -> int:
    """How many samples a vector holds."""
    return options.width or options.target_machine().width


def module_source(parts: Sequence[str], options: JitOptions, width: int | None = None) -> str:
    """Write a module of functions that use vectors of this width, or of the machine's."""
    head = f'target triple = "{options.target_machine().triple}"'
    width = width or vector_width(options)
    return "\n\n".join([head, *parts, f"attributes #0 = {{ {attributes(width)} }}", ""])


def module_texts(program: Program, options: JitOptions = DEFAULT) -> tuple[str, str]:
    """Write the two LLVM modules of a program: for a batch, and for one sample.

    A long program takes as long for one sample as for a vector of them, and seconds to compile: it has one
    module, and the second is empty.
    """
    program.check()
    width, layout = vector_width(options), make_plan(program, options)
    inputs = [variable.size for variable in program.inputs]
    outputs = [variable.size for variable in program.outputs]
    tiles = layout.style.tiles if len(layout.chunks) > 1 else 1
    batch = [
        info_constant([_VERSION, width, tiles, tile_stride(layout, width)]),
        evaluation_functions(layout, width, "v_"),
        batch_entry(layout, inputs, outputs, width, tiles),
    ]
    if layout.operations > _LONG:
        return module_source([*batch, single_entry_by_vector(layout, inputs, outputs, width)], options), ""
    single = [
        info_constant([_VERSION, tile_stride(layout, 1)]),
        evaluation_functions(layout, 1, "s_"),
        single_entry(layout, inputs, outputs),
    ]
    return module_source(batch, options), module_source(single, options, 1)


def info_constant(numbers: Sequence[int]) -> str:
    """Write what the loader must know: some integers."""
    entries = ", ".join(f"i64 {number}" for number in numbers)
    return f"@nacelle_info = constant [{len(numbers)} x i64] [{entries}]"


def module_text(program: Program, options: JitOptions = DEFAULT) -> str:
    """Write the LLVM modules of a program: the target's source."""
    batch, single = module_texts(program, options)
    return f"; a batch\n{batch}\n; one sample\n{single}"


def make_plan(program: Program, options: JitOptions = DEFAULT) -> NativePlan:
    """Lay out a program for the machine."""
    style = machine_style(options.target_machine())
    if options.fma is not None:
        style = replace(style, fma=options.fma)
    if options.chunk is not None:
        style = replace(style, chunk=options.chunk, whole=_WHOLE * options.chunk)
    if options.tiles is not None:
        style = replace(style, tiles=options.tiles)
    return plan(program, style)


def compile_text(text: str, options: JitOptions = DEFAULT) -> bytes:
    """Compile a module's text to an object.

    Raises:
        CompilerError: if LLVM cannot.
    """
    return compiler.default().compile(text, options.target_machine(), options.level)


def compile_object(program: Program, options: JitOptions = DEFAULT) -> bytes:
    """Compile a program to an object, as bytes that `load_object` takes on such a machine."""
    return compile_modules(lambda: module_texts(program, options), program, options)


def compile_modules(write: Callable[[], tuple[str, str]], program: Program, options: JitOptions) -> bytes:
    """Compile two modules of a program, of which the second may be empty, to bytes that `objects` takes.

    Args:
        write: writes the modules.
        program: the program, which decides by its length whether they are compiled at once.
        options: how code is made.
    """
    extra = len(program.code) > _CONCURRENT_LENGTH and (os.cpu_count() or 1) > 1
    if extra:
        # It is ready when the texts are written.
        compiler.default().second().start()
    texts = write()
    if extra and all(texts):
        batch, single = compiler.default().compile_both(*texts, options.target_machine(), options.level)
    else:
        batch, single = (compile_text(text, options) if text else b"" for text in texts)
    return _HEAD.pack(_MAGIC, len(batch), len(single)) + batch + single


def split_objects(image: bytes) -> tuple[bytes, bytes]:
    """Split what `compile_modules` has made: the object for a batch, and the one for one sample."""
    if len(image) < _HEAD.size:
        raise TargetError("this is no object of nacelle")
    magic, batch, single = _HEAD.unpack_from(image)
    if magic != _MAGIC or len(image) != _HEAD.size + batch + single:
        raise TargetError("this is no object of nacelle")
    return image[_HEAD.size : _HEAD.size + batch], image[_HEAD.size + batch :]


class JitKernel:
    """A program in native code; see `registry.Kernel`."""

    def __init__(self, image: bytes, program: Program) -> None:
        self.program = program
        batch, single = split_objects(image)
        self._batch_library = Library(
            batch, ("nacelle_info", "nacelle_batch", *(() if single else ("nacelle_single",)))
        )
        self._single_library = (
            Library(single, ("nacelle_info", "nacelle_single")) if single else self._batch_library
        )
        version, self.width, self._tiles, self._stride = self._batch_library.numbers("nacelle_info", 4)
        also, self._single_stride = (
            self._single_library.numbers("nacelle_info", 2) if single else (version, self._stride)
        )
        if not version == also == _VERSION:
            raise TargetError(f"the object is of version {version}, not {_VERSION}")
        pointer, integer = ctypes.c_void_p, ctypes.c_int64
        self._batch = ctypes.CFUNCTYPE(None, pointer, pointer, pointer, integer, integer, pointer)(
            self._batch_library.address("nacelle_batch")
        )
        self._single = ctypes.CFUNCTYPE(None, pointer)(self._single_library.address("nacelle_single"))
        self._work: deque[tuple[int, NDArray[np.uint8]]] = deque()
        variables = (*program.inputs, *program.outputs)
        self._sizes = [variable.size for variable in variables]
        self._names = [variable.name for variable in variables]

    def run(self, inputs: Sequence[NDArray[Any]], outputs: Sequence[NDArray[Any]], threads: int = 1) -> None:
        """Evaluate all samples into the outputs.

        Args:
            inputs: C-contiguous float64 arrays (N, size) or (1, size), one per variable.
            outputs: C-contiguous float64 arrays (N, size), one per variable.
            threads: how many threads share the samples.
        """
        count, rows, addresses = self._check(inputs, outputs)
        # Addresses of the inputs, of the outputs, and the distances of the inputs' rows.
        numbers = array.array("q", addresses)
        numbers.extend([0 if n == 1 else size for n, size in zip(rows, self._sizes, strict=False)])
        first, _ = numbers.buffer_info()
        last = first + 8 * len(inputs)
        steps = first + 8 * len(self._sizes)

        def part(start: int, stop: int) -> None:
            try:
                work_address, work = self._work.pop()
            except IndexError:
                work = aligned_memory(self._stride * self._tiles)
                work_address = address(work)
            self._batch(first, steps, last, start, stop, work_address)
            self._work.append((work_address, work))

        run_in_threads(part, count, self.width, threads)

    def bind(self, inputs: Sequence[NDArray[Any]], outputs: Sequence[NDArray[Any]]) -> Callable[[], None]:
        """Give a function without arguments that evaluates one sample in these very buffers."""
        count, _, addresses = self._check(inputs, outputs)
        if count != 1:
            raise ValueError("bind takes arrays of one row")
        tile = aligned_memory(self._single_stride)
        call = array.array("q", [address(tile), *addresses])
        # The function keeps alive what it was given.
        bound = functools.partial(self._single, ctypes.c_void_p(call.buffer_info()[0]))
        vars(bound)["keep"] = (self, tile, call, inputs, outputs)
        return bound

    def _check(
        self, inputs: Sequence[NDArray[Any]], outputs: Sequence[NDArray[Any]]
    ) -> tuple[int, list[int], list[int]]:
        """Check shapes, since native code would read past the end.

        Returns:
            The number of samples, the rows of every array, and the addresses of every array.
        """
        if len(inputs) != len(self.program.inputs) or len(outputs) != len(self.program.outputs):
            raise ValueError(
                f"{self.program.name} takes {len(self.program.inputs)} arrays and fills "
                f"{len(self.program.outputs)}, not {len(inputs)} and {len(outputs)}"
            )
        rows: list[int] = []
        addresses: list[int] = []
        for size, numbers in zip(self._sizes, (*inputs, *outputs), strict=True):
            shape = numbers.shape
            if (
                len(shape) != 2
                or shape[1] != size
                or numbers.dtype != _FLOAT64
                or not numbers.flags.c_contiguous
            ):
                name = self._names[len(rows)]
                raise ValueError(
                    f"{name} must be a C-contiguous float64 array (N, {size}), not {numbers.dtype} {shape}"
                )
            rows.append(shape[0])
            addresses.append(address(numbers))
        count = rows[-1] if outputs else max(rows, default=0)
        if any(n not in (1, count) for n in rows[: len(inputs)]) or any(
            n != count for n in rows[len(inputs) :]
        ):
            raise ValueError(f"{self.program.name}: the arrays have different numbers of rows, {rows}")
        if not all(numbers.flags.writeable for numbers in outputs):
            raise ValueError(f"{self.program.name}: an output is read-only")
        return count, rows, addresses


def load_object(image: bytes, program: Program) -> JitKernel:
    """Load an object that `compile_object` has made of this program on such a machine.

    Raises:
        TargetError: if the bytes are no such object.
    """
    return JitKernel(image, program)


def compile_kernel(program: Program, options: JitOptions = DEFAULT) -> JitKernel:
    """Compile and load a program."""
    return load_object(compile_object(program, options), program)


register(Target("jit", module_text, compile_kernel))
