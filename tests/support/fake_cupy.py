"""A CuPy whose device is this machine: arrays are NumPy's, kernels run through `cuda_host`."""

from __future__ import annotations

import ctypes
import types
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import numpy as np

from support import cuda_host


class DeviceNdarray(np.ndarray):
    """An array that is taken to be on the device."""

    @property
    def data(self) -> Any:
        return types.SimpleNamespace(ptr=self.ctypes.data)


def _device_array(array: Any) -> Any:
    return np.asarray(array).view(DeviceNdarray)


class _DeviceError(Exception):
    pass


class OutOfMemoryError(_DeviceError):
    pass


class CompileError(_DeviceError):
    pass


class CUDARuntimeError(_DeviceError):
    pass


class CUDADriverError(_DeviceError):
    pass


class _Function:
    num_regs, local_size_bytes = 100, 0

    def __init__(self, code: str, name: str) -> None:
        self.code, self.name, self.launches = code, name, []
        self.max_dynamic_shared_size_bytes = 0

    def __call__(self, grid: Any, block: Any, arguments: Any, shared_mem: int = 0) -> None:
        assert block == (cuda_host.THREADS,)
        assert shared_mem <= max(self.max_dynamic_shared_size_bytes, 0)
        cuda_host.call(self.code, self.name, grid[0], tuple(_ctypes_argument(a) for a in arguments))


def _ctypes_argument(value: Any) -> Any:
    if isinstance(value, DeviceNdarray):
        return ctypes.c_void_p(value.ctypes.data)
    kinds = {"uint64": ctypes.c_uint64, "int64": ctypes.c_int64, "int32": ctypes.c_int32}
    kinds |= {"float64": ctypes.c_double, "float32": ctypes.c_float}
    return kinds[str(value.dtype)](value.item())


class _RawModule:
    def __init__(self, code: str, options: Any, backend: str) -> None:
        assert backend == "nvrtc"
        self.code = code

    def get_function(self, name: str) -> _Function:
        return _Function(self.code, name)


def fake_module(*, devices: int = 1, failure: Exception | None = None, memory: float = np.inf) -> Any:
    """A module in CuPy's place.

    Args:
        devices: how many there are.
        failure: what asking for them raises.
        memory: bytes of the largest array that can be made.
    """

    def count() -> int:
        if failure is not None:
            raise failure
        return devices

    def empty(shape: Any, dtype: Any = float) -> Any:
        if np.prod(shape) * np.dtype(dtype).itemsize > memory:
            raise OutOfMemoryError("out of memory")
        return _device_array(np.empty(shape, dtype))

    def full(shape: Any, value: Any, dtype: Any = float) -> Any:
        return _device_array(np.full(shape, value, dtype))

    def broadcast_to(array: Any, shape: Any) -> Any:
        return _device_array(np.broadcast_to(array, shape))

    cuda = types.SimpleNamespace(
        runtime=types.SimpleNamespace(
            getDeviceCount=count, memGetInfo=lambda: (10**9, 2 * 10**9), CUDARuntimeError=CUDARuntimeError
        ),
        driver=types.SimpleNamespace(CUDADriverError=CUDADriverError),
        memory=types.SimpleNamespace(OutOfMemoryError=OutOfMemoryError),
        compiler=types.SimpleNamespace(CompileException=CompileError),
        Device=lambda: types.SimpleNamespace(attributes={"MultiProcessorCount": 2}, compute_capability="86"),
    )
    return types.SimpleNamespace(
        ndarray=DeviceNdarray,
        cuda=cuda,
        RawModule=_RawModule,
        empty=empty,
        full=full,
        broadcast_to=broadcast_to,
        asarray=lambda a, dtype=None: _device_array(np.asarray(a, dtype=dtype)),
        ascontiguousarray=lambda a: _device_array(np.ascontiguousarray(a)),
        concatenate=lambda arrays, axis=0: _device_array(np.concatenate(arrays, axis)),
        moveaxis=lambda a, x, y: _device_array(np.moveaxis(a, x, y)),
        where=lambda c, a, b: _device_array(np.where(c, a, b)),
        from_dlpack=lambda a: _device_array(a.array),
    )


@contextmanager
def in_place(module: Any) -> Iterator[Any]:
    """CuPy replaced by a module; None if there is none."""
    from nacelle.emit.cuda import device

    with mock.patch.dict("sys.modules", {"cupy": module}):
        device.cupy.cache_clear()
        device._module.cache_clear()
        try:
            yield module
        finally:
            device.cupy.cache_clear()
            device._module.cache_clear()
