"""Cuda: build, host, launch."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import nacelle
from nacelle.emit.cuda.kernel import array_layout, kernels
from nacelle.emit.cuda.newton import newton_kernel
from nacelle.emit.cuda.plan import CudaOptions
from nacelle.errors import ExportError
from nacelle.export.cuda.build import cmake_file
from nacelle.export.cuda.host import host_source
from nacelle.export.cuda.launch import launch_head, launcher, newton_launcher
from nacelle.export.trial import try_package
from support import cuda_host
from support.driver_programs import pendulum, square_roots

# ---- The CMake file of a CUDA package


def test_cmake_file() -> None:
    text = cmake_file("robot", ["robot_a.cu", "robot_b.cu"])
    assert "project(robot CXX CUDA)" in text
    assert "  src/robot_a.cu\n  src/robot_b.cu\n" in text
    # Architectures are the user's, before the project would choose its own.
    assert text.index("CMAKE_CUDA_ARCHITECTURES 80 90") < text.index("project(")
    assert "SKIP_RETURN_CODE 77" in text


# ---- A CUDA package on the host: its self-test passes, and fails where a kernel is wrong

WALKLEG = Path(__file__).parents[2] / "robots" / "walkleg.yaml"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A package with an iteration."""
    out = tmp_path_factory.mktemp("host") / "p"
    robot = nacelle.load(WALKLEG)
    done = nacelle.export(robot, "inverse_dynamics", out=out, target="cuda", self_test=False)
    return {name: (out / name).read_text() for name in done.files}


def test_one_source_holds_everything(files: dict[str, str]) -> None:
    text = host_source("walkleg", files)
    assert "<<<" not in text
    assert not re.search(r"#include [\"<](cuda|nacelle|walkleg)", text)
    # Two functions and an iteration, in both precisions; four of them have a tiled kernel, too.
    assert len(re.findall(r"\n *nc_launch\(grid, 128, n, ", text)) == 10


def test_the_self_test_passes_and_sees_wrong_kernels(files: dict[str, str]) -> None:
    cuda_host.compiler()
    assert try_package("walkleg", "cuda", files).host
    for path, right, wrong in (
        ("src/walkleg_inverse_dynamics.cu", "nc_sub(", "nc_add("),
        ("src/walkleg_close_legs_f.cu", "nc_mul(0.35f,", "nc_mul(0.3501f,"),
        ("src/walkleg_close_legs.cu", "nc_add(a, nc_mul(part, d))", "nc_sub(a, nc_mul(part, d))"),
    ):
        text = files[path]
        assert right in text
        real = "float" if "_f." in path else "double"
        with pytest.raises(ExportError, match=rf"{Path(path).stem}\w* \({real}\)"):
            try_package("walkleg", "cuda", {**files, path: text.replace(right, wrong)})


# ---- Functions of a package that launch its kernels


def test_launcher() -> None:
    options = CudaOptions(name="robot_it")
    layout, made = array_layout(pendulum(), options), kernels(pendulum(), options)
    assert made.tiled is not None
    text = launcher(layout, made, "robot_it")
    assert launch_head(layout, "robot_it") in text
    # Tiles where the device has them and rows are aligned, with a map for every input.
    assert text.index("capability >= 90") < text.index("robot_it_tiled<<<") < text.index("robot_it_plain<<<")
    for name, size in (("x", 2), ("u", 1), ("p", 2)):
        assert f"nc_map_of((CUtensorMap *)&{name}_map, {name}, 8, {size}, n, {name}_ld, 128)" in text
    assert "nc_aligned(dx, 8, dx_ld)" in text


def test_newton_launcher() -> None:
    made = newton_kernel(square_roots(), CudaOptions(name="robot_it"))
    text = newton_launcher(made, "double", "robot_it_newton")
    assert f"{made.kernel}<<<grid, 128, {made.shared_bytes}, stream>>>" in text
    assert "cudaMallocAsync" not in text  # nothing aside
