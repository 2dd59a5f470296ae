"""Programs as functions of JAX and PyTorch, and the native one: values and gradients of inverse dynamics.

    python benchmarks/frameworks.py [ROBOT ...]

Nanoseconds a state over batches of 4096, each in turn with the native program, the median of rounds; and
the seconds until the first result. Libraries that are not installed are left out.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np

import nacelle
from nacelle.export.states import random_states

STATES, ROUNDS = 4096, 7


def _ns(function: Callable[[], Any]) -> float:
    start = time.perf_counter()
    function()
    return (time.perf_counter() - start) / STATES * 1e9


def _jax(model: nacelle.dynamics.Model, states: Any) -> dict[str, Callable[[], Any]]:
    import jax

    jax.config.update("jax_enable_x64", True)
    made = model.compile(target="jax")
    x, v, a = map(jax.numpy.asarray, (states.x, states.v, states.a))
    value = jax.jit(lambda x, v, a: made(x, v=v, a=a))
    slope = jax.jit(jax.grad(lambda x, v, a: jax.numpy.sum(made(x, v=v, a=a) ** 2), (0, 1, 2)))
    return {
        "JAX": lambda: value(x, v, a).block_until_ready(),
        "JAX, gradient": lambda: jax.block_until_ready(slope(x, v, a)),
    }


def _torch(model: nacelle.dynamics.Model, states: Any) -> dict[str, Callable[[], Any]]:
    import torch

    made = model.compile(target="torch")
    x, v, a = (torch.tensor(values, requires_grad=True) for values in (states.x, states.v, states.a))
    return {
        "PyTorch": lambda: made(x.detach(), v=v.detach(), a=a.detach()),
        "PyTorch, gradient": lambda: torch.autograd.grad((made(x, v=v, a=a) ** 2).sum(), (x, v, a)),
    }


def measured(name: str) -> None:
    """Print the rows of a robot."""
    robot = nacelle.load(name)
    few = random_states(robot, 64)
    rows = np.arange(STATES) % 64
    states = type(few)(robot, few.x[rows], few.y[rows], few.v[rows], few.a[rows], {})
    model = nacelle.model(robot, "inverse_dynamics")
    native = model.compile()

    def plain() -> Any:
        return native(states.x, states.y, states.v, states.a, threads=1)

    plain()
    for library in (_jax, _torch):
        try:
            functions = library(model, states)
        except nacelle.errors.CompileError:
            continue
        except ImportError:
            continue
        for label, function in functions.items():
            start = time.perf_counter()
            function()
            first = time.perf_counter() - start
            pairs = [(_ns(plain), _ns(function)) for _ in range(ROUNDS)]
            own, other = (median(values) for values in zip(*pairs, strict=True))
            print(
                f"| `{name}` | {label} | {other:.0f} | {own:.0f} | {other / own:.1f} | {first:.1f} |",
                flush=True,
            )


if __name__ == "__main__":
    print("| robot | function | ns a state | native program, ns | ratio | s to the first result |")
    print("|---|---|---|---|---|---|")
    for robot_name in sys.argv[1:] or ("fivebar", "palida", "quattro"):
        measured(robot_name)
