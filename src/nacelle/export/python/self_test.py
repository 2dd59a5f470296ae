"""The self-test of a package written in Python: reference vectors against every function."""

from __future__ import annotations

from collections.abc import Mapping

from nacelle.export.about import Package
from nacelle.export.python.arguments import Arguments
from nacelle.export.python.tables import list_of_lists
from nacelle.export.vectors import Vectors

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


def self_test(package: Package, module: str, references: Mapping[str, Vectors], evaluate: str) -> str:
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
        vectors, names = references[entry.label], Arguments(entry)
        inputs = []
        for k, values in enumerate(vectors.inputs.values()):
            inputs.append(f"{entry.label}_in{k}".upper())
            lines += list_of_lists(inputs[-1], values)
        outputs = []
        for k, (key, values) in enumerate(vectors.outputs.items()):
            outputs.append(f"{entry.label}_out{k}".upper())
            lines += list_of_lists(outputs[-1], values)
            # Other machines evaluate in another order: ten times what C may.
            limit = 10.0 * vectors.tolerance["double"][key]
            outputs[-1] = f'("{names.outputs[k]}", {outputs[-1]}, {vectors.scale[key]!r}, {limit:.1e})'
        cases.append(f'    ("{entry.label}", [{", ".join(inputs)}], [{", ".join(outputs)}]),')
    return "\n".join([*lines, "", "CASES = [", *cases, "]", "", "", evaluate.strip("\n"), ""]) + _TAIL
