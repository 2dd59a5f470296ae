"""The section of base parameters: remarks follow the deviations."""

from __future__ import annotations

import re

from nacelle.identification.estimation.estimator import UNIDENTIFIED, WEAK
from nacelle.page.markup import number
from nacelle.report.identification.parameters import parameter_section, trusted
from support.identified import identified


def test_estimates_and_remarks() -> None:
    identification = identified("fivebar")
    estimator, base = identification.estimator, identification.base
    page = parameter_section(identification)
    rows = re.findall(r"<tr.*?</tr>", page, flags=re.DOTALL)
    for k, name in enumerate(base.names):
        (row,) = [text for text in rows if f"<strong>{name}</strong>" in text]
        assert number(float(estimator.coef_[k])) in row or "as described" in row
        relative = float(estimator.relative_std_[k])
        expected = (
            "not identified" if relative >= UNIDENTIFIED else "weak" if relative >= WEAK else "essential"
        )
        assert expected in row or "may as well be zero" in row or "not excited" in row


def test_trusted_parameters_have_small_deviations() -> None:
    identification = identified("fivebar")
    relative = dict(zip(identification.base.names, identification.estimator.relative_std_, strict=True))
    names = trusted(identification)
    assert names
    assert all(relative[name] < WEAK for name in names)
    assert all(
        relative[name] >= WEAK
        for name in set(relative) - set(names) - set(identification.estimator.not_excited_)
    )
