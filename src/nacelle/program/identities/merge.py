"""The pass over a program: identities found, used, and checked at other samples.

Where numbers are run-time inputs, identities are sought in the body, in which the prepared numbers are inputs
as the state is. The samples vary every number of the robot: what is equal at all of them holds for all robots
of the description. After each step the program is split anew, so that products of prepared numbers that it
brings are prepared, too.
"""

from __future__ import annotations

from decimal import Decimal

from nacelle.program.cost import cost
from nacelle.program.identities.rebuild import cheapest_definitions, program_of_classes
from nacelle.program.identities.values import PreciseInputs, Row, ValueClasses
from nacelle.program.minimise import Minimiser
from nacelle.program.precise import evaluate_decimal
from nacelle.program.program import Program, variable_slices
from nacelle.program.split import Split, join_parts, resplit
from nacelle.spatial.rounding import ULPS

# How far a result may be from that of the program as it was, over the largest entry of its output.
# How often values are made from others, and by what part that must shorten a program to be tried again.
_ROUNDS, _GAIN = 3, 0.004
AGREEMENT_TOLERANCE = Decimal("1e-13")
# Merging to no less than this part of the cost is little.
_SMALL_REDUCTION = 0.7
# Making values from others takes a time that grows with the square of the length (20 s for 8000 of them),
# and shortens programs this long by 2 %.
_LONG = 8000


def merge_equal_values(program: Program, samples: PreciseInputs) -> Program:
    """The program with equal values made one and constant ones made constants.

    The result is held against the program at other samples. If it fails there, only identities that hold to
    all digits are taken; if that fails too, the program stays as it is.

    Args:
        program: any program.
        samples: of its inputs.
    """
    for units in (ULPS, 0):
        candidate = program_of_classes(ValueClasses(program, samples.proof, samples.sizes, units))
        if programs_agree(candidate, program, samples.check):
            return candidate
    return program


def apply_identities(program: Program, samples: PreciseInputs) -> Program:
    """The smallest program that is found by merging equal values, making values from others, and minimising.

    What the identities give is held against the program at other samples, as in `merge_equal_values`.

    Args:
        program: any program.
        samples: of its inputs.
    """
    joined = merge_equal_values(program, samples)
    passes = Minimiser()
    small = passes.minimise(joined)
    if cost(joined) > _SMALL_REDUCTION * cost(program):
        # Where there was little to merge, the passes may do better with what they know of the program itself.
        small = min(small, passes.minimise(program), key=cost)
    if len(small.code) > _LONG:
        return small
    for units in (ULPS, 0):
        candidate = _rebuild_repeatedly(small, samples, units, passes)
        if cost(candidate) >= cost(small):
            break
        if programs_agree(candidate, program, samples.check):
            return candidate
    return small


def _rebuild_repeatedly(program: Program, samples: PreciseInputs, units: int, passes: Minimiser) -> Program:
    """Values made from others, as long as that shortens the program by more than a little."""
    for _ in range(_ROUNDS):
        candidate = passes.minimise(rebuild_program(program, samples, units))
        if cost(candidate) >= cost(program):
            return program
        gain = cost(program) - cost(candidate)
        program = candidate
        if gain < _GAIN * cost(program):
            return program
    return program


def rebuild_program(program: Program, samples: PreciseInputs, units: int) -> Program:
    """Values made from others where that is cheaper."""
    values = ValueClasses(program, samples.proof, samples.sizes, units)
    return program_of_classes(values, cheapest_definitions(values))


def programs_agree(candidate: Program, program: Program, rows: tuple[Row, ...]) -> bool:
    """Whether two programs give the same results at some samples, to `AGREEMENT_TOLERANCE`."""
    for row in rows:
        ours, theirs = evaluate_decimal(candidate, row), evaluate_decimal(program, row)
        for _, span in variable_slices(program.outputs):
            pairs = list(zip(ours[span], theirs[span], strict=True))
            largest = max((abs(b) for _, b in pairs if b.is_finite()), default=Decimal(0))
            for a, b in pairs:
                # Numbers that are not finite cannot be compared by size.
                if a.is_finite() != b.is_finite() or (
                    b.is_finite() and abs(a - b) > AGREEMENT_TOLERANCE * largest
                ):
                    return False
    return True


# ---- identities of programs whose numbers are run-time inputs


_SPLIT_ROUNDS = 3


def apply_split_identities(parts: Split, sample: tuple[float, ...], samples: PreciseInputs) -> Split:
    """The shortest body that is found by merging equal values, making values from others, and minimising.

    Args:
        parts: prologue and body, not minimised.
        sample: values of the parameters at which constants are folded.
        samples: of the inputs of both as one program, parameters first.
    """
    whole = join_parts(parts.prologue, parts.body)
    candidates = [resplit(parts, sample)]
    body = merge_equal_values(parts.body, _body_samples(parts, samples))
    candidates.append(resplit(Split(parts.prologue, body), sample))
    best = min(candidates, key=lambda split: cost(split.body))
    for units in (ULPS, 0):
        shortest = best
        for _ in range(_SPLIT_ROUNDS):
            body = rebuild_program(shortest.body, _body_samples(shortest, samples), units)
            shorter = resplit(Split(shortest.prologue, body), sample)
            if cost(shorter.body) >= cost(shortest.body):
                break
            shortest = shorter
        if shortest is best or programs_agree(
            join_parts(shortest.prologue, shortest.body), whole, samples.check
        ):
            return shortest
    return best


def _body_samples(parts: Split, samples: PreciseInputs) -> PreciseInputs:
    """Samples of the inputs of a body: prepared numbers in the place of the parameters."""
    count = parts.prologue.input_size

    def row(inputs: Row) -> Row:
        return (*evaluate_decimal(parts.prologue, inputs[:count]), *inputs[count:])

    sizes = (*(0.0,) * len(parts.prologue.results), *samples.sizes[count:])
    return PreciseInputs(tuple(map(row, samples.proof)), tuple(map(row, samples.check)), sizes)
