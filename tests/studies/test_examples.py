"""The studies in examples/studies, the command `study`, and what is said of wrong studies."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from nacelle.cli import app
from nacelle.errors import DescriptionError, StudyError
from nacelle.studies import Study

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "studies"
DELTA = """\
robot: delta
variables: {rod_length: {from: 590 mm, to: 610 mm}}
motions: {cycle: {pick-and-place: {distance: 200 mm, duration: 0.4 s}, samples: 5}}
quantities: {mass: mass}
"""
SMALL = "".join(line for line in DELTA.splitlines(keepends=True) if not line.startswith("motions"))


# ---- examples


@pytest.mark.slow
@pytest.mark.parametrize("name", ["delta", "hexapod-tolerances", "ankle-study"])
def test_examples_are_evaluated(name: str) -> None:
    study = Study(EXAMPLES / f"{name}.yaml")
    values = study.evaluator.space.nominal_values
    displaced = 1.01 * values if values.any() else 1e-4 * np.eye(len(values))[0]
    table = study.evaluate([values, displaced])
    assert table.ok.all()
    assert np.isfinite(table.values).all()
    assert study.evaluator.violations(table).max(initial=-1.0) <= 0.0
    if name == "hexapod-tolerances":
        assert table["position"][0] == pytest.approx(0.0, abs=1e-12)
        assert 1e-5 < table["position"][1] < 1e-3


def test_dexterity_of_the_ankle_is_that_of_its_lever_arms() -> None:
    """Cranks turn alike: at rest heel and half width are the lever arms of pitch and roll."""
    study = Study(
        {
            "robot": str(EXAMPLES / "ankle.yaml"),
            "variables": {"heel": {"from": 0.03, "to": 0.045}, "crank_length": {"from": 0.03, "to": 0.05}},
            "quantities": {"dexterity": "dexterity"},
        }
    )
    values = np.array([[0.03, 0.04], [0.04, 0.04], [0.04, 0.035]])
    assert study.evaluate(values)["dexterity"] == pytest.approx(values[:, 0] / 0.045, rel=0.1)


# ---- the command


def run(*words: str) -> Result:
    return CliRunner().invoke(app, ["study", *words])


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "tiny.yaml"
    file.write_text(SMALL + "sample: {method: grid}\n", encoding="utf-8")
    return file


def test_a_folder_is_written_and_resumed(tiny: Path) -> None:
    first = run("tiny.yaml")
    assert first.exit_code == 0, first.output
    assert "2 variants of delta: 2 ok" in first.stdout
    folder = Path("tiny-results")
    assert {path.name for path in folder.iterdir()} >= {"study.json", "blocks", "study.html"}
    refused = run("tiny.yaml")
    assert refused.exit_code == 1
    assert "give --resume" in refused.stderr
    block = folder / "blocks" / "block-000000.parquet"
    content = block.read_bytes()
    assert run("tiny.yaml", "--resume").stdout == first.stdout
    (folder / "blocks" / "block-000000.parquet").unlink()
    # A folder without blocks holds no results.
    assert run("tiny.yaml").stdout == first.stdout
    assert block.read_bytes() == content
    tiny.write_text(tiny.read_text(encoding="utf-8").replace("610", "620"), encoding="utf-8")
    other = run("tiny.yaml", "--resume")
    assert other.exit_code == 1
    assert "(variables.rod_length.to is '610 mm' there and '620 mm' here)" in " ".join(other.stderr.split())
    (folder / "blocks" / "block-000000.parquet").unlink()
    assert run("tiny.yaml").exit_code == 0
    assert "620 mm" in (folder / "study.json").read_text(encoding="utf-8")


def test_results_are_data(tiny: Path) -> None:
    data = json.loads(run("tiny.yaml", "--json").stdout)
    assert data["variants"] == data["feasible"] == 2
    assert data["counts"] == {"ok": 2}
    assert data["quantities"]["mass"]["mean"]["value"] == pytest.approx(3.48)


def test_a_dry_run_writes_nothing(tiny: Path) -> None:
    dry = run("tiny.yaml", "--dry")
    assert dry.exit_code == 0
    assert "2 variants in 1 block" in dry.stdout + dry.stderr
    assert [path.name for path in tiny.parent.iterdir()] == ["tiny.yaml"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("rod_length:", "rod_lenght:"), "tiny.yaml:2:13: variables.rod_lenght: delta has no number"),
        (("610 mm", "610 kg"), "'kg' is not a unit of length"),
        (
            ("{mass: mass}", "{p: peek force}"),
            "tiny.yaml:3:14: quantities.p: there is no quantity 'peek force'",
        ),
        (("{mass: mass}", "{}"), "tiny.yaml:3:1: quantities"),
        (
            ("{mass: mass}", "{p: {kind: dexterity, region: spcae}}"),
            "tiny.yaml:3:14: quantities.p: there is no region",
        ),
        (("{from: 590 mm, to: 610 mm}", "{normal: 1 mm}"), "has no ends"),
        (("sample: {method: grid}", "optimise: {minimise: mas}"), "did you mean 'mass'?"),
    ],
)
def test_mistakes_have_a_place(tiny: Path, change: tuple[str, str], message: str) -> None:
    tiny.write_text(tiny.read_text(encoding="utf-8").replace(*change), encoding="utf-8")
    result = run("tiny.yaml")
    assert result.exit_code == 1
    assert message in result.stdout + result.stderr
    assert not Path("tiny-results").exists()


def test_what_an_optimiser_lacks_is_said_before_a_folder_is_begun(tiny: Path) -> None:
    text = tiny.read_text(encoding="utf-8")
    entry = "optimise: {minimise: mass, evaluations: 10, population: 20}"
    tiny.write_text(text.replace("sample: {method: grid}", entry), encoding="utf-8")
    result = run("tiny.yaml")
    assert result.exit_code == 1
    assert "first generation" in result.stderr
    assert not Path("tiny-results").exists()


# ---- studies in Python


def test_no_joint_of_that_name() -> None:
    text = DELTA.replace("{mass: mass}", "{p: {kind: peak reaction, joint: leg1.wrst-a}}")
    with pytest.raises(DescriptionError, match=r"did you mean 'leg1\.wrist-a'"):
        _ = Study(text).evaluator


def test_a_function_that_gives_nan_is_a_failure_with_a_reason(tmp_path: Path) -> None:
    (tmp_path / "cost.py").write_text("def cost(columns):\n    return float('nan')\n", encoding="utf-8")
    file = tmp_path / "s.yaml"
    file.write_text(SMALL.replace("{mass: mass}", "{c: {python: 'cost.py:cost'}}"), encoding="utf-8")
    table = Study(file).evaluate([[0.6]])
    assert not table.ok.any()
    assert table.reasons == {"c gave nan": 1}


def test_constraints_have_a_yield() -> None:
    text = SMALL + "constraints: ['rod_length <= 0.6']\nsample: {method: grid}\n"
    text = text.replace("to: 610 mm", "to: 610 mm, points: 4")
    result = Study(text).run()
    assert result.feasible.sum() == 2
    assert result.feasible_share.low < 0.5 < result.feasible_share.high
    assert "2 of 4 keep all constraints: 50 %" in result.table()


def test_gradients_of_an_optimisation_are_by_points_of_the_cube() -> None:
    """Of a logarithmic range z = a (b/a)^u: dz/du = z log(b/a)."""
    text = SMALL.replace("590 mm, to: 610 mm}", "500 mm, to: 700 mm, scale: log}")
    text = text.replace("{mass: mass}", "{twice: 2*rod_length}")
    study = Study(text + "optimise: {minimise: twice, method: slsqp, evaluations: 60, population: 4}\n")
    points = np.array([[0.25], [0.75]])
    gradients = study._gradients(points, ["twice"], np.ones(1))
    z = 0.5 * 1.4**points
    assert gradients.objectives[:, 0] == pytest.approx(2.0 * z * np.log(1.4), rel=1e-6)
    result = study.run()
    assert result.variants["rod_length"][result.best] == pytest.approx(0.5)


def test_an_optimiser_of_the_study_is_one_that_exists() -> None:
    study = Study(SMALL + "optimise: {minimise: mass, method: none}\n")
    with pytest.raises(StudyError, match="unknown optimiser"):
        study.run()
