"""What figures are made of: time of several runs, runs of samples that count, memory, bars."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest

from nacelle.identification.estimation.regression import Regression
from nacelle.report.identification.figures import interval_bar, memory_figure, runs_of, shown_time
from support.identified import identified, validated


def with_samples(time: list[float], used: list[bool], lengths: tuple[int, ...]) -> Regression:
    own = validated("fivebar").regression
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
    assert runs_of(data) == [slice(0, 2), slice(3, 4), slice(4, 5), slice(6, 7)]


def test_time_of_parts_that_follow_one_another_is_kept() -> None:
    data = with_samples([0, 1, 2, 8, 9], [True] * 5, (3, 2))
    time, breaks, label = shown_time(data)
    assert time.tolist() == [0, 1, 2, 8, 9]
    assert breaks == [5.0]
    assert label == "time (s)"


def test_runs_whose_times_overlap_are_put_one_after_another() -> None:
    data = with_samples([5, 6, 7, 0, 1, 3], [True] * 6, (3, 3))
    time, breaks, label = shown_time(data)
    assert np.all(np.diff(time) > 0.0)
    assert np.allclose(np.diff(time)[[0, 1, 3, 4]], [1, 1, 1, 2])
    assert time[2] < breaks[0] < time[3]
    assert "one after another" in label


@pytest.mark.slow
def test_autocorrelation_is_that_of_each_part() -> None:
    fit = identified("fivebar", 2).fit
    values = fit.autocorrelation(3)
    used = fit.regression.used[:, None]
    off = np.where(used, fit.residuals - np.mean(fit.residuals[fit.regression.used], axis=0), 0.0)
    for lag in (1, 2, 3):
        pairs = sum(np.sum(off[part][:-lag] * off[part][lag:], axis=0) for part in fit.regression.parts())
        np.testing.assert_allclose(values[lag - 1], pairs / np.sum(off**2, axis=0), rtol=1e-9)


def test_memory_is_drawn_to_lags_that_the_data_have() -> None:
    fit = identified("fivebar").fit
    drawn = memory_figure(fit, 0)
    assert drawn.count('class="stem"') == min(40, fit.regression.count // 4)
    assert drawn.count('class="bound"') == 2


def widths(bar: str) -> list[float]:
    return [
        float(text) for text in re.findall(r'<rect class="[^"]*" x="[^"]*" y="[^"]*" width="([\d.]+)"', bar)
    ]


def test_bars_show_intervals() -> None:
    # Wider intervals are wider bars, those beyond the scale have arrows, unbounded ones have no bar.
    narrow = interval_bar(1.0, 1.0, (0.99, 1.01), "")
    wide = interval_bar(1.0, 1.0, (0.9, 1.1), "fair")
    assert widths(narrow) < widths(wide)
    assert "<path" not in wide
    assert interval_bar(1.0, 1.0, (-9.0, 11.0), "poor").count("<path") == 2
    assert interval_bar(1.0, 1.0, (-np.inf, np.inf), "poor").count("<rect") == 0
    assert interval_bar(0.0, 0.0, (0.0, 0.0), "").count("<rect") == 1
