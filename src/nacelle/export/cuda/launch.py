"""The functions of a CUDA package on the host's side: they choose a kernel and launch it."""

from __future__ import annotations

from collections.abc import Sequence

from nacelle.emit.c.parts import call
from nacelle.emit.cuda.drivers import DriverKernel
from nacelle.emit.cuda.kernel import KernelArgument, KernelLayout, Kernels, Launch
from nacelle.emit.cuda.plan import THREADS

LAUNCH_HEADER = """\
/* What the functions of the package share: the device, and tensor maps of its copy engine. */
#ifndef NACELLE_LAUNCH_HEADER
#define NACELLE_LAUNCH_HEADER
#include <cuda.h>
#include <cuda_runtime.h>
#include <stdint.h>

/* Multiprocessors of the present device, and its compute capability times ten. */
static inline cudaError_t nc_device(int *processors, int *capability)
{
    int device = 0, found[3] = {0, 0, 0};
    const cudaDeviceAttr wanted[3] = {cudaDevAttrMultiProcessorCount, cudaDevAttrComputeCapabilityMajor,
        cudaDevAttrComputeCapabilityMinor};
    cudaError_t error = cudaGetDevice(&device);
    for (int k = 0; k < 3 && error == cudaSuccess; ++k)
        error = cudaDeviceGetAttribute(found + k, wanted[k], device);
    *processors = found[0];
    *capability = 10 * found[1] + found[2];
    return error;
}

typedef CUresult (*nc_encode_t)(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *, const cuuint64_t *,
    const cuuint64_t *, const cuuint32_t *, const cuuint32_t *, CUtensorMapInterleave, CUtensorMapSwizzle,
    CUtensorMapL2promotion, CUtensorMapFloatOOBfill);

/* The driver's cuTensorMapEncodeTiled; NULL if it has none. */
static inline nc_encode_t nc_encoder(void)
{
    void *found = NULL;
    cudaDriverEntryPointQueryResult result;
#if CUDART_VERSION >= 12050
    cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000, cudaEnableDefault, &result);
#else
    cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &found, cudaEnableDefault, &result);
#endif
    return (nc_encode_t)found;
}

/* The map of rows of n numbers, ld apart, in boxes of all rows and so many columns. */
static inline bool nc_map_of(
    CUtensorMap *map, const void *rows, size_t bytes, size_t size, size_t n, size_t ld, unsigned across)
{
    const nc_encode_t encode = nc_encoder();
    const cuuint64_t sizes[2] = {n, size}, strides[1] = {ld * bytes};
    const cuuint32_t box[2] = {across, (cuuint32_t)size}, steps[2] = {1, 1};
    const CUtensorMapDataType type =
        bytes == 8 ? CU_TENSOR_MAP_DATA_TYPE_FLOAT64 : CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
    return encode != NULL
        && encode(map, type, 2, (void *)rows, sizes, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
               CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE)
        == CUDA_SUCCESS;
}

static inline bool nc_aligned(const void *rows, size_t bytes, size_t ld)
{
    return ((uintptr_t)rows | (ld * bytes)) % 16 == 0;
}

static inline unsigned nc_grid(size_t n, size_t across, int processors, int blocks)
{
    const size_t whole = (n + across - 1) / across, most = (size_t)processors * blocks;
    return (unsigned)(whole < most ? whole : most);
}
#endif
"""


def launch_head(layout: KernelLayout, name: str) -> str:
    """The head of the function that evaluates a program."""
    real = layout.options.real
    heads = [text for a in layout.inputs for text in _pair(a, f"const {real}")]
    heads += [text for a in layout.outputs for text in _pair(a, real)]
    return call(f"cudaError_t {name}", [*heads, "size_t n", "cudaStream_t stream"])


def _pair(a: KernelArgument, real: str) -> list[str]:
    return [f"{real} *{a.name}, size_t {a.name}_ld"] if a.size else []


def launcher(layout: KernelLayout, made: Kernels, name: str) -> str:
    """The function that evaluates a program: the tiled kernel where it can run, else the plain one."""
    own = [a for a in layout.inputs if a.size]
    written = [a for a in layout.outputs if a.size]
    size = layout.options.bytes
    ends = [text for a in written for text in (a.name, f"{a.name}_ld")]
    plain = [text for a in own for text in (a.name, f"{a.name}_ld")]
    lines = [
        launch_head(layout, name),
        "{",
        "    int processors = 0, capability = 0;",
        "    cudaError_t error = nc_device(&processors, &capability);",
        "    if (error != cudaSuccess || n == 0) return error;",
    ]
    if made.tiled is not None:
        across = THREADS * made.tiled.states
        lines += [f"    nc_map {', '.join(f'{a.name}_map' for a in own)};"]
        aligned = [f"nc_aligned({a.name}, {size}, {a.name}_ld)" for a in (*own, *written)]
        mapped = [
            f"nc_map_of((CUtensorMap *)&{a.name}_map, {a.name}, {size}, {a.size}, n, {a.name}_ld, {across})"
            for a in own
        ]
        joint = "\n        && "
        lines += [
            f"    if ({joint.join(['capability >= 90', *aligned, *mapped])}) {{",
            *_launched(made.tiled, [*(f"{a.name}_map" for a in own), *ends, "n"], across, 8),
            "    }",
        ]
    lines += [*_launched(made.plain, [*plain, *ends, "n"], THREADS, 4), "}", ""]
    return "\n".join(lines)


def _launched(launch: Launch, arguments: Sequence[str], across: int, indent: int) -> list[str]:
    space = " " * indent
    lines = []
    if launch.shared_bytes:
        lines += [
            f"{space}error = cudaFuncSetAttribute(",
            f"{space}    {launch.kernel}, cudaFuncAttributeMaxDynamicSharedMemorySize,",
            f"{space}    {launch.shared_bytes});",
            f"{space}if (error != cudaSuccess) return error;",
        ]
    return [
        *lines,
        f"{space}const unsigned grid = nc_grid(n, {across}, processors, {launch.blocks});",
        f"{space}{launch.kernel}<<<grid, {THREADS}, {launch.shared_bytes}, stream>>>(",
        f"{space}    {', '.join(arguments)});",
        f"{space}return cudaGetLastError();",
    ]


def newton_prototype(real: str, name: str) -> str:
    """The head of the function that runs Newton's iteration."""
    heads = [
        f"const {real} *y0, size_t y0_ld",
        f"const {real} *p, size_t p_ld",
        f"{real} *y, size_t y_ld",
        "long long *iterations, long long *status",
        f"{real} tolerance, long long cap",
        "size_t n, cudaStream_t stream",
    ]
    return call(f"cudaError_t {name}", heads)


def newton_launcher(made: DriverKernel, real: str, name: str) -> str:
    """The function that runs Newton's iteration around a step."""
    bytes_of = "sizeof *scratch"
    return "\n".join(
        [
            newton_prototype(real, name),
            "{",
            "    int processors = 0, capability = 0;",
            "    cudaError_t error = nc_device(&processors, &capability);",
            "    if (error != cudaSuccess || n == 0) return error;",
            f"    const unsigned grid = nc_grid(n, {THREADS}, processors, {made.blocks});",
            f"    error = cudaFuncSetAttribute({made.kernel}, cudaFuncAttributeMaxDynamicSharedMemorySize,",
            f"        {made.shared_bytes});",
            "    if (error != cudaSuccess) return error;",
            f"    {real} *scratch = NULL;",
            *(
                [
                    f"    const size_t room = (size_t)grid * {THREADS * made.scratch} * {bytes_of};",
                    "    error = cudaMallocAsync((void **)&scratch, room, stream);",
                    "    if (error != cudaSuccess) return error;",
                ]
                if made.scratch
                else []
            ),
            f"    {made.kernel}<<<grid, {THREADS}, {made.shared_bytes}, stream>>>(",
            "        y0, y0_ld, p, p_ld, y, y_ld, iterations, status, scratch, tolerance, cap, NULL, 0,",
            "        n);",
            "    error = cudaGetLastError();",
            *(["    cudaFreeAsync(scratch, stream);"] if made.scratch else []),
            "    return error;",
            "}",
            "",
        ]
    )
