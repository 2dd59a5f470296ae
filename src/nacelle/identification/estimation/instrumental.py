"""Instrumental variables (IDIM-IV): estimates that errors of the encoders do not bias.

    sum_t Z_t^T W (b_t - Y_t beta) = 0

The regressor Y comes from noisy encoders, so its errors and those of b - Y beta go together, and least
squares has a bias that more data do not cure. Z is the same regressor along a motion without these errors:
that of the reference, or of splines through the encoders (`preparation`), or one that is simulated in closed
loop with the present estimates (Janot, Vandanjon and Gautier, "A generic instrumental variable approach for
industrial robot identification", IEEE Trans. Control Systems Technology 22, 2014). It goes along with Y, and
not with the errors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from nacelle.dynamics.base_parameters.base_parameters import BaseParameters
from nacelle.identification.data.preparation import Samples
from nacelle.identification.estimation.closed_loop import closed_loop_motion, estimated_robot
from nacelle.identification.estimation.estimator import Data, Estimator
from nacelle.identification.estimation.least_squares import row_weights
from nacelle.identification.estimation.prior import CadPrior
from nacelle.identification.estimation.regression import Regression
from nacelle.identification.rehearsal.settings import Controller


class InstrumentalVariables(Estimator):
    """Instrumental variables, every row weighted by the variance of its residuals; the default."""

    def __init__(
        self,
        *,
        parameters: BaseParameters | None = None,
        prior: CadPrior | None = None,
        controller: Controller | None = None,
        iterations: int = 2,
    ) -> None:
        """Keep the options.

        Args:
            parameters: as of `Estimator`.
            prior: as of `Estimator`.
            controller: of the machine: instruments are then simulated in closed loop with it; if None, they
                are those of the samples.
            iterations: how often they are simulated.
        """
        super().__init__(parameters=parameters, prior=prior)
        self.controller = controller
        self.iterations = iterations

    def fit(self, X: Data, y: Any = None) -> Self:
        """Estimate the base parameters.

        Args:
            X: samples (`prepare`), or a regression, whose own instruments are taken.
            y: as of `Estimator.fit`.

        Raises:
            IdentificationError: if the data are too few.
        """
        several = [X] if isinstance(X, Samples) else X
        self._samples: Sequence[Samples] = () if isinstance(several, Regression) else list(several)
        return super().fit(X, y)

    def _estimate(self, data: Regression) -> None:
        self._solve(data, data.Z, row_weights(data, data.Z, self))
        if self.controller is None or not self._samples:
            return
        for _ in range(self.iterations):
            robot = estimated_robot(data.base, self.coef_, self.covariance_)
            motions = [
                closed_loop_motion(data.base.robot, robot, part, self.controller) for part in self._samples
            ]
            data = data.with_instruments(motions, self._samples)
            self._solve(data, data.Z, row_weights(data, data.Z, self))
        self.regression_ = data
