"""The target `numpy`: one module that needs NumPy alone, over leading batch dimensions."""

from __future__ import annotations

from collections.abc import Mapping

from nacelle.emit.names import remark
from nacelle.emit.python.lines import statements
from nacelle.export.about import CONVENTIONS, Package, friction_words
from nacelle.export.entry import Entry
from nacelle.export.markdown import readme
from nacelle.export.python.arguments import Arguments
from nacelle.export.python.self_test import self_test
from nacelle.export.vectors import Vectors

_FORMS = {
    "div": "np.divide({}, {})",
    "where": "np.where(np.greater({}, 0.0), {}, {})",
    "abs": "np.absolute({})",
    "atan2": "np.arctan2({}, {})",
    "min": "np.minimum({}, {})",
    "max": "np.maximum({}, {})",
}

_RUN = '''
# Samples that are computed at a time: long enough to pay for the calls, short enough for the cache.
TILE = 1024


def _run(body, inputs, outputs):
    """Evaluate a body over leading batch dimensions, tile by tile.

    Args:
        body: a function of the columns of all inputs that writes the columns of the results.
        inputs: pairs of an array and its shape behind the batch.
        outputs: name and shape of every result.
    """
    arrays = []
    for array, shape in inputs:
        array = np.asarray(array, dtype=float)
        if array.shape[array.ndim - len(shape) :] != shape:
            raise ValueError(f"an input has the shape (..., {', '.join(map(str, shape))}), got {array.shape}")
        arrays.append((array, shape, array.shape[: array.ndim - len(shape)]))
    batch = np.broadcast_shapes(*(lead for _, _, lead in arrays))
    samples = int(np.prod(batch, dtype=int))
    columns = [
        np.broadcast_to(array, batch + shape).reshape(samples, int(np.prod(shape, dtype=int)))
        for array, shape, _ in arrays
    ]
    flat = np.concatenate(columns, axis=1).T if columns else np.empty((0, samples))
    out = np.empty((sum(int(np.prod(shape, dtype=int)) for _, shape in outputs), samples))
    with np.errstate(all="ignore"):
        for start in range(0, samples, TILE):
            tile = slice(start, start + TILE)
            body(flat[:, tile], out[:, tile])
    results, start = {}, 0
    for name, shape in outputs:
        size = int(np.prod(shape, dtype=int))
        results[name] = out[start : start + size].T.reshape(batch + shape)
        start += size
    return results
'''

_NEWTON = '''

def close_legs_newton(y, x, tolerance=1e-12, cap=20):
    """Newton's iteration for what the legs leave open at poses x, from starts y.

    Args:
        y: (..., {ny}) starts: those of the samples before, or `START`.
        x: (..., {nx}) poses.
        tolerance: largest error.
        cap: largest number of steps.

    Returns:
        y (..., {ny}), and for every sample whether its legs are closed.
    """
    batch = np.broadcast_shapes(np.shape(y)[:-1], np.shape(x)[:-1])
    y = np.broadcast_to(np.asarray(y, dtype=float), (*batch, {ny})).copy()
    for k in range(cap + 1):
        step = close_legs(y, x)
        open_ = ~(step["{error}"] <= tolerance)
        if k == cap or not np.any(open_):
            break
        y = np.where(open_[..., None], y + step["{dy}"], y)
    return y, ~open_
'''

_EVALUATE = '''
def evaluate(label, inputs):
    """Call a function on arrays (states, size)."""
    shapes = {module}.SHAPES[label]
    results = getattr({module}, label)(*(a.reshape(len(a), *shape) for a, shape in zip(inputs, shapes)))
    return list(results.values()) if isinstance(results, dict) else [results]
'''


def numpy_files(package: Package, references: Mapping[str, Vectors]) -> dict[str, str]:
    """Write all files of a NumPy package, by their path in it."""
    name = package.name
    test = self_test(package, name, references, _EVALUATE.format(module=name))
    use = [
        "## Using and testing",
        "",
        f"`{name}.py` needs NumPy alone. Functions take arrays with leading batch dimensions, which "
        "broadcast, and compute in double. A function with one result gives an array, others give a dict "
        "of arrays by name.",
        "",
        f"    python {name}_self_test.py",
        "",
        "compares every function with results that were computed with 50 digits, and ends with status 0 if "
        "all of them are within their tolerance.",
    ]
    if package.iterated is not None:
        use += [
            "",
            "Legs of this robot are found by iteration: `y, closed = "
            f"{name}.close_legs_newton({name}.START, x)` before a function that takes `y`.",
        ]
    return {
        f"{name}.py": _module(package),
        f"{name}_self_test.py": test,
        "README.md": readme(package, use, {}),
    }


def _module(package: Package) -> str:
    lines = [f'"""Models of the robot {remark(package.robot.name)}.', "", f"{package.origin}", ""]
    lines += [friction_words(package.wanted), *CONVENTIONS]
    lines += [
        "Arrays have leading batch dimensions, which broadcast: (..., n).",
        '"""',
        "",
        "import numpy as np",
    ]
    lines += ["", _RUN.rstrip("\n"), ""]
    shapes = {entry.label: [variable.shape for variable in entry.program.inputs] for entry in package.entries}
    lines += ["", "# Shapes of the inputs behind the batch.", "SHAPES = {"]
    lines += [f'    "{label}": {group!r},' for label, group in shapes.items()]
    lines += ["}", ""]
    for entry in package.entries:
        lines += _functions(entry)
    if package.iterated is not None:
        lines += _newton(package, package.iterated)
    return "\n".join(lines).rstrip("\n") + "\n"


def _functions(entry: Entry) -> list[str]:
    """The body over a tile, and the function that users call."""
    program, names = entry.program, Arguments(entry)
    columns = [f"columns[{k}]" for k in range(program.input_size)]
    made, results = statements(program, "np", _FORMS, columns, names.prefix)
    lines = ["", f"def _{entry.label}(columns, out):", '    """Evaluate a tile."""']
    lines += [f"    {line}" for line in made]
    lines += [f"    out[{k}] = {text}" for k, text in enumerate(results)]
    lines += ["", "", f"def {entry.label}({', '.join(names.inputs)}):"]
    lines += names.docstring("Give", "...")
    given = ", ".join(
        f"({name}, {variable.shape!r})" for name, variable in zip(names.inputs, program.inputs, strict=True)
    )
    results = [
        f'("{name}", {variable.shape!r})'
        for name, variable in zip(names.outputs, program.outputs, strict=True)
    ]
    call = f"_run(_{entry.label}, [{given}], [{', '.join(results)}])"
    if len(names.outputs) == 1:
        call += f'["{names.outputs[0]}"]'
    return [*lines, f"    return {call}", ""]


def _newton(package: Package, step: Entry) -> list[str]:
    from nacelle.kinematics.mechanism.mechanism import mechanism_of

    _, y = mechanism_of(package.robot).reference
    names = Arguments(step)
    ny, nx = (variable.size for variable in step.program.inputs)
    start = ", ".join(repr(float(value)) for value in y)
    return [
        "",
        "# What iteration finds at the reference pose.",
        f"START = np.array([{start}])",
        _NEWTON.format(ny=ny, nx=nx, dy=names.outputs[0], error=names.outputs[1]),
    ]
