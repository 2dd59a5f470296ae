"""Friction of a robot's joints along a measurement, as a function of the encoders' zeros.

Dry friction of a passive joint jumps where its rate w(t) passes zero. Zeros z change the geometry, and so the
times of these jumps:

    w = J_w(x(q + z)) q',      c = J_w^T sign(w)      c (actuators,) a column of friction

What the filter of the forces makes of a jump depends on its time, and a sampled sign would be a staircase in
z. So columns are evaluated at nodes, ten in a period of the filter's cutoff, and between two nodes with
different signs the jump d = 2 J_w^T is put where the power d . q' = 2 w, linear between the nodes, is zero.
Exact means of these columns over short cells pass the filter that the forces have passed.
"""

from __future__ import annotations

import numpy as np

from nacelle.dynamics.jacobian import jacobian
from nacelle.dynamics.regressor import regressor
from nacelle.identification.data.checks.correction import Correction
from nacelle.identification.data.checks.judge import Judge
from nacelle.identification.data.checks.smoothing import Smoothed
from nacelle.identification.data.measured_path import Path
from nacelle.identification.data.poses import poses_near
from nacelle.kinematics.forward.actuator_path import actuator_scales
from nacelle.spatial.scalar import Array

# Nodes in a period of the filter's cutoff, how many at most, and cells that are filtered for each.
_NODES, _MOST, _CELLS = 10.0, 10000, 2
# Change of a column from node to node, in parts of its rms, that is a jump.
_JUMP = 0.3
# Half the distance of the two values at a jump, in samples.
_APART = 1e-6


class JointFriction:
    """Columns of the linear form that are friction's, through the filter of the forces."""

    def __init__(self, judge: Judge, signals: Smoothed, correction: Correction) -> None:
        """Take the corrected signals."""
        self._robot, self._base, self._signals = judge.robot, judge.base, signals
        self._columns = list(judge.base.friction)
        m, self._count = len(judge.robot.actuators), len(signals.all_values)
        wanted = int(np.ceil(0.5 * _NODES * signals.cutoff * self._count))
        self._places = np.linspace(0.0, self._count - 1.0, int(np.clip(wanted, 2, min(self._count, _MOST))))
        self._q = _between(correction.apply(signals.all_values)[:, :m], self._places)
        self._rate = _between(correction.apply(signals.all_rates, 1)[:, :m], self._places)
        self._units = actuator_scales(judge.robot)

    def at(self, zeros: Array, path: Path) -> Array:
        """Columns at the instants (M, actuators, columns of friction), for a path with these zeros.

        Args:
            zeros: added to the coordinates (actuators,), rad or robot sizes.
            path: poses at the instants with these zeros; those of the nodes are sought near them.
        """
        m, k = self._q.shape[1], len(self._columns)
        instants = np.flatnonzero(path.good)
        if not k or not instants.size:
            return np.zeros((len(path.x), m, k))
        nearest = np.searchsorted(self._signals.places[instants], self._places).clip(0, len(instants) - 1)
        x = poses_near(self._robot, self._q + zeros * self._units, path.x[instants[nearest]])
        sound = np.all(np.isfinite(x), axis=1)
        v = np.einsum("kni,ki->kn", jacobian(self._robot, x[sound]).direct, self._rate[sound])
        Y = regressor(self._robot, x[sound], v, parameters=self._base).Y[..., self._columns]
        finite = np.all(np.isfinite(Y), axis=(1, 2))
        places, rate, Y = self._places[sound][finite], self._rate[sound][finite], Y[finite]
        if len(places) < 4:
            return np.zeros((len(path.x), m, k))
        edges = np.linspace(-0.5, self._count - 0.5, min(self._count, _CELLS * len(self._places)) + 1)
        cells = [_means(*_with_jumps(places, column, rate), edges) for column in np.moveaxis(Y, 2, 0)]
        passed = self._signals.passed(np.concatenate(cells, axis=1))
        return np.moveaxis(passed.reshape(-1, k, m), 1, 2)


def _between(columns: Array, places: Array) -> Array:
    """Columns (N, k) at places between samples (K, k), linear."""
    below = np.minimum(places.astype(int), len(columns) - 2)
    part = (places - below)[:, None]
    return np.asarray((1.0 - part) * columns[below] + part * columns[below + 1])


def _with_jumps(places: Array, column: Array, rate: Array) -> tuple[Array, Array]:
    """Nodes (K + 2 jumps,) and values (K + 2 jumps, actuators) with two more at the time of each jump.

    Args:
        places: of the nodes (K,).
        column: of friction there (K, actuators).
        rate: q' there (K, actuators).
    """
    change = np.diff(column, axis=0)
    squares = np.sum(change**2, axis=1)
    jumps = np.flatnonzero(squares > _JUMP**2 * np.mean(np.sum(column**2, axis=1)))
    smooth = np.pad(change, ((1, 1), (0, 0)))
    smooth[jumps + 1] = 0.0
    # How the column goes on before and after each jump, from one node to the next.
    before, after = smooth[jumps], smooth[jumps + 2]
    left = np.sum((change[jumps] - after) * rate[jumps], axis=1)
    right = np.sum((change[jumps] - before) * rate[jumps + 1], axis=1)
    through = right > left
    jumps, before, after = jumps[through], before[through], after[through]
    # Close to a node the zero may come out beyond it.
    part = np.clip(left[through] / (left[through] - right[through]), 0.0, 1.0)[:, None]
    times = places[jumps] + part[:, 0] * np.diff(places)[jumps]
    more = np.concatenate([column[jumps] + part * before, column[jumps + 1] - (1.0 - part) * after])
    where = np.concatenate([places, times - _APART, times + _APART])
    order = np.argsort(where, kind="stable")
    return where[order], np.concatenate([column, more])[order]


def _means(places: Array, values: Array, edges: Array) -> Array:
    """Means over cells between edges (n + 1,) of what is linear between places (K,): (n, k)."""
    length = np.diff(places)[:, None]
    slope = np.diff(values, axis=0) / np.maximum(length, 1e-12)
    total = np.concatenate([np.zeros((1, values.shape[1])), values[:-1] * length + slope * length**2 / 2.0])
    total = np.cumsum(total, axis=0)
    # Beyond the ends the first and the last value go on.
    inside = np.clip(edges, places[0], places[-1])
    below = np.clip(np.searchsorted(places, inside, side="right") - 1, 0, len(places) - 2)
    part = (inside - places[below])[:, None]
    integral = total[below] + values[below] * part + slope[below] * part**2 / 2.0
    beyond = (edges - inside)[:, None]
    integral = integral + np.where(beyond < 0.0, values[0], values[-1]) * beyond
    return np.asarray(np.diff(integral, axis=0) / np.diff(edges)[:, None])
