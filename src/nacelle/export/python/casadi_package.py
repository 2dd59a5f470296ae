"""The target `casadi`: a module that builds a `casadi.Function` of every model, for users' optimal control.

The module imports CasADi when a function is first built; nacelle itself does not need it.
"""

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
from nacelle.program.program import Variable

_FORMS = {
    "div": "{} / {}",
    "where": "casadi.if_else({} > 0.0, {}, {})",
    "abs": "casadi.fabs({})",
    "atan2": "casadi.atan2({}, {})",
    "min": "casadi.fmin({}, {})",
    "max": "casadi.fmax({}, {})",
}

_EVALUATE = '''
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


def casadi_files(package: Package, references: Mapping[str, Vectors]) -> dict[str, str]:
    """Write all files of a CasADi package, by their path in it."""
    module = f"{package.name}_casadi"
    test = self_test(package, module, references, _EVALUATE.format(module=module))
    use = [
        "## Using and testing",
        "",
        f"`{module}.py` needs CasADi. Each of its functions builds a `casadi.Function`, once, of SX: "
        f"`{module}.{package.entries[-1].label}()`. Vectors are columns, matrices keep their rows and "
        "columns; inputs and outputs are named. Derivatives, code generation and maps are CasADi's own.",
        "",
        f"    python {module}_self_test.py",
        "",
        "compares every function with results that were computed with 50 digits, and ends with status 0 if "
        "all of them are within their tolerance.",
        "",
        "The counts below are those of the programs as written; CasADi may rewrite products with "
        "reciprocals as quotients. The sign in Coulomb friction has the derivative 0: for optimal control "
        "export with `smooth`.",
    ]
    if package.iterated is not None:
        use += [
            "",
            "Legs of this robot are found by iteration: `close_legs()` gives the Newton step dy and the "
            "error at y and x. In an optimal control problem make y a variable with the constraint dy = 0.",
        ]
    return {
        f"{module}.py": _module(package),
        f"{module}_self_test.py": test,
        "README.md": readme(package, use, {}),
    }


def _module(package: Package) -> str:
    lines = [f'"""Models of the robot {remark(package.robot.name)} as functions of CasADi.', ""]
    lines += [package.origin, "", friction_words(package.wanted), *CONVENTIONS, '"""', ""]
    lines += ["from functools import lru_cache", ""]
    for entry in package.entries:
        lines += _function(package, entry)
    return "\n".join(lines).rstrip("\n") + "\n"


def _function(package: Package, entry: Entry) -> list[str]:
    program, names = entry.program, Arguments(entry)
    scalars = [
        f"inputs[{k}][{place}]" for k, variable in enumerate(program.inputs) for place in _places(variable)
    ]
    made, results = statements(program, "casadi", _FORMS, scalars, names.prefix)
    lines = ["", "@lru_cache(maxsize=None)", f"def {entry.label}():"]
    lines += [*names.docstring("Build"), "    import casadi", ""]
    symbols = ", ".join(
        f'casadi.SX.sym("{name}", {_rows(variable)}, {_columns(variable)})'
        for name, variable in zip(names.inputs, program.inputs, strict=True)
    )
    lines += [f"    inputs = [{symbols}]", *(f"    {line}" for line in made), "    outputs = []"]
    start = 0
    for variable in program.outputs:
        rows, columns = _rows(variable), _columns(variable)
        texts = ", ".join(results[start : start + variable.size])
        flat = f"casadi.vertcat({texts})"
        # CasADi counts column by column.
        shaped = flat if columns == 1 else f"casadi.reshape({flat}, {columns}, {rows}).T"
        lines.append(f"    outputs.append({shaped})")
        start += variable.size
    name = f"{package.name}_{entry.label}"
    said = f"{names.inputs!r}, {names.outputs!r}"
    return [*lines, f'    return casadi.Function("{name}", inputs, outputs, {said})', ""]


def _rows(variable: Variable) -> int:
    return variable.shape[0] if variable.shape else 1


def _columns(variable: Variable) -> int:
    return variable.size // _rows(variable) if variable.size else 0


def _places(variable: Variable) -> list[str]:
    """Row and column of every scalar, counted row by row."""
    columns = _columns(variable)
    return [f"{k // columns}, {k % columns}" for k in range(variable.size)]
