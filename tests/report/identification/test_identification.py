"""Identification: bodies, figures, forces, page, parameters, units, verdict."""

from __future__ import annotations

import dataclasses
import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from nacelle.errors import IdentificationError, NacelleError
from nacelle.identification.estimation.estimator import UNIDENTIFIED, WEAK
from nacelle.identification.estimation.regression import Regression
from nacelle.identification.identify import Identification
from nacelle.identification.validation import Validation
from nacelle.model.joint import Interval
from nacelle.model.linear_parameters import linear_parameters
from nacelle.page.markup import format_number, write_page
from nacelle.report.identification import (
    body_section,
    consistent_parameters_or_reason,
    identification_page,
    identification_verdict,
    interval_bar,
    is_predicted_well,
    parameter_section,
    plot_time,
    trusted_parameters,
    used_runs,
    validation_page,
    validation_verdict,
)
from nacelle.report.results.units import base_units, parameter_unit, row_units
from support.hostile_names import HOSTILE
from support.identified import identification_result, validation_result
from support.library import NAMES, library_robot
from support.page_reader import PageReader

# ---- The section of consistent parameters: every body, described and identified


def test_bodies_are_listed_with_both_masses() -> None:
    identification = identification_result("fivebar")
    consistent = consistent_parameters_or_reason(identification)
    assert not isinstance(consistent, str)
    page = body_section(consistent)
    parameters = linear_parameters(consistent.base.robot)
    for name in ("left.proximal", "right.distal"):
        k = parameters.names.index(f"{name}.m")
        assert f">{name}<" in page
        for value in (parameters.values[k], consistent.values[k]):
            assert format_number(float(value), 4) in page
    assert "Friction, rotors and springs" in page
    assert f"{format_number(consistent.distance, 2)} standard deviations" in page
    # A massless body of the description is none of the table.
    assert ">tip<" not in page
    assert np.all(np.isfinite(consistent.values))


def test_predicted_down_to_the_noise_or_well() -> None:
    """The section of forces: rows, verdicts and words of a validation."""
    validation = validation_result("fivebar")
    assert is_predicted_well(validation) == [True, True]
    # Ten times the noise and half of the force left; half of the force, but all of it noise.
    poor = SimpleNamespace(ratio=np.array([10.0, 1.0]), relative=np.array([0.5, 0.5]))
    assert is_predicted_well(poor) == [False, True]


# ---- The section of base parameters: remarks follow the deviations


def test_estimates_and_remarks() -> None:
    identification = identification_result("fivebar")
    estimator, base = identification.estimator, identification.base
    page = parameter_section(identification)
    rows = re.findall(r"<tr.*?</tr>", page, flags=re.DOTALL)
    for k, name in enumerate(base.names):
        (row,) = [text for text in rows if f"<strong>{name}</strong>" in text]
        assert format_number(float(estimator.coef_[k])) in row or "as described" in row
        relative = float(estimator.relative_std_[k])
        expected = (
            "not identified" if relative >= UNIDENTIFIED else "weak" if relative >= WEAK else "essential"
        )
        assert expected in row or "may as well be zero" in row or "not excited" in row


def test_trusted_parameters_have_small_deviations() -> None:
    identification = identification_result("fivebar")
    relative = dict(zip(identification.base.names, identification.estimator.relative_std_, strict=True))
    names = trusted_parameters(identification)
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
    one = identification_result("fivebar")
    assert len(base_units(one.base)) == len(one.base)
    assert row_units(one.fit.regression) == ["N m", "N m"]
    assert row_units(identification_result("redundant").fit.regression) == ["N", "N"]


# ---- The verdict follows the data: forces that are predicted or not, robots that can be built or not


def off_by(validation: Validation, noises: float, seed: int = 0) -> Validation:
    """The same validation with predictions that are off by so many deviations of the noise, at random."""
    rng = np.random.default_rng(seed)
    error = noises * validation.floor * rng.normal(size=validation.predicted.shape)
    return dataclasses.replace(validation, predicted=validation.measured + error)


def test_forces() -> None:
    validation = validation_result("fivebar")
    assert "verdict good" in validation_verdict(off_by(validation, 1.0))
    assert "verdict fair" in validation_verdict(off_by(validation, 3.0))
    poor = validation_verdict(off_by(validation, 1000.0))
    assert "verdict poor" in poor
    assert "poorly in left.motor, right.motor" in poor


@pytest.mark.slow
def test_noise_that_is_not_known_is_not_a_fault() -> None:
    said = validation_verdict(validation_result("redundant"))
    assert "verdict fair" in said
    assert "their noise is not known" in said


def test_memory_is_named_with_its_row() -> None:
    validation = off_by(validation_result("fivebar"), 0.5)
    slow = np.array([np.sin(0.2 * np.arange(len(validation.measured))), np.zeros(len(validation.measured))]).T
    said = validation_verdict(
        dataclasses.replace(validation, predicted=validation.predicted + slow * validation.floor)
    )
    assert "residuals of left.motor have memory" in said
    assert "small compared with the noise" in said
    assert "memory" not in validation_verdict(off_by(validation_result("fivebar"), 1.0))


def test_headlines() -> None:
    identification = identification_result("fivebar")
    wrong = off_by(validation_result("fivebar"), 1000.0)
    assert "do not use them" in identification_verdict(identification, identification.consistent, wrong)
    assert "predict the forces" in identification_verdict(identification, identification.consistent, None)
    far = dataclasses.replace(identification.consistent, distance=50.0, active=("left.<distal>",))
    said = identification_verdict(identification, far, None)
    assert "more than chance allows" in said
    assert "left.&lt;distal&gt;" in said
    assert "verdict poor" in said


# ---- What figures are made of: time of several runs, runs of samples that count, memory, bars


def with_samples(time: list[float], used: list[bool], lengths: tuple[int, ...]) -> Regression:
    own = validation_result("fivebar").regression
    count = len(time)
    return dataclasses.replace(
        own,
        Y=own.Y[:count],
        Z=own.Z[:count],
        force=own.force[:count],
        time=np.array(time),
        used=np.array(used),
        lengths=lengths,
    )


@pytest.mark.slow
def test_runs_end_with_parts_and_with_samples_that_do_not_count() -> None:
    data = with_samples([0, 1, 2, 3, 0, 1, 2], [True, True, False, True, True, False, True], (4, 3))
    assert used_runs(data) == [slice(0, 2), slice(3, 4), slice(4, 5), slice(6, 7)]


def test_time_of_parts_that_follow_one_another_is_kept() -> None:
    data = with_samples([0, 1, 2, 8, 9], [True] * 5, (3, 2))
    time, breaks, label = plot_time(data)
    assert time.tolist() == [0, 1, 2, 8, 9]
    assert breaks == [5.0]
    assert label == "time (s)"


def test_runs_whose_times_overlap_are_put_one_after_another() -> None:
    data = with_samples([5, 6, 7, 0, 1, 3], [True] * 6, (3, 3))
    time, breaks, label = plot_time(data)
    assert np.all(np.diff(time) > 0.0)
    assert np.allclose(np.diff(time)[[0, 1, 3, 4]], [1, 1, 1, 2])
    assert time[2] < breaks[0] < time[3]
    assert "one after another" in label


@pytest.mark.slow
def test_autocorrelation_is_that_of_each_part() -> None:
    fit = identification_result("fivebar", 2).fit
    values = fit.autocorrelation(3)
    used = fit.regression.used[:, None]
    off = np.where(used, fit.residuals - np.mean(fit.residuals[fit.regression.used], axis=0), 0.0)
    for lag in (1, 2, 3):
        pairs = sum(np.sum(off[part][:-lag] * off[part][lag:], axis=0) for part in fit.regression.parts())
        np.testing.assert_allclose(values[lag - 1], pairs / np.sum(off**2, axis=0), rtol=1e-9)


def widths(bar: str) -> list[float]:
    return [
        float(text) for text in re.findall(r'<rect class="[^"]*" x="[^"]*" y="[^"]*" width="([\d.]+)"', bar)
    ]


def test_bars_show_intervals() -> None:
    # Wider intervals are wider bars, those beyond the scale have arrows, unbounded ones have no bar.
    narrow = interval_bar(1.0, 1.0, Interval(0.99, 1.01), "")
    wide = interval_bar(1.0, 1.0, Interval(0.9, 1.1), "fair")
    assert widths(narrow) < widths(wide)
    assert "<path" not in wide
    assert interval_bar(1.0, 1.0, Interval(-9.0, 11.0), "poor").count("<path") == 2
    assert interval_bar(1.0, 1.0, Interval(-np.inf, np.inf), "poor").count("<rect") == 0
    assert interval_bar(0.0, 0.0, Interval(0.0, 0.0), "").count("<rect") == 1


# ---- Pages as a browser reads them: balanced, without references, with every number and name in its place

EVIL = "<script>alert('x')</script> \"&amp; ' onload=x"


def with_estimator(identification: Identification, **changes: Any) -> Identification:
    """The same identification with other results of the fit."""
    estimator = object.__new__(type(identification.estimator))
    estimator.__dict__.update(identification.estimator.__dict__, **changes)
    return dataclasses.replace(identification, estimator=estimator)


def pages() -> dict[str, str]:
    return {
        "with validation": identification_page(
            identification_result("fivebar"), validation_result("fivebar")
        ),
        "alone": identification_page(identification_result("fivebar")),
        "validation": validation_page(validation_result("fivebar")),
        "two runs": identification_page(identification_result("fivebar", 2)),
    }


@pytest.mark.slow
def test_pages_are_whole_and_need_nothing_else() -> None:
    for page in pages().values():
        assert page.startswith("<!DOCTYPE html>")
        read = PageReader(page)
        assert not {"script", "link", "img", "iframe", "object", "use", "image"} & set(read.tags)
        namespaces = [value for name, value in read.attributes if name == "xmlns"]
        assert set(namespaces) == {"http://www.w3.org/2000/svg"}
        for name, value in read.attributes:
            assert name == "xmlns" or not any(sign in value for sign in ("http:", "https:", "//", "url("))
            assert not name.startswith("on")
            assert name != "href" or value.startswith("#")
        assert "@import" not in page
        assert "url(" not in page
        anchors = [value for name, value in read.attributes if name == "id"]
        assert len(anchors) == len(set(anchors))
        assert {value[1:] for name, value in read.attributes if name == "href"} == set(anchors)
        # No number of a drawing is none.
        drawn = [value for name, value in read.attributes if name in ("d", "x", "y", "x1", "y1", "width")]
        assert not any("nan" in value or "inf" in value for value in drawn)


def test_what_a_page_of_an_identification_says() -> None:
    identification, validation = identification_result("fivebar"), validation_result("fivebar")
    read = PageReader(identification_page(identification, validation))
    for name in identification.base.names:
        assert name in read.text
    for line in [*identification.words(), *identification.fit.words(), *validation.words()]:
        assert " ".join(line.split()) in read.text
    for body in ("left.proximal", "right.distal"):
        assert body in read.words
    for unit in ("kg m", "kg m²", "N m s/rad", "N m"):
        assert unit in read.words
    # A bar for every parameter and the scale above them; of every force of fit and validation three figures.
    assert read.tags.count("svg") == len(identification.base) + 1 + 2 * 3 * 2
    alone = PageReader(identification_page(identification)).text
    assert "not tested on another motion" in alone
    assert "not tested on another motion" not in read.text
    for file in (*(part.file for part in identification.samples), *validation.files):
        assert file
        assert file in read.text or file in PageReader(validation_page(validation)).text


@pytest.mark.slow
def test_redundant_actuators() -> None:
    identification = identification_result("redundant")
    assert np.all(np.isnan(identification.fit.floor))
    for page in (
        identification_page(identification, validation_result("redundant")),
        validation_page(validation_result("redundant")),
    ):
        read = PageReader(page)
        assert "more actuators than degrees of freedom" in read.text
        assert "not known" in read.words
        assert "v_x" in read.words
        assert "N" in read.words
        assert "nan" not in read.text


def test_names_are_words_not_markup() -> None:
    identification = identification_result("fivebar")
    robot = dataclasses.replace(identification.robot, name=EVIL, title=EVIL)
    base = identification.base
    names = tuple(f"{EVIL}{k}" for k in range(len(base.choice.names)))
    base = dataclasses.replace(base, choice=dataclasses.replace(base.choice, names=names))
    regression = dataclasses.replace(
        identification.estimator.regression_, base=base, rows=(EVIL, HOSTILE[-1])
    )
    hostile = with_estimator(identification, base_=base, regression_=regression)
    hostile = dataclasses.replace(hostile, robot=robot)
    object.__setattr__(
        hostile, "fit", dataclasses.replace(identification.fit, robot=robot, regression=regression)
    )
    for page in (identification_page(hostile, hostile.fit), validation_page(hostile.fit)):
        read = PageReader(page)
        assert "script" not in read.tags
        assert " ".join(EVIL.split()) in read.text
        assert all(name != "onload" for name, _ in read.attributes)


@pytest.mark.parametrize("name", HOSTILE)
def test_any_name_can_be_shown_and_written(name: str, tmp_path: Path) -> None:
    validation = validation_result("fivebar")
    page = validation_page(
        dataclasses.replace(validation, robot=dataclasses.replace(validation.robot, name=name))
    )
    PageReader(page)
    write_page(tmp_path / "page.html", page)
    assert not any(ord(letter) < 32 and letter not in "\n\t\r" for letter in page)


def test_what_is_not_finite_is_said_in_words() -> None:
    identification = identification_result("fivebar")
    covariance = identification.estimator.covariance_.copy()
    covariance[0, 0] = np.inf
    covariance[1, 1] = np.nan
    names = identification.base.names[:1]
    doubtful = with_estimator(identification, covariance_=covariance, not_excited_=names, condition_=np.inf)
    object.__setattr__(doubtful, "essential", identification.essential)
    object.__setattr__(doubtful, "consistent", identification.consistent)
    read = PageReader(identification_page(doubtful))
    assert "unbounded" in read.words
    assert "as described" in read.words
    assert "not excited" in read.words
    assert "not known" in read.words
    cells = " ".join(word for word in read.words if len(word) < 40).lower().split()
    assert "nan" not in cells
    assert "inf" not in cells


def test_without_consistent_parameters(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise IdentificationError("no <parameters> meet the bounds")

    monkeypatch.setattr(sys.modules["nacelle.identification.identify"], "project_estimate", refuse)
    fresh = dataclasses.replace(identification_result("fivebar"))
    read = PageReader(identification_page(fresh))
    assert "no <parameters> meet the bounds" in read.text
    assert "No robot with such parameters was found" in read.text


def test_the_same_page_twice() -> None:
    assert identification_page(identification_result("fivebar")) == identification_page(
        identification_result("fivebar")
    )


def test_write_page(tmp_path: Path) -> None:
    page, target = validation_page(validation_result("fivebar")), tmp_path / "page.html"
    assert write_page(target, page) == target
    assert target.read_text(encoding="utf-8") == page
    with pytest.raises(NacelleError, match="exists already"):
        write_page(target, "other")
    assert target.read_text(encoding="utf-8") == page
    with pytest.raises(NacelleError, match="cannot write"):
        write_page(tmp_path / "nowhere" / "page.html", page)
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
