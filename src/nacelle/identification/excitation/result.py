"""An excitation: the motion, how well it determines the parameters, what it uses of the limits.

The check of a motion: all limits at many times, by other ways than those of the optimiser.

The optimiser sees a motion at few times, with friction that changes its sign smoothly. Here the trajectory
itself is sampled finely; forces come from inverse dynamics with the robot's own parameters and friction, and
flags of reach, limits and singularities from the kinematics.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from nacelle.dynamics.base_parameters.base_parameters import BaseParameters
from nacelle.dynamics.inverse import inverse_dynamics
from nacelle.errors import IdentificationError, NacelleError
from nacelle.files import write_atomically
from nacelle.identification.excitation.limits import Limits
from nacelle.identification.excitation.motions import motion_functions
from nacelle.identification.excitation.optimise import MotionDesign, MotionSamples
from nacelle.kinematics.flags import Flag, has_failed
from nacelle.kinematics.motion import joint_motion
from nacelle.kinematics.solve.inverse import inverse_kinematics
from nacelle.model.platform import Motion
from nacelle.model.robot import Robot
from nacelle.model.source.yaml import read_yaml
from nacelle.results import Plottable
from nacelle.spatial.scalar import Array
from nacelle.tables.csv import write_table
from nacelle.trajectory import Chain, Line, Sample, Trajectory, Trapezoid
from nacelle.trajectory.sampling import counting_start, sample_trajectory

# Times of the check for each time of the optimisation.
FINE_SAMPLING = 8
# Scales that are tried between nothing and all of a motion, and how close they may be in the end.
_BISECTIONS = 30
_CLOSE = 1e-3


@dataclass(frozen=True)
class LimitUse:
    """The largest use of a kind of limit over a motion.

    Attributes:
        kind: "speed", "acceleration", "force", "position", "leg margin", "conditioning" or "orientation".
        name: whose limit it is: an actuator, a joint, a leg.
        use: 0 for nothing, 1 at the limit.
        time: at which it is, s.
    """

    kind: str
    name: str
    use: float
    time: float


def limit_uses_along(
    problem: MotionDesign, trajectory: Trajectory, samples: MotionSamples, t: Array
) -> Array:
    """Uses of all limits (N, limits) of a trajectory at times (N,); infinite where the robot cannot be.

    Args:
        problem: the limits and the robot.
        trajectory: the motion.
        samples: the same motion in coordinates about the centre, at the times.
        t: the times, s.
    """
    robot = problem.robot
    state = sample_trajectory(robot, trajectory, t)
    guess = samples.motion[3]
    dynamics = inverse_dynamics(robot, state.x, state.v, state.a, guess=guess)
    joints = inverse_kinematics(robot, state.x, guess=guess)
    uses = problem.uses(samples, dynamics.tau)
    beyond = int(Flag.OUT_OF_LIMITS | Flag.OTHER_BRANCH)
    wrong = has_failed(dynamics.flags) | has_failed(joints.flags) | ((joints.flags & beyond) != 0)
    return np.where(wrong[:, None], np.inf, uses)


def motion_limit_uses(problem: MotionDesign, z: Array) -> tuple[Array, Array]:
    """Times (N,) of a fine check of a motion (variables,), and the uses of all limits (N, limits) at them."""
    Z = problem.coefficients(z)
    t = np.linspace(0.0, problem.functions.duration, FINE_SAMPLING * problem.count + 1)
    trajectory = problem.functions.trajectory(problem.center, Z, problem.robot.motion)
    return t, limit_uses_along(problem, trajectory, problem.samples(Z, t), t)


def shrink_to_limits(
    problem: MotionDesign, z: Array, keeps_too: Callable[[Array], bool] | None = None
) -> Array:
    """A motion (variables,), drawn towards the centre until it keeps all limits; as it is where it does.

    Args:
        problem: the problem.
        z: the motion.
        keeps_too: what else it has to keep.
    """

    def excess(scale: float) -> float:
        """The largest use less 1; infinite where the robot cannot be."""
        most = float(np.max(motion_limit_uses(problem, scale * z)[1]))
        return np.inf if most <= 1.0 and keeps_too is not None and not keeps_too(scale * z) else most - 1.0

    low, high, below, above = 0.0, 1.0, -1.0, excess(1.0)
    if above <= 0.0:
        return z
    for k in range(_BISECTIONS):
        # Uses are all but linear in a scale near 1: just within where they are 1, then just beyond it.
        near = 0.4 * _CLOSE * high
        root = low + (high - low) * (below / (below - above) if np.isfinite(above) else 0.5)
        aim = root - near if root - low > high - root else root + near
        middle = aim if low < aim < high and k % 3 < 2 else 0.5 * (low + high)
        over = excess(middle)
        if over <= 0.0:
            low, below = middle, over
        else:
            high, above = middle, over
        if high - low < _CLOSE * high:
            break
    return low * z


def largest_uses(problem: MotionDesign, t: Array, uses: Array) -> tuple[LimitUse, ...]:
    """The largest use of each kind of limit over times (N,), from the uses of all (N, limits)."""
    largest: dict[str, LimitUse] = {}
    for k, (kind, name) in enumerate(problem.form.labels):
        at = int(np.argmax(uses[:, k]))
        use = LimitUse(kind, name, float(uses[at, k]), float(t[at]))
        if kind not in largest or use.use > largest[kind].use:
            largest[kind] = use
    return tuple(largest.values())


# ---- an excitation: the motion, how well it determines the parameters, what it uses of the limits


# Combinations of parameters are said with the parts that are at least this much of the largest.
_PART = 0.3
_FORMAT = "nacelle excitation 1"


@dataclass(frozen=True, eq=False)
class ExcitationPart:
    """A part of an excitation.

    Attributes:
        name: "strokes", or "motion" for the one that is optimised.
        trajectory: of the part.
        record: the numbers that it is made of, as plain data.
    """

    name: str
    trajectory: Trajectory
    record: dict[str, Any]


@dataclass(frozen=True, eq=False)
class Excitation(Plottable):
    """A motion that excites the parameters of a robot.

    Attributes:
        robot: the robot.
        base: the base parameters that it is made for.
        strategy: "combined" or "separate".
        kind: "fourier" or "bspline".
        criterion: what was minimised: "condition" or "log-det".
        parts: of the motion, in order.
        limits: that it keeps to.
        uses: the largest use of each kind of limit, from a fine check.
        singular_values: of the weighted rows in units of the parameters (parameters,), falling.
        directions: the combinations of parameters that belong to them, rows (parameters, parameters).
        columns: units of the parameters (parameters,): how much of each gives forces of one standard
            deviation in random motions, SI.
        random: the best criterion among the random motions: condition, or log det(R^T R).
        status: "converged", "stopped" (the iterations were used up) or "interrupted".
        message: of the optimiser.
        iterations: of the optimiser.
        seed: of the random motions.
        approach: lines from rest in the reference pose to the start; None where they leave the limits.
        way_back: the same from the end.
    """

    robot: Robot
    base: BaseParameters
    strategy: str
    kind: str
    criterion: str
    parts: tuple[ExcitationPart, ...]
    limits: Limits
    uses: tuple[LimitUse, ...]
    singular_values: Array
    directions: Array
    columns: Array
    random: float
    status: str
    message: str
    iterations: int
    seed: int
    approach: tuple[Line, ...] | None = None
    way_back: tuple[Line, ...] | None = None

    def __repr__(self) -> str:
        """Give robot, duration, condition and status."""
        return (
            f"<Excitation {self.robot.name}: {self.trajectory.duration:g} s, condition "
            f"{self.condition:.4g}, {self.status}>"
        )

    @property
    def trajectory(self) -> Trajectory:
        """The whole motion."""
        if len(self.parts) == 1:
            return self.parts[0].trajectory
        return Chain(*(part.trajectory for part in self.parts))

    @property
    def condition(self) -> float:
        """Condition number of the weighted rows, parameters counted in their units; a pure number."""
        return float(self.singular_values[0] / self.singular_values[-1])

    @property
    def log_det(self) -> float:
        """Log det(R^T R) of the weighted rows R in units of the parameters."""
        return float(2.0 * np.sum(np.log(self.singular_values)))

    @property
    def value(self) -> float:
        """The criterion: the condition number, or log det(R^T R)."""
        return self.condition if self.criterion == "condition" else self.log_det

    @property
    def ok(self) -> bool:
        """Whether all limits are kept."""
        return all(use.use <= 1.0 for use in self.uses)

    def weakest_combination(self, k: int = 1) -> str:
        """Text of the k-th weakest combination of base parameters, and of how weak it is."""
        row, size = self.directions[-k], self.singular_values[-k] / self.singular_values[0]
        sign = 1.0 if row[int(np.argmax(np.abs(row)))] > 0.0 else -1.0
        indices = [i for i in np.argsort(-np.abs(row)) if abs(row[i]) >= _PART * np.max(np.abs(row))]
        # A step along the direction changes parameter i by its unit times the entry.
        largest = max(abs(row[i]) * self.columns[i] for i in indices)
        terms = [f"{sign * row[i] * self.columns[i] / largest:+.2g} {self.base.names[i]}" for i in indices]
        return f"{' '.join(terms)} (1/{1.0 / size:.3g} of the best determined)"

    def repeat(self, periods: int) -> Trajectory:
        """The whole motion, the optimised part `periods` times, to average measurements over its periods.

        Raises:
            IdentificationError: if that part does not end where it begins, as B-splines.
        """
        if periods < 1:
            raise IdentificationError(f"the number of periods must be above zero, got {periods}")
        if periods == 1:
            return self.trajectory
        if self.kind != "fourier":
            raise IdentificationError(
                f"a {self.kind} motion ends elsewhere than it begins: it has one period"
            )
        trajectories = [part.trajectory for part in self.parts]
        return Chain(*trajectories, *trajectories[-1:] * (periods - 1))

    def sample(self, rate: float, *, periods: int = 1) -> tuple[Array, Sample]:
        """Times (N,) and the motion at them, `rate` times a second, over a number of periods (`repeat`)."""
        return self.repeat(periods).sample(rate=rate)

    def from_home(self, periods: int = 1) -> Trajectory:
        """The way from rest in the reference pose, the motion (`repeat`), and the way back.

        Raises:
            IdentificationError: if no straight way there or back is within the limits.
        """
        if self.approach is None or self.way_back is None:
            end = "start" if self.approach is None else "end"
            raise IdentificationError(
                f"the straight way between the reference pose and the {end} of the motion leaves the limits: "
                "move the robot there in another way (approach=False, --no-approach), or choose another "
                "centre"
            )
        return Chain(*self.approach, self.repeat(periods), *self.way_back)

    def to_csv(
        self, path: str | Path, *, rate: float = 1000.0, periods: int = 1, approach: bool = True
    ) -> None:
        """Write the motion as CSV with units in the header.

        Columns: t; x, v and a of the platform; q.ACTUATOR, rate.ACTUATOR and force.ACTUATOR of the actuators,
        forces by the model with all friction; "phase", -1 on the way from the reference pose, 0 in the
        motion, 1 on the way back.

        Args:
            path: the file.
            rate: rows a second.
            periods: of the motion (`repeat`).
            approach: whether the table begins and ends at rest in the reference pose (`from_home`).
        """
        robot, body = self.robot, self.repeat(periods)
        trajectory = self.from_home(periods) if approach else body
        times, sample = trajectory.sample(rate=rate)
        names, units, values = trajectory.table_columns(times, sample)
        x, v, a = sample_trajectory(robot, trajectory, times)
        counting_robot, guess = counting_start(robot, x)
        tau = inverse_dynamics(counting_robot, x, v, a, guess=guess).tau
        q, q_rates, _ = joint_motion(counting_robot, x, v, a, guess=guess).as_path().actuators
        begin = sum(line.duration for line in self.approach or ()) if approach else 0.0
        phase = np.where(times < begin, -1.0, np.where(times > begin + body.duration, 1.0, 0.0))
        for kind, angular, linear in (("q", "rad", "m"), ("rate", "rad/s", "m/s"), ("force", "N*m", "N")):
            names += [f"{kind}.{actuator.name}" for actuator in robot.actuators]
            units += [angular if turning else linear for turning in robot.revolute_actuators]
        table = np.column_stack([values, q, q_rates, tau, phase])
        write_table(Path(path), [*names, "phase"], [*units, ""], table)

    def data(self) -> dict[str, Any]:
        """Everything as plain data."""
        limits = self.limits
        return {
            "robot": self.robot.name,
            "strategy": self.strategy,
            "kind": self.kind,
            "criterion": self.criterion,
            "status": self.status,
            "message": self.message,
            "iterations": self.iterations,
            "seed": self.seed,
            "duration": self.trajectory.duration,
            "base_parameters": len(self.base),
            "condition": self.condition,
            "log_det": self.log_det,
            "random": self.random,
            "weakest": self.weakest_combination(),
            "uses": [asdict(use) for use in self.uses],
            "limits": {
                "speed": limits.speed.tolist(),
                "acceleration": limits.acceleration.tolist(),
                "force": limits.force.tolist(),
                "margin": limits.margin,
                "conditioning": limits.conditioning,
                "origin": dict(limits.origin),
            },
            "parts": [
                {"name": part.name, "duration": part.trajectory.duration, **part.record}
                for part in self.parts
            ],
        }

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the excitation as YAML; `read_motion` reads the motion back.

        Args:
            path: the file.
            overwrite: whether a file that exists already is replaced.

        Raises:
            FileExistsError: if it exists and is not to be replaced.
        """
        whole = {
            "format": _FORMAT,
            "robot_hash": self.robot.hash,
            "motion": list(self.robot.motion.coordinates),
            **self.data(),
        }
        # JSON is YAML: a line an entry.
        text = "".join(f"{key}: {json.dumps(value)}\n" for key, value in whole.items())
        write_atomically(Path(path), text, new=not overwrite)


def read_motion(path: str | Path) -> Trajectory:
    """The motion of an excitation that was saved.

    Raises:
        IdentificationError: if the file is not one of these.
    """
    file = Path(path)
    try:
        data = read_yaml(file.read_text(encoding="utf-8"), file.name).root.plain()
        if data["format"] != _FORMAT:
            raise ValueError(f"its format is {data['format']!r}, not {_FORMAT!r}")
        motion = Motion(tuple(data["motion"]))
        parts = [part_trajectory(part, motion) for part in data["parts"]]
    except (OSError, NacelleError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise IdentificationError(f"{file} is not an excitation of nacelle: {error}") from None
    return parts[0] if len(parts) == 1 else Chain(*parts)


def part_trajectory(record: dict[str, Any], motion: Motion) -> Trajectory:
    """The trajectory of a part from its record."""
    if "strokes" in record:
        return Chain(*(stroke_line(line, motion) for line in record["strokes"]))
    basis = motion_functions(str(record["kind"]), float(record["duration"]), int(record["harmonics"]))
    coefficients = np.array(record["coefficients"], dtype=float)
    return basis.trajectory(np.array(record["center"], dtype=float), coefficients, motion)


def stroke_line(record: dict[str, Any], motion: Motion) -> Line:
    """A line with the law of a trapezoid from its record: from, to, duration and ramp; equal ends rest."""
    law = Trapezoid(float(record["duration"]), ramp=float(record["ramp"]))
    return Line(record["from"], record["to"], motion=motion, timing=law)
