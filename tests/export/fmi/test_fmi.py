"""FMUs: sources that compile, descriptions, names, quaternions of any length, motions in FMPy."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import nacelle
from nacelle.control.kind import DesiredMotion
from nacelle.control.named import controller
from nacelle.errors import ExportError
from nacelle.export.entry import ExportRequest
from nacelle.export.fmi import models
from nacelle.export.fmi.description import FmuDescription, VariableTable, model_description
from nacelle.export.fmi.models import pose_model
from nacelle.export.fmi.package import compile_binary, fmi_package, fmi_platform, fmi_request, zip_bytes
from nacelle.export.states import random_states
from nacelle.simulation.rigid_plant import rigid_plant
from support.fmus import SMOOTH, fmu, open_fmu
from support.library import NAMES, library_robot
from support.targets import with_target

# ---- build
#
# Building an FMU: its own sources alone compile without a warning; the same files are the same bytes.


@pytest.mark.slow
def test_the_sources_in_the_file_compile_elsewhere(tmp_path: Path) -> None:
    """What buildDescription.xml lists is all that a compiler needs, and it has nothing to say."""
    with zipfile.ZipFile(fmu("fivebar")) as archive:
        archive.extractall(tmp_path)
    folder = tmp_path / "sources"
    listed = ElementTree.parse(folder / "buildDescription.xml").getroot().iter("SourceFile")
    sources = [file.attrib["name"] for file in listed]
    strict = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter", "-fsyntax-only"]
    done = subprocess.run(["cc", *strict, *sources], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    where, ending = fmi_platform()
    assert (tmp_path / "binaries" / where / f"model{ending}").stat().st_size > 1000


def test_compilers_that_fail() -> None:
    with pytest.raises(ExportError, match=r"no C compiler 'no-such-cc'"):
        compile_binary("one", {"a.c": ""}, "no-such-cc")
    with pytest.raises(ExportError, match=r"does not compile the FMU: a.c.*error"):
        compile_binary("one", {"a.c": "int f(void) { return wrong; }"})


def test_without_a_compiler_there_is_no_binary(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "no-such-cc")
    assert compile_binary("one", {"a.c": ""}) == {}


def test_the_same_files_are_the_same_bytes() -> None:
    files = {"a": "text", "binaries/b": b"\0\1"}
    assert zip_bytes(files) == zip_bytes(files)


# ---- The descriptions of an FMU, read back as XML


def test_names_are_escaped_and_units_defined() -> None:
    table = VariableTable()
    name = 'a <"&> b'
    table.add("force", "input", [(name, "N")], "x < y", start=[0.25])
    table.add("out", "output", [("out", "")], "")
    table.add_states([("state", "m")], "")
    about = FmuDescription("one", "a < b", "token", "nacelle", False, 1e-3, 5e-4)
    root = ElementTree.fromstring(model_description(about, table))
    variables = root.find("ModelVariables")
    assert variables is not None
    assert variables[1].attrib["name"] == name
    assert variables[1].attrib["start"] == "0.25"
    assert [v.attrib["valueReference"] for v in variables] == list("01234")
    assert [unit.attrib["name"] for unit in root.findall("UnitDefinitions/Unit")] == ["s", "m", "m/s", "N"]
    assert root.find("ModelExchange") is None
    stepping = root.find("CoSimulation")
    assert stepping is not None
    assert stepping.attrib["fixedInternalStepSize"] == "0.0005"
    structure = root.find("ModelStructure")
    assert structure is not None
    assert [(part.tag, part.attrib["valueReference"]) for part in structure] == [
        ("Output", "2"),
        ("ContinuousStateDerivative", "4"),
        ("InitialUnknown", "2"),
        ("InitialUnknown", "3"),
        ("InitialUnknown", "4"),
    ]


# ---- models
#
# The C between emitted functions and the interface: which numbers it keeps, and how it calls them.


def test_inputs_and_outputs_of_one_name_are_told_apart() -> None:
    """Kinematics has no forces; dynamics has them as its output, and watched numbers behind them."""
    robot = library_robot("fivebar")
    package = fmi_package(robot, "one", "0", ExportRequest(("inverse_dynamics",)))
    glue = pose_model(package, package.entries[-1])
    names = [scalar.name for scalar in glue.table.scalars]
    assert len(set(names)) == len(names)
    assert names[1:3] == ["pose.x", "pose.y"]
    assert "pivot" in names
    assert sum(name.startswith("force.") for name in names) == len(robot.actuators)
    assert glue.memory == 0


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
@pytest.mark.parametrize("size", [1.0, 3.0, 1e155, 1e308, 1e-200])
def test_quaternions_of_any_length_are_made_unit_in_c(size: float, tmp_path: Path) -> None:
    """Squares that overflow or vanish must not leave the identity; no orientation at all gives NaN."""
    package = fmi_package(library_robot("gough-stewart"), "one", "0", ExportRequest(()))
    lines = models._unit_pose(package, "in")
    source = tmp_path / "unit.c"
    body = f"void unit(const double *in, double *out) {{\n{lines}\nmemcpy(out, x, sizeof x);\n}}\n"
    source.write_text(f"#include <math.h>\n#include <string.h>\n{body}", encoding="utf-8")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", tmp_path / "unit.so", source, "-lm"], check=True)
    unit = ctypes.CDLL(str(tmp_path / "unit.so")).unit
    quat, out = np.array([0.5, -0.1, 0.3, 0.7]), np.zeros(7)
    pose = np.array([0.1, 0.2, 0.3, *(size * quat)])
    unit(ctypes.c_void_p(pose.ctypes.data), ctypes.c_void_p(out.ctypes.data))
    np.testing.assert_allclose(out, [0.1, 0.2, 0.3, *(quat / np.linalg.norm(quat))], rtol=1e-14)
    pose[3:] = 0.0
    unit(ctypes.c_void_p(pose.ctypes.data), ctypes.c_void_p(out.ctypes.data))
    assert np.all(np.isnan(out[3:]))


# ---- FMUs, loaded by FMPy: they validate, and move as `nacelle.simulate` does

STEP, UNTIL = 1e-3, 0.02


def _simulate(name: str, x0: np.ndarray, v0: np.ndarray, force: np.ndarray) -> nacelle.simulation.Simulation:
    plant = rigid_plant(library_robot(name), smooth=SMOOTH)
    return nacelle.simulate(
        plant,
        x0,
        v0,
        force,
        until=UNTIL,
        integration=nacelle.simulation.Integration("rk4", step=STEP),
        events={},
    )


def _cosimulate(name: str) -> None:
    """Steps of the FMU and of `nacelle.simulate` from the same state under the same forces."""
    states = random_states(library_robot(name), 1, seed=3, smooth=SMOOTH)
    x0, v0, force = states.x[0], 0.2 * states.v[0], 1.1 * states.tau[0]
    want = _simulate(name, x0, v0, force)
    with open_fmu(fmu(name)) as one:
        one.set("start.", [*x0, *v0])
        one.initialise()
        one.set("force.", force)
        for k in range(5):
            one.instance.doStep(k * UNTIL / 5, UNTIL / 5)
        got_x, got_v = one.get("pose."), one.get("twist.")
        q = nacelle.inverse_kinematics(library_robot(name), want.x[-1], limits=False).q
        np.testing.assert_allclose(one.get("position."), q, atol=1e-9)
    np.testing.assert_allclose(got_x, want.x[-1], rtol=0, atol=1e-11)
    np.testing.assert_allclose(got_v, want.v[-1], rtol=0, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("what", ["", "inverse_dynamics", "controller cf-rb-friction"])
def test_it_validates(what: str) -> None:
    from fmpy.validation import validate_fmu

    assert validate_fmu(str(fmu("fivebar", what))) == []


def test_motion_is_that_of_simulate() -> None:
    _cosimulate("fivebar")


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.thinned
def test_motion_of_every_robot(name: str) -> None:
    _cosimulate(name)


def test_model_exchange_and_states_to_come_back_to() -> None:
    """The Runge-Kutta method around the derivatives of the FMU; and the same again from a kept state."""
    states = random_states(library_robot("fivebar"), 1, seed=3, smooth=SMOOTH)
    x0, v0, force = states.x[0], 0.2 * states.v[0], 1.1 * states.tau[0]
    want = _simulate("fivebar", x0, v0, force)
    with open_fmu(fmu("fivebar"), exchanged=True) as one:
        model, n = one.instance, one.description.numberOfContinuousStates
        one.set("start.", [*x0, *v0])
        one.initialise()
        one.set("force.", force)
        model.enterContinuousTimeMode()
        kept = model.getFMUState()
        written = model.serializeFMUState(kept)

        def given(function: Callable[..., object], new: np.ndarray | None = None) -> np.ndarray:
            """What a function gives of all states, after these have been set."""
            numbers = (ctypes.c_double * n)()
            if new is not None:
                numbers[:] = new.tolist()
                model.setContinuousStates(numbers, n)
            function(numbers, n)
            return np.array(numbers)

        def slope(t: float, s: np.ndarray) -> np.ndarray:
            model.setTime(t)
            return given(model.getContinuousStateDerivatives, s)

        def moved() -> np.ndarray:
            s = given(model.getContinuousStates)
            for k in range(round(UNTIL / STEP)):
                t, h = k * STEP, STEP
                k1 = slope(t, s)
                k2 = slope(t + h / 2, s + h / 2 * k1)
                k3 = slope(t + h / 2, s + h / 2 * k2)
                s = s + h / 6 * (k1 + 2 * k2 + 2 * k3 + slope(t + h, s + h * k3))
            given(model.getContinuousStates, s)
            return one.get("pose.")

        first = moved()
        np.testing.assert_allclose(first, want.x[-1], rtol=0, atol=1e-12)
        model.setFMUState(kept)
        np.testing.assert_array_equal(moved(), first)
        model.freeFMUState(kept)
        again = model.deserializeFMUState(written)
        model.setFMUState(again)
        np.testing.assert_array_equal(moved(), first)
        model.freeFMUState(again)


def _inverse(name: str) -> None:
    states = random_states(library_robot(name), 4, smooth=SMOOTH)
    with open_fmu(fmu(name, "inverse_dynamics")) as one:
        one.initialise()
        for x, v, a, force in zip(states.x, states.v, states.a, states.tau, strict=True):
            one.set("pose.", x)
            one.set("twist.", v)
            one.set("acceleration.", a)
            np.testing.assert_allclose(one.get("force."), force, rtol=0, atol=1e-9 * np.max(np.abs(force)))


@pytest.mark.slow
def test_inverse_dynamics() -> None:
    _inverse("fivebar")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["3rps", "quattro", "palida"])
def test_inverse_dynamics_where_legs_are_found_by_iteration(name: str) -> None:
    _inverse(name)


@pytest.mark.slow
def test_a_controller_takes_its_samples() -> None:
    """Two samples in a step, one, and none: forces are those of the controller in Python."""
    robot = library_robot("fivebar")
    law = controller(robot, "cf-rb-friction")
    states = random_states(robot, 1, smooth=SMOOTH)
    x, q = states.x[0], law.coordinates(states.x[0])
    memory, motion = law.start(x), DesiredMotion(x, np.zeros(2), np.zeros(2))
    with open_fmu(fmu("fivebar", "controller cf-rb-friction")) as one:
        one.set("start.", x)
        one.initialise()
        one.set("desired.pose.", x)
        t = 0.0
        for samples, part in ((2, 2.0), (1, 1.0), (1, 0.5), (0, 0.5), (1, 0.3)):
            reading = q + 1e-3 * np.sin(t / law.period + np.arange(len(q)))
            one.set("position.", reading)
            for _ in range(samples):
                want, memory = law.step(memory, reading, motion)
            one.instance.doStep(t, part * law.period)
            t += part * law.period
            np.testing.assert_allclose(one.get("force."), want, rtol=1e-9)
        assert one.get("status") == 0.0


def test_what_is_refused(tmp_path: Path) -> None:
    from fmpy.fmi1 import FMICallException

    with open_fmu(fmu("fivebar")) as one:
        one.set("start.", [9.0, 9.0, 0.0, 0.0])
        one.instance.enterInitializationMode()
        with pytest.raises(FMICallException):
            one.instance.exitInitializationMode()
        one.instance.reset()
        one.initialise()
        for wrong in ("start.", "pose."):
            with pytest.raises(FMICallException):
                one.set(wrong, [0.0] * len(one.names(wrong)))
        with pytest.raises(FMICallException):
            one.instance.doStep(0.0, -1.0)
    robot = library_robot("fivebar")
    for options, words in (
        ({"models": "inverse_dynamics,jacobian"}, "an FMU holds one"),
        ({"models": "forward_dynamics", "parameters": "inertia"}, "constants of an FMU"),
        ({"models": "inverse_dynamic"}, "did you mean"),
        ({"precision": "float"}, "computes in double"),
    ):
        with pytest.raises(ExportError, match=words):
            nacelle.export(robot, out=tmp_path / "a.fmu", **with_target({"target": "fmi"} | options))
    assert list(tmp_path.iterdir()) == []
    assert fmi_request(ExportRequest(())).plant
    assert fmi_request(ExportRequest(("forward_dynamics",))).models == ()
