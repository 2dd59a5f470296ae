"""Demo: circle, command, exported, flexible, folder, identified, machine, steps, verified, words."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import nacelle.verify
from nacelle.cli import app
from nacelle.cli.demo import circle, command
from nacelle.cli.demo.exported import exported
from nacelle.cli.demo.flexible import flexible
from nacelle.cli.demo.folder import LIST, DemoFolder
from nacelle.cli.demo.identified import FORCE_NOISE, RESOLUTION, measured
from nacelle.cli.demo.machine import SCENARIO, TRUE, machine
from nacelle.cli.demo.steps import done
from nacelle.cli.demo.verified import verified
from nacelle.control.scenario.paths import scenario_path
from nacelle.errors import NacelleError
from nacelle.kinematics.pose_input import reference_pose
from nacelle.library import load
from nacelle.model.linear_parameters import linear_parameters
from nacelle.report.demo.step import DONE, FAILED, STOPPED, DemoTask
from nacelle.verify import MissingEngineError, engine
from support.demo_steps import exported as steps_exported
from support.demo_steps import steps

# ---- Runs that do not come to their end are no results


@pytest.mark.parametrize(("status", "kind"), [("interrupted", KeyboardInterrupt), ("event", NacelleError)])
def test_a_run_that_ends_early(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: str, kind: Any
) -> None:
    run = SimpleNamespace(status=status, ok=False, label="sj", message="strut1 is at its limit")
    scenario = SimpleNamespace(run=lambda model: SimpleNamespace(runs=(run,)))
    monkeypatch.setattr(circle, "machine", lambda *_: scenario)
    with pytest.raises(kind):
        circle.controlled_circle(load("palida"), DemoFolder(tmp_path))


# ---- The package is written and tested; without a compiler the step says so


def test_without_a_compiler_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    result = exported(load("fivebar"), DemoFolder(tmp_path))
    assert "there is no C compiler" in result.lines()[-1]
    assert "left out" in result.claim
    assert result.prototype.startswith("void fivebar_inverse_dynamics(")
    # A second run replaces the package.
    exported(load("fivebar"), DemoFolder(tmp_path))


@pytest.mark.skipif(not shutil.which("cc"), reason="there is no C compiler")
def test_the_package_has_passed_its_self_test(tmp_path: Path) -> None:
    result = exported(load("fivebar"), DemoFolder(tmp_path))
    assert result.verdict == "all is well"
    assert not (tmp_path / "palida-c" / "build").exists()


@pytest.mark.slow
def test_the_printed_table(tmp_path: Path) -> None:
    """Table II of [BK2013]; that the commands give it too is a part of the whole run."""
    result = flexible(DemoFolder(tmp_path))
    assert result.same == result.printed.size == 30
    assert result.above == pytest.approx(0.27, abs=0.01)
    # Curves pass through the poses of the table.
    for slider, row in zip(result.sliders, result.computed, strict=True):
        np.testing.assert_allclose(result.curves[np.argmin(np.abs(result.curve - slider))], row, rtol=1e-9)
    assert len(list(tmp_path.glob("prrrp-one-element*.yaml"))) == 3


# ---- A second run replaces what a demonstration wrote, and nothing else


def written(path: Path) -> DemoFolder:
    """A folder with a file, and one of another's making in a folder inside."""
    folder = DemoFolder(path)
    folder.write("report.html", "<p>")
    (path / "code").mkdir()
    (path / "code" / "a.c").write_text("int a;")
    folder.add("code/a.c")
    return folder


def test_a_second_run_replaces_what_the_first_wrote(tmp_path: Path) -> None:
    """And nothing else; the list grows with every file, so that the next run knows what is its own."""
    place = tmp_path / "new" / "demo"
    written(place)
    assert {"report.html", "code/a.c"} <= set(json.loads((place / LIST).read_text())["files"])
    (place / "notes.txt").write_text("mine")
    (place / "code" / "mine.c").write_text("int mine;")
    DemoFolder(place)
    assert sorted(p.name for p in place.iterdir()) == ["code", "notes.txt", LIST]
    assert [p.name for p in (place / "code").iterdir()] == ["mine.c"]


def test_a_file_that_was_changed_is_not_lost(tmp_path: Path) -> None:
    written(tmp_path)
    (tmp_path / "code" / "a.c").write_text("int a = 1;")
    with pytest.raises(NacelleError, match=r"changed since \(code/a\.c\)"):
        DemoFolder(tmp_path)
    assert (tmp_path / "report.html").read_text() == "<p>"


@pytest.mark.parametrize(
    "listed", [None, "[]", '{"files": {"../outside": ""}}', '{"files": {"/etc/x": "1"}}']
)
def test_a_folder_of_others_is_refused(tmp_path: Path, listed: str | None) -> None:
    (tmp_path / "outside").write_text("x")
    place = tmp_path / "demo"
    place.mkdir()
    (place / "mine.txt").write_text("x")
    if listed is not None:
        (place / LIST).write_text(listed)
    with pytest.raises(NacelleError, match="not written by nacelle demo"):
        DemoFolder(place)
    assert (place / "mine.txt").exists()
    assert (tmp_path / "outside").exists()


def test_what_is_no_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(NacelleError, match="no folder"):
        DemoFolder(tmp_path / "file")
    with pytest.raises(NacelleError, match="cannot write"):
        DemoFolder(tmp_path / "file" / "demo")


def test_encoders_count_and_forces_are_noisy() -> None:
    """What the sensors of the demonstration show; the identification itself is a part of the whole run."""
    robot = load("palida")
    still = np.full((4000, 6), 0.123456789)
    run: Any = SimpleNamespace(actual=still, acting=7.0 + 0.0 * still, time=5e-4 * np.arange(4000))
    data = measured(robot, run)
    assert len(data) == 1000
    counts = data.q / RESOLUTION
    np.testing.assert_allclose(counts, np.round(counts), atol=1e-6)
    assert 2 <= len(np.unique(np.round(counts))) <= 20
    assert abs(np.std(data.force) - FORCE_NOISE) < 0.1
    assert abs(np.mean(data.force) - 7.0) < 0.1


def test_path_and_parameters(tmp_path: Path) -> None:
    """The machine is the one that the pages describe: its path, its parameters."""
    robot, folder = load("palida"), DemoFolder(tmp_path)
    scenario = machine(robot, folder)
    path = scenario_path(robot, scenario.spec.path, tmp_path).trajectory
    t = np.linspace(0.5, 2.0, 7)
    x, v, _ = path(t)
    arm = x[:, :3] - reference_pose(robot)[:3]
    np.testing.assert_allclose(np.linalg.norm(arm, axis=1), 0.2, rtol=1e-9)
    np.testing.assert_allclose(np.linalg.norm(v[:, :3], axis=1), 1.0, rtol=1e-9)
    tilt = np.radians(30.0)
    np.testing.assert_allclose(arm @ [0.0, -np.sin(tilt), np.cos(tilt)], 0.0, atol=1e-12)
    own, true = (linear_parameters(one).values for one in (robot, load(str(tmp_path / TRUE))))
    np.testing.assert_array_equal(true == 0.0, own == 0.0)
    change = np.abs(true[own != 0.0] / own[own != 0.0] - 1.0)
    assert 0.05 < change.max() <= 0.1 + 1e-12
    assert len(scenario.spec.controllers) == 3
    # The second call reads what the first has written.
    kept = (tmp_path / SCENARIO).stat().st_mtime_ns
    machine(robot, folder)
    assert (tmp_path / SCENARIO).stat().st_mtime_ns == kept


@pytest.mark.parametrize(
    ("error", "state", "message"),
    [
        (None, DONE, ""),
        (NacelleError("an engine disagrees"), FAILED, "an engine disagrees"),
        (ValueError("no number"), FAILED, "ValueError: no number"),
        (KeyboardInterrupt(), STOPPED, "Ctrl-C has ended this step"),
    ],
)
def test_what_comes_of_a_step(error: BaseException | None, state: str, message: str) -> None:
    """Steps that go well, fail, break and are stopped."""

    def compute() -> Any:
        if error is not None:
            raise error
        return steps_exported()

    step = done(DemoTask("exported", "Code", compute))
    assert (step.state, step.message) == (state, message)
    assert (step.result is not None) == (state == DONE)
    assert step.seconds >= 0.0


# ---- Engines that agree, that disagree, and that are not there


def test_without_engines_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise MissingEngineError(name)

    monkeypatch.setattr(engine, "builder", missing)
    (line,) = verified(load("fivebar")).lines()
    assert line == ("Not compared: pinocchio and mujoco are not installed (pip install 'nacelle[verify]').")


def test_an_engine_that_disagrees_fails_the_step(monkeypatch: pytest.MonkeyPatch) -> None:
    report = SimpleNamespace(ok=False, text=lambda: "inverse dynamics 0.1")
    monkeypatch.setattr(engine, "builder", lambda name: None)
    monkeypatch.setattr(nacelle.verify, "verify", lambda *_: report)
    with pytest.raises(NacelleError, match="an engine disagrees:\ninverse dynamics"):
        verified(load("fivebar"))


@pytest.mark.slow
def test_one_engine_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    own = engine.builder

    def only(name: str) -> Any:
        if name == "pinocchio":
            raise MissingEngineError(name)
        return own(name)

    pytest.importorskip("mujoco")
    monkeypatch.setattr(engine, "builder", only)
    result = verified(load("fivebar"))
    assert result.missing == ("pinocchio",)
    assert 0.0 < result.worst < 1e-9
    assert result.lines()[-1].startswith("pinocchio is not installed")


# ---- The demonstration: about thirty lines, a page, and a status that says whether all went well


def run(*arguments: str) -> Any:
    result = CliRunner().invoke(app, ["demo", *arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def cheap(monkeypatch: pytest.MonkeyPatch, **broken: BaseException) -> None:
    """Steps that cost nothing, some of them broken."""

    def compute(key: str, result: Any) -> Any:
        if key in broken:
            raise broken[key]
        return result

    def listed(*_: object) -> list[DemoTask]:
        return [
            DemoTask(step.key, step.title, lambda step=step: compute(step.key, step.result))
            for step in steps()
        ]

    monkeypatch.setattr(command, "tasks", listed)


@pytest.mark.slow
def test_everything_in_thirty_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cheap(monkeypatch)
    monkeypatch.chdir(tmp_path)
    result = run()
    assert result.exit_code == 0, result.output
    page = tmp_path / "nacelle-demo" / "report.html"
    lines = result.stdout.splitlines()
    assert 25 <= len(lines) <= 34
    assert [line for line in lines[:-1] if len(line) > 100] == []
    assert lines[-1] == f"Open the report: {page.as_uri()}"
    assert page.read_text().startswith("<!DOCTYPE html>")
    assert run().exit_code == 0  # replaces its own
    data = json.loads(run("--json").stdout)
    assert data["ok"] is True
    assert [step["state"] for step in data["steps"]] == ["done"] * 6


def test_a_step_that_fails_is_said_and_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cheap(monkeypatch, verified=NacelleError("an engine <b>disagrees</b>"), circle=NacelleError("no circle"))
    result = run("--out", str(tmp_path / "demo"))
    assert result.exit_code == 1
    assert "FAILED: an engine <b>disagrees</b>" in result.stdout
    assert (
        "2 of 6 steps have no result: The step verified (failed); The step circle (failed)" in result.stdout
    )
    page = (tmp_path / "demo" / "report.html").read_text()
    assert "an engine &lt;b&gt;disagrees&lt;/b&gt;" in page
    assert "Open the report: file://" in result.stdout


def test_ctrl_c_leaves_what_is_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cheap(monkeypatch, identified=KeyboardInterrupt())
    result = run("--out", str(tmp_path / "demo"))
    assert result.exit_code == 130
    assert "A fast circle" not in result.stdout
    page = (tmp_path / "demo" / "report.html").read_text()
    assert "4 of 6 steps have no result" in page
    assert "54 % of the 1987" in page


@pytest.mark.slow
def test_the_whole_demonstration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything is computed, and the commands that the page names give its numbers."""
    monkeypatch.chdir(tmp_path)
    result = run("--json")
    assert result.exit_code == 0, result.output
    data = {step["step"]: step["result"] for step in json.loads(result.stdout)["steps"]}
    assert {engine["engine"] for engine in data["verified"]["engines"]} == {"pinocchio", "mujoco"}
    assert data["flexible"]["same"] == 30
    # As in docs/computed_force.md.
    tool = [1e3 * value for value in data["circle"]["tool_rms"].values()]
    np.testing.assert_allclose(tool, [5.316, 3.777, 0.215], atol=2e-3)
    left = data["identified"]["left"]
    assert left["identified"] < 0.8 * left["described"]
    if shutil.which("make") and shutil.which("cc"):
        assert data["exported"]["self_test"] == "all is well"

    page = (tmp_path / "nacelle-demo" / "report.html").read_text()
    named = re.findall(r'<pre class="typed"><code>(.*?)</code></pre>', page, re.S)
    lines = [line for block in named for line in block.splitlines() if line.startswith("nacelle ")]
    answers = {}
    for line in lines:
        words = shlex.split(line)[1:]
        answer = CliRunner().invoke(app, [*words, *([] if words[0] == "export" else ["--json"])])
        assert answer.exit_code == 0, (line, answer.output)
        if words[0] != "export":
            answers.setdefault(words[0], []).append(json.loads(answer.stdout))
    assert answers["ops"][0]["total"] == data["counted"]["total"]
    flown = {run["label"]: run["tool"]["rms_error"] for run in answers["control"][0]["runs"]}
    assert flown == pytest.approx(data["circle"]["tool_rms"], rel=1e-6)
    estimates = [entry["estimate"] for entry in answers["identify"][0]["parameters"]]
    assert estimates == pytest.approx([entry["estimate"] for entry in data["identified"]["parameters"]])
    computed = [answer["frequencies"] for answer in answers["modes"]]
    np.testing.assert_allclose(computed, data["flexible"]["computed"], rtol=1e-8)
    true = {entry["name"]: entry["value"] for entry in answers["base"][0]["base_parameters"]}
    assert {entry["name"]: entry["true"] for entry in data["identified"]["parameters"]} == pytest.approx(true)
