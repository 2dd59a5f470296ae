"""Compiled physics as functions of JAX: they jit, vmap and differentiate.

XLA compiles the program, operation by operation, for the device that JAX uses. Derivatives are programs of
our own, forwards and backwards, of every order: the exact Jacobian times a direction
(`nacelle.compile.on_jax`).
Types are those of the arrays: float64 where `jax_enable_x64` is set, else float32.

Programs as operations of JAX's own: what it traces, batches, differentiates and transposes as one.

    value        f(x)                    jvp: J(x) dx, the tangent program
    tangent      (x, dx) -> J dx         linear in dx; transposed: the cotangent program
    cotangent    (x, y_bar) -> J^T y_bar linear in y_bar; transposed: the tangent program

Each is a program (`nacelle.program.derivative`), so each has a tangent again, and derivatives of every order
are exact. Were JAX given the single operations instead, it would keep every intermediate value of f for the
way back, and XLA compile all of them: for a hexapod fifty times slower. XLA still sees single operations in
the end, on any device.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib import import_module
from typing import Any

from nacelle.compile.closing import PASSIVE, POSE, DerivableProgram, Differentiable, PoseClosure
from nacelle.compile.compiled import batch_shapes
from nacelle.emit.python.differentiable import JAX
from nacelle.program.program import Program

jax = JAX.module


@dataclass(eq=False)
class Operation:
    """A program as an operation of JAX: of arrays (*batch, size), all of one batch and type.

    Attributes:
        main: the program.
        base: what it is the tangent or the cotangent of; None for others.
        moving: for a tangent, the inputs of the base that have one.
    """

    main: DerivableProgram
    base: Operation | None = None
    moving: tuple[int, ...] | None = None
    _tangents: dict[tuple[int, ...], Operation] = field(default_factory=dict)

    def __call__(self, *values: Any) -> list[Any]:
        """Its results."""
        return list(_primitive().bind(*values, operation=self))

    @property
    def program(self) -> Program:
        """The program."""
        return self.main.program

    @property
    def primal_count(self) -> int:
        """How many inputs are where a derivative is taken, before those in which it is linear."""
        return 0 if self.base is None else len(self.base.program.inputs)

    @cached_property
    def evaluate(self) -> Callable[..., Any]:
        """The single operations."""
        return JAX.function(self.program)

    def tangent(self, moving: tuple[int, ...]) -> Operation:
        """From all inputs, and tangents of those that move, to the tangents of the results."""
        if moving not in self._tangents:
            names = [self.program.inputs[k].name for k in moving]
            whole = len(moving) == len(self.program.inputs)
            self._tangents[moving] = Operation(self.main.tangent(None if whole else names), self, moving)
        return self._tangents[moving]

    @cached_property
    def cotangent(self) -> Operation:
        """From all inputs and the cotangents of the results to those of the inputs."""
        return Operation(self.main.cotangent(), self)


@cache
def _primitive() -> Any:
    """The primitive of JAX; its parameter is the operation."""
    ad, batching, mlir = (import_module(f"jax.interpreters.{name}") for name in ("ad", "batching", "mlir"))
    primitive: Any = import_module("jax.extend.core").Primitive("nacelle")
    primitive.multiple_results = True

    def evaluate(*values: Any, operation: Operation) -> list[Any]:
        return list(operation.evaluate(*values))

    def shapes(*values: Any, operation: Operation) -> list[Any]:
        batch = values[0].shape[:-1]
        return [
            jax().core.ShapedArray((*batch, variable.size), values[0].dtype)
            for variable in operation.program.outputs
        ]

    def instantiate(values: Sequence[Any]) -> list[Any]:
        return [ad.instantiate_zeros(value) for value in values]

    def jvp(primals: Sequence[Any], tangents: Sequence[Any], *, operation: Operation) -> Any:
        results = operation(*primals)
        moving = tuple(k for k, value in enumerate(tangents) if not isinstance(value, ad.Zero))
        if operation.base is not None and all(k >= operation.primal_count for k in moving):
            # Linear in all that moves: its own derivative.
            return results, operation(
                *primals[: operation.primal_count], *instantiate(tangents[operation.primal_count :])
            )
        return results, operation.tangent(moving)(*primals, *(tangents[k] for k in moving))

    def transpose(weights: Sequence[Any], *values: Any, operation: Operation) -> list[Any]:
        at, count = values[: operation.primal_count], operation.primal_count
        base = operation.base
        if base is None or any(ad.is_undefined_primal(value) for value in at):
            # What JAX's own operations raise where they cannot be transposed.
            raise NotImplementedError(f"{operation.program.name} is not linear in what is transposed")
        along = instantiate(weights)
        if operation.moving is None:
            primitive = base.tangent(tuple(range(count)))(*at, *along)
            # Cotangents of the base's results have tangents of them.
            return [None] * count + primitive
        cotangents = base.cotangent(*at, *along)
        return [None] * count + [cotangents[k] for k in operation.moving]

    def batch(values: Sequence[Any], axes: Sequence[Any], *, operation: Operation) -> Any:
        size = next(value.shape[axis] for value, axis in zip(values, axes, strict=True) if axis is not None)
        batched_values = [
            jax().numpy.broadcast_to(value, (size, *value.shape))
            if axis is None
            else jax().numpy.moveaxis(value, axis, 0)
            for value, axis in zip(values, axes, strict=True)
        ]
        results = operation(*batched_values)
        return results, [0] * len(results)

    primitive.def_impl(lambda *values, operation: jax().jit(operation.evaluate)(*values))
    primitive.def_abstract_eval(shapes)
    ad.primitive_jvps[primitive] = jvp
    ad.primitive_transposes[primitive] = transpose
    batching.primitive_batchers[primitive] = batch
    mlir.register_lowering(primitive, mlir.lower_fun(evaluate, multiple_results=True))
    return primitive


# ---- compiled physics as functions of JAX: they jit, vmap and differentiate


# To what loops are closed before the last step of Newton's iteration, by bytes of a number; steps a piece.
_TOLERANCES = {8: 1e-12, 4: 1e-5}
_STEPS = 20
# Pieces of the line from the reference pose along which unknowns are followed.
_PIECES = 8


class JaxFunction(Differentiable):
    """A compiled physics function of JAX's arrays, which XLA compiles; its step is a program."""

    def __init__(
        self, main: DerivableProgram, closing: PoseClosure | None = None, step: DerivableProgram | None = None
    ) -> None:
        super().__init__(main.program, "jax", closing, step)
        self._main = main

    def _evaluate(self, values: dict[str, Any]) -> tuple[Sequence[Any], tuple[int, ...]]:
        flat, batch = self._flat(values)
        return self._compiled_function(*(flat.get(name) for name in self.inputs)), batch

    def _flat(self, values: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[int, ...]]:
        """The inputs as arrays (..., size) of one type, by name; and the batch of all."""
        jnp = jax().numpy
        arrays = {name: jnp.asarray(value) for name, value in values.items()}
        filled = [array for array in arrays.values() if array.size]
        reals = [array for array in filled if array.dtype.kind == "f"]
        kind = jnp.result_type(*reals) if reals else jnp.result_type(float, *filled)
        shapes = {name: self.inputs[name] for name in arrays}
        batches, batch = batch_shapes(self.name, shapes, list(arrays.values()))
        return {
            name: array.astype(kind).reshape(*batch_shape, math.prod(shapes[name]))
            for (name, array), batch_shape in zip(arrays.items(), batches, strict=True)
        }, batch

    @cached_property
    def _compiled_function(self) -> Callable[..., Any]:
        """The whole function of arrays (..., size): the pose completed, then the program."""
        jnp = jax().numpy
        names = list(self.inputs)
        program = Operation(self._main)
        closing = self._closing
        root = None if self._step is None or closing is None else _implicit_solution(self._step, closing)

        def run(*flat: Any) -> Any:
            values = dict(zip(names, flat, strict=True))
            if closing is not None and closing.quaternion is not None:
                values[POSE] = _normalise_quaternion(jnp, values[POSE], closing.quaternion)
            if root is not None:
                values[PASSIVE] = root(values[POSE], values[PASSIVE])
            batch = jnp.broadcast_shapes(*(value.shape[:-1] for value in values.values()))
            return program(*(jnp.broadcast_to(v, (*batch, v.shape[-1])) for v in values.values()))

        result: Callable[..., Any] = jax().jit(run)
        return result


def _implicit_solution(step: DerivableProgram, closing: PoseClosure) -> Callable[..., Any]:
    """Passive coordinates at a pose, from a start or None, with the derivative of y(x)."""
    newton = _newton(JAX.function(step.program), closing)
    slope = Operation(step).tangent((1,))

    def implicit(solve: Callable[..., Any]) -> Callable[..., Any]:
        differentiable = jax().custom_jvp(solve)

        def rule(primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
            y = differentiable(*primals)
            x, dx = (
                jax().numpy.broadcast_to(value, (*y.shape[:-1], value.shape[-1]))
                for value in (primals[0], tangents[0])
            )
            return y, slope(y, x, dx)[0]

        differentiable.defjvp(rule)
        result: Callable[..., Any] = differentiable
        return result

    free, warm = implicit(lambda x: newton(x, None)), implicit(newton)
    return lambda x, y: free(x) if y is None else warm(x, y)


def _newton(step: Callable[..., Any], closing: PoseClosure) -> Callable[..., Any]:
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
        last = x if closing.quaternion is None else _nearer_quaternion(jnp, x, first, closing.quaternion)

        def between(piece: Any) -> Any:
            at = first + (piece / pieces).astype(kind)[..., None] * (last - first)
            return at if closing.quaternion is None else _normalise_quaternion(jnp, at, closing.quaternion)

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


def _normalise_quaternion(jnp: Any, x: Any, quaternion: slice) -> Any:
    """A pose with its quaternion brought to unit length."""
    quat = x[..., quaternion]
    return x.at[..., quaternion].set(quat / jnp.sqrt(jnp.sum(quat * quat, axis=-1, keepdims=True)))


def _nearer_quaternion(jnp: Any, x: Any, first: Any, quaternion: slice) -> Any:
    """A pose with that one of its two quaternions that is nearer to another pose's."""
    along = jnp.sum(x[..., quaternion] * first[quaternion], axis=-1, keepdims=True)
    return x.at[..., quaternion].multiply(jnp.where(along < 0.0, -1.0, 1.0).astype(x.dtype))
