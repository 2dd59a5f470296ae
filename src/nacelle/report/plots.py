"""How results of control and vision are drawn: what the public API registers as their `plot`.

What draws is imported when it is called, so that this module costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nacelle.control.compare import Comparison
    from nacelle.control.loop.run import ControlRun
    from nacelle.control.vision.comparison import LookingComparison
    from nacelle.vision.observation import Observation


def control_run(run: ControlRun, kind: str = "errors", **options: Any) -> Any:
    """Draw a closed loop: "errors", "forces" or "path"; options as in `nacelle.report.control.figures`."""
    from nacelle.report.control.figures import plot_runs

    return plot_runs([run], kind, **options)


def comparison(runs: Comparison, kind: str = "errors", **options: Any) -> Any:
    """Draw closed loops beside each other, as `control_run` does one."""
    from nacelle.report.control.figures import plot_runs

    return plot_runs(runs.runs, kind, **options)


def observation(seen: Observation, **options: Any) -> Any:
    """Draw what a camera sees; options as in `nacelle.report.vision.picture.plot_observation`."""
    from nacelle.report.vision.picture import plot_observation

    return plot_observation(seen, **options)


def looking(result: LookingComparison, **options: Any) -> Any:
    """Draw encoders against vision; options as in `nacelle.report.vision.comparison.plot_looking`."""
    from nacelle.report.vision.comparison import plot_looking

    return plot_looking(result, **options)
