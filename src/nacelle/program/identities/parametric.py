"""Identities of programs whose numbers are run-time inputs.

Identities are sought in the body, in which the prepared numbers are inputs as the state is. The samples vary
every number of the robot: what is equal at all of them holds for all robots of the description. After each
step the program is split anew, so that products of prepared numbers that it brings are prepared, too.
"""

from __future__ import annotations

from nacelle.program.cost import cost
from nacelle.program.identities.merge import agrees, merged_program, rebuilt_once
from nacelle.program.identities.samples import PreciseInputs, Row
from nacelle.program.precise import exact
from nacelle.program.split import Split, joined, split_again
from nacelle.spatial.rounding import ULPS

_ROUNDS = 3


def split_with_identities(parts: Split, sample: tuple[float, ...], samples: PreciseInputs) -> Split:
    """The shortest body that is found by merging equal values, making values from others, and minimising.

    Args:
        parts: prologue and body, not minimised.
        sample: values of the parameters at which constants are folded.
        samples: of the inputs of both as one program, parameters first.
    """
    whole = joined(parts.prologue, parts.body)
    candidates = [split_again(parts, sample)]
    body = merged_program(parts.body, _prepared(parts, samples))
    candidates.append(split_again(Split(parts.prologue, body), sample))
    best = min(candidates, key=lambda split: cost(split.body))
    for units in (ULPS, 0):
        shortest = best
        for _ in range(_ROUNDS):
            body = rebuilt_once(shortest.body, _prepared(shortest, samples), units)
            shorter = split_again(Split(shortest.prologue, body), sample)
            if cost(shorter.body) >= cost(shortest.body):
                break
            shortest = shorter
        if shortest is best or agrees(joined(shortest.prologue, shortest.body), whole, samples.check):
            return shortest
    return best


def _prepared(parts: Split, samples: PreciseInputs) -> PreciseInputs:
    """Samples of the inputs of a body: prepared numbers in the place of the parameters."""
    count = parts.prologue.input_size

    def row(given: Row) -> Row:
        return (*exact(parts.prologue, given[:count]), *given[count:])

    sizes = (*(0.0,) * len(parts.prologue.results), *samples.sizes[count:])
    return PreciseInputs(tuple(map(row, samples.proof)), tuple(map(row, samples.check)), sizes)
