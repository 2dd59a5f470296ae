"""Running kernels and drivers on a device: the one home of CuPy.

CuPy compiles by NVRTC, keeps what it has compiled in its own cache, and gives memory and streams. Data stays
on the device: arrays come as CuPy arrays or by DLPack, and results are CuPy arrays. They are structures of
arrays: (size, N), numbers of a row side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, TypeVar

import numpy as np

from nacelle.distribution import install_command
from nacelle.emit.cuda.drivers import DriverKernel, InputLayout, newton_kernel, rk4_kernel
from nacelle.emit.cuda.implicit import irk5_kernel
from nacelle.emit.cuda.plan import THREADS, CudaOptions
from nacelle.emit.cuda.target import Kernels, Launch, source_text
from nacelle.emit.cuda.tensor_map import has_tensor_maps, tensor_map
from nacelle.emit.irk5_steps import REPORTED_COUNTS
from nacelle.emit.newton import NOT_FINITE, NewtonResult, NewtonRules, newton_sizes
from nacelle.emit.rk4 import Rk4Result, integration_sizes, require_delay
from nacelle.errors import DeviceError
from nacelle.program.program import Program

_T = TypeVar("_T")

FALLBACK_HINT = "on the processor the same program runs with target='jit'"
"""What to do without a device."""

# Devices with the copy engine that fills tiles, and the alignment of the rows that it copies.
_TILED_CAPABILITY = 90
_ALIGNED = 16
# Tensor maps that are kept: a program is often called on the same arrays.
_MAPS = 256
_ON_DEVICE = (2, 13)  # DLPack's numbers of memory of a CUDA device, and of managed memory


@cache
def cupy() -> Any:
    """CuPy with a device.

    Raises:
        DeviceError: if it is missing, there is no device, or its driver is too old.
    """
    try:
        import cupy as module
    except ImportError as error:
        raise DeviceError(
            f"the target 'cuda' needs CuPy ({install_command('gpu')}): {error}; {FALLBACK_HINT}"
        ) from None
    try:
        count = module.cuda.runtime.getDeviceCount()
    except module.cuda.runtime.CUDARuntimeError as error:
        raise DeviceError(_reason(str(error))) from None
    if not count:
        raise DeviceError(f"there is no CUDA device; {FALLBACK_HINT}")
    return module


def _reason(text: str) -> str:
    """Why no device can be used."""
    if "InsufficientDriver" in text or "insufficient" in text:
        return f"the driver of the CUDA device is older than CuPy's CUDA ({text}): update it; {FALLBACK_HINT}"
    if "NoDevice" in text or "no CUDA-capable device" in text:
        return f"there is no CUDA device ({text}); {FALLBACK_HINT}"
    return f"no CUDA device can be used ({text}); {FALLBACK_HINT}"


def run_on_device(what: str, make: Callable[[], _T]) -> _T:
    """Do something on the device, with errors that say what failed and what else there is.

    Raises:
        DeviceError: if the device's memory does not suffice, or the device fails.
    """
    module = cupy()
    try:
        return make()
    except module.cuda.memory.OutOfMemoryError as error:
        free, total = module.cuda.runtime.memGetInfo()
        raise DeviceError(
            f"the device's memory does not suffice for {what}: {error} ({free / 1e9:.1f} of "
            f"{total / 1e9:.1f} GB are free); evaluate fewer states at a time; {FALLBACK_HINT}"
        ) from None
    except module.cuda.compiler.CompileException as error:
        raise DeviceError(f"NVRTC cannot compile {what}: {error}; {FALLBACK_HINT}") from None
    except (module.cuda.runtime.CUDARuntimeError, module.cuda.driver.CUDADriverError) as error:
        raise DeviceError(f"the device failed at {what}: {error}; {FALLBACK_HINT}") from None


def device_array(value: Any, name: str, real: str) -> Any:
    """An array on the device as CuPy's, without a copy.

    Raises:
        DeviceError: if it is not on a device, or of another type.
    """
    module = cupy()
    array = value
    if not isinstance(value, module.ndarray):
        device = getattr(value, "__dlpack_device__", None)
        if device is None or int(device()[0]) not in _ON_DEVICE:
            kind = type(value)
            raise DeviceError(
                f"{name!r} is {kind.__module__}.{kind.__qualname__} in the processor's memory: give an array "
                f"on the device (cupy.asarray, or anything with DLPack); {FALLBACK_HINT}"
            )
        array = run_on_device(f"taking {name!r} by DLPack", lambda: module.from_dlpack(value))
    expected = "float64" if real == "double" else "float32"
    if str(array.dtype) != expected:
        raise DeviceError(
            f"{name!r} is of type {array.dtype}, the program computes in {expected}: convert it "
            f"(.astype), or compile with CudaOptions({'float' if real == 'double' else 'double'!r})"
        )
    return array


class LoadedKernel:
    """A kernel on the device.

    Args:
        text: source that has it, without the header.
        launch: what its launch needs.
        options: how CUDA is written.
        label: what the program is called in errors.
    """

    def __init__(self, text: str, launch: Launch, options: CudaOptions, label: str) -> None:
        self.launch, self.label, self.across = launch, label, THREADS * launch.states
        self._processors = int(cupy().cuda.Device().attributes["MultiProcessorCount"])

        def load() -> Any:
            function = _module(source_text(text, options)).get_function(launch.kernel)
            if launch.shared_bytes:
                function.max_dynamic_shared_size_bytes = launch.shared_bytes
            return function

        self.function = run_on_device(label, load)

    def grid(self, count: int) -> int:
        """Number of blocks for `count` states."""
        return min(-(-count // self.across), self._processors * self.launch.blocks)

    def prepare(self, arguments: Sequence[Any], count: int) -> Callable[[], None]:
        """Give a function without arguments that launches it for `count` states."""
        grid, shared = self.grid(count), self.launch.shared_bytes
        passed = (*arguments, np.uint64(count))
        return lambda: run_on_device(
            self.label, lambda: self.function((grid,), (THREADS,), passed, shared_mem=shared)
        )


class LoadedKernels:
    """Kernels of a program on the device; `label` is what the program is called in errors."""

    def __init__(self, kernels: Kernels, options: CudaOptions, label: str) -> None:
        self.kernels = kernels
        self._plain = LoadedKernel(kernels.text, kernels.plain, options, label)
        self._tiled: LoadedKernel | None = None
        self._maps: dict[Any, Any] = {}
        capability = int(cupy().cuda.Device().compute_capability)
        if kernels.tiled is not None and capability >= _TILED_CAPABILITY and has_tensor_maps():
            self._tiled = LoadedKernel(kernels.text, kernels.tiled, options, label)

    def run(self, arrays: Sequence[tuple[Any, str]], count: int) -> None:
        """Evaluate `count` states; arguments as in `prepare`."""
        self.prepare(arrays, count)()

    def prepare(self, arrays: Sequence[tuple[Any, str]], count: int) -> Callable[[], None]:
        """Give a function without arguments that evaluates `count` states.

        Args:
            arrays: inputs, then outputs, each with its kind: "own": rows (size, count) of numbers side by
                side that are read; "shared": (size,) that all states share; "written": rows that are written.
            count: number of states.
        """
        if self._tiled is not None and _is_aligned(arrays):
            across = self._tiled.across
            return self._tiled.prepare(
                [x for array in arrays for x in self._tiled_arguments(*array, across)], count
            )
        return self._plain.prepare([x for array in arrays for x in array_arguments(*array)], count)

    def _tiled_arguments(self, array: Any, kind: str, across: int) -> list[Any]:
        """The arguments of the tiled kernel for an array."""
        if kind != "own":
            return array_arguments(array, kind)
        key = (array.data.ptr, array.shape, array.strides)
        if key not in self._maps:
            if len(self._maps) >= _MAPS:
                self._maps.clear()
            self._maps[key] = tensor_map(array, across)
        return [self._maps[key]]

    @property
    def used(self) -> dict[str, dict[str, int]]:
        """Registers and bytes of local memory (spills) of a thread, by kernel."""
        kinds = {"plain": self._plain, "tiled": self._tiled}
        functions = {kind: loaded.function for kind, loaded in kinds.items() if loaded is not None}
        return {
            kind: {"registers": int(f.num_regs), "spilled": int(f.local_size_bytes)}
            for kind, f in functions.items()
        }


class LoadedDriver(LoadedKernel):
    """The kernel of a driver on the device; `label` is what the program is called in errors."""

    def __init__(self, kernel: DriverKernel, options: CudaOptions, label: str) -> None:
        super().__init__(kernel.text, kernel.launch, options, label)
        self._columns = max(1, kernel.scratch)
        self._type = np.dtype(np.float64 if options.real == "double" else np.float32)

    def scratch(self, count: int) -> Any:
        """The scratch columns of a run of `count` samples."""
        module, size = cupy(), self._columns * THREADS * self.grid(count)
        return run_on_device(f"{self.label} (scratch)", lambda: module.empty(size, dtype=self._type))

    def run(self, arguments: Sequence[Any], count: int) -> None:
        """Run `count` samples; arrays of rows are followed by the distance of their rows."""
        self.prepare(arguments, count)()


@cache
def _module(text: str) -> Any:
    """Compile source for the present device."""
    return cupy().RawModule(code=text, options=("-std=c++17",), backend="nvrtc")


def array_arguments(array: Any, kind: str) -> list[Any]:
    """The arguments of a kernel for an array: its place, and the distance of its rows in numbers."""
    return [array] if kind == "shared" else [array, np.uint64(array.strides[0] // array.itemsize)]


def _is_aligned(arrays: Sequence[tuple[Any, str]]) -> bool:
    """Whether all rows begin at multiples of 16 bytes."""
    rows = [array for array, kind in arrays if kind != "shared"]
    return all(array.data.ptr % _ALIGNED == 0 and array.strides[0] % _ALIGNED == 0 for array in rows)


# ---- newton's iteration and the Runge-Kutta method on the device, on rows of numbers


class DeviceNewton:
    """Newton's iteration around a step program.

    Attributes:
        program: the step.
        options: how CUDA is written.
    """

    def __init__(self, program: Program, options: CudaOptions | None = None) -> None:
        self.program, self.options = program, options or CudaOptions()
        self.n, self.k = newton_sizes(program)
        self._loaded: dict[bool, LoadedDriver] = {}

    def _driver(self, per_sample: bool) -> LoadedDriver:
        if per_sample not in self._loaded:
            kernel = newton_kernel(self.program, self.options, per_sample=per_sample)
            self._loaded[per_sample] = LoadedDriver(kernel, self.options, self.program.name)
        return self._loaded[per_sample]

    def solve(self, y0: Any, p: Any, rules: NewtonRules) -> NewtonResult:
        """Solve for every sample; y is (n, N), on the device.

        Args:
            y0: where to start (n, N).
            p: parameters (k, N), or (k,) for all samples.
            rules: when the iteration ends.
        """
        module, own_parameters = cupy(), p.ndim == 2
        driver, count = self._driver(own_parameters), int(y0.shape[1])
        y = run_on_device(self.program.name, lambda: module.empty((self.n, count), dtype=y0.dtype))
        iterations, status = (module.empty(count, dtype=np.int64) for _ in range(2))
        arguments = [
            *array_arguments(y0, "own"),
            *_parameter_arguments(p),
            *array_arguments(y, "written"),
            iterations,
            status,
            driver.scratch(count),
            y0.dtype.type(rules.tolerance),
            np.int64(rules.max_iterations),
            module.asarray(rules.weights(self.n), dtype=y0.dtype),
            np.int32(rules.polish),
        ]
        if count:
            driver.run(arguments, count)
        return NewtonResult(y, iterations, status)


class DeviceRk4:
    """Fixed steps of the Runge-Kutta method around a derivative program and, where there is one, a control.

    Attributes:
        program: the derivative.
        control: what gives the inputs at the begin of every period.
        options: how CUDA is written.
        sampled: whether the control has memory and a delay, as in `nacelle.emit.rk4`.
    """

    def __init__(
        self,
        program: Program,
        control: Program | None = None,
        options: CudaOptions | None = None,
        *,
        sampled: bool = False,
    ) -> None:
        self.program, self.control, self.options = program, control, options or CudaOptions()
        self.sampled = sampled
        self._loaded: dict[InputLayout, LoadedDriver] = {}

    @cached_property
    def sizes(self) -> Any:
        """Numbers of states, of inputs in a row, and of parameters."""
        return integration_sizes(self.program, self.control, sampled=self.sampled)

    def driver(self, layout: InputLayout) -> LoadedDriver:
        """The kernel for inputs that are given in a way."""
        if layout not in self._loaded:
            kernel = rk4_kernel(self.program, self.control, self.options, layout, sampled=self.sampled)
            self._loaded[layout] = LoadedDriver(kernel, self.options, self.program.name)
        return self._loaded[layout]

    def integrate(
        self,
        x0: Any,
        u: Any,
        p: Any,
        *,
        h: float,
        steps: int,
        every: int = 0,
        held: int = 1,
        delay: int = 0,
    ) -> Rk4Result:
        """Integrate from every initial state; x is (stored, n, N) and final (n, N), on the device.

        Args:
            x0: initial states (n, N); X (n + nz + m, N) in the sampled form.
            u: inputs of each sample (m, N), held throughout; or the same for all samples: (rows, m, 1) with a
                row for every `held` steps, three rows a step, or one row.
            p: parameters (k, N), or (k,) for all samples.
            h: length of a step in seconds.
            steps: number of steps.
            every: number of steps from one stored state to the next; none is stored if 0.
            held: over how many steps a row of the inputs, or what the control gives, is held.
            delay: after how many steps of a period what a sampled control gives acts, fewer than `held`.

        Raises:
            ValueError: if there is a delay without a sampled control.
        """
        require_delay(delay, held, sampled=self.sampled)
        module, count = cupy(), int(x0.shape[1])
        layout = InputLayout("rows" if u.ndim == 3 else "own", "own" if p.ndim == 2 else "shared")
        driver, stored = self.driver(layout), steps // every if every else 0
        n, name = int(x0.shape[0]), self.program.name
        final = run_on_device(name, lambda: module.empty((n, count), dtype=x0.dtype))
        kept = run_on_device(name, lambda: module.full((stored, n, count), np.nan, dtype=x0.dtype))
        completed = module.empty(count, dtype=np.int64)
        rows = int(u.shape[0]) if layout.u == "rows" else 1
        arguments = [
            *array_arguments(x0, "own"),
            u,
            np.uint64(0 if layout.u == "rows" else u.strides[0] // u.itemsize),
            *_parameter_arguments(p),
            *array_arguments(final, "written"),
            kept,
            np.uint64(count),
            completed,
            driver.scratch(count),
            x0.dtype.type(h),
            *(np.uint64(value) for value in (steps, every, held, delay, rows)),
        ]
        if count:
            driver.run(arguments, count)
        status = module.where(completed < steps, NOT_FINITE, 0)
        return Rk4Result(kept, final, completed, status)


@dataclass(frozen=True)
class DeviceImplicitMotion:
    """Motions by implicit steps from many initial states, on the device.

    Attributes:
        x: the states after each `every` steps (stored, n, N); NaN from where a step failed.
        final: the last states (n, N).
        completed: steps that were completed (N,).
        status: 0 all were, 1 Newton's iteration did not converge, or a state was not finite (N,).
        evaluations: how often the derivative was evaluated, those for J included (N,).
        jacobians: how often J was computed (N,).
    """

    x: Any
    final: Any
    completed: Any
    status: Any
    evaluations: Any
    jacobians: Any


class DeviceIrk5:
    """Fixed implicit steps around a derivative program and, where there is one, a control program."""

    def __init__(
        self, program: Program, control: Program | None = None, options: CudaOptions | None = None
    ) -> None:
        self.program, self.control, self.options = program, control, options or CudaOptions()

    @cached_property
    def _driver(self) -> LoadedDriver:
        kernel = irk5_kernel(self.program, self.control, self.options)
        return LoadedDriver(kernel, self.options, self.program.name)

    def integrate(
        self, x0: Any, u: Any, p: Any, *, h: float, steps: int, every: int = 0, held: int = 1
    ) -> DeviceImplicitMotion:
        """Integrate from every initial state.

        Args:
            x0: initial states (n, N).
            u: inputs of each sample (m, N), held throughout; or the same for all samples: (rows, m, 1) with a
                row for every `held` steps or one row, or (steps, 3, m, 1), at the `STAGES` of every step.
            p: parameters (k, N), or (k,) for all samples.
            h: length of a step in seconds.
            steps: number of steps.
            every: number of steps from one stored state to the next; none is stored if 0.
            held: over how many steps a row of the inputs, or what the control gives, is held.
        """
        module, (n, count), name = cupy(), x0.shape, self.program.name
        stored = run_on_device(
            name, lambda: module.full((steps // every if every else 0, n, count), np.nan, dtype=x0.dtype)
        )
        final = run_on_device(name, lambda: module.empty((n, count), dtype=x0.dtype))
        counts = module.empty((len(REPORTED_COUNTS), count), dtype=np.int64)
        own_inputs, m = u.ndim == 2, int(u.shape[0] if u.ndim == 2 else u.shape[-2])
        u_step, u_stage = (0, 0) if own_inputs or len(u) == 1 else (m, 0)
        if u.ndim == 4:
            u_step, u_stage = 3 * m, m
        arguments = [
            *array_arguments(x0, "own"),
            *(array_arguments(u, "own") if own_inputs else [u, np.uint64(1)]),
            *(array_arguments(p, "own") if p.ndim == 2 else [p, np.uint64(1)]),
            *(stored, np.uint64(count), *array_arguments(final, "written"), counts, np.uint64(count)),
            *(self._driver.scratch(count), np.int32(own_inputs), np.int32(p.ndim == 2)),
            *(np.uint64(u_step), np.uint64(u_stage), x0.dtype.type(h)),
            *(np.uint64(value) for value in (steps, every, held)),
        ]
        if count:
            self._driver.run(arguments, count)
        return DeviceImplicitMotion(stored, final, *counts)


def _parameter_arguments(p: Any) -> list[Any]:
    """The arguments of parameters, own or shared."""
    return array_arguments(p, "own") if p.ndim == 2 else [p, np.uint64(0)]
