"""A five-bar whose anchors are not where its model has them, looked at by a camera.

Draws what the camera sees if a picture is named, prints the pose that one image gives, and runs computed
torque along a circle three times: fed by encoders with forward kinematics, by an observer that sees the
edges of the bars, and by both. The anchors are off by 0.3 mm, standard deviation of each coordinate.

    python examples/look_at_fivebar.py [picture.png]
"""

from __future__ import annotations

import sys

import numpy as np

import nacelle
from nacelle.control.vision.comparison import Circumstances


def main() -> None:
    """Look once, then control."""
    robot = nacelle.load("fivebar")
    seen = nacelle.vision.observe(robot, seed=1)
    assert seen.pose is not None
    print("one image, standard deviations in um:", *np.round(1e6 * seen.pose.sigma, 2))
    if len(sys.argv) > 1:
        seen.plot(shown=False).savefig(sys.argv[1])

    bench = nacelle.control.VisualFeedbackBench(robot, camera=seen.camera)
    for feedback in ("encoders", "vision", "both"):
        run = bench.run(feedback, Circumstances(anchors=3e-4), seed=1)
        print(f"{feedback}: {1e3 * run.summary()['tool']['rms_error']:.4f} mm rms from the path")


if __name__ == "__main__":
    main()
