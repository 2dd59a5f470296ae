"""An implicit Runge-Kutta method of order five with a fixed step, and how it runs without a compiler.

Radau IIA with three stages (Hairer and Wanner, Solving Ordinary Differential Equations II, sections IV.5 and
IV.8): collocation at c = (4 - √6)/10, (4 + √6)/10, 1. It is L-stable: what is far faster than the step is
damped at once and follows quasi-statically, so the step need only follow what matters. With z_i the change of
the state from the begin of the step to its stage i,

    z_i = h Σ a_ij f(x + z_j, u(t + c_j h))        x ← x + z_3

is solved by simplified Newton steps. In the coordinates w of z = T w, in which A⁻¹ has the diagonal blocks γ
and (α, β; -β, α), a Newton step solves with two matrices, one real and one complex,

    (γ/h - J) dw_1 = r_1      ((α - iβ)/h - J)(dw_2 + i dw_3) = r_2 + i r_3      r = T⁻¹ f - (Λ/h) w

and J = ∂f/∂x by differences. The rules, the same here and where it is compiled (`nacelle.emit.irk5_steps`):

- the iteration starts from the collocation polynomial of the step before, at first from zero;
- sizes are max |dz_i| / (s_i + 1e-3 max s), s_i the larger of |x_i| and |z_i|; with the ratio θ of two
  consecutive sizes, 0.1 for the first, the iteration has converged where θ/(1 - θ) size <= 1e-10, or where
  only rounding is left; it has failed where θ >= 1 but for the second size, or after 15 rounds;
- J is kept over several steps, until they have taken as many iterations more than the first one with it as a
  new J would cost;
- where the iteration does not converge with a new J, the step is halved, up to 20 times, and then made of
  such parts; inputs between the stages are those of the parabola through them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nacelle.emit.newton import CONVERGED, ITERATION_CAP
from nacelle.emit.registry import Kernel
from nacelle.emit.rk4 import IntegrationTask, integration_sizes
from nacelle.program.program import Program

_Array = NDArray[np.float64]
# Derivatives (k, n) of states (k, n) at times of the step (k,), in parts of it: 0 at its begin, 1 at its end.
Rates = Callable[[_Array, _Array], _Array]

_ROOT = np.sqrt(6.0)
# When the stages are, in parts of a step.
STAGES = np.array([(4.0 - _ROOT) / 10.0, (4.0 + _ROOT) / 10.0, 1.0])
# Nodes of the collocation polynomial.
NODES = np.array([0.0, *STAGES])
_A = np.array(
    [
        [(88 - 7 * _ROOT) / 360, (296 - 169 * _ROOT) / 1800, (-2 + 3 * _ROOT) / 225],
        [(296 + 169 * _ROOT) / 1800, (88 + 7 * _ROOT) / 360, (-2 - 3 * _ROOT) / 225],
        [(16 - _ROOT) / 36, (16 + _ROOT) / 36, 1 / 9],
    ]
)

TOLERANCE, FLOOR = 1e-10, 1e-3
# Below this size corrections that do not shrink any more are rounding.
ROUNDING, SLOW = 1e-6, 0.5
# The first size has no ratio to one before it: it counts as if it were this.
FIRST_RATIO = 0.1
MOST_ITERATIONS, MOST_HALVINGS = 15, 20
# The shortest part of a step: a power of two, so that times of stages are the same numbers for every part.
TICKS = 1 << MOST_HALVINGS
# Differences for J: of each state, relative to it, to the largest one, and at least.
DIFFERENCE, SMALL_STATE, LEAST_STATE = 2.0**-26, 1e-3, 1e-6


def radau_coefficients() -> tuple[float, float, float, _Array, _Array]:
    """γ, α, β, T (3, 3) and T⁻¹: A⁻¹ T = T Λ, Λ of the blocks γ and (α, β; -β, α)."""
    values, vectors = np.linalg.eig(np.linalg.inv(_A))
    real, pair = int(np.argmin(np.abs(values.imag))), int(np.argmax(values.imag))
    T = np.column_stack([vectors[:, real].real, vectors[:, pair].real, vectors[:, pair].imag])
    return float(values[real].real), float(values[pair].real), float(values[pair].imag), T, np.linalg.inv(T)


GAMMA, ALPHA, BETA, T, T_INVERSE = radau_coefficients()


def lagrange_weights(nodes: _Array, t: float) -> _Array:
    """Weights of values at nodes in their interpolation at t."""
    return np.array(
        [np.prod([(t - b) / (a - b) for j, b in enumerate(nodes) if j != i]) for i, a in enumerate(nodes)]
    )


def extrapolation_weights(longer: float) -> _Array:
    """Weights (3, 3) of a step's z in the start of the next, which is `longer` times as long.

    The polynomial goes on, from its end.
    """
    rows = np.array([lagrange_weights(NODES, 1.0 + longer * c)[1:] for c in STAGES])
    rows[:, 2] -= 1.0
    return rows


def refresh_cost(n: int) -> int:
    """How many iterations a new J costs, with n states."""
    return max(2, n // 4)


# ---- results


@dataclass(frozen=True)
class Irk5Result:
    """A motion from one initial state.

    Attributes:
        x: the states after each `every` steps (stored, n); NaN from where a step failed.
        completed: steps that were completed.
        status: 0 all were, 1 Newton's iteration did not converge, or a state was not finite.
        evaluations: how often the derivative was evaluated, those for J included.
        jacobians: how often J was computed.
    """

    x: _Array
    completed: int
    status: int
    evaluations: int
    jacobians: int


class ImplicitIntegrator(ABC):
    """Fixed implicit steps around a derivative program and, where there is one, a control program."""

    def __init__(self, program: Program, control: Program | None) -> None:
        self.sizes = integration_sizes(program, control)

    def integrate(
        self, x0: Any, u: Any, p: Any, *, h: float, steps: int, every: int = 1, held: int = 1
    ) -> Irk5Result:
        """Integrate from an initial state.

        Args:
            x0: initial state (n,).
            u: inputs (steps / held, m), each held over `held` steps, (1, m), held throughout, or
                (steps, 3, m), at the `STAGES` of every step.
            p: parameters (k,).
            h: length of a step in seconds.
            steps: number of steps.
            every: number of steps from one stored state to the next, so there are steps // every of them.
            held: over how many steps a row of the inputs, or what the control gives, is held.
        """
        task = self.sizes.make_task(x0, u, p, steps, every, held, 0)
        if task.count != 1:
            raise ValueError(f"implicit steps are of one initial state, not of {task.count}")
        stored = np.full((steps // every, self.sizes.n), np.nan)
        return self._integrate(task, h, stored)

    @abstractmethod
    def _integrate(self, task: IntegrationTask, h: float, stored: _Array) -> Irk5Result:
        """Fill the stored states (stored, n)."""


# ---- without a compiler


class NotConvergedError(ArithmeticError):
    """Newton's iteration has not converged, however short the step."""


class Radau:
    """Steps of one length, from state to state, around any derivative.

    Attributes:
        evaluations: how often the derivative was evaluated.
        jacobians: how often J was computed.
    """

    def __init__(self, n: int, halvings: int = MOST_HALVINGS) -> None:
        self.n, self.halvings = n, halvings
        self.evaluations = self.jacobians = 0
        self._level = self._extra = self._base = 0
        # The stages of the last part and its level, J, and the inverses of its matrices.
        self._z: _Array | None = None
        self._z_level = 0
        self._J: _Array | None = None
        self._inverses: tuple[Any, Any] | None = None

    def step(self, rates: Rates, x: _Array, h: float) -> _Array:
        """The state after a step.

        Args:
            rates: the derivative.
            x: the state (n,).
            h: length of the step; the same in every call.

        Raises:
            NotConvergedError: if Newton's iteration does not converge.
        """
        done, fresh = 0, False
        while done < TICKS:
            ticks = TICKS >> self._level
            begin, part = done / TICKS, ticks / TICKS
            if self._J is None or self._extra >= refresh_cost(self.n):
                self._J, fresh = self._jacobian_by_differences(rates, x, begin), True
                self._inverses, self._extra, self._base = None, 0, 0
            if self._inverses is None:
                self._inverses = _inverse_matrices(self._J, h * part)

            def parts(states: _Array, c: _Array, begin: float = begin, part: float = part) -> _Array:
                return rates(states, begin + part * c)

            iterations = self._iterate(parts, x, h * part)
            if iterations is None:
                if not fresh:
                    self._J = None
                    continue
                if self._level == self.halvings:
                    raise NotConvergedError
                self._level, self._inverses = self._level + 1, None
                continue
            assert self._z is not None
            x, done, fresh = x + self._z[2], done + ticks, False
            self._base = self._base or iterations
            self._extra += max(0, iterations - self._base)
            if self._level and done % (2 * ticks) == 0:
                self._level, self._inverses = self._level - 1, None
        return x

    def _jacobian_by_differences(self, rates: Rates, x: _Array, begin: float) -> _Array:
        """J (n, n) at the begin of a part of the step."""
        size = np.abs(x)
        d = DIFFERENCE * np.maximum(size, max(SMALL_STATE * np.max(size, initial=0.0), LEAST_STATE))
        values = rates(np.concatenate([x[None], x + np.diag(d)]), np.full(self.n + 1, begin))
        self.evaluations += self.n + 1
        self.jacobians += 1
        return np.asarray(((values[1:] - values[0]) / d[:, None]).T)

    def _iterate(self, rates: Rates, x: _Array, h: float) -> int | None:
        """Newton's iteration for z (3, n); how many iterations it took, None if it does not converge."""
        assert self._inverses is not None
        real, pair = self._inverses
        z = np.zeros((3, self.n))
        if self._z is not None:
            z = extrapolation_weights(2.0 ** (self._z_level - self._level)) @ self._z
        w, before = T_INVERSE @ z, 0.0
        for k in range(1, MOST_ITERATIONS + 1):
            r = T_INVERSE @ rates(x + z, STAGES)
            self.evaluations += 3
            first = real @ (r[0] - GAMMA / h * w[0])
            others = pair @ (r[1] + 1j * r[2] - (ALPHA - 1j * BETA) / h * (w[1] + 1j * w[2]))
            step = np.stack([first, others.real, others.imag])
            w = w + step
            z = T @ w
            scale = np.maximum(np.abs(x), np.max(np.abs(z), axis=0))
            scale = scale + FLOOR * np.max(scale) + np.finfo(float).tiny
            size = float(np.max(np.abs(T @ step) / scale))
            if not np.isfinite(size):
                return None
            ratio = size / before if k > 1 else FIRST_RATIO
            if size * ratio <= TOLERANCE * (1.0 - ratio) or (ratio >= SLOW and size <= ROUNDING):
                self._z, self._z_level = z, self._level
                return k
            if ratio >= 1.0 and k > 2:
                return None
            before = size
        return None


def _inverse_matrices(J: _Array, h: float) -> tuple[Any, Any]:
    """Inverses of both matrices; NaN if one of them is singular."""
    identity = np.eye(len(J))
    try:
        return np.linalg.inv(GAMMA / h * identity - J), np.linalg.inv((ALPHA - 1j * BETA) / h * identity - J)
    except np.linalg.LinAlgError:
        return np.full_like(J, np.nan), np.full_like(J, np.nan)


class NumpyIrk5(ImplicitIntegrator):
    """The implicit steps around kernels."""

    def __init__(
        self, program: Program, kernel: Callable[[Program], Kernel], control: Program | None = None
    ) -> None:
        """Prepare.

        Args:
            program: the derivative.
            kernel: what makes a program run.
            control: what gives u at the begin of every step.
        """
        super().__init__(program, control)
        self._derivative = kernel(program)
        self._control = None if control is None else kernel(control)
        self._inputs = program.inputs[1].size
        self._halvings = MOST_HALVINGS
        self.last_step: tuple[tuple[bytes, float], _Array] | None = None

    def integrate(
        self,
        x0: Any,
        u: Any,
        p: Any,
        *,
        h: float,
        steps: int,
        every: int = 1,
        held: int = 1,
        halvings: int = MOST_HALVINGS,
    ) -> Irk5Result:
        """Integrate; a step may be halved so often where Newton's iteration does not converge."""
        self._halvings = halvings
        return super().integrate(x0, u, p, h=h, steps=steps, every=every, held=held)

    def initial_rate(self, x0: Any, u: Any, p: Any) -> _Array:
        """The derivative (n,) at the begin of the first step."""
        task = self.sizes.make_task(x0, u, p, 1, 1, 1, 0)
        x = np.array(task.x0[0])
        with np.errstate(all="ignore"):
            return np.asarray(self._rates(x[None], np.zeros(1), self._stage_inputs(task, 0, x), task.p)[0])

    def _rates(self, states: _Array, c: _Array, rows: _Array, p: _Array) -> _Array:
        """Derivatives (k, n) at times c of the step, from its inputs (3, m) at the stages."""
        out = np.empty((len(states), self.sizes.n))
        at = {t: lagrange_weights(STAGES, t) for t in set(c.tolist())}
        weights = np.array([at[t] for t in c.tolist()])
        self._derivative.run([np.ascontiguousarray(states), weights @ rows, p], [out], 1)
        return out

    def _integrate(self, task: IntegrationTask, h: float, stored: _Array) -> Irk5Result:
        radau, x = Radau(self.sizes.n, self._halvings), np.array(task.x0[0])
        rows = np.zeros((3, self._inputs))

        def rates(states: _Array, c: _Array) -> _Array:
            return self._rates(states, c, rows, task.p)

        status = CONVERGED
        done = 0
        with np.errstate(all="ignore"):
            for step in range(task.steps):
                if self._control is None or step % task.held == 0:
                    rows = self._stage_inputs(task, step, x)
                try:
                    x = radau.step(rates, x, h)
                except NotConvergedError:
                    status = ITERATION_CAP
                    break
                done = step + 1
                if done % task.every == 0:
                    stored[done // task.every - 1] = x
        return Irk5Result(stored, done, status, radau.evaluations, radau.jacobians)

    def _stage_inputs(self, task: IntegrationTask, step: int, x: _Array) -> _Array:
        """The inputs (3, m) of the derivative at the stages of a step from the state x."""
        stage_inputs = task.stages(step)
        if self._control is None:
            return np.array(stage_inputs)
        u = np.empty((1, self._inputs))
        self._control.run([x[None].copy(), stage_inputs[0][None].copy(), task.p], [u], 1)
        return np.repeat(u, 3, axis=0)
