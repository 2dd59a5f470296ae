"""What may be wrong with a log or a description: faults that the residuals of a fit show, with their sizes.

A fault of the size theta changes the recorded forces to first order by S theta (`effects`),

    b_t = Y_t beta + S_t theta + e_t          S_t (rows,)

and is tested without a new fit (Frisch and Waugh): with Q the weighted instruments, A = Q^T Y and r the
residuals,

    q = (1 - Q A^-T Y^T) W S,    theta = q^T r / q^T S,    var theta = var(q^T e) / (q^T S)^2

the variance by the autocovariance of the residuals, as that of the parameters (`parameter_covariance`). The
fault that is the most certain is named. Another one explains the same if, once it is taken into account, the
first is certain no more, or if it is nearly as certain where residuals stay above the noise, so that the
first order does not tell: the data cannot tell them apart, and both are named. Further faults are tested
together with the first, as long as each counts by what it explains or by the bias it has left in the
parameters. All zeros together, or all offsets, are a fault, too, of as many numbers as there are actuators.

What parameters take up leaves nothing to test: a fault below four deviations moves them by A^-1 Q^T S theta
all the same (Baarda's external reliability). Faults of ordinary size that do so are named as what these data
cannot show (`hidden_faults`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from nacelle.identification.data.preparation import Samples
from nacelle.identification.effects import ESTIMATED, Column, effect_columns, sentence
from nacelle.identification.estimation.estimator import Estimator, parameter_covariance
from nacelle.identification.tolerances import GeometryErrors
from nacelle.one_thread import one_blas_thread
from nacelle.spatial.scalar import Array

# A fault is certain from so many deviations on, and counts if it explains so much of the weighted squares of
# the residuals, or has moved a parameter by so many of its deviations.
_CERTAIN, _EXPLAINED, _BIAS = 4.0, 0.05, 1.0
# Behind a fault that explains the same, another is left with less than this many deviations; where residuals
# stay above the noise, effects of second order count, and one explains the same from this part of the
# certainty and this correlation on. Lengths are not
# described wrong by more than this part of the robot's size, m, nor directions by more than this, rad.
_EXPLAINED_AWAY, _ALIKE, _CORRELATED, _WRONG_LENGTH, _WRONG_ANGLE = 3.0, 0.75, 0.5, 0.1, 0.5
# Effects are equal if their certainties differ by less than this part.
_EQUAL = 0.02
# Zeros or offsets of several actuators together explain more than one fault if their certainty is so much
# larger.
_SEVERAL = 1.3
# Faults that are taken together, and those that are named for one another, at most; a column that the
# parameters leave less of than this part is theirs, and one that is so small against the forces, rounding.
_MOST, _MOST_ALIKE, _LEFT, _NO_EFFECT = 3, 12, 1e-6, 1e-9
# Of a ripple, whose wave number follows from the residuals, parameters must leave more, and it must be more
# certain: the best of hundreds of waves.
_LEFT_OF_RIPPLE, _CERTAIN_RIPPLE = 0.3, 7.0
# Sizes that are ordinary: of an offset over the force's rms, of zeros in rad or robot sizes, of lengths over
# the robot's size, of gravity's tilt in rad. A hidden fault of that size counts if it moves a parameter by so
# many deviations, and by this part of the largest of its kind; it is at most so many times as large.
_ORDINARY = {"offset": 0.1, "zero": 0.01, "geometry": 0.02, "gravity": 0.05}
_MOVES, _MOVES_PART, _LARGEST = 3.0, 0.05, 5.0
# A further fault has to explain more of what is left: the first one's is known to first order alone. Wrong
# gears and counts a turn are ratios of whole numbers, not near one.
_FURTHER, _SMALLEST_GEAR = 0.4, 0.005


@dataclass(frozen=True)
class Suspect:
    """A fault that the data show.

    Attributes:
        cause: one of `CAUSES`.
        signal: what is concerned, such as "force.left.motor"; "force" for all forces; for a geometry numbers
            of the description, such as "geometry.left.joints.elbow.at.x".
        size: of the fault, SI units.
        deviation: of the size.
        unit: "s", "N", "N m", "rad", "m", or "" for a ratio.
        explained: part of the weighted squares of the residuals that it explains, with those before it.
        bias: largest error that it has made in a parameter, in deviations.
        sensitivity: root mean square of the largest force's change for one unit of it, N or N m.
        alternatives: faults that these data cannot tell from it.
    """

    cause: str
    signal: str
    size: float
    deviation: float
    unit: str
    explained: float
    bias: float
    sensitivity: float = 0.0
    alternatives: tuple[Suspect, ...] = field(default=())

    @property
    def is_material(self) -> bool:
        """Whether parameters that were estimated without it are wrong."""
        return self.explained > 0.2 or self.bias > 2.0

    def describe(self) -> str:
        """What it is, with its size, and what explains the same."""
        everything = (self, *self.alternatives)
        what = sentence(self.cause, self.signal, self.size, self.deviation, self.unit)
        apart = "; these data do not tell it from: " if self.alternatives else ""
        apart += ", ".join(each.label for each in self.alternatives)
        remedies: dict[str, str] = {}
        for each in everything:
            remedies.setdefault(each.cause, _remedy(each))
        lengths = [each for each in everything if each.cause == "geometry"]
        acts = ""
        if lengths and lengths[0].unit == "m":
            length = lengths[0].signal.replace("geometry.", "")
            acts = f"; 1 mm of {length} changes a force by {1e-3 * lengths[0].sensitivity:.2g} N or N m"
        return (
            f"suspect: {what}; it explains {100.0 * self.explained:.0f} % of the residuals{apart}{acts}; "
            + "; ".join(remedies.values())
        )

    @property
    def label(self) -> str:
        """Cause, signal and size."""
        name = self.signal.replace("geometry.", "").replace("force.", "").replace("q.", "")
        size = f"{1.0 + self.size:.4g} times" if self.unit == "" else f"{self.size:.2g} {self.unit}"
        return f"{self.cause} of {name} ({size})"


@dataclass(frozen=True)
class HiddenFault:
    """A fault that the parameters take up, so that these data would not show it.

    Attributes:
        cause: one of `CAUSES`.
        signal: what is concerned, as of a `Suspect`.
        size: up to which it stays hidden, SI units.
        unit: of the size.
        parameter: that it moves most, measured in deviations.
        moves: by how many deviations.
        part: by which part of the largest parameter of its kind.
    """

    cause: str
    signal: str
    size: float
    unit: str
    parameter: str
    moves: float
    part: float

    def describe(self) -> str:
        """What is hidden, and what it does."""
        name = self.signal.partition(".")[2]
        amount = f"up to {self.size:.2g} {self.unit}"
        what = {
            "offset": f"an offset of the force of {name} of {amount}",
            "zero": f"a zero of {name} that is {amount} off",
            "geometry": f"{name} described {amount} off",
            "gravity": f"gravity tilted by {amount} towards {name}",
        }[self.cause]
        return f"{what} (moves {self.parameter} by {self.moves:.0f} deviations, {100.0 * self.part:.0f} %)"


def _remedy(suspect: Suspect) -> str:
    """What to do about a fault."""
    cause = suspect.cause
    if cause in ESTIMATED:
        return f"estimate: {cause}"
    numbers = suspect.signal.replace("geometry.", "number.").split(", ")
    options = "".join(f" --parameter {number}" for number in numbers) + " --parameter 'zero.*'"
    return {
        "geometry": f"`nacelle calibrate ROBOT --plan 20{options}` says where to measure it, and with "
        "DATA how large it is",
        "gravity": "check `gravity` of the description and how the base is mounted",
        "stribeck": "describe this friction",
        "ripple": "compensate it in the drive, or describe it as friction",
    }[cause]


# ---- tests of faults


class _Tested(NamedTuple):
    """A fault that was tested: its effect, and how far from the described forces it leaves those required.

    Then the residuals that it leaves (M used, rows), what the parameters leave of its effect, and q.
    """

    suspect: Suspect
    column: Column
    away: float
    residuals: Array
    effect: Array
    score: Array

    @property
    def certainty(self) -> float:
        """Its size in deviations."""
        return abs(self.suspect.size) / self.suspect.deviation if self.suspect.deviation > 0.0 else 0.0

    def is_like(self, tested: _Tested) -> bool:
        """Whether two effects are nearly one behind the parameters."""
        squares = (self.score @ self.effect) * (tested.score @ tested.effect)
        return bool(abs(self.score @ tested.effect) > _CORRELATED * np.sqrt(max(squares, 0.0)))


def _test(estimator: Estimator, columns: Sequence[Column], before: Sequence[Column]) -> list[_Tested]:
    """Faults behind those that were taken before, those that the parameters leave something of."""
    data, moments = estimator.regression_, estimator.moments_
    k, shape = moments.along.shape[1], data.force.shape
    X, Q = (data.Y @ moments.along).reshape(-1, k), moments.Q
    weights = moments.weights.ravel()
    taken = [column.values.reshape(-1, 1) for column in before]
    X = np.concatenate([X, *taken], axis=1)
    Q = np.concatenate([Q, *(weights[:, None] * column for column in taken)], axis=1)
    A = Q.T @ X
    A[:k, :k] += moments.prior
    inverse = np.linalg.inv(A)
    residuals = (data.force - data.Y @ estimator.coef_).ravel() * np.repeat(data.used, shape[1])
    step = inverse @ (Q.T @ residuals)
    residuals = residuals - X @ step
    now = estimator.coef_ - data.base.values + moments.along @ step[:k]
    squares = float(np.sum(weights * residuals**2))
    deviations = np.where(np.isfinite(estimator.std_) & (estimator.std_ > 0.0), estimator.std_, np.inf)
    result = []
    for column in columns:
        s = column.values.ravel()
        q = weights * s
        q = q - Q @ (inverse.T @ (X.T @ q))
        kept = float(q @ s)
        least = _LEFT_OF_RIPPLE if column.cause == "ripple" else _LEFT
        if not kept > least * float(np.sum(weights * s**2)):
            continue
        size = float(q @ residuals) / kept
        on_parameters = inverse @ (Q.T @ s)
        left = s - X @ on_parameters
        new = residuals - size * left
        P, score = (left / kept).reshape(*shape, 1), q.reshape(*shape, 1)
        variance = parameter_covariance(data, new.reshape(shape), P, score, np.array([[1.0 / kept]]))[0, 0]
        explained = 1.0 - float(np.sum(weights * new**2)) / squares if squares > 0.0 else 0.0
        change = moments.along @ on_parameters[:k] * size
        suspect = Suspect(
            *(column.cause, column.signal, size, float(np.sqrt(variance)), column.unit, explained),
            bias=float(np.max(np.abs(change) / deviations, initial=0.0)),
            sensitivity=float(np.max(np.sqrt(np.mean(column.values[data.used] ** 2, axis=0)))),
        )
        away = float(np.linalg.norm(data.Y @ (now - change)))
        result.append(_Tested(suspect, column, away, new.reshape(shape)[data.used], left, q))
    return result


def _is_plausible(tested: _Tested, length: float) -> bool:
    """Whether a fault can have this size, on a robot of a length."""
    suspect = tested.suspect
    if suspect.cause == "gear":
        return abs(suspect.size) >= _SMALLEST_GEAR
    if suspect.cause in ("geometry", "gravity"):
        return abs(suspect.size) <= (_WRONG_LENGTH * length if suspect.unit == "m" else _WRONG_ANGLE)
    return True


def _counts(tested: _Tested, is_first: bool) -> bool:
    """Whether a fault is certain, and matters."""
    suspect = tested.suspect
    matters = suspect.explained > (_EXPLAINED if is_first else _FURTHER)
    certain = _CERTAIN_RIPPLE if suspect.cause == "ripple" else _CERTAIN
    return (matters or (is_first and suspect.bias > _BIAS)) and tested.certainty > certain


def _most_certain(
    estimator: Estimator,
    counted: Sequence[_Tested],
    tested: Sequence[_Tested],
    before: Sequence[Column],
    floor: Array | float,
) -> _Tested:
    """The most certain of the faults that count, with those of all tested that the data cannot tell from it.

    Of exactly equal effects, as one force too large or all others too small, it is the one that leaves the
    forces nearest to those of the description.
    """
    first = max(counted, key=lambda each: each.certainty)
    at_noise = not np.any(np.sqrt(np.mean(first.residuals**2, axis=0)) > floor)
    alike = []
    for each in sorted(tested, key=lambda each: -each.certainty):
        if each is first or each.certainty < _EXPLAINED_AWAY:
            continue
        if not at_noise and each.certainty > _ALIKE * first.certainty and each.is_like(first):
            alike.append(each)
        else:
            behind = _test(estimator, [first.column], [*before, each.column])
            if not behind or behind[0].certainty < _EXPLAINED_AWAY:
                alike.append(each)
    equal = [each for each in alike if each.certainty > (1.0 - _EQUAL) * first.certainty]
    best = min([first, *equal], key=lambda each: each.away)
    others = [each.suspect for each in [first, *alike] if each is not best][:_MOST_ALIKE]
    return best._replace(suspect=replace(best.suspect, alternatives=tuple(others)))


class _Group(NamedTuple):
    """Zeros of all actuators together, or offsets: the certainty of all, all, and those that are certain."""

    certainty: float
    columns: list[Column]
    members: list[_Tested]


def _several(estimator: Estimator, columns: Sequence[Column]) -> list[_Group]:
    """Zeros of all actuators together, and offsets.

    The squares of certainties of one after the other, each behind those before, add up to that of all.
    """
    result = []
    for cause in ("zero", "offset"):
        chosen = [column for column in columns if column.cause == cause]
        total, members = 0.0, []
        for k, column in enumerate(chosen):
            behind = _test(estimator, [column], chosen[:k])
            total += behind[0].certainty ** 2 if behind else 0.0
            alone = _test(estimator, [column], [*chosen[:k], *chosen[k + 1 :]])
            members += [each for each in alone if each.certainty > _CERTAIN]
        if len(members) > 1:
            members.sort(key=lambda each: -each.certainty)
            result.append(_Group(float(np.sqrt(total)), chosen, members))
    return result


class FaultTests(NamedTuple):
    """What the residuals of a fit show of faults.

    Attributes:
        suspects: the most certain one first.
        hidden: faults that the parameters take up, those that move them most first.
        geometry: how errors of lengths and zeros act on the parameters.
    """

    suspects: tuple[Suspect, ...]
    hidden: tuple[HiddenFault, ...]
    geometry: GeometryErrors


@one_blas_thread
def try_faults(
    estimator: Estimator, samples: Sequence[Samples], causes: Sequence[str], floor: Array | float = np.inf
) -> FaultTests:
    """Test the residuals of a fit for faults.

    Args:
        estimator: after `fit`.
        samples: what it was fitted to.
        causes: of `CAUSES`.
        floor: residuals up to which forces are explained to the noise (rows,), N or N m.
    """
    length, force = estimator.base_.robot.size, estimator.regression_.force
    columns = [
        column
        for column in effect_columns(estimator, samples, causes)
        if length * np.max(np.abs(column.values)) > _NO_EFFECT * np.max(np.abs(force))
    ]
    alone = _test(estimator, columns, [])
    return FaultTests(
        _find(estimator, columns, alone, floor),
        _find_hidden(estimator, columns, alone),
        _geometry_errors(estimator, columns, alone),
    )


def _find(
    estimator: Estimator, columns: Sequence[Column], alone: Sequence[_Tested], floor: Array | float
) -> tuple[Suspect, ...]:
    """The most certain faults, from tests of each alone."""
    length = estimator.base_.robot.size
    chosen: list[_Tested] = []
    while len(chosen) < _MOST:
        before = [tested.column for tested in chosen]
        left = [column for column in columns if not any(column is each for each in before)]
        now = _test(estimator, left, before) if chosen else alone
        tested = [each for each in now if _is_plausible(each, length)]
        counted = [each for each in tested if _counts(each, not chosen)]
        if not counted:
            break
        several = [] if chosen else _several(estimator, left)
        best = max(several, key=lambda each: each.certainty, default=None)
        if best is not None and best.certainty > _SEVERAL * max(each.certainty for each in counted):
            return tuple(each.suspect for each in best.members)
        chosen.append(_most_certain(estimator, counted, tested, before, floor))
        if not before:
            chosen[0] = _or_several(estimator, chosen[0], several)
    return tuple(tested.suspect for tested in chosen)


def _or_several(estimator: Estimator, first: _Tested, several: Sequence[_Group]) -> _Tested:
    """A fault, with the zeros or offsets of several actuators behind which it is certain no more."""
    more: list[Suspect] = []
    for group in several:
        if group.certainty > first.certainty and first.suspect.cause != group.columns[0].cause:
            behind = _test(estimator, [first.column], group.columns)
            if not behind or behind[0].certainty < _EXPLAINED_AWAY:
                more += [each.suspect for each in group.members]
    known = {(each.cause, each.signal) for each in first.suspect.alternatives}
    more = [each for each in more if (each.cause, each.signal) not in known]
    alternatives = (*first.suspect.alternatives, *more)[:_MOST_ALIKE]
    return first._replace(suspect=replace(first.suspect, alternatives=alternatives))


# ---- faults that the parameters take up


def _find_hidden(
    estimator: Estimator, columns: Sequence[Column], alone: Sequence[_Tested]
) -> tuple[HiddenFault, ...]:
    """Faults of ordinary size below the deviations of a suspect that move parameters."""
    data = estimator.regression_
    sizes, std = _sizes_of_kind(estimator), estimator.std_
    known = np.isfinite(std) & (std > 0.0)
    tested = {(each.suspect.cause, each.suspect.signal): each.suspect for each in alone}
    force = np.sqrt(np.mean(data.force[data.used] ** 2, axis=0))
    result = []
    for column in columns:
        if column.cause not in _ORDINARY:
            continue
        ordinary = _ORDINARY[column.cause]
        if column.cause == "offset":
            ordinary *= float(force[int(np.argmax(np.max(np.abs(column.values), axis=0)))])
        elif column.unit == "m":
            ordinary *= data.base.robot.size
        suspect = tested.get((column.cause, column.signal))
        least = _CERTAIN * suspect.deviation if suspect else np.inf
        size = min(least, _LARGEST * ordinary)
        change = _on_parameters(estimator, column)
        deviations = np.where(known, np.abs(change) / np.where(known, std, 1.0), 0.0)
        part = np.abs(change) / sizes
        usual = min(size, ordinary)
        counts = (deviations * usual > _MOVES) & (part * usual > _MOVES_PART)
        if np.any(counts):
            k = int(np.argmax(np.where(counts, deviations, 0.0)))
            name, moves = data.base.names[k], float(size * deviations[k])
            result.append(
                HiddenFault(
                    column.cause, column.signal, size, column.unit, name, moves, float(size * part[k])
                )
            )
    return tuple(sorted(result, key=lambda each: -each.moves))


def _on_parameters(estimator: Estimator, column: Column) -> Array:
    """How far one unit of a fault moves the estimates (p,)."""
    moments = estimator.moments_
    return np.asarray(moments.along @ (moments.inverse @ (moments.Q.T @ column.values.ravel())))


def _geometry_errors(
    estimator: Estimator, columns: Sequence[Column], alone: Sequence[_Tested]
) -> GeometryErrors:
    """How errors of single lengths and zeros act on the estimates, and what the residuals show of them."""
    names = [frozenset(column.signal.split(", ")) for column in columns]
    # Equal numbers of several legs are several numbers.
    chosen = [
        column
        for column, its in zip(columns, names, strict=True)
        if column.cause in ("geometry", "zero") and not any(fewer < its for fewer in names)
    ]
    tested = {id(each.column): each for each in alone}
    roots = np.sqrt(estimator.moments_.weights.ravel())
    directions, sizes = np.zeros((len(chosen), len(roots))), np.zeros((2, len(chosen)))
    for k, column in enumerate(chosen):
        if id(column) in tested:
            result = tested[id(column)]
            scaled = np.divide(result.score, roots, out=np.zeros_like(roots), where=roots > 0.0)
            directions[k] = scaled / np.linalg.norm(scaled) / result.suspect.deviation
            sizes[:, k] = result.suspect.size, result.suspect.deviation**-2
    slopes = [_on_parameters(estimator, column) for column in chosen]
    return GeometryErrors(
        np.reshape(slopes, (len(chosen), -1)).T,
        directions @ directions.T,
        sizes[0] * sizes[1],
        np.array([column.unit == "rad" for column in chosen]),
    )


def _sizes_of_kind(estimator: Estimator) -> Array:
    """The largest estimate of a parameter's kind, for moments of its body, since one may be zero (p,)."""
    names = estimator.base_.names
    kinds = []
    for name in names:
        body, _, kind = name.rpartition(".")
        kinds.append(f"{body}.{kind[0]}{len(kind)}" if kind[:1] in ("m", "I") else name)
    values = np.maximum(np.abs(estimator.coef_), np.abs(estimator.base_.values))
    largest: dict[str, float] = {}
    for kind, value in zip(kinds, values, strict=True):
        largest[kind] = max(largest.get(kind, 0.0), float(value))
    return np.array([largest[kind] or np.inf for kind in kinds])
