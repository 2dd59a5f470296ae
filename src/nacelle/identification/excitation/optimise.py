"""The best motion as an optimisation problem: criterion, limits, exact gradients, and its solution.

The best motion: random motions within the limits, then sequential quadratic programming from the best.

A random motion has normal coefficients Z; z -> s z with the largest s that keeps all limits makes it use them
fully, so that the best of many is a fair start and a fair rival. From there SLSQP minimises the criterion
with exact gradients (`MotionDesign`). What it gives is checked at many more times than it was optimised at,
and
drawn towards the centre, where the robot rests within all limits, until all of them hold: z -> s z again.

Dry friction changes its sign within less than the time between two samples, so that the criterion is rugged:
every sample that changes sides is a step of it, and an optimiser stops at the first one. So the sign changes
over a wider rate first, where the criterion is smooth; the motion reached there is the start for the friction
as it is, at all samples.

The motion as an optimisation problem: criterion and limits of its coefficients, with exact gradients.

A motion with coefficients Z has samples c_k, c_k', c_k'' at times t_k, k = 1 .. N, linear in Z (`motions`).
Each gives weighted rows R_k (actuators, parameters) of the regressor and numbers h_k that have limits
(`sample_model`). The criterion f is a function of all rows, divided by sqrt(N), so by the chain rule

    df/dZ = sum over k of  F_k^T g_c,k + F_k'^T g_c',k + F_k''^T g_c'',k

with F (N, functions) the functions of time, and g the sweep backwards with the weights df/dR_k. The use u_i
of a limit over time is one smooth number, the function of Kreisselmeier and Steinhauser,

    KS_i = max_k u_ik + log(sum over k of exp(r (u_ik - max))) / r

at most log(N) / r above the largest, with the weights du/dh exp(...) / sum for its own sweep. Columns are
counted in units that make the rows of random motions in the same limits have length 1 (`scale_columns`).

How well rows R (rows, parameters) determine the parameters: condition and determinant, with derivatives.

With the singular values R = U diag(s) V^T, s_1 the largest of p, and columns in units of the parameters,

    condition    s_1 / s_p                  a relative error of the forces grows by so much at most
    log-det      -log det(R^T R) / 2 = -sum of log s_i        (D-optimal: the volume of the confidence set)

The derivative of a function of the singular values is U diag(df/ds) V^T. The condition itself has none where
singular values meet, which is what its minimisation leads to; so the logarithm of

    (sum of s_i^q)^(1/q) (sum of s_i^-q)^(1/q)

is minimised, which is smooth and, as q grows, falls to the condition from above, by p^(2/q) at most.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from nacelle.dynamics.base_parameters.base_parameters import BaseParameters
from nacelle.dynamics.base_parameters.choice import column_options
from nacelle.dynamics.friction import DRY_FRICTION
from nacelle.dynamics.physics import Physics
from nacelle.errors import IdentificationError
from nacelle.identification.excitation.limits import (
    ConstraintForm,
    Limits,
    centred_coordinates,
    constraint_form,
)
from nacelle.identification.excitation.motions import MotionFunctions
from nacelle.identification.excitation.sample_model import (
    Options,
    compile_sample_function,
    limited_gradients,
    limited_values,
    row_gradients,
    weighted_rows,
)
from nacelle.kinematics.flags import Flag, has_failed
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.motion import solve_loops
from nacelle.kinematics.shapes import twist_scales
from nacelle.kinematics.solve.unknowns import SearchStart
from nacelle.model.robot import Robot
from nacelle.progress import task
from nacelle.spatial.rotation import quat_exp, quat_multiply
from nacelle.spatial.scalar import Array

# Singular values below this part of the largest are rounding.
_ROUNDING = 1e-13


def criterion(name: str, R: Array, order: float = 8.0) -> tuple[float, Array]:
    """A criterion at rows R (rows, parameters), to be minimised, and its derivative by the rows (same shape).

    Args:
        name: "condition" or "log-det".
        R: the rows.
        order: q of the smooth condition.
    """
    # Of R = Q T the triangle T has the singular values, and U = R V diag(1 / s).
    _, s, Vt = np.linalg.svd(np.linalg.qr(R, mode="r"), full_matrices=False)
    s = np.maximum(s, _ROUNDING * s[0])
    if name == "log-det":
        return float(-np.sum(np.log(s))), -R @ ((Vt.T / s**2) @ Vt)
    up, down = (s / s[0]) ** order, (s[-1] / s) ** order
    value = np.log(s[0] / s[-1]) + (np.log(np.sum(up)) + np.log(np.sum(down))) / order
    slope = (up / np.sum(up) - down / np.sum(down)) / s**2
    return float(value), R @ ((Vt.T * slope) @ Vt)


# ---- the motion as an optimisation problem: criterion and limits of its coefficients, with exact gradients


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
        failed: samples (...) that have no configuration.
    """

    motion: tuple[Array, Array, Array, Array]
    failed: Array


@dataclass(frozen=True, eq=False)
class MotionDesign:
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
        fixed: weighted rows of other measurements (rows, parameters), in these units.
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
        unit = np.broadcast_to(_PART * twist_scales(self.robot), self.free.shape)
        return np.asarray(unit[self.free])

    def coefficients(self, z: Array) -> Array:
        """Coefficients Z (..., functions, n) of variables (..., variables)."""
        Z = np.zeros((*z.shape[:-1], *self.free.shape))
        Z[..., self.free] = z * self.units
        return Z

    @cached_property
    def options(self) -> Options:
        """Options of the regressor's program."""
        return tuple({"physics": Physics(smooth=self.smooth), **column_options(self.base)}.items())

    # ---- samples

    def samples(self, Z: Array, t: Array | None = None, guess: Array | None = None) -> MotionSamples:
        """Samples of motions with coefficients (..., functions, n) at times (N,): (..., N, n).

        Args:
            Z: the coefficients.
            t: the times, s; those of the problem if None.
            guess: passive coordinates near by (..., N, ny).
        """
        functions = self.at_times if t is None else self.functions.at(t)
        c, dc, ddc = (part @ Z for part in functions)
        return self.states(c, dc, ddc, guess)

    def states(self, c: Array, dc: Array, ddc: Array, guess: Array | None = None) -> MotionSamples:
        """Samples at coordinates about the centre and their derivatives (..., n).

        Passive coordinates are added.
        """
        x = self.poses(c)
        c = c + centred_coordinates(self.robot, self.center)[0]
        flat = x.reshape(-1, x.shape[-1])
        start = None if guess is None else SearchStart(None, guess.reshape(len(flat), -1))
        _, y, flags = solve_loops(self.robot, flat, guess=start)
        y = np.asarray(y).reshape(*c.shape[:-1], mechanism_of(self.robot).unknown_count)
        bad = has_failed(flags) | ((flags & int(Flag.OTHER_BRANCH)) != 0)
        return MotionSamples((c, dc, ddc, y), bad.reshape(c.shape[:-1]))

    def poses(self, c: Array) -> Array:
        """Reduced poses (..., nx) at coordinates (..., n) about the centre."""
        c = c + centred_coordinates(self.robot, self.center)[0]
        layout = mechanism_of(self.robot).layout
        if layout.angular is None:
            return np.asarray(c)
        quat = quat_multiply(quat_exp(c[..., layout.angular]), self.quat_0)
        return layout.join_x(c[..., list(layout.linear_v)], quat)

    def rows(self, samples: MotionSamples) -> tuple[Array, Array]:
        """Weighted rows (..., actuators, parameters) in `columns` and forces (..., actuators), N m or N."""
        program = compile_sample_function(weighted_rows, self.robot, len(self.base), self.options)
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

    def limited_values_at(self, samples: MotionSamples) -> Array:
        """`limited_values` (..., values) at samples."""
        return np.asarray(compile_sample_function(limited_values, self.robot)(*samples.motion, self.quat_0))

    def uses(self, samples: MotionSamples, force: Array) -> Array:
        """Uses of all limits (..., limits) at samples."""
        return self.uses_of(self.values_with_limits(samples, force), samples.failed)

    def values_with_limits(self, samples: MotionSamples, force: Array) -> Array:
        """`limited_values`, then forces (..., limits)."""
        return np.concatenate([self.limited_values_at(samples), force], axis=-1)

    def uses_of(self, values: Array, failed: Array) -> Array:
        """Uses of all limits (..., limits) from `values_with_limits` and the samples that have failed."""
        uses = self.form.uses(values)
        return np.where(np.isfinite(uses) & ~failed[..., None], uses, _BEYOND)

    # ---- what the optimiser sees

    def times(self) -> Array:
        """Times (N,) of the samples, s."""
        return self.functions.times(self.count)

    @cached_property
    def at_times(self) -> tuple[Array, Array, Array]:
        """The functions and their derivatives at the times of the samples, (N, functions) each."""
        return self.functions.at(self.times())

    def stack_rows(self, R: Array) -> Array:
        """Rows R (N, actuators, parameters) of a motion over sqrt(N), then fixed ones (k, parameters)."""
        return np.concatenate([R.reshape(-1, R.shape[-1]) / np.sqrt(len(R)), self.fixed])

    def evaluate(self, z: Array, name: str, order: float, guess: Array | None = None) -> Evaluation:
        """Criterion and limits of variables (variables,), with their gradients.

        Args:
            z: the variables.
            name: of the criterion.
            order: of the smooth condition.
            guess: passive coordinates at the samples of a motion near by (N, ny).
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

    def __init__(self, problem: MotionDesign, samples: MotionSamples, name: str, order: float) -> None:
        self.problem, self.samples = problem, samples
        R, force = problem.rows(samples)
        self.finite = bool(np.all(np.isfinite(R))) and not bool(np.any(samples.failed))
        self._values = problem.values_with_limits(samples, force)
        self.uses = problem.uses_of(self._values, samples.failed)
        self.R = R
        self.value, self._slope = _BEYOND, np.zeros_like(R)
        if self.finite:
            value, slope = criterion(name, problem.stack_rows(R), order)
            row_slopes = slope[: R.shape[0] * R.shape[1]].reshape(R.shape) / np.sqrt(len(R))
            self.value, self._slope = value, row_slopes * problem.columns

    def gradient(self) -> Array:
        """Of the criterion by the variables (variables,)."""
        return self._slopes[0]

    def constraint(self) -> Array:
        """The smooth largest uses over time (limits,), at most 1; symmetric ones squared."""
        top, weights = self._peak_weights
        return np.asarray(top + np.log(np.sum(weights, axis=0)) / _SHARP)

    def constraint_slopes(self) -> Array:
        """Derivatives (limits, variables) of `constraint` by the variables."""
        return self._slopes[1]

    @cached_property
    def _peak_weights(self) -> tuple[Array, Array]:
        """The largest uses (limits,), symmetric ones squared, and the weights of all (N, limits)."""
        symmetric = self.problem.form.symmetric
        u = np.where(symmetric, self.uses**2, self.uses)
        top = np.max(u, axis=0)
        return top, np.exp(_SHARP * (u - top))

    @cached_property
    def _slopes(self) -> tuple[Array, Array]:
        """Derivatives of the criterion (variables,) and of `constraint` (limits, variables).

        They are sums over time, from sweeps backwards at the samples that count: one for kinematic limits,
        and one for rows and forces.
        """
        p = self.problem
        factor, _, symmetric, labels = p.form
        if not self.finite:
            return np.zeros(len(p.units)), np.zeros((len(labels), len(p.units)))
        _, weights = self._peak_weights
        # d(use)/d(value), of squares 2 use; (limits, N). Far below the peak a sample counts for nothing.
        part = np.where(weights > _NOTHING, weights, 0.0) / np.sum(weights, axis=0)
        along = (part * np.where(symmetric, 2.0 * self._values * factor, 1.0) * factor).T
        count, actuators, parameters = self.R.shape
        kinematic, by_force = along[:-actuators], along[-actuators:]
        limit, at = np.nonzero(kinematic)
        value_weights = np.zeros((len(at), len(kinematic)))
        value_weights[np.arange(len(at)), limit] = kinematic[limit, at]
        by_values = compile_sample_function(limited_gradients, p.robot)(value_weights, *self._motion_at(at))
        axis, during = np.nonzero(by_force)
        every = np.concatenate([np.arange(count), during])
        row_weights = np.zeros((len(every), actuators, parameters))
        row_weights[:count] = self._slope
        force_weights = np.zeros((len(every), actuators))
        force_weights[count + np.arange(len(during)), axis] = by_force[axis, during]
        program = compile_sample_function(row_gradients, p.robot, len(p.base), p.options)
        by_rows = program(row_weights, force_weights, p.sigma, p.base.values, *self._motion_at(every))
        gradient: Array = np.zeros(())
        slopes: Array = np.zeros(())
        for functions, name in zip(p.at_times, ("c", "dc", "ddc"), strict=True):
            spread = np.zeros((*along.shape, by_rows[name].shape[-1]))
            spread[limit, at] = by_values[name]
            spread[len(kinematic) + axis, during] = by_rows[name][count:]
            gradient = gradient + functions.T @ by_rows[name][:count]
            slopes = slopes + functions.T @ spread
        return gradient[p.free] * p.units, slopes[:, p.free] * p.units

    def _motion_at(self, samples: Array) -> list[Array]:
        """The motion at some of the samples, as programs take it."""
        return [*(part[samples] for part in self.samples.motion), self.problem.quat_0]


def scale_columns(problem: MotionDesign, motions: Array) -> MotionDesign:
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


# ---- the best motion: random motions within the limits, then sequential quadratic programming from the best


# The scale with which the search for the largest one begins; its steps, a factor of two, then bisection.
_SMALL = 1.0 / 64.0
_DOUBLINGS, _BISECTIONS = 24, 7
# Length of the optimiser's first step, in units of the variables.
_FIRST_STEP = 0.3
# Motions that are evaluated at once.
_BLOCK = 64


class OptimisationStage(NamedTuple):
    """A stage of the optimisation.

    Attributes:
        kept: part of the starts that are improved in it, the best ones; two at least.
        order: of the smooth condition.
        part: of the iterations, at most.
        friction_widening: factor of the rate over which Coulomb friction changes its sign.
        sample_stride: one sample out of this number is used.
    """

    kept: float
    order: float
    part: float
    friction_widening: float = 1.0
    sample_stride: int = 1

    def motions(self, starts: int) -> int:
        """How many motions are improved in it, out of a number of starts."""
        return min(starts, max(2, round(self.kept * starts)))

    def of(self, problem: MotionDesign) -> MotionDesign:
        """The problem as this stage sees it."""
        wide = self.friction_widening if has_dry_friction(problem.robot) else 1.0
        return replace(
            problem, smooth=wide * problem.smooth, count=math.ceil(problem.count / self.sample_stride)
        )


_STAGES = (
    OptimisationStage(1.0, 8.0, 0.2, friction_widening=5.0, sample_stride=2),
    OptimisationStage(0.6, 8.0, 0.3, friction_widening=5.0, sample_stride=2),
    OptimisationStage(0.3, 16.0, 1.0),
    OptimisationStage(0.2, 64.0, 1.5),
)
# Starts: the fewest, the most, and of how many coefficients times parameters one has the time.
_FEWEST, _MOST, _WORK = 8, 24, 20000


def default_start_count(problem: MotionDesign) -> int:
    """How many motions are improved if nobody says: more where each takes less time."""
    return max(_FEWEST, min(_MOST, _WORK // (len(problem.units) * len(problem.base))))


def has_dry_friction(robot: Robot) -> bool:
    """Whether friction in a joint changes at once where its rate changes its sign."""
    return any(
        term.basis in DRY_FRICTION for joint in robot.joints for terms in joint.friction for term in terms
    )


@dataclass
class BestMotion:
    """The best motion so far, and how it was found.

    Attributes:
        z: its variables (variables,).
        value: of the criterion, as it is minimised.
        iterations: of the optimiser.
        interrupted: whether the user ended the search.
        message: of the optimiser, where it ended last.
    """

    z: Array
    value: float
    iterations: int = 0
    interrupted: bool = False
    message: str = ""


def random_motions(problem: MotionDesign, count: int, seed: int) -> Array:
    """Variables (count, variables) of random motions that use the limits fully.

    Raises:
        IdentificationError: if no motion is within the limits; it names the limit that is in the way.
    """
    rng = np.random.default_rng(seed)
    candidates = rng.normal(size=(count, len(problem.units)))
    with task(f"{count} random motions within the limits") as report:
        blocks = [candidates[k : k + _BLOCK] for k in range(0, count, _BLOCK)]
        fitted = []
        for k, block in enumerate(blocks):
            fitted.append(_scale_to_limits(problem, block))
            report((k + 1) / len(blocks))
    z = np.concatenate(fitted)
    if not np.any(z):
        raise IdentificationError(_blocking_limit_message(problem, candidates[0]))
    return z[np.any(z, axis=-1)]


def _keeps_limits(problem: MotionDesign, z: Array) -> Array:
    """Which motions (M, variables) keep all limits at the times of the problem (M,)."""
    samples = problem.samples(problem.coefficients(z))
    _, force = problem.rows(samples)
    return np.asarray(np.all(problem.uses(samples, force) <= 1.0, axis=(-1, -2)))


def _scale_to_limits(problem: MotionDesign, z: Array) -> Array:
    """Motions scaled to the largest size within the limits; zero where none is.

    The search is upwards, since poses far out of reach take longest where iteration is needed.
    """
    low, high = np.zeros(len(z)), np.full(len(z), np.inf)
    scale = np.full(len(z), _SMALL)
    for _ in range(_DOUBLINGS):
        searched = (low == 0.0) | np.isinf(high)
        if not np.any(searched):
            break
        good = np.zeros(len(z), dtype=bool)
        good[searched] = _keeps_limits(problem, scale[searched, None] * z[searched])
        low = np.where(searched & good, scale, low)
        high = np.where(searched & ~good, scale, high)
        scale = np.where(good, 2.0 * scale, np.where(low == 0.0, 0.5 * scale, scale))
    high = np.where(np.isinf(high), low, high)
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        good = _keeps_limits(problem, middle[:, None] * z)
        low, high = np.where(good, middle, low), np.where(good, high, middle)
    return np.asarray(low[:, None] * z)


def _blocking_limit_message(problem: MotionDesign, z: Array) -> str:
    """Message that says which limit the smallest motion exceeds."""
    samples = problem.samples(problem.coefficients(z * _SMALL * 2.0**-_DOUBLINGS))
    uses = problem.uses(samples, problem.rows(samples)[1])
    kind, name = problem.form.labels[int(np.argmax(np.max(uses, axis=0)))]
    return f"{problem.robot.name}: no motion about the centre is within the {kind} limit of {name}"


def criterion_values(problem: MotionDesign, z: Array, name: str) -> Array:
    """The criterion (M,) of motions (M, variables): the condition number, or -log det(R^T R) / 2."""
    values = []
    for k in range(0, len(z), _BLOCK):
        R, _ = problem.rows(problem.samples(problem.coefficients(z[k : k + _BLOCK])))
        for rows in R:
            stacked = problem.stack_rows(rows)
            if not np.all(np.isfinite(stacked)):
                values.append(np.inf)
                continue
            values.append(np.linalg.cond(stacked) if name == "condition" else criterion(name, stacked)[0])
    return np.array(values)


def optimise_motions(
    problem: MotionDesign, starts: Array, name: str, *, iterations: int, check: Callable[[Array], Array]
) -> BestMotion:
    """Improve motions (starts, variables): all of them a little, the best ones more.

    Args:
        problem: the problem.
        starts: variables (starts, variables) of motions within the limits, the best first.
        name: of the criterion.
        iterations: of the optimiser in each stage and from each motion, at most.
        check: draws a motion towards the centre until it is within the limits at all times.
    """
    z = check(starts[0])
    best = BestMotion(z, float(criterion_values(problem, z[None], name)[0]))
    stages = [stage for stage in _STAGES if name == "condition" or stage is not _STAGES[-1]]
    runs = [stage.motions(len(starts)) for stage in stages]
    begun = 0

    def run(stage: OptimisationStage, stage_problem: MotionDesign, start: Array) -> tuple[float, Array]:
        """Run the optimiser from one motion; what it has reached is kept, also where it is interrupted.

        Gives the value of the criterion as it will be in the end, and the motion.
        """
        most = max(1, round(stage.part * iterations))
        reached = [start]

        def step(z: Array) -> None:
            reached.append(np.array(z))
            best.iterations += 1
            report(min(1.0, (begun + (len(reached) - 1) / most) / sum(runs)))

        try:
            best.message = _minimise(stage_problem, start, name, stage.order, iterations=most, step=step)
        finally:
            fitted = check(reached[-1])
            value = float(criterion_values(problem, fitted[None], name)[0])
            if value < best.value:
                best.z, best.value = fitted, value
        return value, fitted

    with task(f"optimising the motion ({len(problem.units)} coefficients)") as report:
        motions = list(starts)
        try:
            for stage, count in zip(stages, runs, strict=True):
                stage_problem = stage.of(problem)
                results: list[tuple[float, Array]] = []
                for start in motions[:count]:
                    results.append(run(stage, stage_problem, start))
                    begun += 1
                motions = [motion for _, motion in sorted(results, key=lambda pair: pair[0])]
        except KeyboardInterrupt:
            best.interrupted = True
    return best


def _minimise(
    problem: MotionDesign,
    start: Array,
    name: str,
    order: float,
    *,
    iterations: int,
    step: Callable[[Array], None],
) -> str:
    """Minimise a criterion, by its name and order, from a motion; the message of the optimiser.

    Each iterate is given to `step`.
    """
    from scipy.optimize import minimize

    memory: dict[bytes, Evaluation] = {}
    guess: list[Array | None] = [None]

    def at(z: Array) -> Evaluation:
        key = z.tobytes()
        if key not in memory:
            memory.clear()
            memory[key] = problem.evaluate(z, name, order, guess[0])
            if memory[key].finite and memory[key].samples.motion[3].shape[-1]:
                guess[0] = memory[key].samples.motion[3]
        return memory[key]

    # The first step is along the gradient as it is: in this scale it stays near by.
    scale = min(1.0, _FIRST_STEP / max(float(np.linalg.norm(at(start).gradient())), 1e-12))
    result = minimize(
        lambda z: scale * at(z).value,
        start,
        jac=lambda z: scale * at(z).gradient(),
        constraints=[
            {
                "type": "ineq",
                "fun": lambda z: 1.0 - at(z).constraint(),
                "jac": lambda z: -at(z).constraint_slopes(),
            }
        ],
        method="SLSQP",
        callback=step,
        options={"maxiter": iterations, "ftol": 1e-6 * scale},
    )
    return str(result.message)
