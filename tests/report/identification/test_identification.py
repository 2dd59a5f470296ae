"""Identification: bodies, forces, parameters, units, verdict."""

from __future__ import annotations

import dataclasses
import re
from types import SimpleNamespace

import numpy as np
import pytest

from nacelle.identification.estimation.estimator import UNIDENTIFIED, WEAK
from nacelle.identification.validation import Validation
from nacelle.model.linear_parameters import linear_parameters
from nacelle.page.markup import number
from nacelle.report.identification.bodies import body_section, consistent_or_reason
from nacelle.report.identification.forces import predicted_well
from nacelle.report.identification.parameters import parameter_section, trusted
from nacelle.report.identification.units import base_units, parameter_unit, row_units
from nacelle.report.identification.verdict import identification_verdict, validation_verdict
from support.identified import identified, validated
from support.library import NAMES, library_robot

# ---- The section of consistent parameters: every body, described and identified


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


def test_predicted_down_to_the_noise_or_well() -> None:
    """The section of forces: rows, verdicts and words of a validation."""
    validation = validated("fivebar")
    assert predicted_well(validation) == [True, True]
    # Ten times the noise and half of the force left; half of the force, but all of it noise.
    poor = SimpleNamespace(ratio=np.array([10.0, 1.0]), relative=np.array([0.5, 0.5]))
    assert predicted_well(poor) == [False, True]


# ---- The section of base parameters: remarks follow the deviations


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


# ---- Units of parameters against what a description declares


@pytest.mark.parametrize("name", NAMES)
def test_every_parameter_has_a_unit(name: str) -> None:
    robot = library_robot(name)
    kinds = {joint.name: str(joint.kind) for joint in robot.joints}
    viscous = {"prismatic": "N s/m", "revolute": "N m s/rad", "universal": "N m s/rad"}
    for parameter in linear_parameters(robot).names:
        unit = parameter_unit(robot, parameter)
        assert unit
        owner, _, part = parameter.rpartition(".")
        kind = kinds.get(owner.rpartition(".")[0], "")
        if part == "viscous" and kind in viscous:
            assert unit == viscous[kind]
        if part == "rotor_inertia":
            assert unit == ("kg" if kinds[owner] == "prismatic" else "kg m²")


@pytest.mark.parametrize(
    ("robot", "parameter", "unit"),
    [
        ("fivebar", "left.proximal.m", "kg"),
        ("fivebar", "left.proximal.mx", "kg m"),
        ("fivebar", "left.proximal.Ixy", "kg m²"),
        ("fivebar", "left.proximal-input.rz.coulomb", "N m"),
        ("fivebar", "left.proximal-input.rz.quadratic", "N m s²/rad²"),
        ("fivebar", "left.proximal-input.tz.stiffness", "N/m"),
        ("fivebar", "left.proximal-input.rz.stiffness*rest", "N m"),
        ("fivebar", "any.ball.coulomb-smooth", "N m"),
        ("fivebar", "any.tx.stribeck", "N"),
    ],
)
def test_units_by_name(robot: str, parameter: str, unit: str) -> None:
    assert parameter_unit(library_robot(robot), parameter) == unit


@pytest.mark.slow
def test_units_of_base_parameters_and_rows() -> None:
    one = identified("fivebar")
    assert len(base_units(one.base)) == len(one.base)
    assert row_units(one.fit.regression) == ["N m", "N m"]
    assert row_units(identified("redundant").fit.regression) == ["N", "N"]


# ---- The verdict follows the data: forces that are predicted or not, robots that can be built or not


def off_by(validation: Validation, noises: float, seed: int = 0) -> Validation:
    """The same validation with predictions that are off by so many deviations of the noise, at random."""
    rng = np.random.default_rng(seed)
    error = noises * validation.floor * rng.normal(size=validation.predicted.shape)
    return dataclasses.replace(validation, predicted=validation.measured + error)


def test_forces() -> None:
    validation = validated("fivebar")
    assert "verdict good" in validation_verdict(off_by(validation, 1.0))
    assert "verdict fair" in validation_verdict(off_by(validation, 3.0))
    poor = validation_verdict(off_by(validation, 1000.0))
    assert "verdict poor" in poor
    assert "poorly in left.motor, right.motor" in poor


@pytest.mark.slow
def test_noise_that_is_not_known_is_not_a_fault() -> None:
    said = validation_verdict(validated("redundant"))
    assert "verdict fair" in said
    assert "their noise is not known" in said


def test_memory_is_named_with_its_row() -> None:
    validation = off_by(validated("fivebar"), 0.5)
    slow = np.array([np.sin(0.2 * np.arange(len(validation.measured))), np.zeros(len(validation.measured))]).T
    said = validation_verdict(
        dataclasses.replace(validation, predicted=validation.predicted + slow * validation.floor)
    )
    assert "residuals of left.motor have memory" in said
    assert "small beside the noise" in said
    assert "memory" not in validation_verdict(off_by(validated("fivebar"), 1.0))


def test_headlines() -> None:
    identification = identified("fivebar")
    wrong = off_by(validated("fivebar"), 1000.0)
    assert "do not use them" in identification_verdict(identification, identification.consistent, wrong)
    assert "predict the forces" in identification_verdict(identification, identification.consistent, None)
    far = dataclasses.replace(identification.consistent, distance=50.0, active=("left.<distal>",))
    said = identification_verdict(identification, far, None)
    assert "more than chance allows" in said
    assert "left.&lt;distal&gt;" in said
    assert "verdict poor" in said
