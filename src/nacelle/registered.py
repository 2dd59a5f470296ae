"""Pictures and tables of results, registered at the door: the classes that they show know nothing of them.

What draws is imported when it is first called.
"""

from __future__ import annotations

import importlib
from typing import Any

from nacelle.pictures import register, register_page


def _drawn(home: str, name: str, shown: Any = None) -> Any:
    """What draws an object by a function of the reports, which is imported when it is first called.

    `shown` makes the positional arguments of that function from the object and what the user gives.
    """

    def plot(self: Any, *given: Any, **options: Any) -> Any:
        function = getattr(importlib.import_module(f"nacelle.report.{home}"), name)
        return function(*(shown(self, *given) if shown else (self, *given)), **options)

    plot.__name__ = f"_{name}"
    plot.__doc__ = f"Draw it; arguments as in `nacelle.report.{home}.{name}`."
    return plot


PICTURES = dict(
    Robot=_drawn("draw.robot", "plot_robot"),
    Workspace=_drawn("draw.workspace", "plot_workspace"),
    Simulation=_drawn(
        "draw.curves", "plot_simulation", lambda run, *panels: (run, *([panels] if panels else []))
    ),
    Sizing=_drawn("draw.curves", "plot_forces"),
    Jacobian=_drawn("draw.matrix", "plot_jacobian"),
    Regressor=_drawn("draw.matrix", "plot_regressor"),
    LinearModel=_drawn("draw.points", "plot_poles"),
    Reach=_drawn("draw.points", "plot_reach"),
    GravityBalance=_drawn("draw.compared", "plot_balance"),
    Validation=_drawn("draw.compared", "plot_validation"),
    Rehearsal=_drawn("draw.compared", "plot_rehearsal"),
    Identification=_drawn("draw.compared", "plot_identification"),
    Operations=_drawn("draw.compared", "plot_operations"),
    Report=_drawn("draw.compared", "plot_agreement"),
    NaturalFrequencies=_drawn("draw.modes", "plot_modes"),
    FrequencyMap=_drawn("draw.frequencies", "plot_frequency_map"),
    FrequencyResponse=_drawn("draw.frequencies", "plot_response"),
    ControlRun=_drawn("control.figures", "plot_runs", lambda run, *kind: ([run], *kind)),
    Comparison=_drawn("control.figures", "plot_runs", lambda compared, *kind: (compared.runs, *kind)),
    LookingComparison=_drawn("vision.comparison", "plot_looking"),
    Observation=_drawn("vision.picture", "plot_observation"),
    # Curves over samples, or bars of one sample.
    **dict.fromkeys(
        (
            *("InverseKinematics", "ForwardKinematics", "Singularities", "BodyMotion", "JointMotion"),
            *("ToolPose", "Trajectory", "Waypoints", "ElementState", "ElementProjection"),
            *("InverseDynamics", "ForwardDynamics", "Reactions", "PeakReactions"),
            *("Excitation", "Measurement", "Samples", "ConsistentParameters"),
            *("Buckling", "StaticDeflection"),
        ),
        _drawn("draw.result", "plot_result"),
    ),
)


def _shown(result: Any) -> str:
    """A robot or a result as a table for notebooks."""
    return str(importlib.import_module("nacelle.report.notebook.page").page(result))


def register_all() -> None:
    """Register the pictures of all classes that have one, and the tables of notebooks."""
    register(**PICTURES)
    register_page(_shown)
