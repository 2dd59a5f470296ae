"""Compiled physics as functions of PyTorch: tensors in, tensors out, with exact derivatives.

On the processor the native program runs, on other devices PyTorch's own operations, one by one. Derivatives
are programs, too (`nacelle.program.derivative`): J dx for forward mode, J^T y_bar for backward, each with
derivatives of its own, so that those of any order are exact. Tensors are double or float, and stay where they
are; the processor computes in double either way, and float is rounded once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache, cached_property
from typing import Any

import numpy as np

from nacelle.compile.closing import PASSIVE, POSE, DerivableProgram, Differentiable, PoseClosure
from nacelle.compile.compiled import Compiled, batch_shapes
from nacelle.emit.python.differentiable import TORCH
from nacelle.program.program import Program

torch = TORCH.module

Native = Callable[[str, Program], Compiled]
"""Gives the native form of a program by its part's name."""


class Operator:
    """A function of tensors (N, size) with derivatives that are such functions; heirs say how."""

    def evaluate(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """Its results, without derivatives."""
        raise NotImplementedError  # each operator has its own

    @cached_property
    def tangent(self) -> Operator:
        """From the inputs and their tangents to the tangents of the results."""
        raise NotImplementedError  # each operator has its own

    @cached_property
    def cotangent(self) -> Operator:
        """From the inputs and the cotangents of the results to those of the inputs."""
        raise NotImplementedError  # each operator has its own


class ProgramOperator(Operator):
    """A program as an operator."""

    def __init__(self, main: DerivableProgram, native: Native) -> None:
        self.main, self.native, self.program = main, native, main.program

    def evaluate(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """Native on the processor, PyTorch's operations elsewhere."""
        if any(value.device.type != "cpu" for value in values):
            outputs: tuple[Any, ...] = self._operations(*values)
            return outputs
        module, kind = torch(), values[0].dtype
        # Flat inputs and outputs, whatever their shapes are.
        inputs = [
            np.ascontiguousarray(value.detach().to(module.float64).numpy()).reshape(
                len(value), *variable.shape
            )
            for value, variable in zip(values, self.program.inputs, strict=True)
        ]
        results = self._native(*inputs)
        arrays = list(results.values()) if isinstance(results, dict) else [results]
        return tuple(
            module.from_numpy(np.ascontiguousarray(result).reshape(len(values[0]), -1)).to(kind)
            if result.size
            else module.zeros((len(values[0]), math.prod(variable.shape)), dtype=kind)
            for result, variable in zip(arrays, self.program.outputs, strict=True)
        )

    @cached_property
    def _native(self) -> Compiled:
        return self.native(self.main.part, self.program)

    @cached_property
    def _operations(self) -> Callable[..., Any]:
        return TORCH.function(self.program)

    @cached_property
    def tangent(self) -> Operator:
        """J dx."""
        return ProgramOperator(self.main.tangent(), self.native)

    @cached_property
    def cotangent(self) -> Operator:
        """J^T y_bar."""
        return ProgramOperator(self.main.cotangent(), self.native)


class IterationOperator(Operator):
    """Passive coordinates at poses: from x and a start of y, NaN for none, to y.

    Poses are solved on the processor, whatever their device. Derivatives are those of the steps behind it.
    """

    def __init__(self, closing: PoseClosure) -> None:
        self.closing = closing

    def evaluate(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """Newton's iteration."""
        x, start = (value.detach().cpu().double().numpy() for value in values)
        y = self.closing.find(x, start if len(start) and np.all(np.isfinite(start)) else None)
        return (torch().from_numpy(np.ascontiguousarray(y)).to(values[0]),)

    @cached_property
    def tangent(self) -> Operator:
        """None."""
        return self._constant.tangent

    @cached_property
    def cotangent(self) -> Operator:
        """None."""
        return self._constant.cotangent

    @cached_property
    def _constant(self) -> ZeroOperator:
        nx, ny = map(len, self.closing.reference)
        return ZeroOperator((nx, ny), (ny,))


class ZeroOperator(Operator):
    """Results that are zero: from inputs of some sizes to outputs of others."""

    def __init__(self, inputs: tuple[int, ...], outputs: tuple[int, ...]) -> None:
        self.inputs, self.outputs = inputs, outputs

    def evaluate(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """Zeros of the type of the first input."""
        return tuple(values[0].new_zeros((len(values[0]), size)) for size in self.outputs)

    @cached_property
    def tangent(self) -> Operator:
        """Zeros."""
        return ZeroOperator(self.inputs * 2, self.outputs)

    @cached_property
    def cotangent(self) -> Operator:
        """Zeros."""
        return ZeroOperator(self.inputs + self.outputs, self.inputs)


@cache
def _evaluation() -> Any:
    """The function of autograd: `apply(operator, *tensors)` gives a tuple of tensors."""
    module = torch()

    class Evaluation(module.autograd.Function):  # type: ignore[misc, name-defined]  # untyped base
        @staticmethod
        def forward(operator: Operator, *values: Any) -> tuple[Any, ...]:
            return operator.evaluate(values)

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.operator, *values = inputs
            ctx.results = [(result.shape, result.dtype, result.device) for result in output]
            ctx.save_for_backward(*values)
            ctx.save_for_forward(*values)

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> tuple[Any, ...]:
            weights = [
                module.zeros(shape, dtype=kind, device=device) if grad is None else grad
                for grad, (shape, kind, device) in zip(grads, ctx.results, strict=True)
            ]
            return (None, *Evaluation.apply(ctx.operator.cotangent, *ctx.saved_tensors, *weights))

        @staticmethod
        def jvp(ctx: Any, _: Any, *tangents: Any) -> tuple[Any, ...]:
            values = ctx.saved_tensors
            directions = [
                module.zeros_like(value) if move is None else move
                for value, move in zip(values, tangents, strict=True)
            ]
            results: tuple[Any, ...] = Evaluation.apply(ctx.operator.tangent, *values, *directions)
            return results

        @staticmethod
        def vmap(info: Any, in_dims: Any, operator: Operator, *values: Any) -> Any:
            """One more batch dimension is more samples."""
            count = info.batch_size
            rows = []
            for value, axis in zip(values, in_dims[1:], strict=True):
                whole = value.expand(count, *value.shape) if axis is None else value.movedim(axis, 0)
                rows.append(whole.reshape(count * whole.shape[1], whole.shape[2]))
            results = Evaluation.apply(operator, *rows)
            return tuple(
                result.reshape(count, len(result) // count, result.shape[1]) for result in results
            ), (0,) * len(results)

    return Evaluation


class TorchFunction(Differentiable):
    """A compiled physics function of PyTorch's tensors; its step is an operator of (y, x)."""

    def __init__(self, operator: ProgramOperator, closing: PoseClosure | None, step: Operator | None) -> None:
        super().__init__(operator.program, "torch", closing, step)
        self._operator = operator

    def _evaluate(self, values: dict[str, Any]) -> tuple[Sequence[Any], tuple[int, ...]]:
        flat, batch = self._flat(values, module := torch())
        if self._closing is not None and self._closing.quaternion is not None:
            flat[POSE] = _normalise_quaternion(module, flat[POSE], self._closing.quaternion)
        if self._closing is not None and self._step is not None:
            flat[PASSIVE] = self._solve_unknowns(self._closing, flat[POSE], flat.get(PASSIVE))
        return _evaluation().apply(self._operator, *(flat[name] for name in self.inputs)), batch

    def _solve_unknowns(self, closing: PoseClosure, x: Any, start: Any) -> Any:
        """Passive coordinates at poses, with their derivatives.

        Two of Newton's steps behind the solution move it by rounding alone. Each doubles the order to which
        derivatives are right, as it doubles digits: those up to the third are exact.
        """
        if start is None:
            start = x.new_full((len(x), len(closing.reference[1])), math.nan)
        (y,) = _evaluation().apply(IterationOperator(closing), x, start)
        for _ in range(2):
            y = y + _evaluation().apply(self._step, y, x)[0]
        return y

    def _flat(self, values: dict[str, Any], module: Any) -> tuple[dict[str, Any], tuple[int, ...]]:
        """The inputs as tensors (N, size) of one type on one device, by name; and the batch of all."""
        tensors_given = [value for value in values.values() if isinstance(value, module.Tensor)]
        kinds = [value.dtype for value in tensors_given if value.is_floating_point()]
        kind = kinds[0] if kinds else module.float64
        for input_kind in kinds[1:]:
            kind = module.promote_types(kind, input_kind)
        like = {"dtype": kind, "device": tensors_given[0].device if tensors_given else None}
        tensors = {name: module.as_tensor(value, **like) for name, value in values.items()}
        shapes = {name: self.inputs[name] for name in tensors}
        _, batch = batch_shapes(self.name, shapes, list(tensors.values()))
        count = math.prod(batch)
        return {
            name: tensor.expand(batch + self.inputs[name]).reshape(count, math.prod(self.inputs[name]))
            for name, tensor in tensors.items()
        }, batch


def _normalise_quaternion(module: Any, x: Any, quaternion: slice) -> Any:
    """Poses (N, nx) with their quaternions brought to unit length."""
    quat = x[:, quaternion]
    unit = quat / module.linalg.vector_norm(quat, dim=-1, keepdim=True)
    return module.cat([x[:, : quaternion.start], unit, x[:, quaternion.stop :]], dim=-1)
