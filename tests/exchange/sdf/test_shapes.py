"""Shapes of SDF links; meshes and planes are losses."""

import numpy as np

from nacelle.exchange.graph import ExchangeReport
from nacelle.exchange.sdf.shapes import shapes_of
from nacelle.exchange.xml import parsed

TEXT = b"""<link name="a">
<visual><pose>1 2 3 0 0 0</pose><geometry><box><size>0.1 0.2 0.3</size></box></geometry></visual>
<visual><geometry><capsule><radius>0.1</radius><length>2</length></capsule></geometry></visual>
<visual><geometry><sphere><radius>0.5</radius></sphere></geometry></visual>
<visual><geometry><mesh><uri>absent.dae</uri></mesh></geometry></visual>
<visual><geometry><plane/></geometry></visual></link>"""


def test_shapes_and_their_places() -> None:
    report = ExchangeReport()
    box, cylinder, sphere = shapes_of(parsed(TEXT, "a.sdf"), report)
    assert (box.size, cylinder.size, sphere.size) == ((0.1, 0.2, 0.3), (0.1, 2.0), (0.5,))
    np.testing.assert_array_equal(box.at.p, [1, 2, 3])
    assert report.losses == ["meshes left out: bodies are drawn by their joints", "shapes <plane> left out"]
