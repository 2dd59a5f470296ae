"""Small linear systems against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.spatial.solve import solve


@pytest.mark.parametrize("shape", [(0,), (0, 3)])
@pytest.mark.parametrize("dtype", [float, object])
def test_a_system_without_unknowns(shape: tuple[int, ...], dtype: type) -> None:
    assert solve(np.zeros((0, 0), dtype=dtype), np.zeros(shape, dtype=dtype)).shape == shape
