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

from nacelle.compile.closing import GIVEN, UNKNOWN, Closing, Derivable
from nacelle.compile.compiled import Bound, Compiled, arguments_of, batches_of
from nacelle.emit.torch import function, torch
from nacelle.errors import CompileError
from nacelle.program.derivative import cotangent, directional_program
from nacelle.program.program import Program

Native = Callable[[str, Program], Compiled]
"""Gives the native form of a program by its part's name."""


class Operator:
    """A function of tensors (N, size) with derivatives that are such functions; heirs say how."""

    def evaluate(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """Its results, without derivatives."""
        raise NotImplementedError

    @cached_property
    def tangent(self) -> Operator:
        """From the inputs and their tangents to the tangents of the results."""
        raise NotImplementedError

    @cached_property
    def cotangent(self) -> Operator:
        """From the inputs and the cotangents of the results to those of the inputs."""
        raise NotImplementedError


class ProgramOperator(Operator):
    """A program as an operator."""

    def __init__(self, main: Derivable, native: Native, part: str = "program") -> None:
        self.main, self.native, self.part = main, native, part
        self.program = main.program

    def evaluate(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """Native on the processor, PyTorch's operations elsewhere."""
        if any(value.device.type != "cpu" for value in values):
            made: tuple[Any, ...] = self._operations(*values)
            return made
        module, kind = torch(), values[0].dtype
        # Flat inputs and outputs, whatever their shapes are.
        inputs = [
            np.ascontiguousarray(value.detach().to(module.float64).numpy()).reshape(
                len(value), *variable.shape
            )
            for value, variable in zip(values, self.program.inputs, strict=True)
        ]
        results = self._native(*inputs)
        listed = list(results.values()) if isinstance(results, dict) else [results]
        return tuple(
            module.from_numpy(np.ascontiguousarray(result).reshape(len(values[0]), -1)).to(kind)
            if result.size
            else module.zeros((len(values[0]), math.prod(variable.shape)), dtype=kind)
            for result, variable in zip(listed, self.program.outputs, strict=True)
        )

    @cached_property
    def _native(self) -> Compiled:
        return self.native(self.part, self.program)

    @cached_property
    def _operations(self) -> Callable[..., Any]:
        return function(self.program)

    def _next(self, word: str, make: Callable[[Program], Program]) -> ProgramOperator:
        part = f"{self.part} {word}"
        made = self.main.derived(part, lambda: make(self.program))
        return ProgramOperator(Derivable(made, self.main.derived), self.native, part)

    @cached_property
    def tangent(self) -> Operator:
        """J dx."""
        return self._next("tangent", directional_program)

    @cached_property
    def cotangent(self) -> Operator:
        """J^T y_bar."""
        return self._next("cotangent", cotangent)


class RootOperator(Operator):
    """What iteration finds at poses: from x and a start of y, NaN for none, to y.

    Poses are solved on the processor, whatever their device. Derivatives are those of the steps behind it.
    """

    def __init__(self, closing: Closing) -> None:
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
    def _constant(self) -> Zeros:
        nx, ny = map(len, self.closing.reference)
        return Zeros((nx, ny), (ny,))


class Zeros(Operator):
    """Results that are zero: from inputs of some sizes to outputs of others."""

    def __init__(self, inputs: tuple[int, ...], outputs: tuple[int, ...]) -> None:
        self.inputs, self.outputs = inputs, outputs

    def evaluate(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """Zeros of the type of the first input."""
        return tuple(values[0].new_zeros((len(values[0]), size)) for size in self.outputs)

    @cached_property
    def tangent(self) -> Operator:
        """Zeros."""
        return Zeros(self.inputs * 2, self.outputs)

    @cached_property
    def cotangent(self) -> Operator:
        """Zeros."""
        return Zeros(self.inputs + self.outputs, self.inputs)


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
            moved = [
                module.zeros_like(value) if move is None else move
                for value, move in zip(values, tangents, strict=True)
            ]
            made: tuple[Any, ...] = Evaluation.apply(ctx.operator.tangent, *values, *moved)
            return made

        @staticmethod
        def vmap(info: Any, in_dims: Any, operator: Operator, *values: Any) -> Any:
            """One more batch dimension is more samples."""
            count = info.batch_size
            rows = []
            for value, place in zip(values, in_dims[1:], strict=True):
                whole = value.expand(count, *value.shape) if place is None else value.movedim(place, 0)
                rows.append(whole.reshape(count * whole.shape[1], whole.shape[2]))
            results = Evaluation.apply(operator, *rows)
            return tuple(
                result.reshape(count, len(result) // count, result.shape[1]) for result in results
            ), (0,) * len(results)

    return Evaluation


class OnTorch(Compiled):
    """A compiled physics function of PyTorch's tensors.

    Attributes:
        target: "torch".
        inputs: names and shapes of its arguments.
        outputs: names and shapes of its results.
    """

    def __init__(self, operator: ProgramOperator, closing: Closing | None, step: Operator | None) -> None:
        """Keep a program as a function of tensors.

        Args:
            operator: the program.
            closing: what is done with the pose before.
            step: Newton's step as a function of (y, x), where there are unknowns.
        """
        super().__init__(operator.program, None, "torch")
        self._operator, self._closing, self._step = operator, closing, step

    def __call__(self, *arrays: Any, threads: int | None = None, **named: Any) -> Any:
        """Evaluate on tensors with leading batch dimensions (..., *shape), which broadcast.

        Args:
            *arrays: the inputs in order; or by name. Unknowns of a model (y) may be left out; where they are
                given, iteration starts from them.
            threads: nothing here; large batches use all cores.
            **named: inputs by name.

        Returns:
            One tensor (..., *shape) if the function has one output, else a dict of tensors by name.
        """
        del threads
        module = torch()
        starts = self._step is not None and UNKNOWN not in named and len(arrays) < len(self.inputs)
        inputs = {name: shape for name, shape in self.inputs.items() if not (starts and name == UNKNOWN)}
        values = dict(zip(inputs, arguments_of(self.name, inputs, arrays, named), strict=True))
        flat, batch = self._flat(values, module)
        if self._closing is not None and self._closing.quaternion is not None:
            flat[GIVEN] = _with_unit(module, flat[GIVEN], self._closing.quaternion)
        if self._closing is not None and self._step is not None:
            flat[UNKNOWN] = self._closed(self._closing, flat[GIVEN], flat.get(UNKNOWN))
        results = _evaluation().apply(self._operator, *(flat[name] for name in self.inputs))
        shaped = {
            variable.name: result.reshape(batch + variable.shape)
            for variable, result in zip(self._signature.outputs, results, strict=True)
        }
        return next(iter(shaped.values())) if len(shaped) == 1 else shaped

    def bind(self, **buffers: Any) -> Bound:
        """Refuse: derivatives need every value that was."""
        raise CompileError(f"{self.name} is a function of PyTorch, which is called; bind target='jit'")

    def _closed(self, closing: Closing, x: Any, start: Any) -> Any:
        """What iteration finds at poses, with its derivatives.

        Two of Newton's steps behind the solution move it by rounding alone. Each doubles the order to which
        derivatives are right, as it doubles digits: those up to the third are exact.
        """
        if start is None:
            start = x.new_full((len(x), len(closing.reference[1])), math.nan)
        (y,) = _evaluation().apply(RootOperator(closing), x, start)
        for _ in range(2):
            y = y + _evaluation().apply(self._step, y, x)[0]
        return y

    def _flat(self, values: dict[str, Any], module: Any) -> tuple[dict[str, Any], tuple[int, ...]]:
        """The inputs as tensors (N, size) of one type on one device, by name; and the batch of all."""
        given = [value for value in values.values() if isinstance(value, module.Tensor)]
        kinds = [value.dtype for value in given if value.is_floating_point()]
        kind = kinds[0] if kinds else module.float64
        for other in kinds[1:]:
            kind = module.promote_types(kind, other)
        like = {"dtype": kind, "device": given[0].device if given else None}
        tensors = {name: module.as_tensor(value, **like) for name, value in values.items()}
        shapes = {name: self.inputs[name] for name in tensors}
        _, batch = batches_of(self.name, shapes, list(tensors.values()))
        count = math.prod(batch)
        return {
            name: tensor.expand(batch + self.inputs[name]).reshape(count, math.prod(self.inputs[name]))
            for name, tensor in tensors.items()
        }, batch


def _with_unit(module: Any, x: Any, place: slice) -> Any:
    """Poses (N, nx) with their quaternions brought to unit length."""
    quat = x[:, place]
    unit = quat / module.linalg.vector_norm(quat, dim=-1, keepdim=True)
    return module.cat([x[:, : place.start], unit, x[:, place.stop :]], dim=-1)
