"""Packages of C: compiled without a warning, their self-test, and their functions against the Python API."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import nacelle
from nacelle.dynamics.jacobian import jacobian
from nacelle.export.states import model_inputs, random_states
from support.cc import COMPILERS, SANITIZE
from support.library import library_robot
from support.packages import call, compile_package, hostile_fivebar, run_self_test

# A machine with Python, pip and make alone has no C compiler; the other targets are tested all the same.
needs_compiler = pytest.mark.skipif(not COMPILERS, reason="neither gcc nor clang is installed")

QUICK = ("-O1", "-fno-math-errno", "-fno-trapping-math")
SHAPES = {"double": np.float64, "float": np.float32}
CASES = [
    ("palida", "pose", "inverse_dynamics,forward_dynamics,inverse_kinematics"),
    ("gough-stewart", "pose", "inverse_dynamics"),
    ("fivebar", "pose", "inverse_dynamics,forward_dynamics,jacobian,mass_matrix,bias_forces,gravity_forces"),
    ("fivebar", "elements", "inverse_dynamics"),
    ("fivebar", "encoders", "inverse_dynamics"),
    ("delta-codourey", "pose", "inverse_dynamics,forward_dynamics"),
    ("orthoglide", "pose", "inverse_dynamics"),
    pytest.param("quattro", "pose", "inverse_dynamics,jacobian", marks=pytest.mark.slow),
]


@pytest.mark.slow
@needs_compiler
def test_regressors(tmp_path: Path) -> None:
    done = nacelle.export(
        library_robot("fivebar"),
        "regressor,reference_regressor",
        out=tmp_path / "package",
        target=nacelle.io.CTarget(self_test=False),
    )
    printed = run_self_test(done.out, QUICK)
    assert printed.endswith("all is well\n")
    assert f"{done.name}_reference_regressor" in printed
    assert "BAD" not in printed


@pytest.mark.slow
@needs_compiler
@pytest.mark.parametrize(("robot_name", "source", "models"), CASES)
def test_self_test_and_python_api(tmp_path: Path, robot_name: str, source: str, models: str) -> None:
    robot = library_robot(robot_name)
    done = nacelle.export(
        robot, models, out=tmp_path / "package", input=source, target=nacelle.io.CTarget(self_test=False)
    )
    printed = run_self_test(done.out, QUICK)
    assert printed.endswith("all is well\n")
    assert "BAD" not in printed
    assert f"{done.name}_inverse_dynamics" in printed
    assert_nothing_allocated(done.out)
    # Double to 1e-12, float to what it can hold.
    library = compile_package(done.out, QUICK)
    states = random_states(robot, seed=5)
    wanted = nacelle.inverse_dynamics(robot, states.x, states.v, states.a).tau
    label = "inverse_dynamics" if source == "pose" else f"inverse_dynamics_{source}"
    inputs = list(model_inputs(states, shapes_of(done.out, done.name, label)).values())
    sizes = sizes_of(done.out, done.name, label)
    for real, ending in (("double", ""), ("float", "_f")):
        function = getattr(library, f"{done.name}_{label}{ending}")
        force = call(function, inputs, sizes, SHAPES[real])[0]
        error = np.max(np.abs(force - wanted)) / np.max(np.abs(wanted))
        assert error < (1e-12 if real == "double" else 1e-4)


def declared_functions(folder: Path, name: str, function: str) -> tuple[list[str], list[str]]:
    """Names of inputs and outputs in the prototype of a function."""
    header = (folder / "include" / f"{name}.h").read_text()
    arguments = re.search(rf"void {name}_{function}\((.*?)\);", header, re.S)
    assert arguments is not None
    inputs = re.findall(r"const double \*(\w+)", arguments[1])
    return inputs, [word for word in re.findall(r"double \*(\w+)", arguments[1]) if word not in inputs]


def sizes_of(folder: Path, name: str, function: str) -> list[int]:
    """Sizes of the outputs, by the macros of the header."""
    header = (folder / "include" / f"{name}.h").read_text()
    found = []
    for output in declared_functions(folder, name, function)[1]:
        macro = f"{name}_{function}_{output}_SIZE".upper()
        size = re.search(rf"#define {macro} (\d+)", header)
        assert size is not None, macro
        found.append(int(size[1]))
    return found


def shapes_of(folder: Path, name: str, function: str) -> dict[str, tuple[int, ...]]:
    """The inputs by name; their shapes do not matter here."""
    return dict.fromkeys(declared_functions(folder, name, function)[0], ())


@pytest.mark.slow
@needs_compiler
@pytest.mark.parametrize("robot_name", ["fivebar", "prrrp", "orthoglide"])
def test_other_models_are_those_of_the_api(tmp_path: Path, robot_name: str) -> None:
    robot = library_robot(robot_name)
    models = "forward_dynamics,inverse_kinematics,jacobian,mass_matrix,bias_forces,gravity_forces"
    done = nacelle.export(
        robot,
        models.split(","),
        out=tmp_path / "package",
        target=nacelle.io.CTarget(precision="double", self_test=False),
    )
    assert run_self_test(done.out, QUICK).endswith("all is well\n")
    library = compile_package(done.out, QUICK)
    states = random_states(robot, seed=2)
    x, v, a = states.x, states.v, states.a
    margins = nacelle.inverse_kinematics(robot, x).margins
    wanted = {
        "forward_dynamics": a,
        "inverse_kinematics": nacelle.inverse_kinematics(robot, x).q,
        "jacobian": jacobian(robot, x).inverse,
        "mass_matrix": nacelle.mass_matrix(robot, x),
        "bias_forces": nacelle.bias_forces(robot, x, v),
        "gravity_forces": nacelle.gravity_forces(robot, x),
    }
    for label, values in wanted.items():
        inputs = list(model_inputs(states, shapes_of(done.out, done.name, label)).values())
        found, *watched = call(
            getattr(library, f"{done.name}_{label}"), inputs, sizes_of(done.out, done.name, label)
        )
        expected = np.asarray(values).reshape(len(x), -1)
        # Without gravity there are no gravity forces.
        assert np.max(np.abs(found - expected)) <= 1e-11 * np.max(np.abs(expected)), label
        # Dynamics come with a pivot figure, too.
        assert len(watched) == 1 + (label != "inverse_kinematics"), label
        assert np.max(np.abs(watched[-1] - margins)) < 1e-12, label


@pytest.mark.slow
@needs_compiler
def test_legs_found_by_iteration_come_with_newton(tmp_path: Path) -> None:
    robot = library_robot("3rps")
    done = nacelle.export(
        robot,
        "inverse_dynamics",
        out=tmp_path / "package",
        target=nacelle.io.CTarget(batch=True, self_test=False),
    )
    printed = run_self_test(done.out, QUICK)
    assert "3rps_close_legs_newton" in printed
    assert "3rps_close_legs_f_newton" in printed
    assert printed.endswith("all is well\n")
    readme = (done.out / "README.md").read_text()
    assert "solved numerically" in readme
    assert "close_legs" in done.counts
    assert_nothing_allocated(done.out)


def assert_nothing_allocated(folder: Path) -> None:
    """The library calls functions of mathematics and nothing else."""
    compile_package(folder, ("-O0",))
    sources = "".join(path.read_text() for path in (folder / "src").glob("*.c"))
    assert not re.search(r"\b(malloc|calloc|realloc|alloca|free)\b", sources)
    nm = shutil.which("nm")
    if nm is None:
        return
    command = [nm, "-D", "--undefined-only", "library.so"]
    listed = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout
    used = {line.split()[-1].partition("@")[0] for line in listed.splitlines()}
    allowed = {"sin", "cos", "sqrt", "atan2", "fabs", "tanh", "exp", "floor"}
    own = {name for name in used if not name.startswith("_")}
    assert own <= allowed | {f"{name}f" for name in allowed}


@pytest.mark.slow
@needs_compiler
def test_hostile_names(tmp_path: Path) -> None:
    robot = hostile_fivebar()
    for source in ("pose", "elements"):
        done = nacelle.export(
            robot,
            "inverse_dynamics",
            out=tmp_path / source,
            input=source,
            target=nacelle.io.CTarget(self_test=False),
        )
        assert done.name == "stdio_robot"
        assert run_self_test(done.out, ("-O1", *SANITIZE[2:])).endswith("all is well\n")
        for path in done.out.rglob("*.[ch]"):
            text = path.read_text(encoding="utf-8")
            assert text.isascii()
            assert "evil" not in text
    readme = (done.out / "README.md").read_text()
    assert r"\`x\` \| \<b\>" in readme


@needs_compiler
@pytest.mark.parametrize("compiler", COMPILERS)
def test_one_precision_bare_and_batch(tmp_path: Path, compiler: str) -> None:
    robot = library_robot("fivebar")
    full = nacelle.export(
        robot,
        "inverse_dynamics",
        out=tmp_path / "full",
        target=nacelle.io.CTarget(precision="float", batch=True, self_test=False),
    )
    bare = nacelle.export(
        robot,
        "inverse_dynamics",
        out=tmp_path / "bare",
        target=nacelle.io.CTarget(precision="double", self_test=False),
        bare=True,
    )
    assert "fivebar_inverse_dynamics_f " in run_self_test(full.out, QUICK, compiler)
    assert "pivot" not in run_self_test(bare.out, QUICK, compiler)
    assert declared_functions(bare.out, "fivebar", "inverse_dynamics")[1] == ["force"]
    assert bare.counts["inverse_dynamics"].total < full.counts["inverse_dynamics"].total
    header = (full.out / "include" / "fivebar.h").read_text()
    assert "double *" not in header
    assert "fivebar_inverse_dynamics_f_batch(" in header


@pytest.mark.slow
@needs_compiler
def test_friction_and_smoothing(tmp_path: Path) -> None:
    robot = library_robot("fivebar")
    states = random_states(robot, seed=3)
    for k, options in enumerate(({"friction": False}, {"smooth": 0.05})):
        done = nacelle.export(
            robot,
            "inverse_dynamics",
            out=tmp_path / str(k),
            target=nacelle.io.CTarget(precision="double", self_test=False),
            **options,
        )
        assert run_self_test(done.out, QUICK).endswith("all is well\n")
        function = compile_package(done.out, QUICK).fivebar_inverse_dynamics
        inputs = list(model_inputs(states, shapes_of(done.out, "fivebar", "inverse_dynamics")).values())
        force = call(function, inputs, sizes_of(done.out, "fivebar", "inverse_dynamics"))[0]
        wanted = nacelle.inverse_dynamics(robot, states.x, states.v, states.a, **options).tau
        assert np.max(np.abs(force - wanted)) < 1e-12 * np.max(np.abs(wanted))


def test_the_page_tells_everything(tmp_path: Path) -> None:
    robot = library_robot("fivebar")
    done = nacelle.export(robot, "inverse_dynamics,jacobian", out=tmp_path / "package")
    readme = (done.out / "README.md").read_text()
    count = done.counts["inverse_dynamics"]
    assert f"| `inverse_dynamics` | {count.total} | {count.add} | {count.mul} | {count.div} |" in readme
    for word in (
        robot.hash,
        nacelle.__version__,
        "quat_xyzw",
        "1e-2",
        "1e-07",
        "1e-12",
        "no heap",
        "left.motor",
        "ctest",
    ):
        assert word in readme
    header = (done.out / "include" / "fivebar.h").read_text()
    assert 'extern "C"' in header
    assert f"{count.total} operations" in header
    manifest = json.loads((done.out / "nacelle.json").read_text())
    assert manifest["hash"] == robot.hash
    assert manifest["functions"]["inverse_dynamics"]["total"] == count.total
    assert set(manifest["files"]) == set(done.files)
    for name in done.files:
        assert (done.out / name).is_file()
    cmake = (done.out / "CMakeLists.txt").read_text()
    assert "-fno-math-errno -fno-trapping-math" in cmake
    for name in done.files:
        assert not name.startswith("src/") or name in cmake


@pytest.mark.slow
@needs_compiler
@pytest.mark.parametrize("tool", ["cmake", "make"])
def test_builds_with_its_own_files(tmp_path: Path, tool: str) -> None:
    if shutil.which(tool) is None:
        pytest.skip(f"{tool} is not installed")
    done = nacelle.export(
        library_robot("prrrp"),
        "inverse_dynamics,jacobian",
        out=tmp_path / "package",
        target=nacelle.io.CTarget(self_test=False),
    )
    steps = {
        "cmake": [
            "cmake -S . -B build",
            "cmake --build build",
            "ctest --test-dir build",
            "build/prrrp_self_test",
        ],
        "make": ["make test"],
    }
    for step in steps[tool]:
        ran = subprocess.run(step.split(), cwd=done.out, capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stdout + ran.stderr
    # Under make, a make of its own says where it was at the end.
    assert "all is well\n" in ran.stdout


@pytest.mark.slow
@needs_compiler
@pytest.mark.parametrize("name", ["fivebar", "quattro"])
def test_numbers_given_at_run_time(tmp_path: Path, name: str) -> None:
    """Prepared for other numbers, the function gives what the robot with these numbers needs."""
    robot = library_robot(name)
    groups = ("inertia", "friction") if name == "quattro" else ("geometry", "inertia", "friction")
    done = nacelle.export(
        robot,
        "inverse_dynamics",
        out=tmp_path / "package",
        target=nacelle.io.CTarget(parameters=",".join(groups), precision="double", self_test=False),
    )
    assert run_self_test(done.out, QUICK).endswith("all is well\n")
    library = compile_package(done.out, QUICK)
    vector = 1.02 * robot.numbers.vector(*groups)
    other = robot.with_numbers(vector, *groups)
    size = sizes_of(done.out, done.name, "inverse_dynamics_prepare")[0]
    prepare = getattr(library, f"{done.name}_inverse_dynamics_prepare")
    prepared = call(prepare, [vector[None]], [size])[0]
    states = random_states(other, seed=5)
    shapes = shapes_of(done.out, done.name, "inverse_dynamics")
    inputs = model_inputs(states, {key: shape for key, shape in shapes.items() if key != "prepared"})
    rows = [np.tile(prepared, (len(states.x), 1)), *inputs.values()]
    sizes = sizes_of(done.out, done.name, "inverse_dynamics")
    force = call(getattr(library, f"{done.name}_inverse_dynamics"), rows, sizes)[0]
    wanted = nacelle.inverse_dynamics(other, states.x, states.v, states.a).tau
    assert np.max(np.abs(force - wanted)) < 1e-11 * np.max(np.abs(wanted))
