"""The commands `rehearse`, `identify` and `validate`, as one would use them after another."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from tests.support.command import run, run_json
from tests.support.library import library_robot

import nacelle
from nacelle.identification.rehearsal import Experiment, moved


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Two runs of a five-bar in closed loop, and one of the same machine with a payload of 300 g."""
    folder = tmp_path_factory.mktemp("runs")
    robot = library_robot("fivebar")
    true = moved(robot, 10.0)
    loaded = nacelle.with_payload(true, 0.3)
    for name, seed, plant in (("run", 1, true), ("other", 2, true), ("loaded", 1, loaded)):
        a, b = 0.03 * np.random.default_rng(seed).normal(size=(2, 4, 2)) / np.arange(1, 5)[:, None]
        motion = nacelle.Fourier(nacelle.reference_pose(robot), a, b, motion=robot.motion, frequency=0.5)
        Experiment(robot, motion, true=plant, periods=2).run(seed).to_csv(folder / f"{name}.csv")
    return folder


@pytest.fixture(autouse=True)
def _with_the_runs(runs):
    for path in runs.glob("*.csv"):
        shutil.copy(path, Path.cwd())


@pytest.mark.slow
def test_parameters_are_printed_written_and_validated():
    result = run(
        "identify",
        "fivebar",
        "run.csv",
        "--validate",
        "other.csv",
        "--out",
        "identified.yaml",
        "--report",
        "page.html",
    )
    for words in ("21 base parameters by InstrumentalVariables", "left.proximal.Izz", "validation: R^2"):
        assert words in result.stdout
    assert "<html" in Path("page.html").read_text(encoding="utf-8")
    identified = nacelle.load("identified.yaml")
    described = run_json("validate", "fivebar", "other.csv")
    better = run_json("validate", "identified.yaml", "other.csv")
    for before, after in zip(described["rows"], better["rows"], strict=True):
        assert after["rms"] < 0.5 * before["rms"]
    truth = nacelle.base_parameters(moved(library_robot("fivebar"), 10.0)).values
    mine = nacelle.base_parameters(identified).values
    k = nacelle.base_parameters(identified).names.index("left.proximal.Izz")
    assert abs(mine[k] - truth[k]) < 0.02 * truth[k]


@pytest.mark.slow
def test_json_is_the_data_of_python():
    data = run_json("identify", "fivebar", "run.csv", "--method", "wls", "--prior", "0.5")
    robot = library_robot("fivebar")
    result = nacelle.identify(
        robot, nacelle.read_measurement("run.csv", robot), method="wls", prior=nacelle.CadPrior(0.5)
    )
    assert [p["estimate"] for p in data["parameters"]] == pytest.approx(result.estimator.coef_.tolist())
    assert data["method"] == "WeightedLeastSquares"


@pytest.mark.slow
def test_a_payload_is_the_difference_of_two_runs():
    data = run_json("identify", "fivebar", "run.csv", "--payload", "loaded.csv", "--assume", "nothing")
    assert abs(data["payload"]["mass"] - 0.3) < 0.01
    assert data["payload"]["determined"] == ["m"]
    result = run("identify", "fivebar", "run.csv", "--payload", "loaded.csv", code=1)
    assert "--assume nothing" in result.output


@pytest.mark.slow
def test_faults_stop_the_estimate_until_they_are_allowed():
    lines = Path("run.csv").read_text(encoding="utf-8").splitlines()
    cells = lines[40].split(",")
    lines[40] = ",".join([cells[0], "", *cells[2:]])
    Path("gap.csv").write_text("\n".join(lines), encoding="utf-8")
    result = run("identify", "fivebar", "gap.csv", "--out", "no.yaml", code=1)
    assert "gap.csv:41" in result.output
    assert not Path("no.yaml").exists()
    run("identify", "fivebar", "gap.csv", "--allow", "missing")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("identify", "fivebar", "none.csv"), "none.csv"),
        (("identify", "fivebar", "run.csv", "--method", "ivv"), "did you mean 'iv'?"),
        (("identify", "fivebar", "run.csv", "--allow", "everything"), "no kind of finding"),
        (("identify", "fivebar", "run.csv", "--cutoff", "-3"), "cutoff must be above zero"),
        (("identify", "fivebar", "run.csv", "--out", "run.csv"), ".yaml"),
        (("identify", "fivebar", "run.csv", "--prior", "0"), "above zero"),
        (("identify", "delta", "run.csv"), "leg1.motor"),
        (("validate", "fivebar", "run.csv", "--columns", "map.yaml"), "map.yaml"),
    ],
)
def test_wrong_input_gets_one_clear_error(arguments, words):
    result = run(*arguments, code=1)
    assert words in result.output
    assert "Traceback" not in result.output


@pytest.mark.slow
def test_parameters_that_explain_nothing_are_not_written_until_they_are_allowed():
    """Time a thousand times too long, allowed: a fit that a constant force would beat."""
    header, *lines = Path("run.csv").read_text(encoding="utf-8").splitlines()
    cells = [line.split(",") for line in lines]
    slow = [",".join([repr(1000.0 * float(time)), *others]) for time, *others in cells]
    Path("slow.csv").write_text("\n".join([header, *slow]), encoding="utf-8")
    result = run("identify", "fivebar", "slow.csv", "--out", "no.yaml", code=1)
    assert "ms for s" in result.output
    files = ("--out", "no.yaml", "--report", "no.html")
    result = run("identify", "fivebar", "slow.csv", "--allow", "unit", *files, code=1)
    assert "the parameters do not explain the forces: R^2 is -" in result.output
    assert "base parameters by" in result.output
    data = run_json("identify", "fivebar", "slow.csv", "--allow", "unit", code=1)
    assert data["ok"] is False
    assert "check the unit of time" in data["error"]
    result = run("validate", "fivebar", "slow.csv", "--allow", "unit", "--report", "no.html", code=1)
    assert "do not explain the forces" in result.output
    assert not Path("no.yaml").exists()
    assert not Path("no.html").exists()
    run("identify", "fivebar", "slow.csv", "--allow", "unit", "--allow", "misfit", *files)
    assert Path("no.yaml").exists()
    assert Path("no.html").exists()


@pytest.mark.slow
def test_a_held_out_run_that_is_not_explained_is_an_error():
    header, *lines = Path("other.csv").read_text(encoding="utf-8").splitlines()
    names = header.split(",")
    flipped = [
        ",".join(f"-{cell}".replace("--", "") if name.startswith("force") else cell for name, cell in pairs)
        for pairs in (zip(names, line.split(","), strict=True) for line in lines)
    ]
    Path("flipped.csv").write_text("\n".join([header, *flipped]), encoding="utf-8")
    result = run("identify", "fivebar", "run.csv", "--validate", "flipped.csv", "--out", "no.yaml", code=1)
    assert "signs" in result.output
    assert not Path("no.yaml").exists()
