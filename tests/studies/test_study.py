"""Studies as they are written, run, resumed and searched; what they find where it is known."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nacelle
from nacelle.errors import DescriptionError, KinematicsError, StudyError
from nacelle.studies import Study
from nacelle.studies.evaluate import Evaluator
from nacelle.studies.expression import read_constraint, read_expression
from nacelle.studies.result import StudyResult
from nacelle.studies.table import FAILED, NOT_A_ROBOT
from nacelle.studies.variables import Distribution
from support.dask_cluster import cluster
from support.page_reader import PageReader


def entries(**changes: Any) -> dict[str, Any]:
    """A study of a robot whose quantities are expressions of its variables: their answers are known."""
    study: dict[str, Any] = {
        "study": "known",
        "robot": "fivebar",
        "limits": False,
        "variables": {
            "a": {"numbers": "leg.lower.mass", "from": 0.1, "to": 0.3},
            "b": {"numbers": "leg.upper.mass", "from": 0.1, "to": 0.3},
        },
        "quantities": {"u": "10*(a - 0.1)/2", "w": "(1 - u)**2 + 5*(b - 0.1)"},
        "block": 32,
    }
    names = nacelle.load("fivebar").numbers.names("inertia")
    masses = [name for name in names if name.endswith("mass")]
    study["variables"]["a"]["numbers"], study["variables"]["b"]["numbers"] = masses[:2]
    return study | changes


# ---- what is written


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"variables": {"rod": {"from": 1, "to": 2}}}, "no number 'rod'"),
        ({"variables": {"a": {"from": 1}}}, "two ends"),
        ({"variables": {"a": {"numbers": "gravity.y", "from": 2, "to": 1}}}, "range is empty"),
        ({"variables": {"a": {"numbers": "gravity.y", "from": "1 mm", "to": "2 mm"}}}, "is not a unit of"),
        ({"quantities": {"f": {"kind": "peak forse"}}}, "no quantity 'peak forse'"),
        ({"quantities": {"f": "peak force"}}, "needs the name of a motion"),
        ({"quantities": {"f": "a + nobody"}}, "there is no 'nobody'"),
        ({"quantities": {"f": "__import__('os')"}}, "no function"),
        ({"quantities": {"f": {"kind": "mass", "drive": "x"}}}, "takes no 'drive'"),
        ({"quantities": {}}, "at least 1"),
        ({"constraints": ["u < 1 < 2"]}, "one comparison"),
        ({"optimise": {"minimise": "nothing"}}, "no quantity 'nothing'"),
        ({"optimise": {"minimise": "u"}, "sample": {"count": 3}}, "sample and optimise"),
    ],
)
def test_mistakes_have_one_error_that_names_them(change: dict[str, Any], message: str) -> None:
    with pytest.raises(DescriptionError) as error:
        Study(entries(**change)).evaluate([])
    assert any(message in f"{p.message} {p.hint}" for p in error.value.problems), error.value


def test_mistakes_in_a_file_have_their_line(tmp_path: Path) -> None:
    file = tmp_path / "study.yaml"
    file.write_text(
        "robot: fivebar\nvariables:\n  a: {numbers: nothing, from: 1, to: 2}\nquantities: {m: mass}\n"
    )
    with pytest.raises(DescriptionError) as error:
        Study(file).evaluate([])
    assert (error.value.problems[0].line, error.value.problems[0].file) == (3, str(file))


@pytest.mark.slow
def test_a_constant_at_a_special_value_becomes_free(tmp_path: Path) -> None:
    """A length of 0 is no free number; a variable that sets it makes it one, and the payload stays."""
    text = nacelle.robots.text("delta").replace("  base_radius: 200 mm\n", "  base_radius: 0 mm\n")
    assert "base_radius: 0 mm" in text
    (tmp_path / "robot.yaml").write_text(text)
    assert "base_radius" not in nacelle.load(tmp_path / "robot.yaml").numbers.names()
    file = tmp_path / "study.yaml"
    file.write_text(
        "robot: robot.yaml\nvariables: {base_radius: {from: 50 mm, to: 200 mm}}\npayload: {mass: 0.5 kg}\n"
        "quantities: {d: dexterity, m: mass}\n"
    )
    found = Study(file).evaluate([[0.05], [0.2]])
    reference = Study({**Study(file)._source.root.plain(), "robot": "delta"}).evaluate([[0.05], [0.2]])
    np.testing.assert_allclose(found["d"], reference["d"], rtol=2e-2)
    np.testing.assert_allclose(found["m"], reference["m"], rtol=1e-12)


def test_expressions_are_arithmetic_alone() -> None:
    assert read_expression("2*x + max(y, 3)**2/pi")({"x": np.ones(1), "y": np.zeros(1)}) == pytest.approx(
        2.0 + 9.0 / np.pi
    )
    assert read_expression("{leg1.A.x} + 1").names == ("leg1.A.x",)
    assert read_constraint("x >= 2", ("x",)).violation({"x": np.array([1.0, 3.0])}).tolist() == [1.0, -1.0]
    for text in ("x.real", "x[0]", "(lambda: 1)()", "x if x else 1", "'a'", "x; y", "open('f')", "1 +"):
        with pytest.raises(KinematicsError):
            read_expression(text)


def test_distributions_have_their_moments() -> None:
    u = (np.arange(20_000) + 0.5) / 20_000
    normal = Distribution("normal", 2.0, 0.5).at(u)
    assert (normal.mean(), normal.std()) == pytest.approx((2.0, 0.5), rel=1e-3)
    assert np.log(Distribution("log", 0.1, 10.0).at(u)).mean() == pytest.approx(0.0, abs=1e-9)
    assert set(Distribution("values", values=(1.0, 4.0)).at(u)) == {1.0, 4.0}
    assert np.isfinite(Distribution("normal", 0.0, 1.0).at(np.array([0.0, 1.0]))).all()


# ---- running, resuming


def test_a_study_is_resumed_where_it_was(tmp_path: Path) -> None:
    study = Study(entries(sample={"method": "latin-hypercube", "count": 100}))
    whole = study.run(tmp_path / "whole")
    (tmp_path / "whole" / "blocks" / "block-000001.parquet").unlink()
    again = Study(entries(sample={"method": "latin-hypercube", "count": 100})).run(tmp_path / "whole")
    assert np.array_equal(again.variants.values, whole.variants.values)
    assert len(whole.variants) == 100
    with pytest.raises(StudyError, match=r"stay \(seed is missing there and 1 here\): choose"):
        Study(entries(sample={"method": "latin-hypercube", "count": 100}, seed=1)).run(tmp_path / "whole")


def test_variables_keep_their_order_in_other_processes() -> None:
    """Points of the design belong to the variables in the order of the study, also where it is read again."""
    found = Study(entries(sample={"method": "grid"})).run()
    assert found.variants["a"].tolist() == pytest.approx([0.1, 0.1, 0.3, 0.3])
    assert found.variants["b"].tolist() == pytest.approx([0.1, 0.3, 0.1, 0.3])


def test_sensitivities_of_a_sum_are_known() -> None:
    """Of u = 5 (a - 0.1) and s = a + 2 b the shares of the variances: 1 and 0, 1/5 and 4/5."""
    study = entries(
        quantities={"u": "5*(a - 0.1)", "s": "a + 2*b"}, sample={"method": "sensitivity", "count": 512}
    )
    result = Study(study).run()
    assert [e.value for e in result.sensitivity("u").first] == pytest.approx([1.0, 0.0], abs=0.02)
    assert [e.value for e in result.sensitivity("s").total] == pytest.approx([0.2, 0.8], abs=0.03)
    assert "depends on" in result.table()
    assert [(of.quantity, of.total) for of in result.sensitivities] == [
        (name, result.sensitivity(name).total) for name in ("u", "s")
    ]
    # Another design gives rank correlations: of a + 2 b nearly those of the values, 1/√5 and 2/√5.
    sampled = Study(study | {"sample": {"method": "sobol", "count": 512}}).run()
    (_, of_s) = sampled.sensitivities
    assert [e.value for e in of_s.first] == pytest.approx([0.2**0.5, 0.8**0.5], abs=0.03)
    assert of_s.total == ()
    assert all('id="sensitivities"' in found.page() for found in (result, sampled))
    del study["sample"]
    assert Study(study | {"optimise": {"minimise": "u", "evaluations": 100}}).run().sensitivities == []


def test_the_best_of_a_search_is_known(tmp_path: Path) -> None:
    """The minimum of (1 - u)^2 + v over the square lies at its border, the constraint u <= 0.5 holds."""
    study = entries(
        constraints=["u <= 0.5"], optimise={"minimise": "w", "evaluations": 900, "population": 24}, block=24
    )
    result = Study(study).run(tmp_path / "search")
    assert result.variants["w"][result.best] == pytest.approx(0.25, rel=1e-3)
    assert result.variants["u"][result.best] <= 0.5
    resumed = Study(study).run(tmp_path / "search")
    assert np.array_equal(resumed.variants.values, result.variants.values)
    (file,) = result.write_front(tmp_path / "designs")
    assert nacelle.load(file).actuators
    assert "variant" in file.read_text()


def test_without_pymoo_several_objectives_are_refused_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("pymoo", *(name for name in sys.modules if name.startswith("pymoo."))):
        monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setattr(Evaluator, "__call__", lambda *_: pytest.fail("a variant was evaluated"))
    study = Study(entries(optimise={"minimise": ["u", "w"]}))
    for start in (study.run, lambda: study.run(tmp_path / "results"), study.estimate):
        with pytest.raises(StudyError, match=r"pymoo is missing: pip install .*a weighted sum of several"):
            start()
    assert not any(tmp_path.iterdir())


def test_of_variants_that_tie_the_first_is_the_best(tmp_path: Path) -> None:
    """t is 0 up to u = 0.5, exactly; of a grid of 5 by 3 these are 9 variants, but the best of u are 3."""
    study = Study(entries(quantities={"u": "10*(a - 0.1)/2", "t": "max(u - 0.5, 0)", "c": "0*u"}))
    points = np.stack(np.meshgrid(np.linspace(0.3, 0.1, 5), [0.1, 0.2, 0.3], indexing="ij"), 2).reshape(-1, 2)

    table = study.evaluate(points)

    def result(*goals: str) -> StudyResult:
        columns = [replace(c, goal="minimise" if c.name in goals else "") for c in table.columns]
        return StudyResult("ties", study.spec, study.evaluator, replace(table, columns=tuple(columns)))

    single = result("t")
    assert (single.best, single.equally_good, np.flatnonzero(single.front).tolist()) == (6, 8, [6])
    assert "the best variant; 8 later ones tie with it" in single.table()
    assert [row["variant"] for row in single.to_dict()["front"]] == [6]
    assert single.to_dict()["equally good"] == 8
    assert "best: the best variant; 8 later ones tie with it" in PageReader(single.page()).lines
    (file,) = single.write_front(tmp_path)
    assert "# variant 6 of" in file.read_text()
    # Of two objectives the best of the first is on the front, and ties are those of both.
    double = result("c", "u")
    assert (double.best, double.equally_good, np.flatnonzero(double.front).tolist()) == (12, 2, [12])
    assert (result().equally_good, result().front.any()) == (0, False)


def test_a_search_may_have_more_generations_than_whole_populations(tmp_path: Path) -> None:
    """Of 20 searches in Rosenbrock's valley some end early: the others' generations are smaller."""
    valley = {"u": "5*(a - 0.1)", "w": "100*(5*(b - 0.1) - u**2)**2 + (0.7 - u)**2"}
    optimise = {"minimise": "w", "method": "slsqp", "evaluations": 400, "population": 20}
    result = Study(entries(quantities=valley, optimise=optimise)).run(tmp_path)
    assert len([*tmp_path.glob("blocks/*.parquet")]) > 400 / 20
    assert result.variants["u"][result.best] == pytest.approx(0.7, abs=1e-3)


@pytest.mark.extra
def test_a_front_is_known(tmp_path: Path) -> None:
    """Of u and (1 - u)^2 + v the front is v = 0: the square of what is left."""
    pytest.importorskip("pymoo", reason="fronts need nacelle-robotics[optimise]")
    study = entries(optimise={"minimise": ["u", "w"], "evaluations": 2000, "population": 40}, block=40)
    result = Study(study).run()
    u, w = result.variants["u"][result.front], result.variants["w"][result.front]
    assert len(u) > 15
    assert np.max(np.abs(w - (1.0 - u) ** 2)) < 0.05
    for file in result.write_front(tmp_path / "front"):
        assert nacelle.load(file).name == "fivebar"


# ---- functions of the user


def test_functions_of_the_user_fail_for_a_variant_alone(tmp_path: Path) -> None:
    (tmp_path / "cost.py").write_text(
        "def cost(columns):\n"
        "    if columns['a'] > 0.25:\n        raise ValueError('too heavy')\n"
        "    return float('nan') if columns['b'] > 0.25 else columns['a'] + columns['b']\n"
        "def bodies(robot, columns):\n    return len(robot.bodies)\n"
    )
    study = entries(
        quantities={
            "cost": {"kind": "python", "python": "cost.py:cost"},
            "bodies": {"kind": "python", "python": "cost.py:bodies", "robot": True},
        }
    )
    file = tmp_path / "study.yaml"
    file.write_text(json.dumps(study))
    found = Study(file).evaluate([[0.1, 0.2], [0.3, 0.1], [0.2, 0.3]])
    assert found.status.tolist() == [0, FAILED, FAILED]
    assert found["cost"][0] == pytest.approx(0.3)
    assert found["bodies"][0] == len(nacelle.load("fivebar").bodies)
    assert found.reasons == {"cost: ValueError: too heavy": 1, "cost gave nan": 1}
    assert Study(entries()).evaluate([[np.inf, 0.1]]).status[0] == NOT_A_ROBOT
    file.write_text(json.dumps({**study, "sample": {"method": "grid"}}))
    assert Study(file).run(tmp_path / "results").counts == {"ok": 1, "failed": 3}


# ---- robots


def delta(**changes: Any) -> dict[str, Any]:
    """A Delta in a pick-and-place cycle: lengths vary."""
    path = {"centre": {"z": "-600 mm"}, "distance": "300 mm", "height": "50 mm", "duration": "400 ms"}
    over = {"x": ["-600 mm", "600 mm", 11], "y": ["-600 mm", "600 mm", 11], "z": ["-900 mm", "-350 mm", 9]}
    study: dict[str, Any] = {
        "study": "delta",
        "robot": "delta",
        "variables": {
            "rod_length": {"from": "450 mm", "to": "700 mm"},
            "arm_length": {"from": "180 mm", "to": "320 mm"},
            "base_radius": {"from": "120 mm", "to": "260 mm"},
            "plate_radius": {"from": "40 mm", "to": "80 mm"},
        },
        "motions": {"cycle": {"pick-and-place": path, "samples": 60}},
        "regions": {"space": {"over": over}},
        "quantities": {
            "peak": "peak force",
            "volume": "volume",
            "dexterity": {"kind": "dexterity", "motion": "cycle"},
            "size": "base_radius + arm_length",
        },
    }
    return study | changes


@pytest.mark.slow
def test_a_payload_is_carried_in_all_motions() -> None:
    study = Study(delta(payload={"mass": "0.5 kg"}))
    own = study.evaluator.space.nominal_values
    states = study.evaluator.sets["cycle"].states
    loaded = nacelle.with_payload(nacelle.load("delta"), 0.5)
    expected = np.abs(nacelle.inverse_dynamics(loaded, states.x, states.v, states.a).tau).max()
    assert study.evaluate([own])["peak"][0] == pytest.approx(expected, rel=1e-9)
    path = delta()["motions"]["cycle"]["pick-and-place"] | {"load": "0.5 kg"}
    with pytest.raises(DescriptionError, match="payload"):
        Study(delta(motions={"cycle": {"pick-and-place": path}})).evaluate([])


@pytest.mark.slow
def test_an_optimised_delta_beats_that_of_the_library() -> None:
    """Less torque in the cycle and a larger workspace at no larger a size; other engines agree about it."""
    study = Study(delta())
    own = study.evaluate([study.evaluator.space.nominal_values])
    volume, dexterity, size = (float(own[name][0]) for name in ("volume", "dexterity", "size"))
    result = Study(
        delta(
            constraints=[
                f"volume >= {1.05 * volume!r}",
                f"size <= {size!r}",
                f"dexterity >= {0.8 * dexterity!r}",
            ],
            optimise={"minimise": "peak", "evaluations": 1500, "population": 30},
        )
    ).run()
    best = result.variants.select(np.array([result.best]))
    assert best["peak"][0] < 0.98 * own["peak"][0]
    assert best["volume"][0] > 1.05 * volume
    assert best["size"][0] <= size
    assert nacelle.verify(result.robot(result.best)).ok


@pytest.mark.slow
def test_a_cluster_finds_what_one_process_finds(tmp_path: Path) -> None:
    """A robot's study on two workers: the folders have the same bytes."""
    study = delta(sample={"method": "sobol", "count": 64}, block=16)
    Study(study).run(tmp_path / "here", threads=1)
    with cluster(tmp_path, 2) as running:
        Study(study).run(tmp_path / "there", cluster=running.address)
    files = sorted((tmp_path / "here" / "blocks").glob("*.parquet"))
    assert len(files) == 4
    for file in files:
        assert file.read_bytes() == (tmp_path / "there" / "blocks" / file.name).read_bytes()
