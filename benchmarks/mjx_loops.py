"""The Gough-Stewart platform with its loops in MJX: `python benchmarks/mjx_loops.py`; see gpu.py.

Loops are held softly by `connect`, in float; robots start with random small rates. Needs mujoco-mjx and a JAX
with a device.
"""

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import jax
import jax.numpy as jnp
import mujoco as mj
import numpy as np
from mujoco import mjx

import nacelle
from support import mujoco_loops

STEPS = 20
ROBOTS = (4096, 32768)


def rate(model, data, count):
    """Robot-steps a second, and whether all states are finite."""
    on_device, start = mjx.put_model(model), mjx.put_data(model, data)

    def one(rates):
        state = start.replace(qvel=start.qvel + rates)
        return jax.lax.scan(lambda s, _: (mjx.step(on_device, s), None), state, None, length=STEPS)[0].qpos

    run = jax.jit(jax.vmap(one))
    rates = jnp.asarray(0.01 * np.random.default_rng(0).normal(size=(count, model.nv)))
    run(rates).block_until_ready()
    begin = time.perf_counter()
    after = run(rates).block_until_ready()
    return count * STEPS / (time.perf_counter() - begin), bool(jnp.isfinite(after).all())


def main():
    """Measure both integrators, with the default solver and with few iterations."""
    model = mujoco_loops.build_engine(nacelle.load("gough-stewart"), mujoco_loops.ConstraintSettings()).model
    model.opt.timestep = 1e-3
    data = mj.MjData(model)
    mj.mj_forward(model, data)
    for integrator, iterations in (("RK4", (100, 50)), ("RK4", (1, 4)), ("IMPLICITFAST", (1, 4))):
        model.opt.integrator = getattr(mj.mjtIntegrator, f"mjINT_{integrator}")
        model.opt.iterations, model.opt.ls_iterations = iterations
        for count in ROBOTS:
            found, finite = rate(model, data, count)
            assert finite
            print(f"{integrator}, {iterations} iterations, {count} robots: {found / 1e6:.2f} M robot-steps/s")


if __name__ == "__main__":
    main()
