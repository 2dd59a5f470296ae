"""Estimators without the encoders' errors, by motions in closed loop: DIDIM, instrumental variables.

The motion that a robot with estimated parameters makes in closed loop: free of every sensor's errors.

The reference is followed by the controller that the machine has, or one of a stated bandwidth, and the robot
has the estimates, lifted to parameters that a robot can have. Instruments (IDIM-IV) and the regressor of the
direct and inverse model (DIDIM) come from this motion.

Direct and inverse dynamic identification (DIDIM): only the forces are measured.

The robot with the present estimates beta_k is simulated in closed loop along the reference; its motion gives
the regressor, the measured forces the other side:

    beta_(k+1) = argmin  sum_t |b_t - Y_t(simulated motion of beta_k) beta|^2

(Gautier, Janot and Vandanjon, "A new closed-loop output error method for parameter identification of robot
dynamics", IEEE Trans. Control Systems Technology 21, 2013). Encoders and their errors do not appear; what is
assumed is the controller. The tracking error is small compared with the motion, so few steps suffice.

Instrumental variables (IDIM-IV): estimates that errors of the encoders do not bias.

    sum_t Z_t^T W (b_t - Y_t beta) = 0

The regressor Y comes from noisy encoders, so its errors and those of b - Y beta are correlated, and least
squares has a bias that more data do not cure. Z is the same regressor along a motion without these errors:
that of the reference, or of splines through the encoders (`preparation`), or one that is simulated in closed
loop with the present estimates (Janot, Vandanjon and Gautier, "A generic instrumental variable approach for
industrial robot identification", IEEE Trans. Control Systems Technology 22, 2014). It is correlated with Y,
and not with the errors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from nacelle.dynamics.base_parameters.base_parameters import BaseParameters
from nacelle.errors import IdentificationError
from nacelle.identification.consistency.consistent import project_estimate
from nacelle.identification.data.poses import PlatformMotion
from nacelle.identification.data.preparation import Samples
from nacelle.identification.estimation.estimator import Estimator
from nacelle.identification.estimation.least_squares import row_weights
from nacelle.identification.estimation.regression import Regression
from nacelle.identification.experiment.settings import JointServo
from nacelle.identification.experiment.simulated import Experiment
from nacelle.model.linear_parameters import with_linear_parameters
from nacelle.model.robot import Robot
from nacelle.progress import task
from nacelle.simulation.sensors import Sensors
from nacelle.spatial.scalar import Array
from nacelle.trajectory.base import Sample, Trajectory, nearest_signs

# Periods of the loop's bandwidth after which the start is forgotten.
_SETTLING_PERIODS = 2.0


class SampledTrajectory(Trajectory):
    """A motion that is given at equal steps, in straight lines between them."""

    def __init__(self, robot: Robot, motion: PlatformMotion, step: float) -> None:
        """Keep the motion; every sample must have a pose.

        Args:
            robot: the robot.
            motion: at equal steps.
            step: s.
        """
        count = len(motion.x)
        super().__init__(robot.motion, count * step, np.linspace(0.0, count * step, count + 1))
        self._times = step * np.arange(count)
        # A quaternion and its negative are one orientation: no jump between them.
        self._columns = np.concatenate([nearest_signs(self.layout, motion.x), motion.v, motion.a], axis=1)

    def inside(self, t: Array) -> Sample:
        """The motion at times (m,) that lie in [0, duration]."""
        values = np.stack([np.interp(t, self._times, column) for column in self._columns.T], axis=1)
        n = self.motion.n
        x, v, a = np.split(values, [-2 * n, -n], axis=1)
        if self.layout.quaternion is not None:
            x[:, self.layout.quaternion] /= np.linalg.norm(x[:, self.layout.quaternion], axis=1)[:, None]
        return Sample(x, v, a)


def estimated_robot(base: BaseParameters, coef: Array, covariance: Array) -> Robot:
    """The robot with estimated base parameters, lifted to parameters that a robot can have."""
    return with_linear_parameters(base.robot, project_estimate(base, coef, covariance).values)


def closed_loop_motion(model: Robot, true: Robot, samples: Samples, controller: JointServo) -> PlatformMotion:
    """The motion (N samples) of a robot in closed loop along the instruments' motion.

    Args:
        model: the robot that the controller knows.
        true: the robot that moves.
        samples: give the reference: the motion of their instruments.
        controller: of the loop.

    Raises:
        IdentificationError: if the reference has gaps, or the run does not reach its end.
    """
    reference = samples.instruments
    if not np.all(reference.ok):
        raise IdentificationError(
            f"sample {int(np.argmin(reference.ok))} of the reference has no pose: no loop can follow it"
        )
    trajectory = SampledTrajectory(model, reference, 1.0 / samples.rate)
    with task(f"closed loop of {model.name}"):
        run = Experiment(
            model, trajectory, true=true, controller=controller, sensors=Sensors.ideal(), rate=samples.rate
        ).run()
    # The machine had an error when the samples began, the simulation has none: the difference decays.
    after_settling = run.time - run.time[0] >= _SETTLING_PERIODS / controller.bandwidth
    return PlatformMotion(run.x, run.v, run.a, after_settling)


def simulate_instruments(
    estimator: Estimator, data: Regression, samples: Sequence[Samples], controller: JointServo
) -> Regression:
    """The regression with instruments that the robot of present estimates gives in closed loop."""
    robot = estimated_robot(data.base, estimator.coef_, estimator.covariance_)
    motions = [closed_loop_motion(data.base.robot, robot, part, controller) for part in samples]
    return data.with_instruments(motions, samples)


# ---- direct and inverse dynamic identification (DIDIM): only the forces are measured


# Steps of estimates below this part of their deviations end the iteration.
_CONVERGED = 0.05


@dataclass(kw_only=True, eq=False, repr=False)
class DirectInverse(Estimator):
    """Direct and inverse model: the regressor along a motion that is simulated in closed loop.

    It is fitted to samples: a regression alone has no motion to simulate.

    Attributes:
        controller: of the machine; one with a bandwidth of 10 Hz if None.
        iterations: motions that are simulated, at most.
        iterations_: how many motions were simulated.
    """

    controller: JointServo | None = None
    iterations: int = 10
    iterations_: int = field(init=False)

    def _estimate(self, data: Regression, samples: list[Samples]) -> None:
        if not samples:
            raise IdentificationError("DirectInverse simulates motions: fit it to samples, not a regression")
        # The reference's own motion is where the iteration starts.
        self._fit_along(data)
        controller = self.controller or JointServo()
        for k in range(self.iterations):
            before = self.coef_
            self._fit_along(simulate_instruments(self, data, samples, controller))
            self.iterations_ = k + 1
            step = np.abs(self.coef_ - before)
            if np.all(step <= _CONVERGED * np.where(np.isfinite(self.std_), self.std_, np.inf)):
                break
        # Deviations of forces are those along the simulated motion.
        self.regression_ = data

    def _fit_along(self, data: Regression) -> None:
        """Estimate with the instruments as the regressor."""
        along = replace(data, Y=data.Z)
        self._solve(along, along.Y, row_weights(along, along.Y, self))


# ---- instrumental variables (IDIM-IV): estimates that errors of the encoders do not bias


@dataclass(kw_only=True, eq=False, repr=False)
class InstrumentalVariables(Estimator):
    """Instrumental variables, every row weighted by the variance of its residuals; the default.

    Attributes:
        controller: of the machine: instruments are then simulated in closed loop with it; if None, or if it
            is fitted to a regression, they are those of the data.
        iterations: how often they are simulated.
    """

    controller: JointServo | None = None
    iterations: int = 2

    def _estimate(self, data: Regression, samples: list[Samples]) -> None:
        self._solve(data, data.Z, row_weights(data, data.Z, self))
        if self.controller is None or not samples:
            return
        for _ in range(self.iterations):
            data = simulate_instruments(self, data, samples, self.controller)
            self._solve(data, data.Z, row_weights(data, data.Z, self))
        self.regression_ = data
