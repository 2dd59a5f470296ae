"""Commands about parameters: base, excite, simulate-experiment, identify and validate."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

import nacelle
from nacelle.cli.identification import shared_legs
from nacelle.identification.excitation.optimise import MotionDesign
from nacelle.identification.excitation.result import read_motion
from nacelle.identification.experiment import Experiment, perturb_parameters
from nacelle.tables.csv import write_table
from support.command import run, run_json
from support.identified import measured_run
from support.library import library_robot

# ---- The command `base`: what is printed is the base parameters of Python


def test_printed_and_as_json() -> None:
    base = nacelle.base_parameters(library_robot("fivebar"), shared="legs")
    assert "equal to the structural rank" in run("base", "fivebar", "--shared", "legs").stdout
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
    assert shared_legs(given) == expected


@pytest.mark.slow
def test_a_simulated_experiment_makes_data_from_a_motion():
    """The command `simulate-experiment`: data of a simulated robot, in a new file."""
    run(
        *("excite", "fivebar", "--starts", "1", "--iterations", "3", "--harmonics", "5"),
        *("--duration", "1", "--out", "motion.yaml"),
    )
    data = run_json(
        "simulate-experiment", "fivebar", "--motion", "motion.yaml", "--csv", "new.csv", "--periods", "2"
    )
    assert data["samples"] == 2000
    assert len(nacelle.identification.read_measurement(library_robot("fivebar"), "new.csv")) == 2000
    assert (
        "exists already"
        in run("simulate-experiment", "fivebar", "--motion", "motion.yaml", "--csv", "new.csv", code=1).output
    )


@pytest.fixture
def data() -> str:
    run_ = measured_run("fivebar")
    names = [actuator.name for actuator in run_.robot.actuators]
    header = ["time", *(f"q.{name}" for name in names), *(f"force.{name}" for name in names)]
    table = np.column_stack([run_.time, run_.q, run_.tau])
    write_table(Path("measured.csv"), header, [""] * len(header), table)
    return "measured.csv"


@pytest.mark.slow
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


QUICK = ("fivebar", "--starts", "1", "--iterations", "8", "--harmonics", "6", "--duration", "1")


@pytest.mark.slow
def test_the_motion_is_printed_and_written():
    table = ("--csv", "motion.csv", "--rate", "100", "--no-approach")
    result = run("excite", *QUICK, *table, "--out", "motion.yaml")
    for words in (
        "fivebar: combined excitation of 21 base parameters, 1 s",
        "condition",
        "worst determined",
        "%",
    ):
        assert words in result.stdout
    for kind in ("speed", "acceleration", "force", "position", "leg margin", "conditioning"):
        assert kind in result.stdout
    motion = read_motion("motion.yaml")
    table = nacelle.trajectory.read_waypoints(Path("motion.csv"), library_robot("fivebar").motion)
    assert len(table.points) == 101
    assert np.allclose(table.points, motion(table.times).x)
    assert "exists already" in run("excite", *QUICK, "--out", "motion.yaml", code=1).output


@pytest.mark.slow
def test_an_excitation_is_that_of_python():
    data = run_json("excite", *QUICK, "--seed", "2", "--speed", "8rad/s", "--force", "50%")
    made = nacelle.identification.excite(
        library_robot("fivebar"),
        limits=nacelle.identification.MotionLimits(speed=8.0, force=6.0),
        shape=nacelle.identification.MotionShape(harmonics=6, duration=1.0),
        search=nacelle.identification.MotionSearch(starts=1, iterations=8, seed=2),
    )
    assert data["condition"] == pytest.approx(made.condition, rel=1e-12)
    assert data["parts"] == made.data()["parts"]
    assert data["limits"]["speed"] == [8.0, 8.0]
    assert data["limits"]["force"] == [6.0, 6.0]
    assert all(use["use"] <= 1.0 for use in data["uses"])


@pytest.mark.slow
def test_limits_of_single_actuators():
    limited = ("--acceleration", "300rad/s^2", "--acceleration", "left.motor=100rad/s^2")
    data = run_json("excite", *QUICK[:-2], "--frequency", "1.25", *limited)
    assert data["limits"]["acceleration"] == [100.0, 300.0]
    assert data["duration"] == pytest.approx(0.8)


@pytest.mark.slow
def test_ctrl_c_keeps_the_best_so_far(monkeypatch):
    evaluate, calls = MotionDesign.evaluate, []

    def interrupted(self, *arguments):
        calls.append(1)
        if len(calls) > 5:
            raise KeyboardInterrupt
        return evaluate(self, *arguments)

    monkeypatch.setattr(MotionDesign, "evaluate", interrupted)
    result = run("excite", *QUICK, "--out", "motion.yaml", code=130)
    assert "interrupted: the best motion so far is kept" in result.stdout
    assert read_motion("motion.yaml").duration == 1.0


@pytest.mark.slow
def test_a_picture_of_the_forces():
    run("excite", *QUICK, "--plot", "forces.png", "--strategy", "separate")
    assert Path("forces.png").stat().st_size > 10_000


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Two runs of a five-bar in closed loop, and one of the same machine with a payload of 300 g."""
    folder = tmp_path_factory.mktemp("runs")
    robot = library_robot("fivebar")
    true = perturb_parameters(robot, 10.0)
    loaded = nacelle.with_payload(true, 0.3)
    for name, seed, plant in (("run", 1, true), ("other", 2, true), ("loaded", 1, loaded)):
        a, b = 0.03 * np.random.default_rng(seed).normal(size=(2, 4, 2)) / np.arange(1, 5)[:, None]
        motion = nacelle.trajectory.Fourier(
            nacelle.reference_pose(robot), a, b, motion=robot.motion, frequency=0.5
        )
        Experiment(robot, motion, true=plant, periods=2).run(seed).to_csv(folder / f"{name}.csv")
    return folder


@pytest.fixture(autouse=True)
def _with_the_runs(runs):
    for path in runs.glob("*.csv"):
        shutil.copy(path, Path.cwd())


@pytest.mark.slow
def test_parameters_are_printed_written_and_validated():
    line = "fivebar run.csv --validate other.csv --out identified.yaml --report page.html"
    result = run("identify", *line.split())
    for words in ("21 base parameters by InstrumentalVariables", "left.proximal.Izz", "validation: R^2"):
        assert words in result.stdout
    assert "<html" in Path("page.html").read_text(encoding="utf-8")
    identified = nacelle.load("identified.yaml")
    described = run_json("validate", "fivebar", "other.csv")
    better = run_json("validate", "identified.yaml", "other.csv")
    for before, after in zip(described["rows"], better["rows"], strict=True):
        assert after["rms"] < 0.5 * before["rms"]
    truth = nacelle.base_parameters(perturb_parameters(library_robot("fivebar"), 10.0)).values
    mine = nacelle.base_parameters(identified).values
    k = nacelle.base_parameters(identified).names.index("left.proximal.Izz")
    assert abs(mine[k] - truth[k]) < 0.02 * truth[k]


@pytest.mark.slow
def test_an_identification_is_that_of_python():
    data = run_json("identify", "fivebar", "run.csv", "--method", "wls", "--prior", "0.5")
    robot = library_robot("fivebar")
    result = nacelle.identification.identify(
        robot,
        nacelle.identification.read_measurement(robot, "run.csv"),
        method="wls",
        prior=nacelle.identification.CadPrior(0.5),
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


def test_a_payload_on_a_body_without_mass_is_refused_before_any_data_are_read() -> None:
    result = run("identify", "fivebar", "nowhere.csv", "--payload", "nowhere.csv", code=1)
    assert "'tip', which the description gives no mass" in " ".join(result.output.split())
    other = run(
        "identify", "fivebar", "nowhere.csv", "--payload", "nowhere.csv", "--on", "left.distal", code=1
    )
    assert "nowhere.csv" in other.output
    assert "tip" not in other.output


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


@pytest.mark.costly
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
