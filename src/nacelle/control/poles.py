"""Poles of a sampled loop around poses at rest: the linear model of the robot, and that of its controller.

Between two samples ds/dt = A s + B u and dq = C s (`nacelle.dynamics.linearise`, in platform coordinates).
Forces of a sample act from a delay d on, so that over a sample time T

    s+ = F s + G_1 u_before + G_0 u      F = exp(A T)      G_0 = int_0^(T - d) exp(A t) dt B
                                          G_1 = exp(A (T - d)) int_0^d exp(A t) dt B

The controller gives [z+; u] = L_z dz + L_q dq, by differences of its law at rest. The eigenvalues l of the
map of [s; z; u_before] are poles p = ln(l) / T with the damping ratio -Re p / |p|. A delay of w T + d has w
more samples of u between. The delay margin is the largest further delay with which no deviation grows.

A step of one count of an encoder in dq makes a force that dies out with the filters of the law: its ripple.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from nacelle.control.controller import Controller
from nacelle.control.kind import ControlLaw, DesiredMotion
from nacelle.dynamics.derivatives.linear import linearise
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array

# Steps of the differences, of numbers of the size 1.
_DIFFERENCE_STEP = 1e-6
# Samples at rest after which the memory is that of rest.
_SETTLING_SAMPLES = 5
# Samples after a count in which its largest force is sought.
_RIPPLE_SAMPLES = 10
# Further delays beyond this, in samples, are not tried.
_LARGEST_MARGIN = 200
# Eigenvalues so near to 1 stay where they are (norms of quaternions), and so near to 0 are gone at once.
_NEUTRAL, _DEAD_BEAT = 1e-6, 1e-6


@dataclass(frozen=True, eq=False)
class LoopPoles:
    """Poles of a loop at poses (N,).

    Attributes:
        x: the poses (N, nx).
        values: poles (N, k), rad/s; NaN where an eigenvalue is neutral or dead-beat.
        stable: whether no deviation grows (N,).
    """

    x: Array
    values: Array
    stable: Array

    @property
    def damping(self) -> Array:
        """The smallest damping ratio of the poles at each pose (N,); below zero if one grows."""
        with np.errstate(invalid="ignore", divide="ignore"):
            ratio = -self.values.real / np.abs(self.values)
        return np.asarray(np.min(np.where(np.isnan(ratio), np.inf, ratio), axis=-1))

    @property
    def slowest(self) -> Array:
        """The slowest pole at each pose (N,), Hz."""
        return np.asarray(np.nanmin(np.abs(self.values), axis=-1) / (2.0 * np.pi))


class StateSpaces(NamedTuple):
    """Linear models of a robot at poses x (N, nx): A (N, k, k), B (N, k, actuators), C (N, actuators, k).

    Without N it is the model at one pose.
    """

    x: Array
    A: Array
    B: Array
    C: Array


def inertial_models(x: Array, M: Array, J: Array) -> StateSpaces:
    """Linear models of masses alone: e'' = M^-1 J^T u, dq = J e, at poses (N, nx)."""
    n, m = M.shape[-1], J.shape[-2]
    batch = len(x)
    A = np.zeros((batch, 2 * n, 2 * n))
    A[:, :n, n:] = np.eye(n)
    B = np.zeros((batch, 2 * n, m))
    B[:, n:] = np.linalg.solve(M, np.swapaxes(J, -1, -2))
    return StateSpaces(x, A, B, np.concatenate([J, np.zeros_like(J)], axis=-1))


def loop_poles(
    controller: Controller, x: Any, *, delay: float = 0.0, lag: float = 0.0, true: Robot | None = None
) -> LoopPoles:
    """Poles of a controller's loop around poses at rest, without friction: that only adds damping.

    Args:
        controller: the controller.
        x: reduced poses (N, nx) or (nx,).
        delay: from a sample to the time at which its forces act, s.
        lag: time constant of the current loops, s; 0 for none.
        true: the robot that moves; the controller's model if None.
    """
    poses = np.atleast_2d(np.asarray(x, dtype=float))
    plant = linearise(controller.robot if true is None else true, poses, friction=False)
    return poles_of(controller, StateSpaces(poses, plant.A, plant.B, plant.C), delay=delay, lag=lag)


def poles_of(
    controller: Controller, plant: StateSpaces, *, delay: float = 0.0, lag: float = 0.0
) -> LoopPoles:
    """Poles of a controller's loop around linear models; `loop_poles` says what the arguments are."""
    return _poles(_sampled_loops(controller, plant, lag), controller.period, delay)


def delay_margin(
    controller: Controller, plant: StateSpaces, *, delay: float = 0.0, lag: float = 0.0
) -> float:
    """The largest further delay (s) with which the loop around linear models is stable; 0 if it is unstable.

    It is found to a hundredth of itself, and infinite beyond `_LARGEST_MARGIN` samples. Arguments as of
    `poles_of`.
    """
    loops, period = _sampled_loops(controller, plant, lag), controller.period

    def is_stable(further: float) -> bool:
        return bool(_poles(loops, period, delay + further).stable.all())

    if not is_stable(0.0):
        return 0.0
    low, high = 0.0, 0.25 * period
    while is_stable(high):
        low, high = high, 2.0 * high
        if high > _LARGEST_MARGIN * period:
            return math.inf
    while high - low > 0.01 * high:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if is_stable(middle) else (low, middle)
    return low


def count_ripple(controller: Controller, x: Array, resolution: Array) -> Array:
    """The largest force of each actuator (actuators,), N or N m, that one count of any encoder makes.

    Args:
        controller: the controller.
        x: poses at rest (N, nx).
        resolution: counts of the encoders (actuators,), rad or m.
    """
    largest = np.zeros(len(controller.robot.actuators))
    for pose in x:
        law = _law_derivatives(controller, pose)
        z = np.zeros((len(law.z_z), len(resolution)))
        for _ in range(_RIPPLE_SAMPLES):
            force = law.u_z @ z + law.u_q * resolution
            largest = np.maximum(largest, np.max(np.abs(force), axis=1))
            z = law.z_z @ z + law.z_q * resolution
    return largest


class LawModel(NamedTuple):
    """dz+/dz, dz+/dq, du/dz and du/dq of a controller at rest at a pose."""

    z_z: Array
    z_q: Array
    u_z: Array
    u_q: Array


class SampledLoop(NamedTuple):
    """The linear model of a robot at one pose behind its current loops, and that of its controller there."""

    plant: StateSpaces
    law: LawModel


def _sampled_loops(controller: Controller, plant: StateSpaces, lag: float) -> list[SampledLoop]:
    models = [StateSpaces(*at) for at in zip(*plant, strict=True)]
    return [SampledLoop(_add_lag(model, lag), _law_derivatives(controller, model.x)) for model in models]


def _poles(loops: Sequence[SampledLoop], period: float, delay: float) -> LoopPoles:
    values, stable = [], []
    for loop in loops:
        eigenvalues = np.linalg.eigvals(_loop_matrix(loop, period, delay))
        stable.append(bool(np.max(np.abs(eigenvalues)) <= 1.0 + _NEUTRAL))
        skipped = (np.abs(eigenvalues - 1.0) < _NEUTRAL) | (np.abs(eigenvalues) < _DEAD_BEAT)
        with np.errstate(all="ignore"):
            poles = np.log(np.where(skipped, np.nan, eigenvalues)) / period
        values.append(np.sort_complex(poles))
    return LoopPoles(np.array([loop.plant.x for loop in loops]), np.array(values), np.array(stable))


def _loop_matrix(loop: SampledLoop, period: float, delay: float) -> Array:
    """The map of [s; z; forces of the samples before] over a sample."""
    _, A, B, C = loop.plant
    z_z, z_q, u_z, u_q = loop.law
    whole = max(0, math.ceil(delay / period - 1e-9) - 1)
    F, G_0, G_1 = _discretise(A, B, period, delay - whole * period)
    n, nz, m = len(A), len(z_z), B.shape[1]
    L = np.zeros((n + nz + (whole + 1) * m,) * 2)
    s, z = slice(0, n), slice(n, n + nz)
    before = [slice(n + nz + k * m, n + nz + (k + 1) * m) for k in range(whole + 1)]
    L[s, s], L[z, s], L[z, z] = F, z_q @ C, z_z
    L[before[0], s], L[before[0], z] = u_q @ C, u_z
    for later, earlier in pairwise(before):
        L[earlier, later] = np.eye(m)
    L[s, before[-1]] = G_1
    if whole:
        L[s, before[-2]] = G_0
    else:
        L[s, s] += G_0 @ u_q @ C
        L[s, z] = G_0 @ u_z
    return L


def _add_lag(model: StateSpaces, lag: float) -> StateSpaces:
    """The linear model at one pose behind current loops: g' = (u - g) / lag are further states."""
    if not lag:
        return model
    x, A, B, C = model
    n, m = B.shape
    rate = np.eye(m) / lag
    return StateSpaces(
        x,
        np.block([[A, B], [np.zeros((m, n)), -rate]]),
        np.vstack([np.zeros((n, m)), rate]),
        np.hstack([C, np.zeros((len(C), m))]),
    )


def _discretise(A: Array, B: Array, T: float, delay: float) -> tuple[Array, Array, Array]:
    """F, G_0 and G_1 of forces that are held over a sample from a delay on."""
    from scipy.linalg import expm

    n, m = B.shape

    def over(t: float) -> tuple[Array, Array]:
        whole = expm(t * np.block([[A, B], [np.zeros((m, n + m))]]))
        return whole[:n, :n], whole[:n, n:]

    late, early = over(T - delay), over(delay)
    return late[0] @ early[0], late[1], late[0] @ early[1]


@lru_cache(maxsize=512)
def _start_at_rest(kind: ControlLaw, robot: Robot, pose: tuple[float, ...]) -> tuple[Array, Array]:
    """Coordinates of the actuators and the memory of a law at rest at a pose, which depend on no tuning."""
    alone = Controller(kind, robot, 1.0, kind.plausible_gains(robot))
    return alone.coordinates(pose), alone.start(pose)


def _law_derivatives(controller: Controller, x: Array) -> LawModel:
    """dz+/dz, dz+/dq, du/dz and du/dq of a controller at rest at a pose."""
    robot, law = controller.robot, controller.compiled
    n = robot.motion.n
    q, z = _start_at_rest(controller.kind, robot, tuple(x.tolist()))
    row = np.concatenate(DesiredMotion(x, np.zeros(n), np.zeros(n)))
    for _ in range(_SETTLING_SAMPLES):
        z = np.asarray(law(z, q, row, controller.gains)["memory"])
    point = np.concatenate([z, q])
    steps = _DIFFERENCE_STEP * np.maximum(1.0, np.abs(point))
    both = np.vstack([point + np.diag(steps), point - np.diag(steps)])
    split = len(z)
    outputs = law(both[:, :split], both[:, split:], row, controller.gains)
    count = len(point)

    def slope(values: Array) -> Array:
        return np.asarray(((values[:count] - values[count:]) / (2.0 * steps[:, None])).T)

    memory, force = slope(np.asarray(outputs["memory"])), slope(np.asarray(outputs["force"]))
    return LawModel(memory[:, :split], memory[:, split:], force[:, :split], force[:, split:])
