"""The target `cuda`: its place in the registry, still empty."""

from __future__ import annotations

from nacelle.emit.registry import TargetError

raise TargetError("the CUDA target is not there yet")
