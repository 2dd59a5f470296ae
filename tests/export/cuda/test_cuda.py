"""Packages of CUDA: their kernels on this machine, and self-tests that see wrong ones."""

from __future__ import annotations

import ctypes
import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import nacelle
from nacelle.errors import ExportError
from nacelle.export.about import Package
from nacelle.export.cuda import self_test
from nacelle.export.entries import entries
from nacelle.export.entry import ExportRequest
from nacelle.export.export import select_target
from nacelle.export.states import random_states
from nacelle.export.trial import run_self_test
from nacelle.export.vectors import reference_vectors
from support import cuda_host
from support.library import library_robot

# ---- A CUDA package on the host: its self-test passes, and fails where a kernel is wrong

WALKLEG = Path(__file__).parents[2] / "robots" / "walkleg.yaml"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A package with an iteration."""
    out = tmp_path_factory.mktemp("host") / "p"
    robot = nacelle.load(WALKLEG)
    done = nacelle.export(robot, "inverse_dynamics", out=out, target=nacelle.io.CudaTarget(self_test=False))
    return {name: (out / name).read_text() for name in done.files}


@pytest.mark.slow
def test_the_self_test_passes_and_sees_wrong_kernels(files: dict[str, str]) -> None:
    cuda_host.compiler()
    assert run_self_test("walkleg", "cuda", files).host
    for path, right, wrong in (
        ("src/walkleg_inverse_dynamics.cu", "nc_sub(", "nc_add("),
        ("src/walkleg_close_legs_f.cu", "nc_mul(0.35f,", "nc_mul(0.3501f,"),
        ("src/walkleg_close_legs.cu", "nc_mul(scale, nc_got", "nc_mul(-scale, nc_got"),
    ):
        text = files[path]
        assert right in text
        real = "float" if "_f." in path else "double"
        with pytest.raises(ExportError, match=rf"{Path(path).stem}\w* \({real}\)"):
            run_self_test("walkleg", "cuda", {**files, path: text.replace(right, wrong)})


# ---- Packages of CUDA: their kernels on this machine against the reference vectors, and nvcc if there is one


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("cuda") / "package"
    nacelle.export(library_robot("fivebar"), "inverse_dynamics", out=out, target="cuda", bare=True)
    return out


def test_files(package: Path) -> None:
    made = json.loads((package / "nacelle.json").read_text())
    assert made["target"] == "cuda"
    assert made["precision"] == "both"
    assert {"CMakeLists.txt", "README.md", "include/fivebar.h", "test/self_test.cu"} <= set(made["files"])
    header = (package / "include/fivebar.h").read_text()
    assert "cudaError_t fivebar_inverse_dynamics_f(" in header
    assert "const double *x, size_t x_ld" in header
    assert "values put aside" in (package / "README.md").read_text()


@pytest.mark.costly
@pytest.mark.parametrize("real", ["double", "float"])
def test_kernels_give_the_reference_vectors(package: Path, real: str) -> None:
    """The very source of the package, its launching functions cut off, run by this machine's compiler."""
    robot = library_robot("fivebar")
    (entry,) = entries(robot, "fivebar", ExportRequest(("inverse_dynamics",), bare=True))
    wanted = reference_vectors(entry, random_states(robot))
    name = "fivebar_inverse_dynamics" + ("_f" if real == "float" else "")
    text = (package / f"src/{name}.cu").read_text()
    text = text[text.index('extern "C"') : text.index("cudaError_t")]
    kind = np.float64 if real == "double" else np.float32
    arguments, count = [], wanted.states
    held = [np.ascontiguousarray(values.T, dtype=kind) for values in wanted.inputs.values() if values.size]
    out = np.full((2, count), np.nan, dtype=kind)
    for rows in (*held, out):
        arguments += [ctypes.c_void_p(rows.ctypes.data), ctypes.c_uint64(count)]
    source = (package / "src/nacelle_cuda.cuh").read_text() + text
    cuda_host.call(source, f"{name}_plain", 1, (*arguments, ctypes.c_uint64(count)))
    (label,) = wanted.outputs
    error = np.max(np.abs(out.T - wanted.outputs[label])) / wanted.scale[label]
    assert error <= wanted.tolerance[real][label]


@pytest.mark.slow
def test_nvcc_compiles_the_package(package: Path, tmp_path: Path) -> None:
    nvcc = shutil.which("nvcc")
    if nvcc is None:
        pytest.skip("no nvcc (CUDA toolkit): the package is compiled as C++ by the tests beside this one")
    sources = [str(path) for path in package.glob("src/*.cu")] + [str(package / "test/self_test.cu")]
    command = [nvcc, "-std=c++17", "-arch=sm_90", f"-I{package / 'include'}", *sources]
    subprocess.run([*command, "-o", str(tmp_path / "self_test")], check=True, timeout=300)
    run = [str(tmp_path / "self_test")]
    done = subprocess.run(run, check=False, capture_output=True, text=True, timeout=60)
    assert done.returncode in (0, 77), done.stdout


def test_what_cuda_does_not_have() -> None:
    for options, words in (({"batch": True}, "batch is an option of C"), ({"plant": True}, "written in C")):
        with pytest.raises(ExportError, match=words):
            select_target("cuda", options)


def test_braces_of_the_self_test_match(package: Path) -> None:
    text = re.sub(r'"[^"]*"|/\*.*?\*/', "", (package / "test/self_test.cu").read_text(), flags=re.DOTALL)
    assert text.count("{") == text.count("}")
    assert text.count("check_inverse_dynamics") == 4  # two functions, and their calls


# ---- The self-test of a CUDA package


@pytest.mark.slow
def test_every_function_is_checked_in_every_precision() -> None:
    robot = library_robot("prrrp")
    wanted = ExportRequest(("gravity_forces",), bare=True)
    made = entries(robot, "it", wanted)
    package = Package("it", robot, nacelle.__name__, wanted, made)
    states = random_states(robot)
    text = self_test(
        package, {entry.label: reference_vectors(entry, states) for entry in made}, ["double", "float"]
    )
    for name in ("it_gravity_forces(", "it_gravity_forces_f("):
        assert name in text
    # Rows that are aligned, and rows that are not.
    assert "for (size_t ld = COUNT; ld <= COUNT + 1; ++ld)" in text
    assert "return 77;" in text
