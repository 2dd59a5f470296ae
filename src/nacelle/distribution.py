"""What the package is called where it is installed from, and its version.

The distribution is `nacelle-robotics`, since `nacelle` is somebody else's on the package index. Its version
stands in pyproject.toml alone.
"""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

DISTRIBUTION = "nacelle-robotics"

try:
    __version__ = version(DISTRIBUTION)
except PackageNotFoundError:  # sources that were never installed
    __version__ = "0+unknown"


def install_command(extra: str) -> str:
    """The command that installs the package with an extra."""
    return f"pip install '{DISTRIBUTION}[{extra}]'"
