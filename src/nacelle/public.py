"""Where each public name is: imported when it is first used.

The names are listed once, in `nacelle/__init__.py`, as imports that type checkers read. Imports nothing.
"""

from __future__ import annotations

import re
from pathlib import Path

MODEL_NAMES = (
    *("inverse_dynamics", "forward_dynamics", "inverse_kinematics", "jacobian", "mass_matrix"),
    *("bias_forces", "gravity_forces", "regressor", "reference_regressor"),
)
"""Names that `nacelle.model` takes. They are here because completing one must not wait for imports."""
ELASTIC_MODEL_NAMES = ("elastic_inverse_dynamics", "elastic_forward_dynamics")
"""Names that `nacelle.elastic_model` takes."""

# An import for type checkers: the module, and what is taken of it, in one line or in brackets.
_IMPORT = re.compile(r"^    from (\S+) import (?:\(([^)]*)\)|(.*))$", re.MULTILINE)


def _public_names() -> dict[str, tuple[str, str]]:
    """For every name that `nacelle/__init__.py` imports for type checkers its module, and its name there."""
    text = Path(__file__).with_name("__init__.py").read_text(encoding="utf-8")
    block = text[text.index("\nif TYPE_CHECKING:\n") : text.index("\n__version__ = ")]
    names = {}
    for module, bracketed, plain in _IMPORT.findall(block):
        for entry in (bracketed or plain).split(","):
            inside, _, name = entry.strip().partition(" as ")
            if name:
                names[name] = (module, inside)
    return names


# Public names that differ from those in their modules.
_RENAMED = {
    "compile": ("nacelle.compile", "compile_function"),
    "FORMULATIONS": ("nacelle.papers.registration", "NAMES"),
    "robot_names": ("nacelle.robots", "names"),
}
HOMES = _public_names() | _RENAMED
"""For every public name its module, and its name there."""

# Classes by the function of the reports that draws them; those of `plot_result` are curves or bars.
_DRAWN = {
    ("draw.robot", "plot_robot"): ("Robot",),
    ("draw.workspace", "plot_workspace"): ("Workspace",),
    ("draw.result", "plot_run"): ("Simulation",),
    ("draw.result", "plot_forces"): ("Sizing",),
    ("draw.matrix", "plot_jacobian"): ("Jacobian",),
    ("draw.matrix", "plot_regressor"): ("Regressor",),
    ("draw.vibrations", "plot_poles"): ("LinearModel",),
    ("draw.workspace", "plot_reach"): ("Reach",),
    ("draw.compared", "plot_balance"): ("GravityBalance",),
    ("draw.compared", "plot_validation"): ("Validation",),
    ("draw.compared", "plot_rehearsal"): ("Rehearsal",),
    ("draw.compared", "plot_identification"): ("Identification",),
    ("draw.compared", "plot_operations"): ("Operations",),
    ("draw.compared", "plot_agreement"): ("Report",),
    ("draw.vibrations", "plot_modes"): ("NaturalFrequencies",),
    ("draw.vibrations", "plot_frequency_map"): ("FrequencyMap",),
    ("draw.vibrations", "plot_response"): ("FrequencyResponse",),
    ("control", "plot_runs"): ("ControlRun", "Comparison"),
    ("control", "plot_looking"): ("LookingComparison",),
    ("vision", "plot_observation"): ("Observation",),
    ("draw.result", "plot_result"): (
        *("InverseKinematics", "ForwardKinematics", "Singularities", "BodyMotion", "JointMotion"),
        *("ToolPose", "Trajectory", "Waypoints", "ElementState", "ElementProjection"),
        *("InverseDynamics", "ForwardDynamics", "Reactions", "PeakReactions"),
        *("Excitation", "Measurement", "Samples", "ConsistentParameters"),
        *("Buckling", "StaticDeflection"),
    ),
}
PICTURES: dict[str, tuple[str, str]] = {name: home for home, names in _DRAWN.items() for name in names}
"""For every class that has a picture the module below `nacelle.report` and the function that draw it."""
