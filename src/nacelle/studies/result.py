"""What a study has found: its table, the best, statistics, sensitivities, a page, designs as YAML files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nacelle.errors import StudyError, format_count
from nacelle.files import write_atomically
from nacelle.model.robot import Robot
from nacelle.results import HasTable
from nacelle.spatial.scalar import Array
from nacelle.studies.statistics import SobolIndices, Summary, pareto_front, sobol_indices, summarise
from nacelle.studies.table import STATUSES, StudyTable

if TYPE_CHECKING:
    from nacelle.studies.study import Study


@dataclass(frozen=True, eq=False, repr=False)
class StudyResult(HasTable):
    """What a study has found.

    Attributes:
        study: the study.
        variants: what was found of each.
    """

    study: Study
    variants: StudyTable

    def table(self) -> str:
        """The result as text: how many variants there are of each kind, quantities, the best."""
        from nacelle.report.notebook import parts_text
        from nacelle.studies.report import study_parts

        return parts_text(study_parts(self))

    def to_dict(self) -> dict[str, Any]:
        """The result as plain data: counts, statistics of every quantity, the front."""
        from nacelle.studies.report import study_data

        return study_data(self)

    def _repr_html_(self) -> str:
        """The tables for notebooks."""
        from nacelle.report.table import parts_html
        from nacelle.studies.report import study_parts

        return parts_html(study_parts(self), 30)

    def __repr__(self) -> str:
        """Give the study and how many variants it has."""
        return f"<StudyResult {self.study.name}: {format_count(len(self.variants), 'variant')}>"

    @property
    def counts(self) -> dict[str, int]:
        """How many variants there are of each status."""
        numbers = np.bincount(self.variants.status, minlength=len(STATUSES))
        return {name: int(number) for name, number in zip(STATUSES, numbers, strict=True) if number}

    @cached_property
    def feasible(self) -> Array:
        """Which variants (N,) are ok and violate no constraint."""
        violations = self.study.evaluator.violations(self.variants)
        return np.asarray(self.variants.ok & np.all(violations <= 0.0, axis=1))

    @cached_property
    def objectives(self) -> Array:
        """Objectives (N, M), to be minimised: those that are maximised have the other sign."""
        goals = {"minimise": 1.0, "maximise": -1.0}
        columns = [goals[c.goal] * self.variants[c.name] for c in self.variants.columns if c.goal]
        return np.stack(columns, axis=1) if columns else np.zeros((len(self.variants), 0))

    @cached_property
    def front(self) -> Array:
        """Which variants (N,) are on the Pareto front; of one objective the best; none without objectives."""
        if not self.objectives.shape[1]:
            return np.zeros(len(self.variants), dtype=bool)
        return pareto_front(self.objectives, feasible=self.feasible)

    @property
    def best(self) -> int:
        """The variant with the best first objective.

        Raises:
            StudyError: if the study has no objective, or no variant is feasible.
        """
        if not self.objectives.shape[1]:
            raise StudyError(f"{self.study.name} has no objective: write optimise: {{minimise: [...]}}")
        if not np.any(self.feasible):
            listing = ", ".join(f"{number} {name}" for name, number in self.counts.items())
            raise StudyError(f"no variant of {self.study.name} is feasible: {listing}")
        return int(np.argmin(np.where(self.feasible, self.objectives[:, 0], np.inf)))

    def robot(self, row: int) -> Robot:
        """A variant as a robot."""
        space = self.study.evaluator.space
        values = self.variants.values[[row], : len(space.variables)]
        return space.robot_at(space.numbers_at(values)[0])

    def summary(self, name: str) -> Summary:
        """Mean, deviation and quantiles of a column over the variants that are ok, with confidence intervals."""
        return summarise(self.variants[name], self.variants.ok)

    def sensitivity(self, name: str) -> SobolIndices:
        """Sobol indices of a quantity, of a study with `sample: {method: sensitivity}`.

        Raises:
            StudyError: if the study has another design.
        """
        sample = self.study.spec.sample
        if sample is None or sample.method != "sensitivity":
            raise StudyError(f"{self.study.name} has another design: write sample: {{method: sensitivity}}")
        values = np.where(self.variants.ok, self.variants[name], np.nan).reshape(-1, sample.count)
        return sobol_indices(values[0], values[1], values[2:])

    def write_front(self, folder: str | Path) -> list[Path]:
        """Write the robots of the front, or the best one, as YAML files; their paths."""
        rows = np.flatnonzero(self.front)
        rows = rows[np.argsort(self.objectives[rows, 0], kind="stable")]
        path = Path(folder)
        path.mkdir(parents=True, exist_ok=True)
        written = []
        for number, row in enumerate(rows):
            file = path / f"design-{number:03d}.yaml"
            head = [f"# variant {row} of the study {self.study.name}"]
            head += [
                f"# {c.name} = {value:.9g} {c.unit}".rstrip()
                for c, value in zip(self.variants.columns, self.variants.values[row], strict=True)
            ]
            text = "\n".join([*(line.replace("\r", " ") for line in head), self.robot(int(row)).to_yaml()])
            write_atomically(file, text)
            written.append(file)
        return written

    def page(self) -> str:
        """The page of the study as HTML: front, parallel coordinates, maps, histograms, designs in 3D."""
        from nacelle.studies.page import Design, study_page

        rows = np.flatnonzero(self.front)
        if rows.size:
            order = np.argsort(self.objectives[rows, 0], kind="stable")
            rows = rows[order][np.unique(np.linspace(0, rows.size - 1, min(rows.size, 4)).astype(int))]
        made = [Design(int(row), self.robot(int(row)), f"variant {row}") for row in rows]
        return study_page(
            self.variants, title=self.study.name, notes=self.notes, front=self.front, designs=made
        )

    @property
    def notes(self) -> Sequence[Any]:
        """Lines about the study for its page."""
        return [line for line in self.study.spec.notes.splitlines() if line]
