"""Names of models, apart from the models: completing one on the command line must not wait for imports."""

from __future__ import annotations

MODEL_NAMES = (
    *("inverse_dynamics", "forward_dynamics", "inverse_kinematics", "jacobian", "mass_matrix"),
    *("bias_forces", "gravity_forces", "regressor", "reference_regressor"),
)
"""Names that `nacelle.model` takes."""
ELASTIC_MODEL_NAMES = ("elastic_inverse_dynamics", "elastic_forward_dynamics")
"""Names that `nacelle.elastic.elastic_model` takes."""
