"""Pictures and tables: a class has those that somebody else registers."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle import pictures


def test_a_plot_is_the_registered_function(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures, "_DRAWN", {})

    class Result(pictures.Drawn):
        pass

    class Special(Result):
        pass

    with pytest.raises(AttributeError, match="no picture is registered for Result"):
        Result().plot()
    pictures.register_pictures(Result=lambda result, colour="red": (result, colour))
    found = Result()
    assert found.plot(colour="blue") == (found, "blue")
    assert Result.plot(found) == (found, "red")
    assert Special().plot()[1] == "red"
    assert tuple(pictures._DRAWN) == ("Result",)


def test_a_table_is_that_of_the_registered_function(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures, "_PAGES", {})

    class Result(pictures.Shown):
        name = "first"
        flags = np.array([0, 2, 0])

    pictures.register_page(lambda result: f"<p>{result.name}</p>")
    assert Result()._repr_html_() == "<p>first</p>"
    assert repr(Result()) == "<Result first: 3 samples, 1 flagged>"
