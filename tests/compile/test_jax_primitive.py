"""A program as an operation of JAX: batched, differentiated both ways and twice, transposed."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from nacelle.compile.closing import DerivableProgram
from nacelle.compile.on_jax import Operation
from nacelle.program.trace import trace
from nacelle.spatial import scalar

jax = pytest.importorskip("jax", reason="JAX is not installed: nacelle-robotics[jax]")
jnp = jax.numpy


@pytest.fixture(autouse=True)
def _doubles() -> Iterator[None]:
    with jax.enable_x64(True):
        yield


def _operation() -> Operation:
    program = trace(lambda a, b: {"y": [scalar.sin(a[0]) * b[0] * b[0], a[1] * b[0]]}, {"a": (2,), "b": (1,)})
    return Operation(DerivableProgram(program.program(), lambda part, make: make()))


@pytest.mark.slow
def test_derivatives_of_every_kind() -> None:
    operation = _operation()

    def f(a, b):
        return operation(a, b)[0]

    def exact(a, b):
        return jnp.stack([jnp.sin(a[0]) * b[0] ** 2, a[1] * b[0]])

    a, b = jnp.array([0.4, -1.2]), jnp.array([0.7])

    @jax.jit
    def all_of(a, b):
        return [
            [
                jax.jacfwd(g, (0, 1))(a, b),
                jax.jacrev(g, (0, 1))(a, b),
                jax.jacfwd(jax.jacrev(g, 1), 0)(a, b),
                jax.jacrev(jax.jacfwd(g, 0), 0)(a, b),
                jax.jacrev(jax.jacrev(g, 1), 1)(a, b),
                jax.vmap(jax.grad(lambda *z, g=g: g(*z)[0], 1), (0, None))(jnp.stack([a, 2 * a]), b),
            ]
            for g in (f, exact)
        ]

    got, want = map(jax.tree.leaves, all_of(a, b))
    assert len(got) == len(want) == 8
    for one, other in zip(got, want, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-14, atol=1e-15)


def test_transposed_twice_is_itself() -> None:
    """The way back is linear in its weights: transposed, it is the way forwards."""
    operation = _operation()
    a, b = jnp.array([0.4, -1.2]), jnp.array([0.7])
    moves = (jnp.array([0.3, 0.1]), jnp.array([-0.5]))

    def back(weights):
        return tuple(operation.cotangent(a, b, weights))

    (forwards,) = jax.linear_transpose(back, jnp.zeros(2))(moves)
    _, want = jax.jvp(lambda a, b: operation(a, b)[0], (a, b), moves)
    np.testing.assert_allclose(forwards, want, rtol=1e-14)
    with pytest.raises(NotImplementedError, match="not linear"):
        jax.linear_transpose(lambda a: operation(a, b)[0], a)(jnp.zeros(2))
