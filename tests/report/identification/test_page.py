"""Pages as a browser reads them: balanced, without references, with every number and name in its place."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nacelle.errors import IdentificationError, NacelleError
from nacelle.identification.identify import Identification
from nacelle.report.identification.page import identification_page, validation_page, write_page
from support.hostile_names import HOSTILE
from support.identified import identified, validated
from support.page_reader import PageReader

EVIL = "<script>alert('x')</script> \"&amp; ' onload=x"


def with_estimator(identification: Identification, **changes: Any) -> Identification:
    """The same identification with other results of the fit."""
    estimator = object.__new__(type(identification.estimator))
    estimator.__dict__.update(identification.estimator.__dict__, **changes)
    return dataclasses.replace(identification, estimator=estimator)


def pages() -> dict[str, str]:
    return {
        "with validation": identification_page(identified("fivebar"), validated("fivebar")),
        "alone": identification_page(identified("fivebar")),
        "validation": validation_page(validated("fivebar")),
        "two runs": identification_page(identified("fivebar", 2)),
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
    identification, validation = identified("fivebar"), validated("fivebar")
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
    identification = identified("redundant")
    assert np.all(np.isnan(identification.fit.floor))
    for page in (
        identification_page(identification, validated("redundant")),
        validation_page(validated("redundant")),
    ):
        read = PageReader(page)
        assert "more actuators than degrees of freedom" in read.text
        assert "not known" in read.words
        assert "v_x" in read.words
        assert "N" in read.words
        assert "nan" not in read.text


def test_names_are_words_not_markup() -> None:
    identification = identified("fivebar")
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
    validation = validated("fivebar")
    page = validation_page(
        dataclasses.replace(validation, robot=dataclasses.replace(validation.robot, name=name))
    )
    PageReader(page)
    write_page(tmp_path / "page.html", page)
    assert not any(ord(letter) < 32 and letter not in "\n\t\r" for letter in page)


def test_what_is_not_finite_is_said_in_words() -> None:
    identification = identified("fivebar")
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

    monkeypatch.setattr("nacelle.identification.identify.lifted", refuse)
    fresh = dataclasses.replace(identified("fivebar"))
    read = PageReader(identification_page(fresh))
    assert "no <parameters> meet the bounds" in read.text
    assert "No robot with such parameters was found" in read.text


def test_the_same_page_twice() -> None:
    assert identification_page(identified("fivebar")) == identification_page(identified("fivebar"))


def test_write_page(tmp_path: Path) -> None:
    page, target = validation_page(validated("fivebar")), tmp_path / "page.html"
    assert write_page(target, page) == target
    assert target.read_text(encoding="utf-8") == page
    with pytest.raises(NacelleError, match="exists already"):
        write_page(target, "other")
    assert target.read_text(encoding="utf-8") == page
    with pytest.raises(NacelleError, match="cannot write"):
        write_page(tmp_path / "nowhere" / "page.html", page)
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
