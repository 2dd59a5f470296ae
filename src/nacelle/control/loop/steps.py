"""Steps of the integration that follow a plant: from the fastest rate of its flow along a path.

At a state s the flow s' = f(s, u) has the Jacobian A = df/ds. The classical Runge-Kutta method is stable
while h |l| < 2.7 for its eigenvalues l: those of friction that turns its sign over a small rate, of current
loops, of bristles, of vibrations. A is found by differences, at rest and in motion at poses of the path. Of
friction that jumps there is no slope: where half the difference doubles it, it is left out.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nacelle.simulation.protocol import HasDerivatives, Plant, Stepped
from nacelle.simulation.run import STEP
from nacelle.spatial.scalar import Array

# The largest product of a step and a rate, and the poses of a path that are looked at.
_STABLE, _POSES = 2.0, 12
# By how much states are moved, over 1 and over their size.
_NUDGE = 1e-7


def integration_step(plant: Plant, x: Array, v: Array, u: Array) -> float:
    """The longest step (s) that follows a plant along poses (N, nx) and twists (N, n) under forces (N, m)."""
    picked = np.unique(np.linspace(0, len(x) - 1, min(_POSES, len(x))).round().astype(int))
    step = STEP
    if isinstance(plant, Stepped):
        step = min(step, plant.default_step(plant.state(x[0], v[0])))
    fastest = 0.0
    for k in picked:
        for twist in (np.zeros_like(v[k]), v[k]):
            fastest = max(fastest, _fastest(plant, plant.state(x[k], twist), u[k]))
    return min(step, _STABLE / fastest) if fastest else step


def _fastest(plant: Plant, s: Array, u: Array) -> float:
    """The largest eigenvalue of df/ds at a state, absolute, 1/s; 0 where the flow jumps."""
    nudge = _NUDGE * np.maximum(1.0, np.abs(s))
    slopes = [_slopes(plant, s, u, part * nudge) for part in (1.0, 0.5)]
    if not all(np.isfinite(A).all() for A in slopes):
        return 0.0
    rates = [float(np.max(np.abs(np.linalg.eigvals(A)), initial=0.0)) for A in slopes]
    return 0.0 if rates[1] > 1.5 * rates[0] else rates[1]


def _slopes(plant: Plant, s: Array, u: Array, nudge: Array) -> Array:
    """df/ds (size, size) by central differences."""
    size = len(s)
    moved = np.concatenate([s + np.diag(nudge), s - np.diag(nudge)])
    values: Any
    if isinstance(plant, HasDerivatives):
        values = plant.derivatives(moved, np.broadcast_to(u, (2 * size, len(u))).copy())
    else:
        f = plant.derivative()
        values = np.array([f(state, u) for state in moved])
    return np.asarray((values[:size] - values[size:]).T / (2.0 * nudge))
