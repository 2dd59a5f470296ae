"""The section of the base parameters: estimates with their intervals, and what is tied together."""

from __future__ import annotations

import math

from nacelle.identification.estimation.estimator import UNIDENTIFIED, WEAK
from nacelle.identification.identify import Identification
from nacelle.page.markup import bullets, element, number, paragraph, percent, table, text
from nacelle.report.identification.figures import bar_scale, interval_bar
from nacelle.report.identification.units import base_units

# Pairs of parameters that are listed at most.
_PAIRS = 30


def trusted(identification: Identification) -> list[str]:
    """Names of the base parameters that are known to within 10 % by themselves."""
    estimator = identification.estimator
    doubtful = {*estimator.unidentified_, *estimator.weak_, *estimator.not_excited_}
    return [name for name in identification.base.names if name not in doubtful]


def parameter_section(identification: Identification) -> str:
    """The table of base parameters, and what it means."""
    estimator, base = identification.estimator, identification.base
    removed = set(identification.essential.removed)
    relative, intervals = estimator.relative_std_, estimator.intervals()
    rows, kinds = [], []
    for k, (name, grouping, unit) in enumerate(
        zip(base.names, base.groupings, base_units(base), strict=True)
    ):
        excited = name not in estimator.not_excited_
        kind, remark = _remark(float(relative[k]), excited, name in removed)
        label = element("strong", text(name))
        if grouping != name:
            label += _below(f"= {grouping}")
        low, high = intervals[k].tolist()
        described, estimate = float(base.values[k]), float(estimator.coef_[k])
        rows.append(
            [
                label,
                text(unit),
                number(described),
                number(estimate) if excited else "as described",
                number(float(estimator.std_[k]), 2) + _below(percent(float(relative[k]))),
                interval_bar(described, estimate, (low, high), kind) + _below(_ends(low, high)),
                text(remark),
            ]
        )
        kinds.append(kind)
    heads = [
        "[name]base parameter",
        "[unit]unit",
        "described>",
        "estimate>",
        "deviation>",
        f"[bar]95 % interval, and how far it is from the described value{bar_scale()}",
        "[remark]remark",
    ]
    return (
        paragraph(
            "Forces depend on these combinations of masses, first moments, inertias and friction, and on "
            "nothing else. The bar is the 95 % interval of the estimate, which is the dot; the upright "
            "line is the described value. Thin lines are at 1, 10 and 100 % of the parameter's "
            "size (the larger one of estimate and described value); an arrow says that the interval goes on. "
            "Below a deviation is its part of that size. Intervals hold the noise of this data, not what the "
            "model leaves out."
        )
        + table(heads, rows, kinds)
        + _lists(identification)
    )


def _below(words: str) -> str:
    """Plain words in quiet letters on a line of their own."""
    return element("span", text(words), kind="more")


def _ends(low: float, high: float) -> str:
    return f"{number(low)} to {number(high)}" if math.isfinite(low) and math.isfinite(high) else "unbounded"


def _remark(relative: float, excited: bool, removed: bool) -> tuple[str, str]:
    """Kind of a row, and what it says about its estimate."""
    essential = "may as well be zero" if removed else ""
    if not excited:
        return "poor", "not excited"
    if relative >= UNIDENTIFIED or relative != relative:
        return "poor", ", ".join(filter(None, ("not identified", essential)))
    if relative >= WEAK:
        return "fair", ", ".join(filter(None, ("weak", essential)))
    return "", essential or "essential"


def _lists(identification: Identification) -> str:
    """What is tied together, and what is not essential."""
    pairs = identification.tied()
    tied = [f"{one} and {other}: correlation {value:.4f}" for one, other, value in pairs[:_PAIRS]]
    if len(pairs) > _PAIRS:
        tied.append(f"and {len(pairs) - _PAIRS} pairs more")
    removed = list(identification.essential.removed)
    parts = []
    for title, words, lines in (
        (
            "Tied together",
            "Known together only: an error of one goes along with an error of the other.",
            tied,
        ),
        ("Not essential", "The data do not distinguish them from zero, all of them together.", removed),
    ):
        if lines:
            parts.append(element("h3", text(title)) + paragraph(words) + bullets(lines))
    return "".join(parts)
