"""A simulated experiment: identification experiment in closed loop on a simulated robot.

The controller knows the model; the robot that it drives has other parameters, effects that no model has,
quantised encoders and currents with noise. So the data are those of a motion that the robot has made, not
forces of inverse dynamics with noise on them: the controller answers to the sensors' errors, so that noise of
motion and of force are not independent, and the motion is not the reference.

Time. The controller samples at t_k = k / rate and holds its forces u_k over [t_k, t_k+1). A current sensor
that averages over a sample centred at t_k reads the mean of u_(k-1) and u_k, and that is the force that
belongs to the position at t_k: there the acceleration jumps, and its mean over both sides is that of the mean
force, since accelerations are affine in the forces. `SimulatedExperiment.a` is that acceleration.

Integration. Coulomb friction changes its sign over the rate `smooth` (tanh), in the robot and in the model of
the controller. It is a damper then with rates up to the largest eigenvalue L of M^-1 D, D the slope of
friction at rest; a sample is divided into steps h of the method of order four so that h L <= 2 (it is stable
up to 2.78), and h is at most a quarter of the lag of the current loops.

What that controller knows beforehand. Samples are at t_k = k / rate. Forces are held over [t_k, t_k+1), so
the feedforward of sample k is that of the middle of this interval: a force that is held has its mean there,
and the motion is met to the second order of the interval. M_a = J^+T M J^+ with the left inverse J^+ = (J^T
J)^-1 J^T of the actuators' Jacobian J (`inverse_jacobian`): J^T M_a J = M, and forces M_a e of a redundant
robot have no part that works against itself (J^T f = 0).

The digital controller of a simulated experiment.
At every sample, with the readings q of the actuators and the reference
q_r,

    error   e = q_r - q, for revolute joints within half a turn
    rate    e' = k (e - z),   z+ = z + T e'                  z follows e with the bandwidth k of the filter
    force   u = f + M_a (w^2 e + 2 zeta w e')

f the feedforward and M_a the mass matrix at the actuators, both from the model along the reference. Velocity
is nowhere measured: the derivative of the error is that of a filter of first order, as in industrial drives.
All that depends on the time comes in rows [q_r; f; M_a], the lower triangle of M_a row by row.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from nacelle.dynamics.base_parameters.perturbation import perturb_parameters
from nacelle.dynamics.forward import mass_matrix
from nacelle.dynamics.inverse import inverse_dynamics
from nacelle.errors import IdentificationError, KinematicsError
from nacelle.identification.data.measurement import Measurement, MeasurementSource
from nacelle.identification.experiment.settings import Effects, JointServo
from nacelle.kinematics.flags import describe_flags, has_failed
from nacelle.kinematics.kinematic_model import inverse_jacobian
from nacelle.kinematics.native import compile_native
from nacelle.kinematics.shapes import actuators_shape
from nacelle.kinematics.solve.inverse import inverse_kinematics
from nacelle.model.joint import FrictionTerm
from nacelle.model.robot import Robot
from nacelle.results import Plottable
from nacelle.simulation.digital_controller import DigitalController
from nacelle.simulation.driven_plant import driven_plant, limit_force
from nacelle.simulation.integration import Integration
from nacelle.simulation.rigid_plant import rigid_plant
from nacelle.simulation.sensors import Sensors, encoder_reading
from nacelle.simulation.simulate import Simulation, simulate
from nacelle.spatial.physics import physics
from nacelle.spatial.scalar import Array, floor, pack, where
from nacelle.tables.csv import write_table
from nacelle.trajectory.base import Sample, Trajectory, reason_not_periodic
from nacelle.tree.actuation import unwrap_angles

__all__ = ["perturb_parameters", "with_stribeck"]

_COULOMB = ("coulomb", "coulomb-smooth")


def with_stribeck(robot: Robot, part: float, rate: float) -> Robot:
    """The same robot with Stribeck friction in addition to each Coulomb friction.

    c sign(r) becomes c (1 + part exp(-(r / rate)^2)) sign(r), r the joint's rate, rad/s or m/s.

    Args:
        robot: the robot.
        part: how much larger friction is at rest, over Coulomb friction.
        rate: at which it falls off, rad/s or m/s.
    """
    if not (part >= 0.0 and rate > 0.0):
        raise IdentificationError(
            f"Stribeck friction has a part that is not negative and a rate above zero, got {part:g}, {rate:g}"
        )

    def terms(axis: tuple[FrictionTerm, ...]) -> tuple[FrictionTerm, ...]:
        dry = sum(term.coefficient for term in axis if term.basis in _COULOMB)
        return (*axis, FrictionTerm("stribeck", part * dry, rate)) if part * dry else axis

    joints = [
        dataclasses.replace(joint, friction=tuple(terms(axis) for axis in joint.friction))
        for joint in robot.joints
    ]
    return dataclasses.replace(robot, joints=tuple(joints))


# ---- what the controller knows beforehand: the reference and the forces of the model


@dataclass(frozen=True, eq=False)
class Reference:
    """The reference at N samples.

    Attributes:
        time: (N,), s.
        x: reduced poses (N, nx).
        v: reduced twists (N, n).
        q: coordinates of the actuators (N, actuators), rad or m; angles without jumps.
        tau: the model's forces in the middle between a sample and the next (N, actuators), N or N m.
        inertia: M_a (N, actuators, actuators).
    """

    time: Array
    x: Array
    v: Array
    q: Array
    tau: Array
    inertia: Array


class RepeatedTrajectory:
    """A trajectory, once, or over and over.

    Args:
        trajectory: the trajectory.
        periods: how often it is run through.
        settle: how long it is run before, s.

    Attributes:
        duration: of all periods, s.

    Raises:
        IdentificationError: if it is to be repeated and does not end as it starts.
    """

    def __init__(self, trajectory: Trajectory, periods: int, settle: float) -> None:
        if periods < 1 or not settle >= 0.0:
            raise IdentificationError(
                f"a trajectory is run through once or more often after a time that is not negative, got "
                f"{periods} periods after {settle:g} s"
            )
        self.trajectory, self.duration = trajectory, periods * trajectory.duration
        self._repeats = periods > 1 or settle > 0.0
        reason = reason_not_periodic(trajectory) if self._repeats else ""
        if reason:
            raise IdentificationError(
                f"several periods, and settling, take a trajectory that ends as it starts; {reason}"
            )

    def __call__(self, t: Array) -> Sample:
        """The motion at times (N,), s."""
        period = self.trajectory.duration
        return self.trajectory(np.mod(t, period) if self._repeats else np.minimum(t, period))


def controller_reference(
    robot: Robot,
    trajectory: RepeatedTrajectory,
    time: Array,
    *,
    rate: float,
    smooth: float | None,
    feedforward: bool,
) -> Reference:
    """The reference of a robot along a trajectory.

    Args:
        robot: the model that the controller has.
        trajectory: the motion.
        time: of the samples (N,), s.
        rate: samples a second.
        smooth: rate over which Coulomb friction changes its sign.
        feedforward: whether forces are wanted; else they are zero.

    Raises:
        IdentificationError: if a pose of the trajectory cannot be taken, or is beyond limits.
    """
    if trajectory.trajectory.motion != robot.motion:
        raise IdentificationError(
            f"the trajectory has the motion {trajectory.trajectory.motion.name}, {robot.name} has "
            f"{robot.motion.name}"
        )
    at = trajectory(time)
    joints = inverse_kinematics(robot, at.x)
    if not np.all(joints.ok):
        k = int(np.argmin(joints.ok))
        raise IdentificationError(
            f"at {time[k]:g} s {robot.name} cannot follow the trajectory: {describe_flags(joints.flags[k])}"
        )
    force = np.zeros(joints.q.shape)
    if feedforward:
        between = trajectory(time + 0.5 / rate)
        dynamics = inverse_dynamics(robot, *between, smooth=smooth)
        bad = has_failed(dynamics.flags)
        if np.any(bad):
            k = int(np.argmax(bad))
            raise IdentificationError(f"at {time[k]:g} s the trajectory is at a singularity of {robot.name}")
        force = dynamics.tau
    J = compile_native(inverse_jacobian, robot)(at.x, joints.y)["J"]
    across = np.swapaxes(J, -1, -2)
    left = np.linalg.solve(across @ J, across)
    inertia = np.swapaxes(left, -1, -2) @ mass_matrix(robot, at.x, guess=joints) @ left
    return Reference(time, at.x, at.v, unwrap_angles(joints.q, robot.revolute_actuators), force, inertia)


# ---- the digital controller of a simulated experiment: feedback of encoders, feedforward along a reference


def _row_shape(robot: Robot) -> tuple[int]:
    count = len(robot.actuators)
    return (2 * count + count * (count + 1) // 2,)


@physics(z=actuators_shape, q=actuators_shape, r=_row_shape, gains=(4,))
def servo(
    robot: Robot, z: Array, q: Array, r: Array, gains: Array, *, limits: tuple[float, ...]
) -> dict[str, Array]:
    """Commanded forces and the memory after a sample (actuators,), as a `DigitalController` has them.

    Args:
        robot: the robot.
        z: the filtered error, rad or m.
        q: readings of the encoders, rad or m.
        r: the row [q_r; f; M_a].
        gains: w^2, 1/s^2; 2 zeta w, 1/s; k, 1/s; T, s.
        limits: largest forces (actuators,), N or N m; infinite for none.
    """
    count = len(robot.actuators)
    stiffness, damping, filter_rate, period = gains
    off = r[:count] - q
    turns = 2.0 * math.pi * floor(off / (2.0 * math.pi) + 0.5)
    e = where(np.array(robot.revolute_actuators, dtype=float), off - turns, off)
    rate = filter_rate * (e - z)
    M = np.empty((count, count), dtype=object)
    M[np.tril_indices(count)] = r[2 * count :]
    M = np.where(np.tri(count, dtype=bool), M, M.T)
    force = r[count : 2 * count] + M @ (stiffness * e + damping * rate)
    return {
        "force": pack([limit_force(*pair) for pair in zip(force, limits, strict=True)]),
        "memory": z + period * rate,
    }


# ---- A simulated experiment: identification experiment in closed loop on a simulated robot


# Rate over which Coulomb friction changes its sign if nothing is said, rad/s or m/s.
SMOOTH = 1e-3
# Largest product of the step and of the rate of friction.
_STABILITY_LIMIT = 2.0
# Steps of a sample that are not worth their time.
_MOST_STEPS = 200
# Poses along the trajectory at which friction's slope is looked at, and the part of `smooth` by which it is.
_POSES, _RATE_STEP = 20, 1e-3


def simulate_experiment(
    robot: Robot, trajectory: Trajectory, *, seed: int = 0, **options: Any
) -> SimulatedExperiment:
    """Run an experiment on a simulated robot.

    The same arguments give the same numbers. For many seeds make an `Experiment` and run that.

    Args:
        robot: the model that the controller has, for instance from CAD.
        trajectory: the reference.
        seed: of the sensors' noise.
        **options: true, controller, sensors, effects, rate, periods, settle and smooth, as of `Experiment`.

    Raises:
        IdentificationError: if an option cannot be used, the trajectory leaves what the robot can do, or the
            run does not reach its end.
    """
    return Experiment(robot, trajectory, **options).run(seed)


class Experiment:
    """An experiment on a simulated robot, to be run with many seeds.

    What does not depend on the seed is made once: the reference, the model's forces and the native loop.

    Args:
        robot: the model that the controller has, for instance from CAD.
        trajectory: the reference.
        true: the robot that moves; `moved(robot)` if None: all parameters are up to 10 % other ones, the same
            for all seeds.
        controller: its bandwidth and the like.
        sensors: resolution and noise.
        effects: what the model does not know: cogging, Stribeck friction, lag of the current loops.
        rate: samples a second, of the controller and of the data.
        periods: how often the trajectory is run through; more than once if it ends as it starts.
        settle: how long it is run before the data begin, s; for a trajectory that ends as it starts.
        smooth: rate over which Coulomb friction changes its sign, rad/s or m/s.

    Attributes:
        robot: the model.
        true: the robot that moves, with the friction that the model has not.
        nominal: the same without that friction: what an estimate can come to.
        reference: what the controller follows, from the start of the run on.
        plant: the plant.
        drives: numbers of its drives.
        substeps: steps of the integration in a sample.
    """

    def __init__(
        self,
        robot: Robot,
        trajectory: Trajectory,
        *,
        true: Robot | None = None,
        controller: JointServo | None = None,
        sensors: Sensors | None = None,
        effects: Effects | None = None,
        rate: float = 1000.0,
        periods: int = 1,
        settle: float = 0.0,
        smooth: float = SMOOTH,
    ) -> None:
        if not (rate > 0.0 and smooth > 0.0):
            raise IdentificationError(f"rate and smooth are above zero, got {rate:g} and {smooth:g}")
        self.controller, self.sensors = controller or JointServo(), sensors or Sensors()
        self.effects = effects or Effects()
        if not self.sensors.is_complete:
            raise IdentificationError(
                "a simulated experiment takes every reading: its sensors have no dropout and gaps"
            )
        self.robot, self.rate, self.smooth = robot, rate, smooth
        self.true = perturb_parameters(robot) if true is None else true
        if len(self.true.actuators) != len(robot.actuators) or self.true.motion != robot.motion:
            raise IdentificationError(
                f"{self.true.name} is no robot like {robot.name}: it has {len(self.true.actuators)} "
                f"actuators and the motion {self.true.motion.name}"
            )
        self.nominal = self.true
        if self.effects.stribeck:
            self.true = with_stribeck(self.true, self.effects.stribeck, self.effects.stribeck_rate)
        motion = RepeatedTrajectory(trajectory, periods, settle)
        self.settling = round(settle * rate)
        count = round(motion.duration * rate)
        if count < 2:
            raise IdentificationError(
                f"{motion.duration:g} s are less than two samples at {rate:g} samples a second"
            )
        time = np.arange(-self.settling, count) / rate
        self.reference: Reference = controller_reference(
            robot, motion, time, rate=rate, smooth=smooth, feedforward=self.controller.feedforward
        )
        try:
            self.resolution = self.sensors.resolutions(robot)
            drives = self.effects.drives(robot)
        except KinematicsError as error:
            raise IdentificationError(str(error)) from error
        rigid, first = rigid_plant(self.true, smooth=smooth), self.reference.tau[0]
        self.plant, self.drives = driven_plant(rigid, drives, tau0=first), drives.numbers(self.true)
        self.substeps = self._substeps()

    @cached_property
    def _digital_controller(self) -> DigitalController:
        """The controller along the reference."""
        loop, reference, w = self.controller, self.reference, 2.0 * math.pi * self.controller.bandwidth
        limits = tuple(actuator.force if loop.limits else math.inf for actuator in self.robot.actuators)
        lower = reference.inertia[:, *np.tril_indices(len(limits))]
        return DigitalController(
            servo,
            1.0 / self.rate,
            memory=np.zeros(len(limits)),
            reference=np.hstack([reference.q, reference.tau, lower]),
            gains=np.array([w * w, 2.0 * loop.damping * w, loop.filter_rate(self.rate), 1.0 / self.rate]),
            options=(("limits", limits),),
        )

    def _substeps(self) -> int:
        """Steps of the integration in a sample; see the head of the file."""
        picked = self.reference.x[:: max(1, len(self.reference.x) // _POSES)]
        n, nudge = self.true.motion.n, _RATE_STEP * self.smooth
        fastest = 4.0 * _STABILITY_LIMIT / self.effects.lag if self.effects.lag else 0.0
        inputs = np.zeros((n + 1, self.plant.inputs))
        for x in picked:
            states = np.stack([self.plant.state(x, v) for v in np.vstack([np.zeros(n), nudge * np.eye(n)])])
            a = self.plant.derivatives(states, inputs)[:, n : 2 * n]
            slope = (a[1:] - a[0]).T / nudge
            fastest = max(fastest, float(np.max(np.abs(np.linalg.eigvals(slope)))))
        steps = max(1, math.ceil(fastest / (_STABILITY_LIMIT * self.rate)))
        if steps > _MOST_STEPS:
            raise IdentificationError(
                f"{self.true.name} would need {steps} steps of the integration in a sample, since friction "
                f"changes its sign over {self.smooth:g} rad/s or m/s and currents have a lag of "
                f"{self.effects.lag:g} s: smooth={self.smooth * steps / _MOST_STEPS:.1g} would do"
            )
        return steps

    def run(self, seed: int = 0) -> SimulatedExperiment:
        """Run it.

        Args:
            seed: of the sensors' noise.

        Raises:
            IdentificationError: if the run does not reach its end.
        """
        reference, count = self.reference, len(self.robot.actuators)
        try:
            rows = self.sensors.rows(self.robot, reference.time, seed)
            current = self.sensors.force_errors(self.robot, reference.tau, seed)
        except KinematicsError as error:
            raise IdentificationError(str(error)) from error
        run = simulate(
            self.plant,
            reference.x[0],
            reference.v[0],
            self.sensors.before(self._digital_controller, self.robot, rows),
            start=float(reference.time[0]),
            until=float(reference.time[0]) + len(reference.time) / self.rate,
            integration=Integration("rk4", step=1.0 / self.rate, substeps=self.substeps),
        )
        if run.status != "done":
            raise IdentificationError(f"the simulated experiment of {self.robot.name} ended {run.message}")
        return SimulatedExperiment(self, run, rows[:, :count], current, seed)


@dataclass(frozen=True, eq=False, repr=False)
class SimulatedExperiment(Plottable):
    """An experiment that was run.

    The truth is at the times of the measurement, (N, ...): time, x, v, a, q and force.

    Attributes:
        experiment: what was run.
        simulation: the run, from the settling on.
        position_noise: that was added before the encoders counted, from the settling on.
        force_noise: that was added to the forces.
        seed: of the noise.
    """

    experiment: Experiment
    simulation: Simulation
    position_noise: Array
    force_noise: Array
    seed: int

    @property
    def robot(self) -> Robot:
        """The model."""
        return self.experiment.robot

    @property
    def true(self) -> Robot:
        """The robot that moved, with friction that the model has not; cogging and lag are no part of it."""
        return self.experiment.true

    @property
    def _first_sample(self) -> int:
        return self.experiment.settling

    @property
    def time(self) -> Array:
        """Times of the samples (N,), s."""
        return self.experiment.reference.time[self._first_sample :]

    @cached_property
    def _states(self) -> Array:
        """States (N + settling, size) at the samples."""
        return self.simulation.states[: len(self.experiment.reference.time)]

    @cached_property
    def _motion(self) -> tuple[Array, Array]:
        return self.experiment.plant.split(self._states[self._first_sample :])

    @property
    def x(self) -> Array:
        """True reduced poses (N, nx), m and rad or quat_xyzw, base axes."""
        return self._motion[0]

    @property
    def v(self) -> Array:
        """True reduced twists (N, n), m/s and rad/s, base axes."""
        return self._motion[1]

    @cached_property
    def a(self) -> Array:
        """True derivatives of the twists (N, n), m/s^2, rad/s^2, the mean of both sides where forces jump."""
        plant, n = self.experiment.plant, self.true.motion.n
        inputs = self.simulation.tau[: len(self._states)]
        before = np.vstack([inputs[:1], inputs[:-1]])
        return plant.derivatives(self._states, 0.5 * (before + inputs))[self._first_sample :, n : 2 * n]

    @cached_property
    def _coordinates(self) -> Array:
        q = self.experiment.plant.signal(self._states, "q")
        return unwrap_angles(q, self.robot.revolute_actuators)

    @property
    def q(self) -> Array:
        """True coordinates of the actuators (N, actuators), rad or m."""
        return self._coordinates[self._first_sample :]

    @cached_property
    def _forces(self) -> Array:
        """Mean forces of the motors over a sample centred at each (N + settling, actuators)."""
        plant, lag = self.experiment.plant, self.experiment.effects.lag
        u = self.simulation.tau[: len(self._states)]
        if not lag:
            after, before = u, np.vstack([u[:1], u[:-1]])
            return 0.5 * (before + after)
        # The motors' forces follow u with the lag T: g = u + (g_0 - u) exp(-t / T), over half a sample each.
        half = 0.5 / self.experiment.rate
        decay = math.exp(-half / lag)
        mean = lag / half * (1.0 - decay)
        off = plant.forces(self._states, u) - u
        after, before = u + off * mean, u + off * decay * mean
        return 0.5 * (np.vstack([after[:1], before[:-1]]) + after)

    @property
    def tau(self) -> Array:
        """True forces of the motors (N, actuators), N or N m: the mean over a sample centred at each.

        Cogging acts in addition to them. Before the run the first ones are taken to be held.
        """
        return self._forces[self._first_sample :]

    @property
    def cogging(self) -> Array:
        """True forces of cogging (N, actuators), N or N m, which no current shows."""
        return self.experiment.drives.cogging_forces(self.q)

    @cached_property
    def unmodelled(self) -> Array:
        """What effects outside the model add to the motors' forces (N, actuators), N or N m.

        Stribeck friction, and cogging, which pushes by itself.
        """
        experiment = self.experiment
        result = np.zeros(self.q.shape)
        if experiment.nominal is not self.true:
            motion, smooth = (self.x, self.v, self.a), experiment.smooth
            result += inverse_dynamics(self.true, *motion, smooth=smooth).tau
            result -= inverse_dynamics(experiment.nominal, *motion, smooth=smooth).tau
        return result - self.cogging

    @cached_property
    def measurement(self) -> Measurement:
        """What was measured: encoders, forces from currents, the reference."""
        experiment, first = self.experiment, self._first_sample
        q = encoder_reading(self._coordinates, self.position_noise, 1.0, experiment.resolution)
        return Measurement(
            self.robot,
            self.time.copy(),
            q[first:],
            (self._forces + self.force_noise)[first:],
            experiment.reference.q[first:],
            MeasurementSource(f"<simulated experiment of {self.robot.name}, seed {self.seed}>"),
        )

    @property
    def tracking_error(self) -> Array:
        """True coordinates of the actuators less the reference (N, actuators), rad or m."""
        off = self.q - self.experiment.reference.q[self._first_sample :]
        # Both are without jumps, but may be whole turns apart.
        return unwrap_angles(off, self.robot.revolute_actuators, np.zeros(off.shape[1]))

    def to_csv(self, path: str | Path) -> None:
        """Write the measurement in SI units, columns time, q.NAME, force.NAME and reference.NAME."""
        data = self.measurement
        names = [actuator.name for actuator in self.robot.actuators]
        columns = ["time", *(f"{kind}.{name}" for kind in ("q", "force", "reference") for name in names)]
        assert data.reference is not None
        values = np.column_stack([data.time, data.q, data.tau, data.reference])
        write_table(Path(path), columns, [""] * len(columns), values)
