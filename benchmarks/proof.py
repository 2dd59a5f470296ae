"""Boxes a second: a hexapod's reach and limits over boxes of poses, on processor, device, and in codac.

    python benchmarks/proof.py --count 100000
    python benchmarks/proof.py --device                       # on a machine with a CUDA device
    python benchmarks/proof.py --codac path/to/other/python   # an interpreter with codac 2 and NumPy

The boxes are those of a Gough-Stewart platform within 100 mm and 0.26 rad of its reference, a 32nd of that
wide. nacelle bounds everything that `prove_workspace` asks of a pose but the conditioning: limits
and margins of all six legs. codac contracts the same boxes by the six legs' limits alone, CtcInverse of
|p + R b - A|^2. Rates are those of one core, and of one device with the boxes on it.
"""

import argparse
import json
import subprocess
import time

import numpy as np

import nacelle
from nacelle.compile.affine import AffineFunction, Forms
from nacelle.compile.interval import BoxFunction, interval_program
from nacelle.model.leg import PLATFORM
from nacelle.program.affine import affine_program
from nacelle.proof.region import REST, pose_region

CODAC = """
import json, sys, time
import numpy as np
from codac import *

problem = json.load(sys.stdin)
x = VectorVar(6)
cx, sx, cy, sy, cz, sz = cos(x[3]), sin(x[3]), cos(x[4]), sin(x[4]), cos(x[5]), sin(x[5])
R = [
    [cz * cy, cz * sy * sx - sz * cx, cz * sy * cx + sz * sx],
    [sz * cy, sz * sy * sx + cz * cx, sz * sy * cx - cz * sx],
    [-sy, cy * sx, cy * cx],
]
contractors = []
for A, b, (low, high) in zip(problem["A"], problem["b"], problem["limits"]):
    parts = [x[i] + R[i][0] * b[0] + R[i][1] * b[1] + R[i][2] * b[2] - A[i] for i in range(3)]
    f = AnalyticFunction([x], sqr(parts[0]) + sqr(parts[1]) + sqr(parts[2]))
    contractors.append(CtcInverse(f, Interval(low * low, high * high)))
boxes = [IntervalVector(box) for box in problem["boxes"]]
start = time.process_time()
for box in boxes:
    for contractor in contractors:
        box = contractor.contract(box)
        if box is not None and box.is_empty():
            break
print(json.dumps({"seconds": time.process_time() - start, "count": len(boxes)}))
"""


def drawn_boxes(region, count):
    """Boxes (count, n, 2) in the region."""
    width = np.diff(region.box, axis=1)[:, 0] / 32.0
    rng = np.random.default_rng(0)
    low = region.box[:, 0] + rng.random((count, len(width))) * (np.diff(region.box, axis=1)[:, 0] - width)
    return np.stack([low, low + width], axis=-1)


def on_processor(region, boxes):
    """Boxes a second of one core, for intervals and for affine forms."""
    program, rest = region.programs["signs"], np.full(region.rest_count, REST)
    rest_box, no_box = np.stack([-rest, rest], axis=-1), np.zeros((0, 2))
    function = BoxFunction(program)
    forms = AffineFunction(program, ("z",), ("rest",))
    n = boxes.shape[1]
    inputs = {"u": boxes, "rest": rest, "z": Forms(np.zeros(0), np.zeros((0, n)), np.zeros(0))}
    rates = {}
    for name, run in (
        ("intervals", lambda: function(boxes, rest_box, no_box)),
        ("affine forms", lambda: forms(inputs, threads=1)),
    ):
        run()
        start = time.process_time()
        run()
        rates[name] = len(boxes) / (time.process_time() - start)
    return rates


def on_device(region, boxes, samples):
    """Boxes a second of a device, and how many sampled values leave their bounds."""
    from gpu import burst

    from nacelle.compile.on_device import DeviceFunction
    from nacelle.emit.cuda.device import cupy
    from nacelle.emit.cuda.plan import CudaOptions

    cp, program = cupy(), region.programs["signs"]
    rest = np.full(region.rest_count, REST)
    low, high = (cp.asarray(np.asfortranarray(boxes[..., k])) for k in range(2))
    rest = cp.asarray(rest)
    no_numbers = {
        "z_lo": cp.zeros((len(boxes), 0)),
        "z_hi": cp.zeros((len(boxes), 0)),
        "z_c": cp.zeros((len(boxes), 0)),
        "z_g": cp.zeros((len(boxes), 0, 6)),
        "z_e": cp.zeros((len(boxes), 0)),
    }
    rates, leaving = {}, 0
    for name, bounds in (
        ("intervals", interval_program(program)),
        ("affine forms", affine_program(program, ("z",), ("rest",))),
    ):
        function = DeviceFunction(bounds, CudaOptions(ieee=True))
        known = {"u_lo": low, "u_hi": high, "rest_lo": -rest, "rest_hi": rest, "rest_e": rest, **no_numbers}
        given = {variable.name: known[variable.name] for variable in bounds.inputs if variable.size}
        found = function(**given)
        rates[name] = len(boxes) / burst(function.bind(**given).call)
        rates[f"operations of {name}"] = sum(op not in ("const", "input") for op, *_ in bounds.code)
        if name != "intervals":
            continue
        point = DeviceFunction(program, CudaOptions(ieee=True))
        rng = cp.random.default_rng(1)
        for _ in range(samples):
            u = low + rng.random(low.shape) * (high - low)
            values = point(
                u=cp.clip(u, low, high),
                **{
                    v.name: (2.0 * rng.random((len(boxes), 2)) - 1.0) * rest
                    for v in program.inputs
                    if v.name == "rest" and v.size
                },
            )
            # A value in doubles is off by its own rounding.
            slack = 1e-12
            out = (values < found["signs_lo"] - slack) | (values > found["signs_hi"] + slack)
            leaving += int(cp.count_nonzero(out))
    rates["samples"], rates["outside their bounds"] = samples * len(boxes), leaving
    return rates


def in_codac(python, region, boxes):
    """Boxes a second of codac in another interpreter."""
    robot = region.robot
    drives = [robot.joints[actuator.joint] for actuator in robot.actuators]
    balls = [joint for joint in robot.closures if joint.successor == PLATFORM]
    feet = [robot.joints[leg.joints[0]] for leg in robot.legs]
    problem = {
        "A": [joint.frame_predecessor.p.tolist() for joint in feet],
        "b": [joint.frame_successor.p.tolist() for joint in balls],
        "limits": [list(joint.limits[0]) for joint in drives],
        "boxes": boxes.tolist(),
    }
    done = subprocess.run(
        [python, "-c", CODAC], input=json.dumps(problem), capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"codac: {done.stderr[-2000:]}")
    found = json.loads(done.stdout)
    return found["count"] / found["seconds"]


def compare_tolerances(count):
    """Bounds of the position's error for 0.1 mm, against a certified machine and machines of a study, mm."""
    rows = {}
    for name in ("fivebar", "delta", "palida", "gough-stewart"):
        robot = nacelle.load(name)
        numbers = robot.numbers
        lengths = [
            name
            for name, kind in zip(numbers.names("geometry"), numbers.quantities("geometry"), strict=True)
            if kind == "length"
        ]
        start = time.process_time()
        found = nacelle.calibration.bound_pose_errors(robot, [f"number.{name}=0.1 mm" for name in lengths])
        seconds = time.process_time() - start
        study = nacelle.Study(
            {
                "robot": name,
                "limits": False,
                "variables": {"off": {"numbers": lengths, "uniform": "0.1 mm", "each": True}},
                "quantities": {"error": "pose error"},
                "sample": {"method": "monte-carlo", "count": count},
            }
        )
        errors = study.run().variants["error"]
        rows[name] = {
            "numbers": len(lengths),
            "bound": 1e3 * found.lengths[0, 0],
            "machine": 1e3 * found.attained_lengths[0, 0],
            "sampled": 1e3 * float(np.nanmax(errors)),
            "outside": int(np.count_nonzero(errors > found.lengths[0, 0])),
            "seconds, with compilation": seconds,
        }
    return rows


def main():
    """Print the rates."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--device", action="store_true")
    parser.add_argument("--samples", type=int, default=64)
    parser.add_argument("--codac", metavar="PYTHON")
    parser.add_argument("--tolerances", action="store_true")
    options = parser.parse_args()
    if options.tolerances:
        print(json.dumps(compare_tolerances(options.count), indent=2))
        return
    robot = nacelle.load("gough-stewart")
    over = dict.fromkeys("xy", (-0.1, 0.1)) | {"z": (0.6, 0.8)}
    over |= dict.fromkeys(("rx", "ry", "rz"), (-0.26, 0.26))
    region = pose_region(robot, over, [0.0, 0.0, 0.7, 0.0, 0.0, 0.0, 1.0])
    boxes = drawn_boxes(region, options.count)
    if options.device:
        rates = {"device": on_device(region, boxes, options.samples)}
    else:
        rates = {"one core": on_processor(region, boxes)}
    if options.codac:
        rates["codac, one core"] = in_codac(options.codac, region, boxes[:2000])
    print(json.dumps(rates, indent=2))


if __name__ == "__main__":
    main()
