"""The CMake file of a CUDA package."""

from __future__ import annotations

from nacelle.export.cuda.build import cmake_file


def test_cmake_file() -> None:
    text = cmake_file("robot", ["robot_a.cu", "robot_b.cu"])
    assert "project(robot CXX CUDA)" in text
    assert "  src/robot_a.cu\n  src/robot_b.cu\n" in text
    # Architectures are the user's, before the project would choose its own.
    assert text.index("CMAKE_CUDA_ARCHITECTURES 80 90") < text.index("project(")
    assert "SKIP_RETURN_CODE 77" in text
