"""Native code in memory, and what its callers share: memory for its tiles, addresses, threads."""

from __future__ import annotations

import ctypes
import functools
import itertools
import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from llvmlite.binding import orcjit
from numpy.typing import NDArray

from nacelle.emit.jit import compiler_worker
from nacelle.emit.machine import host
from nacelle.emit.registry import TargetError

_ALIGNMENT = 64
_numbers = itertools.count()
_lock = threading.Lock()


@functools.cache
def _linker() -> orcjit.LLJIT:
    this = host()
    machine = compiler_worker.target_machine(this.triple, this.cpu, this.features, 0)
    # JITLink loads four times as fast as the older linker.
    return orcjit.create_lljit_compiler(machine, use_jit_link=True, suppress_errors=True)


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


def step_of(table: NDArray[np.float64]) -> int:
    """Distance between two rows; 0 if all samples share one."""
    return 0 if len(table) == 1 else table.shape[1]


def share(part: Callable[[int, int], None], count: int, width: int, threads: int) -> None:
    """Run the parts of the samples, from one to before another, in threads."""
    if threads <= 1 or count <= width:
        part(0, count)
    else:
        list(_pool(threads).map(part, *zip(*spans_of(count, width, threads), strict=True)))


def spans_of(count: int, width: int, parts: int) -> list[tuple[int, int]]:
    """Split samples into nearly equal spans of whole vectors."""
    vectors = -(-count // width)
    parts = max(1, min(parts, vectors))
    edges = [min(count, width * (vectors * i // parts)) for i in range(parts + 1)]
    return [(a, b) for a, b in itertools.pairwise(edges) if a < b]


@functools.cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="nacelle")


# Threads do not live on in a forked process.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)
