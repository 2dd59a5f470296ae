"""Drives as written: quantities wait for the kind of joint, single entries become lists."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from nacelle.model.description.drive import ActuatorSpec, DriveSpec


def test_quantities_stay_as_written() -> None:
    drive = DriveSpec(
        friction={"viscous": "0.1 N*m*s/rad"}, spring={"stiffness": "2 N/m"}, limits=["-1 m", "1 m"]
    )
    assert drive.friction is not None
    assert [entry.viscous for entry in drive.friction] == ["0.1 N*m*s/rad"]
    assert drive.spring is not None
    assert [entry and (entry.stiffness, entry.rest) for entry in drive.spring] == [("2 N/m", 0.0)]
    assert drive.limits == ["-1 m", "1 m"]


def test_one_entry_an_axis_some_without_a_spring() -> None:
    drive = DriveSpec(friction=[{"coulomb": 1}, {"coulomb": 2}], spring=[None, {"stiffness": 3}])
    assert drive.friction is not None
    assert [entry.coulomb for entry in drive.friction] == [1, 2]
    assert drive.spring is not None
    assert drive.spring[0] is None


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ({"friction": {"viscos": 1}}, "unknown key 'viscos'"),
        ({"spring": {"rest": 1}}, "missing key 'stiffness'"),
        ({"active": "perhaps"}, "true or false"),
    ],
)
def test_shapes_that_are_wrong(written: dict[str, object], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        DriveSpec.model_validate(written)


def test_encoders_read_forwards_or_backwards() -> None:
    assert ActuatorSpec.model_validate({"encoder": {"sign": -1}}).encoder.sign == -1
    with pytest.raises(ValidationError, match="expected 1 or -1, got 2"):
        ActuatorSpec.model_validate({"encoder": {"sign": 2}})
