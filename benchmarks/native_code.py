"""C under gcc for the benchmarks, and the peak of the machine."""

import ctypes
import subprocess
from pathlib import Path

from timing import in_turn, once

FLAGS = ["-O3", "-march=native", "-fno-math-errno", "-fno-trapping-math", "-shared", "-fPIC"]


def gcc(text, folder, name):
    """Compile C to a library: seconds, and the library."""
    source, library = Path(folder) / f"{name}.c", Path(folder) / f"{name}.so"
    source.write_text(text)
    seconds, _ = once(
        lambda: subprocess.run(
            ["gcc", *FLAGS, str(source), "-o", str(library), "-lm", f"-I{folder}"], check=True
        )
    )
    return seconds, ctypes.CDLL(str(library))


# As many sums as hide the latency and fit into the registers, each a vector of the machine's own width: an
# array of wider ones is spilled.
PEAK = r"""
#if defined(__AVX512F__)
#define LANES 8
#elif defined(__AVX__)
#define LANES 4
#else
#define LANES 2
#endif
#if defined(__AVX512F__) || defined(__aarch64__)
#define SUMS 24
#else
#define SUMS 12
#endif
typedef double vector __attribute__((vector_size(LANES * sizeof(double))));
double peak(long n, double s)
{
    vector a[SUMS], t = {0};
    const vector m = (vector){0} + s;
#pragma GCC unroll 24
    for (int k = 0; k < SUMS; ++k) a[k] = (vector){0} + (1.0 + k);
    for (long i = 0; i < n; ++i) {
#pragma GCC unroll 24
        for (int k = 0; k < SUMS; ++k) a[k] += a[k] * m;
    }
#pragma GCC unroll 24
    for (int k = 0; k < SUMS; ++k) t += a[k];
    double total = 0;
    for (int i = 0; i < LANES; ++i) total += t[i];
    return total;
}
long operations(void) { return 2 * LANES * SUMS; }
"""


def fma_call(folder, n=20_000):
    """A call of independent fused multiply-adds on one core, and how many operations it does."""
    _, library = gcc(PEAK, folder, "peak")
    library.peak.restype = ctypes.c_double
    library.peak.argtypes = [ctypes.c_long, ctypes.c_double]
    library.operations.restype = ctypes.c_long
    return lambda: library.peak(n, 1e-9), library.operations() * n


def fma_peak(folder):
    """Operations per second of one core in independent fused multiply-adds, two operations each.

    Of many short calls the shortest: one that is not interrupted.
    """
    call, operations = fma_call(folder)
    return operations / min(in_turn({"peak": call}, 200)["peak"])
