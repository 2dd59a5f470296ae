"""What a study has found: its table, the best, statistics, sensitivities, a page, designs as YAML files."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from nacelle.errors import StudyError, format_count
from nacelle.files import write_atomically
from nacelle.model.robot import Robot
from nacelle.report.notebook import parts_text
from nacelle.report.table import Part, parts_html, plain_table
from nacelle.results import HasTable
from nacelle.spatial.scalar import Array
from nacelle.studies.evaluate import Evaluator
from nacelle.studies.page import Design, Note, study_page
from nacelle.studies.spec import SampleSpec, StudySpec
from nacelle.studies.statistics import (
    Estimate,
    Sensitivity,
    SobolIndices,
    Summary,
    pareto_front,
    rank_correlations,
    sobol_indices,
    summarise,
)
from nacelle.studies.table import QUANTITY, STATUSES, VARIABLE, StudyTable


@dataclass(frozen=True, eq=False, repr=False)
class StudyResult(HasTable):
    """What a study has found.

    Attributes:
        name: of the study.
        spec: the study as written.
        evaluator: its variables, quantities and constraints on the robot.
        variants: what was found of each.
    """

    name: str
    spec: StudySpec
    evaluator: Evaluator
    variants: StudyTable

    def table(self) -> str:
        """The result as text: how many variants there are of each kind, quantities, the best."""
        return parts_text(study_parts(self))

    def to_dict(self) -> dict[str, Any]:
        """The result as plain data: counts, statistics of every quantity, the front."""
        return study_data(self)

    def _repr_html_(self) -> str:
        """The tables for notebooks."""
        return parts_html(study_parts(self), 30)

    def __repr__(self) -> str:
        """Give the study and how many variants it has."""
        return f"<StudyResult {self.name}: {format_count(len(self.variants), 'variant')}>"

    @property
    def robot_name(self) -> str:
        """Name of the robot."""
        return self.evaluator.space.robot.name

    @property
    def counts(self) -> dict[str, int]:
        """How many variants there are of each status."""
        numbers = np.bincount(self.variants.status, minlength=len(STATUSES))
        return {name: int(number) for name, number in zip(STATUSES, numbers, strict=True) if number}

    @cached_property
    def feasible(self) -> Array:
        """Which variants (N,) are ok and violate no constraint."""
        violations = self.evaluator.violations(self.variants)
        return np.asarray(self.variants.ok & np.all(violations <= 0.0, axis=1))

    @property
    def feasible_share(self) -> Estimate:
        """Part of the variants that are feasible, with its interval of 95 %: the yield of tolerances."""
        return summarise(np.zeros(len(self.variants)), self.feasible).share

    @cached_property
    def objectives(self) -> Array:
        """Objectives (N, M), to be minimised: those that are maximised have the other sign."""
        goals = {"minimise": 1.0, "maximise": -1.0}
        columns = [goals[c.goal] * self.variants[c.name] for c in self.variants.columns if c.goal]
        return np.stack(columns, axis=1) if columns else np.zeros((len(self.variants), 0))

    @cached_property
    def _optimal(self) -> Array:
        """Which variants (N,) no other is better than, those that tie included."""
        if not self.objectives.shape[1]:
            return np.zeros(len(self.variants), dtype=bool)
        return pareto_front(self.objectives, feasible=self.feasible)

    @cached_property
    def _front_rows(self) -> Array:
        """Variants of the front by their objectives; of those that tie the first."""
        rows = np.flatnonzero(self._optimal)
        return np.asarray(rows[np.unique(self.objectives[rows], axis=0, return_index=True)[1]])

    @cached_property
    def front(self) -> Array:
        """Which variants (N,) are on the Pareto front; of one objective the best; none without objectives.

        Of variants whose objectives are all equal it is the first.
        """
        return np.isin(np.arange(len(self.variants)), self._front_rows)

    @property
    def equally_good(self) -> int:
        """How many variants besides the front have the same objectives as one of it."""
        return int(np.count_nonzero(self._optimal)) - len(self._front_rows)

    @property
    def best(self) -> int:
        """The variant of the front with the best first objective.

        Raises:
            StudyError: if the study has no objective, or no variant is feasible and has values of them.
        """
        if not self.objectives.shape[1]:
            raise StudyError(f"{self.name} has no objective: write optimise: {{minimise: [...]}}")
        if not len(self._front_rows):
            listing = ", ".join(f"{number} {name}" for name, number in self.counts.items())
            raise StudyError(f"no variant of {self.name} is feasible with known objectives: {listing}")
        return int(self._front_rows[0])

    def robot(self, row: int) -> Robot:
        """A variant as a robot."""
        space = self.evaluator.space
        values = self.variants.values[[row], : len(space.variables)]
        return space.robot_at(space.numbers_at(values)[0])

    def summary(self, name: str) -> Summary:
        """Mean, deviation and quantiles of a column over the variants that are ok, with intervals of 95 %."""
        return summarise(self.variants[name], self.variants.ok)

    def sensitivity(self, name: str) -> SobolIndices:
        """Sobol indices of a quantity, of a study with `sample: {method: sensitivity}`.

        Raises:
            StudyError: if the study has another design.
        """
        sample = self.spec.sample
        if sample is None or sample.method != "sensitivity":
            raise StudyError(f"{self.name} has another design: write sample: {{method: sensitivity}}")
        values = np.where(self.variants.ok, self.variants[name], np.nan).reshape(-1, sample.count)
        return sobol_indices(values[0], values[1], values[2:])

    def rank_correlations(self, name: str) -> tuple[Estimate, ...]:
        """Rank correlations of a quantity with each variable, of the variants that are ok, with intervals."""
        x = self.variants.values[:, : len(self.evaluator.space.variables)]
        return rank_correlations(x[self.variants.ok], self.variants[name][self.variants.ok])

    @cached_property
    def sensitivities(self) -> list[Sensitivity]:
        """Of all quantities: Sobol indices where the design gives them, else rank correlations.

        None of an optimisation: its variants gather where they are good.
        """
        names = [column.name for column in self.variants.columns if column.kind == QUANTITY]
        if self.spec.optimise is not None:
            return []
        if self.spec.sample is None or self.spec.sample.method != "sensitivity":
            return [Sensitivity(name, self.rank_correlations(name)) for name in names]
        indices = {name: self.sensitivity(name) for name in names}
        return [Sensitivity(name, of.first, of.total) for name, of in indices.items()]

    def write_front(self, folder: str | Path) -> list[Path]:
        """Write the robots of the front, or the best one, as YAML files; their paths."""
        path = Path(folder)
        path.mkdir(parents=True, exist_ok=True)
        files = []
        for number, row in enumerate(self._front_rows):
            file = path / f"design-{number:03d}.yaml"
            head = [f"# variant {row} of the study {self.name}"]
            head += [
                f"# {c.name} = {value:.9g} {c.unit}".rstrip()
                for c, value in zip(self.variants.columns, self.variants.values[row], strict=True)
            ]
            text = "\n".join([*(line.replace("\r", " ") for line in head), self.robot(int(row)).to_yaml()])
            write_atomically(file, text)
            files.append(file)
        return files

    def page(self) -> str:
        """The page of the study as HTML: front, parallel coordinates, maps, histograms, designs in 3D."""
        rows = self._front_rows
        if rows.size:
            rows = rows[np.unique(np.linspace(0, rows.size - 1, min(rows.size, 4)).astype(int))]
        best_designs = [Design(int(row), self.robot(int(row)), f"variant {row}") for row in rows]
        return study_page(
            self.variants,
            title=self.name,
            notes=self.notes,
            front=self.front,
            feasible=self.feasible if self.spec.constraints else None,
            designs=best_designs,
            sensitivities=self.sensitivities,
        )

    @property
    def notes(self) -> list[Note]:
        """Lines about the study for its page."""
        spec = self.spec
        method = spec.optimise.optimiser if spec.optimise else (spec.sample or SampleSpec()).method
        lines = [Note("robot", self.robot_name), Note("method", f"{method}, seed {spec.seed}")]
        lines += [Note("constraint", text) for text in spec.constraints]
        lines += [Note("constraints", _feasible_text(self))] if spec.constraints else []
        lines += [Note("best", _front_text(self))] if self.equally_good else []
        return [*lines, *(Note("notes", line) for line in spec.notes.splitlines() if line)]


# ---- the result as lines and tables, and as plain data

_FIRST = 10


def study_parts(result: StudyResult) -> list[Part]:
    """Counts, quantities with their intervals, sensitivities, the front."""
    table = result.variants
    listing = ", ".join(f"{number} {name}" for name, number in result.counts.items())
    parts: list[Part] = [
        f"{result.name}: {format_count(len(table), 'variant')} of {result.robot_name}: {listing}"
    ]
    parts += [f"  {_feasible_text(result)}"] if result.spec.constraints else []
    parts += [f"  {number} times: {reason}" for reason, number in sorted(table.reasons.items())[:_FIRST]]
    columns = [column for column in table.columns if column.kind == QUANTITY]
    rows = []
    for column in columns:
        summary = result.summary(column.name)
        rows.append([column.name, column.unit, *_summary_cells(summary)])
    heads = ("quantity", "unit", "lowest 5 %>", "median>", "highest 5 %>", "mean>", "± 95 %>", "deviation>")
    parts.append(plain_table(*heads, rows=rows))
    sample = result.spec.sample
    if sample is not None and sample.method == "sensitivity":
        parts += _sensitivity_parts(result)
    if np.any(result.front):
        parts += _front_parts(result)
    return parts


def _feasible_text(result: StudyResult) -> str:
    share = result.feasible_share
    return (
        f"{np.count_nonzero(result.feasible)} of {len(result.variants)} keep all constraints: "
        f"{100.0 * share.value:.3g} % ({100.0 * share.low:.3g} to {100.0 * share.high:.3g} %)"
    )


def _summary_cells(summary: Summary) -> list[str]:
    low, middle, high = summary.quantiles
    half = 0.5 * (summary.mean.high - summary.mean.low)
    values = (low.value, middle.value, high.value, summary.mean.value, half, summary.deviation.value)
    return [_text(value) for value in values]


def _sensitivity_parts(result: StudyResult) -> list[Part]:
    names = [column.name for column in result.variants.columns if column.kind == VARIABLE]
    parts: list[Part] = []
    for of in result.sensitivities:
        rows = [
            [name, *_estimate_cells(first), *_estimate_cells(total)]
            for name, first, total in zip(names, of.first, of.total, strict=True)
        ]
        heads = (f"{of.quantity} depends on", "alone>", "95 %", "with others>", "95 %")
        parts.append(plain_table(*heads, rows=rows))
    return parts


def _estimate_cells(estimate: Estimate) -> list[str]:
    return [_text(estimate.value), f"{_text(estimate.low)} to {_text(estimate.high)}"]


def _front_parts(result: StudyResult) -> list[Part]:
    rows, columns = result._front_rows, result.variants.columns
    cells = [[str(row), *(_text(value) for value in result.variants.values[row])] for row in rows[:_FIRST]]
    heads = ["variant>", *(f"{column.name} {column.unit}".strip() + ">" for column in columns)]
    more = [f"… {len(rows) - _FIRST} more"] if len(rows) > _FIRST else []
    return [_front_text(result), plain_table(*heads, rows=cells), *more]


def _front_text(result: StudyResult) -> str:
    count = len(result._front_rows)
    what = "the best variant" if count == 1 else f"{count} variants on the Pareto front"
    equal = format_count(result.equally_good, "later one ties", "later ones tie")
    return f"{what}; {equal} with {'it' if count == 1 else 'them'}" if result.equally_good else what


def _text(value: float) -> str:
    return f"{value:.4g}" if np.isfinite(value) else "–"


def study_data(result: StudyResult) -> dict[str, Any]:
    """The result as plain data: counts, statistics of every quantity, the front."""
    table = result.variants
    quantities = {}
    for column in table.columns:
        if column.kind != QUANTITY:
            continue
        summary = result.summary(column.name)
        low, middle, high = (estimate._asdict() for estimate in summary.quantiles)
        quantities[column.name] = {
            "unit": column.unit,
            "mean": summary.mean._asdict(),
            "deviation": summary.deviation._asdict(),
            "quantiles": {"5 %": low, "50 %": middle, "95 %": high},
        }
    front = [
        {"variant": int(row), **dict(zip(table.names, table.values[row].tolist(), strict=True))}
        for row in result._front_rows
    ]
    return {
        "study": result.name,
        "robot": result.robot_name,
        "variants": len(table),
        "counts": result.counts,
        "feasible": int(np.count_nonzero(result.feasible)),
        "reasons": table.reasons,
        "quantities": quantities,
        "front": front,
        "equally good": result.equally_good,
    }
