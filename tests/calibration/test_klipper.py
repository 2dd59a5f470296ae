"""Against Klipper's own fit of the same data: three times less error where distances are measured."""

import importlib.util
import os
import sys
from pathlib import Path

import numpy as np
import pytest

# Klipper's delta.py, delta_calibrate.py and mathutil.py.
FOLDER = Path(os.environ.get("NACELLE_KLIPPER", "/nowhere"))
BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "calibration.py"


@pytest.mark.skipif(not FOLDER.is_dir(), reason="NACELLE_KLIPPER names no folder")
def test_errors_are_a_third_of_klippers(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = importlib.util.spec_from_file_location("calibration_benchmark", BENCHMARK)
    benchmark = importlib.util.module_from_spec(spec)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    spec.loader.exec_module(benchmark)
    rms, _ = benchmark.compare_with_klipper(
        benchmark.Klipper(FOLDER), 3, benchmark.disc(25.0), with_distances=True
    )
    _, klipper, calibrated, bound = rms
    assert np.all(klipper > 3.0 * calibrated)
    # Of three machines the mean may lie off the bound.
    assert np.all(calibrated < 1.5 * bound)
