"""Shapes of URDF links; meshes are a loss."""

import numpy as np

from nacelle.exchange.graph import ExchangeReport
from nacelle.exchange.urdf.shapes import shapes_of
from nacelle.exchange.xml import parsed

TEXT = b"""<link name="a">
<visual><origin xyz="1 2 3" rpy="0 0 1.5707963267948966"/>
<geometry><box size="0.1 0.2 0.3"/></geometry></visual>
<visual><geometry><cylinder radius="0.1" length="2"/></geometry></visual>
<visual><geometry><sphere radius="0.5"/></geometry></visual>
<visual><geometry><mesh filename="package://absent.stl"/></geometry></visual>
<visual><geometry><sphere radius="0"/></geometry></visual></link>"""


def test_shapes_and_their_places() -> None:
    report = ExchangeReport()
    box, cylinder, sphere = shapes_of(parsed(TEXT, "a.urdf"), report)
    assert (box.kind, box.size) == ("box", (0.1, 0.2, 0.3))
    np.testing.assert_allclose(box.at.R @ [1, 0, 0], [0, 1, 0], atol=1e-15)
    np.testing.assert_allclose(box.at.p, [1, 2, 3])
    assert (cylinder.size, sphere.size) == ((0.1, 2.0), (0.5,))
    assert report.losses == ["meshes left out: bodies are drawn by their joints"]
