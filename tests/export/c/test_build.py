"""How C packages are built: every source is named, warnings are errors, and make runs the self-test."""

from __future__ import annotations

from nacelle.export.c.build import cmake_file, make_file


def test_sources_and_headers_are_named() -> None:
    cmake = cmake_file("arm", ["arm_inverse.c", "arm_forward.c"], ["arm.h"])
    make = make_file("arm", ["arm_inverse.c", "arm_forward.c"])
    for name in ("arm_inverse", "arm_forward"):
        assert name in cmake
        assert name in make
    assert "arm.h" in cmake
    assert "cmake_minimum_required" in cmake
    # Rules of make begin with a tab, and -ffast-math would assume NaN away.
    assert "\n\t" in make
    commands = [line for line in (make + cmake).splitlines() if not line.lstrip().startswith("#")]
    assert not any("ffast-math" in line for line in commands)
    assert "fno-math-errno" in make
