"""Tables of results that have more to say than their attributes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from nacelle.control.compare import Comparison
from nacelle.control.loop.run import ControlRun
from nacelle.dynamics.base_parameters.base_parameters import BaseParameters
from nacelle.dynamics.reactions import PeakReactions
from nacelle.dynamics.sizing import Sizing
from nacelle.kinematics.mechanism.check import Check
from nacelle.kinematics.mechanism.mobility import Mobility
from nacelle.model.linear_parameters import LinearParameters
from nacelle.page.markup import bullets, element, number, table, text
from nacelle.report.operations import Operations
from nacelle.report.results.units import base_units
from nacelle.simulation.simulate import Simulation

# Rows of a long list that are shown.
_MOST = 24


def tables(result: Any) -> list[str]:
    """What is said of a result instead of its attributes; nothing where these say all."""
    for one in type(result).__mro__:
        if one.__name__ in _MAKERS:
            return _MAKERS[one.__name__](result)
    return []


def _facts(**facts: object) -> str:
    """A table of two columns."""
    rows = [(text(name.replace("_", " ")), text(value)) for name, value in facts.items() if value != ""]
    return table(("", ""), rows)


def _listed(columns: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    """A table of a list, its first rows."""
    more = len(rows) - _MOST
    end = [(f"… {more} more", *[""] * (len(columns) - 1))] if more > 0 else []
    return table(columns, [*rows[:_MOST], *end])


def _check(result: Check) -> list[str]:
    problems = [str(problem) for problem in result.problems]
    verdict = f"{len(result.errors)} errors, {len(problems) - len(result.errors)} warnings"
    parts = [element("p", text(verdict)), bullets(problems[:_MOST])]
    return parts if result.mobility is None else [*parts, *_mobility(result.mobility)]


def _mobility(result: Mobility) -> list[str]:
    facts = {
        "by Chebyshev-Gruebler-Kutzbach": result.counted,
        "in the plane": "" if result.counted_planar is None else result.counted_planar,
        "by rank": result.true,
        "of the nacelle": result.platform,
        "idle": result.idle_count,
        "actuators": result.actuators,
    }
    return [
        table(("mobility", ""), [(text(k), text(v)) for k, v in facts.items()]),
        bullets(result.sentences()),
    ]


def _simulation(run: Simulation) -> list[str]:
    span = f"{run.t[0]:g} to {run.t[-1]:g} s, {len(run.t)} samples" if len(run.t) else "no samples"
    return [
        _facts(
            plant=run.plant.name,
            method=run.method,
            time=span,
            status=f"{run.status}: {run.message}",
            energy=f"{run.energy[0]:.6g} to {run.energy[-1]:.6g} J" if len(run.t) else "",
        )
    ]


def _control_run(run: ControlRun) -> list[str]:
    data = run.summary()
    parts = [_facts(controller=run.label, robot=run.robot.name, status=f"{run.status}: {run.message}")]
    if "actuators" not in data:
        return parts
    units = [("rad", "N m") if turns else ("m", "N") for turns in run.robot.revolute_actuators]
    rows = [
        (
            text(entry["name"]),
            *(f"{number(entry[key])} {length}" for key in ("rms_error", "max_error")),
            *(f"{number(entry[key])} {force}" for key in ("rms_force", "max_force")),
            f"{number(entry['work'])} J",
            f"{number(100.0 * entry['saturation'])} %",
        )
        for entry, (length, force) in zip(data["actuators"], units, strict=True)
    ]
    heads = ("actuator", "rms error>", "max error>", "rms force>", "max force>", "work>", "saturated>")
    tool = data["tool"]
    end = _facts(
        tool=f"rms error {number(tool['rms_error'])} m, largest {number(tool['max_error'])} m",
        contour=f"rms error {number(tool['rms_contour'])} {tool['contour_unit']}",
        energy=f"{number(data['energy'])} J",
    )
    return [*parts, _listed(heads, rows), end]


def _comparison(result: Comparison) -> list[str]:
    def cell(value: Any) -> str:
        return "" if value is None else text(value) if isinstance(value, str) else number(float(value))

    heads = tuple(text(column) for column in result.columns)
    return [_listed(heads, [tuple(cell(value) for value in row) for row in result.table])]


def _sizing(result: Sizing) -> list[str]:
    heads = ("actuator", "peak force>", "rms force>", "peak speed>", "peak power>", "beyond limits")
    rows = []
    for load in result.loads:
        force, speed = ("N m", "rad/s") if load.revolute else ("N", "m/s")
        figures = ((load.peak_force, force), (load.rms_force, force), (load.peak_speed, speed))
        rows.append(
            (
                text(load.name),
                *(f"{number(size)} {unit}" for size, unit in figures),
                f"{number(load.peak_power)} W",
                text(", ".join(load.beyond) or "no"),
            )
        )
    return [_listed(heads, rows)]


def _peak_reactions(result: PeakReactions) -> list[str]:
    heads = ("joint", "kind", "force (N)>", "at (s)>", "moment (N m)>", "at (s)>", "determined")
    rows = [
        (
            text(peak.name),
            text(peak.kind),
            *(number(value) for value in (peak.force, peak.force_time, peak.moment, peak.moment_time)),
            "yes" if peak.determined else text(f"not {', '.join(peak.open)}"),
        )
        for peak in result.listed
    ]
    return [_listed(heads, rows)]


def _base_parameters(base: BaseParameters) -> list[str]:
    units, values = base_units(base), np.asarray(base.values)
    rows = [
        (text(words), text(unit), number(float(value)))
        for words, unit, value in zip(base.groupings, units, values, strict=True)
    ]
    count = f"{len(base.kept)} base parameters of {base.K.shape[1]} parameters that take part"
    return [element("p", text(count)), _listed(("base parameter", "unit", "value>"), rows)]


def _linear_parameters(result: LinearParameters) -> list[str]:
    rows = [
        (text(name), number(float(value))) for name, value in zip(result.names, result.values, strict=True)
    ]
    return [_listed(("parameter", "value, SI units>"), rows)]


def _operations(count: Operations) -> list[str]:
    rows = [("nacelle", text(count.count), text(count.includes))]
    rows += [(text(one.source), str(one.total), text(one.contains)) for one in count.published]
    return [
        _facts(model=count.model, input=count.input, form=count.form),
        _listed(("", "operations", ""), rows),
    ]


_MAKERS: dict[str, Callable[[Any], list[str]]] = {
    "Check": _check,
    "Mobility": _mobility,
    "Simulation": _simulation,
    "ControlRun": _control_run,
    "Comparison": _comparison,
    "Sizing": _sizing,
    "PeakReactions": _peak_reactions,
    "BaseParameters": _base_parameters,
    "LinearParameters": _linear_parameters,
    "Operations": _operations,
}
