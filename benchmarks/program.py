"""Benchmark of the compiler: `make bench`.

For a straight-line program of about 2000 operations (inverse dynamics of a hexapod-like model) and one of
about 20 000 (its Jacobian), in one run on this machine: times to trace, minimise, compile and reload; time
per sample on one thread, on all, and per single bound call; beside gcc on the emitted C, CasADi's virtual
machine, CasADi's C under the same gcc, and NumPy; and the part of one core's measured peak of fused
multiply-adds. Nothing is asserted: machines are noisy, ratios within a run are what counts.
"""

import argparse
import ctypes
import importlib.util
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
import hexapod
from casadi_code import CasadiProgram
from native_code import fma_peak, gcc
from timing import best, once, say, side_by_side

from nacelle.compile import compile_function
from nacelle.emit.c.interface import COptions
from nacelle.emit.c.target import c_source
from nacelle.emit.jit import target as jit
from nacelle.emit.registry import target
from nacelle.emit.store import Store
from nacelle.program.cost import count
from nacelle.program.derivative import with_jacobians
from nacelle.program.minimise import minimise
from nacelle.program.trace import trace


def gcc_batch(program, folder, arrays, results):
    """The emitted C as a batch function: compile time and a call."""
    files = c_source(program, COptions(name="hexapod_model"))
    for name, text in files.items():
        (Path(folder) / name).write_text(text)
    main = next(name for name in files if name.endswith(".c"))
    seconds, library = gcc(files[main], folder, f"lib_{Path(main).stem}")
    function = library.hexapod_model_batch
    function.restype = None
    call = [ctypes.c_size_t(len(arrays[0]))]
    for array in arrays:
        call += [ctypes.c_void_p(array.ctypes.data), ctypes.c_size_t(array.shape[1])]
    call += [ctypes.c_void_p(result.ctypes.data) for result in results]
    return seconds, lambda: function(*call)


def casadi_functions(program, folder, arrays):
    """The same program in CasADi: virtual machine, and its C under gcc; seconds per sample each."""
    made = CasadiProgram(program)
    flat = np.concatenate(arrays, axis=1)
    few = flat[:1000].T.copy()
    vm = best(lambda: made.function(few), repeat=3) / 1000
    call, out = made.native_call(made.library(folder), flat)
    native = best(call, repeat=3) / len(flat)
    return {"casadi build": made.seconds, "casadi gcc compile": made.compile_seconds}, vm, native, out


def measure(name, make_trace, samples, folder, peak, with_casadi):
    row = {"model": name}
    say(name, "...")
    # A folder of its own: a library is loaded once under one path.
    folder = tempfile.mkdtemp(dir=folder)
    row["trace s"], traced = once(make_trace)
    row["lower s"], literal = once(traced.program)
    row["minimise s"], program = once(lambda: minimise(literal))
    counted = count(program)
    row["operations traced"] = count(literal).total
    row["operations"] = counted.total
    row["÷"], row["√"] = counted.div, counted.sqrt
    row["jit compile s"], image = once(lambda: jit.compile_object(program))
    jit.load_object(image, program)
    row["jit load ms"] = 1e3 * best(lambda: jit.load_object(image, program), repeat=5, least=0.05)
    kernel = jit.load_object(image, program)
    arrays = [np.ascontiguousarray(a.reshape(samples, -1)) for a in hexapod.states(samples)]
    results = [np.empty((samples, v.size)) for v in program.outputs]
    cores = os.cpu_count() or 1
    row["jit ns"] = 1e9 / samples * best(lambda: kernel.run(arrays, results, 1))
    row[f"jit {cores} threads ns"] = 1e9 / samples * best(lambda: kernel.run(arrays, results, cores))
    bound = kernel.bind([a[:1].copy() for a in arrays], [r[:1].copy() for r in results])
    row["jit single call ns"] = 1e9 * best(bound)
    reference = [result.copy() for result in results]
    if shutil.which("gcc"):
        row["gcc compile s"], call = gcc_batch(program, folder, arrays, results)
        pair = side_by_side(lambda: kernel.run(arrays, reference, 1), call)
        row["jit ns"], row["gcc ns"] = (1e9 / samples * seconds for seconds in pair)
        row["gcc differs by"] = max(
            float(np.max(np.abs(a - b)) / np.max(np.abs(a))) for a, b in zip(reference, results, strict=True)
        )
    tiles = target("numpy").kernel(program)
    few = min(samples, 4096)
    few_in, few_out = [a[:few].copy() for a in arrays], [r[:few].copy() for r in results]
    row["numpy ns"] = 1e9 / few * best(lambda: tiles.run(few_in, few_out, 1), repeat=3)
    if with_casadi:
        times, vm, native, out = casadi_functions(program, folder, arrays)
        row |= {f"{key} s": value for key, value in times.items()}
        row["casadi vm ns"], row["casadi gcc ns"] = 1e9 * vm, 1e9 * native
        flat = np.concatenate(reference, axis=1)
        row["casadi differs by"] = float(np.max(np.abs(flat - out)) / np.max(np.abs(flat)))
    row["GFLOP/s"] = counted.total / row["jit ns"]
    row["part of peak"] = 1e9 * counted.total / row["jit ns"] / peak if peak else None
    return row


def cached_load():
    """A second load of a compiled function through the cache, all included, in ms."""
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder) / "cache")
        compile_function(hexapod.inverse_dynamics, inputs=hexapod.INPUTS, store=store)
        again = compile_function(hexapod.inverse_dynamics, inputs=hexapod.INPUTS, store=store)
        assert again.from_cache
        return 1e3 * best(
            lambda: compile_function(hexapod.inverse_dynamics, inputs=hexapod.INPUTS, store=store),
            repeat=5,
            least=0.05,
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--samples", type=int, default=32_768)
    options = parser.parse_args()
    with_casadi = bool(shutil.which("gcc") and importlib.util.find_spec("casadi"))

    def small():
        return trace(hexapod.inverse_dynamics, hexapod.INPUTS)

    def large():
        pairs = [("forces", name) for name in ("p", "V", "A")]
        return with_jacobians(small(), pairs, "reverse")

    # What is loaded at first use is not part of any time.
    compile_function(lambda x: x * x, inputs={"x": ()}, use_cache=False)
    with tempfile.TemporaryDirectory() as folder:
        peak = fma_peak(folder) if shutil.which("gcc") else None
        rows = [
            measure("hexapod inverse dynamics", small, options.samples, folder, peak, with_casadi),
            measure("its Jacobian", large, options.samples // 8, folder, peak, with_casadi),
        ]
    load = cached_load()
    if options.json:
        print(
            json.dumps({"peak GFLOP/s": peak and peak / 1e9, "cached load ms": load, "rows": rows}, indent=2)
        )
        return
    if peak:
        print(f"one core's peak of fused multiply-adds: {peak / 1e9:.1f} GFLOP/s")
    print(f"compiled function through the cache, all included: {load:.1f} ms")
    for row in rows:
        print()
        for key, value in row.items():
            print(f"  {key:26} {value:.4g}" if isinstance(value, float) else f"  {key:26} {value}")
        for other in ("gcc ns", "casadi gcc ns", "casadi vm ns", "numpy ns"):
            if other in row:
                print(f"  {other.removesuffix(' ns') + ' / jit':26} {row[other] / row['jit ns']:.2f}")


if __name__ == "__main__":
    main()
