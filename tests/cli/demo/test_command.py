"""The demonstration: about thirty lines, a page, and a status that says whether all went well."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from nacelle.cli import app
from nacelle.cli.demo import command
from nacelle.errors import NacelleError
from nacelle.report.demo.step import DemoTask
from support.demo_steps import steps


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
    np.testing.assert_allclose(tool, [5.360, 3.805, 0.219], atol=2e-3)
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
