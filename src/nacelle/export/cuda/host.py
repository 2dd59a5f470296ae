"""A CUDA package as one source of C++: its kernels and its self-test run by the host, thread after thread.

The kernels are those of the package, statement by statement, with the host's part of their header. Tiled
kernels need the device's copy engine and are left empty: the host says that it has none.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from nacelle.emit.cuda.header import HOST

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
