"""How a CUDA package is built: its CMake file."""

from __future__ import annotations

from collections.abc import Sequence

from nacelle.export.c.build import LIBRARY

_CMAKE = (
    """\
# {name}: a static library of CUDA kernels and its self-test.
cmake_minimum_required(VERSION 3.18)
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  # Ampere and Hopper, and what the driver makes of the latter's for newer ones.
  set(CMAKE_CUDA_ARCHITECTURES 80 90)
endif()
project({name} CXX CUDA)

"""
    + LIBRARY
    + """\
set_target_properties({name} PROPERTIES
  CUDA_STANDARD 17
  CUDA_STANDARD_REQUIRED ON
  POSITION_INDEPENDENT_CODE ON
)

install(TARGETS {name} ARCHIVE DESTINATION lib)
install(FILES include/{name}.h DESTINATION include)

include(CTest)
if(BUILD_TESTING)
  add_executable({name}_self_test test/self_test.cu)
  target_link_libraries({name}_self_test PRIVATE {name})
  add_test(NAME {name}_self_test COMMAND {name}_self_test)
  # Without a device there is nothing to test.
  set_tests_properties({name}_self_test PROPERTIES SKIP_RETURN_CODE 77)
endif()
"""
)


def cmake_file(name: str, sources: Sequence[str]) -> str:
    """Write CMakeLists.txt."""
    return _CMAKE.format(name=name, sources="\n".join(f"  src/{file}" for file in sources))
