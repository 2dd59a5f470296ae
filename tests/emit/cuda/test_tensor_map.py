"""Tensor maps as the driver is asked for them; the driver is replaced."""

from __future__ import annotations

import ctypes
from typing import Any
from unittest import mock

import numpy as np
import pytest

from nacelle.emit.cuda import tensor_map
from nacelle.errors import DeviceError
from support.fake_cupy import fake


def test_what_the_driver_is_given() -> None:
    given: list[Any] = []

    def encode(*arguments: Any) -> int:
        given[:] = arguments
        ctypes.memset(arguments[0], 7, 128)
        return 0

    rows = fake().asarray(np.zeros((9, 300)))[:, :260]
    with mock.patch.object(tensor_map, "_encode", return_value=encode):
        assert tensor_map.has_tensor_maps()
        made = tensor_map.tensor_map(rows, 128)
    place, kind, rank, address, sizes, strides, box, steps = given[:8]
    assert place.value % 64 == 0
    assert (kind.value, rank.value, address.value) == (8, 2, rows.ctypes.data)
    assert list(sizes) == [260, 9]
    assert list(strides) == [300 * 8]
    assert list(box) == [128, 9]
    assert list(steps) == [1, 1]
    # One number of 128 bytes, as CuPy passes structures.
    assert (made.size, made.nbytes) == (1, 128)
    assert np.all(made["words"] == 0x0707070707070707)


def test_a_refusal() -> None:
    rows = fake().asarray(np.zeros((2, 8)))
    with (
        mock.patch.object(tensor_map, "_encode", return_value=lambda *arguments: 1),
        pytest.raises(DeviceError, match="error 1"),
    ):
        tensor_map.tensor_map(rows, 128)
