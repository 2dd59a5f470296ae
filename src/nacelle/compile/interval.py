"""Programs over boxes, compiled: bounds of the results of a program where its inputs lie in boxes.

A box has bounds (..., n, 2), the lower ones first. What runs is `nacelle.program.interval.interval_program`.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nacelle.compile.compiled import Compiled
from nacelle.compile.native import numpy_kernel, runnable_target
from nacelle.compile.packed import pack_entry, package_hash, unpack_entry
from nacelle.emit.cuda.plan import CudaOptions
from nacelle.emit.registry import TargetError, warn_once
from nacelle.emit.store import Store
from nacelle.program.interval import JUMPS, interval_program
from nacelle.program.program import Program

Array = NDArray[Any]


class BoxFunction:
    """Bounds of the results of a program over boxes of its inputs.

    Attributes:
        program: what is bounded.
        bounds: the compiled program of the bounds.
    """

    def __init__(self, program: Program, target: str = "jit") -> None:
        """Compile.

        Args:
            program: any program.
            target: "jit", or "numpy", which needs no compiler; with "cuda" `bounds` takes arrays of a device.
        """
        self.program = program
        self.bounds = _compile_bounds(program, target)

    def __call__(self, *boxes: Array) -> dict[str, Array]:
        """Bounds (..., *shape, 2) of the outputs by name.

        Args:
            *boxes: for each input bounds (..., *shape, 2); leading dimensions broadcast.
        """
        ends = [np.asarray(box[..., k], dtype=float, order="C") for box in boxes for k in range(2)]
        # NumPy, where it takes the place of a compiler, would warn of NaN.
        with np.errstate(all="ignore"):
            results = self.bounds(*ends)
        bounds = {
            name: np.stack([results[f"{name}_lo"], results[f"{name}_hi"]], axis=-1)
            for name in (variable.name for variable in self.program.outputs)
        }
        sides = bounds.pop(JUMPS, None)
        if sides is not None:
            # A derivative says nothing about a box in which the function jumps.
            jumps = ~np.all(sides[..., 0] == sides[..., 1], axis=-1)
            for values in bounds.values():
                values[jumps] = np.nan
        return bounds


@lru_cache(maxsize=64)
def _compile_bounds(program: Program, target: str) -> Compiled:
    return compiled_exactly(interval_program(program), target)


def compiled_exactly(bounds: Program, target: str = "jit") -> Compiled:
    """A program as it is, not minimised: from the user's cache or compiled anew.

    On "cuda" quotients and roots are those of IEEE 754, on which bounds rest.
    """
    if target == "cuda":
        from nacelle.compile.on_device import DeviceFunction

        return DeviceFunction(bounds, CudaOptions(ieee=True))
    if runnable_target(target).name != "jit":
        return Compiled(bounds, numpy_kernel(bounds), "numpy")
    from nacelle.emit.jit import target as jit

    code = json.dumps([bounds.inputs, bounds.outputs, bounds.code, bounds.results], default=vars)
    store, key = Store(), json.dumps(["bounds", code, package_hash(), jit.machine_key()])
    try:
        payload = store.get(key)
        if payload is not None:
            return Compiled(bounds, jit.load_object(unpack_entry(payload).image, bounds), "jit")
    except (ValueError, KeyError, TypeError, RuntimeError, OSError, TargetError):
        pass  # damaged or foreign: made anew
    try:
        image = jit.compile_object(bounds)
        result = Compiled(bounds, jit.load_object(image, bounds), "jit")
    except TargetError as error:
        warn_once(f"{bounds.name} runs as NumPy, far slower: {error}")
        return Compiled(bounds, numpy_kernel(bounds), "numpy")
    store.put(key, pack_entry(bounds, image))
    return result
