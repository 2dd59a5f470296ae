"""What is said of results that have more to say than their attributes: the lines and tables of commands."""

from __future__ import annotations

import importlib
from typing import Any

from nacelle.report.table import Part, parts_html

# Rows of a long list that are shown.
MOST = 24
# The module below `nacelle.report` and the function that give the parts of a result, by its class.
_PARTS = {
    "Check": ("notebook.particular", "check_parts"),
    "Mobility": ("notebook.particular", "mobility_parts"),
    "Simulation": ("simulation", "run_lines"),
    "ControlRun": ("control", "run_parts"),
    "Comparison": ("control", "comparison_parts"),
    "LookingComparison": ("control", "looking_parts"),
    "Observation": ("vision", "observation_parts"),
    "Sizing": ("loads", "sizing_parts"),
    "PeakReactions": ("loads", "reaction_parts"),
    "GravityBalance": ("loads", "balance_parts"),
    "NaturalFrequencies": ("vibrations", "modes_parts"),
    "FrequencyMap": ("vibrations", "frequency_map_parts"),
    "Workspace": ("workspace", "workspace_lines"),
    "Reach": ("workspace", "reach_lines"),
    "BaseParameters": ("parameters", "base_parts"),
    "Excitation": ("parameters", "excitation_parts"),
    "Identification": ("parameters", "identification_parts"),
    "Validation": ("parameters", "validation_lines"),
    "Operations": ("operations", "operation_parts"),
}


def tables(result: Any) -> str:
    """What commands print of a result, as HTML; nothing where its attributes say all."""
    for parent in type(result).__mro__:
        if parent.__name__ in _PARTS:
            home, function = _PARTS[parent.__name__]
            module = importlib.import_module(f"nacelle.report.{home}")
            return parts_html(getattr(module, function)(result), MOST)
    return ""


def check_parts(result: Any) -> list[Part]:
    """Errors and warnings of a description, and the robot's mobility."""
    problems = [str(problem) for problem in result.problems]
    verdict = f"{len(result.errors)} errors, {len(problems) - len(result.errors)} warnings"
    mobility = [] if result.mobility is None else mobility_parts(result.mobility)
    return [verdict, *problems[:MOST], *mobility]


def mobility_parts(result: Any) -> list[Part]:
    """Mobility by counting and by rank, in words."""
    from nacelle.report.summary import mobility_data, mobility_lines

    return mobility_lines(mobility_data(result))
