"""The calibration of a machine: its parameters, what the data say of them, and what they do not.

With J the whitened rows at the optimum, motions eliminated, and T the tolerances, the covariance of the
values is C = (J^T J + T^-2)^-1. Scaled by T, J T = U diag(s) V^T says of every direction v of the parameters
how many of its tolerances a standard deviation of the noise is worth: s = 0 is no information at all (not
identified, `identifiability`), s below 1 less than what was expected before (decided by the tolerances).

The sum of the squared residuals has, where everything is right, the chi-square distribution of rows less
motions less sum s^2 / (1 + s^2), what the parameters take of them: a whole degree where data decide, none
where the tolerances do. Where it has not, causes outside the model are tried one by one (Frisch,
Waugh and Lovell): a column c of rows, with what the parameters can explain taken away, c' = c - J C J^T c,
has the size -c'^T r / c'^T c' and lowers the sum by (c'^T r)^2 / c'^T c'.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from nacelle.calibration.checks import (
    Finding,
    check_agreement,
    check_data,
    choose_branches,
    locate_devices,
    unit_of_scatter,
)
from nacelle.calibration.devices import Tracker
from nacelle.calibration.fit import Campaign, Optimum, Point, System, fit_with_pairs, minimise
from nacelle.calibration.identifiability import Identifiability, Information, identifiability
from nacelle.calibration.parameters import Parameter, known_parameters, number_of
from nacelle.calibration.poses import (
    default_parameters,
    drawn_poses,
    opening_parameters,
    platform_rates,
    with_loads,
    without_rigid_motion,
)
from nacelle.distribution import __version__
from nacelle.errors import CalibrationError, format_count
from nacelle.files import write_atomically
from nacelle.model.robot import Robot
from nacelle.one_thread import one_blas_thread
from nacelle.spatial.scalar import Array

# Probabilities below which a sum of squares, and a cause, is beyond chance.
_POOR, _CAUSE = 1e-4, 1e-4
# Values this many tolerances from the description are reported; beyond the second number they are an error.
_FAR, _TOO_FAR = 5.0, 40.0
_WORKSPACE = 200
# What lines of `sources` begin with that say where calibrated numbers come from.
_CALIBRATED = "calibrated: "


class PoseError(NamedTuple):
    """Expected error of the platform's pose, with encoders held: root mean squares over the workspace.

    Attributes:
        position: m.
        rotation: rad.
        largest: the largest deviation of the position anywhere, m.
        positions: that of the position at each pose of the workspace, ascending, m.
    """

    position: float
    rotation: float
    largest: float
    positions: tuple[float, ...]

    def to_dict(self) -> dict[str, float]:
        """As plain data, SI units."""
        return {"position": self.position, "rotation": self.rotation, "largest": self.largest}


class Cause(NamedTuple):
    """What outside the model would explain residuals: its size, its deviation, and the part of chi-square."""

    name: str
    size: float
    deviation: float
    unit: str
    explained: float


class Validation(NamedTuple):
    """Poses left out of the fit: root mean squares of their whitened residuals before and after."""

    samples: int
    before: float
    after: float


@dataclass(frozen=True, eq=False)
class Calibration:
    """A calibrated machine.

    Attributes:
        nominal: the description.
        robot: the description with corrected numbers.
        parameters: what was estimated, of the machine and of the devices.
        values: their values, SI (P,).
        covariance: of their errors (P, P).
        identifiability: what the data show, and what they do not.
        chi_square: sum of the squared residuals.
        degrees: of its freedom.
        residuals: of each encoder and device (S,), root mean square over the noise; NaN where not measured.
        outliers: what was left out: (sample, encoder or device).
        findings: what the checks say, worst first.
        causes: what else would explain the residuals, best first; empty where they are noise.
        before: expected error of the pose by the tolerances alone.
        after: with this calibration.
        validation: by poses left out of a fit; None if there were too few.
        steps: of the iteration.
    """

    nominal: Robot
    robot: Robot
    parameters: tuple[Parameter, ...]
    values: Array
    covariance: Array
    identifiability: Identifiability
    chi_square: float
    degrees: int
    residuals: dict[str, Array]
    outliers: tuple[tuple[int, str], ...]
    findings: tuple[Finding, ...]
    causes: tuple[Cause, ...]
    before: PoseError
    after: PoseError
    validation: Validation | None
    steps: int

    @property
    def deviations(self) -> Array:
        """Standard deviations (P,) of the values."""
        return np.asarray(np.sqrt(np.diagonal(self.covariance)))

    @property
    def decided(self) -> Array:
        """What part of each tolerance's variance the data take away (P,), from 0 to 1."""
        tolerance = np.array([item.tolerance for item in self.parameters])
        return np.asarray(np.clip(1.0 - (self.deviations / tolerance) ** 2, 0.0, 1.0))

    @property
    def rank(self) -> int:
        """How many directions of the parameters the data show."""
        return self.identifiability.information.rank

    @property
    def unidentified(self) -> tuple[str, ...]:
        """Names of parameters in a combination that nothing shows: the data do not determine them alone."""
        return self.identifiability.information.unidentified_names(self.parameters)

    @property
    def combinations(self) -> tuple[str, ...]:
        """Changes of the parameters that nothing measured shows, the pivot first."""
        return tuple(item.text for item in self.identifiability.hidden)

    @property
    def identified_combinations(self) -> tuple[tuple[str, float, float, str], ...]:
        """What the data show of these parameters: text, value, standard deviation (SI) and unit of each."""
        units = {item.name: item.unit for item in self.parameters}
        return tuple(
            (
                text,
                float(factors @ self.values),
                float(np.sqrt(factors @ self.covariance @ factors)),
                units[text.partition(" ")[0]],
            )
            for text, factors, _ in self.identifiability.identified
        )

    @property
    def probability(self) -> float:
        """Of a larger sum of squares if model and noise are right."""
        from scipy.special import chdtrc

        return float(chdtrc(max(self.degrees, 1), self.chi_square))

    @property
    def noise_ratio(self) -> float:
        """Residuals over the stated noise, root mean square; 1 where model and noise are right."""
        return float(np.sqrt(self.chi_square / max(self.degrees, 1)))

    @property
    def is_sound(self) -> bool:
        """Whether no finding is an error."""
        return not any(finding.is_error for finding in self.findings)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data, SI units."""
        nominal = [
            {
                "name": item.name,
                "unit": item.unit,
                "nominal": number_of(self.nominal, item),
                "calibrated": number_of(self.robot, item),
                "value": float(value),
                "deviation": float(deviation),
                "tolerance": item.tolerance,
                "decided by data": float(part),
            }
            for item, value, deviation, part in zip(
                self.parameters, self.values, self.deviations, self.decided, strict=True
            )
        ]
        return {
            "robot": self.nominal.name,
            "description": self.nominal.hash,
            "calibrated": self.robot.hash,
            "parameters": nominal,
            "covariance": self.covariance.tolist(),
            "identified": self.rank,
            "not identified": list(self.unidentified),
            "combinations that nothing shows": [
                {"text": text, "meaning": meaning} for text, _, meaning in self.identifiability.hidden
            ],
            "combinations that the data show": [
                {"text": text, "value": value, "deviation": deviation, "unit": unit}
                for text, value, deviation, unit in self.identified_combinations
            ],
            "chi_square": self.chi_square,
            "degrees": self.degrees,
            "probability": self.probability,
            "outliers": [{"sample": sample, "of": name} for sample, name in self.outliers],
            "findings": [{"error": finding.is_error, "text": finding.text} for finding in self.findings],
            "causes": [cause._asdict() for cause in self.causes],
            "pose error": {"before": self.before.to_dict(), "after": self.after.to_dict()},
            "validation": None if self.validation is None else self.validation._asdict(),
        }

    def table(self) -> str:
        """The parameters with what is known of them, then verdicts, as text."""
        lines = [f"{'parameter':<34} {'value':>12} {'deviation':>10} {'tolerance':>10}  decided by data"]
        for item, value, deviation, part in zip(
            self.parameters, self.values, self.deviations, self.decided, strict=True
        ):
            number, unit = shown_unit(item.unit)
            lines.append(
                f"{item.name:<34} {value * number:>12.5f} {deviation * number:>10.5f} "
                f"{item.tolerance * number:>10.4g}  {100.0 * part:5.1f} %  {unit}"
            )
        before, after = self.before, self.after
        lines += [
            "",
            f"expected error of the pose over the workspace: {before.position * 1e3:.4g} -> "
            f"{after.position * 1e3:.4g} mm, {np.degrees(before.rotation):.4g} -> "
            f"{np.degrees(after.rotation):.4g} deg (rms); largest deviation {after.largest * 1e3:.4g} mm",
            f"residuals: {self.noise_ratio:.3f} times the stated noise (probability {self.probability:.2g}), "
            f"{self.degrees} degrees of freedom",
        ]
        if self.validation is not None:
            count, first, last = self.validation
            lines.append(
                f"{format_count(count, 'pose')} left out: residuals {first:.4g} -> {last:.4g} times the noise"
            )
        lines.append(f"{self.rank} of {len(self.parameters)} directions are shown by the data")
        lines += [
            f"  nothing shows{f' ({meaning})' if meaning else ''}: {text}"
            for text, _, meaning in self.identifiability.hidden
        ]
        for text, value, deviation, unit in self.identified_combinations:
            number, label = shown_unit(unit)
            lines.append(
                f"  the data show: {text} = {value * number:.5f} +- {deviation * number:.5f} {label}"
            )
        if self.outliers:
            named = ", ".join(f"{name} at {sample}" for sample, name in self.outliers[:8])
            more = f", and {len(self.outliers) - 8} more" if len(self.outliers) > 8 else ""
            lines.append(f"left out as outliers: {named}{more}")
        lines += [
            f"{'error' if finding.is_error else 'warning'}: {finding.text}" for finding in self.findings
        ]
        return "\n".join(lines)

    def __repr__(self) -> str:
        """Give the robot, and the error before and after."""
        return (
            f"<Calibration of {self.nominal.name}: {self.before.position * 1e3:.3g} -> "
            f"{self.after.position * 1e3:.3g} mm, {self.rank} of {len(self.parameters)} directions>"
        )

    def provenance(self) -> tuple[str, ...]:
        """Where the numbers come from, a line an entry: date, version, fit, the deviations found."""
        changes = [
            f"{item.name} {value:+.9g} +- {deviation:.2g} {item.unit}".rstrip()
            for item, value, deviation in zip(self.parameters, self.values, self.deviations, strict=True)
        ]
        lines = (
            f"{datetime.now(UTC).date()}, nacelle {__version__}, robot {self.nominal.name} "
            f"{self.nominal.hash[:16]}",
            f"expected error of the position {self.before.position * 1e3:.4g} -> "
            f"{self.after.position * 1e3:.4g} mm; "
            f"residuals {self.noise_ratio:.4g} times the noise, {self.degrees} degrees of freedom",
            f"deviations from the description, SI: {'; '.join(changes)}",
        )
        return tuple(_CALIBRATED + line for line in lines)

    def write(self, path: str | Path) -> tuple[Path, Path]:
        """Write the corrected description (YAML), and next to it all numbers old and new (JSON)."""
        target = Path(path)
        data = target.with_suffix(".calibration.json")
        kept = [source for source in self.robot.sources if not source.startswith(_CALIBRATED)]
        robot = dataclasses.replace(self.robot, sources=(*kept, *self.provenance()))
        write_atomically(target, robot.to_yaml())
        write_atomically(data, json.dumps(self.to_dict(), indent=1))
        return target, data


def shown_unit(unit: str) -> tuple[float, str]:
    """In what a number is shown: factor and unit."""
    return {"m": (1e3, "mm"), "rad": (180.0 / np.pi, "deg"), "m/N": (1e6, "um/N")}.get(unit, (1.0, unit))


@one_blas_thread
def calibrate(
    campaign: Campaign,
    parameters: Sequence[Parameter] | None = None,
    *,
    robust: bool = True,
    validate: bool = True,
) -> Calibration:
    """Calibrate a machine: maximum a posteriori of its geometry from what was measured.

    Args:
        campaign: readings of encoders and of devices.
        parameters: what is estimated; `default_parameters` if None.
        robust: whether outliers are looked for and left out.
        validate: whether every fifth pose is left out of a second fit, and predicted by it.

    Raises:
        CalibrationError: if the data cannot be right (units, columns, drives), or the fit does not converge.
    """
    check_data(campaign)
    estimated = tuple(
        default_parameters(campaign.robot, campaign.encoders) if parameters is None else parameters
    )
    located, findings = choose_branches(locate_devices(campaign))
    located, more = check_agreement(located)
    findings += more
    located = with_loads(located, estimated)
    system, optimum, pairs = fit_with_pairs(System(located, estimated), robust=robust)
    result = _result(system, optimum)
    outliers = *result.outliers, *((first, f"{name}, with sample {second}") for first, second, name in pairs)
    result = dataclasses.replace(result, outliers=outliers)
    causes: tuple[Cause, ...] = ()
    lost = {item.name for item in campaign.devices if isinstance(item, Tracker) and item.is_lost}
    findings += _outcome_findings(system, result, lost)
    if result.probability < _POOR:
        causes = tuple(other_causes(system, optimum))
        findings += [_poor_fit(result, causes, unit_of_scatter(located))]
    findings += _small_residuals(result)
    checked = _validate(system, optimum) if validate and located.count >= 15 else None
    ordered = tuple(sorted(findings, key=lambda finding: not finding.is_error))
    return dataclasses.replace(result, findings=ordered, causes=causes, validation=checked)


def covariance_of(system: System, optimum: Optimum) -> Array:
    """C = (J^T J + T^-2)^-1 (P, P)."""
    J = optimum.reduced.J * system.tolerance
    return np.asarray(
        np.linalg.inv(J.T @ J + np.eye(system.count)) * np.outer(system.tolerance, system.tolerance)
    )


def _result(system: System, optimum: Optimum) -> Calibration:
    campaign, values = system.campaign, optimum.point.values
    taken = np.linalg.svd(optimum.reduced.J * system.tolerance, compute_uv=False)
    results, information = _result_columns(system), information_of(system, optimum)
    parameters = tuple(system.parameters[k] for k in results)
    at = drawn_poses(campaign.robot, _WORKSPACE // 4, seed=3)
    C = covariance_of(system, optimum)[np.ix_(results, results)]
    kept = optimum.weights > 0.0
    left_out = sorted(
        {
            (int(sample), system.block_names[system.blocks[row]])
            for sample, row in zip(*np.nonzero(~kept & system.present), strict=True)
        }
    )
    estimated = values[: system.robot_count]
    return Calibration(
        nominal=campaign.robot,
        robot=system.geometry.machine(estimated),
        parameters=parameters,
        values=values[results],
        covariance=C,
        identifiability=identifiability(campaign, parameters, information, at),
        chi_square=float(np.sum(optimum.reduced.r**2)),
        degrees=optimum.reduced.degrees - round(float(np.sum(taken**2 / (1.0 + taken**2)))),
        residuals=_residuals_by_name(system, optimum),
        outliers=tuple(left_out),
        findings=(),
        causes=(),
        before=pose_error(system, np.diag(system.tolerance[: system.robot_count] ** 2)),
        after=pose_error(system, C[: system.robot_count, : system.robot_count]),
        validation=None,
        steps=optimum.steps,
    )


def _result_columns(system: System) -> Array:
    """Indices of the parameters that are results: all but places that samples visit."""
    return np.array([k for k, item in enumerate(system.parameters) if item.kind != "place"], dtype=int)


def information_of(system: System, optimum: Optimum) -> Information:
    """The singular values and directions of J T, with what is no result where it fits best."""
    J, results = optimum.reduced.J * system.tolerance, _result_columns(system)
    return Information.of(without_columns(J[:, results], np.delete(J, results, axis=1)))


def _residuals_by_name(system: System, optimum: Optimum) -> dict[str, Array]:
    """Residuals at each sample (S,), root mean square, by encoder and device; edges of a camera as one."""
    result, r, names = {}, optimum.reduced.rows.r, np.array(system.block_names)[system.blocks]
    for name in dict.fromkeys(names.tolist()):
        present = system.present & (names == name)
        count = np.sum(present, axis=1)
        squares = np.sum(np.where(present, r, 0.0) ** 2, axis=1)
        result[name] = np.sqrt(np.where(count > 0, squares / np.maximum(count, 1), np.nan))
    return result


def without_columns(J: Array, taken: Array) -> Array:
    """Rows J less what columns that are no result can explain of them."""
    if not taken.shape[1]:
        return J
    U, s, Vt = np.linalg.svd(taken, full_matrices=False)
    U = U[:, : Information(s, Vt).rank]
    return np.asarray(J - U @ (U.T @ J))


def pose_error(system: System, covariance: Array) -> PoseError:
    """Expected error of the pose over the workspace, with encoders held, by a covariance of parameters.

    Where no device knows its place in the base it is the error in the base that fits best
    (`without_rigid_motion`).
    """
    robot = system.campaign.robot
    x = drawn_poses(robot, _WORKSPACE, seed=3)
    L = platform_rates(robot, x, system.geometry.parameters, system.campaign.encoders)
    L = without_rigid_motion(robot, x, L, system.campaign)
    spread = L @ covariance @ np.swapaxes(L, 1, 2)
    squares = np.diagonal(spread, axis1=1, axis2=2)
    largest = np.sqrt(np.linalg.eigvalsh(spread[:, :3, :3])[:, -1].max())
    position, rotation = (
        float(np.sqrt(np.mean(np.sum(part, axis=1)))) for part in (squares[:, :3], squares[:, 3:])
    )
    positions = np.sort(np.sqrt(np.sum(squares[:, :3], axis=1)))
    return PoseError(position, rotation, float(largest), tuple(positions.tolist()))


def _outcome_findings(system: System, result: Calibration, lost: set[str]) -> list[Finding]:
    """What the values say; places of the devices that are `lost` were not expected anywhere."""
    findings = []
    expected = [
        item.kind != "device" or item.name.partition(".")[0] not in lost for item in result.parameters
    ]
    off = np.abs(result.values) / [item.tolerance for item in result.parameters] * expected
    far = [k for k in np.argsort(-off) if off[k] > _FAR][:4]
    if far:
        named = ", ".join(f"{result.parameters[k].name} ({off[k]:.0f} tolerances)" for k in far)
        is_error = bool(off[far[0]] > _TOO_FAR)
        hint = (
            ": are drives and columns in the description's order, and is it this robot?" if is_error else ""
        )
        findings.append(Finding(is_error, f"far from what was expected: {named}{hint}"))
    at_bound = [
        item.name
        for item, value in zip(result.parameters, result.values, strict=True)
        if value <= item.bounds.lower or value >= item.bounds.upper
    ]
    if at_bound:
        findings.append(Finding(False, f"at a bound: {', '.join(at_bound)}"))
    estimated = slice(0, system.robot_count)
    poor = [
        item.name
        for item, part in zip(result.parameters[estimated], result.decided[estimated], strict=True)
        if part < 0.5
    ]
    if poor:
        few = ", ".join(poor[:6]) + (", ..." if len(poor) > 6 else "")
        findings.append(
            Finding(
                False,
                f"{format_count(len(poor), 'parameter')} decided by the tolerance more than by data: {few}",
            )
        )
    if not result.identifiability.information.is_clear:
        findings.append(
            Finding(
                False,
                "what the data show falls off into rounding without a step: which parameters nothing shows "
                "is in doubt",
            )
        )
    if result.degrees < 1:
        findings.append(
            Finding(False, "as many parameters as numbers measured: residuals say nothing of the model")
        )
    return findings


def _poor_fit(result: Calibration, causes: Sequence[Cause], unit: str) -> Finding:
    text = f"residuals are {result.noise_ratio:.2f} times the stated noise, beyond chance"
    if unit:
        text += f"; {unit}"
    elif causes:
        best = causes[0]
        number, symbol = shown_unit(best.unit)
        text += (
            f"; best explained by {best.name}: {best.size * number:.4g} +- {best.deviation * number:.2g} "
            f"{symbol} ({100.0 * best.explained:.0f} % of the excess)"
        )
    else:
        text += "; nothing known explains them: is the noise larger than stated?"
    return Finding(bool(unit or causes) or result.noise_ratio > 3.0, text)


def _small_residuals(result: Calibration) -> list[Finding]:
    """Whether the residuals are smaller than chance allows."""
    if result.degrees < 1 or result.probability < 1.0 - _POOR:
        return []
    text = f"residuals are {result.noise_ratio:.3g} times the stated noise: the noise is smaller than stated"
    return [Finding(False, text)]


def other_causes(system: System, optimum: Optimum) -> list[Cause]:
    """What outside the model would explain the residuals, best first."""
    from scipy.special import fdtrc

    campaign = with_loads(system.campaign)
    known = {item.name for item in system.parameters}
    candidates = [
        item for item in known_parameters(campaign.robot, campaign.encoders) if item.name not in known
    ]
    opening = opening_parameters(campaign.robot, candidates)
    loaded = campaign.forces is not None
    candidates = [
        item
        for item in candidates
        if item.name not in opening
        and item.kind != "number"
        and (loaded or item.kind not in ("compliance", "stretch"))
    ]
    wider = System(campaign, (*system.parameters[: system.robot_count], *candidates))
    names = [item.name for item in wider.parameters]
    values = np.zeros(wider.count)
    values[[names.index(item.name) for item in system.parameters]] = optimum.point.values
    trend, labels = _trends(system)
    reduced = wider.reduce(Point(values, optimum.point.states), optimum.weights, trend)
    J, C = optimum.reduced.J, covariance_of(system, optimum)
    r = optimum.reduced.r
    chi_square, degrees = float(r @ r), max(optimum.reduced.degrees - system.count, 1)
    tried = [(item.name, item.unit, names.index(item.name)) for item in candidates]
    tried += [(label, "", wider.count + k) for k, label in enumerate(labels)]
    result = []
    for name, unit, column in tried:
        c = reduced.J[:, column]
        rest = c - J @ (C @ (J.T @ c))
        square = float(rest @ rest)
        if square < 1e-12 * float(c @ c) or square == 0.0:
            continue
        size, gain = -float(rest @ r) / square, float(rest @ r) ** 2 / square
        left = max(chi_square - gain, 1e-300)
        chance = float(fdtrc(1.0, degrees, gain / left * degrees)) * len(tried)
        expected = wider.tolerance[column] if column < wider.count else np.inf
        if chance < _CAUSE and abs(size) < _TOO_FAR * expected:
            excess = max(chi_square - degrees, 1e-300)
            result.append(Cause(name, size, float(square**-0.5), unit, min(gain / excess, 1.0)))
    return sorted(result, key=lambda cause: -cause.explained)[:5]


def _trends(system: System) -> tuple[Array, list[str]]:
    """Rows of residuals that grow along the campaign, by encoder and by coordinate of devices (S, K, K)."""
    count, K = system.present.shape
    time = np.linspace(-1.0, 1.0, count)
    labels = []
    for k in range(K):
        name = system.block_names[system.blocks[k]]
        nth = int(np.sum(system.blocks[:k] == system.blocks[k]))
        labels.append(
            f"drift of {name}"
            + (f", number {nth + 1}" if np.sum(system.blocks == system.blocks[k]) > 1 else "")
        )
    return time[:, None, None] * np.eye(K), labels


def _validate(system: System, optimum: Optimum) -> Validation | None:
    """Fit without every fifth pose, and predict these; from the optimum, without what was left out there."""
    campaign, estimated = system.campaign, system.parameters[: system.robot_count]
    held = np.arange(campaign.count) % 5 == 2
    inside, outside = np.flatnonzero(~held), np.flatnonzero(held)
    fitted, test = System(campaign.subset(inside), estimated), System(campaign.subset(outside), estimated)
    try:
        start = Point(optimum.point.values, optimum.point.states[inside])
        again = minimise(fitted, start, optimum.weights[inside])
        ratios = []
        for values in (np.zeros(test.count), again.point.values):
            point = test.at(values, test.start().states)
            # Rounds of the best motions, parameters held.
            for _ in range(3):
                reduced = test.reduce(point, optimum.weights[outside])
                point = test.move(point, reduced, np.zeros(test.count))
            ratios.append(_typical_residual(test, point))
    except CalibrationError:
        return None
    return Validation(len(outside), *ratios)


def _typical_residual(system: System, point: Point) -> float:
    """Root of the median over the samples of the residuals' mean square for each degree of freedom."""
    rows = system.rows(point)
    s = np.linalg.svd(rows.A, compute_uv=False)
    rank = np.sum(s > 1e-9 * s[:, :1], axis=1)
    degrees = np.sum(system.present, axis=1) - rank
    squares = np.sum(rows.r**2, axis=1) / np.maximum(degrees, 1)
    return float(np.sqrt(np.median(squares[degrees > 0]))) if np.any(degrees > 0) else float("nan")
