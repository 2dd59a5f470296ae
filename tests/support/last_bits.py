"""Moving numbers by a few units in the last place, as other machines and libraries do."""

from __future__ import annotations

import dataclasses
import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from nacelle.model.robot import Robot
from nacelle.spatial import scalar
from nacelle.spatial.pose import Pose

Array = np.ndarray

# Functions of NumPy's linear algebra, of NumPy and of the C library whose last bits differ between machines.
LINEAR = ("svd", "lstsq", "inv", "solve", "eigh", "eigvalsh", "qr", "det", "norm", "pinv")
ELEMENTARY = ("sin", "cos", "arctan2", "tanh", "exp")
LIBRARY = ("sin", "cos", "atan2", "tanh", "exp", "asin", "acos")


def perturb_last_bits(values: Any, rng: np.random.Generator, ulps: int = 3) -> Array:
    """Floats moved by up to so many units in the last place; 0 and +-1 stay, as descriptions give them."""
    array = np.asarray(values, dtype=float)
    steps = rng.integers(-ulps, ulps + 1, array.shape)
    return np.where((array == 0.0) | (np.abs(array) == 1.0), array, array + steps * np.spacing(array))


def perturbed_robot(robot: Robot, seed: int, ulps: int = 3) -> Robot:
    """A robot with every number, of its reference pose too, moved on its own."""
    rng = np.random.default_rng(seed)
    other = robot.with_parameters(perturb_last_bits(robot.parameter_vector(), rng, ulps))
    reference = Pose(
        perturb_last_bits(robot.reference.R, rng, ulps), perturb_last_bits(robot.reference.p, rng, ulps)
    )
    return dataclasses.replace(other, reference=reference)


def _noisy(function: Callable[..., Any], rng: np.random.Generator, ulps: int) -> Callable[..., Any]:
    def noise(value: Any) -> Any:
        if isinstance(value, np.ndarray):
            if value.dtype != np.float64:
                return value
            return value + rng.integers(-ulps, ulps + 1, value.shape) * np.spacing(value)
        if isinstance(value, float):
            return type(value)(value + int(rng.integers(-ulps, ulps + 1)) * np.spacing(value))
        if isinstance(value, tuple):
            parts = [noise(part) for part in value]
            return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
        return value

    def call(*arguments: Any, **named: Any) -> Any:
        return noise(function(*arguments, **named))

    return call


def forget_everything() -> None:
    """Empty all caches of the package, so that robots are analysed anew."""
    for name, module in list(sys.modules.items()):
        if name == "nacelle" or name.startswith("nacelle."):
            for value in list(vars(module).values()):
                clear = getattr(value, "cache_clear", None)
                if clear is not None:
                    clear()


def noisy_libraries(monkeypatch: pytest.MonkeyPatch, seed: int, ulps: int = 3) -> None:
    """Let linear algebra and elementary functions of floats give results with other last bits."""
    rng = np.random.default_rng(seed)
    for name in LINEAR:
        monkeypatch.setattr(np.linalg, name, _noisy(getattr(np.linalg, name), rng, ulps))
    for name in ELEMENTARY:
        monkeypatch.setattr(np, name, _noisy(getattr(np, name), rng, ulps))
        monkeypatch.setitem(scalar._FUNCTIONS, name, _noisy(scalar._FUNCTIONS[name], rng, ulps))
    for name in LIBRARY:
        monkeypatch.setattr(math, name, _noisy(getattr(math, name), rng, ulps))
    forget_everything()
