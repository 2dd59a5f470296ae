"""The self-test of a package, compiled and run before the package is given away.

C is compiled as it is, CUDA as C++ for the host, without optimisation, which is quick. Where there is no
compiler, the package says that its self-test has not been run yet.

So a CUDA package is one source of C++, its kernels and its self-test run by the host, thread after thread.

The kernels are those of the package, statement by statement, with the host's part of their header. Tiled
kernels need the device's copy engine and are left empty: the host says that it has none.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nacelle.emit.cuda.header import HOST
from nacelle.errors import ExportError
from nacelle.export.compiler import Compiler, TimeLimitError, find_compiler, run_with_timeout
from nacelle.progress import task

# ---- CUDA as one source of C++


SOURCE = "self_test.cpp"
"""What the source is called."""

# What functions and the self-test use of CUDA's run time.
_RUNTIME = """\
#include <cstdlib>
#include <initializer_list>
typedef int cudaError_t;
typedef void *cudaStream_t;
enum { cudaSuccess, cudaErrorMemoryAllocation, cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost,
    cudaFuncAttributeMaxDynamicSharedMemorySize };
static inline cudaError_t cudaMalloc(void **place, size_t bytes)
{
    return (*place = std::malloc(bytes)) != NULL ? cudaSuccess : cudaErrorMemoryAllocation;
}
static inline cudaError_t cudaMallocAsync(void **place, size_t bytes, cudaStream_t)
{
    return cudaMalloc(place, bytes);
}
static inline cudaError_t cudaFree(void *place) { std::free(place); return cudaSuccess; }
static inline cudaError_t cudaFreeAsync(void *place, cudaStream_t) { return cudaFree(place); }
static inline cudaError_t cudaMemset(void *place, int value, size_t bytes)
{
    std::memset(place, value, bytes);
    return cudaSuccess;
}
static inline cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, int)
{
    std::memcpy(to, from, bytes);
    return cudaSuccess;
}
static inline cudaError_t cudaGetDeviceCount(int *count) { *count = 1; return cudaSuccess; }
static inline const char *cudaGetErrorString(cudaError_t) { return ""; }
static inline cudaError_t cudaGetLastError(void) { return cudaSuccess; }
template <class Kernel> static inline cudaError_t cudaFuncSetAttribute(Kernel, int, size_t bytes)
{
    return bytes <= sizeof memory ? cudaSuccess : cudaErrorMemoryAllocation;
}

struct CUtensorMap;
static inline cudaError_t nc_device(int *processors, int *capability)
{
    *processors = 4;
    *capability = 80;
    return cudaSuccess;
}
static inline bool nc_map_of(CUtensorMap *, const void *, size_t, size_t, size_t, size_t, unsigned)
{
    return false;
}
static inline bool nc_aligned(const void *, size_t, size_t) { return false; }
static inline unsigned nc_grid(size_t n, size_t across, int processors, int blocks)
{
    const size_t whole = (n + across - 1) / across, most = (size_t)processors * blocks;
    return (unsigned)(whole < most ? whole : most);
}

/* All threads, block by block. The first pass, without states, fills what the threads of a block share. */
template <class Kernel>
static void nc_launch(unsigned grid, unsigned threads, uint64_t n, const Kernel &kernel)
{
    gridDim.x = grid;
    for (blockIdx.x = 0; blockIdx.x < grid; ++blockIdx.x)
        for (uint64_t states : {(uint64_t)0, n})
            for (threadIdx.x = 0; threadIdx.x < threads; ++threadIdx.x)
                kernel(states);
}
"""
_LAUNCH = re.compile(r"(\w+)<<<grid, (\d+), \d+, stream>>>\(\s*(.*?)\s*n\);", re.DOTALL)
_INCLUDE = re.compile(r'^#include (?:"(?:nacelle_cuda|nacelle_launch)\.cuh"|<cuda\w*\.h>).*$', re.MULTILINE)


def host_source(name: str, files: Mapping[str, str]) -> str:
    """One source of C++ that holds the kernels of a package, its functions and its self-test.

    Args:
        name: of the package.
        files: its texts by their path.
    """
    parts = [HOST, _RUNTIME]
    parts += [files["src/nacelle_cuda.cuh"], files[f"include/{name}.h"]]
    parts += [text for path, text in sorted(files.items()) if path.endswith(".cu")]
    text = _INCLUDE.sub("", "\n".join(parts)).replace(f'#include "{name}.h"', "")
    return _LAUNCH.sub(r"nc_launch(grid, \2, n, [&](uint64_t n) { \1(\3 n); });", text)


# ---- the trial


_PROGRAM = "self_test"
_FLAGS = {
    "c": ("-std=c99", "-O0", "-fno-math-errno", "-fno-trapping-math", "-Iinclude"),
    "cuda": ("-std=c++17", "-O0", "-w", "-ffp-contract=off"),
}
_LANGUAGES = {"c": "c", "cuda": "c++"}
# The longest times of the compiler and of the self-test, s.
_COMPILING, _RUNNING = 120.0, 60.0
_BAD = re.compile(r"^(\S+)\s+(.*?)\s+worst error (\S+), tolerated (\S+): BAD$", re.MULTILINE)


@dataclass(frozen=True)
class SelfTestResult:
    """What became of a self-test.

    Attributes:
        compiler: the compiler with which it passed; empty if it has not been run.
        reason: why it has not been run.
        host: whether these were kernels of CUDA, run on the host and not on a device.
    """

    compiler: str = ""
    reason: str = ""
    host: bool = False

    @property
    def data(self) -> dict[str, Any]:
        """The same for the manifest."""
        if not self.compiler:
            return {"run": False, "reason": self.reason}
        return {"run": True, "passed": True, "compiler": self.compiler, "host": self.host}

    @property
    def short(self) -> str:
        """The same in a few words."""
        return f"self-test passed: {self.compiler}" if self.compiler else f"self-test not run: {self.reason}"

    @property
    def sentence(self) -> str:
        """The same as a sentence."""
        if not self.compiler:
            return f"The self-test has not been run yet: {self.reason}. Run it as written above."
        where = ", its kernels as C++ on the host and not on a device" if self.host else ""
        passed = f"The self-test passed when the package was written{where}"
        return f"{passed}: {self.compiler}, without optimisation."


def run_self_test(name: str, target: str, files: Mapping[str, str]) -> SelfTestResult:
    """Compile and run the self-test of a package.

    Args:
        name: of the package.
        target: "c" or "cuda".
        files: its texts by their path.

    Raises:
        ExportError: if the package does not compile, or the self-test fails.
    """
    compiler = find_compiler(_LANGUAGES[target])
    if compiler is None:
        return SelfTestResult(reason=f"there was no compiler of {_LANGUAGES[target].upper()}")
    working = task("compiling and running the self-test")
    with working, tempfile.TemporaryDirectory(prefix="nacelle-self-test-") as folder:
        directory = Path(folder)
        if target == "cuda":
            files = {SOURCE: host_source(name, files)}
        for path, text in files.items():
            (directory / path).parent.mkdir(parents=True, exist_ok=True)
            (directory / path).write_text(text, encoding="utf-8", newline="\n")
        sources = sorted(path for path in files if path.endswith((".c", ".cpp")))
        try:
            compiler.build([*_FLAGS[target], *sources, "-lm", "-o", _PROGRAM], directory, _COMPILING)
            done = run_with_timeout([f"./{_PROGRAM}"], directory, _RUNNING)
        except TimeLimitError as error:
            return SelfTestResult(reason=str(error))
        except ExportError as error:
            return _compiler_failure(compiler, str(error))
    if done.returncode != 0:
        raise ExportError(_failure(compiler, done.stdout, done.returncode))
    return SelfTestResult(compiler=compiler.version, host=target == "cuda")


def _compiler_failure(compiler: Compiler, message: str) -> SelfTestResult:
    """A compiler without programs that run does not count; one that works has refused the package."""
    if not compiler.is_working():
        return SelfTestResult(reason=f"the compiler {compiler.name} makes no program that runs here")
    raise ExportError(f"the package does not compile with {compiler.name}, and nothing is written: {message}")


def _failure(compiler: Compiler, printed: str, status: int) -> str:
    """Which function is worst, in which precision, and what may help."""
    bad = [(match[1], match[2], float(match[3]), float(match[4])) for match in _BAD.finditer(printed)]
    if not bad:
        return (
            f"the self-test of the package ends with status {status} ({compiler.version}): nothing is written"
        )
    function, output, worst, limit = max(bad, key=lambda row: row[2] / row[3] if row[3] else row[2])
    floats = [name for name, *_ in bad if _is_float(name)]
    real = "float" if _is_float(function) else "double"
    hint = "; precision double leaves float out" if len(floats) == len(bad) else ""
    return (
        f"the self-test of the package fails, and nothing is written: {function} ({real}), {output}: worst "
        f"error {worst:.1e}, tolerated {limit:.1e}; {len(bad)} bad in all ({compiler.version}){hint}"
    )


def _is_float(function: str) -> bool:
    return function.endswith(("_f", "_f_newton"))
