"""Emitted CUDA compiled as C++ for this machine: the same statements, one thread after the other.

The header's device part is replaced: shared memory is an array, loads and stores are plain, and the estimates
of 1 / x and 1 / √x have the 20 bits that the device gives.
"""

from __future__ import annotations

import atexit
import ctypes
import hashlib
import re
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest

THREADS = 128

SHIM = r"""
#define NACELLE_HOST
#include <cmath>
#include <cstring>
#include <cstdint>
using namespace std;
#define __global__
#define __launch_bounds__(...)
#define __shared__
#define __align__(n)
#define __syncthreads() ((void)0)
struct nc_index { unsigned x; };
static nc_index threadIdx, blockIdx, gridDim;
alignas(128) unsigned char memory[1 << 18];
#define NC_INLINE static inline
typedef unsigned char *nc_address;
NC_INLINE nc_address nc_shared(void *p) { return (nc_address)p; }
template <class R> NC_INLINE void nc_load(nc_address p, R &a) { std::memcpy(&a, p, sizeof a); }
template <class R> NC_INLINE void nc_load(nc_address p, R &a, R &b)
{
    nc_load(p, a);
    nc_load(p + sizeof a, b);
}
template <class R> NC_INLINE void nc_keep(nc_address p, R a) { std::memcpy(p, &a, sizeof a); }
template <class R> NC_INLINE void nc_keep(nc_address p, R a, R b) { nc_keep(p, a); nc_keep(p + sizeof a, b); }
template <class R> NC_INLINE void nc_read(const R *p, R &a) { a = *p; }
template <class R> NC_INLINE void nc_fetch(const R *p, R &a) { a = *p; }
template <class R> NC_INLINE void nc_write(R *p, R a, uint64_t i, uint64_t n) { if (i < n) *p = a; }
template <class R> NC_INLINE R nc_add(R a, R b) { return a + b; }
template <class R> NC_INLINE R nc_sub(R a, R b) { return a - b; }
template <class R> NC_INLINE R nc_mul(R a, R b) { return a * b; }
template <class R> NC_INLINE R nc_fma(R a, R b, R c) { return std::fma(a, b, c); }
template <class R> NC_INLINE R nc_div(R a, R b) { return a / b; }
template <class R> NC_INLINE R nc_sqrt(R a) { return std::sqrt(a); }
NC_INLINE uint64_t nc_bits(double a) { uint64_t b; std::memcpy(&b, &a, 8); return b; }
NC_INLINE double nc_of(uint64_t b) { double a; std::memcpy(&a, &b, 8); return a; }
NC_INLINE double nc_flushed(double a) { return fabs(a) < 2.2250738585072014e-308 ? 0.0 * a : a; }
NC_INLINE double nc_high_word(double a)
{
    return std::isfinite(a) ? nc_of(nc_bits(a) & 0xffffffff00000000ull) : a;
}
NC_INLINE double nc_near_rcp(double x) { return nc_high_word(nc_flushed(1.0 / nc_flushed(x))); }
NC_INLINE double nc_near_rsqrt(double x) { return nc_high_word(1.0 / std::sqrt(nc_flushed(x))); }
NC_INLINE float nc_rcp(float x) { return 1.0f / x; }
NC_INLINE float nc_rsqrt(float x) { return 1.0f / std::sqrt(x); }
NC_INLINE int nc_high(double a) { return (int)(nc_bits(a) >> 32); }
NC_INLINE int nc_low(double a) { return (int)nc_bits(a); }
NC_INLINE double nc_pair(int h, int l) { return nc_of(((uint64_t)(unsigned)h << 32) | (unsigned)l); }
"""


@cache
def compiler() -> str:
    """The compiler of C++, or the test is skipped."""
    found = shutil.which("g++") or shutil.which("clang++")
    if found is None:
        # Emitted CUDA cannot run without a GPU; its numbers can only be compared where C++ can be compiled.
        pytest.skip("no compiler of C++ (g++, clang++) to compile emitted CUDA with")
    return found


def without_tiles(text: str) -> str:
    """The source without its tiled kernels, which need the device's copy engine."""
    return re.sub(r'extern "C" __global__[^{]*_tiled\(.*?\n\}\n', "", text, flags=re.DOTALL)


@cache
def _library(text: str) -> ctypes.CDLL:
    """Compile a whole source, with an entry `NAME_host(grid, ...)` for each kernel."""
    text = without_tiles(text)
    entries = []
    for name, head in re.findall(
        r'extern "C" __global__ void __launch_bounds__\([^)]*\)\s*(\w+)\((.*?)\)\n\{', text, re.S
    ):
        names = ", ".join(part.split()[-1].lstrip("*") for part in head.split(","))
        entries.append(
            f'extern "C" void {name}_host(unsigned grid, {head}) {{ gridDim.x = grid;\n'
            "for (blockIdx.x = 0; blockIdx.x < grid; ++blockIdx.x)\n"
            f"for (threadIdx.x = 0; threadIdx.x < {THREADS}; ++threadIdx.x) {name}({names}); }}\n"
        )
    source = _folder() / f"{hashlib.sha256(text.encode()).hexdigest()[:24]}.cpp"
    source.write_text(SHIM + text + "".join(entries))
    built = source.with_suffix(".so")
    command = [compiler(), "-std=c++17", "-O0", "-w", "-ffp-contract=off", "-shared", "-fPIC"]
    subprocess.run([*command, str(source), "-o", str(built)], check=True, timeout=120)
    return ctypes.CDLL(str(built))


@cache
def _folder() -> Path:
    """A folder of this process's own, removed at its end."""
    folder = tempfile.mkdtemp(prefix="nacelle-cuda-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def call(text: str, kernel: str, grid: int, arguments: tuple[Any, ...]) -> None:
    """Run a kernel of a source on this machine; arguments are ctypes values, the last the count of states.

    The first pass, without states, lets every thread fill what all of them share.
    """
    run = getattr(_library(text), f"{kernel}_host")
    run(ctypes.c_uint(grid), *arguments[:-1], ctypes.c_uint64(0))
    run(ctypes.c_uint(grid), *arguments)
