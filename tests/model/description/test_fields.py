"""Entries of a description in SI units: numbers, couplings, drives, frames; what is said of wrong ones."""

from __future__ import annotations

import math
from copy import deepcopy
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError
from scipy.spatial.transform import Rotation

import nacelle
from nacelle.model.description.drive import DriveReader, DriveSpec
from nacelle.model.description.fields import (
    Direction,
    Lengths3,
    Mass,
    Name,
    PositiveLength,
    Reference,
    Strict,
    message_and_hint,
)
from nacelle.model.description.frame import FrameSpec, KhalilKleinfingerSpec, PlacementSpec, RotationSpec
from nacelle.model.joint import FrictionTerm, Joint, JointKind, Spring, reversed_planar_joint
from nacelle.model.source.node import KeyPath


class Sample(Strict):
    """One entry of each kind."""

    at: Lengths3 | None = None
    axis: Direction | None = None
    mass: Mass | None = None
    length: PositiveLength | None = None
    name: Name | None = None
    joint: Reference | None = None


def sample(units: dict[str, str] | None = None, **entries: Any) -> Sample:
    return Sample.model_validate(entries, context={"units": units})


def test_quantities_in_si_units() -> None:
    assert sample(at="1 -2.5 300 mm").at == pytest.approx((0.001, -0.0025, 0.3), rel=1e-15)
    assert sample(at=["1 in", "2 cm", "3 m"]).at == pytest.approx((0.0254, 0.02, 3.0), rel=1e-15)
    assert sample({"length": "mm"}, at=[1.0, 2.0, 3.0]).at == pytest.approx((1e-3, 2e-3, 3e-3), rel=1e-15)
    assert sample(mass="250 g").mass == pytest.approx(0.25)


def test_axes_are_unit_vectors() -> None:
    assert sample(axis="-y").axis == (0.0, -1.0, 0.0)
    assert sample(axis=[0.0, 3.0, 4.0]).axis == pytest.approx((0.0, 0.6, 0.8), rel=1e-15)
    assert sample(axis="0 0 -7").axis == (0.0, 0.0, -1.0)
    # A unit vector stays bit for bit: the sum of these squares is 1 in floating point.
    assert sample(axis=[0.6, 0.8, 0.0]).axis == (0.6, 0.8, 0.0)


@pytest.mark.parametrize(
    ("entries", "message", "hint"),
    [
        ({"at": "1 2 mm"}, "expected 3 numbers, got 2", "0 0"),
        ({"at": "1 2 3"}, "unit", ""),
        ({"at": "1 2 3 kg"}, "kg", ""),
        ({"axis": [0.0, 0.0, 0.0]}, "no length", "x, y, z"),
        ({"axis": "up"}, "expected an axis", "x, y, z"),
        ({"mass": "-1 kg"}, "must not be below 0", ""),
        ({"length": "0 m"}, "must be above zero", ""),
        ({"name": "a.b"}, "not a name", "letters"),
        ({"joint": "leg1..arm"}, "expected a name", "leg1.arm"),
        ({"masss": "1 kg"}, "unknown key 'masss'", "did you mean 'mass'"),
    ],
)
def test_what_is_wrong(entries: dict[str, Any], message: str, hint: str) -> None:
    with pytest.raises(ValidationError) as caught:
        sample(**entries)
    (error,) = caught.value.errors(include_url=False)
    words, help_ = message_and_hint(error)
    assert message in words
    assert hint in help_
    assert error["loc"][0] == next(iter(entries))


# ---- Couplings and screws as they are written: units, names, faults at their places, and back to text

ARM: dict[str, Any] = {
    "format": "nacelle/2",
    "name": "arm",
    "motion": ["arm.hip"],
    "legs": [
        {
            "name": "arm",
            "bodies": {"a": {"mass": "1 kg"}, "b": {"mass": "1 kg"}, "c": {"mass": "1 kg"}},
            "joints": {
                "hip": {"type": "revolute", "parent": "base", "child": "a", "active": True},
                "rack": {"type": "prismatic", "parent": "base", "child": "b", "axis": "x"},
                "ball": {"type": "spherical", "parent": "a", "child": "c"},
            },
        }
    ],
}


def _described(**coupling: Any) -> dict[str, Any]:
    leg = {**deepcopy(ARM["legs"][0]), "couplings": {"gear": {"joint": "rack", "follows": "hip", **coupling}}}
    leg["joints"] = {name: joint for name, joint in leg["joints"].items() if name != "ball"}
    leg["bodies"] = {"a": {"mass": "1 kg"}, "b": {"mass": "1 kg"}}
    return {**ARM, "legs": [leg]}


def _factors(robot: nacelle.Robot) -> list[float]:
    return [factor for _, factor in robot.joints[robot.couplings[0]].terms]


@pytest.mark.parametrize(
    ("ratio", "value"), [("30 mm/rad", 0.03), ("10 mm/rev", 0.01 / (2 * math.pi)), ("0.2 m/rad", 0.2)]
)
def test_ratio_with_unit(ratio: str, value: float) -> None:
    assert _factors(nacelle.build(_described(ratio=ratio))) == pytest.approx([1.0, -value], rel=1e-15)


def test_ratio_of_equal_joints_is_a_number_or_a_fraction() -> None:
    described = _described(ratio="1:4")
    described["legs"][0]["joints"]["rack"]["type"] = "revolute"
    assert _factors(nacelle.build(described)) == [1.0, -0.25]


@pytest.mark.parametrize(
    ("coupling", "message"),
    [
        ({"ratio": "3 deg"}, "mm/rev"),
        ({"ratio": "0 mm/rad"}, "ratio is zero"),
        ({"follows": "knee"}, "no joint is called 'knee'"),
        ({"follows": "rack"}, "follows itself"),
        ({"follows": {"hip": "30 mm/rad"}, "ratio": "30 mm/rad"}, "ratio and a mapping"),
        ({"offset": "5 deg", "ratio": "30 mm/rad"}, "offset"),
        ({"follow": "hip"}, "unknown key"),
    ],
)
def test_faults(coupling: dict[str, Any], message: str) -> None:
    with pytest.raises(nacelle.DescriptionError) as error:
        nacelle.build(_described(**coupling))
    assert message in str(error.value)
    assert "gear" in str(error.value)


def test_joint_of_several_coordinates() -> None:
    described = {
        **ARM,
        "legs": [{**ARM["legs"][0], "couplings": {"gear": {"joint": "ball", "follows": "hip"}}}],
    }
    with pytest.raises(nacelle.DescriptionError, match="has not one coordinate"):
        nacelle.build(described)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"type": "screw"}, "needs its pitch"),
        ({"type": "screw", "pitch": 0}, "without pitch"),
        ({"pitch": "5 mm"}, "has no pitch"),
        ({"type": "constant-velocity"}, "a constant-velocity joint cannot be active"),
        ({"type": "constant-velocity", "axis": "z"}, "a constant-velocity joint has two axes"),
        ({"type": "constant-velocity", "axes": ["x", [1, 1, 0]]}, "perpendicular to each other"),
        ({"type": "constant-velocity", "friction": [{}] * 3}, "3 entries for the 2 axes of a constant-vel"),
    ],
)
def test_faults_of_screws_and_constant_velocity_joints(change: dict[str, Any], message: str) -> None:
    described = _described(ratio="30 mm/rad")
    described["legs"][0]["joints"]["hip"] = {**described["legs"][0]["joints"]["hip"], **change}
    with pytest.raises(nacelle.DescriptionError, match=message):
        nacelle.build(described)


def test_screw_is_a_rotation_with_a_travel() -> None:
    robot = nacelle.loads(
        """
format: nacelle/2
name: screw
motion: [a.turn]
legs:
  - name: a
    bodies: {nut: {mass: 1 kg, com: 10 0 0 mm}}
    joints: {turn: {type: screw, pitch: 20 mm, parent: base, child: nut, axis: z, active: true}}
"""
    )
    moved = nacelle.inverse_kinematics(robot, [1.5 * math.pi])
    assert moved.q_tree == pytest.approx([1.5 * math.pi, 0.015])
    # One revolution against the weight: m g pitch = torque 2 pi.
    assert nacelle.inverse_dynamics(robot, [0.3]).tau == pytest.approx([9.81 * 0.02 / (2 * math.pi)])


# ---- Drives read for a kind of joint: units of rotations and translations, gears, the order of axes


def read(kind: JointKind, **written: Any) -> tuple[Joint, list[tuple[KeyPath, str]]]:
    faults: list[tuple[KeyPath, str]] = []
    reader = DriveReader(None, lambda path, message, hint: faults.append((path, message)))
    return reader.drive(DriveSpec.model_validate(written), kind, ()).joint, faults


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
def test_what_is_wrong_of_drive_reader(
    kind: JointKind, written: dict[str, Any], place: KeyPath, words: str
) -> None:
    _, faults = read(kind, **written)
    assert [(path, words in message) for path, message in faults] == [(place, True)]


def test_a_c5_joint_with_its_plane_on_the_successor_rotates_first() -> None:
    drive, faults = read(
        JointKind.PLANAR_SPHERICAL,
        friction=[{"coulomb": "1 N"}, {"coulomb": "2 N"}, {"coulomb": "3 N*m"}],
        guess=["1 m", "2 m", 0.6, 0, 0, 0.8],
    )
    assert not faults
    moved = reversed_planar_joint(drive)
    assert [terms[0].coefficient for terms in moved.friction] == [3.0, 1.0, 2.0]
    assert moved.guess == (0.6, 0.0, 0.0, 0.8, 1.0, 2.0)


# ---- Rotations and frames in each way of writing them, beside SciPy's and products of 4 x 4 matrices

SOME = Rotation.from_rotvec([0.3, -0.5, 0.8])


@pytest.mark.parametrize(
    "written",
    [
        {"matrix": SOME.as_matrix().tolist()},
        {"matrix": SOME.as_matrix().round(5).tolist()},
        {"rpy": SOME.as_euler("xyz").tolist()},
        {"quat_xyzw": SOME.as_quat().tolist()},
        {"quat_xyzw": SOME.as_quat().round(4).tolist()},
        {"axis": SOME.as_rotvec().tolist(), "angle": f"{float(np.degrees(SOME.magnitude()))!r} deg"},
    ],
    ids=["matrix", "rounded", "rpy", "quaternion", "four digits", "axis"],
)
def test_every_way_to_write_a_rotation(written: dict[str, Any]) -> None:
    R = RotationSpec(**written).rotation()
    np.testing.assert_allclose(R @ R.T, np.eye(3), atol=1e-14)
    exact = {"matrix": SOME.as_matrix().tolist(), "quat_xyzw": SOME.as_quat().tolist()}
    rounded = any(written.get(key, value) != value for key, value in exact.items())
    np.testing.assert_allclose(R, SOME.as_matrix(), atol=2e-4 if rounded else 1e-14)


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ({"matrix": np.diag([1.0, 1.0, -1.0]).tolist()}, "a reflection"),
        ({"matrix": (1.1 * np.eye(3)).tolist()}, "differs from 1 by 0.21"),
        ({"quat_xyzw": [0.0, 0.0, 0.0, 2.0]}, "has length 2"),
        ({"quat_xyzw": [0.7071, 0.0, 0.0, 0.7075]}, "has length 1.0002"),
        ({"axis": "z"}, "belong together"),
        ({"rpy": [0.0, 0.0, 0.0], "quat_xyzw": [0.0, 0.0, 0.0, 1.0]}, "exactly one"),
    ],
)
def test_what_is_no_rotation(written: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError) as caught:
        RotationSpec(**written)
    assert any(words in message_and_hint(error)[0] for error in caught.value.errors(include_url=False))


def homogeneous(R: np.ndarray | None = None, p: tuple[float, float, float] = (0.0, 0.0, 0.0)) -> np.ndarray:
    T = np.eye(4)
    T[:3, :3] = np.eye(3) if R is None else R
    T[:3, 3] = p
    return T


def test_khalil_kleinfinger_is_six_steps() -> None:
    """Rz(gamma) Tz(b) Rx(alpha) Tx(d) Rz(theta) Tz(r) ([KI2007] section 2)."""
    gamma, b, alpha, d, theta, r = 0.4, 0.2, -1.1, 0.3, 0.7, -0.5
    steps = (
        homogeneous(Rotation.from_rotvec([0, 0, gamma]).as_matrix()),
        homogeneous(p=(0, 0, b)),
        homogeneous(Rotation.from_rotvec([alpha, 0, 0]).as_matrix()),
        homogeneous(p=(d, 0, 0)),
        homogeneous(Rotation.from_rotvec([0, 0, theta]).as_matrix()),
        homogeneous(p=(0, 0, r)),
    )
    expected = np.linalg.multi_dot(steps)
    pose = KhalilKleinfingerSpec(gamma=gamma, b=b, alpha=alpha, d=d, theta=theta, r=r).pose()
    np.testing.assert_allclose(homogeneous(pose.R, tuple(pose.p)), expected, atol=1e-15)


def test_frames_translate_first() -> None:
    frame = FrameSpec.model_validate({"translation": [1.0, 2.0, 3.0], "rotation": {"rpy": [0.0, 0.0, 0.5]}})
    pose = frame.pose()
    np.testing.assert_array_equal(pose.p, [1.0, 2.0, 3.0])
    np.testing.assert_allclose(pose.R, Rotation.from_rotvec([0, 0, 0.5]).as_matrix(), atol=1e-15)
    with pytest.raises(ValidationError, match="excludes"):
        FrameSpec.model_validate({"translation": [1.0, 2.0, 3.0], "khalil_kleinfinger": {}})


def test_legs_are_placed_about_z_unless_an_axis_is_given() -> None:
    about_z, about_x = (PlacementSpec(angle="90 deg", axis=axis).pose().R for axis in (None, "x"))
    np.testing.assert_allclose(about_z @ [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], atol=1e-15)
    np.testing.assert_allclose(about_x @ [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], atol=1e-15)
