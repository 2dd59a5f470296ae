"""Pages about an identification and about a validation: one HTML file each that needs no other.

They say what was measured, what was found, and what it is worth. The verdict at the top of a page answers in
plain words four questions about an estimate. Do the parameters predict the forces of the data they were
estimated from? Those of another motion? May each parameter be trusted by itself? Is there a robot that has
them? The first two may be answered with yes and the third with no: combinations of parameters are known, not
each of them.

Sections follow: measured and predicted forces, of a fit or of a validation; base parameters, estimates with
their intervals and what is tied together; consistent parameters, every body and how far it was moved.
Figures show forces over time, what is left of them, its memory and spread, intervals.
"""

from __future__ import annotations

import inspect
import itertools
import math
from collections.abc import Sequence

import numpy as np

from nacelle.errors import IdentificationError
from nacelle.identification.consistency.consistent import ConsistentParameters
from nacelle.identification.data.preparation import Samples
from nacelle.identification.estimation.estimator import UNIDENTIFIED, WEAK
from nacelle.identification.estimation.regression import Regression
from nacelle.identification.identify import Identification
from nacelle.identification.validation import GOOD_SCORE, NOISE_LEVEL_RATIO, Validation
from nacelle.model.joint import Interval
from nacelle.model.linear_parameters import linear_parameters
from nacelle.model.numbers import INERTIA_NAMES
from nacelle.model.robot import Robot
from nacelle.page import svg
from nacelle.page.markup import (
    bullets,
    element,
    escape_text,
    format_number,
    format_percent,
    page,
    paragraph,
    table,
)
from nacelle.report.results.units import base_units, parameter_unit, row_units
from nacelle.spatial.inertia import inertia_about_com
from nacelle.spatial.scalar import Array

# ---- figures


# Pixels of the figures over time: of the whole and of margins.
_WIDTH, _LEFT, _RIGHT = 980.0, 64.0, 12.0
# Most lags that are shown; fewest samples for each lag that takes part in a test.
_LAGS, _MIN_SAMPLES_PER_LAG = 40, 4
# Standard deviations within which 95 % of normal noise lie.
_NORMAL_95 = 1.96
# Intervals are drawn over asinh(change / 1 %), up to so much of the parameter's size.
_LINEAR_RANGE, _BAR_RANGE = 0.01, 3.0
_BAR_SIZE = (250.0, 22.0)


def used_runs(data: Regression) -> list[slice]:
    """Runs of samples that count, one after another within a part."""
    return [
        slice(part.start + run.start, part.start + run.stop)
        for part in data.parts()
        for run in svg.true_runs(data.used[part])
    ]


def plot_time(data: Regression) -> tuple[Array, list[float], str]:
    """Time to draw over (M,), where one part ends and the next begins, and the label of the axis.

    Parts that follow one another keep their time; runs whose times overlap are put one after another.
    """
    parts = [part for part in data.parts() if part.stop > part.start]
    time = np.array(data.time, dtype=float)
    pairs = list(itertools.pairwise(parts))
    if all(time[b.start] > time[a.stop - 1] for a, b in pairs):
        return time, [0.5 * (time[b.start] + time[a.stop - 1]) for a, b in pairs], "time (s)"
    total = sum(float(np.ptp(time[part])) for part in parts)
    end, breaks = 0.0, []
    for k, part in enumerate(parts):
        if k:
            breaks.append(end + 0.01 * total)
            end += 0.02 * total
        time[part] += end - time[part.start]
        end = float(time[part.stop - 1])
    return time, breaks, "time, runs one after another (s)"


def force_figure(validation: Validation, row: int, unit: str) -> str:
    """Measured and predicted force of a row over time, and below what is left, with the band of noise."""
    data = validation.regression
    time, breaks, label = plot_time(data)
    runs, used = used_runs(data), data.used
    measured, predicted = validation.measured[:, row], validation.predicted[:, row]
    residual = validation.residuals[:, row]
    floor = float(validation.floor[row])
    limits = (float(time[0]), float(time[-1])) if time[-1] > time[0] else svg.span(time)
    width = _WIDTH - _LEFT - _RIGHT
    above = svg.ChartPanel(_LEFT, 20.0, width, 190.0, limits, svg.span(measured[used], predicted[used]))
    reach = [residual[used], np.array([2.0 * floor if math.isfinite(floor) else 0.0])]
    below = svg.ChartPanel(_LEFT, 240.0, width, 90.0, limits, svg.span(*reach, around=0.0))
    back = [_unused_boxes(panel, data, time) for panel in (above, below)]
    if math.isfinite(floor):
        edges = (float(below.down(2.0 * floor)), float(below.down(-2.0 * floor)))
        back.append(svg.box(below.left, edges[0], below.left + width, edges[1], "noise"))
    marks = [
        svg.line(
            float(panel.across(at)), panel.top, float(panel.across(at)), panel.top + panel.height, "break"
        )
        for at in breaks
        for panel in (above, below)
    ]
    zero = float(below.down(0.0))
    return svg.drawing(
        _WIDTH,
        365.0,
        f"{validation.rows[row]}: measured and predicted force over time, and the residual",
        *back,
        above.axes(y_label=f"force ({unit})", numbers=False),
        below.axes(x_label=label, y_label=f"residual ({unit})"),
        *marks,
        svg.line(below.left, zero, below.left + width, zero, "zero"),
        above.curve(time, measured, runs, "measured"),
        above.curve(time, predicted, runs, "predicted"),
        below.curve(time, residual, runs, "residual"),
        _legend(_WIDTH - _RIGHT, 14.0),
    )


def _legend(right: float, y: float) -> str:
    parts = []
    for label, kind, back in (("predicted", "predicted", 62.0), ("measured", "measured", 160.0)):
        parts.append(svg.line(right - back - 28.0, y - 4.0, right - back - 6.0, y - 4.0, f"curve {kind}"))
        parts.append(svg.text_at(right - back, y, label))
    return "".join(parts)


def _unused_boxes(panel: svg.ChartPanel, data: Regression, time: Array) -> str:
    """Grey where samples do not count, within each part."""
    boxes = []
    for part in data.parts():
        for run in svg.true_runs(~data.used[part]):
            # From the sample before to the sample after.
            first = max(part.start + run.start - 1, part.start)
            last = min(part.start + run.stop, part.stop - 1)
            ends = [float(panel.across(time[k])) for k in (first, last)]
            boxes.append(svg.box(ends[0], panel.top, ends[1], panel.top + panel.height, "unused"))
    return "".join(boxes)


def autocorrelation_figure(validation: Validation, row: int) -> str:
    """Autocorrelation of the residuals of a row, with the bounds that white ones keep 95 times of 100."""
    count = validation.regression.count
    longest = max((part.stop - part.start for part in validation.regression.parts()), default=0)
    lags = max(1, min(_LAGS, count // _MIN_SAMPLES_PER_LAG, longest - 1))
    values = validation.autocorrelation(lags)[:, row]
    bound = _NORMAL_95 / math.sqrt(max(count, 1))
    panel = svg.ChartPanel(
        44.0, 22.0, 410.0, 150.0, (0.0, lags + 1.0), svg.span(values, np.array([bound]), around=0.0)
    )
    edges = [float(panel.down(sign * bound)) for sign in (1.0, -1.0)]
    zero = float(panel.down(0.0))
    stems = [
        svg.line(float(panel.across(lag)), zero, float(panel.across(lag)), float(panel.down(value)), "stem")
        for lag, value in enumerate(values.tolist(), start=1)
    ]
    return svg.drawing(
        470.0,
        206.0,
        f"{validation.rows[row]}: autocorrelation of the residuals over lags",
        panel.axes(x_label="lag (samples)", y_label="autocorrelation of the residuals"),
        *(svg.line(panel.left, edge, panel.left + panel.width, edge, "bound") for edge in edges),
        svg.line(panel.left, zero, panel.left + panel.width, zero, "zero"),
        *stems,
    )


def histogram_figure(validation: Validation, row: int, unit: str) -> str:
    """Histogram of the residuals of a row, and normal noise of the same deviation."""
    values = validation.residuals[validation.regression.used, row]
    deviation = float(np.std(values))
    if not deviation > 0.0:
        return ""
    reach = max(4.0 * deviation, float(np.max(np.abs(values))))
    bins = int(min(41, max(9, 2 * round(len(values) ** (1.0 / 3.0)) + 1)))
    counts, edges = np.histogram(values, bins=bins, range=(-reach, reach))
    at = np.linspace(-reach, reach, 121)
    normal = np.exp(-0.5 * ((at - np.mean(values)) / deviation) ** 2) / (deviation * math.sqrt(2.0 * math.pi))
    normal *= len(values) * (edges[1] - edges[0])
    high = 1.08 * max(float(np.max(counts)), float(np.max(normal)))
    panel = svg.ChartPanel(44.0, 22.0, 410.0, 150.0, (-reach, reach), (0.0, high))
    pixels = panel.across(edges).tolist()
    columns = [
        svg.box(left, panel.top + panel.height, right - 1.0, float(panel.down(value)), "column")
        for left, right, value in zip(pixels[:-1], pixels[1:], counts.tolist(), strict=True)
        if value
    ]
    return svg.drawing(
        470.0,
        206.0,
        f"{validation.rows[row]}: histogram of the residuals, and normal noise",
        panel.axes(x_label=f"residual ({unit})", y_label="samples, and normal noise"),
        *columns,
        panel.curve(at, normal, [slice(0, len(at))], "normal"),
    )


def bar_scale() -> str:
    """The scale above the bars of a table."""
    parts = []
    for change in (-1.0, -0.1, 0.0, 0.1, 1.0):
        label = format_number(100.0 * change) + (" %" if change == 1.0 else "")
        parts.append(svg.text_at(_bar_position(change), 16.0, label, anchor="middle", kind="tiny"))
    return svg.drawing(*_BAR_SIZE, "scale: change from the description in percent", *parts, kind="small")


def interval_bar(nominal: float, estimate: float, interval: Interval, kind: str) -> str:
    """The 95 % interval of an estimate and the described value, in parts of the parameter's size."""
    size = max(abs(nominal), abs(estimate)) or 1.0
    low, middle, high = ((value - nominal) / size for value in (interval.lower, estimate, interval.upper))
    parts = [
        svg.line(_bar_position(change), 2.0, _bar_position(change), 20.0, "grid")
        for change in (-1.0, -0.1, -0.01, 0.01, 0.1, 1.0)
    ]
    if math.isfinite(low) and math.isfinite(high):
        ends = [_bar_position(low), _bar_position(high)]
        # Narrow ones stay visible.
        if ends[1] - ends[0] < 2.0:
            ends = [0.5 * sum(ends) - 1.0, 0.5 * sum(ends) + 1.0]
        parts.append(svg.box(ends[0], 7.0, ends[1], 15.0, f"interval {kind}".strip()))
        parts += [_arrow(sign) for sign, end in ((-1.0, low), (1.0, high)) if sign * end > _BAR_RANGE]
    parts.append(svg.line(_bar_position(0.0), 2.0, _bar_position(0.0), 20.0, "described"))
    if math.isfinite(middle):
        parts.append(svg.disc(_bar_position(middle), 11.0, 3.2, "estimate"))
    return svg.drawing(*_BAR_SIZE, "95 % interval and the described value", *parts, kind="small")


def _bar_position(relative_change: float) -> float:
    """Pixels across a bar of a change, in parts of the parameter's size."""
    part = math.asinh(max(-_BAR_RANGE, min(_BAR_RANGE, relative_change)) / _LINEAR_RANGE) / math.asinh(
        _BAR_RANGE / _LINEAR_RANGE
    )
    return 0.5 * _BAR_SIZE[0] + (0.5 * _BAR_SIZE[0] - 8.0) * part


def _arrow(sign: float) -> str:
    """A head at an end of a bar: the interval goes on."""
    tip, foot = 0.5 * _BAR_SIZE[0] * (1.0 + sign), 0.5 * _BAR_SIZE[0] + sign * (0.5 * _BAR_SIZE[0] - 8.0)
    return f'<path class="interval poor" d="M{foot:.1f} 5L{tip:.1f} 11L{foot:.1f} 17z"></path>'


# ---- measured and predicted forces


# Residuals with memory: chance alone gives as much with a lower probability.
MEMORY_PROBABILITY = 0.01


def is_predicted_well(validation: Validation) -> list[bool]:
    """Of every row whether it is predicted down to the noise, or well."""
    return [
        (math.isfinite(ratio) and ratio <= NOISE_LEVEL_RATIO) or part_left <= math.sqrt(1.0 - GOOD_SCORE)
        for ratio, part_left in zip(validation.ratio.tolist(), validation.relative.tolist(), strict=True)
    ]


def force_table(validation: Validation) -> str:
    """A row for every actuator: size of the residuals, of the noise, and memory."""
    rows = []
    for k, (name, unit) in enumerate(zip(validation.rows, row_units(validation.regression), strict=True)):
        rows.append(
            [
                escape_text(name),
                escape_text(unit),
                format_number(float(validation.rms[k]), 3),
                format_percent(float(validation.relative[k])),
                format_number(float(validation.floor[k]), 3),
                format_number(float(validation.ratio[k]), 3),
                _memory_text(float(validation.whiteness[k])),
            ]
        )
    heads = [
        "force",
        "unit",
        "residual, rms>",
        "part of the force left>",
        "noise>",
        "residual / noise>",
        "memory",
    ]
    return table(heads, rows)


def _memory_text(probability: float) -> str:
    if not math.isfinite(probability):
        return "not known"
    p_text = "below 0.001" if probability < 1e-3 else format_number(probability, 2)
    return f"{'yes' if probability < MEMORY_PROBABILITY else 'no'} (p {p_text})"


def force_section(validation: Validation) -> str:
    """What the numbers say, the table, and figures of every row."""
    data = validation.regression
    parts = [
        bullets(validation.describe()),
        force_table(validation),
        paragraph(
            "The noise is that of the measured forces in the band that the filters keep; residuals of its "
            "size are the best that any model can leave. Residuals with memory follow one another: something "
            "systematic is not in the model. p is the probability that white noise shows as much memory "
            "(Ljung and Box).",
            "quiet",
        ),
    ]
    if len(data.rows) != len(data.base.robot.actuators):
        parts.append(
            paragraph(
                "The robot has more actuators than degrees of freedom. How they divide a force among them "
                "does not follow from the motion, so the rows are forces along the coordinates of the "
                "platform, J_a^T times those of the actuators, and their noise is not known."
            )
        )
    if data.count < len(data.used):
        parts.append(
            paragraph(
                f"{len(data.used) - data.count} of {len(data.used)} samples do not count and are grey in the "
                "figures: there is no pose, or a joint with dry friction hardly moves.",
                "quiet",
            )
        )
    parts.append(
        paragraph(
            "Figures: measured and predicted force, and below measured less predicted; a green band holds "
            "95 % of the noise, where it is known. White residuals stay within the dashed lines at 95 of 100 "
            "lags.",
            "quiet",
        )
    )
    for k, (name, unit) in enumerate(zip(validation.rows, row_units(data), strict=True)):
        pair = autocorrelation_figure(validation, k) + histogram_figure(validation, k, unit)
        parts.append(
            element(
                "figure",
                element("h3", escape_text(name)),
                element("div", force_figure(validation, k, unit), kind="wide"),
                element("div", pair, kind="pair"),
            )
        )
    return "".join(parts)


# ---- base parameters


# Pairs of parameters that are listed at most.
_PAIRS = 30


def trusted_parameters(identification: Identification) -> list[str]:
    """Names of the base parameters that are known to within 10 % by themselves."""
    estimator = identification.estimator
    doubtful = {*estimator.unidentified_, *estimator.weak_, *estimator.not_excited_}
    return [name for name in identification.base.names if name not in doubtful]


def parameter_section(identification: Identification) -> str:
    """The table of base parameters, and what it means."""
    estimator, base = identification.estimator, identification.base
    removed = set(identification.essential.removed_names)
    relative, intervals = estimator.relative_std_, estimator.intervals()
    systematic = identification.systematic
    rows, kinds = [], []
    for k, (name, grouping, unit) in enumerate(
        zip(base.names, base.groupings, base_units(base), strict=True)
    ):
        excited = name not in estimator.not_excited_
        kind, remark = _remark(float(relative[k]), excited, name in removed)
        label = element("strong", escape_text(name))
        if grouping != name:
            label += _small_print(f"= {grouping}")
        low, high = intervals[k].tolist()
        nominal, estimate = float(base.values[k]), float(estimator.coef_[k])
        rows.append(
            [
                label,
                escape_text(unit),
                format_number(nominal),
                format_number(estimate) if excited else "as described",
                format_number(float(estimator.std_[k]), 2) + _small_print(format_percent(float(relative[k]))),
                format_number(float(systematic[k]), 2),
                interval_bar(nominal, estimate, Interval(low, high), kind)
                + _small_print(_interval_text(low, high)),
                escape_text(remark),
            ]
        )
        kinds.append(kind)
    heads = [
        "[name]base parameter",
        "[unit]unit",
        "described>",
        "estimate>",
        "deviation>",
        "systematic>",
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
            "model leaves out. The systematic deviation is that of lengths and zeros of encoders within "
            "their tolerances."
        )
        + table(heads, rows, kinds)
        + _parameter_lists(identification)
    )


def _small_print(text_below: str) -> str:
    """Plain words in quiet letters on a line of their own."""
    return element("span", escape_text(text_below), kind="more")


def _interval_text(low: float, high: float) -> str:
    return (
        f"{format_number(low)} to {format_number(high)}"
        if math.isfinite(low) and math.isfinite(high)
        else "unbounded"
    )


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


def _parameter_lists(identification: Identification) -> str:
    """What is tied together, and what is not essential."""
    pairs = identification.correlated_pairs()
    tied = [f"{first} and {second}: correlation {value:.4f}" for first, second, value in pairs[:_PAIRS]]
    if len(pairs) > _PAIRS:
        tied.append(f"and {len(pairs) - _PAIRS} pairs more")
    removed = list(identification.essential.removed_names)
    parts = []
    for title, explanation, lines in (
        (
            "Tied together",
            "Known together only: an error of one goes along with an error of the other.",
            tied,
        ),
        ("Not essential", "The data do not distinguish them from zero, all of them together.", removed),
    ):
        if lines:
            parts.append(element("h3", escape_text(title)) + paragraph(explanation) + bullets(lines))
    return "".join(parts)


# ---- consistent parameters


def consistent_parameters_or_reason(identification: Identification) -> ConsistentParameters | str:
    """The consistent parameters, or a message that says why they do not exist."""
    try:
        return identification.consistent
    except IdentificationError as error:
        return str(error)


def body_section(consistent: ConsistentParameters | str) -> str:
    """Mass, centre and inertia of all bodies as described and as identified, then all other parameters."""
    if isinstance(consistent, str):
        return paragraph(f"They could not be computed: {consistent}")
    parts = [
        paragraph(
            "Parameters that bodies can have: masses and moments of inertia are positive, and none of a "
            "body's principal moments exceeds the sum of the other two. Of all that fit the estimates these "
            "are closest to the description, so what the forces do not show is as described; the data "
            "determine only the combinations of the table above. They are "
            f"{format_number(consistent.distance, 2)} standard deviations from the ordinary "
            "estimates, all together."
        ),
        _body_table(consistent),
    ]
    other_table = _other_table(consistent)
    if other_table:
        parts += [element("h3", "Friction, rotors and springs"), other_table]
    return "".join(parts)


def _body_table(consistent: ConsistentParameters) -> str:
    parameters = linear_parameters(consistent.base.robot)
    rows, kinds = [], []
    for owner, indices in _inertia_indices(parameters.names).items():
        old, new = parameters.values[indices], consistent.values[indices]
        if not np.any(old) and not np.any(new):
            continue
        at_boundary = owner in consistent.active
        change = consistent.changes.get(owner)
        rows.append(
            [
                escape_text(owner),
                _old_and_new(old[:1], new[:1]),
                _old_and_new(_centre_of_mass(old), _centre_of_mass(new)),
                _old_and_new(_central_inertia(old), _central_inertia(new)),
                "as described" if change is None else format_percent(change),
                "at the boundary of what is possible" if at_boundary else "",
            ]
        )
        kinds.append("fair" if at_boundary else "")
    heads = [
        "[name]body",
        "mass kg>",
        "centre of mass m, x y z>",
        "inertia about it kg m², xx yy zz xy xz yz>",
        "change>",
        "[remark]remark",
    ]
    note = paragraph(
        "Above as described, below as identified, in the axes of the body. A change is 100 % if it is by as "
        "much as the body itself.",
        "quiet",
    )
    return note + table(heads, rows, kinds)


def _inertia_indices(names: tuple[str, ...]) -> dict[str, list[int]]:
    """Places of the ten parameters of every body and payload."""
    owners: dict[str, list[int]] = {}
    for k, name in enumerate(names):
        owner, _, part = name.rpartition(".")
        if part in INERTIA_NAMES:
            owners.setdefault(owner, []).append(k)
    return owners


def _centre_of_mass(ten: Array) -> Array:
    """Centre of mass (3,), m; NaN without mass."""
    return np.asarray(ten[1:4] / ten[0] if ten[0] else np.full(3, np.nan))


def _central_inertia(ten: Array) -> Array:
    """Moments xx yy zz xy xz yz (6,), kg m^2, about the centre of mass, without mass the frame's origin."""
    J = inertia_about_com(ten)
    return np.asarray(J[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]])


def _old_and_new(old: Array, new: Array) -> str:
    """Described numbers, and identified ones below them."""
    # Zeros with rounding are shown as zeros.
    size = 1e-12 * max(float(np.max(np.abs(old))), float(np.max(np.abs(new))))
    texts = [
        escape_text(
            " ".join(
                "-" if value != value else format_number(0.0 if abs(value) <= size else value, 4)
                for value in part
            )
        )
        for part in (old.tolist(), new.tolist())
    ]
    return element("span", texts[0], kind="more") + texts[1]


def _other_table(consistent: ConsistentParameters) -> str:
    robot = consistent.base.robot
    parameters = linear_parameters(robot)
    choice = consistent.base.choice
    rows, kinds = [], []
    for k, (name, column) in enumerate(zip(parameters.names, choice.columns, strict=True)):
        if name.rpartition(".")[2] in INERTIA_NAMES or column < 0:
            continue
        bounded = choice.names[column] in consistent.bounded
        unit, old, new = parameter_unit(robot, name), float(parameters.values[k]), float(consistent.values[k])
        rows.append(
            [
                escape_text(name),
                escape_text(unit),
                format_number(old),
                format_number(new),
                "at its bound" if bounded else "",
            ]
        )
        kinds.append("fair" if bounded else "")
    heads = ["[name]parameter", "[unit]unit", "described>", "identified>", "[remark]remark"]
    return table(heads, rows, kinds) if rows else ""


# ---- the verdict


_ORDER = ("good", "fair", "poor")
# Probability up to which the distance of the nearest robot may be chance.
_CHANCE = 0.99

Answer = tuple[str, str]
"""How good an answer is, "good", "fair" or "poor", and the answer as a sentence."""


def verdict(headline: str, answers: Sequence[Answer]) -> str:
    """A box: the headline, and all answers; its colour is that of the worst."""
    lines = bullets(answer for _, answer in answers)
    return element("div", paragraph(headline), lines, kind=f"verdict {_worst_kind(answers)}")


def _worst_kind(answers: Sequence[Answer]) -> str:
    return max((kind for kind, _ in answers), key=_ORDER.index)


def identification_verdict(
    identification: Identification, consistent: ConsistentParameters | str, validation: Validation | None
) -> str:
    """The verdict on an identification."""
    predictions = [_force_answer(identification.fit, "of the data that they were estimated from")]
    if validation is not None:
        predictions.append(_force_answer(validation, "of a motion that they were not estimated from"))
    others = [
        _parameter_answer(identification),
        _excitation_answer(identification),
        _consistency_answer(identification, consistent),
    ]
    if _worst_kind(predictions) == "poor":
        headline = "The parameters do not predict the forces: do not use them."
    else:
        headline = {
            "good": "The parameters predict the forces, and can be trusted within their intervals.",
            "fair": "The parameters predict the forces; not every one of them can be trusted by itself.",
            "poor": "The parameters predict the forces together; by themselves many are not trustworthy.",
        }[_worst_kind(others)]
    if validation is None:
        untested = "They were not tested on another motion: how they predict one is not known."
        predictions.append(("fair", untested))
    return verdict(headline, [*predictions, *others])


def validation_verdict(validation: Validation) -> str:
    """The verdict on a validation."""
    answer = _force_answer(validation, "of this motion")
    headline = {
        "good": "The parameters predict the forces of this motion down to their noise.",
        "fair": "The parameters predict the forces of this motion, but not down to their noise.",
        "poor": "The parameters do not predict the forces of this motion well.",
    }[answer[0]]
    if not any(math.isfinite(ratio) for ratio in validation.ratio.tolist()) and answer[0] == "fair":
        headline = "The parameters predict the forces of this motion well; their noise is not known."
    return verdict(headline, [answer])


def _force_answer(validation: Validation, of_what: str) -> Answer:
    """Whether forces are predicted."""
    well = is_predicted_well(validation)
    ratios = [ratio for ratio in validation.ratio.tolist() if math.isfinite(ratio)]
    score = validation.score
    # Never rounded up to all of it.
    percentage = "more than 99.99 %" if score > 0.9999 else f"{format_number(100.0 * score, 4)} %"
    explained = f"{percentage} of their variation is explained (R²)"
    if not all(well):
        rows = ", ".join(row for row, good in zip(validation.rows, well, strict=True) if not good)
        return "poor", f"They predict the forces {of_what} poorly in {rows}; {explained}."
    noise = f", residuals up to {format_number(max(ratios), 2)} times the noise" if ratios else ""
    at_noise = bool(ratios) and max(ratios) <= NOISE_LEVEL_RATIO
    chances = zip(validation.rows, validation.whiteness.tolist(), strict=True)
    remembering = ", ".join(row for row, chance in chances if chance < MEMORY_PROBABILITY)
    memory = ""
    if remembering:
        memory = (
            f"; the residuals of {remembering} are correlated in time: the model misses a systematic effect"
        )
        memory += ", though it is small compared with the noise" if at_noise else ""
    quality = "down to the noise" if at_noise else "well"
    return (
        "good" if at_noise else "fair",
        f"They predict the forces {of_what} {quality}{noise}; {explained}{memory}.",
    )


def _parameter_answer(identification: Identification) -> Answer:
    """How many parameters are known by themselves."""
    count, trusted_count = len(identification.base), len(trusted_parameters(identification))
    sentence = f"{trusted_count} of {count} parameters are known to within 10 % by themselves"
    if trusted_count == count:
        return "good", sentence + "."
    names = identification.estimator
    bad = len(names.unidentified_) + len(set(names.not_excited_) - set(names.unidentified_))
    remarks = [
        f"{len(names.weak_)} are weak" if names.weak_ else "",
        f"{bad} are not identified" if bad else "",
    ]
    return (
        "fair",
        f"{sentence}; {' and '.join(filter(None, remarks))}: do not read physics into those numbers.",
    )


def _excitation_answer(identification: Identification) -> Answer:
    condition = identification.estimator.condition_
    size = f"the condition of the scaled regressor is {format_number(condition, 4)}"
    if identification.excitation == "good":
        return "good", f"The motion excites the parameters well: {size}."
    hint = "a motion made by `nacelle excite` would do better"
    return (
        identification.excitation,
        f"The motion excites the parameters {_ADVERBS[identification.excitation]}: {size}; {hint}.",
    )


_ADVERBS = {"fair": "fairly", "poor": "poorly"}


def _consistency_answer(identification: Identification, consistent: ConsistentParameters | str) -> Answer:
    """Whether there is a robot with these parameters."""
    from scipy.stats import chi2

    if isinstance(consistent, str):
        return "poor", f"No robot with such parameters was found: {consistent}."
    distance = consistent.distance
    bodies = (
        f"; at the boundary of what is possible: {', '.join(consistent.active)}" if consistent.active else ""
    )
    if distance <= math.sqrt(chi2.ppf(_CHANCE, len(identification.base))):
        return (
            "good",
            f"A robot can have them, {format_number(distance, 2)} standard deviations from the "
            f"estimates{bodies}.",
        )
    return (
        "poor",
        f"The nearest robot that can be built is {format_number(distance, 2)} standard deviations from the "
        f"estimates, more than chance allows: the model or the data are wrong somewhere{bodies}.",
    )


# ---- the pages


def identification_page(identification: Identification, validation: Validation | None = None) -> str:
    """The page about an identification: one HTML file that needs no other.

    Args:
        identification: the estimates and the data that they were fitted to.
        validation: of the estimates on another motion; None if there was none.
    """
    robot, consistent = identification.robot, consistent_parameters_or_reason(identification)
    head = _robot_paragraph(robot) + identification_verdict(identification, consistent, validation)
    sections = [
        ("trust", "In plain words: what not to trust", bullets(_doubts(identification, validation))),
        ("data", "Data and method", _data_section(identification)),
        ("fit", "Forces that were fitted", force_section(identification.fit)),
    ]
    if validation is not None:
        sections.append(("validation", "Forces of another motion", force_section(validation)))
    sections += [
        ("parameters", "Base parameters", parameter_section(identification)),
        ("bodies", "Physically consistent parameters", body_section(consistent)),
    ]
    return page(f"Identification of {robot.name}", head, sections)


def validation_page(validation: Validation) -> str:
    """The page about a validation: one HTML file that needs no other."""
    head = _robot_paragraph(validation.robot) + validation_verdict(validation)
    data, count = validation.regression, len(validation.regression.lengths)
    parts = "one uninterrupted part" if count == 1 else f"{count} uninterrupted parts"
    files = f" of {', '.join(validation.files)}" if validation.files else ""
    about_data = paragraph(
        f"{data.count} of {len(data.used)} filtered samples of {len(data.rows)} forces count, "
        f"in {parts}{files}. The model has {len(data.base)} base parameters."
    )
    sections = [("data", "Data", about_data), ("forces", "Forces", force_section(validation))]
    return page(f"Validation of {validation.robot.name}", head, sections)


def _robot_paragraph(robot: Robot) -> str:
    """The robot in one line."""
    title = f"{robot.title}; " if robot.title else ""
    line = f"{title}{len(robot.actuators)} actuators, motion {robot.motion.name}, hash {robot.hash[:16]}"
    return paragraph(line, "quiet")


def _doubts(identification: Identification, validation: Validation | None) -> list[str]:
    """What is not trustworthy, in plain words."""
    doubts = identification.describe()
    if validation is None:
        doubts.append("no other motion was predicted: a model that fits its own data may fail beyond them")
    doubts.append(
        "intervals hold what noise does to the estimates of this model; effects that it does not have "
        "(elasticity, other friction, wrong geometry) move estimates by more"
    )
    return doubts


def _data_section(identification: Identification) -> str:
    """What was measured, how it was filtered, and how it was estimated."""
    estimator, data = identification.estimator, identification.estimator.regression_
    base = identification.base
    about = (inspect.getdoc(type(estimator)) or "").partition("\n")[0]
    options = repr(estimator)
    options_shown = options if len(options) <= 300 else options[:300] + " ..."
    return (
        paragraph(f"Method: {about} {options_shown}")
        + paragraph(
            f"{data.count} of {len(data.used)} filtered samples of {len(data.rows)} forces count, for "
            f"{len(base)} base parameters ({len(base.rigid)} of inertia, rotors and springs, "
            f"{len(base.friction)} of friction)."
        )
        + _part_table(identification.samples, [data.used[part] for part in data.parts()])
        + paragraph(
            "Encoders pass a filter without phase and are differentiated; regressor and forces pass the "
            "filter of the decimation side by side. Instruments are motions without the errors of the "
            "encoders. Below the rate at rest (rad/s or m/s) dry friction is undetermined, and samples do "
            "not count.",
            "quiet",
        )
    )


def _part_table(samples: Sequence[Samples], used: Sequence[np.ndarray]) -> str:
    """How every uninterrupted part was prepared."""
    rows = []
    for part, counts in zip(samples, used, strict=True):
        preparation = part.preparation
        rows.append(
            [
                escape_text(part.file or "not named"),
                escape_text(f"{format_number(float(part.time[0]))} to {format_number(float(part.time[-1]))}"),
                format_number(part.rate),
                format_number(part.band, 3),
                "none" if preparation.cutoff is None else format_number(preparation.cutoff, 3),
                "every one" if (preparation.decimation or 1) == 1 else f"1 of {preparation.decimation}",
                escape_text(preparation.instruments),
                "none" if preparation.rest is None else format_number(preparation.rest, 2),
                f"{int(np.count_nonzero(counts))} of {len(counts)}",
            ]
        )
    heads = [
        "file",
        "time s>",
        "samples a second>",
        "band of the motion Hz>",
        "encoders filtered at Hz>",
        "kept>",
        "instruments",
        "rate at rest>",
        "samples that count>",
    ]
    return table(heads, rows)
