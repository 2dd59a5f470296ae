"""Targets of an export from options by name, as the command line makes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nacelle.export.export import select_target

OF_TARGETS = ("precision", "batch", "controller", "plant", "parameters", "self_test")


def with_target(options: Mapping[str, Any]) -> dict[str, Any]:
    """Keyword arguments of `nacelle.export`, where those that belong to the target make one."""
    own = {name: value for name, value in options.items() if name in OF_TARGETS}
    others = {name: value for name, value in options.items() if name not in OF_TARGETS}
    return others | {"target": select_target(options.get("target", "c"), own)}
