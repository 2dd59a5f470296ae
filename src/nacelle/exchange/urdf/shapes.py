"""Shapes of URDF links to draw: boxes, cylinders and spheres; meshes are counted."""

from __future__ import annotations

from nacelle.exchange.fields import number_attribute, vector_attribute
from nacelle.exchange.graph import ExchangeReport, Shape
from nacelle.exchange.urdf.places import pose_of
from nacelle.exchange.xml import Element


def shapes_of(link: Element, report: ExchangeReport) -> tuple[Shape, ...]:
    """What is drawn of a link, in its frame."""
    shapes = []
    for visual in link.named("visual"):
        at = pose_of(visual.first("origin"))
        for geometry in visual.named("geometry"):
            for solid in geometry.children:
                if solid.tag == "mesh":
                    report.lost("meshes left out: bodies are drawn by their joints")
                elif solid.tag == "box":
                    x, y, z = vector_attribute(solid, "size", (0.0, 0.0, 0.0))
                    shapes.append(Shape("box", (float(x), float(y), float(z)), at))
                elif solid.tag in ("cylinder", "capsule"):
                    size = (number_attribute(solid, "radius", 0.0), number_attribute(solid, "length", 0.0))
                    shapes.append(Shape("cylinder", size, at))
                elif solid.tag == "sphere":
                    shapes.append(Shape("sphere", (number_attribute(solid, "radius", 0.0),), at))
                else:
                    report.lost(f"shapes <{solid.tag}> left out")
    return tuple(shape for shape in shapes if min(shape.size) > 0.0)
