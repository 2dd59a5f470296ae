"""Pictures: a class has a plot that somebody else registers."""

from __future__ import annotations

import pytest

from nacelle import pictures


def test_a_plot_is_the_registered_function(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures, "_DRAWN", {})

    class Result:
        plot = pictures.Plot()

    with pytest.raises(KeyError):
        Result().plot()
    pictures.register(Result=lambda result, colour="red": (result, colour))
    found = Result()
    assert found.plot(colour="blue") == (found, "blue")
    assert Result.plot(found) == (found, "red")
