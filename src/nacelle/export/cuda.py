"""The target `cuda`: header, kernels, CMake file and self-test; nvcc alone is needed.

Functions on the host's side choose a kernel and launch it. The self-test holds reference vectors against
every function, over whole and broken tiles.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from nacelle.emit.c.parts import format_call
from nacelle.emit.c.target import header_lines
from nacelle.emit.cuda.drivers import DriverKernel, newton_kernel
from nacelle.emit.cuda.header import HEADER
from nacelle.emit.cuda.plan import REGISTERS, THREADS, CudaOptions
from nacelle.emit.cuda.target import KernelArgument, KernelLayout, Kernels, Launch, array_layout, kernels
from nacelle.emit.names import comment_text
from nacelle.export.about import SELF_TEST_MARK, Package, count_text, readme_text
from nacelle.export.c.package import LIBRARY
from nacelle.export.c.self_test import CHECKS, MAIN_END, data_tables, entry_suffix, error_limit, error_scale
from nacelle.export.entry import Entry
from nacelle.export.target import PRECISIONS, ExportTarget
from nacelle.export.vectors import CAP, ClosedLoops, ReferenceVectors, accuracy_note

# ---- the CMake file


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


# ---- functions on the side of the host: they choose a kernel and launch it


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

/* The map of rows of n numbers, ld apart, in boxes of all rows by 'across' columns. */
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
    heads = [text for a in layout.inputs for text in _array_parameters(a, f"const {real}")]
    heads += [text for a in layout.outputs for text in _array_parameters(a, real)]
    return format_call(f"cudaError_t {name}", [*heads, "size_t n", "cudaStream_t stream"])


def _array_parameters(a: KernelArgument, real: str) -> list[str]:
    return [f"{real} *{a.name}, size_t {a.name}_ld"] if a.size else []


def launcher(layout: KernelLayout, kernel_set: Kernels, name: str) -> str:
    """The function that evaluates a program: the tiled kernel where it can run, else the plain one."""
    inputs = [a for a in layout.inputs if a.size]
    outputs = [a for a in layout.outputs if a.size]
    size = layout.options.bytes
    ends = [text for a in outputs for text in (a.name, f"{a.name}_ld")]
    plain = [text for a in inputs for text in (a.name, f"{a.name}_ld")]
    lines = [
        launch_head(layout, name),
        "{",
        "    int processors = 0, capability = 0;",
        "    cudaError_t error = nc_device(&processors, &capability);",
        "    if (error != cudaSuccess || n == 0) return error;",
    ]
    if kernel_set.tiled is not None:
        across = THREADS * kernel_set.tiled.states
        lines += [f"    nc_map {', '.join(f'{a.name}_map' for a in inputs)};"]
        aligned = [f"nc_aligned({a.name}, {size}, {a.name}_ld)" for a in (*inputs, *outputs)]
        mapped = [
            f"nc_map_of((CUtensorMap *)&{a.name}_map, {a.name}, {size}, {a.size}, n, {a.name}_ld, {across})"
            for a in inputs
        ]
        joint = "\n        && "
        lines += [
            f"    if ({joint.join(['capability >= 90', *aligned, *mapped])}) {{",
            *_launch_statements(
                kernel_set.tiled, [*(f"{a.name}_map" for a in inputs), *ends, "n"], across, 8
            ),
            "    }",
        ]
    lines += [*_launch_statements(kernel_set.plain, [*plain, *ends, "n"], THREADS, 4), "}", ""]
    return "\n".join(lines)


def _launch_statements(launch: Launch, arguments: Sequence[str], across: int, indent: int) -> list[str]:
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
    return format_call(f"cudaError_t {name}", heads)


def newton_launcher(kernel: DriverKernel, real: str, name: str) -> str:
    """The function that runs Newton's iteration around a step."""
    bytes_of, launch = "sizeof *scratch", kernel.launch
    return "\n".join(
        [
            newton_prototype(real, name),
            "{",
            "    int processors = 0, capability = 0;",
            "    cudaError_t error = nc_device(&processors, &capability);",
            "    if (error != cudaSuccess || n == 0) return error;",
            f"    const unsigned grid = nc_grid(n, {THREADS}, processors, {launch.blocks});",
            f"    error = cudaFuncSetAttribute({launch.kernel}, cudaFuncAttributeMaxDynamicSharedMemorySize,",
            f"        {launch.shared_bytes});",
            "    if (error != cudaSuccess) return error;",
            f"    {real} *scratch = NULL;",
            *(
                [
                    f"    const size_t room = (size_t)grid * {THREADS * kernel.scratch} * {bytes_of};",
                    "    error = cudaMallocAsync((void **)&scratch, room, stream);",
                    "    if (error != cudaSuccess) return error;",
                ]
                if kernel.scratch
                else []
            ),
            f"    {launch.kernel}<<<grid, {THREADS}, {launch.shared_bytes}, stream>>>(",
            "        y0, y0_ld, p, p_ld, y, y_ld, iterations, status, scratch, tolerance, cap, NULL, 0,",
            "        n);",
            "    error = cudaGetLastError();",
            *(["    cudaFreeAsync(scratch, stream);"] if kernel.scratch else []),
            "    return error;",
            "}",
            "",
        ]
    )


# ---- the self-test


# States of a run: whole tiles and a rest; the reference states follow each other again and again. The second
# distance of rows is no multiple of 16 bytes: such rows are loaded without tiles.
_COUNT = 1000

_HEAD = """\
/*
 * Self-test of {name}: every function at {states} states around the reference pose, against results that were
 * computed with 50 digits. Errors count relative to the largest entry of an output. Returns 0 if all is well,
 * 77 if there is no CUDA device.
 *
 * {origin}
 */
#include "{name}.h"

#include <cmath>
#include <cstdio>
#include <cuda_runtime.h>
#include <vector>

#define STATES {states}
#define COUNT {count}

"""

_DEVICE = """\
/* Rows on the device, ld numbers apart. */
template <typename real> struct Rows {
    real *place = nullptr;
    int size;
    size_t ld;
    Rows(int size, size_t ld) : size(size), ld(ld)
    {
        if (size > 0 && cudaMalloc((void **)&place, size * ld * sizeof(real)) != cudaSuccess) place = nullptr;
        if (place != nullptr) cudaMemset(place, 0xff, size * ld * sizeof(real)); /* NaN */
    }
    ~Rows() { cudaFree(place); }
    Rows(const Rows &) = delete;
    template <int width> void fill(const double (*table)[width])
    {
        std::vector<real> host(size * ld);
        for (int j = 0; j < size; ++j)
            for (int i = 0; i < COUNT; ++i) host[j * ld + i] = (real)table[i % STATES][j];
        cudaMemcpy(place, host.data(), host.size() * sizeof(real), cudaMemcpyHostToDevice);
    }
    /* The largest error relative to a number, or to a number for each entry of the table. */
    template <int width> double worst(const double (*table)[width], double scale, double before) const
    {
        return worst(table, [=](int, int) { return scale; }, before);
    }
    template <int width>
    double worst(const double (*table)[width], const double (*scales)[width], double before) const
    {
        return worst(table, [=](int i, int j) { return scales[i][j]; }, before);
    }
    template <int width, class Scale>
    double worst(const double (*table)[width], const Scale &scale, double before) const
    {
        std::vector<real> host(size * ld);
        if (cudaMemcpy(host.data(), place, host.size() * sizeof(real), cudaMemcpyDeviceToHost) != cudaSuccess)
            return HUGE_VAL;
        for (int j = 0; j < size; ++j)
            for (int i = 0; i < COUNT; ++i)
                before = worse(
                    before, (double)host[j * ld + i], table[i % STATES][j], scale(i % STATES, j));
        return before;
    }
};

"""

_MAIN = """\
int main(void)
{
    int devices = 0;
    const cudaError_t found = cudaGetDeviceCount(&devices);
    if (found != cudaSuccess || devices == 0) {
        printf("no CUDA device (%s): nothing was tested\\n", cudaGetErrorString(found));
        return 77;
    }
    int bad = 0;
"""


def self_test(package: Package, references: Mapping[str, ReferenceVectors], precisions: Sequence[str]) -> str:
    """Write test/self_test.cu."""
    states = next(iter(references.values())).states
    head = _HEAD.format(name=package.name, states=states, origin=package.origin, count=_COUNT)
    parts, calls = [head + CHECKS + _DEVICE], []
    for entry in package.entries:
        parts.append(data_tables(package, entry, references[entry.label]))
        for real in precisions:
            name = entry_suffix(entry, real)
            parts.append(_check(package, entry, references[entry.label], real))
            calls.append(f"    bad += check_{name}();")
            closed = references[entry.label].closed
            if closed is not None:
                parts.append(_newton(package, entry, closed, real))
                calls.append(f"    bad += check_{name}_newton();")
    parts.append("\n".join([_MAIN + "\n".join(calls), *MAIN_END, "}", ""]))
    return "\n".join(parts)


def _check(package: Package, entry: Entry, vectors: ReferenceVectors, real: str) -> str:
    name = entry_suffix(entry, real)
    inputs, outputs = entry.program.inputs, entry.program.outputs
    lines = [f"static int check_{name}(void)", "{"]
    lines += [f"    double worst{k} = 0.0;" for k in range(len(outputs))]
    lines += ["    int bad = 0;", "    for (size_t ld = COUNT; ld <= COUNT + 1; ++ld) {"]
    passed = []
    for kind, group in (("in", inputs), ("out", outputs)):
        for k, variable in enumerate(group):
            if not variable.size:
                continue
            lines.append(f"        Rows<{real}> {kind}{k}({variable.size}, ld);")
            if kind == "in":
                lines.append(f"        in{k}.fill({entry.label}_in{k});")
            passed.append(f"{kind}{k}.place, ld")
    lines.append(
        f"        if ({package.name}_{name}({', '.join([*passed, 'COUNT', '0'])}) != cudaSuccess) return 1;"
    )
    for k, (label, variable) in enumerate(zip(vectors.outputs, outputs, strict=True)):
        if variable.size:
            lines.append(
                f"        worst{k} = out{k}.worst({entry.label}_out{k}, "
                f"{error_scale(entry, vectors, label)}, worst{k});"
            )
    lines.append("    }")
    for k, label in enumerate(vectors.outputs):
        limit = error_limit(vectors, label, real)
        lines.append(f'    bad += report("{package.name}_{name}", "out {k}", worst{k}, {limit!r});')
    return "\n".join([*lines, "    return bad;", "}", ""])


def _newton(package: Package, entry: Entry, closed: ClosedLoops, real: str) -> str:
    """Newton's iteration from starts away from the solutions."""
    name = entry_suffix(entry, real)
    y, x = (variable.size for variable in entry.program.inputs)
    rows = ", ".join(f"{letter}.place, COUNT" for letter in ("y0", "x", "y"))
    limit = closed.limit[real]
    tables = f"{entry.label}_closed, {entry.label}_condition"
    call = f"{package.name}_{name}_newton({rows}, counts, counts + COUNT"
    return "\n".join(
        [
            f"static int check_{name}_newton(void)",
            "{",
            f"    Rows<{real}> y0({y}, COUNT), x({x}, COUNT), y({y}, COUNT);",
            f"    y0.fill({entry.label}_in0);",
            f"    x.fill({entry.label}_in1);",
            "    long long *counts = nullptr;",
            "    if (cudaMalloc((void **)&counts, 2 * COUNT * sizeof *counts) != cudaSuccess) return 1;",
            f"    const cudaError_t error = {call}, {closed.tolerance[real]!r}, {CAP}, COUNT, 0);",
            "    const double worst =",
            f"        error == cudaSuccess ? y.worst({tables}, 0.0) : HUGE_VAL;",
            "    cudaFree(counts);",
            f'    return report("{package.name}_{name}_newton", "y / condition", worst, {limit!r});',
            "}",
            "",
        ]
    )


# ---- the package


@dataclass(frozen=True)
class CudaTarget(ExportTarget):
    """A package of CUDA.

    Attributes:
        precision: "double", "float" or "both". Default "both".
        parameters: groups of the robot's free numbers (`robot.numbers`) that are given at run time, a
            sequence or one text with commas: every function then comes with one that prepares them. Constants
            if empty. Default empty.
        self_test: whether the self-test is compiled as C++ and run on the host before anything is written.
            Default True.

    Raises:
        ExportError: if there is no such precision.
    """

    name = "cuda"
    refusals = ExportTarget.refusals | {
        "batch": "batch is an option of C: functions in CUDA are for many states anyway"
    }
    precision: str = "both"
    parameters: str | Sequence[str] = ()
    self_test: bool | None = True

    def files(self, package: Package, references: Mapping[str, ReferenceVectors]) -> dict[str, str]:
        """All files."""
        precisions = PRECISIONS[self.precision]
        sources: dict[str, str] = {}
        notes: dict[str, list[str]] = {}
        declared: list[str] = []
        for entry in package.entries:
            for real in precisions:
                name = f"{package.name}_{entry_suffix(entry, real)}"
                options = _options(name, real)
                layout = array_layout(entry.program, options)
                kernel_set = kernels(entry.program, options)
                text = kernel_set.text + "\n" + launcher(layout, kernel_set, name)
                declared += [*_remark(entry, layout), f"{launch_head(layout, name)};", ""]
                if entry.closes:
                    driver = newton_kernel(entry.program, options)
                    text += "\n" + driver.text + "\n" + newton_launcher(driver, real, f"{name}_newton")
                    declared += [*_NEWTON, f"{newton_prototype(real, f'{name}_newton')};", ""]
                sources[f"{name}.cu"] = _source(package, text)
                used = kernel_set.tiled or kernel_set.plain
                notes.setdefault(entry.label, []).append(f"In {real}: {_layout_note(used)}")
        name = package.name
        closed = next((vectors.closed for vectors in references.values() if vectors.closed is not None), None)
        files = {f"include/{name}.h": _header(package, declared)}
        files |= {f"src/{file}": text for file, text in sources.items()}
        files["src/nacelle_cuda.cuh"] = HEADER.lstrip()
        files["src/nacelle_launch.cuh"] = LAUNCH_HEADER
        files["test/self_test.cu"] = self_test(package, references, precisions)
        files["CMakeLists.txt"] = cmake_file(name, sorted(sources))
        files["README.md"] = readme_text(
            package,
            _usage(package, closed, precisions),
            {label: " ".join(texts) for label, texts in notes.items()},
        )
        return files


def _layout_note(used: Launch) -> str:
    """How a kernel is laid out."""
    return (
        f"{used.states} state{'' if used.states == 1 else 's'} a thread, {used.blocks} blocks a "
        f"multiprocessor ({REGISTERS[used.blocks]} registers at most), {used.shared_bytes} bytes of shared "
        f"memory a block, {used.spilled_values} values put aside in it."
    )


def _options(name: str, real: str) -> CudaOptions:
    options = CudaOptions(name=name)
    return replace(options, real="float") if real == "float" else options


_NEWTON = (
    "/*",
    " * Newton's iteration around the step: from starts y0 at the poses p to y. For each state the steps",
    " * taken, and 0 converged, 1 the cap was reached, 2 a number was not finite.",
    " */",
)


def _remark(entry: Entry, layout: KernelLayout) -> list[str]:
    """What a function is, in a comment."""
    lines = [
        "/*",
        f" * {comment_text(entry.title)}.",
        f" * {count_text(entry.count)}; {layout.options.real}.",
    ]
    for kind, arrays in (("in", layout.inputs), ("out", layout.outputs)):
        texts = {a.name: comment_text(entry.descriptions.get(a.variable.name, "")) for a in arrays}
        lines += [f" *   {kind:4s}{a.name}: {a.size} rows; {texts[a.name]}" for a in arrays if a.size]
    return [*lines, " */"]


def _header(package: Package, declared: list[str]) -> str:
    lines = [
        "/*",
        f" * Models of the robot {comment_text(package.robot.name)} on a CUDA device.",
        f" * {package.origin}",
        " *",
        " * Arrays are on the device, as structures of arrays: entry j of state i is at base[j * ld + i], ld",
        " * the distance of rows in numbers. Rows that begin at multiples of 16 bytes are brought by the",
        " * copy engine on devices of compute capability 9 and later, which is faster. Functions return",
        " * after the launch.",
        " *",
        " * NaN passes through. Quotients and roots are within two units in the last place, and NaN where",
        " * IEEE gives infinities or 0 (divisors 0, infinite, subnormal); sines beyond 105615 rad are NaN.",
        " */",
    ]
    frame = header_lines(f"{package.name}_h_included", ["<stddef.h>", "<cuda_runtime_api.h>"], declared)
    return "\n".join(lines + frame)


def _source(package: Package, text: str) -> str:
    head = [
        '#include "nacelle_cuda.cuh"',
        '#include "nacelle_launch.cuh"',
        f'#include "{package.name}.h"',
        "",
    ]
    return "\n".join([f"/* {package.origin} */", *head, text])


def _usage(package: Package, closed: ClosedLoops | None, precisions: Sequence[str]) -> list[str]:
    name = package.name
    lines = [
        "## Building and testing",
        "",
        "With CMake and nvcc (CUDA 12 or later):",
        "",
        "    cmake -S . -B build && cmake --build build && ctest --test-dir build --output-on-failure",
        "",
        "By hand:",
        "",
        "    nvcc -O3 -std=c++17 -arch=native -Iinclude src/*.cu test/self_test.cu -o self_test",
        "    ./self_test",
        "",
        "The self-test compares every function with results that were computed with 50 digits, prints the "
        "worst error of each output and returns 0 if all of them are within their tolerance; 77 if there is "
        "no device.",
        "",
        SELF_TEST_MARK,
        "",
        "## Calling",
        "",
        f"Include `{name}.h`. Arguments are arrays of the device with the distance of their rows, inputs "
        "first, in the order of the tables below, then the number of states and a stream. Entry j of state "
        "i is at `base[j * ld + i]`; matrices lie row by row. Functions in float end in `_f`.",
    ]
    if package.closing_entry is not None and closed is not None:
        lines += [
            "",
            f"Legs of this robot are solved numerically: `{name}_{package.closing_entry.label}_newton` gives "
            f"their y at the poses, from starts near them, to a tolerance such as "
            f"{closed.tolerance['double']:g} in double and {closed.tolerance['float']:g} in float.",
            "",
            *accuracy_note(closed, precisions),
        ]
    return lines
