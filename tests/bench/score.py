"""What becomes of faulty logs: `PYTHONPATH=src:tests python -m bench.score`.

Every kind of fault is put into logs of every robot, which are read, checked and identified as a user would.
Development uses even seeds; odd ones, with machines of their own, are for `--held-out` alone.

    named      a finding or a suspect has a right cause, of a signal of the faulty axis if it names one;
               causes that a suspect names as explaining the same count, too, and stand in the column "said"
    refused    an error or a misfit, without a cause
    misnamed   refused for a cause that is not right
    warned     accepted, wrong model, but notes call residuals large or correlated, or there are suspects; the
               total counts those of which all forces are "predicted well"
    hidden     accepted, wrong model, but a note says that these data cannot show this fault of this axis, up
               to which size, and what it does to the parameters, which take it up
    wrong      accepted, nothing said, but a base parameter is off
    right      accepted, and no base parameter is off: the fault does no harm

A base parameter is off by more than 5 standard deviations of the clean log of the same machine, and by 5 % of
it (of the largest of like kind of the same body, since moments may be zero), and by 3 deviations of its own
estimate unless forces are predicted poorly: where a fault adds noise and the intervals say so, they are
right.

Clean logs are `false alarm` if anything is found or suspected or they are refused, else `warned`, `wrong` or
`right`. `--coverage` prints instead how many of the true base parameters lie within their 95 % intervals,
with delay and offset estimated if `identify` can.
"""

from __future__ import annotations

import argparse
import inspect
import json
import re
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from bench.faults import FAULTS
from bench.logs import VARIANTS, Log, clean_log
from bench.plants import PLANTS
from nacelle.errors import NacelleError
from nacelle.identification import check_measurement, identify
from nacelle.identification.estimation.closed_loop import InstrumentalVariables
from nacelle.identification.identify import Identification

CLEAN = "no fault"
OUTCOMES = ("named", "refused", "misnamed", "right", "warned", "hidden", "wrong", "false alarm")
ESTIMATED = ("delay", "offset")
# Faults whose causes `identify` may estimate together with the parameters.
COVERED = (
    CLEAN,
    *(name for name, fault in FAULTS.items() if fault.causes & {*ESTIMATED} and "filter" not in fault.causes),
)
# Kinds of findings that name no cause.
_GENERIC = {"misfit", "reach", "branch"}
_DEVIATIONS, _PART, _OWN = 5.0, 0.05, 3.0


@dataclass(frozen=True)
class Outcome:
    """What became of one log.

    Attributes:
        fault: its name.
        robot: name of the robot.
        seed: of the log.
        outcome: one of `OUTCOMES`.
        said: causes that were named, or the error.
        worst: the base parameter that is farthest off, with deviations and percent; empty if refused.
    """

    fault: str
    robot: str
    seed: int
    outcome: str
    said: str
    worst: str = ""


@dataclass(frozen=True)
class Cause:
    """A cause that was named, and the signals that it is about."""

    name: str
    signals: tuple[str, ...]


def causes_of(entries: Iterable[Any]) -> list[Cause]:
    """Causes of findings (kind, signals) or suspects (cause, signal)."""
    causes = []
    for entry in entries:
        if hasattr(entry, "kind"):
            causes.append(Cause(entry.kind, tuple(entry.signals)))
        else:
            causes.append(Cause(entry.cause, (entry.signal,) if getattr(entry, "signal", "") else ()))
            causes += causes_of(getattr(entry, "alternatives", ()))
    return causes


def is_right(cause: Cause, log: Log, right: frozenset[str]) -> bool:
    """Whether a cause is a right one, and about an axis that the fault concerns."""
    axes = {leg for leg in log.plant.legs for signal in cause.signals if f".{leg}." in signal}
    return cause.name in right and (not axes or not log.concerned or bool(axes & set(log.concerned)))


def identified(log: Log, estimate: bool = False) -> Identification:
    """Identify as a user would; base parameters come from the cache."""
    known = inspect.signature(identify).parameters
    options: dict[str, Any] = {"estimate": ESTIMATED} if estimate and "estimate" in known else {}
    return identify(log.robot, log.read(), method=InstrumentalVariables(parameters=log.base), **options)


@cache
def deviations(robot: str, variant: int) -> dict[str, float]:
    """Standard deviations of the base parameters from a clean log of a machine, by name."""
    result = identified(clean_log(robot, variant))
    return dict(zip(result.base.names, result.estimator.std_.tolist(), strict=True))


@dataclass(frozen=True)
class Distance:
    """How far a base parameter is off: in deviations of a clean log, as a part of it, in its own.

    Attributes:
        name: of the parameter.
        deviations: of a clean log.
        part: of the parameter.
        own: deviations of this estimate.
        poor: whether forces are predicted poorly.
    """

    name: str
    deviations: float
    part: float
    own: float
    poor: bool

    @property
    def is_wrong(self) -> bool:
        """Whether it is beyond the bounds; its own deviation is no excuse if forces are predicted poorly."""
        return self.deviations > _DEVIATIONS and self.part > _PART and (self.own > _OWN or self.poor)

    def __str__(self) -> str:
        return f"{self.name} {self.deviations:.3g} deviations, {100.0 * self.part:.3g} %"


def _alike(name: str) -> str:
    """The body or joint of a base parameter with its kind, "m" and "I" for all moments."""
    body, _, kind = name.rpartition(".")
    return f"{body}.{kind[0]}{len(kind)}" if kind[0] in "mI" else name


def farthest(log: Log, result: Identification) -> Distance:
    """The base parameter that is farthest off, wrong ones first."""
    truth, clean = log.true_values, deviations(log.plant.name, log.seed % VARIANTS)
    size: dict[str, float] = {}
    for name, value in truth.items():
        size[_alike(name)] = max(size.get(_alike(name), 0.0), abs(value))
    estimates = zip(result.base.names, result.estimator.coef_, result.estimator.std_, strict=False)
    poor = any("poorly" in note for note in result.fit.describe())
    distances = []
    for name, value, own in estimates:
        if name in truth and name in clean:
            error = abs(value - truth[name])
            part = error / size[_alike(name)]
            distances.append(Distance(name, error / clean[name], part, error / own, poor))
    return max(distances, key=lambda entry: (entry.is_wrong, entry.deviations))


def _is_fine(note: str) -> bool:
    """Whether a note on the force of an actuator says nothing against the model."""
    return "correlated" not in note and ("down to the noise" in note or "predicted well" in note)


def score(log: Log, fault: str) -> Outcome:
    """Read, check and identify a log."""
    right = frozenset() if fault == CLEAN else FAULTS[fault].causes
    key = (fault, log.plant.name, log.seed)
    try:
        result = identified(log)
    except NacelleError as error:
        return _refused(log, key, right, error)
    causes = causes_of([*(f for part in result.findings for f in part), *getattr(result, "suspects", ())])
    said = ", ".join(dict.fromkeys(cause.name for cause in causes))
    distance = farthest(log, result)
    if fault == CLEAN and (causes or not result.ok):
        return Outcome(*key, "false alarm", said or "misfit", str(distance))
    if any(is_right(cause, log, right) for cause in causes):
        return Outcome(*key, "named", said, str(distance))
    if not result.ok:
        return Outcome(*key, "misnamed" if said else "refused", said or "misfit", str(distance))
    notes = [note for note in result.fit.describe() if not _is_fine(note)]
    notes.sort(key=lambda note: "poorly" not in note)
    if not distance.is_wrong and not (fault == CLEAN and notes):
        return Outcome(*key, "right", said, str(distance))
    if notes or causes:
        return Outcome(*key, "warned", said or "; ".join(notes[:1]), str(distance))
    hidden = any(is_right(cause, log, right) for cause in causes_of(getattr(result, "hidden", ())))
    return Outcome(*key, "hidden" if hidden else "wrong", said, str(distance))


def _refused(log: Log, key: tuple[str, str, int], right: frozenset[str], error: NacelleError) -> Outcome:
    """The outcome of a log that an error refuses: the checks say why."""
    suspects = getattr(error, "suspects", ())
    try:
        causes = causes_of([*check_measurement(log.read()), *suspects])
    except NacelleError:
        causes = causes_of(suspects)
    said = ", ".join(dict.fromkeys(cause.name for cause in causes)) or str(error).splitlines()[0][:80]
    if key[0] == CLEAN:
        return Outcome(*key, "false alarm", said)
    if any(is_right(cause, log, right) for cause in causes):
        return Outcome(*key, "named", said)
    specific = [cause for cause in causes if cause.name not in _GENERIC]
    return Outcome(*key, "misnamed" if specific else "refused", said)


def faulty_log(fault: str, robot: str, seed: int) -> Log:
    """The log of a fault, or the clean one."""
    return clean_log(robot, seed) if fault == CLEAN else FAULTS[fault].log(robot, seed)


def coverage(fault: str, robot: str, seed: int) -> list[bool]:
    """Whether each true base parameter lies within its 95 % interval; nothing if the log is refused."""
    log = faulty_log(fault, robot, seed)
    try:
        result = identified(log, estimate=True)
    except NacelleError:
        return []
    truth = log.true_values
    rows = zip(result.base.names, result.estimator.intervals(), strict=False)
    return [bool(low <= truth[name] <= high) for name, (low, high) in rows]


def table(outcomes: list[Outcome], robots: list[str]) -> list[str]:
    """A row for each fault: outcomes of every robot, counted."""
    lines = [f"{'fault':54}" + "".join(f"{robot:24}" for robot in robots) + "said"]
    for name in dict.fromkeys(entry.fault for entry in outcomes):
        rows = [entry for entry in outcomes if entry.fault == name]
        line = f"{name:54}"
        for robot in robots:
            counts = Counter(entry.outcome for entry in rows if entry.robot == robot)
            line += f"{', '.join(f'{counts[kind]} {kind}' for kind in OUTCOMES if counts[kind]) or '-':24}"
        said = Counter(entry.said[:60] for entry in rows if entry.said)
        lines.append(line + "; ".join(text for text, _ in said.most_common(2)))
    counts = Counter(entry.outcome for entry in outcomes)
    total = ", ".join(f"{counts[kind]} {kind}" for kind in OUTCOMES if counts[kind])
    well = sum(entry.outcome == "warned" and "predicted well" in entry.said for entry in outcomes)
    return [*lines, f"{len(outcomes)} logs: {total}", f"warned, and all forces predicted well: {well}"]


def coverage_table(robots: list[str], faults: list[str], seeds: list[int]) -> list[str]:
    """A row for each fault: the part of true base parameters within their intervals, for every robot."""
    supported = "estimate" in inspect.signature(identify).parameters
    lines = [f"estimated with the parameters: {', '.join(ESTIMATED) if supported else 'nothing'}"]
    lines.append(f"{'fault':54}" + "".join(f"{robot:>18}" for robot in robots))
    for name in faults:
        line = f"{name:54}"
        for robot in robots:
            runs = [coverage(name, robot, seed) for seed in seeds]
            inside = [value for run in runs for value in run]
            part = f"{np.mean(inside):.3f}" if inside else "-"
            line += f"{part + f' ({sum(map(bool, runs))} of {len(runs)})':>18}"
        lines.append(line)
        print(lines[-1], file=sys.stderr, flush=True)
    return lines


def scores(robots: list[str], faults: list[str], seeds: list[int], kept: Path | None = None) -> list[Outcome]:
    """Outcomes of all faults, robots and seeds; those that a file keeps are not computed again."""
    lines = kept.read_text().splitlines() if kept and kept.exists() else []
    known = {(o.fault, o.robot, o.seed): o for o in (Outcome(**json.loads(line)) for line in lines)}
    outcomes = []
    for name in faults:
        for robot in robots:
            for seed in seeds if name == CLEAN or robot in FAULTS[name].robots else []:
                entry = known.get((name, robot, seed))
                if entry is None:
                    entry = score(faulty_log(name, robot, seed), name)
                    print(*asdict(entry).values(), sep=" | ", file=sys.stderr, flush=True)
                    if kept:
                        with kept.open("a") as file:
                            file.write(json.dumps(asdict(entry)) + "\n")
                outcomes.append(entry)
    return outcomes


def main() -> None:
    """Run the bench as the options say."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--robots", nargs="+", choices=list(PLANTS), default=list(PLANTS))
    parser.add_argument("--seeds", default="0:2", help="a:b, numbers of the logs of each fault and robot")
    parser.add_argument("--held-out", action="store_true", help="odd seeds, kept out of development")
    parser.add_argument("--faults", default="", help="a pattern of names; all if left out")
    parser.add_argument("--clean", action="store_true", help="logs without faults instead")
    parser.add_argument("--coverage", action="store_true", help="coverage of the intervals instead")
    parser.add_argument("--keep", type=Path, help="a file of outcomes, which is continued")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    first, last = map(int, options.seeds.split(":"))
    seeds = [2 * k + options.held_out for k in range(first, last)]
    names = [CLEAN] if options.clean else list(COVERED) if options.coverage else list(FAULTS)
    names = [name for name in names if re.search(options.faults, name)]
    if options.coverage:
        print(*coverage_table(options.robots, names, seeds), sep="\n")
        return
    outcomes = scores(options.robots, names, seeds, options.keep)
    if options.json:
        print(json.dumps([asdict(entry) for entry in outcomes], indent=1))
        return
    print(*table(outcomes, options.robots), sep="\n")


if __name__ == "__main__":
    main()
