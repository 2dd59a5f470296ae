"""Benchmark of the compiler: `make bench`.

For three straight-line programs, PaLiDA's inverse dynamics (about 1000 operations), that of a hexapod-like
model written plainly (2000) and its Jacobian (20 000), in one run on this machine: times to minimise, compile
and reload; time per sample on one thread, on all, and per single bound call; also of gcc on the emitted C
in two orders of its operations (the emitter's own, and the one that the native code begins with), CasADi's
virtual machine, CasADi's C under the same gcc, and NumPy; and the part of one core's measured peak of fused
multiply-adds. The native code and gcc run in turn, in short calls, of which the shortest count. Nothing is
asserted: machines are noisy, ratios within a run are what counts.
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
from typing import Any, NamedTuple
from unittest import mock

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
import hexapod
from casadi_code import CasadiProgram
from native_code import fma_peak, gcc
from programs import HEXAPOD, JACOBIAN, PALIDA, large, palida, small
from timing import best, in_turn, once, processor, say

from nacelle.compile import compile_function
from nacelle.emit.c import parts as c_parts
from nacelle.emit.c.target import COptions, c_source
from nacelle.emit.jit import target as jit
from nacelle.emit.jit.order import fewest_moves_order
from nacelle.emit.jit.plan import fuse, machine_style
from nacelle.emit.machine import host_machine
from nacelle.emit.registry import target
from nacelle.emit.schedule import is_operation, schedule
from nacelle.emit.store import Store
from nacelle.program.cost import count
from nacelle.program.graph import depth_first
from nacelle.program.minimise import minimise


def native_order(program):
    """The order that native code begins with: few values alive; products just before their first use."""
    code = fuse(program)
    wanted = {k: program.code[k][1:] for k in range(len(program.code)) if is_operation(program, k)}
    done = {}
    for k in fewest_moves_order(code, program.results, machine_style(host_machine()).registers):
        for step in depth_first([k], lambda item: [a for a in wanted[item] if a in wanted]):
            done[step] = None
    return list(done)


def gcc_batch(program, folder, arrays, results, operations=None):
    """The emitted C as a batch function: compile time and a call; in another order of the operations."""
    with mock.patch.object(c_parts, "schedule", return_value=operations or schedule(program)):
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


def measure(name, given, folder, peak, with_casadi):
    """One row: a program, what it takes to make it, and the times of a sample."""
    row = {"model": name}
    say(name, "...")
    # A folder of its own: a library is loaded once under one path.
    folder = tempfile.mkdtemp(dir=folder)
    row |= given.value
    program, arrays = given.program, given.arrays
    samples = len(arrays[0])
    counted = count(program)
    row["operations"] = counted.total
    row["÷"], row["√"] = counted.div, counted.sqrt
    row["jit compile s"], image = once(lambda: jit.compile_object(program))
    jit.load_object(image, program)
    row["jit load ms"] = 1e3 * best(lambda: jit.load_object(image, program), repeat=5, least=0.05)
    kernel = jit.load_object(image, program)
    results = [np.empty((samples, v.size)) for v in program.outputs]
    reference = [result.copy() for result in results]
    cores = os.cpu_count() or 1
    functions = {"jit": lambda: kernel.run(arrays, reference, 1)}
    if shutil.which("gcc"):
        row["gcc compile s"], functions["gcc"] = gcc_batch(program, folder, arrays, results)
        apart = tempfile.mkdtemp(dir=folder)
        _, functions["gcc, native order"] = gcc_batch(program, apart, arrays, results, native_order(program))
    times = in_turn(functions, 100)
    ns = {key: 1e9 / samples * min(taken) for key, taken in times.items()}
    row |= {f"{key} ns": value for key, value in ns.items()}
    if "gcc" in ns:
        row["better of gcc / jit"] = min(ns["gcc"], ns["gcc, native order"]) / ns["jit"]
        row["gcc differs by"] = max(
            float(np.max(np.abs(a - b)) / np.max(np.abs(a))) for a, b in zip(reference, results, strict=True)
        )
    row[f"jit {cores} threads ns"] = 1e9 / samples * best(lambda: kernel.run(arrays, reference, cores))
    bound = kernel.bind([a[:1].copy() for a in arrays], [r[:1].copy() for r in results])
    row["jit single call ns"] = 1e9 * best(bound)
    tiles = target("numpy").kernel(program)
    few = min(samples, 4096)
    few_in, few_out = [a[:few].copy() for a in arrays], [r[:few].copy() for r in results]
    row["numpy ns"] = 1e9 / few * best(lambda: tiles.run(few_in, few_out, 1), repeat=3)
    if with_casadi:
        seconds, vm, native, out = casadi_functions(program, folder, arrays)
        row |= {f"{key} s": value for key, value in seconds.items()}
        row["casadi vm ns"], row["casadi gcc ns"] = 1e9 * vm, 1e9 * native
        flat = np.concatenate(reference, axis=1)
        row["casadi differs by"] = float(np.max(np.abs(flat - out)) / np.max(np.abs(flat)))
    row["GFLOP/s"] = counted.total / row["jit ns"]
    row["part of peak"] = 1e9 * counted.total / row["jit ns"] / peak if peak else None
    return row


class Given(NamedTuple):
    """A program, states for it, and what it took to make it."""

    program: Any
    arrays: list
    made: dict


def traced(make_trace, samples):
    """A program of the hexapod's."""
    made = {}
    made["trace s"], found = once(make_trace)
    made["lower s"], literal = once(found.program)
    made["minimise s"], program = once(lambda: minimise(literal))
    made["operations traced"] = count(literal).total
    arrays = [np.ascontiguousarray(a.reshape(samples, -1)) for a in hexapod.states(samples)]
    return Given(program, arrays, made)


def organised(samples):
    """PaLiDA's program, at states of its workspace."""
    seconds, (program, few) = once(palida)
    arrays = [np.ascontiguousarray(np.tile(a, (-(-samples // len(a)), 1))[:samples]) for a in few]
    return Given(program, arrays, {"trace and minimise s": seconds})


def cached_load():
    """A second load of a compiled function through the cache, all included, in ms."""
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder) / "cache")
        compile_function(hexapod.inverse_dynamics, inputs=hexapod.INPUTS, cache=store)
        again = compile_function(hexapod.inverse_dynamics, inputs=hexapod.INPUTS, cache=store)
        assert again.from_cache
        return 1e3 * best(
            lambda: compile_function(hexapod.inverse_dynamics, inputs=hexapod.INPUTS, cache=store),
            repeat=5,
            least=0.05,
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--samples", type=int, default=8192)
    options = parser.parse_args()
    with_casadi = bool(shutil.which("gcc") and importlib.util.find_spec("casadi"))
    # What is loaded at first use is not part of any time.
    compile_function(lambda x: x * x, inputs={"x": ()}, cache=False)
    with tempfile.TemporaryDirectory() as folder:
        peak = fma_peak(folder) if shutil.which("gcc") else None
        rows = [
            measure(PALIDA, organised(options.samples), folder, peak, with_casadi),
            measure(HEXAPOD, traced(small, options.samples), folder, peak, with_casadi),
            measure(JACOBIAN, traced(large, options.samples // 8), folder, peak, with_casadi),
        ]
    load = cached_load()
    if options.json:
        whole = {"processor": processor(), "peak GFLOP/s": peak and peak / 1e9, "cached load ms": load}
        print(json.dumps(whole | {"rows": rows}, indent=2))
        return
    print(f"{processor()}, vectors of {host_machine().width}")
    if peak:
        print(f"one core's peak of fused multiply-adds: {peak / 1e9:.1f} GFLOP/s")
    print(f"compiled function through the cache, all included: {load:.1f} ms")
    for row in rows:
        print()
        for key, value in row.items():
            print(f"  {key:26} {value:.4g}" if isinstance(value, float) else f"  {key:26} {value}")
        for peer in ("casadi gcc ns", "casadi vm ns", "numpy ns"):
            if peer in row:
                print(f"  {peer.removesuffix(' ns') + ' / jit':26} {row[peer] / row['jit ns']:.2f}")


if __name__ == "__main__":
    main()
