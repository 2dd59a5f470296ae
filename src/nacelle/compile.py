"""Compiling physics: trace, minimise, emit, keep.

    inverse = nacelle.compile(function, robot)
    inverse.count            # operations, by class
    inverse(x, v, a)         # NumPy arrays with leading batch dimensions
    step = inverse.bind(x=x, v=v, a=a)     # prebound buffers for a control loop
    inverse.source("c")      # the same program as C99

    inverse = nacelle.compile(function, robot, parameters="input")
    inverse(robot.numbers.vector(), x, v, a)      # numbers and states with leading batch dimensions

The physics is an argument: nothing here knows any. A compiled program is kept in the user's cache under
a key made of the robot's hash, the function, the options, the package's source and the machine, so that a
second process loads it without tracing.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import types
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from nacelle.emit.newton import NumpyNewton, Solver
from nacelle.emit.registry import Kernel, Target, TargetError, target, warn_once
from nacelle.emit.rk4 import Integrator, NumpyRk4
from nacelle.emit.store import Store
from nacelle.errors import NacelleError, did_you_mean
from nacelle.model.numbers.parameters import GROUPS
from nacelle.model.robot import Robot
from nacelle.program.cost import Count, cost, count
from nacelle.program.identities.merge import with_identities
from nacelle.program.identities.parametric import split_with_identities
from nacelle.program.minimise import minimise
from nacelle.program.program import Program, Variable
from nacelle.program.split import PREPARED, Split, joined, split, with_parameter_jacobians
from nacelle.program.trace import Trace, trace
from nacelle.progress import task
from nacelle.spatial.physics import input_shapes, sampler_of

# Below this many samples a second thread costs more than it saves.
_SAMPLES_PER_THREAD = 2048
# The prepared numbers of no more robots are kept at once.
_SAMPLES_PREPARED = 16_384


class CompileError(NacelleError):
    """A function cannot be compiled, or a compiled one is called wrongly."""


class Compiled:
    """A compiled physics function.

    Attributes:
        target: name of the target that runs it.
        inputs: names and shapes of its arguments.
        outputs: names and shapes of its results.
        from_cache: whether it was loaded from the user's cache.
    """

    def __init__(
        self, signature: Program, kernel: Kernel, target_name: str, packed: bytes | None = None
    ) -> None:
        """Keep a kernel with its signature; `packed` is the program's code where it came from the cache."""
        self.name = signature.name
        self.target = target_name
        self.inputs = {variable.name: variable.shape for variable in signature.inputs}
        self.outputs = {variable.name: variable.shape for variable in signature.outputs}
        self.from_cache = packed is not None
        self._signature = signature
        self._packed = packed
        self._kernel = kernel

    @cached_property
    def program(self) -> Program:
        """The straight-line program that runs."""
        return self._signature if self._packed is None else _with_code(self._signature, self._packed)

    @property
    def count(self) -> Count:
        """Operations by class, by the plain counting rule."""
        return count(self.program)

    @property
    def cost(self) -> float:
        """Weighted cost, in products."""
        return cost(self.program)

    def source(self, language: str = "c") -> str:
        """The program as source text of another target: "c", "python", "numpy" or "jit" (LLVM)."""
        return target(language).source(self.program)

    def __call__(self, *arrays: Any, threads: int | None = None, **named: Any) -> Any:
        """Evaluate on arrays with leading batch dimensions (..., *shape), which broadcast.

        Args:
            *arrays: the inputs in order; or by name.
            threads: how many threads share the samples; as many as cores for large batches if None.
            **named: inputs by name.

        Returns:
            One array (..., *shape) if the function has one output, else a dict of arrays by name.
        """
        values = arguments_of(self.name, self.inputs, arrays, named)
        batch, flat = self._flatten(values)
        number = math.prod(batch)
        results = [np.empty((number, variable.size)) for variable in self._signature.outputs]
        if number:
            self._kernel.run(flat, results, threads or _threads(number))
        shaped = {
            variable.name: result.reshape(batch + variable.shape)
            for variable, result in zip(self._signature.outputs, results, strict=True)
        }
        return next(iter(shaped.values())) if len(shaped) == 1 else shaped

    def bind(self, **buffers: NDArray[Any]) -> Bound:
        """Give a function without arguments that reads and writes fixed buffers.

        Args:
            **buffers: arrays by input or output name, C-contiguous float64 of their exact shape; those
                not given are made.
        """
        arrays: dict[str, NDArray[Any]] = {}
        known = {**self.inputs, **self.outputs}
        for name, buffer in buffers.items():
            if name not in known:
                raise CompileError(
                    f"{self.name} has no input or output {name!r}; {did_you_mean(name, known)}"
                )
            if buffer.dtype != np.float64 or not buffer.flags.c_contiguous or buffer.shape != known[name]:
                raise CompileError(
                    f"the buffer {name!r} must be a C-contiguous float64 array of shape {known[name]}"
                )
            arrays[name] = buffer
        for name, shape in known.items():
            arrays.setdefault(name, np.zeros(shape))
        rows = [arrays[variable.name].reshape(1, variable.size) for variable in self._signature.inputs]
        results = [arrays[variable.name].reshape(1, variable.size) for variable in self._signature.outputs]
        return Bound(self._kernel.bind(rows, results), arrays)

    def _flatten(self, values: Sequence[Any]) -> tuple[tuple[int, ...], list[NDArray[Any]]]:
        """Bring the inputs to (N, size), or (1, size) where they have no batch of their own."""
        arrays, batches = batched(self.name, self.inputs, values)
        batch = np.broadcast_shapes(*batches) if batches else ()
        flat = []
        for variable, array, own in zip(self._signature.inputs, arrays, batches, strict=True):
            if math.prod(own) == 1:
                rows = array.reshape(1, variable.size)
            else:
                rows = np.broadcast_to(array, batch + variable.shape)
                rows = rows.reshape(math.prod(batch), variable.size)
            flat.append(np.ascontiguousarray(rows))
        return batch, flat

    def __repr__(self) -> str:
        """Give name, target and count."""
        return f"<Compiled {self.name} ({self.target}): {self.count}>"


class Parametric(Compiled):
    """A compiled physics function whose first input, "parameters", are free numbers of the robot.

    It runs in two parts: the prologue once for every set of numbers, the body for every state.

        prepared = function.prologue(parameters)
        function.body(prepared, x, v, a)          # what function(parameters, x, v, a) gives

    Attributes:
        prologue: from "parameters" to "prepared".
        body: from "prepared" and the other inputs to the results.
        inputs: names and shapes of its arguments.
        outputs: names and shapes of its results.
    """

    def __init__(self, prologue: Compiled, body: Compiled) -> None:
        """Keep both parts."""
        self.prologue, self.body = prologue, body
        self.name = body.name
        self.target = body.target
        self.inputs = {**prologue.inputs, **{k: v for k, v in body.inputs.items() if k != PREPARED}}
        self.outputs = body.outputs
        self.from_cache = prologue.from_cache and body.from_cache

    @property
    def program(self) -> Program:
        """Both parts as one straight-line program."""
        return joined(self.prologue.program, self.body.program)

    @property
    def count(self) -> Count:
        """Operations of the body by class, by the plain counting rule."""
        return self.body.count

    @property
    def cost(self) -> float:
        """Weighted cost of the body, in products."""
        return self.body.cost

    def source(self, language: str = "c") -> str:
        """Both parts as source text, first the prologue, whose name ends in "_prepare"."""
        return "\n".join(part.source(language) for part in (self.prologue, self.body))

    def __call__(self, *arrays: Any, threads: int | None = None, **named: Any) -> Any:
        """Evaluate on arrays with leading batch dimensions (..., *shape), which broadcast.

        The prologue runs over the batch that the parameters have themselves: one robot with a million states
        and a million robots with a state each take one call.

        Args:
            *arrays: the parameters, then the other inputs in order; or by name.
            threads: how many threads share the samples; as many as cores for large batches if None.
            **named: inputs by name.

        Returns:
            One array (..., *shape) if the function has one output, else a dict of arrays by name.
        """
        values = arguments_of(self.name, self.inputs, arrays, named)
        shaped, batches = batched(self.name, self.inputs, values)
        batch = np.broadcast_shapes(*batches)
        results = {name: np.empty(batch + shape) for name, shape in self.outputs.items()}
        if math.prod(batch):
            self._fill(results, shaped[0], shaped[1:], batch, threads)
        return next(iter(results.values())) if len(results) == 1 else results

    def _fill(
        self,
        results: Mapping[str, NDArray[Any]],
        parameters: NDArray[Any],
        others: Sequence[NDArray[Any]],
        batch: tuple[int, ...],
        threads: int | None,
    ) -> None:
        """Evaluate into the results, in parts of no more prepared numbers than fit into a cache."""
        if math.prod(parameters.shape[:-1]) == 1 or math.prod(batch) <= _SAMPLES_PREPARED:
            made = self.body(self.prologue(parameters, threads=threads), *others, threads=threads)
            found = made if isinstance(made, dict) else {next(iter(results)): made}
            for name, value in found.items():
                results[name][...] = value
            return
        step = max(1, _SAMPLES_PREPARED // math.prod(batch[1:]))
        for start in range(0, batch[0], step):
            part = slice(start, min(start + step, batch[0]))
            length = part.stop - part.start
            whole = length > 1 or len(batch) == 1
            self._fill(
                {name: value[part] if whole else value[start] for name, value in results.items()},
                _part(parameters, 1, batch, part, whole),
                [
                    _part(other, len(shape), batch, part, whole)
                    for other, shape in zip(others, list(self.inputs.values())[1:], strict=True)
                ],
                (length, *batch[1:]) if whole else batch[1:],
                threads,
            )

    def bind(self, **buffers: NDArray[Any]) -> Bound:
        """Give a function without arguments that reads and writes fixed buffers, prologue included.

        Where the numbers stay, `function.body.bind(prepared=function.prologue(parameters), ...)` runs the
        body alone.

        Args:
            **buffers: arrays by input or output name, as for `Compiled.bind`.
        """
        arguments_of(self.name, {**self.inputs, **self.outputs}, (), buffers, partly=True)
        own = {name: buffer for name, buffer in buffers.items() if name in self.prologue.inputs}
        first = self.prologue.bind(**own)
        rest = {name: buffer for name, buffer in buffers.items() if name not in own}
        second = self.body.bind(prepared=first[PREPARED], **rest)

        def call() -> None:
            first.call()
            second.call()

        return Bound(call, {**first.arrays, **second.arrays})

    def __repr__(self) -> str:
        """Give name, target and counts."""
        return f"<Parametric {self.name} ({self.target}): {self.count}; prologue {self.prologue.count}>"


def _part(array: NDArray[Any], rank: int, batch: tuple[int, ...], part: slice, whole: bool) -> NDArray[Any]:
    """The part of an array with batch dimensions that goes with a part of the leading one."""
    own = array.ndim - rank
    if own < len(batch):
        return array
    if array.shape[0] == 1:
        return array if whole else array[0]
    return array[part] if whole else array[part.start]


def arguments_of(
    function: str,
    inputs: Mapping[str, tuple[int, ...]],
    arrays: Sequence[Any],
    named: Mapping[str, Any],
    *,
    partly: bool = False,
) -> list[Any]:
    """The arguments of a function in order, given by position or by name; all of them unless `partly`."""
    names = list(inputs)
    if len(arrays) > len(names):
        raise CompileError(f"{function} takes {len(names)} inputs ({', '.join(names)}), got {len(arrays)}")
    values = dict(zip(names, arrays, strict=False))
    for name, value in named.items():
        if name not in inputs:
            what = "input or output" if partly else "input"
            raise CompileError(f"{function} has no {what} {name!r}; {did_you_mean(name, names)}")
        if name in values:
            raise CompileError(f"the input {name!r} of {function} is given twice")
        values[name] = value
    # An input without entries, such as y of a robot without iteration, need not be given.
    if not partly:
        values = {**{name: np.zeros(inputs[name]) for name in names if 0 in inputs[name]}, **values}
    missing = [name for name in names if name not in values]
    if missing and not partly:
        raise CompileError(f"{function} needs the inputs {', '.join(missing)}")
    return [values[name] for name in names if name in values]


def batched(
    function: str, inputs: Mapping[str, tuple[int, ...]], values: Sequence[Any]
) -> tuple[list[NDArray[Any]], list[tuple[int, ...]]]:
    """The inputs of a function as arrays, and the batch dimensions of each, which broadcast."""
    arrays, batches = [], []
    for (name, shape), value in zip(inputs.items(), values, strict=True):
        array = np.asarray(value, dtype=np.float64)
        rank = len(shape)
        if array.shape[array.ndim - rank :] != shape or array.ndim < rank:
            raise CompileError(
                f"the input {name!r} of {function} has shape (..., "
                f"{', '.join(map(str, shape))}), got {array.shape}"
            )
        arrays.append(array)
        batches.append(array.shape[: array.ndim - rank])
    try:
        np.broadcast_shapes(*batches)
    except ValueError:
        words = ", ".join(f"{name} {b}" for name, b in zip(inputs, batches, strict=True))
        raise CompileError(f"the batch dimensions do not broadcast: {words}") from None
    return arrays, batches


class Bound:
    """A compiled function on fixed buffers: call it, read the outputs.

    Attributes:
        arrays: the buffers by name.
    """

    __slots__ = ("arrays", "call")

    def __init__(self, function: Callable[[], None], arrays: dict[str, NDArray[Any]]) -> None:
        # The bare function, for the tightest loops.
        self.call = function
        self.arrays = arrays

    def __call__(self) -> None:
        """Evaluate once."""
        self.call()

    def __getitem__(self, name: str) -> NDArray[Any]:
        """The buffer of an input or output."""
        return self.arrays[name]


@cache
def _cores() -> int:
    """How many cores there are; asking the system takes longer than one sample of most programs."""
    return os.cpu_count() or 1


def _threads(number: int) -> int:
    return max(1, min(_cores(), number // _SAMPLES_PER_THREAD))


def compile_function(
    function: Callable[..., Any],
    robot: Robot | None = None,
    *,
    inputs: Mapping[str, tuple[int, ...]] | None = None,
    parameters: str | Sequence[str] = "constant",
    derivatives: Sequence[str] = (),
    options: Mapping[str, Any] | None = None,
    target: str = "jit",
    minimised: bool = True,
    use_cache: bool = True,
    store: Store | None = None,
) -> Compiled:
    """Compile a physics function.

    Args:
        function: called as function(robot, *arrays), or function(*arrays) if there is no robot; its
            inputs are declared by `@physics` or given.
        robot: the robot; its numbers are folded into the program.
        inputs: names and shapes of the arrays, if the function does not declare them.
        parameters: "constant": the robot's numbers are constants; "input": its free numbers
            (`robot.numbers`) are the first input, "parameters"; or a list of groups ("inertia", ...) of them.
        derivatives: names of outputs whose derivatives by the parameters, all other inputs held, are outputs
            too: "d_OUTPUT_d_parameters", of shape (*shape, parameters).
        options: keyword arguments for the function: plain numbers and texts that shape the program.
        target: "jit", or "numpy", which needs no compiler and is taken with a warning where llvmlite is
            missing.
        minimised: whether to minimise the program.
        use_cache: whether to look into and write to the user's cache.
        store: another cache.

    Returns:
        A `Compiled`; with numbers as inputs a `Parametric`.

    Raises:
        CompileError: if the function cannot be traced.
    """
    groups = _groups(parameters)
    shapes = _shapes(function, robot, inputs, groups)
    chosen = _target(target)
    if groups:
        assert robot is not None
        kept = (store or Store()) if use_cache else None
        wanted = _Wanted(groups, tuple(derivatives), minimised)
        return _parametric(function, robot, shapes, wanted, dict(options or {}), chosen, kept)
    if derivatives:
        raise CompileError("derivatives are by parameters: give parameters='input' or groups of them")
    if chosen.name != "jit":
        program = make_program(function, robot, shapes, groups, minimised, dict(options or {}))
        return Compiled(program, _tiles(program), chosen.name)
    from nacelle.emit.jit import target as jit

    settings = dict(options or {})
    key = _key("function", function, robot, shapes, groups, minimised, settings) if use_cache else None

    def load(image: bytes, signature: Program, packed: bytes | None) -> Compiled:
        return Compiled(signature, jit.load_object(image, signature), "jit", packed)

    return _kept(
        _Kept("function", _label(function, robot), (store or Store()) if use_cache else None, key),
        lambda: make_program(function, robot, shapes, groups, minimised, settings),
        jit.compile_object,
        load,
        lambda program: Compiled(program, _tiles(program), "numpy"),
    )


@dataclass(frozen=True)
class _Wanted:
    """What of the numbers of a robot is wanted as inputs, and by which outputs are differentiated."""

    groups: tuple[str, ...]
    derivatives: tuple[str, ...] = ()
    minimised: bool = True


def _parametric(
    function: Callable[..., Any],
    robot: Robot,
    shapes: Mapping[str, tuple[int, ...]],
    wanted: _Wanted,
    options: dict[str, Any],
    chosen: Target,
    store: Store | None,
) -> Parametric:
    """Compile both parts of a function whose numbers are inputs."""

    @lru_cache
    def parts() -> Split:
        return make_split(
            function, robot, shapes, groups, wanted.minimised, options, derivatives=wanted.derivatives
        )

    groups = wanted.groups

    def made(part: Literal["prologue", "body"]) -> Compiled:
        def program() -> Program:
            found: Program = getattr(parts(), part)
            return found

        if chosen.name != "jit":
            return Compiled(program(), _tiles(program()), chosen.name)
        from nacelle.emit.jit import target as jit

        # The free numbers are no part of the robot's hash, but the sample of them tells what they are.
        sample = robot.with_numbers(robot.numbers.sample(*groups), *groups)
        kind = json.dumps([part, sample.hash, robot.numbers.names(*groups), wanted.derivatives])
        key = None
        if store is not None:
            key = _key(kind, function, robot, shapes, groups, wanted.minimised, options)
        return _kept(
            _Kept("function", _label(function, robot), store, key),
            program,
            jit.compile_object,
            lambda image, signature, packed: Compiled(
                signature, jit.load_object(image, signature), "jit", packed
            ),
            lambda program: Compiled(program, _tiles(program), "numpy"),
        )

    return Parametric(made("prologue"), made("body"))


_T = TypeVar("_T")


@dataclass(frozen=True)
class _Kept:
    """Where something native is kept.

    Attributes:
        kind: what is made of the program.
        label: what the user knows it as.
        store: the cache; None if it is not to be used.
        key: under which it is kept; None if it cannot be told from others.
    """

    kind: str
    label: str
    store: Store | None
    key: str | None


def _kept(
    place: _Kept,
    make: Callable[[], Program],
    emit: Callable[[Program, Any], bytes],
    load: Callable[[bytes, Program, bytes | None], _T],
    plain: Callable[[Program], _T],
    beside: tuple[Program, ...] = (),
) -> _T:
    """Load what the cache keeps, or make it anew and keep it, or run it as NumPy where LLVM fails.

    Args:
        place: where it is kept.
        make: traces the program.
        emit: compiles a program with options of the compiler.
        load: loads an object.
        plain: does the same with NumPy.
        beside: other programs that are compiled with it.
    """
    store, key = place.store, place.key
    payload = store.get(key) if store is not None and key is not None else None
    if payload is not None:
        try:
            signature, packed, image = _unpack(payload)
            return load(image, signature, packed)
        except (ValueError, KeyError, TypeError, RuntimeError, OSError, NacelleError):
            pass  # damaged or foreign: made anew
    from nacelle.emit.jit import attempts

    _start_compiler()
    program = make()

    def native(options: Any) -> _T:
        with task(f"compiling {program.name} ({len(program.code)} operations)"):
            image = emit(program, options)
        result = load(image, program, None)
        if store is not None and key is not None:
            store.put(key, _pack(program, image))
        return result

    mark = f"{place.kind} {_package_hash()}"
    return attempts.attempt(place.label, (program, *beside), native, lambda: plain(program), store, mark)


def _start_compiler() -> None:
    """Start the compiler's process, so that it is ready when the program is traced."""
    from nacelle.emit.jit import compiler

    compiler.default().start()


def _label(function: Callable[..., Any], robot: Robot | None) -> str:
    """What a user knows a program as."""
    name = getattr(function, "__name__", "program")
    return name if robot is None else f"{name} of {robot.name}"


def _tiles(program: Program) -> Kernel:
    """The kernel of a program that needs no compiler."""
    make = target("numpy").kernel
    assert make is not None
    return make(program)


def remembered(kind: str, robot: Robot, parts: Any, make: Callable[[], str]) -> str:
    """A text that was found by search for a robot, from the user's cache or made anew and kept.

    Args:
        kind: what it is.
        robot: the robot.
        parts: what else it depends on, as plain data.
        make: the search.
    """
    store = Store()
    key = json.dumps([kind, robot.hash, parts, _package_hash()])
    kept = store.get(key)
    if kept is not None:
        return kept.decode()
    found = make()
    store.put(key, found.encode())
    return found


def compile_newton(
    function: Callable[..., Any],
    robot: Robot,
    *,
    use_cache: bool = True,
    store: Store | None = None,
) -> Solver:
    """Compile Newton's iteration around a step function of (robot, y, p) that gives dy and error.

    Without llvmlite the same iteration runs in NumPy.
    """
    shapes = _shapes(function, robot, None, ())
    if _target("jit").name != "jit":
        return _numpy_newton(make_program(function, robot, shapes))
    from nacelle.emit.jit import drivers as jit_drivers

    key = _key("newton", function, robot, shapes, (), True, {}) if use_cache else None
    return _kept(
        _Kept("newton", _label(function, robot), (store or Store()) if use_cache else None, key),
        lambda: make_program(function, robot, shapes),
        jit_drivers.compile_newton,
        lambda image, signature, _: jit_drivers.load_newton(image, signature),
        _numpy_newton,
    )


def _numpy_newton(program: Program) -> Solver:
    return NumpyNewton(program, _tiles(program))


def compile_rk4(
    function: Callable[..., Any],
    robot: Robot,
    *,
    options: Mapping[str, Any] | None = None,
    control: Callable[..., Any] | None = None,
    use_cache: bool = True,
    store: Store | None = None,
) -> Integrator:
    """Compile the fixed-step Runge-Kutta method around a function of (robot, x, u, p) that gives dx.

    Without llvmlite the same steps run in NumPy.

    Args:
        function: the derivative.
        robot: the robot.
        options: keyword arguments for the derivative.
        control: a function of (robot, x, w, p) that gives u at the begin of every step, held over it; with
            one the driver is not kept in the cache.
        use_cache: whether to look into and write to the user's cache.
        store: another cache.
    """
    shapes = _shapes(function, robot, None, ())
    settings = dict(options or {})
    native = _target("jit").name == "jit"
    law = None
    if control is not None:
        if native:
            _start_compiler()
        law = make_program(control, robot, _shapes(control, robot, None, ()))

    def make() -> Program:
        return make_program(function, robot, shapes, options=settings)

    def plain(program: Program) -> Integrator:
        return NumpyRk4(program, _tiles, law)

    if not native:
        return plain(make())
    from nacelle.emit.jit import drivers as jit_drivers

    keyed = use_cache and control is None
    return _kept(
        _Kept(
            "rk4",
            _label(function, robot),
            (store or Store()) if use_cache else None,
            _key("rk4", function, robot, shapes, (), True, settings) if keyed else None,
        ),
        make,
        lambda program, chosen: jit_drivers.compile_rk4(program, chosen, law),
        lambda image, signature, _: jit_drivers.load_rk4(image, signature, law),
        plain,
        () if law is None else (law,),
    )


def make_program(
    function: Callable[..., Any],
    robot: Robot | None,
    shapes: Mapping[str, tuple[int, ...]],
    groups: tuple[str, ...] = (),
    minimised: bool = True,
    options: Mapping[str, Any] | None = None,
) -> Program:
    """Trace a function to a program, and minimise it; the same program on every machine.

    Where the function declares how its inputs are drawn (`@sampled`) values that are equal at all samples
    are one.
    """
    if groups:
        assert robot is not None
        parts = make_split(function, robot, shapes, groups, minimised, options)
        return joined(parts.prologue, parts.body)
    settings = options or {}
    robot = robot.alike if robot is not None else None
    name = getattr(function, "__name__", "program")
    with task(f"tracing and simplifying {name}"):
        given = () if robot is None else (robot,)
        program = _traced(lambda *arrays: function(*given, *arrays, **settings), shapes, name).program()
        if not minimised:
            return program
        sampler = sampler_of(function)
        samples = sampler(robot, shapes) if sampler is not None else None
        return minimise(program) if samples is None else with_identities(program, samples)


def make_split(
    function: Callable[..., Any],
    robot: Robot,
    shapes: Mapping[str, tuple[int, ...]],
    groups: tuple[str, ...],
    minimised: bool = True,
    options: Mapping[str, Any] | None = None,
    *,
    derivatives: Sequence[str] = (),
) -> Split:
    """Trace a function with the free numbers of some groups as its first input, and split it.

    Arguments as in `compile_function`.

    Raises:
        CompileError: if it cannot be traced, or the robot is another mechanism where its free numbers are not
            what they are.
    """
    settings = options or {}
    robot = robot.alike
    sample = robot.numbers.sample(*groups)

    def call(numbers: Any, *arrays: Any) -> Any:
        return function(robot.with_number_symbols(numbers, *groups), *arrays, **settings)

    name = getattr(function, "__name__", "program")
    with task(f"tracing and simplifying {name}"):
        try:
            traced = _traced(call, shapes, name, sample.tolist())
            if derivatives:
                traced = with_parameter_jacobians(traced, derivatives)
            sampler = sampler_of(function)
            if not minimised or derivatives or sampler is None:
                return split(traced, minimised=minimised)
            samples = sampler(robot, shapes, groups)
            if samples is None:
                return split(traced)
            return split_with_identities(split(traced, minimised=False), tuple(sample.tolist()), samples)
        except KeyError as error:
            raise CompileError(f"{name} has {error.args[0]}") from error
        except CompileError:
            raise
        except NacelleError as error:
            raise CompileError(
                f"{robot.name} cannot have its numbers ({', '.join(groups)}) as inputs: with numbers near "
                f"those described {error}; numbers that must be equal are to be one constant of the "
                "description, and those that must stay as they are can be left out of the groups"
            ) from error


def _traced(
    call: Callable[..., Any],
    shapes: Mapping[str, tuple[int, ...]],
    name: str,
    sample: Sequence[float] | None = None,
) -> Trace:
    try:
        return trace(call, shapes, name, sample)
    except (TypeError, ValueError, IndexError, AttributeError) as error:
        raise CompileError(f"{name} cannot be traced: {error}") from error


def _groups(parameters: str | Sequence[str]) -> tuple[str, ...]:
    if parameters == "constant":
        return ()
    if parameters == "input":
        return GROUPS
    groups = (parameters,) if isinstance(parameters, str) else tuple(parameters)
    for group in groups:
        if group not in GROUPS:
            known = ["constant", "input", *GROUPS]
            raise CompileError(f"parameters={group!r}; {did_you_mean(group, known)}")
    return groups


def _shapes(
    function: Callable[..., Any],
    robot: Robot | None,
    inputs: Mapping[str, tuple[int, ...]] | None,
    groups: tuple[str, ...],
) -> dict[str, tuple[int, ...]]:
    shapes = dict(inputs) if inputs is not None else input_shapes(function, robot)
    if shapes is None:
        raise CompileError(
            f"{getattr(function, '__name__', function)!r} does not declare its inputs: decorate it with "
            "@physics(name=shape, ...) or give inputs={name: shape}"
        )
    if not groups:
        return shapes
    if robot is None:
        raise CompileError("parameters as inputs need a robot")
    return {"parameters": (len(robot.numbers.names(*groups)),), **shapes}


def _target(name: str) -> Target:
    """Find a target that runs; without llvmlite, NumPy serves for the JIT, with one warning."""
    try:
        found = target(name)
    except TargetError as error:
        if name != "jit":
            raise CompileError(str(error)) from None
        warn_once(f"programs run as NumPy, far slower: {error}")
        return target("numpy")
    if found.kernel is None:
        raise CompileError(
            f"the target {name!r} gives source only; compile for 'jit', then .source({name!r})"
        )
    return found


# ---- the cache


def _key(
    kind: str,
    function: Callable[..., Any],
    robot: Robot | None,
    shapes: Mapping[str, tuple[int, ...]],
    groups: tuple[str, ...],
    minimised: bool,
    options: Mapping[str, Any],
) -> str | None:
    """Everything that native code depends on; None if the function cannot be told from others."""
    fingerprint = _fingerprint(function)
    sampler = sampler_of(function)
    drawn = None if sampler is None else _fingerprint(sampler)
    if fingerprint is None or (sampler is not None and drawn is None):
        return None
    from nacelle.emit.jit import target as jit

    return json.dumps(
        [
            kind,
            robot.hash if robot is not None else None,
            fingerprint,
            drawn,
            list(shapes.items()),
            groups,
            minimised,
            sorted(options.items()),
            _package_hash(),
            jit.host_key(),
        ]
    )


@cache
def _package_hash() -> str:
    """Hash of the package's own source."""
    digest = hashlib.sha256()
    folder = Path(__file__).parent
    for path in sorted(folder.rglob("*.py")):
        digest.update(str(path.relative_to(folder)).encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _fingerprint(function: Callable[..., Any]) -> str | None:
    """Hash of a function's code and of the functions and numbers of its module that it uses.

    Functions of this package are covered by the hash of its source. None for functions whose
    behaviour depends on things that cannot be seen: closures, bound objects, unusual globals. A closure of
    this package may name what it was made from, functions and plain values, as `made_from`.
    """
    parts: tuple[Any, ...] | None = getattr(function, "made_from", None)
    if parts is not None:
        marks = [_fingerprint(part) if callable(part) else repr(part) for part in parts]
        return None if None in marks else json.dumps([function.__qualname__, marks])
    module = getattr(function, "__module__", "") or ""
    name = f"{module}.{getattr(function, '__qualname__', '')}"
    if module == "nacelle" or module.startswith("nacelle."):
        return None if "<" in name else name
    digest = hashlib.sha256(name.encode())
    return digest.hexdigest() if _digest_function(function, digest, set()) else None


def _digest_function(function: Any, digest: Any, seen: set[int]) -> bool:
    if not isinstance(function, types.FunctionType) or function.__closure__:
        return False
    if id(function) in seen:
        return True
    seen.add(id(function))
    digest.update(repr((function.__defaults__, function.__kwdefaults__)).encode())
    return _digest_code(function.__code__, function.__globals__, digest, seen)


def _digest_code(code: types.CodeType, scope: dict[str, Any], digest: Any, seen: set[int]) -> bool:
    digest.update(code.co_code)
    digest.update(repr((code.co_names, code.co_varnames, code.co_freevars)).encode())
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            if not _digest_code(constant, scope, digest, seen):
                return False
        else:
            digest.update(repr(constant).encode())
    for name in code.co_names:
        if name not in scope:
            continue
        value = scope[name]
        if isinstance(value, types.ModuleType) or str(getattr(value, "__module__", "")).startswith("nacelle"):
            if isinstance(value, types.ModuleType) and not _is_settled(value):
                return False
            continue
        if isinstance(value, types.FunctionType):
            if not _digest_function(value, digest, seen):
                return False
        elif not isinstance(value, type) and not _digest_value(value, digest):
            return False
    return True


def _digest_value(value: Any, digest: Any) -> bool:
    """Take up a number, a text, an array, or a collection of them; False for anything else."""
    if isinstance(value, np.ndarray) and value.dtype != object:
        digest.update(repr((value.shape, value.dtype.str)).encode() + value.tobytes())
        return True
    if isinstance(value, list | tuple):
        digest.update(repr((type(value).__name__, len(value))).encode())
        return all(_digest_value(entry, digest) for entry in value)
    if isinstance(value, dict):
        digest.update(repr(list(value)).encode())
        return all(isinstance(key, str) for key in value) and _digest_value(list(value.values()), digest)
    digest.update(repr(value).encode())
    return value is None or isinstance(value, int | float | str | bool | np.number)


def _is_settled(module: types.ModuleType) -> bool:
    """Whether a module is one that does not change between runs of one installation."""
    top = module.__name__.partition(".")[0]
    return top in ("numpy", "math", "nacelle", "functools", "itertools", "operator")


def _pack(program: Program, image: bytes) -> bytes:
    """Signature, code and native object as one; the code is read only when it is asked for."""
    signature = json.dumps(
        {
            "name": program.name,
            "inputs": [[v.name, v.shape] for v in program.inputs],
            "outputs": [[v.name, v.shape] for v in program.outputs],
        }
    ).encode()
    code = zlib.compress(json.dumps([program.code, program.results]).encode(), 1)
    head = len(signature).to_bytes(8, "little") + len(code).to_bytes(8, "little")
    return head + signature + code + image


def _unpack(payload: bytes) -> tuple[Program, bytes, bytes]:
    """Signature (a program without code), packed code, native object."""
    first, second = (int.from_bytes(payload[k : k + 8], "little") for k in (0, 8))
    data = json.loads(payload[16 : 16 + first])
    inputs = tuple(Variable(name, tuple(shape)) for name, shape in data["inputs"])
    outputs = tuple(Variable(name, tuple(shape)) for name, shape in data["outputs"])
    signature = Program(data["name"], inputs, outputs, (), ())
    start = 16 + first
    return signature, payload[start : start + second], payload[start + second :]


def _with_code(signature: Program, packed: bytes) -> Program:
    code, results = json.loads(zlib.decompress(packed))
    return replace(signature, code=tuple(tuple(entry) for entry in code), results=tuple(results))
