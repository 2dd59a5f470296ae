"""The section of consistent parameters: every body, described and identified."""

from __future__ import annotations

import numpy as np

from nacelle.model.linear_parameters import linear_parameters
from nacelle.page.markup import number
from nacelle.report.identification.bodies import body_section, consistent_or_reason
from support.identified import identified


def test_bodies_are_listed_with_both_masses() -> None:
    identification = identified("fivebar")
    consistent = consistent_or_reason(identification)
    assert not isinstance(consistent, str)
    page = body_section(consistent)
    parameters = linear_parameters(consistent.base.robot)
    for name in ("left.proximal", "right.distal"):
        k = parameters.names.index(f"{name}.m")
        assert f">{name}<" in page
        for value in (parameters.values[k], consistent.values[k]):
            assert number(float(value), 4) in page
    assert "Friction, rotors and springs" in page
    assert f"{number(consistent.distance, 2)} standard deviations" in page
    # A massless body of the description is none of the table.
    assert ">tip<" not in page
    assert np.all(np.isfinite(consistent.values))


def test_without_consistent_parameters_the_reason_is_shown() -> None:
    assert "There are none: no such robot" in body_section("no such robot")
