"""How a C package is built: its CMake file and its Makefile."""

from __future__ import annotations

from collections.abc import Sequence

LIBRARY = """\
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release)
endif()

add_library({name} STATIC
{sources}
)
target_include_directories({name} PUBLIC
  $<BUILD_INTERFACE:${{CMAKE_CURRENT_SOURCE_DIR}}/include>
  $<INSTALL_INTERFACE:include>
)
"""
"""What CMake needs of the library of any package."""

_CMAKE = (
    """\
# {name}: a static library and its self-test.
cmake_minimum_required(VERSION 3.10)
project({name} C)

"""
    + LIBRARY
    + """\
set_target_properties({name} PROPERTIES
  C_STANDARD 99
  C_STANDARD_REQUIRED ON
  C_EXTENSIONS OFF
)
# Roots and choices as instructions. Never -ffast-math: NaN must pass through.
if(CMAKE_C_COMPILER_ID MATCHES "GNU|Clang")
  target_compile_options({name} PRIVATE -fno-math-errno -fno-trapping-math)
endif()
if(UNIX)
  target_link_libraries({name} PUBLIC m)
endif()

install(TARGETS {name} ARCHIVE DESTINATION lib)
install(FILES
{headers}
  DESTINATION include
)

include(CTest)
if(BUILD_TESTING)
  add_executable({name}_self_test test/self_test.c)
  set_target_properties({name}_self_test PROPERTIES
    C_STANDARD 99
    C_STANDARD_REQUIRED ON
    C_EXTENSIONS OFF
  )
  target_link_libraries({name}_self_test PRIVATE {name})
  add_test(NAME {name}_self_test COMMAND {name}_self_test)
endif()
"""
)

_MAKE = """\
# {name}: a static library and its self-test. CC, AR and CFLAGS are yours to choose.
CC ?= cc
AR ?= ar
CFLAGS ?= -O3
REQUIRED := -std=c99 -fno-math-errno -fno-trapping-math -Iinclude

OBJECTS := \\
{objects}

.PHONY: all test clean

all: build/lib{name}.a

test: build/self_test
\t./build/self_test

build/self_test: test/self_test.c build/lib{name}.a
\t$(CC) $(CFLAGS) $(REQUIRED) $^ -lm -o $@

build/lib{name}.a: $(OBJECTS)
\t$(AR) rcs $@ $^

build/%.o: src/%.c $(wildcard include/*.h)
\t@mkdir -p build
\t$(CC) $(CFLAGS) $(REQUIRED) -c $< -o $@

clean:
\trm -rf build
"""


def cmake_file(name: str, sources: Sequence[str], headers: Sequence[str]) -> str:
    """Write CMakeLists.txt."""
    return _CMAKE.format(
        name=name,
        sources="\n".join(f"  src/{file}" for file in sources),
        headers="\n".join(f"  include/{file}" for file in (f"{name}.h", *headers)),
    )


def make_file(name: str, sources: Sequence[str]) -> str:
    """Write the Makefile."""
    objects = [f"\tbuild/{file.removesuffix('.c')}.o" for file in sources]
    return _MAKE.format(name=name, objects=" \\\n".join(objects))
