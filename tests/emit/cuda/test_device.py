"""Errors without a device, and arrays of the wrong kind; CuPy is replaced."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.emit.cuda import device
from nacelle.emit.cuda.device import LoadedKernels, cupy, device_array, on_device
from nacelle.emit.cuda.kernel import kernels
from nacelle.emit.cuda.plan import CudaOptions
from nacelle.errors import CompileError, DeviceError
from support import fake_cupy
from support.random_programs import random_program


def test_without_cupy() -> None:
    with (
        fake_cupy.in_place(None),
        pytest.raises(DeviceError, match=r"needs CuPy \(pip install 'nacelle\[gpu\]'\).*target='jit'"),
    ):
        cupy()


@pytest.mark.parametrize(
    ("made", "words"),
    [
        ({"devices": 0}, "there is no CUDA device"),
        ({"failure": fake_cupy.CUDARuntimeError("cudaErrorNoDevice: no CUDA-capable device")}, "there is no"),
        ({"failure": fake_cupy.CUDARuntimeError("cudaErrorInsufficientDriver: ...")}, "driver .* update it"),
        ({"failure": fake_cupy.CUDARuntimeError("cudaErrorSystemNotReady")}, "no CUDA device can be used"),
    ],
)
def test_without_a_device(made: dict[str, object], words: str) -> None:
    with fake_cupy.in_place(fake_cupy.fake(**made)), pytest.raises(DeviceError, match=f"{words}.*jit"):
        cupy()


def test_failures_say_what_else_there_is() -> None:
    with fake_cupy.in_place(fake_cupy.fake(memory=1000)) as module:
        with pytest.raises(DeviceError, match=r"does not suffice for it.*1.0 of 2.0 GB.*fewer states.*jit"):
            on_device("it", lambda: module.empty(1000))

        def fail(error: Exception) -> None:
            raise error

        for error in (fake_cupy.CompileError("x"), fake_cupy.CUDADriverError("y")):
            with pytest.raises(DeviceError, match=r"it: .*jit"):
                on_device("it", lambda error=error: fail(error))


def test_arrays_of_the_wrong_kind() -> None:
    class Foreign:
        """An array of another package, by DLPack."""

        def __init__(self, kind: int) -> None:
            self.kind, self.array = kind, np.ones(3)

        def __dlpack_device__(self) -> tuple[int, int]:
            return self.kind, 0

    with fake_cupy.in_place(fake_cupy.fake()) as module:
        for wrong in (np.ones(3), [1.0, 2.0], Foreign(1)):
            with pytest.raises(DeviceError, match=r"'x' is .* in the processor's memory.*cupy.asarray.*jit"):
                device_array(wrong, "x", "double")
        with pytest.raises(DeviceError, match=r"float32, the program computes in float64.*precision='float'"):
            device_array(module.asarray(np.ones(3, np.float32)), "x", "double")
        assert np.array_equal(device_array(Foreign(2), "x", "double"), np.ones(3))
    assert issubclass(DeviceError, CompileError)


def test_tiles_need_aligned_rows() -> None:
    with fake_cupy.in_place(fake_cupy.fake()) as module:
        rows = module.asarray(np.zeros((3, 4)))
        assert device._is_aligned([(rows, "own")]) == (rows.ctypes.data % 16 == 0)
        assert not device._is_aligned([(module.asarray(np.zeros((3, 5))), "own")])
        assert device._is_aligned([(module.asarray(np.zeros(3)), "shared")])
        loaded = LoadedKernels(kernels(random_program(3)), CudaOptions(), "it")
        assert loaded.used == {"plain": {"registers": 100, "spilled": 0}}  # no tiles before capability 9
