"""What a report of a mistake needs to say."""

from __future__ import annotations

import platform
from importlib.metadata import version

from nacelle.cli.versions import version_lines
from support.command import run


def test_versions_are_those_of_what_is_installed() -> None:
    first, python, packages = version_lines()
    assert first == f"nacelle {version('nacelle')}"
    assert platform.python_version() in python
    assert f"numpy {version('numpy')}," in packages
    assert run("--version").output.splitlines() == [first, python, packages]
