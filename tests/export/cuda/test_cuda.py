"""The self-test of CUDA packages sees wrong kernels."""

from __future__ import annotations

from pathlib import Path

import pytest

import nacelle
from nacelle.errors import ExportError
from nacelle.export.trial import try_package
from support import cuda_host

# ---- A CUDA package on the host: its self-test passes, and fails where a kernel is wrong

WALKLEG = Path(__file__).parents[2] / "robots" / "walkleg.yaml"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A package with an iteration."""
    out = tmp_path_factory.mktemp("host") / "p"
    robot = nacelle.load(WALKLEG)
    done = nacelle.export(robot, "inverse_dynamics", out=out, target="cuda", self_test=False)
    return {name: (out / name).read_text() for name in done.files}


@pytest.mark.slow
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
