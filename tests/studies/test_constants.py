"""Constants that decide limits and sections, against robots whose descriptions have other texts."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nacelle
from nacelle.elastic.linear.frequencies import natural_frequencies
from nacelle.errors import CompileError, DescriptionError
from nacelle.kinematics.limits import limit_vector
from nacelle.kinematics.pose_input import reference_pose
from nacelle.model.robot import Robot
from nacelle.studies import Study
from nacelle.studies.constants import known_constants, limit_slopes
from nacelle.studies.table import NOT_A_ROBOT, OK, OUT_OF_LIMITS
from support import fake_cupy

CYCLE = {"pick-and-place": {"distance": 0.1, "height": 0.03, "duration": 0.4}, "samples": 9}
LIMITED = {
    "constants:\n": "constants:\n  reach: 210 deg\n  fold: [-150 deg, 2.6 rad]\n  opening: 160 deg\n"
    "  torque: 12 N*m\n  fast: 60 rad/s\n",
    "[-30 deg, 210 deg], speed: 60 rad/s, force: 12 N*m": "[-$reach/7, $reach], speed: $fast, force: $torque",
    "          axis: z\n          fric": "          axis: z\n          limits: $fold\n          fric",
    "      axis: z\n      fric": "      axis: z\n      limits: [20 deg, $opening]\n      fric",
}
"""A five-bar whose limits of drives, of a joint and of a closure are constants."""
FLEXIBLE = {
    "constants:\n": "constants:\n  profile: 2 4 mm\n",
    "section: {rectangle: 2 4 mm}": "section: {rectangle: $profile}",
}


def text_of(name: str, changes: dict[str, str]) -> str:
    text = nacelle.robots.text(name)
    for old, new in changes.items():
        assert old in text, old
        text = text.replace(old, new)
    return text


def flexible_text() -> str:
    """Masses of its beams follow from their sections."""
    text = text_of("fivebar-flexible", FLEXIBLE)
    return re.sub(r" +mass: .*\n +com: .*\n +inertia: .*\n", "", text)


def substituted(text: str, **constants: str) -> Robot:
    """The robot of a text in which constants are others."""
    for name, value in constants.items():
        text, count = re.subn(rf"^  {name}: .*$", f"  {name}: {value}", text, flags=re.MULTILINE)
        assert count == 1, name
    return nacelle.loads(text)


def study_of(folder: Path, text: str, **entries: Any) -> Study:
    (folder / "robot.yaml").write_text(text)
    (folder / "study.yaml").write_text("{}")
    target = entries.pop("target", "jit")
    study = {"robot": str(folder / "robot.yaml"), "motions": {"cycle": CYCLE}, "quantities": {"m": "mass"}}
    return Study(study | entries, target=target)


@pytest.mark.slow
def test_limits_of_variants_are_those_of_their_texts(tmp_path: Path) -> None:
    """Of drives, of joints of the tree and of closures; with a length, which is a free number, too."""
    text = text_of("fivebar", LIMITED)
    study = study_of(
        tmp_path,
        text,
        variables={
            "reach": {"from": "120 deg", "to": "170 deg"},
            "fold": {"numbers": "fold.y", "from": "80 deg", "to": "150 deg"},
            "opening": {"from": "110 deg", "to": "160 deg"},
            "torque": {"from": "5 N*m", "to": "20 N*m"},
            "fast": {"uniform": "20 rad/s"},
            "proximal": {"from": "180 mm", "to": "220 mm"},
        },
        regions={"space": {"over": {"x": [-0.2, 0.2, 7], "y": [0.1, 0.4, 7]}}},
        quantities={
            "load": {"kind": "peak force", "relative": True},
            "speed": {"kind": "peak speed", "relative": True},
            "reached": {"kind": "reached", "region": "space"},
        },
    )
    space, sets = study.evaluator.space, study.evaluator.sets
    assert set(space.names) >= {"reach", "fold.y", "opening", "torque", "fast", "proximal"}
    values = space.values_at(np.random.default_rng(5).random((2, 6)))
    values = np.concatenate([values, [[2.4, 2.3, 2.5, 9.0, 0.0, 0.2]]])
    found, parts = study.evaluate(values), []
    states, grid = sets["cycle"].states, sets["space"].states
    for n, (reach, fold, opening, torque, fast, proximal) in enumerate(values.tolist()):
        own = substituted(
            text,
            reach=f"{reach!r} rad",
            fold=f"[-150 deg, {fold!r} rad]",
            opening=f"{float(np.rad2deg(opening))!r} deg",
            torque=f"{torque!r} N*m",
            fast=f"{60.0 + fast!r} rad/s",
            proximal=f"{1e3 * proximal!r} mm",
        )
        flags = nacelle.inverse_kinematics(own, states.x).flags
        reached = np.mean(nacelle.inverse_kinematics(own, grid.x).flags == 0)
        assert found.status[n] == (OUT_OF_LIMITS if flags.any() else OK)
        assert found["reached"][n] == pytest.approx(reached)
        motion = nacelle.inverse_dynamics(own, states.x, states.v, states.a)
        rates = nacelle.kinematics.joint_motion(own, states.x, states.v, states.a).actuators[1]
        assert found["load"][n] == pytest.approx(np.abs(motion.tau).max() / torque, rel=1e-9)
        assert found["speed"][n] == pytest.approx(np.abs(rates).max() / (60.0 + fast), rel=1e-9)
        variant = space.robot_at(space.numbers_at(values)[n])
        np.testing.assert_allclose(limit_vector(variant), limit_vector(own), rtol=1e-14)
        np.testing.assert_allclose(variant.parameter_vector(), own.parameter_vector(), rtol=1e-14, atol=1e-18)
        parts.append(reached)
    assert set(found.status) == {OK, OUT_OF_LIMITS}, found.status
    assert len(set(parts)) == 3
    # Limits that contradict one another are those of no robot, as they are in a text.
    assert study.evaluate([[2.4, 2.3, 0.3, 9.0, 0.0, 0.2]]).status[0] == NOT_A_ROBOT
    with pytest.raises(DescriptionError):
        substituted(text, opening="0.3 rad")


@pytest.mark.slow
def test_sections_decide_frequencies_and_masses(tmp_path: Path) -> None:
    """And forces, which masses of beams are part of; a deviation of another number comes on top."""
    text = flexible_text()
    friction = "arm.elements.proximal.input.friction.viscous"
    study = study_of(
        tmp_path,
        text,
        payload={"mass": "0.1 kg"},
        variables={
            "thickness": {"numbers": "profile.x", "from": "1.5 mm", "to": "3 mm"},
            "distal": {"from": "240 mm", "to": "260 mm"},
            "friction": {"numbers": friction, "uniform": "0.01 N*m*s/rad"},
        },
        quantities={
            "f": {"kind": "first frequency"},
            "m": "mass",
            "peak": "peak force",
        },
        limits=False,
    )
    values = np.array([[0.0016, 0.245, 0.004], [0.0028, 0.255, -0.007], [-0.001, 0.25, 0.0]])
    found, states = study.evaluate(values), study.evaluator.sets["cycle"].states
    assert found.status.tolist() == [OK, OK, NOT_A_ROBOT]
    space = study.evaluator.space
    for n, (thickness, distal, deviation) in enumerate(values[:2].tolist()):
        other = text.replace("viscous: 0.02 ", f"viscous: {0.02 + deviation!r} ")
        own = substituted(other, profile=f"{1e3 * thickness!r} 4 mm", distal=f"{distal!r} m")
        own = nacelle.with_payload(own, 0.1)
        first = natural_frequencies(own, reference_pose(study.robot), modes=1).frequencies[0]
        force = nacelle.inverse_dynamics(own, states.x, states.v, states.a).tau
        assert found["f"][n] == pytest.approx(first, rel=1e-9)
        assert found["m"][n] == pytest.approx(0.1 + sum(b.inertia[0] for b in own.bodies[1:]), rel=1e-12)
        assert found["peak"][n] == pytest.approx(np.abs(force).max(), rel=1e-9)
        variant = space.robot_at(space.numbers_at(values)[n])
        np.testing.assert_allclose(variant.parameter_vector(), own.parameter_vector(), rtol=1e-13, atol=1e-18)
    assert abs(found["f"][0] / found["f"][1] - 1.0) > 0.1


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(st.floats(-1.0, -0.1), st.floats(0.1, 5.0), st.floats(0.5, 9.0), st.floats(0.2, 1.5))
def test_limits_are_linear_in_constants(low: float, high: float, torque: float, opening: float) -> None:
    """Of every way to write them: lists, texts of several numbers, multiples, and constants of constants."""
    texts = dict(LIMITED)
    texts["constants:\n"] = (
        "constants:\n  fold: [-30 deg, 90 deg]\n  torque: 3 N*m\n  fast: 6 rad/s\n  wide: 1 2 rad\n"
        "  reach: 0.7\n  opening: 2*$twice\n"
    ).replace("  opening", "  twice: 40 deg\n  opening")
    texts["[-30 deg, 210 deg], speed: 60 rad/s, force: 12 N*m"] = (
        "[-2*$twice, $opening], speed: $fast, force: 3*$torque"
    )
    text = text_of("fivebar", texts)
    robot, names = nacelle.loads(text), ("fold.x", "fold.y", "torque", "twice", "proximal")
    slopes = limit_slopes(robot, dict.fromkeys(names, 0.01))
    known = known_constants(robot)
    changes = np.array([low, high, torque, opening, 0.2]) - [known[name].value for name in names]
    own = substituted(
        text, fold=f"[{low!r} rad, {high!r} rad]", torque=f"{torque!r} N*m", twice=f"{opening!r} rad"
    )
    np.testing.assert_allclose(limit_vector(robot) + changes @ slopes, limit_vector(own), rtol=1e-12)


@pytest.mark.parametrize(
    ("change", "variable", "message"),
    [
        ({}, "left.proximal.limits", "where they are constants of the description"),
        ({}, "nothing", "has no number 'nothing'"),
        ({"speed: $fast": "speed: 60 rad/s"}, "fast", "decides nothing"),
        (
            {
                "nacelle/1": "nacelle/2",
                "limits: $fold": "limits: $fold\n          stop: {stiffness: 50 N*m/rad}",
            },
            "fold.y",
            "decides more",
        ),
    ],
)
def test_what_cannot_vary_says_why(
    tmp_path: Path, change: dict[str, str], variable: str, message: str
) -> None:
    text = text_of("fivebar", LIMITED)
    for old, new in change.items():
        text = text.replace(old, new)
    with pytest.raises(DescriptionError) as error:
        study_of(tmp_path, text, variables={variable: {"from": 2.0, "to": 2.5}}).prepare()
    assert any(message in f"{p.message} {p.hint}" for p in error.value.problems), error.value


def test_a_device_does_not_check_limits_that_vary(tmp_path: Path) -> None:
    entries = {"variables": {"reach": {"from": 2.0, "to": 3.0}}, "quantities": {"peak": "peak force"}}
    text = text_of("fivebar", LIMITED | {k: k for k in list(LIMITED)[2:]})
    study = study_of(tmp_path, text, target="cuda", **entries)
    with fake_cupy.in_place(fake_cupy.fake_module()), pytest.raises(CompileError, match="the device out"):
        study.evaluate([[2.5]])
