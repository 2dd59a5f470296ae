"""Tensor maps: where the rows of an array are, as the copy engine takes it (compute capability 9).

They are made by the driver's cuTensorMapEncodeTiled, which CuPy does not have, from the library that CuPy has
loaded already.
"""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from typing import Any

import numpy as np

from nacelle.errors import DeviceError

# CUtensorMapDataType.
_TYPES = {"float32": 7, "float64": 8}
_DESCRIPTOR = np.dtype([("words", "<u8", 16)])


@cache
def _encoder() -> Any:
    """The function of the driver; None if it has none."""
    name = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
    try:
        return ctypes.CDLL(name).cuTensorMapEncodeTiled
    except (OSError, AttributeError):
        return None


def has_tensor_maps() -> bool:
    """Whether the driver can make tensor maps (CUDA 12 and later)."""
    return _encoder() is not None


def tensor_map(array: Any, across: int) -> Any:
    """The map of rows (size, count) in boxes of all rows and `across` columns, as an argument of a kernel."""
    size, count = array.shape
    # The driver wants 64 bytes of alignment.
    room = np.zeros(128 + 64, dtype=np.uint8)
    offset = -room.ctypes.data % 64
    result = room[offset : offset + 128]
    code = _encoder()(
        ctypes.c_void_p(result.ctypes.data),
        ctypes.c_int(_TYPES[str(array.dtype)]),
        ctypes.c_uint32(2),
        ctypes.c_void_p(array.data.ptr),
        (ctypes.c_uint64 * 2)(count, size),
        (ctypes.c_uint64 * 1)(array.strides[0]),
        (ctypes.c_uint32 * 2)(across, size),
        (ctypes.c_uint32 * 2)(1, 1),
        ctypes.c_int(0),
        ctypes.c_int(0),
        ctypes.c_int(0),
        ctypes.c_int(0),
    )
    if code:
        raise DeviceError(f"the driver makes no tensor map of rows {array.shape}: error {code}")
    return result.view(_DESCRIPTOR)
