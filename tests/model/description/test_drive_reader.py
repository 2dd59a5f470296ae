"""Drives read for a kind of joint: units of rotations and translations, gears, the order of axes."""

from __future__ import annotations

import math
from typing import Any

import pytest

from nacelle.model.description.drive import DriveSpec
from nacelle.model.description.drive_reader import Drive, DriveReader, spherical_first
from nacelle.model.joint import FrictionTerm, JointKind, Spring
from nacelle.model.source.node import KeyPath


def read(kind: JointKind, **written: Any) -> tuple[Drive, list[tuple[KeyPath, str]]]:
    faults: list[tuple[KeyPath, str]] = []
    reader = DriveReader(None, lambda path, message, hint: faults.append((path, message)))
    return reader.drive(DriveSpec.model_validate(written), kind, ()), faults


def test_units_follow_the_kind_of_joint() -> None:
    revolute, faults = read(
        JointKind.REVOLUTE,
        friction={"viscous": "1 N*m*s/rad", "coulomb_smooth": "2 N*m", "scale": "180 deg/s"},
        spring={"stiffness": "3 N*m/rad", "rest": "90 deg"},
        limits=["-45 deg", "45 deg"],
        guess="30 deg",
    )
    assert not faults
    smooth = FrictionTerm("coulomb-smooth", 2.0, pytest.approx(math.pi))
    assert revolute.friction == ((FrictionTerm("viscous", 1.0), smooth),)
    assert revolute.springs == (Spring(3.0, pytest.approx(math.pi / 2)),)
    assert revolute.limits == ((pytest.approx(-math.pi / 4), pytest.approx(math.pi / 4)),)
    assert revolute.guess == pytest.approx((math.pi / 6,))
    _, faults = read(JointKind.PRISMATIC, friction={"viscous": "1 N*m*s/rad"})
    assert [path for path, _ in faults] == [("friction", "viscous")]


@pytest.mark.parametrize(
    ("kind", "ratio", "expected"),
    [
        (JointKind.REVOLUTE, "100:1", 100.0),
        (JointKind.REVOLUTE, "7/2", 3.5),
        (JointKind.PRISMATIC, "10 mm/rev", 2 * math.pi / 0.01),  # a spindle with this lead
        (JointKind.PRISMATIC, "50 rad/m", 50.0),
    ],
)
def test_gear_ratios(kind: JointKind, ratio: str, expected: float) -> None:
    """Rate of the motor for each rate of the joint."""
    inertia = "2 kg*m^2"
    drive, faults = read(kind, actuator={"gear_ratio": ratio, "rotor_inertia": inertia})
    assert not faults
    assert drive.gear_ratio == pytest.approx(expected, rel=1e-14)
    assert drive.rotor_inertia == 2.0


@pytest.mark.parametrize(
    ("kind", "written", "place", "words"),
    [
        (JointKind.SPHERICAL, {"active": True}, ("active",), "cannot be active"),
        (JointKind.FIXED, {"friction": {"coulomb": "1 N"}}, ("friction",), "does not move"),
        (JointKind.REVOLUTE, {"friction": {"coulomb": "-1 N*m"}}, ("friction", "coulomb"), "negative"),
        (JointKind.REVOLUTE, {"friction": {"stribeck": "1 N*m"}}, ("friction", "stribeck"), "needs a rate"),
        (JointKind.CYLINDRICAL, {"friction": {"coulomb": "1 N"}}, ("friction",), "1 entries for the 2 axes"),
        (JointKind.REVOLUTE, {"limits": ["1 rad", "-1 rad"]}, ("limits",), "not below"),
        (JointKind.SPHERICAL, {"guess": [0, 0, 0, 2]}, ("guess",), "has length 2"),
        (JointKind.REVOLUTE, {"actuator": {"gear_ratio": 0}}, ("actuator", "gear_ratio"), "is zero"),
        (JointKind.REVOLUTE, {"actuator": {"damping": "1 N*m*s/rad"}}, ("actuator", "damping"), "rigid"),
    ],
)
def test_what_is_wrong(kind: JointKind, written: dict[str, Any], place: KeyPath, words: str) -> None:
    _, faults = read(kind, **written)
    assert [(path, words in message) for path, message in faults] == [(place, True)]


def test_a_c5_joint_with_its_plane_on_the_successor_rotates_first() -> None:
    drive, faults = read(
        JointKind.PLANAR_SPHERICAL,
        friction=[{"coulomb": "1 N"}, {"coulomb": "2 N"}, {"coulomb": "3 N*m"}],
        guess=["1 m", "2 m", 0.6, 0, 0, 0.8],
    )
    assert not faults
    moved = spherical_first(drive)
    assert [terms[0].coefficient for terms in moved.friction] == [3.0, 1.0, 2.0]
    assert moved.guess == (0.6, 0.0, 0.0, 0.8, 1.0, 2.0)
