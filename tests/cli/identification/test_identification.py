"""Identification: base, options, rehearse, validate."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import nacelle
from nacelle.cli.identification.options import sharing
from nacelle.tables.csv import write_table
from support.command import run, run_json
from support.identified import measured
from support.library import library_robot

# ---- The command `base`: what is printed is the base parameters of Python


def test_printed_and_as_json() -> None:
    base = nacelle.base_parameters(library_robot("fivebar"), shared="legs")
    assert "which is what the rules of mechanics leave" in run("base", "fivebar", "--shared", "legs").stdout
    data = run_json("base", "fivebar", "--shared", "legs")
    assert data == base.data() | {"robot": data.get("robot", base.data().get("robot"))}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (None, None),
        ([], None),
        (["legs"], "legs"),
        (["leg1, leg2"], [["leg1", "leg2"]]),
        (["a,mirror b", "c,d"], [["a", "mirror b"], ["c", "d"]]),
    ],
)
def test_legs_that_share(given: list[str] | None, expected: object) -> None:
    """Options that commands of identification share."""
    assert sharing(given) == expected


def test_a_rehearsal_makes_data_from_a_motion():
    """The command `rehearse`: data of a simulated robot, in a new file."""
    run(
        *("excite", "fivebar", "--starts", "1", "--iterations", "3", "--harmonics", "5"),
        *("--duration", "1", "--out", "motion.yaml"),
    )
    data = run_json("rehearse", "fivebar", "--motion", "motion.yaml", "--csv", "new.csv", "--periods", "2")
    assert data["samples"] == 2000
    assert len(nacelle.read_measurement("new.csv", library_robot("fivebar"))) == 2000
    assert (
        "exists already"
        in run("rehearse", "fivebar", "--motion", "motion.yaml", "--csv", "new.csv", code=1).output
    )


@pytest.fixture
def data() -> str:
    run_ = measured("fivebar")
    names = [actuator.name for actuator in run_.robot.actuators]
    header = ["time", *(f"q.{name}" for name in names), *(f"force.{name}" for name in names)]
    table = np.column_stack([run_.time, run_.q, run_.force])
    write_table(Path("run.csv"), header, [""] * len(header), table)
    return "run.csv"


def test_forces_of_the_model_are_predicted_to_their_noise(data: str) -> None:
    """The command `validate`: a robot's numbers against forces that they have made."""
    found = run_json("validate", "fivebar", data)
    assert len(found["rows"]) == 2
    for row in found["rows"]:
        assert row["rms"] < 3.0 * row["floor"]
    text = run("validate", "fivebar", data, "--report", "page.html").stdout
    assert "fivebar: forces: R^2 0.99" in text
    page = Path("page.html").read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>")
    assert "exists already" in run("validate", "fivebar", data, "--report", "page.html", code=1).output
    assert Path("page.html").read_text(encoding="utf-8") == page
