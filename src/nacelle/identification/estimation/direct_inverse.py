"""Direct and inverse dynamic identification (DIDIM): only the forces are measured.

The robot with the present estimates beta_k is simulated in closed loop along the reference; its motion gives
the regressor, the measured forces the other side:

    beta_(k+1) = argmin  sum_t |b_t - Y_t(simulated motion of beta_k) beta|^2

(Gautier, Janot and Vandanjon, "A new closed-loop output error method for parameter identification of robot
dynamics", IEEE Trans. Control Systems Technology 21, 2013). Encoders and their errors do not appear; what is
assumed is the controller. The tracking error is small beside the motion, so few steps suffice.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from nacelle.dynamics.base_parameters.base_parameters import BaseParameters
from nacelle.errors import IdentificationError
from nacelle.identification.data.preparation import Samples
from nacelle.identification.estimation.closed_loop import closed_loop_motion, estimated_robot
from nacelle.identification.estimation.estimator import Data, Estimator
from nacelle.identification.estimation.least_squares import row_weights
from nacelle.identification.estimation.prior import CadPrior
from nacelle.identification.estimation.regression import Regression
from nacelle.identification.rehearsal.settings import Controller

# Steps of estimates below this part of their deviations end the iteration.
_SMALL = 0.05


class DirectInverse(Estimator):
    """Direct and inverse model: the regressor along a motion that is simulated in closed loop.

    Attributes:
        iterations_: how many motions were simulated.
    """

    def __init__(
        self,
        *,
        parameters: BaseParameters | None = None,
        prior: CadPrior | None = None,
        controller: Controller | None = None,
        iterations: int = 10,
    ) -> None:
        """Keep the options.

        Args:
            parameters: as of `Estimator`.
            prior: as of `Estimator`.
            controller: of the machine; one with a bandwidth of 10 Hz if None.
            iterations: motions that are simulated, at most.
        """
        super().__init__(parameters=parameters, prior=prior)
        self.controller = controller
        self.iterations = iterations

    def fit(self, X: Data, y: Any = None) -> Self:
        """Estimate the base parameters from samples; a regression alone has no motion to simulate.

        Raises:
            IdentificationError: if the data are too few, a regression, or the closed loop does not hold.
        """
        if isinstance(X, Regression):
            raise IdentificationError("DirectInverse simulates motions: fit it to samples, not a regression")
        self._samples: Sequence[Samples] = [X] if isinstance(X, Samples) else list(X)
        return super().fit(X, y)

    def _estimate(self, data: Regression) -> None:
        # The reference's own motion is where the iteration starts.
        self._fit_along(_along(data))
        controller = self.controller or Controller()
        for k in range(self.iterations):
            before = self.coef_
            robot = estimated_robot(data.base, self.coef_, self.covariance_)
            motions = [closed_loop_motion(data.base.robot, robot, part, controller) for part in self._samples]
            self._fit_along(_along(data.with_instruments(motions, self._samples)))
            self.iterations_ = k + 1
            step = np.abs(self.coef_ - before)
            if np.all(step <= _SMALL * np.where(np.isfinite(self.std_), self.std_, np.inf)):
                break
        # Deviations of forces are those along the simulated motion.
        self.regression_ = data

    def _fit_along(self, data: Regression) -> None:
        self._solve(data, data.Y, row_weights(data, data.Y, self))


def _along(data: Regression) -> Regression:
    """The regression with its instruments as the regressor."""
    return dataclasses.replace(data, Y=data.Z)
