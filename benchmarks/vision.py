"""Directions of legs from images against the Cramér-Rao bound: `python benchmarks/vision.py --runs 200`.

Every cylinder of the legs is rendered by the pixel model (distortion on, noise of 2 grey levels at a contrast
of 160, images of 256 x 256 px) as wide as said, with several blurs, and measured in seeded runs.

*error/bound*: root mean square of the errors of its direction over the bound for all pixels that depend on
its free edges, grey levels known, over all legs; *worst*: the worst leg; *region*: the worst leg by the bound
for the pixels that are read, which are kept away from ends and other parts; *axis*: the worst leg along one
axis of the bound. *bias^2*: the squared mean error by its own covariance, 2 on average if unbiased; *NEES*:
the squared error by the fit's own covariance, over 2, is 1 on average if consistent.
"""

import argparse
import json
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from nacelle import load
from nacelle.vision.image.pixel_model import PixelModel
from nacelle.vision.scene import RobotScenery
from support.line_errors import best_place, line_errors, zoomed_camera

ROBOTS = ("fivebar", "quattro", "gough-stewart")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("robots", nargs="*", default=ROBOTS)
    parser.add_argument("--widths", nargs="+", type=float, default=[5.0, 10.0, 20.0, 50.0])
    parser.add_argument("--blurs", nargs="+", type=float, default=[0.5, 1.0])
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true", help="every leg as one line of JSON")
    options = parser.parse_args()
    if not options.json:
        print(
            f"{'robot':15}{'width':>7}{'blur':>6}{'legs':>6}{'bound, mrad':>20}{'error/bound':>13}"
            f"{'worst':>8}{'region':>8}{'axis':>8}{'bias^2':>8}{'NEES':>7}{'failed':>8}"
        )
    everything = []
    for name in options.robots:
        robot = load(name)
        scenery = RobotScenery(robot)
        places = [best_place(scenery, index) for index in range(len(scenery.cylinders))]
        for width in options.widths:
            for blur in options.blurs:
                model = PixelModel(blur=blur)
                rows = []
                for index, place in enumerate(places):
                    camera = zoomed_camera(scenery, width, index, place)
                    rows.append(line_errors(scenery, camera, index, model, options.runs, options.seed))
                everything += rows
                if options.json:
                    for row in rows:
                        print(json.dumps({"robot": name, "blur": blur, **row.__dict__}), flush=True)
                else:
                    print(f"{name:15}{width:7.0f}{blur:6.1f}" + summary(rows), flush=True)
    if not options.json:
        print(f"{'all':15}{'':13}" + summary(everything))


def summary(rows):
    """Legs; least and largest bound; mean and worst ratios; means of bias and NEES."""
    good = [row for row in rows if np.isfinite(row.ratio)]
    if not good:
        return f"{len(rows):6}  no leg has two free edges"
    ratio, bound = np.array([row.ratio for row in good]), 1e3 * np.array([row.bound for row in good])
    return (
        f"{len(good):6}{f'{bound.min():.3g} to {bound.max():.3g}':>20}{np.sqrt(np.mean(ratio**2)):13.3f}"
        f"{ratio.max():8.3f}{max(row.region for row in good):8.3f}{max(row.worst for row in good):8.3f}"
        f"{np.mean([row.bias for row in good]):8.2f}"
        f"{np.mean([row.nees for row in good]):7.3f}{sum(row.failed for row in rows):8}"
    )


if __name__ == "__main__":
    main()
