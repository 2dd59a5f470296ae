"""The motion that a robot with estimated parameters makes in closed loop: free of every sensor's errors.

The reference is followed by the controller that the machine has, or one of a stated bandwidth, and the robot
has the estimates, lifted to parameters that a robot can have. Instruments (IDIM-IV) and the regressor of the
direct and inverse model (DIDIM) come from this motion.
"""

from __future__ import annotations

import numpy as np

from nacelle.dynamics.base_parameters.base_parameters import BaseParameters
from nacelle.errors import IdentificationError
from nacelle.identification.consistency.consistent import lifted
from nacelle.identification.data.poses import NacelleMotion
from nacelle.identification.data.preparation import Samples
from nacelle.identification.rehearsal.rehearsal import Experiment
from nacelle.identification.rehearsal.settings import Controller, Sensors
from nacelle.kinematics.trajectory.base import Sample, Trajectory
from nacelle.model.linear_parameters import with_linear_parameters
from nacelle.model.robot import Robot
from nacelle.progress import task
from nacelle.spatial.scalar import Array

# Periods of the loop's bandwidth after which the start is forgotten.
_SETTLING = 2.0


class RecordedMotion(Trajectory):
    """A motion that is given at equal steps, in straight lines between them."""

    def __init__(self, robot: Robot, motion: NacelleMotion, step: float) -> None:
        """Keep the motion; every sample must have a pose.

        Args:
            robot: the robot.
            motion: at equal steps.
            step: s.
        """
        count = len(motion.x)
        super().__init__(robot.motion, count * step, np.linspace(0.0, count * step, count + 1))
        self._times = step * np.arange(count)
        x = motion.x.copy()
        if self.layout.quaternion is not None:
            # A quaternion and its negative are one orientation: no jump between them.
            quat = x[:, self.layout.quaternion]
            flips = np.sign(np.sum(quat[1:] * quat[:-1], axis=1))
            quat[1:] *= np.cumprod(np.where(flips == 0.0, 1.0, flips))[:, None]
        self._columns = np.concatenate([x, motion.v, motion.a], axis=1)

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
    return with_linear_parameters(base.robot, lifted(base, coef, covariance).values)


def closed_loop_motion(model: Robot, true: Robot, samples: Samples, controller: Controller) -> NacelleMotion:
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
    trajectory = RecordedMotion(model, reference, 1.0 / samples.rate)
    with task(f"closed loop of {model.name}"):
        run = Experiment(
            model,
            trajectory,
            true=true,
            controller=controller,
            sensors=Sensors.ideal(),
            rate=samples.rate,
        ).run()
    # The machine had an error when the samples began, the simulation has none: the difference decays.
    settled = run.time - run.time[0] >= _SETTLING / controller.bandwidth
    return NacelleMotion(run.x, run.v, run.a, settled)
