"""Packages of Python: the targets `numpy` and `casadi`, with their self-test.

`numpy` is one module that needs NumPy alone, over leading batch dimensions.

`casadi` is a module that builds a `casadi.Function` of every model, for users' optimal control. The module
imports CasADi when a function is first built; nacelle itself does not need it.

The self-test holds reference vectors against every function.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nacelle.emit.names import Identifiers, comment_text
from nacelle.emit.python.arrays import program_statements
from nacelle.export.about import (
    CONVENTIONS,
    Package,
    count_text,
    friction_note,
    monitoring_notes,
    readme_text,
)
from nacelle.export.entry import Entry
from nacelle.export.target import ExportTarget
from nacelle.export.vectors import ReferenceVectors
from nacelle.program.program import Variable, variable_slices
from nacelle.spatial.scalar import Array

# ---- tables of numbers


def table_lines(name: str, values: Array) -> list[str]:
    """Write a table of numbers as a list of lists."""
    lines = [f"{name} = ["]
    for row in values.tolist():
        texts = [repr(value) for value in row]
        pieces = [", ".join(texts[k : k + 4]) for k in range(0, len(texts), 4)]
        lines.append("    [" + ",\n     ".join(pieces) + "],")
    return [*lines, "]"]


# ---- names of arguments and results, and what a docstring says of them


class PythonNames:
    """The names that the inputs and outputs of an entry have in Python."""

    def __init__(self, entry: Entry) -> None:
        """Sanitise all names and keep them apart."""
        self.entry = entry
        names = Identifiers(
            ("np", "casadi", "out", "columns", "tile", "inputs", "outputs", "flat", entry.label)
        )
        self.inputs = [names.unique(variable.name, "x") for variable in entry.program.inputs]
        results = Identifiers()
        self.outputs = [results.unique(variable.name, "y") for variable in entry.program.outputs]
        # No name of an argument begins as those of the values do.
        self.prefix = names.prefix_for("v")

    def write_docstring(self, verb: str, batch: str = "") -> list[str]:
        """The docstring of a function that does this with the entry; `batch` goes before all shapes."""
        entry, watched = self.entry, monitoring_notes(self.entry)
        lines = [f'"""{verb} the {entry.title}.', "", f"{count_text(entry.count)}.", ""]
        lines += [*watched, ""] if watched else []
        for title, names, variables in (
            ("Args:", self.inputs, entry.program.inputs),
            ("Returns:", self.outputs, entry.program.outputs),
        ):
            lines.append(title)
            lines += [self._line(*pair, batch) for pair in zip(names, variables, strict=True)]
            lines.append("")
        return [f"    {line}" if line else "" for line in [*lines[:-1], '"""']]

    def _line(self, name: str, variable: Variable, batch: str) -> str:
        description = comment_text(self.entry.descriptions.get(variable.name, ""))
        # The name as it was, where it had to be changed.
        called = f"{comment_text(variable.name)}, " if comment_text(variable.name) != name else ""
        shape = ", ".join(part for part in (batch, *map(str, variable.shape)) if part)
        return f"    {name}: {called}({shape})" + (f"; {description}." if description else ".")


# ---- the self-test


_HEAD = '''\
"""Self-test of {module}: every function at states around the reference pose, against 50 digits.

Errors count relative to the largest entry of an output. Ends with status 0 if all is well.

{origin}
"""

import sys

import numpy as np

import {module}

'''

_TAIL = '''

def main():
    """Compare all functions; give the number of outputs that are bad."""
    bad = 0
    for label, inputs, outputs in CASES:
        found = evaluate(label, [np.array(values) for values in inputs])
        for (name, wanted, scale, tolerance), values in zip(outputs, found):
            worst = float(np.max(np.abs(np.reshape(values, np.shape(wanted)) - np.array(wanted)))) / scale
            good = worst <= tolerance
            bad += not good
            verdict = "good" if good else "BAD"
            print(f"{label:28s} {name:14s} worst error {worst:.1e}, tolerated {tolerance:.1e}: {verdict}")
    print(f"{bad} outputs are BAD" if bad else "all is well")
    return bad


if __name__ == "__main__":
    sys.exit(1 if main() else 0)
'''


def self_test(
    package: Package, module: str, references: Mapping[str, ReferenceVectors], evaluate: str
) -> str:
    """Write the self-test.

    Args:
        package: the package.
        module: the module that is tested.
        references: reference vectors by label.
        evaluate: source of a function of a label and arrays (states, size) that gives a list of arrays.
    """
    lines = [_HEAD.format(module=module, origin=package.origin)]
    cases = []
    for entry in package.entries:
        vectors, names = references[entry.label], PythonNames(entry)
        inputs = []
        for k, values in enumerate(vectors.inputs.values()):
            inputs.append(f"{entry.label}_in{k}".upper())
            lines += table_lines(inputs[-1], values)
        outputs = []
        for k, (key, values) in enumerate(vectors.outputs.items()):
            outputs.append(f"{entry.label}_out{k}".upper())
            lines += table_lines(outputs[-1], values)
            # Other machines evaluate in another order: ten times what C may.
            limit = 10.0 * vectors.tolerance["double"][key]
            outputs[-1] = f'("{names.outputs[k]}", {outputs[-1]}, {vectors.scale[key]!r}, {limit:.1e})'
        cases.append(f'    ("{entry.label}", [{", ".join(inputs)}], [{", ".join(outputs)}]),')
    return "\n".join([*lines, "", "CASES = [", *cases, "]", "", "", evaluate.strip("\n"), ""]) + _TAIL


def _self_test_files(
    package: Package,
    references: Mapping[str, ReferenceVectors],
    module: str,
    evaluate: str,
    about: Sequence[str],
    iterated: str,
) -> dict[str, str]:
    """The self-test of a module and the README; what that says first, last, and where legs are iterated."""
    use = ["## Using and testing", "", about[0], "", f"    python {module}_self_test.py", ""]
    use += [
        "compares every function with results that were computed with 50 digits, and ends with status 0 if "
        "all of them are within their tolerance."
    ]
    legs = [] if package.closing_entry is None else [f"Legs of this robot are solved numerically: {iterated}"]
    use += [line for text in (*about[1:], *legs) for line in ("", text)]
    test = self_test(package, module, references, evaluate.format(module=module))
    return {f"{module}_self_test.py": test, "README.md": readme_text(package, use, {})}


# ---- the target `numpy`


_NUMPY_FORMS = {
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

_NUMPY_EVALUATE = '''
def evaluate(label, inputs):
    """Call a function on arrays (states, size)."""
    shapes = {module}.SHAPES[label]
    results = getattr({module}, label)(*(a.reshape(len(a), *shape) for a, shape in zip(inputs, shapes)))
    return list(results.values()) if isinstance(results, dict) else [results]
'''


class NumpyTarget(ExportTarget):
    """A module that needs NumPy alone; it computes in double.

    Attributes:
        parameters: groups of the robot's free numbers (`robot.numbers`) that are given at run time, a
            sequence or one text with commas: every function then comes with one that prepares them. Constants
            if empty. Default empty.
    """

    name = "numpy"
    parameters: str | Sequence[str] = ()

    def files(self, package: Package, references: Mapping[str, ReferenceVectors]) -> dict[str, str]:
        """All files."""
        name = package.name
        about = (
            f"`{name}.py` needs NumPy alone. Functions take arrays with leading batch dimensions, which "
            "broadcast, and compute in double. A function with one result gives an array, others give a dict "
            "of arrays by name."
        )
        iterated = (
            f"`y, closed = {name}.close_legs_newton({name}.START, x)` before a function that takes `y`."
        )
        files = {f"{name}.py": _numpy_module(package)}
        return files | _self_test_files(package, references, name, _NUMPY_EVALUATE, [about], iterated)


def _numpy_module(package: Package) -> str:
    lines = [f'"""Models of the robot {comment_text(package.robot.name)}.', "", f"{package.origin}", ""]
    lines += [friction_note(package.request), *CONVENTIONS]
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
    if package.closing_entry is not None:
        lines += _newton(package, package.closing_entry)
    return "\n".join(lines).rstrip("\n") + "\n"


def _functions(entry: Entry) -> list[str]:
    """The body over a tile, and the function that users call."""
    program, names = entry.program, PythonNames(entry)
    columns = [f"columns[{k}]" for k in range(program.input_size)]
    body, results = program_statements(program, "np", _NUMPY_FORMS, columns, names.prefix)
    lines = ["", f"def _{entry.label}(columns, out):", '    """Evaluate a tile."""']
    lines += [f"    {line}" for line in body]
    lines += [f"    out[{k}] = {text}" for k, text in enumerate(results)]
    lines += ["", "", f"def {entry.label}({', '.join(names.inputs)}):"]
    lines += names.write_docstring("Give", "...")
    inputs = ", ".join(
        f"({name}, {variable.shape!r})" for name, variable in zip(names.inputs, program.inputs, strict=True)
    )
    results = [
        f'("{name}", {variable.shape!r})'
        for name, variable in zip(names.outputs, program.outputs, strict=True)
    ]
    call = f"_run(_{entry.label}, [{inputs}], [{', '.join(results)}])"
    if len(names.outputs) == 1:
        call += f'["{names.outputs[0]}"]'
    return [*lines, f"    return {call}", ""]


def _newton(package: Package, step: Entry) -> list[str]:
    from nacelle.kinematics.mechanism.mechanism import mechanism_of

    _, y = mechanism_of(package.robot).reference
    names = PythonNames(step)
    ny, nx = (variable.size for variable in step.program.inputs)
    start = ", ".join(repr(float(value)) for value in y)
    return [
        "",
        "# Passive coordinates at the reference pose.",
        f"START = np.array([{start}])",
        _NEWTON.format(ny=ny, nx=nx, dy=names.outputs[0], error=names.outputs[1]),
    ]


# ---- the target `casadi`


_CASADI_FORMS = {
    "div": "{} / {}",
    "where": "casadi.if_else({} > 0.0, {}, {})",
    "abs": "casadi.fabs({})",
    "atan2": "casadi.atan2({}, {})",
    "min": "casadi.fmin({}, {})",
    "max": "casadi.fmax({}, {})",
}

_CASADI_EVALUATE = '''
def evaluate(label, inputs):
    """Call a function on the rows of arrays (states, size)."""
    function = getattr({module}, label)()
    shapes = [(function.size1_in(k), function.size2_in(k)) for k in range(function.n_in())]
    found = [[] for _ in range(function.n_out())]
    for row in zip(*inputs):
        results = function.call([a.reshape(shape) for a, shape in zip(row, shapes)])
        for values, result in zip(found, results):
            values.append(np.array(result).reshape(-1))
    return [np.array(values) for values in found]
'''


class CasadiTarget(ExportTarget):
    """A module that builds functions of CasADi; they compute in double.

    Attributes:
        parameters: groups of the robot's free numbers (`robot.numbers`) that are given at run time, a
            sequence or one text with commas: every function then comes with one that prepares them. Constants
            if empty. Default empty.
    """

    name = "casadi"
    parameters: str | Sequence[str] = ()

    def files(self, package: Package, references: Mapping[str, ReferenceVectors]) -> dict[str, str]:
        """All files."""
        module = f"{package.name}_casadi"
        about = [
            f"`{module}.py` needs CasADi. Each of its functions builds a `casadi.Function`, once, of SX: "
            f"`{module}.{package.entries[-1].label}()`. Vectors are columns, matrices keep their rows and "
            "columns; inputs and outputs are named. Derivatives, code generation and maps are CasADi's own.",
            "The counts below are those of the programs as written; CasADi may rewrite products with "
            "reciprocals as quotients. The sign in Coulomb friction has the derivative 0: for optimal "
            "control export with `smooth`.",
        ]
        iterated = (
            "`close_legs()` gives the Newton step dy and the error at y and x. In an optimal control problem "
            "make y a variable with the constraint dy = 0."
        )
        files = {f"{module}.py": _casadi_module(package)}
        return files | _self_test_files(package, references, module, _CASADI_EVALUATE, about, iterated)


def _casadi_module(package: Package) -> str:
    lines = [f'"""Models of the robot {comment_text(package.robot.name)} as functions of CasADi.', ""]
    lines += [package.origin, "", friction_note(package.request), *CONVENTIONS, '"""', ""]
    lines += ["from functools import lru_cache", ""]
    for entry in package.entries:
        lines += _function(package, entry)
    return "\n".join(lines).rstrip("\n") + "\n"


def _function(package: Package, entry: Entry) -> list[str]:
    program, names = entry.program, PythonNames(entry)
    scalars = [
        f"inputs[{k}][{at}]"
        for k, variable in enumerate(program.inputs)
        for at in _scalar_positions(variable)
    ]
    body, results = program_statements(program, "casadi", _CASADI_FORMS, scalars, names.prefix)
    lines = ["", "@lru_cache(maxsize=None)", f"def {entry.label}():"]
    lines += [*names.write_docstring("Build"), "    import casadi", ""]
    symbols = ", ".join(
        f'casadi.SX.sym("{name}", {_rows(variable)}, {_columns(variable)})'
        for name, variable in zip(names.inputs, program.inputs, strict=True)
    )
    lines += [f"    inputs = [{symbols}]", *(f"    {line}" for line in body), "    outputs = []"]
    for variable, at in variable_slices(program.outputs):
        rows, columns = _rows(variable), _columns(variable)
        flat = f"casadi.vertcat({', '.join(results[at])})"
        # CasADi counts column by column.
        shaped = flat if columns == 1 else f"casadi.reshape({flat}, {columns}, {rows}).T"
        lines.append(f"    outputs.append({shaped})")
    name = f"{package.name}_{entry.label}"
    io_names = f"{names.inputs!r}, {names.outputs!r}"
    return [*lines, f'    return casadi.Function("{name}", inputs, outputs, {io_names})', ""]


def _rows(variable: Variable) -> int:
    return variable.shape[0] if variable.shape else 1


def _columns(variable: Variable) -> int:
    return variable.size // _rows(variable) if variable.size else 0


def _scalar_positions(variable: Variable) -> list[str]:
    """Row and column of every scalar, counted row by row."""
    columns = _columns(variable)
    return [f"{k // columns}, {k % columns}" for k in range(variable.size)]
