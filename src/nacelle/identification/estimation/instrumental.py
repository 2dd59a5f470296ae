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

from nacelle.identification.estimation.estimator import Estimator
from nacelle.identification.estimation.least_squares import row_weights
from nacelle.identification.estimation.regression import Regression


class InstrumentalVariables(Estimator):
    """Instrumental variables, every row weighted by the variance of its residuals; the default."""

    def _estimate(self, data: Regression) -> None:
        self._solve(data, data.Z, row_weights(data, data.Z, self))
