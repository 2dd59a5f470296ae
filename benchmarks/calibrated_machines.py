"""Machines within tolerances: `python benchmarks/calibrated_machines.py [--machines N] [--robot NAME ...]`.

Each machine deviates from its description at random within tolerances: anchors, lengths, axes and zeros (the
default parameters), and the compliance of its drives by a fifth; these give under the weight of the robot and
a payload, so a tracker whose place nobody knows sees the sag, too. It measures positions, of the Deltas and
the hexapod orientations as well, with noise, at random poses; encoders have noise. Printed are the error of
the pose over the whole workspace (root mean square over 100 other poses, in the base that fits best), what
part of the 95 % intervals holds the true value, the residuals over the noise, and which parameters nothing
shows. `--without` estimates no compliance: what becomes of a calibration that takes drives as described.
"""

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import argparse
import dataclasses
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from klipper import LINEAR_DELTA

import nacelle
from nacelle.calibration import (
    Campaign,
    Tracker,
    default_parameters,
    drawn_poses,
    encoders_of,
    known_parameters,
    simulate_calibrations,
)

AXES = ("x", "y", "z", "rx", "ry", "rz")
NOISE, TILT_NOISE = 10e-6, 20e-6  # m, rad
# Payload, kg; stiffness of the drives, N/m or N m/rad; poses.
ROBOTS = {
    "linear-delta": (1.0, 2e4, 45),
    "delta": (1.0, 2e3, 45),
    "gough-stewart": (30.0, 5e5, 60),
    "fivebar": (1.0, 2e3, 25),
}
SPREAD = 0.2


def machine_of(name):
    """The description with drives that give, and a payload; what deviates; the campaign; poses."""
    payload, stiffness, poses = ROBOTS[name]
    robot = nacelle.loads(LINEAR_DELTA) if name == "linear-delta" else nacelle.load(name)
    robot = nacelle.with_payload(robot, mass=payload)
    drives = {actuator.joint for actuator in robot.actuators}
    joints = (
        dataclasses.replace(joint, drive_stiffness=stiffness) if j in drives else joint
        for j, joint in enumerate(robot.joints)
    )
    robot = dataclasses.replace(robot, joints=tuple(joints))
    encoders = encoders_of(robot)
    flexible = [
        dataclasses.replace(item, tolerance=SPREAD * item.tolerance)
        for item in known_parameters(robot, encoders)
        if item.kind == "compliance"
    ]
    axes = AXES if robot.platform_nv == 6 else AXES[:3]
    noise = np.array([NOISE] * 3 + [TILT_NOISE] * 3)[: len(axes)]
    campaign = Campaign(
        robot, np.zeros((0, len(encoders))), encoders, (Tracker(np.zeros((0, len(axes))), noise, axes),)
    )
    return campaign, default_parameters(robot, encoders), tuple(flexible), drawn_poses(robot, poses)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--machines", type=int, default=20)
    parser.add_argument("--robot", nargs="*", choices=ROBOTS, default=list(ROBOTS))
    parser.add_argument("--without", action="store_true", help="estimate no compliance")
    options = parser.parse_args()
    for name in options.robot:
        campaign, geometry, flexible, x = machine_of(name)
        estimated, hidden = (geometry, flexible) if options.without else ((*geometry, *flexible), ())
        start = time.process_time()
        result = simulate_calibrations(campaign, x, estimated, machines=options.machines, hidden=hidden)
        seconds = (time.process_time() - start) / options.machines
        print(f"{name}: {len(estimated)} parameters at {len(x)} poses, {seconds:.2f} s CPU a machine")
        print(result.table(), flush=True)


if __name__ == "__main__":
    main()
