"""The command `validate`: a robot's numbers against forces that they have made."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from nacelle.tables.csv import write_table
from support.command import run, run_json
from support.identified import measured


@pytest.fixture
def data() -> str:
    run_ = measured("fivebar")
    names = [actuator.name for actuator in run_.robot.actuators]
    header = ["time", *(f"q.{name}" for name in names), *(f"force.{name}" for name in names)]
    table = np.column_stack([run_.time, run_.q, run_.force])
    write_table(Path("run.csv"), header, [""] * len(header), table)
    return "run.csv"


def test_forces_of_the_model_are_predicted_to_their_noise(data: str) -> None:
    found = run_json("validate", "fivebar", data)
    assert len(found["rows"]) == 2
    for row in found["rows"]:
        assert row["rms"] < 3.0 * row["floor"]
    text = run("validate", "fivebar", data, "--report", "page.html").stdout
    assert "fivebar: forces: R^2 0.99" in text
    assert Path("page.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_a_page_is_not_overwritten(data: str) -> None:
    Path("page.html").write_text("mine", encoding="utf-8")
    result = run("validate", "fivebar", data, "--report", "page.html", code=1)
    assert "exists already" in result.output
    assert Path("page.html").read_text(encoding="utf-8") == "mine"
