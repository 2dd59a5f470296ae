"""Natural frequencies that others have published, to compare with nacelle's own."""

from __future__ import annotations

# [BK2013] Table II, rows "model", of the PRRRP with one Hermite element a beam in a clamped frame, sliders
# locked and without gravity: f_1 to f_6, Hz, by the position q_4 of the second slider in m, with q_1 = 0.
PRRRP: dict[float, tuple[float, ...]] = {
    -0.5: (31.414, 31.455, 40.799, 144.139, 144.181, 183.588),
    -0.25: (31.454, 31.455, 109.664, 144.041, 144.201, 152.949),
    0.0: (31.454, 31.455, 124.389, 140.757, 144.225, 144.496),
    0.25: (31.454, 31.455, 109.664, 144.041, 144.201, 152.949),
    0.5: (31.414, 31.455, 40.799, 144.139, 144.181, 183.588),
}
