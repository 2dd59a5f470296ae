"""Operation counts that others have published, to compare with nacelle's own.

Operations are additions and subtractions, products and quotients where they are printed apart; what a figure
contains is said with it.
"""

from __future__ import annotations

from typing import NamedTuple


class PublishedCount(NamedTuple):
    """A published count.

    Attributes:
        total: operations; additions and products together.
        source: where it is published.
        content: what it contains, as far as that is said.
        stages: by stage (+/-, x/÷), where they are printed.
    """

    total: int
    source: str
    content: str
    stages: tuple[tuple[str, int, int], ...] = ()


# Every file that HybrDyn generates says what it costs; robsynth-parroblib holds them, a folder a robot.
_HYBRDYN = "HybrDyn, robsynth-parroblib"
_WRENCH = "the wrench alone: no inverse kinematics, Jacobian or solve; numbers are inputs"
# Struts 88 + 151 each, platform 100 + 116, solve 137 + 110; friction apart.
_TABLE_2 = (
    ("rigid", 6 * 88 + 100 + 137, 6 * 151 + 116 + 110),
    ("friction", 36, 54),
)

_PUBLISHED_COUNTS: dict[tuple[str, str, str], tuple[PublishedCount, ...]] = {
    ("palida", "inverse_dynamics", "pose"): (
        PublishedCount(1987, "[AGH2005] Table II", "inverse dynamics with 14 friction parameters", _TABLE_2),
    ),
    ("gough-stewart", "inverse_dynamics", "pose"): (
        PublishedCount(2078, "Khalil and Guegan 2004, cited in [AGH2005]", "rigid, without friction"),
        PublishedCount(2150, "Gosselin 1993, cited in [AGH2005]", "rigid, without friction"),
        PublishedCount(5515, f"{_HYBRDYN}, P6RRPRRR14V3G1P4A0", f"any bodies in the legs; {_WRENCH}"),
    ),
    ("gough-stewart", "jacobian", "pose"): (
        PublishedCount(
            331, f"{_HYBRDYN}, P6RRPRRR14V3A1_Jinv", "from pose and joints, to rates of Euler angles"
        ),
    ),
    ("fivebar", "inverse_dynamics", "elements"): (
        PublishedCount(1060, "[OAM] Table 3, vision", "with friction; 404 + and 656 x"),
    ),
    ("fivebar", "inverse_dynamics", "encoders"): (
        PublishedCount(
            1262, "[OAM] Table 3, encoders", "with friction; 484 + and 778 x, and 4 sines and cosines"
        ),
    ),
    **{
        ("prrrp", name, "pose"): (
            PublishedCount(1132, "[BK2013] section V", "three coordinates a beam; 521 + and 611 x"),
        )
        for name in ("elastic_inverse_dynamics", "elastic_forward_dynamics")
    },
    ("3rrr", "inverse_dynamics", "pose"): (
        PublishedCount(667, f"{_HYBRDYN}, P3RRR1A0", f"any bodies; {_WRENCH}"),
    ),
    ("3rrr", "mass_matrix", "pose"): (
        PublishedCount(362, f"{_HYBRDYN}, P3RRR1A0", "any bodies; from pose and joints; numbers are inputs"),
    ),
    ("3rrr", "jacobian", "pose"): (
        PublishedCount(93, f"{_HYBRDYN}, P3RRR1A1_Jinv", "from pose and joints; numbers are inputs"),
    ),
    ("hexaglide", "inverse_dynamics", "pose"): (
        PublishedCount(
            9864, f"{_HYBRDYN}, P6PRRRRR6V2A0", f"any bodies, offsets between all axes; {_WRENCH}"
        ),
    ),
    ("hexa", "inverse_dynamics", "pose"): (
        PublishedCount(
            70285, f"{_HYBRDYN}, P6RRRRRR10V3G1P1A0", f"any bodies, offsets between all axes; {_WRENCH}"
        ),
    ),
}


def published_inputs(robot: str, model: str) -> tuple[str, ...]:
    """The inputs for which something is published of a robot's model."""
    return tuple(source for name, of, source in _PUBLISHED_COUNTS if (name, of) == (robot, model))


def published_counts(robot: str, model: str, source: str) -> tuple[PublishedCount, ...]:
    """What is published for a robot of the library, a model and its input."""
    return _PUBLISHED_COUNTS.get((robot, model, source), ())
