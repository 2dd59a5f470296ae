"""Vectors with named parts: the memory of a controller, and its gains."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from nacelle.errors import KinematicsError, did_you_mean
from nacelle.spatial.scalar import Array, pack


class Fields:
    """Names and sizes of the parts of a vector, in their order.

    Args:
        **sizes: how many numbers each part has.
    """

    def __init__(self, **sizes: int) -> None:
        self.sizes = sizes

    @property
    def size(self) -> int:
        """Numbers of the whole vector."""
        return sum(self.sizes.values())

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parts."""
        return tuple(self.sizes)

    def place(self, name: str) -> slice:
        """Where a part is.

        Raises:
            KinematicsError: if there is none of that name.
        """
        start = 0
        for own, size in self.sizes.items():
            if own == name:
                return slice(start, start + size)
            start += size
        raise KinematicsError(f"nothing is called {name!r}; {did_you_mean(name, self.names)}")

    def split(self, vector: Array) -> dict[str, Array]:
        """The parts of a vector (..., size), by name."""
        return {name: vector[..., self.place(name)] for name in self.sizes}

    def join(self, parts: Mapping[str, Any]) -> Array:
        """A vector (size,) of parts; a single number stands for all of its part. Any scalar.

        Raises:
            KinematicsError: if a part is missing, unnamed, or of another size.
        """
        for name in parts:
            self.place(name)
        entries: list[Any] = []
        for name, size in self.sizes.items():
            if name not in parts:
                raise KinematicsError(f"{name!r} is missing: {size} numbers")
            part = np.asarray(parts[name])
            if part.shape not in ((), (size,)):
                raise KinematicsError(f"{name!r} has {size} numbers, got the shape {part.shape}")
            entries += [part[()]] * size if part.shape == () else list(part)
        return pack(entries) if entries else np.zeros(0)
