"""Programs on a CUDA device: `python benchmarks/gpu.py`, the tables of docs/gpu.md.

PaLiDA's inverse dynamics with friction and its forward dynamics, from the platform's rotation matrix,
position, twist and acceleration or forces (24 numbers) to forces or accelerations alone (6), 2^24 states.
Rates are medians of bursts of launches with rests between them, and "held" after a second without rest, when
the power limit has lowered the clock. Errors are against the processor's, relative to the largest entry. Then
many Gough-Stewart platforms by Runge-Kutta, and the traffic roof: what a copy moves. `--json` gives plain
data, `--states` and `--robots` other sizes.
"""

import argparse
import functools
import json
import statistics
import time

import numpy as np

import nacelle
from nacelle.compile.on_device import DeviceFunction
from nacelle.emit.cuda.device import cupy
from nacelle.emit.cuda.plan import CudaOptions
from nacelle.program.program import ARITY, Program, Variable, apply
from nacelle.spatial.rotation import rotation_quat

BURSTS, LAUNCHES = 9, 20


def with_rotation(program):
    """The program with the rotation matrix R (3, 3) and p (3,) in the place of x = [p; quat_xyzw].

    The nine instructions that compute R are recognised by their values at two random quaternions.
    """
    rng = np.random.default_rng(0)
    rows = [rng.normal(size=program.input_size) for _ in range(2)]
    values = np.array([_values(program, row) for row in rows])
    entries = np.array([rotation_quat(row[3:7]).ravel() for row in rows])
    code, place = [], {}
    for k, (op, *arguments) in enumerate(program.code):
        equal = np.flatnonzero(
            np.all(np.abs(entries - values[:, k, None]) <= 1e-12 * np.abs(entries), axis=0)
        )
        if op == "input" and 3 <= arguments[0] < 7:
            continue
        if equal.size:
            step = ("input", int(equal[0]))
        elif op == "input":
            step = (op, arguments[0] + (9 if arguments[0] < 3 else 5))
        elif ARITY[op]:
            if any(a not in place for a in arguments):
                continue  # a part of R
            step = (op, *(place[a] for a in arguments))
        else:
            step = (op, *arguments)
        place[k] = len(code)
        code.append(step)
    inputs = (Variable("R", (3, 3)), Variable("p", (3,)), *program.inputs[1:])
    made = Program(
        program.name, inputs, program.outputs, tuple(code), tuple(place[k] for k in program.results)
    )
    made.check()
    return made


def _values(program, row):
    """The values of all instructions at one row of inputs."""
    values = []
    with np.errstate(all="ignore"):
        for op, *arguments in program.code:
            if op == "const":
                values.append(arguments[0])
            elif op == "input":
                values.append(row[arguments[0]])
            else:
                values.append(float(apply(op, *(np.float64(values[a]) for a in arguments))))
    return values


def states(program, x0, count, seed=1):
    """Rows (size, count) of the inputs: the platform near its reference, twists, accelerations or forces."""
    rng = np.random.default_rng(seed)
    turn = rng.uniform(-0.25, 0.25, (3, count))
    half = 0.5 * np.sqrt(np.sum(turn**2, axis=0))
    quat = np.concatenate([0.5 * turn * np.sinc(half / np.pi), np.cos(half)[None]])
    R = np.array([[entry + np.zeros(count) for entry in row] for row in _rotation(quat)]).reshape(9, count)
    p = x0[:3, None] + rng.uniform(-0.08, 0.08, (3, count))
    last = 50.0 if program.name.startswith("forward") else 5.0
    return [R, p, rng.normal(size=(6, count)), last * rng.normal(size=(6, count))]


def _rotation(quat):
    x, y, z, w = quat
    return [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]


def burst(run):
    """Seconds of a launch: the median over bursts with rests between them."""
    cp, times = cupy(), []
    run()
    cp.cuda.Device().synchronize()
    for _ in range(BURSTS):
        time.sleep(0.15)
        begin, end = cp.cuda.Event(), cp.cuda.Event()
        run()
        begin.record()
        for _ in range(LAUNCHES):
            run()
        end.record()
        end.synchronize()
        times.append(cp.cuda.get_elapsed_time(begin, end) / LAUNCHES / 1e3)
    return statistics.median(times)


def held(run):
    """Seconds of a launch after a second without rest."""
    cp = cupy()
    until = time.perf_counter() + 1.0
    while time.perf_counter() < until:
        for _ in range(LAUNCHES):
            run()
        cp.cuda.Device().synchronize()
    begin, end = cp.cuda.Event(), cp.cuda.Event()
    begin.record()
    for _ in range(5 * LAUNCHES):
        run()
    end.record()
    end.synchronize()
    return cp.cuda.get_elapsed_time(begin, end) / (5 * LAUNCHES) / 1e3


def evaluations(program, x0, count, sizes):
    """Rates, errors and resources of one program in all forms."""
    cp = cupy()
    host = states(program, x0, count)
    few = min(count, 4096)
    flat = np.concatenate(host)[:, :few]
    with np.errstate(all="ignore"):
        want = np.array(program.evaluate(list(flat)))
    for options in (CudaOptions(), CudaOptions(ieee=True), CudaOptions(real="float")):
        kind = np.float64 if options.real == "double" else np.float32
        fast = DeviceFunction(program, options)
        shapes = [variable.shape for variable in program.inputs if variable.size]
        rows = [cp.asarray(array.astype(kind)) for array in host]
        given = [
            cp.moveaxis(array.reshape(*shape, count), -1, 0)
            for array, shape in zip(rows, shapes, strict=True)
        ]
        names = [variable.name for variable in program.inputs if variable.size]
        named = dict(zip(names, given, strict=True))
        out = fast(**named)
        error = float(np.max(np.abs(out[:few].get().T - want)) / np.max(np.abs(want)))
        rows[2][0, 1] = np.nan
        passes = bool(cp.isnan(fast(**named)[1]).any()) and not bool(cp.isnan(out[:1]).any())
        rows[2][0, 1] = 0.0
        loaded = fast.load()
        run = fast.bind(**named).call
        row = {
            "program": program.name,
            "precision": options.real,
            "form": "ieee" if options.ieee else "fast",
            "rate": count / burst(run),
            "held": count / held(run),
            "error": error,
            "nan_passes": passes,
            **loaded.used["tiled" if "tiled" in loaded.used else "plain"],
            "aside": (loaded.kernels.tiled or loaded.kernels.plain).spilled_values,
            "blocks": (loaded.kernels.tiled or loaded.kernels.plain).blocks,
            "states_a_thread": (loaded.kernels.tiled or loaded.kernels.plain).states,
        }
        if options == CudaOptions():
            row["small"] = {size: _small(fast, named, size) for size in sizes}
        yield row


def _small(fast, named, size):
    """Seconds of a launch over few states."""
    return burst(fast.bind(**{name: array[:size] for name, array in named.items()}).call)


def simulations(count, steps):
    """Many Gough-Stewart platforms by Runge-Kutta at 1 ms: constants, and numbers of each robot's own."""
    cp = cupy()
    robot = nacelle.load("gough-stewart")
    x = np.asarray(nacelle.reference_pose(robot))
    force = nacelle.inverse_dynamics(robot, x, np.zeros(6), np.zeros(6)).tau
    rng = np.random.default_rng(0)
    x0 = np.tile(x, (count, 1))
    x0[:, :3] += rng.uniform(-0.02, 0.02, (count, 3))
    v0 = rng.uniform(-0.05, 0.05, (count, 6))
    u = force * (1.0 + 0.05 * rng.uniform(-1.0, 1.0, (count, 6)))
    vector = robot.numbers.vector()
    numbers = vector * (1.0 + 0.02 * rng.uniform(-1.0, 1.0, (count, len(vector))))
    few = slice(0, 4)
    for precision in ("double", "float"):
        kind = np.float64 if precision == "double" else np.float32
        for own in (False, True):
            given = [cp.asarray(array.astype(kind)) for array in (x0, v0, u)]
            options = {"parameters": cp.asarray(numbers.astype(kind))} if own else {}
            options |= {"until": steps * 1e-3, "target": CudaOptions(precision)}
            run = functools.partial(nacelle.simulation.simulate_many, robot, *given, **options)
            run()
            cp.cuda.Device().synchronize()
            begin = time.perf_counter()
            moved = run()
            cp.cuda.Device().synchronize()
            seconds = time.perf_counter() - begin
            cpu = {"parameters": numbers[few]} if own else {}
            start = (x0[few], v0[few], u[few])
            want = nacelle.simulation.simulate_many(robot, *start, until=steps * 1e-3, **cpu)
            yield {
                "robots": count,
                "steps": steps,
                "precision": precision,
                "numbers": len(vector) if own else 0,
                "seconds": seconds,
                "rate": count * steps / seconds,
                "failed": int((moved.status != 0).sum()),
                "error": float(np.max(np.abs(moved.x[few].get() - want.x))),
            }


def traffic():
    """Bytes a second that a copy on the device moves, read and written."""
    cp = cupy()
    source = cp.ones(1 << 28)
    target = cp.empty_like(source)
    return 2 * source.nbytes / burst(lambda: cp.copyto(target, source))


def main():
    """Measure, and print tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="plain data")
    parser.add_argument("--states", type=int, default=1 << 24)
    parser.add_argument("--robots", type=int, default=1_000_000)
    given = parser.parse_args()
    robot = nacelle.load("palida")
    x0 = np.asarray(nacelle.reference_pose(robot))
    bytes_moved = traffic()
    rows = []
    for name in ("inverse_dynamics", "forward_dynamics"):
        program = with_rotation(nacelle.model(robot, name).program())
        rows += evaluations(program, x0, given.states, (1 << 12, 1 << 15, 1 << 19))
    runs = list(simulations(given.robots, 1000))
    if given.json:
        print(json.dumps({"traffic": bytes_moved, "evaluations": rows, "simulations": runs}, indent=1))
        return
    roof = f"{bytes_moved / 240e9:.1f} G states/s of 240 bytes"
    print(f"a copy moves {bytes_moved / 1e12:.2f} TB/s: {roof}\n")
    print("| program | precision | form | G states/s | held | error | registers | spilled | aside | blocks |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for row in rows:
        print(
            f"| {row['program']} | {row['precision']} | {row['form']} | {row['rate'] / 1e9:.1f} | "
            f"{row['held'] / 1e9:.1f} | {row['error']:.1e} | {row['registers']} | {row['spilled']} B | "
            f"{row['aside']} | {row['blocks']} |"
        )
        assert row["nan_passes"]
    for row in rows:
        if "small" in row:
            print(
                f"\n{row['program']}: "
                + ", ".join(f"{n} states {t * 1e6:.1f} us" for n, t in row["small"].items())
            )
    print("\n| robots | steps | precision | own numbers | seconds | G robot-steps/s | error | failed |")
    print("|---|---|---|---|---|---|---|---|")
    for row in runs:
        print(
            f"| {row['robots']} | {row['steps']} | {row['precision']} | {row['numbers']} | "
            f"{row['seconds']:.2f} | {row['rate'] / 1e9:.2f} | {row['error']:.1e} | {row['failed']} |"
        )


if __name__ == "__main__":
    main()
