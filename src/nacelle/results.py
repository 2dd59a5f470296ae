"""Robots and results: tables, plain data and plots, the same for all of them.

A class that is `HasTable` has `table()`, `to_dict()` and a table in notebooks; one that is `Plottable` has
`plot()`, too. What makes them is in `nacelle.report` and is imported when it is first called: this module
imports nothing of the package.
"""

from __future__ import annotations

import importlib
import types
from collections.abc import Callable
from typing import Any, ClassVar

# Module below `nacelle.report` and function that plot a class, by its name.
_PLOTS = {
    ("draw.robot", "plot_robot"): ("Robot",),
    ("draw.workspace", "plot_workspace"): ("Workspace",),
    ("draw.result", "plot_run"): ("Simulation",),
    ("draw.result", "plot_forces"): ("Sizing",),
    ("draw.result", "plot_timing"): ("TimeOptimal", "ShapedMotion"),
    ("draw.matrix", "plot_jacobian"): ("Jacobian",),
    ("draw.matrix", "plot_regressor"): ("Regressor",),
    ("draw.vibrations", "plot_poles"): ("LinearModel",),
    ("draw.workspace", "plot_reach"): ("WorkspaceBoundary",),
    ("draw.proof", "plot_proved_workspace"): ("ProvenWorkspace",),
    ("draw.compared", "plot_balance"): ("GravityBalance",),
    ("draw.compared", "plot_validation"): ("Validation",),
    ("draw.compared", "plot_simulated_experiment"): ("SimulatedExperiment",),
    ("draw.compared", "plot_identification"): ("Identification",),
    ("draw.compared", "plot_operations"): ("Operations",),
    ("draw.compared", "plot_agreement"): ("Report",),
    ("draw.vibrations", "plot_modes"): ("NaturalFrequencies",),
    ("draw.vibrations", "plot_frequency_map"): ("FrequencyMap",),
    ("draw.vibrations", "plot_response"): ("FrequencyResponse",),
    ("control", "plot_runs"): ("ControlRun", "Comparison"),
    ("control", "plot_visual_comparison"): ("VisualFeedbackComparison",),
    ("vision", "plot_observation"): ("Observation",),
    ("draw.result", "plot_result"): (
        *("InverseKinematics", "ForwardKinematics", "Singularities", "BodyMotion", "JointMotion"),
        *("ToolPose", "Trajectory", "Waypoints", "ElementState", "ElementProjection"),
        *("InverseDynamics", "ForwardDynamics", "Reactions", "PeakReactions"),
        *("Excitation", "Measurement", "Samples", "ConsistentParameters"),
        *("Buckling", "StaticDeflection", "ResidualVibration"),
    ),
}
PLOTS: dict[str, tuple[str, str]] = {name: home for home, names in _PLOTS.items() for name in names}
"""For every class with a plot the module below `nacelle.report` and the function that draw it."""


def _report(module: str, function: str) -> Callable[..., Any]:
    """A function of the reports, by its name: the layers above this module are loaded at the first call."""
    target: Callable[..., Any] = getattr(importlib.import_module(f"nacelle.report.{module}"), function)
    return target


def _plot_function(module: str, function: str) -> Callable[..., Any]:
    """The method `plot` of a class, which imports what draws when it is called."""

    def plot(self: Any, *arguments: Any, **options: Any) -> Any:
        return _report(module, function)(self, *arguments, **options)

    plot.__name__ = f"_{function}"
    plot.__doc__ = (
        f"Draw it; arguments as in `nacelle.report.{module}.{function}`, options of all pictures as in "
        "`nacelle.report.draw.canvas.picture`."
    )
    return plot


_METHODS = {name: _plot_function(*home) for name, home in PLOTS.items()}


class Plot:
    """The attribute `plot` of a class: the function that draws it, or a class that it is made from."""

    def __get__(self, instance: object, owner: type) -> Callable[..., Any]:
        for parent in owner.__mro__:
            if parent.__name__ in _METHODS:
                function = _METHODS[parent.__name__]
                return function if instance is None else types.MethodType(function, instance)
        raise AttributeError(f"{owner.__name__} has no plot")


def html(result: Any) -> str:
    """A result as a table for notebooks; `_repr_html_` of classes that cannot be `HasTable`."""
    text: str = _report("notebook", "result_html")(result)
    return text


class HasTable:
    """A robot or a result: a line in a terminal, a table, plain data."""

    __slots__ = ()

    def table(self) -> str:
        """The result as text: quantities with units, of many samples the lowest, mean and highest value."""
        text: str = _report("notebook", "text_of")(self)
        return text

    def to_dict(self) -> dict[str, Any]:
        """The result as plain data that JSON can write: names to numbers, texts and lists, SI units."""
        data: dict[str, Any] = _report("notebook", "plain_data")(self)
        return data

    def _repr_html_(self) -> str:
        """The table for notebooks."""
        return html(self)

    def __repr__(self) -> str:
        """Give the class, the robot, how many samples there are and how many of them are flagged."""
        robot, flags = getattr(self, "robot", None), getattr(self, "flags", None)
        name = getattr(self, "name", None)
        text = type(self).__name__ + (f" {name}" if isinstance(name, str) else "")
        if robot is not None:
            text += f" of {getattr(robot, 'name', robot)}"
        if flags is not None:
            size = int(getattr(flags, "size", 1))
            count = int((flags != 0).sum()) if size else 0
            text += f": {size} sample{'' if size == 1 else 's'}" + (f", {count} flagged" if count else "")
        return f"<{text}>"


class Plottable(HasTable):
    """A robot or a result with a plot."""

    __slots__ = ()

    plot: ClassVar[Plot] = Plot()
