"""A robot in a notebook: its actuators, and a picture where there can be one."""

from __future__ import annotations

import pytest

from nacelle.errors import NacelleError
from nacelle.report.draw import canvas
from support.library import library_robot


def test_a_robot_without_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> object:
        raise NacelleError('pictures need matplotlib: pip install "nacelle[plot]"')

    monkeypatch.setattr(canvas, "mpl", missing)
    text = library_robot("fivebar")._repr_html_()
    assert "no picture: pictures need matplotlib" in text
    assert "left.motor" in text
