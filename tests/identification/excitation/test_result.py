"""Excitations as results: saved and read again, tables, periods, words."""

from __future__ import annotations

import numpy as np
import pytest

import nacelle
from nacelle.errors import IdentificationError
from nacelle.identification.excitation.result import read_motion
from support.excitation import quick_excitation


@pytest.mark.parametrize("options", [{}, {"strategy": "separate"}], ids=["combined", "separate"])
def test_saved_motions_are_read_again(tmp_path, options):
    result = quick_excitation(**options)
    path = tmp_path / "motion.yaml"
    result.save(path)
    again = read_motion(path)
    t = np.linspace(0.0, result.trajectory.duration, 57)
    for part, other in zip(again(t), result.trajectory(t), strict=True):
        assert np.array_equal(part, other)
    with pytest.raises(FileExistsError):
        result.save(path)
    path.write_text("something else")
    result.save(path, overwrite=True)
    assert read_motion(path).duration == again.duration


def test_files_that_are_none(tmp_path):
    path = tmp_path / "other.yaml"
    for text in ("name: something\n", "- 1\n", "format: 7\n", "\t\n", "format: nacelle excitation 1\n"):
        path.write_text(text)
        with pytest.raises(IdentificationError, match=r"other\.yaml"):
            read_motion(path)
    with pytest.raises(IdentificationError, match="missing"):
        read_motion(tmp_path / "missing.yaml")


def test_tables_have_the_motion(tmp_path):
    result = quick_excitation()
    result.to_csv(tmp_path / "motion.csv", rate=200.0)
    read = nacelle.read_waypoints(tmp_path / "motion.csv", result.robot.motion)
    assert np.allclose(read.points, result.sample(200.0)[1].x)


def test_periods_follow_one_another():
    result = quick_excitation()
    t, sample = result.sample(100.0, periods=3)
    assert t[-1] == pytest.approx(3.0 * result.trajectory.duration)
    assert np.allclose(sample.x[:100], sample.x[200:300], atol=1e-12)
    with pytest.raises(IdentificationError, match="has one period"):
        quick_excitation(kind="bspline").repeated(2)
    with pytest.raises(IdentificationError, match="above zero"):
        result.repeated(0)


def test_words_name_the_weakest_combination():
    result = quick_excitation()
    words = result.weakest()
    assert any(name in words for name in result.base.names)
    assert f"1/{result.condition:.3g} of the best" in words
    assert result.data()["weakest"] == words
    assert "fivebar" in repr(result)
