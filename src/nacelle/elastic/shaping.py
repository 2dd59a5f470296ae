"""Timing of a motion along a path such that a robot with flexible links does not vibrate after the stop.

The path is not left: only the law s(t) changes, a B-spline of degree 5 with coefficients c, from rest to
rest in a given time T. Of all laws the one is taken with

    minimal  integral of s'''^2 dt / (that of the quintic law)  +  |r(c)|^2 / rho^2
    c_(k+1) >= c_k                                    s' >= 0: the motion never runs backwards
    |Gamma_i| <= limit,      |q_i'| <= limit          drives, at places over the motion

r (2 m,) is the residual of the lowest m modes (`path_vibration`), whose frequencies and shapes follow the
pose, rho a thousandth of what the quintic law leaves: practically r = 0, by the smoothest law. Where
frequencies are not known better than to a part e, residuals at 1 - e and 1 + e times all frequencies count
as well.

Each step is a quadratic program, with r and the drives' use linear in c (Gauss and Newton). Then the motion
is simulated by the elastic plant, with everything that the linear model neglects, and the difference of the
two residuals is added to the linear one: a few such corrections leave what the plant itself would do.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.sparse
from scipy.interpolate import BSpline as Spline

from nacelle.dynamics.inverse import inverse_dynamics
from nacelle.elastic.path_vibration import PathVibration, TimingSamples
from nacelle.elastic.plant import elastic_plant
from nacelle.errors import KinematicsError, did_you_mean
from nacelle.kinematics.motion import joint_motion
from nacelle.model.robot import Robot
from nacelle.progress import task
from nacelle.results import Plottable
from nacelle.simulation.integration import Integration
from nacelle.simulation.plant import Plant
from nacelle.simulation.simulate import Simulation, simulate
from nacelle.spatial.scalar import Array
from nacelle.trajectory.along_path import Path
from nacelle.trajectory.base import Trajectory, TrajectoryError, read_positive
from nacelle.trajectory.sampling import sample_trajectory
from nacelle.trajectory.shaping import (
    DEGREE,
    SHAPERS,
    Retimed,
    ShapedTiming,
    SplineTiming,
    TimedForm,
    clamped_knots,
)
from nacelle.trajectory.timing import Quintic, Timing, read_timing

# Intervals of the spline, and coefficients at each end that rest fixes.
_INTERVALS, _FIXED = 40, 3
# The residual that counts as much as the jerk of the quintic law, over what that law leaves.
_SMALL = 1e-3
# An amplitude that no robot shows, over its size.
_NOTHING = 1e-8
# Steps of Gauss and Newton, halvings of one, and the part of the cost that the last one gains.
_STEPS, _HALVINGS, _CONVERGED = 12, 5, 1e-3
# What exceeding the limits of drives costs.
_PENALTY = 1e4
# Periods of a mode in a motion beyond which a smooth law does not excite it.
_PERIODS = 8.0
# Places at which drives are watched in a step of the search, and for the result.
_WATCHED, _DENSE = 161, 4001
# Places at which the frequency that impulses follow is taken.
_EVEN = 33
# The search of the shortest duration: by which factor longer, how often, what may be left, longest, s.
_LONGER, _ATTEMPTS, _SMALL_ENOUGH, _LONGEST = 1.1, 16, 0.02, 1e3
# Steps of the plant, over the longest stable one.
_STABLE = 0.7


# ---- what the plant does


@dataclass(frozen=True, eq=False, repr=False)
class ResidualVibration(Plottable):
    """What a robot with flexible links does after a motion, its drives held.

    Attributes:
        robot: the robot.
        duration: of the motion, s.
        t: times after the stop (N,), s.
        displacement: of the platform's coordinates from rest (N, nx), m and rad.
        amplitude: largest distance of the platform from rest, m; largest angle, rad, of one that only turns.
    """

    robot: Robot
    duration: float
    t: Array
    displacement: Array
    amplitude: float


def residual_vibration(
    robot: Robot, trajectory: Trajectory, *, after: float = 1.0, static: bool = True
) -> ResidualVibration:
    """Simulate a motion of a robot with flexible links, its drives on the path, and what follows the stop.

    Args:
        robot: the robot.
        trajectory: of its motion, from rest to rest.
        after: how long the robot is watched after the stop, s.
        static: whether it starts at rest under gravity; else undeformed.
    """
    read_positive(after, "the time after the stop")
    plant = elastic_plant(robot, prescribed=True, static=static)
    run = follow(plant, trajectory, after)
    rests = run.t > trajectory.duration
    end = trajectory(trajectory.duration).x
    rest = plant.split(plant.state(end, np.zeros(robot.motion.n)))[0]
    displacement = run.x[rests] - rest
    linear = [k for k, name in enumerate(robot.motion.coordinates) if name in ("x", "y", "z")]
    distance = np.linalg.norm(displacement[:, linear] if linear else displacement, axis=1)
    t = run.t[rests] - trajectory.duration
    return ResidualVibration(robot, trajectory.duration, t, displacement, float(np.max(distance)))


def follow(plant: Plant, trajectory: Trajectory, after: float = 0.0) -> Simulation:
    """Simulate a plant, its drives led along a trajectory, and at rest after it."""
    robot, end = plant.robot, trajectory.duration
    poses, ask = trajectory(np.linspace(0.0, end, 5)).x, plant.suited_steps
    assert ask is not None
    longest = min(ask(plant.state(x, np.zeros(robot.motion.n))).longest for x in poses)
    count = int(np.ceil(end / (_STABLE * longest)))
    h = end / count
    t = (np.arange(count) + 0.5) * h
    accelerations = joint_motion(robot, *sample_trajectory(robot, trajectory, t)).actuators[2]
    rest = int(np.ceil(after / h))
    rows = np.concatenate([accelerations, np.zeros((rest, accelerations.shape[1]))])
    integration = Integration("rk4", step=h)
    run = simulate(plant, poses[0], None, rows, until=h * len(rows), integration=integration)
    if not run.ok:
        raise KinematicsError(f"the motion cannot be simulated: {run.message} at {run.t[-1]:.4g} s")
    return run


# ---- the law


@dataclass(frozen=True, eq=False, repr=False)
class ShapedMotion(Plottable):
    """A motion along a path, shaped against residual vibration.

    Attributes:
        robot: the robot.
        shaper: "modes", "zv", "zvd" or "ei".
        trajectory: the motion.
        frequencies: of the lowest modes along the path, drives held (places, modes), Hz.
        s: these places (places,), from 0 to 1.
        amplitude: of the platform after the stop in each of these modes (modes,), m (rad if it only turns):
            simulated by the elastic plant if `refined`, else by the linear model.
        unshaped: amplitudes (modes,) that the quintic law of the same duration leaves, by the linear model.
        use: largest force and speed of a drive over its limit; zero without limits.
        refined: how many corrections by the plant were made.
    """

    robot: Robot
    shaper: str
    trajectory: Retimed
    frequencies: Array
    s: Array
    amplitude: Array
    unshaped: Array
    use: float
    refined: int

    @property
    def duration(self) -> float:
        """Duration of the motion, s."""
        return self.trajectory.duration

    @property
    def law(self) -> Timing:
        """The timing law s(t) from 0 to 1."""
        return self.trajectory.law

    def force_use(self, t: Array) -> Array:
        """Forces of the actuators over their limits (m, actuators) at times (m,), of the rigid robot."""
        sample = sample_trajectory(self.robot, self.trajectory, np.asarray(t, dtype=float))
        limit = np.array([actuator.force for actuator in self.robot.actuators])
        return np.asarray(inverse_dynamics(self.robot, *sample).tau / limit)


def shape_motion(
    robot: Robot,
    path: Path | Trajectory,
    duration: float | None = None,
    *,
    shaper: str = "modes",
    modes: int | None = None,
    law: str | Timing = "quintic",
    frequency_error: float = 0.0,
    limits: bool = True,
    refine: int = 4,
) -> ShapedMotion:
    """Time a motion along a path such that flexible links do not vibrate after the stop.

    Args:
        robot: the robot, some of whose bodies have a `section` and a `material`.
        path: the path; of a trajectory its way counts, not its timing.
        duration: of the motion from rest to rest, s; about the shortest that the drives allow if None.
        shaper: "modes", the smoothest law that leaves no residual of the lowest modes; or "zv", "zvd", "ei",
            impulses half a period of the lowest mode apart, whose frequency follows the pose.
        modes: how many of the lowest modes count; None: those with less than 8 periods in the duration, since
            a smooth law excites no others, and two at least.
        law: what impulses shape: "quintic", "cubic", "trapezoid", "bang-bang", or a law, whose form counts.
        frequency_error: by which part frequencies may be off such that the residual stays small ("modes").
        limits: whether forces and speeds of the drives are kept ("modes").
        refine: how often at most the motion is simulated by the elastic plant and corrected ("modes").

    Raises:
        KinematicsError: if no link is flexible, or the drives are too weak for the duration.
        TrajectoryError: if the shaper takes longer than the duration.
        UnreachableError, SingularError: if the path leaves the workspace.
    """
    if shaper != "modes" and shaper not in SHAPERS:
        raise KinematicsError(f"no shaper is called {shaper!r}; {did_you_mean(shaper, ('modes', *SHAPERS))}")
    if not 0.0 <= frequency_error < 1.0:
        raise KinematicsError(f"the error of frequencies is a part from 0 to 1, got {frequency_error:g}")
    if modes is not None and modes < 1:
        raise KinematicsError(f"modes={modes} must be above zero")
    way = path if isinstance(path, Path) else Path(path)
    model, drives = PathVibration(robot, way), _Drives(robot, way)
    form = read_timing(law, 1.0, None, None) if isinstance(law, str) else law

    def shape(duration: float, refine: int, report: Callable[[float], None]) -> ShapedMotion:
        slow = int(np.sum(model.frequencies.min(axis=0) * duration < _PERIODS))
        count = min(model.n, max(slow, 2) if modes is None else modes)
        refined, timing = 0, form
        if shaper == "modes":
            search = _Search(model, drives if limits else None, duration, count, frequency_error)
            r, refined = search.solve(refine, report)
            timing = search.law
        else:
            even = np.interp(np.linspace(0.0, way.length, _EVEN), model.s, model.frequencies[:, 0])
            damping = max(float(np.mean(model.damping[:, 0])), 0.0)
            timing = ShapedTiming(form, shaper, even, duration, damping=damping)
            r = model.residual(model.samples(timing, duration, count), count)
        quintic = model.residual(model.samples(Quintic(duration), duration, count), count)
        return ShapedMotion(
            robot,
            shaper,
            Retimed(way, timing),
            model.frequencies[:, :count],
            model.s / way.length,
            amplitudes(r),
            amplitudes(quintic),
            drives.largest_use(timing),
            refined,
        )

    with task(f"shaping a motion of {robot.name}") as report:
        if duration is None:
            duration = _shortest(drives, form, lambda T: shape(T, 0, lambda _: None))
        return shape(read_positive(duration, "the duration"), max(refine, 0), report)


class _TooWeakError(KinematicsError):
    """The drives are too weak for a duration."""


def _shortest(drives: _Drives, form: Timing, shape: Callable[[float], ShapedMotion]) -> float:
    """About the shortest duration (s) of a shaped motion that keeps the limits and leaves next to nothing."""
    if not np.any(np.isfinite([*drives.force, *drives.speed])):
        raise KinematicsError(
            f"{drives.robot.name} has no limits of its drives: give the duration of the motion"
        )

    def use(duration: float) -> float:
        return drives.largest_use(TimedForm(form, duration))

    low = high = 1.0
    while use(high) > 1.0 and high < _LONGEST:
        high *= 2.0
    while use(low) <= 1.0 and low > 1.0 / _LONGEST:
        low *= 0.5
    for _ in range(20):
        middle = float(np.sqrt(low * high))
        low, high = (middle, high) if use(middle) > 1.0 else (low, middle)
    duration = high
    for _ in range(_ATTEMPTS):
        try:
            shaped = shape(duration)
        except (_TooWeakError, TrajectoryError):
            pass
        else:
            small = _SMALL_ENOUGH * float(np.linalg.norm(shaped.unshaped)) + _NOTHING * drives.robot.size
            if shaped.use <= 1.0 and (shaped.shaper != "modes" or np.linalg.norm(shaped.amplitude) < small):
                return duration
        duration *= _LONGER
    raise _TooWeakError(
        f"no shaped motion of {drives.robot.name} up to {duration:.3g} s keeps the limits of its drives: "
        "give a longer duration, or limits=False"
    )


def amplitudes(r: Array) -> Array:
    """Amplitudes (m,) of a residual (2 m,)."""
    return np.asarray(np.hypot(*np.split(r, 2)))


class _Drives:
    """Forces and speeds of the drives along a path, over their limits."""

    def __init__(self, robot: Robot, path: Path) -> None:
        self.robot, self.path = robot, path
        self.force = np.array([actuator.force for actuator in robot.actuators])
        self.speed = np.array([actuator.speed for actuator in robot.actuators])

    def use(self, s: Array, ds: Array, dds: Array) -> Array:
        """[Gamma; q'] over their limits (N, 2 actuators) at s, s' and s'' (N,), s from 0 to 1."""
        l = self.path.length
        x, w, dw = self.path(l * s)
        v, a = w * (l * ds)[:, None], w * (l * dds)[:, None] + dw * ((l * ds) ** 2)[:, None]
        force = inverse_dynamics(self.robot, x, v, a).tau / self.force
        return np.concatenate([force, joint_motion(self.robot, x, v, a).actuators[1] / self.speed], axis=1)

    def largest_use(self, law: Timing) -> float:
        """The largest use over a motion."""
        return float(np.max(np.abs(self.use(*law(np.linspace(0.0, law.duration, _DENSE)[1:-1])))))

    def slopes(self, s: Array, ds: Array, dds: Array) -> tuple[Array, Array]:
        """The use (N, k) and its derivatives (N, k, 3) by s, s' and s''."""
        steps = (1e-6, 1e-5 * float(np.max(np.abs(ds))), 1e-3 * float(np.max(np.abs(dds))))
        nominal = np.stack([s, ds, dds])
        columns = []
        for k, step in enumerate(steps):
            ahead, behind = nominal.copy(), nominal.copy()
            ahead[k] += step
            behind[k] -= step
            if k == 0:
                ahead[0], behind[0] = np.minimum(ahead[0], 1.0), np.maximum(behind[0], 0.0)
            change = (ahead[k] - behind[k])[:, None]
            columns.append((self.use(*ahead) - self.use(*behind)) / change)
        return self.use(s, ds, dds), np.stack(columns, axis=-1)


class _Point(NamedTuple):
    """A law: its residuals (k,) with their derivatives (k, free), and its cost with that of weak drives."""

    c: Array
    r: Array
    slopes: Array
    cost: float


class _Search:
    """The search for the law."""

    def __init__(
        self, model: PathVibration, drives: _Drives | None, duration: float, modes: int, error: float
    ) -> None:
        self.model, self.drives, self.duration, self.modes = model, drives, duration, modes
        self.factors = (1.0,) if error == 0.0 else (1.0 - error, 1.0, 1.0 + error)
        count = _INTERVALS + DEGREE
        self.free = slice(_FIXED, count - _FIXED)
        self.splines = Spline(clamped_knots(duration, count), np.eye(count), DEGREE)
        quintic = Quintic(duration)
        t = np.linspace(0.0, duration, 10 * count)
        B = self.splines(t)
        self.c = np.zeros(count)
        self.c[-_FIXED:] = 1.0
        rest = quintic(t).s - B[:, -_FIXED:].sum(axis=1)
        self.c[self.free] = np.linalg.lstsq(B[:, self.free], rest, rcond=None)[0]
        self.Q = self._jerk()
        self.Q /= self.c @ self.Q @ self.c
        samples = self.samples
        self.bases = [self.splines((np.arange(len(samples.s)) + 0.5) * samples.step, nu) for nu in range(3)]
        self.watched = np.linspace(0.0, duration, _WATCHED)
        self.watched_bases = [self.splines(self.watched, nu) for nu in range(3)]
        self.offset, self.slope, self.anchor = np.zeros(2 * modes), np.zeros((2 * modes, count)), self.c
        self.limit = 1.0
        start = amplitudes(model.residual(samples, modes))
        self.rho = max(_SMALL * float(np.linalg.norm(start)), _NOTHING * model.robot.size)

    def _jerk(self) -> Array:
        """Matrix of the integral of s'''^2: exact by Gauss and Legendre, two degrees 2 in an interval."""
        nodes, weights = np.polynomial.legendre.leggauss(3)
        ends = np.linspace(0.0, self.duration, _INTERVALS + 1)
        half = 0.5 * np.diff(ends)
        t = (ends[:-1, None] + half[:, None] * (1.0 + nodes)).ravel()
        B = self.splines(t, 3) * np.sqrt(half[:, None] * weights).reshape(-1, 1)
        return np.asarray(B.T @ B)

    @property
    def law(self) -> SplineTiming:
        """The law with the coefficients found."""
        return SplineTiming(self.duration, self.c.copy())

    @property
    def samples(self) -> TimingSamples:
        """The law at steps of the linear model."""
        return self.model.samples(self.law, self.duration, self.modes)

    def _at(self, c: Array) -> TimingSamples:
        s, ds, dds = (self.model.path.length * (B @ c) for B in self.bases)
        return TimingSamples(np.clip(s, 0.0, self.model.path.length), ds, dds, self.duration / len(s))

    def _correction(self, c: Array) -> Array:
        """What the plant's residual has beyond that of the linear model, as far as is known."""
        return np.asarray(self.offset + self.slope @ (c - self.anchor))

    def _point(self, c: Array) -> _Point:
        samples, residuals, slopes = self._at(c), [], []
        bases = [self.model.path.length * B[:, self.free] for B in self.bases]
        for factor in self.factors:
            r, by = self.model.residual_slopes(samples, self.modes, factor)
            residuals.append(r + self._correction(c))
            slopes.append(sum(by[:, :, k] @ bases[k] for k in range(3)) + self.slope[:, self.free])
        r = np.concatenate(residuals)
        cost = 0.5 * float(c @ self.Q @ c) + 0.5 * float(r @ r) / self.rho**2
        if self.drives is not None:
            use = self.drives.use(*(B @ c for B in self.watched_bases))
            cost += _PENALTY * max(0.0, float(np.max(np.abs(use))) / self.limit - 1.0)
        return _Point(c, r, np.concatenate(slopes), cost)

    def _step(self, at: _Point) -> Array:
        """The step of the free coefficients, by a quadratic program."""
        c, free = at.c, self.free
        H = self.Q[free, free] + at.slopes.T @ at.slopes / self.rho**2
        g = (self.Q @ c)[free] + at.slopes.T @ at.r / self.rho**2
        # The coefficients rise: c_k + dc_k <= c_(k+1) + dc_(k+1).
        differences = -np.diff(np.eye(len(c)), axis=0)
        rows, right, slack = [differences[:, free]], [-differences @ c], [np.zeros(len(c) - 1)]
        if self.drives is not None:
            use, by = self.drives.slopes(*(B @ c for B in self.watched_bases))
            D = sum(by[:, :, k, None] * self.watched_bases[k][:, None, free] for k in range(3))
            limited = np.any(use != 0.0, axis=0)
            for sign in (1.0, -1.0):
                rows.append(sign * D[:, limited].reshape(-1, D.shape[-1]) / self.limit)
                right.append(1.0 - sign * use[:, limited].ravel() / self.limit)
                slack.append(-np.ones(len(right[-1])))
        A = np.column_stack([np.concatenate(rows), np.concatenate(slack)])
        return _quadratic_program(H, g, A, np.concatenate(right))

    def _descend(self) -> None:
        """Gauss-Newton steps until the cost stands still."""
        here = self._point(self.c)
        for _ in range(_STEPS):
            step = self._step(here)
            for halving in range(_HALVINGS):
                c = here.c.copy()
                c[self.free] += 0.5**halving * step
                new = self._point(c)
                if new.cost < here.cost:
                    break
            else:
                return
            gain, here = here.cost - new.cost, new
            self.c = here.c
            if gain < _CONVERGED * here.cost:
                return

    def solve(self, refine: int, report: Callable[[float], None]) -> tuple[Array, int]:
        """The residual of the law that was found, and how many corrections by the plant it has.

        Raises:
            KinematicsError: if the drives are too weak.
        """
        plant = elastic_plant(self.model.robot, prescribed=True, static=True)
        best, corrections = (np.inf, self.c, np.zeros(2 * self.modes)), 0
        for k in range(refine + 1):
            self._descend()
            self._require_limits()
            linear = self.model.residual(self._at(self.c), self.modes)
            report((k + 0.5) / (refine + 1))
            if not refine:
                return linear, 0
            run = follow(plant, Retimed(self.model.path, self.law))
            r = self.model.residual_of_state(run.states[-1], self.modes)
            size = float(np.linalg.norm(r))
            if size < best[0]:
                best, corrections = (size, self.c, r), k
            if size < 2.0 * self.rho or k == refine:
                break
            # Broyden's rule: the least change of the slope that explains what has come.
            surprise, way = r - linear - self._correction(self.c), self.c - self.anchor
            if way @ way > 0.0 and k:
                self.slope = self.slope + np.outer(surprise, way) / (way @ way)
            self.offset, self.anchor = r - linear, self.c
        self.c = best[1]
        return best[2], corrections

    def _require_limits(self) -> None:
        if self.drives is None:
            return
        for _ in range(3):
            largest = self.drives.largest_use(self.law)
            if largest <= 1.0:
                return
            # Between the places that are watched the use is a little larger.
            self.limit /= largest
            self._descend()
        if largest > 1.0 + 1e-6:
            raise _TooWeakError(
                f"the drives of {self.model.robot.name} are too weak for {self.duration:.4g} s: the motion "
                f"takes {largest:.3g} times the force or the speed of one (give a longer duration)"
            )


def _quadratic_program(H: Array, g: Array, A: Array, b: Array) -> Array:
    """The z of min z^T H z / 2 + g^T z + penalty sigma with A [z; sigma] <= b, sigma >= 0."""
    import clarabel

    n = len(g)
    scale = 1.0 / max(1.0, float(np.max(np.abs(g))))
    P = np.zeros((n + 1, n + 1))
    P[:n, :n] = np.triu(H)
    last = np.zeros((1, n + 1))
    last[0, n] = -1.0
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    solver = clarabel.DefaultSolver(
        scipy.sparse.csc_matrix(scale * P),
        scale * np.append(g, 10.0 * _PENALTY),
        scipy.sparse.csc_matrix(np.concatenate([A, last])),
        np.append(b, 0.0),
        [clarabel.NonnegativeConeT(len(b) + 1)],
        settings,
    )
    z = np.array(solver.solve().x)[:n]
    if not np.all(np.isfinite(z)):
        raise KinematicsError("the quadratic program of the timing law could not be solved")
    return z
