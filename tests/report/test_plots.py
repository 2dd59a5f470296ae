"""What the public API registers can be drawn, and importing it costs nothing."""

from __future__ import annotations

import subprocess
import sys

import nacelle


def test_results_have_their_plots() -> None:
    for name in ("ControlRun", "Comparison", "LookingComparison", "Observation"):
        assert getattr(nacelle, name).plot.__module__ == "nacelle.report.plots"


def test_nothing_is_imported_before_something_is_drawn() -> None:
    code = "import sys, nacelle.report.plots; print('numpy' in sys.modules, 'matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]
