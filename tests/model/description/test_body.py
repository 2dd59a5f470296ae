"""Inertia in each way of writing it: the ten parameters are sums over points of mass."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from nacelle.model.description.body import BodySpec, InertialSpec
from nacelle.model.description.fields import message_and_hint

MASSES = np.array([0.5, 1.0, 0.7, 0.3])
POINTS = np.array([[0.1, 0.0, 0.2], [-0.2, 0.3, 0.0], [0.0, -0.1, 0.1], [0.2, 0.2, -0.3]])


def moments(about: np.ndarray) -> np.ndarray:
    """Sum of m (r.r 1 - r r^T) over the points."""
    return sum(m * (r @ r * np.eye(3) - np.outer(r, r)) for m, r in zip(MASSES, POINTS - about, strict=True))


MASS = MASSES.sum()
COM = MASSES @ POINTS / MASS
CENTRAL, AT_FRAME = moments(COM), moments(np.zeros(3))
TEN = np.array([MASS, *(MASS * COM), *AT_FRAME[[0, 0, 1, 0, 1, 2], [0, 1, 1, 2, 2, 2]]])
SIX = ("xx", "xy", "yy", "xz", "yz", "zz")


def six(I: np.ndarray) -> list[float]:
    return [I["xyz".index(a), "xyz".index(b)] for a, b in SIX]


@pytest.mark.parametrize(
    "written",
    [
        {"com": COM.tolist(), "inertia": six(CENTRAL)},
        {"com": COM.tolist(), "inertia": CENTRAL.tolist()},
        {"com": COM.tolist(), "inertia": " ".join(map(repr, map(float, six(CENTRAL)))) + " kg*m^2"},
        {"first_moment": (MASS * COM).tolist(), "inertia": dict(zip(SIX, six(CENTRAL), strict=True))},
        {
            "first_moment": (MASS * COM).tolist(),
            "inertia": {**dict(zip(SIX, six(AT_FRAME), strict=True)), "about": "frame"},
        },
    ],
    ids=["six", "matrix", "text", "first moment", "about the frame"],
)
def test_every_way_to_write_an_inertia(written: dict[str, Any]) -> None:
    np.testing.assert_allclose(InertialSpec(mass=MASS, **written).ten(), TEN, rtol=1e-14)


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ({"mass": 1.0, "inertia": [1.0, 1.0, 3.0]}, "inertia"),  # no body has zz > xx + yy
        ({"mass": 1.0, "inertia": [1.0, 2.0]}, "3 numbers (xx yy zz) or 6"),
        ({"mass": 1.0, "inertia": [[1.0, 0.1, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]}, "not symmetric"),
        ({"mass": 1.0, "com": [0.0, 0.0, 0.0], "first_moment": [0.0, 0.0, 0.0]}, "say the same"),
        ({"section": {"circle": 0.01}}, "without a material"),
        ({"display": [{"color": "red"}]}, "exactly one of cylinder, box, sphere, mesh"),
    ],
)
def test_what_is_no_body(written: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError) as caught:
        BodySpec(**written)
    said = [message_and_hint(error)[0] for error in caught.value.errors(include_url=False)]
    assert any(words in text for text in said), said
