"""Compiled physics as functions of JAX: they jit, vmap and differentiate.

XLA compiles the program, operation by operation, for the device that JAX uses. Derivatives are programs of
our own, forwards and backwards, of every order: the exact Jacobian times a direction
(`nacelle.compile.jax_primitive`).
Types are those of the arrays: float64 where `jax_enable_x64` is set, else float32.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

from nacelle.compile.arguments import arguments_of
from nacelle.compile.closing import GIVEN, UNKNOWN, Closing, Derivable
from nacelle.compile.compiled import Bound, Compiled
from nacelle.compile.jax_primitive import Operation
from nacelle.emit.jax.target import function, jax
from nacelle.errors import CompileError

# To what loops are closed before the last step of Newton's iteration, by bytes of a number; steps a piece.
_TOLERANCES = {8: 1e-12, 4: 1e-5}
_STEPS = 20
# Pieces of the line from the reference pose along which unknowns are followed.
_PIECES = 8


class OnJax(Compiled):
    """A compiled physics function of JAX's arrays.

    Attributes:
        target: "jax".
        inputs: names and shapes of its arguments.
        outputs: names and shapes of its results.
    """

    def __init__(
        self, main: Derivable, closing: Closing | None = None, step: Derivable | None = None
    ) -> None:
        """Keep a program; XLA compiles it when it is first called.

        Args:
            main: the program.
            closing: what is done with the pose before.
            step: the program of its step, where there are unknowns.
        """
        super().__init__(main.program, None, "jax")
        self._main, self._closing, self._step = main, closing, step

    def __call__(self, *arrays: Any, threads: int | None = None, **named: Any) -> Any:
        """Evaluate on arrays with leading batch dimensions (..., *shape), which broadcast.

        Args:
            *arrays: the inputs in order; or by name. Unknowns of a model (y) may be left out; where they are
                given, iteration starts from them.
            threads: nothing here; XLA has its own.
            **named: inputs by name.

        Returns:
            One array (..., *shape) if the function has one output, else a dict of arrays by name.
        """
        del threads
        starts = self._step is not None and UNKNOWN not in named and len(arrays) < len(self.inputs)
        inputs = {name: shape for name, shape in self.inputs.items() if not (starts and name == UNKNOWN)}
        values = dict(zip(inputs, arguments_of(self.name, inputs, arrays, named), strict=True))
        flat, batch = self._flat([values.get(name) for name in self.inputs])
        results = self._jitted(*flat)
        shaped = {
            variable.name: result.reshape(batch + variable.shape)
            for variable, result in zip(self._signature.outputs, results, strict=True)
        }
        return next(iter(shaped.values())) if len(shaped) == 1 else shaped

    def bind(self, **buffers: Any) -> Bound:
        """Refuse: JAX's arrays are never written."""
        raise CompileError(
            f"{self.name} is a function of JAX, whose arrays cannot be bound: call jax.jit of it"
        )

    def _flat(self, values: Sequence[Any]) -> tuple[list[Any], tuple[int, ...]]:
        """The inputs as arrays (..., size) of one type, None where there is none; and the batch of all."""
        jnp = jax().numpy
        arrays = [None if value is None else jnp.asarray(value) for value in values]
        kind = jnp.result_type(float, *(array for array in arrays if array is not None and array.size))
        if any(array is not None and array.size and array.dtype.kind == "f" for array in arrays):
            kind = jnp.result_type(*(a for a in arrays if a is not None and a.size and a.dtype.kind == "f"))
        flat: list[Any] = []
        batches: list[tuple[int, ...]] = []
        for (name, shape), array in zip(self.inputs.items(), arrays, strict=True):
            if array is None:
                flat.append(None)
                continue
            own = array.ndim - len(shape)
            if own < 0 or array.shape[own:] != shape:
                raise CompileError(
                    f"the input {name!r} of {self.name} has shape (..., "
                    f"{', '.join(map(str, shape))}), got {array.shape}"
                )
            batches.append(array.shape[:own])
            flat.append(array.astype(kind).reshape(*array.shape[:own], math.prod(shape)))
        try:
            return flat, jnp.broadcast_shapes(*batches)
        except ValueError:
            words = ", ".join(map(str, batches))
            raise CompileError(f"the batch dimensions of {self.name} do not broadcast: {words}") from None

    @cached_property
    def _jitted(self) -> Callable[..., Any]:
        """The whole function of arrays (..., size): the pose completed, then the program."""
        jnp = jax().numpy
        names = list(self.inputs)
        program = Operation(self._main)
        closing = self._closing
        root = None if self._step is None or closing is None else _root(self._step, closing)

        def run(*flat: Any) -> Any:
            values = dict(zip(names, flat, strict=True))
            if closing is not None and closing.quaternion is not None:
                values[GIVEN] = _with_unit(jnp, values[GIVEN], closing.quaternion)
            if root is not None:
                values[UNKNOWN] = root(values[GIVEN], values[UNKNOWN])
            batch = jnp.broadcast_shapes(*(value.shape[:-1] for value in values.values()))
            return program(*(jnp.broadcast_to(v, (*batch, v.shape[-1])) for v in values.values()))

        made: Callable[..., Any] = jax().jit(run)
        return made


def _root(step: Derivable, closing: Closing) -> Callable[..., Any]:
    """What iteration finds at a pose, from a start or None, with the derivative of y(x)."""
    newton = _newton(function(step.program), closing)
    slope = Operation(step).tangent((1,))

    def implicit(solve: Callable[..., Any]) -> Callable[..., Any]:
        solved = jax().custom_jvp(solve)

        def rule(primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
            y = solved(*primals)
            x, dx = (
                jax().numpy.broadcast_to(value, (*y.shape[:-1], value.shape[-1]))
                for value in (primals[0], tangents[0])
            )
            return y, slope(y, x, dx)[0]

        solved.defjvp(rule)
        made: Callable[..., Any] = solved
        return made

    free, warm = implicit(lambda x: newton(x, None)), implicit(newton)
    return lambda x, y: free(x) if y is None else warm(x, y)


def _newton(step: Callable[..., Any], closing: Closing) -> Callable[..., Any]:
    """Newton's iteration around a step: y at x, NaN where the loops do not close.

    From a start it closes the loops at x; without one it follows them from the reference pose, piece by piece
    of a straight line. One loop does both, so that the step is compiled once.
    """
    module = jax()
    jnp = module.numpy
    x_0, y_0 = closing.reference

    def newton(x: Any, y: Any) -> Any:
        kind, pieces = x.dtype, _PIECES if y is None else 1
        tolerance = _TOLERANCES[kind.itemsize]
        first = jnp.asarray(x_0, kind)
        start = jnp.asarray(y_0, kind) if y is None else y
        batch = jnp.broadcast_shapes(x.shape[:-1], start.shape[:-1])
        last = x if closing.quaternion is None else _nearer(jnp, x, first, closing.quaternion)

        def between(piece: Any) -> Any:
            at = first + (piece / pieces).astype(kind)[..., None] * (last - first)
            return at if closing.quaternion is None else _with_unit(jnp, at, closing.quaternion)

        def moves(state: Any) -> Any:
            k, _, piece = state
            return (k < _STEPS * pieces) & jnp.any(piece <= pieces)

        def move(state: Any) -> Any:
            k, y, piece = state
            dy, error = step(y, x if pieces == 1 else between(jnp.minimum(piece, pieces)))
            # Convergence is quadratic: the step behind closed loops leaves rounding alone.
            y = jnp.where((piece <= pieces)[..., None], y + dy, y)
            return k + 1, y, jnp.where(error[..., 0] <= tolerance, piece + 1, piece)

        begin = (0, jnp.broadcast_to(start, (*batch, start.shape[-1])), jnp.ones(batch, int))
        _, y, piece = module.lax.while_loop(moves, move, begin)
        return jnp.where((piece > pieces)[..., None], y, jnp.nan)

    return newton


def _with_unit(jnp: Any, x: Any, place: slice) -> Any:
    """A pose with its quaternion brought to unit length."""
    quat = x[..., place]
    return x.at[..., place].set(quat / jnp.sqrt(jnp.sum(quat * quat, axis=-1, keepdims=True)))


def _nearer(jnp: Any, x: Any, first: Any, place: slice) -> Any:
    """A pose with that one of its two quaternions that is nearer to another pose's."""
    along = jnp.sum(x[..., place] * first[place], axis=-1, keepdims=True)
    return x.at[..., place].multiply(jnp.where(along < 0.0, -1.0, 1.0).astype(x.dtype))
