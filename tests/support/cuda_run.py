"""Programs through their plain kernel on this machine (`cuda_host`), several of them in one source."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from nacelle.emit.cuda.plan import CudaOptions
from nacelle.emit.cuda.target import kernels, source_text
from nacelle.program.program import Program
from support import cuda_host

Array = np.ndarray


class Many:
    """Programs in one source; `run` evaluates one of them."""

    def __init__(self, programs: Sequence[Program], options: CudaOptions, shared: Sequence[str] = ()) -> None:
        self.programs, self.shared = programs, shared
        self.made = [
            kernels(program, replace(options, name=f"program_{k}"), shared)
            for k, program in enumerate(programs)
        ]
        self.text = source_text("\n".join(one.text for one in self.made), options)
        self.kind = np.float64 if options.real == "double" else np.float32

    def run(self, k: int, inputs: Sequence[Array]) -> list[Array]:
        """Outputs (N, size) of program k at inputs (N, size); of shared ones the first row counts."""
        program, count = self.programs[k], max((len(array) for array in inputs), default=1)
        arguments: list[Any] = []
        held = []
        for variable, array in zip(program.inputs, inputs, strict=True):
            if not variable.size:
                continue
            own = variable.name not in self.shared
            rows = np.ascontiguousarray(array.T if own else array[0], dtype=self.kind)
            held.append(rows)
            arguments.append(ctypes.c_void_p(rows.ctypes.data))
            arguments += [ctypes.c_uint64(count)] if own else []
        outputs = [np.full((v.size, count), 77.0, dtype=self.kind) for v in program.outputs]
        for rows in outputs:
            if len(rows):
                arguments += [ctypes.c_void_p(rows.ctypes.data), ctypes.c_uint64(count)]
        launch = self.made[k].plain
        cuda_host.call(self.text, launch.kernel, 2, (*arguments, ctypes.c_uint64(count)))
        return [rows.T for rows in outputs]
