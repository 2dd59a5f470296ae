"""What `nacelle --version` prints: versions of nacelle, of Python and of the packages that it uses."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

from nacelle.distribution import __version__

# What results may depend on; those that are not installed are said so.
PACKAGES = ("numpy", "scipy", "llvmlite", "clarabel", "matplotlib", "pin", "mujoco", "viser")


def version_lines() -> list[str]:
    """The first line is "nacelle VERSION"; the others are for reports of mistakes."""
    return [
        f"nacelle {__version__}",
        f"Python {platform.python_version()} ({platform.python_implementation()}), {platform.platform()}",
        ", ".join(f"{name} {_version(name)}" for name in PACKAGES),
    ]


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "missing"
