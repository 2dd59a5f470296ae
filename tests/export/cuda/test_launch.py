"""Functions of a package that launch its kernels."""

from __future__ import annotations

from nacelle.emit.cuda.kernel import array_layout, kernels
from nacelle.emit.cuda.newton import newton_kernel
from nacelle.emit.cuda.plan import CudaOptions
from nacelle.export.cuda.launch import launch_head, launcher, newton_launcher
from support.driver_programs import pendulum, square_roots


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
