"""C under gcc for the benchmarks, and the peak of the machine."""

import ctypes
import subprocess
from pathlib import Path

from timing import best, once

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


PEAK = r"""
#define LANES 8
typedef double vector __attribute__((vector_size(LANES * sizeof(double))));
double peak(long n, double s)
{
    vector a[8], m, c;
    for (int i = 0; i < LANES; ++i) { m[i] = 1.0 + s; c[i] = s; for (int k = 0; k < 8; ++k) a[k][i] = i + k; }
    for (long i = 0; i < n; ++i)
        for (int k = 0; k < 8; ++k) a[k] = a[k] * m + c;
    double t = 0;
    for (int k = 0; k < 8; ++k) for (int i = 0; i < LANES; ++i) t += a[k][i];
    return t;
}
"""


def fma_call(folder, n=500_000):
    """A call of independent fused multiply-adds on one core, and how many operations it does."""
    _, library = gcc(PEAK, folder, "peak")
    library.peak.restype = ctypes.c_double
    library.peak.argtypes = [ctypes.c_long, ctypes.c_double]
    return lambda: library.peak(n, 1e-9), 2 * 8 * 8 * n


def fma_peak(folder):
    """Operations per second of one core in independent fused multiply-adds, two operations each."""
    call, operations = fma_call(folder)
    return operations / best(call)
