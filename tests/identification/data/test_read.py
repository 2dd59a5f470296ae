"""Files of every format with maps and without become one measurement; mistakes have their places."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

import nacelle
from nacelle.errors import MeasurementError
from nacelle.identification.data.measurement import Measurement
from nacelle.identification.data.read import read_measurement
from nacelle.tables.csv import write_table
from support.library import library_robot

FIVEBAR = [a.name for a in library_robot("fivebar").actuators]
N = 25
RNG = np.random.default_rng(3)
TIME = 0.001 * np.arange(N)
Q, FORCE, REFERENCE = RNG.normal(size=(3, N, 2))


def columns() -> dict[str, np.ndarray]:
    """The signals of the five-bar under their own names."""
    named = {"time": TIME}
    for k, name in enumerate(FIVEBAR):
        named |= {f"q.{name}": Q[:, k], f"force.{name}": FORCE[:, k], f"reference.{name}": REFERENCE[:, k]}
    return named


def write_csv(path: Path, named: dict[str, np.ndarray], units: dict[str, str] | None = None) -> Path:
    units = units or {}
    write_table(path, list(named), [units.get(n, "") for n in named], np.stack(list(named.values()), axis=-1))
    return path


def same(measured: Measurement) -> None:
    assert measured.reference is not None
    for ours, truth in (
        (measured.time, TIME),
        (measured.q, Q),
        (measured.tau, FORCE),
        (measured.reference, REFERENCE),
    ):
        np.testing.assert_allclose(ours, truth, rtol=1e-13)


def write_format(path: Path, named: dict[str, np.ndarray]) -> Path:
    """One file of the format that its ending says."""
    if path.suffix == ".csv":
        return write_csv(path, named)
    if path.suffix == ".npz":
        np.savez(path, **named)
    elif path.suffix == ".mat":
        from scipy.io import savemat

        savemat(path, {"log": {n.replace(".", "_"): c for n, c in named.items()}}, long_field_names=True)
    elif path.suffix == ".parquet":
        import pyarrow as pa
        from pyarrow import parquet

        parquet.write_table(pa.table(named), path)
    else:
        from mcap.writer import Writer

        with path.open("wb") as stream:
            writer = Writer(stream)
            writer.start()
            schema = writer.register_schema("state", "jsonschema", b"{}")
            channel = writer.register_channel("/state", "json", schema)
            for k in range(N):
                message = {"time": TIME[k], "q": Q[k].tolist(), "drive": {"force": FORCE[k].tolist()}}
                message["reference"] = REFERENCE[k].tolist()
                writer.add_message(
                    channel, log_time=int(1e18) + 1000 * k, data=json.dumps(message).encode(), publish_time=0
                )
            writer.finish()
    return path


def with_mapping(time: str, pattern: str) -> dict[str, object]:
    """A map whose columns follow a pattern of kind, actuator's name and place."""
    actuators = {}
    for k, name in enumerate(FIVEBAR):
        entry = {}
        for key, kind in (("position", "q"), ("force", "force"), ("reference", "reference")):
            entry[key] = {"column": pattern.format(kind=kind, name=name, flat=name.replace(".", "_"), k=k)}
        actuators[name] = entry
    return {"time": {"column": time}, "actuators": actuators}


@pytest.mark.parametrize("ending", [".csv", ".npz", ".parquet"])
def test_signals_under_their_own_names(tmp_path: Path, ending: str) -> None:
    measured = read_measurement(library_robot("fivebar"), write_format(tmp_path / f"run{ending}", columns()))
    same(measured)
    assert measured.source.row(0) == (2 if ending == ".csv" else 1)
    assert measured.delay == 0.0


def test_matlab(tmp_path: Path) -> None:
    path = write_format(tmp_path / "run.mat", columns())
    same(read_measurement(library_robot("fivebar"), path, with_mapping("log.time", "log.{kind}_{flat}")))


def test_mcap(tmp_path: Path) -> None:
    path = write_format(tmp_path / "run.mcap", {})
    column_map = with_mapping("/state.time", "/state.{kind}[{k}]")
    for k, name in enumerate(FIVEBAR):
        column_map["actuators"][name]["force"]["column"] = f"/state.drive.force[{k}]"
    same(read_measurement(library_robot("fivebar"), path, column_map))
    column_map["time"] = {"column": "/state.log_time"}
    logged = read_measurement(library_robot("fivebar"), path, column_map)
    np.testing.assert_allclose(logged.time, 1e-6 * np.arange(N), atol=1e-12)


def test_arrays_in_the_order_of_the_actuators(tmp_path: Path) -> None:
    np.savez(tmp_path / "run.npz", time=TIME, q=Q, force=FORCE, reference=REFERENCE, note="a text")
    measured = read_measurement(library_robot("fivebar"), tmp_path / "run.npz")
    same(measured)
    assert measured.source.column(f"q.{FIVEBAR[1]}") == "q[1]"


def test_units_in_the_header(tmp_path: Path) -> None:
    named = columns()
    named["time"] = TIME * 1e3
    named[f"q.{FIVEBAR[0]}"] = np.rad2deg(Q[:, 0])
    named[f"force.{FIVEBAR[1]}"] = FORCE[:, 1] * 1e3
    units = {"time": "ms", f"q.{FIVEBAR[0]}": "deg", f"force.{FIVEBAR[1]}": "mNm"}
    measured = read_measurement(library_robot("fivebar"), write_csv(tmp_path / "run.csv", named, units))
    same(measured)
    assert measured.source.digest == hashlib.sha256((tmp_path / "run.csv").read_bytes()).hexdigest()


def palida_text(**changes: str) -> str:
    """A column map for PaLiDA, as the pages have it."""
    lines = ["time: {column: t, unit: ms}", "delay: 0.5 ms", "actuators:"]
    for k, actuator in enumerate(library_robot("palida").actuators):
        entry = changes.get(actuator.name) or (
            f"position: {{column: enc{k}, unit: counts, counts_per_turn: 8192, side: motor, gear_ratio: "
            f"10 mm/rev, zero: {100 * k}, sign: -1}}, current: {{column: i{k}, unit: mA, torque_constant: "
            f"0.12 N m/A, gear_ratio: 10 mm/rev, sign: -1}}, reference: {{column: ref{k}, unit: mm}}"
        )
        lines.append(f"  {actuator.name}: {{{entry}}}")
    return "\n".join(lines) + "\n"


def palida_file(path: Path) -> Path:
    named = {"t": 1000.0 * TIME}
    for k in range(6):
        named |= {f"enc{k}": 100.0 * k - 8192.0 * (k + 1.0) * np.ones(N), f"i{k}": -(k + 1.0) * np.ones(N)}
        named |= {f"ref{k}": (k + 1.0) * np.ones(N)}
    return write_csv(path, named)


def test_encoders_and_currents(tmp_path: Path) -> None:
    """One turn of a spindle of 10 mm per turn is 10 mm, and k mA at 0.12 N m/A are 2 pi 0.12 k / 10 N."""
    robot = library_robot("palida")
    measured = read_measurement(robot, palida_file(tmp_path / "run.csv"), palida_text())
    assert measured.reference is not None
    np.testing.assert_allclose(measured.time, TIME)
    np.testing.assert_allclose(measured.q[0], 0.01 * np.arange(1, 7))
    np.testing.assert_allclose(measured.tau[0], 1e-3 * 0.12 * 2 * np.pi / 0.01 * np.arange(1, 7))
    np.testing.assert_allclose(measured.reference[0], 1e-3 * np.arange(1, 7))
    assert measured.delay == pytest.approx(5e-4)
    assert measured.source.column(f"force.{robot.actuators[2].name}") == "i2"
    late = read_measurement(robot, tmp_path / "run.csv", palida_text(), delay=0.0)
    assert late.delay == 0.0


def test_constants_of_the_description(tmp_path: Path) -> None:
    """Gear ratio, torque constant and encoder of the description serve where the map has none."""
    text = nacelle.robots.text("delta-codourey")
    assert "gear_ratio: 15" in text
    text = text.replace("gear_ratio: 15", "gear_ratio: 15\n          torque_constant: 0.1 N*m/A", 1)
    text = text.replace("gear_ratio: 15", "gear_ratio: 15\n          encoder: {zero: 10 deg, sign: -1}", 1)
    robot = nacelle.loads(text)
    named = {"t": TIME}
    actuators = {}
    for k, actuator in enumerate(robot.actuators):
        named |= {f"e{k}": 1000.0 * np.ones(N), f"i{k}": 2.0 * np.ones(N)}
        actuators[actuator.name] = {
            "position": {"column": f"e{k}", "unit": "counts", "counts_per_turn": 4000, "side": "motor"},
            "current": {"column": f"i{k}"},
        }
    path = write_csv(tmp_path / "run.csv", named)
    measured = read_measurement(robot, path, {"time": {"column": "t"}, "actuators": actuators})
    np.testing.assert_allclose(measured.q, np.deg2rad(10.0) - np.pi / 2 / 15)
    np.testing.assert_allclose(measured.tau, 2.0 * 0.1 * 15)
    assert measured.reference is None


def test_a_missing_column_hides_no_other_fault(tmp_path: Path) -> None:
    """All that is wrong with one signal comes in one error."""
    robot = library_robot("palida")
    name = robot.actuators[2].name
    wrong = "position: {column: enc2, unit: mA, side: motor, gear_ratio: none}, current: {column: no, "
    text = palida_text(**{name: wrong + "unit: mm, torque_constant: 1 N}"}).replace("unit: ms", "unit: mm")
    with pytest.raises(MeasurementError) as caught:
        read_measurement(robot, palida_file(tmp_path / "run.csv"), text)
    places = sorted(problem.path for problem in caught.value.problems)
    signal = f"actuators.{name}"
    keys = [
        "current.column",
        "current.torque_constant",
        "current.unit",
        "position.gear_ratio",
        "position.unit",
    ]
    assert places == [*(f"{signal}.{key}" for key in keys), "time.unit"]


def test_a_step_in_the_place_of_time(tmp_path: Path) -> None:
    column_map = with_mapping("time", "{kind}.{name}")
    column_map["time"] = {"step": "1 ms"}
    same(read_measurement(library_robot("fivebar"), write_csv(tmp_path / "run.csv", columns()), column_map))


def test_missing_entries_and_comments_keep_their_rows(tmp_path: Path) -> None:
    lines = write_csv(tmp_path / "run.csv", columns()).read_text(encoding="utf-8").splitlines()
    cells = lines[4].split(",")
    cells[1] = ""
    lines[4] = ",".join(cells)
    lines.insert(3, "# the gripper was moved here")
    (tmp_path / "run.csv").write_text("\n".join(lines), encoding="utf-8")
    measured = read_measurement(library_robot("fivebar"), tmp_path / "run.csv")
    assert np.argwhere(np.isnan(measured.q)).tolist() == [[3, 0]]
    assert [measured.source.row(k) for k in (0, 1, 2, 3)] == [2, 3, 5, 6]


@pytest.mark.parametrize(
    ("entry", "key", "words"),
    [
        ("position: {column: enc0, unit: deg}, force: {column: i0}", "unit", "'deg' is not a unit of"),
        ("position: {column: enc0, unit: counts}, force: {column: i0}", "unit", "how much a count of"),
        ("position: {column: enc0}, current: {column: i0}", "torque_constant", "torque constant of"),
        ("position: {column: enc0}, force: {column: x0}", "column", "has no column 'x0'"),
        ("position: {column: enc0}", "", "exactly one of force, current is needed"),
        ("position: {colum: enc0}, force: {column: i0}", "colum", "unknown key 'colum'"),
        ("position: {column: enc0, side: left}, force: {column: i0}", "side", "expected 'joint' or 'motor'"),
        (
            "position: {column: enc0, unit: counts, counts_per_turn: 10, side: motor}, force: {column: i0}",
            "gear_ratio",
            "its motor turns, but no gear ratio is given",
        ),
        ("position: {column: enc0}, force: {column: i0, delay: 3}", "delay", "has no unit"),
    ],
)
def test_mistakes_in_the_map(tmp_path: Path, entry: str, key: str, words: str) -> None:
    robot = library_robot("palida")
    name = robot.actuators[0].name
    text = palida_text(**{name: entry}).replace("delay: 0.5 ms\n", "\n")
    file = tmp_path / "map.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(MeasurementError) as caught:
        read_measurement(robot, palida_file(tmp_path / "run.csv"), file)
    about = [p for p in caught.value.problems if words in p.message]
    assert about, str(caught.value)
    assert about[0].file == str(file)
    assert about[0].line == 4
    if key and f"{key}:" in entry:
        assert f"{key}:" in text.splitlines()[3][about[0].column - 1 :][: len(key) + 1]
    assert name in about[0].path


def test_missing_columns_are_named(tmp_path: Path) -> None:
    named = columns()
    del named[f"q.{FIVEBAR[0]}"]
    with pytest.raises(MeasurementError, match="the column is missing") as caught:
        read_measurement(library_robot("fivebar"), write_csv(tmp_path / "run.csv", named))
    assert caught.value.problems[0].path == f"q.{FIVEBAR[0]}"
    assert caught.value.problems[0].line == 1


def test_texts_in_the_table(tmp_path: Path) -> None:
    text = write_csv(tmp_path / "run.csv", columns()).read_text(encoding="utf-8").splitlines()
    text[5] = text[5].replace(text[5].split(",")[2], "overrun")
    (tmp_path / "run.csv").write_text("\n".join(text), encoding="utf-8")
    with pytest.raises(MeasurementError, match="'overrun'") as caught:
        read_measurement(library_robot("fivebar"), tmp_path / "run.csv")
    assert caught.value.problems[0].line == 6


@pytest.mark.parametrize("ending", [".csv", ".npz", ".mat", ".parquet", ".mcap"])
def test_files_that_cannot_be_read(tmp_path: Path, ending: str) -> None:
    robot = library_robot("fivebar")
    with pytest.raises(MeasurementError, match="no such file"):
        read_measurement(robot, tmp_path / f"none{ending}")
    (tmp_path / f"broken{ending}").write_bytes(b"\x00\x01broken" * 20)
    with pytest.raises(MeasurementError):
        read_measurement(robot, tmp_path / f"broken{ending}")


def test_columns_of_unequal_length(tmp_path: Path) -> None:
    np.savez(tmp_path / "run.npz", time=TIME[:-3], q=Q, force=FORCE)
    with pytest.raises(MeasurementError, match="sampled together"):
        read_measurement(library_robot("fivebar"), tmp_path / "run.npz")
