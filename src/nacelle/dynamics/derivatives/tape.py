"""Derivatives on the graph of a trace, by inputs or along the tangent of the pose.

A trace is a list of operations z_k = f_k(z_i, z_j). With a direction, dz of the inputs, every operation adds

    forward   dz_k = (df_k/dz_i) dz_i + (df_k/dz_j) dz_j            a column of the Jacobian for a direction
    reverse   c_i += c_k df_k/dz_i                                  a row for a value, from the end backwards

so few directions (the pose, the twist) are pushed forward, and many inputs (the robot's numbers) are pulled
back. Along the tangent e (n,) of the pose the inputs move by dx = X e (nx,) and dy = Y e (ny,), quaternions
by [e; 0] o q / 2; unknowns y that iteration finds satisfy r(y, p) = 0, so dy/dp = -r_y^-1 r_p, which is the
derivative of Newton's step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from nacelle.dynamics.derivatives.tangent import has_tilts, tangent
from nacelle.kinematics.iteration.newton_steps import closing_step
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.model.robot import Robot
from nacelle.program.derivative import forward, reverse
from nacelle.program.graph import Graph
from nacelle.program.symbol import Symbol, node_of
from nacelle.spatial.rotation import skew
from nacelle.spatial.scalar import Array, Scalar


class Tape:
    """Derivatives on the graph of a trace: of values, by arrays of inputs or along the tangent of the pose.

    Attributes:
        seeds: for each entry of the reduced twist, how the inputs x and y move along it.
    """

    def __init__(self, robot: Robot, x: Array, y: Array) -> None:
        """Start where x is an array of traced inputs."""
        self.graph: Graph = x[0].graph
        self.robot, self.x, self.y = robot, x, y
        moves = tangent(robot, x, y)
        self.T, self.X, self.Y = moves["T"], moves["x"], moves["y"]
        columns = np.concatenate([moves["x"], moves["y"]]).T
        self.seeds = [self.seed(np.concatenate([x, y]), column) for column in columns]

    def seed(self, inputs: Array, direction: Array) -> dict[int, int]:
        """A direction (k,) in the space of inputs (k,), as nodes of the graph by input, without zeros."""
        pairs = zip(inputs, (node_of(self.graph, entry) for entry in direction), strict=True)
        return {symbol.index: node for symbol, node in pairs if self.graph.values[node] != 0.0}

    def along(self, value: Array, seeds: Sequence[Mapping[int, int]]) -> Array:
        """Derivatives of an array (...) along k directions: (..., k)."""
        nodes = [node_of(self.graph, entry) for entry in np.ravel(value)]
        columns = [forward(self.graph, nodes, dict(seed)) for seed in seeds]
        rows = [[self._symbol(column[k]) for column in columns] for k in range(len(nodes))]
        return np.array(rows, dtype=object).reshape(*np.shape(value), len(seeds))

    def by_pose(self, value: Array) -> Array:
        """Derivatives of an array (...) along the tangent of the pose: (..., n), per m or rad, base axes."""
        return self.along(value, self.seeds)

    def by(self, value: Array, inputs: Array) -> Array:
        """Derivatives of an array (...) by an array of inputs (k,): (..., k)."""
        return self.along(value, [self.seed(inputs[k : k + 1], np.ones(1)) for k in range(len(inputs))])

    def by_parameters(self, value: Array, p: Array, geometry: bool) -> Array:
        """Derivatives (values, inputs) by many inputs; what iteration finds moves with the geometry."""
        direct = self._rows(value, np.concatenate([p, self.y]))
        J = direct[:, : len(p)]
        if geometry and len(self.y):
            # A step of Newton is -r_y^-1 r: where the loops are closed its derivative by p is dy/dp.
            step = closing_step(self.robot, self.y, self.x)["dy"]
            J = J + direct[:, len(p) :] @ self._rows(step, p)
        return np.asarray(J)

    def turn(self, v: Array) -> Array:
        """K (n, n): along a motion the tangent turns, de/dt = dv + K e.

        For rotation matrices K e = w x e; for tilts it follows from v = T x'.
        """
        n, layout = len(v), mechanism_of(self.robot).layout
        K: Array = np.zeros((n, n))
        if layout.angular is not None:
            K = K.astype(object)
            K[layout.angular, layout.angular] = skew(v[layout.angular])
        elif has_tilts(mechanism_of(self.robot)):
            slopes = self.by_pose(self.T)
            rate = self.X @ v
            K = (slopes @ v) @ self.X - np.stack([slopes[:, :, k] @ rate for k in range(n)], axis=1)
        return K

    def _rows(self, value: Array, inputs: Array) -> Array:
        one = self.graph.const(1.0)
        wanted = [symbol.index for symbol in inputs]
        rows = [reverse(self.graph, {node_of(self.graph, entry): one}, wanted) for entry in value]
        return np.array([[self._symbol(node) for node in row] for row in rows], dtype=object)

    def _symbol(self, node: int | None) -> Scalar:
        return 0.0 if node is None else Symbol(self.graph, node)
