"""Base parameters and what is identified of them: tables and lines."""

from __future__ import annotations

from rich.text import Text

from nacelle.dynamics.base_parameters.base_parameters import BaseParameters
from nacelle.identification.estimation.payload import PayloadEstimate
from nacelle.identification.excitation.result import Excitation
from nacelle.identification.identify import Identification
from nacelle.identification.validation import Validation
from nacelle.report.results.units import base_units
from nacelle.report.table import Part, plain_table


def base_parts(base: BaseParameters) -> list[Part]:
    """How many base parameters there are, their values, what has no effect, and how sure their number is."""
    head = (
        f"{base.robot.name}: {len(base)} base parameters of {len(base.choice.names)}: {len(base.rigid)} of "
        f"inertia, rotors and springs, {len(base.friction)} of friction"
    )
    values = zip(base.groupings, base.values.tolist(), base_units(base), strict=True)
    rows = [(Text(grouping), f"{value:.6g}", unit) for grouping, value, unit in values]
    parts: list[Part] = [head, plain_table("base parameter", "value>", "unit", rows=rows)]
    nothing = [name for name, effect in base.effects.items() if effect == "no effect"]
    if nothing:
        parts.append(f"no effect: {', '.join(nothing)}")
    if base.choice.assumed_zero:
        parts.append(f"assumed to be zero: {', '.join(base.choice.assumed_zero)}")
    agreement = (
        "equal to the structural rank"
        if base.structural == len(base)
        else f"the structural rank is {base.structural}; unexplained: {', '.join(base.unexplained)}"
    )
    parts.append(f"rank {len(base)} at random states, gap {base.gap:.0e}: {agreement}")
    if not base.is_certain:
        parts.append("The rank is uncertain: some parameters can hardly be distinguished.")
    return parts


def excitation_parts(result: Excitation) -> list[Part]:
    """How well a motion excites the parameters, and how much of every limit it uses."""
    ended = f"{result.status}: {result.message}" if result.message else result.status
    better = "condition" if result.criterion == "condition" else "log det"
    rows = [
        (
            use.kind,
            Text(use.name),
            f"{100.0 * use.use:.1f} %",
            f"{use.time:.3f}",
            Text(result.limits.origin.get(use.kind, "")),
        )
        for use in result.uses
    ]
    return [
        f"{result.robot.name}: {result.strategy} excitation of {len(result.base)} base parameters, "
        f"{result.trajectory.duration:.4g} s; {ended}",
        f"condition {result.condition:.4g}, log det {result.log_det:.4g}; {better} of the best random motion "
        f"{result.random:.4g}",
        plain_table("limit", "critical for", "used>", "at (s)>", "source of the limit", rows=rows),
        f"worst determined combination: {result.weakest_combination()}",
    ]


def identification_parts(result: Identification, validation: Validation | None = None) -> list[Part]:
    """The estimates, what is not trustworthy, and how well forces are predicted."""
    estimator, removed = result.estimator, set(result.essential.removed_names)
    table = plain_table("base parameter", "nominal>", "estimate>", "std. dev.>", "%>", "systematic>", "")
    systematic = result.systematic
    for k, name in enumerate(result.base.names):
        relative = 100.0 * estimator.relative_std_[k]
        table.add_row(
            Text(name),
            f"{result.base.values[k]:.5g}",
            f"{estimator.coef_[k]:.5g}",
            f"{estimator.std_[k]:.2g}",
            f"{relative:.2g}" if relative < 1e4 else "-",
            f"{systematic[k]:.2g}",
            "inessential" if name in removed else "",
        )
    return [
        f"{result.robot.name}: {len(result.base)} base parameters by {type(estimator).__name__}, "
        f"R^2 {result.fit.score:.5f}, excitation {result.excitation}",
        table,
        *(f"- {line}" for line in result.describe()),
        *validation_lines(result.fit, "fit"),
        *([] if validation is None else validation_lines(validation, "validation")),
    ]


def validation_lines(result: Validation, title: str = "") -> list[str]:
    """How well forces are predicted, a line a row."""
    head = title or f"{result.robot.name}: forces"
    count = result.regression.count
    return [
        f"{head}: R^2 {result.score:.5f} over {count} samples",
        *(f"- {line}" for line in result.describe()),
    ]


def payload_lines(load: PayloadEstimate) -> list[str]:
    """Mass and centre of a payload, and what is doubtful."""
    com = ", ".join(f"{value:.4g}" for value in load.com)
    lines = [
        f"payload on {load.on}: {load.mass:.5g} kg (std. dev. {load.sigma[0]:.2g}), centre of mass at "
        f"[{com}] m; determined: {', '.join(load.determined) or 'nothing'}"
    ]
    if not load.is_significant:
        lines.append("- its mass is not distinguishable from zero")
    if not load.is_explained():
        lines.append("- the runs differ by more than a payload can explain")
    return lines
