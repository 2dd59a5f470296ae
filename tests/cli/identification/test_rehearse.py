"""The command `rehearse`: data of a simulated robot, in a new file."""

from __future__ import annotations

import nacelle
from support.command import run, run_json
from support.library import library_robot


def test_a_rehearsal_makes_data_from_a_motion():
    run(
        *("excite", "fivebar", "--starts", "1", "--iterations", "3", "--harmonics", "5"),
        *("--duration", "1", "--out", "motion.yaml"),
    )
    data = run_json("rehearse", "fivebar", "--motion", "motion.yaml", "--csv", "new.csv", "--periods", "2")
    assert data["samples"] == 2000
    assert len(nacelle.read_measurement("new.csv", library_robot("fivebar"))) == 2000
    assert (
        "exists already"
        in run("rehearse", "fivebar", "--motion", "motion.yaml", "--csv", "new.csv", code=1).output
    )
