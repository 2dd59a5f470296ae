"""Published counts: those of the papers, and none where nobody has published one."""

from __future__ import annotations

from nacelle.report.published import published


def test_counts_of_the_papers() -> None:
    """[AGH2005]: 801 + and 1186 x; [OAM]: 404 + and 656 x from vision."""
    assert 801 + 1186 in {entry.total for entry in published("palida", "inverse_dynamics", "pose")}
    assert 404 + 656 in {entry.total for entry in published("fivebar", "inverse_dynamics", "elements")}
    assert published("fivebar", "nothing", "pose") == ()


def test_stages_add_up_to_no_more_than_the_whole() -> None:
    for robot in ("palida", "fivebar", "prrrp"):
        for source in ("pose", "elements", "encoders"):
            for entry in published(robot, "inverse_dynamics", source):
                assert sum(add + mul for _, add, mul in entry.stages) <= entry.total
