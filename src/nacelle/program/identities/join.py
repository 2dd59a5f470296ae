"""Which values are the sum, difference, product or constant multiple of two others: a join of numbers.

For c = a + b the difference c - a is looked up, for all c and a at once, in a table of the values at the
first sample; products are sums of logarithms; multiples have the same ratio between two samples. What is near
is held against the other samples in double, and the few that remain against 50 digits (`values`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from decimal import localcontext
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from nacelle.program.identities.noise import NUMBERS, Array, largest
from nacelle.program.identities.values import Making, Ref, Values
from nacelle.program.precise import arithmetic
from nacelle.spatial.rounding import ULPS

Places = NDArray[np.integer[Any]]
Mask = NDArray[np.bool_]

# How near numbers are in double for a closer look, over the sizes of the terms.
_NEAR = 1e-11
# Numbers are looked up by the last bits of their multiples of a step, 2^-40 of the largest: sums that cancel
# to a thousandth have the rounding of a robot's numbers in their last ten bits.
_STEPS, _MASK = 40, (1 << 20) - 1
# Results that are looked up at once, and multiples of one value that are looked at.
_ROWS = 32
_MULTIPLES = 6


def other_makings(values: Values, present: Sequence[int], wanted: Sequence[int]) -> dict[int, list[Making]]:
    """Operations on some classes that make others.

    Args:
        values: the values of a program.
        present: classes that are computed; none of them constant.
        wanted: classes of those that are to be made.
    """
    makings: dict[int, list[Making]] = defaultdict(list)
    if not len(present) or not len(wanted):
        return makings
    table = np.array([values.values[k] for k in present])
    good = np.all(np.isfinite(table), axis=1) & np.all(table != 0.0, axis=1)
    classes, table = np.array(present)[good], table[good]
    inside = np.isin(classes, np.array(wanted))
    with localcontext(arithmetic()), np.errstate(all="ignore"):
        for c, making in _sums(values, classes, table, inside):
            makings[c].append(making)
        for c, making in _products(values, classes, table, inside):
            makings[c].append(making)
        for c, making in _multiples(values, classes, table, inside):
            makings[c].append(making)
    return makings


def _looked_up(column: Array, targets: Array, sizes: Array) -> tuple[Places, Places, Places]:
    """Places (target, a, b) with column[a] + column[b] = target to `_NEAR` of the sizes of the terms.

    They are in the order of the targets, then of a. Of two terms one is at least half the target: only such
    are looked up for all targets, and those smaller than half are what they were found with.
    """
    none = np.zeros(0, dtype=np.intp)
    if not len(column) or not len(targets):
        return none, none, none
    order = np.argsort(column, kind="stable")
    ordered, last = column[order], len(column) - 1
    # The numbers in whole steps; sums of them are those of the steps, but for one.
    step = max(float(np.max(np.abs(column))), 1e-300) * 2.0**-_STEPS
    whole = np.rint(column / step).astype(np.int64) & _MASK
    goals = (np.rint(targets / step).astype(np.int64) & _MASK).astype(np.intp)
    once = np.zeros(_MASK + 1, dtype=bool)
    for shift in (-1, 0, 1):
        once[(whole + shift) & _MASK] = True
    # Twice, so that differences of last bits need not be cut to them.
    present = np.concatenate([once, once])
    below = (_MASK + 1 - whole).astype(np.intp)
    ordered_below = below[order]
    reach = 4.0 * _NEAR * (np.abs(column) + sizes)
    slack = 16.0 * _NEAR * float(np.max(np.abs(column)) + np.max(np.abs(targets)) + np.max(sizes))
    found = [none]
    by_size = np.argsort(targets, kind="stable")
    for start in range(0, len(targets), _ROWS):
        rows = by_size[start : start + _ROWS]
        first = int(np.searchsorted(ordered, 0.5 * targets[rows[0]] - slack))
        if first > last:
            break
        places = goals[rows, None] + ordered_below[first:]
        # Of one dimension, in which few places that are true are found four times as fast.
        row, a = np.divmod(np.flatnonzero(present.take(places, mode="clip")), last + 1 - first)
        row, a = rows[row], order[a + first]
        difference = targets[row] - column[a]
        width = reach[a] + 4.0 * _NEAR * np.abs(difference)
        low, high = (np.searchsorted(ordered, difference + w, side) for w, side in _window(width))
        some = high > low
        row, a, low, number = row[some], a[some], low[some], (high - low)[some]
        # All others of the windows, one behind the other.
        starts = np.cumsum(number) - number
        other = np.arange(int(np.sum(number))) + np.repeat(low - starts, number)
        found += [row * (last + 1) + a, np.repeat(row, number) * (last + 1) + order[other]]
    row, a = np.divmod(np.unique(np.concatenate(found)), last + 1)
    likely = present.take(goals[row] + below[a], mode="clip")
    row, a = row[likely], a[likely]
    difference = targets[row] - column[a]
    margin = _NEAR * (np.abs(difference) + sizes[a])
    place = np.minimum(np.searchsorted(ordered, difference - margin), last)
    near = np.abs(ordered[place] - difference) <= 2.0 * margin
    return row[near], a[near], order[place[near]]


def _window(width: Array) -> tuple[tuple[Array, Literal["left"]], tuple[Array, Literal["right"]]]:
    """Both ends of a window about a number, and on which side of equal numbers they are."""
    return (-width, "left"), (width, "right")


def _sums(values: Values, classes: Places, table: Array, inside: Mask) -> Iterator[tuple[int, Making]]:
    signed = np.concatenate([table, -table])
    refs = np.concatenate([2 * classes, 2 * classes + 1])
    targets = np.flatnonzero(inside)
    t, a, b = _looked_up(signed[:, 0], table[targets, 0], np.abs(signed[:, 0]))
    c = targets[t]
    apart = np.abs(signed[a] + signed[b] - table[c])
    near = np.all(apart <= 4.0 * _NEAR * (np.abs(signed[a]) + np.abs(signed[b])), axis=1)
    near &= (refs[a] <= refs[b]) & (refs[a] >> 1 != classes[c]) & (refs[b] >> 1 != classes[c])
    for k, first, second in zip(classes[c[near]], refs[a[near]], refs[b[near]], strict=True):
        if _is_sum(values, int(k), int(first), int(second)):
            yield int(k), (0, ("add", int(first), int(second)))


def _products(values: Values, classes: Places, table: Array, inside: Mask) -> Iterator[tuple[int, Making]]:
    logarithm = np.log(np.abs(table[:, 0]))
    targets = np.flatnonzero(inside)
    t, a, b = _looked_up(logarithm, logarithm[targets], np.ones_like(logarithm))
    c = targets[t]
    product = table[a] * table[b]
    sign = np.where((product[:, 0] < 0.0) == (table[c, 0] < 0.0), 1.0, -1.0)
    near = np.all(np.abs(sign[:, None] * product - table[c]) <= 100.0 * _NEAR * np.abs(product), axis=1)
    near &= (a <= b) & (a != c) & (b != c)
    rows = zip(classes[c[near]], classes[a[near]], classes[b[near]], sign[near] < 0.0, strict=True)
    for k, first, second, negative in rows:
        making = (int(negative), ("mul", 2 * int(first), 2 * int(second)))
        if _is_product(values, int(k), making):
            yield int(k), making


def _multiples(values: Values, classes: Places, table: Array, inside: Mask) -> Iterator[tuple[int, Making]]:
    ratio = table[:, 1] / table[:, 0]
    order = np.argsort(ratio, kind="stable")
    ends = np.flatnonzero(np.diff(ratio[order]) > 4.0 * _NEAR * np.abs(ratio[order][1:])) + 1
    for group in np.split(order, ends):
        if len(group) < 2:
            continue
        members = sorted(classes[group].tolist())
        for c in sorted(classes[group[inside[group]]].tolist()):
            for a in [k for k in members if k != c][:_MULTIPLES]:
                factor = _factor(values, c, a)
                if factor is not None:
                    yield c, (0, ("mul", factor, 2 * a))


def _is_sum(values: Values, c: int, a: Ref, b: Ref) -> bool:
    first, second, whole = values.signed(a), values.signed(b), values.exact[c]
    apart = [x + y - z for x, y, z in zip(first, second, whole, strict=True)]
    noise = values.change(a)[NUMBERS] + values.change(b)[NUMBERS] - values.changes[c][NUMBERS]
    return values.nothing(apart, noise, values.sizes[a >> 1] + values.sizes[b >> 1] + values.sizes[c])


def _is_product(values: Values, c: int, making: Making) -> bool:
    negative, (_, a, b) = making
    first, second, whole = values.exact[a >> 1], values.exact[b >> 1], values.exact[c]
    sign = -1 if negative else 1
    apart = [sign * x * y - z for x, y, z in zip(first, second, whole, strict=True)]
    u, v = values.values[a >> 1], values.values[b >> 1]
    du, dv = values.changes[a >> 1][NUMBERS], values.changes[b >> 1][NUMBERS]
    noise = sign * (v[:, None] * du + u[:, None] * dv) - values.changes[c][NUMBERS]
    size = np.abs(v) * values.sizes[a >> 1] + np.abs(u) * values.sizes[b >> 1] + values.sizes[c]
    return values.nothing(apart, noise, size)


def _factor(values: Values, c: int, a: int) -> Ref | None:
    """The constant that c is over a; None if it varies."""
    quotients = [x / y for x, y in zip(values.exact[c], values.exact[a], strict=True)]
    apart = [q - quotients[0] for q in quotients]
    u, ratio = values.values[a], np.array([float(q) for q in quotients])
    noise = (values.changes[c][NUMBERS] - ratio[:, None] * values.changes[a][NUMBERS]) / u[:, None]
    size = (values.sizes[c] + np.abs(ratio) * values.sizes[a]) / np.abs(u)
    if not values.nothing(apart, noise - noise[0], size + size[0]):
        return None
    # The sample that says it best: where terms of c cancel, rounding of the robot's numbers is large.
    doubt = largest(noise)
    best = int(np.argmin(doubt))
    return values.constant(float(quotients[best]), ULPS * float(doubt[best]))
