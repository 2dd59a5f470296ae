"""The motion as an optimisation problem: criterion and limits of its coefficients, with exact gradients.

A motion with coefficients Z has samples c_k, c_k', c_k'' at times t_k, k = 1 .. N, linear in Z (`motions`).
Each gives weighted rows R_k (actuators, parameters) of the regressor and numbers h_k that have limits
(`sample_model`). The criterion f is a function of all rows, divided by sqrt(N), so by the chain rule

    df/dZ = sum over k of  F_k^T g_c,k + F_k'^T g_c',k + F_k''^T g_c'',k

with F (N, functions) the functions of time, and g the sweep backwards with the weights df/dR_k. The use u_i
of a limit over time is one smooth number, the function of Kreisselmeier and Steinhauser,

    KS_i = max_k u_ik + log(sum over k of exp(r (u_ik - max))) / r

at most log(N) / r above the largest, with the weights du/dh exp(...) / sum for its own sweep. Columns are
counted in units that make the rows of random motions in the same limits have length 1 (`scaled_columns`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from nacelle.dynamics.base_parameters.base_parameters import BaseParameters
from nacelle.dynamics.base_parameters.choice import column_options
from nacelle.dynamics.settings import Settings
from nacelle.errors import IdentificationError
from nacelle.identification.excitation.criterion import criterion
from nacelle.identification.excitation.limits import (
    ConstraintForm,
    Limits,
    centred_coordinates,
    constraint_form,
)
from nacelle.identification.excitation.motions import MotionFunctions
from nacelle.identification.excitation.sample_model import (
    limited_gradients,
    limited_values,
    row_gradients,
    sampler,
    weighted_rows,
)
from nacelle.kinematics.flags import Flag, failed
from nacelle.kinematics.iteration.unknowns import SearchStart
from nacelle.kinematics.jacobian import twist_units
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.motion import solved
from nacelle.model.robot import Robot
from nacelle.progress import task
from nacelle.spatial.rotation_path import quat_exp, quat_multiply
from nacelle.spatial.scalar import Array

# Sharpness of the smooth maximum over time.
_SHARP = 150.0
# Samples whose weight in it is below this part of the largest do not change it.
_NOTHING = 1e-17
# What a limit counts as used where the robot has no configuration at all.
_BEYOND = 1e3
# Coefficients are counted in this part of the robot's size, or of a radian.
_PART = 0.1


class MotionSamples(NamedTuple):
    """Samples of motions.

    Attributes:
        motion: c, c', c'' (..., n) and y (..., ny), closed.
        bad: samples (...) that have no configuration.
    """

    motion: tuple[Array, Array, Array, Array]
    bad: Array


@dataclass(frozen=True, eq=False)
class Design:
    """Motions of a robot about a pose.

    Attributes:
        robot: the robot.
        base: the parameters that are to be excited.
        center: the pose (nx,).
        functions: of time.
        limits: what the motions keep to.
        sigma: standard deviations of the actuators' forces (actuators,), N m or N.
        smooth: rate over which Coulomb friction changes its sign, rad/s or m/s.
        count: samples of a motion.
        columns: units of the parameters (parameters,).
        fixed: weighted rows of measurements made beside (rows, parameters), in these units.
    """

    robot: Robot
    base: BaseParameters
    center: Array
    functions: MotionFunctions
    limits: Limits
    sigma: Array
    smooth: float
    count: int
    columns: Array
    fixed: Array

    # ---- coefficients

    @cached_property
    def free(self) -> Array:
        """Which coefficients (functions, n) are variables."""
        return self.functions.free(self.robot.motion)

    @cached_property
    def units(self) -> Array:
        """What variables count in (variables,), m or rad."""
        unit = np.broadcast_to(_PART * twist_units(self.robot), self.free.shape)
        return np.asarray(unit[self.free])

    def coefficients(self, z: Array) -> Array:
        """Coefficients Z (..., functions, n) of variables (..., variables)."""
        Z = np.zeros((*z.shape[:-1], *self.free.shape))
        Z[..., self.free] = z * self.units
        return Z

    def options(self, smooth: float | None) -> tuple[tuple[str, object], ...]:
        """Options of the regressor's program."""
        return tuple({**Settings(True, smooth).options, **column_options(self.base)}.items())

    # ---- samples

    def samples(self, Z: Array, t: Array | None = None, guess: Array | None = None) -> MotionSamples:
        """Samples of motions with coefficients (..., functions, n) at times (N,): (..., N, n).

        Args:
            Z: the coefficients.
            t: the times, s; those of the problem if None.
            guess: what iteration found near by (..., N, ny).
        """
        functions = self.at_times if t is None else self.functions.at(t)
        c, dc, ddc = (part @ Z for part in functions)
        return self.states(c, dc, ddc, guess)

    def states(self, c: Array, dc: Array, ddc: Array, guess: Array | None = None) -> MotionSamples:
        """Samples at coordinates about the centre and their derivatives (..., n).

        What iteration finds is added.
        """
        c = c + centred_coordinates(self.robot, self.center)[0]
        mechanism = mechanism_of(self.robot)
        layout = mechanism.layout
        x = c
        if layout.angular is not None:
            quat = quat_multiply(quat_exp(c[..., layout.angular]), self.quat_0)
            x = layout.join_x(c[..., list(layout.linear_v)], quat)
        flat = x.reshape(-1, x.shape[-1])
        start = None if guess is None else SearchStart(None, guess.reshape(len(flat), -1))
        _, y, flags = solved(self.robot, flat, guess=start)
        y = np.asarray(y).reshape(*c.shape[:-1], mechanism.ny)
        bad = failed(flags) | ((flags & int(Flag.OTHER_BRANCH)) != 0)
        return MotionSamples((c, dc, ddc, y), bad.reshape(c.shape[:-1]))

    def rows(self, samples: MotionSamples, smooth: float | None = None) -> tuple[Array, Array]:
        """Weighted rows (..., actuators, parameters) in `columns` and forces (..., actuators), N m or N."""
        program = sampler(weighted_rows, self.robot, len(self.base), self.options(smooth or self.smooth))
        results = program(self.sigma, self.base.values, *samples.motion, self.quat_0)
        return results["R"] * self.columns, results["force"]

    @cached_property
    def quat_0(self) -> Array:
        """The centre's orientation quat_xyzw (4,), about which rotations are counted."""
        return centred_coordinates(self.robot, self.center)[1]

    @cached_property
    def form(self) -> ConstraintForm:
        """How values and forces become uses."""
        return constraint_form(self.robot, self.limits)

    def limited(self, samples: MotionSamples) -> Array:
        """`limited_values` (..., values) at samples."""
        return np.asarray(sampler(limited_values, self.robot)(*samples.motion, self.quat_0))

    def uses(self, samples: MotionSamples, force: Array) -> Array:
        """Uses of all limits (..., limits) at samples."""
        uses = self.form.uses(np.concatenate([self.limited(samples), force], axis=-1))
        return np.where(np.isfinite(uses) & ~samples.bad[..., None], uses, _BEYOND)

    def labels(self) -> list[tuple[str, str]]:
        """Kind and name of every limit."""
        return self.form.labels

    # ---- what the optimiser sees

    def times(self) -> Array:
        """Times (N,) of the samples, s."""
        return self.functions.times(self.count)

    @cached_property
    def at_times(self) -> tuple[Array, Array, Array]:
        """The functions and their derivatives at the times of the samples, (N, functions) each."""
        return self.functions.at(self.times())

    def stacked(self, R: Array) -> Array:
        """Rows R (N, actuators, parameters) of a motion over sqrt(N), then fixed ones (k, parameters)."""
        return np.concatenate([R.reshape(-1, R.shape[-1]) / np.sqrt(len(R)), self.fixed])

    def evaluate(self, z: Array, name: str, order: float, guess: Array | None = None) -> Evaluation:
        """Criterion and limits of variables (variables,), with their gradients.

        Args:
            z: the variables.
            name: of the criterion.
            order: of the smooth condition.
            guess: what iteration found at the samples of a motion near by (N, ny).
        """
        samples = self.samples(self.coefficients(z), guess=guess)
        return Evaluation(self, samples, name, order)


class Evaluation:
    """Criterion and limits of one motion, and their gradients.

    Attributes:
        problem: the problem.
        samples: of the motion.
        value: of the criterion.
        uses: of all limits (N, limits).
    """

    def __init__(self, problem: Design, samples: MotionSamples, name: str, order: float) -> None:
        self.problem, self.samples = problem, samples
        R, self.force = problem.rows(samples)
        self.finite = bool(np.all(np.isfinite(R))) and not bool(np.any(samples.bad))
        self.uses = problem.uses(samples, self.force)
        self.R = R
        self.value, self._slope = _BEYOND, np.zeros_like(R)
        if self.finite:
            value, slope = criterion(name, problem.stacked(R), order)
            moved = slope[: R.shape[0] * R.shape[1]].reshape(R.shape) / np.sqrt(len(R))
            self.value, self._slope = value, moved * problem.columns

    def gradient(self) -> Array:
        """Of the criterion by the variables (variables,)."""
        p = self.problem
        none = np.zeros(self.force.shape)
        program = sampler(row_gradients, p.robot, len(p.base), p.options(p.smooth))
        results = program(self._slope, none, p.sigma, p.base.values, *self.samples.motion, p.quat_0)
        return self._pulled(results)

    def constraint(self) -> Array:
        """The smooth largest uses over time (limits,), at most 1; symmetric ones squared."""
        top, weights = self._peaks()
        return np.asarray(top + np.log(np.sum(weights, axis=0)) / _SHARP)

    def _peaks(self) -> tuple[Array, Array]:
        """The largest uses (limits,), symmetric ones squared, and the weights of all (N, limits)."""
        symmetric = self.problem.form.symmetric
        u = np.where(symmetric, self.uses**2, self.uses)
        top = np.max(u, axis=0)
        return top, np.exp(_SHARP * (u - top))

    def constraint_slopes(self) -> Array:
        """Derivatives (limits, variables) of `constraint` by the variables."""
        p = self.problem
        factor, _, symmetric, labels = p.form
        if not self.finite:
            return np.zeros((len(labels), len(p.units)))
        _, weights = self._peaks()
        raw = np.concatenate([p.limited(self.samples), self.force], axis=-1) * factor
        # d(use)/d(value), of squares 2 use; (limits, N). Far below the peak a sample counts for nothing.
        part = np.where(weights > _NOTHING, weights, 0.0) / np.sum(weights, axis=0)
        along = (part * np.where(symmetric, 2.0 * raw, 1.0) * factor).T
        kinematic = len(labels) - self.force.shape[-1]
        return np.concatenate([self._of_values(along[:kinematic]), self._of_forces(along[kinematic:])])

    def _of_values(self, along: Array) -> Array:
        """Slopes (limits, variables) of sums over time of values, weighted by `along` (limits, N)."""
        p = self.problem
        return self._swept(along, lambda one, motion: sampler(limited_gradients, p.robot)(one, *motion))

    def _of_forces(self, along: Array) -> Array:
        """Slopes (actuators, variables) of sums over time of forces, weighted by `along` (actuators, N)."""
        p = self.problem
        program = sampler(row_gradients, p.robot, len(p.base), p.options(p.smooth))

        def sweep(one: Array, motion: Sequence[Array]) -> dict[str, Array]:
            none = np.zeros((*one.shape, len(p.base)))
            return dict(program(none, one, p.sigma, p.base.values, *motion))

        return self._swept(along, sweep)

    def _swept(self, along: Array, sweep: Callable[[Array, Sequence[Array]], dict[str, Array]]) -> Array:
        """Slopes (limits, variables) of sums over time, by sweeps backwards at the samples that count.

        Args:
            along: weights (limits, N) of the numbers in the sums.
            sweep: gradients by samples for weights (M, limits) at M samples of the motion.
        """
        limit, at = np.nonzero(along)
        one = np.zeros((len(at), len(along)))
        one[np.arange(len(at)), limit] = along[limit, at]
        results = sweep(one, [*(part[at] for part in self.samples.motion), self.problem.quat_0])
        spread = {}
        for name, result in results.items():
            spread[name] = np.zeros((*along.shape, result.shape[-1]))
            spread[name][limit, at] = result
        return self._pulled(spread)

    def _pulled(self, results: dict[str, Array]) -> Array:
        """Gradients by the variables (..., variables) from those by samples (..., N, n)."""
        p = self.problem
        total: Array = np.zeros(())
        for part, name in zip(p.at_times, ("c", "dc", "ddc"), strict=True):
            total = total + part.T @ results[name]
        return np.asarray(total[..., p.free] * p.units)


def scaled_columns(problem: Design, motions: Array) -> Design:
    """The problem with columns in units in which random motions (motions, functions, n) have columns of 1.

    A parameter counts in the amount of it that forces of one standard deviation, on average over the
    motions, are due to.

    Raises:
        IdentificationError: if a parameter has no effect in any of them.
    """
    with task("scaling columns by random motions"):
        R, _ = problem.rows(problem.samples(motions))
    size = np.sqrt(np.nanmean(np.sum(R**2, axis=-2), axis=(0, 1)))
    if not np.all(size > 0.0):
        name = problem.base.names[int(np.argmin(size))]
        raise IdentificationError(f"{name} has no effect in any motion within these limits")
    return replace(problem, columns=problem.columns / size)
