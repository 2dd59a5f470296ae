"""The section of forces: rows, verdicts and words of a validation."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from nacelle.report.identification.forces import force_section, force_table, predicted_well
from support.identified import validated


def test_rows_and_figures() -> None:
    validation = validated("fivebar")
    page = force_section(validation)
    for name in validation.rows:
        assert f">{name}<" in page
    assert page.count("<figure") == len(validation.rows)
    assert "more actuators than degrees of freedom" not in page
    assert "no (p " in force_table(validation) or "yes (p " in force_table(validation)


def test_predicted_down_to_the_noise_or_well() -> None:
    validation = validated("fivebar")
    assert predicted_well(validation) == [True, True]
    # Ten times the noise and half of the force left; half of the force, but all of it noise.
    poor = SimpleNamespace(ratio=np.array([10.0, 1.0]), relative=np.array([0.5, 0.5]))
    assert predicted_well(poor) == [False, True]
