"""Equilibria of a loaded robot with flexible links, actuators locked where the rigid robot has them.

Out of balance are h = dV + A^T lambda (r,) and the gaps phi of closures and actuators. With N the rates
that the constraints allow, a step moves by d and keeps the forces lambda of the constraints that balance
best:

    A d = -phi,     N^T (h + D h d) = 0,     lambda = -(A^T)^+ dV

D h is the exact derivative (`tangent`). The first step, from straight links, is the linear solution.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nacelle.elastic.extended import Extended
from nacelle.elastic.linear.matrices import actuator_scale
from nacelle.elastic.linear.state import Deformed, gaps
from nacelle.elastic.linear.subspace import null_spaces, rate_scales
from nacelle.elastic.linear.tangent import ExternalLoads, Forces, LoadedRobot, stressed
from nacelle.kinematics.mechanism.assembly import row_scale
from nacelle.spatial.scalar import Array

_ITERATIONS = 40
# A step goes no further than this in scaled rates (rad, parts of the robot's size).
_LONGEST = 0.2
# Where a step is this short in scaled rates the equilibrium is reached.
_FOUND = 1e-12
# Steps that no longer become shorter end the iteration at rounding.
_ROUNDING = 1e-9
# Loads are put on in so many steps, more of them where fewer do not lead to an equilibrium.
_STAGES = (1, 4, 20)


@dataclass(frozen=True, eq=False)
class Balance:
    """A robot at or near an equilibrium.

    Attributes:
        state: where it is.
        tangent: its stiffness D h (r, r).
        rows: constraints with locked actuators (rows, r), scaled.
        basis: N (r, k).
        closures: forces of the closures (locks,), N or N m.
        actuators: forces of the actuators (actuators,), N or N m, that hold it.
    """

    state: Deformed
    tangent: Array
    rows: Array
    basis: Array
    closures: Array
    actuators: Array

    @property
    def reduced(self) -> Array:
        """The stiffness N^T D h N (k, k), its symmetric part."""
        K = self.basis.T @ self.tangent @ self.basis
        return np.asarray(0.5 * (K + K.T))

    @property
    def stable(self) -> bool:
        """Whether every motion that the constraints allow needs work."""
        size = len(self.basis.T)
        return not size or float(np.linalg.eigvalsh(self.reduced)[0]) > 0.0


def constraint_rows(loaded: LoadedRobot) -> Array:
    """Closures, idle spins and locked actuators (rows, r), scaled."""
    frames = loaded.frames
    rows = frames.actuator_rows() / actuator_scale(loaded.extended.robot)[:, None]
    return np.asarray(np.concatenate([frames.constraints(), rows]), dtype=float)


def _multipliers(own: Extended, rows: Array, gradient: Array) -> tuple[Array, Array]:
    """Forces of closures and actuators in SI units that balance a gradient of V best."""
    scale = rate_scales(own)
    values = -np.linalg.lstsq((rows * scale).T, scale * gradient, rcond=1e-8)[0]
    locks = row_scale(own.tree)
    count = len(own.robot.actuators)
    closures = values[: len(locks)] / locks
    return closures, values[len(values) - count :] / actuator_scale(own.robot)


def linear_balance(start: Deformed, loads: ExternalLoads) -> tuple[Balance, Array]:
    """The linear equilibrium, with its motion (r,) from straight links.

    The stiffness is that of the unloaded robot.
    """
    own, loaded = start.extended, LoadedRobot(start)
    rows = constraint_rows(loaded)
    (space,) = null_spaces(rows[None], rate_scales(own))
    N = space.basis
    K = loaded.strained().D + loaded.springs(preload=False).D
    f = loaded.outside(loads).h + loaded.springs(preload=True).h
    moved = N @ np.linalg.lstsq(N.T @ K @ N, -N.T @ f, rcond=None)[0]
    closures, actuators = _multipliers(own, rows, K @ moved + f)
    return Balance(start, K, rows, N, closures, actuators), moved


def load_stiffness(start: Deformed, loads: ExternalLoads) -> Array:
    """What a load adds to the stiffness (r, r) of the straight robot, to first order: linear in the load.

    Of axial forces in beams, of forces in closures and actuators that turn with their bodies, and of the
    loads.
    """
    own, loaded = start.extended, LoadedRobot(start)
    rows = constraint_rows(loaded)
    (space,) = null_spaces(rows[None], rate_scales(own))
    N = space.basis
    K = loaded.strained().D + loaded.springs(preload=False).D
    outside = loaded.outside(loads)
    moved = N @ np.linalg.lstsq(N.T @ K @ N, -N.T @ outside.h, rcond=None)[0]
    forces = _multipliers(own, rows, K @ moved + outside.h)
    G = outside.D + loaded.held(*forces).D + stressed(own, moved[len(own.rigid_rates) :])
    return np.asarray(G)


def balanced(start: Deformed, loads: ExternalLoads) -> Balance | None:
    """The equilibrium under loads near the straight robot; None if none is found."""
    for stages in _STAGES:
        state: Deformed | None = start
        result = None
        for k in range(1, stages + 1):
            result = None if state is None else _newton(start, state, loads.scaled(k / stages))
            state = None if result is None else result.state
        if result is not None:
            return result
    return None


def _newton(start: Deformed, state: Deformed, loads: ExternalLoads) -> Balance | None:
    own = start.extended
    scale = rate_scales(own)
    before = np.inf
    for _ in range(_ITERATIONS):
        loaded = LoadedRobot(state)
        rows = constraint_rows(loaded)
        gap = gaps(state, start, loaded.frames, len(rows) - len(own.robot.actuators))
        (space,) = null_spaces(rows[None], scale)
        N = space.basis
        inner = loaded.strained().plus(loaded.springs(preload=True))
        gradient: Forces = inner.plus(loaded.outside(loads))
        closures, actuators = _multipliers(own, rows, gradient.h)
        D = gradient.D + loaded.held(closures, actuators).D
        step = scale * np.linalg.lstsq(rows * scale, -gap, rcond=1e-8)[0]
        K = N.T @ D @ N
        try:
            step = step - N @ np.linalg.solve(K, N.T @ (gradient.h + D @ step))
        except np.linalg.LinAlgError:
            return None
        size = float(np.max(np.abs(step / scale), initial=0.0))
        if not np.isfinite(size):
            return None
        if size < _FOUND or (size < _ROUNDING and size >= 0.5 * before):
            return Balance(state, D, rows, N, closures, actuators)
        before = size
        state = state.moved(step * min(1.0, _LONGEST / size))
    return None
