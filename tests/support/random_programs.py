"""Random straight-line programs for the tests, over all operations and with special values.

`random_program(seed)` and the strategy `programs()` make valid programs of any shape; `random_inputs`
makes samples of which some are NaN, infinite, zero of either sign or subnormal.

Two ways to compare a target with the reference, because rounding may grow without bound in a random
program, and a sign may turn:

- `expose` makes every instruction an output; `assert_steps` then checks each instruction against the
  target's *own* values of its arguments, to a few units in the last place, and specials exactly. Nothing
  is left out, but the target must not contract a*b + c.
- `error_bounds` runs an error analysis beside the evaluation; `assert_within` compares the outputs to
  this bound, and leaves out what rounding alone may change.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

from nacelle.program.program import ARITY, BINARY, UNARY, Program, Variable, apply
from support.random_robots.numbers import Choices, DrawnChoices, SeededChoices

Array = np.ndarray

OPERATIONS = (*BINARY, *UNARY, "where")
SPECIALS = (
    math.nan,
    math.inf,
    -math.inf,
    0.0,
    -0.0,
    5e-324,
    -2.2e-308,
    1e-40,  # subnormal as a float
    1.0,
    -1.0,
    math.pi,
    -math.pi,
    1e300,
    -1e300,
)
SHAPES: tuple[tuple[int, ...], ...] = ((), (1,), (3,), (2, 3), (6,), (0,))
NAMES = ("x", "v", "a", "theta", "x1", "n", "sin")

# ---------------------------------------------------------------------------------------- programs


def make_program(choices: Choices, size: int, *, operations: Sequence[str] = OPERATIONS) -> Program:
    """A program of `size` operations, beside its constants and inputs.

    Arguments are drawn from recent values more often than from old ones, so that programs are deep; some
    results are inputs, constants or one value twice, and some instructions are dead.
    """
    rng = choices.numbers()
    inputs = tuple(Variable(NAMES[k], choices.pick(SHAPES)) for k in range(choices.count(1, 3)))
    scalars = sum(variable.size for variable in inputs)
    code: list[tuple[Any, ...]] = [("input", k) for k in range(scalars)]
    code.append(("const", float(rng.normal())))
    made = 0
    while made < size:
        if rng.uniform() < 0.1:
            special = rng.uniform() < 0.3
            value = SPECIALS[rng.integers(len(SPECIALS))] if special else rng.normal(scale=3.0)
            code.append(("const", float(value)))
            continue
        op = choices.pick(operations) if size <= 40 else operations[rng.integers(len(operations))]
        code.append((op, *(_earlier(rng, len(code)) for _ in range(ARITY[op]))))
        made += 1
    outputs = tuple(Variable(f"y{k}" if k else "x", choices.pick(SHAPES)) for k in range(choices.count(1, 3)))
    total = sum(variable.size for variable in outputs)
    results = tuple(_earlier(rng, len(code)) for _ in range(total))
    program = Program("random", inputs, outputs, tuple(code), results)
    program.check()
    return program


def _earlier(rng: np.random.Generator, count: int) -> int:
    """Index of an earlier value."""
    if rng.uniform() < 0.6:
        return int(max(0, count - 1 - rng.geometric(0.15)))
    return int(rng.integers(count))


def random_program(seed: int, size: int = 40, *, operations: Sequence[str] = OPERATIONS) -> Program:
    """A program from a seed."""
    return make_program(SeededChoices(seed), size, operations=operations)


@st.composite
def program_strategy(draw: Callable[[Any], Any], largest: int = 40) -> Program:
    """Programs, as a strategy."""
    choices = DrawnChoices(draw)
    return make_program(choices, choices.count(0, largest))


def every_operation() -> Program:
    """A program of one instruction for each operation, on the inputs p, q, r."""
    inputs = tuple(Variable(name) for name in "pqr")
    code: list[tuple[Any, ...]] = [("input", k) for k in range(3)]
    code += [(op, *range(ARITY[op])) for op in OPERATIONS]
    outputs = tuple(Variable(f"r_{op}") for op in OPERATIONS)
    return Program("every_operation", inputs, outputs, tuple(code), tuple(range(3, len(code))))


def with_all_outputs(program: Program) -> Program:
    """The same program with every instruction as a result, in order."""
    count = len(program.code)
    return Program(
        program.name, program.inputs, (Variable("values", (count,)),), program.code, tuple(range(count))
    )


# ------------------------------------------------------------------------------------------ inputs


def random_inputs(
    program: Program, samples: int, seed: int = 0, *, special: float = 0.2, dtype: Any = np.float64
) -> list[Array]:
    """Inputs of `samples` samples, one array (samples, size) a variable, with a share of special values."""
    rng = np.random.default_rng(seed)
    arrays = []
    for variable in program.inputs:
        shape = (samples, variable.size)
        values = rng.normal(scale=2.0, size=shape)
        chosen = np.array(SPECIALS)[rng.integers(len(SPECIALS), size=shape)]
        with np.errstate(all="ignore"):
            arrays.append(np.where(rng.uniform(size=shape) < special, chosen, values).astype(dtype))
    return arrays


def special_grid() -> list[Array]:
    """All triples of special values, for `every_operation`."""
    grid = np.array(np.meshgrid(SPECIALS, SPECIALS, SPECIALS)).reshape(3, -1)
    return [np.ascontiguousarray(row[:, None]) for row in grid]


def empty_outputs(program: Program, samples: int, dtype: Any = np.float64) -> list[Array]:
    """Arrays (samples, size) for the outputs, filled with a number that no result has by chance."""
    return [np.full((samples, variable.size), 12345.678, dtype=dtype) for variable in program.outputs]


def evaluate(program: Program, inputs: Sequence[Array]) -> list[Array]:
    """The reference: `Program.evaluate` sample by sample on floats; one array a variable."""
    samples = len(inputs[0]) if inputs else 1
    flat = np.concatenate([np.broadcast_to(a, (samples, a.shape[1])) for a in inputs], axis=1)
    rows = np.empty((samples, program.output_size))
    with np.errstate(all="ignore"):
        for k in range(samples):
            rows[k] = program.evaluate([float(value) for value in flat[k]])
    return split(program, rows)


def split(program: Program, rows: Array) -> list[Array]:
    """Rows of all results, counted through, as one array a variable."""
    ends = np.cumsum([variable.size for variable in program.outputs])[:-1]
    return [np.ascontiguousarray(part) for part in np.split(rows, ends, axis=1)]


# -------------------------------------------------------------------------------------- comparison


def assert_steps(program: Program, inputs: Sequence[Array], values: Array, *, ulps: float = 4.0) -> None:
    """Check every instruction against the target's own values of its arguments.

    Args:
        program: the program before `expose`.
        inputs: what the target was given.
        values: what the target made of `expose(program)`, (samples, instructions), float64 or float32.
        ulps: allowed difference in units in the last place; sums, products, quotients and roots must
            be exact.
    """
    samples, dtype = values.shape[0], values.dtype
    flat = np.concatenate([np.broadcast_to(a, (samples, a.shape[1])) for a in inputs], axis=1)
    for k, (op, *arguments) in enumerate(program.code):
        with np.errstate(all="ignore"):
            if op == "const":
                expected = np.full(samples, arguments[0]).astype(dtype)
            elif op == "input":
                expected = flat[:, arguments[0]].astype(dtype)
            else:
                expected = apply(op, *(values[:, a] for a in arguments))
        assert expected.dtype == dtype
        loose = ulps if op in ("sin", "cos", "tanh", "exp", "atan2") else 0.0
        text = (
            f"instruction {k}: {op} {arguments}, arguments {[values[:, a] for a in arguments if ARITY[op]]}"
        )
        assert_same(values[:, k], expected, loose, text, zeros=op not in ("min", "max"))


def assert_same(actual: Array, expected: Array, ulps: float, text: str = "", *, zeros: bool = True) -> None:
    """Check two arrays of one type: NaN, infinities and the sign of zero (with `zeros`) alike."""
    np.testing.assert_array_equal(np.isnan(actual), np.isnan(expected), err_msg=text)
    finite = np.isfinite(expected)
    others = ~finite & ~np.isnan(expected)
    np.testing.assert_array_equal(actual[others], expected[others], err_msg=text)
    if zeros:
        zero = expected == 0.0
        np.testing.assert_array_equal(
            np.signbit(actual[zero]) & (actual[zero] == 0.0), np.signbit(expected[zero]), err_msg=text
        )
    off = np.abs(actual[finite] - expected[finite])
    assert np.all(off <= ulps * np.spacing(np.abs(expected[finite]))), text


def error_bounds(program: Program, inputs: Sequence[float]) -> tuple[list[float], list[float]]:
    """Results of one sample and bounds of their rounding errors, to first order.

    A bound is infinite where rounding decides: a sign or a choice near its edge, a root near zero, an
    overflow that a contracted product may avoid.
    """
    unit = 2.0**-50
    values: list[float] = []
    errors: list[float] = []
    with np.errstate(all="ignore"):
        for op, *arguments in program.code:
            if op in ("const", "input"):
                values.append(float(arguments[0] if op == "const" else inputs[arguments[0]]))
                errors.append(0.0)
                continue
            x = [values[a] for a in arguments]
            e = [errors[a] for a in arguments]
            value = float(apply(op, *x))
            error = _step_error(op, x, e, value)
            if not math.isfinite(value) and all(map(math.isfinite, x)):
                error = math.inf  # overflow, or an invalid operation: at its edge a rounding decides
                if not any(e) and max(map(abs, x)) < 1e100:
                    error = 0.0
            exact = op in ("neg", "abs", "sign", "floor", "min", "max", "where")
            if math.isfinite(value) and not exact:
                error += unit * abs(value) + 1e-300
            values.append(value)
            errors.append(math.inf if math.isnan(error) else error)
    return [values[k] for k in program.results], [errors[k] for k in program.results]


def _step_error(op: str, x: list[float], e: list[float], value: float) -> float:
    """Error that the errors of the arguments cause."""
    if op == "where":
        if e[0] and not abs(x[0]) > e[0]:
            return math.inf
        return e[1] if x[0] > 0 else e[2]
    if not any(e):
        return 0.0
    if not all(map(math.isfinite, x)) or not all(map(math.isfinite, e)):
        return math.inf
    if op in ("add", "sub"):
        return e[0] + e[1]
    if op == "mul":
        return abs(x[0]) * e[1] + abs(x[1]) * e[0] + e[0] * e[1]
    if op == "div":
        room = abs(x[1]) - e[1]
        return (e[0] + abs(value) * e[1]) / room if room > 0 else math.inf
    if op in ("min", "max"):
        return max(e)
    if op == "sqrt":
        return e[0] / math.sqrt(x[0] - e[0]) if x[0] > e[0] else math.inf
    if op == "exp":
        return value * math.expm1(e[0]) if e[0] < 1.0 else math.inf
    if op == "sign":
        return 0.0 if abs(x[0]) > e[0] else math.inf
    if op == "floor":
        return 0.0 if math.floor(x[0] - e[0]) == math.floor(x[0] + e[0]) else math.inf
    if op == "atan2":
        room = math.hypot(*x) - sum(e)
        turns = x[1] < e[1] and abs(x[0]) <= e[0]
        return sum(e) / room if room > 0 and not turns else math.inf
    return e[0]  # neg, abs, sin, cos, tanh


def assert_within(program: Program, inputs: Sequence[Array], outputs: Sequence[Array]) -> int:
    """Check float64 outputs to the bounds of `error_bounds`; give how many numbers were compared."""
    samples = outputs[0].shape[0]
    flat = np.concatenate([np.broadcast_to(a, (samples, a.shape[1])) for a in inputs], axis=1)
    rows = np.concatenate(list(outputs), axis=1)
    compared = 0
    for k in range(samples):
        values, errors = error_bounds(program, list(flat[k]))
        for j, (value, error) in enumerate(zip(values, errors, strict=True)):
            if not math.isfinite(error):
                continue
            compared += 1
            actual = float(rows[k, j])
            text = f"sample {k}, result {j}: {actual!r} for {value!r} +- {error!r}"
            if math.isfinite(value):
                assert abs(actual - value) <= 4.0 * error, text
            else:
                assert actual == value or (math.isnan(actual) and math.isnan(value)), text
    return compared
