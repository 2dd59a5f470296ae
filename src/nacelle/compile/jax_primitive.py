"""Programs as operations of JAX's own: what it traces, batches, differentiates and transposes as one.

    value        f(x)                    jvp: J(x) dx, the tangent program
    tangent      (x, dx) -> J dx         linear in dx; transposed: the cotangent program
    cotangent    (x, y_bar) -> J^T y_bar linear in y_bar; transposed: the tangent program

Each is a program (`nacelle.program.directional`), so each has a tangent again, and derivatives of every order
are exact. Were JAX given the single operations instead, it would keep every intermediate value of f for the
way back, and XLA compile all of them: for a hexapod fifty times slower. XLA still sees single operations in
the end, on any device.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib import import_module
from typing import Any

from nacelle.compile.closing import Derivable
from nacelle.emit.jax.target import function, jax
from nacelle.program.directional import cotangent, directional_program
from nacelle.program.program import Program


@dataclass(eq=False)
class Operation:
    """A program as an operation of JAX: of arrays (*batch, size), all of one batch and type.

    Attributes:
        main: the program.
        part: its name in the cache.
        base: what it is the tangent or the cotangent of; None for others.
        moving: for a tangent, the inputs of the base that have one.
    """

    main: Derivable
    part: str = "program"
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
    def given(self) -> int:
        """How many inputs are where a derivative is taken, before those in which it is linear."""
        return 0 if self.base is None else len(self.base.program.inputs)

    @cached_property
    def evaluated(self) -> Callable[..., Any]:
        """The single operations."""
        return function(self.program)

    def tangent(self, moving: tuple[int, ...]) -> Operation:
        """From all inputs, and tangents of those that move, to the tangents of the results."""
        if moving not in self._tangents:
            names = [self.program.inputs[k].name for k in moving]
            whole = len(moving) == len(self.program.inputs)
            part = f"{self.part} tangent" + ("" if whole else f" by {' '.join(names)}")
            made = self.main.derived(
                part, lambda: directional_program(self.program, by=None if whole else names)
            )
            self._tangents[moving] = Operation(Derivable(made, self.main.derived), part, self, moving)
        return self._tangents[moving]

    @cached_property
    def cotangent(self) -> Operation:
        """From all inputs and the cotangents of the results to those of the inputs."""
        part = f"{self.part} cotangent"
        made = self.main.derived(part, lambda: cotangent(self.program))
        return Operation(Derivable(made, self.main.derived), part, self)


@cache
def _primitive() -> Any:
    """The primitive of JAX; its parameter is the operation."""
    ad, batching, mlir = (import_module(f"jax.interpreters.{name}") for name in ("ad", "batching", "mlir"))
    made: Any = import_module("jax.extend.core").Primitive("nacelle")
    made.multiple_results = True

    def evaluated(*values: Any, operation: Operation) -> list[Any]:
        return list(operation.evaluated(*values))

    def shapes(*values: Any, operation: Operation) -> list[Any]:
        batch = values[0].shape[:-1]
        return [
            jax().core.ShapedArray((*batch, variable.size), values[0].dtype)
            for variable in operation.program.outputs
        ]

    def instantiated(values: Sequence[Any]) -> list[Any]:
        return [ad.instantiate_zeros(value) for value in values]

    def jvp(primals: Sequence[Any], tangents: Sequence[Any], *, operation: Operation) -> Any:
        results = operation(*primals)
        moving = tuple(k for k, value in enumerate(tangents) if not isinstance(value, ad.Zero))
        if operation.base is not None and all(k >= operation.given for k in moving):
            # Linear in all that moves: its own derivative.
            return results, operation(*primals[: operation.given], *instantiated(tangents[operation.given :]))
        return results, operation.tangent(moving)(*primals, *(tangents[k] for k in moving))

    def transposed(weights: Sequence[Any], *values: Any, operation: Operation) -> list[Any]:
        at, count = values[: operation.given], operation.given
        base = operation.base
        if base is None or any(ad.is_undefined_primal(value) for value in at):
            # What JAX's own operations raise where they cannot be transposed.
            raise NotImplementedError(f"{operation.program.name} is not linear in what is transposed")
        along = instantiated(weights)
        if operation.moving is None:
            made = base.tangent(tuple(range(count)))(*at, *along)
            # Cotangents of the base's results have tangents of them.
            return [None] * count + made
        bars = base.cotangent(*at, *along)
        return [None] * count + [bars[k] for k in operation.moving]

    def batched(values: Sequence[Any], places: Sequence[Any], *, operation: Operation) -> Any:
        size = next(
            value.shape[place] for value, place in zip(values, places, strict=True) if place is not None
        )
        moved = [
            jax().numpy.broadcast_to(value, (size, *value.shape))
            if place is None
            else jax().numpy.moveaxis(value, place, 0)
            for value, place in zip(values, places, strict=True)
        ]
        results = operation(*moved)
        return results, [0] * len(results)

    made.def_impl(lambda *values, operation: jax().jit(operation.evaluated)(*values))
    made.def_abstract_eval(shapes)
    ad.primitive_jvps[made] = jvp
    ad.primitive_transposes[made] = transposed
    batching.primitive_batchers[made] = batched
    mlir.register_lowering(made, mlir.lower_fun(evaluated, multiple_results=True))
    return made
